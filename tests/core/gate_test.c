/* The gate: expiry, then budgets, then capability and target; deny by default (docs/leases.md,
 * draft §9.3). */
#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>

#include <arcp/gate.h>

#define SPAN(text) ARCP_SPAN_LITERAL(text)
#define SEC        ARCP_NS_PER_SEC

static arcp_lease *parse(const char *lease, const char *constraints)
{
    arcp_lease *parsed = NULL;
    arcp_error err = {0};
    check_ok(
        arcp_lease_parse(arcp_span_cstr(lease), arcp_span_cstr(constraints), NULL, &parsed, &err),
        &err);
    return parsed;
}

static arcp_authority *authority_with(const char *lease, const char *constraints,
                                      arcp_authority_options options)
{
    arcp_lease *parsed = parse(lease, constraints);
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(parsed, &options, &authority, &err), &err);
    arcp_lease_unref(parsed);
    return authority;
}

static arcp_authority *authority_of(const char *lease, const char *constraints)
{
    const arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    return authority_with(lease, constraints, options);
}

static arcp_target_scratch scratch;
static const arcp_time at_zero = {0, 0};

static arcp_decision ask_at(const arcp_authority *authority, arcp_time now, const char *capability,
                            const char *target)
{
    arcp_decision decision;
    const bool allowed = arcp_authorize(authority, now, arcp_span_cstr(capability),
                                        arcp_span_cstr(target), &scratch, &decision);
    assert_int_equal(allowed, decision.allowed);
    assert_int_equal(allowed, decision.code == ARCP_OK);
    assert_int_equal(allowed, decision.reason == ARCP_DENY_NONE);
    return decision;
}

static arcp_decision ask(const arcp_authority *authority, const char *capability,
                         const char *target)
{
    return ask_at(authority, at_zero, capability, target);
}

/* [arcp:9.1-1] */
static void an_empty_lease_denies_every_operation(void **state)
{
    (void)state;
    static const char *const questions[][2] = {
        {"fs.read", "/a"},        {"fs.write", "/a"},      {"net.fetch", "https://h/"},
        {"tool.call", "search"},  {"agent.delegate", "x"}, {"model.use", "gpt-4"},
        {"cost.budget", "USD:1"}, {"x-vendor.a.b", "x"},   {"no.such", "x"},
    };
    arcp_authority *authority = authority_of("{}", "");
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
    arcp_authority *authority = authority_of("{\"fs.read\":[],\"x-vendor.a.b\":[]}", "");
    assert_int_equal(ask(authority, "fs.read", "/a").reason, ARCP_DENY_NO_MATCH);
    assert_int_equal(ask(authority, "x-vendor.a.b", "a").reason, ARCP_DENY_NO_MATCH);
    arcp_authority_unref(authority);
}

static void what_a_pattern_covers_is_allowed_and_named(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of(
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
    arcp_authority *authority = authority_of("{\"fs.read\":[\"/a/c\"]}", "");
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
    arcp_authority *nowhere = authority_of("{\"fs.read\":[\"**\"]}", "");
    assert_int_equal(ask(nowhere, "fs.read", "etc/passwd").reason, ARCP_DENY_ESCAPES_BASE);
    arcp_authority_unref(nowhere);
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.cwd = SPAN("/job/1");
    arcp_authority *somewhere =
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
    arcp_lease *lease = parse("{}", "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  %s\n", rows[i].name);
        arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
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

static void a_caller_of_an_older_header_gets_the_defaults_for_what_it_does_not_know(void **state)
{
    (void)state;
    struct {
        size_t struct_size;
        arcp_budget *budget;
        arcp_time now;
    } old = {sizeof old, NULL, {0, 0}};
    arcp_lease *lease = parse("{}", "");
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, (const arcp_authority_options *)(const void *)&old,
                                &authority, &err),
             &err);
    assert_false(ask(authority, "model.use", "gpt-4").allowed);
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
}

static const char expires_at_100[] = "{\"expires_at\":\"1970-01-01T00:01:40Z\"}";

/* [arcp:9.5-5] */
static void operations_fail_from_the_instant_of_expiry_on(void **state)
{
    (void)state;
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.now.wall_ns = 90 * SEC;
    options.now.mono_ns = 1000 * SEC;
    arcp_authority *authority = authority_with("{\"fs.read\":[\"/a\"]}", expires_at_100, options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == 1010 * SEC);
    const arcp_time before = {100 * SEC - 1, 1010 * SEC - 1};
    const arcp_time at = {100 * SEC, 1010 * SEC};
    assert_true(ask_at(authority, before, "fs.read", "/a").allowed);
    const arcp_decision decision = ask_at(authority, at, "fs.read", "/a");
    assert_int_equal(decision.code, ARCP_E_LEASE_EXPIRED);
    assert_int_equal(decision.reason, ARCP_DENY_EXPIRED);
    arcp_authority_unref(authority);
}

/* [arcp:14-4] */
static void a_wall_clock_set_back_never_lengthens_a_lease(void **state)
{
    (void)state;
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.now.wall_ns = 90 * SEC;
    options.now.mono_ns = 0;
    arcp_authority *authority = authority_with("{\"fs.read\":[\"/a\"]}", expires_at_100, options);
    const arcp_time set_back = {-3600 * SEC, 10 * SEC};
    assert_true(arcp_authority_is_expired(authority, set_back));
    const arcp_time set_back_early = {-3600 * SEC, 10 * SEC - 1};
    assert_false(arcp_authority_is_expired(authority, set_back_early));
    arcp_authority_unref(authority);
}

static void a_wall_clock_set_forward_shortens_a_lease(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of("{\"fs.read\":[\"/a\"]}", expires_at_100);
    const arcp_time set_forward = {100 * SEC, 1};
    assert_true(arcp_authority_is_expired(authority, set_forward));
    const arcp_time not_quite = {100 * SEC - 1, 1};
    assert_false(arcp_authority_is_expired(authority, not_quite));
    arcp_authority_unref(authority);
}

/* [arcp:14-5] */
static void the_grace_is_added_to_both_clocks(void **state)
{
    (void)state;
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.expiry_grace_ns = SEC;
    arcp_authority *authority = authority_with("{}", expires_at_100, options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == 101 * SEC);
    const arcp_time inside = {101 * SEC - 1, 101 * SEC - 1};
    const arcp_time outside = {101 * SEC, 0};
    assert_false(arcp_authority_is_expired(authority, inside));
    assert_true(arcp_authority_is_expired(authority, outside));
    arcp_authority_unref(authority);
}

static void an_expiry_in_the_past_is_expired_at_once(void **state)
{
    (void)state;
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.now.wall_ns = 200 * SEC;
    options.now.mono_ns = 7;
    arcp_authority *authority = authority_with("{}", expires_at_100, options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == 7);
    assert_true(arcp_authority_is_expired(authority, options.now));
    arcp_authority_unref(authority);
}

/* [arcp:7.1-3] */
static void a_lease_without_expiry_lasts(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of("{\"fs.read\":[\"/a\"]}", "");
    assert_true(arcp_authority_deadline_mono_ns(authority) == ARCP_TIME_NEVER);
    const arcp_time late = {INT64_MAX - 1, INT64_MAX - 1};
    assert_true(ask_at(authority, late, "fs.read", "/a").allowed);
    arcp_authority_unref(authority);
}

static void an_expiry_years_ahead_does_not_fire(void **state)
{
    (void)state;
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.now.mono_ns = INT64_MAX - 5;
    arcp_authority *authority =
        authority_with("{}", "{\"expires_at\":\"2261-01-01T00:00:00Z\"}", options);
    assert_true(arcp_authority_deadline_mono_ns(authority) == ARCP_TIME_NEVER);
    assert_false(arcp_authority_is_expired(authority, options.now));
    arcp_authority_unref(authority);
}

/* [arcp:9.4-5] */
static void a_child_never_outlives_its_parent_even_when_the_clock_was_set_back(void **state)
{
    (void)state;
    arcp_authority *parent = authority_of("{}", expires_at_100);
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.now.wall_ns = -3600 * SEC; /* set back by an hour */
    options.now.mono_ns = 50 * SEC;
    options.parent = parent;
    arcp_authority *child = authority_with("{}", expires_at_100, options);
    assert_true(arcp_authority_deadline_mono_ns(child) == 100 * SEC);
    arcp_authority *unbounded = authority_with("{}", "", options);
    assert_true(arcp_authority_deadline_mono_ns(unbounded) == 100 * SEC);
    const arcp_time later = {100 * SEC, 60 * SEC};
    assert_true(arcp_authority_is_expired(unbounded, later));
    arcp_authority_unref(parent);
    arcp_authority_unref(child);
    arcp_authority_unref(unbounded);
}

static void spend(const arcp_authority *authority, const char *currency, const char *text)
{
    arcp_decimal amount = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    check_ok(arcp_decimal_parse(arcp_span_cstr(text), &amount, &err), &err);
    (void)arcp_budget_spend(arcp_authority_budget(authority), arcp_span_cstr(currency), amount,
                            NULL, 0);
}

/* [arcp:9.6-6] */
static void a_used_up_budget_denies_every_capability(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of(
        "{\"fs.read\":[\"/a\"],\"tool.call\":[\"**\"],\"cost.budget\":[\"USD:1\",\"EUR:1\"]}", "");
    assert_true(ask(authority, "tool.call", "search").allowed);
    spend(authority, "EUR", "1");
    const arcp_decision decision = ask(authority, "tool.call", "search");
    assert_int_equal(decision.code, ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(decision.reason, ARCP_DENY_BUDGET);
    check_span(decision.currency, "EUR");
    assert_int_equal(ask(authority, "fs.read", "/a").code, ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(ask(authority, "fs.read", "/not/granted").code, ARCP_E_BUDGET_EXHAUSTED);
    arcp_authority_unref(authority);
}

static void asking_about_the_budget_itself_passes_the_budget(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of("{\"cost.budget\":[\"USD:0\"]}", "");
    const arcp_decision decision = ask(authority, "cost.budget", "USD:0");
    assert_int_equal(decision.code, ARCP_E_PERMISSION_DENIED);
    assert_int_equal(decision.reason, ARCP_DENY_UNKNOWN_CAPABILITY);
    assert_int_equal(ask(authority, "fs.read", "/a").code, ARCP_E_BUDGET_EXHAUSTED);
    arcp_authority_unref(authority);
}

static void an_ancestors_budget_denies_too(void **state)
{
    (void)state;
    arcp_authority *parent = authority_of("{\"cost.budget\":[\"USD:1\"]}", "");
    arcp_lease *lease = parse("{\"tool.call\":[\"t\"],\"cost.budget\":[\"USD:1\"]}", "");
    arcp_budget *budget = NULL;
    arcp_error err = {0};
    check_ok(arcp_budget_new(lease, arcp_authority_budget(parent), &budget, &err), &err);
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.budget = budget;
    arcp_authority *child = NULL;
    check_ok(arcp_authority_new(lease, &options, &child, &err), &err);
    arcp_budget_unref(budget);
    arcp_lease_unref(lease);
    assert_true(ask(child, "tool.call", "t").allowed);
    spend(parent, "USD", "1");
    assert_int_equal(ask(child, "tool.call", "t").code, ARCP_E_BUDGET_EXHAUSTED);
    arcp_authority_unref(parent);
    arcp_authority_unref(child);
}

/* Whoever names the parent does not have to make the budget too. */
static arcp_authority *child_of(const arcp_authority *parent, const char *lease_text,
                                bool model_use_required)
{
    arcp_lease *lease = parse(lease_text, "");
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.parent = parent;
    options.model_use_required = model_use_required;
    arcp_authority *child = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, &options, &child, &err), &err);
    arcp_lease_unref(lease);
    return child;
}

static void a_child_is_never_without_its_parents_counters(void **state)
{
    (void)state;
    static const char *const leases[] = {"{\"tool.call\":[\"t\"]}",
                                         "{\"tool.call\":[\"t\"],\"cost.budget\":[\"USD:1\"]}"};
    for (size_t i = 0; i < sizeof leases / sizeof *leases; i++) {
        arcp_authority *parent = authority_of("{\"cost.budget\":[\"USD:1\"]}", "");
        arcp_authority *child = child_of(parent, leases[i], true);
        assert_true(ask(child, "tool.call", "t").allowed);
        spend(child, "USD", "1");
        assert_int_equal(ask(child, "tool.call", "t").code, ARCP_E_BUDGET_EXHAUSTED);
        assert_int_equal(ask(parent, "tool.call", "t").code, ARCP_E_BUDGET_EXHAUSTED);
        arcp_authority_unref(child);
        arcp_authority_unref(parent);
    }
}

static void a_child_is_not_freer_to_use_models_than_its_parent(void **state)
{
    (void)state;
    for (int parents = 0; parents < 2; parents++) {
        for (int childs = 0; childs < 2; childs++) {
            arcp_lease *lease = parse("{}", "");
            arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
            options.model_use_required = parents == 1;
            arcp_authority *parent = NULL;
            arcp_error err = {0};
            check_ok(arcp_authority_new(lease, &options, &parent, &err), &err);
            arcp_authority *child = child_of(parent, "{}", childs == 1);
            assert_int_equal(ask(child, "model.use", "m").allowed, parents == 0 && childs == 0);
            arcp_authority_unref(child);
            arcp_authority_unref(parent);
            arcp_lease_unref(lease);
        }
    }
}

static void a_lease_with_a_budget_is_never_without_counters(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of("{\"cost.budget\":[\"USD:1\"]}", "");
    assert_non_null(arcp_authority_budget(authority));
    arcp_authority_unref(authority);
    authority = authority_of("{\"tool.call\":[\"t\"]}", "");
    assert_null(arcp_authority_budget(authority));
    arcp_authority_unref(authority);
}

static void expiry_is_told_before_budget_and_budget_before_permission(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of("{\"cost.budget\":[\"USD:0\"]}", expires_at_100);
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

/* [arcp:9.7-2] [arcp:LB-11] */
static void models_are_matched_as_they_are_spelled(void **state)
{
    (void)state;
    arcp_authority *authority =
        authority_of("{\"model.use\":[\"gpt-4*\",\"claude-3-5-*\",\"tier-fast/*\"]}", "");
    static const struct {
        const char *model;
        bool allowed;
    } rows[] = {
        {"gpt-4.1-mini", true},
        {"claude-3-5-sonnet-20241022", true},
        {"tier-fast/a", true},
        {"llama3", false},
        {"tier-fast/a/b", false},
        {"tier-fastx/a", false},
        {"GPT-4o", false},
        {"tier-fast/x/../a", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arcp_decision decision;
        assert_int_equal(arcp_authorize_model(authority, at_zero, arcp_span_cstr(rows[i].model),
                                              &scratch, &decision),
                         rows[i].allowed);
    }
    arcp_authority_unref(authority);
}

/* [arcp:9.7-4] [arcp:9.7-5] */
static void an_absent_model_use_denies_unless_the_policy_lets_it_stand_for_all(void **state)
{
    (void)state;
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.model_use_required = false;
    arcp_authority *open = authority_with("{}", "", options);
    const arcp_decision decision = ask(open, "model.use", "gpt-4");
    assert_true(decision.allowed);
    check_span(decision.pattern, "");
    check_span(decision.canonical, "gpt-4");
    /* The target must still be one, and nothing else becomes open. */
    assert_false(ask(open, "model.use", "a\nb").allowed);
    assert_false(ask(open, "tool.call", "t").allowed);
    arcp_authority_unref(open);
    arcp_authority *named = authority_with("{\"model.use\":[]}", "", options);
    assert_false(ask(named, "model.use", "gpt-4").allowed);
    arcp_authority_unref(named);
    arcp_authority *required = authority_of("{}", "");
    assert_false(ask(required, "model.use", "gpt-4").allowed);
    arcp_authority_unref(required);
}

typedef struct delegate_row {
    const char *name;
    const char *pattern;
    const char *agent;
    const char *version;
    const char *canonical; /* what was matched; NULL: denied */
} delegate_row;

static const delegate_row delegations[] = {
    {"any version by name and star", "pdf-renderer@*", "pdf-renderer", "1.0.0",
     "pdf-renderer@1.0.0"},
    {"the star covers an agent without a version", "pdf-renderer@*", "pdf-renderer", "",
     "pdf-renderer@"},
    {"the bare name covers any version", "pdf-renderer", "pdf-renderer", "1.0.0", "pdf-renderer"},
    {"the bare name covers no version", "pdf-renderer", "pdf-renderer", "", "pdf-renderer"},
    {"one version", "pdf-renderer@1.*", "pdf-renderer", "1.2.3", "pdf-renderer@1.2.3"},
    {"another version", "pdf-renderer@1.*", "pdf-renderer", "2.0.0", NULL},
    {"one version is not none", "pdf-renderer@1.*", "pdf-renderer", "", NULL},
    {"another agent", "pdf-renderer@*", "pdf-reader", "1.0.0", NULL},
    {"a longer name", "pdf-renderer", "pdf-renderer2", "", NULL},
    {"everything", "**", "a", "1", "a@1"},
};

/* [arcp:LB-12] */
static void delegation_asks_for_the_version_then_the_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof delegations / sizeof *delegations; i++) {
        const delegate_row *row = &delegations[i];
        print_message("  %s\n", row->name);
        char lease[128];
        (void)snprintf(lease, sizeof lease, "{\"agent.delegate\":[\"%s\"]}", row->pattern);
        arcp_authority *authority = authority_of(lease, "");
        arcp_decision decision;
        const bool allowed =
            arcp_authorize_delegate(authority, at_zero, arcp_span_cstr(row->agent),
                                    arcp_span_cstr(row->version), &scratch, &decision);
        assert_int_equal(allowed, row->canonical != NULL);
        if (allowed) {
            check_span(decision.canonical, row->canonical);
            check_span(decision.pattern, row->pattern);
        } else {
            char full[64];
            (void)snprintf(full, sizeof full, "%s%s%s", row->agent,
                           row->version[0] == '\0' ? "" : "@", row->version);
            assert_int_equal(decision.reason, ARCP_DENY_NO_MATCH);
            check_span(decision.target, full);
        }
        arcp_authority_unref(authority);
    }
}

static void delegation_of_what_is_no_name_says_why(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of("{\"agent.delegate\":[\"**\"]}", "");
    static char huge[3 * ARCP_TARGET_BYTES_MAX];
    memset(huge, 'a', sizeof huge);
    const arcp_span long_name = arcp_span_make(huge, sizeof huge);
    const arcp_span half = arcp_span_make(huge, ARCP_TARGET_BYTES_MAX / 2);
    const arcp_span max = arcp_span_make(huge, ARCP_TARGET_BYTES_MAX);
    arcp_decision decision;
    assert_false(
        arcp_authorize_delegate(authority, at_zero, long_name, long_name, &scratch, &decision));
    assert_int_equal(decision.reason, ARCP_DENY_TOO_LONG);
    assert_false(arcp_authorize_delegate(authority, at_zero, half, half, &scratch, &decision));
    assert_int_equal(decision.reason, ARCP_DENY_TOO_LONG);
    assert_true(arcp_authorize_delegate(authority, at_zero, max, SPAN(""), &scratch, &decision));
    assert_false(
        arcp_authorize_delegate(authority, at_zero, SPAN(""), SPAN(""), &scratch, &decision));
    assert_int_equal(decision.reason, ARCP_DENY_EMPTY);
    assert_false(
        arcp_authorize_delegate(authority, at_zero, SPAN("a\nb"), SPAN("1"), &scratch, &decision));
    assert_int_equal(decision.reason, ARCP_DENY_CONTROL_BYTE);
    arcp_authority_unref(authority);
}

static void check_details(const arcp_authority *authority, const arcp_decision *decision,
                          const char *details, const char *message)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_decision_format_details(authority, decision, &text);
    check_span(arcp_buf_span(&text), details);
    arcp_buf_clear(&text);
    arcp_decision_format_message(decision, &text);
    check_span(arcp_buf_span(&text), message);
    arcp_buf_fini(&text);
}

static void a_denial_carries_what_a_client_needs_to_know(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of(
        "{\"fs.read\":[\"/data/**\",\"/x\"],\"cost.budget\":[\"USD:1\"]}", expires_at_100);
    arcp_decision decision = ask(authority, "fs.read", "/data/../etc/passwd");
    check_details(authority, &decision,
                  "{\"capability\":\"fs.read\",\"target\":\"/data/../etc/passwd\",\"canonical\":"
                  "\"/etc/passwd\",\"granted\":[\"/data/**\",\"/x\"],\"reason\":\"NO_MATCH\"}",
                  "fs.read of \"/data/../etc/passwd\" is not covered by the lease");
    decision = ask(authority, "net.fetch", "https://a@b/");
    check_details(authority, &decision,
                  "{\"capability\":\"net.fetch\",\"target\":\"https://a@b/\",\"granted\":[],"
                  "\"reason\":\"USERINFO\"}",
                  "net.fetch of \"https://a@b/\" is refused: the URL contains user information");
    decision = ask(authority, "fs.read", "/\xff\n");
    check_details(authority, &decision,
                  "{\"capability\":\"fs.read\",\"target\":\"/\xef\xbf\xbd\\n\",\"canonical\":"
                  "\"/\xef\xbf\xbd\\n\",\"granted\":[\"/data/**\",\"/x\"],\"reason\":\"NO_MATCH\"}",
                  "fs.read of \"/\xef\xbf\xbd\\n\" is not covered by the lease");
    decision = ask(authority, "bad\nname", "x");
    check_details(authority, &decision,
                  "{\"capability\":\"bad\\nname\",\"target\":\"x\",\"granted\":[],"
                  "\"reason\":\"UNKNOWN_CAPABILITY\"}",
                  "\"bad\\nname\" of \"x\" is refused: there is no such capability");
    const arcp_time late = {100 * SEC, 0};
    decision = ask_at(authority, late, "fs.read", "/x");
    check_details(authority, &decision,
                  "{\"capability\":\"fs.read\",\"target\":\"/x\",\"granted\":[\"/data/**\",\"/x\"],"
                  "\"reason\":\"EXPIRED\",\"expires_at\":\"1970-01-01T00:01:40Z\"}",
                  "fs.read of \"/x\" is refused: the lease has expired");
    spend(authority, "USD", "2");
    decision = ask(authority, "fs.read", "/x");
    check_details(authority, &decision,
                  "{\"capability\":\"fs.read\",\"target\":\"/x\",\"granted\":[\"/data/**\",\"/x\"],"
                  "\"reason\":\"BUDGET\",\"currency\":\"USD\"}",
                  "fs.read of \"/x\" is refused: the budget of \"USD\" is used up");
    arcp_authority_unref(authority);
}

static void details_name_32_patterns_at_most_and_messages_stay_short(void **state)
{
    (void)state;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    assert_non_null(builder);
    for (int i = 0; i < 33; i++) {
        char pattern[16];
        (void)snprintf(pattern, sizeof pattern, "/p%d", i);
        arcp_lease_allow(builder, "fs.read", pattern);
    }
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_build(builder, &lease, &err), &err);
    const arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    arcp_authority *authority = NULL;
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    arcp_lease_unref(lease);
    char target[3000];
    memset(target, 'a', sizeof target - 1);
    target[0] = '/';
    target[sizeof target - 1] = '\0';
    const arcp_decision decision = ask(authority, "fs.read", target);
    arcp_buf text = ARCP_BUF_INIT;
    arcp_decision_format_details(authority, &decision, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_non_null(strstr(text.data, "\"/p31\"],\"granted_count\":33"));
    assert_null(strstr(text.data, "/p32"));
    arcp_buf_clear(&text);
    arcp_decision_format_message(&decision, &text);
    assert_in_range(text.size, 200, 256);
    arcp_buf_fini(&text);
    arcp_authority_unref(authority);
}

static void every_reason_has_a_name_and_a_text(void **state)
{
    (void)state;
    for (int i = ARCP_DENY_NONE; i < ARCP_DENY_REASON_COUNT; i++) {
        assert_true(arcp_deny_reason_name((arcp_deny_reason)i)[0] != '\0');
        assert_true(arcp_deny_reason_text((arcp_deny_reason)i)[0] != '\0');
    }
    assert_string_equal(arcp_deny_reason_name(ARCP_DENY_NO_MATCH), "NO_MATCH");
    assert_string_equal(arcp_deny_reason_name(ARCP_DENY_REASON_COUNT), "NONE");
}

/* [arcp:LB-1] */
static void a_vendors_capability_is_enforced_like_the_others(void **state)
{
    (void)state;
    arcp_authority *authority =
        authority_of("{\"x-vendor.acme.pub\":[\"a/*\"],\"x-vendor.acme.sub\":[\"b/*\"]}", "");
    assert_true(ask(authority, "x-vendor.acme.pub", "a/b.c").allowed);
    assert_false(ask(authority, "x-vendor.acme.sub", "a/b.c").allowed);
    assert_int_equal(ask(authority, "x-vendor.acme", "a/b").reason, ARCP_DENY_UNKNOWN_CAPABILITY);
    arcp_authority_unref(authority);
}

enum { THREADS = 4, ROUNDS = 5000 };

typedef struct shared_gate {
    const arcp_authority *authority;
    atomic_size_t allowed;
    atomic_size_t wrong;
} shared_gate;

static void *ask_and_spend(void *user)
{
    shared_gate *shared = user;
    arcp_target_scratch *own = malloc(sizeof *own);
    if (own == NULL) {
        return NULL;
    }
    const arcp_decimal step = {10000000000000000}; /* 0.01 */
    for (int i = 0; i < ROUNDS; i++) {
        arcp_decision decision;
        if (arcp_authorize(shared->authority, at_zero, SPAN("fs.read"), SPAN("/data/./x"), own,
                           &decision)) {
            atomic_fetch_add(&shared->allowed, 1);
            (void)arcp_budget_spend(arcp_authority_budget(shared->authority), SPAN("USD"), step,
                                    NULL, 0);
        } else if (decision.code != ARCP_E_BUDGET_EXHAUSTED) {
            atomic_fetch_add(&shared->wrong, 1);
        }
        if (arcp_authorize(shared->authority, at_zero, SPAN("fs.read"), SPAN("/data/../x"), own,
                           &decision)) {
            atomic_fetch_add(&shared->wrong, 1);
        }
    }
    free(own);
    return NULL;
}

static void threads_may_ask_one_authority_at_the_same_time(void **state)
{
    (void)state;
    arcp_authority *authority =
        authority_of("{\"fs.read\":[\"/data/**\"],\"cost.budget\":[\"USD:100\"]}", "");
    shared_gate shared = {.authority = authority};
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_and_spend, &shared), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    /* 100 / 0.01 checks pass, and at most one more per other thread that was in between. */
    assert_int_equal(atomic_load(&shared.wrong), 0);
    assert_in_range(atomic_load(&shared.allowed), 10000, 10000 + THREADS - 1);
    arcp_authority_unref(authority);
}

static void an_authority_keeps_what_it_is_made_of(void **state)
{
    (void)state;
    arcp_authority *authority = authority_of("{\"fs.read\":[\"/a\"]}", "");
    arcp_authority *again = arcp_authority_ref(authority);
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
        cmocka_unit_test(what_a_pattern_covers_is_allowed_and_named),
        cmocka_unit_test(the_caller_gets_the_canonical_form_that_was_matched),
        cmocka_unit_test(relative_paths_need_a_directory_and_stay_below_it),
        cmocka_unit_test(the_options_are_checked),
        cmocka_unit_test(a_caller_of_an_older_header_gets_the_defaults_for_what_it_does_not_know),
        cmocka_unit_test(operations_fail_from_the_instant_of_expiry_on),
        cmocka_unit_test(a_wall_clock_set_back_never_lengthens_a_lease),
        cmocka_unit_test(a_wall_clock_set_forward_shortens_a_lease),
        cmocka_unit_test(the_grace_is_added_to_both_clocks),
        cmocka_unit_test(an_expiry_in_the_past_is_expired_at_once),
        cmocka_unit_test(a_lease_without_expiry_lasts),
        cmocka_unit_test(an_expiry_years_ahead_does_not_fire),
        cmocka_unit_test(a_child_never_outlives_its_parent_even_when_the_clock_was_set_back),
        cmocka_unit_test(a_used_up_budget_denies_every_capability),
        cmocka_unit_test(asking_about_the_budget_itself_passes_the_budget),
        cmocka_unit_test(an_ancestors_budget_denies_too),
        cmocka_unit_test(a_child_is_never_without_its_parents_counters),
        cmocka_unit_test(a_child_is_not_freer_to_use_models_than_its_parent),
        cmocka_unit_test(a_lease_with_a_budget_is_never_without_counters),
        cmocka_unit_test(expiry_is_told_before_budget_and_budget_before_permission),
        cmocka_unit_test(models_are_matched_as_they_are_spelled),
        cmocka_unit_test(an_absent_model_use_denies_unless_the_policy_lets_it_stand_for_all),
        cmocka_unit_test(delegation_asks_for_the_version_then_the_name),
        cmocka_unit_test(delegation_of_what_is_no_name_says_why),
        cmocka_unit_test(a_denial_carries_what_a_client_needs_to_know),
        cmocka_unit_test(details_name_32_patterns_at_most_and_messages_stay_short),
        cmocka_unit_test(every_reason_has_a_name_and_a_text),
        cmocka_unit_test(a_vendors_capability_is_enforced_like_the_others),
        cmocka_unit_test(threads_may_ask_one_authority_at_the_same_time),
        cmocka_unit_test(an_authority_keeps_what_it_is_made_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
