/* What a scheme means for the rest of a URL. docs/leases.md, Canonical targets. */
#ifndef ARCP_CORE_TARGET_URL_H
#define ARCP_CORE_TARGET_URL_H

#include <arcp/span.h>

typedef enum arcp__url_scheme {
    ARCP__URL_OTHER, /* the host stays as it is; the path may be empty */
    ARCP__URL_WEB,   /* ws, wss, ftp: the host is in lower case */
    ARCP__URL_HTTP,  /* http, https: so is theirs; paths begin with '/', dots are resolved */
    ARCP__URL_FILE   /* never fetched */
} arcp__url_scheme;

/* Of a scheme in lower case. */
arcp__url_scheme arcp__url_scheme_of(arcp_span lower);

#endif
