/* The direct launcher: the state in which a program starts, and why a start fails. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launcher_child.h"
#include "launch/launcher_fixture.h"

/* ---- the state of a started program ---- */

static void a_program_has_three_descriptors_and_no_other_of_ours(void **state)
{
    fixture *f = *state;
    const int leaky = open("/dev/null", O_RDONLY); /* neither CLOEXEC nor low */
    const int high = fcntl(leaky, F_DUPFD, 900);
    fixture_run(f);
    (void)close(leaky);
    (void)close(high);
    fixture_check_line(f, "fds", " 0 1 2");
}

static void a_program_leads_a_process_group_and_is_killed_when_we_exit(void **state)
{
    fixture *f = *state;
    fixture_run(f);
    fixture_check_line(f, "group ", "own");
    fixture_check_line(f, "death ", "9");
}

static void a_program_has_no_signal_blocked_or_ignored(void **state)
{
    fixture *f = *state;
    sigset_t some;
    sigset_t before;
    void (*handler)(int) = signal(SIGHUP, SIG_IGN);
    (void)sigemptyset(&some);
    (void)sigaddset(&some, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &some, &before);
    fixture_run(f);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)signal(SIGHUP, handler);
    fixture_check_line(f, "SigBlk:\t", "0000000000000000");
    fixture_check_line(f, "SigIgn:\t", "0000000000000000");
}

/* The oom_score_adj that the started program has, as its output says. */
static long oom_score_with(fixture *f, int more)
{
    arcp_buf_clear(&f->output);
    f->spec.oom_score_more = more;
    fixture_run_shell(f, "exec cat /proc/self/oom_score_adj");
    return strtol(arcp_buf_cstr(&f->output), NULL, 10);
}

static void a_program_is_ended_before_us_when_memory_runs_out(void **state)
{
    fixture *f = *state;
    const long ours = oom_score_with(f, 0);
    assert_int_equal(oom_score_with(f, 300), ours + 300 < 1000 ? ours + 300 : 1000);
    assert_int_equal(oom_score_with(f, 5000), 1000);
    f->spec.struct_size = offsetof(arcp_launch_spec, oom_score_more); /* of the release before */
    assert_int_equal(oom_score_with(f, 300), ours);
    f->spec.struct_size = sizeof f->spec;
}

static void a_start_does_not_change_our_own_signals(void **state)
{
    fixture *f = *state;
    sigset_t some;
    sigset_t after;
    (void)sigemptyset(&some);
    (void)sigaddset(&some, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &some, NULL);
    fixture_run(f);
    (void)sigprocmask(SIG_UNBLOCK, &some, &after);
    assert_true(sigismember(&after, SIGUSR2));
    assert_false(sigismember(&after, SIGUSR1));
}

static void a_program_has_exactly_the_given_environment(void **state)
{
    fixture *f = *state;
    assert_int_equal(setenv("OURS", "secret", 1), 0);
    fixture_run(f);
    const char *first = strstr(f->output.data, "env ");
    assert_non_null(first);
    assert_string_equal(first, "env PATH=/usr/bin:/bin\nenv LANG=C\n");
}

static void a_program_starts_in_the_given_directory(void **state)
{
    fixture *f = *state;
    f->spec.cwd = f->directory;
    fixture_run(f);
    fixture_check_line(f, "cwd ", f->directory);
}

static void a_program_has_the_given_limits(void **state)
{
    fixture *f = *state;
    const arcp_launch_limit limits[] = {{RLIMIT_FSIZE, 4000, 5000}, {RLIMIT_SIGPENDING, 60, 60}};
    f->spec.limits = limits;
    f->spec.limit_count = 2;
    fixture_run(f);
    fixture_check_line(f, "fsize ", "4000 5000");
    fixture_check_line(f, "sigpending ", "60");
}

static void an_unlimited_resource_can_be_set(void **state)
{
    fixture *f = *state;
    const arcp_launch_limit limits[] = {{RLIMIT_FSIZE, ARCP_LAUNCH_NO_LIMIT, ARCP_LAUNCH_NO_LIMIT}};
    if (geteuid() != 0) {
        skip();
    }
    f->spec.limits = limits;
    f->spec.limit_count = 1;
    fixture_run(f);
    fixture_check_line(f, "fsize ", "18446744073709551615 18446744073709551615");
}

static void a_program_starts_although_our_standard_descriptors_are_closed(void **state)
{
    fixture *f = *state;
    int result[2];
    assert_int_equal(pipe2(result, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const int high = fcntl(result[1], F_DUPFD_CLOEXEC, 200);
        for (int fd = 0; fd < 100; fd++) {
            (void)close(fd);
        }
        int out[2]; /* 0 and 1 */
        arcp_process *process = NULL;
        if (pipe(out) == 0) {
            f->spec.stdin_fd = out[0];
            f->spec.stdout_fd = out[1];
            f->spec.stderr_fd = out[1];
            if (f->launcher->ops->start(f->launcher, &f->spec, &process, NULL) == ARCP_OK) {
                (void)close(out[1]);
                arcp_buf text = arcp_buf_init();
                read_all(out[0], &text);
                const ssize_t written = write(high, text.data, text.size);
                (void)written;
                arcp_buf_fini(&text);
                process->ops->free(process);
            }
        }
        _exit(0);
    }
    (void)close(result[1]);
    read_all(result[0], &f->output);
    (void)close(result[0]);
    arcp_buf_append_byte(&f->output, '\0');
    (void)waitpid(pid, NULL, 0);
    fixture_check_line(f, "fds", " 0 1 2");
}

static void a_program_is_killed_with_its_parent(void **state)
{
    fixture *f = *state;
    static const char *const sleeper[] = {"/bin/sleep", "1000", NULL};
    int report[2];
    pid_t child = 0;
    assert_int_equal(pipe2(report, O_CLOEXEC), 0);
    f->spec.argv = sleeper;
    const pid_t parent = fork();
    if (parent == 0) {
        arcp_process *process = NULL;
        f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd = open("/dev/null", O_RDWR);
        pid_t pid = f->launcher->ops->start(f->launcher, &f->spec, &process, NULL) == ARCP_OK
                        ? process->pid
                        : 0;
        const ssize_t written = write(report[1], &pid, sizeof pid);
        (void)written;
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(report[0], &child, sizeof child), sizeof child);
    (void)close(report[0]);
    (void)close(report[1]);
    assert_true(child > 0);
    const int watched = watch_process(child);
    assert_true(watched >= 0);
    assert_int_equal(kill(parent, SIGKILL), 0);
    wait_for_watched(watched);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
}

/* ---- finding the program ---- */

static void write_script(const fixture *f, const char *name, const char *text, mode_t mode)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", f->directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static void a_bare_name_is_searched_in_the_path_of_its_environment(void **state)
{
    fixture *f = *state;
    char variable[256];
    char directory[128];
    static const char *const named[] = {"the-agent", NULL};
    (void)snprintf(variable, sizeof variable, "PATH=:/no/such:%s/a:%s", f->directory, f->directory);
    const char *const environment[] = {variable, NULL};
    (void)snprintf(directory, sizeof directory, "%s/a", f->directory);
    assert_int_equal(mkdir(directory, 0700), 0);
    (void)snprintf(directory, sizeof directory, "%s/a/the-agent", f->directory);
    assert_int_equal(mkdir(directory, 0700), 0); /* a directory is no program */
    write_script(f, "the-agent", "#!/bin/sh\necho found\n", 0700);
    f->spec.argv = named;
    f->spec.env = environment;
    fixture_run(f);
    assert_string_equal(f->output.data, "found\n");
}

static void a_relative_path_starts_at_our_directory(void **state)
{
    fixture *f = *state;
    static const char *const relative[] = {"./agent.sh", NULL};
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    write_script(f, "agent.sh", "#!/bin/sh\npwd\n", 0700);
    assert_int_equal(chdir(f->directory), 0);
    f->spec.argv = relative;
    f->spec.cwd = "/";
    const arcp_status status = run_program(f->launcher, &f->spec, &f->output, &f->end, &f->error);
    assert_int_equal(chdir(here), 0);
    check_ok(status, &f->error);
    assert_string_equal(f->output.data, "/\n");
}

static void a_failed_start_names_the_program_and_the_reason(void **state)
{
    fixture *f = *state;
    char no_shebang[128];
    char no_right[128];
    const arcp_launch_limit backwards = {RLIMIT_FSIZE, 10, 5};
    write_script(f, "no-shebang", "echo hi\n", 0700);
    write_script(f, "no-right", "#!/bin/sh\n", 0600);
    (void)snprintf(no_shebang, sizeof no_shebang, "%s/no-shebang", f->directory);
    (void)snprintf(no_right, sizeof no_right, "%s/no-right", f->directory);
    const struct {
        const char *name;
        const char *program;
        const char *cwd;
        const char *user;
        const arcp_launch_limit *limit;
        arcp_status status;
        const char *message;
    } rows[] = {
        {"not in PATH", "no-such-agent", NULL, NULL, NULL, ARCP_E_USAGE,
         "the program no-such-agent is not in PATH"},
        {"no such path", "/no/such/agent", NULL, NULL, NULL, ARCP_E_USAGE,
         "/no/such/agent cannot be started (exec): No such file or directory"},
        {"empty", "", NULL, NULL, NULL, ARCP_E_USAGE, "the command is empty"},
        {"nothing", NULL, NULL, NULL, NULL, ARCP_E_USAGE, "the command is empty"},
        {"no interpreter named", no_shebang, NULL, NULL, NULL, ARCP_E_IO, "Exec format error"},
        {"no right to", no_right, NULL, NULL, NULL, ARCP_E_IO, "(exec): Permission denied"},
        {"a directory", "/tmp/", NULL, NULL, NULL, ARCP_E_IO, "(exec): Permission denied"},
        {"no directory", "/bin/true", "/no/such", NULL, NULL, ARCP_E_IO,
         "/bin/true cannot be started (changing its directory): No such file or directory"},
        {"no limit", "/bin/true", NULL, NULL, &backwards, ARCP_E_IO,
         "/bin/true cannot be started (setting its resource limits): Invalid argument"},
        {"no user", "/bin/true", NULL, "no-such-user", NULL, ARCP_E_USAGE,
         "there is no user \"no-such-user\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const argv[] = {rows[i].program, NULL};
        f->spec.argv = argv;
        f->spec.cwd = rows[i].cwd;
        f->spec.user = rows[i].user;
        f->spec.limits = rows[i].limit;
        f->spec.limit_count = rows[i].limit == NULL ? 0 : 1;
        const arcp_status status =
            run_program(f->launcher, &f->spec, &f->output, &f->end, &f->error);
        if (status != rows[i].status || strstr(f->error.message, rows[i].message) == NULL) {
            fail_msg("%s: %s: \"%s\"", rows[i].name, arcp_status_name(status), f->error.message);
        }
        assert_false(has_children());
    }
}

/* ---- another user ---- */

/* Another user may have no access to the build tree, so the programs are run from copies. */
static void let_others_in(fixture *f)
{
    arcp_direct_launcher_options options = arcp_direct_launcher_options_init();
    static char probe[128];
    static char helper[128];
    static const char *describe[] = {probe, "describe", NULL};
    char command[512];
    assert_int_equal(chmod(f->directory, 0711), 0);
    (void)snprintf(probe, sizeof probe, "%s/probe", f->directory);
    (void)snprintf(helper, sizeof helper, "%s/helper", f->directory);
    (void)snprintf(command, sizeof command, "cp %s %s && cp %s %s && chmod 0755 %s %s", PROBE,
                   probe, HELPER, helper, probe, helper);
    run_shell(command);
    options.helper = helper;
    arcp_launcher_free(f->launcher);
    check_ok(arcp_launcher_new_direct(&options, &f->launcher, &f->error), &f->error);
    f->spec.argv = describe;
}

static void a_program_of_another_user_has_only_that_users_rights(void **state)
{
    fixture *f = *state;
    const arcp_launch_limit limits[] = {{RLIMIT_FSIZE, 4000, 5000}};
    char want[64];
    if (geteuid() != 0) {
        skip();
    }
    const struct passwd *nobody = getpwnam("nobody");
    assert_non_null(nobody);
    let_others_in(f);
    f->spec.user = "nobody";
    f->spec.cwd = f->directory;
    f->spec.limits = limits;
    f->spec.limit_count = 1;
    fixture_run(f);
    (void)snprintf(want, sizeof want, "%d %d %d", (int)nobody->pw_uid, (int)nobody->pw_uid,
                   (int)nobody->pw_uid);
    fixture_check_line(f, "uids ", want);
    (void)snprintf(want, sizeof want, "%d groups %d", (int)nobody->pw_gid, (int)nobody->pw_gid);
    fixture_check_line(f, "gid ", want);
    fixture_check_line(f, "back ", "closed");
    fixture_check_line(f, "fds", " 0 1 2");
    fixture_check_line(f, "group ", "own");
    fixture_check_line(f, "death ", "9");
    fixture_check_line(f, "cwd ", f->directory);
    fixture_check_line(f, "fsize ", "4000 5000");
    fixture_check_line(f, "SigBlk:\t", "0000000000000000");
    assert_string_equal(strstr(f->output.data, "env "), "env PATH=/usr/bin:/bin\nenv LANG=C\n");
}

static void a_directory_that_another_user_cannot_enter_is_refused(void **state)
{
    fixture *f = *state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(f->directory, 0700), 0);
    f->spec.user = "nobody";
    f->spec.cwd = f->directory;
    assert_int_equal(run_program(f->launcher, &f->spec, &f->output, &f->end, &f->error), ARCP_E_IO);
    assert_non_null(strstr(f->error.message, "(changing its directory): Permission denied"));
    f->spec.cwd = NULL;
    f->spec.argv = (const char *const[]){"/no/such/agent", NULL};
    assert_int_equal(run_program(f->launcher, &f->spec, &f->output, &f->end, &f->error),
                     ARCP_E_USAGE);
    assert_non_null(strstr(f->error.message, "(exec): No such file"));
}

static void without_privileges_another_user_is_refused(void **state)
{
    fixture *f = *state;
    if (geteuid() != 0) {
        skip();
    }
    let_others_in(f);
    const pid_t pid = fork();
    if (pid == 0) {
        f->spec.user = "root";
        f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd = open("/dev/null", O_RDWR);
        arcp_process *process = NULL;
        const bool refused =
            setresuid(65534, 65534, 65534) == 0 &&
            f->launcher->ops->start(f->launcher, &f->spec, &process, &f->error) == ARCP_E_IO &&
            strstr(f->error.message, "(changing its user): Operation not permitted") != NULL;
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void without_the_helper_another_user_is_refused(void **state)
{
    fixture *f = *state;
    arcp_direct_launcher_options options = arcp_direct_launcher_options_init();
    options.helper = "/no/such/helper";
    arcp_launcher_free(f->launcher);
    check_ok(arcp_launcher_new_direct(&options, &f->launcher, &f->error), &f->error);
    f->spec.user = "root";
    assert_int_equal(run_program(f->launcher, &f->spec, &f->output, &f->end, &f->error),
                     ARCP_E_USAGE);
    assert_non_null(strstr(f->error.message, "/no/such/helper, which does not exist"));
    f->spec.user = NULL; /* only a change of user needs it */
    fixture_run(f);
}

/* With a limit of the file size the kernel writes as much as fits, and reports the error only when
 * the rest is written. */
static void orders_that_cannot_be_written_whole_are_refused_with_the_reason(void **state)
{
    fixture *f = *state;
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit small = {4096, 4096};
        arcp_process *process = NULL;
        (void)signal(SIGXFSZ, SIG_IGN);
        f->spec.user = "nobody";
        f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd = open("/dev/null", O_RDWR);
        const bool is_refused =
            setrlimit(RLIMIT_FSIZE, &small) == 0 &&
            f->launcher->ops->start(f->launcher, &f->spec, &process, &f->error) == ARCP_E_IO &&
            strcmp(f->error.message, "the orders for a helper cannot be written: File too large") ==
                0;
        _exit(is_refused ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Orders of the helper, followed by their texts. */
typedef struct orders_file {
    arcp__launch_orders orders;
    char texts[32];
} orders_file;

/* Runs the helper with a descriptor as its orders, which is closed; returns its exit status and the
 * failure that it reported. */
static int run_helper_with(int orders, arcp__launch_failure *failure)
{
    int errors[2];
    int status = -1;
    assert_int_equal(pipe2(errors, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)close(2);
        const int from = fcntl(errors[1], F_DUPFD_CLOEXEC, 10);
        if (dup2(fcntl(orders, F_DUPFD_CLOEXEC, 10), ARCP__LAUNCH_ORDERS_FD) >= 0 &&
            dup2(from, ARCP__LAUNCH_ERRORS_FD) >= 0) {
            (void)execl(HELPER, HELPER, (char *)NULL);
        }
        _exit(126);
    }
    (void)close(errors[1]);
    (void)close(orders);
    *failure = (arcp__launch_failure){-1, 0};
    const ssize_t got = read(errors[0], failure, sizeof *failure);
    assert_true(got == 0 || got == (ssize_t)sizeof *failure);
    (void)close(errors[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The same with the first `size` bytes of a file. */
static int run_helper(const orders_file *file, size_t size, arcp__launch_failure *failure)
{
    const int orders = memfd_create("orders", MFD_CLOEXEC);
    assert_true(orders >= 0 && write(orders, file, size) == (ssize_t)size);
    return run_helper_with(orders, failure);
}

static orders_file good_orders(void)
{
    orders_file file;
    memset(&file, 0, sizeof file);
    file.orders.struct_size = sizeof file.orders;
    file.orders.parent = getpid();
    file.orders.uid = getuid();
    file.orders.gid = getgid();
    file.orders.argc = 2;
    file.orders.env_count = 1;
    memcpy(file.texts, "\0\0\0/bin/sh\0sh\0-c\0A=B", 21);
    return file;
}

static void the_helper_refuses_what_it_cannot_read(void **state)
{
    fixture *f = *state;
    static const char *const alone[] = {HELPER, NULL};
    const orders_file good = good_orders();
    const size_t size = sizeof(good.orders) + 21;
    arcp__launch_failure failure;
    for (size_t cut = 0; cut < size; cut += cut < sizeof good.orders - 1 ? 997 : 1) {
        if (run_helper(&good, cut, &failure) != 127 || failure.stage != ARCP__LAUNCH_HELPER) {
            fail_msg("cut at %zu: stage %d", cut, failure.stage);
        }
    }
    static const struct {
        const char *name;
        size_t offset;
        uint64_t value;
        size_t width;
    } rows[] = {
        {"another release", offsetof(arcp__launch_orders, struct_size), 8, 8},
        {"no parent", offsetof(arcp__launch_orders, parent), 0, 4},
        {"a negative parent", offsetof(arcp__launch_orders, parent), UINT32_MAX, 4},
        {"too many groups", offsetof(arcp__launch_orders, group_count), ARCP__LAUNCH_GROUPS_MAX + 1,
         4},
        {"too many limits", offsetof(arcp__launch_orders, limit_count), ARCP__LAUNCH_LIMITS_MAX + 1,
         8},
        {"no arguments", offsetof(arcp__launch_orders, argc), 0, 8},
        {"one argument less", offsetof(arcp__launch_orders, argc), 1, 8},
        {"one argument more", offsetof(arcp__launch_orders, argc), 3, 8},
        {"arguments without end", offsetof(arcp__launch_orders, argc), UINT64_MAX, 8},
        {"one variable more", offsetof(arcp__launch_orders, env_count), 2, 8},
        {"variables without end", offsetof(arcp__launch_orders, env_count), UINT64_MAX, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        orders_file bad = good;
        memcpy((char *)&bad + rows[i].offset, &rows[i].value, rows[i].width);
        if (run_helper(&bad, size, &failure) != 127 || failure.stage != ARCP__LAUNCH_HELPER) {
            fail_msg("%s: stage %d", rows[i].name, failure.stage);
        }
    }
    f->spec.argv = alone; /* started by hand it has no such descriptors */
    fixture_run(f);
    assert_true(f->end.is_known && !f->end.by_signal);
    assert_int_equal(f->end.code, 127);
    assert_non_null(strstr(f->output.data, "not by hand"));
}

static void the_helper_reports_why_it_cannot_map_its_orders(void **state)
{
    arcp__launch_failure failure;
    const int orders = memfd_create("orders", MFD_CLOEXEC);
    (void)state;
    /* A hole larger than any address space. */
    assert_int_equal(ftruncate(orders, INT64_C(1) << 60), 0);
    assert_int_equal(run_helper_with(orders, &failure), 127);
    assert_int_equal(failure.stage, ARCP__LAUNCH_HELPER);
    assert_int_equal(failure.number, ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(a_program_has_three_descriptors_and_no_other_of_ours),
        FIXTURE_TEST(a_program_leads_a_process_group_and_is_killed_when_we_exit),
        FIXTURE_TEST(a_program_has_no_signal_blocked_or_ignored),
        FIXTURE_TEST(a_program_is_ended_before_us_when_memory_runs_out),
        FIXTURE_TEST(a_start_does_not_change_our_own_signals),
        FIXTURE_TEST(a_program_has_exactly_the_given_environment),
        FIXTURE_TEST(a_program_starts_in_the_given_directory),
        FIXTURE_TEST(a_program_has_the_given_limits),
        FIXTURE_TEST(an_unlimited_resource_can_be_set),
        FIXTURE_TEST(a_program_starts_although_our_standard_descriptors_are_closed),
        FIXTURE_TEST(a_program_is_killed_with_its_parent),
        FIXTURE_TEST(a_bare_name_is_searched_in_the_path_of_its_environment),
        FIXTURE_TEST(a_relative_path_starts_at_our_directory),
        FIXTURE_TEST(a_failed_start_names_the_program_and_the_reason),
        FIXTURE_TEST(a_program_of_another_user_has_only_that_users_rights),
        FIXTURE_TEST(a_directory_that_another_user_cannot_enter_is_refused),
        FIXTURE_TEST(without_privileges_another_user_is_refused),
        FIXTURE_TEST(without_the_helper_another_user_is_refused),
        FIXTURE_TEST(orders_that_cannot_be_written_whole_are_refused_with_the_reason),
        FIXTURE_TEST(the_helper_refuses_what_it_cannot_read),
        FIXTURE_TEST(the_helper_reports_why_it_cannot_map_its_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
