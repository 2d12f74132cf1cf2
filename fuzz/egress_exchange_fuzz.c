/* A whole connection: what a client inside sends, in pieces, and what egress sends on of it to
 * servers. The first byte of the input selects the pieces, and whether it is the explicit proxy.
 *
 * Each connection to a server carries complete requests in the strict form, one after the other, of
 * which the last may be incomplete; and there are never more of them than decisions that allowed a
 * request, so that no bytes of a client are a request that was not decided. */
#include <arpa/inet.h>
#include <string.h>

#include "egress/egress_parts.h"

#define CONNECTIONS_MAX 64
#define LEASE           "{\"net.fetch\": [\"http://api.test/v1/**\", \"ws://api.test/chat\"]}"

typedef struct server {
    arcp__stream *stream;
    arcp__web_head head;
    arcp__web_body body;
    bool in_body;
    bool is_upgraded;
} server;

static uv_loop_t loop;
static arcp__egress *egress;
static arcp_authority *authority;
static server servers[CONNECTIONS_MAX];
static size_t server_count;
static uint64_t request_count;
static arcp__stream *client;
static size_t client_busy; /* bytes that egress has not read */
static bool is_proxy;

/* ---- servers ---- */

static void send_text(arcp__stream *stream, const char *text)
{
    arcp_buf bytes = arcp_buf_init();
    size_t written = 0;
    arcp_buf_append_cstr(&bytes, text);
    (void)stream->ops->write(stream, &bytes, &written); /* false: egress has closed it */
    arcp_buf_fini(&bytes);
}

static void check_head(const server *s)
{
    arcp_span value = {NULL, 0};
    const size_t lengths = arcp__web_head_find(&s->head, "Content-Length", &value);
    const size_t codings = arcp__web_head_find(&s->head, "Transfer-Encoding", &value);
    require(arcp__web_head_find(&s->head, "Host", &value) == 1);
    require(arcp_span_equal_cstr(value, "api.test"));
    require(lengths + codings <= 1 && s->head.framing != ARCP__WEB_OTHER_CODING);
    require(s->head.major == 1 && s->head.minor == 1);
    require(arcp__web_head_find(&s->head, "Proxy-Authorization", &value) == 0);
    const arcp_span target = arcp__web_head_line(&s->head);
    require(arcp_span_starts_with(target, ARCP_SPAN_LITERAL("/v1")) ||
            arcp_span_equal_cstr(target, "/chat"));
}

static void finish_request(server *s)
{
    s->in_body = false;
    s->is_upgraded = arcp__web_head_has_token(&s->head, "Connection", "Upgrade");
    send_text(s->stream, s->is_upgraded ? "HTTP/1.1 101 Switching Protocols\r\n\r\n"
                         : s->head.method == ARCP__WEB_HEAD
                             ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
                             : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    arcp__web_head_reset(&s->head);
}

static void on_server_bytes(void *user, arcp_span bytes)
{
    server *s = user;
    arcp_span piece = {NULL, 0};
    while (bytes.size > 0 && !s->is_upgraded) {
        if (!s->in_body) {
            const arcp__web_result result = arcp__web_head_feed(&s->head, &bytes);
            require(result == ARCP__WEB_MORE || result == ARCP__WEB_COMPLETE);
            if (result == ARCP__WEB_MORE) {
                return;
            }
            check_head(s);
            request_count++;
            s->in_body = true;
            arcp__web_body_init(&s->body, &s->head, false, UINT64_MAX);
        }
        const arcp__web_result result = arcp__web_body_feed(&s->body, &bytes, &piece);
        require(result == ARCP__WEB_MORE || result == ARCP__WEB_COMPLETE);
        if (result == ARCP__WEB_COMPLETE) {
            finish_request(s);
        }
    }
}

static void on_ended(void *user, const arcp_error *why)
{
}

static void on_written(void *user, size_t size)
{
}

typedef struct dialled {
    arcp__task task;
    const server *server;
    void (*done)(void *user, int result);
    void *user;
} dialled;

static dialled dials[CONNECTIONS_MAX];

static void on_dialled(arcp__task *task)
{
    const dialled *dial = (dialled *)task;
    if (arcp__memory_stream_peer(dial->server->stream) != NULL) { /* else it was given up */
        dial->done(dial->user, 0);
    }
}

static int connect_server(arcp__loop_share *share, const struct sockaddr *address,
                          void (*done)(void *user, int result), void *user, arcp__stream **out)
{
    arcp__stream *pair[2];
    arcp_error err = {0};
    if (server_count == CONNECTIONS_MAX) {
        return UV_EMFILE;
    }
    server *s = &servers[server_count];
    dialled *dial = &dials[server_count++];
    *s = (server){0};
    require(arcp__memory_streams_new(share, pair, &err) == ARCP_OK);
    arcp__web_head_init(&s->head, ARCP__WEB_REQUEST, ARCP__EGRESS_HEAD_MAX);
    s->stream = pair[1];
    s->stream->events = (arcp__stream_events){on_server_bytes, on_ended, on_written, s};
    s->stream->ops->start(s->stream);
    *dial = (dialled){.task.run = on_dialled, .server = s, .done = done, .user = user};
    arcp__task_post(share, &dial->task);
    *out = pair[0];
    return 0;
}

/* ---- the client ---- */

static void on_client_bytes(void *user, arcp_span bytes)
{
}

static void on_client_written(void *user, size_t size)
{
    client_busy -= size;
}

static int local(const arcp__stream *stream, struct sockaddr_storage *out)
{
    struct sockaddr_in *address = (struct sockaddr_in *)out;
    address->sin_family = AF_INET;
    address->sin_port = htons(is_proxy ? ARCP__EGRESS_PROXY_PORT : 80);
    address->sin_addr.s_addr =
        htonl(arcp__egress_names_address(egress->jobs->names, ARCP_SPAN_LITERAL("api.test")));
    return 0;
}

static int find(uv_loop_t *on, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done, const char *node,
                const char *service, const struct addrinfo *hints)
{
    return uv_getaddrinfo(on, request, done, "127.0.0.1", service, hints);
}

static void set_up(void)
{
    const arcp_span hosts[] = {ARCP_SPAN_LITERAL("api.test")};
    const arcp__egress_options options = {.private_hosts = hosts, .private_host_count = 1};
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    require(uv_loop_init(&loop) == 0);
    require(arcp_lease_parse(ARCP_SPAN_LITERAL(LEASE), arcp_span_make(NULL, 0), NULL, &lease,
                             &err) == ARCP_OK);
    require(arcp_authority_new(lease, NULL, &authority, &err) == ARCP_OK);
    arcp_lease_unref(lease);
    require(arcp__egress_new(&loop, &options, &egress, &err) == ARCP_OK);
    egress->system = (arcp__egress_system){find, uv_freeaddrinfo, local, connect_server};
}

static void settle(void)
{
    for (int i = 0; i < 16; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    while (egress->jobs != NULL && egress->jobs->lookup_count > 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp__egress_job *job = NULL;
    arcp__stream *pair[2];
    arcp_error err = {0};
    if (size == 0) {
        return 0;
    }
    if (egress == NULL) {
        set_up();
    }
    const arcp__egress_job_options options = {.authority = authority};
    const uint64_t allowed = arcp__egress_count(egress).allowed;
    is_proxy = (data[0] & 1) != 0;
    const size_t piece = (data[0] >> 1) == 0 ? SIZE_MAX : (size_t)data[0] >> 1;
    server_count = request_count = client_busy = 0;
    require(arcp__egress_open(egress, &options, &job, &err) == ARCP_OK);
    require(arcp__memory_streams_new(egress->share, pair, &err) == ARCP_OK);
    client = pair[0];
    client->events = (arcp__stream_events){on_client_bytes, on_ended, on_client_written, NULL};
    client->ops->start(client);
    arcp__egress_connection_open(job, pair[1]);
    arcp_span rest = arcp_span_make((const char *)data + 1, size - 1);
    while (rest.size > 0 && client_busy == 0) {
        arcp_buf bytes = arcp_buf_init();
        size_t written = 0;
        arcp_buf_append(&bytes, arcp_span_first(rest, piece));
        rest = arcp_span_from(rest, bytes.size);
        client_busy = bytes.size;
        if (!client->ops->write(client, &bytes, &written)) {
            break;
        }
        arcp_buf_fini(&bytes);
        settle();
    }
    settle();
    require(request_count <= arcp__egress_count(egress).allowed - allowed);
    arcp__egress_close(job);
    arcp__stream_close(&client);
    for (size_t i = 0; i < server_count; i++) {
        arcp__web_head_fini(&servers[i].head);
        arcp__stream_close(&servers[i].stream);
    }
    settle();
    return 0;
}
