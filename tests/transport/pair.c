#include "transport/pair.h"

#include <sys/socket.h>
#include <unistd.h>

#include "transport/tls_files.h"

const char *const pair_kind_names[PAIR_KIND_COUNT] = {
    [PAIR_WS] = "ws",
    [PAIR_WSS] = "wss",
    [PAIR_STDIO_PIPES] = "stdio over pipes",
    [PAIR_STDIO_SOCKET] = "stdio over a socket",
    [PAIR_MEMORY] = "memory",
};

bool pair_has_codes(const pair *p)
{
    return p->kind == PAIR_WS || p->kind == PAIR_WSS || p->kind == PAIR_MEMORY;
}

static void on_accepted(void *user, arcp_connection *connection)
{
    pair *p = user;
    owner_take(&p->a, connection);
}

static void on_connected(void *user, arcp_connection *connection)
{
    pair *p = user;
    owner_take(&p->b, connection);
}

static void on_failed(void *user, const arcp_error *err)
{
    fail_msg("%s", err->message);
}

static void open_websocket(pair *p, pair_limits limits)
{
    arcp_error err = {0};
    const bool secure = p->kind == PAIR_WSS;
    arcp_listen_options listen = arcp_listen_options_init();
    listen.certificate_file = test_tls_files.certificate;
    listen.key_file = test_tls_files.key;
    listen.frame_bytes_max = limits.frame_bytes_max;
    listen.close_timeout_ms = limits.close_timeout_ms;
    arcp_listener_callbacks accepted = {.accepted = on_accepted, .user = p};
    check_ok(arcp_listen_websocket(&p->test.loop,
                                   secure ? "wss://127.0.0.1:0/arcp" : "ws://127.0.0.1:0/arcp",
                                   &listen, &accepted, &p->listener, &err),
             &err);
    arcp_connect_options connect = arcp_connect_options_init();
    connect.ca_file = secure ? test_tls_files.ca : NULL;
    connect.frame_bytes_max = limits.frame_bytes_max;
    connect.close_timeout_ms = limits.close_timeout_ms;
    arcp_connect_callbacks connected = {on_connected, on_failed, p};
    check_ok(arcp_connect(&p->test.loop, p->listener->ops->url(p->listener), &connect, &connected,
                          NULL, &err),
             &err);
    run_until(&p->test, p->a.connection != NULL && p->b.connection != NULL);
}

static void open_stdio(pair *p, pair_limits limits)
{
    int a_to_b[2];
    int b_to_a[2];
    if (p->kind == PAIR_STDIO_PIPES) {
        assert_int_equal(pipe(a_to_b), 0);
        assert_int_equal(pipe(b_to_a), 0);
    } else {
        int sockets[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
        a_to_b[0] = b_to_a[1] = sockets[1]; /* b's */
        a_to_b[1] = b_to_a[0] = sockets[0]; /* a's */
    }
    arcp_stdio_options options = arcp_stdio_options_init();
    options.frame_bytes_max = limits.frame_bytes_max;
    options.close_timeout_ms = limits.close_timeout_ms;
    arcp_error err = {0};
    arcp_connection *a = NULL;
    arcp_connection *b = NULL;
    check_ok(arcp_open_stdio(&p->test.loop, b_to_a[0], a_to_b[1], &options, &a, &err), &err);
    check_ok(arcp_open_stdio(&p->test.loop, a_to_b[0], b_to_a[1], &options, &b, &err), &err);
    owner_take(&p->a, a);
    owner_take(&p->b, b);
}

static void open_memory(pair *p, pair_limits limits)
{
    arcp_memory_options options = arcp_memory_options_init();
    options.frame_bytes_max = limits.frame_bytes_max;
    options.close_timeout_ms = limits.close_timeout_ms;
    arcp_error err = {0};
    arcp_connection *a = NULL;
    arcp_connection *b = NULL;
    check_ok(arcp_memory_pair(&p->test.loop, &options, &a, &b, &err), &err);
    owner_take(&p->a, a);
    owner_take(&p->b, b);
}

void pair_open(pair *p, pair_kind kind, pair_limits limits)
{
    memset(p, 0, sizeof *p);
    p->kind = kind;
    p->a.other = &p->b;
    p->b.other = &p->a;
    test_loop_init(&p->test);
    switch (kind) {
    case PAIR_WS:
    case PAIR_WSS:
        open_websocket(p, limits);
        break;
    case PAIR_STDIO_PIPES:
    case PAIR_STDIO_SOCKET:
        open_stdio(p, limits);
        break;
    case PAIR_MEMORY:
        open_memory(p, limits);
        break;
    case PAIR_KIND_COUNT:
        fail();
    }
}

void pair_close(pair *p)
{
    owner_fini(&p->a);
    owner_fini(&p->b);
    if (p->listener != NULL) {
        p->listener->ops->close(p->listener);
    }
    test_loop_fini(&p->test);
}
