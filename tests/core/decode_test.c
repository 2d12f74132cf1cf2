/* Members are read as their rows describe them; errors have their path; optional ones may be
 * absent. */
#include "support/check.h"

#include "core/decode.h"

typedef struct sample {
    arcp_json_ref any, object, strings, number, not_negative, part_ref;
    arcp_span string, text, loose, renamed, inner;
    uint64_t count, positive;
    bool flag;
    int64_t at;
    uint8_t hash[32];
    char id[4];
} sample;

#define MEMBER(member, kind) ARCP__MEMBER(sample, member, #member, kind)

static const arcp__member part_rows[] = {
    {MEMBER(inner, STRING)},
    {MEMBER(part_ref, ANY)},
    {ARCP__CHECKED("needed", BOOL), .required = true},
};
static const arcp__members parts = ARCP__MEMBERS(part_rows);
static const arcp__member rows[] = {
    {MEMBER(any, ANY)},
    {MEMBER(string, STRING)},
    {MEMBER(text, TEXT)},
    {MEMBER(loose, LOOSE)},
    {MEMBER(object, OBJECT)},
    {MEMBER(strings, STRINGS)},
    {MEMBER(flag, BOOL)},
    {MEMBER(count, COUNT)},
    {MEMBER(positive, POSITIVE)},
    {MEMBER(number, NUMBER)},
    {MEMBER(not_negative, NOT_NEGATIVE)},
    {MEMBER(at, INSTANT)},
    {MEMBER(hash, HASH)},
    {MEMBER(id, ID)},
    {MEMBER(renamed, STRING), .older = "former"},
    {ARCP__CHECKED("checked", COUNT)},
};
static const arcp__members members = ARCP__MEMBERS(rows);
static const arcp__member whole_rows[] = {
    {ARCP__CHECKED("must", STRING), .required = true},
    {ARCP__CHECKED("part", OBJECT), .parts = &parts},
};
static const arcp__members whole = ARCP__MEMBERS(whole_rows);

#define HEX "00000000000000000000000000000000000000000000000000000000000000ff"

typedef struct reading {
    arcp_json json;
    arcp_buf scratch;
    sample out;
    arcp_error error;
    arcp__decoder decoder;
} reading;

static arcp_status read_with(reading *got, const arcp__members *table, const char *text)
{
    const arcp_json_limits limits = arcp_json_limits_init();
    memset(got, 0, sizeof *got);
    got->out.count = 7; /* a default */
    assert_true(arcp_buf_reserve(&got->scratch, strlen(text)));
    check_ok(arcp_json_scan(&got->json, arcp_span_cstr(text), &limits, &got->error), &got->error);
    got->decoder =
        (arcp__decoder){.json = &got->json, .scratch = &got->scratch, .where = "payload"};
    return arcp__decode(&got->decoder, ARCP_JSON_ROOT, table, &got->out, &got->error);
}

static void reading_fini(reading *got)
{
    arcp__json_fini(&got->json);
    arcp_buf_fini(&got->scratch);
}

/* ---- shapes, on both sides of each limit ---- */

typedef struct shape_row {
    const char *text;
    const char *error; /* NULL: none */
} shape_row;

static const shape_row shape_rows[] = {
    {"{}", NULL},
    {"[]", NULL},
    {"{\"any\":{},\"more\":1}", NULL},
    {"{\"string\":null,\"flag\":null,\"count\":null,\"object\":null,\"strings\":null}", NULL},
    {"{\"string\":\"a\"}", NULL},
    {"{\"string\":\"\"}", "payload.string is \"\", must be a non-empty string"},
    {"{\"string\":1}", "payload.string is 1, must be a non-empty string"},
    {"{\"text\":\"\"}", NULL},
    {"{\"text\":[]}", "payload.text is [], must be a string"},
    {"{\"loose\":[]}", NULL},
    {"{\"object\":{}}", NULL},
    {"{\"object\":[]}", "payload.object is [], must be an object"},
    {"{\"strings\":[]}", NULL},
    {"{\"strings\":[\"a\",\"\"]}", NULL},
    {"{\"strings\":[\"a\",1]}", "payload.strings is [\"a\",1], must be an array of strings"},
    {"{\"strings\":{}}", "payload.strings is {}, must be an array of strings"},
    {"{\"flag\":false}", NULL},
    {"{\"flag\":0}", "payload.flag is 0, must be true or false"},
    {"{\"count\":0}", NULL},
    {"{\"count\":18446744073709551615}", NULL},
    {"{\"count\":18446744073709551616}",
     "payload.count is 18446744073709551616, must be a whole number of 0 or more"},
    {"{\"count\":0.5}", "payload.count is 0.5, must be a whole number of 0 or more"},
    {"{\"count\":-1}", "payload.count is -1, must be a whole number of 0 or more"},
    {"{\"positive\":1}", NULL},
    {"{\"positive\":0}", "payload.positive is 0, must be a whole number of 1 or more"},
    {"{\"number\":-1e9}", NULL},
    {"{\"number\":\"1\"}", "payload.number is \"1\", must be a number"},
    {"{\"not_negative\":-0.0e5}", NULL},
    {"{\"not_negative\":-0.1}", "payload.not_negative is -0.1, must be a number of 0 or more"},
    {"{\"at\":\"2026-05-13T19:42:13Z\"}", NULL},
    {"{\"at\":\"2026-05-13\"}",
     "payload.at is \"2026-05-13\", must be a time stamp (RFC 3339, UTC)"},
    {"{\"hash\":\"" HEX "\"}", NULL},
    {"{\"hash\":\"" HEX "0\"}",
     "payload.hash is \"000000000000000000000000000000000000000, must be 64 lower-case hex digits"},
    {"{\"hash\":\"FF\"}", "payload.hash is \"FF\", must be 64 lower-case hex digits"},
    {"{\"id\":\"abc\"}", NULL},
    {"{\"id\":\"abcd\"}", "payload.id is \"abcd\", must be a non-empty string"},
    {"{\"id\":\"\"}", "payload.id is \"\", must be a non-empty string"},
    {"{\"former\":1}", "payload.renamed is 1, must be a non-empty string"},
    {"{\"checked\":\"1\"}", "payload.checked is \"1\", must be a whole number of 0 or more"},
    /* the first in the order of the table, whatever the order of the text */
    {"{\"flag\":1,\"text\":1}", "payload.text is 1, must be a string"},
};

static void a_shape_has_its_limits(void **state)
{
    const shape_row *row = *state;
    reading got;
    const arcp_status status = read_with(&got, &members, row->text);
    assert_string_equal(row->error == NULL ? "" : row->error, got.error.message);
    assert_int_equal(row->error == NULL ? ARCP_OK : ARCP_E_INVALID_REQUEST, status);
    reading_fini(&got);
}

/* ---- fields ---- */

static void each_field_gets_its_value(void **state)
{
    reading got;
    (void)state;
    check_ok(read_with(&got, &members,
                       "{\"any\":null,\"string\":\"a\\u0062\",\"text\":\"\",\"loose\":\"l\","
                       "\"object\":{},\"flag\":true,\"count\":3,\"positive\":2e1,"
                       "\"at\":\"1970-01-01T00:00:01Z\",\"hash\":\"" HEX "\",\"id\":\"xyz\"}"),
             &got.error);
    assert_true(arcp_json_is(&got.json, got.out.any, ARCP_JSON_NULL));
    assert_true(arcp_json_is(&got.json, got.out.object, ARCP_JSON_OBJECT));
    assert_true(arcp_span_equal_cstr(got.out.string, "ab"));
    assert_non_null(got.out.text.data);
    assert_int_equal(got.out.text.size, 0);
    assert_true(arcp_span_equal_cstr(got.out.loose, "l"));
    assert_true(got.out.flag);
    assert_int_equal(got.out.count, 3);
    assert_int_equal(got.out.positive, 20);
    assert_int_equal(got.out.at, 1000000000);
    assert_int_equal(got.out.hash[0], 0);
    assert_int_equal(got.out.hash[31], 255);
    assert_string_equal(got.out.id, "xyz");
    reading_fini(&got);
}

static void an_absent_member_leaves_its_default(void **state)
{
    reading got;
    (void)state;
    check_ok(read_with(&got, &members, "{\"count\":null,\"loose\":5}"), &got.error);
    assert_int_equal(got.out.count, 7);
    assert_null(got.out.loose.data);
    assert_null(got.out.string.data);
    assert_int_equal(got.out.any, ARCP_JSON_ABSENT);
    assert_int_equal(got.out.object, ARCP_JSON_ABSENT);
    reading_fini(&got);
}

static void valid_members_are_read_although_another_is_not_valid(void **state)
{
    reading got;
    (void)state;
    assert_int_equal(read_with(&got, &members, "{\"string\":1,\"text\":\"t\"}"),
                     ARCP_E_INVALID_REQUEST);
    assert_int_equal(got.error.offset, 10);
    assert_true(arcp_span_equal_cstr(got.out.text, "t"));
    reading_fini(&got);
}

static void an_older_name_is_read_if_the_new_one_is_absent(void **state)
{
    reading got;
    (void)state;
    check_ok(read_with(&got, &members, "{\"former\":\"a\"}"), &got.error);
    assert_true(arcp_span_equal_cstr(got.out.renamed, "a"));
    assert_true(got.decoder.has_older);
    reading_fini(&got);
    check_ok(read_with(&got, &members, "{\"former\":\"a\",\"renamed\":\"b\"}"), &got.error);
    assert_true(arcp_span_equal_cstr(got.out.renamed, "b"));
    assert_true(got.decoder.has_older);
    reading_fini(&got);
    check_ok(read_with(&got, &members, "{\"renamed\":\"b\"}"), &got.error);
    assert_false(got.decoder.has_older);
    reading_fini(&got);
}

/* ---- parts, and what must be there ---- */

static const shape_row part_cases[] = {
    {"{\"must\":\"a\",\"part\":{\"needed\":true,\"inner\":\"i\"}}", NULL},
    {"{}", "payload.must is missing, must be a non-empty string"},
    {"{\"must\":null}", "payload.must is missing, must be a non-empty string"},
    {"{\"must\":\"a\"}", "payload.part.needed is missing, must be true or false"},
    {"{\"must\":\"a\",\"part\":5}", "payload.part is 5, must be an object"},
    {"{\"must\":\"a\",\"part\":{\"inner\":\"\"}}",
     "payload.part.inner is \"\", must be a non-empty string"},
};

static void parts_are_named_by_their_path(void **state)
{
    const shape_row *row = *state;
    reading got;
    (void)read_with(&got, &whole, row->text);
    assert_string_equal(row->error == NULL ? "" : row->error, got.error.message);
    assert_true(row->error != NULL || arcp_span_equal_cstr(got.out.inner, "i"));
    assert_true(row->error == NULL || got.out.inner.data == NULL);
    reading_fini(&got);
}

/* ---- rows of ours ---- */

static void a_row_may_lack_optional_members(void **state)
{
    reading got;
    (void)state;
    (void)read_with(&got, &members, "{\"string\":1,\"object\":[],\"count\":\"x\",\"id\":\"abcd\"}");
    got.out = (sample){.count = 7, .object = 3};
    assert_true(arcp__decode_row(&got.json, &got.scratch, ARCP_JSON_ROOT, &members, &got.out));
    assert_null(got.out.string.data);
    assert_int_equal(got.out.object, ARCP_JSON_ABSENT);
    assert_int_equal(got.out.count, 7);
    assert_string_equal(got.out.id, "");
    assert_false(arcp__decode_row(&got.json, &got.scratch, ARCP_JSON_ROOT, &whole, &got.out));
    reading_fini(&got);
}

static void a_row_that_was_written_is_read_again(void **state)
{
    reading got;
    arcp_buf text = arcp_buf_init();
    sample out = {.string = ARCP_SPAN_LITERAL("a\"b"),
                  .count = 3,
                  .flag = true,
                  .at = INT64_C(1500000000000000000),
                  .id = "xyz",
                  .object = 0};
    (void)state;
    out.hash[31] = 255;
    arcp__row_format(&members, &out, &text);
    assert_true(arcp_span_equal_cstr(arcp_buf_span(&text),
                                     "{\"string\":\"a\\\"b\",\"flag\":true,\"count\":3,"
                                     "\"at\":\"2017-07-14T02:40:00.000Z\",\"hash\":\"" HEX
                                     "\",\"id\":\"xyz\"}"));
    arcp_buf_append_byte(&text, '\0');
    check_ok(read_with(&got, &members, text.data), &got.error);
    assert_true(arcp_span_equal(got.out.string, out.string));
    assert_int_equal(got.out.count, 3);
    assert_true(got.out.flag);
    assert_int_equal(got.out.at, out.at);
    assert_memory_equal(got.out.hash, out.hash, sizeof out.hash);
    assert_string_equal(got.out.id, "xyz");
    reading_fini(&got);
    arcp_buf_fini(&text);
}

static void required_members_are_written_even_if_zero(void **state)
{
    static const arcp__member must_rows[] = {
        {MEMBER(string, TEXT), .required = true}, {MEMBER(text, TEXT)},
        {MEMBER(count, COUNT), .required = true}, {MEMBER(positive, COUNT)},
        {MEMBER(flag, BOOL), .required = true},   {MEMBER(hash, HASH)},
    };
    static const arcp__members must = ARCP__MEMBERS(must_rows);
    const sample none = {0};
    arcp_buf text = arcp_buf_init();
    (void)state;
    arcp__row_format(&must, &none, &text);
    assert_true(
        arcp_span_equal_cstr(arcp_buf_span(&text), "{\"string\":\"\",\"count\":0,\"flag\":false}"));
    arcp_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_gets_its_value),
        cmocka_unit_test(an_absent_member_leaves_its_default),
        cmocka_unit_test(valid_members_are_read_although_another_is_not_valid),
        cmocka_unit_test(an_older_name_is_read_if_the_new_one_is_absent),
        cmocka_unit_test(a_row_may_lack_optional_members),
        cmocka_unit_test(a_row_that_was_written_is_read_again),
        cmocka_unit_test(required_members_are_written_even_if_zero),
    };
    return run_rows(shape_rows, sizeof shape_rows / sizeof shape_rows[0], sizeof shape_rows[0],
                    a_shape_has_its_limits) +
           run_rows(part_cases, sizeof part_cases / sizeof part_cases[0], sizeof part_cases[0],
                    parts_are_named_by_their_path) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
