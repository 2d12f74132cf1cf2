/* Connections over time: several requests, upgrades, slow and silent peers, limits, and the end of
 * the job in every state. */
#include "egress/egress_fixture.h"

#include <sys/socket.h>

#define LEASE                                                                                      \
    "[\"http://api.test:PORT/v1/**\", \"ws://api.test:PORT/chat\", \"ssh://other.test:PORT/**\"]"
#define HOST     "Host: api.test:PORT\r\n"
#define GET      "GET /v1/a HTTP/1.1\r\n" HOST "\r\n"
#define DENIED   "GET /v2 HTTP/1.1\r\n" HOST "\r\n"
#define UPGRADE  "GET /chat HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
#define OK       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define SHORT_MS 50
#define IDLE_MS  1000

static void open_and_send(egress_fixture *f, const char *request)
{
    egress_fixture_open(f, LEASE);
    egress_fixture_connect_name(f, "api.test");
    egress_fixture_send(f, &f->client, request);
}

/* The server responds to one request. */
static void serve(egress_fixture *f, const char *response)
{
    raw_peer_expect(&f->server, "\r\n\r\n");
    raw_peer_forget(&f->server);
    raw_peer_send_text(&f->server, response);
}

static arcp__egress_connection *connection_of(const egress_fixture *f)
{
    assert_non_null(f->job->connections);
    return f->job->connections;
}

/* ---- several requests ---- */

static void each_request_of_a_connection_is_decided(void **state)
{
    egress_fixture f;
    open_and_send(&f, GET);
    egress_fixture_accept(&f);
    serve(&f, OK);
    raw_peer_expect(&f.client, "ok");
    raw_peer_forget(&f.client);
    egress_fixture_send(&f, &f.client, DENIED);
    raw_peer_expect(&f.client, "HTTP/1.1 403 ");
    raw_peer_expect(&f.client, "}\n");
    raw_peer_forget(&f.client);
    assert_int_equal(f.denied, 1);
    egress_fixture_send(&f, &f.client, GET);
    egress_fixture_accept(&f); /* the denial has closed the connection to the server */
    serve(&f, OK);
    raw_peer_expect(&f.client, "ok");
    assert_int_equal(arcp__egress_count(f.egress).allowed, 2);
    egress_fixture_close(&f);
}

static void requests_that_are_sent_at_once_are_served_in_order(void **state)
{
    egress_fixture f;
    open_and_send(&f, GET "GET /v1/b HTTP/1.1\r\n" HOST "\r\n" DENIED);
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "GET /v1/a ");
    test_loop_settle(&f.test);
    raw_peer_poll(&f.server);
    assert_null(strstr(arcp_buf_cstr(&f.server.received), "/v1/b"));
    serve(&f, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
    raw_peer_expect(&f.server, "GET /v1/b ");
    serve(&f, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
    raw_peer_expect(&f.client, "\r\n\r\n2HTTP/1.1 403 ");
    assert_int_equal(answers.asked, 1);
    egress_fixture_close(&f);
}

static void a_server_that_closes_between_requests_is_connected_to_again(void **state)
{
    egress_fixture f;
    open_and_send(&f, GET);
    egress_fixture_accept(&f);
    serve(&f, OK);
    raw_peer_half_close(&f.server);
    raw_peer_expect(&f.client, "ok");
    raw_peer_expect_end(&f.server);
    egress_fixture_send(&f, &f.client, GET);
    egress_fixture_accept(&f);
    serve(&f, OK);
    raw_peer_receive(&f.client, 2 * (sizeof OK - 1));
    egress_fixture_close(&f);
}

static void bytes_that_no_request_asked_for_are_not_taken_for_a_response(void **state)
{
    static const char *const rows[] = {OK OK, OK};
    for (size_t i = 0; i < 2; i++) {
        egress_fixture f;
        open_and_send(&f, GET);
        egress_fixture_accept(&f);
        serve(&f, rows[i]);
        raw_peer_expect(&f.client, "ok");
        if (i == 1) {
            raw_peer_send_text(&f.server, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
            test_loop_settle(&f.test);
        }
        raw_peer_forget(&f.client);
        egress_fixture_send(&f, &f.client, GET);
        egress_fixture_accept(&f); /* another connection */
        serve(&f, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
        raw_peer_expect(&f.client, "good");
        assert_null(strstr(arcp_buf_cstr(&f.client.received), "evil"));
        assert_null(strstr(arcp_buf_cstr(&f.client.received), "ok"));
        egress_fixture_close(&f);
    }
}

static void a_server_that_closes_as_a_later_request_arrives_closes_the_client_too(void **state)
{
    egress_fixture f;
    open_and_send(&f, GET);
    egress_fixture_accept(&f);
    serve(&f, OK);
    raw_peer_expect(&f.client, "ok");
    raw_peer_forget(&f.client);
    egress_fixture_send(&f, &f.client, GET);
    raw_peer_expect(&f.server, "\r\n\r\n");
    raw_peer_half_close(&f.server);
    raw_peer_expect_end(&f.client);
    assert_int_equal(f.client.received.size, 0);
    egress_fixture_close(&f);
}

static void a_response_before_the_end_of_the_request_is_the_last_one(void **state)
{
    egress_fixture f;
    open_and_send(&f, "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nhello");
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "hello");
    raw_peer_send_text(&f.server, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n");
    raw_peer_expect(&f.client, "HTTP/1.1 413 Large\r\nContent-Length: 0\r\nConnection: close\r\n");
    raw_peer_send_text(&f.client, "GET ");
    raw_peer_half_close(&f.client);
    raw_peer_expect_end(&f.client);
    raw_peer_expect_end(&f.server);
    egress_fixture_close(&f);
}

static void an_upgraded_connection_is_a_tunnel(void **state)
{
    egress_fixture f;
    open_and_send(&f, UPGRADE);
    egress_fixture_accept(&f);
    serve(&f, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
              "Sec-WebSocket-Accept: x\r\n\r\nhi");
    raw_peer_expect(&f.client, "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\n"
                               "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nhi");
    egress_fixture_send(&f, &f.client, DENIED); /* bytes like any other */
    raw_peer_expect(&f.server, "GET /v2 ");
    assert_int_equal(f.denied, 0);
    egress_fixture_close(&f);
}

/* ---- slow peers ---- */

static void a_peer_that_does_not_read_stops_the_other_one(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        egress_fixture f;
        static char bytes[1 << 16];
        size_t sent = 0;
        open_and_send(&f, i == 0 ? GET : UPGRADE);
        egress_fixture_accept(&f);
        serve(&f, i == 0 ? "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
                         : "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
        raw_peer_expect(&f.client, "\r\n\r\n");
        /* Until nothing moves any more; the sockets' buffers take some MB. */
        for (ssize_t wrote = 1, quiet = 0; quiet<8; quiet = wrote> 0 ? 0 : quiet + 1) {
            wrote = send(f.server.fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
            sent += wrote > 0 ? (size_t)wrote : 0;
            test_loop_settle(&f.test);
            assert_true(sent < (size_t)200 * 1024 * 1024);
        }
        const arcp__egress_connection *c = connection_of(&f);
        assert_true(c->server.in.size + c->client.out.size + c->client.busy <=
                    5 * ARCP__EGRESS_SIDE_MAX);
        assert_false(c->server.is_reading);
        raw_peer_receive(&f.client, sent); /* and goes on when the client reads */
        assert_true(f.client.received.size >= sent);
        egress_fixture_close(&f);
    }
}

static void a_head_has_its_time(void **state)
{
    static const char *const rows[] = {"", "\x16\x03", "GET /v1/a HTTP/1.1\r\n"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        egress_fixture f;
        egress_fixture_open_with(&f, LEASE, TEST_PATIENCE_MS, SHORT_MS);
        egress_fixture_connect_name(&f, "api.test");
        raw_peer_send_text(&f.client, rows[i]);
        raw_peer_expect_end(&f.client);
        assert_int_equal(arcp__egress_count(f.egress).connections, 0);
        egress_fixture_close(&f);
    }
}

static void a_second_head_has_its_time_from_its_first_byte(void **state)
{
    egress_fixture f;
    egress_fixture_open_with(&f, LEASE, TEST_PATIENCE_MS, SHORT_MS);
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, DENIED);
    raw_peer_expect(&f.client, "}\n");
    egress_fixture_pass_ms(&f, (uint64_t)3 * SHORT_MS);
    assert_int_equal(arcp__egress_count(f.egress).connections, 1);
    raw_peer_send_text(&f.client, "GET");
    raw_peer_expect_end(&f.client);
    egress_fixture_close(&f);
}

static void an_idle_connection_is_closed_and_one_that_is_used_is_not(void **state)
{
    egress_fixture f;
    egress_fixture_open_with(&f, LEASE, IDLE_MS, TEST_PATIENCE_MS);
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, UPGRADE);
    egress_fixture_accept(&f);
    serve(&f, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
    for (size_t i = 0; i < 7; i++) {
        egress_fixture_pass_ms(&f, IDLE_MS / 5);
        raw_peer_send_text(&f.server, ".");
        test_loop_settle(&f.test);
    }
    raw_peer_expect(&f.client, ".......");
    raw_peer_expect_end(&f.client);
    assert_int_equal(arcp__egress_count(f.egress).connections, 0);
    egress_fixture_close(&f);
}

static void a_client_may_read_its_last_response_slowly(void **state)
{
    static char chunk[sizeof "4000\r\n" - 1 + 0x4000 + 2];
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    f.egress->linger_ms = SHORT_MS;
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, "GET /v1/a HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    egress_fixture_accept(&f);
    serve(&f, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    test_loop_settle(&f.test);
    memset(chunk, 'x', sizeof chunk);
    memcpy(chunk, "4000\r\n", 6);
    memcpy(chunk + sizeof chunk - 2, "\r\n", 2);
    const arcp__egress_connection *c = connection_of(&f);
    while (c->client.busy == 0) { /* until the client's socket takes no more */
        assert_int_equal(send(f.server.fd, chunk, sizeof chunk, MSG_NOSIGNAL), sizeof chunk);
        test_loop_settle(&f.test);
    }
    assert_int_equal(send(f.server.fd, "0\r\n\r\n", 5, MSG_NOSIGNAL), 5);
    while (c->stage != ARCP__EGRESS_IN_LINGER) {
        test_loop_step(&f.test, "the end of the response");
    }
    assert_true(c->client.busy > 0);
    egress_fixture_pass_ms(&f, (uint64_t)3 * SHORT_MS);
    egress_fixture_expect_end(&f, "\r\n0\r\n\r\n");
    egress_fixture_close(&f);
}

/* ---- limits ---- */

static void a_job_has_256_connections(void **state)
{
    static raw_peer peers[ARCP__EGRESS_CONNECTIONS_MAX];
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    for (size_t i = 0; i < ARCP__EGRESS_CONNECTIONS_MAX; i++) {
        egress_fixture_connect(&f, &peers[i], "127.0.0.1", f.port);
    }
    assert_int_equal(arcp__egress_count(f.egress).connections, ARCP__EGRESS_CONNECTIONS_MAX);
    egress_fixture_connect(&f, &f.client, "127.0.0.1", f.port);
    raw_peer_expect_end(&f.client);
    assert_int_equal(arcp__egress_count(f.egress).connections, ARCP__EGRESS_CONNECTIONS_MAX);
    raw_peer_fini(&peers[0]); /* makes room for another one */
    test_loop_settle(&f.test);
    raw_peer_fini(&f.client);
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, DENIED);
    raw_peer_expect(&f.client, "HTTP/1.1 403 ");
    for (size_t i = 1; i < ARCP__EGRESS_CONNECTIONS_MAX; i++) {
        raw_peer_fini(&peers[i]);
    }
    egress_fixture_close(&f);
}

static void a_job_has_two_lookups_and_later_ones_wait(void **state)
{
    static raw_peer peers[ARCP__EGRESS_LOOKUPS_MAX];
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    answers.is_silent = true;
    for (size_t i = 0; i < ARCP__EGRESS_LOOKUPS_MAX; i++) {
        egress_fixture_connect_name(&f, "api.test");
        peers[i] = f.client;
        egress_fixture_send(&f, &peers[i], GET);
        test_loop_settle(&f.test);
    }
    assert_int_equal(answers.asked, ARCP__EGRESS_LOOKUPS_MAX);
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, GET);
    test_loop_settle(&f.test);
    assert_int_equal(answers.asked, ARCP__EGRESS_LOOKUPS_MAX);
    egress_answers_end(&f);
    assert_int_equal(answers.asked, ARCP__EGRESS_LOOKUPS_MAX + 1);
    for (size_t i = 0; i < ARCP__EGRESS_LOOKUPS_MAX; i++) {
        raw_peer_fini(&peers[i]);
    }
    egress_fixture_close(&f);
}

/* ---- the end of the job ---- */

/* Brings a connection into a state, of which there are STATE_COUNT. */
enum { STATE_COUNT = 12 };

static void reach(egress_fixture *f, size_t n)
{
    static const char *const sent[STATE_COUNT] = {"",
                                                  "\x16\x03\x01",
                                                  "GET /v1",
                                                  GET,
                                                  GET,
                                                  GET,
                                                  "POST /v1/a HTTP/1.1\r\n" HOST
                                                  "Content-Length: 9\r\n\r\nhello",
                                                  GET,
                                                  UPGRADE,
                                                  "BAD\r\n\r\n",
                                                  "\x00",
                                                  GET};
    answers.is_silent = n == 3; /* looks up */
    if (n == 11) {
        answers.addresses[0] = "127.0.0.9"; /* connects, before the loop has run */
    }
    if (n == 10) {
        egress_fixture_connect(f, &f->client, "9.9.9.9", 53);
        raw_peer_send(&f->client, arcp_span_make("\x00", 1));
    } else {
        egress_fixture_connect_name(f, "api.test");
        egress_fixture_send(f, &f->client, sent[n]);
    }
    for (size_t i = 0; i < (n == 11 ? 1 : 4); i++) {
        uv_run(&f->test.loop, UV_RUN_NOWAIT);
    }
    if (n >= 4 && n <= 8) {
        egress_fixture_accept(f);
        raw_peer_expect(&f->server, "\r\n\r\n"); /* 4: waits for a response */
    }
    if (n == 5) {
        raw_peer_send_text(&f->server, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
        raw_peer_expect(&f->client, "hello");
    } else if (n == 7) {
        raw_peer_send_text(&f->server, OK);
        raw_peer_expect(&f->client, "ok");
    } else if (n == 8) {
        raw_peer_send_text(&f->server, "HTTP/1.1 101 Yes\r\n\r\n");
        raw_peer_expect(&f->client, "101 Yes");
    }
}

static void a_job_can_be_closed_in_every_state_of_a_connection(void **state)
{
    for (size_t n = 0; n < STATE_COUNT; n++) {
        egress_fixture f;
        egress_fixture_open(&f, LEASE);
        reach(&f, n);
        assert_int_equal(arcp__egress_count(f.egress).connections, 1);
        arcp__egress_close(f.job);
        f.job = NULL;
        assert_int_equal(arcp__egress_count(f.egress).connections, 0);
        raw_peer_expect_end(&f.client);
        assert_int_equal(f.denied, n == 9); /* what is not HTTP is reported */
        egress_fixture_close(&f);
    }
}

static void a_client_may_vanish_in_every_state_of_its_connection(void **state)
{
    for (size_t n = 0; n < STATE_COUNT; n++) {
        egress_fixture f;
        egress_fixture_open(&f, LEASE);
        reach(&f, n);
        raw_peer_reset(&f.client);
        while (arcp__egress_count(f.egress).connections > 0) {
            test_loop_step(&f.test, "the end of the connection");
        }
        egress_fixture_close(&f);
    }
}

static void a_report_may_close_the_job(void **state)
{
    static const char *const rows[] = {DENIED, GET};
    for (size_t i = 0; i < 2; i++) {
        egress_fixture f;
        egress_fixture_open(&f, "[\"http://api.test:PORT/v1/**\", \"http://evil.test:PORT/**\"]");
        f.closes_on_denial = true;
        egress_fixture_connect_name(&f, i == 0 ? "api.test" : "evil.test");
        egress_fixture_send(&f, &f.client,
                            i == 0 ? rows[0] : "GET / HTTP/1.1\r\nHost: evil.test:PORT\r\n\r\n");
        raw_peer_expect_end(&f.client);
        assert_int_equal(f.client.received.size, 0);
        assert_int_equal(f.denied, 1);
        assert_int_equal(arcp__egress_count(f.egress).connections, 0);
        egress_fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_of_a_connection_is_decided),
        cmocka_unit_test(requests_that_are_sent_at_once_are_served_in_order),
        cmocka_unit_test(a_server_that_closes_between_requests_is_connected_to_again),
        cmocka_unit_test(bytes_that_no_request_asked_for_are_not_taken_for_a_response),
        cmocka_unit_test(a_server_that_closes_as_a_later_request_arrives_closes_the_client_too),
        cmocka_unit_test(a_response_before_the_end_of_the_request_is_the_last_one),
        cmocka_unit_test(an_upgraded_connection_is_a_tunnel),
        cmocka_unit_test(a_peer_that_does_not_read_stops_the_other_one),
        cmocka_unit_test(a_head_has_its_time),
        cmocka_unit_test(a_second_head_has_its_time_from_its_first_byte),
        cmocka_unit_test(an_idle_connection_is_closed_and_one_that_is_used_is_not),
        cmocka_unit_test(a_client_may_read_its_last_response_slowly),
        cmocka_unit_test(a_job_has_256_connections),
        cmocka_unit_test(a_job_has_two_lookups_and_later_ones_wait),
        cmocka_unit_test(a_job_can_be_closed_in_every_state_of_a_connection),
        cmocka_unit_test(a_client_may_vanish_in_every_state_of_its_connection),
        cmocka_unit_test(a_report_may_close_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
