/* Which calls are denied or refused: by the name of the tool, and because the lease, its budget or
 * the log says so. */
#include "mcp/mcp_fixture.h"

static void a_name_stands_before_the_tools_of_its_server(void **state)
{
    mcp_fixture f;
    mcp_start(&f, "{\"tool.call\":[\"web.fetch\",\"git.*\"]}", "", "web");
    mcp_client(&f, CALL("1", "\"name\":\"fetch\""));
    mcp_check_sent(&f, CALL("1", "\"name\":\"fetch\"") "\n", "");
    mcp_client(&f, CALL("2", "\"name\":\"web.fetch\""));
    mcp_client(&f, CALL("3", "\"name\":\"git.log\""));
    mcp_client(&f, CALL("4", "\"name\":\"../git.log\""));
    check_span(arcp_buf_span(&f.output.to_server), "");
    check_span(arcp_buf_span(&f.decided),
               "+web.fetch -web.web.fetch -web.git.log -web.../git.log ");
    mcp_end(&f);
}

static void names_of_servers_are_checked(void **state)
{
    static const char *const good[] = {"a", "web-1", "0123456789abcdef0123456789abcdef"};
    static const char *const bad[] = {
        "", "A", "a.b", "a_b", "a b", "a*", "0123456789abcdef0123456789abcdef0"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(arcp__mcp_name_is_valid(arcp_span_cstr(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(arcp__mcp_name_is_valid(arcp_span_cstr(bad[i])));
    }
    mcp_fixture f;
    arcp_error err = {0};
    arcp_authority *authority = mcp_authority(LEASE, "");
    assert_int_equal(mcp_begin(&f, authority, "A", &err), ARCP_E_USAGE);
    mcp_end(&f);
    arcp_authority_unref(authority);
}

#define EXPIRES "{\"expires_at\":\"2026-09-21T14:13:30Z\"}" /* 10 s after mcp_fixture.now */

static void after_the_lease_calls_are_denied_and_nothing_is_listed(void **state)
{
    size_t count = 0;
    arcp_error err = {0};
    mcp_fixture f;
    mcp_start(&f, LEASE, EXPIRES, "");
    f.now.mono_ns += 10 * ARCP_NS_PER_SEC - 1;
    f.now.wall_ns += 10 * ARCP_NS_PER_SEC - 1;
    mcp_client(&f, ECHO("1"));
    mcp_check_sent(&f, ECHO("1") "\n", "");
    mcp_client(&f, MESSAGE("\"id\":2,\"method\":\"ping\""));
    arcp_buf_clear(&f.output.to_server);
    check_ok(arcp__mcp_filter_expire(f.filter, f.now, &count, &err), &err);
    assert_int_equal(count, 0);

    f.now.mono_ns++;
    f.now.wall_ns++;
    check_ok(arcp__mcp_filter_expire(f.filter, f.now, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(arcp__mcp_filter_pending(f.filter), 1); /* the ping */
    check_span(arcp_buf_span(&f.output.to_server),
               MESSAGE("\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,"
                       "\"reason\":\"the lease has expired\"}") "\n");
    assert_non_null(strstr(arcp_buf_cstr(&f.output.to_client), "LEASE_EXPIRED"));
    arcp_buf_clear(&f.output.to_server);
    arcp_buf_clear(&f.output.to_client);

    mcp_server(&f, MESSAGE("\"id\":1,\"result\":{\"content\":[\"late\"]}"));
    mcp_check_sent(&f, "", "");
    mcp_client(&f, ECHO("3"));
    check_span(arcp_buf_span(&f.output.to_server), "");
    assert_non_null(strstr(arcp_buf_cstr(&f.output.to_client), "LEASE_EXPIRED"));
    check_span(arcp_buf_span(&f.decided), "+echo -echo ");
    arcp_buf_clear(&f.output.to_client);
    mcp_client(&f, MESSAGE("\"id\":4,\"method\":\"tools/list\""));
    arcp_buf_clear(&f.output.to_server);
    mcp_server(&f, MESSAGE("\"id\":4,\"result\":{\"tools\":[{\"name\":\"echo\"}]}"));
    mcp_check_sent(&f, "", MESSAGE("\"id\":4,\"result\":{\"tools\":[]}") "\n");
    mcp_end(&f);
}

static void a_call_that_cannot_be_recorded_is_refused(void **state)
{
    mcp_fixture f;
    mcp_start(&f, LEASE, "", "");
    f.cannot_record = true;
    mcp_client(&f, ECHO("1"));
    mcp_check_sent(&f, "",
                   ERROR("1", "-32603", "the call cannot be recorded in the log, and is refused"));
    assert_int_equal(arcp__mcp_filter_pending(f.filter), 0);
    mcp_end(&f);
}

static void a_used_up_budget_denies(void **state)
{
    mcp_fixture f;
    mcp_start(&f, "{\"tool.call\":[\"**\"],\"cost.budget\":[\"USD:0\"]}", "", "");
    mcp_client(&f, ECHO("1"));
    check_span(arcp_buf_span(&f.output.to_server), "");
    assert_non_null(strstr(arcp_buf_cstr(&f.output.to_client), "BUDGET_EXHAUSTED"));
    mcp_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_stands_before_the_tools_of_its_server),
        cmocka_unit_test(names_of_servers_are_checked),
        cmocka_unit_test(after_the_lease_calls_are_denied_and_nothing_is_listed),
        cmocka_unit_test(a_call_that_cannot_be_recorded_is_refused),
        cmocka_unit_test(a_used_up_budget_denies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
