/* Requests: what they look like, and that each gets its own answer, whatever way the runtime
 * has of saying which one it is. */
#include "client/story.h"

#include "client/client_job.h"

#define DEFAULTS ((arcp_client_options)ARCP_CLIENT_OPTIONS_INIT)

static arcp_status submit(story *s, const char *name, const arcp_submit_options *options,
                          arcp_error *err)
{
    arcp_status status = arcp__client_session_submit(s->session, s->now, options, story_on_reply(),
                                                     (void *)name, NULL, err);
    story_drain(s);
    return status;
}

/* ---- what is sent ---- */

static void a_submit_carries_everything_on_one_line(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("echo@1.0.0");
    options.input = ARCP_SPAN_LITERAL("{ \"n\" : 1.50,\n \"t\":\"a b\" }");
    options.lease = ARCP_SPAN_LITERAL("{\"fs.read\": [\"/srv/**\"]}");
    options.constraints = ARCP_SPAN_LITERAL("{\"expires_at\": \"2030-01-01T00:00:00Z\"}");
    options.idempotency_key = ARCP_SPAN_LITERAL("k1");
    options.max_runtime_sec = 60;
    story_live(&s, DEFAULTS);
    check_ok(submit(&s, "a", &options, &err), &err);
    const char *frame = story_sent(&s, "job.submit");
    story_check_member(frame, "session_id", "\"sess_1\"");
    story_check_member(frame, "payload",
                       "{\"agent\":\"echo@1.0.0\",\"input\":{\"n\":1.50,\"t\":\"a b\"},"
                       "\"lease_request\":{\"fs.read\":[\"/srv/**\"]},"
                       "\"lease_constraints\":{\"expires_at\":\"2030-01-01T00:00:00Z\"},"
                       "\"idempotency_key\":\"k1\",\"max_runtime_sec\":60}");
    assert_null(strchr(frame, '\n'));
    story_end(&s);
}

static void a_built_lease_is_written_and_its_features_are_needed(void **state)
{
    static const struct {
        const char *lease;
        const char *constraints;
        const char *log; /* without any feature */
    } rows[] = {
        {"{\"fs.read\":[\"/a\"]}", "", ""},
        {"{\"cost.budget\":[\"USD:1\"]}", "", "reply b INVALID_REQUEST\n"},
        {"{\"model.use\":[\"m\"]}", "", "reply b INVALID_REQUEST\n"},
        {"{}", "{\"expires_at\":\"2199-01-01T00:00:00Z\"}", "reply b INVALID_REQUEST\n"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        const arcp_lease_limits limits = ARCP_LEASE_LIMITS_DEFAULT;
        arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
        arcp_client_options bare = DEFAULTS;
        arcp_lease *lease = NULL;
        arcp_error err = {0};
        story s;
        check_ok(arcp_lease_parse(arcp_span_cstr(rows[row].lease),
                                  arcp_span_cstr(rows[row].constraints), &limits, &lease, &err),
                 &err);
        options.agent = ARCP_SPAN_LITERAL("echo");
        options.built = lease;
        story_live(&s, DEFAULTS);
        check_ok(submit(&s, "a", &options, &err), &err);
        story_check_member(story_sent(&s, "job.submit"), "payload/lease_request", rows[row].lease);
        story_check_member(story_sent(&s, "job.submit"), "payload/lease_constraints",
                           rows[row].constraints);
        story_end(&s);

        bare.features = 0;
        story_live(&s, bare);
        check_ok(submit(&s, "b", &options, &err), &err);
        story_check_log(&s, rows[row].log);
        story_end(&s);
        arcp_lease_unref(lease);
    }
}

static void a_submit_without_extras_leaves_them_out(void **state)
{
    story s;
    arcp_client_options plain = DEFAULTS;
    plain.no_auto_key = true;
    story_live(&s, plain);
    story_submit(&s, "a", "echo");
    story_check_member(story_sent(&s, "job.submit"), "payload",
                       "{\"agent\":\"echo\",\"input\":{}}");
    story_end(&s);
}

static void a_submit_gets_a_key_of_its_own_so_that_it_can_be_repeated(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_submit(&s, "b", "echo");
    assert_non_null(strstr(story_sent_nth(&s, "job.submit", 1), "\"idempotency_key\":\"auto_"));
    assert_string_not_equal(strstr(story_sent_nth(&s, "job.submit", 1), "auto_"),
                            strstr(story_sent_nth(&s, "job.submit", 2), "auto_"));
    story_end(&s);
}

/* [arcp:11-1] */
static void a_traceparent_gives_its_trace_and_travels_whole(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.traceparent =
        ARCP_SPAN_LITERAL("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    options.tracestate = ARCP_SPAN_LITERAL("a=1");
    story_live(&s, DEFAULTS);
    check_ok(submit(&s, "a", &options, &err), &err);
    const char *frame = story_sent(&s, "job.submit");
    story_check_member(frame, "trace_id", "\"4bf92f3577b34da6a3ce929d0e0e4736\"");
    story_check_member(
        frame, "extensions",
        "{\"x-vendor.opentelemetry.tracecontext\":{\"traceparent\":"
        "\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\",\"tracestate\":\"a=1\"}}");
    story_end(&s);
}

static const struct bad_submit {
    const char *name;
    const char *agent;
    const char *input;
    const char *lease;
    const char *says;
} bad_submits[] = {
    {"no agent", "", "{}", "", "agent"},
    {"an agent outside the grammar", "Bad Name", "{}", "", "Bad Name"},
    {"an input that is no JSON", "echo", "{oops}", "", "input"},
    {"an input with a name twice", "echo", "{\"a\":1,\"a\":2}", "", "input"},
    {"a lease that is no object", "echo", "{}", "[]", "lease"},
};

static void a_submit_that_cannot_be_right_is_refused_at_once(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    for (size_t row = 0; row < sizeof(bad_submits) / sizeof(bad_submits[0]); row++) {
        const struct bad_submit *bad = &bad_submits[row];
        arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
        arcp_error err = {0};
        print_message("  %s\n", bad->name);
        options.agent = arcp_span_cstr(bad->agent);
        options.input = arcp_span_cstr(bad->input);
        options.lease = arcp_span_cstr(bad->lease);
        assert_int_equal(submit(&s, "a", &options, &err), ARCP_E_INVALID_REQUEST);
        assert_non_null(strstr(err.message, bad->says));
    }
    assert_null(story_sent(&s, "job.submit"));
    story_end(&s);
}

/* [arcp:7.4-1] */
static void a_cancel_names_the_job_twice_and_always_has_a_reason(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_cancel(&s, "c", "job_1");
    const char *frame = story_sent(&s, "job.cancel");
    story_check_member(frame, "job_id", "\"job_1\"");
    story_check_member(frame, "payload",
                       "{\"job_id\":\"job_1\",\"reason\":\"cancelled by the client\"}");
    story_end(&s);
}

/* [arcp:7.6-1] [arcp:7.6-2] */
static void subscriptions_say_from_where(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_subscribe_options options = ARCP_SUBSCRIBE_OPTIONS_INIT;
    story_live(&s, DEFAULTS);
    story_subscribe(&s, "a", "job_1", false);
    story_check_member(story_sent(&s, "job.subscribe"), "payload",
                       "{\"job_id\":\"job_1\",\"history\":false}");
    story_subscribe(&s, "b", "job_1", true);
    story_check_member(story_sent(&s, "job.subscribe"), "payload",
                       "{\"job_id\":\"job_1\",\"from_event_seq\":0,\"history\":true}");
    options.job_id = ARCP_SPAN_LITERAL("job_1");
    options.history = true;
    options.has_from_event_seq = true;
    options.from_event_seq = 17;
    check_ok(arcp__client_session_subscribe(s.session, s.now, &options, story_on_reply(),
                                            (void *)"c", NULL, &err),
             &err);
    story_drain(&s);
    story_check_member(story_sent(&s, "job.subscribe"), "payload/from_event_seq", "17");
    check_ok(arcp__client_session_unsubscribe(s.session, s.now, ARCP_SPAN_LITERAL("job_1"), &err),
             &err);
    story_drain(&s);
    story_check_member(story_sent(&s, "job.unsubscribe"), "payload", "{\"job_id\":\"job_1\"}");
    story_end(&s);
}

/* [arcp:6.6-1] */
static void a_listing_sends_its_filters_limit_and_cursor(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_list_options options = ARCP_LIST_OPTIONS_INIT;
    options.statuses = (1u << ARCP_JOB_RUNNING) | (1u << ARCP_JOB_TIMED_OUT);
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.created_after = ARCP_SPAN_LITERAL("2026-01-01T00:00:00Z");
    options.created_before = ARCP_SPAN_LITERAL("2026-01-02T00:00:00Z");
    options.limit = 7;
    options.cursor = ARCP_SPAN_LITERAL("c\"1");
    story_live(&s, DEFAULTS);
    check_ok(arcp__client_session_list(s.session, s.now, &options, story_on_reply(), (void *)"l",
                                       NULL, &err),
             &err);
    story_drain(&s);
    story_check_member(story_sent(&s, "session.list_jobs"), "payload",
                       "{\"filter\":{\"status\":[\"running\",\"timed_out\"],\"agent\":\"echo\","
                       "\"created_after\":\"2026-01-01T00:00:00Z\","
                       "\"created_before\":\"2026-01-02T00:00:00Z\"},\"limit\":7,"
                       "\"cursor\":\"c\\\"1\"}");
    story_end(&s);
}

/* ---- what was not negotiated ---- */

static const struct unnegotiated {
    const char *name;
    const char *agent;
    const char *lease;
    const char *constraints;
    const char *feature;
} unnegotiated[] = {
    {"a version", "echo@1", "", "", "agent_versions"},
    {"a budget", "echo", "{\"cost.budget\":[\"USD:1\"]}", "", "cost.budget"},
    {"models", "echo", "{\"model.use\":[\"m\"]}", "", "model.use"},
    {"an expiry", "echo", "", "{\"expires_at\":\"2030-01-01T00:00:00Z\"}", "lease_expires_at"},
};

/* [arcp:6.2-4] */
static void features_outside_the_intersection_are_not_used(void **state)
{
    for (size_t row = 0; row < sizeof(unnegotiated) / sizeof(unnegotiated[0]); row++) {
        story s;
        arcp_error err = {0};
        arcp_client_options bare = DEFAULTS;
        arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
        print_message("  %s\n", unnegotiated[row].name);
        bare.features = 0;
        story_live(&s, bare);
        options.agent = arcp_span_cstr(unnegotiated[row].agent);
        options.lease = arcp_span_cstr(unnegotiated[row].lease);
        options.constraints = arcp_span_cstr(unnegotiated[row].constraints);
        check_ok(submit(&s, "a", &options, &err), &err);
        story_check_log(&s, "reply a INVALID_REQUEST\n");
        assert_null(story_sent(&s, "job.submit"));
        story_end(&s);
    }
}

static void listing_and_subscribing_need_their_features(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_client_options bare = DEFAULTS;
    bare.features = 0;
    story_live(&s, bare);
    story_list(&s, "l");
    story_subscribe(&s, "s", "job_1", true);
    story_check_log(&s, "reply l INVALID_REQUEST\nreply s INVALID_REQUEST\n");
    assert_int_equal(
        arcp__client_session_unsubscribe(s.session, s.now, ARCP_SPAN_LITERAL("j"), &err),
        ARCP_E_CLOSED);
    story_end(&s);
}

/* ---- which request an answer belongs to ---- */

typedef struct binding_row {
    const char *name;
    bool plain; /* a runtime that names nothing in its welcome */
    const char *frames[3];
    const char *log;
} binding_row;

#define ACCEPTED(id, members, job)                                                                 \
    "{'arcp':'1.1','id':'" id "','type':'job.accepted','session_id':'sess_1','payload':{" members  \
    "'job_id':'" job "','lease':{}}}"
#define REFUSED(id, members)                                                                       \
    "{'arcp':'1.1','id':'" id "','type':'job.error','session_id':'sess_1',"                        \
    "'payload':{" members "'code':'AGENT_NOT_AVAILABLE','message':'no','final_status':'error'}}"
#define SESSION_ERROR(id, members)                                                                 \
    "{'arcp':'1.1','id':'" id "','type':'session.error','session_id':'sess_1',"                    \
    "'payload':{" members "'code':'AGENT_NOT_AVAILABLE','message':'no'}}"

/* Two submits are out: a, then b. */
static const binding_row bindings[] = {
    {"by request_id, out of order",
     false,
     {ACCEPTED("x", "'request_id':'$(job.submit 2)',", "job_b"),
      ACCEPTED("y", "'request_id':'$(job.submit 1)',", "job_a")},
     "reply b ok job_b\nreply a ok job_a\n"},
    {"by reply_to",
     true,
     {ACCEPTED("x", "'reply_to':'$(job.submit 2)',", "job_b"),
      ACCEPTED("y", "'reply_to':'$(job.submit 1)',", "job_a")},
     "reply b ok job_b\nreply a ok job_a\n"},
    {"by correlation_id in the payload",
     true,
     {ACCEPTED("x", "'correlation_id':'$(job.submit 2)',", "job_b")},
     "reply b ok job_b\n"},
    {"by the echoed envelope id",
     true,
     {ACCEPTED("$(job.submit 2)", "", "job_b"), ACCEPTED("$(job.submit 1)", "", "job_a")},
     "reply b ok job_b\nreply a ok job_a\n"},
    {"by the trace id",
     true,
     {ACCEPTED("x", "'trace_id':'%(job.submit)',", "job_b"), ACCEPTED("y", "", "job_a")},
     "reply b ok job_b\nreply a ok job_a\n"},
    {"by order",
     true,
     {ACCEPTED("x", "", "job_a"), ACCEPTED("y", "", "job_b")},
     "reply a ok job_a\nreply b ok job_b\n"},
    {"a name that is nobody's is nobody's",
     true,
     {ACCEPTED("x", "'request_id':'somebody_elses',", "job_c"), ACCEPTED("y", "", "job_a")},
     "added job_c\nreply a ok job_a\n"},
    {"a runtime that names requests is never guessed at",
     false,
     {ACCEPTED("x", "", "job_c"), ACCEPTED("y", "'request_id':'$(job.submit 1)',", "job_a"),
      ACCEPTED("z", "'request_id':'$(job.submit 2)',", "job_b")},
     "reply a ok job_a\nreply b ok job_b\nadded job_c\n"},
    {"a child is no answer, not even by its trace",
     true,
     {ACCEPTED("x", "'trace_id':'%(job.submit)','parent_job_id':'job_0','delegate_id':'d1',",
               "job_c"),
      ACCEPTED("y", "", "job_a")},
     "added job_c\nreply a ok job_a\n"},
    {"a null parent is no parent",
     true,
     {ACCEPTED("x", "'parent_job_id':null,", "job_a")},
     "reply a ok job_a\n"},
    {"a refusal by request_id spares the other",
     false,
     {REFUSED("x", "'request_id':'$(job.submit 2)',"),
      ACCEPTED("y", "'request_id':'$(job.submit 1)',", "job_a")},
     "reply b AGENT_NOT_AVAILABLE\nreply a ok job_a\n"},
    {"a refusal by the echoed id",
     true,
     {REFUSED("$(job.submit 2)", ""), ACCEPTED("y", "", "job_a")},
     "reply b AGENT_NOT_AVAILABLE\nreply a ok job_a\n"},
    {"a refusal without any name is the oldest one's",
     true,
     {REFUSED("x", ""), ACCEPTED("y", "", "job_b")},
     "reply a AGENT_NOT_AVAILABLE\nreply b ok job_b\n"},
    {"a refusal by trace",
     true,
     {REFUSED("x", "'trace_id':'%(job.submit)',")},
     "reply b AGENT_NOT_AVAILABLE\n"},
    {"a session.error with request_id",
     false,
     {SESSION_ERROR("x", "'request_id':'$(job.submit 2)',"),
      ACCEPTED("y", "'request_id':'$(job.submit 1)',", "job_a")},
     "reply b AGENT_NOT_AVAILABLE\nreply a ok job_a\n"},
    {"a session.error without any name is the oldest one's",
     true,
     {SESSION_ERROR("x", ""), ACCEPTED("y", "", "job_b")},
     "reply a AGENT_NOT_AVAILABLE\nreply b ok job_b\n"},
    {"a nack",
     true,
     {"{'arcp':'1.1','id':'x','type':'nack','payload':{'code':'INVALID_REQUEST','message':'no'}}"},
     "reply a INVALID_REQUEST\n"},
    {"a refusal of what was given up is nobody's",
     false,
     {REFUSED("x", "'request_id':'msg_01AAAAAAAAAAAAAAAAAAAAAAAA',")},
     ""},
    {"an unnamed session.error of a runtime that names requests refuses nothing",
     false,
     {SESSION_ERROR("x", "")},
     ""},
    {"an accepted without a job id",
     false,
     {"{'arcp':'1.1','id':'x','type':'job.accepted','payload':{'request_id':'$(job.submit 1)'}}"},
     "notice INVALID_REQUEST\n"},
};

static void every_answer_finds_its_request(void **state)
{
    for (size_t row = 0; row < sizeof(bindings) / sizeof(bindings[0]); row++) {
        story s;
        print_message("  %s\n", bindings[row].name);
        if (bindings[row].plain) {
            story_live_plain(&s, DEFAULTS);
        } else {
            story_live(&s, DEFAULTS);
        }
        story_submit(&s, "a", "echo");
        story_submit(&s, "b", "echo");
        for (size_t at = 0; at < 3 && bindings[row].frames[at] != NULL; at++) {
            story_hear(&s, bindings[row].frames[at]);
        }
        story_check_log(&s, bindings[row].log);
        story_end(&s);
    }
}

static void cancels_and_subscriptions_are_bound_by_their_job(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_cancel(&s, "c1", "job_1");
    story_cancel(&s, "c2", "job_2");
    story_subscribe(&s, "s1", "job_3", false);
    story_subscribe(&s, "s2", "job_4", false);
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.cancelled','session_id':'sess_1',"
                   "'job_id':'job_2','payload':{}}");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.subscribed','session_id':'sess_1',"
                   "'payload':{'job_id':'job_4','current_status':'running','agent':'echo@1',"
                   "'lease':{},'replayed':3}}");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.cancelled','session_id':'sess_1',"
                   "'payload':{'job_id':'job_1','reason':'because'}}");
    story_check_log(&s, "reply c2 ok\nreply s2 ok job_4\nreply c1 ok\n");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'session.error','session_id':'sess_1',"
                   "'job_id':'job_3','payload':{'code':'PERMISSION_DENIED','message':'no'}}");
    story_check_log(&s, "reply s1 PERMISSION_DENIED\n");
    story_end(&s);
}

static void a_cancelled_job_answers_a_cancel_that_has_no_answer_of_its_own(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_cancel(&s, "other", "job_2");
    story_cancel(&s, "c", "job_1");
    story_hear(&s, "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1',"
                   "'job_id':'job_1','event_seq':1,'payload':{'final_status':'cancelled'}}");
    story_check_log(&s, "reply a ok job_1\nreply c ok\nended job_1 1 cancelled CANCELLED\n");
    story_end(&s);
}

static void a_cancel_waits_for_its_answer_where_answers_are_named(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_cancel(&s, "c", "job_1");
    story_hear(&s, "{'arcp':'1.1','id':'r','type':'job.error','session_id':'sess_1',"
                   "'job_id':'job_1','event_seq':1,'payload':{'final_status':'cancelled',"
                   "'code':'CANCELLED','message':'m'}}");
    story_check_log(&s, "reply a ok job_1\nended job_1 1 cancelled CANCELLED\n");
    story_hear(&s, "{'arcp':'1.1','id':'$(job.cancel)','type':'job.error','session_id':'sess_1',"
                   "'event_seq':2,'payload':{'request_id':'$(job.cancel)',"
                   "'code':'JOB_NOT_FOUND','message':'gone'}}");
    story_check_log(&s, "reply c JOB_NOT_FOUND\n");
    story_end(&s);
}

static void a_cancel_of_a_job_that_ends_otherwise_is_not_answered_by_that(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_cancel(&s, "c", "job_1");
    story_hear(&s, "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1',"
                   "'job_id':'job_1','event_seq':1,'payload':{'final_status':'success'}}");
    story_check_log(&s, "reply a ok job_1\nended job_1 1 success\n");
    story_end(&s);
}

static void cancel_refusals_arrive_as_errors_with_the_request_id(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_cancel(&s, "c", "job_9");
    story_hear(&s, "{'arcp':'1.1','id':'$(job.cancel)','type':'job.error','session_id':'sess_1',"
                   "'event_seq':1,'payload':{'request_id':'$(job.cancel)','code':'JOB_NOT_FOUND',"
                   "'message':'no job_9','retryable':false,'final_status':'error',"
                   "'details':{'job_id':'job_9'}}}");
    story_check_log(&s, "reply c JOB_NOT_FOUND\n");
    assert_int_equal(arcp__client_session_last_seq(s.session), 1);
    story_end(&s);
}

static void a_refusal_is_never_a_jobs_end(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_cancel(&s, "c", "job_1");
    story_hear(&s, "{'arcp':'1.1','id':'$(job.cancel)','type':'job.error','session_id':'sess_1',"
                   "'job_id':'job_1','event_seq':1,'payload':{'request_id':'$(job.cancel)',"
                   "'code':'PERMISSION_DENIED','message':'not yours','final_status':'error'}}");
    story_hear(&s, "{'arcp':'1.1','id':'r','type':'job.error','session_id':'sess_1',"
                   "'job_id':'job_1','event_seq':2,'payload':{'request_id':'gone',"
                   "'code':'PERMISSION_DENIED','message':'not yours','final_status':'error'}}");
    story_hear(&s, "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1',"
                   "'job_id':'job_1','event_seq':3,'payload':{'final_status':'success',"
                   "'result':1}}");
    story_check_log(&s, "reply a ok job_1\nreply c PERMISSION_DENIED\nended job_1 3 success\n");
    story_end(&s);
}

static void listings_come_back_as_pages(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_list(&s, "l");
    story_hear(&s,
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
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'session.jobs','session_id':'sess_1','payload':{"
                   "'jobs':[],'next_cursor':null}}");
    assert_int_equal(arcp_job_page_count(s.page), 0);
    check_span(arcp_job_page_next_cursor(s.page), "");
    story_end(&s);
}

static void a_pong_is_bound_by_its_nonce(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_ping(&s, "p");
    story_check_member(story_sent(&s, "session.ping"), "payload/sent_at",
                       "\"2026-01-01T00:00:00.000Z\"");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'session.pong','session_id':'sess_1','payload':{"
                   "'ping_nonce':'somebody'}}");
    story_check_log(&s, "");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'session.pong','session_id':'sess_1','payload':{"
                   "'ping_nonce':'$(session.ping)'}}");
    story_check_log(&s, "reply p ok\n");
    story_end(&s);
}

/* ---- deadlines, drops, the end ---- */

static void a_request_that_is_never_answered_ends_by_its_deadline(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.request_timeout_ms = 5000;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    story_list(&s, "l");
    story_wait(&s, 4999);
    story_check_log(&s, "");
    story_wait(&s, 1);
    story_check_log(&s, "reply a DEADLINE\nreply l DEADLINE\n");
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "added job_1\n");
    story_end(&s);
}

static void a_late_answer_does_not_go_to_the_next_request(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.request_timeout_ms = 5000;
    story_live_plain(&s, options);
    story_submit(&s, "a", "echo");
    story_wait(&s, 5000);
    story_submit(&s, "b", "echo");
    story_hear(&s, ACCEPTED("x", "", "job_a"));
    story_hear(&s, ACCEPTED("y", "", "job_b"));
    story_check_log(&s, "reply a DEADLINE\nadded job_a\nreply b ok job_b\n");
    story_end(&s);
}

static void an_abandoned_request_gets_no_reply(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp__client_request *request = NULL;
    options.agent = ARCP_SPAN_LITERAL("echo");
    story_live(&s, DEFAULTS);
    check_ok(arcp__client_session_submit(s.session, s.now, &options, story_on_reply(), (void *)"a",
                                         &request, &err),
             &err);
    story_drain(&s);
    arcp__client_request_abandon(s.session, request);
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_wait(&s, 60000);
    arcp_span log = arcp_buf_span(&s.log);
    assert_null(memmem(log.data, log.size, "reply", 5));
    story_end(&s);
}

static void requests_made_before_the_welcome_are_sent_after_it(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_start(&s);
    story_connect(&s);
    assert_null(story_sent(&s, "job.submit"));
    story_hear(&s, WELCOME);
    assert_non_null(story_sent(&s, "job.submit"));
    story_end(&s);
}

#define WELCOME_AGAIN                                                                              \
    "{'arcp':'1.1','id':'w2','type':'session.welcome','session_id':'sess_1','payload':{"           \
    "'request_id':'$(session.hello)','resume_token':'rt_2','resume_window_sec':600,"               \
    "'capabilities':{'features':['ack','list_jobs','subscribe']}}}"

static void come_back(story *s)
{
    story_drop(s);
    story_wait_deadline(s);
    story_connect(s);
    story_hear(s, WELCOME_AGAIN);
    arcp_buf_clear(&s->log);
}

static void what_was_not_answered_is_sent_again_under_the_same_id(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_list(&s, "l");
    story_cancel(&s, "c", "job_7");
    come_back(&s);
    assert_int_equal(story_sent_count(&s, "job.submit"), 2);
    assert_string_equal(story_sent_nth(&s, "job.submit", 1), story_sent_nth(&s, "job.submit", 2));
    assert_int_equal(story_sent_count(&s, "session.list_jobs"), 2);
    assert_int_equal(story_sent_count(&s, "job.cancel"), 2);
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_hear(&s, ACCEPTED("y", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

static void a_submit_without_any_key_is_not_sent_twice(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.no_auto_key = true;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    come_back(&s);
    assert_int_equal(story_sent_count(&s, "job.submit"), 1);
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

/* The runtime repeats what it accepted (PROTOCOL, resume), naming no request. */
static void come_back_to_a_runtime_that_repeats(story *s)
{
    story_drop(s);
    story_wait_deadline(s);
    story_connect(s);
    story_hear(s, WELCOME);
    arcp_buf_clear(&s->log);
    story_hear(s, "{'arcp':'1.1','id':'r','type':'job.accepted','session_id':'sess_1',"
                  "'job_id':'job_1','trace_id':'%(job.submit)','payload':{'job_id':'job_1',"
                  "'lease':{}}}");
}

static void what_was_accepted_twice_waits_for_the_answer_that_names_the_submit(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    come_back_to_a_runtime_that_repeats(&s);
    story_hear(&s, "{'arcp':'1.1','id':'e','type':'job.event','session_id':'sess_1','event_seq':1,"
                   "'job_id':'job_1','payload':{'kind':'log','ts':'','body':{}}}");
    story_check_log(&s, "");
    story_hear(&s, ACCEPTED("y", "'request_id':'$(job.submit)',", "job_1"));
    story_check_log(&s, "reply a ok job_1\nevent job_1 1 log {}\n");
    story_end(&s);
}

static void what_was_accepted_twice_answers_a_submit_that_was_sent_once(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.no_auto_key = true;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    come_back_to_a_runtime_that_repeats(&s);
    assert_int_equal(story_sent_count(&s, "job.submit"), 1);
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

static void what_was_accepted_twice_and_is_refused_the_second_time_is_announced(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    come_back_to_a_runtime_that_repeats(&s);
    story_hear(&s, SESSION_ERROR("y", "'request_id':'$(job.submit)',"));
    story_check_log(&s, "reply a AGENT_NOT_AVAILABLE\nadded job_1\n");
    story_end(&s);
}

static void an_answered_request_is_not_sent_again(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    come_back(&s);
    assert_int_equal(story_sent_count(&s, "job.submit"), 1);
    story_end(&s);
}

static void a_request_that_makes_the_runtime_hang_up_is_given_up(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    for (int attempt = 0; attempt < 4; attempt++) {
        come_back(&s);
    }
    assert_int_equal(story_sent_count(&s, "job.submit"), 5);
    story_drop(&s);
    story_wait_deadline(&s);
    story_connect(&s);
    arcp_buf_clear(&s.log);
    story_hear(&s, WELCOME_AGAIN);
    story_check_log(&s, "resumed\nreply a CLOSED\n");
    story_end(&s);
}

static void the_end_of_the_session_answers_everything(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_list(&s, "l");
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    story_check_log(&s, "reply a CLOSED\nreply l CLOSED\n");
    arcp_error err = {0};
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("echo");
    assert_int_equal(submit(&s, "b", &options, &err), ARCP_E_CLOSED);
    story_end(&s);
}

static void after_a_fatal_end_requests_fail_with_its_reason(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.no_reconnect = true;
    story_live(&s, options);
    story_submit(&s, "a", "echo");
    story_drop(&s);
    story_check_log(&s, "reply a IO\nclosed IO\n");
    arcp_error err = {0};
    arcp_submit_options more = ARCP_SUBMIT_OPTIONS_INIT;
    more.agent = ARCP_SPAN_LITERAL("echo");
    assert_int_equal(submit(&s, "b", &more, &err), ARCP_E_IO);
    story_end(&s);
}

/* [arcp:EG-3] [arcp:EG-4] */
static void failures_keep_code_message_details_and_retryable(void **state)
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
         ARCP_E_TIMEOUT, "TIMEOUT", false, NULL},
        {"an unknown code is not retryable", "'code':'X_NEW','message':'m'", ARCP_E_INTERNAL_ERROR,
         "X_NEW", false, NULL},
        {"an unknown code that says it is", "'code':'X_NEW','message':'m','retryable':true",
         ARCP_E_INTERNAL_ERROR, "X_NEW", true, NULL},
        {"BUDGET_EXHAUSTED never is", "'code':'BUDGET_EXHAUSTED','message':'m','retryable':true",
         ARCP_E_BUDGET_EXHAUSTED, "BUDGET_EXHAUSTED", false, NULL},
        {"no message", "'code':'JOB_NOT_FOUND'", ARCP_E_JOB_NOT_FOUND, "JOB_NOT_FOUND", false,
         NULL},
        {"no code", "'message':'m'", ARCP_E_INTERNAL_ERROR, "", false, NULL},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        story s;
        char frame[512];
        print_message("  %s\n", rows[row].name);
        story_live(&s, DEFAULTS);
        story_submit(&s, "a", "echo");
        arcp_buf_clear(&s.log);
        snprintf(frame, sizeof(frame),
                 "{\"arcp\":\"1.1\",\"id\":\"e\",\"type\":\"job.error\",\"job_id\":\"job_1\","
                 "\"event_seq\":1,\"payload\":{%s}}",
                 rows[row].members);
        story_hear(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
        story_hear(&s, frame);
        const arcp_outcome *outcome = &s.jobs[0]->outcome;
        assert_true(s.jobs[0]->over);
        assert_int_equal(outcome->status, rows[row].status);
        assert_string_equal(outcome->failure->code, rows[row].code);
        assert_int_equal(outcome->failure->error.retryable, rows[row].retryable);
        assert_true(outcome->failure->error.message[0] != '\0');
        if (rows[row].details == NULL) {
            assert_null(outcome->failure->details);
        } else {
            assert_string_equal(outcome->failure->details, rows[row].details);
        }
        story_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submit_carries_everything_on_one_line),
        cmocka_unit_test(a_built_lease_is_written_and_its_features_are_needed),
        cmocka_unit_test(a_submit_without_extras_leaves_them_out),
        cmocka_unit_test(a_submit_gets_a_key_of_its_own_so_that_it_can_be_repeated),
        cmocka_unit_test(a_traceparent_gives_its_trace_and_travels_whole),
        cmocka_unit_test(a_submit_that_cannot_be_right_is_refused_at_once),
        cmocka_unit_test(a_cancel_names_the_job_twice_and_always_has_a_reason),
        cmocka_unit_test(subscriptions_say_from_where),
        cmocka_unit_test(a_listing_sends_its_filters_limit_and_cursor),
        cmocka_unit_test(features_outside_the_intersection_are_not_used),
        cmocka_unit_test(listing_and_subscribing_need_their_features),
        cmocka_unit_test(every_answer_finds_its_request),
        cmocka_unit_test(cancels_and_subscriptions_are_bound_by_their_job),
        cmocka_unit_test(a_cancelled_job_answers_a_cancel_that_has_no_answer_of_its_own),
        cmocka_unit_test(a_cancel_waits_for_its_answer_where_answers_are_named),
        cmocka_unit_test(a_cancel_of_a_job_that_ends_otherwise_is_not_answered_by_that),
        cmocka_unit_test(cancel_refusals_arrive_as_errors_with_the_request_id),
        cmocka_unit_test(a_refusal_is_never_a_jobs_end),
        cmocka_unit_test(listings_come_back_as_pages),
        cmocka_unit_test(a_page_without_cursor_is_the_last),
        cmocka_unit_test(a_pong_is_bound_by_its_nonce),
        cmocka_unit_test(a_request_that_is_never_answered_ends_by_its_deadline),
        cmocka_unit_test(a_late_answer_does_not_go_to_the_next_request),
        cmocka_unit_test(an_abandoned_request_gets_no_reply),
        cmocka_unit_test(requests_made_before_the_welcome_are_sent_after_it),
        cmocka_unit_test(what_was_not_answered_is_sent_again_under_the_same_id),
        cmocka_unit_test(a_submit_without_any_key_is_not_sent_twice),
        cmocka_unit_test(what_was_accepted_twice_waits_for_the_answer_that_names_the_submit),
        cmocka_unit_test(what_was_accepted_twice_answers_a_submit_that_was_sent_once),
        cmocka_unit_test(what_was_accepted_twice_and_is_refused_the_second_time_is_announced),
        cmocka_unit_test(an_answered_request_is_not_sent_again),
        cmocka_unit_test(a_request_that_makes_the_runtime_hang_up_is_given_up),
        cmocka_unit_test(the_end_of_the_session_answers_everything),
        cmocka_unit_test(after_a_fatal_end_requests_fail_with_its_reason),
        cmocka_unit_test(failures_keep_code_message_details_and_retryable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
