/* Lists: the tools that a job is shown, and resources and prompts, which are read server by server,
 * page by page, when they are asked for. An event of a link must not send, so that such a list goes
 * on in the next turn. */
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

/* ---- resources and prompts ---- */

/* Sends the request for the next page. False: the server is left out. */
static bool ask_page(arcp__tool_call *c, arcp__tool_server *server)
{
    const arcp__mcp_link_call call = {.method = arcp__mcp_method_name(c->post.method),
                                      .params = arcp_buf_span(&c->params),
                                      .call = c};
    arcp_error err = {0};
    if (arcp__tool_call_send(c, server, &call, &err) != ARCP_OK) {
        arcp__tool_say_log(c->call->job, "warn", err.message);
        return false;
    }
    return true;
}

static void answer_gathered(arcp__tool_call *c)
{
    arcp_buf message = arcp_buf_init();
    if (c->gather.left_out != 0) {
        arcp__tool_say_log(c->call->job, "warn",
                           "a list of a server has more than 2048 items or 4 MiB, or items without "
                           "a name; the rest is left out");
    }
    arcp__mcp_put_gathered(&message, c->post.id, c->post.is_modern, &c->gather);
    arcp__tool_call_respond(c, &message);
    arcp_buf_fini(&message);
    arcp__tool_call_finish(c);
}

void arcp__tool_gather(arcp__tool_call *c)
{
    c->gather.method = c->post.method;
    c->gather.is_merged = c->only.size == 0;
    c->gather.may_list = arcp__tool_may_list;
    c->gather.user = c;
    for (; c->gathered < c->config->server_count; c->gathered++) {
        const arcp__tool_server_options *options = &c->config->servers[c->gathered];
        if (!arcp__tool_is_gathered(c, options)) {
            continue;
        }
        arcp__tool_server *server = arcp__tool_call_server(c, options);
        if (c->only.size != 0 && server != NULL && server->state != ARCP__TOOL_READY) {
            char text[ARCP_ERROR_MESSAGE_MAX];
            arcp__tool_say_why(server, text);
            arcp__tool_call_fail(c, ARCP__MCP_INTERNAL_ERROR, text);
            return;
        }
        if (arcp__tool_has_list(c, options, server) && ask_page(c, server)) {
            return;
        }
        arcp_buf_clear(&c->params);
        c->gather.pages = 0;
    }
    answer_gathered(c);
}

/* The present server is done with, or its next page is due. */
static void step(arcp__tool_call *c, bool is_done)
{
    c->server = NULL;
    (void)uv_timer_stop(&c->timer);
    if (is_done) {
        arcp_buf_clear(&c->params);
        c->gather.pages = 0;
        c->gathered++;
    }
    arcp__tool_news(c->service);
}

void arcp__tool_gather_failed(arcp__tool_call *c, const char *why)
{
    arcp__tool_say_log(c->call->job, "warn", why);
    step(c, true);
}

void arcp__tool_gathered(arcp__tool_call *c, const arcp_json *json, arcp_json_ref outcome,
                         bool is_error)
{
    arcp_json_ref cursor = ARCP_JSON_ABSENT;
    arcp_error err = {0};
    const arcp_span server = arcp_span_cstr(c->server->options->name);
    if (is_error) {
        arcp__tool_call_failed(c, "it refuses a list");
        return;
    }
    if (arcp__mcp_gather_add(&c->gather, server, json, outcome, &cursor, &err) != ARCP_OK) {
        arcp__tool_call_failed(c, err.message);
        return;
    }
    arcp_buf_clear(&c->params);
    if (cursor != ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(&c->params, "\"cursor\":");
        arcp_json_compact(json, cursor, &c->params);
    }
    step(c, cursor == ARCP_JSON_ABSENT || c->params.failed);
}
