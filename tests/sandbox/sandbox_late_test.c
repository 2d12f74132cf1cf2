/* Leases that come when the program runs already: which ones can, and what comes of them. */
#include "support/check.h"

#include "core/lease_text.h"
#include "sandbox/sandbox_rig.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

static const arcp_span bases[] = {{"/opt/agent", 10}};
static const arcp_span own[] = {{"/var/lib/arcp", 13}};
static const arcp_span other_own[] = {{"/var/lib/other", 14}};

typedef struct fixture {
    arcp_lease *lease;
    arcp__sandbox_request request;
    arcp__sandbox_plan *plan;
} fixture;

/* A plan that may be late; `change` may alter the request. */
static void open_fixture(fixture *f, const char *lease, void (*change)(arcp__sandbox_request *))
{
    f->lease = lease_of(lease, "");
    f->request = rig_request(f->lease);
    f->request.may_be_late = true;
    f->request.cwd = SPAN("/var/lib/arcp/jobs/job_1");
    f->request.cwd_is_fresh = true;
    f->request.bases = bases;
    f->request.base_count = 1;
    f->request.own = own;
    f->request.own_count = 1;
    f->request.protect = ARCP__SANDBOX_PROTECT_COMMITS;
    f->request.min = ARCP__SANDBOX_VERDICT_UNDER;
    f->request.abilities.values[ARCP__SANDBOX_ABILITY_EGRESS] = 1;
    if (change != NULL) {
        change(&f->request);
    }
    f->plan = rig_plan(&f->request);
}

static void close_fixture(fixture *f)
{
    arcp__sandbox_plan_free(f->plan);
    arcp_lease_unref(f->lease);
}

static void terminate(arcp__sandbox_request *request)
{
    request->tls_terminate = true;
}

static void without_broker(arcp__sandbox_request *request)
{
    rig_without(request, "broker");
}

static void without_view(arcp__sandbox_request *request)
{
    rig_without(request, "userns");
}

static void exact_only(arcp__sandbox_request *request)
{
    request->min = ARCP__SANDBOX_VERDICT_EXACT;
}

static void a_lease_that_changes_nothing_else_may_come_late(void **state)
{
    static const struct {
        const char *lease;
        void (*change)(arcp__sandbox_request *);
        bool is_late;
    } rows[] = {
        {"{}", NULL, true},
        {"{\"fs.read\":[\"/srv/**\"]}", NULL, true},
        {"{\"fs.read\":[\"/srv/**\"]}", without_view, true},
        {"{\"fs.read\":[\"/srv/**\"]}", exact_only, false},
        {"{\"fs.read\":[\"/srv/*.c\"]}", exact_only, true},
        {"{\"fs.read\":[\"sub/**\"]}", exact_only, true},
        {"{\"fs.read\":[\"/srv/**\"]}", without_broker, false},
        {"{}", without_broker, false},
        /* What the sandbox has there is another one. */
        {"{\"fs.read\":[\"/tmp/**\"]}", NULL, false},
        {"{\"fs.read\":[\"/tmp/a\"]}", NULL, false},
        {"{\"fs.read\":[\"/tmp/a/*.c\"]}", NULL, true},
        {"{\"fs.read\":[\"/tmpx/**\"]}", NULL, true},
        {"{\"fs.read\":[\"/run/x/**\"]}", NULL, false},
        {"{\"fs.read\":[\"/var/**\"]}", NULL, false},
        {"{\"fs.read\":[\"/var/log/**\"]}", NULL, true},
        {"{\"fs.read\":[\"/home/u/**\"]}", NULL, false},
        {"{\"fs.read\":[\"/home/**\"]}", NULL, false},
        {"{\"fs.read\":[\"/home/v/**\"]}", NULL, true},
        {"{\"fs.read\":[\"/etc/hosts\"]}", NULL, false},
        {"{\"fs.read\":[\"/usr/local/**\"]}", NULL, false},
        {"{\"fs.read\":[\"/usr/share/**\"]}", NULL, true},
        {"{\"fs.read\":[\"/**\"]}", NULL, false},
        /* The command's own directory stays read-only; what is above it is not written there. */
        {"{\"fs.write\":[\"/opt/agent/log/**\"]}", NULL, false},
        {"{\"fs.read\":[\"/opt/agent/log/**\"]}", NULL, true},
        {"{\"fs.write\":[\"/opt/**\"]}", NULL, true},
        /* Its network has the ports of every network. */
        {"{\"net.fetch\":[\"https://h/**\"]}", NULL, true},
        {"{\"net.fetch\":[\"https://h:8443/**\"]}", NULL, false},
        {"{\"net.fetch\":[\"https://h/v1/*\"]}", terminate, false},
        {"{\"net.fetch\":[\"https://h/**\"]}", terminate, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        open_fixture(&f, rows[i].lease, rows[i].change);
        if (f.plan->is_late != rows[i].is_late) {
            fail_msg("row %zu, %s: late is %d", i, rows[i].lease, f.plan->is_late);
        }
        for (size_t j = 0; f.plan->is_late && j < f.plan->rule_count; j++) {
            assert_int_not_equal(f.plan->rules[j].class, ARCP__SANDBOX_CLASS_LEASE);
        }
        close_fixture(&f);
    }
}

static void a_plan_is_late_only_if_it_may_be(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "{\"fs.read\":[\"/srv/**\"]}", NULL);
    f.request.may_be_late = false;
    arcp__sandbox_plan *plan = rig_plan(&f.request);
    assert_false(plan->is_late);
    arcp__sandbox_plan_free(plan);
    close_fixture(&f);
}

static arcp__sandbox_plan *before(const arcp__sandbox_plan *plan)
{
    arcp__sandbox_plan *out = NULL;
    arcp_error err = {0};
    check_ok(arcp__sandbox_plan_before_lease(plan, &out, &err), &err);
    return out;
}

static arcp__sandbox_class class_of(const arcp__sandbox_plan *plan, const char *path)
{
    arcp__sandbox_paths *paths = NULL;
    arcp_error err = {0};
    check_ok(arcp__sandbox_paths_new(plan, &paths, &err), &err);
    const arcp__sandbox_place place = arcp__sandbox_paths_find(paths, arcp_span_cstr(path));
    arcp__sandbox_paths_free(paths);
    return place.class;
}

static bool grants(const arcp__sandbox_plan *plan, arcp__capability capability, const char *path)
{
    arcp__sandbox_paths *paths = NULL;
    arcp_error err = {0};
    check_ok(arcp__sandbox_paths_new(plan, &paths, &err), &err);
    const bool granted = arcp__sandbox_paths_grant(paths, capability, arcp_span_cstr(path));
    arcp__sandbox_paths_free(paths);
    return granted;
}

static void before_its_lease_a_program_has_nothing_of_it(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "{\"fs.read\":[\"/srv/**\",\"a/**\"],\"fs.write\":[\"/srv/out/**\"]}", NULL);
    arcp__sandbox_plan *waiting = before(f.plan);
    assert_int_equal(waiting->lease_line_count, 0);
    assert_int_equal(waiting->read_count, 0);
    assert_int_equal(waiting->write_count, 0);
    assert_false(grants(waiting, ARCP__CAPABILITY_FS_READ, "/srv/x"));
    assert_true(grants(f.plan, ARCP__CAPABILITY_FS_READ, "/srv/x"));
    assert_true(arcp__sandbox_plan_takes(waiting, f.plan));
    assert_false(arcp__sandbox_plan_takes(f.plan, f.plan)); /* it has one */
    arcp__sandbox_plan_free(waiting);
    close_fixture(&f);
}

/* ---- what must be equal ---- */

static void change_own(arcp__sandbox_request *request)
{
    request->own = other_own;
}

static void change_own_files(arcp__sandbox_request *request)
{
    request->own_files = own;
    request->own_file_count = 1;
}

static void change_bases(arcp__sandbox_request *request)
{
    request->base_count = 0;
}

static void change_limit(arcp__sandbox_request *request)
{
    request->limits.pids++;
}

static void change_hides(arcp__sandbox_request *request)
{
    request->hides = true;
}

static void change_silence(arcp__sandbox_request *request)
{
    request->is_silent = true;
}

static void change_protection(arcp__sandbox_request *request)
{
    request->protect = ARCP__SANDBOX_PROTECT_NONE;
}

static void change_home(arcp__sandbox_request *request)
{
    request->home = SPAN("/home/v");
}

static void change_cwd(arcp__sandbox_request *request)
{
    request->cwd = SPAN("/srv/work");
    request->cwd_is_fresh = false;
}

static void change_abilities(arcp__sandbox_request *request)
{
    request->abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = 6;
}

static void change_origin(arcp__sandbox_request *request)
{
    request->origin = ARCP__SANDBOX_ORIGIN_RUN;
}

static void change_terminal(arcp__sandbox_request *request)
{
    request->has_terminal = true;
}

static void change_network(arcp__sandbox_request *request)
{
    request->abilities.values[ARCP__SANDBOX_ABILITY_EGRESS] = 0;
}

static void change_to_cold(arcp__sandbox_request *request)
{
    request->may_be_late = false;
}

static void a_lease_of_another_sandbox_is_not_taken(void **state)
{
    static void (*const changes[])(arcp__sandbox_request *) = {
        change_own,     change_own_files,  change_bases,   change_limit,   change_hides,
        change_silence, change_protection, change_home,    change_cwd,     change_abilities,
        change_origin,  change_terminal,   change_network, change_to_cold, without_view,
    };
    (void)state;
    fixture first;
    open_fixture(&first, "{\"fs.read\":[\"/srv/**\"]}", NULL);
    arcp__sandbox_plan *waiting = before(first.plan);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        fixture f;
        open_fixture(&f, "{\"fs.read\":[\"/srv/**\"]}", changes[i]);
        if (arcp__sandbox_plan_takes(waiting, f.plan)) {
            fail_msg("change %zu is not noticed", i);
        }
        close_fixture(&f);
    }
    fixture f;
    open_fixture(&f, "{\"net.fetch\":[\"https://h/**\"],\"fs.write\":[\"/data/**\"]}", NULL);
    assert_true(arcp__sandbox_plan_takes(waiting, f.plan));
    close_fixture(&f);
    arcp__sandbox_plan_free(waiting);
    close_fixture(&first);
}

/* Without a view, a job's directory has its own name on the host, which changes. */
static void move(arcp__sandbox_request *request)
{
    without_view(request);
    request->cwd = SPAN("/var/lib/arcp/jobs/job_2");
    request->scratch = SPAN("/scratch/2");
}

static void with_its_lease_a_program_keeps_what_was_made_for_it(void **state)
{
    (void)state;
    fixture first;
    fixture second;
    arcp__sandbox_plan *plan = NULL;
    arcp_error err = {0};
    open_fixture(&first, "{}", without_view);
    open_fixture(&second, "{\"fs.read\":[\"/srv/**\"],\"fs.write\":[\"/data/**\"]}", move);
    arcp__sandbox_plan *waiting = before(first.plan);
    assert_true(arcp__sandbox_plan_takes(waiting, second.plan));
    check_ok(arcp__sandbox_plan_with_lease(waiting, second.plan, &plan, &err), &err);
    assert_true(grants(plan, ARCP__CAPABILITY_FS_READ, "/srv/x"));
    assert_false(grants(plan, ARCP__CAPABILITY_FS_WRITE, "/srv/x"));
    assert_true(grants(plan, ARCP__CAPABILITY_FS_WRITE, "/data/x"));
    assert_false(grants(plan, ARCP__CAPABILITY_FS_READ, "/var/lib/arcp/x"));
    assert_int_equal(class_of(plan, "/var/lib/arcp/jobs/job_2/x"), ARCP__SANDBOX_CLASS_PRIVATE);
    assert_int_equal(class_of(plan, "/var/lib/arcp/jobs/job_1/x"), ARCP__SANDBOX_CLASS_OWN);
    assert_int_equal(class_of(plan, "/scratch/1/tmp/x"), ARCP__SANDBOX_CLASS_PRIVATE);
    assert_int_equal(class_of(plan, "/scratch/2/tmp/x"), ARCP__SANDBOX_CLASS_OUTSIDE);
    /* A text is read only if its rules are in their order. */
    arcp_buf text = arcp_buf_init();
    arcp__sandbox_plan *again = NULL;
    arcp__sandbox_plan_encode(plan, &text);
    check_ok(arcp__sandbox_plan_decode(arcp_buf_span(&text), &again, &err), &err);
    arcp__sandbox_plan_free(again);
    arcp_buf_fini(&text);
    arcp__sandbox_plan_free(plan);
    arcp__sandbox_plan_free(waiting);
    close_fixture(&first);
    close_fixture(&second);
}

static void a_repository_is_read_only_where_nothing_is_mounted(void **state)
{
    static void (*const levels[])(arcp__sandbox_request *) = {NULL, without_view};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        open_fixture(&f, "{\"fs.write\":[\"/srv/app/**\"]}", levels[i]);
        assert_true(grants(f.plan, ARCP__CAPABILITY_FS_WRITE, "/srv/app/file"));
        assert_false(grants(f.plan, ARCP__CAPABILITY_FS_WRITE, "/srv/app/.git"));
        assert_false(grants(f.plan, ARCP__CAPABILITY_FS_WRITE, "/srv/app/.git/commondir"));
        assert_false(grants(f.plan, ARCP__CAPABILITY_FS_WRITE, "/srv/app/.git/hooks/x"));
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_that_changes_nothing_else_may_come_late),
        cmocka_unit_test(a_plan_is_late_only_if_it_may_be),
        cmocka_unit_test(before_its_lease_a_program_has_nothing_of_it),
        cmocka_unit_test(a_lease_of_another_sandbox_is_not_taken),
        cmocka_unit_test(with_its_lease_a_program_keeps_what_was_made_for_it),
        cmocka_unit_test(a_repository_is_read_only_where_nothing_is_mounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
