/* Ended jobs that are kept, for listings and subscribers: for a time, and so many.
 *
 * Three things are bounded over all principals: how many jobs are kept, the bytes of their records
 * and leases, and the leases alone, which stay in memory wherever the store is. When there is too
 * much of one, the principal that has most of it loses the job that ended first. It has more than
 * the limit divided by the principals that have any, so that a principal with less than that loses
 * no job. The newest job of all weighs nothing until the next one ends: who asked for it may want
 * to see it, however large it is. */
#include "engine/parts.h"

/* ---- what is counted ---- */

static void count(arcp__engine *engine, arcp__job *job, arcp__kept_what what, int64_t change)
{
    if (engine->context.closing) {
        return;
    }
    arcp__timer *part = &job->principal->parts[what];
    const int64_t amount = (int64_t)arcp__share_of(part) + change;
    assert(amount >= 0 || engine->context.failed);
    part->owner = job->principal;
    if (!arcp__share_set(&engine->kept[what], part, amount < 0 ? 0 : (uint64_t)amount)) {
        arcp__context_no_memory(&engine->context);
    }
}

static void weigh(arcp__engine *engine, arcp__job *job, bool is_weighed)
{
    if (job->is_weighed != is_weighed) {
        const int64_t sign = is_weighed ? 1 : -1;
        job->is_weighed = is_weighed;
        count(engine, job, ARCP__KEPT_BYTES, sign * (int64_t)job->terminal_bytes);
        count(engine, job, ARCP__KEPT_LEASES, sign * (int64_t)job->accepted_size);
    }
}

static void take(arcp__engine *engine, arcp__job *job)
{
    if (job->is_terminal) {
        job->is_terminal = false;
        weigh(engine, job, false);
        DL_DELETE2(engine->ended_jobs, job, ended_prev, ended_next);
        DL_DELETE2(job->principal->ended_jobs, job, own_ended_prev, own_ended_next);
        count(engine, job, ARCP__KEPT_JOBS, -1);
    }
}

static int by_end(const arcp__job *a, const arcp__job *b)
{
    return (a->ended_wall_ns > b->ended_wall_ns) - (a->ended_wall_ns < b->ended_wall_ns);
}

void arcp__jobs_kept_restored(arcp__engine *engine)
{
    if (engine->ended_jobs == NULL) {
        return;
    }
    weigh(engine, engine->ended_jobs->ended_prev, true);
    DL_SORT2(engine->ended_jobs, by_end, ended_prev, ended_next);
    weigh(engine, engine->ended_jobs->ended_prev, false);
    for (arcp__principal *at = engine->principals; at != NULL; at = at->hh.next) {
        DL_SORT2(at->ended_jobs, by_end, own_ended_prev, own_ended_next);
    }
}

void arcp__job_keep(arcp__engine *engine, arcp__job *job, int64_t until_ns)
{
    job->accepted_size = (uint32_t)arcp_span_cstr(job->accepted).size;
    job->terminal_bytes = job->stream->bytes + job->accepted_size; /* nothing follows an end */
    if (engine->ended_jobs != NULL) {
        weigh(engine, engine->ended_jobs->ended_prev, true); /* the newest so far */
    }
    job->is_terminal = true;
    DL_APPEND2(engine->ended_jobs, job, ended_prev, ended_next);
    DL_APPEND2(job->principal->ended_jobs, job, own_ended_prev, own_ended_next);
    count(engine, job, ARCP__KEPT_JOBS, 1);
    arcp__context_arm(&engine->context, &job->keep_timer, ARCP__TIMER_JOB_KEEP, job, until_ns);
}

void arcp__job_keep_no_longer(arcp__engine *engine, arcp__job *job)
{
    take(engine, job);
    if (job->is_owed) {
        job->is_owed = false;
        engine->owed_count--;
        engine->owed_bytes -= job->terminal_bytes;
        job->principal->owed_count--;
        job->principal->owed_bytes -= job->terminal_bytes;
    }
}

uint64_t arcp__kept_record_bytes(const arcp__engine *engine, const arcp__principal *principal)
{
    const arcp__job *newest = engine->ended_jobs == NULL ? NULL : engine->ended_jobs->ended_prev;
    const bool is_own = newest != NULL && newest->principal == principal && !newest->is_weighed;
    return arcp__share_of(&principal->parts[ARCP__KEPT_BYTES]) -
           arcp__share_of(&principal->parts[ARCP__KEPT_LEASES]) +
           (is_own ? newest->stream->bytes : 0);
}

/* ---- too much ---- */

/* The job that goes next; NULL: none has to. */
static arcp__job *one_too_many(const arcp__engine *engine)
{
    const uint64_t limits[ARCP__KEPT_COUNT] = {
        [ARCP__KEPT_JOBS] = engine->context.settings.jobs_keep_terminal_max,
        [ARCP__KEPT_BYTES] = engine->context.settings.jobs_keep_terminal_bytes,
        [ARCP__KEPT_LEASES] = engine->ended_leases_max,
    };
    for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
        if (engine->kept[what].total > limits[what]) {
            const arcp__principal *most = arcp__share_most(&engine->kept[what])->owner;
            return most->ended_jobs;
        }
    }
    const arcp__principal *over = engine->over_share;
    const uint64_t limit =
        engine->context.settings.limits_principal_bytes; /* 0: none, also since then */
    return over != NULL && limit != 0 && over->stored_bytes > limit ? over->ended_jobs : NULL;
}

void arcp__jobs_forget_oldest(arcp__engine *engine)
{
    arcp__job *job = one_too_many(engine);
    for (unsigned count = 0; job != NULL; count++, job = one_too_many(engine)) {
        if (count == ARCP__FORGOTTEN_AT_ONCE) { /* the settings were lowered: the others soon */
            arcp__context_arm(&engine->context, &job->keep_timer, ARCP__TIMER_JOB_KEEP, job,
                              arcp__context_after_ms(&engine->context, 1));
            break;
        }
        take(engine, job);
        arcp__job_keep_due(engine, job);
    }
    engine->over_share = job == NULL ? NULL : engine->over_share;
}

/* ---- those that wait for their session ---- */

/* Whether the session it ran on was not sent all of it: when it is resumed, it may have to be
 * told once more that the job was accepted. */
static bool is_owed_to_owner(const arcp__job *job)
{
    if (job->owner == NULL || job->owner_run_count == 0) {
        return false;
    }
    const arcp__owner_run *last = &job->owner_runs[job->owner_run_count - 1];
    return job->owner->ops->is_behind(job->owner, last->first_seq + last->count - 1);
}

/* As many as are kept anyway, and of one principal no more than there is room for others:
 * sessions that stay away, or do not read, must not keep all theirs. */
static bool has_room_for_owed(const arcp__engine *engine, const arcp__job *job)
{
    const arcp_settings *settings = &engine->context.settings;
    const arcp__principal *principal = job->principal;
    return engine->owed_count == 0 ||
           (engine->owed_count + principal->owed_count < settings->jobs_keep_terminal_max &&
            engine->owed_bytes + principal->owed_bytes + job->terminal_bytes <=
                settings->jobs_keep_terminal_bytes);
}

static bool waits_for_owner(arcp__engine *engine, arcp__job *job)
{
    if (!is_owed_to_owner(job)) {
        return false;
    }
    if (!job->is_owed && has_room_for_owed(engine, job)) {
        job->is_owed = true;
        engine->owed_count++;
        engine->owed_bytes += job->terminal_bytes;
        job->principal->owed_count++;
        job->principal->owed_bytes += job->terminal_bytes;
    }
    return job->is_owed;
}

/* ---- the end ---- */

/* Whether the job itself is still needed: by its agent, or by an observer that has not been given
 * all of it. */
static bool is_needed(arcp__engine *engine, arcp__job *job)
{
    if (engine->restore != NULL || arcp__job_has_agent(job) || waits_for_owner(engine, job)) {
        return true;
    }
    for (const arcp__observer *at = job->observers; at != NULL; at = at->next) {
        if (!at->is_live) {
            return true;
        }
    }
    return false;
}

/* Soon, and the longer it waits already the less often: they may be many. */
static int64_t try_again_ns(const arcp__engine *engine, const arcp__job *job)
{
    int64_t sec = (engine->context.now.wall_ns - job->ended_wall_ns) / ARCP_NS_PER_SEC / 8;
    sec = sec < 1 ? 1 : sec;
    return arcp__context_after_sec(&engine->context, (uint64_t)(sec > 60 ? 60 : sec));
}

void arcp__job_keep_due(arcp__engine *engine, arcp__job *job)
{
    /* The rows come first: a job's row without its stream is damage for the next start. */
    if (is_needed(engine, job)) {
        arcp__context_arm(&engine->context, &job->keep_timer, ARCP__TIMER_JOB_KEEP, job,
                          try_again_ns(engine, job));
        return;
    }
    arcp__idempotency_outlive(engine, job);
    arcp__batch_delete(engine->log, ARCP_STORE_JOBS, arcp_span_cstr(job->id));
    arcp__job_drop(engine, job);
}
