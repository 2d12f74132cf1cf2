/* Leases are read, refused, built and written (docs/leases.md, draft §9.2 and §9.5). */
#include "support/check.h"

#include <arcp/lease.h>
#include <arcp/time.h>

#include "core/lease_text.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

static void check_text(const arcp_lease *lease, const char *want, const char *want_constraints)
{
    arcp_buf text = arcp_buf_init();
    arcp_lease_format(lease, &text);
    check_span(arcp_buf_span(&text), want);
    arcp_buf_clear(&text);
    arcp_lease_format_constraints(lease, &text);
    check_span(arcp_buf_span(&text), want_constraints);
    arcp_buf_fini(&text);
}

static void the_guides_lease_reads_back_as_it_was_written(void **state)
{
    (void)state;
    const char *const text =
        "{\"net.fetch\":[\"https://api.example.com/**\",\"s3://reports-bucket/**\"],"
        "\"tool.call\":[\"web.*\",\"summarize\"],\"agent.delegate\":[\"pdf-renderer@*\"],"
        "\"cost.budget\":[\"USD:2.00\",\"tokens:100000\"],\"fs.write\":[],"
        "\"x-vendor.acme.kafka.publish\":[\"topic-events-*\"]}";
    const arcp_lease *lease = lease_of(text, "{\"expires_at\":\"2026-05-13T23:42:00.50Z\"}");
    check_text(lease, text, "{\"expires_at\":\"2026-05-13T23:42:00.50Z\"}");
    assert_int_equal(arcp_lease_capability_count(lease), 6);
    check_span(arcp_lease_capability_name(lease, 1), "tool.call");
    assert_int_equal(arcp_lease_pattern_count(lease, 1), 2);
    check_span(arcp_lease_pattern(lease, 1, 1), "summarize");
    arcp_lease_unref(lease);
}

static void an_absent_or_null_lease_is_the_empty_one(void **state)
{
    (void)state;
    const arcp_lease *lease = lease_of("null", "null");
    check_text(lease, "{}", "{}");
    assert_false(arcp_lease_has_expiry(lease));
    assert_true(arcp_lease_expires_wall_ns(lease) == ARCP_TIME_NEVER);
    arcp_lease_unref(lease);
    lease = lease_of("{}", "{\"expires_at\":null,\"max_runtime_sec\":5}");
    check_text(lease, "{}", "{}");
    arcp_lease_unref(lease);
}

static void names_and_patterns_may_be_written_with_escapes(void **state)
{
    (void)state;
    const arcp_lease *lease = lease_of("{\"fs\\u002eread\":[\"\\/a\\u002fb\\n\"]}", "");
    assert_true(arcp_lease_names(lease, SPAN("fs.read")));
    check_span(arcp_lease_pattern(lease, 0, 0), "/a/b\n");
    arcp_lease_unref(lease);
}

static void a_lease_has_its_capabilities_even_without_patterns(void **state)
{
    (void)state;
    const arcp_lease *lease = lease_of(
        "{\"fs.write\":[],\"x-vendor.b.c\":[\"q\"],\"x-vendor.a.b\":[],\"x-vendor.b.cc\":[]}", "");
    assert_true(arcp_lease_names(lease, SPAN("fs.write")));
    assert_true(arcp_lease_names(lease, SPAN("x-vendor.a.b")));
    assert_true(arcp_lease_names(lease, SPAN("x-vendor.b.c")));
    assert_true(arcp_lease_names(lease, SPAN("x-vendor.b.cc")));
    assert_false(arcp_lease_names(lease, SPAN("x-vendor.b.ccc")));
    assert_false(arcp_lease_names(lease, SPAN("fs.read")));
    assert_false(arcp_lease_names(lease, SPAN("fs")));
    arcp_lease_unref(lease);
}

static void an_expiry_keeps_its_text_and_is_rounded_down_to_nanoseconds(void **state)
{
    (void)state;
    const char *const text = "{\"expires_at\":\"1970-01-01T00:00:01.0000000019Z\"}";
    const arcp_lease *lease = lease_of("{}", text);
    assert_true(arcp_lease_has_expiry(lease));
    assert_true(arcp_lease_expires_wall_ns(lease) == ARCP_NS_PER_SEC + 1);
    check_text(lease, "{}", text);
    arcp_lease_unref(lease);
}

typedef struct refusal_row {
    const char *name;
    const char *lease;
    const char *constraints;
    const char *says; /* parts of the message, separated by '|' */
} refusal_row;

#define LEASE(text)       text, ""
#define CONSTRAINTS(text) "{}", text

static const refusal_row refusals[] = {
    {"an array", LEASE("[]"), "lease is an array|object"},
    {"a string", LEASE("\"fs.read\""), "lease is a string"},
    {"an unknown capability", LEASE("{\"foo\":[\"x\"]}"), "\"foo\"|x-vendor"},
    {"an empty capability name", LEASE("{\"\":[\"x\"]}"), "unknown capability \"\""},
    {"a capability in upper case", LEASE("{\"FS.READ\":[\"/a\"]}"), "\"FS.READ\""},
    {"a vendor without a capability", LEASE("{\"x-vendor.acme\":[\"x\"]}"), "x-vendor.acme"},
    {"the same capability twice", LEASE("{\"fs.read\":[],\"fs\\u002eread\":[]}"), "twice"},
    {"a pattern that is no list", LEASE("{\"fs.read\":\"x\"}"), "fs.read is a string|array"},
    {"null instead of a list", LEASE("{\"fs.read\":null}"), "fs.read is null"},
    {"a number as pattern", LEASE("{\"fs.read\":[\"/a\",7]}"), "fs.read[1]|a number"},
    {"an empty pattern", LEASE("{\"fs.read\":[\"/a\",\"/b\",\"\"]}"), "fs.read[2]|empty"},
    {"a NUL in a pattern", LEASE("{\"fs.read\":[\"/a\\u0000\"]}"), "fs.read[0]|NUL"},
    {"an amount without a colon", LEASE("{\"cost.budget\":[\"USD\"]}"), "cost.budget[0]|':'"},
    {"an amount without digits", LEASE("{\"cost.budget\":[\"USD:\"]}"), "cost.budget[0]|digit"},
    {"an amount without a currency", LEASE("{\"cost.budget\":[\":5\"]}"), "no currency"},
    {"a control byte in a currency", LEASE("{\"cost.budget\":[\"U\\u0001:5\"]}"), "control byte"},
    {"a negative amount", LEASE("{\"cost.budget\":[\"USD:1\",\"USD:-1\"]}"), "cost.budget[1]|-1"},
    {"a minus and a fraction", LEASE("{\"cost.budget\":[\"USD:-0.1\"]}"), "-0.1|digit"},
    {"an exponent", LEASE("{\"cost.budget\":[\"USD:1e3\"]}"), "1e3|only digits"},
    {"a huge exponent", LEASE("{\"cost.budget\":[\"USD:1e400\"]}"), "1e400|only digits"},
    {"NaN", LEASE("{\"cost.budget\":[\"USD:NaN\"]}"), "NaN|digit"},
    {"a quoted amount", LEASE("{\"cost.budget\":[\"USD:\\\"5\\\"\"]}"), "digit"},
    {"no digit behind the point", LEASE("{\"cost.budget\":[\"USD:1.\"]}"), "\"1.\"|point"},
    {"no digit before the point", LEASE("{\"cost.budget\":[\"USD:.5\"]}"), "\".5\"|digit"},
    {"a space before the amount", LEASE("{\"cost.budget\":[\"USD: 5\"]}"), "\" 5\"|digit"},
    {"hexadecimal", LEASE("{\"cost.budget\":[\"USD:0x1\"]}"), "0x1"},
    {"a second colon", LEASE("{\"cost.budget\":[\"USD:EUR:1\"]}"), "EUR:1"},
    {"too fine an amount", LEASE("{\"cost.budget\":[\"USD:0.0000000000000000001\"]}"), "18"},
    {"too large an amount", LEASE("{\"cost.budget\":[\"USD:1000000000000000000000\"]}"), "range"},
    {"a sum that is too large",
     LEASE("{\"cost.budget\":[\"USD:100000000000000000000\",\"EUR:1\",\"USD:"
           "100000000000000000000\"]}"),
     "cost.budget[2]|sum"},
    {"constraints that are no object", CONSTRAINTS("[]"), "constraints are an array"},
    {"an expiry that is a number", CONSTRAINTS("{\"expires_at\":5}"), "expires_at is a number"},
    {"an empty expiry", CONSTRAINTS("{\"expires_at\":\"\"}"), "expires_at"},
    {"an offset instead of Z", CONSTRAINTS("{\"expires_at\":\"2026-05-13T23:42:00+00:00\"}"),
     "expires_at|Z"},
    {"no zone", CONSTRAINTS("{\"expires_at\":\"2026-05-13T23:42:00\"}"), "expires_at|Z"},
    {"a space for the T", CONSTRAINTS("{\"expires_at\":\"2026-05-13 23:42:00Z\"}"), "expires_at"},
    {"a month 13", CONSTRAINTS("{\"expires_at\":\"2026-13-01T00:00:00Z\"}"), "expires_at|month"},
    {"a 30 February", CONSTRAINTS("{\"expires_at\":\"2026-02-30T00:00:00Z\"}"), "expires_at|day"},
    {"no JSON", LEASE("{\"fs.read\":[}"), ""},
};

static void check_says(const char *message, const char *parts)
{
    char copy[128];
    (void)snprintf(copy, sizeof copy, "%s", parts);
    for (char *rest = copy; rest != NULL;) {
        char *bar = strchr(rest, '|');
        if (bar != NULL) {
            *bar = '\0';
        }
        if (strstr(message, rest) == NULL) {
            fail_msg("message \"%s\" does not say \"%s\"", message, rest);
        }
        rest = bar == NULL ? NULL : bar + 1;
    }
}

/* [arcp:LA-2] */
static void a_malformed_lease_is_refused_with_capability_index_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        print_message("  %s\n", refusals[i].name);
        arcp_lease *lease = NULL;
        arcp_error err = {0};
        assert_int_equal(arcp_lease_parse(arcp_span_cstr(refusals[i].lease),
                                          arcp_span_cstr(refusals[i].constraints), NULL, &lease,
                                          &err),
                         ARCP_E_INVALID_REQUEST);
        assert_null(lease);
        assert_true(err.message[0] != '\0');
        check_says(err.message, refusals[i].says);
    }
}

static arcp_status parse_limited(const char *text, arcp_lease_limits limits)
{
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    const arcp_status status =
        arcp_lease_parse(arcp_span_cstr(text), SPAN(""), &limits, &lease, &err);
    arcp_lease_unref(lease);
    return status;
}

static void every_limit_holds_on_both_sides(void **state)
{
    (void)state;
    const arcp_lease_limits limits = {sizeof limits, 3, 40, 10, 2};
    assert_int_equal(parse_limited("{\"fs.read\":[\"a\",\"b\",\"c\"]}", limits), ARCP_OK);
    assert_int_equal(parse_limited("{\"fs.read\":[\"a\",\"b\",\"c\",\"d\"]}", limits),
                     ARCP_E_INVALID_REQUEST);
    assert_int_equal(parse_limited("{\"fs.read\":[\"0123456789\"]}", limits), ARCP_OK);
    assert_int_equal(parse_limited("{\"fs.read\":[\"0123456789x\"]}", limits),
                     ARCP_E_INVALID_REQUEST);
    assert_int_equal(parse_limited("{\"fs.read\":[\"a**b***\"]}", limits), ARCP_OK);
    assert_int_equal(parse_limited("{\"fs.read\":[\"a*b*c*\"]}", limits), ARCP_E_INVALID_REQUEST);
    /* Names count too: 7 + 10 + 10 + 8 + 5 = 40. */
    assert_int_equal(
        parse_limited("{\"fs.read\":[\"0123456789\",\"0123456789\"],\"fs.write\":[\"01234\"]}",
                      limits),
        ARCP_OK);
    assert_int_equal(
        parse_limited("{\"fs.read\":[\"0123456789\",\"0123456789\"],\"fs.write\":[\"012345\"]}",
                      limits),
        ARCP_E_INVALID_REQUEST);
}

static void a_currency_has_at_most_64_bytes(void **state)
{
    (void)state;
    char text[128];
    for (size_t size = 64; size <= 65; size++) {
        (void)snprintf(text, sizeof text, "{\"cost.budget\":[\"%0*d:1\"]}", (int)size, 0);
        const arcp_lease_limits limits = arcp_lease_limits_init();
        assert_int_equal(parse_limited(text, limits),
                         size <= 64 ? ARCP_OK : ARCP_E_INVALID_REQUEST);
    }
}

static void amounts_are_not_patterns_and_may_have_stars(void **state)
{
    (void)state;
    const arcp_lease *lease = lease_of("{\"cost.budget\":[\"a*b*:1\",\"GPU \\u00b5s:0\"]}", "");
    check_text(lease, "{\"cost.budget\":[\"a*b*:1\",\"GPU \xc2\xb5s:0\"]}", "{}");
    arcp_lease_unref(lease);
}

static void the_default_limits_hold_1024_patterns_of_a_capability(void **state)
{
    (void)state;
    for (size_t count = 1024; count <= 1025; count++) {
        arcp_buf text = arcp_buf_init();
        arcp_buf_append_cstr(&text, "{\"tool.call\":[");
        for (size_t i = 0; i < count; i++) {
            arcp_buf_append_format(&text, "%s\"t%zu\"", i == 0 ? "" : ",", i);
        }
        arcp_buf_append_cstr(&text, "]}");
        arcp_lease *lease = NULL;
        arcp_error err = {0};
        assert_int_equal(arcp_lease_parse(arcp_buf_span(&text), SPAN(""), NULL, &lease, &err),
                         count <= 1024 ? ARCP_OK : ARCP_E_INVALID_REQUEST);
        arcp_lease_unref(lease);
        arcp_buf_fini(&text);
    }
}

static void the_builder_makes_the_leases_of_the_guides(void **state)
{
    (void)state;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    assert_non_null(builder);
    arcp_lease_allow(builder, "model.use", "claude-*");
    arcp_lease_budget(builder, "USD", "10.00");
    arcp_lease_allow(builder, "model.use", "gpt-4*");
    arcp_lease_allow(builder, "fs.write", NULL);
    arcp_lease_expires_at(builder, "2024-09-01T00:00:00Z");
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_build(builder, &lease, &err), &err);
    check_text(lease,
               "{\"model.use\":[\"claude-*\",\"gpt-4*\"],\"cost.budget\":[\"USD:10.00\"],"
               "\"fs.write\":[]}",
               "{\"expires_at\":\"2024-09-01T00:00:00Z\"}");
    arcp_lease_unref(lease);
}

typedef struct build_row {
    const char *name;
    const char *capability;
    const char *pattern;
    const char *currency;
    const char *amount;
    const char *expires_at;
    const char *says;
} build_row;

static const build_row bad_builds[] = {
    {"an unknown capability", "fs.delete", "/a", NULL, NULL, NULL, "fs.delete"},
    {"no capability", NULL, "/a", NULL, NULL, NULL, "unknown capability"},
    {"an empty pattern", "fs.read", "", NULL, NULL, NULL, "fs.read[0]"},
    {"a pattern that is no UTF-8", "fs.read", "/\xff", NULL, NULL, NULL, "UTF-8"},
    {"a negative budget", NULL, NULL, "USD", "-1", NULL, "-1"},
    {"a colon in a currency", NULL, NULL, "USD:EUR", "1", NULL, "USD:EUR"},
    {"no amount", NULL, NULL, "USD", NULL, NULL, "digit"},
    {"an expiry with an offset", NULL, NULL, NULL, NULL, "2024-09-01T00:00:00+00:00", "expires_at"},
};

static void the_builder_reports_its_first_error_when_it_builds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_builds / sizeof *bad_builds; i++) {
        const build_row *row = &bad_builds[i];
        print_message("  %s\n", row->name);
        arcp_lease_builder *builder = arcp_lease_builder_new();
        assert_non_null(builder);
        if (row->pattern != NULL) {
            arcp_lease_allow(builder, row->capability, row->pattern);
        } else if (row->currency != NULL) {
            arcp_lease_budget(builder, row->currency, row->amount);
        } else {
            arcp_lease_expires_at(builder, row->expires_at);
        }
        /* Later calls neither clear nor hide the error. */
        arcp_lease_allow(builder, "fs.read", "/a");
        arcp_lease_allow(builder, "also.wrong", NULL);
        arcp_lease_budget(builder, "", "");
        arcp_lease_expires_at(builder, "never");
        arcp_lease *lease = NULL;
        arcp_error err = {0};
        assert_int_equal(arcp_lease_build(builder, &lease, &err), ARCP_E_INVALID_REQUEST);
        assert_null(lease);
        check_says(err.message, row->says);
    }
}

static void a_builder_can_be_freed_without_building(void **state)
{
    (void)state;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    assert_non_null(builder);
    arcp_lease_allow(builder, "fs.read", "/a");
    arcp_lease_builder_free(builder);
    arcp_lease_builder_free(NULL);
    arcp_lease_unref(NULL);
}

/* [arcp:LA-3] [arcp:LA-22] */
static void the_seven_names_are_reserved_and_vendors_names_are_valid(void **state)
{
    (void)state;
    static const char *const reserved[] = {"fs.read",        "fs.write",  "net.fetch",  "tool.call",
                                           "agent.delegate", "model.use", "cost.budget"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        assert_true(arcp_capability_is_reserved(arcp_span_cstr(reserved[i])));
        assert_true(arcp_capability_is_valid(arcp_span_cstr(reserved[i])));
    }
    assert_false(arcp_capability_is_reserved(SPAN("x-vendor.acme.pub")));
    assert_true(arcp_capability_is_valid(SPAN("x-vendor.acme.pub")));
    assert_false(arcp_capability_is_valid(SPAN("x-vendor.acme")));
    assert_false(arcp_capability_is_valid(SPAN("fs.delete")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guides_lease_reads_back_as_it_was_written),
        cmocka_unit_test(an_absent_or_null_lease_is_the_empty_one),
        cmocka_unit_test(names_and_patterns_may_be_written_with_escapes),
        cmocka_unit_test(a_lease_has_its_capabilities_even_without_patterns),
        cmocka_unit_test(an_expiry_keeps_its_text_and_is_rounded_down_to_nanoseconds),
        cmocka_unit_test(a_malformed_lease_is_refused_with_capability_index_and_reason),
        cmocka_unit_test(every_limit_holds_on_both_sides),
        cmocka_unit_test(a_currency_has_at_most_64_bytes),
        cmocka_unit_test(amounts_are_not_patterns_and_may_have_stars),
        cmocka_unit_test(the_default_limits_hold_1024_patterns_of_a_capability),
        cmocka_unit_test(the_builder_makes_the_leases_of_the_guides),
        cmocka_unit_test(the_builder_reports_its_first_error_when_it_builds),
        cmocka_unit_test(a_builder_can_be_freed_without_building),
        cmocka_unit_test(the_seven_names_are_reserved_and_vendors_names_are_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
