/* Which hosts of agents may be freed: hosts that neither the registry nor a job uses. */
#include "engine/scene.h"

#include "support/check.h"

static int host; /* of the agent "own" */

static void look(void *user, void *visited)
{
    bool *found = user;
    *found = *found || visited == &host;
}

static bool is_needed(const scene *self)
{
    bool found = false;
    arcp__engine_for_each_host(self->rig.engine, look, &found);
    return found;
}

static int set_up(void **state)
{
    scene *self = scene_begin(NULL);
    arcp_error error = {0};
    const arcp__agent_registration own = {.name = ARCP_SPAN_LITERAL("own"), .host = &host};
    check_ok(arcp__engine_register_agent(self->rig.engine, &own, &error), &error);
    rig_send(&self->rig, self->client, HELLO_PLAIN);
    *state = self;
    return 0;
}

static int tear_down(void **state)
{
    scene_end(*state);
    return 0;
}

static void submit(scene *self)
{
    rig_send(&self->rig, self->client, FRAME("s", "job.submit", "{\"agent\":\"own\"}"));
}

static void registered_hosts_are_in_use(void **state)
{
    scene *self = *state;
    assert_true(is_needed(self));
    arcp__engine_clear_agents(self->rig.engine);
    assert_false(is_needed(self));
}

static void a_job_uses_its_host_until_its_agent_is_released(void **state)
{
    scene *self = *state;
    submit(self);
    arcp__engine_clear_agents(self->rig.engine);
    rig_agent *agent = rig_agent_last(&self->rig);
    assert_true(is_needed(self));
    rig_agent_writes(&self->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    assert_true(is_needed(self)); /* it has ended, and its agent is stopping */
    rig_agent_exits(&self->rig, agent, false, 0);
    assert_true(agent->forgotten);
    assert_false(is_needed(self));
}

/* Its job.accepted is not durable yet, so nothing was started. */
static void a_job_that_waits_for_the_store_uses_its_host(void **state)
{
    scene *self = *state;
    self->disk.is_held = true;
    submit(self);
    arcp__engine_clear_agents(self->rig.engine);
    assert_null(rig_agent_last(&self->rig));
    assert_true(is_needed(self));
    self->disk.is_held = false;
    rig_run(&self->rig);
    assert_non_null(rig_agent_last(&self->rig));
    assert_true(is_needed(self));
}

/* It is started all the same, and stopped at once. */
static void a_job_that_ended_before_its_start_uses_its_host_as_long(void **state)
{
    scene *self = *state;
    self->disk.is_held = true;
    submit(self);
    arcp__engine_clear_agents(self->rig.engine);
    arcp__engine_shutdown(self->rig.engine, self->rig.now);
    arcp__engine_shutdown(self->rig.engine, self->rig.now); /* ends it */
    rig_run(&self->rig);
    assert_true(is_needed(self));
    self->disk.is_held = false;
    rig_run(&self->rig);
    rig_agent *agent = rig_agent_last(&self->rig);
    assert_true(agent->killed);
    assert_true(is_needed(self));
    rig_agent_exits(&self->rig, agent, true, 15);
    assert_false(is_needed(self));
}

/* The job is not kept, and FORGET_AGENT has not been handed out yet. */
static void a_removed_job_uses_its_host_until_its_agent_is_released(void **state)
{
    scene *self = *state;
    arcp_settings settings = self->rig.settings;
    settings.jobs_keep_terminal_sec = 0;
    arcp__engine_set_settings(self->rig.engine, &settings);
    submit(self);
    arcp__engine_clear_agents(self->rig.engine);
    rig_agent *agent = rig_agent_last(&self->rig);
    rig_agent_writes(&self->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    const arcp__agent_exit ended = {0};
    arcp__engine_agent_exited(self->rig.engine, self->rig.now, agent->job, &ended);
    self->rig.now.mono_ns += 2 * ARCP_NS_PER_SEC;
    arcp__engine_tick(self->rig.engine, self->rig.now);
    arcp__engine_stats stats;
    arcp__engine_get_stats(self->rig.engine, &stats);
    assert_int_equal(stats.jobs_kept, 0);
    assert_false(agent->forgotten);
    assert_true(is_needed(self));
    rig_run(&self->rig);
    assert_true(agent->forgotten);
    assert_false(is_needed(self));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(registered_hosts_are_in_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_uses_its_host_until_its_agent_is_released, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_ended_before_its_start_uses_its_host_as_long,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_removed_job_uses_its_host_until_its_agent_is_released,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_waits_for_the_store_uses_its_host, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
