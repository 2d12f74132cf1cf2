#include "runtime/agent_network_fixture.h"

#include <stdlib.h>

runtime_rig rig;
arcp_buf audit;
network_listener network_server;
void (*network_change_options)(arcp_runtime_options *options);

typedef struct visit {
    uv_tcp_t handle;
    uv_write_t write;
    char head[4096];
    size_t size;
    bool is_slow;
} visit;

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
        network_server.slow_ended += v->is_slow;
        uv_close((uv_handle_t *)stream, on_visit_closed);
        return;
    }
    v->size += (size_t)size;
    if (memmem(v->head, v->size, "\r\n\r\n", 4) == NULL) {
        return;
    }
    v->is_slow = strncmp(v->head, "GET /slow", 9) == 0;
    v->size = 0;
    network_server.requests++;
    network_server.slow += v->is_slow;
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

static void listen_here(void)
{
    struct sockaddr_in at;
    int size = sizeof at;
    memset(&network_server, 0, sizeof network_server);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &at), 0);
    assert_int_equal(uv_tcp_init(&rig.loop, &network_server.handle), 0);
    assert_int_equal(uv_tcp_bind(&network_server.handle, (struct sockaddr *)&at, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&network_server.handle, 64, on_visitor), 0);
    assert_int_equal(uv_tcp_getsockname(&network_server.handle, (struct sockaddr *)&at, &size), 0);
    network_server.port = ntohs(at.sin_port);
}

static void keep_audit(void *user, arcp_log_level level, const char *text, const char *fields)
{
    (void)user;
    (void)fields;
    if (level == ARCP_LOG_AUDIT) {
        arcp_buf_append_cstr(&audit, text);
        arcp_buf_append_byte(&audit, '\n');
    }
}

void network_needs(void)
{
    arcp__sandbox_abilities abilities;
    sandbox_probe(&abilities);
    if (arcp__sandbox_level_of(&abilities) != ARCP__SANDBOX_LEVEL_FULL ||
        abilities.values[ARCP__SANDBOX_ABILITY_EGRESS] == 0) {
        print_message("this host cannot give programs a network of their own\n");
        skip();
    }
}

void network_start(void (*change)(arcp_settings *settings))
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
    listen_here();
    if (network_change_options != NULL) {
        network_change_options(&runtime);
    }
    runtime_rig_open(&rig, &runtime);
}

void network_stop(void)
{
    uv_close((uv_handle_t *)&network_server.handle, NULL);
    runtime_rig_stop(&rig);
    arcp_buf_fini(&audit);
    network_change_options = NULL;
    assert_false(has_children());
}

int network_set_up(void **state)
{
    (void)state;
    network_start(NULL);
    return 0;
}

int network_tear_down(void **state)
{
    (void)state;
    network_stop();
    return 0;
}

void network_register(const char *name, const char *script, const arcp_process_agent *more)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "exec /bin/bash -c '"
                   "get() { exec 3<>/dev/tcp/127.0.0.1/%u || return 9; "
                   "printf \"GET $1 HTTP/1.1\\r\\nHost: 127.0.0.1:%u\\r\\n"
                   "Connection: close\\r\\n\\r\\n\" >&3; "
                   "cat <&3 | sed -u \"s/\\r//\"; }; %s'",
                   network_server.port, network_server.port, script);
    runtime_rig_register_sh(&rig, name, text, more);
}

void network_submit(const char *agent, const char *path, const char *more)
{
    char request[400];
    (void)snprintf(request, sizeof request,
                   ",\"lease_request\":{\"net.fetch\":[\"http://127.0.0.1:%u%s\"]}%s",
                   network_server.port, path, more);
    runtime_rig_submit(&rig, agent, request);
}

bool network_has_slow(void *user)
{
    return network_server.slow >= *(const size_t *)user;
}

bool network_has_slow_ended(void *user)
{
    return network_server.slow_ended >= *(const size_t *)user;
}

void network_await(bool (*done)(void *user), size_t count)
{
    runtime_rig_until(&rig, done, &count);
}
