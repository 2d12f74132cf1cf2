/* Callback agents: events, chunks and what their lease allows, decided on the agent's thread. */
#include "base/base64.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "core/event_write.h"
#include "runtime/agent_call_state.h"
#include "json/json_put.h"

arcp_status arcp_agent_event(arcp_agent_call *call, const char *kind, arcp_span body,
                             arcp_error *err)
{
    arcp_error own = {0};
    err = err == NULL ? &own : err;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_status status = arcp__agent_call_wait_for_room(call, err);
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
                              "use arcp_agent_delegate and arcp_agent_chunk");
    }
    arcp_buf_clear(&call->scratch);
    arcp_buf_clear(&call->body);
    if (memchr(body.data, '\\', body.size) != NULL &&
        !arcp_buf_reserve(&call->scratch, body.size * 4)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_buf details = ARCP_BUF_INIT;
    arcp__job_message message;
    const arcp__job_port_event event = {.kind = kind_text,
                                        .json = &call->json,
                                        .body = ARCP_JSON_ROOT,
                                        .scratch = &call->scratch,
                                        .out = &call->body,
                                        .details = &details};
    status = arcp__job_port_emit(&call->port, arcp__clock_now(), &event, &message, err);
    if (call->body.failed) {
        message.body.size = 0; /* a denial is recorded without its result */
        call->body.failed = false;
    }
    if (status == ARCP_OK || message.is_decided) {
        arcp_status said = arcp__agent_call_say(call, &message, status == ARCP_OK ? err : NULL);
        status = status == ARCP_OK ? said : status; /* a denial stands also without its record */
    }
    arcp_buf_fini(&details);
    return status;
}

/* Decided here; recorded by the loop, as it was decided. */
arcp_status arcp_agent_authorize(arcp_agent_call *call, arcp_span capability, arcp_span target,
                                 arcp_target_scratch *scratch, arcp_decision *decision,
                                 arcp_error *err)
{
    arcp_target_scratch own_scratch;
    arcp__job_message message;
    bool is_allowed =
        arcp__job_port_authorize(&call->port, arcp__clock_now(), capability, target,
                                 scratch == NULL ? &own_scratch : scratch, NULL, &message, err);
    if (message.is_decided) {
        arcp_status said = arcp__agent_call_say(call, &message, NULL);
        if (is_allowed && said != ARCP_OK && atomic_load(&call->port.gates->must_record)) {
            message.decision.allowed = false;
            message.decision.code = arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                                   "there is no memory to record what is granted");
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
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_u64(&writer, "current", current);
    if (total != 0) {
        arcp__put_u64(&writer, "total", total);
    }
    if (message != NULL) {
        arcp__put_cstr(&writer, "message", message);
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
    status = line.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                         : arcp__agent_call_line(call, arcp_buf_span(&line), err);
    arcp_buf_fini(&line);
    return status;
}
