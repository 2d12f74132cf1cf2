/* Callback agents.
 *
 * An agent's thread checks events, asks the gate and spends budget by itself: the lease is
 * immutable and the counters are atomic. What it says goes to the loop through the inbox,
 * in order. What the loop decides for it (cancelled, paused, ended, a reply) is written
 * under the inbox's lock. The call is shared by both sides and freed by the last. */
#include <arcp/secret.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "core/body.h"
#include "core/error_payload.h"
#include "runtime/agent_call_state.h"

#define REPORTS_MAX 80u

arcp_agent_call *arcp__agent_call_ref(arcp_agent_call *call)
{
    atomic_fetch_add(&call->refs, 1);
    return call;
}

void arcp__agent_call_unref(arcp_agent_call *call)
{
    if (call == NULL || atomic_fetch_sub(&call->refs, 1) != 1) {
        return;
    }
    arcp_authority_unref(call->authority);
    arcp_json_fini(&call->start);
    arcp_json_fini(&call->json);
    if (call->start_text.data != NULL) {
        arcp_wipe(call->start_text.data, call->start_text.capacity); /* credentials */
    }
    arcp_secret_free(call->credentials);
    arcp_buf_fini(&call->start_text);
    arcp_buf_fini(&call->scratch);
    arcp_buf_fini(&call->body);
    arcp_buf_fini(&call->reply);
    arcp__denied_calls_fini(&call->denied);
    arcp__free(call->bye);
    arcp__free(call);
}

/* ---- the agent's side ---- */

arcp_span arcp_agent_job_id(const arcp_agent_call *call)
{
    return arcp_span_cstr(call->job_id);
}

const arcp_json *arcp_agent_start(const arcp_agent_call *call)
{
    return &call->start;
}

arcp_json_ref arcp_agent_input(const arcp_agent_call *call)
{
    return arcp_json_member(&call->start, call->payload, ARCP_SPAN_LITERAL("input"));
}

const arcp_authority *arcp_agent_authority(const arcp_agent_call *call)
{
    return call->authority;
}

bool arcp_agent_is_cancelled(const arcp_agent_call *call)
{
    return atomic_load(&call->cancelled);
}

/* With room for `more` bytes behind the text. */
static arcp__agent_message *new_message(arcp_agent_call *call, arcp__agent_message_kind kind,
                                        arcp_span text, size_t more)
{
    arcp__agent_message *message = arcp__alloc(sizeof(*message) + text.size + more);
    if (message != NULL) {
        message->kind = kind;
        message->call = arcp__agent_call_ref(call);
        message->size = text.size;
        if (text.size != 0) {
            memcpy(message->text, text.data, text.size);
        }
    }
    return message;
}

static arcp_status put(arcp_agent_call *call, arcp__agent_message_kind kind, arcp_span text,
                       arcp_error *err)
{
    arcp__agent_message *message = new_message(call, kind, text, 0);
    if (message == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__agent_inbox_put(call->runtime->inbox, message);
    return ARCP_OK;
}

static bool may_go_on(arcp_agent_call *call)
{
    return !atomic_load(&call->paused) || atomic_load(&call->ended);
}

/* Holds a blocking agent back while nobody takes what it says. */
static arcp_status wait_for_room(arcp_agent_call *call, arcp_error *err)
{
    if (atomic_load(&call->ended)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    if (may_go_on(call) && arcp__agent_inbox_has_room(call->runtime->inbox)) {
        return ARCP_OK;
    }
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        return arcp_error_set(err, ARCP_E_LIMIT, "the job's observers are too slow; wait");
    }
    if (!arcp__agent_inbox_wait(call->runtime->inbox, may_go_on, call) ||
        atomic_load(&call->ended)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    return ARCP_OK;
}

/* The audit log keeps no more of what peers chose (docs/audit.md). */
#define REPORT_BYTES_MAX 1024u

static arcp_span keep(char *to, arcp_span text)
{
    if (text.size != 0) {
        memcpy(to, text.data, text.size);
    }
    return arcp_span_make(to, text.size);
}

/* What was decided here is recorded by the loop, as it was decided. False: there is no memory
 * for the record. */
static bool report(arcp_agent_call *call, arcp__agent_message_kind kind,
                   const arcp_decision *decision, arcp_span text)
{
    arcp_span capability = arcp_span_first(decision->capability, REPORT_BYTES_MAX);
    arcp_span target = arcp_span_first(decision->target, REPORT_BYTES_MAX);
    arcp__agent_message *message = new_message(call, kind, text, capability.size + target.size);
    if (message == NULL) {
        return false;
    }
    char *behind = message->text + text.size;
    message->code = decision->code;
    message->reason = decision->reason;
    message->capability = keep(behind, capability);
    message->target = keep(behind + capability.size, target);
    arcp__agent_inbox_put(call->runtime->inbox, message);
    return true;
}

/* A denial stands, also where only its record is missing. */
static void report_denial(arcp_agent_call *call, const arcp_decision *decision,
                          arcp_span tool_result)
{
    bool recorded = report(call, ARCP__AGENT_WAS_DENIED, decision, tool_result);
    (void)recorded;
}

/* The lease allows it; so does the operator, unless what is decided has to be recorded and
 * cannot be. */
static bool may_grant(arcp_agent_call *call, arcp_decision *decision, arcp_error *err)
{
    arcp_runtime *runtime = call->runtime;
    bool is_shut = atomic_load(&runtime->gates_are_shut);
    if (!is_shut && atomic_load(&runtime->grants_are_logged)) {
        bool recorded = report(call, ARCP__AGENT_WAS_GRANTED, decision, decision->pattern);
        is_shut = !recorded && atomic_load(&runtime->audit_must_work);
    }
    if (is_shut) {
        decision->allowed = false;
        decision->code = ARCP_E_INTERNAL_ERROR;
        (void)arcp_error_set(err, decision->code,
                             "the audit log cannot be written right now; try again later");
    }
    return !is_shut;
}

/* A thread cannot be killed, but it has no authority any more. */
static bool is_over(const arcp_agent_call *call, arcp_span capability, arcp_span target,
                    arcp_decision *decision, arcp_error *err)
{
    if (!atomic_load(&call->ended)) {
        return false;
    }
    *decision = (arcp_decision){.code = ARCP_E_CLOSED,
                                .reason = ARCP_DENY_NO_MATCH,
                                .capability = capability,
                                .target = target};
    (void)arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    return true;
}

static bool gate(arcp_agent_call *call, arcp_span capability, arcp_span target,
                 arcp_target_scratch *scratch, arcp_decision *decision, arcp_error *err)
{
    if (is_over(call, capability, target, decision, err)) {
        return false;
    }
    if (arcp_authorize(call->authority, arcp__runtime_now(), capability, target, scratch,
                       decision)) {
        return may_grant(call, decision, err);
    }
    arcp_buf message = ARCP_BUF_INIT;
    arcp_decision_format_message(decision, &message);
    (void)arcp_error_set(err, decision->code, "%.*s", (int)message.size,
                         message.size == 0 ? "" : message.data);
    arcp_buf_fini(&message);
    return false;
}

arcp_status arcp_agent_authorize(arcp_agent_call *call, arcp_span capability, arcp_span target,
                                 arcp_target_scratch *scratch, arcp_decision *decision,
                                 arcp_error *err)
{
    arcp_target_scratch own_scratch;
    arcp_decision own_decision;
    arcp_decision *answer = decision == NULL || scratch == NULL ? &own_decision : decision;
    arcp_target_scratch *space = answer == &own_decision ? &own_scratch : scratch;
    if (gate(call, capability, target, space, answer, err)) {
        return ARCP_OK;
    }
    if (answer->code != ARCP_E_CLOSED) {
        report_denial(call, answer, arcp_span_make(NULL, 0));
    }
    return answer->code;
}

arcp_status arcp_agent_authorize_model(arcp_agent_call *call, arcp_span model, arcp_error *err)
{
    return arcp_agent_authorize(call, ARCP_SPAN_LITERAL("model.use"), model, NULL, NULL, err);
}

/* A refused tool_call reaches nobody: a tool_result with the error does. */
static arcp_status refuse_tool(arcp_agent_call *call, arcp_span call_id,
                               const arcp_decision *decision, const arcp_error *err)
{
    arcp_buf body = ARCP_BUF_INIT;
    arcp_buf details = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_decision_format_details(call->authority, decision, &details);
    arcp_json_writer_init(&writer, &body);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "call_id");
    arcp_json_write_string(&writer, call_id);
    arcp_json_name(&writer, "error");
    arcp_json_begin_object(&writer);
    arcp__error_payload_members(
        &writer, err->status, arcp_span_cstr(arcp_status_wire_code(err->status)),
        arcp_span_cstr(err->message), err->retryable, arcp_buf_span(&details));
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    report_denial(call, decision,
                  body.failed || details.failed ? arcp_span_make(NULL, 0) : arcp_buf_span(&body));
    bool noted = arcp__denied_calls_add(&call->denied, call_id);
    (void)noted; /* the denial stands; without memory only this guard is missing */
    arcp_buf_fini(&details);
    arcp_buf_fini(&body);
    return err->status;
}

static arcp_status put_event(arcp_agent_call *call, const char *kind,
                             const arcp__event_facts *facts, arcp_error *err)
{
    arcp__agent_message *message =
        new_message(call, ARCP__AGENT_SAYS_EVENT, arcp_buf_span(&call->body), 0);
    if (message == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    message->event = facts->kind;
    (void)snprintf(message->kind_text, sizeof(message->kind_text), "%s", kind);
    arcp_budget *budget = arcp_authority_budget(call->authority);
    if (facts->is_spend) {
        arcp_span unit = arcp_span_first(facts->unit, sizeof(message->unit) - 1);
        memcpy(message->unit, unit.data, unit.size);
        message->amount = facts->amount;
    }
    if (facts->is_spend && budget != NULL) {
        message->spent = true;
        arcp_budget_report reports[REPORTS_MAX];
        size_t count = arcp_budget_spend(budget, facts->unit, facts->amount, reports, REPORTS_MAX);
        count = count > REPORTS_MAX ? REPORTS_MAX : count;
        message->reports = count == 0 ? NULL : arcp__alloc_array(count, sizeof(*reports));
        if (message->reports != NULL) {
            memcpy(message->reports, reports, count * sizeof(*reports));
            message->report_count = count;
        }
    }
    arcp__agent_inbox_put(call->runtime->inbox, message);
    return ARCP_OK;
}

arcp_status arcp_agent_event(arcp_agent_call *call, const char *kind, arcp_span body,
                             arcp_error *err)
{
    arcp_error own = {0};
    err = err == NULL ? &own : err;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp__event_facts facts;
    arcp_status status = wait_for_room(call, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp_json_scan(&call->json, body, &limits, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_buf_clear(&call->scratch);
    arcp_buf_clear(&call->body);
    if (memchr(body.data, '\\', body.size) != NULL &&
        !arcp_buf_reserve(&call->scratch, body.size * 4)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_span kind_text = arcp_span_cstr(kind);
    if (kind_text.size >= sizeof(((arcp__agent_message *)NULL)->kind_text)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "the event kind is too long");
    }
    status = arcp__event_check(&call->json, kind_text, ARCP_JSON_ROOT, &call->scratch, &call->body,
                               &facts, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (facts.kind == ARCP_EVENT_DELEGATE || facts.kind == ARCP_EVENT_RESULT_CHUNK) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "use arcp_agent_delegate and arcp_agent_chunk");
    }
    if (facts.kind == ARCP_EVENT_TOOL_CALL) {
        arcp_target_scratch scratch;
        arcp_decision decision;
        if (!gate(call, ARCP_SPAN_LITERAL("tool.call"), facts.tool, &scratch, &decision, err)) {
            return decision.code == ARCP_E_CLOSED
                       ? ARCP_E_CLOSED
                       : refuse_tool(call, facts.call_id, &decision, err);
        }
        arcp__denied_calls_remove(&call->denied, facts.call_id);
    }
    if (facts.kind == ARCP_EVENT_TOOL_RESULT) {
        status = arcp__denied_calls_check(&call->denied, facts.call_id, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    return put_event(call, kind, &facts, err);
}

arcp_status arcp_agent_log(arcp_agent_call *call, const char *level, const char *text,
                           arcp_error *err)
{
    arcp_buf body = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &body);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "level");
    arcp_json_write_cstr(&writer, level);
    arcp_json_name(&writer, "message");
    arcp_json_write_cstr(&writer, text);
    arcp_json_end_object(&writer);
    arcp_status status = body.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                     : arcp_agent_event(call, "log", arcp_buf_span(&body), err);
    arcp_buf_fini(&body);
    return status;
}

arcp_status arcp_agent_progress(arcp_agent_call *call, uint64_t current, uint64_t total,
                                const char *message, arcp_error *err)
{
    arcp_buf body = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &body);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "current");
    arcp_json_write_u64(&writer, current);
    if (total != 0) {
        arcp_json_name(&writer, "total");
        arcp_json_write_u64(&writer, total);
    }
    if (message != NULL) {
        arcp_json_name(&writer, "message");
        arcp_json_write_cstr(&writer, message);
    }
    arcp_json_end_object(&writer);
    arcp_status status = body.failed
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : arcp_agent_event(call, "progress", arcp_buf_span(&body), err);
    arcp_buf_fini(&body);
    return status;
}

arcp_status arcp_agent_metric(arcp_agent_call *call, const char *name, const char *value,
                              const char *unit, arcp_error *err)
{
    arcp_buf body = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&body, "{\"name\":");
    arcp_json_quote(arcp_span_cstr(name), &body);
    arcp_buf_append_cstr(&body, ",\"value\":");
    arcp_buf_append_cstr(&body, value);
    if (unit != NULL) {
        arcp_buf_append_cstr(&body, ",\"unit\":");
        arcp_json_quote(arcp_span_cstr(unit), &body);
    }
    arcp_buf_append_byte(&body, '}');
    arcp_status status = body.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                     : arcp_agent_event(call, "metric", arcp_buf_span(&body), err);
    arcp_buf_fini(&body);
    return status;
}

arcp_status arcp_agent_chunk(arcp_agent_call *call, arcp_span bytes, bool more, arcp_error *err)
{
    arcp_status status = wait_for_room(call, err);
    if (status != ARCP_OK) {
        return status;
    }
    bool is_text = arcp__utf8_is_valid(bytes);
    arcp_buf line = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&line, "{\"type\":\"result.chunk\",\"payload\":{\"data\":");
    if (is_text) {
        arcp_json_quote(bytes, &line);
    } else {
        arcp_buf_append_byte(&line, '"');
        arcp__base64_encode(bytes, ARCP__BASE64_STANDARD, &line);
        arcp_buf_append_byte(&line, '"');
    }
    arcp_buf_append_format(&line, ",\"encoding\":\"%s\",\"more\":%s}}", is_text ? "utf8" : "base64",
                           more ? "true" : "false");
    status = line.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                         : put(call, ARCP__AGENT_SAYS_LINE, arcp_buf_span(&line), err);
    arcp_buf_fini(&line);
    return status;
}

static bool has_reply(arcp_agent_call *call)
{
    return call->has_reply || atomic_load(&call->ended);
}

/* The payload of a reply, or the error in it. */
static arcp_status read_reply(arcp_agent_call *call, arcp_buf *reply, arcp_error *err)
{
    arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    arcp__error_payload error;
    if (!call->has_reply ||
        arcp_json_scan(&call->json, arcp_buf_span(&call->reply), &limits, NULL) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    arcp_json_ref payload =
        arcp_json_member(&call->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    arcp_json_ref refused = arcp_json_member(&call->json, payload, ARCP_SPAN_LITERAL("error"));
    bool has_outcome =
        arcp_json_member(&call->json, payload, ARCP_SPAN_LITERAL("job_id")) != ARCP_JSON_ABSENT;
    if (!has_outcome &&
        arcp__error_payload_parse(&call->json, refused, &call->scratch, &error, NULL) == ARCP_OK) {
        return arcp_error_set(err, error.status, "%.*s", (int)error.message.size,
                              error.message.data);
    }
    arcp_json_compact(&call->json, payload, reply);
    return reply->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

/* The line of a delegation, when `request` is one JSON object: a line that does not parse
 * would never be answered. */
static arcp_status format_delegate(arcp_agent_call *call, arcp_span request, arcp_buf *line,
                                   arcp_error *err)
{
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_status status = arcp_json_scan(&call->json, request, &limits, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp_json_is(&call->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "a delegation must be an object");
    }
    arcp_buf_append_cstr(line, "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":");
    arcp_json_compact(&call->json, ARCP_JSON_ROOT, line);
    arcp_buf_append_byte(line, '}');
    return line->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

/* The runtime has given a refused delegation its result on the job. */
static void note_refused_delegation(arcp_agent_call *call, arcp_span request)
{
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_buf id = ARCP_BUF_INIT;
    bool noted =
        arcp_json_scan(&call->json, request, &limits, NULL) == ARCP_OK &&
        arcp__denied_calls_add(&call->denied,
                               arcp_json_string(&call->json,
                                                arcp_json_member(&call->json, ARCP_JSON_ROOT,
                                                                 ARCP_SPAN_LITERAL("delegate_id")),
                                                &id));
    (void)noted; /* without memory only this guard is missing */
    arcp_buf_fini(&id);
}

arcp_status arcp_agent_delegate(arcp_agent_call *call, arcp_span request, arcp_buf *reply,
                                arcp_error *err)
{
    arcp_error own = {0};
    err = err == NULL ? &own : err;
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        return arcp_error_set(err, ARCP_E_USAGE, "only a blocking agent may wait for a reply");
    }
    arcp_status status = wait_for_room(call, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_buf line = ARCP_BUF_INIT;
    call->has_reply = false;
    arcp_buf_clear(&call->reply);
    status = format_delegate(call, request, &line, err);
    if (status == ARCP_OK) {
        status = put(call, ARCP__AGENT_SAYS_LINE, arcp_buf_span(&line), err);
    }
    arcp_buf_fini(&line);
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp__agent_inbox_wait(call->runtime->inbox, has_reply, call)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the runtime is stopping");
    }
    arcp_buf_clear(&call->scratch);
    status = read_reply(call, reply, err);
    if (status != ARCP_OK && status != ARCP_E_CLOSED) {
        note_refused_delegation(call, request);
    }
    return status;
}

void arcp__agent_call_bye(arcp_agent_call *call, const arcp_buf *line)
{
    arcp__agent_message *bye = call->bye;
    if (bye == NULL) {
        return;
    }
    call->bye = NULL;
    bool is_lost = line != NULL && (line->failed || put(call, ARCP__AGENT_SAYS_LINE,
                                                        arcp_buf_span(line), NULL) != ARCP_OK);
    bye->kind = ARCP__AGENT_SAYS_BYE;
    bye->call = arcp__agent_call_ref(call);
    bye->code = is_lost ? ARCP_E_NO_MEMORY : ARCP_OK;
    arcp__agent_inbox_put(call->runtime->inbox, bye);
}

void arcp_agent_succeed(arcp_agent_call *call, arcp_span result)
{
    arcp_buf line = ARCP_BUF_INIT;
    if (result.size == 0) {
        arcp_buf_append_cstr(&line, "{\"type\":\"job.result\",\"payload\":{}}");
    } else {
        arcp_buf_append_cstr(&line, "{\"type\":\"job.result\",\"payload\":{\"result\":");
        for (size_t at = 0; at < result.size; at++) {
            /* White space between values may hold line feeds; strings cannot. */
            char byte = result.data[at];
            arcp_buf_append_byte(&line, byte == '\n' || byte == '\r' ? ' ' : byte);
        }
        arcp_buf_append_cstr(&line, "}}");
    }
    arcp__agent_call_bye(call, &line);
    arcp_buf_fini(&line);
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        arcp__agent_call_unref(call);
    }
}

void arcp_agent_fail(arcp_agent_call *call, arcp_status status, const char *message,
                     arcp_span details)
{
    arcp_buf line = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &line);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "type");
    arcp_json_write_cstr(&writer, "job.error");
    arcp_json_name(&writer, "payload");
    arcp_json_begin_object(&writer);
    arcp_status known = status == ARCP_OK ? ARCP_E_INTERNAL_ERROR : status;
    arcp__error_payload_members(&writer, known, arcp_span_cstr(arcp_status_wire_code(known)),
                                arcp_span_cstr(message), arcp_status_is_retryable_by_default(known),
                                details);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    arcp__agent_call_bye(call, &line);
    arcp_buf_fini(&line);
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        arcp__agent_call_unref(call);
    }
}
