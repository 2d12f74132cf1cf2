#include "core/lease_subset.h"

#include "core/authority.h"
#include "core/glob_subset.h"
#include "json/json_put.h"

void arcp_subset_violation_fini(arcp_subset_violation *violation)
{
    const arcp_subset_violation empty = ARCP_SUBSET_VIOLATION_INIT;
    arcp_buf_fini(&violation->witness);
    *violation = empty;
}

void arcp_subset_violation_format_details(const arcp_subset_violation *violation, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "capability", violation->capability);
    arcp__put_string(&writer, "child_pattern", violation->child_pattern);
    if (violation->code != ARCP_DENY_TOO_COMPLEX) {
        arcp__put_string(&writer, "witness", arcp_buf_span(&violation->witness));
    }
    arcp__put_cstr(&writer, "reason", arcp_deny_reason_name(violation->code));
    arcp_json_end_object(&writer);
}

/* How much of a text a reason shows. */
static int shown(arcp_span text)
{
    return (int)(text.size < 80 ? text.size : 80);
}

/* Begins a violation. The reason is the message of an error, which is one clean line. */
static void note(arcp_subset_violation *violation, arcp_span capability, arcp_span child_pattern,
                 arcp_deny_reason code, const arcp_error *reason)
{
    violation->capability = capability;
    violation->child_pattern = child_pattern;
    violation->code = code;
    memcpy(violation->reason, reason->message, sizeof violation->reason);
    arcp_buf_clear(&violation->witness);
}

/* What the child may spend of a currency at most; false when the parent has none of it. */
static bool find_bound(arcp__subset_parent parent, arcp_span currency, arcp_decimal *bound)
{
    const arcp__lease_amount *written = arcp__lease_find_amount(parent.lease, currency);
    if (parent.holder == NULL) {
        if (written != NULL) {
            *bound = written->total;
        }
        return written != NULL;
    }
    /* A parent without cost.budget spends from its ancestors', and so may bound a child by
     * them. One that has cost.budget has exactly the currencies it names. */
    const bool names_budget = parent.lease->reserved[ARCP__CAPABILITY_COST_BUDGET] != NULL;
    return (written != NULL || !names_budget) &&
           arcp_budget_available(parent.holder->budget, currency, bound);
}

/* [arcp:DR-2] */
static arcp_status check_amount(const arcp__lease_capability *capability,
                                const arcp__lease_amount *amount, arcp__subset_parent parent,
                                bool *is_subset, arcp_subset_violation *violation)
{
    arcp_decimal bound = ARCP_DECIMAL_ZERO;
    const bool has_bound = find_bound(parent, amount->currency, &bound);
    *is_subset = has_bound && arcp_decimal_compare(amount->total, bound) <= 0;
    if (*is_subset) {
        return ARCP_OK;
    }
    char wanted[ARCP_DECIMAL_TEXT_MAX];
    char left[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(amount->total, wanted);
    (void)arcp_decimal_format(bound, left);
    arcp_error reason = {0};
    if (has_bound) {
        (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                             "the child asks for %s of %.*s and the parent has %s", wanted,
                             shown(amount->currency), amount->currency.data, left);
    } else {
        (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                             "the child asks for %s of %.*s and the parent has no budget of it",
                             wanted, shown(amount->currency), amount->currency.data);
    }
    note(violation, capability->name, capability->patterns[amount->entry], ARCP_DENY_BUDGET,
         &reason);
    arcp_buf_append(&violation->witness, amount->currency);
    arcp_buf_append_byte(&violation->witness, ':');
    arcp_buf_append_cstr(&violation->witness, wanted);
    return arcp_buf_status(&violation->witness);
}

/* [arcp:9.4-4] */
static arcp_status check_amounts(const arcp__lease_capability *capability, const arcp_lease *child,
                                 arcp__subset_parent parent, bool *is_subset,
                                 arcp_subset_violation *violation)
{
    arcp_status status = ARCP_OK;
    *is_subset = true;
    for (size_t i = 0; i < child->amount_count && status == ARCP_OK && *is_subset; i++) {
        if (!arcp__lease_work_take(parent.work, 1 + parent.lease->amount_count)) {
            return ARCP_E_LIMIT;
        }
        status = check_amount(capability, &child->amounts[i], parent, is_subset, violation);
    }
    return status;
}

static void note_pattern(const arcp__lease_capability *capability, bool is_granted,
                         const arcp__glob_verdict *verdict, arcp_subset_violation *violation)
{
    const arcp_span pattern = capability->patterns[verdict->child_index];
    const arcp_span witness = arcp_buf_span(&verdict->witness);
    arcp_error reason = {0};
    if (verdict->too_complex) {
        (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                             "whether the parent covers \"%.*s\" needs more work than allowed",
                             shown(pattern), pattern.data);
    } else if (!is_granted) {
        (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                             "the parent grants no %.*s at all", shown(capability->name),
                             capability->name.data);
    } else {
        (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                             "the child's \"%.*s\" allows \"%.*s\", which the parent does not",
                             shown(pattern), pattern.data, shown(witness),
                             witness.data == NULL ? "" : witness.data);
    }
    note(violation, capability->name, pattern,
         verdict->too_complex ? ARCP_DENY_TOO_COMPLEX : ARCP_DENY_NO_MATCH, &reason);
    arcp_buf_append(&violation->witness, witness);
}

/* [arcp:9.4-8] [arcp:9.4-9] [arcp:LA-20] [arcp:DR-4] */
arcp_status arcp__subset_check_capability(const arcp__lease_capability *capability,
                                          const arcp_lease *child, arcp__subset_parent parent,
                                          bool *is_subset, arcp_subset_violation *violation)
{
    *is_subset = false;
    if (capability->kind == ARCP__CAPABILITY_COST_BUDGET) {
        return check_amounts(capability, child, parent, is_subset, violation);
    }
    const arcp__lease_capability *granted =
        arcp__lease_find(parent.lease, capability->kind, capability->name);
    if (granted == NULL && capability->kind == ARCP__CAPABILITY_MODEL_USE &&
        parent.holder != NULL && !parent.holder->model_use_required) {
        *is_subset = true; /* The parent may use every model. */
        return ARCP_OK;
    }
    const arcp__glob_question asked = {.capability = capability->kind,
                                       .child = capability->patterns,
                                       .child_count = capability->count,
                                       .parent = granted == NULL ? NULL : granted->patterns,
                                       .parent_count = granted == NULL ? 0 : granted->count};
    arcp__glob_verdict verdict = {0};
    arcp_status status = arcp__glob_ask(&asked, parent.work, &verdict);
    if (status == ARCP_OK && !verdict.is_subset) {
        note_pattern(capability, granted != NULL && granted->count > 0, &verdict, violation);
        status = arcp_buf_status(&violation->witness);
    }
    *is_subset = status == ARCP_OK && verdict.is_subset;
    arcp_buf_fini(&verdict.witness);
    return status;
}

/* [arcp:9.4-5] [arcp:9.4-6] [arcp:DR-3] */
arcp_status arcp__subset_check_expiry(const arcp_lease *child, arcp__subset_parent parent,
                                      bool *is_subset, arcp_subset_violation *violation)
{
    *is_subset = !child->has_expiry || !parent.lease->has_expiry ||
                 arcp__instant_compare(child->expires, parent.lease->expires) <= 0;
    if (*is_subset) {
        return ARCP_OK;
    }
    const arcp_span theirs = parent.lease->expires_text;
    arcp_error reason = {0};
    (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                         "the child would expire after its parent, which does at %.*s",
                         shown(theirs), theirs.data);
    note(violation, ARCP_SPAN_LITERAL("expires_at"), child->expires_text, ARCP_DENY_EXPIRED,
         &reason);
    arcp_buf_append(&violation->witness, child->expires_text);
    return arcp_buf_status(&violation->witness);
}

/* [arcp:9.4-2] */
arcp_status arcp__subset_check(const arcp_lease *child, arcp__subset_parent parent, bool *is_subset,
                               arcp_subset_violation *violation)
{
    arcp_status status = ARCP_OK;
    *is_subset = true;
    for (size_t i = 0; i < child->count && status == ARCP_OK && *is_subset; i++) {
        status = arcp__subset_check_capability(&child->capabilities[i], child, parent, is_subset,
                                               violation);
    }
    if (status == ARCP_OK && *is_subset) {
        status = arcp__subset_check_expiry(child, parent, is_subset, violation);
    }
    *is_subset = status == ARCP_OK && *is_subset;
    return status;
}

/* [arcp:LA-15] */
arcp_status arcp_lease_is_subset(const arcp_lease *child, const arcp_lease *parent, bool *is_subset,
                                 arcp_subset_violation *violation)
{
    const arcp__subset_parent as_written = {.lease = parent};
    if (violation != NULL) {
        return arcp__subset_check(child, as_written, is_subset, violation);
    }
    arcp_subset_violation unwanted = ARCP_SUBSET_VIOLATION_INIT;
    const arcp_status status = arcp__subset_check(child, as_written, is_subset, &unwanted);
    arcp_subset_violation_fini(&unwanted);
    return status;
}

arcp_status arcp__subset_assert(const arcp_lease *child, arcp__subset_parent parent,
                                arcp_buf *details, arcp_error *err)
{
    arcp_subset_violation violation = ARCP_SUBSET_VIOLATION_INIT;
    bool is_subset = false;
    arcp_status status = arcp__subset_check(child, parent, &is_subset, &violation);
    if (status != ARCP_OK) {
        (void)arcp_error_set(err, status,
                             status == ARCP_E_LIMIT ? "comparing the leases takes too much work"
                                                    : "out of memory for comparing leases");
    } else if (!is_subset) {
        if (details != NULL) {
            arcp_subset_violation_format_details(&violation, details);
        }
        status = arcp_error_set(err, ARCP_E_LEASE_SUBSET_VIOLATION, "%.*s: %s",
                                shown(violation.capability), violation.capability.data,
                                violation.reason);
    }
    arcp_subset_violation_fini(&violation);
    return status;
}

/* [arcp:LA-16] */
arcp_status arcp_lease_assert_subset(const arcp_lease *child, const arcp_lease *parent,
                                     arcp_buf *details, arcp_error *err)
{
    const arcp__subset_parent as_written = {.lease = parent};
    return arcp__subset_assert(child, as_written, details, err);
}
