#include "core/lease_sample.h"

#include "support/check.h"

#include "core/capability.h"
#include "core/glob_model.h"
#include "core/strings.h"

static uint64_t seed = 0x9e3779b97f4a7c15U;

size_t sample_pick(size_t count)
{
    return random_below(&seed, count);
}

const vocabulary vocabularies[VOCABULARIES] = {
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

/* Appends at most `size` bytes of a text. */
static void append_part(char out[SAMPLE_TEXT_MAX], const char *text, size_t size)
{
    const size_t used = strlen(out);
    (void)snprintf(out + used, SAMPLE_TEXT_MAX - used, "%.*s", (int)size, text);
}

static void append(char out[SAMPLE_TEXT_MAX], const char *text)
{
    append_part(out, text, SAMPLE_TEXT_MAX);
}

/* Replaces one byte or more of a segment by stars, now and then. */
static void append_segment(char out[SAMPLE_TEXT_MAX], const char *segment, bool with_stars)
{
    const size_t kind = with_stars ? sample_pick(8) : 7;
    const size_t size = strlen(segment);
    const size_t cut = sample_pick(size + 1);
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
        append(out, sample_pick(2) == 0 ? "*" : "**");
        append(out, segment + cut);
        break;
    default:
        append(out, segment);
    }
}

void sample_text(const vocabulary *words, bool with_stars, char out[SAMPLE_TEXT_MAX])
{
    out[0] = '\0';
    append(out, words->begins[sample_pick(5)]);
    const size_t count = 1 + sample_pick(3);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            append(out, words->separator);
        }
        append_segment(out, words->segments[sample_pick(8)], with_stars);
    }
    if (with_stars && sample_pick(3) == 0) {
        append(out, sample_pick(2) == 0 ? "/**" : "**");
    }
}

void sample_target_of(const char *pattern, const vocabulary *words, char out[SAMPLE_TEXT_MAX])
{
    size_t size = 0;
    out[0] = '\0';
    for (size_t i = 0; pattern[i] != '\0' && size < SAMPLE_TEXT_MAX / 2; i++) {
        if (pattern[i] != '*') {
            out[size++] = pattern[i];
            out[size] = '\0';
        } else if (sample_pick(3) != 0) {
            append(out, words->segments[sample_pick(8)]);
            if (pattern[i + 1] == '*' && sample_pick(2) == 0) {
                append(out, words->separator);
                append(out, words->segments[sample_pick(8)]);
            }
            size = strlen(out);
        }
    }
}

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

void sample_lease_make(sample_lease *sample)
{
    memset(sample, 0, sizeof *sample);
    for (size_t v = 0; v < VOCABULARIES; v++) {
        sample->counts[v] = sample_pick(SAMPLE_PATTERNS_MAX + 1);
        for (size_t i = 0; i < sample->counts[v]; i++) {
            sample_text(&vocabularies[v], true, sample->patterns[v][i]);
        }
    }
    sample->cents = (long)sample_pick(400) - 100;
    sample->cents = sample->cents < 0 ? -1 : sample->cents;
    build(sample);
}

void sample_lease_make_child(const sample_lease *parent, sample_lease *child)
{
    memset(child, 0, sizeof *child);
    for (size_t v = 0; v < VOCABULARIES; v++) {
        child->counts[v] = sample_pick(parent->counts[v] + 1);
        for (size_t i = 0; i < child->counts[v]; i++) {
            const char *from = parent->patterns[v][sample_pick(parent->counts[v])];
            switch (sample_pick(3)) {
            case 0:
                memcpy(child->patterns[v][i], from, SAMPLE_TEXT_MAX);
                break;
            case 1:
                sample_target_of(from, &vocabularies[v], child->patterns[v][i]);
                break;
            default:
                sample_text(&vocabularies[v], true, child->patterns[v][i]);
            }
            if (child->patterns[v][i][0] == '\0') {
                append(child->patterns[v][i], "a");
            }
        }
    }
    child->cents = sample_pick(3) == 0 ? -1 : (long)sample_pick(400);
    build(child);
}

bool sample_allows(const sample_lease *sample, size_t v, const char *target)
{
    const arcp__target_kind kind = arcp__capability_kind(
        arcp__capability_from_name(arcp_span_cstr(vocabularies[v].capability)));
    for (size_t i = 0; i < sample->counts[v]; i++) {
        if (model_matches(kind, arcp_span_cstr(sample->patterns[v][i]), arcp_span_cstr(target))) {
            return true;
        }
    }
    return false;
}
