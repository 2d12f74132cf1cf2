/* The network of confined agents: what their leases grant is fetched from a server of the test,
 * what they do not grant is denied and reported, and a connection ends with its job. */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/runtime_rig.h"
#include "support/process_support.h"

#include "support/check.h"

#include "launch/launch.h"
#include "runtime/agent_network.h"
#include "sandbox/sandbox.h"

#define SANDBOX ARCP_BINARY_DIR "/bin/arcp-sandbox"

static runtime_rig rig;
static arcp_buf audit;

/* ---- a server of this machine ---- */

#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
#define SLOW  "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbegin\n"

typedef struct visit {
    uv_tcp_t handle;
    uv_write_t write;
    char head[4096];
    size_t size;
    bool is_slow;
} visit;

static struct {
    uv_tcp_t listener;
    unsigned port;
    size_t requests, slow, slow_ended; /* slow: responses that do not end */
} server;

static void on_visit_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    visit *v = handle->data;
    (void)suggested;
    *out = uv_buf_init(v->head + v->size, (unsigned)(sizeof v->head - 1 - v->size));
}

static void on_head(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    visit *v = stream->data;
    (void)buffer;
    if (size < 0) {
        server.slow_ended += v->is_slow;
        uv_close((uv_handle_t *)stream, on_visit_closed);
        return;
    }
    v->size += (size_t)size;
    if (memmem(v->head, v->size, "\r\n\r\n", 4) == NULL) {
        return;
    }
    v->is_slow = strncmp(v->head, "GET /slow", 9) == 0;
    v->size = 0;
    server.requests++;
    server.slow += v->is_slow;
    static char slow[] = SLOW;
    static char hello[] = HELLO;
    uv_buf_t out =
        v->is_slow ? uv_buf_init(slow, sizeof slow - 1) : uv_buf_init(hello, sizeof hello - 1);
    assert_int_equal(uv_write(&v->write, stream, &out, 1, NULL), 0);
}

static void on_visitor(uv_stream_t *listener, int status)
{
    assert_int_equal(status, 0);
    visit *v = calloc(1, sizeof *v);
    assert_non_null(v);
    assert_int_equal(uv_tcp_init(listener->loop, &v->handle), 0);
    v->handle.data = v;
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&v->handle), 0);
    assert_int_equal(uv_read_start((uv_stream_t *)&v->handle, give_buffer, on_head), 0);
}

static void server_start(void)
{
    struct sockaddr_in at;
    int size = sizeof at;
    memset(&server, 0, sizeof server);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &at), 0);
    assert_int_equal(uv_tcp_init(&rig.loop, &server.listener), 0);
    assert_int_equal(uv_tcp_bind(&server.listener, (struct sockaddr *)&at, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&server.listener, 64, on_visitor), 0);
    assert_int_equal(uv_tcp_getsockname(&server.listener, (struct sockaddr *)&at, &size), 0);
    server.port = ntohs(at.sin_port);
}

/* ---- the fixture ---- */

static void keep_audit(void *user, arcp_log_level level, const char *text, const char *fields)
{
    (void)user;
    (void)fields;
    if (level == ARCP_LOG_AUDIT) {
        arcp_buf_append_cstr(&audit, text);
        arcp_buf_append_byte(&audit, '\n');
    }
}

static void needs_a_network(void)
{
    arcp_buf text = arcp_buf_init();
    arcp_error error = {0};
    arcp__sandbox_abilities abilities;
    check_ok(arcp__launch_probe(SANDBOX, &text, &error), &error);
    check_ok(arcp__sandbox_abilities_decode(arcp_buf_span(&text), &abilities, &error), &error);
    arcp_buf_fini(&text);
    if (arcp__sandbox_level_of(&abilities) != ARCP__SANDBOX_LEVEL_FULL ||
        abilities.values[ARCP__SANDBOX_ABILITY_EGRESS] == 0) {
        print_message("this host cannot give programs a network of their own\n");
        skip();
    }
}

static void start(void (*change)(arcp_settings *settings))
{
    arcp_runtime_options runtime = arcp_runtime_options_init();
    arcp_enforce_options enforce = arcp_enforce_options_init();
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = 50;
    if (change != NULL) {
        change(&settings);
    }
    enforce.sandbox = SANDBOX;
    audit = arcp_buf_init();
    runtime_rig_begin(&rig);
    runtime.settings = &settings;
    runtime.enforce = &enforce;
    runtime.log = keep_audit;
    runtime_rig_open(&rig, &runtime);
    server_start();
}

static void stop(void)
{
    uv_close((uv_handle_t *)&server.listener, NULL);
    runtime_rig_stop(&rig);
    arcp_buf_fini(&audit);
    assert_false(has_children());
}

static int set_up(void **state)
{
    (void)state;
    start(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stop();
    return 0;
}

/* An agent that is a bash script, in which `get PATH` requests that from the server and prints the
 * response. */
static void register_script(const char *name, const char *script, const arcp_process_agent *more)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "exec /bin/bash -c '"
                   "get() { exec 3<>/dev/tcp/127.0.0.1/%u || return 9; "
                   "printf \"GET $1 HTTP/1.1\\r\\nHost: 127.0.0.1:%u\\r\\n"
                   "Connection: close\\r\\n\\r\\n\" >&3; "
                   "cat <&3 | sed -u \"s/\\r//\"; }; %s'",
                   server.port, server.port, script);
    runtime_rig_register_sh(&rig, name, text, more);
}

/* A submit with a lease of this pattern of net.fetch: a path on the server. */
static void submit(const char *agent, const char *path, const char *more)
{
    char request[400];
    (void)snprintf(request, sizeof request,
                   ",\"lease_request\":{\"net.fetch\":[\"http://127.0.0.1:%u%s\"]}%s", server.port,
                   path, more);
    runtime_rig_submit(&rig, agent, request);
}

static bool has_slow(void *user)
{
    return server.slow >= *(const size_t *)user;
}

static bool has_slow_ended(void *user)
{
    return server.slow_ended >= *(const size_t *)user;
}

static void await(bool (*done)(void *user), size_t count)
{
    runtime_rig_until(&rig, done, &count);
}

/* ---- what is granted, and what is not ---- */

static void an_agent_fetches_what_its_lease_grants(void **state)
{
    (void)state;
    needs_a_network();
    register_script("fetcher", "get /data; echo \"proxy $ARCP_PROXY\"", NULL);
    submit("fetcher", "/**", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"exact\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "proxy http://127.0.0.1:3128");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(server.requests, 1);
}

static void a_request_that_is_not_granted_is_denied_and_reported(void **state)
{
    char target[64];
    (void)state;
    needs_a_network();
    register_script("fetcher", "get /secret; get /data", NULL);
    submit("fetcher", "/data", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    (void)snprintf(target, sizeof target, "\"target\":\"http://127.0.0.1:%u/secret\"", server.port);
    assert_non_null(strstr(frame, target));
    assert_non_null(strstr(frame, "\"capability\":\"net.fetch\""));
    assert_non_null(strstr(frame, "\"code\":\"PERMISSION_DENIED\""));
    assert_non_null(strstr(frame, "\"layer\":\"egress\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(server.requests, 1);
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
    (void)snprintf(script, sizeof script, "PORT=%u; " BY_TLS, server.port);
    register_script("fetcher", script, more);
    (void)snprintf(request, sizeof request,
                   ",\"lease_request\":{\"net.fetch\":[\"https://127.0.0.1:%u/data\"]}",
                   server.port);
    runtime_rig_submit(&rig, "fetcher", request);
}

static void where_tls_is_terminated_a_path_inside_is_denied_and_reported(void **state)
{
    char target[64];
    arcp_process_agent more = arcp_process_agent_init();
    (void)state;
    needs_a_network();
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
                   server.port);
    assert_non_null(strstr(frame, target));
    (void)runtime_rig_wait(&rig, "HTTP/1.1 403 Forbidden");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(server.requests, 0);
}

static void tls_stays_closed_unless_the_operator_says_otherwise(void **state)
{
    (void)state;
    needs_a_network();
    submit_tls(NULL);
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"refused\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"end\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(server.requests, 0);
}

static void each_operation_has_one_event_and_repetitions_are_counted(void **state)
{
    (void)state;
    needs_a_network();
    register_script("asker",
                    "for i in 1 2 3 4 5; do getent hosts one.test; getent hosts two.test; done; "
                    "echo done",
                    NULL);
    submit("asker", "/data", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "\"target\":\"one.test\""));
    assert_non_null(strstr(frame, "\"reason\":\"NO_MATCH\""));
    frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "\"target\":\"two.test\""));
    frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, " more denials"));
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

/* Level landlock. */
static int set_up_without_namespaces(void **state)
{
    (void)state;
    assert_int_equal(setenv("ARCP_SANDBOX_WITHOUT", "userns", 1), 0);
    start(NULL);
    return 0;
}

static int tear_down_without_namespaces(void **state)
{
    (void)state;
    stop();
    return unsetenv("ARCP_SANDBOX_WITHOUT");
}

static void without_namespaces_an_agent_has_a_proxy(void **state)
{
    char text[2048];
    arcp_buf abilities_text = arcp_buf_init();
    arcp__sandbox_abilities abilities;
    arcp_error error = {0};
    (void)state;
    check_ok(arcp__launch_probe(SANDBOX, &abilities_text, &error), &error);
    check_ok(arcp__sandbox_abilities_decode(arcp_buf_span(&abilities_text), &abilities, &error),
             &error);
    arcp_buf_fini(&abilities_text);
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
                   server.port, server.port, server.port);
    runtime_rig_register_sh(&rig, "fetcher", text, NULL);
    submit("fetcher", "/data", "");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"under\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"hello\"");
    (void)runtime_rig_wait(&rig, "HTTP/1.1 403 Forbidden");
    (void)runtime_rig_wait(&rig, "HTTP/1.1 407 Proxy Authentication Required");
    (void)runtime_rig_wait(&rig, "\"message\":\"direct 1\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_non_null(strstr(arcp_buf_cstr(&audit), "\"layer\":\"egress\""));
    assert_non_null(strstr(arcp_buf_cstr(&audit), "/secret\""));
    assert_int_equal(server.requests, 1);
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
    needs_a_network();
    register_script("fetcher", "get /secret; get /data; get /data", NULL);
    assert_int_equal(sample("\narcp_egress_requests_total{outcome=\"allowed\"}"), 0);
    submit("fetcher", "/data", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    enforce.sandbox = SANDBOX;
    enforce.private_hosts = hosts;
    check_ok(arcp_runtime_set_enforcement(rig.runtime, &enforce, &error), &error);
    register_script("slow", "get /slow", NULL);
    submit("slow", "/slow", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"begin\"");
    await(is_slow_connection_counted, 1);
    assert_int_equal(sample("\narcp_egress_requests_total{outcome=\"allowed\"}"), 3);
    assert_int_equal(sample("\narcp_egress_requests_total{outcome=\"denied\"}"), 1);
    assert_int_equal(sample("\narcp_egress_requests_total{outcome=\"failed\"}"), 0);
    /* The bytes of a response reach the agent before they are counted. */
    await(are_bytes_counted, 2 * (sizeof HELLO - 1) + sizeof SLOW - 1);
    assert_true(sample("\narcp_egress_bytes_total{direction=\"out\"}") > 100);
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    await(is_slow_connection_counted, 0);
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
    needs_a_network();
    (void)snprintf(script, sizeof script,
                   "exec 3<>/dev/tcp/127.0.0.1/%u; for i in {1..%d}; do "
                   "printf \"GET /$i HTTP/1.1\\r\\nHost: 127.0.0.1:%u\\r\\n\\r\\n\"; "
                   "done >&3 & sleep 1000",
                   server.port, (int)REQUESTS, server.port);
    register_script("asker", script, NULL);
    submit("asker", "/data", "");
    await(are_denied, REQUESTS);
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    assert_int_equal(denials_counted(), REQUESTS);
    assert_int_equal(server.requests, 0);
}

static void an_agent_without_a_line_of_the_network_has_none(void **state)
{
    (void)state;
    needs_a_network();
    register_script("fetcher", "get /data || echo no network", NULL);
    runtime_rig_submit(&rig, "fetcher", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"no network\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(server.requests, 0);
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
    needs_a_network();
    (void)snprintf(script, sizeof script,
                   "exec 3<>/dev/tcp/127.0.0.1/3128; "
                   "printf \"GET http://localhost:%u/ HTTP/1.1\\r\\nHost: localhost:%u\\r\\n"
                   "Connection: close\\r\\n\\r\\n\" >&3; cat <&3",
                   server.port, server.port);
    register_script("fetcher", script, NULL);
    /* The pattern does not write the name out. */
    (void)snprintf(lease, sizeof lease,
                   ",\"lease_request\":{\"net.fetch\":[\"http://local*:%u/**\"]}", server.port);
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

/* ---- the end ---- */

static void a_connection_is_closed_when_the_lease_expires(void **state)
{
    char more[128];
    char text[40];
    struct timespec now;
    struct tm at;
    (void)state;
    needs_a_network();
    register_script("slow", "trap \"\" TERM; get /slow & sleep 1000", NULL);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    now.tv_sec += 8;
    assert_non_null(gmtime_r(&now.tv_sec, &at));
    assert_true(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &at) > 0);
    (void)snprintf(more, sizeof more, ",\"lease_constraints\":{\"expires_at\":\"%s\"}", text);
    submit("slow", "/slow", more);
    await(has_slow, 1);
    assert_int_equal(server.slow_ended, 0);
    (void)runtime_rig_wait(&rig, "\"LEASE_EXPIRED\"");
    await(has_slow_ended, 1);
}

static void deny_at_expiry(arcp_settings *settings)
{
    settings->lease_on_expiry = ARCP__ON_EXPIRY_DENY;
}

static void an_expiry_that_only_denies_closes_connections_and_the_job_goes_on(void **state)
{
    char more[128];
    char text[40];
    struct timespec now;
    struct tm at;
    (void)state;
    needs_a_network();
    stop();
    start(deny_at_expiry);
    register_script("slow", "get /slow; get /slow || echo cut off; echo alive; sleep 1000", NULL);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    now.tv_sec += 8;
    assert_non_null(gmtime_r(&now.tv_sec, &at));
    assert_true(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &at) > 0);
    (void)snprintf(more, sizeof more, ",\"lease_constraints\":{\"expires_at\":\"%s\"}", text);
    submit("slow", "/slow", more);
    await(has_slow, 1);
    await(has_slow_ended, 1);
    (void)runtime_rig_wait(&rig, "\"message\":\"cut off\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"alive\"");
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    assert_int_equal(server.slow, 1);
}

static void a_connection_is_closed_when_the_job_is_cancelled(void **state)
{
    (void)state;
    needs_a_network();
    register_script("slow", "trap \"\" TERM; get /slow & sleep 1000", NULL);
    submit("slow", "/slow", "");
    await(has_slow, 1);
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    await(has_slow_ended, 1);
}

/* It may go on for a while after its result, but nothing that it does counts any more. */
static void a_connection_is_closed_when_the_agent_has_sent_its_result(void **state)
{
    (void)state;
    needs_a_network();
    register_script(
        "slow",
        "get /slow | { read; read; read; read; "
        "echo \"{\\\"type\\\":\\\"job.result\\\",\\\"payload\\\":{\\\"result\\\":1}}\"; "
        "sleep 1000; }",
        NULL);
    submit("slow", "/slow", "");
    await(has_slow, 1);
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    await(has_slow_ended, 1);
}

static void a_runtime_that_is_freed_closes_connections(void **state)
{
    (void)state;
    needs_a_network();
    register_script("slow", "get /slow & sleep 1000", NULL);
    submit("slow", "/slow", "");
    submit("slow", "/slow", "");
    await(has_slow, 2);
    uv_close((uv_handle_t *)&server.listener, NULL);
    arcp_runtime_free(rig.runtime);
    rig.runtime = NULL;
    rig.client->ops->free(rig.client);
    rig.client = NULL;
    (void)uv_run(&rig.loop, UV_RUN_DEFAULT);
    assert_int_equal(server.slow_ended, 2);
    assert_int_equal(uv_loop_close(&rig.loop), 0);
    arcp_buf_fini(&rig.frames);
    remove_temporary(rig.directory);
    arcp_buf_fini(&audit);
    start(NULL); /* for tear_down */
}

/* ---- many ---- */

static void many_jobs_at_once_have_each_their_own_network(void **state)
{
    enum { JOBS = 40 };
    (void)state;
    needs_a_network();
    const size_t before = open_descriptors();
    register_script("fetcher", "get /own; get /other", NULL);
    for (int i = 0; i < JOBS; i++) {
        submit("fetcher", i % 2 == 0 ? "/own" : "/slow", "");
    }
    for (int i = 0; i < JOBS; i++) {
        (void)runtime_rig_wait(&rig, "\"job.result\"");
    }
    assert_int_equal(server.requests, JOBS / 2);
    assert_int_equal(server.slow, 0);
    stop();
    start(NULL);
    assert_true(open_descriptors() <= before + 1);
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(an_agent_fetches_what_its_lease_grants),
        ROW(a_request_that_is_not_granted_is_denied_and_reported),
        ROW(where_tls_is_terminated_a_path_inside_is_denied_and_reported),
        ROW(tls_stays_closed_unless_the_operator_says_otherwise),
        ROW(each_operation_has_one_event_and_repetitions_are_counted),
        ROW(requests_bytes_and_connections_are_counted),
        ROW(many_denials_are_all_counted),
        ROW(an_agent_without_a_line_of_the_network_has_none),
        ROW(a_name_may_be_private_if_the_operator_says_so),
        ROW(a_connection_is_closed_when_the_lease_expires),
        ROW(an_expiry_that_only_denies_closes_connections_and_the_job_goes_on),
        ROW(a_connection_is_closed_when_the_job_is_cancelled),
        ROW(a_connection_is_closed_when_the_agent_has_sent_its_result),
        ROW(a_runtime_that_is_freed_closes_connections),
        ROW(many_jobs_at_once_have_each_their_own_network),
        cmocka_unit_test_setup_teardown(without_namespaces_an_agent_has_a_proxy,
                                        set_up_without_namespaces, tear_down_without_namespaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
