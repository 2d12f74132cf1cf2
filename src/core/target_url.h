/* The canonical form of URLs, and what a scheme means for the rest. docs/leases.md, Canonical
 * targets. */
#ifndef ARCP_CORE_TARGET_URL_H
#define ARCP_CORE_TARGET_URL_H

#include <arcp/gate.h>

typedef enum arcp__url_scheme {
    ARCP__URL_OTHER, /* the host stays as it is; the path may be empty */
    ARCP__URL_WEB,   /* ws, wss, ftp: the host is in lower case */
    ARCP__URL_HTTP,  /* http, https: so is theirs; paths begin with '/', dots are resolved */
    ARCP__URL_FILE   /* never fetched */
} arcp__url_scheme;

/* Of a scheme in lower case. */
arcp__url_scheme arcp__url_scheme_of(arcp_span lower);

/* True only for a canonical one that is not too long; false says nothing. */
bool arcp__target_url_is_plain(arcp_span target);

/* Of a target that is neither empty nor too long and holds no NUL; contract as in target.h. */
ARCP_MUST_CHECK arcp_deny_reason arcp__target_url(arcp_span target, char *scratch,
                                                  arcp_span *canonical);

#endif
