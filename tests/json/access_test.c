/* Reading the index: members, elements, strings, whole numbers. */
#include "support/check.h"

#include "json/json.h"

static const arcp_json_limits limits = {64, 10000, 4194304};

static void scan(arcp_json *json, arcp_span text)
{
    arcp_error err = {0};
    check_ok(arcp_json_scan(json, text, &limits, &err), &err);
}

static void members_are_found_by_their_unescaped_names(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    scan(&json,
         ARCP_SPAN_LITERAL("{\"type\":\"job.event\",\"\\u0069d\":7,\"payload\":{\"type\":[1]},"
                           "\"\":0,\"a\\u0000b\":1,\"nothing\":null}"));
    static const struct {
        const char *name;
        size_t size;
        const char *raw;
    } rows[] = {
        {"type", 4, "\"job.event\""},
        {"id", 2, "7"},
        {"payload", 7, "{\"type\":[1]}"},
        {"", 0, "0"},
        {"a\0b", 3, "1"},
        {"nothing", 7, "null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  '%s'\n", rows[i].name);
        const arcp_json_ref value =
            arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_make(rows[i].name, rows[i].size));
        assert_true(value != ARCP_JSON_ABSENT);
        check_span(arcp_json_raw(&json, value), rows[i].raw);
    }
    static const char *const absent[] = {"Type", "typ", "types", "\\u0069d", "a", "\"type\""};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        print_message("  no '%s'\n", absent[i]);
        assert_true(arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(absent[i])) ==
                    ARCP_JSON_ABSENT);
    }
    const arcp_json_ref payload =
        arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr("payload"));
    check_span(arcp_json_raw(&json, arcp_json_member(&json, payload, arcp_span_cstr("type"))),
               "[1]");
    const arcp_json_ref nothing =
        arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr("nothing"));
    assert_true(arcp_json_is_missing(&json, nothing));
    assert_false(arcp_json_is_missing(&json, payload));
    arcp__json_fini(&json);
}

static void an_absent_value_has_no_members_elements_or_text(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    scan(&json, ARCP_SPAN_LITERAL("[1]"));
    arcp_buf scratch = arcp_buf_init();
    const arcp_json_ref none = ARCP_JSON_ABSENT;
    uint64_t value = 42;
    assert_int_equal(arcp_json_type_of(&json, none), ARCP_JSON_NULL);
    assert_true(arcp_json_is_missing(&json, none));
    assert_false(arcp_json_is(&json, none, ARCP_JSON_NULL));
    assert_int_equal(arcp_json_raw(&json, none).size, 0);
    assert_true(arcp_json_member(&json, none, arcp_span_cstr("a")) == none);
    assert_true(arcp_json_first(&json, none) == none);
    assert_true(arcp_json_next(&json, none, 0) == none);
    assert_true(arcp_json_next(&json, ARCP_JSON_ROOT, none) == none);
    assert_int_equal(arcp_json_count(&json, none), 0);
    assert_int_equal(arcp_json_string(&json, none, &scratch).size, 0);
    assert_false(arcp_json_string_equals(&json, none, arcp_span_cstr("")));
    assert_false(arcp_json_u64(&json, none, &value));
    assert_int_equal(value, 42);
    arcp_json_compact(&json, none, &scratch);
    assert_int_equal(scratch.size, 0);
    scan(&json, ARCP_SPAN_LITERAL("[ 1 ]")); /* where there is white space to be removed */
    arcp_json_compact(&json, none, &scratch);
    assert_int_equal(scratch.size, 0);
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
}

static void only_objects_have_members_and_only_containers_have_children(void **state)
{
    (void)state;
    static const char *const texts[] = {"[\"a\",1]", "\"a\"", "1", "true", "null"};
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        print_message("  %s\n", texts[i]);
        scan(&json, arcp_span_cstr(texts[i]));
        assert_true(arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr("a")) ==
                    ARCP_JSON_ABSENT);
        if (i > 0) {
            assert_true(arcp_json_first(&json, ARCP_JSON_ROOT) == ARCP_JSON_ABSENT);
            assert_int_equal(arcp_json_count(&json, ARCP_JSON_ROOT), 0);
            assert_true(arcp_json_next(&json, ARCP_JSON_ROOT, ARCP_JSON_ROOT) == ARCP_JSON_ABSENT);
        }
    }
    arcp__json_fini(&json);
}

typedef struct walk_row {
    const char *name;
    const char *text;
    const char *want; /* the children as written, each followed by '|' */
    size_t count;
} walk_row;

static const walk_row walks[] = {
    {"an empty array", "[]", "", 0},
    {"an empty object", "{}", "", 0},
    {"one element", "[ 1 ]", "1|", 1},
    {"elements with children of their own", "[[1,[2]],{\"a\":[3]},4]", "[1,[2]]|{\"a\":[3]}|4|", 3},
    {"members", "{\"a\":1,\"b\":[1,2],\"c\":{\"d\":0}}", "\"a\"1|\"b\"[1,2]|\"c\"{\"d\":0}|", 3},
    {"empty containers", "[[],{},[]]", "[]|{}|[]|", 3},
};

static void walking_visits_each_child_once_and_in_order(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
        print_message("  %s\n", walks[i].name);
        scan(&json, arcp_span_cstr(walks[i].text));
        arcp_buf seen = arcp_buf_init();
        for (arcp_json_ref name = arcp_json_first(&json, ARCP_JSON_ROOT); name != ARCP_JSON_ABSENT;
             name = arcp_json_next(&json, ARCP_JSON_ROOT, name)) {
            arcp_buf_append(&seen, arcp_json_raw(&json, name));
            if (arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
                arcp_buf_append(&seen, arcp_json_raw(&json, name + 1));
            }
            arcp_buf_append_byte(&seen, '|');
        }
        check_span(arcp_buf_span(&seen), walks[i].want);
        assert_int_equal(arcp_json_count(&json, ARCP_JSON_ROOT), walks[i].count);
        arcp_buf_fini(&seen);
    }
    arcp__json_fini(&json);
}

#define SPAN(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

typedef struct string_row {
    const char *name;
    const char *json;
    arcp_span want;
    bool borrowed;
} string_row;

static const string_row strings[] = {
    {"empty", "\"\"", SPAN(""), true},
    {"plain", "\"plain text\"", SPAN("plain text"), true},
    {"UTF-8 as it is", "\"\xc3\xbc\xe2\x82\xac\"", SPAN("\xc3\xbc\xe2\x82\xac"), true},
    {"short escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", SPAN("\"\\/\b\f\n\r\t"), false},
    {"an escape at the beginning", "\"\\nabc\"", SPAN("\nabc"), false},
    {"an escape at the end", "\"abc\\n\"", SPAN("abc\n"), false},
    {"NUL is kept", "\"a\\u0000b\"", SPAN("a\0b"), false},
    {"one byte", "\"\\u0041\"", SPAN("A"), false},
    {"U+007F and U+0080", "\"\\u007f\\u0080\"", SPAN("\x7f\xc2\x80"), false},
    {"U+07FF and U+0800", "\"\\u07ff\\u0800\"", SPAN("\xdf\xbf\xe0\xa0\x80"), false},
    {"U+FFFF and U+10000", "\"\\uffff\\ud800\\udc00\"", SPAN("\xef\xbf\xbf\xf0\x90\x80\x80"),
     false},
    {"U+10FFFF", "\"\\uDBFF\\uDFFF\"", SPAN("\xf4\x8f\xbf\xbf"), false},
    {"an emoji between letters", "\"a\\ud83D\\uDe00b\"",
     SPAN("a\xf0\x9f\x98\x80"
          "b"),
     false},
    {"a backslash before a u", "\"\\\\u0041\"", SPAN("\\u0041"), false},
};

static void strings_are_unescaped(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const string_row *row = &strings[i];
        print_message("  %s\n", row->name);
        scan(&json, arcp_span_cstr(row->json));
        arcp_buf scratch = arcp_buf_init();
        arcp_buf_append_cstr(&scratch, "before");
        const arcp_span got = arcp_json_string(&json, ARCP_JSON_ROOT, &scratch);
        assert_true(arcp_span_equal(got, row->want));
        assert_int_equal(got.data == row->json + 1, row->borrowed);
        assert_true(arcp_span_starts_with(arcp_buf_span(&scratch), arcp_span_cstr("before")));
        assert_true(arcp_json_string_equals(&json, ARCP_JSON_ROOT, row->want));
        arcp_buf_fini(&scratch);
    }
    scan(&json, ARCP_SPAN_LITERAL("[\"a\"]"));
    arcp_buf scratch = arcp_buf_init();
    assert_int_equal(arcp_json_string(&json, ARCP_JSON_ROOT, &scratch).size, 0);
    arcp__json_fini(&json);
}

/* Every row against every other one, cut ones and longer ones. */
/* Each string is longer than all before it together, so that scratch grows with each. */
static void strings_stay_where_they_are_while_more_are_read(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    char text[16384] = "[";
    size_t size = 1;
    for (size_t i = 0; i < COUNT; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%s\"\\n%0*zu\"",
                                 i == 0 ? "" : ",", 32 << i, i);
    }
    text[size++] = ']';
    arcp_json json = ARCP__JSON_INIT;
    scan(&json, arcp_span_make(text, size));
    arcp_buf scratch = arcp_buf_init();
    arcp_span got[COUNT];
    size_t count = 0;
    for (arcp_json_ref item = arcp_json_first(&json, ARCP_JSON_ROOT); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(&json, ARCP_JSON_ROOT, item)) {
        got[count++] = arcp_json_string(&json, item, &scratch);
    }
    assert_int_equal(count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        char want[8192];
        (void)snprintf(want, sizeof want, "\n%0*zu", 32 << i, i);
        check_span(got[i], want);
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
}

static void a_string_equals_its_own_text_only(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        print_message("  %s\n", strings[i].name);
        scan(&json, arcp_span_cstr(strings[i].json));
        for (size_t j = 0; j < sizeof strings / sizeof *strings; j++) {
            assert_int_equal(arcp_json_string_equals(&json, ARCP_JSON_ROOT, strings[j].want),
                             i == j);
        }
        for (size_t size = 0; size < strings[i].want.size; size++) {
            assert_false(arcp_json_string_equals(&json, ARCP_JSON_ROOT,
                                                 arcp_span_first(strings[i].want, size)));
        }
        arcp_buf longer = arcp_buf_init();
        arcp_buf_append(&longer, strings[i].want);
        arcp_buf_append_byte(&longer, '\0');
        assert_false(arcp_json_string_equals(&json, ARCP_JSON_ROOT, arcp_buf_span(&longer)));
        arcp_buf_fini(&longer);
    }
    scan(&json, ARCP_SPAN_LITERAL("12"));
    assert_false(arcp_json_string_equals(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("")));
    arcp__json_fini(&json);
}

typedef struct number_row {
    const char *name;
    const char *json;
    bool fits;
    uint64_t want;
} number_row;

static const number_row numbers[] = {
    {"zero", "0", true, 0},
    {"minus zero", "-0", true, 0},
    {"zero with all parts", "-0.00e-99999999999999999999", true, 0},
    {"an ordinary number", "4711", true, 4711},
    {"a fraction of zeros", "5.000", true, 5},
    {"an exponent of zero", "5e0", true, 5},
    {"a positive exponent", "5e3", true, 5000},
    {"a fraction and an exponent that shifts it away", "1.25e2", true, 125},
    {"a negative exponent that takes zeros away", "1200e-2", true, 12},
    {"the largest", "18446744073709551615", true, UINT64_MAX},
    {"the largest, spelled with a point", "1844674407370955161.5e1", true, UINT64_MAX},
    {"the largest, with zeros behind", "18446744073709551615.000000000000000000000000000", true,
     UINT64_MAX},
    {"the largest power of ten", "10000000000000000000", true, UINT64_C(10000000000000000000)},
    {"the same as an exponent", "1e19", true, UINT64_C(10000000000000000000)},
    {"one more than the largest", "18446744073709551616", false, 0},
    {"ten to the twentieth", "1e20", false, 0},
    {"two times ten to the nineteenth", "2e19", false, 0},
    {"an exponent beyond 64 bits", "1e99999999999999999999", false, 0},
    {"an exponent beyond 64 bits, negative", "10e-99999999999999999999", false, 0},
    {"a half", "0.5", false, 0},
    {"five and a half", "5.5", false, 0},
    {"a fraction by its exponent", "5e-1", false, 0},
    {"a negative number", "-1", false, 0},
    {"a string", "\"5\"", false, 0},
    {"null", "null", false, 0},
    {"an array", "[5]", false, 0},
};

static void whole_numbers_are_read_in_any_spelling(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        print_message("  %s\n", numbers[i].name);
        scan(&json, arcp_span_cstr(numbers[i].json));
        uint64_t value = 42;
        assert_int_equal(arcp_json_u64(&json, ARCP_JSON_ROOT, &value), numbers[i].fits);
        assert_true(value == (numbers[i].fits ? numbers[i].want : 42));
    }
    arcp__json_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_by_their_unescaped_names),
        cmocka_unit_test(an_absent_value_has_no_members_elements_or_text),
        cmocka_unit_test(only_objects_have_members_and_only_containers_have_children),
        cmocka_unit_test(walking_visits_each_child_once_and_in_order),
        cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(strings_stay_where_they_are_while_more_are_read),
        cmocka_unit_test(a_string_equals_its_own_text_only),
        cmocka_unit_test(whole_numbers_are_read_in_any_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
