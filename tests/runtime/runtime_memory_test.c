/* A runtime that has run out of memory closes its connections and notifies its program, which
 * creates another runtime from the same store: it has the jobs, and the one that ran has ended. */
#include "runtime/runtime_rig.h"

#include <string.h>

#include "support/check.h"
#include "support/failing_alloc.h"

#include <arcp/sys/store.h>

#include "runtime/runtime_state.h"

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

/* ---- a recording ---- */

static struct {
    unsigned lines; /* of the log, about the end of the recording */
    size_t bytes, bytes_at_line;
} recorded;

static void on_log(void *user, arcp_log_level level, const char *text, const char *fields)
{
    (void)user;
    (void)fields;
    if (strstr(text, "recording has ended") != NULL) {
        assert_int_equal(level, ARCP_LOG_ERROR);
        recorded.lines++;
        recorded.bytes_at_line = recorded.bytes;
    }
}

static void on_record(void *user, arcp_span bytes)
{
    (void)user;
    recorded.bytes += bytes.size;
}

#define INPUT_BYTES 65536u /* more than was recorded at once before */

static void make_large_submit(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"arcp\":\"1.1\",\"id\":\"again\",\"type\":\"job.submit\","
                              "\"payload\":{\"agent\":\"nobody\",\"input\":\"");
    for (unsigned i = 0; i < INPUT_BYTES; i++) {
        arcp_buf_append_byte(out, 'x');
    }
    arcp_buf_append_cstr(out, "\"}}");
    assert_false(out->failed);
}

/* Fails the n-th allocation for a submit, and submits once more. True if the recording ended, while
 * the runtime and its connection continued. */
static bool end_recording(size_t nth)
{
    static runtime_rig rig;
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_buf frame = arcp_buf_init();
    make_large_submit(&frame);
    failures = 0;
    memset(&recorded, 0, sizeof recorded);
    options.log = on_log;
    options.failed = on_failed;
    options.record = on_record;
    runtime_rig_begin(&rig);
    runtime_rig_open(&rig, &options);
    runtime_rig_submit(&rig, "nobody", "");
    (void)runtime_rig_wait(&rig, "\"AGENT_NOT_AVAILABLE\"");
    assert_int_equal(rig.client->ops->send(rig.client, arcp_buf_span(&frame)), ARCP_OK);
    rig.client->ops->flush(rig.client);
    failing_alloc_arm(nth, FAILING_ALLOC_ONE);
    runtime_rig_until(&rig, is_decided, &rig);
    const bool has_failed_one = failing_alloc_disarm();
    const bool has_failed = arcp__recorder_has_failed(rig.runtime->recorder);
    const bool continues = failures == 0 && !rig.closed;
    const size_t bytes = recorded.bytes;
    if (continues) {
        char id[16];
        (void)snprintf(id, sizeof id, "\"m%u\"", rig.next_id);
        runtime_rig_submit(&rig, "nobody", "");
        (void)runtime_rig_wait(&rig, id);
        assert_true(has_failed ? recorded.bytes == bytes : recorded.bytes > bytes);
    }
    assert_int_equal(recorded.lines, has_failed ? 1 : 0);
    assert_true(!has_failed || recorded.bytes == recorded.bytes_at_line);
    runtime_rig_stop(&rig);
    arcp_buf_fini(&frame);
    assert_int_equal(recorded.lines, has_failed ? 1 : 0);
    assert_true(has_failed_one);
    return has_failed && continues;
}

static void a_recording_that_ran_out_of_memory_ends_with_one_line_in_the_log(void **state)
{
    (void)state;
    size_t nth = 1;
    while (!end_recording(nth)) {
        assert_in_range(++nth, 1, 80);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_that_ran_out_of_memory_ends_with_one_line_in_the_log),
        cmocka_unit_test(a_runtime_that_ran_out_of_memory_is_recreated_from_its_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
