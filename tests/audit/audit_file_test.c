/* The files of the audit log: what crashes, full disks and other programs leave behind. */
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/temp_tree.h"
#include "audit/audit_file.h"
#include "audit/log_reading.h"
#include "base/alloc.h"

typedef struct place {
    char directory[64];
    char path[96];
} place;

static int begin(void **state)
{
    static place p;
    temp_tree_make(p.directory, sizeof p.directory);
    snprintf(p.path, sizeof p.path, "%s/audit.jsonl", p.directory);
    *state = &p;
    return 0;
}

static int end(void **state)
{
    const place *p = *state;
    return temp_tree_remove(p->directory);
}

static void open_file(arcp__audit_file *file, const place *p)
{
    arcp_error err = {0};
    check_ok(arcp__audit_file_open(file, p->path, &err), &err);
}

static void add(arcp__audit_file *file, const char *record)
{
    assert_true(arcp__audit_file_add(file, arcp_span_cstr(record)));
}

static void write_one(arcp__audit_file *file, const char *record)
{
    arcp_error err = {0};
    add(file, record);
    check_ok(arcp__audit_file_write(file, &err), &err);
}

static void append_text(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void check_whole(const place *p, uint64_t lines)
{
    arcp_buf text = arcp_buf_init();
    assert_int_equal(log_read(p->path, &text), lines);
    arcp_buf_fini(&text);
}

/* ---- a disk that fails to sync ---- */

static unsigned failing_syncs;
static off_t synced_upto;

static off_t size_of(int fd)
{
    struct stat about;
    assert_int_equal(fstat(fd, &about), 0);
    return about.st_size;
}

/* In the place of libc's: a sync that fails drops what it was about, and tells so once only.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int fdatasync(int fd)
{
    const off_t size = size_of(fd);
    if (failing_syncs == 0) {
        synced_upto = size;
        return 0;
    }
    failing_syncs--;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int other = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(other >= 0);
    for (off_t i = synced_upto; i < size; i++) {
        assert_int_equal(pwrite(other, "", 1, i), 1);
    }
    (void)close(other);
    errno = EIO;
    return -1;
}

static void a_sync_that_failed_is_not_believed_before_all_is_written_again(void **state)
{
    (void)state;
    for (unsigned failures = 1; failures <= 3; failures++) {
        arcp__audit_file file;
        arcp_error err = {0};
        const place *p = *state;
        (void)unlink(p->path);
        synced_upto = 0;
        open_file(&file, p);
        check_ok(arcp__audit_file_sync(&file, &err), &err);
        write_one(&file, "{\"a\":1}");
        failing_syncs = failures;
        for (unsigned i = 0; i < failures; i++) {
            assert_int_equal(arcp__audit_file_sync(&file, &err), ARCP_E_IO);
            assert_true(file.must_sync);
            write_one(&file, "{\"a\":2}");
        }
        check_ok(arcp__audit_file_sync(&file, &err), &err);
        assert_false(file.must_sync);
        check_whole(p, 1 + 1 + failures);
        arcp__audit_file_close(&file);
        check_whole(p, 1 + 1 + failures + 1);
    }
}

static void a_sync_that_fails_at_the_end_is_tried_once_more(void **state)
{
    arcp__audit_file file;
    synced_upto = 0;
    open_file(&file, *state);
    write_one(&file, "{\"a\":1}");
    failing_syncs = 1;
    arcp__audit_file_close(&file);
    assert_int_equal(failing_syncs, 0);
    check_whole(*state, 3);
}

static void a_file_that_is_opened_again_goes_on_with_its_chain(void **state)
{
    arcp__audit_file file;
    struct stat about;
    open_file(&file, *state);
    write_one(&file, "{\"a\":1}");
    arcp__audit_file_close(&file);
    open_file(&file, *state);
    write_one(&file, "{\"a\":2}");
    arcp__audit_file_close(&file);
    check_whole(*state, 6); /* opened, one, closed; twice */
    assert_int_equal(stat(((place *)*state)->path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
}

static void a_torn_last_line_is_kept_and_noted_wherever_it_was_torn(void **state)
{
    const place *p = *state;
    arcp__audit_file file;
    arcp_buf whole = arcp_buf_init();
    open_file(&file, p);
    write_one(&file, "{\"a\":1}");
    write_one(&file, "{\"a\":2}");
    arcp__audit_file_close(&file);
    log_read_file(p->path, &whole);
    /* The last line starts after the last line feed but one. */
    const arcp_span text = arcp_buf_span(&whole);
    const char *last = memrchr(text.data, '\n', text.size - 1);
    assert_non_null(last);
    for (size_t size = (size_t)(last - text.data) + 2; size < text.size; size++) {
        assert_int_equal(truncate(p->path, 0), 0);
        char *cut = arcp__copy_cstr(text.data, size);
        append_text(p->path, cut);
        arcp__free(cut);
        open_file(&file, p);
        write_one(&file, "{\"a\":3}");
        arcp__audit_file_close(&file);
        /* Opened, one, two; torn, or the line that only lacked its line feed; opened, one,
         * closed. */
        check_whole(p, 3 + 1 + 3);
    }
    arcp_buf_fini(&whole);
}

/* Zeros where lines were being written when the power failed, from each place of the last ones. */
static void bytes_after_the_last_line_are_noted_after_a_power_failure(void **state)
{
    const place *p = *state;
    arcp__audit_file file;
    arcp_buf whole = arcp_buf_init();
    open_file(&file, p);
    for (int i = 0; i < 4; i++) {
        write_one(&file, "{\"a\":1}");
    }
    arcp__audit_file_close(&file);
    log_read_file(p->path, &whole);
    for (size_t lost = 1; lost < 400; lost += 7) {
        const size_t from = whole.size - lost;
        for (int keeps_end = 0; keeps_end < 2; keeps_end++) {
            const int fd = open(p->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
            assert_true(fd >= 0);
            assert_int_equal(write(fd, whole.data, whole.size), whole.size);
            for (size_t i = from; i < whole.size - (size_t)(keeps_end * (lost > 1)); i++) {
                assert_int_equal(pwrite(fd, "", 1, (off_t)i), 1);
            }
            assert_int_equal(close(fd), 0);
            open_file(&file, p);
            write_one(&file, "{\"a\":3}");
            arcp__audit_file_close(&file);
            arcp_buf text = arcp_buf_init();
            (void)log_read(p->path, &text); /* it must be whole */
            assert_true(text.size > from);
            assert_memory_equal(text.data, whole.data, from);
            arcp_buf_fini(&text);
        }
    }
    arcp_buf_fini(&whole);
}

static void a_rotated_file_is_followed_by_one_that_knows_it(void **state)
{
    arcp__audit_file file;
    arcp_error err = {0};
    open_file(&file, *state);
    for (int i = 0; i < 12; i++) {
        write_one(&file, "{\"a\":1}");
        check_ok(arcp__audit_file_rotate(&file, &err), &err);
    }
    arcp__audit_file_close(&file);
    check_whole(*state, 1 + 12 * 3 + 1); /* opened; one, closed, opened; closed */
}

static void a_file_that_was_moved_away_is_ended_and_followed(void **state)
{
    const place *p = *state;
    char moved[128];
    arcp__audit_file file;
    arcp_error err = {0};
    snprintf(moved, sizeof moved, "%s.1", p->path);
    open_file(&file, p);
    check_ok(arcp__audit_file_reopen(&file, &err), &err);
    write_one(&file, "{\"a\":1}");
    assert_int_equal(rename(p->path, moved), 0);
    write_one(&file, "{\"a\":2}");
    check_ok(arcp__audit_file_reopen(&file, &err), &err);
    check_ok(arcp__audit_file_reopen(&file, &err), &err);
    write_one(&file, "{\"a\":3}");
    arcp__audit_file_close(&file);
    check_whole(p, 7); /* opened, one, two, closed; opened, three, closed */
}

static void a_rotation_that_was_killed_halfway_loses_nothing(void **state)
{
    const place *p = *state;
    char moved[128];
    arcp__audit_file file;
    snprintf(moved, sizeof moved, "%s.000000000003", p->path);
    open_file(&file, p);
    write_one(&file, "{\"a\":1}");
    arcp__audit_file_close(&file);
    assert_int_equal(rename(p->path, moved), 0); /* and no new file was made */
    open_file(&file, p);
    arcp__audit_file_close(&file);
    check_whole(p, 5);
}

static void a_file_that_is_not_an_audit_log_is_set_aside_and_kept(void **state)
{
    const place *p = *state;
    arcp__audit_file file;
    glob_t found;
    char pattern[128];
    append_text(p->path, "dear diary\n");
    open_file(&file, p);
    arcp__audit_file_close(&file);
    snprintf(pattern, sizeof pattern, "%s.foreign-*", p->path);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    arcp_buf text = arcp_buf_init();
    log_read_file(found.gl_pathv[0], &text);
    check_span(arcp_buf_span(&text), "dear diary\n");
    arcp_buf_fini(&text);
    assert_int_equal(unlink(found.gl_pathv[0]), 0);
    globfree(&found);
    check_whole(p, 2);
}

static void two_writers_of_one_file_are_refused(void **state)
{
    const place *p = *state;
    arcp__audit_file first;
    arcp__audit_file second;
    arcp_error err = {0};
    open_file(&first, p);
    assert_int_equal(arcp__audit_file_open(&second, p->path, &err), ARCP_E_EXISTS);
    assert_non_null(strstr(err.message, "another process"));
    arcp__audit_file_close(&first);
}

static void a_link_is_not_followed(void **state)
{
    const place *p = *state;
    char elsewhere[128];
    arcp__audit_file file;
    arcp_error err = {0};
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", p->directory);
    assert_int_equal(symlink(elsewhere, p->path), 0);
    assert_int_equal(arcp__audit_file_open(&file, p->path, &err), ARCP_E_IO);
    assert_int_not_equal(access(elsewhere, F_OK), 0);
}

/* A file that may not grow further: what a full disk does, at any byte of a line. */
static void set_room(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_log_that_is_closed_on_a_full_disk_ends_with_its_last_line_in_the_file(void **state)
{
    arcp__audit_file file;
    arcp_error err = {0};
    signal(SIGXFSZ, SIG_IGN);
    open_file(&file, *state);
    write_one(&file, "{\"a\":1}");
    const arcp__audit_head last = file.head;
    add(&file, "{\"a\":2}");
    set_room(file.size + 20);
    assert_int_equal(arcp__audit_file_write(&file, &err), ARCP_E_IO);
    arcp__audit_file_close(&file);
    set_room(RLIM_INFINITY);
    assert_int_equal(file.head.seq, last.seq);
    assert_memory_equal(file.head.hash, last.hash, sizeof last.hash);
    check_whole(*state, 2); /* opened, one */
    open_file(&file, *state);
    arcp__audit_file_close(&file);
    check_whole(*state, 4);
    assert_int_equal(file.head.seq, 4);
}

static void a_full_disk_leaves_whole_lines_and_what_waits_is_written_later(void **state)
{
    arcp__audit_file file;
    arcp_error err = {0};
    signal(SIGXFSZ, SIG_IGN);
    open_file(&file, *state);
    uint64_t lines = 1;
    for (rlim_t room = 0; room < 180; room += 7) {
        const uint64_t before = file.size;
        struct stat about;
        add(&file, "{\"a\":1}");
        add(&file, "{\"b\":2}");
        set_room(before + room);
        const arcp_status full = arcp__audit_file_write(&file, &err);
        set_room(RLIM_INFINITY);
        assert_int_equal(full, ARCP_E_IO);
        assert_int_equal(fstat(file.fd, &about), 0);
        assert_int_equal(about.st_size, before);
        check_ok(arcp__audit_file_write(&file, &err), &err);
        lines += 2;
    }
    arcp__audit_file_close(&file);
    check_whole(*state, lines + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_is_opened_again_goes_on_with_its_chain),
        TEST(a_torn_last_line_is_kept_and_noted_wherever_it_was_torn),
        TEST(a_sync_that_failed_is_not_believed_before_all_is_written_again),
        TEST(a_sync_that_fails_at_the_end_is_tried_once_more),
        TEST(bytes_after_the_last_line_are_noted_after_a_power_failure),
        TEST(a_rotated_file_is_followed_by_one_that_knows_it),
        TEST(a_file_that_was_moved_away_is_ended_and_followed),
        TEST(a_rotation_that_was_killed_halfway_loses_nothing),
        TEST(a_file_that_is_not_an_audit_log_is_set_aside_and_kept),
        TEST(two_writers_of_one_file_are_refused),
        TEST(a_link_is_not_followed),
        TEST(a_full_disk_leaves_whole_lines_and_what_waits_is_written_later),
        TEST(a_log_that_is_closed_on_a_full_disk_ends_with_its_last_line_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
