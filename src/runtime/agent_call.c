/* Callback agents, the agent's side.
 *
 * An agent's thread checks events, asks the gate and spends budget without the loop: the lease is
 * immutable and the counters have a lock. Its messages go to the loop through the inbox, in order.
 * The loop's decisions (cancelled, paused, ended, a reply) are written under the inbox's lock. Both
 * sides have a reference to the call. */
#include "runtime/agent_call.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "core/error_payload.h"
#include "core/event_body.h"
#include "json/json_put.h"

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
    arcp_authority_unref(call->port.authority);
    arcp__json_fini(&call->start);
    arcp__json_fini(&call->json);
    arcp_secret_free(call->credentials);
    arcp_buf_fini(&call->start_text);
    arcp_buf_fini(&call->scratch);
    arcp_buf_fini(&call->body);
    arcp_buf_fini(&call->reply);
    arcp__job_port_fini(&call->port);
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
    return call->port.authority;
}

bool arcp_agent_is_cancelled(const arcp_agent_call *call)
{
    return atomic_load(&call->cancelled);
}

/* The credentials of the start, or those that replaced them. */
arcp_status arcp_agent_credentials(const arcp_agent_call *call, arcp_buf *out, arcp_error *err)
{
    const arcp_json_ref first =
        arcp_json_member(&call->start, call->payload, ARCP_SPAN_LITERAL("credentials"));
    out->secret = true;
    arcp__agent_inbox_lock(&call->runtime->inbox);
    if (call->credentials != NULL) {
        arcp_buf_append(out, arcp_secret_reveal(call->credentials));
    } else if (!arcp_json_is_missing(&call->start, first)) {
        arcp_buf_append(out, arcp_json_raw(&call->start, first));
    } else {
        arcp_buf_append_cstr(out, "[]");
    }
    arcp__agent_inbox_unlock(&call->runtime->inbox);
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

/* ---- messages to the loop ---- */

/* The audit log truncates texts that peers choose to this size (docs/audit.md). */
#define REPORT_BYTES_MAX 1024u

/* Sends the loop a line, or a message of the job's port. Its texts are copied. The budgets are
 * charged after all memory was allocated, so that every charge is reported. */
static arcp_status put(arcp_agent_call *call, arcp__agent_message_kind kind,
                       arcp__job_message content, arcp_error *err)
{
    arcp_decision *decision = &content.decision;
    decision->canonical = decision->currency = arcp_span_make(NULL, 0);
    decision->capability = arcp_span_first(decision->capability, REPORT_BYTES_MAX);
    decision->target = arcp_span_first(decision->target, REPORT_BYTES_MAX);
    arcp_span *const texts[] = {&content.body,         &content.kind_text, &content.unit,
                                &decision->capability, &decision->target,  &decision->pattern};
    const size_t count = sizeof texts / sizeof texts[0];
    size_t reports_max = 0; /* one for each budget, up to the root */
    const arcp_budget *budget =
        content.unit.size == 0 ? NULL : arcp_authority_budget(call->port.authority);
    for (; budget != NULL; budget = arcp_budget_parent(budget)) {
        reports_max++;
    }
    size_t size = reports_max * sizeof(arcp_budget_report);
    for (size_t i = 0; i < count; i++) {
        size += texts[i]->size;
    }
    arcp__agent_message *message = arcp__alloc(sizeof *message + size);
    if (message == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_budget_report *copies = (arcp_budget_report *)(message + 1);
    char *to = (char *)(copies + reports_max);
    for (size_t i = 0; i < count; i++) {
        if (texts[i]->size != 0) {
            memcpy(to, texts[i]->data, texts[i]->size);
            texts[i]->data = to;
            to += texts[i]->size;
        }
    }
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_port_spend(&call->port, &content, reports);
    content.report_count = content.report_count < reports_max ? content.report_count : reports_max;
    memcpy(copies, reports, content.report_count * sizeof *reports);
    content.reports = copies;
    message->kind = kind;
    message->call = arcp__agent_call_ref(call);
    message->content = content;
    message->size = size;
    arcp__agent_inbox_put(message);
    return ARCP_OK;
}

static arcp_status put_line(arcp_agent_call *call, const arcp_buf *line, arcp_error *err)
{
    return line->failed
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
               : put(call, ARCP__AGENT_LINE, (arcp__job_message){.body = arcp_buf_span(line)}, err);
}

/* Blocks a blocking agent until the inbox has room for its messages. A non-blocking one gets
 * ARCP_E_LIMIT, and its `drained` is called when there is room. */
static arcp_status wait_for_room(arcp_agent_call *call, arcp_error *err)
{
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        if (!atomic_load(&call->port.is_over) && !arcp__agent_inbox_check_room(call)) {
            return arcp_error_set(
                err, ARCP_E_LIMIT, "%s; send again when drained is called",
                atomic_load(&call->paused)
                    ? "the job is paused, because its owner does not read or the store's queue is "
                      "full"
                    : "too many events of callback agents wait for the runtime");
        }
    } else if (!arcp__agent_inbox_wait(call, false)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    return atomic_load(&call->port.is_over)
               ? arcp_error_set(err, ARCP_E_CLOSED, "the job has ended")
               : ARCP_OK;
}

/* ---- events and authorization, decided on the agent's thread ---- */

arcp_status arcp_agent_event(arcp_agent_call *call, const char *kind, arcp_span body,
                             arcp_error *err)
{
    arcp_error own = {0};
    err = err == NULL ? &own : err;
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_status status = wait_for_room(call, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp_json_scan(&call->json, body, &limits, err);
    if (status != ARCP_OK) {
        return status;
    }
    const arcp_span kind_text = arcp_span_cstr(kind);
    if (arcp_span_equal_cstr(kind_text, "delegate") ||
        arcp_span_equal_cstr(kind_text, "result_chunk")) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "this kind of event is emitted by arcp_agent_delegate or "
                              "arcp_agent_chunk");
    }
    arcp_buf_clear(&call->scratch);
    arcp_buf_clear(&call->body);
    if (memchr(body.data, '\\', body.size) != NULL &&
        !arcp_buf_reserve(&call->scratch, body.size * 4)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_buf details = arcp_buf_init();
    arcp__job_message message;
    const arcp__job_port_event event = {.kind = kind_text,
                                        .json = &call->json,
                                        .body = ARCP_JSON_ROOT,
                                        .scratch = &call->scratch,
                                        .out = &call->body,
                                        .details = &details};
    status = arcp__job_port_emit(&call->port, arcp__clock_now(), &event, &message, err);
    if (call->body.failed) {
        message.body.size = 0; /* record a denial without its result */
        call->body.failed = false;
    }
    if (status == ARCP_OK || message.is_decided) {
        const arcp_status sent =
            put(call, ARCP__AGENT_MESSAGE, message, status == ARCP_OK ? err : NULL);
        status = status == ARCP_OK ? sent : status; /* a denial is valid without its record */
    }
    arcp_error_set_details(err, arcp__details(&details));
    arcp_buf_fini(&details);
    return status;
}

/* Decides on this thread; the loop records the decision. */
arcp_status arcp_agent_authorize(arcp_agent_call *call, arcp_span capability, arcp_span target,
                                 arcp_target_scratch *scratch, arcp_decision *decision,
                                 arcp_error *err)
{
    arcp_target_scratch own_scratch;
    arcp__job_message message;
    arcp_buf details = arcp_buf_init();
    const bool is_allowed = arcp__job_port_authorize(
        &call->port, arcp__clock_now(), capability, target,
        scratch == NULL ? &own_scratch : scratch,
        err == NULL || err->details == NULL ? NULL : &details, &message, err);
    arcp_error_set_details(err, arcp__details(&details));
    arcp_buf_fini(&details);
    if (message.is_decided) {
        const arcp_status sent = put(call, ARCP__AGENT_MESSAGE, message, NULL);
        if (is_allowed && sent != ARCP_OK && atomic_load(&call->port.gates->must_record)) {
            message.decision.allowed = false;
            message.decision.code = arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                                   "out of memory: the grant cannot be recorded");
        }
    }
    if (decision != NULL && scratch != NULL) {
        *decision = message.decision;
    }
    return message.decision.code;
}

arcp_status arcp_agent_authorize_model(arcp_agent_call *call, arcp_span model, arcp_error *err)
{
    return arcp_agent_authorize(call, ARCP_SPAN_LITERAL("model.use"), model, NULL, NULL, err);
}

/* Emits an event and frees its body. */
static arcp_status emit(arcp_agent_call *call, const char *kind, arcp_buf *body, arcp_error *err)
{
    const arcp_status status = body->failed
                                   ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : arcp_agent_event(call, kind, arcp_buf_span(body), err);
    arcp_buf_fini(body);
    return status;
}

arcp_status arcp_agent_log(arcp_agent_call *call, const char *level, const char *text,
                           arcp_error *err)
{
    arcp_buf body = arcp_buf_init();
    arcp__event_write_log(arcp_span_cstr(level), arcp_span_cstr(text), &body);
    return emit(call, "log", &body, err);
}

arcp_status arcp_agent_progress(arcp_agent_call *call, uint64_t current, uint64_t total,
                                const char *message, arcp_error *err)
{
    arcp_buf body = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_u64(&writer, "current", current);
    if (total != 0) {
        arcp__put_u64(&writer, "total", total);
    }
    if (message != NULL) {
        arcp__put_cstr(&writer, "message", message);
    }
    arcp_json_end_object(&writer);
    return emit(call, "progress", &body, err);
}

arcp_status arcp_agent_metric(arcp_agent_call *call, const char *name, const char *value,
                              const char *unit, arcp_error *err)
{
    arcp_buf body = arcp_buf_init();
    arcp__event_write_metric(arcp_span_cstr(name), arcp_span_cstr(value), arcp_span_cstr(unit),
                             &body);
    return emit(call, "metric", &body, err);
}

arcp_status arcp_agent_chunk(arcp_agent_call *call, arcp_span bytes, bool more, arcp_error *err)
{
    arcp_status status = wait_for_room(call, err);
    if (status != ARCP_OK) {
        return status;
    }
    const bool is_text = arcp__utf8_is_valid(bytes);
    arcp_buf line = arcp_buf_init();
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
    status = put_line(call, &line, err);
    arcp_buf_fini(&line);
    return status;
}

/* ---- delegation ---- */

/* Appends the payload of a reply, or returns the error in it. */
static arcp_status read_reply(arcp_agent_call *call, arcp_buf *reply, arcp_error *err)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp__error_payload error;
    if (!call->has_reply ||
        arcp_json_scan(&call->json, arcp_buf_span(&call->reply), &limits, NULL) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    const arcp_json_ref payload =
        arcp_json_member(&call->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    const arcp_json_ref refused =
        arcp_json_member(&call->json, payload, ARCP_SPAN_LITERAL("error"));
    const bool has_outcome =
        arcp_json_member(&call->json, payload, ARCP_SPAN_LITERAL("job_id")) != ARCP_JSON_ABSENT;
    if (!has_outcome &&
        arcp__error_payload_parse(&call->json, refused, &call->scratch, &error, NULL) == ARCP_OK) {
        (void)arcp_error_set(err, error.status, "%.*s", (int)error.message.size,
                             error.message.data);
        arcp_error_set_details(err, arcp_json_raw(&call->json, error.details));
        return error.status;
    }
    arcp_json_compact(&call->json, payload, reply);
    return reply->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp_agent_delegate(arcp_agent_call *call, arcp_span request, arcp_buf *reply,
                                arcp_error *err)
{
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_error own = {0};
    err = err == NULL ? &own : err;
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "only a blocking agent can delegate, which waits for a reply");
    }
    arcp_status status = wait_for_room(call, err);
    if (status == ARCP_OK) {
        /* The engine would not reply to a line that it cannot parse. */
        status = arcp_json_scan(&call->json, request, &limits, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp_json_is(&call->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "a delegation must be an object");
    }
    arcp_buf id = arcp_buf_init(); /* holds `name` if it has escapes */
    const arcp_span name = arcp_json_string(
        &call->json,
        arcp_json_member(&call->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("delegate_id")), &id);
    arcp_buf line = arcp_buf_init();
    arcp_buf_append_cstr(&line, "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":");
    arcp_json_compact(&call->json, ARCP_JSON_ROOT, &line);
    arcp_buf_append_byte(&line, '}');
    call->has_reply = false;
    arcp_buf_clear(&call->reply);
    status = put_line(call, &line, err);
    arcp_buf_fini(&line);
    if (status == ARCP_OK && !arcp__agent_inbox_wait(call, true)) {
        status = arcp_error_set(err, ARCP_E_CLOSED, "the runtime is stopping");
    } else if (status == ARCP_OK) {
        arcp_buf_clear(&call->scratch);
        status = read_reply(call, reply, err);
        /* The engine has already recorded a tool_result for a refused delegation. */
        if (status != ARCP_OK && status != ARCP_E_CLOSED) {
            const bool added = arcp__denied_calls_add(&call->port.denied, name);
            (void)added; /* without it a second result of the agent's would be accepted */
        }
    }
    arcp_buf_fini(&id);
    return status;
}

/* ---- the end ---- */

void arcp__agent_call_finish(arcp_agent_call *call, const arcp_buf *line)
{
    if (atomic_exchange(&call->is_done, true)) {
        return;
    }
    call->returned = (arcp__agent_message){
        .call = arcp__agent_call_ref(call),
        .kind = ARCP__AGENT_RETURNED,
        .is_lost = line != NULL && put_line(call, line, NULL) != ARCP_OK,
    };
    arcp__agent_inbox_put(&call->returned);
}

/* Frees the line, and releases the reference of a non-blocking agent. */
static void end(arcp_agent_call *call, arcp_buf *line)
{
    const arcp_agent_kind kind = call->entry->callback.kind;
    arcp__agent_call_finish(call, line);
    arcp_buf_fini(line);
    if (kind == ARCP_AGENT_NON_BLOCKING) {
        arcp__agent_call_unref(call);
    }
}

void arcp_agent_succeed(arcp_agent_call *call, arcp_span result)
{
    arcp_buf line = arcp_buf_init();
    arcp_buf_append_cstr(&line, "{\"type\":\"job.result\",\"payload\":{");
    if (result.size != 0) {
        arcp_buf_append_cstr(&line, "\"result\":");
    }
    for (size_t i = 0; i < result.size; i++) {
        /* JSON allows line feeds between values, but a line of the protocol must not have them. */
        const char byte = result.data[i];
        arcp_buf_append_byte(&line, byte == '\n' || byte == '\r' ? ' ' : byte);
    }
    arcp_buf_append_cstr(&line, "}}");
    end(call, &line);
}

void arcp_agent_fail(arcp_agent_call *call, arcp_status status, const char *message,
                     arcp_span details)
{
    arcp_buf line = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&line);
    arcp__put_cstr(&writer, "type", "job.error");
    arcp__put_object(&writer, "payload");
    const arcp_status known = status == ARCP_OK ? ARCP_E_INTERNAL_ERROR : status;
    arcp__error_payload_members(&writer, known, arcp_span_cstr(arcp_status_wire_code(known)),
                                arcp_span_cstr(message), arcp_status_is_retryable_by_default(known),
                                details);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    end(call, &line);
}
