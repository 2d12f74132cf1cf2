/* A worker without I/O and clock: its jobs, what they have written and the runtime does not have
 * yet, and its deadlines. The owner has the link and the programs. It passes on what they say, and
 * carries out what the core decides; the time is CLOCK_BOOTTIME's, as a parameter.
 *
 * The link:
 *
 *     AWAY ── connected: hello is due ──> GREETING ── welcome ──> LINKED
 *       ^                                    │                       │
 *       └────────────── disconnected ────────┴──────── bye ──────────┘
 *
 * A job:
 *
 *     STARTING ── its program runs ──> RUNNING ── its exit ──> EXITED ── forget ──> freed
 *        │                                │                       ^
 *        │                                └ forgotten: is killed, and freed when it has exited
 *        └── it could not be started, or the order is not taken ──> REFUSED ── sent ──> freed
 *
 * What is promised, over links that are cut at any time:
 *
 *   - Each item, byte and line of standard error has a number, and is kept until the runtime says
 *     that it needs it no more (`kept`). A new link begins with what is kept, so each comes at
 * least once, in order; the runtime ignores those up to its own
 *     number. Numbers that it names as open stay,
 * because it has taken them and not acted on them yet.
 *   - `stored` comes back to the runtime in hello: a store that has less is an older one.
 *   - Lines to a program that have a position (`at`) get there once, in order. Answers without one
 *     get there once for each item, because an item that is not kept can be answered again.
 *   - No job runs twice: a job is known until the runtime has it forgotten, even when it has ended.
 *   - When the worker has heard nothing of a runtime for its `keep_ms`, it kills that runtime's
 *     jobs. It counts from when it sent the last ping that was answered: the runtime counts from
 *     later. What ended jobs have written is kept for that runtime, unless another one is linked.
 *   - While the runtime is away, a job is killed at its deadline; else 2 s after it, because the
 *     runtime's own word comes first.
 *
 * All output of a job is read while less than its share is kept (unkept_bytes, unkept_total_bytes),
 * it is not paused, and the link takes more. The jobs' messages are sent in turn, at most one run
 * of 64 KiB each.
 *
 * Out of memory, the core has failed: the owner ends the worker, and the runtime's jobs on it are
 * lost, as after any end of a worker. */
#ifndef ARCP_WORKER_WORKER_CORE_H
#define ARCP_WORKER_WORKER_CORE_H

#include "worker/worker_frame.h"

/* Jobs that it has at a time, ended ones included. */
#define ARCP__WORKER_JOBS_MAX 2048u
/* Times its capacity it takes jobs, because parents lend their places to their children. */
#define ARCP__WORKER_LENT_MAX 4u
/* The longest id of a job or a store. */
#define ARCP__WORKER_ID_MAX 63u
/* The longest text that says why a program could not be started, or its sandbox not made. */
#define ARCP__WORKER_REASON_MAX 1024u
/* Standard error of a job that is kept for the operator. */
#define ARCP__WORKER_LOG_MAX 262144u
/* What a job may have ready for a link that does not take it. */
#define ARCP__WORKER_UNSENT_MAX 262144u

#define ARCP__WORKER_PING_NS   (5 * ARCP_NS_PER_SEC)
#define ARCP__WORKER_SILENT_NS (15 * ARCP_NS_PER_SEC)
#define ARCP__WORKER_USAGE_NS  (5 * ARCP_NS_PER_SEC)
/* The owner calls arcp__worker_core_tick at least this often. */
#define ARCP__WORKER_TICK_NS ARCP_NS_PER_SEC
/* From a deadline to the kill, while the runtime is there. */
#define ARCP__WORKER_DEADLINE_GRACE_NS (2 * ARCP_NS_PER_SEC)

typedef struct arcp__worker_core arcp__worker_core;
typedef struct arcp__worker_job arcp__worker_job;

/* What the core says about programs. None of these functions calls the core. `program` is what
 * `start` returned. */
typedef struct arcp__worker_programs {
    /* Begins to start the program of a job; arcp__worker_core_started or _refuse follows later. The
     * message is valid during the call; its body is the line job.start. Returns the program; NULL:
     * it cannot be started, and `message` gets the reason, of at most 255 bytes. */
    void *(*start)(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                   char message[256]);
    void (*write)(void *user, void *program, arcp_span line);
    void (*kill)(void *user, void *program, bool at_once); /* at_once: without SIGTERM before */
    void (*read)(void *user, void *program, bool reads);   /* of its output; at first it is read */
    void (*revoke)(void *user, void *program, arcp_span code);
    /* Rows of agents that shall have warm processes. NULL: the worker has agents of its own, and
     * the runtime must not say others. */
    void (*warm)(void *user, arcp_span rows);
    /* The job is freed. Its program has ended, unless the core is freed. */
    void (*forget)(void *user, void *program);
    void *user;
    /* What the program uses; fills in all but the job. NULL: it is not known. */
    void (*use)(void *user, void *program, arcp__worker_usage_row *out);
} arcp__worker_programs;

/* ---- the core ---- */

/* `hello` without jobs is copied, and what it borrows must live as long as the core. NULL when out
 * of memory. */
arcp__worker_core *arcp__worker_core_new(const arcp__worker_hello *hello,
                                         const arcp__worker_programs *programs, int64_t now_ns);
void arcp__worker_core_free(arcp__worker_core *core); /* NULL is accepted */
bool arcp__worker_core_has_failed(const arcp__worker_core *core);

/* What the next hello says; what it borrows must live as long as the core, or until another is set.
 */
void arcp__worker_core_set_hello(arcp__worker_core *core, const arcp__worker_hello *hello);

/* ---- the link ---- */

void arcp__worker_core_connected(arcp__worker_core *core, int64_t now_ns);
void arcp__worker_core_disconnected(arcp__worker_core *core, int64_t now_ns);
/* A message of the runtime. Other than ARCP_OK: the owner closes the link, with the error's
 * message.
 */
ARCP_MUST_CHECK arcp_status arcp__worker_core_receive(arcp__worker_core *core, int64_t now_ns,
                                                      const arcp__worker_message *message,
                                                      arcp_error *err);
/* The next message for the runtime; valid until the next call of any function. To be called when
 * the link takes more, until it returns false. */
bool arcp__worker_core_next(arcp__worker_core *core, int64_t now_ns, arcp__worker_message *out);
/* False: the runtime is silent, and the owner closes the link. */
ARCP_MUST_CHECK bool arcp__worker_core_tick(arcp__worker_core *core, int64_t now_ns);

/* The worker is stopped: it takes no more jobs, and those that it has count as killed, however
 * their programs end. */
void arcp__worker_core_stop(arcp__worker_core *core, int64_t now_ns);
/* Kills all programs at once. */
void arcp__worker_core_kill_all(arcp__worker_core *core);

/* ---- programs ---- */

const char *arcp__worker_job_id(const arcp__worker_job *job); /* valid as long as the job */

void arcp__worker_core_started(arcp__worker_core *core, arcp__worker_job *job, uint64_t pid);
/* The program could not be started; the core forgets it. */
void arcp__worker_core_refuse(arcp__worker_core *core, arcp__worker_job *job,
                              arcp__worker_refusal why, arcp_span message);
/* One item: a line without its line feed, a record, or, without text, a line that was too long. */
void arcp__worker_core_item(arcp__worker_core *core, arcp__worker_job *job, arcp__worker_item what,
                            arcp_span text);
/* Of a plain program: bytes of output, and a line of standard error. */
void arcp__worker_core_output(arcp__worker_core *core, arcp__worker_job *job, arcp_span bytes);
void arcp__worker_core_error_line(arcp__worker_core *core, arcp__worker_job *job, arcp_span line);
/* Of other programs: a line of standard error, for the operator, at most once. */
void arcp__worker_core_log(arcp__worker_core *core, arcp__worker_job *job, arcp_span line);
/* The program has ended, and this was the last of it. Members of `exited` that the core knows (job,
 * numbers, why) are ignored. */
void arcp__worker_core_exited(arcp__worker_core *core, arcp__worker_job *job,
                              const arcp__worker_exited *exited, arcp_span stderr_tail);

/* ---- figures ---- */

typedef struct arcp__worker_figures {
    size_t jobs;         /* ended ones included */
    size_t programs;     /* that run or are being started */
    size_t unkept_bytes; /* of all jobs */
    bool is_linked, is_draining;
} arcp__worker_figures;
arcp__worker_figures arcp__worker_core_figures(const arcp__worker_core *core);

#endif
