/* Callback agents.
 *
 * An agent's thread checks events, asks the gate and spends budget by itself: the lease is
 * immutable and the counters are atomic. What it says goes to the loop through the inbox,
 * in order. What the loop decides for it (cancelled, paused, ended, a reply) is written
 * under the inbox's lock. The call is shared by both sides and freed by the last. */
#include "runtime/agent_call.h"

#include <arcp/secret.h>

#include "base/alloc.h"
#include "core/error_payload.h"
#include "runtime/agent_call_state.h"

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

void arcp__agent_call_tell(arcp_agent_call *call, void (*tell)(arcp_agent_call *call, void *user))
{
    if (tell != NULL && !atomic_load(&call->is_done)) {
        tell(call, call->entry->callback.user);
    }
}

/* ---- what the agent says ---- */

arcp__agent_message *arcp__agent_call_message(arcp_agent_call *call, arcp__agent_message_kind kind,
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

arcp_status arcp__agent_call_put(arcp_agent_call *call, arcp__agent_message_kind kind,
                                 arcp_span text, arcp_error *err)
{
    arcp__agent_message *message = arcp__agent_call_message(call, kind, text, 0);
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

arcp_status arcp__agent_call_wait_for_room(arcp_agent_call *call, arcp_error *err)
{
    if (atomic_load(&call->ended)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        return arcp__agent_inbox_ask(call->runtime->inbox, may_go_on, call)
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_LIMIT, "the job's observers are too slow; wait");
    }
    if (!arcp__agent_inbox_wait(call->runtime->inbox, may_go_on, call) ||
        atomic_load(&call->ended)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    return ARCP_OK;
}

void arcp__agent_call_bye(arcp_agent_call *call, const arcp_buf *line)
{
    arcp__agent_message *bye = call->bye;
    if (bye == NULL) {
        return;
    }
    call->bye = NULL;
    atomic_store(&call->is_done, true);
    bool is_lost = line != NULL &&
                   (line->failed || arcp__agent_call_put(call, ARCP__AGENT_SAYS_LINE,
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
