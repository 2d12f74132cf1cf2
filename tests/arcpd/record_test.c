/* arcpd --record, and `arcp replay` of the file. */
#include "arcpd/host.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#define YAML                                                                                       \
    "shutdown: {grace_sec: 0}\n"                                                                   \
    "tokens: [{token: a, principal: alice}, {token: b, principal: bob},\n"                         \
    "  {token: o, principal: olga, role: operator}]\n"                                             \
    "agents:\n"                                                                                    \
    "  - {name: hello, command: [echo, hi], mode: plain}\n"                                        \
    "  - {name: wait, command: [sh, -c, 'echo begun; exec sleep 1000']}\n"

/* The agent `until` ends when the file is there. */
#define WORKER_YAML                                                                                \
    YAML "  - {name: until, command: [sh, -c, 'while [ ! -e %s ]; do sleep 0.02; done']}\n"        \
         "workers: {local: spawn}\nenforce: {mode: off}\n"

static void begin_with(host *place, const char *yaml, char path[160], const char *more)
{
    (void)snprintf(path, 160, "%s/trace", place->directory);
    host_configure(place, yaml);
    arcpd_run_start(place, 0, WORDS("--record", path, "--record-bytes", more));
}

static void begin(host *place, char path[160], const char *more)
{
    begin_with(place, YAML, path, more);
}

static void run(const host *place, const char *token, int exit_status, const char *const *words)
{
    process p;
    host_run(place, token, &p, exit_status, words);
    process_fini(&p);
}

static void expect_replay(const host *place, const char *path, const char *word)
{
    process p;
    host_run(place, NULL, &p, 0, WORDS("replay", path));
    if (strstr(p.out.data, word) == NULL) {
        fail_msg("want %s in %s", word, p.out.data);
    }
    process_fini(&p);
}

static void the_trace_of_two_runs_is_played_back(void **state)
{
    host *place = *state;
    char path[160];
    char old[176];
    struct stat about;
    begin(place, path, "1000000000");
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    run(place, "a", 0, WORDS("submit", "hello"));
    run(place, "b", 0, WORDS("submit", "hello", "--quiet"));
    run(place, "c", 3, WORDS("ping"));
    run(place, "a", 6, WORDS("submit", "wait", "--max-runtime", "1"));
    run(place, "a", 0, WORDS("submit", "wait", "--detach"));
    host_kill(place);
    /* The second one begins with what the store of the first one has. */
    begin(place, path, "1000000000");
    run(place, "a", 0, WORDS("jobs"));
    run(place, "b", 0, WORDS("submit", "hello"));
    host_stop(place);
    (void)snprintf(old, sizeof old, "%s.old", path);
    expect_replay(place, old, " calls gave the same ");
    expect_replay(place, path, " outcomes\n");
}

/* Of the worker of this machine, which is not our child, when its link is there. */
static pid_t worker_of(const host *place)
{
    const time_t give_up = time(NULL) + 20;
    pid_t found = 0;
    while (found == 0 && time(NULL) < give_up) {
        process p;
        host_run(place, "o", &p, 0, WORDS("workers", "--json"));
        const char *joined = strstr(p.out.data, "\"state\":\"joined\"");
        const char *pid = joined == NULL ? NULL : strstr(joined, "\"pid\":");
        found = pid == NULL ? 0 : (pid_t)strtol(pid + strlen("\"pid\":"), NULL, 10);
        process_fini(&p);
    }
    assert_true(found > 1);
    return found;
}

/* Until the newest job's program runs: before that the job is no worker's that can be killed. */
static void await_start(const host *place)
{
    const time_t give_up = time(NULL) + 20;
    bool has_started = false;
    while (!has_started) {
        process p;
        host_run(place, "a", &p, 0, WORDS("show", "@last", "--json"));
        has_started = strstr(p.out.data, "\"started_at\":") != NULL;
        process_fini(&p);
        assert_true(time(NULL) < give_up);
    }
}

/* The second trace begins with a job that the worker goes on with, and has the end of the worker.
 */
static void the_traces_of_a_worker_that_is_killed_are_played_back(void **state)
{
    host *place = *state;
    char path[160];
    char old[176];
    char finish[160];
    char yaml[1024];
    (void)snprintf(finish, sizeof finish, "%s/finish", place->directory);
    (void)snprintf(yaml, sizeof yaml, WORKER_YAML, finish);
    begin_with(place, yaml, path, "1000000000");
    run(place, "a", 0, WORDS("submit", "until", "--detach"));
    const pid_t worker = worker_of(place);
    process_fini(&place->daemon); /* kills it; the worker keeps its outputs open */
    begin_with(place, yaml, path, "1000000000");
    assert_int_equal(worker_of(place), worker);
    FILE *file = fopen(finish, "w");
    assert_non_null(file);
    (void)fclose(file);
    run(place, "a", 0, WORDS("wait", "@last"));
    run(place, "a", 0, WORDS("submit", "wait", "--detach"));
    await_start(place);
    assert_int_equal(kill(worker, SIGKILL), 0);
    run(place, "a", 1, WORDS("wait", "@last"));
    run(place, "a", 0, WORDS("submit", "hello"));
    assert_int_not_equal(worker_of(place), worker);
    host_stop(place);
    (void)snprintf(old, sizeof old, "%s.old", path);
    expect_replay(place, old, " calls gave the same ");
    expect_replay(place, path, " outcomes\n");
}

static void a_trace_that_is_full_ends(void **state)
{
    host *place = *state;
    char path[160];
    struct stat about;
    begin(place, path, "4000");
    run(place, "a", 0, WORDS("submit", "hello"));
    assert_int_equal(stat(path, &about), 0);
    assert_true(about.st_size > 1000 && about.st_size <= 4000);
    host_stop(place);
    expect_replay(place, path, " outcomes\n");
}

static void a_file_that_is_no_trace_is_refused(void **state)
{
    const host *place = *state;
    process p;
    char path[160];
    host_configure(place, YAML);
    (void)snprintf(path, sizeof path, "%s/arcpd.yaml", place->directory);
    host_run(place, NULL, &p, 1, WORDS("replay", path));
    assert_non_null(strstr(p.err.data, "CORRUPT: this is no trace of arcpd"));
    process_fini(&p);
    host_run(place, NULL, &p, 1, WORDS("replay", "/nonexistent"));
    assert_non_null(strstr(p.err.data, "/nonexistent cannot be read: "));
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_trace_of_two_runs_is_played_back, host_setup,
                                        host_teardown),
        cmocka_unit_test_setup_teardown(the_traces_of_a_worker_that_is_killed_are_played_back,
                                        host_setup, host_teardown),
        cmocka_unit_test_setup_teardown(a_trace_that_is_full_ends, host_setup, host_teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_trace_is_refused, host_setup,
                                        host_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
