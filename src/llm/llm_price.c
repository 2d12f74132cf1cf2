/* One row of LiteLLM's price file. A row is used only if every key that speaks of money is known:
 * prices of new kinds appear every month, and a price that is overlooked makes the bound wrong. */
#include <arcp/buf.h>

#include "llm/llm_parts.h"

typedef struct reader {
    const arcp_json *json;
    arcp__arena *arena;
    arcp_buf *scratch;
    arcp__llm_row *row;
    arcp__llm_rate *rates; /* in the arena; room for all members of the row */
    arcp__llm_factor *factors;
    bool no_memory;
} reader;

static const struct rate_key {
    const char *text;
    arcp__llm_use use;
} rate_keys[] = {
#define ARCP_LLM_RATE(key, use) {key, ARCP__LLM_USE_##use},
#include "llm/llm_rate.def"
#undef ARCP_LLM_RATE
};

static const struct other_key {
    const char *text;
    enum { ANYWHERE, END, WHOLE } place;
} other_keys[] = {
#define ARCP_LLM_OTHER_KEY(text, place) {text, place},
#include "llm/llm_other_key.def"
#undef ARCP_LLM_OTHER_KEY
};

static const char *const mode_names[] = {
    [ARCP__LLM_MODE_OTHER] = "",
#define ARCP_LLM_MODE(id, name, has_output) [ARCP__LLM_MODE_##id] = (name),
#include "llm/llm_mode.def"
#undef ARCP_LLM_MODE
};
static const bool mode_has_output[] = {
    [ARCP__LLM_MODE_OTHER] = false,
#define ARCP_LLM_MODE(id, name, has_output) [ARCP__LLM_MODE_##id] = (has_output) != 0,
#include "llm/llm_mode.def"
#undef ARCP_LLM_MODE
};
static const char *const tier_names[] = {
#define ARCP_LLM_TIER(id, name) [ARCP__LLM_TIER_##id] = (name),
#include "llm/llm_tier.def"
#undef ARCP_LLM_TIER
};
static const char *const use_names[] = {
#define ARCP_LLM_USE(id, name) [ARCP__LLM_USE_##id] = (name),
#include "llm/llm_use.def"
#undef ARCP_LLM_USE
};
static const struct problem_text {
    const char *name;
    const char *text;
} problems[] = {
#define ARCP_LLM_PROBLEM(id, name, text) [ARCP__LLM_PROBLEM_##id] = {name, text},
#include "llm/llm_problem.def"
#undef ARCP_LLM_PROBLEM
};

const char *arcp__llm_problem_name(arcp__llm_problem problem)
{
    return problems[problem].name;
}

const char *arcp__llm_problem_text(arcp__llm_problem problem)
{
    return problems[problem].text;
}

const char *arcp__llm_use_name(arcp__llm_use use)
{
    return use_names[use];
}

const char *arcp__llm_tier_name(arcp__llm_tier tier)
{
    return tier_names[tier];
}

/* ---- keys ---- */

static bool contains(arcp_span text, const char *part)
{
    return text.size != 0 && memmem(text.data, text.size, part, strlen(part)) != NULL;
}

/* Whether a key may be a price, or change one. */
static bool speaks_of_money(arcp_span key)
{
    static const char *const words[] = {"cost",      "price",  "pricing",   "fee",
                                        "surcharge", "uplift", "multiplier"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (contains(key, words[i])) {
            return true;
        }
    }
    return false;
}

static bool is_other_key(arcp_span key)
{
    for (size_t i = 0; i < sizeof other_keys / sizeof other_keys[0]; i++) {
        const arcp_span part = arcp_span_cstr(other_keys[i].text);
        const bool fits = other_keys[i].place == ANYWHERE ? contains(key, other_keys[i].text)
                          : other_keys[i].place == END    ? arcp_span_ends_with(key, part)
                                                          : arcp_span_equal(key, part);
        if (fits) {
            return true;
        }
    }
    return false;
}

/* Removes "_above_Nk_tokens" from the front; false when it is there and N is not a number of 1 to 6
 * digits. */
static bool take_threshold(arcp_span *rest, uint64_t *above)
{
    const arcp_span begin = ARCP_SPAN_LITERAL("_above_");
    const arcp_span end = ARCP_SPAN_LITERAL("k_tokens");
    if (!arcp_span_starts_with(*rest, begin)) {
        return true;
    }
    arcp_span at = arcp_span_from(*rest, begin.size);
    uint64_t thousands = 0;
    size_t digits = 0;
    for (; digits < at.size && digits < 6 && at.data[digits] >= '0' && at.data[digits] <= '9';
         digits++) {
        thousands = thousands * 10 + (uint64_t)(at.data[digits] - '0');
    }
    at = arcp_span_from(at, digits);
    if (digits == 0 || !arcp_span_starts_with(at, end)) {
        return false;
    }
    *above = thousands * 1000;
    *rest = arcp_span_from(at, end.size);
    return true;
}

/* Reads what follows the name of a rate. */
static bool read_ending(arcp_span rest, arcp__llm_rate *out)
{
    out->above = 0;
    out->tier = ARCP__LLM_TIER_DEFAULT;
    if (!take_threshold(&rest, &out->above)) {
        return false;
    }
    if (rest.size == 0) {
        return true;
    }
    for (unsigned tier = ARCP__LLM_TIER_DEFAULT + 1; tier < ARCP__LLM_TIERS; tier++) {
        if (rest.data[0] == '_' &&
            arcp_span_equal_cstr(arcp_span_from(rest, 1), tier_names[tier])) {
            out->tier = (arcp__llm_tier)tier;
            return true;
        }
    }
    return false;
}

static bool read_rate_key(arcp_span key, arcp__llm_rate *out)
{
    for (size_t i = 0; i < sizeof rate_keys / sizeof rate_keys[0]; i++) {
        const arcp_span text = arcp_span_cstr(rate_keys[i].text);
        if (arcp_span_starts_with(key, text) && read_ending(arcp_span_from(key, text.size), out)) {
            out->use = rate_keys[i].use;
            return true;
        }
    }
    return false;
}

/* ---- values ---- */

/* Keeps the first problem. */
static void blame(reader *r, arcp__llm_problem problem, arcp_span key)
{
    if (r->row->problem != ARCP__LLM_PROBLEM_NONE) {
        return;
    }
    r->row->problem = problem;
    if (key.size != 0) {
        r->row->key = arcp__arena_copy(r->arena, key);
        r->no_memory = r->no_memory || r->row->key.data == NULL;
    }
}

/* A price or factor; null counts as absent. False, with the row's problem set, for a value that is
 * not a number of 0 or more. */
static bool read_decimal(reader *r, arcp_span key, arcp_json_ref value, arcp_decimal *out)
{
    arcp_error err = {0};
    if (arcp_json_is(r->json, value, ARCP_JSON_NUMBER) &&
        arcp_decimal_parse_spend(arcp_json_raw(r->json, value), out, &err) == ARCP_OK) {
        return true;
    }
    blame(r, ARCP__LLM_PROBLEM_VALUE, key);
    return false;
}

static void add_rate(reader *r, arcp_span key, arcp_json_ref value, const arcp__llm_rate *found)
{
    arcp__llm_rate rate = *found;
    if (read_decimal(r, key, value, &rate.price)) {
        r->rates[r->row->rate_count++] = rate;
    }
}

/* One element of tiered_pricing: prices for calls with more tokens of input than its range begins
 * with. */
static void read_range(reader *r, arcp_json_ref element)
{
    const arcp_json *json = r->json;
    const arcp_span tiered = ARCP_SPAN_LITERAL("tiered_pricing");
    const arcp_json_ref range = arcp_json_member(json, element, ARCP_SPAN_LITERAL("range"));
    uint64_t above = 0;
    if (!arcp_json_is(json, range, ARCP_JSON_ARRAY) ||
        !arcp_json_u64(json, arcp_json_first(json, range), &above)) {
        blame(r, ARCP__LLM_PROBLEM_VALUE, tiered);
        return;
    }
    for (arcp_json_ref name = arcp_json_first(json, element); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, element, name)) {
        const arcp_span key = arcp_json_string(json, name, r->scratch);
        arcp__llm_rate rate = {0};
        if (read_rate_key(key, &rate) && rate.above == 0) {
            rate.above = above;
            add_rate(r, key, name + 1, &rate);
        } else if (speaks_of_money(key) && !is_other_key(key)) {
            blame(r, ARCP__LLM_PROBLEM_KEY, key);
        }
    }
}

static void read_tiers(reader *r, arcp_span key, arcp_json_ref list)
{
    if (!arcp_json_is(r->json, list, ARCP_JSON_ARRAY)) {
        blame(r, ARCP__LLM_PROBLEM_VALUE, key);
        return;
    }
    for (arcp_json_ref element = arcp_json_first(r->json, list); element != ARCP_JSON_ABSENT;
         element = arcp_json_next(r->json, list, element)) {
        read_range(r, element);
    }
}

/* provider_specific_entry: its numbers are factors; other values are no prices. */
static void read_factors(reader *r, arcp_json_ref object)
{
    for (arcp_json_ref name = arcp_json_first(r->json, object); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(r->json, object, name)) {
        const arcp_span key = arcp_json_string(r->json, name, r->scratch);
        arcp__llm_factor factor = {0};
        if (!arcp_json_is(r->json, name + 1, ARCP_JSON_NUMBER) ||
            !read_decimal(r, key, name + 1, &factor.factor)) {
            continue;
        }
        factor.name = arcp__arena_copy(r->arena, key);
        r->no_memory = r->no_memory || factor.name.data == NULL;
        r->factors[r->row->factor_count++] = factor;
    }
}

/* regional_*_multiplier: the largest is kept. */
static void read_regional(reader *r, arcp_span key, arcp_json_ref value)
{
    arcp_decimal factor = ARCP_DECIMAL_ZERO;
    if (read_decimal(r, key, value, &factor) &&
        arcp_decimal_compare(factor, r->row->regional) > 0) {
        r->row->regional = factor;
    }
}

/* ---- the row ---- */

static void read_member(reader *r, arcp_span key, arcp_json_ref value)
{
    arcp__llm_rate rate = {0};
    if (arcp_json_is_missing(r->json, value)) {
        return;
    }
    if (arcp_span_equal_cstr(key, "tiered_pricing")) {
        read_tiers(r, key, value);
    } else if (arcp_span_equal_cstr(key, "provider_specific_entry")) {
        read_factors(r, value);
    } else if (arcp_span_starts_with(key, ARCP_SPAN_LITERAL("regional_")) &&
               contains(key, "_multiplier")) {
        read_regional(r, key, value);
    } else if (is_other_key(key)) {
        return;
    } else if (read_rate_key(key, &rate)) {
        add_rate(r, key, value, &rate);
    } else if (speaks_of_money(key)) {
        blame(r, ARCP__LLM_PROBLEM_KEY, key);
    }
}

/* A size; 0 when the row does not have it. */
static uint64_t read_size(const reader *r, arcp_json_ref object, const char *key)
{
    uint64_t value = 0;
    const arcp_json_ref ref = arcp_json_member(r->json, object, arcp_span_cstr(key));
    return arcp_json_u64(r->json, ref, &value) ? value : 0;
}

static arcp_span copy_member(reader *r, arcp_json_ref object, const char *key)
{
    const arcp_json_ref ref = arcp_json_member(r->json, object, arcp_span_cstr(key));
    const arcp_span text = arcp__arena_copy(r->arena, arcp_json_string(r->json, ref, r->scratch));
    r->no_memory = r->no_memory || text.data == NULL;
    return text;
}

static void read_sizes(reader *r, arcp_json_ref object)
{
    arcp__llm_row *row = r->row;
    row->context = read_size(r, object, "max_input_tokens");
    row->output_max = read_size(r, object, "max_output_tokens");
    if (row->context == 0 && row->output_max == 0) {
        /* The file says that max_tokens is that of the output, if the row has one. */
        row->context = read_size(r, object, "max_tokens");
    }
    row->reasons = arcp_json_is(
        r->json, arcp_json_member(r->json, object, ARCP_SPAN_LITERAL("supports_reasoning")),
        ARCP_JSON_TRUE);
}

static bool is_zero(const arcp__llm_row *row)
{
    for (size_t i = 0; i < row->rate_count; i++) {
        const arcp_decimal zero = ARCP_DECIMAL_ZERO;
        if (arcp_decimal_compare(row->rates[i].price, zero) != 0) {
            return false;
        }
    }
    return true;
}

/* What the row lacks for a bound. */
static void judge(reader *r)
{
    const arcp__llm_row *row = r->row;
    const arcp_span none = {NULL, 0};
    arcp_decimal price = ARCP_DECIMAL_ZERO;
    const bool has_output = mode_has_output[row->mode];
    if (!arcp__llm_rate_most(row, ARCP__LLM_USE_INPUT, ARCP__LLM_TIERS_DEFAULT, 0, &price)) {
        blame(r, ARCP__LLM_PROBLEM_INPUT, none);
    } else if (has_output && !arcp__llm_rate_most(row, ARCP__LLM_USE_OUTPUT,
                                                  ARCP__LLM_TIERS_DEFAULT, 0, &price)) {
        blame(r, ARCP__LLM_PROBLEM_OUTPUT, none);
    } else if (is_zero(row)) {
        blame(r, ARCP__LLM_PROBLEM_ZERO, none);
    } else if (has_output && row->context == 0) {
        blame(r, ARCP__LLM_PROBLEM_CONTEXT, none);
    }
}

static arcp__llm_mode mode_of(arcp_span name)
{
    size_t mode = sizeof mode_names / sizeof mode_names[0] - 1;
    while (mode > ARCP__LLM_MODE_OTHER && !arcp_span_equal_cstr(name, mode_names[mode])) {
        mode--;
    }
    return (arcp__llm_mode)mode;
}

/* The most rates, or factors, that the row can have. */
static size_t count_all(const arcp_json *json, arcp_json_ref object)
{
    size_t count = 0;
    for (arcp_json_ref at = arcp_json_first(json, object); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, object, at)) {
        const arcp_json_ref value = arcp_json_is(json, object, ARCP_JSON_OBJECT) ? at + 1 : at;
        count += 1 + arcp_json_count(json, value);
        if (arcp_json_is(json, value, ARCP_JSON_ARRAY)) {
            count += count_all(json, value);
        }
    }
    return count;
}

/* Reads the members of a row that has a mode which is priced here. */
static void read_members(reader *r, arcp_json_ref object)
{
    const size_t most = count_all(r->json, object);
    r->rates = arcp__arena_take(r->arena, (most + 1) * sizeof *r->rates);
    r->factors = arcp__arena_take(r->arena, (most + 1) * sizeof *r->factors);
    if (r->rates == NULL || r->factors == NULL) {
        r->no_memory = true;
        return;
    }
    r->row->rates = r->rates;
    r->row->factors = r->factors;
    for (arcp_json_ref at = arcp_json_first(r->json, object); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(r->json, object, at)) {
        read_member(r, arcp_json_string(r->json, at, r->scratch), at + 1);
    }
    read_sizes(r, object);
    judge(r);
}

arcp_status arcp__llm_row_read(const arcp_json *json, arcp_json_ref name, arcp__arena *arena,
                               arcp__llm_row *out, arcp_error *err)
{
    arcp_buf scratch = arcp_buf_init();
    reader r = {.json = json, .arena = arena, .scratch = &scratch, .row = out};
    const arcp_span none = {NULL, 0};
    *out = (arcp__llm_row){.regional = {1000000000000000000, 0}};
    out->name = arcp__arena_copy(arena, arcp_json_string(json, name, &scratch));
    out->provider = copy_member(&r, name + 1, "litellm_provider");
    out->mode_name = copy_member(&r, name + 1, "mode");
    out->mode = mode_of(out->mode_name);
    if (out->mode == ARCP__LLM_MODE_OTHER) {
        blame(&r, ARCP__LLM_PROBLEM_MODE, none);
    } else if (!r.no_memory) {
        read_members(&r, name + 1);
    }
    const bool failed = r.no_memory || scratch.failed || out->name.data == NULL;
    arcp_buf_fini(&scratch);
    return failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}
