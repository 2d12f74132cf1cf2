/* A stop that keeps jobs leaves those on workers to them (src/job/job_place.c). */
#include "support/check.h"

#include "engine/worker_job_rig.h"

#define DELEGATING "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"work\"]}}"
#define DELEGATE                                                                                   \
    "{\"type\":\"delegate\",\"id\":\"d1\",\"payload\":{\"agent\":\"work\",\"wait\":true,"          \
    "\"lease_request\":{}}}"

static void stop(bool keeps_jobs)
{
    arcp__engine_shutdown(s->rig.engine, s->rig.now, keeps_jobs);
    rig_run(&s->rig);
}

static void is_away(void)
{
    arcp__engine_worker_away(s->rig.engine, s->rig.now, worker_rig_life);
    rig_run(&s->rig);
}

static void a_stop_leaves_a_job_to_its_worker(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    worker_rig_says(rig_agent_last(&s->rig), 1, EVENT);
    assert_int_equal(arcp__engine_jobs_on_workers(s->rig.engine), 1);
    stop(true);
    assert_true(arcp__engine_leaves_workers(s->rig.engine));
    is_away();
    assert_null(s->client->link);
    assert_int_equal(s->client->close_code, 1001);
    assert_true(arcp__engine_is_finished(s->rig.engine));
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_RUNNING);
    worker_rig_restart();
    worker_rig_says(worker_rig_come_back(id, 2), 2, RESULT);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_SUCCESS);
}

static void a_client_that_does_not_read_delays_such_a_stop_by_half_a_second(void **state)
{
    (void)state;
    (void)worker_rig_submit("{\"agent\":\"echo\"}");
    s->client->slow = true;
    for (uint64_t item = 1; item <= 2000; item++) {
        worker_rig_says(rig_agent_last(&s->rig), item, EVENT);
    }
    stop(true);
    is_away();
    assert_non_null(s->client->link);
    rig_clock(&s->rig, ARCP_NS_PER_SEC / 2 - 1);
    assert_non_null(s->client->link);
    rig_clock(&s->rig, 1);
    assert_null(s->client->link);
}

static void such_a_stop_waits_for_jobs_of_the_runtime(void **state)
{
    (void)state;
    char id[64];
    (void)snprintf(id, sizeof id, "%s", worker_rig_submit("{\"agent\":\"echo\"}"));
    rig_agent *agent = rig_agent_last(&s->rig);
    s->rig.worker = NULL;
    rig_reload(&s->rig);
    char own[64];
    (void)snprintf(own, sizeof own, "%s", worker_rig_submit("{\"agent\":\"echo\"}"));
    stop(true);
    assert_false(arcp__engine_leaves_workers(s->rig.engine));
    worker_rig_says(agent, 1, EVENT); /* which goes on meanwhile */
    rig_clock(&s->rig, s->rig.settings.shutdown_grace_sec * ARCP_NS_PER_SEC);
    assert_int_equal(worker_rig_job_of(own)->status, ARCP_JOB_ERROR);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_RUNNING);
    assert_true(arcp__engine_leaves_workers(s->rig.engine));
}

static void a_second_stop_ends_jobs_on_workers(void **state)
{
    (void)state;
    char id[64];
    (void)snprintf(id, sizeof id, "%s", worker_rig_submit("{\"agent\":\"echo\"}"));
    const rig_agent *agent = rig_agent_last(&s->rig);
    s->rig.worker = NULL;
    rig_reload(&s->rig);
    (void)worker_rig_submit("{\"agent\":\"echo\"}");
    stop(true);
    stop(false);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_ERROR);
    assert_true(agent->killed);
    assert_false(arcp__engine_leaves_workers(s->rig.engine));
}

static void a_second_stop_cannot_keep_what_the_first_ends(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    stop(false);
    stop(true);
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_ERROR);
}

static void such_a_stop_leaves_a_parent_and_its_queued_child(void **state)
{
    (void)state;
    char parent[64];
    s->rig.max_jobs = 1;
    rig_reload(&s->rig);
    (void)snprintf(parent, sizeof parent, "%s", worker_rig_submit(DELEGATING));
    rig_agent *agents[2] = {rig_agent_last(&s->rig)};
    char first[64];
    (void)snprintf(first, sizeof first, "%s", worker_rig_submit("{\"agent\":\"work\"}"));
    worker_rig_says(agents[0], 1, DELEGATE);
    stop(true);
    is_away();
    assert_true(arcp__engine_is_finished(s->rig.engine));
    worker_rig_restart();
    assert_true(worker_rig_joins("i1"));
    assert_int_equal(worker_rig_claim(parent, NULL, &agents[0]), ARCP__CLAIM_GO_ON);
    assert_int_equal(worker_rig_claim(first, NULL, &agents[1]), ARCP__CLAIM_GO_ON);
    worker_rig_ready();
    rig_agent_exits(&s->rig, agents[1], false, 0);
    worker_rig_says(rig_agent_last(&s->rig), 1, RESULT);
    assert_non_null(strstr(worker_rig_lines_of(agents[0]), "\"re\":\"d1\""));
}

static void such_a_stop_leaves_a_job_with_its_credential(void **state)
{
    (void)state;
    const char *id = worker_rig_submit("{\"agent\":\"echo\"}");
    assert_int_equal(arcp__engine_jobs_on_workers(s->rig.engine), 1);
    stop(true);
    is_away();
    assert_true(arcp__engine_is_finished(s->rig.engine));
    worker_rig_restart();
    assert_int_equal(worker_rig_job_of(id)->status, ARCP_JOB_RUNNING);
    assert_non_null(worker_rig_job_of(id)->live->credential.live);
    assert_int_equal(upstream_live_count(&issuer), 1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, worker_rig_set_up, worker_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stop_leaves_a_job_to_its_worker),
        TEST(a_client_that_does_not_read_delays_such_a_stop_by_half_a_second),
        TEST(such_a_stop_waits_for_jobs_of_the_runtime),
        TEST(a_second_stop_ends_jobs_on_workers),
        TEST(a_second_stop_cannot_keep_what_the_first_ends),
        TEST(such_a_stop_leaves_a_parent_and_its_queued_child),
        cmocka_unit_test_setup_teardown(such_a_stop_leaves_a_job_with_its_credential,
                                        worker_rig_set_up_with_credentials, worker_rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
