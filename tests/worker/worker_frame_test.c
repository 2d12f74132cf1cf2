/* Messages between a worker and a runtime as bytes: each is read as it was written, and one that
 * the other side must not send is refused. */
#include "support/check.h"

#include "support/failing_alloc.h"
#include "worker/worker_frame.h"

#define LINE_MAX_ 100u

static arcp_span span(const char *text)
{
    return arcp_span_cstr(text);
}

static arcp__worker_reader new_reader(void)
{
    return (arcp__worker_reader){.line_bytes_max = LINE_MAX_};
}

/* ---- round trips ---- */

/* A message as it is written, and what it is called. */
typedef struct wire_row {
    const char *name;
    int from;
    const char *text;
} wire_row;

enum { WORKER = ARCP__WORKER_SIDE_WORKER, RUNTIME = ARCP__WORKER_SIDE_RUNTIME };

#define HASH "0000000000000000000000000000000000000000000000000000000000000000"
#define HELLO                                                                                      \
    "{\"type\":\"hello\",\"version\":\"1.0\",\"name\":\"w\",\"instance\":\"i\",\"boot_id\":\"b\""

static const wire_row round_trips[] = {
    {"a hello with all members", WORKER,
     "{\"type\":\"hello\",\"version\":\"1.0\",\"token\":\"t\",\"name\":\"w\",\"instance\":\"i\","
     "\"boot_id\":\"b\",\"work\":\"/w\",\"program\":\"f\",\"drains_ms\":7,\"pid\":5,"
     "\"capacity\":16,\"abilities\":{\"a\":[1]},"
     "\"v\":[1,2],\"offers\":[{\"name\":\"a\",\"version\":\"2\",\"mode\":\"arcp\",\"max_jobs\":3,"
     "\"hash\":\"" HASH "\",\"cwd\":\"/c\",\"confined\":true,\"late\":true,\"terminates\":true},"
     "{\"name\":\"b\",\"mode\":\"plain\",\"hash\":\"" HASH "\"}]}\n"
     "{\"job\":\"j\",\"store\":\"s\",\"items_first\":1,\"errors_first\":1}\n"},
    {"a hello with few members", WORKER, HELLO ",\"v\":[1,1]}\n"},
    {"one line", WORKER,
     "{\"type\":\"items\",\"job\":\"j\",\"first\":7,\"count\":1,\"what\":\"lines\"}\n{}\n"},
    {"empty lines", WORKER,
     "{\"type\":\"items\",\"job\":\"j\",\"first\":7,\"count\":3,\"what\":\"lines\"}\n\n\n\n"},
    {"a line that was too long", WORKER,
     "{\"type\":\"items\",\"job\":\"j\",\"first\":7,\"count\":1,\"what\":\"too_long\"}\n"},
    {"a record", WORKER,
     "{\"type\":\"items\",\"job\":\"j\",\"first\":7,\"count\":1,\"what\":\"record\"}\n{\n}"},
    {"output, from the first byte", WORKER, "{\"type\":\"output\",\"job\":\"j\"}\nx"},
    {"output", WORKER, "{\"type\":\"output\",\"job\":\"j\",\"first\":9}\n\n"},
    {"errors", WORKER, "{\"type\":\"errors\",\"job\":\"j\",\"first\":1,\"count\":2}\na\nb\n"},
    {"a log", WORKER, "{\"type\":\"log\",\"job\":\"j\",\"dropped\":4}\na\nb\n"},
    {"a program that runs", WORKER, "{\"type\":\"started\",\"job\":\"j\",\"pid\":6}\n"},
    {"a refusal", WORKER,
     "{\"type\":\"refused\",\"job\":\"j\",\"message\":\"m\",\"why\":\"cannot_start\"}\n"},
    {"an exit", WORKER,
     "{\"type\":\"exited\",\"job\":\"j\",\"items\":9,\"bytes\":8,\"errors\":7,\"by_signal\":true,"
     "\"is_known\":true,\"out_of_memory\":true,\"code\":9,\"user_us\":1,\"system_us\":2,"
     "\"memory_bytes\":3,\"failed_step\":\"mount\",\"failure\":\"f\",\"why\":\"alone\"}\ntail"},
    {"what was got", WORKER, "{\"type\":\"got\",\"job\":\"j\",\"at\":3}\n"},
    {"usage", WORKER, "{\"type\":\"usage\",\"room\":3}\n{\"job\":\"j\"}\n"},
    {"a welcome", RUNTIME,
     "{\"type\":\"welcome\",\"v\":1,\"store\":\"s\",\"keep_ms\":300000,\"grace_ms\":10000,\"line_"
     "bytes\":1,"
     "\"unkept_bytes\":2,\"unkept_total_bytes\":3}\n{\"job\":\"j\",\"what\":\"go_on\"}\n"},
    {"a start of an agent of the worker's own", RUNTIME,
     "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a@1\",\"confined\":true,\"cold\":true,"
     "\"outlasts_expiry\":true,\"outlasts_budget\":true,\"cancel_grace_ms\":3}\n{}"},
    {"a start", RUNTIME,
     "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a@1\",\"expires_ms\":1,\"deadline_ms\":2,"
     "\"row\":{\"command\":[\"c\"]}}\n{\"type\":\"job.start\"}"},
    {"a line with its position", RUNTIME,
     "{\"type\":\"line\",\"job\":\"j\",\"at\":1,\"for\":2}\n{}"},
    {"a line without", RUNTIME, "{\"type\":\"line\",\"job\":\"j\"}\n{}"},
    {"what is kept", RUNTIME,
     "{\"type\":\"kept\",\"job\":\"j\",\"items\":9,\"bytes\":8,\"errors\":7,\"stored\":6,"
     "\"open\":[2,9]}\n"},
    {"a kill", RUNTIME, "{\"type\":\"kill\",\"job\":\"j\",\"at_once\":true}\n"},
    {"a pause", RUNTIME, "{\"type\":\"pause\",\"job\":\"j\"}\n"},
    {"a resume", RUNTIME, "{\"type\":\"resume\",\"job\":\"j\"}\n"},
    {"a revocation", RUNTIME, "{\"type\":\"revoke\",\"job\":\"j\",\"code\":\"LEASE_EXPIRED\"}\n"},
    {"a forget", RUNTIME, "{\"type\":\"forget\",\"job\":\"j\"}\n"},
    {"warm rows", RUNTIME, "{\"type\":\"warm\"}\n{}\n"},
    {"a drain", RUNTIME, "{\"type\":\"drain\"}\n"},
    {"a bye", RUNTIME, "{\"type\":\"bye\"}\n"},
    {"a ping of the worker", WORKER, "{\"type\":\"ping\",\"number\":1}\n"},
    {"a pong of the runtime", RUNTIME, "{\"type\":\"pong\",\"number\":1}\n"},
    {"names with escapes", WORKER, "{\"type\":\"got\",\"job\":\"\\\"\\\\\",\"at\":3}\n"},
};

static void each_message_is_read_as_it_was_written(void **state)
{
    const wire_row *row = *state;
    arcp__worker_reader reader = new_reader();
    arcp__worker_message message;
    arcp_error err = {0};
    arcp_buf out = arcp_buf_init();
    check_ok(arcp__worker_message_read(&reader, (arcp__worker_side)row->from, span(row->text),
                                       &message, &err),
             &err);
    arcp__worker_message_write(&message, &out);
    check_span(arcp_buf_span(&out), row->text);
    arcp_buf_fini(&out);
    arcp__worker_reader_fini(&reader);
}

static void the_members_are_those_of_the_message(void **state)
{
    (void)state;
    arcp__worker_reader reader = new_reader();
    arcp__worker_message message;
    assert_int_equal(arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_RUNTIME,
                                               span("{\"type\":\"kept\",\"job\":\"j\\u0041\","
                                                    "\"items\":9,\"open\":[2,9],\"later\":1}\n"),
                                               &message, NULL),
                     ARCP_OK);
    assert_int_equal(message.kind, ARCP__WORKER_KEPT);
    check_span(message.kept.job, "jA");
    assert_int_equal(message.kept.items, 9);
    assert_int_equal(message.kept.open_count, 2);
    assert_int_equal(message.kept.open[0], 2);
    assert_int_equal(message.kept.open[1], 9);
    arcp__worker_reader_fini(&reader);
}

/* ---- rows ---- */

static void rows_are_read_as_they_were_written(void **state)
{
    (void)state;
    arcp__worker_reader reader = new_reader();
    arcp_buf out = arcp_buf_init();
    arcp_error err = {0};
    const arcp__worker_job_row job = {span("j"), span("s"), 3, 9, 2, 10, 20, 4, 3, 5, true};
    const arcp__worker_resume_row resume = {span("k"), ARCP__WORKER_FORGET_JOB};
    const arcp__worker_usage_row usage = {span("u"), 1, 2, 3};
    arcp__worker_job_row_write(&job, &out);
    arcp__worker_resume_row_write(&resume, &out);
    arcp__worker_usage_row_write(&usage, &out);
    check_span(arcp_buf_span(&out),
               "{\"job\":\"j\",\"store\":\"s\",\"items_first\":3,\"items_last\":9,\"stored\":2,"
               "\"bytes_first\":10,\"bytes_last\":20,\"errors_first\":4,\"errors_last\":3,\"at\":5,"
               "\"exited\":true}\n"
               "{\"job\":\"k\",\"what\":\"forget\"}\n"
               "{\"job\":\"u\",\"pid\":1,\"cpu_ms\":2,\"memory_bytes\":3}\n");
    arcp__worker_job_row job_read;
    arcp__worker_resume_row resume_read;
    arcp__worker_usage_row usage_read;
    arcp_span rest = arcp_buf_span(&out);
    check_ok(arcp__worker_job_row_read(&reader, &rest, &job_read, &err), &err);
    check_span(job_read.job, "j");
    check_span(job_read.store, "s");
    assert_int_equal(job_read.items_first, 3);
    assert_int_equal(job_read.items_last, 9);
    assert_int_equal(job_read.stored, 2);
    assert_int_equal(job_read.errors_first, 4);
    assert_int_equal(job_read.at, 5);
    assert_true(job_read.has_exited);
    check_ok(arcp__worker_resume_row_read(&reader, &rest, &resume_read, &err), &err);
    assert_int_equal(resume_read.what, ARCP__WORKER_FORGET_JOB);
    check_ok(arcp__worker_usage_row_read(&reader, &rest, &usage_read, &err), &err);
    assert_int_equal(usage_read.memory_bytes, 3);
    assert_int_equal(rest.size, 0);
    arcp_buf_fini(&out);
    arcp__worker_reader_fini(&reader);
}

typedef struct bad_row {
    const char *name;
    const char *text;
} bad_row;

#define JOB_ROW "{\"job\":\"j\",\"store\":\"s\","

static const bad_row bad_job_rows[] = {
    {"text that is not JSON", "x\n"},
    {"a row that is no object", "[]\n"},
    {"no job", "{\"store\":\"s\",\"items_first\":1,\"errors_first\":1}\n"},
    {"no store", "{\"job\":\"j\",\"items_first\":1,\"errors_first\":1}\n"},
    {"items that begin with 0", JOB_ROW "\"items_first\":0,\"errors_first\":1}\n"},
    {"items that begin after their end",
     JOB_ROW "\"items_first\":4,\"items_last\":2,\"errors_first\":1}\n"},
    {"more stored than there were",
     JOB_ROW "\"items_first\":1,\"items_last\":2,\"stored\":3,\"errors_first\":1}\n"},
    {"bytes that begin after their end",
     JOB_ROW "\"items_first\":1,\"errors_first\":1,\"bytes_first\":1}\n"},
    {"errors that begin after their end", JOB_ROW "\"items_first\":1,\"errors_first\":2}\n"},
    {"more items than can be counted",
     JOB_ROW "\"items_first\":1,\"errors_first\":1,\"items_last\":9223372036854775808}\n"},
};

static void a_row_whose_numbers_do_not_fit_is_refused(void **state)
{
    const bad_row *row = *state;
    arcp__worker_reader reader = new_reader();
    arcp__worker_job_row out;
    arcp_span rest = span(row->text);
    assert_int_not_equal(arcp__worker_job_row_read(&reader, &rest, &out, NULL), ARCP_OK);
    arcp__worker_reader_fini(&reader);
}

/* ---- refusals ---- */

typedef struct refusal_row {
    const char *name;
    int from;
    const char *text;
    const char *message; /* the beginning of the error's; NULL: any */
} refusal_row;

#define TEN         "0123456789"
#define FIFTY       TEN TEN TEN TEN TEN
#define ITEMS(more) "{\"type\":\"items\",\"job\":\"j\"," more "}\n"
#define KEPT(more)  "{\"type\":\"kept\",\"job\":\"j\"," more "}\n"

static const refusal_row refusals[] = {
    {"nothing", WORKER, "", "a message without a line feed"},
    {"no line feed", WORKER, "{\"type\":\"got\",\"job\":\"j\",\"at\":3}",
     "a message without a line feed"},
    {"an empty head", WORKER, "\n", NULL},
    {"a head that is no object", WORKER, "[]\n", "a message of an unknown type"},
    {"no type", WORKER, "{}\n", "a message of an unknown type"},
    {"an unknown type", WORKER, "{\"type\":\"x\"}\n", "a message of an unknown type"},
    {"a message of the runtime from a worker", WORKER, "{\"type\":\"drain\"}\n",
     "drain: this side must not send it"},
    {"a message of a worker from the runtime", RUNTIME,
     "{\"type\":\"got\",\"job\":\"j\",\"at\":3}\n", "got: this side must not send it"},
    {"no job", WORKER, "{\"type\":\"got\",\"at\":3}\n", "got.job is missing"},
    {"an empty job", WORKER, "{\"type\":\"got\",\"job\":\"\",\"at\":3}\n", "got.job is \"\""},
    {"a number that is text", WORKER, "{\"type\":\"got\",\"job\":\"j\",\"at\":\"3\"}\n",
     "got.at is \"3\""},
    {"a position of 0", WORKER, "{\"type\":\"got\",\"job\":\"j\",\"at\":0}\n", "got.at is 0"},
    {"a body where there is none", WORKER, "{\"type\":\"got\",\"job\":\"j\",\"at\":3}\nx",
     "got: it has a body"},
    {"a hello without versions", WORKER, HELLO "}\n", "hello: v must be"},
    {"a hello with one version", WORKER, HELLO ",\"v\":[1]}\n", "hello: v must be"},
    {"a hello with versions the wrong way round", WORKER, HELLO ",\"v\":[2,1]}\n",
     "hello: v must be"},
    {"a hello with a version of 0", WORKER, HELLO ",\"v\":[0,1]}\n", "hello: v must be"},
    {"offers that are no array", WORKER, HELLO ",\"v\":[1,1],\"offers\":{}}\n",
     "hello: offers must be"},
    {"an offer without a hash", WORKER,
     HELLO ",\"v\":[1,1],\"offers\":[{\"name\":\"a\",\"mode\":\"arcp\"}]}\n",
     "hello.offers.hash is missing"},
    {"abilities that are no object", WORKER, HELLO ",\"v\":[1,1],\"abilities\":[]}\n",
     "hello.abilities must be an object"},
    {"rows without their line feed", WORKER, HELLO ",\"v\":[1,1]}\n{}",
     "hello: its body must be rows"},
    {"items from number 0", WORKER, ITEMS("\"first\":0,\"count\":1,\"what\":\"lines\"") "a\n",
     "items.first is 0"},
    {"no items", WORKER, ITEMS("\"first\":1,\"count\":0,\"what\":\"lines\""), "items.count is 0"},
    {"items of an unknown kind", WORKER, ITEMS("\"first\":1,\"count\":1,\"what\":\"x\"") "a\n",
     "items.what is missing or unknown"},
    {"items whose last number is too large", WORKER,
     ITEMS("\"first\":9223372036854775808,\"count\":1,\"what\":\"lines\"") "a\n",
     "items: a number is out of range"},
    {"fewer lines than the count", WORKER,
     ITEMS("\"first\":1,\"count\":2,\"what\":\"lines\"") "a\n", "items: its body must have"},
    {"more lines than the count", WORKER,
     ITEMS("\"first\":1,\"count\":2,\"what\":\"lines\"") "a\nb\nc\n", "items: its body must have"},
    {"a line without its line feed", WORKER,
     ITEMS("\"first\":1,\"count\":1,\"what\":\"lines\"") "a", "items: its body must have"},
    {"two records", WORKER, ITEMS("\"first\":1,\"count\":2,\"what\":\"record\"") "{}",
     "items: only lines can be several"},
    {"a record without a body", WORKER, ITEMS("\"first\":1,\"count\":1,\"what\":\"record\""),
     "items: only lines can be several"},
    {"a line that was too long, and is there", WORKER,
     ITEMS("\"first\":1,\"count\":1,\"what\":\"too_long\"") "a\n",
     "items: only lines can be several"},
    {"output of no bytes", WORKER, "{\"type\":\"output\",\"job\":\"j\"}\n",
     "output: a number is out of range"},
    {"a line to an agent that is two", RUNTIME, "{\"type\":\"line\",\"job\":\"j\"}\na\nb",
     "line: its body must be one line"},
    {"a line to an agent that is empty", RUNTIME, "{\"type\":\"line\",\"job\":\"j\"}\n",
     "line: its body must be one line"},
    {"a line to an agent that is too long", RUNTIME,
     "{\"type\":\"line\",\"job\":\"j\"}\n" FIFTY FIFTY "x", "line: a body of 101 bytes"},
    {"a start with a deadline that has passed", RUNTIME,
     "{\"type\":\"start\",\"job\":\"j\",\"agent\":\"a\",\"deadline_ms\":0}\n{}",
     "start.deadline_ms is 0"},
    {"open numbers that go back", RUNTIME, KEPT("\"items\":9,\"open\":[3,2]"), "kept: open must"},
    {"an open number twice", RUNTIME, KEPT("\"items\":9,\"open\":[3,3]"), "kept: open must"},
    {"an open number above items", RUNTIME, KEPT("\"items\":9,\"open\":[10]"), "kept: open must"},
    {"an open number of 0", RUNTIME, KEPT("\"items\":9,\"open\":[0]"), "kept: open must"},
    {"open that is a number", RUNTIME, KEPT("\"items\":9,\"open\":1"), "kept: open must"},
    {"a member twice", RUNTIME, KEPT("\"items\":9,\"items\":8"), NULL},
};

static void what_the_other_side_must_not_send_is_refused(void **state)
{
    const refusal_row *row = *state;
    arcp__worker_reader reader = new_reader();
    arcp__worker_message message;
    arcp_error err = {0};
    assert_int_not_equal(arcp__worker_message_read(&reader, (arcp__worker_side)row->from,
                                                   span(row->text), &message, &err),
                         ARCP_OK);
    if (row->message != NULL && strncmp(err.message, row->message, strlen(row->message)) != 0) {
        fail_msg("\"%s\" does not begin with \"%s\"", err.message, row->message);
    }
    arcp__worker_reader_fini(&reader);
}

/* ---- limits ---- */

static arcp_status read_sized(const char *head, size_t head_size, char fill, size_t body_size,
                              bool has_end)
{
    arcp__worker_reader reader = new_reader();
    arcp__worker_message message;
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, head);
    while (text.size < head_size) {
        arcp_buf_append_byte(&text, ' ');
    }
    arcp_buf_append_byte(&text, '\n');
    for (size_t i = 0; i + has_end < body_size; i++) {
        arcp_buf_append_byte(&text, fill);
    }
    arcp_buf_append(&text, span(has_end ? "\n" : ""));
    const arcp_status status = arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_WORKER,
                                                         arcp_buf_span(&text), &message, NULL);
    arcp_buf_fini(&text);
    arcp__worker_reader_fini(&reader);
    return status;
}

static void heads_and_bodies_have_limits(void **state)
{
    (void)state;
    const char *got = "{\"type\":\"got\",\"job\":\"j\",\"at\":3}";
    const char *output = "{\"type\":\"output\",\"job\":\"j\"}";
    const char *exited = "{\"type\":\"exited\",\"job\":\"j\",\"why\":\"itself\"}";
    assert_int_equal(read_sized(got, ARCP__WORKER_HEAD_MAX, ' ', 0, false), ARCP_OK);
    assert_int_equal(read_sized(got, ARCP__WORKER_HEAD_MAX + 1, ' ', 0, false),
                     ARCP_E_INVALID_REQUEST);
    assert_int_equal(read_sized(output, 0, 'x', ARCP__WORKER_BODY_MAX, false), ARCP_OK);
    assert_int_equal(read_sized(output, 0, 'x', ARCP__WORKER_BODY_MAX + 1, false), ARCP_E_LIMIT);
    assert_int_equal(read_sized(exited, 0, 'x', ARCP__WORKER_TAIL_MAX, false), ARCP_OK);
    assert_int_equal(read_sized(exited, 0, 'x', ARCP__WORKER_TAIL_MAX + 1, false), ARCP_E_LIMIT);
}

static void one_line_may_be_longer_than_other_bodies(void **state)
{
    (void)state;
    const size_t line_max = ARCP__WORKER_BODY_MAX + 100;
    arcp__worker_reader reader = {.line_bytes_max = line_max};
    arcp__worker_message message;
    arcp_buf text = arcp_buf_init();
    for (size_t more = 0; more < 2; more++) {
        arcp_buf_clear(&text);
        arcp_buf_append_cstr(&text, ITEMS("\"first\":1,\"count\":1,\"what\":\"lines\""));
        for (size_t i = 0; i < line_max + more; i++) {
            arcp_buf_append_byte(&text, 'x');
        }
        arcp_buf_append_byte(&text, '\n');
        assert_int_equal(arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_WORKER,
                                                   arcp_buf_span(&text), &message, NULL),
                         more == 0 ? ARCP_OK : ARCP_E_LIMIT);
    }
    arcp_buf_fini(&text);
    arcp__worker_reader_fini(&reader);
}

static void lists_have_limits(void **state)
{
    (void)state;
    const size_t most[] = {ARCP__WORKER_OPEN_MAX, ARCP__WORKER_OFFERS_MAX};
    for (size_t which = 0; which < 2; which++) {
        for (size_t more = 0; more < 2; more++) {
            arcp__worker_reader reader = new_reader();
            arcp__worker_message message;
            arcp_buf text = arcp_buf_init();
            arcp_buf_append_cstr(&text, which == 0
                                            ? "{\"type\":\"kept\",\"job\":\"j\",\"items\":9999,"
                                              "\"open\":["
                                            : HELLO ",\"v\":[1,1],\"offers\":[");
            for (size_t i = 1; i <= most[which] + more; i++) {
                arcp_buf_append_cstr(&text, i == 1 ? "" : ",");
                if (which == 0) {
                    arcp_buf_append_u64(&text, i);
                } else {
                    arcp_buf_append_cstr(&text, "{\"name\":\"a\",\"mode\":\"arcp\",\"hash\":\"" HASH
                                                "\"}");
                }
            }
            arcp_buf_append_cstr(&text, "]}\n");
            assert_int_equal(arcp__worker_message_read(&reader,
                                                       which == 0 ? ARCP__WORKER_SIDE_RUNTIME
                                                                  : ARCP__WORKER_SIDE_WORKER,
                                                       arcp_buf_span(&text), &message, NULL),
                             more == 0 ? ARCP_OK : ARCP_E_INVALID_REQUEST);
            arcp_buf_fini(&text);
            arcp__worker_reader_fini(&reader);
        }
    }
}

/* ---- sizes on a stream ---- */

static void a_frame_begins_with_the_size_of_its_message(void **state)
{
    (void)state;
    const arcp__worker_message message = {.kind = ARCP__WORKER_OUTPUT,
                                          .output = {.job = ARCP_SPAN_LITERAL("j"), .first = 1},
                                          .body = ARCP_SPAN_LITERAL("some bytes")};
    arcp_buf whole = arcp_buf_init();
    arcp_buf frame = arcp_buf_init();
    size_t size = 0;
    arcp__worker_message_write(&message, &whole);
    arcp_buf_append_cstr(&frame, "before");
    arcp__worker_frame_write(&message, &frame);
    const arcp_span bytes = arcp_span_from(arcp_buf_span(&frame), 6);
    assert_int_equal(arcp__worker_frame_size(bytes, LINE_MAX_, &size, NULL), ARCP_OK);
    assert_int_equal(size, whole.size);
    assert_true(arcp_span_equal(arcp_span_from(bytes, ARCP__WORKER_PREFIX), arcp_buf_span(&whole)));
    arcp_buf_fini(&whole);
    arcp_buf_fini(&frame);
}

static void a_size_above_the_largest_message_is_refused(void **state)
{
    (void)state;
    const size_t most = ARCP__WORKER_HEAD_MAX + 1 + ARCP__WORKER_BODY_MAX;
    for (size_t more = 0; more < 2; more++) {
        const size_t size = most + more;
        const char bytes[4] = {(char)(size >> 24), (char)(size >> 16 & 255),
                               (char)(size >> 8 & 255), (char)(size & 255)};
        size_t out = 0;
        assert_int_equal(
            arcp__worker_frame_size(arcp_span_make(bytes, sizeof bytes), LINE_MAX_, &out, NULL),
            more == 0 ? ARCP_OK : ARCP_E_LIMIT);
        assert_int_equal(out, more == 0 ? most : 0);
    }
}

static arcp_status read_and_write(void *user, arcp_error *err)
{
    const wire_row *row = user;
    arcp__worker_reader reader = new_reader();
    arcp__worker_message message;
    arcp_buf out = arcp_buf_init();
    arcp_status status = arcp__worker_message_read(&reader, (arcp__worker_side)row->from,
                                                   span(row->text), &message, err);
    if (status == ARCP_OK) {
        arcp__worker_message_write(&message, &out);
        status = arcp_buf_status(&out);
    }
    arcp_buf_fini(&out);
    arcp__worker_reader_fini(&reader);
    return status;
}

static void reading_and_writing_survive_every_failed_allocation(void **state)
{
    (void)state;
    wire_row first = round_trips[0];
    wire_row last = round_trips[sizeof round_trips / sizeof round_trips[0] - 1];
    (void)failing_alloc_sweep(read_and_write, &first);
    (void)failing_alloc_sweep(read_and_write, &last);
}

#define ROWS(rows) rows, sizeof(rows) / sizeof(rows)[0], sizeof(rows)[0]

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_members_are_those_of_the_message),
        cmocka_unit_test(rows_are_read_as_they_were_written),
        cmocka_unit_test(heads_and_bodies_have_limits),
        cmocka_unit_test(one_line_may_be_longer_than_other_bodies),
        cmocka_unit_test(lists_have_limits),
        cmocka_unit_test(a_frame_begins_with_the_size_of_its_message),
        cmocka_unit_test(a_size_above_the_largest_message_is_refused),
        cmocka_unit_test(reading_and_writing_survive_every_failed_allocation),
    };
    int failed = run_rows(ROWS(round_trips), each_message_is_read_as_it_was_written);
    failed += run_rows(ROWS(bad_job_rows), a_row_whose_numbers_do_not_fit_is_refused);
    failed += run_rows(ROWS(refusals), what_the_other_side_must_not_send_is_refused);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
