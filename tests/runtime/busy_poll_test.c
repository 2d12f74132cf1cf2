/* When a loop looks on rather than sleeps: the rule alone, without a loop. */
#include "support/check.h"

#include <inttypes.h>

#include "runtime/busy_poll.h"

#define WINDOW      INT64_C(100000)
#define SHORT_SLEEP (WINDOW + WINDOW / 2)
#define TURN        INT64_C(5000)

typedef struct fixture {
    arcp__busy_poll poll;
    int64_t now_ns;
} fixture;

/* A wait that a turn with so many messages ends. True: it looks on afterwards. */
static bool turn(fixture *f, int64_t wait_ns, size_t messages, bool may)
{
    f->now_ns += wait_ns;
    arcp__busy_poll_begin(&f->poll, f->now_ns, messages);
    f->now_ns += TURN;
    return arcp__busy_poll_end(&f->poll, f->now_ns, may);
}

static bool message(fixture *f, int64_t wait_ns)
{
    return turn(f, wait_ns, 1, true);
}

/* So many short waits. True: it looks on. */
static bool messages(fixture *f, unsigned count)
{
    bool looks = f->poll.is_looking;
    for (unsigned at = 0; at < count; at++) {
        looks = message(f, WINDOW);
    }
    return looks;
}

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.now_ns = 1000000 * WINDOW};
    arcp__busy_poll_set_window(&f.poll, WINDOW);
    (void)message(&f, 0); /* there was nothing before it to be quick after */
    assert_int_equal(f.poll.streak, 0);
    *state = &f;
    return 0;
}

static void it_looks_on_after_a_streak_of_short_waits_and_not_before(void **state)
{
    fixture *f = *state;
    assert_false(messages(f, ARCP__BUSY_POLL_STREAK - 1));
    assert_true(messages(f, 1));
    assert_true(messages(f, 3)); /* and on, as long as they come */
}

static void a_wait_it_slept_through_is_short_up_to_a_window_and_a_half(void **state)
{
    fixture *f = *state;
    for (unsigned at = 0; at < ARCP__BUSY_POLL_STREAK; at++) {
        assert_false(f->poll.is_looking);
        (void)message(f, SHORT_SLEEP);
    }
    assert_true(f->poll.is_looking);
    (void)set_up(state);
    (void)messages(f, ARCP__BUSY_POLL_STREAK - 1);
    assert_false(message(f, SHORT_SLEEP + 1));
    assert_false(messages(f, ARCP__BUSY_POLL_STREAK - 1)); /* all over again */
    assert_true(messages(f, 1));
}

static void a_wait_it_looked_through_is_short_up_to_a_window(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    assert_true(message(f, WINDOW));
    assert_false(message(f, WINDOW + 1));
    assert_int_equal(f->poll.streak, 0);
}

static void it_looks_on_until_the_window_is_over_and_then_sleeps(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    assert_true(arcp__busy_poll_look_on(&f->poll, f->now_ns));
    assert_true(arcp__busy_poll_look_on(&f->poll, f->now_ns + WINDOW - 1));
    assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns + WINDOW));
    assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns + WINDOW + 1));
}

/* It comes so soon that a sleep would have been short; but looking for it was in vain. */
static void a_message_after_the_window_does_not_count(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns + WINDOW));
    assert_false(message(f, WINDOW + 1));
    assert_int_equal(f->poll.streak, 0);
    assert_false(messages(f, ARCP__BUSY_POLL_STREAK - 1));
    assert_true(messages(f, 1));
}

static void messages_that_come_one_a_millisecond_never_make_it_look(void **state)
{
    fixture *f = *state;
    for (unsigned at = 0; at < 1000; at++) {
        assert_false(message(f, 1000000));
        assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns));
    }
}

static void a_batch_ends_it_and_a_few_messages_together_do_not(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    assert_true(turn(f, WINDOW, ARCP__BUSY_POLL_MESSAGES_MAX, true));
    assert_false(turn(f, WINDOW, ARCP__BUSY_POLL_MESSAGES_MAX + 1, true));
    assert_false(messages(f, ARCP__BUSY_POLL_STREAK - 1));
    assert_true(messages(f, 1));
}

static void it_does_not_look_while_it_must_not_and_goes_on_when_it_may(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    assert_false(turn(f, WINDOW, 1, false));
    assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns));
    assert_true(turn(f, SHORT_SLEEP, 1, true)); /* slept through, and short */
    assert_false(turn(f, WINDOW, 1, false));
    assert_false(turn(f, SHORT_SLEEP + 1, 1, true));
}

/* What the store answers, and deadlines, are no messages: they count neither way. */
static void a_turn_without_messages_leaves_the_streak(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK - 1);
    assert_false(turn(f, 1, 0, true));
    assert_false(turn(f, 1000 * WINDOW, 0, true));
    assert_true(message(f, SHORT_SLEEP)); /* since the last turn of any kind */
}

/* Deadlines that pass faster than a window is over do not keep it awake. */
static void turns_without_messages_share_one_window(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    assert_true(turn(f, WINDOW / 2, 0, true));
    assert_true(turn(f, WINDOW / 2 - 1, 0, true));
    assert_true(arcp__busy_poll_look_on(&f->poll, f->now_ns));
    assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns + 1));
    assert_false(turn(f, 1, 0, true));
    assert_false(message(f, 1));
    assert_int_equal(f->poll.streak, 0);
}

/* It looked, a turn without messages made it sleep, and then one came. */
static void looking_that_found_nothing_before_a_sleep_was_in_vain(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    assert_false(turn(f, 1, 0, false));
    assert_false(message(f, 1));
    assert_int_equal(f->poll.streak, 0);
}

static void without_a_window_it_never_looks(void **state)
{
    fixture *f = *state;
    arcp__busy_poll nothing = {0};
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    arcp__busy_poll_set_window(&f->poll, 0);
    assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns));
    for (unsigned at = 0; at < 3 * ARCP__BUSY_POLL_STREAK; at++) {
        assert_false(message(f, 0));
    }
    f->poll = nothing;
    f->now_ns = 0;
    for (unsigned at = 0; at < 3 * ARCP__BUSY_POLL_STREAK; at++) {
        assert_false(message(f, 0));
    }
}

static void another_window_holds_from_the_next_wait_on(void **state)
{
    fixture *f = *state;
    (void)messages(f, ARCP__BUSY_POLL_STREAK);
    arcp__busy_poll_set_window(&f->poll, 2 * WINDOW);
    assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns));
    for (unsigned at = 0; at < ARCP__BUSY_POLL_STREAK; at++) {
        assert_false(f->poll.is_looking);
        (void)message(f, 2 * SHORT_SLEEP);
    }
    assert_true(arcp__busy_poll_look_on(&f->poll, f->now_ns + 2 * WINDOW - 1));
    assert_false(arcp__busy_poll_look_on(&f->poll, f->now_ns + 2 * WINDOW));
}

/* ---- random waits ---- */

#define SEEDS      3000u
#define TURNS      2000u
#define STEP_NS    3000u /* a turn of the loop in which it only looks takes less */
#define REGIMES    4u
#define SWITCH_ODD 50u

/* SplitMix64 */
static uint64_t draw(uint64_t *state, uint64_t below)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

typedef struct tally {
    uint64_t in_time; /* messages whose wait was short */
    int64_t vain_ns;
    int64_t useful_ns;
    int64_t looked_ns; /* in this wait for a message */
} tally;

/* Quick clients, slow ones, both, and those that are just too late. */
static int64_t draw_wait(uint64_t *random, unsigned regime)
{
    static const struct {
        uint64_t least, spread;
    } waits[REGIMES] = {{0, WINDOW / 2}, {WINDOW, 10 * WINDOW}, {0, 3 * WINDOW}, {WINDOW, STEP_NS}};
    return (int64_t)(waits[regime].least + draw(random, waits[regime].spread));
}

/* What a loop does until something comes after `wait_ns`. */
static void wait_for(fixture *f, uint64_t *random, tally *sum, int64_t wait_ns)
{
    int64_t until_ns = f->now_ns + wait_ns;
    int64_t at_ns = f->now_ns;
    bool looks = f->poll.is_looking;
    while (looks) {
        int64_t next_ns = at_ns + 1 + (int64_t)draw(random, STEP_NS);
        next_ns = next_ns < until_ns ? next_ns : until_ns;
        sum->looked_ns += next_ns - at_ns;
        at_ns = next_ns;
        if (at_ns == until_ns) {
            break;
        }
        looks = arcp__busy_poll_look_on(&f->poll, at_ns);
    }
    f->now_ns = until_ns;
}

static void one_turn(fixture *f, uint64_t *random, tally *sum, unsigned regime)
{
    size_t count = draw(random, 10) == 0 ? draw(random, 5) : 1;
    bool may = draw(random, 20) != 0;
    wait_for(f, random, sum, draw_wait(random, regime));
    bool has_looked = f->poll.is_looking;
    arcp__busy_poll_begin(&f->poll, f->now_ns, count);
    if (count != 0) {
        bool is_in_time = f->poll.streak != 0;
        sum->in_time += is_in_time ? 1 : 0;
        *(is_in_time && has_looked ? &sum->useful_ns : &sum->vain_ns) += sum->looked_ns;
        sum->looked_ns = 0;
    }
    f->now_ns += (int64_t)draw(random, 2 * TURN);
    (void)arcp__busy_poll_end(&f->poll, f->now_ns, may);
}

static void what_is_spent_in_vain_is_a_window_for_each_streak_at_most(void **state)
{
    int64_t useful_ns = 0;
    int64_t vain_ns = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed += test_stride()) {
        uint64_t random = seed;
        unsigned regime = 0;
        tally sum = {0};
        (void)set_up(state);
        for (unsigned at = 0; at < TURNS; at++) {
            regime = draw(&random, SWITCH_ODD) == 0 ? (unsigned)draw(&random, REGIMES) : regime;
            one_turn(*state, &random, &sum, regime);
            int64_t windows = (int64_t)(sum.in_time / ARCP__BUSY_POLL_STREAK);
            if (sum.vain_ns + sum.looked_ns > (windows + 1) * (WINDOW + (int64_t)STEP_NS)) {
                fail_msg("seed %" PRIu64 ", turn %u: %" PRId64 " ns in vain for %" PRIu64
                         " messages in time",
                         seed, at, sum.vain_ns, sum.in_time);
            }
        }
        useful_ns += sum.useful_ns;
        vain_ns += sum.vain_ns;
    }
    assert_true(useful_ns > 0 && vain_ns > 0); /* it was about something */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(it_looks_on_after_a_streak_of_short_waits_and_not_before),
        TEST(a_wait_it_slept_through_is_short_up_to_a_window_and_a_half),
        TEST(a_wait_it_looked_through_is_short_up_to_a_window),
        TEST(it_looks_on_until_the_window_is_over_and_then_sleeps),
        TEST(a_message_after_the_window_does_not_count),
        TEST(messages_that_come_one_a_millisecond_never_make_it_look),
        TEST(a_batch_ends_it_and_a_few_messages_together_do_not),
        TEST(it_does_not_look_while_it_must_not_and_goes_on_when_it_may),
        TEST(a_turn_without_messages_leaves_the_streak),
        TEST(turns_without_messages_share_one_window),
        TEST(looking_that_found_nothing_before_a_sleep_was_in_vain),
        TEST(without_a_window_it_never_looks),
        TEST(another_window_holds_from_the_next_wait_on),
        TEST(what_is_spent_in_vain_is_a_window_for_each_streak_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
