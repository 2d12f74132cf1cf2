/* Submits of schedules, and their jobs. */
#include "schedule/schedule_state.h"

#include <stdio.h>

#include "base/timestamp.h"

#define KEY_BYTES     320u
#define RETRY_SEC_MAX 60u

/* ---- jobs ---- */

static void run_ended(void *user, arcp__observer *observer)
{
    const arcp__schedule_run *run = (const arcp__schedule_run *)observer;
    (void)user;
    if (run->is_own) {
        run->schedule->live_runs--;
        arcp__schedule_schedule(run->schedule);
    }
}

static void run_free(arcp__jobs *jobs, arcp__schedule_run *run)
{
    if (run->is_own && !arcp__job_has_ended(run->observer.job)) {
        run->schedule->live_runs--;
    }
    arcp__job_unobserve(jobs, &run->observer);
    DL_DELETE(run->schedule->runs, run);
    arcp__free(run);
}

static void run_dropped(void *user, arcp__observer *observer)
{
    arcp__schedule_run *run = (arcp__schedule_run *)observer;
    (void)user;
    run_free(run->schedule->schedules->jobs, run);
}

static bool run_is_behind(const arcp__observer *observer, uint64_t seq)
{
    (void)observer;
    (void)seq;
    return false;
}

/* The records of its jobs are for others. */
static void ignore_record(void *user, arcp__observer *observer, uint64_t position, size_t bytes,
                          arcp_feature feature)
{
    (void)user;
    (void)observer;
    (void)position;
    (void)bytes;
    (void)feature;
}

static const arcp__observer_ops observer_ops = {ignore_record, run_ended, run_dropped,
                                                run_is_behind};

void arcp__schedule_adopt(arcp__schedules *schedules, arcp__schedule *schedule, arcp__job *job,
                          bool is_own)
{
    arcp__schedule_run *run = arcp__alloc(sizeof *run);
    if (run == NULL) {
        arcp__context_no_memory(schedules->context);
        return;
    }
    run->observer.ops = &observer_ops;
    run->observer.is_live = true;
    run->schedule = schedule;
    run->is_own = is_own;
    schedule->live_runs += is_own && !arcp__job_has_ended(job) ? 1 : 0;
    DL_PREPEND(schedule->runs, run);
    arcp__job_observe(job, &run->observer);
    arcp__job_adopt(job, &schedule->submitter, &run->observer);
}

void arcp__schedule_forget_runs(arcp__schedules *schedules, arcp__schedule *schedule)
{
    while (schedule->runs != NULL) {
        run_free(schedules->jobs, schedule->runs);
    }
}

static void child_is_made(void *user, arcp__submitter *submitter, arcp__job *child)
{
    arcp__schedule *schedule = (arcp__schedule *)submitter;
    (void)user;
    arcp__schedule_adopt(schedule->schedules, schedule, child, false);
}

static void admission_is_ready(void *user, arcp__submitter *submitter)
{
    (void)user;
    arcp__schedule_schedule((arcp__schedule *)submitter);
}

const arcp__submitter_ops arcp__schedule_submitter_ops = {child_is_made, admission_is_ready};

/* ---- outcomes ---- */

static const char *time_text(int64_t due, char out[ARCP__TIMESTAMP_SIZE + 1])
{
    arcp__timestamp_format(due * ARCP_NS_PER_SEC, out);
    memcpy(out + 19, "Z", 2); /* without milliseconds */
    return out;
}

static arcp_span key_of(const arcp__schedule *schedule, int64_t due, char out[KEY_BYTES])
{
    char time[ARCP__TIMESTAMP_SIZE + 1];
    const int size =
        snprintf(out, KEY_BYTES, "schedule/%s/%s", schedule->name, time_text(due, time));
    return arcp_span_make(out, (size_t)size);
}

/* The due time has its job. */
static void note_job(arcp__schedules *schedules, arcp__schedule *schedule, int64_t due,
                     const char *job_id)
{
    (void)snprintf(schedule->last_job, sizeof schedule->last_job, "%s", job_id);
    schedule->last_due = due;
    schedules->metrics.submitted++;
    arcp__schedule_pass(schedule, due);
    arcp__schedule_store(schedules, schedule);
}

static void start(arcp__schedules *schedules, arcp__schedule *schedule, int64_t due, arcp__job *job,
                  bool is_narrowed)
{
    char key[KEY_BYTES];
    arcp__schedule_adopt(schedules, schedule, job, true);
    arcp__audit(schedules->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_SUBMIT,
                                    .decision = "allowed",
                                    .who = arcp__job_who(job),
                                    .rule = is_narrowed ? "schedule, policy" : "schedule",
                                    .lease = job->live->lease,
                                    .more = {{"idempotency_key", key_of(schedule, due, key)},
                                             {"schedule", arcp_span_cstr(schedule->name)}}});
    note_job(schedules, schedule, due, job->id);
    arcp__job_start(schedules->jobs, job);
}

/* A submit that failed inside, or for a limit, is repeated; any other refusal is final. */
static void refuse(arcp__schedules *schedules, arcp__schedule *schedule, int64_t due,
                   const arcp_error *error, const arcp_buf *details)
{
    const bool is_final = error->status != ARCP_E_INTERNAL_ERROR;
    if (is_final || schedule->refusals == 0) {
        char key[KEY_BYTES];
        char time[ARCP__TIMESTAMP_SIZE + 1];
        const arcp__audit_who who = {.principal = schedule->principal};
        arcp__audit(schedules->log,
                    &(arcp__audit_line){.event = ARCP__AUDIT_SUBMIT,
                                        .decision = "denied",
                                        .who = who,
                                        .code = error->status,
                                        .rule = "schedule",
                                        .reason = error->message,
                                        .more = {{"idempotency_key", key_of(schedule, due, key)},
                                                 {"schedule", arcp_span_cstr(schedule->name)},
                                                 {"agent", arcp_span_cstr(schedule->agent)},
                                                 {"details", arcp_buf_span(details)}}});
        arcp__effect_log(schedules->log, ARCP__LOG_WARN,
                         "schedule \"%s\": the job that is due at %s was refused%s: %s",
                         schedule->name, time_text(due, time),
                         is_final ? "" : ", and is submitted again later", error->message);
    }
    if (is_final) {
        schedules->metrics.refused++;
        arcp__schedule_pass(schedule, due);
        arcp__schedule_store(schedules, schedule);
        return;
    }
    const unsigned shift = schedule->refusals < 6 ? schedule->refusals : 6;
    const uint64_t pause = UINT64_C(1) << shift;
    schedule->refusals++;
    schedule->retry_mono =
        arcp__context_after_sec(schedules->context, pause < RETRY_SEC_MAX ? pause : RETRY_SEC_MAX);
}

/* ---- submits ---- */

/* Scans the request into the context's index. */
static void read_request(arcp__schedules *schedules, const arcp__schedule *schedule,
                         arcp__job_order *order)
{
    arcp__context *context = schedules->context;
    const arcp_span text = arcp_span_cstr(schedule->request);
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    if (arcp_json_scan(&context->json, text, &limits, NULL) != ARCP_OK ||
        !arcp__context_prepare_scratch(context, text)) {
        arcp__context_no_memory(context); /* it was checked when it was configured */
        return;
    }
    order->json = &context->json;
    order->requested_input =
        arcp_json_member(order->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("input"));
    order->lease_request =
        arcp_json_member(order->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease_request"));
    order->lease_constraints = ARCP_JSON_ABSENT;
}

/* False: nothing more can be done for the schedule now. */
static bool submit(arcp__schedules *schedules, arcp__schedule *schedule, int64_t due)
{
    char key[KEY_BYTES];
    char trace_id[ARCP__TRACE_ID_SIZE] = {0};
    arcp__trace trace;
    const arcp__envelope envelope = {0};
    arcp_error error = {0};
    arcp__job_answer made = {0};
    arcp__job_order order = {.submitter = &schedule->submitter,
                             .features = ARCP_FEATURES_ALL,
                             .requested_agent = arcp_span_cstr(schedule->agent),
                             .key = key_of(schedule, due, key),
                             .fingerprint = schedule->fingerprint,
                             .trace_id = arcp_span_make(trace_id, sizeof trace_id),
                             .trace = &trace};
    order.principal = arcp__principal_get(schedules->jobs, arcp_span_cstr(schedule->principal));
    if (order.principal == NULL) {
        arcp__context_no_memory(schedules->context);
        return false;
    }
    if (arcp__submitter_waits_for_key(order.submitter, order.principal, order.key)) {
        return false;
    }
    read_request(schedules, schedule, &order);
    if (schedules->context->failed) {
        return false;
    }
    arcp__trace_read(schedules->jobs, &envelope, trace_id, &trace, &order.tracestate);
    switch (arcp__job_submit(schedules->jobs, &order, &made, &error)) {
    case ARCP__JOB_MADE:
        start(schedules, schedule, due, made.job, made.is_narrowed);
        break;
    case ARCP__JOB_WAITS:
        schedule->admission = made.admission;
        schedule->admission_due = due;
        break;
    case ARCP__JOB_SAME_KEY:
        note_job(schedules, schedule, due, made.job_id);
        break;
    case ARCP__JOB_REFUSED:
        if (error.status == ARCP_E_DUPLICATE_KEY) { /* made before its configuration changed */
            arcp__schedule_pass(schedule, due);
            arcp__schedule_store(schedules, schedule);
        } else {
            refuse(schedules, schedule, due, &error, &made.details);
        }
        break;
    }
    arcp_buf_fini(&made.details);
    arcp__principal_maybe_free(schedules->jobs, order.principal);
    return schedule->admission == NULL && schedule->retry_mono == 0;
}

/* Makes the job of a submit that had to wait for a credential. */
static void admit(arcp__schedules *schedules, arcp__schedule *schedule)
{
    arcp__admission *admission = schedule->admission;
    arcp__job_order order = *arcp__admission_order(admission);
    arcp__job_answer made = {0};
    arcp_error error = {0};
    schedule->admission = NULL;
    if (arcp__job_admit(schedules->jobs, admission, &order, &made, &error) == ARCP__JOB_MADE) {
        start(schedules, schedule, schedule->admission_due, made.job, made.is_narrowed);
    } else {
        refuse(schedules, schedule, schedule->admission_due, &error, &made.details);
    }
    arcp_buf_fini(&made.details);
    arcp__admission_free(schedules->jobs, admission);
}

static void cancel_running(arcp__schedules *schedules, const arcp__schedule *schedule)
{
    for (arcp__schedule_run *run = schedule->runs, *next = NULL; run != NULL; run = next) {
        next = run->next;
        if (run->is_own && !arcp__job_has_ended(run->observer.job)) {
            arcp__job_cancel(schedules->jobs, run->observer.job,
                             "the next job of its schedule is due");
        }
    }
}

/* Does one thing for the schedule; false: there is nothing to do now. */
static bool take_turn(arcp__schedules *schedules, arcp__schedule *schedule)
{
    arcp__admission *child = arcp__submitter_ready_child(&schedule->submitter);
    if (child != NULL) {
        arcp__job_admit_child(schedules->jobs, child);
        return true;
    }
    if (schedule->admission != NULL) {
        if (!arcp__admission_is_ready(schedule->admission)) {
            return false;
        }
        admit(schedules, schedule);
        return true;
    }
    const int64_t due = arcp__schedule_first_due(schedule);
    if (due == ARCP__DUE_NEVER || schedules->context->stopping ||
        schedule->retry_mono > schedules->context->now.mono_ns) {
        return false;
    }
    if (schedule->live_runs != 0 && schedule->overlap == ARCP__OVERLAP_CANCEL) {
        cancel_running(schedules, schedule);
    }
    if (schedule->live_runs == 0) {
        schedule->retry_mono = 0;
        return submit(schedules, schedule, due);
    }
    if (schedule->overlap != ARCP__OVERLAP_SKIP) {
        return false; /* until its job has ended */
    }
    schedules->metrics.overlapped++;
    arcp__schedule_pass(schedule, due);
    arcp__schedule_store(schedules, schedule);
    return true;
}

void arcp__schedules_run(arcp__schedules *schedules)
{
    while (schedules->scheduled != NULL && !schedules->context->failed &&
           !schedules->context->closing) {
        arcp__schedule *schedule = schedules->scheduled;
        if (take_turn(schedules, schedule)) {
            continue;
        }
        schedule->is_scheduled = false;
        DL_DELETE2(schedules->scheduled, schedule, previous_scheduled, next_scheduled);
        arcp__schedule_decide(schedules, schedule); /* arms the timer */
    }
}
