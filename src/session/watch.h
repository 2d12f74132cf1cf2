/* What a session watches (view_watch.c has the requests and what is sent). */
#ifndef ARCP_SESSION_WATCH_H
#define ARCP_SESSION_WATCH_H

#include "session/session_state.h"

/* The time between two pushes of changed jobs. */
#define ARCP__WATCH_PUSH_NS (250 * ARCP_NS_PER_MS)

struct arcp__watch {
    arcp__watch *prev, *next; /* in `idle` */
    arcp__watch **idle;       /* the list that it is in; NULL: jobs_timer is armed, or no jobs */
    arcp__session *session;
    bool jobs, figures;
    char *principals; /* owned glob; NULL: those of the session's principal */
    uint64_t seen;    /* the last mark that was sent */
    int64_t pushed_ns;
    arcp__timer jobs_timer, figures_timer;
};

/* Watches jobs from now on; `glob` is one of principals, or empty for the session's own. */
void arcp__watch_jobs(arcp__sessions *sessions, arcp__watch *watch, arcp_span glob);
/* Nothing is to be sent until a job changes. */
void arcp__watch_sleep(arcp__sessions *sessions, arcp__watch *watch);
void arcp__watch_end_jobs(arcp__sessions *sessions, arcp__watch *watch);
void arcp__watch_end_figures(arcp__sessions *sessions, arcp__watch *watch);
/* Frees a watch of nothing. */
void arcp__watch_free_if_over(arcp__session *session);

#endif
