/* A hook as configured. Apart from hook.h, for programs that do not include the engine. */
#ifndef ARCP_HOOK_HOOK_OPTIONS_H
#define ARCP_HOOK_HOOK_OPTIONS_H

#include <stdint.h>

#include <arcp/span.h>

/* What a hook is notified of. */
typedef enum arcp__hook_event {
    ARCP__HOOK_END,    /* a job has ended */
    ARCP__HOOK_DENIAL, /* an operation of a job was denied */
    ARCP__HOOK_BUDGET, /* little of a budget of a job is left */
    ARCP__HOOK_STUCK,  /* a job's agent has written nothing for some time */
    ARCP__HOOK_EVENT_COUNT
} arcp__hook_event;

/* Everything is copied. */
typedef struct arcp__hook_options {
    arcp_span name;
    arcp_span target;             /* where its notifications go, for people; without secrets */
    unsigned events;              /* bits 1 << arcp__hook_event */
    arcp_span agent;              /* glob for NAME or NAME@VERSION; empty: all */
    arcp_span principal;          /* glob; empty: all */
    uint64_t budget_left_percent; /* for BUDGET: 0 to 99 */
    uint64_t stuck_after_sec;     /* for STUCK: 1 or more */
} arcp__hook_options;

#endif
