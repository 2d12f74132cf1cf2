/* Pending peers, which are not authenticated: how many there may be, how much they may send, and
 * that the oldest one is closed above a limit. */
#include "transport/raw_peer.h"
#include "transport/server.h"
#include "transport/websocket_frames.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include "web/admission.h"

#define PEERS_MAX 6

typedef struct crowd {
    server s;
    arcp_admission *admission; /* the test's reference */
    raw_peer peers[PEERS_MAX];
    size_t count;
} crowd;

static void crowd_open(crowd *c, arcp_admission_limits limits)
{
    memset(c, 0, sizeof *c);
    arcp_listen_options options = arcp_listen_options_init();
    options.close_timeout_ms = 2 * TEST_PATIENCE_MS;
    options.admission = server_admission(limits);
    c->admission = arcp__admission_ref(options.admission);
    server_open(&c->s, NULL, options);
}

static void crowd_fini(crowd *c)
{
    for (size_t i = 0; i < c->count; i++) {
        raw_peer_fini(&c->peers[i]);
    }
    server_fini(&c->s);
    arcp_admission_stats stats = arcp_admission_stats_init();
    arcp_admission_get_stats(c->admission, &stats);
    assert_int_equal(stats.connections, 0);
    assert_int_equal(stats.pending_bytes, 0);
    arcp_admission_unref(c->admission);
}

static raw_peer *join(crowd *c)
{
    raw_peer *peer = &c->peers[c->count++];
    raw_peer_connect(peer, &c->s.test, c->s.url);
    test_loop_settle(&c->s.test);
    return peer;
}

static raw_peer *join_and_upgrade(crowd *c)
{
    raw_peer *peer = join(c);
    raw_peer_upgrade(peer);
    run_until(&c->s.test, c->s.accepted > 0 && c->s.owners[c->s.accepted - 1].connection != NULL);
    return peer;
}

static void admit_newest(crowd *c)
{
    arcp_connection *connection = c->s.owners[c->s.accepted - 1].connection;
    connection->ops->admit(connection);
}

static size_t pending(const crowd *c)
{
    arcp_admission_stats stats = arcp_admission_stats_init();
    arcp_admission_get_stats(c->admission, &stats);
    return stats.pending;
}

/* ---- number of peers ---- */

static void above_the_limit_of_an_address_its_oldest_peer_gets_503(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_per_address_max = 3});
    for (size_t i = 0; i < 3; i++) {
        join(&c);
    }
    assert_int_equal(c.s.refused, 0); /* at the limit nothing is closed */
    raw_peer *late = join(&c);
    raw_peer_expect(&c.peers[0], "HTTP/1.1 503 ");
    raw_peer_expect_end(&c.peers[0]);
    assert_int_equal(c.s.refused, 1);
    assert_int_equal(c.s.refused_status, 503);
    assert_string_equal(c.s.refused_why, "too many pending connections from this address");
    assert_int_equal(pending(&c), 3);
    raw_peer_upgrade(late); /* the new one is served */
    raw_peer_upgrade(&c.peers[1]);
    assert_int_equal(c.s.accepted, 2);
    crowd_fini(&c);
}

static void above_the_total_limit_the_oldest_is_closed(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_max = 2});
    join(&c);
    join(&c);
    assert_int_equal(c.s.refused, 0);
    raw_peer *late = join(&c);
    raw_peer_expect_end(&c.peers[0]);
    assert_string_equal(c.s.refused_why, "too many pending connections");
    raw_peer_upgrade(late);
    raw_peer_upgrade(&c.peers[1]);
    crowd_fini(&c);
}

/* 127.0.0.2 is another address of the same machine. */
static void join_from_elsewhere(crowd *c)
{
    raw_peer *peer = &c->peers[c->count++];
    const char *port = strrchr(c->s.url, ':') + 1;
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    inet_pton(AF_INET, "127.0.0.2", &from.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    memset(peer, 0, sizeof *peer);
    peer->test = &c->s.test;
    peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer->fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(peer->fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(fcntl(peer->fd, F_SETFL, O_NONBLOCK), 0);
    test_loop_settle(&c->s.test);
}

static void peers_of_one_address_do_not_evict_those_of_another(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_per_address_max = 2});
    join_from_elsewhere(&c); /* the oldest of all */
    join(&c);
    join(&c);
    assert_int_equal(c.s.refused, 0);
    join(&c);
    raw_peer_expect_end(&c.peers[1]);
    assert_int_equal(c.s.refused, 1);
    raw_peer_poll(&c.peers[0]);
    assert_false(c.peers[0].ended);
    crowd_fini(&c);
}

static void an_upgraded_connection_is_pending_until_it_is_admitted(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_per_address_max = 1});
    raw_peer *silent = join_and_upgrade(&c);
    assert_int_equal(pending(&c), 1);
    join_and_upgrade(&c);
    static const char close_1013[] = "\x88\x30\x03\xf5"
                                     "too many pending connections from this address";
    raw_peer_receive(silent, sizeof close_1013 - 1);
    assert_memory_equal(silent->received.data + silent->received.size - (sizeof close_1013 - 1),
                        close_1013, sizeof close_1013 - 1);
    raw_peer_expect_end(silent);
    run_until(&c.s.test, c.s.owners[0].closed);
    assert_int_equal(c.s.owners[0].code, ARCP_CLOSE_TRY_AGAIN);

    admit_newest(&c);
    assert_int_equal(pending(&c), 0);
    join(&c);
    test_loop_settle(&c.s.test);
    assert_false(c.s.owners[1].closed); /* an admitted one does not count */
    crowd_fini(&c);
}

static void a_refused_peer_that_stays_is_closed_first(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_max = 1});
    raw_peer_send_text(join(&c), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    raw_peer_expect(&c.peers[0], "HTTP/1.1 404 ");
    join_and_upgrade(&c);
    assert_int_equal(c.s.refused, 1); /* it was refused once */
    assert_int_equal(pending(&c), 1);
    crowd_fini(&c);
}

static void never_accepted(void *user, arcp_connection *connection)
{
    (void)user;
    (void)connection;
    fail_msg("accepted");
}

static void listeners_may_share_the_limits(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_max = 1});
    arcp_listen_options options = arcp_listen_options_init();
    const arcp_listener_callbacks callbacks = {.accepted = never_accepted};
    arcp_listener *other = NULL;
    arcp_error err = {0};
    options.admission = c.admission;
    check_ok(arcp_listen_websocket(&c.s.test.loop, "ws://127.0.0.1:0/arcp", &options, &callbacks,
                                   &other, &err),
             &err);
    join(&c);
    raw_peer_connect(&c.peers[c.count++], &c.s.test, other->ops->url(other));
    raw_peer_expect_end(&c.peers[0]);
    assert_int_equal(c.s.refused, 1);
    other->ops->close(other);
    crowd_fini(&c);
}

static void a_listener_may_be_closed_when_one_is_evicted(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_max = 1});
    c.s.closes_when_refused = true;
    join(&c);
    join(&c);
    raw_peer_expect_end(&c.peers[0]);
    raw_peer_expect_end(&c.peers[1]);
    assert_null(c.s.listener);
    crowd_fini(&c);
}

/* ---- bytes ---- */

/* Announces a masked text frame of 4 096 bytes, and sends `size` bytes of it. */
static void send_part(crowd *c, raw_peer *peer, size_t size)
{
    char frame[8 + 4096] = "\x81\xfe\x10\x00mask";
    memset(frame + 8, 'x', sizeof frame - 8);
    raw_peer_send(peer, arcp_span_make(frame, size));
    test_loop_settle(&c->s.test);
}

static void above_the_total_byte_limit_the_oldest_sender_is_closed(void **state)
{
    const size_t head = strlen(raw_upgrade);
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_bytes_max = 2 * head + 2000});
    join(&c); /* silent, and the oldest */
    raw_peer *first = join_and_upgrade(&c);
    raw_peer *second = join_and_upgrade(&c);
    send_part(&c, first, 1000);
    send_part(&c, second, 1000);
    assert_false(c.s.owners[0].closed); /* at the limit nothing is closed */
    arcp_admission_stats stats = arcp_admission_stats_init();
    arcp_admission_get_stats(c.admission, &stats);
    assert_int_equal(stats.pending_bytes, 2 * head + 2000);

    raw_peer_send_text(second, "x");
    run_until(&c.s.test, c.s.owners[0].closed);
    assert_int_equal(c.s.owners[0].code, ARCP_CLOSE_TRY_AGAIN);
    assert_false(c.s.owners[1].closed);
    assert_int_equal(pending(&c), 2);
    crowd_fini(&c);
}

static void a_peer_that_exceeds_the_byte_limit_alone_is_closed_itself(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_bytes_max = strlen(raw_upgrade) + 500});
    raw_peer *peer = join_and_upgrade(&c);
    send_part(&c, peer, 501);
    run_until(&c.s.test, c.s.owners[0].closed);
    raw_peer_expect_end(peer);

    raw_peer *head = join(&c); /* also before its upgrade */
    char text[1024];
    memset(text, 'x', sizeof text);
    raw_peer_send_text(head, "GET /arcp HTTP/1.1\r\nX: ");
    raw_peer_send(head, arcp_span_make(text, sizeof text));
    raw_peer_expect(head, "HTTP/1.1 503 ");
    assert_string_equal(c.s.refused_why, "too many bytes from pending connections");
    crowd_fini(&c);
}

static void bytes_from_a_refused_peer_evict_no_other_peer(void **state)
{
    crowd c;
    char text[4096];
    crowd_open(&c, (arcp_admission_limits){.pending_bytes_max = strlen(raw_upgrade) + 1000});
    raw_peer *pending = join_and_upgrade(&c);
    send_part(&c, pending, 100);
    raw_peer *refused = join(&c);
    raw_peer_send_text(refused, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    raw_peer_expect(refused, "HTTP/1.1 404 ");
    memset(text, 'x', sizeof text);
    raw_peer_send(refused, arcp_span_make(text, sizeof text));
    test_loop_settle(&c.s.test);
    assert_false(c.s.owners[0].closed);
    crowd_fini(&c);
}

static void an_admitted_connection_has_no_byte_limit(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_bytes_max = strlen(raw_upgrade) + 500});
    raw_peer *peer = join_and_upgrade(&c);
    admit_newest(&c);
    send_part(&c, peer, 8 + 4096);
    run_until(&c.s.test, c.s.owners[0].messages == 1);
    crowd_fini(&c);
}

/* ---- all connections ---- */

static void at_the_connection_limit_a_pending_one_is_closed_or_the_new_one_refused(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.connections_max = 2});
    join_and_upgrade(&c);
    admit_newest(&c);
    join(&c);
    assert_int_equal(c.s.refused, 0);
    join_and_upgrade(&c);
    raw_peer_expect(&c.peers[1], "HTTP/1.1 503 ");
    assert_int_equal(c.s.refused, 1);
    admit_newest(&c);

    raw_peer *late = join(&c);
    raw_peer_expect(late, "HTTP/1.1 503 ");
    raw_peer_expect_end(late);
    assert_int_equal(c.s.refused, 2);
    assert_string_equal(c.s.refused_why, "too many connections");
    assert_false(c.s.owners[0].closed);
    assert_false(c.s.owners[1].closed);

    owner_release(&c.s.owners[0]); /* a closed one makes room */
    join_and_upgrade(&c);
    crowd_fini(&c);
}

/* ---- time ---- */

static void the_duration_of_the_handshake_is_reported(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){0});
    raw_peer *peer = join(&c);
    const uint64_t since = uv_now(&c.s.test.loop);
    while (uv_now(&c.s.test.loop) < since + 20) {
        uv_update_time(&c.s.test.loop);
    }
    raw_peer_upgrade(peer);
    arcp_connection_info info = arcp_connection_info_init();
    c.s.owners[0].connection->ops->info(c.s.owners[0].connection, &info);
    assert_true(info.waited_ms >= 20);
    crowd_fini(&c);
}

static void new_limits_apply_to_new_connections(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_max = 3});
    join(&c);
    join(&c);
    join(&c);
    arcp_admission_limits fewer = arcp_admission_limits_init();
    fewer.pending_max = 1;
    assert_int_equal(arcp_admission_set_limits(c.admission, &fewer, NULL), ARCP_OK);
    assert_int_equal(pending(&c), 3);
    join(&c);
    for (size_t i = 0; i < 3; i++) {
        raw_peer_expect_end(&c.peers[i]);
    }
    assert_int_equal(pending(&c), 1);
    crowd_fini(&c);
}

/* The listener is closed and the test's reference released: only the connection has a reference. */
static void the_last_of_a_closed_listener_can_be_evicted(void **state)
{
    crowd c;
    crowd_open(&c, (arcp_admission_limits){.pending_bytes_max = strlen(raw_upgrade) + 500});
    raw_peer *peer = join_and_upgrade(&c);
    c.s.listener->ops->close(c.s.listener);
    c.s.listener = NULL;
    arcp_admission_unref(c.admission);
    test_loop_settle(&c.s.test);
    send_part(&c, peer, 1000);
    run_until(&c.s.test, c.s.owners[0].closed);
    assert_int_equal(c.s.owners[0].code, ARCP_CLOSE_TRY_AGAIN);
    raw_peer_fini(peer);
    server_fini(&c.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(above_the_limit_of_an_address_its_oldest_peer_gets_503),
        cmocka_unit_test(above_the_total_limit_the_oldest_is_closed),
        cmocka_unit_test(peers_of_one_address_do_not_evict_those_of_another),
        cmocka_unit_test(an_upgraded_connection_is_pending_until_it_is_admitted),
        cmocka_unit_test(a_refused_peer_that_stays_is_closed_first),
        cmocka_unit_test(listeners_may_share_the_limits),
        cmocka_unit_test(a_listener_may_be_closed_when_one_is_evicted),
        cmocka_unit_test(above_the_total_byte_limit_the_oldest_sender_is_closed),
        cmocka_unit_test(the_last_of_a_closed_listener_can_be_evicted),
        cmocka_unit_test(a_peer_that_exceeds_the_byte_limit_alone_is_closed_itself),
        cmocka_unit_test(bytes_from_a_refused_peer_evict_no_other_peer),
        cmocka_unit_test(an_admitted_connection_has_no_byte_limit),
        cmocka_unit_test(at_the_connection_limit_a_pending_one_is_closed_or_the_new_one_refused),
        cmocka_unit_test(the_duration_of_the_handshake_is_reported),
        cmocka_unit_test(new_limits_apply_to_new_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
