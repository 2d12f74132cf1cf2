/* arcp_connect: connects to a URL of any transport. A program is started immediately, but the
 * callback is called later, as for the others. A WebSocket goes through name -> addresses -> TCP ->
 * TLS -> upgrade. Addresses are tried in the resolver's order; while more of them remain, an
 * attempt takes at most its share of the time, and at most ATTEMPT_MS, so that an unreachable
 * address family does not use up the time of the others. */
#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include <uv.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"
#include "base/options.h"
#include "stream/local_socket.h"
#include "stream/stream.h"
#include "transport/local_connection.h"
#include "transport/websocket_connection.h"
#include "transport/websocket_handshake.h"

#define ATTEMPT_MS ((uint64_t)2000)

struct arcp_connector {
    arcp__loop_share *share;
    arcp_connection *ready; /* a program's, or a local socket's; NULL for WebSocket */
    arcp__websocket_pool *pool;
    arcp__tls_context *tls; /* NULL for ws:// */
    arcp__url url;
    arcp_connect_options options; /* only its numbers are used */
    arcp_connect_callbacks callbacks;
    uv_timer_t timer;
    uint64_t deadline_ms; /* on the loop's clock */
    uv_getaddrinfo_t look_up;
    struct addrinfo *addresses; /* owned; NULL until the look-up is done */
    const struct addrinfo *next_address;
    arcp__task task; /* passes a program to the owner, or starts the look-up */
    arcp__stream *stream;
    arcp_buf request;
    size_t request_left; /* bytes not written yet */
    arcp__web_head head;
    struct sockaddr_storage peer;
    arcp_error last;   /* why the latest attempt failed */
    size_t references; /* the timer, and the look-up */
    bool done;
    char key[ARCP__WEBSOCKET_KEY_SIZE];
    char *subprotocol; /* owned; NULL: none */
    char where[ARCP__HOST_MAX + 16];
};

/* ---- the end ---- */

static void connector_unref(arcp_connector *connector)
{
    if (--connector->references > 0) {
        return;
    }
    if (connector->addresses != NULL) {
        uv_freeaddrinfo(connector->addresses);
    }
    arcp__web_head_fini(&connector->head);
    arcp__free(connector->subprotocol);
    arcp_buf_fini(&connector->request);
    arcp__tls_context_free(connector->tls);
    arcp__websocket_pool_unref(connector->pool);
    arcp__loop_share_unref(connector->share);
    arcp__free(connector);
}

static void on_timer_closed(uv_handle_t *timer)
{
    connector_unref(timer->data);
}

/* Ends the attempt without a callback; the memory is freed later, from the loop. */
static void connector_finish(arcp_connector *connector)
{
    assert(!connector->done);
    connector->done = true;
    arcp__task_cancel(connector->share, &connector->task);
    arcp__stream_close(&connector->stream);
    uv_cancel((uv_req_t *)&connector->look_up); /* its callback is called nevertheless */
    uv_close((uv_handle_t *)&connector->timer, on_timer_closed);
}

void arcp_connector_cancel(arcp_connector *connector)
{
    if (connector->ready != NULL) {
        connector->ready->ops->free(connector->ready);
    }
    connector_finish(connector);
}

/* Passes the connection to the owner. */
static void connector_succeed(arcp_connector *connector, arcp_connection *connection)
{
    const arcp_connect_callbacks callbacks = connector->callbacks;
    connector_finish(connector);
    callbacks.connected(callbacks.user, connection);
}

static void connector_fail(arcp_connector *connector, const arcp_error *err)
{
    const arcp_connect_callbacks callbacks = connector->callbacks;
    const arcp_error copy = *err;
    connector_finish(connector);
    callbacks.failed(callbacks.user, &copy);
}

static const char *scheme(const arcp_connector *connector)
{
    return connector->tls == NULL ? "ws" : "wss";
}

/* ---- the upgrade ---- */

/* Longer paths are cut, so that the reason after them fits. */
#define PATH_SHOWN_MAX 100

/* Leaves out the query, which may contain a secret. */
static void fail_upgrade(arcp_connector *connector, const char *why)
{
    arcp_error err = {0};
    const char *path = connector->url.path;
    const size_t size = strcspn(path, "?");
    arcp_error_set(&err, ARCP_E_IO, "%s://%s%.*s: %s", scheme(connector), connector->where,
                   (int)(size < PATH_SHOWN_MAX ? size : PATH_SHOWN_MAX), path, why);
    connector_fail(connector, &err);
}

static void on_bytes(void *user, arcp_span bytes)
{
    arcp_connector *connector = user;
    arcp_error err = {0};
    switch (arcp__web_head_feed(&connector->head, &bytes)) {
    case ARCP__WEB_MORE:
        return;
    case ARCP__WEB_COMPLETE:
        break;
    case ARCP__WEB_TOO_BIG:
        fail_upgrade(connector, "the server's response is too long");
        return;
    case ARCP__WEB_INVALID:
        fail_upgrade(connector, "the server does not speak HTTP");
        return;
    case ARCP__WEB_NO_MEMORY:
        fail_upgrade(connector, "out of memory");
        return;
    }
    if (arcp__upgrade_check_response(&connector->head, connector->key, connector->subprotocol,
                                     &err) != ARCP_OK) {
        fail_upgrade(connector, err.message);
        return;
    }
    if (connector->request_left > 0) {
        fail_upgrade(connector, "the server responded before the request was sent");
        return;
    }
    arcp__authority peer;
    char peer_name[ARCP__PEER_NAME_MAX];
    arcp__socket_authority(&connector->peer, &peer);
    arcp__authority_format(&peer, peer_name, sizeof peer_name);
    const arcp__websocket_connection_options options = {
        .upgraded = {.share = connector->share,
                     .stream = connector->stream,
                     .peer = peer_name,
                     .early = bytes,
                     .is_encrypted = connector->tls != NULL,
                     .is_local = arcp__authority_is_loopback(&peer)},
        .pool = connector->pool,
        .transport = scheme(connector),
        .frame_bytes_max = connector->options.frame_bytes_max,
        .close_timeout_ms = connector->options.close_timeout_ms,
        .is_binary = connector->subprotocol != NULL,
    };
    arcp_connection *connection = NULL;
    if (arcp__websocket_connection_new(&options, &connection, &err) != ARCP_OK) {
        connector_fail(connector, &err);
        return;
    }
    connector->stream = NULL; /* now owned by the connection */
    connector_succeed(connector, connection);
}

static void on_ended(void *user, const arcp_error *why)
{
    fail_upgrade(user, why == NULL ? "the server ended the connection during the handshake"
                                   : why->message);
}

static void on_written(void *user, size_t size)
{
    arcp_connector *connector = user;
    connector->request_left -= size;
}

/* ---- addresses ---- */

static void on_timer(uv_timer_t *timer);
static void try_next_address(arcp_connector *connector);

static void attempt_failed(arcp_connector *connector, int result)
{
    arcp__stream_close(&connector->stream);
    arcp_error_set(&connector->last, ARCP_E_IO, "cannot connect to %s: %s", connector->where,
                   uv_strerror(result));
}

static uint64_t time_left_ms(const arcp_connector *connector)
{
    const uint64_t now = uv_now(connector->timer.loop);
    return connector->deadline_ms > now ? connector->deadline_ms - now : 0;
}

static void on_tcp_connected(void *user, int result)
{
    arcp_connector *connector = user;
    if (result != 0) {
        attempt_failed(connector, result);
        try_next_address(connector);
        return;
    }
    connector->next_address = NULL; /* from now on a failure is final */
    uv_timer_start(&connector->timer, on_timer, time_left_ms(connector), 0);
    arcp_error err = {0};
    arcp__stream *lower = connector->stream;
    if (connector->tls != NULL &&
        arcp__tls_stream_new(connector->share, connector->tls, connector->url.authority.host, lower,
                             &connector->stream, &err) != ARCP_OK) {
        connector_fail(connector, &err);
        return;
    }
    arcp__stream *stream = connector->stream;
    stream->events = (arcp__stream_events){on_bytes, on_ended, on_written, connector};
    stream->ops->start(stream);
    const size_t size = connector->request.size;
    size_t written = 0;
    if (!stream->ops->write(stream, &connector->request, &written)) {
        fail_upgrade(connector, "cannot write");
        return;
    }
    connector->request_left = size - written;
}

/* Starts an attempt with the next address; fails the connector when none is left. */
static void try_next_address(arcp_connector *connector)
{
    while (connector->next_address != NULL) {
        const struct addrinfo *address = connector->next_address;
        uint64_t attempts = 0; /* this one and the remaining ones */
        for (const struct addrinfo *next = address; next != NULL; next = next->ai_next) {
            attempts++;
        }
        connector->next_address = address->ai_next;
        memcpy(&connector->peer, address->ai_addr, address->ai_addrlen);
        const int result = arcp__tcp_stream_connect(
            connector->share, address->ai_addr, on_tcp_connected, connector, &connector->stream);
        if (result == 0) {
            const uint64_t share = time_left_ms(connector) / attempts;
            uv_timer_start(&connector->timer, on_timer,
                           attempts == 1 || share < ATTEMPT_MS ? share : ATTEMPT_MS, 0);
            return;
        }
        if (result == UV_ENOMEM) {
            arcp_error_set(&connector->last, ARCP_E_NO_MEMORY, "out of memory for a connection");
            break;
        }
        attempt_failed(connector, result);
    }
    connector_fail(connector, &connector->last);
}

static void on_timer(uv_timer_t *timer)
{
    arcp_connector *connector = timer->data;
    if (uv_now(timer->loop) < connector->deadline_ms && connector->next_address != NULL) {
        attempt_failed(connector, UV_ETIMEDOUT);
        try_next_address(connector);
        return;
    }
    arcp_error err = {0};
    arcp_error_set(&err, ARCP_E_DEADLINE, "cannot connect to %s within %u ms", connector->where,
                   (unsigned)connector->options.timeout_ms);
    connector_fail(connector, &err);
}

static void on_looked_up(uv_getaddrinfo_t *request, int result, struct addrinfo *addresses)
{
    arcp_connector *connector = request->data;
    connector->addresses = addresses;
    if (!connector->done) {
        connector->next_address = addresses;
        if (result == 0) {
            arcp_error_set(&connector->last, ARCP_E_IO, "%s has no address",
                           connector->url.authority.host);
            try_next_address(connector);
        } else {
            arcp_error err = {0};
            arcp_error_set(&err, ARCP_E_IO, "cannot find %s: %s", connector->url.authority.host,
                           uv_strerror(result));
            connector_fail(connector, &err);
        }
    }
    connector_unref(connector);
}

/* ---- starting ---- */

static void run_task(arcp__task *task)
{
    arcp_connector *connector = (arcp_connector *)((char *)task - offsetof(arcp_connector, task));
    if (connector->ready != NULL) {
        connector_succeed(connector, connector->ready);
        return;
    }
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)connector->url.authority.port);
    const bool is_numeric = connector->url.authority.kind != ARCP__HOST_NAME;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = is_numeric ? AI_NUMERICHOST : 0};
    connector->references++;
    connector->look_up.data = connector;
    const int result = uv_getaddrinfo(connector->timer.loop, &connector->look_up, on_looked_up,
                                      connector->url.authority.host, port, &hints);
    if (result != 0) {
        on_looked_up(&connector->look_up, result, NULL);
    }
}

static arcp_status prepare_websocket(arcp_connector *connector, const arcp_connect_options *options,
                                     arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < options->header_count; i++) {
        if (!arcp__upgrade_header_is_valid(options->headers[i])) {
            /* Not shown: its value may be a secret. */
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "request header %zu is not a \"Name: value\" that may be set",
                                  i + 1);
        }
    }
    if (options->subprotocol != NULL && !arcp__upgrade_subprotocol_is_valid(options->subprotocol)) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"%s\" is not the name of a subprotocol",
                              options->subprotocol);
    }
    if (connector->url.scheme == ARCP__URL_WSS) {
        status = arcp__tls_context_new_client(options->ca_file, &connector->tls, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__websocket_key_new(connector->key);
    arcp__upgrade_request(&connector->url, connector->key, options->headers, options->header_count,
                          options->subprotocol, &connector->request);
    connector->pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_CLIENT);
    if (options->subprotocol != NULL) {
        connector->subprotocol =
            arcp__copy_cstr(options->subprotocol, strlen(options->subprotocol));
    }
    if (connector->pool == NULL || connector->request.failed ||
        (connector->subprotocol == NULL) != (options->subprotocol == NULL)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    arcp__web_head_init(&connector->head, ARCP__WEB_RESPONSE, ARCP_HANDSHAKE_BYTES_DEFAULT);
    arcp__authority_format(&connector->url.authority, connector->where, sizeof connector->where);
    return ARCP_OK;
}

/* A program is started, or a local socket connected, at once. */
static arcp_status prepare_lines(arcp_connector *connector, uv_loop_t *loop,
                                 const arcp_connect_options *options, arcp_error *err)
{
    const char *rest = connector->url.rest.data; /* up to the end of the URL's text */
    arcp_stdio_options lines = arcp_stdio_options_init();
    lines.frame_bytes_max = options->frame_bytes_max;
    lines.close_timeout_ms = options->close_timeout_ms;
    if (connector->url.scheme == ARCP__URL_STDIO) {
        return arcp_spawn_stdio(loop, rest, &lines, &connector->ready, err);
    }
    int fd = -1;
    arcp_status status = arcp__local_socket_connect(rest, &fd, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__local_connection_new(loop, fd, rest, &lines, &connector->ready, err);
    if (status != ARCP_OK) {
        (void)close(fd);
    }
    return status;
}

/* [arcp:4-1] */
arcp_status arcp_connect(uv_loop_t *loop, const char *url, const arcp_connect_options *given,
                         const arcp_connect_callbacks *callbacks, arcp_connector **out,
                         arcp_error *err)
{
    arcp__url parsed;
    arcp_connect_options options = arcp_connect_options_init();
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_connect_options", err);
    if (status == ARCP_OK) {
        status = arcp__url_parse(arcp_span_cstr(url), &parsed, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    const bool is_ready = parsed.scheme == ARCP__URL_STDIO || parsed.scheme == ARCP__URL_UNIX;
    if (parsed.scheme == ARCP__URL_MEMORY) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "memory: URLs cannot be connected to: use arcp_memory_pair");
    }
    if (!is_ready && parsed.authority.port == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "cannot connect to port 0");
    }
    arcp__loop_share *share = arcp__loop_share_new(loop);
    arcp_connector *connector = share == NULL ? NULL : arcp__alloc(sizeof *connector);
    if (connector == NULL) {
        arcp__loop_share_unref(share);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    connector->share = share;
    connector->url = parsed;
    connector->options = options;
    if (options.timeout_ms == 0) {
        connector->options.timeout_ms = ARCP_HANDSHAKE_TIMEOUT_MS_DEFAULT;
    }
    connector->callbacks = *callbacks;
    connector->task.run = run_task;
    connector->references = 1;
    if (is_ready) {
        status = prepare_lines(connector, loop, &options, err);
    } else {
        status = prepare_websocket(connector, &options, err);
    }
    if (status != ARCP_OK) {
        connector_unref(connector);
        return status;
    }
    uv_timer_init(loop, &connector->timer);
    connector->timer.data = connector;
    if (!is_ready) {
        connector->deadline_ms = uv_now(loop) + connector->options.timeout_ms;
        uv_timer_start(&connector->timer, on_timer, connector->options.timeout_ms, 0);
    }
    arcp__task_post(share, &connector->task);
    if (out != NULL) {
        *out = connector;
    }
    return ARCP_OK;
}
