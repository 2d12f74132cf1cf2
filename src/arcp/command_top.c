/* `arcp top` shows the running jobs, sorted by what they use. On a terminal the table is drawn
 * again each second; elsewhere it is printed once. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "base/alloc.h"

#define ROWS_MAX 10000u

typedef enum sort { BY_CPU, BY_MEMORY, BY_COST, BY_SILENCE, SORT_COUNT } sort;
static const char *const sort_names[SORT_COUNT] = {"cpu", "memory", "cost", "silence"};

typedef struct row {
    uint64_t keys[SORT_COUNT];
    char *text; /* owned: the row as JSON */
} row;

typedef struct top_view {
    arcp__program *program;
    arcp__format format;
    sort by;
    bool is_of_all;        /* principals */
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

static bool on_job(void *user, arcp__asked *page, arcp_json_ref job)
{
    top_view *t = user;
    row *grown = arcp__make_room(t->rows, t->count, &t->capacity, sizeof *grown);
    const arcp_span raw = arcp_json_raw(&page->json, job);
    row fresh = {.text = arcp__copy_cstr(raw.data, raw.size)};
    t->rows = grown == NULL ? t->rows : grown;
    if (grown == NULL || fresh.text == NULL) {
        arcp__free(fresh.text);
        t->has_failed = true;
        return false;
    }
    (void)arcp__asked_number(page, job, "cpu_ms", &fresh.keys[BY_CPU]);
    (void)arcp__asked_number(page, job, "memory_bytes", &fresh.keys[BY_MEMORY]);
    (void)arcp__asked_number(page, job, "silent_for_ms", &fresh.keys[BY_SILENCE]);
    fresh.keys[BY_COST] = cost_of(page, job);
    t->rows[t->count++] = fresh;
    return t->count < ROWS_MAX;
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

static arcp_status read_rows(top_view *t, arcp_client *client, arcp_error *err)
{
    clear(t);
    t->now_wall_ns = arcp__now_wall_ns();
    const arcp_status status = arcp__ask_pages(
        client, "jobs",
        t->is_of_all ? "{\"filter\":{\"status\":[\"running\",\"pending\"],\"principal\":\"*\"}"
                     : "{\"filter\":{\"status\":[\"running\",\"pending\"]}",
        "jobs", on_job, t, err);
    if (status == ARCP_OK && t->has_failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK && t->count != 0) {
        qsort_r(t->rows, t->count, sizeof *t->rows, compare, t);
    }
    return status;
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
    [PRINCIPAL] = {"PRINCIPAL", 16, 120},
    [AGENT] = {"AGENT", 0, 0},
};
static const arcp__table table = {columns, COUNT, 120, 8};

static void append_seconds(const arcp_json *json, const char *name, arcp_buf *out)
{
    uint64_t ms = 0;
    if (!arcp_json_u64(json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)), &ms)) {
        return;
    }
    if (ms < 60000) {
        arcp_buf_append_format(out, "%llu.%llus", (unsigned long long)(ms / 1000),
                               (unsigned long long)(ms % 1000 / 100));
    } else if (ms < 3600000) {
        arcp_buf_append_format(out, "%llum", (unsigned long long)(ms / 60000));
    } else {
        arcp_buf_append_format(out, "%lluh", (unsigned long long)(ms / 3600000));
    }
}

static void append_bytes(const arcp_json *json, const char *name, arcp_buf *out)
{
    static const char units[] = "BKMGT";
    uint64_t bytes = 0;
    size_t unit = 0;
    if (!arcp_json_u64(json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)),
                       &bytes)) {
        return;
    }
    while (bytes >= 10240 && unit + 2 < sizeof units) {
        bytes /= 1024;
        unit++;
    }
    arcp_buf_append_format(out, "%llu%c", (unsigned long long)bytes, units[unit]);
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
    append_seconds(&job.json, "silent_for_ms", &silent);
    append_seconds(&job.json, "cpu_ms", &cpu);
    append_bytes(&job.json, "memory_bytes", &memory);
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
        arcp_buf_append_format(&out, "%zu jobs by %s\n", t->count, sort_names[t->by]);
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

static int show(arcp__program *program, arcp_client *client, void *user)
{
    top_view *t = user;
    const struct timespec second = {.tv_sec = 1};
    const bool is_live = t->columns != 0 && t->format == ARCP__FORMAT_TABLE &&
                         !arcp__has(&program->arguments, ARCP__OPTION_TOP_ONCE);
    bool goes_on = true;
    t->is_of_all = (arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_OPERATE)) != 0;
    while (goes_on) {
        arcp_error err = {.details = &program->error_details};
        if (read_rows(t, client, &err) != ARCP_OK) {
            return arcp__program_fail(program, &err);
        }
        if (!print(t, is_live)) {
            return ARCP__EXIT_ERROR;
        }
        goes_on = is_live;
        if (is_live) {
            (void)nanosleep(&second, NULL);
            t->columns = arcp__output_columns();
        }
    }
    return ARCP__EXIT_SUCCESS;
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
    struct winsize size = {0};
    top_view t = {.program = program, .columns = arcp__output_columns()};
    arcp_error err = {0};
    t.lines = t.columns != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
    const int exit_status = read_options(&t, &err) == ARCP_OK
                                ? arcp__program_request(program, show, &t)
                                : arcp__program_usage(program, &err);
    clear(&t);
    arcp__free(t.rows);
    return exit_status;
}
