/* Every allocation of the plans' functions fails once, alone and with all that follow. */
#include "support/check.h"

#include "core/lease_text.h"
#include "sandbox/plan_model.h"
#include "sandbox/sandbox_rig.h"
#include "support/failing_alloc.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

static const char lease_text[] =
    "{\"fs.read\":[\"/srv/**\",\"/data/*.csv\",\"src/*\",\"/a\",\"/b/../c\"],"
    "\"fs.write\":[\"/srv/b/**\",\"/home/u/x/**\"],"
    "\"net.fetch\":[\"https://h/**\",\"https://h/v1/*\",\"http://h:8080/\",\"HTTPS://x/\"]}";

/* What is there before anything fails. */
typedef struct fixture {
    arcp_lease *lease;
    arcp__sandbox_request request;
    arcp__sandbox_plan *plan;
    arcp_buf text;
} fixture;

static const arcp_span own[] = {{"/srv/own", 8}};
static const arcp_span bases[] = {{"/srv/b/deep/er", 14}};

static arcp_status compile(void *user, arcp_error *err)
{
    const fixture *f = user;
    arcp__sandbox_plan *plan = NULL;
    const arcp_status status = arcp__sandbox_plan_new(&f->request, &plan, err);
    arcp__sandbox_plan_free(plan);
    return status;
}

static arcp_status encode(void *user, arcp_error *err)
{
    (void)err;
    const fixture *f = user;
    arcp_buf text = arcp_buf_init();
    arcp__sandbox_plan_encode(f->plan, &text);
    arcp__sandbox_report_table(f->plan, &text);
    arcp__sandbox_report_json(f->plan, &text);
    const arcp_status status = arcp_buf_status(&text);
    arcp_buf_fini(&text);
    return status;
}

static arcp_status decode(void *user, arcp_error *err)
{
    const fixture *f = user;
    arcp__sandbox_plan *plan = NULL;
    const arcp_status status = arcp__sandbox_plan_decode(arcp_buf_span(&f->text), &plan, err);
    arcp__sandbox_plan_free(plan);
    return status;
}

static arcp_status decode_abilities(void *user, arcp_error *err)
{
    (void)user;
    arcp__sandbox_abilities read = {{0}};
    return arcp__sandbox_abilities_decode(SPAN("{\"userns\":1,\"landlock\":7}"), &read, err);
}

static arcp_status ask(void *user, arcp_error *err)
{
    const fixture *f = user;
    arcp__sandbox_paths *paths = NULL;
    const arcp_status status = arcp__sandbox_paths_new(f->plan, &paths, err);
    arcp__sandbox_paths_free(paths);
    return status;
}

/* Without memory the answer is no. */
static arcp_status admit(void *user, arcp_error *err)
{
    (void)err;
    const fixture *f = user;
    return model_admits(f->plan, ARCP__CAPABILITY_FS_READ, SPAN("/data/a.csv")) &&
                   model_admits(f->plan, ARCP__CAPABILITY_NET_FETCH, SPAN("https://h/x"))
               ? ARCP_OK
               : ARCP_E_NO_MEMORY;
}

/* As failing_alloc_sweep, but memory that can be done without (to shrink a compiled set) may fail
 * in silence. Returns how many allocations were missed. */
static size_t sweep(failing_alloc_body body, void *user)
{
    size_t missed = 0;
    for (int mode = 0; mode < 2; mode++) {
        bool has_failed = true;
        for (size_t nth = 1; has_failed; nth++) {
            arcp_error err = {0};
            const size_t before = failing_alloc_live();
            failing_alloc_arm(nth, mode == 0 ? FAILING_ALLOC_ONE : FAILING_ALLOC_ALL_AFTER);
            const arcp_status status = body(user, &err);
            has_failed = failing_alloc_disarm();
            assert_int_equal(failing_alloc_live(), before);
            assert_true(status == ARCP_OK || (has_failed && status == ARCP_E_NO_MEMORY));
            missed += status != ARCP_OK;
        }
    }
    return missed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const failing_alloc_body strict[] = {compile, encode, decode, decode_abilities};
    static const failing_alloc_body others[] = {ask, admit};
    fixture f = {.lease = lease_of(lease_text, "{\"expires_at\":\"2100-01-01T00:00:00Z\"}")};
    f.request = rig_request(f.lease);
    f.request.own = own;
    f.request.own_count = 1;
    f.request.bases = bases;
    f.request.base_count = 1;
    f.request.protect = ARCP__SANDBOX_PROTECT_COMMITS;
    f.request.abilities.values[ARCP__SANDBOX_ABILITY_EGRESS] = 1;
    f.plan = rig_plan(&f.request);
    arcp__sandbox_plan_encode(f.plan, &f.text);
    for (size_t i = 0; i < sizeof strict / sizeof *strict; i++) {
        assert_true(failing_alloc_sweep(strict[i], &f) > 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_true(sweep(others[i], &f) > 0);
    }
    arcp_buf_fini(&f.text);
    arcp__sandbox_plan_free(f.plan);
    arcp_lease_unref(f.lease);
}

static void questions_about_paths_allocate_nothing(void **state)
{
    (void)state;
    arcp_lease *lease = lease_of(lease_text, "");
    const arcp__sandbox_request request = rig_request(lease);
    arcp__sandbox_plan *plan = rig_plan(&request);
    arcp__sandbox_paths *paths = NULL;
    arcp_error err = {0};
    check_ok(arcp__sandbox_paths_new(plan, &paths, &err), &err);
    const size_t before = failing_alloc_count();
    assert_int_equal(arcp__sandbox_paths_find(paths, SPAN("/srv/x")).class,
                     ARCP__SANDBOX_CLASS_LEASE);
    assert_true(arcp__sandbox_paths_grant(paths, ARCP__CAPABILITY_FS_READ, SPAN("/data/a.csv")));
    assert_int_equal(failing_alloc_count(), before);
    arcp__sandbox_paths_free(paths);
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(questions_about_paths_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
