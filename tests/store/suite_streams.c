#include "store/store_suite.h"

static void reads_back_what_was_appended(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "{\"a\":1}"));
    check_read(rig, "s", 0, 0, "{\"a\":1}");
}

static void keeps_the_order_of_appends_across_batches(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_append("s", 1, "b"));
    check_commit(rig, ARCP_OK, op_append("s", 2, "c"));
    check_commit(rig, ARCP_OK, op_append("s", 3, "d"), op_append("s", 4, "e"));
    check_read(rig, "s", 0, 0, "a|b|c|d|e");
}

static void keeps_streams_apart(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "s0"), op_append("t", 0, "t0"),
                 op_append("s", 1, "s1"), op_append("t/", 0, "t/0"), op_append("t", 1, "t1"));
    check_read(rig, "s", 0, 0, "s0|s1");
    check_read(rig, "t", 0, 0, "t0|t1");
    check_read(rig, "t/", 0, 0, "t/0");
}

/* Three batches, so that a position lies at the beginning, inside and at the end of what
 * was written together. */
static void reads_from_any_position(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "0"), op_append("s", 1, "1"),
                 op_append("s", 2, "2"));
    check_commit(rig, ARCP_OK, op_append("s", 3, "3"));
    check_commit(rig, ARCP_OK, op_append("s", 4, "4"), op_append("s", 5, "5"));
    static const char all[] = "0|1|2|3|4|5";
    for (size_t from = 0; from < 6; from++) {
        check_read(rig, "s", from, from, all + 2 * from);
    }
}

static void a_read_at_the_end_says_which_position_is_next(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_append("s", 1, "b"));
    static const uint64_t beyond[] = {2, 3, ARCP_STORE_POSITION_MAX, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        const answer *got = rig_read(rig, "s", beyond[i]);
        assert_int_equal(got->count, 0);
        assert_int_equal(got->first, 2);
    }
}

static void a_stream_that_is_not_there_has_no_records_and_begins_at_0(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    const answer *got = rig_read(rig, "s2", 0);
    assert_int_equal(got->status, ARCP_OK);
    assert_int_equal(got->count, 0);
    assert_int_equal(got->first, 0);
}

static void a_read_is_limited_by_count_and_bytes(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "aaaa"), op_append("s", 1, "bbbb"));
    check_commit(rig, ARCP_OK, op_append("s", 2, "cccc"), op_append("s", 3, ""),
                 op_append("s", 4, "dddd"));
    static const struct {
        const char *name;
        size_t count_max;
        size_t bytes_max;
        const char *want;
    } cases[] = {
        {"one record", 1, 100, "aaaa"},
        {"two records", 2, 100, "aaaa|bbbb"},
        {"three records, of two batches", 3, 100, "aaaa|bbbb|cccc"},
        {"more than there are", 100, 100, "aaaa|bbbb|cccc||dddd"},
        {"no bytes: one all the same", 100, 0, "aaaa"},
        {"fewer bytes than one has", 100, 3, "aaaa"},
        {"exactly one", 100, 4, "aaaa"},
        {"a byte less than two", 100, 7, "aaaa"},
        {"exactly two", 100, 8, "aaaa|bbbb"},
        {"three, and an empty one", 100, 12, "aaaa|bbbb|cccc|"},
        {"a byte less than all", 100, 15, "aaaa|bbbb|cccc|"},
        {"exactly all", 100, 16, "aaaa|bbbb|cccc||dddd"},
        {"no limit", SIZE_MAX, SIZE_MAX, "aaaa|bbbb|cccc||dddd"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const answer *got =
            rig_wait(rig, rig_ask_read(rig, "s", 0, cases[i].count_max, cases[i].bytes_max));
        if (strcmp(got->text, cases[i].want) != 0) {
            fail_msg("%s: got \"%s\"", cases[i].name, got->text);
        }
    }
}

static void records_may_be_empty(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, ""));
    check_commit(rig, ARCP_OK, op_append("s", 1, ""), op_append("s", 2, ""),
                 op_append("s", 3, "x"));
    const answer *got = rig_read(rig, "s", 0);
    assert_int_equal(got->count, 4);
    assert_string_equal(got->text, "|||x");
    check_read(rig, "s", 2, 2, "|x");
}

static void an_append_anywhere_but_at_the_next_position_fails_the_batch(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_append("s", 1, "b"));
    static const uint64_t wrong[] = {0, 1, 3, 1000, ARCP_STORE_POSITION_MAX};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        arcp_store_op op = op_append("s", wrong[i], "x");
        const answer *got = rig_wait(rig, rig_submit(rig, &op, 1));
        assert_int_equal(got->status, ARCP_E_CORRUPT);
        assert_non_null(strstr(got->message, "\"s\""));
    }
    check_commit(rig, ARCP_E_CORRUPT, op_append("new", 1, "x"));
    check_read(rig, "s", 0, 0, "a|b");
    check_read(rig, "new", 0, 0, "");
    check_commit(rig, ARCP_OK, op_append("s", 2, "c"));
}

static void a_wrong_position_late_in_a_batch_undoes_all_of_it(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_put(ARCP_STORE_JOBS, "kept", "before"));
    check_commit(rig, ARCP_E_CORRUPT, op_put(ARCP_STORE_JOBS, "new", "x"),
                 op_put(ARCP_STORE_JOBS, "kept", "after"), op_append("s", 1, "b"),
                 op_append("t", 0, "x"), op_trim("s", 1), op_append("s", 3, "d"));
    check_scan(rig, ARCP_STORE_JOBS, "", "kept=before");
    check_read(rig, "s", 0, 0, "a");
    check_read(rig, "t", 0, 0, "");
    check_commit(rig, ARCP_OK, op_append("s", 1, "b"), op_append("t", 0, "t"));
    check_read(rig, "s", 0, 0, "a|b");
}

static void trimming_keeps_what_is_at_and_above_the_position(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "0"), op_append("s", 1, "1"));
    check_commit(rig, ARCP_OK, op_append("s", 2, "2"), op_append("s", 3, "3"));
    check_commit(rig, ARCP_OK, op_append("s", 4, "4"));
    static const char all[] = "0|1|2|3|4";
    for (uint64_t trim = 0; trim < 5; trim++) {
        check_commit(rig, ARCP_OK, op_trim("s", trim));
        for (uint64_t from = 0; from < 5; from++) {
            const answer *got = rig_read(rig, "s", from);
            /* What is below may be there still; what is there is right. */
            assert_true(got->first >= from && got->first <= (from > trim ? from : trim));
            assert_string_equal(got->text, all + 2 * got->first);
        }
    }
}

static void trimming_everything_keeps_the_next_position(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "0"), op_append("s", 1, "1"));
    check_commit(rig, ARCP_OK, op_trim("s", UINT64_MAX));
    check_commit(rig, ARCP_OK, op_trim("s", 2));
    const answer *got = rig_read(rig, "s", 2);
    assert_int_equal(got->count, 0);
    assert_int_equal(got->first, 2);
    check_commit(rig, ARCP_E_CORRUPT, op_append("s", 0, "x"));
    check_commit(rig, ARCP_OK, op_append("s", 2, "2"));
    check_read(rig, "s", 2, 2, "2");
}

static void trimming_does_not_touch_what_is_appended_later(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "0"));
    check_commit(rig, ARCP_OK, op_append("s", 1, "1"), op_trim("s", 4), op_append("s", 2, "2"),
                 op_append("s", 3, "3"));
    check_commit(rig, ARCP_OK, op_append("s", 4, "4"));
    check_commit(rig, ARCP_OK, op_trim("s", 2));
    check_read(rig, "s", 2, 2, "2|3|4");
}

static void trimming_and_dropping_what_is_not_there_does_nothing(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_trim("s", 5), op_drop("s"), op_drop("t"));
    check_read(rig, "s", 0, 0, "");
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
}

static void dropping_forgets_the_stream_and_begins_at_0_again(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_append("s", 1, "b"),
                 op_append("t", 0, "t"));
    check_commit(rig, ARCP_OK, op_drop("s"));
    check_read(rig, "s", 0, 0, "");
    check_read(rig, "t", 0, 0, "t");
    check_commit(rig, ARCP_E_CORRUPT, op_append("s", 2, "x"));
    check_commit(rig, ARCP_OK, op_append("s", 0, "again"));
    check_read(rig, "s", 0, 0, "again");
}

static void operations_on_a_stream_take_effect_in_their_order(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_append("s", 0, "old"));
    check_commit(rig, ARCP_OK, op_append("s", 1, "gone"), op_drop("s"), op_append("s", 0, "gone"),
                 op_append("s", 1, "gone"), op_drop("s"), op_append("s", 0, "a"),
                 op_append("s", 1, "b"));
    check_read(rig, "s", 0, 0, "a|b");
    check_commit(rig, ARCP_OK, op_append("s", 2, "gone"), op_drop("s"));
    check_read(rig, "s", 0, 0, "");
    check_commit(rig, ARCP_OK, op_append("u", 0, "gone"), op_drop("u"));
    check_commit(rig, ARCP_OK, op_append("u", 0, "u"));
    check_read(rig, "u", 0, 0, "u");
    check_commit(rig, ARCP_E_CORRUPT, op_drop("u"), op_append("u", 1, "x"));
    check_read(rig, "u", 0, 0, "u");
}

#define LONG_COUNT 3000

static void a_long_stream_can_be_dropped_and_its_name_used_at_once(store_rig *rig)
{
    for (uint64_t position = 0; position < LONG_COUNT; position++) {
        arcp_store_op op = op_append("long", position, "record");
        (void)rig_wait(rig, rig_submit(rig, &op, 1));
        rig_forget(rig);
    }
    check_commit(rig, ARCP_OK, op_drop("long"), op_append("long", 0, "new"));
    check_read(rig, "long", 0, 0, "new");
    check_commit(rig, ARCP_OK, op_drop("long"));
    check_read(rig, "long", 0, 0, "");
    check_commit(rig, ARCP_OK, op_append("long", 0, "newer"));
    check_read(rig, "long", 0, 0, "newer");
}

#define MANY_STREAMS 100
#define MANY_ROUNDS  20

static void one_batch_may_touch_many_streams(store_rig *rig)
{
    static char names[MANY_STREAMS][32];
    arcp_store_op ops[MANY_STREAMS * 2];
    for (size_t round = 0; round < MANY_ROUNDS; round++) {
        for (size_t i = 0; i < MANY_STREAMS; i++) {
            snprintf(names[i], sizeof names[i], "stream-%zu", i);
            ops[i] = op_append(names[i], round * 2, names[i]);
            ops[MANY_STREAMS + i] = op_append(names[i], round * 2 + 1, "second");
        }
        assert_int_equal(rig_commit(rig, ops, COUNT_OF(ops)), ARCP_OK);
    }
    for (size_t i = 0; i < MANY_STREAMS; i++) {
        const answer *got = rig_read(rig, names[i], 2 * MANY_ROUNDS - 2);
        const arcp_span text = arcp_span_cstr(got->text);
        assert_true(arcp_span_starts_with(text, arcp_span_cstr(names[i])));
        check_span(arcp_span_from(text, strlen(names[i])), "|second");
    }
}

static void a_long_stream_is_read_in_pieces_without_a_gap(store_rig *rig)
{
    enum { BATCHES = 40, PER_BATCH = 97 };
    static char records[BATCHES * PER_BATCH][32];
    arcp_store_op ops[PER_BATCH];
    for (size_t batch = 0; batch < BATCHES; batch++) {
        for (size_t i = 0; i < PER_BATCH; i++) {
            const size_t position = batch * PER_BATCH + i;
            snprintf(records[position], sizeof records[0], "r%zu", position);
            ops[i] = op_append("s", position, records[position]);
        }
        assert_int_equal(rig_commit(rig, ops, PER_BATCH), ARCP_OK);
    }
    static const size_t steps[] = {1000, 97, 96, 53};
    for (size_t step = 0; step < COUNT_OF(steps); step++) {
        size_t next = 0;
        for (;;) {
            const answer *got = rig_wait(rig, rig_ask_read(rig, "s", next, steps[step], SIZE_MAX));
            assert_int_equal(got->first, next);
            if (got->count == 0) {
                break;
            }
            char *save = NULL;
            size_t count = 0;
            for (char *record = strtok_r(got->text, "|", &save); record != NULL;
                 record = strtok_r(NULL, "|", &save)) {
                assert_string_equal(record, records[next++]);
                count++;
            }
            assert_int_equal(count, got->count);
            rig_forget(rig);
        }
        assert_int_equal(next, BATCHES * PER_BATCH);
    }
}

const suite_test suite_streams[] = {
    {"reads back what was appended", reads_back_what_was_appended},
    {"keeps the order of appends across batches", keeps_the_order_of_appends_across_batches},
    {"keeps streams apart", keeps_streams_apart},
    {"reads from any position", reads_from_any_position},
    {"a read at the end says which position is next",
     a_read_at_the_end_says_which_position_is_next},
    {"a stream that is not there has no records and begins at 0",
     a_stream_that_is_not_there_has_no_records_and_begins_at_0},
    {"a read is limited by count and bytes", a_read_is_limited_by_count_and_bytes},
    {"records may be empty", records_may_be_empty},
    {"an append anywhere but at the next position fails the batch",
     an_append_anywhere_but_at_the_next_position_fails_the_batch},
    {"a wrong position late in a batch undoes all of it",
     a_wrong_position_late_in_a_batch_undoes_all_of_it},
    {"trimming keeps what is at and above the position",
     trimming_keeps_what_is_at_and_above_the_position},
    {"trimming everything keeps the next position", trimming_everything_keeps_the_next_position},
    {"trimming does not touch what is appended later",
     trimming_does_not_touch_what_is_appended_later},
    {"trimming and dropping what is not there does nothing",
     trimming_and_dropping_what_is_not_there_does_nothing},
    {"dropping forgets the stream and begins at 0 again",
     dropping_forgets_the_stream_and_begins_at_0_again},
    {"operations on a stream take effect in their order",
     operations_on_a_stream_take_effect_in_their_order},
    {"a long stream can be dropped and its name used at once",
     a_long_stream_can_be_dropped_and_its_name_used_at_once},
    {"one batch may touch many streams", one_batch_may_touch_many_streams},
    {"a long stream is read in pieces without a gap",
     a_long_stream_is_read_in_pieces_without_a_gap},
};
const size_t suite_streams_count = COUNT_OF(suite_streams);
