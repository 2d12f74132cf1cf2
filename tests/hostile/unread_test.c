/* A client that sends requests and does not read, and a client whose requests are all refused: the
 * memory and the log lines that they cause are bounded, and another principal is served. */
#include "arcpd/daemon.h"
#include "arcpd/wire.h"

#include "support/check.h"

#define JOBS        300
#define JOBS_AHEAD  8
#define LEASE_BYTES 4000
#define LISTINGS    400
#define PINGS       50

/* A page of 1 MiB beyond 1 MiB of answers, in the engine and in its connection, and what its
 * allocator keeps of them; unbounded it was more than 2 GB. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_MAX UINT32_MAX /* sanitizers keep freed memory */
#else
#define MEMORY_MAX 33554432u
#endif
#define PAGE_MAX (1048576u + 8192u)

#define REFUSED 3000
#define BURST   50
#define SLOWLY                                                                                     \
    "limits:\n"                                                                                    \
    "  refusals_per_sec: 1\n"                                                                      \
    "  refusal_burst: 50\n"

static daemon_state arcpd;
static wire alice, bob, greedy;
static wire_session session;

static void open_as(wire *w, const char *token)
{
    wire_open(w, arcpd.port);
    wire_hello(w, token, &session);
}

static void run_jobs(void)
{
    static char pattern[LEASE_BYTES + 1];
    memset(pattern, 'p', LEASE_BYTES);
    int sent = 0;
    for (int ended = 0; ended < JOBS; ended++) {
        while (sent < JOBS && sent < ended + JOBS_AHEAD) {
            wire_send(
                &alice,
                "{\"arcp\":\"1.1\",\"id\":\"s%d\",\"type\":\"job.submit\",\"payload\":{"
                "\"agent\":\"load\",\"input\":{\"events\":1,\"bytes\":10,\"end\":\"result\"},"
                "\"lease_request\":{\"fs.read\":[\"/0%s\",\"/1%s\",\"/2%s\",\"/3%s\",\"/4%s\"]"
                "}}}",
                sent, pattern, pattern, pattern, pattern, pattern);
            sent++;
        }
        (void)wire_await_type(&alice, "job.result");
    }
}

static void ping(wire *w)
{
    for (int i = 0; i < PINGS; i++) {
        wire_send(w, "{\"arcp\":\"1.1\",\"id\":\"p%d\",\"type\":\"session.ping\",\"payload\":{}}",
                  i);
        (void)wire_await_type(w, "session.pong");
    }
}

static void a_client_that_does_not_read_uses_little_memory(void **state)
{
    (void)state;
    daemon_begin(&arcpd, &(daemon_options){0});
    daemon_start(&arcpd);
    open_as(&alice, "t-alice");
    open_as(&bob, "t-bob");
    run_jobs();
    open_as(&greedy, "t-alice");
    ping(&bob);
    const uint64_t before = daemon_resident_bytes(&arcpd);
    for (int i = 0; i < LISTINGS; i++) {
        wire_send(&greedy,
                  "{\"arcp\":\"1.1\",\"id\":\"l%d\",\"type\":\"session.list_jobs\",\"payload\":{"
                  "\"limit\":1000}}",
                  i);
    }
    ping(&bob);
    ping(&alice);
    const uint64_t after = daemon_resident_bytes(&arcpd);
    assert_true(after < before + MEMORY_MAX);
    /* A client that reads in the end gets every response, in order. */
    for (int i = 0; i < LISTINGS; i++) {
        char id[16];
        const arcp_span page = wire_await_type(&greedy, "session.jobs");
        (void)snprintf(id, sizeof id, "l%d", i);
        assert_true(arcp_span_equal_cstr(wire_text(page, "id"), id));
        assert_in_range(page.size, 1048576 / 2, PAGE_MAX);
        assert_int_equal(wire_text(page, "next_cursor").size, 30);
    }
    wire_close(&alice);
    wire_close(&bob);
    wire_close(&greedy);
    daemon_end(&arcpd);
}

static unsigned refusals_in_audit_log(void)
{
    char path[128];
    char line[4096];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "%s/audit.jsonl", arcpd.directory);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, "AGENT_NOT_AVAILABLE") != NULL ? 1 : 0;
    }
    (void)fclose(file);
    return count;
}

static void a_client_that_is_always_refused_makes_the_logs_grow_slowly(void **state)
{
    (void)state;
    const int64_t began_ns = daemon_now_ns();
    daemon_begin(&arcpd, &(daemon_options){.config = SLOWLY});
    daemon_start(&arcpd);
    open_as(&alice, "t-alice");
    open_as(&bob, "t-bob");
    for (int i = 0; i < REFUSED; i++) {
        wire_send(&alice,
                  "{\"arcp\":\"1.1\",\"id\":\"r%d\",\"type\":\"job.submit\",\"payload\":{"
                  "\"agent\":\"nobody\"}}",
                  i);
    }
    for (int i = 0; i < BURST; i++) {
        (void)wire_await_type(&alice, "job.error");
    }
    ping(&bob);
    wire_send(&bob,
              "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{"
              "\"agent\":\"load\",\"input\":{\"events\":1,\"bytes\":10,\"end\":\"result\"}}}");
    (void)wire_await_type(&bob, "job.result");
    assert_int_equal(daemon_stop(&arcpd), 0);
    const unsigned tokens = (unsigned)((daemon_now_ns() - began_ns) / 1000000000) + 1;
    assert_in_range(refusals_in_audit_log(), BURST, BURST + tokens);
    wire_close(&alice);
    wire_close(&bob);
    daemon_end(&arcpd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_does_not_read_uses_little_memory),
        cmocka_unit_test(a_client_that_is_always_refused_makes_the_logs_grow_slowly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
