/* An engine with hooks, and a receiver that keeps what is delivered. */
#ifndef ARCP_TESTS_HOOK_HOOK_RIG_H
#define ARCP_TESTS_HOOK_HOOK_RIG_H

#include "hook/hook.h"
#include "story/engine_rig.h"

#define HOOK_DELIVERED_MAX 256

typedef enum hook_receiver {
    HOOK_RECEIVES,
    HOOK_FAILS,
    HOOK_FAILS_TWICE, /* each notification */
    HOOK_IS_SILENT    /* it never answers */
} hook_receiver;

typedef struct hook_rig {
    engine_rig rig;
    hook_receiver receiver;
    struct {
        uint64_t number; /* of the effect */
        char hook[32];
        char id[40];
        char *body; /* owned */
        bool is_answered;
    } delivered[HOOK_DELIVERED_MAX]; /* each attempt */
    size_t delivered_count;
} hook_rig;

#define ON(event) (1u << ARCP__HOOK_##event)

/* A hook for everything. */
arcp__hook_options hook_for(const char *name, unsigned events);

void hook_start(hook_rig *h, const arcp__hook_options *hooks, size_t count);
void hook_stop(hook_rig *h);
/* Reports what became of the attempts that were not answered. */
void hook_answer(hook_rig *h, arcp_status status);
/* How many attempts were made for a hook with this text in the body; NULL: any. */
size_t hook_count(const hook_rig *h, const char *hook, const char *text);
/* Submits a job of alice for `agent`, with members of the payload, and returns its agent. */
rig_agent *hook_submit(hook_rig *h, const char *agent, const char *members);
/* What waits in the outbox, failed ones included. */
size_t hook_waiting(const hook_rig *h);

#endif
