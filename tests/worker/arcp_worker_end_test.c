/* How arcp-worker ends: on SIGTERM, without its lock, and with neither a job nor a runtime. */
#include "support/check.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/process_support.h"
#include "worker/runtime_end.h"

/* A worker that has got SIGTERM, and waits for a job that does not end. */
static void open_stopping(runtime_end *r)
{
    runtime_end_open_job(r, GRACE_MS, "read start; read line; echo stop; exec sleep 1000");
    assert_int_equal(kill(r->worker, SIGTERM), 0);
    runtime_end_lines(r, 1, "stop\n");
}

static void sigterm_cancels_its_jobs_and_waits_for_them(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open_job(&r, GRACE_MS, "read start; read line; echo \"$line\"; exit 3");
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    runtime_end_lines(
        &r, 1,
        "{\"type\":\"job.cancel\",\"payload\":{\"reason\":\"shutdown\",\"grace_ms\":600000}"
        "}\n");
    const arcp__worker_exited *exited = &runtime_end_next(&r, ARCP__WORKER_EXITED)->exited;
    assert_int_equal(exited->why, ARCP__WORKER_END_KILLED);
    assert_int_equal(exited->code, 3);
    runtime_end_forget(&r, "j");
    runtime_end_close_ended(&r);
}

static void a_worker_that_stops_takes_no_job(void **state)
{
    runtime_end r;
    (void)state;
    open_stopping(&r);
    runtime_end_start(&r, "k", false, "echo no");
    const arcp__worker_refused *refused = &runtime_end_next(&r, ARCP__WORKER_REFUSED)->refused;
    check_span(refused->job, "k");
    assert_int_equal(refused->why, ARCP__WORKER_BUSY);
    runtime_end_close(&r);
}

static void what_does_not_end_in_time_is_killed(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open_job(&r, 1, "exec sleep 1000");
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    const arcp__worker_exited *exited = &runtime_end_next(&r, ARCP__WORKER_EXITED)->exited;
    assert_int_equal(exited->why, ARCP__WORKER_END_KILLED);
    assert_int_equal(exited->code, SIGKILL);
    /* The runtime says nothing more. */
    runtime_end_close_ended(&r);
}

static void a_second_sigterm_kills_at_once(void **state)
{
    runtime_end r;
    (void)state;
    open_stopping(&r);
    assert_int_equal(kill(r.worker, SIGTERM), 0);
    assert_int_equal(runtime_end_next(&r, ARCP__WORKER_EXITED)->exited.code, SIGKILL);
    runtime_end_close_ended(&r);
}

static void a_log_that_is_not_read_stops_nothing(void **state)
{
    static char filling[65536];
    runtime_end r;
    (void)state;
    runtime_end_open(&r);
    runtime_end_listen(&r);
    (void)unlink(r.errors);
    assert_int_equal(mkfifo(r.errors, 0600), 0);
    const int log = open(r.errors, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    while (write(log, filling, sizeof filling) > 0) {
    }
    runtime_end_spawn_with_store(&r);
    runtime_end_accept(&r); /* each link that ends is a line of its log */
    runtime_end_accept(&r);
    runtime_end_accept(&r);
    runtime_end_welcome(&r, KEEP_MS, GRACE_MS, "");
    runtime_end_run(&r, "j", "echo one");
    runtime_end_lines(&r, 1, "one\n");
    (void)close(log);
    runtime_end_close(&r);
}

/* The path of the only file of the state directory with such a name. */
static void only_path(const runtime_end *r, const char *pattern, char *out, size_t size)
{
    char whole[128];
    glob_t found;
    (void)snprintf(whole, sizeof whole, "%s%s", r->state, pattern);
    assert_int_equal(glob(whole, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    (void)snprintf(out, size, "%s", found.gl_pathv[0]);
    globfree(&found);
}

/* Started first, because they take ten seconds in which they do nothing. */
static runtime_end idle, alone;
static pid_t alone_program;

static int start_slow(void **state)
{
    (void)state;
    runtime_end_open(&idle);
    runtime_end_spawn_with_store(&idle);
    /* More than the time between two pings. */
    runtime_end_open_linked(&alone, 7000, GRACE_MS);
    alone_program = runtime_end_run(&alone, "j", "exec sleep 1000");
    runtime_end_leave(&alone);
    return 0;
}

static void all_is_killed_when_the_runtime_is_away_for_too_long(void **state)
{
    arcp__worker_job_row row;
    (void)state;
    wait_for_end(alone_program);
    runtime_end_listen(&alone);
    do {
        runtime_end_accept(&alone);
        row = runtime_end_row(&alone);
    } while (!row.has_exited);
    runtime_end_go_on(&alone, "j");
    const arcp__worker_exited *exited = &runtime_end_next(&alone, ARCP__WORKER_EXITED)->exited;
    assert_int_equal(exited->why, ARCP__WORKER_END_ALONE);
    assert_int_equal(exited->code, SIGKILL);
    runtime_end_close(&alone);
}

static void it_ends_when_it_has_neither_a_job_nor_a_runtime(void **state)
{
    (void)state;
    assert_int_equal(runtime_end_wait(idle.worker), 0);
    assert_int_equal(runtime_end_log_count(&idle, "neither a job nor an arcpd"), 1);
    idle.worker = 0;
    runtime_end_close(&idle);
}

static void it_ends_with_its_jobs_when_its_lock_is_gone(void **state)
{
    char lock[128];
    runtime_end r;
    (void)state;
    runtime_end_open_linked(&r, KEEP_MS, GRACE_MS);
    const pid_t program = runtime_end_run(&r, "j", "exec sleep 1000");
    only_path(&r, "/worker-" STORE ".*.lock", lock, sizeof lock);
    assert_int_equal(unlink(lock), 0);
    runtime_end_leave(&r);
    wait_for_end(program);
    assert_int_equal(runtime_end_wait(r.worker), 0);
    assert_int_equal(runtime_end_log_count(&r, "its lock file is gone"), 1);
    r.worker = 0;
    runtime_end_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigterm_cancels_its_jobs_and_waits_for_them),
        cmocka_unit_test(a_worker_that_stops_takes_no_job),
        cmocka_unit_test(what_does_not_end_in_time_is_killed),
        cmocka_unit_test(a_second_sigterm_kills_at_once),
        cmocka_unit_test(a_log_that_is_not_read_stops_nothing),
        cmocka_unit_test(all_is_killed_when_the_runtime_is_away_for_too_long),
        cmocka_unit_test(it_ends_with_its_jobs_when_its_lock_is_gone),
        cmocka_unit_test(it_ends_when_it_has_neither_a_job_nor_a_runtime),
    };
    return cmocka_run_group_tests(tests, start_slow, NULL);
}
