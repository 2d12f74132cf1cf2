/* Tools of a call: the agent runs them itself, or they run at the provider, where each use samples
 * again and may fetch what the lease does not allow. */
#include "base/alloc.h"
#include "llm/llm_reader.h"

typedef enum tool_kind { PLAIN, TYPED, NAMESPACE, SERVER } tool_kind;

static const arcp__llm_type tools_of_dialects[] = {
#define ARCP_LLM_TOOL(dialect, type, kind) {ARCP__LLM_DIALECT_##dialect, type, kind},
#include "llm/llm_tool.def"
#undef ARCP_LLM_TOOL
};

#define TOOLS_TOKENS 4096 /* what a provider adds to a call with tools */
#define TYPED_TOKENS 2048 /* and for each tool that it knows */

static tool_kind kind_of(const arcp__llm_reader *reader, arcp_json_ref type_ref, arcp_span type)
{
    const arcp__llm_dialect dialect = arcp__llm_route_dialect(reader->policy->route);
    if (arcp_json_is_missing(reader->json, type_ref) && dialect == ARCP__LLM_DIALECT_ANTHROPIC) {
        return PLAIN;
    }
    return (tool_kind)arcp__llm_kind_of(tools_of_dialects,
                                        sizeof tools_of_dialects / sizeof tools_of_dialects[0],
                                        (int)dialect, type, SERVER);
}

static bool remove_tool(arcp__llm_reader *reader, size_t from, size_t to)
{
    struct arcp__llm_call_parts *parts = reader->parts;
    arcp__llm_cut *removed = arcp__make_room(parts->removed, reader->call->removed_count,
                                             &parts->removed_capacity, sizeof *removed);
    if (removed == NULL) {
        return arcp__llm_no_memory(reader);
    }
    removed[reader->call->removed_count++] = (arcp__llm_cut){from, to - from};
    parts->removed = removed;
    reader->call->removed = removed;
    return true;
}

static size_t start_of(const arcp__llm_reader *reader, arcp_json_ref ref)
{
    return reader->json->nodes[ref].start;
}

static size_t end_of(const arcp__llm_reader *reader, arcp_json_ref ref)
{
    return start_of(reader, ref) + reader->json->nodes[ref].size;
}

static bool read_tool(arcp__llm_reader *reader, arcp_json_ref tool, bool *is_server)
{
    const arcp_json_ref type_ref = arcp__llm_member(reader, tool, "type");
    const arcp_span type = arcp__llm_string(reader, tool, "type");
    *is_server = false;
    if (!arcp_json_is(reader->json, tool, ARCP_JSON_OBJECT)) {
        return arcp__llm_refuse(reader, "invalid_request", "a tool is not an object");
    }
    switch (kind_of(reader, type_ref, type)) {
    case PLAIN:
        return true;
    case TYPED:
        reader->call->size.extra += TYPED_TOKENS;
        return true;
    case NAMESPACE:
        return arcp__llm_read_tools(reader, arcp__llm_member(reader, tool, "tools"));
    case SERVER:
        *is_server = true;
        return reader->policy->removes_tools ||
               arcp__llm_refuse(reader, "server_tool",
                                "a tool of type \"%.*s\" runs at the provider, where no lease "
                                "bounds it",
                                ARCP__LLM_SHOWN(type));
    }
    return false;
}

bool arcp__llm_read_tools(arcp__llm_reader *reader, arcp_json_ref tools)
{
    const arcp_json *json = reader->json;
    if (arcp_json_is_missing(json, tools)) {
        return true;
    }
    if (!arcp_json_is(json, tools, ARCP_JSON_ARRAY)) {
        return arcp__llm_refuse(reader, "invalid_request", "tools is not a list");
    }
    arcp_json_ref previous = ARCP_JSON_ABSENT; /* the tool before this one */
    bool keeps_one = false;
    for (arcp_json_ref tool = arcp_json_first(json, tools); tool != ARCP_JSON_ABSENT;) {
        const arcp_json_ref next = arcp_json_next(json, tools, tool);
        bool is_server = false;
        if (!read_tool(reader, tool, &is_server)) {
            return false;
        }
        /* With the comma before it, if a tool before it is kept; else with the one behind it. */
        if (is_server &&
            !remove_tool(reader, keeps_one ? end_of(reader, previous) : start_of(reader, tool),
                         keeps_one || next == ARCP_JSON_ABSENT ? end_of(reader, tool)
                                                               : start_of(reader, next))) {
            return false;
        }
        if (!is_server && !reader->call->has_tools) {
            reader->call->has_tools = true;
            reader->call->size.extra += TOOLS_TOKENS;
        }
        keeps_one = keeps_one || !is_server;
        previous = tool;
        tool = next;
    }
    return true;
}
