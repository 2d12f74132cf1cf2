/* The rule for options structs (src/base/options.h, docs/decisions/0010). */
#include "support/check.h"

#include "base/options.h"

typedef struct sample_options {
    size_t struct_size;
    int more;
} sample_options;

static arcp_status check_size(size_t size, arcp_error *err)
{
    const sample_options options = {size, 1};
    return arcp__options_check(&options, sizeof(options), "SAMPLE_OPTIONS_INIT", err);
}

static void this_release_s_size_and_no_options_at_all_are_good(void **state)
{
    arcp_error error = {0};
    (void)state;
    check_ok(check_size(sizeof(sample_options), &error), &error);
    check_ok(arcp__options_check(NULL, sizeof(sample_options), "SAMPLE_OPTIONS_INIT", &error),
             &error);
}

static void any_other_size_is_refused_by_the_name_of_the_init(void **state)
{
    const size_t sizes[] = {0, 1, sizeof(sample_options) - 1, sizeof(sample_options) + 1, SIZE_MAX};
    (void)state;
    for (size_t at = 0; at < sizeof(sizes) / sizeof(sizes[0]); at++) {
        arcp_error error = {0};
        char message[128];
        assert_int_equal(check_size(sizes[at], &error), ARCP_E_USAGE);
        (void)snprintf(message, sizeof(message),
                       "it must begin as SAMPLE_OPTIONS_INIT: its struct_size is %zu, not %zu",
                       sizes[at], sizeof(sample_options));
        assert_string_equal(error.message, message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_release_s_size_and_no_options_at_all_are_good),
        cmocka_unit_test(any_other_size_is_refused_by_the_name_of_the_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
