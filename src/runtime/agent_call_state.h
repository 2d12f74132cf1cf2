/* What a call remembers. Private to agent_call*.c and agent_inbox.c. */
#ifndef ARCP_RUNTIME_AGENT_CALL_STATE_H
#define ARCP_RUNTIME_AGENT_CALL_STATE_H

#include <arcp/secret.h>
#include <stdatomic.h>

#include "core/denied_calls.h"
#include "runtime/agent_call.h"
#include "runtime/runtime_state.h"

struct arcp_agent_call {
    atomic_uint refs;
    arcp_runtime *runtime;
    arcp__agent_entry *entry;
    arcp__job *job;                  /* the loop's thread only; NULL once forgotten */
    const arcp_authority *authority; /* referenced */
    char job_id[64];
    arcp_buf start_text; /* the job.start line; secret: credentials */
    arcp_json start;
    arcp_json_ref payload;

    atomic_bool cancelled;
    atomic_bool ended;   /* by the agent, or the job is over */
    atomic_bool paused;  /* its observers are too slow */
    atomic_bool is_done; /* it has said its last word */

    /* What it said and the loop has not taken; under the inbox's lock, which has a reference while
     * there is something. */
    arcp__agent_message *first, *last;
    arcp_agent_call *previous_speaking, *next_speaking;

    /* Refused for want of room, and to be told when there is some; under the inbox's lock. */
    bool asks_for_room;
    arcp_agent_call *previous_asking, *next_asking;

    /* The agent's side. */
    arcp_json json;
    arcp_buf scratch, body;
    arcp__denied_calls denied;
    arcp__agent_message *bye; /* kept from the beginning: it must arrive; NULL once it was said */

    /* A reply that the agent's thread waits for; under the inbox's lock. */
    bool has_reply;
    arcp_secret *credentials; /* what replaced those of the start; NULL: nothing did */
    arcp_buf reply;
};

/* ---- agent_call.c ---- */

/* The loop's thread: calls back, unless the agent has said its last word. */
void arcp__agent_call_tell(arcp_agent_call *call, void (*tell)(arcp_agent_call *call, void *user));
/* A message with room for `more` bytes behind its text; NULL without memory. */
arcp__agent_message *arcp__agent_call_message(arcp_agent_call *call, arcp__agent_message_kind kind,
                                              arcp_span text, size_t more);
ARCP_MUST_CHECK arcp_status arcp__agent_call_put(arcp_agent_call *call,
                                                 arcp__agent_message_kind kind, arcp_span text,
                                                 arcp_error *err);
/* Holds a blocking agent back while nobody takes what it says; one that is not blocking is refused
 * with ARCP_E_LIMIT, and told when there is room. */
ARCP_MUST_CHECK arcp_status arcp__agent_call_wait_for_room(arcp_agent_call *call, arcp_error *err);
/* The agent's last word (a line; NULL: it has none), then that it has returned; once. A line that
 * there is no memory for ends the job as a failure. */
void arcp__agent_call_bye(arcp_agent_call *call, const arcp_buf *line);

/* ---- agent_call_gate.c ---- */

/* What the lease says, and the operator's audit log. A denial is not recorded yet. */
bool arcp__agent_call_gate(arcp_agent_call *call, arcp_span capability, arcp_span target,
                           arcp_target_scratch *scratch, arcp_decision *decision, arcp_error *err);
/* A refused tool_call reaches nobody: a tool_result with the error does. The refusal's status. */
arcp_status arcp__agent_call_refuse_tool(arcp_agent_call *call, arcp_span call_id,
                                         const arcp_decision *decision, const arcp_error *err);

#endif
