/* The gateway as a client of a server: the beginning, the list, calls and their ends. */
#include "mcp/mcp_fixture.h"

#include "mcp/mcp_link.h"
#include "support/failing_alloc.h"

#define RESULT(id, of) MESSAGE("\"id\":" id ",\"result\":{" of "}")
#define FAILED(id)     MESSAGE("\"id\":" id ",\"error\":{\"code\":-32601,\"message\":\"no\"}")
#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientInfo\":" IDENTITY                                             \
    ",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define IDENTITY "{\"name\":\"arcp\",\"version\":\"" ARCP_VERSION_STRING "\"}"
#define INITIALIZE                                                                                 \
    MESSAGE("\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","   \
            "\"capabilities\":{},\"clientInfo\":" IDENTITY "}")                                    \
    "\n"
#define INITIALIZED MESSAGE("\"method\":\"notifications/initialized\"") "\n"
#define DISCOVER    MESSAGE("\"id\":2,\"method\":\"server/discover\",\"params\":{" META "}") "\n"
#define LIST_LINE(id, params)                                                                      \
    MESSAGE("\"id\":" id ",\"method\":\"tools/list\",\"params\":{" params "}") "\n"
#define CALL_LINE(id, params)                                                                      \
    MESSAGE("\"id\":" id ",\"method\":\"tools/call\",\"params\":{" params "}") "\n"
#define PROGRESS(token)                                                                            \
    MESSAGE("\"method\":\"notifications/progress\",\"params\":{\"progressToken\":" token "}")
#define CANCELLED(id, why)                                                                         \
    MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id                 \
            ",\"reason\":\"" why "\"}")                                                            \
    "\n"

typedef struct fixture {
    arcp__mcp_link *link;
    arcp_buf out;
    arcp_buf said; /* what the events reported, a space behind each */
    arcp__mcp_toolset *set;
} fixture;

static void on_listed(void *user, arcp__mcp_toolset *set, const char *why)
{
    fixture *f = user;
    if (set == NULL) {
        arcp_buf_append_format(&f->said, "unlisted(%s) ", why);
    } else {
        arcp_buf_append_format(&f->said, "listed(%zu) ", arcp__mcp_toolset_count(set));
    }
    arcp__mcp_toolset_free(f->set);
    f->set = set;
}

static void on_progress(void *user, void *call, const arcp_json *json, arcp_json_ref params)
{
    fixture *f = user;
    arcp_buf_append_format(&f->said, "progress(%s) ", (const char *)call);
}

static void on_answered(void *user, void *call, const arcp_json *json, arcp_json_ref outcome,
                        bool is_error)
{
    fixture *f = user;
    arcp_buf_append_format(&f->said, "%s(%s) ", is_error ? "error" : "result", (const char *)call);
}

static void on_failed(void *user, void *call, const char *why)
{
    fixture *f = user;
    arcp_buf_append_format(&f->said, "failed(%s: %s) ", (const char *)call, why);
}

static void on_broken(void *user, const char *why)
{
    fixture *f = user;
    arcp_buf_append_format(&f->said, "broken(%s) ", why);
}

static void on_dropped(void *user, const char *why, arcp_span line)
{
    fixture *f = user;
    arcp_buf_append_format(&f->said, "dropped(%s) ", why);
}

static arcp_status begin(fixture *f, arcp_error *err)
{
    const arcp__mcp_link_events events = {
        on_listed, on_progress, on_answered, on_failed, on_broken, on_dropped, f};
    *f = (fixture){0};
    return arcp__mcp_link_new(ARCP_SPAN_LITERAL("web"), &f->out, &events, &f->link, err);
}

static void end(fixture *f)
{
    arcp__mcp_link_free(f->link);
    arcp__mcp_toolset_free(f->set);
    arcp_buf_fini(&f->out);
    arcp_buf_fini(&f->said);
}

/* What the server gets, and what was reported, since the last time. */
static void check_both(fixture *f, const char *out, const char *said)
{
    check_span(arcp_buf_span(&f->out), out);
    check_span(arcp_buf_span(&f->said), said);
    arcp_buf_clear(&f->out);
    arcp_buf_clear(&f->said);
}

static void take(fixture *f, const char *line)
{
    arcp_error err = {0};
    check_ok(arcp__mcp_link_take(f->link, arcp_span_cstr(line), &err), &err);
}

static uint64_t send_call(fixture *f, const char *arguments, bool wants_progress, const char *name)
{
    const arcp__mcp_link_call call = {.tool = ARCP_SPAN_LITERAL("a"),
                                      .arguments = arcp_span_cstr(arguments),
                                      .wants_progress = wants_progress,
                                      .call = (void *)name};
    arcp_error err = {0};
    uint64_t id = 0;
    check_ok(arcp__mcp_link_send(f->link, &call, &id, &err), &err);
    return id;
}

/* A server that is ready, with one tool; the next id is 3. */
static void start(fixture *f)
{
    arcp_error err = {0};
    check_ok(begin(f, &err), &err);
    take(f, RESULT("1", "\"protocolVersion\":\"2025-06-18\""));
    take(f, RESULT("2", "\"tools\":[{\"name\":\"a\"}]"));
    arcp_buf_clear(&f->out);
    check_both(f, "", "listed(1) ");
}

/* ---- the beginning ---- */

static void a_server_is_initialized_and_its_list_read(void **state)
{
    fixture f;
    arcp_error err = {0};
    check_ok(begin(&f, &err), &err);
    check_both(&f, INITIALIZE, "");
    assert_int_equal(arcp__mcp_link_state_of(f.link), ARCP__MCP_LINK_GREETING);
    take(&f, RESULT("1", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}"));
    check_both(&f, INITIALIZED LIST_LINE("2", ""), "");
    assert_string_equal(arcp__mcp_link_version(f.link), "2025-11-25");
    take(&f, RESULT("2", "\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"x\""));
    check_both(&f, LIST_LINE("3", "\"cursor\":\"x\""), "");
    take(&f, RESULT("3", "\"tools\":[{\"name\":\"b\"}]"));
    check_both(&f, "", "listed(2) ");
    assert_int_equal(arcp__mcp_link_state_of(f.link), ARCP__MCP_LINK_READY);
    end(&f);
}

static void a_server_that_refuses_is_asked_in_the_other_way(void **state)
{
    fixture f;
    arcp_error err = {0};
    check_ok(begin(&f, &err), &err);
    arcp_buf_clear(&f.out);
    take(&f, FAILED("1"));
    check_both(&f, DISCOVER, "");
    take(&f, RESULT("2", "\"supportedVersions\":[\"2027-01-01\",\"2026-07-28\"]"));
    check_both(&f, LIST_LINE("3", META), "");
    take(&f, RESULT("3", "\"tools\":[]"));
    (void)send_call(&f, "{\"x\":1}", true, "one");
    check_both(&f,
               CALL_LINE("4",
                         "\"name\":\"a\",\"arguments\":{\"x\":1},\"_meta\":{\"progressToken\":4,"
                         "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                         "\"io.modelcontextprotocol/clientInfo\":" IDENTITY
                         ",\"io.modelcontextprotocol/clientCapabilities\":{}}"),
               "listed(0) ");
    end(&f);
}

typedef struct broken_row {
    const char *name;
    const char *first, *second; /* lines of the server; the second may be NULL */
    const char *said;
} broken_row;

#define UNKNOWN "broken(the server speaks a version of the protocol that is not known) "
#define NEITHER "broken(the server speaks neither a version with initialize nor 2026-07-28) "

static const broken_row broken[] = {
    {"a version that is not known", RESULT("1", "\"protocolVersion\":\"2099-01-01\""), NULL,
     UNKNOWN},
    {"no version", RESULT("1", ""), NULL, UNKNOWN},
    {"a version that is no text", RESULT("1", "\"protocolVersion\":1"), NULL, UNKNOWN},
    {"a server that refuses both", FAILED("1"), FAILED("2"),
     "broken(the server refuses to begin) "},
    {"other versions only", FAILED("1"), RESULT("2", "\"supportedVersions\":[\"2027-01-01\",5]"),
     NEITHER},
    {"versions that are no list", FAILED("1"),
     RESULT("2", "\"supportedVersions\":{\"2026-07-28\":\"2026-07-28\"}"), NEITHER},
    {"a beginning that cannot be read", MESSAGE("\"id\":1,\"result\":{\"a\":1,\"a\":2}"), NULL,
     "dropped(JSON: the name \"a\" occurs twice in one object, again at byte 40) "
     "broken(the response of the server cannot be read: "
     "JSON: the name \"a\" occurs twice in one object, again at byte 40) "},
};

static void check_broken(void **state)
{
    const broken_row *row = *state;
    fixture f;
    arcp_error err = {0};
    uint64_t id = 0;
    check_ok(begin(&f, &err), &err);
    take(&f, row->first);
    if (row->second != NULL) {
        take(&f, row->second);
    }
    check_span(arcp_buf_span(&f.said), row->said);
    assert_int_equal(arcp__mcp_link_state_of(f.link), ARCP__MCP_LINK_ENDED);
    const arcp__mcp_link_call call = {.tool = ARCP_SPAN_LITERAL("a"), .call = &f};
    assert_int_equal(arcp__mcp_link_send(f.link, &call, &id, &err), ARCP_E_CLOSED);
    end(&f);
}

/* ---- the list ---- */

static void a_list_that_changes_is_read_again_when_the_owner_wants_it(void **state)
{
    fixture f;
    arcp_error err = {0};
    start(&f);
    assert_false(arcp__mcp_link_is_stale(f.link));
    take(&f, MESSAGE("\"method\":\"notifications/tools/list_changed\""));
    take(&f, MESSAGE("\"method\":\"notifications/tools/list_changed\""));
    assert_true(arcp__mcp_link_is_stale(f.link));
    check_both(&f, "", "");
    check_ok(arcp__mcp_link_list(f.link, &err), &err);
    check_ok(arcp__mcp_link_list(f.link, &err), &err);
    check_both(&f, LIST_LINE("3", ""), "");
    assert_false(arcp__mcp_link_is_stale(f.link));
    take(&f, RESULT("3", "\"tools\":[]"));
    check_both(&f, "", "listed(0) ");
    end(&f);
}

static void a_list_that_cannot_be_read_is_reported(void **state)
{
    fixture f;
    arcp_error err = {0};
    start(&f);
    check_ok(arcp__mcp_link_list(f.link, &err), &err);
    take(&f, RESULT("3", "\"tools\":{}"));
    check_both(&f, LIST_LINE("3", ""),
               "unlisted(the response of the server has no list of tools) ");
    check_ok(arcp__mcp_link_list(f.link, &err), &err);
    take(&f, FAILED("4"));
    check_both(&f, LIST_LINE("4", ""), "unlisted(the server refuses to list its tools) ");
    check_ok(arcp__mcp_link_list(f.link, &err), &err);
    check_ok(arcp__mcp_link_skip(f.link, ARCP_SPAN_LITERAL("5"), &err), &err);
    check_both(&f, LIST_LINE("5", ""),
               "dropped(it is longer than 8 MiB) "
               "unlisted(the response of the server is longer than 8 MiB) ");
    assert_int_equal(arcp__mcp_link_state_of(f.link), ARCP__MCP_LINK_READY);
    end(&f);
}

/* ---- calls ---- */

static void responses_reach_their_calls(void **state)
{
    fixture f;
    start(&f);
    (void)send_call(&f, "", false, "one");
    (void)send_call(&f, "{}", true, "two");
    check_both(&f,
               CALL_LINE("3", "\"name\":\"a\"") CALL_LINE(
                   "4", "\"name\":\"a\",\"arguments\":{},\"_meta\":{\"progressToken\":4}"),
               "");
    take(&f, PROGRESS("4"));
    take(&f, RESULT("4", ""));
    take(&f, FAILED("3"));
    check_both(&f, "", "progress(two) result(two) error(one) ");
    assert_int_equal(arcp__mcp_link_pending(f.link), 0);
    end(&f);
}

typedef struct line_row {
    const char *name;
    const char *line;
    const char *out, *said;
} line_row;

#define NO_REQUEST "dropped(it is a response to no request that waits for one) "
#define NO_CALL    "dropped(it is the progress of no call) "

/* Call 3 wants no progress, call 4 does. */
static const line_row lines[] = {
    {"a response to nothing", RESULT("9", ""), "", NO_REQUEST},
    {"a response to what has been answered", RESULT("2", ""), "", NO_REQUEST},
    {"a response whose id is a text", RESULT("\"3\"", ""), "", NO_REQUEST},
    {"a response with the id 0", RESULT("0", ""), "", NO_REQUEST},
    {"a response with another spelling of an id", RESULT("3.0", ""), "",
     "dropped(id must be a string of at most 256 bytes, or an integer within 2^53) "},
    {"progress of a call that wants none", PROGRESS("3"), "", NO_CALL},
    {"progress of nothing", PROGRESS("7"), "", NO_CALL},
    {"progress whose token is a text", PROGRESS("\"4\""), "", NO_CALL},
    {"the log is not passed on", MESSAGE("\"method\":\"notifications/message\""), "", ""},
    {"other notifications are dropped", MESSAGE("\"method\":\"notifications/x\""), "",
     "dropped(this notification is not passed on) "},
    {"a ping is answered", MESSAGE("\"id\":\"p\",\"method\":\"ping\""),
     MESSAGE("\"id\":\"p\",\"result\":{}") "\n", ""},
    {"other requests are refused", MESSAGE("\"id\":1,\"method\":\"sampling/createMessage\""),
     MESSAGE("\"id\":1,\"error\":{\"code\":-32601,\"message\":\"requests are not passed to the "
             "client\"}") "\n",
     ""},
    {"a response that cannot be read fails its call", MESSAGE("\"id\":3,\"result\":1,\"result\":2"),
     "",
     "dropped(JSON: the name \"result\" occurs twice in one object, again at byte 35) "
     "failed(one: the response of the server cannot be read: "
     "JSON: the name \"result\" occurs twice in one object, again at byte 35) "},
    {"a batch is dropped", "[" RESULT("3", "") "]", "", "dropped(batches are not accepted) "},
};

static void check_line(void **state)
{
    const line_row *row = *state;
    fixture f;
    start(&f);
    (void)send_call(&f, "", false, "one");
    (void)send_call(&f, "", true, "two");
    arcp_buf_clear(&f.out);
    take(&f, row->line);
    check_both(&f, row->out, row->said);
    end(&f);
}

static void a_cancelled_call_gets_no_response(void **state)
{
    fixture f;
    arcp_error err = {0};
    start(&f);
    const uint64_t id = send_call(&f, "", true, "one");
    arcp_buf_clear(&f.out);
    check_ok(arcp__mcp_link_cancel(f.link, id, "the client has left", &err), &err);
    check_both(&f, CANCELLED("3", "the client has left"), "");
    check_ok(arcp__mcp_link_cancel(f.link, id, "again", &err), &err);
    check_ok(arcp__mcp_link_cancel(f.link, 77, "another", &err), &err);
    check_both(&f, "", "");
    take(&f, PROGRESS("3"));
    take(&f, RESULT("3", ""));
    check_both(&f, "", NO_CALL NO_REQUEST);
    end(&f);
}

static void ids_are_not_used_again(void **state)
{
    fixture f;
    arcp_error err = {0};
    start(&f);
    const uint64_t first = send_call(&f, "", false, "one");
    check_ok(arcp__mcp_link_cancel(f.link, first, "x", &err), &err);
    assert_int_equal(send_call(&f, "", false, "two"), first + 1);
    take(&f, RESULT("3", ""));
    check_span(arcp_buf_span(&f.said), NO_REQUEST);
    end(&f);
}

static void a_response_that_is_too_long_fails_its_call(void **state)
{
    fixture f;
    arcp_error err = {0};
    start(&f);
    (void)send_call(&f, "", false, "one");
    check_ok(arcp__mcp_link_skip(f.link, ARCP_SPAN_LITERAL("\"3\""), &err), &err);
    check_ok(arcp__mcp_link_skip(f.link, arcp_span_make(NULL, 0), &err), &err);
    assert_int_equal(arcp__mcp_link_pending(f.link), 1);
    arcp_buf_clear(&f.said);
    check_ok(arcp__mcp_link_skip(f.link, ARCP_SPAN_LITERAL("3"), &err), &err);
    check_span(arcp_buf_span(&f.said),
               "dropped(it is longer than 8 MiB) "
               "failed(one: the response of the server is longer than 8 MiB) ");
    end(&f);
}

static void calls_fail_when_the_server_ends(void **state)
{
    fixture f;
    start(&f);
    (void)send_call(&f, "", false, "one");
    (void)send_call(&f, "", false, "two");
    arcp__mcp_link_end(f.link, "it has ended with status 1");
    check_span(arcp_buf_span(&f.said), "failed(one: it has ended with status 1) "
                                       "failed(two: it has ended with status 1) ");
    arcp_buf_clear(&f.said);
    arcp_buf_clear(&f.out);
    take(&f, RESULT("3", ""));
    take(&f, MESSAGE("\"id\":\"p\",\"method\":\"ping\""));
    check_both(&f, "", "");
    end(&f);
}

static void a_server_that_does_not_read_gets_no_responses(void **state)
{
    fixture f;
    start(&f);
    arcp__mcp_link_set_behind(f.link, true);
    take(&f, MESSAGE("\"id\":\"p\",\"method\":\"ping\""));
    check_both(&f, "", "dropped(it is a request, and the server does not read responses) ");
    end(&f);
}

static void calls_without_a_response_are_limited(void **state)
{
    const arcp__mcp_link_call call = {.tool = ARCP_SPAN_LITERAL("a"), .call = (void *)"x"};
    arcp_error err = {0};
    uint64_t id = 0;
    fixture f;
    start(&f);
    for (int i = 0; i < ARCP__MCP_LINK_CALLS_MAX; i++) {
        check_ok(arcp__mcp_link_send(f.link, &call, &id, &err), &err);
    }
    assert_int_equal(arcp__mcp_link_send(f.link, &call, &id, &err), ARCP_E_LIMIT);
    take(&f, RESULT("3", ""));
    check_ok(arcp__mcp_link_send(f.link, &call, &id, &err), &err);
    end(&f);
}

static void calls_wait_until_the_server_is_ready(void **state)
{
    const arcp__mcp_link_call call = {.tool = ARCP_SPAN_LITERAL("a"), .call = (void *)"x"};
    arcp_error err = {0};
    uint64_t id = 0;
    fixture f;
    check_ok(begin(&f, &err), &err);
    assert_int_equal(arcp__mcp_link_send(f.link, &call, &id, &err), ARCP_E_CLOSED);
    arcp_buf_clear(&f.out);
    check_ok(arcp__mcp_link_list(f.link, &err), &err);
    check_both(&f, "", "");
    end(&f);
}

static void names_of_servers_are_checked(void **state)
{
    const arcp__mcp_link_events events = {0};
    arcp__mcp_link *link = NULL;
    arcp_buf out = arcp_buf_init();
    arcp_error err = {0};
    assert_int_equal(arcp__mcp_link_new(ARCP_SPAN_LITERAL("a_b"), &out, &events, &link, &err),
                     ARCP_E_USAGE);
    assert_null(link);
    arcp_buf_fini(&out);
}

/* ---- memory ---- */

static arcp_status whole_link(void *user, arcp_error *err)
{
    static const char *const before[] = {
        RESULT("1", "\"protocolVersion\":\"2025-11-25\""),
        RESULT("2", "\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"x\""),
        RESULT("3", "\"tools\":[{\"name\":\"b.c\"}]")};
    static const char *const after[] = {PROGRESS("4"),
                                        MESSAGE("\"id\":4,\"result\":1,\"result\":2"),
                                        MESSAGE("\"id\":1,\"method\":\"ping\"")};
    const arcp__mcp_link_call call = {.tool = ARCP_SPAN_LITERAL("a"),
                                      .arguments = ARCP_SPAN_LITERAL("{}"),
                                      .wants_progress = true,
                                      .call = (void *)"x"};
    uint64_t id = 0;
    fixture f;
    arcp_status status = begin(&f, err);
    for (size_t i = 0; i < 3 && status == ARCP_OK; i++) {
        status = arcp__mcp_link_take(f.link, arcp_span_cstr(before[i]), err);
    }
    status = status == ARCP_OK ? arcp__mcp_link_send(f.link, &call, &id, err) : status;
    for (size_t i = 0; i < 3 && status == ARCP_OK; i++) {
        status = arcp__mcp_link_take(f.link, arcp_span_cstr(after[i]), err);
    }
    status = status == ARCP_OK ? arcp__mcp_link_send(f.link, &call, &id, err) : status;
    status = status == ARCP_OK ? arcp__mcp_link_cancel(f.link, id, "x", err) : status;
    status = status == ARCP_OK && f.said.failed ? ARCP_E_NO_MEMORY : status; /* of the fixture */
    end(&f);
    return status;
}

static void an_allocation_that_fails_is_reported(void **state)
{
    assert_true(failing_alloc_sweep(whole_link, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_initialized_and_its_list_read),
        cmocka_unit_test(a_server_that_refuses_is_asked_in_the_other_way),
        cmocka_unit_test(a_list_that_changes_is_read_again_when_the_owner_wants_it),
        cmocka_unit_test(a_list_that_cannot_be_read_is_reported),
        cmocka_unit_test(responses_reach_their_calls),
        cmocka_unit_test(a_cancelled_call_gets_no_response),
        cmocka_unit_test(ids_are_not_used_again),
        cmocka_unit_test(a_response_that_is_too_long_fails_its_call),
        cmocka_unit_test(calls_fail_when_the_server_ends),
        cmocka_unit_test(a_server_that_does_not_read_gets_no_responses),
        cmocka_unit_test(calls_without_a_response_are_limited),
        cmocka_unit_test(calls_wait_until_the_server_is_ready),
        cmocka_unit_test(names_of_servers_are_checked),
        cmocka_unit_test(an_allocation_that_fails_is_reported),
    };
    int failed = run_rows(broken, sizeof broken / sizeof broken[0], sizeof broken[0], check_broken);
    failed += run_rows(lines, sizeof lines / sizeof lines[0], sizeof lines[0], check_line);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
