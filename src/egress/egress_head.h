/* Heads of requests and responses on their way through: what a request asks for, and what is sent
 * on of it. No I/O.
 *
 * What is sent on is written anew from what was read, so that both sides of egress agree on where a
 * message ends: the first line, Host, the framing of the body and the headers that are for one
 * connection only (RFC 9110 section 7.6.1) are ours; all other headers are sent on as they are. */
#ifndef ARCP_EGRESS_EGRESS_HEAD_H
#define ARCP_EGRESS_EGRESS_HEAD_H

#include "egress/egress_names.h"
#include "egress/egress_policy.h"
#include "web/head.h"

#define ARCP__EGRESS_HEAD_MAX ((size_t)64 * 1024) /* bytes of a head */
#define ARCP__EGRESS_HOST_MAX (ARCP__EGRESS_NAME_MAX + 2)

/* A host in the form that canonical URLs have: a name in lower case without a final dot, or an
 * address, IPv6 in brackets. NUL-terminated. */
typedef struct arcp__egress_host {
    char text[ARCP__EGRESS_HOST_MAX + 1];
} arcp__egress_host;

/* Reads HOST[:PORT]; `*port` stays as it is when the text has none. False: it is malformed. */
ARCP_MUST_CHECK bool arcp__egress_host_parse(arcp_span text, arcp__egress_host *out,
                                             uint16_t *port);

/* Whether the host is this machine by any of the three spellings that leases use: "localhost",
 * "127.0.0.1", "[::1]". */
bool arcp__egress_host_is_loopback(arcp_span host);

/* Spelling number `i` of a host: the host itself, and for one of the loopback's the two others
 * after it. Empty: there are no more. */
arcp_span arcp__egress_host_spelling(arcp_span host, size_t i);

typedef struct arcp__egress_request_head {
    bool is_connect; /* to the explicit proxy: a connection to host and port */
    bool is_upgrade; /* to WebSocket */
    arcp__egress_host host;
    uint16_t port;
    arcp_span path; /* with its query; empty for CONNECT; as long as the head's text */
} arcp__egress_request_head;

/* Reads a complete head. `at` is where the connection goes; NULL: to the explicit proxy, so that
 * the request names it. In TLS it must name exactly that host. Returns 0, or the HTTP status to
 * refuse it with and why (static). With 421 host
 * and port are those that it names, as far as they can be read. */
ARCP_MUST_CHECK int arcp__egress_request_read(const arcp__web_head *head,
                                              const arcp__egress_target *at,
                                              arcp__egress_request_head *out, const char **why);

/* Appends the head of a request for a place and `path`, which were decided. */
void arcp__egress_request_write(const arcp__web_head *head, bool is_upgrade,
                                const arcp__egress_target *at, arcp_span path, arcp_buf *out);

/* Whether a complete head of a response can be sent on; `is_upgrade`: its request may be answered
 * with 101. */
ARCP_MUST_CHECK bool arcp__egress_response_is_valid(const arcp__web_head *head, bool is_upgrade);

/* Appends the head of a response to `request`. `is_last`: the connection ends after it. */
void arcp__egress_response_write(const arcp__web_head *head, const arcp__web_head *request,
                                 bool is_last, arcp_buf *out);

/* Appends a whole response of our own. `error` is the payload's members code and message, with
 * `details`, a JSON object or empty. */
void arcp__egress_refusal_write(int status, const arcp_error *error, arcp_span details,
                                const arcp__web_head *request, bool is_last, arcp_buf *out);

#endif
