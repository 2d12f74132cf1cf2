/* Where a job's result goes: standard output or a file, as text or not at all. */
#ifndef ARCP_ARCP_RESULT_WRITER_H
#define ARCP_ARCP_RESULT_WRITER_H

#include "cli/program.h"

typedef struct arcp__result_writer {
    arcp__program *program;
    const char *path; /* NULL: standard output */
    int fd;           /* of the file, -1 without */
    bool is_fresh;    /* nothing was written yet: an older file is still whole */
    bool discards;    /* --json without --output: the chunks are among the events */
    bool is_shown;    /* on a terminal, which must not be controlled by what it shows */
    arcp_buf held;    /* the beginning of a character of which more may come */
    char last;        /* the last byte that went to standard output */
} arcp__result_writer;

/* Opens the file, without emptying it yet. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__result_writer_open(arcp__result_writer *writer,
                                                     arcp__program *program, const char *path,
                                                     arcp_error *err);
/* The sink for a streamed result. */
arcp_result_sink arcp__result_writer_sink(arcp__result_writer *writer);
/* Writes an inline result, or ends a streamed one. A string as it is, anything else as JSON; on
 * a terminal control characters are shown as escapes.
 * False when something could not be written, which was said. */
bool arcp__result_writer_finish(arcp__result_writer *writer, const arcp_outcome *outcome);
void arcp__result_writer_close(arcp__result_writer *writer);

#endif
