/* A watch of jobs remembers the number of the last mark (job/job_changes.h) that it has sent. While
 * nothing changes it is listed as idle, at its principal or among those of several principals, and
 * costs nothing. A change arms the timers of those whose jobs changed, at ARCP__WATCH_PUSH_NS after
 * their last push at the earliest. */
#include "session/watch.h"

static size_t *watchers(arcp__sessions *sessions, const arcp__watch *watch)
{
    return watch->principals == NULL ? &watch->session->principal->marks.watchers
                                     : &sessions->jobs->marks.watchers;
}

void arcp__watch_end_jobs(arcp__sessions *sessions, arcp__watch *watch)
{
    if (watch->jobs) {
        watch->jobs = false;
        if (watch->idle != NULL) {
            DL_DELETE(*watch->idle, watch);
            watch->idle = NULL;
        }
        (*watchers(sessions, watch))--;
        arcp__context_disarm(sessions->context, &watch->jobs_timer);
        arcp__free(watch->principals);
        watch->principals = NULL;
    }
}

void arcp__watch_end_figures(arcp__sessions *sessions, arcp__watch *watch)
{
    watch->figures = false;
    arcp__context_disarm(sessions->context, &watch->figures_timer);
}

void arcp__watch_free_if_over(arcp__session *session)
{
    if (session->watch != NULL && !session->watch->jobs && !session->watch->figures) {
        arcp__free(session->watch);
        session->watch = NULL;
    }
}

void arcp__watch_end(arcp__sessions *sessions, arcp__session *session)
{
    if (session->watch != NULL) {
        arcp__watch_end_jobs(sessions, session->watch);
        arcp__watch_end_figures(sessions, session->watch);
        arcp__watch_free_if_over(session);
    }
}

void arcp__watch_sleep(arcp__sessions *sessions, arcp__watch *watch)
{
    watch->idle = watch->principals == NULL ? &watch->session->principal->marks.idle
                                            : &sessions->idle_watches;
    DL_APPEND(*watch->idle, watch);
}

void arcp__watch_jobs(arcp__sessions *sessions, arcp__watch *watch, arcp_span glob)
{
    const arcp__session *session = watch->session;
    arcp__watch_end_jobs(sessions, watch);
    if (glob.size != 0 && !arcp_span_equal_cstr(glob, session->principal->name)) {
        watch->principals = arcp__copy_cstr(glob.data, glob.size);
        if (watch->principals == NULL) {
            arcp__context_no_memory(sessions->context);
            return;
        }
    }
    watch->jobs = true;
    watch->seen = sessions->jobs->marks.number;
    watch->pushed_ns = sessions->context->now.mono_ns - ARCP__WATCH_PUSH_NS;
    arcp__watch_sleep(sessions, watch);
    (*watchers(sessions, watch))++;
}

static void wake(arcp__sessions *sessions, arcp__watch *watch)
{
    const int64_t now_ns = sessions->context->now.mono_ns;
    const int64_t earliest_ns = watch->pushed_ns + ARCP__WATCH_PUSH_NS;
    DL_DELETE(*watch->idle, watch);
    watch->idle = NULL;
    arcp__context_arm(sessions->context, &watch->jobs_timer, sessions->timer_kinds.session,
                      watch->session, earliest_ns > now_ns ? earliest_ns : now_ns + 1);
}

void arcp__watches_wake(arcp__sessions *sessions)
{
    const arcp__jobs *jobs = sessions->jobs;
    if (jobs->marks.number == sessions->woken) {
        return;
    }
    for (arcp__principal *principal = arcp__marked_principal(jobs, NULL);
         principal != NULL && principal->marks.number > sessions->woken;
         principal = arcp__marked_principal(jobs, principal)) {
        while (principal->marks.idle != NULL) {
            wake(sessions, principal->marks.idle);
        }
    }
    while (sessions->idle_watches != NULL) {
        wake(sessions, sessions->idle_watches);
    }
    sessions->woken = jobs->marks.number;
}
