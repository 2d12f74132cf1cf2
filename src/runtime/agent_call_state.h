/* What a call remembers. Private to agent_call*.c and agent_inbox.c. */
#ifndef ARCP_RUNTIME_AGENT_CALL_STATE_H
#define ARCP_RUNTIME_AGENT_CALL_STATE_H

#include <arcp/secret.h>
#include <stdatomic.h>

#include "runtime/agent_inbox.h"
#include "runtime/runtime_state.h"

struct arcp_agent_call {
    atomic_uint refs;
    arcp_runtime *runtime;
    arcp__agent_entry *entry;
    arcp__job *job;      /* the loop's thread only; NULL once forgotten */
    arcp__job_port port; /* its authority is referenced */
    char job_id[64];
    arcp_buf start_text; /* the job.start line; secret: credentials */
    arcp_json start;
    arcp_json_ref payload;

    atomic_bool cancelled;
    atomic_bool paused;  /* its observers are too slow */
    atomic_bool is_done; /* it has said its last word */

    /* What it said and the loop has not taken; under the inbox's lock, which has a reference while
     * there is something. */
    arcp__agent_message *messages;
    arcp_agent_call *previous_speaking, *next_speaking;

    /* Refused for want of room, and to be told when there is some; under the inbox's lock. */
    bool asks_for_room;
    arcp_agent_call *previous_asking, *next_asking;

    /* The agent's side. */
    arcp_json json;
    arcp_buf scratch, body;
    arcp__agent_message bye; /* needs no memory: it must arrive */

    /* A reply that the agent's thread waits for; under the inbox's lock. */
    bool has_reply;
    arcp_secret *credentials; /* what replaced those of the start; NULL: nothing did */
    arcp_buf reply;
};

/* ---- agent_call.c ---- */

arcp_agent_call *arcp__agent_call_ref(arcp_agent_call *call);
void arcp__agent_call_unref(arcp_agent_call *call);

/* The loop's thread: calls back, unless the agent has said its last word. */
void arcp__agent_call_tell(arcp_agent_call *call, void (*tell)(arcp_agent_call *call, void *user));
/* Gives the loop a line, or what came through the port: it is copied, and only what is sure to
 * arrive is taken from the budgets. */
ARCP_MUST_CHECK arcp_status arcp__agent_call_line(arcp_agent_call *call, arcp_span line,
                                                  arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__agent_call_say(arcp_agent_call *call,
                                                 const arcp__job_message *said, arcp_error *err);
/* Holds a blocking agent back while nobody takes what it says; one that is not blocking is refused
 * with ARCP_E_LIMIT, and told when there is room. */
ARCP_MUST_CHECK arcp_status arcp__agent_call_wait_for_room(arcp_agent_call *call, arcp_error *err);
/* The agent's last word (a line; NULL: it has none), then that it has returned; once. A line that
 * there is no memory for ends the job as a failure. */
void arcp__agent_call_bye(arcp_agent_call *call, const arcp_buf *line);

/* ---- agent_call_host.c ---- */

/* The loop's thread: gives a message to the engine. */
void arcp__agent_call_deliver(arcp_runtime *runtime, const arcp__agent_message *message,
                              arcp_time now);

#endif
