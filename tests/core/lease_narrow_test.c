/* Narrowing by a ceiling: never wider than the request, never wider than the ceiling
 * (draft §9.2, docs/protocol.md, Authority). */
#include "support/check.h"

#include <arcp/lease_subset.h>

#include "core/lease_text.h"

#define UNTIL(text) "{\"expires_at\":\"" text "\"}"
#define NONE        ""

typedef struct narrow_row {
    const char *name;
    const char *request;
    const char *ceiling;
    bool absent_is_open;
    const char *want;
    const char *dropped;
} narrow_row;

#define ROW(capability, pattern, narrowed)                                                         \
    "[{\"capability\":\"" capability "\",\"pattern\":\"" pattern "\",\"narrowed_to\":" narrowed "}]"

static const narrow_row rows[] = {
    {"what is within stays", "{\"fs.read\":[\"/a/b\",\"/a/c/**\"]}", "{\"fs.read\":[\"/a/**\"]}",
     true, "{\"fs.read\":[\"/a/b\",\"/a/c/**\"]}", "[]"},
    {"the guide's reduction", "{\"net.fetch\":[\"https://**\"],\"fs.write\":[\"/tmp/**\"]}",
     "{\"net.fetch\":[\"https://api.example.com/**\"],\"fs.write\":[]}", true,
     "{\"net.fetch\":[\"https://api.example.com/**\"],\"fs.write\":[]}",
     "[{\"capability\":\"net.fetch\",\"pattern\":\"https://**\",\"narrowed_to\":[\"https://"
     "api.example.com/**\"]},{\"capability\":\"fs.write\",\"pattern\":\"/tmp/**\",\"narrowed_to\":"
     "[]}]"},
    {"a capability the ceiling does not name stays when that is open", "{\"tool.call\":[\"**\"]}",
     "{\"fs.read\":[]}", true, "{\"tool.call\":[\"**\"]}", "[]"},
    {"a capability the ceiling does not name falls away when that is closed",
     "{\"tool.call\":[\"**\"]}", "{\"fs.read\":[]}", false, "{\"tool.call\":[]}",
     ROW("tool.call", "**", "[]")},
    {"a vendor's capability is narrowed too", "{\"x-vendor.a.b\":[\"**\"]}",
     "{\"x-vendor.a.b\":[\"q/*\",\"r\"]}", true, "{\"x-vendor.a.b\":[\"q/*\",\"r\"]}",
     ROW("x-vendor.a.b", "**", "[\"q/*\",\"r\"]")},
    {"a ceiling never adds a capability", "{}", "{\"fs.read\":[\"/a\"]}", true, "{}", "[]"},
    {"a pattern is replaced by every ceiling pattern within it", "{\"fs.read\":[\"/**\"]}",
     "{\"fs.read\":[\"/a/**\",\"/b/*.txt\"]}", true, "{\"fs.read\":[\"/a/**\",\"/b/*.txt\"]}",
     ROW("fs.read", "/**", "[\"/a/**\",\"/b/*.txt\"]")},
    {"two patterns that come to the same are one", "{\"fs.read\":[\"/**\",\"**\"]}",
     "{\"fs.read\":[\"/a/**\"]}", true, "{\"fs.read\":[\"/a/**\"]}",
     "[{\"capability\":\"fs.read\",\"pattern\":\"/**\",\"narrowed_to\":[\"/a/**\"]},{"
     "\"capability\":\"fs.read\",\"pattern\":\"**\",\"narrowed_to\":[]}]"},
    {"a suffix below a directory", "{\"fs.read\":[\"/data/**.csv\"]}",
     "{\"fs.read\":[\"/data/reports/**\"]}", true, "{\"fs.read\":[\"/data/reports/**.csv\"]}",
     ROW("fs.read", "/data/**.csv", "[\"/data/reports/**.csv\"]")},
    {"a directory below a suffix", "{\"fs.read\":[\"/data/reports/**\"]}",
     "{\"fs.read\":[\"/data/**.csv\"]}", true, "{\"fs.read\":[\"/data/reports/**.csv\"]}",
     ROW("fs.read", "/data/reports/**", "[\"/data/reports/**.csv\"]")},
    {"whole segments below a directory", "{\"fs.read\":[\"/a/**/z\"]}",
     "{\"fs.read\":[\"/a/b/**\"]}", true, "{\"fs.read\":[\"/a/b/**/z\"]}",
     ROW("fs.read", "/a/**/z", "[\"/a/b/**/z\"]")},
    {"any host of the one, one path of the other", "{\"net.fetch\":[\"https://*/v1/**\"]}",
     "{\"net.fetch\":[\"https://api.example.com/**\"]}", true,
     "{\"net.fetch\":[\"https://api.example.com/v1/**\"]}",
     ROW("net.fetch", "https://*/v1/**", "[\"https://api.example.com/v1/**\"]")},
    {"names segment by segment", "{\"tool.call\":[\"*.search\"]}", "{\"tool.call\":[\"web.*\"]}",
     true, "{\"tool.call\":[\"web.search\"]}", ROW("tool.call", "*.search", "[\"web.search\"]")},
    {"the longer of two beginnings", "{\"model.use\":[\"gpt-*\"]}", "{\"model.use\":[\"gpt-4*\"]}",
     true, "{\"model.use\":[\"gpt-4*\"]}", ROW("model.use", "gpt-*", "[\"gpt-4*\"]")},
    {"nothing in common", "{\"fs.read\":[\"/a/**\",\"/b\"]}", "{\"fs.read\":[\"/b/**\"]}", true,
     "{\"fs.read\":[\"/b\"]}", ROW("fs.read", "/a/**", "[]")},
    {"an overlap that is no pattern is dropped", "{\"model.use\":[\"a*\"]}",
     "{\"model.use\":[\"*b\"]}", true, "{\"model.use\":[]}", ROW("model.use", "a*", "[]")},
    {"models left out stay out under a ceiling that names some", "{\"tool.call\":[\"t\"]}",
     "{\"model.use\":[\"gpt-4*\"]}", true, "{\"tool.call\":[\"t\"],\"model.use\":[]}",
     "[{\"capability\":\"model.use\",\"narrowed_to\":[]}]"},
    {"the smaller budget wins", "{\"cost.budget\":[\"USD:3\",\"USD:3.50\"]}",
     "{\"cost.budget\":[\"USD:5.00\"]}", true, "{\"cost.budget\":[\"USD:5\"]}",
     ROW("cost.budget", "USD:6.5", "[\"USD:5\"]")},
    {"a budget within stays as it was written", "{\"cost.budget\":[\"USD:2.00\",\"USD:3\"]}",
     "{\"cost.budget\":[\"USD:5\"]}", true, "{\"cost.budget\":[\"USD:2.00\",\"USD:3\"]}", "[]"},
    {"a limit of either side is a limit", "{\"cost.budget\":[\"EUR:1\"]}",
     "{\"cost.budget\":[\"USD:5\"]}", false, "{\"cost.budget\":[\"EUR:1\",\"USD:5\"]}",
     "[{\"capability\":\"cost.budget\",\"narrowed_to\":[\"USD:5\"]}]"},
    {"a ceiling limits a request without a budget", "{\"tool.call\":[\"t\"]}",
     "{\"cost.budget\":[\"USD:5.0\"]}", true, "{\"tool.call\":[\"t\"],\"cost.budget\":[\"USD:5\"]}",
     "[{\"capability\":\"cost.budget\",\"narrowed_to\":[\"USD:5\"]}]"},
    {"a ceiling without a budget leaves the request's", "{\"cost.budget\":[\"USD:5\"]}", "{}", true,
     "{\"cost.budget\":[\"USD:5\"]}", "[]"},
    {"also when what it does not name is closed", "{\"cost.budget\":[\"USD:5\"]}", "{}", false,
     "{\"cost.budget\":[\"USD:5\"]}", "[]"},
};

static void check_lease(const arcp_lease *lease, const char *want)
{
    arcp_buf text = arcp_buf_init();
    arcp_lease_format(lease, &text);
    check_span(arcp_buf_span(&text), want);
    arcp_buf_fini(&text);
}

static void a_request_is_narrowed_to_what_the_ceiling_allows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  %s\n", rows[i].name);
        const arcp_lease *request = lease_of(rows[i].request, NONE);
        const arcp_lease *ceiling = lease_of(rows[i].ceiling, NONE);
        arcp_lease *narrowed = NULL;
        arcp_buf dropped = arcp_buf_init();
        arcp_error err = {0};
        check_ok(
            arcp_lease_narrow(request, ceiling, rows[i].absent_is_open, &narrowed, &dropped, &err),
            &err);
        check_lease(narrowed, rows[i].want);
        check_span(arcp_buf_span(&dropped), rows[i].dropped);
        arcp_buf_fini(&dropped);
        arcp_lease_unref(narrowed);
        check_ok(arcp_lease_narrow(request, ceiling, rows[i].absent_is_open, &narrowed, NULL, &err),
                 &err);
        check_lease(narrowed, rows[i].want);
        arcp_lease_unref(narrowed);
        arcp_lease_unref(request);
        arcp_lease_unref(ceiling);
    }
}

static void check_expiry(const char *request_until, const char *ceiling_until, const char *want,
                         const char *want_dropped)
{
    const arcp_lease *request = lease_of("{}", request_until);
    const arcp_lease *ceiling = lease_of("{}", ceiling_until);
    arcp_lease *narrowed = NULL;
    arcp_buf text = arcp_buf_init();
    arcp_buf dropped = arcp_buf_init();
    arcp_error err = {0};
    check_ok(arcp_lease_narrow(request, ceiling, true, &narrowed, &dropped, &err), &err);
    arcp_lease_format_constraints(narrowed, &text);
    check_span(arcp_buf_span(&text), want);
    check_span(arcp_buf_span(&dropped), want_dropped);
    arcp_buf_fini(&text);
    arcp_buf_fini(&dropped);
    arcp_lease_unref(narrowed);
    arcp_lease_unref(request);
    arcp_lease_unref(ceiling);
}

static void the_earlier_expiry_wins(void **state)
{
    (void)state;
    check_expiry(UNTIL("2026-01-01T00:00:00Z"), UNTIL("2025-01-01T00:00:00Z"),
                 UNTIL("2025-01-01T00:00:00Z"),
                 ROW("expires_at", "2026-01-01T00:00:00Z", "[\"2025-01-01T00:00:00Z\"]"));
    check_expiry(UNTIL("2024-01-01T00:00:00Z"), UNTIL("2025-01-01T00:00:00Z"),
                 UNTIL("2024-01-01T00:00:00Z"), "[]");
    check_expiry(NONE, UNTIL("2025-01-01T00:00:00Z"), UNTIL("2025-01-01T00:00:00Z"),
                 "[{\"capability\":\"expires_at\",\"narrowed_to\":[\"2025-01-01T00:00:00Z\"]}]");
    check_expiry(UNTIL("2025-01-01T00:00:00Z"), NONE, UNTIL("2025-01-01T00:00:00Z"), "[]");
    check_expiry(NONE, NONE, "{}", "[]");
}

static void a_request_within_the_ceiling_is_returned_unchanged(void **state)
{
    (void)state;
    const arcp_lease *request = lease_of("{\"fs.read\":[\"/a/b\"]}", NONE);
    const arcp_lease *ceiling = lease_of("{\"fs.read\":[\"/a/**\"]}", NONE);
    arcp_lease *narrowed = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_narrow(request, ceiling, true, &narrowed, NULL, &err), &err);
    assert_ptr_equal(narrowed, request);
    arcp_lease_unref(narrowed);
    arcp_lease_unref(request);
    arcp_lease_unref(ceiling);
}

static void a_huge_request_is_cut_rather_than_widened(void **state)
{
    (void)state;
    /* 200 x 200 pairs that overlap in no pattern: more than are looked at. */
    arcp_lease_builder *requests = arcp_lease_builder_new();
    arcp_lease_builder *ceilings = arcp_lease_builder_new();
    assert_non_null(requests);
    assert_non_null(ceilings);
    for (int i = 0; i < 200; i++) {
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "*-%d-*", i);
        arcp_lease_allow(requests, "model.use", pattern);
        (void)snprintf(pattern, sizeof pattern, "*+%d+", i);
        arcp_lease_allow(ceilings, "model.use", pattern);
    }
    arcp_lease *request = NULL;
    arcp_lease *ceiling = NULL;
    arcp_lease *narrowed = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_build(requests, &request, &err), &err);
    check_ok(arcp_lease_build(ceilings, &ceiling, &err), &err);
    check_ok(arcp_lease_narrow(request, ceiling, true, &narrowed, NULL, &err), &err);
    check_lease(narrowed, "{\"model.use\":[]}");
    arcp_lease_unref(narrowed);
    arcp_lease_unref(request);
    arcp_lease_unref(ceiling);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_narrowed_to_what_the_ceiling_allows),
        cmocka_unit_test(the_earlier_expiry_wins),
        cmocka_unit_test(a_request_within_the_ceiling_is_returned_unchanged),
        cmocka_unit_test(a_huge_request_is_cut_rather_than_widened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
