/* ws:// and wss:// listeners: an HTTP server with a route for the upgrade, and others for binary
 * messages and for pages if the owner has some. Until the upgrade a peer
 * is an exchange of that server and counted as pending (web/admission.h), so that slow or silent
 * peers hold few resources, and not for long. After the upgrade the connection is counted instead.
 */
#include <uv.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"
#include "base/options.h"
#include "transport/url.h"
#include "transport/websocket_connection.h"
#include "transport/websocket_handshake.h"
#include "web/server.h"

/* Of each refusal: it is a line of text, in which a browser runs and loads nothing. */
static const char refusal_headers[] =
    "Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n" ARCP__WEB_ISOLATION_HEADERS;

typedef struct websocket_listener {
    arcp_listener base;
    arcp__web_server *server;
    arcp__web_route routes[3];
    arcp__websocket_pool *pool;
    char *binary_path, *binary_subprotocol; /* owned; NULL: there is no such path */
    arcp_listen_options options;            /* its pointers are not used after the start */
    arcp_listener_callbacks callbacks;
    arcp__url parsed;
    char url[ARCP__URL_TEXT_MAX];
} websocket_listener;

static void listener_free(void *user)
{
    websocket_listener *listener = user;
    arcp__websocket_pool_unref(listener->pool);
    arcp__free(listener->binary_path);
    arcp__free(listener->binary_subprotocol);
    arcp__free(listener);
}

/* ---- the upgrade ---- */

/* `subprotocol`: messages are binary; NULL: they are text. */
static void upgrade(const websocket_listener *listener, arcp__web_exchange *exchange,
                    const char *subprotocol)
{
    char accept[ARCP__WEBSOCKET_ACCEPT_SIZE];
    const bool is_binary = subprotocol != NULL;
    const arcp__web_response refusal =
        arcp__upgrade_check(arcp__web_exchange_head(exchange), accept);
    if (refusal.status != 0) {
        arcp__web_exchange_respond(exchange, &refusal);
        return;
    }
    arcp_buf answer = arcp_buf_init();
    arcp__upgrade_accept(accept, subprotocol, &answer);
    const arcp__websocket_connection_options options = {
        .upgraded = arcp__web_exchange_upgrade(exchange),
        .pool = listener->pool,
        .transport = listener->parsed.scheme == ARCP__URL_WSS ? "wss" : "ws",
        .frame_bytes_max = is_binary && listener->options.binary_bytes_max != 0
                               ? listener->options.binary_bytes_max
                               : listener->options.frame_bytes_max,
        .first_frame_bytes_max = is_binary && listener->options.first_binary_bytes_max != 0
                                     ? listener->options.first_binary_bytes_max
                                     : listener->options.first_frame_bytes_max,
        .is_binary = is_binary,
        .close_timeout_ms = listener->options.close_timeout_ms,
        .greeting = arcp_buf_span(&answer),
    };
    arcp_connection *connection = NULL;
    arcp_error err = {0};
    const bool is_made =
        !answer.failed && arcp__websocket_connection_new(&options, &connection, &err) == ARCP_OK;
    arcp_buf_fini(&answer);
    if (!is_made) {
        arcp__web_exchange_fail(exchange, "out of memory");
        return;
    }
    arcp__web_exchange_leave(exchange);
    if (is_binary) {
        listener->options.binary_accepted(listener->options.binary_user, connection);
    } else {
        listener->callbacks.accepted(listener->callbacks.user, connection);
    }
}

static void on_request(void *user, arcp__web_exchange *exchange)
{
    upgrade(user, exchange, NULL);
}

static void on_binary_request(void *user, arcp__web_exchange *exchange)
{
    const websocket_listener *listener = user;
    const arcp__web_head *head = arcp__web_exchange_head(exchange);
    arcp_span origin = {NULL, 0};
    arcp__web_response refusal = {.status = 0, .ends = true};
    if (arcp__web_head_find(head, "Origin", &origin) != 0) {
        refusal.status = 403;
        refusal.why = "a request with an Origin is refused at this path";
    } else if (!arcp__web_head_has_token(head, "Sec-WebSocket-Protocol",
                                         listener->binary_subprotocol)) {
        refusal.status = 400;
        refusal.why = "expected another Sec-WebSocket-Protocol";
    }
    if (refusal.status != 0) {
        arcp__web_exchange_respond(exchange, &refusal);
    } else {
        upgrade(listener, exchange, listener->binary_subprotocol);
    }
}

/* ---- pages ---- */

static void on_page(void *user, arcp__web_exchange *exchange)
{
    const websocket_listener *listener = user;
    const arcp__web_head *head = arcp__web_exchange_head(exchange);
    arcp_page_request request = {.path = arcp__web_head_path(head),
                                 .is_encrypted = listener->parsed.scheme == ARCP__URL_WSS};
    (void)arcp__web_head_find(head, "Host", &request.host);
    (void)arcp__web_head_find(head, "Accept-Encoding", &request.accept_encoding);
    (void)arcp__web_head_find(head, "If-None-Match", &request.if_none_match);
    arcp_buf headers = arcp_buf_init();
    arcp_page page = {.headers = &headers};
    arcp__web_response response = {.status = 404, .why = "there is nothing at this path"};
    if (listener->options.page(listener->options.page_user, &request, &page)) {
        response = (arcp__web_response){.status = page.status,
                                        .type = page.type,
                                        .headers = arcp_buf_cstr(&headers),
                                        .body = page.body};
    }
    if (headers.failed) {
        arcp__web_exchange_fail(exchange, "out of memory");
    } else {
        arcp__web_exchange_respond(exchange, &response);
    }
    arcp_buf_fini(&headers);
}

static void on_refused(void *user, const char *peer, int status, const char *why)
{
    const websocket_listener *listener = user;
    if (listener->callbacks.refused != NULL) {
        listener->callbacks.refused(listener->callbacks.user, peer, status, why);
    }
}

/* ---- the listener ---- */

static const char *listener_url(const arcp_listener *base)
{
    return ((const websocket_listener *)base)->url;
}

static arcp_status listener_reload(arcp_listener *base, arcp_error *err)
{
    return arcp__web_server_reload(((websocket_listener *)base)->server, err);
}

static void listener_close(arcp_listener *base)
{
    arcp__web_server_close(((websocket_listener *)base)->server);
}

static const arcp_listener_ops websocket_listener_ops = {
    .struct_size = sizeof(arcp_listener_ops),
    .url = listener_url,
    .reload = listener_reload,
    .close = listener_close,
};

/* ---- starting ---- */

static arcp_status add_routes(websocket_listener *listener, arcp__web_server_options *server,
                              arcp_error *err)
{
    const arcp_listen_options *options = &listener->options;
    listener->routes[server->route_count++] =
        (arcp__web_route){.path = listener->parsed.path, .methods = "GET", .begin = on_request};
    if (options->binary_path != NULL) {
        listener->binary_path = arcp__copy_cstr(options->binary_path, strlen(options->binary_path));
        listener->binary_subprotocol =
            arcp__copy_cstr(options->binary_subprotocol, strlen(options->binary_subprotocol));
        if (listener->binary_path == NULL || listener->binary_subprotocol == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a listener");
        }
        listener->routes[server->route_count++] = (arcp__web_route){
            .path = listener->binary_path, .methods = "GET", .begin = on_binary_request};
    }
    if (options->page != NULL) {
        listener->routes[server->route_count++] =
            (arcp__web_route){.methods = "GET, HEAD", .begin = on_page};
    }
    return ARCP_OK;
}

static arcp_status check_binary(const arcp_listen_options *options, const char *path,
                                arcp_error *err)
{
    if (options->binary_path == NULL) {
        return ARCP_OK;
    }
    if (options->binary_path[0] != '/' || strpbrk(options->binary_path, "?#") != NULL ||
        strcmp(options->binary_path, path) == 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "\"%s\": the path of binary messages must begin with / and be "
                              "another one than that of the URL, and has no query",
                              options->binary_path);
    }
    return options->binary_subprotocol != NULL && options->binary_accepted != NULL &&
                   arcp__upgrade_subprotocol_is_valid(options->binary_subprotocol)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "binary_path needs binary_subprotocol and binary_accepted");
}

static arcp_status read_options(const char *url, const arcp_listen_options *given,
                                arcp_listen_options *options, arcp__url *parsed, arcp_error *err)
{
    *options = arcp_listen_options_init();
    arcp_status status = arcp__url_parse(arcp_span_cstr(url), parsed, err);
    if (status != ARCP_OK) {
        return status;
    }
    const bool is_secure = parsed->scheme == ARCP__URL_WSS;
    if (parsed->scheme != ARCP__URL_WS && !is_secure) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"%s\": can listen at ws:// and wss:// only",
                              url);
    }
    if (strchr(parsed->path, '?') != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"%s\": a listener's URL has no query", url);
    }
    status = arcp__options_take(options, given, sizeof *options, "arcp_listen_options", err);
    if (status == ARCP_OK && is_secure &&
        (options->certificate_file == NULL || options->key_file == NULL)) {
        status = arcp_error_set(err, ARCP_E_USAGE, "wss:// needs a certificate and a key");
    }
    return status == ARCP_OK ? check_binary(options, parsed->path, err) : status;
}

/* [arcp:4-1] */
arcp_status arcp_listen_websocket(uv_loop_t *loop, const char *url,
                                  const arcp_listen_options *given,
                                  const arcp_listener_callbacks *callbacks, arcp_listener **out,
                                  arcp_error *err)
{
    arcp__url parsed;
    arcp_listen_options options;
    arcp_status status = read_options(url, given, &options, &parsed, err);
    if (status != ARCP_OK) {
        return status;
    }
    const bool is_secure = parsed.scheme == ARCP__URL_WSS;
    websocket_listener *listener = arcp__alloc(sizeof *listener);
    arcp__websocket_pool *pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_SERVER);
    if (listener == NULL || pool == NULL) {
        arcp__free(listener);
        arcp__websocket_pool_unref(pool);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a listener");
    }
    listener->base.ops = &websocket_listener_ops;
    listener->pool = pool;
    listener->options = options;
    listener->callbacks = *callbacks;
    listener->parsed = parsed;
    arcp__web_server_options server = {
        .listen = &parsed.authority,
        .sockets = options.sockets,
        .socket_count = options.socket_count,
        .certificate_file = is_secure ? options.certificate_file : NULL,
        .key_file = options.key_file,
        .hosts = options.hosts,
        .host_count = options.host_count,
        .origins = options.origins,
        .origin_count = options.origin_count,
        .admission = options.admission,
        .head_bytes_max = options.handshake_bytes_max == 0 ? ARCP_HANDSHAKE_BYTES_DEFAULT
                                                           : options.handshake_bytes_max,
        .linger_ms = options.close_timeout_ms == 0 ? ARCP_CLOSE_TIMEOUT_MS_DEFAULT
                                                   : options.close_timeout_ms,
        .refusal_headers = refusal_headers,
        .routes = listener->routes,
        .refused = on_refused,
        .freed = listener_free,
        .user = listener,
    };
    status = add_routes(listener, &server, err);
    if (status == ARCP_OK) {
        status = arcp__web_server_open(loop, &server, &listener->server, err);
    }
    if (status != ARCP_OK) {
        listener_free(listener);
        return status;
    }
    listener->parsed.authority = *arcp__web_server_authority(listener->server);
    arcp__url_format(&listener->parsed, listener->url);
    *out = &listener->base;
    return ARCP_OK;
}
