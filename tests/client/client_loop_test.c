/* The client on the program's own loop: callbacks are made in order and never inside a call, and
 * the client may be freed at any time. */
#include "support/check.h"

#include <uv.h>

#include <arcp/client.h>

#include "client/fake_runtime.h"

typedef struct fixture {
    uv_loop_t loop;
    fake_runtime runtime;
    arcp_client *client;
    arcp_buf log;
    arcp_job *job;
    bool inside;   /* inside a call to the client: no callback may be made */
    bool free_now; /* free the client in the next callback */
    const char *agent;
    const char *input;
} fixture;

static void note(fixture *f, const char *word)
{
    assert_false(f->inside);
    arcp_buf_append_cstr(&f->log, word);
    arcp_buf_append_byte(&f->log, '\n');
}

static void check_log(fixture *f, const char *text)
{
    check_span(arcp_buf_span(&f->log), text);
    arcp_buf_clear(&f->log);
}

static void on_submit(void *user, arcp_client *client, const arcp_reply *reply)
{
    fixture *f = user;
    if (reply->status != ARCP_OK) {
        arcp_buf_append_format(&f->log, "refused %s: %s\n", arcp_status_name(reply->status),
                               reply->error->message);
        return;
    }
    f->job = reply->job;
    note(f, "accepted");
    if (f->free_now) {
        arcp_client_free(client);
        f->client = NULL;
    }
}

static void submit(fixture *f)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {0};
    options.agent = arcp_span_cstr(f->agent);
    options.input = arcp_span_cstr(f->input);
    const bool outer = f->inside;
    f->inside = true;
    check_ok(arcp_client_submit_start(f->client, &options, on_submit, f, &err), &err);
    f->inside = outer;
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    static const char *const words[] = {
        [ARCP_CLIENT_CONNECTED] = "connected", [ARCP_CLIENT_DISCONNECTED] = "disconnected",
        [ARCP_CLIENT_RESUMED] = "resumed",     [ARCP_CLIENT_CLOSED] = "closed",
        [ARCP_CLIENT_JOB_ADDED] = "added",     [ARCP_CLIENT_JOB_EVENT] = "event",
        [ARCP_CLIENT_JOB_ENDED] = "ended",     [ARCP_CLIENT_NOTICE] = "notice",
    };
    fixture *f = user;
    note(f, words[event->type]);
    if (event->type == ARCP_CLIENT_JOB_ENDED && event->job == f->job) {
        arcp_client_close(client);
    }
    if (event->type == ARCP_CLIENT_CLOSED || f->free_now) {
        arcp_client_free(client);
        f->client = NULL;
    }
}

static void begin(fixture *f, const char *agent, const char *input)
{
    *f = (fixture){.agent = agent, .input = input};
    assert_int_equal(uv_loop_init(&f->loop), 0);
    fake_runtime_init(&f->runtime);
}

static void open_client(fixture *f, const arcp_client_options *options)
{
    arcp_error err = {0};
    f->inside = true;
    check_ok(arcp_client_connect_start(options, &f->loop, on_event, f, &f->client, &err), &err);
    f->inside = false;
}

static void end(fixture *f)
{
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    arcp_job_unref(f->job);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    fake_runtime_fini(&f->runtime);
    arcp_buf_fini(&f->log);
}

static void a_job_runs_in_a_session_from_hello_to_close(void **state)
{
    fixture f;
    begin(&f, "echo", "7");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    open_client(&f, &options);
    submit(&f);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    check_log(&f, "connected\naccepted\nevent\nended\nclosed\n");
    check_span(arcp_job_outcome(f.job)->result, "7");
    assert_int_equal(atomic_load(&f.runtime.closes), 1);
    end(&f);
}

static void delegated_jobs_are_announced(void **state)
{
    fixture f;
    begin(&f, "parent", "{}");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    open_client(&f, &options);
    submit(&f);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    check_log(&f, "connected\naccepted\nadded\nevent\nended\nevent\nended\nclosed\n");
    end(&f);
}

static void a_cut_connection_is_reported_and_resumed(void **state)
{
    fixture f;
    begin(&f, "count", "{\"n\": 4}");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.runtime.cut_every = 4;
    f.runtime.cuts_max = 1;
    open_client(&f, &options);
    submit(&f);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    check_log(&f, "connected\ndisconnected\nresumed\naccepted\nevent\nevent\nevent\nevent\nended\n"
                  "closed\n");
    end(&f);
}

static void an_unreachable_runtime_closes_the_client(void **state)
{
    fixture f;
    begin(&f, "echo", "7");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.runtime.refuse_dials = 1;
    open_client(&f, &options);
    submit(&f);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    check_log(&f, "refused IO: connection refused\nclosed\n");
    end(&f);
}

static void an_invalid_url_closes_the_client(void **state)
{
    fixture f;
    arcp_client_options options = arcp_client_options_init();
    begin(&f, "echo", "7");
    options.url = ARCP_SPAN_LITERAL("gopher://x");
    open_client(&f, &options);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    check_log(&f, "closed\n");
    end(&f);
}

static void a_client_may_be_freed_before_its_first_turn(void **state)
{
    fixture f;
    begin(&f, "echo", "7");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    open_client(&f, &options);
    submit(&f);
    arcp_client_free(f.client);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    check_log(&f, "");
    end(&f);
}

static void a_client_may_be_freed_by_a_reply(void **state)
{
    fixture f;
    begin(&f, "count", "{\"n\": 100}");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    open_client(&f, &options);
    (void)uv_run(&f.loop, UV_RUN_ONCE);
    while (f.log.size == 0) {
        (void)uv_run(&f.loop, UV_RUN_ONCE);
    }
    f.free_now = true;
    submit(&f);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    check_log(&f, "connected\naccepted\n");
    check_span(arcp_job_id(f.job), "job_1");
    end(&f);
}

static void a_client_may_be_freed_by_an_event(void **state)
{
    fixture f;
    begin(&f, "echo", "7");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    f.free_now = true;
    open_client(&f, &options);
    submit(&f);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    check_log(&f, "connected\n");
    end(&f);
}

static void count_reply(void *user, arcp_client *client, const arcp_reply *reply)
{
    unsigned *replies = user;
    (*replies)++;
    arcp_job_page_free(reply->page);
    if (*replies == 3) {
        arcp_client_close(client);
    }
}

static void every_request_is_answered_once(void **state)
{
    fixture f;
    arcp_error err = {0};
    arcp_list_options list = arcp_list_options_init();
    unsigned replies = 0;
    begin(&f, "echo", "7");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    open_client(&f, &options);
    check_ok(arcp_client_ping_start(f.client, count_reply, &replies, &err), &err);
    check_ok(arcp_client_list_start(f.client, &list, count_reply, &replies, &err), &err);
    check_ok(arcp_client_cancel_start(f.client, ARCP_SPAN_LITERAL("job_9"), arcp_span_make(NULL, 0),
                                      count_reply, &replies, &err),
             &err);
    (void)uv_run(&f.loop, UV_RUN_DEFAULT);
    assert_int_equal(replies, 3);
    check_log(&f, "connected\nclosed\n");
    end(&f);
}

static void an_invalid_request_is_refused_at_once(void **state)
{
    fixture f;
    arcp_error err = {0};
    arcp_submit_options bad = arcp_submit_options_init();
    begin(&f, "echo", "7");
    arcp_client_options options = fake_runtime_options(&f.runtime);
    open_client(&f, &options);
    bad.agent = ARCP_SPAN_LITERAL("No Agent");
    assert_int_equal(arcp_client_submit_start(f.client, &bad, on_submit, &f, &err),
                     ARCP_E_INVALID_REQUEST);
    arcp_client_free(f.client);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_runs_in_a_session_from_hello_to_close),
        cmocka_unit_test(delegated_jobs_are_announced),
        cmocka_unit_test(a_cut_connection_is_reported_and_resumed),
        cmocka_unit_test(an_unreachable_runtime_closes_the_client),
        cmocka_unit_test(an_invalid_url_closes_the_client),
        cmocka_unit_test(a_client_may_be_freed_before_its_first_turn),
        cmocka_unit_test(a_client_may_be_freed_by_a_reply),
        cmocka_unit_test(a_client_may_be_freed_by_an_event),
        cmocka_unit_test(every_request_is_answered_once),
        cmocka_unit_test(an_invalid_request_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
