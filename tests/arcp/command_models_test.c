/* `arcp models`: output and exit status. */
#include "support/check.h"

#include <unistd.h>

#include "arcp/captured_run.h"

static char prices[] = "/tmp/arcp-prices-XXXXXX";
static char broken[] = "/tmp/arcp-prices-XXXXXX";
static char request[] = "/tmp/arcp-request-XXXXXX";
static char answer[] = "/tmp/arcp-answer-XXXXXX";
static char broken_off[] = "/tmp/arcp-answer-XXXXXX";
static char search[] = "/tmp/arcp-request-XXXXXX";
static char plain[] = "/tmp/arcp-request-XXXXXX";
static char config[] = "/tmp/arcp-config-XXXXXX";

static const char prices_text[] =
    "{\"small\":{\"mode\":\"chat\",\"litellm_provider\":\"openai\",\"max_input_tokens\":128000,"
    "\"max_output_tokens\":16384,\"input_cost_per_token\":1.5e-07,\"output_cost_per_token\":6e-07,"
    "\"input_cost_per_token_priority\":2.5e-07,\"input_cost_per_token_above_200k_tokens\":3e-07},"
    "\"vectors\":{\"mode\":\"embedding\",\"input_cost_per_token\":2e-08},"
    "\"odd\":{\"mode\":\"chat\",\"max_input_tokens\":8,\"input_cost_per_token\":1e-6,"
    "\"output_cost_per_token\":1e-6,\"toll_cost\":1},"
    "\"painter\":{\"mode\":\"image_generation\",\"output_cost_per_image\":0.04}}";

static const char request_text[] =
    "{\"model\":\"small\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
    "\"text\":\"what is this?\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
    "\"https://h/a.png\"}}]}]}";
static const char search_text[] =
    "{\"model\":\"gpt\",\"input\":\"x\",\"tools\":[{\"type\":\"web_search\"}]}";

static const char answer_text[] =
    "{\"id\":\"c\",\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":100,"
    "\"prompt_tokens_details\":{\"cached_tokens\":200}},\"service_tier\":\"default\"}";
static const char broken_off_text[] =
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"A cat\"}}]}\n\n";

static const char plain_text[] =
    "{\"model\":\"quick\",\"house_member\":1,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
    "\"tools\":[{\"type\":\"web_search\"}]}";

/* The model of the calls is an alias: of a model of one provider, then of another's. */
#define CONFIG                                                                                     \
    "models:\n  prices: %s\n  aliases: {quick: [small, gpt], picture: [free]}\n  providers:\n"     \
    "    - {name: house, dialect: openai, url: \"http://127.0.0.1:1/v1\", models: [small], "       \
    "multiplier: \"2\", allow: [house_member], server_tools: remove}\n"                            \
    "    - {name: strict, dialect: openai, url: \"http://127.0.0.1:1/v1\", models: [gpt]}\n"       \
    "    - {name: own, dialect: openai, url: \"http://127.0.0.1:1/v1\", models: [free], price: "   \
    "free}\n"

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
    write_file(request, request_text);
    write_file(search, search_text);
    write_file(answer, answer_text);
    write_file(broken_off, broken_off_text);
    write_file(plain, plain_text);
    char text[1024];
    assert_true((size_t)snprintf(text, sizeof text, CONFIG, prices) < sizeof text);
    write_file(config, text);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    return unlink(prices) + unlink(broken) + unlink(request) + unlink(search) + unlink(answer) +
           unlink(broken_off) + unlink(plain) + unlink(config);
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

typedef struct request_row {
    const char *name;
    const char *words[CAPTURED_WORDS_MAX];
    int status;
    const char *out;
} request_row;

#define ALLOWS "{\"model.use\":[\"small\"],\"net.fetch\":[\"https://h/**\"]}"
#define DENIES "{\"model.use\":[\"small\"],\"net.fetch\":[\"https://g/**\"]}"

static const request_row requests[] = {
    {"a call with a picture of the web",
     {"--prices", prices, "--request", request, "--route", "chat"},
     0,
     "model    small\n"
     "fetches  https://h/a.png\n"
     "input    128000 tokens at most: the context, because a part is not in the call\n"
     "output   16384 tokens at most\n"
     "cost     0.0418304 at most\n"},
    {"a call that the lease allows",
     {"--prices", prices, "--request", request, "--route", "chat", "--lease", ALLOWS, "--json",
      "--max-output", "1000"},
     0,
     "{\"model\":\"small\",\"route\":\"chat\",\"allowed\":true,\"text_tokens\":156,"
     "\"extra_tokens\":512,\"images\":1,\"open\":true,\"answers\":1,\"stream\":false,"
     "\"tools_removed\":0,\"fetches\":[{\"url\":\"https://h/a.png\",\"allowed\":true}],"
     "\"bounded\":true,\"priced_as\":\"small\",\"input_tokens\":128000,\"limit\":1000,"
     "\"output_tokens\":1000,\"input\":\"0.032\",\"output\":\"0.0006\",\"total\":\"0.0326\"}\n"},
    {"a picture that the lease denies",
     {"--prices", prices, "--request", request, "--route", "chat", "--lease", DENIES},
     4,
     "model    small, allowed\n"
     "fetches  https://h/a.png, denied\n"
     "input    128000 tokens at most: the context, because a part is not in the call\n"
     "output   16384 tokens at most\n"
     "cost     0.0418304 at most\n"},
    {"the body with its limit",
     {"--prices", prices, "--request", request, "--route", "chat", "--body"},
     0,
     "{\"max_completion_tokens\":16384,\"model\":\"small\",\"messages\":[{\"role\":\"user\","
     "\"content\":[{\"type\":\"text\",\"text\":\"what is this?\"},{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"https://h/a.png\"}}]}]}"},
    {"a call with its answer",
     {"--prices", prices, "--request", request, "--route", "chat", "--answer", answer},
     0,
     "model    small\n"
     "fetches  https://h/a.png\n"
     "input    128000 tokens at most: the context, because a part is not in the call\n"
     "output   16384 tokens at most\n"
     "cost     0.0418304 at most\n"
     "answer   1000 tokens of input (200 from a cache), 100 of output\n"
     "charge   0.00021\n"},
    {"an answer as JSON",
     {"--prices", prices, "--request", request, "--route", "chat", "--answer", answer, "--json"},
     0,
     "{\"model\":\"small\",\"route\":\"chat\",\"text_tokens\":156,"
     "\"extra_tokens\":512,\"images\":1,\"open\":true,\"answers\":1,\"stream\":false,"
     "\"tools_removed\":0,\"fetches\":[{\"url\":\"https://h/a.png\"}],"
     "\"bounded\":true,\"priced_as\":\"small\",\"input_tokens\":128000,\"limit\":16384,"
     "\"output_tokens\":16384,\"input\":\"0.032\",\"output\":\"0.0098304\","
     "\"total\":\"0.0418304\",\"answer\":{\"stream\":false,\"reported\":true,\"unread\":false,"
     "\"input_tokens\":1000,\"cached_tokens\":200,\"output_tokens\":100,"
     "\"total\":\"0.00021\"}}\n"},
    {"a call with an answer that broke off",
     {"--prices", prices, "--request", request, "--route", "chat", "--answer", broken_off},
     0,
     "model    small\n"
     "fetches  https://h/a.png\n"
     "input    128000 tokens at most: the context, because a part is not in the call\n"
     "output   16384 tokens at most\n"
     "cost     0.0418304 at most\n"
     "answer   128000 tokens of input (0 from a cache), 7 of output\n"
     "charge   0.0320042, because the answer does not report all of its usage\n"},
    {"a body of another route",
     {"--prices", prices, "--request", request, "--route", "messages"},
     4,
     "refused  unsupported_content: content of type \"image_url\" is not supported\n"},
    {"a tool that runs at the provider, as JSON",
     {"--prices", prices, "--request", search, "--route", "responses", "--json"},
     4,
     "{\"refused\":\"server_tool\",\"reason\":\"a tool of type \\\"web_search\\\" runs at the "
     "provider, where no lease bounds it\"}\n"},
    {"a model without a price, and a tool that is removed",
     {"--prices", prices, "--request", search, "--route", "responses", "--remove-tools"},
     4,
     "model    gpt\n"
     "removed  1 tool that runs at the provider\n"
     "refused  no_price: the price file has no row for the model\n"},
    {"a member that is accepted",
     {"--prices", prices, "--request", request, "--route", "responses", "--allow", "messages"},
     0,
     "model    small\n"
     "input    668 tokens at most (text 156, pictures 0, added by the provider 512)\n"
     "output   16384 tokens at most\n"
     "cost     0.0099974 at most\n"},
    {"the members, tools and prices of a configured provider",
     {"--config", config, "--request", plain, "--route", "chat"},
     0,
     "model    quick\n"
     "provider house, as small\n"
     "removed  1 tool that runs at the provider\n"
     "input    622 tokens at most (text 110, pictures 0, added by the provider 512)\n"
     "output   16384 tokens at most\n"
     "cost     0.0199718 at most\n"},
    {"the provider of an alias whose model the lease allows",
     {"--config", config, "--request", plain, "--route", "chat", "--lease",
      "{\"model.use\":[\"gpt\"]}"},
     4,
     "refused  unsupported_parameter: \"house_member\" is not known here and may cost money\n"},
    {"a configured provider as JSON",
     {"--config", config, "--request", plain, "--route", "chat", "--lease",
      "{\"model.use\":[\"small\"]}", "--json", "--max-output", "1000"},
     0,
     "{\"model\":\"quick\",\"route\":\"chat\",\"provider\":\"house\",\"sent_as\":\"small\","
     "\"allowed\":true,\"text_tokens\":110,\"extra_tokens\":512,\"images\":0,\"open\":false,"
     "\"answers\":1,\"stream\":false,\"tools_removed\":1,\"fetches\":[],\"bounded\":true,"
     "\"priced_as\":\"small\",\"input_tokens\":622,\"limit\":1000,\"output_tokens\":1000,"
     "\"input\":\"0.000311\",\"output\":\"0.0012\",\"total\":\"0.001511\"}\n"},
    {"the body that a configured provider gets",
     {"--config", config, "--request", plain, "--route", "chat", "--body", "--max-output", "9"},
     0,
     "{\"max_tokens\":9,\"model\":\"small\",\"house_member\":1,\"messages\":[{\"role\":\"user\","
     "\"content\":\"hi\"}],\"tools\":[]}"},
};

static void a_call_is_bounded_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        print_message("  %s\n", requests[i].name);
        const captured_run result = run_captured("models", requests[i].words);
        assert_string_equal(result.out, requests[i].out);
        assert_string_equal(result.err, "");
        assert_int_equal(result.status, requests[i].status);
    }
}

typedef struct failure_row {
    const char *name;
    const char *words[CAPTURED_WORDS_MAX];
    int status;
    const char *says;
} failure_row;

static const failure_row failures[] = {
    {"a configuration that is not there",
     {"--config", "/nonexistent/c.yaml"},
     2,
     "/nonexistent/c.yaml cannot be read: No such file"},
    {"a file that is not there",
     {"--prices", "/nonexistent/p.json"},
     1,
     "/nonexistent/p.json cannot be read: No such file"},
    {"a file that is not JSON", {"--prices", broken}, 1, "--prices /tmp/arcp-prices-"},
    {"a name that no row has",
     {"--prices", prices, "gpt*"},
     1,
     "error: NOT_FOUND: no row of the price file has the name 'gpt*'\n"},
    {"names that no row has",
     {"--prices", prices, "gpt*", "o3"},
     1,
     "no row of the price file has the name 'gpt*', nor one of the others\n"},
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
    {"a member that is accepted without prices",
     {"--config", config, "--request", plain, "--route", "chat", "--allow", "house_member"},
     2,
     "--allow and --remove-tools are for --prices"},
    {"a model that no provider serves",
     {"--config", config, "--request", search, "--route", "messages"},
     1,
     "no provider serves the model \"gpt\""},
    {"a body without a route",
     {"--prices", prices, "--request", request},
     2,
     "--request needs --route (chat, responses, embeddings or messages)"},
    {"a route without a body",
     {"--prices", prices, "--route", "chat"},
     2,
     "--route needs --request"},
    {"an unknown route",
     {"--prices", prices, "--request", request, "--route", "batches"},
     2,
     "--route: 'batches' is not one of chat, responses, embeddings, messages"},
    {"a body and a name",
     {"--prices", prices, "--request", request, "--route", "chat", "small"},
     2,
     "--request takes neither NAME nor --bytes"},
    {"two files on standard input",
     {"--prices", "-", "--request", "-", "--route", "chat"},
     2,
     "only one of --prices, --request and --answer can be standard input"},
    {"a member without a body",
     {"--prices", prices, "--allow", "x"},
     2,
     "--allow, --remove-tools, --body and --answer are for --request"},
    {"an answer that is not there",
     {"--prices", prices, "--request", request, "--route", "chat", "--answer", "/nonexistent/a"},
     1,
     "/nonexistent/a cannot be read"},
    {"a body and an answer",
     {"--prices", prices, "--request", request, "--route", "chat", "--answer", answer, "--body"},
     2,
     "--body and --answer cannot both be given"},
    {"a body that is not there",
     {"--prices", prices, "--request", "/nonexistent/b.json", "--route", "chat"},
     1,
     "/nonexistent/b.json cannot be read"},
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
        cmocka_unit_test(a_call_is_bounded_or_refused),
        cmocka_unit_test(errors_are_printed_on_stderr),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}
