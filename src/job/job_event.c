/* What an agent asks and says through its port (core/job_port.h), and what it spends: gate, budget,
 * events; and what becomes of what its credentials tell. */
#include "job/job_state.h"

/* Whether a counter of the job or above it is below zero. */
static bool is_overdrawn(const arcp__job *job)
{
    const arcp_budget *budget = arcp_authority_budget(job->live->authority);
    for (; budget != NULL; budget = arcp_budget_parent(budget)) {
        for (size_t at = 0; at < arcp_budget_count(budget); at++) {
            if (arcp_decimal_compare(arcp_budget_remaining(budget, at),
                                     (arcp_decimal)ARCP_DECIMAL_ZERO) < 0) {
                return true;
            }
        }
    }
    return false;
}

/* What follows a spend, after its metric: reports, rows, the end of the job where the operator
 * wants that. */
static void spent(arcp__jobs *jobs, arcp__job *job, const arcp_budget_report *reports, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        arcp__job *counted = job; /* the one of the chain whose counters these are */
        while (counted != NULL && counted->budget != reports[at].budget) {
            counted = counted->parent;
        }
        if (counted != NULL && !arcp__job_has_ended(counted)) {
            arcp__job_emit_remaining(jobs, counted, &reports[at]);
        }
    }
    for (arcp__job *at = job; at != NULL; at = at->parent) {
        if (!arcp__job_has_ended(at) && at->budget != NULL) {
            arcp__job_store_with_batch(jobs, at, ARCP__ROW_SPENT);
        }
    }
    /* Reports are debounced, so they cannot be asked. */
    if (jobs->context->settings.budget_on_exhaustion == ARCP_ON_EXHAUSTION_FAIL &&
        is_overdrawn(job)) {
        arcp__job_fail_with(jobs, job, ARCP_E_BUDGET_EXHAUSTED, "a budget is used up");
    }
}

/* ---- the gate ---- */

void arcp__job_decided(arcp__jobs *jobs, const arcp__job *job, const arcp_decision *decision)
{
    const bool is_shut = decision->code == ARCP_E_INTERNAL_ERROR; /* though the lease allows it */
    const bool is_denied = decision->code != ARCP_OK;
    if (is_denied) {
        jobs->metrics.denial_count++;
        jobs->metrics.denials[decision->code][arcp__capability_from_name(decision->capability)]++;
    }
    arcp__audit(jobs->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_GATE,
                                    .decision = is_denied ? "denied" : "allowed",
                                    .who = arcp__job_who(job),
                                    .code = decision->code,
                                    .rule = is_shut ? "audit.on_failure: deny" : "lease",
                                    .reason = is_denied && !is_shut
                                                  ? arcp_deny_reason_name(decision->reason)
                                                  : NULL,
                                    .capability = decision->capability,
                                    .target = decision->target,
                                    .pattern = decision->pattern});
}

/* ---- what an agent says ---- */

void arcp__job_hear(arcp__jobs *jobs, arcp__job *job, const arcp__job_message *message)
{
    if (message->unit.size != 0) { /* also after the job's end */
        arcp__credential_note_spend(jobs->credentials, &job->live->credential, message->unit,
                                    message->amount);
        arcp__job_note_cost(jobs, job, message->unit, message->amount);
    }
    const bool is_denial = message->decision.code != ARCP_OK;
    /* A grant was used, whether the job has ended or not; unless it is forgotten already, and
     * was shown to nobody. */
    if (message->is_decided && (is_denial ? !arcp__job_has_ended(job) : job->principal != NULL)) {
        arcp__job_decided(jobs, job, &message->decision);
    }
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (message->body.size != 0) {
        arcp__job_emit_event(jobs, job, message->kind, message->kind_text, message->body);
    }
    if (message->is_spent) {
        spent(jobs, job, message->reports, message->report_count);
    }
}

arcp_status arcp__job_agent_event(arcp__jobs *jobs, arcp__job *job, arcp_span kind_text,
                                  const arcp_json *json, arcp_json_ref body, arcp_buf *details,
                                  arcp_error *err)
{
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_message message;
    arcp_buf_clear(&jobs->body);
    const arcp__job_port_event event = {.kind = kind_text,
                                        .json = json,
                                        .body = body,
                                        .scratch = &jobs->context->scratch,
                                        .out = &jobs->body,
                                        .details = details};
    const arcp_status status =
        arcp__job_port_emit(&job->live->port, jobs->context->now, &event, &message, err);
    if (jobs->body.failed) {
        arcp__context_no_memory(jobs->context);
        return status;
    }
    arcp__job_port_spend(&job->live->port, &message, reports);
    arcp__job_hear(jobs, job, &message);
    return status;
}

void arcp__job_agent_says(arcp__jobs *jobs, arcp__job *job, const arcp__job_message *message)
{
    arcp__job_hear(jobs, job, message);
    if (!arcp__job_has_ended(job)) {
        arcp__job_after_denial(jobs, job, message->decision.code);
    }
}

/* ---- what its credentials tell ---- */

static void credential_answered(void *user, void *owner, const arcp_error *error)
{
    arcp__admission_provisioned(user, owner, error);
}

/* Everybody who may see it is told, and so is the agent. [arcp:9.8.2-8] */
static void credential_rotated(void *user, void *owner, arcp_span body)
{
    arcp__jobs *jobs = user;
    arcp__job *job = owner;
    arcp__job_emit_event(jobs, job, ARCP_EVENT_STATUS, ARCP_SPAN_LITERAL("status"), body);
    if (arcp__job_has_agent(job)) {
        arcp_buf line = ARCP_BUF_INIT;
        arcp_buf_append_cstr(&line, "{\"type\":\"job.credentials\",\"payload\":");
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp__credentials_write(jobs->credentials, &job->live->credential, &writer);
        arcp_json_end_object(&writer);
        arcp_buf_append_byte(&line, '}');
        arcp__agent_say(jobs, job, &line);
    }
}

static void credential_spent(void *user, void *owner, arcp_span currency, arcp_decimal amount)
{
    arcp__job *job = owner;
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_message message = {.unit = currency, .amount = amount};
    arcp__job_port_spend(&job->live->port, &message, reports);
    spent(user, job, message.reports, message.report_count);
}

const arcp__credential_ops arcp__job_credential_ops = {credential_answered, credential_rotated,
                                                       credential_spent};
