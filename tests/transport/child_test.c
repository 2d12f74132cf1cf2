/* Child programs connected by pipes: how they start, exchange frames and end, and that none
 * remains. */
#include "transport/dial.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

typedef struct child {
    test_loop test;
    owner owner;
} child;

static void child_start(child *c, const char *command, uint32_t close_timeout_ms)
{
    test_loop_init(&c->test);
    arcp_stdio_options options = arcp_stdio_options_init();
    options.close_timeout_ms = close_timeout_ms;
    arcp_error err = {0};
    arcp_connection *connection = NULL;
    check_ok(arcp_spawn_stdio(&c->test.loop, command, &options, &connection, &err), &err);
    c->owner.keep = true;
    owner_take(&c->owner, connection);
}

static void child_open(child *c, const char *command, uint32_t close_timeout_ms)
{
    memset(c, 0, sizeof *c);
    child_start(c, command, close_timeout_ms);
}

static void child_close(child *c)
{
    owner_fini(&c->owner);
    test_loop_fini(&c->test);
}

#define LONG (2 * TEST_PATIENCE_MS)

/* Waits for the first line of the program, which is a process id. */
static pid_t logged_pid(child *c)
{
    arcp_buf_append_byte(&c->owner.log, '\0');
    const pid_t pid = (pid_t)strtol(c->owner.log.data, NULL, 10);
    assert_true(pid > 1);
    return pid;
}

static pid_t first_line_as_pid(child *c)
{
    run_until(&c->test, c->owner.messages == 1);
    return logged_pid(c);
}

static void wait_until_gone(child *c, pid_t pid)
{
    while (kill(pid, 0) == 0 || errno != ESRCH) {
        test_loop_settle(&c->test);
        usleep(1000); /* another process does it: the loop is not notified */
    }
}

static void a_program_exchanges_frames_and_ends_when_we_close(void **state)
{
    child c;
    child_open(&c, "cat", LONG);
    owner_send_text(&c.owner, "{\"hello\":1}");
    owner_send_text(&c.owner, "{\"hello\":2}");
    run_until(&c.test, c.owner.messages == 2);
    check_span(arcp_buf_span(&c.owner.log), "{\"hello\":1}|{\"hello\":2}|");
    arcp_connection_info info = arcp_connection_info_init();
    c.owner.connection->ops->info(c.owner.connection, &info);
    assert_string_equal(info.transport, "stdio");
    assert_string_equal(info.peer, "cat");
    owner_close(&c.owner, ARCP_CLOSE_NORMAL, "");
    run_until(&c.test, c.owner.closed);
    assert_int_equal(c.owner.code, ARCP_CLOSE_NORMAL);
    child_close(&c);
}

static void large_frames_are_sent_in_both_directions(void **state)
{
    child c;
    enum { COUNT = 16, SIZE = 1 << 20 };
    child_open(&c, "cat", LONG);
    c.owner.keep = false;
    char *frame = malloc(SIZE);
    assert_non_null(frame);
    uint32_t sum = 0;
    for (int i = 0; i < COUNT; i++) {
        memset(frame, 'a' + i, SIZE);
        assert_int_equal(owner_send(&c.owner, arcp_span_make(frame, SIZE)), ARCP_OK);
        sum = frame_sum(sum, arcp_span_make(frame, SIZE));
    }
    free(frame);
    run_until(&c.test, c.owner.messages == COUNT);
    assert_int_equal(c.owner.sum, sum);
    child_close(&c);
}

static void the_arguments_of_the_command_reach_the_program(void **state)
{
    child c;
    child_open(&c, "printf '%s\\n' 'a b' \"c d\" e\\ f '$HOME'", LONG);
    run_until(&c.test, c.owner.closed);
    check_span(arcp_buf_span(&c.owner.log), "a b|c d|e f|$HOME|");
    assert_int_equal(c.owner.code, ARCP_CLOSE_NORMAL);
    child_close(&c);
}

static void a_program_that_exits_with_0_closes_normally(void **state)
{
    child c;
    child_open(&c, "sh -c 'echo one; echo two; exit 0'", LONG);
    run_until(&c.test, c.owner.closed);
    check_span(arcp_buf_span(&c.owner.log), "one|two|");
    assert_int_equal(c.owner.code, ARCP_CLOSE_NORMAL);
    child_close(&c);
}

static void a_program_that_fails_is_reported_with_its_exit_status(void **state)
{
    child c;
    child_open(&c, "sh -c 'echo last words; exit 3'", LONG);
    run_until(&c.test, c.owner.closed);
    check_span(arcp_buf_span(&c.owner.log), "last words|");
    assert_int_equal(c.owner.code, ARCP_CLOSE_ABNORMAL);
    assert_string_equal(c.owner.reason, "the program exited with status 3");
    child_close(&c);
}

static void a_program_that_is_killed_is_reported_with_its_signal(void **state)
{
    child c;
    child_open(&c, "sh -c 'kill -KILL $$'", LONG);
    run_until(&c.test, c.owner.closed);
    assert_int_equal(c.owner.code, ARCP_CLOSE_ABNORMAL);
    assert_string_equal(c.owner.reason, "the program was killed by signal 9");
    child_close(&c);
}

/* Not as "broken pipe", which would hide the reason. */
static void a_program_that_fails_while_we_write_is_reported_with_its_exit_status(void **state)
{
    child c;
    child_open(&c, "sh -c 'exec <&-; exit 4'", LONG);
    c.owner.keep = false;
    char big[4096];
    memset(big, 'x', sizeof big);
    while (!c.owner.closed) {
        if (owner_send(&c.owner, arcp_span_make(big, sizeof big)) == ARCP_OK) {
            owner_flush(&c.owner);
        }
        test_loop_step(&c.test, "the program's end is told");
    }
    assert_int_equal(c.owner.code, ARCP_CLOSE_ABNORMAL);
    assert_string_equal(c.owner.reason, "the program exited with status 4");
    child_close(&c);
}

static void a_failed_exit_after_our_close_is_ignored(void **state)
{
    child c;
    child_open(&c, "sh -c 'echo ready; cat >/dev/null; exit 5'", LONG);
    run_until(&c.test, c.owner.messages == 1);
    owner_close(&c.owner, ARCP_CLOSE_GOING_AWAY, "done");
    run_until(&c.test, c.owner.closed);
    assert_int_equal(c.owner.code, ARCP_CLOSE_GOING_AWAY);
    child_close(&c);
}

static void a_program_that_does_not_end_is_killed_with_its_children(void **state)
{
    child c;
    child_open(&c, "sh -c 'trap \"\" TERM HUP; sleep 1000 & echo $!; wait'", 50);
    const pid_t grandchild = first_line_as_pid(&c);
    owner_close(&c.owner, ARCP_CLOSE_NORMAL, "");
    run_until(&c.test, c.owner.closed);
    assert_int_equal(c.owner.code, ARCP_CLOSE_ABNORMAL);
    wait_until_gone(&c, grandchild);
    child_close(&c);
}

static void release_kills_at_once(void **state)
{
    child c;
    child_open(&c, "sh -c 'sleep 1000 & echo $!; wait'", LONG);
    const pid_t grandchild = first_line_as_pid(&c);
    owner_release(&c.owner);
    wait_until_gone(&c, grandchild);
    child_close(&c);
}

static void abort_kills_at_once(void **state)
{
    child c;
    child_open(&c, "sh -c 'sleep 1000 & echo $!; wait'", LONG);
    const pid_t grandchild = first_line_as_pid(&c);
    owner_abort(&c.owner);
    run_until(&c.test, c.owner.closed);
    assert_int_equal(c.owner.code, ARCP_CLOSE_ABNORMAL);
    wait_until_gone(&c, grandchild);
    child_close(&c);
}

/* A child of the program may hold its output open for ever. */
static void output_held_open_by_a_child_is_not_waited_for(void **state)
{
    child c;
    child_open(&c, "sh -c 'sleep 1000 & echo $!; exit 0'", 50);
    run_until(&c.test, c.owner.closed);
    assert_int_equal(c.owner.messages, 1);
    assert_int_equal(c.owner.code, ARCP_CLOSE_NORMAL);
    kill(logged_pid(&c), SIGKILL);
    child_close(&c);
}

/* The program does not read any more, so sending makes no sense. */
static void the_end_of_the_output_of_a_program_closes_the_connection(void **state)
{
    child c;
    memset(&c, 0, sizeof c);
    c.owner.wants_input_over = true;
    child_start(&c, "sh -c 'echo one'", LONG);
    run_until(&c.test, c.owner.closed);
    assert_int_equal(c.owner.input_overs, 0);
    assert_int_equal(c.owner.messages, 1);
    assert_int_equal(c.owner.code, ARCP_CLOSE_NORMAL);
    child_close(&c);
}

static void a_program_that_does_not_exist_is_reported_at_once(void **state)
{
    test_loop test;
    test_loop_init(&test);
    arcp_error err = {0};
    arcp_connection *connection = NULL;
    assert_int_equal(
        arcp_spawn_stdio(&test.loop, "/nonexistent/arcpd --stdio", NULL, &connection, &err),
        ARCP_E_IO);
    assert_string_equal(err.message, "cannot start /nonexistent/arcpd: no such file or directory");
    assert_int_equal(arcp_spawn_stdio(&test.loop, "'unbalanced", NULL, &connection, &err),
                     ARCP_E_USAGE);
    assert_null(connection);
    test_loop_fini(&test);
}

static void a_stdio_url_connects_asynchronously_like_others(void **state)
{
    test_loop test;
    dial d;
    test_loop_init(&test);
    dial_begin(&d, &test, "stdio:sh -c 'echo banner; cat'", NULL);
    dial_wait(&d, &test);
    assert_true(d.connected);
    owner_send_text(&d.owner, "hello");
    run_until(&test, d.owner.messages == 2);
    check_span(arcp_buf_span(&d.owner.log), "banner|hello|");
    dial_fini(&d);
    test_loop_fini(&test);
}

static void a_cancelled_stdio_connector_leaves_no_program(void **state)
{
    test_loop test;
    dial d;
    test_loop_init(&test);
    dial_begin(&d, &test, "stdio:sleep 1000", NULL);
    arcp_connector_cancel(d.connector);
    dial_fini(&d);
    test_loop_fini(&test); /* returns when the program has ended */
    assert_false(d.connected || d.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_exchanges_frames_and_ends_when_we_close),
        cmocka_unit_test(large_frames_are_sent_in_both_directions),
        cmocka_unit_test(the_arguments_of_the_command_reach_the_program),
        cmocka_unit_test(a_program_that_exits_with_0_closes_normally),
        cmocka_unit_test(a_program_that_fails_is_reported_with_its_exit_status),
        cmocka_unit_test(a_program_that_is_killed_is_reported_with_its_signal),
        cmocka_unit_test(a_program_that_fails_while_we_write_is_reported_with_its_exit_status),
        cmocka_unit_test(a_failed_exit_after_our_close_is_ignored),
        cmocka_unit_test(a_program_that_does_not_end_is_killed_with_its_children),
        cmocka_unit_test(release_kills_at_once),
        cmocka_unit_test(abort_kills_at_once),
        cmocka_unit_test(output_held_open_by_a_child_is_not_waited_for),
        cmocka_unit_test(the_end_of_the_output_of_a_program_closes_the_connection),
        cmocka_unit_test(a_program_that_does_not_exist_is_reported_at_once),
        cmocka_unit_test(a_stdio_url_connects_asynchronously_like_others),
        cmocka_unit_test(a_cancelled_stdio_connector_leaves_no_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
