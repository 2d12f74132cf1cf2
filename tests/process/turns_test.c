/* Programs take turns: a program that writes much delays the others by a bounded number of lines,
 * and none of its output is lost. All output waits in pipes before the first line is read, so that
 * the order depends on nothing else. */
#include "process/process_rig.h"

#include <stdio.h>

#include "base/turn_share.h"

#define FLOOD_LINES 32768u /* of two bytes: as many as a pipe holds */
#define BOB_LINES   3000u
#define PROGRAMS    3u

/* `flood` lines were delivered since the last one of bob, whose lines have another first letter. */
typedef struct counts {
    size_t flood, since, most_between, bob, starts, exits;
} counts;

static process_rig rig;
static counts seen;

static int set_up(void **state)
{
    (void)state;
    seen = (counts){0};
    /* drain_ms is 1: output is read for a millisecond after the end of its program. */
    process_rig_start(&rig, 100, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    process_rig_stop(&rig);
    return 0;
}

static void on_line(void *user, arcp_span line)
{
    (void)user;
    assert_int_equal(line.size, 1);
    if (line.data[0] == 'b') {
        seen.bob++;
        seen.most_between = seen.since > seen.most_between ? seen.since : seen.most_between;
        seen.since = 0;
    } else {
        seen.flood++;
        seen.since++;
    }
}

static void on_line_refused(void *user, arcp_status why)
{
    (void)user;
    fail_msg("a line was refused: %d", (int)why);
}

static void on_output(void *user, arcp_span bytes)
{
    (void)user;
    fail_msg("%zu bytes that are no lines", bytes.size);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span tail)
{
    (void)user;
    (void)tail;
    assert_int_equal(end->code, 0);
    seen.exits++;
}

static void on_started(void *user, arcp_status status, const char *why)
{
    (void)user;
    (void)why;
    assert_int_equal(status, ARCP_OK);
    seen.starts++;
}

static const arcp__agent_process_callbacks callbacks = {.started = on_started,
                                                        .line = on_line,
                                                        .line_refused = on_line_refused,
                                                        .output = on_output,
                                                        .log = on_line,
                                                        .exited = on_exited};

/* Starts them all, and reads them after they have ended. */
static void run_all(const char *const scripts[PROGRAMS])
{
    arcp__agent_process *processes[PROGRAMS];
    for (size_t i = 0; i < PROGRAMS; i++) {
        char script[100];
        (void)snprintf(script, sizeof script, "read go; %s", scripts[i]);
        const char *const argv[] = {"/bin/sh", "-c", script, NULL};
        rig.spec.argv = argv;
        check_ok(
            arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &processes[i], &rig.error),
            &rig.error);
    }
    run_until(&rig, seen.starts == PROGRAMS);
    for (size_t i = 0; i < PROGRAMS; i++) {
        assert_int_equal(arcp__agent_process_write(processes[i], ARCP_SPAN_LITERAL("go")), ARCP_OK);
    }
    for (size_t i = 0; i < PROGRAMS; i++) {
        while (!arcp__agent_process_has_ended(processes[i])) {
        }
    }
    run_until(&rig, seen.exits == PROGRAMS);
    for (size_t i = 0; i < PROGRAMS; i++) {
        arcp__agent_process_free(processes[i]);
    }
}

static void a_busy_program_delays_others_by_a_bounded_number_of_lines(void **state)
{
    static const char *const rows[][PROGRAMS] = {
        {"yes f | head -n 32768", "yes b | head -n 3000", "yes f | head -n 32768"},
        {"yes f | head -n 32768 >&2", "yes b | head -n 3000", "yes f | head -n 32768 >&2"},
        {"yes f | head -n 32768", "yes b | head -n 3000 >&2", "yes f | head -n 32768 >&2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        seen = (counts){0};
        run_all(rows[i]);
        assert_int_equal(seen.flood, 2 * FLOOD_LINES);
        assert_int_equal(seen.bob, BOB_LINES);
        /* The rest of one turn, and the lines before those of bob in the next. */
        assert_in_range(seen.most_between, 1, 2 * (size_t)arcp__turn_of_agents.frames);
    }
}

static void no_callback_follows_a_free(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "yes f | head -n 32768", NULL};
    arcp__agent_process *process = NULL;
    (void)state;
    rig.spec.argv = argv;
    check_ok(arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &process, &rig.error),
             &rig.error);
    run_until(&rig, seen.flood != 0);
    const size_t before = seen.flood;
    assert_in_range(before, 1, 2 * (size_t)arcp__turn_of_agents.taker_frames);
    arcp__agent_process_free(process);
    (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    assert_int_equal(seen.flood, before);
    assert_int_equal(seen.exits, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_busy_program_delays_others_by_a_bounded_number_of_lines),
        TEST(no_callback_follows_a_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
