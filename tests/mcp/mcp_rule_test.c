/* Prices of tools, and arguments that are asked as targets. */
#include "mcp/mcp_fixture.h"

#include "mcp/mcp_rule.h"
#include "support/failing_alloc.h"

/* ---- prices ---- */

static const arcp__mcp_price prices[] = {
    {"search*", {"USD", 3}, {UINT64_C(10000000000000000), 0}}, /* 0.01 */
    {"*", {"EUR", 3}, {UINT64_C(1000000000000000000), 0}},
};

static arcp_decimal amount_of(const char *text)
{
    arcp_decimal amount = ARCP_DECIMAL_ZERO;
    arcp_error err = {0};
    check_ok(arcp_decimal_parse(arcp_span_cstr(text), &amount, &err), &err);
    return amount;
}

static void the_first_price_that_matches_is_taken(void **state)
{
    assert_ptr_equal(arcp__mcp_price_find(prices, 2, ARCP_SPAN_LITERAL("search_web")), &prices[0]);
    assert_ptr_equal(arcp__mcp_price_find(prices, 2, ARCP_SPAN_LITERAL("read")), &prices[1]);
    assert_null(arcp__mcp_price_find(prices, 1, ARCP_SPAN_LITERAL("read")));
}

typedef struct hold_row {
    const char *name;
    const char *lease;
    arcp__mcp_hold hold;
} hold_row;

static const hold_row holds[] = {
    {"a budget that has the price reserves it", "{\"cost.budget\":[\"USD:0.01\"]}",
     ARCP__MCP_HOLD_RESERVED},
    {"a budget that has less denies", "{\"cost.budget\":[\"USD:0.009\"]}",
     ARCP__MCP_HOLD_EXHAUSTED},
    {"a budget of another currency denies", "{\"cost.budget\":[\"EUR:5\"]}",
     ARCP__MCP_HOLD_NO_CURRENCY},
    {"a lease without a budget is not charged", "{\"tool.call\":[\"**\"]}", ARCP__MCP_HOLD_NOTHING},
    {"an empty budget is none", "{\"cost.budget\":[]}", ARCP__MCP_HOLD_NOTHING},
};

static void check_hold(void **state)
{
    const hold_row *row = *state;
    arcp_authority *authority = mcp_authority(row->lease, "");
    arcp_decision decision = {0};
    assert_int_equal(
        arcp__mcp_price_hold(&prices[0], authority, ARCP_SPAN_LITERAL("web.search"), &decision),
        row->hold);
    if (row->hold == ARCP__MCP_HOLD_EXHAUSTED) {
        assert_false(decision.allowed);
        assert_int_equal(decision.code, ARCP_E_BUDGET_EXHAUSTED);
        check_span(decision.currency, "USD");
        check_span(decision.target, "web.search");
    } else if (row->hold == ARCP__MCP_HOLD_RESERVED) {
        assert_int_equal(arcp__mcp_price_settle(&prices[0], authority, false, NULL, 0), 0);
    }
    arcp_authority_unref(authority);
}

static void check_left(const arcp_authority *authority, const char *left)
{
    arcp_decimal remaining = ARCP_DECIMAL_ZERO;
    assert_true(arcp_budget_available(arcp_authority_budget(authority), ARCP_SPAN_LITERAL("USD"),
                                      &remaining));
    assert_int_equal(arcp_decimal_compare(remaining, amount_of(left)), 0);
}

static void what_was_sent_is_spent_and_the_rest_given_back(void **state)
{
    arcp_authority *authority = mcp_authority("{\"cost.budget\":[\"USD:0.03\"]}", "");
    arcp_decision decision = {0};
    const arcp_span target = ARCP_SPAN_LITERAL("web.search");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(arcp__mcp_price_hold(&prices[0], authority, target, &decision),
                         ARCP__MCP_HOLD_RESERVED);
    }
    check_left(authority, "0");
    assert_int_equal(arcp__mcp_price_hold(&prices[0], authority, target, &decision),
                     ARCP__MCP_HOLD_EXHAUSTED);
    (void)arcp__mcp_price_settle(&prices[0], authority, true, NULL, 0);
    check_left(authority, "0");
    (void)arcp__mcp_price_settle(&prices[0], authority, false, NULL, 0);
    (void)arcp__mcp_price_settle(&prices[0], authority, false, NULL, 0);
    check_left(authority, "0.02");
    arcp_authority_unref(authority);
}

static void no_price_holds_nothing(void **state)
{
    arcp_authority *authority = mcp_authority("{\"cost.budget\":[\"EUR:1\"]}", "");
    arcp_decision decision = {0};
    assert_int_equal(arcp__mcp_price_hold(NULL, authority, ARCP_SPAN_LITERAL("web.a"), &decision),
                     ARCP__MCP_HOLD_NOTHING);
    arcp_authority_unref(authority);
}

static void a_parent_counts_for_its_child(void **state)
{
    arcp_authority *parent = mcp_authority("{\"cost.budget\":[\"USD:0.01\"]}", "");
    arcp_authority_options options = arcp_authority_options_init();
    arcp_authority *child = NULL;
    arcp_lease *lease = NULL;
    arcp_decision decision = {0};
    arcp_error err = {0};
    options.now = mcp_begun;
    options.parent = parent;
    check_ok(arcp_lease_parse(ARCP_SPAN_LITERAL("{}"), arcp_span_make(NULL, 0), NULL, &lease, &err),
             &err);
    check_ok(arcp_budget_new(lease, arcp_authority_budget(parent), &options.budget, &err), &err);
    check_ok(arcp_authority_new(lease, &options, &child, &err), &err);
    const arcp_span target = ARCP_SPAN_LITERAL("web.search");
    assert_int_equal(arcp__mcp_price_hold(&prices[0], child, target, &decision),
                     ARCP__MCP_HOLD_RESERVED);
    assert_int_equal(arcp__mcp_price_hold(&prices[0], parent, target, &decision),
                     ARCP__MCP_HOLD_EXHAUSTED);
    (void)arcp__mcp_price_settle(&prices[0], child, true, NULL, 0);
    check_left(parent, "0");
    arcp_authority_unref(child);
    arcp_budget_unref(options.budget);
    arcp_lease_unref(lease);
    arcp_authority_unref(parent);
}

/* ---- targets ---- */

#define TARGETS_LEASE                                                                              \
    "{\"fs.read\":[\"/srv/**\"],\"fs.write\":[\"/srv/out/**\"],\"net.fetch\":[\"https://a.example" \
    "/**\"]}"

/* NOLINTBEGIN(bugprone-macro-parentheses): string literals, of which sizeof takes the length */
#define RULE(pattern, cap, at)                                                                     \
    {                                                                                              \
        pattern, {cap, sizeof cap - 1},                                                            \
        {                                                                                          \
            at, sizeof at - 1                                                                      \
        }                                                                                          \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

static const arcp__mcp_target_rule rules[] = {
    RULE("read*", "fs.read", "/path"),
    RULE("read_many", "fs.read", "/options/paths"),
    RULE("fetch", "net.fetch", "/url"),
    RULE("copy", "fs.read", "/files/0/from"),
    RULE("copy", "fs.write", "/files/0/to"),
    RULE("odd", "fs.read", "/a~1b/~0c"),
    RULE("both", "fs.read", "/path"),
    RULE("both", "fs.write", "/path"),
    RULE("mixed", "fs.read", "/x"),
    RULE("mixed", "net.fetch", "/x"),
    RULE("whole", "fs.read", ""),
};

typedef struct target_row {
    const char *name;
    const char *tool, *arguments; /* NULL: there are none */
    const char *sent;             /* the arguments; NULL: it is denied */
    const char *why;              /* the fault, or the target that was denied */
} target_row;

#define NO_TEXT "the arguments have no text where the target is"

static const target_row targets[] = {
    {"a path that the lease has is passed on", "read_file", "{\"path\":\"/srv/a\",\"n\": 1}",
     "{\"path\":\"/srv/a\",\"n\":1}", NULL},
    {"a path that the lease does not have is denied", "read_file", "{\"path\":\"/etc/passwd\"}",
     NULL, "/etc/passwd"},
    {"a path is passed on as it was matched", "read_file", "{\"path\":\"/srv/a/../b//c\"}",
     "{\"path\":\"/srv/b/c\"}", NULL},
    {"a path that leads out is denied", "read_file", "{\"path\":\"/srv/../etc/x\"}", NULL,
     "/srv/../etc/x"},
    {"escapes are read", "read_file", "{\"path\":\"\\u002fetc\\u002fx\"}", NULL, "/etc/x"},
    {"a quote stays one", "read_file", "{\"path\":\"/srv/a\\\"b\"}", "{\"path\":\"/srv/a\\\"b\"}",
     NULL},
    {"no argument is denied", "read_file", "{\"Path\":\"/srv/a\"}", NULL, NO_TEXT},
    {"no arguments are denied", "read_file", NULL, NULL, NO_TEXT},
    {"null is denied", "read_file", "{\"path\":null}", NULL, NO_TEXT},
    {"an object is denied", "read_file", "{\"path\":{\"a\":\"/srv/a\"}}", NULL, NO_TEXT},
    {"the whole arguments are no text", "whole", "{}", NULL, NO_TEXT},
    {"every text of a list is asked", "read_many",
     "{\"path\":\"/srv/a\",\"options\":{\"paths\":[\"/srv/b\",\"/srv/./c\"]}}",
     "{\"path\":\"/srv/a\",\"options\":{\"paths\":[\"/srv/b\",\"/srv/c\"]}}", NULL},
    {"one text of a list denies", "read_many",
     "{\"path\":\"/srv/a\",\"options\":{\"paths\":[\"/srv/b\",\"/etc/c\"]}}", NULL, "/etc/c"},
    {"a list of something else is denied", "read_many",
     "{\"path\":\"/srv/a\",\"options\":{\"paths\":[\"/srv/b\",[\"/srv/c\"]]}}", NULL,
     "the list of targets has something else than texts"},
    {"an empty list names nothing", "read_many", "{\"path\":\"/srv/a\",\"options\":{\"paths\":[]}}",
     "{\"path\":\"/srv/a\",\"options\":{\"paths\":[]}}", NULL},
    {"a URL is asked as such", "fetch", "{\"url\":\"https://A.example/x\"}",
     "{\"url\":\"https://a.example/x\"}", NULL},
    {"another URL is denied", "fetch", "{\"url\":\"https://b.example/x\"}", NULL,
     "https://b.example/x"},
    {"elements of arrays have numbers", "copy",
     "{\"files\":[{\"from\":\"/srv/a\",\"to\":\"/srv/out/b\"}]}",
     "{\"files\":[{\"from\":\"/srv/a\",\"to\":\"/srv/out/b\"}]}", NULL},
    {"each rule of a tool is asked", "copy",
     "{\"files\":[{\"from\":\"/srv/a\",\"to\":\"/srv/b\"}]}", NULL, "/srv/b"},
    {"an element that is not there is denied", "copy", "{\"files\":[]}", NULL, NO_TEXT},
    {"segments are unescaped", "odd", "{\"a/b\":{\"~c\":\"/srv/x\"}}",
     "{\"a/b\":{\"~c\":\"/srv/x\"}}", NULL},
    {"a text of two rules is asked twice", "both", "{\"path\":\"/srv/a\"}", NULL, "/srv/a"},
    {"a text of two rules may pass both", "both", "{\"path\":\"/srv/out/./a\"}",
     "{\"path\":\"/srv/out/a\"}", NULL},
    {"a tool without rules is not asked", "list", "{\"path\": \"/etc\"}", "{\"path\":\"/etc\"}",
     NULL},
    {"a tool without rules needs no arguments", "list", NULL, "", NULL},
};

static void check_target(void **state)
{
    const target_row *row = *state;
    arcp_authority *authority = mcp_authority(TARGETS_LEASE, "");
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf out = arcp_buf_init();
    arcp__mcp_question *question = calloc(1, sizeof *question);
    assert_non_null(question);
    question->rules = rules;
    question->rule_count = sizeof rules / sizeof rules[0];
    question->tool = arcp_span_cstr(row->tool);
    question->json = &json;
    question->arguments = row->arguments == NULL ? ARCP_JSON_ABSENT : ARCP_JSON_ROOT;
    question->authority = authority;
    question->now = mcp_begun;
    if (row->arguments != NULL) {
        mcp_scan(&json, row->arguments);
    }
    assert_int_equal(arcp__mcp_question_ask(question, &out), ARCP_OK);
    check_span(arcp_buf_span(&out), row->sent == NULL ? "" : row->sent);
    assert_int_equal(question->is_allowed, row->sent != NULL);
    if (row->sent == NULL && question->fault != NULL) {
        assert_string_equal(question->fault, row->why);
        assert_int_not_equal(question->capability.size, 0);
    } else if (row->sent == NULL) {
        assert_false(question->decision.allowed);
        check_span(question->decision.target, row->why);
    }
    arcp__mcp_question_fini(question);
    free(question);
    arcp_buf_fini(&out);
    arcp__json_fini(&json);
    arcp_authority_unref(authority);
}

/* `count` texts in one list. */
static bool ask_many(size_t count)
{
    static const arcp__mcp_target_rule rule[] = {RULE("many", "fs.read", "/p")};
    arcp_authority *authority = mcp_authority(TARGETS_LEASE, "");
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    arcp_buf out = arcp_buf_init();
    arcp__mcp_question *question = calloc(1, sizeof *question);
    assert_non_null(question);
    arcp_buf_append_cstr(&text, "{\"p\":[");
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_cstr(&text, i == 0 ? "\"/srv/a\"" : ",\"/srv/a\"");
    }
    arcp_buf_append_cstr(&text, "]}");
    mcp_scan(&json, arcp_buf_cstr(&text));
    *question = (arcp__mcp_question){.rules = rule,
                                     .rule_count = 1,
                                     .tool = ARCP_SPAN_LITERAL("many"),
                                     .json = &json,
                                     .authority = authority,
                                     .now = mcp_begun};
    assert_int_equal(arcp__mcp_question_ask(question, &out), ARCP_OK);
    const bool is_allowed = question->is_allowed;
    if (!is_allowed) {
        assert_string_equal(question->fault, "the arguments name more than 1024 targets");
    }
    arcp__mcp_question_fini(question);
    free(question);
    arcp_buf_fini(&out);
    arcp_buf_fini(&text);
    arcp__json_fini(&json);
    arcp_authority_unref(authority);
    return is_allowed;
}

static void a_call_has_at_most_1024_targets(void **state)
{
    assert_true(ask_many(1024));
    assert_false(ask_many(1025));
}

static void nothing_is_allowed_after_the_lease(void **state)
{
    arcp_authority *authority = mcp_authority(
        TARGETS_LEASE, "{\"expires_at\":\"2026-09-21T14:13:21Z\"}"); /* 1 s after mcp_begun */
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf out = arcp_buf_init();
    arcp__mcp_question *question = calloc(1, sizeof *question);
    assert_non_null(question);
    mcp_scan(&json, "{\"path\":\"/srv/a\"}");
    *question = (arcp__mcp_question){.rules = rules,
                                     .rule_count = 1,
                                     .tool = ARCP_SPAN_LITERAL("read"),
                                     .json = &json,
                                     .authority = authority,
                                     .now = mcp_begun};
    assert_int_equal(arcp__mcp_question_ask(question, &out), ARCP_OK);
    assert_true(question->is_allowed);
    question->now.wall_ns += 2 * ARCP_NS_PER_SEC;
    question->now.mono_ns += 2 * ARCP_NS_PER_SEC;
    assert_int_equal(arcp__mcp_question_ask(question, &out), ARCP_OK);
    assert_false(question->is_allowed);
    assert_int_equal(question->decision.code, ARCP_E_LEASE_EXPIRED);
    arcp__mcp_question_fini(question);
    free(question);
    arcp_buf_fini(&out);
    arcp__json_fini(&json);
    arcp_authority_unref(authority);
}

typedef struct pointer_row {
    const char *pointer;
    bool is_valid;
} pointer_row;

static const pointer_row pointers[] = {
    {"/a", true}, {"/a/b", true}, {"/", true},    {"/a~0b~1c", true}, {"", true},
    {"a", false}, {"/a~", false}, {"/~2", false}, {"~0", false},
};

static void check_pointer(void **state)
{
    const pointer_row *row = *state;
    assert_int_equal(arcp__mcp_pointer_is_valid(arcp_span_cstr(row->pointer)), row->is_valid);
}

/* ---- memory ---- */

static arcp_status whole_question(void *user, arcp_error *err)
{
    static arcp__mcp_question question;
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf out = arcp_buf_init();
    question = (arcp__mcp_question){.rules = rules,
                                    .rule_count = sizeof rules / sizeof rules[0],
                                    .tool = ARCP_SPAN_LITERAL("read_many"),
                                    .json = &json,
                                    .authority = user,
                                    .now = mcp_begun};
    arcp_status status = arcp_json_scan(
        &json,
        ARCP_SPAN_LITERAL("{\"path\":\"/srv/\\u0061\",\"options\":{\"paths\":[\"/srv/./b\"]}}"),
        NULL, err);
    if (status == ARCP_OK) {
        status = arcp__mcp_question_ask(&question, &out);
    }
    if (status == ARCP_OK && !question.is_allowed) {
        status = ARCP_E_PERMISSION_DENIED;
    }
    arcp__mcp_question_fini(&question);
    arcp_buf_fini(&out);
    arcp__json_fini(&json);
    return status;
}

static void an_allocation_that_fails_is_reported(void **state)
{
    arcp_authority *authority = mcp_authority(TARGETS_LEASE, "");
    assert_true(failing_alloc_sweep(whole_question, authority) > 4);
    arcp_authority_unref(authority);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_price_that_matches_is_taken),
        cmocka_unit_test(what_was_sent_is_spent_and_the_rest_given_back),
        cmocka_unit_test(no_price_holds_nothing),
        cmocka_unit_test(a_parent_counts_for_its_child),
        cmocka_unit_test(a_call_has_at_most_1024_targets),
        cmocka_unit_test(nothing_is_allowed_after_the_lease),
        cmocka_unit_test(an_allocation_that_fails_is_reported),
    };
    int failed = run_rows(holds, sizeof holds / sizeof holds[0], sizeof holds[0], check_hold);
    failed +=
        run_rows(targets, sizeof targets / sizeof targets[0], sizeof targets[0], check_target);
    failed +=
        run_rows(pointers, sizeof pointers / sizeof pointers[0], sizeof pointers[0], check_pointer);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
