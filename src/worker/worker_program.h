/* The programs of jobs on the machine where this code runs: they are started one after the other,
 * get their lease and their input, and what they write is passed on. The runtime calls this
 * directly (runtime/worker_host.c).
 *
 *     NEW ── start ──> WAITING ── its turn ──> STARTING ── it runs ──> RUNNING
 *      └───── a warm or a served process is taken ────────────────────────^
 *
 *     WAITING, STARTING ── cancelled, or it cannot be started ──> FAILED
 *
 * Starting a program takes about a millisecond, on a thread that starts one after the other. Jobs
 * wait for it in rounds: each round has one job of each owner, so that an owner with many jobs
 * delays the others by only one start per job. Lines for a program that waits, or that gets its
 * lease, are kept for it.
 *
 * Each job has a process of its own, or one of an agent's served processes (process/process.h),
 * which start by themselves and tell the jobs apart.
 *
 * All functions are called on the loop's thread. */
#ifndef ARCP_WORKER_WORKER_PROGRAM_H
#define ARCP_WORKER_WORKER_PROGRAM_H

#include "process/process.h"

typedef struct arcp__worker_program arcp__worker_program;

/* All programs of one worker. Zero-initialise. */
typedef struct arcp__worker_queue {
    arcp__worker_program *programs; /* they do not wait; oldest first */
    arcp__worker_program *waiting;  /* in the order of rounds */
    uint64_t round;                 /* of the one that left the queue last */
    size_t starting;                /* requested from the thread */
} arcp__worker_queue;

/* What `begin` makes. */
typedef struct arcp__worker_begun {
    arcp__agent_process *process; /* owned by the program, also on failure; NULL: none */
    bool is_warm;                 /* it runs already */
    arcp_span lease; /* for its sandbox, the text of a plan; empty: it has one, or none */
} arcp__worker_begun;

/* What a program's owner provides. A call on a program can call `begin`, `fill_start`, `started`
 * and `listeners` of that program and, when one leaves the queue, of others; and `abandoned` or
 * `is_deaf` of its own. All other events come from the loop. `line`, `line_refused`, `output`,
 * `log`, `record` and `exited` are those of arcp__agent_process_callbacks. */
typedef struct arcp__worker_program_events {
    /* It is its turn: requests its start with these callbacks, or takes a process that is warm. For
     * a job of a served process `callbacks` is NULL, and *out stays empty. */
    arcp_status (*begin)(void *user, const arcp__agent_process_callbacks *callbacks,
                         arcp__worker_begun *out, arcp_error *err);
    /* Appends the line job.start as the program gets it. */
    void (*fill_start)(void *user, arcp_span line, arcp_buf *out);
    /* The program runs, or cannot be started, for which `why` is the reason. */
    void (*started)(void *user, arcp_status status, const char *why);
    /* It waited, and will not be started. */
    void (*abandoned)(void *user, const char *why);
    void (*line)(void *user, arcp_span line);
    void (*line_refused)(void *user, arcp_status why);
    void (*output)(void *user, arcp_span bytes); /* of a plain program, in place of lines */
    void (*log)(void *user, arcp_span line);
    void (*record)(void *user, arcp_span record);
    void (*listeners)(void *user, const int *sockets, size_t count, const char *proxy_secret);
    void (*is_deaf)(void *user); /* it was killed, because it does not read its input */
    void (*exited)(void *user, const arcp_process_exit *end, arcp_span stderr_tail);
    /* In place of `exited`: how the job has left its served process. */
    void (*left)(void *user, arcp__served_end how, const arcp_process_exit *exit);
} arcp__worker_program_events;

typedef struct arcp__worker_program_options {
    const char *job;   /* its id; borrowed as long as the program exists */
    const void *owner; /* whose rounds count */
    bool is_plain;
    arcp__served *served; /* borrowed likewise; NULL: the job has a process of its own */
    const arcp__worker_program_events *events; /* borrowed likewise */
    void *user;
} arcp__worker_program_options;

/* NULL when out of memory. */
arcp__worker_program *arcp__worker_program_new(arcp__worker_queue *queue,
                                               const arcp__worker_program_options *options);
/* Starts it at once (`begin` takes a warm process), or when it is its turn. `line` is job.start, of
 * which a plain program gets the input alone. */
void arcp__worker_program_start(arcp__worker_program *program, bool is_warm, arcp_span line);
/* Ends its process, if that runs; no event follows. Others may get their turn. */
void arcp__worker_program_forget(arcp__worker_program *program);

/* A plain program reads no lines: they are dropped. */
void arcp__worker_program_write(arcp__worker_program *program, arcp_span line);
/* The job is cancelled: a plain program, or one that waits, is ended; others get the line. */
void arcp__worker_program_cancel(arcp__worker_program *program, arcp_span line);
/* A served process goes on, and has `grace_ms` to end the job. */
void arcp__worker_program_kill(arcp__worker_program *program, bool at_once, uint64_t grace_ms);
void arcp__worker_program_read(const arcp__worker_program *program, bool reads);

void *arcp__worker_program_user(const arcp__worker_program *program);
/* NULL: it waits, could not be started, or is served. */
arcp__agent_process *arcp__worker_program_process(const arcp__worker_program *program);

/* What it uses, as of the last second. All 0: unknown. */
typedef struct arcp__worker_program_usage {
    uint64_t pid, cpu_ms, memory_bytes;
} arcp__worker_program_usage;
arcp__worker_program_usage arcp__worker_program_use(arcp__worker_program *program,
                                                    int64_t now_mono_ns);

/* Appends a line for each program, at most `lines_max` (context/dump.h). */
void arcp__worker_programs_dump(const arcp__worker_queue *queue, size_t lines_max, arcp_buf *out);

#endif
