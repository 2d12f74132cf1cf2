/* The contract of include/arcp/sys/store.h over a real PostgreSQL, and random batches against a
 * model. With an argument only the model runs, with so many seeds. */
#include <time.h>

#include "store/postgres_open.h"
#include "store/postgres_plan.h"
#include "store/postgres_rig.h"
#include "store/store_model.h"
#include "store/store_suite.h"

static pg_rig *server;
static unsigned seeds = 3;

/* With the usual times: a batch of 64 MiB takes long on a busy machine. */
static store_rig *open_it(void)
{
    arcp__postgres_options options = pg_options(server, "n1", "home");
    arcp_store *store = NULL;
    arcp_error err = {0};
    options.answer_ms = options.patience_ms = 0;
    check_ok(arcp__pg_store_open(&options, &store, &err), &err);
    return rig_new(store);
}

static store_rig *open_empty(void *user, void **place)
{
    pg_rig_clear(server);
    return open_it();
}

static store_rig *open_seed(void *user, uint64_t seed)
{
    uint64_t *newest = user;
    if (*newest != seed) {
        pg_rig_clear(server);
        *newest = seed;
    }
    return open_it();
}

static void postgres_agrees_with_the_model_across_restarts(void **state)
{
    uint64_t newest = 0;
    const model_store store = {
        .name = "postgres", .restarts = true, .open = open_seed, .user = &newest};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        model_run_seed(seed, &store);
    }
}

/* ---- limits of the layout ---- */

static int clear(void **state)
{
    pg_rig_clear(server);
    return 0;
}

static char long_text[ARCP__PG_RUN_BYTES_MAX + 1];

static arcp_store_op append_bytes(uint64_t position, size_t bytes)
{
    memset(long_text, 'r', sizeof long_text);
    return (arcp_store_op){.kind = ARCP_STORE_APPEND,
                           .position = position,
                           .key = ARCP_SPAN_LITERAL("s"),
                           .value = arcp_span_make(long_text, bytes)};
}

/* Until the statement's value is `want`, which is what the writer does when nothing waits. */
static void wait_for_value(const char *sql, const char *want)
{
    const time_t until = time(NULL) + 60;
    while (strcmp(pg_rig_run(server, sql), want) != 0) {
        if (time(NULL) > until) {
            fail_msg("%s: %s, not %s", sql, pg_rig_run(server, sql), want);
        }
    }
}

static void records_of_a_batch_share_a_run_up_to_its_limit(void **state)
{
    static const struct {
        size_t first, second;
        const char *runs;
    } rows[] = {{ARCP__PG_RUN_BYTES_MAX - 11, 10, "1"}, {ARCP__PG_RUN_BYTES_MAX - 11, 11, "2"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        pg_rig_clear(server);
        store_rig *rig = open_it();
        check_commit(rig, ARCP_OK, append_bytes(0, rows[i].first), append_bytes(1, rows[i].second));
        assert_string_equal(pg_rig_run(server, "SELECT count(*) FROM arcp.runs"), rows[i].runs);
        assert_int_equal(rig_read(rig, "s", 0)->count, 2);
        rig_close(rig);
    }
}

/* Fills a stream with runs of one record each, as long records are. */
static void append_runs(store_rig *rig, unsigned count)
{
    arcp_store_op *ops = calloc(count, sizeof *ops);
    assert_non_null(ops);
    for (unsigned i = 0; i < count; i++) {
        ops[i] = append_bytes(i, ARCP__PG_RUN_BYTES_MAX);
    }
    assert_int_equal(rig_commit(rig, ops, count), ARCP_OK);
    free(ops);
}

static void trimmed_runs_go_at_once_or_after_a_while_and_the_last_one_stays(void **state)
{
    static const unsigned counts[] = {ARCP__PG_TRIM_RUNS, ARCP__PG_TRIM_RUNS - 1};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        pg_rig_clear(server);
        store_rig *rig = open_it();
        append_runs(rig, counts[i]);
        check_commit(rig, ARCP_OK, append_bytes(counts[i], 1));
        check_commit(rig, ARCP_OK, op_trim("s", counts[i]));
        if (counts[i] == ARCP__PG_TRIM_RUNS) {
            assert_string_equal(pg_rig_run(server, "SELECT count(*) FROM arcp.runs"), "1");
        }
        wait_for_value("SELECT count(*) FROM arcp.runs", "1");
        assert_int_equal(rig_read(rig, "s", 0)->first, counts[i]);
        rig_close(rig);
    }
}

/* A round deletes 500. */
static void all_runs_of_a_dropped_stream_go(void **state)
{
    store_rig *rig = open_it();
    append_runs(rig, 1001);
    check_commit(rig, ARCP_OK, op_drop("s"));
    wait_for_value("SELECT (SELECT count(*) FROM arcp.runs) + (SELECT count(*) FROM arcp.streams)",
                   "0");
    rig_close(rig);
}

/* Streams that the writer has forgotten are looked up again. */
static void more_streams_than_the_writer_keeps_can_be_written(void **state)
{
    enum { STREAMS = ARCP__PG_STREAMS_KEPT_MAX + 100, OPS = 1024 };
    static char keys[STREAMS][16];
    static arcp_store_op ops[STREAMS];
    store_rig *rig = open_it();
    for (unsigned round = 0; round < 2; round++) {
        uint64_t last = 0;
        for (size_t i = 0; i < STREAMS; i += OPS) {
            const size_t count = STREAMS - i < OPS ? STREAMS - i : OPS;
            for (size_t j = i; j < i + count; j++) {
                snprintf(keys[j], sizeof keys[j], "s%zu", j);
                ops[j] = op_append(keys[j], round, "r");
            }
            last = rig_submit(rig, &ops[i], count);
        }
        assert_int_equal(rig_wait(rig, last)->status, ARCP_OK);
    }
    check_read(rig, "s0", 0, 0, "r|r");
    assert_int_equal(pg_rig_number(server, "SELECT count(*) FROM arcp.runs"), 2 * STREAMS);
    rig_close(rig);
}

int main(int argc, char **argv)
{
    static const suite_backend backend = {
        .name = "postgres", .is_durable = true, .open = open_empty};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(postgres_agrees_with_the_model_across_restarts),
    };
    const struct CMUnitTest limits[] = {
        cmocka_unit_test(records_of_a_batch_share_a_run_up_to_its_limit),
        cmocka_unit_test(trimmed_runs_go_at_once_or_after_a_while_and_the_last_one_stays),
        cmocka_unit_test_setup(all_runs_of_a_dropped_stream_go, clear),
        cmocka_unit_test_setup(more_streams_than_the_writer_keeps_can_be_written, clear),
    };
    server = pg_rig_new(false);
    if (server == NULL) {
        return PG_RIG_SKIPPED;
    }
    seeds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : seeds;
    int failures = argc > 1 ? 0 : suite_run(&backend);
    failures += argc > 1 ? 0 : cmocka_run_group_tests(limits, NULL, NULL);
    failures += cmocka_run_group_tests(tests, NULL, NULL);
    pg_rig_free(server);
    return failures == 0 ? 0 : 1;
}
