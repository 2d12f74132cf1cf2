/* Replies to requests (src/client/client_events.c, client_items.c). */
#include "client/story.h"

#include "client/client_job.h"

static void listings_are_returned_as_pages(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_list(&s, "l");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'session.jobs','session_id':'sess_1','payload':{"
                  "'request_id':'$(session.list_jobs)','jobs':[{'job_id':'job_1','agent':'echo@1',"
                  "'status':'running','created_at':'2026-01-01T00:00:00.000Z','parent_job_id':null,"
                  "'trace_id':'t','last_event_seq':7,'credentials':[{'value':'sk-1'}],'lease':{}},"
                  "{'job_id':'job_2','status':'dreaming','submitted_at':'yesterday'}],"
                  "'next_cursor':'c\\\\1'}}");
    story_check_log(&s, "reply l ok\n");
    assert_int_equal(arcp_job_page_count(s.page), 2);
    arcp_job_row row = arcp_job_page_row(s.page, 0);
    check_span(row.job_id, "job_1");
    check_span(row.agent, "echo@1");
    assert_int_equal(row.status, ARCP_JOB_RUNNING);
    check_span(row.created_at, "2026-01-01T00:00:00.000Z");
    check_span(row.parent_job_id, "");
    assert_int_equal(row.last_event_seq, 7);
    assert_null(memmem(row.json.data, row.json.size, "sk-1", 4));
    row = arcp_job_page_row(s.page, 1);
    assert_int_equal(row.status, ARCP_JOB_STATUS_COUNT);
    check_span(row.status_text, "dreaming");
    check_span(row.created_at, "yesterday");
    check_span(arcp_job_page_next_cursor(s.page), "c\\1");
    story_end(&s);
}

static void a_page_without_cursor_is_the_last(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_list(&s, "l");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'session.jobs','session_id':'sess_1','payload':{"
                  "'jobs':[],'next_cursor':null}}");
    assert_int_equal(arcp_job_page_count(s.page), 0);
    check_span(arcp_job_page_next_cursor(s.page), "");
    story_end(&s);
}

static void a_pong_is_matched_by_its_nonce(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_ping(&s, "p");
    story_check_member(story_sent(&s, "session.ping"), "payload/sent_at",
                       "\"2026-01-01T00:00:00.000Z\"");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'session.pong','session_id':'sess_1','payload':{"
                  "'ping_nonce':'somebody'}}");
    story_check_log(&s, "");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'session.pong','session_id':'sess_1','payload':{"
                  "'ping_nonce':'$(session.ping)'}}");
    story_check_log(&s, "reply p ok\n");
    story_end(&s);
}

/* [arcp:EG-3] [arcp:EG-4] */
static void errors_keep_code_message_details_and_retryable(void **state)
{
    static const struct {
        const char *name;
        const char *members;
        arcp_status status;
        const char *code;
        bool retryable;
        const char *details;
    } rows[] = {
        {"all members",
         "'code':'DUPLICATE_KEY','message':'m','retryable':false,'details':{'job_id':'j'}",
         ARCP_E_DUPLICATE_KEY, "DUPLICATE_KEY", false, "{\"job_id\":\"j\"}"},
        {"detail as a string", "'code':'TIMEOUT','message':'m','detail':'why'", ARCP_E_TIMEOUT,
         "TIMEOUT", true, "\"why\""},
        {"null details", "'code':'TIMEOUT','message':'m','retryable':false,'details':null",
         ARCP_E_TIMEOUT, "TIMEOUT", false, ""},
        {"an unknown code is not retryable", "'code':'X_NEW','message':'m'", ARCP_E_INTERNAL_ERROR,
         "X_NEW", false, ""},
        {"an unknown code marked as retryable", "'code':'X_NEW','message':'m','retryable':true",
         ARCP_E_INTERNAL_ERROR, "X_NEW", true, ""},
        {"BUDGET_EXHAUSTED never is", "'code':'BUDGET_EXHAUSTED','message':'m','retryable':true",
         ARCP_E_BUDGET_EXHAUSTED, "BUDGET_EXHAUSTED", false, ""},
        {"no message", "'code':'JOB_NOT_FOUND'", ARCP_E_JOB_NOT_FOUND, "JOB_NOT_FOUND", false, ""},
        {"no code", "'message':'m'", ARCP_E_INTERNAL_ERROR, "", false, ""},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        story s;
        char frame[512];
        print_message("  %s\n", rows[row].name);
        story_live(&s, DEFAULTS);
        story_submit(&s, "a", "echo");
        arcp_buf_clear(&s.log);
        snprintf(frame, sizeof frame,
                 "{\"arcp\":\"1.1\",\"id\":\"e\",\"type\":\"job.error\",\"job_id\":\"job_1\","
                 "\"event_seq\":1,\"payload\":{%s}}",
                 rows[row].members);
        story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
        story_receive(&s, frame);
        const arcp_outcome *outcome = &s.jobs[0]->outcome;
        assert_true(s.jobs[0]->over);
        assert_int_equal(outcome->status, rows[row].status);
        assert_string_equal(outcome->error->code, rows[row].code);
        assert_int_equal(outcome->error->retryable, rows[row].retryable);
        assert_true(outcome->error->message[0] != '\0');
        assert_string_equal(arcp_error_details(outcome->error), rows[row].details);
        story_end(&s);
    }
}

/* A code that is longer than its array is cut between two characters. */
static void a_long_code_is_cut(void **state)
{
    static const struct {
        const char *end; /* after 60 letters */
        size_t kept;     /* bytes of all */
    } rows[] = {
        {"xxx", 63},
        {"xxxx", 63},
        {"x\xc3\xa4", 63},
        {"xx\xc3\xa4", 62},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        story s;
        char code[80];
        memset(code, 'C', 60);
        (void)snprintf(code + 60, sizeof code - 60, "%s", rows[i].end);
        story_live(&s, DEFAULTS);
        story_submit(&s, "a", "echo");
        story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
        story_receive_format(&s,
                             "{'arcp':'1.1','id':'e','type':'job.error','job_id':'job_1',"
                             "'event_seq':1,'payload':{'code':'%s','message':'m'}}",
                             code);
        code[rows[i].kept] = '\0';
        assert_string_equal(s.jobs[0]->outcome.error->code, code);
        story_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listings_are_returned_as_pages),
        cmocka_unit_test(a_page_without_cursor_is_the_last),
        cmocka_unit_test(a_pong_is_matched_by_its_nonce),
        cmocka_unit_test(errors_keep_code_message_details_and_retryable),
        cmocka_unit_test(a_long_code_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
