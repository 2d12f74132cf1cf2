#include "arcpd/status_server.h"

#include <stdio.h>

#include "base/alloc.h"
#include "transport/web_names.h"
#include "web/head.h"
#include "web/response.h"

#define TIMEOUT_MS 10000u
#define BACKLOG    16

typedef struct visit {
    arcp__status_server *server;
    struct visit *previous, *next;
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_write_t write;
    arcp__web_head head;
    arcp_buf answer;
    arcp_span unread; /* of `input`: what came behind the request that is being answered */
    char input[4096];
    int open_handles;
    bool is_read;     /* the request's head, as a whole */
    bool is_answered; /* the answer is being written, nothing is read meanwhile */
    bool keeps_alive; /* after that answer the next request is read */
    bool is_idle;     /* has had an answer, and nothing of another request has come yet */
    bool is_closing;
} visit;

struct arcp__status_server {
    uv_tcp_t tcp;
    arcp__status_source source;
    arcp__web_names names;
    uint64_t timeout_ms;
    visit *visits;
    char address[ARCP__HOST_MAX + 16];
    bool is_closing;
    bool is_closed;
};

/* ---- the end of things ---- */

static void maybe_free(arcp__status_server *server)
{
    if (server->is_closed && server->visits == NULL) {
        arcp__web_names_fini(&server->names);
        arcp__free(server);
    }
}

static void on_visit_closed(uv_handle_t *handle)
{
    visit *v = handle->data;
    arcp__status_server *server = v->server;
    if (--v->open_handles > 0) {
        return;
    }
    if (v->previous == NULL) {
        server->visits = v->next;
    } else {
        v->previous->next = v->next;
    }
    if (v->next != NULL) {
        v->next->previous = v->previous;
    }
    arcp__web_head_fini(&v->head);
    arcp_buf_fini(&v->answer);
    arcp__free(v);
    maybe_free(server);
}

static void end_visit(visit *v)
{
    if (!v->is_closing) {
        v->is_closing = true;
        uv_close((uv_handle_t *)&v->tcp, on_visit_closed);
        uv_close((uv_handle_t *)&v->timer, on_visit_closed);
    }
}

static void on_timeout(uv_timer_t *timer)
{
    end_visit(timer->data);
}

/* ---- answers ---- */

static void next_request(visit *v);

static void on_written(uv_write_t *write, int status)
{
    visit *v = write->data;
    if (status != 0 || !v->keeps_alive) {
        end_visit(v);
    } else if (!v->is_closing) {
        next_request(v);
    }
}

static void answer(visit *v, arcp__web_response response)
{
    v->is_answered = true;
    v->keeps_alive = v->is_read && v->head.keeps_alive && response.status != 400 &&
                     response.status != 403 && v->head.framing == ARCP__WEB_NO_BODY;
    response.keeps_alive = v->keeps_alive;
    response.headers = response.status == 405 ? "Allow: GET, HEAD\r\nCache-Control: no-store\r\n"
                                              : "Cache-Control: no-store\r\n";
    response.omits_body = v->is_read && v->head.method == ARCP__WEB_HEAD;
    arcp__web_respond(&response, &v->answer);
    (void)uv_read_stop((uv_stream_t *)&v->tcp);
    uv_buf_t bytes = uv_buf_init(v->answer.data, (unsigned)v->answer.size);
    v->write.data = v;
    if (v->answer.failed ||
        uv_write(&v->write, (uv_stream_t *)&v->tcp, &bytes, 1, on_written) != 0) {
        end_visit(v);
    }
}

static void answer_text(visit *v, int status, const char *text)
{
    answer(v, (arcp__web_response){.status = status, .body = arcp_span_cstr(text)});
}

static void answer_metrics(visit *v)
{
    arcp_buf text = ARCP_BUF_INIT;
    v->server->source.metrics(v->server->source.user, &text);
    if (text.failed) {
        answer_text(v, 503, "out of memory\n");
    } else {
        answer(v, (arcp__web_response){.status = 200,
                                       .type = "text/plain; version=0.0.4; charset=utf-8",
                                       .body = arcp_buf_span(&text)});
    }
    arcp_buf_fini(&text);
}

static void answer_ready(visit *v)
{
    const char *why = NULL;
    char text[128];
    if (v->server->source.is_ready(v->server->source.user, &why)) {
        answer_text(v, 200, "ready\n");
    } else {
        (void)snprintf(text, sizeof(text), "not ready: %s\n", why);
        answer_text(v, 503, text);
    }
}

static bool is_called_by_its_name(const visit *v)
{
    arcp_span host;
    bool valid = false;
    return arcp__web_head_find(&v->head, "host", &host) == 1 &&
           arcp__web_names_allow_host(&v->server->names, host, &valid);
}

static void serve(visit *v)
{
    const arcp_span path = arcp__web_head_path(&v->head);
    if (v->head.method == ARCP__WEB_OTHER_METHOD) {
        answer_text(v, 405, "GET and HEAD only\n");
    } else if (!is_called_by_its_name(v)) {
        answer_text(v, 403, "this is not a name of ours (http.hosts)\n");
    } else if (v->head.framing != ARCP__WEB_NO_BODY) {
        answer_text(v, 400, "GET and HEAD have no body\n");
    } else if (arcp_span_equal_cstr(path, "/metrics")) {
        answer_metrics(v);
    } else if (arcp_span_equal_cstr(path, "/healthz")) {
        answer_text(v, 200, "ok\n");
    } else if (arcp_span_equal_cstr(path, "/readyz")) {
        answer_ready(v);
    } else {
        answer_text(v, 404, "there is /metrics, /healthz and /readyz\n");
    }
}

/* ---- connections ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    visit *v = handle->data;
    (void)suggested;
    *out = uv_buf_init(v->input, sizeof(v->input));
}

static void take(visit *v, arcp_span input)
{
    v->is_idle = v->is_idle && input.size == 0;
    arcp__web_result result = arcp__web_head_feed(&v->head, &input);
    v->unread = input;
    v->is_read = result == ARCP__WEB_COMPLETE;
    switch (result) {
    case ARCP__WEB_MORE:
        break;
    case ARCP__WEB_COMPLETE:
        serve(v);
        break;
    case ARCP__WEB_TOO_BIG:
        answer_text(v, 431, "the request is too large\n");
        break;
    case ARCP__WEB_INVALID:
        answer_text(v, 400, "this is no HTTP request\n");
        break;
    case ARCP__WEB_NO_MEMORY:
        end_visit(v);
        break;
    }
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
    visit *v = stream->data;
    if (size < 0) {
        end_visit(v);
    } else {
        take(v, arcp_span_make(bytes->base, (size_t)size));
    }
}

/* What was sent ahead lies in `input`, which is not read into before all of it is used. */
static void next_request(visit *v)
{
    v->is_answered = false;
    v->is_idle = true;
    arcp_buf_clear(&v->answer);
    arcp__web_head_reset(&v->head);
    if (uv_timer_start(&v->timer, on_timeout, v->server->timeout_ms, 0) != 0) {
        end_visit(v);
        return;
    }
    take(v, v->unread);
    if (!v->is_answered && !v->is_closing &&
        uv_read_start((uv_stream_t *)&v->tcp, on_alloc, on_read) != 0) {
        end_visit(v);
    }
}

static void begin_visit(arcp__status_server *server, visit *v)
{
    v->server = server;
    v->next = server->visits;
    if (v->next != NULL) {
        v->next->previous = v;
    }
    server->visits = v;
    v->open_handles = 2;
    (void)uv_tcp_init(server->tcp.loop, &v->tcp);
    (void)uv_timer_init(server->tcp.loop, &v->timer);
    v->tcp.data = v;
    v->timer.data = v;
    arcp__web_head_init(&v->head, ARCP__WEB_REQUEST, ARCP__STATUS_HEAD_BYTES_MAX);
}

/* Where all places are taken, one that only waits for a possible next request is given up. */
static bool make_room(arcp__status_server *server)
{
    size_t count = 0;
    visit *idle = NULL;
    for (visit *v = server->visits; v != NULL; v = v->next) {
        count += !v->is_closing;
        idle = v->is_idle && !v->is_closing ? v : idle;
    }
    if (count > ARCP__STATUS_CONNECTIONS_MAX && idle != NULL) {
        end_visit(idle);
        count--;
    }
    return count <= ARCP__STATUS_CONNECTIONS_MAX;
}

static void on_connection(uv_stream_t *stream, int status)
{
    arcp__status_server *server = stream->data;
    if (status != 0 || server->is_closing) {
        return;
    }
    visit *v = arcp__alloc(sizeof(*v));
    if (v == NULL) {
        return;
    }
    begin_visit(server, v);
    bool is_welcome = make_room(server);
    if (uv_accept(stream, (uv_stream_t *)&v->tcp) != 0 || !is_welcome ||
        uv_timer_start(&v->timer, on_timeout, server->timeout_ms, 0) != 0 ||
        uv_read_start((uv_stream_t *)&v->tcp, on_alloc, on_read) != 0) {
        end_visit(v);
    }
}

/* ---- the listener ---- */

static arcp_status refuse(const char *listen, const char *why, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_IO, "http.listen: cannot listen on %s: %s", listen, why);
}

static int address_of(const arcp__authority *authority, struct sockaddr_storage *out)
{
    return authority->kind == ARCP__HOST_IPV6
               ? uv_ip6_addr(authority->host, authority->port, (struct sockaddr_in6 *)out)
               : uv_ip4_addr(authority->host, authority->port, (struct sockaddr_in *)out);
}

static uint16_t real_port(const uv_tcp_t *tcp)
{
    struct sockaddr_storage name;
    int size = sizeof(name);
    if (uv_tcp_getsockname(tcp, (struct sockaddr *)&name, &size) != 0) {
        return 0;
    }
    return name.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&name)->sin6_port)
                                      : ntohs(((struct sockaddr_in *)&name)->sin_port);
}

static void on_server_closed(uv_handle_t *handle)
{
    arcp__status_server *server = handle->data;
    server->is_closed = true;
    maybe_free(server);
}

static arcp_status bind_and_listen(arcp__status_server *server, arcp__authority *self,
                                   const char *listen, arcp_error *err)
{
    struct sockaddr_storage address;
    int result = address_of(self, &address);
    if (result == 0) {
        result = uv_tcp_bind(&server->tcp, (struct sockaddr *)&address, 0);
    }
    if (result == 0) {
        result = uv_listen((uv_stream_t *)&server->tcp, BACKLOG, on_connection);
    }
    if (result != 0) {
        return refuse(listen, uv_strerror(result), err);
    }
    uv_unref((uv_handle_t *)&server->tcp);
    self->port = real_port(&server->tcp);
    arcp__authority_format(self, server->address, sizeof(server->address));
    arcp__web_names_bind(&server->names, self, arcp__authority_is_loopback(self), false);
    return ARCP_OK;
}

arcp_status arcp__status_listen_parse(const char *listen, arcp__authority *out, arcp_error *err)
{
    if (!arcp__authority_parse(arcp_span_cstr(listen), true, out) || !out->has_port ||
        out->kind == ARCP__HOST_NAME) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "\"%s\" must be ADDRESS:PORT, such as 127.0.0.1:9464", listen);
    }
    return ARCP_OK;
}

arcp_status arcp__status_server_open(uv_loop_t *loop, const arcp__status_options *options,
                                     const arcp__status_source *source, arcp__status_server **out,
                                     arcp_error *err)
{
    arcp__authority self;
    arcp_status status = arcp__status_listen_parse(options->listen, &self, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__status_server *server = arcp__alloc(sizeof(*server));
    if (server == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    server->source = *source;
    server->timeout_ms = options->timeout_ms == 0 ? TIMEOUT_MS : options->timeout_ms;
    status =
        arcp__web_names_init(&server->names, options->hosts, options->host_count, NULL, 0, err);
    if (status != ARCP_OK || uv_tcp_init(loop, &server->tcp) != 0) {
        arcp__web_names_fini(&server->names);
        arcp__free(server);
        return status != ARCP_OK ? status : refuse(options->listen, "no handle", err);
    }
    server->tcp.data = server;
    status = bind_and_listen(server, &self, options->listen, err);
    if (status != ARCP_OK) {
        arcp__status_server_close(server);
        return status;
    }
    *out = server;
    return ARCP_OK;
}

const char *arcp__status_server_address(const arcp__status_server *server)
{
    return server->address;
}

void arcp__status_server_close(arcp__status_server *server)
{
    if (server == NULL || server->is_closing) {
        return;
    }
    server->is_closing = true;
    for (visit *v = server->visits; v != NULL; v = v->next) {
        end_visit(v);
    }
    uv_close((uv_handle_t *)&server->tcp, on_server_closed);
}
