/* Taking a batch, when something is in the way. */
#include "engine/frames.h"
#include "story/engine_rig.h"

#include "support/check.h"
#include "support/failing_alloc.h"

#include <arcp/sys/store.h>

#include "base/alloc.h"

#define HELLO(name) HELLO_OF(name, "\"cost.budget\",\"heartbeat\"")
#define LINES_MAX   70u /* enough for a batch's list to grow a few times */

static engine_rig rig;

static rig_agent *submit(rig_client *client, const char *frame)
{
    rig_send(&rig, client, frame);
    rig_agent *agent = rig_agent_last(&rig);
    assert_non_null(agent);
    return agent;
}

/* Takes the batch, the n-th allocation of which fails, and submits what there is of it; true when
 * that allocation was reached. */
static bool take_without_memory(size_t nth)
{
    failing_alloc_arm(nth, FAILING_ALLOC_ONE);
    const arcp_store_batch *batch = arcp__engine_take_batch(rig.engine);
    bool failed = failing_alloc_disarm();
    if (batch != NULL) {
        arcp_error error = {0};
        check_ok(rig.store->ops->submit(rig.store, batch, &error), &error);
        for (size_t at = 0; rig.stored != NULL && at < batch->count; at++) {
            rig.stored(&rig, &batch->ops[at]);
        }
        rig.batches_under_way++;
    }
    return failed;
}

static void say_lines(rig_agent *agent, unsigned count)
{
    for (unsigned at = 0; at < count; at++) {
        arcp__engine_agent_line(rig.engine, rig.now, agent->job, ARCP_SPAN_LITERAL("more"));
    }
}

/* Alice's job fills a batch for which there is no memory; then bob's client or agent says a
 * word. */
static bool charge_bob(unsigned lines, size_t nth, bool his_agent)
{
    rig_start(&rig, NULL);
    rig_client *alice = rig_connect(&rig, "alice");
    rig_client *bob = rig_connect(&rig, "bob");
    rig_send(&rig, alice, HELLO("alice"));
    rig_send(&rig, bob, HELLO("bob"));
    rig_agent *first = submit(alice, FRAME("1", "job.submit", "{\"agent\":\"echo\"}"));
    rig_agent *second = submit(bob, FRAME("2", "job.submit", "{\"agent\":\"echo\"}"));
    assert_ptr_not_equal(first, second);
    say_lines(first, lines);
    bool failed = take_without_memory(nth);
    if (his_agent) {
        arcp__engine_agent_line(rig.engine, rig.now, second->job, ARCP_SPAN_LITERAL("hello"));
    } else {
        arcp__engine_receive(rig.engine, rig.now, bob->link,
                             ARCP_SPAN_LITERAL(FRAME("3", "session.ping", "{}")));
    }
    rig_run(&rig);
    assert_non_null(bob->link);
    for (char *frame = rig_take(bob); frame != NULL; frame = rig_take(bob)) {
        assert_null(strstr(frame, "job.error"));
        arcp__free(frame);
    }
    rig_stop(&rig);
    return failed;
}

static void memory_that_a_batch_lacks_is_charged_to_nobody(void **state)
{
    (void)state;
    for (unsigned lines = 1; lines < LINES_MAX; lines++) {
        for (size_t nth = 1; charge_bob(lines, nth, false); nth++) {
        }
        for (size_t nth = 1; charge_bob(lines, nth, true); nth++) {
        }
    }
}

static unsigned spent_rows;

static void count_spent_rows(engine_rig *self, const arcp_store_op *op)
{
    static const char end[] = "/spent";
    size_t size = sizeof(end) - 1;
    (void)self;
    spent_rows += op->kind == ARCP_STORE_PUT && op->key.size > size &&
                          memcmp(op->key.data + op->key.size - size, end, size) == 0
                      ? 1
                      : 0;
}

static bool spend(unsigned lines, size_t nth)
{
    rig_start(&rig, NULL);
    rig_client *alice = rig_connect(&rig, "alice");
    rig_send(&rig, alice, HELLO("alice"));
    rig_agent *agent = submit(
        alice, FRAME("1", "job.submit",
                     "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:5\"]}}"));
    spent_rows = 0;
    rig.stored = count_spent_rows;
    say_lines(agent, lines);
    arcp__engine_agent_line(
        rig.engine, rig.now, agent->job,
        ARCP_SPAN_LITERAL("{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"metric\","
                          "\"body\":{\"name\":\"cost.x\",\"value\":1,\"unit\":\"USD\"}}}"));
    bool failed = take_without_memory(nth);
    rig_run(&rig);
    rig_clock(&rig, 5 * ARCP_NS_PER_SEC);
    assert_false(agent->forgotten);
    assert_true(spent_rows >= 1);
    rig_stop(&rig);
    return failed;
}

static void what_was_spent_is_stored_although_there_was_no_memory_for_it(void **state)
{
    (void)state;
    for (unsigned lines = 0; lines < LINES_MAX; lines++) {
        for (size_t nth = 1; spend(lines, nth); nth++) {
        }
    }
}

/* All effects are done; links that are closed are gone. */
static void drain(void)
{
    arcp__effect effect;
    while (arcp__engine_next_effect(rig.engine, rig.now, &effect)) {
        if (effect.kind == ARCP__EFFECT_CLOSE) {
            rig_client *client = effect.link_user;
            arcp__link *link = client->link;
            client->link = NULL;
            arcp__engine_disconnect(rig.engine, rig.now, link);
        }
    }
}

static void an_engine_with_a_line_for_the_log_is_not_finished(void **state)
{
    bool had_line = false;
    (void)state;
    rig_start(&rig, NULL);
    rig_client *alice = rig_connect(&rig, "alice");
    rig_send(&rig, alice, HELLO("alice"));
    rig_agent *agent = submit(alice, FRAME("1", "job.submit", "{\"agent\":\"echo\"}"));
    rig_drop(&rig, alice);
    rig.fail_store = true;
    rig_agent_says(&rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&rig, agent, false, 0);
    arcp__engine_shutdown(rig.engine, rig.now);
    rig_run(&rig);
    assert_false(arcp__engine_is_finished(rig.engine));
    rig.fail_store = false;
    for (unsigned at = 0; at < 100 && !arcp__engine_is_finished(rig.engine); at++) {
        rig.now.mono_ns += ARCP_NS_PER_SEC / 10;
        rig.now.wall_ns += ARCP_NS_PER_SEC / 10;
        arcp__engine_tick(rig.engine, rig.now);
        drain();
        (void)take_without_memory(SIZE_MAX);
        (void)rig.store->ops->poll(rig.store);
        /* "The store can write again": whoever stops at once must have been told. */
        arcp__effect line;
        bool was_finished = arcp__engine_is_finished(rig.engine);
        bool has_line = arcp__engine_next_line(rig.engine, &line);
        assert_false(was_finished && has_line);
        had_line = had_line || has_line;
    }
    assert_true(had_line);
    drain();
    assert_true(arcp__engine_is_finished(rig.engine));
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_a_batch_lacks_is_charged_to_nobody),
        cmocka_unit_test(what_was_spent_is_stored_although_there_was_no_memory_for_it),
        cmocka_unit_test(an_engine_with_a_line_for_the_log_is_not_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
