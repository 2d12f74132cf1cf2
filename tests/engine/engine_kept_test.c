/* How many ended jobs are kept, and how many bytes of their records. */
#include "support/check.h"

#include <stdio.h>

#include "base/alloc.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "story/engine_rig.h"

#define MANY 1000u

static unsigned deleted[ARCP_STORE_TABLE_COUNT];

static void count_deletes(engine_rig *rig, const arcp_store_op *op)
{
    (void)rig;
    deleted[op->table] += op->kind == ARCP_STORE_DELETE ? 1 : 0;
}

/* A client with a session. */
static rig_client *begin(engine_rig *rig)
{
    memset(rig, 0, sizeof *rig);
    rig_start(rig, NULL);
    rig->stored = count_deletes;
    memset(deleted, 0, sizeof deleted);
    rig_client *client = rig_connect(rig, "a");
    rig_send(rig, client, HELLO_WITH("\"list_jobs\""));
    return client;
}

static void set(engine_rig *rig, uint64_t jobs_max, uint64_t bytes_max)
{
    rig->settings.jobs_keep_terminal_max = jobs_max;
    rig->settings.jobs_keep_terminal_bytes = bytes_max;
    arcp__engine_set_settings(rig->engine, &rig->settings);
}

static void take_all(rig_client *client)
{
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(frame);
    }
}

static void end_newest(engine_rig *rig, rig_client *client)
{
    rig_agent *agent = rig_agent_last(rig);
    rig_agent_writes(rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":\"done\"}}");
    rig_agent_exits(rig, agent, false, 0);
    take_all(client);
    rig_text_clear(&agent->lines);
    rig->agent_count = 0; /* some of them exceed the limit */
}

/* They end at once, have equally large records, and the client acknowledges all of them. */
static void run_jobs(engine_rig *rig, rig_client *client, unsigned count)
{
    static unsigned requests;
    char frame[160];
    for (unsigned i = 0; i < count; i++) {
        const unsigned number = requests++;
        (void)snprintf(
            frame, sizeof frame,
            FRAME("s%u", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"k%u\"}"), number,
            number);
        rig_send(rig, client, frame);
        end_newest(rig, client);
    }
}

/* As run_jobs, with a lease of some 900 bytes. */
static void run_large(engine_rig *rig, rig_client *client, unsigned count)
{
    static unsigned requests;
    char frame[1200];
    for (unsigned i = 0; i < count; i++) {
        const unsigned number = requests++;
        (void)snprintf(frame, sizeof frame,
                       FRAME("b%05u", "job.submit",
                             "{\"agent\":\"echo\",\"idempotency_key\":\"b%05u\","
                             "\"lease_request\":{\"fs.read\":[\"/%0900u\"]}}"),
                       number, number, number);
        rig_send(rig, client, frame);
        end_newest(rig, client);
    }
}

static unsigned count_kept(engine_rig *rig, rig_client *client)
{
    static unsigned requests;
    unsigned found = 0;
    char frame[160];
    (void)snprintf(frame, sizeof frame, FRAME("l%u", "session.list_jobs", "{\"limit\":1000}"),
                   requests++);
    rig_send(rig, client, frame);
    char *listed = rig_take(client);
    assert_non_null(listed);
    assert_non_null(strstr(listed, "\"next_cursor\":null"));
    for (const char *match = listed; (match = strstr(match, "{\"job_id\"")) != NULL; match++) {
        found++;
    }
    arcp__free(listed);
    return found;
}

static uint64_t kept(const engine_rig *rig, arcp__kept_what what)
{
    return rig->engine->jobs.kept[what].total;
}

/* The bytes that one job of run_jobs counts, once it is no longer the newest. */
static uint64_t bytes_of_one(void)
{
    static engine_rig rig;
    rig_client *client = begin(&rig);
    run_jobs(&rig, client, 1);
    assert_int_equal(kept(&rig, ARCP__KEPT_BYTES), 0);
    run_jobs(&rig, client, 1);
    const uint64_t bytes = kept(&rig, ARCP__KEPT_BYTES);
    assert_in_range(bytes, 100, 1000);
    rig_stop(&rig);
    return bytes;
}

static void as_many_jobs_are_kept_as_the_limits_allow(void **state)
{
    static engine_rig rig;
    (void)state;
    const uint64_t one = bytes_of_one();
    rig_client *client = begin(&rig);
    set(&rig, 100, 3 * one);
    run_jobs(&rig, client, 5);
    assert_int_equal(count_kept(&rig, client), 3 + 1); /* and the newest */
    assert_int_equal(kept(&rig, ARCP__KEPT_BYTES), 3 * one);
    set(&rig, 100, 3 * one - 1);
    run_jobs(&rig, client, 1);
    assert_int_equal(count_kept(&rig, client), 2 + 1);
    set(&rig, 1, 3 * one);
    run_jobs(&rig, client, 1);
    assert_int_equal(count_kept(&rig, client), 1);
    assert_int_equal(kept(&rig, ARCP__KEPT_BYTES), 0);
    rig_stop(&rig);
}

static void the_newest_job_is_kept_however_large_it_is(void **state)
{
    static engine_rig rig;
    (void)state;
    rig_client *client = begin(&rig);
    set(&rig, 100, 0);
    for (unsigned round = 0; round < 3; round++) {
        run_jobs(&rig, client, 1);
        assert_int_equal(count_kept(&rig, client), 1);
    }
    rig_stop(&rig);
}

static void counts_survive_a_restart(void **state)
{
    static engine_rig rig;
    (void)state;
    const uint64_t one = bytes_of_one();
    rig_client *client = begin(&rig);
    run_jobs(&rig, client, 5);
    assert_int_equal(kept(&rig, ARCP__KEPT_BYTES), 4 * one);
    rig_restart(&rig);
    assert_int_equal(kept(&rig, ARCP__KEPT_JOBS), 5);
    assert_int_equal(kept(&rig, ARCP__KEPT_BYTES), 4 * one);
    client = rig_connect(&rig, "b");
    rig_send(&rig, client, HELLO_WITH("\"list_jobs\""));
    take_all(client);
    assert_int_equal(count_kept(&rig, client), 5);
    set(&rig, 100, 3 * one);
    run_jobs(&rig, client, 1);
    assert_int_equal(count_kept(&rig, client), 3 + 1);
    rig_stop(&rig);
}

/* A lease may be larger than all records of its job. */
static void the_payload_of_job_accepted_is_counted_too(void **state)
{
    static engine_rig rig;
    (void)state;
    const uint64_t one = bytes_of_one();
    rig_client *client = begin(&rig);
    run_large(&rig, client, 2);
    assert_in_range(kept(&rig, ARCP__KEPT_BYTES), one + 900, one + 1000);
    rig_restart(&rig);
    assert_in_range(kept(&rig, ARCP__KEPT_BYTES), one + 900, one + 1000);
    rig_stop(&rig);
}

/* Leases stay in memory as long as their jobs, wherever the store is. */
static void leases_of_ended_jobs_have_a_memory_limit(void **state)
{
    static engine_rig rig;
    (void)state;
    rig_client *client = begin(&rig);
    run_large(&rig, client, 2);
    const uint64_t one = kept(&rig, ARCP__KEPT_LEASES);
    assert_in_range(one, 900, 1200);
    assert_int_equal(rig.engine->jobs.ended_leases_max, 268435456);
    rig.engine->jobs.ended_leases_max = 3 * one;
    run_large(&rig, client, 4);
    assert_int_equal(count_kept(&rig, client), 3 + 1);
    rig.engine->jobs.ended_leases_max = 3 * one - 1;
    run_large(&rig, client, 1);
    assert_int_equal(count_kept(&rig, client), 2 + 1);
    rig.engine->jobs.ended_leases_max = 1;
    run_large(&rig, client, 1);
    assert_int_equal(count_kept(&rig, client), 1);
    assert_int_equal(kept(&rig, ARCP__KEPT_LEASES), 0);
    rig_stop(&rig);
}

/* They are removed in portions: the rest is kept when limits.principal_bytes is lifted
 * meanwhile. */
static void after_a_principals_limit_is_lifted_no_job_is_removed(void **state)
{
    static engine_rig rig;
    (void)state;
    rig_client *client = begin(&rig);
    run_jobs(&rig, client, MANY);
    arcp__engine *engine = rig.engine;
    const arcp_span ping = arcp_span_cstr(FRAME("p", "session.ping", "{\"nonce\":\"n\"}"));
    engine->context.settings.limits_principal_bytes = 1;
    engine->jobs.over_share = engine->jobs.ended->principal;
    (void)arcp__engine_receive(engine, rig.now, client->link, ping);
    assert_int_equal(kept(&rig, ARCP__KEPT_JOBS), MANY - ARCP__REMOVED_AT_ONCE);
    engine->context.settings.limits_principal_bytes = 0; /* no limit */
    (void)arcp__engine_receive(engine, rig.now, client->link, ping);
    assert_int_equal(kept(&rig, ARCP__KEPT_JOBS), MANY - ARCP__REMOVED_AT_ONCE);
    take_all(client);
    rig_stop(&rig);
}

/* If one input removed all of them, it would delay everything else. */
static void jobs_beyond_a_lowered_limit_are_removed_in_portions(void **state)
{
    static engine_rig rig;
    (void)state;
    rig_client *client = begin(&rig);
    run_jobs(&rig, client, MANY);
    assert_int_equal(kept(&rig, ARCP__KEPT_JOBS), MANY);
    set(&rig, 5, UINT64_MAX);
    arcp__engine *engine = rig.engine;
    arcp__engine_receive(engine, rig.now, client->link,
                         arcp_span_cstr(FRAME("p", "session.ping", "{\"nonce\":\"n\"}")));
    assert_int_equal(kept(&rig, ARCP__KEPT_JOBS), MANY - ARCP__REMOVED_AT_ONCE);
    rig.now.mono_ns += ARCP_NS_PER_MS;
    arcp__engine_tick(engine, rig.now); /* without any request */
    assert_in_range(kept(&rig, ARCP__KEPT_JOBS), MANY - 2 * ARCP__REMOVED_AT_ONCE - 1,
                    MANY - 2 * ARCP__REMOVED_AT_ONCE);
    rig_clock(&rig, 10 * ARCP_NS_PER_MS);
    take_all(client);
    assert_int_equal(count_kept(&rig, client), 5);
    assert_int_equal(deleted[ARCP_STORE_JOBS], MANY - 5);
    assert_int_equal(engine->jobs.key_count, MANY); /* their time is not over */
    rig_stop(&rig);
}

static void jobs_that_expired_while_stopped_are_removed_in_portions(void **state)
{
    static engine_rig rig;
    (void)state;
    rig_client *client = begin(&rig);
    run_jobs(&rig, client, MANY);
    rig.now.wall_ns += 86401 * ARCP_NS_PER_SEC; /* the machine was off */
    rig_restart(&rig);
    assert_int_equal(kept(&rig, ARCP__KEPT_JOBS), MANY);
    size_t before = kept(&rig, ARCP__KEPT_JOBS);
    for (unsigned turn = 0; before != 0; turn++) {
        assert_in_range(turn, 0, 100);
        rig_clock(&rig, ARCP_NS_PER_MS);
        assert_true(before - kept(&rig, ARCP__KEPT_JOBS) <= ARCP__REMOVED_AT_ONCE);
        before = kept(&rig, ARCP__KEPT_JOBS);
    }
    assert_int_equal(deleted[ARCP_STORE_JOBS], MANY);
    rig_stop(&rig);
}

/* So many jobs end while their session is away, none of whose ends was sent. */
static void end_while_away(engine_rig *rig, unsigned count, uint64_t *one)
{
    rig_client *client = begin(rig);
    for (unsigned i = 0; i < count; i++) {
        char frame[160];
        (void)snprintf(frame, sizeof frame, FRAME("s%u", "job.submit", "{\"agent\":\"echo\"}"), i);
        rig_send(rig, client, frame);
    }
    take_all(client);
    rig_drop(rig, client);
    for (unsigned i = 0; i < count; i++) {
        rig_agent_writes(rig, &rig->agents[i], "{\"type\":\"job.result\",\"payload\":{}}");
        rig_agent_exits(rig, &rig->agents[i], false, 0);
    }
    assert_int_equal(kept(rig, ARCP__KEPT_JOBS), count);
    *one = kept(rig, ARCP__KEPT_BYTES) / (count - 1);
}

static void jobs_that_wait_for_their_session_have_the_same_limits(void **state)
{
    static engine_rig rig;
    uint64_t one = 0;
    (void)state;
    for (unsigned missing = 0; missing <= 1; missing++) {
        end_while_away(&rig, 8, &one);
        set(&rig, 100, 3 * one - missing);
        rig_clock(&rig, 70 * ARCP_NS_PER_SEC);
        assert_int_equal(kept(&rig, ARCP__KEPT_JOBS), 3 - missing + 1);
        /* One principal may have as many as are free for others. */
        assert_int_equal(rig.engine->jobs.evicted_count, 2 - missing);
        assert_int_equal(rig.engine->jobs.evicted_bytes, (2 - missing) * one);
        assert_int_equal(HASH_COUNT(rig.engine->jobs.all), 6 - 2 * missing);
        rig_clock(&rig, 86400 * ARCP_NS_PER_SEC);
        assert_int_equal(HASH_COUNT(rig.engine->jobs.all), 0);
        assert_int_equal(rig.engine->jobs.evicted_bytes, 0);
        rig_stop(&rig);
    }
}

static void expired_keys_are_removed_in_portions(void **state)
{
    static engine_rig rig;
    (void)state;
    rig_client *client = begin(&rig);
    rig.settings.jobs_keep_terminal_sec = 1000000; /* the one that is kept has a key, too */
    set(&rig, 1, UINT64_MAX);
    run_jobs(&rig, client, MANY + 1);
    assert_int_equal(rig.engine->jobs.key_count, MANY + 1);
    rig_clock(&rig, 86400 * ARCP_NS_PER_SEC);
    assert_int_equal(rig.engine->jobs.key_count, MANY + 1 - ARCP__REMOVED_AT_ONCE);
    rig_clock(&rig, ARCP_NS_PER_MS);
    assert_int_equal(rig.engine->jobs.key_count, MANY + 1 - 2 * ARCP__REMOVED_AT_ONCE);
    rig_clock(&rig, 2 * ARCP_NS_PER_MS);
    rig_clock(&rig, ARCP_NS_PER_MS);
    assert_int_equal(rig.engine->jobs.key_count, 0);
    assert_int_equal(deleted[ARCP_STORE_IDEMPOTENCY], MANY);
    rig_stop(&rig);
}

static void a_key_is_removed_when_it_expires_and_not_before(void **state)
{
    static engine_rig rig;
    (void)state;
    rig_client *client = begin(&rig);
    rig.settings.jobs_keep_terminal_sec = 1000000;
    set(&rig, 1, UINT64_MAX);
    run_jobs(&rig, client, 2);
    rig_clock(&rig, 86400 * ARCP_NS_PER_SEC - 1);
    assert_int_equal(rig.engine->jobs.key_count, 2);
    rig_clock(&rig, 1); /* a minute after the last sweep, to the nanosecond */
    assert_int_equal(rig.engine->jobs.key_count, 0);
    rig_stop(&rig);
}

static void
what_fits_memory_is_64_mib_of_a_session_256_of_ended_jobs_and_1_gib_of_a_principal(void **state)
{
    static const uint64_t replay = 67108864, ended = 268435456, all = 1073741824;
    arcp_settings settings, want;
    (void)state;
    memset(&settings, 0, sizeof settings); /* the text between the members, too */
    memset(&want, 0, sizeof want);
    arcp__settings_default(&want);
    want.limits_replay_bytes = replay;
    want.jobs_keep_terminal_bytes = ended;
    want.limits_principal_bytes = all;
    arcp__settings_default(&settings);
    arcp_settings_fit_memory(&settings);
    assert_memory_equal(&settings, &want, sizeof want); /* and nothing else */
    for (int more = -1; more <= 1; more++) {
        settings.limits_replay_bytes = replay + (uint64_t)more;
        settings.jobs_keep_terminal_bytes = ended + (uint64_t)more;
        settings.limits_principal_bytes = all + (uint64_t)more;
        arcp_settings_fit_memory(&settings);
        assert_int_equal(settings.limits_replay_bytes, replay - (more < 0 ? 1 : 0));
        assert_int_equal(settings.jobs_keep_terminal_bytes, ended - (more < 0 ? 1 : 0));
        assert_int_equal(settings.limits_principal_bytes, all - (more < 0 ? 1 : 0));
    }
    settings.limits_principal_bytes = 0; /* no limit */
    arcp_settings_fit_memory(&settings);
    assert_int_equal(settings.limits_principal_bytes, all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_jobs_are_kept_as_the_limits_allow),
        cmocka_unit_test(the_newest_job_is_kept_however_large_it_is),
        cmocka_unit_test(counts_survive_a_restart),
        cmocka_unit_test(the_payload_of_job_accepted_is_counted_too),
        cmocka_unit_test(leases_of_ended_jobs_have_a_memory_limit),
        cmocka_unit_test(jobs_beyond_a_lowered_limit_are_removed_in_portions),
        cmocka_unit_test(after_a_principals_limit_is_lifted_no_job_is_removed),
        cmocka_unit_test(jobs_that_expired_while_stopped_are_removed_in_portions),
        cmocka_unit_test(jobs_that_wait_for_their_session_have_the_same_limits),
        cmocka_unit_test(expired_keys_are_removed_in_portions),
        cmocka_unit_test(a_key_is_removed_when_it_expires_and_not_before),
        cmocka_unit_test(
            what_fits_memory_is_64_mib_of_a_session_256_of_ended_jobs_and_1_gib_of_a_principal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
