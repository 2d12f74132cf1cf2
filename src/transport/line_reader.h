/* From bytes to lines, under a limit. No I/O. */
#ifndef ARCP_TRANSPORT_LINE_READER_H
#define ARCP_TRANSPORT_LINE_READER_H

#include <stdbool.h>

#include <arcp/buf.h>
#include <arcp/span.h>

/* Zero-initialise, then set line_bytes_max. */
typedef struct arcp__line_reader {
    arcp_buf partial;      /* a line whose end has not come yet */
    size_t line_bytes_max; /* without its end; less than SIZE_MAX */
    bool partial_is_given;
    bool broken;
} arcp__line_reader;

typedef enum arcp__line_event {
    ARCP__LINE_NONE, /* all input is used up */
    ARCP__LINE,
    ARCP__LINE_TOO_LONG,
    ARCP__LINE_NO_MEMORY
} arcp__line_event;

/* The next line that is not blank, without "\n" or "\r\n"; takes bytes off *input. *line
 * is valid until the next call. After an error there are no more lines. */
arcp__line_event arcp__line_reader_next(arcp__line_reader *reader, arcp_span *input,
                                        arcp_span *line);

/* What is left at the end of the input, as a line. */
arcp__line_event arcp__line_reader_last(arcp__line_reader *reader, arcp_span *line);

void arcp__line_reader_fini(arcp__line_reader *reader);

#endif
