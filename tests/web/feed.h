/* Reads HTTP in pieces, for tests and fuzzers of src/web. */
#ifndef ARCP_TESTS_WEB_FEED_H
#define ARCP_TESTS_WEB_FEED_H

#include <stdlib.h>

#include "web/body.h"

/* Feeds a head in pieces of at most `piece` bytes, up to its end or the end of the bytes; *rest is
 * what remains. Aborts if input remains although the reader wants more. */
static inline arcp__web_result web_feed_head(arcp__web_head *head, arcp_span bytes, size_t piece,
                                             arcp_span *rest)
{
    arcp__web_result result = ARCP__WEB_MORE;
    while (bytes.size > 0 && result == ARCP__WEB_MORE) {
        arcp_span input = arcp_span_first(bytes, piece);
        const size_t before = input.size;
        result = arcp__web_head_feed(head, &input);
        bytes = arcp_span_from(bytes, before - input.size);
        if (result == ARCP__WEB_MORE && input.size != 0) {
            abort();
        }
    }
    *rest = bytes;
    return result;
}

/* The same for a body, whose bytes are appended to *data. An empty body ends without input. */
static inline arcp__web_result web_feed_body(arcp__web_body *body, arcp_span bytes, size_t piece,
                                             arcp_buf *data, arcp_span *rest)
{
    arcp_span taken = {NULL, 0};
    arcp_span none = {NULL, 0};
    arcp__web_result result = arcp__web_body_feed(body, &none, &taken);
    while (bytes.size > 0 && result == ARCP__WEB_MORE) {
        arcp_span input = arcp_span_first(bytes, piece);
        const size_t before = input.size;
        result = arcp__web_body_feed(body, &input, &taken);
        arcp_buf_append(data, taken);
        bytes = arcp_span_from(bytes, before - input.size);
    }
    *rest = bytes;
    return result;
}

#endif
