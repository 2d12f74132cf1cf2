/* The rows and records that the engine writes for one short job, and those that it omits. */
#include "engine/frames.h"
#include "story/engine_rig.h"
#include "support/check.h"

#include "base/alloc.h"

#define HELLO  HELLO_WITH("\"ack\",\"subscribe\",\"list_jobs\"")
#define SUBMIT FRAME("s", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}")

typedef struct tally {
    unsigned rows[ARCP_STORE_TABLE_COUNT]; /* puts and deletes */
    unsigned deleted[ARCP_STORE_TABLE_COUNT];
    unsigned records, details, indexes, trims, drops;
} tally;

static tally counted;

static void count(engine_rig *rig, const arcp_store_op *op)
{
    (void)rig;
    switch (op->kind) {
    case ARCP_STORE_APPEND:
        counted.records += op->key.data[0] == 'j';
        counted.details += op->key.data[0] == 'd';
        counted.indexes += op->key.data[0] == 'x';
        break;
    case ARCP_STORE_TRIM:
        counted.trims++;
        break;
    case ARCP_STORE_DROP:
        counted.drops++;
        break;
    case ARCP_STORE_PUT:
    case ARCP_STORE_DELETE:
        counted.rows[op->table]++;
        counted.deleted[op->table] += op->kind == ARCP_STORE_DELETE;
        break;
    }
}

static void begin(engine_rig *rig, bool is_volatile)
{
    rig_begin(rig, NULL);
    rig->is_volatile = is_volatile;
    rig->stored = count;
    rig_open(rig);
    counted = (tally){0};
}

static void pass_over(rig_client *client, unsigned frames)
{
    for (unsigned i = 0; i < frames; i++) {
        char *frame = rig_take(client);
        assert_non_null(frame);
        arcp__free(frame);
    }
}

/* hello, a submit with a key, the job's end, and the acknowledgement of all of it. */
static void run_one_job(engine_rig *rig)
{
    rig_client *client = rig_connect(rig, "a");
    rig_send(rig, client, HELLO);
    rig_send(rig, client, SUBMIT);
    rig_agent *agent = rig_agent_last(rig);
    rig_agent_writes(rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    rig_agent_exits(rig, agent, false, 0);
    pass_over(client, 4); /* welcome, accepted, running, result */
    rig_send(rig, client, FRAME("k", "session.ack", "{\"last_processed_seq\":2}"));
}

static void a_store_that_ends_with_the_process_gets_only_records(void **state)
{
    static engine_rig rig;
    (void)state;
    begin(&rig, true);
    run_one_job(&rig);
    assert_int_equal(counted.records, 2);
    assert_int_equal(counted.details, 0);
    assert_int_equal(counted.indexes, 0);
    assert_int_equal(counted.trims, 0);
    for (size_t table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        assert_int_equal(counted.rows[table], 0);
    }
    rig_stop(&rig);
}

/* Its row has its key; and when it has ended, the numbers that its session gave it. */
static void a_job_is_written_when_it_is_made_and_when_it_ends(void **state)
{
    static engine_rig rig;
    (void)state;
    begin(&rig, false);
    run_one_job(&rig);
    rig_send(&rig, rig_find(&rig, "a"), FRAME("s2", "job.submit", "{\"agent\":\"echo\"}"));
    rig_send(&rig, rig_find(&rig, "a"), FRAME("k2", "session.ack", "{\"last_processed_seq\":3}"));
    assert_int_equal(counted.rows[ARCP_STORE_JOBS], 3);
    assert_int_equal(counted.rows[ARCP_STORE_IDEMPOTENCY], 0);
    assert_int_equal(counted.rows[ARCP_STORE_SUBSCRIPTIONS], 0);
    assert_int_equal(counted.trims, 2); /* one for each acknowledgement */
    rig_stop(&rig);
}

/* Runs a job with an input of so many bytes; its details are {"input":INPUT}. */
static void run_with_input(bool is_volatile, int size)
{
    static engine_rig rig;
    char frame[1024];
    begin(&rig, is_volatile);
    rig_client *client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO);
    (void)snprintf(frame, sizeof frame,
                   FRAME("s", "job.submit", "{\"agent\":\"echo\",\"input\":\"%0*d\"}"), size - 2,
                   0);
    rig_send(&rig, client, frame);
    rig_agent *agent = rig_agent_last(&rig);
    rig_agent_writes(&rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    rig_agent_exits(&rig, agent, false, 0);
    assert_int_equal(counted.rows[ARCP_STORE_JOBS], is_volatile ? 0 : 2);
    rig_stop(&rig);
}

/* 512 bytes of details. */
static void a_short_input_is_in_the_row_of_its_job_and_a_long_one_in_a_stream(void **state)
{
    (void)state;
    for (int is_volatile = 0; is_volatile < 2; is_volatile++) {
        run_with_input(is_volatile != 0, 502);
        assert_int_equal(counted.details, 0);
        run_with_input(is_volatile != 0, 503);
        assert_int_equal(counted.details, 1);
    }
}

static void check_accepted(rig_client *client, const char *job_id)
{
    char *frame = rig_take(client);
    assert_non_null(frame);
    assert_non_null(strstr(frame, "\"type\":\"job.accepted\""));
    assert_non_null(strstr(frame, job_id));
    arcp__free(frame);
}

static void submit_again(engine_rig *rig, const char *name, const char *job_id)
{
    rig_client *client = rig_connect(rig, name);
    rig_send(rig, client, HELLO);
    pass_over(client, 1);
    rig_send(rig, client, SUBMIT);
    check_accepted(client, job_id);
}

static void a_key_that_outlives_its_job_gets_a_row_of_its_own(void **state)
{
    static engine_rig rig;
    char job_id[64];
    (void)state;
    begin(&rig, false);
    rig.settings.jobs_keep_terminal_sec = 10;
    rig.settings.jobs_idempotency_ttl_sec = 1000;
    arcp__engine_set_settings(rig.engine, &rig.settings);
    run_one_job(&rig);
    (void)snprintf(job_id, sizeof job_id, "\"job_id\":\"%s\"", rig.agents[0].job_id);
    rig_restart(&rig);
    submit_again(&rig, "b", job_id); /* from the job's row */
    assert_int_equal(counted.rows[ARCP_STORE_IDEMPOTENCY], 0);
    rig_clock(&rig, 11 * ARCP_NS_PER_SEC);
    assert_int_equal(counted.rows[ARCP_STORE_IDEMPOTENCY], 1);
    submit_again(&rig, "c", job_id);
    rig_restart(&rig);
    submit_again(&rig, "d", job_id);                           /* from its own */
    rig_clock(&rig, 1060 * ARCP_NS_PER_SEC);                   /* it is swept once a minute */
    assert_int_equal(counted.rows[ARCP_STORE_IDEMPOTENCY], 2); /* deleted */
    rig_restart(&rig);
    const size_t agents = rig.agent_count;
    rig_client *client = rig_connect(&rig, "e");
    rig_send(&rig, client, HELLO);
    rig_send(&rig, client, SUBMIT);
    assert_int_equal(rig.agent_count, agents + 1);
    rig_stop(&rig);
}

static void acknowledged_records_do_not_stay_in_memory(void **state)
{
    static engine_rig rig;
    arcp__engine_stats stats;
    (void)state;
    begin(&rig, false);
    run_one_job(&rig);
    arcp__engine_get_stats(rig.engine, &stats);
    const size_t of_one = stats.tail_bytes;
    assert_true(of_one > 0); /* a session's newest run stays */
    rig_client *client = rig_find(&rig, "a");
    for (unsigned i = 0; i < 5; i++) {
        char frame[160];
        (void)snprintf(frame, sizeof frame, FRAME("s%u", "job.submit", "{\"agent\":\"echo\"}"), i);
        rig_send(&rig, client, frame);
        rig_agent_writes(&rig, rig_agent_last(&rig), "{\"type\":\"job.result\",\"payload\":{}}");
        (void)snprintf(frame, sizeof frame,
                       FRAME("k%u", "session.ack", "{\"last_processed_seq\":%u}"), i, 4 + 2 * i);
        rig_send(&rig, client, frame);
        arcp__engine_get_stats(rig.engine, &stats);
        assert_int_equal(stats.tail_bytes, of_one);
    }
    rig_stop(&rig);
}

static void a_record_that_is_not_in_memory_is_read_from_the_store(void **state)
{
    static engine_rig rig;
    (void)state;
    begin(&rig, true);
    run_one_job(&rig);
    rig_send(&rig, rig_find(&rig, "a"), FRAME("s2", "job.submit", "{\"agent\":\"work\"}"));
    rig_send(&rig, rig_find(&rig, "a"), FRAME("k2", "session.ack", "{\"last_processed_seq\":3}"));
    rig_client *other = rig_connect(&rig, "b");
    rig_send(&rig, other, HELLO);
    char *listed = NULL;
    rig_send(&rig, other, FRAME("l", "session.list_jobs", "{\"filter\":{\"agent\":\"echo\"}}"));
    pass_over(other, 1);
    listed = rig_take(other);
    const char *id = strstr(listed, "\"job_id\":\"job_");
    assert_non_null(id);
    char *frame = NULL;
    assert_true(asprintf(&frame,
                         FRAME("w", "job.subscribe", "{\"job_id\":\"%.30s\",\"history\":true}"),
                         id + strlen("\"job_id\":\"")) > 0);
    rig_send(&rig, other, frame);
    pass_over(other, 1); /* subscribed */
    char *running = rig_take(other);
    char *result = rig_take(other);
    assert_non_null(strstr(running, "\"phase\":\"running\""));
    assert_non_null(strstr(result, "\"type\":\"job.result\""));
    arcp__free(running);
    arcp__free(result);
    arcp__free(listed);
    free(frame);
    rig_stop(&rig);
}

static void submit_numbered(engine_rig *rig, rig_client *client, unsigned number)
{
    char frame[160];
    (void)snprintf(frame, sizeof frame, FRAME("n%u", "job.submit", "{\"agent\":\"echo\"}"), number);
    rig_send(rig, client, frame);
}

/* The list of a principal's jobs keeps no place for removed ones. */
static void removed_jobs_leave_the_others_in_order(void **state)
{
    static engine_rig rig;
    (void)state;
    begin(&rig, false);
    rig.settings.jobs_keep_terminal_max = 2;
    arcp__engine_set_settings(rig.engine, &rig.settings);
    rig_client *client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO);
    submit_numbered(&rig, client, 0); /* it continues */
    for (unsigned i = 1; i < 200; i++) {
        submit_numbered(&rig, client, i);
        rig_agent *agent = rig_agent_last(&rig);
        rig_agent_writes(&rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
        rig_agent_exits(&rig, agent, false, 0);
    }
    pass_over(client, 1 + 2 + 3 * 199);
    rig_send(&rig, client, FRAME("l", "session.list_jobs", "{}"));
    char *listed = rig_take(client);
    assert_non_null(listed);
    const char *found = listed;
    const size_t kept[] = {0, 198, 199}; /* the agents' numbers are those of their jobs */
    for (size_t job = 0; job < 3; job++) {
        found = strstr(found, rig.agents[kept[job]].job_id);
        assert_non_null(found);
    }
    assert_null(strstr(listed, rig.agents[1].job_id));
    assert_null(strstr(listed, rig.agents[197].job_id));
    arcp__free(listed);
    rig_stop(&rig);
}

/* Its thread called the gate after it had sent its result. */
static void a_grant_of_a_removed_job_is_ignored(void **state)
{
    static engine_rig rig;
    arcp__agent_exit clean = {.code = 0};
    arcp__job_message grant = {.is_decided = true,
                               .decision = {.allowed = true,
                                            .capability = ARCP_SPAN_LITERAL("fs.read"),
                                            .target = ARCP_SPAN_LITERAL("/a"),
                                            .pattern = ARCP_SPAN_LITERAL("/**")}};
    (void)state;
    begin(&rig, false);
    rig.settings.jobs_keep_terminal_max = 1;
    arcp__engine_set_settings(rig.engine, &rig.settings);
    rig_client *client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO);
    for (unsigned i = 0; i < 2; i++) {
        submit_numbered(&rig, client, i);
        rig_agent_writes(&rig, &rig.agents[i], "{\"type\":\"job.result\",\"payload\":{}}");
    }
    arcp__job *first = rig.agents[0].job;
    arcp__engine_agent_exited(rig.engine, rig.now, first, &clean);
    rig.now.mono_ns += 2 * ARCP_NS_PER_SEC;
    arcp__engine_tick(rig.engine, rig.now); /* removed, before its agent is released */
    const size_t audits = rig.audits;
    arcp__engine_agent_message(rig.engine, rig.now, first, &grant);
    rig_run(&rig);
    assert_int_equal(rig.audits, audits);
    pass_over(client, 1 + 2 * 3); /* welcome; accepted, running and result of both */
    rig_send(&rig, client, FRAME("l", "session.list_jobs", "{}"));
    char *listed = rig_take(client);
    assert_non_null(listed);
    assert_null(strstr(listed, rig.agents[0].job_id));
    assert_non_null(strstr(listed, rig.agents[1].job_id));
    arcp__free(listed);
    rig_stop(&rig);
}

/* The first job's key has a row of its own when the second job takes the key over. */
static void use_a_key_again(engine_rig *rig, char second_id[96])
{
    begin(rig, false);
    rig->settings.jobs_keep_terminal_sec = 5;
    rig->settings.jobs_idempotency_ttl_sec = 10;
    arcp__engine_set_settings(rig->engine, &rig->settings);
    run_one_job(rig);
    rig_clock(rig, 6 * ARCP_NS_PER_SEC);
    assert_int_equal(counted.rows[ARCP_STORE_IDEMPOTENCY], 1);
    rig_clock(rig, 5 * ARCP_NS_PER_SEC); /* the key has expired, and was not swept */
    rig_client *client = rig_connect(rig, "b");
    rig_send(rig, client, HELLO);
    rig_send(rig, client, SUBMIT);
    assert_int_equal(rig->agent_count, 2);
    (void)snprintf(second_id, 96, "\"job_id\":\"%s\"", rig->agents[1].job_id);
    submit_again(rig, "c", second_id);
}

static void a_key_that_is_used_again_finds_the_later_job_also_after_a_restart(void **state)
{
    static engine_rig rig;
    char job_id[96];
    (void)state;
    use_a_key_again(&rig, job_id);
    rig_restart(&rig);
    submit_again(&rig, "d", job_id);
    rig_restart(&rig);
    submit_again(&rig, "e", job_id);
    rig_stop(&rig);
}

static void the_row_of_a_key_is_deleted_when_the_key_is_used_again(void **state)
{
    static engine_rig rig;
    char job_id[96];
    (void)state;
    use_a_key_again(&rig, job_id);
    assert_int_equal(counted.deleted[ARCP_STORE_IDEMPOTENCY], 1);
    rig_clock(&rig, 69 * ARCP_NS_PER_SEC); /* its job continues: its key is in the job's row */
    assert_int_equal(counted.rows[ARCP_STORE_IDEMPOTENCY], 2);
    rig_stop(&rig);
}

/* A client of an engine that keeps one ended job and so many keys. */
static rig_client *begin_with_keys(engine_rig *rig, unsigned keys_max)
{
    begin(rig, false);
    rig->settings.jobs_keep_terminal_max = 1;
    rig->settings.jobs_idempotency_max = keys_max;
    arcp__engine_set_settings(rig->engine, &rig->settings);
    rig_client *client = rig_connect(rig, "a");
    rig_send(rig, client, HELLO);
    return client;
}

/* A job with the key k`number`, which ends at once. Returns whether there was none with that key
 * yet. */
static bool run_with_key(engine_rig *rig, rig_client *client, unsigned number)
{
    static unsigned requests;
    const size_t agents = rig->agent_count;
    char frame[160];
    (void)snprintf(frame, sizeof frame,
                   FRAME("r%u", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"k%u\"}"),
                   requests++, number);
    rig_send(rig, client, frame);
    if (rig->agent_count == agents) {
        return false;
    }
    rig_agent_writes(rig, rig_agent_last(rig), "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(rig, rig_agent_last(rig), false, 0);
    return true;
}

/* Of seven jobs one is kept; the keys of the six others are all there, also after a restart. */
static void keys_of_removed_jobs_keep_their_lifetime(void **state)
{
    static engine_rig rig;
    (void)state;
    rig_client *client = begin_with_keys(&rig, 13);
    for (unsigned number = 0; number < 7; number++) {
        assert_true(run_with_key(&rig, client, number));
        rig_clock(&rig, ARCP_NS_PER_MS);
    }
    assert_false(run_with_key(&rig, client, 7)); /* six are left, and seven it has */
    assert_int_equal(counted.deleted[ARCP_STORE_IDEMPOTENCY], 0);
    assert_int_equal(counted.rows[ARCP_STORE_IDEMPOTENCY], 6);
    rig_restart(&rig);
    client = rig_connect(&rig, "b");
    rig_send(&rig, client, HELLO);
    for (unsigned number = 0; number < 8; number++) {
        assert_false(run_with_key(&rig, client, number));
    }
    rig_stop(&rig);
}

static void without_a_log_no_lines_are_made(void **state)
{
    static engine_rig rig;
    (void)state;
    for (int has_log = 0; has_log < 2; has_log++) {
        rig_begin(&rig, NULL);
        rig.has_no_log = has_log == 0;
        rig_open(&rig);
        run_one_job(&rig);
        assert_int_equal(rig.audits != 0, has_log);
        rig_stop(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_ends_with_the_process_gets_only_records),
        cmocka_unit_test(a_job_is_written_when_it_is_made_and_when_it_ends),
        cmocka_unit_test(a_short_input_is_in_the_row_of_its_job_and_a_long_one_in_a_stream),
        cmocka_unit_test(a_key_that_outlives_its_job_gets_a_row_of_its_own),
        cmocka_unit_test(a_key_that_is_used_again_finds_the_later_job_also_after_a_restart),
        cmocka_unit_test(the_row_of_a_key_is_deleted_when_the_key_is_used_again),
        cmocka_unit_test(keys_of_removed_jobs_keep_their_lifetime),
        cmocka_unit_test(without_a_log_no_lines_are_made),
        cmocka_unit_test(acknowledged_records_do_not_stay_in_memory),
        cmocka_unit_test(removed_jobs_leave_the_others_in_order),
        cmocka_unit_test(a_grant_of_a_removed_job_is_ignored),
        cmocka_unit_test(a_record_that_is_not_in_memory_is_read_from_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
