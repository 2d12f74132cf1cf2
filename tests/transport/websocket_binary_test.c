/* The path of a listener for a protocol of binary messages, and its client. */
#include "transport/dial.h"
#include "transport/raw_peer.h"
#include "transport/server.h"
#include "transport/websocket_frames.h"

typedef struct other {
    server s;
    owner owner; /* of the connection at the other path */
    size_t accepted;
    char url[128]; /* of the other path */
} other;

static void on_accepted(void *user, arcp_connection *connection)
{
    other *t = user;
    t->owner.keep = true;
    owner_take(&t->owner, connection);
    t->accepted++;
}

static void other_open(other *t)
{
    static const char *const origins[] = {"*"};
    arcp_listen_options options = arcp_listen_options_init();
    options.close_timeout_ms = 2 * TEST_PATIENCE_MS;
    options.admission = server_admission((arcp_admission_limits){0});
    options.origins = origins;
    options.origin_count = 1;
    options.binary_path = "/other";
    options.binary_subprotocol = "test.1";
    options.binary_bytes_max = 100;
    options.first_binary_bytes_max = 10;
    options.binary_accepted = on_accepted;
    options.binary_user = t;
    memset(t, 0, sizeof *t);
    server_open(&t->s, NULL, options);
    snprintf(t->url, sizeof t->url, "%.*s/other", (int)(strlen(t->s.url) - strlen("/arcp")),
             t->s.url);
}

static void other_close(other *t)
{
    owner_fini(&t->owner);
    server_fini(&t->s);
}

static void messages_are_binary_both_ways(void **state)
{
    const arcp_span bytes = ARCP_SPAN_LITERAL("\xff\0\n");
    arcp_connect_options options = arcp_connect_options_init();
    options.subprotocol = "test.1";
    other t;
    dial d;
    other_open(&t);
    dial_begin(&d, &t.s.test, t.url, &options);
    dial_wait(&d, &t.s.test);
    assert_true(d.connected);
    run_until(&t.s.test, t.accepted == 1);
    assert_int_equal(owner_send(&d.owner, bytes), ARCP_OK);
    owner_flush(&d.owner);
    assert_int_equal(owner_send(&t.owner, bytes), ARCP_OK);
    owner_flush(&t.owner);
    run_until(&t.s.test, t.owner.messages == 1 && d.owner.messages == 1);
    assert_memory_equal(t.owner.log.data, "\xff\0\n|", 4);
    assert_memory_equal(d.owner.log.data, "\xff\0\n|", 4);
    assert_int_equal(t.s.accepted, 0);
    dial_fini(&d);
    other_close(&t);
}

/* ---- the handshake ---- */

#define BASE                                                                                       \
    " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"                \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static const struct {
    const char *name, *request, *answer;
} handshakes[] = {
    {"the subprotocol", "GET /other" BASE "Sec-WebSocket-Protocol: test.1\r\n\r\n",
     "Sec-WebSocket-Protocol: test.1\r\n"},
    {"among others", "GET /other" BASE "Sec-WebSocket-Protocol: a, test.1\r\n\r\n",
     "Sec-WebSocket-Protocol: test.1\r\n"},
    {"no subprotocol", "GET /other" BASE "\r\n", "HTTP/1.1 400"},
    {"another subprotocol", "GET /other" BASE "Sec-WebSocket-Protocol: test.2\r\n\r\n",
     "HTTP/1.1 400"},
    {"an Origin that may open sessions",
     "GET /other" BASE "Origin: http://localhost\r\nSec-WebSocket-Protocol: test.1\r\n\r\n",
     "HTTP/1.1 403"},
    {"no upgrade",
     "GET /other HTTP/1.1\r\nHost: localhost\r\nSec-WebSocket-Protocol: test.1\r\n\r\n",
     "HTTP/1.1 426"},
};

static void the_subprotocol_is_needed_and_an_origin_refused(void **state)
{
    for (size_t i = 0; i < sizeof handshakes / sizeof handshakes[0]; i++) {
        const bool is_refused = strstr(handshakes[i].answer, "HTTP") != NULL;
        other t;
        raw_peer peer;
        print_message("%s\n", handshakes[i].name);
        other_open(&t);
        raw_peer_connect(&peer, &t.s.test, t.s.url);
        raw_peer_send_text(&peer, handshakes[i].request);
        raw_peer_expect(&peer, handshakes[i].answer);
        assert_int_equal(t.accepted, is_refused ? 0 : 1);
        assert_int_equal(t.s.accepted, 0);
        raw_peer_fini(&peer);
        other_close(&t);
    }
}

/* A session gets no subprotocol, so a client that needs one does not connect. */
static void a_client_refuses_a_server_without_its_subprotocol(void **state)
{
    arcp_connect_options options = arcp_connect_options_init();
    options.subprotocol = "test.1";
    other t;
    dial d;
    other_open(&t);
    dial_begin(&d, &t.s.test, t.s.url, &options);
    dial_expect_failure(&d, &t.s.test, ARCP_E_IO, "the server does not speak test.1");
    dial_fini(&d);
    other_close(&t);
}

/* ---- messages ---- */

static const struct {
    const char *name;
    unsigned first;
    size_t size;
    unsigned code; /* ABNORMAL: it is taken, and the peer's end is the next event */
} messages[] = {
    {"text", FIN | TEXT, 1, 1003},
    {"the longest first message", FIN | BINARY, 10, ARCP_CLOSE_ABNORMAL},
    {"a longer first message", FIN | BINARY, 11, 1009},
};

static void text_and_long_messages_end_the_connection(void **state)
{
    char payload[128];
    memset(payload, 'x', sizeof payload);
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        arcp_buf frame = arcp_buf_init();
        other t;
        raw_peer peer;
        print_message("%s\n", messages[i].name);
        other_open(&t);
        raw_peer_connect(&peer, &t.s.test, t.s.url);
        raw_peer_send_text(&peer, handshakes[0].request);
        raw_peer_expect(&peer, "\r\n\r\n");
        put_frame(&frame, messages[i].first, true, arcp_span_make(payload, messages[i].size));
        raw_peer_send(&peer, arcp_buf_span(&frame));
        raw_peer_half_close(&peer);
        run_until(&t.s.test, t.owner.closed);
        assert_int_equal(t.owner.messages, messages[i].code == ARCP_CLOSE_ABNORMAL ? 1 : 0);
        assert_int_equal(t.owner.code, messages[i].code);
        arcp_buf_fini(&frame);
        raw_peer_fini(&peer);
        other_close(&t);
    }
}

/* ---- options ---- */

static void a_path_that_cannot_be_served_is_reported(void **state)
{
    static const struct {
        const char *path, *subprotocol, *message;
    } rows[] = {
        {"other", "test.1", "\"other\": the path of binary messages must begin with /"},
        {"/arcp", "test.1", "another one than that of the URL"},
        {"/other?x", "test.1", "has no query"},
        {"/other", "a b", "binary_path needs binary_subprotocol and binary_accepted"},
        {"/other", NULL, "binary_path needs binary_subprotocol and binary_accepted"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_listen_options options = arcp_listen_options_init();
        const arcp_listener_callbacks callbacks = {0};
        arcp_listener *listener = NULL;
        arcp_error err = {0};
        test_loop test;
        test_loop_init(&test);
        options.binary_path = rows[i].path;
        options.binary_subprotocol = rows[i].subprotocol;
        options.binary_accepted = on_accepted;
        assert_int_equal(arcp_listen_websocket(&test.loop, "ws://127.0.0.1:0/arcp", &options,
                                               &callbacks, &listener, &err),
                         ARCP_E_USAGE);
        assert_non_null(strstr(err.message, rows[i].message));
        test_loop_fini(&test);
    }
}

static void a_client_refuses_the_name_of_no_subprotocol(void **state)
{
    arcp_connect_options options = arcp_connect_options_init();
    const arcp_connect_callbacks callbacks = {0};
    arcp_error err = {0};
    test_loop test;
    test_loop_init(&test);
    options.subprotocol = "a\r\nX: y";
    assert_int_equal(
        arcp_connect(&test.loop, "ws://127.0.0.1:1/other", &options, &callbacks, NULL, &err),
        ARCP_E_USAGE);
    test_loop_fini(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_binary_both_ways),
        cmocka_unit_test(the_subprotocol_is_needed_and_an_origin_refused),
        cmocka_unit_test(a_client_refuses_a_server_without_its_subprotocol),
        cmocka_unit_test(text_and_long_messages_end_the_connection),
        cmocka_unit_test(a_path_that_cannot_be_served_is_reported),
        cmocka_unit_test(a_client_refuses_the_name_of_no_subprotocol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
