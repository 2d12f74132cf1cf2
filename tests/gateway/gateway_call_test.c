/* Requests at the gateway: which are refused and how, whose they are, and their limits. */
#include "gateway/gateway_fixture.h"

static void expect_status(gateway_fixture *f, const char *status)
{
    raw_peer_expect(&f->peer, "\r\n\r\n");
    if (memmem(f->peer.received.data, f->peer.received.size, status, strlen(status)) !=
        f->peer.received.data) {
        fail_msg("expected %s, got: %.*s", status, (int)f->peer.received.size,
                 f->peer.received.data);
    }
}

static void expect(gateway_fixture *f, const char *status, const char *body)
{
    expect_status(f, status);
    raw_peer_expect(&f->peer, body);
}

static void a_call_reaches_the_service_of_its_path_with_its_body(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    gateway_fixture_send(&f, "POST /v1/echo?beta=true", "", "hello");
    expect(&f, "HTTP/1.1 200 ", "\r\n\r\nhello");
    gateway_fixture_send(&f, "POST /s/echo", "", "tools");
    expect(&f, "HTTP/1.1 200 ", "\r\n\r\ntools");
    gateway_fixture_send(&f, "POST /v1/stream", "", "x");
    raw_peer_expect(&f.peer, "5\r\npiece\r\n5\r\npiece\r\n5\r\npiece\r\n0\r\n\r\n");
    assert_int_equal(arcp__gateway_count(f.gateway).calls, 3);
    gateway_fixture_close(&f);
}

/* ---- refusals ---- */

typedef struct refusal {
    const char *name;
    const char *request; /* HOST and KEY are replaced */
    const char *status, *body;
} refusal;

#define TO_ECHO "POST /v1/echo HTTP/1.1\r\n"
#define HELLO   "Content-Length: 5\r\n\r\nhello"

static const refusal refusals[] = {
    {"another Host", TO_ECHO "Host: evil.example\r\nAuthorization: Bearer KEY\r\n" HELLO,
     "HTTP/1.1 421 ", "\"code\":\"misdirected\""},
    {"the Host of a sandbox", TO_ECHO "Host: llm.arcp\r\nAuthorization: Bearer KEY\r\n" HELLO,
     "HTTP/1.1 421 ", "\"code\":\"misdirected\""},
    {"a page of a browser",
     TO_ECHO "Host: HOST\r\nOrigin: http://HOST\r\nAuthorization: Bearer KEY\r\n" HELLO,
     "HTTP/1.1 403 ", "\"code\":\"origin\""},
    {"a compressed body",
     TO_ECHO "Host: HOST\r\nContent-Encoding: gzip\r\nAuthorization: Bearer KEY\r\n" HELLO,
     "HTTP/1.1 415 ", "\"code\":\"content_encoding\""},
    {"an upgrade",
     "GET /v1/echo HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
     "Authorization: Bearer KEY\r\n\r\n",
     "HTTP/1.1 426 ", "\"code\":\"upgrade\""},
    {"no key", TO_ECHO "Host: HOST\r\n" HELLO, "HTTP/1.1 401 ", "there is no key"},
    {"a wrong key", TO_ECHO "Host: HOST\r\nAuthorization: Bearer KEYx\r\n" HELLO, "HTTP/1.1 401 ",
     "\"code\":\"unauthenticated\""},
    {"a wrong key in x-api-key", TO_ECHO "Host: HOST\r\nx-api-key: sk-arcp-x\r\n" HELLO,
     "HTTP/1.1 401 ", "\"code\":\"unauthenticated\""},
    {"the text of a sandbox", TO_ECHO "Host: HOST\r\nx-api-key: sk-arcp-job\r\n" HELLO,
     "HTTP/1.1 401 ", "\"code\":\"unauthenticated\""},
    {"another scheme", TO_ECHO "Host: HOST\r\nAuthorization: Basic KEY\r\n" HELLO, "HTTP/1.1 401 ",
     "no bearer key"},
    {"two keys that differ",
     TO_ECHO "Host: HOST\r\nAuthorization: Bearer KEY\r\nx-api-key: other\r\n" HELLO,
     "HTTP/1.1 401 ", "different keys"},
    {"a key twice", TO_ECHO "Host: HOST\r\nx-api-key: KEY\r\nx-api-key: KEY\r\n" HELLO,
     "HTTP/1.1 401 ", "repeated"},
    {"a path that no service has",
     "POST /v1/nothing HTTP/1.1\r\nHost: HOST\r\nx-api-key: KEY\r\n" HELLO, "HTTP/1.1 404 ",
     "\"code\":\"not_found\""},
    {"another method", "PUT /v1/echo HTTP/1.1\r\nHost: HOST\r\nx-api-key: KEY\r\n" HELLO,
     "HTTP/1.1 405 ", "not allowed"},
    {"a body on GET", "GET /v1/echo HTTP/1.1\r\nHost: HOST\r\nx-api-key: KEY\r\n" HELLO,
     "HTTP/1.1 400 ", "must not have a body"},
    {"two lengths", TO_ECHO "Host: HOST\r\nx-api-key: KEY\r\nTransfer-Encoding: chunked\r\n" HELLO,
     "HTTP/1.1 400 ", "not valid"},
};

/* `text` with HOST and KEY replaced. */
static void fill_in(const gateway_fixture *f, const char *text, arcp_buf *out)
{
    while (*text != '\0') {
        if (strncmp(text, "Host: HOST", 10) == 0) {
            arcp_buf_append_format(out, "Host: %s", arcp__gateway_address(f->gateway));
            text += 10;
        } else if (strncmp(text, "KEY", 3) == 0) {
            arcp_buf_append_cstr(out, f->endpoints[ARCP__GATEWAY_LLM].key);
            text += 3;
        } else {
            arcp_buf_append_byte(out, *text++);
        }
    }
    arcp_buf_append_byte(out, '\0');
}

static void check_refusal(void **state)
{
    const refusal *row = *state;
    gateway_fixture f;
    arcp_buf text = arcp_buf_init();
    gateway_fixture_open(&f, NULL);
    fill_in(&f, row->request, &text);
    gateway_fixture_send_raw(&f, text.data);
    expect(&f, row->status, row->body);
    assert_null(memmem(f.peer.received.data, f.peer.received.size, "WWW-Authenticate", 16));
    assert_int_equal(atomic_load(&f.held), 0);
    arcp_buf_fini(&text);
    gateway_fixture_close(&f);
}

static void keys_are_taken_from_both_headers_and_hosts_from_each_name_of_loopback(void **state)
{
    (void)state;
    static const char *const accepted[] = {
        TO_ECHO "Host: HOST\r\nAuthorization: bearer  KEY\r\n" HELLO,
        TO_ECHO "Host: HOST\r\nx-api-key: KEY\r\n" HELLO,
        TO_ECHO "Host: HOST\r\nAuthorization: Bearer KEY\r\nx-api-key: KEY\r\n" HELLO,
        TO_ECHO "Host: localhost\r\nx-api-key: KEY\r\n" HELLO,
        TO_ECHO "Host: HOST\r\nx-api-key: KEY\r\nContent-Encoding: identity\r\n" HELLO,
        TO_ECHO "Host: HOST\r\nx-api-key: KEY\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                "Upgrade: h2c\r\nHTTP2-Settings: \r\n" HELLO,
    };
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        arcp_buf text = arcp_buf_init();
        fill_in(&f, accepted[i], &text);
        gateway_fixture_send_raw(&f, text.data);
        expect(&f, "HTTP/1.1 200 ", "\r\n\r\nhello");
        arcp_buf_fini(&text);
    }
    gateway_fixture_send_raw(&f, "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect_status(&f, "HTTP/1.1 200 ");
    gateway_fixture_close(&f);
}

static void errors_have_the_form_that_the_client_reads(void **state)
{
    (void)state;
    static const struct {
        const char *line, *headers, *body;
    } rows[] = {
        {"POST /v1/chat/completions", "",
         "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"there is nothing at this "
         "path\",\"param\":null,\"code\":\"not_found\"}}"},
        {"POST /v1/messages", "",
         "{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"there is "
         "nothing at this path\"}}"},
        {"POST /v1/models", "anthropic-version: 2023-06-01\r\n", "{\"type\":\"error\","},
        {"POST /v1/messagesx", "", "{\"error\":{\"type\":\"invalid_request_error\","},
        {"POST /", "", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,"},
    };
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gateway_fixture_send(&f, rows[i].line, rows[i].headers, "x");
        expect(&f, "HTTP/1.1 404 ", rows[i].body);
        raw_peer_expect(&f.peer, "x-arcp-code: not_found\r\nx-should-retry: false\r\n");
        raw_peer_expect(&f.peer, "Content-Type: application/json\r\n");
    }
    gateway_fixture_close(&f);
}

static void a_client_that_waits_for_100_continue_gets_it(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    arcp_buf text = arcp_buf_init();
    fill_in(&f,
            TO_ECHO "Host: HOST\r\nx-api-key: KEY\r\nExpect: 100-continue\r\n"
                    "Content-Length: 5\r\n\r\n",
            &text);
    gateway_fixture_send_raw(&f, text.data);
    raw_peer_expect(&f.peer, "HTTP/1.1 100 Continue\r\n\r\n");
    gateway_fixture_send_raw(&f, "hello");
    expect(&f, "HTTP/1.1 200 ", "\r\n\r\nhello");
    arcp_buf_fini(&text);
    gateway_fixture_close(&f);
}

/* ---- limits ---- */

static void a_request_may_have_request_bytes_and_no_byte_more(void **state)
{
    (void)state;
    char body[102];
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    memset(body, 'b', sizeof body);
    body[100] = '\0';
    gateway_fixture_send(&f, "POST /v1/echo", "", body);
    expect(&f, "HTTP/1.1 200 ", body);
    body[100] = 'b';
    body[101] = '\0';
    gateway_fixture_send(&f, "POST /v1/echo", "", body);
    expect(&f, "HTTP/1.1 413 ", "\"code\":\"request_bytes\"");
    gateway_fixture_reconnect(&f);
    arcp_buf text = arcp_buf_init();
    fill_in(&f, TO_ECHO "Host: HOST\r\nx-api-key: KEY\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n",
            &text);
    gateway_fixture_send_raw(&f, text.data);
    raw_peer_send_text(&f.peer, body);
    expect(&f, "HTTP/1.1 413 ", "\"code\":\"request_bytes\"");
    arcp_buf_fini(&text);
    gateway_fixture_close(&f);
}

static void requests_of_all_jobs_together_have_buffer_bytes(void **state)
{
    (void)state;
    char body[101];
    gateway_fixture f;
    raw_peer other;
    gateway_fixture_open(&f, NULL);
    memset(body, 'b', sizeof body - 1);
    body[100] = '\0';
    gateway_fixture_send(&f, "POST /v1/hold", "", body); /* 100 of 150 bytes */
    run_until(&f.test, atomic_load(&f.held) == 1);
    other = f.peer;
    raw_peer_connect(&f.peer, &f.test, f.url);
    body[51] = '\0';
    gateway_fixture_send(&f, "POST /v1/echo", "", body);
    expect(&f, "HTTP/1.1 503 ", "\"code\":\"buffers\"");
    gateway_fixture_reconnect(&f);
    body[50] = '\0';
    gateway_fixture_send(&f, "POST /v1/echo", "", body);
    expect(&f, "HTTP/1.1 200 ", body);
    raw_peer_fini(&other); /* the call of its client ends, and its bytes are free again */
    run_until(&f.test, f.delivered == 1);
    body[50] = 'b';
    gateway_fixture_send(&f, "POST /v1/echo", "", body);
    expect(&f, "HTTP/1.1 200 ", body);
    gateway_fixture_close(&f);
}

static void a_job_has_16_times_calls_per_job_calls_at_once(void **state)
{
    (void)state;
    enum { MOST = 16 };
    gateway_fixture f;
    raw_peer peers[MOST];
    gateway_fixture_open(&f, NULL);
    for (size_t i = 0; i < MOST; i++) {
        gateway_fixture_send(&f, "POST /v1/hold", "", "x");
        peers[i] = f.peer;
        raw_peer_connect(&f.peer, &f.test, f.url);
    }
    run_until(&f.test, atomic_load(&f.held) == MOST);
    gateway_fixture_send(&f, "POST /v1/echo", "", "x");
    expect(&f, "HTTP/1.1 429 ", "\"code\":\"too_many_calls\"");
    raw_peer_expect(&f.peer, "retry-after: 5\r\n");
    raw_peer_fini(&peers[0]);
    run_until(&f.test, f.delivered == 1);
    gateway_fixture_reconnect(&f);
    gateway_fixture_send(&f, "POST /v1/echo", "", "x");
    expect_status(&f, "HTTP/1.1 200 ");
    for (size_t i = 1; i < MOST; i++) {
        raw_peer_fini(&peers[i]);
    }
    gateway_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_reaches_the_service_of_its_path_with_its_body),
        cmocka_unit_test(keys_are_taken_from_both_headers_and_hosts_from_each_name_of_loopback),
        cmocka_unit_test(errors_have_the_form_that_the_client_reads),
        cmocka_unit_test(a_client_that_waits_for_100_continue_gets_it),
        cmocka_unit_test(a_request_may_have_request_bytes_and_no_byte_more),
        cmocka_unit_test(requests_of_all_jobs_together_have_buffer_bytes),
        cmocka_unit_test(a_job_has_16_times_calls_per_job_calls_at_once),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_rows(refusals, sizeof refusals / sizeof refusals[0], sizeof refusals[0],
                             check_refusal);
}
