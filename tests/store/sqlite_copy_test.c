/* Checking a whole store, copying it while it is used, and restoring a copy. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/fault_vfs.h"
#include "store/sql.h"
#include "store/sqlite_copy.h"
#include "store/store_rig.h"
#include "store/temp_dir.h"

typedef struct fixture {
    temp_dir *dir;
    char url[700];
    char path[700];
    char backup[700];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->dir = temp_dir_new();
    snprintf(f->url, sizeof f->url, "%s", temp_dir_join(f->dir, "sqlite:", "s.db"));
    snprintf(f->path, sizeof f->path, "%s", temp_dir_join(f->dir, "", "s.db"));
    snprintf(f->backup, sizeof f->backup, "%s", temp_dir_join(f->dir, "", "b.db"));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    temp_dir_free(f->dir);
    free(f);
    return 0;
}

static store_rig *make_store(fixture *f)
{
    store_rig *rig = rig_open(f->url);
    check_commit(rig, ARCP_OK, op_append("j:1", 0, "a"), op_append("j:1", 1, "b"),
                 op_append("x:s", 0, "n"), op_put(ARCP_STORE_JOBS, "1", "{}"),
                 op_put(ARCP_STORE_SESSIONS, "s", "{}"));
    check_commit(rig, ARCP_OK, op_append("j:1", 2, "c"), op_append("t", 0, "0"));
    check_commit(rig, ARCP_OK, op_append("j:1", 3, "d"), op_append("t", 1, "1"));
    check_commit(rig, ARCP_OK, op_trim("t", 1));
    return rig;
}

typedef struct printed {
    size_t count;
    char lines[16][ARCP_ERROR_MESSAGE_MAX];
} printed;

static void print_line(void *user, const char *line)
{
    printed *all = user;
    assert_true(all->count < COUNT_OF(all->lines));
    snprintf(all->lines[all->count++], sizeof all->lines[0], "%s", line);
}

static void check_all(const char *path, printed *all, arcp__sqlite_found *found)
{
    arcp_error err = {0};
    *all = (printed){0};
    check_ok(arcp__sqlite_check(path, print_line, all, found, &err), &err);
    assert_int_equal(found->damages, all->count);
}

static void an_intact_store_is_counted(void **state)
{
    fixture *f = *state;
    printed all;
    arcp__sqlite_found found;
    rig_close(make_store(f));
    check_all(f->path, &all, &found);
    assert_int_equal(all.count, 0);
    assert_int_equal(found.rows, 2);
    assert_int_equal(found.streams, 3);
    assert_int_equal(found.runs, 6); /* one stands for what was trimmed */
    assert_int_equal(found.bytes, 3 + 1 + 1 + 1 + 1);
}

static void all_damage_is_named_at_once(void **state)
{
    fixture *f = *state;
    printed all;
    arcp__sqlite_found found;
    static const char *const want[] = {
        "table \"sessions\", the row of \"s\" does not match",
        "table \"jobs\" has 0 rows, but 1 were written",
        "stream \"j:1\", the run at position 0 does not match",
        "stream \"j:1\", the run at position 3 does not follow",
        "stream \"t\" ends at position 1, but was written up to 2",
        "table \"streams\" has 2 rows, but 3 were written",
        "is missing, but 1 of its runs exist",
    };
    rig_close(make_store(f));
    sql_change(f->path, "UPDATE sessions SET value = '[]'; DELETE FROM jobs;"
                        "UPDATE runs SET data = 'x' WHERE data LIKE 'a%';"
                        "DELETE FROM runs WHERE data IN ('c', '1');"
                        "DELETE FROM streams WHERE key = 'x:s'");
    check_all(f->path, &all, &found);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        bool is_printed = false;
        for (size_t line = 0; line < all.count; line++) {
            is_printed = is_printed || strstr(all.lines[line], want[i]) != NULL;
        }
        if (!is_printed) {
            fail_msg("%s: not among %zu lines", want[i], all.count);
        }
    }
    assert_int_equal(all.count, COUNT_OF(want));
}

static void a_store_in_use_is_not_checked(void **state)
{
    fixture *f = *state;
    printed all = {0};
    arcp__sqlite_found found;
    arcp_error err = {0};
    store_rig *rig = make_store(f);
    assert_int_equal(arcp__sqlite_check(f->path, print_line, &all, &found, &err), ARCP_E_EXISTS);
    rig_close(rig);
    assert_int_equal(
        arcp__sqlite_check(temp_dir_join(f->dir, "", "none"), print_line, &all, &found, &err),
        ARCP_E_IO);
}

static void back_up(const fixture *f)
{
    arcp_error err = {0};
    arcp__sqlite_found found;
    check_ok(arcp__sqlite_backup(f->path, f->backup, &found, &err), &err);
}

static void a_backup_is_made_while_the_store_is_written(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    arcp__sqlite_found found;
    struct stat info;
    store_rig *rig = make_store(f);
    check_ok(arcp__sqlite_backup(f->path, f->backup, &found, &err), &err);
    check_commit(rig, ARCP_OK, op_append("j:1", 4, "later"));
    rig_close(rig);
    assert_int_equal(found.streams, 3);
    assert_int_equal(stat(f->backup, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_not_equal(access(temp_dir_join(f->dir, "", "b.db-wal"), F_OK), 0);
    assert_int_not_equal(access(temp_dir_join(f->dir, "", "b.db.partial"), F_OK), 0);
    rig = rig_open(temp_dir_join(f->dir, "sqlite:", "b.db"));
    check_read(rig, "j:1", 0, 0, "a|b|c|d");
    check_read(rig, "t", 0, 1, "1");
    rig_close(rig);
}

/* Also on a read-only medium, where SQLite cannot make a log beside the file. */
static void a_backup_needs_no_log(void **state)
{
    fixture *f = *state;
    unsigned char header[20] = {0};
    rig_close(make_store(f));
    back_up(f);
    FILE *file = fopen(f->backup, "re");
    assert_non_null(file);
    assert_int_equal(fread(header, 1, sizeof header, file), sizeof header);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(header[18], 1); /* the versions that write and read it; 2: with a log */
    assert_int_equal(header[19], 1);
}

static void a_backup_replaces_nothing_and_copies_no_damage(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    arcp__sqlite_found found;
    rig_close(make_store(f));
    back_up(f);
    assert_int_equal(arcp__sqlite_backup(f->path, f->backup, &found, &err), ARCP_E_EXISTS);
    assert_int_equal(unlink(f->backup), 0);
    sql_change(f->path, "UPDATE jobs SET value = '[]'");
    assert_int_equal(arcp__sqlite_backup(f->path, f->backup, &found, &err), ARCP_E_CORRUPT);
    assert_non_null(strstr(err.message, "the row of \"1\""));
    assert_int_not_equal(access(f->backup, F_OK), 0);
    sql_change(temp_dir_join(f->dir, "", "other"), "CREATE TABLE t(x)");
    assert_int_equal(
        arcp__sqlite_backup(temp_dir_join(f->dir, "", "other"), f->backup, &found, &err),
        ARCP_E_USAGE);
}

static arcp_status restore(fixture *f, const char *from, arcp_error *err)
{
    arcp__sqlite_found found;
    const arcp__sqlite_restore_options options = {
        .from = from, .path = f->path, .without = ARCP_STORE_SESSIONS, .without_prefix = "x:"};
    return arcp__sqlite_restore(&options, &found, err);
}

static void a_restored_backup_has_no_sessions(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    store_rig *rig = make_store(f);
    back_up(f);
    check_commit(rig, ARCP_OK, op_append("j:1", 4, "later"));
    rig_close(rig);
    check_ok(restore(f, f->backup, &err), &err);
    rig = rig_open(f->url);
    check_read(rig, "j:1", 0, 0, "a|b|c|d");
    check_read(rig, "x:s", 0, 0, "");
    check_scan(rig, ARCP_STORE_JOBS, "", "1={}");
    check_scan(rig, ARCP_STORE_SESSIONS, "", "");
    rig_close(rig);
    /* The replaced store still exists, and the backup is unchanged. */
    rig = rig_open(temp_dir_join(f->dir, "sqlite:", "s.db.replaced"));
    check_read(rig, "j:1", 0, 0, "a|b|c|d|later");
    rig_close(rig);
    rig = rig_open(temp_dir_join(f->dir, "sqlite:", "b.db"));
    check_scan(rig, ARCP_STORE_SESSIONS, "", "s={}");
    rig_close(rig);
}

static void a_refused_restore_changes_nothing(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    store_rig *rig = make_store(f);
    back_up(f);
    assert_int_equal(restore(f, f->backup, &err), ARCP_E_EXISTS);
    assert_non_null(strstr(err.message, "in use"));
    rig_close(rig);
    FILE *log = fopen(temp_dir_join(f->dir, "", "s.db-wal"), "we");
    assert_non_null(log);
    assert_true(fputs("x", log) >= 0);
    assert_int_equal(fclose(log), 0);
    assert_int_equal(restore(f, f->backup, &err), ARCP_E_EXISTS);
    assert_non_null(strstr(err.message, "s.db-wal has the newest commits of the existing store"));
    assert_int_equal(unlink(temp_dir_join(f->dir, "", "s.db-wal")), 0);
    assert_int_equal(restore(f, temp_dir_join(f->dir, "", "none"), &err), ARCP_E_IO);
    sql_change(f->backup, "UPDATE jobs SET value = '[]'");
    assert_int_equal(restore(f, f->backup, &err), ARCP_E_CORRUPT);
    assert_non_null(strstr(err.message, "b.db: damaged: table \"jobs\""));
    rig = rig_open(f->url);
    check_scan(rig, ARCP_STORE_SESSIONS, "", "s={}");
    rig_close(rig);
    assert_int_not_equal(access(temp_dir_join(f->dir, "", "s.db.restoring"), F_OK), 0);
    assert_int_not_equal(access(temp_dir_join(f->dir, "", "s.db.replaced"), F_OK), 0);
}

/* On a new machine; a backup of schema 1 gets its checksums. */
static void a_backup_is_restored_where_no_store_exists(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    sql_change(f->backup,
               "PRAGMA application_id = 1095910224; PRAGMA user_version = 1;"
               "CREATE TABLE streams(id INTEGER PRIMARY KEY, key TEXT UNIQUE);"
               "CREATE TABLE runs(id INTEGER PRIMARY KEY, count INTEGER NOT NULL,"
               " bytes INTEGER NOT NULL, data TEXT NOT NULL);"
               "CREATE VIEW stream_runs AS SELECT id FROM runs;"
               "INSERT INTO streams VALUES(1, 'j:1'); INSERT INTO runs VALUES(1 << 38, 1, 1, 'a')");
    check_ok(restore(f, f->backup, &err), &err);
    store_rig *rig = rig_open(f->url);
    check_read(rig, "j:1", 0, 0, "a");
    rig_close(rig);
    sqlite3 *db = sql_open(f->path);
    assert_int_equal(sql_number(db, "PRAGMA auto_vacuum"), 2);
    sql_close(db);
}

static void run_file(const char *path, const char *file)
{
    static char text[16384];
    FILE *from = fopen(file, "re");
    assert_non_null(from);
    const size_t size = fread(text, 1, sizeof text - 1, from);
    assert_true(feof(from) != 0);
    assert_int_equal(fclose(from), 0);
    text[size] = '\0';
    sql_change(path, text);
}

/* Its damage is found although the copy is migrated. */
static void a_backup_of_schema_2_is_restored_unless_it_is_damaged(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    run_file(f->backup, ARCP_SOURCE_DIR "/tests/store/store-2.sql");
    check_ok(restore(f, f->backup, &err), &err);
    store_rig *rig = rig_open(f->url);
    check_read(rig, "j:1", 0, 0, "a|b|c|d");
    check_scan(rig, ARCP_STORE_JOBS, "", "1={\"n\":3}|2={\"n\":2}");
    check_scan(rig, ARCP_STORE_SESSIONS, "", "");
    rig_close(rig);
    sql_change(f->backup, "DELETE FROM jobs WHERE key = '1'");
    assert_int_equal(restore(f, f->backup, &err), ARCP_E_CORRUPT);
    assert_non_null(strstr(err.message, "table \"jobs\" has 1 rows, but 2 were written"));
    assert_int_not_equal(access(temp_dir_join(f->dir, "", "s.db.restoring"), F_OK), 0);
    rig = rig_open(f->url);
    check_scan(rig, ARCP_STORE_JOBS, "", "1={\"n\":3}|2={\"n\":2}");
    rig_close(rig);
}

/* ---- symbolic links, and interrupted restores ---- */

static off_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_size : -1;
}

/* A store whose owner was killed, with a flipped bit among the later commits of its log. */
static void leave_damaged_log(fixture *f)
{
    char log[700];
    unsigned char byte = 0;
    snprintf(log, sizeof log, "%s", temp_dir_join(f->dir, "", "s.db-wal"));
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        store_rig *rig = make_store(f);
        for (uint64_t i = 2; i < 12; i++) {
            arcp_store_op op = op_append("t", i, "more");
            if (rig_commit(rig, &op, 1) != ARCP_OK) {
                _exit(1);
            }
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    const int fd = open(log, O_RDWR | O_CLOEXEC);
    const off_t frame = 24 + 4096;
    const off_t offset = 32 + (size_of(log) - 32) / frame * 3 / 4 * frame + 100;
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

static void a_damaged_log_is_found_behind_a_link(void **state)
{
    fixture *f = *state;
    printed all;
    arcp__sqlite_found found;
    leave_damaged_log(f);
    assert_int_equal(symlink("s.db", temp_dir_join(f->dir, "", "link.db")), 0);
    check_all(temp_dir_join(f->dir, "", "link.db"), &all, &found);
    assert_true(all.count >= 1);
    assert_non_null(strstr(all.lines[0], "s.db-wal: damaged"));
}

static void a_backup_does_not_leave_out_what_a_damaged_log_hides(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    arcp__sqlite_found found;
    leave_damaged_log(f);
    const off_t log_bytes = size_of(temp_dir_join(f->dir, "", "s.db-wal"));
    assert_int_equal(arcp__sqlite_backup(f->path, f->backup, &found, &err), ARCP_E_CORRUPT);
    assert_non_null(strstr(err.message, "s.db-wal: damaged"));
    assert_int_equal(size_of(f->backup), -1);
    assert_int_equal(size_of(temp_dir_join(f->dir, "", "b.db.partial")), -1);
    assert_int_equal(size_of(temp_dir_join(f->dir, "", "s.db-wal")), log_bytes);
}

static void a_restore_through_a_link_replaces_what_it_names(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    struct stat info;
    store_rig *rig = make_store(f);
    back_up(f);
    check_commit(rig, ARCP_OK, op_append("j:1", 4, "later"));
    rig_close(rig);
    assert_int_equal(mkdir(temp_dir_join(f->dir, "", "far"), 0700), 0);
    char far[700];
    snprintf(far, sizeof far, "%s", temp_dir_join(f->dir, "", "far/s.db"));
    assert_int_equal(rename(f->path, far), 0);
    assert_int_equal(symlink("far/s.db", f->path), 0);
    /* The log is beside the file, not beside the link. */
    sql_change(temp_dir_join(f->dir, "", "far/s.db-wal"), "CREATE TABLE t(x)");
    assert_int_equal(restore(f, f->backup, &err), ARCP_E_EXISTS);
    assert_non_null(
        strstr(err.message, "far/s.db-wal has the newest commits of the existing store"));
    assert_int_equal(unlink(temp_dir_join(f->dir, "", "far/s.db-wal")), 0);
    check_ok(restore(f, f->backup, &err), &err);
    assert_int_equal(lstat(f->path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    rig = rig_open(temp_dir_join(f->dir, "sqlite:", "far/s.db"));
    check_read(rig, "j:1", 0, 0, "a|b|c|d");
    rig_close(rig);
    rig = rig_open(temp_dir_join(f->dir, "sqlite:", "far/s.db.replaced"));
    check_read(rig, "j:1", 0, 0, "a|b|c|d|later");
    rig_close(rig);
}

/* It was killed after it had renamed the old store. */
static void a_restore_that_was_killed_can_be_tried_again(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    rig_close(make_store(f));
    back_up(f);
    char replaced[700];
    snprintf(replaced, sizeof replaced, "%s", temp_dir_join(f->dir, "", "s.db.replaced"));
    assert_int_equal(link(f->path, replaced), 0);
    check_ok(restore(f, f->backup, &err), &err);
    /* A file of another store is not overwritten. */
    assert_int_equal(restore(f, f->backup, &err), ARCP_E_EXISTS);
    assert_non_null(strstr(err.message, "s.db.replaced"));
}

static void a_backup_in_progress_is_not_overwritten(void **state)
{
    fixture *f = *state;
    arcp_error err = {0};
    arcp__sqlite_found found;
    rig_close(make_store(f));
    const char *partial = temp_dir_join(f->dir, "", "b.db.partial");
    sql_change(partial, "CREATE TABLE t(x)");
    const off_t bytes = size_of(partial);
    assert_int_equal(arcp__sqlite_backup(f->path, f->backup, &found, &err), ARCP_E_EXISTS);
    assert_non_null(strstr(err.message, "b.db.partial exists: another backup is in progress"));
    assert_int_equal(size_of(temp_dir_join(f->dir, "", "b.db.partial")), bytes);
    assert_int_equal(size_of(f->backup), -1);
}

/* ---- a disk that fails ---- */

static void check_nothing_is_left(const fixture *f)
{
    DIR *entries = opendir(f->dir->path);
    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strstr(entry->d_name, ".partial") != NULL ||
            strstr(entry->d_name, ".restoring") != NULL) {
            fail_msg("%s was left", entry->d_name);
        }
    }
    closedir(entries);
}

/* Fails from every fifth operation on; each kind begins with a different one. Returns how many were
 * tried. */
static int fail_everywhere(fixture *f, fault_kind kind, bool restores)
{
    int tries = 0;
    arcp_status status = ARCP_E_IO;
    for (int after = (int)kind; status != ARCP_OK; after += 5, tries++) {
        arcp_error err = {0};
        arcp__sqlite_found found;
        fault_vfs_arm(FAULT_ANY_FILE, kind, after, INT_MAX);
        status = restores ? restore(f, f->backup, &err)
                          : arcp__sqlite_backup(f->path, f->backup, &found, &err);
        (void)fault_vfs_heal();
        assert_true((status == ARCP_OK) == (err.message[0] == '\0'));
        check_nothing_is_left(f);
    }
    return tries;
}

static void a_copy_that_fails_leaves_no_files(void **state)
{
    static const fault_kind kinds[] = {FAULT_WRITE_FULL, FAULT_WRITE, FAULT_SYNC, FAULT_READ};
    fixture *f = *state;
    rig_close(make_store(f));
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        assert_true(fail_everywhere(f, kinds[i], false) > 1);
        assert_true(fail_everywhere(f, kinds[i], true) > 1);
        assert_int_equal(unlink(f->backup), 0);
        assert_int_equal(unlink(temp_dir_join(f->dir, "", "s.db.replaced")), 0);
    }
    store_rig *rig = rig_open(f->url);
    check_read(rig, "j:1", 0, 0, "a|b|c|d");
    rig_close(rig);
}

#define COPY_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    fault_vfs_install();
    const struct CMUnitTest tests[] = {
        COPY_TEST(an_intact_store_is_counted),
        COPY_TEST(all_damage_is_named_at_once),
        COPY_TEST(a_store_in_use_is_not_checked),
        COPY_TEST(a_backup_is_made_while_the_store_is_written),
        COPY_TEST(a_backup_needs_no_log),
        COPY_TEST(a_backup_replaces_nothing_and_copies_no_damage),
        COPY_TEST(a_restored_backup_has_no_sessions),
        COPY_TEST(a_refused_restore_changes_nothing),
        COPY_TEST(a_backup_is_restored_where_no_store_exists),
        COPY_TEST(a_backup_of_schema_2_is_restored_unless_it_is_damaged),
        COPY_TEST(a_damaged_log_is_found_behind_a_link),
        COPY_TEST(a_backup_does_not_leave_out_what_a_damaged_log_hides),
        COPY_TEST(a_restore_through_a_link_replaces_what_it_names),
        COPY_TEST(a_restore_that_was_killed_can_be_tried_again),
        COPY_TEST(a_backup_in_progress_is_not_overwritten),
        COPY_TEST(a_copy_that_fails_leaves_no_files),
    };
    return cmocka_run_group_tests_name("store_sqlite_copy", tests, NULL, NULL);
}
