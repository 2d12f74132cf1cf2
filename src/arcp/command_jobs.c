/* `arcp jobs`. A runtime with the view selects the jobs itself (jobs_view.c). Another one lists the
 * oldest jobs first, by fewer filters: then all pages are read, and the jobs that are asked for are
 * kept. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs_listing.h"
#include "base/alloc.h"
#include "base/digits.h"

#define ROWS_DEFAULT 20

typedef arcp__jobs_listing listing;

/* ---- options ---- */

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
    if (l->is_oldest && arcp__has(arguments, ARCP__OPTION_JOBS_FOLLOW)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--follow and --order oldest cannot be given together");
    }
    return order == NULL || l->is_oldest || strcmp(order, "newest") == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "--order: '%.64s' is not one of newest, oldest",
                                order);
}

static arcp_status read_principals(const arcp__arguments *arguments, listing *l, arcp_error *err)
{
    const bool is_of_all = arcp__has(arguments, ARCP__OPTION_JOBS_ALL_PRINCIPALS);
    l->principals = arcp__value(arguments, ARCP__OPTION_JOBS_PRINCIPAL);
    if (l->principals != NULL && is_of_all) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--principal and --all-principals cannot be given together");
    }
    l->principals = is_of_all ? "*" : l->principals;
    return ARCP_OK;
}

static arcp_status read_filters(const arcp__arguments *arguments, listing *l, arcp_error *err)
{
    const char *since = arcp__value(arguments, ARCP__OPTION_SINCE);
    const char *until = arcp__value(arguments, ARCP__OPTION_JOBS_UNTIL);
    l->options = arcp_list_options_init();
    l->options.agent = arcp_span_cstr(arcp__value(arguments, ARCP__OPTION_AGENT));
    l->text = arcp__value(arguments, ARCP__OPTION_JOBS_TEXT);
    l->code = arcp__value(arguments, ARCP__OPTION_JOBS_CODE);
    arcp_status status = read_statuses(arguments, l, err);
    if (status == ARCP_OK) {
        status = read_limit(arguments, l, err);
    }
    if (status == ARCP_OK) {
        status = read_principals(arguments, l, err);
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

/* ---- filters of rows that the runtime has not selected ---- */

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

/* NAME stands for all versions of the agent. */
static bool is_agent(arcp_span wanted, arcp_span agent)
{
    return wanted.size == 0 || arcp_span_equal(wanted, agent) ||
           (memchr(wanted.data, '@', wanted.size) == NULL && agent.size > wanted.size &&
            agent.data[wanted.size] == '@' && arcp_span_starts_with(agent, wanted));
}

/* Whether one instant is before another; an empty one has no bound. */
static bool is_before(arcp_span one, arcp_span other)
{
    arcp__instant first, second;
    return one.size == 0 || other.size == 0 ||
           arcp__timestamp_parse(one, &first, NULL) != ARCP_OK ||
           arcp__timestamp_parse(other, &second, NULL) != ARCP_OK ||
           arcp__instant_compare(first, second) < 0;
}

/* The filters of the view (src/session/job_filter.c) but that of principals. */
static bool is_wanted(const listing *l, const arcp__job_facts *facts)
{
    const arcp_job_status status = arcp_job_status_from_wire(facts->status);
    const bool has_status =
        l->options.statuses == 0 ||
        (status < ARCP_JOB_STATUS_COUNT && (l->options.statuses & (UINT32_C(1) << status)) != 0);
    if (!has_status || !is_agent(l->options.agent, facts->agent) ||
        !is_before(l->options.created_after, facts->created_at) ||
        !is_before(facts->created_at, l->options.created_before) ||
        (l->parent.size != 0 &&
         !arcp_span_equal(facts->parent_job_id, arcp_buf_span(&l->parent))) ||
        (l->code != NULL && !arcp_span_equal_cstr(facts->code, l->code))) {
        return false;
    }
    return l->text == NULL || contains(facts->job_id, l->text) || contains(facts->agent, l->text) ||
           contains(facts->principal, l->text) || contains(facts->code, l->text) ||
           contains(facts->trace_id, l->text);
}

/* ---- the table ---- */

typedef enum column {
    JOB,
    AGE,
    STATUS,
    TOOK,
    CODE,
    COST,
    PRINCIPAL,
    CREATED,
    PARENT,
    AGENT,
    COLUMN_COUNT
} column;

static const arcp__column columns[COLUMN_COUNT] = {
    [JOB] = {"JOB", 30, 0},
    [AGE] = {"AGE", 4, 0},
    [STATUS] = {"STATUS", 9, 0},
    [TOOK] = {"TOOK", 6, 60},
    [CODE] = {"CODE", 17, 80},
    [COST] = {"COST", 12, 70},
    [PRINCIPAL] = {"PRINCIPAL", 16, 140},
    [CREATED] = {"CREATED", 24, 160},
    [PARENT] = {"PARENT", 30, 190},
    [AGENT] = {"AGENT", 0, 0},
};
static const arcp__table own_table = {columns, COLUMN_COUNT, 110, 8};

/* Where jobs of several principals are listed, whose they are comes before why they failed. */
static const arcp__column columns_of_all[COLUMN_COUNT] = {
    [JOB] = {"JOB", 30, 0},
    [AGE] = {"AGE", 4, 0},
    [STATUS] = {"STATUS", 9, 0},
    [TOOK] = {"TOOK", 6, 70},
    [CODE] = {"CODE", 17, 110},
    [COST] = {"COST", 12, 80},
    [PRINCIPAL] = {"PRINCIPAL", 16, 60},
    [CREATED] = {"CREATED", 24, 160},
    [PARENT] = {"PARENT", 30, 190},
    [AGENT] = {"AGENT", 0, 0},
};
static const arcp__table all_table = {columns_of_all, COLUMN_COUNT, 110, 8};

static bool print_row(listing *l, const arcp__job_facts *facts)
{
    const arcp__table *table = l->principals == NULL ? &own_table : &all_table;
    arcp_buf age = arcp_buf_init();
    arcp_buf took = arcp_buf_init();
    arcp__append_age(facts->created_at, l->now_wall_ns, &age);
    arcp__append_took(facts->started_at, facts->ended_at, &took);
    const arcp_span cells[COLUMN_COUNT] = {
        [JOB] = facts->job_id,
        [AGE] = arcp_buf_span(&age),
        [STATUS] = arcp_buf_span(&facts->shown_status),
        [TOOK] = arcp_buf_span(&took),
        [CODE] = facts->code,
        [COST] = arcp_buf_span(&facts->cost),
        [PRINCIPAL] = facts->principal,
        [CREATED] = facts->created_at,
        [PARENT] = facts->parent_job_id,
        [AGENT] = facts->agent,
    };
    const bool is_printed =
        (l->has_header || arcp__print_table_row(l->program, table, l->columns, NULL)) &&
        arcp__print_table_row(l->program, table, l->columns, cells);
    l->has_header = true;
    arcp_buf_fini(&age);
    arcp_buf_fini(&took);
    return is_printed;
}

static bool print(listing *l, arcp_span row, const arcp_json *json, const arcp__job_facts *facts)
{
    arcp_buf text = arcp_buf_init();
    switch (l->format) {
    case ARCP__FORMAT_TABLE:
        return print_row(l, facts);
    case ARCP__FORMAT_JSON:
        return arcp__program_print_line(l->program, row);
    case ARCP__FORMAT_YAML:
        arcp__append_yaml(json, true, &text);
        return arcp__program_print_buf(l->program, &text);
    case ARCP__FORMAT_NAME:
        break;
    }
    arcp__append_safe(&text, facts->job_id, 256);
    return arcp__program_print_buf_line(l->program, &text);
}

bool arcp__jobs_print(listing *l, arcp_span row, bool is_change)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_json json = ARCP__JSON_INIT;
    arcp__job_facts facts;
    bool is_printed = true;
    if (arcp_json_scan(&json, row, &limits, NULL) != ARCP_OK) {
        arcp__screen_format(&l->program->screen, "error: out of memory");
        arcp__json_fini(&json);
        return false;
    }
    if (is_change) {
        l->now_wall_ns = arcp__now_wall_ns();
        l->columns = arcp__output_columns();
    }
    arcp__job_facts_read(&json, &facts);
    if (!is_change || is_wanted(l, &facts)) {
        is_printed = print(l, row, &json, &facts);
    }
    arcp__job_facts_fini(&facts);
    arcp__json_fini(&json);
    return is_printed;
}

/* ---- the listing ---- */

bool arcp__jobs_keep(listing *l, arcp_span row)
{
    const uint64_t number = l->seen++;
    if (number >= l->limit && l->is_oldest) {
        return true;
    }
    if (number < l->limit) {
        arcp_buf *grown = arcp__make_room(l->rows, l->row_count, &l->row_capacity, sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        l->rows = grown;
        l->rows[l->row_count++] = arcp_buf_init();
    }
    arcp_buf *kept = &l->rows[number % l->limit];
    arcp_buf_clear(kept);
    arcp_buf_append(kept, row);
    return !kept->failed;
}

void arcp__jobs_clear(listing *l)
{
    for (size_t i = 0; i < l->row_count; i++) {
        arcp_buf_fini(&l->rows[i]);
    }
    l->row_count = 0;
    l->seen = 0;
}

bool arcp__jobs_print_all(listing *l)
{
    const size_t count = l->row_count;
    const size_t first = l->seen > l->limit && !l->is_oldest ? (size_t)(l->seen % l->limit) : 0;
    for (size_t i = 0; i < count; i++) {
        const size_t at = l->is_newest_first ? count - 1 - i : (first + i) % count;
        if (!arcp__jobs_print(l, arcp_buf_span(&l->rows[at]), false)) {
            return false;
        }
    }
    if (l->program->is_quiet) {
        return true;
    }
    if (l->hidden != 0) {
        arcp__screen_format(&l->program->screen,
                            "%llu %s job%s not shown: --limit N shows more, --all all",
                            (unsigned long long)l->hidden, l->is_oldest ? "newer" : "older",
                            l->hidden == 1 ? " is" : "s are");
    } else if (l->seen == 0) {
        arcp__screen_format(&l->program->screen, "no jobs");
    }
    return true;
}

/* A row of a runtime that lists the oldest jobs first. */
static bool take_row(void *user, const arcp_job_row *row)
{
    listing *l = user;
    const arcp__job_facts facts = {.job_id = row->job_id,
                                   .agent = row->agent,
                                   .status = row->status_text,
                                   .created_at = row->created_at,
                                   .parent_job_id = row->parent_job_id,
                                   .trace_id = row->trace_id};
    l->is_open = !is_wanted(l, &facts) || arcp__jobs_keep(l, row->json);
    return l->is_open;
}

/* What only a runtime with the view can do. */
static arcp_status read_draft(listing *l, arcp_client *client, arcp_error *err)
{
    if (l->principals != NULL || l->code != NULL) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "this runtime does not select jobs by principal or code (arcpd does, "
                              "by the feature x-vendor.arcpd.view)");
    }
    l->is_open = true;
    const arcp_status status = arcp__jobs_each(client, &l->options, take_row, l, err);
    l->hidden = l->seen - l->row_count;
    return status == ARCP_OK && !l->is_open ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                            : status;
}

/* In JSON and YAML a job has the members of session.list_jobs, as of any runtime, unless only the
 * view can select it. */
static bool asks_view(const listing *l, arcp_client *client)
{
    const bool is_data = l->format == ARCP__FORMAT_JSON || l->format == ARCP__FORMAT_YAML;
    return arcp__has_view(client) && (!is_data || l->principals != NULL || l->code != NULL);
}

static int list_jobs(arcp__program *program, arcp_client *client, void *user)
{
    listing *l = user;
    arcp_error err = {.details = &program->error_details};
    int exit_status = ARCP__EXIT_ERROR;
    const char *parent = arcp__value(&program->arguments, ARCP__OPTION_JOBS_PARENT);
    const bool is_view = asks_view(l, client);
    if (parent != NULL && !arcp__job_resolve(program, client, parent, &l->parent, &exit_status)) {
        return exit_status;
    }
    if (arcp__has(&program->arguments, ARCP__OPTION_JOBS_FOLLOW)) {
        l->is_newest_first = true;
        return arcp__jobs_follow(l, client);
    }
    l->is_newest_first = is_view && !l->is_oldest;
    const arcp_status status =
        is_view ? arcp__jobs_read_view(l, client, &err) : read_draft(l, client, &err);
    if (status != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    return arcp__jobs_print_all(l) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

int arcp__command_jobs(arcp__program *program)
{
    listing l = {.program = program,
                 .parent = arcp_buf_init(),
                 .now_wall_ns = arcp__now_wall_ns(),
                 .columns = arcp__output_columns()};
    arcp_error err = {0};
    const bool follows = arcp__has(&program->arguments, ARCP__OPTION_JOBS_FOLLOW);
    const int exit_status = read_filters(&program->arguments, &l, &err) != ARCP_OK
                                ? arcp__program_usage(program, &err)
                            : follows ? arcp__program_live(program, list_jobs, &l)
                                      : arcp__program_request(program, list_jobs, &l);
    arcp__jobs_clear(&l);
    arcp__free(l.rows);
    arcp_buf_fini(&l.parent);
    return exit_status;
}
