/* Leases that are made to take long: a policy narrows what a client asks for, and the patterns were
 * found by hill climbing. Each such submit is refused after a bounded number of steps, and the jobs
 * of others go on. */
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"

enum { ROUNDS = 20, PATTERNS = 450, FRAME_MAX = 64000 };

/* How many times an ordinary submit's time of the processor a hostile one may take. An ordinary one
 * of as many patterns takes a quarter of the steps that a request may; without a bound a hostile
 * one takes thousands of times as long. */
#define TIMES_MAX 30

#define POLICY                                                                                     \
    "policy:\n"                                                                                    \
    "  - {principal: \"*\", agent: \"*\", max_lease: {fs.read: [\"/srv/**\", "                     \
    "\"/data/*/pub/**\"]}}\n"

#define HOSTILE                                                                                    \
    "/*****/**/***a*/*/*/***a/*/*/*/*?/**/a*/*/*aa*/**aaaaaaa**/aaa*/**/b*a*/a**a**bb*aa***ba**"   \
    "*a*a**a***a?aa**b*aa*a"

/* A submit of a lease with so many patterns, all of them different. */
static void send_submit(wire *w, int number, const char *begin, const char *end)
{
    static char frame[FRAME_MAX];
    size_t size = (size_t)snprintf(frame, sizeof frame,
                                   "{\"arcp\":\"1.1\",\"id\":\"s%d\",\"type\":\"job.submit\","
                                   "\"payload\":{\"agent\":\"load\",\"input\":{\"end\":\"result\"},"
                                   "\"lease_request\":{\"fs.read\":[",
                                   number);
    for (int i = 0; i < PATTERNS; i++) {
        size += (size_t)snprintf(frame + size, sizeof frame - size, "%s\"%s%d%s\"",
                                 i == 0 ? "" : ",", begin, i, end);
        assert_true(size < sizeof frame - 256);
    }
    wire_send(w, "%s]}}}", frame);
}

/* The time of arcpd's processor until all of them are answered, each by a frame of this type. */
static uint64_t time_submits(const daemon_state *d, wire *w, int first, const char *begin,
                             const char *end, const char *answer)
{
    const uint64_t before = daemon_cpu_ns(d);
    for (int i = 0; i < ROUNDS; i++) {
        send_submit(w, first + i, begin, end);
        const arcp_span frame = wire_await_type(w, answer);
        if (strcmp(answer, "job.error") == 0) {
            check_span(wire_text(frame, "code"), "INVALID_REQUEST");
            check_span(wire_text(frame, "reason"), "TOO_COMPLEX");
        } else {
            (void)wire_await_type(w, "job.result");
        }
    }
    return daemon_cpu_ns(d) - before;
}

static void patterns_that_take_long_are_refused_and_others_jobs_run(void **state)
{
    (void)state;
    daemon_state d;
    const daemon_options options = {.config = POLICY};
    wire alice = {.fd = -1};
    wire bob = {.fd = -1};
    wire_session session;
    daemon_begin(&d, &options);
    daemon_start(&d);
    wire_open(&alice, d.port);
    wire_hello(&alice, "t-alice", &session);
    wire_open(&bob, d.port);
    wire_hello(&bob, "t-bob", &session);

    const uint64_t ordinary = time_submits(&d, &alice, 0, "/data/t", "/**", "job.accepted");
    /* Bob asks while alice's submits are being read: he waits for one of them at most. */
    send_submit(&alice, 999, HOSTILE, "");
    wire_send(&bob, "%s",
              "{\"arcp\":\"1.1\",\"id\":\"b\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"input\":{\"end\":\"result\"}}}");
    const uint64_t hostile = time_submits(&d, &alice, ROUNDS, HOSTILE, "", "job.error");
    (void)wire_await_type(&bob, "job.accepted");
    (void)wire_await_type(&bob, "job.result");
    print_message("  ordinary: %.1f ms each, hostile: %.1f ms each\n",
                  (double)ordinary / 1e6 / ROUNDS, (double)hostile / 1e6 / ROUNDS);
    assert_true(hostile < ordinary * TIMES_MAX);
    wire_close(&alice);
    wire_close(&bob);
    daemon_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_that_take_long_are_refused_and_others_jobs_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
