/* Splits bytes into lines of limited length. No I/O. */
#ifndef ARCP_TRANSPORT_LINE_READER_H
#define ARCP_TRANSPORT_LINE_READER_H

#include <stdbool.h>

#include <arcp/buf.h>
#include <arcp/span.h>

/* Zero-initialise, then set line_bytes_max. */
typedef struct arcp__line_reader {
    arcp_buf partial;      /* an incomplete line */
    size_t line_bytes_max; /* without its end; less than SIZE_MAX */
    bool partial_is_given;
    bool broken;
} arcp__line_reader;

typedef enum arcp__line_event {
    ARCP__LINE_NONE, /* all input is consumed */
    ARCP__LINE,
    ARCP__LINE_TOO_LONG,
    ARCP__LINE_NO_MEMORY
} arcp__line_event;

/* The next line that is not blank, without "\n" or "\r\n"; consumes bytes of *input. *line is valid
 * until the next call. After an error no more lines are returned. */
arcp__line_event arcp__line_reader_next(arcp__line_reader *reader, arcp_span *input,
                                        arcp_span *line);

/* The last line, if the input ends without a line feed. */
arcp__line_event arcp__line_reader_last(arcp__line_reader *reader, arcp_span *line);

void arcp__line_reader_fini(arcp__line_reader *reader);

#endif
