/* Answers of HTTP/1.1 as they are written. No I/O. */
#ifndef ARCP_WEB_MESSAGE_H
#define ARCP_WEB_MESSAGE_H

#include "web/head.h"

typedef struct arcp__web_response {
    int status;
    const char *type;    /* Content-Type; NULL: plain text in UTF-8 */
    const char *headers; /* further lines, each with its CRLF; NULL: none */
    const char *allow;   /* the methods of a 405; else NULL */
    const char *why;     /* static; the body is this line. NULL: it is `body` */
    arcp_span body;
    bool is_streamed; /* the body comes in pieces, behind this head */
    bool ends;        /* the connection; else that is the client's choice */
} arcp__web_response;

/* Appends the answer to `request` (whose head may not be complete); out->failed says when memory
 * was short. A streamed body goes in chunks, or to a client of HTTP/1.0 until the connection ends,
 * and HEAD gets none. With 426 the Connection header names Upgrade, as RFC 9110 section 7.8 wants
 * it beside the Upgrade header. */
void arcp__web_respond(const arcp__web_response *response, const arcp__web_head *request,
                       bool keeps_alive, arcp_buf *out);

#endif
