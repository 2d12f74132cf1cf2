/* Jobs of a worker without I/O: what it sends, what it does to programs, and its limits. */
#include "worker/worker_rig.h"

/* ---- a job ---- */

static void a_job_runs_and_is_forgotten(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    worker_rig_item(&r, "one");
    worker_rig_item(&r, "two");
    worker_rig_check_sent(
        &r, "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":2,\"what\":\"lines\"}\n"
            "one\ntwo\n");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1,\"for\":2}\nyes");
    worker_rig_check_done(&r, "write yes;");
    worker_rig_check_sent(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n");
    worker_rig_end_program(&r);
    worker_rig_check_sent(
        &r, "{\"type\":\"exited\",\"job\":\"j\",\"items\":2,\"is_known\":true,\"code\":3,"
            "\"why\":\"itself\"}\ntail\n");
    worker_rig_take(&r, "{\"type\":\"forget\",\"job\":\"j\"}\n");
    worker_rig_check_done(&r, "forget;");
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 0);
    worker_rig_close(&r);
}

static void an_exit_comes_after_all_output(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    arcp__worker_core_output(r.core, r.job, ARCP_SPAN_LITERAL("bytes"));
    arcp__worker_core_error_line(r.core, r.job, ARCP_SPAN_LITERAL("line"));
    arcp__worker_core_log(r.core, r.job, ARCP_SPAN_LITERAL("log"));
    worker_rig_end_program(&r);
    worker_rig_check_sent(
        &r, "{\"type\":\"output\",\"job\":\"j\"}\nbytes\n"
            "{\"type\":\"errors\",\"job\":\"j\",\"first\":1,\"count\":1}\nline\n"
            "{\"type\":\"log\",\"job\":\"j\"}\nlog\n"
            "{\"type\":\"exited\",\"job\":\"j\",\"bytes\":5,\"errors\":1,\"is_known\":true,"
            "\"code\":3,\"why\":\"itself\"}\ntail\n");
    worker_rig_close(&r);
}

static void a_program_that_cannot_start_is_refused(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open(&r);
    worker_rig_connect(&r, "", WELCOME(""));
    r.cannot_start = true;
    worker_rig_take(&r, START);
    worker_rig_check_sent(&r, "{\"type\":\"refused\",\"job\":\"j\",\"message\":\"no program\","
                              "\"why\":\"cannot_start\"}\n");
    worker_rig_check_sent(&r, ""); /* and the job is freed */
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 0);
    worker_rig_close(&r);
}

static void the_reason_of_a_failure_is_cut(void **state)
{
    (void)state;
    worker_rig r;
    arcp__worker_message message;
    static char reason[2000];
    memset(reason, 'x', sizeof reason);
    const arcp__worker_exited exited = {.failed_step = ARCP_SPAN_LITERAL("mount"),
                                        .failure = arcp_span_make(reason, sizeof reason)};
    worker_rig_open_job(&r, START);
    arcp__worker_core_exited(r.core, r.job, &exited, arcp_span_make(NULL, 0));
    assert_true(arcp__worker_core_next(r.core, r.now_ns, &message));
    assert_int_equal(message.exited.failure.size, ARCP__WORKER_REASON_MAX);
    check_span(message.exited.failed_step, "mount");
    worker_rig_close(&r);
}

static void a_refusal_while_the_runtime_is_away_frees_the_job(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open(&r);
    worker_rig_connect(&r, "", WELCOME(""));
    worker_rig_take(&r, START);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    arcp__worker_core_refuse(r.core, r.job, ARCP__WORKER_CANNOT_START, ARCP_SPAN_LITERAL("x"));
    worker_rig_connect(&r, "", WELCOME(""));
    worker_rig_check_sent(&r, "");
    worker_rig_close(&r);
}

static void a_worker_that_drains_takes_no_job(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open(&r);
    worker_rig_connect(&r, "", WELCOME(""));
    worker_rig_take(&r, "{\"type\":\"drain\"}\n");
    worker_rig_take(&r, START);
    worker_rig_check_done(&r, "");
    worker_rig_check_sent(&r, "{\"type\":\"refused\",\"job\":\"j\",\"why\":\"busy\"}\n");
    worker_rig_close(&r);
}

/* Also to a runtime that was started again meanwhile. */
static void a_worker_says_since_when_it_drains(void **state)
{
    (void)state;
    worker_rig r;
    arcp__worker_message hello;
    worker_rig_open(&r);
    worker_rig_connect(&r, "", WELCOME(""));
    worker_rig_take(&r, "{\"type\":\"drain\"}\n");
    r.now_ns += 3 * SEC;
    worker_rig_take(&r, "{\"type\":\"drain\"}\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    arcp__worker_core_connected(r.core, r.now_ns);
    assert_true(arcp__worker_core_next(r.core, r.now_ns, &hello));
    assert_int_equal(hello.hello.drains_ms, 3001);
    worker_rig_close(&r);
}

static void a_worker_has_2048_jobs_at_most(void **state)
{
    (void)state;
    worker_rig r;
    char order[64];
    worker_rig_open(&r);
    worker_rig_connect(&r, "", WELCOME(""));
    for (unsigned i = 0; i < ARCP__WORKER_JOBS_MAX; i++) {
        (void)snprintf(order, sizeof order,
                       "{\"type\":\"start\",\"job\":\"%u\",\"agent\":\"a\"}\n{}", i);
        worker_rig_take(&r, order);
        r.done[0] = '\0';
    }
    assert_int_equal(arcp__worker_core_figures(r.core).programs, ARCP__WORKER_JOBS_MAX);
    worker_rig_take(&r, START);
    worker_rig_check_done(&r, "");
    worker_rig_check_sent(&r, "{\"type\":\"refused\",\"job\":\"j\",\"why\":\"busy\"}\n");
    worker_rig_close(&r);
}

static void a_worker_takes_four_times_its_capacity(void **state)
{
    const arcp__worker_hello hello = {.v_low = 1, .v_high = 1, .capacity = 2};
    worker_rig r;
    char order[64];
    worker_rig_open(&r);
    arcp__worker_core_set_hello(r.core, &hello);
    worker_rig_connect(&r, "", WELCOME(""));
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(order, sizeof order,
                       "{\"type\":\"start\",\"job\":\"%u\",\"agent\":\"a\"}\n{}", i);
        worker_rig_take(&r, order);
        r.done[0] = '\0';
    }
    assert_int_equal(arcp__worker_core_figures(r.core).programs, 8);
    worker_rig_take(&r, START);
    worker_rig_check_sent(&r, "{\"type\":\"refused\",\"job\":\"j\",\"why\":\"busy\"}\n");
    worker_rig_close(&r);
}

/* Whatever its program does then, the runtime has not asked for that. */
static void a_job_whose_worker_is_stopped_counts_as_killed(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    arcp__worker_core_stop(r.core, r.now_ns);
    worker_rig_check_done(&r, "");
    worker_rig_take(&r, "{\"type\":\"start\",\"job\":\"k\",\"agent\":\"a\"}\n{}");
    worker_rig_check_done(&r, "");
    worker_rig_check_sent(&r, "{\"type\":\"refused\",\"job\":\"k\",\"why\":\"busy\"}\n");
    arcp__worker_core_kill_all(r.core);
    worker_rig_check_done(&r, "kill;");
    worker_rig_end_program(&r);
    arcp__worker_core_kill_all(r.core); /* it has ended already */
    worker_rig_check_done(&r, "");
    worker_rig_check_sent(&r, "{\"type\":\"exited\",\"job\":\"j\",\"is_known\":true,\"code\":3,"
                              "\"why\":\"killed\"}\ntail\n");
    worker_rig_close(&r);
}

static void orders_reach_the_program(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    worker_rig_take(&r, "{\"type\":\"pause\",\"job\":\"j\"}\n");
    worker_rig_take(&r, "{\"type\":\"resume\",\"job\":\"j\"}\n");
    worker_rig_take(&r, "{\"type\":\"revoke\",\"job\":\"j\",\"code\":\"LEASE_EXPIRED\"}\n");
    worker_rig_take(&r, "{\"type\":\"kill\",\"job\":\"j\"}\n");
    worker_rig_take(&r, "{\"type\":\"kill\",\"job\":\"j\",\"at_once\":true}\n");
    worker_rig_take(&r, "{\"type\":\"warm\"}\n{}\n");
    worker_rig_check_done(&r, "pause;read;revoke LEASE_EXPIRED;terminate;kill;warm {};");
    worker_rig_take(&r, "{\"type\":\"kill\",\"job\":\"unknown\"}\n");
    worker_rig_check_done(&r, "");
    worker_rig_close(&r);
}

/* What the runtime lists may be any program. */
static void a_worker_with_agents_of_its_own_takes_no_others(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_own(&r);
    worker_rig_connect(&r, "", WELCOME(""));
    assert_int_equal(worker_rig_receive(&r, "{\"type\":\"warm\"}\n{}\n"), ARCP_E_INVALID_REQUEST);
    worker_rig_check_done(&r, "");
    worker_rig_close(&r);
}

static void a_forgotten_program_is_killed_and_its_end_awaited(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    worker_rig_item(&r, "one");
    worker_rig_take(&r, "{\"type\":\"forget\",\"job\":\"j\"}\n");
    worker_rig_check_done(&r, "kill;");
    worker_rig_check_sent(&r, "");
    worker_rig_item(&r, "two");
    assert_int_equal(arcp__worker_core_figures(r.core).unkept_bytes, 0);
    worker_rig_end_program(&r);
    worker_rig_check_done(&r, "forget;");
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 0);
    worker_rig_close(&r);
}

/* ---- limits ---- */

static void output_is_read_while_little_is_kept(void **state)
{
    (void)state;
    worker_rig r;
    char line[900];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    worker_rig_open_job(&r, START);
    worker_rig_item(&r, "a");
    worker_rig_check_done(&r, "");
    worker_rig_item(&r, line); /* more than unkept_bytes */
    worker_rig_check_done(&r, "pause;");
    worker_rig_take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":1}\n");
    worker_rig_check_done(&r, "");
    worker_rig_take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":2}\n");
    worker_rig_check_done(&r, "read;");
    worker_rig_close(&r);
}

static void all_jobs_wait_while_together_they_keep_too_much(void **state)
{
    (void)state;
    worker_rig r;
    char line[900];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    worker_rig_open_job(&r, START);
    arcp__worker_job *first = r.job;
    worker_rig_take(&r, "{\"type\":\"start\",\"job\":\"k\",\"agent\":\"a\"}\n{}");
    worker_rig_check_done(&r, "start {};");
    arcp__worker_core_started(r.core, r.job, 6);
    arcp__worker_core_item(r.core, first, ARCP__WORKER_ITEM_LINE, arcp_span_cstr(line));
    worker_rig_check_done(&r, "pause;"); /* the first */
    worker_rig_item(&r, line);
    worker_rig_check_done(&r, "pause;");
    worker_rig_take(&r, "{\"type\":\"kept\",\"job\":\"k\",\"items\":1}\n");
    worker_rig_check_done(&r, "read;"); /* the second */
    worker_rig_close(&r);
}

static void a_link_that_takes_nothing_stops_the_reading(void **state)
{
    (void)state;
    worker_rig r;
    static char bytes[ARCP__WORKER_UNSENT_MAX];
    memset(bytes, 'x', sizeof bytes);
    worker_rig_open(&r);
    worker_rig_connect(&r, "",
                       "{\"type\":\"welcome\",\"v\":1,\"store\":\"s\",\"keep_ms\":60000,"
                       "\"line_bytes\":1000,\"unkept_bytes\":1000000,"
                       "\"unkept_total_bytes\":1000000}\n");
    worker_rig_take(&r, START);
    worker_rig_check_done(&r, "start {};");
    arcp__worker_core_started(r.core, r.job, 5);
    arcp__worker_core_output(r.core, r.job, arcp_span_make(bytes, sizeof bytes));
    worker_rig_check_done(&r, "pause;");
    arcp__worker_core_disconnected(r.core, r.now_ns); /* there is no link to wait for */
    worker_rig_check_done(&r, "read;");
    worker_rig_close(&r);
}

static void jobs_speak_in_turn(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    arcp__worker_job *first = r.job;
    worker_rig_take(&r, "{\"type\":\"start\",\"job\":\"k\",\"agent\":\"a\"}\n{}");
    arcp__worker_core_started(r.core, r.job, 6);
    for (size_t i = 0; i < 2; i++) {
        arcp__worker_core_item(r.core, first, ARCP__WORKER_ITEM_RECORD, ARCP_SPAN_LITERAL("j"));
        arcp__worker_core_item(r.core, r.job, ARCP__WORKER_ITEM_RECORD, ARCP_SPAN_LITERAL("k"));
    }
    worker_rig_check_sent(
        &r, "{\"type\":\"started\",\"job\":\"k\",\"pid\":6}\n"
            "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":1,\"what\":\"record\"}\nj\n"
            "{\"type\":\"items\",\"job\":\"k\",\"first\":1,\"count\":1,\"what\":\"record\"}\nk\n"
            "{\"type\":\"items\",\"job\":\"j\",\"first\":2,\"count\":1,\"what\":\"record\"}\nj\n"
            "{\"type\":\"items\",\"job\":\"k\",\"first\":2,\"count\":1,\"what\":\"record\"}\nk\n");
    worker_rig_close(&r);
}

static void the_log_keeps_its_end(void **state)
{
    (void)state;
    worker_rig r;
    char line[1000];
    arcp__worker_message message;
    uint64_t bytes = 0, dropped = 0;
    memset(line, 'x', sizeof line);
    worker_rig_open_job(&r, START);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    for (size_t i = 0; i < 300; i++) {
        arcp__worker_core_log(r.core, r.job, arcp_span_make(line, sizeof line));
    }
    worker_rig_connect(&r, ROW("1,\"errors_first\":1"), WELCOME(GO_ON));
    while (arcp__worker_core_next(r.core, r.now_ns, &message)) {
        if (message.kind == ARCP__WORKER_LOG) {
            bytes += message.body.size;
            dropped += message.log.dropped;
        }
    }
    assert_int_equal(bytes + dropped, 300 * 1001);
    assert_in_range(bytes, ARCP__WORKER_LOG_MAX / 2 - 1001, ARCP__WORKER_LOG_MAX);
    assert_true(dropped != 0);
    worker_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_runs_and_is_forgotten),
        cmocka_unit_test(an_exit_comes_after_all_output),
        cmocka_unit_test(a_program_that_cannot_start_is_refused),
        cmocka_unit_test(the_reason_of_a_failure_is_cut),
        cmocka_unit_test(a_refusal_while_the_runtime_is_away_frees_the_job),
        cmocka_unit_test(a_worker_that_drains_takes_no_job),
        cmocka_unit_test(a_worker_says_since_when_it_drains),
        cmocka_unit_test(a_worker_has_2048_jobs_at_most),
        cmocka_unit_test(a_worker_takes_four_times_its_capacity),
        cmocka_unit_test(a_job_whose_worker_is_stopped_counts_as_killed),
        cmocka_unit_test(orders_reach_the_program),
        cmocka_unit_test(a_worker_with_agents_of_its_own_takes_no_others),
        cmocka_unit_test(a_forgotten_program_is_killed_and_its_end_awaited),
        cmocka_unit_test(output_is_read_while_little_is_kept),
        cmocka_unit_test(all_jobs_wait_while_together_they_keep_too_much),
        cmocka_unit_test(a_link_that_takes_nothing_stops_the_reading),
        cmocka_unit_test(jobs_speak_in_turn),
        cmocka_unit_test(the_log_keeps_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
