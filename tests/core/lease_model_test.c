/* Random realistic leases against a model that is slow and obviously right: a pattern is
 * turned into words of the table of docs/leases.md, Patterns, and a target is matched by trying
 * everything. What the library says must agree: the gate, the subset check and its
 * witnesses, derivation, narrowing. */
#include "support/check.h"

#include <arcp/lease_subset.h>

#define SPAN(text) ARCP_SPAN_LITERAL(text)

/* --- The model: matching --- */

enum { TEXT_MAX = 160 };

/* The words a pattern is made of. */
typedef enum word_kind {
    WORD_BYTE,
    WORD_STAR,     /* any run without separators */
    WORD_ANY,      /* any run */
    WORD_SEGMENTS, /* nothing, or any run that ends with a slash */
    WORD_BELOW,    /* nothing, or a slash and any run */
} word_kind;

typedef struct word {
    word_kind kind;
    char byte;
} word;

typedef struct model_pattern {
    word words[TEXT_MAX];
    size_t count;
    bool is_url;
    bool has_dots;
} model_pattern;

/* Whether the slash at `at` is the second one of "://". */
static bool is_scheme_slash(const char *text, size_t at)
{
    return at >= 2 && text[at] == '/' && text[at - 1] == '/' && text[at - 2] == ':';
}

/* Runs of stars are at most two, and a row of whole segments of stars is one. */
static void simplify(const char *text, char out[TEXT_MAX])
{
    size_t size = 0;
    for (size_t i = 0; text[i] != '\0' && size + 1 < TEXT_MAX; i++) {
        const bool third = size >= 2 && memcmp(out + size - 2, "**", 2) == 0 && text[i] == '*';
        if (!third) {
            out[size++] = text[i];
        }
        out[size] = '\0';
        if (size >= 6 && strcmp(out + size - 6, "/**/**") == 0 && !is_scheme_slash(out, size - 6)) {
            size -= 3;
        }
    }
    out[size] = '\0';
}

static model_pattern read_pattern(const char *capability, const char *written)
{
    char text[TEXT_MAX];
    simplify(written, text);
    model_pattern pattern = {.is_url = strcmp(capability, "net.fetch") == 0,
                             .has_dots = strcmp(capability, "tool.call") == 0};
    for (size_t i = 0; text[i] != '\0';) {
        size_t stars = strspn(text + i, "*");
        word next = {WORD_BYTE, text[i]};
        size_t taken = 1;
        const bool at_segment = i == 0 || (text[i - 1] == '/' && !is_scheme_slash(text, i - 1));
        if (stars >= 2 && at_segment && text[i + stars] == '/') {
            next.kind = WORD_SEGMENTS;
            taken = stars + 1;
        } else if (stars > 0) {
            next.kind = stars == 1 ? WORD_STAR : WORD_ANY;
            taken = stars;
        } else if (text[i] == '/' && !is_scheme_slash(text, i) && strspn(text + i + 1, "*") >= 2 &&
                   text[i + 1 + strspn(text + i + 1, "*")] == '\0') {
            next.kind = WORD_BELOW;
            taken = 1 + strspn(text + i + 1, "*");
        }
        pattern.words[pattern.count++] = next;
        i += taken;
    }
    return pattern;
}

static bool model_match(const model_pattern *pattern, size_t at, const char *target);

/* Tries every length for a wildcard: `run` bytes of the target belong to it. */
static bool model_wildcard(const model_pattern *pattern, size_t at, const char *target)
{
    const word_kind kind = pattern->words[at].kind;
    const bool is_last = at + 1 == pattern->count;
    if (model_match(pattern, at + 1, target)) {
        return true;
    }
    for (size_t run = 1; target[run - 1] != '\0'; run++) {
        const char byte = target[run - 1];
        if (pattern->is_url && byte == '?' && !is_last) {
            return false;
        }
        if (kind == WORD_STAR && (byte == '/' || (pattern->has_dots && byte == '.'))) {
            return false;
        }
        if (kind == WORD_BELOW && target[0] != '/') {
            return false;
        }
        if (kind == WORD_SEGMENTS && byte != '/') {
            continue;
        }
        if (model_match(pattern, at + 1, target + run)) {
            return true;
        }
    }
    return false;
}

static bool model_match(const model_pattern *pattern, size_t at, const char *target)
{
    if (at == pattern->count) {
        return target[0] == '\0';
    }
    if (pattern->words[at].kind == WORD_BYTE) {
        return target[0] == pattern->words[at].byte && model_match(pattern, at + 1, target + 1);
    }
    return model_wildcard(pattern, at, target);
}

/* --- Random leases --- */

static uint64_t seed = 0x9e3779b97f4a7c15U;

static size_t pick(size_t count)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)((seed >> 11) % count);
}

typedef struct vocabulary {
    const char *capability;
    const char *begins[5];
    const char *separator;
    const char *segments[8];
} vocabulary;

static const vocabulary vocabularies[] = {
    {"fs.read",
     {"/", "/data/", "/", "/a/", ""},
     "/",
     {"a", "b", "data", "ab", "x.csv", "reports", "2026", ".x"}},
    {"net.fetch",
     {"https://h/", "https://api.example.com/", "s3://b/", "https://", "http://h:80/"},
     "/",
     {"v1", "h", "api.example.com", "x?q=1", "a", "users", "42", "x.csv"}},
    {"tool.call",
     {"", "web.", "", "fs.", ""},
     ".",
     {"search", "web", "advanced", "read", "x", "a/b", "s", "get"}},
    {"model.use",
     {"", "tier-fast/", "gpt-", "claude-", ""},
     "/",
     {"gpt-4", "4o-mini", "3-5-sonnet", "a", "tier-fast", "4.1", "b", "ab"}},
    {"x-vendor.a.b",
     {"", "q/", "", "topic-", ""},
     "/",
     {"q", "events", "eu", "a", "b.c", "topic", "ab", "x"}},
};
enum { VOCABULARIES = sizeof vocabularies / sizeof *vocabularies };

/* Appends at most `size` bytes of a text. */
static void append_part(char out[TEXT_MAX], const char *text, size_t size)
{
    const size_t used = strlen(out);
    (void)snprintf(out + used, TEXT_MAX - used, "%.*s", (int)size, text);
}

static void append(char out[TEXT_MAX], const char *text)
{
    append_part(out, text, TEXT_MAX);
}

/* Replaces one byte or more of a segment by stars, now and then. */
static void append_segment(char out[TEXT_MAX], const char *segment, bool with_stars)
{
    const size_t kind = with_stars ? pick(8) : 7;
    const size_t size = strlen(segment);
    const size_t cut = pick(size + 1);
    switch (kind) {
    case 0:
        append(out, "*");
        break;
    case 1:
        append(out, "**");
        break;
    case 2:
        append_part(out, segment, cut);
        append(out, "*");
        break;
    case 3:
        append(out, pick(2) == 0 ? "*" : "**");
        append(out, segment + cut);
        break;
    default:
        append(out, segment);
    }
}

/* A pattern (or, without stars, a target) of a vocabulary. */
static void make_text(const vocabulary *words, bool with_stars, char out[TEXT_MAX])
{
    out[0] = '\0';
    append(out, words->begins[pick(5)]);
    const size_t count = 1 + pick(3);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            append(out, words->separator);
        }
        append_segment(out, words->segments[pick(8)], with_stars);
    }
    if (with_stars && pick(3) == 0) {
        append(out, pick(2) == 0 ? "/**" : "**");
    }
}

/* A target that the pattern matches, unless it is unlucky: stars become something. */
static void make_target_of(const char *pattern, const vocabulary *words, char out[TEXT_MAX])
{
    size_t size = 0;
    out[0] = '\0';
    for (size_t i = 0; pattern[i] != '\0' && size < TEXT_MAX / 2; i++) {
        if (pattern[i] != '*') {
            out[size++] = pattern[i];
            out[size] = '\0';
        } else if (pick(3) != 0) {
            append(out, words->segments[pick(8)]);
            if (pattern[i + 1] == '*' && pick(2) == 0) {
                append(out, words->separator);
                append(out, words->segments[pick(8)]);
            }
            size = strlen(out);
        }
    }
}

enum { PATTERNS_MAX = 3 };

/* A lease, as the model and as the library see it. */
typedef struct sample_lease {
    char patterns[VOCABULARIES][PATTERNS_MAX][TEXT_MAX];
    size_t counts[VOCABULARIES];
    long cents; /* of USD; -1: no budget */
    arcp_lease *lease;
} sample_lease;

static void build(sample_lease *sample)
{
    arcp_lease_builder *builder = arcp_lease_builder_new();
    assert_non_null(builder);
    for (size_t v = 0; v < VOCABULARIES; v++) {
        for (size_t i = 0; i < sample->counts[v]; i++) {
            arcp_lease_allow(builder, vocabularies[v].capability, sample->patterns[v][i]);
        }
    }
    if (sample->cents >= 0) {
        char text[32];
        const long half = sample->cents / 2;
        (void)snprintf(text, sizeof text, "%ld.%02ld", half / 100, half % 100);
        arcp_lease_budget(builder, "USD", text);
        const long rest = sample->cents - half;
        (void)snprintf(text, sizeof text, "%ld.%02ld0", rest / 100, rest % 100);
        arcp_lease_budget(builder, "USD", text);
    }
    arcp_error err = {0};
    check_ok(arcp_lease_build(builder, &sample->lease, &err), &err);
}

static void make_lease(sample_lease *sample)
{
    memset(sample, 0, sizeof *sample);
    for (size_t v = 0; v < VOCABULARIES; v++) {
        sample->counts[v] = pick(PATTERNS_MAX + 1);
        for (size_t i = 0; i < sample->counts[v]; i++) {
            make_text(&vocabularies[v], true, sample->patterns[v][i]);
        }
    }
    sample->cents = (long)pick(400) - 100;
    sample->cents = sample->cents < 0 ? -1 : sample->cents;
    build(sample);
}

/* A lease that often is within `parent`: some of its patterns, with stars filled in. */
static void make_child(const sample_lease *parent, sample_lease *child)
{
    memset(child, 0, sizeof *child);
    for (size_t v = 0; v < VOCABULARIES; v++) {
        child->counts[v] = pick(parent->counts[v] + 1);
        for (size_t i = 0; i < child->counts[v]; i++) {
            const char *from = parent->patterns[v][pick(parent->counts[v])];
            switch (pick(3)) {
            case 0:
                memcpy(child->patterns[v][i], from, TEXT_MAX);
                break;
            case 1:
                make_target_of(from, &vocabularies[v], child->patterns[v][i]);
                break;
            default:
                make_text(&vocabularies[v], true, child->patterns[v][i]);
            }
            if (child->patterns[v][i][0] == '\0') {
                append(child->patterns[v][i], "a");
            }
        }
    }
    child->cents = pick(3) == 0 ? -1 : (long)pick(400);
    build(child);
}

static bool model_allows(const sample_lease *sample, size_t v, const char *target)
{
    for (size_t i = 0; i < sample->counts[v]; i++) {
        const model_pattern pattern =
            read_pattern(vocabularies[v].capability, sample->patterns[v][i]);
        if (model_match(&pattern, 0, target)) {
            return true;
        }
    }
    return false;
}

/* --- The library --- */

static arcp_target_scratch scratch;

static arcp_authority *authority_of(const arcp_lease *lease)
{
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.cwd = SPAN("/job");
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    return authority;
}

/* What the gate says of a target; *canonical tells whether the target is canonical, which
 * is all the model knows about. */
static bool gate_allows(const arcp_authority *authority, size_t v, const char *target,
                        bool *canonical)
{
    const arcp_time now = {0, 0};
    arcp_decision decision;
    const arcp_span asked = arcp_span_cstr(target);
    const bool allowed = arcp_authorize(authority, now, arcp_span_cstr(vocabularies[v].capability),
                                        asked, &scratch, &decision);
    *canonical = arcp_span_equal(decision.canonical, asked) && asked.size > 0;
    return allowed;
}

static void show(const char *label, const arcp_lease *lease)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_lease_format(lease, &text);
    print_message("%s %.*s\n", label, (int)text.size, text.data);
    arcp_buf_fini(&text);
}

enum { LEASES = 3000, TARGETS = 12 };

static void the_gate_agrees_with_the_model(void **state)
{
    (void)state;
    size_t hits = 0;
    size_t asked = 0;
    for (int round = 0; round < LEASES; round++) {
        sample_lease sample;
        make_lease(&sample);
        if (sample.cents == 0) {
            arcp_lease_unref(sample.lease);
            continue; /* used up: the gate denies everything */
        }
        arcp_authority *authority = authority_of(sample.lease);
        for (int i = 0; i < TARGETS; i++) {
            const size_t v = pick(VOCABULARIES);
            char target[TEXT_MAX];
            if (sample.counts[v] > 0 && pick(2) == 0) {
                make_target_of(sample.patterns[v][pick(sample.counts[v])], &vocabularies[v],
                               target);
            } else {
                make_text(&vocabularies[v], false, target);
            }
            bool canonical = false;
            const bool allowed = gate_allows(authority, v, target, &canonical);
            if (canonical && allowed != model_allows(&sample, v, target)) {
                show("lease", sample.lease);
                fail_msg("%s \"%s\": the gate says %d", vocabularies[v].capability, target,
                         allowed);
            }
            asked += canonical;
            hits += canonical && allowed;
        }
        arcp_authority_unref(authority);
        arcp_lease_unref(sample.lease);
    }
    /* The sample is worth something: enough of both answers. */
    assert_true(asked > LEASES * TARGETS / 2);
    assert_true(hits > asked / 8 && hits < asked * 7 / 8);
}

static size_t vocabulary_of(arcp_span capability)
{
    for (size_t v = 0; v < VOCABULARIES; v++) {
        if (arcp_span_equal_cstr(capability, vocabularies[v].capability)) {
            return v;
        }
    }
    return VOCABULARIES;
}

/* A "no" is right when its witness is one, by the model. */
static void check_no(const sample_lease *child, const sample_lease *parent,
                     const arcp_subset_violation *violation)
{
    if (violation->code == ARCP_DENY_BUDGET) {
        assert_true(child->cents > parent->cents);
        return;
    }
    assert_int_equal(violation->code, ARCP_DENY_NO_MATCH);
    const size_t v = vocabulary_of(violation->capability);
    assert_true(v < VOCABULARIES && violation->witness.size < TEXT_MAX);
    char witness[TEXT_MAX];
    (void)snprintf(witness, sizeof witness, "%.*s", (int)violation->witness.size,
                   violation->witness.data);
    const bool real = model_allows(child, v, witness) && !model_allows(parent, v, witness);
    bool canonical = false;
    arcp_authority *authority = authority_of(child->lease);
    (void)gate_allows(authority, v, witness, &canonical);
    arcp_authority_unref(authority);
    if (!real || (!canonical && child->cents != 0)) {
        show("child", child->lease);
        show("parent", parent->lease);
        fail_msg("%s: \"%s\" is no witness", vocabularies[v].capability, witness);
    }
}

/* A "yes" is right when no target says otherwise. */
static void check_yes(const sample_lease *child, const sample_lease *parent,
                      const arcp_authority *unlimited)
{
    assert_true(child->cents <= parent->cents);
    for (int i = 0; i < TARGETS; i++) {
        const size_t v = pick(VOCABULARIES);
        char target[TEXT_MAX];
        if (child->counts[v] > 0) {
            make_target_of(child->patterns[v][pick(child->counts[v])], &vocabularies[v], target);
        } else {
            make_text(&vocabularies[v], false, target);
        }
        bool canonical = false;
        (void)gate_allows(unlimited, v, target, &canonical);
        if (canonical && model_allows(child, v, target) && !model_allows(parent, v, target)) {
            show("child", child->lease);
            show("parent", parent->lease);
            fail_msg("%s \"%s\" is allowed by the child only", vocabularies[v].capability, target);
        }
    }
}

static void subsets_agree_with_the_model(void **state)
{
    (void)state;
    size_t yes = 0;
    arcp_lease *empty = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_parse(SPAN("{}"), SPAN(""), NULL, &empty, &err), &err);
    arcp_authority *unlimited = authority_of(empty);
    for (int round = 0; round < 4 * LEASES; round++) {
        sample_lease parent;
        sample_lease child;
        make_lease(&parent);
        make_child(&parent, &child);
        bool is_subset = false;
        arcp_subset_violation violation = ARCP_SUBSET_VIOLATION_INIT;
        assert_int_equal(arcp_lease_is_subset(child.lease, parent.lease, &is_subset, &violation),
                         ARCP_OK);
        if (is_subset) {
            check_yes(&child, &parent, unlimited);
        } else {
            check_no(&child, &parent, &violation);
        }
        yes += is_subset;
        arcp_subset_violation_fini(&violation);
        arcp_lease_unref(parent.lease);
        arcp_lease_unref(child.lease);
    }
    assert_true(yes > LEASES / 8 && yes < 4 * LEASES - LEASES / 8);
    arcp_authority_unref(unlimited);
    arcp_lease_unref(empty);
}

/* [arcp:LA-1] */
static void what_is_narrowed_is_within_request_and_ceiling(void **state)
{
    (void)state;
    size_t kept = 0;
    for (int round = 0; round < LEASES; round++) {
        sample_lease request;
        sample_lease ceiling;
        make_lease(&request);
        make_child(&request, &ceiling);
        arcp_lease *narrowed = NULL;
        arcp_error err = {0};
        check_ok(arcp_lease_narrow(request.lease, ceiling.lease, false, &narrowed, NULL, &err),
                 &err);
        arcp_authority *authority = authority_of(narrowed);
        for (int i = 0; i < TARGETS; i++) {
            const size_t v = pick(VOCABULARIES);
            const sample_lease *from = pick(2) == 0 ? &request : &ceiling;
            if (from->counts[v] == 0) {
                continue;
            }
            char target[TEXT_MAX];
            make_target_of(from->patterns[v][pick(from->counts[v])], &vocabularies[v], target);
            bool canonical = false;
            const bool allowed = gate_allows(authority, v, target, &canonical);
            kept += allowed;
            if (allowed && canonical &&
                !(model_allows(&request, v, target) && model_allows(&ceiling, v, target))) {
                show("request", request.lease);
                show("ceiling", ceiling.lease);
                show("narrowed", narrowed);
                fail_msg("%s \"%s\" is wider than one of them", vocabularies[v].capability, target);
            }
        }
        arcp_authority_unref(authority);
        arcp_lease_unref(narrowed);
        arcp_lease_unref(request.lease);
        arcp_lease_unref(ceiling.lease);
    }
    assert_true(kept > LEASES / 4);
}

/* [arcp:9.4-1] */
static void what_is_derived_is_within_the_parent(void **state)
{
    (void)state;
    size_t derived_count = 0;
    for (int round = 0; round < LEASES; round++) {
        sample_lease parent;
        sample_lease request;
        make_lease(&parent);
        make_child(&parent, &request);
        arcp_authority *authority = authority_of(parent.lease);
        arcp_lease *derived = NULL;
        bool as_written = false;
        arcp_error err = {0};
        const arcp_status status =
            arcp_lease_derive(authority, request.lease, &derived, NULL, &err);
        assert_int_equal(arcp_lease_is_subset(request.lease, parent.lease, &as_written, NULL),
                         ARCP_OK);
        /* Nothing is spent yet, so what remains is what is written. */
        assert_int_equal(status, as_written ? ARCP_OK : ARCP_E_LEASE_SUBSET_VIOLATION);
        if (derived != NULL) {
            bool is_subset = false;
            assert_int_equal(arcp_lease_is_subset(derived, parent.lease, &is_subset, NULL),
                             ARCP_OK);
            assert_true(is_subset);
            derived_count++;
        }
        arcp_lease_unref(derived);
        arcp_authority_unref(authority);
        arcp_lease_unref(parent.lease);
        arcp_lease_unref(request.lease);
    }
    assert_true(derived_count > LEASES / 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gate_agrees_with_the_model),
        cmocka_unit_test(subsets_agree_with_the_model),
        cmocka_unit_test(what_is_narrowed_is_within_request_and_ceiling),
        cmocka_unit_test(what_is_derived_is_within_the_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
