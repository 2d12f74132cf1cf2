/* How fast one principal may submit and be refused: over all its sessions, also when it disconnects
 * and returns, and without effect on others. */
#include "base/alloc.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "session/session_state.h"
#include "story/engine_rig.h"
#include "support/check.h"

#define IDLE_MAX 1024u /* src/job/directory.c */

static engine_rig rig;

static void begin(uint64_t submits_per_sec, uint64_t refusals_per_sec)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.limits_submits_per_sec = submits_per_sec;
    settings.limits_submit_burst = 3;
    settings.limits_refusals_per_sec = refusals_per_sec;
    settings.limits_refusal_burst = 3;
    settings.session_resume_window_sec = 0;
    settings.jobs_keep_terminal_sec = 0;
    rig_start(&rig, &settings);
}

static rig_client *join(const char *name, const char *hello)
{
    rig_client *client = rig_connect(&rig, name);
    rig_send(&rig, client, hello);
    arcp__free(rig_take(client));
    return client;
}

static unsigned take(rig_client *client, const char *word)
{
    unsigned found = 0;
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        found += strstr(frame, word) != NULL ? 1 : 0;
        arcp__free(frame);
    }
    return found;
}

static void ask(rig_client *client, unsigned id, const char *agent)
{
    char frame[200];
    (void)snprintf(frame, sizeof frame, FRAME("m%u", "job.submit", "{\"agent\":\"%s\"}"), id,
                   agent);
    rig_send(&rig, client, frame);
}

/* So many jobs, each of which ends at once. */
static unsigned submit_jobs(rig_client *client, unsigned first, unsigned count)
{
    unsigned accepted = 0;
    for (unsigned i = 0; i < count; i++) {
        const size_t before = rig.agent_count;
        ask(client, first + i, "echo");
        if (rig.agent_count != before) {
            accepted++;
            rig_agent_writes(&rig, rig_agent_last(&rig),
                             "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
            rig_agent_exits(&rig, rig_agent_last(&rig), false, 0);
        }
    }
    return accepted;
}

static void submits_beyond_the_rate_are_refused_with_a_time_to_retry(void **state)
{
    (void)state;
    begin(2, 0);
    rig_client *client = join("a", HELLO_PLAIN);
    assert_int_equal(submit_jobs(client, 0, 5), 3);
    assert_int_equal(take(client, "\"code\":\"INTERNAL_ERROR\",\"message\":\"too many submits "
                                  "(limits.submits_per_sec)\",\"retryable\":true,\"details\":{"
                                  "\"limit\":\"limits.submits_per_sec\",\"retry_after_ms\":500}"),
                     2);
    rig_clock(&rig, 500 * ARCP_NS_PER_MS - 1);
    assert_int_equal(submit_jobs(client, 10, 1), 0);
    rig_clock(&rig, 1);
    assert_int_equal(submit_jobs(client, 20, 2), 1);
    rig_stop(&rig);
}

static void no_other_principal_is_refused(void **state)
{
    (void)state;
    begin(2, 2);
    rig_client *alice = join("a", HELLO_PLAIN);
    rig_client *bob = join("b", HELLO_OF("bob", ""));
    assert_int_equal(submit_jobs(alice, 0, 5), 3);
    assert_int_equal(submit_jobs(bob, 0, 3), 3);
    rig_stop(&rig);
}

static void a_repeated_submit_costs_nothing(void **state)
{
    (void)state;
    begin(1, 0);
    rig_client *client = join("a", HELLO_PLAIN);
    for (unsigned i = 0; i < 20; i++) {
        char frame[200];
        (void)snprintf(frame, sizeof frame,
                       FRAME("k%u", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}"),
                       i);
        rig_send(&rig, client, frame);
    }
    assert_int_equal(take(client, "\"job.accepted\""), 20);
    assert_int_equal(submit_jobs(client, 0, 5), 2); /* of three, the first submit took one */
    rig_stop(&rig);
}

static void all_sessions_of_a_principal_have_one_bucket(void **state)
{
    (void)state;
    begin(1, 0);
    rig_client *one = join("one", HELLO_PLAIN);
    rig_client *two = join("two", HELLO_PLAIN);
    assert_int_equal(submit_jobs(one, 0, 2), 2);
    assert_int_equal(submit_jobs(two, 0, 2), 1);
    rig_stop(&rig);
}

static void a_principal_that_returns_has_the_same_bucket(void **state)
{
    (void)state;
    begin(1, 0);
    rig_client *client = join("a", HELLO_PLAIN);
    for (unsigned i = 0; i < 3; i++) {
        ask(client, i, "none"); /* each takes a token, too */
    }
    rig_drop(&rig, client);
    rig_clock(&rig,
              10 * ARCP_NS_PER_MS); /* its resume window has ended, and nothing else keeps it */
    assert_null(rig.engine->sessions.all);
    assert_int_equal(rig.engine->jobs.idle_count, 1);
    client = join("a", HELLO_PLAIN);
    assert_int_equal(rig.engine->jobs.idle_count, 0);
    assert_int_equal(submit_jobs(client, 0, 1), 0);
    rig_drop(&rig, client);
    rig_clock(&rig, 10 * ARCP_NS_PER_MS);
    assert_int_equal(rig.engine->jobs.idle_count, 1);
    rig_clock(&rig, 61 * ARCP_NS_PER_SEC); /* full again, and swept */
    assert_int_equal(rig.engine->jobs.idle_count, 0);
    assert_null(rig.engine->jobs.principals);
    rig_stop(&rig);
}

static void a_limited_number_of_principals_is_kept_for_their_buckets(void **state)
{
    const arcp__principal *first = NULL;
    (void)state;
    begin(1, 1);
    for (unsigned i = 0; i < IDLE_MAX + 1; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "p%u", i);
        arcp__principal *principal = arcp__principal_get(&rig.engine->jobs, arcp_span_cstr(name));
        assert_non_null(principal);
        first = i == 0 ? principal : first;
        (void)arcp__principal_refused(&rig.engine->jobs, principal);
        assert_true(i == 0 || rig.engine->jobs.idle == first);
        arcp__principal_maybe_free(&rig.engine->jobs, principal);
    }
    assert_int_equal(rig.engine->jobs.idle_count, IDLE_MAX);
    assert_string_equal(rig.engine->jobs.idle->name, "p1"); /* the first that left is removed */
    rig_stop(&rig);
}

static void refusals_beyond_the_rate_are_sent_and_pause_the_link(void **state)
{
    (void)state;
    begin(0, 2);
    rig_client *client = join("a", HELLO_PLAIN);
    for (unsigned i = 0; i < 10; i++) {
        ask(client, i, "none");
    }
    assert_int_equal(take(client, "AGENT_NOT_AVAILABLE"), 3);
    assert_true(client->paused);
    assert_int_equal(rig.audits, 4); /* of the hello and of these: unread frames cost nothing */
    rig_clock(&rig, 500 * ARCP_NS_PER_MS - 1);
    assert_int_equal(take(client, "AGENT_NOT_AVAILABLE"), 0);
    rig_clock(&rig, 1);
    assert_int_equal(take(client, "AGENT_NOT_AVAILABLE"), 1);
    rig_clock(&rig, 5 * ARCP_NS_PER_SEC);
    assert_int_equal(take(client, "AGENT_NOT_AVAILABLE"), 6); /* none is lost */
    assert_false(client->paused);
    rig_stop(&rig);
}

static void only_the_refused_link_pauses(void **state)
{
    (void)state;
    begin(0, 1);
    rig_client *bad = join("bad", HELLO_PLAIN);
    rig_client *good = join("good", HELLO_PLAIN);
    rig_client *bob = join("bob", HELLO_OF("bob", ""));
    for (unsigned i = 0; i < 10; i++) {
        ask(bad, i, "none");
        ask(bob, i, i < 2 ? "none" : "echo");
    }
    assert_true(bad->paused);
    assert_int_equal(submit_jobs(good, 0, 5), 5);
    assert_int_equal(take(bob, "\"job.accepted\""), 8);
    rig_stop(&rig);
}

/* A link that is paused although its peer reads is not closed for silence. */
static void a_paused_link_is_not_lost(void **state)
{
    (void)state;
    begin(0, 1);
    rig.settings.limits_refusal_burst = 1;
    arcp__engine_set_settings(rig.engine, &rig.settings);
    rig_client *bad[8];
    for (unsigned i = 0; i < 8; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "b%u", i);
        bad[i] = join(name, HELLO_WITH("\"heartbeat\""));
    }
    for (unsigned round = 0; round < 12; round++) { /* each is refused, and 96 s are due */
        for (unsigned i = 0; i < 8; i++) {
            ask(bad[i], round, "none");
            if (bad[i]->link->is_throttled) {
                arcp__sessions_due(&rig.engine->sessions, &bad[i]->link->throttle_timer);
            }
            rig_run(&rig);
        }
    }
    ask(bad[0], 100, "none");
    rig_clock(&rig, 61 * ARCP_NS_PER_SEC);
    assert_non_null(bad[0]->link);
    assert_true(bad[0]->paused);
    rig_clock(&rig, 61 * ARCP_NS_PER_SEC);
    assert_false(bad[0]->paused);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submits_beyond_the_rate_are_refused_with_a_time_to_retry),
        cmocka_unit_test(no_other_principal_is_refused),
        cmocka_unit_test(a_repeated_submit_costs_nothing),
        cmocka_unit_test(all_sessions_of_a_principal_have_one_bucket),
        cmocka_unit_test(a_principal_that_returns_has_the_same_bucket),
        cmocka_unit_test(a_limited_number_of_principals_is_kept_for_their_buckets),
        cmocka_unit_test(refusals_beyond_the_rate_are_sent_and_pause_the_link),
        cmocka_unit_test(only_the_refused_link_pauses),
        cmocka_unit_test(a_paused_link_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
