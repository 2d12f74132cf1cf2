#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "arcp/exit_code.h"
#include "arcp/main.h"
#include "arcp/program.h"
#include "arcp/usage.h"

static int print_help(arcp__program *program)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp__usage_help(program->arguments.command, &text);
    bool printed = arcp__program_print_buf(program, &text);
    arcp_buf_fini(&text);
    return printed ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

static int command_completion(arcp__program *program)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    const char *shell = program->arguments.words[0];
    if (strcmp(shell, "manual") == 0) { /* for man/arcp.1.scd */
        arcp__usage_manual(&text);
    } else if (!arcp__usage_completion(shell, &text)) {
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

static int run_command(arcp__program *program)
{
    switch (program->arguments.command) {
    case ARCP__COMMAND_SUBMIT:
        return arcp__command_submit(program);
    case ARCP__COMMAND_WATCH:
        return arcp__command_watch(program);
    case ARCP__COMMAND_JOBS:
        return arcp__command_jobs(program);
    case ARCP__COMMAND_CANCEL:
        return arcp__command_cancel(program);
    case ARCP__COMMAND_CREDENTIALS:
        return arcp__command_credentials(program);
    case ARCP__COMMAND_AGENTS:
        return arcp__command_agents(program);
    case ARCP__COMMAND_PING:
        return arcp__command_ping(program);
    case ARCP__COMMAND_BENCH:
        return arcp__command_bench(program);
    case ARCP__COMMAND_CONFORMANCE:
        return arcp__command_conformance(program);
    case ARCP__COMMAND_LEASE:
        return arcp__command_lease(program);
    case ARCP__COMMAND_AUDIT:
        return arcp__command_audit(program);
    case ARCP__COMMAND_STORE:
        return arcp__command_store(program);
    case ARCP__COMMAND_COMPLETION:
        return command_completion(program);
    case ARCP__COMMAND_ANY:
    case ARCP__COMMAND_COUNT:
        break;
    }
    arcp_error err = {0};
    (void)arcp_error_set(&err, ARCP_E_USAGE, "which command?");
    return arcp__program_usage(program, &err);
}

static arcp_status read_when(const arcp__arguments *arguments, arcp__when *out, arcp_error *err)
{
    const char *word = arcp__value(arguments, ARCP__OPTION_COLOR);
    if (word == NULL || strcmp(word, "auto") == 0) {
        *out = ARCP__WHEN_AUTO;
    } else if (strcmp(word, "always") == 0) {
        *out = ARCP__WHEN_ALWAYS;
    } else if (strcmp(word, "never") == 0) {
        *out = ARCP__WHEN_NEVER;
    } else {
        return arcp_error_set(err, ARCP_E_USAGE, "--color %s is none of auto, always, never", word);
    }
    return ARCP_OK;
}

/* Options of every command, then the command. */
static int run(arcp__program *program)
{
    const arcp__arguments *arguments = &program->arguments;
    arcp__when color = ARCP__WHEN_AUTO;
    arcp_error err = {0};
    if (read_when(arguments, &color, &err) != ARCP_OK) {
        return arcp__program_usage(program, &err);
    }
    arcp__screen_fini(&program->screen);
    arcp__screen_init(&program->screen, STDERR_FILENO, color);
    program->style.has_color = program->screen.has_color;
    program->style.has_times = arcp__has(arguments, ARCP__OPTION_TIMESTAMPS);
    program->is_json = arcp__has(arguments, ARCP__OPTION_JSON);
    program->is_quiet = arcp__has(arguments, ARCP__OPTION_QUIET);
    if (arcp__has(arguments, ARCP__OPTION_HELP)) {
        return print_help(program);
    }
    if (arcp__has(arguments, ARCP__OPTION_VERSION)) {
        return arcp__program_print(program,
                                   ARCP_SPAN_LITERAL("arcp " ARCP__PROGRAM_VERSION " (ARCP 1.1)\n"))
                   ? ARCP__EXIT_SUCCESS
                   : ARCP__EXIT_ERROR;
    }
    (void)arcp__state_directory(false, &program->state_directory);
    return run_command(program);
}

int arcp__main(int argc, char **argv)
{
    arcp__program program = {.arguments = {.command = ARCP__COMMAND_ANY}};
    arcp_error err = {0};
    (void)setlocale(LC_CTYPE, "");
    (void)signal(SIGPIPE, SIG_IGN);
    arcp__screen_init(&program.screen, STDERR_FILENO, ARCP__WHEN_AUTO);
    int exit_status = arcp__arguments_parse(&program.arguments, argc, argv, &err) == ARCP_OK
                          ? run(&program)
                          : arcp__program_usage(&program, &err);
    arcp__screen_fini(&program.screen);
    arcp__target_fini(&program.target);
    arcp_buf_fini(&program.state_directory);
    arcp__arguments_fini(&program.arguments);
    return exit_status;
}
