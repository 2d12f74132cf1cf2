/* Every block that the client's session frees is searched: it must not contain a token or
 * credential. */
#include "client/story.h"

#include "client/client_job.h"
#include "client/client_session.h"
#include "support/failing_alloc.h"

/* As sent, as sent with an escape, and as searched for. */
#define BEARER     "tok-of-the-user"
#define RESUME_1   "rt\\u002dfirst"
#define RESUME_2   "rt-second"
#define CREDENTIAL "sk\\u002dlive"

static const char *const secrets[] = {BEARER,     RESUME_1,  "rt-first", RESUME_2,
                                      CREDENTIAL, "sk-live", "sk-fresh"};
#define SECRET_COUNT (sizeof secrets / sizeof secrets[0])

typedef struct leaks {
    size_t blocks;
    size_t found[SECRET_COUNT];
} leaks;

static void look(void *user, const void *block, size_t size)
{
    leaks *l = user;
    l->blocks++;
    for (size_t i = 0; i < SECRET_COUNT; i++) {
        l->found[i] += memmem(block, size, secrets[i], strlen(secrets[i])) != NULL;
    }
}

/* With white space, as some runtimes write it: the client makes a compact copy of such a frame. */
#define WELCOME_WITH(id, hello, token)                                                             \
    "{'arcp':'1.1', 'id':'" id "', 'type':'session.welcome', 'session_id':'sess_1', 'payload':{"   \
    "'request_id':'$(" hello ")', 'resume_token':'" token "', 'resume_window_sec':600,"            \
    "'capabilities':{'features':['list_jobs','subscribe','provisioned_credentials']}}}"

static void note_value(void *user, const arcp_credential *credential)
{
    arcp_buf_append(user, credential->value);
}

static void resume(story *s)
{
    story_drop(s);
    story_wait_deadline(s);
    story_connect(s);
    assert_non_null(strstr(story_sent(s, "session.hello"), "\"resume_token\":\"rt-first\""));
    story_receive(s, WELCOME_WITH("w2", "session.hello", RESUME_2));
    check_span(arcp__client_session_resume_token(s->session), "rt-second");
}

static void play(story *s)
{
    arcp_client_options options = DEFAULTS;
    arcp_buf value = arcp_buf_secret_init();
    options.token = ARCP_SPAN_LITERAL(BEARER);
    story_new(s, options);
    s->log.secret = true; /* bodies of events are written to it */
    story_start(s);
    story_connect(s);
    assert_non_null(strstr(story_sent(s, "session.hello"), BEARER));
    story_receive(s, WELCOME_WITH("w1", "session.hello", RESUME_1));
    check_span(arcp__client_session_resume_token(s->session), "rt-first");
    story_submit(s, "a", "echo");
    story_receive(
        s, "{'arcp':'1.1', 'id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
           "'request_id':'$(job.submit)','job_id':'job_1','lease':{},'credentials':["
           "{'id':'c1','scheme':'bearer','value':'" CREDENTIAL "','endpoint':'https://g'}]}}");
    assert_int_equal(arcp__client_credentials_for_each(s->jobs[0]->credentials, note_value, &value),
                     1);
    check_span(arcp_buf_span(&value), "sk-live");
    arcp_buf_fini(&value);
    story_list(s, "l");
    story_receive(s,
                  "{'arcp':'1.1', 'id':'y','type':'session.jobs','session_id':'sess_1','payload':{"
                  "'request_id':'$(session.list_jobs)','jobs':[{'job_id':'job_1','credentials':["
                  "{'id':'c1','scheme':'bearer','value':'" CREDENTIAL "'}]}],'next_cursor':null}}");
    assert_non_null(s->page);
    story_receive(s, EVENT_OF("job_1", 1, "status",
                              "{'phase':'credential_rotated', 'id':'c1','value':'sk-fresh'}"));
    resume(s);
    story_end(s);
}

/* [arcp:14-10] */
static void no_freed_memory_contains_a_token_or_a_credential(void **state)
{
    (void)state;
    story s;
    leaks seen = {0};
    failing_alloc_watch(look, &seen);
    play(&s);
    failing_alloc_watch(NULL, NULL);
    assert_true(seen.blocks > 50);
    for (size_t i = 0; i < SECRET_COUNT; i++) {
        if (seen.found[i] != 0) {
            fail_msg("%zu of %zu freed blocks contained \"%s\"", seen.found[i], seen.blocks,
                     secrets[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_freed_memory_contains_a_token_or_a_credential),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
