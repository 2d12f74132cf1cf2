/* Killing what runs in a sandbox without a process table of its own. The monitor here is a process
 * that adopts orphans and does nothing: it kills nothing itself, as one that gets no processor
 * time. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

#include "launch/sandbox_kill.h"

/* In calls: a second, and ten. */
#define MONITOR_CALLS 20u
#define LAST_CALL     200u

typedef struct fixture {
    arcp_process process;
    int ends[2]; /* each process of the program holds the second one */
    bool is_signalled;
} fixture;

static void take_signal(arcp_process *process, int number)
{
    fixture *f = (fixture *)process;
    assert_int_equal(number, SIGKILL);
    f->is_signalled = true;
}

static const arcp_process_ops ops = {.struct_size = sizeof ops, .signal = take_signal};

/* Until it is killed; not for ever after a test that fails. */
static void rest(void)
{
    (void)alarm(30);
    for (;;) {
        (void)pause();
    }
}

/* A process in a session of its own, which starts the next one; each says so with a byte. */
static void run_program(int fd, unsigned depth)
{
    (void)setsid();
    while (depth > 1 && fork() == 0) {
        (void)setsid();
        depth--;
    }
    (void)!write(fd, "x", 1);
    rest();
}

/* A monitor whose program has `depth` processes, each a child of the one before. */
static void begin(fixture *f, unsigned depth)
{
    *f = (fixture){.process = {.ops = &ops, .exit_fd = -1}};
    assert_int_equal(pipe(f->ends), 0);
    f->process.pid = fork();
    assert_true(f->process.pid >= 0);
    if (f->process.pid == 0) {
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        if (depth > 0 && fork() == 0) {
            run_program(f->ends[1], depth);
        }
        (void)close(f->ends[1]);
        rest();
    }
    (void)close(f->ends[1]);
    for (unsigned i = 0; i < depth; i++) {
        char byte;
        assert_int_equal(read(f->ends[0], &byte, 1), 1);
    }
}

static bool has_program_ended(const fixture *f)
{
    struct pollfd end = {.fd = f->ends[0], .events = POLLIN};
    return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

static void end(fixture *f)
{
    while (!has_program_ended(f)) {
        arcp__sandbox_kill(&f->process, 0);
    }
    (void)kill(f->process.pid, SIGKILL);
    assert_int_equal(waitpid(f->process.pid, NULL, 0), f->process.pid);
    (void)close(f->ends[0]);
}

static void what_left_the_group_is_killed_before_the_monitor(void **state)
{
    (void)state;
    fixture f;
    begin(&f, 4);
    while (!f.is_signalled) {
        arcp__sandbox_kill(&f.process, MONITOR_CALLS);
        (void)sched_yield();
    }
    assert_true(has_program_ended(&f));
    end(&f);
}

static void a_monitor_has_a_second_to_end(void **state)
{
    (void)state;
    fixture f;
    begin(&f, 0);
    arcp__sandbox_kill(&f.process, MONITOR_CALLS - 1);
    assert_false(f.is_signalled);
    arcp__sandbox_kill(&f.process, MONITOR_CALLS);
    assert_true(f.is_signalled);
    end(&f);
}

static void a_process_that_does_not_end_is_waited_for_ten_seconds(void **state)
{
    (void)state;
    fixture f;
    begin(&f, 1);
    arcp__sandbox_kill(&f.process, LAST_CALL - 1); /* when it looked, the process lived */
    assert_false(f.is_signalled);
    end(&f);
    begin(&f, 1);
    arcp__sandbox_kill(&f.process, LAST_CALL);
    assert_true(f.is_signalled);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_left_the_group_is_killed_before_the_monitor),
        cmocka_unit_test(a_monitor_has_a_second_to_end),
        cmocka_unit_test(a_process_that_does_not_end_is_waited_for_ten_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
