/* Calls to models that are refused before a byte reaches a provider, and how. */
#include "gateway/model_fixture.h"

#define CHAT      "/v1/chat/completions"
#define RESPONSES "/v1/responses"
#define MESSAGES  "/v1/messages"
#define HI        "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define SMALL     "{\"model\":\"small\"," HI
#define USD                                                                                        \
    "{\"model.use\":[\"small\",\"other\",\"zero\",\"new-*\",\"claude-*\",\"llama*\"],\"cost."      \
    "budget\":[\"USD:1\"]}"

typedef struct refusal {
    const char *name;
    const char *lease, *path, *body;
    const char *status, *code;
    const char *seen; /* the denial that is recorded; NULL: none */
} refusal;

static const refusal refusals[] = {
    {"a model that the lease does not allow", "{\"model.use\":[\"sm*\"]}", CHAT,
     "{\"model\":\"other\"," HI "}", "403", "permission_denied", "denied model.use other NO_MATCH"},
    {"the same model in capitals", "{\"model.use\":[\"small\"]}", CHAT,
     "{\"model\":\"SMALL\"," HI "}", "403", "permission_denied", "denied model.use SMALL NO_MATCH"},
    {"a list of models in one name", "{\"model.use\":[\"sm*\"]}", CHAT,
     "{\"model\":\"small,other\"," HI "}", "404", "model_not_found", NULL},
    {"a model of no provider is denied before it is looked for", "{\"model.use\":[\"sm*\"]}", CHAT,
     "{\"model\":\"unknown\"," HI "}", "403", "permission_denied", "denied model.use unknown"},
    {"a model of no provider", "{\"model.use\":[\"*\"]}", CHAT, "{\"model\":\"unknown\"," HI "}",
     "404", "model_not_found", NULL},
    {"a model of the other dialect", USD, CHAT, "{\"model\":\"claude-x\"," HI "}", "404",
     "model_not_found", NULL},
    {"a lease without model.use", "{\"cost.budget\":[\"USD:1\"]}", CHAT, SMALL "}", "403",
     "permission_denied", "denied model.use small"},
    {"an alias of models that the lease does not allow", "{\"model.use\":[\"claude-*\"]}", CHAT,
     "{\"model\":\"tier-best\"," HI "}", "403", "permission_denied", "denied model.use tier-best"},
    {"a model without a price", USD, CHAT, "{\"model\":\"new-1\"," HI "}", "403", "has no price",
     NULL},
    {"a model whose prices are 0", USD, CHAT, "{\"model\":\"zero\"," HI "}", "403",
     "all prices are 0", NULL},
    {"a budget in a currency in which nothing is charged",
     "{\"model.use\":[\"*\"],\"cost.budget\":[\"EUR:5\"]}", CHAT, SMALL "}", "403",
     "names no currency", NULL},
    {"a budget that is used up", "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:0\"]}", CHAT,
     SMALL "}", "402", "budget_exhausted", "denied model.use small USD"},
    {"a budget that does not pay for the least output",
     "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:0.003\"]}", CHAT, SMALL "}", "402",
     "budget_exhausted", "denied model.use small USD"},
    {"a budget in tokens that does not pay for the input",
     "{\"model.use\":[\"*\"],\"cost.budget\":[\"tokens:500\"]}", CHAT, SMALL "}", "402",
     "budget_exhausted", "denied model.use small tokens"},
    {"a free model and a budget in tokens",
     "{\"model.use\":[\"*\"],\"cost.budget\":[\"tokens:500\"]}", CHAT,
     "{\"model\":\"llama3\"," HI "}", "402", "budget_exhausted", NULL},
    {"a thinking budget above what the money pays for",
     "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:0.02\"]}", MESSAGES,
     "{\"model\":\"claude-x\"," HI
     ",\"max_tokens\":4000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":3000}}",
     "402", "budget_exhausted", NULL},
    {"a member that is not known", USD, CHAT, SMALL ",\"web_search_options\":{}}", "400",
     "unsupported_parameter", NULL},
    {"the remedy for it", USD, CHAT, SMALL ",\"web_search_options\":{}}", "400",
     "models.providers[].allow", NULL},
    {"a tool that runs at the provider", USD, MESSAGES,
     "{\"model\":\"claude-x\"," HI
     ",\"max_tokens\":9,\"tools\":[{\"type\":\"web_search_20250305\"}]}",
     "400", "server_tool", NULL},
    {"a member that occurs twice", USD, CHAT, "{\"model\":\"small\",\"model\":\"other\"," HI "}",
     "400", "invalid_request", NULL},
    {"a body that is no JSON", USD, CHAT, "model=small", "400", "invalid_request", NULL},
    {"a body without a model", USD, CHAT, "{" HI "}", "400", "names no model", NULL},
    {"a picture that the lease does not let anyone fetch", USD, CHAT,
     "{\"model\":\"small\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"https://evil.example/x\"}}]}]}",
     "403", "permission_denied", "denied net.fetch https://evil.example/x"},
    {"an earlier answer of another job", USD, RESPONSES,
     "{\"model\":\"small\",\"input\":\"hi\",\"previous_response_id\":\"resp_1\"}", "400",
     "unknown_response", NULL},
    {"a route that is not offered", USD, "/v1/completions", SMALL "}", "404", "not_found", NULL},
    {"batches", USD, "/v1/messages/batches", SMALL "}", "404", "not_found", NULL},
    {"a route of more than the path", USD, CHAT "/", SMALL "}", "404", "not_found", NULL},
};

static void a_call_is_refused_before_it_is_sent(void **state)
{
    const refusal *row = *state;
    static const provider_answer none[] = {{.status = 200}};
    model_fixture f;
    model_fixture_open(&f, row->lease, none, 1, NULL);
    model_fixture_post(&f, 0, row->path, "", row->body);
    model_fixture_expect(&f, 0, row->status, row->code);
    assert_true(model_fixture_has(&f, 0, "x-should-retry: false"));
    if (row->seen != NULL) {
        model_fixture_expect_seen(&f, row->seen);
    }
    assert_int_equal(model_fixture_requests(&f), 0);
    model_fixture_close(&f);
}

static void a_denial_names_what_is_granted(void **state)
{
    (void)state;
    static const provider_answer none[] = {{.status = 200}};
    model_fixture f;
    model_fixture_open(&f, "{\"model.use\":[\"sm*\"]}", none, 1, NULL);
    model_fixture_post(&f, 0, MESSAGES, "", "{\"model\":\"claude-x\"," HI ",\"max_tokens\":9}");
    model_fixture_expect(&f, 0, "403", "granted: [\\\"sm*\\\"]");
    assert_true(model_fixture_has(&f, 0, "{\"type\":\"error\",\"error\":{"));
    model_fixture_close(&f);
}

static void what_is_free_takes_any_member_and_needs_no_budget(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = "{\"x\":1}"}};
    model_fixture f;
    model_fixture_open(&f, "{\"model.use\":[\"*\"],\"cost.budget\":[\"EUR:5\"]}", answers, 1, NULL);
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"llama3\",\"top_k\":4," HI "}");
    model_fixture_expect(&f, 0, "200", "{\"x\":1}");
    model_fixture_check_sent(&f, 0, "\n\n{\"model\":\"llama3\",\"top_k\":4," HI "}");
    model_fixture_check_not_sent(&f, 0, "Authorization");
    model_fixture_expect_seen(&f, "\"value\":0,");
    model_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_denial_names_what_is_granted),
        cmocka_unit_test(what_is_free_takes_any_member_and_needs_no_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows(refusals, sizeof refusals / sizeof *refusals, sizeof *refusals,
                    a_call_is_refused_before_it_is_sent);
}
