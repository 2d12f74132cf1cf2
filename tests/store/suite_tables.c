#include "store/store_suite.h"

static void put_creates_and_replaces(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "k", "1"));
    check_scan(rig, ARCP_STORE_JOBS, "", "k=1");
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "k", "a longer value"));
    check_scan(rig, ARCP_STORE_JOBS, "", "k=a longer value");
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "k", ""));
    check_scan(rig, ARCP_STORE_JOBS, "", "k=");
}

static void delete_removes_a_row_and_ignores_a_missing_one(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "a", "1"),
                 op_put(ARCP_STORE_JOBS, "b", "2"));
    check_commit(rig, ARCP_OK, op_delete(ARCP_STORE_JOBS, "a"),
                 op_delete(ARCP_STORE_JOBS, "missing"));
    check_scan(rig, ARCP_STORE_JOBS, "", "b=2");
}

static void tables_are_separate(store_rig *rig)
{
    for (int table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        const char *name = arcp_store_table_name((arcp_store_table)table);
        check_commit(rig, ARCP_OK, op_put((arcp_store_table)table, "k", name));
    }
    for (int table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        char want[64];
        snprintf(want, sizeof want, "k=%s", arcp_store_table_name((arcp_store_table)table));
        check_scan(rig, (arcp_store_table)table, "", want);
    }
}

static void a_scan_is_in_order_of_bytes(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_META, "b", "1"), op_put(ARCP_STORE_META, "a", "2"),
                 op_put(ARCP_STORE_META, "B", "3"), op_put(ARCP_STORE_META, "aa", "4"),
                 op_put(ARCP_STORE_META, "\xc3\xa4", "5"), op_put(ARCP_STORE_META, "a ", "6"),
                 op_put(ARCP_STORE_META, "10", "7"), op_put(ARCP_STORE_META, "9", "8"),
                 op_put(ARCP_STORE_META, "\xf0\x9f\x98\x80", "9"));
    check_scan(rig, ARCP_STORE_META, "",
               "10=7|9=8|B=3|a=2|a =6|aa=4|b=1|\xc3\xa4=5|\xf0\x9f\x98\x80=9");
}

static void a_scan_takes_only_keys_with_the_prefix(store_rig *rig)
{
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "a", "1"),
                 op_put(ARCP_STORE_JOBS, "a/", "2"), op_put(ARCP_STORE_JOBS, "a/1", "3"),
                 op_put(ARCP_STORE_JOBS, "a/2", "4"), op_put(ARCP_STORE_JOBS, "a0", "5"),
                 op_put(ARCP_STORE_JOBS, "A/1", "6"), op_put(ARCP_STORE_JOBS, "a%", "7"),
                 op_put(ARCP_STORE_JOBS, "\xf4\x8f\xbf\xbf", "8"),
                 op_put(ARCP_STORE_JOBS, "\xf4\x8f\xbf\xbfz", "9"));
    static const struct {
        const char *prefix;
        const char *want;
    } cases[] = {
        {"a/", "a/=2|a/1=3|a/2=4"},
        {"a/1", "a/1=3"},
        {"a/11", ""},
        {"A", "A/1=6"},
        {"a%", "a%=7"},
        {"_", ""},
        {"zz", ""},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf=8|\xf4\x8f\xbf\xbfz=9"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_scan(rig, ARCP_STORE_JOBS, cases[i].prefix, cases[i].want);
    }
}

static void put_rows(store_rig *rig, size_t count)
{
    static char keys[1000][32];
    arcp_store_op ops[1000];
    for (size_t i = 0; i < count; i++) {
        snprintf(keys[i], sizeof keys[i], "row-%04zu", i);
        ops[i] = op_put(ARCP_STORE_SESSIONS, keys[i], "v");
    }
    assert_int_equal(rig_commit(rig, ops, count), ARCP_OK);
}

static void a_scan_comes_in_pages_and_its_last_one_says_so(store_rig *rig)
{
    static const size_t counts[] = {0, 1, 255, 256, 257, 512, 600};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        put_rows(rig, counts[i]);
        rig_forget(rig);
        const uint64_t id = rig_ask_scan(rig, ARCP_STORE_SESSIONS, "row-");
        (void)rig_wait(rig, id);
        size_t rows = 0;
        size_t position = 0;
        for (size_t page = 0; page < rig->count; page++) {
            const answer *got = &rig->answers[page];
            assert_int_equal(got->kind, ANSWER_SCAN);
            assert_int_equal(got->is_last, page + 1 == rig->count);
            rows += got->count;
            char *save = NULL;
            for (char *row = strtok_r(got->text, "|", &save); row != NULL;
                 row = strtok_r(NULL, "|", &save)) {
                char want[64];
                snprintf(want, sizeof want, "row-%04zu=v", position++);
                assert_string_equal(row, want);
            }
        }
        assert_int_equal(rows, counts[i]);
    }
}

static void keys_may_hold_any_text(store_rig *rig)
{
    static const char zero[] = "a\0b";
    arcp_store_op ops[] = {
        op_put(ARCP_STORE_IDEMPOTENCY, "a", "short"),
        op_put(ARCP_STORE_IDEMPOTENCY, "", "zero"),
        op_append("", 0, "record"),
        op_put(ARCP_STORE_IDEMPOTENCY, "it's \"quoted\"; --", "quotes"),
    };
    ops[1].key = arcp_span_make(zero, 3);
    ops[2].key = arcp_span_make(zero, 3);
    assert_int_equal(rig_commit(rig, ops, COUNT_OF(ops)), ARCP_OK);
    check_read(rig, "a", 0, 0, "");
    arcp_error err = {0};
    check_ok(rig->store->ops->read(rig->store, 4711, arcp_span_make(zero, 3), 0, 10, 100, &err),
             &err);
    assert_string_equal(rig_wait(rig, 4711)->text, "record");
    check_ok(rig->store->ops->scan(rig->store, 4712, ARCP_STORE_IDEMPOTENCY,
                                   arcp_span_make(zero, 2), &err),
             &err);
    assert_int_equal(rig_wait(rig, 4712)->count, 1);
    check_scan(rig, ARCP_STORE_IDEMPOTENCY, "it's", "it's \"quoted\"; --=quotes");
}

const suite_test suite_tables[] = {
    {"put creates and replaces", put_creates_and_replaces},
    {"delete removes a row and ignores a missing one",
     delete_removes_a_row_and_ignores_a_missing_one},
    {"tables are separate", tables_are_separate},
    {"a scan is in order of bytes", a_scan_is_in_order_of_bytes},
    {"a scan takes only keys with the prefix", a_scan_takes_only_keys_with_the_prefix},
    {"a scan comes in pages and its last one says so",
     a_scan_comes_in_pages_and_its_last_one_says_so},
    {"keys may hold any text", keys_may_hold_any_text},
};
const size_t suite_tables_count = COUNT_OF(suite_tables);
