/* Which hosts of agents may be freed: hosts that neither the registry nor a job uses. */
#include "engine/scene.h"

#include "support/check.h"

static int host; /* of the agent "own" */

static void look(void *user, void *visited)
{
    bool *found = user;
    *found = *found || visited == &host;
}

static bool is_needed(const scene *s)
{
    bool found = false;
    arcp__engine_for_each_host(s->rig.engine, look, &found);
    return found;
}

static int set_up(void **state)
{
    scene *s = scene_begin(NULL);
    arcp_error error = {0};
    const arcp__agent_registration own = {.name = ARCP_SPAN_LITERAL("own"), .host = &host};
    check_ok(arcp__engine_register_agent(s->rig.engine, &own, &error), &error);
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    scene_end(*state);
    return 0;
}

static void submit(scene *s)
{
    rig_send(&s->rig, s->client, FRAME("s", "job.submit", "{\"agent\":\"own\"}"));
}

static void registered_hosts_are_in_use(void **state)
{
    const scene *s = *state;
    assert_true(is_needed(s));
    arcp__engine_clear_agents(s->rig.engine);
    assert_false(is_needed(s));
}

static void a_job_uses_its_host_until_its_agent_is_released(void **state)
{
    scene *s = *state;
    submit(s);
    arcp__engine_clear_agents(s->rig.engine);
    rig_agent *agent = rig_agent_last(&s->rig);
    assert_true(is_needed(s));
    rig_agent_writes(&s->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    assert_true(is_needed(s)); /* it has ended, and its agent is stopping */
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_true(agent->forgotten);
    assert_false(is_needed(s));
}

/* Its job.accepted is not durable yet, so nothing was started. */
static void a_job_that_waits_for_the_store_uses_its_host(void **state)
{
    scene *s = *state;
    s->disk.is_held = true;
    submit(s);
    arcp__engine_clear_agents(s->rig.engine);
    assert_null(rig_agent_last(&s->rig));
    assert_true(is_needed(s));
    s->disk.is_held = false;
    rig_run(&s->rig);
    assert_non_null(rig_agent_last(&s->rig));
    assert_true(is_needed(s));
}

/* It is started all the same, and stopped at once. */
static void a_job_that_ended_before_its_start_uses_its_host_as_long(void **state)
{
    scene *s = *state;
    s->disk.is_held = true;
    submit(s);
    arcp__engine_clear_agents(s->rig.engine);
    arcp__engine_shutdown(s->rig.engine, s->rig.now, false);
    arcp__engine_shutdown(s->rig.engine, s->rig.now, false); /* ends it */
    rig_run(&s->rig);
    assert_true(is_needed(s));
    s->disk.is_held = false;
    rig_run(&s->rig);
    rig_agent *agent = rig_agent_last(&s->rig);
    assert_true(agent->killed);
    assert_true(is_needed(s));
    rig_agent_exits(&s->rig, agent, true, 15);
    assert_false(is_needed(s));
}

/* The job is not kept, and FORGET_AGENT has not been handed out yet. */
static void a_removed_job_uses_its_host_until_its_agent_is_released(void **state)
{
    scene *s = *state;
    arcp_settings settings = s->rig.settings;
    settings.jobs_keep_terminal_sec = 0;
    arcp__engine_set_settings(s->rig.engine, &settings);
    submit(s);
    arcp__engine_clear_agents(s->rig.engine);
    rig_agent *agent = rig_agent_last(&s->rig);
    rig_agent_writes(&s->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    const arcp__agent_exit ended = {0};
    arcp__engine_agent_exited(s->rig.engine, s->rig.now, agent->job, &ended);
    s->rig.now.mono_ns += 2 * ARCP_NS_PER_SEC;
    arcp__engine_tick(s->rig.engine, s->rig.now);
    arcp__engine_stats stats;
    arcp__engine_get_stats(s->rig.engine, &stats);
    assert_int_equal(stats.jobs_kept, 0);
    assert_false(agent->forgotten);
    assert_true(is_needed(s));
    rig_run(&s->rig);
    assert_true(agent->forgotten);
    assert_false(is_needed(s));
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
