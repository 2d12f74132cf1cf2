/* Requests and answers with bodies over sockets: in pieces both ways, under limits, with a peer
 * that does not read, and with one that leaves. (What is refused before a route is asked stands in
 * websocket_handshake_test, how connections are counted in admission_test and status_test.) */
#include "support/failing_alloc.h"
#include "transport/raw_peer.h"
#include "transport/tls_files.h"

#include <openssl/ssl.h>

#include "web/server.h"

#define HOST       "Host: localhost\r\n"
#define BODY_MAX   100
#define PIECE_SIZE ((size_t)64 * 1024)
#define PIECES     200

typedef struct world {
    test_loop test;
    arcp__web_server *server;
    char url[80];
    raw_peer peer;
    arcp_buf body;              /* of the latest request */
    arcp__web_exchange *asked;  /* by /later and /pause: not answered yet */
    arcp__web_exchange *stream; /* by /stream: its answer is not complete */
    size_t pieces;              /* of that, written */
    size_t most_unsent;
    size_t gone;
    size_t refused;
    int refused_status;
} world;

static void respond(arcp__web_exchange *exchange, arcp_span body)
{
    const arcp__web_response response = {.status = 200, .body = body};
    arcp__web_exchange_respond(exchange, &response);
}

static void on_begin(void *user, arcp__web_exchange *exchange)
{
    world *w = user;
    arcp_buf_clear(&w->body);
    assert_null(*arcp__web_exchange_state(exchange));
    *arcp__web_exchange_state(exchange) = w;
    if (arcp__web_exchange_head(exchange)->framing == ARCP__WEB_NO_BODY) {
        respond(exchange, ARCP_SPAN_LITERAL("none"));
    }
}

static void on_echo(void *user, arcp__web_exchange *exchange, arcp_span piece, bool is_last)
{
    world *w = user;
    assert_ptr_equal(*arcp__web_exchange_state(exchange), w);
    arcp_buf_append(&w->body, piece);
    if (is_last) {
        respond(exchange, arcp_buf_span(&w->body));
    }
}

static void on_later(void *user, arcp__web_exchange *exchange)
{
    ((world *)user)->asked = exchange;
}

static void on_pause(void *user, arcp__web_exchange *exchange)
{
    world *w = user;
    arcp_buf_clear(&w->body);
    w->asked = exchange;
    *arcp__web_exchange_state(exchange) = w;
    arcp__web_exchange_pause(exchange, true);
}

static void write_more(void *user, arcp__web_exchange *exchange)
{
    static char piece[PIECE_SIZE];
    world *w = user;
    memset(piece, 'x', sizeof(piece));
    while (w->pieces < PIECES && arcp__web_exchange_unsent(exchange) < 4 * PIECE_SIZE) {
        w->pieces++;
        arcp__web_exchange_write(exchange, arcp_span_make(piece, sizeof(piece)));
        const size_t unsent = arcp__web_exchange_unsent(exchange);
        w->most_unsent = unsent > w->most_unsent ? unsent : w->most_unsent;
    }
    if (w->pieces == PIECES) {
        w->stream = NULL;
        arcp__web_exchange_end(exchange);
    }
}

static void on_stream(void *user, arcp__web_exchange *exchange)
{
    world *w = user;
    const arcp__web_response response = {.status = 200, .is_streamed = true};
    w->pieces = 0;
    w->stream = exchange;
    arcp__web_exchange_respond(exchange, &response);
    write_more(w, exchange);
}

/* One piece each time the peer has taken the one before. */
static void write_one(void *user, arcp__web_exchange *exchange)
{
    world *w = user;
    if (w->pieces++ < 3) {
        arcp__web_exchange_write(exchange, ARCP_SPAN_LITERAL("piece"));
    } else {
        arcp__web_exchange_end(exchange);
    }
}

static void on_one_by_one(void *user, arcp__web_exchange *exchange)
{
    const arcp__web_response response = {.status = 200, .is_streamed = true};
    ((world *)user)->pieces = 0;
    arcp__web_exchange_respond(exchange, &response);
}

/* Of an answer that comes in one piece of 32 MiB. */
static void on_large(void *user, arcp__web_exchange *exchange)
{
    const arcp__web_response response = {.status = 200, .is_streamed = true};
    const size_t size = 512 * PIECE_SIZE;
    char *text = calloc(1, size);
    arcp__web_exchange_respond(exchange, &response);
    arcp__web_exchange_write(exchange, arcp_span_make(text, size));
    free(text);
}

static void on_pause_behind(void *user, arcp__web_exchange *exchange, arcp_span piece, bool is_last)
{
    if (is_last) {
        arcp__web_exchange_pause(exchange, true);
        respond(exchange, ARCP_SPAN_LITERAL("paused"));
    }
}

static void on_gone(void *user, arcp__web_exchange *exchange)
{
    world *w = user;
    w->gone++;
    w->asked = w->stream = NULL;
}

static void on_refused(void *user, const char *peer, int status, const char *why)
{
    world *w = user;
    assert_true(strlen(why) > 0);
    w->refused++;
    w->refused_status = status;
}

static const arcp__web_route routes[] = {
    {"/echo", "GET, POST", BODY_MAX, on_begin, on_echo, NULL, on_gone},
    {"/pause", "POST", 64 * PIECE_SIZE, on_pause, on_echo, NULL, on_gone},
    {"/later", "GET", 0, on_later, NULL, NULL, on_gone},
    {"/stream", "GET, HEAD", 0, on_stream, NULL, write_more, on_gone},
    {"/one_by_one", "GET, HEAD", 0, on_one_by_one, NULL, write_one, on_gone},
    {"/large", "GET", 0, on_large, NULL, NULL, on_gone},
    {"/pause_behind", "POST", BODY_MAX, on_begin, on_pause_behind, NULL, on_gone},
};

static void world_open_limited(world *w, arcp_admission_limits limits, const tls_files *files)
{
    arcp__authority listen;
    arcp_admission *admission = NULL;
    arcp_error err = {0};
    memset(w, 0, sizeof(*w));
    test_loop_init(&w->test);
    limits.struct_size = sizeof(limits);
    check_ok(arcp_admission_new(&limits, &admission, &err), &err);
    assert_true(arcp__authority_parse(ARCP_SPAN_LITERAL("127.0.0.1:0"), true, &listen));
    const arcp__web_server_options options = {
        .listen = &listen,
        .certificate_file = files == NULL ? NULL : files->certificate,
        .key_file = files == NULL ? NULL : files->key,
        .admission = admission,
        .head_bytes_max = 1024,
        .linger_ms = 2 * TEST_PATIENCE_MS,
        .routes = routes,
        .route_count = sizeof(routes) / sizeof(routes[0]),
        .refused = on_refused,
        .user = w,
    };
    check_ok(arcp__web_server_open(&w->test.loop, &options, &w->server, &err), &err);
    arcp_admission_unref(admission);
    snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%u",
             (unsigned)arcp__web_server_authority(w->server)->port);
    raw_peer_connect(&w->peer, &w->test, w->url);
}

static void world_open(world *w, uint32_t timeout_ms, const tls_files *files)
{
    world_open_limited(w, (arcp_admission_limits){.pending_timeout_ms = timeout_ms}, files);
}

static void world_close(world *w)
{
    arcp__web_server_close(w->server);
    raw_peer_fini(&w->peer);
    arcp_buf_fini(&w->body);
    test_loop_fini(&w->test);
}

static void ask(world *w, const char *text)
{
    raw_peer_forget(&w->peer);
    raw_peer_send_text(&w->peer, text);
}

/* ---- bodies of requests ---- */

static const char *const echoed[] = {
    "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
    "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n"
    "0\r\nT: x\r\n\r\n",
};

static void a_body_comes_in_pieces_and_the_connection_is_kept(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    for (size_t i = 0; i < 2; i++) {
        ask(&w, echoed[i]);
        raw_peer_expect(&w.peer, "Connection: keep-alive\r\n\r\nhello");
        raw_peer_forget(&w.peer);
        for (size_t at = 0; echoed[i][at] != '\0'; at++) {
            raw_peer_send(&w.peer, arcp_span_make(&echoed[i][at], 1));
            test_loop_settle(&w.test);
        }
        raw_peer_expect(&w.peer, "\r\n\r\nhello");
    }
    ask(&w, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
    raw_peer_expect(&w.peer, "\r\n\r\nnone");
    assert_int_equal(w.gone + w.refused, 0);
    world_close(&w);
}

static void requests_with_bodies_may_be_sent_ahead(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    raw_peer_send_text(&w.peer, echoed[0]);
    raw_peer_send_text(&w.peer, echoed[1]);
    raw_peer_send_text(&w.peer, "POST /echo HTTP/1.1\r\n" HOST
                                "Connection: close\r\nContent-Length: 4\r\n\r\nlast");
    raw_peer_expect(&w.peer, "Connection: close\r\n\r\nlast");
    raw_peer_expect_end(&w.peer);
    size_t answers = 0;
    for (size_t at = 0; at + 5 <= w.peer.received.size; at++) {
        answers += memcmp(w.peer.received.data + at, "hello", 5) == 0;
    }
    assert_int_equal(answers, 2);
    world_close(&w);
}

static void what_cannot_be_read_is_refused_and_the_connection_ends(void **state)
{
    static const struct {
        const char *request, *answer;
        size_t gone;
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        world w;
        world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
        ask(&w, rows[i].request);
        raw_peer_expect(&w.peer, rows[i].answer);
        raw_peer_expect_end(&w.peer);
        assert_non_null(
            memmem(w.peer.received.data, w.peer.received.size, "\r\nConnection: close\r\n", 21));
        assert_int_equal(w.gone, rows[i].gone);
        assert_int_equal(w.refused, 1);
        world_close(&w);
    }
}

static void a_body_at_the_limit_is_taken(void **state)
{
    world w;
    char text[256] = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n";
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    memset(text + strlen(text), 'b', BODY_MAX);
    ask(&w, text);
    raw_peer_expect(&w.peer, "HTTP/1.1 200 ");
    raw_peer_expect(&w.peer, "bbbb");
    assert_int_equal(w.body.size, BODY_MAX);
    world_close(&w);
}

static void a_client_that_waits_for_100_gets_it(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    ask(&w, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    raw_peer_expect(&w.peer, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(w.peer.received.size, strlen("HTTP/1.1 100 Continue\r\n\r\n"));
    ask(&w, "hello");
    raw_peer_expect(&w.peer, "\r\n\r\nhello");
    ask(&w, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 500\r\n\r\n");
    raw_peer_expect(&w.peer, "HTTP/1.1 413 "); /* and no 100 */
    assert_memory_equal(w.peer.received.data, "HTTP/1.1 413 ", 13);
    world_close(&w);
}

static void a_paused_body_is_not_read_until_it_is_resumed(void **state)
{
    world w;
    static char block[PIECE_SIZE];
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    memset(block, 'p', sizeof(block));
    ask(&w, "POST /pause HTTP/1.1\r\n" HOST "Content-Length: 131072\r\n\r\n");
    raw_peer_send(&w.peer, arcp_span_make(block, 10));
    run_until(&w.test, w.asked != NULL);
    test_loop_settle(&w.test);
    assert_int_equal(w.body.size, 0);
    arcp__web_exchange_pause(w.asked, false);
    run_until(&w.test, w.body.size == 10);
    raw_peer_send(&w.peer, arcp_span_make(block, sizeof(block)));
    raw_peer_send(&w.peer, arcp_span_make(block, sizeof(block) - 10));
    raw_peer_receive(&w.peer, 131072);
    assert_int_equal(w.body.size, 131072);
    world_close(&w);
}

/* ---- answers ---- */

static void an_answer_may_come_later(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    ask(&w, "GET /later HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    run_until(&w.test, w.asked != NULL);
    test_loop_settle(&w.test);
    raw_peer_poll(&w.peer);
    assert_int_equal(w.peer.received.size, 0); /* the second one waits for its turn */
    respond(w.asked, ARCP_SPAN_LITERAL("late"));
    raw_peer_expect(&w.peer, "\r\n\r\nlateHTTP/1.1 200 OK\r\n");
    raw_peer_expect(&w.peer, "\r\n\r\nnone");
    world_close(&w);
}

/* The sizes of the chunks of a whole body, which must be well formed. */
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

static void a_streamed_answer_goes_in_chunks_no_faster_than_it_is_read(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    ask(&w, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    run_until(&w.test, w.pieces > 0);
    test_loop_settle(&w.test);
    assert_true(w.pieces < PIECES); /* nobody has read a byte */
    raw_peer_expect(&w.peer, "\r\n0\r\n\r\n");
    assert_true(w.most_unsent < 6 * PIECE_SIZE);
    const char *body = memmem(w.peer.received.data, w.peer.received.size, "\r\n\r\n", 4);
    assert_non_null(memmem(w.peer.received.data, (size_t)(body - w.peer.received.data),
                           "Transfer-Encoding: chunked\r\n", 28));
    size_t bytes = 0;
    const size_t head = (size_t)(body + 4 - w.peer.received.data);
    assert_int_equal(count_chunks(arcp_span_from(arcp_buf_span(&w.peer.received), head), &bytes),
                     PIECES);
    assert_int_equal(bytes, PIECES * PIECE_SIZE);
    ask(&w, "HEAD /stream HTTP/1.1\r\n" HOST
            "\r\n"); /* the connection is kept, and HEAD gets no body */
    raw_peer_expect(&w.peer, "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n");
    ask(&w, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&w.peer, "none");
    assert_memory_equal(w.peer.received.data, "HTTP/1.1 200 OK\r\n", 17);
    assert_int_equal(w.gone, 0);
    world_close(&w);
}

static void a_client_of_http_1_0_gets_a_streamed_answer_until_the_end(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    ask(&w, "GET /stream HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n\r\n");
    raw_peer_expect_end(&w.peer);
    const char *body = memmem(w.peer.received.data, w.peer.received.size, "\r\n\r\n", 4);
    assert_non_null(body);
    assert_int_equal(w.peer.received.size - (size_t)(body + 4 - w.peer.received.data),
                     PIECES * PIECE_SIZE);
    assert_null(memmem(w.peer.received.data, 200, "chunked", 7));
    world_close(&w);
}

static void a_streamed_answer_to_head_goes_on_to_its_end(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    ask(&w, "GET /one_by_one HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&w.peer, "\r\n\r\n5\r\npiece\r\n5\r\npiece\r\n5\r\npiece\r\n0\r\n\r\n");
    ask(&w, "HEAD /one_by_one HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&w.peer, "Connection: keep-alive\r\n\r\nHTTP/1.1 200 OK\r\n");
    raw_peer_expect(&w.peer, "none");
    ask(&w, "HEAD /one_by_one HTTP/1.0\r\n" HOST "\r\n");
    raw_peer_expect_end(&w.peer);
    assert_memory_equal(w.peer.received.data + w.peer.received.size - 4, "\r\n\r\n", 4);
    assert_int_equal(w.gone, 0);
    world_close(&w);
}

static void a_pause_ends_with_its_request(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    ask(&w, "POST /pause_behind HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx");
    raw_peer_expect(&w.peer, "paused");
    ask(&w, echoed[0]);
    raw_peer_expect(&w.peer, "hello");
    world_close(&w);
}

/* ---- peers that leave, wait or say nothing ---- */

static void a_route_is_told_when_its_peer_leaves(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    ask(&w, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    run_until(&w.test, w.stream != NULL);
    raw_peer_reset(&w.peer);
    run_until(&w.test, w.gone == 1);
    raw_peer_connect(&w.peer, &w.test, w.url);
    ask(&w, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhel");
    test_loop_settle(&w.test);
    raw_peer_half_close(&w.peer);
    run_until(&w.test, w.gone == 2);
    assert_int_equal(w.refused, 1);
    assert_int_equal(w.refused_status, 0);
    world_close(&w);
}

static void a_route_is_told_when_the_server_closes(void **state)
{
    world w;
    world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
    ask(&w, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    run_until(&w.test, w.asked != NULL);
    world_close(&w);
    assert_int_equal(w.gone, 1);
}

/* Time for the loop, and for the peer's next byte. */
static void pass_ms(world *w, uint64_t ms)
{
    const uint64_t until = uv_now(&w->test.loop) + ms;
    while (uv_now(&w->test.loop) < until) {
        test_loop_settle(&w->test);
        uv_update_time(&w->test.loop);
    }
}

static void each_wait_for_the_peer_is_limited_and_the_routes_own_is_not(void **state)
{
    world w;
    world_open(&w, 50, NULL);
    ask(&w, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    run_until(&w.test, w.asked != NULL);
    pass_ms(&w, 100);
    assert_int_equal(w.gone, 0);
    respond(w.asked, ARCP_SPAN_LITERAL("late"));
    raw_peer_expect(&w.peer, "late");
    raw_peer_expect_end(&w.peer); /* no further request came */
    assert_int_equal(w.refused, 0);
    static const char *const begun[] = {"GET /ec", "POST /echo HTTP/1.1\r\n" HOST
                                                   "Content-Length: 5\r\n\r\nhel"};
    for (size_t i = 0; i < 2; i++) {
        raw_peer_fini(&w.peer);
        raw_peer_connect(&w.peer, &w.test, w.url);
        ask(&w, begun[i]);
        raw_peer_expect_end(&w.peer);
        assert_int_equal(w.peer.received.size, 0);
        assert_int_equal(w.refused, i + 1);
        assert_int_equal(w.gone, i);
    }
    raw_peer_fini(&w.peer);
    raw_peer_connect(&w.peer, &w.test, w.url);
    ask(&w, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    run_until(&w.test, w.gone == 2); /* it reads nothing */
    world_close(&w);
}

static void a_body_that_comes_slowly_does_not_extend_its_time(void **state)
{
    world w;
    size_t sent = 0;
    world_open(&w, 200, NULL);
    ask(&w, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n");
    for (; sent < BODY_MAX && !w.peer.ended; sent++) {
        raw_peer_send_text(&w.peer, "x");
        pass_ms(&w, 20);
        raw_peer_poll(&w.peer);
    }
    assert_in_range(sent, 1, BODY_MAX / 2);
    assert_int_equal(w.gone, 1);
    assert_int_equal(w.refused, 1);
    world_close(&w);
}

static void the_time_that_a_route_pauses_a_body_does_not_count(void **state)
{
    world w;
    world_open(&w, 300, NULL);
    ask(&w, "POST /pause HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhel");
    run_until(&w.test, w.asked != NULL);
    pass_ms(&w, 600);
    assert_int_equal(w.gone, 0);
    arcp__web_exchange_pause(w.asked, false);
    raw_peer_send_text(&w.peer, "lo");
    raw_peer_expect(&w.peer, "hello");
    world_close(&w);
}

static void a_peer_that_reads_slowly_does_not_extend_the_time_of_what_was_written(void **state)
{
    static char bytes[PIECE_SIZE];
    world w;
    size_t read = 0;
    world_open(&w, 300, NULL);
    ask(&w, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    while (w.gone == 0) {
        const ssize_t size = recv(w.peer.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        read += size > 0 ? (size_t)size : 0;
        assert_true(read < 512 * PIECE_SIZE);
        pass_ms(&w, 10);
    }
    world_close(&w);
}

/* ---- places ---- */

static void who_keeps_a_place_and_asks_nothing_gives_it_to_a_newcomer(void **state)
{
    static const char *const begun[] = {"", "GET /ec", "POST /echo HTTP/1.1\r\n"};
    for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
        world w;
        raw_peer second;
        world_open_limited(&w,
                           (arcp_admission_limits){.connections_max = 1,
                                                   .pending_timeout_ms = 2 * TEST_PATIENCE_MS},
                           NULL);
        ask(&w, begun[i]);
        test_loop_settle(&w.test);
        raw_peer_connect(&second, &w.test, w.url);
        raw_peer_send_text(&second, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
        raw_peer_expect(&second, "none");
        raw_peer_expect(&w.peer, "HTTP/1.1 503 ");
        raw_peer_expect_end(&w.peer);
        raw_peer_fini(&second);
        world_close(&w);
    }
}

static void the_oldest_that_waits_goes_and_none_that_is_served(void **state)
{
    world w;
    raw_peer others[4];
    world_open_limited(
        &w,
        (arcp_admission_limits){.connections_max = 3, .pending_timeout_ms = 2 * TEST_PATIENCE_MS},
        NULL);
    ask(&w, "GET /later HTTP/1.1\r\n" HOST "\r\n"); /* the oldest, and the route has it */
    run_until(&w.test, w.asked != NULL);
    for (size_t i = 0; i < 2; i++) {
        raw_peer_connect(&others[i], &w.test, w.url);
        test_loop_settle(&w.test);
    }
    /* The older of these asks and waits again: then the other one is the oldest. */
    raw_peer_send_text(&others[0], "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&others[0], "none");
    raw_peer_forget(&others[0]);
    raw_peer_send_text(&others[0], "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&others[0], "none");
    raw_peer_connect(&others[2], &w.test, w.url);
    raw_peer_expect_end(&others[1]);
    raw_peer_send_text(&others[0], "GET /one_by_one HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&others[0], "\r\n0\r\n\r\n");
    raw_peer_connect(&others[3], &w.test, w.url);
    raw_peer_expect_end(&others[2]);
    respond(w.asked, ARCP_SPAN_LITERAL("late"));
    raw_peer_expect(&w.peer, "late");
    for (size_t i = 0; i < 4; i++) {
        raw_peer_fini(&others[i]);
    }
    world_close(&w);
}

static void where_every_place_is_served_a_newcomer_is_refused(void **state)
{
    world w;
    raw_peer other;
    world_open_limited(
        &w,
        (arcp_admission_limits){.connections_max = 1, .pending_timeout_ms = 2 * TEST_PATIENCE_MS},
        NULL);
    ask(&w, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    run_until(&w.test, w.asked != NULL);
    raw_peer_connect(&other, &w.test, w.url);
    raw_peer_expect(&other, "HTTP/1.1 503 ");
    raw_peer_expect_end(&other);
    assert_int_equal(w.gone, 0);
    raw_peer_fini(&other);
    world_close(&w);
}

/* ---- TLS ---- */

static void bodies_go_over_tls_too(void **state)
{
    world w;
    tls_files files;
    char text[512] = "";
    int size = 0;
    tls_files_make(&files);
    world_open(&w, 2 * TEST_PATIENCE_MS, &files);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, w.peer.fd);
    while (SSL_connect(ssl) != 1) {
        uv_run(&w.test.loop, UV_RUN_NOWAIT);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(SSL_write(ssl, echoed[i], (int)strlen(echoed[i])), strlen(echoed[i]));
        memset(text, 0, sizeof(text));
        for (size = 0; strstr(text, "\r\n\r\nhello") == NULL;) {
            const int got = SSL_read(ssl, text + size, (int)sizeof(text) - 1 - size);
            size += got > 0 ? got : 0;
            uv_run(&w.test.loop, UV_RUN_NOWAIT);
        }
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    world_close(&w);
    tls_files_remove(&files);
}

/* ---- memory ---- */

/* Sends a request and takes what comes of it: an answer, or the end. True: the answer has `part`.
 * Meanwhile the n-th allocation fails (0: none does), but none of the peer's own. */
static bool ask_failing(world *w, const char *text, const char *part, size_t n,
                        failing_alloc_mode mode)
{
    raw_peer peer;
    bool found = false;
    raw_peer_connect(&peer, &w->test, w->url);
    assert_true(arcp_buf_reserve(&peer.received, (PIECES + 16) * PIECE_SIZE));
    if (n > 0) {
        failing_alloc_arm(n, mode);
    }
    raw_peer_send_text(&peer, text);
    while (!found && !peer.ended) {
        raw_peer_receive(&peer, peer.received.size + 1);
        found = peer.received.size > 0 &&
                memmem(peer.received.data, peer.received.size, part, strlen(part)) != NULL;
    }
    raw_peer_fini(&peer);
    test_loop_settle(&w->test);
    return found;
}

static void each_allocation_of_an_exchange_may_fail(void **state)
{
    static const struct {
        const char *request, *part;
    } rows[] = {
        {"POST /echo HTTP/1.1\r\n" HOST "Connection: close\r\nExpect: 100-continue\r\n"
         "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         "\r\n\r\nhello"},
        {"GET /echo HTTP/1.1\r\n" HOST "\r\nGET /stream HTTP/1.1\r\n" HOST "\r\n", "\r\n0\r\n\r\n"},
        {"GET /nothing HTTP/1.1\r\n" HOST "\r\n", " 404 "},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) * 2; i++) {
        world w;
        size_t failed = 0;
        world_open(&w, 2 * TEST_PATIENCE_MS, NULL);
        for (size_t n = 1; failed == n - 1 && n <= 40; n++) {
            const bool found =
                ask_failing(&w, rows[i / 2].request, rows[i / 2].part, n,
                            i % 2 == 0 ? FAILING_ALLOC_ONE : FAILING_ALLOC_ALL_AFTER);
            failed += failing_alloc_disarm();
            assert_true(found || failed == n);
        }
        assert_true(failed > 3);
        /* And it serves on. */
        assert_true(ask_failing(&w, rows[i / 2].request, rows[i / 2].part, 0, FAILING_ALLOC_ONE));
        world_close(&w);
    }
}

/* As a client of TLS, which allocates elsewhere. */
static void stream_failing_over_tls(world *w, size_t n)
{
    static char bytes[PIECE_SIZE];
    raw_peer peer;
    raw_peer_connect(&peer, &w->test, w->url);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, peer.fd);
    while (SSL_connect(ssl) != 1) {
        uv_run(&w->test.loop, UV_RUN_NOWAIT);
    }
    test_loop_settle(&w->test);
    failing_alloc_arm(n, FAILING_ALLOC_ONE);
    assert_true(SSL_write(ssl, "GET /stream HTTP/1.0\r\n" HOST "\r\n", 41) == 41);
    for (;;) {
        const int size = SSL_read(ssl, bytes, sizeof(bytes));
        if (size <= 0 && SSL_get_error(ssl, size) != SSL_ERROR_WANT_READ) {
            break;
        }
        uv_run(&w->test.loop, UV_RUN_NOWAIT);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    raw_peer_fini(&peer);
    test_loop_settle(&w->test);
}

static void each_allocation_of_a_streamed_answer_over_tls_may_fail(void **state)
{
    world w;
    tls_files files;
    size_t failed = 0;
    tls_files_make(&files);
    world_open(&w, 2 * TEST_PATIENCE_MS, &files);
    for (size_t n = 1; failed == n - 1 && n <= 40; n++) {
        stream_failing_over_tls(&w, n);
        failed += failing_alloc_disarm();
    }
    assert_true(failed > 3);
    world_close(&w);
    tls_files_remove(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_comes_in_pieces_and_the_connection_is_kept),
        cmocka_unit_test(requests_with_bodies_may_be_sent_ahead),
        cmocka_unit_test(what_cannot_be_read_is_refused_and_the_connection_ends),
        cmocka_unit_test(a_body_at_the_limit_is_taken),
        cmocka_unit_test(a_client_that_waits_for_100_gets_it),
        cmocka_unit_test(a_paused_body_is_not_read_until_it_is_resumed),
        cmocka_unit_test(an_answer_may_come_later),
        cmocka_unit_test(a_streamed_answer_goes_in_chunks_no_faster_than_it_is_read),
        cmocka_unit_test(a_client_of_http_1_0_gets_a_streamed_answer_until_the_end),
        cmocka_unit_test(a_streamed_answer_to_head_goes_on_to_its_end),
        cmocka_unit_test(a_pause_ends_with_its_request),
        cmocka_unit_test(a_body_that_comes_slowly_does_not_extend_its_time),
        cmocka_unit_test(the_time_that_a_route_pauses_a_body_does_not_count),
        cmocka_unit_test(a_peer_that_reads_slowly_does_not_extend_the_time_of_what_was_written),
        cmocka_unit_test(who_keeps_a_place_and_asks_nothing_gives_it_to_a_newcomer),
        cmocka_unit_test(the_oldest_that_waits_goes_and_none_that_is_served),
        cmocka_unit_test(where_every_place_is_served_a_newcomer_is_refused),
        cmocka_unit_test(each_allocation_of_a_streamed_answer_over_tls_may_fail),
        cmocka_unit_test(a_route_is_told_when_its_peer_leaves),
        cmocka_unit_test(a_route_is_told_when_the_server_closes),
        cmocka_unit_test(each_wait_for_the_peer_is_limited_and_the_routes_own_is_not),
        cmocka_unit_test(bodies_go_over_tls_too),
        cmocka_unit_test(each_allocation_of_an_exchange_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
