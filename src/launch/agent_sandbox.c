#include "launch/agent_sandbox.h"

#include "base/alloc.h"

arcp_status arcp__agent_sandbox_find(arcp__agent_sandbox *agent,
                                     const arcp__command_base_query *query, arcp_error *err)
{
    arcp__command_base found = {.paths = NULL};
    const arcp_status status = arcp__command_base_find(query, &found, err);
    if (status != ARCP_OK) {
        arcp__command_base_fini(&found);
        return status;
    }
    arcp__command_base_fini(&agent->command);
    agent->command = found;
    return ARCP_OK;
}

void arcp__agent_sandbox_fini(arcp__agent_sandbox *agent)
{
    arcp__command_base_fini(&agent->command);
    *agent = (arcp__agent_sandbox){.bases = NULL};
}

arcp_status arcp__agent_sandbox_plan(const arcp__agent_sandbox *agent,
                                     const arcp__agent_sandbox_job *job, arcp__sandbox_plan **out,
                                     arcp_error *err)
{
    arcp__sandbox_request request = agent->request;
    size_t given = 0;
    while (agent->bases != NULL && agent->bases[given] != NULL) {
        given++;
    }
    arcp_span *bases = arcp__alloc_array(agent->command.count + given + 1, sizeof *bases);
    if (bases == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    request.origin = ARCP__SANDBOX_ORIGIN_JOB;
    request.lease = job->lease;
    request.home = ARCP_SPAN_LITERAL(ARCP__AGENT_HOME);
    request.scratch = job->scratch;
    request.endpoint = job->endpoint;
    request.cwd_is_fresh = agent->request.cwd.size == 0;
    request.cwd = request.cwd_is_fresh ? job->fresh : agent->request.cwd;
    request.bases = bases;
    for (size_t i = 0; i < agent->command.count; i++) {
        if (!arcp__sandbox_reads_base(&request, agent->command.paths[i])) {
            bases[request.base_count++] = arcp_span_cstr(agent->command.paths[i]);
        }
    }
    for (size_t i = 0; i < given; i++) {
        bases[request.base_count++] = arcp_span_cstr(agent->bases[i]);
    }
    const arcp_status status = arcp__sandbox_plan_new(&request, out, err);
    arcp__free(bases);
    return status;
}
