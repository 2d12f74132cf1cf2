/* Event bodies are read into the draft's names from all known spellings. */
#include "support/check.h"

#include "client/client_session.h"
#include "support/failing_alloc.h"

typedef struct body_row {
    const char *name;
    const char *kind;
    const char *body;
    size_t field; /* offset in the body */
    const char *text;
} body_row;

#define F(field) offsetof(arcp_event_body, field)

static const body_row rows[] = {
    {"log level", "log", "{\"level\":\"INFO\",\"message\":\"m\"}", F(log.level), "INFO"},
    {"log message with escapes", "log", "{\"level\":\"info\",\"message\":\"a\\n\\u00e4\"}",
     F(log.message), "a\n\xc3\xa4"},
    {"thought", "thought", "{\"text\":\"hm\"}", F(thought.text), "hm"},
    {"tool", "tool_call", "{\"tool\":\"fs.read\",\"args\":{\"p\":1},\"call_id\":\"c\"}",
     F(tool_call.tool), "fs.read"},
    {"tool args are JSON", "tool_call", "{\"tool\":\"t\",\"args\":{\"p\":1}}", F(tool_call.args),
     "{\"p\":1}"},
    {"older tool name", "tool_call", "{\"name\":\"t\",\"arguments\":[],\"tool_call_id\":\"c\"}",
     F(tool_call.tool), "t"},
    {"older tool arguments", "tool_call",
     "{\"name\":\"t\",\"arguments\":[],\"tool_call_id\":\"c\"}", F(tool_call.args), "[]"},
    {"older call id", "tool_call", "{\"name\":\"t\",\"tool_call_id\":\"c\"}", F(tool_call.call_id),
     "c"},
    {"tool result", "tool_result", "{\"call_id\":\"c\",\"result\":[1]}", F(tool_result.result),
     "[1]"},
    {"older tool result", "tool_result", "{\"tool_call_id\":\"c\",\"output\":\"o\"}",
     F(tool_result.result), "\"o\""},
    {"tool error", "tool_result", "{\"call_id\":\"c\",\"error\":{\"code\":\"X\"}}",
     F(tool_result.error), "{\"code\":\"X\"}"},
    {"a null error counts as missing", "tool_result", "{\"call_id\":\"c\",\"error\":null}",
     F(tool_result.error), ""},
    {"phase", "status", "{\"phase\":\"running\"}", F(status.phase), "running"},
    {"rotated credential by id", "status", "{\"phase\":\"credential_rotated\",\"id\":\"c\"}",
     F(status.credential_id), "c"},
    {"rotated credential by credential_id", "status",
     "{\"phase\":\"credential_rotated\",\"credential_id\":\"c\"}", F(status.credential_id), "c"},
    {"rotated credential in details", "status",
     "{\"phase\":\"credential_rotated\",\"details\":{\"id\":\"c\"}}", F(status.credential_id), "c"},
    {"rotated credential in fields", "status",
     "{\"phase\":\"credential_rotated\",\"fields\":{\"id\":\"c\"}}", F(status.credential_id), "c"},
    {"metric value keeps its text", "metric",
     "{\"name\":\"cost.x\",\"value\":0.12345678901234567890,\"unit\":\"USD\"}", F(metric.value),
     "0.12345678901234567890"},
    {"metric value as a string", "metric", "{\"name\":\"n\",\"value\":\"5.00\"}", F(metric.value),
     "5.00"},
    {"dimensions called dims", "metric", "{\"name\":\"n\",\"value\":1,\"dims\":{}}",
     F(metric.dimensions), "{}"},
    {"dimensions called attributes", "metric", "{\"name\":\"n\",\"value\":1,\"attributes\":{}}",
     F(metric.dimensions), "{}"},
    {"artifact", "artifact_ref", "{\"uri\":\"u\",\"content_type\":\"t\",\"byte_size\":12}",
     F(artifact_ref.byte_size), "12"},
    {"older artifact type", "artifact_ref", "{\"uri\":\"u\",\"media_type\":\"t\"}",
     F(artifact_ref.content_type), "t"},
    {"older artifact size", "artifact_ref", "{\"artifact_id\":\"u\",\"size_bytes\":3}",
     F(artifact_ref.byte_size), "3"},
    {"delegation", "delegate", "{\"child_job_id\":\"j\",\"agent\":\"a\"}", F(delegate.child_job_id),
     "j"},
    {"fractional progress", "progress", "{\"current\":1.5,\"total\":3,\"units\":\"files\"}",
     F(progress.current), "1.5"},
    {"progress without total", "progress", "{\"current\":1}", F(progress.total), ""},
    {"chunk", "result_chunk", "{\"result_id\":\"r\",\"chunk_seq\":0,\"data\":\"d\"}",
     F(result_chunk.data), "d"},
    {"a member of the wrong type is left out", "log", "{\"level\":{},\"message\":[]}",
     F(log.message), ""},
    {"an unknown kind has no members", "x-vendor.a", "{\"level\":\"info\"}", F(log.level), ""},
};

/* An event as the client delivers it; free its item with arcp__client_item_free. */
static arcp__client_item *event_of(const char *kind, const char *body)
{
    arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_EVENT, NULL, 0);
    assert_non_null(item);
    item->event.kind = arcp_event_kind_from_wire(arcp_span_cstr(kind));
    item->event.body = arcp_span_cstr(body);
    return item;
}

static void members_are_found_under_all_their_names(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        arcp__client_item *item = event_of(rows[row].kind, rows[row].body);
        print_message("  %s\n", rows[row].name);
        const arcp_event_body *body = arcp_client_event_body(&item->event);
        const arcp_span *member =
            (const arcp_span *)(const void *)((const char *)body + rows[row].field);
        /* Each ends with a NUL. */
        assert_string_equal(member->data, rows[row].text);
        assert_int_equal(member->size, strlen(rows[row].text));
        arcp__client_item_free(item);
    }
}

static void a_body_that_is_not_an_object_has_no_members(void **state)
{
    static const char *const bodies[] = {"", "[]", "7", "null", "{"};
    (void)state;
    for (size_t row = 0; row < sizeof bodies / sizeof bodies[0]; row++) {
        arcp__client_item *item = event_of("log", bodies[row]);
        const arcp_event_body *body = arcp_client_event_body(&item->event);
        assert_int_equal(body->kind, ARCP_EVENT_UNKNOWN);
        assert_string_equal(body->log.message.data, "");
        arcp__client_item_free(item);
    }
}

static void the_body_is_parsed_once(void **state)
{
    (void)state;
    arcp__client_item *item = event_of("log", "{\"message\":\"m\"}");
    /* A copy of the event has the same body. */
    const arcp_client_event copy = item->event;
    const arcp_event_body *body = arcp_client_event_body(&copy);
    check_span(body->log.message, "m");
    assert_ptr_equal(arcp_client_event_body(&item->event), body);
    arcp__client_item_free(item);
}

static void out_of_memory_there_are_no_members(void **state)
{
    (void)state;
    bool has_failed = true;
    for (size_t nth = 1; has_failed; nth++) {
        arcp__client_item *item = event_of("log", "{\"message\":\"m\"}");
        failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        const arcp_event_body *body = arcp_client_event_body(&item->event);
        has_failed = failing_alloc_disarm();
        assert_int_equal(body->kind, has_failed ? ARCP_EVENT_UNKNOWN : ARCP_EVENT_LOG);
        check_span(body->log.message, has_failed ? "" : "m");
        arcp__client_item_free(item);
    }
    assert_int_equal(failing_alloc_live(), 0);
}

static void a_payload_is_reassembled(void **state)
{
    (void)state;
    arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_EVENT, NULL, 32);
    assert_non_null(item);
    item->payload = arcp__client_item_join(item, ARCP_SPAN_LITERAL("{\"body\":"),
                                           ARCP_SPAN_LITERAL(",\"kind\":\"x\"}"));
    item->body_at = 8;
    assert_string_equal(arcp_client_event_payload(&item->event).data, "{\"body\":,\"kind\":\"x\"}");
    item->event.body = arcp__client_item_place(item, ARCP_SPAN_LITERAL("[1]"));
    assert_string_equal(arcp_client_event_payload(&item->event).data,
                        "{\"body\":[1],\"kind\":\"x\"}");
    check_span(arcp_client_event_payload(&item->event), "{\"body\":[1],\"kind\":\"x\"}");
    arcp__client_item_free(item);
    const arcp_client_event made = {.type = ARCP_CLIENT_CONNECTED};
    assert_string_equal(arcp_client_event_payload(&made).data, "");
    assert_int_equal(arcp_client_event_body(&made)->kind, ARCP_EVENT_UNKNOWN);
}

static void spans_of_many_escaped_members_stay_valid(void **state)
{
    (void)state;
    arcp__client_item *item =
        event_of("progress", "{\"current\":\"\\u0031\",\"total\":\"\\u0032\","
                             "\"units\":\"\\u0033\",\"message\":\"\\u0034\"}");
    const arcp_progress_body *progress = &arcp_client_event_body(&item->event)->progress;
    check_span(progress->current, "1");
    check_span(progress->total, "2");
    check_span(progress->units, "3");
    check_span(progress->message, "4");
    arcp__client_item_free(item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_under_all_their_names),
        cmocka_unit_test(a_body_that_is_not_an_object_has_no_members),
        cmocka_unit_test(the_body_is_parsed_once),
        cmocka_unit_test(out_of_memory_there_are_no_members),
        cmocka_unit_test(a_payload_is_reassembled),
        cmocka_unit_test(spans_of_many_escaped_members_stay_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
