/* Calls to models: what is forwarded, what comes back, and what is charged. */
#include "gateway/model_fixture.h"

#define CHAT "/v1/chat/completions"
#define LEASE                                                                                      \
    "{\"model.use\":[\"small\",\"tier-*\",\"claude-*\",\"other\"],\"cost.budget\":[\"USD:1\"]}"
#define HI       "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define ASK      "{\"model\":\"small\"," HI ",\"max_tokens\":100}"
#define USAGE    "\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":50}"
#define ANSWERED "{\"choices\":[{\"message\":{\"content\":\"ok\"}}]," USAGE "}"
#define COST     "\"value\":0.0015,\"unit\":\"USD\""

#define OPEN(answers)                                                                              \
    model_fixture f;                                                                               \
    model_fixture_open(&f, LEASE, answers, sizeof(answers) / sizeof(answers)[0], NULL)

static void a_call_is_forwarded_charged_and_recorded(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT "?beta=true", "user-agent: sdk\r\ncookie: a=b\r\n", ASK);
    model_fixture_expect(&f, 0, "200", USAGE);
    raw_peer_expect(&f.peers[0], "0\r\n\r\n");
    assert_true(model_fixture_has(&f, 0, "x-arcp-call-id: call_"));
    assert_true(model_fixture_has(&f, 0, "x-request-id: req-1"));
    assert_false(model_fixture_has(&f, 0, "secret"));
    /* The body is the agent's, byte by byte. */
    model_fixture_check_sent(&f, 0, "\n\n" ASK);
    model_fixture_check_sent(&f, 0, "https://open.example/v1/chat/completions\n");
    model_fixture_check_sent(&f, 0, "Authorization: Bearer sk-open\n");
    model_fixture_check_sent(&f, 0, "user-agent: sdk\n");
    model_fixture_check_sent(&f, 0, "traceparent: 00-1-2-00\n");
    model_fixture_check_not_sent(&f, 0, "cookie");
    model_fixture_check_not_sent(&f, 0, f.endpoints[ARCP__GATEWAY_LLM].key);
    model_fixture_expect_seen(
        &f, "metric {\"name\":\"cost.inference\"," COST
            ",\"dimensions\":{\"model\":\"small\",\"provider\":\"open\",\"input_tokens\":1000,"
            "\"output_tokens\":50,\"cached_tokens\":0,\"call_id\":\"call_");
    model_fixture_expect_seen(&f, "\"source\":\"gateway\"}} reports 1\n");
    model_fixture_check_budget(&f, "0.0015", "0.9985");
    model_fixture_close(&f);
}

static void a_call_without_a_limit_gets_one(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI "}");
    model_fixture_expect(&f, 0, "200", USAGE);
    model_fixture_check_sent(&f, 0, "{\"max_tokens\":4000,\"model\":\"small\"");
    model_fixture_close(&f);
}

/* An agent that calls until it is refused: it stops at the ceiling, and the sum is exact. */
static void an_agent_stops_at_the_ceiling_of_its_budget(void **state)
{
    (void)state;
    static const provider_answer answers[] = {
        {.status = 200, .body = "{\"usage\":{\"prompt_tokens\":500,\"completion_tokens\":1950}}"},
        {.status = 200, .body = "{\"usage\":{\"prompt_tokens\":333,\"completion_tokens\":2567}}"},
        {.status = 200, .body = "{\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":0}}"}};
    model_fixture f;
    model_fixture_open(&f, "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:0.05\"]}", answers, 3,
                       NULL);
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI "}");
    model_fixture_expect(&f, 0, "200", "1950"); /* 0.02 */
    raw_peer_expect(&f.peers[0], "0\r\n\r\n");
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI "}");
    model_fixture_expect(&f, 0, "200", "2567"); /* 0.026003 */
    raw_peer_expect(&f.peers[0], "0\r\n\r\n");
    /* 0.003997 remains: the input is bounded by 574 tokens, and 342 of output are affordable. */
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI "}");
    model_fixture_expect(&f, 0, "200", "prompt_tokens");
    raw_peer_expect(&f.peers[0], "0\r\n\r\n");
    model_fixture_check_sent(&f, 2, "\"max_tokens\":342,");
    /* 0.00399 remains, which does not pay for a longer input. */
    model_fixture_post(&f, 0, CHAT, "",
                       "{\"model\":\"other\"," HI ",\"user\":\"01234567890123456789\"}");
    model_fixture_expect(&f, 0, "402", "budget_exhausted");
    assert_true(model_fixture_has(&f, 0, "x-should-retry: false"));
    model_fixture_expect_seen(&f, "denied model.use other USD");
    assert_int_equal(model_fixture_requests(&f), 3);
    model_fixture_check_budget(&f, "0.04601", "0.00399");
    model_fixture_close(&f);
}

static void an_error_of_the_provider_passes_and_costs_nothing(void **state)
{
    (void)state;
    static const unsigned statuses[] = {400, 401, 408, 429, 500, 529};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const provider_answer answers[] = {
            {.status = statuses[i], .body = "{\"error\":{\"message\":\"their words\"}}"}};
        char status[8];
        OPEN(answers);
        (void)snprintf(status, sizeof status, "%u", statuses[i]);
        model_fixture_post(&f, 0, CHAT, "", ASK);
        model_fixture_expect(&f, 0, status, "their words");
        raw_peer_expect(&f.peers[0], "0\r\n\r\n");
        assert_true(model_fixture_has(&f, 0, "retry-after: 7"));
        model_fixture_check_budget(&f, "0", "1");
        assert_int_equal(model_fixture_requests(&f), 1); /* never twice to one model */
        model_fixture_close(&f);
    }
}

static void a_provider_that_cannot_be_reached_costs_nothing(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.not_sent = true}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ASK);
    model_fixture_expect(&f, 0, "502", "provider_unreachable");
    model_fixture_check_budget(&f, "0", "1");
    model_fixture_close(&f);
}

/* The provider may have answered, and may bill it: all that was held, a token of input for each of
 * the 78 bytes of the body and 512 more, and 100 of output. */
static void a_connection_that_breaks_before_the_answer_is_charged_in_full(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.breaks = true}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ASK);
    model_fixture_expect(&f, 0, "502", "provider_lost");
    model_fixture_expect_seen(&f, "cost.inference");
    assert_int_equal(model_fixture_requests(&f), 1);
    assert_int_equal(strlen(ASK), 78);
    model_fixture_check_budget(&f, "0.00159", "0.99841");
    model_fixture_close(&f);
}

static void an_answer_that_breaks_off_is_charged_by_what_arrived(void **state)
{
    (void)state;
    static const provider_answer answers[] = {
        {.status = 200,
         .fields = "sse",
         .body = "data: {\"choices\":[{\"delta\":{\"content\":\"ten bytes.\"}}]}\n\n",
         .breaks = true}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI ",\"stream\":true}");
    raw_peer_expect_end(&f.peers[0]);
    model_fixture_expect_seen(&f, "\"output_tokens\":12,"); /* the bytes, with their quotes */
    model_fixture_close(&f);
}

#define CHUNK "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":null}\n\n"
#define LAST  "data: {\"choices\":[]," USAGE "}\n\n"

static void the_usage_of_a_stream_is_asked_for_and_taken_out(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; slow++) {
        const provider_answer answers[] = {{.status = 200,
                                            .fields = "sse",
                                            .body = CHUNK LAST "data: [DONE]\n\n",
                                            .is_slow = slow}};
        OPEN(answers);
        model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI ",\"stream\":true}");
        model_fixture_expect(&f, 0, "200", "data: [DONE]");
        raw_peer_expect(&f.peers[0], "0\r\n\r\n");
        assert_true(model_fixture_has(&f, 0, "Content-Type: text/event-stream; charset=utf-8"));
        assert_true(model_fixture_has(&f, 0, CHUNK));
        assert_false(model_fixture_has(&f, 0, "prompt_tokens"));
        model_fixture_check_sent(&f, 0, "\"stream_options\":{\"include_usage\":true}");
        model_fixture_expect_seen(&f, COST);
        model_fixture_check_budget(&f, "0.0015", "0.9985");
        model_fixture_close(&f);
    }
}

static void the_usage_of_a_stream_stays_where_the_agent_asked_for_it(void **state)
{
    (void)state;
    static const provider_answer answers[] = {
        {.status = 200, .fields = "sse", .body = CHUNK LAST "data: [DONE]\n\n"}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "",
                       "{\"model\":\"small\"," HI
                       ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    model_fixture_expect(&f, 0, "200", CHUNK LAST "data: [DONE]");
    model_fixture_expect_seen(&f, COST);
    model_fixture_close(&f);
}

static void an_alias_goes_on_to_its_next_model(void **state)
{
    (void)state;
    static const provider_answer first[] = {{.not_sent = true}, {.status = 429}, {.status = 503}};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        const provider_answer answers[] = {first[i], {.status = 200, .body = ANSWERED}};
        OPEN(answers);
        model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"tier-best\"," HI ",\"max_tokens\":9}");
        model_fixture_expect(&f, 0, "200", USAGE);
        model_fixture_check_sent(&f, 0, "{\"model\":\"other\"");
        model_fixture_check_sent(&f, 1, "{\"model\":\"small\"");
        assert_true(model_fixture_has(&f, 0, "x-arcp-model: small"));
        model_fixture_expect_seen(&f, COST);
        model_fixture_check_budget(&f, "0.0015", "0.9985");
        model_fixture_close(&f);
    }
}

static void an_alias_does_not_go_on_after_other_errors(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 400, .body = "{}"}, {.status = 200}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"tier-best\"," HI ",\"max_tokens\":9}");
    model_fixture_expect(&f, 0, "400", "{}");
    assert_int_equal(model_fixture_requests(&f), 1);
    model_fixture_close(&f);
}

static void messages_go_to_the_other_dialect(void **state)
{
    (void)state;
    static const provider_answer answers[] = {
        {.status = 200, .body = "{\"usage\":{\"input_tokens\":1000,\"output_tokens\":50}}"}};
    OPEN(answers);
    model_fixture_post(&f, 0, "/v1/messages?beta=true",
                       "anthropic-version: 2023-06-01\r\nanthropic-beta: a-1, context-1m-2025\r\n",
                       "{\"model\":\"claude-x\"," HI ",\"max_tokens\":100}");
    model_fixture_expect(&f, 0, "200", "input_tokens");
    model_fixture_check_sent(&f, 0, "https://claude.example/v1/messages\n");
    model_fixture_check_sent(&f, 0, "X-Api-Key: sk-claude\n");
    model_fixture_check_sent(&f, 0, "anthropic-beta: a-1\n");
    model_fixture_check_sent(&f, 0, "anthropic-version: 2023-06-01\n");
    model_fixture_expect_seen(&f, COST);
    model_fixture_close(&f);
}

static void tokens_are_counted_without_a_hold(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = "{\"input_tokens\":9}"}};
    OPEN(answers);
    model_fixture_post(&f, 0, "/v1/messages/count_tokens", "", "{\"model\":\"claude-x\"," HI "}");
    model_fixture_expect(&f, 0, "200", "\"input_tokens\":9");
    raw_peer_expect(&f.peers[0], "0\r\n\r\n");
    model_fixture_check_budget(&f, "0", "1");
    assert_int_equal(f.seen.size, 0);
    model_fixture_close(&f);
}

static void calls_wait_for_the_holds_of_others(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED, .waits = true},
                                              {.status = 200, .body = ANSWERED}};
    model_fixture f;
    /* 0.0400 and the input are held by each: not by both. */
    model_fixture_open(&f, "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:0.06\"]}", answers, 2,
                       NULL);
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI "}");
    model_fixture_await_requests(&f, 1);
    model_fixture_post(&f, 1, CHAT, "", "{\"model\":\"small\"," HI "}");
    model_fixture_post(&f, 2, "/v1/nothing", "", "{}"); /* answered behind it */
    model_fixture_expect(&f, 2, "404", "not_found");
    assert_int_equal(model_fixture_requests(&f), 1);
    atomic_store(&f.may_answer, true);
    model_fixture_expect(&f, 0, "200", USAGE);
    model_fixture_expect(&f, 1, "200", USAGE);
    model_fixture_check_sent(&f, 1, "\"max_tokens\":4000,");
    model_fixture_close(&f);
}

static void a_call_that_waits_too_long_is_refused(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED, .waits = true}};
    model_fixture f;
    model_fixture_open(&f, "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:0.06\"]}", answers, 1,
                       NULL);
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI "}");
    model_fixture_await_requests(&f, 1);
    model_fixture_post(&f, 1, CHAT, "", "{\"model\":\"small\"," HI "}");
    model_fixture_expect(&f, 1, "429", "budget_held");
    assert_true(model_fixture_has(&f, 1, "retry-after: 5"));
    atomic_store(&f.may_answer, true);
    model_fixture_expect(&f, 0, "200", USAGE);
    model_fixture_close(&f);
}

static void the_end_of_a_job_ends_its_calls_and_their_cost_is_recorded(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED, .waits = true}};
    model_fixture f;
    model_fixture_open(&f, "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:0.06\"]}", answers, 1,
                       NULL);
    model_fixture_post(&f, 0, CHAT, "", "{\"model\":\"small\"," HI "}");
    raw_peer_expect(&f.peers[0], "\r\n\r\n");
    model_fixture_post(&f, 1, CHAT, "", "{\"model\":\"small\"," HI "}"); /* waits */
    model_fixture_post(&f, 2, "/v1/nothing", "", "{}");
    model_fixture_expect(&f, 2, "404", "not_found");
    arcp__gateway_close(f.job);
    raw_peer_expect_end(&f.peers[0]);
    model_fixture_expect(&f, 1, "401", "job_over");
    model_fixture_expect_seen(&f, "cost.inference");
    assert_int_equal(atomic_load(&f.cancelled), 1);
    model_fixture_close(&f);
}

static void a_client_that_went_away_is_read_for_its_usage(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED, .waits = true}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ASK);
    raw_peer_expect(&f.peers[0], "\r\n\r\n");
    raw_peer_reset(&f.peers[0]);
    atomic_store(&f.may_answer, true);
    model_fixture_expect_seen(&f, COST);
    model_fixture_check_budget(&f, "0.0015", "0.9985");
    assert_int_equal(atomic_load(&f.cancelled), 0);
    model_fixture_close(&f);
}

static void a_call_that_cost_more_than_its_hold_is_charged_and_doubles_the_next_hold(void **state)
{
    (void)state;
    static const provider_answer answers[] = {
        {.status = 200, .body = "{\"usage\":{\"prompt_tokens\":100000,\"completion_tokens\":10}}"},
        {.status = 200, .body = ANSWERED, .waits = true}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ASK);
    model_fixture_expect(&f, 0, "200", "100000");
    model_fixture_expect_seen(&f, "log {\"level\":\"error\",\"message\":\"call call_");
    model_fixture_check_budget(&f, "0.1001", "0.8999");
    model_fixture_post(&f, 1, CHAT, "", ASK);
    raw_peer_expect(&f.peers[1], "\r\n\r\n");
    model_fixture_check_budget(&f, "0.1001", "0.89672"); /* 0.00159 twice */
    atomic_store(&f.may_answer, true);
    model_fixture_expect(&f, 1, "200", USAGE);
    model_fixture_close(&f);
}

static void an_answer_over_its_limit_of_bytes_is_broken_off_and_charged(void **state)
{
    (void)state;
    char *text = calloc(1, 100002);
    assert_non_null(text);
    memset(text, ' ', 100001);
    const provider_answer answers[] = {{.status = 200, .body = text}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ASK);
    raw_peer_expect_end(&f.peers[0]);
    model_fixture_expect_seen(&f, "cost.inference");
    model_fixture_close(&f);
    free(text);
}

static void a_budget_in_another_currency_and_in_tokens_is_charged(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED}};
    static const char *const exchange[] = {"EUR=0.92", NULL};
    const arcp__model_options options = {.exchange = exchange,
                                         .exchange_count = 1,
                                         .max_output_tokens = 32768,
                                         .min_output_tokens = 256};
    model_fixture f;
    model_fixture_open(&f, "{\"model.use\":[\"*\"],\"cost.budget\":[\"EUR:1\",\"tokens:5000\"]}",
                       answers, 1, &options);
    model_fixture_post(&f, 0, CHAT, "", ASK);
    model_fixture_expect(&f, 0, "200", USAGE);
    model_fixture_expect_seen(&f, COST);
    model_fixture_check_budget(&f, "0.00138", "0.99862");
    char text[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(arcp_budget_spent(f.budget, 1), text);
    assert_string_equal(text, "1050");
    model_fixture_close(&f);
}

static void the_models_that_the_lease_allows_are_listed(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200}};
    model_fixture f;
    model_fixture_open(&f, "{\"model.use\":[\"small\",\"tier-f*\"]}", answers, 1, NULL);
    model_fixture_get(&f, "/v1/models", "");
    model_fixture_expect(&f, 0, "200",
                         "{\"object\":\"list\",\"data\":[{\"id\":\"tier-fast\",\"object\":"
                         "\"model\",\"created\":0,\"owned_by\":\"arcp\"},{\"id\":\"small\","
                         "\"object\":\"model\",\"created\":0,\"owned_by\":\"open\"}]}");
    model_fixture_get(&f, "/v1/models", "anthropic-version: 2023-06-01\r\n");
    model_fixture_expect(&f, 0, "200", "\"has_more\":false,\"first_id\":\"tier-fast\"");
    model_fixture_get(&f, "/v1/models/small", "");
    model_fixture_expect(&f, 0, "200", "{\"id\":\"small\"");
    model_fixture_get(&f, "/v1/models/other", "");
    model_fixture_expect(&f, 0, "404", "model_not_found");
    model_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_forwarded_charged_and_recorded),
        cmocka_unit_test(a_call_without_a_limit_gets_one),
        cmocka_unit_test(an_agent_stops_at_the_ceiling_of_its_budget),
        cmocka_unit_test(an_error_of_the_provider_passes_and_costs_nothing),
        cmocka_unit_test(a_provider_that_cannot_be_reached_costs_nothing),
        cmocka_unit_test(a_connection_that_breaks_before_the_answer_is_charged_in_full),
        cmocka_unit_test(an_answer_that_breaks_off_is_charged_by_what_arrived),
        cmocka_unit_test(the_usage_of_a_stream_is_asked_for_and_taken_out),
        cmocka_unit_test(the_usage_of_a_stream_stays_where_the_agent_asked_for_it),
        cmocka_unit_test(an_alias_goes_on_to_its_next_model),
        cmocka_unit_test(an_alias_does_not_go_on_after_other_errors),
        cmocka_unit_test(messages_go_to_the_other_dialect),
        cmocka_unit_test(tokens_are_counted_without_a_hold),
        cmocka_unit_test(calls_wait_for_the_holds_of_others),
        cmocka_unit_test(a_call_that_waits_too_long_is_refused),
        cmocka_unit_test(the_end_of_a_job_ends_its_calls_and_their_cost_is_recorded),
        cmocka_unit_test(a_client_that_went_away_is_read_for_its_usage),
        cmocka_unit_test(a_call_that_cost_more_than_its_hold_is_charged_and_doubles_the_next_hold),
        cmocka_unit_test(an_answer_over_its_limit_of_bytes_is_broken_off_and_charged),
        cmocka_unit_test(a_budget_in_another_currency_and_in_tokens_is_charged),
        cmocka_unit_test(the_models_that_the_lease_allows_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
