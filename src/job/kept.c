/* Ended jobs that are kept, for listings and subscribers: for a time, and so many.
 *
 * Three things are bounded over all principals: how many jobs are kept, the bytes of their records
 * and leases, and the leases alone, which stay in memory wherever the store is. When there is too
 * much of one, the principal that has most of it loses the job that ended first. It has more than
 * the limit divided by the principals that have any, so that a principal with less than that loses
 * no job. The newest job of all weighs nothing until the next one ends: who asked for it may want
 * to see it, however large it is. */
#include "job/job_state.h"

static void count(arcp__jobs *jobs, arcp__job *job, arcp__kept_what what, int64_t change)
{
    if (jobs->context->closing) {
        return;
    }
    arcp__timer *part = &job->principal->parts[what];
    const int64_t amount = (int64_t)arcp__share_of(part) + change;
    assert(amount >= 0 || jobs->context->failed);
    part->owner = job->principal;
    if (!arcp__share_set(&jobs->kept[what], part, amount < 0 ? 0 : (uint64_t)amount)) {
        arcp__context_no_memory(jobs->context);
    }
}

static void weigh(arcp__jobs *jobs, arcp__job *job, bool is_weighed)
{
    if (job->is_weighed != is_weighed) {
        const int64_t sign = is_weighed ? 1 : -1;
        job->is_weighed = is_weighed;
        count(jobs, job, ARCP__KEPT_BYTES, sign * (int64_t)job->terminal_bytes);
        count(jobs, job, ARCP__KEPT_LEASES, sign * (int64_t)job->accepted_size);
    }
}

static void take(arcp__jobs *jobs, arcp__job *job)
{
    if (job->is_terminal) {
        job->is_terminal = false;
        weigh(jobs, job, false);
        DL_DELETE2(jobs->ended, job, ended_prev, ended_next);
        DL_DELETE2(job->principal->ended_jobs, job, own_ended_prev, own_ended_next);
        count(jobs, job, ARCP__KEPT_JOBS, -1);
    }
}

static int by_end(const arcp__job *a, const arcp__job *b)
{
    return (a->ended_wall_ns > b->ended_wall_ns) - (a->ended_wall_ns < b->ended_wall_ns);
}

void arcp__jobs_restored(arcp__jobs *jobs)
{
    arcp__idempotency_restored(jobs);
    if (jobs->ended == NULL) {
        return;
    }
    weigh(jobs, jobs->ended->ended_prev, true);
    DL_SORT2(jobs->ended, by_end, ended_prev, ended_next);
    weigh(jobs, jobs->ended->ended_prev, false);
    for (arcp__principal *at = jobs->principals; at != NULL; at = at->hh.next) {
        DL_SORT2(at->ended_jobs, by_end, own_ended_prev, own_ended_next);
    }
}

void arcp__job_keep(arcp__jobs *jobs, arcp__job *job, int64_t until_ns)
{
    job->accepted_size = (uint32_t)arcp_span_cstr(job->accepted).size;
    job->terminal_bytes = job->stream->bytes + job->accepted_size; /* nothing follows an end */
    if (jobs->ended != NULL) {
        weigh(jobs, jobs->ended->ended_prev, true); /* the newest so far */
    }
    job->is_terminal = true;
    DL_APPEND2(jobs->ended, job, ended_prev, ended_next);
    DL_APPEND2(job->principal->ended_jobs, job, own_ended_prev, own_ended_next);
    count(jobs, job, ARCP__KEPT_JOBS, 1);
    arcp__context_arm(jobs->context, &job->keep_timer, jobs->timer_kind, job, until_ns);
}

void arcp__job_keep_no_longer(arcp__jobs *jobs, arcp__job *job)
{
    take(jobs, job);
    if (job->is_owed) {
        job->is_owed = false;
        jobs->owed_count--;
        jobs->owed_bytes -= job->terminal_bytes;
        job->principal->owed_count--;
        job->principal->owed_bytes -= job->terminal_bytes;
    }
}

uint64_t arcp__kept_at_least(const arcp__jobs *jobs, const arcp__principal *principal)
{
    const arcp__job *newest = jobs->ended == NULL ? NULL : jobs->ended->ended_prev;
    const bool is_own = newest != NULL && newest->principal == principal && !newest->is_weighed;
    return principal->stored_bytes - arcp__share_of(&principal->parts[ARCP__KEPT_BYTES]) +
           arcp__share_of(&principal->parts[ARCP__KEPT_LEASES]) -
           (is_own ? newest->stream->bytes : 0);
}

/* ---- too much ---- */

/* The job that goes next; NULL: none has to. */
static arcp__job *one_too_many(const arcp__jobs *jobs)
{
    const uint64_t limits[ARCP__KEPT_COUNT] = {
        [ARCP__KEPT_JOBS] = jobs->context->settings.jobs_keep_terminal_max,
        [ARCP__KEPT_BYTES] = jobs->context->settings.jobs_keep_terminal_bytes,
        [ARCP__KEPT_LEASES] = jobs->ended_leases_max,
    };
    for (size_t what = 0; what < ARCP__KEPT_COUNT; what++) {
        if (jobs->kept[what].total > limits[what]) {
            const arcp__principal *most = arcp__share_most(&jobs->kept[what])->owner;
            return most->ended_jobs;
        }
    }
    const arcp__principal *over = jobs->over_share;
    const uint64_t limit =
        jobs->context->settings.limits_principal_bytes; /* 0: none, also since then */
    return over != NULL && limit != 0 && over->stored_bytes > limit ? over->ended_jobs : NULL;
}

void arcp__jobs_forget_oldest(arcp__jobs *jobs)
{
    arcp__job *job = one_too_many(jobs);
    for (unsigned count = 0; job != NULL; count++, job = one_too_many(jobs)) {
        if (count == ARCP__FORGOTTEN_AT_ONCE) { /* the settings were lowered: the others soon */
            arcp__context_arm(jobs->context, &job->keep_timer, jobs->timer_kind, job,
                              arcp__context_after_ms(jobs->context, 1));
            break;
        }
        take(jobs, job);
        arcp__job_keep_due(jobs, job);
    }
    jobs->over_share = job == NULL ? NULL : jobs->over_share;
}

/* ---- the end ---- */

/* Whether the session it ran on was not sent all of it: when it is resumed, it may have to be
 * told once more that the job was accepted. There are as many such jobs as are kept anyway, and of
 * one principal no more than there is room for others: sessions that stay away, or do not read,
 * must not keep all theirs. */
static bool waits_for_owner(arcp__jobs *jobs, arcp__job *job)
{
    const arcp_settings *settings = &jobs->context->settings;
    arcp__principal *principal = job->principal;
    if (job->owner == NULL || job->owner_run_count == 0) {
        return false;
    }
    const arcp__owner_run *last = &job->owner_runs[job->owner_run_count - 1];
    if (!job->owner->ops->is_behind(job->owner, last->first_seq + last->count - 1)) {
        return false;
    }
    const bool has_room =
        jobs->owed_count == 0 ||
        (jobs->owed_count + principal->owed_count < settings->jobs_keep_terminal_max &&
         jobs->owed_bytes + principal->owed_bytes + job->terminal_bytes <=
             settings->jobs_keep_terminal_bytes);
    if (!job->is_owed && has_room) {
        job->is_owed = true;
        jobs->owed_count++;
        jobs->owed_bytes += job->terminal_bytes;
        principal->owed_count++;
        principal->owed_bytes += job->terminal_bytes;
    }
    return job->is_owed;
}

void arcp__job_keep_due(arcp__jobs *jobs, arcp__job *job)
{
    /* Whether the job itself is still needed: by its agent, or by an observer that has not been
     * given all of it. */
    bool is_needed = jobs->is_restoring || arcp__job_has_agent(job) || waits_for_owner(jobs, job);
    for (const arcp__observer *at = job->observers; at != NULL && !is_needed; at = at->next) {
        is_needed = !at->is_live;
    }
    if (is_needed) {
        /* Soon, and the longer it waits already the less often: they may be many. */
        int64_t sec = (jobs->context->now.wall_ns - job->ended_wall_ns) / ARCP_NS_PER_SEC / 8;
        sec = sec < 1 ? 1 : sec;
        arcp__context_arm(jobs->context, &job->keep_timer, jobs->timer_kind, job,
                          arcp__context_after_sec(jobs->context, (uint64_t)(sec > 60 ? 60 : sec)));
        return;
    }
    /* The rows come first: a job's row without its stream is damage for the next start. */
    arcp__idempotency_outlive(jobs, job);
    arcp__batch_delete(jobs->log, ARCP_STORE_JOBS, arcp_span_cstr(job->id));
    arcp__job_drop(jobs, job);
}
