/* What agents in sandboxes can do: what their leases grant, and what is reported of the rest. */
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/confined_fixture.h"

static void an_agent_reads_what_its_lease_grants_and_nothing_else(void **state)
{
    char script[1024];
    (void)state;
    confined_needs_a_level();
    (void)snprintf(script, sizeof script,
                   "cat %s/granted; cat %s/other || echo denied; touch %s/made || echo not made",
                   data, data, data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    confined_submit("reader", "\"fs.read\":[\"%s/granted\"]");
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
    confined_needs_a_level();
    (void)snprintf(program, sizeof program, "%s/late.sh", data);
    agent.name = "late";
    agent.command = command;
    agent.is_plain = true;
    check_ok(arcp_runtime_register_process(rig.runtime, &agent, &error), &error);
    runtime_rig_submit(&rig, "late", "");
    (void)runtime_rig_wait(&rig, "\"job.error\"");
    confined_write_file("late.sh", "#!/bin/sh\necho late\n");
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
    confined_needs_a_level();
    (void)snprintf(script, sizeof script, "mkdir %s/none; ls %s/none || echo nothing", data, data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    confined_submit("reader",
                    "\"fs.read\":[\"%s/none/**\"],\"fs.write\":[\"%s/none/**\",\"%s/gone/**\"]");
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
    confined_needs_a_level();
    if (!has_broker) {
        return;
    }
    (void)snprintf(script, sizeof script, "cat %s/other", data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    confined_submit("reader", "\"fs.read\":[\"%s/granted\"]");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "/other\""));
    assert_non_null(strstr(frame, "\"capability\":\"fs.read\""));
    assert_non_null(strstr(frame, "\"layer\":\"broker\""));
    assert_non_null(strstr(frame, "\"program\":\"cat\""));
}

static void start_hidden_or_silent(bool hides)
{
    arcp_settings settings;
    const arcp_enforce_options enforce = confined_options();
    arcp__settings_default(&settings);
    if (hides) {
        settings.enforce_hide = ARCP__CHOICE_TRUE;
    } else {
        settings.enforce_report = ARCP__CHOICE_FALSE;
    }
    runtime_rig_stop(&rig);
    confined_start(&settings, &enforce);
}

static void read_other(void)
{
    char script[1024];
    (void)snprintf(script, sizeof script, "cat %s/other 2>&1; ls %s/tree; echo end", data, data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    confined_submit("reader", "\"fs.read\":[\"%s/tree/**\"]");
    runtime_rig_until(&rig, has_result, &rig);
    assert_false(runtime_rig_has(&rig, "a secret"));
}

static void what_is_hidden_does_not_exist_and_is_reported(void **state)
{
    (void)state;
    confined_needs_a_level();
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
    confined_needs_a_level();
    start_hidden_or_silent(false);
    read_other();
    assert_true(runtime_rig_has(&rig, "/other: "));
    assert_false(runtime_rig_has(&rig, "\"phase\":\"denied\""));
}

/* Files of the runtime itself: below its work directory, whatever the lease says. */
static void no_lease_grants_the_directory_of_another_job(void **state)
{
    char script[1024];
    (void)state;
    confined_needs_a_level();
    if (level != ARCP__SANDBOX_LEVEL_FULL) {
        return; /* there a tree that holds own files is refused as a whole */
    }
    (void)snprintf(script, sizeof script, "ls %s; ls %s/run-*; echo done", rig.directory,
                   rig.directory);
    runtime_rig_register_sh(&rig, "spy", script, NULL);
    confined_submit("spy", "\"fs.read\":[\"/**\"],\"fs.write\":[\"/**\"]");
    (void)runtime_rig_wait(&rig, "\"message\":\"done\"");
    assert_false(runtime_rig_has(&rig, "\"message\":\"job_"));
}

/* The runtime's own files are found again for each job. */
static void what_a_link_of_the_runtimes_leads_to_later_is_hidden_too(void **state)
{
    char link[300];
    char script[1024];
    const char *const own[] = {link, NULL};
    arcp_enforce_options enforce = confined_options();
    (void)state;
    confined_needs_a_level();
    if (!has_broker) {
        return;
    }
    (void)snprintf(link, sizeof link, "%s/link", data);
    assert_int_equal(symlink("granted", link), 0);
    runtime_rig_stop(&rig);
    enforce.own = own;
    confined_start(NULL, &enforce);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("other", link), 0);
    (void)snprintf(script, sizeof script, "cat %s/other; cat %s/link; true", data, data);
    runtime_rig_register_sh(&rig, "reader", script, NULL);
    confined_submit("reader", "\"fs.read\":[\"%s/*\"]");
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "/other\""));
    frame = runtime_rig_wait(&rig, "\"phase\":\"denied\"");
    assert_non_null(strstr(frame, "/link\""));
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void an_agent_has_a_directory_home_and_tmp_of_its_own(void **state)
{
    (void)state;
    confined_needs_a_level();
    runtime_rig_register_sh(
        &rig, "places",
        "read start; echo \"$start\" | grep -o '\"cwd\":\"[^\"]*\"'; pwd; "
        "echo x > file && echo x > \"$HOME/file\" && echo x > \"$TMPDIR/file\" "
        "&& echo written; env | grep -c '^ARCP_SANDBOX=1'; test \"$HOME\" != /root "
        "&& echo private",
        NULL);
    confined_submit("places", "");
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
    const arcp_enforce_options enforce = confined_options();
    (void)state;
    confined_needs_a_level();
    runtime_rig_stop(&rig);
    arcp__settings_default(&settings);
    settings.enforce_min = 0; /* exact */
    confined_start(&settings, &enforce);
    runtime_rig_register_sh(&rig, "exact", "echo ran", NULL);
    confined_submit("exact", "\"net.fetch\":[\"gopher://example.com/1\"]");
    const char *frame = runtime_rig_wait(&rig, "\"PERMISSION_DENIED\"");
    assert_non_null(strstr(frame, "\"verdict\":\"refused\""));
    assert_non_null(strstr(frame, "\"min\":\"exact\""));
    assert_non_null(strstr(frame, "\"capability\":\"net.fetch\""));
    assert_false(runtime_rig_has(&rig, "job.accepted"));
    confined_submit("exact", "\"fs.read\":[\"%s/granted\"]");
    (void)runtime_rig_wait(&rig, "\"message\":\"ran\"");
}

static void an_agent_may_ask_for_another_minimum(void **state)
{
    arcp_process_agent more = arcp_process_agent_init();
    (void)state;
    confined_needs_a_level();
    more.min = ARCP_ENFORCE_MIN_EXACT;
    runtime_rig_register_sh(&rig, "exact", "echo ran", &more);
    confined_submit("exact", "\"net.fetch\":[\"gopher://example.com/1\"]");
    (void)runtime_rig_wait(&rig, "\"PERMISSION_DENIED\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(an_agent_reads_what_its_lease_grants_and_nothing_else),
        CONFINED_TEST(a_program_that_is_installed_later_is_found),
        CONFINED_TEST(a_directory_that_is_absent_grants_nothing_and_the_log_names_it),
        CONFINED_TEST(what_is_denied_becomes_an_event),
        CONFINED_TEST(what_is_hidden_does_not_exist_and_is_reported),
        CONFINED_TEST(without_reports_the_kernel_denies_and_no_event_says_so),
        CONFINED_TEST(no_lease_grants_the_directory_of_another_job),
        CONFINED_TEST(what_a_link_of_the_runtimes_leads_to_later_is_hidden_too),
        CONFINED_TEST(an_agent_has_a_directory_home_and_tmp_of_its_own),
        CONFINED_TEST(a_line_below_the_minimum_refuses_the_submit),
        CONFINED_TEST(an_agent_may_ask_for_another_minimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
