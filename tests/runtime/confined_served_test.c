/* Served processes in sandboxes: what a process may do comes from the lease of its registration,
 * and the leases of its jobs only decide what it asks about. */
#include <stdio.h>

#include "runtime/confined_fixture.h"

#define GRANTED "\"fs.read\":[\"%s/granted\"]"

/* $D is the directory with the files. Each job tries to read both, and asks about one. */
static const char script[] =
    "D=%s; while read -r line; do id=${line#*'\"job_id\":\"'}; id=${id%%%%'\"'*}\n"
    "case $line in *job.start*)\n"
    "got=\"$(cat $D/granted 2>&1 | head -c 8) $(cat $D/other 2>&1 | head -c 8)\"\n"
    "printf "
    "'{\"job_id\":\"%%s\",\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":"
    "\"info\",\"message\":\"read %%s\"}}}\\n' $id \"$got\"\n"
    "printf "
    "'{\"job_id\":\"%%s\",\"id\":\"1\",\"type\":\"authorize\",\"payload\":{\"capability\":\"fs."
    "read\","
    "\"target\":\"%%s\"}}\\n' $id $D/granted;;\n"
    "*'\"allow\":true'*) printf "
    "'{\"job_id\":\"%%s\",\"type\":\"job.result\",\"payload\":{\"result\":"
    "\"allowed\"}}\\n' $id;;\n"
    "*'\"error\"'*) printf "
    "'{\"job_id\":\"%%s\",\"type\":\"job.result\",\"payload\":{\"result\":\"denied\"}}"
    "\\n' $id;;\n"
    "esac; done";

static void register_served(const char *granted, arcp_enforce_min min)
{
    char text[2048];
    char pattern[320];
    arcp_process_agent agent = arcp_process_agent_init();
    arcp_lease_builder *builder = arcp_lease_builder_new();
    arcp_lease *lease = NULL;
    arcp_error error = {0};
    (void)snprintf(text, sizeof text, script, data);
    if (granted != NULL) {
        (void)snprintf(pattern, sizeof pattern, "%s/%s", data, granted);
        arcp_lease_allow(builder, "fs.read", pattern);
    }
    check_ok(arcp_lease_build(builder, &lease, &error), &error);
    agent.processes = 1;
    agent.concurrency = 4;
    agent.lease = lease;
    agent.min = min;
    runtime_rig_register_sh(&rig, "many", text, &agent);
    arcp_lease_unref(lease);
}

static void the_lease_of_the_registration_is_what_a_process_can_open(void **state)
{
    (void)state;
    confined_needs_a_level();
    register_served("granted", ARCP_ENFORCE_MIN_DEFAULT);
    runtime_rig_submit(&rig, "many", "");
    (void)runtime_rig_wait(&rig, "\"message\":\"read the data cat: ");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"denied\""));
    assert_false(runtime_rig_has(&rig, "a secret"));
}

static void the_lease_of_a_job_opens_nothing_and_decides_what_is_asked(void **state)
{
    (void)state;
    confined_needs_a_level();
    register_served(NULL, ARCP_ENFORCE_MIN_ADVISORY);
    confined_submit("many", GRANTED);
    const char *frame = runtime_rig_wait(&rig, "\"phase\":\"enforcement\"");
    assert_non_null(strstr(frame, "\"verdict\":\"advisory\""));
    assert_non_null(strstr(frame, "other jobs in the same process"));
    (void)runtime_rig_wait(&rig, "\"message\":\"read cat: ");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.result\""), "\"allowed\""));
}

static void jobs_whose_lines_would_be_advisory_are_refused_unless_that_is_accepted(void **state)
{
    (void)state;
    confined_needs_a_level();
    register_served("granted", ARCP_ENFORCE_MIN_DEFAULT);
    confined_submit("many", GRANTED);
    const char *frame = runtime_rig_wait(&rig, "\"PERMISSION_DENIED\"");
    assert_non_null(strstr(frame, "\"verdict\":\"advisory\""));
    confined_submit("many", "\"net.fetch\":[\"https://example.com/**\"]");
    (void)runtime_rig_wait(&rig, "\"PERMISSION_DENIED\"");
    confined_submit("many", "\"agent.delegate\":[\"*\"]"); /* a line that is exact */
    (void)runtime_rig_wait(&rig, "\"job.result\"");
}

static void a_process_whose_own_lease_cannot_be_enforced_does_not_start(void **state)
{
    (void)state;
    confined_needs_a_level();
    arcp_process_agent agent = arcp_process_agent_init();
    arcp_lease_builder *builder = arcp_lease_builder_new();
    arcp_lease *lease = NULL;
    arcp_error error = {0};
    arcp_lease_allow(builder, "fs.read", "/proc/**"); /* refused everywhere */
    check_ok(arcp_lease_build(builder, &lease, &error), &error);
    agent.processes = 1;
    agent.concurrency = 1;
    agent.lease = lease;
    agent.min = ARCP_ENFORCE_MIN_EXACT;
    runtime_rig_register_sh(&rig, "many", "cat", &agent);
    arcp_lease_unref(lease);
    runtime_rig_submit(&rig, "many", "");
    const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
    assert_non_null(strstr(frame, "\"INTERNAL_ERROR\""));
    assert_non_null(strstr(frame, "cannot be started"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFINED_TEST(the_lease_of_the_registration_is_what_a_process_can_open),
        CONFINED_TEST(the_lease_of_a_job_opens_nothing_and_decides_what_is_asked),
        CONFINED_TEST(jobs_whose_lines_would_be_advisory_are_refused_unless_that_is_accepted),
        CONFINED_TEST(a_process_whose_own_lease_cannot_be_enforced_does_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
