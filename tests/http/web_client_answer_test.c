/* What the HTTP client sends, and what it makes of whole responses. */
#include "http/web_rig.h"

#include "support/check.h"

#include <dlfcn.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static void assert_text(const char *expected, const arcp_buf *actual)
{
    assert_int_equal(strlen(expected), actual->size);
    assert_memory_equal(expected, actual->data, actual->size);
}

static const peer_answer short_answer = {OK_HEAD "Content-Length: 2\r\n\r\nhi", 0, false, false,
                                         PEER_KEEPS};

static void a_request_has_the_callers_headers_and_few_of_the_client(void **state)
{
    web_rig rig;
    rig_call call = {.ends = 0};
    char expected[512];
    (void)state;
    rig_start(&rig, &short_answer, 1);
    rig_post(&rig, &call);
    rig_until_end(&rig, &call);
    (void)snprintf(expected, sizeof expected,
                   "POST /v1/x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAccept: */*\r\n"
                   "Accept-Encoding: identity\r\nContent-Type: application/json\r\n"
                   "Authorization: Bearer k\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
                   rig.peer.port);
    assert_text(expected, &rig.peer.received);
    assert_int_equal(ARCP__WEB_DONE, call.end.outcome);
    assert_null(call.end.problem);
    assert_text("hi", &call.body);
    rig_stop(&rig);
    rig_call_fini(&call);
}

typedef struct whole {
    const char *name;
    peer_answer answer;
    unsigned status;
    const char *fields;
    const char *body;
    uint64_t retry_after_sec;
} whole;

static const whole wholes[] = {
    {"by length",
     {OK_HEAD "Content-Length: 2\r\nX-A:  b \r\n\r\nhi", 0, false, false, PEER_KEEPS},
     200,
     "X-A: b\n",
     "hi",
     0},
    {"in chunks of a byte, byte by byte",
     {OK_HEAD "Transfer-Encoding: chunked\r\nContent-Type: t\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\nT: "
              "1\r\n\r\n",
      0, true, false, PEER_KEEPS},
     200,
     "Content-Type: t\n",
     "ab",
     0},
    {"until the connection ends",
     {OK_HEAD "\r\nall", 0, false, false, PEER_CLOSES},
     200,
     "",
     "all",
     0},
    {"without a body",
     {"HTTP/1.1 204 No Content\r\n\r\n", 0, false, false, PEER_KEEPS},
     204,
     "",
     "",
     0},
    {"an empty body",
     {OK_HEAD "Content-Length: 0\r\n\r\n", 0, false, false, PEER_KEEPS},
     200,
     "",
     "",
     0},
    {"compressed all the same",
     {OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 31\r\nA: b\r\n\r\n"
              "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x2a\x2d\x4e\x4c\x4f\x55\xb2\x32\xac"
              "\x05\x00\x11\x2a\x0b\xc7\x0b\x00\x00\x00",
      sizeof(OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 31\r\nA: b\r\n\r\n") - 1 + 31,
      false, false, PEER_KEEPS},
     200,
     "A: b\n",
     "{\"usage\":1}",
     0},
    {"compressed, byte by byte",
     {OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 31\r\nA: b\r\n\r\n"
              "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x2a\x2d\x4e\x4c\x4f\x55\xb2\x32\xac"
              "\x05\x00\x11\x2a\x0b\xc7\x0b\x00\x00\x00",
      sizeof(OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 31\r\nA: b\r\n\r\n") - 1 + 31, true,
      false, PEER_KEEPS},
     200,
     "A: b\n",
     "{\"usage\":1}",
     0},
    {"a redirect is not followed",
     {"HTTP/1.1 307 T\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 0, false,
      false, PEER_KEEPS},
     307,
     "Location: http://127.0.0.1:1/\n",
     "",
     0},
    {"after informational responses",
     {"HTTP/1.1 100 Continue\r\nI: 1\r\n\r\nHTTP/1.1 103 Early\r\nI: 2\r\n\r\n" OK_HEAD
      "A: b\r\nContent-Length: 1\r\n\r\nx",
      0, false, false, PEER_KEEPS},
     200,
     "A: b\n",
     "x",
     0},
    {"an error with the time to wait",
     {"HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 1\r\n\r\nx", 0, false, false,
      PEER_KEEPS},
     429,
     "Retry-After: 7\n",
     "x",
     7},
    {"by HTTP/1.0",
     {"HTTP/1.0 200 OK\r\nA: b\r\n\r\nold", 0, false, false, PEER_CLOSES},
     200,
     "A: b\n",
     "old",
     0},
    {"before the body of the request was read",
     {"HTTP/1.1 413 Big\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx", 0, false, true,
      PEER_CLOSES},
     413,
     "",
     "x",
     0},
};

static void a_whole_response_is_passed_on(void **state)
{
    const whole *row = *state;
    web_rig rig;
    rig_call call = {.ends = 0};
    rig_start(&rig, &row->answer, 1);
    rig_post(&rig, &call);
    rig_until_end(&rig, &call);
    assert_int_equal(ARCP__WEB_DONE, call.end.outcome);
    assert_int_equal(1, call.heads);
    assert_int_equal(row->status, call.status);
    assert_int_equal(row->retry_after_sec, call.retry_after_sec);
    assert_text(row->fields, &call.fields);
    assert_text(row->body, &call.body);
    assert_int_equal(1, rig.peer.requests);
    rig_stop(&rig);
    rig_call_fini(&call);
}

static void a_large_body_arrives_whole(void **state)
{
    static char big[3000000];
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    for (size_t i = 0; i < sizeof big; i++) {
        big[i] = (char)('a' + i * 7 % 26);
    }
    rig_start(&rig, &short_answer, 1);
    const arcp__web_client_request request =
        rig_request(&rig, &call, arcp_span_make(big, sizeof big));
    rig_send(&rig, &call, &request);
    rig_until_end(&rig, &call);
    const char *body = strstr(arcp_buf_cstr(&rig.peer.received), "\r\n\r\n") + 4;
    assert_int_equal(sizeof big, rig.peer.received.size - (size_t)(body - rig.peer.received.data));
    assert_memory_equal(big, body, sizeof big);
    rig_stop(&rig);
    rig_call_fini(&call);
}

static void calls_one_after_the_other_use_one_connection(void **state)
{
    web_rig rig;
    rig_call calls[3] = {{.ends = 0}};
    (void)state;
    rig_start(&rig, &short_answer, 1);
    for (size_t i = 0; i < 3; i++) {
        rig_post(&rig, &calls[i]);
        rig_until_end(&rig, &calls[i]);
        assert_int_equal(ARCP__WEB_DONE, calls[i].end.outcome);
        rig_call_fini(&calls[i]);
    }
    assert_int_equal(1, rig.peer.connections);
    rig_stop(&rig);
}

static void without_kept_connections_each_call_has_its_own(void **state)
{
    const arcp__web_client_options options = {.keeps_connections = false};
    web_rig rig;
    rig_call calls[2] = {{.ends = 0}};
    (void)state;
    rig_start_with(&rig, &short_answer, 1, &options);
    for (size_t i = 0; i < 2; i++) {
        rig_post(&rig, &calls[i]);
        rig_until_end(&rig, &calls[i]);
        rig_call_fini(&calls[i]);
    }
    assert_int_equal(2, rig.peer.connections);
    rig_stop(&rig);
}

static void a_call_above_the_limit_of_connections_waits(void **state)
{
    const arcp__web_client_options options = {.connections = 1, .keeps_connections = true};
    web_rig rig;
    rig_call calls[2] = {{.ends = 0}};
    (void)state;
    rig_start_with(&rig, &short_answer, 1, &options);
    rig_post(&rig, &calls[0]);
    rig_post(&rig, &calls[1]);
    rig_until_end(&rig, &calls[0]);
    rig_until_end(&rig, &calls[1]);
    assert_int_equal(ARCP__WEB_DONE, calls[1].end.outcome);
    assert_int_equal(1, rig.peer.connections);
    rig_stop(&rig);
    rig_call_fini(&calls[0]);
    rig_call_fini(&calls[1]);
}

static void the_user_agent_is_the_callers_or_that_of_the_options(void **state)
{
    static const char own[] = "User-Agent: sdk/1";
    const arcp__web_client_options options = {.user_agent = "arcpd", .keeps_connections = true};
    web_rig rig;
    rig_call calls[2] = {{.ends = 0}};
    (void)state;
    rig_start_with(&rig, &short_answer, 1, &options);
    rig_post(&rig, &calls[0]);
    rig_until_end(&rig, &calls[0]);
    assert_non_null(strstr(arcp_buf_cstr(&rig.peer.received), "User-Agent: arcpd\r\n"));
    arcp_buf_clear(&rig.peer.received);
    arcp__web_client_request request = rig_request(&rig, &calls[1], arcp_span_make(NULL, 0));
    request.headers = arcp_span_make(own, sizeof own);
    rig_send(&rig, &calls[1], &request);
    rig_until_end(&rig, &calls[1]);
    const char *received = arcp_buf_cstr(&rig.peer.received);
    assert_non_null(strstr(received, "User-Agent: sdk/1\r\n"));
    assert_non_null(strstr(received, "Content-Length: 0\r\n"));
    assert_null(strstr(received, "arcpd"));
    rig_stop(&rig);
    rig_call_fini(&calls[0]);
    rig_call_fini(&calls[1]);
}

static void a_head_request_has_a_response_without_a_body(void **state)
{
    static const peer_answer answer = {OK_HEAD "Content-Length: 9\r\nA: b\r\n\r\n", 0, false, false,
                                       PEER_KEEPS};
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &answer, 1);
    arcp__web_client_request request = rig_request(&rig, &call, arcp_span_make(NULL, 0));
    request.method = "HEAD";
    rig_send(&rig, &call, &request);
    rig_until_end(&rig, &call);
    assert_int_equal(ARCP__WEB_DONE, call.end.outcome);
    assert_text("A: b\n", &call.fields);
    assert_int_equal(0, call.pieces);
    rig_stop(&rig);
    rig_call_fini(&call);
}

typedef struct bad_headers {
    const char *name;
    const char *text;
    size_t size;
} bad_headers;

static const bad_headers bad[] = {
    {"a line feed", "A: b\nC: d", sizeof "A: b\nC: d"},
    {"a carriage return", "A: b\rC", sizeof "A: b\rC"},
    {"a delete", "A: \x7f", sizeof "A: \x7f"},
    {"without its end", "A: b", 4},
};

static void headers_with_control_characters_are_refused(void **state)
{
    const bad_headers *row = *state;
    web_rig rig;
    rig_call call = {.ends = 0};
    arcp_error err = {.status = ARCP_OK};
    rig_start(&rig, &short_answer, 1);
    arcp__web_client_request request = rig_request(&rig, &call, arcp_span_make(NULL, 0));
    request.headers = arcp_span_make(row->text, row->size);
    assert_int_equal(ARCP_E_USAGE, rig.ops->send(rig.client, &request, &call.call, &err));
    rig_stop(&rig);
    assert_int_equal(0, rig.peer.connections);
    assert_int_equal(0, call.ends);
}

static void the_module_has_the_table(void **state)
{
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    void *module =
        dlopen(ARCP_BINARY_DIR "/modules/" ARCP__WEB_CLIENT_MODULE ".so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(module);
    rig_ops = dlsym(module, ARCP__WEB_CLIENT_SYMBOL);
    assert_non_null(rig_ops);
    assert_ptr_not_equal(&arcp__web_client_by_libcurl, rig_ops);
    rig_start(&rig, &short_answer, 1);
    rig_post(&rig, &call);
    rig_until_end(&rig, &call);
    assert_text("hi", &call.body);
    rig_stop(&rig);
    rig_call_fini(&call);
    rig_ops = NULL;
    assert_int_equal(0, dlclose(module));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_the_callers_headers_and_few_of_the_client),
        cmocka_unit_test(a_large_body_arrives_whole),
        cmocka_unit_test(calls_one_after_the_other_use_one_connection),
        cmocka_unit_test(without_kept_connections_each_call_has_its_own),
        cmocka_unit_test(a_call_above_the_limit_of_connections_waits),
        cmocka_unit_test(the_user_agent_is_the_callers_or_that_of_the_options),
        cmocka_unit_test(a_head_request_has_a_response_without_a_body),
        cmocka_unit_test(the_module_has_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows(wholes, sizeof wholes / sizeof *wholes, sizeof *wholes,
                    a_whole_response_is_passed_on) +
           run_rows(bad, sizeof bad / sizeof *bad, sizeof *bad,
                    headers_with_control_characters_are_refused);
}
