/* Programs that run on one loop: the table that they are in, one program, programs that wait for
 * work, and the environment that a program gets. The one header of this folder for others; how a
 * process is started is another's (arcp/sys/launcher.h).
 *
 * Everything belongs to the loop's thread. */
#ifndef ARCP_PROCESS_PROCESS_H
#define ARCP_PROCESS_PROCESS_H

#include <uv.h>

#include <arcp/buf.h>
#include <arcp/sys/launcher.h>

#include "base/arena.h"

/* ---- the table ----
 *
 * The processes of one owner: how they are started, where they work, and which they are, so that
 * orphans can be told from them. */

typedef struct arcp__process_table arcp__process_table;

typedef struct arcp__process_table_options {
    uv_loop_t *loop;
    arcp_launcher *launcher;    /* taken over; NULL: the direct one */
    const char *work_directory; /* where this run makes its own directory; NULL: none, and no
                                   process is noted */
    bool makes_cgroups;         /* one for each process, where that can be done */
    uint32_t kill_after_ms;     /* from SIGTERM to SIGKILL; 0: 5 s */
    uint32_t drain_ms;          /* how long output is read after the end; 0: 1 s */
    uint32_t orphan_ms;         /* from a job's end to looking for orphans; 0: 1 s */
} arcp__process_table_options;

/* Ends first what earlier runs left in `work_directory`, which is made when only that is missing.
 * On failure nothing was taken over. */
ARCP_MUST_CHECK arcp_status arcp__process_table_new(const arcp__process_table_options *options,
                                                    arcp__process_table **out, arcp_error *err);

/* Ends what still runs, without a word to its owner. Memory, launcher and directory go with
 * the last process, when the loop has seen its end. NULL is accepted. */
void arcp__process_table_free(arcp__process_table *table);

/* This run's directory, an absolute path, for the directories of jobs; NULL: none. Lives as long
 * as the table. */
const char *arcp__process_table_directory(const arcp__process_table *table);

/* Processes or groups of earlier runs that were killed at the start. */
size_t arcp__process_table_swept(const arcp__process_table *table);

/* Processes that have not been waited for yet. */
size_t arcp__process_table_count(const arcp__process_table *table);

/* For a program that adopts orphans (a child subreaper, or the first process of a
 * container), on SIGCHLD: waits for every child that has ended. Ours are told to their
 * owners as usual; the others are forgotten. */
void arcp__process_table_reap(arcp__process_table *table);

/* For a program that adopts orphans and has no children but agents, when it ends: kills every
 * child, and theirs when they become its own, and waits for them, for at most two seconds. */
void arcp__process_table_end_children(void);

/* ---- one program: its pipes, its lines, its end ---- */

typedef struct arcp__agent_process arcp__agent_process;

/* What it tells its owner, on the loop's thread, never from inside a call on it. The owner
 * may free it in any of them; none follows then. */
typedef struct arcp__agent_process_callbacks {
    /* It runs; or it could not be started, and why: then nothing else follows. The first one. */
    void (*started)(void *user, arcp_status status, const char *why);
    /* A line of standard output, without line feed; all lines of one read in one go. NULL, as
     * line_refused may be too: thrown away. */
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
typedef struct arcp__process_spec {
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
} arcp__process_spec;

/* Begins to start a program, which the table's thread does, and notes it in the table's directory.
 * What is written to it meanwhile waits for it. ARCP_E_IO or ARCP_E_NO_MEMORY when that cannot
 * begin; what the launcher has to say comes by `started`. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_start(
    arcp__process_table *table, const arcp__process_spec *spec,
    const arcp__agent_process_callbacks *callbacks, arcp__agent_process **out, arcp_error *err);

/* Others are told from now on. */
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

/* 0 before it was started. */
pid_t arcp__agent_process_pid(const arcp__agent_process *process);

/* Kills its group when it still runs, makes no further callback, and frees itself when the
 * loop has seen its end. NULL is accepted. */
void arcp__agent_process_free(arcp__agent_process *process);

/* ---- a pool ----
 *
 * Processes that are started and wait for a job: an interpreter takes its 10-80 ms before
 * anybody asks for it. A process serves one job, so one that is taken is replaced. */

typedef struct arcp__process_pool arcp__process_pool;

typedef struct arcp__process_pool_options {
    arcp__process_table *table;
    size_t size; /* how many wait */
    /* What to start; borrowed, with everything in it, as long as the pool lives. When
     * spec->makes_cwd, spec->cwd is the directory above: each process has its own in it. */
    const arcp__process_spec *spec;
    uint32_t pause_min_ms; /* after a process that died waiting, doubled ... 0: 100 */
    uint32_t pause_max_ms; /* ... up to this. 0: 10 000 */
    /* Something for the operator; never from inside a call on the pool. */
    void (*say)(void *user, bool is_error, const char *text);
    /* A line of a waiting process's standard error. */
    void (*log)(void *user, arcp_span line);
    void *user;
} arcp__process_pool_options;

/* Begins to start processes, one per turn of the loop. The pool itself does not keep the
 * loop alive, its processes do. */
ARCP_MUST_CHECK arcp_status arcp__process_pool_new(const arcp__process_pool_options *options,
                                                   arcp__process_pool **out, arcp_error *err);

/* One that waits, now the caller's: not read until its callbacks are set. What it wrote to
 * standard output meanwhile is still in the pipe. NULL when there is none. */
arcp__agent_process *arcp__process_pool_take(arcp__process_pool *pool);

size_t arcp__process_pool_waiting(const arcp__process_pool *pool);

/* Ends those that wait. NULL is accepted. */
void arcp__process_pool_free(arcp__process_pool *pool);

/* ---- an environment: a clean one, nothing of ours by accident ---- */

/* A growing list of NAME=VALUE, each name once. Zero-initialised is empty. */
typedef struct arcp__environment {
    arcp__arena arena;
    char **pairs; /* in the arena, NULL-terminated once it is not empty */
    size_t count;
    bool failed; /* an addition ran out of memory */
} arcp__environment;

/* Sets a variable; one of that name is replaced. A value ends at its first NUL. Failure is
 * remembered: check `failed` once, at the end. */
void arcp__environment_set(arcp__environment *environment, const char *name, arcp_span value);

/* PATH, HOME, LANG and TZ as they are for us. PATH is never missing; HOME is the user's when
 * `user` is not NULL. */
void arcp__environment_base(arcp__environment *environment, const char *user);

/* What a registration passes: NAME=VALUE, or NAME for our own value where we have one.
 * NULL-terminated; may be NULL. */
void arcp__environment_pass(arcp__environment *environment, const char *const *names);

void arcp__environment_fini(arcp__environment *environment);

/* Whether a program that gets base and `env` could be started now: arcp__launch_check in that
 * environment. */
ARCP_MUST_CHECK arcp_status arcp__process_check(const char *const *argv, const char *const *env,
                                                const char *user, arcp_error *err);

#endif
