/* Bodies, in one piece and in several, at and above each limit. */
#include "support/check.h"

#include "web/feed.h"

#define CHUNKED "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
#define LENGTH  "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"
#define OPEN    "HTTP/1.0 200 OK\r\n\r\n"

typedef struct reading {
    arcp__web_result result;
    arcp_buf data;
    size_t rest;
    bool ends;
} reading;

static void begin(arcp__web_body *body, const char *text, bool answers_head, uint64_t bytes_max)
{
    arcp__web_head head;
    arcp_span input = arcp_span_cstr(text);
    arcp__web_head_init(&head, *text == 'H' ? ARCP__WEB_RESPONSE : ARCP__WEB_REQUEST, 1024);
    assert_int_equal(arcp__web_head_feed(&head, &input), ARCP__WEB_COMPLETE);
    arcp__web_body_init(body, &head, answers_head, bytes_max);
    arcp__web_head_fini(&head);
}

static void read_body(reading *out, const char *head, arcp_span bytes, size_t size,
                      uint64_t bytes_max)
{
    arcp__web_body body;
    arcp_span rest;
    *out = (reading){.data = arcp_buf_init()};
    begin(&body, head, false, bytes_max);
    out->result = web_feed_body(&body, bytes, size, &out->data, &rest);
    out->rest = rest.size;
    out->ends = arcp__web_body_ends(&body);
}

static const size_t sizes[] = {100000, 1, 3};

static void bodies_are_read_as_their_heads_announce(void **state)
{
    static const struct {
        const char *head, *bytes, *data;
        arcp__web_result result;
        size_t rest;
        bool ends;
    } rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", "GET /", "", ARCP__WEB_COMPLETE, 5, true},
        {"HTTP/1.1 204 No\r\n\r\n", "x", "", ARCP__WEB_COMPLETE, 1, true},
        {LENGTH, "hello", "hello", ARCP__WEB_COMPLETE, 0, true},
        {LENGTH, "helloGET", "hello", ARCP__WEB_COMPLETE, 3, true},
        {LENGTH, "hell", "hell", ARCP__WEB_MORE, 0, false},
        {LENGTH, "", "", ARCP__WEB_MORE, 0, false},
        {OPEN, "until it ends", "until it ends", ARCP__WEB_MORE, 0, true},
        {CHUNKED, "0\r\n\r\n", "", ARCP__WEB_COMPLETE, 0, true},
        {CHUNKED, "5\r\nhello\r\n0\r\n\r\nGET", "hello", ARCP__WEB_COMPLETE, 3, true},
        {CHUNKED, "1\r\nh\r\n00a\r\n0123456789\r\n0\r\n\r\n", "h0123456789", ARCP__WEB_COMPLETE, 0,
         true},
        {CHUNKED, "B\r\n\r\n0\r\n\r\nabcd\r\n000\r\n\r\n", "\r\n0\r\n\r\nabcd", ARCP__WEB_COMPLETE,
         0, true},
        {CHUNKED, "2;a=\"b\";c\r\nhi\r\n0;x\r\nA: b\r\nC:\td\r\n\r\n", "hi", ARCP__WEB_COMPLETE, 0,
         true},
        {CHUNKED, "5\r\nhello\r\n0\r\n\r", "hello", ARCP__WEB_MORE, 0, false},
        {CHUNKED, "5\r\nhello\r\n", "hello", ARCP__WEB_MORE, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * 3; i++) {
        reading got;
        read_body(&got, rows[i / 3].head, arcp_span_cstr(rows[i / 3].bytes), sizes[i % 3], 64);
        if (got.result != rows[i / 3].result || got.rest != rows[i / 3].rest ||
            got.ends != rows[i / 3].ends ||
            !arcp_span_equal_cstr(arcp_buf_span(&got.data), rows[i / 3].data)) {
            fail_msg("in pieces of %zu: %s%s", sizes[i % 3], rows[i / 3].head, rows[i / 3].bytes);
        }
        arcp_buf_fini(&got.data);
    }
}

static void ambiguous_bodies_are_invalid(void **state)
{
    static const char *const rows[] = {
        "\r\n",
        ";a\r\n",
        "5\nhello\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello0\r",
        "5\r\nhell\r\n",
        " 5\r\nhello\r\n",
        "5 \r\nhello\r\n",
        "+5\r\nhello",
        "-1\r\n",
        "0x5\r\nhello\r\n",
        "g\r\n",
        "5\rhello",
        "5;a\rb\r\n",
        "5;a\nb\r\n",
        "0\r\n\n",
        "0\r\nA: b\n\r\n",
        "0\r\nA\rb\r\n\r\n",
        "0\r\n\r\r\n",
        "00000000000000001\r\n",
        "0\r\nA: \x01\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] * 3; i++) {
        reading got;
        read_body(&got, CHUNKED, arcp_span_cstr(rows[i / 3]), sizes[i % 3], 64);
        if (got.result != ARCP__WEB_INVALID) {
            fail_msg("in pieces of %zu, \"%s\" was accepted", sizes[i % 3], rows[i / 3]);
        }
        assert_false(got.ends);
        arcp_buf_fini(&got.data);
    }
    reading got;
    read_body(&got, "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
              ARCP_SPAN_LITERAL("0\r\n\r\n"), 100, 64);
    assert_int_equal(got.result, ARCP__WEB_INVALID);
    arcp_buf_fini(&got.data);
}

static void expect_limit(const char *head, const char *bytes, uint64_t size)
{
    for (size_t i = 0; i < 3; i++) {
        reading got;
        read_body(&got, head, arcp_span_cstr(bytes), sizes[i], size);
        assert_int_not_equal(got.result, ARCP__WEB_TOO_BIG);
        assert_int_equal(got.data.size, size);
        arcp_buf_fini(&got.data);
        read_body(&got, head, arcp_span_cstr(bytes), sizes[i], size - 1);
        assert_int_equal(got.result, ARCP__WEB_TOO_BIG);
        assert_true(got.data.size < size);
        arcp_buf_fini(&got.data);
    }
}

static void a_body_may_have_the_maximum_size(void **state)
{
    expect_limit(LENGTH, "hello", 5);
    expect_limit(OPEN, "hello", 5);
    expect_limit(CHUNKED, "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 5);
    reading got;
    read_body(&got, CHUNKED, ARCP_SPAN_LITERAL("ffffffffffffffff\r\n"), 1, UINT64_MAX - 1);
    assert_int_equal(got.result, ARCP__WEB_TOO_BIG);
    arcp_buf_fini(&got.data);
    /* A length is refused before any byte of the body was received. */
    read_body(&got, LENGTH, arcp_span_make(NULL, 0), 1, 4);
    assert_int_equal(got.result, ARCP__WEB_TOO_BIG);
    arcp_buf_fini(&got.data);
}

static arcp__web_result read_filled(const char *before, size_t count, const char *after)
{
    arcp_buf text = arcp_buf_init();
    reading got;
    arcp_buf_append_cstr(&text, before);
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_byte(&text, 'x');
    }
    arcp_buf_append_cstr(&text, after);
    read_body(&got, CHUNKED, arcp_buf_span(&text), 7, 64);
    arcp_buf_fini(&got.data);
    arcp_buf_fini(&text);
    return got.result;
}

static void extensions_and_trailers_have_limits(void **state)
{
    const size_t line = ARCP__WEB_CHUNK_LINE_MAX - strlen("0;\r\n");
    assert_int_equal(read_filled("0;", line, "\r\n\r\n"), ARCP__WEB_COMPLETE);
    assert_int_equal(read_filled("0;", line + 1, "\r\n\r\n"), ARCP__WEB_TOO_BIG);
    const size_t trailers = ARCP__WEB_TRAILERS_MAX - strlen("\r\n\r\n");
    assert_int_equal(read_filled("0\r\n", trailers, "\r\n\r\n"), ARCP__WEB_COMPLETE);
    assert_int_equal(read_filled("0\r\n", trailers + 1, "\r\n\r\n"), ARCP__WEB_TOO_BIG);
}

static void a_response_to_head_has_no_body(void **state)
{
    static const char *const heads[] = {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", OPEN,
                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"};
    for (size_t i = 0; i < 3; i++) {
        arcp__web_body body;
        arcp_span input = ARCP_SPAN_LITERAL("HTTP/1.1");
        arcp_span piece;
        begin(&body, heads[i], true, 4);
        assert_int_equal(arcp__web_body_feed(&body, &input, &piece), ARCP__WEB_COMPLETE);
        assert_int_equal(piece.size, 0);
        assert_int_equal(input.size, 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_read_as_their_heads_announce),
        cmocka_unit_test(ambiguous_bodies_are_invalid),
        cmocka_unit_test(a_body_may_have_the_maximum_size),
        cmocka_unit_test(extensions_and_trailers_have_limits),
        cmocka_unit_test(a_response_to_head_has_no_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
