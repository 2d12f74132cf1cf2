/* The set of jobs that a session has removed. */
#include "support/check.h"

#include "base/alloc.h"
#include "client/client_job.h"

static arcp_span id_of(unsigned number)
{
    static char text[24];
    const int size = snprintf(text, sizeof text, "job_%u", number);
    return arcp_span_make(text, (size_t)size);
}

static void an_empty_set_has_nothing(void **state)
{
    arcp__removed_jobs *removed = arcp__alloc(sizeof *removed);
    (void)state;
    assert_non_null(removed);
    assert_false(arcp__removed_jobs_has(removed, id_of(0)));
    assert_false(arcp__removed_jobs_has(removed, arcp_span_make(NULL, 0)));
    arcp__free(removed);
}

static void the_latest_ids_are_in_the_set_and_no_others(void **state)
{
    arcp__removed_jobs *removed = arcp__alloc(sizeof *removed);
    (void)state;
    assert_non_null(removed);
    for (unsigned i = 0; i < 3 * ARCP__REMOVED_JOBS_MAX; i++) {
        assert_false(arcp__removed_jobs_has(removed, id_of(i)));
        arcp__removed_jobs_add(removed, id_of(i));
        assert_true(arcp__removed_jobs_has(removed, id_of(i)));
        if (i >= ARCP__REMOVED_JOBS_MAX) {
            assert_false(arcp__removed_jobs_has(removed, id_of(i - ARCP__REMOVED_JOBS_MAX)));
            assert_true(arcp__removed_jobs_has(removed, id_of(i - ARCP__REMOVED_JOBS_MAX + 1)));
        }
    }
    arcp__free(removed);
}

/* Both entries are in the ring. */
static void an_id_added_twice_stays_until_the_later_entry_is_overwritten(void **state)
{
    arcp__removed_jobs *removed = arcp__alloc(sizeof *removed);
    (void)state;
    assert_non_null(removed);
    arcp__removed_jobs_add(removed, id_of(0));
    arcp__removed_jobs_add(removed, id_of(0));
    for (unsigned i = 2; i < ARCP__REMOVED_JOBS_MAX + 1; i++) {
        arcp__removed_jobs_add(removed, id_of(i));
    }
    assert_true(arcp__removed_jobs_has(removed, id_of(0)));
    arcp__removed_jobs_add(removed, id_of(1));
    assert_false(arcp__removed_jobs_has(removed, id_of(0)));
    arcp__free(removed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_set_has_nothing),
        cmocka_unit_test(the_latest_ids_are_in_the_set_and_no_others),
        cmocka_unit_test(an_id_added_twice_stays_until_the_later_entry_is_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
