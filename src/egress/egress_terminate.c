/* TLS that is terminated: in place of a host of which the lease grants some URLs, a server with a
 * certificate of the job's own authority. What is inside is served as plain HTTP is, and each
 * request that is allowed goes to the host itself over TLS, whose certificate is checked.
 *
 *   AT_FIRST -> AT_HEAD -> AT_DIAL -> AT_HANDSHAKE -> IN_EXCHANGE -> ... */
#include "egress/egress_parts.h"

/* A host as certificates have it: an IPv6 address without its brackets. */
static void bare_host(const arcp__egress_host *host, char out[ARCP__EGRESS_HOST_MAX + 1])
{
    const arcp_span text = arcp_span_cstr(host->text);
    const bool has_brackets = text.size > 2 && text.data[0] == '[';
    (void)snprintf(out, ARCP__EGRESS_HOST_MAX + 1, "%.*s",
                   (int)(has_brackets ? text.size - 2 : text.size),
                   text.data + (has_brackets ? 1 : 0));
}

void arcp__egress_terminate(arcp__egress_connection *c, const char *name)
{
    char host[ARCP__EGRESS_HOST_MAX + 1];
    if (name != NULL) { /* of the loopback's spellings the one that the program used */
        (void)snprintf(c->at_host.text, sizeof c->at_host.text, "%s", name);
    }
    bare_host(&c->at_host, host);
    const arcp__tls_context *context = arcp__tls_ca_serve(c->job->ca, host, NULL);
    if (context == NULL || !arcp__egress_side_secure(&c->client, context, NULL)) {
        c->job->egress->counts.failed++;
        arcp__egress_connection_close(c);
        return;
    }
    c->is_tls = true;
    arcp__egress_connection_enter(c, ARCP__EGRESS_AT_HEAD);
}

void arcp__egress_terminate_dialled(arcp__egress_connection *c)
{
    arcp__egress *egress = c->job->egress;
    char host[ARCP__EGRESS_HOST_MAX + 1];
    arcp_error err = {0};
    /* The name that the program asked for, which is the one that was allowed, or another spelling
     * of the loopback. */
    bare_host(&c->at_host, host);
    arcp__egress_connection_enter(c, ARCP__EGRESS_AT_HANDSHAKE);
    if (egress->tls == NULL && arcp__tls_context_new_client(NULL, &egress->tls, &err) != ARCP_OK) {
        egress->tls = NULL;
    }
    if (egress->tls == NULL || !arcp__egress_side_secure(&c->server, egress->tls, host)) {
        c->server.has_ended = c->server.is_broken = true;
        (void)snprintf(c->server.why, sizeof c->server.why, "TLS: %s",
                       egress->tls == NULL ? err.message : "out of memory");
        return;
    }
    if (c->job->sessions == NULL) {
        c->job->sessions = arcp__tls_sessions_new();
    }
    arcp__tls_stream_resume(c->server.stream, c->job->sessions);
}

/* The handshake is complete when the head of the request was written. */
bool arcp__egress_handshake_step(arcp__egress_connection *c)
{
    if (c->server.has_ended) {
        char why[sizeof c->server.why];
        (void)snprintf(why, sizeof why, "%s",
                       c->server.why[0] == '\0' ? "TLS: the connection is broken" : c->server.why);
        arcp__egress_exchange_undialled(c, ARCP__EGRESS_UNREACHABLE, why);
        return true;
    }
    if (!arcp__egress_side_is_flushed(&c->server)) {
        return false;
    }
    arcp__egress_connection_enter(c, c->after_dial);
    return true;
}

void arcp__egress_terminate_broken(arcp__egress_connection *c)
{
    char url[ARCP__EGRESS_HOST_MAX + sizeof "https://:65535/"];
    char reason[sizeof c->client.why + 64];
    if (!c->is_tls || c->is_opened || c->client.why[0] == '\0') {
        return;
    }
    (void)snprintf(url, sizeof url, "https://%s:%u/", c->at_host.text, (unsigned)c->at_port);
    (void)snprintf(reason, sizeof reason,
                   "the program did not accept the sandbox's certificate (%s)", c->client.why);
    c->is_opened = true; /* reported */
    arcp__egress_job_report(c->job, arcp_span_cstr(url), ARCP__EGRESS_REFUSED, reason);
}
