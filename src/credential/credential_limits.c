/* Which jobs get a credential, and with which limits (§9.8.3). */
#include <stdio.h>

#include "base/timestamp.h"
#include "core/name_glob.h"
#include "credential/credential_state.h"
#include "json/json_put.h"

/* What the upstream's cap is to be, as text: the least that remains in the job's tree; "" without a
 * budget in the cap's currency. False: there is nothing left to spend.
 * [arcp:9.8.2-11] [arcp:9.8.3-2] */
static bool read_budget(const arcp__credentials *credentials, const arcp_budget *budget,
                        char out[ARCP_DECIMAL_TEXT_MAX])
{
    const char *currency = credentials->options->terms->currency;
    arcp_decimal left = ARCP_DECIMAL_ZERO;
    out[0] = '\0';
    if (currency == NULL || budget == NULL ||
        !arcp_budget_available(budget, arcp_span_cstr(currency), &left)) {
        return true;
    }
    if (arcp_decimal_compare(left, (arcp_decimal)ARCP_DECIMAL_ZERO) <= 0) {
        return false;
    }
    out[arcp_decimal_format(left, out)] = '\0';
    return true;
}

/* The models of the terms that the lease allows, into `out` (may be NULL); how many.
 * [arcp:9.7-3] [arcp:9.8.3-3] [arcp:LA-21] */
static size_t allowed_models(const arcp__credentials *credentials, const arcp_lease *lease,
                             arcp_span *out)
{
    const arcp_provisioner_terms *terms = credentials->options->terms;
    const arcp__context *context = credentials->context;
    arcp_authority *authority = NULL;
    /* For the lease's names alone: expiry and budget have their own limits. */
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    arcp_error error = {0};
    options.now = context->now;
    options.model_use_required = context->settings.model_use_required == ARCP_CHOICE_TRUE;
    const arcp_status status = arcp_authority_new(lease, &options, &authority, &error);
    if (status != ARCP_OK) {
        if (status == ARCP_E_NO_MEMORY) {
            arcp__context_no_memory(credentials->context);
        }
        return 0;
    }
    size_t count = 0;
    for (size_t i = 0; i < terms->model_count; i++) {
        arcp_target_scratch scratch;
        arcp_decision decision;
        const arcp_span model = arcp_span_cstr(terms->models[i]);
        /* A used-up budget is no matter of names: read_budget looks at it. */
        if (arcp_authorize_model(authority, context->now, model, &scratch, &decision) ||
            decision.reason == ARCP_DENY_BUDGET) {
            if (out != NULL) {
                out[count] = model;
            }
            count++;
        }
    }
    arcp_authority_unref(authority);
    return count;
}

/* [arcp:7.1-5] [arcp:9.8.2-10] */
bool arcp__credential_is_wanted(const arcp__credentials *credentials,
                                const arcp__credential_viewer *viewer,
                                const arcp__credential_wish *wish)
{
    const arcp_provisioner_terms *terms = credentials->options->terms;
    char budget[ARCP_DECIMAL_TEXT_MAX];
    if (terms == NULL || viewer->is_anonymous || !viewer->has_feature ||
        (viewer->is_connected &&
         !arcp__credentials_are_offered(credentials, false, viewer->link_is_private))) {
        return false;
    }
    bool is_for_agent = terms->agent_count == 0;
    for (size_t i = 0; i < terms->agent_count && !is_for_agent; i++) {
        is_for_agent = arcp__name_glob_matches(terms->agents[i], wish->agent_name);
    }
    return is_for_agent && read_budget(credentials, wish->budget, budget) &&
           (terms->model_count == 0 || allowed_models(credentials, wish->lease, NULL) != 0);
}

/* What the upstream enforces, as the client is told (§9.8.3). [arcp:9.8.1-6] [arcp:9.8.3-6] */
static void write_constraints(arcp__credentials *credentials, arcp__credential *credential)
{
    const arcp_provisioner_terms *terms = credentials->options->terms;
    arcp_buf text = ARCP_BUF_INIT;
    arcp_json_writer writer = arcp__put_begin(&text);
    if ((terms->enforces & ARCP_ENFORCES_BUDGET) != 0 && credential->budget[0] != '\0') {
        char amount[ARCP_DECIMAL_TEXT_MAX + 64];
        (void)snprintf(amount, sizeof(amount), "%.60s:%s", terms->currency, credential->budget);
        arcp__put_array(&writer, "cost.budget");
        arcp_json_write_cstr(&writer, amount);
        arcp_json_end_array(&writer);
    }
    if ((terms->enforces & ARCP_ENFORCES_MODELS) != 0 && credential->models != NULL) {
        arcp__put_array(&writer, "model.use");
        for (size_t i = 0; i < credential->model_count; i++) {
            arcp_json_write_string(&writer, credential->models[i]);
        }
        arcp_json_end_array(&writer);
    }
    if ((terms->enforces & ARCP_ENFORCES_EXPIRY) != 0 && credential->expires_at[0] != '\0') {
        arcp__put_cstr(&writer, "expires_at", credential->expires_at);
    }
    arcp_json_end_object(&writer);
    arcp__context_check_text(credentials->context, &text);
    if (text.size > 2) {
        credential->constraints = arcp__credential_copy(credentials, arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
}

/* [arcp:9.8.3-1] [arcp:9.8.3-4] */
bool arcp__credential_limit(arcp__credentials *credentials, arcp__credential *credential,
                            const arcp_lease *lease, const arcp_budget *budget)
{
    const arcp_provisioner_terms *terms = credentials->options->terms;
    if (!read_budget(credentials, budget, credential->budget)) {
        return false;
    }
    if (arcp_lease_has_expiry(lease)) {
        credential->expires_wall_ns = arcp_lease_expires_wall_ns(lease);
        arcp__timestamp_format(credential->expires_wall_ns, credential->expires_at);
    }
    if (terms->model_count != 0) {
        credential->models = arcp__alloc_array(terms->model_count, sizeof(*credential->models));
        if (credential->models == NULL) {
            arcp__context_no_memory(credentials->context);
            return false;
        }
        credential->model_count = allowed_models(credentials, lease, credential->models);
        if (credential->model_count == 0) {
            return false;
        }
    }
    write_constraints(credentials, credential);
    return true;
}
