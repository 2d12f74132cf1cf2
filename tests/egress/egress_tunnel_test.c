/* TLS that stays closed, protocols that are granted as a whole, and the explicit proxy. */
#include "egress/egress_fixture.h"
#include "egress/egress_hello.h"

#define LEASE                                                                                      \
    "[\"https://api.test:PORT/**\", \"http://other.test:PORT/**\", "                               \
    "\"https://other.test:PORT/v1/**\", "                                                          \
    "\"https://127.0.0.1:PORT/**\"]"

/* The server gets the hello of this name, byte for byte apart from its random parts; then bytes go
 * both ways. */
static void check_tunnel(egress_fixture *f, const char *name)
{
    arcp_buf hello = egress_hello(name);
    egress_fixture_accept(f);
    raw_peer_receive(&f->server, hello.size);
    assert_int_equal(f->server.received.size, hello.size);
    assert_memory_equal(f->server.received.data, hello.data, 11);
    raw_peer_forget(&f->server);
    raw_peer_send_text(&f->server, "from the server");
    raw_peer_expect(&f->client, "from the server");
    raw_peer_send_text(&f->client, "from the client");
    raw_peer_expect(&f->server, "from the client");
    arcp_buf_fini(&hello);
}

static void check_allowed(const egress_fixture *f, const char *url)
{
    arcp_buf wanted = egress_fixture_text(f, url);
    assert_string_equal(f->allowed_url, arcp_buf_cstr(&wanted));
    arcp_buf_fini(&wanted);
}

static void a_tls_connection_to_a_host_that_is_wholly_granted_is_a_tunnel(void **state)
{
    static const char *const names[] = {"api.test", NULL};
    for (size_t i = 0; i < 2; i++) {
        egress_fixture f;
        egress_fixture_open(&f, LEASE);
        egress_fixture_connect_name(&f, "api.test");
        egress_send_hello(&f.client, names[i]);
        check_tunnel(&f, names[i]);
        assert_int_equal(f.denied, 0);
        assert_int_equal(f.allowed, 1);
        check_allowed(&f, "https://api.test:PORT/ host");
        assert_int_equal(arcp__egress_count(f.egress).allowed, 1);
        assert_true(arcp__egress_count(f.egress).bytes_out > 100);
        assert_int_equal(arcp__egress_count(f.egress).bytes_in, 15);
        egress_fixture_close(&f);
    }
}

static void a_hello_may_arrive_in_pieces(void **state)
{
    static const size_t pieces[] = {1, 7, 100};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        egress_fixture f;
        arcp_buf hello = egress_hello("api.test");
        egress_fixture_open(&f, LEASE);
        egress_fixture_connect_name(&f, "api.test");
        for (size_t at = 0; at < hello.size; at += pieces[i]) {
            raw_peer_send(&f.client,
                          arcp_span_first(arcp_span_from(arcp_buf_span(&hello), at), pieces[i]));
            test_loop_settle(&f.test);
        }
        egress_fixture_accept(&f);
        raw_peer_receive(&f.server, hello.size);
        assert_true(arcp_span_equal(arcp_buf_span(&f.server.received), arcp_buf_span(&hello)));
        arcp_buf_fini(&hello);
        egress_fixture_close(&f);
    }
}

static void a_tunnel_can_be_closed_one_way_first(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    egress_fixture_connect_name(&f, "api.test");
    egress_send_hello(&f.client, "api.test");
    raw_peer_half_close(&f.client);
    egress_fixture_accept(&f);
    raw_peer_expect_end(&f.server);
    raw_peer_send_text(&f.server, "still here");
    raw_peer_expect(&f.client, "still here");
    raw_peer_half_close(&f.server);
    raw_peer_expect_end(&f.client);
    test_loop_settle(&f.test);
    assert_int_equal(arcp__egress_count(f.egress).connections, 0);
    egress_fixture_close(&f);
}

static void tls_that_the_lease_does_not_grant_is_closed_with_an_alert(void **state)
{
    static const struct {
        const char *connected, *name, *target;
    } rows[] = {
        {"api.test", "evil.test", "https://evil.test:PORT/"},     /* another server name */
        {"other.test", "other.test", "https://other.test:PORT/"}, /* only a part is granted */
        {"other.test", NULL, "https://other.test:PORT/"},
        {"other.test", "api.test", "https://api.test:PORT/"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        egress_fixture f;
        char url[64];
        egress_fixture_open(&f, LEASE);
        egress_fixture_connect_name(&f, rows[i].connected);
        egress_send_hello(&f.client, rows[i].name);
        raw_peer_expect(&f.client, "\x15\x03\x03");
        raw_peer_half_close(&f.client);
        raw_peer_expect_end(&f.client);
        assert_int_equal(f.client.received.size, 7);
        assert_int_equal(f.client.received.data[6], 49); /* access_denied */
        assert_int_equal(f.denied, 1);
        snprintf(url, sizeof url, "%.*s%u/", (int)(strstr(rows[i].target, "PORT") - rows[i].target),
                 rows[i].target, f.port);
        if (strstr(f.target, strtok(url, "/")) == NULL) {
            fail_msg("reported %s", f.target);
        }
        assert_int_equal(answers.asked, 0);
        egress_fixture_close(&f);
    }
}

static void a_hello_that_is_too_long_is_denied(void **state)
{
    egress_fixture f;
    static char bytes[ARCP__EGRESS_HELLO_MAX + 1];
    egress_fixture_open(&f, LEASE);
    egress_fixture_connect_name(&f, "api.test");
    /* A hello of 16 MB, of which the beginning is sent in one record after the other. */
    for (size_t at = 0; at < sizeof bytes; at += 5 + 0x400) {
        memcpy(bytes + at, "\x16\x03\x01\x04\x00", sizeof bytes - at < 5 ? sizeof bytes - at : 5);
    }
    memcpy(bytes + 5, "\x01\xff\xff\xff", 4);
    raw_peer_send(&f.client, arcp_span_make(bytes, sizeof bytes));
    raw_peer_expect(&f.client, "\x15\x03\x03");
    assert_int_equal(f.denied, 1);
    assert_int_equal(answers.asked, 0);
    egress_fixture_close(&f);
}

static void a_tunnel_without_a_server_ends_with_an_alert(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    answers.error = UV_EAI_NONAME;
    egress_fixture_connect_name(&f, "api.test");
    egress_send_hello(&f.client, "api.test");
    raw_peer_expect_end(&f.client);
    assert_int_equal(f.client.received.size, 7);
    assert_memory_equal(f.client.received.data, "\x15\x03\x03\x00\x02\x02\x50", 7);
    assert_int_equal(f.denied, 0);
    assert_int_equal(arcp__egress_count(f.egress).failed, 1);
    egress_fixture_close(&f);
}

static void another_protocol_that_is_not_granted_is_reported(void **state)
{
    static const char *const sent[] = {"SSH-2.0-x\r\n", "\x01\x02\x03", "EHLO h\r\n"};
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        egress_fixture f;
        egress_fixture_open(&f, LEASE);
        egress_fixture_connect_name(&f, "api.test");
        raw_peer_send_text(&f.client, sent[i]);
        raw_peer_expect(&f.client, "HTTP/1.1 400 ");
        assert_int_equal(f.denied, 1);
        arcp_buf target = egress_fixture_text(&f, "tcp://api.test:PORT");
        assert_string_equal(f.target, arcp_buf_cstr(&target));
        assert_string_equal(f.reason, "what was sent is neither TLS nor HTTP/1.1");
        arcp_buf_fini(&target);
        egress_fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tunnel_without_a_server_ends_with_an_alert),
        cmocka_unit_test(another_protocol_that_is_not_granted_is_reported),
        cmocka_unit_test(a_tls_connection_to_a_host_that_is_wholly_granted_is_a_tunnel),
        cmocka_unit_test(a_hello_may_arrive_in_pieces),
        cmocka_unit_test(a_tunnel_can_be_closed_one_way_first),
        cmocka_unit_test(a_hello_that_is_too_long_is_denied),
        cmocka_unit_test(tls_that_the_lease_does_not_grant_is_closed_with_an_alert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
