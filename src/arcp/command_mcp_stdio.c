/* `arcp mcp-stdio`: the gateway for tools, for clients that only start commands. Each line of
 * standard input is posted to it, and what it responds is written to standard output.
 *
 *   client --stdin--> line --POST--> gateway
 *   client <--stdout-- line <-- response, or events of a stream
 *
 * Requests are under way at the same time. A request gets exactly one response: without one of the
 * gateway it gets an error. The end of the input ends the program when all have theirs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include <arcp/secret.h>

#include "arcp/command.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "mcp/mcp.h"
#include "mcp/mcp_answer.h"
#include "mcp/mcp_remote.h"
#include "setup/setup.h"
#include "stream/stream.h"
#include "json/json.h"

#define UNDER_WAY_MAX 64u /* requests; then the client is not read */
#define CLOSING_TURNS 8   /* each handle needs one */

typedef struct bridge {
    arcp__program *program;
    const char *url;
    arcp_buf headers; /* secret: those of every request, a NUL behind each */
    uv_loop_t loop;
    arcp__loop_share *share;
    arcp__stream *in; /* NULL: ended */
    arcp__mcp_lines lines;
    const arcp__web_client_ops *ops;
    arcp__web_client *client;
    struct post *posts; /* under way */
    size_t under_way;
    bool has_failed; /* standard output cannot be written */
} bridge;

/* A message that was posted. */
typedef struct post {
    struct post *prev, *next; /* of the bridge */
    bridge *bridge;
    arcp_buf line;
    arcp_buf id; /* as JSON; empty: it is no request */
    arcp_buf headers;
    bool is_notice; /* a notification, which has no response */
    bool is_stream, is_answered;
    unsigned status;
    arcp_buf body;
    arcp__mcp_stream stream;
} post;

/* ---- to the client ---- */

static void end_input(bridge *b)
{
    arcp__stream_close(&b->in);
}

/* Writes a line with its line feed, and frees it. */
static void write_line(bridge *b, arcp_buf *line)
{
    if (b->has_failed) {
        arcp_buf_fini(line);
    } else if (!arcp__program_print_buf(b->program, line)) {
        b->has_failed = true;
        end_input(b);
    }
}

/* An empty id: that of the message is not known. */
static void fail(bridge *b, arcp_span id, const char *why)
{
    arcp_buf line = arcp_buf_init();
    arcp__mcp_put_error(&line, id, ARCP__MCP_INTERNAL_ERROR, why);
    write_line(b, &line);
}

static arcp_json_ref member(const arcp_json *json, arcp_json_ref object, const char *name)
{
    return arcp_json_is(json, object, ARCP_JSON_OBJECT)
               ? arcp_json_member(json, object, arcp_span_cstr(name))
               : ARCP_JSON_ABSENT;
}

/* A message of the gateway, on one line. A refusal that knows no id gets that of the request. */
static void take_message(post *p, arcp_span text)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf line = arcp_buf_init();
    arcp_buf room = arcp_buf_init();
    if (arcp_json_scan(&json, text, NULL, NULL) != ARCP_OK ||
        !arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        arcp__json_fini(&json);
        return;
    }
    const arcp_json_ref id = member(&json, ARCP_JSON_ROOT, "id");
    const arcp_json_ref why = member(&json, member(&json, ARCP_JSON_ROOT, "error"), "message");
    const bool is_response = member(&json, ARCP_JSON_ROOT, "method") == ARCP_JSON_ABSENT;
    if (is_response && p->is_notice) {
        /* No client waits for it. */
    } else if (is_response && p->id.size != 0 && arcp_json_is_missing(&json, id)) {
        const arcp_span reason = arcp_json_string(&json, why, &room);
        arcp_buf message = arcp_buf_init();
        arcp_buf_append(&message, reason);
        fail(p->bridge, arcp_buf_span(&p->id),
             reason.size == 0 ? "the gateway has refused the request" : arcp_buf_cstr(&message));
        arcp_buf_fini(&message);
    } else {
        arcp_json_compact(&json, ARCP_JSON_ROOT, &line);
        arcp_buf_append_byte(&line, '\n');
        write_line(p->bridge, &line);
    }
    p->is_answered = p->is_answered || is_response;
    arcp_buf_fini(&line);
    arcp_buf_fini(&room);
    arcp__json_fini(&json);
}

/* ---- the gateway ---- */

static void post_free(post *p)
{
    DL_DELETE(p->bridge->posts, p);
    p->bridge->under_way--;
    arcp_buf_fini(&p->line);
    arcp_buf_fini(&p->id);
    arcp_buf_fini(&p->headers);
    arcp_buf_fini(&p->body);
    arcp__mcp_stream_fini(&p->stream);
    arcp__free(p);
}

static void on_head(void *user, const arcp__web_client_head *head)
{
    post *p = user;
    p->status = head->status;
    for (size_t i = 0; i < head->field_count; i++) {
        const arcp__web_field *field = &head->fields[i];
        if (field->name.size == strlen("content-type") &&
            strncasecmp(field->name.data, "content-type", field->name.size) == 0) {
            p->is_stream =
                arcp_span_starts_with(field->value, ARCP_SPAN_LITERAL("text/event-stream"));
        }
    }
}

static bool on_body(void *user, arcp_span piece)
{
    post *p = user;
    if (!p->is_stream) {
        if (p->body.size + piece.size <= ARCP__MCP_LINE_BYTES_MAX) {
            arcp_buf_append(&p->body, piece);
        }
        return true;
    }
    arcp_span data;
    arcp__mcp_line_event event;
    while ((event = arcp__mcp_stream_next(&p->stream, &piece, &data)) != ARCP__MCP_LINE_NONE) {
        if (event == ARCP__MCP_LINE) {
            take_message(p, data);
        }
    }
    return true;
}

static void on_done(void *user, const arcp__web_client_end *end)
{
    post *p = user;
    bridge *b = p->bridge;
    if (!p->is_stream && p->body.size != 0) {
        take_message(p, arcp_buf_span(&p->body));
    }
    if (p->id.size != 0 && !p->is_answered) {
        arcp_buf why = arcp_buf_init();
        if (end->outcome != ARCP__WEB_DONE) {
            arcp_buf_append_format(&why, "the gateway %s", end->problem);
        } else {
            arcp_buf_append_format(&why, "the gateway has responded with status %u", p->status);
        }
        fail(b, arcp_buf_span(&p->id), arcp_buf_cstr(&why));
        arcp_buf_fini(&why);
    }
    post_free(p);
    if (b->in != NULL && b->under_way < UNDER_WAY_MAX) {
        b->in->ops->start(b->in);
    }
}

static void add_header(arcp_buf *out, const char *name, arcp_span value)
{
    if (value.size != 0) {
        arcp_buf_append_format(out, "%s: %.*s", name, (int)value.size, value.data);
        arcp_buf_append_byte(out, '\0');
    }
}

/* What version 2026-07-28 repeats of a message in headers. */
static void add_headers(const arcp_json *json, arcp_buf *out)
{
    const arcp_json_ref params = member(json, ARCP_JSON_ROOT, "params");
    const arcp_json_ref version =
        member(json, member(json, params, "_meta"), "io.modelcontextprotocol/protocolVersion");
    arcp_buf room = arcp_buf_init();
    if (version != ARCP_JSON_ABSENT) {
        add_header(out, "MCP-Protocol-Version", arcp_json_string(json, version, &room));
        arcp_buf_clear(&room);
        add_header(out, "Mcp-Method",
                   arcp_json_string(json, member(json, ARCP_JSON_ROOT, "method"), &room));
        arcp_buf_clear(&room);
        const arcp_json_ref name = member(json, params, "name");
        add_header(out, "Mcp-Name",
                   arcp_json_string(
                       json, name == ARCP_JSON_ABSENT ? member(json, params, "uri") : name, &room));
    }
    out->failed = out->failed || room.failed;
    arcp_buf_fini(&room);
}

/* Reads of a line what is needed to post it. A line that is no JSON is posted as it is: the gateway
 * says what is wrong with it. */
static void read_line(post *p)
{
    arcp_json json = ARCP__JSON_INIT;
    if (arcp_json_scan(&json, arcp_buf_span(&p->line), NULL, NULL) == ARCP_OK) {
        const arcp_json_ref id = member(&json, ARCP_JSON_ROOT, "id");
        const bool has_method = member(&json, ARCP_JSON_ROOT, "method") != ARCP_JSON_ABSENT;
        p->is_notice = has_method && arcp_json_is_missing(&json, id);
        if (has_method && !p->is_notice) {
            arcp_buf_append(&p->id, arcp_json_raw(&json, id));
        }
        add_headers(&json, &p->headers);
    }
    arcp__json_fini(&json);
}

static void send_line(bridge *b, arcp_span line)
{
    static const arcp__web_call_events events = {on_head, on_body, on_done};
    post *p = arcp__alloc(sizeof *p);
    arcp__web_call *call = NULL;
    arcp_error err = {0};
    if (p == NULL) {
        fail(b, arcp_span_make(NULL, 0), "out of memory");
        return;
    }
    b->under_way++;
    DL_APPEND(b->posts, p);
    p->bridge = b;
    arcp_buf_append(&p->line, line);
    arcp_buf_append(&p->headers, arcp_buf_span(&b->headers));
    read_line(p);
    const arcp__web_client_request request = {.method = "POST",
                                              .url = b->url,
                                              .headers = arcp_buf_span(&p->headers),
                                              .body = arcp_buf_span(&p->line),
                                              .events = &events,
                                              .user = p};
    if (p->line.failed || p->id.failed || p->headers.failed) {
        (void)arcp_error_set(&err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (b->ops->send(b->client, &request, &call, &err) == ARCP_OK) {
        return;
    }
    fail(b, arcp_buf_span(&p->id), err.message);
    post_free(p);
}

/* ---- from the client ---- */

static void take_line(bridge *b, arcp__mcp_line_event event, arcp_span line)
{
    if (event == ARCP__MCP_LINE) {
        send_line(b, line);
    } else {
        fail(b, line,
             event == ARCP__MCP_LINE_TOO_LONG ? "the message has more than 8 MiB"
                                              : "out of memory");
    }
}

static void on_bytes(void *user, arcp_span bytes)
{
    bridge *b = user;
    arcp_span line;
    arcp__mcp_line_event event;
    while (b->in != NULL &&
           (event = arcp__mcp_lines_next(&b->lines, &bytes, &line)) != ARCP__MCP_LINE_NONE) {
        take_line(b, event, line);
    }
    if (b->in != NULL && b->under_way >= UNDER_WAY_MAX) {
        b->in->ops->stop(b->in);
    }
}

static void on_ended(void *user, const arcp_error *why)
{
    bridge *b = user;
    arcp_span line;
    const arcp__mcp_line_event event = arcp__mcp_lines_last(&b->lines, &line);
    (void)why;
    if (event != ARCP__MCP_LINE_NONE) {
        take_line(b, event, line);
    }
    end_input(b);
}

/* ---- the command ---- */

static arcp_status open_bridge(bridge *b, arcp_error *err)
{
    void *module = NULL; /* stays loaded */
    const char *key = getenv("ARCP_MCP_KEY");
    const arcp__web_client_options options = {.loop = &b->loop, .keeps_connections = true};
    b->url = getenv("ARCP_MCP_URL");
    if (b->url == NULL || b->url[0] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "ARCP_MCP_URL is not set: only a job, or a command of `arcp run`, "
                              "that has a gateway for tools has it");
    }
    add_header(&b->headers, "Content-Type", ARCP_SPAN_LITERAL("application/json"));
    add_header(&b->headers, "Accept", ARCP_SPAN_LITERAL("application/json, text/event-stream"));
    if (key != NULL && key[0] != '\0') {
        arcp_buf_append_format(&b->headers, "Authorization: Bearer %s", key);
        arcp_buf_append_byte(&b->headers, '\0');
    }
    arcp_status status = arcp__module_open(ARCP__WEB_CLIENT_MODULE, ARCP__WEB_CLIENT_SYMBOL,
                                           "mcp-stdio", &module, &b->ops, err);
    if (status == ARCP_OK) {
        status = b->ops->create(&options, &b->client, err);
    }
    b->share = arcp__loop_share_new(&b->loop);
    if (status == ARCP_OK && b->share == NULL) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK) {
        status = arcp__fd_stream_new(b->share, STDIN_FILENO, &b->in, err);
    }
    if (status == ARCP_OK) {
        b->in->events = (arcp__stream_events){on_bytes, on_ended, NULL, b};
        b->in->ops->start(b->in);
    }
    return status;
}

static void close_bridge(bridge *b)
{
    end_input(b);
    if (b->client != NULL) {
        b->ops->free(b->client);
    }
    while (b->posts != NULL) {
        post_free(b->posts);
    }
    if (b->share != NULL) {
        arcp__loop_share_unref(b->share);
    }
    for (size_t i = 0; i < CLOSING_TURNS && uv_loop_alive(&b->loop) != 0; i++) {
        (void)uv_run(&b->loop, UV_RUN_NOWAIT);
    }
    (void)uv_loop_close(&b->loop);
    arcp__mcp_lines_fini(&b->lines);
    arcp_buf_fini(&b->headers);
}

int arcp__command_mcp_stdio(arcp__program *program)
{
    bridge b = {.program = program, .headers = arcp_buf_secret_init()};
    arcp_error err = {0};
    if (uv_loop_init(&b.loop) != 0) {
        return ARCP__EXIT_ERROR;
    }
    const arcp_status status = open_bridge(&b, &err);
    while (status == ARCP_OK && !b.has_failed && (b.in != NULL || b.under_way != 0)) {
        (void)uv_run(&b.loop, UV_RUN_ONCE);
    }
    close_bridge(&b);
    if (status == ARCP_E_USAGE) {
        return arcp__program_usage(program, &err);
    }
    if (status != ARCP_OK) {
        arcp__program_say(program, "%s", err.message);
    }
    return status == ARCP_OK && !b.has_failed ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}
