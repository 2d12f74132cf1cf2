/* Many sandboxes at once, ended in every way: nothing of them is left. */
#include "enforce/confined.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process_support.h"

enum { MANY = 100, PATIENCE_SEC = 120 };

/* A process in a session of its own, and the program itself; both ignore TERM and hold standard
 * output. */
#define STAYS "trap '' TERM INT HUP; setsid sleep 1000 & echo up; sleep 1000"

static size_t mounts(void)
{
    size_t count = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    assert_non_null(file);
    for (int byte = fgetc(file); byte != EOF; byte = fgetc(file)) {
        count += byte == '\n' ? 1 : 0;
    }
    (void)fclose(file);
    return count;
}

static void read_lines(int fd, size_t count)
{
    char byte = 0;
    while (count != 0 && read(fd, &byte, 1) == 1) {
        count -= byte == '\n' ? 1 : 0;
    }
    assert_int_equal(count, 0);
}

/* The only child of a process. */
static pid_t child_of(pid_t parent)
{
    char path[64];
    char text[64] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    (void)close(fd);
    return (pid_t)strtol(text, NULL, 10);
}

/* What becomes an orphan is ours, so that no process can be left without our seeing it. */
static void wait_for_all(int fd)
{
    char byte = 0;
    (void)alarm(PATIENCE_SEC);
    while (read(fd, &byte, 1) > 0) {
    }
    while (waitpid(-1, NULL, 0) > 0) {
    }
    (void)alarm(0);
    assert_false(has_children());
}

static void nothing_is_left_of_sandboxes_that_are_killed(void **state)
{
    static pid_t starters[MANY];
    confined *one = *state;
    int ends[2];
    confined_run(one, "exit 0"); /* prepares what all of them use */
    const size_t mounts_before = mounts();
    const size_t descriptors_before = open_descriptors();
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (size_t i = 0; i < MANY; i++) {
        starters[i] = confined_start(one, STAYS, ends[1]);
    }
    (void)close(ends[1]);
    read_lines(ends[0], (size_t)MANY * 2); /* the record of each, and its line */
    for (size_t i = 0; i < MANY; i++) {
        const pid_t monitor = child_of(starters[i]);
        switch (i % 4) {
        case 0: /* as when a daemon is killed */
            assert_int_equal(kill(starters[i], SIGKILL), 0);
            break;
        case 1:
            assert_int_equal(kill(monitor, SIGKILL), 0);
            break;
        case 2: /* pid 1 of the sandbox */
            assert_int_equal(kill(child_of(monitor), SIGKILL), 0);
            break;
        default: /* the program; what it has started is not asked */
            assert_int_equal(kill(child_of(child_of(monitor)), SIGKILL), 0);
            break;
        }
    }
    wait_for_all(ends[0]);
    (void)close(ends[0]);
    assert_int_equal(mounts(), mounts_before);
    assert_int_equal(open_descriptors(), descriptors_before);
}

static void nothing_is_left_of_sandboxes_whose_programs_end(void **state)
{
    static const char *const levels[] = {NULL, "userns"};
    confined *one = *state;
    confined_run(one, "exit 0");
    const size_t mounts_before = mounts();
    for (size_t level = 0; level < 2; level++) {
        int ends[2];
        one->without = levels[level];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        for (size_t i = 0; i < MANY / 2; i++) {
            (void)confined_start(one, "trap '' TERM; setsid sleep 1000 & (sleep 1000 &) ; exit 0",
                                 ends[1]);
        }
        (void)close(ends[1]);
        wait_for_all(ends[0]);
        (void)close(ends[0]);
    }
    assert_int_equal(mounts(), mounts_before);
}

/* TERM goes to the program alone, which may take its time; the sandbox waits for it. */
static void a_sandbox_passes_signals_on_and_waits(void **state)
{
    const confined *one = *state;
    int ends[2];
    char output[256] = "";
    int status = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t starter =
        confined_start(one, "trap 'echo told; exit 7' TERM; echo up; while :; do :; done", ends[1]);
    (void)close(ends[1]);
    read_lines(ends[0], 2);
    assert_int_equal(kill(-child_of(starter), SIGTERM), 0);
    assert_true(read(ends[0], output, sizeof output - 1) > 0);
    assert_string_equal(output, "told\n");
    assert_int_equal(waitpid(starter, &status, 0), starter);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    (void)close(ends[0]);
}

/* Whether the process waits in a call that the broker answers: stat, open, or the access of a
 * program that starts. */
static bool waits_for_broker(pid_t pid)
{
    char path[64];
    char text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    (void)(fd < 0 ? 0 : close(fd));
    const long number = size <= 0 ? -1 : strtol(text, NULL, 10);
    return number == __NR_newfstatat || number == __NR_openat || number == __NR_access;
}

/* Calls that the broker answers wait for it, and are not answered by anyone else. */
static void a_monitor_that_is_stopped_or_killed_lets_nothing_through(void **state)
{
    confined *one = *state;
    int ends[2];
    char output[4096] = "";
    size_t size = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t starter =
        confined_start(one, "echo up; while :; do cat ../outside/secret; done", ends[1]);
    (void)close(ends[1]);
    read_lines(ends[0], 2);
    const pid_t monitor = child_of(starter);
    const pid_t program = child_of(child_of(monitor));
    assert_int_equal(kill(monitor, SIGSTOP), 0);
    (void)alarm(PATIENCE_SEC);
    /* The program itself, or the cat that it waits for. */
    for (bool waits = false; !waits; (void)sched_yield()) {
        pid_t asking = program;
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)program, (int)program);
        FILE *children = fopen(path, "re");
        if (children != NULL) {
            int child = 0;
            asking = fscanf(children, "%d", &child) == 1 ? child : program; /* NOLINT */
            (void)fclose(children);
        }
        waits = waits_for_broker(asking);
    }
    (void)alarm(0);
    assert_int_equal(kill(monitor, SIGKILL), 0);
    for (ssize_t got = 1; got > 0 && size < sizeof output - 1; size += got < 0 ? 0 : (size_t)got) {
        got = read(ends[0], output + size, sizeof output - 1 - size);
    }
    (void)close(ends[0]);
    assert_null(strstr(output, CONFINED_TOKEN));
    assert_int_equal(waitpid(starter, NULL, 0), starter);
}

/* While a sandbox is made, another program of the host replaces the directory that is mounted on,
 * in a directory that is granted, by a link (CVE-2021-30465 of runc). */
static void a_place_of_a_mount_that_becomes_a_link_leads_nowhere(void **state)
{
    enum { STARTS = 40 };
    confined *one = *state;
    char lease[512];
    char place[PATH_MAX];
    char link[PATH_MAX];
    (void)snprintf(lease, sizeof lease,
                   "{\"fs.read\":[\"%s/mixed/**\"],\"fs.write\":[\"%s/mixed/sub/**\"]}", one->dir,
                   one->dir);
    (void)snprintf(place, sizeof place, "%s/mixed/sub", one->dir);
    (void)snprintf(link, sizeof link, "%s/mixed/link", one->dir);
    assert_int_equal(symlink("../outside", link), 0);
    one->lease = lease;
    const pid_t exchanger = fork();
    assert_true(exchanger >= 0);
    while (exchanger == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (renameat2(AT_FDCWD, place, AT_FDCWD, link, RENAME_EXCHANGE) != 0) {
            _exit(1);
        }
    }
    for (int i = 0; i < STARTS; i++) {
        confined_run(one, "cat ../mixed/sub/secret; echo x >../mixed/sub/planted");
        assert_null(strstr(one->output, CONFINED_TOKEN));
        assert_false(confined_exists(one, "outside/planted"));
    }
    assert_int_equal(kill(exchanger, SIGKILL), 0);
    assert_int_equal(waitpid(exchanger, NULL, 0), exchanger);
    one->lease = NULL;
}

#define CONFINED_TEST(name)                                                                        \
    cmocka_unit_test_setup_teardown(name, confined_set_up, confined_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(nothing_is_left_of_sandboxes_that_are_killed),
        CONFINED_TEST(nothing_is_left_of_sandboxes_whose_programs_end),
        CONFINED_TEST(a_sandbox_passes_signals_on_and_waits),
        CONFINED_TEST(a_monitor_that_is_stopped_or_killed_lets_nothing_through),
        CONFINED_TEST(a_place_of_a_mount_that_becomes_a_link_leads_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
