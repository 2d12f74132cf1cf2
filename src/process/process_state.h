/* What the files of this folder know of a table and of the programs in it. */
#ifndef ARCP_PROCESS_PROCESS_STATE_H
#define ARCP_PROCESS_PROCESS_STATE_H

#include "base/turn_share.h"
#include "launch/cgroups.h"
#include "process/process.h"
#include "process/process_starter.h"
#include "process/work_directory.h"

#define ARCP__READ_BYTES       65536u
#define ARCP__PROCESS_JOB_SIZE 64 /* a job's id and its NUL */

struct arcp__process_table {
    uv_loop_t *loop;
    arcp_launcher *launcher;         /* owned */
    arcp__starter *starter;          /* owned */
    arcp__work_directory *directory; /* owned or NULL */
    size_t swept;                    /* when that was opened */
    arcp__cgroups *cgroups;          /* owned or NULL */
    uint32_t kill_after_ms, drain_ms, orphan_ms;
    arcp__agent_process *processes; /* not waited for yet */
    size_t count;
    size_t refs;       /* of the owner, of each process, of each handle below */
    char *read_buffer; /* owned; ARCP__READ_BYTES; filled and used within one callback */
    bool adopts;       /* orphans become our children */
    bool reaps_later;  /* when no start is under way: a child that ended may be that one */
    bool is_freed;
    uv_timer_t orphan_timer;
    arcp_buf ended; /* jobs whose process is gone since orphans were looked for: their ids, each
                       with NULs behind it to ARCP__PROCESS_JOB_SIZE bytes */

    /* A turn ends when the loop has looked for input. Who had its share of one goes on in the next,
     * and the loop does not sleep before. */
    arcp__turn turn;
    uv_check_t turning;
    uv_idle_t waking;
    arcp__agent_process *resting; /* the longest first */
    size_t resting_count;
};

/* What a program writes to, and what of it was read and is not delivered yet. */
typedef struct arcp__agent_stream {
    uv_pipe_t pipe;
    arcp_buf line;  /* one that is not complete yet */
    arcp_buf left;  /* beyond the share of a turn; nothing more is read before it is delivered */
    size_t drained; /* bytes read since the program's end */
    bool ended;
} arcp__agent_stream;

struct arcp__agent_process {
    arcp__agent_process *prev, *next; /* in the table, until its end was taken */
    arcp__agent_process *previous_resting, *next_resting;
    arcp__process_pool *pool; /* in which it waited for a job; may be gone when it does not */
    arcp__agent_process *next_waiting;
    arcp__process_table *table;       /* a reference */
    arcp_process *process;            /* owned; NULL: it is being started, or could not be */
    int theirs[3], cgroup_fd;         /* the program's descriptors, while it is being started */
    char *directory;                  /* owned; to be removed; NULL: not ours */
    unsigned cgroup;                  /* its number; 0: none of its own */
    char job[ARCP__PROCESS_JOB_SIZE]; /* "" before it has one */

    uv_pipe_t input;
    arcp__agent_stream output, errors;
    arcp__turn_share share; /* of both */
    uv_poll_t exit;
    uv_timer_t timer;   /* first the kill's, then the drain's */
    uv_work_t cleaning; /* of its directory, in the end */
    unsigned open_handles;

    arcp__agent_process_callbacks callbacks;
    bool is_plain;
    bool is_paused;
    bool is_resting; /* it had its share of the turn */
    bool is_taken;   /* its end is known, or it could not be started */
    bool is_terminating;
    bool is_killed;
    bool is_told;  /* exited was called, or nobody wants it */
    bool is_freed; /* by its owner */
    bool input_closed;
    bool skips_output; /* a line was refused */
    size_t line_bytes_max, input_bytes_max;
    arcp_process_exit end;
    arcp_buf tail; /* the last bytes of standard error */
};

/* ---- process_table.c ---- */
void arcp__process_table_unref(arcp__process_table *table);
/* The process is not read, and nothing of it is delivered, until the next turn. */
void arcp__process_table_rest(arcp__agent_process *process);
/* It does not rest (any more). */
void arcp__process_table_resume(arcp__agent_process *process);

/* A process of this job is gone: what it left outside its group is looked for, and killed. */
void arcp__process_table_expect_orphans(arcp__process_table *table,
                                        const char job[ARCP__PROCESS_JOB_SIZE]);

/* ---- agent_process.c ---- */
/* The start of a program is over (arcp__start_done_fn). */
void arcp__agent_process_started(arcp__start *start);
/* When it has ended, does what is to be done then. False when it still runs. */
bool arcp__agent_process_check(arcp__agent_process *process);

/* ---- agent_process_output.c ---- */
/* Reads what may be read now. */
void arcp__agent_process_read(arcp__agent_process *process);
/* In the table's next turn: delivers what was left, and reads on. */
void arcp__agent_process_go_on(arcp__agent_process *process);
/* Tells the owner of the end when everything is read. */
void arcp__agent_process_finish(arcp__agent_process *process);

#endif
