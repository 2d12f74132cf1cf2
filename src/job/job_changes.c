#include "job/job_changes.h"

#include "job/job_state.h"

void arcp__job_changed(arcp__jobs *jobs, arcp__job *job)
{
    arcp__principal *principal = job->principal; /* NULL: the job is removed */
    if (principal == NULL || (principal->marks.watchers == 0 && jobs->marks.watchers == 0)) {
        return;
    }
    arcp__job_forget_changes(job);
    arcp__principal_forget_changes(jobs, principal);
    DL_APPEND2(principal->marks.jobs, job, mark.prev, mark.next);
    DL_APPEND2(jobs->marks.principals, principal, marks.prev, marks.next);
    job->mark.number = principal->marks.number = ++jobs->marks.number;
}

void arcp__job_forget_changes(arcp__job *job)
{
    if (job->mark.number != 0) {
        DL_DELETE2(job->principal->marks.jobs, job, mark.prev, mark.next);
        job->mark.number = 0;
    }
}

void arcp__principal_forget_changes(arcp__jobs *jobs, arcp__principal *principal)
{
    if (principal->marks.number != 0) {
        DL_DELETE2(jobs->marks.principals, principal, marks.prev, marks.next);
        principal->marks.number = 0;
    }
}

/* The first of such a list has its last one as the one before. */

arcp__principal *arcp__marked_principal(const arcp__jobs *jobs, const arcp__principal *later)
{
    const arcp__principal *first = jobs->marks.principals;
    if (later == NULL) {
        return first == NULL ? NULL : first->marks.prev;
    }
    return later == first ? NULL : later->marks.prev;
}

arcp__job *arcp__marked_job(const arcp__principal *principal, const arcp__job *later)
{
    const arcp__job *first = principal->marks.jobs;
    if (later == NULL) {
        return first == NULL ? NULL : first->mark.prev;
    }
    return later == first ? NULL : later->mark.prev;
}
