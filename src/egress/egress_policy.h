/* Which URL a connection or a request is for, and whether the job's authority allows it. No I/O;
 * the time is passed in. */
#ifndef ARCP_EGRESS_EGRESS_POLICY_H
#define ARCP_EGRESS_EGRESS_POLICY_H

#include <arcp/gate.h>

/* Where a connection goes, as it was found inside. */
typedef struct arcp__egress_target {
    arcp_span host; /* canonical: a name, or an address as URLs have it */
    uint16_t port;
} arcp__egress_target;


typedef struct arcp__egress_decision {
    bool is_allowed;
    arcp_decision gate; /* of the URL that is reported */
    arcp_span url;      /* canonical, and exactly what must be forwarded; in `scratch` */
    const char *reason; /* why it is denied, one line; static */
} arcp__egress_decision;

/* Decides an http request: `target` is the path with its query. The URL is asked for without its
 * port when that is the scheme's default, then with it; ws:// counts for an upgrade, too. */
ARCP_MUST_CHECK bool arcp__egress_decide_request(const arcp_authority *authority, arcp_time now,
                                                 const char *scheme,
                                                 const arcp__egress_target *at, arcp_span target,
                                                 bool is_upgrade, arcp_target_scratch *scratch,
                                                 arcp__egress_decision *out);

/* Decides a TLS connection that stays closed: whether the lease grants all URLs of https (or wss)
 * on this host and port. */
ARCP_MUST_CHECK bool arcp__egress_decide_tunnel(const arcp_authority *authority, arcp_time now,
                                                const arcp__egress_target *at,
                                                arcp_target_scratch *scratch,
                                                arcp__egress_decision *out);

/* Decides a connection of another protocol: whether some pattern of another scheme grants all of
 * this host and port (`ssh://H:P` and all below it). */
ARCP_MUST_CHECK bool arcp__egress_decide_opaque(const arcp_authority *authority, arcp_time now,
                                                const arcp__egress_target *at,
                                                arcp_target_scratch *scratch,
                                                arcp__egress_decision *out);

#endif
