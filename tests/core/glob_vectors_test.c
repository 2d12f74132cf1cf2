/* Every row of the vectors that is about globs, as a test of its own, against the parts that it
 * tests: canonical targets, compiled sets, the subset of patterns. (The same rows through whole
 * leases and the gate: lease_vectors_test.c.) */
#include "support/check.h"

#include "core/glob_set.h"
#include "core/glob_subset.h"
#include "core/target.h"
#include "json/json.h"

typedef struct row {
    const arcp_json *json;
    arcp_json_ref ref;
    char name[80];
} row;

typedef struct file {
    const char *name;
    size_t rows_min;
    void (*check)(void **state);
    arcp_buf text;
    arcp_json json;
    row *rows;
    size_t count;
} file;

static arcp_json_ref member(const row *r, const char *name)
{
    return arcp_json_member(r->json, r->ref, arcp_span_cstr(name));
}

/* A string's bytes; the caller owns them. */
static arcp_buf text_at(const arcp_json *json, arcp_json_ref ref)
{
    arcp_buf out = arcp_buf_init();
    const arcp_span text = arcp_json_string(json, ref, &out);
    if (out.size == 0) {
        arcp_buf_append(&out, text);
    }
    return out;
}

/* The strings of an array; each is the caller's. */
typedef struct patterns {
    arcp_span spans[64];
    arcp_buf texts[64];
    size_t count;
} patterns;

static patterns patterns_at(const arcp_json *json, arcp_json_ref list)
{
    patterns out = {.count = 0};
    for (arcp_json_ref item = arcp_json_first(json, list); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, list, item)) {
        assert_true(out.count < 64);
        out.texts[out.count] = text_at(json, item);
        out.count++;
    }
    for (size_t i = 0; i < out.count; i++) {
        out.spans[i] = arcp_buf_span(&out.texts[i]);
    }
    return out;
}

static void free_patterns(patterns *list)
{
    for (size_t i = 0; i < list->count; i++) {
        arcp_buf_fini(&list->texts[i]);
    }
}

static arcp_buf target_of(const row *r)
{
    if (arcp_json_is_missing(r->json, member(r, "target_hex"))) {
        return text_at(r->json, member(r, "target"));
    }
    arcp_buf hex = text_at(r->json, member(r, "target_hex"));
    arcp_buf out = arcp_buf_init();
    for (size_t i = 0; i + 1 < hex.size; i += 2) {
        const char digits[3] = {hex.data[i], hex.data[i + 1], '\0'};
        arcp_buf_append_byte(&out, (char)strtol(digits, NULL, 16));
    }
    arcp_buf_fini(&hex);
    return out;
}

static bool matches(arcp__capability capability, const patterns *list, arcp_span canonical)
{
    arcp__glob_set *set = NULL;
    arcp_error err = {0};
    check_ok(arcp__glob_set_compile(capability, list->spans, list->count, &set, &err), &err);
    size_t index = SIZE_MAX;
    const bool does = arcp__glob_set_match(set, canonical, &index);
    assert_true(!does || index < list->count);
    arcp__glob_set_free(set);
    return does;
}

static arcp_deny_reason decide(arcp__capability capability, const patterns *list, arcp_span target,
                               arcp_span *canonical)
{
    static arcp_target_scratch scratch;
    const arcp_deny_reason reason = arcp__target_canonicalise(capability, ARCP_SPAN_LITERAL("/job"),
                                                              target, &scratch, canonical);
    if (reason != ARCP_DENY_NONE) {
        return reason;
    }
    return matches(capability, list, *canonical) ? ARCP_DENY_NONE : ARCP_DENY_NO_MATCH;
}

/* [arcp:9.2-2] [arcp:LA-4] [arcp:LA-5] [arcp:LA-6] */
static void check_match(void **state)
{
    const row *r = *state;
    arcp_buf name = text_at(r->json, member(r, "capability"));
    arcp_buf target = target_of(r);
    arcp_buf expect = text_at(r->json, member(r, "expect"));
    patterns list = patterns_at(r->json, member(r, "patterns"));
    arcp_span canonical = ARCP_SPAN_LITERAL("");
    const arcp_deny_reason reason = decide(arcp__capability_from_name(arcp_buf_span(&name)), &list,
                                           arcp_buf_span(&target), &canonical);
    if (arcp_span_equal_cstr(arcp_buf_span(&expect), "allow")) {
        assert_int_equal(reason, ARCP_DENY_NONE);
    } else {
        arcp_buf code = text_at(r->json, member(r, "deny_code"));
        assert_int_not_equal(reason, ARCP_DENY_NONE);
        check_span(arcp_buf_span(&code), arcp_deny_reason_name(reason));
        arcp_buf_fini(&code);
    }
    if (!arcp_json_is_missing(r->json, member(r, "canonical"))) {
        arcp_buf want = text_at(r->json, member(r, "canonical"));
        assert_true(arcp_span_equal(arcp_buf_span(&want), canonical));
        arcp_buf_fini(&want);
    }
    free_patterns(&list);
    arcp_buf_fini(&name);
    arcp_buf_fini(&target);
    arcp_buf_fini(&expect);
}

/* Whether the target is its own canonical form, the child's patterns match it and the
 * parent's do not. */
static void check_witness(arcp__capability capability, const patterns *child,
                          const patterns *parent, arcp_span witness)
{
    arcp_span canonical = ARCP_SPAN_LITERAL("");
    assert_int_equal(decide(capability, child, witness, &canonical), ARCP_DENY_NONE);
    assert_true(arcp_span_equal(canonical, witness));
    assert_false(matches(capability, parent, witness));
}

/* One capability of a row; whether the child is within the parent. */
static bool check_capability(const row *r, arcp_json_ref child_ref, arcp_json_ref parent_ref,
                             arcp__capability capability)
{
    patterns child = patterns_at(r->json, child_ref);
    patterns parent = patterns_at(r->json, parent_ref);
    arcp__glob_verdict verdict = {0};
    assert_int_equal(arcp__glob_ask(&(arcp__glob_question){capability, child.spans, child.count,
                                                           parent.spans, parent.count, false},
                                    NULL, &verdict),
                     ARCP_OK);
    assert_false(verdict.too_complex);
    if (!verdict.is_subset) {
        const arcp_span witness = arcp_buf_span(&verdict.witness);
        const patterns blamed = {.spans = {child.spans[verdict.child_index]}, .count = 1};
        check_witness(capability, &blamed, &parent, witness);
        /* The witness in the row is valid, too, and not shorter. */
        arcp_buf given = text_at(r->json, member(r, "witness"));
        if (given.size > 0 && memchr(given.data, ' ', given.size) == NULL) {
            check_witness(capability, &child, &parent, arcp_buf_span(&given));
            assert_true(child.count > 1 || witness.size <= given.size);
        }
        arcp_buf_fini(&given);
    }
    arcp_buf_fini(&verdict.witness);
    free_patterns(&child);
    free_patterns(&parent);
    return verdict.is_subset;
}

/* [arcp:DR-4] */
static void check_subset(void **state)
{
    const row *r = *state;
    const arcp_json_ref child = member(r, "child");
    const arcp_json_ref parent = member(r, "parent");
    bool is_subset = true;
    for (arcp_json_ref item = arcp_json_first(r->json, child); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(r->json, child, item)) {
        arcp_buf name = arcp_buf_init();
        const arcp_span span = arcp_json_string(r->json, item, &name);
        const arcp__capability capability = arcp__capability_from_name(span);
        if (arcp__capability_is_glob(capability) &&
            !check_capability(r, item + 1, arcp_json_member(r->json, parent, span), capability)) {
            is_subset = false;
        }
        arcp_buf_fini(&name);
    }
    assert_int_equal(is_subset, arcp_json_is(r->json, member(r, "subset"), ARCP_JSON_TRUE));
}

/* Whether all capabilities of the row are globs: other rows test whole leases. */
static bool is_about_globs(const file *f, arcp_json_ref ref)
{
    static const char *const sides[] = {"parent", "child"};
    if (f->check == check_match) {
        return true;
    }
    bool are_globs = true;
    for (size_t i = 0; i < 2; i++) {
        const arcp_json_ref side = arcp_json_member(&f->json, ref, arcp_span_cstr(sides[i]));
        for (arcp_json_ref item = arcp_json_first(&f->json, side); item != ARCP_JSON_ABSENT;
             item = arcp_json_next(&f->json, side, item)) {
            arcp_buf name = arcp_buf_init();
            const arcp_span span = arcp_json_string(&f->json, item, &name);
            are_globs = are_globs && arcp__capability_is_glob(arcp__capability_from_name(span));
            arcp_buf_fini(&name);
        }
    }
    return are_globs;
}

static bool load(file *f)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/tests/vectors/%s", ARCP_SOURCE_DIR, f->name);
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        fprintf(stderr, "%s is missing\n", path);
        return false;
    }
    char chunk[4096];
    for (size_t size = 0; (size = fread(chunk, 1, sizeof chunk, stream)) > 0;) {
        arcp_buf_append(&f->text, arcp_span_make(chunk, size));
    }
    (void)fclose(stream);
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_error err = {0};
    if (arcp_json_scan(&f->json, arcp_buf_span(&f->text), &limits, &err) != ARCP_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        return false;
    }
    const arcp_json_ref list =
        arcp_json_member(&f->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("vectors"));
    f->rows = calloc(arcp_json_count(&f->json, list) + 1, sizeof *f->rows);
    for (arcp_json_ref item = arcp_json_first(&f->json, list);
         f->rows != NULL && item != ARCP_JSON_ABSENT; item = arcp_json_next(&f->json, list, item)) {
        if (!is_about_globs(f, item)) {
            continue;
        }
        row *r = &f->rows[f->count++];
        r->json = &f->json;
        r->ref = item;
        arcp_buf id = text_at(r->json, member(r, "id"));
        (void)snprintf(r->name, sizeof r->name, "%.*s of %s", (int)id.size, id.data, f->name);
        arcp_buf_fini(&id);
    }
    if (f->count < f->rows_min) {
        fprintf(stderr, "%s is not complete\n", path);
    }
    return f->count >= f->rows_min;
}

static int run(file *f)
{
    struct CMUnitTest *tests = load(f) ? calloc(f->count, sizeof *tests) : NULL;
    int failed = 1;
    if (tests != NULL) {
        for (size_t i = 0; i < f->count; i++) {
            tests[i] = (struct CMUnitTest){
                .name = f->rows[i].name, .test_func = f->check, .initial_state = &f->rows[i]};
        }
        failed = _cmocka_run_group_tests(f->name, tests, f->count, NULL, NULL);
    }
    free(tests);
    free(f->rows);
    arcp__json_fini(&f->json);
    arcp_buf_fini(&f->text);
    return failed;
}

int main(void)
{
    static file files[] = {
        {.name = "lease-match-vectors.json", .rows_min = 164, .check = check_match},
        {.name = "lease-match-more.json", .rows_min = 300, .check = check_match},
        {.name = "lease-subset-vectors.json", .rows_min = 98, .check = check_subset},
        {.name = "lease-subset-more.json", .rows_min = 150, .check = check_subset},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        failed += run(&files[i]);
    }
    return failed;
}
