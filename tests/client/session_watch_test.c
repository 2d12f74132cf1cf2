/* What the runtime reports as it happens, and how a watch survives its connection
 * (src/client/client_watch.c). */
#include "client/story.h"

#define ANSWER(type, what)                                                                         \
    "{'arcp':'1.1','id':'a','type':'x-vendor.arcpd." type ".answer','session_id':'sess_1',"        \
    "'payload':{'request_id':'$(x-vendor.arcpd." type ")','what':[" what "]}}"
#define REFUSAL(type, code)                                                                        \
    "{'arcp':'1.1','id':'a','type':'job.error','session_id':'sess_1','payload':{"                  \
    "'request_id':'$(x-vendor.arcpd." type ")','code':'" code "','message':'no'}}"
#define REPORT(type, payload)                                                                      \
    "{'arcp':'1.1','id':'r','type':'x-vendor.arcpd." type                                          \
    "','session_id':'sess_1','payload':" payload "}"
#define WELCOME_WITH_VIEW                                                                          \
    "{'arcp':'1.1','id':'w2','type':'session.welcome','session_id':'sess_1','payload':{"           \
    "'request_id':'$(session.hello)','resume_token':'rt_2','resume_window_sec':600,"               \
    "'heartbeat_interval_sec':30,'capabilities':{'features':['heartbeat','ack',"                   \
    "'x-vendor.arcpd.view','x-vendor.arcpd.operate']}}}"
#define RELOAD "changed {\"jobs\":[],\"reload\":true}\n"

static arcp_status request(story *s, arcp__client_request_kind kind,
                           const arcp_watch_options *options, arcp_error *err)
{
    static char name[] = "w";
    const arcp_status status = arcp__client_session_request(
        s->session, s->now,
        &(const arcp__client_request_args){
            .kind = kind, .watch = options, .on_reply = story_on_reply(), .user = name},
        NULL, err);
    story_drain(s);
    return status;
}

static void watch(story *s, bool jobs, bool figures, const char *principal)
{
    arcp_watch_options options = arcp_watch_options_init();
    arcp_error err = {0};
    options.jobs = jobs;
    options.figures = figures;
    options.principal = arcp_span_cstr(principal);
    check_ok(request(s, ARCP__CLIENT_REQUEST_WATCH, &options, &err), &err);
}

static void unwatch(story *s)
{
    arcp_error err = {0};
    check_ok(request(s, ARCP__CLIENT_REQUEST_UNWATCH, NULL, &err), &err);
}

/* Live, with the jobs of all principals and figures watched; the log is empty. */
static void set_up(story *s)
{
    story_live(s, DEFAULTS);
    watch(s, true, true, "*");
    story_receive(s, ANSWER("watch", "'jobs','figures'"));
    story_check_log(s, "reply w ok\n");
}

static const char *last_watch(const story *s)
{
    return story_sent(s, "x-vendor.arcpd.watch");
}

static void the_options_become_the_payload(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    watch(&s, true, false, NULL);
    story_check_member(last_watch(&s), "payload", "{\"what\":[\"jobs\"]}");
    watch(&s, true, true, "team \"a\"*");
    story_check_member(last_watch(&s), "payload",
                       "{\"what\":[\"jobs\",\"figures\"],\"principal\":\"team \\\"a\\\"*\"}");
    watch(&s, false, true, "*");
    story_check_member(last_watch(&s), "payload", "{\"what\":[\"figures\"]}");
    unwatch(&s);
    story_check_member(story_sent(&s, "x-vendor.arcpd.unwatch"), "payload", "{}");
    story_end(&s);
}

static void a_watch_of_nothing_is_refused(void **state)
{
    story s;
    const arcp_watch_options none = arcp_watch_options_init();
    arcp_error err = {0};
    story_live(&s, DEFAULTS);
    assert_int_equal(request(&s, ARCP__CLIENT_REQUEST_WATCH, &none, &err), ARCP_E_USAGE);
    assert_string_equal(err.message, "a watch needs jobs, figures, or both");
    assert_null(last_watch(&s));
    story_end(&s);
}

static void reports_are_events_of_the_client(void **state)
{
    story s;
    set_up(&s);
    story_receive(&s, REPORT("changed", "{'jobs':[{'job_id':'job_1'}]}"));
    story_receive(&s, REPORT("figures", "{'at':'2026-01-01T00:00:01.000Z','begun':1}"));
    story_check_log(&s, "changed {\"jobs\":[{\"job_id\":\"job_1\"}]}\n"
                        "figures {\"at\":\"2026-01-01T00:00:01.000Z\",\"begun\":1}\n");
    story_end(&s);
}

static void what_is_not_watched_is_not_reported(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    watch(&s, true, false, NULL);
    story_receive(&s, REPORT("changed", "{'jobs':[]}")); /* before the response */
    story_receive(&s, ANSWER("watch", "'jobs'"));
    story_receive(&s, REPORT("figures", "{}"));
    story_receive(&s, REPORT("else", "{}"));
    story_check_log(&s, "reply w ok\n");
    unwatch(&s);
    story_receive(&s, REPORT("changed", "{'jobs':[]}")); /* the runtime has not answered yet */
    story_receive(&s, ANSWER("unwatch", ""));
    story_receive(&s, REPORT("changed", "{'jobs':[]}"));
    story_receive(&s, REPORT("lagging", "{}"));
    story_check_log(&s, "changed {\"jobs\":[]}\nreply w ok\n");
    story_end(&s);
}

static void a_refused_watch_changes_nothing(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    watch(&s, true, false, "*");
    story_receive(&s, REFUSAL("watch", "PERMISSION_DENIED"));
    story_receive(&s, REPORT("changed", "{'jobs':[]}"));
    story_check_log(&s, "reply w PERMISSION_DENIED\n");
    story_reconnect(&s);
    story_receive(&s, WELCOME_WITH_VIEW);
    assert_int_equal(story_sent_count(&s, "x-vendor.arcpd.watch"), 1);
    story_end(&s);
}

static void the_watch_of_a_client_that_lags_behind_has_ended(void **state)
{
    story s;
    set_up(&s);
    story_receive(&s, REPORT("lagging", "{}"));
    story_receive(&s, REPORT("changed", "{'jobs':[]}"));
    story_check_log(&s, "unwatched LIMIT\n");
    story_reconnect(&s);
    story_receive(&s, WELCOME_WITH_VIEW);
    assert_int_equal(story_sent_count(&s, "x-vendor.arcpd.watch"), 1);
    /* It may watch again. */
    watch(&s, true, false, NULL);
    story_receive(&s, ANSWER("watch", "'jobs'"));
    arcp_buf_clear(&s.log);
    story_receive(&s, REPORT("changed", "{'jobs':[]}"));
    story_check_log(&s, "changed {\"jobs\":[]}\n");
    story_end(&s);
}

static void
after_a_resume_the_client_watches_again_and_says_that_changes_may_be_missing(void **state)
{
    story s;
    set_up(&s);
    story_reconnect(&s);
    arcp_buf_clear(&s.log);
    story_receive(&s, WELCOME_WITH_VIEW);
    assert_int_equal(story_sent_count(&s, "x-vendor.arcpd.watch"), 2);
    story_check_member(last_watch(&s), "payload",
                       "{\"what\":[\"jobs\",\"figures\"],\"principal\":\"*\"}");
    story_check_log(&s, "resumed\n");
    story_receive(&s, ANSWER("watch", "'jobs','figures'"));
    story_receive(&s, REPORT("changed", "{'jobs':[]}"));
    story_check_log(&s, RELOAD "changed {\"jobs\":[]}\n");
    story_end(&s);
}

static void figures_alone_need_no_reload_after_a_resume(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    watch(&s, false, true, NULL);
    story_receive(&s, ANSWER("watch", "'figures'"));
    story_reconnect(&s);
    story_receive(&s, WELCOME_WITH_VIEW);
    arcp_buf_clear(&s.log);
    story_receive(&s, ANSWER("watch", "'figures'"));
    story_check_log(&s, "");
    story_end(&s);
}

static void a_second_loss_before_the_response_makes_one_more_request(void **state)
{
    story s;
    set_up(&s);
    story_reconnect(&s);
    story_receive(&s, WELCOME_WITH_VIEW);
    story_reconnect(&s);
    story_receive(&s, WELCOME_WITH_VIEW);
    assert_int_equal(story_sent_count(&s, "x-vendor.arcpd.watch"), 3);
    arcp_buf_clear(&s.log);
    story_receive(&s, ANSWER("watch", "'jobs','figures'"));
    story_check_log(&s, RELOAD);
    story_end(&s);
}

/* The program's own request holds, and is therefore sent last. */
static void a_watch_that_the_program_changed_meanwhile_is_sent_after_the_repeated_one(void **state)
{
    story s;
    set_up(&s);
    story_drop(&s);
    watch(&s, true, false, "team-*");
    story_wait_deadline(&s);
    story_connect(&s);
    story_receive(&s, WELCOME_WITH_VIEW);
    assert_int_equal(story_sent_count(&s, "x-vendor.arcpd.watch"), 3);
    story_check_member(story_sent_nth(&s, "x-vendor.arcpd.watch", 2), "payload/principal", "\"*\"");
    story_check_member(last_watch(&s), "payload/principal", "\"team-*\"");
    story_receive(&s, ANSWER("watch", "'jobs','figures'"));
    story_reconnect(&s);
    story_receive(&s, WELCOME_WITH_VIEW);
    story_check_member(last_watch(&s), "payload",
                       "{\"what\":[\"jobs\",\"figures\"],\"principal\":\"team-*\"}");
    story_end(&s);
}

static void a_watch_that_cannot_be_repeated_has_ended_with_the_reason(void **state)
{
    static const struct {
        const char *name;
        const char *welcome;
        const char *response; /* NULL: none comes */
        const char *log;
    } rows[] = {
        {"the role is gone", WELCOME_WITH_VIEW, REFUSAL("watch", "PERMISSION_DENIED"),
         "resumed\nunwatched PERMISSION_DENIED\n"},
        {"the runtime does not offer it any more", WELCOME_AGAIN, NULL,
         "resumed\nunwatched INVALID_REQUEST\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        story s;
        print_message("  %s\n", rows[i].name);
        set_up(&s);
        story_reconnect(&s);
        arcp_buf_clear(&s.log);
        story_receive(&s, rows[i].welcome);
        if (rows[i].response != NULL) {
            story_receive(&s, rows[i].response);
        }
        story_receive(&s, REPORT("changed", "{'jobs':[]}"));
        story_check_log(&s, rows[i].log);
        story_end(&s);
    }
}

static void a_repeated_watch_without_a_response_has_ended_at_its_deadline(void **state)
{
    story s;
    set_up(&s);
    story_reconnect(&s);
    story_receive(&s, WELCOME_WITH_VIEW);
    arcp_buf_clear(&s.log);
    story_wait(&s, 29999);
    story_check_log(&s, "");
    story_wait(&s, 1);
    story_check_log(&s, "unwatched DEADLINE\n");
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_options_become_the_payload),
        cmocka_unit_test(a_watch_of_nothing_is_refused),
        cmocka_unit_test(reports_are_events_of_the_client),
        cmocka_unit_test(what_is_not_watched_is_not_reported),
        cmocka_unit_test(a_refused_watch_changes_nothing),
        cmocka_unit_test(the_watch_of_a_client_that_lags_behind_has_ended),
        cmocka_unit_test(
            after_a_resume_the_client_watches_again_and_says_that_changes_may_be_missing),
        cmocka_unit_test(figures_alone_need_no_reload_after_a_resume),
        cmocka_unit_test(a_second_loss_before_the_response_makes_one_more_request),
        cmocka_unit_test(a_watch_that_the_program_changed_meanwhile_is_sent_after_the_repeated_one),
        cmocka_unit_test(a_watch_that_cannot_be_repeated_has_ended_with_the_reason),
        cmocka_unit_test(a_repeated_watch_without_a_response_has_ended_at_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
