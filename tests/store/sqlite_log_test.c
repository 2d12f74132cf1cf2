/* The log of a killed owner: a start is refused if the log is damaged, but not if its end is torn.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store_rig.h"
#include "store/temp_dir.h"

#define COMMITS     6
#define FRAME_BYTES (24 + 4096)

typedef struct fixture {
    temp_dir *dir;
    char url[700];
    char log[700];
    off_t ends[COMMITS]; /* of the log, after each commit */
} fixture;

static off_t size_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

/* Creates the log of a killed owner, with commits of one frame and of several. */
static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->dir = temp_dir_new();
    snprintf(f->url, sizeof f->url, "%s", temp_dir_join(f->dir, "sqlite:", "s.db"));
    snprintf(f->log, sizeof f->log, "%s", temp_dir_join(f->dir, "", "s.db-wal"));
    static char big[20001];
    memset(big, 'b', sizeof big - 1);
    fflush(NULL);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        store_rig *rig = rig_open(f->url);
        for (uint64_t i = 0; i < COMMITS; i++) {
            arcp_store_op op = op_append("s", i, i == 2 ? big : "small");
            off_t end = rig_commit(rig, &op, 1) == ARCP_OK ? size_of(f->log) : 0;
            if (write(ends[1], &end, sizeof end) != (ssize_t)sizeof end) {
                _exit(1);
            }
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(read(ends[0], f->ends, sizeof f->ends), sizeof f->ends);
    close(ends[0]);
    close(ends[1]);
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

static void write_at(const char *path, off_t offset, const void *bytes, size_t size)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, offset), size);
    close(fd);
}

static void flip(const char *path, off_t offset)
{
    unsigned char byte = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    close(fd);
    byte ^= 4;
    write_at(path, offset, &byte, 1);
}

static void check_refused(fixture *f, const char *want)
{
    arcp_store *store = NULL;
    arcp_error err = {0};
    const off_t size = size_of(f->log);
    assert_int_equal(arcp_store_open(f->url, &store, &err), ARCP_E_CORRUPT);
    if (strstr(err.message, "s.db-wal: damaged: ") == NULL || strstr(err.message, want) == NULL) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(size_of(f->log), size);
}

static void check_records(fixture *f, size_t count)
{
    store_rig *rig = rig_open(f->url);
    assert_int_equal(rig_read(rig, "s", 0)->count, count);
    rig_close(rig);
}

static void an_intact_log_is_recovered(void **state)
{
    check_records(*state, COMMITS);
}

static void each_byte_of_the_header_matters(void **state)
{
    fixture *f = *state;
    for (off_t i = 0; i < 32; i++) {
        flip(f->log, i);
        check_refused(f, "the header at offset 0");
        flip(f->log, i);
    }
    check_records(f, COMMITS);
}

/* Of each frame that more than one commit follows: a byte of its header, and one of its page. */
static void damage_in_the_middle_is_refused_by_its_offset(void **state)
{
    fixture *f = *state;
    static const off_t within[] = {0, 5, 9, 13, 17, 21, 24, 2000, FRAME_BYTES - 1};
    size_t frames = 0;
    for (off_t offset = 32; offset < f->ends[COMMITS - 3]; offset += FRAME_BYTES, frames++) {
        char want[64];
        snprintf(want, sizeof want, "the frame at offset %lld;", (long long)offset);
        for (size_t i = 0; i < COUNT_OF(within); i++) {
            flip(f->log, offset + within[i]);
            check_refused(f, want);
            flip(f->log, offset + within[i]);
        }
        static const char zeros[512];
        char before[512];
        const int fd = open(f->log, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pread(fd, before, sizeof before, offset), sizeof before);
        close(fd);
        write_at(f->log, offset, zeros, sizeof zeros);
        check_refused(f, want);
        write_at(f->log, offset, before, sizeof before);
    }
    assert_true(frames >= 10);
    check_records(f, COMMITS);
}

/* What a power failure leaves of a commit that was never reported: any of its sectors. */
static void a_torn_last_commit_is_cut(void **state)
{
    fixture *f = *state;
    static const char zeros[512];
    const int fd = open(f->log, O_RDONLY | O_CLOEXEC);
    static char before[FRAME_BYTES * 16];
    const off_t begin = f->ends[COMMITS - 2];
    const size_t size = (size_t)(f->ends[COMMITS - 1] - begin);
    assert_true(fd >= 0 && size <= sizeof before);
    assert_int_equal(pread(fd, before, size, begin), size);
    close(fd);
    for (off_t i = begin; i < f->ends[COMMITS - 1]; i += 512) {
        const size_t left = (size_t)(f->ends[COMMITS - 1] - i);
        write_at(f->log, i, zeros, left < 512 ? left : 512);
        /* A look that changes nothing: the store that opens it would write. */
        char copy[700];
        (void)snprintf(copy, sizeof copy, "cp %s/s.db %s/c.db && cp %s/s.db-wal %s/c.db-wal",
                       f->dir->path, f->dir->path, f->dir->path, f->dir->path);
        assert_int_equal(system(copy), 0); /* NOLINT(cert-env33-c): a test's own words */
        store_rig *rig = rig_open(temp_dir_join(f->dir, "sqlite:", "c.db"));
        assert_int_equal(rig_read(rig, "s", 0)->count, COMMITS - 1);
        rig_close(rig);
        write_at(f->log, begin, before, size);
    }
    check_records(f, COMMITS);
}

static void a_header_that_was_never_synced_is_no_damage(void **state)
{
    fixture *f = *state;
    store_rig *rig = rig_open(f->url);
    rig_close(rig); /* all is in the database now */
    static const char zeros[8192];
    const int fd = open(f->log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, zeros, sizeof zeros), sizeof zeros);
    close(fd);
    check_records(f, COMMITS);
}

static void a_log_without_its_database_is_refused(void **state)
{
    fixture *f = *state;
    char database[700];
    char away[700];
    arcp_store *store = NULL;
    arcp_error err = {0};
    snprintf(database, sizeof database, "%s", temp_dir_join(f->dir, "", "s.db"));
    snprintf(away, sizeof away, "%s", temp_dir_join(f->dir, "", "away.db"));
    assert_int_equal(rename(database, away), 0);
    for (int is_empty = 0; is_empty <= 1; is_empty++) {
        assert_int_equal(arcp_store_open(f->url, &store, &err), ARCP_E_CORRUPT);
        assert_non_null(strstr(err.message, "s.db-wal: belongs to a database that does not exist"));
        assert_int_equal(access(database, F_OK), is_empty - 1);
        const int fd = open(database, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    assert_int_equal(rename(away, database), 0);
    check_records(f, COMMITS);
}

#define LOG_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(an_intact_log_is_recovered),
        LOG_TEST(each_byte_of_the_header_matters),
        LOG_TEST(damage_in_the_middle_is_refused_by_its_offset),
        LOG_TEST(a_torn_last_commit_is_cut),
        LOG_TEST(a_header_that_was_never_synced_is_no_damage),
        LOG_TEST(a_log_without_its_database_is_refused),
    };
    return cmocka_run_group_tests_name("store_sqlite_log", tests, NULL, NULL);
}
