/* `arcp agents`, `arcp jobs` and `arcp ping`: commands that send one request and print its
 * response. */
#include "arcp/command.h"
#include "cli/cli.h"
#include "json/json_put.h"

#define PAGE_ROWS 100

/* ---- agents ---- */

typedef struct printer {
    arcp__program *program;
    bool failed;
} printer;

/* As text: the name and its versions, the default version first, and `unconfined` if it is. */
static void print_agent(void *user, const arcp_agent_row *agent)
{
    printer *p = user;
    arcp_buf line = arcp_buf_init();
    if (p->program->is_json) {
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp__put_string(&writer, "name", agent->name);
        arcp__put_array(&writer, "versions");
        for (size_t i = 0; i < agent->version_count; i++) {
            arcp_json_write_string(&writer, agent->versions[i]);
        }
        arcp_json_end_array(&writer);
        arcp__put_text(&writer, "default", agent->default_version);
        if (agent->is_unconfined) {
            arcp__put_bool(&writer, "unconfined", true);
        }
        arcp_json_end_object(&writer);
    } else {
        arcp__append_safe(&line, agent->name, 256);
        arcp_buf_append_cstr(&line, agent->default_version.size != 0 ? "@" : "");
        arcp__append_safe(&line, agent->default_version, 256);
        for (size_t i = 0; i < agent->version_count; i++) {
            if (!arcp_span_equal(agent->versions[i], agent->default_version)) {
                arcp_buf_append_byte(&line, ' ');
                arcp__append_safe(&line, agent->versions[i], 256);
            }
        }
        arcp_buf_append_cstr(&line, agent->is_unconfined ? " unconfined" : "");
    }
    p->failed = !arcp__program_print_buf_line(p->program, &line) || p->failed;
}

static int list_agents(arcp__program *program, arcp_client *client, void *user)
{
    printer p = {.program = program};
    arcp_error err = {.details = &program->error_details};
    int exit_status = ARCP__EXIT_ERROR;
    if (arcp_client_agents(client, print_agent, &p, &err) != ARCP_OK) {
        exit_status = arcp__program_fail(program, &err);
    } else if (!p.failed) {
        exit_status = ARCP__EXIT_SUCCESS;
    }
    return exit_status;
}

int arcp__command_agents(arcp__program *program)
{
    return arcp__program_request(program, list_agents, NULL);
}

/* ---- jobs ---- */

typedef struct listing {
    arcp_list_options options;
    char since_room[ARCP__TIMESTAMP_SIZE];
    bool has_header;
} listing;

static arcp_status read_filters(const arcp__arguments *arguments, listing *l, arcp_error *err)
{
    const char *since = arcp__value(arguments, ARCP__OPTION_SINCE);
    l->options = arcp_list_options_init();
    l->options.limit = PAGE_ROWS;
    l->options.agent = arcp_span_cstr(arcp__value(arguments, ARCP__OPTION_AGENT));
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_STATUS]; i++) {
        const char *word = arguments->values[ARCP__OPTION_STATUS][i];
        const arcp_job_status status = arcp_job_status_from_wire(arcp_span_cstr(word));
        if (status == ARCP_JOB_STATUS_COUNT) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "--status: '%s' is not one of pending, running, success, error, "
                                  "cancelled, timed_out",
                                  word);
        }
        l->options.statuses |= UINT32_C(1) << status;
    }
    return since == NULL ? ARCP_OK
                         : arcp__instant_text("since", since, -1, arcp__now_wall_ns(),
                                              l->since_room, &l->options.created_after, err);
}

static bool print_row(arcp__program *program, arcp_span id, arcp_span status, arcp_span created,
                      arcp_span agent)
{
    arcp_buf line = arcp_buf_init();
    arcp__append_column(&line, id, 30);
    arcp__append_column(&line, status, 9);
    arcp__append_column(&line, created, 24);
    arcp__append_safe(&line, agent, 80);
    return arcp__program_print_buf_line(program, &line);
}

static bool print_page(arcp__program *program, listing *l, const arcp_job_page *page)
{
    bool printed = true;
    if (!l->has_header && !program->is_json && arcp_job_page_count(page) != 0) {
        l->has_header = true;
        printed = print_row(program, ARCP_SPAN_LITERAL("JOB"), ARCP_SPAN_LITERAL("STATUS"),
                            ARCP_SPAN_LITERAL("CREATED"), ARCP_SPAN_LITERAL("AGENT"));
    }
    for (size_t i = 0; i < arcp_job_page_count(page) && printed; i++) {
        const arcp_job_row row = arcp_job_page_row(page, i);
        printed = program->is_json
                      ? arcp__program_print_line(program, row.json)
                      : print_row(program, row.job_id, row.status_text, row.created_at, row.agent);
    }
    return printed;
}

static int list_jobs(arcp__program *program, arcp_client *client, void *user)
{
    listing *l = user;
    const bool all = arcp__has(&program->arguments, ARCP__OPTION_ALL);
    arcp_buf cursor = arcp_buf_init();
    arcp_error err = {.details = &program->error_details};
    int exit_status = ARCP__EXIT_SUCCESS;
    bool more = true;
    while (more && exit_status == ARCP__EXIT_SUCCESS) {
        arcp_job_page *page = NULL;
        if (arcp_client_list(client, &l->options, ARCP_WAIT_DEFAULT, &page, &err) != ARCP_OK) {
            exit_status = arcp__program_fail(program, &err);
            break;
        }
        if (!print_page(program, l, page)) {
            exit_status = ARCP__EXIT_ERROR;
        }
        const arcp_span next = arcp_job_page_next_cursor(page);
        more = all && next.size != 0;
        arcp_buf_clear(&cursor);
        arcp_buf_append(&cursor, next);
        l->options.cursor = arcp_buf_span(&cursor);
        if (cursor.failed) { /* without a cursor the listing would start over */
            (void)arcp_error_set(&err, ARCP_E_NO_MEMORY, "out of memory");
            exit_status = arcp__program_fail(program, &err);
        }
        if (!all && next.size != 0 && program->screen.is_terminal) {
            arcp__screen_format(&program->screen, "more jobs exist: use --all to list them");
        }
        arcp_job_page_free(page);
    }
    arcp_buf_fini(&cursor);
    return exit_status;
}

int arcp__command_jobs(arcp__program *program)
{
    listing l = {0};
    arcp_error err = {0};
    return read_filters(&program->arguments, &l, &err) == ARCP_OK
               ? arcp__program_request(program, list_jobs, &l)
               : arcp__program_usage(program, &err);
}

/* ---- ping ---- */

static int ping(arcp__program *program, arcp_client *client, void *user)
{
    arcp_error err = {.details = &program->error_details};
    int64_t round_trip_ns = 0;
    if (arcp_client_ping(client, ARCP_WAIT_DEFAULT, &round_trip_ns, &err) != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    arcp_buf runtime = arcp_buf_init();
    arcp_buf line = arcp_buf_init();
    const long long us = round_trip_ns / 1000;
    arcp__runtime_name(client, &runtime);
    if (program->is_json) {
        arcp_buf_append_cstr(&line, "{\"runtime\":");
        arcp_json_quote(arcp_buf_span(&runtime), &line);
        arcp_buf_append_format(&line, ",\"round_trip_ms\":%lld.%03lld}", us / 1000, us % 1000);
    } else {
        arcp_buf_append(&line, arcp_buf_span(&runtime));
        arcp_buf_append_format(&line, ": %lld.%03lld ms", us / 1000, us % 1000);
    }
    arcp_buf_fini(&runtime);
    return arcp__program_print_buf_line(program, &line) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

int arcp__command_ping(arcp__program *program)
{
    return arcp__program_request(program, ping, NULL);
}
