/* Agents that workers offer: where their jobs run (src/job/job_worker_offer.c, job_site.c). */
#include "support/check.h"

#include "engine/worker_offer_rig.h"

/* ---- where jobs run ---- */

static void a_job_runs_on_a_worker_that_offers_its_agent(void **state)
{
    (void)state;
    assert_true(offer_rig_is_refused("train", "AGENT_NOT_AVAILABLE"));
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2}));
    const arcp__job *job = offer_rig_submit();
    assert_string_equal(offer_rig_where(job), "a");
    assert_string_equal(job->live->numbers->instance, "1");
    assert_ptr_equal(job->live->host, &offer_rig_hosts[0]);
    assert_string_equal(job->live->cwd + strlen("/srv/jobs/"), job->id);
    assert_int_equal(job->status, ARCP_JOB_RUNNING);
    offer_rig_exits(job);
    assert_int_equal(job->status, ARCP_JOB_SUCCESS);
}

static void jobs_are_spread_and_the_others_wait(void **state)
{
    (void)state;
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1}));
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2}));
    const arcp__job *const jobs[] = {offer_rig_submit(), offer_rig_submit(), offer_rig_submit(),
                                     offer_rig_submit()};
    const char *const expected[] = {"a", "b", "a", "-"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(offer_rig_where(jobs[i]), expected[i]);
    }
    assert_int_equal(arcp__job_queue_place(jobs[3]), 1);
    assert_int_equal(scene_takes(s, "\"phase\":\"queued\""), 1);
    offer_rig_exits(jobs[1]);
    assert_string_equal(offer_rig_where(jobs[3]), "b");
    assert_int_equal(jobs[3]->status, ARCP_JOB_RUNNING);
}

static void agents_of_the_configuration_hide_those_of_workers(void **state)
{
    (void)state;
    arcp__worker_agent_view view;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2, .name = "echo"}));
    assert_string_equal(offer_rig_where(offer_rig_submit_as(s->client, "{\"agent\":\"echo\"}")),
                        "-");
    assert_true(arcp__engine_worker_agent_view(s->rig.engine, 0, 0, &view));
    assert_true(view.is_hidden);
    assert_false(arcp__engine_worker_agent_view(s->rig.engine, 0, 1, &view));
    rig_drop(&s->rig, s->client);
    s->client = rig_connect(&s->rig, "alice");
    rig_send(&s->rig, s->client, HELLO_WITH("\"agent_versions\""));
    char *welcome = rig_take(s->client);
    const char *first = strstr(welcome, "\"name\":\"echo\"");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"name\":\"echo\""));
    arcp_free(welcome);
}

static void sessions_hear_of_the_agents_of_workers(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    rig_client *other = rig_connect(&s->rig, "bob");
    rig_send(&s->rig, other, HELLO_OF("bob", "\"agent_versions\""));
    char *welcome = rig_take(other);
    assert_non_null(strstr(welcome, "\"name\":\"train\""));
    arcp_free(welcome);
}

static void an_offer_that_the_token_does_not_allow_is_refused(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1, .allowed = "infer*"}));
    assert_string_equal(offer_rig_warning,
                        "the worker \"a\" offers 1 agents that its token does not allow: train");
    assert_true(offer_rig_is_refused("train", "AGENT_NOT_AVAILABLE"));
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1, .allowed = "tr*"}));
    assert_string_equal(offer_rig_where(offer_rig_submit()), "a");
}

static void an_agent_with_a_bad_name_is_refused(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1, .name = "Not A Name"}));
    assert_non_null(strstr(offer_rig_warning, "not valid"));
}

static void rows_that_differ_are_marked(void **state)
{
    (void)state;
    arcp__worker_agent_view view;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1, .hash = 1}));
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1, .hash = 1}));
    assert_true(arcp__engine_worker_agent_view(s->rig.engine, 0, 0, &view));
    assert_false(view.is_unlike);
    assert_string_equal(offer_rig_warning, "");
    assert_true(offer_rig_join("c", "1", (offers){.capacity = 1, .hash = 2}));
    assert_non_null(strstr(offer_rig_warning, "different rows"));
    assert_true(arcp__engine_worker_agent_view(s->rig.engine, 0, 0, &view));
    assert_true(view.is_unlike);
}

/* ---- enforce.min ---- */

static void a_job_goes_to_a_worker_that_can_enforce_its_lease(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2}));
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 2}));
    offer_rig_able = &offer_rig_hosts[1];
    const arcp__job *job = offer_rig_submit();
    assert_string_equal(offer_rig_where(job), "b");
    assert_string_equal(offer_rig_where(offer_rig_submit()), "b");
    const arcp__job *third = offer_rig_submit(); /* the other worker has places */
    assert_string_equal(offer_rig_where(third), "-");
    offer_rig_exits(job);
    assert_string_equal(offer_rig_where(third), "b");
}

static void a_job_that_no_worker_can_enforce_is_refused(void **state)
{
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 2}));
    offer_rig_able = &offer_rig_hosts[1];
    assert_true(offer_rig_is_refused("train", "PERMISSION_DENIED"));
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1}));
    offer_rig_leave("b", "1");
    assert_string_equal(offer_rig_where(offer_rig_submit()),
                        "-"); /* it waits for the one that can */
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 1}));
    assert_string_equal(offer_rig_where(offer_rig_newest_job()), "b");
}

/* ---- many ---- */

/* 100 jobs for 3 places on two workers: 60 of one principal, 10 of each of four others. */
static void a_hundred_jobs_of_five_principals_start_in_turn(void **state)
{
    static const char *const names[] = {"alice", "bob", "carol", "dave", "erin"};
    static const char *const hellos[] = {NULL, HELLO_OF("bob", ""), HELLO_OF("carol", ""),
                                         HELLO_OF("dave", ""), HELLO_OF("erin", "")};
    rig_client *clients[5] = {s->client};
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 2}));
    for (size_t i = 1; i < 5; i++) {
        clients[i] = rig_connect(&s->rig, names[i]);
        rig_send(&s->rig, clients[i], hellos[i]);
    }
    for (size_t i = 0; i < 100; i++) {
        (void)offer_rig_submit_as(clients[i < 60 ? 0 : 1 + (i - 60) / 10], "{\"agent\":\"train\"}");
    }
    assert_int_equal(s->rig.agent_count, 3);
    for (size_t ended = 0; ended < 100; ended++) {
        assert_int_equal(s->rig.agent_count, ended + 3 < 100 ? ended + 3 : 100);
        rig_agent_exits(&s->rig, &s->rig.agents[ended], false, 0);
    }
    for (size_t i = 0; i < 100; i++) {
        const arcp__job *job =
            arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(s->rig.agents[i].job_id));
        const size_t expected = i < 3 || i >= 53 ? 0 : (i - 3) % 5;
        assert_string_equal(job->principal->name, names[expected]);
        assert_int_equal(job->status, ARCP_JOB_SUCCESS);
    }
}

/* Three parents have all three places, and each waits for a child of the same agent. */
static void parents_that_have_all_places_get_their_children(void **state)
{
    const arcp__job *parents[3];
    (void)state;
    assert_true(offer_rig_join("a", "1", (offers){.capacity = 1}));
    assert_true(offer_rig_join("b", "1", (offers){.capacity = 2}));
    for (size_t i = 0; i < 3; i++) {
        parents[i] = offer_rig_submit_as(s->client, "{\"agent\":\"train\",\"lease_request\":{"
                                                    "\"agent.delegate\":[\"train\"]}}");
    }
    for (size_t i = 0; i < 3; i++) {
        rig_agent_writes(&s->rig, rig_agent_of(&s->rig, parents[i]->id), DELEGATE);
    }
    assert_int_equal(s->rig.agent_count, 6);
    for (size_t i = 3; i < 6; i++) {
        rig_agent_writes(&s->rig, &s->rig.agents[i], RESULT);
        rig_agent_exits(&s->rig, &s->rig.agents[i], false, 0);
    }
    for (size_t i = 0; i < 3; i++) {
        rig_agent_writes(&s->rig, rig_agent_of(&s->rig, parents[i]->id), RESULT);
        assert_int_equal(parents[i]->status, ARCP_JOB_SUCCESS);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, offer_rig_set_up, offer_rig_tear_down)
#define CONFINED(name)                                                                             \
    cmocka_unit_test_setup_teardown(name, offer_rig_set_up_confined, offer_rig_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_job_runs_on_a_worker_that_offers_its_agent),
        TEST(jobs_are_spread_and_the_others_wait),
        TEST(agents_of_the_configuration_hide_those_of_workers),
        TEST(sessions_hear_of_the_agents_of_workers),
        TEST(an_offer_that_the_token_does_not_allow_is_refused),
        TEST(an_agent_with_a_bad_name_is_refused),
        TEST(rows_that_differ_are_marked),
        CONFINED(a_job_goes_to_a_worker_that_can_enforce_its_lease),
        CONFINED(a_job_that_no_worker_can_enforce_is_refused),
        TEST(a_hundred_jobs_of_five_principals_start_in_turn),
        TEST(parents_that_have_all_places_get_their_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
