/* The blocking client against the arcpd of this build, over every transport. */
#include "support/check.h"

#include <signal.h>
#include <unistd.h>

#include <arcp/client.h>

#include "arcp/arcpd_run.h"
#include "transport/tls_files.h"

typedef struct fixture {
    arcpd_run run; /* ws:// */
    tls_files tls;
    char secure_url[128]; /* wss://localhost */
    arcp_error err;
} fixture;

static int begin(void **state)
{
    static const char agent[] = "bench=" ARCP_BINARY_DIR "/bin/arcp-bench-agent";
    static fixture f;
    char config[512];
    char secure[128];
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    arcpd_run_begin(&f.run);
    tls_files_make(&f.tls);
    snprintf(config, sizeof config, "log: {level: error}\ntls: {certificate: %s, key: %s}\n",
             f.tls.certificate, f.tls.key);
    arcpd_run_configure(&f.run, config);
    arcpd_run_start(&f.run, 0,
                    WORDS("--store", "memory:", "--token", "t1=alice", "--listen",
                          "wss://127.0.0.1:0/arcp", "--agent", agent));
    assert_int_equal(sscanf(f.run.daemon.out.data, "arcpd: ready %*s %127s", secure), 1);
    snprintf(f.secure_url, sizeof f.secure_url, "wss://localhost%s",
             secure + strlen("wss://127.0.0.1"));
    *state = &f;
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    tls_files_remove(&f->tls);
    return arcpd_run_end(&f->run);
}

static arcp_client_options options_to(const char *url)
{
    arcp_client_options options = arcp_client_options_init();
    options.url = arcp_span_cstr(url);
    options.token = ARCP_SPAN_LITERAL("t1");
    return options;
}

/* Runs one job of 50 events to its end. */
static void check_job(fixture *f, arcp_client *client)
{
    arcp_submit_options submit = arcp_submit_options_init();
    arcp_job *job = NULL;
    const arcp_client_event *event = NULL;
    unsigned long next = 0;
    submit.agent = ARCP_SPAN_LITERAL("bench");
    submit.input = ARCP_SPAN_LITERAL("{\"events\":50}");
    check_ok(arcp_client_submit(client, &submit, ARCP_WAIT_DEFAULT, &job, &f->err), &f->err);
    do {
        check_ok(arcp_job_next_event(job, ARCP_WAIT_DEFAULT, &event, &f->err), &f->err);
        if (event->kind == ARCP_EVENT_LOG) {
            const arcp_event_body *body = arcp_client_event_body(event);
            assert_int_equal(strtoul(body->log.message.data, NULL, 10), next);
            next++;
        }
    } while (event->type != ARCP_CLIENT_JOB_ENDED);
    assert_int_equal(next, 50);
    check_span(arcp_job_outcome(job)->result, "50");
    arcp_job_unref(job);
}

static void check_way(fixture *f, const arcp_client_options *options)
{
    arcp_client *client = NULL;
    check_ok(arcp_client_connect(options, &client, &f->err), &f->err);
    check_job(f, client);
    check_ok(arcp_client_ping(client, ARCP_WAIT_DEFAULT, NULL, &f->err), &f->err);
    arcp_client_close(client);
    arcp_client_free(client);
}

/* ---- transports ---- */

/* [arcp:4-1] */
static void over_ws(void **state)
{
    fixture *f = *state;
    arcp_client_options options = options_to(f->run.url);
    check_way(f, &options);
}

static void over_wss_with_a_private_authority(void **state)
{
    fixture *f = *state;
    arcp_client_options options = options_to(f->secure_url);
    options.tls_ca_file = arcp_span_cstr(f->tls.ca);
    check_way(f, &options);
}

static void wss_with_an_untrusted_certificate_is_refused(void **state)
{
    fixture *f = *state;
    arcp_client *client = NULL;
    arcp_client_options options = options_to(f->secure_url);
    assert_int_equal(arcp_client_connect(&options, &client, &f->err), ARCP_E_IO);
    assert_non_null(strstr(f->err.message, "certificate"));
    options.tls_ca_file = arcp_span_cstr(f->tls.other_ca);
    assert_int_equal(arcp_client_connect(&options, &client, &f->err), ARCP_E_IO);
    assert_non_null(strstr(f->err.message, "certificate"));
    assert_null(client);
}

/* [arcp:4-2] */
static void over_the_pipes_of_a_command(void **state)
{
    fixture *f = *state;
    char url[512];
    snprintf(url, sizeof url,
             "stdio:%s/bin/arcpd --stdio --store memory: --agent bench=%s/bin/arcp-bench-agent",
             ARCP_BINARY_DIR, ARCP_BINARY_DIR);
    arcp_client_options options = options_to(url);
    check_way(f, &options);
}

static void a_command_that_does_not_exist_is_an_error(void **state)
{
    fixture *f = *state;
    arcp_client *client = NULL;
    arcp_client_options options = options_to("stdio:/nonexistent/arcpd --stdio");
    assert_int_equal(arcp_client_connect(&options, &client, &f->err), ARCP_E_IO);
    assert_non_null(strstr(f->err.message, "/nonexistent/arcpd"));
}

/* ---- retries, as in the errors guide ---- */

static arcp_status run_failing(fixture *f, arcp_client *client, const char *key, arcp_job **out)
{
    arcp_submit_options submit = arcp_submit_options_init();
    arcp_retry_options retry = arcp_retry_options_init();
    retry.first_ms = 1;
    retry.timeout_ms = 60000; /* never reached */
    submit.agent = ARCP_SPAN_LITERAL("bench");
    submit.input = ARCP_SPAN_LITERAL("{\"exit\":3}");
    submit.idempotency_key = arcp_span_cstr(key);
    return arcp_client_submit_with_retry(client, &submit, &retry, out, &f->err);
}

static size_t count_jobs(fixture *f, arcp_client *client)
{
    arcp_list_options list = arcp_list_options_init();
    arcp_job_page *page = NULL;
    list.statuses = UINT32_C(1) << ARCP_JOB_ERROR;
    list.limit = 1000;
    check_ok(arcp_client_list(client, &list, ARCP_WAIT_DEFAULT, &page, &f->err), &f->err);
    const size_t count = arcp_job_page_count(page);
    arcp_job_page_free(page);
    return count;
}

static void a_job_that_failed_temporarily_is_run_again(void **state)
{
    fixture *f = *state;
    arcp_client_options options = options_to(f->run.url);
    arcp_client *client = NULL;
    arcp_job *job = NULL;
    check_ok(arcp_client_connect(&options, &client, &f->err), &f->err);
    const size_t before = count_jobs(f, client);
    check_ok(run_failing(f, client, "", &job), &f->err);
    assert_int_equal(arcp_job_outcome(job)->status, ARCP_E_INTERNAL_ERROR);
    assert_int_equal(count_jobs(f, client), before + 3);
    arcp_job_unref(job);
    arcp_client_free(client);
}

/* The runtime has one job for each key, however it ended: submitting again starts nothing, and must
 * not wait for an end that was already delivered. */
static void a_key_of_the_program_identifies_one_job(void **state)
{
    fixture *f = *state;
    arcp_client_options options = options_to(f->run.url);
    arcp_client *client = NULL;
    arcp_job *first = NULL;
    arcp_job *second = NULL;
    check_ok(arcp_client_connect(&options, &client, &f->err), &f->err);
    const size_t before = count_jobs(f, client);
    check_ok(run_failing(f, client, "weekly-report", &first), &f->err);
    assert_int_equal(arcp_job_outcome(first)->status, ARCP_E_INTERNAL_ERROR);
    assert_int_equal(count_jobs(f, client), before + 1);
    /* Also from another session. */
    arcp_client *other = NULL;
    check_ok(arcp_client_connect(&options, &other, &f->err), &f->err);
    check_ok(run_failing(f, other, "weekly-report", &second), &f->err);
    assert_int_equal(arcp_job_outcome(second)->status, ARCP_E_INTERNAL_ERROR);
    assert_true(arcp_span_equal(arcp_job_id(first), arcp_job_id(second)));
    assert_int_equal(count_jobs(f, client), before + 1);
    arcp_job_unref(first);
    arcp_job_unref(second);
    arcp_client_free(other);
    arcp_client_free(client);
}

/* The program has released a job and submits it again with its key. */
static void a_released_job_can_be_found_again_by_its_key(void **state)
{
    fixture *f = *state;
    arcp_client_options options = options_to(f->run.url);
    arcp_submit_options submit = arcp_submit_options_init();
    arcp_client *client = NULL;
    const arcp_outcome *outcome = NULL;
    check_ok(arcp_client_connect(&options, &client, &f->err), &f->err);
    submit.agent = ARCP_SPAN_LITERAL("bench");
    submit.input = ARCP_SPAN_LITERAL("{\"events\":3,\"result\":\"kept\"}");
    submit.idempotency_key = ARCP_SPAN_LITERAL("let-go");
    for (int time = 0; time < 3; time++) {
        arcp_job *job = NULL;
        check_ok(arcp_client_submit(client, &submit, ARCP_WAIT_DEFAULT, &job, &f->err), &f->err);
        check_ok(arcp_job_wait(job, 10000, &outcome, &f->err), &f->err);
        check_span(outcome->result, "\"kept\"");
        arcp_job_unref(job);
    }
    arcp_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_ws),
        cmocka_unit_test(over_wss_with_a_private_authority),
        cmocka_unit_test(wss_with_an_untrusted_certificate_is_refused),
        cmocka_unit_test(over_the_pipes_of_a_command),
        cmocka_unit_test(a_command_that_does_not_exist_is_an_error),
        cmocka_unit_test(a_job_that_failed_temporarily_is_run_again),
        cmocka_unit_test(a_key_of_the_program_identifies_one_job),
        cmocka_unit_test(a_released_job_can_be_found_again_by_its_key),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
