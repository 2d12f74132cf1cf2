/* The client on the program's own loop: its frames are sent in few writes. */
#include "support/check.h"

#include <uv.h>

#include <arcp/client.h>

#include "client/fake_runtime.h"

/* Queued frames are written at once at this size: FLUSH_BYTES in src/client/client_driver.c. */
#define FLUSH_BYTES 4096u
/* A submit has about 300 bytes. */
#define MANY 64u

#define TRACES_MAX 2048u

typedef struct fixture {
    uv_loop_t loop;
    fake_runtime runtime;
    arcp_client *client;
    const arcp_connection_ops *inner;
    arcp_connection_ops counting;
    unsigned sends, flushes;
    int input_digits;    /* of each submit's input */
    size_t submit_bytes; /* of all submits */
    unsigned at_once;    /* jobs submitted on connection */
    unsigned wanted;     /* whenever a job ends another is submitted, up to this number */
    unsigned submitted, ended;
    char traces[TRACES_MAX][33]; /* of the submits, each from 16 random bytes */
    unsigned trace_count;
} fixture;

/* Global, because the functions of a connection have no user pointer. */
static fixture *counted;

static void note_submit(fixture *f, arcp_span frame)
{
    static const char before[] = "\"trace_id\":\"";
    const char *found = memmem(frame.data, frame.size, before, sizeof before - 1);
    if (found != NULL && memmem(frame.data, frame.size, "\"job.submit\"", 12) != NULL) {
        assert_true(f->trace_count < TRACES_MAX);
        memcpy(f->traces[f->trace_count++], found + sizeof before - 1, 32);
        f->submit_bytes += frame.size;
    }
}

static arcp_status count_send(arcp_connection *connection, arcp_span frame)
{
    counted->sends++;
    note_submit(counted, frame);
    return counted->inner->send(connection, frame);
}

static void count_flush(arcp_connection *connection)
{
    counted->flushes++;
    counted->inner->flush(connection);
}

static arcp_connection *dial(void *user, struct uv_loop_s *loop, arcp_error *err)
{
    fixture *f = user;
    arcp_connection *connection = fake_runtime_dial(&f->runtime, loop, err);
    assert_non_null(connection);
    f->inner = connection->ops;
    f->counting = *connection->ops;
    f->counting.send = count_send;
    f->counting.flush = count_flush;
    connection->ops = &f->counting;
    return connection;
}

static void on_submit(void *user, arcp_client *client, const arcp_reply *reply)
{
    (void)user;
    (void)client;
    assert_int_equal(reply->status, ARCP_OK);
    arcp_job_unref(reply->job);
}

static void submit(fixture *f)
{
    char input[FLUSH_BYTES];
    const int size = snprintf(input, sizeof input, "{\"n\":1,\"x\":\"%0*d\"}", f->input_digits, 0);
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {0};
    options.agent = ARCP_SPAN_LITERAL("count");
    options.input = arcp_span_make(input, (size_t)size);
    check_ok(arcp_client_submit_start(f->client, &options, on_submit, f, &err), &err);
    f->submitted++;
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    fixture *f = user;
    switch (event->type) {
    case ARCP_CLIENT_CONNECTED:
        f->sends = f->flushes = 0;
        while (f->submitted < f->at_once) {
            submit(f);
        }
        return;
    case ARCP_CLIENT_JOB_ENDED:
        f->ended++;
        if (f->submitted < f->wanted) {
            submit(f);
        } else if (f->ended == f->submitted) {
            arcp_client_close(client);
        }
        return;
    case ARCP_CLIENT_CLOSED:
        arcp_client_free(client);
        return;
    case ARCP_CLIENT_DISCONNECTED:
    case ARCP_CLIENT_RESUMED:
    case ARCP_CLIENT_JOB_ADDED:
    case ARCP_CLIENT_JOB_EVENT:
    case ARCP_CLIENT_NOTICE:
    case ARCP_CLIENT_JOBS_CHANGED:
    case ARCP_CLIENT_FIGURES:
    case ARCP_CLIENT_WATCH_ENDED:
        return;
    }
}

/* Runs all jobs, from the first submit to the close; each has an input of this many digits. */
static void run_with(fixture *f, int input_digits, unsigned at_once, unsigned wanted)
{
    arcp_error err = {0};
    memset(f, 0, sizeof *f);
    f->input_digits = input_digits;
    f->at_once = at_once;
    f->wanted = wanted;
    counted = f;
    assert_int_equal(uv_loop_init(&f->loop), 0);
    fake_runtime_init(&f->runtime);
    arcp_client_options options = fake_runtime_options(&f->runtime);
    options.dial = dial;
    options.dial_user = f;
    check_ok(arcp_client_connect_start(&options, &f->loop, on_event, f, &f->client, &err), &err);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(f->ended, wanted);
    assert_true(f->sends >= wanted);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    fake_runtime_fini(&f->runtime);
}

static void run(fixture *f, unsigned at_once, unsigned wanted)
{
    run_with(f, 1, at_once, wanted);
}

static void a_frame_is_written_at_the_end_of_the_loop_iteration(void **state)
{
    (void)state;
    static fixture f;
    run(&f, 1, 1);
    assert_int_equal(f.flushes, 0);
}

static void requests_made_together_are_one_write(void **state)
{
    (void)state;
    static fixture f;
    run(&f, MANY, MANY);
    assert_int_equal(f.flushes, 1);
}

static void queued_frames_are_written_at_once_above_a_size(void **state)
{
    (void)state;
    static fixture f;
    static const unsigned counts[] = {1, 2, 5};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const unsigned count = counts[i];
        run(&f, count, count);
        /* All have the same size: together just enough, or one byte less each. */
        const int digits = 1 + (int)((FLUSH_BYTES - f.submit_bytes + count - 1) / count);
        run_with(&f, digits, count, count);
        assert_in_range(f.submit_bytes, FLUSH_BYTES, FLUSH_BYTES + count - 1);
        assert_int_equal(f.flushes, 1);
        run_with(&f, digits - 1, count, count);
        assert_in_range(f.submit_bytes, FLUSH_BYTES - count, FLUSH_BYTES - 1);
        assert_int_equal(f.flushes, 0);
    }
}

static void requests_made_in_many_callbacks_are_gathered(void **state)
{
    (void)state;
    static fixture f;
    run(&f, MANY, 20 * MANY);
    assert_in_range(f.flushes, 20, f.sends / 8);
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, 33);
}

/* Random bytes are generated for many jobs at once, and each byte is used once. */
static void no_two_jobs_have_the_same_trace_id(void **state)
{
    (void)state;
    static fixture f;
    run(&f, MANY, 20 * MANY);
    assert_int_equal(f.trace_count, 20 * MANY);
    qsort(f.traces, f.trace_count, sizeof f.traces[0], compare);
    for (unsigned i = 1; i < f.trace_count; i++) {
        assert_memory_not_equal(f.traces[i - 1], f.traces[i], 16); /* and no half of it either */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_written_at_the_end_of_the_loop_iteration),
        cmocka_unit_test(requests_made_together_are_one_write),
        cmocka_unit_test(queued_frames_are_written_at_once_above_a_size),
        cmocka_unit_test(requests_made_in_many_callbacks_are_gathered),
        cmocka_unit_test(no_two_jobs_have_the_same_trace_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
