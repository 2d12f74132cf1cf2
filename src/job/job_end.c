/* How a job ends (§7.3, §8.4): with job.result or job.error, exactly once.
 *
 * Every end (the agent's result or error, its exit, a cancel (§7.4), a deadline, the lease's
 * expiry, the parent's end, the runtime's stop) goes through finish(), which checks the table of
 * transitions (job_lifecycle.c): the first one wins. */
#include "job/job_state.h"
#include "job/purse.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/utf8.h"

/* ---- the end ---- */

/* Sends the waiting parent its reply, {job_id, final_status, result? | error?}, made from the
 * child's terminal payload. */
static void answer_wait(arcp__jobs *jobs, arcp__job *parent, const arcp__job *child,
                        arcp_span terminal)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_buf payload = arcp_buf_init();
    if (arcp_json_scan(&json, terminal, &limits, NULL) != ARCP_OK) {
        arcp__context_no_memory(
            jobs->context); /* it is valid JSON, so only memory can be missing */
        arcp__json_fini(&json);
        return;
    }
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_cstr(&writer, "job_id", child->id);
    static const char *const copied[] = {"final_status", "result", "result_id", "result_size",
                                         "summary"};
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        const arcp_json_ref ref =
            arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(copied[i]));
        if (ref != ARCP_JSON_ABSENT) {
            arcp__put_raw(&writer, copied[i], arcp_json_raw(&json, ref));
        }
    }
    if (arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("code")) != ARCP_JSON_ABSENT) {
        static const char *const members[] = {"code", "message", "retryable", "details"};
        arcp__put_object(&writer, "error");
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
            const arcp_json_ref ref =
                arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(members[i]));
            if (ref != ARCP_JSON_ABSENT) {
                arcp__put_raw(&writer, members[i], arcp_json_raw(&json, ref));
            }
        }
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
    arcp__context_check_text(jobs->context, &payload);
    arcp__agent_reply_late(jobs, parent, child->live->wait_item,
                           arcp_span_cstr(child->live->wait_reply), arcp_buf_span(&payload));
    arcp_buf_fini(&payload);
    arcp__json_fini(&json);
}

/* A job that is about to end, for its host's reports. */
typedef struct ending {
    arcp__jobs *jobs;
    arcp__job *job;
} ending;

static void take_last_message(void *user, const arcp__job_message *message)
{
    const ending *of = user;
    arcp__job_agent_message(of->jobs, of->job, message);
}

static void take_last_denial(void *user, const arcp__denial *denial)
{
    const ending *of = user;
    if (!arcp__job_has_ended(of->job)) {
        arcp__job_agent_denied(of->jobs, of->job, 0, denial);
    }
}

/* Calls that the runtime makes for the job end now, so that no event about them comes after the
 * last one, and no cost is lost. What they have cost may end the job in another way. */
static void settle(arcp__jobs *jobs, arcp__job *job)
{
    ending of = {jobs, job};
    const arcp__settle_sink sink = {take_last_message, take_last_denial, &of};
    if (jobs->hosts->settle != NULL && !job->is_settled) {
        job->is_settled = true;
        jobs->hosts->settle(jobs->hosts->user, job, &sink);
    }
}

/* The parent of a job that has ended may have waited for that. */
static void tell_parent(arcp__jobs *jobs, const arcp__job *job, arcp_span terminal)
{
    arcp__job *parent = job->parent;
    if (parent == NULL) {
        return;
    }
    parent->live_children--;
    if (job->live->wait_reply != NULL && parent->live != NULL) {
        arcp__place_return(&parent->live->place);
    }
    if (job->live->wait_reply != NULL && !arcp__job_has_ended(parent)) {
        answer_wait(jobs, parent, job, terminal);
    }
}

/* Deletes what was stored for the job on its worker alone. A worker that has not got its start
 * never gets it. */
static void end_on_worker(arcp__jobs *jobs, arcp__job *job)
{
    if (!arcp__job_is_on_worker(job)) {
        return;
    }
    job->live->numbers->end_id = arcp__batch_open_id(jobs->log);
    arcp__worker_drop_streams(jobs, job);
    arcp__worker_run_free(job->live->numbers);
    if (job->facts.started_wall_ns == 0) {
        arcp__queue_delete_rows(jobs, job);
    }
    if (arcp__job_awaits_worker(job)) {
        arcp__agent_forget(jobs, job);
    }
}

/* The job has ended: its terminal record has been emitted. */
static void enter_end(arcp__jobs *jobs, arcp__job *job, arcp_job_status status, arcp_span terminal)
{
    arcp__job_live *live = job->live;
    arcp__job_enter(job, status);
    job->cancelling = false;
    if (!arcp__job_has_agent(job)) {
        arcp__job_leave_place(jobs, job);
    }
    job->ended_wall_ns = jobs->context->now.wall_ns;
    arcp__job_changed(jobs, job);
    arcp__job_details_end(jobs, job);
    arcp__span_job_ended(jobs, job);
    arcp__job_log_end(jobs, job);
    job->principal->running_jobs--;
    jobs->running--;
    arcp__context_disarm(jobs->context, &live->runtime_timer);
    arcp__context_disarm(jobs->context, &live->expiry_timer);
    arcp_buf_fini(&live->inline_result);
    arcp_buf_fini(&live->plain_output);
    if (job->submitter != NULL) {
        job->submitter->live_jobs--;
    }
    arcp__credential_release(jobs->credentials, &live->credential);
    arcp__job_store_with_batch(jobs, job, ARCP__ROW_WHOLE); /* written when its end is numbered */
    arcp__live_delete_row(jobs, job);
    end_on_worker(jobs, job);
    for (arcp__observer *observer = job->observers; observer != NULL; observer = observer->next) {
        observer->ops->ended(jobs->user, observer);
    }
    if (jobs->watch != NULL) {
        jobs->watch->ended(jobs->watch->user, job);
    }
    tell_parent(jobs, job, terminal);
    /* [arcp:9.8.2-13] */
    for (arcp__job *child = job->children; child != NULL; child = child->next_child) {
        arcp__job_fail_with(jobs, child, ARCP_E_CANCELLED, "the parent job has ended");
    }
    arcp__admission_drop_children(jobs, job);
    arcp__job_update_pressure(jobs, job);
    arcp__job_keep(
        jobs, job,
        arcp__context_after_sec(jobs->context, jobs->context->settings.jobs_keep_terminal_sec));
    if (job->agent_state == ARCP__AGENT_NONE || job->agent_state == ARCP__AGENT_QUEUED) {
        arcp__agent_enter(job, ARCP__AGENT_RELEASED);
    }
    if (!arcp__job_has_agent(job)) {
        arcp__agent_queue_release(jobs, job);
    }
}

static void finish(arcp__jobs *jobs, arcp__job *job, arcp_job_status status, const char *type,
                   arcp_buf *payload)
{
    if (!arcp__job_status_may_become(job->status, status)) {
        return;
    }
    settle(jobs, job);
    if (!arcp__job_status_may_become(job->status, status)) {
        return;
    }
    arcp__denials_emit_rest(jobs, job);
    const bool is_over_limit = job->over_limit != NULL;
    if (is_over_limit && status == ARCP_JOB_SUCCESS) {
        return; /* some of its records were discarded */
    }
    if (payload->size > arcp__frame_payload_max(jobs->context)) {
        arcp__job_fail(jobs, job, ARCP_E_INTERNAL_ERROR,
                       ARCP_SPAN_LITERAL("the result is too large for one frame "
                                         "(limits.frame_bytes): it can be sent in chunks"),
                       true, ARCP__FRAME_LIMIT);
        return;
    }
    /* The runtime's own terminal records are stored whatever their size. */
    const bool is_bounded = !is_over_limit && (job->result_sent || status == ARCP_JOB_SUCCESS);
    arcp__context_check_text(jobs->context, payload);
    if (!arcp__job_emit_terminal(jobs, job, type, arcp_buf_span(payload), is_bounded)) {
        return; /* the record exceeds a limit: that ends the job (job_record.c) */
    }
    enter_end(jobs, job, status, arcp_buf_span(payload));
}

/* [arcp:8.4-8] */
static void close_payload(const arcp__jobs *jobs, const arcp__job *job, arcp_json_writer *writer)
{
    arcp__write_timestamp(writer, "completed_at", jobs->context->now.wall_ns);
    arcp__put_cstr(writer, "job_id", job->id);
    arcp_json_end_object(writer);
}

/* [arcp:7.3-2] [arcp:7.4-3] */
static arcp_job_status final_status(arcp_status code)
{
    if (code == ARCP_E_CANCELLED) {
        return ARCP_JOB_CANCELLED;
    }
    return code == ARCP_E_TIMEOUT ? ARCP_JOB_TIMED_OUT : ARCP_JOB_ERROR;
}

static arcp__cancel_reason stop_reason(const arcp__job *job, arcp_status code)
{
    if (job->parent != NULL && arcp__job_has_ended(job->parent)) {
        return ARCP__CANCEL_PARENT;
    }
    if (code == ARCP_E_TIMEOUT) {
        return ARCP__CANCEL_TIMEOUT;
    }
    if (code == ARCP_E_LEASE_EXPIRED) {
        return ARCP__CANCEL_LEASE_EXPIRED;
    }
    return code == ARCP_E_CANCELLED ? ARCP__CANCEL_CLIENT : ARCP__CANCEL_SHUTDOWN;
}

static void write_error(const arcp__jobs *jobs, const arcp__job *job, arcp_buf *payload,
                        arcp_status code, arcp_span message, bool retryable, arcp_span details)
{
    arcp_json_writer writer = arcp__put_begin(payload);
    arcp__put_cstr(&writer, "final_status", arcp_job_status_name(final_status(code)));
    arcp__error_payload_members(&writer, code, arcp_span_cstr(arcp_status_wire_code(code)), message,
                                retryable, details);
    close_payload(jobs, job, &writer);
}

/* Whether the agent may not do anything more: its lease has expired, and it is confined, so that
 * nothing that it does after the kill is lost to others. */
static bool is_killed_at_once(const arcp__jobs *jobs, const arcp__job *job)
{
    const arcp__job_live *live = job->live;
    return arcp__job_has_ended(job) && live->enforcement != NULL &&
           live->enforcement->is_confined && live->authority != NULL &&
           jobs->context->settings.lease_on_expiry == ARCP__ON_EXPIRY_TERMINATE &&
           arcp_authority_is_expired(live->authority, jobs->context->now);
}

void arcp__job_fail(arcp__jobs *jobs, arcp__job *job, arcp_status code, arcp_span message,
                    bool retryable, arcp_span details)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    arcp_error cancelled = {0};
    if (job->cancelling) {
        /* Its cancellation was acknowledged, so it ends as cancelled whatever the cause. */
        const char *reason = job->live->cancel_message;
        const char *whole = job->live->end_message;
        code = whole != NULL
                   ? arcp_error_set(&cancelled, ARCP_E_CANCELLED, "%s", whole)
                   : arcp_error_set(&cancelled, ARCP_E_CANCELLED, "the job was cancelled%s%s",
                                    reason == NULL ? "" : ": ", reason == NULL ? "" : reason);
        message = arcp_span_cstr(cancelled.message);
        retryable = false;
        details = arcp_span_make(NULL, 0);
    }
    arcp_buf payload = arcp_buf_init();
    write_error(jobs, job, &payload, code, message, retryable, details);
    if (payload.size > arcp__frame_payload_max(jobs->context)) {
        arcp_buf_clear(&payload);
        message = arcp_span_first(message, arcp__utf8_cut(message, ARCP__REPEATED_MAX));
        write_error(jobs, job, &payload, code, message, retryable, ARCP__FRAME_LIMIT);
    }
    job->end_code = code;
    finish(jobs, job, final_status(code), "job.error", &payload);
    arcp_buf_fini(&payload);
    if (is_killed_at_once(jobs, job)) {
        arcp__agent_kill(jobs, job, true);
    } else if (!job->result_sent) {
        arcp__agent_cancel(jobs, job, stop_reason(job, code), 0);
    }
}

void arcp__job_fail_with(arcp__jobs *jobs, arcp__job *job, arcp_status code, const char *message)
{
    arcp__job_fail(jobs, job, code, arcp_span_cstr(message),
                   arcp_status_is_retryable_by_default(code), arcp_span_make(NULL, 0));
}

/* Writes the result of a job that sent chunks, for a session without result_chunk. */
static bool write_inline(arcp__jobs *jobs, const arcp__job *job, arcp_json_writer *writer)
{
    const arcp_span bytes = arcp_buf_span(&job->live->inline_result);
    if (bytes.size > jobs->context->settings.limits_frame_bytes - 1024) {
        return false;
    }
    arcp_json_name(writer, "result");
    if (arcp__utf8_is_valid(bytes)) {
        arcp_json_write_string(writer, bytes);
    } else {
        arcp_buf text = arcp_buf_init();
        arcp__base64_encode(bytes, ARCP__BASE64_STANDARD, &text);
        arcp_json_write_string(writer, arcp_buf_span(&text));
        writer->out->failed = writer->out->failed || text.failed;
        arcp_buf_fini(&text);
    }
    return true;
}

/* [arcp:8.4-11] */
void arcp__job_succeed(arcp__jobs *jobs, arcp__job *job, arcp_span result_json,
                       arcp_span summary_json)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (job->cancelling) {
        arcp__job_fail_with(jobs, job, ARCP_E_CANCELLED, "the job was cancelled");
        return;
    }
    const bool chunked = job->chunks != ARCP__CHUNKS_NONE;
    if (chunked && result_json.size != 0) {
        arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR,
                            "the agent sent an inline result after result chunks");
        return;
    }
    if (job->chunks == ARCP__CHUNKS_OPEN) { /* no chunk had `more: false` [arcp:8.4-7] */
        job->chunks = ARCP__CHUNKS_ENDED;
        arcp__job_emit_chunk(jobs, job, ARCP_SPAN_LITERAL("\"\""), false, false);
    }
    arcp_buf payload = arcp__context_take_buf(jobs->context);
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_cstr(&writer, "final_status", "success");
    bool fits = true;
    if (chunked && arcp__job_streams(job)) {
        arcp__put_cstr(&writer, "result_id", job->result_id);
        arcp__put_u64(&writer, "result_size", job->live->result_size);
    } else if (chunked) {
        fits = write_inline(jobs, job, &writer);
    } else {
        arcp__put_raw(&writer, "result",
                      result_json.size == 0 ? ARCP_SPAN_LITERAL("null") : result_json);
    }
    if (summary_json.size != 0) {
        arcp__put_raw(&writer, "summary", summary_json);
    }
    close_payload(jobs, job, &writer);
    if (fits) {
        finish(jobs, job, ARCP_JOB_SUCCESS, "job.result", &payload);
    } else {
        arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR,
                            "the result is too large for one frame, and the session did not "
                            "negotiate result_chunk");
    }
    arcp__context_give_buf(jobs->context, &payload);
}

/* ---- cancels and deadlines ---- */

/* Copies a text that is not empty. False when out of memory. */
static bool keep_text(arcp__jobs *jobs, char **to, const char *text)
{
    *to = *text == '\0' ? NULL : arcp__copy_cstr(text, strlen(text));
    if (*to == NULL && *text != '\0') {
        arcp__context_no_memory(jobs->context);
        return false;
    }
    return true;
}

static void cancel(arcp__jobs *jobs, arcp__job *job, uint64_t grace_ms)
{
    job->cancelling = true;
    arcp__job_live_changed(jobs, job);
    if (!arcp__job_has_agent(job) || arcp__job_awaits_worker(job)) {
        arcp__job_fail_with(jobs, job, ARCP_E_CANCELLED, "the job was cancelled");
        return;
    }
    arcp__agent_cancel(jobs, job, ARCP__CANCEL_CLIENT, grace_ms);
}

void arcp__job_cancel(arcp__jobs *jobs, arcp__job *job, const char *message)
{
    if (!job->cancelling && keep_text(jobs, &job->live->cancel_message, message)) {
        cancel(jobs, job, jobs->context->settings.jobs_cancel_grace_ms);
    }
}

/* One that is being cancelled already ends as that cancel says, but may get less time. */
void arcp__job_end(arcp__jobs *jobs, arcp__job *job, const arcp__job_ending *order)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (!job->cancelling) {
        arcp_error whole = {0};
        (void)arcp_error_set(&whole, ARCP_E_CANCELLED, "%s%s%s%s",
                             order->by == NULL ? "the job was cancelled" : "ended by ",
                             order->by == NULL ? "" : order->by,
                             order->reason[0] == '\0' ? "" : ": ", order->reason);
        if (!keep_text(jobs, &job->live->cancel_message, order->reason) ||
            !keep_text(jobs, &job->live->end_message, whole.message)) {
            return;
        }
    }
    cancel(jobs, job, order->grace_ms);
    if (order->grace_ms == 0) {
        arcp__job_fail_with(jobs, job, ARCP_E_CANCELLED, "the job was cancelled");
        arcp__agent_kill(jobs, job, true);
    }
}

/* [arcp:9.5-7] [arcp:9.5-8] [arcp:14-6] [arcp:LA-17] [arcp:LB-4] */
static void expiry_due(arcp__jobs *jobs, arcp__job *job)
{
    if (arcp__job_has_ended(job)) {
        return;
    }
    const bool is_queued = job->agent_state == ARCP__AGENT_QUEUED; /* it cannot start any more */
    const bool ends =
        is_queued || jobs->context->settings.lease_on_expiry == ARCP__ON_EXPIRY_TERMINATE;
    if (!job->expiry_logged) {
        job->expiry_logged = true;
        arcp__context_disarm(jobs->context, &job->live->expiry_timer);
        arcp__audit(jobs->log, &(arcp__audit_line){.event = ARCP__AUDIT_EXPIRY,
                                                   .decision = ends ? "ended" : "denied",
                                                   .who = arcp__job_who(job),
                                                   .code = ARCP_E_LEASE_EXPIRED,
                                                   .rule = is_queued ? "queued"
                                                           : ends    ? "lease.on_expiry: terminate"
                                                                     : "lease.on_expiry: deny",
                                                   .lease = job->live->lease});
    }
    if (ends) {
        arcp__job_fail_with(jobs, job, ARCP_E_LEASE_EXPIRED,
                            is_queued ? "the job's lease expired while it was queued"
                                      : "the job's lease has expired");
    } else {
        arcp__job_revoke(jobs, job, ARCP_E_LEASE_EXPIRED);
    }
}

void arcp__jobs_wall_clock_set(arcp__jobs *jobs)
{
    for (arcp__job *job = jobs->all, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        if (arcp__job_has_ended(job) || job->expiry_logged || job->live->authority == NULL) {
            continue;
        }
        if (arcp_authority_is_expired(job->live->authority, jobs->context->now)) {
            expiry_due(jobs, job);
        } else {
            arcp__context_arm(
                jobs->context, &job->live->expiry_timer, jobs->timer_kind, job,
                arcp__authority_due_mono_ns(job->live->authority, jobs->context->now));
        }
    }
}

void arcp__job_due(arcp__jobs *jobs, arcp__timer *timer)
{
    arcp__job *job = timer->owner;
    if (timer == &job->keep_timer) {
        arcp__job_keep_due(jobs, job);
    } else if (timer == &job->live->runtime_timer) {
        arcp__job_fail_with(jobs, job, ARCP_E_TIMEOUT, "the job ran longer than max_runtime_sec");
    } else if (timer == &job->live->expiry_timer) {
        expiry_due(jobs, job);
    } else if (timer == &job->live->queue_timer) {
        arcp__job_fail(jobs, job, ARCP_E_TIMEOUT,
                       ARCP_SPAN_LITERAL("the job waited longer than jobs.queue_sec for its agent"),
                       arcp_status_is_retryable_by_default(ARCP_E_TIMEOUT),
                       ARCP_SPAN_LITERAL("{\"limit\":\"jobs.queue_sec\"}"));
    } else {
        arcp__agent_kill(jobs, job, false);
        if (job->cancelling) {
            arcp__job_fail_with(jobs, job, ARCP_E_CANCELLED, "the job was cancelled");
        }
    }
}

/* After the agent has its reply: an expired lease or a used-up budget ends the job if so
 * configured. [arcp:9.6-8] [arcp:9.6-9] [arcp:LB-9] */
void arcp__job_after_denial(arcp__jobs *jobs, arcp__job *job, arcp_status code)
{
    if (code == ARCP_E_LEASE_EXPIRED) {
        expiry_due(jobs, job);
    } else if (code == ARCP_E_BUDGET_EXHAUSTED &&
               jobs->context->settings.budget_on_exhaustion == ARCP__ON_EXHAUSTION_FAIL) {
        arcp__job_fail_with(jobs, job, ARCP_E_BUDGET_EXHAUSTED, "a budget is used up");
    }
}

/* ---- all jobs ---- */

void arcp__jobs_end_over_limit(arcp__jobs *jobs)
{
    while (jobs->over_limit != NULL) {
        arcp__job *job = jobs->over_limit;
        jobs->over_limit = job->next_over_limit;
        if (job->principal != NULL) { /* else it was removed meanwhile */
            char message[96];
            char details[64];
            (void)snprintf(message, sizeof message, "the job's output exceeds %s", job->over_limit);
            (void)snprintf(details, sizeof details, "{\"limit\":\"%s\"}", job->over_limit);
            arcp__job_fail(jobs, job, ARCP_E_INTERNAL_ERROR, arcp_span_cstr(message), true,
                           arcp_span_cstr(details));
        }
        arcp__job_unpin(job);
    }
}

void arcp__jobs_fini(arcp__jobs *jobs)
{
    arcp__free(jobs->worker_directory);
    arcp__jobs_committed(jobs);        /* closing: no job stays listed as ahead */
    while (jobs->over_limit != NULL) { /* pinned; only a failed engine has any left */
        arcp__job *job = jobs->over_limit;
        jobs->over_limit = job->next_over_limit;
        arcp__job_unpin(job);
    }
    arcp__jobs_store_due(jobs); /* writes nothing now, but unpins the jobs */
    for (arcp__job *job = jobs->all, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        if (arcp__job_has_agent(job)) {
            arcp__job_unpin(job); /* the agent's pin */
        }
        arcp__job_drop(jobs, job);
    }
    arcp__jobs_forget_agents(jobs);
    arcp__agents_clear(jobs);
    arcp__policies_clear(jobs);
    arcp__workers_free(jobs);
    arcp__placement_fini(&jobs->placement);
    arcp__purses_free(jobs);
    arcp__idempotency_free_all(jobs);
    arcp__principals_free(jobs);
    arcp__free(jobs->in_order.jobs);
    arcp_buf_fini(&jobs->body);
    arcp_buf_fini(&jobs->features_text);
}

bool arcp__jobs_sweep(arcp__jobs *jobs)
{
    const bool has_more = arcp__idempotency_expire(jobs);
    if (!has_more) {
        arcp__principals_sweep(jobs);
    }
    return has_more;
}
