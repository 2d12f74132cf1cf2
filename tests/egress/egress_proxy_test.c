/* The explicit proxy: CONNECT, and requests whose target is a URL. */
#include "egress/egress_fixture.h"

#define LEASE                                                                                      \
    "[\"http://api.test:PORT/v1/**\", \"https://api.test:PORT/**\", "                              \
    "\"http://other.test:PORT/**\", "                                                              \
    "\"http://localhost:PORT/**\", \"ssh://git.test:PORT/**\"]"
#define CONNECT(host) "CONNECT " host " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define CONNECTED     "HTTP/1.1 200 Connection established\r\n\r\n"
#define OK            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void open_and_send(egress_fixture *f, const char *text)
{
    egress_fixture_open(f, LEASE);
    egress_fixture_connect(f, &f->client, "127.0.0.1", ARCP__EGRESS_PROXY_PORT);
    egress_fixture_send(f, &f->client, text);
}

static void serve(egress_fixture *f, const char *request)
{
    arcp_buf text = egress_fixture_text(f, request);
    egress_fixture_accept(f);
    raw_peer_expect(&f->server, arcp_buf_cstr(&text));
    raw_peer_send_text(&f->server, OK);
    raw_peer_expect(&f->client, "\r\n\r\nok");
    raw_peer_forget(&f->client);
    arcp_buf_fini(&text);
}

static void a_tls_connection_after_connect_is_a_tunnel(void **state)
{
    egress_fixture f;
    open_and_send(&f, CONNECT("api.test:PORT"));
    raw_peer_expect(&f.client, CONNECTED);
    raw_peer_forget(&f.client);
    assert_int_equal(answers.asked, 0);
    egress_send_hello(&f.client, "api.test");
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "\x16\x03");
    raw_peer_send_text(&f.server, "back");
    raw_peer_expect(&f.client, "back");
    assert_int_equal(f.denied, 0);
    egress_fixture_close(&f);
}

static void tls_after_connect_must_be_for_the_same_name(void **state)
{
    egress_fixture f;
    open_and_send(&f, CONNECT("api.test:PORT"));
    egress_send_hello(&f.client, "other.test");
    raw_peer_expect(&f.client, CONNECTED "\x15\x03\x03");
    assert_int_equal(f.denied, 1);
    assert_int_equal(answers.asked, 0);
    egress_fixture_close(&f);
}

static void requests_after_connect_are_decided(void **state)
{
    egress_fixture f;
    open_and_send(&f, CONNECT("api.test:PORT") "GET /v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n");
    serve(&f, "GET /v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n");
    egress_fixture_send(&f, &f.client, "GET /v2 HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n");
    raw_peer_expect(&f.client, "HTTP/1.1 403 ");
    raw_peer_expect(&f.client, "}\n");
    egress_fixture_send(&f, &f.client, "GET /v1 HTTP/1.1\r\nHost: other.test:PORT\r\n\r\n");
    raw_peer_expect(&f.client, "HTTP/1.1 421 ");
    egress_fixture_send(&f, &f.client, CONNECT("other.test:PORT"));
    raw_peer_expect(&f.client, "HTTP/1.1 400 ");
    assert_int_equal(f.denied, 2);
    egress_fixture_close(&f);
}

static void another_protocol_after_connect_is_reported(void **state)
{
    egress_fixture f;
    open_and_send(&f, CONNECT("api.test:PORT") "SSH-2.0-x\r\n");
    raw_peer_expect(&f.client, "HTTP/1.1 400 ");
    assert_int_equal(f.denied, 1);
    assert_non_null(strstr(f.target, "tcp://api.test:"));
    egress_fixture_close(&f);
}

static void a_protocol_that_is_granted_as_a_whole_needs_no_first_byte(void **state)
{
    egress_fixture f;
    const arcp_span hosts[] = {ARCP_SPAN_LITERAL("git.test")};
    open_and_send(&f, "");
    (void)snprintf(f.egress->private_hosts[0].text, sizeof f.egress->private_hosts[0].text, "%s",
                   hosts[0].data);
    egress_fixture_send(&f, &f.client, CONNECT("git.test:PORT"));
    egress_fixture_accept(&f);
    raw_peer_send_text(&f.server, "SSH-2.0-server\r\n");
    raw_peer_expect(&f.client, CONNECTED "SSH-2.0-server\r\n");
    raw_peer_send_text(&f.client, "SSH-2.0-client\r\n");
    raw_peer_expect(&f.server, "SSH-2.0-client\r\n");
    egress_fixture_close(&f);
}

static void each_url_is_decided_and_may_be_of_another_host(void **state)
{
    egress_fixture f;
    open_and_send(&f, "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n"
                      "Proxy-Connection: keep-alive\r\n\r\n");
    serve(&f, "GET /v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n");
    egress_fixture_send(&f, &f.client,
                        "GET HTTP://OTHER.test:PORT HTTP/1.1\r\nHost: other.test:PORT\r\n\r\n");
    serve(&f, "GET / HTTP/1.1\r\nHost: other.test:PORT\r\n\r\n");
    egress_fixture_send(&f, &f.client,
                        "GET http://localhost:PORT/ HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n");
    serve(&f, "GET / HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n");
    egress_fixture_send(&f, &f.client,
                        "GET http://api.test:PORT/v2 HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n");
    raw_peer_expect(&f.client, "HTTP/1.1 403 ");
    assert_int_equal(f.denied, 1);
    assert_int_equal(answers.asked, 2);
    egress_fixture_close(&f);
}

typedef struct refused {
    const char *name, *sent, *answer;
    bool is_denial;
} refused;

static const refused rows[] = {
    {"CONNECT to a host that is not granted", CONNECT("evil.test:443"), "HTTP/1.1 403 ", true},
    {"CONNECT to an address that is not granted", CONNECT("169.254.169.254:80"), "HTTP/1.1 403 ",
     true},
    {"CONNECT to an address of IPv6", CONNECT("[::ffff:7f00:1]:80"), "HTTP/1.1 403 ", true},
    {"CONNECT to a number", CONNECT("2852039166:80"), "HTTP/1.1 40", false},
    {"CONNECT without a port", CONNECT("api.test"), "HTTP/1.1 400 ", false},
    {"CONNECT with user information", CONNECT("x@api.test:443"), "HTTP/1.1 400 ", false},
    {"CONNECT with a body",
     "CONNECT api.test:PORT HTTP/1.1\r\nHost: api.test:PORT\r\nContent-Length: 1\r\n\r\nx",
     "HTTP/1.1 400 ", false},
    {"a URL that is not granted", "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
     "HTTP/1.1 403 ", true},
    {"a URL and a Host that differ",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: other.test:PORT\r\n\r\n", "HTTP/1.1 421 ",
     false},
    {"a path", "GET /v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n", "HTTP/1.1 400 ", false},
    {"a URL of https", "GET https://api.test:PORT/ HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n",
     "HTTP/1.1 400 ", false},
    {"bytes of another protocol after CONNECT", CONNECT("api.test:PORT") "\x01\x02\x03",
     CONNECTED "HTTP/1.1 400 ", false},
};

static void is_refused(void **state)
{
    const refused *row = *state;
    egress_fixture f;
    open_and_send(&f, row->sent);
    raw_peer_expect(&f.client, "}\n");
    if (strstr(arcp_buf_cstr(&f.client.received), row->answer) != f.client.received.data) {
        fail_msg("the response is \"%s\"", arcp_buf_cstr(&f.client.received));
    }
    assert_true(!row->is_denial || f.denied == 1);
    assert_int_equal(answers.asked, 0);
    egress_fixture_close(&f);
}

static void the_proxy_is_not_spoken_to_with_tls(void **state)
{
    egress_fixture f;
    open_and_send(&f, "");
    egress_send_hello(&f.client, "api.test");
    raw_peer_expect_end(&f.client);
    assert_int_equal(f.client.received.size, 0);
    egress_fixture_close(&f);
}

/* ---- a proxy that others can connect to ---- */

/* Of arcp:s3cret, of another secret, and of another user. */
#define CREDENTIAL   "Proxy-Authorization: Basic YXJjcDpzM2NyZXQ=\r\n"
#define OTHER_SECRET "Proxy-Authorization: Basic YXJjcDpzM2NyZXR=\r\n"
#define OTHER_USER   "Proxy-Authorization: Basic YXJjUDpzM2NyZXQ=\r\n"
#define ASKED        "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Type: application/json\r\n"

static void open_proxy(egress_fixture *f, const char *text)
{
    egress_fixture_open_proxy(f, LEASE, "s3cret");
    /* The port says nothing: it is one of the host. */
    egress_fixture_connect(f, &f->client, "127.0.0.1", 53);
    egress_fixture_send(f, &f->client, text);
}

static void a_request_with_the_secret_is_served_and_its_credential_stays_here(void **state)
{
    egress_fixture f;
    open_proxy(&f, "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n" CREDENTIAL
                   "\r\n");
    serve(&f, "GET /v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n");
    /* Each request is asked, also on a connection that was served before. */
    egress_fixture_send(&f, &f.client,
                        "GET http://api.test:PORT/v1/b HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n");
    raw_peer_expect(&f.client, ASKED);
    egress_fixture_close(&f);
}

static void a_tunnel_with_the_secret_is_one(void **state)
{
    egress_fixture f;
    open_proxy(&f, "CONNECT api.test:PORT HTTP/1.1\r\nHost: api.test:PORT\r\n"
                   "proxy-authorization: basic YXJjcDpzM2NyZXQ=\r\n\r\n");
    raw_peer_expect(&f.client, CONNECTED);
    raw_peer_forget(&f.client);
    egress_send_hello(&f.client, "api.test");
    egress_fixture_accept(&f);
    raw_peer_expect(&f.server, "\x16\x03");
    egress_fixture_close(&f);
}

static void a_client_that_is_asked_sends_the_secret_on_the_same_connection(void **state)
{
    egress_fixture f;
    open_proxy(&f, CONNECT("api.test:PORT"));
    raw_peer_expect(&f.client, ASKED);
    raw_peer_expect(&f.client, "Proxy-Authenticate: Basic realm=\"arcp\"\r\n");
    raw_peer_expect(&f.client, "}\n");
    raw_peer_forget(&f.client);
    egress_fixture_send(&f, &f.client,
                        "CONNECT api.test:PORT HTTP/1.1\r\nHost: api.test:PORT\r\n" CREDENTIAL
                        "\r\n");
    raw_peer_expect(&f.client, CONNECTED);
    assert_int_equal(f.denied, 0);
    egress_fixture_close(&f);
}

static const refused strangers[] = {
    {"a URL without a credential",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n\r\n", ASKED, false},
    {"a tunnel without a credential", CONNECT("api.test:PORT"), ASKED, false},
    {"a URL that is not granted", "GET http://closed.test/ HTTP/1.1\r\nHost: closed.test\r\n\r\n",
     ASKED, false},
    {"another secret",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n" OTHER_SECRET "\r\n", ASKED,
     false},
    {"another user",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n" OTHER_USER "\r\n", ASKED,
     false},
    {"the secret twice",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n" CREDENTIAL CREDENTIAL
     "\r\n",
     ASKED, false},
    {"another scheme",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n"
     "Proxy-Authorization: Digest YXJjcDpzM2NyZXQ=\r\n\r\n",
     ASKED, false},
    {"a beginning of the secret",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n"
     "Proxy-Authorization: Basic YXJj\r\n\r\n",
     ASKED, false},
    {"an empty credential",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n"
     "Proxy-Authorization: Basic \r\n\r\n",
     ASKED, false},
    {"the secret as one of the server's",
     "GET http://api.test:PORT/v1/a HTTP/1.1\r\nHost: api.test:PORT\r\n"
     "Authorization: Basic YXJjcDpzM2NyZXQ=\r\n\r\n",
     ASKED, false},
};

/* Nothing is decided for a stranger, so nothing is reported as the program's denial. */
static void is_not_served(void **state)
{
    const refused *row = *state;
    egress_fixture f;
    open_proxy(&f, row->sent);
    raw_peer_expect(&f.client, "}\n");
    if (strstr(arcp_buf_cstr(&f.client.received), row->answer) != f.client.received.data) {
        fail_msg("the response is \"%s\"", arcp_buf_cstr(&f.client.received));
    }
    assert_int_equal(f.denied, 0);
    assert_int_equal(answers.asked, 0);
    egress_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tls_connection_after_connect_is_a_tunnel),
        cmocka_unit_test(tls_after_connect_must_be_for_the_same_name),
        cmocka_unit_test(another_protocol_after_connect_is_reported),
        cmocka_unit_test(requests_after_connect_are_decided),
        cmocka_unit_test(a_protocol_that_is_granted_as_a_whole_needs_no_first_byte),
        cmocka_unit_test(each_url_is_decided_and_may_be_of_another_host),
        cmocka_unit_test(the_proxy_is_not_spoken_to_with_tls),
        cmocka_unit_test(a_request_with_the_secret_is_served_and_its_credential_stays_here),
        cmocka_unit_test(a_tunnel_with_the_secret_is_one),
        cmocka_unit_test(a_client_that_is_asked_sends_the_secret_on_the_same_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows(rows, sizeof rows / sizeof rows[0], sizeof rows[0], is_refused) +
           run_rows(strangers, sizeof strangers / sizeof strangers[0], sizeof strangers[0],
                    is_not_served);
}
