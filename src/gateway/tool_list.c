/* The tools that a job is shown. */
#include "gateway/tool_parts.h"

typedef struct lister {
    arcp__tool_call *c;
    arcp_target_scratch scratch;
} lister;

/* Whether the definition may be shown: the lease grants the tool, and the definition is the first
 * one, or changes are only reported. */
static bool may_list(void *user, const arcp__mcp_tool *tool)
{
    lister *l = user;
    arcp__tool_call *c = l->c;
    arcp_decision decision;
    arcp__mcp_change change = ARCP__MCP_CHANGED;
    if (!arcp_authorize(c->call->job->authority, arcp__gateway_now(c->service->gateway),
                        ARCP_SPAN_LITERAL("tool.call"), tool->target, &l->scratch, &decision)) {
        return false;
    }
    arcp__tool_job *job = arcp__tool_job_of(c->call->job);
    if (job == NULL || arcp__mcp_seen_check(&job->seen, tool, &change) != ARCP_OK) {
        return false;
    }
    if (change == ARCP__MCP_CHANGED) {
        arcp_buf text = arcp_buf_init();
        arcp_buf_append_format(&text, "the definition of the tool %.*s has changed",
                               (int)tool->target.size, tool->target.data);
        arcp__tool_say_log(c->call->job, "warn", text.failed ? "a tool" : arcp_buf_cstr(&text));
        arcp_buf_fini(&text);
    }
    return !c->config->refuses_changes || change == ARCP__MCP_UNCHANGED ||
           change == ARCP__MCP_FIRST_SEEN;
}

void arcp__tool_call_list(arcp__tool_call *c)
{
    const arcp__mcp_toolset *sets[ARCP__TOOL_SERVERS_MAX];
    lister l = {.c = c};
    arcp__mcp_page page = {
        .sets = sets, .has_own_names = c->only.size != 0, .may_list = may_list, .user = &l};
    arcp_buf message = arcp_buf_init();
    for (size_t i = 0; i < c->config->server_count; i++) {
        const arcp__tool_server_options *options = &c->config->servers[i];
        const bool is_wanted = c->only.size == 0 || arcp_span_equal_cstr(c->only, options->name);
        const arcp__tool_server *server = is_wanted ? arcp__tool_call_server(c, options) : NULL;
        if (server != NULL && server->tools != NULL) {
            sets[page.set_count++] = server->tools;
        }
    }
    arcp__mcp_put_page(&message, c->post.id, c->post.is_modern, &page);
    if (page.left_out != 0) {
        arcp__tool_say_log(c->call->job, "warn",
                           "the list of tools has more than 2048 tools or 4 MiB; the rest is left "
                           "out");
    }
    arcp__tool_call_respond(c, &message);
    arcp_buf_fini(&message);
    arcp__tool_call_finish(c);
}
