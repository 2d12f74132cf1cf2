/* Rules of calls to models: what a job may continue, whose turn it is, what is sent on and what is
 * not, what the log says, spans, and figures. */
#include "gateway/model_fixture.h"

#define CHAT      "/v1/chat/completions"
#define RESPONSES "/v1/responses"
#define MESSAGES  "/v1/messages"
#define LEASE     "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:5\"]}"
#define HI        "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define ASK       "{\"model\":\"small\"," HI ",\"max_tokens\":100}"
#define USAGE     "\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":50}"
#define ANSWERED  "{\"choices\":[{\"message\":{\"content\":\"ok\"}}]," USAGE "}"
#define RESPONDED                                                                                  \
    "{\"id\":\"resp_1\",\"usage\":{\"input_tokens\":10,\"output_tokens\":5},\"output\":[]}"

#define OPEN(answers)                                                                              \
    model_fixture f;                                                                               \
    model_fixture_open(&f, LEASE, answers, sizeof(answers) / sizeof(answers)[0], NULL)

static void an_answer_is_continued_by_the_jobs_of_its_tree_only(void **state)
{
    (void)state;
    static const char first[] = "{\"model\":\"small\",\"input\":\"hi\"}";
    static const char second[] =
        "{\"model\":\"small\",\"input\":\"hi\",\"previous_response_id\":\"resp_1\"}";
    static const provider_answer answers[] = {{.status = 200, .body = RESPONDED},
                                              {.status = 200, .body = RESPONDED},
                                              {.status = 200, .body = RESPONDED}};
    arcp__gateway_endpoint child_at[ARCP__GATEWAY_KINDS];
    arcp__gateway_endpoint other_at[ARCP__GATEWAY_KINDS];
    OPEN(answers);
    arcp__gateway_job *child = model_fixture_open_job(&f, "job_2", "job_1", "", child_at);
    arcp__gateway_job *other = model_fixture_open_job(&f, "job_3", "", "", other_at);
    model_fixture_post(&f, 0, RESPONSES, "", first);
    model_fixture_expect(&f, 0, "200", "resp_1");
    raw_peer_expect(&f.peers[0], "0\r\n\r\n");
    model_fixture_post_as(&f, &other_at[ARCP__GATEWAY_LLM], 1, RESPONSES, second);
    model_fixture_expect(&f, 1, "400", "unknown_response");
    model_fixture_post_as(&f, &child_at[ARCP__GATEWAY_LLM], 2, RESPONSES, second);
    model_fixture_expect(&f, 2, "200", "resp_1");
    model_fixture_post(&f, 0, RESPONSES, "", second);
    model_fixture_expect(&f, 0, "200", "resp_1");
    arcp__gateway_release(child);
    arcp__gateway_release(other);
    model_fixture_close(&f);
}

static void a_provider_gets_no_more_calls_at_once_than_it_may(void **state)
{
    (void)state;
    static const char ask[] = "{\"model\":\"llama\"," HI "}";
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED, .waits = true},
                                              {.status = 200, .body = ANSWERED}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ask);
    model_fixture_await_requests(&f, 1);
    model_fixture_post(&f, 1, CHAT, "", ask);
    /* It is behind the others' requests on the gateway's thread. */
    model_fixture_post(&f, 2, "/v1/nothing", "", "{}");
    model_fixture_expect(&f, 2, "404", "not_found");
    assert_int_equal(model_fixture_requests(&f), 1);
    atomic_store(&f.may_answer, true);
    model_fixture_expect(&f, 1, "200", USAGE);
    assert_int_equal(model_fixture_requests(&f), 2);
    model_fixture_close(&f);
}

static void a_call_does_not_wait_for_its_turn_for_ever(void **state)
{
    (void)state;
    static const char ask[] = "{\"model\":\"llama\"," HI "}";
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED, .waits = true}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ask);
    model_fixture_await_requests(&f, 1);
    model_fixture_post(&f, 1, CHAT, "", ask);
    model_fixture_expect(&f, 1, "429", "provider_busy");
    assert_true(model_fixture_has(&f, 1, "retry-after: 5"));
    assert_false(model_fixture_has(&f, 1, "x-should-retry: false"));
    model_fixture_close(&f);
}

static void the_end_of_a_job_ends_calls_that_wait_for_their_turn(void **state)
{
    (void)state;
    static const char ask[] = "{\"model\":\"llama\"," HI "}";
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED, .waits = true}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ask);
    model_fixture_await_requests(&f, 1);
    model_fixture_post(&f, 1, CHAT, "", ask);
    model_fixture_post(&f, 2, "/v1/nothing", "", "{}");
    model_fixture_expect(&f, 2, "404", "not_found");
    arcp__gateway_close(f.job);
    model_fixture_expect(&f, 1, "401", "job_over");
    assert_int_equal(model_fixture_requests(&f), 1);
    model_fixture_close(&f);
}

static void tools_that_run_at_the_provider_are_removed_and_the_log_says_so_once(void **state)
{
    (void)state;
    static const char ask[] = "{\"model\":\"llama\",\"input\":\"hi\",\"tools\":[{\"type\":"
                              "\"web_search\"},{\"type\":\"function\",\"name\":\"f\"}]}";
    static const provider_answer answers[] = {{.status = 200, .body = RESPONDED},
                                              {.status = 200, .body = RESPONDED}};
    OPEN(answers);
    for (size_t i = 0; i < 2; i++) {
        model_fixture_post(&f, 0, RESPONSES, "", ask);
        model_fixture_expect(&f, 0, "200", "resp_1");
        raw_peer_expect(&f.peers[0], "0\r\n\r\n");
        model_fixture_check_not_sent(&f, i, "web_search");
        model_fixture_check_sent(&f, i, "\"name\":\"f\"");
    }
    model_fixture_expect_seen(&f, "tools that run at the provider are removed");
    const char *first = strstr(arcp_buf_cstr(&f.seen), "tools that run");
    assert_null(strstr(first + 1, "tools that run"));
    model_fixture_close(&f);
}

static void an_answer_without_usage_is_charged_and_said(void **state)
{
    (void)state;
    static const provider_answer answers[] = {
        {.status = 200, .body = "{\"choices\":[{\"message\":{\"content\":\"ok\"}}]}"}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ASK);
    model_fixture_expect(&f, 0, "200", "ok");
    model_fixture_expect_seen(&f, "cost.inference");
    model_fixture_expect_seen(&f, "log {\"level\":\"warn\",\"message\":\"the answer to call call_");
    assert_true(
        arcp_decimal_compare(arcp_budget_spent(f.budget, 0), (arcp_decimal)ARCP_DECIMAL_ZERO) > 0);
    model_fixture_close(&f);
}

static void flags_that_lift_the_context_are_taken_out(void **state)
{
    (void)state;
    static const provider_answer answers[] = {
        {.status = 200, .body = "{\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}"}};
    OPEN(answers);
    model_fixture_post(&f, 0, MESSAGES,
                       "anthropic-version: 2023-06-01\r\n"
                       "anthropic-beta: claude-code-20250219, context-1m-2025-08-07,oauth-1\r\n"
                       "anthropic-beta: context-2m\r\n",
                       "{\"model\":\"claude-x\"," HI ",\"max_tokens\":100}");
    model_fixture_expect(&f, 0, "200", "input_tokens");
    model_fixture_check_sent(&f, 0, "anthropic-beta: claude-code-20250219,oauth-1\n");
    model_fixture_check_not_sent(&f, 0, "context-");
    model_fixture_close(&f);
}

/* A header may name another account, or a price: LiteLLM reads tags and addresses from some. */
static void headers_of_the_agent_reach_no_provider_unless_they_are_known(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT,
                       "User-Agent: sdk\r\nCookie: a=b\r\nOpenAI-Organization: other\r\n"
                       "x-litellm-tags: free\r\nX-Forwarded-For: 127.0.0.1\r\n"
                       "traceparent: 00-9-9-00\r\nAccept-Encoding: gzip\r\n",
                       "{\"model\":\"small\"," HI ",\"max_tokens\":100}");
    model_fixture_expect(&f, 0, "200", USAGE);
    model_fixture_check_sent(&f, 0, "user-agent: sdk\n");
    static const char *const others[] = {"a=b",      "rganization", "litellm",
                                         "orwarded", "9-9",         "gzip"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        model_fixture_check_not_sent(&f, 0, others[i]);
    }
    model_fixture_close(&f);
}

static void each_request_to_a_provider_has_a_span_below_the_jobs(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 500, .body = "{}"},
                                              {.status = 200, .body = ANSWERED}};
    arcp__gateway_endpoint at[ARCP__GATEWAY_KINDS];
    OPEN(answers);
    arcp__gateway_job *job = model_fixture_open_job(
        &f, "job_2", "", "00-0123456789abcdef0123456789abcdef-00000000000000aa-01", at);
    model_fixture_post_as(&f, &at[ARCP__GATEWAY_LLM], 1, CHAT,
                          "{\"model\":\"tier-best\"," HI ",\"max_tokens\":100}");
    model_fixture_expect(&f, 1, "200", USAGE);
    model_fixture_expect_seen(&f, "span arcp.model other open [500]");
    model_fixture_expect_seen(&f, "span arcp.model small open []");
    /* The provider gets the id of the span. */
    const char *span = strstr(arcp_buf_cstr(&f.seen), "span arcp.model small open [] ");
    char header[80];
    (void)snprintf(header, sizeof header,
                   "traceparent: 00-0123456789abcdef0123456789abcdef-%.16s-01\n", span + 30);
    model_fixture_check_sent(&f, 1, header);
    arcp__gateway_release(job);
    model_fixture_close(&f);
}

static bool has_line(model_fixture *f, const char *line)
{
    arcp_buf text = arcp_buf_init();
    arcp__gateway_write_metrics(f->gateway, &text);
    const bool found = strstr(arcp_buf_cstr(&text), line) != NULL;
    arcp_buf_fini(&text);
    return found;
}

static void calls_are_counted_by_provider_with_their_tokens_cost_and_hold(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED, .waits = true},
                                              {.status = 400, .body = "{}"}};
    OPEN(answers);
    model_fixture_post(&f, 0, CHAT, "", ASK);
    model_fixture_await_requests(&f, 1);
    assert_true(has_line(&f, "arcp_llm_hold{currency=\"USD\"} 0.00159\n"));
    atomic_store(&f.may_answer, true);
    model_fixture_expect(&f, 0, "200", USAGE);
    model_fixture_expect_seen(&f, "cost.inference");
    model_fixture_post(&f, 1, CHAT, "", ASK);
    model_fixture_expect(&f, 1, "400", "{}");
    raw_peer_expect(&f.peers[1], "0\r\n\r\n");
    model_fixture_post(&f, 2, CHAT, "", "{\"model\":\"nobody\"," HI "}");
    model_fixture_expect(&f, 2, "404", "model_not_found");
    static const char *const lines[] = {
        "arcp_llm_requests_total{provider=\"open\",outcome=\"answered\"} 1\n",
        "arcp_llm_requests_total{provider=\"open\",outcome=\"failed\"} 1\n",
        "arcp_llm_requests_total{provider=\"\",outcome=\"refused\"} 1\n",
        "arcp_llm_tokens_total{provider=\"open\",direction=\"input\"} 1000\n",
        "arcp_llm_tokens_total{provider=\"open\",direction=\"output\"} 50\n",
        "arcp_llm_spend_total{currency=\"USD\"} 0.0015\n",
        "arcp_llm_hold{currency=\"USD\"} 0\n",
        "arcp_llm_first_byte_seconds_count 2\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (!has_line(&f, lines[i])) {
            fail_msg("missing: %s", lines[i]);
        }
    }
    model_fixture_close(&f);
}

/* Each holds 0.64: two of them more than the budget has. */
static void eight_calls_at_once_with_high_limits_all_succeed(void **state)
{
    (void)state;
    static provider_answer answers[8];
    static const char ask[] = "{\"model\":\"wide\"," HI ",\"max_tokens\":64000}";
    for (size_t i = 0; i < 8; i++) {
        answers[i] = (provider_answer){
            .status = 200,
            .body = "{\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":9990}}"};
    }
    model_fixture f;
    model_fixture_open(&f, "{\"model.use\":[\"*\"],\"cost.budget\":[\"USD:1.2\"]}", answers, 8,
                       NULL);
    for (size_t i = 0; i < 8; i++) {
        model_fixture_post(&f, i % PEERS, CHAT, "", ask);
        if (i % PEERS == PEERS - 1) {
            for (size_t j = 0; j < PEERS; j++) {
                model_fixture_expect(&f, j, "200", "9990");
                raw_peer_expect(&f.peers[j], "0\r\n\r\n");
            }
        }
    }
    model_fixture_check_budget(&f, "0.8", "0.4");
    model_fixture_close(&f);
}

static void a_call_waits_until_its_hold_is_stored(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200, .body = ANSWERED}};
    arcp__gateway_endpoint at[ARCP__GATEWAY_KINDS];
    OPEN(answers);
    f.stores_holds = true;
    arcp__gateway_job *job = model_fixture_open_job(&f, "job_2", "", "", at);
    model_fixture_post_as(&f, &at[ARCP__GATEWAY_LLM], 1, CHAT, ASK);
    model_fixture_expect_seen(&f, "hold {\"USD\":\"0.00159\"}\n");
    assert_int_equal(model_fixture_requests(&f), 0);
    model_fixture_store_hold(&f, job);
    model_fixture_expect(&f, 1, "200", USAGE);
    model_fixture_expect_seen(&f, "cost.inference");
    model_fixture_expect_seen(&f, "hold \n"); /* its end */
    model_fixture_check_budget(&f, "0.0015", "4.9985");
    arcp__gateway_release(job);
    model_fixture_close(&f);
}

static void a_hold_that_is_given_back_is_given_back_in_the_store_too(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 500, .body = "{}"}};
    arcp__gateway_endpoint at[ARCP__GATEWAY_KINDS];
    OPEN(answers);
    f.stores_holds = true;
    arcp__gateway_job *job = model_fixture_open_job(&f, "job_2", "", "", at);
    /* Its client goes before the store has the hold. */
    model_fixture_post_as(&f, &at[ARCP__GATEWAY_LLM], 1, CHAT, ASK);
    model_fixture_expect_seen(&f, "hold {\"USD\":\"0.00159\"}\n");
    raw_peer_reset(&f.peers[1]);
    model_fixture_expect_seen(&f, "hold \n");
    model_fixture_check_budget(&f, "0", "5");
    arcp_buf_clear(&f.seen);
    model_fixture_store_hold(&f, job); /* too late: no call waits */
    /* The provider fails. */
    model_fixture_post_as(&f, &at[ARCP__GATEWAY_LLM], 2, CHAT, ASK);
    model_fixture_expect_seen(&f, "hold {\"USD\":\"0.00159\"}\n");
    assert_int_equal(model_fixture_requests(&f), 0);
    model_fixture_store_hold(&f, job);
    model_fixture_expect(&f, 2, "500", "{}");
    model_fixture_expect_seen(&f, "hold \n");
    model_fixture_check_budget(&f, "0", "5");
    arcp__gateway_release(job);
    model_fixture_close(&f);
}

static void the_end_of_a_job_ends_a_call_whose_hold_is_being_stored(void **state)
{
    (void)state;
    static const provider_answer answers[] = {{.status = 200}};
    arcp__gateway_endpoint at[ARCP__GATEWAY_KINDS];
    OPEN(answers);
    f.stores_holds = true;
    arcp__gateway_job *job = model_fixture_open_job(&f, "job_2", "", "", at);
    model_fixture_post_as(&f, &at[ARCP__GATEWAY_LLM], 1, CHAT, ASK);
    model_fixture_expect_seen(&f, "hold {\"USD\":\"0.00159\"}\n");
    arcp__gateway_close(job);
    model_fixture_store_hold(&f, job);
    model_fixture_expect(&f, 1, "401", "job_over");
    assert_int_equal(model_fixture_requests(&f), 0);
    model_fixture_check_budget(&f, "0", "5");
    arcp__gateway_release(job);
    model_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_continued_by_the_jobs_of_its_tree_only),
        cmocka_unit_test(a_provider_gets_no_more_calls_at_once_than_it_may),
        cmocka_unit_test(a_call_does_not_wait_for_its_turn_for_ever),
        cmocka_unit_test(the_end_of_a_job_ends_calls_that_wait_for_their_turn),
        cmocka_unit_test(tools_that_run_at_the_provider_are_removed_and_the_log_says_so_once),
        cmocka_unit_test(an_answer_without_usage_is_charged_and_said),
        cmocka_unit_test(flags_that_lift_the_context_are_taken_out),
        cmocka_unit_test(headers_of_the_agent_reach_no_provider_unless_they_are_known),
        cmocka_unit_test(each_request_to_a_provider_has_a_span_below_the_jobs),
        cmocka_unit_test(calls_are_counted_by_provider_with_their_tokens_cost_and_hold),
        cmocka_unit_test(eight_calls_at_once_with_high_limits_all_succeed),
        cmocka_unit_test(a_call_waits_until_its_hold_is_stored),
        cmocka_unit_test(a_hold_that_is_given_back_is_given_back_in_the_store_too),
        cmocka_unit_test(the_end_of_a_job_ends_a_call_whose_hold_is_being_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
