/* ULIDs grow, also within one millisecond and when the clock goes back. */
#include "support/check.h"

#include "base/ulid.h"

/* Random bits that the test chooses. */
typedef struct script {
    unsigned char fill;
    int calls;
} script;

static void fill_bytes(void *user, void *out, size_t size)
{
    script *from = user;
    memset(out, from->fill, size);
    from->calls++;
}

static void check_next(arcp__ulid_source *source, int64_t wall_ms, const char *want)
{
    char id[ARCP__ULID_SIZE];
    arcp__ulid_next(source, wall_ms, id);
    check_span(arcp_span_make(id, sizeof id), want);
}

static void time_comes_first_then_the_random_bits(void **state)
{
    (void)state;
    script from = {.fill = 0};
    arcp__ulid_source source = {.random = fill_bytes, .user = &from};
    check_next(&source, 1, "00000000010000000000000000");
    from.fill = 0x7f;
    /* 0x0123456789ab in base 32: 0 1 4 D 2 P F 2 D B. */
    check_next(&source, 0x0123456789ab, "014D2PF2DBFXZQYZVZFXZQYZVZ");
    from.fill = 0xff;
    /* The first random bit is kept clear as room to grow. */
    check_next(&source, INT64_C(0xffffffffffff), "7ZZZZZZZZZFZZZZZZZZZZZZZZZ");
    assert_int_equal(from.calls, 3);
}

static void one_millisecond_counts_up(void **state)
{
    (void)state;
    script from = {.fill = 0};
    arcp__ulid_source source = {.random = fill_bytes, .user = &from};
    check_next(&source, 5, "00000000050000000000000000");
    check_next(&source, 5, "00000000050000000000000001");
    check_next(&source, 5, "00000000050000000000000002");
    assert_int_equal(from.calls, 1);
    memcpy(source.last, "000000000503ZZZZZZZZZZZZZZ", sizeof source.last);
    check_next(&source, 5, "00000000050400000000000000");
    assert_int_equal(from.calls, 1);
}

static void the_last_digit_counts_through_the_alphabet(void **state)
{
    (void)state;
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    script from = {.fill = 0};
    arcp__ulid_source source = {.random = fill_bytes, .user = &from};
    char id[ARCP__ULID_SIZE];
    for (size_t i = 0; i < 1024; i++) {
        arcp__ulid_next(&source, 5, id);
        assert_int_equal(id[25], alphabet[i % 32]);
        assert_int_equal(id[24], alphabet[i / 32]);
    }
}

static void the_first_id_of_a_clock_at_zero_is_random(void **state)
{
    (void)state;
    script from = {.fill = 0x7f};
    arcp__ulid_source source = {.random = fill_bytes, .user = &from};
    check_next(&source, 0, "0000000000FXZQYZVZFXZQYZVZ");
}

static void a_clock_that_goes_back_is_held(void **state)
{
    (void)state;
    script from = {.fill = 0};
    arcp__ulid_source source = {.random = fill_bytes, .user = &from};
    check_next(&source, 1000, "00000000Z80000000000000000");
    char before[ARCP__ULID_SIZE];
    arcp__ulid_next(&source, 2000, before);
    char after[ARCP__ULID_SIZE];
    arcp__ulid_next(&source, 1500, after);
    assert_true(memcmp(before, after, sizeof after) < 0);
    arcp__ulid_next(&source, -1, before);
    assert_true(memcmp(after, before, sizeof after) < 0);
}

static void used_up_random_bits_borrow_the_next_millisecond(void **state)
{
    (void)state;
    script from = {.fill = 0};
    arcp__ulid_source source = {.random = fill_bytes, .user = &from};
    check_next(&source, 7, "00000000070000000000000000");
    memset(source.last + 10, 'Z', sizeof source.last - 10);
    check_next(&source, 7, "00000000080000000000000000");
    /* And the clock catching up does not repeat it. */
    check_next(&source, 8, "00000000080000000000000001");
}

static uint64_t random_state = 88172645463325252u;

static void pseudo_random(void *user, void *out, size_t size)
{
    (void)user;
    unsigned char *bytes = out;
    for (size_t i = 0; i < size; i++) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        bytes[i] = (unsigned char)random_state;
    }
}

static void ids_always_grow_and_are_valid(void **state)
{
    (void)state;
    arcp__ulid_source source = {.random = pseudo_random};
    char last[ARCP__ULID_SIZE] = {0};
    for (int64_t i = 0; i < 20000; i++) {
        char id[ARCP__ULID_SIZE];
        /* Some milliseconds have many ids, and the clock jumps back now and then. */
        arcp__ulid_next(&source, 1770000000000 + i / 7 - (i % 100 == 99 ? 50 : 0), id);
        assert_true(memcmp(last, id, sizeof id) < 0);
        assert_true(arcp__ulid_is_valid(arcp_span_make(id, sizeof id)));
        memcpy(last, id, sizeof id);
    }
}

typedef struct validity {
    const char *name;
    const char *text;
    bool valid;
} validity;

static const validity rows[] = {
    {"an ordinary one", "01ARZ3NDEKTSV4RRFFQ69G5FAV", true},
    {"lower case", "01arz3ndektsv4rrffq69g5fav", true},
    {"the largest", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", true},
    {"the smallest", "00000000000000000000000000", true},
    {"more than 128 bits", "80000000000000000000000000", false},
    {"25 characters", "01ARZ3NDEKTSV4RRFFQ69G5FA", false},
    {"27 characters", "01ARZ3NDEKTSV4RRFFQ69G5FAVX", false},
    {"the letter I", "01ARZ3NDEKTSV4RRFFQ69G5FAI", false},
    {"the letter L", "01ARZ3NDEKTSV4RRFFQ69G5FAL", false},
    {"the letter O", "01ARZ3NDEKTSV4RRFFQ69G5FAO", false},
    {"the letter U", "01ARZ3NDEKTSV4RRFFQ69G5FAU", false},
    {"a hyphen", "01ARZ3NDEK-SV4RRFFQ69G5FAV", false},
    {"nothing", "", false},
};

static void only_crockford_base_32_of_128_bits_is_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  %s\n", rows[i].name);
        assert_int_equal(arcp__ulid_is_valid(arcp_span_cstr(rows[i].text)), rows[i].valid);
    }
    assert_false(arcp__ulid_is_valid(arcp_span_make("01ARZ3NDEK\0SV4RRFFQ69G5FAV", 26)));
    assert_false(arcp__ulid_is_valid(arcp_span_make(NULL, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_comes_first_then_the_random_bits),
        cmocka_unit_test(one_millisecond_counts_up),
        cmocka_unit_test(the_last_digit_counts_through_the_alphabet),
        cmocka_unit_test(the_first_id_of_a_clock_at_zero_is_random),
        cmocka_unit_test(a_clock_that_goes_back_is_held),
        cmocka_unit_test(used_up_random_bits_borrow_the_next_millisecond),
        cmocka_unit_test(ids_always_grow_and_are_valid),
        cmocka_unit_test(only_crockford_base_32_of_128_bits_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
