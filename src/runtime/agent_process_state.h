/* Private to agent_process*.c and process_*.c. */
#ifndef ARCP_RUNTIME_AGENT_PROCESS_STATE_H
#define ARCP_RUNTIME_AGENT_PROCESS_STATE_H

#include "runtime/agent_process.h"

struct arcp__agent_process {
    arcp__agent_process *prev, *next; /* in the table, until its end was taken */
    arcp__process_table *table;       /* a reference */
    arcp_process *process;            /* owned */
    char *directory;                  /* owned; to be removed; NULL: not ours */
    unsigned cgroup;                  /* its number; 0: none of its own */
    char job[ARCP__PROCESS_JOB_SIZE]; /* "" before it has one */

    uv_pipe_t input, output, errors;
    uv_poll_t exit;
    uv_timer_t timer; /* first the kill's, then the drain's */
    unsigned open_handles;

    arcp__agent_process_callbacks callbacks;
    bool has_callbacks;
    bool is_plain;
    bool is_paused;
    bool is_taken; /* its end is known */
    bool is_terminating;
    bool is_told;  /* exited was called, or nobody wants it */
    bool is_freed; /* by its owner */
    bool input_closed;
    bool output_ended, errors_ended;
    bool skips_output; /* a line was refused */
    size_t line_bytes_max, input_bytes_max;
    size_t drained; /* bytes of output read since the end */
    arcp_process_exit end;
    arcp_buf line; /* a line that is not complete yet */
    arcp_buf error_line;
    arcp_buf tail; /* the last bytes of standard error */
};

/* ---- agent_process.c ---- */
/* Tells the owner of the end when everything is read. */
void arcp__agent_process_finish(arcp__agent_process *process);
void arcp__agent_process_close_handle(uv_handle_t *handle);

/* ---- agent_process_output.c ---- */
/* Reads what may be read now. */
void arcp__agent_process_read(arcp__agent_process *process);
/* Delivers lines that end with the output. */
void arcp__agent_process_flush(arcp__agent_process *process);
/* At most the last 2 KiB of standard error. */
arcp_span arcp__agent_process_tail(const arcp__agent_process *process);

#endif
