/* The tokens of workers: which row a token has. */
#include "support/check.h"

#include "identity/identity.h"

static arcp__worker_tokens *make(void)
{
    static const char *const agents[] = {"train*", "eval"};
    static const arcp__worker_token_row rows[] = {
        {.token = "one", .name = "gpu-*", .agents = agents, .agent_count = 2, .max_jobs = 7},
        {.token = "other", .name = "cpu"},
    };
    arcp__worker_tokens *tokens = NULL;
    arcp_error err = {0};
    check_ok(arcp__worker_tokens_new(rows, 2, &tokens, &err), &err);
    return tokens;
}

static void a_token_has_its_row(void **state)
{
    arcp__worker_tokens *tokens = make();
    const arcp__worker_token *one = arcp__worker_tokens_find(tokens, ARCP_SPAN_LITERAL("one"));
    const arcp__worker_token *other = arcp__worker_tokens_find(tokens, ARCP_SPAN_LITERAL("other"));
    assert_string_equal(one->name, "gpu-*");
    assert_int_equal(one->agent_count, 2);
    assert_string_equal(one->agents[1], "eval");
    assert_int_equal(one->max_jobs, 7);
    assert_string_equal(other->name, "cpu");
    assert_int_equal(other->agent_count, 0);
    assert_ptr_equal(arcp__worker_tokens_by_hash(tokens, one->hash), one);
    arcp__worker_tokens_free(tokens);
}

static void other_tokens_have_none(void **state)
{
    static const char *const rows[] = {"", "on", "one ", "ONE", "two"};
    arcp__worker_tokens *tokens = make();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_null(arcp__worker_tokens_find(tokens, arcp_span_cstr(rows[i])));
    }
    assert_null(arcp__worker_tokens_find(NULL, ARCP_SPAN_LITERAL("one")));
    arcp__worker_tokens_free(tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_has_its_row),
        cmocka_unit_test(other_tokens_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
