/* Input from an agent: its lines (man/arcp-agent.7; one JSON object or plain text each) and
 * messages from its port (core/job_port.h), which uses the gate and the budgets; and events of its
 * credential. */
#include "job/job_state.h"
#include "job/purse.h"

#include <stdio.h>

#define CHUNK_NEEDS                                                                                \
    "a result chunk needs data (a string), encoding (utf8 or base64) and more (true or false)"

/* After its result or error an agent has this long to exit by itself. */
#define WIND_DOWN_MS 5000u

typedef struct line {
    bool is_again; /* it has had its effect */
    arcp_span type;
    arcp_span id; /* empty: no reply wanted */
    arcp_json_ref payload;
    /* its members */
    arcp_span kind, capability, target;
    arcp_json_ref body, data, encoding, result, summary;
    bool more;
} line;

#define MEMBER(member, kind) ARCP__MEMBER(line, member, #member, kind)

static const arcp__member line_rows[] = {
    {MEMBER(type, LOOSE)},
    {MEMBER(id, LOOSE)},
    {MEMBER(payload, ANY)},
};
static const arcp__member event_rows[] = {
    {MEMBER(kind, LOOSE), .text = "kind of the event, one of [events.md](events.md) or x-vendor.*; "
                                  "a line without it is refused"},
    {MEMBER(body, ANY), .text = "body of the event"},
};
static const arcp__member authorize_rows[] = {
    {MEMBER(capability, TEXT), .required = true, .text = "capability, such as `fs.read`"},
    {MEMBER(target, TEXT), .required = true, .text = "target of the operation, such as a path"},
};
static const arcp__member chunk_rows[] = {
    {MEMBER(data, TEXT), .required = true, .text = "next piece of the result"},
    {MEMBER(encoding, TEXT), .required = true, .text = "utf8 or base64"},
    {MEMBER(more, BOOL), .required = true, .text = "false in the last piece"},
};
static const arcp__member result_rows[] = {
    {MEMBER(result, ANY), .text = "the result, any JSON (default: null)"},
    {MEMBER(summary, TEXT), .text = "a text for people"},
};
static const arcp__members line_members = ARCP__MEMBERS(line_rows);
static const arcp__members chunk_members = ARCP__MEMBERS(chunk_rows);

/* ---- messages from its port ---- */

/* Whether a counter of the job or of an ancestor is below zero. */
static bool is_overdrawn(const arcp__job *job)
{
    const arcp_budget *budget = arcp_authority_budget(job->live->authority);
    for (; budget != NULL; budget = arcp_budget_parent(budget)) {
        for (size_t i = 0; i < arcp_budget_count(budget); i++) {
            if (arcp_decimal_compare(arcp_budget_remaining(budget, i),
                                     (arcp_decimal)ARCP_DECIMAL_ZERO) < 0) {
                return true;
            }
        }
    }
    return false;
}

/* What follows a spend, after its metric: reports, rows and, if so configured, the end of the
 * job. */
static void spent(arcp__jobs *jobs, arcp__job *job, const arcp_budget_report *reports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        arcp__job *counted = job; /* the job or ancestor whose counters these are */
        while (counted != NULL && counted->budget != reports[i].budget) {
            counted = counted->parent;
        }
        if (counted != NULL && !arcp__job_has_ended(counted)) {
            arcp__job_emit_remaining(jobs, counted, &reports[i]);
        }
        if (counted != NULL && reports[i].exhausted) {
            arcp__jobs_revoke_exhausted(jobs, counted);
        } else if (reports[i].exhausted) {
            arcp__jobs_revoke_purse(jobs, job->live->purse);
        }
    }
    for (arcp__job *ancestor = job; ancestor != NULL; ancestor = ancestor->parent) {
        if (!arcp__job_has_ended(ancestor) && ancestor->budget != NULL) {
            arcp__job_store_with_batch(jobs, ancestor, ARCP__ROW_LIVE);
            if (jobs->watch != NULL) {
                jobs->watch->spent(jobs->watch->user, ancestor);
            }
        }
    }
    /* Reports are debounced, so the counters are checked instead. */
    if (jobs->context->settings.budget_on_exhaustion == ARCP__ON_EXHAUSTION_FAIL &&
        is_overdrawn(job)) {
        arcp__job_fail_with(jobs, job, ARCP_E_BUDGET_EXHAUSTED, "a budget is used up");
    }
}

void arcp__job_record_decision(arcp__jobs *jobs, arcp__job *job, const arcp_decision *decision)
{
    const bool audit_fails = decision->code == ARCP_E_INTERNAL_ERROR; /* the lease allows it */
    const bool is_denied = decision->code != ARCP_OK;
    if (is_denied) {
        jobs->metrics.denial_count++;
        jobs->metrics.denials[decision->code][arcp__capability_from_name(decision->capability)]++;
        arcp__job_note_refused(jobs, job,
                               &(arcp__denied_note){.capability = decision->capability,
                                                    .target = decision->target,
                                                    .layer = "gate",
                                                    .code = decision->code,
                                                    .count = 1});
    }
    arcp__audit(jobs->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_GATE,
                                    .decision = is_denied ? "denied" : "allowed",
                                    .who = arcp__job_who(job),
                                    .code = decision->code,
                                    .rule = audit_fails ? "audit.on_failure: deny" : "lease",
                                    .reason = is_denied && !audit_fails
                                                  ? arcp_deny_reason_name(decision->reason)
                                                  : NULL,
                                    .capability = decision->capability,
                                    .target = decision->target,
                                    .pattern = decision->pattern});
}

/* Handles a message from the job's port. */
static void take_message(arcp__jobs *jobs, arcp__job *job, const arcp__job_message *message)
{
    if (message->unit.size != 0) { /* costs count after the job's end, too */
        arcp__credential_note_spend(jobs->credentials, &job->live->credential, message->unit,
                                    message->amount);
        arcp__job_note_cost(jobs, job, message->unit, message->amount);
    }
    if (message->call != NULL) {
        arcp__span_call(jobs, job, message->call);
    }
    if (message->charged_id.size != 0 &&
        !arcp__denied_calls_add(&job->live->port.charged, message->charged_id)) {
        arcp__context_no_memory(jobs->context);
        return;
    }
    if (message->hold_id.size != 0) {
        arcp__purse_hold(jobs, job, message);
    }
    if (message->is_spent) {
        arcp__purse_spent(jobs, job);
        for (arcp__job *counted = job; counted != NULL; counted = counted->parent) {
            arcp__job_changed(jobs, counted); /* its budget counts what its children spend */
        }
    }
    const bool is_denial = message->decision.code != ARCP_OK;
    /* A grant is recorded even after the job's end, because it was used; but not once the job is
     * removed. */
    if (message->is_decided && (is_denial ? !arcp__job_has_ended(job) : job->principal != NULL)) {
        arcp__job_record_decision(jobs, job, &message->decision);
    }
    if (arcp__job_has_ended(job)) {
        return;
    }
    if (message->body.size != 0) {
        arcp__job_emit_event(jobs, job, arcp_event_kind_feature(message->kind), message->kind_text,
                             message->body);
    }
    if (message->kind == ARCP_EVENT_PROGRESS) {
        arcp__job_note_progress(jobs, job, message->body);
    }
    if (message->is_spent) {
        spent(jobs, job, message->reports, message->report_count);
    }
}

void arcp__job_agent_message(arcp__jobs *jobs, arcp__job *job, const arcp__job_message *message)
{
    take_message(jobs, job, message);
    if (!arcp__job_has_ended(job)) {
        arcp__job_after_denial(jobs, job, message->decision.code);
    }
}

/* ---- lines ---- */

/* False when a required member is missing or has the wrong type. */
static bool read_members(arcp__jobs *jobs, arcp_json_ref object, const arcp__members *members,
                         line *in)
{
    return arcp__decode_row(&jobs->context->json, &jobs->context->scratch, object, members, in);
}

static void reply_status(arcp__jobs *jobs, arcp__job *job, const line *in, arcp_status status,
                         const arcp_error *error, const arcp_buf *details)
{
    if (status == ARCP_OK) {
        arcp__agent_reply(jobs, job, in->id, ARCP_SPAN_LITERAL("{}"));
        return;
    }
    if (in->id.size != 0) {
        arcp__agent_reply_error(jobs, job, in->id, error, arcp__details(details));
    } else if (status == ARCP_E_INVALID_REQUEST) {
        /* No reply is wanted; the log keeps the error from being lost. */
        arcp__job_emit_log(jobs, job, "error", arcp_span_cstr(error->message));
    }
    arcp__job_after_denial(jobs, job, status);
}

static void refuse(arcp__jobs *jobs, arcp__job *job, const line *in, const char *message)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "%s", message);
    reply_status(jobs, job, in, error.status, &error, &(arcp_buf){0});
}

static void take_chunk(arcp__jobs *jobs, arcp__job *job, line *in)
{
    const arcp_json *json = &jobs->context->json;
    const bool is_base64 = arcp_json_string_equals(json, in->encoding, ARCP_SPAN_LITERAL("base64"));
    if (!is_base64 && !arcp_json_string_equals(json, in->encoding, ARCP_SPAN_LITERAL("utf8"))) {
        refuse(jobs, job, in, CHUNK_NEEDS);
        return;
    }
    arcp_error error = {0};
    const arcp_status status =
        arcp__job_chunk(jobs, job, arcp_json_string(json, in->data, &jobs->context->scratch),
                        arcp_json_raw(json, in->data), is_base64, in->more, &error);
    reply_status(jobs, job, in, status, &error, &(arcp_buf){0});
}

static void take_delegate(arcp__jobs *jobs, arcp__job *job, line *in)
{
    arcp_error error = {0};
    arcp_buf details = arcp_buf_init();
    const arcp_status status =
        arcp__job_delegate(jobs, job, &jobs->context->json, in->payload, in->id, &details, &error);
    if (status != ARCP_OK) {
        reply_status(jobs, job, in, status, &error, &details);
    }
    arcp_buf_fini(&details);
}

static void take_event(arcp__jobs *jobs, arcp__job *job, line *in)
{
    if (arcp_span_equal_cstr(in->kind, "result_chunk")) {
        if (read_members(jobs, in->body, &chunk_members, in)) {
            take_chunk(jobs, job, in);
        } else {
            refuse(jobs, job, in, CHUNK_NEEDS);
        }
        return;
    }
    if (arcp_span_equal_cstr(in->kind, "delegate")) {
        in->payload = in->body;
        take_delegate(jobs, job, in);
        return;
    }
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_message message;
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init(); /* details, or the reply */
    const arcp__job_port_event event = {.kind = in->kind,
                                        .json = &jobs->context->json,
                                        .body = in->body,
                                        .scratch = &jobs->context->scratch,
                                        .out = &jobs->body,
                                        .details = &text};
    arcp_buf_clear(&jobs->body);
    const arcp_status status =
        arcp__job_port_emit(&job->live->port, jobs->context->now, &event, &message, &error);
    if (jobs->body.failed) {
        arcp__context_no_memory(jobs->context);
        arcp_buf_fini(&text);
        return;
    }
    arcp__job_port_spend(&job->live->port, &message, reports);
    take_message(jobs, job, &message);
    if (status == ARCP_OK && in->id.size != 0 && arcp_span_equal_cstr(in->kind, "metric")) {
        /* The reply to a metric says what is left of the budgets, if there are any. */
        arcp_buf_clear(&text);
        arcp_json_writer writer = arcp__put_begin(&text);
        arcp__budget_write_available(job, &writer);
        arcp_json_end_object(&writer);
        arcp__context_check_text(jobs->context, &text);
        arcp__agent_reply(jobs, job, in->id, arcp_buf_span(&text));
    } else {
        reply_status(jobs, job, in, status, &error, &text);
    }
    arcp_buf_fini(&text);
}

/* [arcp:LB-2] */
static void take_authorize(arcp__jobs *jobs, arcp__job *job, line *in)
{
    arcp_target_scratch scratch;
    arcp__job_message message;
    arcp_error error = {0};
    arcp_buf details = arcp_buf_init();
    arcp__item_stores_nothing(job);
    const bool is_allowed =
        arcp__job_port_authorize(&job->live->port, jobs->context->now, in->capability, in->target,
                                 &scratch, &details, &message, &error);
    take_message(jobs, job, &message);
    if (is_allowed) {
        arcp__agent_reply(jobs, job, in->id, ARCP_SPAN_LITERAL("{\"allow\":true}"));
    } else {
        reply_status(jobs, job, in, error.status, &error, &details);
    }
    arcp_buf_fini(&details);
}

static void take_result(arcp__jobs *jobs, arcp__job *job, line *in)
{
    const arcp_json *json = &jobs->context->json;
    arcp_buf result = arcp__context_take_buf(jobs->context);
    arcp_buf summary = arcp__context_take_buf(jobs->context);
    arcp_json_compact(json, in->result, &result);
    if (arcp_json_is(json, in->summary, ARCP_JSON_STRING)) {
        arcp_json_compact(json, in->summary, &summary);
    }
    job->result_sent = true;
    arcp__job_succeed(jobs, job, arcp_buf_span(&result), arcp_buf_span(&summary));
    arcp__context_give_buf(jobs->context, &result);
    arcp__context_give_buf(jobs->context, &summary);
}

/* [arcp:EG-4] [arcp:EG-5] */
static void take_error(arcp__jobs *jobs, arcp__job *job, line *in)
{
    arcp__error_payload payload;
    arcp_error error = {0};
    job->result_sent = true;
    if (arcp__error_payload_parse(&jobs->context->json, in->payload, &jobs->context->scratch,
                                  &payload, &error) != ARCP_OK) {
        arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR, "the agent's job.error has no code");
        return;
    }
    /* Only the draft's fifteen codes are sent: any other code of an agent becomes
     * INTERNAL_ERROR. */
    bool known = arcp_status_is_wire_code(payload.code);
    if (!known) {
        char message[128];
        const arcp_span shown = arcp_span_first(payload.code, 64);
        (void)snprintf(message, sizeof message,
                       "the agent's error code \"%.*s\" is not one of the draft's", (int)shown.size,
                       shown.data);
        arcp__job_log(jobs, ARCP__LOG_WARN, job, message);
    }
    arcp_buf details = arcp_buf_init();
    arcp_status status = payload.status;
    arcp_json_compact(&jobs->context->json, payload.details, &details);
    if (!known || status == ARCP_E_INTERNAL_ERROR) {
        const arcp_status translated = arcp__credential_translate(
            jobs->credentials, &job->live->credential, &jobs->context->json, in->payload);
        if (translated != ARCP_OK) {
            status = translated;
            payload.retryable = arcp_status_is_retryable_by_default(translated);
            known = true;
        }
    }
    arcp__job_fail(jobs, job, status, payload.message, known ? payload.retryable : true,
                   arcp__details(&details));
    arcp_buf_fini(&details);
}

/* The lines that a job takes until it has ended. */
static const struct {
    const char *type;
    arcp__members members;
    const char *needs; /* the error when required members are missing */
    void (*take)(arcp__jobs *jobs, arcp__job *job, line *in);
} lines[] = {
    {"job.event", ARCP__MEMBERS(event_rows), "", take_event},
    {"authorize", ARCP__MEMBERS(authorize_rows),
     "authorize needs capability and target, both strings", take_authorize},
    {"delegate", {NULL, 0}, "", take_delegate},
    {"result.chunk", ARCP__MEMBERS(chunk_rows), CHUNK_NEEDS, take_chunk},
    {"job.result", ARCP__MEMBERS(result_rows), "", take_result},
    {"job.error", {NULL, 0}, "", take_error},
};

const char *arcp__agent_line_type(size_t i, const arcp__members **members)
{
    if (i >= sizeof lines / sizeof lines[0]) {
        return NULL;
    }
    *members = &lines[i].members;
    return lines[i].type;
}

/* Unknown types are ignored, both ways. */
static void dispatch(arcp__jobs *jobs, arcp__job *job, line *in)
{
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (!arcp_span_equal_cstr(in->type, lines[i].type)) {
            continue;
        }
        if (in->is_again && lines[i].take != take_authorize) {
            return;
        }
        if (read_members(jobs, in->payload, &lines[i].members, in)) {
            lines[i].take(jobs, job, in);
        } else {
            refuse(jobs, job, in, lines[i].needs);
        }
        return;
    }
}

/* `is_again`: the line was taken before. A decision of the gate is not stored and may not have
 * reached the agent, so that only authorize is answered again. */
static void take_json_line(arcp__jobs *jobs, arcp__job *job, bool is_again, arcp_span text)
{
    arcp_json *json = &jobs->context->json;
    const arcp_json_limits limits =
        arcp__context_json_limits(jobs->context, jobs->context->settings.limits_agent_line_bytes);
    arcp_error error = {0};
    const arcp_status status = arcp__context_can_read(jobs->context, text)
                                   ? arcp_json_scan(json, text, &limits, &error)
                                   : ARCP_E_NO_MEMORY;
    if (status == ARCP_E_NO_MEMORY) { /* the agent chose the size */
        arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR,
                            "there is no memory for a line of this size");
        return;
    }
    if (status != ARCP_OK && is_again) {
        return;
    }
    if (status != ARCP_OK) {
        job->output = ARCP__OUTPUT_BROKEN;
        arcp__job_emit_log(jobs, job, "error", arcp_span_cstr(error.message));
        return;
    }
    line in = {.is_again = is_again};
    if (read_members(jobs, ARCP_JSON_ROOT, &line_members, &in)) {
        dispatch(jobs, job, &in);
    }
    if (arcp__job_has_ended(job) && job->result_sent && job->agent_state == ARCP__AGENT_RUNNING &&
        job->live->grace_timer.place == 0) {
        arcp__context_arm(jobs->context, &job->live->grace_timer, jobs->timer_kind, job,
                          arcp__context_after_ms(jobs->context, WIND_DOWN_MS));
    }
}

void arcp__job_agent_line(arcp__jobs *jobs, arcp__job *job, uint64_t item, arcp_span text)
{
    const arcp__item_turn turn = arcp__item_begin(jobs, job, item);
    if (turn == ARCP__ITEM_IGNORED) {
        return;
    }
    if (text.size != 0 && text.data[text.size - 1] == '\r') {
        text.size--;
    }
    if (!arcp__job_has_ended(job) && text.size != 0) {
        if (text.data[0] == '{') {
            take_json_line(jobs, job, turn == ARCP__ITEM_AGAIN, text);
        } else if (turn == ARCP__ITEM_ACTS) {
            arcp__job_emit_log(jobs, job, "info", text);
        }
    }
    arcp__item_end(jobs, job, item);
}

void arcp__job_agent_line_too_long(arcp__jobs *jobs, arcp__job *job, uint64_t item)
{
    if (arcp__item_begin(jobs, job, item) == ARCP__ITEM_ACTS) {
        arcp__job_fail_with(jobs, job, ARCP_E_INTERNAL_ERROR,
                            "the agent wrote a line longer than limits.agent_line_bytes");
        arcp__item_end(jobs, job, item);
    }
}

void arcp__job_agent_log(arcp__jobs *jobs, arcp__job *job, uint64_t item, const char *level,
                         arcp_span text)
{
    if (arcp__item_begin(jobs, job, item) == ARCP__ITEM_ACTS) {
        arcp__job_emit_log(jobs, job, level, text);
        arcp__item_end(jobs, job, item);
    }
}

void arcp__job_agent_noted(arcp__jobs *jobs, arcp__job *job, uint64_t item)
{
    if (arcp__item_begin(jobs, job, item) == ARCP__ITEM_ACTS) {
        arcp__item_end(jobs, job, item);
    }
}

/* ---- events of its credential ---- */

static void credential_answered(void *user, void *owner, const arcp_error *error)
{
    arcp__admission_provisioned(user, owner, error);
}

/* Notifies those who may see the value, and the agent. [arcp:9.8.2-8] */
static void credential_rotated(void *user, void *owner, arcp_span body)
{
    arcp__jobs *jobs = user;
    arcp__job *job = owner;
    arcp__job_emit_event(jobs, job, ARCP_FEATURE_NONE, ARCP_SPAN_LITERAL("status"), body);
    if (arcp__job_has_agent(job)) {
        arcp_buf text = arcp_buf_init();
        arcp__agent_write_credentials(jobs, job, &text);
        arcp__agent_send_line(jobs, job, 0, &text, true);
    }
    arcp__job_live_changed(jobs, job); /* nothing is reported of the new value yet */
}

static void credential_spent(void *user, void *owner, arcp_span currency, arcp_decimal amount)
{
    arcp__job *job = owner;
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_message message = {.unit = currency, .amount = amount};
    arcp__job_port_spend(&job->live->port, &message, reports);
    arcp__purse_spent(user, job);
    spent(user, job, message.reports, message.report_count);
}

static arcp__credential_slot *credential_slot_of(void *user, const char *job_id)
{
    const arcp__jobs *jobs = user;
    arcp__job *job = arcp__job_find(jobs, arcp_span_cstr(job_id));
    const bool goes_on = job != NULL && !arcp__job_has_ended(job) &&
                         (arcp__job_is_on_worker(job) || job->agent_state == ARCP__AGENT_QUEUED);
    return goes_on ? &job->live->credential : NULL;
}

void arcp__job_note_lost_credential(arcp__jobs *jobs, arcp__job *job)
{
    if (job->live->had_credential && job->live->credential.live == NULL) {
        arcp__job_emit_status(jobs, job, "credential_revoked",
                              ARCP_SPAN_LITERAL("the runtime was restarted without what had "
                                                "issued the job's credential"));
        if (job->agent_state == ARCP__AGENT_QUEUED) {
            arcp__queue_write_start(jobs, job);
        }
        arcp__job_live_changed(jobs, job); /* it is reported once */
    }
}

const arcp__credential_ops arcp__job_credential_ops = {credential_answered, credential_rotated,
                                                       credential_spent, credential_slot_of};
