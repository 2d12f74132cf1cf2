/* One running program: its output and its input. */
#include <signal.h>

#include "process/one_process.h"

/* ---- output ---- */

static void lines_come_one_by_one_and_the_last_needs_no_line_feed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *script;
        const char *want;
    } rows[] = {
        {"two", "echo a; echo b", "a\nb\n"},
        {"in pieces", "printf 'a'; sleep 0.01; printf 'b\\nc'; sleep 0.01; printf 'd\\n'",
         "ab\ncd\n"},
        {"no line feed", "printf 'a\\nb'", "a\nb\n"},
        {"empty lines", "printf '\\n\\na\\n'", "\n\na\n"},
        {"nothing", "true", ""},
        {"carriage return stays", "printf 'a\\r\\n'", "a\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_to_end(rows[i].script);
        if (!arcp_span_equal_cstr(arcp_buf_span(&owner.lines), rows[i].want)) {
            fail_msg("%s: \"%.*s\"", rows[i].name, (int)owner.lines.size, owner.lines.data);
        }
        assert_int_equal(owner.exits, 1);
        process_owner_fini(&owner);
    }
}

static void a_hundred_thousand_lines_arrive_in_order(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "lines", "100000", NULL};
    process_rig_run(&rig, &owner, argv);
    run_until(&rig, owner.exits != 0);
    assert_int_equal(owner.line_count, 100000);
    arcp_buf want = arcp_buf_init();
    for (unsigned i = 0; i < 100000; i++) {
        arcp_buf_append_format(&want, "line %u\n", i);
    }
    assert_true(arcp_span_equal(arcp_buf_span(&owner.lines), arcp_buf_span(&want)));
    arcp_buf_fini(&want);
}

static void a_line_at_the_limit_is_accepted_and_a_longer_one_refused(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        size_t lines;
        size_t refusals;
    } rows[] = {
        {"head -c 4096 /dev/zero; echo", 1, 0},
        {"head -c 4097 /dev/zero; echo", 0, 1},
        {"head -c 4096 /dev/zero", 1, 0},
        {"head -c 4097 /dev/zero", 0, 1},
        {"echo before; head -c 4097 /dev/zero; echo; echo after", 1, 1},
        {"head -c 1000000 /dev/zero; echo after", 0, 1},
        {"for i in 1 2 3 4 5; do head -c 1000 /dev/zero; sleep 0.01; done; echo", 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_to_end(rows[i].script);
        if (owner.line_count != rows[i].lines || owner.refusals != rows[i].refusals) {
            fail_msg("row %zu: %zu lines, %zu refusals", i, owner.line_count, owner.refusals);
        }
        if (owner.refusals != 0) {
            assert_int_equal(owner.refused, ARCP_E_LIMIT);
        }
        /* Its output was read to the end, so it did not block. */
        assert_false(owner.end.by_signal);
        process_owner_fini(&owner);
    }
}

static void output_of_a_plain_program_is_delivered_unchanged(void **state)
{
    (void)state;
    rig.spec.is_plain = true;
    run_to_end("printf 'a\\nb'; head -c 300000 /dev/zero; printf '\\n'");
    assert_int_equal(owner.line_count, 0);
    assert_int_equal(owner.output.size, 300004);
    assert_true(owner.longest_output <= 65536);
    check_span(arcp_span_first(arcp_buf_span(&owner.output), 3), "a\nb");
}

static void standard_error_comes_in_lines(void **state)
{
    (void)state;
    run_to_end("echo one >&2; printf 'two\\n\\nthree' >&2");
    check_text(&owner.logs, "one\ntwo\nthree\n");
    check_text(&owner.tail, "one\ntwo\n\nthree");
}

static void a_line_of_standard_error_is_cut_at_64_kib(void **state)
{
    (void)state;
    run_to_end("head -c 65536 /dev/zero | tr '\\0' x >&2; echo >&2; "
               "head -c 65537 /dev/zero | tr '\\0' y >&2");
    assert_int_equal(owner.logs.size, 65536 + 1 + 65536 + 1 + 1 + 1);
    check_span(arcp_span_from(arcp_buf_span(&owner.logs), owner.logs.size - 4), "y\ny\n");
}

static void the_last_two_kib_of_standard_error_are_kept(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        size_t size;
    } rows[] = {
        {"head -c 2047 /dev/zero | tr '\\0' x >&2", 2047},
        {"head -c 2048 /dev/zero | tr '\\0' x >&2", 2048},
        {"head -c 2049 /dev/zero | tr '\\0' x >&2", 2048},
        {"head -c 300000 /dev/zero | tr '\\0' x >&2", 2048},
        /* 2 + 683 * 3 = 2051 bytes: the tail would begin within the first euro sign. */
        {"printf xx >&2; i=0; while [ $i -lt 683 ]; do printf '\\342\\202\\254'; i=$((i+1)); "
         "done >&2",
         2046},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_to_end(rows[i].script);
        assert_int_equal(owner.tail.size, rows[i].size);
        process_owner_fini(&owner);
    }
    run_to_end("head -c 5000 /dev/zero | tr '\\0' x >&2; printf end >&2");
    check_span(arcp_span_from(arcp_buf_span(&owner.tail), 2040), "xxxxxend");
}

/* ---- pausing ---- */

static void a_paused_program_blocks_at_its_full_pipe_and_no_output_is_lost(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "lines", "50000", NULL};
    arcp__agent_process_callbacks callbacks = process_owner_callbacks(&owner);
    owner = (process_owner){0};
    rig.spec.argv = argv;
    check_ok(
        arcp__agent_process_start(rig.table, &rig.spec, &callbacks, &owner.process, &rig.error),
        &rig.error);
    arcp__agent_process_pause(owner.process, true);
    /* Another program runs meanwhile; this one blocks at its full pipe. */
    process_owner other = {0};
    process_rig_run_shell(&rig, &other, "sleep 0.1; echo done");
    run_until(&rig, other.exits != 0);
    process_owner_fini(&other);
    assert_int_equal(owner.line_count, 0);
    assert_false(arcp__agent_process_has_ended(owner.process));
    arcp__agent_process_pause(owner.process, false);
    run_until(&rig, owner.line_count != 0);
    arcp__agent_process_pause(owner.process, true);
    const size_t taken = owner.line_count;
    process_rig_run_shell(&rig, &other, "sleep 0.1; echo done");
    run_until(&rig, other.exits != 0);
    process_owner_fini(&other);
    assert_int_equal(owner.line_count, taken);
    arcp__agent_process_pause(owner.process, false);
    run_until(&rig, owner.exits != 0);
    assert_int_equal(owner.line_count, 50000);
}

static void output_of_a_paused_program_is_read_after_its_end(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "echo last words");
    arcp__agent_process_pause(owner.process, true);
    run_until(&rig, owner.exits != 0);
    check_text(&owner.lines, "last words\n");
}

/* ---- input ---- */

static void a_program_gets_lines_until_its_input_is_closed(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "cat");
    assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("one")), ARCP_OK);
    run_until(&rig, owner.line_count == 1);
    assert_int_equal(arcp__agent_process_write(owner.process, arcp_span_make(NULL, 0)), ARCP_OK);
    assert_int_equal(arcp__agent_process_write_last(owner.process, ARCP_SPAN_LITERAL("end")),
                     ARCP_OK);
    assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("late")), ARCP_OK);
    run_until(&rig, owner.exits != 0);
    check_text(&owner.lines, "one\n\nend\n");
    assert_int_equal(owner.end.code, 0);
}

static void an_input_without_bytes_ends_at_once(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "cat; echo ended");
    assert_int_equal(arcp__agent_process_write_last(owner.process, arcp_span_make(NULL, 0)),
                     ARCP_OK);
    run_until(&rig, owner.exits != 0);
    check_text(&owner.lines, "ended\n");
}

static void eight_mib_are_queued_without_blocking_and_arrive(void **state)
{
    (void)state;
    const char *const argv[] = {PROBE, "count", NULL};
    arcp_buf much = arcp_buf_init();
    assert_true(arcp_buf_reserve(&much, 8388608));
    memset(much.data, 'x', 8388608);
    much.size = 8388608;
    process_rig_run(&rig, &owner, argv);
    assert_int_equal(arcp__agent_process_write(owner.process, arcp_buf_span(&much)), ARCP_OK);
    arcp_buf_fini(&much);
    assert_int_equal(arcp__agent_process_write_last(owner.process, arcp_span_make(NULL, 0)),
                     ARCP_OK);
    run_until(&rig, owner.exits != 0);
    check_text(&owner.lines, "read 8388609\n");
}

static void input_that_is_not_read_is_refused_beyond_a_limit(void **state)
{
    (void)state;
    static char text[1000];
    memset(text, 'x', sizeof text);
    const char *const argv[] = {PROBE, "stubborn", NULL};
    rig.spec.input_bytes_max = 3000;
    process_rig_run(&rig, &owner, argv);
    size_t taken = 0;
    while (taken < 1000 &&
           arcp__agent_process_write(owner.process, arcp_span_make(text, sizeof text)) == ARCP_OK) {
        taken++;
    }
    /* The bytes that a pipe of 64 KiB accepts (in whole pages only), the 3000 bytes, and the line
     * that exceeded them. */
    assert_in_range(taken, 60, 70);
    assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("x")),
                     ARCP_E_LIMIT);
    arcp__agent_process_kill(owner.process);
    run_until(&rig, owner.exits != 0);
    assert_true(owner.end.by_signal);
    assert_int_equal(owner.end.code, SIGKILL);
}

static void a_program_may_close_its_input(void **state)
{
    (void)state;
    process_rig_run_shell(&rig, &owner, "exec <&-; echo closed; sleep 0.05; echo done");
    run_until(&rig, owner.line_count == 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(arcp__agent_process_write(owner.process, ARCP_SPAN_LITERAL("x")), ARCP_OK);
    }
    run_until(&rig, owner.exits != 0);
    check_text(&owner.lines, "closed\ndone\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_come_one_by_one_and_the_last_needs_no_line_feed),
        TEST(a_hundred_thousand_lines_arrive_in_order),
        TEST(a_line_at_the_limit_is_accepted_and_a_longer_one_refused),
        TEST(output_of_a_plain_program_is_delivered_unchanged),
        TEST(standard_error_comes_in_lines),
        TEST(a_line_of_standard_error_is_cut_at_64_kib),
        TEST(the_last_two_kib_of_standard_error_are_kept),
        TEST(a_paused_program_blocks_at_its_full_pipe_and_no_output_is_lost),
        TEST(output_of_a_paused_program_is_read_after_its_end),
        TEST(a_program_gets_lines_until_its_input_is_closed),
        TEST(an_input_without_bytes_ends_at_once),
        TEST(eight_mib_are_queued_without_blocking_and_arrive),
        TEST(input_that_is_not_read_is_refused_beyond_a_limit),
        TEST(a_program_may_close_its_input),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
