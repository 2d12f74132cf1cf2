/* Taking a batch when memory runs out or the engine stops. */
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

static void say_lines(rig_agent *agent, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        arcp__engine_agent_line(rig.engine, rig.now, agent->job, 0, ARCP_SPAN_LITERAL("more"));
    }
}

/* Events and costs fill a batch, and the n-th allocation for taking it fails; false when there is
 * none. */
static bool take_without_memory(unsigned lines, size_t nth)
{
    rig_start(&rig, NULL);
    rig_client *alice = rig_connect(&rig, "alice");
    rig_send(&rig, alice, HELLO("alice"));
    rig_agent *agent = submit(
        alice, FRAME("1", "job.submit",
                     "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:5\"]}}"));
    say_lines(agent, lines);
    arcp__engine_agent_line(
        rig.engine, rig.now, agent->job, 0,
        ARCP_SPAN_LITERAL("{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"metric\","
                          "\"body\":{\"name\":\"cost.x\",\"value\":1,\"unit\":\"USD\"}}}"));
    failing_alloc_arm(nth, FAILING_ALLOC_ONE);
    const arcp_store_batch *batch = arcp__engine_take_batch(rig.engine);
    const bool failed = failing_alloc_disarm();
    assert_int_equal(batch == NULL, failed);
    assert_int_equal(arcp__engine_has_failed(rig.engine), failed);
    rig_stop(&rig);
    return failed;
}

static void a_batch_that_lacks_memory_is_not_handed_out(void **state)
{
    (void)state;
    size_t failures = 0;
    for (unsigned lines = 0; lines < LINES_MAX; lines++) {
        for (size_t nth = 1; take_without_memory(lines, nth); nth++) {
            failures++;
        }
    }
    assert_true(failures > 0);
}

/* Carries out all effects, and removes closed links. */
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
    rig_agent_writes(&rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&rig, agent, false, 0);
    arcp__engine_shutdown(rig.engine, rig.now, false);
    rig_run(&rig);
    assert_false(arcp__engine_is_finished(rig.engine));
    rig.fail_store = false;
    for (unsigned i = 0; i < 100 && !arcp__engine_is_finished(rig.engine); i++) {
        rig.now.mono_ns += ARCP_NS_PER_SEC / 10;
        rig.now.wall_ns += ARCP_NS_PER_SEC / 10;
        arcp__engine_tick(rig.engine, rig.now);
        drain();
        const arcp_store_batch *batch = arcp__engine_take_batch(rig.engine);
        if (batch != NULL) {
            arcp_error error = {0};
            check_ok(rig.store->ops->submit(rig.store, batch, &error), &error);
            rig.batches_under_way++;
        }
        (void)rig.store->ops->poll(rig.store);
        /* "The store can be written again": an engine that stops at once must have logged it. */
        arcp__effect line;
        const bool was_finished = arcp__engine_is_finished(rig.engine);
        const bool has_line = arcp__engine_next_line(rig.engine, &line);
        assert_false(was_finished && has_line);
        had_line = had_line || has_line;
    }
    assert_true(had_line);
    drain();
    assert_true(arcp__engine_is_finished(rig.engine));
    rig_stop(&rig);
}

static void
an_engine_whose_store_is_another_ones_closes_its_links_and_stores_nothing_more(void **state)
{
    arcp__effect effect;
    const char *why = NULL;
    bool is_closed = false;
    (void)state;
    rig_start(&rig, NULL);
    rig_client *alice = rig_connect(&rig, "alice");
    rig_send(&rig, alice, HELLO("alice"));
    rig_agent *agent = submit(alice, FRAME("1", "job.submit", "{\"agent\":\"echo\"}"));
    say_lines(agent, 1);
    const arcp_store_batch *batch = arcp__engine_take_batch(rig.engine);
    assert_non_null(batch);
    assert_false(arcp__engine_is_fenced(rig.engine));
    arcp__engine_committed(rig.engine, rig.now, batch->id, ARCP_E_FENCED);
    assert_true(arcp__engine_has_failed(rig.engine));
    assert_true(arcp__engine_is_fenced(rig.engine));
    assert_false(arcp__engine_is_ready(rig.engine, &why));
    assert_string_equal(why, "the store was taken over, or has lost commits");
    say_lines(agent, 1);
    assert_null(arcp__engine_take_batch(rig.engine));
    while (arcp__engine_next_effect(rig.engine, rig.now, &effect)) {
        assert_int_not_equal(effect.kind, ARCP__EFFECT_SEND);
        is_closed = is_closed || (effect.kind == ARCP__EFFECT_CLOSE && effect.close_code == 1011);
    }
    assert_true(is_closed);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            an_engine_whose_store_is_another_ones_closes_its_links_and_stores_nothing_more),
        cmocka_unit_test(a_batch_that_lacks_memory_is_not_handed_out),
        cmocka_unit_test(an_engine_with_a_line_for_the_log_is_not_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
