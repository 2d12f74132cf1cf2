/* arcp-worker with real programs, against a scripted runtime: jobs, and links that end. */
#include "support/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/process_support.h"
#include "worker/runtime_end.h"

/* ---- one job ---- */

static void a_program_gets_its_input_and_its_lines_come_with_numbers(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open(&r);
    runtime_end_listen(&r);
    const pid_t worker = runtime_end_spawn_with_store(&r);
    runtime_end_accept(&r);
    const arcp__worker_hello *hello = &r.message.hello;
    assert_int_equal(hello->pid, worker);
    assert_int_equal(hello->v_low, 1);
    check_span(hello->name, "local");
    assert_int_equal(hello->instance.size, 32);
    assert_true(hello->boot_id.size != 0);
    assert_true(hello->program.size != 0);
    assert_int_equal(hello->drains_ms, 0);
    assert_memory_equal(hello->work.data, r.state, strlen(r.state));
    assert_int_equal(r.message.body.size, 0);
    runtime_end_welcome(&r, KEEP_MS, GRACE_MS, "");
    runtime_end_start(&r, "j", false, "read line; echo \"$line\"; echo two; echo no >&2; exit 7");
    const arcp__worker_started *started = &runtime_end_next(&r, ARCP__WORKER_STARTED)->started;
    check_span(started->job, "j");
    assert_true(started->pid != 0);
    runtime_end_lines(&r, 1, "{\"type\":\"job.start\",\"payload\":{\"input\":\"in\"}}\ntwo\n");
    const arcp__worker_message *end = runtime_end_next(&r, ARCP__WORKER_EXITED);
    assert_int_equal(end->exited.items, 2);
    assert_int_equal(end->exited.code, 7);
    assert_false(end->exited.by_signal);
    assert_int_equal(end->exited.why, ARCP__WORKER_END_ITSELF);
    check_span(end->body, "no\n");
    runtime_end_close(&r);
}

static void output_of_a_plain_program_is_counted_in_bytes(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_start(&r, "j", true, "cat; echo one >&2; echo two >&2");
    runtime_end_next(&r, ARCP__WORKER_STARTED);
    const arcp__worker_message *output = runtime_end_next(&r, ARCP__WORKER_OUTPUT);
    assert_int_equal(output->output.first, 0);
    check_span(output->body, "in");
    uint64_t lines = 0;
    while (lines < 2) {
        const arcp__worker_errors *errors = &runtime_end_next(&r, ARCP__WORKER_ERRORS)->errors;
        assert_int_equal(errors->first, lines + 1);
        lines += errors->count;
    }
    const arcp__worker_exited *exited = &runtime_end_next(&r, ARCP__WORKER_EXITED)->exited;
    assert_int_equal(exited->bytes, 2);
    assert_int_equal(exited->errors, 2);
    runtime_end_close(&r);
}

static void a_line_that_is_too_long_is_an_item_without_text(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open_job(&r, GRACE_MS, "printf '%5000s\\n' x");
    const arcp__worker_message *items = runtime_end_next(&r, ARCP__WORKER_ITEMS);
    assert_int_equal(items->items.what, ARCP__WORKER_ITEM_TOO_LONG);
    assert_int_equal(items->body.size, 0);
    runtime_end_close(&r);
}

static void a_program_that_cannot_be_started_is_refused(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open_linked(&r, KEEP_MS, GRACE_MS);
    runtime_end_send(&r, "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\",\"row\":{\"agent\":"
                         "{\"command\":[\"/nonexistent\"]},\"host\":{\"line_bytes\":10},"
                         "\"job\":{\"env\":[]}}}\n{}");
    const arcp__worker_refused *refused = &runtime_end_next(&r, ARCP__WORKER_REFUSED)->refused;
    assert_int_equal(refused->why, ARCP__WORKER_CANNOT_START);
    assert_non_null(memmem(refused->message.data, refused->message.size, "/nonexistent", 12));
    runtime_end_send(&r, "{\"type\":\"start\",\"job\":\"k\",\"agent\":\"a\"}\n{}");
    refused = &runtime_end_next(&r, ARCP__WORKER_REFUSED)->refused;
    check_span(refused->job, "k");
    runtime_end_send(&r, "{\"type\":\"start\",\"job\":\"l\",\"agent\":\"a\",\"row\":{\"agent\":"
                         "{\"command\":[\"/bin/true\"]},\"host\":{\"line_bytes\":10}}}\n{}");
    refused = &runtime_end_next(&r, ARCP__WORKER_REFUSED)->refused;
    check_span(refused->message, "row.job is missing");
    runtime_end_close(&r);
}

static void a_program_is_ended_before_the_worker_when_memory_runs_out(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open_job(
        &r, GRACE_MS,
        "echo $(($(cat /proc/self/oom_score_adj) - $(cat /proc/$PPID/oom_score_adj)))");
    runtime_end_lines(&r, 1, "300\n");
    runtime_end_close(&r);
}

static void a_job_that_is_forgotten_ends_with_its_program(void **state)
{
    runtime_end r;
    (void)state;
    const pid_t pid = runtime_end_open_job(&r, GRACE_MS, "exec sleep 1000");
    runtime_end_forget(&r, "j");
    wait_for_end(pid);
    runtime_end_close(&r);
}

/* ---- links that end ---- */

/* The program writes a line for each that it gets, so that the test knows what was written when. */
static void each_line_comes_once_over_links_that_are_cut(void **state)
{
    runtime_end r;
    (void)state;
    runtime_end_open_job(&r, GRACE_MS,
                         "read start; while read line; do echo \"$line\"; done; echo end");
    runtime_end_send(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1}\none");
    runtime_end_next(&r, ARCP__WORKER_GOT);
    assert_int_equal(runtime_end_lines(&r, 1, "one\n"), 1);

    runtime_end_accept(&r); /* cuts the link; the item was not kept */
    arcp__worker_job_row row = runtime_end_row(&r);
    check_span(row.job, "j");
    assert_int_equal(row.items_first, 1);
    assert_int_equal(row.items_last, 1);
    assert_int_equal(row.at, 1);
    runtime_end_go_on(&r, "j");
    runtime_end_lines(&r, 1, "one\n");
    runtime_end_send(&r, "{\"type\":\"kept\",\"job\":\"j\",\"items\":1,\"stored\":1}\n");
    runtime_end_send(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":1}\none"); /* it has that */
    runtime_end_send(&r, "{\"type\":\"line\",\"job\":\"j\",\"at\":2}\ntwo");
    runtime_end_next(&r, ARCP__WORKER_GOT);
    assert_int_equal(runtime_end_lines(&r, 2, "two\n"), 2);

    runtime_end_leave(&r); /* the runtime is away, and comes back */
    runtime_end_listen(&r);
    runtime_end_accept(&r);
    row = runtime_end_row(&r);
    assert_int_equal(row.items_first, 2);
    assert_int_equal(row.stored, 1);
    runtime_end_go_on(&r, "j");
    runtime_end_lines(&r, 2, "two\n");
    runtime_end_close(&r);
}

static void a_program_goes_on_while_the_runtime_is_away(void **state)
{
    runtime_end r;
    char fifo[128];
    (void)state;
    runtime_end_open_linked(&r, KEEP_MS, GRACE_MS);
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", r.state);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    runtime_end_run(&r, "j", "read start; echo one; read line <../fifo; echo \"$line\"");
    runtime_end_lines(&r, 1, "one\n");
    runtime_end_leave(&r);
    const int fd = open(fifo, O_WRONLY | O_CLOEXEC); /* the program has opened it, too */
    assert_int_equal(write(fd, "alone\n", 6), 6);
    (void)close(fd);
    runtime_end_listen(&r);
    arcp__worker_job_row row;
    do { /* until its end was seen */
        runtime_end_accept(&r);
        row = runtime_end_row(&r);
    } while (!row.has_exited);
    assert_int_equal(row.items_last, 2);
    runtime_end_go_on(&r, "j");
    runtime_end_lines(&r, 1, "one\nalone\n");
    runtime_end_next(&r, ARCP__WORKER_EXITED);
    runtime_end_forget(&r, "j");
    runtime_end_send(&r, "{\"type\":\"ping\",\"number\":1}\n");
    runtime_end_next(&r, ARCP__WORKER_PONG);
    runtime_end_accept(&r);
    assert_int_equal(r.message.body.size, 0);
    runtime_end_close(&r);
}

typedef struct hostile_row {
    const char *name;
    const char *bytes, *message; /* one of them */
} hostile_row;

#define LONG_ID "0123456789012345678901234567890123456789012345678901234567890123"

static const hostile_row hostile_rows[] = {
    {"a size that no message has", "\xff\xff\xff\xff", NULL},
    {"no JSON", NULL, "???\n"},
    {"a message of a worker", NULL, "{\"type\":\"got\",\"job\":\"j\",\"at\":1}\n"},
    {"a second welcome", NULL,
     "{\"type\":\"welcome\",\"v\":1,\"store\":\"x\",\"keep_ms\":1,\"line_bytes\":1,"
     "\"unkept_bytes\":1,\"unkept_total_bytes\":1}\n"},
    {"an answer to a ping that was not sent", NULL, "{\"type\":\"pong\",\"number\":1000000}\n"},
    {"a job that it has already", NULL, "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\"}\n{}"},
    {"an id that is too long for a job", NULL,
     "{\"type\":\"start\",\"job\":\"" LONG_ID "\",\"agent\":\"a\"}\n{}"},
    {"a number that there is not", NULL, "{\"type\":\"kept\",\"job\":\"j\",\"items\":1000}\n"},
};

/* The link ends, and nothing else: the worker connects again, and its job has gone on. */
static void what_does_not_conform_ends_the_link_alone(void **state)
{
    const hostile_row *row = *state;
    runtime_end r;
    runtime_end_open_job(&r, GRACE_MS, "read start; read line; echo \"$line\"; exec sleep 1000");
    if (row->bytes != NULL) {
        runtime_end_send_bytes(&r, arcp_span_cstr(row->bytes));
    } else {
        runtime_end_send(&r, "%s", row->message);
    }
    runtime_end_await_cut(&r);
    runtime_end_accept(&r);
    check_span(runtime_end_row(&r).job, "j");
    runtime_end_go_on(&r, "j");
    runtime_end_send(&r, "{\"type\":\"line\",\"job\":\"j\"}\nmore");
    runtime_end_lines(&r, 1, "more\n");
    runtime_end_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_gets_its_input_and_its_lines_come_with_numbers),
        cmocka_unit_test(output_of_a_plain_program_is_counted_in_bytes),
        cmocka_unit_test(a_line_that_is_too_long_is_an_item_without_text),
        cmocka_unit_test(a_program_that_cannot_be_started_is_refused),
        cmocka_unit_test(a_program_is_ended_before_the_worker_when_memory_runs_out),
        cmocka_unit_test(a_job_that_is_forgotten_ends_with_its_program),
        cmocka_unit_test(each_line_comes_once_over_links_that_are_cut),
        cmocka_unit_test(a_program_goes_on_while_the_runtime_is_away),
    };
    const int failed = run_rows(hostile_rows, sizeof hostile_rows / sizeof hostile_rows[0],
                                sizeof hostile_rows[0], what_does_not_conform_ends_the_link_alone);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
