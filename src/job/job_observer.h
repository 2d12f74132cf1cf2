/* What jobs report to sessions, which they do not know: two tables of functions, whose `user` is
 * that of arcp__jobs. */
#ifndef ARCP_JOB_JOB_OBSERVER_H
#define ARCP_JOB_JOB_OBSERVER_H

#include <arcp/wire.h>

struct arcp__job;
typedef struct arcp__observer arcp__observer;
typedef struct arcp__submitter arcp__submitter;

typedef struct arcp__observer_ops {
    /* A record was appended to the job's stream at `position`; a session needs `feature` to see it.
     * Only live observers are called. The callback must not change the job. */
    void (*record)(void *user, arcp__observer *observer, uint64_t position, size_t bytes,
                   arcp_feature feature);
    /* The job has ended; `record` was called for its terminal record before. */
    void (*ended)(void *user, arcp__observer *observer);
    /* The job is being removed: the observer must detach from it. */
    void (*dropped)(void *user, arcp__observer *observer);
    /* Whether the record with this number is still to be sent. */
    bool (*is_behind)(const arcp__observer *observer, uint64_t seq);
} arcp__observer_ops;

struct arcp__observer {
    const arcp__observer_ops *ops;
    struct arcp__job *job;
    arcp__observer *previous, *next; /* of the job */
    bool is_live;                    /* has all past records and gets new ones as they come */
};

typedef struct arcp__submitter_ops {
    /* One of its jobs has delegated to `child`, which belongs to it, too. */
    void (*child)(void *user, arcp__submitter *submitter, struct arcp__job *child);
    /* One of its admissions is ready or was removed, or the key that it waits for is free. */
    void (*ready)(void *user, arcp__submitter *submitter);
} arcp__submitter_ops;

/* What becomes of all jobs, for one that watches them (src/hook). It must not change a job. */
typedef struct arcp__job_watch {
    void (*ended)(void *user, struct arcp__job *job);
    void (*denied)(void *user, struct arcp__job *job); /* an operation of it */
    void (*spent)(void *user, struct arcp__job *job);  /* of its own budget */
    void *user;
} arcp__job_watch;

/* Maps positions of the job's stream to the event numbers of the owning session. */
typedef struct arcp__owner_run {
    uint64_t first_seq;
    uint64_t first_position;
    uint64_t count;
} arcp__owner_run;

#endif
