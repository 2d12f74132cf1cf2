/* The place of a job at its agent, and its wait for one (placement.h). */
#include "job/job_state.h"

#include <stdio.h>

static size_t waiting_count(const arcp__jobs *jobs)
{
    return jobs->placement.waiting[ARCP__PLACE_DELEGATED] +
           jobs->placement.waiting[ARCP__PLACE_SUBMITTED];
}

/* ---- before the job is made ---- */

arcp_status arcp__job_check_place(const arcp__jobs *jobs, const arcp__job_order *order,
                                  arcp_buf *details, arcp_error *err)
{
    const arcp_settings *settings = &jobs->context->settings;
    const arcp__place_agent *places = order->agent->places;
    const arcp__principal *principal = order->principal;
    const arcp__place_kind kind = arcp__place_kind_below(order->parent);
    const char *limit = NULL;
    if (places->refuses && places->max_jobs != 0 &&
        places->jobs.held + places->jobs.lent >= places->max_jobs) {
        arcp_buf_append_cstr(details, "{\"limit\":\"max_jobs\"}");
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                              "the agent already runs max_jobs (%zu) jobs", places->max_jobs);
    }
    const arcp__place_offer *offer =
        order->agent->is_remote ? arcp__place_next_offer(places, kind, true, NULL) : NULL;
    if (arcp__place_is_free(places, kind, offer)) {
        return ARCP_OK;
    }
    if (waiting_count(jobs) >= settings->jobs_queue_max) {
        limit = "jobs.queue_max";
    } else if (principal->queued_jobs >= settings->jobs_queue_per_principal) {
        limit = "jobs.queue_per_principal";
    } else if (principal->queued_bytes + order->input.size > settings->jobs_queue_bytes) {
        limit = "jobs.queue_bytes";
    } else {
        return ARCP_OK;
    }
    arcp_buf_append_format(details, "{\"limit\":\"%s\"}", limit);
    return order->agent->is_remote
               ? arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                "no worker has a place for the agent, and the queue is full (%s)",
                                limit)
               : arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                "the agent runs max_jobs (%zu) jobs, and the queue is full (%s)",
                                places->max_jobs, limit);
}

/* ---- the wait ---- */

void arcp__job_count_wait(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_live *live = job->live;
    live->queued_bytes = strlen(live->input);
    job->principal->queued_jobs++;
    job->principal->queued_bytes += live->queued_bytes;
    live->metrics->queued++;
}

void arcp__job_arm_wait(arcp__jobs *jobs, arcp__job *job, int64_t age_ns)
{
    arcp__context_arm(
        jobs->context, &job->live->queue_timer, jobs->timer_kind, job,
        arcp__context_after_sec(jobs->context, jobs->context->settings.jobs_queue_sec) - age_ns);
}

void arcp__job_enter_queue(arcp__jobs *jobs, arcp__job *job, int64_t age_ns)
{
    char message[160];
    arcp__job_live *live = job->live;
    const arcp__place_agent *places = live->place.agent;
    const size_t number = arcp__place_number(&live->place);
    arcp__enforcement_free(live->enforcement);
    live->enforcement = NULL;
    live->host = NULL;
    arcp__agent_enter(job, ARCP__AGENT_QUEUED);
    arcp__job_changed(jobs, job);
    arcp__job_count_wait(jobs, job);
    arcp__job_arm_wait(jobs, job, age_ns);
    arcp__queue_write_start(jobs, job);
    if (!live->was_queued) {
        live->was_queued = true;
        (void)snprintf(message, sizeof message, "place %zu in the queue of the agent", number);
        arcp__job_emit_status(jobs, job, "queued", arcp_span_cstr(message));
    }
    if (places->offer != NULL) {
        (void)snprintf(message, sizeof message,
                       "job queued: place %zu, because its agent runs max_jobs "
                       "(%zu) jobs",
                       number, places->max_jobs);
    } else {
        (void)snprintf(message, sizeof message,
                       "job queued: place %zu, because no worker has a place for its agent",
                       number);
    }
    arcp__job_log(jobs, ARCP__LOG_INFO, job, message);
}

/* [arcp:7.3-2] */
void arcp__job_begin_wait(arcp__jobs *jobs, arcp__job *job, arcp__place_agent *places)
{
    if (arcp__place_wait(&jobs->placement, &job->live->place, places,
                         arcp__place_kind_below(job->parent), job->principal, job) == ARCP_OK) {
        arcp__job_enter_queue(jobs, job, 0);
    } else {
        arcp__context_no_memory(jobs->context);
    }
}

void arcp__job_end_wait(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_live *live = job->live;
    arcp__context_disarm(jobs->context, &live->queue_timer);
    job->principal->queued_jobs--;
    job->principal->queued_bytes -= live->queued_bytes;
    live->metrics->queued--;
    arcp__queue_delete_rows(jobs, job);
}

void arcp__job_store_turn(arcp__jobs *jobs, const arcp__place *moved)
{
    if (moved != NULL && !jobs->context->closing) {
        arcp__queue_write_turn(jobs, moved->owner);
    }
}

void arcp__job_leave_place(arcp__jobs *jobs, arcp__job *job)
{
    if (job->live->place.state == ARCP__PLACE_WAITING && !jobs->context->closing) {
        arcp__job_end_wait(jobs, job);
    }
    arcp__job_store_turn(jobs, arcp__place_leave(&jobs->placement, &job->live->place));
}

size_t arcp__job_queue_place(const arcp__job *job)
{
    return job->live == NULL ? 0 : arcp__place_number(&job->live->place);
}

/* ---- what a stop waits for ---- */

static bool is_kept(const arcp__jobs *jobs, const arcp__job *job)
{
    return jobs->log->options.keeps_rows && job->agent_state == ARCP__AGENT_QUEUED &&
           (job->live->place.kind == ARCP__PLACE_SUBMITTED ||
            (jobs->leaves_workers && job->parent != NULL && arcp__job_is_on_worker(job->parent)));
}

static bool is_left_to_worker(const arcp__jobs *jobs, const arcp__job *job)
{
    return jobs->log->options.keeps_rows && arcp__job_is_on_worker(job) &&
           arcp__job_has_agent(job) && !arcp__job_has_ended(job);
}

bool arcp__job_outlasts_stop(const arcp__jobs *jobs, const arcp__job *job)
{
    return !arcp__job_has_ended(job) &&
           (is_kept(jobs, job) || (jobs->leaves_workers && is_left_to_worker(jobs, job)));
}

size_t arcp__jobs_on_workers(const arcp__jobs *jobs)
{
    size_t count = 0;
    for (const arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        count += is_left_to_worker(jobs, job);
    }
    return count;
}

size_t arcp__jobs_left(const arcp__jobs *jobs)
{
    size_t kept = 0;
    if (!jobs->leaves_workers) {
        kept = jobs->placement.waiting[ARCP__PLACE_SUBMITTED];
        return jobs->running - (jobs->log->options.keeps_rows ? kept : 0);
    }
    for (const arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        kept += arcp__job_outlasts_stop(jobs, job);
    }
    return jobs->running - kept;
}

size_t arcp__jobs_agents_left(const arcp__jobs *jobs)
{
    size_t left = jobs->live_agents;
    for (const arcp__job *job = jobs->leaves_workers ? jobs->all : NULL; job != NULL;
         job = job->hh.next) {
        left -= arcp__job_is_on_worker(job) && arcp__job_has_agent(job);
    }
    return left;
}
