#include "support/check.h"

#include "transport/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* ---- HOST[:PORT] ---- */

typedef struct authority_row {
    const char *text;
    const char *want; /* formatted again; NULL: refused */
    bool loopback;
} authority_row;

static const authority_row authorities[] = {
    {"localhost", "localhost", true},
    {"LOCALHOST", "localhost", true},
    {"localhost.", "localhost", true},
    {"LocalHost:7777", "localhost:7777", true},
    {"127.0.0.1", "127.0.0.1", true},
    {"127.0.0.1:7777", "127.0.0.1:7777", true},
    {"127.255.0.9", "127.255.0.9", true},
    {"[::1]", "[::1]", true},
    {"[::1]:7777", "[::1]:7777", true},
    {"[0:0:0:0:0:0:0:1]:1", "[::1]:1", true},
    {"[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]", true},
    {"example.org", "example.org", false},
    {"Example.ORG.", "example.org", false},
    {"my_host-1.example.org:65535", "my_host-1.example.org:65535", false},
    {"10.0.0.1", "10.0.0.1", false},
    {"0.0.0.0:7777", "0.0.0.0:7777", false},
    {"[2001:DB8::1]", "[2001:db8::1]", false},
    {"[::]", "[::]", false},
    {"localhost.evil.com", "localhost.evil.com", false},
    {"127.0.0.1.nip.io", "127.0.0.1.nip.io", false},
    {"127.1", "127.1", false},           /* an address for browsers, a name here */
    {"2130706433", "2130706433", false}, /* an address for browsers, a name here */
    {"0x7f.0.0.1", "0x7f.0.0.1", false}, /* an address for browsers, a name here */
    {"0127.0.0.1", "0127.0.0.1", false}, /* an address for browsers, a name here */
    {"xn--bcher-kva.example", "xn--bcher-kva.example", false},
    {"", NULL, false},
    {".", NULL, false},
    {"..", NULL, false},
    {".localhost", NULL, false},
    {"localhost..", NULL, false},
    {"a..b", NULL, false},
    {"127.0.0.1.", NULL, false},
    {"[::1", NULL, false},
    {"::1", NULL, false},
    {"::1:7777", NULL, false},
    {"[::1]7777", NULL, false},
    {"[::1]:", NULL, false},
    {"[::1]:x", NULL, false},
    {"[]", NULL, false},
    {"[localhost]", NULL, false},
    {"[127.0.0.1]", NULL, false},
    {"[fe80::1%eth0]", NULL, false},
    {"[::1]]", NULL, false},
    {"localhost:", NULL, false},
    {"localhost:0", NULL, false},
    {"localhost:65536", NULL, false},
    {"localhost:99999", NULL, false},
    {"localhost:123456", NULL, false},
    {"localhost:-1", NULL, false},
    {"localhost:+1", NULL, false},
    {"localhost: 1", NULL, false},
    {"localhost:77:77", NULL, false},
    {":7777", NULL, false},
    {" localhost", NULL, false},
    {"localhost ", NULL, false},
    {"local host", NULL, false},
    {"user@localhost", NULL, false},
    {"localhost/", NULL, false},
    {"local%68ost", NULL, false},
    {"b\xc3\xbc"
     "cher.example",
     NULL, false},
};

static void hosts_are_normalised(void **state)
{
    for (size_t i = 0; i < sizeof authorities / sizeof authorities[0]; i++) {
        const authority_row *row = &authorities[i];
        arcp__authority authority;
        const bool valid = arcp__authority_parse(arcp_span_cstr(row->text), false, &authority);
        if (valid != (row->want != NULL)) {
            fail_msg("\"%s\" is %s", row->text, valid ? "accepted" : "refused");
        }
        if (!valid) {
            continue;
        }
        char text[300];
        arcp__authority_format(&authority, text, sizeof text);
        if (strcmp(text, row->want) != 0 ||
            arcp__authority_is_loopback(&authority) != row->loopback) {
            fail_msg("\"%s\" became \"%s\"", row->text, text);
        }
    }
}

static void names_are_limited_to_the_length_of_dns(void **state)
{
    char label[80];
    arcp__authority authority;
    memset(label, 'a', sizeof label);
    assert_true(arcp__authority_parse(arcp_span_make(label, 63), false, &authority));
    assert_false(arcp__authority_parse(arcp_span_make(label, 64), false, &authority));
    char name[300];
    for (size_t i = 0; i < sizeof name; i++) {
        name[i] = i % 50 == 49 ? '.' : 'a';
    }
    assert_true(arcp__authority_parse(arcp_span_make(name, ARCP__HOST_MAX), false, &authority));
    assert_int_equal(strlen(authority.host), ARCP__HOST_MAX);
    assert_false(
        arcp__authority_parse(arcp_span_make(name, ARCP__HOST_MAX + 1), false, &authority));
}

static void port_zero_is_only_for_listeners(void **state)
{
    arcp__authority authority;
    assert_true(arcp__authority_parse(ARCP_SPAN_LITERAL("localhost:0"), true, &authority));
    assert_true(authority.has_port);
    assert_int_equal(authority.port, 0);
}

/* ---- URLs ---- */

typedef struct url_row {
    const char *text;
    arcp__url_scheme scheme;
    const char *want; /* formatted again, or what follows the scheme; NULL: refused */
    const char *message;
} url_row;

static const url_row urls[] = {
    {"ws://127.0.0.1:7777/arcp", ARCP__URL_WS, "ws://127.0.0.1:7777/arcp", ""},
    {"WS://LocalHost:7777", ARCP__URL_WS, "ws://localhost:7777/arcp", ""},
    {"ws://localhost", ARCP__URL_WS, "ws://localhost:80/arcp", ""},
    {"wss://example.org", ARCP__URL_WSS, "wss://example.org:443/arcp", ""},
    {"wss://example.org/", ARCP__URL_WSS, "wss://example.org:443/", ""},
    {"ws://[::1]:0/a/b?c=d", ARCP__URL_WS, "ws://[::1]:0/a/b?c=d", ""},
    {"stdio:arcpd --stdio", ARCP__URL_STDIO, "arcpd --stdio", ""},
    {"stdio:", ARCP__URL_STDIO, "", ""},
    {"memory:here", ARCP__URL_MEMORY, "here", ""},
    {"unix:/run/arcpd.sock", ARCP__URL_UNIX, "/run/arcpd.sock", ""},
    {"http://localhost/", ARCP__URL_WS, NULL, "expected ws://"},
    {"ws:localhost", ARCP__URL_WS, NULL, "expected ws://"},
    {"", ARCP__URL_WS, NULL, "expected ws://"},
    {"localhost:7777", ARCP__URL_WS, NULL, "expected ws://"},
    {"ws://", ARCP__URL_WS, NULL, "expected a valid HOST"},
    {"ws:///arcp", ARCP__URL_WS, NULL, "expected a valid HOST"},
    {"ws://localhost:99999/", ARCP__URL_WS, NULL, "expected a valid HOST"},
    {"ws://localhost:port/", ARCP__URL_WS, NULL, "expected a valid HOST"},
    {"ws://::1:7777/", ARCP__URL_WS, NULL, "expected a valid HOST"},
    {"ws://localhost?x", ARCP__URL_WS, NULL, "expected a path before the query"},
    {"ws://localhost/a#b", ARCP__URL_WS, NULL, "fragment"},
    {"ws://localhost#b", ARCP__URL_WS, NULL, "expected a path"},
    {"ws://localhost/a b", ARCP__URL_WS, NULL, "printable ASCII"},
    {"ws://localhost/\xc3\xbc", ARCP__URL_WS, NULL, "printable ASCII"},
    {"ws://localhost/\r\nHost: evil", ARCP__URL_WS, NULL, "printable ASCII"},
};

static void urls_are_parsed_and_formatted(void **state)
{
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        const url_row *row = &urls[i];
        arcp__url url;
        arcp_error err = {0};
        const arcp_status status = arcp__url_parse(arcp_span_cstr(row->text), &url, &err);
        if ((status == ARCP_OK) != (row->want != NULL)) {
            fail_msg("\"%s\" is %s", row->text, status == ARCP_OK ? "accepted" : "refused");
        }
        if (status != ARCP_OK) {
            assert_int_equal(status, ARCP_E_USAGE);
            if (strstr(err.message, row->message) == NULL) {
                fail_msg("\"%s\": %s", row->text, err.message);
            }
            continue;
        }
        assert_int_equal(url.scheme, row->scheme);
        if (url.scheme == ARCP__URL_WS || url.scheme == ARCP__URL_WSS) {
            char text[ARCP__URL_TEXT_MAX];
            arcp__url_format(&url, text);
            assert_string_equal(text, row->want);
        } else {
            check_span(url.rest, row->want);
        }
    }
}

static void credentials_in_a_url_are_refused_and_not_repeated(void **state)
{
    arcp__url url;
    arcp_error err = {0};
    const arcp_span text = ARCP_SPAN_LITERAL("ws://user:hunter2@localhost/");
    assert_int_equal(arcp__url_parse(text, &url, &err), ARCP_E_USAGE);
    assert_non_null(strstr(err.message, "credentials"));
    assert_null(strstr(err.message, "hunter2"));
}

static void paths_have_a_limit(void **state)
{
    char text[ARCP__PATH_MAX + 32];
    arcp__url url;
    arcp_error err = {0};
    const size_t host = strlen("ws://h");
    memset(text, '/', sizeof text);
    memcpy(text, "ws://h", host);
    check_ok(arcp__url_parse(arcp_span_make(text, host + ARCP__PATH_MAX), &url, &err), &err);
    assert_int_equal(arcp__url_parse(arcp_span_make(text, host + ARCP__PATH_MAX + 1), &url, &err),
                     ARCP_E_USAGE);
    assert_non_null(strstr(err.message, "too long"));
}

/* ---- socket addresses ---- */

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&storage;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(7777);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(7777);
    }
    return storage;
}

static void socket_addresses_are_formatted(void **state)
{
    static const char *const rows[][2] = {
        {"127.0.0.1", "127.0.0.1:7777"},
        {"::1", "[::1]:7777"},
        {"2001:db8::5", "[2001:db8::5]:7777"},
        {"::ffff:10.1.2.3", "10.1.2.3:7777"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sockaddr_storage storage = address(rows[i][0]);
        arcp__authority authority;
        char text[64];
        arcp__socket_authority(&storage, &authority);
        arcp__authority_format(&authority, text, sizeof text);
        assert_string_equal(text, rows[i][1]);
    }
}

static void a_peer_is_an_ipv4_address_or_an_ipv6_network(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"10.0.0.1", "::ffff:10.0.0.1", true},
        {"2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true},
        {"2001:db8:0:1::1", "2001:db8:0:2::1", false},
        {"10.0.0.1", "2001:db8::1", false},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.2", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sockaddr_storage a = address(rows[i].a);
        struct sockaddr_storage b = address(rows[i].b);
        const struct in6_addr peer_a = arcp__socket_peer(&a);
        const struct in6_addr peer_b = arcp__socket_peer(&b);
        if ((memcmp(&peer_a, &peer_b, sizeof peer_a) == 0) != rows[i].same) {
            fail_msg("%s and %s", rows[i].a, rows[i].b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_normalised),
        cmocka_unit_test(names_are_limited_to_the_length_of_dns),
        cmocka_unit_test(port_zero_is_only_for_listeners),
        cmocka_unit_test(urls_are_parsed_and_formatted),
        cmocka_unit_test(credentials_in_a_url_are_refused_and_not_repeated),
        cmocka_unit_test(paths_have_a_limit),
        cmocka_unit_test(socket_addresses_are_formatted),
        cmocka_unit_test(a_peer_is_an_ipv4_address_or_an_ipv6_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
