/* The subset question against the model that takes no shortcut, where "yes" is as certain as "no":
 * every pair of short patterns, and lists made of the tricks by which patterns escape
 * comparisons. */
#include "support/check.h"

#include "core/glob_model.h"
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/strings.h"
#include "core/subset_model.h"
#include "core/target_model.h"

enum { PATTERNS_MAX = 5, TEXT_MAX = 120, ROUNDS = 1000, REPEATED = 20 };

static bool is_witness(arcp__target_kind kind, arcp_span child, const arcp_span *parents,
                       size_t count, arcp_span witness)
{
    return model_is_canonical(kind, witness) && model_matches(kind, child, witness) &&
           !model_matches_any(kind, parents, count, witness);
}

typedef struct tally {
    size_t yes;
    size_t no;
    size_t unknown;
} tally;

static void show(const char *what, arcp_span text)
{
    print_error("%s \"%.*s\"\n", what, (int)text.size, text.data);
}

/* The same parents, repeated until those that cannot meet the child are left out: the answer is the
 * same. */
static void check_repeated(arcp__capability capability, arcp_span child, const arcp_span *parents,
                           size_t count, const arcp__glob_verdict *want)
{
    arcp_span many[REPEATED];
    for (size_t i = 0; i < REPEATED; i++) {
        many[i] = parents[i % count];
    }
    arcp__glob_verdict verdict = {0};
    assert_int_equal(
        arcp__glob_ask(&(arcp__glob_question){capability, &child, 1, many, REPEATED, false}, NULL,
                       &verdict),
        ARCP_OK);
    assert_int_equal(verdict.is_subset, want->is_subset);
    assert_int_equal(verdict.too_complex, want->too_complex);
    assert_int_equal(verdict.witness.size, want->witness.size);
    assert_true(want->is_subset || is_witness(arcp__capability_kind(capability), child, parents,
                                              count, arcp_buf_span(&verdict.witness)));
    arcp_buf_fini(&verdict.witness);
}

/* One pattern in a list. `without` is left out of targets by the model only. */
static void check_question(arcp__capability capability, arcp_span child, const arcp_span *parents,
                           size_t count, const char *without, tally *t)
{
    const arcp__target_kind kind = arcp__capability_kind(capability);
    arcp_buf shortest = arcp_buf_init();
    arcp__glob_verdict verdict = {0};
    assert_int_equal(
        arcp__glob_ask(&(arcp__glob_question){capability, &child, 1, parents, count, false}, NULL,
                       &verdict),
        ARCP_OK);
    const model_answer answer = model_subset(kind, child, parents, count, without, &shortest);
    const arcp_span witness = arcp_buf_span(&verdict.witness);
    bool is_right = !verdict.too_complex;
    if (verdict.is_subset) {
        is_right = is_right && answer != MODEL_NOT_WITHIN;
    } else {
        is_right = is_right && is_witness(kind, child, parents, count, witness);
        /* Over all bytes both are shortest. */
        is_right = is_right && (without[0] != '\0' || answer == MODEL_UNKNOWN ||
                                (answer == MODEL_NOT_WITHIN && witness.size == shortest.size));
        is_right = is_right && (answer != MODEL_NOT_WITHIN || witness.size <= shortest.size);
    }
    if (!is_right) {
        show("child", child);
        for (size_t i = 0; i < count; i++) {
            show("parent", parents[i]);
        }
        show("witness", witness);
        show("the model's", arcp_buf_span(&shortest));
        fail_msg("the answer is %s", verdict.is_subset ? "yes" : "no");
    }
    check_repeated(capability, child, parents, count, &verdict);
    t->unknown += answer == MODEL_UNKNOWN;
    t->yes += verdict.is_subset && answer != MODEL_UNKNOWN;
    t->no += !verdict.is_subset && answer != MODEL_UNKNOWN;
    arcp_buf_fini(&verdict.witness);
    arcp_buf_fini(&shortest);
}

/* ---- every pair ---- */

enum { WORDS_MAX = 700 };

typedef struct words {
    char texts[WORDS_MAX][24];
    arcp_span spans[WORDS_MAX];
    size_t count;
} words;

/* All patterns that begin with `beginning` and go on with at most `size` of the alphabet. */
static void add_words(words *list, const char *beginning, const char *alphabet, size_t size)
{
    all_strings strings;
    all_strings_begin(&strings, alphabet, size);
    do {
        if (beginning[0] != '\0' || strings.size > 0) {
            assert_true(list->count < WORDS_MAX);
            char *text = list->texts[list->count];
            const int length = snprintf(text, sizeof list->texts[0], "%s%.*s", beginning,
                                        (int)strings.size, strings.text);
            list->spans[list->count++] = arcp_span_make(text, (size_t)length);
        }
    } while (all_strings_next(&strings));
}

static void check_pairs(arcp__capability capability, const words *list, const char *without)
{
    tally t = {0};
    for (size_t child = 0; child < list->count; child++) {
        for (size_t parent = 0; parent < list->count; parent++) {
            check_question(capability, list->spans[child], &list->spans[parent], 1, without, &t);
        }
    }
    assert_int_equal(t.unknown, 0);
    assert_true(t.yes > list->count && t.no > list->count);
}

static void every_pair_of_paths(void **state)
{
    (void)state;
    words list = {.count = 0};
    add_words(&list, "", "a/*", 4);
    check_pairs(ARCP__CAPABILITY_FS_READ, &list, "");
}

static void every_pair_of_paths_with_dots(void **state)
{
    (void)state;
    words list = {.count = 0};
    add_words(&list, "/", "./*", 4);
    check_pairs(ARCP__CAPABILITY_FS_WRITE, &list, "");
}

static void every_pair_of_tools(void **state)
{
    (void)state;
    words list = {.count = 0};
    add_words(&list, "", "a./*", 3);
    check_pairs(ARCP__CAPABILITY_TOOL_CALL, &list, "");
}

static void every_pair_of_names(void **state)
{
    (void)state;
    words list = {.count = 0};
    add_words(&list, "", "a/*", 4);
    check_pairs(ARCP__CAPABILITY_AGENT_DELEGATE, &list, "");
}

static void every_pair_of_urls(void **state)
{
    (void)state;
    words list = {.count = 0};
    add_words(&list, "s://h", "a/?*", 3);
    check_pairs(ARCP__CAPABILITY_NET_FETCH, &list, "%[23456789");
}

static void every_pair_of_ports(void **state)
{
    (void)state;
    words list = {.count = 0};
    add_words(&list, "https://h", ":1*/", 3);
    check_pairs(ARCP__CAPABILITY_NET_FETCH, &list, "%[23456789");
}

static void every_pair_of_schemes(void **state)
{
    (void)state;
    words list = {.count = 0};
    add_words(&list, "", "s:/*", 3);
    add_words(&list, "s:/", "/s*", 3);
    add_words(&list, "*:/", "/s*", 3);
    check_pairs(ARCP__CAPABILITY_NET_FETCH, &list, "%[23456789ABCDEF_-+");
}

/* ---- lists of traps ---- */

typedef struct vocabulary {
    arcp__capability capability;
    const char *without; /* in most rounds */
    const char *beginnings[10];
    const char *pieces[18];
    const char *endings[10];
} vocabulary;

static const vocabulary vocabularies[] = {
    {ARCP__CAPABILITY_FS_READ,
     "",
     {"/", "/a/", "", "**/", "/**/", "/a/**/", "//", "./"},
     {"a", "b", "/", "/", "*", "**", "/**/", "/*/", "***", "..", ".", "A", "\xc3\xa9", "*.", "%2e"},
     {"", "/", "/**", "/*", "/**/**", "**", "*", "/**/*", "/."}},
    {ARCP__CAPABILITY_NET_FETCH,
     "%[3456789",
     {"https://", "https://h", "https://h/", "http*://", "HTTPS://h/", "https://**", "*://h/",
      "s3://", "**"},
     {"h", "/", "/", "*", "**", "?", "/**/", ":2*", "//", ".", "a", "*.h", "?*", ":", "A", "x=1"},
     {"", "/", "/**", "/*", "?*", "?**", "**", "*", ".h/**"}},
    {ARCP__CAPABILITY_NET_FETCH,
     "[01346789abcdfABCDF",
     {"s://h/", "s://h/", "https://h/", "s://h/**/", "s://h/a/"},
     {"%2e", "%2E", "%25", "%", "2e", "/", "*", "**", "/**/", "..", ".", "%5*", ";", "e"},
     {"", "/", "/**", "/*", "**", "*", "%2*"}},
    {ARCP__CAPABILITY_NET_FETCH,
     "%346789",
     {"https://h:", "s://h:", "s://[", "https://[", "s://", "s://*:", "https://["},
     {"1", "*", "2", ":", "::", "]", "**", "/", "[", "5", "0", "F"},
     {"", "/", "/**", "]/**", "]:1/", "*", "**"}},
    {ARCP__CAPABILITY_TOOL_CALL,
     "",
     {"", "web", "web.", "*", "**", "a/", ".", "/"},
     {"a", ".", ".", "/", "*", "**", ".*.", "/**/", "**/", "\xc3\xa9", "..", "//", "?"},
     {"", ".", "/", "/**", ".**", "*", "**", ".*"}},
    {ARCP__CAPABILITY_MODEL_USE,
     "",
     {"", "g", "*", "**", "/", "**/", "g/"},
     {"a", "/", "//", "*", "**", "/**/", "@", "\xc3\xa9", "\xc3\xa8", "..", ".", "A", "-"},
     {"", "/", "/**", "*", "**", "@*", "/*", "//**"}},
};

static const char *pick(uint64_t *random, const char *const *list)
{
    size_t count = 0;
    while (list[count] != NULL) {
        count++;
    }
    return list[random_below(random, count)];
}

static void append(char text[TEXT_MAX], const char *more)
{
    const size_t size = strlen(text);
    (void)snprintf(text + size, TEXT_MAX - size, "%s", more);
}

static void make_pattern(uint64_t *random, const vocabulary *from, char text[TEXT_MAX])
{
    text[0] = '\0';
    append(text, pick(random, from->beginnings));
    const size_t pieces = random_below(random, 6) + (text[0] == '\0');
    for (size_t i = 0; i < pieces; i++) {
        append(text, pick(random, from->pieces));
    }
    append(text, pick(random, from->endings));
}

/* A parent's pattern with something put in, taken out or put in the place of a star. */
static void change_pattern(uint64_t *random, const vocabulary *from, const char *parent,
                           char text[TEXT_MAX])
{
    const size_t offset = random_below(random, strlen(parent));
    const size_t cut = parent[offset] == '*' || random_below(random, 3) == 0;
    text[0] = '\0';
    (void)snprintf(text, TEXT_MAX, "%.*s", (int)offset, parent);
    append(text, pick(random, from->pieces));
    append(text, parent + offset + cut);
}

/* A list, and a child that resembles it; false when a change cut a character of two bytes. */
typedef struct trap {
    char texts[PATTERNS_MAX + 1][TEXT_MAX]; /* the child first */
    arcp_span spans[PATTERNS_MAX + 1];
    size_t count;
} trap;

static bool make_trap(uint64_t *random, const vocabulary *from, trap *out)
{
    out->count = 2 + random_below(random, PATTERNS_MAX);
    for (size_t i = 1; i < out->count; i++) {
        if (i > 1 && random_below(random, 2) == 0) {
            change_pattern(random, from, out->texts[i - 1], out->texts[i]);
        } else {
            make_pattern(random, from, out->texts[i]);
        }
    }
    if (random_below(random, 4) == 0) {
        make_pattern(random, from, out->texts[0]);
    } else {
        const size_t parent = 1 + random_below(random, out->count - 1);
        change_pattern(random, from, out->texts[parent], out->texts[0]);
    }
    bool is_good = true;
    for (size_t i = 0; i < out->count; i++) {
        out->spans[i] = arcp_span_cstr(out->texts[i]);
        is_good = is_good && arcp__glob_pattern_fault(out->spans[i]) == NULL;
    }
    return is_good;
}

static void check_traps(const vocabulary *from)
{
    uint64_t random = 11;
    tally t = {0};
    for (size_t round = 0; round < ROUNDS; round++) {
        trap made;
        if (make_trap(&random, from, &made)) {
            check_question(from->capability, made.spans[0], &made.spans[1], made.count - 1,
                           from->without, &t);
        }
    }
    assert_true(t.yes > ROUNDS / 20 && t.no > ROUNDS / 20 && t.unknown < ROUNDS / 3);
}

static void lists_of_traps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vocabularies / sizeof vocabularies[0]; i++) {
        check_traps(&vocabularies[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_paths),   cmocka_unit_test(every_pair_of_paths_with_dots),
        cmocka_unit_test(every_pair_of_tools),   cmocka_unit_test(every_pair_of_names),
        cmocka_unit_test(every_pair_of_urls),    cmocka_unit_test(every_pair_of_ports),
        cmocka_unit_test(every_pair_of_schemes), cmocka_unit_test(lists_of_traps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
