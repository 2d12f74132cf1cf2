/* The session that asked for a job, as far as jobs know it. */
#ifndef ARCP_ENGINE_SUBMITTER_H
#define ARCP_ENGINE_SUBMITTER_H

#include <stdbool.h>

#include "credential/credential.h"
#include "engine/engine.h"

typedef struct arcp__principal arcp__principal;
typedef struct arcp__admission arcp__admission;
typedef struct arcp__submitter arcp__submitter;

typedef struct arcp__submitter_ops {
    /* A job that runs on it has delegated to `child`, which runs on it too. */
    void (*child)(arcp__engine *engine, arcp__submitter *submitter, arcp__job *child);
    /* One of its admissions is ready or gone, or the key that it waits for is free. */
    void (*ready)(arcp__engine *engine, arcp__submitter *submitter);
} arcp__submitter_ops;

struct arcp__submitter {
    /* Of its owner. */
    const arcp__submitter_ops *ops;
    const char *session_id;
    arcp__credential_viewer viewer;
    bool delays_children; /* their job.accepted must not come between a submit and its answer */
    /* Of the jobs. */
    size_t live_jobs;            /* that run on it and have not ended */
    arcp__admission *admissions; /* oldest first */
    size_t admission_count;
    arcp__admission *waits_for; /* another submit's, that makes a job under the same key */
    arcp__submitter *previous_waiter, *next_waiter;
};

#endif
