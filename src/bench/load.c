/* One loop, many clients.
 *
 *   CONNECTING  opens the sessions, a few at a time
 *   WARMING     jobs are in flight and nothing is counted
 *   MEASURING   jobs and events are counted
 *   DRAINING    submits no more jobs; those in flight may end, for at most DRAIN_MS
 *   CLOSING     closes every session
 *
 * A job counts if it ends during MEASURING. */
#include "bench/bench.h"

#include <sys/resource.h>
#include <uv.h>

#include "base/alloc.h"
#include "cli/cli.h"

#define OPENING_MAX  32 /* concurrent handshakes: runtimes limit them per address */
#define TICK_MS      100
#define DRAIN_MS     10000
#define FAILURES_MAX 20 /* without any success: then the run is given up */

typedef enum phase { CONNECTING, WARMING, MEASURING, DRAINING, CLOSING } phase;

/* A slot for a job in flight. */
typedef struct job {
    struct session *session;
    struct job *next_free;
    uint64_t submitted_ns;
} job;

/* A session. */
typedef struct session {
    struct load *load;
    arcp_client *client; /* NULL: not opened yet, or closed */
    bool is_open;
    uint32_t job_count; /* 0: an idle one */
    job *jobs;          /* owned */
    job *free_jobs;
} session;

typedef struct load {
    const arcp__load_options *options;
    arcp__load_result *result;
    uv_loop_t loop;
    uv_timer_t ticker, timer;
    uv_signal_t interrupt;
    uv_idle_t busy_poller; /* while active it keeps the loop from sleeping */
    phase phase;
    session *sessions; /* owned */
    uint32_t session_count, next_session, opening, open, closed;
    uint32_t in_flight;
    bool has_ping_in_flight;
    bool has_failed;
    uint64_t began_ns;
    int64_t cpu_before_ns;
} load;

static void open_more(load *l);
static void fill(session *s);
static void stop_when_closed(load *l);
static void on_timer(uv_timer_t *timer);

static bool is_idle(const session *s)
{
    return s->job_count == 0;
}

/* ---- phases ---- */

/* Processor time used by this process so far. */
static int64_t cpu_ns(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * ARCP_NS_PER_SEC +
           (int64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

static void close_all(load *l)
{
    l->phase = CLOSING;
    (void)uv_timer_stop(&l->timer);
    for (uint32_t i = 0; i < l->session_count; i++) {
        if (l->sessions[i].client != NULL) {
            arcp_client_close(l->sessions[i].client);
        }
    }
    stop_when_closed(l);
}

static void drain(load *l)
{
    if (l->phase == MEASURING) {
        l->result->measured_ns = (int64_t)(uv_hrtime() - l->began_ns);
        l->result->cpu_ns = cpu_ns() - l->cpu_before_ns;
    }
    l->phase = DRAINING;
    if (l->in_flight == 0) {
        close_all(l);
    } else {
        (void)uv_timer_start(&l->timer, on_timer, DRAIN_MS, 0);
    }
}

static void measure(load *l)
{
    l->phase = MEASURING;
    l->began_ns = uv_hrtime();
    l->cpu_before_ns = cpu_ns();
    if (l->options->jobs == 0) {
        /* The loop's clock is in whole milliseconds and may be stale: rather end late than early.
         */
        uv_update_time(&l->loop);
        (void)uv_timer_start(&l->timer, on_timer,
                             (uint64_t)(l->options->duration_ns / ARCP_NS_PER_MS) + 1, 0);
    }
}

/* The time of the phase is up. */
static void on_timer(uv_timer_t *timer)
{
    load *l = timer->data;
    switch (l->phase) {
    case WARMING:
        measure(l);
        return;
    case MEASURING:
        drain(l);
        return;
    case DRAINING:
        close_all(l);
        return;
    case CONNECTING:
    case CLOSING:
        return;
    }
}

static void warm_up(load *l)
{
    l->result->connect_ns = (int64_t)(uv_hrtime() - l->began_ns);
    arcp__runtime_name(l->sessions[0].client, &l->result->runtime);
    l->phase = WARMING;
    if (l->options->warmup_ns == 0) {
        measure(l);
    } else {
        (void)uv_timer_start(&l->timer, on_timer,
                             (uint64_t)(l->options->warmup_ns / ARCP_NS_PER_MS), 0);
    }
    for (uint32_t i = 0; i < l->session_count && l->phase < DRAINING; i++) {
        fill(&l->sessions[i]);
    }
}

static void keep_failure(load *l, const arcp_error *failure)
{
    (void)arcp_error_copy(&l->result->first_failure, failure);
}

/* Ends the run without a result. */
static void give_up(load *l, const arcp_error *failure)
{
    if (!l->has_failed && l->result->first_failure.status == ARCP_OK) {
        keep_failure(l, failure);
    }
    l->has_failed = true;
    if (l->phase != CLOSING) {
        close_all(l);
    }
}

/* ---- jobs ---- */

static void note_failure(load *l, const arcp_error *failure)
{
    if (l->result->failed++ == 0) {
        keep_failure(l, failure);
    }
    if (l->result->failed >= FAILURES_MAX && l->result->ended.count == 0 && l->result->jobs == 0) {
        give_up(l, failure);
    }
}

/* Frees the slot of a job that has ended or was refused, and submits the next job. */
static void finish(job *j)
{
    session *s = j->session;
    load *l = s->load;
    j->next_free = s->free_jobs;
    s->free_jobs = j;
    l->in_flight--;
    if (l->phase == DRAINING && l->in_flight == 0) {
        close_all(l);
    } else if (l->phase == WARMING || l->phase == MEASURING) {
        fill(s);
    }
}

static void on_accepted(void *user, arcp_client *client, const arcp_reply *reply)
{
    job *j = user;
    load *l = j->session->load;
    if (l->phase == CLOSING) {
        arcp_job_unref(reply->job);
        return;
    }
    if (reply->status != ARCP_OK) {
        note_failure(l, reply->error);
        finish(j);
        return;
    }
    if (l->phase == MEASURING) {
        (void)arcp__samples_add(&l->result->accepted, (int64_t)(uv_hrtime() - j->submitted_ns));
    }
    arcp_job_unref(reply->job); /* its end is reported nevertheless */
}

static arcp_status count_bytes(void *user, arcp_span bytes, arcp_error *err)
{
    const load *l = user;
    if (l->phase == MEASURING) {
        l->result->result_bytes += bytes.size;
    }
    return ARCP_OK;
}

static void submit(session *s)
{
    load *l = s->load;
    job *j = s->free_jobs;
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {0};
    options.agent = l->options->agent;
    options.input = l->options->input;
    options.result.mode = ARCP_RESULT_CALLBACK;
    options.result.write = count_bytes;
    options.result.user = l;
    options.user = j;
    j->submitted_ns = uv_hrtime();
    if (arcp_client_submit_start(s->client, &options, on_accepted, j, &err) != ARCP_OK) {
        give_up(l, &err);
        return;
    }
    s->free_jobs = j->next_free;
    l->in_flight++;
}

/* Submits jobs into the free slots, but no more than --jobs in all. */
static void fill(session *s)
{
    const load *l = s->load;
    while (s->free_jobs != NULL && (l->phase == WARMING || l->phase == MEASURING)) {
        if (l->options->jobs != 0 && l->phase == MEASURING &&
            l->result->jobs + l->in_flight >= l->options->jobs) {
            return;
        }
        submit(s);
    }
}

static void on_job_ended(session *s, const arcp_client_event *event)
{
    load *l = s->load;
    job *j = arcp_job_user(event->job);
    const arcp_outcome *outcome = arcp_job_outcome(event->job);
    if (j == NULL || l->phase == CLOSING) {
        return; /* a child of one of our jobs */
    }
    if (outcome->status != ARCP_OK) {
        note_failure(l, outcome->error);
    } else if (l->phase == MEASURING) {
        l->result->jobs++;
        (void)arcp__samples_add(&l->result->ended, (int64_t)(uv_hrtime() - j->submitted_ns));
        if (l->result->jobs == l->options->jobs) {
            drain(l);
        }
    }
    finish(j);
}

/* ---- sessions ---- */

static void on_closed(session *s, const arcp_client_event *event)
{
    load *l = s->load;
    const bool was_open = s->is_open;
    arcp_client_free(s->client);
    s->client = NULL;
    l->closed++;
    l->opening -= was_open ? 0 : 1;
    if (l->phase == CLOSING) {
        stop_when_closed(l);
        return;
    }
    if (is_idle(s) && was_open) {
        l->result->idle_lost++;
    } else if (event->error != NULL) {
        give_up(l, event->error);
    }
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    session *s = user;
    load *l = s->load;
    switch (event->type) {
    case ARCP_CLIENT_CONNECTED:
        s->is_open = true;
        l->opening--;
        l->open++;
        if (l->phase == CONNECTING && l->open == l->session_count) {
            warm_up(l);
        } else if (l->phase == CONNECTING) {
            open_more(l);
        }
        return;
    case ARCP_CLIENT_DISCONNECTED:
        l->result->reconnects++;
        return;
    case ARCP_CLIENT_JOB_EVENT:
        l->result->events += l->phase == MEASURING;
        return;
    case ARCP_CLIENT_JOB_ENDED:
        l->result->events += l->phase == MEASURING;
        on_job_ended(s, event);
        return;
    case ARCP_CLIENT_CLOSED:
        on_closed(s, event);
        return;
    case ARCP_CLIENT_RESUMED:
    case ARCP_CLIENT_JOB_ADDED:
    case ARCP_CLIENT_NOTICE:
    case ARCP_CLIENT_JOBS_CHANGED:
    case ARCP_CLIENT_FIGURES:
    case ARCP_CLIENT_WATCH_ENDED:
        return;
    }
}

static void open_more(load *l)
{
    while (l->opening < OPENING_MAX && l->next_session < l->session_count &&
           l->phase == CONNECTING) {
        session *s = &l->sessions[l->next_session];
        arcp_error err = {0};
        if (arcp_client_connect_start(l->options->client, &l->loop, on_event, s, &s->client,
                                      &err) != ARCP_OK) {
            give_up(l, &err);
            return;
        }
        l->next_session++;
        l->opening++;
    }
}

/* ---- the loop ---- */

static void on_pong(void *user, arcp_client *client, const arcp_reply *reply)
{
    load *l = user;
    l->has_ping_in_flight = false;
    if (reply->status == ARCP_OK && l->phase == MEASURING) {
        (void)arcp__samples_add(&l->result->pings, reply->round_trip_ns);
    }
}

static void on_tick(uv_timer_t *timer)
{
    static const char *const names[] = {"connecting", "warming up", "measuring", "draining",
                                        "closing"};
    load *l = timer->data;
    const session *last = &l->sessions[l->session_count - 1];
    if (l->phase == MEASURING && !l->has_ping_in_flight && last->client != NULL) {
        l->has_ping_in_flight = arcp_client_ping_start(last->client, on_pong, l, NULL) == ARCP_OK;
    }
    if (l->options->tick != NULL) {
        l->options->tick(l->options->user, names[l->phase], l->result);
    }
}

static void on_interrupt(uv_signal_t *handle, int number)
{
    load *l = handle->data;
    if (!l->result->was_interrupted && (l->phase == WARMING || l->phase == MEASURING)) {
        l->result->was_interrupted = true;
        drain(l);
    } else if (l->phase != CLOSING) {
        l->result->was_interrupted = true;
        close_all(l);
    }
}

static void on_busy_poll(uv_idle_t *handle)
{
    (void)handle;
}

static void stop_when_closed(load *l)
{
    if (l->opening != 0 || l->closed != l->next_session) {
        return;
    }
    uv_close((uv_handle_t *)&l->busy_poller, NULL);
    uv_close((uv_handle_t *)&l->ticker, NULL);
    uv_close((uv_handle_t *)&l->timer, NULL);
    uv_close((uv_handle_t *)&l->interrupt, NULL);
}

static arcp_status make_sessions(load *l, arcp_error *err)
{
    const arcp__load_options *options = l->options;
    l->session_count = options->sessions + options->idle;
    l->sessions = arcp__alloc_array(l->session_count, sizeof *l->sessions);
    if (l->sessions == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < l->session_count; i++) {
        session *made = &l->sessions[i];
        *made = (session){.load = l};
        if (i >= options->sessions) {
            continue;
        }
        made->job_count = options->in_flight / options->sessions +
                          (i < options->in_flight % options->sessions ? 1 : 0);
        made->jobs = arcp__alloc_array(made->job_count, sizeof *made->jobs);
        if (made->jobs == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        for (uint32_t row = 0; row < made->job_count; row++) {
            made->jobs[row] = (job){.session = made, .next_free = made->free_jobs};
            made->free_jobs = &made->jobs[row];
        }
    }
    return ARCP_OK;
}

static arcp_status run(load *l, arcp_error *err)
{
    if (uv_loop_init(&l->loop) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot create an event loop");
    }
    /* These cannot fail on an initialised loop. */
    (void)uv_timer_init(&l->loop, &l->ticker);
    (void)uv_timer_init(&l->loop, &l->timer);
    (void)uv_signal_init(&l->loop, &l->interrupt);
    (void)uv_idle_init(&l->loop, &l->busy_poller);
    l->ticker.data = l;
    l->timer.data = l;
    l->interrupt.data = l;
    (void)uv_timer_start(&l->ticker, on_tick, TICK_MS, TICK_MS);
    (void)uv_signal_start(&l->interrupt, on_interrupt, SIGINT);
    if (l->options->busy_poll) {
        (void)uv_idle_start(&l->busy_poller, on_busy_poll);
    }
    l->began_ns = uv_hrtime();
    open_more(l);
    (void)uv_run(&l->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&l->loop) == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "handles remain on the event loop");
}

arcp_status arcp__load_run(const arcp__load_options *options, arcp__load_result *out)
{
    load l = {.options = options, .result = out};
    arcp_error err = {0};
    *out = (arcp__load_result){0};
    arcp_status status = make_sessions(&l, &err) == ARCP_OK ? run(&l, &err) : err.status;
    for (uint32_t i = 0; l.sessions != NULL && i < l.session_count; i++) {
        arcp__free(l.sessions[i].jobs);
    }
    arcp__free(l.sessions);
    if (status != ARCP_OK) {
        (void)arcp_error_copy(&out->first_failure, &err);
    } else if (l.has_failed) {
        status = out->first_failure.status;
    }
    return status;
}

void arcp__load_result_fini(arcp__load_result *result)
{
    arcp_buf_fini(&result->runtime);
    arcp__samples_fini(&result->accepted);
    arcp__samples_fini(&result->ended);
    arcp__samples_fini(&result->pings);
}
