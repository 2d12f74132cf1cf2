/* What is charged for an answer, against samples that were computed by hand. */
#include "support/check.h"

#include "llm/llm_answer.h"

static const char prices_text[] =
    "{\"cached\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,\"max_output_tokens\":128000,"
    "\"input_cost_per_token\":5e-06,\"cache_creation_input_token_cost\":6.25e-06,"
    "\"cache_creation_input_token_cost_above_1hr\":1e-05,\"cache_read_input_token_cost\":5e-07,"
    "\"output_cost_per_token\":2.5e-05,\"provider_specific_entry\":{\"us\":1.1,\"fast\":2.0}},"
    "\"plain\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,\"input_cost_per_token\":1e-06,"
    "\"output_cost_per_token\":2e-06},"
    "\"steps\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,\"input_cost_per_token\":1.25e-06,"
    "\"input_cost_per_token_above_200k_tokens\":2.5e-06,\"output_cost_per_token\":1e-05,"
    "\"output_cost_per_token_above_200k_tokens\":1.5e-05,"
    "\"input_cost_per_token_priority\":2e-06,\"output_cost_per_token_priority\":1.8e-05,"
    "\"input_cost_per_token_flex\":6e-07,\"output_cost_per_token_flex\":5e-06},"
    "\"thinking\":{\"mode\":\"responses\",\"max_input_tokens\":1000000,\"supports_reasoning\":true,"
    "\"input_cost_per_token\":4e-07,\"output_cost_per_token\":1.2e-06,"
    "\"output_cost_per_reasoning_token\":4e-06},"
    "\"pictures\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,\"input_cost_per_token\":1e-06,"
    "\"input_cost_per_image\":0.001,\"input_cost_per_image_token\":2e-06,"
    "\"input_cost_per_request\":0.005,\"output_cost_per_token\":1e-06}}";

static arcp__llm_prices *prices;

typedef struct settle_row {
    const char *name;
    const char *model;
    arcp__llm_size size; /* 1 000 tokens of text, 1 000 of output, where it says nothing else */
    arcp__llm_tap tap;
    const char *total;
    uint64_t input_tokens, output_tokens;
    bool is_reported;
} settle_row;

#define KNOWN(number)                                                                              \
    {                                                                                              \
        .tokens = (number), .is_known = true                                                       \
    }
#define COMPLETE .is_complete = true, .is_stream = true

static const settle_row rows[] = {
    {"input and output",
     "plain",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(500), .output = KNOWN(50)}},
     "0.0006",
     500,
     50,
     true},
    {"nothing",
     "plain",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(0), .output = KNOWN(0)}},
     "0",
     0,
     0,
     true},
    {"more than was held is charged",
     "plain",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(500000), .output = KNOWN(50000)}},
     "0.6",
     500000,
     50000,
     true},
    /* 100 * 5e-6 + 1000 * 5e-7 + 200 * 6.25e-6 + 10 * 2.5e-5 */
    {"a cache is read and written",
     "cached",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(100),
                          .cache_read = KNOWN(1000),
                          .cache_write = KNOWN(200),
                          .output = KNOWN(10)}},
     "0.0025",
     1300,
     10,
     true},
    {"a cache is written for an hour",
     "cached",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(100), .cache_write_1h = KNOWN(200), .output = KNOWN(10)}},
     "0.00275",
     300,
     10,
     true},
    {"a cache without prices costs what input does",
     "plain",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(100),
                          .cache_read = KNOWN(100),
                          .cache_write = KNOWN(100),
                          .cache_write_1h = KNOWN(100),
                          .output = KNOWN(0)}},
     "0.0004",
     400,
     0,
     true},
    {"cached tokens count for a threshold",
     "steps",
     {0},
     {COMPLETE,
      .usage = {.input = KNOWN(100000), .cache_read = KNOWN(100001), .output = KNOWN(1000)}},
     "0.5150025",
     200001,
     1000,
     true},
    {"below a threshold",
     "steps",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(199999), .output = KNOWN(1000)}},
     "0.25999875",
     199999,
     1000,
     true},
    {"the tier of the answer",
     "steps",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(100), .tier = "priority"}},
     "0.0038",
     1000,
     100,
     true},
    {"a cheaper tier",
     "steps",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(100), .tier = "flex"}},
     "0.0011",
     1000,
     100,
     true},
    {"the usual tier",
     "steps",
     {.tiers = 5},
     {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(100), .tier = "default"}},
     "0.00225",
     1000,
     100,
     true},
    {"the usual tier of Anthropic",
     "steps",
     {.tiers = 5},
     {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(100), .tier = "standard"}},
     "0.00225",
     1000,
     100,
     true},
    {"a tier that is not known is the dearest",
     "steps",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(100), .tier = "turbo"}},
     "0.0038",
     1000,
     100,
     true},
    {"no tier in the answer: the dearest that the call allows",
     "steps",
     {.tiers = 5},
     {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(100)}},
     "0.0038",
     1000,
     100,
     true},
    {"reasoning has its price",
     "thinking",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(100), .reasoning = KNOWN(60)}},
     "0.000688",
     1000,
     100,
     true},
    {"more reasoning than output",
     "thinking",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(0), .output = KNOWN(100), .reasoning = KNOWN(600)}},
     "0.0004",
     0,
     100,
     true},
    {"the place and speed of the answer",
     "cached",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(100), .output = KNOWN(0), .place = "us", .speed = "fast"}},
     "0.0011",
     100,
     0,
     true},
    {"the place of the call",
     "cached",
     {.place = {"us", 2}},
     {COMPLETE, .usage = {.input = KNOWN(100), .output = KNOWN(0)}},
     "0.00055",
     100,
     0,
     true},
    {"a place without a factor",
     "cached",
     {.place = {"us", 2}},
     {COMPLETE, .usage = {.input = KNOWN(100), .output = KNOWN(0), .place = "eu"}},
     "0.0005",
     100,
     0,
     true},
    {"samplings beside the answer",
     "cached",
     {0},
     {COMPLETE,
      .usage = {.input = KNOWN(0), .output = KNOWN(0), .more_input = 100, .more_output = 10}},
     "0.000875",
     100,
     10,
     true},
    {"pictures, and the price of a call",
     "pictures",
     {.images = 2},
     {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(0)}},
     "0.009",
     1000,
     0,
     true},
    /* held: 1000 * 1e-6 + 1000 * 2e-6 */
    {"an answer without usage costs its input and its text",
     "plain",
     {0},
     {.is_stream = true, .shown = 70},
     "0.00114",
     1000,
     70,
     false},
    {"text beyond what was held",
     "plain",
     {0},
     {.is_stream = true, .shown = 7000},
     "0.003",
     1000,
     1000,
     false},
    {"a whole answer without usage costs what was held",
     "plain",
     {0},
     {.shown = 0},
     "0.003",
     1000,
     1000,
     false},
    {"a stream of which a part was not read",
     "plain",
     {0},
     {.is_stream = true, .shown = 70, .has_unread = true},
     "0.003",
     1000,
     1000,
     false},
    {"input that was reported, and text",
     "plain",
     {0},
     {.is_stream = true, .shown = 70, .usage = {.input = KNOWN(500), .output = KNOWN(1)}},
     "0.00064",
     500,
     70,
     false},
    {"output that was reported, and is more than the text",
     "plain",
     {0},
     {.is_stream = true, .shown = 7, .usage = {.input = KNOWN(500), .output = KNOWN(90)}},
     "0.00068",
     500,
     90,
     false},
    {"reasoning that was not shown costs what was held",
     "thinking",
     {0},
     {.is_stream = true, .shown = 70},
     "0.0016",
     1000,
     1000,
     false},
    {"a price out of range costs what was held",
     "plain",
     {0},
     {COMPLETE, .usage = {.input = KNOWN(UINT64_MAX), .output = KNOWN(UINT64_MAX)}},
     NULL,
     UINT64_MAX,
     UINT64_MAX,
     true},
};

static void each_answer_has_its_charge(void **state)
{
    const settle_row *row = *state;
    const arcp__llm_terms terms = arcp__llm_terms_init();
    const arcp__llm_row *price = arcp__llm_prices_find(prices, arcp_span_cstr(row->model));
    arcp__llm_size size = row->size;
    arcp__llm_bound held = {0};
    arcp__llm_cost cost = {0};
    arcp_error err = {0};
    char total[ARCP_DECIMAL_TEXT_MAX];
    size.text = 1000;
    size.answers = 1;
    size.has_limit = true;
    size.limit = 1000;
    size.tiers = size.tiers == 0 ? ARCP__LLM_TIERS_DEFAULT : size.tiers;
    assert_non_null(price);
    check_ok(arcp__llm_bound_find(price, &size, &terms, &held, &err), &err);
    arcp__llm_settle(price, &size, &terms, &held, &row->tap, &cost);
    (void)arcp_decimal_format(cost.total, total);
    if (row->total != NULL) {
        assert_string_equal(total, row->total);
    }
    assert_true(cost.input_tokens == row->input_tokens);
    assert_true(cost.output_tokens == row->output_tokens);
    assert_int_equal(cost.is_reported, row->is_reported);
}

static void a_price_that_is_out_of_range_costs_what_was_held(void **state)
{
    (void)state;
    arcp__llm_prices *dear = NULL;
    const arcp__llm_terms terms = arcp__llm_terms_init();
    const arcp__llm_size size = {.text = 10, .answers = 1, .tiers = 1, .has_limit = true};
    const arcp__llm_tap tap = {COMPLETE, .usage = {.input = KNOWN(1000), .output = KNOWN(0)}};
    arcp__llm_bound held = {0};
    arcp__llm_cost cost = {0};
    arcp_error err = {0};
    check_ok(arcp__llm_prices_read(
                 ARCP_SPAN_LITERAL("{\"m\":{\"mode\":\"chat\",\"max_input_tokens\":10,"
                                   "\"input_cost_per_token\":1e18,\"output_cost_per_token\":1}}"),
                 &dear, &err),
             &err);
    const arcp__llm_row *row = arcp__llm_prices_row(dear, 0);
    check_ok(arcp__llm_bound_find(row, &size, &terms, &held, &err), &err);
    arcp__llm_settle(row, &size, &terms, &held, &tap, &cost);
    assert_int_equal(arcp_decimal_compare(cost.total, held.total), 0);
    arcp__llm_prices_free(dear);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_price_that_is_out_of_range_costs_what_was_held),
    };
    arcp_error err = {0};
    if (arcp__llm_prices_read(arcp_span_cstr(prices_text), &prices, &err) != ARCP_OK) {
        return 1;
    }
    const int failed =
        cmocka_run_group_tests(tests, NULL, NULL) +
        run_rows(rows, sizeof rows / sizeof *rows, sizeof *rows, each_answer_has_its_charge);
    arcp__llm_prices_free(prices);
    return failed;
}
