/* The project's own programs are found beside the running one; the error for a missing one has the
 * paths that were tried. */
#include "support/check.h"

#include <errno.h>
#include <unistd.h>

#include "base/libexec.h"
#include "support/failing_alloc.h"

static void a_program_beside_the_running_one_is_found(void **state)
{
    arcp_buf path = arcp_buf_init();
    assert_true(arcp__libexec_find(program_invocation_short_name, &path));
    assert_int_equal(path.data[0], '/');
    assert_int_equal(access(path.data, X_OK), 0);
    assert_int_equal(strlen(path.data) + 1, path.size);
    arcp_buf_fini(&path);
}

static void a_file_that_is_not_a_program_is_not_found(void **state)
{
    static const char *const names[] = {"no-such-program", ".", "../CMakeCache.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        arcp_buf places = arcp_buf_init();
        print_message("  %s\n", names[i]);
        assert_false(arcp__libexec_find(names[i], &places));
        assert_false(places.failed);
        arcp_buf_append_byte(&places, '\0');
        assert_non_null(strstr(places.data, "/../libexec/arcp, /"));
        arcp_buf_fini(&places);
    }
}

static void without_memory_nothing_is_found(void **state)
{
    bool has_failed = true;
    for (size_t nth = 1; has_failed; nth++) {
        arcp_buf places = arcp_buf_init();
        failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        assert_false(arcp__libexec_find("no-such-program", &places));
        has_failed = failing_alloc_disarm();
        assert_int_equal(places.failed, has_failed);
        arcp_buf_fini(&places);
        assert_int_equal(failing_alloc_live(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_beside_the_running_one_is_found),
        cmocka_unit_test(a_file_that_is_not_a_program_is_not_found),
        cmocka_unit_test(without_memory_nothing_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
