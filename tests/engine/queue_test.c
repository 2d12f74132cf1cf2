/* Queued jobs: what is asked again when they start, what a stop and a restart do with them, and
 * what operators see. */
#include "base/alloc.h"
#include "engine/confiner.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "story/engine_rig.h"
#include "support/check.h"

static engine_rig rig;
static confiner hosts;
static rig_client *client;

static void open_rig(bool is_volatile)
{
    hosts = (confiner){0};
    rig_begin(&rig, NULL);
    rig.is_volatile = is_volatile;
    rig.max_jobs = 1;
    confiner_attach(&hosts, &rig);
    rig_open(&rig);
    client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO_PLAIN);
}

static int close_rig(void **state)
{
    (void)state;
    rig_stop(&rig);
    assert_int_equal(hosts.plans, 0);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    open_rig(false);
    return 0;
}

static int set_up_volatile(void **state)
{
    (void)state;
    open_rig(true);
    return 0;
}

/* Submits a job, and returns the newest one. */
static arcp__job *submit(const char *id)
{
    char frame[256];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":{"
                   "\"agent\":\"echo\",\"input\":\"%s\"}}",
                   id, id);
    rig_send(&rig, client, frame);
    arcp__job *newest = NULL;
    for (arcp__job *job = rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        newest = newest == NULL || strcmp(job->id, newest->id) > 0 ? job : newest;
    }
    return newest;
}

static bool takes(const char *word)
{
    bool found = false;
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        found = found || strstr(frame, word) != NULL;
        arcp__free(frame);
    }
    return found;
}

static void end_first(void)
{
    rig_agent_exits(&rig, &rig.agents[0], false, 0);
}

static void a_queued_job_holds_no_plan_and_is_asked_about_again(void **state)
{
    (void)state;
    confiner_confines(&hosts);
    submit("1");
    assert_int_equal(hosts.plans, 1);
    const arcp__job *second = submit("2");
    assert_int_equal(second->agent_state, ARCP__AGENT_QUEUED);
    assert_int_equal(hosts.plans, 1);
    end_first();
    assert_int_equal(second->agent_state, ARCP__AGENT_RUNNING);
    assert_non_null(second->live->enforcement);
    assert_int_equal(hosts.plans, 1);
    assert_true(takes("\"phase\":\"enforcement\""));
}

static void a_queued_job_that_its_host_refuses_by_then_ends_with_the_hosts_error(void **state)
{
    (void)state;
    submit("1");
    const arcp__job *second = submit("2");
    const arcp__job *third = submit("3");
    confiner_refuses(&hosts);
    end_first();
    assert_int_equal(second->status, ARCP_JOB_ERROR);
    assert_int_equal(second->end_code, ARCP_E_PERMISSION_DENIED);
    assert_int_equal(third->status, ARCP_JOB_ERROR);
    hosts.status = ARCP_OK;
    assert_int_equal(submit("4")->status, ARCP_JOB_RUNNING); /* nothing holds the place */
}

static void a_job_that_ended_keeps_its_place_until_its_program_has_ended(void **state)
{
    (void)state;
    submit("1");
    const arcp__job *second = submit("2");
    rig_agent_writes(&rig, &rig.agents[0], "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    assert_int_equal(second->agent_state, ARCP__AGENT_QUEUED);
    end_first();
    assert_int_equal(second->agent_state, ARCP__AGENT_RUNNING);
}

static void a_program_that_cannot_be_started_makes_room(void **state)
{
    (void)state;
    submit("1");
    const arcp__job *second = submit("2");
    const arcp__job *third = submit("3");
    rig.fail_start = true;
    end_first();
    rig.fail_start = false;
    assert_int_equal(second->status, ARCP_JOB_ERROR);
    assert_int_equal(third->status, ARCP_JOB_ERROR);
    assert_int_equal(submit("4")->status, ARCP_JOB_RUNNING);
}

static void a_stop_leaves_queued_jobs_in_the_store(void **state)
{
    (void)state;
    char id[ARCP__ID_SIZE];
    submit("1");
    memcpy(id, submit("2")->id, sizeof id);
    arcp__engine_shutdown(rig.engine, rig.now, false);
    rig_run(&rig);
    assert_int_equal(arcp__jobs_left(&rig.engine->jobs), 1); /* the one that runs */
    end_first();
    assert_int_equal(arcp__job_find(&rig.engine->jobs, arcp_span_cstr(id))->agent_state,
                     ARCP__AGENT_QUEUED);
    rig_clock(&rig, 6 * ARCP_NS_PER_SEC);
    assert_true(arcp__engine_is_finished(rig.engine));
    rig_restart(&rig);
    rig_run(&rig);
    const arcp__job *again = arcp__job_find(&rig.engine->jobs, arcp_span_cstr(id));
    assert_non_null(again);
    assert_int_equal(again->status, ARCP_JOB_RUNNING);
}

static void a_stop_without_a_durable_store_ends_queued_jobs_at_once(void **state)
{
    (void)state;
    submit("1");
    const arcp__job *second = submit("2");
    arcp__engine_shutdown(rig.engine, rig.now, false);
    rig_run(&rig);
    assert_int_equal(second->status, ARCP_JOB_ERROR);
    assert_true(takes("the runtime is stopping"));
    assert_int_equal(arcp__jobs_left(&rig.engine->jobs), 1);
}

/* Until then an embedding program may not have registered all of its agents. */
static void restored_jobs_wait_until_their_agent_is_registered(void **state)
{
    (void)state;
    char id[ARCP__ID_SIZE];
    submit("1");
    memcpy(id, submit("2")->id, sizeof id);
    rig.lacks_echo = true;
    rig_restart(&rig);
    rig_run(&rig);
    const arcp__job *again = arcp__job_find(&rig.engine->jobs, arcp_span_cstr(id));
    assert_int_equal(again->agent_state, ARCP__AGENT_QUEUED);
    const arcp__agent_registration agent = {.name = ARCP_SPAN_LITERAL("echo")};
    arcp_error error = {0};
    check_ok(arcp__engine_register_agent(rig.engine, &agent, &error), &error);
    rig_run(&rig);
    assert_int_equal(again->status, ARCP_JOB_RUNNING);
}

static void a_restored_job_gets_the_row_that_is_in_force(void **state)
{
    (void)state;
    char id[ARCP__ID_SIZE];
    submit("1");
    memcpy(id, submit("2")->id, sizeof id);
    confiner_refuses(&hosts);
    rig_restart(&rig);
    rig_run(&rig);
    const arcp__job *again = arcp__job_find(&rig.engine->jobs, arcp_span_cstr(id));
    assert_int_equal(again->end_code, ARCP_E_PERMISSION_DENIED);
}

static void operators_see_the_queue(void **state)
{
    (void)state;
    submit("1");
    const arcp__job *second = submit("2");
    const arcp__job *third = submit("3");
    arcp_buf text = arcp_buf_init();
    arcp__engine_write_metrics(rig.engine, &text);
    arcp__engine_write_state(rig.engine, rig.now, 100, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_non_null(strstr(text.data, "\narcp_jobs_queued{agent=\"echo\"} 2\n"));
    assert_non_null(strstr(text.data, "\narcp_jobs_running{agent=\"echo\"} 3\n"));
    assert_non_null(strstr(text.data, "a place at its agent (max_jobs): it is number 2 of 2"));
    arcp_buf_fini(&text);
    assert_int_equal(arcp__job_queue_place(second), 1);
    assert_int_equal(arcp__job_queue_place(third), 2);
    end_first();
    assert_int_equal(arcp__job_queue_place(second), 0);
    assert_int_equal(arcp__job_queue_place(third), 1);
}

static void raising_max_jobs_starts_queued_jobs(void **state)
{
    (void)state;
    submit("1");
    submit("2");
    const arcp__job *third = submit("3");
    rig.max_jobs = 2;
    rig_reload(&rig);
    assert_int_equal(arcp__job_queue_place(third), 1);
    rig.max_jobs = 0;
    rig_reload(&rig);
    assert_int_equal(third->status, ARCP_JOB_RUNNING);
}

int main(void)
{
#define TEST(name)          cmocka_unit_test_setup_teardown(name, set_up, close_rig)
#define VOLATILE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_volatile, close_rig)
    const struct CMUnitTest tests[] = {
        TEST(a_queued_job_holds_no_plan_and_is_asked_about_again),
        TEST(a_queued_job_that_its_host_refuses_by_then_ends_with_the_hosts_error),
        TEST(a_job_that_ended_keeps_its_place_until_its_program_has_ended),
        TEST(a_program_that_cannot_be_started_makes_room),
        TEST(a_stop_leaves_queued_jobs_in_the_store),
        VOLATILE_TEST(a_stop_without_a_durable_store_ends_queued_jobs_at_once),
        TEST(restored_jobs_wait_until_their_agent_is_registered),
        TEST(a_restored_job_gets_the_row_that_is_in_force),
        TEST(operators_see_the_queue),
        TEST(raising_max_jobs_starts_queued_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
