/* Every text that the client returns can be printed as it is: a NUL follows it, and it has a
 * pointer when it is empty. */
#include "client/blocking_fixture.h"

static void check_text(arcp_span text)
{
    assert_non_null(text.data);
    assert_int_equal(text.data[text.size], '\0');
}

static void check_job(arcp_job *job)
{
    const arcp_span texts[] = {arcp_job_id(job),          arcp_job_agent(job),
                               arcp_job_lease(job),       arcp_job_constraints(job),
                               arcp_job_trace_id(job),    arcp_job_parent_id(job),
                               arcp_job_delegate_id(job), arcp_job_descriptor(job)};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_text(texts[i]);
    }
}

static void check_event(const arcp_client_event *event)
{
    check_text(event->kind_text);
    check_text(event->ts);
    check_text(event->body);
    check_text(arcp_client_event_payload(event));
}

static void check_outcome(const arcp_outcome *outcome)
{
    check_text(outcome->result);
    check_text(outcome->result_id);
    check_text(outcome->bytes);
    check_text(outcome->summary);
    check_text(outcome->payload);
}

/* Follows a job of `agent` to its end, and checks the texts of its events and its outcome. */
static void check_agent(fixture *f, const char *agent, const char *input)
{
    arcp_job *job = fixture_submit(f, agent, input);
    const arcp_client_event *event = NULL;
    check_job(job);
    do {
        check_ok(arcp_job_next_event(job, ARCP_WAIT_FOREVER, &event, &f->err), &f->err);
        check_event(event);
    } while (event->type != ARCP_CLIENT_JOB_ENDED);
    check_outcome(arcp_job_outcome(job));
    arcp_job_unref(job);
}

static void texts_of_jobs_end_with_nul(void **state)
{
    (void)state;
    static const char *const jobs[][2] = {
        {"echo", "{\"a\":1}"}, {"stream", "{\"n\":3}"}, {"stream", "{\"n\":0}"},
        {"fail", "{}"},        {"parent", "{}"},
    };
    fixture f;
    fixture_begin(&f);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        print_message("  %s\n", jobs[i][0]);
        check_agent(&f, jobs[i][0], jobs[i][1]);
    }
    fixture_end(&f);
}

static void check_credential(void *user, const arcp_credential *credential)
{
    (void)user;
    check_text(credential->id);
    check_text(credential->value);
    check_text(credential->endpoint);
    check_text(credential->profile);
    check_text(credential->constraints);
    assert_string_equal(credential->value.data, "sk-1");
}

static void texts_of_credentials_end_with_nul(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    arcp_job *job = fixture_submit(&f, "rich", "{}");
    assert_int_equal(arcp_job_take_credentials(job, check_credential, NULL), 1);
    arcp_job_unref(job);
    fixture_end(&f);
}

static void check_row(void *user, const arcp_agent_row *agent)
{
    unsigned *count = user;
    check_text(agent->name);
    check_text(agent->default_version);
    for (size_t i = 0; i < agent->version_count; i++) {
        check_text(agent->versions[i]);
    }
    (*count)++;
}

static void check_state(void *user, const arcp_session_state *state)
{
    unsigned *count = user;
    check_text(state->session_id);
    check_text(state->resume_token);
    (*count)++;
}

static void texts_of_the_session_end_with_nul(void **state)
{
    (void)state;
    fixture f;
    unsigned welcomes = 0;
    unsigned agents = 0;
    fake_runtime_init(&f.runtime);
    arcp_client_options options = fake_runtime_options(&f.runtime);
    options.hooks = (arcp_client_hooks){.welcomed = check_state, .user = &welcomes};
    fixture_begin_with(&f, &options);
    assert_int_equal(welcomes, 1);
    check_ok(arcp_client_agents(f.client, check_row, &agents, &f.err), &f.err);
    assert_true(agents >= 2);

    arcp_buf storage = arcp_buf_init();
    arcp_session_state kept = {0};
    check_ok(arcp_client_session_state(f.client, &storage, &kept, &f.err), &f.err);
    check_state(&welcomes, &kept);
    arcp_buf_fini(&storage);

    const arcp_list_options list = arcp_list_options_init();
    arcp_job_page *page = NULL;
    check_ok(arcp_client_list(f.client, &list, ARCP_WAIT_DEFAULT, &page, &f.err), &f.err);
    const arcp_job_row row = arcp_job_page_row(page, 0);
    const arcp_span texts[] = {
        row.job_id,        row.agent,    row.status_text, row.created_at,
        row.parent_job_id, row.trace_id, row.json,        arcp_job_page_next_cursor(page)};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_text(texts[i]);
    }
    arcp_job_page_free(page);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_jobs_end_with_nul),
        cmocka_unit_test(texts_of_credentials_end_with_nul),
        cmocka_unit_test(texts_of_the_session_end_with_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
