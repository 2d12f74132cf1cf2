/* Callback agents: a delegation, and the wait for what becomes of it. */
#include "core/error_payload.h"
#include "runtime/agent_call_state.h"

static bool has_reply(arcp_agent_call *call)
{
    return call->has_reply || atomic_load(&call->port.is_over);
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

arcp_status arcp_agent_delegate(arcp_agent_call *call, arcp_span request, arcp_buf *reply,
                                arcp_error *err)
{
    const arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_error own = {0};
    err = err == NULL ? &own : err;
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        return arcp_error_set(err, ARCP_E_USAGE, "only a blocking agent may wait for a reply");
    }
    arcp_status status = arcp__agent_call_wait_for_room(call, err);
    if (status == ARCP_OK) {
        /* A line that does not parse would never be answered. */
        status = arcp_json_scan(&call->json, request, &limits, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    if (!arcp_json_is(&call->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "a delegation must be an object");
    }
    arcp_buf id = ARCP_BUF_INIT; /* of its text, what `name` needs */
    arcp_span name = arcp_json_string(
        &call->json,
        arcp_json_member(&call->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("delegate_id")), &id);
    arcp_buf line = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&line, "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":");
    arcp_json_compact(&call->json, ARCP_JSON_ROOT, &line);
    arcp_buf_append_byte(&line, '}');
    call->has_reply = false;
    arcp_buf_clear(&call->reply);
    status = line.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                         : arcp__agent_call_line(call, arcp_buf_span(&line), err);
    arcp_buf_fini(&line);
    if (status == ARCP_OK && !arcp__agent_inbox_wait(call->runtime->inbox, has_reply, call)) {
        status = arcp_error_set(err, ARCP_E_CLOSED, "the runtime is stopping");
    } else if (status == ARCP_OK) {
        arcp_buf_clear(&call->scratch);
        status = read_reply(call, reply, err);
        /* The runtime has given a refused delegation its result on the job. */
        if (status != ARCP_OK && status != ARCP_E_CLOSED) {
            bool noted = arcp__denied_calls_add(&call->port.denied, name);
            (void)noted; /* without memory only this guard is missing */
        }
    }
    arcp_buf_fini(&id);
    return status;
}
