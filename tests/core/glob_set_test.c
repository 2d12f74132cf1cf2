/* Compiled sets: what is refused, which pattern is named, large sets, long patterns, many
 * threads, no memory. What matches is in the vectors and in glob_exhaustive_test.c. */
#include "support/check.h"

#include <pthread.h>

#include "core/glob_set.h"
#include "support/failing_alloc.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

static arcp__glob_set *compile(arcp__capability capability, const arcp_span *patterns, size_t count)
{
    arcp__glob_set *set = NULL;
    arcp_error err = {0};
    check_ok(arcp__glob_set_compile(capability, patterns, count, &set, &err), &err);
    return set;
}

/* The index of the pattern that matches, or -1. */
static long match(const arcp__glob_set *set, const char *target)
{
    size_t index = 99999;
    const bool does = arcp__glob_set_match(set, arcp_span_cstr(target), &index);
    return does ? (long)index : -1;
}

static void an_empty_set_and_no_set_match_nothing(void **state)
{
    (void)state;
    arcp__glob_set *set = compile(ARCP__CAPABILITY_FS_READ, NULL, 0);
    assert_int_equal(match(set, "/a"), -1);
    assert_int_equal(match(NULL, "/a"), -1);
    arcp__glob_set_free(set);
    arcp__glob_set_free(NULL);
}

static void the_pattern_that_matched_is_named(void **state)
{
    (void)state;
    const arcp_span patterns[] = {
        SPAN("/exact"),  SPAN("/one/*"),     SPAN("/below/**"), SPAN("/any**"),   SPAN("**.suffix"),
        SPAN("/w/**/z"), SPAN("/s/*-end/x"), SPAN("/s/*-fin"),  SPAN("/m/*a*b*"), SPAN("/m/*c**d"),
    };
    arcp__glob_set *set = compile(ARCP__CAPABILITY_FS_READ, patterns, 10);
    assert_int_equal(match(set, "/exact"), 0);
    assert_int_equal(match(set, "/one/x"), 1);
    assert_int_equal(match(set, "/below"), 2);
    assert_int_equal(match(set, "/below/x/y"), 2);
    assert_int_equal(match(set, "/anywhere/x"), 3);
    assert_int_equal(match(set, "/q/x.suffix"), 4);
    assert_int_equal(match(set, "/w/z"), 5);
    assert_int_equal(match(set, "/w/q/z"), 5);
    assert_int_equal(match(set, "/s/the-end/x"), 6);
    assert_int_equal(match(set, "/s/the-fin"), 7);
    assert_int_equal(match(set, "/m/xaybz"), 8);
    assert_int_equal(match(set, "/m/xc/yd"), 9);
    assert_int_equal(match(set, "/nothing"), -1);
    arcp__glob_set_free(set);
}

static void of_equal_patterns_the_first_is_named(void **state)
{
    (void)state;
    const arcp_span patterns[] = {SPAN("/b"),    SPAN("/a"),    SPAN("/a"),   SPAN("/c/*x*"),
                                  SPAN("/d*"),   SPAN("/d*"),   SPAN("/e**"), SPAN("/e**"),
                                  SPAN("/f/**"), SPAN("/f/***")};
    arcp__glob_set *set = compile(ARCP__CAPABILITY_FS_READ, patterns, 10);
    assert_int_equal(match(set, "/a"), 1);
    assert_int_equal(match(set, "/dd"), 4);
    assert_int_equal(match(set, "/ee"), 6);
    assert_int_equal(match(set, "/f/f"), 8);
    arcp__glob_set_free(set);
}

static void check_refused(arcp__capability capability, arcp_span bad, arcp_status status,
                          const char *message)
{
    const arcp_span patterns[] = {SPAN("a"), bad};
    arcp__glob_set *set = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp__glob_set_compile(capability, patterns, 2, &set, &err), status);
    assert_null(set);
    assert_string_equal(err.message, message);
}

static void an_invalid_pattern_is_refused_with_its_index(void **state)
{
    (void)state;
    static char bytes[8192];
    memset(bytes, 'a', sizeof bytes);
    check_refused(ARCP__CAPABILITY_TOOL_CALL, SPAN(""), ARCP_E_INVALID_REQUEST,
                  "tool.call[1] is empty");
    check_refused(ARCP__CAPABILITY_TOOL_CALL, arcp_span_make("a\0", 2), ARCP_E_INVALID_REQUEST,
                  "tool.call[1] contains a NUL byte");
    check_refused(ARCP__CAPABILITY_TOOL_CALL, SPAN("\xff"), ARCP_E_INVALID_REQUEST,
                  "tool.call[1] is not UTF-8");
    check_refused(ARCP__CAPABILITY_TOOL_CALL, arcp_span_make(bytes, sizeof bytes),
                  ARCP_E_INVALID_REQUEST, "tool.call[1] is too long");
    check_refused(ARCP__CAPABILITY_COST_BUDGET, SPAN("*"), ARCP_E_USAGE,
                  "this capability has no patterns");
    check_refused(ARCP__CAPABILITY_UNKNOWN, SPAN("*"), ARCP_E_USAGE,
                  "this capability has no patterns");
}

enum { MANY = 10000 };

typedef struct many {
    char texts[MANY][48];
    arcp_span spans[MANY];
    arcp__glob_set *set;
} many;

static many *make_many(arcp__capability capability, const char *before, const char *behind)
{
    many *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (int i = 0; i < MANY; i++) {
        /* Out of order, so that the set has to sort them. */
        const int number = (i * 7919) % MANY;
        (void)snprintf(m->texts[i], sizeof m->texts[i], "%s%d%s", before, number, behind);
        m->spans[i] = arcp_span_cstr(m->texts[i]);
    }
    m->set = compile(capability, m->spans, MANY);
    return m;
}

static void free_many(many *m)
{
    arcp__glob_set_free(m->set);
    free(m);
}

static void check_many(arcp__capability capability, const char *before, const char *behind,
                       const char *target_before, const char *target_behind)
{
    many *m = make_many(capability, before, behind);
    for (int i = 0; i < MANY; i += 37) {
        char target[64];
        const int number = (i * 7919) % MANY;
        (void)snprintf(target, sizeof target, "%s%d%s", target_before, number, target_behind);
        assert_int_equal(match(m->set, target), i);
        (void)snprintf(target, sizeof target, "%s%d%s", target_before, number + MANY,
                       target_behind);
        assert_int_equal(match(m->set, target), -1);
    }
    free_many(m);
}

static void ten_thousand_patterns_are_distinguished(void **state)
{
    (void)state;
    check_many(ARCP__CAPABILITY_FS_READ, "/srv/tenant-", "/data", "/srv/tenant-", "/data");
    check_many(ARCP__CAPABILITY_FS_READ, "/srv/tenant-", "/**", "/srv/tenant-", "/a/b");
    check_many(ARCP__CAPABILITY_FS_READ, "**/q", ".txt", "/a/b/q", ".txt");
    check_many(ARCP__CAPABILITY_NET_FETCH, "https://*.host", ".example/**", "https://a.host",
               ".example/x/y");
    check_many(ARCP__CAPABILITY_TOOL_CALL, "*.tool-", "", "any.tool-", "");
    check_many(ARCP__CAPABILITY_MODEL_USE, "*-m", "-*", "x-m", "-y");
}

static void a_byte_may_lead_to_more_states_than_fit_in_a_word(void **state)
{
    (void)state;
    /* 8 and 9 branches are kept differently. */
    for (size_t count = 7; count <= 26; count++) {
        char texts[26][4];
        arcp_span spans[26];
        for (size_t i = 0; i < count; i++) {
            texts[i][0] = 'q';
            texts[i][1] = (char)('z' - i);
            spans[i] = arcp_span_make(texts[i], 2);
        }
        arcp__glob_set *set = compile(ARCP__CAPABILITY_MODEL_USE, spans, count);
        for (int last = 'a'; last <= 'z'; last++) {
            const char target[3] = {'q', (char)last, '\0'};
            const int index = 'z' - last;
            assert_int_equal(match(set, target), index < (int)count ? index : -1);
        }
        arcp__glob_set_free(set);
    }
}

/* As many general patterns as are needed to fill `size` bytes with wildcards and letters. */
static void long_patterns_of_one_word_and_of_many(void **state)
{
    (void)state;
    for (size_t size = 4; size <= 4096; size += size < 200 ? 1 : 397) {
        char *text = calloc(2 * size, 1);
        assert_non_null(text);
        /* *aaaa..a*b*aaaa, where no literal is at either end. */
        memset(text, 'a', size);
        text[0] = '*';
        text[size / 2] = '*';
        text[size - 2] = 'b';
        text[size - 1] = '*';
        const arcp_span pattern = arcp_span_make(text, size);
        arcp__glob_set *set = compile(ARCP__CAPABILITY_MODEL_USE, &pattern, 1);
        char *target = calloc(2 * size + 1, 1);
        assert_non_null(target);
        memset(target, 'a', 2 * size);
        assert_false(arcp__glob_set_match(set, arcp_span_make(target, 2 * size), NULL));
        target[2 * size - 1] = 'b';
        assert_true(arcp__glob_set_match(set, arcp_span_make(target, 2 * size), NULL));
        target[size / 2] = '/';
        assert_false(arcp__glob_set_match(set, arcp_span_make(target, 2 * size), NULL));
        free(target);
        arcp__glob_set_free(set);
        free(text);
    }
}

static void whole_segments_may_be_absent_at_the_end_of_a_word_too(void **state)
{
    (void)state;
    for (size_t letters = 50; letters <= 140; letters++) {
        char text[160];
        const int size = snprintf(text, sizeof text, "**%0*d/**/b*", (int)letters, 0);
        const arcp_span pattern = arcp_span_make(text, (size_t)size);
        arcp__glob_set *set = compile(ARCP__CAPABILITY_MODEL_USE, &pattern, 1);
        char target[170];
        (void)snprintf(target, sizeof target, "a%0*d/b", (int)letters, 0);
        assert_int_equal(match(set, target), 0);
        (void)snprintf(target, sizeof target, "a%0*d/a/a/bc", (int)letters, 0);
        assert_int_equal(match(set, target), 0);
        (void)snprintf(target, sizeof target, "a%0*d/ab", (int)letters, 0);
        assert_int_equal(match(set, target), -1);
        arcp__glob_set_free(set);
    }
}

static void the_longest_pattern_can_be_compiled_and_matched(void **state)
{
    (void)state;
    static char text[8191];
    static char target[16384];
    for (size_t i = 0; i + 1 < sizeof text; i += 2) {
        text[i] = '*';
        text[i + 1] = 'a';
    }
    text[sizeof text - 1] = '*';
    memset(target, 'a', sizeof target);
    const arcp_span pattern = arcp_span_make(text, sizeof text);
    arcp__glob_set *set = compile(ARCP__CAPABILITY_MODEL_USE, &pattern, 1);
    assert_true(arcp__glob_set_match(set, arcp_span_make(target, 4095), NULL));
    assert_true(arcp__glob_set_match(set, arcp_span_make(target, sizeof target), NULL));
    assert_false(arcp__glob_set_match(set, arcp_span_make(target, 4094), NULL));
    arcp__glob_set_free(set);
}

static void segments_without_end_do_not_deepen_the_recursion_without_end(void **state)
{
    (void)state;
    static char text[8190];
    static char target[16384];
    for (size_t i = 0; i + 1 < sizeof text; i += 2) {
        text[i] = '*';
        text[i + 1] = '/';
    }
    memset(target, '/', sizeof target);
    const arcp_span pattern = arcp_span_make(text, sizeof text);
    arcp__glob_set *set = compile(ARCP__CAPABILITY_MODEL_USE, &pattern, 1);
    assert_true(arcp__glob_set_match(set, arcp_span_make(target, sizeof text / 2), NULL));
    assert_false(arcp__glob_set_match(set, arcp_span_make(target, sizeof text / 2 + 1), NULL));
    assert_false(arcp__glob_set_match(set, arcp_span_make(target, sizeof text / 2 - 1), NULL));
    arcp__glob_set_free(set);
}

static void patterns_that_are_slow_in_other_matchers_are_matched_fast(void **state)
{
    (void)state;
    static char target[16384];
    memset(target, 'a', sizeof target);
    const arcp_span stars =
        SPAN("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b");
    arcp__glob_set *set = compile(ARCP__CAPABILITY_MODEL_USE, &stars, 1);
    assert_false(arcp__glob_set_match(set, arcp_span_make(target, sizeof target), NULL));
    target[sizeof target - 1] = 'b';
    assert_true(arcp__glob_set_match(set, arcp_span_make(target, sizeof target), NULL));
    arcp__glob_set_free(set);

    const arcp_span groups =
        SPAN("/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a"
             "/**/a/**/a/**/a/b");
    for (size_t i = 0; i < sizeof target; i++) {
        target[i] = i % 2 == 0 ? '/' : 'a';
    }
    set = compile(ARCP__CAPABILITY_FS_READ, &groups, 1);
    assert_false(arcp__glob_set_match(set, arcp_span_make(target, sizeof target), NULL));
    target[sizeof target - 1] = 'b';
    assert_true(arcp__glob_set_match(set, arcp_span_make(target, sizeof target), NULL));
    arcp__glob_set_free(set);
}

static void a_target_is_not_read_past_its_end(void **state)
{
    (void)state;
    /* Exact allocations: a sanitizer detects the first byte beyond. */
    const arcp_span patterns[] = {SPAN("/abc/defghijklmnop"), SPAN("/abc/*/z"), SPAN("/abc/**x"),
                                  SPAN("/a*b*z"), SPAN("**/q/r")};
    arcp__glob_set *set = compile(ARCP__CAPABILITY_FS_READ, patterns, 5);
    const char *const text = "/abc/defghijklmno";
    for (size_t size = 1; size <= strlen(text); size++) {
        char *exact = malloc(size);
        assert_non_null(exact);
        memcpy(exact, text, size);
        assert_false(arcp__glob_set_match(set, arcp_span_make(exact, size), NULL));
        free(exact);
    }
    arcp__glob_set_free(set);
}

static void *match_often(void *shared)
{
    const many *m = shared;
    size_t right = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            char target[64];
            const int number = (i * 7919) % MANY;
            (void)snprintf(target, sizeof target, "a.b.tool-%d.c", number);
            size_t index = SIZE_MAX;
            right +=
                arcp__glob_set_match(m->set, arcp_span_cstr(target), &index) && index == (size_t)i;
        }
    }
    return right == 3 * (size_t)MANY ? shared : NULL;
}

static void a_set_may_be_used_by_several_threads(void **state)
{
    (void)state;
    many *m = make_many(ARCP__CAPABILITY_TOOL_CALL, "*.*.tool-", ".*");
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, match_often, m), 0);
    }
    for (size_t i = 0; i < 3; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, m);
    }
    free_many(m);
}

static void without_memory_there_is_no_set_and_no_leak(void **state)
{
    (void)state;
    const arcp_span patterns[] = {SPAN("https://*.a.example/**"), SPAN("https://**.csv"),
                                  SPAN("https://h/*a*b*"), SPAN("s3://b/*/x"), SPAN("**")};
    size_t count = 1;
    for (;; count++) {
        arcp__glob_set *set = NULL;
        arcp_error err = {0};
        failing_alloc_arm(count, FAILING_ALLOC_ONE);
        const arcp_status status =
            arcp__glob_set_compile(ARCP__CAPABILITY_NET_FETCH, patterns, 5, &set, &err);
        const bool was_reached = failing_alloc_disarm();
        if (status == ARCP_OK) {
            arcp__glob_set_free(set);
            if (!was_reached) {
                break;
            }
            continue; /* shrinking the set to its size failed */
        }
        assert_int_equal(status, ARCP_E_NO_MEMORY);
        assert_null(set);
    }
    assert_true(count > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_set_and_no_set_match_nothing),
        cmocka_unit_test(the_pattern_that_matched_is_named),
        cmocka_unit_test(of_equal_patterns_the_first_is_named),
        cmocka_unit_test(an_invalid_pattern_is_refused_with_its_index),
        cmocka_unit_test(ten_thousand_patterns_are_distinguished),
        cmocka_unit_test(a_byte_may_lead_to_more_states_than_fit_in_a_word),
        cmocka_unit_test(long_patterns_of_one_word_and_of_many),
        cmocka_unit_test(whole_segments_may_be_absent_at_the_end_of_a_word_too),
        cmocka_unit_test(the_longest_pattern_can_be_compiled_and_matched),
        cmocka_unit_test(segments_without_end_do_not_deepen_the_recursion_without_end),
        cmocka_unit_test(patterns_that_are_slow_in_other_matchers_are_matched_fast),
        cmocka_unit_test(a_target_is_not_read_past_its_end),
        cmocka_unit_test(a_set_may_be_used_by_several_threads),
        cmocka_unit_test(without_memory_there_is_no_set_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
