/* The names of a job: their form, which of them a lease reaches, and their addresses. */
#include "egress/egress_names.h"

#include "egress/egress.h"
#include "egress/egress_rig.h"

#define LONG_LABEL "a23456789012345678901234567890123456789012345678901234567890123"

typedef struct form_case {
    const char *name;
    const char *canonical; /* NULL: it is no host name */
} form_case;

static const form_case forms[] = {
    {"example.com", "example.com"},
    {"Example.COM", "example.com"},
    {"example.com.", "example.com"},
    {"a", "a"},
    {"_dmarc.a-b.example", "_dmarc.a-b.example"},
    {"xn--bcher-kva.example", "xn--bcher-kva.example"},
    {"1password.com", "1password.com"},
    {"1.2.3.4.example", "1.2.3.4.example"},
    {"0xg", "0xg"},
    {LONG_LABEL, LONG_LABEL},
    {LONG_LABEL "4", NULL},
    {"", NULL},
    {".", NULL},
    {"..", NULL},
    {".a", NULL},
    {"a..b", NULL},
    {"a..", NULL},
    {"a b", NULL},
    {"a/b", NULL},
    {"a:80", NULL},
    {"a@b", NULL},
    {"a%62", NULL},
    {"*.a", NULL},
    {"b\xc3\xbc"
     "cher.example",
     NULL},
    {"1.2.3.4", NULL},
    {"1.2.3.4.", NULL},
    {"127.1", NULL},
    {"2130706433", NULL},
    {"0x7f000001", NULL},
    {"0X7F.1", NULL},
    {"0177.0.0.1", NULL},
    {"a.0x", NULL},
    {"a.7", NULL},
    {"[::1]", NULL},
};

static void a_name_has_one_form(void **state)
{
    const form_case *row = *state;
    char out[ARCP__EGRESS_NAME_MAX + 1] = "before";
    const bool is_name = arcp__egress_name_canonical(arcp_span_cstr(row->name), out);
    assert_int_equal(is_name, row->canonical != NULL);
    assert_string_equal(out, row->canonical == NULL ? "" : row->canonical);
}

static void a_name_has_at_most_253_bytes(void **state)
{
    (void)state;
    char name[ARCP__EGRESS_NAME_MAX + 1];
    char out[ARCP__EGRESS_NAME_MAX + 1];
    memset(name, 'a', sizeof name);
    for (size_t i = 50; i < sizeof name - 1; i += 51) {
        name[i] = '.';
    }
    assert_true(arcp__egress_name_canonical(arcp_span_make(name, ARCP__EGRESS_NAME_MAX), out));
    assert_int_equal(strlen(out), ARCP__EGRESS_NAME_MAX);
    assert_false(arcp__egress_name_canonical(arcp_span_make(name, sizeof name), out));
    /* The dot at the end does not count. */
    name[ARCP__EGRESS_NAME_MAX] = '.';
    assert_true(arcp__egress_name_canonical(arcp_span_make(name, sizeof name), out));
    assert_false(arcp__egress_name_canonical(arcp_span_make("a\0b", 3), out));
}

typedef struct reach_case {
    const char *pattern;
    const char *name;
    bool is_reached;
} reach_case;

static const reach_case reaches[] = {
    {"https://api.example.com/**", "api.example.com", true},
    {"https://api.example.com/**", "secret.api.example.com", false},
    {"https://api.example.com/**", "api.example.co", false},
    {"https://api.example.com/**", "api.example.comm", false},
    {"https://api.example.com/**", "com", false},
    {"https://*.example.com/**", "x.example.com", true},
    {"https://*.example.com/**", "a.b.example.com", true},
    {"https://*.example.com/**", "example.com", false},
    {"https://*.example.com/**", "x.example.org", false},
    {"https://api.example.com/v1/x?q", "api.example.com", true},
    {"https://api.example.com", "api.example.com", false}, /* dead: an http path begins with / */
    {"https://api.example.com:8443/**", "api.example.com", true},
    {"https://api.example.com:*/**", "api.example.com", true},
    {"https://api.example.com:99999/**", "api.example.com", false},
    {"https://api.example.com/../x", "api.example.com", false},
    {"https://API.example.com/**", "api.example.com", false},
    {"https://user@api.example.com/**", "api.example.com", false},
    {"ws://h.example/**", "h.example", true},
    {"ssh://git.example:22/**", "git.example", true},
    {"postgres://db.example:5432", "db.example", true},
    {"file://h.example/**", "h.example", false},
    {"*://h.example/**", "h.example", true},
    {"**", "anything.example", true},
    {"*", "h.example", false},
    {"**/v1", "h.example", true},
    {"**.example.com/**", "x.example.com", true},
    {"https://**.csv", "h.example", true},
    {"http://localhost:8080/**", "localhost", true},
    {"http://127.0.0.1:8080/**", "localhost", false},
    {"http://llm.arcp/**", "llm.arcp", false},
    {"**", "arcp", false},
    {"**", "x.arcp", false},
    {"**", "xarcp", true},
};

static void a_lease_reaches_the_hosts_of_its_urls(void **state)
{
    const reach_case *row = *state;
    arcp_lease *lease = lease_of(row->pattern, NULL);
    arcp__egress_names *names = names_of(lease);
    const arcp_span name = arcp_span_cstr(row->name);
    assert_int_equal(arcp__egress_names_may_reach(names, name), row->is_reached);
    assert_int_equal(arcp__egress_names_address(names, name) != 0, row->is_reached);
    arcp__egress_names_free(names);
    arcp_lease_unref(lease);
}

static void a_lease_without_net_fetch_reaches_nothing(void **state)
{
    (void)state;
    arcp_lease *lease = lease_of(NULL, NULL);
    arcp__egress_names *names = names_of(lease);
    assert_false(arcp__egress_names_may_reach(names, ARCP_SPAN_LITERAL("h.example")));
    arcp__egress_names_free(names);
    arcp_lease_unref(lease);
}

static void a_name_keeps_its_address_and_an_address_its_name(void **state)
{
    (void)state;
    arcp_lease *lease = lease_of("**", NULL);
    arcp__egress_names *names = names_of(lease);
    char text[32];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < ARCP__EGRESS_NAMES_MAX; i++) {
            (void)snprintf(text, sizeof text, "h%u.example", (unsigned)i);
            assert_int_equal(arcp__egress_names_address(names, arcp_span_cstr(text)),
                             0xc6120010 + i);
            check_span(arcp__egress_names_find(names, 0xc6120010 + i), text);
        }
        /* No address is left, and none is used again. */
        assert_int_equal(arcp__egress_names_address(names, ARCP_SPAN_LITERAL("one.more")), 0);
        assert_true(arcp__egress_names_may_reach(names, ARCP_SPAN_LITERAL("one.more")));
    }
    assert_int_equal(arcp__egress_names_find(names, 0xc612000f).size, 0);
    assert_int_equal(arcp__egress_names_find(names, 0xc6120010 + ARCP__EGRESS_NAMES_MAX).size, 0);
    assert_int_equal(arcp__egress_names_find(names, 0).size, 0);
    assert_int_equal(arcp__egress_names_find(names, UINT32_MAX).size, 0);
    arcp__egress_names_free(names);
    arcp_lease_unref(lease);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_at_most_253_bytes),
        cmocka_unit_test(a_lease_without_net_fetch_reaches_nothing),
        cmocka_unit_test(a_name_keeps_its_address_and_an_address_its_name),
    };
    return run_rows(forms, sizeof forms / sizeof *forms, sizeof *forms, a_name_has_one_form) +
           run_rows(reaches, sizeof reaches / sizeof *reaches, sizeof *reaches,
                    a_lease_reaches_the_hosts_of_its_urls) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
