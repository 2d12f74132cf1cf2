/* The body of a request or response as it comes in: by length, in chunks, or until the connection
 * ends. Pieces are handed on as they come and are not copied. No I/O.
 *
 * Chunks are read as RFC 9112 section 7.1 writes them: lines end with CRLF, a size is 1 to 16 hex
 * digits. Extensions and trailers are dropped; how much of them may come is limited. */
#ifndef ARCP_WEB_BODY_H
#define ARCP_WEB_BODY_H

#include "web/head.h"

#define ARCP__WEB_CHUNK_LINE_MAX 256  /* bytes of a chunk's first line */
#define ARCP__WEB_TRAILERS_MAX   8192 /* bytes behind the last chunk */

typedef struct arcp__web_body {
    arcp__web_framing framing;
    enum {
        ARCP__WEB_IN_DATA, /* `left` bytes of it come; all bytes until the end of the connection */
        ARCP__WEB_AT_DATA_CR, /* behind the data of a chunk */
        ARCP__WEB_AT_DATA_LF,
        ARCP__WEB_IN_SIZE,      /* of the next chunk */
        ARCP__WEB_IN_EXTENSION, /* the rest of that line */
        ARCP__WEB_AT_SIZE_LF,
        ARCP__WEB_AT_TRAILER, /* where one begins, or the empty line */
        ARCP__WEB_IN_TRAILER,
        ARCP__WEB_AT_TRAILER_LF,
        ARCP__WEB_AT_LAST_LF,
        ARCP__WEB_AT_END
    } state;
    uint64_t left;
    uint64_t bytes;     /* that were handed on */
    uint64_t bytes_max; /* of them; one more is too big */
    uint32_t line;      /* bytes of a line that was begun, or of the trailers */
    uint32_t digits;    /* of a chunk's size */
} arcp__web_body;

/* Behind a complete head. A length over bytes_max is too big before a byte of it is read.
 * `answers_head`: of a response to HEAD, which has no body whatever its headers say. */
void arcp__web_body_init(arcp__web_body *body, const arcp__web_head *head, bool answers_head,
                         uint64_t bytes_max);

/* Takes bytes from the front of *input; *piece is what of them belongs to the body, and may be
 * empty. ARCP__WEB_MORE: call again while there is input. ARCP__WEB_COMPLETE: *input is what comes
 * behind the body. After ARCP__WEB_INVALID and ARCP__WEB_TOO_BIG nothing on the connection can be
 * understood. A body that is empty is complete at the first call, without input. */
arcp__web_result arcp__web_body_feed(arcp__web_body *body, arcp_span *input, arcp_span *piece);

/* Whether a body that so far was ARCP__WEB_MORE is whole when the connection ends here. */
bool arcp__web_body_ends(const arcp__web_body *body);

#endif
