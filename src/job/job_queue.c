/* Jobs that wait for a place at their agent (placement.h), from their acceptance until they start
 * or end.
 *
 * A queued job keeps its lease, budget and credential, but neither the plan of its sandbox nor the
 * registration of its agent: it starts with the row that is in force then, for which its host is
 * asked again. Everything that it needs to start is in the store (job_queue_row.c), so that a
 * restart, also after kill -9, finds it in its place. A queued child outlives a restart if its
 * parent does, which runs on a worker then. */
#include "job/job_state.h"

#include <stdio.h>

/* ---- the start of a queued job ---- */

/* Gives the job what belongs to a place where its agent is offered now: host, directory, plan. */
static arcp_status take_site(arcp__jobs *jobs, arcp__job *job, const arcp__agent_version *agent,
                             arcp__place_offer *offer, arcp_buf *details, arcp_error *err)
{
    arcp__job_site site;
    const arcp__job_live *live = job->live;
    const arcp__job_order order = {
        .agent = agent, .lease = live->lease, .max_runtime_sec = live->max_runtime_sec};
    const arcp_status status =
        arcp__job_ask_site(jobs, &order, job->id, arcp__credential_endpoint(&live->credential),
                           offer, &site, details, err);
    if (status == ARCP_OK) {
        arcp__job_set_site(job, &site);
    }
    return status;
}

bool arcp__job_fits(void *jobs, void *of, const arcp__place_offer *offer)
{
    arcp__job *job = of;
    const arcp__worker_offer_entry *offered = offer->owner;
    return take_site(jobs, job, offered->agent, offered->offer, NULL, NULL) == ARCP_OK;
}

/* A job that goes to a worker that offers its agent has its site already. */
static arcp_status renew(arcp__jobs *jobs, arcp__job *job, arcp_buf *details, arcp_error *err)
{
    const arcp__place_offer *offer = job->live->place.offer;
    const arcp__agent_version *agent = job->live->place.agent->offer;
    arcp_status status = offer != NULL ? ARCP_OK : take_site(jobs, job, agent, NULL, details, err);
    if (status == ARCP_OK) {
        arcp__job_place_on_worker(jobs, job, offer != NULL ? offer->worker->name : agent->worker);
        status = arcp__job_renew_authority(jobs, job, err);
    }
    return status;
}

static void start_queued(arcp__jobs *jobs, arcp__job *job)
{
    arcp_buf details = arcp_buf_init();
    arcp_error error = {0};
    arcp__job_end_wait(jobs, job);
    if (renew(jobs, job, &details, &error) == ARCP_OK) {
        arcp__job_start_agent(jobs, job);
    } else {
        arcp__job_fail(jobs, job, error.status, arcp_span_cstr(error.message),
                       arcp_status_is_retryable_by_default(error.status), arcp__details(&details));
    }
    arcp_buf_fini(&details);
}

/* Its row was removed from the configuration. */
static void end_gone(arcp__jobs *jobs, arcp__job *job)
{
    const arcp__agent_version *other = NULL;
    arcp_error error = {0};
    char message[160];
    arcp_status code = arcp__agent_resolve(jobs, arcp_span_cstr(job->agent_text), &other, &error);
    code = code == ARCP_OK ? ARCP_E_AGENT_NOT_AVAILABLE : code;
    (void)snprintf(message, sizeof message, "agent \"%.100s\" was removed while the job was queued",
                   job->agent_text);
    arcp__job_fail_with(jobs, job, code, message);
}

bool arcp__jobs_place(arcp__jobs *jobs)
{
    arcp__place *place = NULL;
    arcp__place *moved = NULL;
    bool any = false;
    if (jobs->is_restoring || jobs->context->closing) {
        return false;
    }
    while (jobs->agents_changed && !jobs->context->failed &&
           (place = arcp__placement_gone(&jobs->placement)) != NULL) {
        end_gone(jobs, place->owner);
        any = true;
    }
    jobs->agents_changed = false;
    if (jobs->workers_opened) {
        jobs->workers_opened = false;
        arcp__workers_start_awaiting(jobs);
    }
    /* While the runtime stops, children start, so that their parents can finish. */
    while (!jobs->context->failed &&
           (place = arcp__placement_next(&jobs->placement, jobs->context->stopping, &moved)) !=
               NULL) {
        arcp__job_store_turn(jobs, moved);
        start_queued(jobs, place->owner);
        any = true;
    }
    return any;
}

/* ---- stop and restart ---- */

void arcp__jobs_stop(arcp__jobs *jobs, bool queued_only)
{
    for (arcp__job *job = jobs->all, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        const bool is_meant = !queued_only || (job->agent_state == ARCP__AGENT_QUEUED &&
                                               job->live->place.kind == ARCP__PLACE_SUBMITTED);
        if (is_meant && !arcp__job_outlasts_stop(jobs, job)) {
            arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR, "the runtime is stopping");
        }
    }
}

static void restart_wait(arcp__jobs *jobs, arcp__job *job)
{
    const int64_t age_ns = jobs->context->now.wall_ns - job->created_wall_ns;
    if (job->parent_id[0] != '\0' && job->parent == NULL) {
        arcp__job_fail_with(jobs, job, ARCP_E_CANCELLED, "the parent job has ended");
    } else {
        arcp__job_note_lost_credential(jobs, job);
        arcp__job_arm_deadlines(jobs, job, age_ns < 0 ? 0 : age_ns);
        arcp__job_arm_wait(jobs, job, age_ns < 0 ? 0 : age_ns);
    }
}

void arcp__jobs_restarted(arcp__jobs *jobs)
{
    arcp__workers_restart(jobs);
    for (arcp__job *job = jobs->all, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        if (job->agent_state == ARCP__AGENT_QUEUED) {
            arcp__metrics_job_began(jobs, job);
            arcp__job_count_wait(jobs, job);
            restart_wait(jobs, job);
        } else if (!arcp__job_is_on_worker(job)) {
            arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR,
                                "the runtime was restarted while the job ran");
        }
    }
}
