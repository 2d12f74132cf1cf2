/* The assembler: jumps that are too far for a conditional one. */
#include "support/check.h"

#include "launch/bpf_run.h"
#include "launch/sandbox_helper/helper_assembly.h"

static uint64_t seed;

static uint32_t draw(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(seed >> 33);
}

static const struct sock_filter *start_of(const arcp__helper_assembly *assembly)
{
    return assembly->code + (ARCP__HELPER_FILTER_MAX - assembly->count);
}

static uint32_t run(const arcp__helper_assembly *assembly, uint32_t number, uint32_t argument)
{
    const struct seccomp_data data = {.nr = (int)number, .args = {argument}};
    return bpf_run(start_of(assembly), assembly->count, &data).value;
}

/* `distance` instructions are between a test and where it leads. */
static void check_distance(size_t distance, bool when_yes)
{
    static arcp__helper_assembly assembly;
    assembly.count = 0;
    const arcp__helper_place end = arcp__helper_return(&assembly, 7);
    const arcp__helper_place far = arcp__helper_and(&assembly, 0, end);
    for (size_t i = 0; i < distance; i++) {
        (void)arcp__helper_return(&assembly, 8);
    }
    const arcp__helper_place near = arcp__helper_return(&assembly, 9);
    const arcp__helper_place test =
        arcp__helper_if(&assembly, BPF_JEQ, 5, when_yes ? far : near, when_yes ? near : far);
    (void)arcp__helper_load(&assembly, offsetof(struct seccomp_data, nr), test);
    assert_int_equal(run(&assembly, 5, 0), when_yes ? 7 : 9);
    assert_int_equal(run(&assembly, 6, 0), when_yes ? 9 : 7);
}

static void a_test_leads_to_its_place_at_every_distance(void **state)
{
    (void)state;
    for (size_t distance = 0; distance < 600; distance++) {
        check_distance(distance, true);
        check_distance(distance, false);
    }
}

static void both_places_of_a_test_can_be_far(void **state)
{
    (void)state;
    static arcp__helper_assembly assembly;
    assembly.count = 0;
    const arcp__helper_place high = arcp__helper_return(&assembly, 1);
    const arcp__helper_place end = arcp__helper_return(&assembly, 2);
    const arcp__helper_place low = arcp__helper_and(&assembly, 0, end);
    for (size_t i = 0; i < 250; i++) {
        (void)arcp__helper_return(&assembly, 8);
    }
    for (size_t i = 0; i < 12; i++) {
        const arcp__helper_place test = arcp__helper_if(&assembly, BPF_JGE, 4, high, low);
        (void)arcp__helper_load(&assembly, offsetof(struct seccomp_data, nr), test);
        assert_int_equal(run(&assembly, 3, 0), 2);
        assert_int_equal(run(&assembly, 4, 0), 1);
        (void)arcp__helper_return(&assembly, 8);
    }
}

/* Blocks of up to 6 instructions, one for each number, that answer by an argument. */
static void check_random_dispatch(size_t count)
{
    static arcp__helper_assembly assembly;
    arcp__helper_place blocks[60];
    arcp__helper_place places[ARCP__HELPER_DISPATCH_MAX];
    uint32_t wanted[ARCP__HELPER_DISPATCH_MAX];
    assembly.count = 0;
    const arcp__helper_place above = arcp__helper_return(&assembly, 0xffff);
    for (uint32_t i = 0; i < 60; i++) {
        blocks[i] = arcp__helper_return(&assembly, i);
        for (uint32_t k = draw() % 3; k > 0; k--) {
            blocks[i] = arcp__helper_if(&assembly, BPF_JSET, 1U << (k + 8), above, blocks[i]);
            blocks[i] =
                arcp__helper_load(&assembly, offsetof(struct seccomp_data, args), blocks[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        wanted[i] = draw() % 60;
        if (i > 0 && draw() % 4 != 0) {
            wanted[i] = wanted[i - 1];
        }
        places[i] = blocks[wanted[i]];
    }
    const arcp__helper_place tree = arcp__helper_dispatch(&assembly, places, count, above);
    (void)arcp__helper_load(&assembly, offsetof(struct seccomp_data, nr), tree);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(run(&assembly, (uint32_t)i, 0), wanted[i]);
    }
    assert_int_equal(run(&assembly, (uint32_t)count, 0), 0xffff);
    assert_int_equal(run(&assembly, 0xffffffff, 0), 0xffff);
}

static void a_dispatch_finds_the_block_of_every_number(void **state)
{
    (void)state;
    check_random_dispatch(1);
    check_random_dispatch(ARCP__HELPER_DISPATCH_MAX);
    for (size_t i = 0; i < 300 / test_stride(); i++) {
        check_random_dispatch(1 + draw() % ARCP__HELPER_DISPATCH_MAX);
    }
}

int main(void)
{
    const char *text = getenv("ARCP_TEST_SEED");
    seed = text == NULL ? 20261123 : strtoull(text, NULL, 10);
    print_message("ARCP_TEST_SEED=%llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_test_leads_to_its_place_at_every_distance),
        cmocka_unit_test(both_places_of_a_test_can_be_far),
        cmocka_unit_test(a_dispatch_finds_the_block_of_every_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
