/* What the configuration says of one call: how its body is read and written, and its price. */
#include "gateway/model_config.h"

static const arcp__llm_row free_row = {.mode = ARCP__LLM_MODE_CHAT};
static const arcp__llm_row free_embedding_row = {.mode = ARCP__LLM_MODE_EMBEDDING};

arcp__llm_policy arcp__model_policy(const arcp__model_provider *provider, arcp__llm_route route)
{
    arcp__llm_policy policy = arcp__llm_policy_init(route);
    policy.allows_any = provider->is_free;
    policy.allowed = provider->allow;
    policy.allowed_count = provider->allow_count;
    policy.removes_tools = provider->removes_tools;
    policy.sets_tier = provider->is_openai;
    if (provider->other_tokens_per_byte != 0) {
        policy.other_tokens_per_byte = provider->other_tokens_per_byte;
    }
    return policy;
}

const arcp__llm_row *arcp__model_row(const arcp__model_config *config,
                                     const arcp__model_found *found, arcp__llm_route route)
{
    const bool is_unknown = found->row == NULL || found->row->problem == ARCP__LLM_PROBLEM_ZERO;
    if (found->provider->is_free || (is_unknown && arcp__model_unknown_is_free(config))) {
        return route == ARCP__LLM_ROUTE_EMBEDDINGS ? &free_embedding_row : &free_row;
    }
    return found->row;
}

bool arcp__model_row_is_free(const arcp__llm_row *row)
{
    return row == &free_row || row == &free_embedding_row;
}

arcp__llm_change arcp__model_change(const arcp__model_found *found, const arcp__llm_row *row,
                                    const arcp__llm_call *call)
{
    const arcp__model_provider *provider = found->provider;
    const bool has_tier =
        call->route == ARCP__LLM_ROUTE_CHAT || call->route == ARCP__LLM_ROUTE_RESPONSES;
    arcp__llm_change change = {
        .limit_field = provider->limit_field,
        .asks_usage = true,
        .sets_tier = provider->is_openai && has_tier && call->size.tiers == ARCP__LLM_TIERS_DEFAULT,
        .forbids_store = provider->forbids_store && has_tier,
        .asks_reasoning = provider->forbids_store && row != NULL && row->reasons};
    if (!arcp_span_equal(found->model, call->model)) {
        change.model = found->model;
    }
    return change;
}
