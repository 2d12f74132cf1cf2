/* Name -> addresses -> TCP -> TLS -> upgrade. Addresses are tried in the resolver's order;
 * while there are more of them, none gets longer than its share of the time, nor than
 * ATTEMPT_MS, so that one address family that leads nowhere does not use it up. */
#include "transport/websocket_client.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "stream/stream.h"
#include "transport/websocket_connection.h"
#include "transport/websocket_handshake.h"

#define ATTEMPT_MS ((uint64_t)2000)

typedef struct websocket_connector {
    arcp_connector base;
    arcp__loop_share *share;
    arcp__websocket_pool *pool;
    arcp__tls_context *tls; /* NULL for ws:// */
    arcp__url url;
    arcp_connect_options options; /* numbers only */
    arcp_connect_callbacks callbacks;
    uv_timer_t timer;
    uint64_t deadline_ms; /* on the loop's clock */
    uv_getaddrinfo_t look_up;
    struct addrinfo *addresses; /* owned; NULL until the look-up is done */
    const struct addrinfo *next_address;
    arcp__task task; /* the look-up's answer, or the next attempt, from the loop */
    arcp__stream *stream;
    arcp_buf request;
    size_t request_left; /* bytes that have not left */
    arcp__web_head head;
    struct sockaddr_storage peer;
    arcp_error last;   /* why the latest attempt failed */
    size_t references; /* the timer, and the look-up */
    bool done;
    char key[ARCP__WEBSOCKET_KEY_SIZE];
    char where[ARCP__HOST_MAX + 16];
} websocket_connector;

/* ---- the end ---- */

static void connector_unref(websocket_connector *connector)
{
    if (--connector->references > 0) {
        return;
    }
    if (connector->addresses != NULL) {
        uv_freeaddrinfo(connector->addresses);
    }
    arcp__web_head_fini(&connector->head);
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

/* Nothing more happens; the memory goes when the loop lets it. */
static void connector_finish(websocket_connector *connector)
{
    assert(!connector->done);
    connector->done = true;
    arcp__task_cancel(connector->share, &connector->task);
    arcp__stream_close(&connector->stream);
    uv_cancel((uv_req_t *)&connector->look_up); /* its callback comes all the same */
    uv_close((uv_handle_t *)&connector->timer, on_timer_closed);
}

static void connector_cancel(arcp_connector *base)
{
    connector_finish((websocket_connector *)base);
}

static void connector_fail(websocket_connector *connector, const arcp_error *err)
{
    arcp_connect_callbacks callbacks = connector->callbacks;
    arcp_error copy = *err;
    connector_finish(connector);
    callbacks.failed(callbacks.user, &copy);
}

static const char *scheme(const websocket_connector *connector)
{
    return connector->tls == NULL ? "ws" : "wss";
}

/* ---- the upgrade ---- */

/* Longer paths are cut: the reason stands behind them. */
#define PATH_SHOWN_MAX 100

/* A query may be a secret. */
static void fail_upgrade(websocket_connector *connector, const char *why)
{
    arcp_error err = {0};
    const char *path = connector->url.path;
    size_t size = strcspn(path, "?");
    arcp_error_set(&err, ARCP_E_IO, "%s://%s%.*s: %s", scheme(connector), connector->where,
                   (int)(size < PATH_SHOWN_MAX ? size : PATH_SHOWN_MAX), path, why);
    connector_fail(connector, &err);
}

static void on_upgraded(websocket_connector *connector, arcp_span early)
{
    arcp__authority peer;
    char peer_name[ARCP__PEER_NAME_MAX];
    arcp__socket_authority(&connector->peer, &peer);
    arcp__authority_format(&peer, peer_name, sizeof(peer_name));
    arcp__websocket_connection_options options = {
        .share = connector->share,
        .pool = connector->pool,
        .stream = connector->stream,
        .transport = scheme(connector),
        .peer = peer_name,
        .encrypted = connector->tls != NULL,
        .local = arcp__authority_is_loopback(&peer),
        .frame_bytes_max = connector->options.frame_bytes_max,
        .close_timeout_ms = connector->options.close_timeout_ms,
        .early = early,
    };
    arcp_connection *connection = NULL;
    arcp_error err = {0};
    if (arcp__websocket_connection_new(&options, &connection, &err) != ARCP_OK) {
        connector_fail(connector, &err);
        return;
    }
    connector->stream = NULL; /* the connection's */
    arcp_connect_callbacks callbacks = connector->callbacks;
    connector_finish(connector);
    callbacks.connected(callbacks.user, connection);
}

static void on_bytes(void *user, arcp_span bytes)
{
    websocket_connector *connector = user;
    arcp_error err = {0};
    switch (arcp__web_head_feed(&connector->head, &bytes)) {
    case ARCP__WEB_MORE:
        return;
    case ARCP__WEB_COMPLETE:
        break;
    case ARCP__WEB_TOO_BIG:
        fail_upgrade(connector, "the server's answer is too long");
        return;
    case ARCP__WEB_INVALID:
        fail_upgrade(connector, "the server does not speak HTTP");
        return;
    case ARCP__WEB_NO_MEMORY:
        fail_upgrade(connector, "out of memory");
        return;
    }
    if (arcp__upgrade_check_response(&connector->head, connector->key, &err) != ARCP_OK) {
        fail_upgrade(connector, err.message);
    } else if (connector->request_left > 0) {
        fail_upgrade(connector, "the server answered before it was asked");
    } else {
        on_upgraded(connector, bytes);
    }
}

static void on_ended(void *user, const arcp_error *why)
{
    fail_upgrade(user, why == NULL ? "the server ended the connection during the handshake"
                                   : why->message);
}

static void on_written(void *user, size_t size)
{
    websocket_connector *connector = user;
    connector->request_left -= size;
}

static void start_upgrade(websocket_connector *connector)
{
    arcp_error err = {0};
    if (connector->tls != NULL) {
        arcp__stream *tls = NULL;
        if (arcp__tls_stream_new(connector->share, connector->tls, connector->url.authority.host,
                                 connector->stream, &tls, &err) != ARCP_OK) {
            connector_fail(connector, &err);
            return;
        }
        connector->stream = tls;
    }
    arcp__stream *stream = connector->stream;
    stream->events = (arcp__stream_events){on_bytes, on_ended, on_written, connector};
    stream->ops->start(stream);
    size_t size = connector->request.size;
    size_t written = 0;
    if (!stream->ops->write(stream, &connector->request, &written)) {
        fail_upgrade(connector, "cannot write");
        return;
    }
    connector->request_left = size - written;
}

/* ---- addresses ---- */

static void on_timer(uv_timer_t *timer);
static void try_next_address(websocket_connector *connector);

static void attempt_failed(websocket_connector *connector, int result)
{
    arcp__stream_close(&connector->stream);
    arcp_error_set(&connector->last, ARCP_E_IO, "cannot connect to %s: %s", connector->where,
                   uv_strerror(result));
}

static uint64_t time_left_ms(const websocket_connector *connector)
{
    uint64_t now = uv_now(connector->timer.loop);
    return connector->deadline_ms > now ? connector->deadline_ms - now : 0;
}

/* How long the attempt may take that goes on while next_address waits. */
static uint64_t attempt_ms(const websocket_connector *connector)
{
    uint64_t left = time_left_ms(connector);
    uint64_t attempts = 1;
    for (const struct addrinfo *next = connector->next_address; next != NULL;
         next = next->ai_next) {
        attempts++;
    }
    uint64_t share = left / attempts;
    return attempts == 1 || share < ATTEMPT_MS ? share : ATTEMPT_MS;
}

static void on_tcp_connected(void *user, int result)
{
    websocket_connector *connector = user;
    if (result != 0) {
        attempt_failed(connector, result);
        try_next_address(connector);
        return;
    }
    connector->next_address = NULL; /* from here on a failure is final */
    uv_timer_start(&connector->timer, on_timer, time_left_ms(connector), 0);
    start_upgrade(connector);
}

/* Connects to the next address that takes it; fails the connector behind the last. */
static void try_next_address(websocket_connector *connector)
{
    while (connector->next_address != NULL) {
        const struct addrinfo *address = connector->next_address;
        connector->next_address = address->ai_next;
        memcpy(&connector->peer, address->ai_addr, address->ai_addrlen);
        if (arcp__tcp_stream_new(connector->share, &connector->stream, &connector->last) !=
            ARCP_OK) {
            break;
        }
        int result = arcp__tcp_stream_connect(connector->stream, address->ai_addr, on_tcp_connected,
                                              connector);
        if (result == 0) {
            uv_timer_start(&connector->timer, on_timer, attempt_ms(connector), 0);
            return;
        }
        attempt_failed(connector, result);
    }
    connector_fail(connector, &connector->last);
}

static void on_timer(uv_timer_t *timer)
{
    websocket_connector *connector = timer->data;
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
    websocket_connector *connector = request->data;
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
    websocket_connector *connector =
        (websocket_connector *)((char *)task - offsetof(websocket_connector, task));
    char port[8];
    snprintf(port, sizeof(port), "%u", (unsigned)connector->url.authority.port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    bool numeric = connector->url.authority.kind != ARCP__HOST_NAME;
    if (numeric) {
        hints.ai_flags = AI_NUMERICHOST;
    }
    connector->references++;
    connector->look_up.data = connector;
    int result = uv_getaddrinfo(connector->timer.loop, &connector->look_up, on_looked_up,
                                connector->url.authority.host, port, &hints);
    if (result != 0) {
        on_looked_up(&connector->look_up, result, NULL);
    }
}

static arcp_status check_headers(const arcp_connect_options *options, arcp_error *err)
{
    for (size_t i = 0; i < options->header_count; i++) {
        if (!arcp__upgrade_header_is_valid(options->headers[i])) {
            /* Its value may be a secret. */
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "request header %zu is no \"Name: value\" that may be set",
                                  i + 1);
        }
    }
    return ARCP_OK;
}

static arcp_status prepare(websocket_connector *connector, const arcp_connect_options *options,
                           arcp_error *err)
{
    arcp_status status = check_headers(options, err);
    if (status == ARCP_OK && connector->url.scheme == ARCP__URL_WSS) {
        status = arcp__tls_context_new_client(options->ca_file, &connector->tls, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    connector->pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_CLIENT);
    if (connector->pool == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    arcp__websocket_key_new(connector->key);
    arcp__upgrade_request(&connector->url, connector->key, options->headers, options->header_count,
                          &connector->request);
    if (connector->request.failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    return ARCP_OK;
}

arcp_status arcp__connect_websocket(uv_loop_t *loop, const arcp__url *url,
                                    const arcp_connect_options *options,
                                    const arcp_connect_callbacks *callbacks, arcp_connector **out,
                                    arcp_error *err)
{
    if (url->authority.port == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "cannot connect to port 0");
    }
    arcp__loop_share *share = arcp__loop_share_new(loop);
    websocket_connector *connector = share == NULL ? NULL : arcp__alloc(sizeof(*connector));
    if (connector == NULL) {
        arcp__loop_share_unref(share);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    connector->base.cancel = connector_cancel;
    connector->share = share;
    connector->url = *url;
    connector->options = *options;
    connector->callbacks = *callbacks;
    connector->task.run = run_task;
    connector->references = 1;
    arcp__web_head_init(&connector->head, ARCP__WEB_RESPONSE, ARCP_HANDSHAKE_BYTES_DEFAULT);
    arcp__authority_format(&url->authority, connector->where, sizeof(connector->where));
    arcp_status status = prepare(connector, options, err);
    if (status != ARCP_OK) {
        connector_unref(connector);
        return status;
    }
    uv_timer_init(loop, &connector->timer);
    connector->timer.data = connector;
    connector->deadline_ms = uv_now(loop) + options->timeout_ms;
    uv_timer_start(&connector->timer, on_timer, options->timeout_ms, 0);
    arcp__task_post(share, &connector->task);
    if (out != NULL) {
        *out = &connector->base;
    }
    return ARCP_OK;
}
