/* A worker's links: what a new one begins with, and what ends one. */
#include "worker/worker_rig.h"

/* ---- links ---- */

static void a_new_link_begins_with_what_is_kept(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    worker_rig_item(&r, "one");
    worker_rig_item(&r, "two");
    worker_rig_item(&r, "three");
    worker_rig_check_sent(
        &r, "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":3,\"what\":\"lines\"}\n"
            "one\ntwo\nthree\n");
    worker_rig_take(&r,
                    "{\"type\":\"kept\",\"job\":\"j\",\"items\":2,\"stored\":1,\"open\":[1]}\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    worker_rig_item(&r, "four");
    worker_rig_check_sent(&r, "");
    worker_rig_connect(&r, ROW("3,\"items_last\":4,\"stored\":1,\"errors_first\":1"),
                       WELCOME(GO_ON));
    worker_rig_check_sent(
        &r, STARTED
        "{\"type\":\"items\",\"job\":\"j\",\"first\":1,\"count\":1,\"what\":\"lines\"}\none\n"
        "{\"type\":\"items\",\"job\":\"j\",\"first\":3,\"count\":2,\"what\":\"lines\"}\n"
        "three\nfour\n");
    worker_rig_close(&r);
}

static void a_line_with_a_position_is_written_once(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1}\na");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1}\na");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":2}\nb");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\"}\nc");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\"}\nc");
    worker_rig_check_done(&r, "write a;write b;write c;write c;");
    worker_rig_check_sent(&r, "{\"type\":\"got\",\"job\":\"j\",\"at\":2}\n");
    worker_rig_close(&r);
}

static void an_answer_without_a_position_is_written_once_for_its_item(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    worker_rig_item(&r, "one");
    worker_rig_item(&r, "two");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":2}\nb");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":1}\na");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":1}\na");
    worker_rig_take(&r, "{\"type\":\"line\",\"job\":\"j\",\"for\":2}\nb");
    worker_rig_check_done(&r, "write b;write a;");
    worker_rig_take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":2}\n");
    worker_rig_take(
        &r, "{\"type\":\"line\",\"job\":\"j\",\"for\":2}\nb"); /* it was kept, so it has one */
    worker_rig_take(&r,
                    "{\"type\":\"line\",\"job\":\"j\",\"for\":3}\nc"); /* there is no such item */
    worker_rig_check_done(&r, "");
    worker_rig_close(&r);
}

static void jobs_that_are_not_welcome_end(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    worker_rig_connect(&r, ROW("1,\"errors_first\":1"),
                       WELCOME("{\"job\":\"j\",\"what\":\"end\"}\n"));
    worker_rig_check_done(&r, "kill;");
    worker_rig_end_program(&r);
    worker_rig_check_sent(&r,
                          STARTED "{\"type\":\"exited\",\"job\":\"j\",\"is_known\":true,\"code\":3,"
                                  "\"why\":\"killed\"}\ntail\n");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    worker_rig_connect(&r, ROW("1,\"errors_first\":1,\"exited\":true"),
                       WELCOME("{\"job\":\"j\",\"what\":\"forget\"}\n"));
    worker_rig_check_done(&r, "forget;");
    worker_rig_close(&r);
}

static void another_store_hears_nothing_of_a_job(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    worker_rig_item(&r, "one");
    arcp__worker_core_disconnected(r.core, r.now_ns);
    worker_rig_connect(&r, ROW("1,\"items_last\":1,\"errors_first\":1"),
                       "{\"type\":\"welcome\",\"v\":1,\"store\":\"other\",\"keep_ms\":60000,"
                       "\"line_bytes\":1000,\"unkept_bytes\":1000,\"unkept_total_bytes\":1500}\n");
    worker_rig_check_sent(&r, "");
    assert_int_equal(worker_rig_receive(&r, "{\"type\":\"kill\",\"job\":\"j\"}\n"),
                     ARCP_E_INVALID_REQUEST);
    worker_rig_check_done(&r, "");
    worker_rig_close(&r);
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
    worker_rig r;
    if (row->is_greeted) {
        worker_rig_open_job(&r, START);
        worker_rig_item(&r, "one");
        worker_rig_item(&r, "two");
        worker_rig_take(&r, "{\"type\":\"kept\",\"job\":\"j\",\"stored\":1}\n");
    } else {
        worker_rig_open(&r);
        arcp__worker_core_connected(r.core, r.now_ns);
        worker_rig_check_sent(&r, "hello ");
    }
    assert_int_equal(worker_rig_receive(&r, row->text), ARCP_E_INVALID_REQUEST);
    worker_rig_close(&r);
}

static void a_welcome_that_leaves_a_job_out_ends_the_link(void **state)
{
    (void)state;
    worker_rig r;
    worker_rig_open_job(&r, START);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    arcp__worker_core_connected(r.core, r.now_ns);
    worker_rig_check_sent(&r, "hello " ROW("1,\"errors_first\":1"));
    assert_int_equal(worker_rig_receive(&r, WELCOME("")), ARCP_E_INVALID_REQUEST);
    arcp__worker_core_disconnected(r.core, r.now_ns);
    worker_rig_connect(&r, ROW("1,\"errors_first\":1"), WELCOME(GO_ON));
    worker_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_link_begins_with_what_is_kept),
        cmocka_unit_test(a_line_with_a_position_is_written_once),
        cmocka_unit_test(an_answer_without_a_position_is_written_once_for_its_item),
        cmocka_unit_test(jobs_that_are_not_welcome_end),
        cmocka_unit_test(another_store_hears_nothing_of_a_job),
        cmocka_unit_test(a_welcome_that_leaves_a_job_out_ends_the_link),
    };
    const int failed = run_rows(refusals, sizeof refusals / sizeof refusals[0], sizeof refusals[0],
                                what_cannot_be_ends_the_link);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
