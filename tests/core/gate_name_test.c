/* The gate and targets that are names: models, and agents with a version (draft §9.7, §10). */
#include "core/gate_rig.h"

#include "support/check.h"

/* [arcp:9.7-2] [arcp:LB-11] */
static void models_are_matched_as_they_are_spelled(void **state)
{
    (void)state;
    const arcp_authority *authority =
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
static void an_absent_model_use_denies_unless_the_policy_allows_all_models(void **state)
{
    (void)state;
    arcp_authority_options options = arcp_authority_options_init();
    options.model_use_required = false;
    const arcp_authority *open = authority_with("{}", "", options);
    const arcp_decision decision = ask(open, "model.use", "gpt-4");
    assert_true(decision.allowed);
    check_span(decision.pattern, "");
    check_span(decision.canonical, "gpt-4");
    /* The target must still be one, and nothing else becomes open. */
    assert_false(ask(open, "model.use", "a\nb").allowed);
    assert_false(ask(open, "tool.call", "t").allowed);
    arcp_authority_unref(open);
    const arcp_authority *named = authority_with("{\"model.use\":[]}", "", options);
    assert_false(ask(named, "model.use", "gpt-4").allowed);
    arcp_authority_unref(named);
    const arcp_authority *required = authority_of("{}", "");
    assert_false(ask(required, "model.use", "gpt-4").allowed);
    arcp_authority_unref(required);
}

static void a_child_may_use_no_more_models_than_its_parent(void **state)
{
    (void)state;
    for (int parents = 0; parents < 2; parents++) {
        for (int childs = 0; childs < 2; childs++) {
            const arcp_lease *lease = lease_of("{}", "");
            arcp_authority_options options = arcp_authority_options_init();
            options.model_use_required = parents == 1;
            arcp_authority *parent = NULL;
            arcp_error err = {0};
            check_ok(arcp_authority_new(lease, &options, &parent, &err), &err);
            const arcp_authority *child = child_of(parent, "{}", childs == 1);
            assert_int_equal(ask(child, "model.use", "m").allowed, parents == 0 && childs == 0);
            arcp_authority_unref(child);
            arcp_authority_unref(parent);
            arcp_lease_unref(lease);
        }
    }
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
static void delegation_matches_the_version_then_the_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof delegations / sizeof *delegations; i++) {
        const delegate_row *row = &delegations[i];
        print_message("  %s\n", row->name);
        char lease[128];
        (void)snprintf(lease, sizeof lease, "{\"agent.delegate\":[\"%s\"]}", row->pattern);
        const arcp_authority *authority = authority_of(lease, "");
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

static void delegation_of_an_invalid_name_is_refused_with_the_reason(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"agent.delegate\":[\"**\"]}", "");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_matched_as_they_are_spelled),
        cmocka_unit_test(an_absent_model_use_denies_unless_the_policy_allows_all_models),
        cmocka_unit_test(a_child_may_use_no_more_models_than_its_parent),
        cmocka_unit_test(delegation_matches_the_version_then_the_name),
        cmocka_unit_test(delegation_of_an_invalid_name_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
