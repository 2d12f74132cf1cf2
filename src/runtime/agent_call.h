/* Callback agents: the state of a call, and the messages from agents' threads to the loop, which
 * keep the order of each agent. Apart from budgets and leases, the inbox is the only state that
 * threads and loop share. Private to agent_call*.c and agent_inbox.c. */
#ifndef ARCP_RUNTIME_AGENT_CALL_H
#define ARCP_RUNTIME_AGENT_CALL_H

#include <arcp/secret.h>
#include <stdatomic.h>

#include "runtime/runtime_state.h"

typedef enum arcp__agent_message_kind {
    ARCP__AGENT_MESSAGE, /* from the job's port */
    ARCP__AGENT_LINE,    /* a line of the agent protocol, in `content.body` */
    ARCP__AGENT_RETURNED /* the agent has finished */
} arcp__agent_message_kind;

/* One message; its reports and texts follow the struct in memory. */
typedef struct arcp__agent_message {
    struct arcp__agent_message *prev, *next;
    arcp_agent_call *call; /* referenced */
    arcp__agent_message_kind kind;
    arcp__job_message content;
    bool is_lost; /* ARCP__AGENT_RETURNED: the line with the result could not be allocated */
    size_t size;  /* of the reports and texts */
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
    atomic_bool paused;  /* its owner does not read, or the store's queue is full */
    atomic_bool is_done; /* it has finished and sends nothing more */

    arcp_agent_call *previous_queued, *next_queued; /* for a thread; guarded by the inbox */

    /* Messages that the loop has not taken; guarded by the inbox. Each has a reference. */
    arcp__agent_message *messages;
    arcp_agent_call *previous_speaking, *next_speaking;

    /* A message was refused for lack of room, and `drained` is to be called; guarded by the inbox.
     */
    bool awaits_room;
    arcp_agent_call *previous_awaiting, *next_awaiting;

    /* The agent's side. */
    arcp_json json;
    arcp_buf scratch, body;
    arcp__agent_message returned; /* allocated in advance, because it must arrive */

    /* A reply that the agent's thread waits for; guarded by the inbox. */
    bool has_reply;
    arcp_secret *credentials; /* replace those of the start; NULL: none do */
    arcp_buf reply;
};

/* ---- agent_call.c ---- */

arcp_agent_call *arcp__agent_call_ref(arcp_agent_call *call);
void arcp__agent_call_unref(arcp_agent_call *call);
/* Sends the agent's final line (NULL: none), and then that it has returned; only the first call has
 * an effect. If there is no memory for the line, the job fails. */
void arcp__agent_call_finish(arcp_agent_call *call, const arcp_buf *line);

/* ---- agent_inbox.c ---- */

/* Takes ownership of the message and wakes the loop. Any thread. */
void arcp__agent_inbox_put(arcp__agent_message *message);
/* Whether a non-blocking agent may send a message: the inbox has room and the job's observers keep
 * up. If not, the agent's `drained` is called once it may. Any thread. */
bool arcp__agent_inbox_check_room(arcp_agent_call *call);
/* Blocks the agent's thread until it may send a message, or until a reply has arrived, or the job
 * has ended. False: the runtime is stopping. */
bool arcp__agent_inbox_wait(arcp_agent_call *call, bool for_reply);
/* Guards changes of state that waiting threads depend on; unlocking wakes them. Any thread. */
void arcp__agent_inbox_lock(arcp__agent_inbox *inbox);
void arcp__agent_inbox_unlock(arcp__agent_inbox *inbox);

/* Runs a blocking agent on a thread; calls are queued in order while all threads are busy. False:
 * no thread can be created. */
bool arcp__agent_threads_run(arcp_agent_call *call);

#endif
