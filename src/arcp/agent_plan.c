#include <stdlib.h>

#include "arcp/run.h"
#include "launch/agent_sandbox.h"

#define FRESH_CWD "/job" /* a directory made for the job */

arcp_status arcp__agent_plan(const arcp__agent_query *query, arcp__sandbox_plan **out,
                             arcp_error *err)
{
    arcp__arena arena = {0};
    arcp__agent_sandbox agent = {.request = *query->request};
    const arcp__agent_sandbox_job job = {.lease = query->lease,
                                         .fresh = ARCP_SPAN_LITERAL(FRESH_CWD)};
    arcp_status status = ARCP_OK;
    if (query->cwd != NULL) {
        const char *cwd = arcp__run_path(&arena, "/", "cwd", query->cwd, err);
        status = cwd == NULL ? err->status : ARCP_OK;
        agent.request.cwd = arcp_span_cstr(cwd);
    }
    size_t count = 0;
    while (query->bases != NULL && query->bases[count] != NULL) {
        count++;
    }
    const char **bases = arcp__arena_take(&arena, (count + 1) * sizeof *bases);
    for (size_t i = 0; status == ARCP_OK && bases != NULL && i <= count; i++) {
        bases[i] = i == count ? NULL : arcp__run_path(&arena, "/", "base", query->bases[i], err);
        status = i < count && bases[i] == NULL ? err->status : ARCP_OK;
    }
    if (bases == NULL) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    agent.bases = bases;
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
