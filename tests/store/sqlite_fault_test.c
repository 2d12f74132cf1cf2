/* Disks that fail: errors are clear, no batch is applied in part, and work continues when the disk
 * recovers. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/fault_vfs.h"
#include "store/sql.h"
#include "store/store_rig.h"
#include "store/temp_dir.h"

typedef struct fixture {
    temp_dir *dir;
    char url[700];
    store_rig *rig;
} fixture;

static void open_fixture(fixture *f)
{
    f->dir = temp_dir_new();
    snprintf(f->url, sizeof f->url, "%s", temp_dir_join(f->dir, "sqlite:", "s.db"));
    f->rig = rig_open(f->url);
}

static void close_fixture(fixture *f)
{
    rig_close(f->rig);
    temp_dir_free(f->dir);
}

static void a_completion_comes_after_the_log_is_on_disk(void **state)
{
    fixture f;
    open_fixture(&f);
    for (uint64_t i = 0; i < 200; i++) {
        arcp_store_op op = op_append("s", i, "record");
        const uint64_t id = rig_submit(f.rig, &op, 1);
        assert_int_equal(rig_wait(f.rig, id)->status, ARCP_OK);
        /* Nothing else is under way: all that was written for this batch was synced. */
        assert_false(fault_vfs_log_is_dirty());
    }
    close_fixture(&f);
}

/* ---- every operation fails once, or from one on ---- */

#define STEPS 14

/* A life with everything in it, as batches that fill several pages. */
static size_t make_step(size_t step, arcp_store_op *ops, const char *big)
{
    size_t count = 0;
    ops[count++] = op_append("s", step * 2, big);
    ops[count++] = op_append("s", step * 2 + 1, "small");
    ops[count++] = op_put(ARCP_STORE_SESSIONS, "tip", step % 2 == 0 ? "even" : "odd");
    if (step % 3 == 0) {
        ops[count++] = op_append(step % 2 == 0 ? "even" : "odd", 0, big);
        ops[count++] = op_put(ARCP_STORE_JOBS, step % 2 == 0 ? "even" : "odd", "v");
    }
    if (step % 3 == 2) {
        ops[count++] = op_drop(step % 2 == 1 ? "even" : "odd");
        ops[count++] = op_delete(ARCP_STORE_JOBS, step % 2 == 1 ? "even" : "odd");
        ops[count++] = op_drop(step % 2 == 0 ? "even" : "odd");
        ops[count++] = op_delete(ARCP_STORE_JOBS, step % 2 == 0 ? "even" : "odd");
    }
    if (step == 9) {
        ops[count++] = op_trim("s", 10);
    }
    return count;
}

static void check_after(store_rig *rig, size_t steps)
{
    const answer *got = rig_read(rig, "s", UINT64_MAX);
    if (got->status != ARCP_OK) {
        fail_msg("after %zu steps: %s", steps, got->message);
    }
    assert_int_equal(got->first, steps * 2);
    got = rig_read(rig, "s", steps <= 9 ? 0 : 10);
    assert_int_equal(got->status, ARCP_OK);
    assert_int_equal(got->first + got->count, steps * 2);
    check_scan(rig, ARCP_STORE_SESSIONS, "",
               steps == 0       ? ""
               : steps % 2 == 1 ? "tip=even"
                                : "tip=odd");
    rig_forget(rig);
}

/* A batch that fails must fail with `want`, leave no trace, and succeed when the disk works again.
 * Returns how many failed. */
static int run_steps(store_rig *rig, const char *big, arcp_status want)
{
    int failed = 0;
    for (size_t step = 0; step < STEPS; step++) {
        arcp_store_op ops[16];
        const size_t count = make_step(step, ops, big);
        const arcp_status got = rig_commit(rig, ops, count);
        if (got == ARCP_OK) {
            continue;
        }
        assert_string_equal(arcp_status_name(got), arcp_status_name(want));
        failed++;
        (void)fault_vfs_heal();
        check_after(rig, step);
        const answer *again = rig_wait(rig, rig_submit(rig, ops, count));
        if (again->status != ARCP_OK) {
            fail_msg("step %zu, tried again: %s", step, again->message);
        }
    }
    (void)fault_vfs_heal();
    check_after(rig, STEPS);
    return failed;
}

/* Returns whether the fault was met; `failed_count` counts batches that failed. */
static bool run_with_fault(const char *url, const char *big, fault_kind kind, int after, int count,
                           arcp_status want, int *failed_count)
{
    arcp_error err = {0};
    arcp_store *store = NULL;
    fault_vfs_arm(FAULT_ANY_FILE, kind, after, count);
    const arcp_status status = arcp_store_open(url, &store, &err);
    if (status != ARCP_OK) {
        assert_string_equal(arcp_status_name(status), arcp_status_name(want));
        assert_true(err.message[0] != '\0');
        assert_null(store);
        assert_true(fault_vfs_heal() > 0);
        check_ok(arcp_store_open(url, &store, &err), &err);
    }
    store_rig *rig = rig_new(store);
    const int failed = run_steps(rig, big, want);
    const bool was_met = fault_vfs_heal() > 0 || failed != 0 || status != ARCP_OK;
    *failed_count += failed;
    rig_close(rig);
    rig = rig_open(url);
    check_after(rig, STEPS);
    rig_close(rig);
    return was_met;
}

static void sweep(fault_kind kind, int count, int stride, arcp_status want)
{
    char *big = malloc(9001);
    assert_non_null(big);
    memset(big, 'b', 9000);
    big[9000] = '\0';
    int after = 0;
    int failed_count = 0;
    const int longer = (int)test_stride();
    for (bool is_met = true; is_met; after += stride * longer) {
        temp_dir *dir = temp_dir_new();
        char url[700];
        snprintf(url, sizeof url, "%s", temp_dir_join(dir, "sqlite:", "s.db"));
        is_met = run_with_fault(url, big, kind, after, count, want, &failed_count);
        temp_dir_free(dir);
    }
    assert_true(after > 10 * stride);
    assert_true(count == 1 || failed_count > 5 / longer);
    free(big);
}

/* A single failure is hidden by the second attempt; two in a row are reported. */
#define TWICE  2
#define ALWAYS 1000000

static void survives_each_write_that_finds_the_disk_full(void **state)
{
    sweep(FAULT_WRITE_FULL, TWICE, 5, ARCP_E_IO);
}

static void survives_a_disk_that_stays_full_for_a_while(void **state)
{
    sweep(FAULT_WRITE_FULL, ALWAYS, 7, ARCP_E_IO);
}

static void survives_each_write_error(void **state)
{
    sweep(FAULT_WRITE, TWICE, 5, ARCP_E_IO);
}

static void survives_a_disk_that_cannot_be_written_for_a_while(void **state)
{
    sweep(FAULT_WRITE, ALWAYS, 7, ARCP_E_IO);
}

static void survives_each_sync_error(void **state)
{
    sweep(FAULT_SYNC, 1, 1, ARCP_E_IO);
    sweep(FAULT_SYNC, TWICE, 1, ARCP_E_IO);
}

static void survives_a_disk_that_cannot_be_synced_for_a_while(void **state)
{
    sweep(FAULT_SYNC, ALWAYS, 1, ARCP_E_IO);
}

static void survives_each_allocation_of_sqlite_that_fails(void **state)
{
    sweep(FAULT_MEMORY, 1, 29, ARCP_E_NO_MEMORY);
    sweep(FAULT_MEMORY, ALWAYS, 41, ARCP_E_NO_MEMORY);
}

/* ---- particular failures ---- */

static void a_commit_that_fails_once_is_tried_again_batch_by_batch(void **state)
{
    fixture f;
    open_fixture(&f);
    arcp_store_op ops[20];
    uint64_t last = 0;
    fault_vfs_arm(FAULT_LOG, FAULT_SYNC, 0, 1);
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        ops[i] = op_append("s", i, "r");
        last = rig_submit(f.rig, &ops[i], 1);
    }
    (void)rig_wait(f.rig, last);
    assert_int_equal(fault_vfs_heal(), 1);
    for (size_t i = 0; i < f.rig->count; i++) {
        assert_int_equal(f.rig->answers[i].status, ARCP_OK);
    }
    assert_int_equal(rig_read(f.rig, "s", 0)->count, COUNT_OF(ops));
    close_fixture(&f);
}

static void a_full_disk_fails_waiting_batches_and_they_succeed_later(void **state)
{
    fixture f;
    open_fixture(&f);
    arcp_store_op ops[50];
    uint64_t ids[50];
    fault_vfs_arm(FAULT_LOG, FAULT_WRITE_FULL, 0, ALWAYS);
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        ops[i] = op_append("s", i, "r");
        ids[i] = rig_submit(f.rig, &ops[i], 1);
    }
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        const answer *got = rig_wait(f.rig, ids[i]);
        assert_int_equal(got->status, ARCP_E_IO);
        assert_non_null(strstr(got->message, "s.db"));
        assert_non_null(strstr(got->message, "full"));
    }
    assert_int_equal(rig_read(f.rig, "s", 0)->count, 0);
    (void)fault_vfs_heal();
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        ids[i] = rig_submit(f.rig, &ops[i], 1);
    }
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_int_equal(rig_wait(f.rig, ids[i])->status, ARCP_OK);
    }
    assert_int_equal(rig_read(f.rig, "s", 0)->count, COUNT_OF(ops));
    close_fixture(&f);
}

static void a_read_error_fails_the_read_and_no_other(void **state)
{
    fixture f;
    open_fixture(&f);
    check_commit(f.rig, ARCP_OK, op_append("s", 0, "a"), op_put(ARCP_STORE_JOBS, "k", "v"));
    rig_close(f.rig);
    f.rig = rig_open(f.url);
    int failed = 0;
    for (int after = 0; after < 6; after++) {
        fault_vfs_arm(FAULT_ANY_FILE, FAULT_READ, after, 1);
        const arcp_status read = rig_read(f.rig, "s", 0)->status;
        const arcp_status scan = rig_wait(f.rig, rig_ask_scan(f.rig, ARCP_STORE_JOBS, ""))->status;
        failed += fault_vfs_heal();
        assert_true(read == ARCP_OK || read == ARCP_E_IO);
        assert_true(scan == ARCP_OK || scan == ARCP_E_IO);
        check_read(f.rig, "s", 0, 0, "a");
        check_scan(f.rig, ARCP_STORE_JOBS, "", "k=v");
        /* Another write makes the reader forget its pages. */
        check_commit(f.rig, ARCP_OK, op_put(ARCP_STORE_META, "k", "v"));
    }
    assert_true(failed > 0);
    close_fixture(&f);
}

/* Commits stay in the log until the database can be written again. */
static void commits_continue_while_checkpoints_fail(void **state)
{
    fixture f;
    open_fixture(&f);
    static char big[60001];
    memset(big, 'b', 60000);
    fault_vfs_arm(FAULT_DATABASE, FAULT_WRITE, 0, ALWAYS);
    uint64_t next = 0;
    for (; next < 400; next++) {
        check_commit(f.rig, ARCP_OK, op_append("s", next, big));
        rig_forget(f.rig);
    }
    assert_true(fault_vfs_heal() > 0);
    struct stat log;
    assert_int_equal(stat(temp_dir_join(f.dir, "", "s.db-wal"), &log), 0);
    assert_true(log.st_size > 20000000);
    /* From now on the log is emptied, and truncated when it starts over: on a disk after 400
     * commits at most, later where commits wait for no disk. */
    for (; log.st_size > 20000000 && next < 20000; next++) {
        check_commit(f.rig, ARCP_OK, op_append("s", next, big));
        rig_forget(f.rig);
        assert_int_equal(stat(temp_dir_join(f.dir, "", "s.db-wal"), &log), 0);
    }
    assert_true(log.st_size <= 20000000);
    for (uint64_t i = 0; i < next; i += 100) {
        const answer *got = rig_wait(f.rig, rig_ask_read(f.rig, "s", i, 1, 1));
        assert_int_equal(strlen(got->text), 60000);
    }
    close_fixture(&f);
}

/* Changes that another program makes to the files of a store in use. */
static void delete_database(const temp_dir *dir)
{
    assert_int_equal(unlink(temp_dir_join(dir, "", "s.db")), 0);
}

static void move_database(const temp_dir *dir)
{
    assert_int_equal(rename(temp_dir_join(dir, "", "s.db"), temp_dir_join(dir, "", "elsewhere.db")),
                     0);
}

static void replace_database(const temp_dir *dir)
{
    sql_change(temp_dir_join(dir, "", "other.db"), "CREATE TABLE t(x)");
    assert_int_equal(rename(temp_dir_join(dir, "", "other.db"), temp_dir_join(dir, "", "s.db")), 0);
}

static void cut_database(const temp_dir *dir)
{
    assert_int_equal(truncate(temp_dir_join(dir, "", "s.db"), 0), 0);
}

static void delete_log(const temp_dir *dir)
{
    assert_int_equal(unlink(temp_dir_join(dir, "", "s.db-wal")), 0);
}

static void replace_log(const temp_dir *dir)
{
    delete_log(dir);
    FILE *file = fopen(temp_dir_join(dir, "", "s.db-wal"), "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void cut_log(const temp_dir *dir)
{
    struct stat info;
    assert_int_equal(stat(temp_dir_join(dir, "", "s.db-wal"), &info), 0);
    assert_int_equal(truncate(temp_dir_join(dir, "", "s.db-wal"), info.st_size - 1), 0);
}

static void a_store_whose_files_are_removed_fails_all_writes(void **state)
{
    static const struct {
        const char *name;
        void (*act)(const temp_dir *dir);
        const char *want;
    } rows[] = {{"rm", delete_database, "s.db: the file was deleted or moved"},
                {"mv", move_database, "s.db: the file was deleted or moved"},
                {"mv over it", replace_database, "s.db: the file was deleted or moved"},
                {"truncate", cut_database, "s.db: the file was truncated"},
                {"rm of the log", delete_log, "s.db-wal: the file was deleted or moved"},
                {"another log", replace_log, "s.db-wal: the file was deleted or moved"},
                {"truncate of the log", cut_log, "s.db-wal: the file was truncated"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fixture f;
        open_fixture(&f);
        check_commit(f.rig, ARCP_OK, op_append("s", 0, "a"));
        rows[i].act(f.dir);
        arcp_store_op op = op_append("s", 1, "b");
        const answer *got = rig_wait(f.rig, rig_submit(f.rig, &op, 1));
        if (got->status != ARCP_E_IO || strstr(got->message, rows[i].want) == NULL) {
            fail_msg("%s: %s, %s", rows[i].name, arcp_status_name(got->status), got->message);
        }
        close_fixture(&f);
    }
}

/* After the database was moved back, writes succeed again. */
static void a_database_that_is_moved_back_is_written_again(void **state)
{
    fixture f;
    open_fixture(&f);
    check_commit(f.rig, ARCP_OK, op_append("s", 0, "a"));
    move_database(f.dir);
    check_commit(f.rig, ARCP_E_IO, op_append("s", 1, "b"));
    assert_int_equal(
        rename(temp_dir_join(f.dir, "", "elsewhere.db"), temp_dir_join(f.dir, "", "s.db")), 0);
    check_commit(f.rig, ARCP_OK, op_append("s", 1, "b"));
    close_fixture(&f);
}

static void a_short_lock_of_another_program_is_waited_for(void **state)
{
    fixture f;
    open_fixture(&f);
    sqlite3 *other = sql_open(temp_dir_join(f.dir, "", "s.db"));
    sql_run(other, "BEGIN IMMEDIATE");
    arcp_store_op op = op_append("s", 0, "a");
    const uint64_t id = rig_submit(f.rig, &op, 1);
    sql_run(other, "COMMIT");
    assert_int_equal(rig_wait(f.rig, id)->status, ARCP_OK);
    sql_close(other);
    close_fixture(&f);
}

/* Takes five seconds, the timeout for locks. */
static void a_long_lock_of_another_program_fails_writes_until_it_ends(void **state)
{
    fixture f;
    open_fixture(&f);
    sqlite3 *other = sql_open(temp_dir_join(f.dir, "", "s.db"));
    sql_run(other, "BEGIN IMMEDIATE");
    arcp_store_op op = op_append("s", 0, "a");
    const answer *got = rig_wait(f.rig, rig_submit(f.rig, &op, 1));
    assert_int_equal(got->status, ARCP_E_IO);
    assert_non_null(strstr(got->message, "another program"));
    sql_run(other, "COMMIT");
    assert_int_equal(rig_commit(f.rig, &op, 1), ARCP_OK);
    sql_close(other);
    close_fixture(&f);
}

/* ---- real full disks ---- */

/* Appends until it fails, then once more when `make_room` was called. */
static void fill_up(const char *url, void (*make_room)(void *), void *user)
{
    static char big[50001];
    memset(big, 'b', 50000);
    store_rig *rig = rig_open(url);
    uint64_t next = 0;
    arcp_status status = ARCP_OK;
    while (status == ARCP_OK && next < 2000) {
        arcp_store_op op = op_append("s", next, big);
        status = rig_commit(rig, &op, 1);
        next += status == ARCP_OK;
        rig_forget(rig);
    }
    assert_int_equal(status, ARCP_E_IO);
    assert_int_equal(rig_read(rig, "s", UINT64_MAX)->first, next);
    make_room(user);
    check_commit(rig, ARCP_OK, op_append("s", next, big));
    rig_close(rig);
    rig = rig_open(url);
    for (uint64_t i = 0; i <= next; i++) {
        const answer *got = rig_wait(rig, rig_ask_read(rig, "s", i, 1, 1));
        assert_int_equal(got->first, i);
        assert_int_equal(strlen(got->text), 50000);
        rig_forget(rig);
    }
    rig_close(rig);
}

static void lift_file_limit(void *user)
{
    const struct rlimit *before = user;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, before), 0);
}

static void a_limit_on_file_sizes_fails_writes_until_it_is_lifted(void **state)
{
    temp_dir *dir = temp_dir_new();
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {3000000, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    fill_up(temp_dir_join(dir, "sqlite:", "s.db"), lift_file_limit, &before);
    (void)signal(SIGXFSZ, handler);
    temp_dir_free(dir);
}

static void remove_ballast(void *user)
{
    assert_int_equal(unlink(user), 0);
}

/* In a child with mounts of its own: its failures are its exit status. */
static void fill_a_small_file_system(const temp_dir *dir)
{
    char ballast[700];
    snprintf(ballast, sizeof ballast, "%s", temp_dir_join(dir, "", "ballast"));
    FILE *file = fopen(ballast, "w");
    static char zeros[4000000];
    assert_non_null(file);
    assert_int_equal(fwrite(zeros, 1, sizeof zeros, file), sizeof zeros);
    assert_int_equal(fclose(file), 0);
    fill_up(temp_dir_join(dir, "sqlite:", "s.db"), remove_ballast, ballast);
}

static void a_full_file_system_fails_writes_until_it_has_room(void **state)
{
    temp_dir *dir = temp_dir_new();
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("tmpfs", dir->path, "tmpfs", 0, "size=8m") != 0) {
            _exit(77);
        }
        fill_a_small_file_system(dir);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    temp_dir_free(dir);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip(); /* mounting needs privileges; without them the limit on file sizes is used */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    fault_vfs_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_completion_comes_after_the_log_is_on_disk),
        cmocka_unit_test(survives_each_write_that_finds_the_disk_full),
        cmocka_unit_test(survives_a_disk_that_stays_full_for_a_while),
        cmocka_unit_test(survives_each_write_error),
        cmocka_unit_test(survives_a_disk_that_cannot_be_written_for_a_while),
        cmocka_unit_test(survives_each_sync_error),
        cmocka_unit_test(survives_a_disk_that_cannot_be_synced_for_a_while),
        cmocka_unit_test(survives_each_allocation_of_sqlite_that_fails),
        cmocka_unit_test(a_commit_that_fails_once_is_tried_again_batch_by_batch),
        cmocka_unit_test(a_full_disk_fails_waiting_batches_and_they_succeed_later),
        cmocka_unit_test(a_read_error_fails_the_read_and_no_other),
        cmocka_unit_test(commits_continue_while_checkpoints_fail),
        cmocka_unit_test(a_store_whose_files_are_removed_fails_all_writes),
        cmocka_unit_test(a_database_that_is_moved_back_is_written_again),
        cmocka_unit_test(a_short_lock_of_another_program_is_waited_for),
        cmocka_unit_test(a_long_lock_of_another_program_fails_writes_until_it_ends),
        cmocka_unit_test(a_limit_on_file_sizes_fails_writes_until_it_is_lifted),
        cmocka_unit_test(a_full_file_system_fails_writes_until_it_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
