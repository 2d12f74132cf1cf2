/* What a request is asked before it is sent: the gate, the arguments that are paths or URLs, the
 * price. What is not allowed is recorded, and its response written. */
#include <stdio.h>

#include "gateway/tool_parts.h"

/* ---- denials ---- */

static void put_denied(const arcp__tool_call *c, arcp_status code, arcp_span message,
                       arcp_span details, arcp_buf *out)
{
    if (c->post.kind == ARCP__MCP_POST_CALL) {
        arcp__mcp_put_denied(out, c->post.id, c->post.is_modern, code, message, details);
    } else {
        arcp__mcp_put_denied_error(out, c->post.id, code, message, details);
    }
}

void arcp__tool_put_refusal(const arcp__tool_call *c, const char *code, const char *text,
                            arcp_buf *out)
{
    if (c->post.kind == ARCP__MCP_POST_CALL) {
        arcp__mcp_put_refusal(out, c->post.id, c->post.is_modern, code, arcp_buf_span(&c->target),
                              text);
    } else {
        arcp__mcp_put_error(out, c->post.id, ARCP__MCP_INTERNAL_ERROR, text);
    }
}

void arcp__tool_deny(const arcp__tool_call *c, const arcp_decision *decision, arcp_buf *out)
{
    arcp__gateway_job *job = c->call->job;
    arcp_buf message = arcp_buf_init();
    arcp_buf details = arcp_buf_init();
    arcp__gateway_job_deny(job, decision->code, decision->capability, decision->target,
                           arcp_span_cstr(arcp_deny_reason_name(decision->reason)));
    arcp_decision_format_message(decision, &message);
    arcp_decision_format_details(job->authority, decision, &details);
    out->failed = out->failed || message.failed || details.failed;
    if (!out->failed) {
        put_denied(c, decision->code, arcp_buf_span(&message), arcp_buf_span(&details), out);
    }
    arcp_buf_fini(&details);
    arcp_buf_fini(&message);
}

void arcp__tool_deny_fault(const arcp__tool_call *c, arcp_span capability, const char *fault,
                           arcp_buf *out)
{
    arcp__gateway_job_deny(c->call->job, ARCP_E_PERMISSION_DENIED, capability,
                           arcp_buf_span(&c->target), arcp_span_cstr(fault));
    arcp__tool_put_refusal(c, "PERMISSION_DENIED", fault, out);
}

void arcp__tool_say_why(const arcp__tool_server *server, char text[ARCP_ERROR_MESSAGE_MAX])
{
    (void)snprintf(text, ARCP_ERROR_MESSAGE_MAX, "the server \"%s\" does not run: %.300s",
                   server->options->name, server->why);
}

/* ---- questions ---- */

bool arcp__tool_ask_gate(const arcp__tool_call *c, arcp_buf *out)
{
    arcp_buf details = arcp_buf_init();
    arcp_error err = {0};
    const bool is_allowed = arcp__gateway_job_authorize(
        c->call->job, ARCP_SPAN_LITERAL("tool.call"), arcp_buf_span(&c->target), &details, &err);
    if (!is_allowed && details.size != 0) {
        put_denied(c, err.status, arcp_span_cstr(err.message), arcp_buf_span(&details), out);
    } else if (!is_allowed) {
        const char *code = arcp_status_wire_code(err.status);
        arcp__tool_put_refusal(c, code == NULL ? "PERMISSION_DENIED" : code, err.message, out);
    }
    arcp_buf_fini(&details);
    return is_allowed;
}

bool arcp__tool_ask_targets(const arcp__tool_call *c, const arcp__tool_server_options *options,
                            arcp_span tool, arcp_buf *arguments, arcp_buf *out)
{
    arcp__mcp_question question = {.rules = options->targets,
                                   .rule_count = options->target_count,
                                   .tool = tool,
                                   .json = &c->post.json,
                                   .arguments = c->post.arguments,
                                   .authority = c->call->job->authority,
                                   .now = arcp__gateway_now(c->service->gateway)};
    const arcp_status status = arcp__mcp_question_ask(&question, arguments);
    const bool is_allowed = status == ARCP_OK && question.is_allowed;
    if (status != ARCP_OK) {
        out->failed = true;
    } else if (!is_allowed && question.fault != NULL) {
        arcp__tool_deny_fault(c, question.capability, question.fault, out);
    } else if (!is_allowed) {
        arcp__tool_deny(c, &question.decision, out);
    }
    arcp__mcp_question_fini(&question);
    return is_allowed;
}

bool arcp__tool_hold_price(arcp__tool_call *c, const arcp__tool_server_options *options,
                           arcp_span tool, arcp_buf *out)
{
    arcp_decision decision = {0};
    c->price = arcp__mcp_price_find(options->prices, options->price_count, tool);
    const arcp__mcp_hold hold = arcp__mcp_price_hold(c->price, c->call->job->authority,
                                                     arcp_buf_span(&c->target), &decision);
    c->is_held = hold == ARCP__MCP_HOLD_RESERVED;
    if (hold == ARCP__MCP_HOLD_NO_CURRENCY) {
        char fault[ARCP_ERROR_MESSAGE_MAX];
        (void)snprintf(fault, sizeof fault, "the tool costs %.*s, which cost.budget does not name",
                       (int)c->price->currency.size, c->price->currency.data);
        arcp__tool_deny_fault(c, ARCP_SPAN_LITERAL("tool.call"), fault, out);
    } else if (hold == ARCP__MCP_HOLD_EXHAUSTED) {
        arcp__tool_deny(c, &decision, out);
    }
    return hold == ARCP__MCP_HOLD_RESERVED || hold == ARCP__MCP_HOLD_NOTHING;
}
