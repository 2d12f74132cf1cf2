/* What the first bytes of a connection are: TLS, HTTP, or another protocol that the lease grants as
 * a whole. */
#include "base/clock.h"
#include "egress/egress_hello.h"
#include "egress/egress_parts.h"

/* Fatal alerts of TLS (RFC 8446 section 6). Programs report them, instead of a connection that was
 * closed for no reason. */
#define ACCESS_DENIED  "\x15\x03\x03\x00\x02\x02\x31"
#define INTERNAL_ERROR "\x15\x03\x03\x00\x02\x02\x50"

typedef bool (*decide_fn)(arcp__egress_policy *policy, arcp_time now, const arcp__egress_target *at,
                          arcp__egress_decision *out);

/* Asks for each spelling of the host; *at is the one that is allowed. A denial is about the first.
 */
static bool decide(const arcp__egress_connection *c, decide_fn ask, arcp__egress_target *at,
                   arcp__egress_decision *out)
{
    const arcp__egress_target first = arcp__egress_connection_at(c);
    const arcp_time now = arcp__clock_now();
    bool is_part = false;
    size_t i = 1;
    *at = first;
    do {
        if (ask(c->job->policy, now, at, out)) {
            return true;
        }
        is_part = is_part || out->is_part;
        at->host = arcp__egress_host_spelling(first.host, i++);
    } while (at->host.size > 0);
    *at = first;
    const bool is_allowed =
        arcp__egress_host_is_loopback(first.host) && ask(c->job->policy, now, at, out);
    out->is_part = is_part && !is_allowed;
    return is_allowed;
}

void arcp__egress_first_end(arcp__egress_connection *c, bool is_denied)
{
    const arcp_span bytes = arcp_buf_span(&c->client.in);
    if (bytes.size > 0 &&
        arcp__egress_hello_read(bytes, &(arcp__egress_hello){0}) != ARCP__EGRESS_HELLO_NOT_TLS) {
        arcp_buf_append(&c->client.out, is_denied ? ARCP_SPAN_LITERAL(ACCESS_DENIED)
                                                  : ARCP_SPAN_LITERAL(INTERNAL_ERROR));
    }
    arcp__egress_connection_enter(c, ARCP__EGRESS_IN_LINGER);
}

/* Ends a TLS connection without having looked inside. The report may close the job. */
static void deny_tls(arcp__egress_connection *c, arcp_span target, arcp__egress_denial_code code,
                     const char *reason)
{
    arcp__egress_job_report(c->job, target, code, reason);
    if (c->stage != ARCP__EGRESS_IS_CLOSED) {
        arcp__egress_first_end(c, true);
    }
}

static void tunnel(arcp__egress_connection *c, const arcp__egress_target *at,
                   const arcp__egress_decision *decision)
{
    arcp__egress_job_allow(c->job, decision->url, true);
    arcp_buf_clear(&c->url);
    arcp_buf_append(&c->url, decision->url);
    arcp__egress_connection_dial(c, at->host, at->port, decision->names_host,
                                 ARCP__EGRESS_IN_TUNNEL);
}

/* A complete hello, with the name of its server or (NULL) without one. */
static void take_hello(arcp__egress_connection *c, const char *name)
{
    const arcp__egress_target to = arcp__egress_connection_at(c);
    arcp__egress_target at;
    arcp__egress_decision decision;
    if (c->is_proxy) {
        arcp__egress_connection_close(c); /* the explicit proxy is spoken to without TLS */
        return;
    }
    if (name != NULL && !arcp_span_equal_cstr(to.host, name) &&
        !(strcmp(name, "localhost") == 0 && arcp__egress_host_is_loopback(to.host))) {
        char url[ARCP__EGRESS_HOST_MAX + sizeof "https://:65535/"];
        (void)snprintf(url, sizeof url, "https://%s:%u/", name, (unsigned)to.port);
        deny_tls(c, arcp_span_cstr(url), ARCP__EGRESS_REFUSED,
                 "the server name of TLS is not the host connected to");
        return;
    }
    const bool is_whole = decide(c, arcp__egress_decide_tunnel, &at, &decision);
    if (is_whole && !c->job->opens_whole_hosts) {
        tunnel(c, &at, &decision);
    } else if (is_whole || (decision.is_part && c->job->ca != NULL)) {
        arcp__egress_terminate(c, name);
    } else {
        deny_tls(c, decision.url, decision.code, decision.reason);
    }
}

/* Another protocol, which the lease must grant as a whole. */
static bool take_opaque(arcp__egress_connection *c)
{
    arcp__egress_target at;
    arcp__egress_decision decision;
    if (c->is_proxy || c->is_asked || !decide(c, arcp__egress_decide_opaque, &at, &decision)) {
        c->is_asked = true;
        return false;
    }
    tunnel(c, &at, &decision);
    return true;
}

void arcp__egress_first_report(const arcp__egress_connection *c)
{
    char target[ARCP__EGRESS_HOST_MAX + sizeof "https://:65535/"];
    if (c->is_proxy) {
        return; /* it was not said yet where it goes */
    }
    (void)snprintf(target, sizeof target, "%s%s:%u%s", c->is_tls ? "https://" : "tcp://",
                   c->at_host.text, (unsigned)c->at_port, c->is_tls ? "/" : "");
    arcp__egress_job_report(c->job, arcp_span_cstr(target), ARCP__EGRESS_REFUSED,
                            c->is_tls ? "what was sent inside TLS is not HTTP/1.1"
                                      : "what was sent is neither TLS nor HTTP/1.1");
}

/* On the ports of the web the client always sends first, so its bytes are looked at even if another
 * protocol is granted there. Elsewhere the server may be the first to send. */
static bool is_web_port(uint16_t port)
{
    return port == 80 || port == 443;
}

bool arcp__egress_first_step(arcp__egress_connection *c)
{
    const arcp_span bytes = arcp_buf_span(&c->client.in);
    arcp__egress_hello hello;
    if (!is_web_port(c->at_port) && take_opaque(c)) {
        return true;
    }
    if (bytes.size == 0) {
        if (c->client.has_ended) {
            arcp__egress_connection_close(c);
        }
        return c->client.has_ended;
    }
    if (!arcp__egress_side_is_flushed(&c->client)) {
        return false; /* the response to CONNECT comes before any TLS of ours */
    }
    switch (arcp__egress_hello_read(bytes, &hello)) {
    case ARCP__EGRESS_HELLO_MORE:
        if (c->client.has_ended) {
            arcp__egress_connection_close(c);
        }
        return c->client.has_ended;
    case ARCP__EGRESS_HELLO_NAMED:
        take_hello(c, hello.name);
        break;
    case ARCP__EGRESS_HELLO_UNNAMED:
        take_hello(c, NULL);
        break;
    case ARCP__EGRESS_HELLO_INVALID: {
        char target[ARCP__EGRESS_HOST_MAX + sizeof "https://:65535/"];
        (void)snprintf(target, sizeof target, "https://%s:%u/", c->at_host.text,
                       (unsigned)c->at_port);
        deny_tls(c, arcp_span_cstr(target), ARCP__EGRESS_REFUSED,
                 "the TLS hello is malformed, too long or ambiguous");
        break;
    }
    case ARCP__EGRESS_HELLO_NOT_TLS:
        if ((bytes.data[0] >= 'A' && bytes.data[0] <= 'Z') || !take_opaque(c)) {
            arcp__egress_connection_enter(c, ARCP__EGRESS_AT_HEAD); /* may refuse it with 400 */
        }
        break;
    }
    return true;
}
