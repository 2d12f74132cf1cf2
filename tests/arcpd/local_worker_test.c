/* Jobs on a worker of this machine, while a real arcpd is killed (-9), stopped and started again:
 * each line of a job has its effect once, in order, and each job ends as its program says.
 *
 *   arcpd_local_worker_test [many]      with `many` jobs and kills, at random moments
 *   ARCP_WORKER_JOBS, ARCP_WORKER_KILLS, ARCP_WORKER_SEED: another run. The seed is printed. */
#include "support/check.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "stream/local_socket.h"
#include "support/process_support.h"
#include "worker/worker_core.h"
#include "worker/worker_place.h"

#define JOBS_MAX 200u
#define CONFIG   "workers: {local: spawn, keep_sec: 60}\nshutdown: {grace_sec: 0}\n"

typedef struct job {
    char id[40];
    uint64_t lines; /* that have come, each once and in order */
    bool has_ended;
} job;

typedef struct rig {
    daemon_state daemon;
    wire wire;
    wire_session session;
    uint64_t last_seq;
    pid_t worker; /* that has joined last; 0: not known */
    job jobs[JOBS_MAX];
    size_t count, ended;
    uint64_t lines;  /* of all jobs */
    uint64_t events; /* that each writes */
} rig;

static const daemon_options options = {.config = CONFIG};

static void open_rig_with(rig *r, const daemon_options *daemon, uint64_t events)
{
    *r = (rig){.events = events};
    daemon_begin(&r->daemon, daemon);
    daemon_start(&r->daemon);
    wire_open(&r->wire, r->daemon.port);
    wire_hello(&r->wire, "t-alice", &r->session);
}

static void open_rig(rig *r, uint64_t events)
{
    open_rig_with(r, &options, events);
}

/* The process of the worker that has joined last; it need not have since arcpd was started. */
static pid_t worker_of(rig *r)
{
    static const char said[] = "a worker has joined: process ";
    char *errors = daemon_errors(&r->daemon);
    for (const char *at = strstr(errors, said); at != NULL; at = strstr(at + 1, said)) {
        r->worker = number_in(at + strlen(said));
    }
    free(errors);
    assert_true(r->worker > 0);
    return r->worker;
}

static void close_rig(rig *r)
{
    const pid_t worker = worker_of(r);
    wire_close(&r->wire);
    (void)daemon_stop(&r->daemon);
    (void)kill(worker, SIGTERM);
    wait_for_end(worker);
    daemon_end(&r->daemon);
}

static job *find(rig *r, arcp_span id)
{
    for (size_t i = 0; i < r->count; i++) {
        if (arcp_span_equal_cstr(id, r->jobs[i].id)) {
            return &r->jobs[i];
        }
    }
    fail_msg("a frame of an unknown job");
    return NULL;
}

static void take(rig *r, arcp_span frame)
{
    const uint64_t seq = wire_seq(frame);
    if (seq == 0) {
        return;
    }
    assert_int_equal(seq, r->last_seq + 1);
    r->last_seq = seq;
    job *of = find(r, wire_text(frame, "job_id"));
    uint64_t number = 0;
    if (wire_is(frame, "job.result")) {
        assert_int_equal(of->lines, r->events);
        assert_false(of->has_ended);
        of->has_ended = true;
        r->ended++;
    } else if (wire_is(frame, "job.error")) {
        fail_msg("%s has failed: %.*s", of->id, (int)frame.size, frame.data);
    } else if (wire_is(frame, "job.event") && wire_number(wire_text(frame, "message"), &number)) {
        assert_int_equal(number, of->lines);
        of->lines++;
        r->lines++;
    }
}

static void submit(rig *r, unsigned pause_us)
{
    wire_send(&r->wire,
              "{\"arcp\":\"1.1\",\"id\":\"s%zu\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"input\":{\"events\":%llu,\"bytes\":20,\"pause_us\":%u,\"end\":\"result\""
              "}}}",
              r->count, (unsigned long long)r->events, pause_us);
    arcp_span frame = wire_await(&r->wire);
    while (!wire_is(frame, "job.accepted")) {
        take(r, frame);
        frame = wire_await(&r->wire);
    }
    const arcp_span id = wire_text(frame, "job_id");
    (void)snprintf(r->jobs[r->count++].id, sizeof r->jobs[0].id, "%.*s", (int)id.size, id.data);
}

/* Reads until this many lines of all jobs have come, or all jobs have ended. */
static void take_until(rig *r, uint64_t lines)
{
    while (r->lines < lines && r->ended < r->count) {
        take(r, wire_await(&r->wire));
    }
}

/* Waits until it has joined. */
static pid_t worker_of_soon(rig *r)
{
    submit(r, 0);
    take_until(r, UINT64_MAX);
    return worker_of(r);
}

static void begin_again(rig *r)
{
    wire_close(&r->wire);
    daemon_start(&r->daemon);
    wire_open(&r->wire, r->daemon.port);
    wire_resume(&r->wire, "t-alice", &r->session, r->last_seq);
}

/* Files of workers in the state directory: there is one for each store that it ever had. */
static size_t locks_of(const rig *r)
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
    rig r;
    (void)state;
    open_rig(&r, 100);
    submit(&r, 10000);
    for (uint64_t lines = 25; lines < 100; lines += 25) {
        take_until(&r, lines);
        daemon_kill(&r.daemon);
        begin_again(&r);
    }
    take_until(&r, UINT64_MAX);
    assert_int_equal(r.jobs[0].lines, 100);
    assert_true(r.jobs[0].has_ended);
    assert_int_equal(locks_of(&r), 1); /* the store has kept its id */
    close_rig(&r);
}

/* Reads until the first job has ended with an error. */
static arcp_span take_error(rig *r)
{
    arcp_span frame = wire_await(&r->wire);
    while (!wire_is(frame, "job.error")) {
        frame = wire_await(&r->wire);
    }
    r->last_seq = wire_seq(frame);
    r->jobs[0].has_ended = true;
    r->ended++;
    return frame;
}

static void a_job_whose_worker_is_killed_ends(void **state)
{
    rig r;
    (void)state;
    open_rig(&r, 1000000);
    submit(&r, 10000);
    take_until(&r, 3);
    assert_int_equal(kill(worker_of(&r), SIGKILL), 0);
    const arcp_span frame = take_error(&r);
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    check_span(wire_text(frame, "reason"), "worker_lost");
    r.events = 5; /* another worker is started */
    submit(&r, 0);
    take_until(&r, UINT64_MAX);
    assert_true(r.jobs[1].has_ended);
    close_rig(&r);
}

static void a_job_whose_worker_is_stopped_ends(void **state)
{
    rig r;
    (void)state;
    open_rig(&r, 1000000);
    submit(&r, 10000);
    take_until(&r, 3);
    const pid_t worker = worker_of(&r);
    assert_int_equal(kill(worker, SIGTERM), 0);
    const arcp_span frame = take_error(&r);
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    check_span(wire_text(frame, "reason"), "worker_stopped");
    wait_for_end(worker);
    daemon_kill(&r.daemon);
    begin_again(&r);
    r.events = 5;
    (void)worker_of_soon(&r);
    close_rig(&r);
}

/* Reads until the last job has ended. */
static arcp_span take_end(rig *r)
{
    const char *id = r->jobs[r->count - 1].id;
    arcp_span frame = wire_await(&r->wire);
    while (!(wire_is(frame, "job.result") || wire_is(frame, "job.error")) ||
           !arcp_span_equal_cstr(wire_text(frame, "job_id"), id)) {
        take(r, frame);
        frame = wire_await(&r->wire);
    }
    if (wire_is(frame, "job.result")) {
        take(r, frame);
    } else {
        r->last_seq = wire_seq(frame);
        r->ended++;
    }
    return frame;
}

/* It waits for a job that does not heed its cancel. */
static void a_worker_that_stops_says_why_it_takes_no_job(void **state)
{
    static const daemon_options with_grace = {
        .config = "workers: {local: spawn}\nshutdown: {grace_sec: 600}\n"};
    rig r;
    (void)state;
    open_rig_with(&r, &with_grace, 1000000);
    submit(&r, 10000);
    take_until(&r, 3);
    const pid_t worker = worker_of(&r);
    r.events = 1;
    assert_int_equal(kill(worker, SIGTERM), 0);
    arcp_span frame;
    do { /* until the worker has taken the signal */
        submit(&r, 0);
        frame = take_end(&r);
    } while (wire_is(frame, "job.result"));
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    check_span(wire_text(frame, "message"),
               "the job's worker takes no more jobs: it stops, or it has as many as it can have");
    assert_int_equal(kill(worker, SIGKILL), 0);
    (void)take_error(&r);
    (void)worker_of_soon(&r);
    close_rig(&r);
}

/* SIGTERM does not leave a job to its worker. */
static void a_job_ends_when_arcpd_is_stopped(void **state)
{
    rig r;
    (void)state;
    open_rig(&r, 1000000);
    submit(&r, 10000);
    take_until(&r, 3);
    assert_int_equal(daemon_stop(&r.daemon), 0);
    begin_again(&r);
    (void)take_error(&r);
    r.events = 5;
    (void)worker_of_soon(&r); /* arcpd has ended its worker, and starts another */
    close_rig(&r);
}

/* Until the link has been silent for 15 s. */
static void arcpd_stops_although_its_worker_does_not_answer(void **state)
{
    rig r;
    (void)state;
    open_rig(&r, 1000000);
    submit(&r, 10000);
    take_until(&r, 3);
    const pid_t worker = worker_of(&r);
    assert_int_equal(kill(worker, SIGSTOP), 0);
    assert_int_equal(daemon_stop(&r.daemon), 0);
    (void)kill(worker, SIGKILL);
    wire_close(&r.wire);
    daemon_end(&r.daemon);
}

/* ---- intruders ---- */

static int connect_to(const rig *r)
{
    char path[PATH_MAX];
    char store[ARCP__WORKER_ID_MAX + 1];
    int fd = -1;
    DIR *entries = opendir(r->daemon.directory);
    assert_non_null(entries);
    const struct dirent *entry = readdir(entries);
    while (entry != NULL && !arcp__worker_store_of(entry->d_name, store)) {
        entry = readdir(entries);
    }
    assert_non_null(entry);
    (void)closedir(entries);
    assert_true(arcp__worker_socket_path(r->daemon.directory, store, path));
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
    {"another life of the worker", HELLO("local", "other", "1"), "name_in_use"},
    {"another worker", HELLO("gpu-1", "other", "1"), "this is not the worker of this machine"},
    {"another version", HELLO("local", "other", "9"), "the worker speaks versions 9 to 9"},
    {"a job before hello", "{\"type\":\"started\",\"job\":\"j\"}\n", "it came before hello"},
    {"bytes", NULL, "exceeds"},
};

/* It is closed, and the worker's jobs go on. */
static void an_intruder_is_refused(void **state)
{
    const intruder_row *row = *state;
    rig r;
    arcp_buf frame = arcp_buf_init();
    char byte;
    open_rig(&r, 10);
    (void)worker_of_soon(&r);
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
    submit(&r, 0);
    take_until(&r, UINT64_MAX);
    assert_int_equal(r.ended, 2);
    arcp_buf_fini(&frame);
    close_rig(&r);
}

static void a_store_in_memory_is_refused(void **state)
{
    daemon_state daemon;
    const daemon_options in_memory = {.config = CONFIG, .store = "memory:"};
    (void)state;
    daemon_begin(&daemon, &in_memory);
    daemon_launch(&daemon);
    assert_false(daemon_await(&daemon));
    assert_int_equal(daemon.exit_status, 2);
    char *errors = daemon_errors(&daemon);
    assert_non_null(strstr(errors, "workers.local needs a store that outlives arcpd"));
    free(errors);
    daemon_end(&daemon);
}

/* ---- many ---- */

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* A number below `limit`. */
static uint64_t draw(uint64_t *seed, uint64_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*seed >> 33) % limit;
}

static void many_jobs_go_on_over_many_kills(void **state)
{
    static rig r;
    uint64_t seed = 0;
    (void)state;
    (void)!getrandom(&seed, sizeof seed, 0);
    seed = number_of("ARCP_WORKER_SEED", seed);
    const uint64_t jobs = number_of("ARCP_WORKER_JOBS", 50);
    const uint64_t kills = number_of("ARCP_WORKER_KILLS", 20);
    print_message("ARCP_WORKER_SEED=%llu\n", (unsigned long long)seed);
    assert_in_range(jobs, 1, JOBS_MAX);
    open_rig(&r, 200);
    for (uint64_t i = 0; i < jobs; i++) {
        submit(&r, (unsigned)draw(&seed, 40000));
    }
    take_until(&r, 1);
    (void)worker_of(&r);
    for (uint64_t i = 0; i < kills && r.ended < r.count; i++) {
        take_until(&r, r.lines + draw(&seed, 2 * jobs * r.events / kills));
        daemon_kill(&r.daemon);
        begin_again(&r);
    }
    take_until(&r, UINT64_MAX);
    assert_int_equal(r.ended, r.count);
    assert_int_equal(r.lines, jobs * r.events);
    close_rig(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest few[] = {
        cmocka_unit_test(a_job_counts_to_a_hundred_while_arcpd_is_killed_three_times),
        cmocka_unit_test(a_job_whose_worker_is_killed_ends),
        cmocka_unit_test(a_job_whose_worker_is_stopped_ends),
        cmocka_unit_test(a_worker_that_stops_says_why_it_takes_no_job),
        cmocka_unit_test(a_job_ends_when_arcpd_is_stopped),
        cmocka_unit_test(arcpd_stops_although_its_worker_does_not_answer),
        cmocka_unit_test(a_store_in_memory_is_refused),
    };
    const struct CMUnitTest many[] = {cmocka_unit_test(many_jobs_go_on_over_many_kills)};
    if (argc > 1 && strcmp(argv[1], "many") == 0) {
        return cmocka_run_group_tests(many, NULL, NULL);
    }
    const int failed = run_rows(intruder_rows, sizeof intruder_rows / sizeof intruder_rows[0],
                                sizeof intruder_rows[0], an_intruder_is_refused);
    return cmocka_run_group_tests(few, NULL, NULL) + failed;
}
