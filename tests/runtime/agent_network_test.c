/* The network of confined agents: what their leases grant is fetched from a server of the test, and
 * what they do not grant is denied and reported. */
#include <unistd.h>

#include "runtime/agent_network_fixture.h"

static void an_agent_fetches_what_its_lease_grants(void **state)
{
    (void)state;
    network_needs();
    network_register("fetcher", "get /data; echo \"proxy $ARCP_PROXY\"", NULL);
    network_submit("fetcher", "/**", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"exact\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "proxy http://127.0.0.1:3128");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(network_server.requests, 1);
}

static void a_request_that_is_not_granted_is_denied_and_reported(void **state)
{
    char target[64];
    (void)state;
    network_needs();
    network_register("fetcher", "get /secret; get /data", NULL);
    network_submit("fetcher", "/data", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    (void)snprintf(target, sizeof target, "\"target\":\"http://127.0.0.1:%u/secret\"",
                   network_server.port);
    assert_non_null(strstr(frame, target));
    assert_non_null(strstr(frame, "\"capability\":\"net.fetch\""));
    assert_non_null(strstr(frame, "\"code\":\"PERMISSION_DENIED\""));
    assert_non_null(strstr(frame, "\"layer\":\"egress\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(network_server.requests, 1);
    assert_non_null(strstr(arcp_buf_cstr(&audit), "\"layer\":\"egress\""));
    assert_non_null(strstr(arcp_buf_cstr(&audit), "/secret\""));
}

/* A program that speaks TLS, and what it trusts. */
#define BY_TLS                                                                                     \
    "cat \"$SSL_CERT_FILE\" >trusted; "                                                            \
    "printf \"GET /secret HTTP/1.1\\r\\nHost: 127.0.0.1:$PORT\\r\\nConnection: "                   \
    "close\\r\\n\\r\\n\" | "                                                                       \
    "openssl s_client -connect 127.0.0.1:$PORT -CAfile trusted -verify_return_error "              \
    "-verify_ip 127.0.0.1 -quiet -ign_eof 2>/dev/null | grep -o \"HTTP.*\"; echo end"

static void submit_tls(const arcp_process_agent *more)
{
    char script[600];
    char request[200];
    (void)snprintf(script, sizeof script, "PORT=%u; " BY_TLS, network_server.port);
    network_register("fetcher", script, more);
    (void)snprintf(request, sizeof request,
                   ",\"lease_request\":{\"net.fetch\":[\"https://127.0.0.1:%u/data\"]}",
                   network_server.port);
    runtime_rig_submit(&rig, "fetcher", request);
}

static void where_tls_is_terminated_a_path_inside_is_denied_and_reported(void **state)
{
    char target[64];
    arcp_process_agent more = arcp_process_agent_init();
    (void)state;
    network_needs();
    if (access("/usr/bin/openssl", X_OK) != 0) {
        print_message("there is no openssl\n");
        skip();
    }
    more.tls = ARCP_ENFORCE_TLS_TERMINATE;
    submit_tls(&more);
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"exact\""));
    frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    (void)snprintf(target, sizeof target, "\"target\":\"https://127.0.0.1:%u/secret\"",
                   network_server.port);
    assert_non_null(strstr(frame, target));
    (void)runtime_rig_wait(&rig, "HTTP/1.1 403 Forbidden");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(network_server.requests, 0);
}

static void tls_stays_closed_unless_the_operator_says_otherwise(void **state)
{
    (void)state;
    network_needs();
    submit_tls(NULL);
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"refused\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"end\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(network_server.requests, 0);
}

static void an_agent_without_a_line_of_the_network_has_none(void **state)
{
    (void)state;
    network_needs();
    network_register("fetcher", "get /data || echo no network", NULL);
    runtime_rig_submit(&rig, "fetcher", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"no network\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(network_server.requests, 0);
}

static void allow_private_hosts(const char *const *hosts)
{
    arcp_enforce_options enforce = arcp_enforce_options_init();
    arcp_error error = {0};
    enforce.sandbox = SANDBOX;
    enforce.private_hosts = hosts;
    check_ok(arcp_runtime_set_enforcement(rig.runtime, &enforce, &error), &error);
}

static void a_name_may_be_private_if_the_operator_says_so(void **state)
{
    static const char *const hosts[] = {"localhost", NULL};
    static const char *const wrong[] = {"http://localhost", NULL};
    arcp_enforce_options enforce = arcp_enforce_options_init();
    char script[400];
    char lease[200];
    (void)state;
    network_needs();
    (void)snprintf(script, sizeof script,
                   "exec 3<>/dev/tcp/127.0.0.1/3128; "
                   "printf \"GET http://localhost:%u/ HTTP/1.1\\r\\nHost: localhost:%u\\r\\n"
                   "Connection: close\\r\\n\\r\\n\" >&3; cat <&3",
                   network_server.port, network_server.port);
    network_register("fetcher", script, NULL);
    /* The pattern does not write the name out. */
    (void)snprintf(lease, sizeof lease,
                   ",\"lease_request\":{\"net.fetch\":[\"http://local*:%u/**\"]}",
                   network_server.port);
    runtime_rig_submit(&rig, "fetcher", lease);
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "\"reason\":\"the address is not public\""));
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    allow_private_hosts(hosts);
    runtime_rig_submit(&rig, "fetcher", lease);
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    allow_private_hosts(NULL);
    runtime_rig_submit(&rig, "fetcher", lease);
    (void)runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    enforce.private_hosts = wrong;
    assert_int_equal(arcp_runtime_set_enforcement(rig.runtime, &enforce, NULL), ARCP_E_USAGE);
}

/* Level landlock. */
static int set_up_without_namespaces(void **state)
{
    (void)state;
    assert_int_equal(setenv("ARCP_SANDBOX_WITHOUT", "userns", 1), 0);
    network_start(NULL);
    return 0;
}

static int tear_down_without_namespaces(void **state)
{
    (void)state;
    network_stop();
    return unsetenv("ARCP_SANDBOX_WITHOUT");
}

static void without_namespaces_an_agent_has_a_proxy(void **state)
{
    char text[2048];
    arcp__sandbox_abilities abilities;
    (void)state;
    sandbox_probe(&abilities);
    if (!arcp__sandbox_has_proxy(&abilities)) {
        print_message("this host cannot limit programs to a proxy\n");
        skip();
    }
    (void)snprintf(text, sizeof text,
                   "exec /bin/bash -c 'place=${HTTP_PROXY##*@} secret=${HTTP_PROXY#http://}; "
                   "get() { exec 3<>/dev/tcp/${place%%:*}/${place#*:} || return 9; "
                   "printf \"GET http://127.0.0.1:%u$1 HTTP/1.1\\r\\nHost: 127.0.0.1:%u\\r\\n"
                   "Proxy-Authorization: Basic $2\\r\\nConnection: close\\r\\n\\r\\n\" >&3; "
                   "cat <&3 | sed -u \"s/\\r//\"; }; "
                   "right=$(printf %%s ${secret%%@*} | base64 -w0); "
                   "get /data $right; get /secret $right; get /data wrong; "
                   "exec 4<>/dev/tcp/127.0.0.1/%u || echo direct $?'",
                   network_server.port, network_server.port, network_server.port);
    runtime_rig_register_sh(&rig, "fetcher", text, NULL);
    network_submit("fetcher", "/data", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"under\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "HTTP/1.1 403 Forbidden");
    (void)runtime_rig_wait(&rig, "HTTP/1.1 407 Proxy Authentication Required");
    (void)runtime_rig_wait(&rig, "\"message\":\"direct 1\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_non_null(strstr(arcp_buf_cstr(&audit), "\"layer\":\"egress\""));
    assert_non_null(strstr(arcp_buf_cstr(&audit), "/secret\""));
    assert_int_equal(network_server.requests, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NETWORK_TEST(an_agent_fetches_what_its_lease_grants),
        NETWORK_TEST(a_request_that_is_not_granted_is_denied_and_reported),
        NETWORK_TEST(where_tls_is_terminated_a_path_inside_is_denied_and_reported),
        NETWORK_TEST(tls_stays_closed_unless_the_operator_says_otherwise),
        NETWORK_TEST(an_agent_without_a_line_of_the_network_has_none),
        NETWORK_TEST(a_name_may_be_private_if_the_operator_says_so),
        cmocka_unit_test_setup_teardown(without_namespaces_an_agent_has_a_proxy,
                                        set_up_without_namespaces, tear_down_without_namespaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
