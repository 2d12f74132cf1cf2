/* What agents' threads hand to the loop: events and lines, in the order each agent said
 * them. The one place where threads and loop meet, besides budgets and leases. */
#ifndef ARCP_RUNTIME_AGENT_INBOX_H
#define ARCP_RUNTIME_AGENT_INBOX_H

#include <arcp/runtime.h>

#include "engine/engine.h"

typedef struct arcp__agent_inbox arcp__agent_inbox;

typedef enum arcp__agent_message_kind {
    ARCP__AGENT_SAYS, /* through its job's port */
    ARCP__AGENT_LINE, /* a line of the protocol, in `said.body` */
    ARCP__AGENT_BYE   /* it has returned */
} arcp__agent_message_kind;

/* One message; its texts follow the struct. */
typedef struct arcp__agent_message {
    struct arcp__agent_message *prev, *next;
    arcp_agent_call *call; /* referenced */
    arcp__agent_message_kind kind;
    arcp__job_message said;
    arcp_budget_report *reports; /* owned */
    bool is_lost;                /* a bye whose last word there was no memory for */
    size_t size;                 /* of its texts */
} arcp__agent_message;

arcp__agent_inbox *arcp__agent_inbox_new(arcp_runtime *runtime);
void arcp__agent_inbox_free(arcp__agent_inbox *inbox); /* NULL is accepted */
/* No agent waits any more: every wait ends with ARCP_E_CLOSED. Any thread. */
void arcp__agent_inbox_close(arcp__agent_inbox *inbox);

/* Any thread. Takes the message over and wakes the loop. */
void arcp__agent_inbox_put(arcp__agent_inbox *inbox, arcp__agent_message *message);
/* The loop's thread: hands messages to the engine, a few of each agent in turn, until there are
 * none or their share of the turn is used up; the others come in the next, for which the loop is
 * woken. True when somebody asks for room: they are to be told once in a turn of the loop, so that
 * who always has more to say holds nobody up. */
bool arcp__agent_inbox_take(arcp_runtime *runtime);
void arcp__agent_inbox_next_turn(arcp__agent_inbox *inbox);

/* Whether there is room for more from an agent that does not wait, and `ready(call)`. When not, its
 * `drained` is called once there is. Any thread. */
bool arcp__agent_inbox_ask(arcp__agent_inbox *inbox, bool (*ready)(arcp_agent_call *call),
                           arcp_agent_call *call);
/* The loop's thread: calls `drained` of all who asked and may go on. */
void arcp__agent_inbox_tell_all(arcp__agent_inbox *inbox);
/* Waits until `ready(call)` is true or the inbox is closed; `ready` runs with the inbox
 * locked. An agent's thread. False when closed. */
bool arcp__agent_inbox_wait(arcp__agent_inbox *inbox, bool (*ready)(arcp_agent_call *call),
                            arcp_agent_call *call);
/* Around a change of something that waiters look at, who are woken by the unlocking. Any thread. */
void arcp__agent_inbox_lock(arcp__agent_inbox *inbox);
void arcp__agent_inbox_unlock(arcp__agent_inbox *inbox);

#endif
