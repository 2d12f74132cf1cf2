/* Agents in sandboxes: what they can do, how their jobs end, and what is left. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime_rig.h"
#include "support/process_support.h"

#include "support/check.h"

#include "launch/cgroups.h"
#include "launch/launch.h"
#include "sandbox/sandbox.h"

#define SANDBOX ARCP_BINARY_DIR "/bin/arcp-sandbox"

static runtime_rig rig;
static arcp__sandbox_level level;
static bool has_broker, makes_cgroups;
static unsigned cgroup_limits; /* of cgroups here, as bits */
/* Of the host: DATA/granted and DATA/other exist. Not below /tmp, which is private in a view. */
static char data[256];

static arcp_enforce_options options(void)
{
    arcp_enforce_options enforce = arcp_enforce_options_init();
    enforce.sandbox = SANDBOX;
    return enforce;
}

static void look_at_host(void)
{
    arcp_buf text = arcp_buf_init();
    arcp_error error = {0};
    arcp__sandbox_abilities abilities;
    check_ok(arcp__launch_probe(SANDBOX, &text, &error), &error);
    check_ok(arcp__sandbox_abilities_decode(arcp_buf_span(&text), &abilities, &error), &error);
    arcp_buf_fini(&text);
    level = arcp__sandbox_level_of(&abilities);
    has_broker = arcp__sandbox_has_broker(&abilities);
}

static void needs_a_level(void)
{
    if (level == ARCP__SANDBOX_LEVEL_NONE) {
        print_message("this host cannot confine programs\n");
        skip();
    }
}

static void write_file(const char *name, const char *text)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", data, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void start_with(const arcp_settings *settings, const arcp_enforce_options *enforce)
{
    arcp_runtime_options runtime = arcp_runtime_options_init();
    runtime_rig_begin(&rig);
    runtime.settings = settings;
    runtime.enforce = enforce;
    runtime.makes_cgroups = makes_cgroups;
    runtime_rig_open(&rig, &runtime);
}

static int set_up(void **state)
{
    (void)state;
    arcp_settings settings;
    const arcp_enforce_options enforce = options();
    look_at_host();
    (void)snprintf(data, sizeof data, ARCP_BINARY_DIR "/confined-XXXXXX");
    assert_non_null(mkdtemp(data));
    write_file("granted", "the data\n");
    write_file("other", "a secret\n");
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = 50;
    start_with(&settings, &enforce);
    return 0;
}

static int set_up_with_cgroups(void **state)
{
    /* Before the runtime has cgroups: their name is that of the process. */
    arcp__cgroups *cgroups = arcp__cgroups_open();
    cgroup_limits = arcp__cgroups_find_limits(cgroups);
    arcp__cgroups_close(cgroups);
    makes_cgroups = true;
    return set_up(state);
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    makes_cgroups = false;
    remove_temporary(data);
    assert_false(has_children());
    return 0;
}

/* A submit whose lease has these members; %s is the directory. */
static void submit(const char *agent, const char *lease)
{
    char request[1024];
    char filled[900];
    char *to = filled;
    for (const char *at = lease; *at != '\0';) {
        if (strncmp(at, "%s", 2) == 0) {
            to += snprintf(to, (size_t)(filled + sizeof filled - to), "%s", data);
            at += 2;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
    (void)snprintf(request, sizeof request, ",\"lease_request\":{%s}", filled);
    runtime_rig_submit(&rig, agent, request);
}

static void an_agent_reads_what_its_lease_grants_and_nothing_else(void **state)
{
    char script[1024];
    (void)state;
    needs_a_level();
    (void)snprintf(script, sizeof script,
                   "cat %s/granted; cat %s/other || echo denied; touch %s/made || echo not made",
                   data, data, data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    submit("reader", "\"fs.read\":[\"%s/granted\"]");
    (void)runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"the data\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"denied\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"not made\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_false(runtime_rig_has(&rig, "a secret"));
    (void)snprintf(script, sizeof script, "%s/made", data);
    assert_int_not_equal(access(script, F_OK), 0);
}

static bool has_end(void *user)
{
    return runtime_rig_has(user, "\"job.result\"") || runtime_rig_has(user, "\"job.error\"");
}

/* Its directory is found when a job is submitted, but not for each. */
static void a_program_that_is_installed_later_is_found(void **state)
{
    char program[300];
    const char *const command[] = {program, NULL};
    arcp_process_agent agent = arcp_process_agent_init();
    arcp_error error = {0};
    (void)state;
    needs_a_level();
    (void)snprintf(program, sizeof program, "%s/late.sh", data);
    agent.name = "late";
    agent.command = command;
    agent.is_plain = true;
    check_ok(arcp_runtime_register_process(rig.runtime, &agent, &error), &error);
    runtime_rig_submit(&rig, "late", "");
    (void)runtime_rig_wait(&rig, "\"job.error\"");
    write_file("late.sh", "#!/bin/sh\necho late\n");
    assert_int_equal(chmod(program, 0755), 0);
    while (!runtime_rig_has(&rig, "\"job.result\"")) {
        arcp_buf_clear(&rig.frames);
        runtime_rig_submit(&rig, "late", "");
        runtime_rig_until(&rig, has_end, &rig);
    }
}

static bool has_result(void *user)
{
    return runtime_rig_has(user, "\"job.result\"");
}

static void a_directory_that_is_absent_grants_nothing_and_the_log_names_it(void **state)
{
    char script[1024];
    (void)state;
    needs_a_level();
    (void)snprintf(script, sizeof script, "mkdir %s/none; ls %s/none || echo nothing", data, data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    submit("reader", "\"fs.read\":[\"%s/none/**\"],\"fs.write\":[\"%s/none/**\",\"%s/gone/**\"]");
    runtime_rig_until(&rig, has_result, &rig);
    assert_true(runtime_rig_has(&rig, "no such directory on this host: "));
    assert_true(runtime_rig_has(&rig, "/gone, "));
    assert_true(runtime_rig_has(&rig, "/none; its line grants nothing"));
    assert_true(runtime_rig_has(&rig, "\"message\":\"nothing\""));
    (void)snprintf(script, sizeof script, "%s/none", data);
    assert_int_not_equal(access(script, F_OK), 0);
}

static void what_is_denied_becomes_an_event(void **state)
{
    char script[1024];
    (void)state;
    needs_a_level();
    if (!has_broker) {
        return;
    }
    (void)snprintf(script, sizeof script, "cat %s/other", data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    submit("reader", "\"fs.read\":[\"%s/granted\"]");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "/other\""));
    assert_non_null(strstr(frame, "\"capability\":\"fs.read\""));
    assert_non_null(strstr(frame, "\"layer\":\"broker\""));
    assert_non_null(strstr(frame, "\"program\":\"cat\""));
}

/* Files of the runtime itself: below its work directory, whatever the lease says. */
static void start_hidden_or_silent(bool hides)
{
    arcp_settings settings;
    const arcp_enforce_options enforce = options();
    arcp__settings_default(&settings);
    if (hides) {
        settings.enforce_hide = ARCP__CHOICE_TRUE;
    } else {
        settings.enforce_report = ARCP__CHOICE_FALSE;
    }
    runtime_rig_stop(&rig);
    start_with(&settings, &enforce);
}

static void read_other(void)
{
    char script[1024];
    (void)snprintf(script, sizeof script, "cat %s/other 2>&1; ls %s/tree; echo end", data, data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    submit("reader", "\"fs.read\":[\"%s/tree/**\"]");
    runtime_rig_until(&rig, has_result, &rig);
    assert_false(runtime_rig_has(&rig, "a secret"));
}

static void what_is_hidden_does_not_exist_and_is_reported(void **state)
{
    (void)state;
    needs_a_level();
    if (!has_broker) {
        return;
    }
    start_hidden_or_silent(true);
    read_other();
    assert_true(runtime_rig_has(&rig, "No such file or directory"));
    assert_true(runtime_rig_has(&rig, "\"phase\":\"denied\""));
}

static void without_reports_the_kernel_denies_and_no_event_says_so(void **state)
{
    (void)state;
    needs_a_level();
    start_hidden_or_silent(false);
    read_other();
    assert_true(runtime_rig_has(&rig, "/other: "));
    assert_false(runtime_rig_has(&rig, "\"phase\":\"denied\""));
}

/* Enough for the shell and what it starts; as root, a kernel allows 300 more. */
static void processes_and_private_files_are_limited_by_the_settings(void **state)
{
    arcp_settings settings;
    const arcp_enforce_options enforce = options();
    (void)state;
    needs_a_level();
    if (level != ARCP__SANDBOX_LEVEL_FULL) {
        return;
    }
    arcp__settings_default(&settings);
    settings.enforce_scratch_bytes = 1u << 20;
    settings.enforce_pids = 64;
    settings.jobs_cancel_grace_ms = 50;
    runtime_rig_stop(&rig);
    start_with(&settings, &enforce);
    runtime_rig_register_sh(&rig, "writer",
                            "head -c 900000 /dev/zero >/tmp/a && echo fits; rm /tmp/a; "
                            "head -c 1200000 /dev/zero >/tmp/a || echo full",
                            NULL);
    runtime_rig_submit(&rig, "writer", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"fits\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"full\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    runtime_rig_register_sh(
        &rig, "starter",
        "start() { i=0; while [ $i -lt $1 ]; do sleep 100 & i=$((i+1)); done; }; "
        "(start 20 && echo few); (start 500 2>/dev/null && echo many) || "
        "echo limited",
        NULL);
    runtime_rig_submit(&rig, "starter", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"few\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"limited\"");
    assert_false(runtime_rig_has(&rig, "\"message\":\"many\""));
}

static void no_lease_grants_the_directory_of_another_job(void **state)
{
    char script[1024];
    (void)state;
    needs_a_level();
    if (level != ARCP__SANDBOX_LEVEL_FULL) {
        return; /* there a tree that holds own files is refused as a whole */
    }
    (void)snprintf(script, sizeof script, "ls %s; ls %s/run-*; echo done", rig.directory,
                   rig.directory);
    runtime_rig_register_sh(&rig, "spy", script, NULL);
    submit("spy", "\"fs.read\":[\"/**\"],\"fs.write\":[\"/**\"]");
    (void)runtime_rig_wait(&rig, "\"message\":\"done\"");
    assert_false(runtime_rig_has(&rig, "\"message\":\"job_"));
}

static void an_agent_has_a_directory_home_and_tmp_of_its_own(void **state)
{
    (void)state;
    needs_a_level();
    runtime_rig_register_sh(
        &rig, "places",
        "read start; echo \"$start\" | grep -o '\"cwd\":\"[^\"]*\"'; pwd; "
        "echo x > file && echo x > \"$HOME/file\" && echo x > \"$TMPDIR/file\" "
        "&& echo written; env | grep -c '^ARCP_SANDBOX=1'; test \"$HOME\" != /root "
        "&& echo private",
        NULL);
    submit("places", "");
    if (level == ARCP__SANDBOX_LEVEL_FULL) {
        (void)runtime_rig_wait(&rig, "\\\"cwd\\\":\\\"/job\\\"");
        (void)runtime_rig_wait(&rig, "\"message\":\"/job\"");
    }
    (void)runtime_rig_wait(&rig, "\"message\":\"written\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"1\"");
    (void)runtime_rig_wait(&rig, "\"message\":\"private\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void a_line_below_the_minimum_refuses_the_submit(void **state)
{
    arcp_settings settings;
    const arcp_enforce_options enforce = options();
    (void)state;
    needs_a_level();
    runtime_rig_stop(&rig);
    arcp__settings_default(&settings);
    settings.enforce_min = 0; /* exact */
    start_with(&settings, &enforce);
    runtime_rig_register_sh(&rig, "exact", "echo ran", NULL);
    submit("exact", "\"net.fetch\":[\"gopher://example.com/1\"]");
    const char *frame = runtime_rig_wait(&rig, "\"PERMISSION_DENIED\"");
    assert_non_null(strstr(frame, "\"verdict\":\"refused\""));
    assert_non_null(strstr(frame, "\"min\":\"exact\""));
    assert_non_null(strstr(frame, "\"capability\":\"net.fetch\""));
    assert_false(runtime_rig_has(&rig, "job.accepted"));
    submit("exact", "\"fs.read\":[\"%s/granted\"]");
    (void)runtime_rig_wait(&rig, "\"message\":\"ran\"");
}

static void an_agent_may_ask_for_another_minimum(void **state)
{
    arcp_process_agent more = arcp_process_agent_init();
    (void)state;
    needs_a_level();
    more.min = ARCP_ENFORCE_MIN_EXACT;
    runtime_rig_register_sh(&rig, "exact", "echo ran", &more);
    submit("exact", "\"net.fetch\":[\"gopher://example.com/1\"]");
    (void)runtime_rig_wait(&rig, "\"PERMISSION_DENIED\"");
}

/* ---- limits ---- */

#define MUCH "head -c 300000000 /dev/zero | tail >/dev/null || exit 9; echo all"

static bool can_limit(unsigned wanted)
{
    if ((cgroup_limits & wanted) != wanted) {
        print_message("SKIPPED: no cgroup here can have these limits (found %u, wanted %u)\n",
                      cgroup_limits, wanted);
    }
    return (cgroup_limits & wanted) == wanted;
}

static void an_agent_that_needs_more_memory_fails(void **state)
{
    arcp_process_agent limited = arcp_process_agent_init();
    (void)state;
    needs_a_level();
    limited.memory_bytes = 64u << 20;
    runtime_rig_register_sh(&rig, "limited", MUCH, &limited);
    submit("limited", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"exit_status\":9"));
    assert_false(runtime_rig_has(&rig, "\"message\":\"all\""));
}

static void the_error_names_the_limit_of_memory(void **state)
{
    arcp_process_agent limited = arcp_process_agent_init();
    (void)state;
    needs_a_level();
    if (!can_limit(ARCP__CGROUP_MEMORY)) {
        skip();
    }
    limited.memory_bytes = 64u << 20;
    runtime_rig_register_sh(&rig, "limited", MUCH, &limited);
    submit("limited", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"limit\":\"memory\""));
    assert_non_null(strstr(frame, "after it had reached its limit of memory"));
    /* The next job has a cgroup without the count, and an agent without a limit none at all. */
    runtime_rig_register_sh(&rig, "small", "echo small", &limited);
    runtime_rig_register_sh(&rig, "free", MUCH, NULL);
    submit("small", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    submit("free", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"all\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void processes_of_an_agent_share_its_part_of_the_processor(void **state)
{
    arcp_process_agent limited = arcp_process_agent_init();
    (void)state;
    needs_a_level();
    if (!can_limit(ARCP__CGROUP_CPU)) {
        skip();
    }
    limited.cpu_percent = 20;
    /* Two that are busy for a second of real time: at most 0.2 s and the rest of a period. */
    runtime_rig_register_sh(
        &rig, "busy",
        "exec bash -c 'TIMEFORMAT=%U; busy() { timeout 1 sh -c \"while :; do :; done\"; }; time { "
        "busy & busy; wait; }' 2>&1 | sed 's/^0[.]\\([0-3]\\).*/little/'",
        &limited);
    submit("busy", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"little\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void without_a_cgroup_each_process_has_the_limit_for_itself(void **state)
{
    arcp_settings settings;
    arcp_process_agent limited = arcp_process_agent_init();
    const arcp_enforce_options enforce = options();
    (void)state;
    needs_a_level();
    runtime_rig_stop(&rig);
    arcp__settings_default(&settings);
    settings.enforce_cgroup = 1; /* off */
    start_with(&settings, &enforce);
    limited.memory_bytes = 64u << 20;
    limited.cpu_percent = 50;
    runtime_rig_register_sh(&rig, "limited", MUCH, &limited);
    submit("limited", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"exit_status\":9"));
    assert_null(strstr(frame, "\"limit\""));
}

static void a_step_that_fails_ends_the_job_and_is_named(void **state)
{
    (void)state;
    needs_a_level();
    runtime_rig_register_sh(&rig, "bare", "echo escaped", NULL);
    assert_int_equal(setenv("ARCP_SANDBOX_FAIL", "landlock", 1), 0);
    submit("bare", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_int_equal(unsetenv("ARCP_SANDBOX_FAIL"), 0);
    assert_non_null(strstr(frame, "\"INTERNAL_ERROR\""));
    assert_non_null(strstr(frame, "Input/output error"));
    assert_non_null(strstr(frame, "\"step\":\"landlock\""));
    assert_false(runtime_rig_has(&rig, "escaped"));
}

static arcp_buf warnings;

static void keep_warnings(void *user, arcp_log_level at, const char *text, const char *fields)
{
    (void)user;
    (void)fields;
    if (at == ARCP_LOG_WARN) {
        arcp_buf_append_format(&warnings, "%s\n", text);
    }
}

static void a_host_that_cannot_confine_starts_nothing(void **state)
{
    const arcp_enforce_options enforce = options();
    arcp_runtime_options runtime = arcp_runtime_options_init();
    (void)state;
    runtime_rig_stop(&rig);
    assert_int_equal(setenv("ARCP_SANDBOX_WITHOUT", "landlock", 1), 0);
    warnings = arcp_buf_init();
    runtime_rig_begin(&rig);
    runtime.enforce = &enforce;
    runtime.log = keep_warnings;
    runtime_rig_open(&rig, &runtime);
    assert_non_null(strstr(arcp_buf_cstr(&warnings), "this host cannot confine agents"));
    assert_non_null(strstr(warnings.data, "it lacks landlock"));
    assert_non_null(strstr(warnings.data, "enforce.mode: off"));
    arcp_buf_fini(&warnings);
    assert_int_equal(unsetenv("ARCP_SANDBOX_WITHOUT"), 0);
    arcp_process_agent more = arcp_process_agent_init();
    more.confine = false;
    runtime_rig_register_sh(&rig, "agent", "echo escaped", NULL);
    runtime_rig_register_sh(&rig, "bare", "echo bare", &more);
    submit("agent", "");
    const char *frame = runtime_rig_wait(&rig, "\"AGENT_NOT_AVAILABLE\"");
    assert_non_null(strstr(frame, "arcp doctor"));
    assert_non_null(strstr(frame, "\"level\":\"none\""));
    assert_non_null(strstr(frame, "\"missing\":[\"landlock\""));
    submit("bare", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"bare\"");
    assert_false(runtime_rig_has(&rig, "escaped"));
}

static void an_agent_that_is_not_confined_says_so(void **state)
{
    char script[400];
    arcp_process_agent more = arcp_process_agent_init();
    (void)state;
    more.confine = false;
    (void)snprintf(script, sizeof script, "cat %s/other", data);
    runtime_rig_register_sh(&rig, "bare", script, &more);
    submit("bare", "");
    (void)runtime_rig_wait(&rig, "confine: false");
    (void)runtime_rig_wait(&rig, "a secret");
}

static void what_a_killed_agent_has_started_is_gone(void **state)
{
    (void)state;
    needs_a_level();
    runtime_rig_register_sh(&rig, "stubborn",
                            "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1000 & wait' &); "
                            "echo up; sleep 1000 & wait",
                            NULL);
    runtime_rig_submit(&rig, "stubborn", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"up\"");
    runtime_rig_cancel(&rig);
    (void)runtime_rig_wait(&rig, "\"CANCELLED\"");
    /* tear_down finds no child. */
}

static void a_lease_that_expires_ends_the_agent(void **state)
{
    char request[256];
    struct timespec now;
    struct tm at;
    char text[40];
    (void)state;
    needs_a_level();
    runtime_rig_register_sh(&rig, "slow", "trap '' TERM; echo up; sleep 1000 & wait", NULL);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    now.tv_sec += 4;
    assert_non_null(gmtime_r(&now.tv_sec, &at));
    assert_true(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &at) > 0);
    (void)snprintf(request, sizeof request, ",\"lease_constraints\":{\"expires_at\":\"%s\"}", text);
    runtime_rig_submit(&rig, "slow", request);
    (void)runtime_rig_wait(&rig, "\"message\":\"up\"");
    (void)runtime_rig_wait(&rig, "\"LEASE_EXPIRED\"");
}

/* Their directories and the memory of their plans, too. */
static void many_jobs_at_once_leave_nothing(void **state)
{
    enum { JOBS = 60 };
    char done[32];
    (void)state;
    needs_a_level();
    const size_t before = open_descriptors();
    runtime_rig_register_sh(&rig, "short", "cat /var/lib/dpkg/status; echo out", NULL);
    for (int i = 0; i < JOBS; i++) {
        submit("short", "\"fs.read\":[\"%s/granted\"]");
    }
    (void)snprintf(done, sizeof done, "\"job.result\"");
    for (int i = 0; i < JOBS; i++) {
        (void)runtime_rig_wait(&rig, done);
    }
    runtime_rig_stop(&rig);
    assert_false(has_children());
    const arcp_enforce_options enforce = options();
    start_with(NULL, &enforce);
    assert_true(open_descriptors() <= before + 1);
}

int main(void)
{
#define ROW(name)     cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define LIMITED(name) cmocka_unit_test_setup_teardown(name, set_up_with_cgroups, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(an_agent_reads_what_its_lease_grants_and_nothing_else),
        ROW(a_directory_that_is_absent_grants_nothing_and_the_log_names_it),
        ROW(a_program_that_is_installed_later_is_found),
        ROW(what_is_denied_becomes_an_event),
        ROW(what_is_hidden_does_not_exist_and_is_reported),
        ROW(without_reports_the_kernel_denies_and_no_event_says_so),
        ROW(processes_and_private_files_are_limited_by_the_settings),
        ROW(no_lease_grants_the_directory_of_another_job),
        ROW(an_agent_has_a_directory_home_and_tmp_of_its_own),
        ROW(a_line_below_the_minimum_refuses_the_submit),
        ROW(an_agent_may_ask_for_another_minimum),
        ROW(a_step_that_fails_ends_the_job_and_is_named),
        ROW(a_host_that_cannot_confine_starts_nothing),
        ROW(an_agent_that_is_not_confined_says_so),
        ROW(what_a_killed_agent_has_started_is_gone),
        ROW(a_lease_that_expires_ends_the_agent),
        ROW(many_jobs_at_once_leave_nothing),
        LIMITED(an_agent_that_needs_more_memory_fails),
        LIMITED(the_error_names_the_limit_of_memory),
        LIMITED(processes_of_an_agent_share_its_part_of_the_processor),
        LIMITED(without_a_cgroup_each_process_has_the_limit_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
