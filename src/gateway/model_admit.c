/* What a call asks for, whether its job may, and what it can cost at most. */
#include "gateway/model_parts.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "json/json.h"

#define COUNT_TOKENS "/v1/messages/count_tokens"

/* ---- the lease ---- */

/* Whether a counter of the chain has been spent; holds do not count. */
static bool is_exhausted(const arcp_budget *budget, arcp_span *currency)
{
    for (; budget != NULL; budget = arcp_budget_parent(budget)) {
        for (size_t i = 0; i < arcp_budget_count(budget); i++) {
            if (arcp_decimal_compare(arcp_budget_spent(budget, i),
                                     arcp_budget_initial(budget, i)) >= 0) {
                *currency = arcp_budget_currency(budget, i);
                return true;
            }
        }
    }
    return false;
}

/* The next budget above that is one of a lease; NULL: there is none. */
static const arcp_budget *lease_above(const model_call *m, const arcp_budget *budget)
{
    const arcp_budget *above = arcp_budget_parent(budget);
    return above != NULL && m->call->job->has_purse && arcp_budget_parent(above) == NULL ? NULL
                                                                                         : above;
}

/* Whether leases of the chain have amounts, but none in a currency in which calls are charged: a
 * budget in another one is no licence. What a purse has says nothing of the lease. */
static bool is_in_other_currencies(const model_call *m, const arcp_budget *budget)
{
    bool has_amounts = false;
    for (; budget != NULL; budget = lease_above(m, budget)) {
        for (size_t i = 0; i < arcp_budget_count(budget); i++) {
            has_amounts = true;
            for (size_t j = 0; j < m->demand_count; j++) {
                if (arcp_span_equal(arcp_budget_currency(budget, i), m->demands[j].currency)) {
                    return false;
                }
            }
        }
    }
    return has_amounts;
}

/* Refuses a call that the lease denies; the client reads what is granted. */
static void refuse_denied(model_call *m, const arcp_decision *decision)
{
    const bool is_expired = decision->code == ARCP_E_LEASE_EXPIRED;
    arcp_buf message = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp_json json = {0};
    arcp__gateway_job_deny(m->call->job, decision->code, decision->capability, decision->target,
                           arcp_span_cstr(arcp_deny_reason_name(decision->reason)));
    arcp_decision_format_message(decision, &message);
    arcp_decision_format_details(m->job->asking, decision, &details);
    if (!details.failed && arcp_json_scan(&json, arcp_buf_span(&details), NULL, NULL) == ARCP_OK) {
        const arcp_span granted = arcp_json_raw(
            &json, arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("granted")));
        if (granted.size > 2) {
            arcp_buf_append_cstr(&message, "; granted: ");
            arcp_buf_append(&message, granted);
        }
    }
    arcp__model_refuse(m, 403, is_expired ? "lease_expired" : "permission_denied", "%.*s",
                       message.failed ? 0 : (int)message.size,
                       message.size == 0 ? "" : message.data);
    arcp__json_fini(&json);
    arcp_buf_fini(&message);
    arcp_buf_fini(&details);
}

static bool may(const model_call *m, arcp_span capability, arcp_span target,
                arcp_target_scratch *scratch, arcp_decision *decision)
{
    return arcp_authorize(m->job->asking, arcp__gateway_now(m->service->gateway), capability,
                          target, scratch, decision);
}

/* Asks for something that is allowed, so that the audit log can have the grant. False: refused. */
static bool record_grant(model_call *m, arcp_span capability, arcp_span target)
{
    arcp_budget *budget = arcp_authority_budget(m->call->job->authority);
    arcp_error err = {0};
    /* While calls hold everything the gate would call the budget used up. */
    const bool is_open = budget == NULL || arcp_budget_is_open(budget, NULL);
    if (is_open ? arcp__gateway_job_authorize(m->call->job, capability, target, NULL, &err)
                : arcp__job_gates_check(m->call->job->port.gates, &err) == ARCP_OK) {
        return true;
    }
    arcp__model_refuse(m, err.status == ARCP_E_CLOSED ? 401 : 503,
                       err.status == ARCP_E_CLOSED ? "job_over" : "unavailable", "%s", err.message);
    return false;
}

/* An alias is granted when its name or the name that it stands for is: models that are not granted
 * are left out. */
static bool ask_models(model_call *m)
{
    const arcp_span use = ARCP_SPAN_LITERAL("model.use");
    arcp_target_scratch scratch;
    arcp_decision decision;
    size_t kept = 0;
    if (may(m, use, m->asked.model, &scratch, &decision)) {
        return record_grant(m, use, m->asked.model);
    }
    for (size_t i = 0; i < m->found_count && m->is_alias; i++) {
        arcp_decision one;
        if (may(m, use, m->found[i].model, &scratch, &one)) {
            m->found[kept++] = m->found[i];
        }
    }
    if (kept == 0) {
        (void)may(m, use, m->asked.model, &scratch, &decision);
        refuse_denied(m, &decision);
        return false;
    }
    m->found_count = kept;
    return record_grant(m, use, m->found[0].model);
}

/* Pictures and documents that the provider would fetch for the agent. */
static bool ask_urls(model_call *m)
{
    const arcp_span fetch = ARCP_SPAN_LITERAL("net.fetch");
    for (size_t i = 0; i < m->asked.url_count; i++) {
        arcp_target_scratch scratch;
        arcp_decision decision;
        if (!may(m, fetch, m->asked.urls[i], &scratch, &decision)) {
            refuse_denied(m, &decision);
            return false;
        }
        if (!record_grant(m, fetch, m->asked.urls[i])) {
            return false;
        }
    }
    return true;
}

static bool ask_budget(model_call *m)
{
    arcp_span currency = {NULL, 0};
    if (!is_exhausted(arcp_authority_budget(m->call->job->authority), &currency)) {
        return true;
    }
    arcp__gateway_job_deny(m->call->job, ARCP_E_BUDGET_EXHAUSTED, ARCP_SPAN_LITERAL("model.use"),
                           m->asked.model, currency);
    arcp__model_refuse(m, 402, "budget_exhausted",
                       "the budget of %.*s, the job's or one above it, is used up",
                       (int)currency.size, currency.data);
    return false;
}

/* ---- earlier answers ---- */

bool arcp__model_knows(const model_tree *tree, arcp_span answer_id)
{
    const uint64_t hash = arcp__hash_bytes(answer_id.data, answer_id.size);
    for (size_t i = 0; i < tree->previous_count; i++) {
        if (tree->previous[i] == hash) {
            return true;
        }
    }
    return false;
}

void arcp__model_remember(model_tree *tree, arcp_span answer_id)
{
    if (answer_id.size == 0) {
        return;
    }
    if (tree->previous == NULL) {
        tree->previous = arcp__alloc_array(PREVIOUS_MAX, sizeof *tree->previous);
    }
    if (tree->previous == NULL) {
        return;
    }
    tree->previous[tree->previous_next] = arcp__hash_bytes(answer_id.data, answer_id.size);
    tree->previous_next = (tree->previous_next + 1) % PREVIOUS_MAX;
    tree->previous_count += tree->previous_count < PREVIOUS_MAX;
}

/* ---- the body ---- */

static bool find_route(model_call *m)
{
    const arcp_span path = m->call->path;
    m->counts_only = arcp_span_equal_cstr(path, COUNT_TOKENS);
    m->route = m->counts_only ? ARCP__LLM_ROUTE_MESSAGES : (arcp__llm_route)0;
    while (!m->counts_only && m->route < ARCP__LLM_ROUTES &&
           !arcp_span_equal_cstr(path, arcp__llm_route_path(m->route))) {
        m->route = (arcp__llm_route)(m->route + 1);
    }
    return m->route < ARCP__LLM_ROUTES;
}

/* Reads the name of the model, which says whose rules hold for the members. False: the body is not
 * one JSON object with such a name. */
static bool find_models(model_call *m, arcp_error *err)
{
    arcp__llm_policy policy = arcp__llm_policy_init(m->route);
    policy.allows_any = true;
    policy.removes_tools = true;
    if (arcp__llm_call_read(arcp_buf_span(&m->call->body), &policy, &m->asked, err) != ARCP_OK) {
        return false;
    }
    m->found_count =
        arcp__model_find(m->config, arcp__llm_route_dialect(m->route), m->asked.model, m->found);
    m->is_alias = arcp__model_is_alias(m->config, m->asked.model);
    return true;
}

bool arcp__model_read(model_call *m, arcp_error *err)
{
    const arcp__llm_policy policy = arcp__model_policy(m->found[m->at].provider, m->route);
    arcp__llm_call_fini(&m->asked);
    const arcp_status status =
        arcp__llm_call_read(arcp_buf_span(&m->call->body), &policy, &m->asked, err);
    if (!m->is_alias) {
        m->found[m->at].model = m->asked.model;
    }
    return status == ARCP_OK;
}

void arcp__model_refuse_body(model_call *m, const arcp_error *err)
{
    const bool is_memory = err->status == ARCP_E_NO_MEMORY;
    arcp__model_refuse(m, is_memory ? 503 : 400, is_memory ? "unavailable" : err->code, "%s%s",
                       err->message,
                       strcmp(err->code, "unsupported_parameter") == 0
                           ? "; models.providers[].allow of the gateway can allow it"
                           : "");
}

bool arcp__model_admit(model_call *m)
{
    arcp_error err = {0};
    if (!find_route(m)) {
        arcp__model_refuse(m, 404, "not_found", "the gateway has no such route");
        return false;
    }
    if (!find_models(m, &err)) {
        arcp__model_refuse_body(m, &err);
        return false;
    }
    /* The lease is asked first: which models it leaves of an alias decides whose rules hold, and
     * what it denies says nothing of what is configured. */
    if (!ask_models(m) || !ask_budget(m)) {
        return false;
    }
    if (m->found_count == 0) {
        arcp__model_refuse(m, 404, "model_not_found", "no provider serves the model \"%.*s\"",
                           (int)(m->asked.model.size < 80 ? m->asked.model.size : 80),
                           m->asked.model.data);
        return false;
    }
    if (!arcp__model_read(m, &err)) {
        arcp__model_refuse_body(m, &err);
        return false;
    }
    if (m->asked.previous.size != 0 && !arcp__model_knows(m->job->tree, m->asked.previous)) {
        arcp__model_refuse(m, 400, "unknown_response",
                           "previous_response_id: neither this job nor another one of its tree has "
                           "got such an answer");
        return false;
    }
    if (m->asked.removed_count != 0 && !m->job->has_said_removed) {
        m->job->has_said_removed = true;
        arcp__model_log(m, "warn",
                        "tools that run at the provider are removed from the job's calls to models "
                        "(server_tools: remove)");
    }
    return ask_urls(m);
}

/* ---- the bound ---- */

static bool add_demand(model_call *m, arcp_span currency, arcp_decimal input,
                       arcp_decimal per_token)
{
    const bool is_doubled = arcp__model_is_distrusted(m->service, &m->found[m->at]);
    if (is_doubled && (!arcp_decimal_add(input, input, &input) ||
                       !arcp_decimal_add(per_token, per_token, &per_token))) {
        return false;
    }
    m->demands[m->demand_count++] = (arcp__llm_demand){currency, input, per_token};
    return true;
}

/* In the prices' currency, in those that have an exchange rate, and in tokens. */
static bool set_demands(model_call *m, const arcp__llm_bound *one)
{
    const arcp__model_exchange *exchanges = NULL;
    const size_t count = arcp__model_exchanges(m->config, &exchanges);
    const arcp_decimal unit = {1000000000000000000, 0};
    arcp_decimal input;
    arcp_decimal per_token;
    m->demand_count = 0;
    if (!add_demand(m, arcp__model_currency(m->config), m->bound.input, one->output)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!arcp__llm_scale(m->bound.input, exchanges[i].rate, &input) ||
            !arcp__llm_scale(one->output, exchanges[i].rate, &per_token) ||
            !add_demand(m, exchanges[i].currency, input, per_token)) {
            return false;
        }
    }
    return arcp__llm_times(unit, m->bound.input_tokens, &input) &&
           arcp__llm_times(unit, one->output_tokens, &per_token) &&
           add_demand(m, ARCP_SPAN_LITERAL("tokens"), input, per_token);
}

bool arcp__model_bound(model_call *m, int *http_status, arcp_error *err)
{
    const arcp__llm_terms *terms = &m->found[m->at].provider->terms;
    const arcp_budget *budget = arcp_authority_budget(m->call->job->authority);
    const arcp_span model = m->found[m->at].model;
    arcp__llm_size one_token = m->asked.size;
    arcp__llm_bound one;
    *http_status = 403;
    m->demand_count = 0;
    m->has_bound = false;
    m->row = arcp__model_row(m->config, &m->found[m->at], m->route);
    one_token.has_limit = true;
    one_token.limit = 1;
    if (m->row == NULL) {
        (void)arcp_error_set(err, ARCP_E_PERMISSION_DENIED, "the model \"%.*s\" has no price",
                             (int)(model.size < 80 ? model.size : 80), model.data);
        return false;
    }
    const arcp_status status = arcp__llm_bound_find(m->row, &m->asked.size, terms, &m->bound, err);
    if (status != ARCP_OK && arcp__model_row_is_free(m->row) &&
        !arcp_budget_counts(budget, ARCP_SPAN_LITERAL("tokens"))) {
        return true;
    }
    if (status != ARCP_OK ||
        arcp__llm_bound_find(m->row, &one_token, terms, &one, err) != ARCP_OK) {
        return false;
    }
    m->has_bound = true;
    m->sent = m->bound;
    if (!set_demands(m, &one)) {
        (void)arcp_error_set(err, ARCP_E_LIMIT, "the price of the call is out of range");
        return false;
    }
    if (!arcp__model_row_is_free(m->row) && is_in_other_currencies(m, budget)) {
        (void)arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                             "the job's budget names no currency in which calls to models are "
                             "charged");
        return false;
    }
    return true;
}

void arcp__model_ask(model_call *m)
{
    const arcp__gateway_limits *limits = arcp__gateway_limits_of(m->service->gateway);
    const uint64_t limit = m->has_bound ? m->bound.limit : 0;
    uint64_t least = arcp__model_min_output(m->config);
    if (m->asked.thinking >= least) {
        least = m->asked.thinking == UINT64_MAX ? UINT64_MAX : m->asked.thinking + 1;
    }
    const arcp__llm_ask ask = {.budget = arcp_authority_budget(m->call->job->authority),
                               .caller = &m->job->caller,
                               .demands = m->demands,
                               .demand_count = m->demand_count,
                               .limit = limit,
                               .limit_min = least < limit ? least : limit,
                               .calls_max = limits->calls_per_job,
                               .wait_ms = limits->hold_wait_ms};
    m->stage = MODEL_LINE;
    m->hold.user = m;
    arcp__llm_hold_ask(m->service->lines, &m->hold, &ask, arcp__model_now_ms(m->service));
}

bool arcp__model_write_body(model_call *m)
{
    const arcp__model_provider *provider = m->found[m->at].provider;
    const arcp__llm_size *size = &m->asked.size;
    arcp__llm_change change = arcp__model_change(&m->found[m->at], m->row, &m->asked);
    change.limit = m->hold.limit;
    change.sets_limit = m->hold.demand_count != 0 && m->route != ARCP__LLM_ROUTE_EMBEDDINGS &&
                        (!size->has_limit || size->limit != m->hold.limit);
    if (m->has_bound) {
        /* What was held, for an answer that does not report its usage. */
        arcp__llm_size sent = *size;
        sent.has_limit = true;
        sent.limit = m->hold.limit;
        if (m->hold.demand_count != 0) {
            (void)!arcp__llm_bound_find(m->row, &sent, &provider->terms, &m->sent, NULL);
        }
    }
    arcp_buf_fini(&m->body);
    m->body = arcp_buf_init();
    arcp__llm_call_write(&m->asked, &change, &m->body);
    return !m->body.failed;
}
