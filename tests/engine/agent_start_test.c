/* An agent's output before its host has reported the start: a host may be slow, or remote. */
#include "engine/scene.h"

#include "support/check.h"

#define RESULT "{\"type\":\"job.result\",\"payload\":{\"result\":{\"found\":7}}}"
#define LOG                                                                                        \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":\"info\","          \
    "\"message\":\"early\"}}}"

/* A job whose START_AGENT was handed out, and whose start was not reported. */
static scene *begin(rig_agent **agent)
{
    scene *s = scene_begin(NULL);
    s->rig.hold_start = true;
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    rig_send(&s->rig, s->client, FRAME("1", "job.submit", "{\"agent\":\"work\"}"));
    *agent = rig_agent_last(&s->rig);
    assert_int_equal(scene_takes(s, "\"job.accepted\""), 1);
    return s;
}

static void a_result_before_the_start_is_the_jobs_result(void **state)
{
    rig_agent *agent = NULL;
    scene *s = begin(&agent);
    (void)state;
    rig_agent_writes(&s->rig, agent, RESULT);
    assert_int_equal(scene_takes(s, "\"found\":7"), 1);
    rig_agent_started(&s->rig, agent);
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_int_equal(scene_takes(s, "\"final_status\""), 0);
    scene_end(s);
}

static void an_exit_before_the_start_ends_the_job(void **state)
{
    static const struct {
        int code;
        const char *end;
    } rows[] = {{0, "\"final_status\":\"success\""}, {3, "\"final_status\":\"error\""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig_agent *agent = NULL;
        scene *s = begin(&agent);
        rig_agent_exits(&s->rig, agent, false, rows[i].code);
        assert_int_equal(scene_takes(s, rows[i].end), 1);
        assert_true(agent->forgotten);
        scene_end(s);
    }
}

static void a_line_before_the_start_finds_the_job_running(void **state)
{
    rig_agent *agent = NULL;
    scene *s = begin(&agent);
    (void)state;
    rig_agent_writes(&s->rig, agent, LOG);
    char *running = rig_take(s->client);
    char *early = rig_take(s->client);
    assert_non_null(strstr(running, "\"running\""));
    assert_non_null(strstr(early, "\"early\""));
    arcp_free(running);
    arcp_free(early);
    rig_agent_started(&s->rig, agent);
    assert_int_equal(scene_takes(s, "\"running\""), 0);
    scene_end(s);
}

static void a_start_that_fails_after_a_line_changes_nothing(void **state)
{
    rig_agent *agent = NULL;
    scene *s = begin(&agent);
    (void)state;
    rig_agent_writes(&s->rig, agent, LOG);
    s->rig.fail_start = true;
    rig_agent_started(&s->rig, agent);
    assert_false(agent->forgotten);
    rig_agent_writes(&s->rig, agent, RESULT);
    assert_int_equal(scene_takes(s, "\"found\":7"), 1);
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_before_the_start_is_the_jobs_result),
        cmocka_unit_test(an_exit_before_the_start_ends_the_job),
        cmocka_unit_test(a_line_before_the_start_finds_the_job_running),
        cmocka_unit_test(a_start_that_fails_after_a_line_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
