/* Requests to the upstream: which jobs get a credential and with which limits (§9.8.3), and the
 * calls to the provisioner, each of which is a trace span (docs/tracing.md). credential.c handles
 * their results. */
#include <assert.h>
#include <stdio.h>

#include "base/timestamp.h"
#include "core/name_glob.h"
#include "core/otlp.h"
#include "credential/credential_state.h"
#include "log/log.h"
#include "json/json_put.h"

/* ---- limits ---- */

/* The spending cap for the upstream, as text: the least that remains in the job's tree; "" without
 * a budget in the cap's currency. False: nothing is left to spend. [arcp:9.8.2-11]
 * [arcp:9.8.3-2] */
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

/* Writes the models of the terms that the lease allows to `out` (may be NULL); returns their
 * number. [arcp:9.7-3] [arcp:9.8.3-3] [arcp:LA-21] */
static size_t allowed_models(const arcp__credentials *credentials, const arcp_lease *lease,
                             arcp_span *out)
{
    const arcp_provisioner_terms *terms = credentials->options->terms;
    const arcp__context *context = credentials->context;
    arcp_authority *authority = NULL;
    /* Only the lease's names count here: expiry and budget have their own limits. */
    arcp_authority_options options = arcp_authority_options_init();
    arcp_error error = {0};
    options.now = context->now;
    options.model_use_required = context->settings.model_use_required == ARCP__CHOICE_TRUE;
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
        /* A used-up budget does not forbid a name; read_budget checks it. */
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
                                const arcp__credential_spec *spec)
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
        is_for_agent = arcp__name_glob_matches(terms->agents[i], spec->agent_name);
    }
    return is_for_agent && read_budget(credentials, spec->budget, budget) &&
           (terms->model_count == 0 || allowed_models(credentials, spec->lease, NULL) != 0);
}

/* Whether a node below `node`, from `lowest` on, counts the currency. */
static bool is_counted_below(const arcp_budget *lowest, const arcp_budget *node, arcp_span currency)
{
    for (; lowest != node; lowest = arcp_budget_parent(lowest)) {
        for (size_t i = 0; i < arcp_budget_count(lowest); i++) {
            if (arcp_span_equal(arcp_budget_currency(lowest, i), currency)) {
                return true;
            }
        }
    }
    return false;
}

/* Writes what is left of each currency of the budget and of those above it. */
static void write_amounts(arcp_json_writer *writer, const arcp_budget *budget)
{
    bool has_amounts = false;
    for (const arcp_budget *node = budget; node != NULL; node = arcp_budget_parent(node)) {
        for (size_t i = 0; i < arcp_budget_count(node); i++) {
            const arcp_span currency = arcp_budget_currency(node, i);
            char left[ARCP_DECIMAL_TEXT_MAX];
            char amount[ARCP_DECIMAL_TEXT_MAX + 66];
            arcp_decimal value = ARCP_DECIMAL_ZERO;
            if (!is_counted_below(budget, node, currency) &&
                arcp_budget_available(budget, currency, &value)) {
                left[arcp_decimal_format(value, left)] = '\0';
                if (!has_amounts) {
                    arcp__put_array(writer, "cost.budget");
                    has_amounts = true;
                }
                (void)snprintf(amount, sizeof amount, "%.*s:%s", (int)currency.size, currency.data,
                               left);
                arcp_json_write_cstr(writer, amount);
            }
        }
    }
    if (has_amounts) {
        arcp_json_end_array(writer);
    }
}

/* Writes the lines of the lease that gateways ask for each call. */
static void write_lines(arcp_json_writer *writer, const arcp_lease *lease)
{
    static const char *const asked[] = {"model.use", "tool.call"};
    for (size_t i = 0; i < arcp_lease_capability_count(lease); i++) {
        const arcp_span name = arcp_lease_capability_name(lease, i);
        for (size_t k = 0; k < sizeof asked / sizeof asked[0]; k++) {
            if (arcp_span_equal_cstr(name, asked[k])) {
                arcp__put_array(writer, asked[k]);
                for (size_t j = 0; j < arcp_lease_pattern_count(lease, i); j++) {
                    arcp_json_write_string(writer, arcp_lease_pattern(lease, i, j));
                }
                arcp_json_end_array(writer);
            }
        }
    }
}

/* The limits that the upstream enforces, as shown to the client (§9.8.3). [arcp:9.8.1-6]
 * [arcp:9.8.3-6] */
static void write_constraints(arcp__credentials *credentials, arcp__credential *credential,
                              const arcp_lease *lease, const arcp_budget *budget)
{
    const arcp_provisioner_terms *terms = credentials->options->terms;
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    if ((terms->enforces & ARCP_ENFORCES_LEASE) != 0) {
        write_amounts(&writer, budget);
        write_lines(&writer, lease);
    }
    if ((terms->enforces & ARCP_ENFORCES_BUDGET) != 0 && credential->budget[0] != '\0') {
        char amount[ARCP_DECIMAL_TEXT_MAX + 64];
        (void)snprintf(amount, sizeof amount, "%.60s:%s", terms->currency, credential->budget);
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
        credential->constraints =
            arcp__credential_copy(credentials, credential, arcp_buf_span(&text));
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
        credential->models =
            arcp__arena_take(&credential->arena, terms->model_count * sizeof *credential->models);
        if (credential->models == NULL) {
            arcp__context_no_memory(credentials->context);
            return false;
        }
        credential->model_count = allowed_models(credentials, lease, credential->models);
        if (credential->model_count == 0) {
            return false;
        }
    }
    write_constraints(credentials, credential, lease, budget);
    return true;
}

/* ---- calls ---- */

void arcp__credential_call(arcp__credentials *credentials, arcp__credential *credential,
                           arcp__provision_verb verb)
{
    if (credential->call_id != 0) {
        return; /* its result decides what comes next */
    }
    credential->call_id = ++credentials->next_call_id;
    credential->verb = verb;
    HASH_ADD(hh_call, credentials->calls, call_id, sizeof credential->call_id, credential);
    if (credential->hh_call.tbl == NULL) {
        credential->call_id = 0;
        arcp__context_no_memory(credentials->context);
        return;
    }
    /* A request must be durable first. So must be what a revocation follows, the end of the job or
     * a value in place of this one: otherwise a restart could give a dead value back to the job. */
    const bool durable = verb == ARCP__PROVISION_ISSUE || verb == ARCP__PROVISION_ROTATE ||
                         verb == ARCP__PROVISION_REVOKE;
    arcp__effect_push(credentials->log, NULL,
                      &(arcp__effect){.kind = ARCP__EFFECT_PROVISION, .id = credential->call_id},
                      NULL, durable);
}

static bool is_recorded(const arcp__credentials *credentials, const arcp__credential *credential)
{
    return credentials->makes_spans && arcp__traceparent_is_valid(credential->traceparent) &&
           arcp__traceparent_is_sampled(credential->traceparent);
}

arcp__provision_verb arcp__credential_request(arcp__credentials *credentials, uint64_t call_id,
                                              arcp_provision_request *out)
{
    const int64_t now_wall_ns = credentials->context->now.wall_ns;
    arcp__credential *credential = NULL;
    HASH_FIND(hh_call, credentials->calls, &call_id, sizeof call_id, credential);
    assert(credential != NULL);
    const arcp__provision_verb verb = credential->verb;
    /* The credential whose value the request names. */
    const arcp__credential *named = verb == ARCP__PROVISION_ISSUE ? NULL : credential;
    credential->call_wall_ns = now_wall_ns;
    if (verb == ARCP__PROVISION_ISSUE || verb == ARCP__PROVISION_ROTATE) {
        credential->requested_wall_ns = now_wall_ns;
    }
    if (verb == ARCP__PROVISION_ROTATE) {
        named = credential->slot == NULL ? NULL : credential->slot->live;
    }
    if (is_recorded(credentials, credential)) {
        uint8_t span_id[ARCP__SPAN_ID_SIZE / 2];
        arcp__context_random(credentials->context, span_id, sizeof span_id);
        span_id[0] |= 1; /* never all zero */
        arcp__traceparent_format(credential->traceparent.data + 3, span_id,
                                 credential->call_traceparent);
    } else {
        (void)snprintf(credential->call_traceparent, sizeof credential->call_traceparent, "%s",
                       credential->traceparent.size == 0 ? "" : credential->traceparent.data);
    }
    *out = (arcp_provision_request){
        .struct_size = sizeof *out,
        .call_id = call_id,
        .alias = arcp_span_cstr(credential->alias),
        .credential_id = arcp_span_cstr(credential->id),
        .job_id = arcp_span_cstr(credential->job_id),
        .principal = credential->principal,
        .agent = credential->agent,
        .trace_id = arcp_span_cstr(credential->trace_id),
        .traceparent = arcp_span_cstr(credential->call_traceparent),
        .budget = arcp_span_cstr(credential->budget),
        .models = credential->models,
        .model_count = credential->model_count,
        .has_models = credential->models != NULL,
        .expires_at = arcp_span_cstr(credential->expires_at),
    };
    if (named != NULL) {
        out->upstream_id = named->upstream_id;
        arcp_buf_clear(&credentials->request_value);
        credentials->request_value.secret = true;
        if (named->sealed.size != 0 &&
            arcp__credential_unseal(credentials, named, &credentials->request_value)) {
            out->value = arcp_buf_span(&credentials->request_value);
        }
    }
    if (credential->expires_at[0] != '\0') {
        const int64_t left_ns = credential->expires_wall_ns - now_wall_ns;
        out->ttl_sec =
            left_ns > ARCP_NS_PER_SEC ? (uint64_t)(left_ns / ARCP_NS_PER_SEC) : UINT64_C(1);
    }
    return verb;
}

void arcp__credential_request_sent(arcp__credentials *credentials)
{
    arcp_buf_clear(&credentials->request_value);
}

arcp__credential *arcp__credential_end_call(arcp__credentials *credentials,
                                            const arcp_provision_result *result)
{
    static const char *const names[] = {
        [ARCP__PROVISION_ISSUE] = "arcp.provision.issue",
        [ARCP__PROVISION_ROTATE] = "arcp.provision.rotate",
        [ARCP__PROVISION_REVOKE] = "arcp.provision.revoke",
        [ARCP__PROVISION_USAGE] = "arcp.provision.usage",
        [ARCP__PROVISION_KEEP] = "arcp.provision.keep",
    };
    static const char *const outcomes[] = {
        [ARCP_PROVISION_UNKNOWN] = "unknown",
        [ARCP_PROVISION_DONE] = "done",
        [ARCP_PROVISION_REFUSED] = "refused",
        [ARCP_PROVISION_ABSENT] = "absent",
    };
    arcp__credential *credential = NULL;
    HASH_FIND(hh_call, credentials->calls, &result->call_id, sizeof result->call_id, credential);
    if (credential == NULL) {
        return NULL;
    }
    HASH_DELETE(hh_call, credentials->calls, credential);
    credential->call_id = 0;
    if (!is_recorded(credentials, credential) || credential->call_traceparent[0] == '\0') {
        return credential;
    }
    const bool failed =
        result->outcome == ARCP_PROVISION_UNKNOWN || result->outcome == ARCP_PROVISION_REFUSED;
    const arcp__otlp_attribute attributes[] = {
        {.name = "arcp.session_id", .text = arcp_span_cstr(credential->session_id)},
        {.name = "arcp.job_id", .text = arcp_span_cstr(credential->job_id)},
        {.name = "arcp.agent", .text = credential->agent},
        {.name = "arcp.credential_id", .text = arcp_span_cstr(credential->id)},
        {.name = "arcp.provisioner", .text = credential->provisioner},
        {.name = "arcp.provision.outcome", .text = arcp_span_cstr(outcomes[result->outcome])},
    };
    arcp_buf text = arcp_buf_init();
    arcp__otlp_span_format(
        &(arcp__otlp_span){
            .name = names[credential->verb],
            .kind = ARCP__OTLP_CLIENT,
            .trace_id = arcp_span_make(credential->call_traceparent + 3, ARCP__TRACE_ID_SIZE),
            .span_id = arcp_span_make(credential->call_traceparent + 36, ARCP__SPAN_ID_SIZE),
            .parent_id = arcp_span_make(credential->traceparent.data + 36, ARCP__SPAN_ID_SIZE),
            .start_wall_ns = credential->call_wall_ns,
            .end_wall_ns = credentials->context->now.wall_ns,
            .attributes = attributes,
            .attribute_count = sizeof attributes / sizeof attributes[0],
            .status = failed ? ARCP__OTLP_ERROR : ARCP__OTLP_UNSET,
            .status_message = failed ? outcomes[result->outcome] : NULL},
        &text);
    arcp__effect_push(credentials->log, NULL, &(arcp__effect){.kind = ARCP__EFFECT_SPAN}, &text,
                      false);
    return credential;
}
