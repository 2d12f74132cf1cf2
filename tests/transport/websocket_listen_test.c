/* Listening and handshakes over sockets: limits for slow and silent peers (admission_test: for too
 * many peers), and what is reported to operators. */
#include "transport/raw_peer.h"
#include "transport/server.h"
#include "transport/websocket_frames.h"

#include <unistd.h>

static arcp_listen_options patient(void)
{
    arcp_listen_options options = arcp_listen_options_init();
    options.close_timeout_ms = 2 * TEST_PATIENCE_MS;
    options.admission = server_admission((arcp_admission_limits){0});
    return options;
}

/* ---- listening ---- */

static void port_zero_picks_a_port_that_the_url_has(void **state)
{
    static const char *const rows[][2] = {
        {"ws://127.0.0.1:0/arcp", "ws://127.0.0.1:"}, {"ws://127.0.0.1:0", "ws://127.0.0.1:"},
        {"ws://[::1]:0/arcp", "ws://[::1]:"},         {"ws://localhost:0/arcp", "ws://localhost:"},
        {"ws://0.0.0.0:0/arcp", "ws://0.0.0.0:"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        server s;
        server_open(&s, rows[i][0], patient());
        const size_t size = strlen(rows[i][1]);
        assert_memory_equal(s.url, rows[i][1], size);
        assert_true(strtoul(s.url + size, NULL, 10) > 0);
        assert_string_equal(strchr(s.url + size, '/'), "/arcp");
        raw_peer peer;
        raw_peer_connect(&peer, &s.test, s.url);
        raw_peer_upgrade(&peer);
        assert_int_equal(s.accepted, 1);
        raw_peer_fini(&peer);
        server_fini(&s);
    }
}

static void check_refused(const char *url, arcp_listen_options *options, arcp_status want,
                          const char *message)
{
    test_loop test;
    test_loop_init(&test);
    arcp_listener *listener = NULL;
    arcp_error err = {0};
    arcp_listener_callbacks callbacks = {0};
    const arcp_status status =
        arcp_listen_websocket(&test.loop, url, options, &callbacks, &listener, &err);
    if (status != want || strstr(err.message, message) == NULL) {
        fail_msg("%s: %s: %s", url, arcp_status_name(status), err.message);
    }
    assert_null(listener);
    test_loop_fini(&test);
}

static void an_unusable_listen_url_is_reported(void **state)
{
    check_refused("http://127.0.0.1:0/", NULL, ARCP_E_USAGE, "expected ws://");
    check_refused("stdio:x", NULL, ARCP_E_USAGE, "can listen at ws:// and wss:// only");
    check_refused("memory:x", NULL, ARCP_E_USAGE, "can listen at ws:// and wss:// only");
    check_refused("ws://127.0.0.1:0/arcp?x=1", NULL, ARCP_E_USAGE, "no query");
    check_refused("wss://127.0.0.1:0/arcp", NULL, ARCP_E_USAGE,
                  "wss:// needs a certificate and a key");
    check_refused("ws://192.0.2.1:0/arcp", NULL, ARCP_E_IO,
                  "cannot listen on 192.0.2.1:0: address not available");
    check_refused("ws://no-such-host.invalid:0/arcp", NULL, ARCP_E_IO,
                  "cannot listen on no-such-host.invalid:0: ");
    arcp_listen_options options = arcp_listen_options_init();
    const char *const hosts[] = {"b@d"};
    options.hosts = hosts;
    options.host_count = 1;
    check_refused("ws://127.0.0.1:0/arcp", &options, ARCP_E_USAGE, "b@d");
    options = arcp_listen_options_init();
    options.struct_size = 0;
    check_refused("ws://127.0.0.1:0/arcp", &options, ARCP_E_USAGE, "struct_size");
}

static void a_port_in_use_is_reported(void **state)
{
    char url[64];
    const int fd = raw_listen(url);
    char message[128];
    snprintf(message, sizeof message, "cannot listen on %.*s: address already in use",
             (int)strcspn(url + 5, "/"), url + 5);
    check_refused(url, NULL, ARCP_E_IO, message);
    close(fd);
}

static void after_close_new_peers_are_refused_and_connections_stay(void **state)
{
    server s;
    server_open(&s, NULL, patient());
    char url[128];
    snprintf(url, sizeof url, "%s", s.url);
    raw_peer peer;
    raw_peer_connect(&peer, &s.test, url);
    raw_peer_upgrade(&peer);
    server_close_listener(&s);
    test_loop_settle(&s.test);
    owner_send_text(&s.owners[0], "still here");
    raw_peer_expect(&peer, "still here");
    /* The port is free again. */
    arcp_listener *again = NULL;
    arcp_error err = {0};
    arcp_listener_callbacks callbacks = {0};
    check_ok(arcp_listen_websocket(&s.test.loop, url, NULL, &callbacks, &again, &err), &err);
    again->ops->close(again);
    raw_peer_fini(&peer);
    server_fini(&s);
}

/* ---- handshakes ---- */

typedef struct answer_row {
    const char *name;
    const char *request;
    const char *answer;
    int status;
} answer_row;

static const answer_row answers[] = {
    {"a host that is not allowed", "GET /arcp HTTP/1.1\r\nHost: evil.com\r\n\r\n", "HTTP/1.1 403 ",
     403},
    {"a wrong path", "GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 ", 404},
    {"a wrong method", "PUT /arcp HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405 ", 405},
    {"no upgrade", "GET /arcp HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 426 ", 426},
    {"no HTTP", "{\"arcp\":\"1.1\"}\n", "HTTP/1.1 400 ", 400},
};

/* A browser that is made to open a refusal runs, loads and frames nothing. */
static void expect_isolation(raw_peer *peer)
{
    raw_peer_expect(peer, "\r\nContent-Security-Policy: default-src 'none'; base-uri 'none'; "
                          "form-action 'none'; frame-ancestors 'none'\r\n");
    raw_peer_expect(peer, "\r\nX-Frame-Options: DENY\r\nX-Content-Type-Options: nosniff\r\n"
                          "Referrer-Policy: no-referrer\r\n"
                          "Cross-Origin-Opener-Policy: same-origin\r\n"
                          "Cross-Origin-Resource-Policy: same-origin\r\n");
}

static void refusals_reach_the_peer_and_the_log(void **state)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        server s;
        raw_peer peer;
        server_open(&s, NULL, patient());
        raw_peer_connect(&peer, &s.test, s.url);
        raw_peer_send_text(&peer, answers[i].request);
        raw_peer_send_text(&peer, "and more that nobody reads");
        raw_peer_expect(&peer, answers[i].answer);
        expect_isolation(&peer);
        raw_peer_expect_end(&peer);
        assert_null(memmem(peer.received.data, peer.received.size, " 101 ", 5));
        assert_int_equal(s.refused, 1);
        assert_int_equal(s.refused_status, answers[i].status);
        assert_true(strlen(s.refused_why) > 0);
        assert_int_equal(s.accepted, 0);
        raw_peer_fini(&peer);
        server_fini(&s);
    }
}

static void frames_sent_right_after_the_request_are_not_lost(void **state)
{
    server s;
    raw_peer peer;
    server_open(&s, NULL, patient());
    raw_peer_connect(&peer, &s.test, s.url);
    arcp_buf bytes = arcp_buf_init();
    arcp_buf_append_cstr(&bytes, raw_upgrade);
    put_text(&bytes, FIN | TEXT, true, "eager");
    put_text(&bytes, FIN | TEXT, true, "very");
    raw_peer_send(&peer, arcp_buf_span(&bytes));
    run_until(&s.test, s.accepted == 1 && s.owners[0].messages == 2);
    check_span(arcp_buf_span(&s.owners[0].log), "eager|very|");
    arcp_buf_fini(&bytes);
    raw_peer_fini(&peer);
    server_fini(&s);
}

static void a_request_may_arrive_byte_by_byte(void **state)
{
    server s;
    raw_peer peer;
    server_open(&s, NULL, patient());
    raw_peer_connect(&peer, &s.test, s.url);
    for (size_t i = 0; raw_upgrade[i] != '\0'; i++) {
        assert_int_equal(s.accepted, 0);
        raw_peer_send(&peer, arcp_span_make(&raw_upgrade[i], 1));
        test_loop_settle(&s.test);
    }
    raw_peer_expect(&peer, "HTTP/1.1 101 ");
    raw_peer_fini(&peer);
    server_fini(&s);
}

static void a_head_above_the_limit_is_431(void **state)
{
    server s;
    raw_peer peer;
    arcp_listen_options options = patient();
    options.handshake_bytes_max = strlen(raw_upgrade);
    server_open(&s, NULL, options);
    raw_peer_connect(&peer, &s.test, s.url);
    raw_peer_upgrade(&peer); /* exactly at the limit */
    raw_peer_fini(&peer);
    raw_peer_connect(&peer, &s.test, s.url);
    raw_peer_send_text(&peer, "GET /arcp HTTP/1.1\r\nX: x\r\n");
    raw_peer_send_text(&peer, raw_upgrade + strlen("GET /arcp HTTP/1.1\r\n"));
    raw_peer_expect(&peer, "HTTP/1.1 431 ");
    raw_peer_expect_end(&peer);
    raw_peer_fini(&peer);
    server_fini(&s);
}

static void a_head_without_end_is_431_at_the_default_limit(void **state)
{
    server s;
    raw_peer peer;
    server_open(&s, NULL, patient());
    raw_peer_connect(&peer, &s.test, s.url);
    raw_peer_send_text(&peer, "GET /arcp HTTP/1.1\r\nX: ");
    char block[1024];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 20 && !peer.ended; i++) {
        raw_peer_send(&peer, arcp_span_make(block, sizeof block));
        test_loop_settle(&s.test);
    }
    raw_peer_expect(&peer, "HTTP/1.1 431 ");
    raw_peer_fini(&peer);
    server_fini(&s);
}

/* ---- slow and silent peers ---- */

/* A server with a short handshake timeout, and a connected peer. */
static void open_hasty(server *s, raw_peer *peer)
{
    arcp_listen_options options = patient();
    arcp_admission_unref(options.admission);
    options.admission = server_admission((arcp_admission_limits){.pending_timeout_ms = 30});
    server_open(s, NULL, options);
    raw_peer_connect(peer, &s->test, s->url);
}

static void a_silent_peer_is_dropped(void **state)
{
    server s;
    raw_peer peer;
    open_hasty(&s, &peer);
    raw_peer_expect_end(&peer);
    assert_int_equal(peer.received.size, 0);
    assert_int_equal(s.refused, 1);
    assert_int_equal(s.refused_status, 0);
    assert_string_equal(s.refused_why, "the request was not complete in time");
    raw_peer_fini(&peer);
    server_fini(&s);
}

static void a_slow_peer_is_dropped_too(void **state)
{
    server s;
    raw_peer peer;
    open_hasty(&s, &peer);
    raw_peer_send_text(&peer, "GET /arcp HTTP/1.1\r\nHost: localhost\r\nX: ");
    while (!peer.ended) { /* each byte is fast enough; all together are not */
        raw_peer_send_text(&peer, "x");
        uv_run(&s.test.loop, UV_RUN_NOWAIT);
        raw_peer_poll(&peer);
    }
    assert_int_equal(s.accepted, 0);
    raw_peer_fini(&peer);
    server_fini(&s);
}

static void a_refused_peer_that_stays_is_dropped(void **state)
{
    server s;
    raw_peer peer;
    arcp_listen_options options = patient();
    options.close_timeout_ms = 30;
    server_open(&s, NULL, options);
    raw_peer_connect(&peer, &s.test, s.url);
    raw_peer_send_text(&peer, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    raw_peer_expect(&peer, "HTTP/1.1 404 ");
    raw_peer_expect_end(&peer); /* the server has closed its half; ours is still open */
    const int fds = open_fd_count();
    while (open_fd_count() == fds) {
        test_loop_step(&s.test, "the server lets go of it");
    }
    assert_int_equal(s.refused, 1); /* reported once */
    raw_peer_fini(&peer);
    server_fini(&s);
}

static void a_peer_that_disconnects_early_is_reported(void **state)
{
    server s;
    raw_peer peer;
    server_open(&s, NULL, patient());
    raw_peer_connect(&peer, &s.test, s.url);
    raw_peer_send_text(&peer, "GET /arcp HTTP/1.1\r\n");
    test_loop_settle(&s.test);
    raw_peer_fini(&peer);
    run_until(&s.test, s.refused == 1);
    assert_int_equal(s.refused_status, 0);
    server_fini(&s);
}

static void closing_the_listener_drops_unfinished_handshakes(void **state)
{
    server s;
    raw_peer peer;
    server_open(&s, NULL, patient());
    raw_peer_connect(&peer, &s.test, s.url);
    raw_peer_send_text(&peer, "GET /arcp");
    test_loop_settle(&s.test);
    server_close_listener(&s);
    raw_peer_expect_end(&peer);
    assert_int_equal(s.refused, 0); /* no callback follows a close */
    raw_peer_fini(&peer);
    server_fini(&s);
}

static void the_listener_may_be_closed_from_inside_its_callbacks(void **state)
{
    for (int accepted = 0; accepted < 2; accepted++) {
        server s;
        raw_peer peer;
        server_open(&s, NULL, patient());
        s.closes_when_accepted = true;
        s.closes_when_refused = true;
        raw_peer_connect(&peer, &s.test, s.url);
        raw_peer_send_text(&peer, accepted ? raw_upgrade : "nonsense\r\n\r\n");
        run_until(&s.test, s.listener == NULL);
        raw_peer_fini(&peer);
        server_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_zero_picks_a_port_that_the_url_has),
        cmocka_unit_test(an_unusable_listen_url_is_reported),
        cmocka_unit_test(a_port_in_use_is_reported),
        cmocka_unit_test(after_close_new_peers_are_refused_and_connections_stay),
        cmocka_unit_test(refusals_reach_the_peer_and_the_log),
        cmocka_unit_test(frames_sent_right_after_the_request_are_not_lost),
        cmocka_unit_test(a_request_may_arrive_byte_by_byte),
        cmocka_unit_test(a_head_above_the_limit_is_431),
        cmocka_unit_test(a_head_without_end_is_431_at_the_default_limit),
        cmocka_unit_test(a_silent_peer_is_dropped),
        cmocka_unit_test(a_slow_peer_is_dropped_too),
        cmocka_unit_test(a_refused_peer_that_stays_is_dropped),
        cmocka_unit_test(a_peer_that_disconnects_early_is_reported),
        cmocka_unit_test(closing_the_listener_drops_unfinished_handshakes),
        cmocka_unit_test(the_listener_may_be_closed_from_inside_its_callbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
