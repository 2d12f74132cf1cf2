/* Cancelling (§7.4), and the other reasons to stop an agent: its deadline, its lease's
 * expiry, its parent's end. */
#include "engine/parts.h"

static const char *const reason_names[] = {
    [ARCP__CANCEL_CLIENT] = "client",
    [ARCP__CANCEL_TIMEOUT] = "timeout",
    [ARCP__CANCEL_LEASE_EXPIRED] = "lease_expired",
    [ARCP__CANCEL_PARENT] = "parent",
    [ARCP__CANCEL_SHUTDOWN] = "shutdown",
};

/* Behind the open batch, like START_AGENT: an agent is never told to stop before it was told to
 * start. One that runs does not have to wait for a store that cannot write. */
static bool waits_for_store(const arcp__engine *engine, const arcp__job *job)
{
    return !arcp__log_is_failing(engine->log) || job->agent_state != ARCP__AGENT_RUNNING;
}

/* Nothing new is told while nothing can be stored, but an agent that runs is stopped all the
 * same: whoever fills the disk must not outlive its lease by that. */
static bool stops_running_agent(const arcp__effect *effect)
{
    return (effect->kind == ARCP__EFFECT_CANCEL_AGENT || effect->kind == ARCP__EFFECT_KILL_AGENT) &&
           effect->job->agent_state == ARCP__AGENT_RUNNING;
}

void arcp__jobs_release_stops(arcp__engine *engine)
{
    arcp__effect_release(engine->log, stops_running_agent);
}

static void tell_to_stop(arcp__engine *engine, arcp__job *job, arcp__cancel_reason reason,
                         uint64_t grace_ms)
{
    arcp_buf line = ARCP_BUF_INIT;
    arcp_buf_append_format(&line, "{\"type\":\"job.cancel\",\"payload\":{\"reason\":\"%s\"",
                           reason_names[reason]);
    if (reason == ARCP__CANCEL_CLIENT && job->live->cancel_message != NULL) {
        arcp_buf_append_cstr(&line, ",\"message\":");
        arcp_json_quote(arcp_span_cstr(job->live->cancel_message), &line);
    }
    arcp_buf_append_format(&line, ",\"grace_ms\":%llu}}", (unsigned long long)grace_ms);
    job->stop = ARCP__AGENT_STOP_ASKED;
    arcp__effect_push(engine->log, &job->live->agent_port,
                      &(arcp__effect){.kind = ARCP__EFFECT_CANCEL_AGENT,
                                      .job = job,
                                      .reason = (int)reason,
                                      .grace_ms = (int64_t)grace_ms},
                      &line, waits_for_store(engine, job));
}

void arcp__job_stop_agent(arcp__engine *engine, arcp__job *job, arcp__cancel_reason reason,
                          uint64_t grace_ms)
{
    if (!arcp__job_has_agent(job) || job->stop == ARCP__AGENT_STOP_KILLED) {
        return;
    }
    if (job->stop == ARCP__AGENT_STOP_NONE) {
        tell_to_stop(engine, job, reason, grace_ms);
    }
    /* A later reason may leave it less time, never more. */
    int64_t due = arcp__context_after_ms(&engine->context, grace_ms);
    if (job->live->grace_timer.place == 0 || due < job->live->grace_timer.at_ns) {
        arcp__context_arm(&engine->context, &job->live->grace_timer, ARCP__TIMER_JOB_GRACE, job,
                          due);
    }
}

void arcp__job_grace_due(arcp__engine *engine, arcp__job *job)
{
    if (arcp__job_has_agent(job) && job->stop != ARCP__AGENT_STOP_KILLED) {
        job->stop = ARCP__AGENT_STOP_KILLED;
        arcp__effect_push(engine->log, &job->live->agent_port,
                          &(arcp__effect){.kind = ARCP__EFFECT_KILL_AGENT, .job = job}, NULL,
                          waits_for_store(engine, job));
    }
    if (!arcp__job_has_ended(job) && job->cancelling) {
        arcp__job_fail_with(engine, job, ARCP_E_CANCELLED, "the job was cancelled");
    }
}

void arcp__job_cancel(arcp__engine *engine, arcp__job *job, const char *message)
{
    if (job->cancelling) {
        return;
    }
    if (*message != '\0') {
        job->live->cancel_message = arcp__copy_cstr(message, strlen(message));
        if (job->live->cancel_message == NULL) {
            arcp__context_no_memory(&engine->context);
            return;
        }
    }
    job->cancelling = true;
    if (!arcp__job_has_agent(job)) {
        arcp__job_fail_with(engine, job, ARCP_E_CANCELLED, "the job was cancelled");
        return;
    }
    arcp__job_stop_agent(engine, job, ARCP__CANCEL_CLIENT,
                         engine->context.settings.jobs_cancel_grace_ms);
}

void arcp__job_runtime_due(arcp__engine *engine, arcp__job *job)
{
    if (!arcp__job_has_ended(job)) {
        arcp__job_fail_with(engine, job, ARCP_E_TIMEOUT, "the job ran longer than max_runtime_sec");
    }
}

/* [arcp:9.5-7] [arcp:9.5-8] [arcp:14-6] [arcp:LA-17] [arcp:LB-4] */
void arcp__job_expiry_due(arcp__engine *engine, arcp__job *job)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    bool ends = engine->context.settings.lease_on_expiry == ARCP_ON_EXPIRY_TERMINATE;
    if (!job->expiry_told) {
        job->expiry_told = true;
        arcp__context_disarm(&engine->context, &job->live->expiry_timer);
        arcp__audit(engine->log, &(arcp__audit_line){.event = ARCP__AUDIT_EXPIRY,
                                                     .decision = ends ? "ended" : "denied",
                                                     .who = arcp__job_who(job),
                                                     .code = ARCP_E_LEASE_EXPIRED,
                                                     .rule = ends ? "lease.on_expiry: terminate"
                                                                  : "lease.on_expiry: deny",
                                                     .lease = job->live->lease});
    }
    if (ends) {
        arcp__job_fail_with(engine, job, ARCP_E_LEASE_EXPIRED, "the job's lease has expired");
    }
}

/* The wall clock was set: what is due by it now, and when the rest is. */
void arcp__jobs_follow_wall_clock(arcp__engine *engine)
{
    for (arcp__job *job = engine->jobs, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        if (arcp__job_has_ended(job) || job->expiry_told || job->live->authority == NULL) {
            continue;
        }
        if (arcp_authority_is_expired(job->live->authority, engine->context.now)) {
            arcp__job_expiry_due(engine, job);
        } else {
            arcp__context_arm(
                &engine->context, &job->live->expiry_timer, ARCP__TIMER_JOB_EXPIRY, job,
                arcp__authority_due_mono_ns(job->live->authority, engine->context.now));
        }
    }
}
