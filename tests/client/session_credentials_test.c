/* Credentials issued by a runtime (src/client/client_credentials.c). */
#include "client/story.h"

#include "client/client_job.h"
#include "client/client_session.h"

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
    arcp_buf seen = arcp_buf_init();
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                  "'request_id':'$(job.submit)','job_id':'job_1','lease':{},'credentials':["
                  "{'id':'c1','scheme':'signed_url','value':'u','endpoint':'e'},"
                  "{'id':'c2','scheme':'bearer','value':'sk\\u002d2','endpoint':'https://g',"
                  "'constraints':{'cost.budget':['USD:5']}},"
                  "{'id':'c3','scheme':'bearer'},{'scheme':'bearer','value':'x'},'nonsense',null,"
                  "{'id':'c4','scheme':'bearer','value':'sk-4'}]}}");
    assert_non_null(s.jobs[0]->credentials);
    assert_int_equal(
        arcp__client_credentials_for_each(s.jobs[0]->credentials, note_credential, &seen), 2);
    check_span(arcp_buf_span(&seen),
               "c2=sk-2@https://g {\"cost.budget\":[\"USD:5\"]}\nc4=sk-4@ \n");
    arcp_buf_fini(&seen);
    story_end(&s);
}

/* [arcp:9.8.2-15] [arcp:14-10] */
static void descriptions_of_a_job_have_no_credentials_or_tokens(void **state)
{
    static const struct {
        const char *payload, *shown;
    } rows[] = {
        {"{}", "{}"},
        {"{\"job_id\":\"j\",\"lease\":{}}", "{\"job_id\":\"j\",\"lease\":{}}"},
        {"{ \"job_id\" : \"j\" }", "{\"job_id\":\"j\"}"},
        {"{\"credentials\":[{\"value\":\"sk\"}]}", "{}"},
        {"{\"a\":1,\"\\u0063redentials\":[\"sk\"],\"b\":2}", "{\"a\":1,\"b\":2}"},
        {"{\"a\":1,\"resume_token\":\"rt\"}", "{\"a\":1}"},
        {"{\"a\":1,\"resume\\u005ftoken\":\"rt\"}", "{\"a\":1}"},
        {"{\"credential\":1,\"resume_tokens\":2}", "{\"credential\":1,\"resume_tokens\":2}"},
        {"[\"credentials\"]", "{}"},
    };
    const arcp_json_limits limits = arcp_json_limits_init();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_json json = ARCP__JSON_INIT;
        arcp_buf out = arcp_buf_init();
        arcp_error err = {0};
        check_ok(arcp_json_scan(&json, arcp_span_cstr(rows[i].payload), &limits, &err), &err);
        arcp__client_credentials_redact(&json, ARCP_JSON_ROOT, &out);
        check_span(arcp_buf_span(&out), rows[i].shown);
        arcp_buf_fini(&out);
        arcp__json_fini(&json);
    }
}

/* [arcp:9.8.2-15] [arcp:14-10] */
static void a_rotated_credential_is_delivered_and_wiped(void **state)
{
    story s;
    story_live_job(&s);
    s.keeps_unread = true;
    arcp_buf frame = arcp_buf_init();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_usable_credentials_are_kept),
        cmocka_unit_test(descriptions_of_a_job_have_no_credentials_or_tokens),
        cmocka_unit_test(a_rotated_credential_is_delivered_and_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
