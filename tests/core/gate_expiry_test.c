/* The gate and the clocks: when an authority ends (draft §9.5, §14). */
#include "core/gate_rig.h"

#include "support/check.h"

/* [arcp:9.5-5] */
static void operations_fail_from_the_instant_of_expiry_on(void **state)
{
    (void)state;
    arcp_authority_options options = arcp_authority_options_init();
    options.now.wall_ns = 90 * SEC;
    options.now.mono_ns = 1000 * SEC;
    const arcp_authority *authority =
        authority_with("{\"fs.read\":[\"/a\"]}", expires_at_100, options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == 1010 * SEC);
    const arcp_time before = {100 * SEC - 1, 1010 * SEC - 1};
    const arcp_time at = {100 * SEC, 1010 * SEC};
    assert_true(ask_at(authority, before, "fs.read", "/a").allowed);
    const arcp_decision decision = ask_at(authority, at, "fs.read", "/a");
    assert_int_equal(decision.code, ARCP_E_LEASE_EXPIRED);
    assert_int_equal(decision.reason, ARCP_DENY_EXPIRED);
    arcp_authority_unref(authority);
}

/* [arcp:14-4] */
static void a_wall_clock_set_back_never_lengthens_a_lease(void **state)
{
    (void)state;
    arcp_authority_options options = arcp_authority_options_init();
    options.now.wall_ns = 90 * SEC;
    options.now.mono_ns = 0;
    const arcp_authority *authority =
        authority_with("{\"fs.read\":[\"/a\"]}", expires_at_100, options);
    const arcp_time set_back = {-3600 * SEC, 10 * SEC};
    assert_true(arcp_authority_is_expired(authority, set_back));
    const arcp_time set_back_early = {-3600 * SEC, 10 * SEC - 1};
    assert_false(arcp_authority_is_expired(authority, set_back_early));
    arcp_authority_unref(authority);
}

static void a_wall_clock_set_forward_shortens_a_lease(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"fs.read\":[\"/a\"]}", expires_at_100);
    const arcp_time set_forward = {100 * SEC, 1};
    assert_true(arcp_authority_is_expired(authority, set_forward));
    const arcp_time not_quite = {100 * SEC - 1, 1};
    assert_false(arcp_authority_is_expired(authority, not_quite));
    arcp_authority_unref(authority);
}

/* [arcp:14-5] */
static void the_grace_is_added_to_both_clocks(void **state)
{
    (void)state;
    arcp_authority_options options = arcp_authority_options_init();
    options.expiry_grace_ns = SEC;
    const arcp_authority *authority = authority_with("{}", expires_at_100, options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == 101 * SEC);
    const arcp_time inside = {101 * SEC - 1, 101 * SEC - 1};
    const arcp_time outside = {101 * SEC, 0};
    assert_false(arcp_authority_is_expired(authority, inside));
    assert_true(arcp_authority_is_expired(authority, outside));
    arcp_authority_unref(authority);
}

static void an_expiry_in_the_past_is_expired_at_once(void **state)
{
    (void)state;
    arcp_authority_options options = arcp_authority_options_init();
    options.now.wall_ns = 200 * SEC;
    options.now.mono_ns = 7;
    const arcp_authority *authority = authority_with("{}", expires_at_100, options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == 7);
    assert_true(arcp_authority_is_expired(authority, options.now));
    arcp_authority_unref(authority);
}

/* [arcp:7.1-3] */
static void a_lease_without_expiry_lasts(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"fs.read\":[\"/a\"]}", "");
    assert_true(arcp_authority_deadline_mono_ns(authority) == ARCP_TIME_NEVER);
    const arcp_time late = {INT64_MAX - 1, INT64_MAX - 1};
    assert_true(ask_at(authority, late, "fs.read", "/a").allowed);
    arcp_authority_unref(authority);
}

static void an_expiry_years_ahead_does_not_fire(void **state)
{
    (void)state;
    arcp_authority_options options = arcp_authority_options_init();
    options.now.mono_ns = INT64_MAX - 5;
    const arcp_authority *authority =
        authority_with("{}", "{\"expires_at\":\"2261-01-01T00:00:00Z\"}", options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == ARCP_TIME_NEVER);
    assert_false(arcp_authority_is_expired(authority, options.now));
    arcp_authority_unref(authority);
    options.now.mono_ns = 0;
    authority = authority_with("{}", "{\"expires_at\":\"9999-12-31T23:59:59Z\"}", options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == ARCP_TIME_NEVER);
    const arcp_time late = {INT64_MAX - 1, INT64_MAX - 1};
    assert_false(arcp_authority_is_expired(authority, late));
    arcp_authority_unref(authority);
}

/* [arcp:9.4-5] */
static void a_child_never_outlives_its_parent_even_when_the_clock_was_set_back(void **state)
{
    (void)state;
    const arcp_authority *parent = authority_of("{}", expires_at_100);
    arcp_authority_options options = arcp_authority_options_init();
    options.now.wall_ns = -3600 * SEC; /* set back by an hour */
    options.now.mono_ns = 50 * SEC;
    options.parent = parent;
    const arcp_authority *child = authority_with("{}", expires_at_100, options);
    assert_true(arcp_authority_deadline_mono_ns(child) == 100 * SEC);
    const arcp_authority *unbounded = authority_with("{}", "", options);
    assert_true(arcp_authority_deadline_mono_ns(unbounded) == 100 * SEC);
    const arcp_time later = {100 * SEC, 60 * SEC};
    assert_true(arcp_authority_is_expired(unbounded, later));
    arcp_authority_unref(parent);
    arcp_authority_unref(child);
    arcp_authority_unref(unbounded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_fail_from_the_instant_of_expiry_on),
        cmocka_unit_test(a_wall_clock_set_back_never_lengthens_a_lease),
        cmocka_unit_test(a_wall_clock_set_forward_shortens_a_lease),
        cmocka_unit_test(the_grace_is_added_to_both_clocks),
        cmocka_unit_test(an_expiry_in_the_past_is_expired_at_once),
        cmocka_unit_test(a_lease_without_expiry_lasts),
        cmocka_unit_test(an_expiry_years_ahead_does_not_fire),
        cmocka_unit_test(a_child_never_outlives_its_parent_even_when_the_clock_was_set_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
