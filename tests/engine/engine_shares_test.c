/* The limits on kept jobs are shared among principals: the one that has most loses a job first, and
 * no key is removed early for another principal's. */
#include "support/check.h"

#include <stdio.h>

#include "base/alloc.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "story/engine_rig.h"

static engine_rig rig;
static rig_client *alice, *bob;

static void say_hello(void)
{
    alice = rig_connect(&rig, "a");
    rig_send(&rig, alice, HELLO_OF("alice", "\"list_jobs\""));
    bob = rig_connect(&rig, "b");
    rig_send(&rig, bob, HELLO_OF("bob", "\"list_jobs\""));
}

static void begin(void)
{
    memset(&rig, 0, sizeof rig);
    rig_start(&rig, NULL);
    say_hello();
}

static void use_settings(void)
{
    arcp__engine_set_settings(rig.engine, &rig.settings);
}

/* The newest frame; earlier ones are discarded. The caller frees it. */
static char *last_frame(rig_client *client)
{
    char *last = NULL;
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(last);
        last = frame;
    }
    assert_non_null(last);
    return last;
}

static void assert_last(rig_client *client, const char *part)
{
    char *frame = last_frame(client);
    if (strstr(frame, part) == NULL) {
        fail_msg("%s is not in %s", part, frame);
    }
    arcp__free(frame);
}

/* A submit with a lease of about so many bytes; its key, if any, is k<key>. */
static void submit(rig_client *client, unsigned key, unsigned lease_bytes)
{
    static unsigned requests;
    static char frame[70000];
    static char path[65536];
    char keyed[64] = "";
    assert_true(lease_bytes < sizeof path);
    memset(path, 'p', lease_bytes);
    path[lease_bytes] = '\0';
    if (key != 0) {
        (void)snprintf(keyed, sizeof keyed, ",\"idempotency_key\":\"k%u\"", key);
    }
    (void)snprintf(frame, sizeof frame,
                   FRAME("s%u", "job.submit",
                         "{\"agent\":\"echo\",\"lease_request\":{\"fs.read\":[\"/%s\"]}%s}"),
                   requests++, path, keyed);
    rig_send(&rig, client, frame);
}

/* A job that writes so many bytes and ends. */
static void run(rig_client *client, unsigned key, unsigned lease_bytes, unsigned log_bytes)
{
    static char line[65536];
    submit(client, key, lease_bytes);
    rig_agent *agent = rig_agent_last(&rig);
    assert_non_null(agent);
    assert_true(log_bytes < sizeof line);
    memset(line, 's', log_bytes);
    line[log_bytes] = '\0';
    if (log_bytes != 0) {
        rig_agent_writes(&rig, agent, line);
    }
    rig_agent_writes(&rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&rig, agent, false, 0);
    rig_text_clear(&agent->lines);
    rig.agent_count = 0; /* some of them exceed the limit */
    arcp__free(last_frame(client));
}

static unsigned count_kept(rig_client *client)
{
    static unsigned requests;
    unsigned found = 0;
    char frame[160];
    (void)snprintf(frame, sizeof frame, FRAME("l%u", "session.list_jobs", "{\"limit\":1000}"),
                   requests++);
    rig_send(&rig, client, frame);
    char *listed = last_frame(client);
    for (const char *match = listed; (match = strstr(match, "{\"job_id\"")) != NULL; match++) {
        found++;
    }
    arcp__free(listed);
    return found;
}

/* ---- ended jobs ---- */

static void the_principal_with_most_jobs_loses_its_oldest(void **state)
{
    (void)state;
    begin();
    rig.settings.jobs_keep_terminal_max = 10;
    use_settings();
    for (unsigned i = 0; i < 4; i++) {
        run(bob, 0, 10, 0);
    }
    for (unsigned i = 0; i < 30; i++) {
        run(alice, 0, 10, 0);
    }
    assert_int_equal(count_kept(bob), 4);
    assert_int_equal(count_kept(alice), 6);
    for (unsigned i = 0; i < 30; i++) {
        run(bob, 0, 10, 0);
    }
    assert_int_equal(count_kept(bob), 5); /* now each has half */
    assert_int_equal(count_kept(alice), 5);
    rig_stop(&rig);
}

static void the_principal_with_most_bytes_loses_its_oldest(void **state)
{
    (void)state;
    begin();
    rig.settings.jobs_keep_terminal_bytes = 100000;
    use_settings();
    for (unsigned i = 0; i < 20; i++) {
        run(bob, 0, 10, 1000); /* many, and less bytes */
    }
    for (unsigned i = 0; i < 20; i++) {
        run(alice, 0, 10, 20000);
    }
    run(bob, 0, 10, 0); /* the newest is not alice's */
    assert_int_equal(count_kept(bob), 21);
    assert_in_range(count_kept(alice), 2, 4);
    rig_stop(&rig);
}

static void the_principal_with_most_leases_loses_its_oldest(void **state)
{
    (void)state;
    begin();
    rig.settings.limits_pattern_bytes = 4096;
    use_settings();
    rig.engine->jobs.ended_leases_max = 40000;
    run(bob, 0, 3000, 0);
    for (unsigned i = 0; i < 40; i++) {
        run(alice, 0, 4000, 0);
    }
    run(bob, 0, 10, 0);
    assert_int_equal(count_kept(bob), 2);
    assert_in_range(count_kept(alice), 7, 10);
    rig_stop(&rig);
}

/* However large it is, no other principal loses a job for it, and it is removed when the next one
 * ends. */
static void the_newest_job_does_not_count(void **state)
{
    (void)state;
    begin();
    rig.settings.jobs_keep_terminal_bytes = 20000;
    use_settings();
    for (unsigned i = 0; i < 10; i++) {
        run(bob, 0, 10, 1000);
    }
    run(alice, 0, 10, 60000);
    assert_int_equal(count_kept(alice), 1);
    assert_int_equal(count_kept(bob), 10);
    run(bob, 0, 10, 1000);
    assert_int_equal(count_kept(alice), 0);
    assert_int_equal(count_kept(bob), 11);
    rig_stop(&rig);
}

static void shares_are_the_same_after_a_restart(void **state)
{
    (void)state;
    begin();
    rig.settings.jobs_keep_terminal_max = 10;
    use_settings();
    for (unsigned i = 0; i < 3; i++) {
        run(bob, 0, 10, 500);
        rig_clock(&rig, ARCP_NS_PER_SEC);
    }
    for (unsigned i = 0; i < 7; i++) {
        run(alice, 0, 10, 500);
    }
    const uint64_t bytes = rig.engine->jobs.kept[ARCP__KEPT_BYTES].total;
    const uint64_t leases = rig.engine->jobs.kept[ARCP__KEPT_LEASES].total;
    rig_restart(&rig);
    assert_int_equal(rig.engine->jobs.kept[ARCP__KEPT_BYTES].total, bytes);
    assert_int_equal(rig.engine->jobs.kept[ARCP__KEPT_LEASES].total, leases);
    say_hello();
    for (unsigned i = 0; i < 5; i++) {
        run(alice, 0, 10, 500);
    }
    assert_int_equal(count_kept(bob), 3);
    assert_int_equal(count_kept(alice), 7);
    rig_stop(&rig);
}

/* ---- keys ---- */

static void assert_refused(rig_client *client, const char *limit)
{
    char *frame = last_frame(client);
    char part[80];
    (void)snprintf(part, sizeof part, "\"details\":{\"limit\":\"%s\",\"retry_after_ms\":", limit);
    assert_non_null(strstr(frame, "\"code\":\"INTERNAL_ERROR\""));
    assert_non_null(strstr(frame, "\"retryable\":true"));
    assert_non_null(strstr(frame, part));
    arcp__free(frame);
}

static void a_principal_may_have_as_many_keys_as_are_free(void **state)
{
    (void)state;
    begin();
    rig.settings.jobs_idempotency_max = 8;
    use_settings();
    for (unsigned key = 1; key <= 4; key++) {
        run(alice, key, 10, 0);
    }
    submit(alice, 5, 10);
    assert_refused(alice, "jobs.idempotency_max");
    for (unsigned key = 1; key <= 2; key++) {
        run(bob, key, 10, 0);
    }
    submit(bob, 3, 10);
    assert_refused(bob, "jobs.idempotency_max");
    assert_int_equal(rig.engine->jobs.key_count, 6);
    rig_client *carol = rig_connect(&rig, "c");
    rig_send(&rig, carol, HELLO_OF("carol", ""));
    run(carol, 1, 10, 0);
    submit(carol, 2, 10);
    assert_refused(carol, "jobs.idempotency_max");
    rig_stop(&rig);
}

static void responses_of_keys_are_shared_in_the_same_way(void **state)
{
    (void)state;
    begin();
    run(alice, 1, 1000, 0);
    const uint64_t one = rig.engine->jobs.key_bytes;
    rig.settings.jobs_idempotency_bytes = 4 * one;
    use_settings();
    run(alice, 2, 1000, 0);
    submit(alice, 3, 1000);
    assert_refused(alice, "jobs.idempotency_bytes");
    run(bob, 1, 1000, 0);
    submit(bob, 2, 1000);
    assert_refused(bob, "jobs.idempotency_bytes");
    assert_int_equal(rig.engine->jobs.key_bytes, 3 * one);
    rig.settings.jobs_idempotency_bytes = 5 * one - 1; /* 3 + 2 of alice's, or 3 + 1 + 1 of bob's */
    use_settings();
    submit(bob, 3, 1000);
    assert_refused(bob, "jobs.idempotency_bytes");
    rig.settings.jobs_idempotency_bytes = 5 * one;
    use_settings();
    run(bob, 4, 1000, 0);
    rig_stop(&rig);
}

/* A key that can never fit has no time to retry. */
static void a_key_that_can_never_fit_is_refused(void **state)
{
    (void)state;
    begin();
    rig.settings.jobs_idempotency_bytes = 1024;
    use_settings();
    submit(alice, 1, 2000);
    assert_last(alice, "\"details\":{\"limit\":\"jobs.idempotency_bytes\"}");
    assert_int_equal(rig.engine->jobs.key_count, 0);
    assert_int_equal(rig.engine->jobs.running, 0);
    run(alice, 1, 10, 0); /* nothing of it remains */
    rig_stop(&rig);
}

static void another_principals_flood_leaves_a_key_unchanged(void **state)
{
    (void)state;
    begin();
    rig.settings.jobs_keep_terminal_max = 2;
    rig.settings.jobs_idempotency_max = 20;
    use_settings();
    run(bob, 99, 10, 0);
    for (unsigned key = 1; key <= 10; key++) {
        run(alice, key, 10, 0);
    }
    for (unsigned key = 11; key <= 40; key++) {
        submit(alice, key, 10);
        assert_refused(alice, "jobs.idempotency_max");
        run(alice, 0, 10, 0); /* without a key it may go on */
    }
    assert_int_equal(count_kept(bob), 1);
    submit(bob, 99, 10);
    assert_int_equal(rig.engine->jobs.running, 0); /* no second one */
    arcp__free(last_frame(bob));
    rig_restart(&rig);
    say_hello();
    submit(alice, 11, 10);
    assert_refused(alice, "jobs.idempotency_max");
    submit(bob, 99, 10);
    assert_int_equal(rig.engine->jobs.running, 0);
    assert_int_equal(rig.engine->jobs.key_count, 11);
    rig_stop(&rig);
}

/* A principal with nothing but a key keeps that until it expires. */
static void a_key_keeps_its_principal(void **state)
{
    (void)state;
    begin();
    rig.settings.jobs_keep_terminal_sec = 1;
    rig.settings.session_resume_window_sec = 1;
    rig.settings.jobs_idempotency_ttl_sec = 3600;
    use_settings();
    run(bob, 7, 10, 0);
    rig_drop(&rig, bob);
    rig_clock(&rig, 100 * ARCP_NS_PER_SEC);
    assert_int_equal(HASH_COUNT(rig.engine->jobs.all), 0);
    assert_int_equal(HASH_COUNT(rig.engine->jobs.principals), 2);
    rig_restart(&rig);
    say_hello();
    submit(bob, 7, 10);
    assert_last(bob, "JOB_NOT_FOUND"); /* its end, after job.accepted */
    rig_drop(&rig, bob);
    rig_clock(&rig, 3600 * ARCP_NS_PER_SEC);
    assert_int_equal(rig.engine->jobs.key_count, 0);
    assert_int_equal(HASH_COUNT(rig.engine->jobs.principals), 1);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_principal_with_most_jobs_loses_its_oldest),
        cmocka_unit_test(the_principal_with_most_bytes_loses_its_oldest),
        cmocka_unit_test(the_principal_with_most_leases_loses_its_oldest),
        cmocka_unit_test(the_newest_job_does_not_count),
        cmocka_unit_test(shares_are_the_same_after_a_restart),
        cmocka_unit_test(a_principal_may_have_as_many_keys_as_are_free),
        cmocka_unit_test(responses_of_keys_are_shared_in_the_same_way),
        cmocka_unit_test(a_key_that_can_never_fit_is_refused),
        cmocka_unit_test(another_principals_flood_leaves_a_key_unchanged),
        cmocka_unit_test(a_key_keeps_its_principal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
