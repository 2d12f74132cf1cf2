/* Large frames and lines are refused when there is no memory for them, and the engine continues;
 * when a small allocation fails, the engine closes its links and does nothing more. */
#include "base/alloc.h"
#include "engine/frames.h"
#include "story/engine_rig.h"
#include "support/check.h"
#include "support/failing_alloc.h"

#define SMALL_BYTES 16384 /* a text up to this size is read without checking for memory first */

static engine_rig rig;

static rig_client *begin(const char *name, const char *hello)
{
    rig_client *client = rig_connect(&rig, name);
    rig_send(&rig, client, hello);
    arcp__free(rig_take(client));
    return client;
}

static void take_all(rig_client *client)
{
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(frame);
    }
}

static void answers_a_ping(rig_client *client)
{
    rig_send(&rig, client, FRAME("p", "session.ping", "{\"nonce\":\"n\"}"));
    char *answer = rig_take(client);
    assert_non_null(answer);
    assert_non_null(strstr(answer, "session.pong"));
    arcp__free(answer);
}

/* A ping of exactly this many bytes. */
static const char *ping_of(size_t bytes)
{
    static char frame[2 * SMALL_BYTES];
    const int head = snprintf(frame, sizeof frame, "%s",
                              "{\"arcp\":\"1.1\",\"id\":\"1\",\"type\":\"session.ping\","
                              "\"payload\":{\"nonce\":\"");
    memset(frame + head, 'x', bytes - (size_t)head - 3);
    memcpy(frame + bytes - 3, "\"}}", 4);
    return frame;
}

static void a_frame_too_large_for_the_memory_closes_its_link(void **state)
{
    (void)state;
    rig_start(&rig, NULL);
    rig_client *alice = begin("a", HELLO_PLAIN);
    rig_client *bob = begin("b", HELLO_OF("bob", ""));
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    rig_send(&rig, alice, ping_of(SMALL_BYTES + 1));
    assert_true(failing_alloc_disarm());
    assert_null(alice->link);
    assert_int_equal(alice->close_code, 1011);
    assert_false(arcp__engine_has_failed(rig.engine));
    answers_a_ping(bob);
    rig_stop(&rig);
}

static void a_line_too_large_for_the_memory_ends_its_job(void **state)
{
    static char line[2 * SMALL_BYTES];
    (void)state;
    rig_start(&rig, NULL);
    rig_client *alice = begin("a", HELLO_PLAIN);
    rig_send(&rig, alice, FRAME("1", "job.submit", "{\"agent\":\"echo\"}"));
    take_all(alice);
    const int head =
        snprintf(line, sizeof line, "%s", "{\"type\":\"job.result\",\"payload\":{\"result\":\"");
    memset(line + head, 'x', SMALL_BYTES);
    (void)snprintf(line + head + SMALL_BYTES, 8, "\"}}");
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    rig_agent_writes(&rig, rig_agent_last(&rig), line);
    assert_true(failing_alloc_disarm());
    assert_false(arcp__engine_has_failed(rig.engine));
    char *end = rig_take(alice);
    assert_non_null(end);
    assert_non_null(strstr(end, "job.error"));
    assert_non_null(strstr(end, "there is no memory for a line of this size"));
    arcp__free(end);
    answers_a_ping(alice);
    rig_stop(&rig);
}

static void a_failed_engine_closes_its_links_and_does_nothing_more(void **state)
{
    (void)state;
    rig_start(&rig, NULL);
    rig_client *alice = begin("a", HELLO_PLAIN);
    const rig_client *bob = begin("b", HELLO_OF("bob", ""));
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    rig_send(&rig, alice, FRAME("1", "job.submit", "{\"agent\":\"echo\"}"));
    assert_true(failing_alloc_disarm());
    assert_true(arcp__engine_has_failed(rig.engine));
    assert_int_equal(alice->close_code, 1011);
    assert_int_equal(bob->close_code, 1011);

    const char *why = NULL;
    arcp__effect effect;
    assert_false(arcp__engine_is_ready(rig.engine, &why));
    assert_string_equal(why, "out of memory");
    assert_null(arcp__engine_connect(rig.engine, rig.now, &rig.link));
    assert_false(arcp__engine_next_effect(rig.engine, rig.now, &effect));
    assert_null(arcp__engine_take_batch(rig.engine));
    assert_int_equal(arcp__engine_deadline(rig.engine), ARCP_TIME_NEVER);
    assert_true(arcp__engine_is_finished(rig.engine));
    rig_stop(&rig);
}

/* One byte less, and memory is not checked first. */
static void a_small_frame_is_read_without_asking(void **state)
{
    (void)state;
    rig_start(&rig, NULL);
    rig_client *alice = begin("a", HELLO_PLAIN);
    answers_a_ping(alice);
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    rig_send(&rig, alice, ping_of(SMALL_BYTES));
    assert_true(failing_alloc_disarm());
    assert_true(arcp__engine_has_failed(rig.engine)); /* its response failed */
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_too_large_for_the_memory_closes_its_link),
        cmocka_unit_test(a_line_too_large_for_the_memory_ends_its_job),
        cmocka_unit_test(a_failed_engine_closes_its_links_and_does_nothing_more),
        cmocka_unit_test(a_small_frame_is_read_without_asking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
