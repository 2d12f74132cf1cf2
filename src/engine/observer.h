/* What jobs tell the sessions that follow them. A job knows its observers by this header only. */
#ifndef ARCP_ENGINE_OBSERVER_H
#define ARCP_ENGINE_OBSERVER_H

#include <arcp/json.h>

#include "engine/engine.h"

typedef struct arcp__observer arcp__observer;

typedef struct arcp__observer_ops {
    /* A record was appended to the job's stream at `position`; a session needs `feature` to see it.
     * Only live observers are told. The job must not be changed from inside. */
    void (*record)(arcp__engine *engine, arcp__observer *observer, uint64_t position, size_t bytes,
                   arcp_feature feature);
    /* The job has ended: the record that says so was told before. */
    void (*ended)(arcp__engine *engine, arcp__observer *observer);
    /* The job is being forgotten: the observer leaves it. */
    void (*dropped)(arcp__engine *engine, arcp__observer *observer);
    /* Whether the record with this number was not sent yet. */
    bool (*is_behind)(const arcp__observer *observer, uint64_t seq);
} arcp__observer_ops;

struct arcp__observer {
    const arcp__observer_ops *ops;
    arcp__job *job;
    arcp__observer *previous, *next; /* of the job */
    bool is_live;                    /* has all history; is told of records as they come */
};

#endif
