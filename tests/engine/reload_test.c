/* Settings that a reload changes while they are in use. */
#include "base/alloc.h"
#include "engine/frames.h"
#include "story/engine_rig.h"
#include "support/check.h"

static engine_rig rig;

static void reload(void)
{
    arcp__engine_set_settings(rig.engine, &rig.settings);
}

static bool takes(rig_client *client, const char *word)
{
    bool found = false;
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        found = found || strstr(frame, word) != NULL;
        arcp__free(frame);
    }
    return found;
}

static void a_session_does_not_idle_out_when_that_was_switched_off(void **state)
{
    (void)state;
    for (int with_job = 0; with_job < 2; with_job++) {
        arcp_settings settings;
        arcp__settings_default(&settings);
        settings.session_idle_timeout_sec = 10;
        rig_start(&rig, &settings);
        rig_client *client = rig_connect(&rig, "a");
        rig_send(&rig, client, HELLO_PLAIN);
        if (with_job) {
            rig_send(&rig, client, FRAME("1", "job.submit", "{\"agent\":\"echo\"}"));
            assert_non_null(rig_agent_last(&rig));
        }
        rig.settings.session_idle_timeout_sec = 0;
        reload();
        rig_clock(&rig, 60 * ARCP_NS_PER_SEC);
        assert_non_null(client->link);
        rig_stop(&rig);
    }
}

#define DEEP "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]"

static void a_hello_that_waits_for_its_verifier_keeps_the_limits_of_its_arrival(void **state)
{
    (void)state;
    rig_start(&rig, NULL);
    rig.hold_questions = true;
    rig_client *client = rig_connect(&rig, "a");
    rig_send(&rig, client,
             FRAME("h", "session.hello",
                   "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"},\"x\":" DEEP
                   ",\"capabilities\":{\"encodings\":[\"json\"],\"features\":[]}}"));
    assert_int_equal(rig.question_count, 1);
    rig.settings.limits_json_depth = 16;
    reload();
    const arcp__authentication result = {.principal = ARCP_SPAN_LITERAL("alice")};
    arcp__engine_authenticated(rig.engine, rig.now, rig.questions[0], &result);
    rig_run(&rig);
    assert_false(arcp__engine_has_failed(rig.engine));
    assert_true(takes(client, "session.welcome"));
    rig_stop(&rig);
}

/* After the tokens were read again, a client with a role resumes, and has what the new tokens say.
 */
static void the_links_of_roles_are_closed_when_roles_are_read_again(void **state)
{
    static const char *const tokens[] = {"t-alice", "v-vera", "o-olga"};
    rig_client *clients[3];
    (void)state;
    rig_start(&rig, NULL);
    for (size_t i = 0; i < 3; i++) {
        char hello[300];
        clients[i] = rig_connect(&rig, (const char *const[]){"a", "b", "c"}[i]);
        (void)snprintf(hello, sizeof hello,
                       FRAME("h", "session.hello",
                             "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},"
                             "\"capabilities\":{\"encodings\":[\"json\"],\"features\":[]}}"),
                       tokens[i]);
        rig_send(&rig, clients[i], hello);
        assert_true(takes(clients[i], "session.welcome"));
    }
    arcp__engine_recheck_roles(rig.engine, rig.now);
    rig_run(&rig);
    assert_non_null(clients[0]->link);
    assert_null(clients[1]->link);
    assert_null(clients[2]->link);
    assert_int_equal(clients[1]->close_code, 1000);
    rig_stop(&rig);
}

/* Also with a slow store: otherwise the operator would reload again and again. */
static void the_response_to_a_reload_comes_before_the_link_is_closed(void **state)
{
    (void)state;
    rig_start(&rig, NULL);
    rig_client *client = rig_connect(&rig, "o");
    rig_send(&rig, client,
             FRAME("h", "session.hello",
                   "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"o-olga\"},\"capabilities\":{"
                   "\"encodings\":[\"json\"],\"features\":[\"x-vendor.arcpd.view\","
                   "\"x-vendor.arcpd.operate\"]}}"));
    assert_true(takes(client, "session.welcome"));
    rig.hold_store = true;
    rig_send(&rig, rig_connect(&rig, "a"), /* the row of its session is not stored yet */
             FRAME("h", "session.hello",
                   "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"},"
                   "\"capabilities\":{\"encodings\":[\"json\"],\"features\":[]}}"));
    rig_send(&rig, client, FRAME("r", "x-vendor.arcpd.reload", "{}"));
    arcp__engine_recheck_roles(rig.engine, rig.now);
    rig_run(&rig);
    assert_null(client->frames);
    rig.hold_store = false;
    rig_run(&rig);
    assert_true(takes(client, "x-vendor.arcpd.reload.answer"));
    assert_null(client->link);
    assert_int_equal(client->close_code, 1000);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_does_not_idle_out_when_that_was_switched_off),
        cmocka_unit_test(a_hello_that_waits_for_its_verifier_keeps_the_limits_of_its_arrival),
        cmocka_unit_test(the_response_to_a_reload_comes_before_the_link_is_closed),
        cmocka_unit_test(the_links_of_roles_are_closed_when_roles_are_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
