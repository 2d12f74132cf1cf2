/* Shared by the files of src/job: jobs on workers. */
#ifndef ARCP_JOB_WORKER_STATE_H
#define ARCP_JOB_WORKER_STATE_H

#include "job/job.h"

/* ---- job_worker_state.c ---- */
/* A line that the worker may not have; ascending. */
struct arcp__kept_line {
    struct arcp__kept_line *next;
    uint64_t at, item;
    size_t size;
    char text[]; /* or ARCP__LINE_OF_CREDENTIALS */
};
/* The record of a line with credentials, which is made when it is sent. */
#define ARCP__LINE_OF_CREDENTIALS "credentials"
/* The life of this worker that takes new jobs; NULL: none does. */
arcp__worker_entry *arcp__worker_open(const arcp__jobs *jobs, const char *name);
/* NULL: there is no such life. */
arcp__worker_entry *arcp__worker_find(const arcp__jobs *jobs, arcp__worker_life life);
/* The life of a worker; made when it is new, NULL when out of memory. */
arcp__worker_entry *arcp__worker_get(arcp__jobs *jobs, arcp__worker_life life);
/* Its link has another state, or what it takes has changed. */
void arcp__worker_enter(arcp__jobs *jobs, arcp__worker_entry *worker, arcp__worker_state state);
void arcp__worker_update_room(arcp__jobs *jobs, arcp__worker_entry *worker);
/* Whether the job's agent may be there. */
bool arcp__job_is_of(const arcp__job *job, const arcp__worker_entry *worker);
/* It refused a job, and may have room again. */
void arcp__worker_end_busy(arcp__jobs *jobs, arcp__worker_entry *worker);
/* The agent of a job on a worker has ended. */
void arcp__worker_job_left(arcp__jobs *jobs, const arcp__job *job);
static inline bool arcp__job_is_on_worker(const arcp__job *job)
{
    const arcp__job_numbers *numbers = job->live == NULL ? NULL : job->live->numbers;
    return numbers != NULL && numbers->worker[0] != '\0';
}
/* Whether it waits for a worker to which its start has not been sent. */
static inline bool arcp__job_awaits_worker(const arcp__job *job)
{
    return arcp__job_is_on_worker(job) && job->agent_state == ARCP__AGENT_STARTING &&
           job->live->numbers->instance[0] == '\0';
}
/* Whether effects about its agent have somewhere to go. */
static inline bool arcp__agent_is_here(const arcp__job *job)
{
    return !arcp__job_is_on_worker(job) || job->live->numbers->is_here;
}
/* Whether it has not ended when the runtime that stops has, and the next one goes on with it. */
bool arcp__job_outlasts_stop(const arcp__jobs *jobs, const arcp__job *job);
/* The job runs on this worker; "": on none. */
void arcp__job_place_on_worker(arcp__jobs *jobs, arcp__job *job, const char *worker);
/* Frees what was stored for the job alone, in the store, too. */
void arcp__worker_drop_streams(arcp__jobs *jobs, const arcp__job *job);
void arcp__worker_run_free(arcp__job_numbers *numbers);

/* ---- job_worker_line.c ---- */
/* The worker has the lines up to `at`. */
void arcp__worker_forget_lines(arcp__job_numbers *numbers, uint64_t at);
/* Stores a line for the agent; returns its position, from 1 on, or 0: it is not stored. */
uint64_t arcp__worker_store_line(arcp__jobs *jobs, const arcp__job *job, uint64_t item,
                                 arcp_span text, bool is_secret);
/* Stores a piece of a result that is in memory until it is whole. */
void arcp__worker_store_piece(arcp__jobs *jobs, const arcp__job *job, arcp_span data);

/* ---- job_worker_offer.c ---- */
/* Replaces what the worker offers. */
void arcp__worker_set_offers(arcp__jobs *jobs, arcp__worker_entry *worker,
                             const arcp__worker_intro *intro);
void arcp__worker_remove(arcp__jobs *jobs, arcp__worker_entry *worker);
/* What the agent's jobs on the worker have as their host; NULL: they have none there. */
void *arcp__worker_host_of(const arcp__worker_entry *worker, const arcp__agent_version *agent);

/* ---- job_worker.c ---- */
/* Starts the jobs whose agents name a worker that takes jobs again. */
void arcp__workers_start_awaiting(arcp__jobs *jobs);
/* After a restart: children join their parents on workers, and jobs on workers wait for these. */
void arcp__workers_restart(arcp__jobs *jobs);

#endif
