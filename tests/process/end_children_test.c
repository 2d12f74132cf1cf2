/* Ending all children, as a program that adopts orphans does before it exits. */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "support/check.h"

#include "process/process.h"
#include "support/process_support.h"

static void ending_children_kills_all_descendants(void **state)
{
    (void)state;
    pid_t pids[3] = {0};
    int watched[3];
    const size_t descriptors = open_descriptors();
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    for (size_t i = 0; i < 3; i++) {
        watched[i] = start_hidden(-1, &pids[i]);
    }
    arcp__process_table_end_children(NULL, 0);
    for (size_t i = 0; i < 3; i++) {
        wait_for_watched(watched[i]);
    }
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(open_descriptors(), descriptors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ending_children_kills_all_descendants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
