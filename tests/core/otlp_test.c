/* Spans in OTLP's JSON. */
#include "support/check.h"

#include "core/otlp.h"
#include "json/json.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN   "00f067aa0ba902b7"
#define PARENT "b7ad6b7169203331"

static arcp__otlp_span plain(void)
{
    return (arcp__otlp_span){.trace_id = ARCP_SPAN_LITERAL(TRACE),
                             .span_id = ARCP_SPAN_LITERAL(SPAN),
                             .name = "arcp.job",
                             .kind = ARCP__OTLP_INTERNAL,
                             .start_wall_ns = 1,
                             .end_wall_ns = 2};
}

static void check_format(const arcp__otlp_span *span, const char *expected)
{
    arcp_buf text = arcp_buf_init();
    arcp__otlp_span_format(span, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_false(text.failed);
    assert_string_equal(text.data, expected);
    arcp_buf_fini(&text);
}

static void a_span_has_hex_ids_and_times_as_text(void **state)
{
    (void)state;
    arcp__otlp_span span = plain();
    span.start_wall_ns = INT64_C(1767225600000000001);
    span.end_wall_ns = INT64_MAX;
    check_format(&span, "{\"traceId\":\"" TRACE "\",\"spanId\":\"" SPAN "\",\"flags\":257,"
                        "\"name\":\"arcp.job\",\"kind\":1,"
                        "\"startTimeUnixNano\":\"1767225600000000001\","
                        "\"endTimeUnixNano\":\"9223372036854775807\",\"attributes\":[],"
                        "\"status\":{}}");
}

static void a_remote_parent_is_marked_as_remote(void **state)
{
    (void)state;
    arcp__otlp_span span = plain();
    span.parent_id = ARCP_SPAN_LITERAL(PARENT);
    span.parent_is_remote = true;
    span.tracestate = ARCP_SPAN_LITERAL("a=b,c=\"d\"");
    span.kind = ARCP__OTLP_SERVER;
    check_format(&span, "{\"traceId\":\"" TRACE "\",\"spanId\":\"" SPAN "\",\"parentSpanId\":"
                        "\"" PARENT "\",\"traceState\":\"a=b,c=\\\"d\\\"\",\"flags\":769,"
                        "\"name\":\"arcp.job\",\"kind\":2,\"startTimeUnixNano\":\"1\","
                        "\"endTimeUnixNano\":\"2\",\"attributes\":[],\"status\":{}}");
}

static void attributes_are_texts_and_lists_and_empty_ones_are_left_out(void **state)
{
    (void)state;
    const arcp_span list[] = {ARCP_SPAN_LITERAL("fs.read"), ARCP_SPAN_LITERAL("cost.budget")};
    const arcp__otlp_attribute attributes[] = {
        {.name = "a", .text = ARCP_SPAN_LITERAL("x\xff\n")},
        {.name = "none", .text = {NULL, 0}},
        {.name = "list", .texts = list, .text_count = 2},
        {.name = "empty", .texts = list, .text_count = 0},
    };
    arcp__otlp_span span = plain();
    span.attributes = attributes;
    span.attribute_count = 4;
    check_format(&span,
                 "{\"traceId\":\"" TRACE "\",\"spanId\":\"" SPAN "\",\"flags\":257,"
                 "\"name\":\"arcp.job\",\"kind\":1,\"startTimeUnixNano\":\"1\","
                 "\"endTimeUnixNano\":\"2\",\"attributes\":[{\"key\":\"a\",\"value\":"
                 "{\"stringValue\":\"x\xef\xbf\xbd\\n\"}},{\"key\":\"list\",\"value\":"
                 "{\"arrayValue\":{\"values\":[{\"stringValue\":\"fs.read\"},{\"stringValue\":"
                 "\"cost.budget\"}]}}}],\"status\":{}}");
}

static void an_error_has_a_code_and_a_message(void **state)
{
    (void)state;
    arcp__otlp_span span = plain();
    span.status = ARCP__OTLP_ERROR;
    span.status_message = "LEASE_EXPIRED";
    check_format(&span, "{\"traceId\":\"" TRACE "\",\"spanId\":\"" SPAN "\",\"flags\":257,"
                        "\"name\":\"arcp.job\",\"kind\":1,\"startTimeUnixNano\":\"1\","
                        "\"endTimeUnixNano\":\"2\",\"attributes\":[],"
                        "\"status\":{\"code\":2,\"message\":\"LEASE_EXPIRED\"}}");
}

static void a_span_never_ends_before_it_begins(void **state)
{
    (void)state;
    arcp__otlp_span span = plain();
    span.start_wall_ns = 7;
    span.end_wall_ns = 6; /* the clock was set back */
    check_format(&span, "{\"traceId\":\"" TRACE "\",\"spanId\":\"" SPAN "\",\"flags\":257,"
                        "\"name\":\"arcp.job\",\"kind\":1,\"startTimeUnixNano\":\"7\","
                        "\"endTimeUnixNano\":\"7\",\"attributes\":[],\"status\":{}}");
}

static void a_request_is_json_with_the_spans_in_it(void **state)
{
    (void)state;
    const arcp__otlp_attribute resource[] = {
        {.name = "service.name", .text = ARCP_SPAN_LITERAL("arcpd")}};
    const arcp__otlp_span span = plain();
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    arcp_error error = {0};
    arcp__otlp_request_begin(resource, 1, "1.2.3", &text);
    arcp__otlp_span_format(&span, &text);
    arcp_buf_append_byte(&text, ',');
    arcp__otlp_span_format(&span, &text);
    arcp__otlp_request_end(&text);
    check_ok(arcp_json_scan(&json, arcp_buf_span(&text), &limits, &error), &error);
    arcp_buf_append_byte(&text, '\0');
    assert_ptr_equal(strstr(text.data, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\""
                                       ":\"service.name\",\"value\":{\"stringValue\":\"arcpd\"}}]},"
                                       "\"scopeSpans\":[{\"scope\":{\"name\":\"arcp\",\"version\":"
                                       "\"1.2.3\"},\"spans\":[{\"traceId\""),
                     text.data);
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_has_hex_ids_and_times_as_text),
        cmocka_unit_test(a_remote_parent_is_marked_as_remote),
        cmocka_unit_test(attributes_are_texts_and_lists_and_empty_ones_are_left_out),
        cmocka_unit_test(an_error_has_a_code_and_a_message),
        cmocka_unit_test(a_span_never_ends_before_it_begins),
        cmocka_unit_test(a_request_is_json_with_the_spans_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
