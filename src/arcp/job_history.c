/* Reads the events of a job that the runtime keeps, up to the newest one at the time of the
 * request, and on from there when they are to be followed. */
#include "arcp/jobs.h"

#include <string.h>

#define RESULT_NONE ((arcp_result_sink){.mode = ARCP_RESULT_CALLBACK, .write = discard})

static arcp_status discard(void *user, arcp_span bytes, arcp_error *err)
{
    return ARCP_OK;
}

arcp_status arcp__job_attach(arcp_client *client, arcp_span id, const uint64_t *from,
                             arcp_job **out, arcp_error *err)
{
    arcp_subscribe_options options = arcp_subscribe_options_init();
    options.job_id = id;
    options.history = from != NULL;
    options.has_from_event_seq = from != NULL && *from != 0;
    options.from_event_seq = from == NULL ? 0 : *from;
    options.result = RESULT_NONE;
    return arcp_client_subscribe(client, &options, ARCP_WAIT_DEFAULT, out, err);
}

arcp_status arcp__job_detach(arcp_client *client, arcp_job **job, arcp_error *err)
{
    const arcp_status status = arcp_client_unsubscribe(client, arcp_job_id(*job), err);
    arcp_job_unref(*job);
    *job = NULL;
    return status;
}

bool arcp__job_newest_seq(const arcp_job *job, uint64_t *out)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    const bool is_known =
        arcp_json_scan(&json, arcp_job_descriptor(job), &limits, NULL) == ARCP_OK &&
        arcp_json_u64(&json,
                      arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("subscribed_from")),
                      out);
    arcp__json_fini(&json);
    return is_known;
}

/* ---- the newest event ---- */

typedef struct reader {
    const arcp__history *history;
    arcp_buf newest; /* the payload of the newest event when the request was made; empty: none */
    bool is_caught_up;
} reader;

/* Finds the newest event of a running job: it is the only one of the history after the number
 * before its own. */
static arcp_status find_newest(reader *r, uint64_t seq, arcp_error *err)
{
    const uint64_t before = seq - 1;
    const arcp_client_event *event = NULL;
    arcp_job *job = NULL;
    arcp_status status = arcp__job_attach(r->history->client, r->history->id, &before, &job, err);
    if (status != ARCP_OK) {
        return status;
    }
    do {
        status = arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, err);
    } while (status == ARCP_OK && event->type != ARCP_CLIENT_JOB_EVENT &&
             event->type != ARCP_CLIENT_JOB_ENDED);
    if (status == ARCP_OK) {
        arcp_buf_append(&r->newest, arcp_client_event_payload(event));
    }
    const arcp_status detached = arcp__job_detach(r->history->client, &job, err);
    return status == ARCP_OK ? detached : status;
}

/* Sets what the history ends with. */
static arcp_status find_end(reader *r, arcp_error *err)
{
    const arcp__history *history = r->history;
    arcp_job *job = NULL;
    uint64_t seq = 0;
    arcp_status status = arcp__job_attach(history->client, history->id, NULL, &job, err);
    if (status != ARCP_OK) {
        return status;
    }
    const bool has_ended = arcp_job_status_is_terminal(arcp_job_current_status(job));
    const bool is_known = arcp__job_newest_seq(job, &seq);
    status = arcp__job_detach(history->client, &job, err);
    if (status != ARCP_OK || has_ended) {
        return status;
    }
    if (!is_known && !history->follows) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "this runtime does not say where the events of a running job end "
                              "(--follow prints them as they come)");
    }
    r->is_caught_up = seq == 0;
    return seq == 0 ? ARCP_OK : find_newest(r, seq, err);
}

/* ---- all events ---- */

/* False: reading ends. */
static bool take_event(reader *r, const arcp_client_event *event)
{
    const arcp__history *history = r->history;
    if (event->type != ARCP_CLIENT_JOB_EVENT && event->type != ARCP_CLIENT_JOB_ENDED) {
        return true;
    }
    if (!history->event(history->user, event)) {
        return false;
    }
    const bool is_newest = !r->is_caught_up && arcp_span_equal(arcp_client_event_payload(event),
                                                               arcp_buf_span(&r->newest));
    if (is_newest || event->type == ARCP_CLIENT_JOB_ENDED) {
        r->is_caught_up = true;
        if (history->caught_up != NULL && !history->caught_up(history->user)) {
            return false;
        }
    }
    return event->type != ARCP_CLIENT_JOB_ENDED && (history->follows || !r->is_caught_up);
}

arcp_status arcp__history_read(const arcp__history *history, arcp_error *err)
{
    static const uint64_t start = 0;
    reader r = {.history = history, .newest = arcp_buf_init()};
    arcp_job *job = NULL;
    arcp_status status = find_end(&r, err);
    if (status == ARCP_OK) {
        status = arcp_buf_status(&r.newest);
    }
    if (status == ARCP_OK) {
        status = arcp__job_attach(history->client, history->id, &start, &job, err);
    }
    bool goes_on =
        status == ARCP_OK && (history->opened == NULL || history->opened(history->user, job));
    goes_on = goes_on && (history->follows || !r.is_caught_up);
    while (goes_on) {
        const arcp_client_event *event = NULL;
        status = arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, err);
        goes_on = status == ARCP_OK && take_event(&r, event);
    }
    arcp_job_unref(job);
    arcp_buf_fini(&r.newest);
    return status;
}
