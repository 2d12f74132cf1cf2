/* Running programs on a loop: the table of processes, one process, pools of warm processes, and
 * environments. This is the folder's header for other folders; arcp/sys/launcher.h starts
 * processes.
 *
 * All functions are called on the loop's thread. */
#ifndef ARCP_PROCESS_PROCESS_H
#define ARCP_PROCESS_PROCESS_H

#include <uv.h>

#include <arcp/buf.h>
#include <arcp/sys/launcher.h>

#include "base/arena.h"
#include "launch/cgroups.h"

/* ---- the table ----
 *
 * The processes of one owner, with their launcher and work directory. Knowing them all, the table
 * can find orphan processes. */

typedef struct arcp__process_table arcp__process_table;

typedef struct arcp__process_table_options {
    uv_loop_t *loop;
    arcp_launcher *launcher; /* owned from now on; NULL: the one of
                                arcp_launcher_new_sandbox, which starts both kinds */
    const char *sandbox;     /* the program arcp-sandbox, for that launcher; NULL: it is searched */
    const char *work_directory; /* in which this run creates a directory; NULL: none, and processes
                                   are not recorded */
    bool makes_cgroups;         /* use a cgroup for each process, where possible */
    int oom_score_more;         /* added to our oom_score_adj for processes */
    uint32_t kill_after_ms;     /* from SIGTERM to SIGKILL; 0: 5 s */
    uint32_t drain_ms;          /* how long output is read after the end; 0: 1 s */
    uint32_t orphan_ms;         /* from a job's end to the search for orphans; 0: 1 s */
} arcp__process_table_options;

/* First ends processes that earlier runs left behind in `work_directory`, which is created if only
 * its last component is missing. On failure the caller keeps the launcher. */
ARCP_MUST_CHECK arcp_status arcp__process_table_new(const arcp__process_table_options *options,
                                                    arcp__process_table **out, arcp_error *err);

/* Kills running processes without calling their owners. The table, its launcher and its directory
 * are released once the loop has seen the end of the last process. NULL is accepted. */
void arcp__process_table_free(arcp__process_table *table);

/* The absolute path of this run's directory, in which jobs get directories; NULL: none. Valid as
 * long as the table. */
const char *arcp__process_table_directory(const arcp__process_table *table);
/* A number that it has not returned before, for the name of a directory in that directory. */
uint64_t arcp__process_table_number(arcp__process_table *table);
/* The directory that it is in, the same in each run; empty: none. */
arcp_span arcp__process_table_base(const arcp__process_table *table);

/* The number of processes or groups of earlier runs that were killed when the table was created. */
size_t arcp__process_table_swept(const arcp__process_table *table);

/* The limits that a process can have by a cgroup, as bits of arcp__cgroup_limit. The first call
 * finds out, for which this program may have to move to another cgroup. */
unsigned arcp__process_table_find_limits(const arcp__process_table *table);

#define ARCP__BOOT_ID_SIZE 37 /* a UUID and its NUL */
/* The id of this boot of the machine. False: it cannot be read. */
bool arcp__boot_id_read(char out[ARCP__BOOT_ID_SIZE]);

/* Called on SIGCHLD by a program that adopts orphans (a child subreaper, or pid 1 of a container):
 * waits for every child that has ended. The end of the table's own processes is reported as usual.
 */
void arcp__process_table_reap(arcp__process_table *table);

/* Called before it exits by a program that adopts orphans and has no children except agents: kills
 * all children but the `spared` ones, and their children as they are adopted, and waits for them,
 * at most two seconds. */
void arcp__process_table_end_children(const pid_t *spared, size_t count);

/* ---- one process: its pipes, its output, its end ---- */

typedef struct arcp__agent_process arcp__agent_process;

/* Called on the loop's thread, never from inside a call on the process. Each of them may free the
 * process; then no further callback follows. */
typedef struct arcp__agent_process_callbacks {
    /* The first callback: the process runs. On failure it could not be started, `why` says why, and
     * no other callback follows. */
    void (*started)(void *user, arcp_status status, const char *why);
    /* A line of standard output, without its line feed. `line` and `line_refused` may be NULL:
     * lines are discarded. */
    void (*line)(void *user, arcp_span line);
    /* A line exceeded the limit (ARCP_E_LIMIT) or ran out of memory (ARCP_E_NO_MEMORY). Further
     * output is read and discarded. */
    void (*line_refused)(void *user, arcp_status why);
    void (*output)(void *user, arcp_span bytes); /* plain programs: called instead of `line` */
    void (*log)(void *user, arcp_span line);     /* of standard error; truncated at 64 KiB */
    /* Of a confined process, may be NULL: a record of its sandbox that is one JSON object
     * (launch/sandbox_record.h). The program can have forged it if it has broken the sandbox. */
    void (*record)(void *user, arcp_span record);
    /* Of a process with a network, once, before it runs: the listeners and the UDP socket of its
     * network (launch/launcher_control.h), and the secret of a proxy, valid during the call, or
     * NULL. The callee owns the descriptors. NULL: they are closed, or kept if the plan is late. */
    void (*listeners)(void *user, const int *sockets, size_t count, const char *proxy_secret);
    /* Of a process that was started without its lease, once: it has the lease now
     * (arcp__agent_process_lease). NULL if it gets none. */
    void (*leased)(void *user);
    /* The last callback: the process has ended and all its output was delivered. `stderr_tail` is
     * at most the last 2 KiB of standard error, beginning at a character. */
    void (*exited)(void *user, const arcp_process_exit *end, arcp_span stderr_tail);
    void *user;
} arcp__agent_process_callbacks;

/* The sandbox of a process. Borrowed during the call. */
typedef struct arcp__process_confinement {
    arcp_span plan;             /* the text of its plan */
    const char *etc;            /* seen as /etc; NULL: the plan needs none */
    const char *ca_certificate; /* that the program trusts, as PEM text; NULL: none */
    bool has_processes;         /* the sandbox has a process table of its own (level full) */
    bool has_network; /* the plan has ports: the start fails if their sockets do not arrive */
    bool is_late;     /* the plan is: the process gets its lease when it runs */
    /* A directory to be created, with the directories `home` and `tmp` in it, and removed after the
     * end; NULL: none. */
    const char *scratch;
    arcp__cgroup_limits limits; /* of all its processes, in a cgroup */
} arcp__process_confinement;

/* Of an agent that serves: processes, and jobs of one. */
#define ARCP__SERVED_PROCESSES_MAX   256
#define ARCP__SERVED_CONCURRENCY_MAX 10000

/* What to run. Borrowed during the call. */
typedef struct arcp__process_spec {
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* NULL-terminated, complete; NULL: none */
    const char *cwd;         /* NULL: ours */
    bool makes_cwd;          /* create cwd (0700, owned by the user), and remove it after the end */
    /* A file in the directory that is made (0600, owned by the user); NULL: none. */
    const char *file_name;
    arcp_span file_text;
    const char *user; /* NULL: ours */
    const arcp_launch_limit *limits;
    size_t limit_count;
    bool is_plain;
    size_t line_bytes_max;
    size_t input_bytes_max; /* queued input above which write fails; 0: 16 MiB */
    /* NULL: not confined. Otherwise the table's launcher must be able to confine, and `started` is
     * called while the sandbox is being set up: a failure of that ends the process
     * (arcp__agent_process_failure). */
    const arcp__process_confinement *confinement;
} arcp__process_spec;

/* Requests the start of a program, which the table's thread starts; a program that was started is
 * recorded in the table's directory. Input that is written before is kept for it. ARCP_E_IO or
 * ARCP_E_NO_MEMORY if the start cannot be requested; a failure of the launcher is reported by
 * `started`. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_start(
    arcp__process_table *table, const arcp__process_spec *spec,
    const arcp__agent_process_callbacks *callbacks, arcp__agent_process **out, arcp_error *err);

/* Replaces the callbacks. */
void arcp__agent_process_set_callbacks(arcp__agent_process *process,
                                       const arcp__agent_process_callbacks *callbacks);

/* Sets the job that the process runs, by whose id its orphans are found. Truncated to 63 bytes. */
void arcp__agent_process_set_job(arcp__agent_process *process, arcp_span job);

/* Renames the directory that was created for the process, which stays its current directory. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_move_directory(arcp__agent_process *process,
                                                               const char *path, arcp_error *err);

/* Writes a line to standard input (a line feed is added), and queues what does not fit into the
 * pipe. Never blocks. ARCP_E_LIMIT if more than input_bytes_max are already queued,
 * ARCP_E_NO_MEMORY. If the program has closed its input, the line is discarded and ARCP_OK
 * returned. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_write(arcp__agent_process *process, arcp_span line);
/* The same for bytes without a line feed; closes the input after them. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_write_last(arcp__agent_process *process,
                                                           arcp_span bytes);

/* Stops or resumes reading standard output (and standard error of a plain program), so that the
 * program blocks once the pipe is full. Output that was already read may still be delivered in the
 * current turn of the loop. */
void arcp__agent_process_pause(arcp__agent_process *process, bool paused);

/* Sends SIGTERM to its group now, and SIGKILL 5 s later. Further calls have no effect. */
void arcp__agent_process_terminate(arcp__agent_process *process);

/* Sends SIGKILL to its group now; `exited` follows. */
void arcp__agent_process_kill(arcp__agent_process *process);

/* Whether the process has ended, even if `exited` has not been called yet. */
bool arcp__agent_process_has_ended(const arcp__agent_process *process);

/* Why the sandbox could not be set up, so that the program never ran: "mount /srv/x: Operation not
 * permitted", and *step (may be NULL) the name of the step, which is static. Empty: it could, or
 * the process is not confined. Known when `exited` is called; valid as long as the process. */
arcp_span arcp__agent_process_failure(const arcp__agent_process *process, const char **step);

/* Kills a confined process, because its network cannot be served; that is its failure, unless it
 * has one. */
void arcp__agent_process_fail_network(arcp__agent_process *process, const char *why);

/* Gives the lease of this plan to a process that was started by one that is late: once, at any time
 * after its start was requested. `leased` follows, or its end. Denials until then are not reported.
 * ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__agent_process_lease(arcp__agent_process *process, arcp_span plan,
                                                      arcp_error *err);

/* The lease of a confined process grants nothing any more: its broker denies what it served. A
 * process whose sandbox cannot be reached is killed. */
void arcp__agent_process_revoke(arcp__agent_process *process);

/* Calls `listeners` if they came, and were kept, before that callback was set. */
void arcp__agent_process_take_listeners(arcp__agent_process *process);

/* Whether the kernel has killed a process of it at the limit of memory; after its end. */
bool arcp__agent_process_has_run_out(const arcp__agent_process *process);

/* 0 before it is started. */
pid_t arcp__agent_process_pid(const arcp__agent_process *process);

/* Kills its group if it still runs. No callback follows; the memory is released when the loop has
 * seen its end. NULL is accepted. */
void arcp__agent_process_free(arcp__agent_process *process);

/* ---- a pool of warm processes ----
 *
 * Warm processes are started in advance and wait for a job, so that the job does not wait for the
 * 10 to 80 ms that an interpreter takes to start. A process serves one job; one that is taken from
 * the pool is replaced. */

typedef struct arcp__process_pool arcp__process_pool;

typedef struct arcp__process_pool_options {
    arcp__process_table *table;
    size_t size; /* number of warm processes */
    /* What to start; borrowed, with everything it points to, as long as the pool exists. If
     * spec->makes_cwd is set, each process gets a directory of its own inside spec->cwd. */
    const arcp__process_spec *spec;
    /* Completes the spec of one process with its confinement, whose plan is late, and its
     * environment; its directory is in the spec already. What the spec then points to is needed
     * until `confined` is called, in any case. Both NULL: the processes are not confined. */
    arcp_status (*confine)(void *user, arcp__process_spec *spec, arcp_error *err);
    void (*confined)(void *user);
    /* A confined process runs, and waits for a job and its lease from now on. */
    void (*running)(void *user);
    uint32_t pause_min_ms; /* backoff after a process ended while it was waiting; 0: 100 */
    uint32_t pause_max_ms; /* limit of the backoff, which doubles each time; 0: 10 000 */
    /* Reports a failure to the operator; never called from inside a call on the pool. */
    void (*report)(void *user, bool is_error, const char *text);
    /* A line of standard error of a waiting process. */
    void (*log)(void *user, arcp_span line);
    void *user;
} arcp__process_pool_options;

#define ARCP__PROCESS_POOL_MAX 4096u /* processes */

/* Begins to start processes, one per turn of the loop. The pool's processes keep the loop alive,
 * the pool itself does not. */
ARCP_MUST_CHECK arcp_status arcp__process_pool_new(const arcp__process_pool_options *options,
                                                   arcp__process_pool **out, arcp_error *err);

/* Takes a waiting process, which the caller then owns. Its standard output is not read until its
 * callbacks are set; what it wrote before is still in the pipe. One that is confined waits for its
 * lease (arcp__agent_process_lease). NULL if there is none. */
arcp__agent_process *arcp__process_pool_take(arcp__process_pool *pool);

/* Ends the waiting processes, and starts others in their place. */
void arcp__process_pool_renew(arcp__process_pool *pool);

size_t arcp__process_pool_waiting(const arcp__process_pool *pool);

/* Ends the waiting processes. NULL is accepted. */
void arcp__process_pool_free(arcp__process_pool *pool);

/* ---- served processes: each runs many jobs at the same time (mode: serve) ----
 *
 * Their lines are those of arcp-agent(7) with the id of the job as a member job_id at the top, both
 * ways. Of what a process writes only two members are read here: job_id says which job gets the
 * line, and a type of job.result or job.error that it is the last line of that job. A line that has
 * no such id, or the id of a job that the process does not have, is logged.
 *
 * A job gets the process with the fewest jobs, of which there are `processes` at most, started as
 * they are needed; while none may be started, it waits. A process is retired when it has had
 * jobs_max jobs, when it uses too much memory, or when it does not end a job that was stopped. It
 * gets no new jobs then, and is ended when its jobs have ended; in the last case that is at most
 * retire_ms later, and its other jobs end with it. At most 2 x `processes` run at a time. */

typedef struct arcp__served arcp__served;         /* the processes of one agent */
typedef struct arcp__served_job arcp__served_job; /* one job of one of them */

typedef struct arcp__served_options {
    arcp__process_table *table;
    size_t processes;      /* at least 1 */
    size_t concurrency;    /* jobs of one process above which a job waits for another to start */
    uint64_t jobs_max;     /* 0: no limit */
    uint64_t memory_bytes; /* of a process and those below it; 0: no limit */
    /* What to start; as in arcp__process_pool_options. */
    const arcp__process_spec *spec;
    /* Completes the spec of one process with what is its own. What the spec then points to is
     * needed until `prepared` is called, in any case; *sandbox is passed on below, until `ended`,
     * which is called also when this fails. All but `log` and `report` may be NULL. */
    arcp_status (*prepare)(void *user, arcp__process_spec *spec, void **sandbox, arcp_error *err);
    void (*prepared)(void *user, void *sandbox);
    void (*listeners)(void *user, void *sandbox, arcp__agent_process *process, const int *sockets,
                      size_t count, const char *proxy_secret);
    void (*record)(void *user, void *sandbox, arcp_span record);
    /* The process is gone; NULL: it could not be started. */
    void (*ended)(void *user, void *sandbox, const arcp__agent_process *process);
    /* For the operator: a line of standard error, or one that no job gets; and what happens to
     * processes. */
    void (*log)(void *user, pid_t pid, arcp_span line);
    void (*report)(void *user, bool is_error, const char *text);
    void *user;
    /* After three processes that ended, or could not be started, within early_ms of their start, no
     * process is started for pause_ms. 0: 10 s each; retire_ms: 60 s. */
    uint32_t early_ms, pause_ms, retire_ms;
} arcp__served_options;

/* How a job left its process. */
typedef enum arcp__served_end {
    ARCP__SERVED_DONE,   /* its last line was delivered */
    ARCP__SERVED_EXITED, /* its process has ended */
    ARCP__SERVED_LEFT    /* it was stopped, and its process has not ended it in time */
} arcp__served_end;

/* Called on the loop's thread. Each may free its own job; only `line` may follow before `ended`. */
typedef struct arcp__served_events {
    /* Its process runs. Or it cannot be started, and `why` says why; then no other event follows.
     * Not called if arcp__served_job_runs is true when the job is made. */
    void (*started)(void *user, arcp_status status, const char *why);
    void (*line)(void *user, arcp_span line);
    /* `exit` is NULL but for ARCP__SERVED_EXITED. */
    void (*ended)(void *user, arcp__served_end how, const arcp_process_exit *exit);
} arcp__served_events;

/* No process is started yet. `options` are copied. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__served_new(const arcp__served_options *options,
                                             arcp__served **out, arcp_error *err);
/* The agent gets no new jobs: processes end when their jobs have. */
void arcp__served_retire(arcp__served *served);
/* Whether there are neither jobs nor processes. */
bool arcp__served_is_idle(const arcp__served *served);
/* Kills the processes; there must be no job. NULL is accepted. */
void arcp__served_free(arcp__served *served);

/* Gives a job to a process, or lets it wait. `id` and `events` are borrowed as long as the job
 * exists. ARCP_E_NO_MEMORY, or the reason why no process can be started. */
ARCP_MUST_CHECK arcp_status arcp__served_job_new(arcp__served *served, const char *id,
                                                 const arcp__served_events *events, void *user,
                                                 arcp__served_job **out, arcp_error *err);
/* Its process gets no further line for it. NULL is accepted. */
void arcp__served_job_free(arcp__served_job *job);
bool arcp__served_job_runs(const arcp__served_job *job);
bool arcp__served_job_waits(const arcp__served_job *job); /* it has no process yet */
/* 0: its process does not run yet. */
pid_t arcp__served_job_pid(const arcp__served_job *job);

/* Sends a line, an object, to its process, with the id. A process that does not read its input is
 * killed. */
void arcp__served_job_write(arcp__served_job *job, arcp_span line);
/* Pausing one job pauses its process. */
void arcp__served_job_pause(arcp__served_job *job, bool paused);
/* The job, which does not wait, was sent a cancel. Its process has this time to write its last
 * line, and is retired else. The job then ends as ARCP__SERVED_LEFT. */
void arcp__served_job_stop(arcp__served_job *job, uint64_t grace_ms);

/* ---- environments: contain only what was set explicitly ---- */

/* A list of NAME=VALUE with unique names. Zero-initialised is empty. */
typedef struct arcp__environment {
    arcp__arena arena;
    char **pairs; /* in the arena, NULL-terminated once it is not empty */
    size_t count;
    bool failed; /* an addition ran out of memory */
} arcp__environment;

/* Sets or replaces a variable. The value ends at its first NUL. An allocation failure sets
 * `failed`, which is checked once at the end. */
void arcp__environment_set(arcp__environment *environment, const char *name, arcp_span value);

/* Copies PATH, HOME, LANG and TZ from our own environment. PATH gets a default if it is not set. If
 * `user` is not NULL, HOME is that user's. */
void arcp__environment_base(arcp__environment *environment, const char *user);

/* Adds the variables of an agent's configuration: NAME=VALUE, or NAME to copy our own value if it
 * is set. NULL-terminated; may be NULL. */
void arcp__environment_pass(arcp__environment *environment, const char *const *names);

void arcp__environment_fini(arcp__environment *environment);

/* arcp__launch_check in the environment that the program would get: the base and `env`. */
ARCP_MUST_CHECK arcp_status arcp__process_check(const char *const *argv, const char *const *env,
                                                const char *user, arcp_error *err);

/* ---- file_limit.c ---- */

/* Raises the soft limit of descriptors to the hard one, and writes what it was to *original:
 * agents get that. When it cannot be raised, it stays as it was. */
void arcp__process_raise_file_limit(arcp_launch_limit *original);

/* ---- directory_remove.c ---- */

/* Removes a directory and everything in it; symbolic links are removed, not followed.
 * The time it takes depends on the size of the tree. */
void arcp__directory_remove(const char *path);

#endif
