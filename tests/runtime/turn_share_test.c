/* What one connection may take of a turn, on both sides of each bound. */
#include "runtime/turn_share.h"
#include "support/check.h"

/* How many frames are taken until the share is used up. */
static unsigned take_all(arcp__turn *turn, arcp__turn_share *share, size_t bytes, int64_t step_ns)
{
    unsigned taken = 1;
    for (int64_t now_ns = 5; arcp__turn_take(turn, share, bytes, now_ns); now_ns += step_ns) {
        taken++;
        assert_true(taken <= ARCP__TURN_LINK_FRAMES);
    }
    return taken;
}

static void a_connection_has_so_many_frames(void **state)
{
    (void)state;
    arcp__turn turn = {0};
    arcp__turn_share share = {0};
    assert_int_equal(take_all(&turn, &share, 1, 0), ARCP__TURN_LINK_FRAMES);
    arcp__turn_next(&turn);
    assert_int_equal(take_all(&turn, &share, 1, 0), ARCP__TURN_LINK_FRAMES);
}

static void large_frames_count_by_their_bytes(void **state)
{
    const struct {
        size_t bytes;
        unsigned taken;
    } rows[] = {
        {ARCP__TURN_LINK_BYTES - 1, 2},
        {ARCP__TURN_LINK_BYTES, 1},
        {ARCP__TURN_LINK_BYTES * 16, 1},
        {ARCP__TURN_LINK_BYTES / ARCP__TURN_LINK_FRAMES, ARCP__TURN_LINK_FRAMES},
    };
    (void)state;
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        arcp__turn turn = {0};
        arcp__turn_share share = {0};
        assert_int_equal(take_all(&turn, &share, rows[at].bytes, 0), rows[at].taken);
    }
}

static void frames_that_take_long_count_by_their_time(void **state)
{
    (void)state;
    arcp__turn turn = {0};
    arcp__turn_share share = {0};
    assert_int_equal(take_all(&turn, &share, 1, ARCP__TURN_LINK_NS), 2);
    arcp__turn_next(&turn);
    assert_int_equal(take_all(&turn, &share, 1, ARCP__TURN_LINK_NS - 1), 3);
}

static void many_connections_have_less_each(void **state)
{
    enum { MANY = 100 };
    (void)state;
    arcp__turn turn = {0};
    arcp__turn_share shares[MANY] = {0};
    for (unsigned at = 0; at < MANY; at++) {
        (void)take_all(&turn, &shares[at], 1, 0);
    }
    for (unsigned round = 0; round < 3; round++) {
        unsigned taken = 0;
        arcp__turn_next(&turn);
        for (unsigned at = 0; at < MANY; at++) {
            unsigned of_it = take_all(&turn, &shares[at], 1, 0);
            assert_int_equal(of_it, ARCP__TURN_FRAMES / MANY);
            taken += of_it;
        }
        assert_true(taken <= ARCP__TURN_FRAMES);
    }
    /* Who is left alone has all of it again, one turn later. */
    arcp__turn_next(&turn);
    (void)take_all(&turn, &shares[0], 1, 0);
    arcp__turn_next(&turn);
    assert_int_equal(take_all(&turn, &shares[0], 1, 0), ARCP__TURN_LINK_FRAMES);
}

static void more_connections_than_frames_have_one_each(void **state)
{
    (void)state;
    arcp__turn turn = {.takers_before = ARCP__TURN_FRAMES + 1};
    arcp__turn_share share = {0};
    assert_int_equal(take_all(&turn, &share, 1, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_has_so_many_frames),
        cmocka_unit_test(large_frames_count_by_their_bytes),
        cmocka_unit_test(frames_that_take_long_count_by_their_time),
        cmocka_unit_test(many_connections_have_less_each),
        cmocka_unit_test(more_connections_than_frames_have_one_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
