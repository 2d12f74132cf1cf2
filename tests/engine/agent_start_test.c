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
    scene *self = scene_begin(NULL);
    self->rig.hold_start = true;
    rig_send(&self->rig, self->client, HELLO_PLAIN);
    rig_send(&self->rig, self->client, FRAME("1", "job.submit", "{\"agent\":\"work\"}"));
    *agent = rig_agent_last(&self->rig);
    assert_int_equal(scene_takes(self, "\"job.accepted\""), 1);
    return self;
}

static void a_result_before_the_start_is_the_jobs_result(void **state)
{
    rig_agent *agent = NULL;
    scene *self = begin(&agent);
    (void)state;
    rig_agent_writes(&self->rig, agent, RESULT);
    assert_int_equal(scene_takes(self, "\"found\":7"), 1);
    rig_agent_started(&self->rig, agent);
    rig_agent_exits(&self->rig, agent, false, 0);
    assert_int_equal(scene_takes(self, "\"final_status\""), 0);
    scene_end(self);
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
        scene *self = begin(&agent);
        rig_agent_exits(&self->rig, agent, false, rows[i].code);
        assert_int_equal(scene_takes(self, rows[i].end), 1);
        assert_true(agent->forgotten);
        scene_end(self);
    }
}

static void a_line_before_the_start_finds_the_job_running(void **state)
{
    rig_agent *agent = NULL;
    scene *self = begin(&agent);
    (void)state;
    rig_agent_writes(&self->rig, agent, LOG);
    char *running = rig_take(self->client);
    char *early = rig_take(self->client);
    assert_non_null(strstr(running, "\"running\""));
    assert_non_null(strstr(early, "\"early\""));
    arcp_free(running);
    arcp_free(early);
    rig_agent_started(&self->rig, agent);
    assert_int_equal(scene_takes(self, "\"running\""), 0);
    scene_end(self);
}

static void a_start_that_fails_after_a_line_changes_nothing(void **state)
{
    rig_agent *agent = NULL;
    scene *self = begin(&agent);
    (void)state;
    rig_agent_writes(&self->rig, agent, LOG);
    self->rig.fail_start = true;
    rig_agent_started(&self->rig, agent);
    assert_false(agent->forgotten);
    rig_agent_writes(&self->rig, agent, RESULT);
    assert_int_equal(scene_takes(self, "\"found\":7"), 1);
    scene_end(self);
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
