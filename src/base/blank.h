/* White space of JSON, and of lines. */
#ifndef ARCP_BASE_BLANK_H
#define ARCP_BASE_BLANK_H

#include <stdbool.h>

#include <arcp/span.h>

static inline bool arcp__is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* The text without the white space at its beginning; empty if there is nothing else. */
static inline arcp_span arcp__skip_blanks(arcp_span text)
{
    size_t i = 0;
    while (i < text.size && arcp__is_blank(text.data[i])) {
        i++;
    }
    return arcp_span_from(text, i);
}

#endif
