/* The WebSocket client with servers that are unreachable, are not WebSocket servers, or violate the
 * protocol. */
#include "transport/dial.h"
#include "transport/raw_peer.h"
#include "transport/server.h"
#include "transport/websocket_frames.h"

#include "transport/websocket_handshake.h"
#include "web/head.h"

#include <unistd.h>

static arcp_connect_options patient(void)
{
    arcp_connect_options options = arcp_connect_options_init();
    options.timeout_ms = 2 * TEST_PATIENCE_MS;
    options.close_timeout_ms = 2 * TEST_PATIENCE_MS;
    options.frame_bytes_max = 1000;
    return options;
}

/* ---- errors of the call ---- */

static void an_unusable_url_is_reported_at_once(void **state)
{
    static const struct {
        const char *url;
        const char *message;
    } rows[] = {
        {"http://localhost/", "expected ws://"},
        {"ws://127.0.0.1:0/arcp", "cannot connect to port 0"},
        {"memory:x", "arcp_memory_pair"},
        {"stdio:", "the command is empty"},
        {"stdio:a 'b", "a quote is not closed"},
    };
    test_loop test;
    test_loop_init(&test);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_connector *connector = NULL;
        arcp_connect_callbacks callbacks = {0};
        arcp_error err = {0};
        const arcp_status status =
            arcp_connect(&test.loop, rows[i].url, NULL, &callbacks, &connector, &err);
        if (status != ARCP_E_USAGE || strstr(err.message, rows[i].message) == NULL) {
            fail_msg("%s: %s: %s", rows[i].url, arcp_status_name(status), err.message);
        }
        assert_null(connector);
    }
    test_loop_fini(&test);
}

static void an_invalid_header_is_refused_without_repeating_it(void **state)
{
    test_loop test;
    test_loop_init(&test);
    const char *const headers[] = {"X-Fine: 1", "Authorization: Bearer s3cret\r\nX: y"};
    arcp_connect_options options = patient();
    options.headers = headers;
    options.header_count = 2;
    arcp_connect_callbacks callbacks = {0};
    arcp_error err = {0};
    assert_int_equal(
        arcp_connect(&test.loop, "ws://127.0.0.1:1/arcp", &options, &callbacks, NULL, &err),
        ARCP_E_USAGE);
    assert_non_null(strstr(err.message, "header 2"));
    assert_null(strstr(err.message, "s3cret"));
    test_loop_fini(&test);
}

/* ---- errors while connecting ---- */

static void a_port_without_a_listener_is_refused(void **state)
{
    test_loop test;
    test_loop_init(&test);
    char url[64];
    close(raw_listen(url));
    dial d;
    arcp_connect_options options = patient();
    dial_begin(&d, &test, url, &options);
    char message[128];
    snprintf(message, sizeof message, "cannot connect to %.*s: connection refused",
             (int)strcspn(url + 5, "/"), url + 5);
    dial_expect_failure(&d, &test, ARCP_E_IO, message);
    dial_fini(&d);
    test_loop_fini(&test);
}

static void a_name_that_does_not_exist_is_reported(void **state)
{
    test_loop test;
    test_loop_init(&test);
    dial d;
    arcp_connect_options options = patient();
    dial_begin(&d, &test, "ws://no-such-host.invalid/arcp", &options);
    dial_expect_failure(&d, &test, ARCP_E_IO, "cannot find no-such-host.invalid: ");
    dial_fini(&d);
    test_loop_fini(&test);
}

typedef struct fake {
    test_loop test;
    int listener;
    raw_peer server;
    dial d;
} fake;

static void fake_open(fake *f, arcp_connect_options options)
{
    char url[64];
    test_loop_init(&f->test);
    f->listener = raw_listen(url);
    dial_begin(&f->d, &f->test, url, &options);
    raw_peer_accept(&f->server, &f->test, f->listener);
}

static void fake_close(fake *f)
{
    dial_fini(&f->d);
    raw_peer_fini(&f->server);
    close(f->listener);
    test_loop_fini(&f->test);
}

static const struct {
    const char *answer;
    const char *message;
} answers[] = {
    {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
     "/arcp: the server answered \"HTTP/1.1 404 Not Found\""},
    {"HTTP/1.1 200 OK\r\n\r\n<html>", ": the server answered \"HTTP/1.1 200 OK\""},
    {"HTTP/1.1 101 Switching Protocols\r\n\r\n", "upgrade to WebSocket is not valid"},
    {"220 mail.example ESMTP\r\n", "the server does not speak HTTP"},
    {"\x15\x03\x01\x00\x02\x02\x50", "the server does not speak HTTP"},
};

static void a_server_that_is_not_a_websocket_server_is_reported(void **state)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        fake f;
        fake_open(&f, patient());
        raw_peer_expect(&f.server, "\r\n\r\n");
        raw_peer_send_text(&f.server, answers[i].answer);
        dial_expect_failure(&f.d, &f.test, ARCP_E_IO, answers[i].message);
        assert_memory_equal(f.d.err.message, "ws://127.0.0.1:", 15);
        raw_peer_expect_end(&f.server);
        fake_close(&f);
    }
}

/* A query may have secrets. */
static void the_query_is_not_in_messages(void **state)
{
    char url[64];
    char asked[96];
    fake f;
    arcp_connect_options options = patient();
    test_loop_init(&f.test);
    f.listener = raw_listen(url);
    (void)snprintf(asked, sizeof asked, "%s?key=secret", url);
    dial_begin(&f.d, &f.test, asked, &options);
    raw_peer_accept(&f.server, &f.test, f.listener);
    raw_peer_expect(&f.server, "\r\n\r\n");
    raw_peer_send_text(&f.server, answers[0].answer);
    dial_expect_failure(&f.d, &f.test, ARCP_E_IO, answers[0].message);
    assert_null(strstr(f.d.err.message, "secret"));
    fake_close(&f);
}

#define PATH_SHOWN_MAX 100 /* src/transport/connect.c */

static void a_long_path_is_cut_before_the_reason(void **state)
{
    (void)state;
    for (size_t size = PATH_SHOWN_MAX; size <= PATH_SHOWN_MAX + 1; size++) {
        char url[64];
        char asked[256];
        char shown[PATH_SHOWN_MAX + 3];
        fake f;
        arcp_connect_options options = patient();
        test_loop_init(&f.test);
        f.listener = raw_listen(url);
        const size_t begin = strlen(url) - strlen("/arcp");
        (void)snprintf(asked, sizeof asked, "%.*s/%0*d", (int)begin, url, (int)size - 1, 0);
        (void)snprintf(shown, sizeof shown, "/%0*d: ", PATH_SHOWN_MAX - 1, 0);
        dial_begin(&f.d, &f.test, asked, &options);
        raw_peer_accept(&f.server, &f.test, f.listener);
        raw_peer_expect(&f.server, "\r\n\r\n");
        raw_peer_send_text(&f.server, answers[0].answer);
        dial_expect_failure(&f.d, &f.test, ARCP_E_IO, shown);
        fake_close(&f);
    }
}

static void a_server_that_closes_during_the_handshake_is_reported(void **state)
{
    fake f;
    fake_open(&f, patient());
    raw_peer_expect(&f.server, "\r\n\r\n");
    raw_peer_half_close(&f.server);
    dial_expect_failure(&f.d, &f.test, ARCP_E_IO, "ended the connection during the handshake");
    fake_close(&f);
}

static void an_endless_response_is_cut(void **state)
{
    fake f;
    fake_open(&f, patient());
    raw_peer_expect(&f.server, "\r\n\r\n");
    raw_peer_send_text(&f.server, "HTTP/1.1 101 X\r\nX: ");
    char block[1024];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 20; i++) {
        raw_peer_send(&f.server, arcp_span_make(block, sizeof block));
    }
    dial_expect_failure(&f.d, &f.test, ARCP_E_IO, "response is too long");
    fake_close(&f);
}

static void a_silent_server_times_out(void **state)
{
    char url[64];
    test_loop test;
    dial d;
    arcp_connect_options options = patient();
    options.timeout_ms = 40;
    test_loop_init(&test);
    const int listener = raw_listen(url); /* the kernel connects; no peer answers */
    dial_begin(&d, &test, url, &options);
    dial_expect_failure(&d, &test, ARCP_E_DEADLINE, " within 40 ms");
    dial_fini(&d);
    close(listener);
    test_loop_fini(&test);
}

static void a_cancelled_connector_makes_no_callback(void **state)
{
    for (int stage = 0; stage < 3; stage++) {
        test_loop test;
        raw_peer other = {.fd = -1};
        char url[64];
        dial d;
        test_loop_init(&test);
        const int listener = raw_listen(url);
        arcp_connect_options options = patient();
        dial_begin(&d, &test, url, &options);
        if (stage > 0) {
            raw_peer_accept(&other, &test, listener);
        }
        if (stage > 1) {
            raw_peer_expect(&other, "\r\n\r\n");
        }
        arcp_connector_cancel(d.connector);
        test_loop_settle(&test);
        assert_false(d.connected || d.failed);
        raw_peer_fini(&other);
        close(listener);
        dial_fini(&d);
        test_loop_fini(&test);
    }
}

/* ---- connections ---- */

/* Responds to the request of the client as a server must. */
static void fake_upgrade(fake *f)
{
    raw_peer_expect(&f->server, "\r\n\r\n");
    arcp__web_head head;
    arcp_span input = arcp_buf_span(&f->server.received);
    arcp_span key;
    arcp__web_head_init(&head, ARCP__WEB_REQUEST, 16384);
    assert_int_equal(arcp__web_head_feed(&head, &input), ARCP__WEB_COMPLETE);
    assert_int_equal(arcp__web_head_find(&head, "Sec-WebSocket-Key", &key), 1);
    char accept[ARCP__WEBSOCKET_ACCEPT_SIZE];
    arcp__websocket_accept(key.data, accept);
    arcp__web_head_fini(&head);
    arcp_buf answer = arcp_buf_init();
    arcp__upgrade_accept(accept, NULL, &answer);
    put_text(&answer, FIN | TEXT, false, "right behind it");
    raw_peer_forget(&f->server);
    raw_peer_send(&f->server, arcp_buf_span(&answer));
    arcp_buf_fini(&answer);
    dial_wait(&f->d, &f->test);
    assert_true(f->d.connected);
}

static void a_frame_sent_right_after_the_response_is_not_lost(void **state)
{
    fake f;
    fake_open(&f, patient());
    fake_upgrade(&f);
    run_until(&f.test, f.d.owner.messages == 1);
    check_span(arcp_buf_span(&f.d.owner.log), "right behind it|");
    fake_close(&f);
}

static void a_client_masks_its_frames(void **state)
{
    fake f;
    fake_open(&f, patient());
    fake_upgrade(&f);
    owner_send_text(&f.d.owner, "hello");
    raw_peer_receive(&f.server, 11);
    const unsigned char *bytes = (const unsigned char *)f.server.received.data;
    assert_int_equal(f.server.received.size, 11);
    assert_int_equal(bytes[0], FIN | TEXT);
    assert_int_equal(bytes[1], 0x80 | 5);
    char text[6] = "";
    for (int i = 0; i < 5; i++) {
        text[i] = (char)(bytes[6 + i] ^ bytes[2 + i % 4]);
    }
    assert_string_equal(text, "hello");
    fake_close(&f);
}

static void a_masked_frame_from_a_server_is_a_protocol_error(void **state)
{
    fake f;
    fake_open(&f, patient());
    fake_upgrade(&f);
    arcp_buf bytes = arcp_buf_init();
    put_text(&bytes, FIN | TEXT, true, "masked");
    raw_peer_send(&f.server, arcp_buf_span(&bytes));
    arcp_buf_fini(&bytes);
    raw_peer_receive(&f.server, 8); /* a masked close: 2 + 4 + code */
    assert_int_equal((unsigned char)f.server.received.data[0], FIN | CLOSE);
    raw_peer_expect_end(&f.server);
    raw_peer_half_close(&f.server);
    run_until(&f.test, f.d.owner.closed);
    assert_int_equal(f.d.owner.code, ARCP_CLOSE_PROTOCOL_ERROR);
    fake_close(&f);
}

static void a_client_lets_the_server_close_tcp_first(void **state)
{
    fake f;
    fake_open(&f, patient());
    fake_upgrade(&f);
    arcp_buf bytes = arcp_buf_init();
    put_close(&bytes, false, 1001, "restart");
    raw_peer_send(&f.server, arcp_buf_span(&bytes));
    arcp_buf_fini(&bytes);
    raw_peer_receive(&f.server, 6 + 2 + 7); /* the close of the client */
    test_loop_settle(&f.test);
    assert_false(f.d.owner.closed);
    raw_peer_poll(&f.server);
    assert_false(f.server.ended);
    raw_peer_half_close(&f.server);
    run_until(&f.test, f.d.owner.closed);
    assert_int_equal(f.d.owner.code, ARCP_CLOSE_GOING_AWAY);
    assert_string_equal(f.d.owner.reason, "restart");
    fake_close(&f);
}

static void headers_of_the_caller_are_sent(void **state)
{
    const char *const headers[] = {"X-One: 1", "Authorization: Bearer t"};
    arcp_connect_options options = patient();
    options.headers = headers;
    options.header_count = 2;
    fake f;
    fake_open(&f, options);
    raw_peer_expect(&f.server, "\r\nX-One: 1\r\nAuthorization: Bearer t\r\n\r\n");
    arcp_connector_cancel(f.d.connector);
    fake_close(&f);
}

static void all_addresses_of_a_name_are_tried(void **state)
{
    server s;
    dial d;
    server_open(&s, "ws://127.0.0.1:0/arcp", arcp_listen_options_init());
    char url[128];
    /* localhost may be ::1 first, where there is no listener. */
    snprintf(url, sizeof url, "ws://localhost:%s", strrchr(s.url, ':') + 1);
    arcp_connect_options options = patient();
    dial_begin(&d, &s.test, url, &options);
    dial_wait(&d, &s.test);
    assert_true(d.connected);
    dial_fini(&d);
    server_fini(&s);
}

static void ipv6_works_end_to_end(void **state)
{
    server s;
    dial d;
    server_open(&s, "ws://[::1]:0/arcp", arcp_listen_options_init());
    arcp_connect_options options = patient();
    dial_begin(&d, &s.test, s.url, &options);
    dial_wait(&d, &s.test);
    assert_true(d.connected);
    owner_send_text(&d.owner, "over six");
    run_until(&s.test, s.accepted == 1 && s.owners[0].messages == 1);
    arcp_connection_info info = arcp_connection_info_init();
    s.owners[0].connection->ops->info(s.owners[0].connection, &info);
    assert_memory_equal(info.peer, "[::1]:", 6);
    assert_true(info.local);
    dial_fini(&d);
    server_fini(&s);
}

static void the_message_has_the_refusal_of_the_server(void **state)
{
    server s;
    dial d;
    server_open(&s, "ws://127.0.0.1:0/arcp", arcp_listen_options_init());
    char url[128];
    snprintf(url, sizeof url, "%.*s/other", (int)(strlen(s.url) - strlen("/arcp")), s.url);
    arcp_connect_options options = patient();
    dial_begin(&d, &s.test, url, &options);
    dial_expect_failure(&d, &s.test, ARCP_E_IO, "\"HTTP/1.1 404 Not Found\"");
    dial_fini(&d);
    server_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unusable_url_is_reported_at_once),
        cmocka_unit_test(an_invalid_header_is_refused_without_repeating_it),
        cmocka_unit_test(a_port_without_a_listener_is_refused),
        cmocka_unit_test(a_name_that_does_not_exist_is_reported),
        cmocka_unit_test(a_server_that_is_not_a_websocket_server_is_reported),
        cmocka_unit_test(the_query_is_not_in_messages),
        cmocka_unit_test(a_long_path_is_cut_before_the_reason),
        cmocka_unit_test(a_server_that_closes_during_the_handshake_is_reported),
        cmocka_unit_test(an_endless_response_is_cut),
        cmocka_unit_test(a_silent_server_times_out),
        cmocka_unit_test(a_cancelled_connector_makes_no_callback),
        cmocka_unit_test(a_frame_sent_right_after_the_response_is_not_lost),
        cmocka_unit_test(a_client_masks_its_frames),
        cmocka_unit_test(a_masked_frame_from_a_server_is_a_protocol_error),
        cmocka_unit_test(a_client_lets_the_server_close_tcp_first),
        cmocka_unit_test(headers_of_the_caller_are_sent),
        cmocka_unit_test(all_addresses_of_a_name_are_tried),
        cmocka_unit_test(ipv6_works_end_to_end),
        cmocka_unit_test(the_message_has_the_refusal_of_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
