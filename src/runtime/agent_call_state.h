/* What a call remembers. Private to agent_call*.c. */
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
    arcp_buf start_text; /* the job.start line */
    arcp_json start;
    arcp_json_ref payload;

    atomic_bool cancelled;
    atomic_bool ended;  /* by the agent, or the job is over */
    atomic_bool paused; /* its observers are too slow */

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

/* The agent's last word (a line; NULL: it has none), then that it has returned; once. A line that
 * there is no memory for ends the job as a failure. */
void arcp__agent_call_bye(arcp_agent_call *call, const arcp_buf *line);

#endif
