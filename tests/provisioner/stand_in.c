#include "provisioner/stand_in.h"

#include "support/check.h"

#include <signal.h>

#include "json/json.h"

typedef struct connection {
    uv_tcp_t tcp;
    uv_timer_t timer;
    stand_in *upstream;
    char *text; /* of `capacity`, and a NUL */
    size_t size, capacity;
    size_t request_size; /* of the current request, head and body */
    stand_in_mode mode;
    unsigned open_handles;
    bool is_busy;
} connection;

typedef struct reply {
    uv_write_t write;
    connection *to;
    char text[2048];
} reply;

/* ---- keys ---- */

static stand_in_key *find_alias(stand_in *upstream, const char *alias)
{
    for (unsigned i = 0; i < upstream->key_count; i++) {
        if (strcmp(upstream->keys[i].alias, alias) == 0) {
            return &upstream->keys[i];
        }
    }
    return NULL;
}

static void copy_text(char *to, size_t size, arcp_span text)
{
    (void)snprintf(to, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

static int generate(stand_in *upstream, const arcp_json *json, arcp_span body, char *out,
                    size_t size)
{
    char alias[64];
    arcp_buf scratch = arcp_buf_init();
    copy_text(alias, sizeof alias,
              arcp_json_string(
                  json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("key_alias")),
                  &scratch));
    arcp_buf_fini(&scratch);
    upstream->generate_calls++;
    if (find_alias(upstream, alias) != NULL) {
        (void)snprintf(out, size, "{\"error\":\"alias exists\"}");
        return 400;
    }
    assert_true(upstream->key_count < STAND_IN_KEYS_MAX);
    stand_in_key *key = &upstream->keys[upstream->key_count++];
    *key = (stand_in_key){.is_live = true};
    (void)snprintf(key->alias, sizeof key->alias, "%s", alias);
    (void)snprintf(key->value, sizeof key->value, STAND_IN_PREFIX "%06u-secret",
                   upstream->key_count);
    (void)snprintf(key->token, sizeof key->token, "tok-%06u", upstream->key_count);
    copy_text(key->request, sizeof key->request, body);
    (void)snprintf(out, size, "{\"key\":\"%s\",\"token_id\":\"%s\",\"nested\":[{\"a/b\":\"%s\"}]}",
                   key->value, key->token, key->token);
    return 200;
}

static int delete_keys(stand_in *upstream, const arcp_json *json, char *out, size_t size)
{
    int status = 404;
    const arcp_json_ref list =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("key_aliases"));
    upstream->delete_calls++;
    for (arcp_json_ref item = arcp_json_first(json, list); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, list, item)) {
        char alias[64];
        arcp_buf scratch = arcp_buf_init();
        copy_text(alias, sizeof alias, arcp_json_string(json, item, &scratch));
        arcp_buf_fini(&scratch);
        stand_in_key *key = find_alias(upstream, alias);
        if (key != NULL && key->is_live) {
            key->is_live = false;
            key->revoked++;
            status = 200;
        }
    }
    (void)snprintf(out, size, status == 200 ? "{\"deleted_keys\":1}" : "{\"error\":\"not found\"}");
    return status;
}

static int collect(stand_in *upstream, arcp_span body, char *out, size_t size)
{
    upstream->traces = realloc(upstream->traces, upstream->traces_size + body.size + 2);
    assert_non_null(upstream->traces);
    memcpy(upstream->traces + upstream->traces_size, body.data, body.size);
    upstream->traces_size += body.size;
    upstream->traces[upstream->traces_size++] = '\n';
    upstream->traces[upstream->traces_size] = '\0';
    upstream->trace_calls++;
    (void)snprintf(out, size, "%s",
                   upstream->mode == STAND_IN_PARTLY
                       ? "{\"partialSuccess\":{\"rejectedSpans\":\"1\"}}"
                       : "{}");
    return 200;
}

void stand_in_forget(stand_in *upstream)
{
    free(upstream->traces);
    upstream->traces = NULL;
    upstream->traces_size = 0;
}

static int handle(stand_in *upstream, const char *path, arcp_span body, char *out, size_t size)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_limits limits = {16, 100, 65536};
    int status = 404;
    if (strcmp(path, "/v1/traces") == 0) {
        return collect(upstream, body, out, size);
    }
    if (strncmp(path, "/key/info", 9) == 0) {
        upstream->info_calls++;
        (void)snprintf(out, size, "{\"info\":{\"spend\":1.25e-1}}");
        return 200;
    }
    (void)snprintf(out, size, "{}");
    if (arcp_json_scan(&json, body, &limits, NULL) != ARCP_OK) {
        status = 400;
    } else if (strcmp(path, "/key/generate") == 0) {
        status = generate(upstream, &json, body, out, size);
    } else if (strcmp(path, "/key/delete") == 0) {
        status = delete_keys(upstream, &json, out, size);
    }
    arcp__json_fini(&json);
    return status;
}

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle)
{
    connection *peer = handle->data;
    if (--peer->open_handles == 0) {
        peer->upstream->connections--;
        free(peer->text);
        free(peer);
    }
}

static void hang_up(connection *peer)
{
    if (!uv_is_closing((uv_handle_t *)&peer->tcp)) {
        uv_close((uv_handle_t *)&peer->tcp, on_closed);
        uv_close((uv_handle_t *)&peer->timer, on_closed);
    }
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    free(write->data);
}

static void send_reply(connection *peer, int status, const char *body)
{
    reply *out = malloc(sizeof *out);
    assert_non_null(out);
    const int size =
        snprintf(out->text, sizeof out->text,
                 "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                 "Retry-After: %u\r\n\r\n%s",
                 status, strlen(body), peer->upstream->retry_after_sec, body);
    uv_buf_t buffer = uv_buf_init(out->text, (unsigned)size);
    out->write.data = out;
    if (uv_write(&out->write, (uv_stream_t *)&peer->tcp, &buffer, 1, on_written) != 0) {
        free(out);
    }
}

static void consume(connection *peer)
{
    memmove(peer->text, peer->text + peer->request_size, peer->size - peer->request_size);
    peer->size -= peer->request_size;
    peer->is_busy = false;
}

/* Executes the request; writes the body of the response to `out`. */
static int execute(connection *peer, char *out, size_t size)
{
    char path[256] = "";
    const char *end = strstr(peer->text, "\r\n\r\n");
    const arcp_span body =
        arcp_span_make(end + 4, peer->request_size - (size_t)(end + 4 - peer->text));
    (void)sscanf(peer->text, "%*s %255s", path);
    uv_mutex_lock(&peer->upstream->lock);
    const int status = handle(peer->upstream, path, body, out, size);
    uv_mutex_unlock(&peer->upstream->lock);
    return status;
}

static void on_late(uv_timer_t *timer)
{
    connection *peer = timer->data;
    char body[1024];
    const int status = execute(peer, body, sizeof body);
    send_reply(peer, status, body);
    consume(peer);
}

static void serve(connection *peer)
{
    char body[1024] = "{}";
    int status = 500;
    peer->is_busy = true;
    switch (peer->mode) {
    case STAND_IN_STALLS:
        return;
    case STAND_IN_IS_LATE:
        (void)uv_timer_start(&peer->timer, on_late, peer->upstream->late_ms, 0);
        return;
    case STAND_IN_CLOSES_BEFORE:
        hang_up(peer);
        return;
    case STAND_IN_REFUSES:
        send_reply(peer, 401, "{}");
        break;
    case STAND_IN_IS_EXHAUSTED:
        send_reply(peer, 400, "{\"error\":{\"type\":\"budget_exceeded\"}}");
        break;
    case STAND_IN_FAILS:
        send_reply(peer, 500, "oh");
        break;
    case STAND_IN_IS_BUSY:
        send_reply(peer, 503, "{}");
        break;
    case STAND_IN_CLOSES_AFTER:
        (void)execute(peer, body, sizeof body);
        hang_up(peer);
        return;
    case STAND_IN_GARBAGE:
        (void)execute(peer, body, sizeof body);
        send_reply(peer, 200, "<html>");
        break;
    case STAND_IN_WELL:
    case STAND_IN_PARTLY:
    case STAND_IN_TWICE:
    case STAND_IN_MODES:
        status = execute(peer, body, sizeof body);
        send_reply(peer, status, body);
        if (peer->mode == STAND_IN_TWICE) {
            send_reply(peer, status, body);
        }
        break;
    }
    consume(peer);
}

static stand_in_mode next_mode(stand_in *upstream)
{
    if (upstream->random == 0) {
        return upstream->mode;
    }
    upstream->random = upstream->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    const unsigned pick = (unsigned)(upstream->random >> 33) % 24;
    return pick < STAND_IN_MODES ? (stand_in_mode)pick : STAND_IN_WELL;
}

static bool has_request(connection *peer)
{
    peer->text[peer->size] = '\0';
    const char *end = strstr(peer->text, "\r\n\r\n");
    if (end == NULL) {
        return false;
    }
    const char *length = strstr(peer->text, "Content-Length: ");
    const size_t body = length != NULL && length < end ? strtoul(length + 16, NULL, 10) : 0;
    peer->request_size = (size_t)(end + 4 - peer->text) + body;
    return peer->size >= peer->request_size;
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    connection *peer = handle->data;
    (void)wanted;
    if (peer->capacity - peer->size < 4096) {
        peer->capacity += peer->capacity + 16384;
        peer->text = realloc(peer->text, peer->capacity + 1);
        assert_non_null(peer->text);
    }
    *buffer = uv_buf_init(peer->text + peer->size, (unsigned)(peer->capacity - peer->size));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    connection *peer = stream->data;
    (void)buffer;
    if (size < 0) {
        if (!peer->is_busy || peer->mode != STAND_IN_IS_LATE) {
            hang_up(peer); /* a late one is still done, without a response */
        } else {
            (void)uv_read_stop(stream);
        }
        return;
    }
    peer->size += (size_t)size;
    if (!peer->is_busy && has_request(peer)) {
        uv_mutex_lock(&peer->upstream->lock);
        peer->mode = next_mode(peer->upstream);
        peer->upstream->requests++;
        (void)snprintf(peer->upstream->head, sizeof peer->upstream->head, "%.*s",
                       (int)(strstr(peer->text, "\r\n\r\n") - peer->text), peer->text);
        uv_mutex_unlock(&peer->upstream->lock);
        serve(peer);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    stand_in *upstream = listener->data;
    connection *peer = calloc(1, sizeof *peer);
    assert_int_equal(status, 0);
    assert_non_null(peer);
    peer->upstream = upstream;
    peer->open_handles = 2;
    upstream->connections++;
    (void)uv_tcp_init(upstream->loop, &peer->tcp);
    (void)uv_timer_init(upstream->loop, &peer->timer);
    peer->tcp.data = peer;
    peer->timer.data = peer;
    if (uv_accept(listener, (uv_stream_t *)&peer->tcp) != 0 ||
        uv_read_start((uv_stream_t *)&peer->tcp, on_alloc, on_read) != 0) {
        hang_up(peer);
    }
}

/* ---- life ---- */

void stand_in_start(stand_in *upstream, uv_loop_t *loop)
{
    struct sockaddr_in address;
    struct sockaddr_storage bound;
    int size = sizeof bound;
    assert_int_equal(uv_mutex_init(&upstream->lock), 0);
    upstream->loop = loop;
    (void)signal(SIGPIPE, SIG_IGN); /* the client may have exited when the response is written */
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    assert_int_equal(uv_tcp_init(loop, &upstream->listener), 0);
    assert_int_equal(uv_tcp_bind(&upstream->listener, (const struct sockaddr *)&address, 0), 0);
    upstream->listener.data = upstream;
    assert_int_equal(uv_listen((uv_stream_t *)&upstream->listener, 64, on_connection), 0);
    assert_int_equal(uv_tcp_getsockname(&upstream->listener, (struct sockaddr *)&bound, &size), 0);
    upstream->port = ntohs(((struct sockaddr_in *)&bound)->sin_port);
}

static void close_one(uv_handle_t *handle, void *user)
{
    const stand_in *upstream = user;
    if (handle == (uv_handle_t *)&upstream->listener) {
        return;
    }
    if (handle->type == UV_TCP && handle->data != NULL &&
        ((connection *)handle->data)->upstream == upstream &&
        (uv_handle_t *)&((connection *)handle->data)->tcp == handle) {
        hang_up(handle->data);
    }
}

void stand_in_close(stand_in *upstream)
{
    if (!uv_is_closing((uv_handle_t *)&upstream->listener)) {
        uv_close((uv_handle_t *)&upstream->listener, NULL);
    }
    uv_walk(upstream->loop, close_one, upstream);
}

static void on_stop(uv_async_t *async)
{
    stand_in *upstream = async->data;
    stand_in_close(upstream);
    uv_close((uv_handle_t *)async, NULL);
}

static void run(void *user)
{
    stand_in *upstream = user;
    (void)uv_run(&upstream->own_loop, UV_RUN_DEFAULT);
}

void stand_in_start_thread(stand_in *upstream)
{
    assert_int_equal(uv_loop_init(&upstream->own_loop), 0);
    stand_in_start(upstream, &upstream->own_loop);
    assert_int_equal(uv_async_init(&upstream->own_loop, &upstream->stop, on_stop), 0);
    upstream->stop.data = upstream;
    assert_int_equal(uv_thread_create(&upstream->thread, run, upstream), 0);
}

void stand_in_set_mode(stand_in *upstream, stand_in_mode mode)
{
    uv_mutex_lock(&upstream->lock);
    upstream->mode = mode;
    uv_mutex_unlock(&upstream->lock);
}

void stand_in_settle(stand_in *upstream)
{
    uv_mutex_lock(&upstream->lock);
    uv_mutex_unlock(&upstream->lock);
}

void stand_in_stop_thread(stand_in *upstream)
{
    (void)uv_async_send(&upstream->stop);
    assert_int_equal(uv_thread_join(&upstream->thread), 0);
    assert_int_equal(uv_loop_close(&upstream->own_loop), 0);
    uv_mutex_destroy(&upstream->lock);
}
