/* Numberings other than that of the session (src/client/client_receive.c). */
#include "client/story.h"

#define SAID(job, seq)                                                                             \
    "{'arcp':'1.1','id':'e','type':'job.event','session_id':'sess_1','job_id':'" job               \
    "','event_seq':" #seq ",'payload':{'kind':'log','ts':'2026-01-01T00:00:00.000Z','body':{}}}"
#define SUBSCRIBED(members)                                                                        \
    "{'arcp':'1.1','id':'x','type':'job.subscribed','session_id':'sess_1','job_id':'job_3',"       \
    "'payload':{'job_id':'job_3','request_id':'$(job.subscribe)','current_status':'running',"      \
    "'agent':'echo','lease':{}," members "}}"

static void a_subscription_may_have_a_separate_numbering(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, ACCEPTED("x", "'request_id':'$(job.submit)',", "job_1"));
    story_receive(&s, SAID("job_1", 1));
    story_subscribe(&s, "s", "job_3", true);
    story_receive(&s, SAID("job_3", 1));
    story_receive(&s, SAID("job_3", 2));
    story_receive(&s, SAID("job_1", 2));
    story_receive(&s, SUBSCRIBED("'subscribed_from':2,'replayed':2"));
    story_check_log(&s, "reply a ok job_1\nevent job_1 1 log {}\nevent job_1 2 log {}\n"
                        "reply s ok job_3\nevent job_3 0 log {}\nevent job_3 0 log {}\n");
    story_receive(&s, SAID("job_3", 3));
    story_receive(&s, SAID("job_3", 3));
    story_receive(&s, SAID("job_1", 3));
    story_receive(&s, "{'arcp':'1.1','id':'r','type':'job.result','session_id':'sess_1',"
                      "'job_id':'job_3','event_seq':4,'payload':{'final_status':'success'}}");
    story_check_log(&s, "event job_3 0 log {}\nevent job_1 3 log {}\nended job_3 0 success\n");
    assert_int_equal(s.session->last_seq, 3);
    story_end(&s);
}

static void a_gap_in_a_separate_numbering_cuts_the_connection(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_subscribe(&s, "s", "job_3", false);
    story_receive(&s, SUBSCRIBED("'subscribed_from':0,'replayed':0"));
    story_receive(&s, SAID("job_3", 1));
    story_check_log(&s, "reply s ok job_3\nevent job_3 0 log {}\n");
    story_receive(&s, SAID("job_3", 3));
    story_check_log(&s, "abort\n");
    story_end(&s);
}

static void a_new_subscription_starts_a_new_numbering(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_subscribe(&s, "s1", "job_3", false);
    story_receive(&s, SUBSCRIBED("'subscribed_from':0,'replayed':0"));
    story_receive(&s, SAID("job_3", 1));
    story_subscribe(&s, "s2", "job_3", false);
    story_receive(&s, SUBSCRIBED("'subscribed_from':0,'replayed':0"));
    story_receive(&s, SAID("job_3", 1));
    story_check_log(&s, "reply s1 ok job_3\nevent job_3 0 log {}\nreply s2 ok job_3\n"
                        "event job_3 0 log {}\n");
    story_end(&s);
}

static void
history_received_before_the_response_counts_in_the_numbering_of_the_session(void **state)
{
    story s;
    story_live_plain(&s, DEFAULTS);
    story_subscribe(&s, "s", "job_3", true);
    story_receive(&s, SAID("job_3", 1));
    story_receive(&s, SUBSCRIBED("'subscribed_from':0,'replayed':true"));
    story_receive(&s, SAID("job_3", 1));
    story_receive(&s, SAID("job_3", 2));
    story_check_log(&s, "reply s ok job_3\nevent job_3 0 log {}\nevent job_3 2 log {}\n");
    assert_int_equal(s.session->last_seq, 2);
    story_end(&s);
}

static void a_runtime_that_names_requests_has_one_numbering(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_subscribe(&s, "s", "job_3", true);
    story_receive(&s, SUBSCRIBED("'subscribed_from':0,'replayed':1"));
    story_receive(&s, SAID("job_3", 1));
    story_check_log(&s, "reply s ok job_3\nevent job_3 1 log {}\n");
    assert_int_equal(s.session->last_seq, 1);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subscription_may_have_a_separate_numbering),
        cmocka_unit_test(a_gap_in_a_separate_numbering_cuts_the_connection),
        cmocka_unit_test(a_new_subscription_starts_a_new_numbering),
        cmocka_unit_test(
            history_received_before_the_response_counts_in_the_numbering_of_the_session),
        cmocka_unit_test(a_runtime_that_names_requests_has_one_numbering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
