/* The blocking form against a runtime in memory: waiting, deadlines, interruptions, threads,
 * bounded memory, and every event exactly once however often the connection is cut. */
#include "support/check.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <arcp/client.h>

#include "client/client_driver.h"
#include "client/fake_runtime.h"

typedef struct fixture {
    fake_runtime runtime;
    arcp_client *client;
    arcp_failure failure;
} fixture;

static void begin_with(fixture *f, const arcp_client_options *options)
{
    f->failure = (arcp_failure)ARCP_FAILURE_INIT;
    check_ok(arcp_client_connect(options, &f->client, &f->failure), &f->failure.error);
}

static void begin(fixture *f)
{
    fake_runtime_init(&f->runtime);
    arcp_client_options options = fake_runtime_options(&f->runtime);
    begin_with(f, &options);
}

static void end(fixture *f)
{
    arcp_client_free(f->client);
    arcp_failure_fini(&f->failure);
    fake_runtime_fini(&f->runtime);
}

static arcp_job *submit(fixture *f, const char *agent, const char *input)
{
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_job *job = NULL;
    options.agent = arcp_span_cstr(agent);
    options.input = arcp_span_cstr(input);
    check_ok(arcp_client_submit(f->client, &options, ARCP_WAIT_DEFAULT, &job, &f->failure),
             &f->failure.error);
    return job;
}

/* ---- the plain way ---- */

static void a_job_is_submitted_followed_and_awaited(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "echo", "{\"a\": 1}");
    check_span(arcp_job_id(job), "job_1");
    check_span(arcp_job_agent(job), "echo@1.0.0");
    check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.failure), &f.failure.error);
    assert_int_equal(event->type, ARCP_CLIENT_JOB_EVENT);
    assert_int_equal(event->kind, ARCP_EVENT_LOG);
    assert_int_equal(event->event_seq, 1);
    check_span(event->body, "{\"level\":\"info\",\"message\":\"hi\"}");
    assert_null(arcp_job_outcome(job));
    check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.failure), &f.failure.error);
    assert_int_equal(event->type, ARCP_CLIENT_JOB_ENDED);
    check_span(arcp_job_outcome(job)->result, "{\"a\":1}");
    assert_int_equal(arcp_job_current_status(job), ARCP_JOB_SUCCESS);
    assert_int_equal(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.failure),
                     ARCP_E_CLOSED);
    arcp_job_release(job);
    end(&f);
}

static void waiting_drops_the_events(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "count", "{\"n\": 2000}");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), &f.failure.error);
    check_span(outcome->result, "2000");
    check_ok(arcp_job_wait(job, 0, &outcome, &f.failure), &f.failure.error);
    arcp_job_release(job);
    end(&f);
}

static void a_refused_submit_brings_code_message_and_details(void **state)
{
    fixture f;
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_job *job = NULL;
    begin(&f);
    options.agent = ARCP_SPAN_LITERAL("refuse");
    assert_int_equal(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &job, &f.failure),
                     ARCP_E_AGENT_NOT_AVAILABLE);
    assert_null(job);
    assert_string_equal(f.failure.code, "AGENT_NOT_AVAILABLE");
    assert_string_equal(f.failure.error.message, "no such agent");
    assert_string_equal(f.failure.details, "{\"agent\":\"refuse\"}");
    assert_false(f.failure.error.retryable);
    /* A failure may be left out, too. */
    assert_int_equal(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &job, NULL),
                     ARCP_E_AGENT_NOT_AVAILABLE);
    end(&f);
}

static void other_requests_are_answered(void **state)
{
    fixture f;
    arcp_list_options list = ARCP_LIST_OPTIONS_INIT;
    arcp_job_page *page = NULL;
    int64_t round_trip_ns = -1;
    begin(&f);
    check_ok(arcp_client_ping(f.client, ARCP_WAIT_DEFAULT, &round_trip_ns, &f.failure),
             &f.failure.error);
    assert_true(round_trip_ns >= 0);
    check_ok(arcp_client_list(f.client, &list, ARCP_WAIT_DEFAULT, &page, &f.failure),
             &f.failure.error);
    assert_int_equal(arcp_job_page_count(page), 1);
    check_span(arcp_job_page_row(page, 0).job_id, "job_1");
    arcp_job_page_free(page);
    assert_int_equal(arcp_client_cancel(f.client, ARCP_SPAN_LITERAL("job_9"),
                                        ARCP_SPAN_LITERAL("why not"), ARCP_WAIT_DEFAULT,
                                        &f.failure),
                     ARCP_E_JOB_NOT_FOUND);
    assert_int_equal(arcp_client_features(f.client), ARCP_FEATURES_ALL);
    end(&f);
}

static void a_cancelled_job_ends_as_cancelled(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "wait", "{}");
    check_ok(arcp_client_cancel(f.client, arcp_job_id(job), arcp_span_make(NULL, 0),
                                ARCP_WAIT_DEFAULT, &f.failure),
             &f.failure.error);
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), &f.failure.error);
    assert_int_equal(outcome->final_status, ARCP_JOB_CANCELLED);
    assert_int_equal(outcome->status, ARCP_E_CANCELLED);
    arcp_job_release(job);
    end(&f);
}

static void a_subscription_has_events_and_an_end(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    arcp_subscribe_options options = ARCP_SUBSCRIBE_OPTIONS_INIT;
    arcp_job *job = NULL;
    arcp_error err = {0};
    begin(&f);
    options.job_id = ARCP_SPAN_LITERAL("job_77");
    options.history = true;
    check_ok(arcp_client_subscribe(f.client, &options, ARCP_WAIT_DEFAULT, &job, &f.failure),
             &f.failure.error);
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), &f.failure.error);
    check_span(outcome->result, "\"seen\"");
    check_ok(arcp_client_unsubscribe(f.client, ARCP_SPAN_LITERAL("job_77"), &err), &err);
    check_ok(arcp_client_ping(f.client, ARCP_WAIT_DEFAULT, NULL, &f.failure), &f.failure.error);
    assert_int_equal(atomic_load(&f.runtime.unsubscribes), 1);
    arcp_job_release(job);
    end(&f);
}

static void note_agent(void *user, const arcp_agent_row *agent)
{
    arcp_buf *text = user;
    arcp_buf_append(text, agent->name);
    for (size_t at = 0; at < agent->version_count; at++) {
        arcp_buf_append_byte(text, ' ');
        arcp_buf_append(text, agent->versions[at]);
    }
    arcp_buf_append_byte(text, '(');
    arcp_buf_append(text, agent->default_version);
    arcp_buf_append_byte(text, ')');
}

static void the_inventory_is_told_in_both_forms(void **state)
{
    fixture f;
    arcp_error err = {0};
    arcp_buf text = ARCP_BUF_INIT;
    begin(&f);
    check_ok(arcp_client_agents(f.client, note_agent, &text, &err), &err);
    check_span(arcp_buf_span(&text), "echo 1.0.0 2.0.0(2.0.0)bare()");
    arcp_buf_clear(&text);
    check_ok(arcp_client_welcome(f.client, &text, &err), &err);
    assert_null(memmem(text.data, text.size, "rt_1", 4));
    arcp_buf_fini(&text);
    end(&f);
}

static void note_secret(void *user, const arcp_credential *credential)
{
    arcp_buf_append(user, credential->value);
}

/* [arcp:9.8.2-14] */
static void credentials_are_shown_once(void **state)
{
    fixture f;
    arcp_buf seen = ARCP_BUF_INIT;
    arcp_job_budget budget;
    begin(&f);
    arcp_job *job = submit(&f, "rich", "{}");
    assert_int_equal(arcp_job_take_credentials(job, note_secret, &seen), 1);
    check_span(arcp_buf_span(&seen), "sk-1");
    assert_int_equal(arcp_job_take_credentials(job, note_secret, &seen), 0);
    assert_true(arcp_job_budget_at(job, 0, &budget));
    assert_string_equal(budget.currency, "USD");
    assert_string_equal(budget.initial, "5.00");
    assert_false(arcp_job_budget_at(job, 1, &budget));
    arcp_buf_fini(&seen);
    arcp_job_release(job);
    end(&f);
}

/* ---- what does not come ---- */

static void a_request_that_is_not_answered_ends_by_the_calls_deadline(void **state)
{
    fixture f;
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_job *job = NULL;
    begin(&f);
    options.agent = ARCP_SPAN_LITERAL("silent");
    assert_int_equal(arcp_client_submit(f.client, &options, 20, &job, &f.failure), ARCP_E_DEADLINE);
    /* And nothing is left of it: the session goes on. */
    job = submit(&f, "echo", "1");
    arcp_job_release(job);
    end(&f);
}

static void an_event_that_does_not_come_ends_by_the_deadline(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    const arcp_outcome *outcome = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "wait", "{}");
    assert_int_equal(arcp_job_next_event(job, 0, &event, &f.failure), ARCP_E_DEADLINE);
    assert_int_equal(arcp_job_next_event(job, 10, &event, &f.failure), ARCP_E_DEADLINE);
    assert_int_equal(arcp_job_wait(job, 10, &outcome, &f.failure), ARCP_E_DEADLINE);
    assert_int_equal(arcp_client_next_event(f.client, 10, &event, &f.failure), ARCP_E_DEADLINE);
    arcp_job_release(job);
    end(&f);
}

static void connecting_fails_with_the_reason(void **state)
{
    fake_runtime runtime;
    arcp_failure failure = ARCP_FAILURE_INIT;
    arcp_client *client = NULL;
    fake_runtime_init(&runtime);
    arcp_client_options options = fake_runtime_options(&runtime);
    runtime.refuse_dials = 1;
    assert_int_equal(arcp_client_connect(&options, &client, &failure), ARCP_E_IO);
    assert_string_equal(failure.error.message, "nobody is there");
    runtime.refuse_dials = 0;

    runtime.refuses_hello = true;
    assert_int_equal(arcp_client_connect(&options, &client, &failure), ARCP_E_UNAUTHENTICATED);
    assert_string_equal(failure.code, "UNAUTHENTICATED");
    runtime.refuses_hello = false;

    runtime.mute = true;
    options.connect_timeout_ms = 20;
    assert_int_equal(arcp_client_connect(&options, &client, &failure), ARCP_E_DEADLINE);
    assert_null(client);
    arcp_failure_fini(&failure);
    fake_runtime_fini(&runtime);
}

static void connecting_may_go_on_trying(void **state)
{
    fixture f;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.runtime.refuse_dials = 3;
    options.connect_retry_ms = 60000;
    begin_with(&f, &options);
    assert_int_equal(atomic_load(&f.runtime.dials), 4);
    end(&f);
}

static void a_session_that_is_lost_tells_every_waiter(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    const arcp_outcome *outcome = NULL;
    begin(&f);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_job *none = NULL;
    arcp_job *job = submit(&f, "wait", "{}");
    atomic_store(&f.runtime.forgets, true);
    options.agent = ARCP_SPAN_LITERAL("hangup");
    assert_int_equal(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &none, &f.failure),
                     ARCP_E_RESUME_WINDOW_EXPIRED);
    assert_int_equal(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure),
                     ARCP_E_RESUME_WINDOW_EXPIRED);
    assert_int_equal(arcp_client_next_event(f.client, ARCP_WAIT_FOREVER, &event, &f.failure),
                     ARCP_E_RESUME_WINDOW_EXPIRED);
    assert_string_equal(f.failure.code, "RESUME_WINDOW_EXPIRED");
    arcp_job_release(job);
    end(&f);
}

/* ---- every event exactly once ---- */

enum { CUT_JOBS = 40, CUT_EVENTS = 100 };

static void cut_connections_lose_and_double_nothing(void **state)
{
    fixture f;
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.runtime.cut_every = 60;
    begin_with(&f, &options);
    arcp_job *jobs[CUT_JOBS];
    for (int at = 0; at < CUT_JOBS; at++) {
        jobs[at] = submit(&f, "count", "{\"n\": 100}");
    }
    for (int at = 0; at < CUT_JOBS; at++) {
        const arcp_client_event *event = NULL;
        for (uint64_t n = 0; n < CUT_EVENTS; n++) {
            uint64_t told = 0;
            check_ok(arcp_job_next_event(jobs[at], ARCP_WAIT_FOREVER, &event, &f.failure),
                     &f.failure.error);
            assert_int_equal(event->type, ARCP_CLIENT_JOB_EVENT);
            check_ok(arcp_event_view_read(&view, event, &f.failure.error), &f.failure.error);
            assert_true(arcp_json_u64(
                &view.json, arcp_json_member(&view.json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("n")),
                &told));
            assert_int_equal(told, n);
        }
        check_ok(arcp_job_next_event(jobs[at], ARCP_WAIT_FOREVER, &event, &f.failure),
                 &f.failure.error);
        assert_int_equal(event->type, ARCP_CLIENT_JOB_ENDED);
        check_span(arcp_job_outcome(jobs[at])->result, "100");
        arcp_job_release(jobs[at]);
    }
    assert_true(atomic_load(&f.runtime.cuts) > 20);
    assert_true(atomic_load(&f.runtime.resumes) > 20);
    arcp_event_view_fini(&view);
    end(&f);
}

static void a_stream_to_a_file_survives_cuts(void **state)
{
    fixture f;
    char path[] = "/tmp/arcp-client-test-XXXXXX";
    int fd = mkstemp(path);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_job *job = NULL;
    const arcp_outcome *outcome = NULL;
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    fake_runtime_init(&f.runtime);
    arcp_client_options client = fake_runtime_options(&f.runtime);
    f.runtime.cut_every = 50;
    begin_with(&f, &client);
    options.agent = ARCP_SPAN_LITERAL("stream");
    options.input = ARCP_SPAN_LITERAL("{\"n\": 500}");
    options.result.mode = ARCP_RESULT_FD;
    options.result.fd = fd;
    check_ok(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &job, &f.failure),
             &f.failure.error);
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), &f.failure.error);
    assert_int_equal(outcome->status, ARCP_OK);
    assert_int_equal(outcome->streamed_bytes, 500000);
    assert_int_equal(lseek(fd, 0, SEEK_END), 500000);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    for (int chunk = 0; chunk < 500; chunk++) {
        char bytes[1000];
        assert_int_equal(read(fd, bytes, sizeof(bytes)), 1000);
        assert_int_equal(bytes[0], 'a' + chunk % 26);
        assert_int_equal(bytes[999], 'a' + chunk % 26);
    }
    close(fd);
    arcp_job_release(job);
    end(&f);
}

/* ---- bounded memory ---- */

static bool is_paused(fixture *f)
{
    uv_mutex_lock(&f->client->mutex);
    bool paused = f->client->is_paused;
    uv_mutex_unlock(&f->client->mutex);
    return paused;
}

static void who_does_not_read_stops_the_connection_not_the_memory(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.unread_bytes_max = 100000;
    begin_with(&f, &options);
    arcp_job *job = submit(&f, "count", "{\"n\": 5000}");
    while (!is_paused(&f)) {
        sched_yield();
    }
    uv_mutex_lock(&f.client->mutex);
    size_t unread = f.client->unread_bytes;
    uv_mutex_unlock(&f.client->mutex);
    /* The events may overtake the submit: until its thread has run it counts as waiting, and while
     * somebody waits four times as much is read. */
    assert_true(unread > 100000 && unread < 410000);
    uint64_t events = 0;
    do {
        check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.failure), &f.failure.error);
        events++;
    } while (event->type != ARCP_CLIENT_JOB_ENDED);
    assert_int_equal(events, 5001);
    arcp_job_release(job);
    end(&f);
}

static void unread_events_of_others_end_a_wait_before_they_fill_the_memory(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.unread_bytes_max = 100000;
    begin_with(&f, &options);
    arcp_job *waiting = submit(&f, "wait", "{}");
    arcp_job *chatty = submit(&f, "count", "{\"n\": 20000}");
    assert_int_equal(arcp_job_wait(waiting, ARCP_WAIT_FOREVER, &outcome, &f.failure), ARCP_E_LIMIT);
    uv_mutex_lock(&f.client->mutex);
    assert_true(f.client->unread_bytes < 510000);
    uv_mutex_unlock(&f.client->mutex);
    /* Giving the handle back gives the memory back, and the connection goes on. */
    arcp_job_release(chatty);
    check_ok(arcp_client_ping(f.client, ARCP_WAIT_DEFAULT, NULL, &f.failure), &f.failure.error);
    uv_mutex_lock(&f.client->mutex);
    assert_int_equal(f.client->unread_bytes, 0);
    uv_mutex_unlock(&f.client->mutex);
    arcp_job_release(waiting);
    end(&f);
}

static void events_of_jobs_without_a_handle_are_not_kept(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "parent", "{}");
    check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.failure), &f.failure.error);
    check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.failure), &f.failure.error);
    assert_int_equal(event->type, ARCP_CLIENT_JOB_ENDED);
    assert_int_equal(arcp_client_next_event(f.client, 0, &event, &f.failure), ARCP_E_DEADLINE);
    arcp_job_release(job);
    end(&f);
}

static void who_observes_all_sees_sessions_and_children(void **state)
{
    static const arcp_client_event_type expected[] = {
        ARCP_CLIENT_CONNECTED, ARCP_CLIENT_JOB_ADDED, ARCP_CLIENT_JOB_EVENT,
        ARCP_CLIENT_JOB_ENDED, ARCP_CLIENT_JOB_EVENT, ARCP_CLIENT_JOB_ENDED,
    };
    fixture f;
    const arcp_client_event *event = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.observe_all = true;
    begin_with(&f, &options);
    arcp_job *job = submit(&f, "parent", "{}");
    for (size_t at = 0; at < sizeof(expected) / sizeof(expected[0]); at++) {
        check_ok(arcp_client_next_event(f.client, ARCP_WAIT_FOREVER, &event, &f.failure),
                 &f.failure.error);
        assert_int_equal(event->type, expected[at]);
        if (event->type == ARCP_CLIENT_JOB_ADDED) {
            check_span(arcp_job_parent_id(event->job), "job_1");
            check_span(arcp_job_agent(event->job), "child@1");
        }
    }
    arcp_job_release(job);
    end(&f);
}

/* ---- threads ---- */

static void *interrupt_soon(void *user)
{
    arcp_client *client = user;
    bool waits = false;
    while (!waits) {
        uv_mutex_lock(&client->mutex);
        waits = client->waiting != 0;
        uv_mutex_unlock(&client->mutex);
        sched_yield();
    }
    arcp_client_interrupt(client);
    return NULL;
}

static void a_waiting_call_can_be_interrupted(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    pthread_t thread;
    begin(&f);
    arcp_job *job = submit(&f, "wait", "{}");
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, f.client), 0);
    assert_int_equal(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.failure),
                     ARCP_E_INTERRUPTED);
    assert_string_equal(f.failure.error.message, "the wait was interrupted");
    assert_int_equal(pthread_join(thread, NULL), 0);
    arcp_job_release(job);
    end(&f);
}

/* What somebody wants to end is not tried again. */
static void a_run_that_is_interrupted_ends(void **state)
{
    fixture f;
    pthread_t thread;
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_job *job = NULL;
    begin(&f);
    options.agent = arcp_span_cstr("wait");
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, f.client), 0);
    assert_int_equal(arcp_client_run(f.client, &options, NULL, &job, &f.failure),
                     ARCP_E_INTERRUPTED);
    assert_null(job);
    assert_int_equal(f.failure.error.status, ARCP_E_INTERRUPTED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end(&f);
}

static void an_interruption_while_nobody_waits_meets_the_next_call(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "wait", "{}");
    arcp_client_interrupt(f.client);
    bool pending = false;
    while (!pending) {
        uv_mutex_lock(&f.client->mutex);
        pending = f.client->interrupts_next;
        uv_mutex_unlock(&f.client->mutex);
        sched_yield();
    }
    assert_int_equal(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.failure),
                     ARCP_E_INTERRUPTED);
    assert_int_equal(arcp_job_next_event(job, 0, &event, &f.failure), ARCP_E_DEADLINE);
    assert_string_equal(f.failure.error.message, "the time to wait is up");
    arcp_job_release(job);
    end(&f);
}

static void *close_client(void *user)
{
    arcp_client_close(user);
    arcp_client_close(user);
    return NULL;
}

static void closing_may_come_from_any_thread_and_twice(void **state)
{
    fixture f;
    pthread_t threads[2];
    const arcp_outcome *outcome = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "wait", "{}");
    for (int at = 0; at < 2; at++) {
        assert_int_equal(pthread_create(&threads[at], NULL, close_client, f.client), 0);
    }
    assert_int_equal(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), ARCP_E_CLOSED);
    for (int at = 0; at < 2; at++) {
        assert_int_equal(pthread_join(threads[at], NULL), 0);
    }
    assert_int_equal(atomic_load(&f.runtime.closes), 1);
    arcp_job_release(job);
    end(&f);
}

typedef struct worker {
    fixture *f;
    pthread_t thread;
    unsigned good;
} worker;

static void *run_jobs(void *user)
{
    worker *w = user;
    fixture *f = w->f;
    arcp_failure failure = ARCP_FAILURE_INIT;
    for (int at = 0; at < 20; at++) {
        arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
        arcp_job *job = NULL;
        const arcp_outcome *outcome = NULL;
        options.agent = ARCP_SPAN_LITERAL("count");
        options.input = ARCP_SPAN_LITERAL("{\"n\": 50}");
        if (arcp_client_submit(f->client, &options, ARCP_WAIT_DEFAULT, &job, &failure) == ARCP_OK &&
            arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &failure) == ARCP_OK &&
            arcp_span_equal_cstr(outcome->result, "50")) {
            w->good++;
        }
        arcp_job_release(job);
    }
    arcp_failure_fini(&failure);
    return NULL;
}

static void several_threads_share_a_client(void **state)
{
    fixture f;
    worker workers[4];
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.runtime.cut_every = 500;
    begin_with(&f, &options);
    for (int at = 0; at < 4; at++) {
        workers[at] = (worker){.f = &f};
        assert_int_equal(pthread_create(&workers[at].thread, NULL, run_jobs, &workers[at]), 0);
    }
    for (int at = 0; at < 4; at++) {
        assert_int_equal(pthread_join(workers[at].thread, NULL), 0);
        assert_int_equal(workers[at].good, 20);
    }
    end(&f);
}

static void a_job_is_read_by_one_thread_at_a_time(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "wait", "{}");
    job->is_being_read = true;
    assert_int_equal(arcp_job_next_event(job, 0, &event, &f.failure), ARCP_E_USAGE);
    job->is_being_read = false;
    arcp_job_release(job);
    end(&f);
}

/* ---- the rest ---- */

/* [arcp:EG-11] */
static void retrying_uses_one_key_until_it_works(void **state)
{
    fixture f;
    arcp_submit_options submit_options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_retry_options retry = ARCP_RETRY_OPTIONS_INIT;
    arcp_job *job = NULL;
    begin(&f);
    retry.first_ms = 2;
    submit_options.agent = ARCP_SPAN_LITERAL("flaky");
    check_ok(arcp_client_run(f.client, &submit_options, &retry, &job, &f.failure),
             &f.failure.error);
    assert_int_equal(arcp_job_outcome(job)->final_status, ARCP_JOB_SUCCESS);
    assert_int_equal(atomic_load(&f.runtime.submits), 2);
    assert_non_null(strstr(f.runtime.last_key, "run_"));
    arcp_job_release(job);
    end(&f);
}

static void what_is_not_retryable_is_not_retried(void **state)
{
    fixture f;
    arcp_submit_options submit_options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_job *job = NULL;
    begin(&f);
    submit_options.agent = ARCP_SPAN_LITERAL("refuse");
    assert_int_equal(arcp_client_run(f.client, &submit_options, NULL, &job, &f.failure),
                     ARCP_E_AGENT_NOT_AVAILABLE);
    assert_int_equal(atomic_load(&f.runtime.submits), 1);
    end(&f);
}

static void retries_are_counted(void **state)
{
    fixture f;
    arcp_submit_options submit_options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_retry_options retry = ARCP_RETRY_OPTIONS_INIT;
    arcp_job *job = NULL;
    begin(&f);
    retry.attempts = 1;
    submit_options.agent = ARCP_SPAN_LITERAL("flaky");
    assert_int_equal(arcp_client_run(f.client, &submit_options, &retry, &job, &f.failure),
                     ARCP_E_INTERNAL_ERROR);
    assert_null(job);
    end(&f);
}

static void what_was_read_is_acknowledged(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.ack_ms = 1;
    begin_with(&f, &options);
    arcp_job *job = submit(&f, "count", "{\"n\": 30}");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), &f.failure.error);
    while (atomic_load(&f.runtime.acked) != 31) {
        sched_yield();
    }
    arcp_job_release(job);
    end(&f);
}

static void a_session_can_be_taken_over_by_its_state(void **state)
{
    fixture f;
    arcp_buf storage = ARCP_BUF_INIT;
    arcp_error err = {0};
    arcp_session_state saved;
    const arcp_outcome *outcome = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "echo", "1");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), &f.failure.error);
    check_ok(arcp_client_session_state(f.client, &storage, &saved, &err), &err);
    check_span(saved.session_id, "sess_1");
    check_span(saved.resume_token, "rt_1");
    assert_int_equal(saved.last_event_seq, 2);
    arcp_job_release(job);
    arcp_client_free(f.client);

    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.resume = saved;
    begin_with(&f, &options);
    assert_int_equal(atomic_load(&f.runtime.resumes), 1);
    arcp_buf_fini(&storage);
    end(&f);
}

static void handles_outlive_their_client(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    const arcp_client_event *event = NULL;
    begin(&f);
    arcp_job *job = submit(&f, "echo", "1");
    arcp_job *other = submit(&f, "wait", "1");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), &f.failure.error);
    end(&f);
    check_span(arcp_job_id(job), "job_1");
    check_ok(arcp_job_wait(job, 0, &outcome, NULL), &f.failure.error);
    check_span(outcome->result, "1");
    assert_int_equal(arcp_job_next_event(other, 0, &event, NULL), ARCP_E_CLOSED);
    arcp_job_release(arcp_job_ref(job));
    arcp_job_release(job);
    arcp_job_release(other);
    arcp_job_release(NULL);
    arcp_client_free(NULL);
}

typedef struct hook_log {
    unsigned asked;
    unsigned welcomes;
    char last_token[32];
} hook_log;

static bool before_resume(void *user, arcp_buf *token)
{
    hook_log *log = user;
    return log->asked++ != 0; /* the first time somebody else has the session */
}

static void welcomed(void *user, const arcp_session_state *state)
{
    hook_log *log = user;
    log->welcomes++;
    snprintf(log->last_token, sizeof(log->last_token), "%.*s", (int)state->resume_token.size,
             state->resume_token.data);
}

static void hooks_hear_of_every_token_and_may_put_off_a_resume(void **state)
{
    fixture f;
    hook_log log = {0};
    const arcp_outcome *outcome = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.hooks = (arcp_client_hooks){before_resume, welcomed, &log};
    f.runtime.cut_every = 30;
    f.runtime.cuts_max = 1;
    begin_with(&f, &options);
    arcp_job *job = submit(&f, "count", "{\"n\": 100}");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.failure), &f.failure.error);
    check_span(outcome->result, "100");
    arcp_job_release(job);
    end(&f);
    assert_int_equal(log.asked, 2);
    assert_int_equal(log.welcomes, 2);
    assert_string_equal(log.last_token, "rt_2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_submitted_followed_and_awaited),
        cmocka_unit_test(waiting_drops_the_events),
        cmocka_unit_test(a_refused_submit_brings_code_message_and_details),
        cmocka_unit_test(other_requests_are_answered),
        cmocka_unit_test(a_cancelled_job_ends_as_cancelled),
        cmocka_unit_test(a_subscription_has_events_and_an_end),
        cmocka_unit_test(the_inventory_is_told_in_both_forms),
        cmocka_unit_test(credentials_are_shown_once),
        cmocka_unit_test(a_request_that_is_not_answered_ends_by_the_calls_deadline),
        cmocka_unit_test(an_event_that_does_not_come_ends_by_the_deadline),
        cmocka_unit_test(connecting_fails_with_the_reason),
        cmocka_unit_test(connecting_may_go_on_trying),
        cmocka_unit_test(a_session_that_is_lost_tells_every_waiter),
        cmocka_unit_test(cut_connections_lose_and_double_nothing),
        cmocka_unit_test(a_stream_to_a_file_survives_cuts),
        cmocka_unit_test(who_does_not_read_stops_the_connection_not_the_memory),
        cmocka_unit_test(unread_events_of_others_end_a_wait_before_they_fill_the_memory),
        cmocka_unit_test(events_of_jobs_without_a_handle_are_not_kept),
        cmocka_unit_test(who_observes_all_sees_sessions_and_children),
        cmocka_unit_test(a_waiting_call_can_be_interrupted),
        cmocka_unit_test(a_run_that_is_interrupted_ends),
        cmocka_unit_test(an_interruption_while_nobody_waits_meets_the_next_call),
        cmocka_unit_test(closing_may_come_from_any_thread_and_twice),
        cmocka_unit_test(several_threads_share_a_client),
        cmocka_unit_test(a_job_is_read_by_one_thread_at_a_time),
        cmocka_unit_test(retrying_uses_one_key_until_it_works),
        cmocka_unit_test(what_is_not_retryable_is_not_retried),
        cmocka_unit_test(retries_are_counted),
        cmocka_unit_test(what_was_read_is_acknowledged),
        cmocka_unit_test(a_session_can_be_taken_over_by_its_state),
        cmocka_unit_test(handles_outlive_their_client),
        cmocka_unit_test(hooks_hear_of_every_token_and_may_put_off_a_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
