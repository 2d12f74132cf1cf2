/* `arcp events`: the events of all jobs that the principal may see, as they come. Each second the
 * jobs that were created meanwhile are looked up, and subscribed to from their first event. */
#include <stdio.h>
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "base/alloc.h"
#include "base/timestamp.h"

#define LOOK_MS       1000
#define SHORT_ID_SIZE 8

typedef struct followed {
    char id[64];
    arcp_job *job; /* a handle; NULL: it has ended */
} followed;

typedef struct events {
    arcp__program *program;
    arcp_client *client;
    arcp__line_style style;
    bool is_of_all;  /* principals */
    bool has_looked; /* the jobs that ran at the start are known */
    /* When the newest job of the look before, and of the last one, was created, by the runtime's
     * clock. Jobs of the same instant may come later, so the next look begins at the former. */
    char since[ARCP__TIMESTAMP_SIZE + 1], newest[ARCP__TIMESTAMP_SIZE + 1];
    followed *jobs;
    size_t count, capacity;
    arcp_error *err;
    bool has_failed;
} events;

static bool is_known(const events *e, arcp_span id)
{
    for (size_t i = e->count; i > 0; i--) {
        if (arcp_span_equal_cstr(id, e->jobs[i - 1].id)) {
            return true;
        }
    }
    return false;
}

static void note_created(events *e, const arcp__asked *page, arcp_json_ref row)
{
    const arcp_span created = arcp__asked_text(page, row, "created_at");
    if (created.size == ARCP__TIMESTAMP_SIZE &&
        memcmp(created.data, e->newest, ARCP__TIMESTAMP_SIZE) > 0) {
        memcpy(e->newest, created.data, ARCP__TIMESTAMP_SIZE);
    }
}

static bool on_newest(void *user, arcp__asked *page, arcp_json_ref row)
{
    note_created(user, page, row);
    return false;
}

/* Jobs that ran before are followed from now on, the others from their first event. */
static bool on_job(void *user, arcp__asked *page, arcp_json_ref row)
{
    events *e = user;
    const arcp_span id = arcp__asked_text(page, row, "job_id");
    followed *grown = NULL;
    note_created(e, page, row);
    if (is_known(e, id) || id.size >= sizeof e->jobs->id) {
        return true;
    }
    grown = arcp__make_room(e->jobs, e->count, &e->capacity, sizeof *grown);
    if (grown == NULL) {
        e->has_failed = true;
        return false;
    }
    e->jobs = grown;
    followed *fresh = &e->jobs[e->count];
    *fresh = (followed){.job = NULL};
    memcpy(fresh->id, id.data, id.size);
    const uint64_t from = 0;
    const arcp_status status = arcp__job_attach(e->client, arcp_span_cstr(fresh->id),
                                                e->has_looked ? &from : NULL, &fresh->job, e->err);
    if (status != ARCP_OK && status != ARCP_E_JOB_NOT_FOUND) {
        e->has_failed = true;
        return false;
    }
    e->count++;
    return true;
}

/* `filter`: its members after the principal. */
static arcp_status ask_jobs(events *e, const char *order, const char *filter,
                            bool (*each)(void *user, arcp__asked *page, arcp_json_ref row),
                            arcp_error *err)
{
    char payload[256];
    (void)snprintf(payload, sizeof payload, "{\"order\":\"%s\",\"filter\":{%s%s%s}", order,
                   e->is_of_all ? "\"principal\":\"*\"" : "",
                   e->is_of_all && filter[0] != '\0' ? "," : "", filter);
    e->err = err;
    const arcp_status status = arcp__ask_pages(e->client, "jobs", payload, "jobs", each, e, err);
    if (status == ARCP_OK && e->has_failed && err->status == ARCP_OK) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return status == ARCP_OK && e->has_failed ? err->status : status;
}

static arcp_status look(events *e, arcp_error *err)
{
    char filter[96] = "\"status\":[\"running\",\"pending\"]";
    arcp_status status = ARCP_OK;
    if (e->has_looked) {
        (void)snprintf(filter, sizeof filter, "\"created_after\":\"%s\"", e->since);
        memcpy(e->since, e->newest, sizeof e->since);
    } else {
        memcpy(e->newest, "1970-01-01T00:00:00.000Z", sizeof e->newest);
        status = ask_jobs(e, "newest", "", on_newest, err);
        memcpy(e->since, e->newest, sizeof e->since);
    }
    if (status == ARCP_OK) {
        status = ask_jobs(e, "oldest", filter, on_job, err);
    }
    e->has_looked = true;
    return status;
}

/* ---- printing ---- */

static bool print_json(const events *e, const arcp_client_event *event, arcp_span id)
{
    arcp_buf line = arcp_buf_init();
    arcp_buf_append_cstr(&line, "{\"job_id\":");
    arcp_json_quote(id, &line);
    arcp_buf_append_cstr(&line, event->type == ARCP_CLIENT_JOB_ENDED ? ",\"end\":" : ",\"event\":");
    arcp_buf_append(&line, arcp_client_event_payload(event));
    arcp_buf_append_byte(&line, '}');
    return arcp__program_print_buf_line(e->program, &line);
}

static bool print_event(events *e, const arcp_client_event *event)
{
    const arcp_span id = arcp_job_id(event->job);
    arcp_buf line = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    bool has_line = true;
    if (e->program->is_json) {
        return print_json(e, event, id);
    }
    arcp_buf_append(&line,
                    id.size > SHORT_ID_SIZE ? arcp_span_from(id, id.size - SHORT_ID_SIZE) : id);
    arcp_buf_append_byte(&line, ' ');
    arcp__append_cell(&line, arcp_job_agent(event->job), 16, false);
    if (event->type == ARCP_CLIENT_JOB_ENDED) {
        const arcp_outcome *outcome = arcp_job_outcome(event->job);
        arcp_buf_append_cstr(&text, arcp_job_status_name(outcome->final_status));
        if (outcome->error != NULL) {
            arcp_buf_append_format(&text, ": %s", outcome->error->message);
        }
        arcp__plain_line(&e->style, "ended",
                         outcome->error != NULL ? ARCP__COLOR_RED : ARCP__COLOR_GREEN,
                         arcp_buf_span(&text), &line);
    } else {
        has_line = arcp__event_line(&e->style, event, &line);
    }
    arcp_buf_fini(&text);
    if (!has_line) {
        arcp_buf_fini(&line);
        return true;
    }
    return arcp__program_print_text_line(e->program, &line);
}

/* The job's handle is given back, and its id stays known. */
static void end_job(events *e, const arcp_job *job)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->jobs[i].job == job) {
            arcp_job_unref(e->jobs[i].job);
            e->jobs[i].job = NULL;
        }
    }
}

/* Prints what comes until it is time to look for jobs again. False: standard output is closed. */
static arcp_status print_events(events *e, bool *goes_on, arcp_error *err)
{
    const int64_t due_ns = arcp__now_wall_ns() + LOOK_MS * ARCP_NS_PER_MS;
    int64_t left_ms = LOOK_MS;
    while (left_ms > 0 && *goes_on) {
        const arcp_client_event *event = NULL;
        const arcp_status status = arcp_client_next_event(e->client, left_ms, &event, err);
        if (status == ARCP_E_DEADLINE) {
            return ARCP_OK;
        }
        if (status != ARCP_OK) {
            return status;
        }
        if (event->type == ARCP_CLIENT_JOB_EVENT || event->type == ARCP_CLIENT_JOB_ENDED) {
            *goes_on = print_event(e, event);
        }
        if (event->type == ARCP_CLIENT_JOB_ENDED) {
            end_job(e, event->job);
        }
        left_ms = (due_ns - arcp__now_wall_ns()) / ARCP_NS_PER_MS;
        left_ms = left_ms > LOOK_MS ? LOOK_MS : left_ms; /* the clock may be set */
    }
    return ARCP_OK;
}

static int follow(arcp__program *program, arcp_client *client, void *user)
{
    events *e = user;
    arcp_error err = {.details = &program->error_details};
    bool goes_on = true;
    arcp_status status = ARCP_OK;
    e->client = client;
    e->is_of_all = (arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_OPERATE)) != 0;
    while (status == ARCP_OK && goes_on) {
        status = look(e, &err);
        if (status == ARCP_OK) {
            status = print_events(e, &goes_on, &err);
        }
    }
    return status == ARCP_OK ? ARCP__EXIT_ERROR : arcp__program_fail(program, &err);
}

int arcp__command_events(arcp__program *program)
{
    events e = {.program = program, .style = arcp__program_style(program, 0)};
    e.style.has_color = e.style.has_color && arcp__output_columns() != 0;
    const int exit_status = arcp__program_request(program, follow, &e);
    for (size_t i = 0; i < e.count; i++) {
        arcp_job_unref(e.jobs[i].job);
    }
    arcp__free(e.jobs);
    return exit_status;
}
