/* `arcp events`: the events of all jobs that the principal may see, as they come. The runtime
 * reports new jobs (live.c), which are subscribed to from their first event.
 *
 * Ids are in the order in which jobs were created. So the newest id that was seen divides the jobs
 * that are followed, or had ended, from those that are new. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "base/alloc.h"

#define SHORT_ID_SIZE 8
#define ID_SIZE       64

typedef struct events {
    arcp__program *program;
    arcp__live live;
    arcp__line_style style;
    arcp__format format;
    char newest[ID_SIZE]; /* id; "": none was seen */
    char newer[ID_SIZE];  /* the newest of a report or a listing that is being read */
    bool is_first_look;   /* the jobs ran before: they are followed from now on */
    arcp_job **jobs;      /* handles */
    size_t count, capacity;
    arcp_error *err;
} events;

/* ---- which jobs ---- */

static bool on_job(void *user, arcp__asked *page, arcp_json_ref row)
{
    events *e = user;
    const arcp_span id = arcp__asked_text(page, row, "job_id");
    if (id.size >= ID_SIZE || (!e->is_first_look && strncmp(id.data, e->newest, id.size) <= 0)) {
        return true;
    }
    arcp_job **grown = arcp__make_room(e->jobs, e->count, &e->capacity, sizeof *grown);
    if (grown == NULL) {
        (void)arcp_error_set(e->err, ARCP_E_NO_MEMORY, "out of memory");
        return false;
    }
    e->jobs = grown;
    const uint64_t from = 0;
    const arcp_status status = arcp__job_attach(e->live.client, id, e->is_first_look ? NULL : &from,
                                                &e->jobs[e->count], e->err);
    if (status == ARCP_E_JOB_NOT_FOUND) { /* it was removed meanwhile */
        *e->err = (arcp_error){.details = e->err->details};
        return true;
    }
    if (status != ARCP_OK) {
        return false;
    }
    e->count++;
    if (strncmp(id.data, e->newer, id.size) > 0) {
        memcpy(e->newer, id.data, id.size);
        e->newer[id.size] = '\0';
    }
    return true;
}

static bool on_newest(void *user, arcp__asked *page, arcp_json_ref row)
{
    events *e = user;
    const arcp_span id = arcp__asked_text(page, row, "job_id");
    if (id.size < ID_SIZE) {
        memcpy(e->newest, id.data, id.size);
    }
    return false;
}

static arcp_status ask_jobs(events *e, const char *order, const char *filter, const char *from,
                            bool (*each)(void *user, arcp__asked *page, arcp_json_ref row))
{
    arcp_buf payload = arcp_buf_init();
    const bool is_of_all = e->live.principals[0] != '\0';
    arcp_buf_append_format(&payload, "{\"order\":\"%s\",\"filter\":{%s%s%s}", order,
                           is_of_all ? "\"principal\":\"*\"" : "",
                           is_of_all && filter[0] != '\0' ? "," : "", filter);
    const arcp_status status =
        payload.failed ? arcp_error_set(e->err, ARCP_E_NO_MEMORY, "out of memory")
                       : arcp__ask_pages_from(e->live.client, "jobs", arcp_buf_cstr(&payload), from,
                                              "jobs", each, e, e->err);
    arcp_buf_fini(&payload);
    return status == ARCP_OK ? e->err->status : status;
}

/* All jobs of a report, or of a listing, were seen. */
static void note_newest(events *e)
{
    if (strcmp(e->newer, e->newest) > 0) {
        memcpy(e->newest, e->newer, sizeof e->newest);
    }
}

static arcp_status look_first(events *e)
{
    arcp_status status = ask_jobs(e, "newest", "", "", on_newest);
    e->is_first_look = true;
    if (status == ARCP_OK) {
        status = ask_jobs(e, "oldest", "\"status\":[\"running\",\"pending\"]", "", on_job);
    }
    e->is_first_look = false;
    note_newest(e);
    return status;
}

static arcp_status look_again(events *e)
{
    const arcp_status status = ask_jobs(e, "oldest", "", e->newest, on_job);
    note_newest(e);
    return status;
}

/* ---- printing ---- */

static void append_json(const arcp_client_event *event, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"job_id\":");
    arcp_json_quote(arcp_job_id(event->job), out);
    arcp_buf_append_cstr(out, event->type == ARCP_CLIENT_JOB_ENDED ? ",\"end\":" : ",\"event\":");
    arcp_buf_append(out, arcp_client_event_payload(event));
    arcp_buf_append_byte(out, '}');
}

/* False: the event has no line. */
static bool append_line(const events *e, const arcp_client_event *event, arcp_buf *out)
{
    const arcp_span id = arcp_job_id(event->job);
    arcp_buf_append(out,
                    id.size > SHORT_ID_SIZE ? arcp_span_from(id, id.size - SHORT_ID_SIZE) : id);
    arcp_buf_append_byte(out, ' ');
    arcp__append_cell(out, arcp_job_agent(event->job), 16, false);
    if (event->type != ARCP_CLIENT_JOB_ENDED) {
        return arcp__event_line(&e->style, event, out);
    }
    const arcp_outcome *outcome = arcp_job_outcome(event->job);
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, arcp_job_status_name(outcome->final_status));
    if (outcome->error != NULL) {
        arcp_buf_append_format(&text, ": %s", outcome->error->message);
    }
    arcp__plain_line(&e->style, "ended",
                     outcome->error != NULL ? ARCP__COLOR_RED : ARCP__COLOR_GREEN,
                     arcp_buf_span(&text), out);
    arcp_buf_fini(&text);
    return true;
}

static bool print_event(const events *e, const arcp_client_event *event)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_buf text = arcp_buf_init();
    arcp_buf yaml = arcp_buf_init();
    arcp_json json = ARCP__JSON_INIT;
    switch (e->format) {
    case ARCP__FORMAT_TABLE:
        if (append_line(e, event, &text)) {
            return arcp__program_print_text_line(e->program, &text);
        }
        arcp_buf_fini(&text);
        return true;
    case ARCP__FORMAT_NAME:
        return arcp__program_print_line(e->program, arcp_job_id(event->job));
    case ARCP__FORMAT_JSON:
        append_json(event, &text);
        return arcp__program_print_buf_line(e->program, &text);
    case ARCP__FORMAT_YAML:
        break;
    }
    append_json(event, &text);
    yaml.failed =
        text.failed || arcp_json_scan(&json, arcp_buf_span(&text), &limits, NULL) != ARCP_OK;
    arcp__append_yaml(&json, true, &yaml);
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    return arcp__program_print_buf(e->program, &yaml);
}

/* The job's handle is given back. */
static void end_job(events *e, arcp_job *job)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->jobs[i] == job) {
            e->jobs[i] = e->jobs[--e->count];
            arcp_job_unref(job);
            return;
        }
    }
}

/* ---- the command ---- */

static int follow(arcp__program *program, arcp_client *client, void *user)
{
    events *e = user;
    arcp_error err = {.details = &program->error_details};
    bool goes_on = true;
    e->err = &err;
    e->live = (arcp__live){.program = program,
                           .client = client,
                           .principals = arcp__sees_all(client) ? "*" : "",
                           .row = on_job,
                           .user = e};
    arcp_status status = arcp__live_begin(&e->live, &err);
    if (status == ARCP_OK) {
        status = look_first(e);
    }
    while (status == ARCP_OK && goes_on) {
        const arcp_client_event *event = NULL;
        bool loads = false;
        status = arcp__live_next(&e->live, ARCP_WAIT_FOREVER, &event, &loads, &err);
        status = status == ARCP_OK ? err.status : status;
        if (status == ARCP_OK && event->job != NULL &&
            (event->type == ARCP_CLIENT_JOB_EVENT || event->type == ARCP_CLIENT_JOB_ENDED)) {
            goes_on = print_event(e, event);
        }
        if (status == ARCP_OK && event->type == ARCP_CLIENT_JOB_ENDED) {
            end_job(e, event->job);
        }
        note_newest(e);
        if (status == ARCP_OK && loads) {
            status = look_again(e);
        }
    }
    return status == ARCP_OK ? ARCP__EXIT_ERROR : arcp__program_fail(program, &err);
}

int arcp__command_events(arcp__program *program)
{
    events e = {.program = program, .style = arcp__program_style(program, 0)};
    arcp_error err = {0};
    e.style.has_color = e.style.has_color && arcp__output_columns() != 0;
    const int exit_status =
        arcp__format_read(program, ARCP__OPTION_EVENTS_OUTPUT, &e.format, &err) == ARCP_OK
            ? arcp__program_live(program, follow, &e)
            : arcp__program_usage(program, &err);
    for (size_t i = 0; i < e.count; i++) {
        arcp_job_unref(e.jobs[i]);
    }
    arcp__free(e.jobs);
    return exit_status;
}
