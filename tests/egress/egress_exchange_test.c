/* Plain HTTP through egress: what is sent on, what is refused, and what ends a connection. */
#include "egress/egress_fixture.h"

#define LEASE "[\"http://api.test:PORT/v1/**\", \"ws://api.test:PORT/chat\"]"
#define HOST  "Host: api.test:PORT\r\n"
#define GET   "GET /v1/a HTTP/1.1\r\n" HOST
#define OK    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* The server has received exactly this text. */
static void check_received(egress_fixture *f, const char *text)
{
    arcp_buf wanted = egress_fixture_text(f, text);
    raw_peer_receive(&f->server, wanted.size);
    test_loop_settle(&f->test);
    raw_peer_poll(&f->server);
    if (!arcp_span_equal(arcp_buf_span(&f->server.received), arcp_buf_span(&wanted))) {
        fail_msg("the server received \"%s\"", arcp_buf_cstr(&f->server.received));
    }
    raw_peer_forget(&f->server);
    arcp_buf_fini(&wanted);
}

static void open_and_send(egress_fixture *f, const char *request)
{
    egress_fixture_open(f, LEASE);
    egress_fixture_connect_name(f, "api.test");
    egress_fixture_send(f, &f->client, request);
}

/* ---- requests ---- */

typedef struct passed {
    const char *name, *sent, *received;
} passed;

static const passed passed_rows[] = {
    {"a request with a query", "GET /v1/a?b=c HTTP/1.1\r\n" HOST "X-One:  1 \r\n\r\n",
     "GET /v1/a?b=c HTTP/1.1\r\n" HOST "X-One: 1\r\n\r\n"},
    {"a host in capital letters with a dot", "GET /v1/a HTTP/1.1\r\nHost: API.test.:PORT\r\n\r\n",
     GET "\r\n"},
    {"a body with a length", "PUT /v1/a HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
     "PUT /v1/a HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello"},
    {"an empty body", "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
     "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n"},
    {"chunks lose extensions and trailers",
     "POST /v1/a HTTP/1.1\r\n" HOST
     "Transfer-Encoding: chunked\r\n\r\n005;x=y\r\nhello\r\n0\r\nT: x\r\n\r\n",
     "POST /v1/a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
    {"headers of one connection are removed",
     GET "Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
         "Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nproxy-x: y\r\n"
         "Trailer: T\r\nX-End: 2\r\n\r\n",
     GET "X-End: 2\r\nConnection: close\r\n\r\n"},
    {"headers that frame the message cannot be removed",
     "POST /v1/a HTTP/1.1\r\n" HOST
     "Connection: Content-Length, Host\r\nContent-Length: 2\r\n\r\nhi",
     "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi"},
    {"an upgrade to h2c is not offered",
     GET "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n",
     GET "\r\n"},
    {"dot segments are resolved", "GET /v1/x/../a HTTP/1.1\r\n" HOST "\r\n", GET "\r\n"},
    {"a URL as the target", "GET http://api.test:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n", GET "\r\n"},
    {"HTTP/1.0 without a host", "GET /v1/a HTTP/1.0\r\n\r\n", GET "Connection: close\r\n\r\n"},
    {"100-continue is the server's", GET "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
     GET "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"},
    {"an upgrade to WebSocket",
     "GET /chat HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
     "Sec-WebSocket-Version: 13\r\n\r\n",
     "GET /chat HTTP/1.1\r\n" HOST "Sec-WebSocket-Version: 13\r\n"
     "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"},
};

static void is_passed(void **state)
{
    const passed *row = *state;
    egress_fixture f;
    open_and_send(&f, row->sent);
    egress_fixture_accept(&f);
    check_received(&f, row->received);
    assert_int_equal(f.denied, 0);
    assert_int_equal(arcp__egress_count(f.egress).allowed, 1);
    assert_int_equal(f.allowed, 1);
    assert_int_equal(strncmp(f.allowed_url, "http://api.test:", 16) == 0 ||
                         strncmp(f.allowed_url, "ws://api.test:", 14) == 0,
                     1);
    egress_fixture_close(&f);
}

typedef struct refused {
    const char *name, *sent, *answer;
    bool is_denial;
} refused;

static const refused refused_rows[] = {
    {"a path that is not granted", "GET /v2 HTTP/1.1\r\n" HOST "\r\n", "403 Forbidden", true},
    {"dot segments out of what is granted", "GET /v1/../v2 HTTP/1.1\r\n" HOST "\r\n", "403 ", true},
    {"encoded dots", "GET /v1/%2e%2e/v2 HTTP/1.1\r\n" HOST "\r\n", "403 ", true},
    {"a plain request for what is granted to WebSocket", "GET /chat HTTP/1.1\r\n" HOST "\r\n",
     "403 ", true},
    {"another host", "GET /v1/a HTTP/1.1\r\nHost: other.test:PORT\r\n\r\n", "421 ", true},
    {"another port", "GET /v1/a HTTP/1.1\r\nHost: api.test:1\r\n\r\n", "421 ", true},
    {"no port", "GET /v1/a HTTP/1.1\r\nHost: api.test\r\n\r\n", "421 ", true},
    {"no host", "GET /v1/a HTTP/1.1\r\n\r\n", "400 ", false},
    {"two hosts", GET "Host: other.test\r\n\r\n", "400 ", false},
    {"user information in Host", "GET /v1/a HTTP/1.1\r\nHost: x@api.test:PORT\r\n\r\n", "421 ",
     true},
    {"a URL of another host", "GET http://other.test:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n", "421 ",
     true},
    {"a URL and a Host that differ",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: other.test:PORT\r\n\r\n", "421 ", true},
    {"a URL with user information", "GET http://a@api.test:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n",
     "400 ", false},
    {"a URL of https", "GET https://api.test:PORT/v1/a HTTP/1.1\r\n" HOST "\r\n", "400 ", false},
    {"the target *", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "400 ", false},
    {"CONNECT", "CONNECT api.test:PORT HTTP/1.1\r\n" HOST "\r\n", "400 ", false},
    {"a length and chunks",
     "POST /v1/a HTTP/1.1\r\n" HOST
     "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "400 ", false},
    {"two lengths",
     "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "400 ",
     false},
    {"a length with a sign", "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\nhello",
     "400 ", false},
    {"an empty length", "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", "400 ", false},
    {"another transfer coding",
     "POST /v1/a HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400 ",
     false},
    {"chunks in HTTP/1.0",
     "POST /v1/a HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 ", false},
    {"a line that ends with LF", "GET /v1/a HTTP/1.1\nHost: api.test:PORT\r\n\r\n", "400 ", false},
    {"a folded header", GET "X: a\r\n b\r\n\r\n", "400 ", false},
    {"a blank before a colon", GET "X : a\r\n\r\n", "400 ", false},
    {"HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 ", true},
    {"another upgrade", GET "Connection: Upgrade\r\nUpgrade: irc\r\n\r\n", "400 ", false},
    {"an upgrade to two protocols", GET "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
     "400 ", false},
    {"an upgrade with a body",
     "GET /chat HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
     "Content-Length: 1\r\n\r\nx",
     "400 ", false},
    {"bytes that are no request", "hello\r\n\r\n", "400 ", true},
};

static void is_refused(void **state)
{
    const refused *row = *state;
    egress_fixture f;
    open_and_send(&f, row->sent);
    raw_peer_expect(&f.client, "\r\n\r\n{\"error\":{\"code\":");
    if (strstr(arcp_buf_cstr(&f.client.received), row->answer) !=
        f.client.received.data + strlen("HTTP/1.1 ")) {
        fail_msg("the response is \"%s\"", arcp_buf_cstr(&f.client.received));
    }
    assert_int_equal(f.denied, row->is_denial);
    assert_int_equal(answers.asked, 0);
    assert_int_equal(arcp__egress_count(f.egress).allowed, 0);
    egress_fixture_close(&f);
}

static void a_denial_says_what_was_asked_for_and_what_is_granted(void **state)
{
    egress_fixture f;
    open_and_send(&f, "GET /v2?x HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&f.client, "}\n");
    arcp_buf wanted = egress_fixture_text(&f, "http://api.test:PORT/v2?x");
    assert_string_equal(f.target, arcp_buf_cstr(&wanted));
    assert_true(strlen(f.reason) > 0);
    const char *body = strstr(arcp_buf_cstr(&f.client.received), "\r\n\r\n") + 4;
    arcp_json *json = arcp_json_new();
    arcp_error err = {0};
    arcp_buf scratch = arcp_buf_init();
    check_ok(arcp_json_scan(json, arcp_span_cstr(body), NULL, &err), &err);
    const arcp_json_ref error = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("error"));
    const arcp_json_ref details = arcp_json_member(json, error, ARCP_SPAN_LITERAL("details"));
    check_span(
        arcp_json_string(json, arcp_json_member(json, error, ARCP_SPAN_LITERAL("code")), &scratch),
        "PERMISSION_DENIED");
    check_span(arcp_json_string(json,
                                arcp_json_member(json, details, ARCP_SPAN_LITERAL("capability")),
                                &scratch),
               "net.fetch");
    check_span(arcp_json_string(json, arcp_json_member(json, details, ARCP_SPAN_LITERAL("target")),
                                &scratch),
               arcp_buf_cstr(&wanted));
    assert_int_equal(
        arcp_json_count(json, arcp_json_member(json, details, ARCP_SPAN_LITERAL("granted"))), 2);
    arcp_json_free(json);
    arcp_buf_fini(&scratch);
    arcp_buf_fini(&wanted);
    egress_fixture_close(&f);
}

/* A head with `count` headers and Host, and a value of `size` bytes. */
static void send_large_head(egress_fixture *f, int count, size_t size)
{
    arcp_buf text = egress_fixture_text(f, GET);
    for (int i = 1; i < count; i++) {
        arcp_buf_append_format(&text, "X-%d: %d\r\n", i, i);
    }
    if (size > text.size) {
        arcp_buf_append_cstr(&text, "Y: ");
        while (text.size < size - 4) {
            arcp_buf_append_byte(&text, 'y');
        }
        arcp_buf_append_cstr(&text, "\r\n");
    }
    arcp_buf_append_cstr(&text, "\r\n");
    raw_peer_send(&f->client, arcp_buf_span(&text));
    arcp_buf_fini(&text);
}

static void a_head_may_have_100_headers_and_64_kib(void **state)
{
    static const struct {
        int headers;
        size_t bytes;
        bool is_too_large;
    } rows[] = {{100, 0, false}, {101, 0, true}, {1, 65536, false}, {1, 65537, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        egress_fixture f;
        egress_fixture_open(&f, LEASE);
        egress_fixture_connect_name(&f, "api.test");
        send_large_head(&f, rows[i].headers, rows[i].bytes);
        if (rows[i].is_too_large) {
            raw_peer_expect(&f.client, "HTTP/1.1 431 ");
        } else {
            egress_fixture_accept(&f);
            raw_peer_expect(&f.server, "\r\n\r\n");
        }
        egress_fixture_close(&f);
    }
}

/* ---- responses ---- */

typedef struct answered {
    const char *name, *request, *sent, *received;
    bool ends; /* the connection to the client */
} answered;

#define HEAD_REQUEST "HEAD /v1/a HTTP/1.1\r\n" HOST "\r\n"
#define OLD          "GET /v1/a HTTP/1.0\r\n\r\n"
#define OLD_KEPT     "GET /v1/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"

static const answered answered_rows[] = {
    {"a length", GET "\r\n", "HTTP/1.1 200 OK\r\nY: z\r\nContent-Length: 5\r\n\r\nhello",
     "HTTP/1.1 200 OK\r\nY: z\r\nContent-Length: 5\r\n\r\nhello", false},
    {"chunks lose extensions and trailers", GET "\r\n",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n05;x\r\nhello\r\n0\r\nT: x\r\n\r\n",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false},
    {"headers of one connection are removed", GET "\r\n",
     "HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nProxy-Authenticate: Basic\r\n"
     "Upgrade: h2c\r\nContent-Length: 0\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false},
    {"no body", GET "\r\n", "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n",
     "HTTP/1.1 204 No Content\r\n\r\n", false},
    {"not modified, with the length of the body", GET "\r\n",
     "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
     "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", false},
    {"a response to HEAD", HEAD_REQUEST, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
     "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", false},
    {"interim responses", GET "\r\n",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK,
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK, false},
    {"interim responses are not for HTTP/1.0", OLD_KEPT, "HTTP/1.1 100 Continue\r\n\r\n" OK,
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", false},
    {"chunks for HTTP/1.0", OLD_KEPT,
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
     "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", true},
    {"HTTP/1.0 ends", OLD, OK,
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", true},
    {"the client's last request", GET "Connection: close\r\n\r\n", OK,
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", true},
};

/* Responds, closes the server's side if the client's ends, too, and compares. */
static void is_answered(void **state)
{
    const answered *row = *state;
    egress_fixture f;
    open_and_send(&f, row->request);
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "\r\n\r\n");
    raw_peer_send_text(&f.server, row->sent);
    raw_peer_receive(&f.client, strlen(row->received));
    if (row->ends) {
        raw_peer_expect_end(&f.client);
    } else {
        test_loop_settle(&f.test);
        raw_peer_poll(&f.client);
        assert_false(f.client.ended);
    }
    if (!arcp_span_equal_cstr(arcp_buf_span(&f.client.received), row->received)) {
        fail_msg("the client received \"%s\"", arcp_buf_cstr(&f.client.received));
    }
    egress_fixture_close(&f);
}

static void a_response_without_a_length_ends_with_its_connection(void **state)
{
    egress_fixture f;
    open_and_send(&f, GET "\r\n");
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "\r\n\r\n");
    raw_peer_send_text(&f.server, "HTTP/1.1 200 OK\r\n\r\nhel");
    raw_peer_expect(&f.client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhel");
    raw_peer_send_text(&f.server, "lo");
    raw_peer_half_close(&f.server);
    egress_fixture_expect_end(&f, "\r\n\r\nhello");
    egress_fixture_close(&f);
}

typedef struct wrong {
    const char *name, *sent;
} wrong;

static const wrong wrong_rows[] = {
    {"a length and chunks",
     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"},
    {"an empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n"},
    {"a line that ends with LF", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n"},
    {"a folded header", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n"},
    {"a blank before a colon", "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n"},
    {"another transfer coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx"},
    {"an upgrade without a request", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"},
    {"a status below 100", "HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n"},
    {"bytes that are no response", "SSH-2.0-x\r\n\r\n"},
    {"another version", "HTTP/2.0 200 OK\r\n\r\n"},
    {"nothing", ""},
    {"the beginning of a head", "HTTP/1.1 200 OK\r\nX:"},
};

static void is_wrong(void **state)
{
    const wrong *row = *state;
    egress_fixture f;
    open_and_send(&f, GET "\r\n");
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "\r\n\r\n");
    raw_peer_send_text(&f.server, row->sent);
    raw_peer_half_close(&f.server);
    raw_peer_half_close(&f.client);
    egress_fixture_expect_end(&f, "HTTP/1.1 502 ");
    assert_int_equal(arcp__egress_count(f.egress).failed, 1);
    assert_int_equal(f.denied, 0);
    egress_fixture_close(&f);
}

static void a_response_that_breaks_off_does_not_look_complete(void **state)
{
    static const char *const rows[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        egress_fixture f;
        open_and_send(&f, GET "\r\n");
        egress_fixture_accept(&f);
        raw_peer_expect(&f.server, "\r\n\r\n");
        raw_peer_send_text(&f.server, rows[i]);
        raw_peer_half_close(&f.server);
        raw_peer_expect_end(&f.client);
        assert_null(strstr(arcp_buf_cstr(&f.client.received), "\r\n0\r\n"));
        assert_int_equal(arcp__egress_count(f.egress).failed, 1);
        egress_fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_denial_says_what_was_asked_for_and_what_is_granted),
        cmocka_unit_test(a_head_may_have_100_headers_and_64_kib),
        cmocka_unit_test(a_response_without_a_length_ends_with_its_connection),
        cmocka_unit_test(a_response_that_breaks_off_does_not_look_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows(passed_rows, sizeof passed_rows / sizeof passed_rows[0], sizeof passed_rows[0],
                    is_passed) +
           run_rows(refused_rows, sizeof refused_rows / sizeof refused_rows[0],
                    sizeof refused_rows[0], is_refused) +
           run_rows(answered_rows, sizeof answered_rows / sizeof answered_rows[0],
                    sizeof answered_rows[0], is_answered) +
           run_rows(wrong_rows, sizeof wrong_rows / sizeof wrong_rows[0], sizeof wrong_rows[0],
                    is_wrong);
}
