#include "cli/cli.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "json/json_put.h"

/* What people can do about it, where a runtime was asked. */
static const struct {
    arcp_status status;
    const char *hint;
} hints[] = {
    {ARCP_E_UNAUTHENTICATED,
     "the token comes from --token, ARCP_TOKEN, ~/.config/arcp/config.yaml, or this user's arcpd"},
    {ARCP_E_IO, "is the runtime running, and is the URL right (--url, ARCP_URL)?"},
    {ARCP_E_AGENT_NOT_AVAILABLE, "`arcp agents` lists what there is"},
    {ARCP_E_AGENT_VERSION_NOT_AVAILABLE, "`arcp agents` lists what there is"},
    {ARCP_E_DUPLICATE_KEY, "use another --idempotency-key, or the same parameters"},
    {ARCP_E_JOB_NOT_FOUND, "`arcp jobs` lists what there is"},
    {ARCP_E_CORRUPT, "`arcp watch --from-start JOB` reads the result from its beginning"},
    {ARCP_E_RESUME_WINDOW_EXPIRED, "`arcp watch --from-start JOB` may still show the job"},
};

static void append_failure_json(const arcp_failure *failure, arcp_buf *out)
{
    const char *code =
        failure->code[0] != '\0' ? failure->code : arcp_status_name(failure->error.status);
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "code", code);
    arcp__put_cstr(&writer, "message", failure->error.message);
    arcp__put_bool(&writer, "retryable", failure->error.retryable);
    if (failure->details != NULL) {
        arcp__put_raw(&writer, "details", arcp_span_cstr(failure->details));
    }
    arcp_json_end_object(&writer);
}

void arcp__program_print_failure(arcp__program *program, const arcp_failure *failure)
{
    arcp_buf text = ARCP_BUF_INIT;
    if (program->is_json) {
        append_failure_json(failure, &text);
        (void)arcp__program_print_buf_line(program, &text);
    }
    arcp_buf_fini(&text);
}

bool arcp__program_say_no_token(arcp__program *program)
{
    if (program->target.no_token == NULL) {
        return false;
    }
    arcp__screen_format(&program->screen, "       %s", program->target.no_token);
    return true;
}

int arcp__program_fail(arcp__program *program, const arcp_failure *failure)
{
    const char *code =
        failure->code[0] != '\0' ? failure->code : arcp_status_name(failure->error.status);
    arcp_buf text = ARCP_BUF_INIT;
    arcp__program_print_failure(program, failure);
    if (program->screen.has_color) {
        arcp_buf_append_cstr(&text, "\033[31merror:\033[0m ");
    } else {
        arcp_buf_append_cstr(&text, "error: ");
    }
    arcp__append_safe(&text, arcp_span_cstr(code), 64);
    arcp_buf_append_cstr(&text, ": ");
    arcp__append_safe(&text, arcp_span_cstr(failure->error.message), ARCP_ERROR_MESSAGE_MAX);
    arcp__screen_line(&program->screen, arcp_buf_span(&text));
    arcp_buf_fini(&text);
    if (failure->error.status == ARCP_E_UNAUTHENTICATED && arcp__program_say_no_token(program)) {
        return arcp__exit_of_status(failure->error.status);
    }
    bool may_hint =
        program->screen.is_terminal && arcp__commands[program->arguments.command].connects;
    for (size_t row = 0; row < sizeof(hints) / sizeof(hints[0]) && may_hint; row++) {
        if (hints[row].status == failure->error.status) {
            arcp__screen_format(&program->screen, "       %s", hints[row].hint);
        }
    }
    return arcp__exit_of_status(failure->error.status);
}

int arcp__program_fail_file(arcp__program *program, const arcp_error *err)
{
    arcp_failure failure = ARCP_FAILURE_INIT;
    failure.error = *err;
    (void)arcp__program_fail(program, &failure);
    arcp_failure_fini(&failure);
    return ARCP__EXIT_ERROR;
}

int arcp__program_usage(arcp__program *program, const arcp_error *err)
{
    const arcp__command_row *row = &arcp__commands[program->arguments.command];
    arcp__screen_format(&program->screen, "arcp%s%s: %s", row->name[0] == '\0' ? "" : " ",
                        row->name, err->message);
    if (err->status != ARCP_E_USAGE) {
        return ARCP__EXIT_ERROR;
    }
    arcp__screen_format(&program->screen, "try: arcp %s%s--help", row->name,
                        row->name[0] == '\0' ? "" : " ");
    return ARCP__EXIT_USAGE;
}

bool arcp__program_print(arcp__program *program, arcp_span text)
{
    /* On a terminal both streams share the screen. */
    if (program->screen.status_lines != 0 && isatty(STDOUT_FILENO)) {
        arcp__screen_status(&program->screen, arcp_span_make(NULL, 0));
    }
    while (text.size != 0) {
        ssize_t written = write(STDOUT_FILENO, text.data, text.size);
        if (written >= 0) {
            text = arcp_span_from(text, (size_t)written);
        } else if (errno != EINTR) {
            if (errno != EPIPE) { /* who reads no more needs no message */
                arcp__screen_format(&program->screen, "error: standard output: %s",
                                    strerror(errno));
            }
            return false;
        }
    }
    return true;
}

bool arcp__program_print_line(arcp__program *program, arcp_span text)
{
    arcp_buf line = ARCP_BUF_INIT;
    if (isatty(STDOUT_FILENO)) { /* JSON stays JSON: it has no other control characters */
        arcp_buf none = ARCP_BUF_INIT;
        arcp__append_shown(&line, text, &none, true);
        arcp_buf_fini(&none);
    } else {
        arcp_buf_append(&line, text);
    }
    bool printed = arcp__program_print_buf_line(program, &line);
    arcp_buf_fini(&line);
    return printed;
}

bool arcp__program_print_buf(arcp__program *program, const arcp_buf *text)
{
    if (text->failed) {
        arcp__screen_format(&program->screen, "error: out of memory for what is printed");
        return false;
    }
    return arcp__program_print(program, arcp_buf_span(text));
}

bool arcp__program_print_buf_line(arcp__program *program, arcp_buf *text)
{
    arcp_buf_append_byte(text, '\n');
    return arcp__program_print_buf(program, text);
}

/* ---- main ---- */

static int print_help(arcp__program *program)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp__usage_help(program->arguments.command, &text);
    bool printed = arcp__program_print_buf(program, &text);
    arcp_buf_fini(&text);
    return printed ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
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
static int begin(arcp__program *program, int (*run)(arcp__program *program))
{
    const arcp__arguments *arguments = &program->arguments;
    arcp__when color = ARCP__WHEN_AUTO;
    arcp_error err = {0};
    if (read_when(arguments, &color, &err) != ARCP_OK) {
        return arcp__program_usage(program, &err);
    }
    arcp__screen_fini(&program->screen);
    arcp__screen_init(&program->screen, STDERR_FILENO, color);
    program->is_json = arcp__has(arguments, ARCP__OPTION_JSON);
    program->is_quiet = arcp__has(arguments, ARCP__OPTION_QUIET);
    if (arcp__has(arguments, ARCP__OPTION_HELP)) {
        return print_help(program);
    }
    if (arcp__has(arguments, ARCP__OPTION_VERSION)) {
        return arcp__program_print(program,
                                   ARCP_SPAN_LITERAL("arcp " ARCP_VERSION_STRING " (ARCP 1.1)\n"))
                   ? ARCP__EXIT_SUCCESS
                   : ARCP__EXIT_ERROR;
    }
    (void)arcp__state_directory(false, &program->state_directory);
    return run(program);
}

int arcp__program_main(arcp__command command, int (*run)(arcp__program *program), int argc,
                       char **argv)
{
    arcp__program program = {.arguments = {.command = command}};
    arcp_error err = {0};
    (void)setlocale(LC_CTYPE, "");
    (void)signal(SIGPIPE, SIG_IGN);
    arcp__screen_init(&program.screen, STDERR_FILENO, ARCP__WHEN_AUTO);
    int exit_status =
        arcp__arguments_parse(&program.arguments, command, argc, argv, &err) == ARCP_OK
            ? begin(&program, run)
            : arcp__program_usage(&program, &err);
    arcp__screen_fini(&program.screen);
    arcp__target_fini(&program.target);
    arcp_buf_fini(&program.state_directory);
    arcp__arguments_fini(&program.arguments);
    return exit_status;
}
