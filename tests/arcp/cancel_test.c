/* `arcp` against a real arcpd: jobs that are cancelled or detached, and their saved sessions. */
#include "arcp/fixture.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

/* Calls `each`, unless it is NULL, for the path of every session's file, temporary ones too;
 * returns how many there were. */
static unsigned each_session_file(const fixture *f, void (*each)(const char *path))
{
    char folder[128];
    char path[512];
    unsigned count = 0;
    snprintf(folder, sizeof folder, "%s/state/arcp/sessions", f->directory);
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strstr(entry->d_name, ".json") != NULL) {
            count++;
            if (each != NULL) {
                snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
                each(path);
            }
        }
    }
    closedir(entries);
    return count;
}

static unsigned count_session_files(const fixture *f)
{
    return each_session_file(f, NULL);
}

static void remove_file(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static unsigned remove_session_files(const fixture *f)
{
    return each_session_file(f, remove_file);
}

static void ctrl_c_once_requests_the_cancellation(void **state)
{
    process p;
    fixture_start(*state, &p, WORDS("submit", "wait"));
    process_await(&p, true, "log       waiting\n");
    process_signal(&p, SIGINT);
    assert_int_equal(process_finish(&p), 5);
    assert_non_null(strstr(p.err.data, "cancelling the job (press Ctrl-C again"));
    assert_non_null(strstr(p.err.data, "error: CANCELLED"));
    process_fini(&p);
    assert_int_equal(count_session_files(*state), 0);
}

static void ctrl_c_detaches_a_watch_and_the_job_goes_on(void **state)
{
    process submitter;
    process watcher;
    char job[64];
    fixture_start(*state, &submitter, WORDS("submit", "wait"));
    process_await(&submitter, true, "log       waiting\n");
    assert_int_equal(sscanf(submitter.err.data, "accepted %63s", job), 1);
    fixture_start(*state, &watcher, WORDS("watch", job, "--from-start"));
    process_await(&watcher, true, "log       waiting\n");
    process_signal(&watcher, SIGINT);
    assert_int_equal(process_finish(&watcher), 130);
    assert_non_null(strstr(watcher.err.data, "detached; the job continues"));
    process_fini(&watcher);
    process_signal(&submitter, SIGINT);
    assert_int_equal(process_finish(&submitter), 5);
    process_fini(&submitter);
}

static void ctrl_c_twice_detaches(void **state)
{
    process p;
    fixture_start(*state, &p, WORDS("submit", "stubborn"));
    process_await(&p, true, "log       never mind\n");
    process_signal(&p, SIGINT);
    process_await(&p, true, "cancelling the job (press Ctrl-C again");
    process_signal(&p, SIGINT);
    assert_int_equal(process_finish(&p), 130);
    assert_non_null(strstr(p.err.data, "detached; the job continues: arcp watch job_"));
    process_fini(&p);
    assert_int_equal(remove_session_files(*state), 1);
}

/* arcpd ends a job for its principal, whichever session submitted it. */
static void a_cancel_needs_no_saved_session(void **state)
{
    process p;
    char job[64];
    fixture_run(*state, &p, 0, WORDS("submit", "wait", "--detach", "--quiet"));
    assert_int_equal(sscanf(p.out.data, "%63s", job), 1);
    process_fini(&p);
    assert_int_equal(count_session_files(*state), 0); /* not kept for this runtime */
    fixture_run(*state, &p, 0, WORDS("cancel", job, "--reason", "enough", "--now"));
    process_fini(&p);
    fixture_run(*state, &p, 5, WORDS("watch", job));
    assert_non_null(strstr(p.err.data, "error: CANCELLED: the job was cancelled"));
    assert_non_null(strstr(p.err.data, ": enough\n"));
    process_fini(&p);
    fixture_run(*state, &p, 1, WORDS("cancel", job));
    check_errors(&p, "error: JOB_NOT_FOUND: the job has ended already (cancelled)\n");
    process_fini(&p);
}

/* Each is tried, and the first failure is the exit status. */
static void several_jobs_are_cancelled_at_once(void **state)
{
    process p;
    char jobs[2][64];
    for (size_t i = 0; i < 2; i++) {
        fixture_run(*state, &p, 0, WORDS("submit", "wait", "--detach", "--quiet"));
        assert_int_equal(sscanf(p.out.data, "%63s", jobs[i]), 1);
        process_fini(&p);
    }
    fixture_run(*state, &p, 1,
                WORDS("cancel", jobs[0], "job_01ARZ3NDEKTSV4RRFFQ69G5FAV", jobs[1], "--now"));
    assert_non_null(strstr(p.err.data, "error: JOB_NOT_FOUND"));
    process_fini(&p);
    for (size_t i = 0; i < 2; i++) {
        fixture_run(*state, &p, 5, WORDS("watch", jobs[i]));
        assert_non_null(strstr(p.err.data, "error: CANCELLED: the job was cancelled"));
        process_fini(&p);
    }
}

static void a_cancel_in_another_process_leaves_the_session_of_the_submit_alone(void **state)
{
    process submitter;
    process canceller;
    char job[64];
    fixture_start(*state, &submitter, WORDS("submit", "wait"));
    process_await(&submitter, true, "log       waiting\n");
    assert_int_equal(sscanf(submitter.err.data, "accepted %63s", job), 1);
    fixture_run(*state, &canceller, 0, WORDS("cancel", job, "--reason", "enough"));
    process_fini(&canceller);
    assert_int_equal(process_finish(&submitter), 5);
    assert_null(strstr(submitter.err.data, "resumed"));
    process_fini(&submitter);
    assert_int_equal(count_session_files(*state), 0);
}

/* [arcp:7.7-1] */
static void a_detached_job_is_watched_listed_and_cancelled(void **state)
{
    process p;
    char job[64];
    fixture_run(*state, &p, 0, WORDS("submit", "wait", "--detach", "--quiet"));
    check_output(&p, "job_...\n");
    assert_int_equal(sscanf(p.out.data, "%63s", job), 1);
    process_fini(&p);
    assert_int_equal(count_session_files(*state), 0);

    process watcher;
    fixture_start(*state, &watcher, WORDS("watch", job, "--from-start"));
    process_await(&watcher, true, "log       waiting\n");

    fixture_run(*state, &p, 0, WORDS("jobs", "--status", "running", "--json"));
    assert_non_null(strstr(p.out.data, job));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("cancel", job));
    process_fini(&p);
    assert_int_equal(process_finish(&watcher), 5);
    process_fini(&watcher);
    fixture_run(*state, &p, 5, WORDS("watch", job));
    assert_non_null(strstr(p.err.data, "error: CANCELLED: the job was cancelled"));
    process_fini(&p);
}

/* The session file exists; the token is another principal's, or invalid. */
static void a_cancel_with_another_token_is_denied(void **state)
{
    process p;
    char job[64];
    fixture_run(*state, &p, 0, WORDS("submit", "wait", "--detach", "--token", "t-one"));
    assert_true(p.out.size > 1 && p.out.size < sizeof job);
    memcpy(job, p.out.data, p.out.size);
    job[p.out.size - 1] = '\0';
    process_fini(&p);
    fixture_run(*state, &p, 4, WORDS("cancel", job, "--token", "t-two"));
    check_errors(&p,
                 "error: PERMISSION_DENIED: the job belongs to another principal: end needs the "
                 "role operator\n");
    process_fini(&p);
    fixture_run(*state, &p, 4, WORDS("watch", job, "--token", "t-two"));
    check_errors(&p, "error: PERMISSION_DENIED: the job belongs to another principal\n");
    process_fini(&p);
    fixture_run(*state, &p, 3, WORDS("cancel", job, "--token", "nobodys"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("cancel", job, "--token", "t-one"));
    process_fini(&p);
    fixture_run(*state, &p, 5, WORDS("watch", job, "--token", "t-one"));
    process_fini(&p);
}

/* A daemon with two principals. */
static int begin_with_two(void **state)
{
    static const char agent[] = "wait=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/wait.sh";
    static fixture f;
    arcpd_run_begin(&f);
    arcpd_run_configure(&f, "jobs: {cancel_grace_ms: 2000}\n");
    arcpd_run_start(&f, 0,
                    WORDS("--store", "memory:", "--token", "t-one=one", "--token", "t-two=two",
                          "--agent", agent));
    assert_int_equal(setenv("ARCP_URL", f.url, 1), 0);
    *state = &f;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctrl_c_once_requests_the_cancellation),
        cmocka_unit_test(ctrl_c_detaches_a_watch_and_the_job_goes_on),
        cmocka_unit_test(ctrl_c_twice_detaches),
        cmocka_unit_test(a_cancel_needs_no_saved_session),
        cmocka_unit_test(several_jobs_are_cancelled_at_once),
        cmocka_unit_test(a_cancel_in_another_process_leaves_the_session_of_the_submit_alone),
        cmocka_unit_test(a_detached_job_is_watched_listed_and_cancelled),
    };
    const struct CMUnitTest with_two[] = {
        cmocka_unit_test(a_cancel_with_another_token_is_denied),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end) +
           cmocka_run_group_tests(with_two, begin_with_two, fixture_end);
}
