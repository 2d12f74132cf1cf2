/* Resources and prompts of servers, where the configuration offers them: which server is meant, and
 * what is asked before a request is sent: the gate (tool.call on SERVER.METHOD), the URI, the
 * price. Lists are read in tool_list.c. */
#include "gateway/tool_parts.h"

/* ---- what is offered ---- */

static bool is_in_scope(const arcp__tool_call *c, const arcp__tool_server_options *options)
{
    return c->only.size == 0 || arcp_span_equal_cstr(c->only, options->name);
}

unsigned arcp__tool_offers(const arcp__tool_call *c)
{
    unsigned offers = 0;
    for (size_t i = 0; i < c->config->server_count; i++) {
        offers |= is_in_scope(c, &c->config->servers[i]) ? c->config->servers[i].offers : 0;
    }
    return offers == 0 ? 0 : offers | ARCP__MCP_COMPLETIONS;
}

bool arcp__tool_is_gathered(const arcp__tool_call *c, const arcp__tool_server_options *options)
{
    return c->post.kind != ARCP__MCP_POST_GATHER ||
           (is_in_scope(c, options) && (options->offers & c->post.wanted) != 0);
}

/* ---- lists ---- */

/* Whether the lease grants what the items of the list are for. */
static bool may_use(const arcp__tool_call *c, const arcp__tool_server_options *options)
{
    arcp_target_scratch scratch;
    arcp_decision decision;
    arcp_buf target = arcp_buf_init();
    arcp_buf_append_format(&target, "%s.%s", options->name,
                           c->post.wanted == ARCP__MCP_PROMPTS ? "prompts/get" : "resources/read");
    const bool is_granted =
        !target.failed &&
        arcp_authorize(c->call->job->authority, arcp__gateway_now(c->service->gateway),
                       ARCP_SPAN_LITERAL("tool.call"), arcp_buf_span(&target), &scratch, &decision);
    arcp_buf_fini(&target);
    return is_granted;
}

bool arcp__tool_may_list(void *user, arcp_span uri)
{
    const arcp__tool_call *c = user;
    arcp__mcp_uri_question question = {.authority = c->call->job->authority,
                                       .now = arcp__gateway_now(c->service->gateway),
                                       .uri = uri};
    const arcp_status status = arcp__mcp_uri_ask(&question);
    arcp__mcp_uri_question_fini(&question);
    return status == ARCP_OK && question.is_allowed;
}

bool arcp__tool_has_list(const arcp__tool_call *c, const arcp__tool_server_options *options,
                         const arcp__tool_server *server)
{
    return server != NULL && server->state == ARCP__TOOL_READY &&
           (arcp__mcp_link_offers(server->link) & c->post.wanted) != 0 && may_use(c, options);
}

/* ---- one resource or prompt ---- */

/* The only server that offers resources; NULL: there are several. */
static const arcp__tool_server_options *only_server(const arcp__tool_call *c)
{
    const arcp__tool_server_options *found = NULL;
    for (size_t i = 0; i < c->config->server_count; i++) {
        if ((c->config->servers[i].offers & ARCP__MCP_RESOURCES) != 0) {
            if (found != NULL) {
                return NULL;
            }
            found = &c->config->servers[i];
        }
    }
    return found;
}

const arcp__tool_server_options *arcp__tool_fetch_server(const arcp__tool_call *c, arcp_span *own)
{
    const bool is_uri = c->post.wanted == ARCP__MCP_RESOURCES;
    arcp_span name;
    *own = c->post.tool;
    if (c->only.size != 0) {
        return arcp__tool_config_find(c->config, c->only);
    }
    if (is_uri ? arcp__mcp_uri_split(c->post.tool, &name, own)
               : arcp__mcp_prompt_split(c->post.tool, &name, own)) {
        return arcp__tool_config_find(c->config, name);
    }
    return is_uri ? only_server(c) : NULL;
}

static bool ask_uri(arcp__tool_call *c, arcp_span own, arcp_buf *out)
{
    arcp__mcp_uri_question question = {.authority = c->call->job->authority,
                                       .now = arcp__gateway_now(c->service->gateway),
                                       .uri = own};
    const arcp_status status = arcp__mcp_uri_ask(&question);
    const bool is_allowed = status == ARCP_OK && question.is_allowed;
    if (status != ARCP_OK) {
        out->failed = true;
    } else if (is_allowed) {
        arcp__mcp_put_fetch(&c->post, question.sent, &c->params);
    } else if (question.fault != NULL) {
        arcp__tool_deny_fault(c, ARCP_SPAN_LITERAL("tool.call"), question.fault, out);
    } else {
        arcp__tool_deny(c, &question.decision, out);
    }
    arcp__mcp_uri_question_fini(&question);
    return is_allowed;
}

/* Asks for what is fetched, and writes what the server gets. */
static bool ask_subject(arcp__tool_call *c, arcp_span own, arcp_buf *out)
{
    if (c->post.method == ARCP__MCP_METHOD_RESOURCES_READ) {
        return ask_uri(c, own, out);
    }
    if (c->post.wanted == ARCP__MCP_RESOURCES && arcp__mcp_uri_is_asked(own)) {
        /* They would say which files or URLs there are. */
        arcp__tool_deny_fault(c, ARCP_SPAN_LITERAL("tool.call"),
                              "completions of templates of files and URLs are not passed on", out);
        return false;
    }
    arcp__mcp_put_fetch(&c->post, own, &c->params);
    return true;
}

/* Whether the server can be asked. */
static bool is_served(arcp__tool_call *c, const arcp__tool_server *server, arcp_buf *out)
{
    const unsigned needed =
        c->post.method == ARCP__MCP_METHOD_COMPLETE ? ARCP__MCP_COMPLETIONS : c->post.wanted;
    if (server->state != ARCP__TOOL_READY) {
        char text[ARCP_ERROR_MESSAGE_MAX];
        c->outcome = ARCP__TOOL_FAILED;
        arcp__tool_say_why(server, text);
        arcp__tool_put_refusal(c, "INTERNAL_ERROR", text, out);
        return false;
    }
    if ((server->options->offers & c->post.wanted) == 0 ||
        (arcp__mcp_link_offers(server->link) & needed) == 0) {
        arcp__mcp_put_error(out, c->post.id, ARCP__MCP_INVALID_PARAMS,
                            "the server does not offer this");
        return false;
    }
    return true;
}

bool arcp__tool_ask_fetch(arcp__tool_call *c, const arcp__tool_server *server, arcp_span own,
                          arcp_buf *out)
{
    const char *method = arcp__mcp_method_name(c->post.method);
    c->server_name = server->options->name;
    arcp_buf_append_format(&c->target, "%s.%s", server->options->name, method);
    return arcp__tool_ask_gate(c, out) && is_served(c, server, out) && ask_subject(c, own, out) &&
           arcp__tool_hold_price(c, server->options, arcp_span_cstr(method), out);
}
