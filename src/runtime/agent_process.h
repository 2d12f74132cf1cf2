/* One running program on the loop: its pipes, its lines, its end. */
#ifndef ARCP_RUNTIME_AGENT_PROCESS_H
#define ARCP_RUNTIME_AGENT_PROCESS_H

#include <arcp/buf.h>
#include <arcp/sys/launcher.h>

#include "runtime/process_table.h"

#define ARCP__PROCESS_JOB_SIZE 64 /* a job's id and its NUL */

typedef struct arcp__agent_process arcp__agent_process;

/* What it tells its owner, on the loop's thread, never from inside a call on it. The owner
 * may free it in any of them; none follows then. */
typedef struct arcp__agent_process_callbacks {
    /* A line of standard output, without line feed; all lines of one read in one go. */
    void (*line)(void *user, arcp_span line);
    /* A line was over the limit (ARCP_E_LIMIT) or found no memory (ARCP_E_NO_MEMORY); its
     * output is read on and thrown away. */
    void (*line_refused)(void *user, arcp_status why);
    void (*output)(void *user, arcp_span bytes); /* instead of lines, when plain */
    void (*log)(void *user, arcp_span line);     /* of standard error; cut at 64 KiB */
    /* It is gone and everything it wrote was delivered; the last callback. `stderr_tail`:
     * at most the last 2 KiB of standard error, beginning at a character. */
    void (*exited)(void *user, const arcp_process_exit *end, arcp_span stderr_tail);
    void *user;
} arcp__agent_process_callbacks;

/* What to run. Borrowed during start. */
typedef struct arcp__agent_spec {
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* NULL-terminated, complete */
    const char *cwd;         /* NULL: ours */
    bool makes_cwd;          /* it is made (0700, the user's), and removed after the end */
    const char *user;        /* NULL: ours */
    const arcp_launch_limit *limits;
    size_t limit_count;
    bool is_plain;
    size_t line_bytes_max;
    size_t input_bytes_max; /* unread input from which on write refuses; 0: 16 MiB */
} arcp__agent_spec;

/* Starts a program and notes it in the table's directory. What it writes before
 * set_callbacks is not read. Blocks for about a millisecond (see arcp/sys/launcher.h). */
ARCP_MUST_CHECK arcp_status arcp__agent_process_start(arcp__process_table *table,
                                                      const arcp__agent_spec *spec,
                                                      arcp__agent_process **out, arcp_error *err);

/* Begins to read it (standard output not while it is paused); again: somebody else is told
 * from now on. */
void arcp__agent_process_set_callbacks(arcp__agent_process *process,
                                       const arcp__agent_process_callbacks *callbacks);

/* Which job it does now: what the job leaves behind is found by it. Cut at 63 bytes. */
void arcp__agent_process_set_job(arcp__agent_process *process, arcp_span job);

/* Gives the directory that was made for it another name; it notices nothing. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_move_directory(arcp__agent_process *process,
                                                               const char *path, arcp_error *err);

/* Writes a line to its standard input (the line feed is added), or queues what the pipe
 * does not take. Never blocks. ARCP_E_LIMIT when more than input_bytes_max are queued
 * already, ARCP_E_NO_MEMORY. A program that closed its input is no error. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_write(arcp__agent_process *process, arcp_span line);
/* The same for bytes as they are, then the end of its input. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_write_last(arcp__agent_process *process,
                                                           arcp_span bytes);

/* Stops and resumes reading its standard output (and standard error, when plain): a full
 * pipe holds it back. What the current turn of the loop has room for, of what was read already, is
 * delivered all the same. */
void arcp__agent_process_pause(arcp__agent_process *process, bool paused);

/* SIGTERM to its group now, SIGKILL 5 s later; again: nothing more. */
void arcp__agent_process_terminate(arcp__agent_process *process);

/* SIGKILL to its group now; `exited` follows. */
void arcp__agent_process_kill(arcp__agent_process *process);

/* Whether it is gone, also when its owner was not told yet. */
bool arcp__agent_process_has_ended(const arcp__agent_process *process);

pid_t arcp__agent_process_pid(const arcp__agent_process *process);

/* Kills its group when it still runs, makes no further callback, and frees itself when the
 * loop has seen its end. NULL is accepted. */
void arcp__agent_process_free(arcp__agent_process *process);

#endif
