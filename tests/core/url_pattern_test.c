/* Patterns of net.fetch, taken apart. */
#include "core/url_pattern.h"

#include "support/check.h"

typedef struct parts_case {
    const char *pattern;
    arcp__url_kind kind;
    const char *host;
    uint32_t port;
    bool is_any_port, is_spanning, is_whole;
    const char *tail;
} parts_case;

static const parts_case cases[] = {
    {"http://h/**", ARCP__URL_PLAIN, "h", 80, false, false, true, "h"},
    {"ws://h/x", ARCP__URL_PLAIN, "h", 80, false, false, false, "h"},
    {"https://h:8443/**", ARCP__URL_TLS, "h", 8443, false, false, true, "h"},
    {"wss://*.h.example/***", ARCP__URL_TLS, "*.h.example", 443, false, false, true, ".h.example"},
    {"https://h", ARCP__URL_TLS, "h", 443, false, false, false, "h"},
    {"https://h?q", ARCP__URL_TLS, "h", 443, false, false, false, "h"},
    {"https://h/*", ARCP__URL_TLS, "h", 443, false, false, false, "h"},
    {"https://h:*/**", ARCP__URL_TLS, "h:*", 443, true, false, true, "h"},
    {"https://h:80*/**", ARCP__URL_TLS, "h:80*", 443, true, false, true, "h"},
    {"https://h*/**", ARCP__URL_TLS, "h*", 443, true, false, true, ""},
    {"https://h*80/**", ARCP__URL_TLS, "h*80", 443, true, false, true, ""},
    {"https://h*a80/**", ARCP__URL_TLS, "h*a80", 443, false, false, true, "a80"},
    {"https://h*:80/**", ARCP__URL_TLS, "h*", 80, false, false, true, ""},
    {"https://h*8:80/**", ARCP__URL_TLS, "h*8", 80, false, false, true, ""},
    {"https://h**/x", ARCP__URL_TLS, "h**", 443, true, true, false, ""},
    {"https://**.csv", ARCP__URL_TLS, "**.csv", 443, true, true, false, ""},
    {"https://h:65536/**", ARCP__URL_TLS, "h", 0, false, false, true, "h"},
    {"http://[::1]:8080/**", ARCP__URL_PLAIN, "[::1]", 8080, false, false, true, "[::1]"},
    {"http://[::1]/**", ARCP__URL_PLAIN, "[::1]", 80, false, false, true, "[::1]"},
    {"http://[::*]/**", ARCP__URL_PLAIN, "[::*]", 80, false, false, true, "]"},
    {"ssh://h/**", ARCP__URL_OPAQUE, "h", 22, false, false, true, "h"},
    {"redis://h/**", ARCP__URL_OPAQUE, "h", 0, false, false, true, "h"},
    {"redis://h:6379/**", ARCP__URL_OPAQUE, "h", 6379, false, false, true, "h"},
    {"*://h.example/**", ARCP__URL_WILD, "h.example", 0, false, false, true, "h.example"},
    {"http*://*.h:8080/x", ARCP__URL_WILD, "*.h", 8080, false, false, false, ".h"},
    {"**://h/x", ARCP__URL_WILD, "", 0, false, false, false, ""},
    {"**", ARCP__URL_ANY, "", 0, true, true, false, ""},
    {"***", ARCP__URL_ANY, "", 0, true, true, false, ""},
    {"*", ARCP__URL_WILD, "", 0, false, false, false, ""},
    {"**/x", ARCP__URL_WILD, "", 0, false, false, false, ""},
    {"**/x://h/y", ARCP__URL_WILD, "", 0, false, false, false, ""},
    {"h.example", ARCP__URL_WILD, "", 0, false, false, false, ""},
};

static void a_pattern_has_a_scheme_a_host_and_a_port(void **state)
{
    const parts_case *row = *state;
    const arcp__url_parts parts = arcp__url_take_apart(arcp_span_cstr(row->pattern));
    assert_int_equal(parts.kind, row->kind);
    check_span(parts.host, row->host);
    assert_int_equal(parts.port, row->port);
    assert_int_equal(parts.is_any_port, row->is_any_port);
    assert_int_equal(parts.is_spanning, row->is_spanning);
    assert_int_equal(parts.is_whole, row->is_whole);
    check_span(parts.tail, row->tail);
}

static void a_port_with_a_zero_in_front_is_known(void **state)
{
    (void)state;
    static const char *const with[] = {"https://h:00443/**", "ssh://h:022/**", "http://*:080/x"};
    static const char *const without[] = {"https://h:443/**", "https://h/0", "ssh://h0/**",
                                          "http://h0:80/x", "http://[::0]/x"};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        assert_true(arcp__url_take_apart(arcp_span_cstr(with[i])).has_zero);
    }
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        assert_false(arcp__url_take_apart(arcp_span_cstr(without[i])).has_zero);
    }
}

static void a_url_has_an_origin(void **state)
{
    (void)state;
    check_span(arcp__url_origin(ARCP_SPAN_LITERAL("https://h:8443/a?b")), "https://h:8443");
    check_span(arcp__url_origin(ARCP_SPAN_LITERAL("ws://h?b")), "ws://h");
    check_span(arcp__url_origin(ARCP_SPAN_LITERAL("ssh://[::1]:22")), "ssh://[::1]:22");
    check_span(arcp__url_origin(ARCP_SPAN_LITERAL("h")), "h");
}

static void patterns_grant_all_of_an_origin_together(void **state)
{
    (void)state;
    const arcp_span origin = ARCP_SPAN_LITERAL("https://h");
    const arcp_span patterns[] = {ARCP_SPAN_LITERAL("https://h/v1/**"),
                                  ARCP_SPAN_LITERAL("https://*/**")};
    assert_false(arcp__url_grants_all(patterns, 0, origin, NULL));
    assert_false(arcp__url_grants_all(patterns, 1, origin, NULL));
    assert_true(arcp__url_grants_all(patterns, 2, origin, NULL));
    arcp__lease_work work = {.left = 0};
    assert_false(arcp__url_grants_all(patterns, 2, origin, &work));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_with_a_zero_in_front_is_known),
        cmocka_unit_test(a_url_has_an_origin),
        cmocka_unit_test(patterns_grant_all_of_an_origin_together),
    };
    return run_rows(cases, sizeof cases / sizeof *cases, sizeof *cases,
                    a_pattern_has_a_scheme_a_host_and_a_port) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
