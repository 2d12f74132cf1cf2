/* One program with one event loop: a runtime, an agent that is a callback, and a client, connected
 * in memory. The connection is cut again and again. */
#include "support/check.h"

#include <uv.h>

#include <arcp/client.h>
#include <arcp/runtime.h>
#include <arcp/sys/transport.h>

enum { JOBS = 20, EVENTS = 50, CUT_EVERY = 37 };

typedef struct task {
    unsigned next; /* event */
    bool has_ended;
} task;

typedef struct fixture {
    uv_loop_t loop;
    arcp_runtime *runtime;
    arcp_client *client;
    arcp_connection *client_end; /* of the newest pair; NULL once it was cut */
    unsigned heard, cuts, resumes, ended;
    task tasks[JOBS];
} fixture;

/* Reports 0 to 49 in its own thread, then returns its input. */
static void count(arcp_agent_call *call, void *user)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"level\":\"info\",\"message\":\"%u\"}", i);
        if (arcp_agent_event(call, "log", arcp_span_cstr(body), NULL) != ARCP_OK) {
            return;
        }
    }
    arcp_agent_succeed(call, arcp_json_raw(arcp_agent_start(call), arcp_agent_input(call)));
}

static arcp_connection *dial(void *user, struct uv_loop_s *loop, arcp_error *err)
{
    fixture *f = user;
    arcp_connection *served = NULL;
    if (arcp_memory_pair(loop, NULL, &f->client_end, &served, err) != ARCP_OK) {
        return NULL;
    }
    arcp_serve_options options = arcp_serve_options_init();
    options.principal = "me";
    check_ok(arcp_runtime_serve(f->runtime, served, &options, err), err);
    return f->client_end;
}

static void on_stopped(void *user)
{
    const fixture *f = user;
    arcp_runtime_free(f->runtime);
}

static void on_job_event(fixture *f, const arcp_client_event *event)
{
    task *t = arcp_job_user(event->job);
    if (event->kind == ARCP_EVENT_LOG) {
        const arcp_event_body *body = arcp_client_event_body(event);
        assert_int_equal(strtoul(body->log.message.data, NULL, 10), t->next);
        t->next++;
    }
    if (++f->heard % CUT_EVERY == 0 && f->client_end != NULL) {
        arcp_memory_cut(f->client_end);
        f->client_end = NULL;
        f->cuts++;
    }
}

static void on_job_ended(fixture *f, const arcp_client_event *event)
{
    task *t = arcp_job_user(event->job);
    char expected[32];
    assert_false(t->has_ended);
    t->has_ended = true;
    assert_int_equal(t->next, EVENTS);
    snprintf(expected, sizeof expected, "%td", t - f->tasks);
    check_span(arcp_job_outcome(event->job)->result, expected);
    if (++f->ended == JOBS) {
        arcp_client_close(f->client);
    }
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    fixture *f = user;
    switch (event->type) {
    case ARCP_CLIENT_CONNECTED:
        return;
    case ARCP_CLIENT_DISCONNECTED:
        f->client_end = NULL;
        return;
    case ARCP_CLIENT_RESUMED:
        f->resumes++;
        return;
    case ARCP_CLIENT_JOB_EVENT:
        on_job_event(f, event);
        return;
    case ARCP_CLIENT_JOB_ENDED:
        on_job_ended(f, event);
        return;
    case ARCP_CLIENT_CLOSED:
        assert_null(event->error);
        arcp_client_free(client);
        arcp_runtime_stop(f->runtime, on_stopped, f);
        return;
    case ARCP_CLIENT_JOB_ADDED:
    case ARCP_CLIENT_NOTICE:
    case ARCP_CLIENT_JOBS_CHANGED:
    case ARCP_CLIENT_FIGURES:
    case ARCP_CLIENT_WATCH_ENDED:
        fail_msg("unexpected event");
    }
}

static void on_accepted(void *user, arcp_client *client, const arcp_reply *reply)
{
    if (reply->status != ARCP_OK) {
        fail_msg("refused: %s", reply->error->message);
    }
    arcp_job_unref(reply->job);
}

static void start_runtime(fixture *f)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_agent agent = arcp_agent_init();
    arcp_error err = {0};
    check_ok(arcp_runtime_new(&f->loop, &options, &f->runtime, &err), &err);
    agent.name = "count";
    agent.run = count;
    check_ok(arcp_runtime_register(f->runtime, &agent, &err), &err);
}

static void start_client(fixture *f)
{
    arcp_client_options options = arcp_client_options_init();
    arcp_error err = {0};
    options.dial = dial;
    options.dial_user = f;
    options.backoff_first_ms = 1;
    options.backoff_max_ms = 2;
    check_ok(arcp_client_connect_start(&options, &f->loop, on_event, f, &f->client, &err), &err);
    for (unsigned i = 0; i < JOBS; i++) {
        arcp_submit_options submit = arcp_submit_options_init();
        char input[16];
        snprintf(input, sizeof input, "%u", i);
        submit.agent = ARCP_SPAN_LITERAL("count");
        submit.input = arcp_span_cstr(input);
        submit.user = &f->tasks[i];
        check_ok(arcp_client_submit_start(f->client, &submit, on_accepted, f, &err), &err);
    }
}

static void a_client_and_runtime_in_one_program_survive_every_cut(void **state)
{
    static fixture f;
    assert_int_equal(uv_loop_init(&f.loop), 0);
    start_runtime(&f);
    start_client(&f);
    assert_int_equal(uv_run(&f.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f.loop), 0);
    assert_int_equal(f.ended, JOBS);
    assert_true(f.cuts >= 5);
    assert_true(f.resumes >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_and_runtime_in_one_program_survive_every_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
