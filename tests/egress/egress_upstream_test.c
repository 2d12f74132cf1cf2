/* Where connections lead: which addresses are dialled, in which order, and which are refused. */
#include "base/alloc.h"
#include "egress/egress_fixture.h"

#include <arpa/inet.h>

#define LEASE                                                                                      \
    "[\"http://api.test:PORT/**\", \"http://evil.test:PORT/**\", \"http://other.test:PORT/**\"]"
#define REQUEST(host) "GET /a HTTP/1.1\r\nHost: " host ":PORT\r\n\r\n"
#define OK            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void serve(egress_fixture *f)
{
    egress_fixture_accept(f);
    raw_peer_expect(&f->server, "\r\n\r\n");
    raw_peer_send_text(&f->server, OK);
    raw_peer_expect(&f->client, "\r\n\r\nok");
}

typedef struct private_row {
    const char *name;
    const char *addresses[ADDRESSES_MAX];
} private_row;

static const private_row private_rows[] = {
    {"loopback", {"127.0.0.1"}},
    {"loopback of IPv6", {"::1"}},
    {"a private network", {"10.0.0.1"}},
    {"another private network", {"192.168.1.1"}},
    {"cloud metadata", {"169.254.169.254"}},
    {"Azure's host", {"168.63.129.16"}},
    {"unspecified", {"0.0.0.0"}},
    {"unspecified of IPv6", {"::"}},
    {"an address inside", {"198.18.0.2"}},
    {"unique local", {"fd00::1"}},
    {"mapped", {"::ffff:127.0.0.1"}},
    {"translated", {"64:ff9b::a00:1"}},
    {"6to4", {"2002:7f00:1::"}},
    {"a public and a private one", {"93.184.216.34", "10.0.0.1"}},
    {"a private and a public one", {"10.0.0.1", "93.184.216.34"}},
};

static void is_not_dialled(void **state)
{
    const private_row *row = *state;
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    memcpy(answers.addresses, row->addresses, sizeof answers.addresses);
    egress_fixture_connect_name(&f, "evil.test");
    egress_fixture_send(&f, &f.client, REQUEST("evil.test"));
    raw_peer_expect(&f.client, "HTTP/1.1 403 ");
    raw_peer_expect(&f.client, "\"reason\":\"NOT_PUBLIC\"");
    arcp_buf url = egress_fixture_text(&f, "http://evil.test:PORT/a");
    assert_string_equal(f.target, arcp_buf_cstr(&url));
    assert_int_equal(f.denied, 1);
    arcp_buf_fini(&url);
    egress_fixture_close(&f);
}

static void an_address_of_this_host_is_not_dialled(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    answers.addresses[0] = "93.184.216.34";
    /* The fixture's host has this address. */
    f.egress->own = arcp__alloc_array(1, sizeof *f.egress->own);
    assert_non_null(f.egress->own);
    assert_true(arcp__egress_address_parse(ARCP_SPAN_LITERAL("93.184.216.34"), 0, f.egress->own));
    f.egress->own_count = 1;
    f.egress->own_ms = uv_now(&f.test.loop);
    egress_fixture_connect_name(&f, "evil.test");
    egress_fixture_send(&f, &f.client, REQUEST("evil.test"));
    raw_peer_expect(&f.client, "HTTP/1.1 403 ");
    assert_int_equal(f.denied, 1);
    egress_fixture_close(&f);
}

static void a_name_is_asked_for_without_the_search_list(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    answers.error = UV_EAI_NONAME;
    egress_fixture_connect_name(&f, "evil.test");
    egress_fixture_send(&f, &f.client, REQUEST("evil.test"));
    raw_peer_expect(&f.client, "HTTP/1.1 502 ");
    assert_string_equal(answers.name, "evil.test.");
    assert_int_equal(f.denied, 0);
    assert_int_equal(arcp__egress_count(f.egress).failed, 1);
    egress_fixture_close(&f);
}

static void a_name_that_may_be_private_is_asked_for_as_it_is(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, REQUEST("api.test"));
    serve(&f);
    assert_string_equal(answers.name, "api.test");
    egress_fixture_close(&f);
}

static void a_name_without_an_address_is_502(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    memset(answers.addresses, 0, sizeof answers.addresses);
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, REQUEST("api.test"));
    raw_peer_expect(&f.client, "HTTP/1.1 502 ");
    egress_fixture_close(&f);
}

static void the_next_address_is_tried_when_one_refuses(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    answers.addresses[0] = "127.0.0.9"; /* the server listens on 127.0.0.1 only */
    answers.addresses[1] = "127.0.0.1";
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, REQUEST("api.test"));
    serve(&f);
    egress_fixture_close(&f);
}

static void a_host_that_refuses_is_502_and_the_connection_goes_on(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    answers.addresses[0] = "127.0.0.9";
    answers.addresses[1] = "127.0.0.8";
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, REQUEST("api.test"));
    raw_peer_expect(&f.client, "HTTP/1.1 502 ");
    raw_peer_expect(&f.client, "}\n");
    raw_peer_forget(&f.client);
    answers.addresses[0] = "127.0.0.1";
    egress_fixture_send(&f, &f.client, REQUEST("api.test"));
    serve(&f);
    assert_int_equal(answers.asked, 2);
    egress_fixture_close(&f);
}

static void a_lookup_that_takes_too_long_is_502(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    f.egress->dial_ms = 20;
    answers.is_silent = true;
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, REQUEST("api.test"));
    raw_peer_expect(&f.client, "HTTP/1.1 502 ");
    egress_answers_end(&f); /* an answer that comes later changes nothing */
    egress_fixture_close(&f);
}

/* Never connects. */
static int connect_silently(arcp__loop_share *share, const struct sockaddr *address,
                            void (*done)(void *user, int result), void *user, arcp__stream **out)
{
    arcp__stream *pair[2];
    arcp_error err = {0};
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    if (ntohl(four->sin_addr.s_addr) == INADDR_LOOPBACK) {
        return arcp__tcp_stream_connect(share, address, done, user, out);
    }
    check_ok(arcp__memory_streams_new(share, pair, &err), &err);
    *out = pair[0];
    arcp__stream_close(&pair[1]);
    return 0;
}

static void an_address_that_does_not_respond_is_given_up(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    f.egress->dial_ms = 20;
    f.egress->system.connect = connect_silently;
    answers.addresses[0] = "10.0.0.1";
    answers.addresses[1] = "127.0.0.1";
    egress_fixture_connect_name(&f, "api.test");
    egress_fixture_send(&f, &f.client, REQUEST("api.test"));
    serve(&f);
    egress_fixture_close(&f);
}

static void a_tunnel_to_a_private_address_is_closed_and_reported(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, "[\"https://evil.test:PORT/**\"]");
    answers.addresses[0] = "10.0.0.1";
    egress_fixture_connect_name(&f, "evil.test");
    egress_send_hello(&f.client, "evil.test");
    raw_peer_expect(&f.client, "\x15\x03\x03");
    assert_int_equal(f.denied, 1);
    assert_string_equal(f.reason, "the address is not public");
    raw_peer_half_close(&f.client);
    raw_peer_expect_end(&f.client);
    egress_fixture_close(&f);
}

/* ---- addresses instead of names ---- */

typedef struct literal {
    const char *name, *lease, *address, *host;
    unsigned status;
} literal;

static const literal literals[] = {
    {"the host's loopback", "[\"http://127.0.0.1:PORT/**\"]", "127.0.0.1", "127.0.0.1", 200},
    {"the host's loopback by name", "[\"http://localhost:PORT/**\"]", "127.0.0.1", "localhost",
     200},
    {"the loopback by another spelling than the lease's", "[\"http://localhost:PORT/**\"]",
     "127.0.0.1", "127.0.0.1", 200},
    {"the loopback of IPv6 by the lease's name", "[\"http://localhost:PORT/**\"]", "::1", "[::1]",
     200},
    {"another loopback address", "[\"http://localhost:PORT/**\"]", "127.0.0.2", "127.0.0.2", 403},
    {"a loopback that the lease does not name", "[\"http://**\"]", "127.0.0.1", "127.0.0.1", 403},
    {"localhost that the lease does not name", "[\"http://**\"]", "127.0.0.1", "localhost", 403},
    {"a private address that the lease does not name", "[\"http://**\"]", "10.1.2.3", "10.1.2.3",
     403},
    {"an address that is not granted", "[\"http://api.test/**\"]", "10.1.2.3", "10.1.2.3", 403},
    {"cloud metadata", "[\"http://**\"]", "169.254.169.254", "169.254.169.254", 403},
    {"an address with the name of another host", "[\"http://api.test:PORT/**\"]", "127.0.0.1",
     "api.test", 421},
    {"an address in another notation", "[\"http://**\"]", "127.0.0.1", "0x7f.1", 421},
};

static void is_literal(void **state)
{
    const literal *row = *state;
    egress_fixture f;
    char text[128];
    egress_fixture_open(&f, row->lease);
    egress_fixture_connect(&f, &f.client, row->address, f.port);
    snprintf(text, sizeof text, "GET /a HTTP/1.1\r\nHost: %s:PORT\r\n\r\n", row->host);
    egress_fixture_send(&f, &f.client, text);
    if (row->status == 200) {
        serve(&f);
    } else {
        snprintf(text, sizeof text, "HTTP/1.1 %u ", row->status);
        raw_peer_expect(&f.client, text);
    }
    assert_int_equal(f.denied, row->status == 403 || row->status == 421);
    assert_int_equal(answers.asked, 0);
    egress_fixture_close(&f);
}

/* The provider is at the fixture's port of this host. */
static void models_of_this_host_are_not_reached_by_any_of_its_addresses(void **state)
{
    static const literal rows[] = {
        {"by the loopback", "[\"http://127.0.0.1:PORT/**\"]", "127.0.0.1", "127.0.0.1", 0},
        {"by another one", "[\"http://127.0.0.2:PORT/**\"]", "127.0.0.2", "127.0.0.2", 0},
        {"by its name", "[\"http://localhost:PORT/**\"]", "127.0.0.1", "localhost", 0},
        {"by an address of IPv6", "[\"http://[::1]:PORT/**\"]", "::1", "[::1]", 0},
        {"by a name that may be private", "[\"http://api.test:PORT/**\"]", NULL, "api.test", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        egress_fixture f;
        char text[128];
        char url[64];
        egress_fixture_open(&f, rows[i].lease);
        (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/v1", f.port);
        const char *const urls[] = {url, NULL};
        arcp_span *hosts = NULL;
        assert_true(
            arcp__egress_model_hosts(&f.egress->arena, urls, &hosts, &f.egress->model_host_count));
        f.egress->model_hosts = hosts;
        arcp__egress_policy_set_models(f.job->policy, hosts, f.egress->model_host_count);
        if (rows[i].address == NULL) {
            egress_fixture_connect_name(&f, rows[i].host);
        } else {
            egress_fixture_connect(&f, &f.client, rows[i].address, f.port);
        }
        snprintf(text, sizeof text, "GET /a HTTP/1.1\r\nHost: %s:PORT\r\n\r\n", rows[i].host);
        egress_fixture_send(&f, &f.client, text);
        raw_peer_expect(&f.client, "HTTP/1.1 403 ");
        assert_int_equal(f.denied, 1);
        assert_string_equal(f.reason, ARCP__EGRESS_REASON_MODEL);
        egress_fixture_close(&f);
    }
}

static void a_connection_to_the_loopback_serves_only_requests_that_name_it(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, "[\"http://127.0.0.1:PORT/a\", \"http://**\"]");
    egress_fixture_connect(&f, &f.client, "127.0.0.1", f.port);
    egress_fixture_send(&f, &f.client, REQUEST("127.0.0.1"));
    serve(&f);
    egress_fixture_send(&f, &f.client, "GET /b HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n");
    raw_peer_expect(&f.client, "HTTP/1.1 403 ");
    assert_int_equal(f.denied, 1);
    egress_fixture_close(&f);
}

static void an_address_inside_that_no_name_has_is_closed_and_reported(void **state)
{
    egress_fixture f;
    char target[64];
    egress_fixture_open(&f, LEASE);
    egress_fixture_connect(&f, &f.client, "198.19.255.254", f.port);
    raw_peer_expect_end(&f.client);
    snprintf(target, sizeof target, "198.19.255.254:%u", f.port);
    assert_string_equal(f.target, target);
    egress_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_of_this_host_is_not_dialled),
        cmocka_unit_test(a_name_is_asked_for_without_the_search_list),
        cmocka_unit_test(a_name_that_may_be_private_is_asked_for_as_it_is),
        cmocka_unit_test(a_name_without_an_address_is_502),
        cmocka_unit_test(the_next_address_is_tried_when_one_refuses),
        cmocka_unit_test(a_host_that_refuses_is_502_and_the_connection_goes_on),
        cmocka_unit_test(a_lookup_that_takes_too_long_is_502),
        cmocka_unit_test(an_address_that_does_not_respond_is_given_up),
        cmocka_unit_test(a_tunnel_to_a_private_address_is_closed_and_reported),
        cmocka_unit_test(models_of_this_host_are_not_reached_by_any_of_its_addresses),
        cmocka_unit_test(a_connection_to_the_loopback_serves_only_requests_that_name_it),
        cmocka_unit_test(an_address_inside_that_no_name_has_is_closed_and_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows(private_rows, sizeof private_rows / sizeof private_rows[0],
                    sizeof private_rows[0], is_not_dialled) +
           run_rows(literals, sizeof literals / sizeof literals[0], sizeof literals[0], is_literal);
}
