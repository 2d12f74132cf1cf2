/* The hooks of a runtime, for the program that delivers their notifications (src/hook). */
#ifndef ARCP_RUNTIME_RUNTIME_HOOK_H
#define ARCP_RUNTIME_RUNTIME_HOOK_H

#include <arcp/runtime.h>

#include "hook/hook_options.h"

/* Delivers the notification `body` of a hook, later: arcp__runtime_notified. Called on the loop's
 * thread while the runtime is driven; the texts are borrowed during the call. */
typedef void (*arcp__deliver_fn)(void *user, arcp_runtime *runtime, uint64_t id, arcp_span hook,
                                 arcp_span body);

/* Replaces the hooks. The loop's thread. */
void arcp__runtime_set_hooks(arcp_runtime *runtime, const arcp__hook_options *hooks, size_t count);

/* ARCP_OK: the notification was delivered; else `why` says why not, and it is delivered again
 * later. On the loop's thread, not from inside arcp__deliver_fn. */
void arcp__runtime_notified(arcp_runtime *runtime, uint64_t id, arcp_status status, arcp_span why);

#endif
