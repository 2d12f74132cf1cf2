#include <stdlib.h>

#include "arcp/run.h"

#define AGENT_HOME "/home/agent"
#define FRESH_CWD  "/job" /* a directory made for the job */

/* Adds the base of the agent's command to the request. */
static arcp_status add_command(const arcp__agent_sandbox *agent, arcp__arena *arena,
                               arcp__command_base *base, arcp__sandbox_request *request,
                               arcp_error *err)
{
    const arcp__command_base_query query = {
        .argv = agent->command,
        .path = getenv("PATH"),
        .home = arcp__run_home(arena),
        .has_words = true,
    };
    const arcp_status status = arcp__command_base_find(&query, base, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_span *bases = arcp__arena_take(arena, (base->count + 1) * sizeof *bases);
    if (bases == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < base->count; i++) {
        bases[i] = arcp_span_cstr(base->paths[i]);
    }
    request->bases = bases;
    request->base_count = base->count;
    return ARCP_OK;
}

static arcp_status compile(const arcp__agent_sandbox *agent, arcp__arena *arena,
                           arcp__command_base *base, arcp__sandbox_plan **out, arcp_error *err)
{
    arcp__sandbox_request request = {.lease = agent->lease,
                                     .origin = ARCP__SANDBOX_ORIGIN_JOB,
                                     .abilities = agent->abilities,
                                     .protect = ARCP__SANDBOX_PROTECT_COMMITS,
                                     .home = ARCP_SPAN_LITERAL(AGENT_HOME),
                                     .cwd_is_fresh = agent->cwd == NULL};
    arcp__run_defaults(&request);
    const char *cwd =
        arcp__run_path(arena, "/", "cwd", agent->cwd == NULL ? FRESH_CWD : agent->cwd, err);
    if (cwd == NULL) {
        return err->status;
    }
    request.cwd = arcp_span_cstr(cwd);
    const arcp_status status =
        agent->command == NULL ? ARCP_OK : add_command(agent, arena, base, &request, err);
    return status == ARCP_OK ? arcp__sandbox_plan_new(&request, out, err) : status;
}

arcp_status arcp__agent_plan(const arcp__agent_sandbox *agent, arcp__sandbox_plan **out,
                             arcp_error *err)
{
    arcp__arena arena = {0};
    arcp__command_base base = {.paths = NULL};
    const arcp_status status = compile(agent, &arena, &base, out, err);
    arcp__command_base_fini(&base);
    arcp__arena_fini(&arena);
    return status;
}
