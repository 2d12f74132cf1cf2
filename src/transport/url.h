/* The URLs of transports. */
#ifndef ARCP_TRANSPORT_URL_H
#define ARCP_TRANSPORT_URL_H

#include "web/names.h"

#define ARCP__PATH_MAX 1024

typedef enum arcp__url_scheme {
    ARCP__URL_WS,
    ARCP__URL_WSS,
    ARCP__URL_STDIO,
    ARCP__URL_UNIX,
    ARCP__URL_MEMORY
} arcp__url_scheme;

typedef struct arcp__url {
    arcp__url_scheme scheme;
    arcp__authority authority;     /* ws and wss; the port is filled in: 80, 443 */
    char path[ARCP__PATH_MAX + 1]; /* ws and wss, with the query; "/arcp" when there was none */
    arcp_span
        rest; /* stdio: the command; unix: the path; memory: the name; borrows from the text */
} arcp__url;

/* Parses ws://HOST[:PORT][/PATH], wss://…, stdio:COMMAND, unix:PATH or memory:NAME. ARCP_E_USAGE
 * names the URL and the error. */
ARCP_MUST_CHECK arcp_status arcp__url_parse(arcp_span text, arcp__url *out, arcp_error *err);

#define ARCP__URL_TEXT_MAX (ARCP__HOST_MAX + ARCP__PATH_MAX + 32)

/* Writes a ws or wss URL with its port; `out` is NUL-terminated. */
void arcp__url_format(const arcp__url *url, char out[ARCP__URL_TEXT_MAX]);

#endif
