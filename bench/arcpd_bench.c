/* A real arcpd with a SQLite store, process agents, and clients on WebSockets over loopback that
 * only split the stream into frames: durable events, their replay, starting and resuming. Agents
 * and clients run on the same machine and take a part of its time. After the table come memory, CPU
 * time and latencies. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "bare.h"
#include "harness.h"

#define SESSIONS_MAX    100u
#define IDLE_SESSIONS   10000u
#define SUBSCRIBERS     1000u
#define STORED_EVENTS   200000u
#define GAP_EVENTS      10000u
#define ANSWER_COUNT    2000u
#define EVENT_BYTES     100
#define START_COUNT     21u
#define PRINCIPALS_CONF "limits: {sessions_per_principal: 20000, jobs_per_session: 1000}\n"

static daemon_state chatty; /* runs from the first case that needs it */
static daemon_state stored; /* has a store with events of one session */
static wire_session stored_session;

static daemon_state *running(daemon_state *d)
{
    if (d->directory[0] == '\0') {
        daemon_begin(d, &(daemon_options){.config = PRINCIPALS_CONF, .open_files = 20000});
        daemon_start(d);
    }
    return d;
}

static void submit(wire *w, unsigned number, uint64_t events, const char *end)
{
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"s%u\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"input\":{\"events\":%llu,\"bytes\":%d,\"end\":\"%s\"}}}",
              number, (unsigned long long)events, EVENT_BYTES, end);
}

static bool is_end(arcp_span frame)
{
    const arcp_span head = arcp_span_first(frame, 160);
    return memmem(head.data, head.size, "\"job.result\"", 12) != NULL;
}

/* ---- events ---- */

typedef struct load {
    unsigned sessions, jobs; /* jobs of each session */
} load;

/* Takes the frames that have arrived; returns how many jobs ended. */
static unsigned take(wire *w)
{
    arcp_span frame;
    unsigned ends = 0;
    while (wire_next(w, &frame)) {
        ends += is_end(frame);
    }
    return ends;
}

static void run_events(void *state, uint64_t iterations)
{
    const load *l = state;
    static wire wires[SESSIONS_MAX];
    struct pollfd polls[SESSIONS_MAX];
    wire_session session;
    const daemon_state *d = running(&chatty);
    const unsigned jobs = l->sessions * l->jobs;
    for (unsigned i = 0; i < l->sessions; i++) {
        wire_open(&wires[i], d->port);
        wire_hello(&wires[i], "t-alice", &session);
        polls[i] = (struct pollfd){.fd = wires[i].fd, .events = POLLIN};
    }
    for (unsigned job = 0; job < jobs; job++) {
        submit(&wires[job % l->sessions], job, iterations / jobs, "result");
    }
    for (unsigned left = jobs; left > 0;) {
        (void)poll(polls, l->sessions, -1);
        for (unsigned i = 0; i < l->sessions; i++) {
            if (polls[i].revents != 0 && wire_fill(&wires[i], 0)) {
                left -= take(&wires[i]);
            }
        }
    }
    for (unsigned i = 0; i < l->sessions; i++) {
        wire_close(&wires[i]);
    }
}

/* ---- baselines ---- */

#define FRAME_BYTES 300u    /* of an event, about */
#define BATCH_BYTES 262144u /* of one commit */

static void bare_file(void *state, uint64_t iterations)
{
    (void)state;
    bench_file_bytes(running(&chatty)->directory, iterations * FRAME_BYTES, BATCH_BYTES);
}

static void bare_socket(void *state, uint64_t iterations)
{
    (void)state;
    bench_socket_bytes(iterations * FRAME_BYTES);
}

static void bare_gap(void *state, uint64_t iterations)
{
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) {
        bench_socket_bytes((uint64_t)GAP_EVENTS * FRAME_BYTES);
    }
}

/* ---- a store with events in it ---- */

static daemon_state *with_store(void)
{
    if (stored.directory[0] == '\0') {
        wire w;
        (void)running(&stored);
        wire_open(&w, stored.port);
        wire_hello(&w, "t-alice", &stored_session);
        for (unsigned job = 0; job < 100; job++) {
            submit(&w, job, STORED_EVENTS / 100, "result");
            while (!is_end(wire_await(&w))) {
            }
        }
        wire_close(&w);
    }
    if (stored.pid == 0) {
        daemon_start(&stored);
    }
    return &stored;
}

/* The tip: `running`, the events and the result of each job. */
static uint64_t stored_tip(void)
{
    return STORED_EVENTS + 200;
}

static void resume_from(uint64_t seq)
{
    wire w;
    arcp_span frame;
    wire_open(&w, with_store()->port);
    wire_resume(&w, "t-alice", &stored_session, seq);
    while (seq < stored_tip()) {
        while (wire_next(&w, &frame)) {
            const uint64_t got = wire_seq(frame);
            seq = got == 0 ? seq : got;
        }
        if (seq < stored_tip()) {
            (void)wire_fill(&w, WIRE_PATIENCE_MS);
        }
    }
    wire_close(&w);
}

static void run_replay(void *state, uint64_t iterations)
{
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) {
        resume_from(0);
    }
}

static void run_gap(void *state, uint64_t iterations)
{
    (void)state;
    for (uint64_t i = 0; i < iterations; i++) {
        resume_from(stored_tip() - GAP_EVENTS);
    }
}

/* ---- figures ---- */

static bool as_json;

static void figure(const char *name, double value, const char *unit)
{
    if (as_json) {
        (void)printf("{\"bench\":\"arcpd\",\"case\":\"%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", name,
                     value, unit);
    } else {
        (void)printf("%-58s %10.2f %s\n", name, value, unit);
    }
    (void)fflush(stdout);
}

static double megabytes(uint64_t bytes)
{
    return (double)bytes / 1e6;
}

static void sleep_ms(int64_t ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* CPU time, which depends less on the load of the machine than rates do. */
static void measure_cpu(unsigned sessions, uint64_t events)
{
    load one = {sessions, 1};
    char name[80];
    const uint64_t before = daemon_cpu_ns(running(&chatty));
    run_events(&one, events);
    (void)snprintf(name, sizeof name, "CPU for each durable event, %u session%s", sessions,
                   sessions == 1 ? "" : "s");
    figure(name, (double)(daemon_cpu_ns(&chatty) - before) / (double)events, "ns");
}

static double milliseconds(int64_t ns)
{
    return (double)ns / 1e6;
}

static int compare(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void measure_start(unsigned count)
{
    int64_t ready_ns[START_COUNT];
    daemon_state *d = with_store();
    for (unsigned i = 0; i < count; i++) {
        daemon_kill(d);
        daemon_start(d);
        ready_ns[i] = d->ready_ns;
    }
    qsort(ready_ns, count, sizeof ready_ns[0], compare);
    figure("start to ready, store of 200 000 events, best", milliseconds(ready_ns[0]), "ms");
    figure("  median", milliseconds(ready_ns[count / 2]), "ms");
    figure("  CPU until then", (double)daemon_cpu_ns(d) / 1e6, "ms");
    figure("  resident memory", megabytes(daemon_resident_bytes(d)), "MB");
    const uint64_t before = daemon_cpu_ns(d);
    resume_from(0);
    figure("CPU for each replayed event",
           (double)(daemon_cpu_ns(d) - before) / (double)stored_tip(), "ns");
}

/* Another process, with a job that writes as fast as it can and a client that reads its events. */
static pid_t make_noise(const daemon_state *d)
{
    wire w;
    wire_session session;
    const pid_t pid = fork();
    if (pid != 0) {
        return pid;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    wire_open(&w, d->port);
    wire_hello(&w, "t-bob", &session);
    submit(&w, 0, UINT32_MAX, "result");
    for (;;) {
        (void)wire_fill(&w, WIRE_PATIENCE_MS);
        (void)take(&w);
    }
}

static void end_noise(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Latency of a durable response: a refusal is one record and one commit. */
static void measure_answers(bool under_load, unsigned count)
{
    static int64_t taken_ns[ANSWER_COUNT];
    const daemon_state *d = running(&chatty);
    wire_session session;
    wire w;
    char name[80];
    const pid_t noise = under_load ? make_noise(d) : 0;
    sleep_ms(under_load ? 500 : 0);
    wire_open(&w, d->port);
    wire_hello(&w, "t-alice", &session);
    for (unsigned i = 0; i < count; i++) {
        const int64_t began_ns = bench_now_ns();
        wire_send(&w,
                  "{\"arcp\":\"1.1\",\"id\":\"u%u\",\"type\":\"job.unsubscribe\",\"payload\":{"
                  "\"job_id\":\"none\"}}",
                  i);
        while (wire_seq(wire_await(&w)) == 0) {
        }
        taken_ns[i] = bench_now_ns() - began_ns;
    }
    wire_close(&w);
    if (under_load) {
        end_noise(noise);
    }
    qsort(taken_ns, count, sizeof taken_ns[0], compare);
    (void)snprintf(name, sizeof name, "durable answer, p50, %s", under_load ? "loaded" : "idle");
    figure(name, milliseconds(taken_ns[count / 2]), "ms");
    (void)snprintf(name, sizeof name, "durable answer, p99, %s", under_load ? "loaded" : "idle");
    figure(name, milliseconds(taken_ns[count * 99 / 100]), "ms");
}

/* Keeps the buffers of 10 000 clients small. */
static void drop_buffer(wire *w)
{
    free(w->bytes);
    w->bytes = NULL;
    w->start = w->end = w->capacity = 0;
}

static void answer_ping(wire *w)
{
    arcp_span frame;
    (void)wire_fill(w, 0);
    while (wire_next(w, &frame)) {
        const arcp_span nonce = wire_text(frame, "nonce");
        if (wire_is(frame, "session.ping")) {
            wire_send(w,
                      "{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.pong\",\"payload\":{"
                      "\"ping_nonce\":\"%.*s\"}}",
                      (int)nonce.size, nonce.data);
        }
    }
    drop_buffer(w);
}

static void stay(wire *wires, unsigned count, int64_t until_ns)
{
    static struct pollfd polls[IDLE_SESSIONS];
    for (unsigned i = 0; i < count; i++) {
        polls[i] = (struct pollfd){.fd = wires[i].fd, .events = POLLIN};
    }
    while (bench_now_ns() < until_ns) {
        if (poll(polls, count, 100) > 0) {
            for (unsigned i = 0; i < count; i++) {
                if (polls[i].revents != 0) {
                    answer_ping(&wires[i]);
                }
            }
        }
        sleep_ms(50); /* pings arrive together, and so do the responses */
    }
}

static void measure_idle(unsigned sessions, int64_t watch_ms)
{
    static wire wires[IDLE_SESSIONS];
    daemon_state d;
    wire_session session;
    char name[80];
    daemon_begin(&d, &(daemon_options){.config = PRINCIPALS_CONF, .open_files = 20000});
    daemon_start(&d);
    sleep_ms(200);
    const uint64_t before = daemon_resident_bytes(&d);
    figure("resident memory, idle", megabytes(before), "MB");
    for (unsigned i = 0; i < sessions; i++) {
        wire_open(&wires[i], d.port);
        wire_hello(&wires[i], "t-alice", &session);
        drop_buffer(&wires[i]);
    }
    sleep_ms(500);
    const uint64_t after = daemon_resident_bytes(&d);
    (void)snprintf(name, sizeof name, "resident memory, %u idle sessions more", sessions);
    figure(name, megabytes(after - before), "MB");
    figure("  for each of them", (double)(after - before) / 1000.0 / sessions, "KB");
    const uint64_t cpu_ns = daemon_cpu_ns(&d);
    const int64_t began_ns = bench_now_ns();
    stay(wires, sessions, began_ns + watch_ms * 1000000);
    for (unsigned i = 0; i < sessions; i++) {
        if (wires[i].ended) {
            daemon_fail("session %u was closed", i);
        }
    }
    (void)snprintf(name, sizeof name, "CPU of %u idle sessions, heartbeats every 30 s", sessions);
    figure(name, 100.0 * (double)(daemon_cpu_ns(&d) - cpu_ns) / (double)(bench_now_ns() - began_ns),
           "% of a core");
    for (unsigned i = 0; i < sessions; i++) {
        wire_close(&wires[i]);
    }
    daemon_end(&d);
}

static uint64_t file_bytes(const char *path, const char *suffix)
{
    char whole[256];
    struct stat about;
    (void)snprintf(whole, sizeof whole, "%s%s", path, suffix);
    return stat(whole, &about) == 0 ? (uint64_t)about.st_size : 0;
}

/* The agent waits for this file. */
static void say_go(const daemon_state *d)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/go", d->directory);
    FILE *file = fopen(path, "we");
    if (file == NULL || fclose(file) != 0) {
        daemon_fail("%s: %s", path, strerror(errno));
    }
}

/* One job with many events, and many subscribers. */
static void measure_subscribers(unsigned subscribers, unsigned events)
{
    static wire wires[SUBSCRIBERS];
    static struct pollfd polls[SUBSCRIBERS];
    daemon_state d;
    wire_session session;
    wire owner;
    char job[64];
    daemon_begin(&d, &(daemon_options){.config = PRINCIPALS_CONF, .open_files = 20000});
    daemon_start(&d);
    wire_open(&owner, d.port);
    wire_hello(&owner, "t-alice", &session);
    wire_send(
        &owner,
        "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{\"agent\":\"load\","
        "\"input\":{\"events\":%u,\"bytes\":%d,\"start\":\"%s/go\",\"end\":\"result\"}}}",
        events, EVENT_BYTES, d.directory);
    const arcp_span id = wire_text(wire_await_type(&owner, "job.accepted"), "job_id");
    (void)snprintf(job, sizeof job, "%.*s", (int)id.size, id.data);
    for (unsigned i = 0; i < subscribers; i++) {
        wire_open(&wires[i], d.port);
        wire_hello(&wires[i], "t-alice", &session);
        wire_send(
            &wires[i],
            "{\"arcp\":\"1.1\",\"id\":\"w\",\"type\":\"job.subscribe\",\"payload\":{\"job_id\":"
            "\"%s\",\"history\":true}}",
            job);
        (void)wire_await_type(&wires[i], "job.subscribed");
        polls[i] = (struct pollfd){.fd = wires[i].fd, .events = POLLIN};
    }
    const uint64_t before = daemon_resident_bytes(&d);
    uint64_t peak = before;
    const uint64_t cpu_ns = daemon_cpu_ns(&d);
    const int64_t began_ns = bench_now_ns();
    say_go(&d);
    for (unsigned left = subscribers; left > 0;) {
        (void)poll(polls, subscribers, 1000);
        for (unsigned i = 0; i < subscribers; i++) {
            if (polls[i].revents != 0 && wire_fill(&wires[i], 0)) {
                left -= take(&wires[i]);
            }
        }
        const uint64_t now = daemon_resident_bytes(&d);
        peak = now > peak ? now : peak;
    }
    const double seconds = (double)(bench_now_ns() - began_ns) / 1e9;
    const double delivered = (double)subscribers * events;
    char name[96];
    (void)snprintf(name, sizeof name, "%u subscribers, %u events: delivered", subscribers, events);
    figure(name, delivered / seconds, "events/s");
    figure("  CPU for each delivered event", (double)(daemon_cpu_ns(&d) - cpu_ns) / delivered,
           "ns");
    figure("  memory before", megabytes(before), "MB");
    figure("  memory at most", megabytes(peak), "MB");
    for (unsigned i = 0; i < subscribers; i++) {
        wire_close(&wires[i]);
    }
    wire_close(&owner);
    (void)daemon_stop(&d);
    figure("  store", megabytes(file_bytes(d.store, "") + file_bytes(d.store, "-wal")), "MB");
    daemon_end(&d);
}

/* ---- the program ---- */

static bool has_flag(char **argv, const char *flag)
{
    for (char **word = argv; *word != NULL; word++) {
        if (strcmp(*word, flag) == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    static load one = {1, 1};
    static load eight = {1, 8};
    static load hundred = {100, 1};
    const bench_case cases[] = {
        {"bare file, synced for every 256 KiB", NULL, bare_file, NULL, 1, "events/s", 400000},
        {"durable events, 1 session, 1 job", "bare file, synced for every 256 KiB", run_events,
         &one, 1, "events/s", 300000},
        {"durable events, 1 session, 8 jobs", "bare file, synced for every 256 KiB", run_events,
         &eight, 1, "events/s", 400000},
        {"durable events, 100 sessions, 1 job each", "bare file, synced for every 256 KiB",
         run_events, &hundred, 1, "events/s", 400000},
        {"bare socket", NULL, bare_socket, NULL, 1, "events/s", 400000},
        {"replay of 200 000 events", "bare socket", run_replay, NULL, STORED_EVENTS, "events/s", 1},
        {"bare socket, 10 000 events", NULL, bare_gap, NULL, 0, NULL, 5},
        {"resume of a 10 000-event gap", "bare socket, 10 000 events", run_gap, NULL, 0, NULL, 5},
    };
    struct rlimit files = {20000, 20000};
    (void)setrlimit(RLIMIT_NOFILE, &files);
    int status = 0;
    const bool quick = has_flag(argv, "--quick");
    const bool only_figures = has_flag(argv, "--figures");
    as_json = has_flag(argv, "--json");
    if (!has_flag(argv, "--list") && !has_flag(argv, "--help")) {
        (void)with_store(); /* no part of what is measured */
    }
    if (!only_figures) {
        status = bench_main(argc, argv, "arcpd: agent process to client, SQLite", cases,
                            sizeof cases / sizeof cases[0]);
    }
    if (status == 0 && !has_flag(argv, "--list") && !has_flag(argv, "--help") &&
        !has_flag(argv, "--filter")) {
        measure_cpu(1, quick ? 1000 : 300000);
        measure_cpu(100, quick ? 1000 : 400000);
        measure_start(quick ? 1 : START_COUNT);
        measure_answers(false, quick ? 20 : ANSWER_COUNT);
        measure_answers(true, quick ? 20 : ANSWER_COUNT);
        measure_idle(quick ? 100 : IDLE_SESSIONS, quick ? 100 : 60000);
        measure_subscribers(quick ? 20 : SUBSCRIBERS, quick ? 200 : 2000);
    }
    daemon_state *const all[] = {&chatty, &stored};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i]->directory[0] != '\0') {
            daemon_end(all[i]);
        }
    }
    return status;
}
