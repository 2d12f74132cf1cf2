/* What the upstream knows better: how much was spent with a value (§9.6), and what its errors
 * mean here.
 *
 * A counter says at least what the upstream counted. The agent may report its costs as well;
 * of the upstream's figure only what goes beyond these reports is charged. */
#include "engine/parts.h"

#include <stdio.h>

#define REPORTS_MAX 80u

void arcp__credential_usage_due(arcp__engine *engine, arcp__credential *credential)
{
    if (credential->state == ARCP__CREDENTIAL_LIVE) {
        (void)arcp__credential_call(engine, credential, ARCP__PROVISION_USAGE);
    }
}

static arcp_decimal minus(arcp_decimal a, arcp_decimal b)
{
    return (arcp_decimal){a.units - b.units};
}

/* [arcp:9.6-13] [arcp:14-7] */
void arcp__credential_measured(arcp__engine *engine, arcp__credential *credential,
                               const arcp_provision_result *result)
{
    arcp_decimal spent = ARCP_DECIMAL_ZERO;
    arcp__job *job = credential->job;
    if (job == NULL || job->ended || result->outcome != ARCP_PROVISION_DONE ||
        arcp_decimal_parse_spend(result->spent, &spent, NULL) != ARCP_OK) {
        return;
    }
    arcp_decimal more = minus(spent, credential->reported);
    arcp_budget *budget = arcp_authority_budget(job->live->authority);
    if (budget == NULL || arcp_decimal_compare(more, (arcp_decimal)ARCP_DECIMAL_ZERO) <= 0) {
        return;
    }
    arcp_budget_report reports[REPORTS_MAX];
    arcp_span currency = arcp_span_cstr(engine->options.credentials.terms->currency);
    credential->reported = spent;
    size_t count = arcp_budget_spend(budget, currency, more, reports, REPORTS_MAX);
    arcp__job_spent(engine, job, reports, count < REPORTS_MAX ? count : REPORTS_MAX);
}

void arcp__credential_note_spend(arcp__engine *engine, arcp__job *job, arcp_span currency,
                                 arcp_decimal amount)
{
    const arcp_provisioner_terms *terms = engine->options.credentials.terms;
    arcp_decimal sum;
    if (job->credential != NULL && terms != NULL && terms->currency != NULL &&
        arcp_span_equal_cstr(currency, terms->currency) &&
        arcp_decimal_add(job->credential->reported, amount, &sum)) {
        job->credential->reported = sum;
    }
}

/* ---- errors ---- */

static int http_status(const arcp_json *json, arcp_json_ref details)
{
    static const char *const names[] = {"http_status", "status", "status_code"};
    uint64_t status = 0;
    for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++) {
        if (arcp_json_u64(json, arcp_json_member(json, details, arcp_span_cstr(names[at])),
                          &status) &&
            status < 1000) {
            return (int)status;
        }
    }
    return 0;
}

/* [arcp:9.6-12] */
arcp_status arcp__credential_translate(const arcp__engine *engine, const arcp__job *job,
                                       const arcp_json *json, arcp_json_ref error)
{
    const arcp__credential_options *options = &engine->options.credentials;
    if (job->credential == NULL || options->translate == NULL) {
        return ARCP_OK;
    }
    arcp_upstream_error seen = {
        .struct_size = sizeof(seen),
        .http_status =
            http_status(json, arcp_json_member(json, error, ARCP_SPAN_LITERAL("details"))),
        .text = arcp_json_raw(json, error),
    };
    return options->translate(options->user, &seen);
}
