/* Asks each server of the configuration for its tools, through the gateway for tools of a job that
 * is granted all of them: servers start, are confined and fail as they do for `arcp run`. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arcp/command.h"
#include "arcp/run_gateways.h"
#include "arcp/run_process.h"
#include "arcp/tools.h"
#include "base/alloc.h"

#define PIECE_BYTES 65536

typedef struct question {
    struct asking *asking;
    arcp__tools_answer *answer;
    uv_poll_t poll;
    int fd; /* -1: answered, or not asked */
    arcp_buf response;
} question;

typedef struct asking {
    uv_loop_t loop;
    uv_signal_t interrupt, terminate;
    question *questions;
    size_t count, left;
    int signal;
} asking;

/* ---- a response ---- */

static void fail(arcp__tools_answer *answer, const char *why)
{
    (void)snprintf(answer->why, sizeof answer->why, "%s", why);
}

/* The body is one JSON-RPC response: a list of the server's own names, or an error. */
static void read_body(arcp__tools_answer *answer, const arcp_json *json)
{
    arcp__mcp_toolset *tools = NULL;
    arcp_json_ref cursor = ARCP_JSON_ABSENT;
    arcp_error err = {0};
    arcp_buf room = arcp_buf_init();
    const arcp_json_ref error = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("error"));
    if (error != ARCP_JSON_ABSENT) {
        const arcp_span text = arcp_json_string(
            json, arcp_json_member(json, error, ARCP_SPAN_LITERAL("message")), &room);
        (void)snprintf(answer->why, sizeof answer->why, "%.*s", (int)text.size,
                       text.size == 0 ? "" : text.data);
        arcp_buf_fini(&room);
        return;
    }
    arcp_status status = arcp__mcp_toolset_new(arcp_span_cstr(answer->server), &tools, &err);
    if (status == ARCP_OK) {
        status = arcp__mcp_toolset_add(
            tools, json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("result")),
            &cursor, &err);
    }
    if (status == ARCP_OK) {
        status = arcp__mcp_toolset_seal(tools, &err);
    }
    if (status == ARCP_OK) {
        answer->tools = tools;
    } else {
        arcp__mcp_toolset_free(tools);
        fail(answer, err.message);
    }
}

static void read_response(arcp__tools_answer *answer, arcp_span response)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_json json = ARCP__JSON_INIT;
    const char *body =
        response.size == 0 ? NULL : memmem(response.data, response.size, "\r\n\r\n", 4);
    const arcp_span text = body == NULL
                               ? arcp_span_make(NULL, 0)
                               : arcp_span_from(response, (size_t)(body - response.data) + 4);
    if (arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK &&
        arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        read_body(answer, &json);
    } else {
        fail(answer, "the gateway has ended the connection");
    }
    arcp__json_fini(&json);
}

/* ---- connections ---- */

static void end_question(question *q)
{
    if (q->fd >= 0) {
        arcp__run_unwatch(&q->poll);
        (void)close(q->fd);
        q->fd = -1;
        q->asking->left--;
    }
    if (q->asking->left == 0) {
        uv_stop(&q->asking->loop);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    question *q = poll->data;
    char piece[PIECE_BYTES];
    (void)status;
    (void)events;
    const ssize_t got = recv(q->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (got > 0) {
        arcp_buf_append(&q->response, arcp_span_make(piece, (size_t)got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        read_response(q->answer, arcp_buf_span(&q->response));
        end_question(q);
    }
}

/* The gateway ends the connection behind its response. */
static arcp_status ask(question *q, arcp__gateway_job *job, arcp_error *err)
{
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
    char request[512];
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "there are no sockets: %s", strerror(errno));
    }
    const int size = snprintf(request, sizeof request,
                              "POST /s/%s HTTP/1.1\r\nHost: mcp.arcp\r\nConnection: close\r\n"
                              "Content-Type: application/json\r\nAccept: application/json\r\n"
                              "Content-Length: %zu\r\n\r\n%s",
                              q->answer->server, sizeof body - 1, body);
    arcp__gateway_serve(job, ARCP__GATEWAY_MCP, fds[1]);
    q->fd = fds[0];
    q->asking->left++;
    if (send(q->fd, request, (size_t)size, MSG_NOSIGNAL) != size) {
        return arcp_error_set(err, ARCP_E_IO, "the gateway cannot be asked: %s", strerror(errno));
    }
    return arcp__run_watch(&q->asking->loop, &q->poll, q->fd, on_readable, q, err);
}

/* ---- the whole ---- */

static void on_signal(uv_signal_t *handle, int number)
{
    asking *a = handle->data;
    a->signal = number;
    uv_stop(&a->loop);
}

static void watch_signal(asking *a, uv_signal_t *handle, int number)
{
    (void)uv_signal_init(&a->loop, handle);
    handle->data = a;
    (void)uv_signal_start(handle, on_signal, number);
}

/* What calls lead to is of no interest here: what fails is in the response, too. */
static void on_message(void *user, const arcp__job_message *message)
{
    (void)user;
    (void)message;
}

static void on_denied(void *user, const arcp__gateway_denial *denial)
{
    (void)user;
    (void)denial;
}

/* The job that asks. */
static arcp_status open_job(arcp__run_gateways *gateways, arcp_authority *authority,
                            arcp_error *err)
{
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    const arcp__gateway_job_options job = {.authority = authority,
                                           .job_id = ARCP_SPAN_LITERAL("tools"),
                                           .principal = ARCP_SPAN_LITERAL("tools"),
                                           .agent = ARCP_SPAN_LITERAL("tools"),
                                           .is_confined = true,
                                           .events = {.message = on_message, .denied = on_denied}};
    return arcp__gateway_open(gateways->gateway, &job, endpoints, &gateways->job, err);
}

static arcp_status run_loop(asking *a, arcp__run_gateways *gateways, arcp_authority *authority,
                            arcp_error *err)
{
    arcp_status status = arcp__run_gateways_start(gateways, &a->loop, err);
    if (status == ARCP_OK) {
        status = open_job(gateways, authority, err);
    }
    for (size_t i = 0; i < a->count && status == ARCP_OK; i++) {
        status = ask(&a->questions[i], gateways->job, err);
    }
    if (status == ARCP_OK && a->left != 0) {
        (void)uv_run(&a->loop, UV_RUN_DEFAULT);
    }
    for (size_t i = 0; i < a->count; i++) {
        end_question(&a->questions[i]);
        arcp_buf_fini(&a->questions[i].response);
    }
    arcp__gateway_release(gateways->job);
    gateways->job = NULL;
    arcp__run_gateways_stop(gateways);
    return status;
}

static arcp_status all_tools(arcp_authority **out, arcp_error *err)
{
    arcp_authority_options options = arcp_authority_options_init();
    arcp_lease *lease = NULL;
    options.now = (arcp_time){arcp__now_wall_ns(), 0};
    arcp_status status = arcp__lease_load("{\"tool.call\":[\"**\"]}", &lease, err);
    if (status == ARCP_OK) {
        status = arcp_authority_new(lease, &options, out, err);
    }
    arcp_lease_unref(lease);
    return status;
}

arcp_status arcp__tools_ask(arcp__run *run, arcp__tools_answer *answers, int *signal,
                            arcp_error *err)
{
    arcp__run_gateways *gateways = run->gateways;
    asking a = {.count = gateways->used.tools.server_count};
    arcp_authority *authority = NULL;
    a.questions = arcp__arena_take(&run->arena, (a.count + 1) * sizeof *a.questions);
    if (a.questions == NULL || uv_loop_init(&a.loop) != 0) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < a.count; i++) {
        answers[i].server = gateways->used.tools.servers[i].name;
        a.questions[i] = (question){.asking = &a, .answer = &answers[i], .fd = -1};
    }
    watch_signal(&a, &a.interrupt, SIGINT);
    watch_signal(&a, &a.terminate, SIGTERM);
    arcp_status status = all_tools(&authority, err);
    if (status == ARCP_OK) {
        status = run_loop(&a, gateways, authority, err);
    }
    arcp_authority_unref(authority);
    uv_close((uv_handle_t *)&a.interrupt, NULL);
    uv_close((uv_handle_t *)&a.terminate, NULL);
    while (uv_loop_close(&a.loop) == UV_EBUSY) {
        (void)uv_run(&a.loop, UV_RUN_NOWAIT);
    }
    *signal = a.signal;
    return status;
}
