/* What one connection may take of a turn, on both sides of each bound. */
#include "base/turn_share.h"
#include "support/check.h"

/* How many frames are taken until the share is used up. */
static unsigned take_all(arcp__turn *turn, arcp__turn_share *share, size_t bytes, int64_t step_ns)
{
    unsigned taken = 1;
    for (int64_t now_ns = 5; arcp__turn_take(turn, share, bytes, now_ns, now_ns + step_ns);
         now_ns += step_ns) {
        taken++;
        assert_true(taken <= arcp__turn_of_links.taker_frames);
    }
    return taken;
}

static void a_share_ends_after_its_frames(void **state)
{
    (void)state;
    arcp__turn turn = {.limits = &arcp__turn_of_links};
    arcp__turn_share share = {0};
    assert_int_equal(take_all(&turn, &share, 1, 0), arcp__turn_of_links.taker_frames);
    arcp__turn_next(&turn);
    assert_int_equal(take_all(&turn, &share, 1, 0), arcp__turn_of_links.taker_frames);
}

static void large_frames_count_by_their_bytes(void **state)
{
    const struct {
        size_t bytes;
        unsigned taken;
    } rows[] = {
        {arcp__turn_of_links.taker_bytes - 1, 2},
        {arcp__turn_of_links.taker_bytes, 1},
        {arcp__turn_of_links.taker_bytes * 16, 1},
        {arcp__turn_of_links.taker_bytes / arcp__turn_of_links.taker_frames,
         arcp__turn_of_links.taker_frames},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__turn turn = {.limits = &arcp__turn_of_links};
        arcp__turn_share share = {0};
        assert_int_equal(take_all(&turn, &share, rows[i].bytes, 0), rows[i].taken);
    }
}

static void frames_that_take_long_count_by_their_time(void **state)
{
    (void)state;
    arcp__turn turn = {.limits = &arcp__turn_of_links};
    arcp__turn_share share = {0};
    assert_int_equal(take_all(&turn, &share, 1, arcp__turn_of_links.taker_ns), 1);
    arcp__turn_next(&turn);
    assert_int_equal(take_all(&turn, &share, 1, arcp__turn_of_links.taker_ns - 1), 2);
}

static void many_connections_have_less_each(void **state)
{
    enum { MANY = 100 };
    (void)state;
    arcp__turn turn = {.limits = &arcp__turn_of_links};
    arcp__turn_share shares[MANY] = {0};
    for (unsigned i = 0; i < MANY; i++) {
        (void)take_all(&turn, &shares[i], 1, 0);
    }
    for (unsigned round = 0; round < 3; round++) {
        unsigned taken = 0;
        arcp__turn_next(&turn);
        for (unsigned i = 0; i < MANY; i++) {
            const unsigned of_it = take_all(&turn, &shares[i], 1, 0);
            assert_int_equal(of_it, arcp__turn_of_links.frames / MANY);
            taken += of_it;
        }
        assert_true(taken <= arcp__turn_of_links.frames);
    }
    /* The last connection that remains has all of it again, one turn later. */
    arcp__turn_next(&turn);
    (void)take_all(&turn, &shares[0], 1, 0);
    arcp__turn_next(&turn);
    assert_int_equal(take_all(&turn, &shares[0], 1, 0), arcp__turn_of_links.taker_frames);
}

static void more_connections_than_frames_have_one_each(void **state)
{
    (void)state;
    arcp__turn turn = {.limits = &arcp__turn_of_links,
                       .takers_before = arcp__turn_of_links.frames + 1};
    arcp__turn_share share = {0};
    assert_int_equal(take_all(&turn, &share, 1, 0), 1);
}

static void takers_of_a_turn_that_is_not_divided_come_one_after_the_other(void **state)
{
    const arcp__turn_limits *limits = &arcp__turn_of_agents;
    const unsigned full = limits->frames / limits->taker_frames;
    (void)state;
    arcp__turn turn = {.limits = limits};
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < full; i++) {
            arcp__turn_share share = {0};
            unsigned taken = 1;
            assert_false(arcp__turn_is_over(&turn));
            while (arcp__turn_take(&turn, &share, 1, 0, 0)) {
                taken++;
            }
            assert_int_equal(taken, limits->taker_frames);
        }
        assert_true(arcp__turn_is_over(&turn));
        arcp__turn_share late = {0};
        assert_false(arcp__turn_take(&turn, &late, 1, 0, 0));
        arcp__turn_next(&turn);
        assert_false(arcp__turn_is_over(&turn));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_ends_after_its_frames),
        cmocka_unit_test(large_frames_count_by_their_bytes),
        cmocka_unit_test(frames_that_take_long_count_by_their_time),
        cmocka_unit_test(many_connections_have_less_each),
        cmocka_unit_test(more_connections_than_frames_have_one_each),
        cmocka_unit_test(takers_of_a_turn_that_is_not_divided_come_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
