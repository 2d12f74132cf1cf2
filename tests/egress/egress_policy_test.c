/* What the policy allows: requests, TLS that stays closed, and other protocols. */
#include "egress/egress_rig.h"

static const arcp_time at_zero = {0, 0};

typedef enum question { PLAIN, UPGRADE, OPENED_TLS, TUNNEL, OPAQUE } question;

typedef struct policy_case {
    const char *name;
    const char *first, *second; /* patterns */
    question question;
    const char *host;
    uint16_t port;
    const char *path;
    const char *url; /* that is reported */
    const char
        *sent; /* the path of an allowed request; "": of an allowed connection; NULL: denied */
    bool names_host;
} policy_case;

static bool decide(arcp__egress_policy *policy, arcp_time now, const policy_case *row,
                   arcp__egress_decision *out)
{
    const arcp__egress_target at = {arcp_span_cstr(row->host), row->port,
                                    row->question == OPENED_TLS};
    const arcp__egress_request request = {.is_upgrade = row->question == UPGRADE,
                                          .path = arcp_span_cstr(row->path)};
    switch (row->question) {
    case TUNNEL:
        return arcp__egress_decide_tunnel(policy, now, &at, out);
    case OPAQUE:
        return arcp__egress_decide_opaque(policy, now, &at, out);
    case PLAIN:
    case UPGRADE:
    case OPENED_TLS:
        break;
    }
    return arcp__egress_decide_request(policy, now, &at, &request, out);
}

static const policy_case cases[] = {
    /* Requests. */
    {"a path that is granted", "http://h/a/*", NULL, PLAIN, "h", 80, "/a/b?c", "http://h/a/b?c",
     "/a/b?c", true},
    {"a path that is not", "http://h/a/*", NULL, PLAIN, "h", 80, "/b", "http://h/b", NULL, false},
    {"another host", "http://h/**", NULL, PLAIN, "i", 80, "/", "http://i/", NULL, false},
    {"the default port, written", "http://h:80/**", NULL, PLAIN, "h", 80, "/x", "http://h:80/x",
     "/x", true},
    {"another port than granted", "http://h/**", NULL, PLAIN, "h", 8080, "/x", "http://h:8080/x",
     NULL, false},
    {"a port that is granted", "http://h:8080/**", NULL, PLAIN, "h", 8080, "/x", "http://h:8080/x",
     "/x", true},
    {"a granted port is no other", "http://h:8080/**", NULL, PLAIN, "h", 80, "/x", "http://h/x",
     NULL, false},
    {"port 443 is no default of http", "http://h/**", NULL, PLAIN, "h", 443, "/x", "http://h:443/x",
     NULL, false},
    {"https does not grant http", "https://h/**", NULL, PLAIN, "h", 80, "/", "http://h/", NULL,
     false},
    {"a request of opened TLS", "https://h/v1/*", NULL, OPENED_TLS, "h", 443, "/v1/x",
     "https://h/v1/x", "/v1/x", true},
    {"a request of opened TLS on its port", "https://h:8443/v1/*", NULL, OPENED_TLS, "h", 8443,
     "/v1/x", "https://h:8443/v1/x", "/v1/x", true},
    {"http does not grant https", "http://h/**", NULL, OPENED_TLS, "h", 443, "/", "https://h/",
     NULL, false},
    {"dot segments are resolved before they are sent", "http://h/a/**", NULL, PLAIN, "h", 80,
     "/a/./b/../c", "http://h/a/c", "/a/c", true},
    {"dot segments that leave the grant", "http://h/a/**", NULL, PLAIN, "h", 80, "/a/../b",
     "http://h/b", NULL, false},
    {"encoded dot segments", "http://h/**", NULL, PLAIN, "h", 80, "/a/%2e%2E/b",
     "http://h/a/%2e%2E/b", NULL, false},
    {"twice encoded dot segments", "http://h/**", NULL, PLAIN, "h", 80, "/a/%252e%252e/b",
     "http://h/a/%252e%252e/b", NULL, false},
    {"a backslash", "http://h/**", NULL, PLAIN, "h", 80, "/a\\..\\b", "http://h/a\\..\\b", NULL,
     false},
    {"a byte that is not ASCII", "http://h/**", NULL, PLAIN, "h", 80, "/\xc3\xa4",
     "http://h/\xc3\xa4", NULL, false},
    {"a space", "http://h/**", NULL, PLAIN, "h", 80, "/a b", "http://h/a b", NULL, false},
    {"a fragment is not sent", "http://h/a", NULL, PLAIN, "h", 80, "/a#/../b", "http://h/a", "/a",
     true},
    {"empty segments are kept", "http://h/a/**", NULL, PLAIN, "h", 80, "/a//b", "http://h/a//b",
     "/a//b", true},
    {"two slashes do not begin another host", "http://h/**", NULL, PLAIN, "h", 80, "//evil/x",
     "http://h//evil/x", "//evil/x", true},
    {"an at sign in the path is no user", "http://h/**", NULL, PLAIN, "h", 80, "/@evil/x",
     "http://h/@evil/x", "/@evil/x", true},
    {"what would go on with the host", "http://h.evil/**", "http://h/**", PLAIN, "h", 80, ".evil/x",
     "http://h/", NULL, false},
    {"what would make the host a user", "http://evil/**", "http://h/**", PLAIN, "h", 80, "@evil/x",
     "http://h/", NULL, false},
    {"what would make the host a port", "http://h:8080/**", "http://h/**", PLAIN, "h", 80,
     ":8080/x", "http://h/", NULL, false},
    {"an absolute form", "http://h/**", NULL, PLAIN, "h", 80, "http://h/x", "http://h/", NULL,
     false},
    {"OPTIONS *", "http://h/**", NULL, PLAIN, "h", 80, "*", "http://h/", NULL, false},
    {"an empty path", "http://h/**", NULL, PLAIN, "h", 80, "", "http://h/", NULL, false},
    {"a query where none is granted", "http://h/a", NULL, PLAIN, "h", 80, "/a?b", "http://h/a?b",
     NULL, false},
    {"an upgrade by ws", "ws://h/**", NULL, UPGRADE, "h", 80, "/x", "ws://h/x", "/x", true},
    {"an upgrade by http", "http://h/**", NULL, UPGRADE, "h", 80, "/x", "http://h/x", "/x", true},
    {"no request by ws", "ws://h/**", NULL, PLAIN, "h", 80, "/x", "http://h/x", NULL, false},
    {"an upgrade that is not granted", "ws://h/a", NULL, UPGRADE, "h", 80, "/x", "ws://h/x", NULL,
     false},
    {"an address", "http://10.0.0.1/**", NULL, PLAIN, "10.0.0.1", 80, "/", "http://10.0.0.1/", "/",
     true},
    {"an address of IPv6", "http://[::1]:8080/**", NULL, PLAIN, "[::1]", 8080, "/x",
     "http://[::1]:8080/x", "/x", true},
    {"an address by a wildcard", "http://10.*/**", NULL, PLAIN, "10.0.0.1", 80, "/",
     "http://10.0.0.1/", "/", false},
    {"a name by a wildcard", "http://*/**", NULL, PLAIN, "h", 80, "/", "http://h/", "/", false},
    {"a name by a wildcard and another name", "http://*/**", "http://i/**", PLAIN, "h", 80, "/",
     "http://h/", "/", false},
    {"a name that is written out for other paths", "http://*/**", "http://h/a/**", PLAIN, "h", 80,
     "/b", "http://h/b", "/b", false},
    {"a name that is written out with a wildcard behind", "http://h**", NULL, PLAIN, "h", 80, "/b",
     "http://h/b", "/b", false},
    {"a name that is written out with any port", "http://h:*/**", NULL, PLAIN, "h", 8080, "/b",
     "http://h:8080/b", "/b", true},
    {"a name below .arcp", "**", "http://llm.arcp/**", PLAIN, "llm.arcp", 80, "/",
     "http://llm.arcp/", NULL, false},
    {"a host that is not canonical", "http://h/**", NULL, PLAIN, "H", 80, "/", "http://h/", NULL,
     false},
    {"everything", "**", NULL, PLAIN, "h", 8080, "/x", "http://h:8080/x", "/x", false},
    /* TLS that stays closed. */
    {"a whole host", "https://h/**", NULL, TUNNEL, "h", 443, "", "https://h/", "", true},
    {"a whole host and its port", "https://h:443/**", NULL, TUNNEL, "h", 443, "", "https://h:443/",
     "", true},
    {"a whole host on another port", "https://h/**", NULL, TUNNEL, "h", 8443, "", "https://h:8443/",
     NULL, false},
    {"a whole host on its port", "https://h:8443/**", NULL, TUNNEL, "h", 8443, "",
     "https://h:8443/", "", true},
    {"wss alone", "wss://h/**", NULL, TUNNEL, "h", 443, "", "wss://h/", "", true},
    {"http is no TLS", "http://h/**", NULL, TUNNEL, "h", 443, "", "https://h/", NULL, false},
    {"a path", "https://h/v1/**", NULL, TUNNEL, "h", 443, "", "https://h/", NULL, false},
    {"only the top", "https://h/", NULL, TUNNEL, "h", 443, "", "https://h/", NULL, false},
    {"one segment", "https://h/*", NULL, TUNNEL, "h", 443, "", "https://h/", NULL, false},
    {"all but queries", "https://h/**.*", "https://h/", TUNNEL, "h", 443, "", "https://h/", NULL,
     false},
    {"a wildcard of hosts", "https://*.h/**", NULL, TUNNEL, "a.h", 443, "", "https://a.h/", "",
     false},
    {"a wildcard of other hosts", "https://*.h/**", NULL, TUNNEL, "h", 443, "", "https://h/", NULL,
     false},
    {"two patterns together", "https://h/", "https://h/**", TUNNEL, "h", 443, "", "https://h/", "",
     true},
    {"hosts by a wildcard, and a part of one", "https://*/**", "https://h/v1/**", TUNNEL, "h", 443,
     "", "https://h/", "", false},
    {"everything, closed", "**", NULL, TUNNEL, "h", 443, "", "https://h/", "", false},
    {"below .arcp, closed", "**", NULL, TUNNEL, "x.arcp", 443, "", "https://x.arcp/", NULL, false},
    {"a host that is not canonical, closed", "https://*/", NULL, TUNNEL, "H", 443, "", "https://h/",
     NULL, false},
    {"an address that is not canonical, closed", "https://[*]/", NULL, TUNNEL, "[2001:DB8::1]", 443,
     "", "https://[2001:db8::1]/", NULL, false},
    {"an address, closed", "https://10.0.0.1/**", NULL, TUNNEL, "10.0.0.1", 443, "",
     "https://10.0.0.1/", "", true},
    /* Other protocols. */
    {"ssh on its port", "ssh://h:22/**", NULL, OPAQUE, "h", 22, "", "ssh://h:22/", "", true},
    {"ssh without a port", "ssh://h/**", NULL, OPAQUE, "h", 22, "", "ssh://h/", "", true},
    {"ssh without a port on another", "ssh://h/**", NULL, OPAQUE, "h", 2222, "", "h:2222", NULL,
     false},
    {"a database", "postgres://db:5432/**", NULL, OPAQUE, "db", 5432, "", "postgres://db:5432/", "",
     true},
    {"another host of a database", "postgres://db:5432/**", NULL, OPAQUE, "db2", 5432, "",
     "db2:5432", NULL, false},
    {"another port of a database", "postgres://db:5432/**", NULL, OPAQUE, "db", 5433, "", "db:5433",
     NULL, false},
    {"a database without a port", "postgres://db/**", NULL, OPAQUE, "db", 5432, "", "db:5432", NULL,
     false},
    {"a part of a database", "postgres://db:5432/one", NULL, OPAQUE, "db", 5432, "", "db:5432",
     NULL, false},
    {"databases by a wildcard", "postgres://*.db:5432/**", NULL, OPAQUE, "a.db", 5432, "",
     "postgres://a.db:5432/", "", false},
    {"a wildcard that spans the port", "ssh://h**", NULL, OPAQUE, "h", 22, "", "h:22", NULL, false},
    {"any port", "redis://h:*/**", NULL, OPAQUE, "h", 6379, "", "h:6379", NULL, false},
    {"https is no other protocol", "https://h:22/**", NULL, OPAQUE, "h", 22, "", "h:22", NULL,
     false},
    {"everything is no other protocol", "**", NULL, OPAQUE, "h", 22, "", "h:22", NULL, false},
    {"below .arcp, other protocols", "ssh://x.arcp/**", NULL, OPAQUE, "x.arcp", 22, "", "x.arcp:22",
     NULL, false},
    {"an address of a database", "postgres://127.0.0.1:5432/**", NULL, OPAQUE, "127.0.0.1", 5432,
     "", "postgres://127.0.0.1:5432/", "", true},
};

static void the_policy_decides_by_the_lease(void **state)
{
    const policy_case *row = *state;
    arcp__egress_policy *policy = policy_of(lease_of(row->first, row->second));
    arcp__egress_decision decision;
    assert_int_equal(decide(policy, at_zero, row, &decision), row->sent != NULL);
    assert_int_equal(decision.is_allowed, row->sent != NULL);
    check_span(decision.url, row->url);
    check_span(decision.path, row->sent == NULL ? "" : row->sent);
    assert_int_equal(decision.names_host, row->names_host);
    assert_int_equal(decision.gate.allowed, row->sent != NULL);
    if (row->sent == NULL) {
        assert_int_equal(decision.gate.code, ARCP_E_PERMISSION_DENIED);
        assert_true(decision.reason[0] != '\0');
    }
    arcp__egress_policy_free(policy);
}

static void nothing_is_allowed_when_the_lease_has_expired(void **state)
{
    (void)state;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    arcp_lease_allow(builder, "net.fetch", "**");
    arcp_lease_allow(builder, "net.fetch", "ssh://h/**");
    arcp_lease_expires_at(builder, "1970-01-01T00:01:40Z");
    arcp_lease *lease = NULL;
    arcp_error err;
    check_ok(arcp_lease_build(builder, &lease, &err), &err);
    arcp_authority_options options = arcp_authority_options_init();
    arcp_authority *authority = NULL;
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    arcp__egress_policy *policy = NULL;
    check_ok(arcp__egress_policy_new(authority, &policy, &err), &err);
    static const policy_case asked[] = {
        {.question = PLAIN, .host = "h", .port = 80, .path = "/"},
        {.question = UPGRADE, .host = "h", .port = 80, .path = "/"},
        {.question = TUNNEL, .host = "h", .port = 443},
        {.question = OPAQUE, .host = "h", .port = 22},
    };
    const arcp_time before = {.mono_ns = 99 * ARCP_NS_PER_SEC, .wall_ns = 99 * ARCP_NS_PER_SEC};
    const arcp_time after = {.mono_ns = 100 * ARCP_NS_PER_SEC, .wall_ns = 100 * ARCP_NS_PER_SEC};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        arcp__egress_decision decision;
        assert_true(decide(policy, before, &asked[i], &decision));
        assert_false(decide(policy, after, &asked[i], &decision));
        assert_int_equal(decision.gate.code, ARCP_E_LEASE_EXPIRED);
        assert_string_equal(decision.reason, arcp_deny_reason_text(ARCP_DENY_EXPIRED));
    }
    arcp__egress_policy_free(policy);
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
}

static void a_url_that_is_too_long_is_denied(void **state)
{
    (void)state;
    static char path[3 * ARCP_TARGET_BYTES_MAX];
    memset(path, 'a', sizeof path);
    path[0] = '/';
    arcp__egress_policy *policy = policy_of(lease_of("http://h/**", NULL));
    const arcp__egress_target at = {ARCP_SPAN_LITERAL("h"), 80, false};
    const size_t fits = ARCP_TARGET_BYTES_MAX - (sizeof "http://h" - 1);
    const size_t sizes[] = {fits, fits + 1, sizeof path};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const arcp__egress_request request = {.path = arcp_span_make(path, sizes[i])};
        arcp__egress_decision decision;
        assert_int_equal(arcp__egress_decide_request(policy, at_zero, &at, &request, &decision),
                         i == 0);
        assert_int_equal(decision.gate.reason, i == 0 ? ARCP_DENY_NONE : ARCP_DENY_TOO_LONG);
    }
    arcp__egress_policy_free(policy);
}

static void a_denial_says_whether_tls_hides_the_requests(void **state)
{
    (void)state;
    arcp__egress_policy *policy = policy_of(lease_of("https://h/v1/**", NULL));
    arcp__egress_decision decision;
    const arcp__egress_target part = {ARCP_SPAN_LITERAL("h"), 443, false};
    const arcp__egress_target other = {ARCP_SPAN_LITERAL("i"), 443, false};
    assert_false(arcp__egress_decide_tunnel(policy, at_zero, &part, &decision));
    assert_non_null(strstr(decision.reason, "TLS stays closed"));
    assert_false(arcp__egress_decide_tunnel(policy, at_zero, &other, &decision));
    assert_string_equal(decision.reason, arcp_deny_reason_text(ARCP_DENY_NO_MATCH));
    arcp__egress_policy_free(policy);
}

/* model_hosts: a host as a whole, and one port of another. */
static void hosts_of_model_providers_are_denied_whatever_the_lease_grants(void **state)
{
    const arcp_span hosts[] = {ARCP_SPAN_LITERAL("models.org"), ARCP_SPAN_LITERAL("[::1]:11434")};
    static const policy_case asked[] = {
        {.question = PLAIN, .host = "models.org", .port = 80, .path = "/"},
        {.question = UPGRADE, .host = "models.org", .port = 8080, .path = "/"},
        {.question = OPENED_TLS, .host = "models.org", .port = 443, .path = "/v1"},
        {.question = TUNNEL, .host = "models.org", .port = 443},
        {.question = OPAQUE, .host = "models.org", .port = 22},
        {.question = PLAIN, .host = "[::1]", .port = 11434, .path = "/"},
        {.question = TUNNEL, .host = "[::1]", .port = 11434},
    };
    static const policy_case others[] = {
        {.question = PLAIN, .host = "[::1]", .port = 11435, .path = "/"},
        {.question = TUNNEL, .host = "[::1]", .port = 443},
        {.question = TUNNEL, .host = "more.models.org", .port = 443},
        {.question = PLAIN, .host = "models.or", .port = 80, .path = "/"},
    };
    arcp__egress_policy *policy = policy_of(lease_of("**", "ssh://models.org/**"));
    arcp__egress_decision decision;
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        arcp__egress_policy_set_models(policy, NULL, 0);
        assert_true(decide(policy, at_zero, &asked[i], &decision));
        arcp__egress_policy_set_models(policy, hosts, sizeof hosts / sizeof *hosts);
        assert_false(decide(policy, at_zero, &asked[i], &decision));
        assert_false(decision.is_allowed || decision.is_part || decision.gate.allowed);
        assert_int_equal(decision.code, ARCP__EGRESS_REFUSED);
        assert_int_equal(decision.gate.code, ARCP_E_PERMISSION_DENIED);
        assert_string_equal(decision.reason, ARCP__EGRESS_REASON_MODEL);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_true(decide(policy, at_zero, &others[i], &decision));
    }
    arcp__egress_policy_free(policy);
}

typedef struct provider_case {
    const char *url;
    const char *hosts[4];
} provider_case;

static void the_host_of_a_model_provider_is_read_from_its_url(void **state)
{
    static const provider_case rows[] = {
        {"https://api.openai.com/v1", {"api.openai.com"}},
        {"https://API.OpenAI.com.", {"api.openai.com"}},
        {"http://10.0.0.5:4000", {"10.0.0.5"}},
        {"https://me:key@models.org:8443/v1", {"models.org"}},
        {"http://127.0.0.1:11434/v1", {"127.0.0.1:11434", "localhost:11434", "[::1]:11434"}},
        {"http://localhost", {"localhost:80", "127.0.0.1:80", "[::1]:80"}},
        {"https://[::1]/v1", {"[::1]:443", "localhost:443", "127.0.0.1:443"}},
        {"http:///v1", {NULL}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arcp__arena arena = {0};
        const char *const urls[] = {rows[i].url, NULL};
        arcp_span *hosts = NULL;
        size_t count = 0;
        size_t expected = 0;
        assert_true(arcp__egress_model_hosts(&arena, urls, &hosts, &count));
        for (; rows[i].hosts[expected] != NULL; expected++) {
            assert_true(expected < count);
            check_span(hosts[expected], rows[i].hosts[expected]);
        }
        assert_int_equal(count, expected);
        arcp__arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allowed_when_the_lease_has_expired),
        cmocka_unit_test(a_url_that_is_too_long_is_denied),
        cmocka_unit_test(a_denial_says_whether_tls_hides_the_requests),
        cmocka_unit_test(hosts_of_model_providers_are_denied_whatever_the_lease_grants),
        cmocka_unit_test(the_host_of_a_model_provider_is_read_from_its_url),
    };
    return run_rows(cases, sizeof cases / sizeof *cases, sizeof *cases,
                    the_policy_decides_by_the_lease) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
