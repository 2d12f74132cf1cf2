#include "core/lease_subset.h"

#include "core/authority.h"
#include "core/error_payload.h"
#include "core/glob_subset.h"
#include "core/lease_draft.h"
#include "json/json_put.h"

void arcp_subset_violation_fini(arcp_subset_violation *violation)
{
    const arcp_subset_violation empty = arcp_subset_violation_init();
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

/* The bytes of a text that a reason shows. */
static int shown(arcp_span text)
{
    return (int)(text.size < 80 ? text.size : 80);
}

/* Fills in a violation except its witness. The reason is the message of an error, because that is
 * one clean line. */
static void note(arcp_subset_violation *violation, arcp_span capability, arcp_span child_pattern,
                 arcp_deny_reason code, const arcp_error *reason)
{
    violation->capability = capability;
    violation->child_pattern = child_pattern;
    violation->code = code;
    memcpy(violation->reason, reason->message, sizeof violation->reason);
    arcp_buf_clear(&violation->witness);
}

/* The status to return for a violation that was noted. */
static arcp_status violated(const arcp_subset_violation *violation)
{
    return violation->witness.failed ? ARCP_E_NO_MEMORY : ARCP_E_LEASE_SUBSET_VIOLATION;
}

/* The most that the child may spend of a currency; false when the parent has no budget of it. */
static bool find_bound(arcp__subset_parent parent, arcp_span currency, arcp_decimal *bound)
{
    const arcp__lease_amount *written = arcp__lease_find_amount(parent.lease, currency);
    if (parent.holder == NULL) {
        if (written != NULL) {
            *bound = written->total;
        }
        return written != NULL;
    }
    /* A parent without cost.budget spends from its ancestors' budgets, which then also bound a
     * child. One with cost.budget has exactly the currencies that it names. */
    const bool names_budget = parent.lease->reserved[ARCP__CAPABILITY_COST_BUDGET] != NULL;
    return (written != NULL || !names_budget) &&
           arcp_budget_available(parent.holder->budget, currency, bound);
}

/* [arcp:DR-2] */
static arcp_status check_amount(const arcp__lease_capability *capability,
                                const arcp__lease_amount *amount, arcp__subset_parent parent,
                                arcp_subset_violation *violation)
{
    if (!arcp__lease_work_take(parent.work, 1 + parent.lease->amount_count)) {
        return ARCP_E_LIMIT;
    }
    arcp_decimal bound = ARCP_DECIMAL_ZERO;
    const bool has_bound = find_bound(parent, amount->currency, &bound);
    if (has_bound && arcp_decimal_compare(amount->total, bound) <= 0) {
        return ARCP_OK;
    }
    char wanted[ARCP_DECIMAL_TEXT_MAX];
    char left[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(amount->total, wanted);
    (void)arcp_decimal_format(bound, left);
    arcp_error reason = {0};
    if (has_bound) {
        (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                             "the child requests %s of %.*s, but the parent has %s", wanted,
                             shown(amount->currency), amount->currency.data, left);
    } else {
        (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                             "the child requests %s of %.*s, but the parent has no budget of it",
                             wanted, shown(amount->currency), amount->currency.data);
    }
    note(violation, capability->name, capability->patterns[amount->entry], ARCP_DENY_BUDGET,
         &reason);
    arcp__lease_amount_append(amount->currency, amount->total, &violation->witness);
    return violated(violation);
}

static void note_pattern(const arcp__lease_capability *capability, bool is_granted,
                         const arcp__glob_verdict *verdict, arcp_subset_violation *violation)
{
    const arcp_span pattern = capability->patterns[verdict->child_index];
    const arcp_span witness = arcp_buf_span(&verdict->witness);
    arcp_error reason = {0};
    if (verdict->too_complex) {
        (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                             "deciding whether the parent covers \"%.*s\" exceeds the allowed work",
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

/* [arcp:9.4-4] [arcp:9.4-8] [arcp:9.4-9] [arcp:LA-20] [arcp:DR-4] */
static arcp_status check_capability(const arcp_lease *child,
                                    const arcp__lease_capability *capability,
                                    arcp__subset_parent parent, arcp_subset_violation *violation)
{
    arcp_status status = ARCP_OK;
    if (capability->kind == ARCP__CAPABILITY_COST_BUDGET) {
        for (size_t i = 0; i < child->amount_count && status == ARCP_OK; i++) {
            status = check_amount(capability, &child->amounts[i], parent, violation);
        }
        return status;
    }
    const arcp__lease_capability *granted =
        arcp__lease_find(parent.lease, capability->kind, capability->name);
    if (granted == NULL && capability->kind == ARCP__CAPABILITY_MODEL_USE &&
        parent.holder != NULL && !parent.holder->model_use_required) {
        return ARCP_OK; /* The parent may use every model. */
    }
    const arcp__glob_question question = {.capability = capability->kind,
                                          .child = capability->patterns,
                                          .child_count = capability->count,
                                          .parent = granted == NULL ? NULL : granted->patterns,
                                          .parent_count = granted == NULL ? 0 : granted->count};
    arcp__glob_verdict verdict = {0};
    status = arcp__glob_ask(&question, parent.work, &verdict);
    if (status == ARCP_OK && !verdict.is_subset) {
        note_pattern(capability, granted != NULL && granted->count > 0, &verdict, violation);
        status = violated(violation);
    }
    arcp_buf_fini(&verdict.witness);
    return status;
}

/* [arcp:9.4-5] [arcp:9.4-6] [arcp:DR-3] */
arcp_status arcp__subset_check_part(const arcp_lease *child, size_t part,
                                    arcp__subset_parent parent, arcp_subset_violation *violation)
{
    if (part < child->count) {
        return check_capability(child, &child->capabilities[part], parent, violation);
    }
    if (!child->has_expiry || !parent.lease->has_expiry ||
        arcp__instant_compare(child->expires, parent.lease->expires) <= 0) {
        return ARCP_OK;
    }
    const arcp_span theirs = parent.lease->expires_text;
    arcp_error reason = {0};
    (void)arcp_error_set(&reason, ARCP_E_LEASE_SUBSET_VIOLATION,
                         "the child would expire after its parent, which expires at %.*s",
                         shown(theirs), theirs.data);
    note(violation, ARCP_SPAN_LITERAL("expires_at"), child->expires_text, ARCP_DENY_EXPIRED,
         &reason);
    arcp_buf_append(&violation->witness, child->expires_text);
    return violated(violation);
}

/* Checks all parts up to the first violation. [arcp:9.4-2] */
static arcp_status check(const arcp_lease *child, arcp__subset_parent parent,
                         arcp_subset_violation *violation)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i <= child->count && status == ARCP_OK; i++) {
        status = arcp__subset_check_part(child, i, parent, violation);
    }
    return status;
}

/* [arcp:LA-15] */
arcp_status arcp_lease_is_subset(const arcp_lease *child, const arcp_lease *parent, bool *is_subset,
                                 arcp_subset_violation *violation)
{
    const arcp__subset_parent as_written = {.lease = parent};
    arcp_subset_violation unwanted = arcp_subset_violation_init();
    const arcp_status status = check(child, as_written, violation == NULL ? &unwanted : violation);
    arcp_subset_violation_fini(&unwanted);
    *is_subset = status == ARCP_OK;
    return status == ARCP_E_LEASE_SUBSET_VIOLATION ? ARCP_OK : status;
}

arcp_status arcp__subset_assert(const arcp_lease *child, arcp__subset_parent parent,
                                arcp_buf *details, arcp_error *err)
{
    arcp_subset_violation violation = arcp_subset_violation_init();
    const arcp_status status = check(child, parent, &violation);
    if (status == ARCP_E_LEASE_SUBSET_VIOLATION) {
        if (details != NULL) {
            arcp_subset_violation_format_details(&violation, details);
        }
        (void)arcp_error_set(err, status, "%.*s: %s", shown(violation.capability),
                             violation.capability.data, violation.reason);
    } else if (status != ARCP_OK) {
        (void)arcp_error_set(err, status,
                             status == ARCP_E_LIMIT
                                 ? "comparing the leases exceeds the allowed work"
                                 : "out of memory for comparing leases");
    }
    arcp_subset_violation_fini(&violation);
    return status;
}

/* [arcp:LA-16] */
arcp_status arcp_lease_assert_subset(const arcp_lease *child, const arcp_lease *parent,
                                     arcp_error *err)
{
    const arcp__subset_parent as_written = {.lease = parent};
    arcp_buf details = arcp_buf_init();
    const arcp_status status = arcp__subset_assert(child, as_written, &details, err);
    arcp_error_set_details(err, arcp__details(&details));
    arcp_buf_fini(&details);
    return status;
}

/* Makes the lease of a delegated job (§9.4, §10): the request and what it inherits. [arcp:9.4-1]
 * [arcp:9.4-7] [arcp:10-2] [arcp:10-3] [arcp:10-4] */
arcp_status arcp__lease_derive(const arcp_authority *parent, const arcp_lease *request,
                               arcp__lease_work *work, arcp_lease **out, arcp_buf *details,
                               arcp_error *err)
{
    const arcp_lease *held = parent->lease;
    const arcp__subset_parent scope = {.lease = held, .holder = parent, .work = work};
    const arcp_status status = arcp__subset_assert(request, scope, details, err);
    if (status != ARCP_OK) {
        return status;
    }
    const bool takes_no_models = request->reserved[ARCP__CAPABILITY_MODEL_USE] == NULL &&
                                 held->reserved[ARCP__CAPABILITY_MODEL_USE] != NULL;
    const bool takes_expiry = !request->has_expiry && held->has_expiry;
    if (!takes_no_models && !takes_expiry) {
        *out = arcp_lease_ref(request);
        return ARCP_OK;
    }
    arcp__lease_draft draft;
    arcp__lease_draft_init(&draft, &arcp__lease_unlimited, err);
    for (size_t i = 0; i < request->count; i++) {
        arcp__lease_draft_copy(&draft, &request->capabilities[i]);
    }
    if (takes_no_models) {
        (void)arcp__lease_draft_capability(&draft, ARCP_SPAN_LITERAL("model.use"));
    }
    if (takes_expiry || request->has_expiry) {
        arcp__lease_draft_expiry(&draft, takes_expiry ? held->expires_text : request->expires_text);
    }
    return arcp__lease_draft_finish(&draft, out);
}

arcp_status arcp_lease_derive(const arcp_authority *parent, const arcp_lease *request,
                              arcp_lease **out, arcp_error *err)
{
    arcp_buf details = arcp_buf_init();
    const arcp_status status = arcp__lease_derive(parent, request, NULL, out, &details, err);
    arcp_error_set_details(err, arcp__details(&details));
    arcp_buf_fini(&details);
    return status;
}
