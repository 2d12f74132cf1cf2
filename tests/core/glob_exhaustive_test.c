/* Every pair of short patterns against every short canonical target: matching and the subset
 * question give the right answer, and every witness is real and a shortest one.
 *
 * The truth is computed from the model: for each pattern the set of targets that it
 * matches. A "no" is proven by its witness, which may be longer than these targets; a
 * "yes" must hold for all of them.
 *
 * Patterns have four to six bytes of the alphabet and targets five to seven, behind what
 * they all begin with; each test says which. Where there are too many pairs for every run
 * only each so many are asked about; with the argument `all` every pair is. */
#include "support/check.h"

#include "core/glob_model.h"
#include "core/glob_set.h"
#include "core/glob_subset.h"
#include "core/strings.h"
#include "core/target_model.h"

typedef struct words {
    arcp_span *spans; /* each with its own copy of the bytes */
    size_t count;
} words;

static void add_word(words *list, const char *beginning, arcp_span ending)
{
    const size_t begin = strlen(beginning);
    char *text = malloc(begin + ending.size + 1);
    list->spans = realloc(list->spans, (list->count + 1) * sizeof *list->spans);
    assert_non_null(text);
    assert_non_null(list->spans);
    memcpy(text, beginning, begin);
    memcpy(text + begin, ending.data, ending.size);
    list->spans[list->count++] = arcp_span_make(text, begin + ending.size);
}

static void free_words(words *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free((char *)list->spans[i].data);
    }
    free(list->spans);
}

/* A capability, all patterns and targets over some bytes, and which pattern matches which
 * target. */
typedef struct truth_table {
    arcp__capability capability;
    arcp__target_kind kind;
    words patterns;
    words targets;    /* canonical ones, shortest first */
    size_t row_words; /* of 64 targets */
    uint64_t *truth;  /* a row of bits for each pattern */
} truth_table;

static void add_targets(truth_table *table, const char *beginning, const char *alphabet,
                        size_t size)
{
    all_strings strings;
    all_strings_begin(&strings, alphabet, size);
    do {
        add_word(&table->targets, beginning, all_strings_span(&strings));
        if (!model_is_canonical(table->kind, table->targets.spans[table->targets.count - 1])) {
            free((char *)table->targets.spans[--table->targets.count].data);
        }
    } while (all_strings_next(&strings));
}

static void add_patterns(truth_table *table, const char *beginning, const char *alphabet,
                         size_t size)
{
    all_strings strings;
    all_strings_begin(&strings, alphabet, size);
    do {
        if (beginning[0] != '\0' || strings.size > 0) {
            add_word(&table->patterns, beginning, all_strings_span(&strings));
        }
    } while (all_strings_next(&strings));
}

static int by_size(const void *a, const void *b)
{
    const size_t size_a = ((const arcp_span *)a)->size;
    const size_t size_b = ((const arcp_span *)b)->size;
    return (size_a > size_b) - (size_a < size_b);
}

static void find_truth(truth_table *table)
{
    qsort(table->targets.spans, table->targets.count, sizeof(arcp_span), by_size);
    table->row_words = table->targets.count / 64 + 1;
    table->truth = calloc(table->patterns.count * table->row_words, sizeof *table->truth);
    assert_non_null(table->truth);
    for (size_t p = 0; p < table->patterns.count; p++) {
        for (size_t t = 0; t < table->targets.count; t++) {
            if (model_matches(table->kind, table->patterns.spans[p], table->targets.spans[t])) {
                table->truth[p * table->row_words + t / 64] |= UINT64_C(1) << (t % 64);
            }
        }
    }
}

static const uint64_t *row_of(const truth_table *table, size_t pattern)
{
    return table->truth + pattern * table->row_words;
}

static void table_fini(truth_table *table)
{
    free_words(&table->patterns);
    free_words(&table->targets);
    free(table->truth);
}

/* Each pattern alone, and all of them in one set. */
static void check_matching(const truth_table *table)
{
    arcp__glob_set *all = NULL;
    arcp_error err = {0};
    check_ok(arcp__glob_set_compile(table->capability, table->patterns.spans, table->patterns.count,
                                    &all, &err),
             &err);
    uint64_t *any = calloc(table->row_words, sizeof *any);
    assert_non_null(any);
    for (size_t p = 0; p < table->patterns.count; p++) {
        arcp__glob_set *set = NULL;
        check_ok(
            arcp__glob_set_compile(table->capability, &table->patterns.spans[p], 1, &set, &err),
            &err);
        for (size_t t = 0; t < table->targets.count; t++) {
            const bool want = (row_of(table, p)[t / 64] >> (t % 64) & 1) != 0;
            if (arcp__glob_set_match(set, table->targets.spans[t], NULL) != want) {
                fail_msg("\"%.*s\" %s \"%.*s\"", (int)table->patterns.spans[p].size,
                         table->patterns.spans[p].data, want ? "matches" : "does not match",
                         (int)table->targets.spans[t].size, table->targets.spans[t].data);
            }
        }
        for (size_t i = 0; i < table->row_words; i++) {
            any[i] |= row_of(table, p)[i];
        }
        arcp__glob_set_free(set);
    }
    for (size_t t = 0; t < table->targets.count; t++) {
        size_t index = SIZE_MAX;
        const bool matches = arcp__glob_set_match(all, table->targets.spans[t], &index);
        assert_int_equal(matches, any[t / 64] >> (t % 64) & 1);
        assert_true(!matches || (row_of(table, index)[t / 64] >> (t % 64) & 1) != 0);
    }
    free(any);
    arcp__glob_set_free(all);
}

/* The size of the shortest target that is in `child` and not in `parent`; SIZE_MAX: none. */
static size_t first_outside(const truth_table *table, const uint64_t *child, const uint64_t *parent)
{
    for (size_t i = 0; i < table->row_words; i++) {
        const uint64_t outside = child[i] & ~parent[i];
        if (outside != 0) {
            return table->targets.spans[i * 64 + (size_t)__builtin_ctzll(outside)].size;
        }
    }
    return SIZE_MAX;
}

/* `parent_row`: what the parents match together. */
static void check_question(const truth_table *table, size_t child, const arcp_span *parents,
                           size_t count, const uint64_t *parent_row)
{
    const arcp_span pattern = table->patterns.spans[child];
    arcp__glob_verdict verdict = {0};
    assert_int_equal(arcp__glob_ask(&(arcp__glob_question){table->capability, &pattern, 1, parents,
                                                           count, false},
                                    NULL, &verdict),
                     ARCP_OK);
    const size_t outside = first_outside(table, row_of(table, child), parent_row);
    const arcp_span witness = arcp_buf_span(&verdict.witness);
    bool is_right = !verdict.too_complex;
    if (verdict.is_subset) {
        is_right = is_right && outside == SIZE_MAX;
    } else {
        is_right = is_right && witness.size > 0 && witness.size <= outside &&
                   model_is_canonical(table->kind, witness) &&
                   model_matches(table->kind, pattern, witness) &&
                   !model_matches_any(table->kind, parents, count, witness);
    }
    if (!is_right) {
        fail_msg("child \"%.*s\", parent \"%.*s\" of %zu: %s, witness \"%.*s\", want %zu bytes",
                 (int)pattern.size, pattern.data, (int)parents[0].size, parents[0].data, count,
                 verdict.is_subset ? "yes" : "no", (int)witness.size, witness.data, outside);
    }
    arcp_buf_fini(&verdict.witness);
}

/* Whether strides count as one. */
static bool wants_all;

/* Every `stride`-th pair, and a quarter as many questions with several parents. */
static void check_subsets(const truth_table *table, size_t stride)
{
    uint64_t random = 3;
    for (size_t child = 0; child < table->patterns.count; child++) {
        for (size_t parent = random_below(&random, stride); parent < table->patterns.count;
             parent += stride) {
            check_question(table, child, &table->patterns.spans[parent], 1, row_of(table, parent));
        }
    }
    uint64_t *row = calloc(table->row_words, sizeof *row);
    assert_non_null(row);
    for (size_t i = 0; i < table->patterns.count * table->patterns.count / stride / 4; i++) {
        arcp_span parents[4];
        const size_t count = 2 + random_below(&random, 3);
        memset(row, 0, table->row_words * sizeof *row);
        for (size_t k = 0; k < count; k++) {
            const size_t parent = random_below(&random, table->patterns.count);
            parents[k] = table->patterns.spans[parent];
            for (size_t word = 0; word < table->row_words; word++) {
                row[word] |= row_of(table, parent)[word];
            }
        }
        check_question(table, random_below(&random, table->patterns.count), parents, count, row);
    }
    free(row);
}

static void check_dead(const truth_table *table)
{
    size_t dead = 0;
    for (size_t p = 0; p < table->patterns.count; p++) {
        bool is_dead = false;
        arcp_buf example = arcp_buf_init();
        assert_int_equal(arcp__glob_is_dead(table->capability, table->patterns.spans[p], NULL,
                                            &is_dead, &example),
                         ARCP_OK);
        uint64_t any = 0;
        for (size_t i = 0; i < table->row_words; i++) {
            any |= row_of(table, p)[i];
        }
        assert_false(is_dead && any != 0);
        if (!is_dead) {
            assert_true(model_is_canonical(table->kind, arcp_buf_span(&example)));
            assert_true(
                model_matches(table->kind, table->patterns.spans[p], arcp_buf_span(&example)));
        }
        dead += is_dead;
        arcp_buf_fini(&example);
    }
    assert_true(dead < table->patterns.count);
}

static truth_table table_of(arcp__capability capability)
{
    return (truth_table){.capability = capability, .kind = arcp__capability_kind(capability)};
}

static void check_table(truth_table *table, size_t stride)
{
    find_truth(table);
    check_matching(table);
    check_dead(table);
    check_subsets(table, wants_all ? 1 : stride);
    table_fini(table);
}

static void paths_of_one_letter_and_slashes(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_FS_READ);
    add_patterns(&table, "", "a/*", 5);
    add_targets(&table, "", "ax/", 7);
    check_table(&table, 1);
}

static void paths_with_more_wildcards(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_FS_WRITE);
    add_patterns(&table, "/", "a/*", 6);
    add_targets(&table, "", "ax/", 7);
    check_table(&table, 5);
}

static void paths_with_dots(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_FS_READ);
    add_patterns(&table, "", "./*", 5);
    add_targets(&table, "", ".x/", 7);
    check_table(&table, 1);
}

static void paths_of_two_letters(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_FS_READ);
    add_patterns(&table, "/", "ab/*", 4);
    add_targets(&table, "/", "abx/", 5);
    check_table(&table, 1);
}

static void tools_with_both_separators(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_TOOL_CALL);
    add_patterns(&table, "", "a./*", 4);
    add_targets(&table, "", "ax./", 5);
    check_table(&table, 1);
}

static void names_with_empty_segments(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_MODEL_USE);
    add_patterns(&table, "", "a/*", 5);
    add_targets(&table, "", "ax/", 7);
    check_table(&table, 1);
}

static void names_with_characters_of_two_bytes(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_VENDOR);
    /* Patterns of whole characters; targets also of another one with the same first byte. */
    all_strings strings;
    all_strings_begin(&strings, "e/*", 5);
    while (all_strings_next(&strings)) {
        char text[12];
        size_t size = 0;
        for (size_t i = 0; i < strings.size; i++) {
            if (strings.text[i] == 'e') {
                text[size++] = '\xc3';
                text[size++] = '\xa9';
            } else {
                text[size++] = strings.text[i];
            }
        }
        add_word(&table.patterns, "", arcp_span_make(text, size));
    }
    add_targets(&table, "", "\xc3\xa9\xa8/", 7);
    check_table(&table, 1);
}

static void urls_with_queries(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_NET_FETCH);
    add_patterns(&table, "s://h", "a/?*", 4);
    add_targets(&table, "s://h", "ax/?", 5);
    check_table(&table, 1);
}

static void urls_of_http_with_queries(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_NET_FETCH);
    add_patterns(&table, "http://h", "a/?*", 4);
    add_targets(&table, "http://h", "ax/?", 5);
    check_table(&table, 1);
}

static void urls_with_wildcards_before_the_host(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_NET_FETCH);
    add_patterns(&table, "", "s:/*", 5);
    add_patterns(&table, "s:/", "/s*?", 4);
    add_patterns(&table, "*:/", "/s*?", 3);
    add_targets(&table, "", "s:/1x", 7);
    add_targets(&table, "s://", "sx/?", 5);
    check_table(&table, 13);
}

static void urls_with_ports(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_NET_FETCH);
    add_patterns(&table, "x://h", ":01*/", 4);
    add_targets(&table, "x://h", ":0123/", 5);
    check_table(&table, 7);
}

static void urls_with_addresses(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_NET_FETCH);
    add_patterns(&table, "x://[", ":1*]", 4);
    add_targets(&table, "x://[", ":1f]/", 5);
    check_table(&table, 7);
}

static void urls_with_escapes(void **state)
{
    (void)state;
    truth_table table = table_of(ARCP__CAPABILITY_NET_FETCH);
    add_patterns(&table, "x://h/", "%2*/e", 4);
    add_targets(&table, "x://h/", "%2e/5", 5);
    check_table(&table, 5);
}

int main(int argc, char **argv)
{
    wants_all = argc > 1 && strcmp(argv[1], "all") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_of_one_letter_and_slashes),
        cmocka_unit_test(paths_with_more_wildcards),
        cmocka_unit_test(paths_with_dots),
        cmocka_unit_test(paths_of_two_letters),
        cmocka_unit_test(tools_with_both_separators),
        cmocka_unit_test(names_with_empty_segments),
        cmocka_unit_test(names_with_characters_of_two_bytes),
        cmocka_unit_test(urls_with_queries),
        cmocka_unit_test(urls_of_http_with_queries),
        cmocka_unit_test(urls_with_wildcards_before_the_host),
        cmocka_unit_test(urls_with_ports),
        cmocka_unit_test(urls_with_addresses),
        cmocka_unit_test(urls_with_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
