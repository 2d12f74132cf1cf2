/* What operators ask of the program that owns a runtime (docs/protocol.md, The view). */
#ifndef ARCP_RUNTIME_RUNTIME_OWNER_H
#define ARCP_RUNTIME_RUNTIME_OWNER_H

#include <arcp/runtime.h>

/* `request` is an object with the members request, principal and payload. Called on the loop's
 * thread while the runtime is driven: answer now or later, but change the runtime only later. */
typedef void (*arcp__runtime_asked_fn)(void *user, uint64_t id, arcp_span request);

/* Before it is called, requests are refused. */
void arcp__runtime_set_owner(arcp_runtime *runtime, arcp__runtime_asked_fn asked, void *user);

/* Answers a request: with ARCP_OK `text` is the payload, an object, else the message of the
 * refusal. On the loop's thread. */
void arcp__runtime_answer(arcp_runtime *runtime, uint64_t id, arcp_status status, arcp_span text);

/* The name that local connections may have as operators (arcp_serve_options), now and after the
 * next verifiers were set: keys of browsers that such a connection made stay valid. NULL: none.
 * Static. */
void arcp__runtime_set_local_operator(arcp_runtime *runtime, const char *principal);

#endif
