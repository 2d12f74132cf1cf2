/* One request of a client: it is read, waits for the servers that it needs, is decided, sent, and
 * answered.
 *
 *   begin -> (waits for servers) -> list: answered
 *                                -> call: gate, targets, price -> sent -> progress ... -> answered
 *
 * Every way out goes through arcp__tool_call_finish(), which settles the price. */
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/random.h"
#include "gateway/tool_parts.h"
#include "json/json_put.h"

/* Progress that a slow client has not read is left out beyond this. */
#define UNSENT_BYTES_MAX ((size_t)256 * 1024)

/* ---- responses ---- */

static void respond(arcp__tool_call *c, int status, arcp_span body)
{
    const arcp__web_response response = {
        .status = status, .type = body.size == 0 ? NULL : "application/json", .body = body};
    arcp__gateway_call_respond(c->call, &response);
}

/* A complete message, as it is or as the last event of the stream. */
void arcp__tool_call_respond(arcp__tool_call *c, arcp_buf *message)
{
    arcp_buf event = arcp_buf_init();
    if (message->failed) {
        arcp__gateway_call_refuse(c->call, 503, "buffers", ARCP_SPAN_LITERAL("out of memory"));
    } else if (c->is_streaming) {
        arcp__mcp_put_event(&event, arcp_buf_span(message));
        arcp__gateway_call_write(c->call, arcp_buf_span(&event));
        arcp__gateway_call_end(c->call);
    } else {
        respond(c, 200, arcp_buf_span(message));
    }
    arcp_buf_fini(&event);
}

/* ---- the end ---- */

static void settle_price(arcp__tool_call *c)
{
    arcp_budget_report reports[ARCP__JOB_PORT_REPORTS_MAX];
    const bool was_sent = c->server != NULL;
    if (c->is_held) {
        c->is_held = false;
        const size_t count = arcp__mcp_price_settle(c->price, c->call->job->authority, was_sent,
                                                    reports, sizeof reports / sizeof reports[0]);
        if (was_sent) {
            arcp__tool_say_cost(c, reports, count);
        }
    }
}

static void on_closed(uv_handle_t *handle)
{
    arcp__tool_call *c = handle->data;
    arcp__tool_handle_closed(c->service);
    arcp__mcp_post_fini(&c->post);
    arcp_buf_fini(&c->target);
    arcp_buf_fini(&c->params);
    arcp__mcp_gather_fini(&c->gather);
    arcp__tool_config_unref(c->config);
    arcp__free(c);
}

/* The request was answered, or its client has left. */
void arcp__tool_call_finish(arcp__tool_call *c)
{
    arcp__gateway_call *call = c->call;
    settle_price(c);
    if (c->post.kind == ARCP__MCP_POST_CALL || c->post.kind == ARCP__MCP_POST_FETCH) {
        const int64_t took_ns = arcp__gateway_now(c->service->gateway).mono_ns - c->sent_at.mono_ns;
        arcp__tool_count(c->service->counts, c->server_name, c->outcome,
                         c->server == NULL ? -1 : took_ns);
    }
    DL_DELETE(c->service->calls, c);
    c->call = NULL;
    call->state = NULL;
    uv_close((uv_handle_t *)&c->timer, on_closed);
    arcp__gateway_call_done(call);
    arcp__tool_sweep(c->service);
}

static arcp__tool_log log_of(const arcp__tool_call *c)
{
    return c->server == NULL ? ARCP__TOOL_LOG_NONE : c->server->options->log;
}

void arcp__tool_call_refuse(arcp__tool_call *c, const char *code, const char *text)
{
    arcp_buf message = arcp_buf_init();
    if (c->has_said_call) {
        arcp__tool_say_result(c, log_of(c), arcp_span_make(NULL, 0), code, text);
    }
    arcp__tool_put_refusal(c, code, text, &message);
    arcp__tool_call_respond(c, &message);
    arcp_buf_fini(&message);
    arcp__tool_call_finish(c);
}

void arcp__tool_call_fail(arcp__tool_call *c, int code, const char *text)
{
    arcp_buf message = arcp_buf_init();
    arcp__mcp_put_error(&message, c->post.id, code, text);
    arcp__tool_call_respond(c, &message);
    arcp_buf_fini(&message);
    arcp__tool_call_finish(c);
}

void arcp__tool_call_stop(arcp__tool_call *c, arcp_status status, const char *why)
{
    const char *code = arcp_status_wire_code(status);
    if (c->server != NULL) {
        arcp__tool_server_cancel(c->server, c->id, why);
    }
    arcp__tool_call_refuse(c, code == NULL ? "INTERNAL_ERROR" : code, why);
}

/* ---- events of the server ---- */

static void on_timeout(uv_timer_t *timer)
{
    arcp__tool_call *c = timer->data;
    if (c->post.kind == ARCP__MCP_POST_GATHER) {
        arcp__tool_server_cancel(c->server, c->id, "it did not respond in time");
        arcp__tool_call_failed(c, "it did not respond in time");
        return;
    }
    arcp__tool_call_stop(c, ARCP_E_TIMEOUT, "the tool did not respond in time");
}

/* Until the next progress, and not beyond the whole time of the call. */
static void set_timer(arcp__tool_call *c)
{
    uv_loop_t *loop = arcp__gateway_loop(c->service->gateway);
    const uint64_t used_ms = uv_now(loop) - c->begun_ms;
    const uint64_t total_ms = c->server->options->total_ms;
    const uint64_t left_ms = used_ms < total_ms ? total_ms - used_ms : 0;
    const uint64_t wait_ms = c->server->options->timeout_ms;
    (void)uv_timer_start(&c->timer, on_timeout, wait_ms < left_ms ? wait_ms : left_ms, 0);
}

static void begin_stream(arcp__tool_call *c)
{
    static const char headers[] = "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
    const arcp__web_response response = {
        .status = 200, .type = "text/event-stream", .headers = headers, .is_streamed = true};
    c->is_streaming = true;
    arcp__gateway_call_respond(c->call, &response);
}

void arcp__tool_call_progress(arcp__tool_call *c, const arcp_json *json, arcp_json_ref params)
{
    arcp_buf message = arcp_buf_init();
    arcp_buf event = arcp_buf_init();
    set_timer(c);
    if (!c->is_streaming) {
        begin_stream(c);
    }
    if (arcp__gateway_call_unsent(c->call) < UNSENT_BYTES_MAX) {
        arcp__mcp_put_progress(&message, c->post.token, json, params);
        arcp__mcp_put_event(&event, arcp_buf_span(&message));
        if (!message.failed && !event.failed) {
            arcp__gateway_call_write(c->call, arcp_buf_span(&event));
        }
    }
    arcp_buf_fini(&event);
    arcp_buf_fini(&message);
}

void arcp__tool_call_answered(arcp__tool_call *c, const arcp_json *json, arcp_json_ref outcome,
                              bool is_error)
{
    arcp_buf message = arcp_buf_init();
    arcp_buf result = arcp_buf_init();
    const char *why = NULL;
    if (c->post.kind == ARCP__MCP_POST_GATHER) {
        arcp__tool_gathered(c, json, outcome, is_error);
        return;
    }
    if (is_error) {
        arcp__mcp_put_server_error(&message, c->post.id, json, outcome);
    } else {
        why = arcp__mcp_put_outcome(&message, c->post.id, c->post.is_modern, json, outcome);
    }
    if (why != NULL) {
        arcp__tool_call_refuse(c, "INTERNAL_ERROR", why);
    } else {
        c->outcome = is_error ? ARCP__TOOL_FAILED : ARCP__TOOL_ANSWERED;
        arcp_json_compact(json, outcome, &result);
        arcp__tool_say_result(c, log_of(c),
                              is_error ? arcp_span_make(NULL, 0) : arcp_buf_span(&result),
                              "INTERNAL_ERROR", "the server has returned an error");
        arcp__tool_call_respond(c, &message);
        arcp__tool_call_finish(c);
    }
    arcp_buf_fini(&result);
    arcp_buf_fini(&message);
}

void arcp__tool_call_failed(arcp__tool_call *c, const char *why)
{
    char text[ARCP_ERROR_MESSAGE_MAX];
    (void)snprintf(text, sizeof text, "the server \"%s\": %.400s", c->server->options->name, why);
    if (c->post.kind == ARCP__MCP_POST_GATHER) {
        arcp__tool_gather_failed(c, text);
        return;
    }
    arcp__tool_call_refuse(c, "INTERNAL_ERROR", text);
}

/* ---- servers ---- */

arcp__tool_server *arcp__tool_call_server(arcp__tool_call *c,
                                          const arcp__tool_server_options *options)
{
    return arcp__tool_server_of(c->service, c->call->job, c->config, options);
}

/* The one that a call is for; NULL: there is none with that name. `*name` is the tool's own name,
 * or all of SERVER__TOOL. */
static const arcp__tool_server_options *called_server(const arcp__tool_call *c,
                                                      arcp__mcp_called *called)
{
    if (c->only.size != 0) {
        *called = (arcp__mcp_called){c->only, c->post.tool, true};
    } else if (!arcp__mcp_called_read(c->post.tool, called)) {
        return NULL;
    }
    return arcp__tool_config_find(c->config, called->server);
}

/* Wakes the servers that the request needs, and returns whether all are settled. */
static bool are_settled(arcp__tool_call *c, bool wakes)
{
    arcp__mcp_called called;
    arcp_span own;
    const arcp__tool_server_options *one = NULL;
    bool are_all = true;
    if (c->post.kind == ARCP__MCP_POST_CALL) {
        one = called_server(c, &called);
    } else if (c->post.kind == ARCP__MCP_POST_FETCH) {
        one = arcp__tool_fetch_server(c, &own);
    } else if (c->only.size != 0) {
        one = arcp__tool_config_find(c->config, c->only);
    }
    const bool is_one = c->post.kind == ARCP__MCP_POST_CALL ||
                        c->post.kind == ARCP__MCP_POST_FETCH || c->only.size != 0;
    for (size_t i = 0; i < c->config->server_count; i++) {
        const arcp__tool_server_options *options = &c->config->servers[i];
        const bool is_needed = is_one ? options == one : arcp__tool_is_gathered(c, options);
        arcp__tool_server *server = is_needed ? arcp__tool_call_server(c, options) : NULL;
        if (server != NULL && wakes) {
            arcp__tool_server_wake(server);
        }
        are_all = are_all && (server == NULL || !arcp__tool_server_is_pending(server));
    }
    return are_all;
}

/* ---- tools/call ---- */

static void begin_span(arcp__tool_call *c)
{
    c->sent_at = arcp__gateway_now(c->service->gateway);
    if (c->call->job->makes_spans) {
        uint8_t bytes[ARCP__SPAN_ID_SIZE / 2];
        arcp__random(bytes, sizeof bytes);
        bytes[0] |= 1; /* it must not be zero */
        arcp__hex_format(bytes, sizeof bytes, c->span_id);
    }
}

arcp_status arcp__tool_call_send(arcp__tool_call *c, arcp__tool_server *server,
                                 const arcp__mcp_link_call *call, arcp_error *err)
{
    c->outcome = ARCP__TOOL_FAILED; /* unless it is answered */
    const arcp_status status = arcp__tool_server_send(server, call, &c->id, err);
    if (status == ARCP_OK) {
        c->server = server;
        begin_span(c);
        c->begun_ms = uv_now(arcp__gateway_loop(c->service->gateway));
        set_timer(c);
    }
    return status;
}

/* Whether the definition of the tool may be relied on. */
static bool is_unchanged(arcp__tool_call *c, const arcp__mcp_tool *tool)
{
    arcp__tool_job *job = arcp__tool_job_of(c->call->job);
    arcp__mcp_change change = ARCP__MCP_CHANGED;
    return !c->config->refuses_changes ||
           (job != NULL && arcp__mcp_seen_check(&job->seen, tool, &change) == ARCP_OK &&
            (change == ARCP__MCP_UNCHANGED || change == ARCP__MCP_FIRST_SEEN));
}

/* Ends with a response that was written instead of sending. */
static void end_with(arcp__tool_call *c, arcp_buf *message)
{
    arcp__tool_call_respond(c, message);
    arcp__tool_call_finish(c);
    arcp_buf_fini(message);
}

static void send_call(arcp__tool_call *c, arcp__tool_server *server, arcp_span tool)
{
    arcp_buf arguments = arcp_buf_init();
    arcp_buf message = arcp_buf_init();
    arcp_error err = {0};
    if (!arcp__tool_ask_targets(c, server->options, tool, &arguments, &message) ||
        !arcp__tool_hold_price(c, server->options, tool, &message)) {
        arcp_buf_fini(&arguments);
        end_with(c, &message);
        return;
    }
    const arcp__mcp_link_call call = {.tool = tool,
                                      .arguments = arcp_buf_span(&arguments),
                                      .wants_progress =
                                          c->post.token.size != 0 && c->post.may_stream,
                                      .call = c};
    arcp__tool_say_call(c, server->options->log);
    if (arcp__tool_call_send(c, server, &call, &err) != ARCP_OK) {
        arcp__tool_call_refuse(c, "INTERNAL_ERROR", err.message);
    }
    arcp_buf_fini(&arguments);
}

static void call_tool(arcp__tool_call *c)
{
    arcp__mcp_called called = {0};
    const arcp__tool_server_options *options = called_server(c, &called);
    arcp__tool_server *server = options == NULL ? NULL : arcp__tool_call_server(c, options);
    const arcp__mcp_tool *tool = NULL;
    c->server_name = options == NULL ? "" : options->name;
    if (server != NULL && server->tools != NULL) {
        tool = called.is_own ? arcp__mcp_toolset_find(server->tools, called.name)
                             : arcp__mcp_toolset_find_listed(server->tools, called.name);
    }
    if (tool != NULL) {
        arcp_buf_append(&c->target, tool->target);
    } else if (c->only.size != 0) {
        arcp_buf_append_format(&c->target, "%.*s.%.*s", (int)c->only.size, c->only.data,
                               (int)c->post.tool.size, c->post.tool.data);
    } else if (options != NULL && !called.is_own) {
        /* Of a server that does not run, or has no such tool: as it would be called. */
        const arcp_span name = arcp_span_from(called.name, called.server.size + 2);
        arcp_buf_append_format(&c->target, "%.*s.%.*s", (int)called.server.size, called.server.data,
                               (int)name.size, name.data);
    } else {
        arcp_buf_append(&c->target, c->post.tool);
    }
    /* The gate is asked first, so that a denied name says nothing of what servers have. */
    arcp_buf message = arcp_buf_init();
    if (!arcp__tool_ask_gate(c, &message)) {
        end_with(c, &message);
        return;
    }
    if (server != NULL && server->state != ARCP__TOOL_READY) {
        char text[ARCP_ERROR_MESSAGE_MAX];
        c->outcome = ARCP__TOOL_FAILED;
        arcp__tool_say_why(server, text);
        arcp__tool_call_refuse(c, "INTERNAL_ERROR", text);
    } else if (tool == NULL) {
        arcp__tool_call_fail(c, ARCP__MCP_INVALID_PARAMS, "there is no such tool");
    } else if (!is_unchanged(c, tool)) {
        arcp__tool_call_refuse(c, "PERMISSION_DENIED", "the definition of the tool has changed");
    } else {
        send_call(c, server, tool->name);
    }
}

/* ---- resources/read, prompts/get, completion/complete ---- */

static void fetch(arcp__tool_call *c)
{
    arcp_span own;
    const arcp__tool_server_options *options = arcp__tool_fetch_server(c, &own);
    arcp__tool_server *server = options == NULL ? NULL : arcp__tool_call_server(c, options);
    arcp_buf message = arcp_buf_init();
    arcp_error err = {0};
    if (server == NULL) {
        arcp__tool_call_fail(c, ARCP__MCP_INVALID_PARAMS,
                             "it names no server: a URI must be arcp+SERVER+URI, a name "
                             "SERVER__NAME, as they are listed");
        return;
    }
    if (!arcp__tool_ask_fetch(c, server, own, &message)) {
        end_with(c, &message);
        return;
    }
    const arcp__mcp_link_call call = {.method = arcp__mcp_method_name(c->post.method),
                                      .params = arcp_buf_span(&c->params),
                                      .call = c};
    arcp__tool_say_call(c, options->log);
    if (c->params.failed || arcp__tool_call_send(c, server, &call, &err) != ARCP_OK) {
        arcp__tool_call_refuse(c, "INTERNAL_ERROR",
                               c->params.failed ? "out of memory" : err.message);
    }
}

/* ---- tools/list ---- */

/* The list of one server is an error when the server does not run; that of all leaves it out. */
static void list_tools(arcp__tool_call *c)
{
    const arcp__tool_server_options *only =
        c->only.size == 0 ? NULL : arcp__tool_config_find(c->config, c->only);
    const arcp__tool_server *server = only == NULL ? NULL : arcp__tool_call_server(c, only);
    if (server != NULL && server->state != ARCP__TOOL_READY) {
        char text[ARCP_ERROR_MESSAGE_MAX];
        arcp__tool_say_why(server, text);
        arcp__tool_call_fail(c, ARCP__MCP_INTERNAL_ERROR, text);
    } else {
        arcp__tool_call_list(c);
    }
}

/* ---- the beginning ---- */

static void go_on(arcp__tool_call *c)
{
    if (c->server != NULL || c->post.kind == ARCP__MCP_POST_ANSWER || !are_settled(c, false)) {
        return;
    }
    if (c->post.kind == ARCP__MCP_POST_LIST) {
        list_tools(c);
    } else if (c->post.kind == ARCP__MCP_POST_GATHER) {
        arcp__tool_gather(c);
    } else if (c->post.kind == ARCP__MCP_POST_FETCH) {
        fetch(c);
    } else {
        call_tool(c);
    }
}

void arcp__tool_calls_go_on(arcp__tool_service_state *service)
{
    arcp__tool_call *c;
    arcp__tool_call *next;
    DL_FOREACH_SAFE (service->calls, c, next) {
        go_on(c);
    }
}

/* Of the same job, by the id that its client has chosen. */
static void cancel(const arcp__tool_call *by)
{
    arcp__tool_call *c;
    DL_FOREACH (by->service->calls, c) {
        if (c != by && c->call->job == by->call->job &&
            arcp_span_equal(c->post.id, by->post.cancelled)) {
            arcp__tool_call_stop(c, ARCP_E_CANCELLED, "the client has cancelled the call");
            return;
        }
    }
}

static void read_headers(const arcp__web_head *head, arcp__mcp_headers *out)
{
    struct {
        const char *name;
        arcp_span *value;
    } const wanted[] = {{"content-type", &out->content_type},
                        {"mcp-protocol-version", &out->version},
                        {"mcp-method", &out->method},
                        {"mcp-name", &out->name}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const size_t count = arcp__web_head_find(head, wanted[i].name, wanted[i].value);
        *wanted[i].value = count == 0 ? arcp_span_make(NULL, 0) : *wanted[i].value;
        out->is_repeated = out->is_repeated || count > 1;
    }
    if (arcp__web_head_find(head, "accept", &out->accept) == 0) {
        out->accept = arcp_span_make(NULL, 0);
    }
}

static void take_post(arcp__tool_call *c)
{
    arcp__mcp_headers headers = {0};
    arcp_buf answer = arcp_buf_init();
    read_headers(arcp__web_exchange_head(c->call->exchange), &headers);
    c->post.offers = arcp__tool_offers(c);
    if (arcp__mcp_post_read(&c->post, &headers, arcp_buf_span(&c->call->body), &answer) !=
        ARCP_OK) {
        arcp__gateway_call_refuse(c->call, 503, "buffers", ARCP_SPAN_LITERAL("out of memory"));
        arcp__tool_call_finish(c);
    } else if (c->post.kind != ARCP__MCP_POST_ANSWER && c->post.kind != ARCP__MCP_POST_CANCEL) {
        if (arcp__gateway_job_calls(c->call->job) >
            arcp__gateway_limits_of(c->service->gateway)->calls_per_job) {
            arcp__gateway_call_refuse(c->call, 429, "calls",
                                      ARCP_SPAN_LITERAL("the job has too many calls at once"));
            arcp__tool_call_finish(c);
        } else {
            (void)are_settled(c, true);
            go_on(c);
        }
    } else {
        if (c->post.kind == ARCP__MCP_POST_CANCEL) {
            cancel(c);
        }
        respond(c, c->post.status, arcp_buf_span(&answer));
        arcp__tool_call_finish(c);
    }
    arcp_buf_fini(&answer);
}

void arcp__tool_call_begin(arcp__tool_service_state *service, arcp__gateway_call *call)
{
    arcp__tool_call *c = arcp__alloc(sizeof *c);
    if (c == NULL) {
        arcp__gateway_call_refuse(call, 503, "buffers", ARCP_SPAN_LITERAL("out of memory"));
        arcp__gateway_call_done(call);
        return;
    }
    c->service = service;
    c->call = call;
    c->config = arcp__tool_config_ref(service->config);
    c->outcome = ARCP__TOOL_REFUSED;
    c->server_name = "";
    (void)uv_timer_init(arcp__gateway_loop(service->gateway), &c->timer);
    c->timer.data = c;
    service->open_handles++;
    call->state = c;
    DL_APPEND(service->calls, c);
    if (arcp_span_starts_with(call->path, ARCP_SPAN_LITERAL("/s/"))) {
        c->only = arcp_span_from(call->path, 3);
    }
    if (c->only.size != 0 ? arcp__tool_config_find(c->config, c->only) == NULL
                          : !arcp_span_equal_cstr(call->path, "/")) {
        arcp__gateway_call_refuse(call, 404, "not_found",
                                  ARCP_SPAN_LITERAL("there is nothing at this path"));
        arcp__tool_call_finish(c);
    } else if (!arcp_span_equal_cstr(
                   arcp_span_cstr(arcp__web_exchange_head(call->exchange)->method_name), "POST")) {
        const arcp__web_response response = {
            .status = 405, .allow = "POST", .why = "only POST is answered here"};
        arcp__gateway_call_respond(call, &response);
        arcp__tool_call_finish(c);
    } else {
        take_post(c);
    }
}
