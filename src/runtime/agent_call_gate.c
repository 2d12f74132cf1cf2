/* Callback agents: what their lease allows. Decided on the agent's thread, recorded by the loop. */
#include "base/clock.h"
#include "core/event_write.h"
#include "runtime/agent_call_state.h"

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
    arcp__agent_message *message =
        arcp__agent_call_message(call, kind, text, capability.size + target.size);
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

bool arcp__agent_call_gate(arcp_agent_call *call, arcp_span capability, arcp_span target,
                           arcp_target_scratch *scratch, arcp_decision *decision, arcp_error *err)
{
    if (is_over(call, capability, target, decision, err)) {
        return false;
    }
    if (arcp_authorize(call->authority, arcp__clock_now(), capability, target, scratch, decision)) {
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
    if (arcp__agent_call_gate(call, capability, target, space, answer, err)) {
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

arcp_status arcp__agent_call_refuse_tool(arcp_agent_call *call, arcp_span call_id,
                                         const arcp_decision *decision, const arcp_error *err)
{
    arcp_buf body = ARCP_BUF_INIT;
    arcp_buf details = ARCP_BUF_INIT;
    arcp_decision_format_details(call->authority, decision, &details);
    arcp__event_write_refusal(call_id, err, arcp_buf_span(&details), &body);
    report_denial(call, decision,
                  body.failed || details.failed ? arcp_span_make(NULL, 0) : arcp_buf_span(&body));
    bool noted = arcp__denied_calls_add(&call->denied, call_id);
    (void)noted; /* the denial stands; without memory only this guard is missing */
    arcp_buf_fini(&details);
    arcp_buf_fini(&body);
    return err->status;
}
