/* Realistic and hostile lists of patterns against the model: what a set matches, which of a
 * child's targets its parent matches, and whether the verdict about the two agrees. */
#include "support/check.h"

#include "core/glob_model.h"
#include "core/glob_set.h"
#include "core/glob_subset.h"
#include "core/strings.h"
#include "core/target_model.h"

enum { PATTERNS_MAX = 6, TEXT_MAX = 200 };

/* The pieces from which patterns of a capability are made. */
typedef struct vocabulary {
    arcp__capability capability;
    const char *const *beginnings;
    const char *const *pieces;
    const char *const *endings;
} vocabulary;

static const char *const path_beginnings[] = {"/", "/",   "/a/",  "/srv/data/",
                                              "",  "**/", "/**/", NULL};
static const char *const path_pieces[] = {"a",   "b",  "/", "/",   "*",  "**", "/**/",
                                          "/*/", "ab", ".", "*.c", "x*", "..", NULL};
static const char *const path_endings[] = {"", "", "/**", "/*", ".csv", "*", "**", NULL};
static const char *const url_beginnings[] = {"https://h/", "https://*.h/", "https://**",
                                             "s3://b/",    "http*://",     "https://h:*/",
                                             "**",         "https://",     NULL};
static const char *const url_pieces[] = {"a",  "b",  "/",   "/",   "*",  "**", "/**/", "?",
                                         "x=", ".h", "%2F", "%2*", "..", ":8", NULL};
static const char *const tool_pieces[] = {"a",  "b",    ".",   ".",  "/", "*",
                                          "**", "/**/", ".*.", "ab", "?", NULL};
static const char *const name_beginnings[] = {"", "gpt-4", "*", "a", "a/", NULL};
static const char *const name_endings[] = {"", "@*", "**", "/**", "-mini", "*", NULL};
static const char *const hostile_pieces[] = {"a",   "*",    "**", "/",  "a*", "*a",
                                             "**a", "/**/", "a/", "aa", NULL};
static const char *const none[] = {"", NULL};

static const vocabulary vocabularies[] = {
    {ARCP__CAPABILITY_FS_READ, path_beginnings, path_pieces, path_endings},
    {ARCP__CAPABILITY_NET_FETCH, url_beginnings, url_pieces, path_endings},
    {ARCP__CAPABILITY_TOOL_CALL, name_beginnings, tool_pieces, name_endings},
    {ARCP__CAPABILITY_MODEL_USE, name_beginnings, path_pieces, name_endings},
    {ARCP__CAPABILITY_FS_WRITE, none, hostile_pieces, none},
    {ARCP__CAPABILITY_VENDOR, none, hostile_pieces, none},
};

static const char *pick(uint64_t *random, const char *const *list)
{
    size_t count = 0;
    while (list[count] != NULL) {
        count++;
    }
    return list[random_below(random, count)];
}

static size_t append(char *text, size_t size, const char *more)
{
    const size_t count = strlen(more);
    if (size + count >= TEXT_MAX) {
        return size;
    }
    memcpy(text + size, more, count + 1);
    return size + count;
}

typedef struct list {
    char texts[PATTERNS_MAX][TEXT_MAX];
    arcp_span spans[PATTERNS_MAX];
    size_t count;
} list;

static void make_list(uint64_t *random, const vocabulary *words, list *out)
{
    out->count = 1 + random_below(random, PATTERNS_MAX);
    for (size_t i = 0; i < out->count; i++) {
        char *text = out->texts[i];
        size_t size = append(text, 0, pick(random, words->beginnings));
        const size_t pieces = random_below(random, 8) + (size == 0);
        for (size_t k = 0; k < pieces; k++) {
            size = append(text, size, pick(random, words->pieces));
        }
        size = append(text, size, pick(random, words->endings));
        out->spans[i] = arcp_span_make(text, size);
    }
}

/* A child that resembles the parent: some of its patterns, narrowed. */
static void narrow_list(uint64_t *random, const vocabulary *words, const list *parent, list *out)
{
    make_list(random, words, out);
    for (size_t i = 0; i < out->count; i++) {
        const arcp_span from = parent->spans[random_below(random, parent->count)];
        if (random_below(random, 4) == 0) {
            continue;
        }
        size_t size = 0;
        char *text = out->texts[i];
        for (size_t k = 0; k < from.size; k++) {
            const char byte[2] = {from.data[k], '\0'};
            const bool replace = byte[0] == '*' && random_below(random, 3) == 0;
            size = append(text, size, replace ? pick(random, words->pieces) : byte);
        }
        if (size > 0) {
            out->spans[i] = arcp_span_make(text, size);
        }
    }
}

/* A string that a pattern may match: wildcards replaced by something. */
static arcp_span instantiate(uint64_t *random, const vocabulary *words, arcp_span pattern,
                             char out[TEXT_MAX])
{
    size_t size = 0;
    for (size_t k = 0; k < pattern.size; k++) {
        const char byte[2] = {pattern.data[k], '\0'};
        if (byte[0] != '*') {
            size = append(out, size, byte);
            continue;
        }
        for (size_t n = random_below(random, 3); n > 0; n--) {
            const char *piece = pick(random, words->pieces);
            size = append(out, size, strchr(piece, '*') != NULL ? "x" : piece);
        }
    }
    if (random_below(random, 8) == 0 && size > 0) {
        out[random_below(random, size)] = "ab/.x?"[random_below(random, 6)];
    }
    return arcp_span_make(out, size);
}

typedef struct tally {
    size_t matches;
    size_t misses;
    size_t yes;
    size_t no;
} tally;

/* Strings of both lists: the set agrees with the model, and none refutes a "yes" about the
 * lists. */
static void check_targets(uint64_t *random, const vocabulary *words, const list *child,
                          const list *parent, bool is_subset, tally *t)
{
    const arcp__target_kind kind = arcp__capability_kind(words->capability);
    arcp__glob_set *set = NULL;
    arcp_error err = {0};
    check_ok(arcp__glob_set_compile(words->capability, parent->spans, parent->count, &set, &err),
             &err);
    for (int i = 0; i < 12; i++) {
        char text[TEXT_MAX];
        const list *from = i % 2 == 0 ? child : parent;
        const arcp_span target =
            instantiate(random, words, from->spans[random_below(random, from->count)], text);
        size_t index = SIZE_MAX;
        const bool does = arcp__glob_set_match(set, target, &index);
        if (does != model_matches_any(kind, parent->spans, parent->count, target) ||
            (does && !model_matches(kind, parent->spans[index], target))) {
            for (size_t k = 0; k < parent->count; k++) {
                print_error("pattern \"%.*s\"\n", (int)parent->spans[k].size,
                            parent->spans[k].data);
            }
            fail_msg("\"%.*s\": the set says %d", (int)target.size, target.data, does);
        }
        t->matches += does;
        t->misses += !does;
        if (is_subset && !does && model_is_canonical(kind, target) &&
            model_matches_any(kind, child->spans, child->count, target)) {
            fail_msg("\"%.*s\" is the child's only", (int)target.size, target.data);
        }
    }
    arcp__glob_set_free(set);
}

static void check_round(uint64_t *random, const vocabulary *words, tally *t)
{
    const arcp__target_kind kind = arcp__capability_kind(words->capability);
    list parent;
    list child;
    make_list(random, words, &parent);
    narrow_list(random, words, &parent, &child);
    arcp__glob_verdict verdict = {0};
    assert_int_equal(
        arcp__glob_ask(&(arcp__glob_question){words->capability, child.spans, child.count,
                                              parent.spans, parent.count, false},
                       NULL, &verdict),
        ARCP_OK);
    assert_false(verdict.too_complex);
    if (!verdict.is_subset) {
        const arcp_span witness = arcp_buf_span(&verdict.witness);
        assert_true(model_is_canonical(kind, witness));
        assert_true(model_matches(kind, child.spans[verdict.child_index], witness));
        assert_false(model_matches_any(kind, parent.spans, parent.count, witness));
    }
    t->yes += verdict.is_subset;
    t->no += !verdict.is_subset;
    check_targets(random, words, &child, &parent, verdict.is_subset, t);
    arcp_buf_fini(&verdict.witness);
}

static void random_lists_agree_with_the_model(void **state)
{
    (void)state;
    uint64_t random = 4;
    for (size_t i = 0; i < sizeof vocabularies / sizeof vocabularies[0]; i++) {
        tally t = {0};
        for (int round = 0; round < 10000; round++) {
            check_round(&random, &vocabularies[i], &t);
        }
        /* All four answers occurred. */
        assert_true(t.matches > 1000 && t.misses > 1000 && t.yes > 300 && t.no > 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lists_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
