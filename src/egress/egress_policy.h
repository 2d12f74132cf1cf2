/* Which URL a connection or a request is for, and whether the job's authority allows it. No I/O;
 * the time is passed in. The gate (arcp_authorize) decides every question; for a connection whose
 * requests are not seen, all URLs of the host must be granted, too. One thread. */
#ifndef ARCP_EGRESS_EGRESS_POLICY_H
#define ARCP_EGRESS_EGRESS_POLICY_H

#include <arcp/gate.h>

#include "egress/egress.h"

typedef struct arcp__egress_policy arcp__egress_policy;

/* Takes a reference to the authority. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__egress_policy_new(const arcp_authority *authority,
                                                    arcp__egress_policy **out, arcp_error *err);
void arcp__egress_policy_free(arcp__egress_policy *policy); /* NULL is accepted */

#define ARCP__EGRESS_REASON_MODEL "models of this host are called by the gateway, llm.arcp"

/* Hosts that are denied, whatever the lease grants: as arcp__egress_options.model_hosts; borrowed.
 */
void arcp__egress_policy_set_models(arcp__egress_policy *policy, const arcp_span *hosts,
                                    size_t count);

/* Where a connection goes, as it was found inside. */
typedef struct arcp__egress_target {
    arcp_span host; /* canonical: a name, or an address as URLs have it, with brackets */
    uint16_t port;
    bool is_tls; /* the requests there are in TLS: https instead of http */
} arcp__egress_target;

typedef struct arcp__egress_request {
    bool is_upgrade; /* to WebSocket: the URL of ws or wss counts, too */
    arcp_span path;  /* with its query: the target of the request in origin form */
} arcp__egress_request;

/* Valid until the next question to the same policy. */
typedef struct arcp__egress_decision {
    bool is_allowed;
    /* Patterns that write this host out grant it, so that it may have a private address. */
    bool names_host;
    /* Of a tunnel that is denied: the lease grants some of the host's URLs, so that its requests
     * could be decided one by one. */
    bool is_part;
    arcp_decision gate; /* about `url`: code and reason of a denial */
    arcp_span url;      /* to be reported; the canonical one if there is one */
    arcp_span path;     /* of an allowed request: path and query, exactly what must be sent */
    arcp__egress_denial_code code; /* of a denial */
    const char *reason;            /* why it is denied, one line; static */
} arcp__egress_decision;

/* Decides an HTTP request. The URL is asked for without its port when that is the scheme's default,
 * then with it. Returns out->is_allowed. */
ARCP_MUST_CHECK bool arcp__egress_decide_request(arcp__egress_policy *policy, arcp_time now,
                                                 const arcp__egress_target *at,
                                                 const arcp__egress_request *request,
                                                 arcp__egress_decision *out);

/* Decides a TLS connection that stays closed: whether the lease grants all URLs of https, or all of
 * wss, on this host and port. Returns out->is_allowed. */
ARCP_MUST_CHECK bool arcp__egress_decide_tunnel(arcp__egress_policy *policy, arcp_time now,
                                                const arcp__egress_target *at,
                                                arcp__egress_decision *out);

/* Decides a connection of another protocol: whether the lease grants all URLs of some other scheme
 * on this host and port (`ssh://H:P` and all below it; `ssh://H` for port 22). Returns
 * out->is_allowed. */
ARCP_MUST_CHECK bool arcp__egress_decide_opaque(arcp__egress_policy *policy, arcp_time now,
                                                const arcp__egress_target *at,
                                                arcp__egress_decision *out);

#endif
