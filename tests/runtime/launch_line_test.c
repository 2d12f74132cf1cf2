/* Jobs that are queued for their programs, which are started one after the other. */
#include <dirent.h>
#include <unistd.h>

#include "engine/state.h"
#include "runtime/runtime_rig.h"
#include "runtime/runtime_state.h"

#include "support/check.h"
#include "support/remove_tree.h"

#define JOBS 20u

static runtime_rig rig;

static int set_up(void **state)
{
    (void)state;
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.shutdown_grace_sec = 0;
    settings.jobs_cancel_grace_ms = 50;
    runtime_rig_start(&rig, &settings);
    runtime_rig_register_sh(
        &rig, "stays", "read -r start; read -r one; read -r two; echo \"told $one $two\"", NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    return 0;
}

static size_t count_in_run(const char *run)
{
    char path[300];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "%s/%s", rig.directory, run);
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += strncmp(entry->d_name, "job_", 4) == 0 ? 1 : 0;
    }
    (void)closedir(entries);
    return count;
}

/* How many jobs have a directory: their programs were started. */
static size_t started(void)
{
    size_t count = 0;
    DIR *entries = opendir(rig.directory);
    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += strncmp(entry->d_name, "run-", 4) == 0 ? count_in_run(entry->d_name) : 0;
    }
    (void)closedir(entries);
    return count;
}

static size_t count_frames(const char *word)
{
    size_t count = 0;
    const arcp_span frames = runtime_rig_frames(&rig);
    const char *rest = frames.data;
    const char *end = rest + frames.size;
    while (rest < end && (rest = memmem(rest, (size_t)(end - rest), word, strlen(word))) != NULL) {
        count++;
        rest += strlen(word);
    }
    return count;
}

static bool all_are_accepted(void *user)
{
    (void)user;
    return count_frames("\"type\":\"job.accepted\"") == JOBS;
}

static bool so_many_run(void *user)
{
    return count_frames("\"phase\":\"running\"") == *(const size_t *)user;
}

static void submit_all(void)
{
    for (size_t i = 0; i < JOBS; i++) {
        runtime_rig_submit(&rig, "stays", "");
    }
    runtime_rig_until(&rig, all_are_accepted, NULL);
}

static void one_program_is_started_at_a_time(void **state)
{
    (void)state;
    size_t want = JOBS;
    for (size_t i = 0; i < JOBS; i++) {
        runtime_rig_submit(&rig, "stays", "");
    }
    while (started() < JOBS) {
        (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
        assert_in_range(rig.runtime->programs.starting, 0, 1);
    }
    runtime_rig_until(&rig, so_many_run, &want);
}

static void every_submit_is_accepted_before_half_of_the_programs_are_started(void **state)
{
    (void)state;
    submit_all();
    assert_in_range(started(), 0, JOBS / 2);
}

static void a_job_that_is_cancelled_in_the_queue_never_starts_its_program(void **state)
{
    (void)state;
    size_t want = JOBS - 1;
    submit_all();
    runtime_rig_cancel(&rig); /* the last */
    runtime_rig_until(&rig, so_many_run, &want);
    const char *end = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(end, "\"code\":\"CANCELLED\""));
    assert_non_null(strstr(end, rig.job_id));
    assert_int_equal(started(), JOBS - 1);
}

static void lines_for_a_queued_job_follow_its_job_start(void **state)
{
    (void)state;
    const arcp__job *job = NULL;
    submit_all();
    HASH_FIND_STR(rig.runtime->shards->engine->jobs.all, rig.job_id, job);
    assert_non_null(job);
    assert_int_equal(job->agent_state, ARCP__AGENT_STARTING);
    arcp__agent_worker_host.line(job->live->user, 0, 0, ARCP_SPAN_LITERAL("[1]"));
    arcp__agent_worker_host.line(job->live->user, 0, 0, ARCP_SPAN_LITERAL("[2]"));
    (void)runtime_rig_wait(&rig, "\"message\":\"told [1] [2]\"");
}

/* ---- another principal's client, which submits one job ---- */

static const arcp__job *job_of_bob(void)
{
    const arcp__job *job = rig.runtime->shards->engine->jobs.all;
    while (job != NULL && strcmp(job->principal->name, "bob") != 0) {
        job = job->hh.next;
    }
    return job;
}

static bool bob_waits_in_line(void *user)
{
    (void)user;
    const arcp__job *job = job_of_bob();
    return job != NULL && job->live->user != NULL;
}

/* The loop continues for a moment after that, so the count is taken here. */
static bool bob_runs(void *user)
{
    *(size_t *)user = started();
    return job_of_bob()->agent_state == ARCP__AGENT_RUNNING;
}

static void send_frame(arcp_connection *connection, const char *frame)
{
    assert_int_equal(connection->ops->send(connection, arcp_span_cstr(frame)), ARCP_OK);
}

static void a_job_waits_for_one_program_of_each_other_principal(void **state)
{
    (void)state;
    arcp_connection *bob = NULL;
    arcp_connection *served = NULL;
    arcp_error error = {0};
    submit_all();
    check_ok(arcp_memory_pair(&rig.loop, NULL, &bob, &served, &error), &error);
    assert_int_equal(arcp_runtime_serve(rig.runtime, served, NULL, NULL), ARCP_OK);
    send_frame(bob, "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                    "\"auth\":{\"scheme\":\"bearer\",\"token\":\"bob\"}}}");
    send_frame(bob, "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{"
                    "\"agent\":\"stays\"}}");
    runtime_rig_until(&rig, bob_waits_in_line, NULL);
    const size_t before = started();
    size_t at_running = 0;
    runtime_rig_until(&rig, bob_runs, &at_running);
    /* One of alice's that was ahead, his own, and the one after it, which starts when his own runs.
     */
    assert_in_range(at_running, before, before + 3);
    assert_in_range(at_running, 1, JOBS);
    bob->ops->free(bob);
}

static void a_runtime_stops_with_queued_jobs(void **state)
{
    (void)state;
    submit_all();
    assert_in_range(started(), 0, JOBS - 1); /* tear_down does the rest */
}

static void a_runtime_is_freed_with_queued_jobs(void **state)
{
    (void)state;
    submit_all();
    assert_in_range(started(), 0, JOBS - 1);
    arcp_runtime_free(rig.runtime);
    rig.client->ops->free(rig.client);
    (void)uv_run(&rig.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig.loop), 0);
    arcp_buf_fini(&rig.frames);
    (void)remove_tree(rig.directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_program_is_started_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            every_submit_is_accepted_before_half_of_the_programs_are_started, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_job_that_is_cancelled_in_the_queue_never_starts_its_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_for_a_queued_job_follow_its_job_start, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_waits_for_one_program_of_each_other_principal, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_runtime_stops_with_queued_jobs, set_up, tear_down),
        cmocka_unit_test_setup(a_runtime_is_freed_with_queued_jobs, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
