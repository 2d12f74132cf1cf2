/* The bodies that the runtime writes pass the validation of agents' events. */
#include "support/check.h"

#include "core/event_body.h"

static void assert_body(const char *kind, arcp_buf *body, const char *expected)
{
    arcp_json json = {0};
    arcp_json_limits limits = arcp_json_limits_init();
    arcp__event_body read;
    arcp_error error = {0};
    arcp_buf scratch = arcp_buf_init();
    arcp_buf checked = arcp_buf_init();
    assert_false(body->failed);
    assert_true(arcp_buf_reserve(&scratch, body->size * 4));
    check_ok(arcp_json_scan(&json, arcp_buf_span(body), &limits, &error), &error);
    check_ok(arcp__event_check(&json, arcp_span_cstr(kind), ARCP_JSON_ROOT, &scratch, &checked,
                               &read, &error),
             &error);
    assert_true(arcp_span_equal_cstr(arcp_buf_span(body), expected));
    assert_true(arcp_span_equal_cstr(arcp_buf_span(&checked), expected));
    arcp__json_fini(&json);
    arcp_buf_fini(&scratch);
    arcp_buf_fini(&checked);
    arcp_buf_fini(body);
}

static void a_log_line_is_quoted(void **state)
{
    arcp_buf body = arcp_buf_init();
    (void)state;
    arcp__event_write_log(ARCP_SPAN_LITERAL("warn"), ARCP_SPAN_LITERAL("a \"b\"\n"), &body);
    assert_body("log", &body, "{\"level\":\"warn\",\"message\":\"a \\\"b\\\"\\n\"}");
}

static void a_metric_has_a_unit_or_none(void **state)
{
    arcp_buf body = arcp_buf_init();
    (void)state;
    arcp__event_write_metric(ARCP_SPAN_LITERAL("cost.x"), ARCP_SPAN_LITERAL("1.250"),
                             ARCP_SPAN_LITERAL("USD"), &body);
    assert_body("metric", &body, "{\"name\":\"cost.x\",\"value\":1.250,\"unit\":\"USD\"}");
    arcp__event_write_metric(ARCP_SPAN_LITERAL("rows"), ARCP_SPAN_LITERAL("7"),
                             arcp_span_make(NULL, 0), &body);
    assert_body("metric", &body, "{\"name\":\"rows\",\"value\":7}");
}

static void a_refusal_names_the_call_and_has_the_shape_of_every_error(void **state)
{
    arcp_error error = {0};
    arcp_buf body = arcp_buf_init();
    (void)state;
    (void)arcp_error_set(&error, ARCP_E_PERMISSION_DENIED, "no");
    arcp__event_write_refusal(ARCP_SPAN_LITERAL("c1"), &error, arcp_span_make(NULL, 0), &body);
    assert_body("tool_result", &body,
                "{\"call_id\":\"c1\",\"error\":{\"code\":\"PERMISSION_DENIED\",\"message\":\"no\","
                "\"retryable\":false}}");
    arcp__event_write_refusal(ARCP_SPAN_LITERAL("c1"), &error, ARCP_SPAN_LITERAL("{\"a\":1}"),
                              &body);
    assert_body("tool_result", &body,
                "{\"call_id\":\"c1\",\"error\":{\"code\":\"PERMISSION_DENIED\",\"message\":\"no\","
                "\"retryable\":false,\"details\":{\"a\":1}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_line_is_quoted),
        cmocka_unit_test(a_metric_has_a_unit_or_none),
        cmocka_unit_test(a_refusal_names_the_call_and_has_the_shape_of_every_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
