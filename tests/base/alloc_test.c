/* The allocator gives zeroed memory and refuses sizes that do not fit. */
#include "support/check.h"

#include <arcp/buf.h>

#include "base/alloc.h"
#include "support/failing_alloc.h"

static void new_memory_is_zeroed(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        unsigned char *memory = arcp__alloc(1000);
        assert_non_null(memory);
        for (size_t i = 0; i < 1000; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xaa, 1000);
        arcp__free(memory);
    }
}

static void zero_bytes_are_a_block_too(void **state)
{
    (void)state;
    void *none = arcp__alloc(0);
    assert_non_null(none);
    none = arcp__realloc(none, 0);
    assert_non_null(none);
    arcp__free(none);
    arcp__free(NULL);
    arcp_free(NULL);
}

static void products_that_overflow_are_refused(void **state)
{
    (void)state;
    assert_null(arcp__alloc_array(SIZE_MAX / 2 + 1, 2));
    assert_null(arcp__alloc_array(SIZE_MAX, SIZE_MAX));
    int *kept = arcp__alloc_array(2, sizeof *kept);
    assert_non_null(kept);
    kept[1] = 7;
    assert_null(arcp__realloc_array(kept, SIZE_MAX / sizeof *kept + 1, sizeof *kept));
    assert_int_equal(kept[1], 7);
    kept = arcp__realloc_array(kept, 3, sizeof *kept);
    assert_non_null(kept);
    assert_int_equal(kept[1], 7);
    arcp__free(kept);
}

static void a_copied_string_ends_with_nul(void **state)
{
    (void)state;
    char *copy = arcp__copy_cstr("abcdef", 3);
    assert_string_equal(copy, "abc");
    arcp__free(copy);
    copy = arcp__copy_cstr(NULL, 0);
    assert_string_equal(copy, "");
    arcp__free(copy);
    assert_null(arcp__copy_cstr("", SIZE_MAX));
}

/* ---- the hook of the tests themselves ---- */

static arcp_status three_blocks(void *user, arcp_error *err)
{
    (void)user;
    void *first = arcp__alloc(1);
    void *second = first == NULL ? NULL : arcp__alloc_array(2, 3);
    void *third = second == NULL ? NULL : arcp__realloc(NULL, 10);
    const bool complete = third != NULL;
    arcp__free(third);
    arcp__free(second);
    arcp__free(first);
    return complete ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static void the_sweep_reaches_every_allocation(void **state)
{
    (void)state;
    const size_t before = failing_alloc_count();
    assert_int_equal(failing_alloc_sweep(three_blocks, NULL), 3);
    assert_int_equal(failing_alloc_count() - before, 2 * (1 + 2 + 3) + 3);
}

static void the_chosen_allocation_fails_and_only_it(void **state)
{
    (void)state;
    failing_alloc_arm(2, FAILING_ALLOC_ONE);
    void *first = arcp__alloc(1);
    void *second = arcp__alloc(1);
    void *third = arcp__alloc(1);
    assert_true(failing_alloc_disarm());
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    failing_alloc_arm(2, FAILING_ALLOC_ALL_AFTER);
    void *kept = arcp__realloc(first, 2);
    second = arcp__realloc(third, 1000000);
    void *never = arcp__copy_cstr("a", 1);
    assert_true(failing_alloc_disarm());
    assert_non_null(kept);
    assert_null(second);
    assert_null(never);
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    assert_false(failing_alloc_disarm());
    arcp__free(kept);
    arcp__free(third);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zeroed),
        cmocka_unit_test(zero_bytes_are_a_block_too),
        cmocka_unit_test(products_that_overflow_are_refused),
        cmocka_unit_test(a_copied_string_ends_with_nul),
        cmocka_unit_test(the_sweep_reaches_every_allocation),
        cmocka_unit_test(the_chosen_allocation_fails_and_only_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
