/* Pushing 300-byte frames from a server to one client over loopback TCP.
 *
 *   prebuilt  libuv alone, with frames that were encoded before: the limit of the system
 *   wslay     libuv and wslay's frame functions, frames encoded into writes of 64 KiB: a program
 *             that does nothing else
 *   ws, wss   our server: send per frame, flush per 64 KiB
 *
 * The client is a thread that reads and counts bytes. After the table: the memory of an idle
 * connection of ours, including libuv's handles. */
#include "harness.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <uv.h>
#include <wslay/wslay.h>

#include <arcp/sys/transport.h>

#define FRAME_BYTES  ((size_t)300)
#define WIRE_BYTES   (FRAME_BYTES + 4) /* a 16-bit length */
#define BATCH_FRAMES 215               /* just below 64 KiB */
#define BATCH_BYTES  (BATCH_FRAMES * WIRE_BYTES)
#define UNSENT_MAX   ((size_t)1024 * 1024)

/* Nothing here can be measured when it fails. */
static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "transport_bench: %s\n", what);
        exit(1);
    }
}

static const char upgrade_request[] =
    "GET /arcp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/* ---- the client ---- */

typedef struct client {
    pthread_t thread;
    int fd;
    SSL *ssl; /* NULL without TLS */
    bool upgrade;
    atomic_uint_fast64_t received; /* bytes after the upgrade */
} client;

static ssize_t client_read(client *c, char *data, size_t size)
{
    return c->ssl == NULL ? recv(c->fd, data, size, 0) : SSL_read(c->ssl, data, (int)size);
}

static void client_upgrade(client *c)
{
    char head[1024];
    size_t size = 0;
    if (c->ssl != NULL) {
        must(SSL_connect(c->ssl) == 1, "TLS failed");
        must(SSL_write(c->ssl, upgrade_request, sizeof upgrade_request - 1) > 0, "cannot write");
    } else {
        must(send(c->fd, upgrade_request, sizeof upgrade_request - 1, 0) > 0, "cannot write");
    }
    while (size < 4 || memcmp(head + size - 4, "\r\n\r\n", 4) != 0) {
        must(size < sizeof head && client_read(c, head + size, 1) == 1, "no upgrade");
        size++;
    }
}

static void *client_main(void *argument)
{
    client *c = argument;
    static _Thread_local char bytes[256 * 1024];
    if (c->upgrade) {
        client_upgrade(c);
    }
    for (;;) {
        const ssize_t size = client_read(c, bytes, sizeof bytes);
        if (size <= 0) {
            return NULL;
        }
        atomic_fetch_add_explicit(&c->received, (uint64_t)size, memory_order_release);
    }
}

static int connect_to(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0,
         "cannot connect");
    return fd;
}

static void client_start(client *c, unsigned port, SSL_CTX *tls, bool upgrade)
{
    c->fd = connect_to(port);
    c->upgrade = upgrade;
    if (tls != NULL) {
        c->ssl = SSL_new(tls);
        SSL_set_fd(c->ssl, c->fd);
    }
    must(pthread_create(&c->thread, NULL, client_main, c) == 0, "no thread");
}

static void client_stop(client *c)
{
    shutdown(c->fd, SHUT_RDWR);
    pthread_join(c->thread, NULL);
    SSL_free(c->ssl);
    close(c->fd);
}

static void client_wait(client *c, uint64_t bytes)
{
    while (atomic_load_explicit(&c->received, memory_order_acquire) < bytes) {
        sched_yield();
    }
}

/* ---- libuv alone, and with wslay ---- */

typedef struct bare {
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_tcp_t peer;
    uv_write_t write;
    client client;
    wslay_frame_context_ptr encoder;
    char *batch;
    size_t batch_size;
    uint64_t sent;
    bool accepted;
    bool writing;
    char frame[FRAME_BYTES];
} bare;

static ssize_t bare_append(const uint8_t *data, size_t size, int flags, void *user)
{
    bare *b = user;
    memcpy(b->batch + b->batch_size, data, size);
    b->batch_size += size;
    return (ssize_t)size;
}

static void bare_encode(bare *b)
{
    struct wslay_frame_iocb frame = {
        .fin = 1,
        .opcode = WSLAY_TEXT_FRAME,
        .payload_length = FRAME_BYTES,
        .data = (const uint8_t *)b->frame,
        .data_length = FRAME_BYTES,
    };
    b->batch_size = 0;
    for (int i = 0; i < BATCH_FRAMES; i++) {
        wslay_frame_send(b->encoder, &frame);
    }
}

static void bare_written(uv_write_t *request, int status)
{
    bare *b = request->data;
    must(status == 0, "cannot write");
    b->writing = false;
}

static void bare_write(bare *b)
{
    uv_buf_t buffer = uv_buf_init(b->batch, (unsigned)b->batch_size);
    const int now = uv_try_write((uv_stream_t *)&b->peer, &buffer, 1);
    const size_t done = now > 0 ? (size_t)now : 0;
    if (done < b->batch_size) {
        buffer = uv_buf_init(b->batch + done, (unsigned)(b->batch_size - done));
        b->write.data = b;
        b->writing = true;
        must(uv_write(&b->write, (uv_stream_t *)&b->peer, &buffer, 1, bare_written) == 0, "write");
        while (b->writing) {
            uv_run(&b->loop, UV_RUN_ONCE);
        }
    }
    b->sent += b->batch_size;
}

static void run_prebuilt(void *state, uint64_t iterations)
{
    bare *b = state;
    for (uint64_t i = 0; i < iterations; i++) {
        bare_write(b);
    }
    client_wait(&b->client, b->sent);
}

static void run_wslay(void *state, uint64_t iterations)
{
    bare *b = state;
    for (uint64_t i = 0; i < iterations; i++) {
        bare_encode(b);
        bare_write(b);
    }
    client_wait(&b->client, b->sent);
}

static void bare_on_connection(uv_stream_t *listener, int status)
{
    bare *b = listener->data;
    must(uv_tcp_init(&b->loop, &b->peer) == 0, "no socket");
    must(uv_accept(listener, (uv_stream_t *)&b->peer) == 0, "cannot accept");
    uv_tcp_nodelay(&b->peer, 1);
    b->accepted = true;
}

static void bare_open(bare *b)
{
    struct sockaddr_in address;
    int size = sizeof address;
    const struct wslay_frame_callbacks callbacks = {.send_callback = bare_append};
    memset(b->frame, 'x', sizeof b->frame);
    b->batch = malloc(BATCH_BYTES);
    must(b->batch != NULL && wslay_frame_context_init(&b->encoder, &callbacks, b) == 0, "memory");
    bare_encode(b);
    must(uv_loop_init(&b->loop) == 0, "no loop");
    uv_tcp_init(&b->loop, &b->listener);
    b->listener.data = b;
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_bind(&b->listener, (const struct sockaddr *)&address, 0);
    must(uv_listen((uv_stream_t *)&b->listener, 1, bare_on_connection) == 0, "cannot listen");
    uv_tcp_getsockname(&b->listener, (struct sockaddr *)&address, &size);
    client_start(&b->client, ntohs(address.sin_port), NULL, false);
    while (!b->accepted) {
        uv_run(&b->loop, UV_RUN_ONCE);
    }
}

static void bare_close(bare *b)
{
    client_stop(&b->client);
    uv_close((uv_handle_t *)&b->peer, NULL);
    uv_close((uv_handle_t *)&b->listener, NULL);
    uv_run(&b->loop, UV_RUN_DEFAULT);
    uv_loop_close(&b->loop);
    wslay_frame_context_free(b->encoder);
    free(b->batch);
}

/* ---- ours ---- */

typedef struct ours {
    uv_loop_t loop;
    arcp_listener *listener;
    arcp_connection *connection;
    SSL_CTX *tls;
    client client;
    uint64_t sent;
    size_t accepted;
    char frame[FRAME_BYTES];
} ours;

static void run_ours(void *state, uint64_t iterations)
{
    ours *o = state;
    const arcp_connection_ops *ops = o->connection->ops;
    const arcp_span frame = arcp_span_make(o->frame, FRAME_BYTES);
    for (uint64_t i = 0; i < iterations; i++) {
        for (int j = 0; j < BATCH_FRAMES; j++) {
            must(ops->send(o->connection, frame) == ARCP_OK, "cannot send");
        }
        ops->flush(o->connection);
        while (ops->unsent(o->connection) > UNSENT_MAX) {
            uv_run(&o->loop, UV_RUN_ONCE);
        }
    }
    o->sent += iterations * BATCH_BYTES;
    while (ops->unsent(o->connection) > 0) {
        uv_run(&o->loop, UV_RUN_ONCE);
    }
    client_wait(&o->client, o->sent);
}

static void on_accepted(void *user, arcp_connection *connection)
{
    ours *o = user;
    o->connection = connection;
    connection->ops->admit(connection); /* there is no limit for pending connections here */
    o->accepted++;
}

static unsigned port_of(const arcp_listener *listener)
{
    return (unsigned)strtoul(strrchr(listener->ops->url(listener), ':') + 1, NULL, 10);
}

static void ours_listen(ours *o, const char *certificate, const char *key)
{
    arcp_error err = {0};
    arcp_listen_options options = arcp_listen_options_init();
    options.certificate_file = certificate;
    options.key_file = key;
    arcp_listener_callbacks callbacks = {.accepted = on_accepted, .user = o};
    memset(o->frame, 'x', sizeof o->frame);
    must(uv_loop_init(&o->loop) == 0, "no loop");
    must(arcp_listen_websocket(&o->loop,
                               certificate == NULL ? "ws://127.0.0.1:0" : "wss://127.0.0.1:0",
                               &options, &callbacks, &o->listener, &err) == ARCP_OK,
         err.message);
}

static void ours_open(ours *o, const char *certificate, const char *key)
{
    ours_listen(o, certificate, key);
    if (certificate != NULL) {
        o->tls = SSL_CTX_new(TLS_client_method());
    }
    client_start(&o->client, port_of(o->listener), o->tls, true);
    while (o->connection == NULL) {
        uv_run(&o->loop, UV_RUN_ONCE);
    }
}

static void ours_close(ours *o)
{
    o->connection->ops->free(o->connection);
    o->listener->ops->close(o->listener);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    uv_loop_close(&o->loop);
    client_stop(&o->client);
    SSL_CTX_free(o->tls);
}

/* ---- memory ---- */

#define IDLE_COUNT 400

/* The server's part of the memory: the clients are bare sockets that are upgraded by hand. */
static void print_idle_memory(void)
{
    static ours o;
    static int fds[IDLE_COUNT];
    static arcp_connection *connections[IDLE_COUNT];
    size_t before = 0;
    ours_listen(&o, NULL, NULL);
    const unsigned port = port_of(o.listener);
    /* The first connection pays for what all of them share. */
    for (size_t i = 0; i <= IDLE_COUNT; i++) {
        if (i == 1) {
            before = mallinfo2().uordblks;
        }
        if (i == IDLE_COUNT) {
            break;
        }
        fds[i] = connect_to(port);
        must(send(fds[i], upgrade_request, sizeof upgrade_request - 1, 0) > 0, "cannot write");
        while (o.accepted == i) {
            uv_run(&o.loop, UV_RUN_ONCE);
        }
        uv_run(&o.loop, UV_RUN_NOWAIT);
        connections[i] = o.connection;
    }
    for (int i = 0; i < 10; i++) {
        uv_run(&o.loop, UV_RUN_NOWAIT);
    }
    const size_t bytes = (mallinfo2().uordblks - before) / (IDLE_COUNT - 1);
    printf("an idle ws connection: %zu bytes, of which libuv's handles %zu\n", bytes,
           sizeof(uv_tcp_t) + sizeof(uv_timer_t) + sizeof(uv_write_t));
    for (size_t i = 0; i < IDLE_COUNT; i++) {
        connections[i]->ops->free(connections[i]);
        close(fds[i]);
    }
    o.listener->ops->close(o.listener);
    uv_run(&o.loop, UV_RUN_DEFAULT);
    uv_loop_close(&o.loop);
}

/* ---- a certificate ---- */

static void write_identity(const char *certificate_file, const char *key_file)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    must(key != NULL && certificate != NULL, "no certificate");
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    FILE *file = fopen(certificate_file, "we");
    must(file != NULL && PEM_write_X509(file, certificate) == 1, certificate_file);
    fclose(file);
    file = fopen(key_file, "we");
    must(file != NULL && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1, key_file);
    fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

int main(int argc, char **argv)
{
    static bare prebuilt;
    static bare wslay;
    static ours plain;
    static ours secure;
    char certificate[] = "/tmp/arcp-bench-cert-XXXXXX";
    char key[] = "/tmp/arcp-bench-key-XXXXXX";
    signal(SIGPIPE, SIG_IGN);
    close(mkstemp(certificate));
    close(mkstemp(key));
    write_identity(certificate, key);
    bare_open(&prebuilt);
    bare_open(&wslay);
    ours_open(&plain, NULL, NULL);
    ours_open(&secure, certificate, key);
    unlink(certificate);
    unlink(key);
    const bench_case cases[] = {
        {"push 300-byte frames: libuv alone, prebuilt", NULL, run_prebuilt, &prebuilt, BATCH_FRAMES,
         "frames/s", 0},
        {"push 300-byte frames: libuv and wslay", NULL, run_wslay, &wslay, BATCH_FRAMES, "frames/s",
         0},
        {"push 300-byte frames: ws", "push 300-byte frames: libuv and wslay", run_ours, &plain,
         BATCH_FRAMES, "frames/s", 0},
        {"push 300-byte frames: wss", "push 300-byte frames: libuv and wslay", run_ours, &secure,
         BATCH_FRAMES, "frames/s", 0},
    };
    const int status = bench_main(argc, argv, "transport", cases, sizeof cases / sizeof cases[0]);
    bare_close(&prebuilt);
    bare_close(&wslay);
    ours_close(&plain);
    ours_close(&secure);
    if (argc == 1) {
        print_idle_memory();
    }
    return status;
}
