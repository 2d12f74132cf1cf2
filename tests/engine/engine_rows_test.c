/* What the engine has written for one quick job, and what it leaves out. */
#include "story/engine_rig.h"
#include "support/check.h"

#include "base/alloc.h"

#define FRAME(id, type, payload)                                                                   \
    "{\"arcp\":\"1.1\",\"id\":\"" id "\",\"type\":\"" type "\",\"payload\":" payload "}"
#define HELLO                                                                                      \
    FRAME("h", "session.hello",                                                                    \
          "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{"             \
          "\"encodings\":[\"json\"],\"features\":[\"ack\",\"subscribe\",\"list_jobs\"]}}")
#define SUBMIT FRAME("s", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}")

typedef struct tally {
    unsigned rows[ARCP_STORE_TABLE_COUNT]; /* puts and deletes */
    unsigned records, indexes, trims, drops;
} tally;

static tally counted;

static void count(engine_rig *rig, const arcp_store_op *op)
{
    (void)rig;
    switch (op->kind) {
    case ARCP_STORE_APPEND:
        counted.records += op->key.data[0] != 'x';
        counted.indexes += op->key.data[0] == 'x';
        break;
    case ARCP_STORE_TRIM:
        counted.trims++;
        break;
    case ARCP_STORE_DROP:
        counted.drops++;
        break;
    case ARCP_STORE_PUT:
    case ARCP_STORE_CREATE:
    case ARCP_STORE_DELETE:
        counted.rows[op->table]++;
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
    for (unsigned at = 0; at < frames; at++) {
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
    rig_agent_says(rig, rig_agent_last(rig),
                   "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    pass_over(client, 4); /* welcome, accepted, running, result */
    rig_send(rig, client, FRAME("k", "session.ack", "{\"last_processed_seq\":2}"));
}

static void only_records_are_written_where_nothing_outlives_the_process(void **state)
{
    static engine_rig rig;
    (void)state;
    begin(&rig, true);
    run_one_job(&rig);
    assert_int_equal(counted.records, 2);
    assert_int_equal(counted.indexes, 0);
    assert_int_equal(counted.trims, 0);
    for (size_t table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        assert_int_equal(counted.rows[table], 0);
    }
    rig_stop(&rig);
}

static void a_record_that_is_not_kept_in_memory_is_read_back_there_too(void **state)
{
    static engine_rig rig;
    (void)state;
    begin(&rig, true);
    run_one_job(&rig);
    rig_client *other = rig_connect(&rig, "b");
    rig_send(&rig, other, HELLO);
    char *listed = NULL;
    rig_send(&rig, other, FRAME("l", "session.list_jobs", "{}"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_records_are_written_where_nothing_outlives_the_process),
        cmocka_unit_test(a_record_that_is_not_kept_in_memory_is_read_back_there_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
