/* A response of a server: its head and a body that is there as a whole. No I/O. */
#ifndef ARCP_WEB_RESPONSE_H
#define ARCP_WEB_RESPONSE_H

#include <stdbool.h>

#include <arcp/buf.h>
#include <arcp/span.h>

typedef struct arcp__web_response {
    int status;
    const char *type;    /* Content-Type; NULL: plain text in UTF-8 */
    const char *headers; /* further lines, each with its CRLF; NULL: none */
    arcp_span body;
    bool omits_body;  /* to HEAD: only its length is said */
    bool keeps_alive; /* another request may come on the connection */
} arcp__web_response;

/* Appends it; out->failed says when memory was short. With 426 the Connection header names
 * Upgrade, as RFC 9110 section 7.8 wants it beside the Upgrade header. */
void arcp__web_respond(const arcp__web_response *response, arcp_buf *out);

#endif
