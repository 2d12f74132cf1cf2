/* Reading a validated JSON string character by character. */
#ifndef ARCP_JSON_JSON_UNESCAPE_H
#define ARCP_JSON_JSON_UNESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include <arcp/span.h>

/* A position inside a string's text, quotes included, that was validated before. */
typedef struct arcp__json_reader {
    const char *at;
    const char *end; /* the closing quote */
} arcp__json_reader;

static inline arcp__json_reader arcp__json_reader_make(arcp_span quoted)
{
    arcp__json_reader reader = {quoted.data + 1, quoted.data + quoted.size - 1};
    return reader;
}

/* The next run of unescaped bytes: 1 to 4 of them in `out` for an escape, else one. 0 at
 * the end. */
size_t arcp__json_read(arcp__json_reader *reader, char out[4]);

/* Whether two strings (with quotes, validated) are equal after unescaping. */
bool arcp__json_same_string(arcp_span a, arcp_span b);

#endif
