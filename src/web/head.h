/* The head of an HTTP/1.1 request or response: reads the first line and the headers, up to a limit
 * (body.h reads what follows), and formats a server's responses. No I/O. Only head.c depends on the
 * parser library. */
#ifndef ARCP_WEB_HEAD_H
#define ARCP_WEB_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/span.h>

#define ARCP__WEB_HEADERS_MAX 100

typedef enum arcp__web_side { ARCP__WEB_REQUEST, ARCP__WEB_RESPONSE } arcp__web_side;
typedef enum arcp__web_method {
    ARCP__WEB_GET,
    ARCP__WEB_HEAD,
    ARCP__WEB_OTHER_METHOD
} arcp__web_method;

/* How the end of a body is known. */
typedef enum arcp__web_framing {
    ARCP__WEB_NO_BODY,
    ARCP__WEB_BY_LENGTH, /* of at least one byte */
    ARCP__WEB_CHUNKED,
    ARCP__WEB_UNTIL_END,   /* a response without either: until the connection ends */
    ARCP__WEB_OTHER_CODING /* a transfer coding that is not "chunked" alone */
} arcp__web_framing;

/* Offsets in `text`, which may be reallocated while it grows. */
typedef struct arcp__web_header {
    uint32_t name_at, name_size;
    uint32_t value_at, value_size;
} arcp__web_header;

typedef struct arcp__web_head {
    union {
        void *alignment;
        unsigned char bytes[48];
    } parser; /* its state; head.c asserts that it is large enough */
    arcp__web_side side;
    arcp_buf text; /* target or status text, then names and values */
    size_t bytes;
    size_t bytes_max;
    uint32_t line_size; /* of the target or the status text */
    uint16_t header_count;
    /* Set when the head is complete. */
    arcp__web_method method; /* of a request */
    const char *method_name; /* static */
    unsigned status;         /* of a response */
    uint16_t major, minor;
    bool keeps_alive; /* the peer allows another request on this connection */
    arcp__web_framing framing;
    uint64_t body_length; /* by length */
    bool in_value;
    bool complete;
    bool too_many; /* too many headers: the rest is parsed, but not stored */
    /* In a form that RFC 9112 no longer allows. A request is refused for it; of a response its
     * reader decides. */
    bool is_lax;
    char last; /* the last byte read */
    arcp__web_header headers[ARCP__WEB_HEADERS_MAX];
} arcp__web_head;

typedef enum arcp__web_result {
    ARCP__WEB_MORE,     /* all input is consumed, and the head is not complete */
    ARCP__WEB_COMPLETE, /* *input is what follows the head */
    ARCP__WEB_TOO_BIG,  /* more than bytes_max bytes or ARCP__WEB_HEADERS_MAX headers */
    ARCP__WEB_INVALID,  /* not HTTP/1; a request also if other servers might parse it differently:
                            a line that ends with LF alone, a header continued on the next line,
                            a space before a colon (RFC 9112 §2.2, §5.1, §5.2) */
    ARCP__WEB_NO_MEMORY
} arcp__web_result;

void arcp__web_head_init(arcp__web_head *head, arcp__web_side side, size_t bytes_max);
void arcp__web_head_fini(arcp__web_head *head);

arcp__web_result arcp__web_head_feed(arcp__web_head *head, arcp_span *input);

/* Prepares for the next head on the same connection, with the same limit. */
void arcp__web_head_reset(arcp__web_head *head);

/* The request's target, or the response's status text. */
arcp_span arcp__web_head_line(const arcp__web_head *head);

/* The request's target up to its query. */
arcp_span arcp__web_head_path(const arcp__web_head *head);

/* Header number `i`, which is less than head->header_count, in the order of the head; the value is
 * without surrounding blanks. */
void arcp__web_head_header(const arcp__web_head *head, size_t i, arcp_span *name, arcp_span *value);

/* Returns how often the header occurs; *value is its last value without surrounding blanks. */
size_t arcp__web_head_find(const arcp__web_head *head, const char *name, arcp_span *value);

/* Whether one of the comma-separated lists in all headers of that name contains the token; ignores
 * case. */
bool arcp__web_head_has_token(const arcp__web_head *head, const char *name, const char *token);

/* Whether a comma-separated list contains the token; ignores case. */
bool arcp__web_list_has(arcp_span list, arcp_span token);

/* Whether the texts are equal, ignoring the case of ASCII letters. */
bool arcp__web_equal(arcp_span a, arcp_span b);

/* ---- responses ---- */

typedef struct arcp__web_response {
    int status;
    const char *type;         /* Content-Type; NULL: plain text in UTF-8 */
    const char *headers;      /* further lines, each with its CRLF; NULL: none */
    const char *more_headers; /* as well; NULL: none */
    const char *allow;        /* the methods of a 405; else NULL */
    const char *why;          /* static; if not NULL, the body is this line instead of `body` */
    arcp_span body;
    bool is_streamed; /* the body follows in pieces */
    bool ends;        /* close the connection; otherwise the client decides */
} arcp__web_response;

/* Keep a browser from showing a response inside of another page, from guessing its type, and from
 * passing it to pages of other origins. */
#define ARCP__WEB_ISOLATION_HEADERS                                                                \
    "X-Frame-Options: DENY\r\n"                                                                    \
    "X-Content-Type-Options: nosniff\r\n"                                                          \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                                                  \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

/* Appends the response to `request` (whose head may be incomplete); out->failed is set when memory
 * runs out. A streamed body is sent in chunks or, to an HTTP/1.0 client, until the connection ends;
 * HEAD gets no body. With 426 the Connection header names Upgrade, which RFC 9110 section 7.8
 * requires together with the Upgrade header. */
void arcp__web_respond(const arcp__web_response *response, const arcp__web_head *request,
                       bool keeps_alive, arcp_buf *out);

#endif
