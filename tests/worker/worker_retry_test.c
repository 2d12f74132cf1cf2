/* The pauses of a worker that looks for its runtime (worker/worker_retry.h). */
#include "support/check.h"

#include "worker/worker_retry.h"

static void pauses_double_up_to_the_longest(void **state)
{
    static const uint32_t pauses[] = {0, 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000};
    arcp__worker_retry retry = {0};
    (void)state;
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        assert_int_equal(arcp__worker_retry_next(&retry, ARCP__RETRY_REMOTE_MAX_MS, 0), pauses[i]);
    }
    assert_int_equal(arcp__worker_retry_next(&retry, ARCP__RETRY_LOCAL_MAX_MS, 0), 1000);
}

static void a_draw_takes_away_at_most_half(void **state)
{
    static const struct {
        uint16_t draw;
        uint32_t pause_ms;
    } rows[] = {{0, 10000}, {UINT16_MAX / 2, 7501}, {UINT16_MAX, 5000}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arcp__worker_retry retry = {.next_ms = 20000};
        assert_int_equal(arcp__worker_retry_next(&retry, ARCP__RETRY_REMOTE_MAX_MS, rows[i].draw),
                         rows[i].pause_ms);
        assert_int_equal(retry.next_ms, 20000); /* the draw does not add up */
    }
}

static void after_a_link_the_first_attempt_is_made_at_once(void **state)
{
    arcp__worker_retry retry = {.next_ms = 6400};
    (void)state;
    retry = (arcp__worker_retry){0};
    assert_int_equal(arcp__worker_retry_next(&retry, ARCP__RETRY_REMOTE_MAX_MS, UINT16_MAX), 0);
    assert_int_equal(arcp__worker_retry_next(&retry, ARCP__RETRY_REMOTE_MAX_MS, UINT16_MAX), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_the_longest),
        cmocka_unit_test(a_draw_takes_away_at_most_half),
        cmocka_unit_test(after_a_link_the_first_attempt_is_made_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
