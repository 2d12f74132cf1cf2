/* A real arcpd under load: reconnects, many observers, and clients that do not read or never
 * acknowledge. Nothing is lost, nothing comes twice, no client waits for another, and
 * memory has a bound. */
#include "support/check.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "store/sql.h"

/* MANY is a million, and with sanitizers less: then more events would show nothing more. */
#define JOBS            8u
#define EVENTS          (MANY / 100u)
#define RECONNECTS      100u
#define SUBSCRIBERS     (MANY / 1000u)
#define MESSAGES_BEHIND 2u /* events besides the messages: `running` before, the result after */

static void submit(wire *w, const char *id, unsigned events, unsigned bytes)
{
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"input\":{\"events\":%u,\"bytes\":%u,\"end\":\"result\"}}}",
              id, events, bytes);
}

static void subscribe(wire *w, const char *job)
{
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"w\",\"type\":\"job.subscribe\",\"payload\":{\"job_id\":"
              "\"%s\",\"history\":true}}",
              job);
    (void)wire_await_type(w, "job.subscribed");
}

static void copy_id(arcp_span frame, char out[64])
{
    const arcp_span id = wire_text(frame, "job_id");
    (void)snprintf(out, 64, "%.*s", (int)id.size, id.data);
}

/* The number that the agent gave its message; false for anything but a message. */
static bool message_number(arcp_span frame, uint64_t *out)
{
    return arcp_span_equal_cstr(wire_text(frame, "kind"), "log") &&
           wire_number(wire_text(frame, "message"), out);
}

/* ---- reconnects ---- */

typedef struct follower {
    char jobs[JOBS][64];
    uint64_t messages[JOBS];
    unsigned ends;
    uint64_t seq;
} follower;

static void take(follower *f, arcp_span frame)
{
    uint64_t number = 0;
    if (wire_seq(frame) == 0) {
        return;
    }
    assert_int_equal(wire_seq(frame), ++f->seq);
    const arcp_span id = wire_text(frame, "job_id");
    size_t job = 0;
    while (job < JOBS && !arcp_span_equal_cstr(id, f->jobs[job])) {
        job++;
    }
    assert_true(job < JOBS);
    if (message_number(frame, &number)) {
        assert_int_equal(number, f->messages[job]++);
    }
    if (wire_is(frame, "job.result")) {
        assert_int_equal(f->messages[job], EVENTS);
        f->ends++;
    }
}

static void eight_jobs_reach_a_session_through_100_reconnects_once_and_in_order(void **state)
{
    static follower f;
    daemon_state d;
    wire_session session;
    wire w;
    (void)state;
    daemon_begin(&d, NULL);
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    for (unsigned job = 0; job < JOBS; job++) {
        char id[16];
        (void)snprintf(id, sizeof id, "s%u", job);
        submit(&w, id, EVENTS, 60);
    }
    for (unsigned accepted = 0; accepted < JOBS;) {
        const arcp_span frame = wire_await(&w);
        if (wire_is(frame, "job.accepted")) {
            copy_id(frame, f.jobs[accepted++]);
        } else {
            take(&f, frame);
        }
    }
    /* With 8 back_pressure statuses at most, since nothing is ever acknowledged. */
    const uint64_t all = (uint64_t)JOBS * (EVENTS + MESSAGES_BEHIND);
    for (unsigned reconnect = 1; reconnect <= RECONNECTS; reconnect++) {
        while (f.seq < all * reconnect / (RECONNECTS + 1)) {
            take(&f, wire_await(&w));
        }
        wire_close(&w); /* frames in transit are lost */
        wire_open(&w, d.port);
        wire_resume(&w, "t-alice", &session, f.seq);
    }
    while (f.ends < JOBS) {
        take(&f, wire_await(&w));
    }
    assert_in_range(f.seq, all, all + JOBS);
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

/* ---- many observers ---- */

static int64_t query(const char *path, const char *sql)
{
    sqlite3 *db = sql_open(path);
    const int64_t value = sql_number(db, sql);
    sql_close(db);
    return value;
}

/* The frames that one subscriber has received so far. */
typedef struct watcher {
    wire wire;
    uint64_t seq;
    uint64_t messages;
    bool ended;
} watcher;

static void watch(watcher *w)
{
    arcp_span frame;
    uint64_t number = 0;
    while (wire_next(&w->wire, &frame)) {
        if (wire_seq(frame) == 0) {
            continue;
        }
        assert_int_equal(wire_seq(frame), ++w->seq);
        if (message_number(frame, &number)) {
            assert_int_equal(number, w->messages++);
        }
        w->ended = w->ended || wire_is(frame, "job.result");
    }
}

static void watch_all(watcher *watchers, size_t count)
{
    static struct pollfd polls[SUBSCRIBERS + 1];
    size_t left = count;
    for (size_t i = 0; i < count; i++) {
        polls[i] = (struct pollfd){.fd = watchers[i].wire.fd, .events = POLLIN};
    }
    while (left > 0) {
        assert_true(poll(polls, count, WIRE_PATIENCE_MS) > 0);
        for (size_t i = 0; i < count; i++) {
            if (polls[i].revents != 0) {
                (void)wire_fill(&watchers[i].wire, 0);
                watch(&watchers[i]);
                assert_false(watchers[i].wire.ended);
            }
            if (polls[i].fd >= 0 && watchers[i].ended) {
                polls[i].fd = -1;
                left--;
            }
        }
    }
}

static void events_of_1000_subscribers_are_stored_once(void **state)
{
    static watcher watchers[SUBSCRIBERS + 1];
    const unsigned events = 200;
    daemon_state d;
    wire_session session;
    char job[64];
    (void)state;
    daemon_begin(&d, &(daemon_options){.config = "limits: {sessions_per_principal: 2000}\n"});
    daemon_start(&d);
    for (size_t i = 0; i <= SUBSCRIBERS; i++) {
        wire_open(&watchers[i].wire, d.port);
        wire_hello(&watchers[i].wire, "t-alice", &session);
        if (i == 0) {
            submit(&watchers[i].wire, "s", events, 500);
            copy_id(wire_await_type(&watchers[i].wire, "job.accepted"), job);
        } else {
            subscribe(&watchers[i].wire, job);
        }
    }
    watch_all(watchers, SUBSCRIBERS + 1);
    for (size_t i = 0; i <= SUBSCRIBERS; i++) {
        assert_int_equal(watchers[i].messages, events);
        assert_int_equal(watchers[i].seq, events + MESSAGES_BEHIND);
        wire_close(&watchers[i].wire);
    }
    assert_int_equal(daemon_stop(&d), 0);
    assert_int_equal(query(d.store, "SELECT sum(count) FROM stream_runs WHERE stream LIKE 'j:%'"),
                     events + MESSAGES_BEHIND);
    assert_int_equal(query(d.store, "SELECT count(*) FROM stream_runs WHERE stream LIKE 's:%'"), 0);
    assert_int_equal(query(d.store, "SELECT count(*) FROM stream_runs WHERE stream LIKE 'x:%' "
                                    "AND data LIKE '%xxxx%'"),
                     0);
    daemon_end(&d);
}

/* ---- clients that do not read or do not acknowledge ---- */

/* Not meaningful with sanitizers, which keep freed memory. */
static void check_memory(const daemon_state *d, uint64_t before)
{
    const uint64_t now = daemon_resident_bytes(d);
    if (MEMORY_MAX_MB != 0 && now > before + (uint64_t)MEMORY_MAX_MB * 1000000) {
        fail_msg("arcpd has %llu bytes resident, %llu before", (unsigned long long)now,
                 (unsigned long long)before);
    }
}

static void a_subscriber_that_reads_none_of_many_events_delays_no_client(void **state)
{
    watcher owner = {.seq = 0};
    watcher stalled = {.seq = 0};
    daemon_state d;
    wire_session session;
    wire_session resumed;
    char job[64];
    (void)state;
    daemon_begin(&d, NULL);
    daemon_start(&d);
    wire_open(&owner.wire, d.port);
    wire_hello(&owner.wire, "t-alice", &resumed);
    const uint64_t before = daemon_resident_bytes(&d);
    submit(&owner.wire, "s", MANY, 60);
    copy_id(wire_await_type(&owner.wire, "job.accepted"), job);
    wire_open(&stalled.wire, d.port);
    wire_hello(&stalled.wire, "t-alice", &session);
    subscribe(&stalled.wire, job);
    uint64_t looked = 0;
    while (!owner.ended) {
        assert_true(wire_fill(&owner.wire, WIRE_PATIENCE_MS));
        watch(&owner);
        if (owner.seq > looked + MANY / 10) {
            looked = owner.seq;
            check_memory(&d, before);
        }
    }
    assert_int_equal(owner.messages, MANY);
    check_memory(&d, before);
    /* The stalled client has missed nothing. */
    watch_all(&stalled, 1);
    assert_int_equal(stalled.messages, MANY);
    check_memory(&d, before);
    /* The owner never acknowledged, so all events can still be replayed from the first one. */
    wire_close(&owner.wire);
    watcher again = {.seq = 0};
    wire_open(&again.wire, d.port);
    wire_resume(&again.wire, "t-alice", &resumed, 0);
    watch(&again);
    if (!again.ended) {
        watch_all(&again, 1);
    }
    assert_int_equal(again.messages, MANY);
    assert_int_equal(again.seq, owner.seq);
    check_memory(&d, before);
    wire_close(&again.wire);
    wire_close(&stalled.wire);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

/* Its own agent blocks when the pipes are full; the agent of another session does not. */
static void an_owner_that_does_not_read_delays_itself_only(void **state)
{
    watcher stalled = {.seq = 0};
    watcher other = {.seq = 0};
    daemon_state d;
    wire_session session;
    (void)state;
    daemon_begin(&d, NULL);
    daemon_start(&d);
    wire_open(&stalled.wire, d.port);
    wire_hello(&stalled.wire, "t-alice", &session);
    wire_open(&other.wire, d.port);
    wire_hello(&other.wire, "t-alice", &session);
    const uint64_t before = daemon_resident_bytes(&d);
    submit(&stalled.wire, "s", MANY, 60);
    submit(&other.wire, "s", MANY / 4, 60);
    watch_all(&other, 1);
    assert_int_equal(other.messages, MANY / 4);
    check_memory(&d, before);
    watch_all(&stalled, 1);
    assert_int_equal(stalled.messages, MANY);
    check_memory(&d, before);
    wire_close(&other.wire);
    wire_close(&stalled.wire);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

/* No client is connected: the job continues, and does not wait for one. */
static void a_job_continues_without_its_owner_and_uses_no_memory(void **state)
{
    watcher owner = {.seq = 0};
    watcher other = {.seq = 0};
    daemon_state d;
    wire_session away;
    wire_session session;
    char job[64];
    (void)state;
    daemon_begin(&d, NULL);
    daemon_start(&d);
    wire_open(&owner.wire, d.port);
    wire_hello(&owner.wire, "t-alice", &away);
    const uint64_t before = daemon_resident_bytes(&d);
    submit(&owner.wire, "s", MANY, 60);
    copy_id(wire_await_type(&owner.wire, "job.accepted"), job);
    wire_close(&owner.wire);
    /* Another session sees its end. */
    wire_open(&other.wire, d.port);
    wire_hello(&other.wire, "t-alice", &session);
    wire_send(&other.wire,
              "{\"arcp\":\"1.1\",\"id\":\"w\",\"type\":\"job.subscribe\",\"payload\":{\"job_id\":"
              "\"%s\"}}",
              job);
    while (!wire_is(wire_await(&other.wire), "job.result")) {
    }
    check_memory(&d, before);
    wire_open(&owner.wire, d.port);
    wire_resume(&owner.wire, "t-alice", &away, 0);
    watch(&owner);
    if (!owner.ended) {
        watch_all(&owner, 1);
    }
    assert_int_equal(owner.messages, MANY);
    check_memory(&d, before);
    wire_close(&owner.wire);
    wire_close(&other.wire);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

int main(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_jobs_reach_a_session_through_100_reconnects_once_and_in_order),
        cmocka_unit_test(events_of_1000_subscribers_are_stored_once),
        cmocka_unit_test(a_subscriber_that_reads_none_of_many_events_delays_no_client),
        cmocka_unit_test(an_owner_that_does_not_read_delays_itself_only),
        cmocka_unit_test(a_job_continues_without_its_owner_and_uses_no_memory),
    };
    return cmocka_run_group_tests_name("arcpd_load", tests, NULL, NULL);
}
