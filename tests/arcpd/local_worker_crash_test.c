/* Jobs of all kinds on a worker of this machine, while a real arcpd is killed (-9) or stopped at
 * random moments, or the worker's link is cut: each number that a job says comes once, in order,
 * each budget is exact, and each job ends with success.
 *
 *   arcpd_local_worker_crash_test [cuts]     kills of arcpd, or cuts of the link
 *   ARCP_WORKER_JOBS, ARCP_WORKER_KILLS, ARCP_WORKER_SEED: another run. The seed is printed. */
#include "support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include "arcpd/counting_jobs.h"
#include "arcpd/link_proxy.h"

#define AGENT      ARCP_BINARY_DIR "/tests/arcp-worker-agent"
#define PLAIN_JOBS 5u
#define PAUSE_US   10000u
#define AGENTS                                                                                     \
    "agents:\n"                                                                                    \
    "  - {name: work, command: [" AGENT "]}\n"                                                     \
    "  - {name: child, command: [" AGENT "]}\n"                                                    \
    "  - {name: plain, command: [" AGENT ", plain], mode: plain}\n"

/* What jobs do; the first few are plain programs. */
static const char *const kinds[] = {"lines", "spend", "authorize", "delegate", "stream"};
#define KINDS (sizeof kinds / sizeof kinds[0])

typedef struct crash_job {
    bool is_plain, streams;
    uint64_t chunks; /* numbers in chunks of its result */
} crash_job;

typedef struct crash {
    counting_rig rig;
    crash_job jobs[COUNTING_JOBS_MAX];
    uint64_t seed;
    char finish[96]; /* jobs go on until this file exists */
} crash;

/* A number below `limit`. */
static uint64_t draw(crash *c, uint64_t limit)
{
    c->seed = c->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (c->seed >> 33) % limit;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* ---- jobs ---- */

/* NULL: it is a child's. */
static counting_job *job_of(crash *c, arcp_span frame)
{
    const arcp_span id = wire_text(frame, "job_id");
    for (size_t i = 0; i < c->rig.count; i++) {
        if (arcp_span_equal_cstr(id, c->rig.jobs[i].id)) {
            return &c->rig.jobs[i];
        }
    }
    return NULL;
}

/* The result of a plain program is what it has written. */
static void check_plain_result(arcp_span frame, uint64_t lines)
{
    char number[32];
    arcp_span rest = wire_text(frame, "result");
    for (uint64_t i = 0; i < lines; i++) {
        const int size = snprintf(number, sizeof number, "%llu\\n", (unsigned long long)i);
        check_span(arcp_span_first(rest, (size_t)size), number);
        rest = arcp_span_from(rest, (size_t)size);
    }
    assert_int_equal(rest.size, 0);
}

static void check_result(const crash_job *job, arcp_span frame, uint64_t lines)
{
    char wanted[48];
    if (job->is_plain) {
        check_plain_result(frame, lines);
    } else if (job->streams) {
        assert_int_equal(job->chunks, lines);
    } else {
        (void)snprintf(wanted, sizeof wanted, "\"result\":%llu", (unsigned long long)lines);
        if (memmem(frame.data, frame.size, wanted, strlen(wanted)) == NULL) {
            fail_msg("%llu lines: %.*s", (unsigned long long)lines, (int)frame.size, frame.data);
        }
    }
}

static void take(crash *c, arcp_span frame)
{
    counting_rig *r = &c->rig;
    uint64_t number = 0;
    if (!counting_take_seq(r, frame)) {
        return;
    }
    counting_job *of = job_of(c, frame);
    crash_job *job = of == NULL ? NULL : &c->jobs[of - r->jobs];
    if (wire_is(frame, "job.error")) {
        fail_msg("a job has failed: %.*s", (int)frame.size, frame.data);
    } else if (job == NULL) {
        return;
    } else if (wire_is(frame, "job.result")) {
        assert_false(of->has_ended);
        of->has_ended = true;
        r->ended++;
        check_result(job, frame, of->lines);
    } else if (wire_number(wire_text(frame, "message"), &number)) {
        if (number != of->lines) {
            fail_msg("%zu: %llu lines: %.*s", (size_t)(of - r->jobs), (unsigned long long)of->lines,
                     (int)frame.size, frame.data);
        }
        of->lines++;
        r->lines++;
    } else if (wire_number(wire_text(frame, "data"), &number)) {
        assert_int_equal(number, job->chunks);
        job->chunks++;
    }
}

static void submit(crash *c)
{
    counting_rig *r = &c->rig;
    const size_t index = r->count;
    const char *kind = index < PLAIN_JOBS ? "plain" : kinds[index % KINDS];
    /* Each delegation starts a program; the output of a plain one is to stay one result. */
    const uint64_t times = index < PLAIN_JOBS || strcmp(kind, "delegate") == 0 ? 10 : 1;
    const uint64_t pause_us = times * (PAUSE_US + draw(c, 3 * (uint64_t)PAUSE_US));
    c->jobs[index] =
        (crash_job){.is_plain = index < PLAIN_JOBS, .streams = strcmp(kind, "stream") == 0};
    wire_send(&r->wire,
              "{\"arcp\":\"1.1\",\"id\":\"s%zu\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"%s\",\"input\":{\"kind\":\"%s\",\"finish\":\"%s\",\"pause_us\":%llu},"
              "\"lease_request\":{\"cost.budget\":[\"USD:1000000\"],\"agent.delegate\":[\"child\"],"
              "\"tool.call\":[\"allowed\"]}}}",
              index, c->jobs[index].is_plain ? "plain" : "work", kind, c->finish,
              (unsigned long long)pause_us);
    arcp_span frame = wire_await(&r->wire);
    while (!wire_is(frame, "job.accepted") || wire_text(frame, "parent_job_id").size != 0) {
        take(c, frame);
        frame = wire_await(&r->wire);
    }
    counting_add(r, frame);
}

/* Reads until this many lines of all jobs have come, or all jobs have ended. */
static void take_until(crash *c, uint64_t lines)
{
    while (c->rig.lines < lines && c->rig.ended < c->rig.count) {
        take(c, wire_await(&c->rig.wire));
    }
}

static void begin(crash *c, const daemon_options *options)
{
    (void)!getrandom(&c->seed, sizeof c->seed, 0);
    c->seed = number_of("ARCP_WORKER_SEED", c->seed);
    print_message("ARCP_WORKER_SEED=%llu\n", (unsigned long long)c->seed);
    counting_open_with(&c->rig, options, 0);
    (void)snprintf(c->finish, sizeof c->finish, "%s/finish", c->rig.daemon.directory);
}

static void submit_all(crash *c)
{
    const uint64_t jobs = number_of("ARCP_WORKER_JOBS", 20);
    assert_in_range(jobs, PLAIN_JOBS, COUNTING_JOBS_MAX);
    for (uint64_t i = 0; i < jobs; i++) {
        submit(c);
    }
    for (size_t i = 0; i < c->rig.count; i++) {
        while (c->rig.jobs[i].lines < 2) { /* one number alone would be a number as a result */
            take(c, wire_await(&c->rig.wire));
        }
    }
}

/* Lets all jobs end. */
static void finish(crash *c)
{
    const int fd = open(c->finish, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    take_until(c, UINT64_MAX);
    print_message("%zu jobs, %llu lines\n", c->rig.count, (unsigned long long)c->rig.lines);
}

/* ---- what happens to them ---- */

static void many_jobs_go_on_over_many_kills(void **state)
{
    static const daemon_options options = {.config = COUNTING_CONFIG AGENTS};
    static crash c;
    const uint64_t kills = number_of("ARCP_WORKER_KILLS", 100);
    (void)state;
    begin(&c, &options);
    submit_all(&c);
    const pid_t worker = counting_worker(&c.rig);
    for (uint64_t i = 0; i < kills; i++) {
        const bool is_asleep = draw(&c, 8) == 0;
        if (is_asleep) {
            assert_int_equal(kill(worker, SIGSTOP), 0);
        }
        if (draw(&c, 8) == 0) {
            assert_int_equal(daemon_stop(&c.rig.daemon), 0);
        } else {
            daemon_kill(&c.rig.daemon);
        }
        counting_begin_again(&c.rig);
        if (is_asleep) {
            assert_int_equal(kill(worker, SIGCONT), 0);
        }
        take_until(&c, c.rig.lines + draw(&c, 2 * c.rig.count));
    }
    finish(&c);
    counting_close(&c.rig);
}

static void many_jobs_go_on_over_many_cuts(void **state)
{
    static const daemon_options options = {
        .config = "workers: {local: external}\nshutdown: {grace_sec: 0}\n" AGENTS};
    static crash c;
    char socket[128];
    const uint64_t cuts = number_of("ARCP_WORKER_KILLS", 100);
    (void)state;
    begin(&c, &options);
    counting_find_socket(&c.rig, socket);
    const pid_t proxy = link_proxy_start(socket);
    const pid_t worker = counting_start_worker(&c.rig);
    submit_all(&c);
    for (uint64_t i = 0; i < cuts; i++) {
        link_proxy_cut(proxy);
        take_until(&c, c.rig.lines + draw(&c, 2 * c.rig.count));
    }
    finish(&c);
    counting_end_worker(worker);
    link_proxy_end(proxy);
    wire_close(&c.rig.wire);
    (void)daemon_stop(&c.rig.daemon);
    daemon_end(&c.rig.daemon);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest kills[] = {cmocka_unit_test(many_jobs_go_on_over_many_kills)};
    const struct CMUnitTest cuts[] = {cmocka_unit_test(many_jobs_go_on_over_many_cuts)};
    if (argc > 1 && strcmp(argv[1], "cuts") == 0) {
        return cmocka_run_group_tests(cuts, NULL, NULL);
    }
    return cmocka_run_group_tests(kills, NULL, NULL);
}
