/* What the stages of a connection share: its end, its time limits, and the way to its server. */
#include <assert.h>

#include <utlist.h>

#include "base/alloc.h"
#include "egress/egress_parts.h"

/* ---- the end ---- */

static void on_timer_closed(uv_handle_t *timer)
{
    arcp__egress_connection *c = timer->data;
    arcp__egress_job *job = c->job;
    arcp__web_head_fini(&c->request);
    arcp__web_head_fini(&c->response);
    arcp_buf_fini(&c->url);
    arcp__free(c);
    arcp__egress_job_unref(job);
}

void arcp__egress_connection_close(arcp__egress_connection *c)
{
    arcp__egress_job *job = c->job;
    if (c->stage == ARCP__EGRESS_IS_CLOSED) {
        return;
    }
    c->stage = ARCP__EGRESS_IS_CLOSED;
    arcp__egress_upstream_cancel(&c->upstream);
    arcp__egress_side_close(&c->client);
    arcp__egress_side_close(&c->server);
    DL_DELETE(job->connections, c);
    job->connection_count--;
    job->egress->counts.connections--;
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

/* ---- time ---- */

/* A call to a model may take long before its first byte; the gateway has limits of its own. */
#define GATEWAY_IDLE_MS UINT64_C(86400000)

/* How long a stage may take; *is_idle: counted from the last bytes that moved. */
static uint64_t limit_of(const arcp__egress_connection *c, bool *is_idle)
{
    const arcp__egress *egress = c->job->egress;
    *is_idle = false;
    switch (c->stage) {
    case ARCP__EGRESS_AT_FIRST:
        return egress->head_ms;
    case ARCP__EGRESS_AT_HEAD:
        /* Between two requests the connection is idle. */
        return c->request.bytes > 0 || !c->is_between ? egress->head_ms : egress->idle_ms;
    case ARCP__EGRESS_AT_DIAL:
    case ARCP__EGRESS_AT_HANDSHAKE:
        return egress->dial_ms;
    case ARCP__EGRESS_IN_EXCHANGE:
    case ARCP__EGRESS_IN_TUNNEL:
        *is_idle = true;
        return c->is_gateway ? GATEWAY_IDLE_MS : egress->idle_ms;
    case ARCP__EGRESS_IN_NAMES:
        *is_idle = true;
        return egress->head_ms;
    case ARCP__EGRESS_IN_LINGER:
        /* A client may read slowly what was written. */
        *is_idle = !c->is_lingering;
        return c->is_lingering ? egress->linger_ms : egress->idle_ms;
    case ARCP__EGRESS_IS_CLOSED:
        break;
    }
    return 0;
}

static void on_timer(uv_timer_t *timer)
{
    arcp__egress_connection *c = timer->data;
    bool is_idle = false;
    const uint64_t limit_ms = limit_of(c, &is_idle);
    const uint64_t passed_ms = uv_now(timer->loop) - c->active_ms;
    if (is_idle && passed_ms < limit_ms) {
        uv_timer_start(timer, on_timer, limit_ms - passed_ms, 0);
    } else if (c->stage == ARCP__EGRESS_AT_DIAL) {
        arcp__egress_upstream_skip(&c->upstream);
        uv_timer_start(timer, on_timer, limit_ms, 0);
    } else if (c->stage == ARCP__EGRESS_AT_HANDSHAKE && !c->server.has_ended) {
        c->server.has_ended = c->server.is_broken = true;
        (void)snprintf(c->server.why, sizeof c->server.why,
                       "TLS: the server did not complete the handshake in time");
        c->server.changed(c->server.user);
    } else {
        arcp__egress_connection_close(c);
    }
}

void arcp__egress_connection_start_timer(arcp__egress_connection *c)
{
    bool is_idle = false;
    c->active_ms = uv_now(c->timer.loop);
    uv_timer_start(&c->timer, on_timer, limit_of(c, &is_idle), 0);
}

void arcp__egress_connection_enter(arcp__egress_connection *c, arcp__egress_stage stage)
{
    assert(c->stage != ARCP__EGRESS_IS_CLOSED);
    const bool is_first = stage == ARCP__EGRESS_AT_HEAD && c->stage == ARCP__EGRESS_AT_FIRST;
    c->is_between = stage == ARCP__EGRESS_AT_HEAD && !is_first && c->client.in.size == 0;
    c->stage = stage;
    c->client.finishes = c->client.finishes || stage == ARCP__EGRESS_IN_LINGER;
    if (!is_first) { /* the first bytes are part of the head, and count for its time */
        arcp__egress_connection_start_timer(c);
    }
}

/* ---- the server side ---- */

void arcp__egress_connection_dial(arcp__egress_connection *c, arcp_span host, uint16_t port,
                                  bool names_host, arcp__egress_stage after)
{
    (void)snprintf(c->dialled_host.text, sizeof c->dialled_host.text, "%.*s", (int)host.size,
                   host.data);
    c->dialled_port = port;
    c->dialled_names_host = names_host;
    /* A tunnel is the client's own TLS. */
    c->dialled_is_tls = c->is_tls && after == ARCP__EGRESS_IN_EXCHANGE;
    c->after_dial = after;
    arcp__egress_connection_enter(c, ARCP__EGRESS_AT_DIAL);
    arcp__egress_upstream_begin(&c->upstream, arcp_span_cstr(c->dialled_host.text), port,
                                names_host);
}
