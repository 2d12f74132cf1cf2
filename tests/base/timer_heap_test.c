/* Timers come due in the order of their deadlines, whatever was armed and moved before. */
#include "support/check.h"

#include <arcp/time.h>

#include "base/timer_heap.h"
#include "support/failing_alloc.h"

static void an_empty_heap_has_nothing_due(void **state)
{
    (void)state;
    arcp__timer_heap heap = {0};
    assert_true(arcp__timer_heap_next(&heap) == ARCP_TIME_NEVER);
    assert_null(arcp__timer_heap_pop_due(&heap, INT64_MAX));
    arcp__timer timer = {0};
    arcp__timer_disarm(&heap, &timer);
    arcp__timer_heap_fini(&heap);
}

static void a_timer_is_due_at_its_instant_and_not_before(void **state)
{
    (void)state;
    arcp__timer_heap heap = {0};
    arcp__timer timer = {0};
    assert_int_equal(arcp__timer_arm(&heap, &timer, 100), ARCP_OK);
    assert_int_equal(arcp__timer_heap_next(&heap), 100);
    assert_null(arcp__timer_heap_pop_due(&heap, 99));
    assert_ptr_equal(arcp__timer_heap_pop_due(&heap, 100), &timer);
    assert_null(arcp__timer_heap_pop_due(&heap, INT64_MAX));
    assert_int_equal(timer.place, 0);
    arcp__timer_heap_fini(&heap);
}

static void ties_go_by_arming_order(void **state)
{
    (void)state;
    arcp__timer_heap heap = {0};
    arcp__timer timers[20] = {0};
    for (int i = 0; i < 20; i++) {
        timers[i].kind = i;
        assert_int_equal(arcp__timer_arm(&heap, &timers[i], 5), ARCP_OK);
    }
    /* A timer that is armed again comes after the others. */
    assert_int_equal(arcp__timer_arm(&heap, &timers[3], 5), ARCP_OK);
    for (int i = 0; i < 20; i++) {
        const int want = i < 3 ? i : (i < 19 ? i + 1 : 3);
        assert_int_equal(arcp__timer_heap_pop_due(&heap, 5)->kind, want);
    }
    arcp__timer_heap_fini(&heap);
}

static void negative_deadlines_come_first(void **state)
{
    (void)state;
    arcp__timer_heap heap = {0};
    arcp__timer late = {0};
    arcp__timer early = {0};
    assert_int_equal(arcp__timer_arm(&heap, &late, 0), ARCP_OK);
    assert_int_equal(arcp__timer_arm(&heap, &early, INT64_MIN), ARCP_OK);
    assert_ptr_equal(arcp__timer_heap_pop_due(&heap, INT64_MIN), &early);
    arcp__timer_heap_fini(&heap);
    assert_int_equal(late.place, 0);
}

static uint64_t random_state = 42;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* The earliest armed timer the slow way; NULL when there is none. */
static arcp__timer *earliest(arcp__timer *timers, const uint64_t *armed_at_step, size_t count)
{
    arcp__timer *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const bool before =
            first == NULL || timers[i].at_ns < first->at_ns ||
            (timers[i].at_ns == first->at_ns && armed_at_step[i] < armed_at_step[first - timers]);
        if (timers[i].place != 0 && before) {
            first = &timers[i];
        }
    }
    return first;
}

static void any_sequence_of_changes_keeps_the_order(void **state)
{
    (void)state;
    enum { TIMERS = 60, STEPS = 20000 };
    arcp__timer_heap heap = {0};
    arcp__timer timers[TIMERS] = {0};
    uint64_t armed_at_step[TIMERS] = {0};
    for (uint64_t step = 0; step < STEPS; step++) {
        arcp__timer *timer = &timers[next_random() % TIMERS];
        switch (next_random() % 4) {
        case 0:
            arcp__timer_disarm(&heap, timer);
            assert_int_equal(timer->place, 0);
            break;
        case 1: {
            const int64_t now = (int64_t)(next_random() % 100);
            const arcp__timer *want = earliest(timers, armed_at_step, TIMERS);
            const bool due = want != NULL && want->at_ns <= now;
            assert_ptr_equal(arcp__timer_heap_pop_due(&heap, now), due ? want : NULL);
            break;
        }
        default:
            assert_int_equal(arcp__timer_arm(&heap, timer, (int64_t)(next_random() % 100)),
                             ARCP_OK);
            armed_at_step[timer - timers] = step;
            break;
        }
        const arcp__timer *first = earliest(timers, armed_at_step, TIMERS);
        assert_true(arcp__timer_heap_next(&heap) == (first ? first->at_ns : ARCP_TIME_NEVER));
    }
    arcp__timer_heap_fini(&heap);
}

static arcp_status arm_many(void *user, arcp_error *err)
{
    (void)user;
    arcp__timer_heap heap = {0};
    arcp__timer timers[100] = {0};
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < 100 && status == ARCP_OK; i++) {
        status = arcp__timer_arm(&heap, &timers[i], (int64_t)i);
        if (status != ARCP_OK && timers[i].place != 0) {
            status = ARCP_E_CORRUPT;
        }
    }
    arcp__timer_heap_fini(&heap);
    return status == ARCP_OK ? ARCP_OK : arcp_error_set(err, status, "not armed");
}

static void a_timer_whose_arming_failed_is_not_armed(void **state)
{
    (void)state;
    assert_true(failing_alloc_sweep(arm_many, NULL) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_heap_has_nothing_due),
        cmocka_unit_test(a_timer_is_due_at_its_instant_and_not_before),
        cmocka_unit_test(ties_go_by_arming_order),
        cmocka_unit_test(negative_deadlines_come_first),
        cmocka_unit_test(any_sequence_of_changes_keeps_the_order),
        cmocka_unit_test(a_timer_whose_arming_failed_is_not_armed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
