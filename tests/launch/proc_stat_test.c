/* Reading processes from /proc. */
#include <unistd.h>

#include "support/check.h"

#include "launch/proc_stat.h"

static void a_stat_line_is_parsed_whatever_the_program_is_called(void **state)
{
    (void)state;
#define REST " -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 4096 10\n"
    static const struct {
        const char *name;
        const char *text;
        bool is_one;
        pid_t group;
    } rows[] = {
        {"plain", "17 (sh) S 3 5 7 0" REST, true, 5},
        {"spaces and parentheses", "17 (a) R 9 (b) S 3 5 7 0" REST, true, 5},
        {"line feed", "17 (a\nb) S 3 5 7 0" REST, true, 5},
        {"digits", "17 (1 2 3) Z 3 5 7 0" REST, true, 5},
        {"short", "17 (sh) S 3 5 7 0 -1 4194560 1", false, 0},
        {"no name", "17 sh S 3 5 7 0" REST, false, 0},
        {"nothing", "", false, 0},
        {"only a name", "(sh)", false, 0},
        {"no number", "x (sh) S 3 5 7 0" REST, false, 0},
        {"a word among the numbers", "17 (sh) S 3 five 7 0" REST, false, 0},
    };
#undef REST
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__proc_stat found = {0};
        const bool is_one = arcp__proc_stat_parse(rows[i].text, &found);
        if (is_one != rows[i].is_one || found.group != rows[i].group ||
            (is_one && (found.pid != 17 || found.parent != 3 || found.started != 98765))) {
            fail_msg("%s: %d, pid %d group %d started %llu", rows[i].name, is_one, found.pid,
                     found.group, (unsigned long long)found.started);
        }
    }
}

static void our_own_process_is_found(void **state)
{
    (void)state;
    arcp__proc_stat found;
    assert_true(arcp__proc_stat_read(getpid(), &found));
    assert_int_equal(found.pid, getpid());
    assert_int_equal(found.parent, getppid());
    assert_int_equal(found.group, getpgrp());
    assert_int_equal(found.state, 'R');
    assert_false(arcp__proc_stat_read(0x7ffffff0, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stat_line_is_parsed_whatever_the_program_is_called),
        cmocka_unit_test(our_own_process_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
