/* Peers that disconnect, wait, or are slow: what routes are notified of, and time limits. */
#include "web/server_fixture.h"

static void a_route_is_notified_when_its_peer_disconnects(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.stream != NULL);
    raw_peer_reset(&f.peer);
    run_until(&f.test, f.aborted == 1);
    raw_peer_connect(&f.peer, &f.test, f.url);
    web_fixture_send(&f, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhel");
    test_loop_settle(&f.test);
    raw_peer_half_close(&f.peer);
    run_until(&f.test, f.aborted == 2);
    assert_int_equal(f.refused, 1);
    assert_int_equal(f.refused_status, 0);
    web_fixture_close(&f);
}

static void a_route_is_notified_when_the_server_closes(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.pending != NULL);
    web_fixture_close(&f);
    assert_int_equal(f.aborted, 1);
}

static void waits_for_the_peer_time_out_and_waits_for_the_route_do_not(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 50, NULL);
    web_fixture_send(&f, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.pending != NULL);
    web_fixture_pass_ms(&f, 100);
    assert_int_equal(f.aborted, 0);
    web_fixture_respond(f.pending, ARCP_SPAN_LITERAL("late"));
    raw_peer_expect(&f.peer, "late");
    raw_peer_expect_end(&f.peer); /* no further request came */
    assert_int_equal(f.refused, 0);
    static const char *const requests[] = {"GET /ec", "POST /echo HTTP/1.1\r\n" HOST
                                                      "Content-Length: 5\r\n\r\nhel"};
    for (size_t i = 0; i < 2; i++) {
        raw_peer_fini(&f.peer);
        raw_peer_connect(&f.peer, &f.test, f.url);
        web_fixture_send(&f, requests[i]);
        raw_peer_expect_end(&f.peer);
        assert_int_equal(f.peer.received.size, 0);
        assert_int_equal(f.refused, i + 1);
        assert_int_equal(f.aborted, i);
    }
    raw_peer_fini(&f.peer);
    raw_peer_connect(&f.peer, &f.test, f.url);
    web_fixture_send(&f, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.aborted == 2); /* the peer reads nothing */
    web_fixture_close(&f);
}

static void a_slow_body_does_not_extend_its_time_limit(void **state)
{
    web_fixture f;
    size_t sent = 0;
    web_fixture_open(&f, 200, NULL);
    web_fixture_send(&f, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n");
    for (; sent < BODY_MAX && !f.peer.ended; sent++) {
        raw_peer_send_text(&f.peer, "x");
        web_fixture_pass_ms(&f, 20);
        raw_peer_poll(&f.peer);
    }
    assert_in_range(sent, 1, BODY_MAX / 2);
    assert_int_equal(f.aborted, 1);
    assert_int_equal(f.refused, 1);
    web_fixture_close(&f);
}

static void a_slow_reader_does_not_extend_the_time_limit_of_a_response(void **state)
{
    static char bytes[PIECE_SIZE];
    web_fixture f;
    size_t read = 0;
    web_fixture_open(&f, 300, NULL);
    web_fixture_send(&f, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    while (f.aborted == 0) {
        const ssize_t size = recv(f.peer.fd, bytes, sizeof bytes, MSG_DONTWAIT);
        read += size > 0 ? (size_t)size : 0;
        assert_true(read < 512 * PIECE_SIZE);
        web_fixture_pass_ms(&f, 10);
    }
    web_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_route_is_notified_when_its_peer_disconnects),
        cmocka_unit_test(a_route_is_notified_when_the_server_closes),
        cmocka_unit_test(waits_for_the_peer_time_out_and_waits_for_the_route_do_not),
        cmocka_unit_test(a_slow_body_does_not_extend_its_time_limit),
        cmocka_unit_test(a_slow_reader_does_not_extend_the_time_limit_of_a_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
