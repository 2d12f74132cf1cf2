/* An input that is made of lines. */
#ifndef ARCP_FUZZ_LINES_H
#define ARCP_FUZZ_LINES_H

#include <string.h>

#include <arcp/span.h>

/* The part of `rest` before `end`; `rest` continues after it, and has no data if there was no
 * `end`. */
static inline arcp_span take_until(arcp_span *rest, char end)
{
    const char *found = rest->size == 0 ? NULL : memchr(rest->data, end, rest->size);
    const size_t size = found == NULL ? rest->size : (size_t)(found - rest->data);
    const arcp_span taken = arcp_span_first(*rest, size);
    *rest = found == NULL ? arcp_span_make(NULL, 0) : arcp_span_from(*rest, size + 1);
    return taken;
}

static inline arcp_span take_line(arcp_span *rest)
{
    return take_until(rest, '\n');
}

/* Writes the first lines of a text, at most `most`; returns their number. */
static inline size_t cut_lines(arcp_span text, arcp_span *lines, size_t most)
{
    size_t count = 0;
    do {
        lines[count++] = take_line(&text);
    } while (count < most && text.data != NULL);
    return count;
}

#endif
