/* Where modules are loaded from (src/setup/module.c). */
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "setup/setup.h"

static void a_path_that_others_may_write_is_not_safe(void **state)
{
    char directory[] = "/tmp/arcp-module-XXXXXX";
    char missing[64];
    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chmod(directory, 0755), 0);
    assert_true(arcp__module_directory_is_safe(directory));
    assert_int_equal(chmod(directory, 0757), 0);
    assert_false(arcp__module_directory_is_safe(directory));
    assert_int_equal(chmod(directory, 0755), 0);
    if (geteuid() == 0) { /* only root can change the owner */
        assert_int_equal(chown(directory, 65533, (gid_t)-1), 0);
        assert_false(arcp__module_directory_is_safe(directory));
    }
    (void)snprintf(missing, sizeof missing, "%s/missing", directory);
    assert_false(arcp__module_directory_is_safe(missing));
    assert_int_equal(rmdir(directory), 0);
}

static void a_module_that_is_missing_is_reported_by_the_key_that_needs_it(void **state)
{
    void *module = NULL;
    void *function = NULL;
    arcp_error error = {0};
    (void)state;
    assert_int_equal(arcp__module_open("arcp-no-such-module", "nothing", "tracing.otlp.endpoint",
                                       &module, &function, &error),
                     ARCP_E_USAGE);
    assert_non_null(
        strstr(error.message,
               "tracing.otlp.endpoint: the module arcp-no-such-module.so cannot be loaded: "));
    assert_non_null(strstr(error.message, "arcp-no-such-module.so"));
    assert_null(module);
    assert_null(function);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_that_others_may_write_is_not_safe),
        cmocka_unit_test(a_module_that_is_missing_is_reported_by_the_key_that_needs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
