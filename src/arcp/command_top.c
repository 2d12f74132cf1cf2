/* `arcp top` shows the running jobs, sorted by what they use. On a terminal the table is drawn
 * again when the runtime reports a change (live.c), and each second while jobs run: their CPU time,
 * memory and silence change without one, so those are asked for. Elsewhere it is printed once. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "base/alloc.h"
#include "base/clock.h"

#define ROWS_MAX 10000u
#define ID_SIZE  64
#define DRAW_MS  1000

typedef enum sort { BY_CPU, BY_MEMORY, BY_COST, BY_SILENCE, SORT_COUNT } sort;
static const char *const sort_names[SORT_COUNT] = {"cpu", "memory", "cost", "silence"};

typedef struct row {
    char id[ID_SIZE];
    uint64_t keys[SORT_COUNT];
    char *text; /* owned: the row as JSON */
} row;

typedef struct top_view {
    arcp__program *program;
    arcp__format format;
    sort by;
    arcp__live live;
    size_t columns, lines; /* of the terminal; 0: standard output is none */
    int64_t now_wall_ns;
    row *rows;
    size_t count, capacity;
    bool has_failed;
} top_view;

/* ---- reading ---- */

/* In millionths of the currency that most was spent of. */
static uint64_t cost_of(const arcp__asked *page, arcp_json_ref job)
{
    const arcp_json *json = &page->json;
    const arcp_json_ref budget = arcp_json_member(json, job, ARCP_SPAN_LITERAL("budget"));
    double most = 0;
    for (arcp_json_ref at = arcp_json_first(json, budget); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, budget, at)) {
        const arcp_span raw =
            arcp_json_raw(json, arcp_json_member(json, at + 1, ARCP_SPAN_LITERAL("spent")));
        char text[64] = {0};
        memcpy(text, raw.data == NULL ? "" : raw.data,
               raw.size < sizeof text ? raw.size : sizeof text - 1);
        const double spent = strtod(text, NULL);
        most = spent > most ? spent : most;
    }
    return (uint64_t)(most * 1e6);
}

static void remove_row(top_view *t, arcp_span id)
{
    for (size_t i = 0; i < t->count; i++) {
        if (arcp_span_equal_cstr(id, t->rows[i].id)) {
            arcp__free(t->rows[i].text);
            t->rows[i] = t->rows[--t->count];
            return;
        }
    }
}

static bool on_job(void *user, arcp__asked *page, arcp_json_ref job)
{
    top_view *t = user;
    const arcp_span id = arcp__asked_text(page, job, "job_id");
    if (id.size >= ID_SIZE) {
        return true;
    }
    row *grown = arcp__make_room(t->rows, t->count, &t->capacity, sizeof *grown);
    const arcp_span raw = arcp_json_raw(&page->json, job);
    row fresh = {.text = arcp__copy_cstr(raw.data, raw.size)};
    t->rows = grown == NULL ? t->rows : grown;
    if (grown == NULL || fresh.text == NULL) {
        arcp__free(fresh.text);
        t->has_failed = true;
        return false;
    }
    memcpy(fresh.id, id.data, id.size);
    (void)arcp__asked_number(page, job, "cpu_ms", &fresh.keys[BY_CPU]);
    (void)arcp__asked_number(page, job, "memory_bytes", &fresh.keys[BY_MEMORY]);
    (void)arcp__asked_number(page, job, "silent_for_ms", &fresh.keys[BY_SILENCE]);
    fresh.keys[BY_COST] = cost_of(page, job);
    t->rows[t->count++] = fresh;
    return t->count < ROWS_MAX;
}

/* A job that was reported replaces its row, until it has ended. */
static bool on_change(void *user, arcp__asked *report, arcp_json_ref job)
{
    top_view *t = user;
    const arcp_job_status status =
        arcp_job_status_from_wire(arcp__asked_text(report, job, "status"));
    remove_row(t, arcp__asked_text(report, job, "job_id"));
    return arcp_job_status_is_terminal(status) || t->count == ROWS_MAX || on_job(t, report, job);
}

static void clear(top_view *t)
{
    for (size_t i = 0; i < t->count; i++) {
        arcp__free(t->rows[i].text);
    }
    t->count = 0;
}

/* The largest first; rows of the same size by their text, so that they do not change places. */
static int compare(const void *a, const void *b, void *user)
{
    const top_view *t = user;
    const uint64_t one = ((const row *)a)->keys[t->by];
    const uint64_t other = ((const row *)b)->keys[t->by];
    return one == other ? strcmp(((const row *)a)->text, ((const row *)b)->text)
                        : (one < other ? 1 : -1);
}

static void sort_rows(top_view *t)
{
    if (t->count != 0) {
        qsort_r(t->rows, t->count, sizeof *t->rows, compare, t);
    }
}

static arcp_status read_rows(top_view *t, arcp_error *err)
{
    clear(t);
    const arcp_status status = arcp__ask_pages(
        t->live.client, "jobs",
        t->live.principals[0] != '\0'
            ? "{\"filter\":{\"status\":[\"running\",\"pending\"],\"principal\":\"*\"}"
            : "{\"filter\":{\"status\":[\"running\",\"pending\"]}",
        "jobs", on_job, t, err);
    return status == ARCP_OK && t->has_failed
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
               : status;
}

/* ---- the table ---- */

typedef enum column { JOB, AGE, SILENT, CPU, MEMORY, COST, PRINCIPAL, AGENT, COUNT } column;

static const arcp__column columns[COUNT] = {
    [JOB] = {"JOB", 30, 0},
    [AGE] = {"AGE", 4, 0},
    [SILENT] = {"SILENT", 6, 0},
    [CPU] = {"CPU", 7, 80},
    [MEMORY] = {"MEMORY", 7, 80},
    [COST] = {"COST", 12, 100},
    [PRINCIPAL] = {"PRINCIPAL", 16, 80},
    [AGENT] = {"AGENT", 0, 0},
};
static const arcp__table table = {columns, COUNT, 120, 8};

static void append_amount(const arcp_json *json, const char *name,
                          void (*append)(uint64_t amount, arcp_buf *out), arcp_buf *out)
{
    uint64_t amount = 0;
    if (arcp_json_u64(json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)),
                      &amount)) {
        append(amount, out);
    }
}

static void append_row(const top_view *t, const row *at, arcp_buf *out)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp__asked job = {.json = ARCP__JSON_INIT};
    arcp__job_facts facts;
    arcp_buf age = arcp_buf_init();
    arcp_buf silent = arcp_buf_init();
    arcp_buf cpu = arcp_buf_init();
    arcp_buf memory = arcp_buf_init();
    if (arcp_json_scan(&job.json, arcp_span_cstr(at->text), &limits, NULL) != ARCP_OK) {
        out->failed = true;
        return;
    }
    arcp__job_facts_read(&job.json, &facts);
    arcp__append_age(facts.created_at, t->now_wall_ns, &age);
    append_amount(&job.json, "silent_for_ms", arcp__append_ms, &silent);
    append_amount(&job.json, "cpu_ms", arcp__append_ms, &cpu);
    append_amount(&job.json, "memory_bytes", arcp__append_bytes, &memory);
    const arcp_span cells[COUNT] = {
        [JOB] = facts.job_id,
        [AGE] = arcp_buf_span(&age),
        [SILENT] = arcp_buf_span(&silent),
        [CPU] = arcp_buf_span(&cpu),
        [MEMORY] = arcp_buf_span(&memory),
        [COST] = arcp_buf_span(&facts.cost),
        [PRINCIPAL] = arcp__asked_text(&job, ARCP_JSON_ROOT, "principal"),
        [AGENT] = facts.agent,
    };
    arcp__append_row(&table, t->columns, cells, out);
    arcp_buf_append_byte(out, '\n');
    out->failed = out->failed || age.failed || silent.failed || cpu.failed || memory.failed;
    arcp_buf_fini(&age);
    arcp_buf_fini(&silent);
    arcp_buf_fini(&cpu);
    arcp_buf_fini(&memory);
    arcp__job_facts_fini(&facts);
    arcp__asked_fini(&job);
}

/* As many rows as the terminal has lines for, and one line that says how many there are. */
static bool print_table(const top_view *t, bool is_live)
{
    arcp_buf out = arcp_buf_init();
    const size_t room = t->lines > 3 ? t->lines - 3 : 1;
    const size_t shown = is_live && t->lines != 0 && t->count > room ? room : t->count;
    if (is_live) {
        arcp_buf_append_cstr(&out, "\033[H\033[J"); /* home, and clear to the end */
        arcp_buf_append_format(&out, "%zu job%s by %s\n", t->count, t->count == 1 ? "" : "s",
                               sort_names[t->by]);
    }
    arcp__append_row(&table, t->columns, NULL, &out);
    arcp_buf_append_byte(&out, '\n');
    for (size_t i = 0; i < shown; i++) {
        append_row(t, &t->rows[i], &out);
    }
    return arcp__program_print_buf(t->program, &out);
}

static bool print(const top_view *t, bool is_live)
{
    if (t->format == ARCP__FORMAT_TABLE) {
        return print_table(t, is_live);
    }
    for (size_t i = 0; i < t->count; i++) {
        const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
        arcp__asked job = {.json = ARCP__JSON_INIT};
        bool is_printed = false;
        if (arcp_json_scan(&job.json, arcp_span_cstr(t->rows[i].text), &limits, NULL) != ARCP_OK) {
            return false;
        }
        if (t->format == ARCP__FORMAT_NAME) {
            is_printed = arcp__program_print_line(t->program,
                                                  arcp__asked_text(&job, ARCP_JSON_ROOT, "job_id"));
        } else {
            const arcp_json_ref root = ARCP_JSON_ROOT;
            arcp_buf text = arcp_buf_init();
            if (t->format == ARCP__FORMAT_YAML) {
                arcp__append_yaml(&job.json, true, &text);
                is_printed = arcp__program_print_buf(t->program, &text);
            } else {
                is_printed = arcp__print_asked(t->program, ARCP__FORMAT_JSON, &job, root);
            }
        }
        arcp__asked_fini(&job);
        if (!is_printed) {
            return false;
        }
    }
    return true;
}

/* ---- the command ---- */

/* The size of the terminal; 0: standard output is none. */
static void measure(top_view *t)
{
    struct winsize size = {0};
    t->columns = arcp__output_columns();
    t->lines = t->columns != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static bool draw(top_view *t, bool is_live)
{
    measure(t);
    sort_rows(t);
    t->now_wall_ns = arcp__now_wall_ns();
    return print(t, is_live);
}

/* Waits for a report, a second, or a new size of the terminal. *loads stays set until the rows were
 * read again. */
static arcp_status wait_for_change(top_view *t, int64_t *due_ns, bool *loads, arcp_error *err)
{
    const arcp_client_event *event = NULL;
    const int64_t left_ms = (*due_ns - arcp__clock_ns(CLOCK_MONOTONIC)) / ARCP_NS_PER_MS;
    bool is_incomplete = false;
    arcp_status status =
        arcp__live_next(&t->live, *loads || left_ms < 0 ? 0 : left_ms, &event, &is_incomplete, err);
    if (status == ARCP_E_DEADLINE) {
        *due_ns = arcp__clock_ns(CLOCK_MONOTONIC) + DRAW_MS * ARCP_NS_PER_MS;
        is_incomplete = t->count != 0 && !t->live.is_waiting;
        status = ARCP_OK;
    }
    *loads = *loads || is_incomplete;
    if (status == ARCP_OK && *loads) {
        status = read_rows(t, err);
        *loads = status != ARCP_OK;
    }
    return status == ARCP_E_INTERRUPTED && arcp__interrupt_count() == 0 ? ARCP_OK : status;
}

/* Draws after each change. */
static arcp_status draw_live(top_view *t, arcp_error *err)
{
    int64_t due_ns = arcp__clock_ns(CLOCK_MONOTONIC) + DRAW_MS * ARCP_NS_PER_MS;
    bool loads = false;
    arcp_status status = ARCP_OK;
    arcp__resize_watch(t->live.client);
    while (status == ARCP_OK && draw(t, true)) {
        status = wait_for_change(t, &due_ns, &loads, err);
    }
    arcp__resize_watch(NULL);
    return status;
}

static int show(arcp__program *program, arcp_client *client, void *user)
{
    top_view *t = user;
    arcp_error err = {.details = &program->error_details};
    const bool is_live = t->columns != 0 && t->format == ARCP__FORMAT_TABLE &&
                         !arcp__has(&program->arguments, ARCP__OPTION_TOP_ONCE);
    t->live = (arcp__live){.program = program,
                           .client = client,
                           .principals = arcp__sees_all(client) ? "*" : "",
                           .row = on_change,
                           .user = t};
    arcp_status status = is_live ? arcp__live_begin(&t->live, &err) : ARCP_OK;
    if (status == ARCP_OK) {
        status = read_rows(t, &err);
    }
    if (status == ARCP_OK && !is_live) {
        return draw(t, false) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
    }
    if (status == ARCP_OK) {
        status = draw_live(t, &err);
    }
    return status == ARCP_OK ? ARCP__EXIT_ERROR : arcp__program_fail(program, &err);
}

static arcp_status read_options(top_view *t, arcp_error *err)
{
    const char *by = arcp__value(&t->program->arguments, ARCP__OPTION_TOP_SORT);
    for (sort i = 0; by != NULL && i < SORT_COUNT; i++) {
        if (strcmp(by, sort_names[i]) == 0) {
            t->by = i;
            by = NULL;
        }
    }
    if (by != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--sort: '%.64s' is not one of cpu, memory, cost, silence", by);
    }
    return arcp__format_read(t->program, ARCP__OPTION_TOP_OUTPUT, &t->format, err);
}

int arcp__command_top(arcp__program *program)
{
    top_view t = {.program = program, .columns = arcp__output_columns()};
    arcp_error err = {0};
    const int exit_status = read_options(&t, &err) == ARCP_OK
                                ? arcp__program_live(program, show, &t)
                                : arcp__program_usage(program, &err);
    clear(&t);
    arcp__free(t.rows);
    return exit_status;
}
