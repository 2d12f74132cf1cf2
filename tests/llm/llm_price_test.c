/* What becomes of a row of LiteLLM's price file: its prices, or the reason why calls to the model
 * cannot be bounded. */
#include "support/check.h"

#include "llm/llm.h"
#include "support/failing_alloc.h"

#define DEFAULT ARCP__LLM_TIERS_DEFAULT

static arcp__llm_prices *read_prices(const char *text)
{
    arcp__llm_prices *prices = NULL;
    arcp_error err = {0};
    check_ok(arcp__llm_prices_read(arcp_span_cstr(text), &prices, &err), &err);
    return prices;
}

/* The prices of one row named "m" with these members, as a chat model with a context. */
static arcp__llm_prices *read_chat(const char *members)
{
    char text[2048];
    (void)snprintf(text, sizeof text, "{\"m\":{\"mode\":\"chat\",\"max_input_tokens\":1000000,%s}}",
                   members);
    return read_prices(text);
}

static void check_amount(arcp_decimal amount, const char *want)
{
    char text[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(amount, text);
    assert_string_equal(text, want);
}

/* ---- what cannot be bounded ---- */

#define IN_OUT "\"input_cost_per_token\":1e-6,\"output_cost_per_token\":2e-6"

typedef struct problem_row {
    const char *name;
    const char *row;
    arcp__llm_problem problem;
    const char *key;
} problem_row;

static const problem_row problem_rows[] = {
    {"a chat model with prices and a context",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000," IN_OUT "}", ARCP__LLM_PROBLEM_NONE, ""},
    {"a responses model", "{\"mode\":\"responses\",\"max_input_tokens\":1000," IN_OUT "}",
     ARCP__LLM_PROBLEM_NONE, ""},
    {"an embedding needs no price of output and no context",
     "{\"mode\":\"embedding\",\"input_cost_per_token\":1e-8}", ARCP__LLM_PROBLEM_NONE, ""},
    {"a mode that is not priced by tokens", "{\"mode\":\"image_generation\"," IN_OUT "}",
     ARCP__LLM_PROBLEM_MODE, ""},
    {"no mode", "{" IN_OUT "}", ARCP__LLM_PROBLEM_MODE, ""},
    {"no price of input",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"output_cost_per_token\":1e-6}",
     ARCP__LLM_PROBLEM_INPUT, ""},
    {"a price of input for large calls only",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"output_cost_per_token\":1e-6,"
     "\"input_cost_per_token_above_128k_tokens\":1e-6}",
     ARCP__LLM_PROBLEM_INPUT, ""},
    {"no price of output",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_token\":1e-6}",
     ARCP__LLM_PROBLEM_OUTPUT, ""},
    {"prices that are null are absent",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_token\":null,"
     "\"output_cost_per_token\":1e-6}",
     ARCP__LLM_PROBLEM_INPUT, ""},
    {"all prices are 0",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_token\":0.0,"
     "\"output_cost_per_token\":0}",
     ARCP__LLM_PROBLEM_ZERO, ""},
    {"no context", "{\"mode\":\"chat\"," IN_OUT "}", ARCP__LLM_PROBLEM_CONTEXT, ""},
    {"max_tokens is the context of a row without a size of output",
     "{\"mode\":\"chat\",\"max_tokens\":4096," IN_OUT "}", ARCP__LLM_PROBLEM_NONE, ""},
    {"max_tokens is no context beside a size of output",
     "{\"mode\":\"chat\",\"max_tokens\":4096,\"max_output_tokens\":4096," IN_OUT "}",
     ARCP__LLM_PROBLEM_CONTEXT, ""},
    {"a price key that is not known",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"citation_cost_per_token\":1e-6," IN_OUT "}",
     ARCP__LLM_PROBLEM_KEY, "citation_cost_per_token"},
    {"a price of pictures that the model makes",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"output_cost_per_image\":0.04," IN_OUT "}",
     ARCP__LLM_PROBLEM_KEY, "output_cost_per_image"},
    {"an unknown service tier",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_token_turbo\":1e-6," IN_OUT "}",
     ARCP__LLM_PROBLEM_KEY, "input_cost_per_token_turbo"},
    {"an unknown threshold",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,"
     "\"input_cost_per_token_above_1m_tokens\":1e-6," IN_OUT "}",
     ARCP__LLM_PROBLEM_KEY, "input_cost_per_token_above_1m_tokens"},
    {"a threshold without a number",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,"
     "\"input_cost_per_token_above_k_tokens\":1e-6," IN_OUT "}",
     ARCP__LLM_PROBLEM_KEY, "input_cost_per_token_above_k_tokens"},
    {"an unknown surcharge",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"weekend_surcharge\":2," IN_OUT "}",
     ARCP__LLM_PROBLEM_KEY, "weekend_surcharge"},
    {"an unknown price in a tier",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"tiered_pricing\":[{\"range\":[0,10],"
     "\"toll_cost\":1," IN_OUT "}]}",
     ARCP__LLM_PROBLEM_KEY, "toll_cost"},
    {"a threshold inside a tier",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"tiered_pricing\":[{\"range\":[0,10],"
     "\"input_cost_per_token_above_8k_tokens\":1," IN_OUT "}]}",
     ARCP__LLM_PROBLEM_KEY, "input_cost_per_token_above_8k_tokens"},
    {"tiers without a range",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"tiered_pricing\":[{" IN_OUT "}]}",
     ARCP__LLM_PROBLEM_VALUE, "tiered_pricing"},
    {"tiers that are no list",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"tiered_pricing\":7," IN_OUT "}",
     ARCP__LLM_PROBLEM_VALUE, "tiered_pricing"},
    {"tiers that begin above 0",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"tiered_pricing\":[{\"range\":[10,20]," IN_OUT
     "}]}",
     ARCP__LLM_PROBLEM_INPUT, ""},
    {"a price that is a text",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_token\":\"1e-6\","
     "\"output_cost_per_token\":1e-6}",
     ARCP__LLM_PROBLEM_VALUE, "input_cost_per_token"},
    {"a negative price",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_token\":-1e-6,"
     "\"output_cost_per_token\":1e-6}",
     ARCP__LLM_PROBLEM_VALUE, "input_cost_per_token"},
    {"keys of content and tools that are refused, of other tiers, and of cheaper hours",
     "{\"mode\":\"chat\",\"max_input_tokens\":1000,\"input_cost_per_audio_token\":1,"
     "\"output_cost_per_video_token\":1,\"cache_read_input_audio_token_cost\":1,"
     "\"search_context_cost_per_query\":{\"search_context_size_low\":1},"
     "\"google_maps_grounding_cost_per_query\":1,\"code_interpreter_cost_per_session\":1,"
     "\"file_search_cost_per_1k_calls\":1,\"input_cost_per_character\":1,"
     "\"input_cost_per_second\":1,\"input_cost_per_pixel\":1,"
     "\"input_cost_per_token_batches\":1,\"output_cost_per_token_above_272k_tokens_ultrafast\":1,"
     "\"output_cost_per_token_balanced\":1,\"input_cost_per_token_decisions\":1,"
     "\"input_dbu_cost_per_token\":1,\"off_peak_pricing\":{\"windows\":[]}," IN_OUT "}",
     ARCP__LLM_PROBLEM_NONE, ""},
};

static void each_row_has_prices_or_a_reason(void **state)
{
    const problem_row *row = *state;
    char text[2048];
    (void)snprintf(text, sizeof text, "{\"m\":%s}", row->row);
    arcp__llm_prices *prices = read_prices(text);
    const arcp__llm_row *found = arcp__llm_prices_find(prices, ARCP_SPAN_LITERAL("m"));
    assert_non_null(found);
    assert_string_equal(arcp__llm_problem_name(found->problem),
                        arcp__llm_problem_name(row->problem));
    check_span(found->key, row->key);
    arcp__llm_prices_free(prices);
}

/* ---- prices ---- */

typedef struct rate_row {
    const char *name;
    const char *members;
    arcp__llm_use use;
    unsigned tiers;
    uint64_t tokens;
    const char *price; /* NULL: there is none */
} rate_row;

#define FLEX     (1u << ARCP__LLM_TIER_FLEX)
#define PRIORITY (1u << ARCP__LLM_TIER_PRIORITY)
#define STEP                                                                                       \
    "\"input_cost_per_token\":1e-6,\"input_cost_per_token_above_200k_tokens\":3e-6,"               \
    "\"input_cost_per_token_flex\":5e-7,\"input_cost_per_token_priority\":2e-6,"                   \
    "\"output_cost_per_token\":4e-6"
#define RANGES                                                                                     \
    "\"tiered_pricing\":[{\"range\":[0,256000.0],\"input_cost_per_token\":5e-8,"                   \
    "\"output_cost_per_token\":4e-7,\"cache_read_input_token_cost\":1e-8},"                        \
    "{\"range\":[256000.0,1000000.0],\"input_cost_per_token\":2.5e-7,"                             \
    "\"output_cost_per_token\":2e-6,\"output_cost_per_reasoning_token\":3e-6}]"

static const rate_row rate_rows[] = {
    {"a price of input", STEP, ARCP__LLM_USE_INPUT, DEFAULT, 1000, "0.000001"},
    {"below a threshold", STEP, ARCP__LLM_USE_INPUT, DEFAULT, 199999, "0.000001"},
    {"at a threshold the dearer price counts", STEP, ARCP__LLM_USE_INPUT, DEFAULT, 200000,
     "0.000003"},
    {"flex", STEP, ARCP__LLM_USE_INPUT, FLEX, 1000, "0.0000005"},
    {"flex without a price for large calls costs what the default does", STEP, ARCP__LLM_USE_INPUT,
     FLEX, 200000, "0.000003"},
    {"priority", STEP, ARCP__LLM_USE_INPUT, PRIORITY, 1000, "0.000002"},
    {"of two tiers the dearer one", STEP, ARCP__LLM_USE_INPUT, DEFAULT | PRIORITY, 1000,
     "0.000002"},
    {"a tier without a price of output costs what the default does", STEP, ARCP__LLM_USE_OUTPUT,
     FLEX, 1000, "0.000004"},
    {"a use without a price", STEP, ARCP__LLM_USE_CACHE_WRITE, DEFAULT, 1000, NULL},
    {"a cheaper price for large calls is not the most",
     "\"input_cost_per_token\":5e-6,\"input_cost_per_token_above_200k_tokens\":3e-6,"
     "\"output_cost_per_token\":4e-6",
     ARCP__LLM_USE_INPUT, DEFAULT, 300000, "0.000005"},
    {"the first range", RANGES, ARCP__LLM_USE_INPUT, DEFAULT, 255999, "0.00000005"},
    {"the second range", RANGES, ARCP__LLM_USE_INPUT, DEFAULT, 256000, "0.00000025"},
    {"output of the second range", RANGES, ARCP__LLM_USE_OUTPUT, DEFAULT, 256000, "0.000002"},
    {"a use that only a lower range prices", RANGES, ARCP__LLM_USE_CACHE_READ, DEFAULT, 256000,
     "0.00000001"},
    {"a use that only a higher range prices", RANGES, ARCP__LLM_USE_REASONING, DEFAULT, 1000, NULL},
    {"a cache of one hour",
     IN_OUT ",\"cache_creation_input_token_cost\":3e-6,"
            "\"cache_creation_input_token_cost_above_1hr\":6e-6",
     ARCP__LLM_USE_CACHE_WRITE_1H, DEFAULT, 1000, "0.000006"},
    {"a cache of five minutes",
     IN_OUT ",\"cache_creation_input_token_cost\":3e-6,"
            "\"cache_creation_input_token_cost_above_1hr\":6e-6",
     ARCP__LLM_USE_CACHE_WRITE, DEFAULT, 1000, "0.000003"},
    {"a cache of one hour in a large call",
     IN_OUT ",\"cache_creation_input_token_cost_above_1hr_above_200k_tokens\":9e-6",
     ARCP__LLM_USE_CACHE_WRITE_1H, DEFAULT, 300000, "0.000009"},
    {"a cache hit is a read of the cache", IN_OUT ",\"input_cost_per_token_cache_hit\":1e-7",
     ARCP__LLM_USE_CACHE_READ, DEFAULT, 1000, "0.0000001"},
    {"of two prices of a read the dearer one",
     IN_OUT ",\"cache_read_input_token_cost\":5e-7,\"explicit_cache_read_input_token_cost\":2.5e-7",
     ARCP__LLM_USE_CACHE_READ, DEFAULT, 1000, "0.0000005"},
    {"a price of each call", IN_OUT ",\"input_cost_per_request\":0.005", ARCP__LLM_USE_REQUEST,
     DEFAULT, 1000, "0.005"},
    {"a price of each picture", IN_OUT ",\"input_cost_per_image\":0.001", ARCP__LLM_USE_IMAGE,
     DEFAULT, 1000, "0.001"},
    {"a price of the tokens of pictures", IN_OUT ",\"input_cost_per_image_token\":2e-6",
     ARCP__LLM_USE_IMAGE_TOKEN, DEFAULT, 1000, "0.000002"},
    {"24 digits are rounded up",
     "\"input_cost_per_token\":0.000000100000000000000001,\"output_cost_per_token\":1e-6",
     ARCP__LLM_USE_INPUT, DEFAULT, 1000, "0.000000100000000001"},
    {"18 digits are exact", "\"input_cost_per_token\":1.25e-16,\"output_cost_per_token\":1e-6",
     ARCP__LLM_USE_INPUT, DEFAULT, 1000, "0.000000000000000125"},
};

static void each_price_is_the_dearest_that_a_call_can_reach(void **state)
{
    const rate_row *row = *state;
    arcp__llm_prices *prices = read_chat(row->members);
    const arcp__llm_row *found = arcp__llm_prices_row(prices, 0);
    arcp_decimal price = ARCP_DECIMAL_ZERO;
    const bool has_price = arcp__llm_rate_most(found, row->use, row->tiers, row->tokens, &price);
    assert_int_equal(has_price, row->price != NULL);
    if (row->price != NULL) {
        check_amount(price, row->price);
    }
    arcp__llm_prices_free(prices);
}

static void factors_and_sizes_are_read(void **state)
{
    (void)state;
    arcp__llm_prices *prices = read_chat(
        IN_OUT
        ",\"max_output_tokens\":64000,\"supports_reasoning\":true,"
        "\"litellm_provider\":\"anthropic\",\"regional_processing_uplift_multiplier_eu\":1.1,"
        "\"regional_endpoint_uplift_multiplier\":1.2,"
        "\"provider_specific_entry\":{\"us\":1.1,\"fast\":6,\"schema\":\"v2\"}");
    const arcp__llm_row *row = arcp__llm_prices_row(prices, 0);
    assert_int_equal(row->problem, ARCP__LLM_PROBLEM_NONE);
    assert_int_equal(row->context, 1000000);
    assert_int_equal(row->output_max, 64000);
    assert_true(row->reasons);
    check_span(row->provider, "anthropic");
    check_amount(row->regional, "1.2");
    assert_int_equal(row->factor_count, 2);
    check_span(row->factors[0].name, "us");
    check_amount(row->factors[0].factor, "1.1");
    check_span(row->factors[1].name, "fast");
    check_amount(row->factors[1].factor, "6");
    arcp__llm_prices_free(prices);
}

/* ---- files ---- */

static void rows_are_found_by_name(void **state)
{
    (void)state;
    arcp__llm_prices *prices = read_prices(
        "{\"zz\":{\"mode\":\"chat\"},\"a\":{\"mode\":\"chat\"},\"a/b\":{\"mode\":\"responses\"},"
        "\"\\u0061b\":{\"mode\":\"chat\"}}");
    assert_int_equal(arcp__llm_prices_count(prices), 4);
    check_span(arcp__llm_prices_row(prices, 0)->name, "a");
    check_span(arcp__llm_prices_row(prices, 1)->name, "a/b");
    check_span(arcp__llm_prices_row(prices, 2)->name, "ab");
    check_span(arcp__llm_prices_row(prices, 3)->name, "zz");
    assert_ptr_equal(arcp__llm_prices_find(prices, ARCP_SPAN_LITERAL("ab")),
                     arcp__llm_prices_row(prices, 2));
    assert_null(arcp__llm_prices_find(prices, ARCP_SPAN_LITERAL("abc")));
    assert_null(arcp__llm_prices_find(prices, ARCP_SPAN_LITERAL("")));
    arcp__llm_prices_free(prices);
}

static const struct bad_file {
    const char *name;
    const char *text;
    const char *says;
} bad_files[] = {
    {"no JSON", "{", "JSON: "},
    {"a list", "[]", "is not an object of rows"},
    {"a row that is no object", "{\"gpt\":5}",
     "the row \"gpt\" of the price file is not an object"},
    {"a name that occurs twice", "{\"a\":{},\"\\u0061\":{}}", "JSON: "},
    {"a key that occurs twice in a row", "{\"a\":{\"mode\":\"chat\",\"mode\":\"chat\"}}", "JSON: "},
};

static void a_file_that_is_no_object_of_rows_is_refused(void **state)
{
    const struct bad_file *row = *state;
    arcp__llm_prices *prices = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp__llm_prices_read(arcp_span_cstr(row->text), &prices, &err),
                     ARCP_E_INVALID_REQUEST);
    assert_null(prices);
    assert_non_null(strstr(err.message, row->says));
}

static arcp_status read_all(void *user, arcp_error *err)
{
    arcp__llm_prices *prices = NULL;
    const arcp_status status = arcp__llm_prices_read(arcp_span_cstr(user), &prices, err);
    arcp__llm_prices_free(prices);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char text[] =
        "{\"\\u0061\":{\"mode\":\"chat\",\"max_input_tokens\":5,\"litellm_provider\":\"x\","
        "\"provider_specific_entry\":{\"us\":1.1},\"odd_cost\":1," IN_OUT "},"
        "\"b\":{\"mode\":\"embedding\"," RANGES "}}";
    assert_true(failing_alloc_sweep(read_all, text) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_and_sizes_are_read),
        cmocka_unit_test(rows_are_found_by_name),
        cmocka_unit_test(every_allocation_may_fail),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += run_rows(problem_rows, sizeof problem_rows / sizeof *problem_rows,
                       sizeof *problem_rows, each_row_has_prices_or_a_reason);
    failed += run_rows(rate_rows, sizeof rate_rows / sizeof *rate_rows, sizeof *rate_rows,
                       each_price_is_the_dearest_that_a_call_can_reach);
    failed += run_rows(bad_files, sizeof bad_files / sizeof *bad_files, sizeof *bad_files,
                       a_file_that_is_no_object_of_rows_is_refused);
    return failed;
}
