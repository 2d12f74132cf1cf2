/* What is shown of agents: what they use, and what confines them. */
#include "hosting/confinement.h"
#include "runtime/runtime_state.h"

void arcp__runtime_usage(void *user, arcp__job *job, arcp__agent_usage *out)
{
    const arcp_runtime *runtime = user;
    if (job->live->user != NULL && arcp__host_of(runtime, job)->usage != NULL) {
        arcp__host_of(runtime, job)->usage(job->live->user, out);
    }
}

uint64_t arcp__runtime_memory_bytes(void *user)
{
    size_t bytes = 0;
    (void)user;
    return uv_resident_set_memory(&bytes) == 0 ? bytes : 0;
}

const char *arcp__runtime_enforcement(void *user)
{
    const arcp_runtime *runtime = user;
    return runtime->hosting.confinement == NULL
               ? "off"
               : arcp__sandbox_level_name(runtime->hosting.confinement->level);
}
