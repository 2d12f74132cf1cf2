/* Invalid frames, and frames of other versions, types and sessions (draft §5;
 * src/client/client_receive.c). */
#include "client/story.h"

static const struct bad_frame {
    const char *name;
    const char *frame;
} bad_frames[] = {
    {"nothing", ""},
    {"half an object", "{'arcp':"},
    {"an array", "[]"},
    {"a number", "17"},
    {"no type", "{'arcp':'1.1','id':'x','payload':{}}"},
    {"a type that is not a string", "{'arcp':'1.1','id':'x','type':7,'payload':{}}"},
    {"another major version", "{'arcp':'2.0','id':'x','type':'session.ping'}"},
    {"two ids", "{'arcp':'1.1','id':'x','id':'y','type':'session.ping'}"},
    {"bad UTF-8", "{'arcp':'1.1','id':'\xff','type':'session.ping'}"},
};

/* [arcp:5-1] */
static void an_invalid_frame_cuts_the_connection_and_the_session_is_resumed(void **state)
{
    for (size_t row = 0; row < sizeof bad_frames / sizeof bad_frames[0]; row++) {
        story s;
        print_message("  %s\n", bad_frames[row].name);
        story_live(&s, DEFAULTS);
        story_receive(&s, bad_frames[row].frame);
        story_drop(&s);
        story_check_log(&s, "abort\ndisconnected INVALID_REQUEST\n");
        story_wait_deadline(&s);
        story_connect(&s);
        story_receive(&s, WELCOME_AGAIN);
        story_check_log(&s, "dial\nresumed\n");
        story_end(&s);
    }
}

static void a_runtime_that_sends_only_invalid_frames_is_given_up(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    for (int attempt = 0; attempt < 4; attempt++) {
        story_receive(&s, "rubbish");
        story_drop(&s);
        if (attempt < 3) {
            story_wait_deadline(&s);
            story_connect(&s);
            story_receive(&s, WELCOME_AGAIN);
        }
    }
    assert_int_equal(s.session->state, ARCP__SESSION_CLOSED);
    assert_int_equal(s.session->failure.status, ARCP_E_CORRUPT);
    story_end(&s);
}

static const char *const known_versions[] = {"'arcp':'1.1',", "'arcp':'1',", "", "'arcp':'1.2',",
                                             "'arcp':null,"};

static void frames_of_version_1_are_accepted(void **state)
{
    for (size_t row = 0; row < sizeof known_versions / sizeof known_versions[0]; row++) {
        story s;
        story_live(&s, DEFAULTS);
        story_receive_format(
            &s, "{%s'id':'p','type':'session.ping','session_id':'sess_1','payload':{'nonce':'n'}}",
            known_versions[row]);
        story_check_member(story_sent(&s, "session.pong"), "payload/ping_nonce", "\"n\"");
        story_end(&s);
    }
}

/* [arcp:5-2] */
static void unknown_members_are_ignored(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s,
                  "{'future':{'deep':[1]},'arcp':'1.1','id':'p','type':'session.ping','priority':9,"
                  "'session_id':'sess_1','payload':{'nonce':'n'},'payloads':null}");
    story_check_member(story_sent(&s, "session.pong"), "payload/ping_nonce", "\"n\"");
    story_check_log(&s, "");
    story_end(&s);
}

static void unknown_types_are_ignored_with_a_notice_but_vendor_types_without(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'session.dance','payload':{}}");
    story_check_log(&s, "notice INVALID_REQUEST\n");
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'x-vendor.acme.dance','payload':{}}");
    story_check_log(&s, "");
    story_end(&s);
}

static void frames_of_another_session_are_ignored(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, "{'arcp':'1.1','id':'e','type':'job.event','session_id':'sess_2',"
                      "'job_id':'job_1','event_seq':1,'payload':{'kind':'log','body':{}}}");
    story_check_log(&s, "notice INVALID_REQUEST\n");
    assert_int_equal(s.session->last_seq, 0);
    story_end(&s);
}

/* Too long ids count as missing: the frame is for this session, about the job of the envelope, and
 * names no request. */
static void ids_that_are_too_long_count_as_missing(void **state)
{
    story s;
    const char *const id = story_id_too_long();
    story_live_job(&s);
    story_receive_format(
        &s,
        "{'arcp':'1.1','id':'e','type':'job.event','session_id':'%s','job_id':'job_1',"
        "'event_seq':1,'payload':{'job_id':'%s','kind':'log','body':{}}}",
        id, id);
    assert_int_equal(s.session->last_seq, 1);
    story_check_log(&s, "event job_1 1 log {}\n");
    story_end(&s);
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive_format(&s,
                         "{'arcp':'1.1','id':'%s','type':'job.accepted','session_id':'sess_1',"
                         "'correlation_id':'%s','payload':{'request_id':'%s','parent_job_id':'%s',"
                         "'job_id':'job_1','lease':{}}}",
                         id, id, id, id);
    story_check_log(&s, "reply a ok job_1\n");
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invalid_frame_cuts_the_connection_and_the_session_is_resumed),
        cmocka_unit_test(a_runtime_that_sends_only_invalid_frames_is_given_up),
        cmocka_unit_test(frames_of_version_1_are_accepted),
        cmocka_unit_test(unknown_members_are_ignored),
        cmocka_unit_test(unknown_types_are_ignored_with_a_notice_but_vendor_types_without),
        cmocka_unit_test(frames_of_another_session_are_ignored),
        cmocka_unit_test(ids_that_are_too_long_count_as_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
