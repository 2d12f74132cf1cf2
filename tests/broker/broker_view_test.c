/* Listings of directories that the lease grants in part. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/broker_fixture.h"
#include "support/check.h"

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Appends "a b/ c" (directories with a slash) to the results, in order. */
static void list(fixture *f, const char *path)
{
    char *names[64];
    size_t count = 0;
    DIR *stream = opendir(path);
    char *out = f->results->text;
    if (stream == NULL) {
        (void)snprintf(out, sizeof f->results->text, "%s", strerror(errno));
        return;
    }
    const struct dirent *one;
    while ((one = readdir(stream)) != NULL && count < 64) {
        if (one->d_name[0] == '.') {
            continue;
        }
        char name[300];
        (void)snprintf(name, sizeof name, "%s%s", one->d_name, one->d_type == DT_DIR ? "/" : "");
        names[count++] = strdup(name);
    }
    (void)closedir(stream);
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++) {
        out += sprintf(out, "%s%s", i == 0 ? "" : " ", names[i]);
    }
}

static void list_user(fixture *f, void *user)
{
    list(f, user);
}

static void check_listing(const char *name, const char *want)
{
    fixture f;
    fixture_init(&f);
    f.views = open("views", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char path[512];
    (void)snprintf(path, sizeof path, "%s", fixture_path(&f, name));
    fixture_run(&f, list_user, path);
    assert_string_equal(f.results->text, want);
    assert_string_equal(f.denials, "");
    assert_int_equal(close(f.views), 0);
    fixture_fini(&f);
}

static void names_that_the_lease_grants_are_listed(void **state)
{
    (void)state;
    check_listing("data", "a.csv b.csv dangling.csv dir.csv/ link_absolute.csv link_in.csv "
                          "link_out.csv pipe.csv");
}

static void names_that_lead_there_are_listed(void **state)
{
    (void)state;
    check_listing("", "data/ deep/ literal.txt out/ private/ tree/ work/");
}

static void directories_of_a_deep_pattern_are_listed(void **state)
{
    (void)state;
    check_listing("deep", "a/ z/");
    check_listing("deep/a/b", "x.md");
}

static void the_root_lists_what_leads_there(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    f.views = open("views", O_PATH | O_DIRECTORY | O_CLOEXEC);
    fixture_run(&f, list_user, (char[]){"/tmp"});
    char want[80];
    (void)snprintf(want, sizeof want, "%s/", strrchr(f.root, '/') + 1);
    assert_string_equal(f.results->text, want);
    fixture_run(&f, list_user, (char[]){"/"});
    assert_string_equal(f.results->text, "dev/ proc/ sys/ tmp/");
    assert_int_equal(close(f.views), 0);
    fixture_fini(&f);
}

static void without_a_place_for_views_nothing_is_listed(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    char path[512];
    (void)snprintf(path, sizeof path, "%s", fixture_path(&f, "data"));
    fixture_run(&f, list_user, path);
    assert_string_equal(f.results->text, strerror(EACCES));
    fixture_fini(&f);
}

/* ---- names relative to a view ---- */

static void use_descriptor(fixture *f, void *user)
{
    (void)user;
    int *values = f->results->values;
    const int fd = open(fixture_path(f, "data"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat about;
    char text[16] = "";
    const int file = openat(fd, "a.csv", O_RDONLY | O_CLOEXEC);
    values[0] = file < 0 ? errno : read(file, text, sizeof text) == 9 ? 0 : EPROTO;
    values[1] = openat(fd, "../outside/key", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
    values[2] = fstatat(fd, "../outside/key", &about, 0) != 0 ? errno : 0;
    values[3] = fstatat(fd, "../../outside/key", &about, 0) != 0 ? errno : 0;
    values[4] = fchmodat(fd, "../outside/key", 0777, 0) != 0 ? errno : 0;
    values[5] = openat(fd, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? errno : 0;
    values[6] = fstatat(fd, "a.csv", &about, 0) != 0 ? errno : about.st_size == 9 ? 0 : EPROTO;
    values[7] = fchmod(fd, 0700) != 0 ? errno : 0;
    values[8] = fchdir(fd) != 0 ? errno : 0;
    values[9] = open("b.csv", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
    values[10] = stat("../outside/key", &about) != 0 ? errno : 0;
    values[11] = chmod("../outside/key", 0777) != 0 ? errno : 0;
    values[12] = unlinkat(fd, "a.csv", 0) != 0 ? errno : 0;
    values[13] = open("..", O_PATH | O_CLOEXEC) < 0 ? errno : 0;
}

static void a_name_relative_to_a_view_is_one_of_the_directory(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    f.views = open("views", O_PATH | O_DIRECTORY | O_CLOEXEC);
    fixture_run(&f, use_descriptor, NULL);
    const int *values = f.results->values;
    assert_int_equal(values[0], 0);
    assert_int_equal(values[1], EACCES);
    assert_int_equal(values[2], ENOENT);
    assert_int_equal(values[3], ENOENT);
    assert_int_not_equal(values[4], 0);
    assert_int_equal(values[5], EACCES);
    assert_int_equal(values[6], 0);
    assert_int_equal(values[7], EROFS);
    assert_int_equal(values[8], 0);
    assert_int_equal(values[9], 0);
    assert_int_equal(values[10], ENOENT);
    assert_int_not_equal(values[11], 0);
    assert_int_equal(values[12], EACCES);
    struct stat about;
    assert_int_equal(stat("outside/key", &about), 0);
    assert_int_equal(about.st_mode & 0777, 0644);
    assert_true(fixture_was_denied(&f, "fs.read", "outside/key", 1));
    assert_true(fixture_was_denied(&f, "fs.write", "data/new", 1));
    assert_true(fixture_was_denied(&f, "fs.write", "data/a.csv", 1));
    assert_int_equal(close(f.views), 0);
    fixture_fini(&f);
}

/* ---- updates and limits ---- */

static void change_and_list(fixture *f, void *user)
{
    (void)user;
    char first[512];
    list(f, fixture_path(f, "out"));
    f->results->values[0] = strcmp(f->results->text, "old.log");
    const int fd = open(fixture_path(f, "out/new.log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    f->results->values[1] = fd < 0 ? errno : close(fd);
    list(f, fixture_path(f, "out"));
    f->results->values[2] = strcmp(f->results->text, "new.log old.log");
    (void)snprintf(first, sizeof first, "%s", fixture_path(f, "out/old.log"));
    f->results->values[3] = unlink(first);
    list(f, fixture_path(f, "out"));
}

static void a_listing_is_up_to_date_at_each_open(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    f.views = open("views", O_PATH | O_DIRECTORY | O_CLOEXEC);
    fixture_run(&f, change_and_list, NULL);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(f.results->values[i], 0);
    }
    assert_string_equal(f.results->text, "new.log");
    assert_int_equal(close(f.views), 0);
    fixture_fini(&f);
}

/* 0 when a file that begins so can be read there, else an errno. */
static int read_at(int directory, const char *name, const char *want)
{
    char text[16] = "";
    const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    const int flags = fcntl(fd, F_GETFL);
    const ssize_t got = read(fd, text, sizeof text - 1);
    (void)close(fd);
    return got >= 0 && strcmp(text, want) == 0 && (flags & O_NONBLOCK) == 0 ? 0 : EPROTO;
}

static void go_on_from_view(fixture *f, void *user)
{
    (void)user;
    int *values = f->results->values;
    const int view = open(fixture_path(f, ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int tree = openat(view, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    values[0] = tree < 0 ? errno : 0;
    values[1] = read_at(tree, "file.txt", "tree");
    values[2] = read_at(view, "tree/file.txt", "tree");
    values[3] = read_at(view, "work/file.txt", "work");
    values[4] = openat(view, "work/file.txt", O_RDWR | O_CLOEXEC) < 0 ? errno : 0;
    values[5] = openat(view, "work/new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? errno : 0;
    values[6] = read_at(view, "outside/key", "");
    values[7] = read_at(view, "tree/../outside/key", "");
    values[8] = read_at(view, "tree/link_out", "");
    values[9] = read_at(view, "work/none", "");
    values[10] = read_at(tree, "../outside/key", "");
    values[11] = openat(view, "work/pipe", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static void what_the_kernel_grants_is_opened_from_a_view_too(void **state)
{
    (void)state;
    static const int wanted[] = {0,      0,      0,      0,      -1,     -1,
                                 EACCES, EACCES, EACCES, ENOENT, EACCES, EACCES};
    fixture f;
    fixture_init(&f);
    assert_int_equal(mkfifo("work/pipe", 0600), 0);
    f.views = open("views", O_PATH | O_DIRECTORY | O_CLOEXEC);
    fixture_run(&f, go_on_from_view, NULL);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const int got = f.results->values[i];
        if (wanted[i] < 0 ? got == 0 : got != wanted[i]) {
            fail_msg("%zu: %s", i, strerror(got));
        }
    }
    assert_int_equal(close(f.views), 0);
    fixture_fini(&f);
}

static void count_names(fixture *f, void *user)
{
    (void)user;
    DIR *stream = opendir(fixture_path(f, "deep/z"));
    f->results->values[0] = stream == NULL ? -errno : 0;
    while (stream != NULL && readdir(stream) != NULL) {
        f->results->values[0]++;
    }
}

static void a_directory_has_ten_thousand_names_at_most(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    f.views = open("views", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char name[64];
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof name, "deep/z/%d.md", i);
        assert_int_equal(close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    }
    fixture_run(&f, count_names, NULL);
    assert_int_equal(f.results->values[0], 10002); /* with the two dots */
    assert_int_equal(close(open("deep/z/more.md", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    fixture_run(&f, count_names, NULL);
    assert_int_equal(f.results->values[0], -EACCES);
    assert_int_equal(close(f.views), 0);
    fixture_fini(&f);
}

int main(void)
{
    if (!fixture_is_possible()) {
        (void)puts("skipped: no user namespace, notifications or Landlock here");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_the_lease_grants_are_listed),
        cmocka_unit_test(names_that_lead_there_are_listed),
        cmocka_unit_test(directories_of_a_deep_pattern_are_listed),
        cmocka_unit_test(the_root_lists_what_leads_there),
        cmocka_unit_test(without_a_place_for_views_nothing_is_listed),
        cmocka_unit_test(a_name_relative_to_a_view_is_one_of_the_directory),
        cmocka_unit_test(what_the_kernel_grants_is_opened_from_a_view_too),
        cmocka_unit_test(a_listing_is_up_to_date_at_each_open),
        cmocka_unit_test(a_directory_has_ten_thousand_names_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
