/* Names with several addresses, some of them unreachable. The program is linked with a resolver of
 * the test (CMakeLists.txt). */
#include "transport/dial.h"
#include "transport/raw_peer.h"
#include "transport/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES_MAX 4

static struct addrinfo answers[ADDRESSES_MAX];
static struct sockaddr_in addresses[ADDRESSES_MAX];
static size_t answer_count;

/* The linker's names (--wrap). */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
int __wrap_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done,
                          const char *node, const char *service, const struct addrinfo *hints);
void __wrap_uv_freeaddrinfo(struct addrinfo *list);

int __real_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done,
                          const char *node, const char *service, const struct addrinfo *hints);
void __real_uv_freeaddrinfo(struct addrinfo *list);

typedef struct answer_later {
    uv_timer_t timer;
    uv_getaddrinfo_t *request;
    uv_getaddrinfo_cb done;
} answer_later;

static answer_later later;

static void on_answer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
    later.done(later.request, 0, answer_count == 0 ? NULL : &answers[0]);
}

int __wrap_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb done,
                          const char *node, const char *service, const struct addrinfo *hints)
{
    if (strcmp(node, "several.example") != 0) {
        return __real_uv_getaddrinfo(loop, request, done, node, service, hints); /* a listener */
    }
    assert_non_null(done);
    later.request = request;
    later.done = done;
    uv_timer_init(loop, &later.timer);
    return uv_timer_start(&later.timer, on_answer, 0, 0);
}

void __wrap_uv_freeaddrinfo(struct addrinfo *list)
{
    if (list != &answers[0]) {
        __real_uv_freeaddrinfo(list);
    }
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void forget_addresses(void)
{
    memset(answers, 0, sizeof answers);
    answer_count = 0;
}

static void add_address(const char *host, unsigned port)
{
    assert_true(answer_count < ADDRESSES_MAX);
    struct sockaddr_in *address = &addresses[answer_count];
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    assert_int_equal(inet_pton(AF_INET, host, &address->sin_addr), 1);
    answers[answer_count] = (struct addrinfo){
        .ai_family = AF_INET,
        .ai_socktype = SOCK_STREAM,
        .ai_addr = (struct sockaddr *)address,
        .ai_addrlen = sizeof *address,
    };
    if (answer_count > 0) {
        answers[answer_count - 1].ai_next = &answers[answer_count];
    }
    answer_count++;
}

static unsigned port_of(const char *url)
{
    return (unsigned)strtoul(strrchr(url, ':') + 1, NULL, 10);
}

/* A port without a listener. */
static unsigned refusing_port(void)
{
    char url[64];
    close(raw_listen(url));
    return port_of(url);
}

/* A port that does not respond: its backlog is full. */
typedef struct silent {
    int listener;
    int fillers[8];
} silent;

static unsigned silent_open(silent *s)
{
    char url[64];
    s->listener = raw_listen(url);
    assert_int_equal(listen(s->listener, 0), 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(url))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < 8; i++) {
        s->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(s->fillers[i] >= 0);
        (void)connect(s->fillers[i], (const struct sockaddr *)&address, sizeof address);
    }
    return port_of(url);
}

static void silent_close(silent *s)
{
    for (size_t i = 0; i < 8; i++) {
        close(s->fillers[i]);
    }
    close(s->listener);
}

static arcp_connect_options within(uint32_t timeout_ms)
{
    arcp_connect_options options = arcp_connect_options_init();
    options.timeout_ms = timeout_ms;
    return options;
}

static void open_server(server *s)
{
    static const char *const hosts[] = {"several.example"};
    arcp_listen_options options = arcp_listen_options_init();
    options.hosts = hosts;
    options.host_count = 1;
    forget_addresses();
    server_open(s, NULL, options);
}

static void after_a_refused_connection_the_next_address_is_tried(void **state)
{
    server s;
    dial d;
    open_server(&s);
    add_address("127.0.0.1", refusing_port());
    add_address("127.0.0.1", port_of(s.url));
    arcp_connect_options options = within(2 * TEST_PATIENCE_MS);
    dial_begin(&d, &s.test, "ws://several.example/arcp", &options);
    dial_wait(&d, &s.test);
    assert_true(d.connected);
    dial_fini(&d);
    server_fini(&s);
}

static void after_a_silent_address_the_next_one_is_tried(void **state)
{
    server s;
    dial d;
    silent first;
    open_server(&s);
    add_address("127.0.0.1", silent_open(&first));
    add_address("127.0.0.1", port_of(s.url));
    arcp_connect_options options =
        within(2 * TEST_PATIENCE_MS); /* the silent address gets 2 s of it */
    dial_begin(&d, &s.test, "ws://several.example/arcp", &options);
    dial_wait(&d, &s.test);
    assert_true(d.connected);
    dial_fini(&d);
    silent_close(&first);
    server_fini(&s);
}

static void the_last_error_is_reported(void **state)
{
    test_loop test;
    dial d;
    test_loop_init(&test);
    forget_addresses();
    add_address("127.0.0.1", refusing_port());
    add_address("127.0.0.1", refusing_port());
    arcp_connect_options options = within(2 * TEST_PATIENCE_MS);
    dial_begin(&d, &test, "ws://several.example:99/arcp", &options);
    dial_expect_failure(&d, &test, ARCP_E_IO,
                        "cannot connect to several.example:99: connection refused");
    dial_fini(&d);
    test_loop_fini(&test);
}

static void with_only_silent_addresses_connecting_times_out(void **state)
{
    test_loop test;
    dial d;
    silent one;
    silent two;
    test_loop_init(&test);
    forget_addresses();
    add_address("127.0.0.1", silent_open(&one));
    add_address("127.0.0.1", silent_open(&two));
    arcp_connect_options options = within(60); /* 30 ms for the first */
    dial_begin(&d, &test, "ws://several.example:99/arcp", &options);
    dial_expect_failure(&d, &test, ARCP_E_DEADLINE,
                        "cannot connect to several.example:99 within 60 ms");
    dial_fini(&d);
    silent_close(&one);
    silent_close(&two);
    test_loop_fini(&test);
}

static void a_name_without_an_address_is_an_error(void **state)
{
    test_loop test;
    dial d;
    test_loop_init(&test);
    forget_addresses();
    arcp_connect_options options = within(2 * TEST_PATIENCE_MS);
    dial_begin(&d, &test, "ws://several.example/arcp", &options);
    dial_expect_failure(&d, &test, ARCP_E_IO, "several.example has no address");
    dial_fini(&d);
    test_loop_fini(&test);
}

static void a_look_up_can_be_cancelled(void **state)
{
    test_loop test;
    dial d;
    test_loop_init(&test);
    forget_addresses();
    add_address("127.0.0.1", refusing_port());
    arcp_connect_options options = within(2 * TEST_PATIENCE_MS);
    dial_begin(&d, &test, "ws://several.example/arcp", &options);
    uv_run(&test.loop, UV_RUN_NOWAIT); /* the lookup has started and not completed */
    arcp_connector_cancel(d.connector);
    test_loop_fini(&test);
    assert_false(d.connected || d.failed);
    dial_fini(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_refused_connection_the_next_address_is_tried),
        cmocka_unit_test(after_a_silent_address_the_next_one_is_tried),
        cmocka_unit_test(the_last_error_is_reported),
        cmocka_unit_test(with_only_silent_addresses_connecting_times_out),
        cmocka_unit_test(a_name_without_an_address_is_an_error),
        cmocka_unit_test(a_look_up_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
