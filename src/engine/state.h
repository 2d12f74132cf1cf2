/* The engine's own state around the context, log, credentials, jobs and sessions. Private to
 * src/engine. */
#ifndef ARCP_ENGINE_STATE_H
#define ARCP_ENGINE_STATE_H

#include "context/context.h"
#include "engine/engine.h"
#include "hook/hook.h"
#include "job/job.h"
#include "schedule/schedule.h"
#include "session/session.h"

typedef enum arcp__timer_kind {
    ARCP__TIMER_LINK,
    ARCP__TIMER_SESSION,
    ARCP__TIMER_REFUSALS,
    ARCP__TIMER_JOB,
    ARCP__TIMER_WORKER,
    ARCP__TIMER_CREDENTIAL,
    ARCP__TIMER_SCHEDULE,
    ARCP__TIMER_HOOK,
    ARCP__TIMER_SWEEP,
    ARCP__TIMER_STORE_RETRY,
    ARCP__TIMER_SHUTDOWN
} arcp__timer_kind;

struct arcp__engine {
    arcp__engine_options options;
    arcp__context context;
    arcp__log *log; /* owned */
    arcp__credentials credentials;
    arcp__jobs jobs;
    arcp__schedules schedules;
    arcp__hooks hooks;
    arcp__sessions sessions;
    struct arcp__restore *restore; /* NULL when no restart is in progress */
    int64_t wall_ahead_ns;         /* wall minus monotonic clock when expiries were last checked */
    arcp__timer sweep_timer, shutdown_timer;
    bool stopped;
    bool drain_is_over; /* links had DRAIN_NS to send the last events */
};

/* Passes a call, or an outcome of it, to the recorder if there is one. */
#define ARCP__RECORD(engine, ...)                                                                  \
    do {                                                                                           \
        if ((engine)->options.record != NULL) {                                                    \
            (engine)->options.record((engine)->options.record_user, &(arcp__call){__VA_ARGS__});   \
        }                                                                                          \
    } while (0)

/* Records what a call returned. */
static inline bool arcp__record_bool(const arcp__engine *engine, bool result)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_RESULT, .numbers = {result});
    return result;
}

static inline arcp_status arcp__record_status(const arcp__engine *engine, arcp_status status)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_RESULT, .numbers = {(uint64_t)status});
    return status;
}

/* ---- input.c: what each input begins and ends with ---- */
/* False when the engine has failed. */
bool arcp__engine_begin(arcp__engine *engine, arcp_time now);
/* Delivers queued messages and does what follows from them, until there is nothing left to do. */
void arcp__engine_settle(arcp__engine *engine);

/* ---- restore.c ---- */
void arcp__restore_free(arcp__engine *engine);

#endif
