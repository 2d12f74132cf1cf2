#include <stdlib.h>

#include "arcp/run.h"
#include "launch/agent_sandbox.h"

#define FRESH_CWD "/job" /* a directory made for the job */

arcp_status arcp__agent_plan(const arcp__agent_query *query, arcp__sandbox_plan **out,
                             arcp_error *err)
{
    arcp__arena arena = {0};
    arcp__agent_sandbox agent = {.request = *query->request, .bases = query->bases};
    const arcp__agent_sandbox_job job = {.lease = query->lease,
                                         .fresh = ARCP_SPAN_LITERAL(FRESH_CWD)};
    arcp_status status = ARCP_OK;
    if (query->cwd != NULL) {
        const char *cwd = arcp__run_path(&arena, "/", "cwd", query->cwd, err);
        status = cwd == NULL ? err->status : ARCP_OK;
        agent.request.cwd = arcp_span_cstr(cwd);
    }
    if (status == ARCP_OK && query->command != NULL) {
        const arcp__command_base_query command = {
            .argv = query->command,
            .path = getenv("PATH"),
            .home = arcp__run_home(&arena),
            .has_words = true,
        };
        status = arcp__agent_sandbox_find(&agent, &command, err);
    }
    if (status == ARCP_OK) {
        status = arcp__agent_sandbox_plan(&agent, &job, out, err);
    }
    arcp__agent_sandbox_fini(&agent);
    arcp__arena_fini(&arena);
    return status;
}
