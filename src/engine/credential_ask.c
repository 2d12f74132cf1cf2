/* Which jobs get a credential, with which limits (§9.8.3), and the asking for it. What then
 * becomes of it is in credential.c. */
#include "engine/parts.h"

#include <stdio.h>

#include "base/timestamp.h"
#include "core/name_glob.h"

static const arcp_provisioner_terms *terms_of(const arcp__engine *engine)
{
    return engine->options.credentials.terms;
}

/* ---- who gets one ---- */

static bool is_for_agent(const arcp_provisioner_terms *terms, arcp_span agent_name)
{
    bool found = terms->agent_count == 0;
    for (size_t at = 0; at < terms->agent_count && !found; at++) {
        found = arcp__name_glob_matches(terms->agents[at], agent_name);
    }
    return found;
}

/* What the upstream's cap is to be: the least that remains in the job's tree. False: it has
 * nothing left to spend. Without a budget in the cap's currency *out stays empty.
 * [arcp:9.8.2-11] [arcp:9.8.3-2] */
bool arcp__credential_budget(const arcp__engine *engine, const arcp_budget *budget,
                             char out[ARCP_DECIMAL_TEXT_MAX])
{
    const arcp_provisioner_terms *terms = terms_of(engine);
    arcp_decimal left = ARCP_DECIMAL_ZERO;
    out[0] = '\0';
    if (terms->currency == NULL || budget == NULL ||
        !arcp_budget_available(budget, arcp_span_cstr(terms->currency), &left)) {
        return true;
    }
    if (arcp_decimal_compare(left, (arcp_decimal)ARCP_DECIMAL_ZERO) <= 0) {
        return false;
    }
    out[arcp_decimal_format(left, out)] = '\0';
    return true;
}

/* An authority for the lease's names alone: expiry and budget have their own limits. */
static arcp_authority *authority_for_names(const arcp__engine *engine, const arcp_lease *lease)
{
    arcp_authority *authority = NULL;
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    arcp_error error = {0};
    options.now = engine->context.now;
    options.model_use_required = engine->context.settings.model_use_required == ARCP_CHOICE_TRUE;
    return arcp_authority_new(lease, &options, &authority, &error) == ARCP_OK ? authority : NULL;
}

/* The models of the terms that the lease allows, into `out` (may be NULL); how many.
 * [arcp:9.7-3] [arcp:9.8.3-3] [arcp:LA-21] */
static size_t allowed_models(const arcp__engine *engine, const arcp_lease *lease, arcp_span *out)
{
    const arcp_provisioner_terms *terms = terms_of(engine);
    arcp_authority *authority = authority_for_names(engine, lease);
    size_t count = 0;
    for (size_t at = 0; at < terms->model_count && authority != NULL; at++) {
        arcp_target_scratch scratch;
        arcp_decision decision;
        arcp_span model = arcp_span_cstr(terms->models[at]);
        bool allowed =
            arcp_authorize_model(authority, engine->context.now, model, &scratch, &decision);
        /* A used-up budget is no matter of names: arcp__credential_budget looks at it. */
        if (allowed || decision.reason == ARCP_DENY_BUDGET) {
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
bool arcp__credential_is_wanted(const arcp__engine *engine, const arcp__credential_viewer *viewer,
                                const arcp__credential_wish *wish)
{
    const arcp_provisioner_terms *terms = terms_of(engine);
    char budget[ARCP_DECIMAL_TEXT_MAX];
    if (terms == NULL || viewer->is_anonymous || !viewer->has_feature ||
        (viewer->is_connected &&
         !arcp__credentials_are_offered(engine, viewer->is_anonymous, viewer->link_is_private))) {
        return false;
    }
    return is_for_agent(terms, wish->agent_name) &&
           arcp__credential_budget(engine, wish->budget, budget) &&
           (terms->model_count == 0 || allowed_models(engine, wish->lease, NULL) != 0);
}

/* ---- asking ---- */

static bool copy_text(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

/* What the upstream enforces, as the client is told (§9.8.3). [arcp:9.8.1-6] [arcp:9.8.3-6] */
static bool write_constraints(const arcp_provisioner_terms *terms, arcp__credential *credential)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &text);
    arcp_json_begin_object(&writer);
    if ((terms->enforces & ARCP_ENFORCES_BUDGET) != 0 && credential->budget[0] != '\0') {
        char amount[ARCP_DECIMAL_TEXT_MAX + 64];
        (void)snprintf(amount, sizeof(amount), "%.60s:%s", terms->currency, credential->budget);
        arcp_json_name(&writer, "cost.budget");
        arcp_json_begin_array(&writer);
        arcp_json_write_cstr(&writer, amount);
        arcp_json_end_array(&writer);
    }
    if ((terms->enforces & ARCP_ENFORCES_MODELS) != 0 && credential->models != NULL) {
        arcp_json_name(&writer, "model.use");
        arcp_json_begin_array(&writer);
        for (size_t at = 0; at < credential->model_count; at++) {
            arcp_json_write_string(&writer, credential->models[at]);
        }
        arcp_json_end_array(&writer);
    }
    if ((terms->enforces & ARCP_ENFORCES_EXPIRY) != 0 && credential->expires_at[0] != '\0') {
        arcp_json_name(&writer, "expires_at");
        arcp_json_write_cstr(&writer, credential->expires_at);
    }
    arcp_json_end_object(&writer);
    bool done =
        text.failed || text.size == 2 || copy_text(&credential->constraints, arcp_buf_span(&text));
    done = done && !text.failed;
    arcp_buf_fini(&text);
    return done;
}

/* [arcp:9.8.3-1] [arcp:9.8.3-4] */
static bool write_limits(const arcp__engine *engine, const arcp__credential_wish *wish,
                         arcp__credential *credential)
{
    const arcp_provisioner_terms *terms = terms_of(engine);
    if (!arcp__credential_budget(engine, wish->budget, credential->budget)) {
        return false;
    }
    if (arcp_lease_has_expiry(wish->lease)) {
        credential->expires_wall_ns = arcp_lease_expires_wall_ns(wish->lease);
        arcp__timestamp_format(credential->expires_wall_ns, credential->expires_at);
    }
    if (terms->model_count != 0) {
        credential->models = arcp__alloc_array(terms->model_count, sizeof(*credential->models));
        if (credential->models == NULL) {
            return false;
        }
        credential->model_count = allowed_models(engine, wish->lease, credential->models);
        if (credential->model_count == 0) {
            return false;
        }
    }
    return write_constraints(terms, credential);
}

arcp__credential *arcp__credential_intend(arcp__engine *engine, const arcp__credential_wish *wish,
                                          const char *id, uint32_t generation)
{
    arcp__credential *credential = arcp__credential_new(engine, id, generation);
    if (credential == NULL) {
        return NULL;
    }
    (void)snprintf(credential->job_id, sizeof(credential->job_id), "%s", wish->job_id);
    (void)snprintf(credential->trace_id, sizeof(credential->trace_id), "%.32s", wish->trace_id);
    if (!copy_text(&credential->provisioner,
                   arcp_span_cstr(engine->options.credentials.provisioner)) ||
        !copy_text(&credential->principal, arcp_span_cstr(wish->principal)) ||
        !copy_text(&credential->agent, wish->agent_name) ||
        !copy_text(&credential->traceparent, wish->traceparent) ||
        !write_limits(engine, wish, credential)) {
        arcp__credential_free(engine, credential);
        return NULL;
    }
    return credential;
}

/* [arcp:9.8-1] */
arcp__credential *arcp__credential_ask(arcp__engine *engine, const arcp__credential_wish *wish,
                                       arcp__admission *admission)
{
    char id[ARCP__ID_SIZE];
    arcp__context_make_id(&engine->context, "cred_", id);
    arcp__credential *credential = arcp__credential_intend(engine, wish, id, 1);
    if (credential == NULL) {
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    credential->admission = admission;
    arcp__credential_store(engine, credential);
    if (!arcp__credential_call(engine, credential, ARCP__PROVISION_ISSUE)) {
        arcp__batch_delete(engine->log, ARCP_STORE_CREDENTIALS, arcp_span_cstr(credential->alias));
        arcp__credential_free(engine, credential);
        return NULL;
    }
    arcp__credential_audit(engine, credential, "asked", NULL);
    return credential;
}
