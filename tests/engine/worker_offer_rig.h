/* An engine on a disk, with one client, and workers that offer agents. */
#ifndef ARCP_TESTS_ENGINE_WORKER_OFFER_RIG_H
#define ARCP_TESTS_ENGINE_WORKER_OFFER_RIG_H

#include "engine/scene.h"
#include "engine/state.h"

#define KEEP_SEC 300
#define RESULT   "{\"type\":\"job.result\",\"payload\":{\"result\":1}}"
#define DELEGATE                                                                                   \
    "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"train\",\"wait\":true,"          \
    "\"lease_request\":{}}}"

extern scene *s;
/* Of the workers "a", "b" and "c"; only their addresses count. */
extern char offer_rig_hosts[3];
extern char offer_rig_warning[300]; /* the last one of the engine's log */
/* With offer_rig_set_up_confined: only this host can confine; NULL: all can. */
extern void *offer_rig_able;

int offer_rig_set_up(void **state);
int offer_rig_set_up_confined(void **state);
int offer_rig_tear_down(void **state);

typedef struct offers {
    uint64_t capacity;
    const char *boot_id;
    const char *name;    /* of the agent; NULL: "train" */
    uint8_t hash;        /* the first byte of the row's */
    const char *allowed; /* the glob of the token; NULL: there is none */
} offers;

arcp__worker_life offer_rig_life_of(const char *name, const char *instance);
/* A worker says hello with the job of `claim` (NULL: with none), and is ready if it was taken. */
bool offer_rig_join_with(const char *name, const char *instance, offers what,
                         const arcp__worker_claim *claim, arcp__job **claimed);
bool offer_rig_join(const char *name, const char *instance, offers what);
void offer_rig_leave(const char *name, const char *instance);
void offer_rig_drain(const char *name);

arcp__job *offer_rig_newest_job(void);
arcp__job *offer_rig_submit_as(rig_client *client, const char *payload);
arcp__job *offer_rig_submit(void);
/* The name of the worker that has the job; "-" while it has none. */
const char *offer_rig_where(const arcp__job *job);
void offer_rig_exits(const arcp__job *job);
/* Whether a submit of the agent is refused with this code. */
bool offer_rig_is_refused(const char *agent, const char *code);

#endif
