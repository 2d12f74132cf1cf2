/* A runtime whose loop looks on for a while when messages follow each other quickly, and sleeps
 * whenever something forbids it. What is quick is left out: windows are longer than any turn, or
 * over at once. */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include <arcp/sys/store.h>
#include <arcp/time.h>

#include "runtime/runtime_state.h"

#define FOR_EVER (60 * ARCP_NS_PER_SEC)

static bool is_looking(const arcp_runtime *runtime)
{
    return uv_is_active((const uv_handle_t *)&runtime->looking) != 0;
}

static void ping(runtime_rig *rig)
{
    runtime_rig_send(rig, "session.ping", "{}");
    (void)runtime_rig_wait(rig, "\"session.pong\"");
}

/* Messages that follow each other, each in a turn of its own. */
static void ping_often(runtime_rig *rig)
{
    for (unsigned at = 0; at < 2 * ARCP__BUSY_POLL_STREAK; at++) {
        ping(rig);
    }
}

static int set_up(void **state)
{
    static runtime_rig rig;
    arcp_settings settings;
    arcp_settings_default(&settings);
    settings.shutdown_grace_sec = 0; /* for the process that still runs */
    runtime_rig_start(&rig, &settings);
    arcp__busy_poll_set_window(&rig.runtime->busy_poll, FOR_EVER);
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    runtime_rig_stop(*state);
    return 0;
}

static bool sleeps(void *user)
{
    return !is_looking(user);
}

/* ---- when it looks on ---- */

static void it_looks_on_after_quick_messages_and_sleeps_when_the_window_is_over(void **state)
{
    runtime_rig *rig = *state;
    assert_false(is_looking(rig->runtime));
    ping_often(rig);
    assert_true(is_looking(rig->runtime));
    rig->runtime->busy_poll.window_ns = 1;
    runtime_rig_until(rig, sleeps, rig->runtime);
    for (unsigned at = 0; at < 10; at++) {
        (void)uv_run(&rig->loop, UV_RUN_NOWAIT); /* and nothing wakes it */
        assert_false(is_looking(rig->runtime));
    }
}

static void looking_on_does_not_keep_a_loop_alive(void **state)
{
    runtime_rig *rig = *state;
    ping_often(rig);
    assert_true(is_looking(rig->runtime));
    assert_false(uv_has_ref((const uv_handle_t *)&rig->runtime->looking));
}

static void note_stop(void *user)
{
    ((runtime_rig *)user)->stopped = true;
}

static void a_runtime_that_stops_does_not_look_on(void **state)
{
    runtime_rig *rig = *state;
    ping_often(rig);
    assert_true(is_looking(rig->runtime));
    arcp_runtime_stop(rig->runtime, note_stop, rig);
    runtime_rig_until(rig, sleeps, rig->runtime);
}

/* It closes its handles, else the loop could not be closed. */
static void a_runtime_can_be_freed_while_it_looks_on(void **state)
{
    runtime_rig *rig = *state;
    ping_often(rig);
    assert_true(is_looking(rig->runtime));
}

static void a_runtime_on_the_same_loop_decides_for_itself(void **state)
{
    runtime_rig *rig = *state;
    arcp_runtime_options options = ARCP_RUNTIME_OPTIONS_INIT;
    arcp_runtime *other = NULL;
    arcp_error error = {0};
    check_ok(arcp_runtime_new(&rig->loop, &options, &other, &error), &error);
    arcp__busy_poll_set_window(&other->busy_poll, FOR_EVER);
    ping_often(rig);
    assert_true(is_looking(rig->runtime));
    assert_false(is_looking(other));
    arcp_runtime_free(other);
}

/* ---- the setting ---- */

static void new_settings_end_it_at_once(void **state)
{
    runtime_rig *rig = *state;
    arcp_settings settings;
    arcp_settings_default(&settings);
    settings.loop_busy_poll_us = 0;
    ping_often(rig);
    assert_true(is_looking(rig->runtime));
    arcp_runtime_set_settings(rig->runtime, &settings);
    runtime_rig_until(rig, sleeps, rig->runtime);
    ping_often(rig);
    assert_false(is_looking(rig->runtime));
}

static void the_setting_is_in_microseconds_and_0_is_off(void **state)
{
    runtime_rig *rig = *state;
    arcp_settings settings;
    arcp_settings_default(&settings);
    rig->runtime->has_other_cores = true;
    settings.loop_busy_poll_us = 250;
    arcp_runtime_set_settings(rig->runtime, &settings);
    assert_int_equal(rig->runtime->busy_poll.window_ns, 250000);
    settings.loop_busy_poll_us = 0;
    arcp_runtime_set_settings(rig->runtime, &settings);
    assert_int_equal(rig->runtime->busy_poll.window_ns, 0);
}

static void a_process_that_may_use_one_core_only_never_looks_on(void **state)
{
    runtime_rig *rig = *state;
    arcp_runtime_options options = ARCP_RUNTIME_OPTIONS_INIT;
    arcp_runtime *other = NULL;
    arcp_error error = {0};
    cpu_set_t all;
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    check_ok(arcp_runtime_new(&rig->loop, &options, &other, &error), &error);
    assert_int_equal(other->busy_poll.window_ns, 0);
    arcp_runtime_free(other);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* ---- who needs the cores ---- */

static void it_sleeps_while_an_agents_process_runs(void **state)
{
    runtime_rig *rig = *state;
    runtime_rig_register_sh(rig, "reads", "read start; read cancel; echo 1", NULL);
    runtime_rig_submit(rig, "reads", "");
    (void)runtime_rig_wait(rig, "\"job.accepted\"");
    ping_often(rig);
    assert_false(is_looking(rig->runtime));
}

static sem_t may_end;

static void wait_on_a_thread(arcp_agent_call *call, void *user)
{
    (void)user;
    while (sem_wait(&may_end) != 0) {
    }
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

static bool no_thread_is_busy(void *user)
{
    arcp_runtime *runtime = user;
    return atomic_load(&runtime->blocking_agents) == 0;
}

static void it_sleeps_while_an_agent_runs_on_a_thread(void **state)
{
    runtime_rig *rig = *state;
    assert_int_equal(sem_init(&may_end, 0, 0), 0);
    runtime_rig_add(rig, "blocks", ARCP_AGENT_BLOCKING, wait_on_a_thread, NULL);
    runtime_rig_submit(rig, "blocks", "");
    (void)runtime_rig_wait(rig, "\"job.accepted\"");
    ping_often(rig);
    assert_false(is_looking(rig->runtime));
    assert_int_equal(sem_post(&may_end), 0);
    (void)runtime_rig_wait(rig, "\"job.result\"");
    runtime_rig_until(rig, no_thread_is_busy, rig->runtime);
    ping_often(rig);
    assert_true(is_looking(rig->runtime));
    assert_int_equal(sem_destroy(&may_end), 0);
}

static arcp_agent_call *waiting;

static void wait_on_the_loop(arcp_agent_call *call, void *user)
{
    (void)user;
    waiting = call;
}

static void a_job_that_waits_on_the_loop_does_not_forbid_it(void **state)
{
    runtime_rig *rig = *state;
    runtime_rig_add(rig, "waits", ARCP_AGENT_NON_BLOCKING, wait_on_the_loop, NULL);
    runtime_rig_submit(rig, "waits", "");
    (void)runtime_rig_wait(rig, "\"job.accepted\"");
    ping_often(rig);
    assert_true(is_looking(rig->runtime));
    arcp_agent_succeed(waiting, ARCP_SPAN_LITERAL("1"));
    (void)runtime_rig_wait(rig, "\"job.result\"");
}

/* ---- a store that takes its time ---- */

static arcp_store_ops slow_ops;
static bool (*poll_memory)(arcp_store *store);
static bool is_slow;

static bool poll_slowly(arcp_store *store)
{
    return !is_slow && poll_memory(store);
}

static void it_sleeps_while_the_store_has_a_batch(void **state)
{
    static runtime_rig rig;
    arcp_runtime_options options = ARCP_RUNTIME_OPTIONS_INIT;
    arcp_error error = {0};
    (void)state;
    check_ok(arcp_store_open_memory(&options.store, &error), &error);
    slow_ops = *options.store->ops;
    poll_memory = slow_ops.poll;
    slow_ops.poll = poll_slowly;
    options.store->ops = &slow_ops;
    is_slow = false;
    runtime_rig_begin(&rig);
    runtime_rig_open(&rig, &options);
    arcp__busy_poll_set_window(&rig.runtime->busy_poll, FOR_EVER);
    is_slow = true;
    runtime_rig_submit(&rig, "nobody", ""); /* whose refusal is a record */
    ping_often(&rig);
    assert_int_not_equal(rig.runtime->batches_under_way, 0);
    assert_false(is_looking(rig.runtime));
    is_slow = false;
    ping(&rig);
    assert_int_equal(rig.runtime->batches_under_way, 0);
    assert_true(is_looking(rig.runtime));
    runtime_rig_stop(&rig);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(it_looks_on_after_quick_messages_and_sleeps_when_the_window_is_over),
        TEST(looking_on_does_not_keep_a_loop_alive),
        TEST(a_runtime_can_be_freed_while_it_looks_on),
        TEST(a_runtime_on_the_same_loop_decides_for_itself),
        TEST(new_settings_end_it_at_once),
        TEST(the_setting_is_in_microseconds_and_0_is_off),
        TEST(a_process_that_may_use_one_core_only_never_looks_on),
        TEST(it_sleeps_while_an_agents_process_runs),
        TEST(it_sleeps_while_an_agent_runs_on_a_thread),
        TEST(a_job_that_waits_on_the_loop_does_not_forbid_it),
        TEST(a_runtime_that_stops_does_not_look_on),
        cmocka_unit_test(it_sleeps_while_the_store_has_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
