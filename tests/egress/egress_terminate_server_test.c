/* Servers outside that are not trusted are not sent a request that came over terminated TLS. */
#include "egress/egress_tls_fixture.h"

typedef struct untrusted {
    const char *name;
    const char *certificate, *key; /* NULL: the test's own, of which the authority is not trusted */
    const char *answer;
} untrusted;

static const untrusted untrusted_rows[] = {
    {"an expired certificate", test_tls_files.expired, test_tls_files.expired_key, "has expired"},
    {"a certificate of another host", test_tls_files.wrong_name, test_tls_files.wrong_name_key,
     "hostname mismatch"},
    {"a certificate of an unknown authority", NULL, NULL, "unable to get local issuer"},
};

static void is_not_trusted(void **state)
{
    const untrusted *row = *state;
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    arcp_error err = {0};
    tls_open_inside(&f, &client);
    if (row->certificate == NULL) {
        arcp__tls_context_free(f.egress->tls);
        check_ok(arcp__tls_context_new_client(test_tls_files.other_ca, &f.egress->tls, &err), &err);
    }
    tls_send(&f, &client, "POST /v1/a HTTP/1.1\r\n" HOST "Content-Length: 6\r\n\r\nsecret");
    tls_server(&server, &f,
               row->certificate == NULL ? test_tls_files.certificate : row->certificate,
               row->certificate == NULL ? test_tls_files.key : row->key);
    tls_expect(&f, &client, &server, &client, row->answer);
    assert_int_equal(server.received.size, 0);
    assert_int_equal(arcp__egress_count(f.egress).failed, 1);
    tls_close_both(&f, &client, &server);
}

static void a_server_that_does_not_shake_hands_is_given_up(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_open_inside(&f, &client);
    f.egress->dial_ms = 30;
    tls_send(&f, &client, GET "\r\n");
    egress_fixture_accept(&f);
    egress_fixture_pass_ms(&f, 60);
    tls_expect(&f, &client, NULL, &client, "in time");
    tls_close_both(&f, &client, NULL);
}

static void a_server_that_does_not_speak_tls_is_not_sent_the_request(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_open_inside(&f, &client);
    tls_send(&f, &client, GET "\r\n");
    egress_fixture_accept(&f);
    raw_peer_send_text(&f.server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    tls_expect(&f, &client, NULL, &client, "502 ");
    raw_peer_poll(&f.server);
    assert_true(f.server.received.size > 0); /* a hello */
    assert_null(memmem(f.server.received.data, f.server.received.size, "/v1/a", 5));
    tls_close_both(&f, &client, NULL);
}

static void a_connection_goes_on_with_the_session_of_the_one_before(void **state)
{
    static const int versions[] = {0, TLS1_2_VERSION};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        egress_fixture f;
        tls_server_version = versions[i];
        egress_fixture_open_tls(&f, LEASE, 0);
        assert_false(tls_exchange(&f));
        assert_true(tls_exchange(&f));
        assert_true(tls_exchange(&f));
        egress_fixture_close(&f);
        egress_fixture_open_tls(&f, LEASE, 0); /* another job */
        assert_false(tls_exchange(&f));
        egress_fixture_close(&f);
    }
    tls_server_version = 0;
}

static void a_server_without_the_secret_of_a_session_needs_its_certificate(void **state)
{
    egress_fixture f;
    tls_peer client;
    tls_peer server;
    egress_fixture_open_tls(&f, LEASE, 0);
    assert_false(tls_exchange(&f));
    tls_server_secret[0]++;
    assert_false(tls_exchange(&f));
    tls_server_secret[0]++;
    egress_fixture_connect(&f, &f.client, "127.0.0.1", f.port);
    tls_client(&client, &f, "localhost");
    tls_shake(&f, &client);
    tls_send(&f, &client, GET "\r\n");
    tls_server(&server, &f, test_tls_files.wrong_name, test_tls_files.wrong_name_key);
    tls_expect(&f, &client, &server, &client, "hostname mismatch");
    assert_int_equal(server.received.size, 0);
    tls_close_both(&f, &client, &server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_goes_on_with_the_session_of_the_one_before),
        cmocka_unit_test(a_server_without_the_secret_of_a_session_needs_its_certificate),
        cmocka_unit_test(a_server_that_does_not_shake_hands_is_given_up),
        cmocka_unit_test(a_server_that_does_not_speak_tls_is_not_sent_the_request),
    };
    tls_files_make(&test_tls_files);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL) +
                       run_rows(untrusted_rows, sizeof untrusted_rows / sizeof untrusted_rows[0],
                                sizeof untrusted_rows[0], is_not_trusted);
    tls_files_remove(&test_tls_files);
    return failed;
}
