/* A cgroup for each agent's process: a process that leaves the process group is killed with it.
 * Where cgroups cannot be created, the tests are skipped. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"

#include "launch/cgroup_files.h"
#include "launch/cgroups.h"
#include "support/process_support.h"
#include "support/remove_tree.h"

#define ROUNDS       8u
#define OTHERS       4u
#define PATIENCE_SEC 30u

static arcp__cgroups *cgroups;
static size_t descriptors;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    descriptors = open_descriptors();
    cgroups = arcp__cgroups_open();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arcp__cgroups_close(cgroups);
    assert_int_equal(open_descriptors(), descriptors);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    return 0;
}

static void need_cgroups(void)
{
    if (cgroups == NULL) {
        print_message("no cgroup can be made here\n");
        skip();
    }
}

static void a_process_that_hides_ends_with_its_cgroup(void **state)
{
    (void)state;
    need_cgroups();
    int directory_fd = -1;
    pid_t pid = 0;
    const unsigned number = arcp__cgroups_take(cgroups, &directory_fd);
    assert_int_not_equal(number, 0);
    const int watched = start_hidden(directory_fd, &pid);
    (void)close(directory_fd);
    arcp__cgroups_end(cgroups, number);
    wait_for_watched(watched);
}

static void another_job_is_not_touched(void **state)
{
    (void)state;
    need_cgroups();
    int first_fd = -1;
    int second_fd = -1;
    pid_t first = 0;
    pid_t second = 0;
    const unsigned one = arcp__cgroups_take(cgroups, &first_fd);
    const unsigned two = arcp__cgroups_take(cgroups, &second_fd);
    assert_int_not_equal(one, two);
    const int first_watched = start_hidden(first_fd, &first);
    const int second_watched = start_hidden(second_fd, &second);
    (void)close(first_fd);
    (void)close(second_fd);
    arcp__cgroups_end(cgroups, one);
    wait_for_watched(first_watched);
    assert_int_equal(kill(second, 0), 0);
    arcp__cgroups_end(cgroups, two);
    wait_for_watched(second_watched);
}

static void an_empty_cgroup_is_used_again(void **state)
{
    (void)state;
    need_cgroups();
    int directory_fd = -1;
    const unsigned first = arcp__cgroups_take(cgroups, &directory_fd);
    (void)close(directory_fd);
    arcp__cgroups_end(cgroups, first);
    const unsigned again = arcp__cgroups_take(cgroups, &directory_fd);
    (void)close(directory_fd);
    assert_int_equal(again, first);
    arcp__cgroups_end(cgroups, again);
}

static void closing_kills_the_remaining_processes(void **state)
{
    (void)state;
    need_cgroups();
    int directory_fd = -1;
    pid_t pid = 0;
    assert_int_not_equal(arcp__cgroups_take(cgroups, &directory_fd), 0);
    const int watched = start_hidden(directory_fd, &pid);
    (void)close(directory_fd);
    arcp__cgroups_close(cgroups);
    wait_for_watched(watched);
    /* The directory is removed, so the same process may create it again. */
    cgroups = arcp__cgroups_open();
    assert_non_null(cgroups);
}

/* Kills a runtime that has a process in one of its cgroups; returns that process. */
static pid_t leave_behind(void)
{
    int out[2];
    int status = 0;
    pid_t hidden = 0;
    assert_int_equal(pipe(out), 0);
    const pid_t runtime = fork();
    assert_true(runtime >= 0);
    if (runtime == 0) {
        int directory_fd = -1;
        pid_t pid = 0;
        arcp__cgroups *own = arcp__cgroups_open();
        if (own == NULL || arcp__cgroups_take(own, &directory_fd) == 0) {
            _exit(1);
        }
        (void)start_hidden(directory_fd, &pid);
        (void)(write(out[1], &pid, sizeof pid) + raise(SIGKILL));
        _exit(1);
    }
    assert_int_equal(waitpid(runtime, &status, 0), runtime);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(read(out[0], &hidden, sizeof hidden), sizeof hidden);
    (void)close(out[0]);
    (void)close(out[1]);
    return hidden;
}

static void processes_of_a_killed_runtime_are_killed_by_the_next_one(void **state)
{
    (void)state;
    need_cgroups();
    const int watched = watch_process(leave_behind());
    assert_true(watched >= 0);
    arcp__cgroups_close(cgroups);
    cgroups = arcp__cgroups_open();
    assert_non_null(cgroups);
    wait_for_watched(watched);
}

/* One of them removes the cgroup while the others still wait for its end. */
static void several_runtimes_may_clean_up_the_same_cgroup(void **state)
{
    (void)state;
    need_cgroups();
    for (unsigned round = 0; round < ROUNDS; round++) {
        pid_t others[OTHERS];
        const int watched = watch_process(leave_behind());
        for (size_t i = 0; i < OTHERS; i++) {
            others[i] = fork();
            assert_true(others[i] >= 0);
            if (others[i] == 0) {
                (void)alarm(PATIENCE_SEC);
                arcp__cgroups *own = arcp__cgroups_open();
                arcp__cgroups_close(own);
                _exit(own == NULL ? 1 : 0);
            }
        }
        for (size_t i = 0; i < OTHERS; i++) {
            int status = -1;
            assert_int_equal(waitpid(others[i], &status, 0), others[i]);
            assert_int_equal(status, 0);
        }
        wait_for_watched(watched);
    }
}

/* ---- limits ---- */

static unsigned need_limits(unsigned wanted)
{
    need_cgroups();
#ifdef __SANITIZE_THREAD__
    print_message(
        "SKIPPED: ThreadSanitizer needs memory and a thread of its own in each process\n");
    skip();
#endif
    const unsigned found = arcp__cgroups_find_limits(cgroups);
    assert_int_equal(arcp__cgroups_find_limits(cgroups), found);
    if ((found & wanted) != wanted) {
        print_message("SKIPPED: no cgroup here can have these limits (found %u, wanted %u)\n",
                      found, wanted);
        skip();
    }
    return found;
}

/* Runs `act` in a child that has joined the cgroups; returns its status, as waitpid has it. */
static int run_limited(unsigned number, int directory_fd, const int fds[ARCP__CGROUP_LIMITS],
                       int (*act)(void))
{
    int status = -1;
    (void)number;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int i = -1; i < ARCP__CGROUP_LIMITS; i++) {
            const int place = i < 0 ? directory_fd : fds[i];
            const int procs = place < 0 ? -1 : openat(place, "cgroup.procs", O_WRONLY | O_CLOEXEC);
            if (place >= 0 && write(procs, "0", 1) != 1) {
                _exit(99);
            }
        }
        _exit(act());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Takes a cgroup with limits, runs `act` in it, and ends it. */
static int run_with(const arcp__cgroup_limits *limits, int (*act)(void), bool *has_run_out)
{
    arcp_error err = {0};
    int directory_fd = -1;
    int fds[ARCP__CGROUP_LIMITS];
    const unsigned number = arcp__cgroups_take(cgroups, &directory_fd);
    assert_int_not_equal(number, 0);
    check_ok(arcp__cgroups_limit(cgroups, number, limits, fds, &err), &err);
    assert_false(arcp__cgroups_has_run_out(cgroups, number));
    const int status = run_limited(number, directory_fd, fds, act);
    *has_run_out = arcp__cgroups_has_run_out(cgroups, number);
    (void)close(directory_fd);
    arcp__cgroup_close(fds);
    arcp__cgroups_end(cgroups, number);
    return status;
}

static int use_64_mib(void)
{
    const size_t size = 64u << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return 1;
    }
    for (size_t i = 0; i < size; i += 4096) {
        ((volatile char *)memory)[i] = 1;
    }
    return 0;
}

static void memory_beyond_the_limit_ends_the_process_and_is_counted(void **state)
{
    (void)state;
    bool has_run_out = false;
    (void)need_limits(ARCP__CGROUP_MEMORY);
    const arcp__cgroup_limits enough = {.memory_bytes = 128u << 20};
    const arcp__cgroup_limits less = {.memory_bytes = 32u << 20};
    const arcp__cgroup_limits none = {0};
    assert_int_equal(run_with(&enough, use_64_mib, &has_run_out), 0);
    assert_false(has_run_out);
    const int status = run_with(&less, use_64_mib, &has_run_out);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(has_run_out);
    /* The next process of the cgroup has neither the limit nor the count. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_with(&none, use_64_mib, &has_run_out), 0);
        assert_false(has_run_out);
    }
}

/* How many children there can be at once, up to 40. */
static int fork_40(void)
{
    int count = 0;
    while (count < 40) {
        const pid_t child = fork();
        if (child == 0) {
            (void)pause();
        }
        if (child < 0) {
            break;
        }
        count++;
    }
    return count;
}

static void processes_beyond_the_limit_are_not_created(void **state)
{
    (void)state;
    bool has_run_out = false;
    (void)need_limits(ARCP__CGROUP_PIDS);
    const arcp__cgroup_limits limits = {.pids = 10};
    assert_int_equal(WEXITSTATUS(run_with(&limits, fork_40, &has_run_out)), 9);
    assert_int_equal(WEXITSTATUS(run_with(&(arcp__cgroup_limits){0}, fork_40, &has_run_out)), 40);
}

/* The processor time of a process that is busy for 0.5 s of real time, in milliseconds. */
static int be_busy(void)
{
    struct timespec begin;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 500);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int)(now.tv_nsec / 2000000); /* of 2 ms: at most 250 */
}

static void a_tenth_of_a_processor_is_not_more(void **state)
{
    (void)state;
    bool has_run_out = false;
    (void)need_limits(ARCP__CGROUP_CPU);
    const arcp__cgroup_limits limits = {.cpu_percent = 10};
    /* 50 ms, and the rest of the last period. */
    assert_in_range(WEXITSTATUS(run_with(&limits, be_busy, &has_run_out)) * 2, 0, 90);
}

static void a_limit_that_cannot_be_had_is_refused(void **state)
{
    (void)state;
    int fds[ARCP__CGROUP_LIMITS];
    arcp_error err = {0};
    need_cgroups();
    (void)arcp__cgroups_find_limits(cgroups);
    const arcp__cgroup_limits limits = {.memory_bytes = 1u << 30};
    assert_int_equal(arcp__cgroups_limit(cgroups, 0, &limits, fds, &err), ARCP_E_IO);
    check_ok(arcp__cgroups_limit(cgroups, 0, &(arcp__cgroup_limits){0}, fds, &err), &err);
    assert_int_equal(arcp__cgroups_find_limits(NULL), 0);
}

/* ---- controllers of version 2, in a directory that has the files of a cgroup ---- */

static void write_text(const char *directory, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static size_t size_of(const char *directory, const char *name)
{
    char path[128];
    struct stat about;
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(stat(path, &about), 0);
    return (size_t)about.st_size;
}

static void check_text(const char *directory, const char *name, const char *expected)
{
    char path[128];
    char text[64] = "";
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fgets(text, sizeof text, file) != NULL || expected[0] == '\0');
    (void)fclose(file);
    assert_string_equal(text, expected);
}

static void a_cgroup_that_this_process_cannot_leave_passes_nothing_on(void **state)
{
    static const struct {
        const char *name;
        bool is_root, can_leave, passes_on;
    } rows[] = {
        {"the root, which may have processes", true, false, true},
        {"one with a place for this process below it", false, true, true},
        {"one without", false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char directory[] = "/tmp/arcp-cgroup-XXXXXX";
        char leaf[64];
        assert_non_null(mkdtemp(directory));
        write_text(directory, "cgroup.controllers", "cpuset cpu memory pids\n");
        write_text(directory, "cgroup.subtree_control", "");
        write_text(directory, "cgroup.procs", "");
        if (!rows[i].is_root) {
            write_text(directory, "cgroup.type", "domain\n");
        }
        (void)snprintf(leaf, sizeof leaf, "%s/leaf", directory);
        if (rows[i].can_leave) {
            assert_int_equal(mkdir(leaf, 0700), 0);
            write_text(leaf, "cgroup.procs", "");
        }
        const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        print_message("%s\n", rows[i].name);
        /* A file does not answer as a cgroup does, so nothing seems to be passed on. */
        assert_int_equal(arcp__cgroup_delegate(fd, "leaf"), 0);
        assert_int_equal(size_of(directory, "cgroup.subtree_control") != 0, rows[i].passes_on);
        check_text(directory, "cgroup.procs", rows[i].is_root ? "" : "0");
        if (rows[i].can_leave) {
            check_text(leaf, "cgroup.procs", "0");
        }
        (void)close(fd);
        assert_int_equal(remove_tree(directory), 0);
    }
}

/* Those of a runtime that was killed are removed by the next one. */
static void nothing_of_the_limits_is_left(void **state)
{
    (void)state;
    bool has_run_out = false;
    (void)need_limits(ARCP__CGROUP_MEMORY | ARCP__CGROUP_PIDS);
    int status = -1;
    const arcp__cgroup_limits limits = {.memory_bytes = 64u << 20, .pids = 100};
    const pid_t other = fork();
    if (other == 0) {
        cgroups = arcp__cgroups_open();
        (void)arcp__cgroups_find_limits(cgroups);
        (void)run_with(&limits, fork_40, &has_run_out);
        _exit(0); /* without arcp__cgroups_close */
    }
    assert_int_equal(waitpid(other, &status, 0), other);
    arcp__cgroups_close(cgroups);
    cgroups = arcp__cgroups_open();
    (void)arcp__cgroups_find_limits(cgroups);
    arcp__cgroups_close(cgroups);
    cgroups = NULL;
    char command[256];
    (void)snprintf(command, sizeof command,
                   "! find /sys/fs/cgroup -maxdepth 4 -name 'arcpd.%d.*' | grep -q . && ! find "
                   "/sys/fs/cgroup -maxdepth 4 -name 'arcpd.%d.*' | grep -q .",
                   (int)other, (int)getpid());
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a fixed text */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_that_hides_ends_with_its_cgroup, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_job_is_not_touched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_cgroup_is_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_kills_the_remaining_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_of_a_killed_runtime_are_killed_by_the_next_one,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_runtimes_may_clean_up_the_same_cgroup, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_beyond_the_limit_ends_the_process_and_is_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_beyond_the_limit_are_not_created, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_tenth_of_a_processor_is_not_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_limit_that_cannot_be_had_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cgroup_that_this_process_cannot_leave_passes_nothing_on,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_of_the_limits_is_left, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
