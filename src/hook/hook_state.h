/* Shared by the files of src/hook. */
#ifndef ARCP_HOOK_HOOK_STATE_H
#define ARCP_HOOK_HOOK_STATE_H

#include "base/alloc.h"
#include "hook/hook.h"

/* Bytes of the reason of a failed attempt that are kept. */
#define ARCP__HOOK_ERROR_MAX 200u

typedef enum arcp__notification_state {
    ARCP__NOTIFICATION_NEW, /* not in the outbox yet, or no more */
    ARCP__NOTIFICATION_DUE,
    ARCP__NOTIFICATION_SENT,    /* the owner has it, or it waits for its batch */
    ARCP__NOTIFICATION_WAITING, /* for its next attempt */
    ARCP__NOTIFICATION_FAILED
} arcp__notification_state;

struct arcp__hook {
    UT_hash_handle hh;
    char *name;                       /* owned */
    char *agent, *principal, *target; /* owned; of the configuration, NULL: it is not configured */
    unsigned events;
    unsigned budget_left_percent;
    uint64_t stuck_after_sec;
    arcp__notification *due; /* the first comes first */
    size_t sent_count;
    size_t count;    /* of its notifications */
    uint64_t bytes;  /* of them */
    bool is_failing; /* the last attempt failed, which was logged */
};

struct arcp__notification {
    UT_hash_handle hh;
    char id[ARCP__ID_SIZE];
    char job_id[ARCP__ID_SIZE];
    arcp__hook *hook;
    arcp__hook_event event;
    arcp__notification_state state;
    arcp__notification *previous, *next;             /* of all */
    arcp__notification *previous_there, *next_there; /* in the list of its state */
    int64_t at_wall_ns, since_wall_ns;               /* when it was made, and when its 24 h began */
    uint64_t number;                                 /* of its NOTIFY effect */
    uint64_t tries;
    arcp__timer timer;
    char error[ARCP__HOOK_ERROR_MAX + 1];
    size_t body_size;
    char body[];
};

/* ---- hook.c ---- */
/* The hook with this name, which is made if there is none; NULL when out of memory. */
arcp__hook *arcp__hook_get(arcp__hooks *hooks, arcp_span name);
/* Frees a hook that is not configured and has no notification. */
void arcp__hook_maybe_free(arcp__hooks *hooks, arcp__hook *hook);
const char *arcp__hook_event_name(arcp__hook_event event);

/* ---- hook_row.c ---- */
void arcp__notification_store(arcp__hooks *hooks, const arcp__notification *notification);

/* ---- notification.c ---- */
/* Adds a notification behind all others. NULL when out of memory. */
arcp__notification *arcp__notification_add(arcp__hooks *hooks, arcp__hook *hook, const char *id,
                                           arcp_span body);
/* The only function that changes a state. */
void arcp__notification_enter(arcp__hooks *hooks, arcp__notification *notification,
                              arcp__notification_state state);
void arcp__notification_free(arcp__hooks *hooks, arcp__notification *notification);

#endif
