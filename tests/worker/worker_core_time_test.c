/* When a worker sends pings, leaves a silent runtime, and kills programs. */
#include "worker/worker_rig.h"

static void pings_are_sent_and_answered(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open(&r);
    worker_rig_connect(&r, "", WELCOME(""));
    r.now_ns += 5 * SEC - 1;
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    worker_rig_check_sent(&r, "");
    r.now_ns += 1;
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    worker_rig_check_sent(&r, "{\"type\":\"ping\",\"number\":2}\n");
    worker_rig_take(&r, "{\"type\":\"ping\",\"number\":9}\n");
    worker_rig_check_sent(&r, "{\"type\":\"pong\",\"number\":9}\n");
    assert_int_equal(worker_rig_receive(&r, "{\"type\":\"pong\",\"number\":3}\n"),
                     ARCP_E_INVALID_REQUEST);
    worker_rig_close(&r);
}

static void use(void *user, void *program, arcp__worker_usage_row *out)
{
    out->pid = 5;
    out->cpu_ms = 70;
    out->memory_bytes = 4096;
}

static void what_programs_use_is_sent_every_five_seconds(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job_with(&r, START, use);
    r.now_ns += 5 * SEC;
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    worker_rig_check_sent(&r, "{\"type\":\"ping\",\"number\":2}\n{\"type\":\"usage\",\"room\":"
                              "2047}\n{\"job\":\"j\",\"pid\":5,\"cpu_ms\":70,\"memory_bytes\":"
                              "4096}\n");
    r.now_ns += 5 * SEC - 1;
    worker_rig_take(&r, "{\"type\":\"pong\",\"number\":2}\n");
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    worker_rig_check_sent(&r, "");
    worker_rig_end_program(&r);
    worker_rig_check_sent(&r, "{\"type\":\"exited\",\"job\":\"j\",\"is_known\":true,\"code\":3,"
                              "\"why\":\"itself\"}\ntail\n");
    r.now_ns += 1;
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    worker_rig_check_sent(&r, "{\"type\":\"ping\",\"number\":3}\n{\"type\":\"usage\",\"room\":"
                              "2047}\n");
    worker_rig_close(&r);
}

static void a_silent_runtime_is_left(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open(&r);
    worker_rig_connect(&r, "", WELCOME(""));
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 15 * SEC - 1));
    assert_false(arcp__worker_core_tick(r.core, r.now_ns + 15 * SEC));
    worker_rig_close(&r);
}

static void jobs_end_when_the_worker_is_alone_for_too_long(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    r.now_ns += 5 * SEC;
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    worker_rig_check_sent(&r, "{\"type\":\"ping\",\"number\":2}\n");
    const int64_t sent_ns = r.now_ns;
    r.now_ns += 3 * SEC; /* the answer comes later, and does not count from then */
    worker_rig_take(&r, "{\"type\":\"pong\",\"number\":2}\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    assert_true(arcp__worker_core_tick(r.core, sent_ns + 60 * SEC - 1));
    worker_rig_check_done(&r, "");
    assert_true(arcp__worker_core_tick(r.core, sent_ns + 60 * SEC));
    worker_rig_check_done(&r, "kill;");
    assert_true(arcp__worker_core_tick(r.core, sent_ns + 70 * SEC));
    worker_rig_check_done(&r, "");
    worker_rig_end_program(&r);
    worker_rig_connect(&r, ROW("1,\"errors_first\":1,\"exited\":true"), WELCOME(GO_ON));
    worker_rig_check_sent(&r,
                          STARTED "{\"type\":\"exited\",\"job\":\"j\",\"is_known\":true,\"code\":3,"
                                  "\"why\":\"alone\"}\ntail\n");
    worker_rig_close(&r);
}

static void ended_jobs_of_another_runtime_are_dropped_when_it_was_away_for_too_long(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    const int64_t contact_ns = r.now_ns;
    worker_rig_end_program(&r);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    assert_true(arcp__worker_core_tick(r.core, contact_ns + 600 * SEC)); /* none is linked */
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 1);
    worker_rig_connect(&r, ROW("1,\"errors_first\":1,\"exited\":true"),
                       "{\"type\":\"welcome\",\"v\":1,\"store\":\"other\",\"keep_ms\":60000,"
                       "\"line_bytes\":1000,\"unkept_bytes\":1000,\"unkept_total_bytes\":1500}\n");
    assert_false(arcp__worker_core_tick(r.core, contact_ns + 60 * SEC - 1)); /* it is silent, too */
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 1);
    assert_false(arcp__worker_core_tick(r.core, contact_ns + 60 * SEC));
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 0);
    worker_rig_close(&r);
}

static void a_job_is_killed_at_its_deadline_while_the_runtime_is_away(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START_IN("4000"));
    arcp__worker_core_disconnected(r.core, r.now_ns);
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 4 * SEC - 1));
    worker_rig_check_done(&r, "");
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 4 * SEC));
    worker_rig_check_done(&r, "kill;");
    worker_rig_close(&r);
}

static void a_program_that_was_only_terminated_is_killed_at_the_deadline(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START_IN("4000"));
    worker_rig_take(&r, "{\"type\":\"kill\",\"job\":\"j\"}\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 4 * SEC));
    worker_rig_check_done(&r, "terminate;kill;");
    worker_rig_close(&r);
}

static void the_runtime_has_two_seconds_for_its_own_word_at_a_deadline(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START_IN("4000"));
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 6 * SEC - 1));
    worker_rig_check_done(&r, "");
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 6 * SEC));
    worker_rig_check_done(&r, "kill;");
    worker_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pings_are_sent_and_answered),
        cmocka_unit_test(what_programs_use_is_sent_every_five_seconds),
        cmocka_unit_test(a_silent_runtime_is_left),
        cmocka_unit_test(jobs_end_when_the_worker_is_alone_for_too_long),
        cmocka_unit_test(ended_jobs_of_another_runtime_are_dropped_when_it_was_away_for_too_long),
        cmocka_unit_test(a_job_is_killed_at_its_deadline_while_the_runtime_is_away),
        cmocka_unit_test(a_program_that_was_only_terminated_is_killed_at_the_deadline),
        cmocka_unit_test(the_runtime_has_two_seconds_for_its_own_word_at_a_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
