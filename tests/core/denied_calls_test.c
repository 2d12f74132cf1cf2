/* Calls that the runtime has answered with a denial. */
#include "support/check.h"

#include <stdio.h>

#include "core/denied_calls.h"

static arcp_span number(unsigned at)
{
    static char text[16];
    (void)snprintf(text, sizeof(text), "c%u", at);
    return arcp_span_cstr(text);
}

static arcp_status ask(const arcp__denied_calls *calls, arcp_span id)
{
    arcp_error error = {0};
    return arcp__denied_calls_check(calls, id, &error);
}

static void a_denied_call_is_known_and_named(void **state)
{
    (void)state;
    arcp__denied_calls calls = {0};
    arcp_error error = {0};
    assert_int_equal(ask(&calls, ARCP_SPAN_LITERAL("c1")), ARCP_OK);
    assert_true(arcp__denied_calls_add(&calls, ARCP_SPAN_LITERAL("c1")));
    assert_int_equal(arcp__denied_calls_check(&calls, ARCP_SPAN_LITERAL("c1"), &error),
                     ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(error.message, "\"c1\""));
    assert_int_equal(ask(&calls, ARCP_SPAN_LITERAL("c2")), ARCP_OK);
    assert_int_equal(ask(&calls, ARCP_SPAN_LITERAL("c")), ARCP_OK);
    arcp__denied_calls_fini(&calls);
}

static void an_id_that_passes_is_free_again(void **state)
{
    (void)state;
    arcp__denied_calls calls = {0};
    for (unsigned at = 0; at < 3; at++) {
        assert_true(arcp__denied_calls_add(&calls, number(at)));
        assert_true(arcp__denied_calls_add(&calls, number(at))); /* once is enough */
    }
    arcp__denied_calls_remove(&calls, number(0));
    arcp__denied_calls_remove(&calls, number(0));
    arcp__denied_calls_remove(&calls, number(9));
    assert_int_equal(ask(&calls, number(0)), ARCP_OK);
    assert_int_equal(ask(&calls, number(1)), ARCP_E_INVALID_REQUEST);
    assert_int_equal(ask(&calls, number(2)), ARCP_E_INVALID_REQUEST);
    arcp__denied_calls_fini(&calls);
}

static void an_empty_id_is_none(void **state)
{
    (void)state;
    arcp__denied_calls calls = {0};
    assert_true(arcp__denied_calls_add(&calls, arcp_span_make(NULL, 0)));
    assert_int_equal(ask(&calls, arcp_span_make(NULL, 0)), ARCP_OK);
    arcp__denied_calls_fini(&calls);
}

static void the_last_256_are_remembered(void **state)
{
    (void)state;
    arcp__denied_calls calls = {0};
    for (unsigned at = 0; at < ARCP__DENIED_CALLS_MAX; at++) {
        assert_true(arcp__denied_calls_add(&calls, number(at)));
    }
    assert_int_equal(ask(&calls, number(0)), ARCP_E_INVALID_REQUEST);
    for (unsigned at = 0; at < 10; at++) {
        assert_true(arcp__denied_calls_add(&calls, number(1000 + at)));
        assert_int_equal(ask(&calls, number(at)), ARCP_OK);
        assert_int_equal(ask(&calls, number(1000 + at)), ARCP_E_INVALID_REQUEST);
    }
    assert_int_equal(ask(&calls, number(10)), ARCP_E_INVALID_REQUEST);
    assert_int_equal(ask(&calls, number(ARCP__DENIED_CALLS_MAX - 1)), ARCP_E_INVALID_REQUEST);
    /* A place that became free is used before another call is forgotten. */
    arcp__denied_calls_remove(&calls, number(20));
    assert_true(arcp__denied_calls_add(&calls, number(2000)));
    assert_int_equal(ask(&calls, number(10)), ARCP_E_INVALID_REQUEST);
    assert_int_equal(ask(&calls, number(2000)), ARCP_E_INVALID_REQUEST);
    arcp__denied_calls_fini(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_denied_call_is_known_and_named),
        cmocka_unit_test(an_id_that_passes_is_free_again),
        cmocka_unit_test(an_empty_id_is_none),
        cmocka_unit_test(the_last_256_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
