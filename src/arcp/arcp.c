#include <string.h>

#include "arcp/command.h"
#include "cli/cli.h"

static int command_completion(arcp__program *program)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    const char *shell = program->arguments.words[0];
    if (strcmp(shell, "manual") == 0) { /* for man/arcp.1.scd */
        arcp__usage_manual(&text);
    } else if (!arcp__completion_script(shell, &text)) {
        (void)arcp_error_set(&err, ARCP_E_USAGE, "there is no completion for %s: bash, zsh, fish",
                             shell);
        exit_status = arcp__program_usage(program, &err);
    }
    if (err.status == ARCP_OK && arcp__program_print_buf(program, &text)) {
        exit_status = ARCP__EXIT_SUCCESS;
    }
    arcp_buf_fini(&text);
    return exit_status;
}

/* NULL: a program of its own. */
static int (*const built_in[ARCP__COMMAND_COUNT])(arcp__program *program) = {
    [ARCP__COMMAND_SUBMIT] = arcp__command_submit,
    [ARCP__COMMAND_WATCH] = arcp__command_watch,
    [ARCP__COMMAND_JOBS] = arcp__command_jobs,
    [ARCP__COMMAND_CANCEL] = arcp__command_cancel,
    [ARCP__COMMAND_AGENTS] = arcp__command_agents,
    [ARCP__COMMAND_CREDENTIALS] = arcp__command_credentials,
    [ARCP__COMMAND_PING] = arcp__command_ping,
    [ARCP__COMMAND_LEASE] = arcp__command_lease,
    [ARCP__COMMAND_AUDIT] = arcp__command_audit,
    [ARCP__COMMAND_STORE] = arcp__command_store,
    [ARCP__COMMAND_COMPLETION] = command_completion,
};

static int run_command(arcp__program *program)
{
    const arcp__command command = program->arguments.command;
    if (command == ARCP__COMMAND_ANY) {
        arcp_error err = {0};
        (void)arcp_error_set(&err, ARCP_E_USAGE, "which command?");
        return arcp__program_usage(program, &err);
    }
    return built_in[command] != NULL ? built_in[command](program) : arcp__tool_missing(program);
}

int arcp__main(int argc, char **argv)
{
    const int at = arcp__arguments_command_at(argc, argv);
    const arcp__command command = at == 0 ? ARCP__COMMAND_ANY : arcp__command_of(argv[at]);
    if (command != ARCP__COMMAND_ANY && built_in[command] == NULL &&
        arcp__tool_exec(argc, argv, at)) {
        return ARCP__EXIT_ERROR;
    }
    return arcp__program_main(ARCP__COMMAND_ANY, run_command, argc, argv);
}
