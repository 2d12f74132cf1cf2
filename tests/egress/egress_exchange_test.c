/* Plain HTTP through egress: what is sent on, what is refused, and what ends a connection. */
#include "egress/egress_fixture.h"

#define LEASE "[\"http://api.test:PORT/v1/**\", \"ws://api.test:PORT/chat\"]"
#define GET   "GET /v1/a?b=c HTTP/1.1\r\nHost: api.test:PORT\r\n"

/* The server receives exactly this text, in which PORT is its port. */
static void check_received(egress_fixture *f, const char *text)
{
    char wanted[4096];
    const char *port = strstr(text, "PORT");
    assert_non_null(port);
    snprintf(wanted, sizeof wanted, "%.*s%u%s", (int)(port - text), text, f->port, port + 4);
    raw_peer_expect(&f->server, wanted);
    assert_int_equal(f->server.received.size, strlen(wanted));
}

static void a_granted_request_is_sent_on_and_its_response_comes_back(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, GET "X-One:  1 \r\n\r\n");
    egress_fixture_accept(&f);
    check_received(&f, "GET /v1/a?b=c HTTP/1.1\r\nHost: api.test:PORT\r\nX-One: 1\r\n\r\n");
    raw_peer_send_text(&f.server, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nY: z\r\n\r\nhello");
    raw_peer_expect(&f.client, "HTTP/1.1 200 OK\r\nY: z\r\nContent-Length: 5\r\n\r\nhello");
    assert_int_equal(f.denied, 0);
    assert_int_equal(arcp__egress_count(f.egress).allowed, 1);
    egress_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_granted_request_is_sent_on_and_its_response_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
