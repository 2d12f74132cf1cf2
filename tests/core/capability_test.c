/* Which capabilities there are: docs/leases.md, Patterns, draft §9.2. */
#include "support/check.h"

#include <arcp/lease.h>

#include "core/capability.h"

typedef struct row {
    const char *name;
    arcp__capability capability;
    arcp__target_kind kind;
    bool is_reserved;
} row;

static const row rows[] = {
    {"fs.read", ARCP__CAPABILITY_FS_READ, ARCP__TARGET_PATH, true},
    {"fs.write", ARCP__CAPABILITY_FS_WRITE, ARCP__TARGET_PATH, true},
    {"net.fetch", ARCP__CAPABILITY_NET_FETCH, ARCP__TARGET_URL, true},
    {"tool.call", ARCP__CAPABILITY_TOOL_CALL, ARCP__TARGET_TOOL, true},
    {"agent.delegate", ARCP__CAPABILITY_AGENT_DELEGATE, ARCP__TARGET_NAME, true},
    {"model.use", ARCP__CAPABILITY_MODEL_USE, ARCP__TARGET_NAME, true},
    {"cost.budget", ARCP__CAPABILITY_COST_BUDGET, ARCP__TARGET_AMOUNT, true},
    {"x-vendor.a.b", ARCP__CAPABILITY_VENDOR, ARCP__TARGET_NAME, false},
    {"x-vendor.acme.kafka.publish", ARCP__CAPABILITY_VENDOR, ARCP__TARGET_NAME, false},
    {"x-vendor.a-1_.b-2_", ARCP__CAPABILITY_VENDOR, ARCP__TARGET_NAME, false},
    {"x-vendor.-.0", ARCP__CAPABILITY_VENDOR, ARCP__TARGET_NAME, false},
    {"", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"fs", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"fs.readx", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"fs.rea", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"Fs.read", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"fs.delete", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {" fs.read", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor.", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor.a", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor.a.", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor..b", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor.a..b", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor.A.b", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor.a.b ", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendor.a.b/c", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"x-vendors.a.b", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
    {"vendor.a.b", ARCP__CAPABILITY_UNKNOWN, ARCP__TARGET_NONE, false},
};

static void check_row(void **state)
{
    const row *r = *state;
    const arcp_span name = arcp_span_cstr(r->name);
    const arcp__capability capability = arcp__capability_from_name(name);
    assert_int_equal(capability, r->capability);
    assert_int_equal(arcp__capability_kind(capability), r->kind);
    assert_int_equal(arcp_capability_is_reserved(name), r->is_reserved);
    assert_int_equal(arcp_capability_is_valid(name), capability != ARCP__CAPABILITY_UNKNOWN);
    assert_int_equal(arcp__capability_is_glob(capability),
                     r->kind != ARCP__TARGET_NONE && r->kind != ARCP__TARGET_AMOUNT);
    if (r->is_reserved) {
        assert_string_equal(arcp__capability_name(capability), r->name);
    }
}

/* [arcp:9.2-1] */
static void seven_names_are_reserved(void **state)
{
    (void)state;
    size_t reserved = 0;
    for (arcp__capability i = 1; i < ARCP__CAPABILITY_COUNT; i++) {
        reserved += arcp_capability_is_reserved(arcp_span_cstr(arcp__capability_name(i)));
    }
    assert_int_equal(reserved, 7);
}

static void only_tool_names_have_dots_between_segments(void **state)
{
    (void)state;
    for (arcp__target_kind kind = 0; kind < ARCP__TARGET_KIND_COUNT; kind++) {
        assert_int_equal(arcp__target_kind_has_dots(kind), kind == ARCP__TARGET_TOOL);
    }
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(seven_names_are_reserved),
        cmocka_unit_test(only_tool_names_have_dots_between_segments),
    };
    const int failed = run_rows(rows, sizeof rows / sizeof rows[0], sizeof rows[0], check_row);
    return failed + cmocka_run_group_tests(others, NULL, NULL);
}
