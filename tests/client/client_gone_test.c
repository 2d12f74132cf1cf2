/* Which jobs a session has seen end and has forgotten. */
#include "support/check.h"

#include "base/alloc.h"
#include "client/client_job.h"

static arcp_span id_of(unsigned number)
{
    static char text[24];
    int size = snprintf(text, sizeof(text), "job_%u", number);
    return arcp_span_make(text, (size_t)size);
}

static void nothing_is_gone_at_first(void **state)
{
    arcp__gone_jobs *gone = arcp__alloc(sizeof(*gone));
    (void)state;
    assert_non_null(gone);
    assert_false(arcp__gone_jobs_has(gone, id_of(0)));
    assert_false(arcp__gone_jobs_has(gone, arcp_span_make(NULL, 0)));
    arcp__free(gone);
}

static void the_latest_are_known_and_no_others(void **state)
{
    arcp__gone_jobs *gone = arcp__alloc(sizeof(*gone));
    (void)state;
    assert_non_null(gone);
    for (unsigned at = 0; at < 3 * ARCP__GONE_JOBS_MAX; at++) {
        assert_false(arcp__gone_jobs_has(gone, id_of(at)));
        arcp__gone_jobs_add(gone, id_of(at));
        assert_true(arcp__gone_jobs_has(gone, id_of(at)));
        if (at >= ARCP__GONE_JOBS_MAX) {
            assert_false(arcp__gone_jobs_has(gone, id_of(at - ARCP__GONE_JOBS_MAX)));
            assert_true(arcp__gone_jobs_has(gone, id_of(at - ARCP__GONE_JOBS_MAX + 1)));
        }
    }
    arcp__free(gone);
}

/* Each stands for itself: it goes when its own place in the ring does. */
static void one_that_went_twice_stays_until_the_later_is_forgotten(void **state)
{
    arcp__gone_jobs *gone = arcp__alloc(sizeof(*gone));
    (void)state;
    assert_non_null(gone);
    arcp__gone_jobs_add(gone, id_of(0));
    arcp__gone_jobs_add(gone, id_of(0));
    for (unsigned at = 2; at < ARCP__GONE_JOBS_MAX + 1; at++) {
        arcp__gone_jobs_add(gone, id_of(at));
    }
    assert_true(arcp__gone_jobs_has(gone, id_of(0)));
    arcp__gone_jobs_add(gone, id_of(1));
    assert_false(arcp__gone_jobs_has(gone, id_of(0)));
    arcp__free(gone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_gone_at_first),
        cmocka_unit_test(the_latest_are_known_and_no_others),
        cmocka_unit_test(one_that_went_twice_stays_until_the_later_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
