/* The network of a sandbox beside the same without it, on loopback:
 *
 *   http/keepalive  a request and its response on a connection that stays open
 *   http/new        the same with a connection of its own
 *   tunnel          bytes of a TLS connection that stays closed, to the client
 *   dns             an answer, beside a datagram that is sent back
 *
 * The client is the main thread; the server, egress and the echo of datagrams are threads. Where a
 * connection goes is fixed (system.local), because there is no sandbox whose addresses lead here.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "egress/egress_parts.h"

#define TUNNEL_BYTES ((size_t)1024 * 1024) /* of an iteration */
#define RESPONSE     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define QUERY                                                                                      \
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03"                                         \
    "api\x04test\x00\x00\x01\x00\x01"

static unsigned server_port, inside_port, echo_port, names_port;
static uint32_t inside_address;
static char hello[4096];
static size_t hello_size;

static void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "egress_bench: %s\n", what);
        exit(1);
    }
}

/* A socket on a free port of loopback. */
static int bound_socket(int type, unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    must(fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
             getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
             (type != SOCK_STREAM || listen(fd, 128) == 0),
         "no socket");
    *port = ntohs(address.sin_port);
    return fd;
}

static int connect_to(int type, unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0,
         "cannot connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* ---- the server ---- */

/* One connection: responses to requests, or bytes after a hello. */
static void serve(int fd)
{
    static char bytes[256 * 1024];
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (;;) {
        const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
        if (size <= 0) {
            break;
        }
        if (bytes[0] == '\x16') {
            while (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) {
            }
            break;
        }
        must(send(fd, RESPONSE, sizeof RESPONSE - 1, MSG_NOSIGNAL) > 0, "the server cannot write");
    }
    close(fd);
}

static void *server_main(void *argument)
{
    const int listener = *(const int *)argument;
    for (;;) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        must(fd >= 0, "the server cannot accept");
        serve(fd);
    }
    return NULL;
}

static void *echo_main(void *argument)
{
    const int fd = *(const int *)argument;
    for (;;) {
        char bytes[512];
        struct sockaddr_in from;
        socklen_t from_size = sizeof from;
        const ssize_t size =
            recvfrom(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &from_size);
        must(size > 0, "no datagram");
        (void)sendto(fd, bytes, (size_t)size, 0, (const struct sockaddr *)&from, from_size);
    }
    return NULL;
}

/* ---- egress ---- */

static int local(const arcp__stream *stream, struct sockaddr_storage *out)
{
    struct sockaddr_in *address = (struct sockaddr_in *)out;
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)server_port);
    address->sin_addr.s_addr = htonl(inside_address);
    return 0;
}

static int find(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done,
                const char *node, const char *service, const struct addrinfo *hints)
{
    return uv_getaddrinfo(loop, request, done, "127.0.0.1", service, hints);
}

static arcp_authority *make_authority(void)
{
    char text[160];
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    (void)snprintf(text, sizeof text,
                   "{\"net.fetch\": [\"http://api.test:%u/**\", \"https://api.test:%u/**\"]}",
                   server_port, server_port);
    must(arcp_lease_parse(arcp_span_cstr(text), arcp_span_make(NULL, 0), NULL, &lease, &err) ==
             ARCP_OK,
         err.message);
    must(arcp_authority_new(lease, NULL, &authority, &err) == ARCP_OK, err.message);
    arcp_lease_unref(lease);
    return authority;
}

static void *egress_main(void *argument)
{
    uv_run(argument, UV_RUN_DEFAULT); /* until the program ends */
    return NULL;
}

static void start_egress(void)
{
    static uv_loop_t loop;
    const arcp_span hosts[] = {ARCP_SPAN_LITERAL("api.test")};
    const arcp__egress_options options = {.private_hosts = hosts, .private_host_count = 1};
    const int sockets[] = {bound_socket(SOCK_STREAM, &inside_port),
                           bound_socket(SOCK_DGRAM, &names_port)};
    arcp__egress *egress = NULL;
    arcp__egress_job *job = NULL;
    arcp_error err = {0};
    pthread_t thread;
    must(uv_loop_init(&loop) == 0, "no loop");
    must(arcp__egress_new(&loop, &options, &egress, &err) == ARCP_OK, err.message);
    egress->system.local = local;
    egress->system.find = find;
    const arcp__egress_job_options job_options = {
        .authority = make_authority(), .sockets = sockets, .socket_count = 2};
    must(arcp__egress_open(egress, &job_options, &job, &err) == ARCP_OK, err.message);
    inside_address = arcp__egress_names_address(job->names, hosts[0]);
    must(pthread_create(&thread, NULL, egress_main, &loop) == 0, "no thread");
}

static void make_hello(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    must(SSL_set_tlsext_host_name(ssl, "api.test") == 1 && SSL_connect(ssl) == -1, "no hello");
    const int size = BIO_read(SSL_get_wbio(ssl), hello, sizeof hello);
    must(size > 0, "no hello");
    hello_size = (size_t)size;
    SSL_free(ssl);
    SSL_CTX_free(context);
}

/* ---- the cases ---- */

static void request(int fd)
{
    char text[128];
    size_t size = 0;
    const int request_size =
        snprintf(text, sizeof text, "GET /a HTTP/1.1\r\nHost: api.test:%u\r\n\r\n", server_port);
    must(send(fd, text, (size_t)request_size, MSG_NOSIGNAL) == request_size, "cannot write");
    while (size < sizeof RESPONSE - 1) {
        const ssize_t got = recv(fd, text + size, sizeof text - size, 0);
        must(got > 0, "no response");
        size += (size_t)got;
    }
    must(memcmp(text, RESPONSE, sizeof RESPONSE - 1) == 0, "not the response of the server");
}

static void run_keepalive(void *port, uint64_t iterations)
{
    const int fd = connect_to(SOCK_STREAM, *(const unsigned *)port);
    for (uint64_t i = 0; i < iterations; i++) {
        request(fd);
    }
    close(fd);
}

static void run_new(void *port, uint64_t iterations)
{
    for (uint64_t i = 0; i < iterations; i++) {
        run_keepalive(port, 1);
    }
}

static void run_tunnel(void *port, uint64_t iterations)
{
    static char bytes[256 * 1024];
    const int fd = connect_to(SOCK_STREAM, *(const unsigned *)port);
    must(send(fd, hello, hello_size, MSG_NOSIGNAL) == (ssize_t)hello_size, "cannot write");
    for (size_t left = iterations * TUNNEL_BYTES; left > 0;) {
        const ssize_t got = recv(fd, bytes, left < sizeof bytes ? left : sizeof bytes, 0);
        must(got > 0, "the tunnel has ended");
        left -= (size_t)got;
    }
    close(fd);
}

static void run_datagrams(void *port, uint64_t iterations)
{
    const int fd = connect_to(SOCK_DGRAM, *(const unsigned *)port);
    for (uint64_t i = 0; i < iterations; i++) {
        char bytes[512];
        must(send(fd, QUERY, sizeof QUERY - 1, 0) > 0 && recv(fd, bytes, sizeof bytes, 0) > 0,
             "no answer");
    }
    close(fd);
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    static int listener, echo;
    (void)signal(SIGPIPE, SIG_IGN);
    listener = bound_socket(SOCK_STREAM, &server_port);
    echo = bound_socket(SOCK_DGRAM, &echo_port);
    make_hello();
    start_egress();
    must(pthread_create(&threads[0], NULL, server_main, &listener) == 0 &&
             pthread_create(&threads[1], NULL, echo_main, &echo) == 0,
         "no thread");
    const bench_case cases[] = {
        {.name = "http/keepalive/direct", .run = run_keepalive, .state = &server_port},
        {.name = "http/keepalive",
         .baseline = "http/keepalive/direct",
         .run = run_keepalive,
         .state = &inside_port},
        {.name = "http/new/direct", .run = run_new, .state = &server_port},
        {.name = "http/new", .baseline = "http/new/direct", .run = run_new, .state = &inside_port},
        {.name = "tunnel/direct",
         .run = run_tunnel,
         .state = &server_port,
         .units_per_iteration = TUNNEL_BYTES,
         .unit = "B/s"},
        {.name = "tunnel",
         .baseline = "tunnel/direct",
         .run = run_tunnel,
         .state = &inside_port,
         .units_per_iteration = TUNNEL_BYTES,
         .unit = "B/s"},
        {.name = "dns/echo", .run = run_datagrams, .state = &echo_port},
        {.name = "dns", .baseline = "dns/echo", .run = run_datagrams, .state = &names_port},
    };
    return bench_main(argc, argv, "egress", cases, sizeof cases / sizeof cases[0]);
}
