/* Requests, denials, bytes and connections of confined agents are counted, and repeated denials are
 * reported once. */
#include "runtime/agent_network_fixture.h"

static void each_operation_has_one_event_and_repetitions_are_counted(void **state)
{
    (void)state;
    network_needs();
    network_register("asker",
                     "for i in 1 2 3 4 5; do getent hosts one.test; getent hosts two.test; done; "
                     "echo done",
                     NULL);
    network_submit("asker", "/data", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "\"target\":\"one.test\""));
    assert_non_null(strstr(frame, "\"reason\":\"NO_MATCH\""));
    frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "\"target\":\"two.test\""));
    frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, " more denials"));
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

/* The value of the sample that begins like this; 0: there is none. */
static unsigned long sample(const char *name)
{
    arcp_buf metrics = arcp_buf_init();
    assert_int_equal(arcp_runtime_write_metrics(rig.runtime, &metrics), ARCP_OK);
    const char *at = strstr(arcp_buf_cstr(&metrics), name);
    const unsigned long count = at == NULL ? 0 : strtoul(strchr(at, ' '), NULL, 10);
    arcp_buf_fini(&metrics);
    return count;
}

static unsigned long denials_counted(void)
{
    return sample("\narcp_enforcement_denials_total{capability=\"net.fetch\"");
}

static bool is_slow_connection_counted(void *user)
{
    return sample("\narcp_egress_connections ") == *(const size_t *)user;
}

static bool are_bytes_counted(void *user)
{
    return sample("\narcp_egress_bytes_total{direction=\"in\"}") == *(const size_t *)user;
}

/* Also what was exchanged with settings that are no longer in use. */
static void requests_bytes_and_connections_are_counted(void **state)
{
    static const char *const hosts[] = {"localhost", NULL};
    arcp_enforce_options enforce = arcp_enforce_options_init();
    arcp_error error = {0};
    (void)state;
    network_needs();
    network_register("fetcher", "get /secret; get /data; get /data", NULL);
    assert_int_equal(sample("\narcp_egress_requests_total{outcome=\"allowed\"}"), 0);
    network_submit("fetcher", "/data", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    enforce.sandbox = SANDBOX;
    enforce.private_hosts = hosts;
    check_ok(arcp_runtime_set_enforcement(rig.runtime, &enforce, &error), &error);
    network_register("slow", "get /slow", NULL);
    network_submit("slow", "/slow", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"begin\"");
    network_await(is_slow_connection_counted, 1);
    assert_int_equal(sample("\narcp_egress_requests_total{outcome=\"allowed\"}"), 3);
    assert_int_equal(sample("\narcp_egress_requests_total{outcome=\"denied\"}"), 1);
    assert_int_equal(sample("\narcp_egress_requests_total{outcome=\"failed\"}"), 0);
    /* The bytes of a response reach the agent before they are counted. */
    network_await(are_bytes_counted, 2 * (sizeof HELLO - 1) + sizeof SLOW - 1);
    assert_true(sample("\narcp_egress_bytes_total{direction=\"out\"}") > 100);
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    network_await(is_slow_connection_counted, 0);
}

static bool are_denied(void *user)
{
    return denials_counted() >= *(const size_t *)user;
}

/* More than may wait to be taken: none of them is lost. */
static void many_denials_are_all_counted(void **state)
{
    enum { REQUESTS = 1500 };
    char script[300];
    (void)state;
    network_needs();
    (void)snprintf(script, sizeof script,
                   "exec 3<>/dev/tcp/127.0.0.1/%u; for i in {1..%d}; do "
                   "printf \"GET /$i HTTP/1.1\\r\\nHost: 127.0.0.1:%u\\r\\n\\r\\n\"; "
                   "done >&3 & sleep 1000",
                   network_server.port, (int)REQUESTS, network_server.port);
    network_register("asker", script, NULL);
    network_submit("asker", "/data", "");
    network_await(are_denied, REQUESTS);
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    assert_int_equal(denials_counted(), REQUESTS);
    assert_int_equal(network_server.requests, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NETWORK_TEST(each_operation_has_one_event_and_repetitions_are_counted),
        NETWORK_TEST(requests_bytes_and_connections_are_counted),
        NETWORK_TEST(many_denials_are_all_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
