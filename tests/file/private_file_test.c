/* Files with secrets: which files are accepted, and the state after a write. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/temp_dir.h"
#include "support/check.h"

#include "file/private_file.h"

static temp_dir *dir;
static arcp__private_file file;
static arcp_buf text;
static arcp_error error;

static int set_up(void **state)
{
    (void)state;
    dir = temp_dir_new();
    file = (arcp__private_file){.what = "the key file",
                                .path = temp_dir_join(dir, "", "key"),
                                .bytes_max = 8,
                                .closed_to = 077};
    text = arcp_buf_secret_init();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arcp_buf_fini(&text);
    temp_dir_free(dir);
    return 0;
}

static void write_text(const char *what)
{
    check_ok(arcp__private_file_replace(&file, arcp_span_cstr(what), &error), &error);
}

static void check_read(const char *want)
{
    arcp_buf_clear(&text);
    check_ok(arcp__private_file_read(&file, &text, &error), &error);
    check_span(arcp_buf_span(&text), want);
}

static void check_refused(arcp_status status, const char *words)
{
    arcp_buf_clear(&text);
    assert_int_equal(arcp__private_file_read(&file, &text, &error), status);
    assert_int_equal(text.size, 0);
    if (strstr(error.message, words) == NULL || strstr(error.message, file.path) == NULL ||
        strncmp(error.message, "the key file ", 13) != 0) {
        fail_msg("%s: %s", words, error.message);
    }
}

static void a_written_file_is_private_to_its_owner(void **state)
{
    (void)state;
    struct stat about;
    (void)umask(0);
    for (int is_there = 0; is_there < 2; is_there++) {
        write_text(is_there ? "later" : "before");
        assert_int_equal(stat(file.path, &about), 0);
        assert_int_equal(about.st_mode & 07777, 0600);
        check_read(is_there ? "later" : "before");
    }
    (void)unlink(file.path);
    assert_int_equal(rmdir(dir->path), 0); /* no other file remains */
}

/* When two programs start at once, both must use the same secret. */
static void creating_replaces_nothing(void **state)
{
    (void)state;
    struct stat about;
    (void)umask(0);
    check_ok(arcp__private_file_make(&file, ARCP_SPAN_LITERAL("first"), &error), &error);
    assert_int_equal(stat(file.path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(about.st_nlink, 1);
    check_ok(arcp__private_file_make(&file, ARCP_SPAN_LITERAL("second"), &error), &error);
    check_read("first");
    arcp_buf_clear(&text);
    check_ok(arcp__private_file_read_or_make(&file, ARCP_SPAN_LITERAL("third"), &text, &error),
             &error);
    check_span(arcp_buf_span(&text), "first");
    assert_int_equal(unlink(file.path), 0);
    arcp_buf_clear(&text);
    check_ok(arcp__private_file_read_or_make(&file, ARCP_SPAN_LITERAL("fourth"), &text, &error),
             &error);
    check_span(arcp_buf_span(&text), "fourth");
    check_read("fourth");
    assert_int_equal(unlink(file.path), 0);
    assert_int_equal(rmdir(dir->path), 0); /* no other file remains */
}

static void a_failed_write_keeps_the_old_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir(file.path, 0700), 0); /* no file can replace it */
    assert_int_equal(arcp__private_file_replace(&file, ARCP_SPAN_LITERAL("x"), &error), ARCP_E_IO);
    assert_non_null(strstr(error.message, file.path));
    assert_int_equal(rmdir(file.path), 0);
    assert_int_equal(rmdir(dir->path), 0);
    assert_int_equal(arcp__private_file_replace(&file, ARCP_SPAN_LITERAL("x"), &error), ARCP_E_IO);
}

static void a_full_disk_keeps_the_old_file_and_leaves_no_temporary_one(void **state)
{
    struct rlimit before;
    (void)state;
    write_text("old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit full = {0, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    const arcp_status replaced =
        arcp__private_file_replace(&file, ARCP_SPAN_LITERAL("new"), &error);
    const arcp_status made = arcp__private_file_make(&file, ARCP_SPAN_LITERAL("new"), NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(replaced, ARCP_E_IO);
    assert_int_equal(made, ARCP_E_IO);
    assert_non_null(strstr(error.message, "cannot be written: File too large"));
    check_read("old");
    assert_int_equal(unlink(file.path), 0);
    assert_int_equal(rmdir(dir->path), 0);
}

static void a_path_may_be_so_long_that_the_temporary_name_just_fits(void **state)
{
    char path[4200];
    (void)state;
    memset(path, '/', sizeof path); /* many slashes are one */
    memcpy(path, dir->path, strlen(dir->path));
    /* With the suffix of the temporary name and the NUL it must fit into 4096 bytes. */
    const size_t more = strlen(".new0123456789abcdef");
    for (size_t over = 0; over <= 1; over++) {
        const size_t size = 4095 - more + over;
        memcpy(path + size - 1, "x", 2);
        file.path = path;
        const arcp_status status =
            arcp__private_file_replace(&file, ARCP_SPAN_LITERAL("x"), &error);
        assert_int_equal(status, over == 0 ? ARCP_OK : ARCP_E_USAGE);
        assert_int_equal(unlink(path), over == 0 ? 0 : -1);
        path[size - 1] = '/';
    }
    assert_string_equal(error.message, "the key file: the path is too long");
}

/* Others who may create files in the directory cannot get in the way. */
static void the_temporary_name_cannot_be_predicted(void **state)
{
    (void)state;
    char guess[600];
    (void)snprintf(guess, sizeof guess, "%s.new%ld", file.path, (long)getpid());
    assert_int_equal(mkdir(guess, 0700), 0);
    for (unsigned i = 0; i < 2; i++) {
        write_text("x");
        check_read("x");
        assert_int_equal(unlink(file.path), 0);
        check_ok(arcp__private_file_make(&file, ARCP_SPAN_LITERAL("y"), &error), &error);
        check_read("y");
    }
    assert_int_equal(rmdir(guess), 0); /* it was left alone */
}

static void reading_stops_at_the_limit(void **state)
{
    (void)state;
    write_text("1234567");
    check_read("1234567");
    write_text("12345678");
    check_read("12345678");
    write_text("123456789");
    check_read("12345678");
    write_text("");
    check_read("");
}

static void a_file_that_others_may_use_is_refused(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        unsigned closed_to;
        const char *words; /* NULL: it is read */
    } rows[] = {
        {0600, 077, NULL},
        {0400, 077, NULL},
        {0640, 077, "only its owner can read"},
        {0620, 077, "only its owner can read"},
        {0604, 077, "only its owner can read"},
        {0640, 07, NULL},
        {0604, 07, "everybody may read"},
        {0666, 0, NULL},
    };
    write_text("x");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(chmod(file.path, rows[i].mode), 0);
        file.closed_to = rows[i].closed_to;
        if (rows[i].words == NULL) {
            check_read("x");
        } else {
            check_refused(ARCP_E_USAGE, rows[i].words);
        }
    }
}

static void a_file_of_another_user_is_refused_if_it_must_be_ours(void **state)
{
    (void)state;
    write_text("x");
    file.must_be_ours = true;
    check_read("x");
    if (geteuid() == 0) {
        assert_int_equal(chown(file.path, 65534, 65534), 0);
        check_refused(ARCP_E_USAGE, "belongs to another user");
        file.must_be_ours = false;
        check_read("x");
    }
}

static void anything_but_a_regular_file_is_refused_without_waiting(void **state)
{
    (void)state;
    check_refused(ARCP_E_NOT_FOUND, strerror(ENOENT));
    assert_int_equal(mkfifo(file.path, 0600), 0);
    check_refused(ARCP_E_USAGE, "is not a regular file");
    assert_int_equal(unlink(file.path), 0);
    assert_int_equal(mkdir(file.path, 0700), 0);
    check_refused(ARCP_E_USAGE, "is not a regular file");
}

static void a_link_is_followed_only_if_allowed(void **state)
{
    (void)state;
    const char *path = file.path;
    write_text("x");
    file.path = temp_dir_join(dir, "", "link");
    assert_int_equal(symlink(path, file.path), 0);
    check_refused(ARCP_E_IO, strerror(ELOOP));
    file.may_be_link = true;
    check_read("x");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_written_file_is_private_to_its_owner),
        TEST(creating_replaces_nothing),
        TEST(a_failed_write_keeps_the_old_file),
        TEST(a_full_disk_keeps_the_old_file_and_leaves_no_temporary_one),
        TEST(a_path_may_be_so_long_that_the_temporary_name_just_fits),
        TEST(the_temporary_name_cannot_be_predicted),
        TEST(reading_stops_at_the_limit),
        TEST(a_file_that_others_may_use_is_refused),
        TEST(a_file_of_another_user_is_refused_if_it_must_be_ours),
        TEST(anything_but_a_regular_file_is_refused_without_waiting),
        TEST(a_link_is_followed_only_if_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
