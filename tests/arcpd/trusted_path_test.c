/* Which files arcpd trusts: owner, mode, kind, and the directories above them. */
#include "arcpd/arcpd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/remove_tree.h"

#define STRANGER 65534u

static char base[64];
static char inner[96];
static char file[128];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/arcp-trusted-XXXXXX");
    assert_non_null(mkdtemp(base));
    (void)snprintf(inner, sizeof inner, "%s/inner", base);
    (void)snprintf(file, sizeof file, "%s/file", inner);
    assert_int_equal(mkdir(inner, 0700), 0);
    const int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(base);
    return 0;
}

/* `part`: a part of the message; NULL: the file is trusted. */
static void check(const char *path, arcp__trusted_kind kind, const char *part)
{
    arcp_error error = {0};
    const arcp_status status = arcp__trusted_path_check("token_file", path, kind, &error);
    if (part == NULL) {
        check_ok(status, &error);
        return;
    }
    assert_int_equal(status, ARCP_E_USAGE);
    if (strstr(error.message, part) == NULL || strncmp(error.message, "token_file: /", 13) != 0) {
        fail_msg("want \"%s\" in \"%s\"", part, error.message);
    }
}

static void modes_decide(void **state)
{
    static const struct {
        mode_t mode;
        arcp__trusted_kind kind;
        const char *part;
    } rows[] = {
        {0600, ARCP__TRUSTED_SECRET, NULL},
        {0640, ARCP__TRUSTED_SECRET, NULL},
        {0644, ARCP__TRUSTED_SECRET, "is a secret but world-readable (mode 0644): chmod o= it"},
        {0644, ARCP__TRUSTED_FILE, NULL},
        {0755, ARCP__TRUSTED_FILE, NULL},
        {0646, ARCP__TRUSTED_FILE, "can be changed by other users (mode 0646): chmod go-w it"},
        {0602, ARCP__TRUSTED_SECRET, "can be changed by other users (mode 0602)"},
        {01666, ARCP__TRUSTED_FILE, "can be changed by other users (mode 1666)"},
        {0600, ARCP__TRUSTED_DIRECTORY, "is not a directory"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(chmod(file, rows[i].mode), 0);
        check(file, rows[i].kind, rows[i].part);
    }
}

static void directories_above_count(void **state)
{
    (void)state;
    assert_int_equal(chmod(inner, 0702), 0);
    check(file, ARCP__TRUSTED_FILE, "/inner can be changed by other users (mode 0702)");
    check(inner, ARCP__TRUSTED_DIRECTORY, "/inner can be changed by other users");
    assert_int_equal(chmod(inner, 01777), 0); /* as /tmp */
    check(file, ARCP__TRUSTED_FILE, NULL);
    check(inner, ARCP__TRUSTED_DIRECTORY, "/inner can be changed by other users");
    assert_int_equal(chmod(inner, 0755), 0);
    check(inner, ARCP__TRUSTED_DIRECTORY, NULL);
    assert_int_equal(chmod(base, 0777), 0);
    check(file, ARCP__TRUSTED_FILE, "can be changed by other users (mode 0777)");
    check(inner, ARCP__TRUSTED_DIRECTORY, "can be changed by other users (mode 0777)");
}

static void the_owner_is_root_or_we(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chown(file, STRANGER, STRANGER), 0);
    check(file, ARCP__TRUSTED_FILE, "belongs to user 65534, who is neither root nor the user");
    assert_int_equal(chown(file, 0, 0), 0);
    assert_int_equal(chown(inner, STRANGER, STRANGER), 0);
    check(file, ARCP__TRUSTED_FILE, "/inner belongs to user 65534");
}

static void a_group_that_others_may_be_in_may_not_write(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chown(file, 0, STRANGER), 0);
    assert_int_equal(chmod(file, 0660), 0);
    check(file, ARCP__TRUSTED_SECRET, "can be changed by other users (mode 0660)");
    assert_int_equal(chown(file, 0, 0), 0); /* root's own */
    check(file, ARCP__TRUSTED_SECRET, NULL);
}

static void a_link_is_followed_to_what_it_names(void **state)
{
    char link[128];
    (void)state;
    (void)snprintf(link, sizeof link, "%s/link", base);
    assert_int_equal(symlink(file, link), 0);
    check(link, ARCP__TRUSTED_FILE, NULL);
    assert_int_equal(chmod(inner, 0777), 0);
    check(link, ARCP__TRUSTED_FILE, "/inner can be changed by other users");
}

static void a_link_that_others_can_replace_is_refused(void **state)
{
    char elsewhere[128];
    char link[160];
    (void)state;
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", base);
    (void)snprintf(link, sizeof link, "%s/link", elsewhere);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(symlink(file, link), 0);
    check(link, ARCP__TRUSTED_FILE, NULL);
    assert_int_equal(chmod(elsewhere, 0777), 0);
    check(link, ARCP__TRUSTED_FILE, "/elsewhere can be changed by other users");
    assert_int_equal(chmod(elsewhere, 01777), 0);
    check(link, ARCP__TRUSTED_FILE, NULL);
    if (geteuid() == 0) {
        assert_int_equal(lchown(link, STRANGER, STRANGER), 0);
        check(link, ARCP__TRUSTED_FILE, "/link belongs to user 65534");
    }
}

/* base/way leads to base/real, and base/real/on to base/inner. */
static void links_among_the_directories_are_checked(void **state)
{
    char real[128];
    char way[128];
    char on[160];
    char path[192];
    (void)state;
    (void)snprintf(real, sizeof real, "%s/real", base);
    (void)snprintf(way, sizeof way, "%s/way", base);
    (void)snprintf(on, sizeof on, "%s/on", real);
    (void)snprintf(path, sizeof path, "%s/on/../inner/./file", way);
    assert_int_equal(mkdir(real, 0700), 0);
    assert_int_equal(symlink("real", way), 0);
    assert_int_equal(symlink(inner, on), 0);
    check(path, ARCP__TRUSTED_FILE, NULL);
    assert_int_equal(chmod(real, 0777), 0); /* others can replace `on` */
    check(path, ARCP__TRUSTED_FILE, "/real can be changed by other users (mode 0777)");
    assert_int_equal(chmod(real, 01777), 0);
    check(path, ARCP__TRUSTED_FILE, NULL);
    if (geteuid() == 0) {
        assert_int_equal(lchown(on, STRANGER, STRANGER), 0);
        check(path, ARCP__TRUSTED_FILE, "/real/on belongs to user 65534");
        assert_int_equal(lchown(on, 0, 0), 0);
        assert_int_equal(lchown(way, STRANGER, STRANGER), 0);
        check(path, ARCP__TRUSTED_FILE, "/way belongs to user 65534");
    }
}

/* The end of the way is a link to a link, whose directory others can change. */
static void links_to_links_are_checked(void **state)
{
    char first[128];
    char second[160];
    char open[128];
    (void)state;
    (void)snprintf(open, sizeof open, "%s/open", base);
    (void)snprintf(first, sizeof first, "%s/first", base);
    (void)snprintf(second, sizeof second, "%s/second", open);
    assert_int_equal(mkdir(open, 0700), 0);
    assert_int_equal(symlink("../inner/file", second), 0);
    assert_int_equal(symlink("open/second", first), 0);
    check(first, ARCP__TRUSTED_FILE, NULL);
    assert_int_equal(chmod(open, 0777), 0);
    check(first, ARCP__TRUSTED_FILE, "/open can be changed by other users (mode 0777)");
}

static void a_relative_path_is_checked_from_the_working_directory(void **state)
{
    char before[4096];
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(inner), 0);
    check("file", ARCP__TRUSTED_FILE, NULL);
    check("./../inner//file", ARCP__TRUSTED_FILE, NULL);
    check("..", ARCP__TRUSTED_DIRECTORY, NULL);
    assert_int_equal(chmod(inner, 0777), 0);
    check("file", ARCP__TRUSTED_FILE, "/inner can be changed by other users");
    assert_int_equal(chdir(before), 0);
}

#define LINKS_MAX 40u /* src/arcpd/trusted_path.c */

/* As many links as the kernel follows, and one more. */
static void a_chain_of_links_has_a_limit(void **state)
{
    char from[LINKS_MAX + 1][96];
    (void)state;
    for (unsigned i = 0; i <= LINKS_MAX; i++) {
        (void)snprintf(from[i], sizeof from[i], "%s/%u", base, i);
        assert_int_equal(symlink(i == 0 ? file : from[i - 1], from[i]), 0);
    }
    check(from[LINKS_MAX - 1], ARCP__TRUSTED_FILE, NULL);
    check(from[LINKS_MAX], ARCP__TRUSTED_FILE, "cannot be checked: Too many levels");
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char path[5000];
    arcp_error error = {0};
    (void)state;
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[4096] = '\0';
    assert_int_equal(arcp__trusted_path_check("token_file", path, ARCP__TRUSTED_FILE, &error),
                     ARCP_E_USAGE);
}

static void a_fifo_is_refused_and_blocks_nothing(void **state)
{
    char fifo[128];
    (void)state;
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", inner);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    check(fifo, ARCP__TRUSTED_FILE, "/fifo is not a regular file");
    check(inner, ARCP__TRUSTED_FILE, "/inner is not a regular file");
}

static void missing_files_and_descriptors_are_left_to_their_reader(void **state)
{
    char nothing[128];
    (void)state;
    (void)snprintf(nothing, sizeof nothing, "%s/nothing", inner);
    check(nothing, ARCP__TRUSTED_SECRET, NULL);
    (void)snprintf(nothing, sizeof nothing, "%s/nothing/below", inner);
    check(nothing, ARCP__TRUSTED_SECRET, NULL);
    (void)snprintf(nothing, sizeof nothing, "%s/below", file);
    check(nothing, ARCP__TRUSTED_SECRET, "/file cannot be checked: Not a directory");
    check("/dev/null", ARCP__TRUSTED_SECRET, NULL);
    check("/dev/stdin", ARCP__TRUSTED_SECRET, NULL);
    check("/dev/fd/0", ARCP__TRUSTED_SECRET, NULL);
}

static void a_missing_file_is_as_safe_as_its_directory(void **state)
{
    char store[128];
    (void)state;
    (void)snprintf(store, sizeof store, "%s/store.db", inner);
    assert_int_equal(chmod(inner, 0777), 0);
    check(store, ARCP__TRUSTED_SECRET, "/inner can be changed by other users (mode 0777)");
    assert_int_equal(chmod(inner, 01777), 0);
    check(store, ARCP__TRUSTED_SECRET, NULL);
    assert_int_equal(symlink("nothing", store), 0);
    check(store, ARCP__TRUSTED_SECRET, NULL);
    assert_int_equal(chmod(inner, 0777), 0);
    check(store, ARCP__TRUSTED_SECRET, "/inner can be changed by other users (mode 0777)");
}

#define t(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(modes_decide),
        t(directories_above_count),
        t(the_owner_is_root_or_we),
        t(a_group_that_others_may_be_in_may_not_write),
        t(a_link_is_followed_to_what_it_names),
        t(a_link_that_others_can_replace_is_refused),
        t(links_among_the_directories_are_checked),
        t(links_to_links_are_checked),
        t(a_relative_path_is_checked_from_the_working_directory),
        t(a_chain_of_links_has_a_limit),
        t(a_path_that_is_too_long_is_refused),
        t(a_fifo_is_refused_and_blocks_nothing),
        t(missing_files_and_descriptors_are_left_to_their_reader),
        t(a_missing_file_is_as_safe_as_its_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
