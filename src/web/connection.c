/* One connection (server.h shows its states). It advances when bytes arrive, when bytes have been
 * written, and by a task for what must not happen inside a call. */
#include <assert.h>

#include <utlist.h>

#include "base/alloc.h"
#include "web/body.h"
#include "web/parts.h"

enum {
    DUE_INPUT = 1,  /* process `leftover`, then read on */
    DUE_SENT = 2,   /* everything has been written */
    DUE_BROKEN = 4, /* the stream could not be written */
    DUE_FLUSH = 8   /* pass `out` to the stream */
};

struct arcp__web_exchange {
    arcp__web_exchange *prev;
    arcp__web_exchange *next;
    arcp__web_server *server;
    arcp__stream *stream; /* NULL: closed, or upgraded */
    uv_timer_t timer;
    arcp__task task;
    unsigned due; /* DUE_ bits */
    arcp__counted counted;
    uint64_t accepted_ms; /* on the loop's clock */
    arcp__web_head head;
    arcp__web_body body;
    const arcp__web_route *route; /* from its `begin` until the response is complete */
    void *state;                  /* the route's own */
    unsigned char label[ARCP__WEB_LABEL_SIZE];
    arcp_span *input;  /* during a call: the input not parsed yet */
    arcp_buf leftover; /* received while reading was stopped */
    arcp_buf out;      /* not passed to the stream yet */
    size_t busy;       /* bytes that the stream is writing */
    enum { IN_HEAD, IN_BODY, IN_ANSWER, IN_LINGER } stage;
    bool is_idle;     /* after a response, before the first byte of the next request */
    bool is_answered; /* the head of the response is written */
    bool is_complete; /* all of the response is written */
    bool is_chunked;
    bool keeps_alive;
    bool is_local;
    char peer[ARCP__WEB_PEER_NAME_MAX];
};

static void make_due(arcp__web_exchange *exchange, unsigned what)
{
    exchange->due |= what;
    arcp__task_post(exchange->server->share, &exchange->task);
}

/* ---- the end ---- */

static void on_timer_closed(uv_handle_t *timer)
{
    arcp__web_exchange *exchange = timer->data;
    arcp__web_server *server = exchange->server;
    arcp__web_head_fini(&exchange->head);
    arcp_buf_fini(&exchange->leftover);
    arcp_buf_fini(&exchange->out);
    arcp__free(exchange);
    arcp__web_server_unref(server);
}

void arcp__web_exchange_leave(arcp__web_exchange *exchange)
{
    exchange->stream = NULL;
    arcp__admission_leave(&exchange->counted);
    arcp__task_cancel(exchange->server->share, &exchange->task);
    DL_DELETE(exchange->server->exchanges, exchange);
    uv_close((uv_handle_t *)&exchange->timer, on_timer_closed);
}

void arcp__web_exchange_drop(arcp__web_exchange *exchange)
{
    const arcp__web_route *route = exchange->route;
    if (exchange->stream == NULL) {
        return;
    }
    arcp__stream_close(&exchange->stream);
    arcp__web_exchange_leave(exchange);
    if (route != NULL && !exchange->is_complete && route->dropped != NULL) {
        route->dropped(exchange->server->options.user, exchange);
    }
}

/* Reports a refused peer to the owner, unless it has closed the server; the call may close it. */
static void report_refused(const arcp__web_server *server, const char *peer, int status,
                           const char *why)
{
    if (server->options.refused != NULL && !server->closed) {
        server->options.refused(server->options.user, peer, status, why);
    }
}

static bool flush(arcp__web_exchange *exchange);

void arcp__web_exchange_fail(arcp__web_exchange *exchange, const char *why)
{
    if (exchange->stream != NULL && (exchange->due & DUE_FLUSH) != 0) {
        (void)flush(exchange); /* the peer gets what there is of the response */
    }
    if (!exchange->is_answered && !exchange->is_idle) {
        report_refused(exchange->server, exchange->peer, 0, why);
    }
    arcp__web_exchange_drop(exchange);
}

static void on_timer(uv_timer_t *timer)
{
    arcp__web_exchange_fail(timer->data, "the request was not complete in time");
}

static void restart_timer(arcp__web_exchange *exchange)
{
    const arcp_admission *admission = exchange->server->options.admission;
    uv_timer_start(&exchange->timer, on_timer, arcp__admission_timeout_ms(admission), 0);
}

/* Tries once to write a 503, for a peer whose place another connection gets. Returns the status
 * written, or 0. */
static int answer_unavailable(const arcp__web_server *server, arcp__stream *stream, const char *why)
{
    const arcp__web_response response = {
        .status = 503, .more_headers = server->options.refusal_headers, .why = why};
    const arcp__web_head none = {.method = ARCP__WEB_OTHER_METHOD};
    arcp_buf answer = arcp_buf_init();
    size_t written = 0;
    arcp__web_respond(&response, &none, false, &answer);
    const size_t size = answer.size;
    const bool took =
        !answer.failed && stream->ops->write(stream, &answer, &written) && written == size;
    arcp_buf_fini(&answer);
    return took ? 503 : 0;
}

static void evict(void *user, const char *why)
{
    arcp__web_exchange *exchange = user;
    const arcp__web_server *server = exchange->server;
    const bool is_between = exchange->is_answered || exchange->is_idle; /* no request to refuse */
    char peer[ARCP__WEB_PEER_NAME_MAX];
    int status = 0;
    if (!is_between && exchange->busy == 0) {
        status = answer_unavailable(server, exchange->stream, why);
    }
    memcpy(peer, exchange->peer, sizeof peer);
    exchange->is_answered = true;
    arcp__web_head_fini(&exchange->head); /* frees its memory before the handles are closed */
    arcp__web_exchange_drop(exchange);
    if (!is_between) {
        report_refused(server, peer, status, why);
    }
}

/* ---- writing ----
 *
 * A response that is complete is passed to the stream at once. Of a streamed one the head and the
 * pieces of a turn of the loop are collected, so that the peer is woken once for them. */

/* False when the stream cannot be written. */
static bool flush(arcp__web_exchange *exchange)
{
    const size_t size = exchange->out.size;
    size_t written = 0;
    if (exchange->busy > 0 || (exchange->due & DUE_BROKEN) != 0) {
        return exchange->busy > 0;
    }
    if (exchange->out.failed ||
        (size > 0 && !exchange->stream->ops->write(exchange->stream, &exchange->out, &written))) {
        make_due(exchange, DUE_BROKEN);
        return false;
    }
    exchange->busy = size - written;
    if (exchange->busy == 0) {
        make_due(exchange, DUE_SENT);
    } else if (!exchange->is_complete) {
        restart_timer(exchange);
    }
    return true;
}

static void on_written(void *user, size_t size)
{
    arcp__web_exchange *exchange = user;
    assert(size <= exchange->busy);
    exchange->busy -= size;
    (void)flush(exchange);
}

void arcp__web_exchange_respond(arcp__web_exchange *exchange, const arcp__web_response *response)
{
    arcp__web_response whole = *response;
    assert(!exchange->is_answered && exchange->stream != NULL);
    if (whole.status >= 400) {
        whole.more_headers = exchange->server->options.refusal_headers;
    }
    exchange->is_answered = true;
    exchange->is_complete = !response->is_streamed;
    exchange->is_chunked = response->is_streamed && exchange->head.minor > 0;
    exchange->keeps_alive = exchange->stage == IN_ANSWER && exchange->head.keeps_alive &&
                            !response->ends && (!response->is_streamed || exchange->is_chunked);
    arcp__web_respond(&whole, &exchange->head, exchange->keeps_alive, &exchange->out);
    restart_timer(exchange);
    bool took = true;
    if (exchange->is_complete) {
        took = flush(exchange);
        arcp__admission_suspend(&exchange->counted);
    } else {
        make_due(exchange, DUE_FLUSH);
    }
    if (response->status >= 400) {
        report_refused(exchange->server, exchange->peer, took ? response->status : 0,
                       response->why == NULL ? "" : response->why);
    }
}

void arcp__web_exchange_write(arcp__web_exchange *exchange, arcp_span piece)
{
    assert(exchange->stream != NULL && exchange->is_answered && !exchange->is_complete);
    if (exchange->head.method == ARCP__WEB_HEAD) {
        make_due(exchange, DUE_SENT); /* the body of HEAD is not sent; `drained` follows as usual */
        return;
    }
    if (piece.size == 0) {
        return;
    }
    if (exchange->is_chunked) {
        arcp_buf_append_format(&exchange->out, "%zx\r\n", piece.size);
    }
    arcp_buf_append(&exchange->out, piece);
    if (exchange->is_chunked) {
        arcp_buf_append_cstr(&exchange->out, "\r\n");
    }
    make_due(exchange, DUE_FLUSH);
}

void arcp__web_exchange_end(arcp__web_exchange *exchange)
{
    assert(exchange->stream != NULL && exchange->is_answered && !exchange->is_complete);
    exchange->is_complete = true;
    restart_timer(exchange);
    if (exchange->is_chunked && exchange->head.method != ARCP__WEB_HEAD) {
        arcp_buf_append_cstr(&exchange->out, "0\r\n\r\n");
    }
    (void)flush(exchange);
    arcp__admission_suspend(&exchange->counted);
}

size_t arcp__web_exchange_unsent(const arcp__web_exchange *exchange)
{
    return exchange->busy + exchange->out.size;
}

/* ---- requests ---- */

/* Refuses a request that cannot be parsed or whose body is not acceptable; ends the connection. */
static void refuse(arcp__web_exchange *exchange, int status, const char *why)
{
    const arcp__web_response response = {.status = status, .why = why, .ends = true};
    const arcp__web_route *route = exchange->route;
    if (exchange->is_answered) {
        arcp__web_exchange_drop(exchange); /* the response has already begun */
        return;
    }
    exchange->stage = IN_ANSWER;
    exchange->route = NULL;
    if (route != NULL && route->dropped != NULL) {
        route->dropped(exchange->server->options.user, exchange);
    }
    if (exchange->stream != NULL) {
        arcp__web_exchange_respond(exchange, &response);
    }
}

static void take_body(arcp__web_exchange *exchange, arcp_span *input)
{
    const arcp__web_route *route = exchange->route;
    arcp_span piece = {NULL, 0};
    const arcp__web_result result = arcp__web_body_feed(&exchange->body, input, &piece);
    if (result != ARCP__WEB_MORE && result != ARCP__WEB_COMPLETE) {
        refuse(exchange, result == ARCP__WEB_TOO_BIG ? 413 : 400,
               result == ARCP__WEB_TOO_BIG ? "the body is too large" : "the body is malformed");
        return;
    }
    if (result == ARCP__WEB_COMPLETE) {
        exchange->stage = IN_ANSWER;
        if (!exchange->is_answered) {
            uv_timer_stop(&exchange->timer); /* the route may take its time for the response */
        }
    }
    if (!exchange->is_complete && (piece.size > 0 || result == ARCP__WEB_COMPLETE)) {
        route->body(exchange->server->options.user, exchange, piece, result == ARCP__WEB_COMPLETE);
    }
}

static void take_request(arcp__web_exchange *exchange)
{
    const arcp__web_server *server = exchange->server;
    const arcp__web_head *head = &exchange->head;
    arcp__web_response refusal;
    const arcp__web_route *route = arcp__web_route_of(
        server->options.routes, server->options.route_count, &server->names, head, &refusal);
    exchange->stage = IN_ANSWER;
    if (route == NULL) {
        arcp__web_exchange_respond(exchange, &refusal);
        return;
    }
    if (head->framing != ARCP__WEB_NO_BODY) {
        arcp_span none = {NULL, 0};
        exchange->stage = IN_BODY;
        arcp__web_body_init(&exchange->body, head, false, route->body_bytes_max);
        take_body(exchange, &none); /* refuses a Content-Length that is too large */
        if (exchange->stage != IN_BODY) {
            return;
        }
    }
    exchange->route = route;
    if (exchange->stage == IN_BODY) {
        restart_timer(exchange);
    } else {
        uv_timer_stop(&exchange->timer);
    }
    exchange->state = NULL;
    route->begin(server->options.user, exchange);
    if (exchange->stream != NULL && !exchange->is_complete) {
        arcp__admission_admit(&exchange->counted); /* it waits for the route, not for its peer */
    }
    if (exchange->stream != NULL && exchange->stage == IN_BODY && !exchange->is_answered &&
        head->minor > 0 && arcp__web_head_has_token(head, "Expect", "100-continue")) {
        arcp_buf_append_cstr(&exchange->out, "HTTP/1.1 100 Continue\r\n\r\n");
        (void)flush(exchange);
    }
}

static void take_head(arcp__web_exchange *exchange, arcp_span *input)
{
    switch (arcp__web_head_feed(&exchange->head, input)) {
    case ARCP__WEB_MORE:
        break;
    case ARCP__WEB_COMPLETE:
        take_request(exchange);
        break;
    case ARCP__WEB_TOO_BIG:
        refuse(exchange, 431, "the request head is too large");
        break;
    case ARCP__WEB_INVALID:
        refuse(exchange, 400, "the request is not valid HTTP/1.1");
        break;
    case ARCP__WEB_NO_MEMORY:
        arcp__web_exchange_fail(exchange, "out of memory");
        break;
    }
}

static bool is_reading(const arcp__web_exchange *exchange)
{
    return exchange->stream != NULL && exchange->stage != IN_ANSWER;
}

/* Whether the end of the connection is looked for while the route responds. */
static bool is_watching(const arcp__web_exchange *exchange)
{
    return exchange->stream != NULL && exchange->stage == IN_ANSWER && exchange->route != NULL &&
           exchange->route->watches_peer && exchange->leftover.size == 0;
}

static void read_input(arcp__web_exchange *exchange, arcp_span *input)
{
    exchange->input = input;
    while (input->size > 0 && is_reading(exchange)) {
        if (exchange->stage == IN_HEAD) {
            take_head(exchange, input);
        } else if (exchange->stage == IN_BODY) {
            take_body(exchange, input);
        } else {
            *input = (arcp_span){NULL, 0};
        }
    }
    exchange->input = NULL;
}

static void on_bytes(void *user, arcp_span bytes)
{
    arcp__web_exchange *exchange = user;
    if (exchange->is_idle) {
        /* A new request begins: the bytes of the last one count no more, and this becomes the
         * newest pending connection. */
        exchange->is_idle = false;
        arcp__admission_admit(&exchange->counted);
        arcp__admission_suspend(&exchange->counted);
    }
    /* Bytes after a response that ends the connection are discarded and not counted. */
    if (exchange->stage != IN_LINGER &&
        !arcp__admission_note_bytes(&exchange->counted, bytes.size)) {
        return;
    }
    if (exchange->leftover.size == 0 && (exchange->due & DUE_INPUT) == 0) {
        read_input(exchange, &bytes);
    }
    if (exchange->stream == NULL) {
        return;
    }
    arcp_buf_append(&exchange->leftover, bytes);
    if (exchange->leftover.failed) {
        arcp__web_exchange_fail(exchange, "out of memory");
    } else if (!is_reading(exchange) && !is_watching(exchange)) {
        exchange->stream->ops->stop(exchange->stream);
    }
}

static void continue_input(arcp__web_exchange *exchange)
{
    arcp_span rest = arcp_buf_span(&exchange->leftover);
    read_input(exchange, &rest);
    arcp_buf_consume(&exchange->leftover, exchange->leftover.size - rest.size);
    if (is_reading(exchange) || is_watching(exchange)) {
        arcp_buf_fini(&exchange->leftover);
        exchange->stream->ops->start(exchange->stream);
    }
}

static void on_ended(void *user, const arcp_error *why)
{
    arcp__web_exchange_fail(
        user, why == NULL ? "the peer closed the connection before its request was complete"
                          : why->message);
}

/* Everything written so far has been sent. */
static void on_sent(arcp__web_exchange *exchange)
{
    if (arcp__web_exchange_unsent(exchange) > 0 || !exchange->is_answered /* it was a 100 */ ||
        exchange->stage == IN_LINGER) {
        return;
    }
    if (!exchange->is_complete) {
        uv_timer_stop(&exchange->timer); /* the route may take its time for the next piece */
        if (exchange->route->drained != NULL) {
            exchange->route->drained(exchange->server->options.user, exchange);
        }
        return;
    }
    make_due(exchange, DUE_INPUT);
    if (!exchange->keeps_alive) {
        exchange->stage = IN_LINGER;
        exchange->stream->ops->finish(exchange->stream);
        uv_timer_start(&exchange->timer, on_timer, exchange->server->options.linger_ms, 0);
        return;
    }
    arcp__web_head_reset(&exchange->head);
    exchange->stage = IN_HEAD;
    exchange->route = NULL;
    exchange->is_answered = false;
    exchange->is_complete = false;
    exchange->is_idle = exchange->leftover.size == 0;
    restart_timer(exchange);
}

static void run_task(arcp__task *task)
{
    arcp__web_exchange *exchange =
        (arcp__web_exchange *)((char *)task - offsetof(arcp__web_exchange, task));
    unsigned due = exchange->due;
    exchange->due = 0;
    if ((due & DUE_FLUSH) != 0 && (due & DUE_BROKEN) == 0) {
        (void)flush(exchange);
        due |= exchange->due; /* what has become of it is known now */
        exchange->due = 0;
        arcp__task_cancel(exchange->server->share, task);
    }
    if ((due & DUE_BROKEN) != 0) {
        arcp__web_exchange_fail(exchange, "cannot write");
    }
    if ((due & DUE_SENT) != 0 && exchange->stream != NULL) {
        on_sent(exchange);
        due |= exchange->due & DUE_INPUT; /* the next request is read in this turn */
        exchange->due &= ~(unsigned)DUE_INPUT;
        if (exchange->due == 0) {
            arcp__task_cancel(exchange->server->share, task);
        }
    }
    if ((due & DUE_INPUT) != 0 && exchange->stream != NULL) {
        continue_input(exchange);
    }
}

/* ---- for routes ---- */

const arcp__web_head *arcp__web_exchange_head(const arcp__web_exchange *exchange)
{
    return &exchange->head;
}

unsigned char *arcp__web_exchange_label(arcp__web_exchange *exchange)
{
    return exchange->label;
}

void **arcp__web_exchange_state(arcp__web_exchange *exchange)
{
    return &exchange->state;
}

arcp__web_upgrade arcp__web_exchange_upgrade(arcp__web_exchange *exchange)
{
    const arcp__web_server *server = exchange->server;
    assert(exchange->input != NULL && !exchange->is_answered);
    return (arcp__web_upgrade){
        .share = server->share,
        .stream = exchange->stream,
        .counted = &exchange->counted,
        .peer = exchange->peer,
        .early = *exchange->input,
        .waited_ms = (uint32_t)(uv_now(server->handle.loop) - exchange->accepted_ms),
        .is_encrypted = server->tls != NULL,
        .is_local = exchange->is_local,
    };
}

/* ---- the beginning ---- */

void arcp__web_exchange_open(arcp__web_server *server, arcp__stream *stream,
                             const struct sockaddr_storage *address)
{
    const struct in6_addr peer_address = arcp__socket_peer(address);
    arcp__web_exchange *exchange = arcp__alloc(sizeof *exchange);
    const char *why = "out of memory";
    arcp_error err = {0};
    arcp__authority peer;
    char name[ARCP__WEB_PEER_NAME_MAX];
    arcp__socket_authority(address, &peer);
    arcp__authority_format(&peer, name, sizeof name);
    if (exchange == NULL || !arcp__admission_enter(server->options.admission, &peer_address, evict,
                                                   exchange, &exchange->counted, &why)) {
        const int status = server->tls == NULL ? answer_unavailable(server, stream, why) : 0;
        stream->ops->close(stream);
        arcp__free(exchange);
        report_refused(server, name, status, why);
        return;
    }
    arcp__stream *lower = stream;
    if (server->closed || /* closed by the callback for an evicted connection */
        (server->tls != NULL &&
         arcp__tls_stream_new(server->share, server->tls, NULL, lower, &stream, &err) != ARCP_OK)) {
        arcp__admission_leave(&exchange->counted);
        stream->ops->close(stream);
        arcp__free(exchange);
        return;
    }
    exchange->server = server;
    exchange->stream = stream;
    exchange->task.run = run_task;
    exchange->is_local = arcp__authority_is_loopback(&peer);
    memcpy(exchange->peer, name, sizeof name);
    server->references++;
    arcp__web_head_init(&exchange->head, ARCP__WEB_REQUEST, server->options.head_bytes_max);
    uv_timer_init(server->handle.loop, &exchange->timer); /* cannot fail */
    exchange->timer.data = exchange;
    restart_timer(exchange);
    exchange->accepted_ms = uv_now(server->handle.loop);
    DL_APPEND(server->exchanges, exchange);
    stream->events = (arcp__stream_events){on_bytes, on_ended, on_written, exchange};
    stream->ops->start(stream);
}
