#include "scenarios.h"

static bool list(fixture *f)
{
    arcp_client *client = fixture_join(f);
    for (int i = 0; i < 3; i++) {
        if (fixture_outcome(f, fixture_start(f, client, "echo", "{}")) == NULL) {
            return false;
        }
    }
    size_t seen[3] = {0, 0, 0};
    arcp_buf cursor = arcp_buf_init();
    arcp_list_options options = arcp_list_options_init();
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.limit = 2;
    do {
        options.cursor = arcp_buf_span(&cursor);
        arcp_job_page *page = fixture_list(f, client, &options);
        if (page == NULL) {
            arcp_buf_fini(&cursor);
            return false;
        }
        for (size_t i = 0; i < arcp_job_page_count(page); i++) {
            const arcp_job_row row = arcp_job_page_row(page, i);
            for (size_t job = 0; job < 3; job++) {
                seen[job] += row.status == ARCP_JOB_SUCCESS &&
                             arcp_span_equal(row.job_id, arcp_job_id(f->jobs[job]));
            }
        }
        arcp_buf_clear(&cursor);
        arcp_buf_append(&cursor, arcp_job_page_next_cursor(page));
        arcp_job_page_free(page);
    } while (cursor.size != 0);
    arcp_buf_fini(&cursor);
    return (seen[0] == 1 && seen[1] == 1 && seen[2] == 1) ||
           fixture_gap(f, "three jobs are listed %zu, %zu and %zu times", seen[0], seen[1],
                       seen[2]);
}

static bool observe(fixture *f, bool history)
{
    const arcp_job *job = fixture_start_gated(f, fixture_join(f));
    arcp_client *observer = job == NULL ? NULL : fixture_join(f);
    if (observer == NULL) {
        return false;
    }
    arcp_subscribe_options options = arcp_subscribe_options_init();
    options.job_id = arcp_job_id(job);
    options.history = history;
    arcp_job *seen = NULL;
    if (arcp_client_subscribe(observer, &options, ARCP_WAIT_DEFAULT, &seen, &f->err) != ARCP_OK) {
        return fixture_gap(f, "cannot subscribe: %s", f->err.message);
    }
    (void)fixture_keep(f, seen);
    bool works = true;
    for (int next = history ? 1 : 2; works && next <= 3; next++) {
        if (next == 2) {
            fixture_open_gate(f);
        }
        const arcp_event_body *body = fixture_event(f, seen, ARCP_EVENT_PROGRESS);
        works = body != NULL;
        if (works && body->progress.current.data[0] != '0' + next) {
            works = fixture_gap(f, "event %s came, %d was next", body->progress.current.data, next);
        }
    }
    return works && fixture_results_in(f, seen, "\"open\"") && fixture_is_alive(f, observer);
}

static bool subscribe(fixture *f)
{
    return observe(f, false);
}

static bool history(fixture *f)
{
    return observe(f, true);
}

static bool asks_for_unknown(fixture *f, arcp_client *client)
{
    arcp_subscribe_options options = arcp_subscribe_options_init();
    options.job_id = ARCP_SPAN_LITERAL("job_01ARZ3NDEKTSV4RRFFQ69G5FAV");
    arcp_job *seen = NULL;
    const arcp_status status =
        arcp_client_subscribe(client, &options, ARCP_WAIT_DEFAULT, &seen, &f->err);
    arcp_job_unref(seen);
    return status == ARCP_E_JOB_NOT_FOUND ||
           fixture_gap(f, "a subscription to an unknown job gave %s", arcp_status_text(status));
}

static bool denied(fixture *f)
{
    arcp_client *client = fixture_join(f);
    if (client == NULL || !asks_for_unknown(f, client)) {
        return false;
    }
    arcp_job *job = fixture_start_gated(f, client);
    if (job == NULL || !asks_for_unknown(f, client)) {
        return false;
    }
    fixture_open_gate(f);
    return fixture_results_in(f, job, "\"open\"");
}

/* ---- resuming ---- */

/* Reads events up to the number `to`; the numbers `from` to `to` must be received once and in
 * order. */
static bool reads_numbers(fixture *f, arcp_client *client, uint64_t from, uint64_t to)
{
    while (from <= to) {
        const arcp_client_event *event = NULL;
        if (arcp_client_next_event(client, DEADLINE_MS, &event, &f->err) != ARCP_OK) {
            return fixture_gap(f, "the next event does not come: %s", f->err.message);
        }
        if (event->event_seq != 0 && event->event_seq != from++) {
            return fixture_gap(f, "event %llu came, %llu was next",
                               (unsigned long long)event->event_seq, (unsigned long long)from - 1);
        }
    }
    return true;
}

/* Cuts the connection of a job that has sent its first events, and resumes the session: from the
 * last event, or from the start. */
static bool come_back(fixture *f, bool from_start)
{
    arcp_client *client = fixture_join(f);
    const arcp_job *job = fixture_start_gated(f, client);
    arcp_buf storage = arcp_buf_init();
    arcp_client_options options = fixture_options(f);
    options.observe_all = true;
    if (job == NULL ||
        arcp_client_session_state(client, &storage, &options.resume, &f->err) != ARCP_OK) {
        arcp_buf_fini(&storage);
        return fixture_gap(f, "there is no session to come back to");
    }
    const uint64_t seen = options.resume.last_event_seq;
    if (from_start) {
        options.resume.last_event_seq = 0;
    }
    fixture_cut(f, client);
    if (!from_start) {
        fixture_open_gate(f);
    }
    client = fixture_connect(f, &options);
    arcp_buf_fini(&storage);
    if (client == NULL) {
        return false;
    }
    /* Two more pieces of progress, and the result. */
    return from_start ? reads_numbers(f, client, 1, seen)
                      : reads_numbers(f, client, seen + 1, seen + 3);
}

static bool resume(fixture *f)
{
    return come_back(f, false);
}

static bool replay(fixture *f)
{
    return come_back(f, true);
}

const scenario observer_scenarios[] = {
    {"list", list},     {"subscribe", subscribe}, {"history", history}, {"denied", denied},
    {"resume", resume}, {"replay", replay},       {NULL, NULL},
};
