/* Leases, the gate and budgets for the Python package. */
#include "shim_parts.h"

#include <arcp/budget.h>
#include <arcp/gate.h>
#include <arcp/lease.h>
#include <arcp/lease_explain.h>
#include <arcp/lease_subset.h>

_Static_assert(ARCP_DECIMAL_TEXT_MAX == 44, "py_counter and py_report have room for any decimal");

/* ---- leases ---- */

int py_lease_parse(py_text lease, py_text constraints, arcp_lease **out, py_error *error)
{
    arcp_error err = {0};
    const arcp_status status =
        arcp_lease_parse(py__span(lease), py__span(constraints), NULL, out, &err);
    return status == ARCP_OK ? PY_OK : py__fail(error, &err);
}

void py_lease_unref(arcp_lease *lease)
{
    arcp_lease_unref(lease);
}

int py_lease_text(arcp_lease *lease, py_owned *lease_json, py_owned *constraints_json)
{
    arcp_buf patterns = arcp_buf_init();
    arcp_buf constraints = arcp_buf_init();
    arcp_lease_format(lease, &patterns);
    arcp_lease_format_constraints(lease, &constraints);
    const int first = py__take(&patterns, lease_json);
    const int second = py__take(&constraints, constraints_json);
    return first == PY_OK ? second : first;
}

int64_t py_lease_expires_ns(arcp_lease *lease)
{
    return arcp_lease_expires_wall_ns(lease);
}

int py_lease_lint(arcp_lease *lease, int64_t wall_ns, py_owned *json)
{
    arcp_buf out = arcp_buf_init();
    (void)arcp_lease_lint(lease, (arcp_time){.wall_ns = wall_ns}, true, &out);
    return py__take(&out, json);
}

int py_lease_subset(arcp_lease *child, arcp_lease *parent, py_violation *out, py_error *error)
{
    arcp_subset_violation violation = arcp_subset_violation_init();
    bool is_subset = false;
    out->reason = NULL;
    const arcp_status status = arcp_lease_is_subset(child, parent, &is_subset, &violation);
    int result = status == ARCP_OK ? PY_OK : py__no_memory(error);
    if (result == PY_OK && !is_subset) {
        arcp_buf details = arcp_buf_init();
        out->reason = arcp_deny_reason_name(violation.code);
        py__text_copy(out->message, sizeof out->message, violation.reason);
        arcp_subset_violation_format_details(&violation, &details);
        if (py__take(&details, &out->details) != PY_OK ||
            py__take(&violation.witness, &out->witness) != PY_OK) {
            result = py__no_memory(error);
        }
    }
    arcp_subset_violation_fini(&violation);
    return result;
}

int py_lease_assert_subset(arcp_lease *child, arcp_lease *parent, py_error *error)
{
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    const arcp_status status = arcp_lease_assert_subset(child, parent, &err);
    return status == ARCP_OK ? PY_OK : py__fail(error, &err);
}

int py_lease_narrow(arcp_lease *request, arcp_lease *ceiling, bool absent_is_open, arcp_lease **out,
                    py_owned *dropped_json, py_error *error)
{
    arcp_buf dropped = arcp_buf_init();
    arcp_error err = {0};
    arcp_lease *narrowed = NULL;
    if (arcp_lease_narrow(request, ceiling, absent_is_open, &narrowed, &dropped, &err) != ARCP_OK) {
        arcp_buf_fini(&dropped);
        return py__fail(error, &err);
    }
    if (py__take(&dropped, dropped_json) != PY_OK) {
        arcp_lease_unref(narrowed);
        return py__no_memory(error);
    }
    *out = narrowed;
    return PY_OK;
}

/* ---- the gate ---- */

int py_authority_new(arcp_lease *lease, const py_authority_options *options, arcp_authority **out,
                     py_error *error)
{
    arcp_authority_options made = arcp_authority_options_init();
    made.budget = options->budget;
    made.now = (arcp_time){.wall_ns = options->wall_ns, .mono_ns = options->mono_ns};
    made.expiry_grace_ns = options->expiry_grace_ns;
    made.cwd = py__span(options->cwd);
    made.model_use_required = options->model_use_required;
    made.parent = options->parent;
    arcp_error err = {0};
    return arcp_authority_new(lease, &made, out, &err) == ARCP_OK ? PY_OK : py__fail(error, &err);
}

void py_authority_unref(arcp_authority *authority)
{
    arcp_authority_unref(authority);
}

arcp_budget *py_authority_budget(arcp_authority *authority)
{
    return arcp_budget_ref(arcp_authority_budget(authority));
}

int py_lease_derive(arcp_authority *parent, arcp_lease *request, arcp_lease **out, py_error *error)
{
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    const arcp_status status = arcp_lease_derive(parent, request, out, &err);
    return status == ARCP_OK ? PY_OK : py__fail(error, &err);
}

int py_authorize(arcp_authority *authority, const py_question *question, py_decision *out)
{
    /* Nothing refers to it afterwards: a signal's handler may ask before Python has read the
     * answer. */
    static _Thread_local arcp_target_scratch scratch;
    const arcp_time now = {.wall_ns = question->wall_ns, .mono_ns = question->mono_ns};
    const arcp_span target = py__span(question->target);
    arcp_decision decision = {0};
    if (question->is_delegate) {
        out->allowed = arcp_authorize_delegate(authority, now, target, py__span(question->version),
                                               &scratch, &decision);
    } else {
        out->allowed = arcp_authorize(authority, now, py__span(question->capability), target,
                                      &scratch, &decision);
    }
    out->code = arcp_status_name(decision.code);
    out->reason = arcp_deny_reason_name(decision.reason);
    out->pattern = py__text(decision.pattern);
    out->currency = py__text(decision.currency);
    arcp_buf canonical = arcp_buf_init();
    arcp_buf_append(&canonical, decision.canonical);
    const int result = py__take(&canonical, &out->canonical);
    if (out->allowed) {
        return result;
    }
    arcp_buf message = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp_decision_format_message(&decision, &message);
    arcp_decision_format_details(authority, &decision, &details);
    const int first = py__take(&message, &out->message);
    const int second = py__take(&details, &out->details);
    return result == PY_OK && first == PY_OK ? second : PY_FAILED;
}

int py_explain(arcp_authority *authority, const py_question *question, bool as_json, py_owned *out,
               bool *allowed)
{
    const arcp_time now = {.wall_ns = question->wall_ns, .mono_ns = question->mono_ns};
    arcp_buf explanation = arcp_buf_init();
    *allowed = arcp_lease_explain(authority, now, py__span(question->capability),
                                  py__span(question->target), as_json, &explanation);
    return py__take(&explanation, out);
}

/* ---- budgets ---- */

int py_budget_new(arcp_lease *lease, arcp_budget *parent, arcp_budget **out, py_error *error)
{
    arcp_error err = {0};
    return arcp_budget_new(lease, parent, out, &err) == ARCP_OK ? PY_OK : py__fail(error, &err);
}

void py_budget_unref(arcp_budget *budget)
{
    arcp_budget_unref(budget);
}

arcp_budget *py_budget_parent(arcp_budget *budget)
{
    arcp_budget *parent = arcp_budget_parent(budget);
    return parent == NULL ? NULL : arcp_budget_ref(parent);
}

bool py_budget_counter(arcp_budget *budget, size_t i, py_counter *out)
{
    if (i >= arcp_budget_count(budget)) {
        return false;
    }
    out->currency = py__text(arcp_budget_currency(budget, i));
    (void)arcp_decimal_format(arcp_budget_initial(budget, i), out->initial);
    (void)arcp_decimal_format(arcp_budget_spent(budget, i), out->spent);
    (void)arcp_decimal_format(arcp_budget_remaining(budget, i), out->remaining);
    return true;
}

bool py_budget_available(arcp_budget *budget, py_text currency, char *decimal44)
{
    arcp_decimal remaining = ARCP_DECIMAL_ZERO;
    if (!arcp_budget_available(budget, py__span(currency), &remaining)) {
        return false;
    }
    (void)arcp_decimal_format(remaining, decimal44);
    return true;
}

bool py_budget_is_open(arcp_budget *budget, py_text *currency)
{
    arcp_span used_up = {0};
    const bool is_open = arcp_budget_is_open(budget, &used_up);
    *currency = py__text(used_up);
    return is_open;
}

/* At most this many reports of one spend are handed over; the rest comes with the next one. */
#define REPORTS_MAX 16

int py_budget_spend(arcp_budget *budget, py_text currency, py_text held, py_text amount,
                    py_report *reports, size_t reports_max, size_t *count, py_error *error)
{
    arcp_budget_report made[REPORTS_MAX];
    const size_t most = reports_max < REPORTS_MAX ? reports_max : REPORTS_MAX;
    arcp_decimal spent = ARCP_DECIMAL_ZERO;
    arcp_decimal reserved = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    if (arcp_decimal_parse_spend(py__span(amount), &spent, &err) != ARCP_OK ||
        (held.size != 0 && arcp_decimal_parse_spend(py__span(held), &reserved, &err) != ARCP_OK)) {
        return py__fail(error, &err);
    }
    *count = held.size == 0
                 ? arcp_budget_spend(budget, py__span(currency), spent, made, most)
                 : arcp_budget_settle(budget, py__span(currency), reserved, spent, made, most);
    *count = *count < most ? *count : most;
    for (size_t i = 0; i < *count; i++) {
        arcp_budget *node = budget; /* it is this one or above it */
        while (node != made[i].budget) {
            node = arcp_budget_parent(node);
        }
        reports[i].budget = arcp_budget_ref(node);
        reports[i].currency = py__text(made[i].currency);
        reports[i].exhausted = made[i].exhausted;
        (void)arcp_decimal_format(made[i].remaining, reports[i].remaining);
    }
    return PY_OK;
}

int py_budget_reserve(arcp_budget *budget, py_text currency, py_text amount, bool *reserved,
                      py_error *error)
{
    arcp_decimal held = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    if (arcp_decimal_parse_spend(py__span(amount), &held, &err) != ARCP_OK) {
        return py__fail(error, &err);
    }
    *reserved = arcp_budget_reserve(budget, py__span(currency), held);
    return PY_OK;
}

int py_budget_release(arcp_budget *budget, py_text currency, py_text held, py_error *error)
{
    arcp_decimal amount = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    if (arcp_decimal_parse_spend(py__span(held), &amount, &err) != ARCP_OK) {
        return py__fail(error, &err);
    }
    arcp_budget_unreserve(budget, py__span(currency), amount);
    return PY_OK;
}
