/* The gateways of process agents: how programs find them, and what the runtime records of calls. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/gateway_job.h"
#include "runtime/runtime_gateway.h"
#include "runtime/runtime_rig.h"

#include "support/check.h"

static runtime_rig rig;
static atomic_size_t held;

/* ---- a service: /v1/echo responds, anything else is held until its call is ended ---- */

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
    (void)service;
    if (arcp_span_equal_cstr(call->path, "/v1/echo")) {
        const arcp__web_response response = {.status = 200, .body = arcp_buf_span(&call->body)};
        arcp__gateway_call_respond(call, &response);
        arcp__gateway_call_done(call);
    } else if (arcp_span_equal_cstr(call->path, "/v1/deny")) {
        arcp_error err = {0};
        assert_false(arcp__gateway_job_authorize(call->job, ARCP_SPAN_LITERAL("model.use"),
                                                 ARCP_SPAN_LITERAL("gpt"), NULL, &err));
        arcp__gateway_call_refuse(call, 403, "permission_denied", arcp_span_cstr(err.message));
        arcp__gateway_call_done(call);
    } else {
        atomic_fetch_add(&held, 1);
    }
}

static void service_drained(void *service, arcp__gateway_call *call)
{
    (void)service;
    (void)call;
}

static void settle(void *service, arcp__gateway_call *call)
{
    (void)service;
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_message message = {
        .kind = ARCP_EVENT_METRIC,
        .kind_text = ARCP_SPAN_LITERAL("metric"),
        .body = ARCP_SPAN_LITERAL("{\"name\":\"cost.inference\",\"value\":1,\"unit\":\"USD\"}"),
        .unit = ARCP_SPAN_LITERAL("USD")};
    assert_int_equal(arcp_decimal_parse(ARCP_SPAN_LITERAL("1"), &message.amount, NULL), ARCP_OK);
    arcp__job_port_spend(&call->job->port, &message, reports);
    arcp__gateway_job_message(call->job, &message);
    arcp__gateway_call_done(call);
}

static void service_end(void *service, arcp__gateway_call *call, arcp_status why)
{
    (void)why;
    settle(service, call);
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
    .drained = service_drained,
    .dropped = settle,
    .end = service_end,
};

/* ---- the rig ---- */

static void open_gateway(const char *url, bool has_tools)
{
    static int configuration;
    arcp_error err = {0};
    const arcp__gateway_options options = {
        .listen = "127.0.0.1:0",
        .url = url,
        .limits = {.request_bytes = 1000,
                   .buffer_bytes = 1000,
                   .response_bytes = 1000,
                   .calls_per_job = 2,
                   .first_byte_ms = 60000,
                   .idle_timeout_ms = 60000,
                   .hold_wait_ms = 60000},
        .providers = {{&service, &configuration}, {has_tools ? &service : NULL, &configuration}}};
    check_ok(arcp__runtime_open_gateway(rig.runtime, &options, &err), &err);
}

static int set_up(void **state)
{
    (void)state;
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = 5000;
    runtime_rig_start(&rig, &settings);
    atomic_store(&held, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    return 0;
}

/* Sends a request with a key. Returns the socket. */
static int send_request(const char *key, const char *path)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    const char *at = arcp__gateway_address(arcp__runtime_gateway(rig.runtime));
    char text[512];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)strtoul(strrchr(at, ':') + 1, NULL, 10));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    const int size = snprintf(text, sizeof text,
                              "POST %s HTTP/1.1\r\nHost: %s\r\nx-api-key: %s\r\nConnection: "
                              "close\r\nContent-Length: 5\r\n\r\nhello",
                              path, at, key);
    assert_int_equal(write(fd, text, (size_t)size), size);
    return fd;
}

/* The status of the response; 0: the connection ended without one. Blocks: the gateway has a thread
 * of its own. */
static int status_of(int fd)
{
    char text[4096];
    size_t size = 0;
    ssize_t got = 0;
    while (size < sizeof text - 1 && (got = read(fd, text + size, sizeof text - 1 - size)) > 0) {
        size += (size_t)got;
    }
    text[size] = '\0';
    close(fd);
    return size < 12 ? 0 : (int)strtol(text + 9, NULL, 10);
}

/* The key that the agent has logged as KEY=... */
static void wait_for_key(char key[64])
{
    const char *frame = strstr(runtime_rig_wait(&rig, "KEY=sk-arcp-"), "KEY=") + 4;
    (void)snprintf(key, 64, "%.*s", (int)strcspn(frame, "\""), frame);
}

static bool is_held(void *user)
{
    (void)user;
    return atomic_load(&held) != 0;
}

static void tick(uv_timer_t *timer)
{
    (void)timer; /* the loop runs so that a condition of another thread is looked at */
}

static void wait_until_held(void)
{
    uv_timer_t timer;
    uv_timer_init(&rig.loop, &timer);
    uv_timer_start(&timer, tick, 1, 1);
    runtime_rig_until(&rig, is_held, NULL);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&rig.loop, UV_RUN_NOWAIT);
}

/* An agent that logs its key, and ends when the file exists: by the line, and then by exit. */
static const char *until_told(const char *last)
{
    static char script[512];
    (void)snprintf(script, sizeof script,
                   "echo KEY=$OPENAI_API_KEY; while [ ! -e %s/go ]; do sleep 0.01; done; %s",
                   rig.directory, last);
    return script;
}

static void tell(void)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/go", rig.directory);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static bool is_told(void *user)
{
    char path[128];
    (void)user;
    (void)snprintf(path, sizeof path, "%s/go", rig.directory);
    return access(path, F_OK) == 0;
}

static void untell(void)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/go", rig.directory);
    (void)unlink(path);
}

/* ---- how programs find the gateways ---- */

static void the_environment_and_job_start_say_where_the_gateways_are(void **state)
{
    (void)state;
    const char *const env[] = {"NO_PROXY=internal.example", "ANTHROPIC_API_KEY=own", NULL};
    arcp_process_agent more = arcp_process_agent_init();
    char expected[128];
    more.env = env;
    open_gateway(NULL, true);
    const char *at = arcp__gateway_address(arcp__runtime_gateway(rig.runtime));
    runtime_rig_register_sh(&rig, "env", "read start; echo \"$start\" | tr '{}' '<>'; env | sort",
                            &more);
    runtime_rig_submit(&rig, "env", "");
    (void)snprintf(
        expected, sizeof expected,
        "\\\"endpoints\\\":<\\\"llm\\\":<\\\"url\\\":\\\"http://%s\\\",\\\"key\\\":\\\"sk-arcp-",
        at);
    const char *frame = runtime_rig_wait(&rig, expected);
    (void)snprintf(expected, sizeof expected, "\\\"mcp\\\":<\\\"url\\\":\\\"http://%s\\\"", at);
    assert_non_null(strstr(frame, expected));
    (void)runtime_rig_wait(&rig, "ANTHROPIC_API_KEY=own\"");
    (void)snprintf(expected, sizeof expected, "ANTHROPIC_BASE_URL=http://%s\"", at);
    (void)runtime_rig_wait(&rig, expected);
    (void)snprintf(expected, sizeof expected, "ARCP_LLM_URL=http://%s\"", at);
    (void)runtime_rig_wait(&rig, expected);
    (void)snprintf(expected, sizeof expected, "ARCP_MCP_URL=http://%s\"", at);
    (void)runtime_rig_wait(&rig, expected);
    (void)runtime_rig_wait(&rig, "NO_PROXY=internal.example,127.0.0.1\"");
    (void)runtime_rig_wait(&rig, "OPENAI_API_KEY=sk-arcp-");
    (void)snprintf(expected, sizeof expected, "OPENAI_BASE_URL=http://%s/v1\"", at);
    (void)runtime_rig_wait(&rig, expected);
    (void)runtime_rig_wait(&rig, "no_proxy=127.0.0.1\"");
}

static void a_kind_that_is_not_served_has_no_endpoint_and_others_reach_the_url(void **state)
{
    (void)state;
    open_gateway("https://[2001:db8::1]:8443", false);
    runtime_rig_register_sh(&rig, "env", "read start; echo \"$start\" | tr '{}' '<>'; env | sort",
                            NULL);
    runtime_rig_submit(&rig, "env", "");
    const char *frame = runtime_rig_wait(&rig, "\\\"endpoints\\\":<\\\"llm\\\":");
    assert_null(strstr(frame, "\\\"mcp\\\""));
    (void)runtime_rig_wait(&rig, "NO_PROXY=[2001:db8::1]\"");
    (void)runtime_rig_wait(&rig, "OPENAI_BASE_URL=https://[2001:db8::1]:8443/v1\"");
    (void)runtime_rig_wait(&rig, "job.result");
    assert_false(runtime_rig_has(&rig, "ARCP_MCP_URL"));
}

static void without_gateways_there_are_none(void **state)
{
    (void)state;
    runtime_rig_register_sh(&rig, "env", "read start; echo \"$start\" | tr '{}' '<>'; env | sort",
                            NULL);
    runtime_rig_submit(&rig, "env", "");
    assert_null(strstr(runtime_rig_wait(&rig, "job.start"), "endpoints"));
    (void)runtime_rig_wait(&rig, "job.result");
    assert_false(runtime_rig_has(&rig, "OPENAI"));
}

static void an_agent_may_be_registered_without_them(void **state)
{
    (void)state;
    arcp_process_agent more = arcp_process_agent_init();
    more.without_gateways = true;
    open_gateway(NULL, true);
    runtime_rig_register_sh(&rig, "env", "read start; echo \"$start\" | tr '{}' '<>'; env | sort",
                            &more);
    runtime_rig_submit(&rig, "env", "");
    assert_null(strstr(runtime_rig_wait(&rig, "job.start"), "endpoints"));
    (void)runtime_rig_wait(&rig, "job.result");
    assert_false(runtime_rig_has(&rig, "OPENAI"));
}

static void a_warm_process_finds_them_in_job_start_only(void **state)
{
    (void)state;
    arcp_process_agent more = arcp_process_agent_init();
    char key[64], script[256];
    more.warm = 1;
    open_gateway(NULL, false);
    (void)snprintf(script, sizeof script,
                   "touch %s/go; read start; echo \"first=${OPENAI_API_KEY}none\"; "
                   "echo \"$start\" | sed 's/.*\"key\":\"/KEY=/; s/\".*//'",
                   rig.directory);
    runtime_rig_register_sh(&rig, "warm", script, &more);
    runtime_rig_until(&rig, is_told, NULL); /* a warm process waits */
    runtime_rig_submit(&rig, "warm", "");
    (void)runtime_rig_wait(&rig, "\"first=none\"");
    wait_for_key(key);
    assert_int_equal(strlen(key), strlen("sk-arcp-") + 43);
    untell();
}

/* ---- calls ---- */

static void calls_are_served_while_the_job_runs_and_its_key_dies_with_it(void **state)
{
    (void)state;
    char key[64];
    open_gateway(NULL, false);
    runtime_rig_register_sh(&rig, "a", until_told("exit 0"), NULL);
    runtime_rig_submit(&rig, "a", "");
    wait_for_key(key);
    assert_int_equal(status_of(send_request(key, "/v1/echo")), 200);
    tell();
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(status_of(send_request(key, "/v1/echo")), 401);
    untell();
}

static void denials_are_events_of_the_layer_gateway_and_each_only_once(void **state)
{
    (void)state;
    char key[64];
    open_gateway(NULL, false);
    runtime_rig_register_sh(&rig, "a", until_told("exit 0"), NULL);
    runtime_rig_submit(&rig, "a", "");
    wait_for_key(key);
    assert_int_equal(status_of(send_request(key, "/v1/deny")), 403);
    assert_int_equal(status_of(send_request(key, "/v1/deny")), 403);
    const char *frame = runtime_rig_wait(&rig, "\"layer\":\"gateway\"");
    assert_non_null(strstr(frame, "\"capability\":\"model.use\",\"target\":\"gpt\""));
    tell();
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_false(runtime_rig_has(&rig, "\"layer\":\"gateway\""));
    untell();
}

/* The metric of the call comes, and then the end of the job. */
static void expect_cost_then(const char *end)
{
    const char *frame = runtime_rig_wait(&rig, "cost.inference");
    assert_null(strstr(frame, end));
    (void)runtime_rig_wait(&rig, end);
    assert_false(runtime_rig_has(&rig, "cost.inference"));
}

static void the_end_of_a_job_ends_its_calls_and_records_their_cost_first(void **state)
{
    (void)state;
    static const struct {
        const char *last, *more, *end;
    } rows[] = {
        {"echo '{\"type\":\"job.result\",\"payload\":{\"result\":1}}'; sleep 60", "",
         "\"job.result\""},
        {"exit 7", "", "\"job.error\""},
        {"sleep 60", ",\"max_runtime_sec\":1", "\"timed_out\""},
    };
    open_gateway(NULL, false);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[16], key[64];
        (void)snprintf(name, sizeof name, "row%zu", i);
        atomic_store(&held, 0);
        runtime_rig_register_sh(&rig, name, until_told(rows[i].last), NULL);
        runtime_rig_submit(&rig, name, rows[i].more);
        wait_for_key(key);
        const int fd = send_request(key, "/v1/hold");
        wait_until_held();
        tell();
        expect_cost_then(rows[i].end);
        assert_int_equal(status_of(fd), 0);
        untell();
    }
}

static void an_expired_lease_ends_calls_and_records_their_cost_first(void **state)
{
    (void)state;
    char key[64];
    open_gateway(NULL, false);
    runtime_rig_register_sh(&rig, "a", until_told("sleep 60"), NULL);
    runtime_rig_submit(&rig, "a", runtime_rig_expires_in(2));
    wait_for_key(key);
    const int fd = send_request(key, "/v1/hold");
    wait_until_held();
    expect_cost_then("\"LEASE_EXPIRED\"");
    assert_int_equal(status_of(fd), 0);
}

static void a_cancel_ends_calls_at_once(void **state)
{
    (void)state;
    char key[64];
    open_gateway(NULL, false);
    runtime_rig_register_sh(&rig, "a", until_told("exit 0"), NULL); /* it does not read the line */
    runtime_rig_submit(&rig, "a", "");
    wait_for_key(key);
    const int fd = send_request(key, "/v1/hold");
    wait_until_held();
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "cost.inference");
    assert_int_equal(status_of(fd), 0);
    assert_int_equal(status_of(send_request(key, "/v1/echo")), 401);
    assert_false(runtime_rig_has(&rig, "\"job.error\"")); /* its grace has not passed */
    tell();
    (void)runtime_rig_wait(&rig, "\"cancelled\"");
    untell();
}

static void stopping_the_runtime_with_a_call_under_way_is_clean(void **state)
{
    (void)state;
    char key[64];
    open_gateway(NULL, false);
    runtime_rig_register_sh(&rig, "a", until_told("exit 0"), NULL);
    runtime_rig_submit(&rig, "a", "");
    wait_for_key(key);
    const int fd = send_request(key, "/v1/hold");
    wait_until_held();
    tear_down(state);
    assert_int_equal(status_of(fd), 0);
    set_up(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_environment_and_job_start_say_where_the_gateways_are),
        TEST(a_kind_that_is_not_served_has_no_endpoint_and_others_reach_the_url),
        TEST(without_gateways_there_are_none),
        TEST(an_agent_may_be_registered_without_them),
        TEST(a_warm_process_finds_them_in_job_start_only),
        TEST(calls_are_served_while_the_job_runs_and_its_key_dies_with_it),
        TEST(denials_are_events_of_the_layer_gateway_and_each_only_once),
        TEST(the_end_of_a_job_ends_its_calls_and_records_their_cost_first),
        TEST(an_expired_lease_ends_calls_and_records_their_cost_first),
        TEST(a_cancel_ends_calls_at_once),
        TEST(stopping_the_runtime_with_a_call_under_way_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
