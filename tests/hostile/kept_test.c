/* A principal that stores as many jobs and events as it can: its share is bounded and room is made
 * from its own jobs, the jobs and keys of others are kept, and the size of the store is bounded. */
#include "arcpd/daemon.h"
#include "arcpd/wire.h"

#include "support/check.h"

#include <sys/stat.h>

#define JOBS        150
#define JOBS_AHEAD  8
#define LEASE_BYTES 4000
#define LEASES      5 /* patterns of so many bytes in each lease */
#define KEPT_MAX    40
#define KEYS_MAX    60

#define KEEPS_LITTLE                                                                               \
    "jobs:\n"                                                                                      \
    "  keep_terminal_max: 40\n"                                                                    \
    "  keep_terminal_bytes: 500000\n"                                                              \
    "  idempotency_max: 60\n"

#define JOB_BYTES 4194304u
#define STORE_MAX 67108864u /* 12 MiB of records, the indexes of their sessions, and the log */
#define FLOODS    6
#define SAYS_LITTLE                                                                                \
    "limits:\n"                                                                                    \
    "  job_bytes: 4194304\n"                                                                       \
    "  principal_bytes: 12582912\n"

#define LITTLE "\"agent\":\"load\",\"input\":{\"events\":1,\"bytes\":10,\"end\":\"result\"}"

static daemon_state arcpd;
static wire alice, bob;
static wire_session session;

static void open_as(wire *w, const char *token)
{
    wire_open(w, arcpd.port);
    wire_hello(w, token, &session);
}

static void copy_text(arcp_span text, char out[64])
{
    assert_true(text.size != 0 && text.size < 64);
    (void)snprintf(out, 64, "%.*s", (int)text.size, text.data);
}

/* ---- jobs and keys that are kept ---- */

static void send_large(wire *w, int number)
{
    static char pattern[LEASE_BYTES + 1];
    memset(pattern, 'p', LEASE_BYTES);
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"l%d\",\"type\":\"job.submit\",\"payload\":{" LITTLE
              ",\"lease_request\":{\"fs.read\":[\"/0%s\",\"/1%s\",\"/2%s\",\"/3%s\",\"/4%s\"]}}}",
              number, pattern, pattern, pattern, pattern, pattern);
}

static void run_many(wire *w)
{
    int sent = 0;
    for (int ended = 0; ended < JOBS; ended++) {
        while (sent < JOBS && sent < ended + JOBS_AHEAD) {
            send_large(w, sent++);
        }
        (void)wire_await_type(w, "job.result");
    }
}

/* Submits jobs with a key each until one is refused; returns how many were accepted. */
static int use_keys(wire *w)
{
    for (int key = 0; key <= KEYS_MAX; key++) {
        wire_send(w,
                  "{\"arcp\":\"1.1\",\"id\":\"k%d\",\"type\":\"job.submit\",\"payload\":{" LITTLE
                  ",\"idempotency_key\":\"k%d\"}}",
                  key, key);
        arcp_span frame = wire_await(w);
        while (!wire_is(frame, "job.result") && !wire_is(frame, "job.error")) {
            frame = wire_await(w);
        }
        if (wire_is(frame, "job.error")) {
            uint64_t wait_ms = 0;
            assert_true(arcp_span_equal_cstr(wire_text(frame, "limit"), "jobs.idempotency_max"));
            const char *after = strstr(frame.data, "\"retry_after_ms\":");
            assert_non_null(after);
            assert_true(wire_number(arcp_span_cstr(after + 17), &wait_ms));
            assert_in_range(wait_ms, 1, 86400000);
            return key;
        }
    }
    fail_msg("no key is refused");
    return 0;
}

static int count_listed(wire *w, const char *id)
{
    int count = 0;
    wire_send(w, "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"session.list_jobs\",\"payload\":{}}",
              id);
    const arcp_span frame = wire_await_type(w, "session.jobs");
    const char *found = frame.data;
    while ((found = memmem(found, frame.size - (size_t)(found - frame.data), "{\"job_id\"", 9)) !=
           NULL) {
        count++;
        found++;
    }
    return count;
}

/* The job that the key made, and its end. */
static void pay_once(wire *w, const char *id, char job_id[64])
{
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":{" LITTLE
              ",\"idempotency_key\":\"pay-once\"}}",
              id);
    copy_text(wire_text(wire_await_type(w, "job.accepted"), "job_id"), job_id);
    (void)wire_await_type(w, "job.result");
}

static void check_bob(const char *id, const char *paid)
{
    char again[64];
    open_as(&bob, "t-bob");
    pay_once(&bob, id, again);
    assert_string_equal(again, paid);
    assert_int_equal(count_listed(&bob, "list"), 1);
    wire_close(&bob);
}

static void play_keeping(const char *store, bool restarts)
{
    char paid[64];
    daemon_begin(&arcpd, &(daemon_options){.config = KEEPS_LITTLE, .store = store});
    daemon_start(&arcpd);
    open_as(&bob, "t-bob");
    pay_once(&bob, "first", paid);
    wire_close(&bob);
    open_as(&alice, "t-alice");
    run_many(&alice);
    const int keys = use_keys(&alice);
    assert_in_range(keys, KEYS_MAX / 2 - 2, KEYS_MAX / 2 + 1);
    assert_in_range(count_listed(&alice, "mine"), 20, KEPT_MAX - 1);
    wire_close(&alice);
    check_bob("second", paid);
    if (restarts) {
        daemon_kill(&arcpd);
        daemon_start(&arcpd);
        check_bob("third", paid);
        open_as(&alice, "t-alice");
        assert_in_range(count_listed(&alice, "mine"), 20, KEPT_MAX - 1);
        wire_close(&alice);
    }
    assert_int_equal(daemon_stop(&arcpd), 0);
    daemon_end(&arcpd);
}

static void a_flood_of_jobs_does_not_evict_jobs_of_others(void **state)
{
    (void)state;
    play_keeping(NULL, true);
}

static void a_flood_of_jobs_does_not_evict_jobs_of_others_in_memory(void **state)
{
    (void)state;
    play_keeping("memory:", false);
}

/* ---- output of agents ---- */

static uint64_t file_bytes(const char *suffix)
{
    struct stat about;
    char path[160];
    (void)snprintf(path, sizeof path, "%s%s", arcpd.store, suffix);
    return stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
}

/* Reads the whole history from a session that did not submit the job. False if the job was evicted
 * after its end. */
static bool await_over(wire *w, const char *job_id)
{
    wire_send(
        w,
        "{\"arcp\":\"1.1\",\"id\":\"w-%s\",\"type\":\"job.subscribe\",\"payload\":{\"job_id\":"
        "\"%s\",\"history\":true}}",
        job_id, job_id);
    arcp_span frame = wire_await(w);
    uint64_t bytes = 0;
    while (!wire_is(frame, "job.error")) {
        bytes += wire_is(frame, "job.event") ? frame.size : 0;
        frame = wire_await(w);
    }
    const arcp_span code = wire_text(frame, "code");
    if (arcp_span_equal_cstr(code, "JOB_NOT_FOUND")) {
        return false;
    }
    assert_true(arcp_span_equal_cstr(code, "INTERNAL_ERROR"));
    const arcp_span limit = wire_text(frame, "limit");
    assert_true(arcp_span_equal_cstr(limit, "limits.job_bytes") ||
                arcp_span_equal_cstr(limit, "limits.principal_bytes"));
    assert_true(bytes / 2 < JOB_BYTES); /* each frame has a head of its own */
    return true;
}

static void agents_that_write_too_much_end_without_a_client(void **state)
{
    static char jobs[FLOODS][64];
    (void)state;
    daemon_begin(&arcpd,
                 &(daemon_options){.config = SAYS_LITTLE,
                                   .agents = {"flood=/usr/bin/yes",
                                              "load=" ARCP_BINARY_DIR "/tests/arcp-load-agent"}});
    daemon_start(&arcpd);
    open_as(&alice, "t-alice");
    for (int i = 0; i < FLOODS; i++) {
        wire_send(&alice,
                  "{\"arcp\":\"1.1\",\"id\":\"f%d\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                  "\"flood\"}}",
                  i);
    }
    for (int i = 0; i < FLOODS; i++) {
        copy_text(wire_text(wire_await_type(&alice, "job.accepted"), "job_id"), jobs[i]);
    }
    wire_close(&alice);
    open_as(&bob, "t-bob");
    wire_send(&bob,
              "{\"arcp\":\"1.1\",\"id\":\"b\",\"type\":\"job.submit\",\"payload\":{" LITTLE "}}");
    (void)wire_await_type(&bob, "job.result");
    wire_close(&bob);
    open_as(&alice, "t-alice");
    int found = 0;
    for (int i = 0; i < FLOODS; i++) {
        found += await_over(&alice, jobs[i]) ? 1 : 0;
    }
    assert_in_range(found, 1, FLOODS);
    wire_close(&alice);
    assert_true(file_bytes("") + file_bytes("-wal") < STORE_MAX);
    assert_int_equal(daemon_stop(&arcpd), 0);
    daemon_end(&arcpd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_of_jobs_does_not_evict_jobs_of_others),
        cmocka_unit_test(a_flood_of_jobs_does_not_evict_jobs_of_others_in_memory),
        cmocka_unit_test(agents_that_write_too_much_end_without_a_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
