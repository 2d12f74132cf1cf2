#include "web/server_fixture.h"

void web_fixture_respond(arcp__web_exchange *exchange, arcp_span body)
{
    const arcp__web_response response = {.status = 200, .body = body};
    arcp__web_exchange_respond(exchange, &response);
}

static void on_begin(void *user, arcp__web_exchange *exchange)
{
    web_fixture *f = user;
    arcp_buf_clear(&f->body);
    if (arcp__web_exchange_head(exchange)->framing == ARCP__WEB_NO_BODY) {
        web_fixture_respond(exchange, ARCP_SPAN_LITERAL("none"));
    }
}

static void on_echo(void *user, arcp__web_exchange *exchange, arcp_span piece, bool is_last)
{
    web_fixture *f = user;
    arcp_buf_append(&f->body, piece);
    if (is_last) {
        web_fixture_respond(exchange, arcp_buf_span(&f->body));
    }
}

static void on_later(void *user, arcp__web_exchange *exchange)
{
    ((web_fixture *)user)->pending = exchange;
}

static void on_watched(void *user, arcp__web_exchange *exchange, arcp_span piece, bool is_last)
{
    (void)user;
    (void)exchange;
    (void)piece;
    (void)is_last;
}

static void write_more(void *user, arcp__web_exchange *exchange)
{
    static char piece[PIECE_SIZE];
    web_fixture *f = user;
    memset(piece, 'x', sizeof piece);
    while (f->pieces < PIECES && arcp__web_exchange_unsent(exchange) < 4 * PIECE_SIZE) {
        f->pieces++;
        arcp__web_exchange_write(exchange, arcp_span_make(piece, sizeof piece));
        const size_t unsent = arcp__web_exchange_unsent(exchange);
        f->unsent_max = unsent > f->unsent_max ? unsent : f->unsent_max;
    }
    if (f->pieces == PIECES) {
        f->stream = NULL;
        arcp__web_exchange_end(exchange);
    }
}

static void on_stream(void *user, arcp__web_exchange *exchange)
{
    web_fixture *f = user;
    const arcp__web_response response = {.status = 200, .is_streamed = true};
    f->pieces = 0;
    f->stream = exchange;
    arcp__web_exchange_respond(exchange, &response);
    write_more(f, exchange);
}

/* Writes one piece each time the previous one was sent. */
static void write_one(void *user, arcp__web_exchange *exchange)
{
    web_fixture *f = user;
    if (f->pieces++ < 3) {
        arcp__web_exchange_write(exchange, ARCP_SPAN_LITERAL("piece"));
    } else {
        arcp__web_exchange_end(exchange);
    }
}

static void on_one_by_one(void *user, arcp__web_exchange *exchange)
{
    const arcp__web_response response = {.status = 200, .is_streamed = true};
    ((web_fixture *)user)->pieces = 0;
    arcp__web_exchange_respond(exchange, &response);
}

/* Writes 32 MiB at once. */
static void on_large(void *user, arcp__web_exchange *exchange)
{
    const arcp__web_response response = {.status = 200, .is_streamed = true};
    const size_t size = 512 * PIECE_SIZE;
    char *text = calloc(1, size);
    arcp__web_exchange_respond(exchange, &response);
    arcp__web_exchange_write(exchange, arcp_span_make(text, size));
    free(text);
}

static void on_aborted(void *user, arcp__web_exchange *exchange)
{
    web_fixture *f = user;
    f->aborted++;
    f->pending = f->stream = NULL;
}

static void on_refused(void *user, const char *peer, int status, const char *why)
{
    web_fixture *f = user;
    assert_true(strlen(why) > 0);
    f->refused++;
    f->refused_status = status;
}

static const arcp__web_route routes[] = {
    {"/echo", "GET, POST", BODY_MAX, on_begin, on_echo, NULL, on_aborted, false},
    {"/later", "GET", 0, on_later, NULL, NULL, on_aborted, false},
    {"/watched", "GET, POST", BODY_MAX, on_later, on_watched, NULL, on_aborted, true},
    {"/stream", "GET, HEAD", 0, on_stream, NULL, write_more, on_aborted, false},
    {"/one_by_one", "GET, HEAD", 0, on_one_by_one, NULL, write_one, on_aborted, false},
    {"/large", "GET", 0, on_large, NULL, NULL, on_aborted, false},
};

static void open_fixture(web_fixture *f, arcp_admission_limits limits, const tls_files *files)
{
    arcp__authority listen;
    arcp_error err = {0};
    memset(f, 0, sizeof *f);
    test_loop_init(&f->test);
    limits.struct_size = sizeof limits;
    check_ok(arcp_admission_new(&limits, &f->admission, &err), &err);
    assert_true(arcp__authority_parse(ARCP_SPAN_LITERAL("127.0.0.1:0"), true, &listen));
    const arcp__web_server_options options = {
        .listen = &listen,
        .certificate_file = files == NULL ? NULL : files->certificate,
        .key_file = files == NULL ? NULL : files->key,
        .admission = f->admission,
        .head_bytes_max = 1024,
        .linger_ms = 2 * TEST_PATIENCE_MS,
        .refusal_headers = REFUSAL_HEADERS,
        .routes = routes,
        .route_count = sizeof routes / sizeof routes[0],
        .refused = on_refused,
        .user = f,
    };
    check_ok(arcp__web_server_open(&f->test.loop, &options, &f->server, &err), &err);
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u",
             (unsigned)arcp__web_server_authority(f->server)->port);
    raw_peer_connect(&f->peer, &f->test, f->url);
}

void web_fixture_open(web_fixture *f, uint32_t timeout_ms, const tls_files *files)
{
    open_fixture(f, (arcp_admission_limits){.pending_timeout_ms = timeout_ms}, files);
}

void web_fixture_open_limited(web_fixture *f, uint32_t connections_max)
{
    open_fixture(f,
                 (arcp_admission_limits){.connections_max = connections_max,
                                         .pending_timeout_ms = 2 * TEST_PATIENCE_MS},
                 NULL);
}

void web_fixture_open_narrow(web_fixture *f, size_t pending_bytes_max)
{
    open_fixture(f,
                 (arcp_admission_limits){.pending_bytes_max = pending_bytes_max,
                                         .pending_timeout_ms = 2 * TEST_PATIENCE_MS},
                 NULL);
}

void web_fixture_close(web_fixture *f)
{
    arcp__web_server_close(f->server);
    arcp_admission_unref(f->admission);
    raw_peer_fini(&f->peer);
    arcp_buf_fini(&f->body);
    test_loop_fini(&f->test);
}

void web_fixture_send(web_fixture *f, const char *text)
{
    raw_peer_forget(&f->peer);
    raw_peer_send_text(&f->peer, text);
}

void web_fixture_pass_ms(web_fixture *f, uint64_t ms)
{
    const uint64_t until = uv_now(&f->test.loop) + ms;
    while (uv_now(&f->test.loop) < until) {
        test_loop_settle(&f->test);
        uv_update_time(&f->test.loop);
    }
}

const char *const echo_requests[2] = {
    "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
    "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n"
    "0\r\nT: x\r\n\r\n",
};
