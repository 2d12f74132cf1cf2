/* Callback agents: events and chunks, checked on the agent's thread. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "core/event_body.h"
#include "core/event_write.h"
#include "runtime/agent_call_state.h"

#define REPORTS_MAX 80u

static arcp_status put_event(arcp_agent_call *call, const char *kind,
                             const arcp__event_facts *facts, arcp_error *err)
{
    arcp__agent_message *message =
        arcp__agent_call_message(call, ARCP__AGENT_SAYS_EVENT, arcp_buf_span(&call->body), 0);
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
    arcp_status status = arcp__agent_call_wait_for_room(call, err);
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
        if (!arcp__agent_call_gate(call, ARCP_SPAN_LITERAL("tool.call"), facts.tool, &scratch,
                                   &decision, err)) {
            return decision.code == ARCP_E_CLOSED
                       ? ARCP_E_CLOSED
                       : arcp__agent_call_refuse_tool(call, facts.call_id, &decision, err);
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

/* An event with a body of our own making, which is freed. */
static arcp_status say(arcp_agent_call *call, const char *kind, arcp_buf *body, arcp_error *err)
{
    arcp_status status = body->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                      : arcp_agent_event(call, kind, arcp_buf_span(body), err);
    arcp_buf_fini(body);
    return status;
}

arcp_status arcp_agent_log(arcp_agent_call *call, const char *level, const char *text,
                           arcp_error *err)
{
    arcp_buf body = ARCP_BUF_INIT;
    arcp__event_write_log(arcp_span_cstr(level), arcp_span_cstr(text), &body);
    return say(call, "log", &body, err);
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
    return say(call, "progress", &body, err);
}

arcp_status arcp_agent_metric(arcp_agent_call *call, const char *name, const char *value,
                              const char *unit, arcp_error *err)
{
    arcp_buf body = ARCP_BUF_INIT;
    arcp__event_write_metric(arcp_span_cstr(name), arcp_span_cstr(value), arcp_span_cstr(unit),
                             &body);
    return say(call, "metric", &body, err);
}

arcp_status arcp_agent_chunk(arcp_agent_call *call, arcp_span bytes, bool more, arcp_error *err)
{
    arcp_status status = arcp__agent_call_wait_for_room(call, err);
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
    status = line.failed
                 ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                 : arcp__agent_call_put(call, ARCP__AGENT_SAYS_LINE, arcp_buf_span(&line), err);
    arcp_buf_fini(&line);
    return status;
}
