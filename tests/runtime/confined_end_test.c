/* Agents in sandboxes that cannot be started, and how others end: what is reported, and what is
 * left. */
#include <stdlib.h>

#include "runtime/confined_fixture.h"

static void a_step_that_fails_ends_the_job_and_is_named(void **state)
{
    (void)state;
    confined_needs_a_level();
    runtime_rig_register_sh(&rig, "bare", "echo escaped", NULL);
    assert_int_equal(setenv("ARCP_SANDBOX_FAIL", "landlock", 1), 0);
    confined_submit("bare", "");
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
    const arcp_enforce_options enforce = confined_options();
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
    confined_submit("agent", "");
    const char *frame = runtime_rig_wait(&rig, "\"AGENT_NOT_AVAILABLE\"");
    assert_non_null(strstr(frame, "arcp doctor"));
    assert_non_null(strstr(frame, "\"level\":\"none\""));
    assert_non_null(strstr(frame, "\"missing\":[\"landlock\""));
    confined_submit("bare", "");
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
    confined_submit("bare", "");
    (void)runtime_rig_wait(&rig, "confine: false");
    (void)runtime_rig_wait(&rig, "a secret");
}

static void what_a_killed_agent_has_started_is_gone(void **state)
{
    (void)state;
    confined_needs_a_level();
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
    (void)state;
    confined_needs_a_level();
    runtime_rig_register_sh(&rig, "slow", "trap '' TERM; echo up; sleep 1000 & wait", NULL);
    runtime_rig_submit(&rig, "slow", runtime_rig_expires_in(4));
    (void)runtime_rig_wait(&rig, "\"message\":\"up\"");
    (void)runtime_rig_wait(&rig, "\"LEASE_EXPIRED\"");
}

static void restart(const arcp_settings *settings)
{
    const arcp_enforce_options enforce = confined_options();
    runtime_rig_stop(&rig);
    confined_start(settings, &enforce);
}

/* Reads a file until it is denied, which happens while the program runs. */
static void register_reader(size_t warm)
{
    char script[700];
    arcp_process_agent more = arcp_process_agent_init();
    more.warm = warm;
    (void)snprintf(script, sizeof script,
                   "%swhile cat %s/granted >/dev/null 2>&1; do :; done; echo ended",
                   warm == 0 ? "" : "read start; ", data);
    runtime_rig_register_sh(&rig, "reader", script, &more);
}

static void a_used_up_budget_that_denies_ends_what_the_broker_grants(void **state)
{
    arcp_settings settings;
    (void)state;
    confined_needs_a_level();
    if (!has_broker) {
        print_message("this host has no broker\n");
        skip();
    }
    arcp__settings_default(&settings);
    settings.budget_on_exhaustion = ARCP__ON_EXHAUSTION_DENY;
    for (size_t warm = 0; warm < 2; warm++) {
        restart(&settings);
        register_reader(warm);
        confined_submit("reader", "\"fs.read\":[\"%s/gran*\"],\"cost.budget\":[\"USD:0\"]");
        (void)runtime_rig_wait(&rig, "\"message\":\"ended\"");
        (void)runtime_rig_wait(&rig, "\"job.result\"");
    }
}

static void an_expiry_that_denies_ends_what_the_broker_grants(void **state)
{
    arcp_settings settings;
    char request[512];
    (void)state;
    confined_needs_a_level();
    if (!has_broker) {
        print_message("this host has no broker\n");
        skip();
    }
    arcp__settings_default(&settings);
    settings.lease_on_expiry = ARCP__ON_EXPIRY_DENY;
    restart(&settings);
    register_reader(0);
    (void)snprintf(request, sizeof request, ",\"lease_request\":{\"fs.read\":[\"%s/gran*\"]}%s",
                   data, runtime_rig_expires_in(3));
    runtime_rig_submit(&rig, "reader", request);
    (void)runtime_rig_wait(&rig, "\"message\":\"ended\"");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

/* Their directories and the memory of their plans, too. */
static void many_jobs_at_once_leave_nothing(void **state)
{
    enum { JOBS = 60 };
    char done[32];
    (void)state;
    confined_needs_a_level();
    const size_t before = open_descriptors();
    runtime_rig_register_sh(&rig, "short", "cat /var/lib/dpkg/status; echo out", NULL);
    for (int i = 0; i < JOBS; i++) {
        confined_submit("short", "\"fs.read\":[\"%s/granted\"]");
    }
    (void)snprintf(done, sizeof done, "\"job.result\"");
    for (int i = 0; i < JOBS; i++) {
        (void)runtime_rig_wait(&rig, done);
    }
    runtime_rig_stop(&rig);
    assert_false(has_children());
    const arcp_enforce_options enforce = confined_options();
    confined_start(NULL, &enforce);
    assert_true(open_descriptors() <= before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(a_step_that_fails_ends_the_job_and_is_named),
        CONFINED_TEST(a_host_that_cannot_confine_starts_nothing),
        CONFINED_TEST(an_agent_that_is_not_confined_says_so),
        CONFINED_TEST(what_a_killed_agent_has_started_is_gone),
        CONFINED_TEST(a_lease_that_expires_ends_the_agent),
        CONFINED_TEST(a_used_up_budget_that_denies_ends_what_the_broker_grants),
        CONFINED_TEST(an_expiry_that_denies_ends_what_the_broker_grants),
        CONFINED_TEST(many_jobs_at_once_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
