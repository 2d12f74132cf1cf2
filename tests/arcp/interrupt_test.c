/* Ctrl-C, SIGTERM and SIGHUP in commands that wait for the runtime: their session is closed. After
 * Ctrl-C they exit with 130; the other signals end them. */
#include "arcp/fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ID_SIZE 30

static char job[ID_SIZE + 1]; /* it runs until the end of the tests */

static void check_no_session_is_away(const fixture *f)
{
    process p;
    fixture_run(f, &p, 0, WORDS("sessions", "--json"));
    assert_non_null(strstr(p.out.data, "\"state\":\"connected\"")); /* its own */
    assert_null(strstr(p.out.data, "\"state\":\"away\""));
    process_fini(&p);
}

static const struct {
    const char *name;
    const char *words[5];
    const char *shown; /* when it waits */
    bool on_terminal;
} rows[] = {
    {"the table of top", {"top"}, "job by cpu", true},
    {"jobs that are followed", {"jobs", "--follow"}, "running", false},
    {"logs that are followed", {"logs", job, "--follow"}, "waiting", false},
    {"standard error that is followed",
     {"logs", job, "-f", "--stderr"},
     "until it is cancelled",
     false},
    {"a job that is watched", {"watch", job, "--from-start", "--timestamps"}, "waiting", true},
};

static void ctrl_c_closes_the_session(void **state)
{
    static const char *const plain[] = {"TERM=xterm", "NO_COLOR=1", "LC_ALL=C", NULL};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        process p;
        print_message("  %s\n", rows[row].name);
        if (rows[row].on_terminal) {
            fixture_start_on_terminal(*state, &p, rows[row].words, plain, 80);
            process_await(&p, false, rows[row].shown);
            assert_int_equal(write(p.output, "\003", 1), 1);
        } else {
            fixture_start(*state, &p, rows[row].words);
            process_await(&p, false, rows[row].shown);
            process_signal(&p, SIGINT);
        }
        assert_int_equal(process_finish(&p), 130);
        assert_null(p.out.size == 0 ? NULL : strstr(p.out.data, "INTERRUPTED"));
        assert_int_equal(p.err.size, 0);
        process_fini(&p);
        check_no_session_is_away(*state);
    }
}

/* Starts `events`. It prints nothing before a job begins: jobs are submitted until one is seen. */
static void start_events(const fixture *f, process *p)
{
    bool is_seen = false;
    fixture_start(f, p, WORDS("events", "-o", "name"));
    while (!is_seen) {
        process hello;
        fixture_run(f, &hello, 0, WORDS("submit", "hello", "--quiet"));
        process_fini(&hello);
        struct pollfd output = {.fd = p->output, .events = POLLIN};
        is_seen = poll(&output, 1, 0) > 0;
    }
}

static void a_signal_closes_the_session_of_events(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        process p;
        start_events(*state, &p);
        process_signal(&p, signals[i]);
        assert_int_equal(process_finish(&p), 128 + signals[i]);
        assert_int_equal(p.err.size, 0);
        process_fini(&p);
        check_no_session_is_away(*state);
    }
}

static void sigterm_closes_the_session_of_watch(void **state)
{
    process p;
    fixture_start(*state, &p, WORDS("watch", job, "--from-start"));
    process_await(&p, true, "waiting");
    process_signal(&p, SIGTERM);
    assert_int_equal(process_finish(&p), 128 + SIGTERM);
    process_fini(&p);
    check_no_session_is_away(*state);
}

/* As nohup starts programs. */
static void an_ignored_sighup_stays_ignored(void **state)
{
    process p;
    (void)signal(SIGHUP, SIG_IGN);
    start_events(*state, &p);
    (void)signal(SIGHUP, SIG_DFL);
    process_signal(&p, SIGHUP);
    process_signal(&p, SIGTERM);
    assert_int_equal(process_finish(&p), 128 + SIGTERM);
    process_fini(&p);
    check_no_session_is_away(*state);
}

/* Fills the pipe that the program writes to. */
static void fill_output(const process *p)
{
    static const char zeros[4096];
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/fd/1", (int)p->pid);
    const int pipe_end = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(pipe_end >= 0);
    for (size_t size = sizeof zeros; size != 0;) {
        if (write(pipe_end, zeros, size) < 0) {
            size /= 2;
        }
    }
    assert_int_equal(close(pipe_end), 0);
}

/* Waits until the process is in write(). False if the kernel does not say where it is. */
static bool await_write(const process *p)
{
    char path[64];
    char line[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/syscall", (int)p->pid);
    while (strtol(line, NULL, 10) != SYS_write) {
        FILE *file = fopen(path, "re");
        const bool is_read = file != NULL && fgets(line, sizeof line, file) != NULL;
        if (file != NULL) {
            (void)fclose(file);
        }
        if (!is_read) {
            return false;
        }
    }
    return true;
}

static void sigterm_ends_a_command_whose_output_is_not_read(void **state)
{
    process p;
    process hello;
    start_events(*state, &p);
    fill_output(&p);
    fixture_run(*state, &hello, 0, WORDS("submit", "hello", "--quiet"));
    process_fini(&hello);
    if (!await_write(&p)) {
        process_fini(&p);
        skip();
    }
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, p.pid, 0), .events = POLLIN};
    assert_true(end.fd >= 0);
    process_signal(&p, SIGTERM);
    assert_int_equal(poll(&end, 1, PROCESS_DEADLINE_MS), 1);
    assert_int_equal(close(end.fd), 0);
    assert_int_equal(process_finish(&p), 128 + SIGTERM);
    process_fini(&p);
    check_no_session_is_away(*state);
}

static void the_table_of_top_follows_the_width_of_the_terminal(void **state)
{
    static const char *const plain[] = {"TERM=xterm", "NO_COLOR=1", "LC_ALL=C", NULL};
    const struct winsize wide = {.ws_row = 50, .ws_col = 200};
    process p;
    fixture_start_on_terminal(*state, &p, WORDS("top"), plain, 60);
    process_await(&p, false, job + ID_SIZE - 8);
    assert_null(strstr(p.out.data, job));
    assert_int_equal(ioctl(p.output, TIOCSWINSZ, &wide), 0);
    process_await(&p, false, job);
    assert_int_equal(write(p.output, "\003", 1), 1);
    assert_int_equal(process_finish(&p), 130);
    process_fini(&p);
}

static int begin(void **state)
{
    static const char wait[] = "wait=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/wait.sh";
    static const char hello[] = "hello=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/hello.sh";
    static fixture f;
    process p;
    arcpd_run_begin(&f);
    f.is_bare = true;
    arcpd_run_configure(&f, "tokens: [{token: t-op, principal: op, role: operator}]\n"
                            "shutdown: {grace_sec: 0}\n");
    arcpd_run_start(&f, 0, WORDS("--store", "memory:", "--agent", wait, "--agent", hello));
    assert_int_equal(setenv("ARCP_URL", f.url, 1) | setenv("ARCP_TOKEN", "t-op", 1), 0);
    fixture_run(&f, &p, 0, WORDS("submit", "wait", "--detach", "--quiet"));
    assert_true(p.out.size > ID_SIZE);
    memcpy(job, p.out.data, ID_SIZE);
    process_fini(&p);
    *state = &f;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctrl_c_closes_the_session),
        cmocka_unit_test(a_signal_closes_the_session_of_events),
        cmocka_unit_test(sigterm_closes_the_session_of_watch),
        cmocka_unit_test(an_ignored_sighup_stays_ignored),
        cmocka_unit_test(sigterm_ends_a_command_whose_output_is_not_read),
        cmocka_unit_test(the_table_of_top_follows_the_width_of_the_terminal),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
