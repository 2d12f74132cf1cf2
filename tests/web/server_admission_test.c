/* The limit on the number of connections: which one is closed for a new one, and when a new one is
 * refused. */
#include "web/server_fixture.h"

static void at_the_limit_an_idle_connection_is_closed_for_a_new_one(void **state)
{
    static const char *const requests[] = {"", "GET /ec", "POST /echo HTTP/1.1\r\n"};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        web_fixture f;
        raw_peer second;
        web_fixture_open_limited(&f, 1);
        web_fixture_send(&f, requests[i]);
        test_loop_settle(&f.test);
        raw_peer_connect(&second, &f.test, f.url);
        raw_peer_send_text(&second, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
        raw_peer_expect(&second, "none");
        raw_peer_expect(&f.peer, "HTTP/1.1 503 ");
        raw_peer_expect(&f.peer, REFUSAL_HEADERS);
        raw_peer_expect_end(&f.peer);
        raw_peer_fini(&second);
        web_fixture_close(&f);
    }
}

static void the_longest_idle_connection_is_closed_and_never_a_busy_one(void **state)
{
    web_fixture f;
    raw_peer others[4];
    web_fixture_open_limited(&f, 3);
    web_fixture_send(&f, "GET /later HTTP/1.1\r\n" HOST "\r\n"); /* the oldest, and busy */
    run_until(&f.test, f.pending != NULL);
    for (size_t i = 0; i < 2; i++) {
        raw_peer_connect(&others[i], &f.test, f.url);
        test_loop_settle(&f.test);
    }
    /* The older one of these sends a request and is idle again: the other one is now idle longest.
     */
    raw_peer_send_text(&others[0], "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&others[0], "none");
    raw_peer_forget(&others[0]);
    raw_peer_send_text(&others[0], "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&others[0], "none");
    raw_peer_connect(&others[2], &f.test, f.url);
    raw_peer_expect_end(&others[1]);
    raw_peer_send_text(&others[0], "GET /one_by_one HTTP/1.1\r\n" HOST "\r\n");
    raw_peer_expect(&others[0], "\r\n0\r\n\r\n");
    raw_peer_connect(&others[3], &f.test, f.url);
    raw_peer_expect_end(&others[2]);
    web_fixture_respond(f.pending, ARCP_SPAN_LITERAL("late"));
    raw_peer_expect(&f.peer, "late");
    for (size_t i = 0; i < 4; i++) {
        raw_peer_fini(&others[i]);
    }
    web_fixture_close(&f);
}

static void when_all_connections_are_busy_a_new_one_is_refused(void **state)
{
    web_fixture f;
    raw_peer other;
    web_fixture_open_limited(&f, 1);
    web_fixture_send(&f, "GET /later HTTP/1.1\r\n" HOST "\r\n");
    run_until(&f.test, f.pending != NULL);
    raw_peer_connect(&other, &f.test, f.url);
    raw_peer_expect(&other, "HTTP/1.1 503 ");
    raw_peer_expect_end(&other);
    assert_int_equal(f.aborted, 0);
    raw_peer_fini(&other);
    web_fixture_close(&f);
}

static size_t pending_bytes(const web_fixture *f)
{
    arcp_admission_stats stats = arcp_admission_stats_init();
    arcp_admission_get_stats(f->admission, &stats);
    return stats.pending_bytes;
}

/* The first read of a request on a connection that was kept counts like every other. */
static void the_bytes_of_each_request_are_counted(void **state)
{
    static const char request[] = "GET /echo HTTP/1.1\r\n" HOST "\r\n";
    static const char begin[] = "GET /echo HTTP/1.1\r\nX: ";
    const size_t limit = 2 * (sizeof request - 1);
    char filler[sizeof request * 2] = {0};
    (void)state;
    web_fixture f;
    web_fixture_open_narrow(&f, limit);
    for (unsigned i = 0; i < 3; i++) {
        web_fixture_send(&f, request);
        raw_peer_expect(&f.peer, "none");
    }
    web_fixture_send(&f, begin);
    run_until(&f.test, pending_bytes(&f) == sizeof begin - 1);
    memset(filler, 'x', limit - (sizeof begin - 1));
    web_fixture_send(&f, filler);
    run_until(&f.test, pending_bytes(&f) == limit);
    assert_int_equal(f.refused, 0);
    web_fixture_send(&f, "x");
    raw_peer_expect(&f.peer, "HTTP/1.1 503 ");
    raw_peer_expect_end(&f.peer);
    assert_int_equal(pending_bytes(&f), 0);
    web_fixture_close(&f);
}

/* Of two requests only the second counts: at the limit by itself, and one byte above it. */
static void a_kept_connection_is_closed_by_a_first_read_above_the_limit(void **state)
{
    static const char request[] = "GET /echo HTTP/1.1\r\n" HOST "\r\n";
    (void)state;
    for (size_t above = 0; above < 2; above++) {
        char begin[64] = "GET /echo HTTP/1.1\r\nX: ";
        web_fixture f;
        memset(begin + strlen(begin), 'x', sizeof begin - 1 - strlen(begin));
        begin[sizeof begin - 1] = '\0';
        web_fixture_open_narrow(&f, sizeof begin - 1 - above);
        web_fixture_send(&f, request);
        raw_peer_expect(&f.peer, "none");
        web_fixture_send(&f, begin);
        if (above == 0) {
            run_until(&f.test, pending_bytes(&f) == sizeof begin - 1);
        } else {
            raw_peer_expect_end(&f.peer);
        }
        web_fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_limit_an_idle_connection_is_closed_for_a_new_one),
        cmocka_unit_test(the_longest_idle_connection_is_closed_and_never_a_busy_one),
        cmocka_unit_test(when_all_connections_are_busy_a_new_one_is_refused),
        cmocka_unit_test(the_bytes_of_each_request_are_counted),
        cmocka_unit_test(a_kept_connection_is_closed_by_a_first_read_above_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
