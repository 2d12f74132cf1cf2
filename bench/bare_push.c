/* A baseline for pushing events: libuv, and frames that wslay encoded before a client connects. To
 * a client it looks like a runtime with one agent that writes the prepared events; it has no jobs,
 * no streams, no limits and no store. `make bench-peers` drives it with the same client as the
 * runtimes.
 *
 *   arcp-bench-push EVENTS      so many events are prepared; a job gets those that it asks for
 *
 * Prints "ready URL" and serves until it is killed. A session gets one job. */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <uv.h>
#include <wslay/wslay.h>

#define HEAD_MAX      4096
#define PUSH_BYTES    ((size_t)256 * 1024)
#define MESSAGE_BYTES 64
#define ID_BYTES      80

/* One of these on every frame; all clients are given the same session and job. */
#define HEAD(type)                                                                                 \
    "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"" type                                             \
    "\",\"session_id\":\"sess_01JZ0000000000000000000000\""
#define JOB_ID "\"job_id\":\"job_01JZ0000000000000000000000\""

typedef struct bytes {
    uint8_t *data;
    size_t size, capacity;
} bytes;

typedef struct peer {
    uv_tcp_t tcp;
    wslay_event_context_ptr reader;
    char head[HEAD_MAX]; /* the upgrade request as far as it is there */
    size_t head_size;
    bool is_open;
    const uint8_t *input; /* of the read that is being handled */
    size_t input_size;
    char room[65536];
    size_t pushed, push_end; /* of the prepared frames */
    uint64_t events;
    uv_write_t push;
} peer;

/* Bytes that are being written, freed afterwards. */
typedef struct letter {
    uv_write_t request;
    bytes frame;
} letter;

static uv_loop_t loop;
static bytes prepared;
static size_t *ends; /* where the frame of each event ends in `prepared` */
static uint64_t event_count;

static void must(int condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "arcp-bench-push: %s\n", what);
        exit(1);
    }
}

/* ---- frames ---- */

static ssize_t append(const uint8_t *data, size_t size, int flags, void *user)
{
    bytes *to = user;
    (void)flags;
    if (to->capacity - to->size < size) {
        to->capacity = (to->size + size) * 2;
        to->data = realloc(to->data, to->capacity);
        must(to->data != NULL, "out of memory");
    }
    memcpy(to->data + to->size, data, size);
    to->size += size;
    return (ssize_t)size;
}

static void encode(bytes *to, const char *text)
{
    const struct wslay_frame_callbacks callbacks = {.send_callback = append};
    wslay_frame_context_ptr encoder = NULL;
    struct wslay_frame_iocb frame = {
        .fin = 1,
        .opcode = WSLAY_TEXT_FRAME,
        .payload_length = strlen(text),
        .data = (const uint8_t *)text,
        .data_length = strlen(text),
    };
    must(wslay_frame_context_init(&encoder, &callbacks, to) == 0, "out of memory");
    must(wslay_frame_send(encoder, &frame) >= 0, "wslay refused a frame");
    wslay_frame_context_free(encoder);
}

/* The frames that our runtime sends for the same events. */
static void prepare(void)
{
    char padding[MESSAGE_BYTES + 1];
    memset(padding, '.', MESSAGE_BYTES);
    padding[MESSAGE_BYTES] = '\0';
    ends = calloc(event_count + 1, sizeof *ends);
    must(ends != NULL, "out of memory");
    for (uint64_t i = 0; i < event_count; i++) {
        char number[24];
        char text[512];
        const int size = snprintf(number, sizeof number, "%" PRIu64 " ", i);
        (void)snprintf(
            text, sizeof text,
            HEAD("job.event") "," JOB_ID ",\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\","
                              "\"event_seq\":%" PRIu64 ",\"payload\":{\"kind\":\"log\",\"ts\":"
                              "\"2026-01-01T00:00:00.000Z\",\"body\":{\"level\":"
                              "\"info\",\"message\":\"%s%s\"}}}",
            "msg_01JZ0000000000000000000000", i + 1, number, padding + size);
        encode(&prepared, text);
        ends[i + 1] = prepared.size;
    }
}

/* ---- writing ---- */

static void on_letter_written(uv_write_t *request, int status)
{
    letter *l = request->data;
    (void)status;
    free(l->frame.data);
    free(l);
}

static void post(peer *p, const void *data, size_t size)
{
    letter *l = calloc(1, sizeof *l);
    must(l != NULL, "out of memory");
    (void)append(data, size, 0, &l->frame);
    l->request.data = l;
    uv_buf_t buffer = uv_buf_init((char *)l->frame.data, (unsigned)l->frame.size);
    must(uv_write(&l->request, (uv_stream_t *)&p->tcp, &buffer, 1, on_letter_written) == 0,
         "cannot write");
}

static void post_frame(peer *p, const char *text)
{
    bytes frame = {0};
    encode(&frame, text);
    post(p, frame.data, frame.size);
    free(frame.data);
}

static void push_more(peer *p);

static void on_pushed(uv_write_t *request, int status)
{
    if (status == 0) {
        push_more(request->data);
    }
}

static void push_more(peer *p)
{
    if (p->pushed == p->push_end) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       HEAD("job.result") "," JOB_ID ",\"event_seq\":%" PRIu64
                                          ",\"payload\":{\"final_status\":\"success\","
                                          "\"result\":%" PRIu64 "}}",
                       "msg_01JZ0000000000000000000001", p->events + 1, p->events);
        post_frame(p, text);
        return;
    }
    size_t size = p->push_end - p->pushed;
    size = size < PUSH_BYTES ? size : PUSH_BYTES;
    uv_buf_t buffer = uv_buf_init((char *)prepared.data + p->pushed, (unsigned)size);
    p->pushed += size;
    p->push.data = p;
    must(uv_write(&p->push, (uv_stream_t *)&p->tcp, &buffer, 1, on_pushed) == 0, "cannot write");
}

/* ---- frames from the client ---- */

/* The text after `"name":"` up to the next quote; our own client's frames have no escapes there. */
static void text_member(const char *frame, const char *name, char out[ID_BYTES])
{
    const char *found = strstr(frame, name);
    size_t size = 0;
    if (found != NULL) {
        found += strlen(name);
        size = strcspn(found, "\"");
    }
    must(found != NULL && size > 0 && size < ID_BYTES, "a frame without an id");
    memcpy(out, found, size);
    out[size] = '\0';
}

static void answer_hello(peer *p, const char *id)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   HEAD("session.welcome") ",\"payload\":{\"session_id\":"
                                           "\"sess_01JZ0000000000000000000000\",\"runtime\":{"
                                           "\"name\":\"bare push\",\"version\":\"1\"},"
                                           "\"resume_token\":\"none\",\"resume_window_sec\":1,"
                                           "\"capabilities\":{\"encodings\":[\"json\"],"
                                           "\"features\":[\"ack\"],\"agents\":[{\"name\":"
                                           "\"bench\"}]}}}",
                   id);
    post_frame(p, text);
}

static void answer_submit(peer *p, const char *id, const char *frame)
{
    char text[1024];
    const char *events = strstr(frame, "\"events\":");
    must(events != NULL && p->events == 0, "a session gets one job, {\"events\": N}");
    p->events = strtoull(events + strlen("\"events\":"), NULL, 10);
    must(p->events <= event_count, "so many events were not prepared");
    p->push_end = ends[p->events];
    (void)snprintf(text, sizeof text,
                   HEAD("job.accepted") "," JOB_ID ",\"payload\":{" JOB_ID
                                        ",\"agent\":\"bench\",\"lease\":{},\"accepted_at\":"
                                        "\"2026-01-01T00:00:00.000Z\",\"request_id\":\"%s\"}}",
                   id, id);
    post_frame(p, text);
    push_more(p);
}

static void on_gone(uv_handle_t *handle)
{
    peer *p = handle->data;
    if (p->reader != NULL) {
        wslay_event_context_free(p->reader);
    }
    free(p);
}

static void drop(peer *p)
{
    if (!uv_is_closing((uv_handle_t *)&p->tcp)) {
        uv_close((uv_handle_t *)&p->tcp, on_gone);
    }
}

static void on_message(wslay_event_context_ptr context,
                       const struct wslay_event_on_msg_recv_arg *message, void *user)
{
    peer *p = user;
    char frame[8192];
    char id[ID_BYTES];
    (void)context;
    if (message->opcode != WSLAY_TEXT_FRAME) {
        drop(p);
        return;
    }
    must(message->msg_length < sizeof frame, "a long frame");
    memcpy(frame, message->msg, message->msg_length);
    frame[message->msg_length] = '\0';
    text_member(frame, "\"id\":\"", id);
    if (strstr(frame, "\"session.hello\"") != NULL) {
        answer_hello(p, id);
    } else if (strstr(frame, "\"job.submit\"") != NULL) {
        answer_submit(p, id, frame);
    } else if (strstr(frame, "\"session.close\"") != NULL) {
        char text[256];
        (void)snprintf(text, sizeof text, HEAD("session.closed") ",\"payload\":{}}", id);
        post_frame(p, text);
    }
}

static ssize_t take_input(wslay_event_context_ptr context, uint8_t *room, size_t size, int flags,
                          void *user)
{
    peer *p = user;
    (void)flags;
    if (p->input_size == 0) {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    size = size < p->input_size ? size : p->input_size;
    memcpy(room, p->input, size);
    p->input += size;
    p->input_size -= size;
    return (ssize_t)size;
}

/* ---- the upgrade ---- */

static void answer_upgrade(peer *p)
{
    static const char name[] = "Sec-WebSocket-Key: ";
    const struct wslay_event_callbacks callbacks = {.recv_callback = take_input,
                                                    .on_msg_recv_callback = on_message};
    char key[128];
    unsigned char digest[SHA_DIGEST_LENGTH];
    unsigned char accept[64];
    char text[256];
    const char *found = strcasestr(p->head, name);
    must(found != NULL, "no WebSocket key");
    found += strlen(name);
    (void)snprintf(key, sizeof key, "%.*s258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
                   (int)strcspn(found, "\r\n"), found);
    (void)SHA1((const unsigned char *)key, strlen(key), digest);
    (void)EVP_EncodeBlock(accept, digest, sizeof digest);
    const int size = snprintf(text, sizeof text,
                              "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                              (const char *)accept);
    post(p, text, (size_t)size);
    must(wslay_event_context_server_init(&p->reader, &callbacks, p) == 0, "out of memory");
    p->is_open = true;
}

/* Removes the upgrade request from the beginning of the input. */
static void read_upgrade(peer *p)
{
    while (p->input_size > 0 && !p->is_open) {
        must(p->head_size + 1 < sizeof p->head, "a long upgrade request");
        p->head[p->head_size++] = (char)*p->input++;
        p->input_size--;
        p->head[p->head_size] = '\0';
        if (p->head_size >= 4 && strcmp(p->head + p->head_size - 4, "\r\n\r\n") == 0) {
            answer_upgrade(p);
        }
    }
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    peer *p = handle->data;
    (void)wanted;
    *out = uv_buf_init(p->room, sizeof p->room);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    peer *p = stream->data;
    if (size < 0) {
        drop(p);
        return;
    }
    p->input = (const uint8_t *)buffer->base;
    p->input_size = (size_t)size;
    read_upgrade(p);
    if (p->is_open && wslay_event_recv(p->reader) != 0) {
        drop(p);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    peer *p = calloc(1, sizeof *p);
    must(status == 0 && p != NULL && uv_tcp_init(&loop, &p->tcp) == 0, "cannot accept");
    p->tcp.data = p;
    must(uv_accept(listener, (uv_stream_t *)&p->tcp) == 0, "cannot accept");
    (void)uv_tcp_nodelay(&p->tcp, 1);
    must(uv_read_start((uv_stream_t *)&p->tcp, on_alloc, on_read) == 0, "cannot read");
}

int main(int argc, char **argv)
{
    static uv_tcp_t listener;
    struct sockaddr_in address;
    int size = sizeof address;
    event_count = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
    if (event_count == 0) {
        (void)fputs("usage: arcp-bench-push EVENTS\n", stderr);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    prepare();
    must(uv_loop_init(&loop) == 0 && uv_tcp_init(&loop, &listener) == 0, "no loop");
    (void)uv_ip4_addr("127.0.0.1", 0, &address);
    must(uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0) == 0, "cannot bind");
    must(uv_listen((uv_stream_t *)&listener, 511, on_connection) == 0, "cannot listen");
    (void)uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &size);
    (void)printf("ready ws://127.0.0.1:%u/arcp\n", (unsigned)ntohs(address.sin_port));
    (void)fflush(stdout);
    return uv_run(&loop, UV_RUN_DEFAULT) == 0 ? 0 : 1;
}
