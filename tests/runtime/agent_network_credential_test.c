/* A confined agent reaches the endpoint of its credential, and nothing else by it. */
#include "provisioner/static_provisioner.h"
#include "runtime/agent_network_fixture.h"

static char store_url[96], key_file[96], used_file[96], endpoint[96];

/* Credentials of the agent "fetcher", for the server. */
static void add_credentials(arcp_runtime_options *options)
{
    static const char *const agents[] = {"fetcher"};
    static const char *const values[] = {"hush-1", "hush-2"};
    arcp_error error = {0};
    (void)snprintf(store_url, sizeof store_url, "sqlite:%s/db", rig.directory);
    (void)snprintf(key_file, sizeof key_file, "%s/key", rig.directory);
    (void)snprintf(used_file, sizeof used_file, "%s/used", rig.directory);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u/v1", network_server.port);
    const arcp__static_provisioner_options provisioner = {
        .loop = &rig.loop,
        .upstream = {.terms = {.struct_size = sizeof provisioner.upstream.terms,
                               .agents = agents,
                               .agent_count = 1},
                     .endpoint = endpoint,
                     .scheme = "bearer",
                     .profile = "openai"},
        .values = values,
        .value_count = sizeof values / sizeof values[0],
        .used_file = used_file,
    };
    check_ok(arcp__static_provisioner_new(&provisioner, &options->provisioner, &error), &error);
    check_ok(arcp_store_open(store_url, &options->store, &error), &error);
    options->credential_key_file = key_file;
}

static int set_up(void **state)
{
    network_change_options = add_credentials;
    return network_set_up(state);
}

#define CREDENTIAL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, network_tear_down)

static void the_endpoint_of_a_credential_is_reached_without_a_line_of_the_lease(void **state)
{
    char line[128];
    (void)state;
    network_needs();
    network_register("fetcher", "get /v1/models", NULL);
    runtime_rig_submit(&rig, "fetcher", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    (void)snprintf(line, sizeof line,
                   "\"capability\":\"credential\",\"pattern\":\"http://127.0.0.1:%u/**\"",
                   network_server.port);
    assert_non_null(strstr(frame, line));
    assert_non_null(strstr(frame, "\"verdict\":\"exact\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(network_server.requests, 1);
}

static void the_lines_of_the_lease_hold_beside_the_endpoint(void **state)
{
    (void)state;
    network_needs();
    network_register("fetcher", "getent hosts granted.example; getent hosts other.example; get /v1",
                     NULL);
    runtime_rig_submit(&rig, "fetcher",
                       ",\"lease_request\":{\"net.fetch\":[\"https://granted.example/**\"]}");
    (void)runtime_rig_wait(&rig, "granted.example");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "\"target\":\"other.example\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(network_server.requests, 1);
}

static void an_agent_without_a_credential_does_not_reach_it(void **state)
{
    (void)state;
    network_needs();
    network_register("other", "get /v1 || echo no network", NULL);
    runtime_rig_submit(&rig, "other", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"no network\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(network_server.requests, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CREDENTIAL_TEST(the_endpoint_of_a_credential_is_reached_without_a_line_of_the_lease),
        CREDENTIAL_TEST(the_lines_of_the_lease_hold_beside_the_endpoint),
        CREDENTIAL_TEST(an_agent_without_a_credential_does_not_reach_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
