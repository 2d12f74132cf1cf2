/* The work that the leases of one request may cause together: both sides of the bound, and that
 * ordinary leases stay far below the default. */
#include "support/check.h"

#include <stdio.h>

#include "context/settings.h"
#include "core/lease_subset.h"
#include "core/lease_text.h"

#define PLENTY UINT64_MAX

enum { MANY = 1000, TEXT_MAX = 256 * 1024 };

/* Found by hill climbing: one question about it reaches the bound of a question. */
#define HOSTILE                                                                                    \
    "/*****/**/***a*/*/*/***a/*/*/*/*?/**/a*/*/*aa*/**aaaaaaa**/aaa*/**/b*a*/a**a**bb*aa***ba**"   \
    "*a*a**a***a?aa**b*aa*a"

static uint64_t default_steps(void)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    return settings.limits_lease_steps;
}

/* A lease of so many patterns, made from formats with one number each. */
static arcp_lease *many_of(const char *capability, const char *const *formats, size_t format_count,
                           size_t count)
{
    static char text[TEXT_MAX];
    size_t size = (size_t)snprintf(text, sizeof text, "{\"%s\":[", capability);
    for (size_t i = 0; i < count; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%s\"", i == 0 ? "" : ",");
        for (const char *byte = formats[i % format_count]; *byte != '\0'; byte++) {
            assert_true(size < sizeof text - 32);
            if (*byte == '#') {
                size += (size_t)snprintf(text + size, sizeof text - size, "%zu", i);
            } else {
                text[size++] = *byte;
            }
        }
        text[size++] = '"';
    }
    (void)snprintf(text + size, sizeof text - size, "]}");
    return lease_of(text, "");
}

/* Narrows with so many steps; *left has the remaining ones afterwards. */
static arcp_status narrow(const arcp_lease *request, const arcp_lease *ceiling, uint64_t *left,
                          arcp_lease **out)
{
    arcp__lease_work work = {*left};
    const arcp__ceiling by = {.lease = ceiling, .work = &work};
    arcp_error err = {0};
    const arcp_status status = arcp__lease_narrow(request, &by, out, NULL, &err);
    assert_int_equal(err.status, status);
    *left = work.left;
    return status;
}

static uint64_t steps_to_narrow(const arcp_lease *request, const arcp_lease *ceiling)
{
    uint64_t left = PLENTY;
    arcp_lease *narrowed = NULL;
    assert_int_equal(narrow(request, ceiling, &left, &narrowed), ARCP_OK);
    arcp_lease_unref(narrowed);
    return PLENTY - left;
}

static void work_is_taken_to_the_last_step_and_no_further(void **state)
{
    (void)state;
    arcp__lease_work work = {10};
    assert_true(arcp__lease_work_take(&work, 4));
    assert_true(arcp__lease_work_take(&work, 6));
    assert_int_equal(work.left, 0);
    assert_true(arcp__lease_work_take(&work, 0));
    work.left = 10;
    assert_false(arcp__lease_work_take(&work, 11));
    assert_int_equal(work.left, 0);
    assert_false(arcp__lease_work_take(&work, 1));
    assert_true(arcp__lease_work_take(NULL, PLENTY));
}

static void narrowing_is_done_with_exactly_its_steps_and_refused_with_one_less(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *request;
        const char *ceiling;
    } rows[] = {
        {"within", "{\"fs.read\":[\"/srv/a/**\"]}", "{\"fs.read\":[\"/srv/**\"]}"},
        {"outside", "{\"fs.read\":[\"/etc/**\"]}", "{\"fs.read\":[\"/srv/**\"]}"},
        {"narrowed", "{\"fs.read\":[\"/data/**\",\"/data/*/x\"]}",
         "{\"fs.read\":[\"/data/*/pub/**\"]}"},
        {"a search", "{\"net.fetch\":[\"https://*:8*/**/a\"]}",
         "{\"net.fetch\":[\"https://**/*a*\",\"https://h/**\"]}"},
        {"amounts", "{\"cost.budget\":[\"USD:1\",\"EUR:9\"]}", "{\"cost.budget\":[\"EUR:2\"]}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("  %s\n", rows[i].name);
        const arcp_lease *request = lease_of(rows[i].request, "");
        const arcp_lease *ceiling = lease_of(rows[i].ceiling, "");
        const uint64_t needed = steps_to_narrow(request, ceiling);
        assert_true(needed > 0);
        uint64_t left = needed;
        arcp_lease *narrowed = NULL;
        assert_int_equal(narrow(request, ceiling, &left, &narrowed), ARCP_OK);
        assert_int_equal(left, 0);
        arcp_lease_unref(narrowed);
        narrowed = NULL;
        left = needed - 1;
        assert_int_equal(narrow(request, ceiling, &left, &narrowed), ARCP_E_LIMIT);
        assert_null(narrowed);
        assert_int_equal(left, 0);
        arcp_lease_unref(request);
        arcp_lease_unref(ceiling);
    }
}

static arcp_authority *holder_of(const arcp_lease *lease)
{
    arcp_authority *authority = NULL;
    arcp_budget *budget = NULL;
    arcp_error err = {0};
    check_ok(arcp_budget_new(lease, NULL, &budget, &err), &err);
    arcp_authority_options options = arcp_authority_options_init();
    options.budget = budget;
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    arcp_budget_unref(budget);
    return authority;
}

static arcp_status derive(const arcp_authority *parent, const arcp_lease *request, uint64_t *left)
{
    arcp__lease_work work = {*left};
    arcp_lease *derived = NULL;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {0};
    const arcp_status status = arcp__lease_derive(parent, request, &work, &derived, &details, &err);
    assert_int_equal(details.size, 0);
    arcp_lease_unref(derived);
    *left = work.left;
    return status;
}

static void delegation_is_done_with_exactly_its_steps_and_refused_with_one_less(void **state)
{
    (void)state;
    const arcp_lease *held =
        lease_of("{\"fs.read\":[\"/a/**\",\"/b/*/c\"],\"cost.budget\":[\"USD:5\"]}", "");
    const arcp_lease *request = lease_of(
        "{\"fs.read\":[\"/a/x/**\",\"/b/*/*/../c\",\"/b/x/c\"],\"cost.budget\":[\"USD:2\"]}", "");
    const arcp_authority *parent = holder_of(held);
    uint64_t left = PLENTY;
    assert_int_equal(derive(parent, request, &left), ARCP_OK);
    const uint64_t needed = PLENTY - left;
    assert_true(needed > 2);
    left = needed;
    assert_int_equal(derive(parent, request, &left), ARCP_OK);
    assert_int_equal(left, 0);
    left = needed - 1;
    assert_int_equal(derive(parent, request, &left), ARCP_E_LIMIT);
    left = 0;
    assert_int_equal(derive(parent, request, &left), ARCP_E_LIMIT);
    arcp_authority_unref(parent);
    arcp_lease_unref(held);
    arcp_lease_unref(request);
}

static void a_thousand_ordinary_patterns_are_far_below_the_default(void **state)
{
    (void)state;
    static const char *const tenants[] = {"/srv/t#/**", "/srv/t#/*.csv", "/srv/t#/in/**",
                                          "/srv/t#/*/out/**", "/srv/t#/readme"};
    static const char *const parts[] = {"/srv/t#/2026/**", "/srv/t#/x.csv", "/srv/t#/in/a*",
                                        "/srv/t#/*/out/**", "/srv/t#/readme"};
    static const char *const data[] = {"/data/t#/**"};
    static const char *const files[] = {"/**/t#/*.csv"};
    static const char *const urls[] = {"https://h#.example.com/**",
                                       "https://*.h#.example.com/v1/*"};
    static const char *const tools[] = {"web.t#", "mcp.t#.**", "x.*.t#"};
#define PATHS                                                                                      \
    "{\"fs.read\":[\"/srv/*/in/**\",\"/data/*/pub/**\",\"/home/*/x/**\",\"/**/*.csv\","            \
    "\"/**/readme\",\"/data/t1*/**\"]}"
    static const struct {
        const char *name;
        const char *capability;
        const char *const *formats;
        size_t format_count;
        const char *ceiling; /* NULL: a thousand of `tenants` */
    } rows[] = {
        {"tenants", "fs.read", tenants, 5, PATHS},
        {"data", "fs.read", data, 1, PATHS},
        {"files", "fs.read", files, 1, PATHS},
        {"parts of tenants", "fs.read", parts, 5, NULL},
        {"hosts", "net.fetch", urls, 2,
         "{\"net.fetch\":[\"https://*.example.com/**\",\"https://*.h1*.example.com/v1/**\"]}"},
        {"tools", "tool.call", tools, 3, "{\"tool.call\":[\"web.*\",\"mcp.**\",\"x.y.*\"]}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const arcp_lease *request =
            many_of(rows[i].capability, rows[i].formats, rows[i].format_count, MANY);
        const arcp_lease *ceiling = rows[i].ceiling == NULL ? many_of("fs.read", tenants, 5, MANY)
                                                            : lease_of(rows[i].ceiling, "");
        const uint64_t steps = steps_to_narrow(request, ceiling);
        print_message("  %s: %llu steps\n", rows[i].name, (unsigned long long)steps);
        assert_true(steps < default_steps() * 6 / 10);
        arcp_lease_unref(request);
        arcp_lease_unref(ceiling);
    }
}

static void a_child_with_a_thousand_patterns_is_below_the_default(void **state)
{
    (void)state;
    static const char *const held[] = {"/srv/t#/**", "/srv/t#/*.csv", "/srv/t#/*/out/**"};
    static const char *const wanted[] = {"/srv/t#/2026/**", "/srv/t#/x.csv", "/srv/t#/*/out/*"};
    const arcp_lease *parent = many_of("fs.read", held, 3, MANY);
    const arcp_lease *child = many_of("fs.read", wanted, 3, MANY);
    const arcp_authority *holder = holder_of(parent);
    uint64_t left = default_steps();
    assert_int_equal(derive(holder, child, &left), ARCP_OK);
    left = default_steps();
    assert_int_equal(derive(holder, parent, &left), ARCP_OK);
    arcp_authority_unref(holder);
    arcp_lease_unref(parent);
    arcp_lease_unref(child);
}

static void patterns_that_are_made_to_take_long_are_refused(void **state)
{
    (void)state;
    static const char *const hostile[] = {HOSTILE "#"};
    const arcp_lease *ceiling = lease_of("{\"fs.read\":[\"/srv/**\",\"/data/*/pub/**\"]}", "");
    const arcp_lease *one = many_of("fs.read", hostile, 1, 1);
    const arcp_lease *many = many_of("fs.read", hostile, 1, MANY);
    const arcp_lease *const requests[] = {one, many};
    for (size_t i = 0; i < 2; i++) {
        uint64_t left = default_steps();
        arcp_lease *narrowed = NULL;
        assert_int_equal(narrow(requests[i], ceiling, &left, &narrowed), ARCP_E_LIMIT);
        assert_null(narrowed);
    }
    arcp_lease_unref(one);
    arcp_lease_unref(many);
    arcp_lease_unref(ceiling);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_taken_to_the_last_step_and_no_further),
        cmocka_unit_test(narrowing_is_done_with_exactly_its_steps_and_refused_with_one_less),
        cmocka_unit_test(delegation_is_done_with_exactly_its_steps_and_refused_with_one_less),
        cmocka_unit_test(a_thousand_ordinary_patterns_are_far_below_the_default),
        cmocka_unit_test(a_child_with_a_thousand_patterns_is_below_the_default),
        cmocka_unit_test(patterns_that_are_made_to_take_long_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
