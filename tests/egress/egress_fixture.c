#include "egress/egress_fixture.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "transport/tls_files.h"

egress_answers answers;

/* ---- lookups ---- */

typedef struct lookup {
    uv_timer_t timer;
    uv_getaddrinfo_t *request;
    uv_getaddrinfo_cb done;
} lookup;

static struct addrinfo *make_addresses(void)
{
    struct addrinfo *list = NULL;
    for (size_t i = ADDRESSES_MAX; i-- > 0;) {
        const char *text = answers.addresses[i];
        if (text == NULL) {
            continue;
        }
        struct addrinfo *one = calloc(1, sizeof *one);
        arcp__egress_address *address = calloc(1, sizeof *address);
        assert_non_null(one);
        assert_non_null(address);
        if (strchr(text, ':') != NULL) {
            address->v6.sin6_family = AF_INET6;
            assert_int_equal(inet_pton(AF_INET6, text, &address->v6.sin6_addr), 1);
        } else {
            address->v4.sin_family = AF_INET;
            assert_int_equal(inet_pton(AF_INET, text, &address->v4.sin_addr), 1);
        }
        *one = (struct addrinfo){.ai_family = address->any.sa_family,
                                 .ai_addr = &address->any,
                                 .ai_addrlen = sizeof *address,
                                 .ai_next = list};
        list = one;
    }
    return list;
}

static void free_addresses(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list->ai_addr);
        free(list);
        list = next;
    }
}

static void on_lookup_closed(uv_handle_t *timer)
{
    free(timer);
}

static void on_lookup(uv_timer_t *timer)
{
    lookup *one = (lookup *)timer;
    uv_close((uv_handle_t *)timer, on_lookup_closed);
    one->done(one->request, answers.error, answers.error == 0 ? make_addresses() : NULL);
}

static lookup *pending[LOOKUPS_MAX];
static size_t pending_count;

static int find(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done,
                const char *node, const char *service, const struct addrinfo *hints)
{
    lookup *one = calloc(1, sizeof *one);
    assert_non_null(one);
    answers.asked++;
    snprintf(answers.name, sizeof answers.name, "%s", node);
    one->request = request;
    one->done = done;
    uv_timer_init(loop, &one->timer);
    if (answers.is_silent) {
        assert_true(pending_count < LOOKUPS_MAX);
        pending[pending_count++] = one;
    } else {
        uv_timer_start(&one->timer, on_lookup, 0, 0);
    }
    return 0;
}

void egress_answers_end(egress_fixture *f)
{
    const size_t count = pending_count;
    answers.is_silent = false;
    pending_count = 0;
    for (size_t i = 0; i < count; i++) {
        uv_timer_start(&pending[i]->timer, on_lookup, 0, 0);
    }
    test_loop_settle(&f->test);
}

/* ---- destinations ---- */

static struct sockaddr_storage destination;

static int local(const arcp__stream *stream, struct sockaddr_storage *out)
{
    *out = destination;
    return 0;
}

/* Each port inside is served by the same listener, so a test connects one client at a time. */
void egress_fixture_connect(egress_fixture *f, raw_peer *client, const char *address, unsigned port)
{
    memset(&destination, 0, sizeof destination);
    struct sockaddr_in *four = (struct sockaddr_in *)&destination;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&destination;
    if (strchr(address, ':') != NULL) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        assert_int_equal(inet_pton(AF_INET6, address, &six->sin6_addr), 1);
    } else {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        assert_int_equal(inet_pton(AF_INET, address, &four->sin_addr), 1);
    }
    raw_peer_connect(client, &f->test, f->inside_url);
    test_loop_settle(&f->test);
}

uint32_t egress_fixture_name(egress_fixture *f, const char *name)
{
    const uint32_t address = arcp__egress_names_address(f->job->names, arcp_span_cstr(name));
    assert_true(address != 0);
    return address;
}

void egress_fixture_connect_name(egress_fixture *f, const char *name)
{
    char text[INET6_ADDRSTRLEN];
    const uint32_t address = htonl(egress_fixture_name(f, name));
    assert_non_null(inet_ntop(AF_INET, &address, text, sizeof text));
    egress_fixture_connect(f, &f->client, text, f->port);
}

/* ---- the fixture ---- */

static void on_allowed(void *user, arcp_span url, bool is_host)
{
    egress_fixture *f = user;
    f->allowed++;
    (void)snprintf(f->allowed_url, sizeof f->allowed_url, "%.*s%s", (int)url.size, url.data,
                   is_host ? " host" : "");
}

static void on_denied(void *user, const arcp__egress_denial *denial)
{
    egress_fixture *f = user;
    f->denied++;
    check_span(denial->capability, "net.fetch");
    snprintf(f->target, sizeof f->target, "%.*s", (int)denial->target.size, denial->target.data);
    snprintf(f->reason, sizeof f->reason, "%s", denial->reason);
    assert_int_equal(denial->code, strncmp(denial->reason, "no pattern of the lease", 23) == 0
                                       ? ARCP__EGRESS_NO_PATTERN
                                       : ARCP__EGRESS_REFUSED);
    if (f->closes_on_denial) {
        arcp__egress_close(f->job);
        f->job = NULL;
    }
}

static void replace_port(const char *text, unsigned port, arcp_buf *out)
{
    for (const char *at = strstr(text, "PORT"); at != NULL; at = strstr(text, "PORT")) {
        arcp_buf_append(out, arcp_span_make(text, (size_t)(at - text)));
        arcp_buf_append_u64(out, port);
        text = at + 4;
    }
    arcp_buf_append_cstr(out, text);
}

arcp_buf egress_fixture_text(const egress_fixture *f, const char *text)
{
    arcp_buf out = arcp_buf_init();
    replace_port(text, f->port, &out);
    assert_false(out.failed);
    return out;
}

void egress_fixture_send(egress_fixture *f, raw_peer *peer, const char *text)
{
    arcp_buf bytes = egress_fixture_text(f, text);
    raw_peer_send(peer, arcp_buf_span(&bytes));
    arcp_buf_fini(&bytes);
}

arcp_buf egress_hello(const char *name)
{
    arcp_buf hello = arcp_buf_init();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    char *data = NULL;
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (name != NULL) {
        assert_int_equal(SSL_set_tlsext_host_name(ssl, name), 1);
    }
    assert_int_equal(SSL_connect(ssl), -1);
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl), &data);
    arcp_buf_append(&hello, arcp_span_make(data, (size_t)size));
    SSL_free(ssl);
    SSL_CTX_free(context);
    assert_true(hello.size > 100);
    return hello;
}

void egress_send_hello(raw_peer *client, const char *name)
{
    arcp_buf hello = egress_hello(name);
    raw_peer_send(client, arcp_buf_span(&hello));
    arcp_buf_fini(&hello);
}

static void make_authority(egress_fixture *f, const char *lease)
{
    arcp_buf text = arcp_buf_init();
    arcp_lease *parsed = NULL;
    arcp_error err = {0};
    arcp_buf_append_cstr(&text, "{\"net.fetch\": ");
    replace_port(lease, f->port, &text);
    arcp_buf_append_cstr(&text, "}");
    check_ok(arcp_lease_parse(arcp_buf_span(&text), arcp_span_make(NULL, 0), NULL, &parsed, &err),
             &err);
    check_ok(arcp_authority_new(parsed, NULL, &f->authority, &err), &err);
    arcp_lease_unref(parsed);
    arcp_buf_fini(&text);
}

static int udp_socket(unsigned *port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    socklen_t size = sizeof address;
    const int off = 0;
    const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin6_port);
    return fd;
}

static void on_gateway(void *user, unsigned gateway, int fd)
{
    egress_fixture *f = user;
    assert_int_equal(f->gateway_fd, -1);
    f->gateway_fd = fd;
    f->gateway = gateway;
}

static void open_job(egress_fixture *f, const char *lease, arcp__egress_options options,
                     const char *secret, unsigned gateways, arcp__tls_ca *ca)
{
    const arcp_span hosts[] = {ARCP_SPAN_LITERAL("api.test"), ARCP_SPAN_LITERAL("other.test")};
    options.private_hosts = hosts;
    options.private_host_count = 2;
    arcp_error err = {0};
    char url[64];
    memset(f, 0, sizeof *f);
    answers = (egress_answers){.addresses = {"127.0.0.1"}};
    f->client.fd = f->server.fd = f->gateway_fd = -1;
    test_loop_init(&f->test);
    f->listener = raw_listen(url);
    f->port = (unsigned)strtoul(strrchr(url, ':') + 1, NULL, 10);
    make_authority(f, lease);
    const int sockets[] = {raw_listen(f->inside_url), udp_socket(&f->names_port)};
    check_ok(arcp__egress_new(&f->test.loop, &options, &f->egress, &err), &err);
    f->egress->system =
        (arcp__egress_system){find, free_addresses, local, arcp__tcp_stream_connect};
    const arcp__egress_job_options job = {.authority = f->authority,
                                          .sockets = sockets,
                                          .socket_count = 2,
                                          .proxy_secret = secret,
                                          .denied = on_denied,
                                          .allowed = on_allowed,
                                          .user = f,
                                          .gateways = gateways,
                                          .serve = on_gateway,
                                          .serve_user = f,
                                          .ca = ca};
    check_ok(arcp__egress_open(f->egress, &job, &f->job, &err), &err);
}

void egress_fixture_open_with(egress_fixture *f, const char *lease, uint32_t idle_ms,
                              uint32_t head_ms)
{
    open_job(f, lease, (arcp__egress_options){.idle_ms = idle_ms, .head_ms = head_ms}, NULL, 0,
             NULL);
}

void egress_fixture_open_proxy(egress_fixture *f, const char *lease, const char *secret)
{
    open_job(f, lease, (arcp__egress_options){.idle_ms = 0}, secret, 0, NULL);
}

void egress_fixture_open_gateways(egress_fixture *f, const char *lease, unsigned gateways)
{
    open_job(f, lease, (arcp__egress_options){.idle_ms = 0}, NULL, gateways, NULL);
}

void egress_fixture_open(egress_fixture *f, const char *lease)
{
    egress_fixture_open_with(f, lease, 0, 0);
}

void egress_fixture_open_tls(egress_fixture *f, const char *lease, uint32_t head_ms)
{
    arcp_error err = {0};
    arcp__tls_ca *ca = NULL;
    const int64_t now_sec = (int64_t)time(NULL);
    check_ok(arcp__tls_ca_new(now_sec, INT64_MAX, &ca, &err), &err);
    open_job(f, lease, (arcp__egress_options){.head_ms = head_ms}, NULL, 0, ca);
    check_ok(arcp__tls_context_new_client(test_tls_files.ca, &f->egress->tls, &err), &err);
}

void egress_fixture_accept(egress_fixture *f)
{
    raw_peer_fini(&f->server);
    raw_peer_accept(&f->server, &f->test, f->listener);
}

void egress_fixture_expect_end(egress_fixture *f, const char *text)
{
    raw_peer_expect_end(&f->client);
    assert_non_null(arcp_buf_cstr(&f->client.received));
    if (strstr(arcp_buf_cstr(&f->client.received), text) == NULL) {
        fail_msg("no \"%s\" in \"%s\"", text, arcp_buf_cstr(&f->client.received));
    }
}

void egress_fixture_pass_ms(egress_fixture *f, uint64_t ms)
{
    const uint64_t until = uv_now(&f->test.loop) + ms;
    while (uv_now(&f->test.loop) < until) {
        test_loop_settle(&f->test);
        uv_update_time(&f->test.loop);
    }
}

void egress_fixture_close(egress_fixture *f)
{
    raw_peer_fini(&f->client);
    raw_peer_fini(&f->server);
    arcp__egress_close(f->job);
    arcp__egress_free(f->egress);
    arcp_authority_unref(f->authority);
    close(f->listener);
    if (pending_count > 0) {
        egress_answers_end(f);
    }
    test_loop_fini(&f->test);
}
