/* Changes of mode, owner, times and attributes at level landlock: by every call, in every kind of
 * place, and while other threads change what the arguments refer to. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "broker/broker_fixture.h"
#include "support/check.h"

/* 0 or an errno. */
static int done(int result)
{
    return result == 0 ? 0 : errno;
}

static int with_descriptor(const char *path, int flags, int (*act)(int fd))
{
    const int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) {
        return ENXIO; /* no answer of the calls below */
    }
    const int error = act(fd);
    (void)close(fd);
    return error;
}

static const struct timespec epoch[2] = {{0, 0}, {1, 500}};

typedef int action(const char *path);

static int do_chmod(const char *path)
{
    return done((int)syscall(SYS_fchmodat, AT_FDCWD, path, 0600));
}

static int do_chmod_as_before_aarch64(const char *path)
{
#ifdef SYS_chmod
    return done((int)syscall(SYS_chmod, path, 0600));
#else
    return do_chmod(path);
#endif
}

static int do_chmod_with_flags(const char *path)
{
    return done((int)syscall(452, AT_FDCWD, path, 0600, 0));
}

static int change_mode(int fd)
{
    return done(fchmod(fd, 0600));
}

static int do_fchmod(const char *path)
{
    return with_descriptor(path, O_RDONLY, change_mode);
}

static int change_mode_by_empty_path(int fd)
{
    return done((int)syscall(452, fd, "", 0600, AT_EMPTY_PATH));
}

static int do_chmod_of_a_descriptor(const char *path)
{
    return with_descriptor(path, O_RDONLY, change_mode_by_empty_path);
}

static int do_set_user_id(const char *path)
{
    return done(chmod(path, 04755));
}

static int do_chown(const char *path)
{
    return done(fchownat(AT_FDCWD, path, geteuid(), getegid(), 0));
}

static int do_lchown(const char *path)
{
    return done(lchown(path, geteuid(), getegid()));
}

static int change_owner(int fd)
{
    return done(fchown(fd, geteuid(), getegid()));
}

static int do_fchown(const char *path)
{
    return with_descriptor(path, O_RDONLY, change_owner);
}

static int do_utime(const char *path)
{
    const struct utimbuf times = {0, 1};
#ifdef SYS_utime
    return done((int)syscall(SYS_utime, path, &times));
#else
    return done(utime(path, &times));
#endif
}

static int do_utimes(const char *path)
{
    const struct timeval times[2] = {{0, 0}, {1, 7}};
#ifdef SYS_utimes
    return done((int)syscall(SYS_utimes, path, times));
#else
    return done(utimes(path, times));
#endif
}

static int do_utimensat(const char *path)
{
    return done(utimensat(AT_FDCWD, path, epoch, 0));
}

static int do_utimensat_now(const char *path)
{
    return done(utimensat(AT_FDCWD, path, NULL, 0));
}

static int do_lutimes(const char *path)
{
    return done(utimensat(AT_FDCWD, path, epoch, AT_SYMLINK_NOFOLLOW));
}

static int change_times(int fd)
{
    return done(futimens(fd, epoch));
}

static int do_futimens(const char *path)
{
    return with_descriptor(path, O_RDONLY, change_times);
}

static int do_setxattr(const char *path)
{
    return done(setxattr(path, "user.arcp", "value", 5, 0));
}

static int do_setxattr_of_another_family(const char *path)
{
    return done(setxattr(path, "system.posix_acl_access", "value", 5, 0));
}

static int do_setxattrat(const char *path)
{
    const struct {
        uint64_t value;
        uint32_t size, flags;
    } given = {(uint64_t)(uintptr_t) "value", 5, 0};
    return done((int)syscall(463, AT_FDCWD, path, 0, "user.arcp", &given, sizeof given));
}

static int change_attribute(int fd)
{
    return done(fsetxattr(fd, "user.arcp", "value", 5, 0));
}

static int do_fsetxattr(const char *path)
{
    return with_descriptor(path, O_RDONLY, change_attribute);
}

static int do_removexattr(const char *path)
{
    const int error = done(removexattr(path, "user.arcp"));
    return error == ENODATA ? 0 : error; /* carried out, and nothing was there */
}

static int remove_attribute(int fd)
{
    const int error = done(fremovexattr(fd, "user.arcp"));
    return error == ENODATA ? 0 : error;
}

static int do_fremovexattr(const char *path)
{
    return with_descriptor(path, O_RDONLY, remove_attribute);
}

static action *const changes[] = {
    do_chmod,
    do_chmod_as_before_aarch64,
    do_chmod_with_flags,
    do_fchmod,
    do_chown,
    do_lchown,
    do_fchown,
    do_utime,
    do_utimes,
    do_utimensat,
    do_utimensat_now,
    do_lutimes,
    do_futimens,
    do_setxattr,
    do_fsetxattr,
    do_removexattr,
    do_fremovexattr,
};

enum { CHANGES = sizeof changes / sizeof *changes };

static void change_all(fixture *f, void *user)
{
    const char *path = fixture_path(f, user);
    for (size_t i = 0; i < CHANGES; i++) {
        f->results->values[i] = changes[i](path);
    }
}

/* What stat says of a file that a refused change would change. */
static void state_of(const fixture *f, const char *name, char out[256])
{
    struct stat about;
    char value[16] = "";
    assert_int_equal(stat(fixture_path(f, name), &about), 0);
    (void)getxattr(fixture_path(f, name), "user.arcp", value, sizeof value - 1);
    (void)snprintf(out, 256, "%o %ld %ld %ld %s", about.st_mode, (long)about.st_atim.tv_sec,
                   (long)about.st_mtim.tv_sec, (long)about.st_mtim.tv_nsec, value);
}

static void set_up(fixture *f)
{
    fixture_init(f);
    f->plan.level = ARCP__SANDBOX_LEVEL_LANDLOCK;
    assert_int_equal(symlink("../outside/key", "work/link_out"), 0);
    assert_int_equal(symlink("file.txt", "work/link_in"), 0);
    assert_int_equal(close(open("private/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)), 0);
}

static void what_may_be_written_may_be_changed(void **state)
{
    (void)state;
    static char names[][24] = {"work/file.txt", "private/file", "work", "work/link_in"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fixture f;
        set_up(&f);
        fixture_run(&f, change_all, names[i]);
        for (size_t k = 0; k < CHANGES; k++) {
            if (f.results->values[k] != 0) {
                fail_msg("%s, change %zu: %s", names[i], k, strerror(f.results->values[k]));
            }
        }
        assert_string_equal(f.denials, "");
        struct stat about;
        const bool is_link = strcmp(names[i], "work/link_in") == 0;
        assert_int_equal(stat(fixture_path(&f, is_link ? "work/file.txt" : names[i]), &about), 0);
        assert_int_equal(about.st_mode & 07777, 0600);
        assert_int_equal(about.st_mtim.tv_sec, 1);
        fixture_fini(&f);
    }
}

static void what_may_only_be_read_is_not_changed(void **state)
{
    (void)state;
    static char names[][24] = {"tree/file.txt", "data/a.csv", "tree"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fixture f;
        char before[256];
        char after[256];
        set_up(&f);
        state_of(&f, names[i], before);
        fixture_run(&f, change_all, names[i]);
        for (size_t k = 0; k < CHANGES; k++) {
            /* A file of a pattern is given by the broker from a read-only clone. */
            if (f.results->values[k] != EACCES) {
                fail_msg("%s, change %zu: %s", names[i], k, strerror(f.results->values[k]));
            }
        }
        state_of(&f, names[i], after);
        assert_string_equal(before, after);
        assert_true(fixture_was_denied(&f, "fs.write", names[i], 0));
        fixture_fini(&f);
    }
}

static void what_is_outside_is_not_changed_through_a_link_either(void **state)
{
    (void)state;
    static char names[][24] = {"outside/key", "work/link_out", "work/../outside/key"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fixture f;
        char before[256];
        char after[256];
        set_up(&f);
        state_of(&f, "outside/key", before);
        fixture_run(&f, change_all, names[i]);
        for (size_t k = 0; k < CHANGES; k++) {
            /* The link itself is in the tree; ENXIO: it could not be opened. */
            const bool is_of_link = i == 1 && (changes[k] == do_lchown || changes[k] == do_lutimes);
            const int got = f.results->values[k];
            if (is_of_link ? got != 0 : got != EACCES && got != ENXIO) {
                fail_msg("%s, change %zu: %s", names[i], k, strerror(got));
            }
        }
        state_of(&f, "outside/key", after);
        assert_string_equal(before, after);
        assert_true(fixture_was_denied(&f, "fs.write", "outside/key", 0));
        fixture_fini(&f);
    }
}

/* ---- arguments ---- */

static void try_arguments(fixture *f, void *user)
{
    (void)user;
    const int directory = open(fixture_path(f, "work"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *path = fixture_path(f, "work/file.txt");
    int *values = f->results->values;
    const struct timeval bad[2] = {{0, 0}, {1, 1073741823}};
    int pipe_ends[2];
    values[0] = done(fchmodat(directory, "file.txt", 0640, 0));
    values[1] = do_chmod_of_a_descriptor(path);
    values[2] = do_set_user_id(path);
    values[3] = do_setxattr_of_another_family(path);
    values[4] = done(chmod("", 0600));
    values[5] = done((int)syscall(SYS_fchmodat, AT_FDCWD, (char *)1, 0600));
    values[6] = done(fchmodat(directory, "../outside/key", 0600, 0));
    values[7] = done(chmod(fixture_path(f, "work/none"), 0600));
    values[8] = done(fchmod(999, 0600));
    values[9] = pipe(pipe_ends) == 0 ? done(fchmod(pipe_ends[0], 0600)) : 0;
    values[10] = done(chdir(fixture_path(f, "work"))) + done(chmod("file.txt", 0604));
    values[11] = done((int)syscall(SYS_setxattr, path, "user.arcp", "x", 1L << 20, 0));
    values[12] = do_setxattrat(path);
#ifdef SYS_utimes
    values[13] = done((int)syscall(SYS_utimes, path, bad));
#else
    values[13] = EINVAL;
#endif
    values[14] = done(chmod("/dev/null", 0600));
    values[15] = with_descriptor("/dev/null", O_RDWR, change_mode);
}

static void arguments_are_read_as_the_kernel_reads_them(void **state)
{
    (void)state;
    static const int wanted[] = {0,     0,     EPERM, EOPNOTSUPP, ENOENT, EFAULT, EACCES, ENOENT,
                                 EBADF, EPERM, 0,     E2BIG,      0,      EINVAL, EACCES, ENXIO};
    fixture f;
    struct stat null;
    set_up(&f);
    fixture_run(&f, try_arguments, NULL);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const int got = f.results->values[i];
        /* A kernel before 6.13 has no setxattrat; the broker answers all the same. */
        if (got != wanted[i]) {
            fail_msg("argument %zu: %s, wanted %s", i, strerror(got), strerror(wanted[i]));
        }
    }
    char value[8] = "";
    assert_int_equal(getxattr(fixture_path(&f, "work/file.txt"), "user.arcp", value, 7), 5);
    assert_string_equal(value, "value");
    assert_int_equal(stat("/dev/null", &null), 0);
    assert_int_equal(null.st_mode & 0777, 0666);
    fixture_fini(&f);
}

/* ---- races ---- */

static atomic_bool is_over;
static char flipped[512];
static const char *names_of_race[2];
static int numbers_of_race[3];

static void *flip(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !atomic_load_explicit(&is_over, memory_order_relaxed); i++) {
        memcpy(flipped, names_of_race[i % 2], strlen(names_of_race[i % 2]) + 1);
        (void)dup2(numbers_of_race[i % 2], numbers_of_race[2]);
    }
    return NULL;
}

/* values: changes that were carried out, and refused, by name and by number. */
static void race(fixture *f, void *user)
{
    (void)user;
    pthread_t thread;
    static char texts[2][512];
    (void)snprintf(texts[0], sizeof texts[0], "%s", fixture_path(f, "work/file.txt"));
    (void)snprintf(texts[1], sizeof texts[1], "%s", fixture_path(f, "tree/file.txt"));
    names_of_race[0] = texts[0];
    names_of_race[1] = texts[1];
    numbers_of_race[0] = open(texts[0], O_RDONLY | O_CLOEXEC);
    numbers_of_race[1] = open(texts[1], O_RDONLY | O_CLOEXEC);
    numbers_of_race[2] = dup(numbers_of_race[0]);
    if (pthread_create(&thread, NULL, flip, NULL) != 0) {
        return;
    }
    const time_t until = time(NULL) + 2;
    while (time(NULL) < until) {
        f->results->values[chmod(flipped, 0622) == 0 ? 0 : 1]++;
        f->results->values[fchmod(numbers_of_race[2], 0622) == 0 ? 2 : 3]++;
    }
    atomic_store(&is_over, true);
    (void)pthread_join(thread, NULL);
}

static void a_name_or_number_that_changes_during_the_call_changes_nothing_else(void **state)
{
    (void)state;
    fixture f;
    struct stat about;
    set_up(&f);
    assert_int_equal(chmod("tree/file.txt", 0644), 0);
    fixture_run(&f, race, NULL);
    for (size_t i = 0; i < 4; i++) {
        assert_true(f.results->values[i] > 0);
    }
    assert_int_equal(stat(fixture_path(&f, "tree/file.txt"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0644);
    fixture_fini(&f);
}

int main(void)
{
    if (!fixture_is_possible()) {
        (void)puts("skipped: no user namespace, notifications or Landlock here");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_written_may_be_changed),
        cmocka_unit_test(what_may_only_be_read_is_not_changed),
        cmocka_unit_test(what_is_outside_is_not_changed_through_a_link_either),
        cmocka_unit_test(arguments_are_read_as_the_kernel_reads_them),
        cmocka_unit_test(a_name_or_number_that_changes_during_the_call_changes_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
