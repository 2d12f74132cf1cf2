/* A connection of a confined agent ends with its job or its lease, and nothing is left of the
 * networks of many jobs. */
#include "runtime/agent_network_fixture.h"

static void a_connection_is_closed_when_the_lease_expires(void **state)
{
    (void)state;
    network_needs();
    network_register("slow", "trap \"\" TERM; get /slow & sleep 1000", NULL);
    network_submit("slow", "/slow", runtime_rig_expires_in(8));
    network_await(network_has_slow, 1);
    assert_int_equal(network_server.slow_ended, 0);
    (void)runtime_rig_wait(&rig, "\"LEASE_EXPIRED\"");
    network_await(network_has_slow_ended, 1);
}

static void deny_at_expiry(arcp_settings *settings)
{
    settings->lease_on_expiry = ARCP__ON_EXPIRY_DENY;
}

static void an_expiry_that_only_denies_closes_connections_and_the_job_goes_on(void **state)
{
    (void)state;
    network_needs();
    network_stop();
    network_start(deny_at_expiry);
    network_register("slow", "get /slow; get /slow || echo cut off; echo alive; sleep 1000", NULL);
    network_submit("slow", "/slow", runtime_rig_expires_in(8));
    network_await(network_has_slow, 1);
    network_await(network_has_slow_ended, 1);
    (void)runtime_rig_wait(&rig, "\"message\":\"cut off\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"alive\"");
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    assert_int_equal(network_server.slow, 1);
}

static void close_after_a_second(arcp_settings *settings)
{
    settings->enforce_egress_idle_sec = 1;
}

static void a_connection_without_a_byte_is_closed_after_the_setting_and_not_before(void **state)
{
    (void)state;
    network_needs();
    network_stop();
    network_start(close_after_a_second);
    network_register("slow", "get /slow; echo cut off; sleep 1000", NULL);
    const uint64_t begin = uv_hrtime();
    network_submit("slow", "/slow", "");
    network_await(network_has_slow_ended, 1);
    assert_true(uv_hrtime() - begin > UINT64_C(900000000));
    (void)runtime_rig_wait(&rig, "\"message\":\"cut off\"");
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
}

static void a_connection_is_closed_when_the_job_is_cancelled(void **state)
{
    (void)state;
    network_needs();
    network_register("slow", "trap \"\" TERM; get /slow & sleep 1000", NULL);
    network_submit("slow", "/slow", "");
    network_await(network_has_slow, 1);
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    network_await(network_has_slow_ended, 1);
}

/* It may go on for a while after its result, but nothing that it does counts any more. */
static void a_connection_is_closed_when_the_agent_has_sent_its_result(void **state)
{
    (void)state;
    network_needs();
    network_register(
        "slow",
        "get /slow | { read; read; read; read; "
        "echo \"{\\\"type\\\":\\\"job.result\\\",\\\"payload\\\":{\\\"result\\\":1}}\"; "
        "sleep 1000; }",
        NULL);
    network_submit("slow", "/slow", "");
    network_await(network_has_slow, 1);
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    network_await(network_has_slow_ended, 1);
}

static void a_runtime_that_is_freed_closes_connections(void **state)
{
    (void)state;
    network_needs();
    network_register("slow", "get /slow & sleep 1000", NULL);
    network_submit("slow", "/slow", "");
    network_submit("slow", "/slow", "");
    network_await(network_has_slow, 2);
    uv_close((uv_handle_t *)&network_server.handle, NULL);
    arcp_runtime_free(rig.runtime);
    rig.runtime = NULL;
    rig.client->ops->free(rig.client);
    rig.client = NULL;
    (void)uv_run(&rig.loop, UV_RUN_DEFAULT);
    assert_int_equal(network_server.slow_ended, 2);
    assert_int_equal(uv_loop_close(&rig.loop), 0);
    arcp_buf_fini(&rig.frames);
    remove_temporary(rig.directory);
    arcp_buf_fini(&audit);
    network_start(NULL); /* for tear_down */
}

static void many_jobs_at_once_have_each_their_own_network(void **state)
{
    enum { JOBS = 40 };
    (void)state;
    network_needs();
    const size_t before = open_descriptors();
    network_register("fetcher", "get /own; get /other", NULL);
    for (int i = 0; i < JOBS; i++) {
        network_submit("fetcher", i % 2 == 0 ? "/own" : "/slow", "");
    }
    for (int i = 0; i < JOBS; i++) {
        (void)runtime_rig_wait(&rig, "\"job.result\"");
    }
    assert_int_equal(network_server.requests, JOBS / 2);
    assert_int_equal(network_server.slow, 0);
    network_stop();
    network_start(NULL);
    assert_true(open_descriptors() <= before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NETWORK_TEST(a_connection_is_closed_when_the_lease_expires),
        NETWORK_TEST(an_expiry_that_only_denies_closes_connections_and_the_job_goes_on),
        NETWORK_TEST(a_connection_without_a_byte_is_closed_after_the_setting_and_not_before),
        NETWORK_TEST(a_connection_is_closed_when_the_job_is_cancelled),
        NETWORK_TEST(a_connection_is_closed_when_the_agent_has_sent_its_result),
        NETWORK_TEST(a_runtime_that_is_freed_closes_connections),
        NETWORK_TEST(many_jobs_at_once_have_each_their_own_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
