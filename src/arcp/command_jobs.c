/* `arcp jobs`. The runtime lists the oldest jobs first: all pages are read, and the jobs that are
 * asked for are kept. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "base/alloc.h"
#include "base/digits.h"

#define ROWS_DEFAULT 20

typedef struct listing {
    arcp__program *program;
    arcp_list_options options;
    char since_room[ARCP__TIMESTAMP_SIZE], until_room[ARCP__TIMESTAMP_SIZE];
    arcp__format format;
    bool is_oldest;
    const char *text; /* NULL: any */
    arcp_buf parent;  /* an id; empty: any */
    int64_t now_wall_ns;
    size_t columns; /* of the terminal; 0: standard output is none */
    bool has_header;

    /* The rows that are kept, as JSON: a ring, of which the row `seen % limit` is the oldest. */
    size_t limit;
    arcp_buf *rows;
    size_t row_count, row_capacity;
    uint64_t seen; /* rows that the filters let pass */
    bool has_failed;
} listing;

/* ---- filters ---- */

static arcp_status read_statuses(const arcp__arguments *arguments, listing *l, arcp_error *err)
{
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
    return ARCP_OK;
}

/* --limit, --all and --order. */
static arcp_status read_limit(const arcp__arguments *arguments, listing *l, arcp_error *err)
{
    const char *limit = arcp__value(arguments, ARCP__OPTION_JOBS_LIMIT);
    const char *order = arcp__value(arguments, ARCP__OPTION_JOBS_ORDER);
    uint64_t rows = ROWS_DEFAULT;
    if (limit != NULL && (!arcp__digits_parse(arcp_span_cstr(limit), &rows) || rows == 0)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--limit: '%.64s' is not a number from 1", limit);
    }
    if (limit != NULL && arcp__has(arguments, ARCP__OPTION_ALL)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--limit and --all cannot be given together");
    }
    l->limit = arcp__has(arguments, ARCP__OPTION_ALL) || rows > SIZE_MAX ? SIZE_MAX : (size_t)rows;
    l->is_oldest = order != NULL && strcmp(order, "oldest") == 0;
    return order == NULL || l->is_oldest || strcmp(order, "newest") == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "--order: '%.64s' is not one of newest, oldest",
                                order);
}

static arcp_status read_filters(const arcp__arguments *arguments, listing *l, arcp_error *err)
{
    const char *since = arcp__value(arguments, ARCP__OPTION_SINCE);
    const char *until = arcp__value(arguments, ARCP__OPTION_JOBS_UNTIL);
    l->options = arcp_list_options_init();
    l->options.agent = arcp_span_cstr(arcp__value(arguments, ARCP__OPTION_AGENT));
    l->text = arcp__value(arguments, ARCP__OPTION_JOBS_TEXT);
    arcp_status status = read_statuses(arguments, l, err);
    if (status == ARCP_OK) {
        status = read_limit(arguments, l, err);
    }
    if (status == ARCP_OK) {
        status = arcp__format_read(l->program, ARCP__OPTION_JOBS_OUTPUT, &l->format, err);
    }
    if (status == ARCP_OK && since != NULL) {
        status = arcp__instant_text("since", since, -1, l->now_wall_ns, l->since_room,
                                    &l->options.created_after, err);
    }
    if (status == ARCP_OK && until != NULL) {
        status = arcp__instant_text("until", until, -1, l->now_wall_ns, l->until_room,
                                    &l->options.created_before, err);
    }
    return status;
}

/* Whether the text contains the other one, without regard to the case of ASCII letters. */
static bool contains(arcp_span text, const char *part)
{
    const size_t size = strlen(part);
    for (size_t i = 0; i + size <= text.size; i++) {
        if (strncasecmp(text.data + i, part, size) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const listing *l, const arcp_job_row *row)
{
    if (l->parent.size != 0 && !arcp_span_equal(row->parent_job_id, arcp_buf_span(&l->parent))) {
        return false;
    }
    return l->text == NULL || contains(row->job_id, l->text) || contains(row->agent, l->text) ||
           contains(row->trace_id, l->text);
}

/* ---- the table ---- */

typedef enum column { JOB, AGE, STATUS, COST, CREATED, PARENT, AGENT, COLUMN_COUNT } column;

static const arcp__column columns[COLUMN_COUNT] = {
    [JOB] = {"JOB", 30, 0},           [AGE] = {"AGE", 4, 0},
    [STATUS] = {"STATUS", 9, 0},      [COST] = {"COST", 12, 80},
    [CREATED] = {"CREATED", 24, 100}, [PARENT] = {"PARENT", 30, 140},
    [AGENT] = {"AGENT", 0, 0},
};
static const arcp__table table = {columns, COLUMN_COUNT, 60, 8};

static bool print_row(listing *l, const arcp_json *json)
{
    arcp__job_facts facts;
    arcp_buf age = arcp_buf_init();
    arcp__job_facts_read(json, &facts);
    arcp__append_age(facts.created_at, l->now_wall_ns, &age);
    const arcp_span cells[COLUMN_COUNT] = {
        [JOB] = facts.job_id,         [AGE] = arcp_buf_span(&age),
        [STATUS] = facts.status,      [COST] = arcp_buf_span(&facts.cost),
        [CREATED] = facts.created_at, [PARENT] = facts.parent_job_id,
        [AGENT] = facts.agent,
    };
    const bool is_printed =
        (l->has_header || arcp__print_table_row(l->program, &table, l->columns, NULL)) &&
        arcp__print_table_row(l->program, &table, l->columns, cells);
    l->has_header = true;
    arcp__job_facts_fini(&facts);
    arcp_buf_fini(&age);
    return is_printed;
}

static bool print(listing *l, arcp_span row)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    bool is_printed = false;
    if (l->format == ARCP__FORMAT_JSON) {
        return arcp__program_print_line(l->program, row);
    }
    if (arcp_json_scan(&json, row, &limits, NULL) != ARCP_OK) {
        arcp__screen_format(&l->program->screen, "error: out of memory");
    } else if (l->format == ARCP__FORMAT_TABLE) {
        is_printed = print_row(l, &json);
    } else if (l->format == ARCP__FORMAT_YAML) {
        arcp__append_yaml(&json, true, &text);
        is_printed = arcp__program_print_buf(l->program, &text);
    } else {
        const arcp_json_ref id =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job_id"));
        arcp_buf room = arcp_buf_init();
        arcp__append_safe(&text, arcp_json_string(&json, id, &room), 256);
        arcp_buf_fini(&room);
        is_printed = arcp__program_print_buf_line(l->program, &text);
    }
    arcp__json_fini(&json);
    return is_printed;
}

/* ---- the listing ---- */

/* Keeps a row; of more than the limit the last ones, or with --order oldest the first ones. */
static bool keep(void *user, const arcp_job_row *row)
{
    listing *l = user;
    if (!is_wanted(l, row)) {
        return true;
    }
    const uint64_t number = l->seen++;
    if (number >= l->limit && l->is_oldest) {
        return true;
    }
    if (number < l->limit) {
        arcp_buf *grown = arcp__make_room(l->rows, l->row_count, &l->row_capacity, sizeof *grown);
        if (grown == NULL) {
            l->has_failed = true;
            return false;
        }
        l->rows = grown;
        l->rows[l->row_count++] = arcp_buf_init();
    }
    arcp_buf *kept = &l->rows[number % l->limit];
    arcp_buf_clear(kept);
    arcp_buf_append(kept, row->json);
    l->has_failed = kept->failed;
    return !l->has_failed;
}

static int print_all(listing *l)
{
    const size_t first = l->seen > l->limit && !l->is_oldest ? (size_t)(l->seen % l->limit) : 0;
    const uint64_t hidden = l->seen - l->row_count;
    for (size_t i = 0; i < l->row_count; i++) {
        if (!print(l, arcp_buf_span(&l->rows[(first + i) % l->row_count]))) {
            return ARCP__EXIT_ERROR;
        }
    }
    if (l->program->is_quiet) {
        return ARCP__EXIT_SUCCESS;
    }
    if (hidden != 0) {
        arcp__screen_format(&l->program->screen,
                            "%llu %s job%s not shown: --limit N shows more, --all all",
                            (unsigned long long)hidden, l->is_oldest ? "newer" : "older",
                            hidden == 1 ? " is" : "s are");
    } else if (l->seen == 0) {
        arcp__screen_format(&l->program->screen, "no jobs");
    }
    return ARCP__EXIT_SUCCESS;
}

static int list_jobs(arcp__program *program, arcp_client *client, void *user)
{
    listing *l = user;
    arcp_error err = {.details = &program->error_details};
    int exit_status = ARCP__EXIT_ERROR;
    const char *parent = arcp__value(&program->arguments, ARCP__OPTION_JOBS_PARENT);
    if (parent != NULL && !arcp__job_resolve(program, client, parent, &l->parent, &exit_status)) {
        return exit_status;
    }
    if (arcp__jobs_each(client, &l->options, keep, l, &err) != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    if (l->has_failed) {
        (void)arcp_error_set(&err, ARCP_E_NO_MEMORY, "out of memory");
        return arcp__program_fail(program, &err);
    }
    return print_all(l);
}

int arcp__command_jobs(arcp__program *program)
{
    listing l = {.program = program,
                 .parent = arcp_buf_init(),
                 .now_wall_ns = arcp__now_wall_ns(),
                 .columns = arcp__output_columns()};
    arcp_error err = {0};
    const int exit_status = read_filters(&program->arguments, &l, &err) == ARCP_OK
                                ? arcp__program_request(program, list_jobs, &l)
                                : arcp__program_usage(program, &err);
    for (size_t i = 0; i < l.row_count; i++) {
        arcp_buf_fini(&l.rows[i]);
    }
    arcp__free(l.rows);
    arcp_buf_fini(&l.parent);
    return exit_status;
}
