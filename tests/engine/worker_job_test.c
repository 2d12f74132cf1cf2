/* Jobs on a worker: how they start, what the worker claims, and how they end when it is lost
 * (src/job/job_worker.c). */
#include "support/check.h"

#include "engine/worker_job_rig.h"

/* ---- starts ---- */

/* Those of the engine are swept when its owner starts again. */
static void a_job_on_a_worker_has_its_directory_where_that_is_kept(void **state)
{
    char cwd[100];
    (void)state;
    assert_int_equal(
        arcp__engine_set_worker_directory(s->rig.engine, ARCP_SPAN_LITERAL("/jobs"), NULL),
        ARCP_OK);
    (void)snprintf(cwd, sizeof cwd, "/jobs/%s", worker_rig_submit("{\"agent\":\"echo\"}"));
    const rig_agent *agent = rig_agent_last(&s->rig);
    assert_string_equal(agent->job->live->cwd, cwd);
    assert_true(agent->job->live->owns_cwd);
}

static void a_job_starts_when_its_worker_comes(void **state)
{
    (void)state;
    arcp__engine_worker_away(s->rig.engine, s->rig.now, worker_rig_life);
    (void)worker_rig_submit("{\"agent\":\"echo\"}");
    assert_null(rig_agent_last(&s->rig));
    assert_true(worker_rig_joins("i1"));
    worker_rig_ready();
    assert_non_null(rig_agent_last(&s->rig));
}

/* A job that was submitted while the worker is away. */
static const arcp__job *waiting_job(void)
{
    arcp__engine_worker_away(s->rig.engine, s->rig.now, worker_rig_life);
    (void)worker_rig_submit("{\"agent\":\"echo\"}");
    const arcp__job *job = s->rig.engine->jobs.all;
    assert_non_null(job);
    assert_int_equal(job->status, ARCP_JOB_PENDING);
    return job;
}

static void a_job_that_waits_for_its_worker_ends_with_its_cancel(void **state)
{
    (void)state;
    char frame[256];
    const arcp__job *job = waiting_job();
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), job->id);
    rig_send(&s->rig, s->client, frame);
    assert_int_equal(job->status, ARCP_JOB_CANCELLED);
    assert_int_equal(s->rig.engine->jobs.live_agents, 0);
    assert_true(worker_rig_joins("i1"));
    worker_rig_ready();
    assert_null(rig_agent_last(&s->rig));
}

static void a_job_waits_for_its_worker_as_long_as_in_a_queue(void **state)
{
    (void)state;
    const int64_t queue_ns = (int64_t)s->rig.settings.jobs_queue_sec * ARCP_NS_PER_SEC;
    char id[64];
    (void)snprintf(id, sizeof id, "%s", waiting_job()->id);
    rig_clock(&s->rig, queue_ns / 2 - ARCP_NS_PER_SEC);
    worker_rig_restart(); /* takes a second */
    rig_clock(&s->rig, queue_ns / 2 - 1);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_PENDING);
    rig_clock(&s->rig, 1);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_TIMED_OUT);
    assert_true(worker_rig_last_record_has(id, "\"limit\":\"jobs.queue_sec\""));
    assert_int_equal(s->rig.engine->jobs.live_agents, 0);
}

static void a_job_that_its_worker_has_waits_no_more(void **state)
{
    (void)state;
    const arcp__job *job = waiting_job();
    assert_true(worker_rig_joins("i1"));
    worker_rig_ready();
    rig_clock(&s->rig, (int64_t)s->rig.settings.jobs_queue_sec * ARCP_NS_PER_SEC);
    assert_int_equal(job->status, ARCP_JOB_RUNNING);
}

static void a_job_that_never_reached_its_worker_is_started_after_a_restart(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    const char *id = worker_rig_submit("{\"agent\":\"echo\",\"input\":{\"a\":1}}");
    worker_rig_restart();
    assert_null(rig_agent_last(&s->rig));
    assert_true(worker_rig_joins("i1"));
    worker_rig_ready();
    rig_agent *agent = rig_agent_last(&s->rig);
    assert_non_null(agent);
    assert_string_equal(agent->job_id, id);
    assert_ptr_equal(agent->job->live->host, &s->rig);
    assert_non_null(strstr(worker_rig_lines_of(agent), "\"input\":{\"a\":1}"));
}

static void a_job_that_waited_for_its_worker_is_started_after_a_restart(void **state)
{
    (void)state;
    arcp__engine_worker_away(s->rig.engine, s->rig.now, worker_rig_life);
    (void)worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_restart();
    assert_true(worker_rig_joins("i2"));
    worker_rig_ready();
    assert_non_null(rig_agent_last(&s->rig));
    assert_ptr_equal(rig_agent_last(&s->rig)->job->live->host, &s->rig);
}

static void a_job_that_has_run_is_never_started_again(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_restart();
    assert_true(worker_rig_joins("i1"));
    worker_rig_ready();
    assert_null(rig_agent_last(&s->rig));
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_ERROR);
}

/* ---- what a worker claims ---- */

static void a_job_that_has_ended_is_forgotten(void **state)
{
    (void)state;
    rig_agent *agent = NULL;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 1, RESULT);
    worker_rig_restart();
    assert_true(worker_rig_joins("i1"));
    assert_int_equal(worker_rig_claim(id, NULL, &agent), ARCP__CLAIM_FORGET);
    assert_int_equal(worker_rig_claim("job_of_nobody", NULL, &agent), ARCP__CLAIM_FORGET);
}

static void a_worker_that_knows_more_than_the_store_ends_the_job(void **state)
{
    static const arcp__worker_claim claims[] = {
        {.items_first = 1, .errors_first = 1, .stored = 2},
        {.items_first = 1, .errors_first = 1, .at = 1},
        {.items_first = 1, .errors_first = 1, .bytes_first = 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        rig_agent *agent = NULL;
        const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
        worker_rig_says(rig_agent_last(&s->rig), 1, EVENT);
        worker_rig_restart();
        assert_true(worker_rig_joins("i1"));
        assert_int_equal(worker_rig_claim(id, &claims[i], &agent), ARCP__CLAIM_END);
        worker_rig_ready();
        assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_ERROR);
        rig_agent_exits(&s->rig, agent, true, 9);
        assert_true(agent->forgotten);
        worker_rig_begin_session("");
    }
}

static void a_worker_forgets_a_job_when_its_end_is_durable(void **state)
{
    (void)state;
    (void)worker_rig_submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    s->disk.is_held = true;
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_false(agent->forgotten);
    while (disk_write(&s->disk) || disk_report(&s->disk)) {
    }
    rig_run(&s->rig);
    assert_true(agent->forgotten);
}

static void another_life_under_a_name_in_use_is_refused(void **state)
{
    (void)state;
    assert_false(worker_rig_joins("i2"));
    assert_false(worker_rig_joins(""));
    assert_true(worker_rig_joins("i1"));
}

static bool joins_draining(const char *instance, uint64_t drains_ms)
{
    const arcp__worker_intro intro = {.life = worker_rig_life_of(instance), .drains_ms = drains_ms};
    return arcp__engine_worker_joins(s->rig.engine, s->rig.now, &intro);
}

static void a_life_that_drains_joins_beside_another_one(void **state)
{
    arcp__worker_view view;
    (void)state;
    assert_true(joins_draining("i2", 5000));
    assert_true(arcp__engine_worker_view(s->rig.engine, 0, &view));
    assert_string_equal(view.instance, "i2");
    assert_true(view.is_draining);
    assert_int_equal(s->rig.now.wall_ns - view.drains_wall_ns, 5 * ARCP_NS_PER_SEC);
    assert_false(joins_draining("i3", 0));
    arcp__engine_worker_drains(s->rig.engine, s->rig.now, worker_rig_life_of("i1"));
    assert_true(joins_draining("i3", 0));
}

/* ---- a worker that is away ---- */

static bool has_ended(const char *id)
{
    return arcp__job_has_ended(worker_rig_job_of(id));
}

static void jobs_of_a_worker_that_stays_away_are_lost(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    (void)scene_takes(s, "");
    arcp__engine_worker_away(s->rig.engine, s->rig.now, worker_rig_life);
    rig_clock(&s->rig, 5 * ARCP_NS_PER_SEC - 1);
    assert_int_equal(scene_takes(s, "worker_away"), 0);
    rig_clock(&s->rig, 1);
    assert_int_equal(scene_takes(s, "worker_away"), 1);
    rig_clock(&s->rig, (KEEP_SEC + 5) * ARCP_NS_PER_SEC - 1);
    assert_false(has_ended(id));
    rig_clock(&s->rig, 1);
    assert_true(has_ended(id));
    assert_int_equal(scene_takes(s, "worker_lost"), 1);
}

static void jobs_of_a_worker_that_is_too_old_are_lost_when_it_must_have_killed_them(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_restart();
    arcp__engine_worker_too_old(s->rig.engine, s->rig.now, worker_rig_life_of("i1"));
    arcp__engine_worker_too_old(s->rig.engine, s->rig.now, worker_rig_life_of("unknown"));
    assert_true(worker_rig_joins("i2"));
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC - 1);
    assert_false(has_ended(id));
    rig_clock(&s->rig, 1);
    assert_true(has_ended(id));
    assert_true(worker_rig_last_record_has(id, "\"reason\":\"worker_too_old\""));
}

/* Its link would have ended before. */
static void a_worker_that_is_connected_is_not_too_old(void **state)
{
    arcp__worker_view view;
    (void)state;
    arcp__engine_worker_too_old(s->rig.engine, s->rig.now, worker_rig_life);
    assert_true(arcp__engine_worker_view(s->rig.engine, 0, &view));
    assert_false(view.is_draining);
}

static void a_worker_that_comes_back_in_time_has_its_jobs(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    arcp__engine_worker_away(s->rig.engine, s->rig.now, worker_rig_life);
    rig_clock(&s->rig, 100 * ARCP_NS_PER_SEC);
    (void)scene_takes(s, "");
    rig_agent *agent = worker_rig_come_back(id, 1);
    assert_int_equal(scene_takes(s, "\"phase\":\"running\""), 1);
    rig_clock(&s->rig, INT64_C(2) * KEEP_SEC * ARCP_NS_PER_SEC);
    assert_false(has_ended(id));
    worker_rig_says(agent, 1, RESULT);
    assert_true(has_ended(id));
}

static void jobs_of_a_dead_worker_are_lost_at_once(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_restart();
    arcp__engine_worker_lost(s->rig.engine, s->rig.now, worker_rig_life_of("i2"));
    rig_run(&s->rig);
    assert_false(has_ended(id));
    arcp__engine_worker_lost(s->rig.engine, s->rig.now, worker_rig_life_of("i1"));
    rig_run(&s->rig);
    assert_true(has_ended(id));
    assert_int_equal(s->rig.engine->jobs.live_agents, 0);
    assert_null(s->rig.engine->jobs.workers);
}

/* ---- a worker that ends the program ---- */

/* With status 0 and without a result, as of a program that has heard of the cancel. */
static void is_ended(rig_agent *agent, arcp__agent_ended_by ended_by)
{
    const arcp__agent_exit end = {.ended_by = ended_by};
    arcp__engine_agent_exited(s->rig.engine, s->rig.now, agent->job, &end);
    rig_run(&s->rig);
}

static void a_job_whose_worker_is_stopped_has_no_result(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    is_ended(rig_agent_last(&s->rig), ARCP__AGENT_ENDED_BY_STOP);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_ERROR);
    assert_int_equal(scene_takes(s, "\"retryable\":true,\"details\":{\"reason\":"
                                    "\"worker_stopped\"}"),
                     1);
}

static void a_job_that_was_alone_for_too_long_says_so(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    is_ended(rig_agent_last(&s->rig), ARCP__AGENT_ENDED_BY_ABSENCE);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_ERROR);
    assert_int_equal(scene_takes(s, "\"reason\":\"worker_alone\""), 1);
}

static void a_job_that_is_cancelled_ends_so_although_its_worker_is_stopped(void **state)
{
    (void)state;
    char frame[256];
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), id);
    rig_send(&s->rig, s->client, frame);
    is_ended(agent, ARCP__AGENT_ENDED_BY_STOP);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_CANCELLED);
    assert_int_equal(scene_takes(s, "worker_stopped"), 0);
}

static void a_cancel_while_the_worker_is_away_is_sent_when_it_comes(void **state)
{
    (void)state;
    char frame[256];
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    arcp__engine_worker_away(s->rig.engine, s->rig.now, worker_rig_life);
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), id);
    rig_send(&s->rig, s->client, frame);
    assert_false(agent->cancelled);
    agent = worker_rig_come_back(id, 1);
    assert_true(agent->cancelled);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, worker_rig_set_up, worker_rig_tear_down)

/* It keeps its place, and says that it waits. */
static void a_job_that_its_worker_does_not_take_waits_for_it(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    const arcp__job *job = worker_rig_job_of(worker_rig_submit("{\"agent\":\"echo\"}"));
    rig_agent *agent = rig_agent_last(&s->rig);
    agent->forgotten = true;
    (void)scene_takes(s, "");
    arcp__engine_agent_refused(s->rig.engine, s->rig.now, agent->job);
    rig_run(&s->rig);
    assert_int_equal(scene_takes(s, "its worker takes no jobs now"), 1);
    assert_string_equal(job->live->numbers->instance, "");
    rig_clock(&s->rig, 5 * ARCP_NS_PER_SEC - 1);
    assert_string_equal(job->live->numbers->instance, "");
    rig_clock(&s->rig, 1);
    assert_string_equal(job->live->numbers->instance, "i1");
    rig_agent_started(&s->rig, rig_agent_last(&s->rig));
    assert_int_equal(job->status, ARCP_JOB_RUNNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_on_a_worker_has_its_directory_where_that_is_kept),
        TEST(a_job_starts_when_its_worker_comes),
        TEST(a_job_that_waits_for_its_worker_ends_with_its_cancel),
        TEST(a_job_waits_for_its_worker_as_long_as_in_a_queue),
        TEST(a_job_that_its_worker_has_waits_no_more),
        TEST(a_job_that_never_reached_its_worker_is_started_after_a_restart),
        TEST(a_job_that_waited_for_its_worker_is_started_after_a_restart),
        TEST(a_job_that_has_run_is_never_started_again),
        TEST(a_job_that_has_ended_is_forgotten),
        TEST(a_worker_that_knows_more_than_the_store_ends_the_job),
        TEST(a_worker_forgets_a_job_when_its_end_is_durable),
        TEST(another_life_under_a_name_in_use_is_refused),
        TEST(a_life_that_drains_joins_beside_another_one),
        TEST(jobs_of_a_worker_that_is_too_old_are_lost_when_it_must_have_killed_them),
        TEST(a_worker_that_is_connected_is_not_too_old),
        TEST(jobs_of_a_worker_that_stays_away_are_lost),
        TEST(a_worker_that_comes_back_in_time_has_its_jobs),
        TEST(jobs_of_a_dead_worker_are_lost_at_once),
        TEST(a_cancel_while_the_worker_is_away_is_sent_when_it_comes),
        TEST(a_job_whose_worker_is_stopped_has_no_result),
        TEST(a_job_that_was_alone_for_too_long_says_so),
        TEST(a_job_that_is_cancelled_ends_so_although_its_worker_is_stopped),
        TEST(a_job_that_its_worker_does_not_take_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
