/* Requests and responses with bodies over sockets: in pieces in both directions, and under limits.
 * (Refusals before a route is chosen are tested in websocket_handshake_test; counting connections,
 * in admission_test and status_test.) */
#include "web/server_fixture.h"

#include <sys/socket.h>

/* ---- bodies of requests ---- */

static void a_body_may_arrive_in_pieces_and_the_connection_is_kept(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    for (size_t i = 0; i < 2; i++) {
        web_fixture_send(&f, echo_requests[i]);
        raw_peer_expect(&f.peer, "Connection: keep-alive\r\n\r\nhello");
        raw_peer_forget(&f.peer);
        for (size_t j = 0; echo_requests[i][j] != '\0'; j++) {
            raw_peer_send(&f.peer, arcp_span_make(&echo_requests[i][j], 1));
            test_loop_settle(&f.test);
        }
        raw_peer_expect(&f.peer, "\r\n\r\nhello");
    }
    web_fixture_send(&f, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
    raw_peer_expect(&f.peer, "\r\n\r\nnone");
    assert_int_equal(f.aborted + f.refused, 0);
    web_fixture_close(&f);
}

static void requests_with_bodies_may_be_pipelined(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    raw_peer_send_text(&f.peer, echo_requests[0]);
    raw_peer_send_text(&f.peer, echo_requests[1]);
    raw_peer_send_text(&f.peer, "POST /echo HTTP/1.1\r\n" HOST
                                "Connection: close\r\nContent-Length: 4\r\n\r\nlast");
    raw_peer_expect(&f.peer, "Connection: close\r\n\r\nlast");
    raw_peer_expect_end(&f.peer);
    size_t answers = 0;
    for (size_t i = 0; i + 5 <= f.peer.received.size; i++) {
        answers += memcmp(f.peer.received.data + i, "hello", 5) == 0;
    }
    assert_int_equal(answers, 2);
    web_fixture_close(&f);
}

static void an_invalid_request_is_refused_and_the_connection_is_closed(void **state)
{
    static const struct {
        const char *request, *answer;
        size_t aborted;
    } rows[] = {
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 101\r\n\r\n", "HTTP/1.1 413 ", 0},
        {"POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n65\r\n", "HTTP/1.1 413 ",
         1},
        {"POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nxy",
         "HTTP/1.1 400 ", 1},
        {"POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 400 ", 0},
        {"GET /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx", "HTTP/1.1 400 ", 0},
        {"GET /later HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 400 ", 0},
        {"DELETE /echo HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 405 ", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        web_fixture f;
        web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
        web_fixture_send(&f, rows[i].request);
        raw_peer_expect(&f.peer, rows[i].answer);
        raw_peer_expect_end(&f.peer);
        assert_non_null(
            memmem(f.peer.received.data, f.peer.received.size, "\r\nConnection: close\r\n", 21));
        raw_peer_expect(&f.peer, REFUSAL_HEADERS);
        assert_int_equal(f.aborted, rows[i].aborted);
        assert_int_equal(f.refused, 1);
        web_fixture_close(&f);
    }
}

static void a_body_of_the_maximum_size_is_accepted(void **state)
{
    web_fixture f;
    char text[256] = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n";
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    memset(text + strlen(text), 'b', BODY_MAX);
    web_fixture_send(&f, text);
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    raw_peer_expect(&f.peer, "bbbb");
    assert_int_equal(f.body.size, BODY_MAX);
    assert_null(memmem(f.peer.received.data, f.peer.received.size, REFUSAL_HEADERS,
                       strlen(REFUSAL_HEADERS)));
    web_fixture_close(&f);
}

static void a_client_that_waits_for_100_continue_gets_it(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "POST /echo HTTP/1.1\r\n" HOST
                         "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    raw_peer_expect(&f.peer, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(f.peer.received.size, strlen("HTTP/1.1 100 Continue\r\n\r\n"));
    web_fixture_send(&f, "hello");
    raw_peer_expect(&f.peer, "\r\n\r\nhello");
    web_fixture_send(&f, "POST /echo HTTP/1.1\r\n" HOST
                         "Expect: 100-continue\r\nContent-Length: 500\r\n\r\n");
    raw_peer_expect(&f.peer, "HTTP/1.1 413 "); /* without 100 first */
    assert_memory_equal(f.peer.received.data, "HTTP/1.1 413 ", 13);
    web_fixture_close(&f);
}

/* ---- responses ---- */

static void a_route_may_respond_later(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "GET /later HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.pending != NULL);
    test_loop_settle(&f.test);
    raw_peer_poll(&f.peer);
    assert_int_equal(f.peer.received.size, 0); /* the second response waits for the first */
    web_fixture_respond(f.pending, ARCP_SPAN_LITERAL("late"));
    raw_peer_expect(&f.peer, "\r\n\r\nlateHTTP/1.1 200 OK\r\n");
    raw_peer_expect(&f.peer, "\r\n\r\nnone");
    web_fixture_close(&f);
}

static void a_route_may_notice_at_once_that_its_client_has_gone_away(void **state)
{
    static const char *const requests[] = {
        "GET /watched HTTP/1.1\r\n" HOST "\r\n",
        "POST /watched HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx",
        /* The second request comes from what was received while the first was served. */
        "GET /echo HTTP/1.1\r\n" HOST "\r\nGET /watched HTTP/1.1\r\n" HOST "\r\n",
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        web_fixture f;
        web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
        web_fixture_send(&f, requests[i]);
        run_until(&f.test, f.pending != NULL);
        raw_peer_half_close(&f.peer);
        run_until(&f.test, f.aborted == 1);
        web_fixture_close(&f);
    }
}

static void a_watched_connection_is_kept_and_may_be_pipelined(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "GET /watched HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.pending != NULL);
    raw_peer_send_text(&f.peer, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    test_loop_settle(&f.test);
    web_fixture_respond(f.pending, ARCP_SPAN_LITERAL("late"));
    raw_peer_expect(&f.peer, "\r\n\r\nlateHTTP/1.1 200 OK\r\n");
    raw_peer_expect(&f.peer, "\r\n\r\nnone");
    web_fixture_close(&f);
}

static void a_client_of_another_route_may_close_its_half(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.pending != NULL);
    raw_peer_half_close(&f.peer);
    test_loop_settle(&f.test);
    assert_int_equal(f.aborted, 0);
    web_fixture_respond(f.pending, ARCP_SPAN_LITERAL("late"));
    raw_peer_expect(&f.peer, "\r\n\r\nlate");
    web_fixture_close(&f);
}

static void a_server_serves_connections_that_were_accepted_elsewhere(void **state)
{
    web_fixture f;
    int ends[2];
    arcp_error err = {0};
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    raw_peer_fini(&f.peer);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    f.peer = (raw_peer){.test = &f.test, .fd = ends[0]};
    check_ok(arcp__web_server_adopt(f.server, ends[1], &err), &err);
    web_fixture_send(&f, echo_requests[0]);
    raw_peer_expect(&f.peer, "\r\n\r\nhello");
    assert_int_equal(arcp__web_server_adopt(f.server, socket(AF_INET, SOCK_DGRAM, 0), &err),
                     ARCP_E_IO); /* and closed: test_loop_fini counts descriptors */
    web_fixture_close(&f);
}

/* Counts the chunks of a complete body, and adds up their sizes. The chunks must be well formed. */
static size_t count_chunks(arcp_span text, size_t *bytes)
{
    size_t count = 0;
    *bytes = 0;
    for (;;) {
        char *end = NULL;
        const size_t size = strtoul(text.data, &end, 16);
        assert_memory_equal(end, "\r\n", 2);
        text = arcp_span_from(text, (size_t)(end + 2 - text.data));
        assert_true(text.size >= size + 2);
        assert_memory_equal(text.data + size, "\r\n", 2);
        text = arcp_span_from(text, size + 2);
        if (size == 0) {
            assert_int_equal(text.size, 0);
            return count;
        }
        count++;
        *bytes += size;
    }
}

static void a_streamed_response_is_chunked_and_written_no_faster_than_it_is_read(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.pieces > 0);
    test_loop_settle(&f.test);
    assert_true(f.pieces < PIECES); /* the peer has read nothing */
    raw_peer_expect(&f.peer, "\r\n0\r\n\r\n");
    assert_true(f.unsent_max < 6 * PIECE_SIZE);
    const char *body = memmem(f.peer.received.data, f.peer.received.size, "\r\n\r\n", 4);
    assert_non_null(memmem(f.peer.received.data, (size_t)(body - f.peer.received.data),
                           "Transfer-Encoding: chunked\r\n", 28));
    size_t bytes = 0;
    const size_t head = (size_t)(body + 4 - f.peer.received.data);
    assert_int_equal(count_chunks(arcp_span_from(arcp_buf_span(&f.peer.received), head), &bytes),
                     PIECES);
    assert_int_equal(bytes, PIECES * PIECE_SIZE);
    web_fixture_send(&f, "HEAD /stream HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&f.peer, "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n");
    web_fixture_send(&f, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&f.peer, "none");
    assert_memory_equal(f.peer.received.data, "HTTP/1.1 200 OK\r\n", 17);
    assert_int_equal(f.aborted, 0);
    web_fixture_close(&f);
}

static void for_http_1_0_a_streamed_response_ends_with_the_connection(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "GET /stream HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n\r\n");
    raw_peer_expect_end(&f.peer);
    const char *body = memmem(f.peer.received.data, f.peer.received.size, "\r\n\r\n", 4);
    assert_non_null(body);
    assert_int_equal(f.peer.received.size - (size_t)(body + 4 - f.peer.received.data),
                     PIECES * PIECE_SIZE);
    assert_null(memmem(f.peer.received.data, 200, "chunked", 7));
    web_fixture_close(&f);
}

/* A request of /later, and the head of a streamed response with one piece. */
static void begin_streamed(web_fixture *f)
{
    const arcp__web_response response = {.status = 200, .is_streamed = true};
    web_fixture_open(f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(f, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f->test, f->pending != NULL);
    arcp__web_exchange_respond(f->pending, &response);
    arcp__web_exchange_write(f->pending, ARCP_SPAN_LITERAL("one"));
    assert_true(arcp__web_exchange_unsent(f->pending) > 8);
}

static void what_is_written_in_a_turn_is_sent_together(void **state)
{
    web_fixture f;
    begin_streamed(&f);
    run_until(&f.test, arcp__web_exchange_unsent(f.pending) == 0);
    raw_peer_expect(&f.peer, "3\r\none\r\n");
    arcp__web_exchange_write(f.pending, ARCP_SPAN_LITERAL("two"));
    arcp__web_exchange_end(f.pending);
    raw_peer_expect(&f.peer, "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
    web_fixture_close(&f);
}

static void what_was_written_before_a_failure_is_sent(void **state)
{
    web_fixture f;
    begin_streamed(&f);
    arcp__web_exchange_fail(f.pending, "the rest is missing");
    raw_peer_expect(&f.peer, "3\r\none\r\n");
    raw_peer_expect_end(&f.peer);
    web_fixture_close(&f);
}

static void a_streamed_response_to_head_has_no_body(void **state)
{
    web_fixture f;
    web_fixture_open(&f, 2 * TEST_PATIENCE_MS, NULL);
    web_fixture_send(&f, "GET /one_by_one HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&f.peer, "\r\n\r\n5\r\npiece\r\n5\r\npiece\r\n5\r\npiece\r\n0\r\n\r\n");
    web_fixture_send(&f,
                     "HEAD /one_by_one HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&f.peer, "Connection: keep-alive\r\n\r\nHTTP/1.1 200 OK\r\n");
    raw_peer_expect(&f.peer, "none");
    web_fixture_send(&f, "HEAD /one_by_one HTTP/1.0\r\n" HOST "\r\n");
    raw_peer_expect_end(&f.peer);
    assert_memory_equal(f.peer.received.data + f.peer.received.size - 4, "\r\n\r\n", 4);
    assert_int_equal(f.aborted, 0);
    web_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_may_arrive_in_pieces_and_the_connection_is_kept),
        cmocka_unit_test(requests_with_bodies_may_be_pipelined),
        cmocka_unit_test(an_invalid_request_is_refused_and_the_connection_is_closed),
        cmocka_unit_test(a_body_of_the_maximum_size_is_accepted),
        cmocka_unit_test(a_client_that_waits_for_100_continue_gets_it),
        cmocka_unit_test(a_route_may_respond_later),
        cmocka_unit_test(a_route_may_notice_at_once_that_its_client_has_gone_away),
        cmocka_unit_test(a_watched_connection_is_kept_and_may_be_pipelined),
        cmocka_unit_test(a_client_of_another_route_may_close_its_half),
        cmocka_unit_test(a_server_serves_connections_that_were_accepted_elsewhere),
        cmocka_unit_test(a_streamed_response_is_chunked_and_written_no_faster_than_it_is_read),
        cmocka_unit_test(for_http_1_0_a_streamed_response_ends_with_the_connection),
        cmocka_unit_test(what_is_written_in_a_turn_is_sent_together),
        cmocka_unit_test(what_was_written_before_a_failure_is_sent),
        cmocka_unit_test(a_streamed_response_to_head_has_no_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
