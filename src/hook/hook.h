/* Hooks: what becomes of jobs is reported outside, by notifications that wait in an outbox until
 * they are delivered (docs/hooks.md).
 *
 * A notification is a row of the table OUTBOX that is written in the batch that ends the job or
 * records the event. The owner gets it (NOTIFY) when that batch is durable, and reports whether it
 * was delivered; then its row is deleted. So each notification is delivered at least once: after a
 * crash the rows that are left are delivered again, with the same id and the same body.
 *
 *     made ──> DUE ──> SENT ──delivered──> deleted
 *               ^        │ failed
 *      pause is │        v
 *          over └──── WAITING ──24 h──> FAILED ──retry──> DUE, or drop ──> deleted
 *
 * The pause doubles with each attempt, with jitter. A hook has at most ARCP__HOOK_SENT_MAX
 * notifications under way, so that one whose receiver does not answer delays no other. */
#ifndef ARCP_HOOK_HOOK_H
#define ARCP_HOOK_HOOK_H

#include "hook/hook_options.h"
#include "job/job.h"

#define ARCP__HOOK_SENT_MAX 4u
#define ARCP__HOOK_RETRY_SEC                                                                       \
    86400 /* a notification that was not delivered for so long has failed */
#define ARCP__HOOK_PAUSE_SEC_MAX 600u
/* Failed notifications that are kept; the oldest are removed. */
#define ARCP__OUTBOX_FAILED_MAX 10000u
/* Memory of all notifications. Beyond it the oldest are removed: failed ones first, then those of
 * the hook that has the most. */
#define ARCP__OUTBOX_BYTES_MAX 67108864u
/* Between two notifications of denials of one job; denials in between are only counted. */
#define ARCP__HOOK_DENIAL_SEC 60

typedef struct arcp__hook arcp__hook;
typedef struct arcp__notification arcp__notification;

typedef struct arcp__hook_metrics {
    uint64_t made, delivered, retried, failed;
    uint64_t dropped; /* by an operator, or for room */
} arcp__hook_metrics;

typedef struct arcp__hooks {
    /* Set by the owner. */
    arcp__context *context;
    arcp__log *log;
    arcp__jobs *jobs;
    int timer_kind; /* of the timers for arcp__hook_due */
    /* Appends the job as an object: a row of x-vendor.arcpd.jobs. */
    void (*write_job)(void *user, arcp__job *job, arcp_buf *out);
    void *user;

    /* Other folders read the members below. */
    arcp__hook *all; /* by name */
    arcp__notification *by_id;
    arcp__notification *oldest; /* of all, in the order of their ids */
    arcp__notification *failed; /* the first to fail comes first */
    arcp__notification *sent;
    size_t failed_count, due_count;
    uint64_t bytes;     /* of all */
    uint64_t bytes_max; /* ARCP__OUTBOX_BYTES_MAX; less in tests */
    uint64_t last_number;
    bool is_short; /* notifications were removed for room since the last one was delivered */
    arcp__job_watch watch;
    arcp__timer stuck_timer;
    arcp__hook_metrics metrics;
} arcp__hooks;

/* When no job is freed yet. */
void arcp__hooks_fini(arcp__hooks *hooks);

/* Replaces all hooks. The notifications of a hook that is not configured any more are kept, and
 * attempted as if its receiver could not be reached. */
void arcp__hooks_set(arcp__hooks *hooks, const arcp__hook_options *options, size_t count);

void arcp__hook_due(arcp__hooks *hooks, arcp__timer *timer);
/* Sends what is due and removes what is too much, at the end of an input. */
void arcp__hooks_run(arcp__hooks *hooks);
/* What became of the NOTIFY effect with this number: ARCP_OK, or why it was not delivered. Ignored
 * when the notification was removed meanwhile. */
void arcp__hooks_notified(arcp__hooks *hooks, uint64_t number, arcp_status status,
                          arcp_span message);
/* Restores a row of the table OUTBOX from the context's index; rows come in the order of their
 * keys. */
arcp_status arcp__hook_restore_row(arcp__hooks *hooks, arcp_span key, arcp_error *err);

/* ---- listing ---- */

/* A notification as it is listed. */
typedef struct arcp__notification_view {
    const char *id, *hook, *event, *job_id, *target, *state;
    int64_t at_wall_ns;   /* when it was made */
    int64_t next_wall_ns; /* of its next attempt; 0: it is under way, due, or failed */
    uint64_t tries;       /* since it was made, retried or restored */
    const char *error;    /* of the last attempt; "" for none */
} arcp__notification_view;

/* The first notification whose id is greater than `id` ("": the first); false: none. */
bool arcp__notification_next(const arcp__hooks *hooks, const char *id,
                             arcp__notification_view *out);
/* Attempts the notification at once, for another 24 h. False: there is none with this id. */
bool arcp__notification_retry(arcp__hooks *hooks, arcp_span id);
/* Removes it. */
bool arcp__notification_drop(arcp__hooks *hooks, arcp_span id);
size_t arcp__notification_count(const arcp__hooks *hooks); /* failed ones included */

#endif
