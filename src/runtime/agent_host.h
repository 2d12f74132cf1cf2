/* What can do a job: a callback of the program, or a process. */
#ifndef ARCP_RUNTIME_AGENT_HOST_H
#define ARCP_RUNTIME_AGENT_HOST_H

#include <arcp/runtime.h>

#include "engine/engine.h"

struct arcp__agent_entry;

/* All on the loop's thread. The job's user pointer is the host's. */
typedef struct arcp__agent_host_ops {
    /* Starts the job; `start` is the job.start line. Reports by agent_started and, in the
     * end, agent_exited to the engine, later or at once. */
    void (*start)(arcp_runtime *runtime, struct arcp__agent_entry *entry, arcp__job *job,
                  arcp_span start);
    void (*line)(arcp_runtime *runtime, arcp__job *job, arcp_span line);
    void (*cancel)(arcp_runtime *runtime, arcp__job *job, arcp_span line);
    void (*kill)(arcp_runtime *runtime, arcp__job *job);
    void (*pause)(arcp_runtime *runtime, arcp__job *job, bool paused);
    /* The job is over and its pointer becomes invalid. */
    void (*forget)(arcp_runtime *runtime, arcp__job *job);
} arcp__agent_host_ops;

extern const arcp__agent_host_ops arcp__agent_callback_host;
extern const arcp__agent_host_ops arcp__agent_process_host;

#endif
