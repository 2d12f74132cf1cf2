/* What is read of a line of a served process, and what is written to one. */
#ifndef ARCP_PROCESS_SERVED_LINE_H
#define ARCP_PROCESS_SERVED_LINE_H

#include <stdbool.h>

#include "json/json.h"

typedef struct arcp__served_line {
    arcp_span job_id; /* as it is written, borrowed from the line */
    bool is_last;     /* its type is job.result or job.error */
} arcp__served_line;

/* ARCP_E_INVALID_REQUEST: the line is not an object with a job_id that is a string and not empty.
 * ARCP_E_NO_MEMORY. `json` is reused from line to line. */
ARCP_MUST_CHECK arcp_status arcp__served_line_read(arcp_json *json, arcp_span line,
                                                   arcp__served_line *out);

/* Appends a line, which is an object that is not empty, with the id as its first member. */
void arcp__served_line_write(arcp_span line, const char *job_id, arcp_buf *out);

#endif
