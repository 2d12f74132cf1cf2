/* Private to agent_process*.c and process_*.c. */
#ifndef ARCP_RUNTIME_AGENT_PROCESS_STATE_H
#define ARCP_RUNTIME_AGENT_PROCESS_STATE_H

#include "runtime/agent_process.h"
#include "runtime/turn_share.h"

/* What a program writes to, and what of it was read and is not delivered yet. */
typedef struct arcp__agent_stream {
    uv_pipe_t pipe;
    arcp_buf left;  /* beyond the share of a turn; nothing more is read before it is delivered */
    size_t drained; /* bytes read since the program's end */
    bool ended;
} arcp__agent_stream;

struct arcp__agent_process {
    arcp__agent_process *prev, *next; /* in the table, until its end was taken */
    arcp__agent_process *previous_resting, *next_resting;
    arcp__process_table *table;       /* a reference */
    arcp_process *process;            /* owned */
    char *directory;                  /* owned; to be removed; NULL: not ours */
    unsigned cgroup;                  /* its number; 0: none of its own */
    char job[ARCP__PROCESS_JOB_SIZE]; /* "" before it has one */

    uv_pipe_t input;
    arcp__agent_stream output, errors;
    arcp__turn_share share; /* of both */
    uv_poll_t exit;
    uv_timer_t timer; /* first the kill's, then the drain's */
    unsigned open_handles;

    arcp__agent_process_callbacks callbacks;
    bool has_callbacks;
    bool is_plain;
    bool is_paused;
    bool is_resting; /* it had its share of the turn */
    bool is_taken;   /* its end is known */
    bool is_terminating;
    bool is_told;  /* exited was called, or nobody wants it */
    bool is_freed; /* by its owner */
    bool input_closed;
    bool skips_output; /* a line was refused */
    size_t line_bytes_max, input_bytes_max;
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
/* In the table's next turn: delivers what was left, and reads on. */
void arcp__agent_process_go_on(arcp__agent_process *process);
/* Delivers lines that end with the output. */
void arcp__agent_process_flush(arcp__agent_process *process);
/* At most the last 2 KiB of standard error. */
arcp_span arcp__agent_process_tail(const arcp__agent_process *process);

#endif
