/* Which names a server answers to (Host) and which pages may talk to it (Origin).
 *
 * A browser lets any page open a WebSocket to any address, and a page's own name can be
 * made to resolve to 127.0.0.1 (DNS rebinding). The first is what Origin is for, the
 * second is what Host is for; both are checked before the upgrade. docs/protocol.md, Transports,
 * RFC 6455 §10.2. */
#ifndef ARCP_TRANSPORT_WEB_NAMES_H
#define ARCP_TRANSPORT_WEB_NAMES_H

#include <arcp/error.h>
#include <arcp/span.h>

#include "transport/url.h"

typedef struct arcp__web_origin {
    bool secure;               /* https */
    arcp__authority authority; /* with its port */
} arcp__web_origin;

typedef struct arcp__web_names {
    arcp__authority *hosts; /* owned */
    size_t host_count;
    arcp__web_origin *origins; /* owned */
    size_t origin_count;
    bool any_host;
    bool any_origin;
    bool loopback;        /* the listener is bound to loopback */
    bool secure;          /* the listener speaks TLS */
    arcp__authority self; /* what it was told to listen on, with the real port */
} arcp__web_names;

/* Reads the configured lists ("*" for any). ARCP_E_USAGE names the entry that is wrong. */
ARCP_MUST_CHECK arcp_status arcp__web_names_init(arcp__web_names *names, const char *const *hosts,
                                                 size_t host_count, const char *const *origins,
                                                 size_t origin_count, arcp_error *err);
void arcp__web_names_fini(arcp__web_names *names);

/* What the listener is bound to, once that is known. */
void arcp__web_names_bind(arcp__web_names *names, const arcp__authority *self, bool loopback,
                          bool secure);

/* Whether the Host header's value is one of ours. `valid` tells whether it is a host at
 * all. */
bool arcp__web_names_allow_host(const arcp__web_names *names, arcp_span host, bool *valid);

/* Whether the Origin header's value may talk to us. */
bool arcp__web_names_allow_origin(const arcp__web_names *names, arcp_span origin);

/* "http://HOST[:PORT]" or "https://…" and nothing behind it; the port is filled in. */
ARCP_MUST_CHECK bool arcp__web_origin_parse(arcp_span text, arcp__web_origin *out);

#endif
