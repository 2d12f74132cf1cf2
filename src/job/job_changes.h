/* Which jobs have changed, for sessions that watch them (session/view_watch.c).
 *
 * A job is marked when what its row shows has changed: a new job, its status, progress, costs,
 * denials or children. Each mark has a number. Principals, and the marked jobs of each, are in the
 * order of their last marks, so a watcher that remembers a number finds all that changed since by
 * going back from the end, each job once, however often it changed. Nothing is marked without
 * watchers. */
#ifndef ARCP_JOB_JOB_CHANGES_H
#define ARCP_JOB_JOB_CHANGES_H

#include <stddef.h>
#include <stdint.h>

struct arcp__job;
struct arcp__jobs;
struct arcp__principal;

typedef struct arcp__job_mark {
    struct arcp__job *prev, *next; /* of its principal */
    uint64_t number;               /* 0: it was never marked */
} arcp__job_mark;

typedef struct arcp__principal_marks {
    struct arcp__job *jobs; /* the last one marked comes last */
    struct arcp__principal *prev, *next;
    uint64_t number;          /* of its last mark; 0: none */
    size_t watchers;          /* of this principal's jobs */
    struct arcp__watch *idle; /* head of a list that src/session keeps */
} arcp__principal_marks;

/* Those of all. */
typedef struct arcp__marks {
    struct arcp__principal *principals; /* the last one marked comes last */
    uint64_t number;                    /* of the last mark */
    size_t watchers;                    /* of several principals' jobs */
} arcp__marks;

/* The one that was marked last, and the one marked before this one; NULL: none. */
struct arcp__principal *arcp__marked_principal(const struct arcp__jobs *jobs,
                                               const struct arcp__principal *later);
struct arcp__job *arcp__marked_job(const struct arcp__principal *principal,
                                   const struct arcp__job *later);

#endif
