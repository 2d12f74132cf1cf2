/* Deleting runs: no more at once than the budget allows, and never another stream's. */
#include "store/sqlite_run.h"
#include "store/sqlite_writer.h"
#include "store/store_rig.h"
#include "store/temp_dir.h"

typedef struct fixture {
    temp_dir *dir;
    arcp__sqlite_file file;
    arcp__sqlite_writer writer;
} fixture;

/* Five runs of 100, 200, ... 500 bytes, one record each, between runs of its neighbours. */
static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    arcp_error err = {0};
    static char text[501];
    memset(text, 'x', 500);
    f->dir = temp_dir_new();
    check_ok(arcp__sqlite_file_open(temp_dir_join(f->dir, "", "s.db"), &f->file, &err), &err);
    check_ok(arcp__sqlite_writer_open(&f->writer, &f->file, &err), &err);
    arcp__sqlite *sqlite = &f->writer.sqlite;
    check_ok(arcp__sqlite_run_insert(sqlite, 1, 7, 1, arcp_span_make(text, 1), &err), &err);
    check_ok(arcp__sqlite_run_insert(sqlite, 3, 0, 1, arcp_span_make(text, 1), &err), &err);
    for (uint64_t i = 0; i < 5; i++) {
        const arcp_span data = arcp_span_make(text, (i + 1) * 100);
        check_ok(arcp__sqlite_run_insert(sqlite, 2, i, 1, data, &err), &err);
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    arcp__sqlite_writer_close(&f->writer);
    arcp__sqlite_file_close(&f->file);
    temp_dir_free(f->dir);
    free(f);
    return 0;
}

static const arcp_span key = {"s", 1};
static const arcp_span no_key = {NULL, 0};

static int64_t count_runs(fixture *f)
{
    arcp_error err = {0};
    const int64_t count =
        arcp__sqlite_integer(&f->writer.sqlite, "SELECT count(*) FROM runs", &err);
    check_ok(err.status, &err);
    return count - 2; /* the neighbours' are always there */
}

static void runs_are_deleted_as_far_as_the_budget_reaches(void **state)
{
    static const struct {
        const char *name;
        uint64_t below;
        arcp__sqlite_budget budget;
        int64_t left;
        bool is_all;
        arcp__sqlite_budget rest;
    } cases[] = {
        {"all", ARCP_STORE_POSITION_MAX + 1, {6, 10000}, 0, true, {1, 8500}},
        {"as many as there are: who knows",
         ARCP_STORE_POSITION_MAX + 1,
         {5, 10000},
         0,
         false,
         {0, 8500}},
        {"two", ARCP_STORE_POSITION_MAX + 1, {2, 10000}, 3, false, {0, 9700}},
        {"one, being bigger than the budget",
         ARCP_STORE_POSITION_MAX + 1,
         {9, 1},
         4,
         false,
         {8, 0}},
        {"up to the bytes", ARCP_STORE_POSITION_MAX + 1, {9, 300}, 3, false, {7, 0}},
        {"one byte more", ARCP_STORE_POSITION_MAX + 1, {9, 301}, 2, false, {6, 0}},
        {"below a position", 3, {9, 10000}, 2, true, {6, 9400}},
        {"nothing below", 0, {9, 10000}, 5, true, {9, 10000}},
        {"no budget of runs", 3, {0, 10000}, 5, false, {0, 10000}},
        {"no budget of bytes", 3, {9, 0}, 5, false, {9, 0}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arcp_error err = {0};
        bool is_all = false;
        void *fresh = NULL;
        assert_int_equal(set_up(&fresh), 0);
        fixture *f = fresh;
        arcp__sqlite_budget budget = cases[i].budget;
        check_ok(arcp__sqlite_run_delete(&f->writer.sqlite, 2, cases[i].below, no_key, &budget,
                                         &is_all, &err),
                 &err);
        if (count_runs(f) != cases[i].left || is_all != cases[i].is_all ||
            budget.runs != cases[i].rest.runs || budget.bytes != cases[i].rest.bytes) {
            fail_msg("%s: %lld left, all %d, budget %zu runs %llu bytes", cases[i].name,
                     (long long)count_runs(f), is_all, budget.runs,
                     (unsigned long long)budget.bytes);
        }
        assert_int_equal(tear_down(&fresh), 0);
    }
}

/* Of a stream that is still written. */
static void deleted_records_leave_one_run_without_data(void **state)
{
    fixture *f = *state;
    arcp__sqlite *sqlite = &f->writer.sqlite;
    arcp_error err = {0};
    for (uint64_t below = 1; below < 5; below++) {
        arcp__sqlite_budget budget = {64, 10000};
        bool is_all = false;
        check_ok(arcp__sqlite_run_delete(sqlite, 2, below, key, &budget, &is_all, &err), &err);
        assert_true(is_all);
        assert_int_equal(count_runs(f), 5 - (int64_t)below + 1);
        assert_int_equal(
            arcp__sqlite_integer(sqlite, "SELECT count FROM runs WHERE bytes = -1", &err), below);
        check_ok(err.status, &err);
    }
    /* A dropped stream's goes with it. */
    arcp__sqlite_budget budget = {64, 10000};
    bool is_all = false;
    check_ok(arcp__sqlite_run_delete(sqlite, 2, ARCP_STORE_POSITION_MAX + 1, no_key, &budget,
                                     &is_all, &err),
             &err);
    assert_true(is_all);
    assert_int_equal(count_runs(f), 0);
}

static void a_damaged_run_of_a_stream_that_goes_on_is_not_deleted(void **state)
{
    fixture *f = *state;
    arcp__sqlite *sqlite = &f->writer.sqlite;
    arcp_error err = {0};
    arcp__sqlite_budget budget = {64, 10000};
    bool is_all = false;
    check_ok(arcp__sqlite_exec(sqlite, "UPDATE runs SET count = 2 WHERE id = (2 << 38) + 1", &err),
             &err);
    assert_int_equal(arcp__sqlite_run_delete(sqlite, 2, 4, key, &budget, &is_all, &err),
                     ARCP_E_CORRUPT);
    assert_non_null(strstr(err.message, "stream \"s\", the run at position 1 does not match"));
}

static void runs_are_found_by_position_within_their_stream(void **state)
{
    fixture *f = *state;
    arcp__sqlite *sqlite = &f->writer.sqlite;
    arcp__sqlite_range range = {9, 9};
    arcp_error err = {0};
    check_ok(arcp__sqlite_run_find_first(sqlite, 2, key, &range, &err), &err);
    assert_int_equal(range.end, 1);
    check_ok(arcp__sqlite_run_find_last(sqlite, 2, key, 2, &range, &err), &err);
    assert_int_equal(range.first, 2);
    check_ok(arcp__sqlite_run_find_last(sqlite, 2, key, UINT64_MAX, &range, &err), &err);
    assert_int_equal(range.first, 4);
    check_ok(arcp__sqlite_run_find_last(sqlite, 1, key, 6, &range, &err), &err);
    assert_int_equal(range.end, 0); /* its only run begins at 7 */
    check_ok(arcp__sqlite_run_find_last(sqlite, 4, key, UINT64_MAX, &range, &err), &err);
    assert_int_equal(range.end, 0);
    check_ok(arcp__sqlite_run_find_first(sqlite, 4, key, &range, &err), &err);
    assert_int_equal(range.end, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_deleted_as_far_as_the_budget_reaches),
        cmocka_unit_test_setup_teardown(deleted_records_leave_one_run_without_data, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_run_of_a_stream_that_goes_on_is_not_deleted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_are_found_by_position_within_their_stream, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
