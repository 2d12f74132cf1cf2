/* An input that is made of lines. */
#ifndef ARCP_FUZZ_LINES_H
#define ARCP_FUZZ_LINES_H

#include <string.h>

#include <arcp/span.h>

/* What stands in `rest` before `end`; `rest` goes on behind it, and has no data where there was
 * no `end`. */
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

/* The first lines of a text, at most `most`; how many. */
static inline size_t cut_lines(arcp_span text, arcp_span *lines, size_t most)
{
    size_t count = 0;
    do {
        lines[count++] = take_line(&text);
    } while (count < most && text.data != NULL);
    return count;
}

#endif
