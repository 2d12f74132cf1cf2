/* A token bucket, on both sides of each of its bounds. */
#include "base/token_bucket.h"
#include "support/check.h"

#define SEC 1000000000LL

static unsigned take_all(arcp__token_bucket *bucket, arcp__token_rate rate, int64_t now_ns)
{
    unsigned taken = 0;
    while (arcp__token_bucket_wait_ns(bucket, rate, now_ns) == 0 && taken < 100000) {
        arcp__token_bucket_take(bucket, rate, now_ns);
        taken++;
    }
    return taken;
}

static void a_full_bucket_has_its_burst(void **state)
{
    const struct {
        arcp__token_rate rate;
        int64_t token_ns;
    } rows[] = {
        {{1, 1}, SEC},
        {{1, 7}, SEC},
        {{10, 1}, SEC / 10},
        {{3, 5}, SEC / 3},
        {{10000000, 50000}, 100},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__token_bucket bucket = {0};
        int64_t now_ns = 5 * SEC;
        assert_int_equal(take_all(&bucket, rows[i].rate, now_ns), rows[i].rate.burst);
        assert_int_equal(arcp__token_bucket_wait_ns(&bucket, rows[i].rate, now_ns),
                         rows[i].token_ns);
        /* A nanosecond before its time there is none, and then there is one. */
        now_ns += rows[i].token_ns - 1;
        assert_int_equal(arcp__token_bucket_wait_ns(&bucket, rows[i].rate, now_ns), 1);
        assert_int_equal(take_all(&bucket, rows[i].rate, now_ns + 1), 1);
    }
}

static void it_fills_up_to_its_burst_and_no_more(void **state)
{
    const arcp__token_rate rate = {10, 4};
    arcp__token_bucket bucket = {0};
    (void)state;
    assert_int_equal(take_all(&bucket, rate, SEC), 4);
    assert_false(arcp__token_bucket_is_full(&bucket, SEC));
    assert_int_equal(take_all(&bucket, rate, SEC + SEC / 5), 2);
    assert_false(arcp__token_bucket_is_full(&bucket, SEC + SEC * 3 / 5 - 1));
    assert_true(arcp__token_bucket_is_full(&bucket, SEC + SEC * 3 / 5));
    assert_int_equal(take_all(&bucket, rate, 100 * SEC), 4);
}

static void a_debt_has_to_be_waited_for(void **state)
{
    const arcp__token_rate rate = {10, 1};
    arcp__token_bucket bucket = {0};
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        arcp__token_bucket_take(&bucket, rate, SEC);
    }
    assert_int_equal(arcp__token_bucket_wait_ns(&bucket, rate, SEC), SEC / 2);
}

static void a_debt_is_at_most_an_hour(void **state)
{
    const arcp__token_rate rate = {1, 1};
    arcp__token_bucket bucket = {0};
    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        arcp__token_bucket_take(&bucket, rate, SEC);
    }
    assert_in_range(arcp__token_bucket_wait_ns(&bucket, rate, SEC), 3600 * SEC, 3601 * SEC);
}

static void without_a_rate_there_is_no_bound(void **state)
{
    const arcp__token_rate none = {0, 1};
    arcp__token_bucket bucket = {0};
    (void)state;
    assert_int_equal(take_all(&bucket, none, SEC), 100000);
    assert_true(arcp__token_bucket_is_full(&bucket, 0));
}

static void a_new_rate_applies_from_the_next_call(void **state)
{
    arcp__token_bucket bucket = {0};
    (void)state;
    assert_int_equal(take_all(&bucket, (arcp__token_rate){1, 10}, SEC), 10);
    assert_int_equal(take_all(&bucket, (arcp__token_rate){1, 12}, SEC), 2);
    assert_int_equal(arcp__token_bucket_wait_ns(&bucket, (arcp__token_rate){0, 1}, SEC), 0);
}

/* What was taken within the burst before is no debt after it. */
static void a_smaller_burst_begins_with_an_empty_bucket(void **state)
{
    const arcp__token_rate before = {10, 20};
    const arcp__token_rate after = {10, 4};
    (void)state;
    for (unsigned taken = 0; taken <= 20; taken++) {
        arcp__token_bucket bucket = {0};
        for (unsigned i = 0; i < taken; i++) {
            arcp__token_bucket_take(&bucket, before, SEC);
        }
        assert_int_equal(take_all(&bucket, after, SEC), taken < 4 ? 4 - taken : 0);
        assert_int_equal(arcp__token_bucket_wait_ns(&bucket, after, SEC), SEC / 10);
        assert_int_equal(take_all(&bucket, after, SEC + SEC / 10), 1);
    }
}

static void a_debt_stays_when_the_rate_changes(void **state)
{
    arcp__token_bucket bucket = {0};
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        arcp__token_bucket_take(&bucket, (arcp__token_rate){10, 1}, SEC);
    }
    assert_int_equal(arcp__token_bucket_wait_ns(&bucket, (arcp__token_rate){10, 1}, SEC), SEC / 2);
    /* Four tokens of a tenth of a second, and one at the new rate. */
    assert_int_equal(arcp__token_bucket_wait_ns(&bucket, (arcp__token_rate){5, 1}, SEC),
                     4 * SEC / 10 + SEC / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_bucket_has_its_burst),
        cmocka_unit_test(it_fills_up_to_its_burst_and_no_more),
        cmocka_unit_test(a_debt_has_to_be_waited_for),
        cmocka_unit_test(a_debt_is_at_most_an_hour),
        cmocka_unit_test(without_a_rate_there_is_no_bound),
        cmocka_unit_test(a_new_rate_applies_from_the_next_call),
        cmocka_unit_test(a_smaller_burst_begins_with_an_empty_bucket),
        cmocka_unit_test(a_debt_stays_when_the_rate_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
