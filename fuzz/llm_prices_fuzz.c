/* Price files: every row is read, or has a reason; a bound never falls when the call grows. */
#include <string.h>

#include "llm/llm.h"

static void check_grows(const arcp__llm_row *row, uint64_t tokens)
{
    const arcp__llm_terms terms = arcp__llm_terms_init();
    arcp__llm_size size = {.text = tokens,
                           .answers = 1,
                           .tiers = ARCP__LLM_TIERS_DEFAULT,
                           .is_embedding = row->mode == ARCP__LLM_MODE_EMBEDDING};
    arcp__llm_bound small;
    arcp__llm_bound large;
    arcp_error err = {0};
    if (arcp__llm_bound_find(row, &size, &terms, &small, &err) != ARCP_OK) {
        require(err.message[0] != '\0');
        return;
    }
    const arcp_decimal zero = ARCP_DECIMAL_ZERO;
    require(arcp_decimal_compare(small.total, zero) >= 0);
    size.text += 1000;
    size.images = 1;
    if (arcp__llm_bound_find(row, &size, &terms, &large, &err) == ARCP_OK) {
        require(large.input_tokens >= small.input_tokens);
        require(arcp_decimal_compare(large.total, small.total) >= 0);
    }
    size.tiers |= 1u << ARCP__LLM_TIER_PRIORITY;
    if (arcp__llm_bound_find(row, &size, &terms, &large, &err) == ARCP_OK) {
        require(arcp_decimal_compare(large.total, small.total) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp__llm_prices *prices = NULL;
    arcp_error err = {0};
    if (arcp__llm_prices_read(arcp_span_make((const char *)data, size), &prices, &err) != ARCP_OK) {
        require(prices == NULL && err.message[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < arcp__llm_prices_count(prices); i++) {
        const arcp__llm_row *row = arcp__llm_prices_row(prices, i);
        require(arcp__llm_prices_find(prices, row->name) == row);
        for (uint64_t tokens = 0; tokens < 2000000; tokens = tokens * 3 + 1000) {
            check_grows(row, tokens);
        }
    }
    arcp__llm_prices_free(prices);
    return 0;
}
