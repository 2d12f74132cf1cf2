/* Hello, welcome, refusals (draft §6.2; src/client/client_handshake.c). */
#include "client/story.h"

/* [arcp:6.1-1] [arcp:6.2-1] */
static void the_hello_has_client_token_and_features(void **state)
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
                       "\"result_chunk\",\"agent_versions\",\"x-vendor.arcpd.accepted_again\","
                       "\"x-vendor.arcpd.view\",\"x-vendor.arcpd.operate\"]");
    story_check_member(hello, "payload/resume", "");
    story_check_member(hello, "session_id", "");
    story_end(&s);
}

static void without_a_token_the_scheme_is_none(void **state)
{
    story s;
    arcp_client_options options = DEFAULTS;
    options.token = ARCP_SPAN_LITERAL("-"); /* none, see story_new */
    story_hello(&s, options);
    story_check_member(story_sent(&s, "session.hello"), "payload/auth", "{\"scheme\":\"none\"}");
    story_end(&s);
}

static void the_welcome_makes_the_session_live(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    assert_int_equal(s.session->state, ARCP__SESSION_LIVE);
    assert_int_equal(s.session->features, arcp_client_options_init().features);
    check_span(arcp_buf_span(&s.session->id), "sess_1");
    check_span(arcp__client_session_resume_token(s.session), "rt_1");
    story_end(&s);
}

static void the_stored_welcome_has_no_resume_token(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    const arcp_span welcome = arcp_buf_span(&s.session->welcome);
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
    assert_int_equal(s.session->features, ARCP_FEATURE_BIT(ARCP_FEATURE_ACK));
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
    {"too many sessions", "'code':'INTERNAL_ERROR','message':'full','retryable':true",
     "closed INTERNAL_ERROR\n"},
    {"an unknown code", "'code':'X_NEW','message':'no'", "closed X_NEW\n"},
};

/* [arcp:EG-8] */
static void a_refused_hello_ends_the_client_with_the_code(void **state)
{
    for (size_t row = 0; row < sizeof refusals / sizeof refusals[0]; row++) {
        story s;
        print_message("  %s\n", refusals[row].name);
        story_hello(&s, DEFAULTS);
        story_receive_format(
            &s, "{'arcp':'1.1','id':'e','type':'session.error','session_id':'x','payload':{%s}}",
            refusals[row].error);
        story_check_log(&s, "dial\nclose\n");
        story_drop(&s);
        story_check_log(&s, refusals[row].code);
        story_end(&s);
    }
}

/* Code and message are both unescaped, and the message needs more room than the code had. */
static void a_refusal_with_escapes_in_all_strings_is_read_completely(void **state)
{
    (void)state;
    story s;
    char message[1024];
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    story_hello(&s, DEFAULTS);
    story_receive_format(
        &s,
        "{'arcp':'1.1','id':'e','type':'session.error','session_id':'x','payload':{"
        "'code':'A_VERY_LONG_CODE_OF_MORE_THAN_THIRTY_BYTES\\u005fEND','message':'\\n%s'}}",
        message);
    story_check_log(&s, "dial\nclose\n");
    story_drop(&s);
    story_check_log(&s, "closed A_VERY_LONG_CODE_OF_MORE_THAN_THIRTY_BYTES_END\n");
    story_end(&s);
}

static void a_close_without_an_error_during_the_handshake_ends_the_client(void **state)
{
    story s;
    story_hello(&s, DEFAULTS);
    story_drop(&s);
    story_check_log(&s, "dial\nclosed IO\n");
    story_end(&s);
}

static void a_runtime_that_never_welcomes_is_given_up_at_the_deadline(void **state)
{
    story s;
    story_hello(&s, DEFAULTS);
    story_wait(&s, 9999);
    story_check_log(&s, "dial\n");
    story_wait(&s, 1);
    story_check_log(&s, "abort\n");
    story_drop(&s);
    story_check_log(&s, "closed DEADLINE\n");
    story_end(&s);
}

static void a_transport_that_never_connects_is_given_up_at_the_deadline(void **state)
{
    story s;
    story_new(&s, DEFAULTS);
    story_start(&s);
    story_wait(&s, 10000);
    story_drop(&s);
    story_check_log(&s, "dial\nabort\nclosed DEADLINE\n");
    story_end(&s);
}

static void the_first_connection_is_retried_only_on_request(void **state)
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

static void a_welcome_without_a_session_id_is_invalid(void **state)
{
    story s;
    story_hello(&s, DEFAULTS);
    story_receive(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','payload':{}}");
    story_drop(&s);
    story_check_log(&s, "dial\nabort\nclosed INVALID_REQUEST\n");
    story_end(&s);
}

static void the_session_id_may_be_in_the_payload_only(void **state)
{
    story s;
    story_hello(&s, DEFAULTS);
    story_receive(&s, "{'arcp':'1.1','id':'w','type':'session.welcome',"
                      "'payload':{'session_id':'sess_9','resume_token':'r'}}");
    story_check_log(&s, "dial\nconnected\n");
    check_span(arcp_buf_span(&s.session->id), "sess_9");
    story_end(&s);
}

static void a_session_id_that_is_too_long_counts_as_missing(void **state)
{
    story s;
    const char *const id = story_id_too_long();
    story_hello(&s, DEFAULTS);
    story_receive_format(&s,
                         "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'%s',"
                         "'payload':{'session_id':'sess_9','resume_token':'r'}}",
                         id);
    story_check_log(&s, "dial\nconnected\n");
    check_span(arcp_buf_span(&s.session->id), "sess_9");
    story_end(&s);
    story_hello(&s, DEFAULTS);
    story_receive_format(&s,
                         "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'%s',"
                         "'payload':{'session_id':'%s','resume_token':'r'}}",
                         id, id);
    story_drop(&s);
    story_check_log(&s, "dial\nabort\nclosed INVALID_REQUEST\n");
    story_end(&s);
}

static void frames_before_the_welcome_are_ignored(void **state)
{
    story s;
    story_hello(&s, DEFAULTS);
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'job.event','session_id':'s','job_id':'job_1',"
                      "'event_seq':1,'payload':{'kind':'log','body':{}}}");
    story_check_log(&s, "dial\nnotice INVALID_REQUEST\n");
    story_receive(&s, WELCOME);
    story_check_log(&s, "connected\n");
    assert_int_equal(s.session->last_seq, 0);
    story_end(&s);
}

static void a_second_welcome_changes_nothing(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, "{'arcp':'1.1','id':'w','type':'session.welcome','session_id':'sess_1',"
                      "'payload':{'resume_token':'other'}}");
    story_check_log(&s, "notice INVALID_REQUEST\n");
    check_span(arcp__client_session_resume_token(s.session), "rt_1");
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hello_has_client_token_and_features),
        cmocka_unit_test(without_a_token_the_scheme_is_none),
        cmocka_unit_test(the_welcome_makes_the_session_live),
        cmocka_unit_test(the_stored_welcome_has_no_resume_token),
        cmocka_unit_test(features_are_the_intersection_even_when_the_runtime_lists_its_own),
        cmocka_unit_test(a_refused_hello_ends_the_client_with_the_code),
        cmocka_unit_test(a_refusal_with_escapes_in_all_strings_is_read_completely),
        cmocka_unit_test(a_close_without_an_error_during_the_handshake_ends_the_client),
        cmocka_unit_test(a_runtime_that_never_welcomes_is_given_up_at_the_deadline),
        cmocka_unit_test(a_transport_that_never_connects_is_given_up_at_the_deadline),
        cmocka_unit_test(the_first_connection_is_retried_only_on_request),
        cmocka_unit_test(a_welcome_without_a_session_id_is_invalid),
        cmocka_unit_test(the_session_id_may_be_in_the_payload_only),
        cmocka_unit_test(a_session_id_that_is_too_long_counts_as_missing),
        cmocka_unit_test(frames_before_the_welcome_are_ignored),
        cmocka_unit_test(a_second_welcome_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
