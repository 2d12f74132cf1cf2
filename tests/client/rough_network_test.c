/* The client on the program's own loop against a real arcpd, with a proxy between them that
 * delays, splits, resets, half-closes and stalls connections at random: a thousand jobs of a
 * hundred events each, every event exactly once and in order, every outcome right, and no job
 * run twice.
 *
 *   rough_network_test          a seed of its own each time, printed
 *   ARCP_ROUGH_SEED=n           that seed */
#include "support/check.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include <arcp/client.h>

#include "arcp/arcpd_run.h"
#include "client/rough_proxy.h"

enum {
    CREWS = 4,
    JOBS_PER_CREW = 250,
    IN_FLIGHT = 20,
    EVENTS = 100,
    STREAM_BYTES = 10000,
    DEADLINE_MS = 300000, /* enough for a slow machine; no test waits this long */
};

/* How a job must end, by its number. */
typedef enum ending { ENDS_WELL, ENDS_WITH_STREAM, ENDS_REFUSED, ENDS_BROKEN, ENDINGS } ending;

struct fixture;

typedef struct task {
    struct crew *crew;
    unsigned number;
    bool is_accepted, has_ended;
    unsigned running; /* status events */
    uint64_t last_seq;
    uint64_t next; /* the expected number of its next event */
    char input[128];
} task;

/* One client with its jobs. */
typedef struct crew {
    struct fixture *f;
    arcp_client *client;
    unsigned begun, ended;
    unsigned resumes;
    bool is_closed;
    task tasks[JOBS_PER_CREW];
} crew;

typedef struct fixture {
    arcpd_run run;
    char url[64]; /* the proxy's */
    uv_loop_t loop;
    uv_timer_t deadline;
    rough_proxy proxy;
    crew crews[CREWS];
} fixture;

static ending ending_of(unsigned number)
{
    const unsigned digit = number % 10;
    return digit < ENDINGS ? (ending)digit : ENDS_WELL;
}

/* ---- expectations ---- */

static void check_stream(arcp_span bytes)
{
    assert_int_equal(bytes.size, STREAM_BYTES);
    for (size_t i = 0; i < bytes.size; i += 32) {
        char record[40];
        const size_t size = bytes.size - i < 32 ? bytes.size - i : 32;
        snprintf(record, sizeof record, "%031zu.", i);
        assert_memory_equal(bytes.data + i, record, size);
    }
}

static void check_outcome(const task *t, const arcp_outcome *outcome)
{
    char expected[64];
    switch (ending_of(t->number)) {
    case ENDS_WELL:
        snprintf(expected, sizeof expected, "{\"job\":%u}", t->number);
        assert_int_equal(outcome->status, ARCP_OK);
        check_span(outcome->result, expected);
        return;
    case ENDS_WITH_STREAM:
        assert_int_equal(outcome->status, ARCP_OK);
        check_stream(outcome->bytes);
        return;
    case ENDS_REFUSED:
        assert_int_equal(outcome->final_status, ARCP_JOB_ERROR);
        assert_int_equal(outcome->status, ARCP_E_PERMISSION_DENIED);
        assert_string_equal(outcome->error->message, "as asked");
        return;
    case ENDS_BROKEN:
        assert_int_equal(outcome->final_status, ARCP_JOB_ERROR);
        assert_int_equal(outcome->status, ARCP_E_INTERNAL_ERROR);
        assert_true(outcome->error->retryable);
        return;
    case ENDINGS:
        fail();
    }
}

static arcp_span input_of(task *t)
{
    static const char *const extras[ENDINGS] = {
        [ENDS_WELL] = "",
        [ENDS_WITH_STREAM] = ",\"result_bytes\":10000,\"chunk_bytes\":777",
        [ENDS_REFUSED] = ",\"error\":\"PERMISSION_DENIED\"",
        [ENDS_BROKEN] = ",\"exit\":3",
    };
    snprintf(t->input, sizeof t->input, "{\"events\":%u,\"result\":{\"job\":%u}%s}", EVENTS,
             t->number, extras[ending_of(t->number)]);
    return arcp_span_cstr(t->input);
}

/* ---- the client ---- */

static void on_accepted(void *user, arcp_client *client, const arcp_reply *reply);

static void begin_job(crew *c)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {0};
    task *t = &c->tasks[c->begun];
    t->crew = c;
    t->number = (unsigned)(c - c->f->crews) * JOBS_PER_CREW + c->begun++;
    options.agent = ARCP_SPAN_LITERAL("bench");
    options.input = input_of(t);
    options.user = t;
    check_ok(arcp_client_submit_start(c->client, &options, on_accepted, t, &err), &err);
}

static void on_accepted(void *user, arcp_client *client, const arcp_reply *reply)
{
    task *t = user;
    if (reply->status != ARCP_OK) {
        fail_msg("job %u was refused: %s", t->number, reply->error->message);
    }
    assert_false(t->is_accepted);
    t->is_accepted = true;
    /* Later events find it by arcp_job_user. */
    assert_ptr_equal(arcp_job_user(reply->job), t);
    arcp_job_unref(reply->job);
}

/* Within a job numbers only grow: nothing is delivered twice, or out of order. (Events received
 * before the response to the submit are delivered after it, behind events of other jobs.) */
static void check_seq(task *t, const arcp_client_event *event)
{
    assert_true(event->event_seq > t->last_seq);
    t->last_seq = event->event_seq;
}

static void on_job_event(crew *c, const arcp_client_event *event)
{
    task *t = arcp_job_user(event->job);
    assert_non_null(t);
    assert_ptr_equal(t->crew, c);
    assert_true(t->is_accepted);
    assert_false(t->has_ended);
    check_seq(t, event);
    const arcp_event_body *body = arcp_client_event_body(event);
    assert_int_equal(body->kind, event->kind);
    if (event->kind == ARCP_EVENT_STATUS) {
        /* While the connection is lost, the runtime may report too many unacknowledged events. */
        if (!arcp_span_equal_cstr(body->status.phase, "back_pressure")) {
            check_span(body->status.phase, "running");
            t->running++;
        }
    } else if (event->kind == ARCP_EVENT_LOG) {
        char *rest = NULL;
        const uint64_t number = strtoull(body->log.message.data, &rest, 10);
        if (rest == body->log.message.data || number != t->next) {
            fail_msg("job %u: received event %" PRIu64 ", expected %" PRIu64, t->number, number,
                     t->next);
        }
        t->next++;
    } else {
        assert_int_equal(event->kind, ARCP_EVENT_RESULT_CHUNK);
    }
}

static void on_job_ended(crew *c, const arcp_client_event *event)
{
    task *t = arcp_job_user(event->job);
    assert_non_null(t);
    assert_false(t->has_ended);
    check_seq(t, event);
    t->has_ended = true;
    assert_int_equal(t->next, EVENTS);
    assert_int_equal(t->running, 1);
    check_outcome(t, arcp_job_outcome(event->job));
    c->ended++;
    if (c->begun < JOBS_PER_CREW) {
        begin_job(c);
    } else if (c->ended == JOBS_PER_CREW) {
        arcp_client_close(c->client);
    }
}

static void on_closed(crew *c, const arcp_client_event *event)
{
    fixture *f = c->f;
    if (event->error != NULL) {
        fail_msg("a client ended after %u jobs: %s", c->ended, event->error->message);
    }
    c->is_closed = true;
    arcp_client_free(c->client);
    for (size_t i = 0; i < CREWS; i++) {
        if (!f->crews[i].is_closed) {
            return;
        }
    }
    rough_proxy_stop(&f->proxy);
    uv_close((uv_handle_t *)&f->deadline, NULL);
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    crew *c = user;
    switch (event->type) {
    case ARCP_CLIENT_CONNECTED:
    case ARCP_CLIENT_DISCONNECTED:
        return;
    case ARCP_CLIENT_RESUMED:
        c->resumes++;
        return;
    case ARCP_CLIENT_JOB_EVENT:
        on_job_event(c, event);
        return;
    case ARCP_CLIENT_JOB_ENDED:
        on_job_ended(c, event);
        return;
    case ARCP_CLIENT_CLOSED:
        on_closed(c, event);
        return;
    case ARCP_CLIENT_JOB_ADDED:
    case ARCP_CLIENT_NOTICE:
    case ARCP_CLIENT_JOBS_CHANGED:
    case ARCP_CLIENT_FIGURES:
    case ARCP_CLIENT_WATCH_ENDED:
        fail_msg("unexpected: %s",
                 event->error == NULL ? "a job was added" : event->error->message);
    }
}

static void begin_crew(fixture *f, crew *c)
{
    arcp_client_options options = arcp_client_options_init();
    arcp_error err = {0};
    c->f = f;
    options.url = arcp_span_cstr(f->url);
    options.token = ARCP_SPAN_LITERAL("t1");
    options.connect_timeout_ms = 5000; /* time limit of a stalled handshake */
    options.connect_retry_ms = DEADLINE_MS;
    options.request_timeout_ms = DEADLINE_MS;
    options.backoff_first_ms = 5;
    options.backoff_max_ms = 100;
    check_ok(arcp_client_connect_start(&options, &f->loop, on_event, c, &c->client, &err), &err);
    while (c->begun < IN_FLIGHT) {
        begin_job(c);
    }
}

/* ---- setup ---- */

static void start_daemon(fixture *f)
{
    static const char agent[] = "bench=" ARCP_BINARY_DIR "/bin/arcp-bench-agent";
    char store[128];
    snprintf(store, sizeof store, "sqlite:%s/arcp.db", f->run.directory);
    arcpd_run_configure(&f->run, "session: {heartbeat_interval_sec: 1}\nlog: {level: error}\n"
                                 "shutdown: {grace_sec: 3}\n");
    arcpd_run_start(&f->run, 0, WORDS("--store", store, "--token", "t1=alice", "--agent", agent));
}

static void on_deadline(uv_timer_t *timer)
{
    const fixture *f = timer->data;
    for (size_t i = 0; i < CREWS; i++) {
        const crew *c = &f->crews[i];
        print_error("client %zu: %u jobs begun, %u ended, %u resumes\n", i, c->begun, c->ended,
                    c->resumes);
        for (unsigned job = 0; job < c->begun; job++) {
            const task *left = &c->tasks[job];
            if (!left->has_ended) {
                print_error("  job %u: %s, %" PRIu64 " events, last event_seq %" PRIu64 "\n",
                            left->number, left->is_accepted ? "accepted" : "not answered",
                            left->next, left->last_seq);
            }
        }
    }
    fail_msg("too slow");
}

static int begin(void **state)
{
    static fixture f;
    const char *given = getenv("ARCP_ROUGH_SEED");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : uv_hrtime() % 1000000;
    print_message("ARCP_ROUGH_SEED=%" PRIu64 "\n", seed);
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    arcpd_run_begin(&f.run);
    start_daemon(&f);
    assert_int_equal(uv_loop_init(&f.loop), 0);
    rough_proxy_start(&f.proxy, &f.loop, f.run.port, seed, 20000, 600000);
    snprintf(f.url, sizeof f.url, "ws://127.0.0.1:%u/arcp", (unsigned)f.proxy.port);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    return arcpd_run_end(&f->run);
}

static void print_trouble(const fixture *f, uint64_t began_ns)
{
    unsigned resumes = 0;
    for (size_t i = 0; i < CREWS; i++) {
        resumes += f->crews[i].resumes;
    }
    print_message("%.1f s; %u connections, %u resumed sessions, %" PRIu64 " bytes in %lu pieces "
                  "(%lu late)",
                  (double)(uv_hrtime() - began_ns) / 1e9, f->proxy.connections, resumes,
                  f->proxy.bytes, f->proxy.pieces, f->proxy.late_pieces);
    for (int trouble = 0; trouble < ROUGH_TROUBLES; trouble++) {
        print_message("; %u %s", f->proxy.troubles[trouble],
                      rough_trouble_name((rough_trouble)trouble));
    }
    print_message("\n");
    assert_true(resumes > 20);
}

static void a_thousand_jobs_get_all_events_and_results(void **state)
{
    fixture *f = *state;
    const uint64_t began_ns = uv_hrtime();
    assert_int_equal(uv_timer_init(&f->loop, &f->deadline), 0);
    f->deadline.data = f;
    assert_int_equal(uv_timer_start(&f->deadline, on_deadline, DEADLINE_MS, 0), 0);
    for (size_t i = 0; i < CREWS; i++) {
        begin_crew(f, &f->crews[i]);
    }
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    for (size_t i = 0; i < CREWS; i++) {
        assert_int_equal(f->crews[i].ended, JOBS_PER_CREW);
    }
    print_trouble(f, began_ns);
}

/* A submit that was sent again because the response was lost must find the first job. */
static void no_submit_created_two_jobs(void **state)
{
    const fixture *f = *state;
    arcp_client_options options = arcp_client_options_init();
    arcp_list_options list = arcp_list_options_init();
    arcp_error err = {0};
    arcp_client *client = NULL;
    arcp_job_page *page = NULL;
    size_t jobs = 0;
    options.url = arcp_span_cstr(f->run.url);
    options.token = ARCP_SPAN_LITERAL("t1");
    check_ok(arcp_client_connect(&options, &client, &err), &err);
    do {
        arcp_job_page *next = NULL;
        check_ok(arcp_client_list(client, &list, ARCP_WAIT_DEFAULT, &next, &err), &err);
        arcp_job_page_free(page);
        page = next;
        jobs += arcp_job_page_count(page);
        list.cursor = arcp_job_page_next_cursor(page);
    } while (list.cursor.size != 0);
    assert_int_equal(jobs, CREWS * JOBS_PER_CREW);
    arcp_job_page_free(page);
    arcp_client_close(client);
    arcp_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_jobs_get_all_events_and_results),
        cmocka_unit_test(no_submit_created_two_jobs),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
