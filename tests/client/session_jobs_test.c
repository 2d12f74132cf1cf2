/* Jobs: when the program hears of them, their events, their ends, what they may spend. */
#include "client/story.h"

#include "client/client_credentials.h"
#include "client/client_job.h"
#include "client/client_parts.h"

#define DEFAULTS ((arcp_client_options)ARCP_CLIENT_OPTIONS_INIT)

#define EVENT_OF(job, seq, kind, body)                                                             \
    "{'arcp':'1.1','id':'e" #seq "','type':'job.event','session_id':'sess_1','job_id':'" job       \
    "','event_seq':" #seq ",'payload':{'kind':'" kind                                              \
    "','ts':'2026-01-01T00:00:00.000Z','body':" body "}}"
#define RESULT_OF(job, seq, members)                                                               \
    "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1','job_id':'" job              \
    "','event_seq':" #seq ",'payload':{'final_status':'success'" members "}}"
#define ERROR_OF(job, seq, members)                                                                \
    "{'arcp':'1.1','id':'r','type':'job.error','session_id':'sess_1','job_id':'" job               \
    "','event_seq':" #seq ",'payload':{" members "}}"
#define ACCEPTED                                                                                   \
    "{'arcp':'1.1','id':'$(job.submit)','type':'job.accepted','session_id':'sess_1','payload':{"   \
    "'request_id':'$(job.submit)','job_id':'job_1','agent':'echo@1.0.0','lease':{},"               \
    "'accepted_at':'2026-01-01T00:00:00.000Z','trace_id':'%(job.submit)'}}"

static void begin_job(story *s)
{
    story_live(s, DEFAULTS);
    story_submit(s, "a", "echo");
    story_hear(s, ACCEPTED);
    story_check_log(s, "reply a ok job_1\n");
}

/* ---- becoming known ---- */

static void events_that_overtake_the_answer_follow_it(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, EVENT_OF("job_1", 1, "log", "{'level':'info','message':'hi'}"));
    story_hear(&s, RESULT_OF("job_1", 2, ",'result':7"));
    story_check_log(&s, "");
    story_hear(&s, ACCEPTED);
    story_check_log(&s, "reply a ok job_1\n"
                        "event job_1 1 log {\"level\":\"info\",\"message\":\"hi\"}\n"
                        "ended job_1 2 success\n");
    story_end(&s);
}

static void held_events_are_let_go_when_the_submit_is_refused(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, EVENT_OF("job_7", 1, "log", "{}"));
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.error','event_seq':2,'payload':{"
                   "'request_id':'$(job.submit)','code':'AGENT_NOT_AVAILABLE','message':'no'}}");
    story_check_log(&s, "reply a AGENT_NOT_AVAILABLE\nadded job_7\nevent job_7 1 log {}\n");
    story_end(&s);
}

static void held_events_are_let_go_when_the_submit_times_out(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, EVENT_OF("job_7", 1, "log", "{}"));
    story_wait(&s, 29000);
    story_hear(&s, "{'arcp':'1.1','id':'p','type':'session.ping','payload':{'nonce':'x'}}");
    story_wait(&s, 1000);
    story_check_log(&s, "reply a DEADLINE\nadded job_7\nevent job_7 1 log {}\n");
    story_end(&s);
}

static void held_events_go_with_the_session(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, EVENT_OF("job_7", 1, "log", "{}"));
    story_check_log(&s, "");
    story_end(&s); /* the leak checker has the word */
}

static void delegated_children_are_announced(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                   "'job_id':'job_2','agent':'child@1','lease':{},'parent_job_id':'job_1',"
                   "'delegate_id':'del_1'}}");
    story_hear(&s, EVENT_OF("job_2", 1, "log", "{}"));
    story_check_log(&s, "added job_2\nevent job_2 1 log {}\n");
    story_end(&s);
}

static void an_idempotent_submit_gets_the_same_job_again(void **state)
{
    story s;
    begin_job(&s);
    story_submit(&s, "b", "echo");
    story_hear(&s, ACCEPTED);
    story_check_log(&s, "reply b ok job_1\n");
    assert_ptr_equal(s.jobs[0], s.jobs[1]);
    story_end(&s);
}

/* ---- events and ends ---- */

static void events_keep_their_text(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, EVENT_OF("job_1", 1, "metric", "{ 'name' : 'cost.x', 'value':1.50e0 }"));
    story_hear(&s, EVENT_OF("job_1", 2, "x-vendor.acme.thing", "[1,2]"));
    story_hear(&s, EVENT_OF("job_1", 3, "trace_span", "null"));
    story_check_log(&s, "event job_1 1 metric {\"name\":\"cost.x\",\"value\":1.50e0}\n"
                        "event job_1 2 x-vendor.acme.thing [1,2]\n"
                        "event job_1 3 trace_span null\n");
    story_end(&s);
}

static void an_event_may_lack_everything_but_its_job(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, "{'arcp':'1.1','id':'e','type':'job.event','payload':{'job_id':'job_1'}}");
    story_hear(&s, "{'arcp':'1.1','id':'e','type':'job.event','job_id':'job_1'}");
    story_hear(&s, "{'arcp':'1.1','id':'e','type':'job.event','payload':{'kind':'log'}}");
    story_check_log(&s, "event job_1 0  \nevent job_1 0  \nnotice INVALID_REQUEST\n");
    story_end(&s);
}

static void nothing_follows_a_jobs_end(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, RESULT_OF("job_1", 1, ",'result':null"));
    story_hear(&s, EVENT_OF("job_1", 2, "log", "{}"));
    story_hear(&s, ERROR_OF("job_1", 3, "'code':'CANCELLED','message':'m'"));
    story_check_log(&s, "ended job_1 1 success\nnotice INVALID_REQUEST\nnotice INVALID_REQUEST\n");
    assert_int_equal(arcp__client_session_last_seq(s.session), 3);
    story_end(&s);
}

static void numbers_run_across_all_jobs_of_the_session(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, EVENT_OF("job_1", 1, "log", "{}"));
    story_hear(&s, EVENT_OF("job_2", 2, "log", "{}"));
    story_hear(&s, EVENT_OF("job_1", 3, "log", "{}"));
    story_check_log(&s, "event job_1 1 log {}\nadded job_2\nevent job_2 2 log {}\n"
                        "event job_1 3 log {}\n");
    story_end(&s);
}

#define STOPPED(members)                                                                           \
    "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1','job_id':'job_1',"           \
    "'event_seq':1,'payload':{" members "}}"

static const struct ending {
    const char *name;
    const char *frame;
    const char *log;
    const char *result;
} endings[] = {
    {"an inline result", RESULT_OF("job_1", 1, ",'result':{ 'a' : 1.0 }"),
     "ended job_1 1 success\n", "{\"a\":1.0}"},
    {"a null result", RESULT_OF("job_1", 1, ",'result':null"), "ended job_1 1 success\n", "null"},
    {"no result", RESULT_OF("job_1", 1, ""), "ended job_1 1 success\n", ""},
    {"a result called output", RESULT_OF("job_1", 1, ",'output':[1]"), "ended job_1 1 success\n",
     "[1]"},
    {"a result called value", RESULT_OF("job_1", 1, ",'value':'v'"), "ended job_1 1 success\n",
     "\"v\""},
    {"an error",
     ERROR_OF("job_1", 1, "'final_status':'error','code':'LEASE_EXPIRED','message':'m'"),
     "ended job_1 1 error LEASE_EXPIRED\n", ""},
    {"a cancellation",
     ERROR_OF("job_1", 1, "'final_status':'cancelled','code':'CANCELLED','message':'m'"),
     "ended job_1 1 cancelled CANCELLED\n", ""},
    {"a cancellation that forgets its status", ERROR_OF("job_1", 1, "'code':'CANCELLED'"),
     "ended job_1 1 cancelled CANCELLED\n", ""},
    {"a timeout that forgets its status", ERROR_OF("job_1", 1, "'code':'TIMEOUT'"),
     "ended job_1 1 timed_out TIMEOUT\n", ""},
    {"an error that calls itself a success",
     ERROR_OF("job_1", 1, "'final_status':'success','code':'TIMEOUT'"),
     "ended job_1 1 timed_out TIMEOUT\n", ""},
    {"a result that says it was cancelled", STOPPED("'final_status':'cancelled','result':1"),
     "ended job_1 1 cancelled CANCELLED\n", ""},
    {"a result that says it timed out", STOPPED("'final_status':'timed_out'"),
     "ended job_1 1 timed_out TIMEOUT\n", ""},
    {"a result that says why it was stopped",
     STOPPED("'final_status':'cancelled','code':'X_STOP','message':'m'"),
     "ended job_1 1 cancelled X_STOP\n", ""},
    {"a result that says it failed", STOPPED("'final_status':'error','code':'LEASE_EXPIRED'"),
     "ended job_1 1 error LEASE_EXPIRED\n", ""},
    {"a result with a status nobody knows", STOPPED("'final_status':'paused','result':1"),
     "ended job_1 1 success\n", "1"},
    {"a code nobody knows", ERROR_OF("job_1", 1, "'code':'X_NEW','message':'m'"),
     "ended job_1 1 error X_NEW\n", ""},
};

static void jobs_end_in_every_way(void **state)
{
    for (size_t row = 0; row < sizeof(endings) / sizeof(endings[0]); row++) {
        story s;
        print_message("  %s\n", endings[row].name);
        begin_job(&s);
        story_hear(&s, endings[row].frame);
        story_check_log(&s, endings[row].log);
        check_span(s.jobs[0]->outcome.result, endings[row].result);
        story_end(&s);
    }
}

static void a_job_is_forgotten_when_it_is_over_and_released(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, RESULT_OF("job_1", 1, ""));
    assert_non_null(s.jobs[0]->session);
    arcp_job *job = s.jobs[0];
    arcp__client_job_hold(job);
    arcp__client_job_drop_handle(job);
    s.job_count = 0;
    arcp__client_session_reap(job);
    assert_null(job->session);
    arcp__client_job_drop(job);
    story_end(&s);
}

/* ---- jobs that have been ---- */

static void submit_with_key(story *s, const char *name, const char *key)
{
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_error err = {0};
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.idempotency_key = arcp_span_cstr(key);
    check_ok(arcp__client_session_submit(s->session, s->now, &options, story_on_reply(),
                                         (void *)name, NULL, &err),
             &err);
    story_drain(s);
}

/* The program gives back its only handle. */
static void let_go(story *s)
{
    arcp_job *job = s->jobs[--s->job_count];
    arcp__client_job_hold(job);
    arcp__client_job_drop_handle(job);
    arcp__client_session_reap(job);
    arcp__client_job_drop(job);
}

static void a_job_of_a_key_is_kept_with_its_outcome(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    submit_with_key(&s, "a", "weekly");
    story_hear(&s, ACCEPTED);
    story_hear(&s, RESULT_OF("job_1", 1, ",'result':7"));
    let_go(&s);
    for (int time = 0; time < 3; time++) {
        arcp_buf_clear(&s.log);
        submit_with_key(&s, "b", "weekly");
        story_hear(&s, ACCEPTED);
        story_check_log(&s, "reply b ok job_1\n");
        assert_true(atomic_load(&s.jobs[0]->over));
        check_span(s.jobs[0]->outcome.result, "7");
        let_go(&s);
    }
    story_end(&s);
}

/* Runs a job of a key to its end with a result of so many bytes, and lets it go. */
static void run_large(story *s, const char *job, size_t size)
{
    arcp_buf frame = ARCP_BUF_INIT;
    char text[512];
    submit_with_key(s, "x", job);
    snprintf(text, sizeof(text),
             "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
             "'request_id':'$(job.submit)','job_id':'%s','lease':{}}}",
             job);
    story_hear(s, text);
    arcp_buf_append_format(&frame,
                           "{'arcp':'1.1','id':'r','type':'job.result','job_id':'%s','payload':{"
                           "'final_status':'success','result':'",
                           job);
    for (size_t at = 0; at < size; at++) {
        arcp_buf_append_byte(&frame, 'r');
    }
    arcp_buf_append_cstr(&frame, "'}}");
    arcp_buf_append_byte(&frame, '\0');
    story_hear(s, frame.data);
    arcp_buf_fini(&frame);
    let_go(s);
    arcp_buf_clear(&s->log);
}

static void what_is_kept_of_the_past_is_bounded(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    run_large(&s, "job_1", 5000000);
    assert_true(s.session->past_bytes > 5000000);
    run_large(&s, "job_2", 5000000);
    assert_true(s.session->past_bytes < ARCP__PAST_BYTES_MAX);
    submit_with_key(&s, "again", "job_2");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                   "'request_id':'$(job.submit)','job_id':'job_2','lease':{}}}");
    story_check_log(&s, "reply again ok job_2\n");
    /* The older one had to go: that is said, not waited for. */
    submit_with_key(&s, "gone", "job_1");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                   "'request_id':'$(job.submit)','job_id':'job_1','lease':{}}}");
    story_check_log(&s, "reply gone CLOSED\n");
    let_go(&s);
    story_end(&s);
}

static void a_late_answer_about_a_job_that_has_been_is_no_new_job(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, RESULT_OF("job_1", 1, ""));
    let_go(&s);
    arcp_buf_clear(&s.log);
    story_hear(&s, ACCEPTED);
    story_check_log(&s, "");
    assert_null(s.session->jobs);
    story_end(&s);
}

static void handles_stay_readable_after_the_session(void **state)
{
    story s;
    begin_job(&s);
    arcp_job *job = s.jobs[0];
    s.job_count = 0;
    story_end(&s);
    check_span(job->id, "job_1");
    check_span(job->agent, "echo@1.0.0");
    arcp__client_job_drop_handle(job);
}

static void who_wants_only_the_outcome_gets_no_events(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.outcome_only = true;
    story_live(&s, DEFAULTS);
    check_ok(arcp__client_session_submit(s.session, s.now, &options, story_on_reply(), (void *)"a",
                                         NULL, &err),
             &err);
    story_drain(&s);
    story_hear(&s, ACCEPTED);
    story_hear(&s, EVENT_OF("job_1", 1, "log", "{}"));
    story_hear(&s, RESULT_OF("job_1", 2, ",'result':1"));
    story_check_log(&s, "reply a ok job_1\nended job_1 2 success\n");
    story_end(&s);
}

/* ---- descriptor ---- */

/* [arcp:9.8.2-15] [arcp:14-10] */
static void the_descriptor_is_kept_without_credentials(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s,
               "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
               "'request_id':'$(job.submit)','job_id':'job_1','agent':'echo@2.0.0','lease':"
               "{'fs.read':['/a']},'lease_constraints':{'expires_at':'2030-01-01T00:00:00Z'},"
               "'parent_job_id':null,'credentials':[{'id':'c1','scheme':'bearer','value':'sk-9'}],"
               "'trace_id':'4bf92f3577b34da6a3ce929d0e0e4736'}}");
    arcp_job *job = s.jobs[0];
    check_span(job->agent, "echo@2.0.0");
    check_span(job->lease, "{\"fs.read\":[\"/a\"]}");
    check_span(job->constraints, "{\"expires_at\":\"2030-01-01T00:00:00Z\"}");
    check_span(job->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    check_span(job->parent_id, "");
    assert_null(memmem(job->descriptor.data, job->descriptor.size, "sk-9", 4));
    assert_null(memmem(job->descriptor.data, job->descriptor.size, "credentials", 11));
    story_end(&s);
}

static void descriptors_of_another_shape_are_survived(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                   "'request_id':'$(job.submit)','job_id':'job_1','agent':7,'lease':[],"
                   "'lease_constraints':null,'budget':'lots','credentials':{},'trace_id':null}}");
    story_check_log(&s, "reply a ok job_1\n");
    check_span(s.jobs[0]->agent, "");
    check_span(s.jobs[0]->lease, "");
    assert_int_equal(s.jobs[0]->budget_count, 0);
    story_end(&s);
}

/* ---- credentials ---- */

static void note_credential(void *user, const arcp_credential *credential)
{
    arcp_buf_append(user, credential->id);
    arcp_buf_append_byte(user, '=');
    arcp_buf_append(user, credential->value);
    arcp_buf_append_byte(user, '@');
    arcp_buf_append(user, credential->endpoint);
    arcp_buf_append_byte(user, ' ');
    arcp_buf_append(user, credential->constraints);
    arcp_buf_append_byte(user, '\n');
}

/* [arcp:9.8.1-2] */
static void only_usable_credentials_are_kept(void **state)
{
    story s;
    arcp_buf seen = ARCP_BUF_INIT;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                   "'request_id':'$(job.submit)','job_id':'job_1','lease':{},'credentials':["
                   "{'id':'c1','scheme':'signed_url','value':'u','endpoint':'e'},"
                   "{'id':'c2','scheme':'bearer','value':'sk\\u002d2','endpoint':'https://g',"
                   "'constraints':{'cost.budget':['USD:5']}},"
                   "{'id':'c3','scheme':'bearer'},{'scheme':'bearer','value':'x'},'nonsense',null,"
                   "{'id':'c4','scheme':'bearer','value':'sk-4'}]}}");
    assert_non_null(s.jobs[0]->credentials);
    assert_int_equal(arcp__client_credentials_visit(s.jobs[0]->credentials, note_credential, &seen),
                     2);
    check_span(arcp_buf_span(&seen),
               "c2=sk-2@https://g {\"cost.budget\":[\"USD:5\"]}\nc4=sk-4@ \n");
    arcp_buf_fini(&seen);
    story_end(&s);
}

/* [arcp:9.8.2-15] [arcp:14-10] */
static void a_rotated_credential_is_handed_over_and_wiped(void **state)
{
    story s;
    begin_job(&s);
    s.keeps_unread = true;
    arcp_buf frame = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&frame, "{\"arcp\":\"1.1\",\"id\":\"e\",\"type\":\"job.event\",\"job_id\":"
                                 "\"job_1\",\"event_seq\":1,\"payload\":{\"kind\":\"status\","
                                 "\"body\":{\"phase\":\"credential_rotated\",\"id\":\"c1\","
                                 "\"value\":\"sk-new\"}}}");
    arcp__client_session_receive(s.session, s.now, arcp_buf_span(&frame));
    arcp__client_item *item = arcp__client_session_next_item(s.session);
    assert_non_null(item);
    assert_true(item->is_secret);
    assert_non_null(memmem(item->event.body.data, item->event.body.size, "sk-new", 6));
    arcp__client_item_free(item);
    arcp_buf_fini(&frame);
    story_end(&s);
}

/* ---- budgets ---- */

static void check_budget(const story *s, size_t at, const char *currency, const char *initial,
                         const char *remaining)
{
    assert_true(at < s->jobs[0]->budget_count);
    assert_string_equal(s->jobs[0]->budgets[at].currency, currency);
    assert_string_equal(s->jobs[0]->budgets[at].initial, initial);
    assert_string_equal(s->jobs[0]->budgets[at].remaining, remaining);
}

static const struct budget_row {
    const char *name;
    const char *members;
    const char *initial;
    const char *remaining;
} budget_rows[] = {
    {"a number", "'lease':{'cost.budget':['USD:5.00']},'budget':{'USD':5.0}", "5.00", "5.0"},
    {"a number in a string", "'lease':{'cost.budget':['USD:5']},'budget':{'USD':'4.5'}", "5",
     "4.5"},
    {"an amount string", "'lease':{'cost.budget':['USD:5']},'budget':{'USD':'USD:5.00'}", "5",
     "5.00"},
    {"more digits than a double has",
     "'lease':{'cost.budget':['USD:0.123456789012345678']},'budget':{'USD':0.123456789012345678}",
     "0.123456789012345678", "0.123456789012345678"},
    {"no budget member", "'lease':{'cost.budget':['USD:5']}", "5", "5"},
    {"two entries of one currency", "'lease':{'cost.budget':['USD:1.5','USD:2']}", "3.5", "3.5"},
    {"a budget without lease", "'budget':{'USD':3}", "", "3"},
    {"nonsense for a number", "'lease':{'cost.budget':['USD:5']},'budget':{'USD':{}}", "5", "5"},
};

static void budgets_are_exact_text(void **state)
{
    for (size_t row = 0; row < sizeof(budget_rows) / sizeof(budget_rows[0]); row++) {
        story s;
        char frame[512];
        print_message("  %s\n", budget_rows[row].name);
        story_live(&s, DEFAULTS);
        story_submit(&s, "a", "echo");
        snprintf(frame, sizeof(frame),
                 "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                 "'request_id':'$(job.submit)','job_id':'job_1',%s}}",
                 budget_rows[row].members);
        story_hear(&s, frame);
        check_budget(&s, 0, "USD", budget_rows[row].initial, budget_rows[row].remaining);
        story_end(&s);
    }
}

static void remaining_reports_move_the_counter(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                   "'request_id':'$(job.submit)','job_id':'job_1','lease':{'cost.budget':"
                   "['USD:5.00','credits:10']},'budget':{'USD':5,'credits':10}}}");
    story_hear(
        &s, EVENT_OF("job_1", 1, "metric", "{'name':'cost.inference','value':0.5,'unit':'USD'}"));
    check_budget(&s, 0, "USD", "5.00", "5");
    story_hear(&s, EVENT_OF("job_1", 2, "metric",
                            "{'name':'cost.budget.remaining','value':4.5,'unit':'USD'}"));
    check_budget(&s, 0, "USD", "5.00", "4.5");
    check_budget(&s, 1, "credits", "10", "10");
    story_hear(&s, EVENT_OF("job_1", 3, "metric",
                            "{'name':'cost.budget.remaining','value':-0.25,'unit':'USD'}"));
    check_budget(&s, 0, "USD", "5.00", "-0.25");
    story_hear(&s, EVENT_OF("job_1", 4, "metric",
                            "{'name':'cost.budget.remaining','value':1,'unit':'EUR'}"));
    check_budget(&s, 2, "EUR", "", "1");
    story_end(&s);
}

static void an_answer_that_comes_again_does_not_refill_the_budget(void **state)
{
    static const char accepted[] =
        "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
        "'request_id':'$(job.submit)','job_id':'job_1','lease':{'cost.budget':['USD:5']},"
        "'budget':{'USD':5}}}";
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, accepted);
    story_hear(&s, EVENT_OF("job_1", 1, "metric",
                            "{'name':'cost.budget.remaining','value':2,'unit':'USD'}"));
    story_hear(&s, accepted);
    check_budget(&s, 0, "USD", "5", "2");
    /* A subscription tells the counters of now. */
    story_subscribe(&s, "b", "job_1", false);
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.subscribed','session_id':'sess_1',"
                   "'payload':{'request_id':'$(job.subscribe)','job_id':'job_1',"
                   "'current_status':'running','lease':{'cost.budget':['USD:5']},"
                   "'budget':{'USD':1.5}}}");
    check_budget(&s, 0, "USD", "5", "1.5");
    story_end(&s);
}

static void the_number_of_budget_counters_is_bounded(void **state)
{
    story s;
    begin_job(&s);
    for (int currency = 0; currency < 40; currency++) {
        char frame[300];
        snprintf(frame, sizeof(frame),
                 "{'arcp':'1.1','id':'e','type':'job.event','job_id':'job_1','payload':{'kind':"
                 "'metric','body':{'name':'cost.budget.remaining','value':1,'unit':'C%d'}}}",
                 currency);
        story_hear(&s, frame);
    }
    assert_int_equal(s.jobs[0]->budget_count, ARCP__JOB_BUDGETS_MAX);
    story_end(&s);
}

/* ---- streamed results through the session ---- */

#define CHUNK(seq, n, data, more)                                                                  \
    EVENT_OF("job_1", seq, "result_chunk",                                                         \
             "{'result_id':'res_1','chunk_seq':" #n ",'data':'" data                               \
             "','encoding':'utf8','more':" more "}")

/* [arcp:8.4-9] */
static void a_streamed_result_is_put_together(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, CHUNK(1, 0, "Hello, ", "true"));
    story_hear(&s, CHUNK(2, 1, "world", "false"));
    story_hear(&s, RESULT_OF("job_1", 3, ",'result_id':'res_1','result_size':12,'summary':'two'"));
    const arcp_outcome *outcome = &s.jobs[0]->outcome;
    assert_int_equal(outcome->status, ARCP_OK);
    check_span(outcome->bytes, "Hello, world");
    check_span(outcome->result_id, "res_1");
    check_span(outcome->summary, "two");
    assert_int_equal(outcome->streamed_bytes, 12);
    story_end(&s);
}

static void a_drop_in_the_middle_of_a_stream_loses_and_doubles_nothing(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, CHUNK(1, 0, "one ", "true"));
    story_drop(&s);
    story_wait_deadline(&s);
    story_connect(&s);
    story_hear(&s, WELCOME);
    story_hear(&s, CHUNK(1, 0, "one ", "true"));
    story_hear(&s, CHUNK(2, 1, "two", "false"));
    story_hear(&s, RESULT_OF("job_1", 3, ",'result_id':'res_1','result_size':7"));
    assert_int_equal(s.jobs[0]->outcome.status, ARCP_OK);
    check_span(s.jobs[0]->outcome.bytes, "one two");
    story_end(&s);
}

static void a_broken_stream_is_a_failed_outcome(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, CHUNK(1, 0, "one ", "true"));
    story_hear(&s, CHUNK(2, 2, "three", "false"));
    arcp_buf_clear(&s.log);
    story_hear(&s, RESULT_OF("job_1", 3, ",'result_id':'res_1'"));
    story_check_log(&s, "ended job_1 3 success CORRUPT\n");
    assert_int_equal(s.jobs[0]->outcome.status, ARCP_E_CORRUPT);
    assert_int_equal(s.jobs[0]->outcome.final_status, ARCP_JOB_SUCCESS);
    story_end(&s);
}

static void a_job_that_fails_while_streaming_fails_for_its_own_reason(void **state)
{
    story s;
    begin_job(&s);
    story_hear(&s, CHUNK(1, 0, "one ", "true"));
    story_hear(&s, ERROR_OF("job_1", 2, "'code':'BUDGET_EXHAUSTED','message':'m'"));
    assert_int_equal(s.jobs[0]->outcome.status, ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(s.jobs[0]->outcome.streamed_bytes, 4);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_that_overtake_the_answer_follow_it),
        cmocka_unit_test(held_events_are_let_go_when_the_submit_is_refused),
        cmocka_unit_test(held_events_are_let_go_when_the_submit_times_out),
        cmocka_unit_test(held_events_go_with_the_session),
        cmocka_unit_test(delegated_children_are_announced),
        cmocka_unit_test(an_idempotent_submit_gets_the_same_job_again),
        cmocka_unit_test(events_keep_their_text),
        cmocka_unit_test(an_event_may_lack_everything_but_its_job),
        cmocka_unit_test(nothing_follows_a_jobs_end),
        cmocka_unit_test(numbers_run_across_all_jobs_of_the_session),
        cmocka_unit_test(jobs_end_in_every_way),
        cmocka_unit_test(a_job_is_forgotten_when_it_is_over_and_released),
        cmocka_unit_test(a_job_of_a_key_is_kept_with_its_outcome),
        cmocka_unit_test(what_is_kept_of_the_past_is_bounded),
        cmocka_unit_test(a_late_answer_about_a_job_that_has_been_is_no_new_job),
        cmocka_unit_test(handles_stay_readable_after_the_session),
        cmocka_unit_test(who_wants_only_the_outcome_gets_no_events),
        cmocka_unit_test(the_descriptor_is_kept_without_credentials),
        cmocka_unit_test(descriptors_of_another_shape_are_survived),
        cmocka_unit_test(only_usable_credentials_are_kept),
        cmocka_unit_test(a_rotated_credential_is_handed_over_and_wiped),
        cmocka_unit_test(budgets_are_exact_text),
        cmocka_unit_test(remaining_reports_move_the_counter),
        cmocka_unit_test(an_answer_that_comes_again_does_not_refill_the_budget),
        cmocka_unit_test(the_number_of_budget_counters_is_bounded),
        cmocka_unit_test(a_streamed_result_is_put_together),
        cmocka_unit_test(a_drop_in_the_middle_of_a_stream_loses_and_doubles_nothing),
        cmocka_unit_test(a_broken_stream_is_a_failed_outcome),
        cmocka_unit_test(a_job_that_fails_while_streaming_fails_for_its_own_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
