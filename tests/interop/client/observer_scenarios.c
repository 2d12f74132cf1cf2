#include "scenarios.h"

static bool list(world *w)
{
    arcp_client *client = world_join(w);
    for (int i = 0; i < 3; i++) {
        if (world_outcome(w, world_start(w, client, "echo", "{}")) == NULL) {
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
        arcp_job_page *page = world_list(w, client, &options);
        if (page == NULL) {
            arcp_buf_fini(&cursor);
            return false;
        }
        for (size_t i = 0; i < arcp_job_page_count(page); i++) {
            const arcp_job_row row = arcp_job_page_row(page, i);
            for (size_t job = 0; job < 3; job++) {
                seen[job] += row.status == ARCP_JOB_SUCCESS &&
                             arcp_span_equal(row.job_id, arcp_job_id(w->jobs[job]));
            }
        }
        arcp_buf_clear(&cursor);
        arcp_buf_append(&cursor, arcp_job_page_next_cursor(page));
        arcp_job_page_free(page);
    } while (cursor.size != 0);
    arcp_buf_fini(&cursor);
    return (seen[0] == 1 && seen[1] == 1 && seen[2] == 1) ||
           world_gap(w, "three jobs are listed %zu, %zu and %zu times", seen[0], seen[1], seen[2]);
}

static bool observe(world *w, bool history)
{
    const arcp_job *job = world_start_gated(w, world_join(w));
    arcp_client *observer = job == NULL ? NULL : world_join(w);
    if (observer == NULL) {
        return false;
    }
    arcp_subscribe_options options = arcp_subscribe_options_init();
    options.job_id = arcp_job_id(job);
    options.history = history;
    arcp_job *seen = NULL;
    if (arcp_client_subscribe(observer, &options, ARCP_WAIT_DEFAULT, &seen, &w->err) != ARCP_OK) {
        return world_gap(w, "cannot subscribe: %s", w->err.message);
    }
    (void)world_keep(w, seen);
    bool works = true;
    for (int next = history ? 1 : 2; works && next <= 3; next++) {
        if (next == 2) {
            world_open_gate(w);
        }
        const arcp_event_body *body = world_event(w, seen, ARCP_EVENT_PROGRESS);
        works = body != NULL;
        if (works && body->progress.current.data[0] != '0' + next) {
            works = world_gap(w, "event %s came, %d was next", body->progress.current.data, next);
        }
    }
    return works && world_results_in(w, seen, "\"open\"") && world_is_alive(w, observer);
}

static bool subscribe(world *w)
{
    return observe(w, false);
}

static bool history(world *w)
{
    return observe(w, true);
}

static bool asks_for_unknown(world *w, arcp_client *client)
{
    arcp_subscribe_options options = arcp_subscribe_options_init();
    options.job_id = ARCP_SPAN_LITERAL("job_01ARZ3NDEKTSV4RRFFQ69G5FAV");
    arcp_job *seen = NULL;
    const arcp_status status =
        arcp_client_subscribe(client, &options, ARCP_WAIT_DEFAULT, &seen, &w->err);
    arcp_job_unref(seen);
    return status == ARCP_E_JOB_NOT_FOUND ||
           world_gap(w, "a subscription to an unknown job gave %s", arcp_status_text(status));
}

static bool denied(world *w)
{
    arcp_client *client = world_join(w);
    if (client == NULL || !asks_for_unknown(w, client)) {
        return false;
    }
    arcp_job *job = world_start_gated(w, client);
    if (job == NULL || !asks_for_unknown(w, client)) {
        return false;
    }
    world_open_gate(w);
    return world_results_in(w, job, "\"open\"");
}

/* ---- resuming ---- */

/* Reads events up to the number `to`; the numbers `from` to `to` must be received once and in
 * order. */
static bool reads_numbers(world *w, arcp_client *client, uint64_t from, uint64_t to)
{
    while (from <= to) {
        const arcp_client_event *event = NULL;
        if (arcp_client_next_event(client, DEADLINE_MS, &event, &w->err) != ARCP_OK) {
            return world_gap(w, "the next event does not come: %s", w->err.message);
        }
        if (event->event_seq != 0 && event->event_seq != from++) {
            return world_gap(w, "event %llu came, %llu was next",
                             (unsigned long long)event->event_seq, (unsigned long long)from - 1);
        }
    }
    return true;
}

/* Cuts the connection of a job that has sent its first events, and resumes the session: from the
 * last event, or from the start. */
static bool come_back(world *w, bool from_start)
{
    arcp_client *client = world_join(w);
    const arcp_job *job = world_start_gated(w, client);
    arcp_buf storage = arcp_buf_init();
    arcp_client_options options = world_options(w);
    options.observe_all = true;
    if (job == NULL ||
        arcp_client_session_state(client, &storage, &options.resume, &w->err) != ARCP_OK) {
        arcp_buf_fini(&storage);
        return world_gap(w, "there is no session to come back to");
    }
    const uint64_t seen = options.resume.last_event_seq;
    if (from_start) {
        options.resume.last_event_seq = 0;
    }
    world_cut(w, client);
    if (!from_start) {
        world_open_gate(w);
    }
    client = world_connect(w, &options);
    arcp_buf_fini(&storage);
    if (client == NULL) {
        return false;
    }
    /* Two more pieces of progress, and the result. */
    return from_start ? reads_numbers(w, client, 1, seen)
                      : reads_numbers(w, client, seen + 1, seen + 3);
}

static bool resume(world *w)
{
    return come_back(w, false);
}

static bool replay(world *w)
{
    return come_back(w, true);
}

const scenario observer_scenarios[] = {
    {"list", list},     {"subscribe", subscribe}, {"history", history}, {"denied", denied},
    {"resume", resume}, {"replay", replay},       {NULL, NULL},
};
