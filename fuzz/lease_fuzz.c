/* Two leases and a target: all that can be parsed must keep the promises between parsing, the gate,
 * the subset check, derivation and narrowing.
 *
 * An input that begins with '{' is three lines: lease A, lease B, and a capability, a space
 * and a target. Any other input is a recipe: its bytes choose capabilities and patterns
 * from a small alphabet, so that leases are well-formed and overlap often. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arcp/lease_explain.h>
#include <arcp/lease_subset.h>

#include "lines.h"
#include "json/json.h"

static arcp_target_scratch scratch;
static const arcp_time now = {0, 0};

static arcp_lease *parse(arcp_span text)
{
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    const arcp_status status = arcp_lease_parse(text, arcp_span_make("", 0), NULL, &lease, &err);
    require((status == ARCP_OK) == (lease != NULL));
    require(status == ARCP_OK || err.message[0] != '\0');
    return lease;
}

/* A lease that is written is read again as the same lease. */
static void check_round_trip(const arcp_lease *lease)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf again = arcp_buf_init();
    arcp_lease_format(lease, &text);
    const arcp_lease *copy = parse(arcp_buf_span(&text));
    require(copy != NULL);
    arcp_lease_format(copy, &again);
    require(arcp_span_equal(arcp_buf_span(&text), arcp_buf_span(&again)));
    arcp_lease_unref(copy);
    arcp_buf_fini(&text);
    arcp_buf_fini(&again);
}

/* An authority with the lease's patterns only, without its budget. */
static arcp_authority *authority_of(const arcp_lease *lease)
{
    const arcp_lease *empty = parse(ARCP_SPAN_LITERAL("{}"));
    arcp_budget *budget = NULL;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    require(arcp_budget_new(empty, NULL, &budget, &err) == ARCP_OK);
    arcp_authority_options options = arcp_authority_options_init();
    options.cwd = ARCP_SPAN_LITERAL("/job");
    options.budget = budget;
    require(arcp_authority_new(lease, &options, &authority, &err) == ARCP_OK);
    arcp_budget_unref(budget);
    arcp_lease_unref(empty);
    return authority;
}

/* Whether the lease allows the target; a canonical form is its own canonical form, and an allowed
 * target is allowed in that form. */
static bool allows(const arcp_lease *lease, arcp_span capability, arcp_span target)
{
    static arcp_target_scratch second_scratch;
    const arcp_authority *authority = authority_of(lease);
    arcp_decision decision;
    const bool allowed = arcp_authorize(authority, now, capability, target, &scratch, &decision);
    if (decision.canonical.size > 0) {
        arcp_decision again;
        require(arcp_authorize(authority, now, capability, decision.canonical, &second_scratch,
                               &again) == allowed);
        require(arcp_span_equal(again.canonical, decision.canonical));
    } else {
        require(!allowed);
    }
    arcp_authority_unref(authority);
    return allowed;
}

static void check_subset(const arcp_lease *child, const arcp_lease *parent, arcp_span capability,
                         arcp_span target)
{
    arcp_subset_violation violation = arcp_subset_violation_init();
    bool is_subset = false;
    require(arcp_lease_is_subset(child, parent, &is_subset, &violation) == ARCP_OK);
    if (is_subset) {
        require(!allows(child, capability, target) || allows(parent, capability, target));
    } else if (violation.code == ARCP_DENY_NO_MATCH) {
        const arcp_span witness = arcp_buf_span(&violation.witness);
        require(allows(child, violation.capability, witness));
        require(!allows(parent, violation.capability, witness));
    }
    arcp_subset_violation_fini(&violation);
    require(arcp_lease_is_subset(child, child, &is_subset, NULL) == ARCP_OK);
}

static void check_narrow(const arcp_lease *request, const arcp_lease *ceiling, arcp_span capability,
                         arcp_span target)
{
    arcp_lease *narrowed = NULL;
    arcp_error err = {0};
    require(arcp_lease_narrow(request, ceiling, false, &narrowed, NULL, &err) == ARCP_OK);
    if (allows(narrowed, capability, target)) {
        require(allows(request, capability, target));
        require(allows(ceiling, capability, target));
    }
    check_round_trip(narrowed);
    arcp_lease_unref(narrowed);
}

static void check_derive(const arcp_lease *parent, const arcp_lease *request, arcp_span capability,
                         arcp_span target)
{
    const arcp_authority *authority = authority_of(parent);
    arcp_lease *derived = NULL;
    arcp_error err = {0};
    const arcp_status status = arcp_lease_derive(authority, request, &derived, &err);
    require(status == ARCP_OK || status == ARCP_E_LEASE_SUBSET_VIOLATION);
    if (derived != NULL && allows(derived, capability, target)) {
        require(allows(parent, capability, target));
    }
    arcp_lease_unref(derived);
    arcp_authority_unref(authority);
}

static void check_texts(const arcp_lease *a, const arcp_lease *b, arcp_span capability,
                        arcp_span target)
{
    arcp_buf text = arcp_buf_init();
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = arcp_json_limits_init();
    const arcp_authority *authority = authority_of(a);
    arcp_error err = {0};
    const bool allowed = arcp_lease_explain(authority, now, capability, target, true, &text);
    require(allowed == allows(a, capability, target));
    require(arcp_json_scan(&json, arcp_buf_span(&text), &limits, &err) == ARCP_OK);
    arcp_buf_clear(&text);
    (void)arcp_lease_lint(a, now, true, &text);
    require(arcp_json_scan(&json, arcp_buf_span(&text), &limits, &err) == ARCP_OK);
    arcp_buf_clear(&text);
    require(arcp_lease_diff(a, b, true, &text) == ARCP_OK);
    require(arcp_json_scan(&json, arcp_buf_span(&text), &limits, &err) == ARCP_OK);
    arcp__json_fini(&json);
    arcp_authority_unref(authority);
    arcp_buf_fini(&text);
}

static void check_all(arcp_span a_text, arcp_span b_text, arcp_span capability, arcp_span target)
{
    const arcp_lease *a = parse(a_text);
    const arcp_lease *b = parse(b_text);
    if (a != NULL && b != NULL) {
        check_round_trip(a);
        check_subset(a, b, capability, target);
        check_subset(b, a, capability, target);
        check_narrow(a, b, capability, target);
        check_derive(b, a, capability, target);
        check_texts(a, b, capability, target);
    }
    arcp_lease_unref(a);
    arcp_lease_unref(b);
}

/* Removes the part of `rest` up to `end` and returns it. */
static const char *const capabilities[] = {"fs.read", "net.fetch", "tool.call", "model.use",
                                           "x-vendor.a.b"};
static const char *const begins[] = {"/", "https://", "", "", ""};
static const char alphabet[] = "a/*b.*/?:*";

/* A pattern or target from the recipe, up to a zero byte. */
static void append_text(size_t capability, arcp_span *recipe, arcp_buf *out)
{
    arcp_buf_append_cstr(out, begins[capability]);
    const arcp_span bytes = take_until(recipe, 0);
    for (size_t i = 0; i < bytes.size && i < 24; i++) {
        arcp_buf_append_byte(out, alphabet[(unsigned char)bytes.data[i] % (sizeof alphabet - 1)]);
    }
}

static void append_lease(size_t capability, arcp_span *recipe, arcp_buf *out)
{
    arcp_buf_append_format(out, "{\"%s\":[", capabilities[capability]);
    const arcp_span first = take_until(recipe, 1);
    const size_t count = first.size % 3 + 1;
    for (size_t i = 0; i < count; i++) {
        arcp_buf text = arcp_buf_init();
        append_text(capability, recipe, &text);
        arcp_buf_append_cstr(out, i == 0 ? "" : ",");
        arcp_json_quote(arcp_buf_span(&text), out);
        arcp_buf_fini(&text);
    }
    arcp_buf_append_cstr(out, "]}");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp_span rest = arcp_span_make((const char *)data, size);
    if (size > 4096) {
        return 0;
    }
    if (size > 0 && data[0] == '{') {
        const arcp_span a = take_line(&rest);
        const arcp_span b = take_line(&rest);
        const arcp_span capability = take_until(&rest, ' ');
        check_all(a, b, capability, rest);
        return 0;
    }
    const size_t capability = size == 0 ? 0 : data[0] % 5;
    arcp_buf a = arcp_buf_init();
    arcp_buf b = arcp_buf_init();
    arcp_buf target = arcp_buf_init();
    append_lease(capability, &rest, &a);
    append_lease(capability, &rest, &b);
    append_text(capability, &rest, &target);
    check_all(arcp_buf_span(&a), arcp_buf_span(&b), arcp_span_cstr(capabilities[capability]),
              arcp_buf_span(&target));
    arcp_buf_fini(&a);
    arcp_buf_fini(&b);
    arcp_buf_fini(&target);
    return 0;
}
