#include "transport/line_reader.h"

#include "base/blank.h"

static arcp__line_event fail(arcp__line_reader *reader, arcp__line_event event)
{
    reader->broken = true;
    arcp_buf_fini(&reader->partial);
    return event;
}

/* A complete line: NONE when it is blank. */
static arcp__line_event finish(arcp__line_reader *reader, arcp_span text, arcp_span *line)
{
    if (text.size > 0 && text.data[text.size - 1] == '\r') {
        text.size--;
    }
    if (text.size > reader->line_bytes_max) {
        return fail(reader, ARCP__LINE_TOO_LONG);
    }
    *line = text;
    return arcp__skip_blanks(text).size == 0 ? ARCP__LINE_NONE : ARCP__LINE;
}

static void forget_given(arcp__line_reader *reader)
{
    if (reader->partial_is_given) {
        reader->partial_is_given = false;
        arcp_buf_fini(&reader->partial);
    }
}

arcp__line_event arcp__line_reader_next(arcp__line_reader *reader, arcp_span *input,
                                        arcp_span *line)
{
    arcp__line_event event = ARCP__LINE_NONE;
    forget_given(reader);
    while (input->size > 0 && !reader->broken && event == ARCP__LINE_NONE) {
        const char *end = memchr(input->data, '\n', input->size);
        const size_t size = end == NULL ? input->size : (size_t)(end - input->data);
        arcp_span text = arcp_span_first(*input, size);
        *input = arcp_span_from(*input, end == NULL ? size : size + 1);
        if (end == NULL || reader->partial.size > 0) {
            /* One more byte may be the carriage return of a line that just fits. */
            if (text.size > reader->line_bytes_max + 1 - reader->partial.size) {
                event = fail(reader, ARCP__LINE_TOO_LONG);
                break;
            }
            arcp_buf_append(&reader->partial, text);
            if (reader->partial.failed) {
                event = fail(reader, ARCP__LINE_NO_MEMORY);
                break;
            }
            reader->partial_is_given = end != NULL;
            text = arcp_buf_span(&reader->partial);
        }
        if (end != NULL) {
            event = finish(reader, text, line);
        }
        if (event == ARCP__LINE_NONE) {
            forget_given(reader);
        }
    }
    if (reader->broken) {
        *input = arcp_span_from(*input, input->size);
    }
    return event;
}

arcp__line_event arcp__line_reader_last(arcp__line_reader *reader, arcp_span *line)
{
    forget_given(reader);
    if (reader->broken || reader->partial.size == 0) {
        return ARCP__LINE_NONE;
    }
    reader->partial_is_given = true;
    return finish(reader, arcp_buf_span(&reader->partial), line);
}

void arcp__line_reader_fini(arcp__line_reader *reader)
{
    arcp_buf_fini(&reader->partial);
}
