/* A runtime on a loop, and one client of it over the memory transport. */
#ifndef ARCP_TESTS_RUNTIME_RIG_H
#define ARCP_TESTS_RUNTIME_RIG_H

#include <uv.h>

#include <arcp/runtime.h>

#include "context/settings.h"

typedef struct runtime_rig {
    uv_loop_t loop;
    arcp_runtime *runtime;
    arcp_connection *client;
    arcp_buf frames; /* received frames, one per line */
    size_t taken;    /* bytes of `frames` that runtime_rig_wait has taken */
    bool closed;
    bool stopped;
    bool timed_out;
    char directory[64]; /* removed at the end */
    char job_id[64];    /* of the newest job.accepted */
    unsigned next_id;
} runtime_rig;

void runtime_rig_start(runtime_rig *rig, const arcp_settings *settings);
/* The same in two steps, for tests that set options of their own in between. */
void runtime_rig_begin(runtime_rig *rig);
void runtime_rig_open(runtime_rig *rig, arcp_runtime_options *options);
void runtime_rig_stop(runtime_rig *rig);

/* Submits `agent` with `more` members (",\"input\":1" or "") in the payload. */
void runtime_rig_submit(runtime_rig *rig, const char *agent, const char *more);
/* Members of a submit: its lease expires in so many seconds. Valid until the next call. */
const char *runtime_rig_expires_in(unsigned seconds);
/* Cancels the job that was submitted last. */
void runtime_rig_cancel(runtime_rig *rig);
void runtime_rig_send(runtime_rig *rig, const char *type, const char *payload);

/* Runs the loop until a frame that contains `word` has come since the last wait; fails
 * after 20 s. The frame is returned (valid until the next call). */
const char *runtime_rig_wait(runtime_rig *rig, const char *word);
/* The frames that no wait has taken, one per line; valid until the loop runs. */
arcp_span runtime_rig_frames(const runtime_rig *rig);
/* Whether one of them contains the word. */
bool runtime_rig_has(const runtime_rig *rig, const char *word);
/* Runs the loop until `done` returns true; fails after 20 s. */
void runtime_rig_until(runtime_rig *rig, bool (*done)(void *user), void *user);

/* An agent that is a callback. */
void runtime_rig_add(runtime_rig *rig, const char *name, arcp_agent_kind kind,
                     void (*run)(arcp_agent_call *call, void *user), void *user);
void runtime_rig_register_sh(runtime_rig *rig, const char *name, const char *script,
                             const arcp_process_agent *more);

#endif
