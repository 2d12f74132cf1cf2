/* HTTP/1.1, one request after the other. Each is decided by itself, when its head is complete, and
 * is sent on as it was decided; its body and the response follow in pieces. The next request is
 * read when the response is complete.
 *
 *   AT_HEAD -> AT_DIAL (unless the server side is still open to the same place) -> IN_EXCHANGE
 *           -> AT_HEAD, IN_TUNNEL after 101, or IN_LINGER after the last response */
#include "base/clock.h"
#include "egress/egress_parts.h"
#include "json/json_put.h"

#define MORE_MAX UINT64_MAX /* of a body: any length */

/* ---- refusing ---- */

/* Responds ourselves. The connection goes on only if the request was read to its end. */
static void respond(arcp__egress_connection *c, int status, const arcp_error *error,
                    arcp_span details)
{
    const bool is_last =
        !c->request.complete || !c->request.keeps_alive || c->request.framing != ARCP__WEB_NO_BODY;
    arcp__egress_side_close(&c->server);
    arcp__egress_refusal_write(status, error, details, &c->request, is_last, &c->client.out);
    if (is_last) {
        arcp__egress_connection_enter(c, ARCP__EGRESS_IN_LINGER);
        return;
    }
    arcp__web_head_reset(&c->request);
    arcp__egress_connection_enter(c, ARCP__EGRESS_AT_HEAD);
}

/* A request that cannot be served. It was not decided, so it is not a denial. */
static void refuse(arcp__egress_connection *c, int status, const char *why)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, status >= 500 ? ARCP_E_INTERNAL_ERROR : ARCP_E_INVALID_REQUEST,
                         "%s", why);
    c->job->egress->counts.failed++;
    respond(c, status, &error, arcp_span_make(NULL, 0));
}

/* A request for another host than the one that the connection is for. */
static void misdirect(arcp__egress_connection *c, const arcp__egress_request_head *asked,
                      const char *why)
{
    char url[ARCP__EGRESS_HOST_MAX + sizeof "https://:65535/"];
    arcp_error error = {0};
    (void)snprintf(url, sizeof url, "%s://%s:%u/", c->is_tls ? "https" : "http", asked->host.text,
                   (unsigned)asked->port);
    (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "%s", why);
    arcp__egress_job_report(c->job, arcp_span_cstr(url), ARCP__EGRESS_REFUSED, why);
    if (c->stage != ARCP__EGRESS_IS_CLOSED) {
        respond(c, 421, &error, arcp_span_make(NULL, 0));
    }
}

static void deny(arcp__egress_connection *c, const arcp__egress_decision *decision)
{
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp_decision_format_message(&decision->gate, &text);
    arcp_decision_format_details(c->job->authority, &decision->gate, &details);
    (void)arcp_error_set(&error, decision->gate.code, "%.*s", (int)text.size,
                         text.failed ? "" : text.data);
    arcp__egress_job_report(c->job, decision->url, decision->code, decision->reason);
    if (c->stage != ARCP__EGRESS_IS_CLOSED) {
        respond(c, 403, &error, details.failed ? arcp_span_make(NULL, 0) : arcp_buf_span(&details));
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&details);
}

void arcp__egress_exchange_undialled(arcp__egress_connection *c, arcp__egress_upstream_end end,
                                     const char *why)
{
    arcp_error error = {0};
    arcp_buf details = arcp_buf_init();
    if (end != ARCP__EGRESS_NOT_PUBLIC) {
        refuse(c, 502, why);
        return;
    }
    arcp_json_writer writer = arcp__put_begin(&details);
    arcp__put_cstr(&writer, "capability", "net.fetch");
    arcp__put_string(&writer, "target", arcp_buf_span(&c->url));
    arcp__put_cstr(&writer, "reason", "NOT_PUBLIC");
    arcp_json_end_object(&writer);
    (void)arcp_error_set(&error, ARCP_E_PERMISSION_DENIED, "%s: %s", c->dialled_host.text, why);
    respond(c, 403, &error, details.failed ? arcp_span_make(NULL, 0) : arcp_buf_span(&details));
    arcp_buf_fini(&details);
}

/* ---- requests ---- */

/* CONNECT: what follows is looked at like a connection to that place. */
static void take_connect(arcp__egress_connection *c, const arcp__egress_request_head *asked)
{
    const arcp__egress_target at = {arcp_span_cstr(asked->host.text), asked->port, false};
    bool may_reach = false;
    for (size_t i = 0; !may_reach; i++) {
        const arcp_span host = arcp__egress_host_spelling(at.host, i);
        if (host.size == 0) {
            break;
        }
        may_reach = arcp__egress_names_may_reach(c->job->names, host);
    }
    arcp__egress_decision decision;
    if (!may_reach &&
        !arcp__egress_decide_tunnel(c->job->policy, arcp__clock_now(), &at, &decision)) {
        deny(c, &decision);
        return;
    }
    c->at_host = asked->host;
    c->at_port = asked->port;
    c->is_proxy = c->is_asked = c->is_http = false;
    arcp__egress_side_close(&c->server);
    arcp__web_head_reset(&c->request);
    arcp_buf_append_cstr(&c->client.out, "HTTP/1.1 200 Connection established\r\n\r\n");
    arcp__egress_connection_enter(c, ARCP__EGRESS_AT_FIRST);
}

/* Asks for each spelling of the host; *at is the one that is allowed. A denial is about the first.
 */
static bool decide(const arcp__egress_connection *c, const arcp__egress_request_head *asked,
                   arcp__egress_target *at, arcp__egress_decision *out)
{
    const arcp__egress_request request = {.is_upgrade = asked->is_upgrade, .path = asked->path};
    const arcp__egress_target first = {arcp_span_cstr(asked->host.text), asked->port, c->is_tls};
    const arcp_time now = arcp__clock_now();
    size_t i = 1;
    *at = first;
    do {
        if (arcp__egress_decide_request(c->job->policy, now, at, &request, out)) {
            return true;
        }
        at->host = arcp__egress_host_spelling(first.host, i++);
    } while (at->host.size > 0);
    *at = first;
    return arcp__egress_host_is_loopback(first.host) &&
           arcp__egress_decide_request(c->job->policy, now, at, &request, out);
}

/* Whether the server side can take a request to this place. One that has sent something that no
 * request asked for cannot. */
static bool can_reuse(const arcp__egress_connection *c, const arcp__egress_target *at,
                      bool names_host)
{
    return c->server.stream != NULL && !c->server.has_ended && c->server.in.size == 0 &&
           arcp_span_equal_cstr(at->host, c->dialled_host.text) && at->port == c->dialled_port &&
           c->is_tls == c->dialled_is_tls && (names_host || !c->dialled_names_host);
}

/* Sends a request that is allowed. */
static void send_request(arcp__egress_connection *c, const arcp__egress_target *at,
                         const arcp__egress_decision *decision)
{
    c->is_reused = can_reuse(c, at, decision->names_host);
    if (!c->is_reused) {
        arcp__egress_side_close(&c->server);
    }
    arcp_buf_clear(&c->url);
    arcp_buf_append(&c->url, decision->url);
    arcp__egress_request_write(&c->request, c->is_upgrade, at, decision->path, &c->server.out);
    arcp__web_body_init(&c->up, &c->request, false, MORE_MAX);
    arcp__web_head_reset(&c->response);
    c->is_sent = c->is_answered = c->has_interim = false;
    if (c->is_reused) {
        arcp__egress_connection_enter(c, ARCP__EGRESS_IN_EXCHANGE);
    } else {
        arcp__egress_connection_dial(c, at->host, at->port, decision->names_host,
                                     ARCP__EGRESS_IN_EXCHANGE);
    }
}

/* Whether a gateway of the job gets the request, and decides it by its own rules. */
static bool is_for_gateway(const arcp__egress_connection *c, const arcp__egress_request_head *asked)
{
    return !c->is_tls && asked->port == 80 &&
           arcp__egress_names_gateway(c->job->names, arcp_span_cstr(asked->host.text)) !=
               ARCP__EGRESS_GATEWAYS;
}

static void send_to_gateway(arcp__egress_connection *c, const arcp__egress_request_head *asked)
{
    const arcp__egress_target at = {arcp_span_cstr(asked->host.text), asked->port, false};
    const arcp__egress_decision decision = {
        .is_allowed = true, .url = at.host, .path = asked->path};
    c->is_upgrade = asked->is_upgrade;
    c->is_gateway = true;
    send_request(c, &at, &decision);
}

/* Whether the request may use the explicit proxy. The time that this takes says nothing about how
 * much of the credential is right. */
static bool is_authorized(const arcp__egress_connection *c)
{
    const arcp_span scheme = ARCP_SPAN_LITERAL("Basic ");
    arcp_span given = {NULL, 0};
    if (!c->is_proxy || c->job->credential == NULL) {
        return true;
    }
    return arcp__web_head_find(&c->request, "Proxy-Authorization", &given) == 1 &&
           given.size > scheme.size &&
           arcp__web_equal(arcp_span_first(given, scheme.size), scheme) &&
           arcp_secret_equal(c->job->credential, arcp_span_from(given, scheme.size));
}

static void take_request(arcp__egress_connection *c)
{
    const arcp__egress_target to = arcp__egress_connection_at(c);
    arcp__egress_request_head asked;
    arcp__egress_target at;
    arcp__egress_decision decision;
    const char *why = NULL;
    const int status =
        arcp__egress_request_read(&c->request, c->is_proxy ? NULL : &to, &asked, &why);
    if (!is_authorized(c)) {
        refuse(c, 407, "the proxy of a sandbox needs the credential of its environment");
    } else if (status == 421) {
        misdirect(c, &asked, why);
    } else if (status != 0) {
        refuse(c, status, why);
    } else if (asked.is_connect) {
        take_connect(c, &asked);
    } else if (is_for_gateway(c, &asked)) {
        send_to_gateway(c, &asked);
    } else if (decide(c, &asked, &at, &decision)) {
        arcp__egress_job_allow(c->job, decision.url, false);
        c->is_upgrade = asked.is_upgrade;
        c->is_gateway = false;
        send_request(c, &at, &decision);
    } else {
        deny(c, &decision);
    }
}

bool arcp__egress_head_step(arcp__egress_connection *c)
{
    const size_t size = c->client.in.size;
    arcp_span input = arcp_buf_span(&c->client.in);
    c->is_opened = c->is_opened || size > 0;
    if (size == 0) {
        if (c->client.has_ended && arcp__egress_side_is_flushed(&c->client)) {
            arcp__egress_connection_close(c);
            return true;
        }
        return false;
    }
    const arcp__web_result result = arcp__web_head_feed(&c->request, &input);
    arcp_buf_consume(&c->client.in, size - input.size);
    switch (result) {
    case ARCP__WEB_MORE:
        break;
    case ARCP__WEB_COMPLETE:
        c->is_http = true;
        take_request(c);
        break;
    case ARCP__WEB_TOO_BIG:
        refuse(c, 431, "the head of the request is too large");
        break;
    case ARCP__WEB_INVALID:
        /* Without a header it was probably meant to be something else than HTTP. */
        if (!c->is_http && c->request.header_count == 0) {
            arcp__egress_first_report(c);
        }
        if (c->stage != ARCP__EGRESS_IS_CLOSED) {
            refuse(c, 400, "the request is not valid HTTP/1.1");
        }
        break;
    case ARCP__WEB_NO_MEMORY:
        arcp__egress_connection_close(c);
        break;
    }
    return true;
}

/* ---- bodies ---- */

static void write_piece(arcp_span piece, bool in_chunks, arcp_buf *out)
{
    if (piece.size > 0 && in_chunks) {
        arcp_buf_append_format(out, "%zx\r\n", piece.size);
    }
    arcp_buf_append(out, piece);
    if (piece.size > 0 && in_chunks) {
        arcp_buf_append_cstr(out, "\r\n");
    }
}

/* Passes on pieces of a body while there is room. *is_done: to its end. False: it is malformed. */
static bool pump(arcp__web_body *body, arcp__egress_side *from, arcp__egress_side *to,
                 bool in_chunks, bool *is_done, bool *has_moved)
{
    arcp__web_result result = ARCP__WEB_MORE;
    arcp_span input = arcp_buf_span(&from->in);
    while (result == ARCP__WEB_MORE && arcp__egress_side_has_room(to)) {
        arcp_span piece = {NULL, 0};
        const size_t before = input.size;
        result = arcp__web_body_feed(body, &input, &piece);
        write_piece(piece, in_chunks, &to->out);
        if (result == ARCP__WEB_MORE && input.size == before) {
            break;
        }
        *has_moved = true;
    }
    arcp_buf_consume(&from->in, from->in.size - input.size);
    *is_done = result == ARCP__WEB_COMPLETE;
    if (*is_done && in_chunks) {
        arcp_buf_append_cstr(&to->out, "0\r\n\r\n");
    }
    return result == ARCP__WEB_MORE || result == ARCP__WEB_COMPLETE;
}

/* The exchange cannot be completed: the response if there is none yet, else the end. */
static void fail(arcp__egress_connection *c, int status, const char *why)
{
    if (c->is_answered) {
        c->job->egress->counts.failed++;
        arcp__egress_connection_close(c);
        return;
    }
    c->request.keeps_alive = false;
    refuse(c, status, why);
}

static bool pump_request(arcp__egress_connection *c)
{
    bool has_moved = false;
    const bool is_valid = pump(&c->up, &c->client, &c->server,
                               c->request.framing == ARCP__WEB_CHUNKED, &c->is_sent, &has_moved);
    if (!is_valid) {
        fail(c, 400, "the body of the request is malformed");
        return true;
    }
    if (!c->is_sent && c->client.has_ended && c->client.in.size == 0) {
        arcp__egress_connection_close(c);
        return true;
    }
    return has_moved;
}

/* ---- responses ---- */

static void finish(arcp__egress_connection *c)
{
    /* Bytes behind the response belong to no request; whatever follows must not be taken for the
     * next response. */
    if (!c->is_sent || !c->response.keeps_alive || c->server.in.size > 0 ||
        c->response.framing == ARCP__WEB_UNTIL_END) {
        arcp__egress_side_close(&c->server);
    }
    arcp__web_head_reset(&c->request);
    arcp__egress_connection_enter(c, c->is_last ? ARCP__EGRESS_IN_LINGER : ARCP__EGRESS_AT_HEAD);
}

/* A complete head of a response, interim or final. */
static void take_response(arcp__egress_connection *c)
{
    if (!arcp__egress_response_is_valid(&c->response, c->is_upgrade)) {
        fail(c, 502, "the response of the server is not valid HTTP/1.1");
        return;
    }
    if (c->response.status == 101) {
        arcp__egress_response_write(&c->response, &c->request, false, &c->client.out);
        arcp__egress_connection_enter(c, ARCP__EGRESS_IN_TUNNEL);
        return;
    }
    if (c->response.status < 200) {
        if (c->request.minor > 0) {
            arcp__egress_response_write(&c->response, &c->request, false, &c->client.out);
        }
        arcp__web_head_reset(&c->response);
        return;
    }
    const bool is_to_head = c->request.method == ARCP__WEB_HEAD;
    arcp__web_body_init(&c->down, &c->response, is_to_head, MORE_MAX);
    /* A response that only the end of its connection ends has the same end inside. A request that
     * was not read to its end cannot be followed by another one. */
    c->is_last =
        !c->is_sent || !c->request.keeps_alive ||
        (!is_to_head && (c->response.framing == ARCP__WEB_UNTIL_END ||
                         (c->response.framing == ARCP__WEB_CHUNKED && c->request.minor == 0)));
    c->is_answered = true;
    arcp__egress_response_write(&c->response, &c->request, c->is_last, &c->client.out);
}

static bool read_response_head(arcp__egress_connection *c)
{
    const size_t size = c->server.in.size;
    arcp_span input = arcp_buf_span(&c->server.in);
    if (size == 0) {
        if (c->server.has_ended && c->is_reused && !c->has_interim) {
            /* The server has ended an idle connection while the request was on its way. Without
             * egress the client would see that, too, and would try again. */
            arcp__egress_connection_close(c);
        } else if (c->server.has_ended) {
            fail(c, 502,
                 c->server.why[0] != '\0' ? c->server.why
                                          : "the server closed the connection without a response");
        }
        return c->server.has_ended;
    }
    c->has_interim = true;
    const arcp__web_result result = arcp__web_head_feed(&c->response, &input);
    arcp_buf_consume(&c->server.in, size - input.size);
    switch (result) {
    case ARCP__WEB_MORE:
        break;
    case ARCP__WEB_COMPLETE:
        take_response(c);
        break;
    case ARCP__WEB_TOO_BIG:
        fail(c, 502, "the head of the response is too large");
        break;
    case ARCP__WEB_INVALID:
        fail(c, 502, "the response of the server is not valid HTTP/1.1");
        break;
    case ARCP__WEB_NO_MEMORY:
        arcp__egress_connection_close(c);
        break;
    }
    return true;
}

static bool pump_response(arcp__egress_connection *c)
{
    bool has_moved = false;
    bool is_done = false;
    if (!c->is_answered) {
        return arcp__egress_side_has_room(&c->client) && read_response_head(c);
    }
    const bool in_chunks = c->response.framing == ARCP__WEB_CHUNKED && c->request.minor > 0;
    if (!pump(&c->down, &c->server, &c->client, in_chunks, &is_done, &has_moved)) {
        fail(c, 502, "the body of the response is malformed");
        return true;
    }
    if (!is_done && c->server.has_ended && c->server.in.size == 0) {
        if (c->server.is_broken || !arcp__web_body_ends(&c->down)) {
            fail(c, 502, "the response is not complete");
            return true;
        }
        is_done = true;
    }
    if (is_done) {
        finish(c);
    }
    return has_moved || is_done;
}

bool arcp__egress_exchange_step(arcp__egress_connection *c)
{
    const bool has_moved = !c->is_sent && pump_request(c);
    if (c->stage != ARCP__EGRESS_IN_EXCHANGE) {
        return true;
    }
    return pump_response(c) || has_moved;
}
