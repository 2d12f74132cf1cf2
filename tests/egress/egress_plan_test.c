/* Random leases and URLs: what the network allows is what the gate allows, and what a plan admits
 * the network allows. The seed is printed; ARCP_TEST_SEED repeats a run. */
#include "egress/egress_policy.h"

#include "core/glob_pattern.h"
#include "core/strings.h"
#include "core/url_pattern.h"
#include "sandbox/plan_model.h"
#include "sandbox/sandbox_rig.h"
#include <time.h>

#include "support/check.h"

enum { LEASES = 4000, PATTERNS_MAX = 6, URLS = 40, TEXT_MAX = 128 };

static const char *const schemes[] = {"http", "https", "https", "ws",  "wss", "ssh",
                                      "ssh",  "redis", "*",     "h*s", "**"};
static const char *const hosts[] = {"h",         "b.h",   "*.h", "*", "localhost",
                                    "127.0.0.1", "[::1]", "**",  "h*"};
static const char *const ports[] = {"",      "",   "",    ":80",    ":443", ":22",
                                    ":8080", ":*", ":8*", ":00443", ":0*"};
static const char *const ways[] = {"/**",  "/**", "/**", "/", "/v1/*", "/v1/**",
                                   "/*?q", "**",  "/x",  "",  "/***"};
static const char *const url_schemes[] = {"http", "https", "ws", "wss", "ssh", "redis"};
static const char *const url_hosts[] = {"h",         "b.h",       "c.b.h", "x", "localhost",
                                        "127.0.0.1", "127.0.0.2", "[::1]", "hh"};
static const char *const url_ports[] = {"", "", ":80", ":443", ":22", ":8080", ":9", ":00443"};
static const char *const paths[] = {"/", "/x", "/v1/x", "/v1/x/y", "/v1/x?q", "/a?q"};

#define PICK(random, list) (list)[random_below((random), sizeof(list) / sizeof *(list))]

typedef struct sample {
    uint64_t random;
    char patterns[PATTERNS_MAX][TEXT_MAX];
    size_t count;
    arcp_lease *lease;
    arcp__sandbox_plan *plan;
    arcp_authority *authority;
    arcp__egress_policy *policy;
    bool tls_terminate;
} sample;

static void explain(const sample *s, const char *what, const char *url)
{
    /* cmocka's own functions cut long texts. */
    (void)fprintf(stderr, "%s: %s, TLS is %s\n", what, url, s->tls_terminate ? "opened" : "closed");
    for (size_t i = 0; i < s->count; i++) {
        (void)fprintf(stderr, "    %s\n", s->patterns[i]);
    }
    fail();
}

static void make(sample *s)
{
    arcp_error err = {0};
    arcp_lease_builder *builder = arcp_lease_builder_new();
    assert_non_null(builder);
    s->count = random_below(&s->random, PATTERNS_MAX + 1);
    for (size_t i = 0; i < s->count; i++) {
        if (random_below(&s->random, 20) == 0) {
            (void)snprintf(s->patterns[i], TEXT_MAX, "**");
        } else {
            (void)snprintf(s->patterns[i], TEXT_MAX, "%s://%s%s%s", PICK(&s->random, schemes),
                           PICK(&s->random, hosts), PICK(&s->random, ports),
                           PICK(&s->random, ways));
        }
        arcp_lease_allow(builder, "net.fetch", s->patterns[i]);
    }
    check_ok(arcp_lease_build(builder, &s->lease, &err), &err);
    arcp__sandbox_request request = rig_request(s->lease);
    s->tls_terminate = random_below(&s->random, 2) == 0;
    request.tls_terminate = s->tls_terminate;
    request.abilities.values[ARCP__SANDBOX_ABILITY_EGRESS] = 1;
    s->plan = rig_plan(&request);
    s->authority = rig_authority(s->lease, s->plan->cwd);
    check_ok(arcp__egress_policy_new(s->authority, &s->policy, &err), &err);
}

static void free_sample(sample *s)
{
    arcp__egress_policy_free(s->policy);
    arcp_authority_unref(s->authority);
    arcp__sandbox_plan_free(s->plan);
    arcp_lease_unref(s->lease);
}

static bool is(arcp_span text, const char *scheme)
{
    return arcp_span_equal_cstr(text, scheme);
}

/* Asks the policy as the network does for a program that fetches the URL. */
static bool fetches(const sample *s, arcp_span url, arcp__egress_decision *out)
{
    const arcp_time now = {0, 0};
    const arcp__url_parts parts = arcp__url_take_apart(url);
    const arcp__egress_target at = {parts.host, (uint16_t)parts.port, parts.kind == ARCP__URL_TLS};
    const arcp__egress_request request = {.is_upgrade =
                                              is(parts.scheme, "ws") || is(parts.scheme, "wss"),
                                          .path = arcp_span_from(url, arcp__url_origin(url).size)};
    memset(out, 0, sizeof *out);
    if (parts.kind == ARCP__URL_OPAQUE) {
        return parts.port != 0 && arcp__egress_decide_opaque(s->policy, now, &at, out);
    }
    if (parts.kind == ARCP__URL_TLS && (arcp__egress_decide_tunnel(s->policy, now, &at, out) ||
                                        !s->tls_terminate || !out->is_part)) {
        return out->is_allowed;
    }
    return arcp__egress_decide_request(s->policy, now, &at, &request, out);
}

static bool is_allowed(const sample *s, const char *url)
{
    return rig_allows(s->authority, s->plan->cwd, ARCP__CAPABILITY_NET_FETCH, arcp_span_cstr(url));
}

/* Whether all lines that grant the URL are refused by the plan. */
static bool is_refused(const sample *s, const char *url)
{
    bool is_asked = false;
    for (size_t i = 0; i < s->plan->lease_line_count; i++) {
        const arcp__sandbox_line *line = &s->plan->lines[i];
        if (arcp__glob_matches_alone(ARCP__TARGET_URL, line->pattern, arcp_span_cstr(url))) {
            is_asked = true;
            if (line->verdict != ARCP__SANDBOX_VERDICT_REFUSED) {
                return false;
            }
        }
    }
    return is_asked;
}

/* A decision that allows has a URL of the gate; of a connection whose requests are not seen, every
 * path of that URL's host is allowed. */
static void check_allowed(const sample *s, const char *url, const arcp__egress_decision *decision)
{
    char text[TEXT_MAX];
    (void)snprintf(text, sizeof text, "%.*s", (int)decision->url.size, decision->url.data);
    if (!is_allowed(s, text)) {
        explain(s, "fetched and not allowed", text);
    }
    if (is_refused(s, text)) {
        explain(s, "fetched by lines that are refused", text);
    }
    if (decision->path.size > 0) {
        return;
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const arcp_span origin = arcp__url_origin(arcp_span_cstr(text));
        char other[2 * TEXT_MAX];
        (void)snprintf(other, sizeof other, "%.*s%s", (int)origin.size, origin.data, paths[i]);
        if (!is_allowed(s, other)) {
            explain(s, url, other);
        }
    }
}

static void the_network_allows_what_the_plan_admits_and_the_gate_allows(void **state)
{
    (void)state;
    const char *text = getenv("ARCP_TEST_SEED");
    static sample s;
    size_t fetched = 0;
    size_t admitted = 0;
    size_t beyond = 0;
    s.random = text == NULL ? (uint64_t)time(NULL) : strtoull(text, NULL, 10);
    printf("ARCP_TEST_SEED=%llu\n", (unsigned long long)s.random);
    for (size_t i = 0; i < LEASES; i += test_stride()) {
        make(&s);
        for (size_t j = 0; j < URLS; j++) {
            char url[TEXT_MAX];
            (void)snprintf(url, sizeof url, "%s://%s%s%s", PICK(&s.random, url_schemes),
                           PICK(&s.random, url_hosts), PICK(&s.random, url_ports),
                           PICK(&s.random, paths));
            arcp__egress_decision decision;
            const bool is_fetched = fetches(&s, arcp_span_cstr(url), &decision);
            const bool is_admitted = model_admits_url(s.plan, arcp_span_cstr(url));
            if (is_fetched) {
                check_allowed(&s, url, &decision);
            } else if (is_admitted) {
                explain(&s, "admitted and not fetched", url);
            }
            fetched += is_fetched;
            admitted += is_admitted;
            beyond += is_fetched && !is_admitted && is_allowed(&s, url);
        }
        free_sample(&s);
    }
    printf("%zu fetched, %zu admitted, %zu allowed by network and gate alone\n", fetched, admitted,
           beyond);
    assert_true(fetched > LEASES / test_stride() && admitted > LEASES / test_stride());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_network_allows_what_the_plan_admits_and_the_gate_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
