/* A program in a sandbox: what it sees, how it ends, and that it ends. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/sandbox_fixture.h"

/* ---- what it sees ---- */

static void the_root_has_only_what_the_plan_names(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_expect(f, "ls /; ls /..; ls /tmp/..", 0);
    sandbox_check_output(f, "bin\ndev\nhome\nlib\nlib64\nproc\nsbin\ntmp\nusr\n"
                            "bin\ndev\nhome\nlib\nlib64\nproc\nsbin\ntmp\nusr\n"
                            "bin\ndev\nhome\nlib\nlib64\nproc\nsbin\ntmp\nusr\n");
}

static void nothing_can_be_made_in_the_root(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_expect(f,
                   "for at in / /home /dev /usr /proc; do mkdir $at/x 2>/dev/null && exit 1; done;"
                   "mkdir /tmp/x /home/agent/x /dev/shm/x",
                   0);
}

static void a_program_knows_itself_by_its_own_user(void **state)
{
    sandbox_fixture *f = *state;
    char want[64];
    sandbox_expect(f, "id -u; id -g", 0);
    (void)snprintf(want, sizeof want, "%u\n%u\n", (unsigned)getuid(), (unsigned)getgid());
    sandbox_check_output(f, want);
}

static void the_network_is_a_loopback_interface(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    sandbox_expect(f,
                   "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; cat /proc/net/route | "
                   "tail -n +2; grep -c 7F000001 /proc/net/fib_trie >/dev/null; uname -n",
                   0);
    sandbox_check_output(f, "lo\narcp\n");
}

/* ---- how it ends ---- */

static void it_ends_with_the_status_of_the_program(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_expect(f, "exit 0", 0);
    sandbox_expect(f, "exit 7", 7);
    sandbox_expect(f, "exit 125", 125);
    assert_null(strstr(f->records.data, "failed"));
    sandbox_expect(f, "exit 255", 255);
}

static void it_ends_by_the_signal_of_the_program(void **state)
{
    sandbox_fixture *f = *state;
    static const int signals[] = {SIGTERM, SIGKILL, SIGSEGV, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        char script[32];
        (void)snprintf(script, sizeof script, "kill -%d $$", signals[i]);
        sandbox_run(f, script);
        assert_true(f->end.is_known && f->end.by_signal);
        assert_int_equal(f->end.code, signals[i]);
    }
}

static void a_program_that_is_absent_ends_with_127_and_one_that_is_none_with_126(void **state)
{
    sandbox_fixture *f = *state;
    static const struct {
        const char *program;
        int code;
    } rows[] = {{"/usr/bin/absent", 127}, {"/usr/bin", 126}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const argv[] = {rows[i].program, NULL};
        int control;
        char record[4096];
        f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd =
            open("/dev/null", O_RDWR | O_CLOEXEC);
        arcp_process *process = sandbox_start(f, argv, &control);
        (void)close(f->spec.stdin_fd);
        assert_true(read(control, record, sizeof record) > 0); /* running */
        const ssize_t size = read(control, record, sizeof record - 1);
        assert_true(size > 0);
        record[size] = '\0';
        assert_non_null(strstr(record, "{\"failed\":\"exec\",\"path\":\"/usr/bin"));
        wait_for_exit(process);
        f->end = arcp_process_exit_init();
        assert_true(process->ops->take_exit(process, &f->end));
        assert_int_equal(f->end.code, rows[i].code);
        process->ops->free(process);
        (void)close(control);
    }
}

static void what_the_program_used_is_in_the_end_of_the_process(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_expect(f, "exit 0", 0);
    const uint64_t before = f->end.user_us + f->end.system_us;
    sandbox_expect(f, "head -c 200000000 /dev/zero | cksum > /dev/null", 0);
    assert_true(f->end.user_us + f->end.system_us > before + 20000);
}

/* The program's output ends when the last of its processes has. */
static void wait_for_eof(int fd)
{
    char chunk[256];
    while (read(fd, chunk, sizeof chunk) > 0) {
    }
    (void)close(fd);
}

/* Starts a script that says "ready"; returns the end of its output. */
static int start_script(sandbox_fixture *f, const char *script, arcp_process **process)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    char line[6];
    int out[2];
    int control;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    f->spec.stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    f->spec.stdout_fd = out[1];
    f->spec.stderr_fd = out[1];
    *process = sandbox_start(f, argv, &control);
    (void)close(control);
    (void)close(out[1]);
    (void)close(f->spec.stdin_fd);
    for (size_t got = 0; got < sizeof line;) {
        const ssize_t size = read(out[0], line + got, sizeof line - got);
        assert_true(size > 0);
        got += (size_t)size;
    }
    assert_memory_equal(line, "ready\n", sizeof line);
    return out[0];
}

/* Leaves the session, ignores what would end it, and says when it does. */
#define STUBBORN                                                                                   \
    "mkfifo f; setsid sh -c 'trap \"\" TERM HUP INT; echo ready; echo > f; while :; do sleep "     \
    "1000; done' & read line < f; "

static void killed_from_outside_it_takes_everything_with_it(void **state)
{
    sandbox_fixture *f = *state;
    arcp_process *process;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    const int out = start_script(f, STUBBORN "sleep 1000", &process);
    assert_int_equal(kill(process->pid, SIGKILL), 0);
    wait_for_eof(out);
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    assert_true(f->end.by_signal);
    assert_int_equal(f->end.code, SIGKILL);
    process->ops->free(process);
}

static void what_the_program_leaves_behind_ends_with_it(void **state)
{
    sandbox_fixture *f = *state;
    arcp_process *process;
    const int out = start_script(f, STUBBORN "exit 3", &process);
    wait_for_eof(out);
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    assert_int_equal(f->end.code, 3);
    process->ops->free(process);
}

static void a_signal_to_the_group_reaches_the_program_alone(void **state)
{
    sandbox_fixture *f = *state;
    arcp_process *process;
    const int out =
        start_script(f, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done", &process);
    process->ops->signal(process, SIGTERM);
    wait_for_eof(out);
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    assert_false(f->end.by_signal);
    assert_int_equal(f->end.code, 9);
    process->ops->free(process);
}

/* However early: it must not be lost between the processes of the set-up. */
static void a_signal_during_the_set_up_ends_the_program(void **state)
{
    sandbox_fixture *f = *state;
    const char *const argv[] = {"/bin/sh", "-c", "sleep 1000", NULL};
    for (int i = 0; i < 40; i++) {
        int control;
        f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd =
            open("/dev/null", O_RDWR | O_CLOEXEC);
        arcp_process *process = sandbox_start(f, argv, &control);
        (void)close(f->spec.stdin_fd);
        (void)usleep((useconds_t)i * 100);
        process->ops->signal(process, SIGTERM);
        wait_for_exit(process);
        f->end = arcp_process_exit_init();
        assert_true(process->ops->take_exit(process, &f->end));
        assert_true(f->end.by_signal);
        assert_int_equal(f->end.code, SIGTERM);
        process->ops->free(process);
        (void)close(control);
    }
}

static void a_launcher_that_cannot_confine_refuses(void **state)
{
    sandbox_fixture *f = *state;
    arcp_launcher *direct = NULL;
    arcp_process *process = NULL;
    const char *const argv[] = {"/bin/true", NULL};
    check_ok(arcp_launcher_new_direct(NULL, &direct, &f->error), &f->error);
    f->spec.argv = argv;
    f->spec.confinement = &f->confinement;
    assert_int_equal(direct->ops->start(direct, &f->spec, &process, &f->error), ARCP_E_USAGE);
    assert_null(process);
    f->spec.struct_size += 8; /* of a later release */
    assert_int_equal(direct->ops->start(direct, &f->spec, &process, &f->error), ARCP_E_USAGE);
    assert_null(process);
    arcp_launcher_free(direct);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        SANDBOX_TEST(the_root_has_only_what_the_plan_names),
        SANDBOX_TEST(nothing_can_be_made_in_the_root),
        SANDBOX_TEST(a_program_knows_itself_by_its_own_user),
        SANDBOX_TEST(the_network_is_a_loopback_interface),
        SANDBOX_TEST(it_ends_with_the_status_of_the_program),
        SANDBOX_TEST(it_ends_by_the_signal_of_the_program),
        SANDBOX_TEST(a_program_that_is_absent_ends_with_127_and_one_that_is_none_with_126),
        SANDBOX_TEST(what_the_program_used_is_in_the_end_of_the_process),
        SANDBOX_TEST(killed_from_outside_it_takes_everything_with_it),
        SANDBOX_TEST(what_the_program_leaves_behind_ends_with_it),
        SANDBOX_TEST(a_signal_to_the_group_reaches_the_program_alone),
        SANDBOX_TEST(a_signal_during_the_set_up_ends_the_program),
        SANDBOX_TEST(a_launcher_that_cannot_confine_refuses),
    };
    if (argc != 2 || !sandbox_use_user(argv[1])) {
        (void)fprintf(stderr, "NOT RUN: the tests are not run by root\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
