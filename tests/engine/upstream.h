/* An upstream that issues credentials, for engines on the rig: it outlives every restart, replies
 * as it is configured to, and tracks the state of each value. */
#ifndef ARCP_TESTS_ENGINE_UPSTREAM_H
#define ARCP_TESTS_ENGINE_UPSTREAM_H

#include <arcp/sys/provisioner.h>

#include "story/engine_rig.h"

#define UPSTREAM_KEYS_MAX    512
#define UPSTREAM_ALIASES_MAX 2048
#define UPSTREAM_CALLS_MAX   512
/* No request is longer on its way: less than credentials.settle_sec. */
#define UPSTREAM_ARRIVES_NS (59 * ARCP_NS_PER_SEC)

/* Every value begins with this: nothing that is stored or logged may contain it. */
#define UPSTREAM_VALUE_PREFIX "sk-live-"

typedef struct upstream_key {
    char alias[64];
    char id[64];
    char value[64];
    char budget[64];
    char expires_at[40];
    size_t model_count;
    bool is_live;
    unsigned revoked; /* how often it went from live to dead */
} upstream_key;

typedef enum upstream_mode {
    UPSTREAM_WELL,
    UPSTREAM_REFUSES,       /* certainly does nothing */
    UPSTREAM_IS_EXHAUSTED,  /* refuses: the budget of the whole account is used up */
    UPSTREAM_LOSES_ANSWERS, /* does it, but the reply is lost */
    UPSTREAM_FAILS,         /* does nothing, and the reply is lost */
    UPSTREAM_STALLS,        /* does nothing and does not reply, until it has recovered */
    UPSTREAM_HOLDS_ANSWERS, /* does it, and replies when it has recovered */
    UPSTREAM_TIMES_OUT,     /* the reply is "unknown"; the request takes effect later */
    UPSTREAM_EMPTY_VALUE,   /* issues, but the reply has no usable value */
    UPSTREAM_SAME_VALUE     /* issues the same value to all */
} upstream_mode;

typedef struct upstream_call {
    arcp__provision_verb verb;
    uint64_t call_id;
    char alias[64];
    char id[64];
    char budget[64];
    char expires_at[40];
    size_t model_count;
    bool is_processed;
    bool is_orphan; /* the caller was killed or has given up, and waits for no reply */
    int64_t asked_mono_ns;
    arcp_provision_outcome outcome;
    size_t key;
} upstream_call;

typedef struct upstream {
    const engine_rig *rig; /* whose clock it uses */
    arcp_provisioner_terms terms;
    upstream_mode issuing, revoking;
    upstream_key keys[UPSTREAM_KEYS_MAX];
    size_t key_count;
    char aliases[UPSTREAM_ALIASES_MAX]
                [ARCP_CREDENTIAL_ALIAS_MAX + 1]; /* every alias under which a value was requested */
    size_t alias_count;
    upstream_call calls[UPSTREAM_CALLS_MAX]; /* on their way, oldest first */
    size_t call_count;
    unsigned issue_calls, revoke_calls, usage_calls, keep_calls;
    bool replaces; /* rotate ends the old value by itself */
    const char *spent;
    char traceparent[64]; /* of the last call */
    uint64_t lifetime_sec;
    char last_error[256]; /* in the log */
    bool leaked;          /* a value was stored or logged in the clear */
} upstream;

/* The rig gets this upstream as its provisioner; before rig_open. */
void upstream_attach(upstream *up, engine_rig *rig);
/* Requests without a caller that are still on their way take effect now, unless they were lost. */
void upstream_deliver_orphans(upstream *up);
/* The same for those that have been on their way for too long at this instant. */
void upstream_deliver_late_orphans(upstream *up, int64_t mono_ns);
/* Requests without a caller never arrive. */
void upstream_drop_orphans(upstream *up);
/* Marks the requests that are on their way when the process is killed. */
void upstream_orphan_calls(upstream *up);
size_t upstream_live_count(const upstream *up);
/* The value that was issued under this alias; NULL: none was. */
const upstream_key *upstream_find(const upstream *up, const char *alias);
/* Fails unless every value that was issued was revoked exactly once. */
void upstream_check_all_revoked(const upstream *up, const char *label);

#endif
