/* `arcp lease explain LEASE --enforce`: how a sandbox would enforce each line of a lease. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/run.h"
#include "arcp/setup_file.h"
#include "base/alloc.h"
#include "transport/command_words.h"

/* What the options, the host and the configuration file say about sandboxes. */
static arcp_status read_request(const arcp__arguments *arguments, arcp__arena *arena,
                                arcp__sandbox_request *request, arcp_error *err)
{
    const char *level = arcp__value(arguments, ARCP__OPTION_LEASE_LEVEL);
    arcp__setup_file file;
    arcp__sandbox_request_defaults(request);
    arcp_status status = level == NULL ? arcp__abilities_find(&request->abilities, err)
                                       : arcp__abilities_of_level(level, &request->abilities, err);
    if (status == ARCP_OK) {
        status = arcp__run_tls(request, arcp__value(arguments, ARCP__OPTION_LEASE_TLS), err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__setup_file_read(arguments, &file, err);
    if (status == ARCP_OK) {
        status =
            arcp__setup_model_hosts(&file.setup, file.allows_direct_models, arena, request, err);
    }
    request->has_model_gateway = file.setup.models.provider_count != 0;
    request->has_tool_gateway = file.setup.tools.server_count != 0;
    arcp__setup_file_fini(&file);
    return status;
}

arcp_status arcp__lease_enforce(const arcp__program *program, const arcp_lease *lease,
                                bool *would_run, arcp_buf *out, arcp_error *err)
{
    const arcp__arguments *arguments = &program->arguments;
    const char *command = arcp__value(arguments, ARCP__OPTION_LEASE_AGENT_COMMAND);
    arcp__arena arena = {0};
    arcp__sandbox_request request = {.protect = ARCP__SANDBOX_PROTECT_COMMITS};
    arcp__agent_query agent = {
        .lease = lease, .cwd = arcp__value(arguments, ARCP__OPTION_LEASE_CWD), .request = &request};
    arcp__sandbox_plan *plan = NULL;
    char **words = NULL;
    arcp_error why = {0};
    arcp_status status = read_request(arguments, &arena, &request, err);
    if (status != ARCP_OK) {
        arcp__arena_fini(&arena);
        return status;
    }
    if (command != NULL) {
        status = arcp__command_words(arcp_span_cstr(command), &words, &why);
        agent.command = (const char *const *)words;
    }
    if (status == ARCP_OK) {
        status = arcp__agent_plan(&agent, &plan, &why);
    }
    arcp__free(words);
    arcp__arena_fini(&arena);
    if (status != ARCP_OK || plan == NULL) {
        return arcp_error_set(err, status == ARCP_E_NO_MEMORY ? status : ARCP_E_USAGE, "%s%s",
                              command == NULL ? "" : "--agent-command: ", why.message);
    }
    (program->is_json ? arcp__sandbox_report_json : arcp__sandbox_report_table)(plan, out);
    if (program->is_json) {
        arcp_buf_append_byte(out, '\n');
    }
    *would_run = plan->refusal == ARCP__SANDBOX_REFUSAL_NONE;
    arcp__sandbox_plan_free(plan);
    return ARCP_OK;
}
