/* A connection from inside, and the one that serves it outside. Its events all lead to run, which
 * lets the current stage do what it can, writes, and decides what to read. */
#include <utlist.h>

#include "base/alloc.h"
#include "egress/egress_parts.h"

#define FAKE_NETWORK 0xc6120000u /* 198.18.0.0/15 */
#define FAKE_MASK    0xfffe0000u
#define NAMES_PORT   53

/* ---- events ---- */

/* Discards input until the client has closed, too: closing a socket with unread input would reset
 * the connection, and what was written could be lost. */
static bool linger(arcp__egress_connection *c)
{
    arcp_buf_clear(&c->client.in);
    if (c->client.is_finished && c->client.has_ended) {
        arcp__egress_connection_close(c);
        return true;
    }
    if (c->client.is_finished && !c->is_lingering) {
        c->is_lingering = true;
        arcp__egress_connection_start_timer(c);
    }
    return false;
}

static bool step(arcp__egress_connection *c)
{
    switch (c->stage) {
    case ARCP__EGRESS_AT_FIRST:
        return arcp__egress_first_step(c);
    case ARCP__EGRESS_AT_HEAD:
        return arcp__egress_head_step(c);
    case ARCP__EGRESS_IN_EXCHANGE:
        return arcp__egress_exchange_step(c);
    case ARCP__EGRESS_IN_TUNNEL:
        return arcp__egress_tunnel_step(c);
    case ARCP__EGRESS_AT_HANDSHAKE:
        return arcp__egress_handshake_step(c);
    case ARCP__EGRESS_IN_NAMES:
        return arcp__egress_names_step(c);
    case ARCP__EGRESS_IN_LINGER:
        return linger(c);
    case ARCP__EGRESS_AT_DIAL:
    case ARCP__EGRESS_IS_CLOSED:
        break;
    }
    return false;
}

/* Between two requests a server side that has ended, or that sends what no request asked for, is
 * of no more use. */
static void check_idle_server(arcp__egress_connection *c)
{
    if (c->stage == ARCP__EGRESS_AT_HEAD && c->server.stream != NULL &&
        (c->server.has_ended || c->server.in.size > 0)) {
        arcp__egress_side_close(&c->server);
    }
}

static void run(arcp__egress_connection *c)
{
    bool has_changed = true;
    c->active_ms = uv_now(c->timer.loop);
    while (has_changed) {
        if (c->client.is_broken) {
            arcp__egress_terminate_broken(c);
            arcp__egress_connection_close(c);
        }
        has_changed = step(c);
        if (c->stage == ARCP__EGRESS_IS_CLOSED) {
            return;
        }
        check_idle_server(c);
        if (!has_changed) { /* a head and what there is of its body are written as one */
            has_changed = arcp__egress_side_flush(&c->client);
            has_changed = arcp__egress_side_flush(&c->server) || has_changed;
        }
    }
    if (c->is_between && c->request.bytes > 0) {
        c->is_between = false; /* the next request has begun */
        arcp__egress_connection_start_timer(c);
    }
    arcp__egress_side_read(&c->client);
    arcp__egress_side_read(&c->server);
}

static void on_changed(void *user)
{
    run(user);
}

/* ---- the server side ---- */

/* The tunnel has no server side: the client sees the end of its connection. */
static void on_dialled(void *user, arcp__egress_upstream_end end, arcp__stream *stream,
                       const char *why)
{
    arcp__egress_connection *c = user;
    if (end == ARCP__EGRESS_CONNECTED) {
        arcp__egress_side_open(&c->server, stream);
        if (c->dialled_is_tls) {
            arcp__egress_terminate_dialled(c);
        } else {
            arcp__egress_connection_enter(c, c->after_dial);
        }
        run(c);
        return;
    }
    if (end == ARCP__EGRESS_NOT_PUBLIC) {
        arcp__egress_job_report(c->job, arcp_buf_span(&c->url), ARCP__EGRESS_REFUSED, why);
    }
    if (c->stage == ARCP__EGRESS_IS_CLOSED) {
        return; /* by the report */
    }
    if (c->after_dial == ARCP__EGRESS_IN_EXCHANGE) {
        arcp__egress_exchange_undialled(c, end, why);
        run(c);
    } else {
        c->job->egress->counts.failed += end == ARCP__EGRESS_NOT_PUBLIC ? 0 : 1;
        arcp__egress_first_end(c, end == ARCP__EGRESS_NOT_PUBLIC);
        run(c);
    }
}

/* ---- the beginning ---- */

/* Finds where the connection goes: the name that has the address inside, or the address itself.
 * False: a fake address that no name has. */
static bool find_target(arcp__egress_connection *c, struct sockaddr_storage *to)
{
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
    arcp__egress_address address = {.v4.sin_family = AF_INET};
    if (to->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        address.v6 = *six;
        c->at_port = ntohs(six->sin6_port);
    } else if (to->ss_family == AF_INET6) {
        memcpy(&address.v4.sin_addr, &six->sin6_addr.s6_addr[12], sizeof address.v4.sin_addr);
        c->at_port = ntohs(six->sin6_port);
    } else {
        address.v4 = *(struct sockaddr_in *)to;
        c->at_port = ntohs(address.v4.sin_port);
    }
    char text[64];
    arcp__egress_address_format(&address, text);
    (void)snprintf(c->at_host.text, sizeof c->at_host.text, "%s", text);
    if (address.any.sa_family != AF_INET ||
        (ntohl(address.v4.sin_addr.s_addr) & FAKE_MASK) != FAKE_NETWORK) {
        return true;
    }
    const arcp_span name =
        arcp__egress_names_find(c->job->names, ntohl(address.v4.sin_addr.s_addr));
    if (name.size > 0) {
        (void)snprintf(c->at_host.text, sizeof c->at_host.text, "%.*s", (int)name.size, name.data);
    }
    return name.size > 0;
}

static void init_side(arcp__egress_connection *c, arcp__egress_side *side)
{
    side->share = c->job->egress->share;
    side->changed = on_changed;
    side->user = c;
}

static arcp__egress_connection *connection_new(arcp__egress_job *job)
{
    arcp__egress *egress = job->egress;
    arcp__egress_connection *c = arcp__alloc(sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->job = job;
    job->references++;
    init_side(c, &c->client);
    init_side(c, &c->server);
    c->server.received_bytes = &egress->counts.bytes_in;
    c->server.sent_bytes = &egress->counts.bytes_out;
    c->upstream.job = job;
    c->upstream.done = on_dialled;
    c->upstream.user = c;
    arcp__web_head_init(&c->request, ARCP__WEB_REQUEST, ARCP__EGRESS_HEAD_MAX);
    arcp__web_head_init(&c->response, ARCP__WEB_RESPONSE, ARCP__EGRESS_HEAD_MAX);
    uv_timer_init(egress->loop, &c->timer); /* cannot fail */
    c->timer.data = c;
    DL_APPEND(job->connections, c);
    job->connection_count++;
    egress->counts.connections++;
    return c;
}

void arcp__egress_connection_open(arcp__egress_job *job, arcp__stream *stream)
{
    struct sockaddr_storage to = {0};
    arcp__egress_connection *c = NULL;
    if (job->connection_count < ARCP__EGRESS_CONNECTIONS_MAX &&
        job->egress->system.local(stream, &to) == 0) {
        c = connection_new(job);
    }
    if (c == NULL) {
        job->egress->counts.failed++;
        stream->ops->close(stream);
        return;
    }
    const bool has_target = find_target(c, &to);
    arcp__egress_side_open(&c->client, stream);
    if (c->at_port == ARCP__EGRESS_PROXY_PORT || job->credential != NULL) {
        c->is_proxy = true;
        c->at_host.text[0] = '\0';
        arcp__egress_connection_enter(c, ARCP__EGRESS_AT_FIRST);
    } else if (c->at_port == NAMES_PORT) {
        arcp__egress_connection_enter(c, ARCP__EGRESS_IN_NAMES);
    } else if (has_target) {
        arcp__egress_connection_enter(c, ARCP__EGRESS_AT_FIRST);
        run(c); /* the server may be the first to send */
    } else {
        char target[ARCP__EGRESS_HOST_MAX + sizeof ":65535"];
        (void)snprintf(target, sizeof target, "%s:%u", c->at_host.text, (unsigned)c->at_port);
        arcp__egress_connection_close(c);
        arcp__egress_job_report(job, arcp_span_cstr(target), ARCP__EGRESS_REFUSED,
                                "no name was given this address inside");
    }
}
