/* UTF-8 exactly as RFC 3629 defines it. */
#include "support/check.h"

#include "base/utf8.h"

typedef struct prefix_row {
    const char *name;
    const char *text;
    size_t valid;
} prefix_row;

static const prefix_row rows[] = {
    {"nothing", "", 0},
    {"ASCII", "plain text, more than eight bytes of it", 39},
    {"two bytes, the lowest", "\xc2\x80", 2},
    {"two bytes, the highest", "\xdf\xbf", 2},
    {"three bytes, the lowest", "\xe0\xa0\x80", 3},
    {"below the surrogates", "\xed\x9f\xbf", 3},
    {"above the surrogates", "\xee\x80\x80", 3},
    {"three bytes, the highest", "\xef\xbf\xbf", 3},
    {"four bytes, the lowest", "\xf0\x90\x80\x80", 4},
    {"U+10FFFF", "\xf4\x8f\xbf\xbf", 4},
    {"U+110000", "ab\xf4\x90\x80\x80", 2},
    {"overlong two bytes", "ab\xc0\xaf", 2},
    {"overlong two bytes, the highest", "ab\xc1\xbf", 2},
    {"overlong three bytes", "ab\xe0\x9f\xbf", 2},
    {"overlong four bytes", "ab\xf0\x8f\xbf\xbf", 2},
    {"the first surrogate", "ab\xed\xa0\x80", 2},
    {"the last surrogate", "ab\xed\xbf\xbf", 2},
    {"a lead byte of five", "ab\xf8\x88\x80\x80\x80", 2},
    {"0xfe", "ab\xfe", 2},
    {"0xff", "ab\xff", 2},
    {"a continuation byte alone", "ab\x80", 2},
    {"two bytes cut", "ab\xc3", 2},
    {"three bytes cut after one", "ab\xe2", 2},
    {"three bytes cut after two", "ab\xe2\x82", 2},
    {"four bytes cut after three", "ab\xf0\x9f\x98", 2},
    {"a lead byte instead of the third", "ab\xe2\x82\xc3\xbc", 2},
    {"ASCII instead of the fourth", "ab\xf0\x9f\x98z", 2},
    {"an error behind eight bytes", "12345678\xff", 8},
    {"an error inside eight bytes",
     "1234\xff"
     "678",
     4},
};

static void the_valid_prefix_ends_before_the_first_wrong_character(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  %s\n", rows[i].name);
        const arcp_span text = arcp_span_cstr(rows[i].text);
        assert_int_equal(arcp__utf8_valid_prefix(text), rows[i].valid);
        assert_int_equal(arcp__utf8_is_valid(text), rows[i].valid == text.size);
    }
    assert_int_equal(arcp__utf8_valid_prefix(arcp_span_make(NULL, 0)), 0);
    assert_true(arcp__utf8_is_valid(arcp_span_make("a\0b", 3)));
}

/* All code points, each after runs of ASCII of every length up to a word's. */
static void every_code_point_is_one_valid_character(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff) {
            continue;
        }
        char text[16] = "abcdefghijk";
        const size_t before = code % 9;
        const size_t size = arcp__utf8_encode(code, text + before);
        assert_int_equal(size, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
        assert_int_equal(arcp__utf8_valid_prefix(arcp_span_make(text, before + size)),
                         before + size);
        for (size_t cut = 1; cut < size; cut++) {
            assert_int_equal(arcp__utf8_valid_prefix(arcp_span_make(text, before + cut)), before);
        }
    }
}

/* Whether two to four bytes are one character, decided by decoding and encoding again. */
static bool decodes(const unsigned char *bytes, size_t size)
{
    static const unsigned char leads[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    static const unsigned char masks[5] = {0, 0, 0xe0, 0xf0, 0xf8};
    if ((bytes[0] & masks[size]) != leads[size]) {
        return false;
    }
    uint32_t code = bytes[0] & (unsigned char)~masks[size];
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return false;
        }
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return false;
    }
    char again[4];
    return arcp__utf8_encode(code, again) == size && memcmp(again, bytes, size) == 0;
}

static void all_lead_and_second_bytes_agree_with_decoding(void **state)
{
    (void)state;
    static const unsigned char thirds[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
    for (unsigned lead = 0x80; lead <= 0xff; lead++) {
        for (unsigned second = 0; second <= 0xff; second++) {
            for (size_t i = 0; i < sizeof thirds; i++) {
                unsigned char bytes[4] = {(unsigned char)lead, (unsigned char)second, thirds[i],
                                          0x80};
                size_t want = 0;
                for (size_t size = 2; size <= 4; size++) {
                    want = decodes(bytes, size) ? size : want;
                }
                assert_int_equal(arcp__utf8_character_size(bytes, 4), want);
            }
        }
    }
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    const arcp_span text = ARCP_SPAN_LITERAL("a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80z");
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11};
    for (size_t size = 0; size < sizeof want / sizeof *want; size++) {
        assert_int_equal(arcp__utf8_cut(text, size), want[size]);
    }
}

static void what_a_program_chose_is_one_line_of_utf8(void **state)
{
    static const struct {
        const char *text, *want;
    } escapes[] = {
        {"", ""},
        {"/srv/data \xc3\xbc", "/srv/data \xc3\xbc"},
        {"a\x1b[2J\n\x7f", "a\\x1b[2J\\x0a\\x7f"},
        {"back\\slash", "back\\x5cslash"},
        {"\xc2\x9b"
         "1",
         "\\xc2\\x9b1"},
        {"\xe2\x80\xae!", "\\xe2\\x80\\xae!"},
        {"\xff\xc3", "\\xff\\xc3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        arcp_buf out = arcp_buf_init();
        arcp__utf8_append_escaped(&out, arcp_span_cstr(escapes[i].text));
        check_span(arcp_buf_span(&out), escapes[i].want);
        arcp_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_valid_prefix_ends_before_the_first_wrong_character),
        cmocka_unit_test(every_code_point_is_one_valid_character),
        cmocka_unit_test(all_lead_and_second_bytes_agree_with_decoding),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(what_a_program_chose_is_one_line_of_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
