/* Arguments of a tool that are asked as paths: what is passed on is valid, and asked again it stays
 * the same. Input: a JSON pointer, a line feed, the arguments. */
#include "lines.h"
#include "mcp/mcp_rule.h"
#include "json/json.h"

static arcp_authority *make_authority(void)
{
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    require(arcp_lease_parse(ARCP_SPAN_LITERAL("{\"fs.read\":[\"/a/**\"]}"),
                             arcp_span_make(NULL, 0), NULL, &lease, NULL) == ARCP_OK);
    require(arcp_authority_new(lease, NULL, &authority, NULL) == ARCP_OK);
    arcp_lease_unref(lease);
    return authority;
}

static bool ask(const arcp_authority *authority, const arcp__mcp_target_rule *rule, arcp_span text,
                arcp_buf *out)
{
    static arcp__mcp_question question;
    arcp_json *json = arcp_json_new();
    bool is_allowed = false;
    require(json != NULL);
    if (arcp_json_scan(json, text, NULL, NULL) == ARCP_OK) {
        question = (arcp__mcp_question){.rules = rule,
                                        .rule_count = 1,
                                        .tool = ARCP_SPAN_LITERAL("t"),
                                        .json = json,
                                        .authority = authority};
        require(arcp__mcp_question_ask(&question, out) == ARCP_OK);
        is_allowed = question.is_allowed;
        arcp__mcp_question_fini(&question);
    }
    arcp_json_free(json);
    return is_allowed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp_span input = arcp_span_make((const char *)data, size);
    const arcp__mcp_target_rule rule = {"*", ARCP_SPAN_LITERAL("fs.read"), take_line(&input)};
    arcp_authority *authority = make_authority();
    arcp_buf once = arcp_buf_init();
    arcp_buf twice = arcp_buf_init();
    if (arcp__mcp_pointer_is_valid(rule.pointer)) {
        if (ask(authority, &rule, input, &once)) {
            require(ask(authority, &rule, arcp_buf_span(&once), &twice));
            require(arcp_span_equal(arcp_buf_span(&once), arcp_buf_span(&twice)));
        } else {
            require(once.size == 0);
        }
    }
    arcp_buf_fini(&once);
    arcp_buf_fini(&twice);
    arcp_authority_unref(authority);
    return 0;
}
