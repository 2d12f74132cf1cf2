/* Whole leases against each other: patterns, budgets, expiry (docs/leases.md, draft §9.4). */
#include "support/check.h"

#include <arcp/lease_subset.h>

#include "core/lease_text.h"

#define NONE ""

typedef struct subset_row {
    const char *name;
    const char *child;
    const char *child_constraints;
    const char *parent;
    const char *parent_constraints;
    const char *witness; /* NULL: a subset */
    arcp_deny_reason code;
} subset_row;

#define UNTIL(text) "{\"expires_at\":\"" text "\"}"
#define WITHIN      NULL, ARCP_DENY_NONE

static const subset_row rows[] = {
    {"the guide's example",
     "{\"net.fetch\":[\"https://api.example.com/v1/**\"],\"tool.call\":[\"web.search\"]}", NONE,
     "{\"net.fetch\":[\"https://api.example.com/**\"],\"tool.call\":[\"web.*\"]}", NONE, WITHIN},
    {"the guide's example the other way round", "{\"tool.call\":[\"web.*\"]}", NONE,
     "{\"tool.call\":[\"web.search\"]}", NONE, "web.", ARCP_DENY_NO_MATCH},
    {"an empty child", "{}", NONE, "{\"fs.read\":[\"/a\"],\"cost.budget\":[\"USD:1\"]}",
     UNTIL("2026-01-01T00:00:00Z"), WITHIN},
    {"two empty leases", "{}", NONE, "{}", NONE, WITHIN},
    {"an empty list needs nothing", "{\"fs.read\":[]}", NONE, "{}", NONE, WITHIN},
    {"a capability the parent lacks", "{\"fs.read\":[\"/a\"]}", NONE, "{\"fs.write\":[\"/**\"]}",
     NONE, "/a", ARCP_DENY_NO_MATCH},
    {"a capability the parent has nothing of", "{\"fs.read\":[\"/a\"]}", NONE, "{\"fs.read\":[]}",
     NONE, "/a", ARCP_DENY_NO_MATCH},
    {"two parent patterns together", "{\"fs.read\":[\"/a/**\"]}", NONE,
     "{\"fs.read\":[\"/a\",\"/a/*/**\",\"/a/*\"]}", NONE, WITHIN},
    {"the second child pattern is too wide", "{\"fs.read\":[\"/a/x\",\"/b\"]}", NONE,
     "{\"fs.read\":[\"/a/**\"]}", NONE, "/b", ARCP_DENY_NO_MATCH},
    {"a vendor's capability", "{\"x-vendor.a.b\":[\"qq\"]}", NONE, "{\"x-vendor.a.b\":[\"q*\"]}",
     NONE, WITHIN},
    {"another vendor's capability", "{\"x-vendor.a.c\":[\"qq\"]}", NONE,
     "{\"x-vendor.a.b\":[\"q*\"]}", NONE, "qq", ARCP_DENY_NO_MATCH},
    {"a model the parent covers", "{\"model.use\":[\"gpt-4o-mini\"]}", NONE,
     "{\"model.use\":[\"gpt-4*\"]}", NONE, WITHIN},
    {"every model under some", "{\"model.use\":[\"*\"]}", NONE, "{\"model.use\":[\"tier-fast/*\"]}",
     NONE, "", ARCP_DENY_NO_MATCH},
    {"a model under a parent that names none", "{\"model.use\":[\"m\"]}", NONE, "{}", NONE, "m",
     ARCP_DENY_NO_MATCH},
    {"an equal budget", "{\"cost.budget\":[\"USD:5\"]}", NONE, "{\"cost.budget\":[\"USD:5.00\"]}",
     NONE, WITHIN},
    {"one step more", "{\"cost.budget\":[\"USD:5.000000000000000001\"]}", NONE,
     "{\"cost.budget\":[\"USD:5\"]}", NONE, "USD:5.000000000000000001", ARCP_DENY_BUDGET},
    {"entries add up on both sides", "{\"cost.budget\":[\"USD:0.1\",\"USD:0.2\"]}", NONE,
     "{\"cost.budget\":[\"USD:0.15\",\"USD:0.15\"]}", NONE, WITHIN},
    {"entries that add up to too much", "{\"cost.budget\":[\"USD:3\",\"EUR:1\",\"USD:3\"]}", NONE,
     "{\"cost.budget\":[\"USD:5\",\"EUR:1\"]}", NONE, "USD:6", ARCP_DENY_BUDGET},
    {"a currency the parent lacks", "{\"cost.budget\":[\"EUR:0\"]}", NONE,
     "{\"cost.budget\":[\"USD:5\"]}", NONE, "EUR:0", ARCP_DENY_BUDGET},
    {"a currency in another case", "{\"cost.budget\":[\"usd:1\"]}", NONE,
     "{\"cost.budget\":[\"USD:5\"]}", NONE, "usd:1", ARCP_DENY_BUDGET},
    {"a budget under a parent without", "{\"cost.budget\":[\"USD:1\"]}", NONE, "{}", NONE, "USD:1",
     ARCP_DENY_BUDGET},
    {"a budget of zero", "{\"cost.budget\":[\"USD:0\"]}", NONE, "{\"cost.budget\":[\"USD:0\"]}",
     NONE, WITHIN},
    {"amounts are not globs", "{\"cost.budget\":[\"USD:9\"]}", NONE,
     "{\"cost.budget\":[\"*:9\",\"USD:5\"]}", NONE, "USD:9", ARCP_DENY_BUDGET},
    {"an equal expiry", "{}", UNTIL("2026-05-13T23:42:00Z"), "{}", UNTIL("2026-05-13T23:42:00.0Z"),
     WITHIN},
    {"an earlier expiry", "{}", UNTIL("2026-05-13T23:41:59.999Z"), "{}",
     UNTIL("2026-05-13T23:42:00Z"), WITHIN},
    {"a later expiry", "{}", UNTIL("2026-05-13T23:42:00.001Z"), "{}", UNTIL("2026-05-13T23:42:00Z"),
     "2026-05-13T23:42:00.001Z", ARCP_DENY_EXPIRED},
    {"an expiry later by less than a nanosecond", "{}",
     UNTIL("2026-05-13T23:42:00.0000000000000001Z"), "{}", UNTIL("2026-05-13T23:42:00Z"),
     "2026-05-13T23:42:00.0000000000000001Z", ARCP_DENY_EXPIRED},
    {"no expiry under one", "{}", "{}", "{}", UNTIL("2026-05-13T23:42:00Z"), WITHIN},
    {"an expiry under none", "{}", UNTIL("2026-05-13T23:42:00Z"), "{}", NONE, WITHIN},
    {"a leap second is the next second", "{}", UNTIL("2026-12-31T23:59:60Z"), "{}",
     UNTIL("2027-01-01T00:00:00Z"), WITHIN},
};

/* [arcp:LA-15] */
static void leases_are_compared_member_by_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const subset_row *row = &rows[i];
        print_message("  %s\n", row->name);
        const arcp_lease *child = lease_of(row->child, row->child_constraints);
        const arcp_lease *parent = lease_of(row->parent, row->parent_constraints);
        arcp_subset_violation violation = arcp_subset_violation_init();
        bool is_subset = false;
        assert_int_equal(arcp_lease_is_subset(child, parent, &is_subset, &violation), ARCP_OK);
        assert_int_equal(is_subset, row->witness == NULL);
        if (row->witness != NULL) {
            if (row->witness[0] != '\0') {
                check_span(arcp_buf_span(&violation.witness), row->witness);
            }
            assert_int_equal(violation.code, row->code);
            assert_true(violation.reason[0] != '\0');
        }
        arcp_subset_violation_fini(&violation);
        bool again = !is_subset;
        assert_int_equal(arcp_lease_is_subset(child, parent, &again, NULL), ARCP_OK);
        assert_int_equal(again, is_subset);
        arcp_lease_unref(child);
        arcp_lease_unref(parent);
    }
}

static void check_assertion(const char *child_text, const char *constraints,
                            const char *parent_text, const char *details, const char *message)
{
    const arcp_lease *child = lease_of(child_text, constraints);
    const arcp_lease *parent = lease_of(parent_text, UNTIL("2026-05-13T23:42:00Z"));
    arcp_buf text = arcp_buf_init();
    arcp_error err = {.details = &text};
    assert_int_equal(arcp_lease_assert_subset(child, parent, &err), ARCP_E_LEASE_SUBSET_VIOLATION);
    assert_string_equal(arcp_error_details(&err), details);
    assert_string_equal(err.message, message);
    assert_false(err.retryable);
    assert_int_equal(arcp_lease_assert_subset(child, parent, NULL), ARCP_E_LEASE_SUBSET_VIOLATION);
    arcp_buf_fini(&text);
    arcp_lease_unref(child);
    arcp_lease_unref(parent);
}

/* [arcp:LA-16] */
static void the_assertion_yields_the_error_with_its_details(void **state)
{
    (void)state;
    check_assertion("{\"fs.read\":[\"/a\",\"/b/*\"]}", NONE, "{\"fs.read\":[\"/a/**\",\"/b/c\"]}",
                    "{\"capability\":\"fs.read\",\"child_pattern\":\"/b/*\",\"witness\":\"/b/x\","
                    "\"reason\":\"NO_MATCH\"}",
                    "fs.read: the child's \"/b/*\" allows \"/b/x\", which the parent does not");
    check_assertion("{\"tool.call\":[\"t\"]}", NONE, "{}",
                    "{\"capability\":\"tool.call\",\"child_pattern\":\"t\",\"witness\":\"t\","
                    "\"reason\":\"NO_MATCH\"}",
                    "tool.call: the parent grants no tool.call at all");
    check_assertion("{\"cost.budget\":[\"USD:1\",\"USD:5.50\"]}", NONE,
                    "{\"cost.budget\":[\"USD:6\"]}",
                    "{\"capability\":\"cost.budget\",\"child_pattern\":\"USD:1\",\"witness\":"
                    "\"USD:6.5\",\"reason\":\"BUDGET\"}",
                    "cost.budget: the child requests 6.5 of USD, but the parent has 6");
    check_assertion("{\"cost.budget\":[\"EUR:1\"]}", NONE, "{\"cost.budget\":[\"USD:6\"]}",
                    "{\"capability\":\"cost.budget\",\"child_pattern\":\"EUR:1\",\"witness\":"
                    "\"EUR:1\",\"reason\":\"BUDGET\"}",
                    "cost.budget: the child requests 1 of EUR, but the parent has no budget of it");
    check_assertion("{}", UNTIL("2026-05-13T23:42:01Z"), "{}",
                    "{\"capability\":\"expires_at\",\"child_pattern\":\"2026-05-13T23:42:01Z\","
                    "\"witness\":\"2026-05-13T23:42:01Z\",\"reason\":\"EXPIRED\"}",
                    "expires_at: the child would expire after its parent, which expires at "
                    "2026-05-13T23:42:00Z");
}

static void the_assertion_accepts_a_subset(void **state)
{
    (void)state;
    const arcp_lease *lease = lease_of("{\"fs.read\":[\"/a/**\"]}", NONE);
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    check_ok(arcp_lease_assert_subset(lease, lease, &err), &err);
    assert_int_equal(details.size, 0);
    assert_int_equal(err.status, ARCP_OK);
    arcp_buf_fini(&details);
    arcp_lease_unref(lease);
}

/* Found by searching at random: the child's states times the sets of the parents' are more
 * than the search may visit. */
static const char complex_child[] = "{\"x-vendor.a.b\":[\"**b*b**a*ab**ba*b*ab**ba**aa**b*b*aa*ab*"
                                    "b*a*aa**ba**a**b**b*b**b**ba**ab**"
                                    "a*ba*b*aa*ab**b**a\"]}";
static const char complex_parent[] = "{\"x-vendor.a.b\":[\"**ab*aa*b**ab**ba**bb**b*ab*aa*ab**bb*a*"
                                     "*b*ab**a**b*a**b**b*b*ba*ab**aa**bb"
                                     "*ab**a**ab*a*b****\",\"**a**ba**a**bb**bb*a**ba***\",\"*aa**"
                                     "b**b*aa**bb**a**aa**ba**ab*a**a**b*a"
                                     "*b**b**bb*a**ba**a*bb**bb**b*ba*a*a**\",\"**a*ba**ba*aa**ba*"
                                     "bb*ab*b*b*ab**b**aa*bb*a*b*b*b*ab*bb"
                                     "**b*b*ba*a*a**ba*b*a**a**a**b*a**\",\"**bb**a**bb*ba**bb*ab*"
                                     "aa**aa*ba**ab*ba**aa*b**b**ab**b*b*"
                                     "a**\",\"**ab*ab**ab*a**ab*a*a*b**a**aa*b**ba**aa**a**a**ab**"
                                     "a*ba**aa**ab*a**a**\",\"**a**a*bb**"
                                     "a*b**a**b**a**a*b*b*b*a***\"]}";

static void a_question_beyond_the_bound_is_answered_no_with_that_reason(void **state)
{
    (void)state;
    const arcp_lease *child = lease_of(complex_child, NONE);
    const arcp_lease *parent = lease_of(complex_parent, NONE);
    arcp_subset_violation violation = arcp_subset_violation_init();
    arcp_buf details = arcp_buf_init();
    bool is_subset = true;
    assert_int_equal(arcp_lease_is_subset(child, parent, &is_subset, &violation), ARCP_OK);
    assert_false(is_subset);
    assert_int_equal(violation.code, ARCP_DENY_TOO_COMPLEX);
    assert_int_equal(violation.witness.size, 0);
    assert_non_null(strstr(violation.reason, "exceeds the allowed work"));
    arcp_subset_violation_format_details(&violation, &details);
    arcp_buf_append_byte(&details, '\0');
    assert_null(strstr(details.data, "witness"));
    assert_non_null(strstr(details.data, "\"reason\":\"TOO_COMPLEX\""));
    arcp_error err = {0};
    assert_int_equal(arcp_lease_assert_subset(child, parent, &err), ARCP_E_LEASE_SUBSET_VIOLATION);
    arcp_buf_fini(&details);
    arcp_subset_violation_fini(&violation);
    arcp_lease_unref(parent);
    arcp_lease_unref(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leases_are_compared_member_by_member),
        cmocka_unit_test(the_assertion_yields_the_error_with_its_details),
        cmocka_unit_test(the_assertion_accepts_a_subset),
        cmocka_unit_test(a_question_beyond_the_bound_is_answered_no_with_that_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
