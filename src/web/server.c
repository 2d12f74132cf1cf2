#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "web/parts.h"

#define LISTEN_BACKLOG 1024

void arcp__web_server_unref(arcp__web_server *server)
{
    if (--server->references > 0) {
        return;
    }
    if (server->options.freed != NULL) {
        server->options.freed(server->options.user);
    }
    arcp__web_names_fini(&server->names);
    arcp_admission_unref(server->options.admission);
    arcp__tls_context_free(server->tls);
    arcp__loop_share_unref(server->share);
    arcp__free(server);
}

/* ---- routes ---- */

#define ROUTED 0

/* Refuses the request: sets the reason and returns the status. */
static int refused(const char **why, int status, const char *text)
{
    *why = text;
    return status;
}

/* Finds the route of a request. ROUTED, or the status with which it is refused, and *why. *route is
 * also set for a 405. */
static int find_route(const arcp__web_route *routes, size_t route_count,
                      const arcp__web_names *names, const arcp__web_head *head,
                      const arcp__web_route **route, const char **why)
{
    arcp_span host = {NULL, 0};
    arcp_span origin = {NULL, 0};
    bool is_valid = false;
    if (arcp__web_head_find(head, "Host", &host) != 1) {
        return refused(why, 400, "expected exactly one Host header");
    }
    const bool is_allowed = arcp__web_names_allow_host(names, host, &is_valid);
    if (!is_valid) {
        return refused(why, 400, "the Host header is malformed");
    }
    if (!is_allowed) {
        return refused(why, 403, "this Host is not allowed");
    }
    const size_t origins = arcp__web_head_find(head, "Origin", &origin);
    if (origins > 1) {
        return refused(why, 400, "more than one Origin header");
    }
    if (origins == 1 && !arcp__web_names_allow_origin(names, origin)) {
        return refused(why, 403, "this Origin is not allowed");
    }
    for (size_t i = 0; i < route_count && *route == NULL; i++) {
        if (routes[i].path == NULL ||
            arcp_span_equal_cstr(arcp__web_head_path(head), routes[i].path)) {
            *route = &routes[i];
        }
    }
    if (*route == NULL) {
        return refused(why, 404, "there is nothing at this path");
    }
    if (!arcp__web_list_has(arcp_span_cstr((*route)->methods), arcp_span_cstr(head->method_name))) {
        return refused(why, 405, "this method is not allowed here");
    }
    const bool has_body = head->framing != ARCP__WEB_NO_BODY;
    const bool takes_body = (*route)->body != NULL && head->method == ARCP__WEB_OTHER_METHOD;
    return has_body && !takes_body ? refused(why, 400, "this request must not have a body")
                                   : ROUTED;
}

const arcp__web_route *arcp__web_route_of(const arcp__web_route *routes, size_t route_count,
                                          const arcp__web_names *names, const arcp__web_head *head,
                                          arcp__web_response *refusal)
{
    const arcp__web_route *route = NULL;
    const char *why = NULL;
    const int status = find_route(routes, route_count, names, head, &route, &why);
    if (status == ROUTED) {
        return route;
    }
    *refusal = (arcp__web_response){.status = status,
                                    .headers = "Cache-Control: no-store\r\n",
                                    .allow = status == 405 ? route->methods : NULL,
                                    .why = why,
                                    .ends = true};
    return NULL;
}

/* ---- accepting ---- */

static void on_connection(uv_stream_t *handle, int result);

static void on_rejected(uv_handle_t *handle)
{
    arcp__web_server *server = handle->data;
    server->is_rejecting = false;
    if (server->is_peer_waiting && !server->closed) {
        on_connection((uv_stream_t *)&server->handle, 0);
    }
    arcp__web_server_unref(server);
}

static void on_connection(uv_stream_t *handle, int result)
{
    arcp__web_server *server = handle->data;
    struct sockaddr_storage address = {0};
    arcp__stream *tcp = NULL;
    server->is_peer_waiting = server->is_rejecting;
    if (result < 0 || server->is_rejecting) {
        return; /* the peer has disconnected, or must wait */
    }
    result = arcp__tcp_stream_accept(server->share, handle, &address, &tcp);
    if (result == 0) {
        arcp__web_exchange_open(server, tcp, &address);
    } else if (result == UV_ENOMEM) {
        /* libuv accepts no further peer before this one is accepted: so accept it and close it, or
         * it would block later peers for which there is memory again. */
        uv_tcp_init(handle->loop, &server->rejected); /* cannot fail */
        server->rejected.data = server;
        server->is_rejecting = true;
        server->references++;
        (void)uv_accept(handle, (uv_stream_t *)&server->rejected);
        uv_close((uv_handle_t *)&server->rejected, on_rejected);
    }
}

arcp_status arcp__web_server_adopt(arcp__web_server *server, int fd, arcp_error *err)
{
    struct sockaddr_storage peer = {0};
    struct sockaddr_in *address = (struct sockaddr_in *)&peer;
    arcp__stream *stream = NULL;
    const arcp_status status = arcp__fd_stream_new(server->share, fd, &stream, err);
    if (status != ARCP_OK) {
        close(fd);
        return status;
    }
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    arcp__web_exchange_open(server, stream, &peer);
    return ARCP_OK;
}

/* ---- the server ---- */

const arcp__authority *arcp__web_server_authority(const arcp__web_server *server)
{
    return &server->names.self;
}

arcp_status arcp__web_server_reload(arcp__web_server *server, arcp_error *err)
{
    return server->tls == NULL ? ARCP_OK : arcp__tls_context_reload(server->tls, err);
}

static void on_closed(uv_handle_t *handle)
{
    arcp__web_server_unref(handle->data);
}

void arcp__web_server_close(arcp__web_server *server)
{
    if (server->closed) {
        return;
    }
    server->closed = true;
    while (server->exchanges != NULL) {
        arcp__web_exchange_drop(server->exchanges);
    }
    uv_close((uv_handle_t *)&server->handle, on_closed);
}

/* Resolves the address to listen on; prefers IPv4, because more clients try it first. */
static int resolve(uv_loop_t *loop, const arcp__authority *authority, struct sockaddr_storage *out)
{
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)authority->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    uv_getaddrinfo_t request;
    const int result = uv_getaddrinfo(loop, &request, NULL, authority->host, port, &hints);
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

/* Whether the socket is a stream's, and bound to that address and port. */
static bool is_bound_to(int fd, const struct sockaddr_storage *address)
{
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    int type = 0;
    socklen_t type_size = sizeof type;
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&bound, &size) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_STREAM ||
        bound.ss_family != address->ss_family) {
        return false;
    }
    if (bound.ss_family == AF_INET) {
        const struct sockaddr_in *one = (const struct sockaddr_in *)&bound;
        const struct sockaddr_in *other = (const struct sockaddr_in *)address;
        return one->sin_port == other->sin_port && one->sin_addr.s_addr == other->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *one = (const struct sockaddr_in6 *)&bound;
    const struct sockaddr_in6 *other = (const struct sockaddr_in6 *)address;
    return bound.ss_family == AF_INET6 && one->sin6_port == other->sin6_port &&
           memcmp(&one->sin6_addr, &other->sin6_addr, sizeof one->sin6_addr) == 0;
}

/* Binds a new socket to the address, or takes the one that the process was started with. */
static int bind_or_take(arcp__web_server *server, const struct sockaddr_storage *address)
{
    const arcp__web_server_options *options = &server->options;
    for (size_t i = 0; i < options->socket_count; i++) {
        if (is_bound_to(options->sockets[i], address)) {
            const int result = uv_tcp_open(&server->handle, options->sockets[i]);
            options->sockets[i] = result == 0 ? -1 : options->sockets[i];
            return result;
        }
    }
    return uv_tcp_bind(&server->handle, (const struct sockaddr *)address, 0);
}

static arcp_status bind_and_listen(arcp__web_server *server, arcp_error *err)
{
    arcp__authority self = *server->options.listen;
    struct sockaddr_storage address = {0};
    int size = sizeof address;
    int result = resolve(server->handle.loop, &self, &address);
    if (result == 0) {
        result = bind_or_take(server, &address);
    }
    if (result == 0) {
        result = uv_listen((uv_stream_t *)&server->handle, LISTEN_BACKLOG, on_connection);
    }
    if (result == 0) {
        result = uv_tcp_getsockname(&server->handle, (struct sockaddr *)&address, &size);
    }
    if (result != 0) {
        char where[ARCP__HOST_MAX + 16];
        arcp__authority_format(&self, where, sizeof where);
        return arcp_error_set(err, ARCP_E_IO, "cannot listen on %s: %s", where,
                              uv_strerror(result));
    }
    arcp__authority bound;
    arcp__socket_authority(&address, &bound);
    self.port = bound.port;
    arcp__web_names_bind(&server->names, &self, arcp__authority_is_loopback(&bound),
                         server->tls != NULL);
    return ARCP_OK;
}

arcp_status arcp__web_server_open(uv_loop_t *loop, const arcp__web_server_options *options,
                                  arcp__web_server **out, arcp_error *err)
{
    arcp__web_server *server = arcp__alloc(sizeof *server);
    arcp__loop_share *share = server == NULL ? NULL : arcp__loop_share_new(loop);
    if (share == NULL) {
        arcp__free(server);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a listener");
    }
    server->share = share;
    server->options = *options;
    server->options.freed = NULL; /* not called unless the server is returned */
    server->references = 1;
    arcp_status status = ARCP_OK;
    if (options->admission != NULL) {
        (void)arcp__admission_ref(options->admission);
    } else {
        status = arcp_admission_new(NULL, &server->options.admission, err);
    }
    if (status == ARCP_OK) {
        status = arcp__web_names_init(&server->names, options->hosts, options->host_count,
                                      options->origins, options->origin_count, err);
    }
    if (status == ARCP_OK && options->certificate_file != NULL) {
        status = arcp__tls_context_new_server(options->certificate_file, options->key_file,
                                              &server->tls, err);
    }
    if (status != ARCP_OK) {
        arcp__web_server_unref(server);
        return status;
    }
    const int result = uv_tcp_init(loop, &server->handle);
    assert(result == 0); /* cannot fail: it creates no socket yet */
    (void)result;
    server->handle.data = server;
    status = options->listen == NULL ? ARCP_OK : bind_and_listen(server, err);
    if (status != ARCP_OK) {
        arcp__web_server_close(server);
        return status;
    }
    server->options.freed = options->freed;
    *out = server;
    return ARCP_OK;
}
