/* Random realistic leases against the slow and simple model (core/glob_model.h). The library must
 * agree with it: the gate, the subset check and its witnesses, derivation, narrowing. */
#include "support/check.h"

#include <arcp/lease_subset.h>

#include "core/lease_sample.h"
#include "core/lease_text.h"

static arcp_target_scratch scratch;

static arcp_authority *authority_of(const arcp_lease *lease)
{
    arcp_authority_options options = arcp_authority_options_init();
    options.cwd = ARCP_SPAN_LITERAL("/job");
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    return authority;
}

/* The gate's decision about a target; *canonical is whether the target is canonical: the model
 * knows no others. */
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
    arcp_buf text = arcp_buf_init();
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
        sample_lease_make(&sample);
        if (sample.cents == 0) {
            arcp_lease_unref(sample.lease);
            continue; /* used up: the gate denies everything */
        }
        const arcp_authority *authority = authority_of(sample.lease);
        for (int i = 0; i < TARGETS; i++) {
            const size_t v = sample_pick(VOCABULARIES);
            char target[SAMPLE_TEXT_MAX];
            if (sample.counts[v] > 0 && sample_pick(2) == 0) {
                sample_target_of(sample.patterns[v][sample_pick(sample.counts[v])],
                                 &vocabularies[v], target);
            } else {
                sample_text(&vocabularies[v], false, target);
            }
            bool canonical = false;
            const bool allowed = gate_allows(authority, v, target, &canonical);
            if (canonical && allowed != sample_allows(&sample, v, target)) {
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
    /* The sample has enough of both answers. */
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

/* A "no" is right if the model accepts its witness. */
static void check_no(const sample_lease *child, const sample_lease *parent,
                     const arcp_subset_violation *violation)
{
    if (violation->code == ARCP_DENY_BUDGET) {
        assert_true(child->cents > parent->cents);
        return;
    }
    assert_int_equal(violation->code, ARCP_DENY_NO_MATCH);
    const size_t v = vocabulary_of(violation->capability);
    assert_true(v < VOCABULARIES && violation->witness.size < SAMPLE_TEXT_MAX);
    char witness[SAMPLE_TEXT_MAX];
    (void)snprintf(witness, sizeof witness, "%.*s", (int)violation->witness.size,
                   violation->witness.data);
    const bool real = sample_allows(child, v, witness) && !sample_allows(parent, v, witness);
    bool canonical = false;
    const arcp_authority *authority = authority_of(child->lease);
    (void)gate_allows(authority, v, witness, &canonical);
    arcp_authority_unref(authority);
    if (!real || (!canonical && child->cents != 0)) {
        show("child", child->lease);
        show("parent", parent->lease);
        fail_msg("%s: \"%s\" is no witness", vocabularies[v].capability, witness);
    }
}

/* A "yes" is right if no target refutes it. */
static void check_yes(const sample_lease *child, const sample_lease *parent,
                      const arcp_authority *unlimited)
{
    assert_true(child->cents <= parent->cents);
    for (int i = 0; i < TARGETS; i++) {
        const size_t v = sample_pick(VOCABULARIES);
        char target[SAMPLE_TEXT_MAX];
        if (child->counts[v] > 0) {
            sample_target_of(child->patterns[v][sample_pick(child->counts[v])], &vocabularies[v],
                             target);
        } else {
            sample_text(&vocabularies[v], false, target);
        }
        bool canonical = false;
        (void)gate_allows(unlimited, v, target, &canonical);
        if (canonical && sample_allows(child, v, target) && !sample_allows(parent, v, target)) {
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
    const arcp_lease *empty = lease_of("{}", "");
    const arcp_authority *unlimited = authority_of(empty);
    for (int round = 0; round < 4 * LEASES; round++) {
        sample_lease parent;
        sample_lease child;
        sample_lease_make(&parent);
        sample_lease_make_child(&parent, &child);
        bool is_subset = false;
        arcp_subset_violation violation = arcp_subset_violation_init();
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
static void a_narrowed_lease_is_within_request_and_ceiling(void **state)
{
    (void)state;
    size_t kept = 0;
    for (int round = 0; round < LEASES; round++) {
        sample_lease request;
        sample_lease ceiling;
        sample_lease_make(&request);
        sample_lease_make_child(&request, &ceiling);
        arcp_lease *narrowed = NULL;
        arcp_error err = {0};
        check_ok(arcp_lease_narrow(request.lease, ceiling.lease, false, &narrowed, NULL, &err),
                 &err);
        const arcp_authority *authority = authority_of(narrowed);
        for (int i = 0; i < TARGETS; i++) {
            const size_t v = sample_pick(VOCABULARIES);
            const sample_lease *from = sample_pick(2) == 0 ? &request : &ceiling;
            if (from->counts[v] == 0) {
                continue;
            }
            char target[SAMPLE_TEXT_MAX];
            sample_target_of(from->patterns[v][sample_pick(from->counts[v])], &vocabularies[v],
                             target);
            bool canonical = false;
            const bool allowed = gate_allows(authority, v, target, &canonical);
            kept += allowed;
            if (allowed && canonical &&
                !(sample_allows(&request, v, target) && sample_allows(&ceiling, v, target))) {
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
static void a_derived_lease_is_within_the_parent(void **state)
{
    (void)state;
    size_t derived_count = 0;
    for (int round = 0; round < LEASES; round++) {
        sample_lease parent;
        sample_lease request;
        sample_lease_make(&parent);
        sample_lease_make_child(&parent, &request);
        const arcp_authority *authority = authority_of(parent.lease);
        arcp_lease *derived = NULL;
        bool as_written = false;
        arcp_error err = {0};
        const arcp_status status = arcp_lease_derive(authority, request.lease, &derived, &err);
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
        cmocka_unit_test(a_narrowed_lease_is_within_request_and_ceiling),
        cmocka_unit_test(a_derived_lease_is_within_the_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
