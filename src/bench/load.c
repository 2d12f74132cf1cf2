/* One loop, many clients.
 *
 *   CONNECTING  sessions are opened a few at a time, until all are there
 *   WARMING     jobs are in flight and nothing is counted
 *   MEASURING   what happens is counted
 *   DRAINING    no new jobs; those in flight may end, for a while
 *   CLOSING     every session says goodbye
 *
 * A job counts when it ends while it is measured. */
#include "bench/bench.h"

#include <sys/resource.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/timestamp.h"
#include "cli/cli.h"

#define OPENING_MAX   32 /* handshakes at the same time: runtimes bound them per address */
#define TICK_MS       100
#define DRAIN_MS      10000
#define VAIN_FAILURES 20 /* failures before any success: there will be none */
#define NS_PER_MS     INT64_C(1000000)

typedef enum phase { CONNECTING, WARMING, MEASURING, DRAINING, CLOSING } phase;

/* A job in flight. */
typedef struct shot {
    struct lane *lane;
    struct shot *next_free;
    uint64_t submitted_ns;
} shot;

/* A session. */
typedef struct lane {
    struct load *load;
    arcp_client *client; /* NULL: not opened yet, or closed */
    bool is_open;
    uint32_t shot_count; /* 0: an idle one */
    shot *shots;         /* owned */
    shot *free_shots;
} lane;

typedef struct load {
    const arcp__load_options *options;
    arcp__load_result *result;
    uv_loop_t loop;
    uv_timer_t ticker, timer;
    uv_signal_t interrupt;
    uv_idle_t looking; /* active: the loop does not sleep */
    phase phase;
    lane *lanes; /* owned */
    uint32_t lane_count, next_lane, opening, open, over;
    uint32_t in_flight;
    bool ping_is_out;
    bool has_failed;
    uint64_t began_ns;
    int64_t cpu_before_ns;
} load;

static void open_more(load *l);
static void fill(lane *at);
static void stop_when_over(load *l);
static void on_timer(uv_timer_t *timer);

static bool is_idle(const lane *at)
{
    return at->shot_count == 0;
}

/* ---- phases ---- */

/* What this process took of the processors so far. */
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
    for (uint32_t at = 0; at < l->lane_count; at++) {
        if (l->lanes[at].client != NULL) {
            arcp_client_close(l->lanes[at].client);
        }
    }
    stop_when_over(l);
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
        /* The loop's clock is in whole milliseconds and may be old: late rather than early. */
        uv_update_time(&l->loop);
        (void)uv_timer_start(&l->timer, on_timer,
                             (uint64_t)(l->options->duration_ns / NS_PER_MS) + 1, 0);
    }
}

/* The phase has taken its time. */
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
    arcp__runtime_name(l->lanes[0].client, &l->result->runtime);
    l->phase = WARMING;
    if (l->options->warmup_ns == 0) {
        measure(l);
    } else {
        (void)uv_timer_start(&l->timer, on_timer, (uint64_t)(l->options->warmup_ns / NS_PER_MS), 0);
    }
    for (uint32_t at = 0; at < l->lane_count && l->phase < DRAINING; at++) {
        fill(&l->lanes[at]);
    }
}

static void keep_failure(load *l, const arcp_error *failure)
{
    (void)arcp_error_copy(&l->result->first_failure, failure);
}

/* The run makes no sense any more. */
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
    if (l->result->failed >= VAIN_FAILURES && l->result->ended.count == 0 && l->result->jobs == 0) {
        give_up(l, failure);
    }
}

/* The job is over, however it went; another one takes its place. */
static void finish(shot *s)
{
    lane *at = s->lane;
    load *l = at->load;
    s->next_free = at->free_shots;
    at->free_shots = s;
    l->in_flight--;
    if (l->phase == DRAINING && l->in_flight == 0) {
        close_all(l);
    } else if (l->phase == WARMING || l->phase == MEASURING) {
        fill(at);
    }
}

static void on_accepted(void *user, arcp_client *client, const arcp_reply *reply)
{
    shot *s = user;
    load *l = s->lane->load;
    if (l->phase == CLOSING) {
        arcp_job_unref(reply->job);
        return;
    }
    if (reply->status != ARCP_OK) {
        note_failure(l, reply->error);
        finish(s);
        return;
    }
    if (l->phase == MEASURING) {
        (void)arcp__samples_add(&l->result->accepted, (int64_t)(uv_hrtime() - s->submitted_ns));
    }
    arcp_job_unref(reply->job); /* its end comes all the same */
}

static arcp_status count_bytes(void *user, arcp_span bytes, arcp_error *err)
{
    load *l = user;
    if (l->phase == MEASURING) {
        l->result->result_bytes += bytes.size;
    }
    return ARCP_OK;
}

static void submit(lane *at)
{
    load *l = at->load;
    shot *s = at->free_shots;
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_error err = {0};
    options.agent = l->options->agent;
    options.input = l->options->input;
    options.result.mode = ARCP_RESULT_CALLBACK;
    options.result.write = count_bytes;
    options.result.user = l;
    options.user = s;
    s->submitted_ns = uv_hrtime();
    if (arcp_client_submit_start(at->client, &options, on_accepted, s, &err) != ARCP_OK) {
        give_up(l, &err);
        return;
    }
    at->free_shots = s->next_free;
    l->in_flight++;
}

/* Submits as many as may be in flight, and no more than are wanted. */
static void fill(lane *at)
{
    load *l = at->load;
    while (at->free_shots != NULL && (l->phase == WARMING || l->phase == MEASURING)) {
        if (l->options->jobs != 0 && l->phase == MEASURING &&
            l->result->jobs + l->in_flight >= l->options->jobs) {
            return;
        }
        submit(at);
    }
}

static void on_job_ended(lane *at, const arcp_client_event *event)
{
    load *l = at->load;
    shot *s = arcp_job_user(event->job);
    const arcp_outcome *outcome = arcp_job_outcome(event->job);
    if (s == NULL || l->phase == CLOSING) {
        return; /* a job that one of ours delegated to somebody */
    }
    if (outcome->status != ARCP_OK) {
        note_failure(l, outcome->error);
    } else if (l->phase == MEASURING) {
        l->result->jobs++;
        (void)arcp__samples_add(&l->result->ended, (int64_t)(uv_hrtime() - s->submitted_ns));
        if (l->result->jobs == l->options->jobs) {
            drain(l);
        }
    }
    finish(s);
}

/* ---- sessions ---- */

static void on_closed(lane *at, const arcp_client_event *event)
{
    load *l = at->load;
    bool was_open = at->is_open;
    arcp_client_free(at->client);
    at->client = NULL;
    l->over++;
    l->opening -= was_open ? 0 : 1;
    if (l->phase == CLOSING) {
        stop_when_over(l);
        return;
    }
    if (is_idle(at) && was_open) {
        l->result->idle_lost++;
    } else if (event->error != NULL) {
        give_up(l, event->error);
    }
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    lane *at = user;
    load *l = at->load;
    switch (event->type) {
    case ARCP_CLIENT_CONNECTED:
        at->is_open = true;
        l->opening--;
        l->open++;
        if (l->phase == CONNECTING && l->open == l->lane_count) {
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
        on_job_ended(at, event);
        return;
    case ARCP_CLIENT_CLOSED:
        on_closed(at, event);
        return;
    case ARCP_CLIENT_RESUMED:
    case ARCP_CLIENT_JOB_ADDED:
    case ARCP_CLIENT_NOTICE:
        return;
    }
}

static void open_more(load *l)
{
    while (l->opening < OPENING_MAX && l->next_lane < l->lane_count && l->phase == CONNECTING) {
        lane *at = &l->lanes[l->next_lane];
        arcp_error err = {0};
        if (arcp_client_connect_start(l->options->client, &l->loop, on_event, at, &at->client,
                                      &err) != ARCP_OK) {
            give_up(l, &err);
            return;
        }
        l->next_lane++;
        l->opening++;
    }
}

/* ---- the loop ---- */

static void on_pong(void *user, arcp_client *client, const arcp_reply *reply)
{
    load *l = user;
    l->ping_is_out = false;
    if (reply->status == ARCP_OK && l->phase == MEASURING) {
        (void)arcp__samples_add(&l->result->pings, reply->round_trip_ns);
    }
}

static void on_tick(uv_timer_t *timer)
{
    static const char *const names[] = {"connecting", "warming up", "measuring", "draining",
                                        "closing"};
    load *l = timer->data;
    lane *last = &l->lanes[l->lane_count - 1];
    if (l->phase == MEASURING && !l->ping_is_out && last->client != NULL) {
        l->ping_is_out = arcp_client_ping_start(last->client, on_pong, l, NULL) == ARCP_OK;
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

static void on_looking(uv_idle_t *handle)
{
    (void)handle;
}

static void stop_when_over(load *l)
{
    if (l->opening != 0 || l->over != l->next_lane) {
        return;
    }
    uv_close((uv_handle_t *)&l->looking, NULL);
    uv_close((uv_handle_t *)&l->ticker, NULL);
    uv_close((uv_handle_t *)&l->timer, NULL);
    uv_close((uv_handle_t *)&l->interrupt, NULL);
}

static arcp_status make_lanes(load *l, arcp_error *err)
{
    const arcp__load_options *options = l->options;
    l->lane_count = options->sessions + options->idle;
    l->lanes = arcp__alloc_array(l->lane_count, sizeof(*l->lanes));
    if (l->lanes == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (uint32_t at = 0; at < l->lane_count; at++) {
        lane *made = &l->lanes[at];
        *made = (lane){.load = l};
        if (at >= options->sessions) {
            continue;
        }
        made->shot_count = options->in_flight / options->sessions +
                           (at < options->in_flight % options->sessions ? 1 : 0);
        made->shots = arcp__alloc_array(made->shot_count, sizeof(*made->shots));
        if (made->shots == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        for (uint32_t row = 0; row < made->shot_count; row++) {
            made->shots[row] = (shot){.lane = made, .next_free = made->free_shots};
            made->free_shots = &made->shots[row];
        }
    }
    return ARCP_OK;
}

static arcp_status run(load *l, arcp_error *err)
{
    if (uv_loop_init(&l->loop) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "no event loop could be made");
    }
    /* Cannot fail on a loop that could be made. */
    (void)uv_timer_init(&l->loop, &l->ticker);
    (void)uv_timer_init(&l->loop, &l->timer);
    (void)uv_signal_init(&l->loop, &l->interrupt);
    (void)uv_idle_init(&l->loop, &l->looking);
    l->ticker.data = l;
    l->timer.data = l;
    l->interrupt.data = l;
    (void)uv_timer_start(&l->ticker, on_tick, TICK_MS, TICK_MS);
    (void)uv_signal_start(&l->interrupt, on_interrupt, SIGINT);
    if (l->options->busy_poll) {
        (void)uv_idle_start(&l->looking, on_looking);
    }
    l->began_ns = uv_hrtime();
    open_more(l);
    (void)uv_run(&l->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&l->loop) == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "something is left on the loop");
}

arcp_status arcp__load_run(const arcp__load_options *options, arcp__load_result *out)
{
    load l = {.options = options, .result = out};
    arcp_error err = {0};
    *out = (arcp__load_result){0};
    arcp_status status = make_lanes(&l, &err) == ARCP_OK ? run(&l, &err) : err.status;
    for (uint32_t at = 0; l.lanes != NULL && at < l.lane_count; at++) {
        arcp__free(l.lanes[at].shots);
    }
    arcp__free(l.lanes);
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
