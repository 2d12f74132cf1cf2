/* An arena hands out pieces that stay where they are until it is reset. */
#include "support/check.h"

#include <stdalign.h>

#include "base/arena.h"
#include "support/failing_alloc.h"

static void pieces_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    arcp__arena arena = {0};
    unsigned char *pieces[400];
    size_t sum = 0;
    for (size_t i = 0; i < 400; i++) {
        const size_t size = i % 67;
        pieces[i] = arcp__arena_take(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        memset(pieces[i], (int)(i & 0xff), size);
        sum += size;
    }
    for (size_t i = 0; i < 400; i++) {
        for (size_t j = 0; j < i % 67; j++) {
            assert_int_equal(pieces[i][j], i & 0xff);
        }
    }
    assert_int_equal(arena.used, sum);
    arcp__arena_fini(&arena);
}

static void a_piece_larger_than_a_block_is_served(void **state)
{
    (void)state;
    arcp__arena arena = {0};
    char *small = arcp__arena_take(&arena, 10);
    memset(small, 's', 10);
    char *large = arcp__arena_take(&arena, 1000000);
    assert_non_null(large);
    memset(large, 'l', 1000000);
    assert_int_equal(small[9], 's');
    arcp__arena_fini(&arena);
}

static void an_impossible_size_is_refused(void **state)
{
    (void)state;
    arcp__arena arena = {0};
    assert_null(arcp__arena_take(&arena, SIZE_MAX));
    assert_null(arcp__arena_take(&arena, SIZE_MAX / 4 + 1));
    assert_int_equal(arena.used, 0);
    arcp__arena_fini(&arena);
}

static void a_copy_has_the_bytes_and_an_address_even_when_empty(void **state)
{
    (void)state;
    arcp__arena arena = {0};
    char text[] = "lease";
    const arcp_span copy = arcp__arena_copy(&arena, arcp_span_cstr(text));
    text[0] = 'X';
    check_span(copy, "lease");
    const arcp_span empty = arcp__arena_copy(&arena, arcp_span_make(NULL, 0));
    assert_non_null(empty.data);
    assert_int_equal(empty.size, 0);
    arcp__arena_fini(&arena);
}

static void a_reset_arena_reuses_its_largest_block(void **state)
{
    (void)state;
    arcp__arena arena = {0};
    for (int i = 0; i < 100; i++) {
        assert_non_null(arcp__arena_take(&arena, 1000));
    }
    const size_t blocks = failing_alloc_live();
    arcp__arena_reset(&arena);
    assert_int_equal(arena.used, 0);
    assert_true(failing_alloc_live() < blocks);
    const size_t allocations = failing_alloc_count();
    for (int i = 0; i < 50; i++) {
        assert_non_null(arcp__arena_take(&arena, 1000));
    }
    assert_int_equal(failing_alloc_count(), allocations);
    arcp__arena_fini(&arena);
    arcp__arena_fini(&arena);
}

static arcp_status take_much(void *user, arcp_error *err)
{
    (void)user;
    arcp__arena arena = {0};
    bool all = true;
    for (int i = 0; i < 10 && all; i++) {
        all = arcp__arena_copy(&arena, ARCP_SPAN_LITERAL("some text")).data != NULL &&
              arcp__arena_take(&arena, 3000) != NULL;
    }
    arcp__arena_fini(&arena);
    return all ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_true(failing_alloc_sweep(take_much, NULL) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
        cmocka_unit_test(a_piece_larger_than_a_block_is_served),
        cmocka_unit_test(an_impossible_size_is_refused),
        cmocka_unit_test(a_copy_has_the_bytes_and_an_address_even_when_empty),
        cmocka_unit_test(a_reset_arena_reuses_its_largest_block),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
