/* Random bytes (src/base/random.h). */
#include "support/check.h"

#include "base/random.h"

#define DRAWS 1000u

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static void assert_all_differ(uint8_t (*values)[16], size_t count)
{
    qsort(values, count, 16, compare);
    for (size_t i = 1; i < count; i++) {
        assert_memory_not_equal(values[i - 1], values[i], 8); /* nor half of one */
    }
}

static void no_two_values_are_the_same(void **state)
{
    static uint8_t values[DRAWS][16];
    (void)state;
    for (size_t i = 0; i < DRAWS; i++) {
        arcp__random(values[i], sizeof values[i]);
    }
    assert_all_differ(values, DRAWS);
}

static void no_two_values_of_a_pool_are_the_same(void **state)
{
    static uint8_t values[DRAWS][16];
    arcp__random_pool pool = {0};
    (void)state;
    for (size_t i = 0; i < DRAWS; i++) {
        uint8_t odd[7]; /* so that the rest of the pool is not a multiple */
        arcp__random_pool_draw(&pool, odd, i % sizeof odd);
        arcp__random_pool_draw(&pool, values[i], sizeof values[i]);
    }
    assert_all_differ(values, DRAWS);
    arcp__random_pool_fini(&pool);
}

/* All of `out` is written, and nothing after it. */
static void as_many_bytes_are_written_as_requested(void **state)
{
    static const size_t sizes[] = {0, 1, 10, 511, 512, 513, 5000};
    static uint8_t out[5001];
    arcp__random_pool pool = {0};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t size = sizes[i];
        unsigned seen = 0;
        for (unsigned round = 0; round < 8; round++) { /* a byte may be 0 by chance, once */
            memset(out, 0, sizeof out);
            arcp__random_pool_draw(&pool, out, size);
            assert_int_equal(out[size], 0);
            seen |= size == 0 ? 1u : out[0] | (unsigned)out[size - 1] << 8;
        }
        assert_true(size == 0 || ((seen & 0xff) != 0 && seen >> 8 != 0));
    }
}

static void bytes_that_were_handed_out_are_wiped_from_the_pool(void **state)
{
    static const arcp__random_pool empty;
    arcp__random_pool pool = {0};
    uint8_t value[16];
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        arcp__random_pool_draw(&pool, value, sizeof value);
        assert_null(memmem(&pool, sizeof pool, value, sizeof value));
    }
    arcp__random_pool_fini(&pool);
    assert_memory_equal(&pool, &empty, sizeof pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_values_are_the_same),
        cmocka_unit_test(no_two_values_of_a_pool_are_the_same),
        cmocka_unit_test(as_many_bytes_are_written_as_requested),
        cmocka_unit_test(bytes_that_were_handed_out_are_wiped_from_the_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
