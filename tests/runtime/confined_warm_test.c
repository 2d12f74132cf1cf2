/* Warm processes of confined agents: they wait in a sandbox that has nothing of any lease, and get
 * that of their job with it. */
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/confined_fixture.h"

/* The number of warm processes that have written `ready` into their directories. */
static size_t count_ready(void)
{
    char pattern[128];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/run-*/warm-*/ready", rig.directory);
    const size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

static bool is_one_ready(void *user)
{
    (void)user;
    return count_ready() != 0;
}

static bool are_two_ready(void *user)
{
    (void)user;
    return count_ready() >= 2;
}

static void needs_a_broker(void)
{
    confined_needs_a_level();
    if (!has_broker) {
        print_message("this host has no broker\n");
        skip();
    }
}

/* $D is the directory with the files. `early` runs before there is a job, `late` with it. */
static void register_warm(const char *name, const char *early, const char *late,
                          const arcp_process_agent *given)
{
    char script[1500];
    arcp_process_agent more = given == NULL ? arcp_process_agent_init() : *given;
    more.warm = more.warm == 0 ? 1 : more.warm;
    (void)snprintf(script, sizeof script, "D=%s; %s; echo >ready; read start; %s", data, early,
                   late);
    runtime_rig_register_sh(&rig, name, script, &more);
}

#define GRANTED "\"fs.read\":[\"%s/granted\"]"

static void a_warm_process_has_nothing_before_its_lease_and_then_what_it_grants(void **state)
{
    (void)state;
    needs_a_broker();
    register_warm("reader", "cat $D/granted 2>/dev/null || EARLY=nothing",
                  "echo early $EARLY; cat $D/granted; cat $D/other || echo denied", NULL);
    runtime_rig_until(&rig, is_one_ready, NULL);
    confined_submit("reader", GRANTED);
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"under\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"early nothing\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"the data\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"denied\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_false(runtime_rig_has(&rig, "a secret"));
}

/* What it was denied while it waited is of no job. */
static void only_denials_with_the_lease_are_events(void **state)
{
    (void)state;
    needs_a_broker();
    register_warm("reader", "cat $D/other $D/granted 2>/dev/null", "cat $D/other; echo end", NULL);
    runtime_rig_until(&rig, is_one_ready, NULL);
    confined_submit("reader", GRANTED);
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "/other\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"end\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_false(runtime_rig_has(&rig, "\"phase\":\"denied\""));
}

static void the_directories_of_a_warm_process_are_its_own(void **state)
{
    (void)state;
    needs_a_broker();
    register_warm("places", "echo a >kept; echo b >\"$HOME/kept\"; echo c >\"$TMPDIR/kept\"",
                  "cat kept \"$HOME/kept\" \"$TMPDIR/kept\" | tr -d '\\n'; echo; "
                  "echo more >>kept && pwd; ls; echo \"$start\" | grep -o '\"cwd\":\"[^\"]*\"'",
                  NULL);
    for (int i = 0; i < 2; i++) {
        runtime_rig_until(&rig, is_one_ready, NULL);
        confined_submit("places", "");
        (void)runtime_rig_wait(&rig, "\"message\":\"abc\"");
        if (level == ARCP__SANDBOX_LEVEL_FULL) {
            (void)runtime_rig_wait(&rig, "\"message\":\"/job\"");
            (void)runtime_rig_wait(&rig, "\\\"cwd\\\":\\\"/job\\\"");
        }
        (void)runtime_rig_wait(&rig, "\"job.result\"");
    }
}

/* Two jobs run at once in processes that waited, and look around. */
static void a_warm_process_reaches_nothing_of_another_job(void **state)
{
    char late[600];
    arcp_process_agent two = arcp_process_agent_init();
    (void)state;
    needs_a_broker();
    two.warm = 2;
    (void)snprintf(late, sizeof late,
                   "echo mine >mine; cat $D/granted $D/other; "
                   "for f in %s/run-*/job_*/mine %s/run-*/warm-*/ready %s/run-*/*/home; do "
                   "[ $f -ef mine ] || { ls $f/. >/dev/null 2>&1 || cat $f; } 2>/dev/null && "
                   "echo reached $f; done; echo looked; read stop",
                   rig.directory, rig.directory, rig.directory);
    register_warm("spy", "true", late, &two);
    runtime_rig_until(&rig, are_two_ready, NULL);
    confined_submit("spy", GRANTED);
    (void)runtime_rig_wait(&rig, "\"message\":\"the data\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"looked\"");
    runtime_rig_until(&rig, is_one_ready, NULL);
    confined_submit("spy", "\"fs.read\":[\"%s/other\",\"/**/mine\",\"/**/ready\"]");
    (void)runtime_rig_wait(&rig, "\"message\":\"a secret\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"looked\"");
    assert_false(runtime_rig_has(&rig, "\"message\":\"the data\""));
    assert_false(runtime_rig_has(&rig, "\"message\":\"reached"));
}

static void where_lines_must_be_exact_a_process_is_started_for_the_job(void **state)
{
    arcp_process_agent exact = arcp_process_agent_init();
    (void)state;
    needs_a_broker();
    exact.min = ARCP_ENFORCE_MIN_EXACT;
    register_warm("reader", "EARLY=$(cat $D/granted 2>/dev/null || echo nothing)",
                  "echo early $EARLY", &exact);
    runtime_rig_until(&rig, is_one_ready, NULL);
    confined_submit("reader", GRANTED);
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"exact\""));
    (void)runtime_rig_wait(&rig, "\"message\":\"early the data\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

/* More jobs at once than processes that wait: all have the same sandbox. */
static void a_job_without_a_waiting_process_has_the_same_sandbox(void **state)
{
    (void)state;
    needs_a_broker();
    register_warm("reader", "true", "cat $D/granted; cd $D 2>/dev/null || echo no directory", NULL);
    for (int i = 0; i < 6; i++) {
        confined_submit("reader", "\"fs.read\":[\"%s/**\"]");
    }
    for (int i = 0; i < 6; i++) {
        const char *frame = runtime_rig_wait(&rig, "\"message\":\"the data\"");
        (void)frame;
    }
    if (level == ARCP__SANDBOX_LEVEL_FULL) { /* else a directory can be changed to, and not read */
        assert_true(runtime_rig_has(&rig, "no directory") ||
                    runtime_rig_wait(&rig, "no directory") != NULL);
    }
}

/* A file of the runtime's is another one than when the process was started. */
static void processes_that_are_out_of_date_do_not_get_a_job(void **state)
{
    char link[300];
    const char *const own[] = {link, NULL};
    arcp_enforce_options enforce = confined_options();
    (void)state;
    needs_a_broker();
    (void)snprintf(link, sizeof link, "%s/link", data);
    assert_int_equal(symlink("granted", link), 0);
    runtime_rig_stop(&rig);
    enforce.own = own;
    confined_start(NULL, &enforce);
    register_warm("reader", "true", "cat $D/other || echo denied", NULL);
    runtime_rig_until(&rig, is_one_ready, NULL);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("other", link), 0);
    confined_submit("reader", "\"fs.read\":[\"%s/*\"]");
    (void)runtime_rig_wait(&rig, "\"message\":\"denied\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    runtime_rig_until(&rig, is_one_ready, NULL); /* another one waits */
}

/* The job ends before its process has the lease: nothing is left. */
static void a_job_may_be_cancelled_at_once(void **state)
{
    (void)state;
    needs_a_broker();
    register_warm("reader", "true", "cat $D/granted; read stop", NULL);
    runtime_rig_until(&rig, is_one_ready, NULL);
    for (int i = 0; i < 3; i++) {
        confined_submit("reader", GRANTED);
        (void)runtime_rig_wait(&rig, "\"job.accepted\"");
        runtime_rig_cancel(&rig);
        (void)runtime_rig_wait(&rig, "\"job.error\"");
    }
}

/* A connection of before the lease is served by it; what it does not grant is denied and reported.
 */
static void the_network_of_a_warm_process_is_that_of_its_lease(void **state)
{
    (void)state;
    needs_a_broker();
    if (level != ARCP__SANDBOX_LEVEL_FULL || access("/bin/bash", X_OK) != 0) {
        return;
    }
    const char *const command[] = {
        "/bin/bash", "-c",
        "exec 7<>/dev/tcp/10.1.2.3/80; printf 'GET /early HTTP/1.1\\r\\nHost: "
        "10.1.2.3\\r\\nConnection: close\\r\\n\\r\\n' >&7; echo >ready; read start; head -1 <&7",
        NULL};
    arcp_process_agent agent = arcp_process_agent_init();
    arcp_error error = {0};
    agent.name = "fetcher";
    agent.command = command;
    agent.warm = 1;
    check_ok(arcp_runtime_register_process(rig.runtime, &agent, &error), &error);
    runtime_rig_until(&rig, is_one_ready, NULL);
    confined_submit("fetcher", "\"net.fetch\":[\"http://10.1.2.3/late\"]");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "http://10.1.2.3/early"));
    (void)runtime_rig_wait(&rig, "403 Forbidden");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(a_warm_process_has_nothing_before_its_lease_and_then_what_it_grants),
        CONFINED_TEST(only_denials_with_the_lease_are_events),
        CONFINED_TEST(the_directories_of_a_warm_process_are_its_own),
        CONFINED_TEST(a_warm_process_reaches_nothing_of_another_job),
        CONFINED_TEST(where_lines_must_be_exact_a_process_is_started_for_the_job),
        CONFINED_TEST(a_job_without_a_waiting_process_has_the_same_sandbox),
        CONFINED_TEST(processes_that_are_out_of_date_do_not_get_a_job),
        CONFINED_TEST(a_job_may_be_cancelled_at_once),
        CONFINED_TEST(the_network_of_a_warm_process_is_that_of_its_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
