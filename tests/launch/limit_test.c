/* Resource limits as configurations have them. */
#include <sys/resource.h>

#include "support/check.h"

#include "launch/launch.h"

static void a_limit_is_a_name_and_one_number_or_two(void **state)
{
    (void)state;
    const uint64_t none = ARCP_LAUNCH_NO_LIMIT;
    const struct {
        const char *name;
        const char *value;
        arcp_status status;
        int resource;
        uint64_t soft;
        uint64_t hard;
    } rows[] = {
        {"nofile", "64", ARCP_OK, RLIMIT_NOFILE, 64, 64},
        {"nofile", "64:128", ARCP_OK, RLIMIT_NOFILE, 64, 128},
        {"as", "unlimited", ARCP_OK, RLIMIT_AS, none, none},
        {"core", "0:unlimited", ARCP_OK, RLIMIT_CORE, 0, none},
        {"cpu", "18446744073709551614", ARCP_OK, RLIMIT_CPU, none - 1, none - 1},
        {"cpu", "18446744073709551615", ARCP_E_USAGE, 0, 0, 0},
        {"cpu", "18446744073709551616", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "128:64", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "unlimited:64", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", ":", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "64:", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "64:64:64", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "-1", ARCP_E_USAGE, 0, 0, 0},
        {"nofile", "1k", ARCP_E_USAGE, 0, 0, 0},
        {"NOFILE", "64", ARCP_E_USAGE, 0, 0, 0},
        {"", "64", ARCP_E_USAGE, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_launch_limit limit = {0};
        arcp_error error = {0};
        const arcp_status status =
            arcp__launch_limit_parse(rows[i].name, rows[i].value, &limit, &error);
        if (status != rows[i].status || limit.resource != rows[i].resource ||
            limit.soft != rows[i].soft || limit.hard != rows[i].hard) {
            fail_msg("%s: %s: %s", rows[i].name, rows[i].value, error.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_a_name_and_one_number_or_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
