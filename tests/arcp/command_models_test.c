/* `arcp models`: output and exit status. */
#include "support/check.h"

#include <unistd.h>

#include "arcp/captured_run.h"

static char prices[] = "/tmp/arcp-prices-XXXXXX";
static char broken[] = "/tmp/arcp-prices-XXXXXX";

static const char prices_text[] =
    "{\"small\":{\"mode\":\"chat\",\"litellm_provider\":\"openai\",\"max_input_tokens\":128000,"
    "\"max_output_tokens\":16384,\"input_cost_per_token\":1.5e-07,\"output_cost_per_token\":6e-07,"
    "\"input_cost_per_token_priority\":2.5e-07,\"input_cost_per_token_above_200k_tokens\":3e-07},"
    "\"vectors\":{\"mode\":\"embedding\",\"input_cost_per_token\":2e-08},"
    "\"odd\":{\"mode\":\"chat\",\"max_input_tokens\":8,\"input_cost_per_token\":1e-6,"
    "\"output_cost_per_token\":1e-6,\"toll_cost\":1},"
    "\"painter\":{\"mode\":\"image_generation\",\"output_cost_per_image\":0.04}}";

static void write_file(char *path, const char *text)
{
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(close(file), 0);
}

static int write_files(void **state)
{
    (void)state;
    write_file(prices, prices_text);
    write_file(broken, "{\"small\":");
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    return unlink(prices) + unlink(broken);
}

typedef struct command_row {
    const char *name;
    const char *words[CAPTURED_WORDS_MAX];
    const char *out;
} command_row;

#define HEADER                                                                                     \
    "MODEL                                    MODE           IN/1M     OUT/1M   CONTEXT    "       \
    "OUTPUT\n"
#define HEADER_LEASE                                                                               \
    "MODEL                                    MODE      LEASE        IN/1M     OUT/1M   CONTEXT  " \
    "  OUTPUT    AT MOST\n"
#define SMALL_JSON                                                                                 \
    "{\"model\":\"small\",\"provider\":\"openai\",\"mode\":\"chat\",\"bounded\":true,"             \
    "\"context\":128000,\"output_max\":16384,\"prices\":["                                         \
    "{\"for\":\"input\",\"price\":\"0.00000015\"},{\"for\":\"output\",\"price\":\"0.0000006\"},"   \
    "{\"for\":\"input\",\"service_tier\":\"priority\",\"price\":\"0.00000025\"},"                  \
    "{\"for\":\"input\",\"above_tokens\":200000,\"price\":\"0.0000003\"}]"

static const command_row rows[] = {
    {"all rows, in the order of their names",
     {"--prices", prices},
     HEADER
     "odd                                      chat      not bounded: toll_cost is a price that is "
     "not known here\n"
     "painter                                  image_generation not bounded: the mode is not chat, "
     "responses or embedding\n"
     "small                                    chat            0.15        0.6    128000     "
     "16384\n"
     "vectors                                  embedding       0.02          -         -         "
     "-\n"},
    {"some rows, with a lease and a size",
     {"--prices", prices, "s*", "vectors", "--lease", "{\"model.use\":[\"small\"]}", "--bytes",
      "1000"},
     HEADER_LEASE
     "small                                    chat      allowed       0.15        0.6    128000   "
     "  16384  0.0100572\n"
     "vectors                                  embedding denied        0.02          -         -   "
     "      - 0.00003024\n"},
    {"a smaller limit of output",
     {"--prices", prices, "small", "--bytes", "1000", "--max-output", "1000", "--json"},
     SMALL_JSON ",\"bound\":{\"input_tokens\":1512,\"output_tokens\":1000,\"input\":\"0.0002268\","
                "\"output\":\"0.0006\",\"total\":\"0.0008268\"}}\n"},
    {"a model as JSON",
     {"--prices", prices, "small", "--json", "--lease", "{}"},
     SMALL_JSON ",\"allowed\":false}\n"},
    {"a reason as JSON",
     {"--prices", prices, "odd", "--json", "--bytes", "5"},
     "{\"model\":\"odd\",\"mode\":\"chat\",\"bounded\":false,\"problem\":\"key\","
     "\"key\":\"toll_cost\",\"context\":8,\"prices\":[{\"for\":\"input\",\"price\":\"0.000001\"},"
     "{\"for\":\"output\",\"price\":\"0.000001\"}]}\n"},
};

static void rows_are_printed_with_prices_or_reasons(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  %s\n", rows[i].name);
        const captured_run result = run_captured("models", rows[i].words);
        assert_string_equal(result.out, rows[i].out);
        assert_int_equal(result.status, 0);
    }
}

static void a_summary_is_printed_unless_it_is_not_wanted(void **state)
{
    (void)state;
    const char *const all[CAPTURED_WORDS_MAX] = {"--prices", prices};
    const char *const quiet[CAPTURED_WORDS_MAX] = {"--prices", prices, "--quiet"};
    assert_string_equal(run_captured("models", all).err,
                        "arcp models: 4 rows; 3 of chat, responses and embeddings, of which 2 can "
                        "be bounded\n");
    assert_string_equal(run_captured("models", quiet).err, "");
}

typedef struct failure_row {
    const char *name;
    const char *words[CAPTURED_WORDS_MAX];
    int status;
    const char *says;
} failure_row;

static const failure_row failures[] = {
    {"no price file", {NULL}, 2, "--prices FILE is required\n"},
    {"a file that is not there",
     {"--prices", "/nonexistent/p.json"},
     1,
     "/nonexistent/p.json cannot be read: No such file"},
    {"a file that is not JSON", {"--prices", broken}, 1, "--prices: JSON: "},
    {"a name that no row has",
     {"--prices", prices, "gpt*"},
     1,
     "no row of the price file has such a name"},
    {"a lease that is malformed", {"--prices", prices, "--lease", "[]"}, 1, "lease"},
    {"a size that is no number", {"--prices", prices, "--bytes", "1k"}, 2, "--bytes must be"},
    {"a size of 16 digits",
     {"--prices", prices, "--bytes", "1000000000000000"},
     2,
     "--bytes must be a whole number of at most 15 digits: 1000000000000000"},
    {"a limit that is empty",
     {"--prices", prices, "--bytes", "1", "--max-output", ""},
     2,
     "--max-output must be"},
    {"a limit without a size",
     {"--prices", prices, "--max-output", "1"},
     2,
     "--max-output is for --bytes"},
};

static void errors_are_printed_on_stderr(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        print_message("  %s\n", failures[i].name);
        const captured_run result = run_captured("models", failures[i].words);
        assert_string_equal(result.out, "");
        assert_int_equal(result.status, failures[i].status);
        if (strstr(result.err, failures[i].says) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", result.err, failures[i].says);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_printed_with_prices_or_reasons),
        cmocka_unit_test(a_summary_is_printed_unless_it_is_not_wanted),
        cmocka_unit_test(errors_are_printed_on_stderr),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}
