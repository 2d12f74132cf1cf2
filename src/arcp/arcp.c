#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/alloc.h"
#include "base/libexec.h"
#include "cli/cli.h"

/* ---- commands that are programs of their own ---- */

/* Finds the program arcp-NAME, where NAME is a command of the table: other programs in libexec
 * (helpers, agents) cannot be run this way. On failure, `path` has the folders that were searched.
 */
static bool find_tool(arcp__command command, arcp_buf *path)
{
    char program[64];
    (void)snprintf(program, sizeof program, "arcp-%s", arcp__commands[command].name);
    return arcp__libexec_find(program, path);
}

/* Executes the program arcp-NAME, where argv[index] is NAME, with all other arguments in their
 * order. Returns only on failure: false when there is no such program, true when it cannot be
 * executed; only the latter prints an error. */
static bool exec_tool(arcp__command command, int argc, char **argv, int index)
{
    arcp_buf path = arcp_buf_init();
    char **words = NULL;
    const bool found = find_tool(command, &path);
    if (found) {
        words = arcp__alloc_array((size_t)argc, sizeof *words);
    }
    if (words != NULL) {
        words[0] = path.data;
        memcpy(words + 1, argv + 1, (size_t)(index - 1) * sizeof *words);
        memcpy(words + index, argv + index + 1,
               (size_t)(argc - index) * sizeof *words); /* with the NULL */
        (void)execv(path.data, words);
    }
    if (found) {
        (void)fprintf(stderr, "arcp %s: %s cannot be run: %s\n", argv[index], path.data,
                      words == NULL ? "out of memory" : strerror(errno));
    }
    arcp__free(words);
    arcp_buf_fini(&path);
    return found;
}

/* ---- commands that are built in ---- */

static int command_completion(arcp__program *program)
{
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    const char *shell = program->arguments.words[0];
    if (strcmp(shell, "manual") == 0) { /* for man/arcp.1.scd */
        arcp__usage_manual(&text);
    } else if (!arcp__completion_script(shell, &text)) {
        (void)arcp_error_set(&err, ARCP_E_USAGE, "unknown shell '%s' (expected bash, zsh or fish)",
                             shell);
        return arcp__program_usage(program, &err);
    }
    return arcp__program_print_buf(program, &text) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

/* NULL: the command is a program of its own. */
static int (*const built_in[ARCP__COMMAND_COUNT])(arcp__program *program) = {
    [ARCP__COMMAND_SUBMIT] = arcp__command_submit,
    [ARCP__COMMAND_WATCH] = arcp__command_watch,
    [ARCP__COMMAND_SHOW] = arcp__command_show,
    [ARCP__COMMAND_LOGS] = arcp__command_logs,
    [ARCP__COMMAND_WAIT] = arcp__command_wait,
    [ARCP__COMMAND_JOBS] = arcp__command_jobs,
    [ARCP__COMMAND_CANCEL] = arcp__command_cancel,
    [ARCP__COMMAND_EVENTS] = arcp__command_events,
    [ARCP__COMMAND_TOP] = arcp__command_top,
    [ARCP__COMMAND_STATUS] = arcp__command_status,
    [ARCP__COMMAND_SESSIONS] = arcp__command_sessions,
    [ARCP__COMMAND_WORKERS] = arcp__command_workers,
    [ARCP__COMMAND_SCHEDULES] = arcp__command_schedules,
    [ARCP__COMMAND_HOOKS] = arcp__command_hooks,
    [ARCP__COMMAND_RELOAD] = arcp__command_reload,
    [ARCP__COMMAND_UI] = arcp__command_ui,
    [ARCP__COMMAND_AGENTS] = arcp__command_agents,
    [ARCP__COMMAND_CREDENTIALS] = arcp__command_credentials,
    [ARCP__COMMAND_PING] = arcp__command_ping,
    [ARCP__COMMAND_RUN] = arcp__command_run,
    [ARCP__COMMAND_MCP] = arcp__command_mcp,
    [ARCP__COMMAND_MCP_STDIO] = arcp__command_mcp_stdio,
    [ARCP__COMMAND_DOCTOR] = arcp__command_doctor,
    [ARCP__COMMAND_LEASE] = arcp__command_lease,
    [ARCP__COMMAND_MODELS] = arcp__command_models,
    [ARCP__COMMAND_TOOLS] = arcp__command_tools,
    [ARCP__COMMAND_AUDIT] = arcp__command_audit,
    [ARCP__COMMAND_STORE] = arcp__command_store,
    [ARCP__COMMAND_DEBUG] = arcp__command_debug,
    [ARCP__COMMAND_CONTEXT] = arcp__command_context,
    [ARCP__COMMAND_COMPLETION] = command_completion,
};

static int run_command(arcp__program *program)
{
    const arcp__command command = program->arguments.command;
    if (command == ARCP__COMMAND_ANY) {
        arcp_error err = {0};
        (void)arcp_error_set(&err, ARCP_E_USAGE, "no command given");
        return arcp__program_usage(program, &err);
    }
    if (built_in[command] != NULL) {
        return built_in[command](program);
    }
    const char *name = arcp__commands[command].name;
    arcp_buf folders = arcp_buf_init();
    (void)find_tool(command, &folders);
    arcp__screen_format(&program->screen,
                        "arcp %s: the program arcp-%s is not installed; searched %.*s", name, name,
                        (int)folders.size, folders.size == 0 ? "" : folders.data);
    arcp_buf_fini(&folders);
    return ARCP__EXIT_ERROR;
}

int arcp__main(int argc, char **argv)
{
    const int index = arcp__arguments_command_at(argc, argv);
    const arcp__command command = index == 0 ? ARCP__COMMAND_ANY : arcp__command_of(argv[index]);
    if (command != ARCP__COMMAND_ANY && built_in[command] == NULL &&
        exec_tool(command, argc, argv, index)) {
        return ARCP__EXIT_ERROR;
    }
    return arcp__program_main(ARCP__COMMAND_ANY, run_command, argc, argv);
}
