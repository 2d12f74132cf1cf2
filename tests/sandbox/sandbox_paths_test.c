/* What a path is to a plan: the questions of the broker. */
#include "support/check.h"

#include "core/lease_text.h"
#include "sandbox/plan_model.h"
#include "sandbox/sandbox_rig.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

/* A plan and its paths. */
typedef struct fixture {
    arcp_lease *lease;
    arcp__sandbox_plan *plan;
    arcp__sandbox_paths *paths;
} fixture;

static const char lease_text[] =
    "{\"fs.read\":[\"/srv/tree/**\",\"/srv/f\",\"/data/*.csv\",\"/home/u/**/notes\","
    "\"/opt/tool/log\",\"local\"],"
    "\"fs.write\":[\"/srv/out/**\",\"/data/*.csv\",\"/opt/*/log\",\"/srv/tree/*.tmp\","
    "\"/var/lib/**/x\",\"/srv/**/config\"]}";

static const arcp_span bases[] = {{"/opt/tool", 9}};
static const arcp_span own[] = {{"/var/lib/arcpd", 14}};

static void open_fixture(fixture *f, const char *without)
{
    f->lease = lease_of(lease_text, "");
    arcp__sandbox_request request = rig_request(f->lease);
    request.bases = bases;
    request.base_count = 1;
    request.own = own;
    request.own_count = 1;
    request.protect = ARCP__SANDBOX_PROTECT_COMMITS;
    rig_without(&request, without);
    f->plan = rig_plan(&request);
    arcp_error err = {0};
    check_ok(arcp__sandbox_paths_new(f->plan, &f->paths, &err), &err);
}

static void close_fixture(fixture *f)
{
    arcp__sandbox_paths_free(f->paths);
    arcp__sandbox_plan_free(f->plan);
    arcp_lease_unref(f->lease);
}

enum { R = ARCP__SANDBOX_READ, X = ARCP__SANDBOX_EXECUTE, W = ARCP__SANDBOX_WRITE };

typedef struct place_row {
    const char *path;
    arcp__sandbox_class class;
    uint32_t rights;
    uint32_t lease_rights;
} place_row;

static void check_places(const char *without, const place_row *rows, size_t count)
{
    fixture f;
    open_fixture(&f, without);
    for (size_t i = 0; i < count; i++) {
        const arcp__sandbox_place place =
            arcp__sandbox_paths_find(f.paths, arcp_span_cstr(rows[i].path));
        if (place.class != rows[i].class || place.rights != rows[i].rights ||
            place.lease_rights != rows[i].lease_rights) {
            fail_msg("%s: class %d, rights %u, of the lease %u", rows[i].path, (int)place.class,
                     place.rights, place.lease_rights);
        }
    }
    close_fixture(&f);
}

static void the_deepest_mount_decides_in_a_view(void **state)
{
    (void)state;
    static const place_row rows[] = {
        {"/srv/tree", ARCP__SANDBOX_CLASS_LEASE, R | X, R | X},
        {"/srv/tree/a/b", ARCP__SANDBOX_CLASS_LEASE, R | X, R | X},
        {"/srv/treehouse", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
        {"/srv", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
        {"/srv/f", ARCP__SANDBOX_CLASS_LEASE, R | X, R | X},
        {"/srv/f/x", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
        {"/srv/out/a", ARCP__SANDBOX_CLASS_LEASE, W, W},
        {"/srv/out/.git/hooks/x", ARCP__SANDBOX_CLASS_LEASE, 0, 0},
        {"/srv/out/.git/objects/x", ARCP__SANDBOX_CLASS_LEASE, W, W},
        {"/srv/out/.github", ARCP__SANDBOX_CLASS_LEASE, W, W},
        {"/data/a.csv", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
        {"/usr/bin/env", ARCP__SANDBOX_CLASS_BASE, R | X, 0},
        {"/usr/local/etc/x", ARCP__SANDBOX_CLASS_BASE, 0, 0},
        {"/opt/tool/bin", ARCP__SANDBOX_CLASS_BASE, R | X, 0},
        {"/opt/tool/log", ARCP__SANDBOX_CLASS_BASE, R | X, R | X},
        {"/etc/passwd", ARCP__SANDBOX_CLASS_BASE, R, 0},
        {"/tmp/x", ARCP__SANDBOX_CLASS_PRIVATE, R | W | X, 0},
        {"/home/u/code", ARCP__SANDBOX_CLASS_PRIVATE, R | W | X, 0},
        {"/proc/1/mem", ARCP__SANDBOX_CLASS_SYSTEM, 0, 0},
        {"/var/lib/arcpd", ARCP__SANDBOX_CLASS_OWN, 0, 0},
        {"/var/lib/arcpd/x", ARCP__SANDBOX_CLASS_OWN, 0, 0},
        {"/", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
    };
    check_places("", rows, sizeof rows / sizeof *rows);
}

static void rules_decide_without_a_view(void **state)
{
    (void)state;
    static const place_row rows[] = {
        {"/srv/tree/a/b", ARCP__SANDBOX_CLASS_LEASE, R | X, R | X},
        {"/srv/out/.git/hooks/x", ARCP__SANDBOX_CLASS_LEASE, W, W},
        {"/usr/bin/env", ARCP__SANDBOX_CLASS_BASE, R | X, 0},
        {"/usr/local/etc/x", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
        {"/etc/passwd", ARCP__SANDBOX_CLASS_BASE, R | X, 0},
        {"/etc/shadow", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
        {"/tmp/x", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
        {"/scratch/1/tmp/x", ARCP__SANDBOX_CLASS_PRIVATE, R | W | X, 0},
        {"/scratch/1", ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0},
        {"/dev/null", ARCP__SANDBOX_CLASS_SYSTEM, R | W, 0},
        {"/dev/sda", ARCP__SANDBOX_CLASS_SYSTEM, 0, 0},
        {"/var/lib/arcpd/x", ARCP__SANDBOX_CLASS_OWN, 0, 0},
    };
    check_places("userns", rows, sizeof rows / sizeof *rows);
}

static void patterns_grant_what_they_match(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool reads;
        bool writes;
    } rows[] = {
        {"/data/a.csv", true, true},
        {"/data/a.txt", false, false},
        {"/data/b/a.csv", false, false},
        {"/home/u/notes", true, false},
        {"/home/u/a/b/notes", true, false},
        {"/home/u/code"
         "/local",
         true, false},
        {"/srv/tree/a.tmp", true, true},
        {"/opt/other/log", false, true},
        /* What the command needs stays read-only. */
        {"/opt/tool/log", true, false},
        /* Neither the runtime's own nor the system's, whatever matches. */
        {"/var/lib/x", false, true},
        {"/var/lib/arcpd/x", false, false},
        /* A protected .git is so for patterns, too. */
        {"/srv/out/.git/config", false, false},
        {"/srv/out/config", false, true},
    };
    fixture f;
    open_fixture(&f, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const arcp_span path = arcp_span_cstr(rows[i].path);
        if (arcp__sandbox_paths_grant(f.paths, ARCP__CAPABILITY_FS_READ, path) != rows[i].reads ||
            arcp__sandbox_paths_grant(f.paths, ARCP__CAPABILITY_FS_WRITE, path) != rows[i].writes) {
            fail_msg("%s", rows[i].path);
        }
    }
    close_fixture(&f);
}

static void without_a_broker_patterns_are_not_in_the_plan(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "broker");
    assert_false(arcp__sandbox_paths_grant(f.paths, ARCP__CAPABILITY_FS_READ, SPAN("/data/a.csv")));
    assert_true(arcp__sandbox_paths_grant(f.paths, ARCP__CAPABILITY_FS_READ, SPAN("/srv/tree/a")));
    assert_false(model_admits(f.plan, ARCP__CAPABILITY_FS_READ, SPAN("/data/a.csv")));
    assert_true(model_admits(f.plan, ARCP__CAPABILITY_FS_READ, SPAN("/srv/tree/a")));
    close_fixture(&f);
}

static void a_plan_that_is_refused_admits_nothing(void **state)
{
    (void)state;
    arcp_lease *lease = lease_of(lease_text, "");
    arcp__sandbox_request request = rig_request(lease);
    request.min = ARCP__SANDBOX_VERDICT_EXACT;
    rig_without(&request, "broker");
    arcp__sandbox_plan *plan = rig_plan(&request);
    assert_int_equal(plan->refusal, ARCP__SANDBOX_REFUSAL_LINE);
    assert_false(model_admits(plan, ARCP__CAPABILITY_FS_READ, SPAN("/srv/tree/a")));
    arcp__sandbox_plan_free(plan);
    rig_without(&request, "landlock");
    plan = rig_plan(&request);
    assert_int_equal(plan->refusal, ARCP__SANDBOX_REFUSAL_LEVEL);
    assert_int_equal(plan->mount_count + plan->rule_count, 0);
    assert_false(model_admits(plan, ARCP__CAPABILITY_FS_READ, SPAN("/srv/tree/a")));
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

static void other_capabilities_are_not_admitted(void **state)
{
    (void)state;
    arcp_lease *lease = lease_of("{\"tool.call\":[\"x\"]}", "");
    const arcp__sandbox_request request = rig_request(lease);
    arcp__sandbox_plan *plan = rig_plan(&request);
    assert_false(model_admits(plan, ARCP__CAPABILITY_TOOL_CALL, SPAN("x")));
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_deepest_mount_decides_in_a_view),
        cmocka_unit_test(rules_decide_without_a_view),
        cmocka_unit_test(patterns_grant_what_they_match),
        cmocka_unit_test(without_a_broker_patterns_are_not_in_the_plan),
        cmocka_unit_test(a_plan_that_is_refused_admits_nothing),
        cmocka_unit_test(other_capabilities_are_not_admitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
