/* Ids that were used before. */
#include "support/check.h"

#include <stdio.h>

#include "core/id_set.h"
#include "support/failing_alloc.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

static void an_id_is_there_from_its_addition_to_its_removal(void **state)
{
    (void)state;
    arcp__id_set set = {0};
    assert_false(arcp__id_set_has(&set, SPAN("a")));
    assert_true(arcp__id_set_add(&set, SPAN("a")));
    assert_true(arcp__id_set_add(&set, SPAN("a\0b")));
    assert_true(arcp__id_set_has(&set, SPAN("a")));
    assert_true(arcp__id_set_has(&set, SPAN("a\0b")));
    assert_false(arcp__id_set_has(&set, SPAN("a\0c")));
    assert_false(arcp__id_set_has(&set, SPAN("")));
    arcp__id_set_remove(&set, SPAN("a"));
    arcp__id_set_remove(&set, SPAN("never"));
    assert_false(arcp__id_set_has(&set, SPAN("a")));
    assert_true(arcp__id_set_has(&set, SPAN("a\0b")));
    arcp__id_set_fini(&set);
    assert_false(arcp__id_set_has(&set, SPAN("a\0b")));
}

static void many_ids_are_distinguished(void **state)
{
    (void)state;
    arcp__id_set set = {0};
    char text[16];
    for (int i = 0; i < 2000; i++) {
        const int size = snprintf(text, sizeof text, "d%d", i);
        assert_false(arcp__id_set_has(&set, arcp_span_make(text, (size_t)size)));
        assert_true(arcp__id_set_add(&set, arcp_span_make(text, (size_t)size)));
    }
    assert_true(arcp__id_set_has(&set, SPAN("d0")));
    assert_true(arcp__id_set_has(&set, SPAN("d1999")));
    assert_false(arcp__id_set_has(&set, SPAN("d2000")));
    arcp__id_set_fini(&set);
}

static void without_memory_an_id_is_not_remembered(void **state)
{
    (void)state;
    size_t count = 1;
    for (bool was_reached = true; was_reached; count++) {
        arcp__id_set set = {0};
        failing_alloc_arm(count, FAILING_ALLOC_ONE);
        const bool added = arcp__id_set_add(&set, SPAN("a"));
        was_reached = failing_alloc_disarm();
        assert_int_equal(added, !was_reached);
        assert_int_equal(arcp__id_set_has(&set, SPAN("a")), added);
        arcp__id_set_fini(&set);
    }
    assert_true(count > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_there_from_its_addition_to_its_removal),
        cmocka_unit_test(many_ids_are_distinguished),
        cmocka_unit_test(without_memory_an_id_is_not_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
