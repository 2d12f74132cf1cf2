/* A server behind HTTP. Each message of the link is posted; messages of the server are the bodies
 * of its responses, or events of streams.
 *
 *   send -> QUEUED -> (token, and `initialized` has arrived) -> SENT -> head -> body ... -> done
 *             ^                                                   |
 *             └────────── 401, once: credentials are read anew ───┘
 *
 * A request whose response is missing at `done` gets an error in place of it: it is never sent
 * again, because the server may have carried it out. Nothing is freed from inside an event: what
 * ends the whole is done by the timer, in the next turn. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gateway/tool_parts.h"
#include "mcp/mcp_remote.h"

#define NOTICE_MS   30000 /* for what has no response of its own: notifications, tokens */
#define LEAVE_MS    2000
#define STREAM_MS   5000 /* until the stream of the server is opened again */
#define ERROR_BYTES ((size_t)64 * 1024)

typedef enum post_kind {
    POST_MESSAGE,
    POST_TOKEN,
    POST_STREAM, /* GET: what the server says by itself */
    POST_LEAVE   /* DELETE */
} post_kind;

typedef struct post {
    struct post *prev, *next; /* of the remote */
    arcp__tool_remote *remote;
    post_kind kind;
    arcp__mcp_sent sent;  /* of a message */
    arcp__web_call *call; /* NULL: QUEUED */
    arcp_buf line;        /* what is sent */
    unsigned status;      /* 0: no head has come */
    bool is_stream;
    bool is_busy; /* an event of it is being handled */
    bool has_retried;
    bool is_too_long;
    arcp_buf body; /* unless it is a stream */
    arcp__mcp_stream stream;
} post;

struct arcp__tool_remote {
    arcp__tool_service_state *service;
    arcp__tool_server *server;
    arcp__web_client *client;
    const arcp__web_client_ops *ops;
    arcp__tool_remote_events events;
    arcp_json json; /* of the line that is sent */
    post *posts;
    arcp__tool_secrets secrets;
    char session[ARCP__MCP_SESSION_MAX + 1];
    uv_timer_t timer; /* of the end, or of the stream */
    bool is_opening;  /* `initialized` is under way */
    bool is_asking;   /* for a token */
    bool is_ending, is_polite, has_left;
    char why[ARCP_ERROR_MESSAGE_MAX];
};

static void pump(arcp__tool_remote *remote);

/* ---- posts ---- */

static post *post_new(arcp__tool_remote *remote, post_kind kind)
{
    post *p = arcp__alloc(sizeof *p);
    if (p != NULL) {
        p->remote = remote;
        p->kind = kind;
        p->line = arcp_buf_secret_init(); /* arguments, or a form with a secret */
        DL_APPEND(remote->posts, p);
    }
    return p;
}

static void post_free(post *p)
{
    DL_DELETE(p->remote->posts, p);
    arcp_buf_fini(&p->line);
    arcp_buf_fini(&p->body);
    arcp__mcp_stream_fini(&p->stream);
    arcp__free(p);
}

static void post_cancel(post *p)
{
    if (p->call != NULL) {
        p->remote->ops->cancel(p->call);
    }
    post_free(p);
}

/* ---- the end ---- */

static void on_timer(uv_timer_t *timer);

void arcp__tool_remote_end(arcp__tool_remote *remote, const char *why, bool is_polite)
{
    if (!remote->is_ending) {
        (void)snprintf(remote->why, sizeof remote->why, "%s", why);
        remote->is_ending = true;
        remote->is_polite = is_polite && remote->session[0] != '\0';
        (void)uv_timer_start(&remote->timer, on_timer, 0, 0);
    }
}

static void end_without_memory(arcp__tool_remote *remote)
{
    arcp__tool_remote_end(remote, "out of memory", false);
}

static void on_closed(uv_handle_t *handle)
{
    arcp__tool_remote *remote = handle->data;
    arcp__tool_handle_closed(remote->service);
    arcp__free(remote);
}

/* ---- what has come ---- */

/* The response of a request that has none, if it still waits for one. */
static void answer_missing(post *p, const char *why)
{
    arcp_buf message = arcp_buf_init();
    char id[24];
    (void)snprintf(id, sizeof id, "%" PRIu64, p->sent.id);
    arcp__mcp_put_error(&message, arcp_span_cstr(id), ARCP__MCP_CONNECTION_CLOSED, why);
    if (message.failed) {
        end_without_memory(p->remote);
    } else {
        p->remote->events.line(p->remote->events.user,
                               arcp_span_first(arcp_buf_span(&message), message.size - 1));
    }
    arcp_buf_fini(&message);
}

static void take_stream(post *p, arcp_span piece)
{
    arcp__tool_remote *remote = p->remote;
    arcp_span data;
    while (!remote->is_ending) {
        switch (arcp__mcp_stream_next(&p->stream, &piece, &data)) {
        case ARCP__MCP_LINE_NONE:
            return;
        case ARCP__MCP_LINE:
            remote->events.line(remote->events.user, data);
            break;
        case ARCP__MCP_LINE_TOO_LONG:
            arcp__tool_remote_end(remote, "it has sent a message of more than 8 MiB", false);
            break;
        case ARCP__MCP_LINE_NO_MEMORY:
            end_without_memory(remote);
            break;
        }
    }
}

static arcp_span field_of(const arcp__web_client_head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++) {
        if (arcp__web_equal(head->fields[i].name, arcp_span_cstr(name))) {
            return head->fields[i].value;
        }
    }
    return arcp_span_make(NULL, 0);
}

static void on_head(void *user, const arcp__web_client_head *head)
{
    post *p = user;
    arcp__tool_remote *remote = p->remote;
    const arcp_span type = ARCP_SPAN_LITERAL("text/event-stream");
    const arcp_span session = field_of(head, "mcp-session-id");
    p->status = head->status;
    p->is_stream =
        head->status / 100 == 2 && p->kind != POST_TOKEN &&
        arcp__web_equal(arcp_span_first(field_of(head, "content-type"), type.size), type);
    if (p->kind == POST_MESSAGE && p->sent.kind == ARCP__MCP_SENT_INITIALIZE &&
        head->status / 100 == 2 && session.size != 0) {
        if (arcp__mcp_session_is_valid(session)) {
            memcpy(remote->session, session.data, session.size);
            remote->session[session.size] = '\0';
        } else {
            arcp__tool_remote_end(remote, "the id of its session is not valid", false);
        }
    }
}

static void take_body(post *p, arcp_span piece)
{
    const size_t most =
        p->kind == POST_MESSAGE && p->status / 100 == 2 ? ARCP__MCP_LINE_BYTES_MAX : ERROR_BYTES;
    if (p->remote->is_ending) {
        return;
    }
    if (p->is_stream) {
        take_stream(p, piece);
    } else if (p->body.size + piece.size > most) {
        p->is_too_long = true; /* it is read to its end, and forgotten */
    } else {
        arcp_buf_append(&p->body, piece);
    }
}

static bool on_body(void *user, arcp_span piece)
{
    post *p = user;
    p->is_busy = true;
    take_body(p, piece);
    p->is_busy = false;
    return true;
}

/* Why there is no response, for people. */
static void describe(const post *p, const arcp__web_client_end *end, char out[200])
{
    if (end->outcome != ARCP__WEB_DONE) {
        (void)snprintf(out, 200, "the server %s",
                       end->problem == NULL ? "cannot be reached" : end->problem);
    } else if (p->status / 100 != 2) {
        (void)snprintf(out, 200, "the server has responded with HTTP status %u", p->status);
    } else if (p->is_too_long) {
        (void)snprintf(out, 200, "the response of the server has more than 8 MiB");
    } else {
        (void)snprintf(out, 200, "the server has sent no response");
    }
}

/* Sends it again with credentials that were read anew. False: it was done before, or cannot be. */
static bool try_again(post *p)
{
    arcp__tool_remote *remote = p->remote;
    arcp_error err = {0};
    if (p->has_retried || arcp__tool_secrets_read(&remote->secrets, remote->server->config,
                                                  remote->server->options, &err) != ARCP_OK) {
        return false;
    }
    p->is_busy = false;
    p->has_retried = true;
    p->call = NULL;
    p->status = 0;
    arcp_buf_clear(&p->body);
    if (p->sent.kind == ARCP__MCP_SENT_INITIALIZED) {
        remote->is_opening = false;
    }
    pump(remote);
    return true;
}

static void token_done(post *p, const char *why)
{
    arcp__tool_remote *remote = p->remote;
    arcp_error err = {0};
    remote->is_asking = false;
    if (p->status / 100 != 2 || p->is_too_long) {
        char text[300];
        (void)snprintf(text, sizeof text, "no access token: %s", why);
        arcp__tool_remote_end(remote, text, false);
    } else if (arcp__tool_token_take(&remote->secrets, arcp_buf_span(&p->body), &err) != ARCP_OK) {
        arcp__tool_remote_end(remote, err.message, false);
    }
}

static void open_stream(arcp__tool_remote *remote);

static void stream_done(post *p)
{
    arcp__tool_remote *remote = p->remote;
    /* 405: the server has no such stream. */
    if (p->is_stream && !remote->is_ending) {
        (void)uv_timer_start(&remote->timer, on_timer, STREAM_MS, 0);
    }
}

/* Whether a server has understood `initialize` and may speak another version of the protocol. */
static bool is_refusal(const post *p)
{
    return p->status / 100 == 2 || (p->status / 100 == 4 && p->status != 401 && p->status != 403);
}

static void message_done(post *p, const char *why)
{
    arcp__tool_remote *remote = p->remote;
    const bool is_request =
        p->sent.kind == ARCP__MCP_SENT_REQUEST || p->sent.kind == ARCP__MCP_SENT_INITIALIZE;
    if (p->body.failed) {
        end_without_memory(remote);
        return;
    }
    if (p->sent.kind == ARCP__MCP_SENT_INITIALIZED) {
        remote->is_opening = false;
        if (p->status / 100 != 2) {
            arcp__tool_remote_end(remote, why, false);
            return;
        }
        open_stream(remote);
    }
    if (!p->is_stream && !p->is_too_long && p->body.size != 0) {
        /* Also with an error status: then it can be the error of the request. */
        remote->events.line(remote->events.user, arcp_buf_span(&p->body));
    }
    if (p->status == 404 && remote->session[0] != '\0') {
        arcp__tool_remote_end(remote, "the server has ended the session", false);
    }
    if (p->sent.kind == ARCP__MCP_SENT_INITIALIZE && !is_refusal(p)) {
        arcp__tool_remote_end(remote, why, false);
    } else if (is_request && !remote->is_ending) {
        answer_missing(p, why);
    }
}

static void on_done(void *user, const arcp__web_client_end *end)
{
    post *p = user;
    arcp__tool_remote *remote = p->remote;
    char why[200];
    describe(p, end, why);
    p->is_busy = true;
    if (p->status == 401 && end->outcome == ARCP__WEB_DONE && p->kind == POST_MESSAGE &&
        !remote->is_ending && try_again(p)) {
        return;
    }
    if (p->kind == POST_LEAVE) {
        remote->has_left = true;
        (void)uv_timer_start(&remote->timer, on_timer, 0, 0);
    } else if (!remote->is_ending && p->kind == POST_TOKEN) {
        token_done(p, why);
    } else if (!remote->is_ending && p->kind == POST_STREAM) {
        stream_done(p);
    } else if (!remote->is_ending) {
        message_done(p, why);
    }
    post_free(p);
    pump(remote);
}

static const arcp__web_call_events web_events = {on_head, on_body, on_done};

/* ---- sending ---- */

static arcp__mcp_remote_terms terms_of(const arcp__tool_remote *remote)
{
    const arcp__mcp_link *link = remote->server->link;
    return (arcp__mcp_remote_terms){.version = arcp__mcp_link_version(link),
                                    .is_modern = arcp__mcp_link_is_modern(link),
                                    .session = remote->session,
                                    .tools = remote->server->tools};
}

static void transmit(post *p, const char *method, const char *url, arcp_buf *headers,
                     uint64_t total_ms)
{
    arcp__tool_remote *remote = p->remote;
    arcp_error err = {0};
    const arcp__web_client_request request = {.method = method,
                                              .url = url,
                                              .headers = arcp_buf_span(headers),
                                              .body = arcp_buf_span(&p->line),
                                              .total_ms = total_ms,
                                              .events = &web_events,
                                              .user = p};
    if (headers->failed || p->line.failed) {
        end_without_memory(remote);
    } else if (remote->ops->send(remote->client, &request, &p->call, &err) != ARCP_OK) {
        p->call = NULL;
        arcp__tool_remote_end(remote, err.message, false);
    }
}

static void send_message(post *p)
{
    arcp__tool_remote *remote = p->remote;
    const arcp__mcp_remote_terms terms = terms_of(remote);
    arcp__mcp_sent ignored;
    arcp_buf headers = arcp_buf_secret_init();
    const bool has_response =
        p->sent.kind == ARCP__MCP_SENT_REQUEST || p->sent.kind == ARCP__MCP_SENT_INITIALIZE;
    if (arcp__mcp_sent_read(&remote->json, arcp_buf_span(&p->line), &terms, &ignored, &headers) !=
        ARCP_OK) {
        end_without_memory(remote);
    } else {
        arcp_buf_append(&headers, arcp_buf_span(&remote->secrets.headers));
        remote->is_opening = remote->is_opening || p->sent.kind == ARCP__MCP_SENT_INITIALIZED;
        transmit(p, "POST", remote->server->options->url, &headers, has_response ? 0 : NOTICE_MS);
    }
    arcp_buf_fini(&headers);
}

/* Headers of a request without a message. */
static void send_bare(arcp__tool_remote *remote, post_kind kind, const char *method,
                      uint64_t total_ms)
{
    post *p = post_new(remote, kind);
    arcp_buf headers = arcp_buf_secret_init();
    if (p == NULL) {
        end_without_memory(remote);
        return;
    }
    arcp_buf_append_cstr(&headers, "Accept: text/event-stream");
    arcp_buf_append_byte(&headers, '\0');
    arcp_buf_append_format(&headers, "MCP-Protocol-Version: %s",
                           arcp__mcp_link_version(remote->server->link));
    arcp_buf_append_byte(&headers, '\0');
    if (remote->session[0] != '\0') {
        arcp_buf_append_format(&headers, "Mcp-Session-Id: %s", remote->session);
        arcp_buf_append_byte(&headers, '\0');
    }
    arcp_buf_append(&headers, arcp_buf_span(&remote->secrets.headers));
    transmit(p, method, remote->server->options->url, &headers, total_ms);
    arcp_buf_fini(&headers);
}

static void open_stream(arcp__tool_remote *remote)
{
    send_bare(remote, POST_STREAM, "GET", 0);
}

static void ask_token(arcp__tool_remote *remote)
{
    const arcp__tool_server_options *options = remote->server->options;
    post *p = post_new(remote, POST_TOKEN);
    arcp_buf headers = arcp_buf_secret_init();
    arcp_error err = {0};
    remote->is_asking = true;
    if (p == NULL) {
        end_without_memory(remote);
    } else if (arcp__tool_token_ask(remote->server->config, options, &p->line, &headers, &err) !=
               ARCP_OK) {
        arcp__tool_remote_end(remote, err.message, false);
    } else {
        transmit(p, "POST", options->oauth.token_url, &headers, NOTICE_MS);
    }
    arcp_buf_fini(&headers);
}

/* Sends what is queued, as far as that is possible now. */
static void pump(arcp__tool_remote *remote)
{
    const bool needs_token =
        remote->server->options->oauth.token_url != NULL && !remote->secrets.has_token;
    post *p;
    post *next;
    DL_FOREACH_SAFE (remote->posts, p, next) {
        if (remote->is_ending || remote->is_opening || remote->is_asking) {
            return;
        }
        if (p->kind == POST_MESSAGE && p->call == NULL) {
            if (needs_token) {
                ask_token(remote);
                return;
            }
            send_message(p);
        }
    }
}

/* ---- the object ---- */

/* Closes the request that waits for the response. */
static void forget_request(arcp__tool_remote *remote, uint64_t id)
{
    post *p;
    post *next;
    DL_FOREACH_SAFE (remote->posts, p, next) {
        if (p->kind == POST_MESSAGE && p->sent.kind == ARCP__MCP_SENT_REQUEST && p->sent.id == id) {
            if (p->is_busy) {
                p->sent.kind = ARCP__MCP_SENT_OTHER; /* it is not waited for any more */
            } else {
                post_cancel(p);
            }
        }
    }
}

arcp_status arcp__tool_remote_send(arcp__tool_remote *remote, arcp_span line)
{
    const arcp__mcp_remote_terms terms = terms_of(remote);
    arcp_buf ignored = arcp_buf_init();
    arcp__mcp_sent sent;
    if (remote->is_ending) {
        return ARCP_OK;
    }
    const arcp_status status = arcp__mcp_sent_read(&remote->json, line, &terms, &sent, &ignored);
    arcp_buf_fini(&ignored);
    if (status != ARCP_OK) {
        return ARCP_E_NO_MEMORY;
    }
    if (sent.kind == ARCP__MCP_SENT_CANCELLED) {
        forget_request(remote, sent.id);
        if (terms.is_modern) {
            return ARCP_OK; /* the closed connection says it */
        }
    }
    post *p = post_new(remote, POST_MESSAGE);
    if (p == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    p->sent = sent;
    arcp_buf_append(&p->line, line);
    if (p->line.failed) {
        return ARCP_E_NO_MEMORY;
    }
    pump(remote);
    return ARCP_OK;
}

static void on_timer(uv_timer_t *timer)
{
    arcp__tool_remote *remote = timer->data;
    if (!remote->is_ending) {
        open_stream(remote);
        return;
    }
    while (remote->posts != NULL) {
        post_cancel(remote->posts);
    }
    if (remote->is_polite && !remote->has_left) {
        remote->has_left = true; /* also if it cannot be sent */
        send_bare(remote, POST_LEAVE, "DELETE", LEAVE_MS);
        if (remote->posts != NULL && remote->posts->call != NULL) {
            return;
        }
    }
    remote->events.ended(remote->events.user, remote->why);
}

arcp_status arcp__tool_remote_new(arcp__tool_server *server, const arcp__tool_remote_events *events,
                                  arcp__tool_remote **out, arcp_error *err)
{
    arcp__gateway *gateway = server->service->gateway;
    arcp__tool_remote *remote = arcp__alloc(sizeof *remote);
    if (remote == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const arcp_status status =
        arcp__gateway_client(gateway) == NULL || server->config->expand == NULL
            ? arcp_error_set(err, ARCP_E_USAGE, "there is no HTTP client")
            : arcp__tool_secrets_read(&remote->secrets, server->config, server->options, err);
    if (status != ARCP_OK) {
        arcp__free(remote);
        return status;
    }
    remote->service = server->service;
    remote->server = server;
    remote->client = arcp__gateway_client(gateway);
    remote->ops = arcp__gateway_client_ops(gateway);
    remote->events = *events;
    (void)uv_timer_init(arcp__gateway_loop(gateway), &remote->timer);
    remote->timer.data = remote;
    server->service->open_handles++;
    *out = remote;
    return ARCP_OK;
}

void arcp__tool_remote_free(arcp__tool_remote *remote)
{
    if (remote == NULL) {
        return;
    }
    while (remote->posts != NULL) {
        post_cancel(remote->posts);
    }
    arcp__tool_secrets_fini(&remote->secrets);
    arcp__json_fini(&remote->json);
    uv_close((uv_handle_t *)&remote->timer, on_closed);
}
