/* Every allocation of the lease functions fails once, alone and with all that follow: the call
 * reports it, its outputs are unchanged, nothing leaks (the sanitizers look), and without the
 * failure it works. */
#include "support/check.h"

#include <arcp/lease_explain.h>
#include <arcp/lease_subset.h>

#include "core/lease_text.h"
#include "support/failing_alloc.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

static const char wide_text[] =
    "{\"fs.read\":[\"/a/**\",\"/b/*\"],\"net.fetch\":[\"https://*/v1/**\"],"
    "\"model.use\":[\"gpt-*\"],\"x-vendor.a.b\":[\"**\"],\"cost.budget\":[\"USD:5\",\"EUR:1\"]}";
static const char narrow_text[] =
    "{\"fs.read\":[\"/a/b\",\"/c\"],\"net.fetch\":[\"https://h/**\"],"
    "\"x-vendor.a.b\":[\"q\\u002fr\"],\"cost.budget\":[\"USD:1\",\"USD:0.5\"]}";
static const char until[] = "{\"expires_at\":\"2026-05-13T23:42:00.12345678901Z\"}";

/* What the scenarios work on; made before anything fails. */
typedef struct fixture {
    arcp_lease *wide;
    arcp_lease *narrow;
    arcp_authority *authority;
} fixture;

static arcp_status parse_both(const fixture *with)
{
    (void)with;
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    const arcp_status status =
        arcp_lease_parse(arcp_span_cstr(narrow_text), arcp_span_cstr(until), NULL, &lease, &err);
    assert_int_equal(lease != NULL, status == ARCP_OK);
    assert_int_equal(err.status, status);
    arcp_lease_unref(lease);
    return status;
}

static arcp_status build(const fixture *with)
{
    (void)with;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    if (builder == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_lease_allow(builder, "fs.read", "/a");
    arcp_lease_budget(builder, "USD", "1");
    arcp_lease_expires_at(builder, "2026-05-13T23:42:00Z");
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    const arcp_status status = arcp_lease_build(builder, &lease, &err);
    assert_int_equal(lease != NULL, status == ARCP_OK);
    arcp_lease_unref(lease);
    return status;
}

static arcp_status make_budget(const fixture *with)
{
    arcp_budget *budget = NULL;
    arcp_error err = {0};
    const arcp_status status = arcp_budget_new(with->wide, NULL, &budget, &err);
    assert_int_equal(budget != NULL, status == ARCP_OK);
    arcp_budget_unref(budget);
    return status;
}

static arcp_status make_authority(const fixture *with)
{
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    const arcp_authority_options options = arcp_authority_options_init();
    const arcp_status status = arcp_authority_new(with->wide, &options, &authority, &err);
    assert_int_equal(authority != NULL, status == ARCP_OK);
    arcp_authority_unref(authority);
    return status;
}

static arcp_status compare(const fixture *with)
{
    bool is_subset = true;
    arcp_subset_violation violation = arcp_subset_violation_init();
    const arcp_status status =
        arcp_lease_is_subset(with->wide, with->narrow, &is_subset, &violation);
    /* Out of memory is never a "yes". */
    assert_false(is_subset);
    arcp_subset_violation_fini(&violation);
    return status;
}

static arcp_status assert_subset(const fixture *with)
{
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    const arcp_status status = arcp_lease_assert_subset(with->wide, with->narrow, &err);
    const bool complete = details.size != 0;
    arcp_buf_fini(&details);
    if (status == ARCP_E_LEASE_SUBSET_VIOLATION) {
        /* The verdict holds even if there is no memory for its details. */
        return complete ? ARCP_OK : ARCP_E_NO_MEMORY;
    }
    return status;
}

static arcp_status derive(const fixture *with)
{
    arcp_lease *derived = NULL;
    arcp_error err = {0};
    const arcp_lease *request = with->narrow;
    const arcp_status status = arcp_lease_derive(with->authority, request, &derived, &err);
    assert_int_equal(derived != NULL, status == ARCP_OK);
    arcp_lease_unref(derived);
    return status;
}

static arcp_status narrow(const fixture *with)
{
    arcp_lease *narrowed = NULL;
    arcp_buf dropped = arcp_buf_init();
    arcp_error err = {0};
    const arcp_status status =
        arcp_lease_narrow(with->wide, with->narrow, false, &narrowed, &dropped, &err);
    assert_int_equal(narrowed != NULL, status == ARCP_OK);
    arcp_lease_unref(narrowed);
    arcp_buf_fini(&dropped);
    return status;
}

static arcp_status explain(const fixture *with)
{
    const arcp_time now = {0, 0};
    arcp_buf text = arcp_buf_init();
    const bool allowed =
        arcp_lease_explain(with->authority, now, SPAN("fs.read"), SPAN("/b/c/d"), true, &text);
    assert_false(allowed);
    const arcp_status status = arcp_buf_status(&text);
    arcp_buf_fini(&text);
    return status;
}

static arcp_status lint(const fixture *with)
{
    const arcp_time now = {0, 0};
    arcp_buf text = arcp_buf_init();
    (void)arcp_lease_lint(with->wide, now, true, &text);
    const arcp_status status = arcp_buf_status(&text);
    arcp_buf_fini(&text);
    return status;
}

static arcp_status diff(const fixture *with)
{
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp_lease_diff(with->wide, with->narrow, false, &text);
    arcp_buf_clear(&text);
    if (status == ARCP_OK) {
        status = arcp_lease_diff(with->wide, with->narrow, true, &text);
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_status format(const fixture *with)
{
    static arcp_target_scratch scratch;
    const arcp_time now = {0, 0};
    arcp_decision decision;
    assert_false(
        arcp_authorize(with->authority, now, SPAN("fs.read"), SPAN("/x"), &scratch, &decision));
    arcp_buf text = arcp_buf_init();
    arcp_lease_format(with->wide, &text);
    arcp_lease_format_constraints(with->wide, &text);
    arcp_decision_format_details(with->authority, &decision, &text);
    arcp_decision_format_message(&decision, &text);
    const arcp_status status = arcp_buf_status(&text);
    arcp_buf_fini(&text);
    return status;
}

static const struct {
    const char *name;
    arcp_status (*run)(const fixture *with);
} scenarios[] = {
    {"parse", parse_both},   {"build", build},
    {"budget", make_budget}, {"authority", make_authority},
    {"is subset", compare},  {"assert subset", assert_subset},
    {"derive", derive},      {"narrow", narrow},
    {"explain", explain},    {"lint", lint},
    {"diff", diff},          {"format", format},
};

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fixture with = {lease_of(wide_text, until), lease_of(narrow_text, ""), NULL};
    arcp_error err = {0};
    const arcp_authority_options options = arcp_authority_options_init();
    /* Under this one the request inherits an expiry and the empty model list. */
    const arcp_lease *parent =
        lease_of("{\"fs.read\":[\"/a/**\",\"/c\"],\"net.fetch\":[\"https://**\"],"
                 "\"x-vendor.a.b\":[\"q/*\"],\"model.use\":[\"m\"],"
                 "\"cost.budget\":[\"USD:2\"]}",
                 "{\"expires_at\":\"2100-01-01T00:00:00Z\"}");
    check_ok(arcp_authority_new(parent, &options, &with.authority, &err), &err);
    arcp_lease_unref(parent);
    for (size_t i = 0; i < 2 * (sizeof scenarios / sizeof *scenarios); i++) {
        const bool all = i % 2 == 1;
        print_message("  %s, %s\n", scenarios[i / 2].name, all ? "and all that follow" : "alone");
        size_t n = 0;
        size_t refused = 0;
        arcp_status status = ARCP_OK;
        do {
            failing_alloc_arm(++n, all ? FAILING_ALLOC_ALL_AFTER : FAILING_ALLOC_ONE);
            status = scenarios[i / 2].run(&with);
            /* An allocation that is not necessary (to shrink a block) may fail silently. */
            assert_true(status == ARCP_OK || status == ARCP_E_NO_MEMORY);
            refused += status != ARCP_OK;
        } while (failing_alloc_disarm());
        assert_int_equal(status, ARCP_OK);
        assert_true(refused > 0);
    }
    arcp_authority_unref(with.authority);
    arcp_lease_unref(with.wide);
    arcp_lease_unref(with.narrow);
}

static void the_gate_allocates_nothing(void **state)
{
    (void)state;
    const arcp_lease *lease = lease_of(wide_text, "{\"expires_at\":\"2100-01-01T00:00:00Z\"}");
    const arcp_authority_options options = arcp_authority_options_init();
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    static arcp_target_scratch scratch;
    const arcp_time now = {0, 0};
    arcp_decision decision;
    arcp_budget_report report;
    const arcp_decimal amount = {1, 0};
    const size_t before = failing_alloc_count();
    assert_true(
        arcp_authorize(authority, now, SPAN("fs.read"), SPAN("/a/./b//c"), &scratch, &decision));
    assert_false(arcp_authorize(authority, now, SPAN("net.fetch"), SPAN("HTTPS://H/../x"), &scratch,
                                &decision));
    assert_true(
        arcp_authorize(authority, now, SPAN("x-vendor.a.b"), SPAN("q"), &scratch, &decision));
    (void)arcp_budget_spend(arcp_authority_budget(authority), SPAN("USD"), amount, &report, 1);
    assert_int_equal(failing_alloc_count(), before);
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_gate_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
