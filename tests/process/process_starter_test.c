/* The thread that starts programs: the order of its starts, their reports, and its end. The
 * launcher starts nothing; it can be stopped before its next start, so that requests wait. */
#include "process/process_starter.h"

#include <pthread.h>

#include "support/check.h"

#include "support/failing_alloc.h"

#define STARTS_MAX 8u

/* A launcher that notes the specifications that it gets. */
typedef struct noting_launcher {
    arcp_launcher base;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool is_held; /* starts wait */
    size_t count;
    char programs[STARTS_MAX][16];
    char details[STARTS_MAX][64];
    pthread_t threads[STARTS_MAX];
    arcp_process process; /* what each start returns */
} noting_launcher;

static arcp_status note_start(arcp_launcher *base, const arcp_launch_spec *spec, arcp_process **out,
                              arcp_error *err)
{
    noting_launcher *launcher = (noting_launcher *)base;
    (void)pthread_mutex_lock(&launcher->lock);
    while (launcher->is_held) {
        (void)pthread_cond_wait(&launcher->change, &launcher->lock);
    }
    const size_t at = launcher->count++;
    (void)snprintf(launcher->programs[at], sizeof launcher->programs[at], "%s", spec->argv[0]);
    (void)snprintf(launcher->details[at], sizeof launcher->details[at], "%s %s %s %s %zu %llu",
                   spec->argv[1] == NULL ? "-" : spec->argv[1], spec->env[0],
                   spec->cwd == NULL ? "-" : spec->cwd, spec->user == NULL ? "-" : spec->user,
                   spec->limit_count,
                   spec->limit_count == 0 ? 0 : (unsigned long long)spec->limits[0].soft);
    launcher->threads[at] = pthread_self();
    (void)pthread_mutex_unlock(&launcher->lock);
    if (strcmp(spec->argv[0], "missing") == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no program \"missing\"");
    }
    *out = &launcher->process;
    return ARCP_OK;
}

static const arcp_launcher_ops noting_ops = {
    .struct_size = sizeof noting_ops, .name = "noting", .start = note_start};

static struct {
    uv_loop_t loop;
    noting_launcher launcher;
    arcp__starter *starter;
    size_t count; /* of reports */
    void *owners[STARTS_MAX];
    arcp_status statuses[STARTS_MAX];
    char messages[STARTS_MAX][64];
    arcp_process *processes[STARTS_MAX];
    const char *next; /* requested when the first start is reported; NULL: nothing */
    bool closes;      /* when the first start is reported */
    unsigned closed;
} rig;

static void hold(bool is_held)
{
    (void)pthread_mutex_lock(&rig.launcher.lock);
    rig.launcher.is_held = is_held;
    (void)pthread_cond_broadcast(&rig.launcher.change);
    (void)pthread_mutex_unlock(&rig.launcher.lock);
}

static arcp_status request(const char *program, void *owner, arcp_error *err)
{
    const char *const argv[] = {program, NULL};
    const char *const env[] = {"A=b", NULL};
    arcp_launch_spec spec = arcp_launch_spec_init();
    spec.argv = argv;
    spec.env = env;
    return arcp__starter_request(rig.starter, &spec, owner, err);
}

static void request_ok(const char *program, void *owner)
{
    arcp_error error = {0};
    check_ok(request(program, owner, &error), &error);
}

static void on_done(arcp__start *start)
{
    assert_in_range(rig.count, 0, STARTS_MAX - 1);
    rig.owners[rig.count] = start->owner;
    rig.statuses[rig.count] = start->status;
    rig.processes[rig.count] = start->process;
    (void)snprintf(rig.messages[rig.count], sizeof rig.messages[0], "%s", start->error.message);
    if (rig.count++ == 0) {
        if (rig.next != NULL) {
            request_ok(rig.next, NULL);
        }
        if (rig.closes) {
            arcp__starter_close(rig.starter);
        }
    }
}

static void on_closed(void *user)
{
    assert_ptr_equal(user, &rig);
    rig.closed++;
}

static int set_up(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof rig);
    rig.launcher.base.ops = &noting_ops;
    (void)pthread_mutex_init(&rig.launcher.lock, NULL);
    (void)pthread_cond_init(&rig.launcher.change, NULL);
    assert_int_equal(uv_loop_init(&rig.loop), 0);
    rig.starter = arcp__starter_new(&rig.loop, &rig.launcher.base, on_done, on_closed, &rig);
    assert_non_null(rig.starter);
    return 0;
}

/* A loop that ends has nothing left to report: a starter without requests does not keep it. */
static void run_loop(void)
{
    (void)uv_run(&rig.loop, UV_RUN_DEFAULT);
}

static int tear_down(void **state)
{
    (void)state;
    if (rig.closed == 0) {
        arcp__starter_close(rig.starter);
        run_loop();
    }
    assert_int_equal(rig.closed, 1);
    arcp__starter_free(rig.starter);
    assert_int_equal(uv_loop_close(&rig.loop), 0);
    (void)pthread_mutex_destroy(&rig.launcher.lock);
    (void)pthread_cond_destroy(&rig.launcher.change);
    return 0;
}

static void programs_are_started_and_reported_in_the_order_of_the_requests(void **state)
{
    static const char *const programs[] = {"first", "second", "third"};
    (void)state;
    hold(true);
    for (size_t i = 0; i < 3; i++) {
        request_ok(programs[i], (void *)programs[i]);
    }
    hold(false);
    run_loop();
    assert_int_equal(rig.launcher.count, 3);
    assert_int_equal(rig.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(rig.launcher.programs[i], programs[i]);
        assert_ptr_equal(rig.owners[i], programs[i]);
        assert_int_equal(rig.statuses[i], ARCP_OK);
        assert_ptr_equal(rig.processes[i], &rig.launcher.process);
    }
}

static void all_programs_are_started_by_one_thread_that_is_not_the_loops(void **state)
{
    (void)state;
    request_ok("first", NULL);
    run_loop();
    request_ok("second", NULL); /* the thread waited meanwhile */
    run_loop();
    assert_int_equal(rig.launcher.count, 2);
    assert_true(pthread_equal(rig.launcher.threads[0], rig.launcher.threads[1]));
    assert_false(pthread_equal(rig.launcher.threads[0], pthread_self()));
}

static void a_failed_start_between_two_good_ones_fails_alone(void **state)
{
    (void)state;
    request_ok("first", NULL);
    request_ok("missing", NULL);
    request_ok("third", NULL);
    run_loop();
    assert_int_equal(rig.count, 3);
    assert_int_equal(rig.statuses[0], ARCP_OK);
    assert_int_equal(rig.statuses[1], ARCP_E_USAGE);
    assert_string_equal(rig.messages[1], "there is no program \"missing\"");
    assert_null(rig.processes[1]);
    assert_int_equal(rig.statuses[2], ARCP_OK);
    assert_ptr_equal(rig.processes[2], &rig.launcher.process);
}

static void a_start_is_never_reported_from_inside_its_request(void **state)
{
    (void)state;
    request_ok("first", NULL);
    assert_int_equal(rig.count, 0);
    assert_true(arcp__starter_is_busy(rig.starter));
    run_loop();
    assert_int_equal(rig.count, 1);
    assert_false(arcp__starter_is_busy(rig.starter));
}

static void a_program_may_be_requested_when_another_one_is_reported(void **state)
{
    (void)state;
    rig.next = "second";
    request_ok("first", NULL);
    run_loop();
    assert_int_equal(rig.count, 2);
    assert_string_equal(rig.launcher.programs[1], "second");
}

/* Pending starts are not dropped: their owners have handed over descriptors. */
static void close_waits_for_the_starts_that_are_pending(void **state)
{
    (void)state;
    hold(true);
    request_ok("first", NULL);
    request_ok("missing", NULL);
    request_ok("third", NULL);
    arcp__starter_close(rig.starter);
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_int_equal(rig.closed, 0);
    assert_true(arcp__starter_is_busy(rig.starter));
    hold(false);
    run_loop();
    assert_int_equal(rig.count, 3);
    assert_int_equal(rig.closed, 1);
    assert_false(arcp__starter_is_busy(rig.starter));
}

static void a_report_may_close_the_starter(void **state)
{
    (void)state;
    rig.closes = true;
    hold(true);
    request_ok("first", NULL);
    request_ok("second", NULL);
    hold(false);
    run_loop();
    assert_int_equal(rig.count, 2);
    assert_int_equal(rig.closed, 1);
}

static void a_starter_that_was_never_used_is_closed_and_freed(void **state)
{
    (void)state;
    arcp__starter_close(rig.starter);
    assert_int_equal(rig.closed, 0); /* never from inside the call */
    run_loop();
    assert_int_equal(rig.closed, 1);
}

/* ---- the copy of the specification ---- */

static void fill_spec(arcp_launch_spec *spec, char texts[5][16], const char **argv,
                      const char **env, arcp_launch_limit *limit)
{
    static const char *const words[5] = {"program", "argument", "A=b", "/cwd", "user"};
    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(texts[i], 16, "%s", words[i]);
    }
    argv[0] = texts[0];
    argv[1] = texts[1];
    argv[2] = NULL;
    env[0] = texts[2];
    env[1] = NULL;
    *limit = (arcp_launch_limit){.soft = 7, .hard = 7};
    *spec = arcp_launch_spec_init();
    spec->argv = argv;
    spec->env = env;
    spec->cwd = texts[3];
    spec->user = texts[4];
    spec->limits = limit;
    spec->limit_count = 1;
}

static void the_specification_may_be_changed_after_the_request(void **state)
{
    arcp_launch_spec spec;
    char texts[5][16];
    const char *argv[3];
    const char *env[2];
    arcp_launch_limit limit;
    arcp_error error = {0};
    (void)state;
    fill_spec(&spec, texts, argv, env, &limit);
    hold(true);
    check_ok(arcp__starter_request(rig.starter, &spec, NULL, &error), &error);
    memset(texts, 'x', sizeof texts);
    argv[0] = argv[1] = env[0] = NULL;
    limit.soft = 8;
    hold(false);
    run_loop();
    assert_string_equal(rig.launcher.programs[0], "program");
    assert_string_equal(rig.launcher.details[0], "argument A=b /cwd user 1 7");
}

static void a_request_that_runs_out_of_memory_is_not_started(void **state)
{
    arcp_launch_spec spec;
    char texts[5][16];
    const char *argv[3];
    const char *env[2];
    arcp_launch_limit limit;
    (void)state;
    fill_spec(&spec, texts, argv, env, &limit);
    request_ok("first", NULL); /* the thread is there */
    run_loop();
    unsigned failures = 0;
    arcp_status status = ARCP_E_NO_MEMORY;
    while (status != ARCP_OK) {
        arcp_error error = {0};
        const size_t live = failing_alloc_live();
        failing_alloc_arm(++failures, FAILING_ALLOC_ONE);
        status = arcp__starter_request(rig.starter, &spec, NULL, &error);
        (void)failing_alloc_disarm();
        if (status != ARCP_OK) {
            assert_int_equal(status, ARCP_E_NO_MEMORY);
            assert_int_equal(failing_alloc_live(), live);
            assert_false(arcp__starter_is_busy(rig.starter));
        }
    }
    assert_true(failures > 1);
    run_loop();
    assert_int_equal(rig.launcher.count, 2);
    assert_int_equal(rig.count, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(programs_are_started_and_reported_in_the_order_of_the_requests),
        TEST(all_programs_are_started_by_one_thread_that_is_not_the_loops),
        TEST(a_failed_start_between_two_good_ones_fails_alone),
        TEST(a_start_is_never_reported_from_inside_its_request),
        TEST(a_program_may_be_requested_when_another_one_is_reported),
        TEST(close_waits_for_the_starts_that_are_pending),
        TEST(a_report_may_close_the_starter),
        TEST(a_starter_that_was_never_used_is_closed_and_freed),
        TEST(the_specification_may_be_changed_after_the_request),
        TEST(a_request_that_runs_out_of_memory_is_not_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
