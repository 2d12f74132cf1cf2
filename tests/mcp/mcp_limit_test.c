/* Limits of a filter, and what happens when the server has ended or memory is short. */
#include "mcp/mcp_fixture.h"
#include "support/failing_alloc.h"

static void lines_that_are_too_long_get_errors(void **state)
{
    arcp_error err = {0};
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    check_ok(arcp__mcp_filter_skip(f.filter, ARCP__MCP_CLIENT, ARCP_SPAN_LITERAL("5"), &err), &err);
    mcp_check_sent(&f, "", ERROR("5", "-32600", "the message is longer than 8 MiB"));
    check_ok(arcp__mcp_filter_skip(f.filter, ARCP__MCP_CLIENT, arcp_span_make(NULL, 0), &err),
             &err);
    mcp_check_sent(&f, "", ERROR("null", "-32600", "the message is longer than 8 MiB"));
    mcp_client(&f, ECHO("5"));
    arcp_buf_clear(&f.output.to_server);
    check_ok(arcp__mcp_filter_skip(f.filter, ARCP__MCP_SERVER, ARCP_SPAN_LITERAL("6"), &err), &err);
    mcp_check_sent(&f, "", "");
    check_ok(arcp__mcp_filter_skip(f.filter, ARCP__MCP_SERVER, ARCP_SPAN_LITERAL("5"), &err), &err);
    mcp_check_sent(&f, "", ERROR("5", "-32603", "the response of the server is longer than 8 MiB"));
    mcp_end(&f);
}

static void requests_without_a_response_are_limited(void **state)
{
    char line[128];
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    for (int i = 0; i < ARCP__MCP_PENDING_MAX; i++) {
        (void)snprintf(line, sizeof line, ECHO("%d"), i);
        mcp_client(&f, line);
    }
    check_span(arcp_buf_span(&f.output.to_client), "");
    arcp_buf_clear(&f.output.to_server);
    mcp_client(&f, ECHO("1024"));
    mcp_check_sent(&f, "", ERROR("1024", "-32603", "1024 requests have no response yet"));
    mcp_server(&f, MESSAGE("\"id\":3,\"result\":{}"));
    arcp_buf_clear(&f.output.to_client);
    mcp_client(&f, ECHO("1024"));
    mcp_check_sent(&f, ECHO("1024") "\n", "");
    mcp_end(&f);
}

static void a_server_that_does_not_read_gets_no_responses(void **state)
{
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    f.output.is_server_behind = true;
    mcp_server(&f, MESSAGE("\"id\":1,\"method\":\"ping\""));
    mcp_server(&f, MESSAGE("\"id\":2,\"method\":\"roots/list\""));
    mcp_check_sent(&f, "", "");
    mcp_end(&f);
}

static void requests_get_an_error_when_the_server_has_ended(void **state)
{
    arcp_error err = {0};
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    mcp_client(&f, ECHO("1"));
    mcp_client(&f, MESSAGE("\"id\":\"l\",\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    check_ok(arcp__mcp_filter_end(f.filter, "it has ended", &err), &err);
    mcp_check_sent(&f, "",
                   ERROR("1", "-32000", "it has ended") ERROR("\"l\"", "-32000", "it has ended"));
    mcp_client(&f, ECHO("2"));
    mcp_client(&f, MESSAGE("\"method\":\"notifications/initialized\""));
    mcp_check_sent(&f, "", ERROR("2", "-32000", "it has ended"));
    mcp_end(&f);
}

static arcp_status whole_exchange(void *user, arcp_error *err)
{
    static const char *const lines[] = {ECHO("1"),
                                        CALL("2", "\"name\":\"wr\\u0069te\""),
                                        ECHO("\"\\u0061\""),
                                        MESSAGE("\"id\":3,\"method\":\"tools/list\""),
                                        "[",
                                        MESSAGE("\"id\":4,\"method\":\"x\"")};
    static const char *const answers[] = {
        MESSAGE("\"id\":1,\"result\":{}"),
        MESSAGE("\"id\":3,\"result\":{\"tools\":[{\"name\":\"ec\\u0068o\",\"inputSchema\":{}}]}"),
        MESSAGE("\"id\":\"a\",\"result\":{\"a\":1,\"a\":2}")};
    mcp_fixture f;
    arcp_status status = mcp_begin(&f, user, "web", err);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && status == ARCP_OK; i++) {
        status = arcp__mcp_filter_take_client(f.filter, f.now, arcp_span_cstr(lines[i]), err);
    }
    for (size_t i = 0; i < sizeof answers / sizeof answers[0] && status == ARCP_OK; i++) {
        status = arcp__mcp_filter_take_server(f.filter, f.now, arcp_span_cstr(answers[i]), err);
    }
    if (status == ARCP_OK) {
        status = arcp__mcp_filter_end(f.filter, "over", err);
    }
    if (status == ARCP_OK && (f.decided.failed || f.dropped.failed)) {
        status = ARCP_E_NO_MEMORY; /* of the mcp_fixture */
    }
    mcp_end(&f);
    return status;
}

static void an_allocation_that_fails_is_reported(void **state)
{
    arcp_authority *authority = mcp_authority("{\"tool.call\":[\"web.echo\"]}", "");
    assert_true(failing_alloc_sweep(whole_exchange, authority) > 10);
    arcp_authority_unref(authority);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_too_long_get_errors),
        cmocka_unit_test(requests_without_a_response_are_limited),
        cmocka_unit_test(a_server_that_does_not_read_gets_no_responses),
        cmocka_unit_test(requests_get_an_error_when_the_server_has_ended),
        cmocka_unit_test(an_allocation_that_fails_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
