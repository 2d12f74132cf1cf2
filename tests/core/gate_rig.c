#include "core/gate_rig.h"

#include "support/check.h"

arcp_target_scratch scratch;

arcp_authority *authority_with(const char *lease, const char *constraints,
                               arcp_authority_options options)
{
    const arcp_lease *parsed = lease_of(lease, constraints);
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(parsed, &options, &authority, &err), &err);
    arcp_lease_unref(parsed);
    return authority;
}

arcp_authority *authority_of(const char *lease, const char *constraints)
{
    const arcp_authority_options options = arcp_authority_options_init();
    return authority_with(lease, constraints, options);
}

arcp_decision ask_at(const arcp_authority *authority, arcp_time now, const char *capability,
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

arcp_decision ask(const arcp_authority *authority, const char *capability, const char *target)
{
    return ask_at(authority, at_zero, capability, target);
}

void spend(const arcp_authority *authority, const char *currency, const char *text)
{
    arcp_decimal amount = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    check_ok(arcp_decimal_parse(arcp_span_cstr(text), &amount, &err), &err);
    (void)arcp_budget_spend(arcp_authority_budget(authority), arcp_span_cstr(currency), amount,
                            NULL, 0);
}

arcp_authority *child_of(const arcp_authority *parent, const char *lease_text,
                         bool model_use_required)
{
    const arcp_lease *lease = lease_of(lease_text, "");
    arcp_authority_options options = arcp_authority_options_init();
    options.parent = parent;
    options.model_use_required = model_use_required;
    arcp_authority *child = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, &options, &child, &err), &err);
    arcp_lease_unref(lease);
    return child;
}
