/* One job of a callback agent: the bridge between its thread and the loop. */
#ifndef ARCP_RUNTIME_AGENT_CALL_H
#define ARCP_RUNTIME_AGENT_CALL_H

#include "runtime/agent_inbox.h"

arcp_agent_call *arcp__agent_call_ref(arcp_agent_call *call);
void arcp__agent_call_unref(arcp_agent_call *call);

/* The loop's thread: a job.credentials line, and what it changes. */
bool arcp__agent_call_is_credentials(arcp_span line);
void arcp__agent_call_take_credentials(arcp_agent_call *call, arcp_span line);

/* The loop's thread: gives a message to the engine. */
void arcp__agent_call_deliver(arcp_runtime *runtime, const arcp__agent_message *message,
                              arcp_time now);

#endif
