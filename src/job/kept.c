/* Ended jobs that are kept for listings and subscribers, for a limited time and in limited number.
 *
 * Three amounts are bounded over all principals: the number of kept jobs, the bytes of their
 * records and job.accepted payloads, and the bytes of these payloads alone, which stay in memory
 * with any store. When one exceeds its limit, the principal that has most of it loses its oldest
 * ended job. That principal has more than the limit divided by the number of principals that have
 * any, so a principal with less than that loses no job. The bytes of the newest ended job of all do
 * not count until the next one ends, so that its client can see it, however large it is. */
#include "job/job_state.h"
#include "job/purse.h"

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

static void count_bytes(arcp__jobs *jobs, arcp__job *job, bool bytes_counted)
{
    if (job->bytes_counted != bytes_counted) {
        const int64_t sign = bytes_counted ? 1 : -1;
        job->bytes_counted = bytes_counted;
        count(jobs, job, ARCP__KEPT_BYTES, sign * (int64_t)job->terminal_bytes);
        count(jobs, job, ARCP__KEPT_LEASES, sign * (int64_t)job->accepted_size);
    }
}

static void unlist(arcp__jobs *jobs, arcp__job *job)
{
    if (job->is_terminal) {
        job->is_terminal = false;
        count_bytes(jobs, job, false);
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
    arcp__purses_restored(jobs);
    if (jobs->ended == NULL) {
        return;
    }
    count_bytes(jobs, jobs->ended->ended_prev, true);
    DL_SORT2(jobs->ended, by_end, ended_prev, ended_next);
    count_bytes(jobs, jobs->ended->ended_prev, false);
    for (arcp__principal *principal = jobs->principals; principal != NULL;
         principal = principal->hh.next) {
        DL_SORT2(principal->ended_jobs, by_end, own_ended_prev, own_ended_next);
    }
}

void arcp__job_keep(arcp__jobs *jobs, arcp__job *job, int64_t until_ns)
{
    job->accepted_size =
        (uint32_t)(arcp_span_cstr(job->accepted).size + arcp_span_cstr(job->facts.start).size);
    job->terminal_bytes =
        job->stream->bytes + job->accepted_size; /* no record follows the terminal one */
    if (jobs->ended != NULL) {
        count_bytes(jobs, jobs->ended->ended_prev, true); /* the newest so far */
    }
    job->is_terminal = true;
    DL_APPEND2(jobs->ended, job, ended_prev, ended_next);
    DL_APPEND2(job->principal->ended_jobs, job, own_ended_prev, own_ended_next);
    count(jobs, job, ARCP__KEPT_JOBS, 1);
    arcp__context_arm(jobs->context, &job->keep_timer, jobs->timer_kind, job, until_ns);
}

void arcp__job_unkeep(arcp__jobs *jobs, arcp__job *job)
{
    unlist(jobs, job);
    if (job->is_evicted) {
        job->is_evicted = false;
        jobs->evicted_count--;
        jobs->evicted_bytes -= job->terminal_bytes;
        job->principal->evicted_count--;
        job->principal->evicted_bytes -= job->terminal_bytes;
    }
}

uint64_t arcp__kept_at_least(const arcp__jobs *jobs, const arcp__principal *principal)
{
    const arcp__job *newest = jobs->ended == NULL ? NULL : jobs->ended->ended_prev;
    const bool is_own = newest != NULL && newest->principal == principal && !newest->bytes_counted;
    return principal->stored_bytes - arcp__share_of(&principal->parts[ARCP__KEPT_BYTES]) +
           arcp__share_of(&principal->parts[ARCP__KEPT_LEASES]) -
           (is_own ? newest->stream->bytes : 0);
}

/* ---- eviction ---- */

/* The job to evict next; NULL: no limit is exceeded. */
static arcp__job *next_to_evict(const arcp__jobs *jobs)
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
        jobs->context->settings.limits_principal_bytes; /* 0: no limit, perhaps since a reload */
    return over != NULL && limit != 0 && over->stored_bytes > limit ? over->ended_jobs : NULL;
}

void arcp__jobs_evict_oldest(arcp__jobs *jobs)
{
    arcp__job *job = next_to_evict(jobs);
    for (unsigned count = 0; job != NULL; count++, job = next_to_evict(jobs)) {
        if (count == ARCP__REMOVED_AT_ONCE) { /* the limits were lowered: continue soon */
            arcp__context_arm(jobs->context, &job->keep_timer, jobs->timer_kind, job,
                              arcp__context_after_ms(jobs->context, 1));
            break;
        }
        unlist(jobs, job);
        arcp__job_keep_due(jobs, job);
    }
    jobs->over_share = job == NULL ? NULL : jobs->over_share;
}

/* ---- removal ---- */

/* Whether the job must be kept until its session was sent all its records: after a resume the
 * session may need job.accepted again. Such jobs are bounded like the others that are kept, and a
 * principal may have no more of them than are left for others, because sessions that stay away, or
 * do not read, must not keep all of theirs. */
static bool is_unsent_to_owner(arcp__jobs *jobs, arcp__job *job)
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
    const bool is_within_limits =
        jobs->evicted_count == 0 ||
        (jobs->evicted_count + principal->evicted_count < settings->jobs_keep_terminal_max &&
         jobs->evicted_bytes + principal->evicted_bytes + job->terminal_bytes <=
             settings->jobs_keep_terminal_bytes);
    if (!job->is_evicted && is_within_limits) {
        job->is_evicted = true;
        jobs->evicted_count++;
        jobs->evicted_bytes += job->terminal_bytes;
        principal->evicted_count++;
        principal->evicted_bytes += job->terminal_bytes;
    }
    return job->is_evicted;
}

void arcp__job_keep_due(arcp__jobs *jobs, arcp__job *job)
{
    /* Whether the job is still needed: by its agent, or by an observer that has not got all of
     * it. */
    bool is_needed =
        jobs->is_restoring || arcp__job_has_agent(job) || is_unsent_to_owner(jobs, job);
    for (const arcp__observer *observer = job->observers; observer != NULL && !is_needed;
         observer = observer->next) {
        is_needed = !observer->is_live;
    }
    if (is_needed) {
        /* Check again soon, but less often the longer the job has waited: such jobs may be many. */
        int64_t sec = (jobs->context->now.wall_ns - job->ended_wall_ns) / ARCP_NS_PER_SEC / 8;
        sec = sec < 1 ? 1 : sec;
        arcp__context_arm(jobs->context, &job->keep_timer, jobs->timer_kind, job,
                          arcp__context_after_sec(jobs->context, (uint64_t)(sec > 60 ? 60 : sec)));
        return;
    }
    /* The row is deleted first: after a restart a job's row without its stream counts as damage. */
    arcp__idempotency_detach(jobs, job);
    arcp__batch_delete(jobs->log, ARCP_STORE_JOBS, arcp_span_cstr(job->id));
    arcp__job_drop(jobs, job);
}
