/* The bound: more than any call of this size costs, whatever the provider makes of its text. */
#include "llm/llm.h"

arcp__llm_terms arcp__llm_terms_init(void)
{
    const arcp__llm_terms terms = {
        .image_tokens = 49152, .max_output_tokens = 32768, .multiplier = {1000000000000000000, 0}};
    return terms;
}

static arcp_status out_of_range(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_LIMIT, "the price of the call is out of range");
}

static bool add_tokens(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* The tokens of the body, or those of the context if that is less, or if the body does not show its
 * size. An embedding has a context for each of its inputs, so only its text counts. */
static arcp_status bound_input(const arcp__llm_row *row, const arcp__llm_size *size,
                               const arcp__llm_terms *terms, uint64_t *out, arcp_error *err)
{
    const bool has_context = row->context != 0 && !size->is_embedding;
    uint64_t tokens = 0;
    if (size->is_open && !has_context) {
        return arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                              "the size of the call is not in its body, and the model's price row "
                              "has no max_input_tokens");
    }
    const bool is_counted =
        !size->is_open && !__builtin_mul_overflow(size->images, terms->image_tokens, &tokens) &&
        add_tokens(tokens, size->text, &tokens) && add_tokens(tokens, size->extra, &tokens);
    if (!is_counted && !has_context) {
        return out_of_range(err);
    }
    *out = has_context && (!is_counted || tokens > row->context) ? row->context : tokens;
    return ARCP_OK;
}

/* Adds count times the dearest price of a use, if the row has one. */
static bool add_price(const arcp__llm_row *row, const arcp__llm_size *size, arcp__llm_use use,
                      uint64_t tokens, uint64_t count, arcp_decimal *sum)
{
    arcp_decimal price = ARCP_DECIMAL_ZERO;
    return !arcp__llm_rate_most(row, use, size->tiers, tokens, &price) ||
           (arcp__llm_times(price, count, &price) && arcp_decimal_add(*sum, price, sum));
}

/* Raises *most to the price of a use, if the row has one and it is dearer. */
static void raise(const arcp__llm_row *row, const arcp__llm_size *size, arcp__llm_use use,
                  uint64_t tokens, arcp_decimal *most)
{
    arcp_decimal price = ARCP_DECIMAL_ZERO;
    if (arcp__llm_rate_most(row, use, size->tiers, tokens, &price) &&
        arcp_decimal_compare(price, *most) > 0) {
        *most = price;
    }
}

/* Multiplies by the factor of this name. */
static arcp_status apply_factor(const arcp__llm_row *row, const char *what, arcp_span name,
                                arcp_decimal *factor, arcp_error *err)
{
    for (size_t i = 0; i < row->factor_count; i++) {
        if (arcp_span_equal(row->factors[i].name, name)) {
            return arcp__llm_scale(*factor, row->factors[i].factor, factor) ? ARCP_OK
                                                                            : out_of_range(err);
        }
    }
    return name.size == 0 ? ARCP_OK
                          : arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                                           "the model's price row has no price for %s \"%.*s\"",
                                           what, (int)(name.size < 40 ? name.size : 40), name.data);
}

/* The factor of all prices of the call. */
static arcp_status find_factor(const arcp__llm_row *row, const arcp__llm_size *size,
                               const arcp__llm_terms *terms, arcp_decimal *out, arcp_error *err)
{
    *out = terms->multiplier;
    const arcp_status status = apply_factor(row, "speed", size->speed, out, err);
    return status == ARCP_OK ? apply_factor(row, "inference_geo", size->place, out, err) : status;
}

static arcp_status check_row(const arcp__llm_row *row, const arcp__llm_size *size, arcp_error *err)
{
    arcp_decimal price = ARCP_DECIMAL_ZERO;
    if (row->problem != ARCP__LLM_PROBLEM_NONE) {
        return arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                              "a call to this model cannot be bounded: %.*s%s%s",
                              (int)(row->key.size < 80 ? row->key.size : 80), row->key.data,
                              row->key.size == 0 ? "" : " ", arcp__llm_problem_text(row->problem));
    }
    if (size->is_embedding != (row->mode == ARCP__LLM_MODE_EMBEDDING)) {
        return arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                              size->is_embedding ? "the model makes no embeddings"
                                                 : "the model makes embeddings only");
    }
    for (unsigned tier = 0; tier < ARCP__LLM_TIERS; tier++) {
        /* A tier that was named must have a price of its own. */
        if (size->tiers == 1u << tier && tier != ARCP__LLM_TIER_DEFAULT) {
            bool has_price = false;
            for (size_t i = 0; i < row->rate_count; i++) {
                has_price = has_price || (row->rates[i].tier == (arcp__llm_tier)tier &&
                                          row->rates[i].use == ARCP__LLM_USE_INPUT);
            }
            if (!has_price) {
                return arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                                      "the model's price row has no price for service_tier %s",
                                      arcp__llm_tier_name((arcp__llm_tier)tier));
            }
        }
    }
    if (size->needs_long_price &&
        arcp__llm_rate_most(row, ARCP__LLM_USE_CACHE_WRITE, size->tiers, 0, &price) &&
        !arcp__llm_rate_most(row, ARCP__LLM_USE_CACHE_WRITE_1H, size->tiers, 0, &price)) {
        return arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                              "the model's price row has no price for a cache of more than 5 "
                              "minutes (ttl)");
    }
    return ARCP_OK;
}

/* The limit of one answer that is sent, and the tokens of all answers. */
static bool bound_output(const arcp__llm_row *row, const arcp__llm_size *size,
                         const arcp__llm_terms *terms, arcp__llm_bound *out)
{
    out->limit = size->has_limit ? size->limit : terms->max_output_tokens;
    if (row->output_max != 0 && row->output_max < out->limit) {
        out->limit = row->output_max;
    }
    if (size->is_embedding) {
        out->limit = 0;
    }
    return !__builtin_mul_overflow(out->limit, size->answers, &out->output_tokens);
}

/* Of the bounded tokens. */
static bool price_input(const arcp__llm_row *row, const arcp__llm_size *size, uint64_t tokens,
                        arcp_decimal *out)
{
    arcp_decimal most = ARCP_DECIMAL_ZERO;
    raise(row, size, ARCP__LLM_USE_INPUT, tokens, &most);
    raise(row, size, ARCP__LLM_USE_CACHE_READ, tokens, &most);
    raise(row, size, ARCP__LLM_USE_CACHE_WRITE, tokens, &most);
    if (size->has_long_cache) {
        raise(row, size, ARCP__LLM_USE_CACHE_WRITE_1H, tokens, &most);
    }
    if (size->images != 0 || size->is_open) {
        raise(row, size, ARCP__LLM_USE_IMAGE_TOKEN, tokens, &most);
    }
    return arcp__llm_times(most, tokens, out) &&
           add_price(row, size, ARCP__LLM_USE_IMAGE, tokens, size->images, out) &&
           add_price(row, size, ARCP__LLM_USE_REQUEST, tokens, 1, out);
}

static bool price_output(const arcp__llm_row *row, const arcp__llm_size *size, uint64_t input,
                         uint64_t output, arcp_decimal *out)
{
    arcp_decimal most = ARCP_DECIMAL_ZERO;
    raise(row, size, ARCP__LLM_USE_OUTPUT, input, &most);
    raise(row, size, ARCP__LLM_USE_REASONING, input, &most);
    return arcp__llm_times(most, output, out);
}

arcp_status arcp__llm_bound_find(const arcp__llm_row *row, const arcp__llm_size *size,
                                 const arcp__llm_terms *terms, arcp__llm_bound *out,
                                 arcp_error *err)
{
    arcp__llm_bound bound = {0};
    arcp_decimal factor = ARCP_DECIMAL_ZERO;
    arcp_status status = check_row(row, size, err);
    if (status == ARCP_OK) {
        status = bound_input(row, size, terms, &bound.input_tokens, err);
    }
    if (status == ARCP_OK) {
        status = find_factor(row, size, terms, &factor, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    if (!bound_output(row, size, terms, &bound) ||
        !price_input(row, size, bound.input_tokens, &bound.input) ||
        !price_output(row, size, bound.input_tokens, bound.output_tokens, &bound.output) ||
        !arcp__llm_scale(bound.input, factor, &bound.input) ||
        !arcp__llm_scale(bound.output, factor, &bound.output) ||
        !arcp_decimal_add(bound.input, bound.output, &bound.total)) {
        return out_of_range(err);
    }
    *out = bound;
    return ARCP_OK;
}
