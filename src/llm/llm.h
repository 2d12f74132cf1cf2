/* Language models: prices, and what a call can cost at most. No I/O, no clock, no global.
 *
 * Amounts are decimals in the currency of the price file. All functions are pure; an object may be
 * read by any thread while no thread changes it. docs/models.md. */
#ifndef ARCP_LLM_LLM_H
#define ARCP_LLM_LLM_H

#include <arcp/decimal.h>
#include <arcp/json.h>

/* ---- llm_price.c, llm_prices.c: LiteLLM's model_prices file ---- */

typedef enum arcp__llm_mode {
    ARCP__LLM_MODE_OTHER, /* pictures, speech, search and the like: not priced here */
#define ARCP_LLM_MODE(id, name, has_output) ARCP__LLM_MODE_##id,
#include "llm/llm_mode.def"
#undef ARCP_LLM_MODE
} arcp__llm_mode;

typedef enum arcp__llm_tier {
#define ARCP_LLM_TIER(id, name) ARCP__LLM_TIER_##id,
#include "llm/llm_tier.def"
#undef ARCP_LLM_TIER
    ARCP__LLM_TIERS
} arcp__llm_tier;

typedef enum arcp__llm_use {
#define ARCP_LLM_USE(id, name) ARCP__LLM_USE_##id,
#include "llm/llm_use.def"
#undef ARCP_LLM_USE
    ARCP__LLM_USES
} arcp__llm_use;

typedef enum arcp__llm_problem {
#define ARCP_LLM_PROBLEM(id, name, text) ARCP__LLM_PROBLEM_##id,
#include "llm/llm_problem.def"
#undef ARCP_LLM_PROBLEM
    ARCP__LLM_PROBLEMS
} arcp__llm_problem;

/* One price of a row. */
typedef struct arcp__llm_rate {
    arcp__llm_use use;
    arcp__llm_tier tier;
    uint64_t above; /* it holds for calls with more tokens of input than this */
    arcp_decimal price;
} arcp__llm_rate;

/* The price of a call is multiplied by `factor` if it asks for this speed or place. */
typedef struct arcp__llm_factor {
    arcp_span name; /* "fast", "us" */
    arcp_decimal factor;
} arcp__llm_factor;

typedef struct arcp__llm_row {
    arcp_span name;
    arcp_span provider; /* litellm_provider; may be empty */
    arcp_span mode_name;
    arcp__llm_mode mode;
    arcp__llm_problem problem; /* NONE: calls can be bounded */
    arcp_span key;             /* the key at fault, or empty */
    uint64_t context;          /* tokens of input of one call at most; 0: not known (embeddings) */
    uint64_t output_max;       /* tokens of output at most; 0: not known */
    bool reasons;              /* supports_reasoning: not all output need be shown */
    /* Regional endpoints cost this many times as much; 1 where the row says nothing. Which endpoint
     * is called is known to the operator only. */
    arcp_decimal regional;
    const arcp__llm_rate *rates;
    size_t rate_count;
    const arcp__llm_factor *factors;
    size_t factor_count;
} arcp__llm_row;

typedef struct arcp__llm_prices arcp__llm_prices;

#define ARCP__LLM_PRICES_BYTES_MAX ((size_t)64 << 20)

/* Reads the text of a price file: an object of rows by name. A row that cannot be used is kept with
 * its problem. *out copies what it needs; the caller frees it. ARCP_E_INVALID_REQUEST for a text
 * that is not JSON, or not an object of objects; ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__llm_prices_read(arcp_span text, arcp__llm_prices **out,
                                                  arcp_error *err);
void arcp__llm_prices_free(arcp__llm_prices *prices); /* NULL is accepted */

/* The rows in the order of their names. They live as long as the prices. */
size_t arcp__llm_prices_count(const arcp__llm_prices *prices);
const arcp__llm_row *arcp__llm_prices_row(const arcp__llm_prices *prices, size_t index);
/* The row with this name; NULL when there is none. */
const arcp__llm_row *arcp__llm_prices_find(const arcp__llm_prices *prices, arcp_span name);

const char *arcp__llm_problem_name(arcp__llm_problem problem); /* static */
const char *arcp__llm_problem_text(arcp__llm_problem problem); /* static */
const char *arcp__llm_use_name(arcp__llm_use use);             /* static */
const char *arcp__llm_tier_name(arcp__llm_tier tier);          /* static */

/* The dearest price of this use for calls with up to `tokens` of input, in the tiers of the set
 * (bits 1 << tier). A tier that does not price the use, or that prices it only for smaller calls
 * than the default tier does, is counted at the default tier's price, too. False when the row has
 * no such price. */
ARCP_MUST_CHECK bool arcp__llm_rate_most(const arcp__llm_row *row, arcp__llm_use use,
                                         unsigned tiers, uint64_t tokens, arcp_decimal *out);

/* The price of this use for a call with exactly `tokens` of input: that of the largest threshold
 * that it reaches; of several tiers the dearest. At a threshold itself the dearer of both prices
 * counts, because providers differ. False when the row has no such price. */
ARCP_MUST_CHECK bool arcp__llm_rate_exact(const arcp__llm_row *row, arcp__llm_use use,
                                          unsigned tiers, uint64_t tokens, arcp_decimal *out);

/* ---- llm_money.c: exact products; false when the result is out of range ---- */

ARCP_MUST_CHECK bool arcp__llm_times(arcp_decimal price, uint64_t count, arcp_decimal *out);
/* Both 0 or more; the product is rounded up to 18 digits. */
ARCP_MUST_CHECK bool arcp__llm_scale(arcp_decimal amount, arcp_decimal factor, arcp_decimal *out);

/* ---- llm_bound.c: what a call can cost at most ---- */

#define ARCP__LLM_TIERS_DEFAULT (1u << ARCP__LLM_TIER_DEFAULT)

/* What a call's body says of its size. */
typedef struct arcp__llm_size {
    uint64_t text;         /* tokens that its bytes can be at most */
    uint64_t extra;        /* tokens that a provider can add to it */
    uint64_t images;       /* pictures */
    bool is_open;          /* a part is not in the body (an URL, a document, an earlier answer) */
    bool has_long_cache;   /* parts of it may be kept in a cache for longer than 5 minutes */
    bool needs_long_price; /* and the row must have a price for that, if it has one for 5 minutes */
    bool is_embedding;     /* no output; each input has a context of its own */
    bool has_limit;
    uint64_t limit;   /* of the tokens of one answer */
    uint64_t answers; /* 1 or more */
    unsigned tiers;   /* bits of the service tiers that may answer */
    arcp_span speed;  /* empty: the usual */
    arcp_span place;  /* inference_geo; empty: anywhere */
} arcp__llm_size;

/* What an operator sets. */
typedef struct arcp__llm_terms {
    uint64_t image_tokens;      /* that a picture can be at most */
    uint64_t max_output_tokens; /* of a call that names no limit */
    arcp_decimal multiplier;    /* of all prices */
} arcp__llm_terms;

typedef struct arcp__llm_bound {
    uint64_t input_tokens;
    uint64_t limit; /* output tokens of one answer: as the call has it, or to be set in it */
    uint64_t output_tokens; /* of all answers */
    arcp_decimal input;     /* the price of the input, and of pictures and the call itself */
    arcp_decimal output;
    arcp_decimal total;
} arcp__llm_bound;

/* 49 152 tokens for a picture, 32 768 of output, multiplier 1. */
arcp__llm_terms arcp__llm_terms_init(void);

/* What a call of this size can cost at most with a model of this row. ARCP_E_PERMISSION_DENIED when
 * it cannot be bounded (the row's problem, a tier, speed or place without a price, a size that is
 * not in the body where the row has no context), ARCP_E_LIMIT when the price is out of range. */
ARCP_MUST_CHECK arcp_status arcp__llm_bound_find(const arcp__llm_row *row,
                                                 const arcp__llm_size *size,
                                                 const arcp__llm_terms *terms, arcp__llm_bound *out,
                                                 arcp_error *err);

#endif
