/* The network of a sandbox beside the same without it, on loopback:
 *
 *   http/keepalive  a request and its response on a connection that stays open
 *   http/new        the same with a connection of its own
 *   tunnel          bytes of a TLS connection that stays closed, to the client
 *   terminate/new   a request and its response by TLS that is terminated, on a new connection
 *   terminate/first the same, with a host that gives no session to go on with: as the first
 * connection to it dns             an answer, beside a datagram that is sent back
 *
 * The client is the main thread; the server, egress and the echo of datagrams are threads. Where a
 * connection goes is fixed (system.local), because there is no sandbox whose addresses lead here.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "egress/egress_parts.h"

#define TUNNEL_BYTES ((size_t)1024 * 1024) /* of an iteration */
#define RESPONSE     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define QUERY                                                                                      \
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03"                                         \
    "api\x04test\x00\x00\x01\x00\x01"

static unsigned server_port, tls_port, inside_port, echo_port, names_port;
static uint32_t inside_address, tls_address;
static atomic_bool is_to_tls; /* where connections inside lead */
static SSL_CTX *server_context, *client_context;
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

/* A request and its response on each connection. */
static void *tls_main(void *argument)
{
    const int listener = *(const int *)argument;
    for (;;) {
        char bytes[512];
        size_t size = 0;
        const int on = 1;
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        SSL *ssl = SSL_new(server_context);
        must(fd >= 0 && SSL_set_fd(ssl, fd) == 1, "the server cannot accept");
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (SSL_accept(ssl) == 1 && SSL_read_ex(ssl, bytes, sizeof bytes, &size) == 1) {
            must(SSL_write(ssl, RESPONSE, sizeof RESPONSE - 1) > 0, "the server cannot write");
            (void)SSL_read_ex(ssl, bytes, sizeof bytes, &size); /* the end */
        }
        SSL_free(ssl);
        close(fd);
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
    address->sin_port = htons((uint16_t)(is_to_tls ? tls_port : server_port));
    address->sin_addr.s_addr = htonl(is_to_tls ? tls_address : inside_address);
    return 0;
}

static int find(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done,
                const char *node, const char *service, const struct addrinfo *hints)
{
    return uv_getaddrinfo(loop, request, done, "127.0.0.1", service, hints);
}

static arcp_authority *make_authority(void)
{
    char text[240];
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    (void)snprintf(text, sizeof text,
                   "{\"net.fetch\": [\"http://api.test:%u/**\", \"https://api.test:%u/**\", "
                   "\"https://part.test:%u/a\"]}",
                   server_port, server_port, tls_port);
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

/* As programs do, the client checks the certificate: that of the server, or that of the job. Takes
 * it over. */
static void trust(X509 *certificate)
{
    must(certificate != NULL &&
             X509_STORE_add_cert(SSL_CTX_get_cert_store(client_context), certificate) == 1,
         "no authority");
    SSL_CTX_set_verify(client_context, SSL_VERIFY_PEER, NULL);
    X509_free(certificate);
}

/* A server for part.test, whose certificate is its own authority; the name of the file with it. */
static const char *make_certificate(void)
{
    static char path[] = "/tmp/egress-bench-XXXXXX";
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    X509V3_CTX names;
    const int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    X509V3_set_ctx_nodb(&names);
    X509V3_set_ctx(&names, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *name = X509V3_EXT_conf_nid(NULL, &names, NID_subject_alt_name, "DNS:part.test");
    server_context = SSL_CTX_new(TLS_server_method());
    client_context = SSL_CTX_new(TLS_client_method());
    must(file != NULL && X509_set_version(certificate, X509_VERSION_3) == 1 &&
             ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
             X509_gmtime_adj(X509_getm_notBefore(certificate), -60) != NULL &&
             X509_gmtime_adj(X509_getm_notAfter(certificate), 86400) != NULL &&
             X509_set_pubkey(certificate, key) == 1 &&
             X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                        (const unsigned char *)"bench", -1, -1, 0) == 1 &&
             X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
             X509_add_ext(certificate, name, -1) == 1 &&
             X509_sign(certificate, key, EVP_sha256()) > 0 &&
             SSL_CTX_use_certificate(server_context, certificate) == 1 &&
             SSL_CTX_use_PrivateKey(server_context, key) == 1 &&
             PEM_write_X509(file, certificate) == 1 && fclose(file) == 0,
         "no certificate");
    trust(certificate);
    X509_EXTENSION_free(name);
    EVP_PKEY_free(key);
    return path;
}

static void start_egress(void)
{
    const char *certificate = make_certificate();
    arcp__tls_ca *ca = NULL;
    static uv_loop_t loop;
    const arcp_span hosts[] = {ARCP_SPAN_LITERAL("api.test"), ARCP_SPAN_LITERAL("part.test")};
    const arcp__egress_options options = {.private_hosts = hosts, .private_host_count = 2};
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
    must(arcp__tls_ca_new((int64_t)time(NULL), INT64_MAX, &ca, &err) == ARCP_OK &&
             arcp__tls_context_new_client(certificate, &egress->tls, &err) == ARCP_OK,
         err.message);
    (void)unlink(certificate);
    BIO *text = BIO_new_mem_buf(arcp__tls_ca_certificate(ca), -1);
    trust(PEM_read_bio_X509(text, NULL, NULL, NULL));
    BIO_free(text);
    const arcp__egress_job_options job_options = {
        .authority = make_authority(), .sockets = sockets, .socket_count = 2, .ca = ca};
    must(arcp__egress_open(egress, &job_options, &job, &err) == ARCP_OK, err.message);
    inside_address = arcp__egress_names_address(job->names, hosts[0]);
    tls_address = arcp__egress_names_address(job->names, hosts[1]);
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

static void exchange_tls(void *port, uint64_t iterations)
{
    char text[128];
    const int request_size =
        snprintf(text, sizeof text, "GET /a HTTP/1.1\r\nHost: part.test:%u\r\n\r\n", tls_port);
    is_to_tls = true;
    for (uint64_t i = 0; i < iterations; i++) {
        char response[128];
        size_t size = 0;
        const int fd = connect_to(SOCK_STREAM, *(const unsigned *)port);
        SSL *ssl = SSL_new(client_context);
        must(SSL_set_fd(ssl, fd) == 1 && SSL_set_tlsext_host_name(ssl, "part.test") == 1 &&
                 SSL_connect(ssl) == 1 && SSL_write(ssl, text, request_size) == request_size,
             "no TLS");
        while (size < sizeof RESPONSE - 1) {
            size_t got = 0;
            must(SSL_read_ex(ssl, response + size, sizeof response - size, &got) == 1,
                 "no response");
            size += got;
        }
        must(memcmp(response, RESPONSE, sizeof RESPONSE - 1) == 0,
             "not the response of the server");
        SSL_free(ssl);
        close(fd);
    }
    is_to_tls = false;
}

static void run_tls(void *port, uint64_t iterations)
{
    SSL_CTX_set_num_tickets(server_context, 2); /* as OpenSSL does by itself */
    exchange_tls(port, iterations);
}

static void run_tls_first(void *port, uint64_t iterations)
{
    SSL_CTX_set_num_tickets(server_context, 0);
    exchange_tls(port, iterations);
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
    pthread_t threads[3];
    static int listener, tls_listener, echo;
    (void)signal(SIGPIPE, SIG_IGN);
    listener = bound_socket(SOCK_STREAM, &server_port);
    tls_listener = bound_socket(SOCK_STREAM, &tls_port);
    echo = bound_socket(SOCK_DGRAM, &echo_port);
    make_hello();
    start_egress();
    must(pthread_create(&threads[0], NULL, server_main, &listener) == 0 &&
             pthread_create(&threads[1], NULL, echo_main, &echo) == 0 &&
             pthread_create(&threads[2], NULL, tls_main, &tls_listener) == 0,
         "no thread");
    const bench_case cases[] = {
        {.name = "http/keepalive/direct", .run = run_keepalive, .state = &server_port},
        {.name = "http/keepalive",
         .baseline = "http/keepalive/direct",
         .run = run_keepalive,
         .state = &inside_port},
        {.name = "http/new/direct", .run = run_new, .state = &server_port},
        {.name = "http/new", .baseline = "http/new/direct", .run = run_new, .state = &inside_port},
        {.name = "terminate/new/direct", .run = run_tls, .state = &tls_port},
        {.name = "terminate/new",
         .baseline = "terminate/new/direct",
         .run = run_tls,
         .state = &inside_port},
        {.name = "terminate/first",
         .baseline = "terminate/new/direct",
         .run = run_tls_first,
         .state = &inside_port},
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
