/* The body that is sent on: the bytes of the agent, except where it had to be changed. */
#include "support/check.h"

#include "llm/llm_call.h"

typedef struct write_row {
    const char *name;
    arcp__llm_route route;
    const char *body;
    arcp__llm_change change;
    const char *want;
} write_row;

#define CHAT      ARCP__LLM_ROUTE_CHAT
#define RESPONSES ARCP__LLM_ROUTE_RESPONSES
#define MESSAGES  ARCP__LLM_ROUTE_MESSAGES

static const write_row rows[] = {
    {"nothing to change",
     CHAT,
     " { \"model\" : \"m\", \"seed\":1.50 } ",
     {.limit = 0},
     " { \"model\" : \"m\", \"seed\":1.50 } "},
    {"another model",
     CHAT,
     "{\"model\": \"m\",\"seed\":1e2}",
     {.model = {"gpt \"4\"", 7}},
     "{\"model\": \"gpt \\\"4\\\"\",\"seed\":1e2}"},
    {"a limit is set",
     CHAT,
     "{\"model\":\"m\"}",
     {.sets_limit = true, .limit = 5},
     "{\"max_completion_tokens\":5,\"model\":\"m\"}"},
    {"a limit is set in the provider's field",
     CHAT,
     "{\"model\":\"m\"}",
     {.sets_limit = true, .limit = 5, .limit_field = "max_tokens"},
     "{\"max_tokens\":5,\"model\":\"m\"}"},
    {"the agent's limit is lowered in its field",
     CHAT,
     "{\"model\":\"m\",\"max_tokens\": 99}",
     {.sets_limit = true, .limit = 5},
     "{\"model\":\"m\",\"max_tokens\": 5}"},
    {"a limit that is null is replaced",
     RESPONSES,
     "{\"model\":\"m\",\"max_output_tokens\":null}",
     {.sets_limit = true, .limit = 5},
     "{\"model\":\"m\",\"max_output_tokens\":5}"},
    {"a limit beside one that is null",
     CHAT,
     "{\"max_tokens\":null,\"model\":\"m\",\"max_completion_tokens\":9}",
     {.sets_limit = true, .limit = 5},
     "{\"max_tokens\":null,\"model\":\"m\",\"max_completion_tokens\":5}"},
    {"a limit of messages",
     MESSAGES,
     "{\"model\":\"m\"}",
     {.sets_limit = true, .limit = 5},
     "{\"max_tokens\":5,\"model\":\"m\"}"},
    {"embeddings have no limit",
     ARCP__LLM_ROUTE_EMBEDDINGS,
     "{\"model\":\"m\",\"input\":\"x\"}",
     {.sets_limit = true, .limit = 5},
     "{\"model\":\"m\",\"input\":\"x\"}"},
    {"usage is asked for",
     CHAT,
     "{\"model\":\"m\",\"stream\":true}",
     {.asks_usage = true},
     "{\"stream_options\":{\"include_usage\":true},\"model\":\"m\",\"stream\":true}"},
    {"usage is asked for beside other options",
     CHAT,
     "{\"model\":\"m\",\"stream\":true,\"stream_options\":{ \"include_obfuscation\":false}}",
     {.asks_usage = true},
     "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true, "
     "\"include_obfuscation\":false}}"},
    {"usage that the agent did not want",
     CHAT,
     "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":false}}",
     {.asks_usage = true},
     "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}"},
    {"options of the stream that are empty",
     CHAT,
     "{\"model\":\"m\",\"stream\":true,\"stream_options\":{}}",
     {.asks_usage = true},
     "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}"},
    {"usage comes by itself without a stream",
     CHAT,
     "{\"model\":\"m\"}",
     {.asks_usage = true},
     "{\"model\":\"m\"}"},
    {"the tier and the store",
     RESPONSES,
     "{\"model\":\"m\",\"service_tier\":\"auto\",\"store\":true}",
     {.sets_tier = true, .forbids_store = true},
     "{\"model\":\"m\",\"service_tier\":\"default\",\"store\":false}"},
    {"the tier and the store are added",
     RESPONSES,
     "{\"model\":\"m\"}",
     {.sets_tier = true, .forbids_store = true},
     "{\"service_tier\":\"default\",\"store\":false,\"model\":\"m\"}"},
    {"reasoning is asked for",
     RESPONSES,
     "{\"model\":\"m\"}",
     {.asks_reasoning = true},
     "{\"include\":[\"reasoning.encrypted_content\"],\"model\":\"m\"}"},
    {"reasoning is asked for beside other parts",
     RESPONSES,
     "{\"model\":\"m\",\"include\":[\"x\"]}",
     {.asks_reasoning = true},
     "{\"model\":\"m\",\"include\":[\"reasoning.encrypted_content\",\"x\"]}"},
    {"reasoning was asked for",
     RESPONSES,
     "{\"model\":\"m\",\"include\":[\"reasoning.encrypted\\u005fcontent\"]}",
     {.asks_reasoning = true},
     "{\"model\":\"m\",\"include\":[\"reasoning.encrypted\\u005fcontent\"]}"},
    {"the first tool is left out",
     RESPONSES,
     "{\"model\":\"m\",\"tools\":[{\"type\":\"mcp\"}, {\"type\":\"custom\"}]}",
     {.limit = 0},
     "{\"model\":\"m\",\"tools\":[{\"type\":\"custom\"}]}"},
    {"the last tools are left out",
     RESPONSES,
     "{\"model\":\"m\",\"tools\":[{\"type\":\"custom\"}, {\"type\":\"mcp\"} ,{\"type\":\"x\"}]}",
     {.limit = 0},
     "{\"model\":\"m\",\"tools\":[{\"type\":\"custom\"}]}"},
    {"tools around one that stays are left out",
     RESPONSES,
     "{\"model\":\"m\",\"tools\":[{\"type\":\"x\"},{\"type\":\"y\"},{\"type\":\"custom\"},{"
     "\"type\":\"z\"}]}",
     {.limit = 0},
     "{\"model\":\"m\",\"tools\":[{\"type\":\"custom\"}]}"},
    {"all tools are left out",
     RESPONSES,
     "{\"model\":\"m\",\"tools\":[{\"type\":\"x\"},{\"type\":\"y\"}]}",
     {.limit = 0},
     "{\"model\":\"m\",\"tools\":[]}"},
    {"tools in a namespace and in the input are left out",
     RESPONSES,
     "{\"input\":[{\"type\":\"additional_tools\",\"tools\":[{\"type\":\"x\"}]}],\"tools\":[{"
     "\"type\":\"namespace\",\"tools\":[{\"type\":\"function\"},{\"type\":\"y\"}]},{\"type\":"
     "\"z\"}],\"model\":\"m\"}",
     {.model = {"n", 1}},
     "{\"input\":[{\"type\":\"additional_tools\",\"tools\":[]}],\"tools\":[{\"type\":"
     "\"namespace\",\"tools\":[{\"type\":\"function\"}]}],\"model\":\"n\"}"},
};

static void only_what_must_be_changed_is_changed(void **state)
{
    const write_row *row = *state;
    arcp__llm_policy policy = arcp__llm_policy_init(row->route);
    policy.removes_tools = true;
    arcp__llm_call call;
    arcp_buf out = arcp_buf_init();
    arcp_error err = {0};
    check_ok(arcp__llm_call_read(arcp_span_cstr(row->body), &policy, &call, &err), &err);
    arcp__llm_call_write(&call, &row->change, &out);
    assert_int_equal(arcp_buf_status(&out), ARCP_OK);
    check_span(arcp_buf_span(&out), row->want);
    arcp_buf_fini(&out);
    arcp__llm_call_fini(&call);
}

int main(void)
{
    return run_rows(rows, sizeof rows / sizeof *rows, sizeof *rows,
                    only_what_must_be_changed_is_changed);
}
