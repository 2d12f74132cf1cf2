/* `arcp schedules`: when which agent is due. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"

typedef enum column { NAME, NEXT, LAST, JOB, STATE, PRINCIPAL, AGENT, COUNT } column;

static const arcp__column columns[COUNT] = {
    [NAME] = {"NAME", 16, 0},  [NEXT] = {"NEXT", 20, 0},   [LAST] = {"LAST", 20, 100},
    [JOB] = {"JOB", 30, 140},  [STATE] = {"STATE", 7, 80}, [PRINCIPAL] = {"PRINCIPAL", 12, 120},
    [AGENT] = {"AGENT", 0, 0},
};
static const arcp__table table = {.columns = columns, .count = COUNT};

/* A narrow terminal shows month, day and minute only. */
#define NARROW 60u
static const arcp__column narrow_columns[] = {{"NAME", 16, 0}, {"NEXT", 12, 0}, {"AGENT", 0, 0}};
static const arcp__table narrow_table = {.columns = narrow_columns, .count = 3};

/* Due times are whole seconds: the bytes from `begin` to `end` of 2026-01-31T12:00:00. */
static arcp_span time_of(arcp_span time, size_t begin, size_t end, char out[21])
{
    if (time.size < end) {
        return arcp_span_make(NULL, 0);
    }
    memcpy(out, time.data + begin, end - begin);
    out[end - begin] = 'Z';
    return arcp_span_make(out, end - begin + 1);
}

static arcp_span seconds_of(arcp_span time, char out[21])
{
    return time_of(time, 0, 19, out);
}

static bool print_row(arcp__listing *l, arcp__asked *page, arcp_json_ref row)
{
    char next[21];
    char last[21];
    const bool waits =
        arcp_json_is(&page->json, arcp_json_member(&page->json, row, ARCP_SPAN_LITERAL("waiting")),
                     ARCP_JSON_TRUE);
    if (l->columns != 0 && l->columns < NARROW) {
        const arcp_span few[] = {arcp__asked_text(page, row, "name"),
                                 time_of(arcp__asked_text(page, row, "next_due"), 5, 16, next),
                                 arcp__asked_text(page, row, "agent")};
        return (l->count != 0 ||
                arcp__print_table_row(l->program, &narrow_table, l->columns, NULL)) &&
               arcp__print_table_row(l->program, &narrow_table, l->columns, few);
    }
    const arcp_span cells[COUNT] = {
        [NAME] = arcp__asked_text(page, row, "name"),
        [NEXT] = seconds_of(arcp__asked_text(page, row, "next_due"), next),
        [LAST] = seconds_of(arcp__asked_text(page, row, "last_due"), last),
        [JOB] = arcp__asked_text(page, row, "last_job"),
        [STATE] = waits ? ARCP_SPAN_LITERAL("waiting") : ARCP_SPAN_LITERAL(""),
        [PRINCIPAL] = arcp__asked_text(page, row, "principal"),
        [AGENT] = arcp__asked_text(page, row, "agent"),
    };
    return (l->count != 0 || arcp__print_table_row(l->program, &table, l->columns, NULL)) &&
           arcp__print_table_row(l->program, &table, l->columns, cells);
}

static bool on_row(void *user, arcp__asked *page, arcp_json_ref row)
{
    arcp__listing *l = user;
    const bool is_printed = l->format == ARCP__FORMAT_TABLE
                                ? print_row(l, page, row)
                                : arcp__print_asked_row(l->program, l->format, page, row, "name");
    l->count++;
    l->has_failed = !is_printed;
    return is_printed;
}

static int schedules(arcp__program *program, arcp_client *client, void *user)
{
    arcp__listing *l = user;
    arcp_error err = {.details = &program->error_details};
    if (arcp__ask_pages(client, "schedules", "{", "schedules", on_row, l, &err) != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    if (l->count == 0 && !program->is_quiet) {
        arcp__screen_format(&program->screen, "no schedules");
    }
    return l->has_failed ? ARCP__EXIT_ERROR : ARCP__EXIT_SUCCESS;
}

int arcp__command_schedules(arcp__program *program)
{
    return arcp__command_listing(program, ARCP__OPTION_SCHEDULES_OUTPUT, NULL, schedules);
}
