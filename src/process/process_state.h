/* The structs of tables and processes, private to this folder. */
#ifndef ARCP_PROCESS_PROCESS_STATE_H
#define ARCP_PROCESS_PROCESS_STATE_H

#include "base/turn_share.h"
#include "launch/cgroups.h"
#include "launch/launcher_control.h"
#include "process/process.h"
#include "process/process_children.h"
#include "process/process_starter.h"
#include "process/work_directory.h"

#define ARCP__READ_BYTES       65536u
#define ARCP__PROCESS_JOB_SIZE 64 /* a job's id and its NUL */

struct arcp__process_table {
    uv_loop_t *loop;
    arcp_launcher *launcher;         /* owned */
    arcp__starter *starter;          /* owned */
    arcp__work_directory *directory; /* owned or NULL */
    uint64_t last_number;            /* of a name */
    size_t swept;                    /* orphans that were killed when it was opened */
    arcp__cgroups *cgroups;          /* owned or NULL */
    uint32_t kill_after_ms, drain_ms, orphan_ms;
    int oom_score_more;
    arcp__agent_process *processes; /* not waited for yet */
    size_t refs;                    /* of the owner, of each process, of each handle below */
    char *read_buffer;              /* owned; ARCP__READ_BYTES; used within one callback */
    bool adopts;                    /* orphans become our children */
    bool reaps_later; /* once no start is in progress, or soon: an ended child may be the one that
                         is being started, or is another table's */
    bool is_freed;
    uv_timer_t orphan_timer;
    uv_timer_t reap_timer;
    arcp_buf ended; /* ids of jobs whose process has ended since the last search for orphans, each
                       padded with NULs to ARCP__PROCESS_JOB_SIZE bytes */

    /* A turn ends when the loop has polled for input. A process that used its share rests until the
     * next turn; while one rests, the loop does not sleep. */
    arcp__turn turn;
    uv_check_t turn_check;
    uv_idle_t keep_awake;
    arcp__agent_process *resting; /* in the order in which they began to rest */
    size_t resting_count;
};

/* The sandbox of a process. */
typedef struct arcp__process_sandbox {
    uv_poll_t poll;               /* of the control socket */
    arcp__launch_control control; /* our end of the socket */
    int theirs;                   /* the sandbox's end of the socket, while it is being started */
    bool has_processes;           /* of its own: killing the monitor ends all of them */
    bool has_network;             /* its sockets must arrive before it runs */
    bool awaits_lease;            /* its plan is late, and it has no lease yet */
    int *kept; /* owned array: listeners that its owner has not taken yet; or NULL */
    size_t kept_count;
    char *scratch;    /* owned; removed at the end; NULL: none was created */
    const char *step; /* of the set-up that failed; static; NULL: none */
    arcp_buf failure; /* the text of that failure */
} arcp__process_sandbox;

/* An output of a program, and what was read but not delivered yet. */
typedef struct arcp__agent_stream {
    uv_pipe_t pipe;
    arcp_buf line;  /* an incomplete line */
    arcp_buf left;  /* read beyond the share of a turn; delivered before more is read */
    size_t drained; /* bytes read after the program's end */
    bool ended;
} arcp__agent_stream;

struct arcp__agent_process {
    arcp__agent_process *prev, *next; /* in the table, until it was reaped */
    arcp__agent_process *previous_resting, *next_resting;
    arcp__process_pool *pool; /* valid only while it waits in the pool */
    arcp__agent_process *next_waiting;
    arcp__process_table *table; /* a reference */
    arcp_process *process;      /* owned; NULL: it is being started, or could not be */
    int theirs[3], cgroup_fd;   /* the program's descriptors, while it is being started */
    int limit_fds[ARCP__CGROUP_LIMITS];
    char *directory;                  /* owned; removed at the end; NULL: none was created */
    unsigned cgroup;                  /* its number; 0: none of its own */
    char job[ARCP__PROCESS_JOB_SIZE]; /* "" before it has one */

    uv_pipe_t input;
    arcp__agent_stream output, errors;
    arcp__turn_share share; /* of both outputs */
    uv_poll_t exit;
    arcp__process_sandbox *sandbox; /* owned; NULL: it is not confined */
    uv_timer_t timer;               /* SIGKILL after SIGTERM, then the end of draining */
    uv_work_t cleaning;             /* removes the directory */
    unsigned open_handles;

    arcp__agent_process_callbacks callbacks;
    bool is_plain;
    bool is_paused;
    bool is_resting; /* it has used its share of the turn */
    bool is_reaped;  /* it was reaped: `end` is known; or it could not be started */
    bool is_terminating;
    bool is_killed;
    unsigned kill_calls; /* of arcp__sandbox_kill */
    bool has_run_out;    /* the kernel has killed a process of it at the limit of memory */
    bool is_reported;    /* `exited` was called, or the owner has freed it, or it could not start */
    bool is_freed;       /* by its owner */
    bool input_closed;
    bool skips_output; /* a line was refused */
    size_t line_bytes_max, input_bytes_max;
    arcp_process_exit end;
    arcp_buf tail; /* the last bytes of standard error */
};

/* ---- process_table.c ---- */
void arcp__process_table_unref(arcp__process_table *table);
/* Lets the process rest: it is not read, and nothing is delivered, until the next turn. */
void arcp__process_table_rest(arcp__agent_process *process);
/* Ends its rest, if it rests. */
void arcp__process_table_resume(arcp__agent_process *process);

/* Called when a process of this job has ended: orphans that it left will be searched and killed. */
void arcp__process_table_expect_orphans(arcp__process_table *table,
                                        const char job[ARCP__PROCESS_JOB_SIZE]);

/* ---- agent_process.c ---- */
/* Called when a start has succeeded or failed (arcp__start_done_fn). */
void arcp__agent_process_started(arcp__start *start);
/* Reaps the process if it has ended. False if it still runs. */
bool arcp__agent_process_check(arcp__agent_process *process);

/* Called for each of its handles when that is closed. */
void arcp__agent_process_handle_closed(uv_handle_t *handle);

/* ---- process_sandbox.c ---- */
/* Makes what the process needs to be confined, but does not watch the socket yet. */
ARCP_MUST_CHECK arcp_status arcp__process_sandbox_new(const arcp__process_confinement *confinement,
                                                      const char *user, arcp__process_sandbox **out,
                                                      arcp_error *err);
/* The handle of the socket is not open, or was closed. Removes nothing. NULL is accepted. */
void arcp__process_sandbox_free(arcp__process_sandbox *sandbox);
/* Watches the socket: one more open handle of the process. */
void arcp__process_sandbox_watch(arcp__agent_process *process);
/* Closes the sandbox's end of the socket, which has its copy or will never be started. */
void arcp__process_sandbox_close_theirs(arcp__process_sandbox *sandbox);
/* Takes the records that are left after the end of the process. */
void arcp__process_sandbox_drain(arcp__agent_process *process);

/* ---- agent_process_output.c ---- */
/* Starts or stops reading the outputs, depending on the state of the process. */
void arcp__agent_process_read(arcp__agent_process *process);
/* After a rest: delivers what was read before, and continues to read. */
void arcp__agent_process_continue(arcp__agent_process *process);
/* Calls `exited` once the process was reaped and all output was delivered. */
void arcp__agent_process_finish(arcp__agent_process *process);

/* Takes a cgroup with the limits of the process, if it has any, and passes it to the launcher; the
 * descriptors are closed when the process has been started. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_take_cgroup(arcp__agent_process *process,
                                                            const arcp__process_spec *spec,
                                                            arcp_launch_spec *launch,
                                                            arcp_error *err);

#endif
