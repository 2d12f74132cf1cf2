/* Answers, whole and as streams: reading them in pieces gives the same as in one; an answer that
 * stays within what was held is never charged more. The first two bytes choose route and form, and
 * the size of the pieces. */
#include <string.h>

#include "llm/llm_answer.h"

static const char row_text[] =
    "{\"m\":{\"mode\":\"chat\",\"max_input_tokens\":100000,\"max_output_tokens\":5000,"
    "\"input_cost_per_token\":3e-06,\"input_cost_per_token_above_50k_tokens\":6e-06,"
    "\"cache_creation_input_token_cost\":3.75e-06,"
    "\"cache_creation_input_token_cost_above_1hr\":6e-06,\"cache_read_input_token_cost\":3e-07,"
    "\"input_cost_per_token_priority\":5e-06,\"output_cost_per_reasoning_token\":1.7e-05,"
    "\"output_cost_per_token\":1.5e-05,\"provider_specific_entry\":{\"us\":1.1,\"fast\":2}}}";

static void read_answer(arcp__llm_tap *tap, uint8_t form, arcp_span body, size_t piece)
{
    arcp__llm_tap_init(tap, (arcp__llm_route)(form % (unsigned)ARCP__LLM_ROUTES), (form & 16) != 0);
    while (body.size != 0) {
        arcp__llm_tap_feed(tap, arcp_span_first(body, piece));
        body = arcp_span_from(body, piece);
    }
    arcp__llm_tap_end(tap);
}

/* Whether the answer used no more tokens than were held. */
static bool is_within(const arcp__llm_cost *cost, const arcp__llm_bound *held)
{
    return cost->input_tokens <= held->input_tokens && cost->output_tokens <= held->output_tokens;
}

static void check_charge(const arcp__llm_tap *tap)
{
    static arcp__llm_prices *prices;
    const arcp__llm_terms terms = arcp__llm_terms_init();
    const arcp__llm_size size = {.text = 1000000,
                                 .answers = 1,
                                 .has_long_cache = true,
                                 .tiers = (1u << ARCP__LLM_TIERS) - 1,
                                 .speed = ARCP_SPAN_LITERAL("fast"),
                                 .place = ARCP_SPAN_LITERAL("us")};
    const arcp_decimal zero = ARCP_DECIMAL_ZERO;
    arcp__llm_bound held;
    arcp__llm_cost cost;
    arcp_error err = {0};
    if (prices == NULL) {
        require(arcp__llm_prices_read(arcp_span_cstr(row_text), &prices, &err) == ARCP_OK);
    }
    const arcp__llm_row *row = arcp__llm_prices_row(prices, 0);
    require(arcp__llm_bound_find(row, &size, &terms, &held, &err) == ARCP_OK);
    arcp__llm_settle(row, &size, &terms, &held, tap, &cost);
    require(arcp_decimal_compare(cost.total, zero) >= 0);
    require(cost.is_reported == tap->is_complete);
    require(!is_within(&cost, &held) || arcp_decimal_compare(cost.total, held.total) <= 0);
}

static bool is_same_count(const arcp__llm_count *a, const arcp__llm_count *b)
{
    return a->is_known == b->is_known && a->tokens == b->tokens;
}

static bool is_same(const arcp__llm_usage *a, const arcp__llm_usage *b)
{
    return is_same_count(&a->input, &b->input) && is_same_count(&a->cache_read, &b->cache_read) &&
           is_same_count(&a->cache_write, &b->cache_write) &&
           is_same_count(&a->cache_write_1h, &b->cache_write_1h) &&
           is_same_count(&a->output, &b->output) && is_same_count(&a->reasoning, &b->reasoning) &&
           a->more_input == b->more_input && a->more_output == b->more_output &&
           strcmp(a->tier, b->tier) == 0 && strcmp(a->speed, b->speed) == 0 &&
           strcmp(a->place, b->place) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const arcp_span body = arcp_span_make((const char *)data + 2, size - 2);
    arcp__llm_tap whole;
    arcp__llm_tap pieces;
    read_answer(&whole, data[0], body, size);
    read_answer(&pieces, data[0], body, 1 + data[1] % 13u);
    require(is_same(&whole.usage, &pieces.usage));
    require(whole.is_complete == pieces.is_complete && whole.has_unread == pieces.has_unread);
    require(whole.shown == pieces.shown);
    check_charge(&whole);
    arcp__llm_tap_fini(&whole);
    arcp__llm_tap_fini(&pieces);
    return 0;
}
