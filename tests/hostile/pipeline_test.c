/* A client that pipelines requests: 20 submits at once, each fifth refused, 200 times. The
 * responses come in the order of the submits; clients of several SDKs match them by their order
 * only. */
#include "arcpd/daemon.h"
#include "arcpd/wire.h"

#include "support/check.h"

#define ROUNDS  200
#define SUBMITS 20

static bool is_refused(int index)
{
    return index % 5 == 3;
}

/* A few jobs are new ones; the others are known by their keys, and start no process. */
static void ask(wire *w, int round)
{
    for (int i = 0; i < SUBMITS; i++) {
        const char *agent = is_refused(i) ? "nobody" : "load";
        if (i == 0 || is_refused(i)) {
            wire_send(w,
                      "{\"arcp\":\"1.1\",\"id\":\"%d-%d\",\"type\":\"job.submit\",\"payload\":{"
                      "\"agent\":\"%s\",\"input\":{\"events\":2,\"bytes\":10,\"end\":\"result\"}}}",
                      round, i, agent);
        } else {
            wire_send(w,
                      "{\"arcp\":\"1.1\",\"id\":\"%d-%d\",\"type\":\"job.submit\",\"payload\":{"
                      "\"agent\":\"%s\",\"idempotency_key\":\"k%d\",\"input\":{\"end\":\"result\"}}"
                      "}",
                      round, i, agent, i);
        }
    }
}

/* Takes the responses; events of jobs of this round and of earlier ones may come between them. */
static void take_answers(wire *w, int round)
{
    int i = 0;
    while (i < SUBMITS) {
        const arcp_span frame = wire_await(w);
        const arcp_span request = wire_text(frame, "request_id");
        char wanted[32];
        if (request.size == 0) {
            continue;
        }
        (void)snprintf(wanted, sizeof wanted, "%d-%d", round, i);
        if (!arcp_span_equal_cstr(request, wanted)) {
            fail_msg("%s is to be answered, and this came: %.*s", wanted, (int)frame.size,
                     frame.data);
        }
        assert_true(wire_is(frame, is_refused(i) ? "job.error" : "job.accepted"));
        i++;
    }
}

static void play(const char *store)
{
    static daemon_state arcpd;
    static wire w;
    static wire_session session;
    /* On a slow machine jobs of all rounds may run at the same time. */
    daemon_begin(&arcpd,
                 &(daemon_options){.store = store, .config = "limits: {jobs_per_session: 1000}\n"});
    daemon_start(&arcpd);
    wire_open(&w, arcpd.port);
    wire_hello(&w, "t-alice", &session);
    for (int round = 0; round < ROUNDS; round++) {
        ask(&w, round);
        take_answers(&w, round);
    }
    wire_close(&w);
    assert_int_equal(daemon_stop(&arcpd), 0);
    daemon_end(&arcpd);
}

static void answers_keep_their_order_on_disk(void **state)
{
    (void)state;
    play(NULL);
}

static void answers_keep_their_order_in_memory(void **state)
{
    (void)state;
    play("memory:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_keep_their_order_on_disk),
        cmocka_unit_test(answers_keep_their_order_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
