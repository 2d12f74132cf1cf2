/* Closing by either side (draft §6.7). */
#include "client/story.h"

/* [arcp:6.7-1] */
static void closing_sends_session_close_and_waits_for_closed(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    assert_non_null(story_sent(&s, "session.close"));
    story_receive(&s, "{'arcp':'1.1','id':'c','type':'session.closed','session_id':'sess_1',"
                      "'payload':{}}");
    story_check_log(&s, "close\n");
    story_drop(&s);
    story_check_log(&s, "closed\n");
    assert_null(story_sent(&s, "session.bye"));
    story_end(&s);
}

static void a_runtime_that_does_not_know_close_gets_bye(void **state)
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

static void a_runtime_that_refuses_close_gets_bye_at_once(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    arcp__client_session_close(s.session, s.now);
    story_drain(&s);
    story_receive(&s, "{'arcp':'1.1','id':'c','type':'session.error','session_id':'sess_1',"
                      "'payload':{'code':'INVALID_REQUEST','message':'unknown type'}}");
    story_wait(&s, 0);
    assert_non_null(story_sent(&s, "session.bye"));
    story_end(&s);
}

static void a_transport_that_does_not_close_is_cut_at_the_deadline(void **state)
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

static void closing_while_waiting_to_reconnect_ends_at_once(void **state)
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

static void after_a_bye_from_the_runtime_the_session_is_resumed(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_receive(&s, "{'arcp':'1.1','id':'b','type':'session.bye','session_id':'sess_1',"
                      "'payload':{}}");
    story_drop(&s);
    story_check_log(&s, "close\ndisconnected CLOSED\n");
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_sends_session_close_and_waits_for_closed),
        cmocka_unit_test(a_runtime_that_does_not_know_close_gets_bye),
        cmocka_unit_test(a_runtime_that_refuses_close_gets_bye_at_once),
        cmocka_unit_test(a_transport_that_does_not_close_is_cut_at_the_deadline),
        cmocka_unit_test(closing_while_waiting_to_reconnect_ends_at_once),
        cmocka_unit_test(after_a_bye_from_the_runtime_the_session_is_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
