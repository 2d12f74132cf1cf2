/* Unread events: limited memory, which events are kept, and acknowledgements. */
#include "client/blocking_fixture.h"

#include <sched.h>

#include <arcp/watch.h>

#include "client/client_driver.h"

static bool is_paused(fixture *f)
{
    uv_mutex_lock(&f->client->mutex);
    const bool paused = f->client->is_paused;
    uv_mutex_unlock(&f->client->mutex);
    return paused;
}

static void unread_events_stop_the_connection_before_memory_fills(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.unread_bytes_max = 100000;
    fixture_begin_with(&f, &options);
    arcp_job *job = fixture_submit(&f, "count", "{\"n\": 5000}");
    while (!is_paused(&f)) {
        sched_yield();
    }
    uv_mutex_lock(&f.client->mutex);
    const size_t unread = f.client->unread_bytes;
    uv_mutex_unlock(&f.client->mutex);
    /* The events may be received before the submit returns: until its thread has run, the call
     * counts as waiting, and while a call waits, four times as much is read. */
    assert_true(unread > 100000 && unread < 410000);
    uint64_t events = 0;
    do {
        check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
        events++;
    } while (event->type != ARCP_CLIENT_JOB_ENDED);
    assert_int_equal(events, 5001);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void unread_events_of_other_jobs_end_a_wait_before_memory_fills(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.unread_bytes_max = 100000;
    fixture_begin_with(&f, &options);
    arcp_job *waiting = fixture_submit(&f, "wait", "{}");
    arcp_job *chatty = fixture_submit(&f, "count", "{\"n\": 20000}");
    assert_int_equal(arcp_job_wait(waiting, ARCP_WAIT_FOREVER, &outcome, &f.err), ARCP_E_LIMIT);
    uv_mutex_lock(&f.client->mutex);
    assert_true(f.client->unread_bytes < 510000);
    uv_mutex_unlock(&f.client->mutex);
    /* Releasing the handle frees the memory, and the connection is read again. */
    arcp_job_unref(chatty);
    check_ok(arcp_client_ping(f.client, ARCP_WAIT_DEFAULT, NULL, &f.err), &f.err);
    uv_mutex_lock(&f.client->mutex);
    assert_int_equal(f.client->unread_bytes, 0);
    uv_mutex_unlock(&f.client->mutex);
    arcp_job_unref(waiting);
    fixture_end(&f);
}

static void events_of_jobs_without_a_handle_are_not_kept(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "parent", "{}");
    check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
    check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
    assert_int_equal(event->type, ARCP_CLIENT_JOB_ENDED);
    assert_int_equal(arcp_client_next_event(f.client, 0, &event, &f.err), ARCP_E_DEADLINE);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void with_all_events_requested_session_events_and_children_are_seen(void **state)
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
    fixture_begin_with(&f, &options);
    arcp_job *job = fixture_submit(&f, "parent", "{}");
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        check_ok(arcp_client_next_event(f.client, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
        assert_int_equal(event->type, expected[i]);
        if (event->type == ARCP_CLIENT_JOB_ADDED) {
            check_span(arcp_job_parent_id(event->job), "job_1");
            check_span(arcp_job_agent(event->job), "child@1");
        }
    }
    arcp_job_unref(job);
    fixture_end(&f);
}

static void read_events_are_acknowledged(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.ack_ms = 1;
    fixture_begin_with(&f, &options);
    arcp_job *job = fixture_submit(&f, "count", "{\"n\": 30}");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), &f.err);
    while (atomic_load(&f.runtime.acked) != 31) {
        sched_yield();
    }
    arcp_job_unref(job);
    fixture_end(&f);
}

static void reports_of_a_watch_are_read_without_observe_all(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    arcp_watch_options options = arcp_watch_options_init();
    options.jobs = true;
    fixture_begin(&f);
    check_ok(arcp_client_watch(f.client, &options, ARCP_WAIT_DEFAULT, &f.err), &f.err);
    check_ok(arcp_client_next_event(f.client, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
    assert_int_equal(event->type, ARCP_CLIENT_JOBS_CHANGED);
    assert_null(event->job);
    check_span(event->body, "{\"jobs\":[{\"n\":1}]}");
    check_span(arcp_client_event_payload(event), "{\"jobs\":[{\"n\":1}]}");
    /* The submit cuts the connection: then the client watches again. */
    arcp_submit_options submit = arcp_submit_options_init();
    arcp_job *job = NULL;
    submit.agent = ARCP_SPAN_LITERAL("hangup");
    assert_int_not_equal(arcp_client_submit(f.client, &submit, 1, &job, &f.err), ARCP_OK);
    check_ok(arcp_client_next_event(f.client, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
    assert_int_equal(event->type, ARCP_CLIENT_JOBS_CHANGED);
    check_span(event->body, "{\"jobs\":[],\"reload\":true}");
    check_ok(arcp_client_next_event(f.client, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
    check_span(event->body, "{\"jobs\":[{\"n\":1}]}");
    check_ok(arcp_client_unwatch(f.client, ARCP_WAIT_DEFAULT, &f.err), &f.err);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unread_events_stop_the_connection_before_memory_fills),
        cmocka_unit_test(unread_events_of_other_jobs_end_a_wait_before_memory_fills),
        cmocka_unit_test(events_of_jobs_without_a_handle_are_not_kept),
        cmocka_unit_test(with_all_events_requested_session_events_and_children_are_seen),
        cmocka_unit_test(read_events_are_acknowledged),
        cmocka_unit_test(reports_of_a_watch_are_read_without_observe_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
