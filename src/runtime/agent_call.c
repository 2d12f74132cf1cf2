/* Callback agents.
 *
 * An agent's thread checks events, asks the gate and spends budget by itself: the lease is
 * immutable and the counters have a lock. What it says goes to the loop through the inbox,
 * in order. What the loop decides for it (cancelled, paused, ended, a reply) is written
 * under the inbox's lock. The call is shared by both sides and freed by the last. */
#include <arcp/secret.h>

#include "base/alloc.h"
#include "core/error_payload.h"
#include "runtime/agent_call_state.h"
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
    arcp_json_fini(&call->start);
    arcp_json_fini(&call->json);
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

/* Those of the start, or what replaced them. */
arcp_status arcp_agent_credentials(const arcp_agent_call *call, arcp_buf *out, arcp_error *err)
{
    arcp_json_ref first =
        arcp_json_member(&call->start, call->payload, ARCP_SPAN_LITERAL("credentials"));
    out->secret = true;
    arcp__agent_inbox_lock(call->runtime->inbox);
    if (call->credentials != NULL) {
        arcp_buf_append(out, arcp_secret_reveal(call->credentials));
    } else if (!arcp_json_is_missing(&call->start, first)) {
        arcp_buf_append(out, arcp_json_raw(&call->start, first));
    } else {
        arcp_buf_append_cstr(out, "[]");
    }
    arcp__agent_inbox_unlock(call->runtime->inbox);
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

void arcp__agent_call_tell(arcp_agent_call *call, void (*tell)(arcp_agent_call *call, void *user))
{
    if (tell != NULL && !atomic_load(&call->is_done)) {
        tell(call, call->entry->callback.user);
    }
}

/* ---- what the agent says ---- */

/* The audit log keeps no more of what peers chose (docs/audit.md). */
#define REPORT_BYTES_MAX 1024u

static void keep(char **to, arcp_span *text)
{
    if (text->size != 0) {
        memcpy(*to, text->data, text->size);
        text->data = *to;
        *to += text->size;
    }
}

static arcp_status put(arcp_agent_call *call, arcp__agent_message_kind kind, arcp__job_message said,
                       arcp_error *err)
{
    arcp_decision *decision = &said.decision;
    decision->canonical = decision->currency = arcp_span_make(NULL, 0);
    decision->capability = arcp_span_first(decision->capability, REPORT_BYTES_MAX);
    decision->target = arcp_span_first(decision->target, REPORT_BYTES_MAX);
    size_t size = said.body.size + said.kind_text.size + said.unit.size +
                  decision->capability.size + decision->target.size + decision->pattern.size;
    arcp__agent_message *message = arcp__alloc(sizeof(*message) + size);
    if (message == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    char *to = (char *)(message + 1);
    keep(&to, &said.body);
    keep(&to, &said.kind_text);
    keep(&to, &said.unit);
    keep(&to, &decision->capability);
    keep(&to, &decision->target);
    keep(&to, &decision->pattern);
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    arcp__job_port_spend(&call->port, &said, reports);
    if (said.report_count != 0) {
        message->reports = arcp__alloc_array(said.report_count, sizeof(*reports));
        if (message->reports != NULL) {
            memcpy(message->reports, reports, said.report_count * sizeof(*reports));
        } else {
            said.report_count = 0;
        }
        said.reports = message->reports;
    }
    message->kind = kind;
    message->call = arcp__agent_call_ref(call);
    message->said = said;
    message->size = size;
    arcp__agent_inbox_put(call->runtime->inbox, message);
    return ARCP_OK;
}

arcp_status arcp__agent_call_say(arcp_agent_call *call, const arcp__job_message *said,
                                 arcp_error *err)
{
    return put(call, ARCP__AGENT_SAYS, *said, err);
}

arcp_status arcp__agent_call_line(arcp_agent_call *call, arcp_span line, arcp_error *err)
{
    return put(call, ARCP__AGENT_LINE, (arcp__job_message){.body = line}, err);
}

static bool may_go_on(arcp_agent_call *call)
{
    return !atomic_load(&call->paused) || atomic_load(&call->port.is_over);
}

arcp_status arcp__agent_call_wait_for_room(arcp_agent_call *call, arcp_error *err)
{
    if (atomic_load(&call->port.is_over)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    if (call->entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        return arcp__agent_inbox_ask(call->runtime->inbox, may_go_on, call)
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_LIMIT, "the job's observers are too slow; wait");
    }
    if (!arcp__agent_inbox_wait(call->runtime->inbox, may_go_on, call) ||
        atomic_load(&call->port.is_over)) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the job has ended");
    }
    return ARCP_OK;
}

void arcp__agent_call_bye(arcp_agent_call *call, const arcp_buf *line)
{
    if (atomic_exchange(&call->is_done, true)) {
        return;
    }
    call->bye = (arcp__agent_message){
        .call = arcp__agent_call_ref(call),
        .kind = ARCP__AGENT_BYE,
        .is_lost = line != NULL && (line->failed || arcp__agent_call_line(call, arcp_buf_span(line),
                                                                          NULL) != ARCP_OK),
    };
    arcp__agent_inbox_put(call->runtime->inbox, &call->bye);
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
    arcp_json_writer writer = arcp__put_begin(&line);
    arcp__put_cstr(&writer, "type", "job.error");
    arcp__put_object(&writer, "payload");
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
