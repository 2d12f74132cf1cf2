/* A runtime that has run out of memory closes its connections and notifies its program, which
 * creates another runtime from the same store: it has the jobs, and the one that ran has ended. */
#include "runtime/runtime_rig.h"

#include <string.h>

#include "support/check.h"
#include "support/failing_alloc.h"

#include <arcp/sys/store.h>

static const char second_submit[] =
    "{\"arcp\":\"1.1\",\"id\":\"again\",\"type\":\"job.submit\",\"payload\":{\"agent\":\"waits\"}}";

static unsigned failures;

static void on_failed(void *user)
{
    (void)user;
    failures++;
}

static void open_runtime(runtime_rig *rig)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_error error = {0};
    char url[128];
    (void)snprintf(url, sizeof url, "sqlite:%s/arcp.db", rig->directory);
    check_ok(arcp_store_open(url, &options.store, &error), &error);
    options.failed = on_failed;
    runtime_rig_open(rig, &options);
    runtime_rig_register_sh(rig, "waits", "echo begun; cat >/dev/null", NULL);
}

/* Whether the second submit had any effect. */
static bool is_decided(void *user)
{
    const runtime_rig *rig = user;
    return failures != 0 || rig->closed || runtime_rig_has(rig, "\"again\"");
}

static bool is_closed(void *user)
{
    return ((const runtime_rig *)user)->closed;
}

static void start_again(runtime_rig *rig)
{
    char first[64];
    const char *why = NULL;
    memcpy(first, rig->job_id, sizeof first);
    assert_false(arcp_runtime_is_ready(rig->runtime, &why));
    assert_string_equal(why, "out of memory");
    runtime_rig_until(rig, is_closed, rig);
    arcp_runtime_free(rig->runtime);
    assert_int_equal(failures, 1);
    rig->closed = false;
    open_runtime(rig);
    runtime_rig_send(rig, "session.list_jobs", "{}");
    const char *jobs = runtime_rig_wait(rig, "\"session.jobs\"");
    const char *job = strstr(jobs, first);
    assert_non_null(job);
    assert_non_null(strstr(job, "\"status\":\"error\""));
}

/* Fails the n-th allocation for the second submit. True if the runtime reported its failure. */
static bool lose(size_t nth)
{
    static runtime_rig rig;
    failures = 0;
    runtime_rig_begin(&rig);
    open_runtime(&rig);
    runtime_rig_submit(&rig, "waits", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"begun\"");
    failing_alloc_arm(nth, FAILING_ALLOC_ONE);
    (void)rig.client->ops->send(rig.client, arcp_span_cstr(second_submit));
    rig.client->ops->flush(rig.client);
    runtime_rig_until(&rig, is_decided, &rig);
    assert_true(failing_alloc_disarm());
    const bool has_failed = failures != 0;
    if (has_failed) {
        start_again(&rig);
    }
    runtime_rig_stop(&rig);
    return has_failed;
}

static void a_runtime_that_ran_out_of_memory_is_recreated_from_its_store(void **state)
{
    (void)state;
    size_t nth = 1;
    while (!lose(nth)) { /* the first allocations are of the transport: only a connection fails */
        assert_in_range(++nth, 1, 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_runtime_that_ran_out_of_memory_is_recreated_from_its_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
