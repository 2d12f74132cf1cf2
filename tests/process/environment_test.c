/* The environment of a program. */
#include <pwd.h>
#include <unistd.h>

#include "support/check.h"
#include "support/failing_alloc.h"

#include "process/process.h"

static arcp__environment environment;

static int set_up(void **state)
{
    (void)state;
    environment = (arcp__environment){0};
    assert_int_equal(setenv("PATH", "/bin:/usr/bin", 1), 0);
    assert_int_equal(setenv("HOME", "/home/us", 1), 0);
    assert_int_equal(setenv("OURS", "secret", 1), 0);
    assert_int_equal(unsetenv("LANG"), 0);
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arcp__environment_fini(&environment);
    return 0;
}

static void check_pairs(const char *const *want)
{
    size_t count = 0;
    assert_false(environment.failed);
    for (; want[count] != NULL; count++) {
        assert_true(count < environment.count);
        assert_string_equal(environment.pairs[count], want[count]);
    }
    assert_int_equal(environment.count, count);
    assert_null(count == 0 ? NULL : environment.pairs[count]);
}

static void an_environment_begins_clean(void **state)
{
    (void)state;
    arcp__environment_base(&environment, NULL);
    check_pairs((const char *const[]){"PATH=/bin:/usr/bin", "TZ=UTC", "HOME=/home/us", NULL});
}

static void there_is_always_a_path(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("PATH"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(unsetenv("TZ"), 0);
    arcp__environment_base(&environment, NULL);
    check_pairs((const char *const[]){"PATH=/usr/local/bin:/usr/bin:/bin", NULL});
}

static void another_user_has_another_home(void **state)
{
    (void)state;
    char want[256];
    const struct passwd *root = getpwnam("root");
    assert_non_null(root);
    (void)snprintf(want, sizeof want, "HOME=%s", root->pw_dir);
    arcp__environment_base(&environment, "root");
    check_pairs((const char *const[]){"PATH=/bin:/usr/bin", "TZ=UTC", want, NULL});
}

static void passed_variables_replace_and_add(void **state)
{
    (void)state;
    arcp__environment_base(&environment, NULL);
    arcp__environment_pass(&environment, (const char *const[]){"PATH=/opt/bin", "OURS", "NOT_SET",
                                                               "EMPTY=", "A=b=c", "PATHS=x", NULL});
    check_pairs((const char *const[]){"PATH=/opt/bin", "TZ=UTC", "HOME=/home/us", "OURS=secret",
                                      "EMPTY=", "A=b=c", "PATHS=x", NULL});
    arcp__environment_pass(&environment, NULL);
    assert_int_equal(environment.count, 7);
}

static arcp_status build(void *user, arcp_error *err)
{
    (void)user;
    arcp__environment made = {0};
    arcp__environment_base(&made, NULL);
    arcp__environment_pass(&made, (const char *const[]){"PATH=/x", "B=2", "OURS", NULL});
    const bool failed = made.failed;
    arcp__environment_fini(&made);
    return failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(failing_alloc_sweep(build, NULL) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_environment_begins_clean),   TEST(there_is_always_a_path),
        TEST(another_user_has_another_home), TEST(passed_variables_replace_and_add),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
