/* A client that ends its input and waits for its responses and jobs. */
#include "engine/scene.h"

#include "support/check.h"

#include "base/alloc.h"

#define SUBMIT FRAME("s", "job.submit", "{\"agent\":\"echo\"}")

/* A job of the client runs, and nothing more comes from the client. */
static scene *begin_waiting(const char *hello, const arcp_settings *settings)
{
    scene *s = scene_begin(settings);
    rig_send(&s->rig, s->client, hello);
    rig_send(&s->rig, s->client, SUBMIT);
    rig_input_over(&s->rig, s->client);
    assert_non_null(s->client->link);
    return s;
}

static void say(scene *s, const char *line)
{
    rig_agent_writes(&s->rig, rig_agent_last(&s->rig), line);
}

static void finish_job(scene *s)
{
    rig_agent *agent = rig_agent_last(&s->rig);
    rig_agent_writes(&s->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&s->rig, agent, false, 0);
}

static void assert_left(const scene *s)
{
    assert_null(s->client->link);
    assert_int_equal(s->client->close_code, 1000);
}

static void a_client_without_requests_leaves_at_once(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    rig_input_over(&s->rig, s->client);
    assert_left(s);
    scene_end(s);
}

static void a_client_without_jobs_leaves_after_its_responses(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    rig_receive(&s->rig, s->client, FRAME("s", "job.submit", "{\"agent\":\"nobody\"}"));
    rig_input_over(&s->rig, s->client);
    assert_int_equal(scene_takes(s, "\"AGENT_NOT_AVAILABLE\""), 1);
    assert_left(s);
    scene_end(s);
}

static void a_job_is_waited_for_and_reported_to_its_end(void **state)
{
    (void)state;
    scene *s = begin_waiting(HELLO_PLAIN, NULL);
    assert_int_equal(scene_takes(s, "\"job.accepted\""), 1);
    rig_clock(&s->rig, 3600 * ARCP_NS_PER_SEC);
    say(s, "on my way");
    assert_int_equal(scene_takes(s, "on my way"), 1);
    assert_non_null(s->client->link);
    finish_job(s);
    assert_int_equal(scene_takes(s, "\"job.result\""), 1);
    assert_left(s);
    scene_end(s);
}

static void an_end_that_is_not_durable_yet_is_waited_for(void **state)
{
    (void)state;
    scene *s = begin_waiting(HELLO_PLAIN, NULL);
    s->disk.is_held = true;
    finish_job(s);
    assert_non_null(s->client->link);
    assert_int_equal(scene_takes(s, "\"job.result\""), 0);
    s->disk.is_held = false;
    rig_run(&s->rig);
    assert_int_equal(scene_takes(s, "\"job.result\""), 1);
    assert_left(s);
    scene_end(s);
}

static void unsent_bytes_of_the_transport_are_waited_for(void **state)
{
    (void)state;
    scene *s = begin_waiting(HELLO_PLAIN, NULL);
    (void)scene_takes(s, "");
    s->client->slow = true;
    finish_job(s);
    rig_clock(&s->rig, 3600 * ARCP_NS_PER_SEC);
    assert_non_null(s->client->link);
    assert_int_equal(scene_takes(s, "\"job.result\""), 1);
    assert_left(s);
    scene_end(s);
}

static void the_token_may_be_verified_later(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    s->rig.hold_questions = true;
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    rig_send(&s->rig, s->client, SUBMIT);
    rig_input_over(&s->rig, s->client);
    assert_non_null(s->client->link);
    assert_int_equal(s->rig.question_count, 1);
    const arcp__authentication result = {.principal = ARCP_SPAN_LITERAL("alice")};
    arcp__engine_authenticated(s->rig.engine, s->rig.now, s->rig.questions[0], &result);
    rig_run(&s->rig);
    assert_int_equal(scene_takes(s, "\"job.accepted\""), 1);
    assert_non_null(s->client->link);
    finish_job(s);
    assert_left(s);
    scene_end(s);
}

/* [arcp:6.4-4] */
static void silence_is_no_lost_heartbeat_and_pings_go_on(void **state)
{
    (void)state;
    arcp_settings settings;
    arcp__settings_default(&settings);
    scene *s = begin_waiting(HELLO_WITH("\"heartbeat\""), &settings);
    (void)scene_takes(s, "");
    const int64_t interval_ns = (int64_t)settings.session_heartbeat_interval_sec * ARCP_NS_PER_SEC;
    rig_clock(&s->rig, 10 * interval_ns);
    assert_non_null(s->client->link);
    assert_in_range(scene_takes(s, "\"session.ping\""), 9, 11);
    finish_job(s);
    assert_left(s);
    scene_end(s);
}

static void children_of_the_job_are_started_and_waited_for(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    rig_send(&s->rig, s->client,
             FRAME("s", "job.submit",
                   "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"work@*\"]}}"));
    rig_input_over(&s->rig, s->client);
    rig_agent *parent = rig_agent_last(&s->rig);
    say(s, "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\",\"input\":1}}");
    rig_agent *child = rig_agent_last(&s->rig);
    assert_ptr_not_equal(child, parent);
    rig_agent_writes(&s->rig, child, "{\"type\":\"job.result\",\"payload\":{\"result\":7}}");
    rig_agent_exits(&s->rig, child, false, 0);
    assert_non_null(s->client->link);
    rig_agent_writes(&s->rig, parent, "{\"type\":\"job.result\",\"payload\":{\"result\":8}}");
    rig_agent_exits(&s->rig, parent, false, 0);
    assert_int_equal(scene_takes(s, "\"job.result\""), 2);
    assert_left(s);
    scene_end(s);
}

static void a_job_that_is_only_subscribed_to_is_not_waited_for(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    rig_send(&s->rig, s->client, SUBMIT);
    rig_client *other = rig_connect(&s->rig, "a2");
    rig_send(&s->rig, other, HELLO_WITH("\"subscribe\""));
    char frame[256];
    (void)snprintf(frame, sizeof frame, FRAME("u", "job.subscribe", "{\"job_id\":\"%s\"}"),
                   rig_agent_last(&s->rig)->job_id);
    rig_send(&s->rig, other, frame);
    rig_input_over(&s->rig, other);
    assert_null(other->link);
    assert_int_equal(other->close_code, 1000);
    assert_non_null(s->client->link);
    scene_end(s);
}

/* Records that only the store has are read for it, also those of kinds that it does not get. */
static void history_that_is_read_from_the_store_is_waited_for(void **state)
{
    static const char *const features[] = {
        HELLO_WITH("\"subscribe\""),
        HELLO_WITH("\"subscribe\",\"progress\",\"result_chunk\",\"cost.budget\"")};
    (void)state;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        scene *s = scene_begin(NULL);
        rig_send(&s->rig, s->client, HELLO_PLAIN);
        rig_send(&s->rig, s->client, SUBMIT);
        say(s, "early words");
        finish_job(s);
        char frame[256];
        (void)snprintf(frame, sizeof frame,
                       FRAME("u", "job.subscribe", "{\"job_id\":\"%s\",\"history\":true}"),
                       s->rig.agents[0].job_id);
        rig_restart(&s->rig);
        s->client = rig_connect(&s->rig, "a2");
        rig_send(&s->rig, s->client, features[i]);
        rig_receive(&s->rig, s->client, frame);
        rig_input_over(&s->rig, s->client);
        assert_left(s);
        unsigned found = 0;
        for (char *got = rig_take(s->client); got != NULL; got = rig_take(s->client)) {
            found += strstr(got, "early words") != NULL || strstr(got, "\"job.result\"") != NULL;
            arcp__free(got);
        }
        assert_int_equal(found, 2);
        scene_end(s);
    }
}

static void a_client_that_is_disconnected_while_waiting_can_resume(void **state)
{
    (void)state;
    scene *s = begin_waiting(HELLO_PLAIN, NULL);
    char *welcome = rig_take(s->client);
    char token[64] = "";
    assert_int_equal(
        sscanf(strstr(welcome, "\"resume_token\":\""), "\"resume_token\":\"%63[^\"]", token), 1);
    arcp__free(welcome);
    rig_drop(&s->rig, s->client);
    s->client = rig_connect(&s->rig, "a1");
    char frame[256];
    (void)snprintf(frame, sizeof frame,
                   FRAME("r", "session.resume",
                         "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"},"
                         "\"resume_token\":\"%s\",\"last_event_seq\":0}"),
                   token);
    rig_send(&s->rig, s->client, frame);
    finish_job(s);
    assert_int_equal(scene_takes(s, "\"job.result\""), 1);
    assert_non_null(s->client->link); /* this one may still send requests */
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_without_requests_leaves_at_once),
        cmocka_unit_test(a_client_without_jobs_leaves_after_its_responses),
        cmocka_unit_test(a_job_is_waited_for_and_reported_to_its_end),
        cmocka_unit_test(an_end_that_is_not_durable_yet_is_waited_for),
        cmocka_unit_test(unsent_bytes_of_the_transport_are_waited_for),
        cmocka_unit_test(the_token_may_be_verified_later),
        cmocka_unit_test(silence_is_no_lost_heartbeat_and_pings_go_on),
        cmocka_unit_test(children_of_the_job_are_started_and_waited_for),
        cmocka_unit_test(a_job_that_is_only_subscribed_to_is_not_waited_for),
        cmocka_unit_test(history_that_is_read_from_the_store_is_waited_for),
        cmocka_unit_test(a_client_that_is_disconnected_while_waiting_can_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
