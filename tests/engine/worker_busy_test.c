/* Jobs that the worker which they were given to does not take (src/job/job_worker.c). */
#include "support/check.h"

#include "engine/worker_offer_rig.h"

/* The worker does not take the job that was given to it last. */
static void refuse(const arcp__job *job)
{
    rig_agent *agent = rig_agent_of(&s->rig, job->id);
    assert_non_null(agent);
    assert_true(agent->starting);
    agent->forgotten = true;
    arcp__engine_agent_refused(s->rig.engine, s->rig.now, agent->job);
    rig_run(&s->rig);
}

/* ---- jobs that a worker does not take ---- */

static void a_job_that_is_not_taken_goes_to_another_worker(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1}));
    const arcp__job *job = offer_rig_submit();
    assert_string_equal(offer_rig_where(job), "a");
    refuse(job);
    assert_string_equal(offer_rig_where(job), "b");
    assert_int_equal(job->agent_state, ARCP__AGENT_STARTING);
    rig_agent_started(&s->rig, rig_agent_of(&s->rig, job->id));
    offer_rig_exits(job);
    assert_int_equal(job->status, ARCP_JOB_SUCCESS);
}

static void a_job_that_is_not_taken_is_the_next_one_again(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    const arcp__job *first = offer_rig_submit();
    const arcp__job *second = offer_rig_submit();
    (void)scene_takes(s, "");
    refuse(first);
    assert_int_equal(arcp__job_queue_place(first), 1);
    assert_int_equal(arcp__job_queue_place(second), 2);
    assert_int_equal(scene_takes(s, "\"phase\":\"queued\""), 1);
    rig_clock(&s->rig, 5 * ARCP_NS_PER_SEC - 1);
    assert_string_equal(offer_rig_where(first), "-");
    rig_clock(&s->rig, 1); /* the worker is tried again */
    assert_string_equal(offer_rig_where(first), "a");
    assert_string_equal(offer_rig_where(second), "-");
    refuse(first);
    assert_int_equal(scene_takes(s, "\"phase\":\"queued\""), 0); /* it has that event */
}

static void a_job_that_was_not_taken_outlives_a_restart(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    char id[64];
    (void)snprintf(id, sizeof id, "%s", offer_rig_submit()->id);
    (void)offer_rig_submit();
    refuse(offer_rig_newest_job() == NULL
               ? NULL
               : arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(id)));
    disk_crash(&s->disk);
    rig_restart(&s->rig);
    const arcp__job *job = arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(id));
    assert_int_equal(arcp__job_queue_place(job), 1);
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1}));
    assert_string_equal(offer_rig_where(job), "b");
}

static void a_job_whose_start_was_lost_is_started_after_a_restart(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    char id[64];
    (void)snprintf(id, sizeof id, "%s", offer_rig_submit()->id);
    disk_crash(&s->disk);
    rig_restart(&s->rig);
    assert_true(
        offer_rig_join("a", "1", (offers){.capacity = 1})); /* it knows nothing of the job */
    const rig_agent *agent = rig_agent_of(&s->rig, id);
    assert_non_null(agent);
    assert_ptr_equal(agent->job->live->host, &offer_rig_hosts[0]);
}

static void a_cancelled_job_that_is_not_taken_ends_so(void **state)
{
    char frame[200];
    (void)state;
    s->rig.hold_start = true;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    const arcp__job *job = offer_rig_submit();
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), job->id);
    rig_send(&s->rig, s->client, frame);
    rig_agent *agent = rig_agent_of(&s->rig, job->id);
    arcp__engine_agent_refused(s->rig.engine, s->rig.now, agent->job);
    rig_run(&s->rig);
    assert_int_equal(job->status, ARCP_JOB_CANCELLED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, offer_rig_set_up, offer_rig_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_is_not_taken_goes_to_another_worker),
        TEST(a_job_that_is_not_taken_is_the_next_one_again),
        TEST(a_job_that_was_not_taken_outlives_a_restart),
        TEST(a_job_whose_start_was_lost_is_started_after_a_restart),
        TEST(a_cancelled_job_that_is_not_taken_ends_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
