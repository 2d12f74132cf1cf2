/* Schema versions: forward, one step at a time, each whole or not at all. */
#include "store/sql.h"
#include "store/sqlite_schema.h"
#include "store/store_rig.h"
#include "store/temp_dir.h"

typedef struct fixture {
    temp_dir *dir;
    char path[600];
    arcp__sqlite sqlite;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    arcp_error err = {0};
    f->dir = temp_dir_new();
    snprintf(f->path, sizeof f->path, "%s", temp_dir_join(f->dir, "", "s.db"));
    /* arcp__sqlite_open opens only a file that exists. */
    sql_change(f->path, "PRAGMA user_version = 0");
    check_ok(arcp__sqlite_open(&f->sqlite, f->path, true, "", &err), &err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    arcp__sqlite_close(&f->sqlite);
    temp_dir_free(f->dir);
    free(f);
    return 0;
}

static int64_t number(fixture *f, const char *sql)
{
    arcp_error err = {0};
    const int64_t value = arcp__sqlite_integer(&f->sqlite, sql, &err);
    check_ok(err.status, &err);
    return value;
}

static const arcp__sqlite_step steps[] = {
    {1, "CREATE TABLE t(a); INSERT INTO t VALUES(1)"},
    {2, "ALTER TABLE t ADD COLUMN b"},
    {2, "UPDATE t SET b = a + 1"},
    {3, "CREATE TABLE u AS SELECT a + b AS c FROM t; DROP TABLE t"},
};

static void an_empty_database_goes_through_all_steps(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    check_ok(arcp__sqlite_schema_migrate(&f->sqlite, steps, 4, &err), &err);
    assert_int_equal(number(f, "PRAGMA user_version"), 3);
    assert_int_equal(number(f, "SELECT c FROM u"), 3);
}

static void an_older_database_takes_the_steps_it_lacks(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    static const size_t counts[] = {1, 3, 4};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        check_ok(arcp__sqlite_schema_migrate(&f->sqlite, steps, counts[i], &err), &err);
        assert_int_equal(number(f, "PRAGMA user_version"), (int64_t)i + 1);
    }
    assert_int_equal(number(f, "SELECT c FROM u"), 3);
    check_ok(arcp__sqlite_schema_migrate(&f->sqlite, steps, 4, &err), &err);
}

static void a_step_that_fails_leaves_the_version_before_it(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    const arcp__sqlite_step wrong[] = {
        steps[0], {2, "UPDATE t SET a = 5"}, {2, "INSERT INTO missing VALUES(1)"}, steps[3]};
    assert_int_equal(arcp__sqlite_schema_migrate(&f->sqlite, wrong, 4, &err),
                     ARCP_E_INTERNAL_ERROR);
    assert_non_null(strstr(err.message, "missing"));
    assert_int_equal(number(f, "PRAGMA user_version"), 1);
    assert_int_equal(number(f, "SELECT a FROM t"), 1);
    assert_int_not_equal(sqlite3_get_autocommit(f->sqlite.db), 0);
    err = (arcp_error){0};
    check_ok(arcp__sqlite_schema_migrate(&f->sqlite, steps, 4, &err), &err);
    assert_int_equal(number(f, "SELECT c FROM u"), 3);
}

static void a_newer_database_is_left_alone(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    check_ok(arcp__sqlite_schema_migrate(&f->sqlite, steps, 4, &err), &err);
    assert_int_equal(arcp__sqlite_schema_migrate(&f->sqlite, steps, 3, &err), ARCP_E_USAGE);
    assert_non_null(strstr(err.message, "schema 3, this program knows 2"));
    assert_int_equal(number(f, "PRAGMA user_version"), 3);
}

/* What was released stays as it is: databases in the field look like this. When a step is
 * appended, its result gets a test like this one; tests/arcpd/store-1.sql and
 * tests/store/store-2.sql are what versions 1 and 2 left.
 */
static void the_released_schema_3_is_unchanged(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    check_ok(arcp__sqlite_schema_open(&f->sqlite, &err), &err);
    static const struct {
        const char *name;
        const char *sql;
    } objects[] = {
        {"streams", "CREATE TABLE streams(key TEXT PRIMARY KEY, id INTEGER NOT NULL, "
                    "next INTEGER NOT NULL, open INTEGER NOT NULL, crc INTEGER NOT NULL, "
                    "count INTEGER NOT NULL, sum INTEGER NOT NULL, changes INTEGER NOT NULL) "
                    "WITHOUT ROWID"},
        {"runs",
         "CREATE TABLE runs(id INTEGER PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL,"
         " crc INTEGER NOT NULL, data TEXT NOT NULL)"},
        {"sums", "CREATE TABLE sums(name TEXT NOT NULL UNIQUE, count INTEGER NOT NULL, "
                 "sum INTEGER NOT NULL, changes INTEGER NOT NULL, crc INTEGER NOT NULL, "
                 "open INTEGER NOT NULL DEFAULT 0)"},
        {"stream_runs",
         "CREATE VIEW stream_runs(stream, first, count, bytes, data) AS"
         " SELECT streams.key, runs.id & 274877906943, runs.count, runs.bytes, runs.data"
         " FROM streams JOIN runs"
         " ON runs.id BETWEEN streams.id << 38 AND (streams.id << 38) + 274877906943"
         " WHERE runs.bytes >= 0 AND typeof(streams.key) = 'text'"},
        {"sessions", "CREATE TABLE \"sessions\"(key TEXT NOT NULL UNIQUE, value TEXT NOT NULL, "
                     "crc INTEGER NOT NULL, count INTEGER NOT NULL DEFAULT 0, "
                     "sum INTEGER NOT NULL DEFAULT 0, changes INTEGER NOT NULL DEFAULT 0)"},
    };
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(f->sqlite.db,
                                            "SELECT sql FROM sqlite_schema WHERE name = ?1", -1,
                                            &statement, NULL),
                         SQLITE_OK);
        sqlite3_bind_text(statement, 1, objects[i].name, -1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_string_equal((const char *)sqlite3_column_text(statement, 0), objects[i].sql);
        sqlite3_finalize(statement);
    }
    assert_int_equal(number(f, "PRAGMA user_version"), 3);
    assert_int_equal(number(f, "PRAGMA application_id"), ARCP__SQLITE_APPLICATION_ID);
    for (int table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"",
                 arcp_store_table_name((arcp_store_table)table));
        assert_int_equal(number(f, sql), 0);
    }
}

/* The checksum of something that is stored, as databases in the field have it. */
static void released_checksums_are_unchanged(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    check_ok(arcp__sqlite_schema_open(&f->sqlite, &err), &err);
    static const struct {
        const char *sql;
        int64_t want;
    } rows[] = {
        {"SELECT arcp_crc_run(549755813888, 2, 3, 'a' || char(10) || 'b')", 6926707208900598282},
        {"SELECT arcp_crc_run(549755813888, 7, -1, '')", 5414246699734401024},
        {"SELECT arcp_crc_row('jobs', 'key', '{}')", 2012561499},
        {"SELECT arcp_crc_stream(2, 'x:s', 7, 0)", 2635285132},
        {"SELECT arcp_crc_stream(2, NULL, 0, 0)", 4057765692},
        {"SELECT arcp_crc_stream_name(2, 'x:s')", 2289209470},
        {"SELECT arcp_crc_sum('jobs', 1, 2, 3)", 4123072604},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (number(f, rows[i].sql) != rows[i].want) {
            fail_msg("%s: %lld", rows[i].sql, (long long)number(f, rows[i].sql));
        }
    }
}

/* A table that came with a newer program is added without a step. */
static void missing_tables_are_added(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    check_ok(arcp__sqlite_schema_open(&f->sqlite, &err), &err);
    check_ok(arcp__sqlite_exec(
                 &f->sqlite,
                 "INSERT INTO jobs(key, value, crc) VALUES('k', 'v', 1); DROP TABLE subscriptions;"
                 "DELETE FROM sums WHERE name = 'subscriptions'",
                 &err),
             &err);
    check_ok(arcp__sqlite_schema_open(&f->sqlite, &err), &err);
    assert_int_equal(number(f, "SELECT count(*) FROM subscriptions"), 0);
    assert_int_equal(number(f, "SELECT count(*) FROM jobs"), 1);
}

#define SCHEMA_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCHEMA_TEST(an_empty_database_goes_through_all_steps),
        SCHEMA_TEST(an_older_database_takes_the_steps_it_lacks),
        SCHEMA_TEST(a_step_that_fails_leaves_the_version_before_it),
        SCHEMA_TEST(a_newer_database_is_left_alone),
        SCHEMA_TEST(the_released_schema_3_is_unchanged),
        SCHEMA_TEST(released_checksums_are_unchanged),
        SCHEMA_TEST(missing_tables_are_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
