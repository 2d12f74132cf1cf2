/* `arcp reload`: the daemon reads its configuration again, and says what became of it. */
#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"

static void print_problem(arcp__program *program, arcp__asked *asked, arcp_json_ref problem,
                          bool is_warning)
{
    const arcp_span file = arcp__asked_text(asked, problem, "file");
    const arcp_span key = arcp__asked_text(asked, problem, "key");
    arcp_buf line = arcp_buf_init();
    uint64_t number = 0;
    arcp_buf_append_cstr(&line, is_warning ? "warning: " : "error: ");
    if (file.size != 0) {
        arcp__asked_append(asked, problem, "file", 512, &line);
        (void)arcp__asked_number(asked, problem, "line", &number);
        arcp_buf_append_format(&line, ":%llu: ", (unsigned long long)number);
    }
    if (key.size != 0) {
        arcp__asked_append(asked, problem, "key", 256, &line);
        arcp_buf_append_cstr(&line, ": ");
    }
    arcp__asked_append(asked, problem, "message", 2048, &line);
    arcp__screen_line(&program->screen, arcp_buf_span(&line));
    arcp_buf_fini(&line);
}

static void print_restart(arcp__program *program, const arcp__asked *asked)
{
    const arcp_json *json = &asked->json;
    const arcp_json_ref keys =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("needs_restart"));
    arcp_buf line = arcp_buf_init();
    arcp_buf room = arcp_buf_init();
    arcp_json_ref key = arcp_json_first(json, keys);
    const bool has_any = key != ARCP_JSON_ABSENT;
    arcp_buf_append_cstr(&line, "after a restart only: ");
    for (const char *comma = ""; key != ARCP_JSON_ABSENT; key = arcp_json_next(json, keys, key)) {
        arcp_buf_append_cstr(&line, comma);
        arcp__append_safe(&line, arcp_json_string(json, key, &room), 256);
        comma = ", ";
    }
    if (has_any) {
        arcp__screen_line(&program->screen, arcp_buf_span(&line));
    }
    arcp_buf_fini(&line);
    arcp_buf_fini(&room);
}

static int reload(arcp__program *program, arcp_client *client, void *user)
{
    arcp_error err = {.details = &program->error_details};
    arcp__asked asked;
    const arcp__format format = *(const arcp__format *)user;
    if (arcp__ask(client, "reload", ARCP_SPAN_LITERAL(""), &asked, &err) != ARCP_OK) {
        arcp__asked_fini(&asked);
        return arcp__program_fail(program, &err);
    }
    const arcp_json *json = &asked.json;
    const bool is_applied = arcp_json_is(
        json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("applied")), ARCP_JSON_TRUE);
    const arcp_json_ref problems =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("problems"));
    bool is_printed = true;
    if (format != ARCP__FORMAT_TABLE) {
        is_printed = arcp__print_asked(program, format, &asked, ARCP_JSON_ROOT);
    } else {
        for (arcp_json_ref problem = arcp_json_first(json, problems); problem != ARCP_JSON_ABSENT;
             problem = arcp_json_next(json, problems, problem)) {
            print_problem(program, &asked, problem, is_applied);
        }
        print_restart(program, &asked);
        if (!is_applied || !program->is_quiet) {
            arcp__screen_format(&program->screen, "%s",
                                is_applied ? "reloaded: the new configuration is in effect"
                                           : "not reloaded: the old configuration stays in effect");
        }
    }
    arcp__asked_fini(&asked);
    return is_applied && is_printed ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

int arcp__command_reload(arcp__program *program)
{
    arcp__format format = ARCP__FORMAT_TABLE;
    arcp_error err = {0};
    return arcp__format_read(program, ARCP__OPTION_RELOAD_OUTPUT, &format, &err) == ARCP_OK
               ? arcp__program_request(program, reload, &format)
               : arcp__program_usage(program, &err);
}
