/* Every row of the shared vectors as a test of its own, through the public interface: the gate, and
 * whole leases. The files are tests/vectors/lease-*.json. */
#include "support/check.h"

#include <arcp/lease_subset.h>

#include "json/json.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

/* One row of a file; both outlive the tests. */
typedef struct vector_row {
    const arcp_json *json;
    arcp_json_ref ref;
    char name[96];
} vector_row;

static arcp_json_ref member(const vector_row *row, const char *name)
{
    return arcp_json_member(row->json, row->ref, arcp_span_cstr(name));
}

/* A member that is a string, appended to `out` (which keeps it); empty when it is none. */
static arcp_span text_of(const vector_row *row, const char *name, arcp_buf *out)
{
    arcp_buf_clear(out);
    const arcp_span text = arcp_json_string(row->json, member(row, name), out);
    if (out->size == 0) {
        arcp_buf_append(out, text);
    }
    assert_int_equal(arcp_buf_status(out), ARCP_OK);
    return arcp_buf_span(out);
}

static unsigned hex_digit(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* The row's target: text, or bytes in hex. */
static arcp_span target_of(const vector_row *row, arcp_buf *out)
{
    if (arcp_json_is_missing(row->json, member(row, "target_hex"))) {
        return text_of(row, "target", out);
    }
    arcp_buf hex = arcp_buf_init();
    const arcp_span digits = text_of(row, "target_hex", &hex);
    arcp_buf_clear(out);
    for (size_t i = 0; i + 1 < digits.size; i += 2) {
        arcp_buf_append_byte(
            out, (char)(hex_digit(digits.data[i]) * 16 + hex_digit(digits.data[i + 1])));
    }
    arcp_buf_fini(&hex);
    return arcp_buf_span(out);
}

static arcp_authority *authority_of(const arcp_lease *lease)
{
    arcp_authority_options options = arcp_authority_options_init();
    options.cwd = SPAN("/job"); /* some targets are relative */
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    return authority;
}

/* The lease {capability: patterns}. A capability that cannot be in a lease makes an empty
 * one: a check of it must be denied all the same. */
static arcp_lease *lease_of_row(const vector_row *row, arcp_span capability)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_byte(&text, '{');
    if (arcp_capability_is_valid(capability) && !arcp_span_equal(capability, SPAN("cost.budget"))) {
        arcp_json_quote(capability, &text);
        arcp_buf_append_byte(&text, ':');
        arcp_buf_append(&text, arcp_json_raw(row->json, member(row, "patterns")));
    }
    arcp_buf_append_byte(&text, '}');
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_parse(arcp_buf_span(&text), SPAN(""), NULL, &lease, &err), &err);
    arcp_buf_fini(&text);
    return lease;
}

static void check_match(void **state)
{
    const vector_row *row = *state;
    static arcp_target_scratch scratch;
    arcp_buf capability_text = arcp_buf_init();
    arcp_buf target_text = arcp_buf_init();
    arcp_buf want = arcp_buf_init();
    const arcp_span capability = text_of(row, "capability", &capability_text);
    const arcp_span target = target_of(row, &target_text);
    const arcp_lease *lease = lease_of_row(row, capability);
    const arcp_authority *authority = authority_of(lease);
    const arcp_time now = {0, 0};
    arcp_decision decision;
    const bool allowed = arcp_authorize(authority, now, capability, target, &scratch, &decision);
    const bool expected = arcp_span_equal(text_of(row, "expect", &want), SPAN("allow"));
    if (allowed != expected) {
        fail_msg("%s, want %s", arcp_deny_reason_name(decision.reason),
                 expected ? "allow" : "deny");
    }
    if (!expected && !arcp_json_is_missing(row->json, member(row, "deny_code"))) {
        check_span(text_of(row, "deny_code", &want), arcp_deny_reason_name(decision.reason));
    }
    if (!arcp_json_is_missing(row->json, member(row, "canonical"))) {
        assert_true(arcp_span_equal(text_of(row, "canonical", &want), decision.canonical));
    }
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
    arcp_buf_fini(&capability_text);
    arcp_buf_fini(&target_text);
    arcp_buf_fini(&want);
}

/* The child or the parent of a row: a lease, or constraints. */
static arcp_status side_of_row(const vector_row *row, const char *name, arcp_lease **out,
                               arcp_error *err)
{
    const bool constraints = !arcp_json_is_missing(row->json, member(row, "kind"));
    const arcp_json_ref side = member(row, name);
    assert_true(side != ARCP_JSON_ABSENT);
    return arcp_lease_from_json(row->json, constraints ? ARCP_JSON_ABSENT : side,
                                constraints ? side : ARCP_JSON_ABSENT, NULL, out, err);
}

static bool allows(const arcp_lease *lease, arcp_span capability, arcp_span target)
{
    static arcp_target_scratch scratch;
    const arcp_authority *authority = authority_of(lease);
    const arcp_time now = {0, 0};
    arcp_decision decision;
    const bool allowed = arcp_authorize(authority, now, capability, target, &scratch, &decision);
    /* A witness is canonical: it is its own canonical form. */
    assert_true(arcp_span_equal(decision.canonical, target));
    arcp_authority_unref(authority);
    return allowed;
}

static void check_witness(const arcp_lease *child, const arcp_lease *parent,
                          const arcp_subset_violation *violation)
{
    if (violation->code != ARCP_DENY_NO_MATCH) {
        assert_true(violation->witness.size > 0);
        return;
    }
    const arcp_span witness = arcp_buf_span(&violation->witness);
    assert_true(allows(child, violation->capability, witness));
    assert_false(allows(parent, violation->capability, witness));
}

static void check_subset(void **state)
{
    const vector_row *row = *state;
    arcp_lease *child = NULL;
    arcp_lease *parent = NULL;
    arcp_error err = {0};
    check_ok(side_of_row(row, "parent", &parent, &err), &err);
    const arcp_status status = side_of_row(row, "child", &child, &err);
    if (!arcp_json_is_missing(row->json, member(row, "wire"))) {
        assert_int_equal(status, ARCP_E_INVALID_REQUEST);
        arcp_lease_unref(parent);
        return;
    }
    check_ok(status, &err);
    arcp_subset_violation violation = arcp_subset_violation_init();
    bool is_subset = false;
    assert_int_equal(arcp_lease_is_subset(child, parent, &is_subset, &violation), ARCP_OK);
    const bool expected = arcp_json_is(row->json, member(row, "subset"), ARCP_JSON_TRUE);
    if (is_subset != expected) {
        fail_msg("%s, want %s", is_subset ? "subset" : violation.reason,
                 expected ? "subset" : "not a subset");
    }
    if (!is_subset) {
        check_witness(child, parent, &violation);
    }
    arcp_subset_violation_fini(&violation);
    arcp_lease_unref(child);
    arcp_lease_unref(parent);
}

/* A scanned file; text and index live until the program ends. */
typedef struct vector_file {
    arcp_buf text;
    arcp_json json;
    vector_row *rows;
    size_t count;
} vector_file;

static void load(vector_file *file, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/tests/vectors/%s", ARCP_SOURCE_DIR, name);
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        fprintf(stderr, "%s is missing\n", path);
        exit(1);
    }
    char chunk[4096];
    for (size_t size = 0; (size = fread(chunk, 1, sizeof chunk, stream)) > 0;) {
        arcp_buf_append(&file->text, arcp_span_make(chunk, size));
    }
    (void)fclose(stream);
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_error err = {0};
    if (arcp_json_scan(&file->json, arcp_buf_span(&file->text), &limits, &err) != ARCP_OK) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        exit(1);
    }
    const arcp_json_ref list = arcp_json_member(&file->json, ARCP_JSON_ROOT, SPAN("vectors"));
    const size_t count = arcp_json_count(&file->json, list);
    file->rows = calloc(count + 1, sizeof *file->rows);
    arcp_buf id = arcp_buf_init();
    for (arcp_json_ref item = arcp_json_first(&file->json, list);
         file->rows != NULL && item != ARCP_JSON_ABSENT;
         item = arcp_json_next(&file->json, list, item)) {
        vector_row *row = &file->rows[file->count++];
        row->json = &file->json;
        row->ref = item;
        const arcp_span text = text_of(row, "id", &id);
        (void)snprintf(row->name, sizeof row->name, "%.*s of %s", (int)text.size, text.data, name);
    }
    arcp_buf_fini(&id);
}

static void unload(vector_file *file)
{
    free(file->rows);
    arcp__json_fini(&file->json);
    arcp_buf_fini(&file->text);
}

static const struct {
    const char *name;
    void (*check)(void **state);
    size_t least; /* rows: a file that was cut short fails */
} sources[] = {
    {"lease-match-vectors.json", check_match, 164},   {"lease-match-more.json", check_match, 300},
    {"lease-subset-vectors.json", check_subset, 124}, {"lease-subset-more.json", check_subset, 190},
    {"lease-limits-more.json", check_subset, 80},
};
enum { SOURCES = sizeof sources / sizeof *sources };

int main(void)
{
    static vector_file files[SOURCES];
    size_t count = 0;
    for (size_t i = 0; i < SOURCES; i++) {
        load(&files[i], sources[i].name);
        if (files[i].count < sources[i].least) {
            fprintf(stderr, "%s is not complete\n", sources[i].name);
            return 1;
        }
        count += files[i].count;
    }
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (tests == NULL) {
        return 1;
    }
    size_t next = 0;
    for (size_t i = 0; i < SOURCES; i++) {
        for (size_t k = 0; k < files[i].count; k++, next++) {
            tests[next].name = files[i].rows[k].name;
            tests[next].test_func = sources[i].check;
            tests[next].initial_state = &files[i].rows[k];
        }
    }
    const int failed = _cmocka_run_group_tests("lease vectors", tests, count, NULL, NULL);
    free(tests);
    for (size_t i = 0; i < SOURCES; i++) {
        unload(&files[i]);
    }
    return failed;
}
