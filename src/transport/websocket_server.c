/* ws:// and wss:// listeners: TCP, then TLS, then the upgrade; what is left is a connection.
 *
 * Between accept and upgrade a peer is a `handshake`: it has a deadline, a limit on its
 * bytes, and is counted as pending (admission.h), so that peers that talk slowly or not at
 * all hold little and not for long. A refused one is counted until the peer has taken the
 * answer or the close timeout has passed: closing a socket with unread input would reset
 * it, and the answer could be lost. After the upgrade the connection is counted instead. */
#include <assert.h>
#include <stdio.h>

#include <uv.h>

#include <arcp/sys/transport.h>

#include <utlist.h>

#include "base/alloc.h"
#include "base/options.h"
#include "stream/stream.h"
#include "transport/admission.h"
#include "transport/socket_name.h"
#include "transport/websocket_connection.h"
#include "transport/websocket_handshake.h"

#define LISTEN_BACKLOG 1024

typedef struct handshake handshake;

typedef struct websocket_listener {
    arcp_listener base;
    uv_tcp_t handle;
    uv_tcp_t turned_away; /* takes a peer for which there is no memory, and closes */
    arcp__loop_share *share;
    arcp__websocket_pool *pool;
    arcp__tls_context *tls; /* NULL for ws:// */
    arcp__web_names names;
    arcp_listen_options options; /* its other pointers are not used after the start */
    arcp_listener_callbacks callbacks;
    arcp__url parsed;
    handshake *handshakes;
    size_t references; /* the handle, turned_away in use, and each handshake */
    bool closed;
    bool turning_away; /* turned_away is in use */
    bool peer_waits;   /* one more is to be turned away when it is free again */
    char url[ARCP__URL_TEXT_MAX];
} websocket_listener;

struct handshake {
    handshake *prev;
    handshake *next;
    websocket_listener *listener;
    arcp__stream *stream;
    uv_timer_t timer;
    arcp__web_head head;
    arcp__counted counted;
    uint64_t accepted_ms; /* on the loop's clock */
    size_t answer_left;   /* bytes of a refusal that have not left */
    bool answered;
    bool local;
    char peer[ARCP__PEER_NAME_MAX];
};

static void listener_unref(websocket_listener *listener)
{
    if (--listener->references > 0) {
        return;
    }
    arcp__web_names_fini(&listener->names);
    arcp_admission_unref(listener->options.admission);
    arcp__tls_context_free(listener->tls);
    arcp__websocket_pool_unref(listener->pool);
    arcp__loop_share_unref(listener->share);
    arcp__free(listener);
}

/* ---- handshakes ---- */

static void on_timer_closed(uv_handle_t *timer)
{
    handshake *shake = timer->data;
    websocket_listener *listener = shake->listener;
    arcp__web_head_fini(&shake->head);
    arcp__free(shake);
    listener_unref(listener);
}

/* Ends the handshake; a stream that was not handed on is closed. */
static void handshake_drop(handshake *shake)
{
    websocket_listener *listener = shake->listener;
    arcp__stream_close(&shake->stream);
    arcp__admission_leave(&shake->counted);
    DL_DELETE(listener->handshakes, shake);
    uv_close((uv_handle_t *)&shake->timer, on_timer_closed);
}

static void tell_refused(const websocket_listener *listener, const char *peer, int status,
                         const char *why)
{
    if (listener->callbacks.refused != NULL && !listener->closed) {
        listener->callbacks.refused(listener->callbacks.user, peer, status, why);
    }
}

/* Drops a peer that got no answer. */
static void handshake_fail(handshake *shake, const char *why)
{
    if (!shake->answered) {
        tell_refused(shake->listener, shake->peer, 0, why);
    }
    if (shake->stream != NULL) { /* unless the callback closed the listener */
        handshake_drop(shake);
    }
}

static void on_timer(uv_timer_t *timer)
{
    handshake_fail(timer->data, "the handshake was not complete in time");
}

static void refuse(handshake *shake, const arcp__upgrade *upgrade)
{
    arcp_buf answer = ARCP_BUF_INIT;
    arcp__upgrade_respond(upgrade, &answer);
    size_t size = answer.size;
    size_t written = 0;
    if (answer.failed || !shake->stream->ops->write(shake->stream, &answer, &written)) {
        arcp_buf_fini(&answer);
        handshake_fail(shake, upgrade->why);
        return;
    }
    shake->answered = true;
    shake->answer_left = size - written;
    if (shake->answer_left == 0) {
        shake->stream->ops->finish(shake->stream);
    }
    uv_timer_start(&shake->timer, on_timer, shake->listener->options.close_timeout_ms, 0);
    tell_refused(shake->listener, shake->peer, upgrade->status, upgrade->why);
}

static arcp__upgrade refusal(int status, const char *why)
{
    return (arcp__upgrade){.status = status, .why = why};
}

/* One try at an answer, then the socket is gone: another connection has its place. True when the
 * system took the answer. */
static bool answer_unavailable(arcp__stream *stream, const char *why)
{
    const arcp__upgrade upgrade = refusal(503, why);
    arcp_buf answer = ARCP_BUF_INIT;
    size_t written = 0;
    arcp__upgrade_respond(&upgrade, &answer);
    size_t size = answer.size;
    bool took = !answer.failed && stream->ops->write(stream, &answer, &written) && written == size;
    arcp_buf_fini(&answer);
    return took;
}

static void evict(void *user, const char *why)
{
    handshake *shake = user;
    if (shake->answered) {
        handshake_drop(shake); /* it was told, and so was the listener's owner */
        return;
    }
    shake->answered = true;
    websocket_listener *listener = shake->listener;
    char peer[ARCP__PEER_NAME_MAX];
    memcpy(peer, shake->peer, sizeof(peer));
    bool took = answer_unavailable(shake->stream, why);
    arcp__web_head_fini(&shake->head);
    handshake_drop(shake);
    tell_refused(listener, peer, took ? 503 : 0, why);
}

static void accept_upgrade(handshake *shake, const arcp__upgrade *upgrade, arcp_span early)
{
    websocket_listener *listener = shake->listener;
    arcp_buf answer = ARCP_BUF_INIT;
    arcp__upgrade_respond(upgrade, &answer);
    arcp__websocket_connection_options options = {
        .share = listener->share,
        .pool = listener->pool,
        .stream = shake->stream,
        .peer = shake->peer,
        .encrypted = listener->tls != NULL,
        .local = shake->local,
        .waited_ms = (uint32_t)(uv_now(listener->handle.loop) - shake->accepted_ms),
        .counted = &shake->counted,
        .frame_bytes_max = listener->options.frame_bytes_max,
        .first_frame_bytes_max = listener->options.first_frame_bytes_max,
        .close_timeout_ms = listener->options.close_timeout_ms,
        .greeting = arcp_buf_span(&answer),
        .early = early,
    };
    arcp_connection *connection = NULL;
    arcp_error err = {0};
    arcp_status status = ARCP_E_NO_MEMORY;
    if (!answer.failed) {
        status = arcp__websocket_connection_new(&options, &connection, &err);
    }
    arcp_buf_fini(&answer);
    if (status != ARCP_OK) {
        handshake_fail(shake, "out of memory");
        return;
    }
    shake->stream = NULL; /* the connection's */
    handshake_drop(shake);
    listener->callbacks.accepted(listener->callbacks.user, connection);
}

static void on_bytes(void *user, arcp_span bytes)
{
    handshake *shake = user;
    if (shake->answered) {
        return; /* a refused peer may still be talking */
    }
    if (!arcp__admission_note_bytes(&shake->counted, bytes.size)) {
        return;
    }
    arcp__upgrade upgrade = {0};
    switch (arcp__web_head_feed(&shake->head, &bytes)) {
    case ARCP__WEB_MORE:
        return;
    case ARCP__WEB_COMPLETE:
        upgrade = arcp__upgrade_check(&shake->head, shake->listener->parsed.path,
                                      &shake->listener->names);
        break;
    case ARCP__WEB_TOO_BIG:
        upgrade = refusal(431, "the request head is too big");
        break;
    case ARCP__WEB_INVALID:
        upgrade = refusal(400, "this is not HTTP/1.1");
        break;
    case ARCP__WEB_NO_MEMORY:
        handshake_fail(shake, "out of memory");
        return;
    }
    if (upgrade.status == 101) {
        accept_upgrade(shake, &upgrade, bytes);
    } else {
        refuse(shake, &upgrade);
    }
}

static void on_ended(void *user, const arcp_error *why)
{
    handshake_fail(user,
                   why == NULL ? "the peer left before the handshake was complete" : why->message);
}

static void on_written(void *user, size_t size)
{
    handshake *shake = user;
    assert(size <= shake->answer_left);
    shake->answer_left -= size;
    if (shake->answer_left == 0) {
        shake->stream->ops->finish(shake->stream);
    }
}

/* ---- accepting ---- */

/* Stacks TLS on the accepted stream; NULL, and the stream closed, when that fails. */
static arcp__stream *secure(const websocket_listener *listener, arcp__stream *tcp)
{
    arcp__stream *stream = tcp;
    arcp_error err = {0};
    if (listener->tls != NULL &&
        arcp__tls_stream_new(listener->share, listener->tls, NULL, tcp, &stream, &err) != ARCP_OK) {
        tcp->ops->close(tcp);
        return NULL;
    }
    return stream;
}

/* Takes `counted` over. */
static void handshake_begin(websocket_listener *listener, arcp__stream *tcp, arcp__counted *counted,
                            const arcp__authority *peer)
{
    handshake *shake = arcp__alloc(sizeof(*shake));
    if (shake == NULL) {
        arcp__admission_leave(counted);
        tcp->ops->close(tcp);
        return;
    }
    shake->stream = secure(listener, tcp);
    if (shake->stream == NULL) {
        arcp__admission_leave(counted);
        arcp__free(shake);
        return;
    }
    shake->listener = listener;
    listener->references++;
    arcp__admission_move(counted, &shake->counted);
    arcp__admission_set_owner(&shake->counted, evict, shake);
    shake->local = arcp__authority_is_loopback(peer);
    arcp__authority_format(peer, shake->peer, sizeof(shake->peer));
    arcp__web_head_init(&shake->head, ARCP__WEB_REQUEST, listener->options.handshake_bytes_max);
    uv_timer_init(listener->handle.loop, &shake->timer);
    shake->timer.data = shake;
    uv_timer_start(&shake->timer, on_timer, arcp__admission_timeout_ms(listener->options.admission),
                   0);
    shake->accepted_ms = uv_now(listener->handle.loop);
    DL_APPEND(listener->handshakes, shake);
    shake->stream->events = (arcp__stream_events){on_bytes, on_ended, on_written, shake};
    shake->stream->ops->start(shake->stream);
}

static void turn_away(websocket_listener *listener);

static void on_turned_away(uv_handle_t *handle)
{
    websocket_listener *listener = handle->data;
    listener->turning_away = false;
    if (listener->peer_waits && !listener->closed) {
        turn_away(listener);
    }
    listener_unref(listener);
}

/* libuv accepts nobody else before the peer at hand is taken: one for which there is no
 * memory must not block those for whom there will be some. */
static void turn_away(websocket_listener *listener)
{
    listener->peer_waits = listener->turning_away;
    if (listener->turning_away) {
        return;
    }
    uv_tcp_init(listener->handle.loop, &listener->turned_away); /* cannot fail */
    listener->turned_away.data = listener;
    listener->turning_away = true;
    listener->references++;
    (void)uv_accept((uv_stream_t *)&listener->handle, (uv_stream_t *)&listener->turned_away);
    uv_close((uv_handle_t *)&listener->turned_away, on_turned_away);
}

static void on_connection(uv_stream_t *handle, int result)
{
    websocket_listener *listener = handle->data;
    arcp__stream *tcp = NULL;
    arcp_error err = {0};
    if (result < 0) {
        return; /* the peer is gone already */
    }
    arcp_status status = arcp__tcp_stream_accept(listener->share, handle, &tcp, &err);
    if (status != ARCP_OK) {
        if (status == ARCP_E_NO_MEMORY) {
            turn_away(listener);
        }
        return;
    }
    struct sockaddr_storage address = {0};
    if (!arcp__tcp_stream_peer(tcp, &address)) {
        tcp->ops->close(tcp);
        return;
    }
    arcp__authority peer;
    arcp__socket_authority(&address, &peer);
    arcp__counted counted = {NULL, NULL};
    const char *why = NULL;
    if (arcp__admission_enter(listener->options.admission, &address, &counted, &why)) {
        if (listener->closed) { /* from inside the callback for an evicted one */
            arcp__admission_leave(&counted);
            tcp->ops->close(tcp);
        } else {
            handshake_begin(listener, tcp, &counted, &peer);
        }
        return;
    }
    bool took = listener->tls == NULL && answer_unavailable(tcp, why);
    tcp->ops->close(tcp);
    char text[ARCP__PEER_NAME_MAX];
    arcp__authority_format(&peer, text, sizeof(text));
    tell_refused(listener, text, took ? 503 : 0, why);
}

/* ---- the listener ---- */

static const char *listener_url(const arcp_listener *base)
{
    return ((const websocket_listener *)base)->url;
}

static arcp_status listener_reload(arcp_listener *base, arcp_error *err)
{
    websocket_listener *listener = (websocket_listener *)base;
    return listener->tls == NULL ? ARCP_OK : arcp__tls_context_reload(listener->tls, err);
}

static void on_listener_closed(uv_handle_t *handle)
{
    listener_unref(handle->data);
}

static void listener_close(arcp_listener *base)
{
    websocket_listener *listener = (websocket_listener *)base;
    if (listener->closed) {
        return;
    }
    listener->closed = true;
    while (listener->handshakes != NULL) {
        handshake_drop(listener->handshakes);
    }
    uv_close((uv_handle_t *)&listener->handle, on_listener_closed);
}

static const arcp_listener_ops websocket_listener_ops = {
    .url = listener_url,
    .reload = listener_reload,
    .close = listener_close,
};

/* ---- starting ---- */

static arcp_status read_options(websocket_listener *listener, const arcp_listen_options *given,
                                arcp_error *err)
{
    arcp_listen_options *options = &listener->options;
    arcp_status status =
        arcp__options_check(given, sizeof(*given), "ARCP_LISTEN_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (given != NULL) {
        *options = *given;
    }
    if (options->admission != NULL) {
        (void)arcp__admission_ref(options->admission);
    } else {
        status = arcp_admission_new(NULL, &options->admission, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    if (options->handshake_bytes_max == 0) {
        options->handshake_bytes_max = ARCP_HANDSHAKE_BYTES_DEFAULT;
    }
    if (options->close_timeout_ms == 0) {
        options->close_timeout_ms = ARCP_CLOSE_TIMEOUT_MS_DEFAULT;
    }
    status = arcp__web_names_init(&listener->names, options->hosts, options->host_count,
                                  options->origins, options->origin_count, err);
    if (status != ARCP_OK || listener->parsed.scheme == ARCP__URL_WS) {
        return status;
    }
    if (options->certificate_file == NULL || options->key_file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "wss:// needs a certificate and a key");
    }
    return arcp__tls_context_new_server(options->certificate_file, options->key_file,
                                        &listener->tls, err);
}

/* Which address a name stands for; IPv4 first, because more clients try it first. */
static int resolve(uv_loop_t *loop, const arcp__authority *authority, struct sockaddr_storage *out)
{
    char port[8];
    snprintf(port, sizeof(port), "%u", (unsigned)authority->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    uv_getaddrinfo_t request;
    int result = uv_getaddrinfo(loop, &request, NULL, authority->host, port, &hints);
    if (result < 0) {
        return result;
    }
    const struct addrinfo *chosen = request.addrinfo;
    if (chosen == NULL) {
        return UV_EAI_NODATA;
    }
    for (const struct addrinfo *info = request.addrinfo; info != NULL; info = info->ai_next) {
        if (info->ai_family == AF_INET && chosen->ai_family != AF_INET) {
            chosen = info;
        }
    }
    memcpy(out, chosen->ai_addr, chosen->ai_addrlen);
    uv_freeaddrinfo(request.addrinfo);
    return 0;
}

static int bind_and_listen(websocket_listener *listener)
{
    struct sockaddr_storage address = {0};
    int result = resolve(listener->handle.loop, &listener->parsed.authority, &address);
    if (result == 0) {
        result = uv_tcp_bind(&listener->handle, (const struct sockaddr *)&address, 0);
    }
    if (result == 0) {
        result = uv_listen((uv_stream_t *)&listener->handle, LISTEN_BACKLOG, on_connection);
    }
    int size = sizeof(address);
    if (result == 0) {
        result = uv_tcp_getsockname(&listener->handle, (struct sockaddr *)&address, &size);
    }
    if (result == 0) {
        arcp__authority bound;
        arcp__socket_authority(&address, &bound);
        listener->parsed.authority.port = bound.port;
        arcp__web_names_bind(&listener->names, &listener->parsed.authority,
                             arcp__authority_is_loopback(&bound), listener->tls != NULL);
        arcp__url_format(&listener->parsed, listener->url);
    }
    return result;
}

static arcp_status listener_start(websocket_listener *listener, uv_loop_t *loop,
                                  const arcp_listen_options *options, arcp_error *err)
{
    arcp_status status = read_options(listener, options, err);
    if (status != ARCP_OK) {
        return status;
    }
    listener->share = arcp__loop_share_new(loop);
    listener->pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_SERVER);
    if (listener->share == NULL || listener->pool == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a listener");
    }
    int result = uv_tcp_init(loop, &listener->handle);
    assert(result == 0); /* it makes no socket yet */
    listener->handle.data = listener;
    result = bind_and_listen(listener);
    if (result < 0) {
        char where[ARCP__HOST_MAX + 16];
        arcp__authority_format(&listener->parsed.authority, where, sizeof(where));
        return arcp_error_set(err, ARCP_E_IO, "cannot listen on %s: %s", where,
                              uv_strerror(result));
    }
    return ARCP_OK;
}

/* [arcp:4-1] */
arcp_status arcp_listen_websocket(uv_loop_t *loop, const char *url,
                                  const arcp_listen_options *options,
                                  const arcp_listener_callbacks *callbacks, arcp_listener **out,
                                  arcp_error *err)
{
    arcp__url parsed;
    arcp_status status = arcp__url_parse(arcp_span_cstr(url), &parsed, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (parsed.scheme != ARCP__URL_WS && parsed.scheme != ARCP__URL_WSS) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"%s\": can listen at ws:// and wss:// only",
                              url);
    }
    if (strchr(parsed.path, '?') != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"%s\": a listener's URL has no query", url);
    }
    websocket_listener *listener = arcp__alloc(sizeof(*listener));
    if (listener == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a listener");
    }
    listener->base.ops = &websocket_listener_ops;
    listener->callbacks = *callbacks;
    listener->parsed = parsed;
    listener->references = 1;
    status = listener_start(listener, loop, options, err);
    if (status != ARCP_OK) {
        if (listener->handle.data != NULL) {
            listener_close(&listener->base);
        } else {
            listener_unref(listener);
        }
        return status;
    }
    *out = &listener->base;
    return ARCP_OK;
}
