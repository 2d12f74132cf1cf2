/* Bodies of calls. The first byte chooses the route and the policy; the rest is the body. What is
 * accepted can be sent on: with all changes it is a body again, which says what was set. */
#include <string.h>

#include "llm/llm_call.h"
#include "json/json.h"

static void check_member(const arcp_json *json, const char *name, const char *want)
{
    const arcp_json_ref ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
    require(arcp_span_equal_cstr(arcp_json_raw(json, ref), want));
}

/* Reads what was written: nothing is left to remove, and the changes are there. */
static void check_written(arcp_span text, arcp__llm_policy policy, const arcp__llm_call *before)
{
    arcp__llm_call call;
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_error err = {0};
    limits.depth_max = ARCP__LLM_BODY_DEPTH_MAX;
    policy.removes_tools = false;
    require(arcp__llm_call_read(text, &policy, &call, &err) == ARCP_OK);
    require(arcp_span_equal_cstr(call.model, "other"));
    require(call.url_count == before->url_count && call.size.images == before->size.images);
    require(call.size.is_open == before->size.is_open && call.streams == before->streams);
    if (policy.route != ARCP__LLM_ROUTE_EMBEDDINGS) {
        require(call.size.has_limit && call.size.limit == 77);
    }
    require(policy.route != ARCP__LLM_ROUTE_CHAT || call.wants_usage == call.streams ||
            before->wants_usage);
    require(arcp_json_scan(&json, text, &limits, &err) == ARCP_OK);
    if (policy.route == ARCP__LLM_ROUTE_RESPONSES) {
        check_member(&json, "store", "false");
        check_member(&json, "service_tier", "\"default\"");
    }
    arcp__json_fini(&json);
    arcp__llm_call_fini(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    arcp__llm_policy policy =
        arcp__llm_policy_init((arcp__llm_route)(data[0] % (unsigned)ARCP__LLM_ROUTES));
    policy.removes_tools = (data[0] & 16) != 0;
    policy.sets_tier = (data[0] & 32) != 0;
    policy.allows_any = (data[0] & 64) != 0;
    const arcp_span body = arcp_span_make((const char *)data + 1, size - 1);
    const bool is_responses = policy.route == ARCP__LLM_ROUTE_RESPONSES;
    const arcp__llm_change change = {.model = ARCP_SPAN_LITERAL("other"),
                                     .sets_limit = true,
                                     .limit = 77,
                                     .asks_usage = true,
                                     .sets_tier = is_responses,
                                     .forbids_store = is_responses,
                                     .asks_reasoning = true};
    arcp__llm_call call;
    arcp_buf out = arcp_buf_init();
    arcp_error err = {0};
    const arcp_status status = arcp__llm_call_read(body, &policy, &call, &err);
    require(status == ARCP_OK || (err.code[0] != '\0' && err.message[0] != '\0'));
    if (status == ARCP_OK) {
        require(call.model.size != 0);
        require(call.size.text <= size * 15);
        arcp__llm_call_write(&call, &change, &out);
        require(!out.failed);
        check_written(arcp_buf_span(&out), policy, &call);
        arcp_buf_clear(&out);
        arcp__llm_call_write(&call, &(arcp__llm_change){0}, &out);
        require(call.removed_count != 0 || arcp_span_equal(arcp_buf_span(&out), body));
    }
    arcp_buf_fini(&out);
    arcp__llm_call_fini(&call);
    return 0;
}
