/* What a call can cost at most, against samples that were computed by hand. */
#include "support/check.h"

#include "llm/llm.h"

static const char prices_text[] =
    "{\"plain\":{\"mode\":\"chat\",\"max_input_tokens\":128000,\"max_output_tokens\":16384,"
    "\"input_cost_per_token\":2.5e-06,\"cache_read_input_token_cost\":1.25e-06,"
    "\"output_cost_per_token\":1e-05},"
    "\"cached\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,\"max_output_tokens\":128000,"
    "\"input_cost_per_token\":5e-06,\"cache_creation_input_token_cost\":6.25e-06,"
    "\"cache_creation_input_token_cost_above_1hr\":1e-05,\"cache_read_input_token_cost\":5e-07,"
    "\"output_cost_per_token\":2.5e-05,\"provider_specific_entry\":{\"us\":1.1,\"fast\":2.0}},"
    "\"short cache\":{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_token\":1e-6,"
    "\"cache_creation_input_token_cost\":2e-6,\"output_cost_per_token\":1e-6},"
    "\"steps\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,\"input_cost_per_token\":1.25e-06,"
    "\"input_cost_per_token_above_200k_tokens\":2.5e-06,\"output_cost_per_token\":1e-05,"
    "\"output_cost_per_token_above_200k_tokens\":1.5e-05,"
    "\"input_cost_per_token_priority\":2e-06,\"output_cost_per_token_priority\":1.8e-05},"
    "\"ranges\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,\"tiered_pricing\":["
    "{\"range\":[0,256000.0],\"input_cost_per_token\":5e-08,\"output_cost_per_token\":4e-07},"
    "{\"range\":[256000.0,1000000.0],\"input_cost_per_token\":2.5e-07,"
    "\"output_cost_per_token\":2e-06}]},"
    "\"thinking\":{\"mode\":\"responses\",\"max_input_tokens\":1000000,"
    "\"input_cost_per_token\":4e-07,\"output_cost_per_token\":1.2e-06,"
    "\"output_cost_per_reasoning_token\":4e-06},"
    "\"pictures\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,\"input_cost_per_token\":1e-06,"
    "\"input_cost_per_image\":0.001,\"input_cost_per_image_token\":2e-06,"
    "\"input_cost_per_request\":0.005,\"output_cost_per_token\":1e-06},"
    "\"embedding\":{\"mode\":\"embedding\",\"max_input_tokens\":8191,"
    "\"input_cost_per_token\":2e-08},"
    "\"no context\":{\"mode\":\"embedding\",\"input_cost_per_token\":2e-08},"
    "\"dear\":{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_token\":1e19,"
    "\"output_cost_per_token\":1e-06},"
    "\"unknown\":{\"mode\":\"chat\",\"max_input_tokens\":1000,\"odd_cost\":1,"
    "\"input_cost_per_token\":1e-6,\"output_cost_per_token\":1e-06}}";

static arcp__llm_prices *prices;

static int read_prices(void **state)
{
    (void)state;
    arcp_error err = {0};
    return arcp__llm_prices_read(arcp_span_cstr(prices_text), &prices, &err) == ARCP_OK ? 0 : -1;
}

static int free_prices(void **state)
{
    (void)state;
    arcp__llm_prices_free(prices);
    return 0;
}

#define DEFAULT  ARCP__LLM_TIERS_DEFAULT
#define PRIORITY (1u << ARCP__LLM_TIER_PRIORITY)
/* One answer of the default tier, where a row does not say otherwise. */
#define SIZE(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static arcp__llm_size with_defaults(arcp__llm_size size)
{
    size.answers = size.answers == 0 ? 1 : size.answers;
    size.tiers = size.tiers == 0 ? DEFAULT : size.tiers;
    return size;
}

typedef struct bound_row {
    const char *name;
    const char *model;
    arcp__llm_size size;
    uint64_t input_tokens, output_tokens;
    const char *total;
} bound_row;

static const bound_row bound_rows[] = {
    /* 1512 * 2.5e-6 + 16384 * 1e-5 */
    {"a call without a limit is held at the model's largest output", "plain",
     SIZE(.text = 1000, .extra = 512), 1512, 16384, "0.16762"},
    {"a limit of the call", "plain",
     SIZE(.text = 1000, .extra = 512, .has_limit = true, .limit = 7), 1512, 7, "0.00385"},
    {"a limit beyond the model's largest output", "plain",
     SIZE(.text = 1000, .extra = 512, .has_limit = true, .limit = 64000), 1512, 16384, "0.16762"},
    {"a limit of 0", "plain", SIZE(.text = 1000, .has_limit = true), 1000, 0, "0.0025"},
    {"several answers", "plain", SIZE(.text = 1000, .has_limit = true, .limit = 100, .answers = 3),
     1000, 300, "0.0055"},
    {"text beyond the context costs the context", "plain",
     SIZE(.text = 128001, .has_limit = true, .limit = 0), 128000, 0, "0.32"},
    {"text and more than 2^64 tokens", "plain",
     SIZE(.text = UINT64_MAX, .extra = 512, .has_limit = true, .limit = 0), 128000, 0, "0.32"},
    {"a call whose size is not in its body costs the context", "plain",
     SIZE(.text = 10, .is_open = true, .has_limit = true, .limit = 0), 128000, 0, "0.32"},
    /* 14096 * 6.25e-6 + 64000 * 2.5e-5 */
    {"input may be written to the cache", "cached",
     SIZE(.text = 10000, .extra = 4096, .has_limit = true, .limit = 64000), 14096, 64000, "1.6881"},
    {"a cache of an hour is dearer", "cached",
     SIZE(.text = 10000, .extra = 4096, .has_limit = true, .limit = 64000, .has_long_cache = true),
     14096, 64000, "1.74096"},
    {"a place has its factor", "cached",
     SIZE(.text = 10000, .extra = 4096, .has_limit = true, .limit = 64000, .place = {"us", 2}),
     14096, 64000, "1.85691"},
    {"place and speed are multiplied", "cached",
     SIZE(.text = 10000, .extra = 4096, .has_limit = true, .limit = 64000, .place = {"us", 2},
          .speed = {"fast", 4}),
     14096, 64000, "3.71382"},
    {"below a step", "steps", SIZE(.text = 199999, .has_limit = true, .limit = 1000), 199999, 1000,
     "0.25999875"},
    {"at a step", "steps", SIZE(.text = 200000, .has_limit = true, .limit = 1000), 200000, 1000,
     "0.515"},
    {"a dearer tier", "steps",
     SIZE(.text = 1000, .has_limit = true, .limit = 1000, .tiers = PRIORITY), 1000, 1000, "0.02"},
    {"a tier that may be chosen by the provider", "steps",
     SIZE(.text = 1000, .has_limit = true, .limit = 1000, .tiers = DEFAULT | PRIORITY), 1000, 1000,
     "0.02"},
    {"a tier and a step", "steps",
     SIZE(.text = 300000, .has_limit = true, .limit = 1000, .tiers = PRIORITY), 300000, 1000,
     "0.768"},
    {"a range", "ranges", SIZE(.text = 256000, .has_limit = true, .limit = 1000), 256000, 1000,
     "0.066"},
    {"output may be reasoning", "thinking", SIZE(.text = 1000, .has_limit = true, .limit = 1000),
     1000, 1000, "0.0044"},
    {"output without a limit and without a size in the row", "thinking", SIZE(.text = 0), 0, 32768,
     "0.131072"},
    /* 49252 * 2e-6 + 0.001 + 0.005 */
    {"a picture has tokens and a price", "pictures",
     SIZE(.text = 100, .images = 1, .has_limit = true), 49252, 0, "0.104504"},
    {"without pictures their price does not count", "pictures",
     SIZE(.text = 100, .has_limit = true), 100, 0, "0.0051"},
    {"embeddings have no output, and a context for each input", "embedding",
     SIZE(.text = 10000, .extra = 512, .is_embedding = true), 10512, 0, "0.00021024"},
};

static void each_call_has_its_bound(void **state)
{
    const bound_row *row = *state;
    const arcp__llm_terms terms = arcp__llm_terms_init();
    arcp__llm_bound bound = {0};
    arcp_error err = {0};
    char total[ARCP_DECIMAL_TEXT_MAX];
    const arcp__llm_size size = with_defaults(row->size);
    const arcp__llm_row *price = arcp__llm_prices_find(prices, arcp_span_cstr(row->model));
    assert_non_null(price);
    check_ok(arcp__llm_bound_find(price, &size, &terms, &bound, &err), &err);
    assert_int_equal(bound.input_tokens, row->input_tokens);
    assert_int_equal(bound.output_tokens, row->output_tokens);
    (void)arcp_decimal_format(bound.total, total);
    assert_string_equal(total, row->total);
}

typedef struct refusal_row {
    const char *name;
    const char *model;
    arcp__llm_size size;
    arcp_status status;
    const char *says;
} refusal_row;

static const refusal_row refusal_rows[] = {
    {"a row that cannot be bounded", "unknown", SIZE(.text = 1), ARCP_E_PERMISSION_DENIED,
     "odd_cost is a price that is not known here"},
    {"an embedding of a chat model", "plain", SIZE(.is_embedding = true), ARCP_E_PERMISSION_DENIED,
     "makes no embeddings"},
    {"a chat with an embedding model", "embedding", SIZE(.text = 1), ARCP_E_PERMISSION_DENIED,
     "makes embeddings only"},
    {"a tier without a price", "plain", SIZE(.tiers = PRIORITY), ARCP_E_PERMISSION_DENIED,
     "no price for service_tier priority"},
    {"a speed without a price", "cached", SIZE(.speed = {"warp", 4}), ARCP_E_PERMISSION_DENIED,
     "no price for speed \"warp\""},
    {"a place without a price", "plain", SIZE(.place = {"us", 2}), ARCP_E_PERMISSION_DENIED,
     "no price for inference_geo \"us\""},
    {"a cache of an hour without a price", "short cache",
     SIZE(.has_long_cache = true, .needs_long_price = true), ARCP_E_PERMISSION_DENIED,
     "cache of more than 5 minutes"},
    {"an embedding whose size is not in its body", "no context",
     SIZE(.is_embedding = true, .is_open = true), ARCP_E_PERMISSION_DENIED, "is not in its body"},
    {"a price of the input that is out of range", "dear", SIZE(.text = 1000), ARCP_E_LIMIT,
     "out of range"},
    {"answers that are out of range", "plain", SIZE(.answers = UINT64_MAX), ARCP_E_LIMIT,
     "out of range"},
    {"text of an embedding that is out of range", "embedding",
     SIZE(.is_embedding = true, .text = UINT64_MAX, .extra = 1), ARCP_E_LIMIT, "out of range"},
};

static void what_cannot_be_bounded_is_refused(void **state)
{
    const refusal_row *row = *state;
    const arcp__llm_terms terms = arcp__llm_terms_init();
    arcp__llm_bound bound = {.limit = 42};
    arcp_error err = {0};
    const arcp__llm_size size = with_defaults(row->size);
    const arcp__llm_row *price = arcp__llm_prices_find(prices, arcp_span_cstr(row->model));
    assert_non_null(price);
    assert_int_equal(arcp__llm_bound_find(price, &size, &terms, &bound, &err), row->status);
    if (strstr(err.message, row->says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, row->says);
    }
    assert_int_equal(bound.limit, 42);
}

static void the_operators_multiplier_is_applied_to_all_prices(void **state)
{
    (void)state;
    arcp__llm_terms terms = arcp__llm_terms_init();
    arcp__llm_bound bound = {0};
    arcp_error err = {0};
    char total[ARCP_DECIMAL_TEXT_MAX];
    const arcp__llm_size size =
        with_defaults((arcp__llm_size){.text = 1000, .has_limit = true, .limit = 1000});
    check_ok(arcp_decimal_parse(ARCP_SPAN_LITERAL("1.1"), &terms.multiplier, &err), &err);
    check_ok(arcp__llm_bound_find(arcp__llm_prices_find(prices, ARCP_SPAN_LITERAL("plain")), &size,
                                  &terms, &bound, &err),
             &err);
    (void)arcp_decimal_format(bound.total, total);
    assert_string_equal(total, "0.01375"); /* (0.0025 + 0.01) * 1.1 */
}

/* ---- products ---- */

static const struct product_row {
    const char *name;
    const char *a, *b;
    const char *product; /* NULL: out of range */
} product_rows[] = {
    {"by 1", "0.123456789012345678", "1", "0.123456789012345678"},
    {"by 0", "5", "0", "0"},
    {"fractions", "1.5", "1.1", "1.65"},
    {"a large amount", "1000000000000", "26000.5", "26000500000000000"},
    {"a rest is rounded up", "0.000000000000000001", "0.1", "0.000000000000000001"},
    {"a larger rest is rounded up", "0.000000000000000011", "0.1", "0.000000000000000002"},
    {"the largest", "170141183460469231731.687303715884105727", "1",
     "170141183460469231731.687303715884105727"},
    {"beyond the largest", "170141183460469231731.687303715884105727", "1.1", NULL},
    {"whole parts beyond the largest", "100000000000", "100000000000", NULL},
};

static void products_are_exact_or_rounded_up(void **state)
{
    const struct product_row *row = *state;
    arcp_decimal a = ARCP_DECIMAL_ZERO;
    arcp_decimal b = ARCP_DECIMAL_ZERO;
    arcp_decimal product = {42, 0};
    arcp_error err = {0};
    char text[ARCP_DECIMAL_TEXT_MAX];
    check_ok(arcp_decimal_parse(arcp_span_cstr(row->a), &a, &err), &err);
    check_ok(arcp_decimal_parse(arcp_span_cstr(row->b), &b, &err), &err);
    assert_int_equal(arcp__llm_scale(a, b, &product), row->product != NULL);
    (void)arcp_decimal_format(product, text);
    assert_string_equal(text, row->product == NULL ? "0.000000000000000042" : row->product);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_operators_multiplier_is_applied_to_all_prices),
    };
    if (read_prices(NULL) != 0) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += run_rows(bound_rows, sizeof bound_rows / sizeof *bound_rows, sizeof *bound_rows,
                       each_call_has_its_bound);
    failed += run_rows(refusal_rows, sizeof refusal_rows / sizeof *refusal_rows,
                       sizeof *refusal_rows, what_cannot_be_bounded_is_refused);
    failed += run_rows(product_rows, sizeof product_rows / sizeof *product_rows,
                       sizeof *product_rows, products_are_exact_or_rounded_up);
    (void)free_prices(NULL);
    return failed;
}
