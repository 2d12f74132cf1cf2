/* `arcp run` on a terminal: who has it, with which modes, and stopping. */
#include "arcp/run_fixture.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

static const char *const plain[] = {"TERM=dumb", NULL};

static void skip_unless_full(const run_fixture *f)
{
    if (strcmp(f->level, "full") != 0) {
        skip();
    }
}

static void type(const process *p, const char *text)
{
    assert_int_equal(write(p->output, text, strlen(text)), strlen(text));
}

/* A shell with job control, at its first prompt. */
static void start_shell(const run_fixture *f, process *p)
{
    run_fixture_shell_on_terminal(f, p, "exec env PS1='prompt> ' bash --norc --noediting -i",
                                  plain);
    process_await(p, false, "prompt> ");
}

static void the_command_reads_from_the_terminal(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    run_fixture_shell_on_terminal(
        f, &p, "$ARCP run -- sh -c 'test -t 0 && echo ready >/dev/tty; read x; echo got=$x'",
        plain);
    process_await(&p, false, "ready");
    type(&p, "text\n");
    process_await(&p, false, "got=text");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

static void ctrl_c_ends_the_command(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    run_fixture_shell_on_terminal(f, &p, "$ARCP run -- sh -c 'echo ready; read x'; echo end=$?",
                                  plain);
    process_await(&p, false, "ready");
    type(&p, "\003");
    process_await(&p, false, "end=130");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

static void modes_that_the_command_set_do_not_stay(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    run_fixture_shell_on_terminal(
        f, &p, "$ARCP run -- sh -c 'stty raw -echo; echo set'; echo ready; read x", plain);
    process_await(&p, false, "ready");
    struct termios modes;
    assert_int_equal(tcgetattr(p.output, &modes), 0);
    assert_true((modes.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO));
    type(&p, "x\n");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

/* They are of the open terminal, not of a process: without care the next program has them, too. */
static void flags_that_the_command_set_do_not_stay(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    run_fixture_shell_on_terminal(
        f, &p,
        "$ARCP run -- python3 -c 'import os; [os.set_blocking(i, False) for i in range(3)]'; "
        "python3 -c 'import os; print([os.get_blocking(i) for i in range(3)])'",
        plain);
    process_await(&p, false, "[True, True, True]");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

/* Its output would stay stopped for the shell, and so would we, before the end of the lease. */
static void the_command_cannot_stop_the_terminal(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    run_fixture_shell_on_terminal(
        f, &p,
        "$ARCP run -- python3 -c 'import os, termios\n"
        "try: termios.tcflow(0, termios.TCOOFF)\n"
        "except Exception as e: os.write(1, str(e).encode())'; echo; echo goes on",
        plain);
    process_await(&p, false, "goes on");
    assert_non_null(strstr(arcp_buf_cstr(&p.out), "Operation not permitted"));
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

static void a_stop_stops_both_and_fg_continues_both(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    start_shell(f, &p);
    type(&p, "$ARCP run -- sh -c 'echo rea\"\"dy; read x; echo got=$x'\n");
    process_await(&p, false, "ready");
    type(&p, "\032"); /* ^Z */
    process_await(&p, false, "Stopped");
    type(&p, "echo shell\"\"=$?\n");
    process_await(&p, false, "shell=148");
    type(&p, "fg\n");
    type(&p, "text\n");
    process_await(&p, false, "got=text");
    type(&p, "echo end\"\"=$?\n");
    process_await(&p, false, "end=0");
    type(&p, "exit\n");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

static void it_stops_more_than_once(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    start_shell(f, &p);
    type(&p, "$ARCP run -- sh -c 'while read x; do echo got=$x; done'\n");
    for (int i = 0; i < 3; i++) {
        char line[32];
        (void)snprintf(line, sizeof line, "line%d\n", i);
        type(&p, line);
        (void)snprintf(line, sizeof line, "got=line%d", i);
        process_await(&p, false, line);
        arcp_buf_clear(&p.out);
        type(&p, "\032"); /* the terminal discards what was typed and not read */
        process_await(&p, false, "Stopped");
        (void)snprintf(line, sizeof line, "round%d=148", i);
        char command[48];
        (void)snprintf(command, sizeof command, "echo round%d\"\"=$?\n", i);
        type(&p, command);
        process_await(&p, false, line);
        type(&p, "fg\n");
    }
    type(&p, "\004"); /* the end of its input */
    type(&p, "echo end\"\"=$?\n");
    process_await(&p, false, "end=0");
    type(&p, "exit\n");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

static void in_the_background_it_waits_for_the_terminal(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    start_shell(f, &p);
    type(&p, "$ARCP run -- sh -c 'read x; echo got=$x' &\n");
    /* Its read stops it, as it would without arcp. */
    type(&p, "wait %1; echo waited\"\"=$?\n");
    process_await(&p, false, "waited=148");
    type(&p, "fg\n");
    type(&p, "text\n");
    process_await(&p, false, "got=text");
    type(&p, "exit\n");
    (void)process_finish(&p);
    process_fini(&p);
}

static void a_pager_of_the_output_keeps_the_terminal(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    start_shell(f, &p);
    type(&p, "$ARCP run -- sh -c 'echo rea\"\"dy >&2; sleep 1; echo text' | sh -c 'read key "
             "</dev/tty; cat; echo key=$key'\n");
    process_await(&p, false, "ready");
    type(&p, "q\n");
    process_await(&p, false, "text\r\nkey=q");
    type(&p, "exit\n");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

static void a_command_in_a_pipeline_gets_the_terminal_when_it_reads(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    start_shell(f, &p);
    type(&p, "$ARCP run -- sh -c 'echo rea\"\"dy >&2; read x; echo got=$x' | cat\n");
    process_await(&p, false, "ready");
    type(&p, "text\n");
    process_await(&p, false, "got=text");
    type(&p, "echo end\"\"=$?\n");
    process_await(&p, false, "end=0");
    type(&p, "exit\n");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

static void ctrl_c_reaches_a_command_in_a_pipeline(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    start_shell(f, &p);
    type(
        &p,
        "set -o pipefail; $ARCP run -- sh -c 'echo rea\"\"dy >&2; exec tail -f /dev/null' | cat\n");
    process_await(&p, false, "ready");
    arcp_buf_clear(&p.out);
    type(&p, "\003");
    process_await(&p, false, "prompt> ");
    type(&p, "echo end\"\"=$?\n");
    process_await(&p, false, "end=130");
    type(&p, "exit\n");
    (void)process_finish(&p);
    process_fini(&p);
}

static void no_tty_escapes_what_the_command_prints(void **state)
{
    const run_fixture *f = *state;
    process p;
    skip_unless_full(f);
    run_fixture_shell_on_terminal(
        f, &p,
        "$ARCP run --no-tty -- sh -c 'test -t 1 || echo pipe; printf \"\\033[2Jx\\n\"; printf "
        "\"\\033]0;t\\007\\n\" >&2; cat; test -e /dev/tty || echo none'",
        plain);
    process_await(&p, false, "pipe\r\n\\x1b[2Jx\r\n");
    process_await(&p, false, "\\x1b]0;t\\x07\r\n");
    process_await(&p, false, "none\r\n");
    assert_int_equal(process_finish(&p), 0);
    process_fini(&p);
}

static void signals_are_passed_to_a_command_without_a_terminal(void **state)
{
    const run_fixture *f = *state;
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    skip_unless_full(f);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char script[256];
        char room[600];
        process p;
        (void)snprintf(script, sizeof script,
                       "trap 'echo caught %d; exit 3' %d; echo ready; while :; do sleep 0.1; done",
                       numbers[i], numbers[i]);
        (void)snprintf(room, sizeof room, "%s/bin/arcp", ARCP_BINARY_DIR);
        const char *const words[] = {room, "run", "--", "/bin/bash", "-c", script, NULL};
        process_start(&p, words, NULL, NULL);
        process_await(&p, false, "ready");
        process_signal(&p, numbers[i]);
        assert_int_equal(process_finish(&p), 3);
        (void)snprintf(script, sizeof script, "ready\ncaught %d\n", numbers[i]);
        assert_string_equal(p.out.data, script);
        process_fini(&p);
    }
}

static void the_command_dies_with_arcp_run(void **state)
{
    const run_fixture *f = *state;
    skip_unless_full(f);
    char room[600];
    process p;
    (void)snprintf(room, sizeof room, "%s/bin/arcp", ARCP_BINARY_DIR);
    const char *const words[] = {room, "run",
                                 "--", "/bin/sh",
                                 "-c", "trap '' TERM HUP; echo ready; while :; do sleep 1; done",
                                 NULL};
    process_start(&p, words, NULL, NULL);
    process_await(&p, false, "ready");
    process_signal(&p, SIGKILL);
    assert_int_equal(process_finish(&p), 137); /* its output ends: nothing holds the pipe */
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_reads_from_the_terminal),
        cmocka_unit_test(ctrl_c_ends_the_command),
        cmocka_unit_test(modes_that_the_command_set_do_not_stay),
        cmocka_unit_test(flags_that_the_command_set_do_not_stay),
        cmocka_unit_test(the_command_cannot_stop_the_terminal),
        cmocka_unit_test(a_stop_stops_both_and_fg_continues_both),
        cmocka_unit_test(it_stops_more_than_once),
        cmocka_unit_test(in_the_background_it_waits_for_the_terminal),
        cmocka_unit_test(a_pager_of_the_output_keeps_the_terminal),
        cmocka_unit_test(a_command_in_a_pipeline_gets_the_terminal_when_it_reads),
        cmocka_unit_test(ctrl_c_reaches_a_command_in_a_pipeline),
        cmocka_unit_test(no_tty_escapes_what_the_command_prints),
        cmocka_unit_test(signals_are_passed_to_a_command_without_a_terminal),
        cmocka_unit_test(the_command_dies_with_arcp_run),
    };
    return cmocka_run_group_tests(tests, run_fixture_begin, run_fixture_end);
}
