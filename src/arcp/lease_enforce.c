/* `arcp lease explain LEASE --enforce`: how a sandbox would enforce each line of a lease. */
#include <stdlib.h>
#include <string.h>

#include "arcp/command.h"
#include "arcp/run.h"
#include "base/alloc.h"
#include "transport/command_words.h"

#define AGENT_HOME "/home/agent"
#define FRESH_CWD  "/job" /* without --cwd: a directory made for the job */

/* Adds the base of the agent's command to the request; the base is found for its words. */
static arcp_status add_command(const arcp__program *program, arcp__arena *arena,
                               arcp__command_base *base, arcp__sandbox_request *request,
                               arcp_error *err)
{
    const char *given = arcp__value(&program->arguments, ARCP__OPTION_LEASE_AGENT_COMMAND);
    char **words = NULL;
    arcp_error why = {0};
    if (given == NULL) {
        return ARCP_OK;
    }
    arcp_status status = arcp__command_words(arcp_span_cstr(given), &words, &why);
    if (status == ARCP_OK) {
        const arcp__command_base_query query = {
            .argv = (const char *const *)words,
            .path = getenv("PATH"),
            .home = arcp__run_home(arena),
            .has_words = true,
        };
        status = arcp__command_base_find(&query, base, &why);
    }
    arcp__free(words);
    if (status != ARCP_OK) {
        return arcp_error_set(err, status == ARCP_E_NO_MEMORY ? status : ARCP_E_USAGE,
                              "--agent-command: %s", why.message);
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

static arcp_status compile(const arcp__program *program, const arcp_lease *lease,
                           arcp__arena *arena, arcp__command_base *base, arcp__sandbox_plan **out,
                           arcp_error *err)
{
    const arcp__arguments *arguments = &program->arguments;
    const char *level = arcp__value(arguments, ARCP__OPTION_LEASE_LEVEL);
    const char *cwd = arcp__value(arguments, ARCP__OPTION_LEASE_CWD);
    arcp__sandbox_request request = {.lease = lease, .origin = ARCP__SANDBOX_ORIGIN_JOB};
    arcp__run_defaults(&request);
    request.protect = ARCP__SANDBOX_PROTECT_COMMITS;
    request.home = ARCP_SPAN_LITERAL(AGENT_HOME);
    request.cwd_is_fresh = cwd == NULL;
    const char *canonical = arcp__run_path(arena, "/", "cwd", cwd == NULL ? FRESH_CWD : cwd, err);
    if (canonical == NULL) {
        return err->status;
    }
    request.cwd = arcp_span_cstr(canonical);
    arcp_status status = level == NULL ? arcp__abilities_find(&request.abilities, err)
                                       : arcp__abilities_of_level(level, &request.abilities, err);
    if (status == ARCP_OK) {
        status = add_command(program, arena, base, &request, err);
    }
    return status == ARCP_OK ? arcp__sandbox_plan_new(&request, out, err) : status;
}

arcp_status arcp__lease_enforce(const arcp__program *program, const arcp_lease *lease,
                                bool *would_run, arcp_buf *out, arcp_error *err)
{
    arcp__arena arena = {0};
    arcp__command_base base = {.paths = NULL};
    arcp__sandbox_plan *plan = NULL;
    const arcp_status status = compile(program, lease, &arena, &base, &plan, err);
    if (status == ARCP_OK && plan != NULL) {
        (program->is_json ? arcp__sandbox_report_json : arcp__sandbox_report_table)(plan, out);
        if (program->is_json) {
            arcp_buf_append_byte(out, '\n');
        }
        *would_run = plan->refusal == ARCP__SANDBOX_REFUSAL_NONE;
    }
    arcp__sandbox_plan_free(plan);
    arcp__command_base_fini(&base);
    arcp__arena_fini(&arena);
    return status;
}
