/* The content of the database (docs/store.md), read through another connection. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sql_sealed.h"
#include "store/sqlite_checkpoint.h"
#include "store/store_rig.h"
#include "store/temp_dir.h"

typedef struct fixture {
    temp_dir *dir;
    store_rig *rig;
    sqlite3 *db; /* a connection of another program */
} fixture;

static void open_all(fixture *f)
{
    f->rig = rig_open(temp_dir_join(f->dir, "sqlite:", "s.db"));
    f->db = sql_open(temp_dir_join(f->dir, "", "s.db"));
}

static void close_all(fixture *f)
{
    sql_close(f->db);
    rig_close(f->rig);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->dir = temp_dir_new();
    open_all(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    close_all(f);
    temp_dir_free(f->dir);
    free(f);
    return 0;
}

static void check_text(fixture *f, const char *sql, const char *want)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(f->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), want);
    sqlite3_finalize(statement);
}

#define RUNS_OF_S "SELECT count(*) FROM stream_runs WHERE stream = 's'"

/* Changes the file while the store is closed. */
static void change(fixture *f, const char *sql)
{
    close_all(f);
    sql_change_sealed(temp_dir_join(f->dir, "", "s.db"), sql);
    open_all(f);
}

/* ---- rows ---- */

/* The store does not look for a stream before it adds it. */
static void an_append_at_zero_to_an_existing_stream_is_refused(void **state)
{
    fixture *f = *state;
    check_commit(f->rig, ARCP_OK, op_append("s", 0, "a"), op_append("s", 1, "b"));
    close_all(f);
    open_all(f);
    arcp_store_op op = op_append("s", 0, "x");
    const answer *got = rig_wait(f->rig, rig_submit(f->rig, &op, 1));
    assert_int_equal(got->status, ARCP_E_CORRUPT);
    assert_non_null(strstr(got->message, "append at position 0, but the next position is 2"));
    assert_int_equal(sql_number(f->db, "SELECT count(*) FROM streams"), 1);
    check_commit(f->rig, ARCP_OK, op_append("s", 2, "c"));
    check_read(f->rig, "s", 0, 0, "a|b|c");
}

/* What starts compares the streams with their sum. */
static void a_stream_that_was_not_found_is_added_once(void **state)
{
    fixture *f = *state;
    check_commit(f->rig, ARCP_OK, op_trim("s", 5));
    check_commit(f->rig, ARCP_OK, op_append("s", 0, "a"), op_append("t", 0, "t"));
    check_commit(f->rig, ARCP_OK, op_drop("s"), op_append("s", 0, "b"), op_append("u", 0, "u"),
                 op_drop("u"));
    close_all(f);
    open_all(f);
    assert_int_equal(sql_number(f->db, "SELECT count(*) FROM streams"), 2);
    check_read(f->rig, "s", 0, 0, "b");
    check_read(f->rig, "t", 0, 0, "t");
}

static void a_run_of_appends_is_one_row_with_line_feeds_between(void **state)
{
    fixture *f = *state;
    check_commit(f->rig, ARCP_OK, op_append("s", 0, "{\"n\":0}"), op_append("t", 0, "x"),
                 op_append("s", 1, ""), op_append("s", 2, "{\"n\":2}"));
    assert_int_equal(sql_number(f->db, RUNS_OF_S), 1);
    check_text(f, "SELECT data FROM stream_runs WHERE stream = 's' AND first = 0 AND count = 3",
               "{\"n\":0}\n\n{\"n\":2}");
    check_commit(f->rig, ARCP_OK, op_append("s", 3, "later"));
    check_text(f, "SELECT data FROM stream_runs WHERE stream = 's' AND first = 3 AND count = 1",
               "later");
    check_text(f, "SELECT typeof(data) FROM runs LIMIT 1", "text");
}

/* The writer waits for a lock meanwhile, so all but what it took first gathers. */
static void batches_that_waited_together_share_a_commit_and_a_row(void **state)
{
    const fixture *f = *state;
    enum { COUNT = 50 };
    arcp_store_op ops[COUNT];
    uint64_t last = 0;
    arcp_store_stats before = arcp_store_stats_init();
    arcp_store_stats after = arcp_store_stats_init();
    f->rig->store->ops->stats(f->rig->store, &before);
    sql_run(f->db, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < COUNT; i++) {
        ops[i] = op_append("s", i, "r");
        last = rig_submit(f->rig, &ops[i], 1);
    }
    sql_run(f->db, "COMMIT");
    assert_int_equal(rig_wait(f->rig, last)->status, ARCP_OK);
    f->rig->store->ops->stats(f->rig->store, &after);
    assert_int_equal(after.batches - before.batches, COUNT);
    assert_true(after.commits - before.commits <= 2);
    assert_true(sql_number(f->db, RUNS_OF_S) <= 2);
    assert_int_equal(rig_read(f->rig, "s", 0)->count, COUNT);
}

static void a_row_holds_at_most_64_kib_unless_one_record_is_bigger(void **state)
{
    const fixture *f = *state;
    static char text[70001];
    memset(text, 'x', sizeof text - 1);
    static const struct {
        const char *name;
        size_t sizes[3];
        int64_t rows;
    } cases[] = {
        {"exactly 65536 bytes", {32768, 32767, 0}, 1},
        {"one byte more", {32768, 32768, 0}, 2},
        {"three that fit", {20000, 20000, 25534}, 1},
        {"three that do not", {20000, 20000, 25535}, 2},
        {"a bigger one between small ones", {10, 70000, 10}, 3},
        {"a bigger one first", {70000, 10, 10}, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arcp_store_op ops[3];
        size_t count = 0;
        for (; count < 3 && cases[i].sizes[count] != 0; count++) {
            ops[count] = op_append("s", count, "");
            ops[count].value = arcp_span_make(text, cases[i].sizes[count]);
        }
        assert_int_equal(rig_commit(f->rig, ops, count), ARCP_OK);
        if (sql_number(f->db, RUNS_OF_S) != cases[i].rows) {
            fail_msg("%s: %lld rows", cases[i].name, (long long)sql_number(f->db, RUNS_OF_S));
        }
        assert_int_equal(rig_read(f->rig, "s", 0)->count, count);
        check_commit(f->rig, ARCP_OK, op_drop("s"));
    }
}

/* ---- deleting ---- */

static void append_one_by_one(fixture *f, const char *stream, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        arcp_store_op op = op_append(stream, i, "record");
        assert_int_equal(rig_commit(f->rig, &op, 1), ARCP_OK);
        rig_forget(f->rig);
    }
}

/* Deleting continues between commits; commits without appends drive it. */
static void commit_some(fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        check_commit(f->rig, ARCP_OK, op_put(ARCP_STORE_META, "k", "v"));
        rig_forget(f->rig);
    }
}

static void trimming_deletes_only_rows_that_lie_entirely_below(void **state)
{
    const fixture *f = *state;
    check_commit(f->rig, ARCP_OK, op_append("s", 0, "0"), op_append("s", 1, "1"));
    check_commit(f->rig, ARCP_OK, op_append("s", 2, "2"), op_append("s", 3, "3"));
    check_commit(f->rig, ARCP_OK, op_append("s", 4, "4"));
    static const struct {
        uint64_t trim;
        int64_t rows;
    } cases[] = {{0, 3}, {1, 3}, {2, 2}, {3, 2}, {4, 1}, {5, 1}, {1000, 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_commit(f->rig, ARCP_OK, op_trim("s", cases[i].trim));
        assert_int_equal(sql_number(f->db, RUNS_OF_S), cases[i].rows);
    }
    assert_int_equal(rig_read(f->rig, "s", 5)->first, 5);
    /* The last trim was for the records of that time; the next one is for the present ones. */
    check_commit(f->rig, ARCP_OK, op_append("s", 5, "5"));
    check_commit(f->rig, ARCP_OK, op_append("s", 6, "6"));
    check_commit(f->rig, ARCP_OK, op_trim("s", 6));
    assert_int_equal(sql_number(f->db, RUNS_OF_S), 1);
    check_read(f->rig, "s", 0, 6, "6");
}

static void a_long_trim_is_done_in_steps(void **state)
{
    fixture *f = *state;
    append_one_by_one(f, "s", 1000);
    check_commit(f->rig, ARCP_OK, op_trim("s", 990));
    check_read(f->rig, "s", 998, 998, "record|record");
    commit_some(f, 20);
    assert_int_equal(sql_number(f->db, RUNS_OF_S), 10);
    assert_int_equal(rig_read(f->rig, "s", 0)->first, 990);
}

static void a_long_dropped_stream_is_deleted_in_steps(void **state)
{
    fixture *f = *state;
    append_one_by_one(f, "long", 500);
    append_one_by_one(f, "short", 3);
    check_commit(f->rig, ARCP_OK, op_drop("long"), op_drop("short"), op_append("long", 0, "n"));
    assert_int_equal(sql_number(f->db, "SELECT count(*) FROM streams WHERE key = 'short'"), 0);
    check_read(f->rig, "long", 0, 0, "n");
    commit_some(f, 20);
    assert_int_equal(sql_number(f->db, "SELECT count(*) FROM runs"), 1);
    assert_int_equal(sql_number(f->db, "SELECT count(*) FROM streams"), 1);
    check_read(f->rig, "long", 0, 0, "n");
}

static void deletions_of_a_killed_owner_are_continued_by_the_next(void **state)
{
    fixture *f = *state;
    append_one_by_one(f, "left", 300);
    append_one_by_one(f, "s", 1);
    change(f, "UPDATE streams SET key = CAST(id AS BLOB) WHERE key = 'left'");
    commit_some(f, 20);
    assert_int_equal(sql_number(f->db, "SELECT count(*) FROM streams"), 1);
    assert_int_equal(sql_number(f->db, "SELECT count(*) FROM runs"), 1);
    check_read(f->rig, "s", 0, 0, "record");
}

/* ---- the ends of the number space ---- */

static void stream_ids_are_reused_when_all_have_been_used(void **state)
{
    fixture *f = *state;
    change(f, "INSERT INTO streams(id, key, next, open, crc, count, sum, changes) VALUES"
              "(1, 'one', 0, 0, 0, 0, 0, 0), (2, 'two', 0, 0, 0, 0, 0, 0),"
              "(33554431, 'last', 0, 0, 0, 0, 0, 0)");
    check_commit(f->rig, ARCP_OK, op_append("new", 0, "a"), op_append("newer", 0, "b"));
    assert_int_equal(
        sql_number(f->db, "SELECT count(*) FROM streams WHERE id IN (3, 4) AND key LIKE 'new%'"),
        2);
    check_commit(f->rig, ARCP_OK, op_append("last", 0, "l"), op_append("one", 0, "o"));
    change(f, "VACUUM");
    check_read(f->rig, "last", 0, 0, "l");
    check_read(f->rig, "one", 0, 0, "o");
    check_read(f->rig, "new", 0, 0, "a");
}

static void a_stream_may_reach_its_last_position(void **state)
{
    fixture *f = *state;
    change(f, "INSERT INTO streams(id, key, next, open, crc, count, sum, changes) VALUES"
              "(7, 's', 0, 0, 0, 0, 0, 0), (8, 't', 0, 0, 0, 0, 0, 0);"
              "INSERT INTO runs VALUES((7 << 38), 274877906941, -1, 0, '');"
              "INSERT INTO runs VALUES((7 << 38) + 274877906941, 2, 3, 0, "
              "'a' || char(10) || 'b');"
              "INSERT INTO runs VALUES((8 << 38), 1, 1, 0, 't')");
    check_commit(f->rig, ARCP_OK, op_append("s", ARCP_STORE_POSITION_MAX, "c"));
    check_read(f->rig, "s", ARCP_STORE_POSITION_MAX - 1, ARCP_STORE_POSITION_MAX - 1, "b|c");
    check_read(f->rig, "s", 0, ARCP_STORE_POSITION_MAX - 2, "a|b|c");
    assert_int_equal(rig_read(f->rig, "s", UINT64_MAX)->first, ARCP_STORE_POSITION_MAX + 1);
    check_commit(f->rig, ARCP_OK, op_trim("s", ARCP_STORE_POSITION_MAX));
    check_read(f->rig, "s", 0, ARCP_STORE_POSITION_MAX, "c");
    check_read(f->rig, "t", 0, 0, "t");
    check_commit(f->rig, ARCP_OK, op_drop("s"));
    check_read(f->rig, "s", 0, 0, "");
    check_read(f->rig, "t", 0, 0, "t");
}

/* ---- damage ---- */

static void damaged_runs_are_reported_and_do_not_spread(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *name;
        const char *sql;
        arcp_status append;
    } cases[] = {
        {"more records than it says", "UPDATE runs SET count = 1 WHERE count = 2", ARCP_OK},
        {"fewer records than it says", "UPDATE runs SET count = 3 WHERE count = 2", ARCP_OK},
        {"a missing run in the middle", "DELETE FROM runs WHERE count = 2", ARCP_OK},
        {"no count", "UPDATE runs SET count = 0 WHERE count = 3", ARCP_E_CORRUPT},
        {"a negative count", "UPDATE runs SET count = -1 WHERE count = 3", ARCP_E_CORRUPT},
        {"a count past the last position", "UPDATE runs SET count = 274877906944 WHERE count = 3",
         ARCP_E_CORRUPT},
        {"a run that overlaps the next", "UPDATE runs SET data = 'x', count = 9 WHERE count = 2",
         ARCP_OK},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_commit(f->rig, ARCP_OK, op_append("s", 0, "0"), op_append("fine", 0, "f"));
        check_commit(f->rig, ARCP_OK, op_append("s", 1, "1"), op_append("s", 2, "2"));
        check_commit(f->rig, ARCP_OK, op_append("s", 3, "3"), op_append("s", 4, "4"),
                     op_append("s", 5, "5"));
        change(f, cases[i].sql);
        const answer *got = rig_read(f->rig, "s", 0);
        if (got->status != ARCP_E_CORRUPT || got->count != 0 ||
            strstr(got->message, "s.db") == NULL) {
            fail_msg("%s: read says %s, %s", cases[i].name, arcp_status_name(got->status),
                     got->message);
        }
        arcp_store_op op = op_append("s", 6, "6");
        const arcp_status status = rig_commit(f->rig, &op, 1);
        if (status != cases[i].append) {
            fail_msg("%s: append says %s", cases[i].name, arcp_status_name(status));
        }
        check_read(f->rig, "fine", 0, 0, "f");
        check_commit(f->rig, ARCP_OK, op_drop("fine"), op_append("fine", 0, "g"));
        check_read(f->rig, "fine", 0, 0, "g");
        change(f, "DELETE FROM runs; DELETE FROM streams");
    }
}

/* A start checks every stream in this way; reading the data of long runs would be wasteful. */
static void checking_for_later_records_does_not_read_earlier_data(void **state)
{
    fixture *f = *state;
    check_commit(f->rig, ARCP_OK, op_append("s", 0, "0"), op_append("s", 1, "1"));
    change(f, "UPDATE runs SET data = 'x'");
    check_read(f->rig, "s", 2, 2, "");
    check_read(f->rig, "s", 3, 2, "");
    assert_int_equal(rig_read(f->rig, "s", 1)->status, ARCP_E_CORRUPT);
    check_commit(f->rig, ARCP_OK, op_append("s", 2, "2"));
    check_read(f->rig, "s", 2, 2, "2");
    check_read(f->rig, "s", 3, 3, "");
}

static void damaged_ids_of_streams_refuse_the_start(void **state)
{
    fixture *f = *state;
    static const char *const ids[] = {"0", "-1", "33554432"};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        char sql[128];
        const char *path = temp_dir_join(f->dir, "", "s.db");
        arcp_error err = {0};
        arcp_store *store = NULL;
        snprintf(sql, sizeof sql, "INSERT INTO streams VALUES('s', %s, 0, 0, 0, 0, 0, 0)", ids[i]);
        close_all(f);
        sql_change_sealed(path, sql);
        assert_int_equal(arcp_store_open_sqlite(path, &store, &err), ARCP_E_CORRUPT);
        assert_non_null(strstr(err.message, ids[i]));
        sql_change_sealed(path, "DELETE FROM streams");
        open_all(f);
    }
}

/* ---- the log ---- */

static off_t log_bytes(fixture *f)
{
    struct stat info;
    assert_int_equal(stat(temp_dir_join(f->dir, "", "s.db-wal"), &info), 0);
    return info.st_size;
}

/* Everything at full speed, with a replay going on all the time. */
static void the_log_stays_small_however_much_is_written_and_read(void **state)
{
    fixture *f = *state;
    enum { COUNT = 3000, IN_FLIGHT = 16 };
    static char text[30001];
    memset(text, 'x', sizeof text - 1);
    arcp_store_op ops[IN_FLIGHT];
    uint64_t ids[IN_FLIGHT] = {0};
    off_t largest = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const size_t slot = i % IN_FLIGHT;
        if (ids[slot] != 0) {
            assert_int_equal(rig_wait(f->rig, ids[slot])->status, ARCP_OK);
        }
        ops[slot] = op_append("s", i, text);
        ids[slot] = rig_submit(f->rig, &ops[slot], 1);
        (void)rig_ask_read(f->rig, "s", i / 2, 4, SIZE_MAX);
        if (i % 100 == 99) {
            rig_drain(f->rig);
            memset(ids, 0, sizeof ids);
            rig_forget(f->rig);
            largest = log_bytes(f) > largest ? log_bytes(f) : largest;
        }
    }
    print_message("%d MB written, log at most %lld KiB\n", COUNT * 3 / 100,
                  (long long)largest / 1024);
    /* The writer waits at 64 MiB of pages; on a disk the log has a tenth of that. */
    assert_true(largest <
                (off_t)ARCP__SQLITE_LOG_PAGES_LIMIT * (ARCP__SQLITE_PAGE_BYTES + 24) + 1048576);
}

static void the_log_shrinks_after_a_lock_of_another_program(void **state)
{
    fixture *f = *state;
    static char text[60001];
    memset(text, 'x', sizeof text - 1);
    check_commit(f->rig, ARCP_OK, op_append("s", 0, text));
    sql_run(f->db, "BEGIN");
    assert_int_equal(sql_number(f->db, RUNS_OF_S), 1);
    uint64_t next = 1;
    for (; next < 600; next++) {
        check_commit(f->rig, ARCP_OK, op_append("s", next, text));
        rig_forget(f->rig);
    }
    assert_true(log_bytes(f) > 20971520);
    sql_run(f->db, "COMMIT");
    /* On a disk after 600 commits at most, later where commits wait for no disk. */
    for (; log_bytes(f) > 17825792 && next < 20000; next++) {
        check_commit(f->rig, ARCP_OK, op_append("s", next, text));
        rig_forget(f->rig);
    }
    assert_true(log_bytes(f) <= 17825792);
}

static off_t database_bytes(fixture *f)
{
    struct stat info;
    assert_int_equal(stat(temp_dir_join(f->dir, "", "s.db"), &info), 0);
    return info.st_size;
}

/* The writer does it when no write waits: after each of these commits. */
static void the_file_shrinks_after_a_burst_was_deleted(void **state)
{
    fixture *f = *state;
    static char text[60001];
    memset(text, 'x', sizeof text - 1);
    check_commit(f->rig, ARCP_OK, op_append("kept", 0, text));
    for (uint64_t next = 0; next < 600; next++) {
        check_commit(f->rig, ARCP_OK, op_append("burst", next, text));
        rig_forget(f->rig);
    }
    check_commit(f->rig, ARCP_OK, op_append("kept", 1, text));
    assert_true(database_bytes(f) > 20000000);
    check_commit(f->rig, ARCP_OK, op_drop("burst"));
    for (int round = 0; round < 20000 && database_bytes(f) > 3000000; round++) {
        commit_some(f, 1);
    }
    assert_true(database_bytes(f) <= 3000000);
    const answer *got = rig_read(f->rig, "kept", 0);
    assert_int_equal(got->status, ARCP_OK);
    assert_int_equal(got->count, 2);
    check_text(f, "PRAGMA integrity_check", "ok");
}

static void closing_leaves_one_intact_file(void **state)
{
    fixture *f = *state;
    append_one_by_one(f, "s", 200);
    check_commit(f->rig, ARCP_OK, op_trim("s", 100), op_put(ARCP_STORE_JOBS, "k", "v"));
    sql_close(f->db);
    rig_close(f->rig);
    assert_int_not_equal(access(temp_dir_join(f->dir, "", "s.db-wal"), F_OK), 0);
    assert_int_not_equal(access(temp_dir_join(f->dir, "", "s.db-shm"), F_OK), 0);
    f->db = sql_open(temp_dir_join(f->dir, "", "s.db"));
    check_text(f, "PRAGMA integrity_check", "ok");
    sql_close(f->db);
    open_all(f);
}

/* ---- the process around it ---- */

static void agents_inherit_no_file_of_the_store(void **state)
{
    const fixture *f = *state;
    check_commit(f->rig, ARCP_OK, op_append("s", 0, "a"));
    check_read(f->rig, "s", 0, 0, "a");
    int of_the_store = 0;
    for (int fd = 3; fd < 200; fd++) {
        char link_name[64];
        char target[600];
        snprintf(link_name, sizeof link_name, "/proc/self/fd/%d", fd);
        const ssize_t size = readlink(link_name, target, sizeof target - 1);
        if (size > 0) {
            target[size] = '\0';
            if (strstr(target, "/s.db") != NULL) {
                of_the_store++;
                assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
            }
        }
    }
    assert_true(of_the_store >= 4);
}

static void threads_of_the_store_block_signals(void **state)
{
    const fixture *f = *state;
    sigset_t usr1;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &usr1, &before), 0);
    check_commit(f->rig, ARCP_OK, op_append("s", 0, "a"));
    /* The signal goes to the process; a thread of the store that does not block it would take it.
     */
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    check_commit(f->rig, ARCP_OK, op_append("s", 1, "b"));
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGUSR1), 1);
    int taken = 0;
    assert_int_equal(sigwait(&usr1, &taken), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

#define LAYOUT_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAYOUT_TEST(an_append_at_zero_to_an_existing_stream_is_refused),
        LAYOUT_TEST(a_stream_that_was_not_found_is_added_once),
        LAYOUT_TEST(a_run_of_appends_is_one_row_with_line_feeds_between),
        LAYOUT_TEST(batches_that_waited_together_share_a_commit_and_a_row),
        LAYOUT_TEST(a_row_holds_at_most_64_kib_unless_one_record_is_bigger),
        LAYOUT_TEST(trimming_deletes_only_rows_that_lie_entirely_below),
        LAYOUT_TEST(a_long_trim_is_done_in_steps),
        LAYOUT_TEST(a_long_dropped_stream_is_deleted_in_steps),
        LAYOUT_TEST(deletions_of_a_killed_owner_are_continued_by_the_next),
        LAYOUT_TEST(stream_ids_are_reused_when_all_have_been_used),
        LAYOUT_TEST(a_stream_may_reach_its_last_position),
        LAYOUT_TEST(damaged_runs_are_reported_and_do_not_spread),
        LAYOUT_TEST(checking_for_later_records_does_not_read_earlier_data),
        LAYOUT_TEST(damaged_ids_of_streams_refuse_the_start),
        LAYOUT_TEST(the_log_stays_small_however_much_is_written_and_read),
        LAYOUT_TEST(the_log_shrinks_after_a_lock_of_another_program),
        LAYOUT_TEST(the_file_shrinks_after_a_burst_was_deleted),
        LAYOUT_TEST(closing_leaves_one_intact_file),
        LAYOUT_TEST(agents_inherit_no_file_of_the_store),
        LAYOUT_TEST(threads_of_the_store_block_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
