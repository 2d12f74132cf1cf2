#include "mcp/mcp.h"

#include "base/blank.h"

/* A larger buffer is not kept for the next line. */
#define KEPT_BYTES_MAX 65536

static void forget_given(arcp__mcp_lines *lines)
{
    if (lines->is_given && lines->partial.capacity > KEPT_BYTES_MAX) {
        arcp_buf_fini(&lines->partial);
    } else if (lines->is_given) {
        arcp_buf_clear(&lines->partial);
    }
    lines->is_given = false;
}

static void skip(arcp__mcp_lines *lines, arcp_span piece)
{
    if (!lines->is_skipping) {
        lines->is_skipping = true;
        lines->skim = (arcp__mcp_skim){0};
        arcp__mcp_skim_feed(&lines->skim, arcp_buf_span(&lines->partial));
        arcp_buf_fini(&lines->partial);
    }
    arcp__mcp_skim_feed(&lines->skim, piece);
}

/* The end of the line whose last piece this is. */
static arcp__mcp_line_event finish(arcp__mcp_lines *lines, arcp_span piece, arcp_span *line)
{
    if (lines->is_skipping) {
        lines->is_skipping = false;
        *line = arcp__mcp_skim_id(&lines->skim);
        return ARCP__MCP_LINE_TOO_LONG;
    }
    *line = piece;
    if (lines->partial.size != 0) {
        lines->is_given = true;
        *line = arcp_buf_span(&lines->partial);
    }
    return arcp__skip_blanks(*line).size == 0 ? ARCP__MCP_LINE_NONE : ARCP__MCP_LINE;
}

arcp__mcp_line_event arcp__mcp_lines_next(arcp__mcp_lines *lines, arcp_span *input, arcp_span *line)
{
    arcp__mcp_line_event event = ARCP__MCP_LINE_NONE;
    forget_given(lines);
    while (input->size > 0 && event == ARCP__MCP_LINE_NONE) {
        const char *end = memchr(input->data, '\n', input->size);
        const size_t size = end == NULL ? input->size : (size_t)(end - input->data);
        const arcp_span piece = arcp_span_first(*input, size);
        *input = arcp_span_from(*input, end == NULL ? size : size + 1);
        forget_given(lines); /* a blank line */
        if (lines->is_skipping || size > ARCP__MCP_LINE_BYTES_MAX - lines->partial.size) {
            skip(lines, piece);
        } else if (end == NULL || lines->partial.size != 0) {
            arcp_buf_append(&lines->partial, piece);
        }
        if (lines->partial.failed) {
            return ARCP__MCP_LINE_NO_MEMORY;
        }
        if (end != NULL) {
            event = finish(lines, piece, line);
        }
    }
    return event;
}

arcp__mcp_line_event arcp__mcp_lines_last(arcp__mcp_lines *lines, arcp_span *line)
{
    forget_given(lines);
    return lines->is_skipping || lines->partial.size != 0
               ? finish(lines, arcp_span_make(NULL, 0), line)
               : ARCP__MCP_LINE_NONE;
}

void arcp__mcp_lines_fini(arcp__mcp_lines *lines)
{
    arcp_buf_fini(&lines->partial);
}
