/* Each allocation may fail: the client gets its response, 502 or the end of its connection, nothing
 * is leaked, and the job goes on. */
#include "egress/egress_fixture.h"
#include "support/failing_alloc.h"
#include "transport/tls_files.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LEASE                                                                                      \
    "[\"http://api.test:PORT/**\", \"https://api.test:PORT/**\", \"https://other.test:PORT/a\"]"
#define HOST "Host: api.test:PORT\r\n"
#define CHUNKED                                                                                    \
    "POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

/* What the test itself receives needs no memory of the wrapped allocator. */
typedef struct peers {
    int client;
    int server;
    char request[4096];
    size_t request_size;
    char response[4096];
    size_t response_size;
    bool has_ended;
} peers;

/* Receives what there is; false at the end. */
static bool receive(int fd, char *bytes, size_t *size, size_t max)
{
    const ssize_t got = recv(fd, bytes + *size, max - 1 - *size, MSG_DONTWAIT);
    *size += got > 0 ? (size_t)got : 0;
    bytes[*size] = '\0';
    return got != 0;
}

/* One turn: the server responds to what it has got, the client receives. */
static void turn(egress_fixture *f, peers *p, const char *end, const char *response)
{
    uv_run(&f->test.loop, UV_RUN_NOWAIT);
    if (p->server < 0) {
        p->server = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    }
    if (p->server >= 0 && !receive(p->server, p->request, &p->request_size, sizeof p->request)) {
        close(p->server);
        p->server = -1;
        p->request_size = 0;
    }
    if (p->server >= 0 && p->request_size > 0 && strstr(p->request, end) != NULL) {
        p->request_size = 0;
        (void)send(p->server, response, strlen(response), MSG_NOSIGNAL);
    }
    if (!receive(p->client, p->response, &p->response_size, sizeof p->response)) {
        p->has_ended = true;
    }
}

typedef struct scenario {
    const char *name;
    const char *sent;     /* NULL: a hello */
    const char *end;      /* of what the server receives */
    const char *response; /* of the server */
    const char *received; /* by the client */
    const char *host;
} scenario;

static const scenario scenarios[] = {
    {"a request", "GET /a HTTP/1.1\r\n" HOST "\r\n", "\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "\r\n\r\nok", "api.test"},
    {"a body in chunks", CHUNKED, "\r\n0\r\n\r\n",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "\r\n0\r\n\r\n",
     "api.test"},
    {"a denial", "GET /a/%2e%2e HTTP/1.1\r\n" HOST "\r\n", "-", "-", "HTTP/1.1 403 ", "api.test"},
    {"a refusal", "GET /a HTTP/1.1\r\n\r\n", "-", "-", "HTTP/1.1 400 ", "api.test"},
    {"a tunnel", NULL, "\x16\x03", "back", "back", "api.test"},
    {"TLS that is terminated", NULL, "-", "-", "\x16\x03\x03", "other.test"},
};

/* One run with the n-th allocation failing (0: none); whether the client got what it should. */
static bool run_scenario(egress_fixture *f, const scenario *one, size_t n, failing_alloc_mode mode)
{
    peers p = {.server = -1};
    arcp_buf sent = one->sent == NULL ? egress_hello(one->host) : egress_fixture_text(f, one->sent);
    assert_int_equal(fcntl(f->listener, F_SETFL, O_NONBLOCK), 0);
    if (n > 0) {
        failing_alloc_arm(n, mode);
    }
    egress_fixture_connect_name(f, one->host);
    p.client = f->client.fd;
    (void)send(p.client, sent.data, sent.size, MSG_NOSIGNAL);
    while (!p.has_ended && strstr(p.response, one->received) == NULL &&
           strstr(p.response, "HTTP/1.1 502 ") == NULL) {
        turn(f, &p, one->end, one->response);
    }
    if (p.server >= 0) {
        close(p.server);
    }
    const bool has_received = strstr(p.response, one->received) != NULL;
    raw_peer_fini(&f->client);
    arcp_buf_fini(&sent);
    while (arcp__egress_count(f->egress).connections > 0) {
        uv_run(&f->test.loop, UV_RUN_NOWAIT);
    }
    /* A connection that the server had not accepted yet. */
    const int late = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
    if (late >= 0) {
        close(late);
    }
    test_loop_settle(&f->test);
    return has_received;
}

static void each_allocation_may_fail(void **state)
{
    const scenario *one = *state;
    static const failing_alloc_mode modes[] = {FAILING_ALLOC_ONE, FAILING_ALLOC_ALL_AFTER};
    for (size_t i = 0; i < 2; i++) {
        egress_fixture f;
        bool has_failed = true;
        size_t n = 0;
        egress_fixture_open_tls(&f, LEASE, 0);
        assert_true(run_scenario(&f, one, 0, modes[i])); /* names have their addresses now */
        while (has_failed) {
            assert_true(++n < 200);
            const bool has_received = run_scenario(&f, one, n, modes[i]);
            has_failed = failing_alloc_disarm();
            assert_true(has_received || has_failed);
        }
        assert_true(n > 3);
        assert_true(run_scenario(&f, one, 0, modes[i])); /* the job still works */
        egress_fixture_close(&f);
    }
}

static arcp_status open_and_close(void *user, arcp_error *err)
{
    egress_fixture *f = user;
    const arcp_span hosts[] = {ARCP_SPAN_LITERAL("api.test")};
    const arcp__egress_options options = {.private_hosts = hosts, .private_host_count = 1};
    char url[64];
    const int sockets[] = {raw_listen(url), raw_listen(url),
                           socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    arcp__egress *egress = NULL;
    arcp__egress_job *job = NULL;
    arcp__tls_ca *ca = NULL;
    arcp_status status = arcp__tls_ca_new(0, INT64_MAX, &ca, err);
    if (status == ARCP_OK) {
        status = arcp__egress_new(&f->test.loop, &options, &egress, err);
    }
    if (status == ARCP_OK) {
        const arcp__egress_job_options job_options = {
            .authority = f->authority, .sockets = sockets, .socket_count = 3, .ca = ca};
        status = arcp__egress_open(egress, &job_options, &job, err);
    } else {
        arcp__tls_ca_free(ca);
        for (size_t i = 0; i < 3; i++) {
            close(sockets[i]);
        }
    }
    arcp__egress_close(job);
    arcp__egress_free(egress);
    test_loop_settle(&f->test);
    return status;
}

static void each_allocation_of_opening_a_job_may_fail(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    assert_true(failing_alloc_sweep(open_and_close, &f) > 5);
    egress_fixture_close(&f);
}

static void sockets_of_other_kinds_are_refused_and_closed(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    for (size_t i = 0; i < 4; i++) {
        const int before = open_fd_count();
        char url[64];
        arcp_error err = {0};
        arcp__egress_job *job = NULL;
        const int sockets[] = {raw_listen(url),
                               i == 0   ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)
                               : i == 1 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
                               : i == 2 ? open_temporary("x")
                                        : open("/dev/null", O_RDONLY | O_CLOEXEC),
                               raw_listen(url)};
        const arcp__egress_job_options options = {
            .authority = f.authority, .sockets = sockets, .socket_count = 3};
        assert_int_equal(arcp__egress_open(f.egress, &options, &job, &err), ARCP_E_USAGE);
        assert_null(job);
        test_loop_settle(&f.test);
        assert_int_equal(open_fd_count(), before);
    }
    egress_fixture_close(&f);
}

static void a_job_has_512_sockets(void **state)
{
    static int sockets[ARCP__EGRESS_LISTENERS_MAX + 1];
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    for (size_t count = ARCP__EGRESS_LISTENERS_MAX; count <= ARCP__EGRESS_LISTENERS_MAX + 1;
         count++) {
        const int before = open_fd_count();
        char url[64];
        arcp_error err = {0};
        arcp__egress_job *job = NULL;
        sockets[0] = raw_listen(url);
        for (size_t i = 1; i < count; i++) {
            sockets[i] = fcntl(sockets[0], F_DUPFD_CLOEXEC, 0);
            assert_true(sockets[i] >= 0);
        }
        const arcp__egress_job_options options = {
            .authority = f.authority, .sockets = sockets, .socket_count = count};
        assert_int_equal(arcp__egress_open(f.egress, &options, &job, &err),
                         count > ARCP__EGRESS_LISTENERS_MAX ? ARCP_E_USAGE : ARCP_OK);
        arcp__egress_close(job);
        test_loop_settle(&f.test);
        assert_int_equal(open_fd_count(), before);
    }
    egress_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_opening_a_job_may_fail),
        cmocka_unit_test(sockets_of_other_kinds_are_refused_and_closed),
        cmocka_unit_test(a_job_has_512_sockets),
    };
    tls_files_make(&test_tls_files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL) +
                       run_rows(scenarios, sizeof scenarios / sizeof scenarios[0],
                                sizeof scenarios[0], each_allocation_may_fail);
    tls_files_remove(&test_tls_files);
    return failed;
}
