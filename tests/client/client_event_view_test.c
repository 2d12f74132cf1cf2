/* Event bodies under the draft's names, however they were spelled. */
#include "support/check.h"

#include <arcp/client.h>

typedef struct view_row {
    const char *name;
    const char *kind;
    const char *body;
    size_t field; /* offset in the view */
    const char *text;
} view_row;

#define F(field) offsetof(arcp_event_view, field)

static const view_row rows[] = {
    {"log level", "log", "{\"level\":\"INFO\",\"message\":\"m\"}", F(level), "INFO"},
    {"log message with escapes", "log", "{\"level\":\"info\",\"message\":\"a\\n\\u00e4\"}",
     F(message), "a\n\xc3\xa4"},
    {"thought", "thought", "{\"text\":\"hm\"}", F(text), "hm"},
    {"tool", "tool_call", "{\"tool\":\"fs.read\",\"args\":{\"p\":1},\"call_id\":\"c\"}", F(tool),
     "fs.read"},
    {"tool args are JSON", "tool_call", "{\"tool\":\"t\",\"args\":{\"p\":1}}", F(args),
     "{\"p\":1}"},
    {"older tool name", "tool_call", "{\"name\":\"t\",\"arguments\":[],\"tool_call_id\":\"c\"}",
     F(tool), "t"},
    {"older tool arguments", "tool_call",
     "{\"name\":\"t\",\"arguments\":[],\"tool_call_id\":\"c\"}", F(args), "[]"},
    {"older call id", "tool_call", "{\"name\":\"t\",\"tool_call_id\":\"c\"}", F(call_id), "c"},
    {"tool result", "tool_result", "{\"call_id\":\"c\",\"result\":[1]}", F(result), "[1]"},
    {"older tool result", "tool_result", "{\"tool_call_id\":\"c\",\"output\":\"o\"}", F(result),
     "\"o\""},
    {"tool error", "tool_result", "{\"call_id\":\"c\",\"error\":{\"code\":\"X\"}}", F(error),
     "{\"code\":\"X\"}"},
    {"null error is none", "tool_result", "{\"call_id\":\"c\",\"error\":null}", F(error), ""},
    {"phase", "status", "{\"phase\":\"running\"}", F(phase), "running"},
    {"rotated credential by id", "status", "{\"phase\":\"credential_rotated\",\"id\":\"c\"}",
     F(credential_id), "c"},
    {"rotated credential by credential_id", "status",
     "{\"phase\":\"credential_rotated\",\"credential_id\":\"c\"}", F(credential_id), "c"},
    {"rotated credential in details", "status",
     "{\"phase\":\"credential_rotated\",\"details\":{\"id\":\"c\"}}", F(credential_id), "c"},
    {"rotated credential in fields", "status",
     "{\"phase\":\"credential_rotated\",\"fields\":{\"id\":\"c\"}}", F(credential_id), "c"},
    {"metric value keeps its text", "metric",
     "{\"name\":\"cost.x\",\"value\":0.12345678901234567890,\"unit\":\"USD\"}", F(value),
     "0.12345678901234567890"},
    {"metric value as a string", "metric", "{\"name\":\"n\",\"value\":\"5.00\"}", F(value), "5.00"},
    {"dimensions called dims", "metric", "{\"name\":\"n\",\"value\":1,\"dims\":{}}", F(dimensions),
     "{}"},
    {"dimensions called attributes", "metric", "{\"name\":\"n\",\"value\":1,\"attributes\":{}}",
     F(dimensions), "{}"},
    {"artifact", "artifact_ref", "{\"uri\":\"u\",\"content_type\":\"t\",\"byte_size\":12}",
     F(byte_size), "12"},
    {"older artifact type", "artifact_ref", "{\"uri\":\"u\",\"media_type\":\"t\"}", F(content_type),
     "t"},
    {"older artifact size", "artifact_ref", "{\"artifact_id\":\"u\",\"size_bytes\":3}",
     F(byte_size), "3"},
    {"delegation", "delegate", "{\"child_job_id\":\"j\",\"agent\":\"a\"}", F(child_job_id), "j"},
    {"fractional progress", "progress", "{\"current\":1.5,\"total\":3,\"units\":\"files\"}",
     F(current), "1.5"},
    {"progress without total", "progress", "{\"current\":1}", F(total), ""},
    {"chunk", "result_chunk", "{\"result_id\":\"r\",\"chunk_seq\":0,\"data\":\"d\"}", F(data), "d"},
    {"a member of the wrong type is left out", "log", "{\"level\":{},\"message\":[]}", F(message),
     ""},
    {"a kind nobody knows has no members", "x-vendor.a", "{\"level\":\"info\"}", F(level), ""},
};

static void members_are_found_under_all_their_names(void **state)
{
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        arcp_error err = {0};
        arcp_client_event event = {.type = ARCP_CLIENT_JOB_EVENT,
                                   .kind =
                                       arcp_event_kind_from_wire(arcp_span_cstr(rows[row].kind)),
                                   .body = arcp_span_cstr(rows[row].body)};
        print_message("  %s\n", rows[row].name);
        check_ok(arcp_event_view_read(&view, &event, &err), &err);
        check_span(*(const arcp_span *)(const void *)((const char *)&view + rows[row].field),
                   rows[row].text);
    }
    arcp_event_view_fini(&view);
}

static void a_body_that_is_no_object_is_refused(void **state)
{
    static const char *const bodies[] = {"", "[]", "7", "null", "{"};
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    for (size_t row = 0; row < sizeof(bodies) / sizeof(bodies[0]); row++) {
        arcp_error err = {0};
        arcp_client_event event = {.kind = ARCP_EVENT_LOG, .body = arcp_span_cstr(bodies[row])};
        assert_int_equal(arcp_event_view_read(&view, &event, &err), ARCP_E_INVALID_REQUEST);
    }
    arcp_event_view_fini(&view);
}

static void many_escaped_members_stay_where_they_are(void **state)
{
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    arcp_error err = {0};
    arcp_client_event event = {
        .kind = ARCP_EVENT_PROGRESS,
        .body = ARCP_SPAN_LITERAL("{\"current\":\"\\u0031\",\"total\":\"\\u0032\","
                                  "\"units\":\"\\u0033\",\"message\":\"\\u0034\"}")};
    check_ok(arcp_event_view_read(&view, &event, &err), &err);
    check_span(view.current, "1");
    check_span(view.total, "2");
    check_span(view.units, "3");
    check_span(view.message, "4");
    arcp_event_view_fini(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_under_all_their_names),
        cmocka_unit_test(a_body_that_is_no_object_is_refused),
        cmocka_unit_test(many_escaped_members_stay_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
