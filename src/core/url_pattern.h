/* A pattern of net.fetch, or a URL, in the parts that the network decides by: scheme, host and
 * port. Pure; any thread. */
#ifndef ARCP_CORE_URL_PATTERN_H
#define ARCP_CORE_URL_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

#include "core/lease_work.h"

enum { ARCP__URL_PORT_HTTP = 80, ARCP__URL_PORT_HTTPS = 443, ARCP__URL_PORT_SSH = 22 };

typedef enum arcp__url_kind {
    ARCP__URL_PLAIN,  /* http, ws: each request is seen */
    ARCP__URL_TLS,    /* https, wss */
    ARCP__URL_OPAQUE, /* other schemes */
    ARCP__URL_ANY,    /* the pattern is stars only */
    ARCP__URL_WILD    /* part of the scheme is a wildcard, or there is none; without `**` in it the
                       * other parts are read, and without a port there is none */
} arcp__url_kind;

typedef struct arcp__url_parts {
    arcp__url_kind kind;
    arcp_span scheme;
    arcp_span host;   /* with its brackets; of a pattern whose port is a wildcard, with that */
    uint32_t port;    /* 0: none is written, and the scheme has no default */
    bool is_any_port; /* a wildcard may stand for the port */
    bool has_zero;    /* the port is written with a zero in front, which it keeps: it is another one
                       * to the gate, and no connection has it */
    /* `**` begins in the authority, so that it may match slashes and a path, too. */
    bool is_spanning;
    bool is_whole; /* all of each host: `/` and two stars follow the authority */
    /* What every host ends with, of the URLs that match; empty: that is not known. */
    arcp_span tail;
} arcp__url_parts;

/* The spans are borrowed from the pattern. */
arcp__url_parts arcp__url_take_apart(arcp_span pattern);

/* False only if no URL that matches the pattern has this host: a cheap check before others. */
static inline bool arcp__url_may_have_host(const arcp__url_parts *pattern, arcp_span host)
{
    return arcp_span_ends_with(host, pattern->tail);
}

/* The part of a URL before its path: `https://host:8443`. Borrowed. */
arcp_span arcp__url_origin(arcp_span url);

/* Whether the patterns together grant all URLs that begin with the origin: `ORIGIN/` and `**`.
 * False also when `work` (NULL: unbounded) or memory does not suffice. */
ARCP_MUST_CHECK bool arcp__url_grants_all(const arcp_span *patterns, size_t count, arcp_span origin,
                                          arcp__lease_work *work);

/* Whether the text consists of these bytes only. */
bool arcp__url_is_all(arcp_span text, const char *bytes);

#endif
