/* A principal whose frames take long to handle pauses on all of its links, so that the others have
 * their turns; a quick frame costs nothing, and neither does a slow one when no other principal is
 * connected. */
#include "base/alloc.h"
#include "engine/frames.h"
#include "story/engine_rig.h"
#include "support/check.h"

#define FREE_NS (ARCP_NS_PER_MS / 4)
#define FEE     INT64_C(4) /* for each nanosecond above that */
#define SUBMIT  FRAME("s", "job.submit", "{\"agent\":\"echo\"}")

static engine_rig rig;
static rig_client *first, *second, *bob;

static rig_client *begin(const char *name, const char *hello)
{
    rig_client *client = rig_connect(&rig, name);
    rig_send(&rig, client, hello);
    arcp__free(rig_take(client));
    return client;
}

/* Alice has two links and bob has one; then one of alice's frames took this long. */
static bool take_long(int64_t took_ns)
{
    rig_start(&rig, NULL);
    first = begin("a", HELLO_PLAIN);
    second = begin("a2", HELLO_PLAIN);
    bob = begin("b", HELLO_OF("bob", ""));
    return arcp__engine_frame_took(rig.engine, rig.now, first->link, took_ns);
}

static bool takes_frames(rig_client *client)
{
    return arcp__engine_takes_frames(rig.engine, client->link);
}

static void a_slow_frame_pauses_all_links_of_its_principal(void **state)
{
    (void)state;
    assert_true(take_long(FREE_NS + 5 * ARCP_NS_PER_MS));
    assert_false(takes_frames(first));
    assert_false(takes_frames(second));
    assert_true(takes_frames(bob));
    rig_clock(&rig, 5 * FEE * ARCP_NS_PER_MS - 1);
    assert_false(takes_frames(first));
    rig_clock(&rig, 1);
    assert_true(takes_frames(first));
    assert_true(takes_frames(second));
    rig_stop(&rig);
}

static void a_quick_frame_costs_nothing(void **state)
{
    (void)state;
    assert_false(take_long(FREE_NS));
    assert_true(takes_frames(first));
    rig_stop(&rig);
}

static void a_principal_that_is_alone_does_not_pause(void **state)
{
    (void)state;
    rig_start(&rig, NULL);
    first = begin("a", HELLO_PLAIN);
    assert_false(arcp__engine_frame_took(rig.engine, rig.now, first->link, 100 * ARCP_NS_PER_MS));
    assert_true(takes_frames(first));
    rig_stop(&rig);
}

/* A session that can be resumed keeps its principal in memory, but needs no turns; a running job
 * does, also while its client is disconnected. */
static void a_principal_that_is_not_connected_makes_no_link_pause(void **state)
{
    for (int has_job = 0; has_job < 2; has_job++) {
        rig_start(&rig, NULL);
        first = begin("a", HELLO_PLAIN);
        bob = begin("b", HELLO_OF("bob", ""));
        if (has_job != 0) {
            rig_send(&rig, bob, SUBMIT);
        }
        rig_drop(&rig, bob);
        assert_int_equal(
            arcp__engine_frame_took(rig.engine, rig.now, first->link, 100 * ARCP_NS_PER_MS),
            has_job != 0);
        assert_int_equal(takes_frames(first), has_job == 0);
        rig_stop(&rig);
    }
    (void)state;
}

static void a_shorter_pause_does_not_end_a_longer_one(void **state)
{
    (void)state;
    assert_true(take_long(FREE_NS + 5 * ARCP_NS_PER_MS));
    assert_true(
        arcp__engine_frame_took(rig.engine, rig.now, second->link, FREE_NS + ARCP_NS_PER_MS));
    rig_clock(&rig, FEE * ARCP_NS_PER_MS);
    assert_false(takes_frames(first));
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_frame_pauses_all_links_of_its_principal),
        cmocka_unit_test(a_quick_frame_costs_nothing),
        cmocka_unit_test(a_principal_that_is_alone_does_not_pause),
        cmocka_unit_test(a_principal_that_is_not_connected_makes_no_link_pause),
        cmocka_unit_test(a_shorter_pause_does_not_end_a_longer_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
