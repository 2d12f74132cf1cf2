/* The subset question beyond single answers: which pattern is named, what a witness is, where the
 * search stops, large lists, no memory. Answers: the vectors and glob_exhaustive_test.c.
 * docs/leases.md, Subsets. */
#include "support/check.h"

#include "core/glob_model.h"
#include "core/glob_search.h"
#include "core/glob_subset.h"
#include "core/target_model.h"
#include "support/failing_alloc.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

static arcp__glob_verdict ask(arcp__capability capability, const arcp_span *child,
                              size_t child_count, const arcp_span *parent, size_t parent_count)
{
    arcp__glob_verdict verdict = {0};
    assert_int_equal(arcp__glob_ask(&(arcp__glob_question){capability, child, child_count, parent,
                                                           parent_count, false},
                                    NULL, &verdict),
                     ARCP_OK);
    return verdict;
}

static void check_witness(arcp__capability capability, arcp_span child, const arcp_span *parent,
                          size_t parent_count, const char *want)
{
    arcp__glob_verdict verdict = ask(capability, &child, 1, parent, parent_count);
    assert_false(verdict.is_subset);
    check_span(arcp_buf_span(&verdict.witness), want);
    arcp_buf_fini(&verdict.witness);
}

static void the_first_pattern_that_is_not_within_is_named(void **state)
{
    (void)state;
    const arcp_span parent[] = {SPAN("/a/**"), SPAN("/b/*")};
    const arcp_span child[] = {SPAN("/a/x"), SPAN("/b/y"), SPAN("/b/**"), SPAN("/c")};
    arcp__glob_verdict verdict = ask(ARCP__CAPABILITY_FS_READ, child, 4, parent, 2);
    assert_false(verdict.is_subset);
    assert_false(verdict.too_complex);
    assert_int_equal(verdict.child_index, 2);
    check_span(arcp_buf_span(&verdict.witness), "/b");
    arcp_buf_fini(&verdict.witness);
    verdict = ask(ARCP__CAPABILITY_FS_READ, child, 2, parent, 2);
    assert_true(verdict.is_subset);
    assert_int_equal(verdict.witness.size, 0);
    arcp_buf_fini(&verdict.witness);
}

static void a_verdict_may_be_used_again(void **state)
{
    (void)state;
    const arcp_span parent = SPAN("/a");
    arcp_span child = SPAN("/a/longer/witness");
    arcp__glob_verdict verdict = {0};
    assert_int_equal(arcp__glob_ask(&(arcp__glob_question){ARCP__CAPABILITY_FS_READ, &child, 1,
                                                           &parent, 1, false},
                                    NULL, &verdict),
                     ARCP_OK);
    child = SPAN("/b");
    assert_int_equal(arcp__glob_ask(&(arcp__glob_question){ARCP__CAPABILITY_FS_READ, &child, 1,
                                                           &parent, 1, false},
                                    NULL, &verdict),
                     ARCP_OK);
    check_span(arcp_buf_span(&verdict.witness), "/b");
    arcp_buf_fini(&verdict.witness);
}

static void a_witness_is_short_and_reads_well(void **state)
{
    (void)state;
    const arcp_span a_star = SPAN("/a/*");
    check_witness(ARCP__CAPABILITY_FS_READ, SPAN("/a/**"), &a_star, 1, "/a");
    check_witness(ARCP__CAPABILITY_FS_READ, SPAN("/a/x**"), &a_star, 1, "/a/x/b");
    check_witness(ARCP__CAPABILITY_FS_READ, SPAN("**"), NULL, 0, "/");
    check_witness(ARCP__CAPABILITY_NET_FETCH, SPAN("**"), NULL, 0, "x://x");
    check_witness(ARCP__CAPABILITY_NET_FETCH, SPAN("https://**"), NULL, 0, "https://x/");
    check_witness(ARCP__CAPABILITY_TOOL_CALL, SPAN("*.*"), NULL, 0, "x.");
    check_witness(ARCP__CAPABILITY_MODEL_USE, SPAN("*"), NULL, 0, "x");
}

static void a_witness_does_not_use_letters_that_patterns_use(void **state)
{
    (void)state;
    const arcp_span parent[] = {SPAN("/*x*"), SPAN("/*a*"), SPAN("/*b*")};
    check_witness(ARCP__CAPABILITY_FS_READ, SPAN("/*z"), parent, 3, "/z");
    check_witness(ARCP__CAPABILITY_FS_READ, SPAN("/*z*z"), parent, 3, "/zz");
    check_witness(ARCP__CAPABILITY_FS_READ, SPAN("/q*/*"), parent, 3, "/q/c");
}

/* Parents that use up every printable byte but the star: `/`, then one byte, then any. */
static size_t use_all_bytes(char texts[][8], arcp_span *spans, const char *format)
{
    size_t count = 0;
    for (int byte = 0x21; byte < 0x7f; byte++) {
        if (byte != '*' && byte != '/' && byte != '?' && byte != '#' && byte != '%' &&
            byte != '\\') {
            (void)snprintf(texts[count], 8, "%c%c%s", format[0], byte, format + 1);
            spans[count] = arcp_span_cstr(texts[count]);
            count++;
        }
    }
    return count;
}

static void a_witness_is_found_when_all_letters_are_used(void **state)
{
    (void)state;
    char texts[96][8];
    arcp_span spans[96];
    const size_t count = use_all_bytes(texts, spans, "/**");
    /* What is left is a path that begins with a byte of none of them. */
    const arcp_span child = SPAN("/*");
    arcp__glob_verdict verdict = ask(ARCP__CAPABILITY_FS_READ, &child, 1, spans, count);
    assert_false(verdict.is_subset);
    const arcp_span witness = arcp_buf_span(&verdict.witness);
    assert_true(witness.size == 1 || !model_matches_any(ARCP__TARGET_PATH, spans, count, witness));
    arcp_buf_fini(&verdict.witness);
    const arcp_span named = SPAN("/a*");
    verdict = ask(ARCP__CAPABILITY_FS_READ, &named, 1, spans, count);
    assert_true(verdict.is_subset);
}

static void the_bytes_of_a_part_may_all_be_used(void **state)
{
    (void)state;
    /* Ports begin with one of ten digits; schemes with one of twenty-six letters. */
    char ports[10][24];
    char schemes[26][24];
    arcp_span spans[26];
    for (int i = 0; i < 10; i++) {
        (void)snprintf(ports[i], sizeof ports[i], "https://h:%d*/**", i);
        spans[i] = arcp_span_cstr(ports[i]);
    }
    arcp_span child = SPAN("https://h:*/**");
    assert_true(ask(ARCP__CAPABILITY_NET_FETCH, &child, 1, spans, 10).is_subset);
    arcp__glob_verdict verdict = ask(ARCP__CAPABILITY_NET_FETCH, &child, 1, spans, 9);
    assert_false(verdict.is_subset);
    check_span(arcp_buf_span(&verdict.witness), "https://h:9/");
    arcp_buf_fini(&verdict.witness);
    for (int i = 0; i < 26; i++) {
        (void)snprintf(schemes[i], sizeof schemes[i], "%c**", 'a' + i);
        spans[i] = arcp_span_cstr(schemes[i]);
    }
    child = SPAN("**");
    assert_true(ask(ARCP__CAPABILITY_NET_FETCH, &child, 1, spans, 26).is_subset);
    verdict = ask(ARCP__CAPABILITY_NET_FETCH, &child, 1, spans, 25);
    assert_false(verdict.is_subset);
    check_span(arcp_buf_span(&verdict.witness), "z://z");
    arcp_buf_fini(&verdict.witness);
    /* No letter is fresh; of those that are used one has to be tried. */
    spans[25] = SPAN("zz**");
    verdict = ask(ARCP__CAPABILITY_NET_FETCH, &child, 1, spans, 26);
    assert_false(verdict.is_subset);
    assert_int_equal(verdict.witness.size, 5);
    check_span(arcp_span_first(arcp_buf_span(&verdict.witness), 4), "z://");
    arcp_buf_fini(&verdict.witness);
}

/* The search itself, with a bound of its own. */
static arcp__glob_answer search(arcp_span child, const arcp_span *parent, size_t count,
                                uint64_t work_max)
{
    unsigned char room[ARCP__GLOB_ROOM(256)];
    arcp__glob_states states;
    arcp__glob_union machine;
    arcp__glob_answer answer = ARCP__GLOB_NONE;
    arcp_buf witness = arcp_buf_init();
    arcp__glob_parse(child, room, &states);
    assert_int_equal(arcp__glob_union_init(&machine, parent, count), ARCP_OK);
    assert_int_equal(
        arcp__glob_search(ARCP__TARGET_PATH, &states, &machine, work_max, &answer, &witness),
        ARCP_OK);
    assert_true((answer == ARCP__GLOB_FOUND) == (witness.size > 0));
    arcp_buf_fini(&witness);
    arcp__glob_union_fini(&machine);
    return answer;
}

static void a_search_that_reaches_its_bound_reports_it(void **state)
{
    (void)state;
    const arcp_span parent[] = {SPAN("/a"), SPAN("/a/*"), SPAN("/a/*/**")};
    assert_int_equal(search(SPAN("/a/**"), parent, 3, 1000000), ARCP__GLOB_NONE);
    assert_int_equal(search(SPAN("/a/**"), parent, 3, 5), ARCP__GLOB_TOO_COMPLEX);
    assert_int_equal(search(SPAN("/a/**"), parent, 2, 1000000), ARCP__GLOB_FOUND);
}

/* A child `**A`, and parents that cover it by the number of slashes before A: none, one,
 * two, ... and finally so many or more. The search has to see each place in A with each
 * number of slashes. */
static arcp__glob_verdict ask_about_slashes(size_t letters, size_t times)
{
    enum { SLASHES = 30 };
    char *texts[SLASHES + 1];
    arcp_span parents[SLASHES + 1];
    for (size_t i = 0; i <= SLASHES; i++) {
        texts[i] = calloc(2 * i + letters + 3, 1);
        assert_non_null(texts[i]);
        for (size_t k = 0; k < i; k++) {
            memcpy(texts[i] + 2 * k, "*/", 2);
        }
        const size_t stars = i == SLASHES ? 2 : 1;
        memset(texts[i] + 2 * i, '*', stars);
        memset(texts[i] + 2 * i + stars, 'a', letters);
        parents[i] = arcp_span_cstr(texts[i]);
    }
    char *text = calloc(letters + 3, 1);
    assert_non_null(text);
    memcpy(text, "**", 2);
    memset(text + 2, 'a', letters);
    arcp_span *child = calloc(times, sizeof *child);
    assert_non_null(child);
    for (size_t i = 0; i < times; i++) {
        child[i] = arcp_span_cstr(text);
    }
    const arcp__glob_verdict verdict =
        ask(ARCP__CAPABILITY_MODEL_USE, child, times, parents, SLASHES + 1);
    free(child);
    for (size_t i = 0; i <= SLASHES; i++) {
        free(texts[i]);
    }
    free(text);
    return verdict;
}

static void too_many_nodes_are_a_no_without_a_witness(void **state)
{
    (void)state;
    arcp__glob_verdict verdict = ask_about_slashes(600, 1);
    assert_true(verdict.is_subset);
    verdict = ask_about_slashes(700, 1);
    assert_false(verdict.is_subset);
    assert_true(verdict.too_complex);
    assert_int_equal(verdict.child_index, 0);
    assert_int_equal(verdict.witness.size, 0);
    arcp_buf_fini(&verdict.witness);
}

static void many_hard_patterns_are_bounded_together(void **state)
{
    (void)state;
    arcp__glob_verdict verdict = ask_about_slashes(600, 4);
    assert_true(verdict.is_subset);
    verdict = ask_about_slashes(600, 400);
    assert_false(verdict.is_subset);
    assert_true(verdict.too_complex);
    assert_in_range(verdict.child_index, 5, 60);
    arcp_buf_fini(&verdict.witness);
}

static void many_long_patterns_are_bounded_together(void **state)
{
    (void)state;
    /* Each byte of a child leads to one more state of each parent. */
    enum { COUNT = 1000, LETTERS = 250 };
    static char letters[LETTERS + 3];
    memset(letters, 'a', sizeof letters);
    memcpy(letters, "**", 2);
    arcp_span *child = calloc(COUNT, sizeof *child);
    arcp_span *parent = calloc(COUNT, sizeof *parent);
    assert_non_null(child);
    assert_non_null(parent);
    for (size_t i = 0; i < COUNT; i++) {
        parent[i] = arcp_span_make(letters, LETTERS);
        child[i] = arcp_span_make(letters + 1, LETTERS);
    }
    arcp__glob_verdict verdict = ask(ARCP__CAPABILITY_MODEL_USE, child, COUNT, parent, COUNT);
    assert_false(verdict.is_subset);
    assert_true(verdict.too_complex);
    arcp_buf_fini(&verdict.witness);
    assert_true(ask(ARCP__CAPABILITY_MODEL_USE, child, 10, parent, COUNT).is_subset);
    free(child);
    free(parent);
}

static void a_thousand_patterns_in_a_thousand(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static char parent_texts[COUNT][40];
    static char child_texts[COUNT][40];
    static arcp_span parent[COUNT];
    static arcp_span child[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(parent_texts[i], 40, "/srv/*/tenant-%d/**", i);
        (void)snprintf(child_texts[i], 40, "/srv/x*/tenant-%d/*.txt", i);
        parent[i] = arcp_span_cstr(parent_texts[i]);
        child[i] = arcp_span_cstr(child_texts[i]);
    }
    assert_true(ask(ARCP__CAPABILITY_FS_READ, child, COUNT, parent, COUNT).is_subset);
    arcp__glob_verdict verdict = ask(ARCP__CAPABILITY_FS_READ, child, COUNT, parent, COUNT - 1);
    assert_false(verdict.is_subset);
    assert_int_equal(verdict.child_index, COUNT - 1);
    check_span(arcp_buf_span(&verdict.witness), "/srv/x/tenant-999/.txt");
    arcp_buf_fini(&verdict.witness);
}

/* What most long leases look like: one line for each of many things in the same place. */
static void a_thousand_patterns_of_one_directory_in_a_thousand(void **state)
{
    (void)state;
    enum { COUNT = 1024 };
    static char parent_texts[COUNT][80];
    static char child_texts[COUNT][80];
    static arcp_span parent[COUNT];
    static arcp_span child[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(parent_texts[i], 80, "/srv/data/tenants/acme/projects/project-%d/*/*.csv",
                       i);
        (void)snprintf(child_texts[i], 80, "/srv/data/tenants/acme/projects/project-%d/in/*.csv",
                       i);
        parent[i] = arcp_span_cstr(parent_texts[i]);
        child[i] = arcp_span_cstr(child_texts[i]);
    }
    arcp__glob_verdict verdict = ask(ARCP__CAPABILITY_FS_READ, child, COUNT, parent, COUNT);
    assert_true(verdict.is_subset);
    verdict = ask(ARCP__CAPABILITY_FS_READ, child, COUNT, parent, COUNT - 1);
    assert_false(verdict.is_subset);
    assert_int_equal(verdict.child_index, COUNT - 1);
    check_span(arcp_buf_span(&verdict.witness),
               "/srv/data/tenants/acme/projects/project-1023/in/.csv");
    arcp_buf_fini(&verdict.witness);
}

static void the_longest_patterns_can_be_compared(void **state)
{
    (void)state;
    static char texts[2][8191];
    memset(texts, 'a', sizeof texts);
    texts[0][0] = '/';
    texts[1][0] = '/';
    texts[0][8190] = '*';
    arcp_span wide = arcp_span_make(texts[0], 8191);
    arcp_span narrow = arcp_span_make(texts[1], 8191);
    assert_true(ask(ARCP__CAPABILITY_FS_READ, &narrow, 1, &wide, 1).is_subset);
    arcp__glob_verdict verdict = ask(ARCP__CAPABILITY_FS_READ, &wide, 1, &narrow, 1);
    assert_false(verdict.is_subset);
    assert_int_equal(verdict.witness.size, 8190);
    arcp_buf_fini(&verdict.witness);
}

static void dead_patterns_are_known_and_others_have_an_example(void **state)
{
    (void)state;
    static const struct {
        arcp__capability capability;
        const char *pattern;
        const char *example; /* NULL: dead */
    } rows[] = {
        {ARCP__CAPABILITY_FS_READ, "/a/../b", NULL},
        {ARCP__CAPABILITY_FS_READ, "/a//b", NULL},
        {ARCP__CAPABILITY_FS_READ, "/a/", NULL},
        {ARCP__CAPABILITY_FS_READ, "/a/*/", NULL},
        {ARCP__CAPABILITY_FS_READ, "./a", NULL},
        {ARCP__CAPABILITY_FS_READ, "/a/.*", "/a/.x"},
        {ARCP__CAPABILITY_FS_READ, "/a/**/b", "/a/b"},
        {ARCP__CAPABILITY_NET_FETCH, "HTTPS://h/**", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "https://H/**", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "https://h", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "https://h/%2e/**", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "https://h/%2", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "https://u@h/**", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "file:///**", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "h.example/**", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "https://h:99999/**", NULL},
        {ARCP__CAPABILITY_NET_FETCH, "https://h:9999*/**", "https://h:9999/"},
        {ARCP__CAPABILITY_NET_FETCH, "https://h/%2*", "https://h/%2a"},
        {ARCP__CAPABILITY_TOOL_CALL, "a/../b", NULL},
        {ARCP__CAPABILITY_TOOL_CALL, "a\x01", NULL},
        {ARCP__CAPABILITY_TOOL_CALL, "a..b", "a..b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_dead = false;
        arcp_buf example = arcp_buf_init();
        assert_int_equal(arcp__glob_is_dead(rows[i].capability, arcp_span_cstr(rows[i].pattern),
                                            NULL, &is_dead, &example),
                         ARCP_OK);
        if (rows[i].example == NULL) {
            if (!is_dead) {
                fail_msg("\"%s\" matches \"%.*s\"", rows[i].pattern, (int)example.size,
                         example.data);
            }
        } else {
            check_span(arcp_buf_span(&example), rows[i].example);
        }
        assert_int_equal(is_dead, example.size == 0);
        arcp_buf_fini(&example);
    }
}

/* Every allocation fails once; `parent` covers the first pattern of the child. */
static void check_without_memory(const arcp_span *parent, size_t parent_count)
{
    const arcp_span child[] = {SPAN("/a/**"), SPAN("/b/*")};
    size_t count = 1;
    for (bool was_reached = true; was_reached; count++) {
        arcp__glob_verdict verdict = {0};
        failing_alloc_arm(count, FAILING_ALLOC_ONE);
        const arcp_status status = arcp__glob_ask(
            &(arcp__glob_question){ARCP__CAPABILITY_FS_READ, child, 2, parent, parent_count, false},
            NULL, &verdict);
        was_reached = failing_alloc_disarm();
        assert_false(verdict.is_subset);
        assert_int_equal(status, was_reached ? ARCP_E_NO_MEMORY : ARCP_OK);
        arcp_buf_fini(&verdict.witness);
    }
    assert_true(count > 5);
}

static void without_memory_the_answer_is_no(void **state)
{
    (void)state;
    arcp_span parent[40] = {SPAN("/a"), SPAN("/a/*"), SPAN("/a/*/**")};
    check_without_memory(parent, 3);
    /* Among so many other patterns that the search selects the relevant ones first. */
    for (size_t i = 3; i < sizeof parent / sizeof parent[0]; i++) {
        parent[i] = SPAN("/elsewhere/*");
    }
    check_without_memory(parent, sizeof parent / sizeof parent[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_pattern_that_is_not_within_is_named),
        cmocka_unit_test(a_verdict_may_be_used_again),
        cmocka_unit_test(a_witness_is_short_and_reads_well),
        cmocka_unit_test(a_witness_does_not_use_letters_that_patterns_use),
        cmocka_unit_test(a_witness_is_found_when_all_letters_are_used),
        cmocka_unit_test(the_bytes_of_a_part_may_all_be_used),
        cmocka_unit_test(a_search_that_reaches_its_bound_reports_it),
        cmocka_unit_test(too_many_nodes_are_a_no_without_a_witness),
        cmocka_unit_test(many_hard_patterns_are_bounded_together),
        cmocka_unit_test(many_long_patterns_are_bounded_together),
        cmocka_unit_test(a_thousand_patterns_in_a_thousand),
        cmocka_unit_test(a_thousand_patterns_of_one_directory_in_a_thousand),
        cmocka_unit_test(the_longest_patterns_can_be_compared),
        cmocka_unit_test(dead_patterns_are_known_and_others_have_an_example),
        cmocka_unit_test(without_memory_the_answer_is_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
