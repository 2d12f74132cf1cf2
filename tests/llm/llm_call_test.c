/* What is read from the body of a call, and what is refused. */
#include "support/check.h"

#include "llm/llm_call.h"
#include "support/failing_alloc.h"

#define CHAT       ARCP__LLM_ROUTE_CHAT
#define RESPONSES  ARCP__LLM_ROUTE_RESPONSES
#define EMBEDDINGS ARCP__LLM_ROUTE_EMBEDDINGS
#define MESSAGES   ARCP__LLM_ROUTE_MESSAGES

/* ---- refusals ---- */

typedef struct refusal_row {
    const char *name;
    arcp__llm_route route;
    const char *body;
    const char *code;
    const char *says;
} refusal_row;

#define HI "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"

static const refusal_row refusals[] = {
    {"no JSON", CHAT, "{\"model\":", "invalid_request", "JSON: "},
    {"two values", CHAT, "{\"model\":\"m\"}{}", "invalid_request", "JSON: "},
    {"a member that occurs twice", CHAT, "{\"model\":\"m\",\"model\":\"n\"}", "invalid_request",
     "JSON: "},
    {"a member that occurs twice, once with an escape", CHAT,
     "{\"model\":\"m\",\"mode\\u006c\":\"n\"}", "invalid_request", "JSON: "},
    {"a member that occurs twice in a message", CHAT,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"role\":\"system\"}]}", "invalid_request",
     "JSON: "},
    {"a list", CHAT, "[]", "invalid_request", "not an object"},
    {"no model", CHAT, "{" HI "}", "invalid_request", "names no model"},
    {"a model that is null", CHAT, "{\"model\":null}", "invalid_request", "names no model"},
    {"a model that is a number", CHAT, "{\"model\":4}", "invalid_request", "\"model\" must be"},
    {"a member that is not known", CHAT, "{\"model\":\"m\",\"web_search_options\":{}}",
     "unsupported_parameter", "\"web_search_options\""},
    {"a member of another route", CHAT, "{\"model\":\"m\",\"input\":\"x\"}",
     "unsupported_parameter", "\"input\""},
    {"a prediction", CHAT, "{\"model\":\"m\",\"prediction\":{}}", "unsupported_parameter",
     "\"prediction\""},
    {"a conversation", RESPONSES, "{\"model\":\"m\",\"conversation\":\"c\"}",
     "unsupported_parameter", "\"conversation\""},
    {"a stored prompt", RESPONSES, "{\"model\":\"m\",\"prompt\":{\"id\":\"p\"}}",
     "unsupported_parameter", "\"prompt\""},
    {"context management of responses", RESPONSES, "{\"model\":\"m\",\"context_management\":[]}",
     "unsupported_parameter", "\"context_management\""},
    {"servers of tools", MESSAGES, "{\"model\":\"m\",\"mcp_servers\":[]}", "unsupported_parameter",
     "\"mcp_servers\""},
    {"other models at the provider", MESSAGES, "{\"model\":\"m\",\"fallbacks\":[]}",
     "unsupported_parameter", "\"fallbacks\""},
    {"a container", MESSAGES, "{\"model\":\"m\",\"container\":\"c\"}", "unsupported_parameter",
     "\"container\""},
    {"both limits", CHAT, "{\"model\":\"m\",\"max_tokens\":1,\"max_completion_tokens\":1}",
     "invalid_request", "cannot both"},
    {"a limit with a fraction", CHAT, "{\"model\":\"m\",\"max_tokens\":1.5}", "invalid_request",
     "\"max_tokens\" must be"},
    {"a negative limit", MESSAGES, "{\"model\":\"m\",\"max_tokens\":-1}", "invalid_request",
     "\"max_tokens\" must be"},
    {"no answers", CHAT, "{\"model\":\"m\",\"n\":0}", "invalid_request", "\"n\" must be"},
    {"129 answers", CHAT, "{\"model\":\"m\",\"n\":129}", "invalid_request", "\"n\" must be"},
    {"a stream that is a number", CHAT, "{\"model\":\"m\",\"stream\":1}", "invalid_request",
     "\"stream\" must be"},
    {"options of the stream that are a text", CHAT, "{\"model\":\"m\",\"stream_options\":\"x\"}",
     "invalid_request", "\"stream_options\" must be"},
    {"an include that is a text", RESPONSES, "{\"model\":\"m\",\"include\":\"x\"}",
     "invalid_request", "\"include\" must be"},
    {"speech", CHAT, "{\"model\":\"m\",\"modalities\":[\"text\",\"audio\"]}", "invalid_request",
     "\"modalities\" must be"},
    {"speech alone", CHAT, "{\"model\":\"m\",\"modalities\":[\"audio\"]}", "invalid_request",
     "\"modalities\" must be"},
    {"work in the background", RESPONSES, "{\"model\":\"m\",\"background\":true}",
     "invalid_request", "\"background\" must be false"},
    {"an earlier answer that is a number", RESPONSES,
     "{\"model\":\"m\",\"previous_response_id\":4}", "invalid_request", "must be an id"},
    {"an unknown service tier", CHAT, "{\"model\":\"m\",\"service_tier\":\"ultrafast\"}",
     "unsupported_parameter", "service_tier \"ultrafast\""},
    {"a tier of the other dialect", MESSAGES, "{\"model\":\"m\",\"service_tier\":\"priority\"}",
     "unsupported_parameter", "service_tier \"priority\""},
    {"a budget of thinking that is a text", MESSAGES,
     "{\"model\":\"m\",\"thinking\":{\"budget_tokens\":\"x\"}}", "invalid_request",
     "budget_tokens"},
    {"a compaction of the context", MESSAGES,
     "{\"model\":\"m\",\"context_management\":{\"edits\":[{\"type\":\"clear_x\"},"
     "{\"type\":\"compact_20260112\"}]}}",
     "unsupported_parameter", "compact_20260112"},
    {"another member of context_management", MESSAGES,
     "{\"model\":\"m\",\"context_management\":{\"x\":1}}", "invalid_request", "edits only"},
    {"edits that are no list", MESSAGES, "{\"model\":\"m\",\"context_management\":{\"edits\":{}}}",
     "invalid_request", "a list of edits"},
    {"a search tool", RESPONSES, "{\"model\":\"m\",\"tools\":[{\"type\":\"web_search\"}]}",
     "server_tool", "\"web_search\" runs at the provider"},
    {"a tool without a type at OpenAI", CHAT, "{\"model\":\"m\",\"tools\":[{\"name\":\"f\"}]}",
     "server_tool", "runs at the provider"},
    {"a search tool in a namespace", RESPONSES,
     "{\"model\":\"m\",\"tools\":[{\"type\":\"namespace\",\"tools\":[{\"type\":\"mcp\"}]}]}",
     "server_tool", "\"mcp\""},
    {"a search tool in the input", RESPONSES,
     "{\"model\":\"m\",\"input\":[{\"type\":\"additional_tools\",\"tools\":[{\"type\":"
     "\"code_interpreter\"}]}]}",
     "server_tool", "\"code_interpreter\""},
    {"a fetch tool", MESSAGES,
     "{\"model\":\"m\",\"tools\":[{\"type\":\"web_fetch_20250910\",\"name\":\"web_fetch\"}]}",
     "server_tool", "\"web_fetch_20250910\""},
    {"a tool whose type is a number", MESSAGES, "{\"model\":\"m\",\"tools\":[{\"type\":4}]}",
     "server_tool", "\"\" runs"},
    {"a tool that is a text", MESSAGES, "{\"model\":\"m\",\"tools\":[\"x\"]}", "invalid_request",
     "not an object"},
    {"tools that are an object", MESSAGES, "{\"model\":\"m\",\"tools\":{}}", "invalid_request",
     "not a list"},
    {"audio in a chat", CHAT,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\"}]}]"
     "}",
     "unsupported_content", "\"input_audio\""},
    {"earlier audio", CHAT,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"audio\":{\"id\":\"a\"}}]}",
     "unsupported_content", "audio"},
    {"an uploaded file in a chat", CHAT,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"file\","
     "\"file\":{\"file_id\":\"f\"}}]}]}",
     "unsupported_content", "file_id"},
    {"an uploaded picture", RESPONSES,
     "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\","
     "\"file_id\":\"f\"}]}]}",
     "unsupported_content", "file_id"},
    {"a reference to an item", RESPONSES,
     "{\"model\":\"m\",\"input\":[{\"type\":\"item_reference\",\"id\":\"i\"}]}",
     "unsupported_content", "\"item_reference\""},
    {"a compaction", RESPONSES, "{\"model\":\"m\",\"input\":[{\"type\":\"compaction_trigger\"}]}",
     "unsupported_content", "\"compaction_trigger\""},
    {"an uploaded document", MESSAGES,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"document\","
     "\"source\":{\"type\":\"file\",\"file_id\":\"f\"}}]}]}",
     "unsupported_content", "\"file\""},
    {"a file in a tool's result", MESSAGES,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"content\":[{\"type\":\"container_upload\"}]}]}]}",
     "unsupported_content", "\"container_upload\""},
    {"a picture of another scheme", CHAT,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"gs://b/x\"}}]}]}",
     "unsupported_content", "neither data:image/"},
    {"a picture that is a text", CHAT,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"data:text/plain,x\"}}]}]}",
     "unsupported_content", "neither data:image/"},
    {"a picture by a data URL at Anthropic", MESSAGES,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\","
     "\"source\":{\"type\":\"url\",\"url\":\"data:image/png;base64,AA\"}}]}]}",
     "unsupported_content", "must be http or https"},
    {"a picture without data", MESSAGES,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\","
     "\"source\":{\"type\":\"base64\"}}]}]}",
     "unsupported_content", "has no data"},
    {"a file without data", RESPONSES,
     "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\"}]}]}",
     "unsupported_content", "neither its data"},
    {"content that is a number", CHAT,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":4}]}", "unsupported_content",
     "neither a text nor a list"},
    {"a message that is a text", CHAT, "{\"model\":\"m\",\"messages\":[\"hi\"]}",
     "unsupported_content", "not an object"},
    {"an input of embeddings with objects", EMBEDDINGS,
     "{\"model\":\"m\",\"input\":[{\"type\":\"image_url\"}]}", "unsupported_content",
     "input is neither"},
    {"an input of embeddings with tokens and texts", EMBEDDINGS,
     "{\"model\":\"m\",\"input\":[1,\"x\"]}", "unsupported_content", "input is neither"},
};

static void what_is_not_known_is_refused(void **state)
{
    const refusal_row *row = *state;
    const arcp__llm_policy policy = arcp__llm_policy_init(row->route);
    arcp__llm_call call;
    arcp_error err = {0};
    assert_int_equal(arcp__llm_call_read(arcp_span_cstr(row->body), &policy, &call, &err),
                     ARCP_E_INVALID_REQUEST);
    assert_string_equal(err.code, row->code);
    if (strstr(err.message, row->says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, row->says);
    }
    arcp__llm_call_fini(&call);
}

/* ---- calls that are read ---- */

enum { STREAMS = 1, USAGE = 2, OPEN = 4, LONG_CACHE = 8, TOOLS = 16, REMOVES = 32, SETS_TIER = 64 };

typedef struct call_row {
    const char *name;
    arcp__llm_route route;
    unsigned flags; /* REMOVES, SETS_TIER: of the policy; others: what is read */
    const char *body;
    int64_t limit; /* -1: none */
    uint64_t images, extra, answers;
    size_t urls, removed;
    size_t uncounted; /* bytes of pictures, with their quotes */
} call_row;

static const call_row calls[] = {
    {"a chat", CHAT, 0, "{\"model\":\"m\"," HI "}", -1, 0, 512, 1, 0, 0, 0},
    {"members that are null are absent", CHAT, 0,
     "{\"model\":\"m\",\"max_tokens\":null,\"max_completion_tokens\":7,\"n\":null,\"tools\":null}",
     7, 0, 512, 1, 0, 0, 0},
    {"a streamed chat with its usage", CHAT, STREAMS | USAGE,
     "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}", -1, 0, 512, 1,
     0, 0, 0},
    {"128 answers", CHAT, 0, "{\"model\":\"m\",\"n\":128}", -1, 0, 512, 128, 0, 0, 0},
    {"text alone", CHAT, 0, "{\"model\":\"m\",\"modalities\":[\"text\"]}", -1, 0, 512, 1, 0, 0, 0},
    {"functions as tools", CHAT, TOOLS, "{\"model\":\"m\",\"tools\":[{\"type\":\"function\"}]}", -1,
     0, 4608, 1, 0, 0, 0},
    {"no tools", CHAT, 0, "{\"model\":\"m\",\"tools\":[]}", -1, 0, 512, 1, 0, 0, 0},
    {"no functions of the older form", CHAT, 0, "{\"model\":\"m\",\"functions\":[]}", -1, 0, 512, 1,
     0, 0, 0},
    {"no tools of a message", MESSAGES, 0, "{\"model\":\"m\",\"tools\":[]}", -1, 0, 512, 1, 0, 0,
     0},
    {"no tools in a namespace", RESPONSES, TOOLS,
     "{\"model\":\"m\",\"tools\":[{\"type\":\"namespace\",\"tools\":[]}]}", -1, 0, 4608, 1, 0, 0,
     0},
    {"functions of the older form", CHAT, TOOLS, "{\"model\":\"m\",\"functions\":[{}]}", -1, 0,
     4608, 1, 0, 0, 0},
    {"a schema of the answer", CHAT, 0, "{\"model\":\"m\",\"response_format\":{}}", -1, 0, 4608, 1,
     0, 0, 0},
    {"a picture in the call", CHAT, 0,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
     "\"x\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}}]}]}",
     -1, 1, 512, 1, 0, 0, 28},
    {"a picture by URL", CHAT, OPEN,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"HTTPS://h/x.png\"}}]}]}",
     -1, 1, 512, 1, 1, 0, 0},
    {"a file in the call", CHAT, OPEN,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"file\",\"file\":{"
     "\"file_data\":\"data:application/pdf;base64,AA\"}}]}]}",
     -1, 0, 512, 1, 0, 0, 0},
    {"responses with typed tools", RESPONSES, TOOLS,
     "{\"model\":\"m\",\"input\":\"x\",\"max_output_tokens\":5,\"tools\":[{\"type\":\"function\"},"
     "{\"type\":\"local_shell\"},{\"type\":\"computer_use_preview\"},{\"type\":\"namespace\","
     "\"tools\":[{\"type\":\"apply_patch\"}]}]}",
     5, 0, 512 + 4096 + 3 * 2048, 1, 0, 0, 0},
    {"tools in the input", RESPONSES, TOOLS,
     "{\"model\":\"m\",\"input\":[{\"type\":\"additional_tools\",\"tools\":[{\"type\":"
     "\"custom\"}]}]}",
     -1, 0, 4608, 1, 0, 0, 0},
    {"an earlier answer", RESPONSES, OPEN,
     "{\"model\":\"m\",\"previous_response_id\":\"resp_1\",\"background\":false}", -1, 0, 512, 1, 0,
     0, 0},
    {"reasoning with its content", RESPONSES, 0,
     "{\"model\":\"m\",\"input\":[{\"type\":\"reasoning\",\"summary\":[],"
     "\"encrypted_content\":\"gAAA\"}]}",
     -1, 0, 512, 1, 0, 0, 0},
    {"reasoning without its content", RESPONSES, OPEN,
     "{\"model\":\"m\",\"input\":[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}]}", -1, 0,
     512, 1, 0, 0, 0},
    {"a screenshot", RESPONSES, 0,
     "{\"model\":\"m\",\"input\":[{\"type\":\"computer_call_output\",\"output\":{\"type\":"
     "\"computer_screenshot\",\"image_url\":\"data:image/png;base64,AAAA\"}}]}",
     -1, 1, 512, 1, 0, 0, 28},
    {"a file by URL", RESPONSES, OPEN,
     "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\","
     "\"file_url\":\"https://h/x.pdf\"}]}]}",
     -1, 0, 512, 1, 1, 0, 0},
    {"tools that run at the provider are left out", RESPONSES, TOOLS | REMOVES,
     "{\"model\":\"m\",\"tools\":[{\"type\":\"web_search\"},{\"type\":\"function\"},{\"type\":"
     "\"mcp\"}]}",
     -1, 0, 4608, 1, 0, 2, 0},
    {"messages with a cache of five minutes", MESSAGES, 0,
     "{\"model\":\"m\",\"max_tokens\":9,\"system\":[{\"type\":\"text\",\"text\":\"x\","
     "\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"5m\"}}]}",
     9, 0, 512, 1, 0, 0, 0},
    {"messages with a cache of an hour", MESSAGES, LONG_CACHE,
     "{\"model\":\"m\",\"max_tokens\":9,\"system\":[{\"type\":\"text\",\"text\":\"x\","
     "\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}]}",
     9, 0, 512, 1, 0, 0, 0},
    {"a property that is called cache_control", MESSAGES, TOOLS,
     "{\"model\":\"m\",\"tools\":[{\"name\":\"f\",\"input_schema\":{\"properties\":{"
     "\"cache_control\":{\"type\":\"string\"},\"ttl\":{\"type\":\"string\"}}}}]}",
     -1, 0, 4608, 1, 0, 0, 0},
    {"tools of the agent", MESSAGES, TOOLS,
     "{\"model\":\"m\",\"tools\":[{\"name\":\"f\"},{\"type\":null,\"name\":\"g\"},{\"type\":"
     "\"custom\"},{\"type\":\"bash_20250124\"},{\"type\":\"text_editor_20250728\"},{\"type\":"
     "\"computer_20251124\"},{\"type\":\"memory_20250818\"}]}",
     -1, 0, 512 + 4096 + 4 * 2048, 1, 0, 0, 0},
    {"a picture in a tool's result", MESSAGES, 0,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
     "png\",\"data\":\"AAAA\"}}]}]}]}",
     -1, 1, 512, 1, 0, 0, 6},
    {"documents of all kinds", MESSAGES, OPEN,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":["
     "{\"type\":\"document\",\"source\":{\"type\":\"text\",\"data\":\"x\"}},"
     "{\"type\":\"document\",\"source\":{\"type\":\"content\",\"content\":[{\"type\":\"text\"}]}},"
     "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"data\":\"x\"}},"
     "{\"type\":\"document\",\"source\":{\"type\":\"url\",\"url\":\"http://h/x\"}}]}]}",
     -1, 0, 512, 1, 1, 0, 0},
    {"a document with its text", MESSAGES, 0,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":["
     "{\"type\":\"document\",\"source\":{\"type\":\"text\",\"data\":\"x\"}}]}]}",
     -1, 0, 512, 1, 0, 0, 0},
    {"edits that remove", MESSAGES, 0,
     "{\"model\":\"m\",\"context_management\":{\"edits\":[{\"type\":\"clear_thinking_20251015\"}]}"
     "}",
     -1, 0, 512, 1, 0, 0, 0},
    {"an input of a tool that looks like content", MESSAGES, 0,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\","
     "\"input\":{\"content\":[{\"type\":\"input_audio\"}]}}]}]}",
     -1, 0, 512, 1, 0, 0, 0},
    {"embeddings of tokens", EMBEDDINGS, 0, "{\"model\":\"m\",\"input\":[[1,2],[3]]}", -1, 0, 512,
     1, 0, 0, 0},
    {"embeddings of texts", EMBEDDINGS, 0, "{\"model\":\"m\",\"input\":[\"a\",\"b\"]}", -1, 0, 512,
     1, 0, 0, 0},
};

static void what_a_call_asks_for_is_read(void **state)
{
    const call_row *row = *state;
    arcp__llm_policy policy = arcp__llm_policy_init(row->route);
    policy.removes_tools = (row->flags & REMOVES) != 0;
    arcp__llm_call call;
    arcp_error err = {0};
    check_ok(arcp__llm_call_read(arcp_span_cstr(row->body), &policy, &call, &err), &err);
    check_span(call.model, "m");
    assert_int_equal(call.size.has_limit, row->limit >= 0);
    assert_int_equal(call.size.limit, row->limit < 0 ? 0 : row->limit);
    assert_int_equal(call.size.images, row->images);
    assert_int_equal(call.size.extra, row->extra);
    assert_int_equal(call.size.answers, row->answers);
    assert_int_equal(call.size.text, strlen(row->body) - row->uncounted);
    assert_int_equal(call.url_count, row->urls);
    assert_int_equal(call.removed_count, row->removed);
    assert_int_equal(call.streams, (row->flags & STREAMS) != 0);
    assert_int_equal(call.wants_usage, (row->flags & USAGE) != 0);
    assert_int_equal(call.size.is_open, (row->flags & OPEN) != 0);
    assert_int_equal(call.size.has_long_cache, (row->flags & LONG_CACHE) != 0);
    assert_int_equal(call.has_tools, (row->flags & TOOLS) != 0);
    assert_int_equal(call.size.is_embedding, row->route == EMBEDDINGS);
    arcp__llm_call_fini(&call);
}

/* ---- tiers ---- */

static const struct tier_row {
    const char *name;
    arcp__llm_route route;
    bool sets_tier;
    const char *member;
    unsigned tiers;
} tier_rows[] = {
    {"no tier: the provider may choose a dearer one", CHAT, false, "", 1 | 4},
    {"no tier, where it is set", CHAT, true, "", 1},
    {"auto", CHAT, false, ",\"service_tier\":\"auto\"", 1 | 4},
    {"auto, where it is set", CHAT, true, ",\"service_tier\":\"auto\"", 1},
    {"default", RESPONSES, false, ",\"service_tier\":\"default\"", 1},
    {"flex", RESPONSES, true, ",\"service_tier\":\"flex\"", 2},
    {"priority", CHAT, true, ",\"service_tier\":\"priority\"", 4},
    {"the usual tier of Anthropic", MESSAGES, false, ",\"service_tier\":\"standard_only\"", 1},
    {"auto at Anthropic", MESSAGES, false, ",\"service_tier\":\"auto\"", 1 | 4},
};

static void tiers_that_may_answer_are_read(void **state)
{
    const struct tier_row *row = *state;
    arcp__llm_policy policy = arcp__llm_policy_init(row->route);
    policy.sets_tier = row->sets_tier;
    char body[128];
    (void)snprintf(body, sizeof body, "{\"model\":\"m\"%s}", row->member);
    arcp__llm_call call;
    arcp_error err = {0};
    check_ok(arcp__llm_call_read(arcp_span_cstr(body), &policy, &call, &err), &err);
    assert_int_equal(call.size.tiers, row->tiers);
    arcp__llm_call_fini(&call);
}

/* ---- policies, limits, text ---- */

static void members_that_the_operator_allows_pass(void **state)
{
    (void)state;
    static const char *const allowed[] = {"top_k", "web_search_options"};
    const arcp_span body = ARCP_SPAN_LITERAL("{\"model\":\"m\",\"web_search_options\":{}}");
    const arcp_span other = ARCP_SPAN_LITERAL("{\"model\":\"m\",\"web_search\":{}}");
    arcp__llm_policy policy = arcp__llm_policy_init(CHAT);
    policy.allowed = allowed;
    policy.allowed_count = 2;
    arcp__llm_call call;
    arcp_error err = {0};
    check_ok(arcp__llm_call_read(body, &policy, &call, &err), &err);
    arcp__llm_call_fini(&call);
    assert_int_equal(arcp__llm_call_read(other, &policy, &call, &err), ARCP_E_INVALID_REQUEST);
    arcp__llm_call_fini(&call);
    policy.allows_any = true;
    check_ok(arcp__llm_call_read(other, &policy, &call, &err), &err);
    arcp__llm_call_fini(&call);
}

static arcp_status read_urls(size_t count, arcp_error *err)
{
    const arcp__llm_policy policy = arcp__llm_policy_init(CHAT);
    arcp_buf body = arcp_buf_init();
    arcp__llm_call call;
    arcp_buf_append_cstr(&body, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[");
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_format(
            &body, "%s{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://h/%zu\"}}",
            i == 0 ? "" : ",", i);
    }
    arcp_buf_append_cstr(&body, "]}]}");
    const arcp_status status = arcp__llm_call_read(arcp_buf_span(&body), &policy, &call, err);
    if (status == ARCP_OK && (call.url_count != count || call.size.images != count)) {
        fail_msg("%zu URLs", call.url_count);
    }
    arcp__llm_call_fini(&call);
    arcp_buf_fini(&body);
    return status;
}

static void a_call_has_at_most_256_urls(void **state)
{
    (void)state;
    arcp_error err = {0};
    check_ok(read_urls(256, &err), &err);
    assert_int_equal(read_urls(257, &err), ARCP_E_INVALID_REQUEST);
}

static arcp_status read_depth(size_t depth)
{
    const arcp__llm_policy policy = arcp__llm_policy_init(CHAT);
    arcp_buf body = arcp_buf_init();
    arcp__llm_call call;
    arcp_error err = {0};
    arcp_buf_append_cstr(&body, "{\"model\":\"m\",\"metadata\":");
    for (size_t i = 1; i < depth; i++) {
        arcp_buf_append_byte(&body, '[');
    }
    for (size_t i = 1; i < depth; i++) {
        arcp_buf_append_byte(&body, ']');
    }
    arcp_buf_append_byte(&body, '}');
    const arcp_status status = arcp__llm_call_read(arcp_buf_span(&body), &policy, &call, &err);
    arcp__llm_call_fini(&call);
    arcp_buf_fini(&body);
    return status;
}

static void a_body_has_at_most_256_levels(void **state)
{
    (void)state;
    assert_int_equal(read_depth(256), ARCP_OK);
    assert_int_equal(read_depth(257), ARCP_E_INVALID_REQUEST);
}

static const struct text_row {
    const char *name;
    const char *text;
    uint64_t others;
    uint64_t tokens;
} text_rows[] = {
    {"nothing", "", 5, 0},
    {"ASCII", "hello", 5, 5},
    {"two bytes of UTF-8", "\xc3\xa9", 5, 10},
    {"two bytes of UTF-8, one token each", "\xc3\xa9", 1, 2},
    {"an escape of ASCII", "\\n", 5, 2},
    {"an escape of a character", "\\u00e9", 5, 15},
    {"an escape of a character, one token each", "\\u00e9", 1, 6},
    {"an escape of a character, two tokens each", "\\u00e9", 2, 6},
    {"an escape of a character, three tokens each", "\\u00e9", 3, 9},
    {"a backslash before a u", "\\\\u00e9", 5, 7},
    {"three backslashes before a u", "\\\\\\u00e9", 5, 17},
    {"an escape and more", "\\u00e9x", 5, 16},
    {"a backslash at the end", "x\\", 5, 2},
    {"an escape that is cut", "\\u00", 5, 15},
};

static void bytes_that_are_not_ascii_weigh_more(void **state)
{
    const struct text_row *row = *state;
    assert_int_equal(arcp__llm_text_tokens(arcp_span_cstr(row->text), row->others), row->tokens);
}

static void a_weight_out_of_range_is_the_most(void **state)
{
    (void)state;
    assert_true(arcp__llm_text_tokens(ARCP_SPAN_LITERAL("\xc3\xa9"), UINT64_MAX) == UINT64_MAX);
}

/* ---- memory ---- */

static arcp_status read_and_write(void *user, arcp_error *err)
{
    arcp__llm_policy policy = arcp__llm_policy_init(RESPONSES);
    const arcp__llm_change change = {.model = {"n\"", 2},
                                     .sets_limit = true,
                                     .limit = 9,
                                     .asks_usage = true,
                                     .sets_tier = true,
                                     .forbids_store = true,
                                     .asks_reasoning = true};
    arcp__llm_call call;
    arcp_buf out = arcp_buf_init();
    policy.removes_tools = true;
    arcp_status status = arcp__llm_call_read(arcp_span_cstr(user), &policy, &call, err);
    if (status == ARCP_OK) {
        arcp__llm_call_write(&call, &change, &out);
        status = arcp_buf_status(&out);
    }
    arcp_buf_fini(&out);
    arcp__llm_call_fini(&call);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char body[] =
        "{\"model\":\"\\u006d\",\"include\":[\"x\"],\"tools\":[{\"type\":\"mcp\"}],\"input\":[{"
        "\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"http:\\/\\/h\"},"
        "{\"type\":\"input_image\",\"image_url\":\"http://h/2\"}]}]}";
    assert_true(failing_alloc_sweep(read_and_write, body) > 5);
}

#define RUN_ROWS(rows, check) run_rows(rows, sizeof(rows) / sizeof *(rows), sizeof *(rows), check)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_that_the_operator_allows_pass),
        cmocka_unit_test(a_call_has_at_most_256_urls),
        cmocka_unit_test(a_body_has_at_most_256_levels),
        cmocka_unit_test(a_weight_out_of_range_is_the_most),
        cmocka_unit_test(every_allocation_may_fail),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += RUN_ROWS(refusals, what_is_not_known_is_refused);
    failed += RUN_ROWS(calls, what_a_call_asks_for_is_read);
    failed += RUN_ROWS(tier_rows, tiers_that_may_answer_are_read);
    failed += RUN_ROWS(text_rows, bytes_that_are_not_ascii_weigh_more);
    return failed;
}
