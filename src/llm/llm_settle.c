/* What an answer cost, by what it reports. */
#include "llm/llm_usage.h"

/* The tiers by which an answer is charged. One that is not known may be the dearest. */
static unsigned tiers_of(const arcp__llm_usage *usage, const arcp__llm_size *size)
{
    const arcp_span tier = arcp_span_cstr(usage->tier);
    if (tier.size == 0) {
        return size->tiers;
    }
    if (arcp_span_equal_cstr(tier, "standard")) {
        return ARCP__LLM_TIERS_DEFAULT;
    }
    for (unsigned i = 0; i < ARCP__LLM_TIERS; i++) {
        if (arcp_span_equal_cstr(tier, arcp__llm_tier_name((arcp__llm_tier)i))) {
            return 1u << i;
        }
    }
    return (1u << ARCP__LLM_TIERS) - 1;
}

/* The price of a use; where the row has none, of the next use. */
static arcp_decimal price_of(const arcp__llm_row *row, const arcp__llm_use *uses, unsigned tiers,
                             uint64_t tokens)
{
    arcp_decimal price = ARCP_DECIMAL_ZERO;
    size_t i = 0;
    while (uses[i] != ARCP__LLM_USES &&
           !arcp__llm_rate_exact(row, uses[i], tiers, tokens, &price)) {
        i++;
    }
    return price;
}

static arcp_decimal dearer(arcp_decimal a, arcp_decimal b)
{
    return arcp_decimal_compare(a, b) < 0 ? b : a;
}

typedef struct charge {
    const arcp__llm_row *row;
    unsigned tiers;
    uint64_t level; /* tokens of input, which choose among thresholds */
    arcp_decimal total;
    bool is_in_range;
} charge;

static void add(charge *c, arcp_decimal price, uint64_t count)
{
    c->is_in_range = c->is_in_range && arcp__llm_times(price, count, &price) &&
                     arcp_decimal_add(c->total, price, &c->total);
}

static void add_use(charge *c, const arcp__llm_use *uses, uint64_t count)
{
    add(c, price_of(c->row, uses, c->tiers, c->level), count);
}

static void add_input(charge *c, const arcp__llm_usage *usage, uint64_t images)
{
    static const arcp__llm_use plain[] = {ARCP__LLM_USE_INPUT, ARCP__LLM_USES};
    static const arcp__llm_use picture[] = {ARCP__LLM_USE_IMAGE_TOKEN, ARCP__LLM_USES};
    static const arcp__llm_use read[] = {ARCP__LLM_USE_CACHE_READ, ARCP__LLM_USE_INPUT,
                                         ARCP__LLM_USES};
    static const arcp__llm_use write[] = {ARCP__LLM_USE_CACHE_WRITE, ARCP__LLM_USE_INPUT,
                                          ARCP__LLM_USES};
    static const arcp__llm_use write_1h[] = {ARCP__LLM_USE_CACHE_WRITE_1H,
                                             ARCP__LLM_USE_CACHE_WRITE, ARCP__LLM_USE_INPUT,
                                             ARCP__LLM_USES};
    arcp_decimal price = price_of(c->row, plain, c->tiers, c->level);
    if (images != 0) {
        /* Answers do not say how many of the tokens are those of pictures. */
        price = dearer(price, price_of(c->row, picture, c->tiers, c->level));
    }
    add(c, price, usage->input.tokens);
    add(c, dearer(price, price_of(c->row, write, c->tiers, c->level)), usage->more_input);
    add_use(c, read, usage->cache_read.tokens);
    add_use(c, write, usage->cache_write.tokens);
    add_use(c, write_1h, usage->cache_write_1h.tokens);
}

static void add_output(charge *c, const arcp__llm_usage *usage, uint64_t output)
{
    static const arcp__llm_use text[] = {ARCP__LLM_USE_OUTPUT, ARCP__LLM_USES};
    static const arcp__llm_use reasoning[] = {ARCP__LLM_USE_REASONING, ARCP__LLM_USE_OUTPUT,
                                              ARCP__LLM_USES};
    const uint64_t thought = usage->reasoning.tokens < output ? usage->reasoning.tokens : output;
    add_use(c, text, output - thought);
    add_use(c, reasoning, thought);
    add_use(c, text, usage->more_output);
}

/* The price of a picture, and of the call itself. */
static void add_fixed(charge *c, uint64_t images)
{
    static const arcp__llm_use image[] = {ARCP__LLM_USE_IMAGE, ARCP__LLM_USES};
    static const arcp__llm_use request[] = {ARCP__LLM_USE_REQUEST, ARCP__LLM_USES};
    add_use(c, image, images);
    add_use(c, request, 1);
}

/* Multiplies by the factor of a word of the answer or, where it has none, of the call. */
static void apply_factor(charge *c, const char *word, arcp_span asked)
{
    const arcp_span name = word[0] == '\0' ? asked : arcp_span_cstr(word);
    for (size_t i = 0; i < c->row->factor_count && name.size != 0; i++) {
        if (arcp_span_equal(c->row->factors[i].name, name)) {
            c->is_in_range =
                c->is_in_range && arcp__llm_scale(c->total, c->row->factors[i].factor, &c->total);
            return;
        }
    }
}

static void apply_factors(charge *c, const arcp__llm_usage *usage, const arcp__llm_size *size,
                          const arcp__llm_terms *terms)
{
    apply_factor(c, usage->speed, size->speed);
    apply_factor(c, usage->place, size->place);
    c->is_in_range = c->is_in_range && arcp__llm_scale(c->total, terms->multiplier, &c->total);
}

static uint64_t all_input(const arcp__llm_usage *usage)
{
    const uint64_t cached =
        arcp__llm_sum(usage->cache_read.tokens,
                      arcp__llm_sum(usage->cache_write.tokens, usage->cache_write_1h.tokens));
    return arcp__llm_sum(usage->input.tokens, cached);
}

/* The output that an answer without its final usage had, as far as can be known. */
static uint64_t shown_output(const arcp__llm_row *row, const arcp__llm_bound *held,
                             const arcp__llm_tap *tap)
{
    const uint64_t reported = tap->usage.output.tokens;
    uint64_t shown = tap->shown;
    if (row->reasons || tap->has_unread || !tap->is_stream || shown > held->output_tokens) {
        shown = held->output_tokens;
    }
    return shown > reported ? shown : reported;
}

void arcp__llm_settle(const arcp__llm_row *row, const arcp__llm_size *size,
                      const arcp__llm_terms *terms, const arcp__llm_bound *held,
                      const arcp__llm_tap *tap, arcp__llm_cost *out)
{
    const arcp__llm_usage *usage = &tap->usage;
    const bool has_input = usage->input.is_known;
    charge c = {.row = row,
                .tiers = tiers_of(usage, size),
                .level = has_input ? all_input(usage) : held->input_tokens,
                .is_in_range = true};
    const uint64_t output = tap->is_complete ? usage->output.tokens : shown_output(row, held, tap);
    *out =
        (arcp__llm_cost){.input_tokens = arcp__llm_sum(c.level, has_input ? usage->more_input : 0),
                         .cached_tokens = usage->cache_read.tokens,
                         .output_tokens = arcp__llm_sum(output, usage->more_output),
                         .is_reported = tap->is_complete};
    if (has_input) {
        add_input(&c, usage, size->images);
        add_fixed(&c, size->images);
    }
    add_output(&c, usage, output);
    apply_factors(&c, usage, size, terms);
    if (!has_input) {
        /* What was held for the input has its factors. */
        c.is_in_range = c.is_in_range && arcp_decimal_add(c.total, held->input, &c.total);
    }
    out->total = c.is_in_range ? c.total : held->total;
}
