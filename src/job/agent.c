/* What the runtime sends to an agent that was started (replies to its lines, cancel and kill), and
 * its release: after its exit the host forgets it, and job->live is freed. */
#include "job/job_state.h"

/* From SIGTERM to SIGKILL. */
#define KILL_GRACE_MS 5000

/* Queues a line, which is moved from, as `effect`. A reply means that the agent's line is durable,
 * so it waits for the batch; `is_unstored`: it says nothing that is stored. */
static void push_line(arcp__jobs *jobs, arcp__job *job, arcp__effect *effect, arcp_buf *line,
                      bool is_durable)
{
    effect->job = job;
    if (arcp__agent_is_here(job)) {
        arcp__effect_push(jobs->log, &job->live->agent_port, effect, line, is_durable);
    } else { /* what is stored is sent when its worker is there again */
        arcp__context_check_text(jobs->context, line);
        arcp_buf_fini(line);
    }
}

void arcp__agent_send_line(arcp__jobs *jobs, arcp__job *job, uint64_t item, arcp_buf *line,
                           bool is_secret)
{
    const bool is_stored = item == 0 || !job->live->numbers->is_unstored;
    arcp__effect effect = {.kind = ARCP__EFFECT_AGENT_LINE, .id = item};
    if (is_stored) {
        effect.from = arcp__worker_store_line(jobs, job, item, arcp_buf_span(line), is_secret);
    } else if (job->live->agent_port.waiting == NULL || job->live->numbers->unsent == 0) {
        job->live->numbers->unsent = item;
    }
    push_line(jobs, job, &effect, line, is_stored);
}

void arcp__agent_write_credentials(arcp__jobs *jobs, const arcp__job *job, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"type\":\"job.credentials\",\"payload\":");
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__credentials_write(jobs->credentials, NULL, &job->live->credential, &writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '}');
}

void arcp__agent_reply(arcp__jobs *jobs, arcp__job *job, arcp_span reply_to, arcp_span payload)
{
    arcp__agent_reply_late(jobs, job, arcp__item_of(job), reply_to, payload);
}

void arcp__agent_reply_late(arcp__jobs *jobs, arcp__job *job, uint64_t item, arcp_span reply_to,
                            arcp_span payload)
{
    if (reply_to.size == 0 || job->agent_state != ARCP__AGENT_RUNNING || job->over_limit != NULL) {
        return;
    }
    arcp_buf line = arcp__context_take_buf(jobs->context);
    arcp_buf_append_cstr(&line, "{\"type\":\"reply\",\"re\":");
    arcp_json_quote(reply_to, &line);
    arcp_buf_append_cstr(&line, ",\"payload\":");
    arcp_buf_append(&line, payload);
    arcp_buf_append_byte(&line, '}');
    arcp__agent_send_line(jobs, job, item, &line, false);
}

void arcp__agent_reply_error(arcp__jobs *jobs, arcp__job *job, arcp_span reply_to,
                             const arcp_error *error, arcp_span details)
{
    arcp_buf payload = arcp_buf_init();
    arcp_buf_append_cstr(&payload, "{\"error\":");
    arcp__error_payload_format(error, details, &payload);
    arcp_buf_append_byte(&payload, '}');
    arcp__context_check_text(jobs->context, &payload);
    arcp__agent_reply(jobs, job, reply_to, arcp_buf_span(&payload));
    arcp_buf_fini(&payload);
}

/* ---- stop ---- */

static const char *const reason_names[] = {
    [ARCP__CANCEL_CLIENT] = "client",
    [ARCP__CANCEL_TIMEOUT] = "timeout",
    [ARCP__CANCEL_LEASE_EXPIRED] = "lease_expired",
    [ARCP__CANCEL_PARENT] = "parent",
    [ARCP__CANCEL_SHUTDOWN] = "shutdown",
};

/* A cancel waits for the open batch, like START_AGENT, so that it never overtakes the start. The
 * cancel of a running agent does not wait while the store fails. */
static bool waits_for_store(const arcp__jobs *jobs, const arcp__job *job)
{
    return !arcp__log_is_failing(jobs->log) || job->agent_state != ARCP__AGENT_RUNNING;
}

/* While nothing can be stored no other effect is released, but running agents are stopped: an agent
 * that fills the disk must not outlive its lease by doing so. */
static bool stops_running_agent(const arcp__effect *effect)
{
    return (effect->kind == ARCP__EFFECT_CANCEL_AGENT || effect->kind == ARCP__EFFECT_KILL_AGENT) &&
           effect->job->agent_state == ARCP__AGENT_RUNNING;
}

void arcp__jobs_release_stops(arcp__jobs *jobs)
{
    arcp__effect_release(jobs->log, stops_running_agent);
}

void arcp__agent_cancel(arcp__jobs *jobs, arcp__job *job, arcp__cancel_reason reason,
                        uint64_t grace_ms)
{
    if (!arcp__job_has_agent(job) || job->stop == ARCP__AGENT_STOP_KILLED) {
        return;
    }
    if (job->stop == ARCP__AGENT_STOP_NONE) {
        arcp_buf line = arcp_buf_init();
        arcp_buf_append_format(&line, "{\"type\":\"job.cancel\",\"payload\":{\"reason\":\"%s\"",
                               reason_names[reason]);
        if (reason == ARCP__CANCEL_CLIENT && job->live->cancel_message != NULL) {
            arcp_buf_append_cstr(&line, ",\"message\":");
            arcp_json_quote(arcp_span_cstr(job->live->cancel_message), &line);
        }
        arcp_buf_append_format(&line, ",\"grace_ms\":%llu}}", (unsigned long long)grace_ms);
        job->stop = ARCP__AGENT_STOP_SENT;
        arcp__effect effect = {.kind = ARCP__EFFECT_CANCEL_AGENT,
                               .reason = (int)reason,
                               .grace_ms = (int64_t)grace_ms};
        effect.from = arcp__worker_store_line(jobs, job, 0, arcp_buf_span(&line), false);
        push_line(jobs, job, &effect, &line, waits_for_store(jobs, job));
    }
    /* A later reason may leave it less time, never more. */
    const int64_t due = arcp__context_after_ms(jobs->context, grace_ms);
    if (job->live->grace_timer.place == 0 || due < job->live->grace_timer.at_ns) {
        arcp__context_arm(jobs->context, &job->live->grace_timer, jobs->timer_kind, job, due);
    }
}

void arcp__agent_kill(arcp__jobs *jobs, arcp__job *job, bool at_once)
{
    if (arcp__job_has_agent(job) && job->stop != ARCP__AGENT_STOP_KILLED) {
        job->stop = ARCP__AGENT_STOP_KILLED;
        if (!arcp__agent_is_here(job)) {
            return; /* it is killed when its worker is there again */
        }
        arcp__effect_push(jobs->log, &job->live->agent_port,
                          &(arcp__effect){.kind = ARCP__EFFECT_KILL_AGENT,
                                          .job = job,
                                          .grace_ms = at_once ? 0 : KILL_GRACE_MS},
                          NULL, waits_for_store(jobs, job));
    }
}

/* Of a running agent at once; else behind its start. */
void arcp__agent_revoke(arcp__jobs *jobs, arcp__job *job, arcp_status code)
{
    if (!arcp__agent_is_here(job)) {
        return;
    }
    arcp__effect_push(
        jobs->log, &job->live->agent_port,
        &(arcp__effect){.kind = ARCP__EFFECT_REVOKE_AGENT, .job = job, .reason = (int)code}, NULL,
        job->agent_state != ARCP__AGENT_RUNNING);
}

/* ---- release ---- */

void arcp__agent_queue_release(arcp__jobs *jobs, arcp__job *job)
{
    if (job->is_over) {
        return;
    }
    arcp__job_pin(job);
    job->is_over = true;
    job->next_release = NULL;
    if (jobs->release_last == NULL) {
        jobs->release_first = job;
    } else {
        jobs->release_last->next_release = job;
    }
    jobs->release_last = job;
}

void arcp__agent_drop_effects(arcp__jobs *jobs, arcp__job *job)
{
    if (arcp__port_drop_with(jobs->log, &job->live->agent_port, ARCP__EFFECT_START_AGENT) &&
        arcp__job_is_on_worker(job)) {
        job->live->numbers->is_hosted = false; /* its start was never handed out */
    }
}

void arcp__agent_forget(arcp__jobs *jobs, arcp__job *job)
{
    jobs->live_agents--;
    arcp__agent_enter(job, ARCP__AGENT_EXITED);
    arcp__job_leave_place(jobs, job);
    if (arcp__job_is_on_worker(job)) {
        arcp__worker_job_left(jobs, job);
    }
    arcp__context_disarm(jobs->context, &job->live->grace_timer);
    arcp__denials_audit_rest(jobs, job);
    /* Lines for it that still wait for their batch have no reader any more and must not be handed
     * out after the host has freed the agent. */
    arcp__agent_drop_effects(jobs, job);
    arcp__agent_queue_release(jobs, job);
}

static void release_if_ended(arcp__jobs *jobs, arcp__job *job)
{
    if (arcp__job_has_ended(job)) {
        arcp__job_release_live(jobs, job);
    }
    arcp__job_unpin(job);
}

/* A worker keeps the output of a job until the job's end is durable: a restart must not find the
 * job there and start it again. */
static bool can_be_released(const arcp__jobs *jobs, const arcp__job *job)
{
    const arcp__job_numbers *numbers = job->live == NULL ? NULL : job->live->numbers;
    return numbers == NULL || numbers->end_id <= jobs->log->committed_id || jobs->context->closing;
}

/* Takes the first job of the list that can be released; NULL: there is none. */
static arcp__job *take_released(arcp__jobs *jobs)
{
    arcp__job *before = NULL;
    arcp__job *job = jobs->release_first;
    while (job != NULL && !can_be_released(jobs, job)) {
        before = job;
        job = job->next_release;
    }
    if (job == NULL) {
        return NULL;
    }
    if (before == NULL) {
        jobs->release_first = job->next_release;
    } else {
        before->next_release = job->next_release;
    }
    if (jobs->release_last == job) {
        jobs->release_last = before;
    }
    return job;
}

bool arcp__job_next_forgotten(arcp__jobs *jobs, arcp__effect *out)
{
    for (arcp__job *job = NULL; (job = take_released(jobs)) != NULL;) {
        job->is_over = false;
        if (job->agent_state == ARCP__AGENT_EXITED && arcp__job_is_on_worker(job) &&
            !job->live->numbers->is_hosted) {
            arcp__agent_enter(job, ARCP__AGENT_RELEASED); /* its worker did not come back */
            arcp__job_unpin(job);
        } else if (job->agent_state == ARCP__AGENT_EXITED) {
            jobs->forgetting = job;
            *out = (arcp__effect){.kind = ARCP__EFFECT_FORGET_AGENT, .job = job};
            arcp__job_unpin(job); /* the list's pin; the agent's pin remains */
            return true;
        }
        release_if_ended(jobs, job);
    }
    return false;
}

void arcp__job_forget_done(arcp__jobs *jobs)
{
    arcp__job *job = jobs->forgetting;
    if (job != NULL) {
        jobs->forgetting = NULL;
        arcp__agent_enter(job, ARCP__AGENT_RELEASED);
        job->live->host = NULL;
        release_if_ended(jobs, job); /* and the agent's pin */
    }
}

void arcp__jobs_forget_agents(arcp__jobs *jobs)
{
    arcp__effect none;
    do {
        arcp__job_forget_done(jobs);
    } while (arcp__job_next_forgotten(jobs, &none));
}
