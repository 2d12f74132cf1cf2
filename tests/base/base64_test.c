/* Base 64 is strict both ways (RFC 4648 §4, §5; draft §8.4). */
#include "support/check.h"

#include "base/base64.h"
#include "support/failing_alloc.h"

typedef struct vector {
    const char *name;
    const char *bytes;
    size_t size;
    const char *standard;
    const char *url;
} vector;

/* The first seven are RFC 4648 §10. */
static const vector vectors[] = {
    {"nothing", "", 0, "", ""},
    {"one byte", "f", 1, "Zg==", "Zg"},
    {"two bytes", "fo", 2, "Zm8=", "Zm8"},
    {"three bytes", "foo", 3, "Zm9v", "Zm9v"},
    {"four bytes", "foob", 4, "Zm9vYg==", "Zm9vYg"},
    {"five bytes", "fooba", 5, "Zm9vYmE=", "Zm9vYmE"},
    {"six bytes", "foobar", 6, "Zm9vYmFy", "Zm9vYmFy"},
    {"digits 62 and 63", "\xfb\xef\xff", 3, "++//", "--__"},
    {"zeros", "\0\0\0\0", 4, "AAAAAA==", "AAAAAA"},
    {"ones", "\xff\xff\xff\xff\xff", 5, "//////8=", "______8"},
};

static void bytes_and_text_correspond(void **state)
{
    (void)state;
    arcp_buf out = arcp_buf_init();
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const vector *row = &vectors[i];
        print_message("  %s\n", row->name);
        for (int form = ARCP__BASE64_STANDARD; form <= ARCP__BASE64_URL; form++) {
            const char *text = form == ARCP__BASE64_STANDARD ? row->standard : row->url;
            arcp_buf_clear(&out);
            arcp__base64_encode(arcp_span_make(row->bytes, row->size), (arcp__base64_form)form,
                                &out);
            check_span(arcp_buf_span(&out), text);
            arcp_buf_clear(&out);
            arcp_error err = {0};
            check_ok(arcp__base64_decode(arcp_span_cstr(text), (arcp__base64_form)form, &out, &err),
                     &err);
            assert_int_equal(out.size, row->size);
            assert_true(
                arcp_span_equal(arcp_buf_span(&out), arcp_span_make(row->bytes, row->size)));
            size_t size = SIZE_MAX;
            check_ok(arcp__base64_decoded_size(arcp_span_cstr(text), (arcp__base64_form)form, &size,
                                               &err),
                     &err);
            assert_int_equal(size, row->size);
        }
    }
    arcp_buf_fini(&out);
}

typedef struct refusal {
    const char *name;
    arcp__base64_form form;
    const char *text;
    size_t offset;
} refusal;

static const refusal refusals[] = {
    {"a star", ARCP__BASE64_STANDARD, "ab*=", 2},
    {"missing padding", ARCP__BASE64_STANDARD, "abc", 3},
    {"one character", ARCP__BASE64_STANDARD, "a", 1},
    {"one character and padding", ARCP__BASE64_STANDARD, "a===", 1},
    {"padding only", ARCP__BASE64_STANDARD, "====", 0},
    {"one equals sign", ARCP__BASE64_STANDARD, "=", 1},
    {"half the padding", ARCP__BASE64_STANDARD, "Zg=", 3},
    {"too much padding", ARCP__BASE64_STANDARD, "Zg===", 2},
    {"padding after whole groups", ARCP__BASE64_STANDARD, "Zm9v==", 6},
    {"padding in the middle", ARCP__BASE64_STANDARD, "Zg==Zg==", 2},
    {"unused bits that are set, one byte", ARCP__BASE64_STANDARD, "Zh==", 1},
    {"unused bits that are set, two bytes", ARCP__BASE64_STANDARD, "Zm9=", 2},
    {"a line feed", ARCP__BASE64_STANDARD, "Zm9v\nZm9v", 4},
    {"a space", ARCP__BASE64_STANDARD, " Zm9v", 0},
    {"a byte past ASCII", ARCP__BASE64_STANDARD, "Zm9\xff", 3},
    {"URL digits in the standard form", ARCP__BASE64_STANDARD, "--__", 0},
    {"standard digits in the URL form", ARCP__BASE64_URL, "Zm9+", 3},
    {"padding in the URL form", ARCP__BASE64_URL, "Zg==", 2},
    {"one character in the URL form", ARCP__BASE64_URL, "Zm9vY", 4},
    {"unused bits in the URL form", ARCP__BASE64_URL, "Zh", 1},
};

static void invalid_base64_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *row = &refusals[i];
        print_message("  %s\n", row->name);
        arcp_buf out = arcp_buf_init();
        arcp_buf_append_cstr(&out, "kept");
        arcp_error err = {0};
        assert_int_equal(arcp__base64_decode(arcp_span_cstr(row->text), row->form, &out, &err),
                         ARCP_E_INVALID_REQUEST);
        assert_int_equal(err.offset, row->offset);
        assert_non_null(strstr(err.message, "base64"));
        check_span(arcp_buf_span(&out), "kept");
        size_t size = 99;
        assert_int_equal(
            arcp__base64_decoded_size(arcp_span_cstr(row->text), row->form, &size, NULL),
            ARCP_E_INVALID_REQUEST);
        assert_int_equal(size, 99);
        arcp_buf_fini(&out);
    }
}

static void a_nul_byte_is_not_a_digit(void **state)
{
    (void)state;
    arcp_error err = {0};
    size_t size = 0;
    assert_int_equal(
        arcp__base64_decoded_size(arcp_span_make("Zm\0v", 4), ARCP__BASE64_STANDARD, &size, &err),
        ARCP_E_INVALID_REQUEST);
    assert_int_equal(err.offset, 2);
}

/* Every byte value at every place of a group. */
static void all_bytes_survive_a_round_trip(void **state)
{
    (void)state;
    char bytes[259];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 7 + i / 256);
    }
    arcp_buf text = arcp_buf_init();
    arcp_buf back = arcp_buf_init();
    for (size_t size = 0; size <= sizeof bytes; size++) {
        for (int form = ARCP__BASE64_STANDARD; form <= ARCP__BASE64_URL; form++) {
            arcp_buf_clear(&text);
            arcp_buf_clear(&back);
            arcp__base64_encode(arcp_span_make(bytes, size), (arcp__base64_form)form, &text);
            arcp_error err = {0};
            check_ok(
                arcp__base64_decode(arcp_buf_span(&text), (arcp__base64_form)form, &back, &err),
                &err);
            assert_true(arcp_span_equal(arcp_buf_span(&back), arcp_span_make(bytes, size)));
        }
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&back);
}

static arcp_status there_and_back(void *user, arcp_error *err)
{
    (void)user;
    arcp_buf text = arcp_buf_init();
    arcp_buf back = arcp_buf_init();
    arcp__base64_encode(ARCP_SPAN_LITERAL("what is to be kept"), ARCP__BASE64_STANDARD, &text);
    arcp_status status = arcp_buf_status(&text);
    if (status == ARCP_OK) {
        status = arcp__base64_decode(arcp_buf_span(&text), ARCP__BASE64_STANDARD, &back, err);
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&back);
    return status;
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    assert_int_equal(failing_alloc_sweep(there_and_back, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_and_text_correspond),
        cmocka_unit_test(invalid_base64_is_refused_with_its_place),
        cmocka_unit_test(a_nul_byte_is_not_a_digit),
        cmocka_unit_test(all_bytes_survive_a_round_trip),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
