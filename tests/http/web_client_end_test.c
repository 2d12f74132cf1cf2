/* How calls of the HTTP client end without a whole response; and that a POST is never sent twice.
 */
#include "http/web_rig.h"

#include "support/check.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static const peer_answer kept = {OK_HEAD "Content-Length: 2\r\n\r\nhi", 0, false, false,
                                 PEER_KEEPS};

typedef struct broken {
    const char *name;
    peer_answer answer;
    unsigned heads;
    const char *body;
    const char *problem;
} broken;

#define TEN_HEADERS                                                                                \
    "A: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\nA: 6\r\nA: 7\r\nA: 8\r\nA: 9\r\nA: 0\r\n"
#define FIFTY_HEADERS TEN_HEADERS TEN_HEADERS TEN_HEADERS TEN_HEADERS TEN_HEADERS

static const broken brokens[] = {
    {"no response", {NULL, 0, false, false, PEER_CLOSES}, 0, "", "lost the connection"},
    {"no response, after the head",
     {NULL, 0, false, true, PEER_CLOSES},
     0,
     "",
     "lost the connection"},
    {"half a head",
     {OK_HEAD "A: b\r\n", 0, false, false, PEER_CLOSES},
     0,
     "",
     "lost the connection"},
    {"a shorter body than its length",
     {OK_HEAD "Content-Length: 3\r\n\r\nhi", 0, false, false, PEER_CLOSES},
     1,
     "hi",
     "lost the connection"},
    {"no last chunk",
     {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", 0, false, false, PEER_CLOSES},
     1,
     "hi",
     "lost the connection"},
    {"a chunk without a size",
     {OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\nhi\r\n0\r\n\r\n", 0, false, false,
      PEER_CLOSES},
     1,
     "",
     "lost the connection"},
    {"not HTTP",
     {"hello\r\n\r\n", 0, false, false, PEER_CLOSES},
     0,
     "",
     "sent a response that is not HTTP/1"},
    {"not gzip, as it says",
     {OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\nhihihihihihihihihihi", 0, false,
      false, PEER_KEEPS},
     1,
     "",
     "sent a response that cannot be decoded"},
    {"101 headers",
     {OK_HEAD FIFTY_HEADERS FIFTY_HEADERS "A: 101\r\n\r\n", 0, false, false, PEER_KEEPS},
     0,
     "",
     "sent too many headers"},
};

static void a_broken_response_is_lost_and_asked_for_once(void **state)
{
    const broken *row = *state;
    web_rig rig;
    rig_call call = {.ends = 0};
    rig_start(&rig, &row->answer, 1);
    rig_post(&rig, &call);
    rig_until_end(&rig, &call);
    assert_int_equal(ARCP__WEB_LOST, call.end.outcome);
    assert_false(call.end.timed_out);
    assert_string_equal(row->problem, call.end.problem);
    assert_int_equal(row->heads, call.heads);
    assert_int_equal(strlen(row->body), call.body.size);
    assert_int_equal(1, rig.peer.requests);
    rig_stop(&rig);
    rig_call_fini(&call);
}

static void a_hundred_headers_are_passed_on(void **state)
{
    static const peer_answer answer = {OK_HEAD FIFTY_HEADERS FIFTY_HEADERS
                                       "Content-Length: 0\r\n\r\n",
                                       0, false, false, PEER_KEEPS};
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &answer, 1);
    rig_post(&rig, &call);
    rig_until_end(&rig, &call);
    assert_int_equal(ARCP__WEB_DONE, call.end.outcome);
    assert_int_equal(500, call.fields.size); /* "A: 1\n" each */
    rig_stop(&rig);
    rig_call_fini(&call);
}

/* A head of exactly `size` bytes. */
static char *make_head(size_t size)
{
    static const char begin[] = OK_HEAD "Content-Length: 0\r\nA: ";
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, begin, sizeof begin - 1);
    memcpy(text + size - 4, "\r\n\r\n", 5);
    return text;
}

static void a_head_has_at_most_64_kib(void **state)
{
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        char *text = make_head(65536 + over);
        const peer_answer answer = {text, 0, false, false, PEER_KEEPS};
        web_rig rig;
        rig_call call = {.ends = 0};
        rig_start(&rig, &answer, 1);
        rig_post(&rig, &call);
        rig_until_end(&rig, &call);
        assert_int_equal(over == 0 ? ARCP__WEB_DONE : ARCP__WEB_LOST, call.end.outcome);
        if (over != 0) {
            assert_string_equal("sent headers that are too long", call.end.problem);
        }
        rig_stop(&rig);
        rig_call_fini(&call);
        free(text);
    }
}

/* ---- kept connections ---- */

static void a_post_is_not_sent_again_when_a_kept_connection_closes(void **state)
{
    (void)state;
    for (unsigned at_head = 0; at_head < 2; at_head++) {
        const peer_answer answers[] = {kept, {NULL, 0, false, at_head != 0, PEER_CLOSES}, kept};
        web_rig rig;
        rig_call calls[2] = {{.ends = 0}};
        rig_start(&rig, answers, 3);
        for (size_t i = 0; i < 2; i++) {
            rig_post(&rig, &calls[i]);
            rig_until_end(&rig, &calls[i]);
        }
        assert_int_equal(ARCP__WEB_LOST, calls[1].end.outcome);
        assert_int_equal(0, calls[1].heads);
        assert_int_equal(2, rig.peer.requests); /* curl opens a connection, and sends nothing */
        rig_stop(&rig);
        rig_call_fini(&calls[0]);
    }
}

static void a_post_without_a_body_is_not_sent_again_either(void **state)
{
    const peer_answer answers[] = {kept, {NULL, 0, false, false, PEER_CLOSES}, kept};
    web_rig rig;
    rig_call calls[2] = {{.ends = 0}};
    (void)state;
    rig_start(&rig, answers, 3);
    for (size_t i = 0; i < 2; i++) {
        const arcp__web_client_request request =
            rig_request(&rig, &calls[i], arcp_span_make(NULL, 0));
        rig_send(&rig, &calls[i], &request);
        rig_until_end(&rig, &calls[i]);
    }
    assert_int_equal(ARCP__WEB_LOST, calls[1].end.outcome);
    assert_int_equal(2, rig.peer.requests);
    rig_stop(&rig);
    rig_call_fini(&calls[0]);
}

static unsigned failing_sends;
static long proxy_bytes, bytes_of_connect;

/* In place of that of libc, for curl: the next ones fail, as on a connection that the peer closes
 * at this moment. */
__attribute__((visibility("default"))) ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    if (failing_sends != 0) {
        failing_sends--;
        errno = EPIPE;
        return -1;
    }
    return sendto(fd, buf, n, flags, NULL, 0);
}

/* The same: a new connection goes through a proxy, which is sent so many bytes. */
int socket(int domain, int type, int protocol)
{
    proxy_bytes += bytes_of_connect;
    return (int)syscall(SYS_socket, domain, type, protocol);
}

/* In place of that of curl: the bytes for proxies are among those of the request. */
#undef curl_easy_getinfo
CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    CURLcode (*original)(CURL *, CURLINFO, ...) = NULL;
    *(void **)(&original) = dlsym(RTLD_NEXT, "curl_easy_getinfo");
    assert_non_null(original);
    va_list list;
    va_start(list, info);
    void *out = va_arg(list, void *);
    va_end(list);
    const CURLcode code = original(curl, info, out);
    if (info == CURLINFO_REQUEST_SIZE) {
        *(long *)out += proxy_bytes;
    }
    return code;
}

/* The second POST of these, of whose kept connection the first sends fail; a new connection goes
 * through a proxy, if that gets bytes. */
static arcp__web_outcome post_after_failing_sends(unsigned count, long bytes, unsigned requests)
{
    web_rig rig;
    rig_call calls[2] = {{.ends = 0}};
    rig_start(&rig, &kept, 1);
    rig_post(&rig, &calls[0]);
    rig_until_end(&rig, &calls[0]);
    failing_sends = count;
    bytes_of_connect = bytes;
    rig_post(&rig, &calls[1]);
    rig_until_end(&rig, &calls[1]);
    proxy_bytes = bytes_of_connect = 0;
    assert_int_equal(0, failing_sends);
    assert_int_equal(requests, rig.peer.requests);
    rig_stop(&rig);
    rig_call_fini(&calls[0]);
    rig_call_fini(&calls[1]);
    return calls[1].end.outcome;
}

static void a_post_of_which_nothing_was_sent_is_sent_on_another_connection(void **state)
{
    (void)state;
    assert_int_equal(ARCP__WEB_DONE, post_after_failing_sends(1, 0, 2));
    assert_int_equal(ARCP__WEB_DONE, post_after_failing_sends(1, 100, 2));
}

static void a_post_of_which_nothing_was_sent_on_two_connections_was_not_sent(void **state)
{
    (void)state;
    assert_int_equal(ARCP__WEB_NOT_SENT, post_after_failing_sends(2, 0, 1));
    assert_int_equal(ARCP__WEB_NOT_SENT, post_after_failing_sends(2, 100, 1));
}

static void a_connection_that_was_closed_while_idle_is_not_used(void **state)
{
    web_rig rig;
    rig_call calls[2] = {{.ends = 0}};
    (void)state;
    rig_start(&rig, &kept, 1);
    rig_post(&rig, &calls[0]);
    rig_until_end(&rig, &calls[0]);
    http_peer_close_idle(&rig.peer);
    rig_until_closed(&rig);
    rig_post(&rig, &calls[1]);
    rig_until_end(&rig, &calls[1]);
    assert_int_equal(ARCP__WEB_DONE, calls[1].end.outcome);
    assert_int_equal(2, rig.peer.requests);
    assert_int_equal(2, rig.peer.connections);
    rig_stop(&rig);
    rig_call_fini(&calls[0]);
    rig_call_fini(&calls[1]);
}

static void on_pause(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

static void a_kept_connection_that_its_peer_closes_wakes_the_loop_once(void **state)
{
    enum { PAUSE_MS = 30, TURNS_MAX = 20 };
    web_rig rig;
    rig_call call = {.ends = 0};
    uv_timer_t pause;
    bool is_over = false;
    unsigned turns = 0;
    (void)state;
    rig_start(&rig, &kept, 1);
    rig_post(&rig, &call);
    rig_until_end(&rig, &call);
    http_peer_close_idle(&rig.peer);
    rig_until_closed(&rig);
    assert_int_equal(0, uv_timer_init(&rig.loop, &pause));
    pause.data = &is_over;
    assert_int_equal(0, uv_timer_start(&pause, on_pause, PAUSE_MS, 0));
    while (!is_over) {
        (void)uv_run(&rig.loop, UV_RUN_ONCE);
        turns++;
    }
    assert_true(turns <= TURNS_MAX);
    uv_close((uv_handle_t *)&pause, NULL);
    rig_stop(&rig);
    rig_call_fini(&call);
}

/* ---- nothing was sent ---- */

static void a_request_that_was_not_sent_is_reported_so(void **state)
{
    web_rig rig;
    (void)state;
    rig_start(&rig, &kept, 1);
    uv_tcp_t unused; /* bound but not listening: no other program has the port */
    struct sockaddr_in address;
    struct sockaddr_storage bound;
    int size = sizeof bound;
    char refused[64];
    assert_int_equal(0, uv_ip4_addr("127.0.0.1", 0, &address));
    assert_int_equal(0, uv_tcp_init(&rig.loop, &unused));
    assert_int_equal(0, uv_tcp_bind(&unused, (const struct sockaddr *)&address, 0));
    assert_int_equal(0, uv_tcp_getsockname(&unused, (struct sockaddr *)&bound, &size));
    (void)snprintf(refused, sizeof refused, "http://127.0.0.1:%u/",
                   ntohs(((const struct sockaddr_in *)&bound)->sin_port));
    const struct {
        const char *url, *problem;
    } rows[] = {
        {refused, "cannot be reached"},
        {"http://[/", "has a malformed URL"},
        {"ftp://127.0.0.1/", "has a malformed URL"},
        {"file:///etc/passwd", "has a malformed URL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig_call call = {.ends = 0};
        arcp__web_client_request request = rig_request(&rig, &call, arcp_span_make(NULL, 0));
        request.url = rows[i].url;
        rig_send(&rig, &call, &request);
        rig_until_end(&rig, &call);
        assert_int_equal(ARCP__WEB_NOT_SENT, call.end.outcome);
        assert_string_equal(rows[i].problem, call.end.problem);
        assert_int_equal(0, call.heads);
    }
    uv_close((uv_handle_t *)&unused, NULL);
    rig_stop(&rig);
}

static void a_peer_that_does_not_speak_tls_was_not_sent_the_request(void **state)
{
    static const peer_answer answer = {"HTTP/1.1 400 Bad\r\n\r\n", 0, false, false, PEER_CLOSES};
    web_rig rig;
    rig_call call = {.ends = 0};
    char url[64];
    (void)state;
    rig_start(&rig, &answer, 1);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/", rig.peer.port);
    arcp__web_client_request request = rig_request(&rig, &call, arcp_span_make(NULL, 0));
    request.url = url;
    request.first_byte_ms = 200;
    rig_send(&rig, &call, &request);
    rig_until_end(&rig, &call);
    assert_int_equal(ARCP__WEB_NOT_SENT, call.end.outcome);
    rig_stop(&rig);
}

/* ---- time ---- */

typedef struct limit {
    const char *name;
    peer_answer answer;
    uint64_t first_byte_ms, idle_ms, total_ms;
    unsigned heads;
    rig_act at_body;
    uint64_t at_least_ms;
    const char *problem;
} limit;

#define PART OK_HEAD "Content-Length: 9\r\n\r\nhi"

static const limit limits[] = {
    {"no head",
     {NULL, 0, false, false, PEER_STALLS},
     30,
     1,
     0,
     0,
     RIG_NOTHING,
     30,
     "did not respond in time"},
    {"half a head",
     {OK_HEAD, 0, true, false, PEER_STALLS},
     60,
     1,
     0,
     0,
     RIG_NOTHING,
     60,
     "did not respond in time"},
    {"nothing after the head",
     {OK_HEAD "Content-Length: 9\r\n\r\n", 0, false, false, PEER_STALLS},
     0,
     30,
     0,
     1,
     RIG_NOTHING,
     30,
     "did not complete its response in time"},
    {"nothing after a piece",
     {PART, 0, false, false, PEER_STALLS},
     0,
     30,
     0,
     1,
     RIG_NOTHING,
     30,
     "did not complete its response in time"},
    {"a pause is not the peer's",
     {PART, 0, false, false, PEER_STALLS},
     0,
     10,
     90,
     1,
     RIG_PAUSES,
     90,
     "did not complete its response in time"},
    {"all of it, before the head",
     {NULL, 0, false, false, PEER_STALLS},
     0,
     0,
     30,
     0,
     RIG_NOTHING,
     30,
     "did not respond in time"},
    {"all of it, after the head",
     {PART, 0, false, false, PEER_STALLS},
     10000,
     10000,
     30,
     1,
     RIG_NOTHING,
     30,
     "did not complete its response in time"},
};

static void a_time_limit_ends_a_call(void **state)
{
    const limit *row = *state;
    web_rig rig;
    rig_call call = {.at_body = row->at_body};
    rig_start(&rig, &row->answer, 1);
    arcp__web_client_request request = rig_request(&rig, &call, arcp_span_make(NULL, 0));
    request.first_byte_ms = row->first_byte_ms;
    request.idle_ms = row->idle_ms;
    request.total_ms = row->total_ms;
    const uint64_t before_ms = uv_now(&rig.loop);
    rig_send(&rig, &call, &request);
    rig_until_end(&rig, &call);
    assert_int_equal(ARCP__WEB_LOST, call.end.outcome);
    assert_true(call.end.timed_out);
    assert_string_equal(row->problem, call.end.problem);
    assert_int_equal(row->heads, call.heads);
    assert_true(call.ended_ms - before_ms >= row->at_least_ms);
    rig_until_closed(&rig); /* the connection upstream is closed at once */
    rig_stop(&rig);
    rig_call_fini(&call);
}

static void a_slow_but_steady_response_is_not_ended(void **state)
{
    static const peer_answer answer = {OK_HEAD "Content-Length: 40\r\n\r\n"
                                               "0123456789012345678901234567890123456789",
                                       0, true, false, PEER_KEEPS};
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &answer, 1);
    arcp__web_client_request request = rig_request(&rig, &call, arcp_span_make(NULL, 0));
    request.idle_ms = 10000;
    request.first_byte_ms = 10000;
    request.total_ms = 20000;
    rig_send(&rig, &call, &request);
    rig_until_end(&rig, &call);
    assert_int_equal(ARCP__WEB_DONE, call.end.outcome);
    assert_true(call.pieces > 1);
    rig_stop(&rig);
    rig_call_fini(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_headers_are_passed_on),
        cmocka_unit_test(a_head_has_at_most_64_kib),
        cmocka_unit_test(a_post_is_not_sent_again_when_a_kept_connection_closes),
        cmocka_unit_test(a_post_without_a_body_is_not_sent_again_either),
        cmocka_unit_test(a_post_of_which_nothing_was_sent_is_sent_on_another_connection),
        cmocka_unit_test(a_post_of_which_nothing_was_sent_on_two_connections_was_not_sent),
        cmocka_unit_test(a_connection_that_was_closed_while_idle_is_not_used),
        cmocka_unit_test(a_kept_connection_that_its_peer_closes_wakes_the_loop_once),
        cmocka_unit_test(a_request_that_was_not_sent_is_reported_so),
        cmocka_unit_test(a_peer_that_does_not_speak_tls_was_not_sent_the_request),
        cmocka_unit_test(a_slow_but_steady_response_is_not_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows(brokens, sizeof brokens / sizeof *brokens, sizeof *brokens,
                    a_broken_response_is_lost_and_asked_for_once) +
           run_rows(limits, sizeof limits / sizeof *limits, sizeof *limits,
                    a_time_limit_ends_a_call);
}
