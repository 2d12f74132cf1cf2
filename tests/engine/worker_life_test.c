/* Workers that are away, drain, are lost or begin another life, and what becomes of the jobs of the
 * agents that they offer (src/job/job_worker.c). */
#include "support/check.h"

#include "engine/worker_offer_rig.h"

/* ---- workers that are away ---- */

static void jobs_wait_for_a_worker_that_is_away(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    offer_rig_leave("a", "1");
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC - 1);
    const arcp__job *job = offer_rig_submit();
    assert_string_equal(offer_rig_where(job), "-");
    assert_int_equal(job->status, ARCP_JOB_PENDING);
    rig_clock(&s->rig, 1); /* it is lost now */
    assert_true(offer_rig_is_refused("train", "AGENT_NOT_AVAILABLE"));
    assert_int_equal(job->status, ARCP_JOB_PENDING);
    assert_true(offer_rig_join("a", "2", (offers){.capacity = 1}));
    assert_string_equal(offer_rig_where(job), "a");
    assert_string_equal(job->live->numbers->instance, "2");
}

static void a_queued_job_outlives_a_restart_in_its_place(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    const arcp__job *running = offer_rig_submit();
    char ids[3][64];
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%s", offer_rig_submit()->id);
    }
    offer_rig_exits(running);
    assert_string_equal(offer_rig_where(offer_rig_newest_job()), "-");
    disk_crash(&s->disk);
    rig_restart(&s->rig);
    rig_reload(&s->rig); /* which ends jobs of agents that the configuration has no more */
    rig_run(&s->rig);
    for (size_t i = 1; i < 3; i++) {
        const arcp__job *job = arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(ids[i]));
        assert_int_equal(arcp__job_queue_place(job), i);
    }
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1}));
    const arcp__job *second = arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(ids[1]));
    assert_string_equal(offer_rig_where(second), "b");
    /* The first one is on the worker that is away. */
    const arcp__job *first = arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(ids[0]));
    assert_string_equal(offer_rig_where(first), "a");
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC);
    assert_int_equal(first->status, ARCP_JOB_ERROR);
    assert_int_equal(second->status, ARCP_JOB_RUNNING);
}

/* The child is still one for which its parent lends its place. */
static void a_queued_child_outlives_a_restart_with_its_parent(void **state)
{
    char id[64];
    arcp__job *parent = NULL;
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    arcp__job *job = offer_rig_submit_as(s->client, "{\"agent\":\"train\",\"lease_request\":{"
                                                    "\"agent.delegate\":[\"train\"]}}");
    (void)snprintf(id, sizeof id, "%s", job->id);
    offer_rig_drain("a");
    arcp__engine_agent_line(s->rig.engine, s->rig.now, job, 1, ARCP_SPAN_LITERAL(DELEGATE));
    rig_run(&s->rig);
    assert_string_equal(offer_rig_where(offer_rig_newest_job()), "-");
    disk_crash(&s->disk);
    rig_restart(&s->rig);
    const arcp__worker_claim claim = {
        .job = arcp_span_cstr(id), .items_first = 2, .stored = 1, .errors_first = 1};
    assert_true(offer_rig_join_with("a", "1", (offers){.capacity = 1}, &claim, &parent));
    assert_non_null(parent);
    const arcp__job *child = offer_rig_newest_job();
    assert_string_equal(child->parent_id, id);
    assert_string_equal(offer_rig_where(child), "a");
}

static void a_queued_job_times_out(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    offer_rig_leave("a", "1");
    const arcp__job *job = offer_rig_submit();
    rig_clock(&s->rig, (int64_t)s->rig.settings.jobs_queue_sec * ARCP_NS_PER_SEC);
    assert_int_equal(job->status, ARCP_JOB_TIMED_OUT);
}

/* ---- lives ---- */

static void a_second_life_is_refused_unless_the_first_one_drains(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2}));
    const arcp__job *old = offer_rig_submit();
    assert_false(offer_rig_join("a", "2", (offers){.capacity = 2}));
    offer_rig_drain("a");
    assert_true(offer_rig_join("a", "2", (offers){.capacity = 2}));
    const arcp__job *fresh = offer_rig_submit();
    assert_string_equal(fresh->live->numbers->instance, "2");
    assert_string_equal(old->live->numbers->instance, "1");
    offer_rig_exits(old);
    assert_int_equal(old->status, ARCP_JOB_SUCCESS);
}

static void a_worker_that_drains_gets_no_new_jobs(void **state)
{
    (void)state;
    arcp__worker_view view;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2}));
    offer_rig_drain("a");
    const arcp__job *job = offer_rig_submit();
    assert_string_equal(offer_rig_where(job), "-");
    assert_true(arcp__engine_worker_view(s->rig.engine, 0, &view));
    assert_true(view.is_draining);
    assert_int_equal(view.drains_wall_ns, s->rig.now.wall_ns);
    offer_rig_leave("a", "1"); /* and it goes on with that when it is back */
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2}));
    assert_string_equal(offer_rig_where(job), "-");
}

/* A worker on the same boot has ended the programs of the lives before it. */
static void a_new_life_on_the_same_boot_says_that_the_old_one_is_dead(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1, .boot_id = "x"}));
    const arcp__job *job = offer_rig_submit();
    offer_rig_leave("a", "1");
    assert_true(offer_rig_join("a", "2", (offers){.capacity = 1, .boot_id = "x"}));
    assert_int_equal(job->status, ARCP_JOB_ERROR);
    const arcp__job *other = offer_rig_submit();
    offer_rig_leave("a", "2");
    assert_true(offer_rig_join("a", "3", (offers){.capacity = 1, .boot_id = "y"}));
    assert_int_equal(other->status, ARCP_JOB_RUNNING);
}

/* Also when the runtime was away in between. */
static void after_a_restart_the_boot_is_known(void **state)
{
    static const struct {
        const char *boot_id;
        arcp_job_status status;
    } rows[] = {{"y", ARCP_JOB_RUNNING}, {"x", ARCP_JOB_ERROR}};
    char id[64];
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1, .boot_id = "x"}));
    (void)snprintf(id, sizeof id, "%s", offer_rig_submit()->id);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        disk_crash(&s->disk);
        rig_restart(&s->rig);
        assert_true(offer_rig_join("a", "2", (offers){.capacity = 1, .boot_id = rows[i].boot_id}));
        assert_int_equal(offer_rig_newest_job()->status, rows[i].status);
        assert_string_equal(offer_rig_newest_job()->id, id);
    }
}

static void the_jobs_of_each_worker_are_lost_on_their_own(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1}));
    const arcp__job *first = offer_rig_submit();
    const arcp__job *second = offer_rig_submit();
    arcp__engine_worker_lost(s->rig.engine, s->rig.now, offer_rig_life_of("a", "")); /* forget */
    rig_run(&s->rig);
    assert_int_equal(first->status, ARCP_JOB_ERROR);
    assert_int_equal(second->status, ARCP_JOB_RUNNING);
    offer_rig_leave("b", "1");
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC);
    assert_int_equal(second->status, ARCP_JOB_ERROR);
    arcp__worker_view view;
    assert_false(arcp__engine_worker_view(s->rig.engine, 0, &view));
}

static void what_becomes_of_a_worker_is_audited(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "7", (offers){.capacity = 1}));
    assert_non_null(strstr(s->rig.last_audit, "\"event\":\"worker\",\"decision\":\"joined\""));
    assert_non_null(strstr(s->rig.last_audit, "\"target\":\"a\""));
    assert_non_null(strstr(s->rig.last_audit, "\"instance\":\"7\""));
    offer_rig_drain("a");
    assert_non_null(strstr(s->rig.last_audit, "\"decision\":\"drained\""));
    offer_rig_leave("a", "7");
    assert_non_null(strstr(s->rig.last_audit, "\"decision\":\"left\""));
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC);
    assert_non_null(strstr(s->rig.last_audit, "\"decision\":\"lost\""));
}

static void operators_see_workers(void **state)
{
    (void)state;
    arcp__worker_view view;
    arcp_buf text = arcp_buf_init();
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    (void)offer_rig_submit();
    (void)offer_rig_submit();
    assert_true(arcp__engine_worker_view(s->rig.engine, 0, &view));
    assert_string_equal(view.name, "a");
    assert_string_equal(view.version, "1.2.3");
    assert_int_equal(view.state, ARCP__WORKER_JOINED);
    assert_int_equal(view.jobs, 1);
    assert_int_equal(view.capacity, 1);
    assert_int_equal(view.pid, 42);
    assert_int_equal(view.agents, 1);
    assert_false(view.is_draining);
    offer_rig_leave("a", "1");
    arcp__engine_write_state(s->rig.engine, s->rig.now, 100, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_non_null(strstr(text.data, "{\"kind\":\"worker\",\"name\":\"a\",\"instance\":\"1\","
                                      "\"state\":\"away\",\"draining\":false"));
    assert_non_null(strstr(text.data, "a place on a worker that offers its agent: it is number 1"));
    arcp_buf_fini(&text);
}

static void operators_count_workers_and_their_places(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2}));
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1}));
    (void)offer_rig_submit();
    arcp__worker_counts counts = arcp__workers_count(&s->rig.engine->jobs);
    assert_int_equal(counts.joined, 2);
    assert_int_equal(counts.away + counts.draining, 0);
    assert_int_equal(counts.jobs, 1);
    assert_int_equal(counts.capacity, 3);
    offer_rig_drain("b");
    offer_rig_leave("a", "1"); /* with its job */
    counts = arcp__workers_count(&s->rig.engine->jobs);
    assert_int_equal(counts.joined, 0);
    assert_int_equal(counts.away, 1);
    assert_int_equal(counts.draining, 1);
    assert_int_equal(counts.jobs + counts.capacity, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, offer_rig_set_up, offer_rig_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(jobs_wait_for_a_worker_that_is_away),
        TEST(a_queued_job_outlives_a_restart_in_its_place),
        TEST(a_queued_child_outlives_a_restart_with_its_parent),
        TEST(a_queued_job_times_out),
        TEST(a_second_life_is_refused_unless_the_first_one_drains),
        TEST(a_worker_that_drains_gets_no_new_jobs),
        TEST(a_new_life_on_the_same_boot_says_that_the_old_one_is_dead),
        TEST(after_a_restart_the_boot_is_known),
        TEST(the_jobs_of_each_worker_are_lost_on_their_own),
        TEST(what_becomes_of_a_worker_is_audited),
        TEST(operators_see_workers),
        TEST(operators_count_workers_and_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
