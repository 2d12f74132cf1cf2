/* The rows of a price file, by name. */
#include <stdlib.h>

#include "base/alloc.h"
#include "llm/llm_parts.h"

struct arcp__llm_prices {
    arcp__arena arena;
    arcp__llm_row *rows; /* owned; sorted by name */
    size_t count;
};

static int compare_names(arcp_span a, arcp_span b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = size == 0 ? 0 : memcmp(a.data, b.data, size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_rows(const void *a, const void *b)
{
    return compare_names(((const arcp__llm_row *)a)->name, ((const arcp__llm_row *)b)->name);
}

static int compare_with_row(const void *name, const void *row)
{
    return compare_names(*(const arcp_span *)name, ((const arcp__llm_row *)row)->name);
}

static arcp_status read_rows(const arcp_json *json, arcp__llm_prices *prices, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    if (!arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the price file is not an object of rows by name");
    }
    prices->rows =
        arcp__alloc_array(arcp_json_count(json, ARCP_JSON_ROOT) + 1, sizeof *prices->rows);
    if (prices->rows == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (arcp_json_ref name = arcp_json_first(json, ARCP_JSON_ROOT);
         name != ARCP_JSON_ABSENT && status == ARCP_OK;
         name = arcp_json_next(json, ARCP_JSON_ROOT, name)) {
        if (!arcp_json_is(json, name + 1, ARCP_JSON_OBJECT)) {
            const arcp_span text = arcp_json_raw(json, name);
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "the row %.*s of the price file is not an object",
                                  (int)(text.size < 80 ? text.size : 80), text.data);
        }
        status =
            arcp__llm_row_read(json, name, &prices->arena, &prices->rows[prices->count++], err);
    }
    return status;
}

arcp_status arcp__llm_prices_read(arcp_span text, arcp__llm_prices **out, arcp_error *err)
{
    const arcp_json_limits limits = {64, 200000, ARCP__LLM_PRICES_BYTES_MAX};
    arcp_json json = ARCP__JSON_INIT;
    arcp__llm_prices *prices = arcp__alloc(sizeof *prices);
    if (prices == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = arcp_json_scan(&json, text, &limits, err);
    if (status == ARCP_OK) {
        status = read_rows(&json, prices, err);
    }
    arcp__json_fini(&json);
    if (status != ARCP_OK) {
        arcp__llm_prices_free(prices);
        return status;
    }
    qsort(prices->rows, prices->count, sizeof *prices->rows, compare_rows);
    *out = prices;
    return ARCP_OK;
}

void arcp__llm_prices_free(arcp__llm_prices *prices)
{
    if (prices != NULL) {
        arcp__arena_fini(&prices->arena);
        arcp__free(prices->rows);
        arcp__free(prices);
    }
}

size_t arcp__llm_prices_count(const arcp__llm_prices *prices)
{
    return prices->count;
}

const arcp__llm_row *arcp__llm_prices_row(const arcp__llm_prices *prices, size_t index)
{
    return &prices->rows[index];
}

const arcp__llm_row *arcp__llm_prices_find(const arcp__llm_prices *prices, arcp_span name)
{
    return bsearch(&name, prices->rows, prices->count, sizeof *prices->rows, compare_with_row);
}

/* ---- the price of a use ---- */

static void raise(const arcp_decimal *price, bool *found, arcp_decimal *out)
{
    if (!*found || arcp_decimal_compare(*price, *out) > 0) {
        *out = *price;
    }
    *found = true;
}

bool arcp__llm_rate_most(const arcp__llm_row *row, arcp__llm_use use, unsigned tiers,
                         uint64_t tokens, arcp_decimal *out)
{
    bool found = false;
    for (unsigned tier = 0; tier < ARCP__LLM_TIERS; tier++) {
        /* The largest thresholds that calls reach, in this tier and in the default one. */
        uint64_t own = 0;
        uint64_t usual = 0;
        bool has_own = false;
        for (size_t i = 0; i < row->rate_count && (tiers >> tier & 1) != 0; i++) {
            const arcp__llm_rate *rate = &row->rates[i];
            if (rate->use != use || rate->above > tokens) {
                continue;
            }
            if (rate->tier == (arcp__llm_tier)tier) {
                has_own = true;
                own = rate->above > own ? rate->above : own;
                raise(&rate->price, &found, out);
            } else if (rate->tier == ARCP__LLM_TIER_DEFAULT) {
                usual = rate->above > usual ? rate->above : usual;
            }
        }
        for (size_t i = 0; i < row->rate_count && (tiers >> tier & 1) != 0; i++) {
            const arcp__llm_rate *rate = &row->rates[i];
            if (rate->use == use && rate->tier == ARCP__LLM_TIER_DEFAULT && rate->above <= tokens &&
                (!has_own || own < usual)) {
                raise(&rate->price, &found, out);
            }
        }
    }
    return found;
}

/* The largest threshold of a tier's prices that is below `tokens`, or at it; false when the tier
 * has none. */
static bool find_level(const arcp__llm_row *row, arcp__llm_use use, unsigned tier, uint64_t tokens,
                       uint64_t *level)
{
    bool found = false;
    for (size_t i = 0; i < row->rate_count; i++) {
        const arcp__llm_rate *rate = &row->rates[i];
        if (rate->use == use && rate->tier == (arcp__llm_tier)tier && rate->above <= tokens &&
            (!found || rate->above > *level)) {
            *level = rate->above;
            found = true;
        }
    }
    return found;
}

/* Raises *out to the prices of a tier at a threshold. */
static void raise_at(const arcp__llm_row *row, arcp__llm_use use, unsigned tier, uint64_t level,
                     bool *found, arcp_decimal *out)
{
    for (size_t i = 0; i < row->rate_count; i++) {
        const arcp__llm_rate *rate = &row->rates[i];
        if (rate->use == use && rate->tier == (arcp__llm_tier)tier && rate->above == level) {
            raise(&rate->price, found, out);
        }
    }
}

bool arcp__llm_rate_exact(const arcp__llm_row *row, arcp__llm_use use, unsigned tiers,
                          uint64_t tokens, arcp_decimal *out)
{
    bool found = false;
    for (unsigned tier = 0; tier < ARCP__LLM_TIERS; tier++) {
        uint64_t own = 0;
        uint64_t usual = 0;
        uint64_t below = 0;
        if ((tiers >> tier & 1) == 0) {
            continue;
        }
        const bool has_own = find_level(row, use, tier, tokens, &own);
        const bool has_usual = find_level(row, use, ARCP__LLM_TIER_DEFAULT, tokens, &usual);
        if (has_own) {
            raise_at(row, use, tier, own, &found, out);
        }
        if (has_own && own == tokens && own != 0 &&
            find_level(row, use, tier, tokens - 1, &below)) {
            raise_at(row, use, tier, below, &found, out);
        }
        if (has_usual && (!has_own || own < usual)) {
            raise_at(row, use, ARCP__LLM_TIER_DEFAULT, usual, &found, out);
        }
    }
    return found;
}
