/* The blocking form against a runtime in memory: requests and their results. */
#include "client/blocking_fixture.h"

static void a_job_is_submitted_followed_and_awaited(void **state)
{
    fixture f;
    const arcp_client_event *event = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "echo", "{\"a\": 1}");
    check_span(arcp_job_id(job), "job_1");
    check_span(arcp_job_agent(job), "echo@1.0.0");
    check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
    assert_int_equal(event->type, ARCP_CLIENT_JOB_EVENT);
    assert_int_equal(event->kind, ARCP_EVENT_LOG);
    assert_int_equal(event->event_seq, 1);
    check_span(event->body, "{\"level\":\"info\",\"message\":\"hi\"}");
    assert_null(arcp_job_outcome(job));
    check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.err), &f.err);
    assert_int_equal(event->type, ARCP_CLIENT_JOB_ENDED);
    check_span(arcp_job_outcome(job)->result, "{\"a\":1}");
    assert_int_equal(arcp_job_current_status(job), ARCP_JOB_SUCCESS);
    assert_int_equal(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f.err), ARCP_E_CLOSED);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void waiting_for_a_job_discards_its_events(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "count", "{\"n\": 2000}");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), &f.err);
    check_span(outcome->result, "2000");
    check_ok(arcp_job_wait(job, 0, &outcome, &f.err), &f.err);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void a_refused_submit_has_code_message_and_details(void **state)
{
    fixture f;
    arcp_submit_options options = arcp_submit_options_init();
    arcp_job *job = NULL;
    fixture_begin(&f);
    options.agent = ARCP_SPAN_LITERAL("refuse");
    assert_int_equal(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &job, &f.err),
                     ARCP_E_AGENT_NOT_AVAILABLE);
    assert_null(job);
    assert_string_equal(f.err.code, "AGENT_NOT_AVAILABLE");
    assert_string_equal(f.err.message, "no such agent");
    assert_string_equal(arcp_error_details(&f.err), "{\"agent\":\"refuse\"}");
    assert_false(f.err.retryable);
    /* The error is optional. */
    assert_int_equal(arcp_client_submit(f.client, &options, ARCP_WAIT_DEFAULT, &job, NULL),
                     ARCP_E_AGENT_NOT_AVAILABLE);
    fixture_end(&f);
}

static void other_requests_get_replies(void **state)
{
    fixture f;
    arcp_list_options list = arcp_list_options_init();
    arcp_job_page *page = NULL;
    int64_t round_trip_ns = -1;
    fixture_begin(&f);
    check_ok(arcp_client_ping(f.client, ARCP_WAIT_DEFAULT, &round_trip_ns, &f.err), &f.err);
    assert_true(round_trip_ns >= 0);
    check_ok(arcp_client_list(f.client, &list, ARCP_WAIT_DEFAULT, &page, &f.err), &f.err);
    assert_int_equal(arcp_job_page_count(page), 1);
    check_span(arcp_job_page_row(page, 0).job_id, "job_1");
    arcp_job_page_free(page);
    assert_int_equal(arcp_client_cancel(f.client, ARCP_SPAN_LITERAL("job_9"),
                                        ARCP_SPAN_LITERAL("why not"), ARCP_WAIT_DEFAULT, &f.err),
                     ARCP_E_JOB_NOT_FOUND);
    assert_int_equal(arcp_client_features(f.client), arcp_client_options_init().features);
    fixture_end(&f);
}

static void a_cancelled_job_ends_as_cancelled(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "wait", "{}");
    check_ok(arcp_client_cancel(f.client, arcp_job_id(job), arcp_span_make(NULL, 0),
                                ARCP_WAIT_DEFAULT, &f.err),
             &f.err);
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), &f.err);
    assert_int_equal(outcome->final_status, ARCP_JOB_CANCELLED);
    assert_int_equal(outcome->status, ARCP_E_CANCELLED);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void a_subscription_has_events_and_an_end(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    arcp_subscribe_options options = arcp_subscribe_options_init();
    arcp_job *job = NULL;
    arcp_error err = {0};
    fixture_begin(&f);
    options.job_id = ARCP_SPAN_LITERAL("job_77");
    options.history = true;
    check_ok(arcp_client_subscribe(f.client, &options, ARCP_WAIT_DEFAULT, &job, &f.err), &f.err);
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), &f.err);
    check_span(outcome->result, "\"seen\"");
    check_ok(arcp_client_unsubscribe(f.client, ARCP_SPAN_LITERAL("job_77"), &err), &err);
    check_ok(arcp_client_ping(f.client, ARCP_WAIT_DEFAULT, NULL, &f.err), &f.err);
    assert_int_equal(atomic_load(&f.runtime.unsubscribes), 1);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void note_agent(void *user, const arcp_agent_row *agent)
{
    arcp_buf *text = user;
    arcp_buf_append(text, agent->name);
    for (size_t i = 0; i < agent->version_count; i++) {
        arcp_buf_append_byte(text, ' ');
        arcp_buf_append(text, agent->versions[i]);
    }
    arcp_buf_append_byte(text, '(');
    arcp_buf_append(text, agent->default_version);
    arcp_buf_append_cstr(text, agent->is_unconfined ? ") unconfined " : ")");
}

static void the_inventory_is_available_in_both_forms(void **state)
{
    fixture f;
    arcp_error err = {0};
    arcp_buf text = arcp_buf_init();
    fixture_begin(&f);
    check_ok(arcp_client_agents(f.client, note_agent, &text, &err), &err);
    check_span(arcp_buf_span(&text), "echo 1.0.0 2.0.0(2.0.0) unconfined bare()");
    arcp_buf_clear(&text);
    check_ok(arcp_client_welcome(f.client, &text, &err), &err);
    assert_null(memmem(text.data, text.size, "rt_1", 4));
    arcp_buf_fini(&text);
    fixture_end(&f);
}

static void note_secret(void *user, const arcp_credential *credential)
{
    arcp_buf_append(user, credential->value);
}

/* [arcp:9.8.2-14] */
static void credentials_can_be_taken_once(void **state)
{
    fixture f;
    arcp_buf seen = arcp_buf_init();
    arcp_job_budget budget;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "rich", "{}");
    assert_int_equal(arcp_job_take_credentials(job, note_secret, &seen), 1);
    check_span(arcp_buf_span(&seen), "sk-1");
    assert_int_equal(arcp_job_take_credentials(job, note_secret, &seen), 0);
    assert_true(arcp_job_budget_at(job, 0, &budget));
    assert_string_equal(budget.currency, "USD");
    assert_string_equal(budget.initial, "5.00");
    assert_false(arcp_job_budget_at(job, 1, &budget));
    arcp_buf_fini(&seen);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void handles_outlive_their_client(void **state)
{
    fixture f;
    const arcp_outcome *outcome = NULL;
    const arcp_client_event *event = NULL;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "echo", "1");
    arcp_job *other = fixture_submit(&f, "wait", "1");
    check_ok(arcp_job_wait(job, ARCP_WAIT_FOREVER, &outcome, &f.err), &f.err);
    fixture_end(&f);
    check_span(arcp_job_id(job), "job_1");
    check_ok(arcp_job_wait(job, 0, &outcome, NULL), &f.err);
    check_span(outcome->result, "1");
    assert_int_equal(arcp_job_next_event(other, 0, &event, NULL), ARCP_E_CLOSED);
    arcp_job_unref(arcp_job_ref(job));
    arcp_job_unref(job);
    arcp_job_unref(other);
    arcp_job_unref(NULL);
    arcp_client_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_submitted_followed_and_awaited),
        cmocka_unit_test(waiting_for_a_job_discards_its_events),
        cmocka_unit_test(a_refused_submit_has_code_message_and_details),
        cmocka_unit_test(other_requests_get_replies),
        cmocka_unit_test(a_cancelled_job_ends_as_cancelled),
        cmocka_unit_test(a_subscription_has_events_and_an_end),
        cmocka_unit_test(the_inventory_is_available_in_both_forms),
        cmocka_unit_test(credentials_can_be_taken_once),
        cmocka_unit_test(handles_outlive_their_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
