/* Heads of requests and responses, read in one piece and in several, at and above each limit; and
 * formatted responses. */
#include "support/check.h"

#include "web/feed.h"
#include "web/head.h"

#define REQUEST "GET /arcp HTTP/1.1\r\nHost: localhost:7777\r\nUpgrade: websocket\r\n\r\n"

static const size_t pieces[] = {100000, 1, 7};

/* ---- validity and limits ---- */

static void input_other_than_http_is_invalid(void **state)
{
    static const char *const rows[] = {
        "\x16\x03\x01\x02", /* a TLS hello */
        "hello\r\n",
        "GET\r\n",
        "GET /arcp SIP/2.0\r\n",
        "GET /arcp HTTP/2.0 \r\n",
        "GET /arcp HTTP/1.1\r\nno colon\r\n\r\n",
        "GET /arcp HTTP/1.1\nHost: a\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nHost: a\nB: c\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nHost: a\r\n\n",
        "GET /arcp HTTP/1.1\r\nOrigin : http://evil.example\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nOri gin: http://evil.example\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nX: a\r\n\tOrigin: b\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nA: b\rc\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nA:\rXHost: a\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nHost: a\r\n\rX",
        "GET /arcp HTTP/1.1\r\nHost: a\x01\r\n\r\n",
        "GET /arcp HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "POST /a HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        "POST /a HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
        "POST /a HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        "{\"arcp\":\"1.1\",\"type\":\"session.hello\"}\n",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * 3; i++) {
        arcp__web_head head;
        arcp_span rest;
        arcp__web_head_init(&head, ARCP__WEB_REQUEST, 16384);
        if (web_feed_head(&head, arcp_span_cstr(rows[i / 3]), pieces[i % 3], &rest) !=
            ARCP__WEB_INVALID) {
            fail_msg("in pieces of %zu, \"%s\" was accepted", pieces[i % 3], rows[i / 3]);
        }
        arcp__web_head_fini(&head);
    }
}

static void a_head_may_have_the_maximum_size(void **state)
{
    const char *text = REQUEST;
    const size_t size = strlen(text);
    for (size_t i = 0; i < 3; i++) {
        arcp__web_head head;
        arcp_span rest;
        arcp__web_head_init(&head, ARCP__WEB_REQUEST, size);
        assert_int_equal(web_feed_head(&head, arcp_span_cstr(text), pieces[i], &rest),
                         ARCP__WEB_COMPLETE);
        arcp__web_head_fini(&head);
        arcp__web_head_init(&head, ARCP__WEB_REQUEST, size - 1);
        assert_int_equal(web_feed_head(&head, arcp_span_cstr(text), pieces[i], &rest),
                         ARCP__WEB_TOO_BIG);
        arcp__web_head_fini(&head);
    }
}

static arcp__web_result feed_headers(int count)
{
    arcp_buf text = arcp_buf_init();
    arcp__web_head head;
    arcp_span rest;
    arcp_buf_append_cstr(&text, "GET /arcp HTTP/1.1\r\n");
    for (int i = 0; i < count; i++) {
        arcp_buf_append_format(&text, "X-%d: %d\r\n", i, i);
    }
    arcp_buf_append_cstr(&text, "\r\n");
    arcp__web_head_init(&head, ARCP__WEB_REQUEST, 16384);
    const arcp__web_result result = web_feed_head(&head, arcp_buf_span(&text), 7, &rest);
    arcp__web_head_fini(&head);
    arcp_buf_fini(&text);
    return result;
}

static void a_head_may_have_the_maximum_number_of_headers(void **state)
{
    assert_int_equal(feed_headers(ARCP__WEB_HEADERS_MAX), ARCP__WEB_COMPLETE);
    assert_int_equal(feed_headers(ARCP__WEB_HEADERS_MAX + 1), ARCP__WEB_TOO_BIG);
}

static void bytes_after_the_head_are_not_read(void **state)
{
    arcp__web_head head;
    arcp_span rest;
    arcp__web_head_init(&head, ARCP__WEB_REQUEST, 16384);
    assert_int_equal(web_feed_head(&head, ARCP_SPAN_LITERAL(REQUEST "\x81\x85...."), 100000, &rest),
                     ARCP__WEB_COMPLETE);
    check_span(rest, "\x81\x85....");
    arcp__web_head_fini(&head);
}

/* ---- meaning ---- */

/* One after the other, as on a persistent connection. */
static bool is_read(arcp__web_head *head, const char *text, size_t piece)
{
    arcp_span rest;
    arcp__web_head_reset(head);
    return web_feed_head(head, arcp_span_cstr(text), piece, &rest) == ARCP__WEB_COMPLETE;
}

static void a_request_has_its_target_and_framing(void **state)
{
    static const struct {
        const char *text;
        const char *path;
        arcp__web_method method;
        uint16_t minor;
        bool keeps_alive;
        arcp__web_framing framing;
    } rows[] = {
        {"GET /a HTTP/1.1\r\n\r\n", "/a", ARCP__WEB_GET, 1, true, ARCP__WEB_NO_BODY},
        {"HEAD /a?b=/c?d HTTP/1.1\r\n\r\n", "/a", ARCP__WEB_HEAD, 1, true, ARCP__WEB_NO_BODY},
        {"PUT /? HTTP/1.1\r\n\r\n", "/", ARCP__WEB_OTHER_METHOD, 1, true, ARCP__WEB_NO_BODY},
        {"GET /a HTTP/1.0\r\n\r\n", "/a", ARCP__WEB_GET, 0, false, ARCP__WEB_NO_BODY},
        {"GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "/a", ARCP__WEB_GET, 0, true,
         ARCP__WEB_NO_BODY},
        {"GET /a HTTP/1.1\r\nConnection: x, Close\r\n\r\n", "/a", ARCP__WEB_GET, 1, false,
         ARCP__WEB_NO_BODY},
        {"POST /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "/a", ARCP__WEB_OTHER_METHOD, 1, true,
         ARCP__WEB_NO_BODY},
        {"POST /a HTTP/1.1\r\nContent-Length: 1\r\n\r\n", "/a", ARCP__WEB_OTHER_METHOD, 1, true,
         ARCP__WEB_BY_LENGTH},
        {"GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "/a", ARCP__WEB_GET, 1, true,
         ARCP__WEB_CHUNKED},
        {"GET /a HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "/a", ARCP__WEB_GET, 1, true,
         ARCP__WEB_OTHER_CODING},
        {"POST /a HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "/a",
         ARCP__WEB_OTHER_METHOD, 1, true, ARCP__WEB_OTHER_CODING},
        {"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
         "/a", ARCP__WEB_OTHER_METHOD, 1, true, ARCP__WEB_OTHER_CODING},
    };
    arcp__web_head head;
    arcp__web_head_init(&head, ARCP__WEB_REQUEST, 16384);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * 3; i++) {
        if (!is_read(&head, rows[i / 3].text, pieces[i % 3]) || head.method != rows[i / 3].method ||
            head.major != 1 || head.minor != rows[i / 3].minor ||
            head.keeps_alive != rows[i / 3].keeps_alive || head.framing != rows[i / 3].framing ||
            !arcp_span_equal_cstr(arcp__web_head_path(&head), rows[i / 3].path)) {
            fail_msg("in pieces of %zu: %s", pieces[i % 3], rows[i / 3].text);
        }
    }
    arcp__web_head_fini(&head);
}

static void a_response_has_its_status_and_whether_the_connection_is_kept(void **state)
{
    static const struct {
        const char *text;
        const char *line;
        unsigned status;
        bool keeps_alive;
        arcp__web_framing framing;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "OK", 200, true, ARCP__WEB_BY_LENGTH},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "OK", 200, true,
         ARCP__WEB_CHUNKED},
        {"HTTP/1.1 200 OK\r\n\r\n", "OK", 200, false,
         ARCP__WEB_UNTIL_END}, /* its body ends with the connection */
        {"HTTP/1.1 204 No Content\r\n\r\n", "No Content", 204, true, ARCP__WEB_NO_BODY},
        {"HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", "Same", 304, true, ARCP__WEB_NO_BODY},
        {"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "Busy", 503, false,
         ARCP__WEB_NO_BODY},
        {"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n", "OK", 200, false, ARCP__WEB_BY_LENGTH},
    };
    arcp__web_head head;
    arcp__web_head_init(&head, ARCP__WEB_RESPONSE, 16384);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * 3; i++) {
        if (!is_read(&head, rows[i / 3].text, pieces[i % 3]) || head.status != rows[i / 3].status ||
            head.keeps_alive != rows[i / 3].keeps_alive || head.framing != rows[i / 3].framing ||
            !arcp_span_equal_cstr(arcp__web_head_line(&head), rows[i / 3].line)) {
            fail_msg("in pieces of %zu: %s", pieces[i % 3], rows[i / 3].text);
        }
    }
    arcp__web_head_fini(&head);
}

static void a_reset_keeps_only_the_limits(void **state)
{
    arcp__web_head head;
    arcp_span rest;
    arcp_span value;
    const size_t size = strlen(REQUEST);
    arcp__web_head_init(&head, ARCP__WEB_REQUEST, size);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(web_feed_head(&head, ARCP_SPAN_LITERAL(REQUEST), 7, &rest),
                         ARCP__WEB_COMPLETE);
        assert_int_equal(arcp__web_head_find(&head, "Host", &value), 1);
        check_span(value, "localhost:7777");
        arcp__web_head_reset(&head);
    }
    assert_int_equal(web_feed_head(&head, ARCP_SPAN_LITERAL("GET / HTTP/1.1\r\n\r\n"), 7, &rest),
                     ARCP__WEB_COMPLETE);
    assert_int_equal(arcp__web_head_find(&head, "Host", &value), 0);
    arcp__web_head_reset(&head);
    assert_int_equal(
        web_feed_head(&head, ARCP_SPAN_LITERAL("GET /longer HTTP/1.1\nHost: a\r\n\r\n"), 7, &rest),
        ARCP__WEB_INVALID);
    arcp__web_head_reset(&head);
    assert_int_equal(web_feed_head(&head, ARCP_SPAN_LITERAL("GET /1" REQUEST), 100000, &rest),
                     ARCP__WEB_INVALID);
    arcp__web_head_reset(&head);
    assert_int_equal(
        web_feed_head(&head, ARCP_SPAN_LITERAL("GET /1 HTTP/1.1\r\nX: 1\r\n" REQUEST), 1, &rest),
        ARCP__WEB_INVALID);
    arcp__web_head_reset(&head);
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "GET / HTTP/1.1\r\nX: ");
    while (text.size < size - 3) { /* with its end, one byte above the limit */
        arcp_buf_append_byte(&text, 'x');
    }
    arcp_buf_append_cstr(&text, "\r\n\r\n");
    assert_int_equal(web_feed_head(&head, arcp_buf_span(&text), 1, &rest), ARCP__WEB_TOO_BIG);
    arcp_buf_fini(&text);
    arcp__web_head_fini(&head);
}

/* ---- responses ---- */

static void a_response_is_formatted(void **state)
{
    static const struct {
        arcp__web_response response;
        arcp__web_method method;
        bool keeps_alive;
        const char *text;
    } rows[] = {
        {{.status = 200, .body = {"ok\n", 3}},
         ARCP__WEB_GET,
         true,
         "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
         "Connection: keep-alive\r\n\r\nok\n"},
        {{.status = 405, .type = "a/b", .allow = "GET, HEAD", .why = "no", .headers = "A: b\r\n"},
         ARCP__WEB_OTHER_METHOD,
         false,
         "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: a/b\r\nContent-Length: 3\r\n"
         "Allow: GET, HEAD\r\nA: b\r\nConnection: close\r\n\r\nno\n"},
        {{.status = 404, .body = {"gone", 4}},
         ARCP__WEB_HEAD,
         false,
         "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
         "Content-Length: 4\r\nConnection: close\r\n\r\n"},
        {{.status = 200, .type = "text/event-stream", .is_streamed = true},
         ARCP__WEB_GET,
         true,
         "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
         "Connection: keep-alive\r\n\r\n"},
        {{.status = 426, .headers = "Upgrade: websocket\r\n"},
         ARCP__WEB_GET,
         false,
         "HTTP/1.1 426 Upgrade Required\r\nContent-Type: text/plain; charset=utf-8\r\n"
         "Content-Length: 0\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_buf out = arcp_buf_init();
        arcp__web_head head;
        arcp_span rest;
        const arcp__web_head request = {.method = rows[i].method, .minor = 1};
        arcp__web_respond(&rows[i].response, &request, rows[i].keeps_alive, &out);
        check_span(arcp_buf_span(&out), rows[i].text);
        /* The library's reader accepts it. */
        arcp__web_head_init(&head, ARCP__WEB_RESPONSE, out.size);
        assert_int_equal(web_feed_head(&head, arcp_buf_span(&out), 1, &rest), ARCP__WEB_COMPLETE);
        assert_int_equal(head.status, rows[i].response.status);
        assert_int_equal(head.keeps_alive, rows[i].keeps_alive);
        const size_t size = rows[i].response.body.size + (rows[i].response.why == NULL ? 0 : 3);
        assert_int_equal(rest.size, rows[i].method == ARCP__WEB_HEAD ? 0 : size);
        arcp__web_head_fini(&head);
        arcp_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_other_than_http_is_invalid),
        cmocka_unit_test(a_head_may_have_the_maximum_size),
        cmocka_unit_test(a_head_may_have_the_maximum_number_of_headers),
        cmocka_unit_test(bytes_after_the_head_are_not_read),
        cmocka_unit_test(a_request_has_its_target_and_framing),
        cmocka_unit_test(a_response_has_its_status_and_whether_the_connection_is_kept),
        cmocka_unit_test(a_reset_keeps_only_the_limits),
        cmocka_unit_test(a_response_is_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
