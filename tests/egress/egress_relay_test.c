/* Connections that a worker passes on: who gets the key of a job, and how many there may be. */
#include "egress/egress_relay.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/raw_peer.h"

#define KEY        "sk-arcp-of-the-job"
#define ASK        "GET / HTTP/1.1\r\nHost: llm.arcp\r\n\r\n"
#define OF_JOB_MAX 256

typedef struct rig {
    test_loop test;
    uv_timer_t other; /* the relay alone does not keep a loop alive */
    arcp__loop_share *share;
    arcp__relay *relay;
    arcp__relay_job *job;
    int listener; /* where the gateways would be */
    unsigned port;
} rig;

static void on_other(uv_timer_t *timer)
{
    fail_msg("timed out");
}

static void rig_open(rig *r)
{
    char url[64];
    *r = (rig){.listener = -1};
    test_loop_init(&r->test);
    assert_int_equal(uv_timer_init(&r->test.loop, &r->other), 0);
    assert_int_equal(uv_timer_start(&r->other, on_other, TEST_PATIENCE_MS, 0), 0);
    r->share = arcp__loop_share_new(&r->test.loop);
    assert_non_null(r->share);
    r->relay = arcp__relay_new(r->share);
    assert_non_null(r->relay);
    r->job = arcp__relay_job_new(r->relay, ARCP_SPAN_LITERAL(KEY));
    assert_non_null(r->job);
    r->listener = raw_listen(url);
    r->port = (unsigned)strtoul(url + sizeof "ws://127.0.0.1:" - 1, NULL, 10);
    assert_int_not_equal(r->port, 0);
}

static void rig_close(rig *r)
{
    uv_close((uv_handle_t *)&r->other, NULL);
    arcp__relay_job_drop(r->job);
    arcp__relay_free(r->relay);
    arcp__loop_share_unref(r->share);
    (void)close(r->listener);
    test_loop_fini(&r->test);
}

/* `scheme` NULL: the gateways are away. */
static void set_target(rig *r, const char *scheme)
{
    char url[64] = "";
    arcp_error error = {0};
    if (scheme != NULL) {
        (void)snprintf(url, sizeof url, "%s://127.0.0.1:%u", scheme, r->port);
    }
    check_ok(arcp__relay_set_target(r->relay, arcp_span_cstr(url), NULL, &error), &error);
}

static void connect_client(rig *r, arcp__relay_job *job, raw_peer *client)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    *client = (raw_peer){.test = &r->test, .fd = fds[1]};
    arcp__relay_job_serve(job, 0, fds[0]);
}

static bool has_connection(const rig *r)
{
    struct pollfd listener = {.fd = r->listener, .events = POLLIN};
    return poll(&listener, 1, 0) == 1;
}

static void the_target_gets_the_key_before_all_else(void **state)
{
    rig r;
    raw_peer client;
    raw_peer server;
    (void)state;
    rig_open(&r);
    set_target(&r, "http");
    connect_client(&r, r.job, &client);
    raw_peer_send_text(&client, ASK);
    raw_peer_accept(&server, &r.test, r.listener);
    raw_peer_expect(&server, "POST " ARCP__RELAY_PATH " HTTP/1.1\r\n");
    raw_peer_expect(&server, "\r\nAuthorization: Bearer " KEY "\r\n\r\n");
    raw_peer_send_text(&server, "HTTP/1.1 200 OK\r\n\r\n");
    raw_peer_expect(&server, ASK);
    raw_peer_send_text(&server, "HTTP/1.1 204 No Content\r\n\r\n");
    raw_peer_expect(&client, "HTTP/1.1 204 No Content\r\n\r\n");
    raw_peer_fini(&client);
    raw_peer_fini(&server);
    rig_close(&r);
}

/* The runtime goes away while a connection to it is made: it must not have the key without TLS. */
static void a_target_that_is_left_does_not_get_the_key(void **state)
{
    (void)state;
    for (int is_connecting = 0; is_connecting < 2; is_connecting++) {
        rig r;
        raw_peer client;
        raw_peer server;
        rig_open(&r);
        set_target(&r, "https");
        connect_client(&r, r.job, &client);
        raw_peer_send_text(&client, ASK);
        test_loop_step(&r.test, "the lookup begins");
        if (is_connecting) {
            run_until(&r.test, has_connection(&r));
        }
        set_target(&r, NULL);
        raw_peer_expect(&client, "HTTP/1.1 503 ");
        assert_int_equal(has_connection(&r), is_connecting);
        if (is_connecting) {
            raw_peer_accept(&server, &r.test, r.listener);
            raw_peer_expect_end(&server);
            assert_int_equal(server.received.size, 0);
            raw_peer_fini(&server);
        }
        raw_peer_fini(&client);
        rig_close(&r);
    }
}

static void a_job_has_256_connections_and_others_have_theirs(void **state)
{
    static raw_peer clients[OF_JOB_MAX + 2];
    rig r;
    (void)state;
    rig_open(&r);
    arcp__relay_job *other = arcp__relay_job_new(r.relay, ARCP_SPAN_LITERAL("sk-arcp-another"));
    assert_non_null(other);
    for (size_t i = 0; i < OF_JOB_MAX + 1; i++) {
        connect_client(&r, r.job, &clients[i]);
    }
    raw_peer_expect_end(&clients[OF_JOB_MAX]);
    for (size_t i = 0; i < OF_JOB_MAX; i++) {
        raw_peer_poll(&clients[i]);
        assert_false(clients[i].ended);
    }
    connect_client(&r, other, &clients[OF_JOB_MAX + 1]);
    raw_peer_send_text(&clients[OF_JOB_MAX + 1], ASK);
    raw_peer_expect(&clients[OF_JOB_MAX + 1], "HTTP/1.1 503 ");
    raw_peer_fini(&clients[0]);
    test_loop_settle(&r.test);
    connect_client(&r, r.job, &clients[0]); /* one that has ended makes room */
    raw_peer_send_text(&clients[0], ASK);
    raw_peer_expect(&clients[0], "HTTP/1.1 503 ");
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
        raw_peer_fini(&clients[i]);
    }
    arcp__relay_job_drop(other);
    rig_close(&r);
}

/* It takes 10 s. */
static void a_client_that_asks_nothing_is_closed_while_the_gateways_are_away(void **state)
{
    rig r;
    raw_peer client;
    (void)state;
    rig_open(&r);
    connect_client(&r, r.job, &client);
    raw_peer_expect_end(&client);
    assert_int_equal(client.received.size, 0);
    raw_peer_fini(&client);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_gets_the_key_before_all_else),
        cmocka_unit_test(a_target_that_is_left_does_not_get_the_key),
        cmocka_unit_test(a_job_has_256_connections_and_others_have_theirs),
        cmocka_unit_test(a_client_that_asks_nothing_is_closed_while_the_gateways_are_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
