/* An engine on a disk, with one client and the worker "w" whose jobs its agents are. */
#ifndef ARCP_TESTS_ENGINE_WORKER_JOB_RIG_H
#define ARCP_TESTS_ENGINE_WORKER_JOB_RIG_H

#include "engine/scene.h"
#include "engine/state.h"
#include "engine/upstream.h"

#define EVENT                                                                                      \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"thought\",\"body\":{\"text\":\"t\"}}}"
#define RESULT "{\"type\":\"job.result\",\"payload\":{\"result\":1}}"

#define KEEP_SEC  300
#define USAGE_SEC 10 /* of credentials */

extern scene *s;
extern upstream issuer; /* of worker_rig_set_up_with_credentials */

int worker_rig_set_up(void **state);
int worker_rig_set_up_without_chunks(void **state);
/* Agents are in sandboxes, and a lease that has expired only denies. */
int worker_rig_set_up_confined(void **state);
int worker_rig_set_up_with_credentials(void **state);
int worker_rig_tear_down(void **state);

/* Another session of the client; `features` as in session.hello. */
void worker_rig_begin_session(const char *features);
/* The life of the worker that has joined last, and any of its lives. */
extern arcp__worker_life worker_rig_life;
arcp__worker_life worker_rig_life_of(const char *instance);
bool worker_rig_joins(const char *instance);
void worker_rig_ready(void);
/* Submits a job; its id is valid until the next call. */
const char *worker_rig_submit(const char *payload);
void worker_rig_says(rig_agent *agent, uint64_t item, const char *line);
/* The lines that the agent got, on one line each. */
const char *worker_rig_lines_of(rig_agent *agent);
/* The engine is killed, and starts again from what is on the disk. */
void worker_rig_restart(void);
/* The worker names the job. `agent` is set when it goes on. */
arcp__claim_answer worker_rig_claim(const char *id, const arcp__worker_claim *like,
                                    rig_agent **agent);
/* The same worker comes back with the job, of which the store has all that the worker knows. */
rig_agent *worker_rig_come_back(const char *id, uint64_t items_first);
const arcp__job *worker_rig_job_of(const char *id);
bool worker_rig_last_record_has(const char *id, const char *part);

#endif
