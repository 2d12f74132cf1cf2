/* `arcp workers`: processes that run agents, on this machine and on others. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "json/json_put.h"

typedef enum column { WORKER, STATE, SINCE, JOBS, CAPACITY, PID, PEER, AGENTS, COUNT } column;

static const arcp__column columns[COUNT] = {
    [WORKER] = {"WORKER", 12, 0}, [STATE] = {"STATE", 8, 0},        [SINCE] = {"SINCE", 5, 0},
    [JOBS] = {"JOBS", 5, 0},      [CAPACITY] = {"CAPACITY", 8, 60}, [PID] = {"PID", 7, 80},
    [PEER] = {"PEER", 22, 100},   [AGENTS] = {"AGENTS", 0, 0},
};
static const arcp__table table = {columns, COUNT, 0, 0};

/* An agent with a star: another worker has another row for it. */
static void append_agents(arcp__asked *page, arcp_json_ref row, arcp_buf *out)
{
    const arcp_json *json = &page->json;
    const arcp_json_ref agents = arcp_json_member(json, row, ARCP_SPAN_LITERAL("agents"));
    for (arcp_json_ref at = arcp_json_first(json, agents); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, agents, at)) {
        const arcp_json_ref differs = arcp_json_member(json, at, ARCP_SPAN_LITERAL("differs"));
        arcp_buf_append_cstr(out, out->size == 0 ? "" : " ");
        arcp_buf_append(out, arcp__asked_text(page, at, "agent"));
        arcp_buf_append_cstr(out, arcp_json_is(json, differs, ARCP_JSON_TRUE) ? "*" : "");
    }
}

static void append_number(const arcp__asked *page, arcp_json_ref row, const char *name,
                          arcp_buf *out)
{
    uint64_t number = 0;
    if (arcp__asked_number(page, row, name, &number)) {
        arcp_buf_append_format(out, "%llu", (unsigned long long)number);
    }
}

static bool print_row(arcp__listing *l, arcp__asked *page, arcp_json_ref row)
{
    arcp_buf texts[COUNT];
    arcp_span cells[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        texts[i] = arcp_buf_init();
    }
    arcp__append_age(arcp__asked_text(page, row, "since"), l->now_wall_ns, &texts[SINCE]);
    append_number(page, row, "jobs", &texts[JOBS]);
    append_number(page, row, "capacity", &texts[CAPACITY]);
    append_number(page, row, "pid", &texts[PID]);
    append_agents(page, row, &texts[AGENTS]);
    for (size_t i = 0; i < COUNT; i++) {
        cells[i] = arcp_buf_span(&texts[i]);
    }
    cells[WORKER] = arcp__asked_text(page, row, "name");
    cells[STATE] = arcp__asked_text(page, row, "state");
    cells[PEER] = arcp__asked_text(page, row, "peer");
    const bool is_printed =
        (l->count != 0 || arcp__print_table_row(l->program, &table, l->columns, NULL)) &&
        arcp__print_table_row(l->program, &table, l->columns, cells);
    for (size_t i = 0; i < COUNT; i++) {
        arcp_buf_fini(&texts[i]);
    }
    return is_printed;
}

static int list(arcp__program *program, arcp_client *client, arcp__listing *l)
{
    arcp_error err = {.details = &program->error_details};
    arcp__asked asked = {.json = ARCP__JSON_INIT};
    if (arcp__ask(client, "workers", ARCP_SPAN_LITERAL(""), &asked, &err) != ARCP_OK) {
        arcp__asked_fini(&asked);
        return arcp__program_fail(program, &err);
    }
    const arcp_json_ref rows =
        arcp_json_member(&asked.json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("workers"));
    for (arcp_json_ref row = arcp_json_first(&asked.json, rows);
         row != ARCP_JSON_ABSENT && !l->has_failed; row = arcp_json_next(&asked.json, rows, row)) {
        l->has_failed = l->format == ARCP__FORMAT_TABLE
                            ? !print_row(l, &asked, row)
                            : !arcp__print_asked_row(program, l->format, &asked, row, "name");
        l->count++;
    }
    arcp__asked_fini(&asked);
    if (l->count == 0 && !program->is_quiet) {
        arcp__screen_format(&program->screen, "there are no workers");
    }
    return l->has_failed ? ARCP__EXIT_ERROR : ARCP__EXIT_SUCCESS;
}

static int act(arcp__program *program, arcp_client *client)
{
    const bool is_drain = strcmp(program->arguments.words[0], "drain") == 0;
    arcp_error err = {.details = &program->error_details};
    arcp_buf payload = arcp_buf_init();
    arcp__asked asked = {.json = ARCP__JSON_INIT};
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_cstr(&writer, "name", program->arguments.words[1]);
    arcp_json_end_object(&writer);
    const arcp_status status =
        arcp__ask_buf(client, is_drain ? "drain" : "forget", &payload, &asked, &err);
    arcp_buf_fini(&payload);
    arcp__asked_fini(&asked);
    if (status != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    if (!program->is_quiet) {
        arcp__screen_format(&program->screen,
                            is_drain ? "%s gets no new jobs, and ends when its last one has"
                                     : "the jobs of %s have ended",
                            program->arguments.words[1]);
    }
    return ARCP__EXIT_SUCCESS;
}

static int workers(arcp__program *program, arcp_client *client, void *user)
{
    return program->arguments.word_count == 0 ? list(program, client, user) : act(program, client);
}

static arcp_status check_words(const arcp__arguments *arguments, arcp_error *err)
{
    const size_t count = arguments->word_count;
    if (count != 0 && strcmp(arguments->words[0], "drain") != 0 &&
        strcmp(arguments->words[0], "forget") != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "unknown workers command '%.64s' (expected drain or forget)",
                              arguments->words[0]);
    }
    return count == 1 ? arcp_error_set(err, ARCP_E_USAGE, "workers %s needs the name of a worker",
                                       arguments->words[0])
                      : ARCP_OK;
}

int arcp__command_workers(arcp__program *program)
{
    return arcp__command_listing(program, ARCP__OPTION_WORKERS_OUTPUT, check_words, workers);
}
