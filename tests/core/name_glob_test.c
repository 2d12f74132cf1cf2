/* Globs over names. */
#include "support/check.h"

#include "core/name_glob.h"

static const struct {
    const char *glob, *name;
    bool matches;
} rows[] = {
    {"", "", true},
    {"", "a", false},
    {"a", "", false},
    {"alice", "alice", true},
    {"alice", "alic", false},
    {"alice", "alices", false},
    {"*", "", true},
    {"*", "anything at all", true},
    {"**", "a", true},
    {"a*", "a", true},
    {"a*", "abc", true},
    {"a*", "ba", false},
    {"*c", "abc", true},
    {"*c", "abcd", false},
    {"a*c", "ac", true},
    {"a*c", "abc", true},
    {"a*c", "abcd", false},
    {"*ab", "aab", true},       /* the star has to match fewer bytes again */
    {"a*b*c", "a-b-b-c", true}, /* only the last star does */
    {"a*b*c", "a-c-b", false},
    {"a.c", "abc", false}, /* no other byte is a wildcard */
    {"a?c", "abc", false},
};

static void only_a_star_matches_other_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (arcp__name_glob_matches(rows[i].glob, arcp_span_cstr(rows[i].name)) !=
            rows[i].matches) {
            fail_msg("%s %s %s", rows[i].glob, rows[i].matches ? "does not match" : "matches",
                     rows[i].name);
        }
    }
}

static void a_name_with_a_nul_does_not_end_there(void **state)
{
    (void)state;
    assert_false(arcp__name_glob_matches("a", ARCP_SPAN_LITERAL("a\0b")));
    assert_true(arcp__name_glob_matches("a*b", ARCP_SPAN_LITERAL("a\0b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_star_matches_other_bytes),
        cmocka_unit_test(a_name_with_a_nul_does_not_end_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
