/* The parts of arcp conformance: patterns, variables, and the rules for every frame. */
#include "support/check.h"

#include "conformance/conformance.h"

static void scan(arcp_json *json, const char *text)
{
    arcp_error err = {0};
    if (arcp__wire_scan(json, arcp_span_cstr(text), &err) != ARCP_OK) {
        fail_msg("%s: %s", text, err.message);
    }
}

typedef struct fit {
    const char *pattern, *value;
    const char *why; /* "": it fits */
} fit;

static const fit fits[] = {
    {"{}", "{\"a\":1}", ""},
    {"{\"a\":1}", "{\"b\":2,\"a\":1.0}", ""},
    {"{\"a\":1}", "{\"a\":2}", "a is 2, must be 1"},
    {"{\"a\":{\"b\":\"x\"}}", "{\"a\":{\"b\":\"y\"}}", "a.b is \"y\", must be \"x\""},
    {"{\"a\":{\"b\":\"x\"}}", "{\"a\":{}}", "a.b is missing, must be \"x\""},
    {"{\"a\":{}}", "{\"a\":[]}", "a is [], must be an object"},
    {"{\"a\":[2,\"$more\"]}", "{\"a\":[1,2]}", ""},
    {"{\"a\":[3,\"$more\"]}", "{\"a\":[1,2]}", "a is [1,2], must be a list with 3"},
    {"{\"a\":[{\"b\":1},\"$more\"]}", "{\"a\":[{\"b\":2}]}", "a.b is 2, must be 1"},
    {"{\"a\":[1]}", "{\"a\":1}", "a is 1, must be a list"},
    {"{\"a\":\"$string\"}", "{\"a\":\"\"}", ""},
    {"{\"a\":\"$string\"}", "{\"a\":1}", "a is 1, must be a string"},
    {"{\"a\":\"$number\"}", "{\"a\":\"1\"}", "a is \"1\", must be a number"},
    {"{\"a\":\"$boolean\"}", "{\"a\":false}", ""},
    {"{\"a\":\"$boolean\"}", "{\"a\":null}", "a is null, must be true or false"},
    {"{\"a\":\"$array\"}", "{\"a\":{}}", "a is {}, must be a list"},
    {"{\"a\":\"$object\"}", "{}", "a is missing, must be an object"},
    {"{\"a\":\"$absent\"}", "{}", ""},
    {"{\"a\":\"$absent\"}", "{\"a\":null}", "a is null, must be absent"},
    {"{\"a\":\"$versioned\"}", "{\"a\":\"x@1\"}", ""},
    {"{\"a\":\"$versioned\"}", "{\"a\":\"x\"}", "a is \"x\", must be name@version"},
    {"{\"a\":\"$new\",\"b\":\"$new\"}", "{\"a\":[1],\"b\":[1.0]}", ""},
    {"{\"a\":\"$new\",\"b\":\"$new\"}", "{\"a\":1,\"b\":2}", "b is 2, must be 1"},
    {"{\"a\":\"$new\"}", "{}", "a is missing, must be present"},
    {"{\"a\":\"$_\",\"b\":\"$_\"}", "{\"a\":1,\"b\":null}", ""},
    {"{\"a\":\"$_\"}", "{}", "a is missing, must be present"},
    /* An item that does not match binds no variable. */
    {"{\"a\":[{\"b\":\"$new\",\"c\":1},\"$more\"]}",
     "{\"a\":[{\"b\":1,\"c\":2},{\"b\":2,\"c\":1}]}", ""},
    /* A list without "$more" must match as a whole. */
    {"{\"a\":[1,\"$new\"]}", "{\"a\":[1,2]}", ""},
    {"{\"a\":[]}", "{\"a\":[]}", ""},
    {"{\"a\":[2]}", "{\"a\":[1,2]}", "a is [1,2], must be [2]"},
    {"{\"a\":[1,2,3]}", "{\"a\":[1,2]}", "a is [1,2], must be [1,2,3]"},
    {"{\"a\":[2,1]}", "{\"a\":[1,2]}", "a is 1, must be 2"},
    {"{\"a\":[]}", "{}", "a is missing, must be a list"},
};

static void check_fit(const fit *row)
{
    arcp__variables variables = {0};
    arcp_json pattern = ARCP__JSON_INIT;
    arcp_json value = ARCP__JSON_INIT;
    arcp_buf why = arcp_buf_init();
    scan(&pattern, row->pattern);
    scan(&value, row->value);
    const bool is_fit = arcp__pattern_matches(&variables, &pattern, &value, &why);
    if (is_fit != (row->why[0] == '\0') || !arcp_span_equal_cstr(arcp_buf_span(&why), row->why)) {
        fail_msg("%s with %s: %d '%.*s'", row->pattern, row->value, is_fit, (int)why.size,
                 why.size ? why.data : "");
    }
    assert_true(is_fit || variables.count == 0);
    arcp_buf_fini(&why);
    arcp__json_fini(&pattern);
    arcp__json_fini(&value);
    arcp__variables_fini(&variables);
}

static void a_value_matches_or_the_mismatch_is_located(void **state)
{
    for (size_t row = 0; row < sizeof fits / sizeof fits[0]; row++) {
        check_fit(&fits[row]);
    }
}

static void a_variable_is_forgotten_by_its_name(void **state)
{
    arcp__variables variables = {0};
    arcp__variable_set_text(&variables, "first", arcp_span_cstr("1"));
    arcp__variable_set_text(&variables, "last", arcp_span_cstr("2"));
    arcp__variable_forget(&variables, "first");
    arcp__variable_forget(&variables, "nobody");
    assert_null(arcp__variable_get(&variables, ARCP_SPAN_LITERAL("first")));
    assert_non_null(arcp__variable_get(&variables, ARCP_SPAN_LITERAL("last")));
    arcp__variable_set_text(&variables, "1st", arcp_span_cstr("3"));
    assert_non_null(arcp__variable_get(&variables, ARCP_SPAN_LITERAL("1st")));
    assert_int_equal(variables.count, 2);
    arcp__variables_fini(&variables);
}

static void names_are_replaced_by_the_json_of_their_values(void **state)
{
    arcp__variables variables = {0};
    arcp_buf out = arcp_buf_init();
    arcp__variable_set_text(&variables, "job", arcp_span_cstr("a\"b"));
    arcp__variable_set(&variables, ARCP_SPAN_LITERAL("seq"), ARCP_SPAN_LITERAL("7"));
    assert_true(
        arcp__variables_replace(&variables, arcp_span_cstr("{\"x\":$job,\"y\":[$seq]}"), &out));
    assert_true(arcp_span_equal_cstr(arcp_buf_span(&out), "{\"x\":\"a\\\"b\",\"y\":[7]}"));
    arcp_buf_clear(&out);
    assert_true(arcp__variables_replace(
        &variables, arcp_span_cstr("[\"\\\"$job-$seq\",$job,\"\\\\\",$job]"), &out));
    assert_true(arcp_span_equal_cstr(arcp_buf_span(&out),
                                     "[\"\\\"a\\\"b-7\",\"a\\\"b\",\"\\\\\",\"a\\\"b\"]"));
    assert_false(arcp__variables_replace(&variables, arcp_span_cstr("$nobody"), &out));
    arcp_buf_fini(&out);
    arcp__variables_fini(&variables);
}

static void variables_have_a_limit_on_both_sides(void **state)
{
    arcp__variables variables = {0};
    char name[8];
    for (int i = 0; i < ARCP__VARIABLES_MAX; i++) {
        const int size = snprintf(name, sizeof name, "v%d", i);
        arcp__variable_set(&variables, arcp_span_make(name, (size_t)size), ARCP_SPAN_LITERAL("1"));
    }
    assert_false(variables.failed);
    arcp__variable_set(&variables, ARCP_SPAN_LITERAL("more"), ARCP_SPAN_LITERAL("1"));
    assert_true(variables.failed);
    arcp__variables_fini(&variables);
}

#define HEAD "\"arcp\":\"1.1\",\"id\":\"x\",\"session_id\":\"s\""

static const struct checked {
    const char *frame;
    const char *section; /* NULL: valid */
} frames[] = {
    {"{" HEAD ",\"type\":\"session.pong\",\"payload\":{}}", NULL},
    {"{" HEAD ",\"type\":\"x-vendor.any\",\"payload\":{}}", NULL},
    {"{\"arcp\":\"1.1\",\"type\":\"session.pong\",\"payload\":{}}", NULL},
    {"[]", "5"},
    {"{" HEAD ",\"payload\":{}}", "5"},
    {"{\"type\":\"session.pong\",\"payload\":{}}", "5"},
    {"{" HEAD ",\"type\":\"session.pong\"}", "5"},
    {"{\"arcp\":\"1.1\",\"session_id\":\"t\",\"type\":\"session.pong\",\"payload\":{}}", "5"},
    {"{" HEAD ",\"type\":\"session.pong\",\"event_seq\":5,\"payload\":{}}", "6.4"},
    {"{" HEAD ",\"type\":\"session.ping\",\"event_seq\":5,\"payload\":{}}", "6.4"},
    {"{" HEAD ",\"type\":\"job.result\",\"payload\":{}}", "8.1"},
    {"{" HEAD ",\"type\":\"job.result\",\"event_seq\":5,\"payload\":{}}", NULL},
    {"{" HEAD ",\"type\":\"job.result\",\"event_seq\":\"5\",\"payload\":{}}", "8.3"},
    {"{" HEAD ",\"type\":\"job.result\",\"event_seq\":4,\"payload\":{}}", "8.3"},
    {"{" HEAD ",\"type\":\"job.result\",\"event_seq\":6,\"payload\":{}}", "8.3"},
    {"{" HEAD
     ",\"type\":\"job.event\",\"event_seq\":5,\"job_id\":\"j\",\"payload\":{\"kind\":\"log\","
     "\"body\":{}}}",
     NULL},
    {"{" HEAD ",\"type\":\"job.event\",\"event_seq\":5,\"job_id\":\"j\",\"payload\":{\"kind\":1,"
     "\"body\":{}}}",
     "8.1"},
    {"{" HEAD
     ",\"type\":\"job.event\",\"event_seq\":5,\"job_id\":\"j\",\"payload\":{\"kind\":\"log\"}}",
     "8.1"},
    {"{" HEAD ",\"type\":\"job.event\",\"event_seq\":5,\"payload\":{\"kind\":\"log\",\"body\":{}}}",
     "8.1"},
    {"{" HEAD ",\"type\":\"job.event\",\"event_seq\":5,\"job_id\":\"j\",\"payload\":{\"kind\":"
     "\"progress\",\"body\":{}}}",
     NULL},
    {"{" HEAD ",\"type\":\"job.event\",\"event_seq\":5,\"job_id\":\"j\",\"payload\":{\"kind\":"
     "\"result_chunk\",\"body\":{}}}",
     "6.2"},
    {"{" HEAD ",\"type\":\"job.error\",\"payload\":{\"code\":\"X\",\"retryable\":true}}", NULL},
    {"{" HEAD ",\"type\":\"job.error\",\"payload\":{\"code\":\"X\"}}", "12"},
    {"{" HEAD ",\"type\":\"session.error\",\"payload\":{\"code\":1,\"retryable\":true}}", "12"},
    {"{" HEAD
     ",\"type\":\"job.error\",\"payload\":{\"code\":\"LEASE_EXPIRED\",\"retryable\":true}}",
     "12"},
    {"{" HEAD ",\"type\":\"job.error\",\"payload\":{\"code\":\"BUDGET_EXHAUSTED\",\"retryable\":"
     "true}}",
     "12"},
    {"{" HEAD
     ",\"type\":\"job.error\",\"payload\":{\"code\":\"INTERNAL_ERROR\",\"retryable\":false}}",
     "12"},
};

/* After a welcome that negotiates progress, and the event with number 4. */
static void every_frame_is_checked(void **state)
{
    for (size_t row = 0; row < sizeof frames / sizeof frames[0]; row++) {
        arcp__frame_rules rules = {0};
        arcp_json json = ARCP__JSON_INIT;
        arcp_buf why = arcp_buf_init();
        const char *section = NULL;
        scan(&json, "{" HEAD ",\"type\":\"session.welcome\",\"payload\":{\"capabilities\":"
                    "{\"features\":[\"progress\",\"result_chunk\"]}}}");
        arcp__frame_rules_negotiate(&rules, &json, ARCP_SPAN_LITERAL("[\"ack\",\"progress\"]"));
        scan(&json, "{" HEAD ",\"type\":\"job.result\",\"event_seq\":4,\"payload\":{}}");
        assert_true(arcp__frame_rules_check(&rules, &json, &section, &why));
        assert_int_equal(rules.before, 3);
        scan(&json, frames[row].frame);
        const bool is_right = arcp__frame_rules_check(&rules, &json, &section, &why);
        if (is_right != (frames[row].section == NULL) || is_right != (why.size == 0) ||
            (!is_right && strcmp(section, frames[row].section) != 0)) {
            fail_msg("%s: %s, %.*s", frames[row].frame, section == NULL ? "right" : section,
                     (int)why.size, why.size ? why.data : "");
        }
        arcp_buf_fini(&why);
        arcp__json_fini(&json);
        arcp_buf_fini(&rules.session);
    }
}

static bool is_step(arcp_span line)
{
    static const char *const words[] = {
        "connect ", "hello ",     "hello_with ", "hello_other ", "say_hello ", "drop ",
        "resume ",  "differ ",    "left-open ",  "a> ",          "a< ",        "b> ",
        "b< ",      "a refused ", "b refused ",  "a answers ",   "a ends $",   "b ends $",
        "a quiet",  "b quiet",    "b settle",    "b endless",    "b lacks $"};
    bool is_known = line.size == 0 || line.data[0] == ' '; /* it continues one */
    for (size_t row = 0; row < sizeof words / sizeof words[0]; row++) {
        is_known = is_known || arcp_span_starts_with(line, arcp_span_cstr(words[row]));
    }
    return is_known;
}

/* A case with a typing error would fail for every runtime, or for none. */
static void every_case_uses_known_words(void **state)
{
    arcp_span text = arcp_span_cstr(arcp__cases_text);
    arcp__case written;
    size_t count = 0;
    for (; arcp__case_next(&text, &written); count++) {
        assert_true(written.section.data[0] >= '1' && written.section.data[0] <= '9');
        assert_true(written.title.size > 10);
        assert_true(written.steps.size >= sizeof "hello a" - 1);
        while (written.steps.size != 0) {
            const char *end = memchr(written.steps.data, '\n', written.steps.size);
            const size_t size =
                end == NULL ? written.steps.size : (size_t)(end - written.steps.data);
            if (!is_step(arcp_span_first(written.steps, size))) {
                fail_msg("%.*s: %.*s", (int)written.title.size, written.title.data, (int)size,
                         written.steps.data);
            }
            written.steps = arcp_span_from(written.steps, size + 1);
        }
    }
    assert_int_equal(count, 38);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_matches_or_the_mismatch_is_located),
        cmocka_unit_test(names_are_replaced_by_the_json_of_their_values),
        cmocka_unit_test(a_variable_is_forgotten_by_its_name),
        cmocka_unit_test(variables_have_a_limit_on_both_sides),
        cmocka_unit_test(every_frame_is_checked),
        cmocka_unit_test(every_case_uses_known_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
