/* The lease of a delegated job: what may be requested and what is inherited (docs/leases.md, draft
 * §9.4 and §10, the delegation defect). */
#include "support/check.h"

#include <arcp/lease_subset.h>

#include "core/decimal.h"
#include "core/lease_text.h"

#define SPAN(text)  ARCP_SPAN_LITERAL(text)
#define UNTIL(text) "{\"expires_at\":\"" text "\"}"

/* A job with this lease; `above` may be NULL. */
static arcp_authority *job(const char *lease, const char *constraints, const arcp_authority *above,
                           bool model_use_required)
{
    const arcp_lease *parsed = lease_of(lease, constraints);
    arcp_budget *budget = NULL;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(
        arcp_budget_new(parsed, above == NULL ? NULL : arcp_authority_budget(above), &budget, &err),
        &err);
    arcp_authority_options options = arcp_authority_options_init();
    options.budget = budget;
    options.parent = above;
    options.model_use_required = model_use_required;
    check_ok(arcp_authority_new(parsed, &options, &authority, &err), &err);
    arcp_budget_unref(budget);
    arcp_lease_unref(parsed);
    return authority;
}

static void spend(const arcp_authority *authority, const char *currency, const char *text)
{
    arcp_decimal amount = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    check_ok(arcp_decimal_parse(arcp_span_cstr(text), &amount, &err), &err);
    (void)arcp_budget_spend(arcp_authority_budget(authority), arcp_span_cstr(currency), amount,
                            NULL, 0);
}

/* Derives; checks the lease and constraints that come out, or (NULL) the violation. */
static void check_derived(const arcp_authority *parent, const char *request_text,
                          const char *request_constraints, const char *want,
                          const char *want_constraints)
{
    const arcp_lease *request = lease_of(request_text, request_constraints);
    arcp_lease *derived = NULL;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    const arcp_status status = arcp_lease_derive(parent, request, &derived, &err);
    if (want == NULL) {
        assert_int_equal(status, ARCP_E_LEASE_SUBSET_VIOLATION);
        assert_null(derived);
        check_span(arcp_buf_span(&details), want_constraints);
    } else {
        check_ok(status, &err);
        arcp_lease_format(derived, &details);
        check_span(arcp_buf_span(&details), want);
        arcp_buf_clear(&details);
        arcp_lease_format_constraints(derived, &details);
        check_span(arcp_buf_span(&details), want_constraints);
    }
    arcp_buf_fini(&details);
    arcp_lease_unref(derived);
    arcp_lease_unref(request);
}

/* [arcp:9.4-7] */
static void an_empty_request_grants_nothing_and_inherits_the_expiry(void **state)
{
    (void)state;
    const arcp_authority *parent =
        job("{\"fs.read\":[\"/a/**\"]}", UNTIL("2026-05-13T23:42:00.5Z"), NULL, true);
    check_derived(parent, "{}", "", "{}", UNTIL("2026-05-13T23:42:00.5Z"));
    check_derived(parent, "{}", "{}", "{}", UNTIL("2026-05-13T23:42:00.5Z"));
    check_derived(parent, "{\"fs.read\":[\"/a/x\"]}", "{\"expires_at\":null}",
                  "{\"fs.read\":[\"/a/x\"]}", UNTIL("2026-05-13T23:42:00.5Z"));
    arcp_authority_unref(parent);
}

/* [arcp:9.4-6] */
static void an_earlier_expiry_stays_and_a_later_one_is_refused(void **state)
{
    (void)state;
    const arcp_authority *parent = job("{}", UNTIL("2026-05-13T23:42:00Z"), NULL, true);
    check_derived(parent, "{}", UNTIL("2026-05-13T23:00:00Z"), "{}", UNTIL("2026-05-13T23:00:00Z"));
    check_derived(parent, "{}", UNTIL("2026-05-13T23:42:00Z"), "{}", UNTIL("2026-05-13T23:42:00Z"));
    check_derived(parent, "{}", UNTIL("2026-05-13T23:42:01Z"), NULL,
                  "{\"capability\":\"expires_at\",\"child_pattern\":\"2026-05-13T23:42:01Z\","
                  "\"witness\":\"2026-05-13T23:42:01Z\",\"reason\":\"EXPIRED\"}");
    arcp_authority_unref(parent);
}

static void an_expiry_under_a_parent_without_one_is_the_childs_own(void **state)
{
    (void)state;
    const arcp_authority *parent = job("{}", "", NULL, true);
    check_derived(parent, "{}", UNTIL("2026-05-13T23:00:00Z"), "{}", UNTIL("2026-05-13T23:00:00Z"));
    check_derived(parent, "{}", "", "{}", "{}");
    arcp_authority_unref(parent);
}

static void a_pattern_the_parent_lacks_is_refused_with_a_witness(void **state)
{
    (void)state;
    const arcp_authority *parent = job("{\"fs.read\":[\"/a/**\"]}", "", NULL, true);
    check_derived(parent, "{\"fs.read\":[\"/b/**\"]}", "", NULL,
                  "{\"capability\":\"fs.read\",\"child_pattern\":\"/b/**\",\"witness\":\"/b\","
                  "\"reason\":\"NO_MATCH\"}");
    check_derived(parent, "{\"fs.read\":[\"/a/b*\"]}", "", "{\"fs.read\":[\"/a/b*\"]}", "{}");
    arcp_authority_unref(parent);
}

/* [arcp:9.4-4] */
static void a_budget_is_measured_against_what_remains(void **state)
{
    (void)state;
    const arcp_authority *parent = job("{\"cost.budget\":[\"USD:5.00\"]}", "", NULL, true);
    spend(parent, "USD", "3");
    check_derived(parent, "{\"cost.budget\":[\"USD:2.00\"]}", "",
                  "{\"cost.budget\":[\"USD:2.00\"]}", "{}");
    check_derived(parent, "{\"cost.budget\":[\"USD:1\",\"USD:1.01\"]}", "", NULL,
                  "{\"capability\":\"cost.budget\",\"child_pattern\":\"USD:1\",\"witness\":"
                  "\"USD:2.01\",\"reason\":\"BUDGET\"}");
    spend(parent, "USD", "2");
    check_derived(parent, "{\"cost.budget\":[\"USD:0\"]}", "", "{\"cost.budget\":[\"USD:0\"]}",
                  "{}");
    spend(parent, "USD", "1");
    check_derived(parent, "{\"cost.budget\":[\"USD:0\"]}", "", NULL,
                  "{\"capability\":\"cost.budget\",\"child_pattern\":\"USD:0\",\"witness\":"
                  "\"USD:0\",\"reason\":\"BUDGET\"}");
    arcp_authority_unref(parent);
}

static void held_amounts_do_not_remain(void **state)
{
    (void)state;
    const arcp_authority *parent = job("{\"cost.budget\":[\"USD:5\"]}", "", NULL, true);
    const arcp_decimal four = arcp__decimal_of(4 * (arcp__units)1000000000000000000);
    assert_true(arcp_budget_reserve(arcp_authority_budget(parent), SPAN("USD"), four));
    check_derived(parent, "{\"cost.budget\":[\"USD:1\"]}", "", "{\"cost.budget\":[\"USD:1\"]}",
                  "{}");
    check_derived(parent, "{\"cost.budget\":[\"USD:2\"]}", "", NULL,
                  "{\"capability\":\"cost.budget\",\"child_pattern\":\"USD:2\",\"witness\":"
                  "\"USD:2\",\"reason\":\"BUDGET\"}");
    arcp_authority_unref(parent);
}

static void an_ancestor_that_has_less_left_bounds_the_child(void **state)
{
    (void)state;
    const arcp_authority *root = job("{\"cost.budget\":[\"USD:5\"]}", "", NULL, true);
    const arcp_authority *parent = job("{\"cost.budget\":[\"USD:4\"]}", "", root, true);
    spend(root, "USD", "3");
    check_derived(parent, "{\"cost.budget\":[\"USD:2\"]}", "", "{\"cost.budget\":[\"USD:2\"]}",
                  "{}");
    check_derived(parent, "{\"cost.budget\":[\"USD:2.1\"]}", "", NULL,
                  "{\"capability\":\"cost.budget\",\"child_pattern\":\"USD:2.1\",\"witness\":"
                  "\"USD:2.1\",\"reason\":\"BUDGET\"}");
    arcp_authority_unref(parent);
    arcp_authority_unref(root);
}

static void a_parent_without_a_budget_passes_its_ancestors_bound_on(void **state)
{
    (void)state;
    const arcp_authority *root = job("{\"cost.budget\":[\"USD:5\"]}", "", NULL, true);
    const arcp_authority *parent = job("{}", "", root, true);
    check_derived(parent, "{\"cost.budget\":[\"USD:5\"]}", "", "{\"cost.budget\":[\"USD:5\"]}",
                  "{}");
    check_derived(parent, "{\"cost.budget\":[\"USD:6\"]}", "", NULL,
                  "{\"capability\":\"cost.budget\",\"child_pattern\":\"USD:6\",\"witness\":"
                  "\"USD:6\",\"reason\":\"BUDGET\"}");
    check_derived(parent, "{\"cost.budget\":[\"EUR:1\"]}", "", NULL,
                  "{\"capability\":\"cost.budget\",\"child_pattern\":\"EUR:1\",\"witness\":"
                  "\"EUR:1\",\"reason\":\"BUDGET\"}");
    arcp_authority_unref(parent);
    arcp_authority_unref(root);
}

static void a_parent_with_a_budget_has_exactly_the_currencies_it_names(void **state)
{
    (void)state;
    const arcp_authority *root = job("{\"cost.budget\":[\"USD:5\",\"EUR:5\"]}", "", NULL, true);
    const arcp_authority *parent = job("{\"cost.budget\":[\"USD:4\"]}", "", root, true);
    check_derived(parent, "{\"cost.budget\":[\"EUR:1\"]}", "", NULL,
                  "{\"capability\":\"cost.budget\",\"child_pattern\":\"EUR:1\",\"witness\":"
                  "\"EUR:1\",\"reason\":\"BUDGET\"}");
    arcp_authority_unref(parent);
    parent = job("{\"cost.budget\":[]}", "", root, true);
    check_derived(parent, "{\"cost.budget\":[\"USD:0\"]}", "", NULL,
                  "{\"capability\":\"cost.budget\",\"child_pattern\":\"USD:0\",\"witness\":"
                  "\"USD:0\",\"reason\":\"BUDGET\"}");
    arcp_authority_unref(parent);
    arcp_authority_unref(root);
}

static void a_child_without_a_budget_spends_its_parents(void **state)
{
    (void)state;
    const arcp_authority *parent =
        job("{\"tool.call\":[\"t\"],\"cost.budget\":[\"USD:1\"]}", "", NULL, true);
    check_derived(parent, "{\"tool.call\":[\"t\"]}", "", "{\"tool.call\":[\"t\"]}", "{}");
    const arcp_authority *child = job("{\"tool.call\":[\"t\"]}", "", parent, true);
    spend(child, "USD", "1");
    static arcp_target_scratch scratch;
    const arcp_time now = {0, 0};
    arcp_decision decision;
    assert_false(arcp_authorize(child, now, SPAN("tool.call"), SPAN("t"), &scratch, &decision));
    assert_int_equal(decision.code, ARCP_E_BUDGET_EXHAUSTED);
    arcp_authority_unref(child);
    arcp_authority_unref(parent);
}

static void a_child_that_leaves_models_out_gets_none(void **state)
{
    (void)state;
    const arcp_authority *parent = job("{\"model.use\":[\"gpt-4*\"]}", "", NULL, true);
    check_derived(parent, "{\"tool.call\":[]}", "", "{\"tool.call\":[],\"model.use\":[]}", "{}");
    check_derived(parent, "{\"model.use\":[\"gpt-4o-mini\"]}", "",
                  "{\"model.use\":[\"gpt-4o-mini\"]}", "{}");
    check_derived(parent, "{\"model.use\":[\"o1\"]}", "", NULL,
                  "{\"capability\":\"model.use\",\"child_pattern\":\"o1\",\"witness\":\"o1\","
                  "\"reason\":\"NO_MATCH\"}");
    arcp_authority_unref(parent);
    /* The rule does not depend on the policy: an absent member would mean every model. */
    parent = job("{\"model.use\":[\"gpt-4*\"]}", "", NULL, false);
    check_derived(parent, "{}", "", "{\"model.use\":[]}", "{}");
    arcp_authority_unref(parent);
}

static void a_parent_that_may_use_all_models_may_grant_some(void **state)
{
    (void)state;
    const arcp_authority *free_to_use_any = job("{}", "", NULL, false);
    check_derived(free_to_use_any, "{\"model.use\":[\"gpt-4*\"]}", "",
                  "{\"model.use\":[\"gpt-4*\"]}", "{}");
    check_derived(free_to_use_any, "{}", "", "{}", "{}");
    arcp_authority_unref(free_to_use_any);
    const arcp_authority *bound = job("{}", "", NULL, true);
    check_derived(bound, "{\"model.use\":[\"gpt-4\"]}", "", NULL,
                  "{\"capability\":\"model.use\",\"child_pattern\":\"gpt-4\",\"witness\":\"gpt-4\","
                  "\"reason\":\"NO_MATCH\"}");
    arcp_authority_unref(bound);
}

static void a_request_that_inherits_nothing_is_used_unchanged(void **state)
{
    (void)state;
    const arcp_authority *parent = job("{\"fs.read\":[\"/a/**\"]}", "", NULL, true);
    const arcp_lease *request = lease_of("{\"fs.read\":[\"/a/b\"]}", "");
    arcp_lease *derived = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_derive(parent, request, &derived, &err), &err);
    assert_ptr_equal(derived, request);
    arcp_lease_unref(derived);
    arcp_lease_unref(request);
    arcp_authority_unref(parent);
}

static void a_derived_lease_is_within_its_parents(void **state)
{
    (void)state;
    const char *const parent_text =
        "{\"fs.read\":[\"/a/**\"],\"model.use\":[\"m*\"],\"cost.budget\":[\"USD:3\"],"
        "\"x-vendor.a.b\":[\"q/**\"]}";
    const arcp_authority *parent = job(parent_text, UNTIL("2026-05-13T23:42:00Z"), NULL, true);
    const arcp_lease *request =
        lease_of("{\"x-vendor.a.b\":[\"q/1\"],\"cost.budget\":[\"USD:1\"]}", "");
    arcp_lease *derived = NULL;
    bool is_subset = false;
    arcp_error err = {0};
    check_ok(arcp_lease_derive(parent, request, &derived, &err), &err);
    assert_int_equal(arcp_lease_is_subset(derived, arcp_authority_lease(parent), &is_subset, NULL),
                     ARCP_OK);
    assert_true(is_subset);
    assert_true(arcp_lease_has_expiry(derived));
    arcp_lease_unref(derived);
    arcp_lease_unref(request);
    arcp_authority_unref(parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_request_grants_nothing_and_inherits_the_expiry),
        cmocka_unit_test(an_earlier_expiry_stays_and_a_later_one_is_refused),
        cmocka_unit_test(an_expiry_under_a_parent_without_one_is_the_childs_own),
        cmocka_unit_test(a_pattern_the_parent_lacks_is_refused_with_a_witness),
        cmocka_unit_test(a_budget_is_measured_against_what_remains),
        cmocka_unit_test(held_amounts_do_not_remain),
        cmocka_unit_test(an_ancestor_that_has_less_left_bounds_the_child),
        cmocka_unit_test(a_parent_without_a_budget_passes_its_ancestors_bound_on),
        cmocka_unit_test(a_parent_with_a_budget_has_exactly_the_currencies_it_names),
        cmocka_unit_test(a_child_without_a_budget_spends_its_parents),
        cmocka_unit_test(a_child_that_leaves_models_out_gets_none),
        cmocka_unit_test(a_parent_that_may_use_all_models_may_grant_some),
        cmocka_unit_test(a_request_that_inherits_nothing_is_used_unchanged),
        cmocka_unit_test(a_derived_lease_is_within_its_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
