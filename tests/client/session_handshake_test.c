/* Hello, welcome, refusals, and coming back after a drop (draft §6.2, §6.3). */
#include "client/story.h"

#define DEFAULTS ((arcp_client_options)ARCP_CLIENT_OPTIONS_INIT)

/* [arcp:6.1-1] [arcp:6.2-1] */
static void the_hello_names_client_token_and_features(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_check_log(&s, "dial\n");
    story_connect(&s);
    const char *hello = story_sent(&s, "session.hello");
    story_check_member(hello, "arcp", "\"1.1\"");
    story_check_member(hello, "payload/client/name", "\"libarcp\"");
    story_check_member(hello, "payload/auth", "{\"scheme\":\"bearer\",\"token\":\"t1\"}");
    story_check_member(hello, "payload/capabilities/encodings", "[\"json\"]");
    story_check_member(hello, "payload/capabilities/features",
                       "[\"heartbeat\",\"ack\",\"list_jobs\",\"subscribe\",\"lease_expires_at\","
                       "\"cost.budget\",\"model.use\",\"provisioned_credentials\",\"progress\","
                       "\"result_chunk\",\"agent_versions\"]");
    story_check_member(hello, "payload/resume", "");
    story_check_member(hello, "session_id", "");
    story_end(&s);
}

static void without_a_token_the_scheme_is_none(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.token = ARCP_SPAN_LITERAL("-"); /* the story's word for none */
    story_new(&s, options);
    story_start(&s);
    story_connect(&s);
    story_check_member(story_sent(&s, "session.hello"), "payload/auth", "{\"scheme\":\"none\"}");
    story_end(&s);
}

static void the_welcome_makes_the_session_live(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    assert_int_equal(arcp__client_session_state_of(s.session), ARCP__SESSION_LIVE);
    assert_int_equal(arcp__client_session_features(s.session), ARCP_FEATURES_ALL);
    check_span(arcp__client_session_id(s.session), "sess_1");
    check_span(arcp__client_session_resume_token(s.session), "rt_1");
    story_end(&s);
}

static void the_kept_welcome_has_no_resume_token(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    arcp_span welcome = arcp__client_session_welcome(s.session);
    assert_null(memmem(welcome.data, welcome.size, "rt_1", 4));
    assert_non_null(memmem(welcome.data, welcome.size, "\"agents\"", 8));
    story_end(&s);
}

/* [arcp:6.2-3] */
static void features_are_the_intersection_even_when_the_runtime_lists_its_own(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.features = ARCP_FEATURE_BIT(ARCP_FEATURE_ACK);
    story_live(&s, options);
    assert_int_equal(arcp__client_session_features(s.session), ARCP_FEATURE_BIT(ARCP_FEATURE_ACK));
    story_end(&s);
}

typedef struct refusal_row {
    const char *name;
    const char *error;
    const char *code;
} refusal_row;

static const refusal_row refusals[] = {
    {"a wrong token", "'code':'UNAUTHENTICATED','message':'no','retryable':false",
     "closed UNAUTHENTICATED\n"},
    {"a malformed hello", "'code':'INVALID_REQUEST','message':'no'", "closed INVALID_REQUEST\n"},
    {"a cap on sessions", "'code':'INTERNAL_ERROR','message':'full','retryable':true",
     "closed INTERNAL_ERROR\n"},
    {"a code nobody knows", "'code':'X_NEW','message':'no'", "closed X_NEW\n"},
};

/* [arcp:EG-8] */
static void a_refused_hello_ends_the_client_with_the_code(void **state)
{
    for (size_t row = 0; row < sizeof(refusals) / sizeof(refusals[0]); row++) {
        story s;
        char frame[512];
        print_message("  %s\n", refusals[row].name);
        story_new(&s, DEFAULTS);
        story_start(&s);
        story_connect(&s);
        snprintf(frame, sizeof(frame),
                 "{'arcp':'1.1','id':'e','type':'session.error','session_id':'x','payload':{%s}}",
                 refusals[row].error);
        story_hear(&s, frame);
        story_check_log(&s, "dial\nclose\n");
        story_drop(&s);
        story_check_log(&s, refusals[row].code);
        story_end(&s);
    }
}

static void a_bare_close_during_the_handshake_ends_the_client(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_connect(&s);
    story_drop(&s);
    story_check_log(&s, "dial\nclosed IO\n");
    story_end(&s);
}

static void a_runtime_that_never_welcomes_is_given_up_at_the_deadline(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_connect(&s);
    story_wait(&s, 9999);
    story_check_log(&s, "dial\n");
    story_wait(&s, 1);
    story_check_log(&s, "abort\n");
    story_drop(&s);
    story_check_log(&s, "closed DEADLINE\n");
    story_end(&s);
}

static void a_transport_that_is_never_made_is_given_up_at_the_deadline(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_wait(&s, 10000);
    story_drop(&s);
    story_check_log(&s, "dial\nabort\nclosed DEADLINE\n");
    story_end(&s);
}

static void the_first_connection_is_retried_only_when_asked_for(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.connect_retry_ms = 1000;
    story_new(&s, options);
    story_start(&s);
    story_drop(&s);
    story_check_log(&s, "dial\ndisconnected IO\n");
    story_wait(&s, 100);
    story_check_log(&s, "dial\n");
    story_wait(&s, 850);
    story_drop(&s);
    story_check_log(&s, "closed IO\n");
    story_end(&s);
}

static void a_welcome_without_a_session_id_is_no_welcome(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_connect(&s);
    story_hear(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','payload':{}}");
    story_drop(&s);
    story_check_log(&s, "dial\nabort\nclosed INVALID_REQUEST\n");
    story_end(&s);
}

static void the_session_id_may_stand_in_the_payload_alone(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_connect(&s);
    story_hear(&s, "{'arcp':'1.1','id':'w','type':'session.welcome',"
                   "'payload':{'session_id':'sess_9','resume_token':'r'}}");
    story_check_log(&s, "dial\nconnected\n");
    check_span(arcp__client_session_id(s.session), "sess_9");
    story_end(&s);
}

static void frames_before_the_welcome_are_not_believed(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_connect(&s);
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'job.event','session_id':'s','job_id':'job_1',"
                   "'event_seq':1,'payload':{'kind':'log','body':{}}}");
    story_check_log(&s, "dial\nnotice INVALID_REQUEST\n");
    story_hear(&s, WELCOME);
    story_check_log(&s, "connected\n");
    assert_int_equal(arcp__client_session_last_seq(s.session), 0);
    story_end(&s);
}

static void a_second_welcome_changes_nothing(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_1',"
                   "'payload':{'resume_token':'other'}}");
    story_check_log(&s, "notice INVALID_REQUEST\n");
    check_span(arcp__client_session_resume_token(s.session), "rt_1");
    story_end(&s);
}

/* ---- coming back ---- */

#define WELCOME_AGAIN                                                                              \
    "{'arcp':'1.1','id':'w2','type':'session.welcome','session_id':'sess_1','payload':{"           \
    "'request_id':'$(session.hello)','resume_token':'rt_2','resume_window_sec':600,"               \
    "'heartbeat_interval_sec':30,'capabilities':{'features':['heartbeat','ack','list_jobs',"       \
    "'subscribe','agent_versions','result_chunk','progress','cost.budget','model.use',"            \
    "'lease_expires_at','provisioned_credentials']}}}"

#define EVENT(seq)                                                                                 \
    "{'arcp':'1.1','id':'e" #seq "','type':'job.event','session_id':'sess_1','job_id':'job_1',"    \
    "'event_seq':" #seq ",'payload':{'kind':'log','ts':'t','body':{'n':" #seq "}}}"

/* [arcp:6.3-2] */
static void a_drop_is_followed_by_a_resume_with_the_last_number(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, EVENT(1));
    story_hear(&s, EVENT(2));
    story_check_log(&s, "added job_1\nevent job_1 1 log {\"n\":1}\nevent job_1 2 log {\"n\":2}\n");
    story_drop(&s);
    story_check_log(&s, "disconnected IO\n");
    story_wait_deadline(&s);
    story_check_log(&s, "dial\n");
    story_connect(&s);
    const char *hello = story_sent(&s, "session.hello");
    story_check_member(hello, "session_id", "\"sess_1\"");
    story_check_member(hello, "payload/resume",
                       "{\"session_id\":\"sess_1\",\"token\":\"rt_1\",\"resume_token\":\"rt_1\","
                       "\"last_event_seq\":2}");
    story_check_member(hello, "payload/resume_token", "\"rt_1\"");
    story_check_member(hello, "payload/last_event_seq", "2");
    story_hear(&s, WELCOME_AGAIN);
    story_hear(&s, EVENT(3));
    story_check_log(&s, "resumed\nevent job_1 3 log {\"n\":3}\n");
    check_span(arcp__client_session_resume_token(s.session), "rt_2");
    story_end(&s);
}

static void events_that_are_replayed_twice_are_handed_over_once(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, EVENT(1));
    story_hear(&s, EVENT(1));
    story_hear(&s, EVENT(2));
    story_hear(&s, EVENT(1));
    story_hear(&s, EVENT(2));
    story_hear(&s, EVENT(3));
    story_check_log(&s, "added job_1\nevent job_1 1 log {\"n\":1}\nevent job_1 2 log {\"n\":2}\n"
                        "event job_1 3 log {\"n\":3}\n");
    story_end(&s);
}

/* [arcp:8.3-2] */
static void a_gap_is_never_passed_on_but_resumed(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, EVENT(1));
    story_hear(&s, EVENT(3));
    story_hear(&s, EVENT(4));
    story_check_log(&s, "added job_1\nevent job_1 1 log {\"n\":1}\nabort\nabort\n");
    story_drop(&s);
    story_wait_deadline(&s);
    story_connect(&s);
    story_check_member(story_sent(&s, "session.hello"), "payload/resume/last_event_seq", "1");
    story_hear(&s, WELCOME_AGAIN);
    story_hear(&s, EVENT(2));
    story_hear(&s, EVENT(3));
    story_check_log(&s, "disconnected IO\ndial\nresumed\nevent job_1 2 log {\"n\":2}\n"
                        "event job_1 3 log {\"n\":3}\n");
    story_end(&s);
}

static void a_gap_that_resuming_does_not_mend_ends_the_client(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, EVENT(1));
    for (int attempt = 0; attempt < 3; attempt++) {
        story_hear(&s, EVENT(3));
        story_drop(&s);
        story_wait_deadline(&s);
        story_connect(&s);
        story_hear(&s, WELCOME_AGAIN);
    }
    arcp_buf_clear(&s.log);
    story_hear(&s, EVENT(3));
    story_drop(&s);
    story_check_log(&s, "abort\nclosed CORRUPT\n");
    assert_non_null(
        strstr(arcp__client_session_failure(s.session)->error.message, "event 3 came, 2 was next"));
    story_end(&s);
}

/* [arcp:EG-13] */
static void an_expired_window_is_told_clearly(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    story_wait_deadline(&s);
    story_connect(&s);
    story_hear(&s, "{'arcp':'1.1','id':'e','type':'session.error','session_id':'sess_x','payload':"
                   "{'code':'RESUME_WINDOW_EXPIRED','message':'too late','retryable':false}}");
    story_drop(&s);
    story_check_log(&s, "disconnected IO\ndial\nclose\nclosed RESUME_WINDOW_EXPIRED\n");
    assert_int_equal(arcp__client_session_failure(s.session)->error.status,
                     ARCP_E_RESUME_WINDOW_EXPIRED);
    story_end(&s);
}

static void a_temporary_refusal_while_coming_back_is_tried_again(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    story_wait_deadline(&s);
    story_connect(&s);
    story_hear(&s, "{'arcp':'1.1','id':'e','type':'session.error','session_id':'x','payload':"
                   "{'code':'INTERNAL_ERROR','message':'busy','retryable':true}}");
    story_drop(&s);
    story_wait_deadline(&s);
    story_check_log(&s, "disconnected IO\ndial\nclose\ndisconnected INTERNAL_ERROR\ndial\n");
    story_end(&s);
}

static void attempts_end_with_the_resume_window(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    int64_t start_ns = s.now.mono_ns;
    story_drop(&s);
    unsigned dials = 0;
    while (arcp__client_session_state_of(s.session) != ARCP__SESSION_CLOSED) {
        story_wait_deadline(&s);
        story_drop(&s);
        dials++;
        assert_true(dials < 1000);
    }
    int64_t took_ms = (s.now.mono_ns - start_ns) / ARCP_NS_PER_MS;
    assert_true(took_ms <= 600000 && took_ms > 580000);
    /* Pauses of 5 to 10 s after the first ones: neither a storm nor a sleep. */
    assert_true(dials > 60 && dials < 140);
    story_end(&s);
}

static void pauses_double_and_half_of_each_is_random(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    int64_t expected = 100;
    for (int attempt = 0; attempt < 10; attempt++) {
        story_drop(&s);
        int64_t pause = (arcp__client_session_deadline(s.session) - s.now.mono_ns) / ARCP_NS_PER_MS;
        assert_true(pause >= expected / 2 && pause <= expected);
        story_wait_deadline(&s);
        expected = expected * 2 > 10000 ? 10000 : expected * 2;
    }
    story_end(&s);
}

static void without_reconnecting_a_drop_is_the_end(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.no_reconnect = true;
    story_live(&s, options);
    story_drop(&s);
    story_check_log(&s, "closed IO\n");
    story_end(&s);
}

static void without_a_resume_token_a_drop_is_the_end(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_connect(&s);
    story_hear(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_1',"
                   "'payload':{}}");
    story_drop(&s);
    story_check_log(&s, "dial\nconnected\nclosed IO\n");
    story_end(&s);
}

static void a_runtime_that_ignores_the_hellos_resume_is_asked_once_more(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, EVENT(1));
    story_drop(&s);
    story_wait_deadline(&s);
    story_connect(&s);
    arcp_buf_clear(&s.log);
    story_hear(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_2',"
                   "'payload':{'resume_token':'other'}}");
    const char *resume = story_sent(&s, "session.resume");
    story_check_member(resume, "session_id", "\"sess_2\"");
    story_check_member(resume, "payload/resume_token", "\"rt_1\"");
    story_check_member(resume, "payload/last_event_seq", "1");
    story_hear(&s, WELCOME_AGAIN);
    story_hear(&s, EVENT(2));
    story_check_log(&s, "resumed\nevent job_1 2 log {\"n\":2}\n");
    story_end(&s);
}

static void a_runtime_that_only_begins_new_sessions_lost_ours(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    story_wait_deadline(&s);
    story_connect(&s);
    arcp_buf_clear(&s.log);
    for (int time = 0; time < 2; time++) {
        story_hear(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_2',"
                       "'payload':{'resume_token':'other'}}");
    }
    story_drop(&s);
    story_check_log(&s, "abort\nclosed RESUME_WINDOW_EXPIRED\n");
    story_end(&s);
}

static void a_refused_session_resume_means_the_session_is_lost(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    story_wait_deadline(&s);
    story_connect(&s);
    arcp_buf_clear(&s.log);
    story_hear(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_2',"
                   "'payload':{'resume_token':'other'}}");
    story_hear(&s, "{'arcp':'1.1','id':'w','type':'session.error','session_id':'sess_2',"
                   "'payload':{'code':'INVALID_REQUEST','message':'what is that?'}}");
    story_drop(&s);
    story_check_log(&s, "close\nclosed RESUME_WINDOW_EXPIRED\n");
    story_end(&s);
}

static void a_saved_session_is_resumed_by_the_first_hello(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.resume.session_id = ARCP_SPAN_LITERAL("sess_1");
    options.resume.resume_token = ARCP_SPAN_LITERAL("saved");
    options.resume.last_event_seq = 41;
    story_new(&s, options);
    story_start(&s);
    story_connect(&s);
    story_check_member(story_sent(&s, "session.hello"), "payload/resume/last_event_seq", "41");
    story_hear(&s, WELCOME_AGAIN);
    story_hear(&s, EVENT(42));
    story_check_log(&s, "dial\nresumed\nadded job_1\nevent job_1 42 log {\"n\":42}\n");
    story_end(&s);
}

static void a_newer_token_of_another_process_is_used(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    story_wait_deadline(&s);
    assert_int_equal(arcp__client_session_set_resume_token(s.session, ARCP_SPAN_LITERAL("rt_7")),
                     ARCP_OK);
    story_connect(&s);
    story_check_member(story_sent(&s, "session.hello"), "payload/resume/resume_token", "\"rt_7\"");
    story_end(&s);
}

static void an_attempt_can_be_put_off_but_not_for_ever(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    unsigned turns = 0;
    while (arcp__client_session_state_of(s.session) != ARCP__SESSION_CLOSED) {
        story_wait_deadline(&s);
        arcp__client_session_postpone(s.session, s.now, 1000);
        story_drain(&s);
        assert_true(++turns < 1000);
    }
    assert_true(turns >= 590);
    assert_int_equal(arcp__client_session_failure(s.session)->error.status, ARCP_E_DEADLINE);
    story_end(&s);
}

/* ---- bad frames, goodbyes ---- */

static const struct bad_frame {
    const char *name;
    const char *frame;
} bad_frames[] = {
    {"nothing", ""},
    {"half an object", "{'arcp':"},
    {"an array", "[]"},
    {"a number", "17"},
    {"no type", "{'arcp':'1.1','id':'x','payload':{}}"},
    {"a type that is no string", "{'arcp':'1.1','id':'x','type':7,'payload':{}}"},
    {"another major version", "{'arcp':'2.0','id':'x','type':'session.ping'}"},
    {"two ids", "{'arcp':'1.1','id':'x','id':'y','type':'session.ping'}"},
    {"bad UTF-8", "{'arcp':'1.1','id':'\xff','type':'session.ping'}"},
};

/* [arcp:5-1] */
static void a_frame_that_is_none_cuts_the_connection_and_the_session_goes_on(void **state)
{
    for (size_t row = 0; row < sizeof(bad_frames) / sizeof(bad_frames[0]); row++) {
        story s;
        print_message("  %s\n", bad_frames[row].name);
        story_live(&s, DEFAULTS);
        story_hear(&s, bad_frames[row].frame);
        story_drop(&s);
        story_check_log(&s, "abort\ndisconnected INVALID_REQUEST\n");
        story_wait_deadline(&s);
        story_connect(&s);
        story_hear(&s, WELCOME_AGAIN);
        story_check_log(&s, "dial\nresumed\n");
        story_end(&s);
    }
}

static void a_runtime_that_sends_only_rubbish_is_given_up(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    for (int attempt = 0; attempt < 4; attempt++) {
        story_hear(&s, "rubbish");
        story_drop(&s);
        if (attempt < 3) {
            story_wait_deadline(&s);
            story_connect(&s);
            story_hear(&s, WELCOME_AGAIN);
        }
    }
    assert_int_equal(arcp__client_session_state_of(s.session), ARCP__SESSION_CLOSED);
    assert_int_equal(arcp__client_session_failure(s.session)->error.status, ARCP_E_CORRUPT);
    story_end(&s);
}

static const char *const known_versions[] = {"'arcp':'1.1',", "'arcp':'1',", "", "'arcp':'1.2',",
                                             "'arcp':null,"};

static void frames_of_version_1_are_understood(void **state)
{
    for (size_t row = 0; row < sizeof(known_versions) / sizeof(known_versions[0]); row++) {
        story s;
        char frame[256];
        story_live(&s, DEFAULTS);
        snprintf(frame, sizeof(frame),
                 "{%s'id':'p','type':'session.ping','session_id':'sess_1','payload':{'nonce':'n'}}",
                 known_versions[row]);
        story_hear(&s, frame);
        story_check_member(story_sent(&s, "session.pong"), "payload/ping_nonce", "\"n\"");
        story_end(&s);
    }
}

/* [arcp:5-2] */
static void members_that_nobody_knows_are_ignored(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s,
               "{'future':{'deep':[1]},'arcp':'1.1','id':'p','type':'session.ping','priority':9,"
               "'session_id':'sess_1','payload':{'nonce':'n'},'payloads':null}");
    story_check_member(story_sent(&s, "session.pong"), "payload/ping_nonce", "\"n\"");
    story_check_log(&s, "");
    story_end(&s);
}

static void unknown_types_are_survived_and_vendors_are_silent(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'session.dance','payload':{}}");
    story_check_log(&s, "notice INVALID_REQUEST\n");
    story_hear(&s, "{'arcp':'1.1','id':'x','type':'x-vendor.acme.dance','payload':{}}");
    story_check_log(&s, "");
    story_end(&s);
}

static void frames_of_another_session_are_ignored(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, "{'arcp':'1.1','id':'e','type':'job.event','session_id':'sess_2',"
                   "'job_id':'job_1','event_seq':1,'payload':{'kind':'log','body':{}}}");
    story_check_log(&s, "notice INVALID_REQUEST\n");
    assert_int_equal(arcp__client_session_last_seq(s.session), 0);
    story_end(&s);
}

/* [arcp:6.7-1] */
static void closing_says_close_and_waits_for_closed(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    assert_non_null(story_sent(&s, "session.close"));
    story_hear(&s, "{'arcp':'1.1','id':'c','type':'session.closed','session_id':'sess_1',"
                   "'payload':{}}");
    story_check_log(&s, "close\n");
    story_drop(&s);
    story_check_log(&s, "closed\n");
    assert_null(story_sent(&s, "session.bye"));
    story_end(&s);
}

static void a_runtime_that_does_not_know_close_is_told_bye(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    story_wait(&s, 499);
    assert_null(story_sent(&s, "session.bye"));
    story_wait(&s, 1);
    story_check_member(story_sent(&s, "session.bye"), "payload/reason", "\"done\"");
    story_check_log(&s, "close\n");
    story_drop(&s);
    story_check_log(&s, "closed\n");
    story_end(&s);
}

static void a_runtime_that_refuses_close_is_told_bye_at_once(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    story_hear(&s, "{'arcp':'1.1','id':'c','type':'session.error','session_id':'sess_1',"
                   "'payload':{'code':'INVALID_REQUEST','message':'unknown type'}}");
    story_wait(&s, 0);
    assert_non_null(story_sent(&s, "session.bye"));
    story_end(&s);
}

static void a_transport_that_does_not_close_is_cut_in_the_end(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    arcp__client_session_close(s.session, s.now);
    story_wait(&s, 500);
    story_wait(&s, 2000);
    story_check_log(&s, "close\nabort\n");
    story_drop(&s);
    story_check_log(&s, "closed\n");
    story_end(&s);
}

static void closing_while_waiting_to_reconnect_is_done_at_once(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_drop(&s);
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    story_check_log(&s, "disconnected IO\nclosed\n");
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    story_check_log(&s, "");
    assert_true(arcp__client_session_deadline(s.session) == ARCP_TIME_NEVER);
    story_end(&s);
}

static void a_runtime_that_says_bye_is_come_back_to(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_hear(&s, "{'arcp':'1.1','id':'b','type':'session.bye','session_id':'sess_1',"
                   "'payload':{}}");
    story_drop(&s);
    story_check_log(&s, "close\ndisconnected CLOSED\n");
    story_end(&s);
}

static void options_that_cannot_work_are_refused_by_name(void **state)
{
    struct {
        const char *names;
        arcp_client_options options;
    } rows[] = {
        {"struct_size", {.struct_size = 3}}, {"url", DEFAULTS},
        {"resume token", DEFAULTS},          {"ack_events", DEFAULTS},
        {"backoff_first_ms", DEFAULTS},      {"connect_timeout_ms", DEFAULTS},
        {"frame_bytes_max", DEFAULTS},
    };
    for (size_t row = 2; row < sizeof(rows) / sizeof(rows[0]); row++) {
        rows[row].options.url = ARCP_SPAN_LITERAL("ws://x");
    }
    rows[2].options.resume.session_id = ARCP_SPAN_LITERAL("sess_1");
    rows[3].options.ack_events = 0;
    rows[4].options.backoff_first_ms = 0;
    rows[5].options.connect_timeout_ms = 0;
    rows[6].options.frame_bytes_max = 1023;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        arcp__client_session *session = NULL;
        arcp_error err = {0};
        print_message("  %s\n", rows[row].names);
        assert_int_equal(arcp__client_session_new(&rows[row].options, NULL, NULL, &session, &err),
                         ARCP_E_USAGE);
        assert_non_null(strstr(err.message, rows[row].names));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hello_names_client_token_and_features),
        cmocka_unit_test(without_a_token_the_scheme_is_none),
        cmocka_unit_test(the_welcome_makes_the_session_live),
        cmocka_unit_test(the_kept_welcome_has_no_resume_token),
        cmocka_unit_test(features_are_the_intersection_even_when_the_runtime_lists_its_own),
        cmocka_unit_test(a_refused_hello_ends_the_client_with_the_code),
        cmocka_unit_test(a_bare_close_during_the_handshake_ends_the_client),
        cmocka_unit_test(a_runtime_that_never_welcomes_is_given_up_at_the_deadline),
        cmocka_unit_test(a_transport_that_is_never_made_is_given_up_at_the_deadline),
        cmocka_unit_test(the_first_connection_is_retried_only_when_asked_for),
        cmocka_unit_test(a_welcome_without_a_session_id_is_no_welcome),
        cmocka_unit_test(the_session_id_may_stand_in_the_payload_alone),
        cmocka_unit_test(frames_before_the_welcome_are_not_believed),
        cmocka_unit_test(a_second_welcome_changes_nothing),
        cmocka_unit_test(a_drop_is_followed_by_a_resume_with_the_last_number),
        cmocka_unit_test(events_that_are_replayed_twice_are_handed_over_once),
        cmocka_unit_test(a_gap_is_never_passed_on_but_resumed),
        cmocka_unit_test(a_gap_that_resuming_does_not_mend_ends_the_client),
        cmocka_unit_test(an_expired_window_is_told_clearly),
        cmocka_unit_test(a_temporary_refusal_while_coming_back_is_tried_again),
        cmocka_unit_test(attempts_end_with_the_resume_window),
        cmocka_unit_test(pauses_double_and_half_of_each_is_random),
        cmocka_unit_test(without_reconnecting_a_drop_is_the_end),
        cmocka_unit_test(without_a_resume_token_a_drop_is_the_end),
        cmocka_unit_test(a_runtime_that_ignores_the_hellos_resume_is_asked_once_more),
        cmocka_unit_test(a_runtime_that_only_begins_new_sessions_lost_ours),
        cmocka_unit_test(a_refused_session_resume_means_the_session_is_lost),
        cmocka_unit_test(a_saved_session_is_resumed_by_the_first_hello),
        cmocka_unit_test(a_newer_token_of_another_process_is_used),
        cmocka_unit_test(an_attempt_can_be_put_off_but_not_for_ever),
        cmocka_unit_test(a_frame_that_is_none_cuts_the_connection_and_the_session_goes_on),
        cmocka_unit_test(a_runtime_that_sends_only_rubbish_is_given_up),
        cmocka_unit_test(frames_of_version_1_are_understood),
        cmocka_unit_test(members_that_nobody_knows_are_ignored),
        cmocka_unit_test(unknown_types_are_survived_and_vendors_are_silent),
        cmocka_unit_test(frames_of_another_session_are_ignored),
        cmocka_unit_test(closing_says_close_and_waits_for_closed),
        cmocka_unit_test(a_runtime_that_does_not_know_close_is_told_bye),
        cmocka_unit_test(a_runtime_that_refuses_close_is_told_bye_at_once),
        cmocka_unit_test(a_transport_that_does_not_close_is_cut_in_the_end),
        cmocka_unit_test(closing_while_waiting_to_reconnect_is_done_at_once),
        cmocka_unit_test(a_runtime_that_says_bye_is_come_back_to),
        cmocka_unit_test(options_that_cannot_work_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
