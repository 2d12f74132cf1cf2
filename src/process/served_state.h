/* The structs of served processes, private to this folder.
 *
 *     STARTING ──> RUNNING ──> RETIRED ── its last job has ended, or its time is over ──> ended
 *
 * A job is in the table of its process until it ends, or in the list `waiting`. A job that was
 * stopped is also in the list `stopped`, until its process has ended it or its time is over. One
 * timer is set to whatever is due first. */
#ifndef ARCP_PROCESS_SERVED_STATE_H
#define ARCP_PROCESS_SERVED_STATE_H

#include "base/clock.h"
#include "base/hash.h"
#include "process/process_state.h"
#include "json/json.h"

#define ARCP__SERVED_NEVER_NS INT64_MAX

typedef struct arcp__served_process arcp__served_process;

struct arcp__served_process {
    struct arcp__served_process *prev, *next;
    arcp__served *served;
    arcp__agent_process *process;
    void *sandbox;
    arcp__served_job *jobs;    /* by id */
    arcp__served_job *current; /* gets a line now; NULL: none, or it was freed */
    uint64_t given;            /* jobs so far */
    size_t paused;             /* jobs */
    bool is_running, is_retired, is_ending;
    int64_t started_ns, looked_ns;
    int64_t kill_ns; /* retired, but some jobs do not end */
};

struct arcp__served_job {
    arcp__served_job *prev, *next;                     /* in `waiting` */
    arcp__served_job *previous_stopped, *next_stopped; /* in `stopped` */
    UT_hash_handle hh;                                 /* in the table of its process */
    arcp__served *served;
    arcp__served_process *process; /* NULL: it waits, or has ended */
    const char *id;
    const arcp__served_events *events;
    void *user;
    arcp_buf input; /* lines for it while it waits; secret: credentials */
    bool is_waiting, is_paused, is_stopped;
    int64_t leave_ns; /* when it leaves its process, if it is stopped */
};

struct arcp__served {
    arcp__served_options options;
    arcp__served_process *processes;
    arcp__served_job *waiting; /* oldest first */
    arcp__served_job *stopped;
    unsigned early_exits;
    int64_t pause_until_ns;
    bool is_retired;
    arcp_json json;
    arcp_buf text; /* of a line; secret */
    uv_timer_t timer;
};

static inline int64_t arcp__served_now_ns(void)
{
    return arcp__clock_ns(CLOCK_BOOTTIME);
}

static inline int64_t arcp__served_after_ms(uint64_t ms)
{
    return arcp__served_now_ns() + (int64_t)ms * ARCP_NS_PER_MS;
}

/* ---- served.c ---- */

/* Gives waiting jobs to processes, as far as there is room, and sets the timer. */
void arcp__served_place_waiting(arcp__served *served);

/* ---- served_process.c ---- */

/* Starts one; NULL: `err` says why it cannot be. */
arcp__served_process *arcp__served_process_start(arcp__served *served, arcp_error *err);
/* Kills it, if it still runs; `has_run`: it was started. */
void arcp__served_process_free(arcp__served_process *process, bool has_run);
/* Tells the operator. */
void arcp__served_report(const arcp__served *served, bool is_error, const char *format, ...)
    ARCP_PRINTF(3, 4);
const char *arcp__served_program(const arcp__served *served);

/* Whether one more process may run, beside those that are retired. */
bool arcp__served_can_replace(const arcp__served *served);
/* The process gets no more jobs. `is_stuck`: a job of it does not end, so that its others are not
 * waited for without end. */
void arcp__served_process_retire(arcp__served_process *process, bool is_stuck, const char *why);
/* Retires a process that has had its jobs, or uses too much memory. */
void arcp__served_process_retire_if_due(arcp__served_process *process);
void arcp__served_process_end_if_idle(arcp__served_process *process);
/* Reads its output, unless a job of it is paused. */
void arcp__served_process_read(const arcp__served_process *process);

/* Takes a job out of its process. */
void arcp__served_job_detach(arcp__served_job *job);
/* The same, and calls `ended`. */
void arcp__served_job_end(arcp__served_job *job, arcp__served_end how,
                          const arcp_process_exit *exit);

#endif
