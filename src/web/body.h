/* Reads the body of a request or response: by length, in chunks, or until the connection ends.
 * Pieces are passed on as they arrive and are not copied. No I/O.
 *
 * Chunks have the form of RFC 9112 section 7.1: lines end with CRLF, a size has 1 to 16 hex digits.
 * Extensions and trailers are ignored; their size is limited. */
#ifndef ARCP_WEB_BODY_H
#define ARCP_WEB_BODY_H

#include "web/head.h"

#define ARCP__WEB_CHUNK_LINE_MAX 256  /* bytes of a chunk's first line */
#define ARCP__WEB_TRAILERS_MAX   8192 /* bytes after the last chunk */

typedef struct arcp__web_body {
    arcp__web_framing framing;
    enum {
        ARCP__WEB_IN_DATA,    /* `left` bytes follow, or all bytes until the connection ends */
        ARCP__WEB_AT_DATA_CR, /* after the data of a chunk */
        ARCP__WEB_AT_DATA_LF,
        ARCP__WEB_IN_SIZE,      /* of the next chunk */
        ARCP__WEB_IN_EXTENSION, /* the rest of that line */
        ARCP__WEB_AT_SIZE_LF,
        ARCP__WEB_AT_TRAILER, /* at the beginning of a trailer, or of the final empty line */
        ARCP__WEB_IN_TRAILER,
        ARCP__WEB_AT_TRAILER_LF,
        ARCP__WEB_AT_LAST_LF,
        ARCP__WEB_AT_END
    } state;
    uint64_t left;
    uint64_t bytes;     /* of the body so far */
    uint64_t bytes_max; /* limit of `bytes` */
    uint32_t line;      /* bytes of the current line, or of the trailers */
    uint32_t digits;    /* of a chunk's size */
} arcp__web_body;

/* Call it after a complete head. A length over bytes_max is refused before a byte of the body is
 * read. `answers_head`: it is the response to a HEAD request, which has no body whatever its
 * headers say. */
void arcp__web_body_init(arcp__web_body *body, const arcp__web_head *head, bool answers_head,
                         uint64_t bytes_max);

/* Consumes bytes from the front of *input; *piece is the part that belongs to the body, and may be
 * empty. ARCP__WEB_MORE: call again while there is input. ARCP__WEB_COMPLETE: *input is what
 * follows the body. After ARCP__WEB_INVALID and ARCP__WEB_TOO_BIG nothing further on the connection
 * can be parsed. An empty body is complete at the first call, without input. */
arcp__web_result arcp__web_body_feed(arcp__web_body *body, arcp_span *input, arcp_span *piece);

/* Whether the body is complete if the connection ends here. */
bool arcp__web_body_ends(const arcp__web_body *body);

#endif
