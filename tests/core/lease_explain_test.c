/* Explanations for people: decisions, odd leases, and differences (docs/leases.md, Asking). */
#include "support/check.h"

#include <arcp/lease_explain.h>

#include "core/lease_text.h"
#include "json/json.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

typedef struct explain_row {
    const char *name;
    const char *lease;
    const char *capability;
    const char *target;
    const char *text;
} explain_row;

static const explain_row explanations[] = {
    {"an allowed target", "{\"fs.read\":[\"/data/**\"]}", "fs.read", "/data/./a//b",
     "allowed: fs.read of \"/data/./a//b\" is allowed\n"
     "canonical   \"/data/a/b\"\n"
     "allowed by  \"/data/**\"\n"},
    {"a near miss", "{\"net.fetch\":[\"s3://b/**\",\"https://*.example.com/v1/**\"]}", "net.fetch",
     "https://api.example.com/v2/x",
     "denied: PERMISSION_DENIED, NO_MATCH: net.fetch of \"https://api.example.com/v2/x\" is not "
     "covered by the lease\n"
     "canonical   \"https://api.example.com/v2/x\"\n"
     "nearest     \"https://*.example.com/v1/**\"\n"
     "agrees on   \"https://api.example.com/v\"\n"
     "would allow \"https://api.example.com/v2/x\"\n"},
    {"whole segments that stand for nothing count as agreeing",
     "{\"fs.read\":[\"/b\",\"/a/**/z\"]}", "fs.read", "/a/y",
     "denied: PERMISSION_DENIED, NO_MATCH: fs.read of \"/a/y\" is not covered by the lease\n"
     "canonical   \"/a/y\"\n"
     "nearest     \"/a/**/z\"\n"
     "agrees on   \"/a/y\"\n"
     "would allow \"/a/y\"\n"},
    {"a star stops at a dot in tool names", "{\"tool.call\":[\"web.*\"]}", "tool.call",
     "web.search.advanced",
     "denied: PERMISSION_DENIED, NO_MATCH: tool.call of \"web.search.advanced\" is not covered by "
     "the lease\n"
     "canonical   \"web.search.advanced\"\n"
     "nearest     \"web.*\"\n"
     "agrees on   \"web.search\"\n"
     "would allow \"web.search.advanced\"\n"},
    {"nothing of the kind", "{\"fs.read\":[\"/a\"]}", "fs.write", "/a",
     "denied: PERMISSION_DENIED, NO_MATCH: fs.write of \"/a\" is not covered by the lease\n"
     "canonical   \"/a\"\n"
     "the lease has no pattern for this capability\n"
     "would allow \"/a\"\n"},
    {"bytes that cannot be in a pattern", "{\"fs.read\":[\"/a\"]}", "fs.read", "/d/e/\xff",
     "denied: PERMISSION_DENIED, NO_MATCH: fs.read of \"/d/e/\xef\xbf\xbd\" is not covered by the "
     "lease\n"
     "canonical   \"/d/e/\xef\xbf\xbd\"\n"
     "nearest     \"/a\"\n"
     "agrees on   \"/\"\n"
     "would allow \"/d/e/**\"\n"},
    {"what no pattern could allow", "{\"net.fetch\":[\"**\"]}", "net.fetch", "https://a@b/",
     "denied: PERMISSION_DENIED, USERINFO: net.fetch of \"https://a@b/\" is refused: the URL "
     "contains user information\n"},
    {"a used up budget", "{\"fs.read\":[\"/a\"],\"cost.budget\":[\"USD:0\"]}", "fs.read", "/a",
     "denied: BUDGET_EXHAUSTED, BUDGET: fs.read of \"/a\" is refused: the budget of \"USD\" is "
     "used up\n"},
};

static arcp_authority *authority_of(const char *text, bool model_use_required)
{
    const arcp_lease *lease = lease_of(text, "");
    arcp_authority_options options = arcp_authority_options_init();
    options.model_use_required = model_use_required;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    arcp_lease_unref(lease);
    return authority;
}

static void check_explained(const arcp_authority *authority, const char *capability,
                            const char *target, bool as_json, const char *want)
{
    const arcp_time now = {0, 0};
    arcp_buf text = arcp_buf_init();
    const bool allowed = arcp_lease_explain(authority, now, arcp_span_cstr(capability),
                                            arcp_span_cstr(target), as_json, &text);
    check_span(arcp_buf_span(&text), want);
    assert_int_equal(allowed, strncmp(want, as_json ? "{\"allow\":true" : "allowed:", 8) == 0 &&
                                  (!as_json || strstr(want, "{\"allow\":true") == want));
    arcp_buf_fini(&text);
}

static void a_decision_is_explained_with_the_nearest_pattern_and_what_would_allow_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof explanations / sizeof *explanations; i++) {
        const explain_row *row = &explanations[i];
        print_message("  %s\n", row->name);
        const arcp_authority *authority = authority_of(row->lease, true);
        check_explained(authority, row->capability, row->target, false, row->text);
        arcp_authority_unref(authority);
    }
}

static void an_explanation_may_be_json(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{\"fs.read\":[\"/a/*\"]}", true);
    check_explained(authority, "fs.read", "/a/./b", true,
                    "{\"allow\":true,\"message\":\"fs.read of \\\"/a/./b\\\" is allowed\","
                    "\"details\":{\"capability\":\"fs.read\",\"target\":\"/a/./b\",\"canonical\":"
                    "\"/a/b\",\"granted\":[\"/a/*\"],\"reason\":\"NONE\"},\"pattern\":\"/a/*\"}\n");
    check_explained(authority, "fs.read", "/a/b/c", true,
                    "{\"allow\":false,\"code\":\"PERMISSION_DENIED\",\"message\":\"fs.read of "
                    "\\\"/a/b/c\\\" is not covered by the lease\",\"details\":{\"capability\":"
                    "\"fs.read\",\"target\":\"/a/b/c\",\"canonical\":\"/a/b/c\",\"granted\":"
                    "[\"/a/*\"],\"reason\":\"NO_MATCH\"},\"nearest\":\"/a/*\",\"agrees\":\"/a/b\","
                    "\"suggested\":\"/a/b/c\"}\n");
    arcp_authority_unref(authority);
}

static void a_model_that_only_the_policy_allows_is_explained(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of("{}", false);
    check_explained(authority, "model.use", "m", false,
                    "allowed: model.use of \"m\" is allowed\n"
                    "canonical   \"m\"\n"
                    "the lease names no models, and this runtime then allows all\n");
    arcp_authority_unref(authority);
}

static void suggestions_really_allow_the_target(void **state)
{
    (void)state;
    static const struct {
        const char *capability;
        const char *target;
    } rows[] = {
        {"fs.read", "/a/b"},           {"fs.read", "/a/*"},           {"fs.read", "/a/**/b*"},
        {"fs.read", "/\xff"},          {"fs.write", "/a/\xc3\xa9/x"}, {"fs.write", "/a/\xc3/x"},
        {"net.fetch", "HTTPS://H/?*"}, {"tool.call", "web.search"},   {"model.use", "a/b"},
        {"x-vendor.a.b", "q?"},
    };
    const arcp_authority *authority = authority_of("{}", true);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const arcp_time now = {0, 0};
        const arcp_span capability = arcp_span_cstr(rows[i].capability);
        const arcp_span target = arcp_span_cstr(rows[i].target);
        arcp_buf text = arcp_buf_init();
        arcp_json json = ARCP__JSON_INIT;
        arcp_buf pattern = arcp_buf_init();
        assert_false(arcp_lease_explain(authority, now, capability, target, true, &text));
        const arcp_json_limits limits = arcp_json_limits_init();
        arcp_error err = {0};
        check_ok(arcp_json_scan(&json, arcp_buf_span(&text), &limits, &err), &err);
        const arcp_json_ref ref = arcp_json_member(&json, ARCP_JSON_ROOT, SPAN("suggested"));
        arcp_buf_append_format(&pattern, "{\"%s\":[", rows[i].capability);
        arcp_buf_append(&pattern, arcp_json_raw(&json, ref));
        arcp_buf_append_cstr(&pattern, "]}");
        arcp_buf_append_byte(&pattern, '\0');
        const arcp_authority *wider = authority_of(pattern.data, true);
        static arcp_target_scratch scratch;
        arcp_decision decision;
        assert_true(arcp_authorize(wider, now, capability, target, &scratch, &decision));
        arcp_authority_unref(wider);
        arcp_buf_fini(&pattern);
        arcp__json_fini(&json);
        arcp_buf_fini(&text);
    }
    arcp_authority_unref(authority);
}

typedef struct lint_row {
    const char *name;
    const char *lease;
    const char *text;
} lint_row;

static const lint_row lints[] = {
    {"nothing odd",
     "{\"fs.read\":[\"/a/*\"],\"net.fetch\":[\"https://h/**\",\"https://*.h/v1/*\"]}", ""},
    {"dead patterns", "{\"fs.read\":[\"/a/../b\",\"/c//d\"],\"net.fetch\":[\"HTTPS://h/\"]}",
     "dead: fs.read[0] \"/a/../b\": is not in canonical form: no target can match it\n"
     "dead: fs.read[1] \"/c//d\": is not in canonical form: no target can match it\n"
     "dead: net.fetch[0] \"HTTPS://h/\": is not in canonical form: no target can match it\n"},
    {"a pattern the rest covers", "{\"fs.read\":[\"/a/x\",\"/a/*\"]}",
     "redundant: fs.read[0] \"/a/x\": is covered by the other patterns\n"},
    {"of two equal ones the second", "{\"fs.read\":[\"/a\",\"/a\"]}",
     "redundant: fs.read[1] \"/a\": is covered by the other patterns\n"},
    {"every host", "{\"net.fetch\":[\"https://**\"]}",
     "broad: net.fetch[0] \"https://**\": grants every host\n"},
    {"a host that is not closed", "{\"net.fetch\":[\"https://api.example.com**\"]}",
     "broad: net.fetch[0] \"https://api.example.com**\": also grants hosts with longer names, such "
     "as HOST.evil.org: end the host with / or :PORT\n"},
    {"a host that begins with a name", "{\"net.fetch\":[\"https://api.*/x\"]}",
     "broad: net.fetch[0] \"https://api.*/x\": also grants hosts with longer names, such as "
     "HOST.evil.org: end the host with / or :PORT\n"},
    {"a double star inside a host", "{\"net.fetch\":[\"https://**.example.com/x\"]}",
     "broad: net.fetch[0] \"https://**.example.com/x\": ** matches slashes: it also grants other "
     "hosts that have the rest in their path\n"},
    {"a host that is not closed before its port",
     "{\"net.fetch\":[\"https://api.example*:443/x\"]}",
     "broad: net.fetch[0] \"https://api.example*:443/x\": also grants hosts with longer names, "
     "such "
     "as HOST.evil.org: end the host with / or :PORT\n"},
    {"every host on a port", "{\"net.fetch\":[\"https://*:443/x\"]}",
     "broad: net.fetch[0] \"https://*:443/x\": grants every host\n"},
    {"a star for the port is no host", "{\"net.fetch\":[\"https://h:*/x\"]}", ""},
    {"every scheme", "{\"net.fetch\":[\"*://h/x\"]}",
     "broad: net.fetch[0] \"*://h/x\": grants URLs of every scheme that it matches\n"},
    {"every path", "{\"fs.write\":[\"/**\"]}", "broad: fs.write[0] \"/**\": grants every path\n"},
    {"the directory itself", "{\"fs.write\":[\"/a/**\"]}",
     "broad: fs.write[0] \"/a/**\": also grants the directory itself\n"},
    {"the directory itself, below any other", "{\"fs.write\":[\"/**/a/**\"]}",
     "broad: fs.write[0] \"/**/a/**\": also grants the directory itself\n"},
    {"siblings", "{\"fs.read\":[\"/a**\"]}",
     "broad: fs.read[0] \"/a**\": also grants siblings with longer names: put a / before **\n"},
    {"a star that is narrower than it looks", "{\"tool.call\":[\"*\"]}",
     "narrow: tool.call[0] \"*\": does not grant names with dots, such as web.search: ** does\n"},
    {"a home directory", "{\"fs.read\":[\"~/x\"]}",
     "narrow: fs.read[0] \"~/x\": ~ does not stand for a home directory: write its path\n"},
    {"a name with a tilde", "{\"tool.call\":[\"~x\"],\"fs.read\":[\"/a/~x\"]}", ""},
    {"what shells expand", "{\"fs.read\":[\"/a[12]\",\"/b?\",\"/{c,d}\"]}",
     "narrow: fs.read[0] \"/a[12]\": only * and ** stand for something else; [, ? and { stand for "
     "themselves\n"
     "narrow: fs.read[1] \"/b?\": only * and ** stand for something else; [, ? and { stand for "
     "themselves\n"
     "narrow: fs.read[2] \"/{c,d}\": only * and ** stand for something else; [, ? and { stand for "
     "themselves\n"},
    {"a query, and an address", "{\"net.fetch\":[\"https://[::1]/x?y={z}\"]}", ""},
    {"every tool", "{\"tool.call\":[\"**\"],\"model.use\":[\"*\"]}",
     "broad: tool.call[0] \"**\": grants every name\n"},
    {"a budget of zero", "{\"cost.budget\":[\"EUR:1\",\"USD:0\",\"USD:0.0\"]}",
     "budget_zero: cost.budget[1] \"USD:0\": is used up from the start\n"},
    {"a budget that adds up to something", "{\"cost.budget\":[\"USD:0\",\"USD:1\"]}", ""},
};

static void odd_leases_are_found(void **state)
{
    (void)state;
    const arcp_time now = {0, 0};
    for (size_t i = 0; i < sizeof lints / sizeof *lints; i++) {
        print_message("  %s\n", lints[i].name);
        const arcp_lease *lease = lease_of(lints[i].lease, "");
        arcp_buf text = arcp_buf_init();
        const size_t count = arcp_lease_lint(lease, now, false, &text);
        check_span(arcp_buf_span(&text), lints[i].text);
        size_t lines = 0;
        for (const char *byte = lints[i].text; *byte != '\0'; byte++) {
            lines += *byte == '\n';
        }
        assert_int_equal(count, lines);
        arcp_buf_fini(&text);
        arcp_lease_unref(lease);
    }
}

static void an_expiry_is_linted_from_its_instant_on(void **state)
{
    (void)state;
    const arcp_lease *lease = lease_of("{}", "{\"expires_at\":\"1970-01-01T00:00:10Z\"}");
    arcp_buf text = arcp_buf_init();
    const arcp_time before = {10 * ARCP_NS_PER_SEC - 1, 0};
    const arcp_time at = {10 * ARCP_NS_PER_SEC, 0};
    assert_int_equal(arcp_lease_lint(lease, before, false, &text), 0);
    assert_int_equal(arcp_lease_lint(lease, at, false, &text), 1);
    check_span(arcp_buf_span(&text),
               "expired: expires_at \"1970-01-01T00:00:10Z\": is in the past\n");
    arcp_buf_fini(&text);
    arcp_lease_unref(lease);
}

static void findings_may_be_json(void **state)
{
    (void)state;
    const arcp_lease *lease =
        lease_of("{\"fs.write\":[\"/a\",\"/**\"]}", "{\"expires_at\":\"1970-01-01T00:00:00Z\"}");
    arcp_buf text = arcp_buf_init();
    const arcp_time now = {0, 0};
    assert_int_equal(arcp_lease_lint(lease, now, true, &text), 3);
    check_span(arcp_buf_span(&text),
               "[{\"kind\":\"redundant\",\"capability\":\"fs.write\",\"index\":0,\"pattern\":"
               "\"/a\",\"message\":\"is covered by the other patterns\"},{\"kind\":\"broad\","
               "\"capability\":\"fs.write\",\"index\":1,\"pattern\":\"/**\",\"message\":\"grants "
               "every path\"},{\"kind\":\"expired\",\"capability\":\"expires_at\",\"pattern\":"
               "\"1970-01-01T00:00:00Z\",\"message\":\"is in the past\"}]\n");
    arcp_buf_fini(&text);
    arcp_lease_unref(lease);
}

static void check_diff(const char *a_text, const char *b_text, bool as_json, const char *want)
{
    const arcp_lease *a = lease_of(a_text, "");
    const arcp_lease *b = lease_of(b_text, "{\"expires_at\":\"2026-01-01T00:00:00Z\"}");
    arcp_buf text = arcp_buf_init();
    assert_int_equal(arcp_lease_diff(a, b, as_json, &text), ARCP_OK);
    check_span(arcp_buf_span(&text), want);
    arcp_buf_fini(&text);
    arcp_lease_unref(a);
    arcp_lease_unref(b);
}

static void two_leases_are_compared(void **state)
{
    (void)state;
    check_diff("{\"fs.read\":[\"/a/**\"]}", "{\"fs.read\":[\"/a\",\"/a/*\",\"/a/*/**\"]}", false,
               "A and B allow the same\n");
    check_diff("{\"fs.read\":[\"/a/b\"]}", "{\"fs.read\":[\"/a/*\"]}", false,
               "A is within B\n"
               "B allows what A does not:\n"
               "  fs.read \"/a/*\": for example \"/a/x\"\n");
    check_diff("{\"fs.read\":[\"/a\"],\"tool.call\":[\"t\",\"u\"],\"cost.budget\":[\"USD:2\"]}",
               "{\"fs.read\":[\"/b\"],\"tool.call\":[\"u\"],\"cost.budget\":[\"USD:1\"]}", false,
               "A allows what B does not:\n"
               "  fs.read \"/a\": for example \"/a\"\n"
               "  tool.call \"t\": for example \"t\"\n"
               "  cost.budget \"USD:2\": for example \"USD:2\"\n"
               "B allows what A does not:\n"
               "  fs.read \"/b\": for example \"/b\"\n");
    check_diff("{\"fs.read\":[\"/a\"]}", "{}", true,
               "{\"only_a\":[{\"capability\":\"fs.read\",\"child_pattern\":\"/a\",\"witness\":"
               "\"/a\",\"reason\":\"NO_MATCH\"}],\"only_b\":[],\"a_within_b\":false,"
               "\"b_within_a\":true}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decision_is_explained_with_the_nearest_pattern_and_what_would_allow_it),
        cmocka_unit_test(an_explanation_may_be_json),
        cmocka_unit_test(a_model_that_only_the_policy_allows_is_explained),
        cmocka_unit_test(suggestions_really_allow_the_target),
        cmocka_unit_test(odd_leases_are_found),
        cmocka_unit_test(an_expiry_is_linted_from_its_instant_on),
        cmocka_unit_test(findings_may_be_json),
        cmocka_unit_test(two_leases_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
