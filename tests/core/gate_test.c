/* The gate: expiry, then budgets, then capability and target; deny by default (docs/leases.md,
 * draft §9.3). */
#include "core/gate_rig.h"

#include "support/check.h"

/* [arcp:9.1-1] */
static void an_empty_lease_denies_every_operation(void **state)
{
    (void)state;
    static const char *const questions[][2] = {
        {"fs.read", "/a"},        {"fs.write", "/a"},      {"net.fetch", "https://h/"},
        {"tool.call", "search"},  {"agent.delegate", "x"}, {"model.use", "gpt-4"},
        {"cost.budget", "USD:1"}, {"x-vendor.a.b", "x"},   {"no.such", "x"},
    };
    const arcp_authority *authority = authority_of("{}", "");
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const arcp_decision decision = ask(authority, questions[i][0], questions[i][1]);
        assert_false(decision.allowed);
        assert_int_equal(decision.code, ARCP_E_PERMISSION_DENIED);
    }
    arcp_authority_unref(authority);
}

/* [arcp:9.3-2] */
static void an_empty_list_grants_nothing(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"fs.read\":[],\"x-vendor.a.b\":[]}", "");
    assert_int_equal(ask(authority, "fs.read", "/a").reason, ARCP_DENY_NO_MATCH);
    assert_int_equal(ask(authority, "x-vendor.a.b", "a").reason, ARCP_DENY_NO_MATCH);
    arcp_authority_unref(authority);
}

static void a_target_that_a_pattern_matches_is_allowed_and_the_pattern_named(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of(
        "{\"net.fetch\":[\"https://api.example.com/**\",\"s3://reports/**.csv\"]}", "");
    const arcp_decision decision = ask(authority, "net.fetch", "S3://reports/2026/W19.csv");
    assert_true(decision.allowed);
    check_span(decision.pattern, "s3://reports/**.csv");
    check_span(decision.canonical, "s3://reports/2026/W19.csv");
    check_span(decision.target, "S3://reports/2026/W19.csv");
    check_span(decision.capability, "net.fetch");
    arcp_authority_unref(authority);
}

/* [arcp:LA-7] */
static void the_caller_gets_the_canonical_form_that_was_matched(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"fs.read\":[\"/a/c\"]}", "");
    const arcp_decision allowed = ask(authority, "fs.read", "/a/./b/..//c");
    assert_true(allowed.allowed);
    check_span(allowed.canonical, "/a/c");
    const arcp_decision denied = ask(authority, "fs.read", "/a/c/../../etc/passwd");
    assert_false(denied.allowed);
    check_span(denied.canonical, "/etc/passwd");
    assert_int_equal(denied.reason, ARCP_DENY_NO_MATCH);
    arcp_authority_unref(authority);
}

static void relative_paths_need_a_directory_and_stay_below_it(void **state)
{
    (void)state;
    const arcp_authority *nowhere = authority_of("{\"fs.read\":[\"**\"]}", "");
    assert_int_equal(ask(nowhere, "fs.read", "etc/passwd").reason, ARCP_DENY_ESCAPES_BASE);
    arcp_authority_unref(nowhere);
    arcp_authority_options options = arcp_authority_options_init();
    options.cwd = SPAN("/job/1");
    const arcp_authority *somewhere =
        authority_with("{\"fs.read\":[\"src/**\",\"/etc/hosts\"]}", "", options);
    assert_true(ask(somewhere, "fs.read", "./src//x").allowed);
    assert_int_equal(ask(somewhere, "fs.read", "src/../../x").reason, ARCP_DENY_ESCAPES_BASE);
    assert_int_equal(ask(somewhere, "fs.read", "src/..").reason, ARCP_DENY_BASE_ITSELF);
    assert_true(ask(somewhere, "fs.read", "/etc/hosts").allowed);
    assert_false(ask(somewhere, "fs.read", "/job/1/src/x").allowed);
    arcp_authority_unref(somewhere);
}

static void the_options_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *cwd;
        size_t cwd_size;
        int64_t grace_ns;
        arcp_status want;
    } rows[] = {
        {"a relative directory", "job", 3, 0, ARCP_E_USAGE},
        {"a NUL in the directory", "/a\0b", 4, 0, ARCP_E_USAGE},
        {"an absolute directory", "/job", 4, 0, ARCP_OK},
        {"a grace of a second", "", 0, SEC, ARCP_OK},
        {"a longer grace", "", 0, SEC + 1, ARCP_E_USAGE},
        {"a negative grace", "", 0, -1, ARCP_E_USAGE},
    };
    const arcp_lease *lease = lease_of("{}", "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  %s\n", rows[i].name);
        arcp_authority_options options = arcp_authority_options_init();
        options.cwd = arcp_span_make(rows[i].cwd, rows[i].cwd_size);
        options.expiry_grace_ns = rows[i].grace_ns;
        arcp_authority *authority = NULL;
        arcp_error err = {0};
        assert_int_equal(arcp_authority_new(lease, &options, &authority, &err), rows[i].want);
        assert_int_equal(authority != NULL, rows[i].want == ARCP_OK);
        arcp_authority_unref(authority);
    }
    arcp_lease_unref(lease);
}

/* An older program's options end before model_use_required, which is true by default. */
static void options_unknown_to_an_older_program_have_their_default(void **state)
{
    (void)state;
    struct {
        size_t struct_size;
        arcp_budget *budget;
        arcp_time now;
    } old = {sizeof old, NULL, {0, 0}};
    const void *given = &old;
    const arcp_lease *lease = lease_of("{}", "");
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    arcp_decision decision;
    check_ok(arcp_authority_new(lease, given, &authority, &err), &err);
    assert_false(
        arcp_authorize_model(authority, (arcp_time){0, 0}, SPAN("m"), &scratch, &decision));
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
}

static void options_of_a_newer_program_are_refused(void **state)
{
    (void)state;
    struct {
        arcp_authority_options known;
        bool ask_first;
    } later = {arcp_authority_options_init(), true};
    later.known.struct_size = sizeof later;
    const void *given = &later;
    const arcp_lease *lease = lease_of("{}", "");
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp_authority_new(lease, given, &authority, &err), ARCP_E_USAGE);
    assert_null(authority);
    assert_non_null(strstr(err.message, "arcp_authority_options: struct_size is "));
    arcp_lease_unref(lease);
}

static void expiry_is_reported_before_budget_and_budget_before_permission(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"cost.budget\":[\"USD:0\"]}", expires_at_100);
    const arcp_time late = {100 * SEC, 0};
    assert_int_equal(ask_at(authority, late, "fs.read", "").code, ARCP_E_LEASE_EXPIRED);
    assert_int_equal(ask(authority, "fs.read", "").code, ARCP_E_BUDGET_EXHAUSTED);
    arcp_authority_unref(authority);
    authority = authority_of("{}", "");
    assert_int_equal(ask(authority, "no.such", "").reason, ARCP_DENY_EMPTY);
    assert_int_equal(ask(authority, "no.such", "x").reason, ARCP_DENY_UNKNOWN_CAPABILITY);
    assert_int_equal(ask(authority, "fs.read", "/x").reason, ARCP_DENY_NO_MATCH);
    arcp_authority_unref(authority);
}

/* [arcp:LB-1] */
static void a_vendors_capability_is_enforced_like_the_others(void **state)
{
    (void)state;
    const arcp_authority *authority =
        authority_of("{\"x-vendor.acme.pub\":[\"a/*\"],\"x-vendor.acme.sub\":[\"b/*\"]}", "");
    assert_true(ask(authority, "x-vendor.acme.pub", "a/b.c").allowed);
    assert_false(ask(authority, "x-vendor.acme.sub", "a/b.c").allowed);
    assert_int_equal(ask(authority, "x-vendor.acme", "a/b").reason, ARCP_DENY_UNKNOWN_CAPABILITY);
    arcp_authority_unref(authority);
}

static void an_authority_keeps_what_it_is_made_of(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"fs.read\":[\"/a\"]}", "");
    const arcp_authority *again = arcp_authority_ref(authority);
    arcp_authority_unref(authority);
    assert_true(arcp_lease_names(arcp_authority_lease(again), SPAN("fs.read")));
    arcp_authority_unref(again);
    arcp_authority_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_lease_denies_every_operation),
        cmocka_unit_test(an_empty_list_grants_nothing),
        cmocka_unit_test(a_target_that_a_pattern_matches_is_allowed_and_the_pattern_named),
        cmocka_unit_test(the_caller_gets_the_canonical_form_that_was_matched),
        cmocka_unit_test(relative_paths_need_a_directory_and_stay_below_it),
        cmocka_unit_test(the_options_are_checked),
        cmocka_unit_test(options_unknown_to_an_older_program_have_their_default),
        cmocka_unit_test(options_of_a_newer_program_are_refused),
        cmocka_unit_test(expiry_is_reported_before_budget_and_budget_before_permission),
        cmocka_unit_test(a_vendors_capability_is_enforced_like_the_others),
        cmocka_unit_test(an_authority_keeps_what_it_is_made_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
