/* What submit, read and scan refuse, and the last value that they take. */
#include "store/store_suite.h"

static arcp_status submit_one(store_rig *rig, arcp_store_op op)
{
    arcp_error err = {0};
    arcp_store_batch batch = {++rig->next_id, &op, 1};
    const arcp_status status = rig->store->ops->submit(rig->store, &batch, &err);
    if (status == ARCP_OK) {
        return rig_wait(rig, batch.id)->status;
    }
    assert_int_equal(err.status, status);
    assert_true(err.message[0] != '\0');
    return status;
}

#define TOO_LONG (ARCP_STORE_KEY_BYTES_MAX + 1)

static void operations_are_checked(store_rig *rig)
{
    static char key[TOO_LONG + 1];
    memset(key, 'k', TOO_LONG);
    const arcp_span longest = arcp_span_make(key, ARCP_STORE_KEY_BYTES_MAX);
    const arcp_span too_long = arcp_span_make(key, TOO_LONG);
    const arcp_span empty = arcp_span_make(NULL, 0);
    const arcp_span k = ARCP_SPAN_LITERAL("k");
    const arcp_span v = ARCP_SPAN_LITERAL("v");
    const arcp_span line_feed = ARCP_SPAN_LITERAL("a\nb");
    const arcp_span too_big = arcp_span_make(key, ARCP_STORE_VALUE_BYTES_MAX + 1); /* never read */
    const arcp_store_table last_table = (arcp_store_table)(ARCP_STORE_TABLE_COUNT - 1);
    const arcp_store_table no_table = ARCP_STORE_TABLE_COUNT;
    const struct {
        const char *name;
        arcp_store_op op;
        arcp_status want;
    } cases[] = {
        {"shortest key", {ARCP_STORE_PUT, ARCP_STORE_JOBS, 0, k, v}, ARCP_OK},
        {"empty key", {ARCP_STORE_PUT, ARCP_STORE_JOBS, 0, empty, v}, ARCP_E_USAGE},
        {"longest key", {ARCP_STORE_PUT, ARCP_STORE_JOBS, 0, longest, v}, ARCP_OK},
        {"key too long", {ARCP_STORE_PUT, ARCP_STORE_JOBS, 0, too_long, v}, ARCP_E_USAGE},
        {"delete, key too long",
         {ARCP_STORE_DELETE, ARCP_STORE_JOBS, 0, too_long, empty},
         ARCP_E_USAGE},
        {"longest stream key", {ARCP_STORE_APPEND, 0, 0, longest, v}, ARCP_OK},
        {"stream key too long", {ARCP_STORE_APPEND, 0, 0, too_long, v}, ARCP_E_USAGE},
        {"empty stream key", {ARCP_STORE_APPEND, 0, 0, empty, v}, ARCP_E_USAGE},
        {"trim, empty key", {ARCP_STORE_TRIM, 0, 0, empty, empty}, ARCP_E_USAGE},
        {"drop, empty key", {ARCP_STORE_DROP, 0, 0, empty, empty}, ARCP_E_USAGE},
        {"last table", {ARCP_STORE_PUT, last_table, 0, k, v}, ARCP_OK},
        {"no such table", {ARCP_STORE_PUT, no_table, 0, k, v}, ARCP_E_USAGE},
        {"delete, no such table", {ARCP_STORE_DELETE, no_table, 0, k, v}, ARCP_E_USAGE},
        {"no such operation",
         {(arcp_store_op_kind)(ARCP_STORE_DELETE + 1), 0, 0, k, v},
         ARCP_E_USAGE},
        {"empty value", {ARCP_STORE_PUT, ARCP_STORE_JOBS, 0, k, empty}, ARCP_OK},
        {"value with a line feed",
         {ARCP_STORE_PUT, ARCP_STORE_JOBS, 0, k, line_feed},
         ARCP_E_USAGE},
        {"record with a line feed", {ARCP_STORE_APPEND, 0, 0, k, line_feed}, ARCP_E_USAGE},
        {"value too big", {ARCP_STORE_PUT, ARCP_STORE_JOBS, 0, k, too_big}, ARCP_E_LIMIT},
        {"record too big", {ARCP_STORE_APPEND, 0, 0, k, too_big}, ARCP_E_LIMIT},
        {"a delete's value is not looked at",
         {ARCP_STORE_DELETE, ARCP_STORE_JOBS, 0, k, too_big},
         ARCP_OK},
        {"last position: not refused, but not the next",
         {ARCP_STORE_APPEND, 0, ARCP_STORE_POSITION_MAX, k, v},
         ARCP_E_CORRUPT},
        {"position too high",
         {ARCP_STORE_APPEND, 0, ARCP_STORE_POSITION_MAX + 1, k, v},
         ARCP_E_LIMIT},
        {"a trim may be above all positions",
         {ARCP_STORE_TRIM, 0, ARCP_STORE_POSITION_MAX + 1, k, empty},
         ARCP_OK},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const arcp_status got = submit_one(rig, cases[i].op);
        if (got != cases[i].want) {
            fail_msg("%s: got %s", cases[i].name, arcp_status_name(got));
        }
    }
}

static void a_refused_batch_has_no_completion_and_no_effect(store_rig *rig)
{
    arcp_error err = {0};
    const arcp_store_op ops[] = {op_put(ARCP_STORE_JOBS, "k", "v"),
                                 op_put(ARCP_STORE_JOBS, "", "v")};
    arcp_store_batch batch = {1000, ops, 2};
    assert_int_equal(rig->store->ops->submit(rig->store, &batch, &err), ARCP_E_USAGE);
    rig_drain(rig);
    for (size_t i = 0; i < rig->count; i++) {
        assert_int_not_equal(rig->answers[i].id, 1000);
    }
    check_scan(rig, ARCP_STORE_JOBS, "", "");
}

static void reads_and_scans_are_checked(store_rig *rig)
{
    static char key[TOO_LONG + 1];
    memset(key, 'k', TOO_LONG);
    const arcp_span longest = arcp_span_make(key, ARCP_STORE_KEY_BYTES_MAX);
    const arcp_span too_long = arcp_span_make(key, TOO_LONG);
    const arcp_store_ops *ops = rig->store->ops;
    arcp_error err = {0};
    assert_int_equal(ops->read(rig->store, 1, longest, 0, 1, 1, &err), ARCP_OK);
    assert_int_equal(ops->read(rig->store, 2, too_long, 0, 1, 1, &err), ARCP_E_USAGE);
    assert_int_equal(ops->read(rig->store, 3, arcp_span_make(NULL, 0), 0, 1, 1, &err),
                     ARCP_E_USAGE);
    assert_int_equal(ops->read(rig->store, 4, longest, 0, 0, 1, &err), ARCP_E_USAGE);
    assert_int_equal(ops->scan(rig->store, 5, ARCP_STORE_META, longest, &err), ARCP_OK);
    assert_int_equal(ops->scan(rig->store, 6, ARCP_STORE_META, too_long, &err), ARCP_E_USAGE);
    assert_int_equal(ops->scan(rig->store, 7, ARCP_STORE_TABLE_COUNT, longest, &err), ARCP_E_USAGE);
    (void)rig_wait(rig, 5);
    assert_int_equal(rig->count, 2);
}

/* Far over what a row of the sqlite store holds, and over the pages of its cache. */
static void big_records_and_values_come_back_whole(store_rig *rig)
{
    static const size_t sizes[] = {4095,  4096,    4097, 65535,   65536,
                                   65537, 1000000, 300,  4194304, ARCP_STORE_VALUE_BYTES_MAX};
    char *text = malloc((size_t)ARCP_STORE_VALUE_BYTES_MAX + 1);
    assert_non_null(text);
    for (size_t i = 0; i < ARCP_STORE_VALUE_BYTES_MAX; i++) {
        text[i] = (char)('a' + i % 23);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        arcp_store_op ops[2] = {op_append("big", i, ""), op_put(ARCP_STORE_JOBS, "big", "")};
        ops[0].value = arcp_span_make(text, sizes[i]);
        ops[1].value = ops[0].value;
        const answer *done = rig_wait(rig, rig_submit(rig, ops, 2));
        if (done->status != ARCP_OK) {
            fail_msg("%zu bytes: %s", sizes[i], done->message);
        }
        const answer *got = rig_wait(rig, rig_ask_read(rig, "big", i, 1, 1));
        assert_int_equal(strlen(got->text), sizes[i]);
        assert_memory_equal(got->text, text, sizes[i]);
        rig_forget(rig);
    }
    char *row = rig_scan(rig, ARCP_STORE_JOBS, "big");
    assert_int_equal(strlen(row), 4 + (size_t)ARCP_STORE_VALUE_BYTES_MAX);
    free(row);
    free(text);
}

const suite_test suite_limits[] = {
    {"operations are checked", operations_are_checked},
    {"a refused batch has no completion and no effect",
     a_refused_batch_has_no_completion_and_no_effect},
    {"reads and scans are checked", reads_and_scans_are_checked},
    {"big records and values come back whole", big_records_and_values_come_back_whole},
};
const size_t suite_limits_count = COUNT_OF(suite_limits);
