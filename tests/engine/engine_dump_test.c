/* arcp__engine_write_state: everything that waits has a line with the cause, and no line has a
 * secret. */
#include "engine/credential_rig.h"
#include "engine/scene.h"

#include "support/check.h"

/* A part of every text that must not be written. */
#define HUSH "hush5ecret"

#define RUN_ANYTHING "\"lease_request\":{\"model.use\":[\"*\"],\"agent.delegate\":[\"*\"]}"

static char *state_of(const engine_rig *rig, size_t lines_max)
{
    arcp_buf text = arcp_buf_init();
    arcp__engine_write_state(rig->engine, rig->now, lines_max, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_false(text.failed);
    return text.data;
}

/* Each line is a JSON object; one of them has all the parts. */
static void expect_line(const char *text, const char *const *parts)
{
    bool is_found = false;
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {16, 100, 1u << 20};
    for (const char *rest = text; *rest != '\0'; rest = strchr(rest, '\n') + 1) {
        const arcp_span line = arcp_span_make(rest, strcspn(rest, "\n"));
        char copy[2048];
        bool has_all = true;
        assert_int_equal(arcp_json_scan(&json, line, &limits, NULL), ARCP_OK);
        assert_true(line.size < sizeof copy);
        memcpy(copy, line.data, line.size);
        copy[line.size] = '\0';
        for (size_t i = 0; parts[i] != NULL; i++) {
            has_all = has_all && strstr(copy, parts[i]) != NULL;
        }
        is_found = is_found || has_all;
    }
    arcp__json_fini(&json);
    if (!is_found) {
        fail_msg("no line has \"%s\" and \"%s\":\n%s", parts[0], parts[1], text);
    }
}

#define EXPECT(rig, ...)                                                                           \
    do {                                                                                           \
        char *expect_text = state_of((rig), 1000);                                                 \
        expect_line(expect_text, (const char *const[]){__VA_ARGS__, NULL});                        \
        arcp_free(expect_text);                                                                    \
    } while (0)

static scene *begin(void)
{
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO_WITH("\"subscribe\",\"ack\""));
    return s;
}

static void links_wait_for_a_hello_and_for_their_token(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    EXPECT(&s->rig, "\"kind\":\"link\"", "\"state\":\"new\"", "[\"session.hello\"]",
           "\"hello_timeout_in_ms\":10000");
    s->rig.hold_questions = true;
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    EXPECT(&s->rig, "\"kind\":\"link\"", "\"state\":\"authenticating\"",
           "[\"the verification of its token\"]");
    scene_end(s);
}

static void objects_that_wait_for_the_store_name_the_batch(void **state)
{
    (void)state;
    scene *s = begin();
    EXPECT(&s->rig, "\"kind\":\"session\"", "\"principal\":\"alice\"", "\"state\":\"connected\"",
           "\"waits_for\":[]");
    s->disk.is_held = true;
    rig_send(&s->rig, s->client, FRAME("1", "job.submit", "{\"agent\":\"work\"}"));
    EXPECT(&s->rig, "\"kind\":\"batch\"", "\"state\":\"submitted\"",
           "\"waits_for\":[\"the store's commit\"]");
    EXPECT(&s->rig, "\"kind\":\"job\"", "\"agent_state\":\"starting\"",
           "\"waits_for\":[\"store batch ");
    EXPECT(&s->rig, "\"kind\":\"link\"", "\"state\":\"open\"", "\"waits_for\":[\"store batch ");
    EXPECT(&s->rig, "\"kind\":\"log\"", "\"waiting\":2", "\"waits_for\":[\"store batch ");
    s->disk.is_held = false;
    rig_run(&s->rig);
    scene_end(s);
}

static void a_store_that_fails_is_named(void **state)
{
    (void)state;
    scene *s = begin();
    s->disk.refuses = true;
    rig_send(&s->rig, s->client, FRAME("1", "job.submit", "{\"agent\":\"work\"}"));
    EXPECT(&s->rig, "\"kind\":\"batch\"", "\"to_be_written_again\"", "which cannot write");
    EXPECT(&s->rig, "\"kind\":\"log\"", "\"failures\":1", "\"retry_in_ms\":");
    s->disk.refuses = false;
    rig_clock(&s->rig, ARCP_NS_PER_SEC);
    scene_end(s);
}

static void jobs_wait_for_their_agents(void **state)
{
    (void)state;
    scene *s = begin();
    s->rig.hold_start = true;
    rig_send(&s->rig, s->client,
             FRAME("1", "job.submit", "{\"agent\":\"work\",\"max_runtime_sec\":9}"));
    rig_agent *agent = rig_agent_last(&s->rig);
    EXPECT(&s->rig, "\"kind\":\"job\"", "\"status\":\"pending\"", "\"max_runtime_in_ms\":9000",
           "[\"its host to start the agent\"]");
    rig_agent_started(&s->rig, agent);
    EXPECT(&s->rig, "\"kind\":\"job\"", "\"status\":\"running\"", agent->job_id,
           "[\"its agent's next line\"]");
    EXPECT(&s->rig, "\"kind\":\"subscription\"", agent->job_id, "\"owner\":true",
           "[\"the job's next event\"]");
    rig_agent_writes(&s->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    EXPECT(&s->rig, "\"kind\":\"job\"", "\"status\":\"success\"", "[\"its agent's exit\"]");
    rig_agent_exits(&s->rig, agent, false, 0);
    EXPECT(&s->rig, "\"kind\":\"totals\"", "\"job\":0");
    scene_end(s);
}

static void a_parent_waits_for_its_child(void **state)
{
    (void)state;
    scene *s = begin();
    char word[96];
    rig_send(&s->rig, s->client,
             FRAME("1", "job.submit",
                   "{\"agent\":\"work\",\"lease_request\":{\"agent.delegate\":[\"**\"]}}"));
    rig_agent *parent = rig_agent_last(&s->rig);
    rig_agent_writes(&s->rig, parent,
                     "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"echo\","
                     "\"wait\":true}}");
    const rig_agent *child = rig_agent_last(&s->rig);
    assert_ptr_not_equal(child, parent);
    (void)snprintf(word, sizeof word, "\"the end of its child %s\"", child->job_id);
    EXPECT(&s->rig, "\"kind\":\"job\"", parent->job_id, word);
    scene_end(s);
}

static void a_client_that_does_not_read_is_waited_for(void **state)
{
    (void)state;
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.limits_unsent_bytes = 65536;
    scene *s = scene_begin(&settings);
    static char line[70000];
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    rig_send(&s->rig, s->client, FRAME("1", "job.submit", "{\"agent\":\"work\"}"));
    s->client->slow = true;
    rig_agent *agent = rig_agent_last(&s->rig);
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":"
                   "\"info\",\"message\":\"%060000d\"}}}",
                   0);
    for (int i = 0; i < 3; i++) {
        rig_agent_writes(&s->rig, agent, line);
    }
    EXPECT(&s->rig, "\"kind\":\"link\"", "[\"its peer to read\"]");
    EXPECT(&s->rig, "\"kind\":\"session\"", "[\"room in its link: its peer does not read\"]");
    EXPECT(&s->rig, "\"kind\":\"job\"", "\"agent_paused\":true", "(limits.unsent_bytes)");
    rig_drop(&s->rig, s->client);
    EXPECT(&s->rig, "\"kind\":\"session\"", "\"state\":\"away\"",
           "[\"a resume, or the end of its jobs\"]");
    scene_end(s);
}

static void submits_and_their_jobs_wait_for_credentials(void **state)
{
    fixture *f = *state;
    f->up.issuing = UPSTREAM_STALLS;
    start(f);
    submit(f, "1", "{\"agent\":\"work\"," RUN_ANYTHING "}");
    submit(f, "2", "{\"agent\":\"work\"," RUN_ANYTHING "}");
    EXPECT(&f->rig, "\"kind\":\"admission\"", "[\"a credential\"]");
    EXPECT(&f->rig, "\"kind\":\"credential\"", "\"state\":\"intent\"",
           "[\"the provisioner's answer to issue");
    EXPECT(&f->rig, "\"kind\":\"request\"", "\"id\":\"1\"", "[\"a credential for its job\"]");
    EXPECT(&f->rig, "\"kind\":\"request\"", "\"id\":\"2\"",
           "[\"the answer to the submit before it\"]");
}

/* There are secrets in all places that can have one, and a line of each kind. */
static void no_secret_is_shown(void **state)
{
    fixture *f = *state;
    f->rig.hold_start = false;
    rig_agent *agent = run_one(f, "{\"agent\":\"work\",\"input\":{\"a\":\"" HUSH
                                  "\"},\"idempotency_key\":\"" HUSH "\"," RUN_ANYTHING "}");
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":"
                     "\"info\",\"message\":\"" HUSH "\"}}}");
    rig_agent_writes(&f->rig, agent,
                     "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"echo\","
                     "\"wait\":true,\"input\":{\"b\":\"" HUSH "\"}}}");
    char cancel[256];
    (void)snprintf(cancel, sizeof cancel, "{\"job_id\":\"%s\",\"reason\":\"" HUSH "\"}",
                   agent->job_id);
    request(f, "a", "c", "job.cancel", cancel);
    f->up.issuing = UPSTREAM_STALLS;
    submit(f, "2", "{\"agent\":\"work\",\"input\":\"" HUSH "\"," RUN_ANYTHING "}");
    submit(f, "3", "{\"agent\":\"work\",\"input\":\"" HUSH "\"," RUN_ANYTHING "}");
    f->rig.hold_questions = true;
    hello_with(f, "b", HUSH, FEATURES_ALL);

    char *text = state_of(&f->rig, 1000);
    static const char *const kinds[] = {"engine",    "log",          "link", "session",   "request",
                                        "admission", "subscription", "job",  "credential"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char word[64];
        (void)snprintf(word, sizeof word, "{\"kind\":\"%s\"", kinds[i]);
        check_has(text, word);
    }
    check_has(text, "\"cancelling\":true");
    check_has(text, "the end of its child job_");
    check_has_not(text, HUSH);
    check_has_not(text, "sk-live-");
    check_has_not(text, "t-alice");
    check_has_not(text, "resume_token");
    arcp_free(text);
}

static void lines_beyond_the_limit_are_counted(void **state)
{
    (void)state;
    scene *s = begin();
    for (int i = 0; i < 5; i++) {
        char frame[128];
        (void)snprintf(frame, sizeof frame,
                       "{\"arcp\":\"1.1\",\"id\":\"s%d\",\"type\":\"job.submit\",\"payload\":{"
                       "\"agent\":\"work\"}}",
                       i);
        rig_send(&s->rig, s->client, frame);
    }
    char *text = state_of(&s->rig, 3);
    size_t lines = 0;
    for (const char *found = strstr(text, "{\"kind\":\"job\""); found != NULL;
         found = strstr(found + 1, "{\"kind\":\"job\"")) {
        lines++;
    }
    assert_int_equal(lines, 3);
    expect_line(text, (const char *const[]){"\"kind\":\"totals\"", "\"job\":5", "\"left_out\":{",
                                            "\"job\":2", NULL});
    arcp_free(text);
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_wait_for_a_hello_and_for_their_token),
        cmocka_unit_test(objects_that_wait_for_the_store_name_the_batch),
        cmocka_unit_test(a_store_that_fails_is_named),
        cmocka_unit_test(jobs_wait_for_their_agents),
        cmocka_unit_test(a_parent_waits_for_its_child),
        cmocka_unit_test(a_client_that_does_not_read_is_waited_for),
        cmocka_unit_test_setup_teardown(submits_and_their_jobs_wait_for_credentials,
                                        credential_setup, credential_teardown),
        cmocka_unit_test_setup_teardown(no_secret_is_shown, credential_setup, credential_teardown),
        cmocka_unit_test(lines_beyond_the_limit_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
