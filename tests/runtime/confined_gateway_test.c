/* Confined agents reach the gateways of their jobs by names below .arcp, whatever their lease
 * grants, and no other job's. */
#include <unistd.h>

#include "gateway/gateway_job.h"
#include "runtime/confined_fixture.h"
#include "runtime/runtime_gateway.h"

/* ---- a service that responds with the job's id ---- */

static void service_ref(void *configuration)
{
    (void)configuration;
}

static arcp_status service_open(arcp__gateway *gateway, void *configuration, void **out,
                                arcp_error *err)
{
    (void)gateway;
    (void)err;
    *out = configuration;
    return ARCP_OK;
}

static void service_configure(void *service, void *configuration)
{
    (void)service;
    (void)configuration;
}

static void service_request(void *service, arcp__gateway_call *call)
{
    arcp_buf text = arcp_buf_init();
    (void)service;
    arcp_buf_append_format(&text, "job %s %.*s\n", call->job->id, (int)call->path.size,
                           call->path.data);
    const arcp__web_response response = {.status = 200, .body = arcp_buf_span(&text)};
    arcp__gateway_call_respond(call, &response);
    arcp_buf_fini(&text);
    arcp__gateway_call_done(call);
}

static void service_call(void *service, arcp__gateway_call *call)
{
    (void)service;
    (void)call;
}

static void service_end(void *service, arcp__gateway_call *call, arcp_status why)
{
    (void)service;
    (void)call;
    (void)why;
}

static void service_close(void *service)
{
    (void)service;
}

static const arcp__gateway_service service = {
    .ref = service_ref,
    .unref = service_ref,
    .open = service_open,
    .configure = service_configure,
    .close = service_close,
    .request = service_request,
    .drained = service_call,
    .dropped = service_call,
    .end = service_end,
};

static void open_gateway(void)
{
    static int configuration;
    arcp_error err = {0};
    const arcp__gateway_options options = {.listen = "127.0.0.1:0",
                                           .limits = {.request_bytes = 1000,
                                                      .buffer_bytes = 1000,
                                                      .response_bytes = 1000,
                                                      .calls_per_job = 2,
                                                      .first_byte_ms = 60000,
                                                      .idle_timeout_ms = 60000,
                                                      .hold_wait_ms = 60000},
                                           .providers = {{&service, &configuration}}};
    check_ok(arcp__runtime_open_gateway(rig.runtime, &options, &err), &err);
}

/* Skips the test on a host where a sandbox cannot have a network. */
static void needs_network(void)
{
    confined_needs_a_level();
    if ((level == ARCP__SANDBOX_LEVEL_LANDLOCK && !has_broker) ||
        access("/usr/bin/curl", X_OK) != 0) {
        print_message("sandboxes of this host have no network, or there is no curl\n");
        skip();
    }
}

/* ---- tests ---- */

static void an_agent_reaches_its_gateway_without_a_line_of_net_fetch(void **state)
{
    (void)state;
    char expected[128];
    needs_network();
    open_gateway();
    runtime_rig_register_sh(
        &rig, "a",
        "echo \"KEY=$OPENAI_API_KEY\"; echo \"URL=$ANTHROPIC_BASE_URL\"; "
        "curl -sS -m 20 \"$OPENAI_BASE_URL/one\" -H 'x-api-key: other' -d x 2>&1; "
        "curl -s -m 20 -o /dev/null -w 'mcp %{http_code}\\n' http://mcp.arcp/ -d x; "
        "curl -s -m 20 -o /dev/null -w 'other %{http_code}\\n' http://x.arcp/ -d x; echo end",
        NULL);
    runtime_rig_submit(&rig, "a", "");
    (void)runtime_rig_wait(&rig, "\"KEY=sk-arcp-job\"");
    (void)runtime_rig_wait(&rig, "\"URL=http://llm.arcp\"");
    (void)snprintf(expected, sizeof expected, "\"job %s /v1/one\"", rig.job_id);
    (void)runtime_rig_wait(&rig, expected);
    const char *refused = level == ARCP__SANDBOX_LEVEL_FULL ? "000" : "403";
    (void)snprintf(expected, sizeof expected, "\"mcp %s\"", refused);
    (void)runtime_rig_wait(&rig, expected);
    (void)snprintf(expected, sizeof expected, "\"other %s\"", refused);
    (void)runtime_rig_wait(&rig, expected);
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void the_listener_of_the_host_takes_no_key_of_a_confined_job(void **state)
{
    (void)state;
    char script[512];
    needs_network();
    open_gateway();
    (void)snprintf(script, sizeof script,
                   "curl -s -m 5 -o /dev/null -w 'direct %%{http_code}\\n' http://%s/v1/one -H "
                   "'x-api-key: sk-arcp-job' -d x; echo end",
                   arcp__gateway_address(arcp__runtime_gateway(rig.runtime)));
    runtime_rig_register_sh(&rig, "a", script, NULL);
    runtime_rig_submit(&rig, "a", "");
    const char *frame = runtime_rig_wait(&rig, "\"direct ");
    assert_null(strstr(frame, "direct 200"));
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(an_agent_reaches_its_gateway_without_a_line_of_net_fetch),
        CONFINED_TEST(the_listener_of_the_host_takes_no_key_of_a_confined_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
