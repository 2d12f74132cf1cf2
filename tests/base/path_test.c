/* Canonical paths as texts (src/base/path.h). */
#include "support/check.h"

#include "base/path.h"

static void a_path_is_within_itself_and_the_directories_above(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *directory;
        bool is_within;
    } rows[] = {
        {"/srv/a", "/srv/a", true},
        {"/srv/a/b", "/srv/a", true},
        {"/srv/ab", "/srv/a", false},
        {"/srv", "/srv/a", false},
        {"/srv/a", "/", true},
        {"/", "/", true},
        {"/", "/srv", false},
        {"", "/", false},
        {"", "", false},
        {"/srv", "", false},
        {".ssh/id", ".ssh", true},
        {".ssh", ".ssh", true},
        {".sshd/id", ".ssh", false},
        {"a/b", "a", true},
        {"ab", "a", false},
        {"srv", "/", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const arcp_span directory = arcp_span_cstr(rows[i].directory);
        const arcp_span directories[] = {ARCP_SPAN_LITERAL("/none"), directory};
        const arcp_span path = arcp_span_cstr(rows[i].path);
        if (arcp__path_is_within(path, directory) != rows[i].is_within ||
            arcp__path_is_within_cstr(rows[i].path, rows[i].directory) != rows[i].is_within ||
            arcp__path_is_within_any(path, directories, 2) != rows[i].is_within ||
            arcp__path_is_within_any(path, directories, 1)) {
            fail_msg("'%s' in '%s'", rows[i].path, rows[i].directory);
        }
    }
}

static void a_path_that_is_a_part_of_a_text_ends_where_it_ends(void **state)
{
    (void)state;
    const arcp_span text = ARCP_SPAN_LITERAL("/srv/a/b");
    assert_false(arcp__path_is_within(arcp_span_first(text, 4), ARCP_SPAN_LITERAL("/srv/a")));
    assert_true(arcp__path_is_within(arcp_span_first(text, 6), ARCP_SPAN_LITERAL("/srv/a")));
    assert_true(arcp__path_is_within(text, arcp_span_first(text, 4)));
}

static void the_root_is_its_own_parent(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"/srv/a", "/srv"}, {"/srv", "/"}, {"/", "/"}, {"", ""}, {"/srv/a/", "/srv/a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const arcp_span parent = arcp__path_parent(arcp_span_cstr(rows[i][0]));
        if (!arcp_span_equal_cstr(parent, rows[i][1])) {
            fail_msg("'%s': '%.*s'", rows[i][0], (int)parent.size, parent.data);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_within_itself_and_the_directories_above),
        cmocka_unit_test(a_path_that_is_a_part_of_a_text_ends_where_it_ends),
        cmocka_unit_test(the_root_is_its_own_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
