/* Jobs on a worker of this machine, while a real arcpd is killed (-9) and started again, or their
 * worker is; and what else connects to the socket of workers. */
#include "support/check.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "arcpd/counting_jobs.h"
#include "stream/local_socket.h"
#include "support/process_support.h"
#include "worker/worker_core.h"

/* Files of workers in the state directory: there is one for each store that it ever had. */
static size_t locks_of(const counting_rig *r)
{
    size_t count = 0;
    DIR *entries = opendir(r->daemon.directory);
    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += strstr(entry->d_name, ".lock") != NULL;
    }
    (void)closedir(entries);
    return count;
}

static void a_job_counts_to_a_hundred_while_arcpd_is_killed_three_times(void **state)
{
    counting_rig r;
    (void)state;
    counting_open(&r, 100);
    counting_submit(&r, 10000);
    for (uint64_t lines = 25; lines < 100; lines += 25) {
        counting_take_until(&r, lines);
        daemon_kill(&r.daemon);
        counting_begin_again(&r);
    }
    counting_take_until(&r, UINT64_MAX);
    assert_int_equal(r.jobs[0].lines, 100);
    assert_true(r.jobs[0].has_ended);
    assert_int_equal(locks_of(&r), 1); /* the store has kept its id */
    counting_close(&r);
}

static void a_job_whose_worker_is_killed_ends(void **state)
{
    counting_rig r;
    (void)state;
    counting_open(&r, 1000000);
    counting_submit(&r, 10000);
    counting_take_until(&r, 3);
    assert_int_equal(kill(counting_worker(&r), SIGKILL), 0);
    const arcp_span frame = counting_take_error(&r);
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    check_span(wire_text(frame, "reason"), "worker_lost");
    r.events = 5; /* another worker is started */
    counting_submit(&r, 0);
    counting_take_until(&r, UINT64_MAX);
    assert_true(r.jobs[1].has_ended);
    counting_close(&r);
}

static void a_job_whose_worker_is_stopped_ends(void **state)
{
    counting_rig r;
    (void)state;
    counting_open(&r, 1000000);
    counting_submit(&r, 10000);
    counting_take_until(&r, 3);
    const pid_t worker = counting_worker(&r);
    assert_int_equal(kill(worker, SIGTERM), 0);
    const arcp_span frame = counting_take_error(&r);
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    check_span(wire_text(frame, "reason"), "worker_stopped");
    wait_for_end(worker);
    daemon_kill(&r.daemon);
    counting_begin_again(&r);
    r.events = 5;
    (void)counting_await_worker(&r);
    counting_close(&r);
}

/* The worker waits for a job that does not heed its cancel. */
static void a_job_that_a_stopping_worker_does_not_take_goes_to_the_next_one(void **state)
{
    static const daemon_options with_grace = {
        .config = "workers: {local: spawn}\nshutdown: {grace_sec: 600}\n"};
    counting_rig r;
    (void)state;
    counting_open_with(&r, &with_grace, 1000000);
    counting_submit(&r, 10000);
    counting_take_until(&r, 3);
    const pid_t worker = counting_worker(&r);
    r.events = 1;
    assert_int_equal(kill(worker, SIGTERM), 0);
    do { /* until the worker has taken the signal */
        counting_submit(&r, 0);
    } while (counting_ends(&r));
    assert_int_equal(kill(worker, SIGKILL), 0);
    (void)counting_take_error(&r);
    counting_take_until(&r, UINT64_MAX);
    assert_true(r.jobs[r.count - 1].has_ended);
    counting_close(&r);
}

/* ---- intruders ---- */

static int connect_to(const counting_rig *r)
{
    char path[128];
    int fd = -1;
    counting_find_socket(r, path);
    assert_int_equal(arcp__local_socket_connect(path, &fd, NULL), ARCP_OK);
    return fd;
}

typedef struct intruder_row {
    const char *name;
    const char *message; /* NULL: bytes that are none */
    const char *why;     /* in arcpd's log */
} intruder_row;

#define HELLO(name, instance, v)                                                                   \
    "{\"type\":\"hello\",\"v\":[" v "," v "],\"version\":\"1\",\"name\":\"" name                   \
    "\",\"instance\":\"" instance "\",\"boot_id\":\"b\"}\n"

static const intruder_row intruder_rows[] = {
    {"another life of the worker", HELLO("local", "other", "1"), "it does not hold its lock"},
    {"another worker", HELLO("gpu-1", "other", "1"), "this is not the worker of this machine"},
    {"another version", HELLO("local", "other", "9"), "the worker speaks versions 9 to 9"},
    {"a job before hello", "{\"type\":\"started\",\"job\":\"j\"}\n", "it came before hello"},
    {"bytes", NULL, "exceeds"},
};

/* It is closed, and the worker's jobs go on. */
static void an_intruder_is_refused(void **state)
{
    const intruder_row *row = *state;
    counting_rig r;
    arcp_buf frame = arcp_buf_init();
    char byte;
    counting_open(&r, 10);
    (void)counting_await_worker(&r);
    const int fd = connect_to(&r);
    const size_t size = row->message == NULL ? 0xffffffffu : strlen(row->message);
    for (unsigned i = 0; i < ARCP__WORKER_PREFIX; i++) {
        arcp_buf_append_byte(&frame, (char)(unsigned char)(size >> (24 - 8 * i)));
    }
    arcp_buf_append_cstr(&frame, row->message == NULL ? "" : row->message);
    assert_int_equal(write(fd, frame.data, frame.size), (ssize_t)frame.size);
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&waited, 1, WIRE_PATIENCE_MS), 1);
    assert_int_equal(read(fd, &byte, 1), 0);
    (void)close(fd);
    char *errors = daemon_errors(&r.daemon);
    assert_non_null(strstr(errors, row->why));
    free(errors);
    counting_submit(&r, 0);
    counting_take_until(&r, UINT64_MAX);
    assert_int_equal(r.ended, 2);
    arcp_buf_fini(&frame);
    counting_close(&r);
}

static void with_a_store_in_memory_arcpd_runs_agents_itself(void **state)
{
    daemon_state daemon;
    const daemon_options in_memory = {.config = COUNTING_CONFIG, .store = "memory:"};
    (void)state;
    daemon_begin(&daemon, &in_memory);
    daemon_launch(&daemon);
    assert_true(daemon_await(&daemon));
    char *errors = daemon_errors(&daemon);
    assert_non_null(strstr(errors, "workers.local has no effect with store: memory:"));
    free(errors);
    daemon_end(&daemon);
}

int main(void)
{
    const struct CMUnitTest few[] = {
        cmocka_unit_test(a_job_counts_to_a_hundred_while_arcpd_is_killed_three_times),
        cmocka_unit_test(a_job_whose_worker_is_killed_ends),
        cmocka_unit_test(a_job_whose_worker_is_stopped_ends),
        cmocka_unit_test(a_job_that_a_stopping_worker_does_not_take_goes_to_the_next_one),
        cmocka_unit_test(with_a_store_in_memory_arcpd_runs_agents_itself),
    };
    const int failed = run_rows(intruder_rows, sizeof intruder_rows / sizeof intruder_rows[0],
                                sizeof intruder_rows[0], an_intruder_is_refused);
    return cmocka_run_group_tests(few, NULL, NULL) + failed;
}
