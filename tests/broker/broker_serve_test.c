/* What a confined program gets, call by call. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "broker/broker_fixture.h"
#include "support/check.h"

/* ---- actions: 0 or an errno; in the child ---- */

typedef int action(const char *path, const char *other);

static int with_open(const char *path, int flags)
{
    const int fd = open(path, flags | O_CLOEXEC, 0640);
    if (fd < 0) {
        return errno;
    }
    (void)close(fd);
    return 0;
}

/* Reads a file; EPROTO when it holds what the lease does not have. */
static int do_read(const char *path, const char *other)
{
    (void)other;
    char text[16] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    const ssize_t got = read(fd, text, sizeof text - 1);
    const int flags = fcntl(fd, F_GETFL);
    (void)close(fd);
    if ((flags & O_NONBLOCK) != 0) {
        return EINPROGRESS;
    }
    return got <= 0 || strncmp(text, "secret", 6) == 0 ? EPROTO : 0;
}

static int do_write(const char *path, const char *other)
{
    (void)other;
    return with_open(path, O_WRONLY);
}

static int do_read_write(const char *path, const char *other)
{
    (void)other;
    return with_open(path, O_RDWR);
}

static int do_create(const char *path, const char *other)
{
    (void)other;
    return with_open(path, O_WRONLY | O_CREAT);
}

static int do_create_new(const char *path, const char *other)
{
    (void)other;
    return with_open(path, O_WRONLY | O_CREAT | O_EXCL);
}

static int do_shorten(const char *path, const char *other)
{
    (void)other;
    const int error = with_open(path, O_WRONLY | O_TRUNC);
    struct stat about;
    return error != 0 ? error : stat(path, &about) == 0 && about.st_size == 0 ? 0 : EPROTO;
}

static int do_truncate(const char *path, const char *other)
{
    (void)other;
    struct stat about;
    if (truncate(path, 1) != 0) {
        return errno;
    }
    return stat(path, &about) == 0 && about.st_size == 1 ? 0 : EPROTO;
}

static int do_append(const char *path, const char *other)
{
    (void)other;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    const bool is_kept = (fcntl(fd, F_GETFL) & O_APPEND) != 0 && write(fd, "x", 1) == 1;
    (void)close(fd);
    return is_kept ? 0 : EPROTO;
}

static int do_temporary(const char *path, const char *other)
{
    (void)other;
    return with_open(path, O_WRONLY | O_TMPFILE);
}

static int do_path(const char *path, const char *other)
{
    (void)other;
    return with_open(path, O_PATH);
}

static int do_no_follow(const char *path, const char *other)
{
    (void)other;
    return with_open(path, O_RDONLY | O_NOFOLLOW);
}

static int do_directory(const char *path, const char *other)
{
    (void)other;
    return with_open(path, O_RDONLY | O_DIRECTORY);
}

static int do_unlink(const char *path, const char *other)
{
    (void)other;
    return unlink(path) == 0 ? 0 : errno;
}

static int do_mkdir(const char *path, const char *other)
{
    (void)other;
    return mkdir(path, 0750) == 0 ? 0 : errno;
}

static int do_mkdir_rmdir(const char *path, const char *other)
{
    (void)other;
    return mkdir(path, 0750) == 0 && rmdir(path) == 0 ? 0 : errno;
}

static int do_rename(const char *path, const char *other)
{
    return rename(path, other) == 0 ? 0 : errno;
}

static int do_link(const char *path, const char *other)
{
    return link(path, other) == 0 ? 0 : errno;
}

static int do_symlink(const char *path, const char *other)
{
    (void)other;
    return symlink("/etc/passwd", path) == 0 ? 0 : errno;
}

static int do_fifo(const char *path, const char *other)
{
    (void)other;
    return mkfifo(path, 0600) == 0 ? 0 : errno;
}

static int do_openat2(const char *path, const char *other)
{
    (void)other;
    const uint64_t how[3] = {O_RDONLY, 0, 0};
    return syscall(SYS_openat2, AT_FDCWD, path, how, sizeof how) >= 0 ? 0 : errno;
}

/* Opens, and opens the descriptor again for writing. */
static int do_reopen(const char *path, const char *other)
{
    (void)other;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return EPROTO;
    }
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return with_open(name, O_WRONLY);
}

/* With a descriptor that may only be read: mode, times, attributes. */
static int do_change_mode(const char *path, const char *other)
{
    (void)other;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return EPROTO;
    }
    return fchmod(fd, 0666) == 0 ? 0 : errno;
}

static int do_change_times(const char *path, const char *other)
{
    (void)other;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const struct timespec times[2] = {{1, 0}, {1, 0}};
    return fd < 0 ? EPROTO : futimens(fd, times) == 0 ? 0 : errno;
}

static int do_change_attribute(const char *path, const char *other)
{
    (void)other;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? EPROTO : fsetxattr(fd, "user.x", "1", 1, 0) == 0 ? 0 : errno;
}

static int do_stat(const char *path, const char *other)
{
    (void)other;
    struct stat about;
    return stat(path, &about) == 0 ? 0 : errno;
}

/* The size of a file, by stat and by statx. */
static int do_size(const char *path, const char *other)
{
    struct stat about;
    struct statx more;
    const off_t size = (off_t)strtol(other, NULL, 10);
    if (stat(path, &about) != 0 || statx(AT_FDCWD, path, 0, STATX_SIZE, &more) != 0) {
        return errno;
    }
    return about.st_size == size && (off_t)more.stx_size == size && S_ISREG(about.st_mode) ? 0
                                                                                           : EPROTO;
}

static int do_lstat_link(const char *path, const char *other)
{
    (void)other;
    struct stat about;
    if (lstat(path, &about) != 0) {
        return errno;
    }
    return S_ISLNK(about.st_mode) ? 0 : EPROTO;
}

static int do_readlink(const char *path, const char *other)
{
    char text[256];
    const ssize_t size = readlink(path, text, sizeof text - 1);
    if (size < 0) {
        return errno;
    }
    text[size] = '\0';
    return strcmp(text, other) == 0 ? 0 : EPROTO;
}

static int do_access_read(const char *path, const char *other)
{
    (void)other;
    return access(path, R_OK) == 0 ? 0 : errno;
}

static int do_access_write(const char *path, const char *other)
{
    (void)other;
    return access(path, W_OK) == 0 ? 0 : errno;
}

static int do_access_execute(const char *path, const char *other)
{
    (void)other;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static int do_attribute(const char *path, const char *other)
{
    (void)other;
    char value[8];
    return getxattr(path, "user.x", value, sizeof value) >= 0 ? 0 : errno;
}

static int do_execute(const char *path, const char *other)
{
    (void)other;
    char *const arguments[] = {(char *)path, NULL};
    (void)execv(path, arguments);
    return errno;
}

/* ---- the rows ---- */

typedef struct row {
    const char *name;
    action *act;
    const char *path;  /* below the root, or absolute, or ./relative */
    const char *other; /* below the root when the action has two paths */
    int want;
    const char *denied; /* "fs.read NAME": what must be reported; NULL: nothing may be */
} row;

static const row rows[] = {
    {"a granted file is read", do_read, "data/a.csv", NULL, 0, NULL},
    {"a relative name is granted", do_read, "./data/a.csv", NULL, 0, NULL},
    {"dots are removed", do_read, "data/../data/./a.csv", NULL, 0, NULL},
    {"dots lead out", do_read, "data/../outside/key", NULL, EACCES, "fs.read outside/key"},
    {"a name beside is denied", do_read, "data/secret.txt", NULL, EACCES,
     "fs.read data/secret.txt"},
    {"a star ends at a slash", do_read, "data/sub/c.csv", NULL, EACCES, "fs.read data/sub/c.csv"},
    {"a file outside is denied", do_read, "outside/key", NULL, EACCES, "fs.read outside/key"},
    {"what is absent is absent", do_read, "outside/none", NULL, ENOENT, NULL},
    {"a granted name that is absent", do_read, "data/none.csv", NULL, ENOENT, NULL},
    {"a link to a granted name", do_read, "data/link_in.csv", NULL, 0, NULL},
    {"an absolute link to a granted name", do_read, "data/link_absolute.csv", NULL, 0, NULL},
    {"a link that leads out", do_read, "data/link_out.csv", NULL, EACCES, "fs.read outside/key"},
    {"a link is not followed", do_no_follow, "data/link_in.csv", NULL, ELOOP, NULL},
    {"a pipe", do_read, "data/pipe.csv", NULL, EACCES, "fs.read data/pipe.csv"},
    {"a directory of a granted name", do_directory, "data/dir.csv", NULL, EACCES,
     "fs.read data/dir.csv"},
    {"a file is no directory", do_directory, "data/a.csv", NULL, ENOTDIR, NULL},
    {"a slash at the end", do_read, "data/a.csv/", NULL, ENOTDIR, NULL},
    {"a granted file is not written", do_write, "data/a.csv", NULL, EACCES, "fs.write data/a.csv"},
    {"a granted file is not written either", do_read_write, "data/a.csv", NULL, EACCES,
     "fs.write data/a.csv"},
    {"a new name is not made", do_create, "data/new.csv", NULL, EACCES, "fs.write data/new.csv"},
    {"O_PATH gives a descriptor", do_path, "data/a.csv", NULL, 0, NULL},
    {"O_PATH of what is denied", do_path, "outside/key", NULL, EACCES, "fs.read outside/key"},
    {"a file without a name", do_temporary, "data", NULL, EACCES, "fs.write data"},
    {"openat2 is not there", do_openat2, "outside/key", NULL, ENOSYS, NULL},

    {"a tree is read", do_read, "tree/file.txt", NULL, 0, NULL},
    {"a link in a tree", do_read, "tree/link_in", NULL, 0, NULL},
    {"a link in a tree that leads out", do_read, "tree/link_out", NULL, EACCES,
     "fs.read outside/key"},
    {"a link in a tree to a granted name", do_read, "tree/link_granted", NULL, 0, NULL},
    {"a tree is not written", do_write, "tree/file.txt", NULL, EACCES, "fs.write tree/file.txt"},
    {"nothing is made in a tree", do_create, "tree/new", NULL, EACCES, "fs.write tree/new"},
    {"no directory is made in a tree", do_mkdir, "tree/new", NULL, EACCES, "fs.write tree/new"},
    {"a directory that is there", do_mkdir, "tree", NULL, EEXIST, NULL},
    {"nothing is removed from a tree", do_unlink, "tree/file.txt", NULL, EACCES,
     "fs.write tree/file.txt"},
    {"a writable tree", do_create, "work/new", NULL, 0, NULL},
    {"a tree is listed", do_directory, "tree", NULL, 0, NULL},

    {"a literal file is read", do_read, "literal.txt", NULL, 0, NULL},
    {"a literal file is written", do_append, "literal.txt", NULL, 0, NULL},
    {"a literal file is truncated", do_truncate, "literal.txt", NULL, 0, NULL},

    {"a granted file is written", do_append, "out/old.log", NULL, 0, NULL},
    {"a granted file is shortened", do_shorten, "out/old.log", NULL, 0, NULL},
    {"a granted file is truncated", do_truncate, "out/old.log", NULL, 0, NULL},
    {"a new granted name is made", do_create_new, "out/new.log", NULL, 0, NULL},
    {"a granted name that is there", do_create_new, "out/old.log", NULL, EEXIST, NULL},
    {"a granted name is removed", do_unlink, "out/old.log", NULL, 0, NULL},
    {"a granted directory is made and removed", do_mkdir_rmdir, "out/d.log", NULL, 0, NULL},
    {"a granted name is renamed", do_rename, "out/old.log", "out/new.log", 0, NULL},
    {"a rename out", do_rename, "out/old.log", "outside/new", EACCES, "fs.write outside/new"},
    {"a rename in", do_rename, "outside/key", "out/new.log", EACCES, "fs.write outside/key"},
    {"a rename to another name beside", do_rename, "out/old.log", "out/new.txt", EACCES,
     "fs.write out/new.txt"},
    {"a rename from a tree", do_rename, "work/file.txt", "out/new.log", EXDEV, NULL},
    {"a rename in a tree", do_rename, "work/file.txt", "work/new", 0, NULL},
    {"a hard link of a granted name", do_link, "out/old.log", "work/new", EXDEV, NULL},
    {"a hard link to a granted name", do_link, "work/file.txt", "out/new.log", EACCES,
     "fs.write out/new.log"},
    {"a hard link of what is outside", do_link, "outside/key", "work/new", EACCES,
     "fs.read outside/key"},
    {"a symbolic link at a granted name", do_symlink, "out/new.log", NULL, EACCES,
     "fs.write out/new.log"},
    {"a pipe at a granted name", do_fifo, "out/new.log", NULL, EACCES, "fs.write out/new.log"},
    {"a way through a link", do_create, "out/way/new.log", NULL, EACCES,
     "fs.write out/way/new.log"},
    {"create through a dangling link", do_create, "data/dangling.csv", NULL, EACCES,
     "fs.write data/dangling.csv"},

    {"write without read", do_write, "wo/old.txt", NULL, 0, NULL},
    {"write without read does not read", do_read, "wo/old.txt", NULL, EACCES, "fs.read wo/old.txt"},
    {"write without read does not do both", do_read_write, "wo/old.txt", NULL, EACCES,
     "fs.write wo/old.txt"},

    {"a read descriptor is not opened for writing", do_reopen, "data/a.csv", NULL, EROFS, NULL},
    {"a read descriptor does not change the mode", do_change_mode, "data/a.csv", NULL, EROFS, NULL},
    {"nor through an absolute link", do_change_mode, "data/link_absolute.csv", NULL, EROFS, NULL},
    {"a read descriptor does not change times", do_change_times, "data/a.csv", NULL, EROFS, NULL},
    {"a read descriptor does not change attributes", do_change_attribute, "data/a.csv", NULL, EROFS,
     NULL},

    {"the size of a granted file", do_size, "data/a.csv", "9", 0, NULL},
    {"the way to a granted file", do_stat, "data", NULL, 0, NULL},
    {"stat of a link", do_lstat_link, "data/link_in.csv", NULL, 0, NULL},
    {"stat through a link that leads out", do_stat, "data/link_out.csv", NULL, EACCES,
     "fs.read outside/key"},
    {"a link is read", do_readlink, "data/link_in.csv", "b.csv", 0, NULL},
    {"a file is no link", do_readlink, "data/a.csv", "", EINVAL, NULL},
    {"access to read", do_access_read, "data/a.csv", NULL, 0, NULL},
    {"access to write", do_access_write, "data/a.csv", NULL, EACCES, NULL},
    {"access to execute", do_access_execute, "data/a.csv", NULL, EACCES, NULL},
    {"attributes", do_attribute, "data/a.csv", NULL, ENOTSUP, NULL},
    {"a granted file is not executed", do_execute, "data/a.csv", NULL, EACCES, NULL},
    {"a deep name", do_read, "deep/a/b/x.md", NULL, 0, NULL},
    {"a deep name beside", do_read, "deep/a/b/x.key", NULL, EACCES, "fs.read deep/a/b/x.key"},
    {"the way to a deep name", do_stat, "deep/a/b", NULL, 0, NULL},
};

/* With a plan that hides. */
static const row hidden[] = {
    {"a name beside", do_read, "data/secret.txt", NULL, ENOENT, "fs.read data/secret.txt"},
    {"a file outside", do_read, "outside/key", NULL, ENOENT, "fs.read outside/key"},
    {"a file outside is no directory", do_read, "outside/key/x", NULL, ENOENT, NULL},
    {"a link that leads out", do_read, "data/link_out.csv", NULL, ENOENT, "fs.read outside/key"},
    {"stat through a link that leads out", do_stat, "data/link_out.csv", NULL, ENOENT,
     "fs.read outside/key"},
    {"a new name outside", do_create, "outside/new", NULL, ENOENT, "fs.write outside/new"},
    {"a directory that is there", do_mkdir, "outside", NULL, ENOENT, NULL},
    {"a rename out", do_rename, "out/old.log", "outside/new", ENOENT, "fs.write outside/new"},
    {"a granted file is not written", do_write, "data/a.csv", NULL, EACCES, "fs.write data/a.csv"},
    {"a tree is not written", do_write, "tree/file.txt", NULL, EACCES, "fs.write tree/file.txt"},
    {"write without read does not read", do_read, "wo/old.txt", NULL, EACCES, "fs.read wo/old.txt"},
    {"the way to granted names", do_temporary, "data", NULL, EACCES, "fs.write data"},
    {"a granted file is read", do_read, "data/a.csv", NULL, 0, NULL},
};

static const char *full_name(const fixture *f, const char *name)
{
    return name == NULL || *name == '/' || *name == '.' ? name : fixture_path(f, name);
}

static void act(fixture *f, void *user)
{
    const row *one = user;
    const bool has_two = one->act == do_rename || one->act == do_link;
    f->results->values[0] =
        one->act(full_name(f, one->path), has_two ? full_name(f, one->other) : one->other);
}

static void check(row *one, bool hides)
{
    fixture f;
    fixture_init(&f);
    f.plan.hides = hides;
    f.results->values[0] = -1;
    fixture_run(&f, act, one);
    if (f.results->values[0] != one->want) {
        fail_msg("%s, wanted %s; denials: %s", strerror(f.results->values[0]), strerror(one->want),
                 f.denials);
    }
    if (one->denied == NULL) {
        assert_string_equal(f.denials, "");
    } else {
        char capability[16];
        (void)snprintf(capability, sizeof capability, "%.*s", (int)strcspn(one->denied, " "),
                       one->denied);
        if (!fixture_was_denied(&f, capability, strchr(one->denied, ' ') + 1, 1)) {
            fail_msg("no denial of %s, but: %s", one->denied, f.denials);
        }
    }
    fixture_fini(&f);
}

static void check_row(void **state)
{
    check(*state, false);
}

static void check_hidden(void **state)
{
    check(*state, true);
}

int main(void)
{
    if (!fixture_is_possible()) {
        (void)puts("skipped: no user namespace, notifications or Landlock here");
        return 77;
    }
    const int failed = run_rows(rows, sizeof rows / sizeof *rows, sizeof *rows, check_row);
    return run_rows(hidden, sizeof hidden / sizeof *hidden, sizeof *hidden, check_hidden) + failed;
}
