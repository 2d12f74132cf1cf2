/* Waiting calls (src/client/client_calls.c): deadlines, the end of the session, interruptions,
 * threads. */
#include "client/blocking_fixture.h"

#include <pthread.h>
#include <sched.h>

#include "client/client_driver.h"

static void a_request_without_a_response_ends_at_the_deadline_of_the_call(void **state)
{
    fixture f;
    arcp_submit_options options = arcp_submit_options_init();
    arcp_job *job = NULL;
    fixture_begin(&f);
    options.agent = ARCP_SPAN_LITERAL("silent");
    assert_int_equal(arcp_client_submit(f.client, &options, 20, &job, &f.err), ARCP_E_DEADLINE);
    /* Nothing of it remains: the session continues. */
    job = fixture_submit(&f, "echo", "1");
    arcp_job_unref(job);
    fixture_end(&f);
}

static void a_wait_for_an_event_ends_at_its_deadline(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    const arcp_outcome *outcome = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "wait", "{}");
    assert_int_equal(arcp_job_next_event(job, 0, &event, &f.err), ARCP_E_DEADLINE);
    assert_int_equal(arcp_job_next_event(job, 10, &event, &f.err), ARCP_E_DEADLINE);
    assert_int_equal(arcp_job_wait(job, 10, &outcome, &f.err), ARCP_E_DEADLINE);
    assert_int_equal(arcp_client_next_event(f.client, 10, &event, &f.err), ARCP_E_DEADLINE);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void the_loss_of_the_session_ends_every_wait(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    const arcp_outcome *outcome = NULL;
    fixture_begin(&f);
    arcp_submit_options options = arcp_submit_options_init();
    arcp_job *none = NULL;
    arcp_job *job = fixture_submit(&f, "wait", "{}");
    atomic_store(&f.runtime.forgets, true);
    options.agent = ARCP_SPAN_LITERAL("hangup");
    assert_int_equal(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &none, &f.err),
                     ARCP_E_RESUME_WINDOW_EXPIRED);
    assert_int_equal(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err),
                     ARCP_E_RESUME_WINDOW_EXPIRED);
    assert_int_equal(arcp_client_next_event(f.client, ARCP_WAIT_FOREVER, &event, &f.err),
                     ARCP_E_RESUME_WINDOW_EXPIRED);
    assert_string_equal(f.err.code, "RESUME_WINDOW_EXPIRED");
    /* Requests that come later fail with all of it, too. */
    const arcp_error lost = f.err;
    f.err = (arcp_error){0};
    assert_int_equal(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &none, &f.err),
                     ARCP_E_RESUME_WINDOW_EXPIRED);
    assert_string_equal(f.err.code, lost.code);
    assert_string_equal(f.err.message, lost.message);
    assert_int_equal(f.err.retryable, lost.retryable);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void a_waiting_call_can_be_interrupted(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    pthread_t thread;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "wait", "{}");
    assert_int_equal(pthread_create(&thread, NULL, fixture_interrupt_soon, f.client), 0);
    assert_int_equal(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.err),
                     ARCP_E_INTERRUPTED);
    assert_string_equal(f.err.message, "the wait was interrupted");
    assert_int_equal(pthread_join(thread, NULL), 0);
    arcp_job_unref(job);
    fixture_end(&f);
}

/* Interrupts the client, which is in no call, and waits until its loop knows. */
static void interrupt(fixture *f)
{
    arcp_client_interrupt(f->client);
    bool pending = false;
    while (!pending) {
        uv_mutex_lock(&f->client->mutex);
        pending = f->client->interruptions != f->client->interruptions_handled;
        uv_mutex_unlock(&f->client->mutex);
        sched_yield();
    }
}

static void an_interruption_without_a_waiting_call_ends_the_next_call(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "wait", "{}");
    interrupt(&f);
    assert_int_equal(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.err),
                     ARCP_E_INTERRUPTED);
    assert_int_equal(arcp_job_next_event(job, 0, &event, &f.err), ARCP_E_DEADLINE);
    assert_string_equal(f.err.message, "the wait timed out");
    arcp_job_unref(job);
    fixture_end(&f);
}

/* ---- threads ---- */

static void *close_client(void *user)
{
    arcp_client_close(user);
    arcp_client_close(user);
    return NULL;
}

static void any_thread_may_close_the_client_also_twice(void **state)
{
    fixture f;
    pthread_t threads[2];
    const arcp_outcome *outcome = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "wait", "{}");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, close_client, f.client), 0);
    }
    assert_int_equal(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), ARCP_E_CLOSED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&f.runtime.closes), 1);
    arcp_job_unref(job);
    fixture_end(&f);
}

typedef struct worker {
    fixture *f;
    pthread_t thread;
    unsigned good;
} worker;

static void *run_jobs(void *user)
{
    worker *w = user;
    const fixture *f = w->f;
    arcp_error err = {0};
    for (int i = 0; i < 20; i++) {
        arcp_submit_options options = arcp_submit_options_init();
        arcp_job *job = NULL;
        const arcp_outcome *outcome = NULL;
        options.agent = ARCP_SPAN_LITERAL("count");
        options.input = ARCP_SPAN_LITERAL("{\"n\": 50}");
        if (arcp_client_submit(f->client, &options, ARCP_WAIT_DEFAULT, &job, &err) == ARCP_OK &&
            arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &err) == ARCP_OK &&
            arcp_span_equal_cstr(outcome->result, "50")) {
            w->good++;
        }
        arcp_job_unref(job);
    }
    return NULL;
}

static void several_threads_share_a_client(void **state)
{
    fixture f;
    worker workers[4];
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.runtime.cut_every = 500;
    fixture_begin_with(&f, &options);
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){.f = &f};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_jobs, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].good, 20);
    }
    fixture_end(&f);
}

static void a_job_is_read_by_one_thread_at_a_time(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "wait", "{}");
    job->is_being_read = true;
    assert_int_equal(arcp_job_next_event(job, 0, &event, &f.err), ARCP_E_USAGE);
    job->is_being_read = false;
    arcp_job_unref(job);
    fixture_end(&f);
}

/* The interruption arrives while a call waits, at the same time as the reply of that call. */
static void an_interruption_that_no_call_has_returned_ends_the_next_call(void **state)
{
    fixture f;
    arcp__client_wait wait;
    int64_t ns = 0;
    fixture_begin(&f);
    arcp__client_begin_wait(f.client, ARCP_WAIT_FOREVER, &wait);
    arcp_client_interrupt(f.client);
    while (f.client->interruptions == wait.interruptions) {
        uv_cond_wait(&f.client->changed, &f.client->mutex);
    }
    arcp__client_end_wait(f.client); /* the reply was received */
    assert_int_equal(arcp_client_ping(f.client, ARCP_WAIT_DEFAULT, &ns, &f.err),
                     ARCP_E_INTERRUPTED);
    check_ok(arcp_client_ping(f.client, ARCP_WAIT_DEFAULT, &ns, &f.err), &f.err);
    fixture_end(&f);
}

/* Else Ctrl-C at the wrong moment would leave the session open. */
static void an_interruption_before_the_close_does_not_end_its_wait(void **state)
{
    fixture f;
    fixture_begin(&f);
    interrupt(&f);
    arcp_client_interrupt(f.client); /* the loop may not know of it yet */
    arcp_client_close(f.client);
    uv_mutex_lock(&f.client->mutex);
    assert_true(arcp__client_is_over(f.client));
    uv_mutex_unlock(&f.client->mutex);
    assert_int_equal(atomic_load(&f.runtime.closes), 1);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_without_a_response_ends_at_the_deadline_of_the_call),
        cmocka_unit_test(a_wait_for_an_event_ends_at_its_deadline),
        cmocka_unit_test(the_loss_of_the_session_ends_every_wait),
        cmocka_unit_test(a_waiting_call_can_be_interrupted),
        cmocka_unit_test(an_interruption_without_a_waiting_call_ends_the_next_call),
        cmocka_unit_test(an_interruption_that_no_call_has_returned_ends_the_next_call),
        cmocka_unit_test(an_interruption_before_the_close_does_not_end_its_wait),
        cmocka_unit_test(any_thread_may_close_the_client_also_twice),
        cmocka_unit_test(several_threads_share_a_client),
        cmocka_unit_test(a_job_is_read_by_one_thread_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
