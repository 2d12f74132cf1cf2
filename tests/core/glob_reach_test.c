/* Prefixes against patterns, by brute force: every short pattern, with every short prefix. */
#include "support/check.h"

#include "core/glob_model.h"
#include "core/glob_pattern.h"
#include "core/strings.h"

enum { PATTERN_MAX = 5, PREFIX_MAX = 3 };

/* Whether the model matches a string that begins with the prefix. What a pattern still needs after
 * a prefix is at most as long as the pattern. */
static bool model_reaches(arcp__target_kind kind, arcp_span pattern, arcp_span prefix)
{
    all_strings rests;
    all_strings_begin(&rests, "a/", PATTERN_MAX);
    do {
        char text[PREFIX_MAX + PATTERN_MAX + 1];
        const arcp_span rest = all_strings_span(&rests);
        memcpy(text, prefix.data, prefix.size);
        memcpy(text + prefix.size, rest.data, rest.size);
        if (model_matches(kind, pattern, arcp_span_make(text, prefix.size + rest.size))) {
            return true;
        }
    } while (all_strings_next(&rests));
    return false;
}

static void prefixes_are_reached_as_by_the_model(void **state)
{
    (void)state;
    size_t counts[2] = {0};
    all_strings patterns;
    all_strings_begin(&patterns, "a/*", PATTERN_MAX);
    while (all_strings_next(&patterns)) {
        const arcp_span pattern = all_strings_span(&patterns);
        all_strings prefixes;
        all_strings_begin(&prefixes, "a/", PREFIX_MAX);
        do {
            const arcp_span prefix = all_strings_span(&prefixes);
            const bool reaches = arcp__glob_reaches(ARCP__TARGET_PATH, pattern, prefix);
            const bool matches = arcp__glob_matches_alone(ARCP__TARGET_PATH, pattern, prefix);
            counts[reaches]++;
            if (reaches != model_reaches(ARCP__TARGET_PATH, pattern, prefix) ||
                matches != model_matches(ARCP__TARGET_PATH, pattern, prefix)) {
                fail_msg("\"%.*s\" and \"%.*s\"", (int)pattern.size, pattern.data, (int)prefix.size,
                         prefix.data);
            }
        } while (all_strings_next(&prefixes));
    }
    assert_true(counts[0] > 1000 && counts[1] > 1000);
}

static void urls_have_queries_at_the_end_only(void **state)
{
    (void)state;
    const arcp__target_kind url = ARCP__TARGET_URL;
    assert_true(arcp__glob_reaches(url, ARCP_SPAN_LITERAL("https://h/**"),
                                   ARCP_SPAN_LITERAL("https://h/x?q")));
    assert_false(arcp__glob_reaches(url, ARCP_SPAN_LITERAL("https://h/**.csv"),
                                    ARCP_SPAN_LITERAL("https://h/x?q")));
    assert_true(arcp__glob_reaches(url, ARCP_SPAN_LITERAL("https://*.h/**"),
                                   ARCP_SPAN_LITERAL("https://a.h/")));
    assert_false(arcp__glob_reaches(url, ARCP_SPAN_LITERAL("https://*.h/**"),
                                    ARCP_SPAN_LITERAL("https://h/")));
}

static void the_longest_pattern_is_read_and_a_longer_one_reaches_nothing(void **state)
{
    (void)state;
    static char bytes[ARCP__GLOB_PATTERN_BYTES_MAX + 1];
    memset(bytes, 'a', sizeof bytes);
    bytes[0] = '*';
    assert_true(arcp__glob_reaches(ARCP__TARGET_PATH,
                                   arcp_span_make(bytes, ARCP__GLOB_PATTERN_BYTES_MAX),
                                   ARCP_SPAN_LITERAL("b")));
    assert_false(arcp__glob_reaches(ARCP__TARGET_PATH,
                                    arcp_span_make(bytes, ARCP__GLOB_PATTERN_BYTES_MAX + 1),
                                    ARCP_SPAN_LITERAL("b")));
    assert_false(
        arcp__glob_reaches(ARCP__TARGET_PATH, arcp_span_make(bytes, 0), arcp_span_make("", 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_are_reached_as_by_the_model),
        cmocka_unit_test(urls_have_queries_at_the_end_only),
        cmocka_unit_test(the_longest_pattern_is_read_and_a_longer_one_reaches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
