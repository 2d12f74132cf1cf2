/* Damage that SQLite does not detect is reported with file, table and key, and never returned as
 * content. */
#include <sys/wait.h>
#include <unistd.h>

#include "store/sql_sealed.h"
#include "store/store_rig.h"
#include "store/temp_dir.h"

typedef struct fixture {
    temp_dir *dir;
    char url[700];
    char path[700];
} fixture;

/* Rows, a stream of three runs, one that was trimmed, and a dropped one. */
static void make_store(fixture *f)
{
    f->dir = temp_dir_new();
    snprintf(f->url, sizeof f->url, "%s", temp_dir_join(f->dir, "sqlite:", "s.db"));
    snprintf(f->path, sizeof f->path, "%s", temp_dir_join(f->dir, "", "s.db"));
    store_rig *rig = rig_open(f->url);
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_append("s", 1, "b"),
                 op_append("t", 0, "t0"), op_append("gone", 0, "x"));
    check_commit(rig, ARCP_OK, op_append("s", 2, "c"), op_append("t", 1, "t1"));
    check_commit(rig, ARCP_OK, op_append("s", 3, "d"), op_append("t", 2, "t2"), op_drop("gone"));
    check_commit(rig, ARCP_OK, op_trim("t", 2), op_put(ARCP_STORE_JOBS, "j1", "{\"n\":1}"),
                 op_put(ARCP_STORE_JOBS, "j2", "{\"n\":2}"), op_put(ARCP_STORE_META, "m", "1"));
    rig_close(rig);
}

/* Reads the whole content; returns the message of the first failure, or "". */
static void read_all(store_rig *rig, char *message, size_t size)
{
    static const char *const streams[] = {"s", "t"};
    message[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(streams) && message[0] == '\0'; i++) {
        const answer *got = rig_read(rig, streams[i], 0);
        if (got->status != ARCP_OK) {
            assert_int_equal(got->status, ARCP_E_CORRUPT);
            snprintf(message, size, "%s", got->message);
        } else {
            assert_string_equal(got->text, i == 0 ? "a|b|c|d" : "t2");
            assert_int_equal(got->first, i == 0 ? 0 : 2);
        }
    }
    for (int table = 0; table < ARCP_STORE_TABLE_COUNT && message[0] == '\0'; table++) {
        const answer *got = rig_wait(rig, rig_ask_scan(rig, (arcp_store_table)table, ""));
        if (got->status != ARCP_OK) {
            assert_int_equal(got->status, ARCP_E_CORRUPT);
            snprintf(message, size, "%s", got->message);
        }
    }
}

static void damage_is_reported_when_it_is_read(void **state)
{
    static const struct {
        const char *sql;
        const char *want;
    } rows[] = {
        {"UPDATE jobs SET value = '{\"n\":3}' WHERE key = 'j2'",
         "table \"jobs\", the row of \"j2\" does not match its checksum"},
        {"UPDATE jobs SET key = 'j3' WHERE key = 'j2'",
         "table \"jobs\", the row of \"j3\" does not match its checksum"},
        {"UPDATE jobs SET crc = crc + 1 WHERE key = 'j2'", "table \"jobs\", the row of \"j2\""},
        {"DELETE FROM jobs WHERE key = 'j1'", "table \"jobs\" has 1 rows, but 2 were written"},
        {"DELETE FROM meta", "table \"meta\" has 0 rows, but 1 were written"},
        {"INSERT INTO sessions SELECT * FROM jobs", "table \"sessions\", the row of \"j1\""},
        {"UPDATE sums SET sum = sum + 1 WHERE name = 'jobs'",
         "table \"sums\", the row of \"jobs\" does not match"},
        {"DELETE FROM sums WHERE name = 'jobs'", "table \"sums\", the row of \"jobs\" is missing"},
        {"DROP TABLE jobs", "table \"jobs\" is missing"},
        {"UPDATE runs SET data = 'C' WHERE data = 'c'",
         "stream \"s\", the run at position 2 does not match its checksum"},
        {"UPDATE runs SET data = 'd', crc = (SELECT crc FROM runs WHERE data = 'd') "
         "WHERE data = 'c'",
         "stream \"s\", the run at position 2 does not match its checksum"},
        {"UPDATE runs SET count = 3 WHERE data LIKE 'a%'",
         "stream \"s\", the run at position 0 does not match its checksum"},
        {"DELETE FROM runs WHERE data LIKE 'a%'",
         "stream \"s\", the run at position 2 does not follow the run before it"},
        {"DELETE FROM runs WHERE data = 'c'",
         "stream \"s\", the run at position 3 does not follow the run before it"},
        {"DELETE FROM runs WHERE data = 'd'",
         "stream \"s\" ends at position 3, but was written up to 4"},
        {"DELETE FROM runs WHERE id >> 38 = (SELECT id FROM streams WHERE key = 's')",
         "stream \"s\" ends at position 0, but was written up to 4"},
        {"DELETE FROM runs WHERE bytes = -1",
         "stream \"t\", the run at position 2 does not follow the run before it"},
        {"UPDATE runs SET count = 1 WHERE bytes = -1",
         "stream \"t\", the run at position 0 does not match its checksum"},
        {"DELETE FROM streams WHERE key = 's'", "table \"streams\" has 1 rows, but 2 were written"},
        {"UPDATE streams SET key = 'u' WHERE key = 's'",
         "table \"streams\", the row of \"u\" (id "},
        {"UPDATE streams SET next = 3 WHERE key = 's'", "table \"streams\", the row of \"s\" (id "},
        {"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'key TEXT NOT', "
         "'key REAL NOT') WHERE name = 'jobs'",
         "the definition of \"jobs\" is different"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fixture f;
        arcp_error err = {0};
        arcp_store *store = NULL;
        char message[ARCP_ERROR_MESSAGE_MAX];
        make_store(&f);
        sql_change(f.path, rows[i].sql);
        if (arcp_store_open(f.url, &store, &err) == ARCP_OK) {
            store_rig *rig = rig_new(store);
            read_all(rig, message, sizeof message);
            rig_close(rig);
        } else {
            assert_int_equal(err.status, ARCP_E_CORRUPT);
            snprintf(message, sizeof message, "%s", err.message);
        }
        if (strstr(message, "s.db: damaged: ") == NULL || strstr(message, rows[i].want) == NULL) {
            fail_msg("%s: %s", rows[i].sql, message);
        }
        temp_dir_free(f.dir);
    }
}

static void undamaged_data_is_read(void **state)
{
    fixture f;
    char message[ARCP_ERROR_MESSAGE_MAX];
    make_store(&f);
    sql_change(f.path, "PRAGMA wal_checkpoint; VACUUM");
    store_rig *rig = rig_open(f.url);
    read_all(rig, message, sizeof message);
    assert_string_equal(message, "");
    rig_close(rig);
    temp_dir_free(f.dir);
}

/* Its content would be lost, and the sum of the table would stay wrong. */
static void a_damaged_row_is_not_replaced(void **state)
{
    fixture f;
    make_store(&f);
    sql_change(f.path, "UPDATE jobs SET value = '{}' WHERE key = 'j1'");
    store_rig *rig = rig_open(f.url);
    check_commit(rig, ARCP_E_CORRUPT, op_put(ARCP_STORE_JOBS, "j1", "new"));
    check_commit(rig, ARCP_E_CORRUPT, op_delete(ARCP_STORE_JOBS, "j1"));
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "j2", "new"));
    rig_close(rig);
    temp_dir_free(f.dir);
}

/* Otherwise the commit would be reported as done, and the next start would find its rows damaged.
 */
static void a_batch_whose_sum_cannot_be_written_fails(void **state)
{
    fixture f;
    make_store(&f);
    store_rig *rig = rig_open(f.url);
    sql_change(f.path, "DELETE FROM sums WHERE name = 'jobs'");
    check_commit(rig, ARCP_E_CORRUPT, op_put(ARCP_STORE_JOBS, "j3", "v"));
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_META, "m", "new"));
    sql_change(f.path, "DELETE FROM sums WHERE name = 'meta'");
    check_commit(rig, ARCP_E_CORRUPT, op_delete(ARCP_STORE_META, "m"));
    assert_int_equal(rig_read(rig, "s", 0)->count, 4);
    rig_close(rig);
    temp_dir_free(f.dir);
}

/* A batch that is refused leaves no trace in the sums, either. */
static void sums_follow_what_is_written(void **state)
{
    fixture f;
    make_store(&f);
    store_rig *rig = rig_open(f.url);
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "j1", "replaced"));
    check_commit(rig, ARCP_E_CORRUPT, op_put(ARCP_STORE_JOBS, "j3", "v"),
                 op_append("not next", 7, "v"));
    check_commit(rig, ARCP_OK, op_delete(ARCP_STORE_JOBS, "nothing"),
                 op_put(ARCP_STORE_JOBS, "j4", "v"), op_delete(ARCP_STORE_META, "m"));
    check_scan(rig, ARCP_STORE_JOBS, "", "j1=replaced|j2={\"n\":2}|j4=v");
    check_scan(rig, ARCP_STORE_META, "", "");
    rig_close(rig);
    rig = rig_open(f.url);
    check_scan(rig, ARCP_STORE_JOBS, "", "j1=replaced|j2={\"n\":2}|j4=v");
    rig_close(rig);
    temp_dir_free(f.dir);
}

/* A killed writer leaves the newest sum in a row that it wrote, not in `sums`. */
static void rows_lost_after_a_crash_are_reported(void **state)
{
    static const struct {
        const char *sql;
        const char *want; /* NULL: nothing is lost */
    } rows[] = {
        {"UPDATE meta SET key = key", NULL},
        {"DELETE FROM jobs WHERE key = 'j1'", "table \"jobs\" has 3 rows, but 4 were written"},
        {"DELETE FROM jobs WHERE key = 'j3'", "table \"jobs\" has 3 rows, but 4 were written"},
        {"UPDATE jobs SET changes = changes + 9 WHERE key = 'j1'",
         "table \"jobs\" has 4 rows, but 1 were written"},
        {"DELETE FROM streams WHERE key = 's'", "table \"streams\" has 2 rows, but 3 were written"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fixture f;
        int status = 0;
        arcp_error err = {0};
        arcp_store *store = NULL;
        char message[ARCP_ERROR_MESSAGE_MAX];
        make_store(&f);
        fflush(NULL);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            store_rig *rig = rig_open(f.url);
            check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "j3", "3"),
                         op_delete(ARCP_STORE_META, "m"));
            check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "j4", "4"), op_append("u", 0, "u"),
                         op_put(ARCP_STORE_META, "n", "2"));
            check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "j2", "new"));
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        sql_change(f.path, rows[i].sql);
        if (arcp_store_open(f.url, &store, &err) == ARCP_OK) {
            store_rig *rig = rig_new(store);
            read_all(rig, message, sizeof message);
            rig_close(rig);
        } else {
            snprintf(message, sizeof message, "%s", err.message);
        }
        if (rows[i].want == NULL ? message[0] != '\0' : strstr(message, rows[i].want) == NULL) {
            fail_msg("%s: %s", rows[i].sql, message);
        }
        temp_dir_free(f.dir);
    }
}

/* ---- stores of earlier versions ---- */

static void run_file(sqlite3 *db, const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    assert_true(feof(file) != 0);
    assert_int_equal(fclose(file), 0);
    text[size] = '\0';
    sql_run(db, text);
}

static void a_store_of_version_1_gets_checksums_and_keeps_its_content(void **state)
{
    temp_dir *dir = temp_dir_new();
    char path[700];
    snprintf(path, sizeof path, "%s", temp_dir_join(dir, "", "s.db"));
    sqlite3 *db = sql_open(path);
    run_file(db, ARCP_SOURCE_DIR "/tests/arcpd/store-1.sql");
    sql_run(db, "INSERT INTO streams VALUES(20, 'trimmed'), (21, NULL);"
                "INSERT INTO runs VALUES((20 << 38) + 5, 2, 3, 'a' || char(10) || 'b'),"
                " (20 << 38 | 7, 1, 1, 'c'), (21 << 38 | 3, 1, 1, 'x')");
    sql_close(db);
    store_rig *rig = rig_open(temp_dir_join(dir, "sqlite:", "s.db"));
    check_read(rig, "trimmed", 0, 5, "a|b|c");
    check_read(rig, "trimmed", 7, 7, "c");
    assert_int_equal(rig_read(rig, "x:sess_01M7YT3BZV8HE0YYCHPX4VX62N", 0)->count, 4);
    assert_int_equal(rig_read(rig, "j:job_01M7YT3C043GQFR13K58D2ABN9", 0)->count, 4);
    assert_int_equal(rig_wait(rig, rig_ask_scan(rig, ARCP_STORE_JOBS, ""))->count, 2);
    check_commit(rig, ARCP_OK, op_append("trimmed", 8, "d"), op_trim("trimmed", 7));
    check_read(rig, "trimmed", 0, 7, "c|d");
    rig_close(rig);
    db = sql_open(path);
    assert_int_equal(sql_number(db, "PRAGMA user_version"), 3);
    assert_int_equal(sql_number(db, "SELECT count(*) FROM streams WHERE typeof(key) = 'blob'"), 0);
    assert_int_equal(sql_number(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'"),
                     0);
    sql_run(db, "UPDATE runs SET data = replace(data, 'job.event', 'job.evenT')");
    sql_close(db);
    rig = rig_open(temp_dir_join(dir, "sqlite:", "s.db"));
    assert_int_equal(rig_read(rig, "j:job_01M7YT3C043GQFR13K58D2ABN9", 0)->status, ARCP_E_CORRUPT);
    rig_close(rig);
    temp_dir_free(dir);
}

/* Makes a store of version 2 and changes it. */
static temp_dir *make_version_2(const char *sql)
{
    temp_dir *dir = temp_dir_new();
    arcp__sqlite sqlite = {.db = sql_open(temp_dir_join(dir, "", "s.db"))};
    arcp_error err = {0};
    run_file(sqlite.db, ARCP_SOURCE_DIR "/tests/store/store-2.sql");
    check_ok(arcp__sqlite_crc_add_functions(&sqlite, &err), &err);
    sql_run(sqlite.db, sql);
    sql_close(sqlite.db);
    return dir;
}

/* That program did not have all the tables, and was about to delete a stream. */
static void a_store_of_version_2_keeps_its_content(void **state)
{
    (void)state;
    temp_dir *dir = make_version_2(
        "DROP TABLE outbox; DELETE FROM sums WHERE name = 'outbox';"
        "INSERT INTO streams VALUES(9, NULL, 0, 0, arcp_crc_stream(9, NULL, 0, 0));"
        "INSERT INTO runs VALUES(9 << 38 | 3, 1, 1, arcp_crc_run(9 << 38 | 3, 1, 1, 'x'), 'x');"
        "UPDATE sums SET count = 4, sum = sum + arcp_crc_stream_name(9, NULL)"
        " WHERE name = 'streams';"
        "UPDATE sums SET crc = arcp_crc_sum(name, count, sum, changes) WHERE name = 'streams'");
    const char *url = temp_dir_join(dir, "sqlite:", "s.db");
    for (int round = 0; round < 2; round++) {
        store_rig *rig = rig_open(url);
        check_read(rig, "j:1", 0, 0, "a|b|c|d");
        check_read(rig, "x:s", 0, 1, "m");
        check_scan(rig, ARCP_STORE_JOBS, "", "1={\"n\":3}|2={\"n\":2}");
        check_scan(rig, ARCP_STORE_OUTBOX, "", round == 0 ? "" : "o=1");
        check_commit(rig, ARCP_OK, op_append("j:2", 1 + (uint64_t)round, "f"),
                     op_put(ARCP_STORE_JOBS, "1", "{\"n\":3}"),
                     op_put(ARCP_STORE_OUTBOX, "o", "1"));
        rig_close(rig);
    }
    sqlite3 *db = sql_open(temp_dir_join(dir, "", "s.db"));
    assert_int_equal(sql_number(db, "PRAGMA user_version"), 3);
    assert_int_equal(sql_number(db, "SELECT count(*) FROM streams"), 3);
    assert_int_equal(sql_number(db, "SELECT count(*) FROM sums WHERE open"), 0);
    sql_close(db);
    temp_dir_free(dir);
}

static void damage_to_a_store_of_version_2_outlives_its_migration(void **state)
{
    static const struct {
        const char *sql;
        const char *want;
    } rows[] = {
        {"UPDATE jobs SET value = '{}' WHERE key = '1'", "the row of \"1\" does not match"},
        {"DELETE FROM jobs WHERE key = '1'", "\"jobs\" has 1 rows, but 2 were written"},
        {"DROP TABLE jobs", "\"jobs\" has 0 rows, but 2 were written"},
        {"UPDATE sums SET sum = sum + 1 WHERE name = 'jobs'", "the row of \"jobs\" does not match"},
        {"DELETE FROM sums WHERE name = 'jobs'", "\"jobs\" has 2 rows, but 0 were written"},
        {"UPDATE runs SET data = 'x' WHERE data = 'c'", "the run at position 2 does not match"},
        {"DELETE FROM runs WHERE data = 'm'", "ends at position 1, but was written up to 2"},
        {"UPDATE streams SET next = 2 WHERE key = 'j:1'", "the row of \"j:1\" (id 1) does not"},
        {"DELETE FROM streams WHERE key = 'j:1'", "\"streams\" has 2 rows, but 3 were written"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char message[ARCP_ERROR_MESSAGE_MAX] = "";
        arcp_error err = {0};
        arcp_store *store = NULL;
        temp_dir *dir = make_version_2(rows[i].sql);
        if (arcp_store_open(temp_dir_join(dir, "sqlite:", "s.db"), &store, &err) != ARCP_OK) {
            snprintf(message, sizeof message, "%s", err.message);
        } else {
            store_rig *rig = rig_new(store);
            const answer *got = rig_wait(rig, rig_ask_scan(rig, ARCP_STORE_JOBS, ""));
            got = got->status == ARCP_OK ? rig_read(rig, "j:1", 0) : got;
            got = got->status == ARCP_OK ? rig_read(rig, "x:s", 0) : got;
            snprintf(message, sizeof message, "%s", got->message);
            rig_close(rig);
        }
        if (strstr(message, "s.db: damaged: ") == NULL || strstr(message, rows[i].want) == NULL) {
            fail_msg("%s: %s", rows[i].sql, message);
        }
        temp_dir_free(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_reported_when_it_is_read),
        cmocka_unit_test(undamaged_data_is_read),
        cmocka_unit_test(a_damaged_row_is_not_replaced),
        cmocka_unit_test(a_batch_whose_sum_cannot_be_written_fails),
        cmocka_unit_test(sums_follow_what_is_written),
        cmocka_unit_test(rows_lost_after_a_crash_are_reported),
        cmocka_unit_test(a_store_of_version_1_gets_checksums_and_keeps_its_content),
        cmocka_unit_test(a_store_of_version_2_keeps_its_content),
        cmocka_unit_test(damage_to_a_store_of_version_2_outlives_its_migration),
    };
    return cmocka_run_group_tests_name("store_sqlite_damage", tests, NULL, NULL);
}
