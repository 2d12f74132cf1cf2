/* The client on the program's own loop: what it sends leaves in few writes. */
#include "support/check.h"

#include <uv.h>

#include <arcp/client.h>

#include "client/fake_runtime.h"

/* A submit has some 300 bytes, and from 4096 on what waits is written at once. */
#define MANY 64u

typedef struct fixture {
    uv_loop_t loop;
    fake_runtime runtime;
    arcp_client *client;
    const arcp_connection_ops *inner;
    arcp_connection_ops counting;
    unsigned sends, flushes;
    unsigned at_once; /* jobs that are submitted when it is connected */
    unsigned wanted;  /* one more for each that ends, until there were so many */
    unsigned submitted, ended;
} fixture;

/* The tests run one after the other, and a connection's functions are told of no user. */
static fixture *counted;

static arcp_status count_send(arcp_connection *connection, arcp_span frame)
{
    counted->sends++;
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
    arcp_job_release(reply->job);
}

static void submit(fixture *f)
{
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_error err = {0};
    options.agent = ARCP_SPAN_LITERAL("echo");
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
        return;
    }
}

/* All jobs, from the first submit to the goodbye. */
static void run(fixture *f, unsigned at_once, unsigned wanted)
{
    arcp_error err = {0};
    *f = (fixture){.at_once = at_once, .wanted = wanted};
    counted = f;
    assert_int_equal(uv_loop_init(&f->loop), 0);
    fake_runtime_init(&f->runtime);
    arcp_client_options options = fake_runtime_options(&f->runtime);
    options.dial = dial;
    options.dial_user = f;
    check_ok(arcp_client_open(&options, &f->loop, on_event, f, &f->client, &err), &err);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(f->ended, wanted);
    assert_true(f->sends >= wanted);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    fake_runtime_fini(&f->runtime);
}

static void a_frame_leaves_with_its_turn(void **state)
{
    (void)state;
    fixture f;
    run(&f, 1, 1);
    assert_int_equal(f.flushes, 0);
}

static void many_that_are_asked_at_once_are_one_write(void **state)
{
    (void)state;
    fixture f;
    run(&f, MANY, MANY);
    assert_int_equal(f.flushes, 1);
}

static void what_follows_from_many_answers_is_gathered(void **state)
{
    (void)state;
    fixture f;
    run(&f, MANY, 20 * MANY);
    assert_in_range(f.flushes, 20, f.sends / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_leaves_with_its_turn),
        cmocka_unit_test(many_that_are_asked_at_once_are_one_write),
        cmocka_unit_test(what_follows_from_many_answers_is_gathered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
