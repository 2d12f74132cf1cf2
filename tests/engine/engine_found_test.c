/* Faults that the simulation found, one small test each. */
#include "engine/scene.h"

#include "support/check.h"

#include "base/alloc.h"

#define HELLO HELLO_WITH("\"subscribe\",\"heartbeat\"")

/* The next frame is of this type. */
static void expect(scene *s, const char *type)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "\"type\":\"%s\"", type);
    char *frame = rig_take(s->client);
    if (frame == NULL || strstr(frame, wanted) == NULL) {
        fail_msg("wanted %s, got %s", type, frame == NULL ? "nothing" : frame);
    }
    arcp__free(frame);
}

static void expect_nothing(scene *s)
{
    char *frame = rig_take(s->client);
    if (frame != NULL) {
        fail_msg("wanted nothing, got %s", frame);
    }
}

static void skip_all(scene *s)
{
    for (char *frame = rig_take(s->client); frame != NULL; frame = rig_take(s->client)) {
        arcp__free(frame);
    }
}

static rig_agent *start_job(scene *s)
{
    rig_send(&s->rig, s->client, FRAME("s", "job.submit", "{\"agent\":\"echo\"}"));
    rig_agent *agent = rig_agent_last(&s->rig);
    assert_non_null(agent);
    return agent;
}

/* ---- */

static void nothing_overtakes_the_welcome(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    s->disk.is_held = true;
    rig_send(&s->rig, s->client, HELLO);
    rig_send(&s->rig, s->client, FRAME("p", "session.ping", "{\"nonce\":\"n\"}"));
    expect_nothing(s);
    s->disk.is_held = false;
    rig_run(&s->rig);
    expect(s, "session.welcome");
    expect(s, "session.pong");
    scene_end(s);
}

/* The refusal is numbered 1 and 2, and the second request comes twice before either was written:
 * its response must not be sent before its turn, nor twice. */
static void a_repeated_request_is_answered_in_its_turn(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO);
    expect(s, "session.welcome");
    s->disk.is_held = true;
    rig_send(&s->rig, s->client, FRAME("1", "job.submit", "{\"agent\":\"nobody\"}"));
    rig_send(&s->rig, s->client, FRAME("2", "job.submit", "{\"agent\":\"nobody\"}"));
    rig_send(&s->rig, s->client, FRAME("2", "job.submit", "{\"agent\":\"nobody\"}"));
    s->disk.is_held = false;
    rig_run(&s->rig);
    for (unsigned number = 1; number <= 2; number++) {
        char wanted[32];
        (void)snprintf(wanted, sizeof wanted, "\"event_seq\":%u,", number);
        char *frame = rig_take(s->client);
        assert_non_null(frame);
        assert_non_null(strstr(frame, wanted));
        arcp__free(frame);
    }
    expect_nothing(s);
    /* Later it is repeated at once. */
    rig_send(&s->rig, s->client, FRAME("1", "job.submit", "{\"agent\":\"nobody\"}"));
    expect(s, "job.error");
    expect_nothing(s);
    scene_end(s);
}

/* Cancel, then the end of the grace period, then nothing for a long time. */
static void an_agent_is_cancelled_once_and_killed_once(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO);
    rig_agent *agent = start_job(s);
    char frame[256];
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"),
                   agent->job_id);
    rig_send(&s->rig, s->client, frame);
    assert_int_equal(agent->cancels, 1);
    assert_int_equal(agent->kills, 0);
    rig_clock(&s->rig, 29 * ARCP_NS_PER_SEC);
    assert_int_equal(agent->kills, 0);
    rig_clock(&s->rig, 1000 * ARCP_NS_PER_SEC);
    assert_int_equal(agent->cancels, 1);
    assert_int_equal(agent->kills, 1);
    rig_agent_exits(&s->rig, agent, true, 9);
    assert_int_equal(agent->forgets, 1);
    scene_end(s);
}

/* A cancelled agent also reaches its deadline: the rest of the grace period is cut short. */
static void a_second_reason_leaves_a_cancelled_agent_less_time(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO);
    rig_send(&s->rig, s->client,
             FRAME("s", "job.submit", "{\"agent\":\"echo\",\"max_runtime_sec\":5}"));
    const rig_agent *agent = rig_agent_last(&s->rig);
    assert_non_null(agent);
    char frame[256];
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"),
                   agent->job_id);
    rig_send(&s->rig, s->client, frame);
    rig_clock(&s->rig, 6 * ARCP_NS_PER_SEC);
    assert_int_equal(agent->cancels, 1);
    assert_int_equal(agent->kills, 1);
    scene_end(s);
}

/* The store accepts no batch while earlier ones are still being written. */
static void a_batch_that_the_store_did_not_take_is_handed_out_again(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO);
    expect(s, "session.welcome");
    s->disk.is_held = true;
    rig_send(&s->rig, s->client, FRAME("1", "job.submit", "{\"agent\":\"nobody\"}"));
    s->disk.refuses_submit = true;
    rig_send(&s->rig, s->client, FRAME("2", "job.submit", "{\"agent\":\"nobody\"}"));
    s->disk.refuses_submit = s->disk.is_held = false;
    rig_clock(&s->rig, 10 * ARCP_NS_PER_SEC);
    arcp__engine_stats stats;
    arcp__engine_get_stats(s->rig.engine, &stats);
    assert_int_equal(stats.store_queue_bytes, 0);
    s->client = rig_connect(&s->rig, "a2");
    rig_send(&s->rig, s->client, HELLO);
    expect(s, "session.welcome");
    scene_end(s);
}

/* Many jobs that wrote a megabyte and then went quiet: most of it is only in the store, and can
 * still be read. */
static void quiet_jobs_do_not_keep_their_records_in_memory(void **state)
{
    (void)state;
    static char line[65536];
    enum { JOBS = 90, LINES = 17 };
    memset(line, 'x', sizeof line - 1);
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO);
    char first[64] = {0};
    for (unsigned job = 0; job < JOBS; job++) {
        char frame[128];
        (void)snprintf(frame, sizeof frame, FRAME("s%u", "job.submit", "{\"agent\":\"echo\"}"),
                       job);
        rig_send(&s->rig, s->client, frame);
        rig_agent *agent = rig_agent_last(&s->rig);
        assert_non_null(agent);
        memcpy(first, job == 0 ? agent->job_id : first, sizeof first);
        for (unsigned i = 0; i < LINES; i++) {
            rig_agent_writes(&s->rig, agent, line);
        }
        rig_agent_exits(&s->rig, agent, false, 0);
        skip_all(s);
        arcp__engine_stats stats;
        arcp__engine_get_stats(s->rig.engine, &stats);
        assert_true(stats.tail_bytes <= 67108864);
    }
    s->client = rig_connect(&s->rig, "a2");
    rig_send(&s->rig, s->client, HELLO);
    expect(s, "session.welcome");
    char frame[256];
    (void)snprintf(frame, sizeof frame,
                   FRAME("o", "job.subscribe", "{\"job_id\":\"%s\",\"history\":true}"), first);
    rig_send(&s->rig, s->client, frame);
    expect(s, "job.subscribed");
    for (unsigned i = 0; i <= LINES; i++) {
        expect(s, "job.event");
    }
    expect(s, "job.result");
    scene_end(s);
}

/* An agent could fill the disk on purpose: the cancel and the kill must reach it all the same. */
static void a_failing_store_keeps_no_agent_alive(void **state)
{
    static const struct {
        const char *payload;
        bool fails_before; /* the store, before the deadline; else the end is what fails */
        bool is_shutdown;
    } rows[] = {
        {"{\"agent\":\"echo\",\"max_runtime_sec\":5}", true, false},
        {"{\"agent\":\"echo\",\"max_runtime_sec\":5}", false, false},
        {"{\"agent\":\"echo\",\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:00:05Z\"}}",
         true, false},
        {"{\"agent\":\"echo\",\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:00:05Z\"}}",
         false, false},
        {"{\"agent\":\"echo\"}", true, true},
        {"{\"agent\":\"echo\"}", false, true},
    };
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        arcp_settings settings;
        char frame[300];
        arcp__settings_default(&settings);
        settings.shutdown_grace_sec = 5;
        scene *s = scene_begin(&settings);
        rig_send(&s->rig, s->client,
                 "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{"
                 "\"scheme\":\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{\"features\":["
                 "\"lease_expires_at\"]}}}");
        (void)snprintf(frame, sizeof frame,
                       "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":%s}",
                       rows[row].payload);
        rig_send(&s->rig, s->client, frame);
        rig_agent *agent = rig_agent_last(&s->rig);
        assert_non_null(agent);
        s->rig.fail_store = true;
        if (rows[row].fails_before) {
            rig_agent_writes(&s->rig, agent, "a line that finds no room");
        }
        if (rows[row].is_shutdown) {
            arcp__engine_shutdown(s->rig.engine, s->rig.now, false);
        }
        assert_false(agent->cancelled);
        rig_clock(&s->rig, 6 * (int64_t)ARCP_NS_PER_SEC);
        assert_int_equal(agent->cancels, 1);
        assert_int_equal(agent->kills, 1);
        assert_false(agent->forgotten);
        rig_agent_exits(&s->rig, agent, true, 9);
        assert_true(agent->forgotten);
        scene_end(s);
    }
}

static void a_shutdown_waits_for_a_failing_store_but_not_for_ever(void **state)
{
    (void)state;
    for (int recovers = 0; recovers < 2; recovers++) {
        scene *s = scene_begin(NULL);
        rig_send(&s->rig, s->client, HELLO);
        rig_agent *agent = start_job(s);
        s->rig.fail_store = true;
        rig_agent_writes(&s->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
        rig_agent_exits(&s->rig, agent, false, 0);
        arcp__engine_shutdown(s->rig.engine, s->rig.now, false);
        for (int second = 0; second < 3; second++) {
            rig_clock(&s->rig, (int64_t)ARCP_NS_PER_SEC);
            assert_false(arcp__engine_is_finished(s->rig.engine));
        }
        s->rig.fail_store = recovers == 0;
        for (int second = 0; second < 20; second++) {
            rig_clock(&s->rig, (int64_t)ARCP_NS_PER_SEC);
        }
        assert_true(arcp__engine_is_finished(s->rig.engine));
        assert_int_equal(arcp__engine_store_is_lost(s->rig.engine), recovers == 0);
        scene_end(s);
    }
}

/* ---- the log ---- */

static char last_warning[256];

static void keep_warning(engine_rig *rig, arcp__log_level level, arcp_span text)
{
    (void)rig;
    if (level == ARCP__LOG_WARN) {
        (void)snprintf(last_warning, sizeof last_warning, "%.*s", (int)text.size, text.data);
    }
}

static rig_agent *start_another(scene *s, const char *id)
{
    char frame[128];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":"
                   "{\"agent\":\"echo\"}}",
                   id);
    rig_send(&s->rig, s->client, frame);
    rig_agent *agent = rig_agent_last(&s->rig);
    assert_non_null(agent);
    return agent;
}

/* [arcp:EG-6] */
static void the_log_has_the_cause_of_an_agent_s_failure(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    last_warning[0] = '\0';
    s->rig.logged = keep_warning;
    rig_send(&s->rig, s->client, HELLO);
    rig_agent_exits(&s->rig, start_another(s, "1"), false, 0);
    assert_string_equal(last_warning, "");
    rig_agent_exits(&s->rig, start_another(s, "2"), false, 3);
    assert_string_equal(last_warning, "the agent ended with exit status 3");
    rig_agent_exits(&s->rig, start_another(s, "3"), true, 11);
    assert_non_null(strstr(last_warning, "the agent ended with signal 11"));
    rig_agent_writes(&s->rig, start_another(s, "4"),
                     "{\"type\":\"job.error\",\"payload\":{\"code\":\"E_OWN\",\"message\":\"m\"}}");
    assert_non_null(strstr(last_warning, "E_OWN"));
    skip_all(s);
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_overtakes_the_welcome),
        cmocka_unit_test(a_repeated_request_is_answered_in_its_turn),
        cmocka_unit_test(an_agent_is_cancelled_once_and_killed_once),
        cmocka_unit_test(a_second_reason_leaves_a_cancelled_agent_less_time),
        cmocka_unit_test(a_batch_that_the_store_did_not_take_is_handed_out_again),
        cmocka_unit_test(quiet_jobs_do_not_keep_their_records_in_memory),
        cmocka_unit_test(a_failing_store_keeps_no_agent_alive),
        cmocka_unit_test(a_shutdown_waits_for_a_failing_store_but_not_for_ever),
        cmocka_unit_test(the_log_has_the_cause_of_an_agent_s_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
