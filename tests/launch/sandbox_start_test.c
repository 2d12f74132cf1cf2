/* What ends a start before the program runs, and what the program is given. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/sandbox_fixture.h"

/* ---- steps ---- */

static const char *const steps[] = {
#define ARCP_LAUNCH_STAGE(id, name, text) name,
#include "launch/launch_stage.def"
#undef ARCP_LAUNCH_STAGE
};

static bool is_of_full(const char *step)
{
    static const char *const names[] = {"links",       "maps",  "net",     "routes", "listeners",
                                        "propagation", "root",  "dev",     "proc",   "pin",
                                        "git",         "cover", "private", "fork",   "mount",
                                        "read_only",   "pivot", "hostname"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], step) == 0) {
            return true;
        }
    }
    return false;
}

/* The program prints what would be seen if it ran. */
static void no_step_can_fail_without_ending_the_start(void **state)
{
    sandbox_fixture *f = *state;
    const bool is_full = f->plan.level == ARCP__SANDBOX_LEVEL_FULL;
    char path[256];
    static const uint16_t ports[] = {80, 443};
    f->plan.ports = ports;
    f->plan.port_count = 2;
    sandbox_outside("mkdir -p %s/.git %s/own", f->tree, f->tree);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_GIT, NULL, f->tree, true);
    (void)snprintf(path, sizeof path, "%s/own", f->tree);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_COVER, NULL, path, false);
    sandbox_mount(f, ARCP__SANDBOX_MOUNT_PIN, NULL, f->tree, true);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(setenv("ARCP_SANDBOX_FAIL", steps[i], 1), 0);
        if (strcmp(steps[i], "exec") == 0) {
            sandbox_expect(f, "echo escaped", 126);
            sandbox_check_output(f, "");
        } else if (strcmp(steps[i], "lease") == 0) {
            continue; /* only where a lease comes late: tests/enforce/failures_test.c */
        } else if (is_full || !is_of_full(steps[i])) {
            sandbox_refuses(f, steps[i]);
        }
    }
    assert_int_equal(unsetenv("ARCP_SANDBOX_FAIL"), 0);
    sandbox_expect(f, "exit 0", 0);
}

static void a_text_that_is_no_plan_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    f->plan.level = ARCP__SANDBOX_LEVEL_NONE;
    sandbox_refuses(f, "plan");
    f->plan.level = ARCP__SANDBOX_LEVEL_LANDLOCK;
    f->plan.cwd = ARCP_SPAN_LITERAL("relative");
    sandbox_refuses(f, "plan");
}

static void a_directory_that_is_not_there_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/absent", f->tree);
    f->plan.cwd = arcp_span_cstr(path);
    sandbox_refuses(f, "cwd");
}

/* ---- standard descriptors ---- */

static int unix_pair(int type)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
    (void)close(pair[1]);
    return pair[0];
}

static int bound(int domain, int type)
{
    const int fd = socket(domain, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (type == SOCK_STREAM) {
        const struct sockaddr_un local = {.sun_family = AF_UNIX}; /* any abstract name */
        const struct sockaddr_in loopback = {.sin_family = AF_INET,
                                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        assert_int_equal(domain == AF_UNIX ? bind(fd, (const void *)&local, sizeof(sa_family_t))
                                           : bind(fd, (const void *)&loopback, sizeof loopback),
                         0);
        assert_int_equal(listen(fd, 1), 0);
    }
    return fd;
}

static int open_it(const char *path, int flags)
{
    return open(path, flags | O_CLOEXEC);
}

static int pipe_end(void)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[1]);
    return ends[0];
}

static int terminal(void)
{
    return posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void a_standard_descriptor_that_leads_outside_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    const int refused[] = {
        open_it("/", O_RDONLY | O_DIRECTORY), open_it("/bin/sh", O_PATH),
        open_it("/dev/zero", O_RDONLY),       unix_pair(SOCK_DGRAM),
        bound(AF_UNIX, SOCK_STREAM),          bound(AF_INET, SOCK_STREAM),
        bound(AF_INET, SOCK_DGRAM),           bound(AF_INET6, SOCK_DGRAM),
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_true(refused[i] >= 0);
        f->spec.stdin_fd = refused[i];
        sandbox_refuses(f, "descriptors");
        (void)close(refused[i]);
    }
    const int accepted[] = {
        open_it("/dev/null", O_RDONLY), open_it("/bin/sh", O_RDONLY), pipe_end(), terminal(),
        unix_pair(SOCK_STREAM),         unix_pair(SOCK_SEQPACKET),
    };
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        assert_true(accepted[i] >= 0);
        f->spec.stdin_fd = accepted[i];
        sandbox_expect(f, "exit 0", 0);
        (void)close(accepted[i]);
    }
    f->spec.stdin_fd = -1;
}

static void a_program_has_three_descriptors_and_no_other(void **state)
{
    sandbox_fixture *f = *state;
    const int leaky = open("/", O_RDONLY | O_DIRECTORY); /* not close-on-exec */
    const int high = fcntl(leaky, F_DUPFD, 900);
    sandbox_expect(f, "for i in $(seq 0 1000); do [ -e /proc/$$/fd/$i ] && echo $i; done; exit 0",
                   0);
    (void)close(leaky);
    (void)close(high);
    sandbox_check_output(f, "0\n1\n2\n");
    if (f->plan.level == ARCP__SANDBOX_LEVEL_FULL) { /* pid 1 has its socket, which it cannot see */
        sandbox_expect(f, "ls -l /proc/1/fd 2>/dev/null | grep -c -e '->' ; exit 0", 0);
        sandbox_check_output(f, "0\n");
    }
}

/* A log, for instance, to which scripts write as /dev/stderr. */
static void standard_descriptors_can_be_opened_again_for_what_they_are_open_for(void **state)
{
    sandbox_fixture *f = *state;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/log", f->directory);
    const int out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int in = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
    const char *const argv[] = {"/bin/sh", "-c",
                                "echo a > /dev/stderr; echo b >> /dev/stdout; "
                                "cat /dev/fd/3 3>&1 >/dev/null 2>&1 && exit 1; "
                                "cat /dev/stdin > /dev/null || exit 2; "
                                "(: >> /dev/stdin) 2>/dev/null && exit 3; "
                                "(: > /etc/hostname) 2>/dev/null && exit 4; exit 7",
                                NULL};
    int control;
    assert_true(out >= 0 && in >= 0);
    f->spec.stdin_fd = in;
    f->spec.stdout_fd = f->spec.stderr_fd = out;
    arcp_process *process = sandbox_start(f, argv, &control);
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    process->ops->free(process);
    (void)close(control);
    (void)close(in);
    (void)close(out);
    assert_false(f->end.by_signal);
    assert_int_equal(f->end.code, 7);
    sandbox_outside("test \"$(cat %s)\" = 'a\nb'", path);
}

/* ---- limits ---- */

static void a_sandbox_has_no_more_processes_than_its_limit(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    f->plan.limits.pids = 10;
    /* The shell is one of them; it ends when it cannot fork. */
    sandbox_expect(f, "for i in 1 2 3 4 5 6 7 8 9; do cat & done < /dev/null; wait", 0);
    if (geteuid() != 0 || f->plan.abilities.values[ARCP__SANDBOX_ABILITY_PID_MAX] != 0) {
        sandbox_expect(f, "mkfifo f; for i in 1 2 3 4 5 6 7 8 9; do cat f & done; echo; exit 0", 0);
        sandbox_expect(f, "rm f; mkfifo f; for i in 1 2 3 4 5 6 7 8 9 10; do cat f & done", 2);
        /* No program that stays within it is refused, however many it starts. */
        sandbox_expect(f, "i=0; while [ $i -lt 700 ]; do (exit 0); i=$((i+1)); done", 0);
    }
}

static void limits_are_those_of_the_agent_and_no_core_is_written(void **state)
{
    sandbox_fixture *f = *state;
    struct rlimit now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    const arcp_launch_limit limits[] = {
        {RLIMIT_NOFILE, 50, 60}, {RLIMIT_CORE, 1000000, 1000000}, {RLIMIT_FSIZE, 524288, 524288}};
    f->spec.limits = limits;
    f->spec.limit_count = sizeof limits / sizeof *limits;
    sandbox_expect(f, "ulimit -Sn; ulimit -Hn; ulimit -f; grep core /proc/self/limits | tr -s ' '",
                   0);
    sandbox_check_output(f, "50\n60\n1024\nMax core file size 1 1 bytes \n");
}

static void a_program_starts_with_its_environment_directory_and_no_signal_blocked(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_expect(
        f,
        "env | grep -v -e ^PWD= -e ^_= -e ^OLDPWD= -e ^SHLVL= | sort; grep -e SigBlk -e SigIgn "
        "-e NoNewPrivs -e CapEff -e CapPrm -e Seccomp: /proc/self/status; umask",
        0);
    sandbox_check_output(f, "HOME=/home/agent\nLANG=C\nPATH=/usr/bin:/bin\n"
                            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                            "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                            "NoNewPrivs:\t1\nSeccomp:\t2\n0022\n");
    if (f->plan.level == ARCP__SANDBOX_LEVEL_FULL || geteuid() == 0) { /* it takes a privilege */
        sandbox_expect(f, "grep -q 'CapBnd:.0000000000000000' /proc/self/status", 0);
    }
    sandbox_run(f, "pwd -P");
    f->output.data[strlen(f->tree)] = '\0';
    sandbox_check_output(f, f->tree);
}

/* ---- the other user ---- */

static void root_becomes_the_user_before_anything_is_made(void **state)
{
    sandbox_fixture *f = *state;
    if (geteuid() != 0) {
        (void)fprintf(stderr, "NOT RUN: a change of user needs root\n");
        skip();
    }
    f->spec.user = "nobody";
    sandbox_outside("chown nobody %s; mkdir %s/closed; echo x > %s/secret; chmod 0600 %s/secret; "
                    "chmod 0700 %s/closed",
                    f->tree, f->directory, f->tree, f->tree, f->directory);
    sandbox_expect(f, "id -u; id -G; cat secret 2>/dev/null; : > made", 0);
    sandbox_check_output(f, "65534\n65534\n");
    sandbox_outside("test \"$(stat -c %%U %s/made)\" = nobody", f->tree);
    if (f->plan.level == ARCP__SANDBOX_LEVEL_FULL) {
        sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, sandbox_path(f, "closed"), false);
        sandbox_expect(f, "ls ../closed", 2);
        sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, sandbox_path(f, "closed/below"), false);
        sandbox_outside("mkdir %s/closed/below", f->directory);
        sandbox_refuses(f, "links");
    }
}

/* ---- the end ---- */

static void a_reader_that_does_not_read_holds_nothing_up(void **state)
{
    sandbox_fixture *f = *state;
    const char *const argv[] = {"/bin/true", NULL};
    int control;
    f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd =
        open("/dev/null", O_RDWR | O_CLOEXEC);
    arcp_process *process = sandbox_start(f, argv, &control);
    (void)close(f->spec.stdin_fd);
    (void)close(control);
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    assert_true(f->end.is_known && !f->end.by_signal && f->end.code == 0);
    process->ops->free(process);
}

/* ---- a terminal ---- */

static void a_terminal_of_the_caller_stops_the_process_with_the_program(void **state)
{
    sandbox_fixture *f = *state;
    const char *const argv[] = {"/bin/sh", "-c", "kill -STOP $$; exit 4", NULL};
    siginfo_t info = {0};
    int control;
    f->confinement.has_terminal = true;
    f->plan.has_terminal = true;
    f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd =
        open("/dev/null", O_RDWR | O_CLOEXEC);
    arcp_process *process = sandbox_start(f, argv, &control);
    (void)close(f->spec.stdin_fd);
    assert_int_equal(getpgid(process->pid), process->pid);
    assert_int_equal(getsid(process->pid), getsid(0));
    assert_int_equal(waitid(P_PID, (id_t)process->pid, &info, WSTOPPED), 0);
    assert_int_equal(info.si_code, CLD_STOPPED);
    process->ops->signal(process, SIGCONT);
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    assert_int_equal(f->end.code, 4);
    process->ops->free(process);
    (void)close(control);
}

static void without_one_it_begins_a_session(void **state)
{
    sandbox_fixture *f = *state;
    const char *const argv[] = {"/bin/true", NULL};
    int control;
    f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd =
        open("/dev/null", O_RDWR | O_CLOEXEC);
    arcp_process *process = sandbox_start(f, argv, &control);
    (void)close(f->spec.stdin_fd);
    assert_int_equal(getsid(process->pid), process->pid);
    wait_for_exit(process);
    process->ops->free(process);
    (void)close(control);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        SANDBOX_TEST(no_step_can_fail_without_ending_the_start),
        SANDBOX_TEST(a_text_that_is_no_plan_ends_the_start),
        SANDBOX_TEST(a_directory_that_is_not_there_ends_the_start),
        SANDBOX_TEST(a_standard_descriptor_that_leads_outside_ends_the_start),
        SANDBOX_TEST(a_program_has_three_descriptors_and_no_other),
        SANDBOX_TEST(standard_descriptors_can_be_opened_again_for_what_they_are_open_for),
        SANDBOX_TEST(a_sandbox_has_no_more_processes_than_its_limit),
        SANDBOX_TEST(limits_are_those_of_the_agent_and_no_core_is_written),
        SANDBOX_TEST(a_program_starts_with_its_environment_directory_and_no_signal_blocked),
        SANDBOX_TEST(root_becomes_the_user_before_anything_is_made),
        SANDBOX_TEST(a_reader_that_does_not_read_holds_nothing_up),
        SANDBOX_TEST(a_terminal_of_the_caller_stops_the_process_with_the_program),
        SANDBOX_TEST(without_one_it_begins_a_session),
    };
    if (argc != 2 || !sandbox_use_user(argv[1])) {
        (void)fprintf(stderr, "NOT RUN: the tests are not run by root\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
