/* Equal values have one canonical form, different ones have different forms: idempotency keys are
 * compared by it (draft §7.2). */
#include "support/check.h"

#include "support/slow_json.h"
#include "json/json.h"

static const arcp_json_limits limits = {64, 10000, 4194304};

/* The caller frees the buffer. */
static arcp_buf canonical(arcp_span text)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf out = arcp_buf_init();
    arcp_error err = {0};
    check_ok(arcp_json_scan(&json, text, &limits, &err), &err);
    check_ok(arcp_json_canonical(&json, ARCP_JSON_ROOT, &out, &err), &err);
    arcp__json_fini(&json);
    return out;
}

static arcp_buf canonical_of(const char *text)
{
    return canonical(arcp_span_cstr(text));
}

typedef struct form_row {
    const char *name;
    const char *text;
    const char *want;
} form_row;

static const form_row forms[] = {
    {"words", "[null,true,false]", "[null,true,false]"},
    {"white space goes", " [ 1 , { \"a\" : 2 } ] ", "[1,{\"a\":2}]"},
    {"empty containers", "[{},[]]", "[{},[]]"},
    {"elements keep their order", "[3,1,2]", "[3,1,2]"},
    {"names are sorted", "{\"b\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"b\":1}"},
    {"a name sorts before a longer one", "{\"ab\":1,\"a\":2}", "{\"a\":2,\"ab\":1}"},
    {"names sort by bytes", "{\"\xc3\xbc\":1,\"z\":2,\"Z\":3}", "{\"Z\":3,\"z\":2,\"\xc3\xbc\":1}"},
    {"names sort by UTF-8, not by UTF-16", "{\"\\ud83d\\ude00\":1,\"\\uff5e\":2}",
     "{\"\xef\xbd\x9e\":2,\"\xf0\x9f\x98\x80\":1}"},
    {"names sort by what they mean", "{\"b\":1,\"\\u0061\":2}", "{\"a\":2,\"b\":1}"},
    {"names sort at every level", "{\"b\":{\"d\":1,\"c\":2},\"a\":[{\"f\":1,\"e\":2}]}",
     "{\"a\":[{\"e\":2,\"f\":1}],\"b\":{\"c\":2,\"d\":1}}"},
    {"escapes that are not needed", "\"\\u0041\\/\\u00fc\"", "\"A/\xc3\xbc\""},
    {"escapes that are", "\"\\u000a\\u0022\\u005c\\u0001\\u001F\\u0008\"",
     "\"\\n\\\"\\\\\\u0001\\u001f\\b\""},
    {"a pair becomes a character", "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
    {"NUL stays an escape", "\"\\u0000\"", "\"\\u0000\""},
    {"DEL is plain", "\"\\u007f\"", "\"\x7f\""},
    {"one", "1", "1"},
    {"trailing zeros", "1.00", "1"},
    {"an exponent of nothing", "1e0", "1"},
    {"ten tenths", "10e-1", "1"},
    {"ten", "10", "1e1"},
    {"ten again", "1E+1", "1e1"},
    {"a hundred and twenty", "120", "12e1"},
    {"a half", "0.5", "5e-1"},
    {"leading zeros of a fraction", "0.00120", "12e-4"},
    {"a number with a point in its digits", "-12.5e3", "-125e2"},
    {"zeros between digits stay", "1000001", "1000001"},
    {"zeros around the point stay", "100.001", "100001e-3"},
    {"zero", "0", "0"},
    {"minus zero", "-0", "0"},
    {"zero of any spelling", "-0.000E+99", "0"},
    {"leading zeros of an exponent", "1e0005", "1e5"},
    {"a negative exponent of zero", "1e-000", "1"},
    {"an exponent of 18 digits", "1e999999999999999999", "1e999999999999999999"},
    {"that exponent and one more", "10e999999999999999999", "1e1000000000000000000"},
    {"an exponent of 19 digits", "1e1000000000000000000", "1e1000000000000000000"},
    {"one less from 19 digits", "0.1e1000000000000000000", "1e999999999999999999"},
    {"an exponent that gains a digit", "1000e9999999999999999999", "1e10000000000000000002"},
    {"an exponent that loses a digit", "0.001e10000000000000000000", "1e9999999999999999997"},
    {"a negative one that gains a digit", "0.01e-99999999999999999999", "1e-100000000000000000001"},
    {"a negative one that loses a digit", "100e-10000000000000000000", "1e-9999999999999999998"},
    {"a huge exponent with zeros before it", "-2.50e+0000000000000000000000000000001", "-25"},
    {"a huge exponent and a long mantissa", "12345.6789e100000000000000000000",
     "123456789e99999999999999999996"},
};

static void the_form_is_the_shortest_sorted_and_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        print_message("  %s\n", forms[i].name);
        arcp_buf got = canonical_of(forms[i].text);
        check_span(arcp_buf_span(&got), forms[i].want);
        /* What is canonical already stays as it is. */
        arcp_buf again = canonical(arcp_buf_span(&got));
        check_span(arcp_buf_span(&again), forms[i].want);
        arcp_buf_fini(&again);
        arcp_buf_fini(&got);
    }
}

/* Each line is one value in several spellings; no two lines are equal. */
static const char *const groups[][6] = {
    {"1", "1.0", "1e0", "10e-1", "0.1e1", "0.01E+2"},
    {"-1", "-1.0", "-10e-1"},
    {"0", "-0", "0.0", "0e9", "-0e-9", "0.000e99999999999999999999"},
    {"1e400", "10e399", "0.1e401", "1000e397"},
    {"1e-400", "0.1e-399"},
    {"1e401"},
    {"123456789012345678901234567890", "1.2345678901234567890123456789e29"},
    {"123456789012345678901234567891"},
    {"0.1", "1e-1", "0.10"},
    {"0.1000000000000000055511151231257827", "1000000000000000055511151231257827e-34"},
    {"1e1000000000000000000000", "10e999999999999999999999", "0.001e1000000000000000000003"},
    {"1e1000000000000000000001", "100e999999999999999999999"},
    {"-1e1000000000000000000000"},
    {"1e-1000000000000000000000", "0.1e-999999999999999999999", "1000e-1000000000000000000003"},
    {"1e999999999999999999", "0.1e1000000000000000000", "10e999999999999999998"},
    {"1e1000000000000000000", "10e999999999999999999", "100e999999999999999998"},
    {"1e-999999999999999999", "0.1e-999999999999999998", "10e-1000000000000000000"},
    {"1e-1000000000000000000", "0.1e-999999999999999999", "10e-1000000000000000001"},
    {"\"1\"", "\"\\u0031\""},
    {"\"\""},
    {"null"},
    {"\"null\""},
    {"true"},
    {"false"},
    {"[]", " [ ] "},
    {"{}"},
    {"[[]]"},
    {"[null]"},
    {"[1,2]", "[1.0, 2.0]", "[10e-1,0.2e1]"},
    {"[2,1]"},
    {"[12]"},
    {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "{ \"\\u0062\" : 2.0 , \"\\u0061\" : 1 }"},
    {"{\"a\":2,\"b\":1}"},
    {"{\"a\":{\"b\":2}}"},
    {"{\"a\":null}"},
    {"\"a/b\"", "\"a\\/b\""},
    {"\"\\u00e9\"", "\"\xc3\xa9\"", "\"\\u00E9\""},
    {"\"e\\u0301\"", "\"e\xcc\x81\""}, /* no Unicode normalisation */
    {"\"a\\u0000\""},
    {"\"a\""},
};

static void two_forms_are_equal_exactly_when_the_values_are(void **state)
{
    (void)state;
    enum { GROUPS = sizeof groups / sizeof *groups };
    for (size_t i = 0; i < GROUPS; i++) {
        arcp_buf first = canonical_of(groups[i][0]);
        for (size_t spelling = 1; spelling < 6 && groups[i][spelling] != NULL; spelling++) {
            print_message("  %s = %s\n", groups[i][0], groups[i][spelling]);
            arcp_buf other = canonical_of(groups[i][spelling]);
            assert_true(arcp_span_equal(arcp_buf_span(&first), arcp_buf_span(&other)));
            arcp_buf_fini(&other);
        }
        for (size_t j = 0; j < i; j++) {
            arcp_buf other = canonical_of(groups[j][0]);
            if (arcp_span_equal(arcp_buf_span(&first), arcp_buf_span(&other))) {
                fail_msg("%s = %s", groups[i][0], groups[j][0]);
            }
            arcp_buf_fini(&other);
        }
        arcp_buf_fini(&first);
    }
}

static void a_huge_exponent_takes_no_more_memory_than_its_digits(void **state)
{
    (void)state;
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "[1e4000000000");
    for (int i = 0; i < 1000; i++) {
        arcp_buf_append_cstr(&text, ",-1.5e-99999999999999999999");
    }
    arcp_buf_append_byte(&text, ']');
    arcp_buf got = canonical(arcp_buf_span(&text));
    assert_true(got.size <= text.size + 1001 * (size_t)12);
    arcp_buf_fini(&got);
    arcp_buf_fini(&text);
}

static void large_objects_are_sorted_too(void **state)
{
    (void)state;
    static const unsigned sizes[] = {15, 16, 17, 18, 31, 32, 33, 64, 65, 500};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        arcp_buf up = arcp_buf_init();
        arcp_buf shuffled = arcp_buf_init();
        arcp_buf_append_byte(&up, '{');
        arcp_buf_append_byte(&shuffled, '{');
        for (unsigned j = 0; j < sizes[i]; j++) {
            const unsigned other = (j * 7 + 3) % sizes[i];
            arcp_buf_append_format(&up, "%s\"%04u\":[%u]", j == 0 ? "" : ",", j, j + 1);
            arcp_buf_append_format(&shuffled, "%s \"%04u\": [%u.0]", j == 0 ? "" : ",", other,
                                   other + 1);
        }
        arcp_buf_append_byte(&up, '}');
        arcp_buf_append_byte(&shuffled, '}');
        /* Seven has no divisor in common with any of the sizes: each name occurs once. */
        arcp_buf want = canonical(arcp_buf_span(&up));
        arcp_buf got = canonical(arcp_buf_span(&shuffled));
        assert_true(arcp_span_equal(arcp_buf_span(&want), arcp_buf_span(&got)));
        assert_true(arcp_span_starts_with(arcp_buf_span(&got),
                                          ARCP_SPAN_LITERAL("{\"0000\":[1],\"0001\":[2],")));
        arcp_buf_fini(&want);
        arcp_buf_fini(&got);
        arcp_buf_fini(&up);
        arcp_buf_fini(&shuffled);
    }
}

/* An object of so many members, the last one first unless it is sorted; `first` is the value of
 * the first. The caller frees it. */
static arcp_buf object_of(unsigned members, bool sorted, arcp_span first)
{
    arcp_buf text = arcp_buf_init();
    for (unsigned i = 0; i < members; i++) {
        const unsigned name = sorted ? i : members - 1 - i;
        arcp_buf_append_format(&text, "%c\"%02u\":", i == 0 ? '{' : ',', name);
        arcp_buf_append(&text, name == 0 ? first : ARCP_SPAN_LITERAL("2"));
    }
    arcp_buf_append_cstr(&text, "}");
    return text;
}

static void nested_objects_are_sorted_whatever_their_total_size(void **state)
{
    (void)state;
    enum { HELD = 32 }; /* names without memory of their own: src/json/json_canonical.c */
    static const unsigned outers[] = {1, 16, 31, HELD, HELD + 1};
    static const unsigned sums[] = {HELD - 1, HELD, HELD + 1, 2 * HELD, 2 * HELD + 1};
    for (size_t i = 0; i < sizeof outers / sizeof *outers; i++) {
        for (size_t j = 0; j < sizeof sums / sizeof *sums; j++) {
            if (sums[j] <= outers[i]) {
                continue;
            }
            arcp_buf inner = object_of(sums[j] - outers[i], false, ARCP_SPAN_LITERAL("1"));
            arcp_buf inner_want = object_of(sums[j] - outers[i], true, ARCP_SPAN_LITERAL("1"));
            arcp_buf text = object_of(outers[i], false, arcp_buf_span(&inner));
            arcp_buf want = object_of(outers[i], true, arcp_buf_span(&inner_want));
            arcp_buf got = canonical(arcp_buf_span(&text));
            assert_true(arcp_span_equal(arcp_buf_span(&got), arcp_buf_span(&want)));
            arcp_buf_fini(&got);
            arcp_buf_fini(&want);
            arcp_buf_fini(&text);
            arcp_buf_fini(&inner_want);
            arcp_buf_fini(&inner);
        }
    }
}

static void a_value_inside_has_its_own_form_and_an_absent_one_is_null(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    check_ok(
        arcp_json_scan(&json, ARCP_SPAN_LITERAL("{\"input\":{\"b\":1,\"a\":2}}"), &limits, &err),
        &err);
    arcp_buf out = arcp_buf_init();
    arcp_buf_append_cstr(&out, "input=");
    const arcp_json_ref input = arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("input"));
    check_ok(arcp_json_canonical(&json, input, &out, &err), &err);
    arcp_buf_append_cstr(&out, ";lease=");
    check_ok(arcp_json_canonical(&json, ARCP_JSON_ABSENT, &out, &err), &err);
    check_span(arcp_buf_span(&out), "input={\"a\":2,\"b\":1};lease=null");
    arcp_buf_fini(&out);
    arcp__json_fini(&json);
}

static arcp_status canonical_of_levels(uint32_t levels, arcp_buf *out, arcp_error *err)
{
    const arcp_json_limits deep = {1000000, 10, 1 << 24};
    arcp_buf text = arcp_buf_init();
    for (uint32_t i = 0; i < levels; i++) {
        arcp_buf_append_cstr(&text, i % 2 == 0 ? "[" : "{\"a\":");
    }
    arcp_buf_append_byte(&text, '1');
    for (uint32_t i = levels; i > 0; i--) {
        arcp_buf_append_byte(&text, i % 2 == 1 ? ']' : '}');
    }
    arcp_json json = ARCP__JSON_INIT;
    check_ok(arcp_json_scan(&json, arcp_buf_span(&text), &deep, err), err);
    const arcp_status status = arcp_json_canonical(&json, ARCP_JSON_ROOT, out, err);
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    return status;
}

static void more_than_a_thousand_levels_have_no_form(void **state)
{
    (void)state;
    arcp_buf out = arcp_buf_init();
    arcp_error err = {0};
    check_ok(canonical_of_levels(ARCP_JSON_CANONICAL_DEPTH_MAX, &out, &err), &err);
    arcp_buf_clear(&out);
    arcp_buf_append_cstr(&out, "kept");
    assert_int_equal(canonical_of_levels(ARCP_JSON_CANONICAL_DEPTH_MAX + 1, &out, &err),
                     ARCP_E_LIMIT);
    check_span(arcp_buf_span(&out), "kept");
    assert_int_equal(canonical_of_levels(200000, &out, &err), ARCP_E_LIMIT);
    assert_non_null(strstr(err.message, "1000 levels"));
    arcp_buf_fini(&out);
}

/* Pseudo-random values, written in two spellings: their forms agree, and the form means what the
 * text means, as an independent parser reads it. */
typedef struct maker {
    uint64_t random;
    arcp_buf plain;
    arcp_buf other;
} maker;

static uint64_t next_random(maker *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

static void append_both(maker *m, const char *plain, const char *other)
{
    arcp_buf_append_cstr(&m->plain, plain);
    arcp_buf_append_cstr(&m->other, other);
}

static void make_value(maker *m, int levels)
{
    switch (next_random(m) % (levels > 0 ? 6 : 4)) {
    case 0: {
        const int digits = (int)(next_random(m) % 100000);
        const int shift = (int)(next_random(m) % 7);
        arcp_buf_append_format(&m->plain, "%d", digits);
        arcp_buf_append_format(&m->other, "%d%.*s.%se-%d", digits, shift, "000000", "00", shift);
        break;
    }
    case 1:
        append_both(m, "\"a\xc3\xbc\\n\"", "\"\\u0061\\u00FC\\u000a\"");
        break;
    case 2:
        append_both(m, "null", " null ");
        break;
    case 3:
        append_both(m, "-0.5", "-5e-1");
        break;
    case 4:
        append_both(m, "[", "[ ");
        for (uint64_t left = next_random(m) % 4; left > 0; left--) {
            make_value(m, levels - 1);
            append_both(m, left > 1 ? "," : "", left > 1 ? "\n," : "");
        }
        append_both(m, "]", " ]");
        break;
    default: {
        /* Two members, the second spelling has them the other way round. */
        append_both(m, "{\"x\":", "{\"\\u0079\":");
        const size_t other = m->other.size;
        make_value(m, levels - 1);
        arcp_buf x_other = arcp_buf_init();
        arcp_buf_append(&x_other, arcp_span_from(arcp_buf_span(&m->other), other));
        m->other.size = other;
        append_both(m, ",\"y\":", "");
        make_value(m, levels - 1);
        append_both(m, "}", ",\"x\":");
        arcp_buf_append(&m->other, arcp_buf_span(&x_other));
        arcp_buf_append_byte(&m->other, '}');
        arcp_buf_fini(&x_other);
        break;
    }
    }
}

static void spellings_of_random_values_agree(void **state)
{
    (void)state;
    maker m = {.random = 99, .plain = arcp_buf_init(), .other = arcp_buf_init()};
    for (int round = 0; round < 3000; round++) {
        arcp_buf_clear(&m.plain);
        arcp_buf_clear(&m.other);
        make_value(&m, 4);
        arcp_buf first = canonical(arcp_buf_span(&m.plain));
        arcp_buf second = canonical(arcp_buf_span(&m.other));
        if (!arcp_span_equal(arcp_buf_span(&first), arcp_buf_span(&second))) {
            fail_msg("%.*s\nand\n%.*s", (int)m.plain.size, m.plain.data, (int)m.other.size,
                     m.other.data);
        }
        slow_json *text = slow_json_read(arcp_buf_span(&m.plain), &limits);
        slow_json *form = slow_json_read(arcp_buf_span(&first), &limits);
        assert_non_null(text);
        assert_non_null(form);
        assert_true(slow_json_equal(text, form));
        slow_json_free(text);
        slow_json_free(form);
        arcp_buf_fini(&first);
        arcp_buf_fini(&second);
    }
    arcp_buf_fini(&m.plain);
    arcp_buf_fini(&m.other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_form_is_the_shortest_sorted_and_exact),
        cmocka_unit_test(two_forms_are_equal_exactly_when_the_values_are),
        cmocka_unit_test(a_huge_exponent_takes_no_more_memory_than_its_digits),
        cmocka_unit_test(large_objects_are_sorted_too),
        cmocka_unit_test(nested_objects_are_sorted_whatever_their_total_size),
        cmocka_unit_test(a_value_inside_has_its_own_form_and_an_absent_one_is_null),
        cmocka_unit_test(more_than_a_thousand_levels_have_no_form),
        cmocka_unit_test(spellings_of_random_values_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
