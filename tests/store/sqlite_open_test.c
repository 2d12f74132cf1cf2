/* Opening: what is made, what is refused, and who may have the file. */
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/sql.h"
#include "store/store_rig.h"
#include "store/temp_dir.h"

static int make_dir(void **state)
{
    *state = temp_dir_new();
    return 0;
}

static int remove_dir(void **state)
{
    temp_dir_free(*state);
    return 0;
}

static void check_refused(const char *url, arcp_status want, const char *want_text)
{
    arcp_error err = {0};
    arcp_store *store = NULL;
    const arcp_status got = arcp_store_open(url, &store, &err);
    assert_null(store);
    assert_string_equal(arcp_status_name(got), arcp_status_name(want));
    assert_int_equal(err.status, want);
    if (strstr(err.message, want_text) == NULL) {
        fail_msg("the message is: %s", err.message);
    }
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void a_url_selects_the_store(void **state)
{
    static const struct {
        const char *url;
        const char *text;
    } refused[] = {
        {"", "must be sqlite:PATH or memory:"},
        {"memory", "must be sqlite:PATH or memory:"},
        {"memory:x", "must be sqlite:PATH or memory:"},
        {"sqlite", "must be sqlite:PATH or memory:"},
        {"SQLITE:x", "must be sqlite:PATH or memory:"},
        {"postgres://h/d", "postgres"},
        {"sqlite:", "sqlite:PATH"},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        check_refused(refused[i].url, ARCP_E_USAGE, refused[i].text);
    }
    check_refused(NULL, ARCP_E_USAGE, "must be sqlite:PATH or memory:");
    store_rig *rig = rig_open("memory:");
    assert_string_equal(rig->store->ops->name, "memory");
    rig_close(rig);
    arcp_store_close(NULL);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

static void makes_directories_and_files_for_the_owner_only(void **state)
{
    const temp_dir *dir = *state;
    const mode_t before = umask(0);
    store_rig *rig = rig_open(temp_dir_join(dir, "sqlite:", "new/deep/s.db"));
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    umask(before);
    assert_int_equal(mode_of(temp_dir_join(dir, "", "new")), 0700);
    assert_int_equal(mode_of(temp_dir_join(dir, "", "new/deep")), 0700);
    assert_int_equal(mode_of(temp_dir_join(dir, "", "new/deep/s.db")), 0600);
    assert_int_equal(mode_of(temp_dir_join(dir, "", "new/deep/s.db-wal")), 0600);
    assert_int_equal(mode_of(temp_dir_join(dir, "", "new/deep/s.db-shm")), 0600);
    rig_close(rig);
}

static void everything_is_there_after_a_restart(void **state)
{
    const temp_dir *dir = *state;
    const char *url = temp_dir_join(dir, "sqlite:", "s.db");
    store_rig *rig = rig_open(url);
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_append("s", 1, "b"),
                 op_put(ARCP_STORE_SESSIONS, "k", "v"));
    check_commit(rig, ARCP_OK, op_append("s", 2, "c"), op_append("t", 0, "t"),
                 op_append("gone", 0, "x"));
    check_commit(rig, ARCP_OK, op_drop("gone"), op_trim("t", 1), op_trim("s", 2));
    rig_close(rig);
    rig = rig_open(url);
    check_read(rig, "s", 2, 2, "c");
    check_read(rig, "gone", 0, 0, "");
    check_scan(rig, ARCP_STORE_SESSIONS, "", "k=v");
    check_commit(rig, ARCP_E_CORRUPT, op_append("s", 2, "x"));
    check_commit(rig, ARCP_E_CORRUPT, op_append("s", 4, "x"));
    check_commit(rig, ARCP_E_CORRUPT, op_append("t", 0, "x"));
    check_commit(rig, ARCP_OK, op_append("s", 3, "d"), op_append("t", 1, "u"),
                 op_append("gone", 0, "back"));
    check_read(rig, "s", 2, 2, "c|d");
    rig_close(rig);
}

/* What a child that has not reached its program yet holds of a killed owner: until the first
 * pause. */
static int held = -1;
/* The linker's names (--wrap). */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (held >= 0) {
        (void)close(held);
        held = -1;
    }
    return __real_poll(fds, count, timeout_ms);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static void opening_waits_for_the_lock_of_a_killed_owner_s_child(void **state)
{
    const temp_dir *dir = *state;
    const char *url = temp_dir_join(dir, "sqlite:", "s.db");
    rig_close(rig_open(url));
    held = open(temp_dir_join(dir, "", "s.db"), O_RDWR | O_CLOEXEC);
    assert_true(held >= 0);
    assert_int_equal(flock(held, LOCK_EX), 0);
    store_rig *rig = rig_open(url);
    assert_int_equal(held, -1); /* it was held when the store was opened */
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    rig_close(rig);
}

static void a_second_owner_learns_which_process_has_it_and_what_to_do(void **state)
{
    const temp_dir *dir = *state;
    const char *url = temp_dir_join(dir, "sqlite:", "s.db");
    store_rig *rig = rig_open(url);
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    check_refused(url, ARCP_E_EXISTS, "/s.db: in use by another process");
    check_refused(url, ARCP_E_EXISTS, "choose another store");
    /* Under another name it is the same file. */
    assert_int_equal(symlink("s.db", temp_dir_join(dir, "", "link.db")), 0);
    check_refused(temp_dir_join(dir, "sqlite:", "link.db"), ARCP_E_EXISTS, "link.db");
    assert_int_equal(link(temp_dir_join(dir, "", "s.db"), temp_dir_join(dir, "", "hard.db")), 0);
    check_refused(temp_dir_join(dir, "sqlite:", "hard.db"), ARCP_E_EXISTS, "hard.db");
    assert_int_equal(unlink(temp_dir_join(dir, "", "hard.db")), 0);
    /* Nor did the attempt disturb the first. */
    check_commit(rig, ARCP_OK, op_append("s", 1, "b"));
    rig_close(rig);
    rig = rig_open(temp_dir_join(dir, "sqlite:", "link.db"));
    check_read(rig, "s", 0, 0, "a|b");
    rig_close(rig);
}

static void another_process_is_refused_until_the_owner_is_killed(void **state)
{
    const temp_dir *dir = *state;
    char url[700];
    snprintf(url, sizeof url, "%s", temp_dir_join(dir, "sqlite:", "s.db"));
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        arcp_store *store = NULL;
        char byte = arcp_store_open(url, &store, NULL) == ARCP_OK ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    char byte = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    check_refused(url, ARCP_E_EXISTS, "in use");
    assert_int_equal(kill(child, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    rig_close(rig_open(url));
    close(ready[0]);
    close(ready[1]);
}

static void the_sqlite3_command_can_look_while_the_store_is_open(void **state)
{
    const temp_dir *dir = *state;
    store_rig *rig = rig_open(temp_dir_join(dir, "sqlite:", "s.db"));
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_append("s", 1, "b"));
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(
        sqlite3_open_v2(temp_dir_join(dir, "", "s.db"), &db, SQLITE_OPEN_READONLY, NULL),
        SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT first, count, data FROM stream_runs", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 2), "a\nb");
    /* It is in the middle of a read, and we write on. */
    check_commit(rig, ARCP_OK, op_append("s", 2, "c"));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    check_read(rig, "s", 0, 0, "a|b|c");
    rig_close(rig);
}

static void a_file_that_is_not_a_database_is_refused_and_left_alone(void **state)
{
    const temp_dir *dir = *state;
    static char text[5000];
    memset(text, 'x', sizeof text);
    write_file(temp_dir_join(dir, "", "text"), text, sizeof text);
    check_refused(temp_dir_join(dir, "sqlite:", "text"), ARCP_E_CORRUPT, "not a database");
    struct stat info;
    assert_int_equal(stat(temp_dir_join(dir, "", "text"), &info), 0);
    assert_int_equal(info.st_size, sizeof text);
}

static void an_empty_file_becomes_a_store(void **state)
{
    const temp_dir *dir = *state;
    write_file(temp_dir_join(dir, "", "s.db"), "", 0);
    rig_close(rig_open(temp_dir_join(dir, "sqlite:", "s.db")));
    rig_close(rig_open(temp_dir_join(dir, "sqlite:", "s.db")));
}

static void another_programs_database_is_refused_and_left_alone(void **state)
{
    const temp_dir *dir = *state;
    static const struct {
        const char *name;
        const char *sql;
    } cases[] = {
        {"tables.db", "CREATE TABLE moz_places(id)"},
        {"id.db", "PRAGMA application_id = 77"},
        {"both.db", "PRAGMA application_id = 77; CREATE TABLE t(x); PRAGMA user_version = 1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *path = temp_dir_join(dir, "", cases[i].name);
        sql_change(path, cases[i].sql);
        check_refused(temp_dir_join(dir, "sqlite:", cases[i].name), ARCP_E_USAGE,
                      "another program");
        assert_int_not_equal(access(temp_dir_join(dir, "", "both.db-wal"), F_OK), 0);
        sql_change(path, "BEGIN EXCLUSIVE; ROLLBACK");
    }
}

static void a_newer_schema_is_refused(void **state)
{
    const temp_dir *dir = *state;
    const char *url = temp_dir_join(dir, "sqlite:", "s.db");
    rig_close(rig_open(url));
    sql_change(temp_dir_join(dir, "", "s.db"), "PRAGMA user_version = 4");
    check_refused(url, ARCP_E_USAGE, "schema 4, this program knows 3");
    sql_change(temp_dir_join(dir, "", "s.db"), "PRAGMA user_version = -1");
    check_refused(url, ARCP_E_CORRUPT, "the header says schema -1");
    sql_change(temp_dir_join(dir, "", "s.db"), "PRAGMA user_version = 3");
    rig_close(rig_open(url));
}

static void a_damaged_schema_is_an_error(void **state)
{
    const temp_dir *dir = *state;
    const char *url = temp_dir_join(dir, "sqlite:", "s.db");
    rig_close(rig_open(url));
    const int fd = open(temp_dir_join(dir, "", "s.db"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    static const char garbage[1000] = "\xff\xff\xff\xff garbage";
    assert_int_equal(pwrite(fd, garbage, sizeof garbage, 100), sizeof garbage);
    close(fd);
    check_refused(url, ARCP_E_CORRUPT, "malformed");
}

static void paths_that_cannot_be_opened_are_io_errors_with_the_cause(void **state)
{
    const temp_dir *dir = *state;
    write_file(temp_dir_join(dir, "", "file"), "x", 1);
    check_refused(temp_dir_join(dir, "sqlite:", "file/s.db"), ARCP_E_IO, "Not a directory");
    check_refused(temp_dir_join(dir, "sqlite:", ""), ARCP_E_IO, "directory");
    check_refused("sqlite:/proc/arcp/s.db", ARCP_E_IO, "/proc/arcp");
    check_refused("sqlite:/dev/null", ARCP_E_USAGE, "not a regular file");
    assert_int_equal(symlink("nowhere/s.db", temp_dir_join(dir, "", "dangling.db")), 0);
    check_refused(temp_dir_join(dir, "sqlite:", "dangling.db"), ARCP_E_IO, "dangling.db");
    char long_url[5000];
    memset(long_url, 'a', sizeof long_url);
    memcpy(long_url, "sqlite:", 7);
    long_url[sizeof long_url - 1] = '\0';
    check_refused(long_url, ARCP_E_USAGE, "longer");
}

/* Names that have a special meaning in SQLite are plain names here. */
static void special_names_are_files(void **state)
{
    const temp_dir *dir = *state;
    static const char *const names[] = {":memory:", "file:x?mode=memory", "a b%20c#.db"};
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(dir->path), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char url[64];
        snprintf(url, sizeof url, "sqlite:%s", names[i]);
        rig_close(rig_open(url));
        assert_int_equal(access(names[i], F_OK), 0);
        store_rig *rig = rig_open(url);
        assert_int_equal(chdir("/"),
                         0); /* an open store does not depend on the current directory */
        check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
        check_read(rig, "s", 0, 0, "a");
        rig_close(rig);
        assert_int_equal(chdir(dir->path), 0);
    }
    assert_int_equal(chdir(before), 0);
}

/* root can write everything, so a child process becomes the user "nobody" first. */
static int open_as_nobody(const char *url)
{
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 &&
            (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(77);
        }
        arcp_store *store = NULL;
        arcp_error err = {0};
        const arcp_status status = arcp_store_open(url, &store, &err);
        const bool names_cause = strstr(err.message, "Permission denied") != NULL;
        _exit(status == ARCP_E_IO && names_cause ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void directories_and_files_that_cannot_be_written_are_io_errors(void **state)
{
    const temp_dir *dir = *state;
    char url[700];
    snprintf(url, sizeof url, "%s", temp_dir_join(dir, "sqlite:", "ro/s.db"));
    assert_int_equal(mkdir(temp_dir_join(dir, "", "ro"), 0755), 0);
    assert_int_equal(chmod(dir->path, 0755), 0);
    assert_int_equal(chmod(temp_dir_join(dir, "", "ro"), 0555), 0);
    const int code = open_as_nobody(url);
    if (code == 77) {
        skip();
    }
    assert_int_equal(code, 0);
    assert_int_equal(chmod(temp_dir_join(dir, "", "ro"), 0755), 0);
    rig_close(rig_open(url));
    assert_int_equal(chmod(temp_dir_join(dir, "", "ro/s.db"), 0444), 0);
    assert_int_equal(open_as_nobody(url), 0);
}

/* Bytes that this process has read by system calls so far; 0 where the kernel does not count. */
static uint64_t bytes_read(void)
{
    static const char name[] = "rchar: ";
    char line[64] = "";
    FILE *file = fopen("/proc/self/io", "re");
    if (file != NULL) {
        assert_non_null(fgets(line, sizeof line, file));
        assert_memory_equal(line, name, strlen(name));
        assert_int_equal(fclose(file), 0);
    }
    return file == NULL ? 0 : strtoull(line + strlen(name), NULL, 10);
}

#define ROWS 10000

static void opening_a_store_with_10000_rows_in_each_table_reads_little_of_it(void **state)
{
    const temp_dir *dir = *state;
    const char *url = temp_dir_join(dir, "sqlite:", "s.db");
    store_rig *rig = rig_open(url);
    static char keys[ROWS][32];
    static arcp_store_op ops[ROWS];
    for (int table = 0; table < ARCP_STORE_TABLE_COUNT; table++) {
        for (size_t i = 0; i < ROWS; i++) {
            snprintf(keys[i], sizeof keys[i], "row-%08zu", i);
            ops[i] = op_put((arcp_store_table)table, keys[i], "{\"some\":\"json\"}");
        }
        assert_int_equal(rig_commit(rig, ops, ROWS), ARCP_OK);
    }
    rig_close(rig);
    struct stat about;
    assert_int_equal(stat(temp_dir_join(dir, "", "s.db"), &about), 0);
    const uint64_t before = bytes_read();
    if (before == 0) {
        skip();
    }
    rig = rig_open(url);
    const uint64_t bytes = bytes_read() - before;
    print_message("%llu bytes of %lld were read\n", (unsigned long long)bytes,
                  (long long)about.st_size);
    assert_true(bytes < (uint64_t)about.st_size / 10);
    rig_close(rig);
}

#define OPEN_TEST(function) cmocka_unit_test_setup_teardown(function, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN_TEST(a_url_selects_the_store),
        OPEN_TEST(makes_directories_and_files_for_the_owner_only),
        OPEN_TEST(everything_is_there_after_a_restart),
        OPEN_TEST(opening_waits_for_the_lock_of_a_killed_owner_s_child),
        OPEN_TEST(a_second_owner_learns_which_process_has_it_and_what_to_do),
        OPEN_TEST(another_process_is_refused_until_the_owner_is_killed),
        OPEN_TEST(the_sqlite3_command_can_look_while_the_store_is_open),
        OPEN_TEST(a_file_that_is_not_a_database_is_refused_and_left_alone),
        OPEN_TEST(an_empty_file_becomes_a_store),
        OPEN_TEST(another_programs_database_is_refused_and_left_alone),
        OPEN_TEST(a_newer_schema_is_refused),
        OPEN_TEST(a_damaged_schema_is_an_error),
        OPEN_TEST(paths_that_cannot_be_opened_are_io_errors_with_the_cause),
        OPEN_TEST(special_names_are_files),
        OPEN_TEST(directories_and_files_that_cannot_be_written_are_io_errors),
        OPEN_TEST(opening_a_store_with_10000_rows_in_each_table_reads_little_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
