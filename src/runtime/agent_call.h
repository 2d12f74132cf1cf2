/* Callback agents: what a call remembers, and what agents' threads hand to the loop, in the order
 * each agent said it. The inbox is the one place where threads and loop meet, besides budgets and
 * leases. Private to agent_call*.c and agent_inbox.c. */
#ifndef ARCP_RUNTIME_AGENT_CALL_H
#define ARCP_RUNTIME_AGENT_CALL_H

#include <arcp/secret.h>
#include <stdatomic.h>

#include "runtime/runtime_state.h"

typedef enum arcp__agent_message_kind {
    ARCP__AGENT_SAYS, /* through its job's port */
    ARCP__AGENT_LINE, /* a line of the protocol, in `said.body` */
    ARCP__AGENT_BYE   /* it has returned */
} arcp__agent_message_kind;

/* One message; its reports and its texts follow the struct. */
typedef struct arcp__agent_message {
    struct arcp__agent_message *prev, *next;
    arcp_agent_call *call; /* referenced */
    arcp__agent_message_kind kind;
    arcp__job_message said;
    bool is_lost; /* a bye whose last word there was no memory for */
    size_t size;  /* of what follows */
} arcp__agent_message;

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

    arcp_agent_call *previous_queued, *next_queued; /* for a thread; under the inbox's lock */

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
/* The agent's last word (a line; NULL: it has none), then that it has returned; once. A line that
 * there is no memory for ends the job as a failure. */
void arcp__agent_call_bye(arcp_agent_call *call, const arcp_buf *line);

/* ---- agent_inbox.c ---- */

/* Any thread. Takes the message over and wakes the loop. */
void arcp__agent_inbox_put(arcp__agent_message *message);
/* Whether there is room for more from an agent that does not wait, and its observers are fast
 * enough. When not, its `drained` is called once there is. Any thread. */
bool arcp__agent_inbox_ask(arcp_agent_call *call);
/* Waits until there is room for more, or for a reply, or the job is over. An agent's thread. False:
 * no agent waits any more. */
bool arcp__agent_inbox_wait(arcp_agent_call *call, bool for_reply);
/* Around a change of something that waiters look at, who are woken by the unlocking. Any thread. */
void arcp__agent_inbox_lock(arcp__agent_inbox *inbox);
void arcp__agent_inbox_unlock(arcp__agent_inbox *inbox);

/* Runs a blocking agent on a thread, in the order of the calls; it waits in a queue while all
 * threads are busy. False: no thread can be had. */
bool arcp__agent_threads_run(arcp_agent_call *call);

#endif
