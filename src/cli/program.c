#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "json/json_put.h"

/* Hints for commands that use a runtime. */
static const struct {
    arcp_status status;
    const char *hint;
} hints[] = {
    {ARCP_E_UNAUTHENTICATED,
     "the token comes from --token, ARCP_TOKEN, ~/.config/arcp/config.yaml, or this user's arcpd"},
    {ARCP_E_IO, "is the runtime running, and is the URL right (--url, ARCP_URL)?"},
    {ARCP_E_AGENT_NOT_AVAILABLE, "`arcp agents` lists the available agents"},
    {ARCP_E_AGENT_VERSION_NOT_AVAILABLE, "`arcp agents` lists the available agents"},
    {ARCP_E_DUPLICATE_KEY, "use another --idempotency-key, or the same parameters"},
    {ARCP_E_JOB_NOT_FOUND, "`arcp jobs` lists your jobs"},
    {ARCP_E_CORRUPT, "`arcp watch --from-start JOB` reads the result from its beginning"},
    {ARCP_E_RESUME_WINDOW_EXPIRED, "`arcp watch --from-start JOB` may still show the job"},
};

static const char *code_of(const arcp_error *err)
{
    return err->code[0] != '\0' ? err->code : arcp_status_name(err->status);
}

void arcp__program_print_error(arcp__program *program, const arcp_error *err)
{
    if (!program->is_json) {
        return;
    }
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__put_cstr(&writer, "code", code_of(err));
    arcp__put_cstr(&writer, "message", err->message);
    arcp__put_bool(&writer, "retryable", err->retryable);
    arcp__put_raw(&writer, "details", arcp_span_cstr(arcp_error_details(err)));
    arcp_json_end_object(&writer);
    (void)arcp__program_print_buf_line(program, &text);
}

bool arcp__program_explain_no_token(arcp__program *program)
{
    if (program->target.no_token == NULL) {
        return false;
    }
    arcp__screen_format(&program->screen, "       %s", program->target.no_token);
    return true;
}

/* Prints the last line that the agent wrote to standard error, if the details have it. */
static void print_stderr(arcp__program *program, const arcp_error *err)
{
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf room = arcp_buf_init();
    arcp_buf line = arcp_buf_init();
    arcp_span text = {NULL, 0};
    if (arcp_json_scan(&json, arcp_span_cstr(arcp_error_details(err)), &limits, NULL) == ARCP_OK) {
        text = arcp_json_string(
            &json, arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("stderr")), &room);
    }
    while (text.size != 0 && strchr("\r\n\t ", text.data[text.size - 1]) != NULL) {
        text.size--;
    }
    const char *feed = text.size == 0 ? NULL : memrchr(text.data, '\n', text.size);
    if (feed != NULL) {
        text = arcp_span_from(text, (size_t)(feed + 1 - text.data));
    }
    if (text.size != 0) {
        arcp_buf_append_cstr(&line, "       last line of its standard error: ");
        arcp__append_safe(&line, text, ARCP_ERROR_MESSAGE_MAX);
        arcp__screen_line(&program->screen, arcp_buf_span(&line));
    }
    arcp_buf_fini(&line);
    arcp_buf_fini(&room);
    arcp__json_fini(&json);
}

int arcp__program_fail(arcp__program *program, const arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    if (err->status == ARCP_E_INTERRUPTED) { /* the user knows */
        arcp__screen_erase_echo(&program->screen);
        return arcp__exit_of_status(err->status);
    }
    arcp__program_print_error(program, err);
    arcp_buf_append_cstr(&text, program->screen.has_color ? "\033[31merror:\033[0m " : "error: ");
    arcp__append_safe(&text, arcp_span_cstr(code_of(err)), 64);
    arcp_buf_append_cstr(&text, ": ");
    arcp__append_safe(&text, arcp_span_cstr(err->message), ARCP_ERROR_MESSAGE_MAX);
    arcp__screen_line(&program->screen, arcp_buf_span(&text));
    arcp_buf_fini(&text);
    print_stderr(program, err);
    if (err->status == ARCP_E_UNAUTHENTICATED && arcp__program_explain_no_token(program)) {
        return arcp__exit_of_status(err->status);
    }
    const bool may_hint =
        program->screen.is_terminal && arcp__commands[program->arguments.command].connects;
    for (size_t row = 0; row < sizeof hints / sizeof hints[0] && may_hint; row++) {
        if (hints[row].status == err->status) {
            arcp__screen_format(&program->screen, "       %s", hints[row].hint);
        }
    }
    return arcp__exit_of_status(err->status);
}

int arcp__program_fail_file(arcp__program *program, const arcp_error *err)
{
    (void)arcp__program_fail(program, err);
    return ARCP__EXIT_ERROR;
}

/* "lease learn" for ARCP__COMMAND_RUN that was given so. */
static const char *name_of(const arcp__arguments *arguments)
{
    return arguments->is_lease_learn ? arcp__learn_name : arcp__commands[arguments->command].name;
}

void arcp__program_say(arcp__program *program, const char *format, ...)
{
    const char *name = name_of(&program->arguments);
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    arcp__screen_format(&program->screen, "arcp%s%s: %s", name[0] == '\0' ? "" : " ", name, text);
}

int arcp__program_usage(arcp__program *program, const arcp_error *err)
{
    const char *name = name_of(&program->arguments);
    arcp__program_say(program, "%s", err->message);
    if (err->status != ARCP_E_USAGE) {
        return ARCP__EXIT_ERROR;
    }
    arcp__screen_format(&program->screen, "try: arcp %s%s--help", name, name[0] == '\0' ? "" : " ");
    return ARCP__EXIT_USAGE;
}

bool arcp__program_print(arcp__program *program, arcp_span text)
{
    /* On a terminal both streams share the screen. */
    if (program->screen.status_lines != 0 && isatty(STDOUT_FILENO)) {
        arcp__screen_status(&program->screen, arcp_span_make(NULL, 0));
    }
    while (text.size != 0) {
        const ssize_t written = write(STDOUT_FILENO, text.data, text.size);
        if (written >= 0) {
            text = arcp_span_from(text, (size_t)written);
        } else if (errno != EINTR || arcp__end_is_requested()) {
            /* EPIPE: the reader has closed the pipe on purpose. */
            if (errno != EPIPE && errno != EINTR) {
                arcp__screen_format(&program->screen, "error: standard output: %s",
                                    strerror(errno));
            }
            return false;
        }
    }
    return true;
}

bool arcp__program_print_buf(arcp__program *program, arcp_buf *text)
{
    bool printed = !text->failed;
    if (printed) {
        printed = arcp__program_print(program, arcp_buf_span(text));
    } else {
        arcp__screen_format(&program->screen, "error: out of memory while printing");
    }
    arcp_buf_fini(text);
    return printed;
}

bool arcp__program_print_buf_line(arcp__program *program, arcp_buf *text)
{
    arcp_buf_append_byte(text, '\n');
    return arcp__program_print_buf(program, text);
}

bool arcp__program_print_text(arcp__program *program, arcp_buf *text)
{
    const size_t columns = program->is_json ? 0 : arcp__output_columns();
    if (columns == 0 || text->failed) {
        return arcp__program_print_buf(program, text);
    }
    arcp_buf lines = arcp_buf_init();
    arcp__append_wrapped(&lines, arcp_buf_span(text), columns);
    arcp_buf_fini(text);
    return arcp__program_print_buf(program, &lines);
}

bool arcp__program_print_text_line(arcp__program *program, arcp_buf *text)
{
    arcp_buf_append_byte(text, '\n');
    return arcp__program_print_text(program, text);
}

bool arcp__program_print_line(arcp__program *program, arcp_span text)
{
    arcp_buf line = arcp_buf_init();
    if (isatty(STDOUT_FILENO)) { /* does not change JSON, which has no raw control characters */
        arcp_buf none = arcp_buf_init();
        arcp__append_shown(&line, text, &none, true);
        arcp_buf_fini(&none);
    } else {
        arcp_buf_append(&line, text);
    }
    return arcp__program_print_buf_line(program, &line);
}

bool arcp__program_open_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) {
            return false;
        }
    }
    return true;
}

/* ---- connecting ---- */

arcp_status arcp__program_options(arcp__program *program, arcp_client_options *out, arcp_error *err)
{
    const arcp_status status = arcp__target_find(&program->arguments, &program->target, err);
    if (status != ARCP_OK) {
        return status;
    }
    *out = arcp_client_options_init();
    out->url = arcp_span_cstr(program->target.url);
    out->tls_ca_file = arcp_span_cstr(program->target.ca_file);
    out->client_name = ARCP_SPAN_LITERAL("arcp");
    out->client_version = ARCP_SPAN_LITERAL(ARCP_VERSION_STRING);
    if (program->target.token != NULL) {
        out->token = arcp_secret_reveal(program->target.token);
    }
    return ARCP_OK;
}

arcp_client *arcp__program_connect(arcp__program *program, const arcp_client_options *options,
                                   int *exit_status)
{
    arcp_error err = {.details = &program->error_details};
    arcp_client *client = NULL;
    const arcp_status status = arcp_client_connect(options, &client, &err);
    if (status == ARCP_E_USAGE) { /* the URL is not valid */
        *exit_status = arcp__program_usage(program, &err);
    } else if (status != ARCP_OK) {
        (void)arcp__program_fail(program, &err);
        *exit_status = ARCP__EXIT_NOT_CONNECTED;
    }
    return status == ARCP_OK ? client : NULL;
}

static int run_request(arcp__program *program, arcp__program_request_fn request, void *user,
                       bool observes)
{
    arcp_client_options options;
    arcp_error err = {0};
    if (arcp__program_options(program, &options, &err) != ARCP_OK) {
        return arcp__program_usage(program, &err);
    }
    int exit_status = ARCP__EXIT_ERROR;
    options.observe_all = observes;
    arcp_client *client = arcp__program_connect(program, &options, &exit_status);
    if (client != NULL) {
        arcp__end_watch(client);
        exit_status = request(program, client, user);
        arcp__end_watch(NULL); /* a signal ends a program that waits for the close */
        arcp_client_close(client);
        arcp_client_free(client);
        arcp__end_repeat();
    }
    return exit_status;
}

int arcp__program_request(arcp__program *program, arcp__program_request_fn request, void *user)
{
    return run_request(program, request, user, false);
}

int arcp__program_live(arcp__program *program, arcp__program_request_fn request, void *user)
{
    return run_request(program, request, user, true);
}

void arcp__runtime_name(arcp_client *client, arcp_buf *out)
{
    static const char *const names[][2] = {{"name", "runtime_name"},
                                           {"version", "runtime_version"}};
    arcp_buf welcome = arcp_buf_init();
    arcp_buf room = arcp_buf_init();
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {64, 10000, SIZE_MAX};
    if (arcp_client_welcome(client, &welcome, NULL) == ARCP_OK &&
        arcp_json_scan(&json, arcp_buf_span(&welcome), &limits, NULL) == ARCP_OK) {
        const arcp_json_ref runtime =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("runtime"));
        for (size_t i = 0; i < 2; i++) {
            arcp_json_ref ref = arcp_json_member(&json, runtime, arcp_span_cstr(names[i][0]));
            if (arcp_json_is_missing(&json, ref)) {
                ref = arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(names[i][1]));
            }
            arcp_buf_clear(&room);
            arcp_buf_append_cstr(out, i == 0 ? "" : " ");
            arcp__append_safe(out, arcp_json_string(&json, ref, &room), 128);
        }
    }
    arcp__json_fini(&json);
    arcp_buf_fini(&room);
    arcp_buf_fini(&welcome);
}

/* ---- exit statuses ---- */

/* The exit status for a refused request or a failed job. Every status not listed here gives 1. */
static const struct {
    arcp_status status;
    int code;
} exits[] = {
    {ARCP_OK, ARCP__EXIT_SUCCESS},
    {ARCP_E_USAGE, ARCP__EXIT_USAGE},
    {ARCP_E_UNAUTHENTICATED, ARCP__EXIT_NOT_CONNECTED},
    {ARCP_E_IO, ARCP__EXIT_NOT_CONNECTED},
    {ARCP_E_DEADLINE, ARCP__EXIT_NOT_CONNECTED},
    {ARCP_E_CLOSED, ARCP__EXIT_NOT_CONNECTED},
    {ARCP_E_HEARTBEAT_LOST, ARCP__EXIT_NOT_CONNECTED},
    {ARCP_E_PERMISSION_DENIED, ARCP__EXIT_DENIED},
    {ARCP_E_LEASE_SUBSET_VIOLATION, ARCP__EXIT_DENIED},
    {ARCP_E_LEASE_EXPIRED, ARCP__EXIT_DENIED},
    {ARCP_E_BUDGET_EXHAUSTED, ARCP__EXIT_DENIED},
    {ARCP_E_CANCELLED, ARCP__EXIT_CANCELLED},
    {ARCP_E_TIMEOUT, ARCP__EXIT_TIMED_OUT},
    {ARCP_E_INTERRUPTED, ARCP__EXIT_DETACHED},
};

int arcp__exit_of_status(arcp_status status)
{
    for (size_t row = 0; row < sizeof exits / sizeof exits[0]; row++) {
        if (exits[row].status == status) {
            return exits[row].code;
        }
    }
    return ARCP__EXIT_ERROR;
}

int arcp__exit_of_job_status(arcp_job_status status)
{
    switch (status) {
    case ARCP_JOB_SUCCESS:
        return ARCP__EXIT_SUCCESS;
    case ARCP_JOB_CANCELLED:
        return arcp__exit_of_status(ARCP_E_CANCELLED);
    case ARCP_JOB_TIMED_OUT:
        return arcp__exit_of_status(ARCP_E_TIMEOUT);
    case ARCP_JOB_PENDING:
    case ARCP_JOB_RUNNING:
    case ARCP_JOB_ERROR:
    case ARCP_JOB_STATUS_COUNT:
        break;
    }
    return ARCP__EXIT_ERROR;
}

int arcp__exit_of_outcome(const arcp_outcome *outcome)
{
    if (outcome->final_status == ARCP_JOB_SUCCESS) {
        return outcome->status == ARCP_OK ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
    }
    if (outcome->final_status == ARCP_JOB_CANCELLED ||
        outcome->final_status == ARCP_JOB_TIMED_OUT) {
        return arcp__exit_of_job_status(outcome->final_status);
    }
    /* The job failed, not the connection and not the command line, whatever its code is. */
    const int code = arcp__exit_of_status(outcome->status);
    return code == ARCP__EXIT_NOT_CONNECTED || code == ARCP__EXIT_SUCCESS ||
                   code == ARCP__EXIT_USAGE
               ? ARCP__EXIT_ERROR
               : code;
}

/* ---- main ---- */

/* In the order of arcp__when. */
static const char *const whens[] = {"auto", "always", "never"};
#define WHENS (sizeof whens / sizeof whens[0])

/* Handles the options that every command has, then runs the command. */
static int begin(arcp__program *program, int (*run)(arcp__program *program))
{
    const arcp__arguments *arguments = &program->arguments;
    const char *color = arcp__value(arguments, ARCP__OPTION_COLOR);
    arcp_buf text = arcp_buf_init();
    size_t when = 0;
    while (color != NULL && when < WHENS && strcmp(color, whens[when]) != 0) {
        when++;
    }
    if (when == WHENS) {
        arcp_error err = {0};
        (void)arcp_error_set(&err, ARCP_E_USAGE, "--color: '%s' is not one of auto, always, never",
                             color);
        return arcp__program_usage(program, &err);
    }
    arcp__screen_fini(&program->screen);
    arcp__screen_init(&program->screen, STDERR_FILENO, (arcp__when)when);
    program->is_json = arcp__has(arguments, ARCP__OPTION_JSON);
    program->is_quiet = arcp__has(arguments, ARCP__OPTION_QUIET) ||
                        arcp__has(arguments, ARCP__OPTION_RUN_QUIET) ||
                        arcp__has(arguments, ARCP__OPTION_MCP_QUIET);
    if (arcp__has(arguments, ARCP__OPTION_HELP)) {
        if (arguments->is_lease_learn) {
            arcp__usage_learn(&text);
        } else {
            arcp__usage_help(arguments->command, &text);
        }
    } else if (arcp__has(arguments, ARCP__OPTION_VERSION)) {
        arcp_buf_append_cstr(&text, "arcp " ARCP_VERSION_STRING " (ARCP 1.1)\n");
    }
    if (text.size != 0 || text.failed) {
        return arcp__program_print_text(program, &text) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
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
    const int exit_status =
        arcp__arguments_parse(&program.arguments, command, argc, argv, &err) == ARCP_OK
            ? begin(&program, run)
            : arcp__program_usage(&program, &err);
    arcp__screen_fini(&program.screen);
    arcp__target_fini(&program.target);
    arcp_buf_fini(&program.state_directory);
    arcp_buf_fini(&program.error_details);
    arcp__arguments_fini(&program.arguments);
    return exit_status;
}
