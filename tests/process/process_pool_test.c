/* The pool of warm processes. */
#include <signal.h>
#include <unistd.h>

#include "process/process_rig.h"
#include "process/process_state.h"

static process_rig rig;
static arcp__process_pool *pool;
static arcp__process_pool_options options;
static arcp_buf messages;
static arcp_buf logged;
static size_t errors;

static void on_report(void *user, bool is_error, const char *text)
{
    (void)user;
    errors += is_error ? 1 : 0;
    arcp_buf_append_cstr(&messages, text);
    arcp_buf_append_byte(&messages, '\n');
}

static void on_log(void *user, arcp_span line)
{
    (void)user;
    arcp_buf_append(&logged, line);
    arcp_buf_append_byte(&logged, '\n');
}

static int set_up(void **state)
{
    (void)state;
    process_rig_start(&rig, 100, 100);
    options = (arcp__process_pool_options){
        .table = rig.table,
        .size = 2,
        .spec = &rig.spec,
        .pause_min_ms = 1,
        .pause_max_ms = 4,
        .report = on_report,
        .log = on_log,
    };
    rig.spec.cwd = rig.run;
    rig.spec.makes_cwd = true;
    errors = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arcp__process_pool_free(pool);
    pool = NULL;
    process_rig_stop(&rig);
    arcp_buf_fini(&messages);
    arcp_buf_fini(&logged);
    return 0;
}

static void fill(const char *const *argv)
{
    rig.spec.argv = argv;
    check_ok(arcp__process_pool_new(&options, &pool, &rig.error), &rig.error);
}

static const char *const waits[] = {
    "/bin/sh", "-c", "echo ready $$; echo warming >&2; read line; echo got $line; /bin/pwd", NULL};

static void take(process_owner *owner)
{
    arcp__agent_process_callbacks callbacks = process_owner_callbacks(owner);
    *owner = (process_owner){.process = arcp__process_pool_take(pool)};
    assert_non_null(owner->process);
    arcp__agent_process_pause(owner->process, false);
    arcp__agent_process_set_callbacks(owner->process, &callbacks);
}

static void a_pool_starts_as_many_processes_as_requested(void **state)
{
    (void)state;
    assert_int_equal(process_rig_running(&rig), 0);
    fill(waits);
    assert_int_equal(arcp__process_pool_waiting(pool), 0); /* not from inside the call */
    run_until(&rig, arcp__process_pool_waiting(pool) == 2);
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_int_equal(process_rig_running(&rig), 2);
}

static void a_process_that_is_taken_is_replaced(void **state)
{
    (void)state;
    process_owner owner;
    fill(waits);
    run_until(&rig, arcp__process_pool_waiting(pool) == 2);
    take(&owner);
    assert_int_equal(arcp__process_pool_waiting(pool), 1);
    assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("work")), ARCP_OK);
    run_until(&rig, owner.exits != 0);
    assert_int_equal(owner.line_count, 3);
    run_until(&rig, arcp__process_pool_waiting(pool) == 2);
    process_owner_fini(&owner);
}

static void output_of_a_waiting_process_is_delivered_to_its_job(void **state)
{
    (void)state;
    process_owner owner;
    char ready[32];
    fill(waits);
    /* It writes its line before it writes to standard error. */
    run_until(&rig, logged.size >= 2 * strlen("warming\n"));
    take(&owner);
    (void)snprintf(ready, sizeof ready, "ready %d\n", (int)arcp__agent_process_pid(owner.process));
    run_until(&rig, owner.line_count == 1);
    check_span(arcp_buf_span(&owner.lines), ready);
    process_owner_fini(&owner);
}

static void a_warm_process_has_a_directory_that_becomes_the_jobs(void **state)
{
    (void)state;
    process_owner owner;
    char job[128];
    fill(waits);
    run_until(&rig, arcp__process_pool_waiting(pool) == 2);
    assert_int_equal(entries_of(rig.run), 4); /* two directories, two notes */
    take(&owner);
    (void)snprintf(job, sizeof job, "%s/job_1", rig.run);
    check_ok(arcp__agent_process_move_directory(owner.process, job, &rig.error), &rig.error);
    assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("x")), ARCP_OK);
    run_until(&rig, owner.exits != 0);
    arcp_buf_append_byte(&owner.lines, '\0');
    assert_non_null(line_after(&owner.lines, job));
    process_owner_fini(&owner);
    run_until(&rig, access(job, F_OK) != 0);
}

static void a_waiting_process_that_ended_is_reported_and_replaced(void **state)
{
    (void)state;
    static const char *const dies[] = {"/bin/sh", "-c", "echo sorry >&2; exit 3", NULL};
    fill(dies);
    run_until(&rig, messages.size > 300); /* several reports */
    arcp_buf_append_byte(&messages, '\0');
    arcp_buf_append_byte(&logged, '\0');
    assert_non_null(strstr(messages.data, "a warm process of /bin/sh ended with status 3 before it "
                                          "got a job\n"));
    assert_non_null(strstr(logged.data, "sorry\n"));
    assert_int_equal(errors, 0);
}

static void a_process_that_has_just_ended_is_not_handed_out(void **state)
{
    (void)state;
    options.size = 1;
    options.pause_min_ms = 60000; /* it is not replaced in the meantime */
    options.pause_max_ms = 60000;
    fill(waits);
    run_until(&rig, arcp__process_pool_waiting(pool) == 1);
    const arcp_process *process = rig.table->processes->process;
    assert_int_equal(kill(process->pid, SIGKILL), 0);
    wait_for_exit(process); /* the loop has not seen it */
    assert_int_equal(arcp__process_pool_waiting(pool), 1);
    assert_null(arcp__process_pool_take(pool));
    run_until(&rig, arcp__process_pool_waiting(pool) == 0);
}

static void a_failing_program_is_started_with_growing_pauses(void **state)
{
    (void)state;
    static const char *const missing[] = {"/no/such/program", NULL};
    options.pause_min_ms = 10;
    options.pause_max_ms = 40;
    const uint64_t before = uv_hrtime();
    fill(missing);
    run_until(&rig, errors == 5);
    /* 10 + 20 + 40 + 40 ms between five attempts; timers count whole milliseconds. */
    assert_true(uv_hrtime() - before >= 105 * UINT64_C(1000000));
    arcp_buf_append_byte(&messages, '\0');
    assert_non_null(strstr(messages.data, "cannot start a warm process: /no/such/program cannot be "
                                          "started"));
    assert_int_equal(arcp__process_pool_waiting(pool), 0);
    assert_int_equal(entries_of(rig.run), 0);
}

static void freeing_a_pool_kills_its_waiting_processes(void **state)
{
    (void)state;
    fill(waits);
    run_until(&rig, arcp__process_pool_waiting(pool) == 2);
    arcp__process_pool_free(pool);
    pool = NULL;
    run_until(&rig, process_rig_running(&rig) == 0);
    assert_int_equal(messages.size, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pool_starts_as_many_processes_as_requested),
        TEST(a_process_that_is_taken_is_replaced),
        TEST(output_of_a_waiting_process_is_delivered_to_its_job),
        TEST(a_warm_process_has_a_directory_that_becomes_the_jobs),
        TEST(a_waiting_process_that_ended_is_reported_and_replaced),
        TEST(a_process_that_has_just_ended_is_not_handed_out),
        TEST(a_failing_program_is_started_with_growing_pauses),
        TEST(freeing_a_pool_kills_its_waiting_processes),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
