/* A worker without I/O: what it sends, what it does to programs, and when it kills them. */
#include "support/check.h"

#include <stdarg.h>

#include <arcp/time.h>

#include "worker/worker_core.h"

#define SEC ARCP_NS_PER_SEC

typedef struct rig {
    arcp__worker_core *core;
    int64_t now_ns;
    arcp__worker_job *job; /* of the last start */
    bool cannot_start;
    char done[1000]; /* the calls about programs */
} rig;

static void note(rig *r, const char *what, arcp_span text)
{
    const size_t used = strlen(r->done);
    (void)snprintf(r->done + used, sizeof r->done - used, "%s%.*s;", what, (int)text.size,
                   text.size == 0 ? "" : text.data);
}

static void *start(void *user, arcp__worker_job *job, const arcp__worker_message *order,
                   char message[256])
{
    rig *r = user;
    r->job = job;
    note(r, "start ", order->body);
    if (r->cannot_start) {
        (void)snprintf(message, 256, "no program");
        return NULL;
    }
    return r;
}

static void write_line(void *user, void *program, arcp_span line)
{
    (void)program;
    note(user, "write ", line);
}

static void kill_program(void *user, void *program, bool at_once)
{
    (void)program;
    note(user, at_once ? "kill" : "terminate", arcp_span_make(NULL, 0));
}

static void read_program(void *user, void *program, bool reads)
{
    (void)program;
    note(user, reads ? "read" : "pause", arcp_span_make(NULL, 0));
}

static void revoke(void *user, void *program, arcp_span code)
{
    (void)program;
    note(user, "revoke ", code);
}

static void warm(void *user, arcp_span rows)
{
    note(user, "warm ", arcp_span_first(rows, rows.size - 1));
}

static void forget(void *user, void *program)
{
    (void)program;
    note(user, "forget", arcp_span_make(NULL, 0));
}

static void check_done(rig *r, const char *done)
{
    assert_string_equal(r->done, done);
    r->done[0] = '\0';
}

/* Takes all messages of the core; compares their heads, and short bodies. */
static void check_sent(rig *r, const char *sent)
{
    arcp__worker_message message;
    arcp_buf out = arcp_buf_init();
    while (arcp__worker_core_next(r->core, r->now_ns, &message)) {
        if (message.kind != ARCP__WORKER_HELLO) {
            arcp__worker_message_write(&message, &out);
            if (message.body.size != 0 && message.body.data[message.body.size - 1] != '\n') {
                arcp_buf_append_byte(&out, '\n');
            }
        } else {
            arcp_buf_append_cstr(&out, "hello ");
            arcp_buf_append(&out, message.body);
        }
    }
    check_span(arcp_buf_span(&out), sent);
    arcp_buf_fini(&out);
}

static arcp_status receive(rig *r, const char *text)
{
    arcp__worker_reader reader = {.line_bytes_max = 1000};
    arcp__worker_message message;
    arcp_error err = {0};
    arcp_status status = arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_RUNTIME,
                                                   arcp_span_cstr(text), &message, &err);
    check_ok(status, &err);
    status = arcp__worker_core_receive(r->core, r->now_ns, &message, &err);
    arcp__worker_reader_fini(&reader);
    return status;
}

static void take(rig *r, const char *text)
{
    assert_int_equal(receive(r, text), ARCP_OK);
}

#define WELCOME(rows)                                                                              \
    "{\"type\":\"welcome\",\"v\":1,\"store\":\"s\",\"keep_ms\":60000,\"line_bytes\":1000,"         \
    "\"unkept_bytes\":1000,\"unkept_total_bytes\":1500}\n" rows
#define START        "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\"}\n{}"
#define START_IN(ms) "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\",\"deadline_ms\":" ms "}\n{}"
#define STARTED      "{\"type\":\"started\",\"job\":\"j\",\"pid\":5}\n"
#define ROW(more)    "{\"job\":\"j\",\"store\":\"s\",\"items_first\":" more "}\n"
#define GO_ON        "{\"job\":\"j\",\"what\":\"go_on\"}\n"

static void set_up(rig *r)
{
    const arcp__worker_hello hello = {.v_low = 1,
                                      .v_high = 1,
                                      .version = ARCP_SPAN_LITERAL("1"),
                                      .name = ARCP_SPAN_LITERAL("w"),
                                      .instance = ARCP_SPAN_LITERAL("i"),
                                      .boot_id = ARCP_SPAN_LITERAL("b")};
    const arcp__worker_programs programs = {start,  write_line, kill_program, read_program,
                                            revoke, warm,       forget,       r};
    *r = (rig){.now_ns = 100 * SEC};
    r->core = arcp__worker_core_new(&hello, &programs, r->now_ns);
    assert_non_null(r->core);
}

static void connect_again(rig *r, const char *rows, const char *welcome)
{
    char hello[600];
    (void)snprintf(hello, sizeof hello, "hello %s", rows);
    arcp__worker_core_connected(r->core, r->now_ns);
    check_sent(r, hello);
    take(r, welcome);
}

/* A link, and a job whose program runs. */
static void set_up_job(rig *r, const char *order)
{
    set_up(r);
    connect_again(r, "", WELCOME(""));
    take(r, order);
    check_done(r, "start {};");
    arcp__worker_core_started(r->core, r->job, 5);
    check_sent(r, STARTED);
}

static void tear_down(rig *r)
{
    arcp__worker_core_free(r->core);
}

static void item(rig *r, const char *text)
{
    arcp__worker_core_item(r->core, r->job, ARCP__WORKER_ITEM_LINE, arcp_span_cstr(text));
}

static void end_program(rig *r)
{
    const arcp__worker_exited exited = {.is_known = true, .code = 3};
    arcp__worker_core_exited(r->core, r->job, &exited, ARCP_SPAN_LITERAL("tail"));
}

/* ---- a job ---- */

static void a_job_runs_and_is_forgotten(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    item(&r, "one");
    item(&r, "two");
    check_sent(&r, "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":2,\"what\":\"lines\"}\n"
                   "one\ntwo\n");
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1,\"for\":2}\nyes");
    check_done(&r, "write yes;");
    check_sent(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n");
    end_program(&r);
    check_sent(&r, "{\"type\":\"exited\",\"job\":\"j\",\"items\":2,\"is_known\":true,\"code\":3,"
                   "\"why\":\"itself\"}\ntail\n");
    take(&r, "{\"type\":\"forget\",\"job\":\"j\"}\n");
    check_done(&r, "forget;");
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 0);
    tear_down(&r);
}

static void an_exit_comes_after_all_output(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    arcp__worker_core_output(r.core, r.job, ARCP_SPAN_LITERAL("bytes"));
    arcp__worker_core_error_line(r.core, r.job, ARCP_SPAN_LITERAL("line"));
    arcp__worker_core_log(r.core, r.job, ARCP_SPAN_LITERAL("log"));
    end_program(&r);
    check_sent(&r, "{\"type\":\"output\",\"job\":\"j\"}\nbytes\n"
                   "{\"type\":\"errors\",\"job\":\"j\",\"first\":1,\"count\":1}\nline\n"
                   "{\"type\":\"log\",\"job\":\"j\"}\nlog\n"
                   "{\"type\":\"exited\",\"job\":\"j\",\"bytes\":5,\"errors\":1,\"is_known\":true,"
                   "\"code\":3,\"why\":\"itself\"}\ntail\n");
    tear_down(&r);
}

static void a_program_that_cannot_start_is_refused(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    connect_again(&r, "", WELCOME(""));
    r.cannot_start = true;
    take(&r, START);
    check_sent(&r, "{\"type\":\"refused\",\"job\":\"j\",\"message\":\"no program\","
                   "\"why\":\"cannot_start\"}\n");
    check_sent(&r, ""); /* and the job is freed */
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 0);
    tear_down(&r);
}

static void the_reason_of_a_failure_is_cut(void **state)
{
    (void)state;
    rig r;
    arcp__worker_message message;
    static char reason[2000];
    memset(reason, 'x', sizeof reason);
    const arcp__worker_exited exited = {.failed_step = ARCP_SPAN_LITERAL("mount"),
                                        .failure = arcp_span_make(reason, sizeof reason)};
    set_up_job(&r, START);
    arcp__worker_core_exited(r.core, r.job, &exited, arcp_span_make(NULL, 0));
    assert_true(arcp__worker_core_next(r.core, r.now_ns, &message));
    assert_int_equal(message.exited.failure.size, ARCP__WORKER_REASON_MAX);
    check_span(message.exited.failed_step, "mount");
    tear_down(&r);
}

static void a_refusal_while_the_runtime_is_away_frees_the_job(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    connect_again(&r, "", WELCOME(""));
    take(&r, START);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    arcp__worker_core_refuse(r.core, r.job, ARCP__WORKER_CANNOT_START, ARCP_SPAN_LITERAL("x"));
    connect_again(&r, "", WELCOME(""));
    check_sent(&r, "");
    tear_down(&r);
}

static void a_worker_that_drains_takes_no_job(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    connect_again(&r, "", WELCOME(""));
    take(&r, "{\"type\":\"drain\"}\n");
    take(&r, START);
    check_done(&r, "");
    check_sent(&r, "{\"type\":\"refused\",\"job\":\"j\",\"why\":\"busy\"}\n");
    tear_down(&r);
}

static void orders_reach_the_program(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    take(&r, "{\"type\":\"pause\",\"job\":\"j\"}\n");
    take(&r, "{\"type\":\"resume\",\"job\":\"j\"}\n");
    take(&r, "{\"type\":\"revoke\",\"job\":\"j\",\"code\":\"LEASE_EXPIRED\"}\n");
    take(&r, "{\"type\":\"kill\",\"job\":\"j\"}\n");
    take(&r, "{\"type\":\"kill\",\"job\":\"j\",\"at_once\":true}\n");
    take(&r, "{\"type\":\"warm\"}\n{}\n");
    check_done(&r, "pause;read;revoke LEASE_EXPIRED;terminate;kill;warm {};");
    take(&r, "{\"type\":\"kill\",\"job\":\"unknown\"}\n");
    check_done(&r, "");
    tear_down(&r);
}

static void a_forgotten_program_is_killed_and_its_end_awaited(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    item(&r, "one");
    take(&r, "{\"type\":\"forget\",\"job\":\"j\"}\n");
    check_done(&r, "kill;");
    check_sent(&r, "");
    item(&r, "two");
    assert_int_equal(arcp__worker_core_figures(r.core).unkept_bytes, 0);
    end_program(&r);
    check_done(&r, "forget;");
    assert_int_equal(arcp__worker_core_figures(r.core).jobs, 0);
    tear_down(&r);
}

/* ---- links ---- */

static void a_new_link_begins_with_what_is_kept(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    item(&r, "one");
    item(&r, "two");
    item(&r, "three");
    check_sent(&r, "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":3,\"what\":\"lines\"}\n"
                   "one\ntwo\nthree\n");
    take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":2,\"stored\":1,\"open\":[1]}\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    item(&r, "four");
    check_sent(&r, "");
    connect_again(&r, ROW("3,\"items_last\":4,\"stored\":1,\"errors_first\":1"), WELCOME(GO_ON));
    check_sent(
        &r, STARTED
        "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":1,\"what\":\"lines\"}\none\n"
        "{\"type\":\"items\",\"job\":\"j\",\"first\":3,\"count\":2,\"what\":\"lines\"}\n"
        "three\nfour\n");
    tear_down(&r);
}

static void a_line_with_a_position_is_written_once(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1}\na");
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1}\na");
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":2}\nb");
    take(&r, "{\"type\":\"line\",\"job\":\"j\"}\nc");
    take(&r, "{\"type\":\"line\",\"job\":\"j\"}\nc");
    check_done(&r, "write a;write b;write c;write c;");
    check_sent(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":2}\n");
    tear_down(&r);
}

static void an_answer_without_a_position_is_written_once_for_its_item(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    item(&r, "one");
    item(&r, "two");
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":2}\nb");
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":1}\na");
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":1}\na");
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":2}\nb");
    check_done(&r, "write b;write a;");
    take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":2}\n");
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":2}\nb"); /* it was kept, so it has one */
    take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":3}\nc"); /* there is no such item */
    check_done(&r, "");
    tear_down(&r);
}

static void jobs_that_are_not_welcome_end(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    connect_again(&r, ROW("1,\"errors_first\":1"), WELCOME("{\"job\":\"j\",\"what\":\"end\"}\n"));
    check_done(&r, "kill;");
    end_program(&r);
    check_sent(&r, STARTED "{\"type\":\"exited\",\"job\":\"j\",\"is_known\":true,\"code\":3,"
                           "\"why\":\"killed\"}\ntail\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    connect_again(&r, ROW("1,\"errors_first\":1,\"exited\":true"),
                  WELCOME("{\"job\":\"j\",\"what\":\"forget\"}\n"));
    check_done(&r, "forget;");
    tear_down(&r);
}

static void another_store_hears_nothing_of_a_job(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    item(&r, "one");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    connect_again(&r, ROW("1,\"items_last\":1,\"errors_first\":1"),
                  "{\"type\":\"welcome\",\"v\":1,\"store\":\"other\",\"keep_ms\":60000,"
                  "\"line_bytes\":1000,\"unkept_bytes\":1000,\"unkept_total_bytes\":1500}\n");
    check_sent(&r, "");
    assert_int_equal(receive(&r, "{\"type\":\"kill\",\"job\":\"j\"}\n"), ARCP_E_INVALID_REQUEST);
    check_done(&r, "");
    tear_down(&r);
}

/* ---- limits ---- */

static void output_is_read_while_little_is_kept(void **state)
{
    (void)state;
    rig r;
    char line[900];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    set_up_job(&r, START);
    item(&r, "a");
    check_done(&r, "");
    item(&r, line); /* more than unkept_bytes */
    check_done(&r, "pause;");
    take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":1}\n");
    check_done(&r, "");
    take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":2}\n");
    check_done(&r, "read;");
    tear_down(&r);
}

static void all_jobs_wait_while_together_they_keep_too_much(void **state)
{
    (void)state;
    rig r;
    char line[900];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    set_up_job(&r, START);
    arcp__worker_job *first = r.job;
    take(&r, "{\"type\":\"start\",\"job\":\"k\",\"agent\":\"a\"}\n{}");
    check_done(&r, "start {};");
    arcp__worker_core_started(r.core, r.job, 6);
    arcp__worker_core_item(r.core, first, ARCP__WORKER_ITEM_LINE, arcp_span_cstr(line));
    check_done(&r, "pause;"); /* the first */
    item(&r, line);
    check_done(&r, "pause;");
    take(&r, "{\"type\":\"kept\",\"job\":\"k\",\"items\":1}\n");
    check_done(&r, "read;"); /* the second */
    tear_down(&r);
}

static void a_link_that_takes_nothing_stops_the_reading(void **state)
{
    (void)state;
    rig r;
    static char bytes[ARCP__WORKER_UNSENT_MAX];
    memset(bytes, 'x', sizeof bytes);
    set_up(&r);
    connect_again(&r, "",
                  "{\"type\":\"welcome\",\"v\":1,\"store\":\"s\",\"keep_ms\":60000,"
                  "\"line_bytes\":1000,\"unkept_bytes\":1000000,"
                  "\"unkept_total_bytes\":1000000}\n");
    take(&r, START);
    check_done(&r, "start {};");
    arcp__worker_core_started(r.core, r.job, 5);
    arcp__worker_core_output(r.core, r.job, arcp_span_make(bytes, sizeof bytes));
    check_done(&r, "pause;");
    arcp__worker_core_disconnected(r.core, r.now_ns); /* there is no link to wait for */
    check_done(&r, "read;");
    tear_down(&r);
}

static void jobs_speak_in_turn(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    arcp__worker_job *first = r.job;
    take(&r, "{\"type\":\"start\",\"job\":\"k\",\"agent\":\"a\"}\n{}");
    arcp__worker_core_started(r.core, r.job, 6);
    for (size_t i = 0; i < 2; i++) {
        arcp__worker_core_item(r.core, first, ARCP__WORKER_ITEM_RECORD, ARCP_SPAN_LITERAL("j"));
        arcp__worker_core_item(r.core, r.job, ARCP__WORKER_ITEM_RECORD, ARCP_SPAN_LITERAL("k"));
    }
    check_sent(
        &r, "{\"type\":\"started\",\"job\":\"k\",\"pid\":6}\n"
            "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":1,\"what\":\"record\"}\nj\n"
            "{\"type\":\"items\",\"job\":\"k\",\"first\":1,\"count\":1,\"what\":\"record\"}\nk\n"
            "{\"type\":\"items\",\"job\":\"j\",\"first\":2,\"count\":1,\"what\":\"record\"}\nj\n"
            "{\"type\":\"items\",\"job\":\"k\",\"first\":2,\"count\":1,\"what\":\"record\"}\nk\n");
    tear_down(&r);
}

static void the_log_keeps_its_end(void **state)
{
    (void)state;
    rig r;
    char line[1000];
    arcp__worker_message message;
    uint64_t bytes = 0, dropped = 0;
    memset(line, 'x', sizeof line);
    set_up_job(&r, START);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    for (size_t i = 0; i < 300; i++) {
        arcp__worker_core_log(r.core, r.job, arcp_span_make(line, sizeof line));
    }
    connect_again(&r, ROW("1,\"errors_first\":1"), WELCOME(GO_ON));
    while (arcp__worker_core_next(r.core, r.now_ns, &message)) {
        if (message.kind == ARCP__WORKER_LOG) {
            bytes += message.body.size;
            dropped += message.log.dropped;
        }
    }
    assert_int_equal(bytes + dropped, 300 * 1001);
    assert_in_range(bytes, ARCP__WORKER_LOG_MAX / 2 - 1001, ARCP__WORKER_LOG_MAX);
    assert_true(dropped != 0);
    tear_down(&r);
}

/* ---- time ---- */

static void pings_are_sent_and_answered(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    connect_again(&r, "", WELCOME(""));
    r.now_ns += 5 * SEC - 1;
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    check_sent(&r, "");
    r.now_ns += 1;
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    check_sent(&r, "{\"type\":\"ping\",\"number\":2}\n");
    take(&r, "{\"type\":\"ping\",\"number\":9}\n");
    check_sent(&r, "{\"type\":\"pong\",\"number\":9}\n");
    assert_int_equal(receive(&r, "{\"type\":\"pong\",\"number\":3}\n"), ARCP_E_INVALID_REQUEST);
    tear_down(&r);
}

static void a_silent_runtime_is_left(void **state)
{
    (void)state;
    rig r;
    set_up(&r);
    connect_again(&r, "", WELCOME(""));
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 15 * SEC - 1));
    assert_false(arcp__worker_core_tick(r.core, r.now_ns + 15 * SEC));
    tear_down(&r);
}

static void jobs_end_when_the_worker_is_alone_for_too_long(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    r.now_ns += 5 * SEC;
    assert_true(arcp__worker_core_tick(r.core, r.now_ns));
    check_sent(&r, "{\"type\":\"ping\",\"number\":2}\n");
    const int64_t sent_ns = r.now_ns;
    r.now_ns += 3 * SEC; /* the answer comes later, and does not count from then */
    take(&r, "{\"type\":\"pong\",\"number\":2}\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    assert_true(arcp__worker_core_tick(r.core, sent_ns + 60 * SEC - 1));
    check_done(&r, "");
    assert_true(arcp__worker_core_tick(r.core, sent_ns + 60 * SEC));
    check_done(&r, "kill;");
    assert_true(arcp__worker_core_tick(r.core, sent_ns + 70 * SEC));
    check_done(&r, "");
    end_program(&r);
    connect_again(&r, ROW("1,\"errors_first\":1,\"exited\":true"), WELCOME(GO_ON));
    check_sent(&r, STARTED "{\"type\":\"exited\",\"job\":\"j\",\"is_known\":true,\"code\":3,"
                           "\"why\":\"alone\"}\ntail\n");
    tear_down(&r);
}

static void a_job_is_killed_at_its_deadline_while_the_runtime_is_away(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START_IN("4000"));
    arcp__worker_core_disconnected(r.core, r.now_ns);
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 4 * SEC - 1));
    check_done(&r, "");
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 4 * SEC));
    check_done(&r, "kill;");
    tear_down(&r);
}

static void a_program_that_was_only_terminated_is_killed_at_the_deadline(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START_IN("4000"));
    take(&r, "{\"type\":\"kill\",\"job\":\"j\"}\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 4 * SEC));
    check_done(&r, "terminate;kill;");
    tear_down(&r);
}

static void the_runtime_has_two_seconds_for_its_own_word_at_a_deadline(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START_IN("4000"));
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 6 * SEC - 1));
    check_done(&r, "");
    assert_true(arcp__worker_core_tick(r.core, r.now_ns + 6 * SEC));
    check_done(&r, "kill;");
    tear_down(&r);
}

/* ---- what ends the link ---- */

#define TEN "0123456789"

typedef struct refusal_row {
    const char *name;
    const char *text;
    bool is_greeted;
} refusal_row;

static const refusal_row refusals[] = {
    {"a message before welcome", "{\"type\":\"drain\"}\n", false},
    {"a version that the worker does not speak",
     "{\"type\":\"welcome\",\"v\":2,\"store\":\"s\",\"keep_ms\":60000,\"line_bytes\":1000,"
     "\"unkept_bytes\":1000,\"unkept_total_bytes\":1500}\n",
     false},
    {"a job that hello did not name", WELCOME(GO_ON), false},
    {"a second welcome", WELCOME(""), true},
    {"a start of a job that is there", START, true},
    {"a start of a job whose id has a NUL",
     "{\"type\":\"start\",\"job\":\"k\\u0000\",\"agent\":\"a\"}\n{}", true},
    {"a start of a job whose id is too long",
     "{\"type\":\"start\",\"job\":\"" TEN TEN TEN TEN TEN TEN "1234\",\"agent\":\"a\"}\n{}", true},
    {"items that there were not", "{\"type\":\"kept\",\"job\":\"j\",\"items\":3}\n", true},
    {"bytes that there were not", "{\"type\":\"kept\",\"job\":\"j\",\"bytes\":1}\n", true},
    {"lines that there were not", "{\"type\":\"kept\",\"job\":\"j\",\"errors\":1}\n", true},
    {"more stored than there was", "{\"type\":\"kept\",\"job\":\"j\",\"stored\":3}\n", true},
    {"stored that goes back", "{\"type\":\"kept\",\"job\":\"j\"}\n", true},
};

static void what_cannot_be_ends_the_link(void **state)
{
    const refusal_row *row = *state;
    rig r;
    if (row->is_greeted) {
        set_up_job(&r, START);
        item(&r, "one");
        item(&r, "two");
        take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"stored\":1}\n");
    } else {
        set_up(&r);
        arcp__worker_core_connected(r.core, r.now_ns);
        check_sent(&r, "hello ");
    }
    assert_int_equal(receive(&r, row->text), ARCP_E_INVALID_REQUEST);
    tear_down(&r);
}

static void a_welcome_that_leaves_a_job_out_ends_the_link(void **state)
{
    (void)state;
    rig r;
    set_up_job(&r, START);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    arcp__worker_core_connected(r.core, r.now_ns);
    check_sent(&r, "hello " ROW("1,\"errors_first\":1"));
    assert_int_equal(receive(&r, WELCOME("")), ARCP_E_INVALID_REQUEST);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    connect_again(&r, ROW("1,\"errors_first\":1"), WELCOME(GO_ON));
    tear_down(&r);
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
        cmocka_unit_test(orders_reach_the_program),
        cmocka_unit_test(a_forgotten_program_is_killed_and_its_end_awaited),
        cmocka_unit_test(a_new_link_begins_with_what_is_kept),
        cmocka_unit_test(a_line_with_a_position_is_written_once),
        cmocka_unit_test(an_answer_without_a_position_is_written_once_for_its_item),
        cmocka_unit_test(jobs_that_are_not_welcome_end),
        cmocka_unit_test(another_store_hears_nothing_of_a_job),
        cmocka_unit_test(output_is_read_while_little_is_kept),
        cmocka_unit_test(all_jobs_wait_while_together_they_keep_too_much),
        cmocka_unit_test(a_link_that_takes_nothing_stops_the_reading),
        cmocka_unit_test(jobs_speak_in_turn),
        cmocka_unit_test(the_log_keeps_its_end),
        cmocka_unit_test(pings_are_sent_and_answered),
        cmocka_unit_test(a_silent_runtime_is_left),
        cmocka_unit_test(jobs_end_when_the_worker_is_alone_for_too_long),
        cmocka_unit_test(a_job_is_killed_at_its_deadline_while_the_runtime_is_away),
        cmocka_unit_test(a_program_that_was_only_terminated_is_killed_at_the_deadline),
        cmocka_unit_test(the_runtime_has_two_seconds_for_its_own_word_at_a_deadline),
        cmocka_unit_test(a_welcome_that_leaves_a_job_out_ends_the_link),
    };
    const int failed = run_rows(refusals, sizeof refusals / sizeof refusals[0], sizeof refusals[0],
                                what_cannot_be_ends_the_link);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
