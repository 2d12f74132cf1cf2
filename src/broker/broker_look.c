/* What a name stands for, on the host or inside. Every look keeps an O_PATH descriptor, and its
 * real name is read from that: what is acted on later is compared with the descriptor, not looked
 * up again. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/broker_task.h"

enum { ATTEMPTS = 8 /* a rename elsewhere can interrupt the kernel's walk (EAGAIN) */ };

static int open2(int directory, const char *path, uint64_t flags, uint64_t resolve, mode_t mode)
{
    const struct open_how how = {
        .flags = flags | O_CLOEXEC, .mode = (flags & O_CREAT) != 0 ? mode : 0, .resolve = resolve};
    for (int i = 0;; i++) {
        const long fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN || i == ATTEMPTS) {
            return (int)fd;
        }
    }
}

int arcp__broker_open_beneath(int directory, const char *path, int flags, mode_t mode)
{
    return open2(directory, path, (uint64_t)(unsigned)flags,
                 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, mode);
}

bool arcp__broker_is_same(int a, int b)
{
    struct stat one;
    struct stat other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

const char *arcp__broker_leaf(const arcp__broker_fact *fact)
{
    return strrchr(fact->real.data, '/') + 1;
}

/* File systems whose files are the kernel's own: reading or writing them does something. */
static bool is_of_kernel(int fd)
{
    static const uint32_t magics[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
        DEBUGFS_MAGIC,    TRACEFS_MAGIC,  SECURITYFS_MAGIC,   SELINUX_MAGIC,
        SMACK_MAGIC,      BPF_FS_MAGIC,   NSFS_MAGIC,         DEVPTS_SUPER_MAGIC,
        EFIVARFS_MAGIC,   PSTOREFS_MAGIC, BINFMTFS_MAGIC,     BINDERFS_SUPER_MAGIC,
        0x62656570, /* configfs */
        0x19800202, /* message queues */
    };
    struct statfs about;
    if (fstatfs(fd, &about) != 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if ((uint32_t)about.f_type == magics[i]) {
            return true;
        }
    }
    return false;
}

static arcp__broker_type type_of(int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return ARCP__BROKER_SPECIAL;
    }
    switch (about.st_mode & S_IFMT) {
    case S_IFDIR:
        return ARCP__BROKER_A_DIRECTORY;
    case S_IFLNK:
        return ARCP__BROKER_A_LINK;
    case S_IFREG:
        return is_of_kernel(fd) ? ARCP__BROKER_SPECIAL : ARCP__BROKER_REGULAR;
    default:
        return ARCP__BROKER_SPECIAL;
    }
}

/* The real name of an open file, with a NUL; false when it has none. */
static bool read_real(int fd, char *out, size_t room, size_t *size)
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t got = readlink(link, out, room - 1);
    if (got <= 0 || (size_t)got >= room - 1 || out[0] != '/') {
        return false;
    }
    out[got] = '\0';
    *size = (size_t)got;
    return true;
}

/* Only of what the system has at the same place on the host: inside it is read-only anyway. */
static bool is_writable(const char *path)
{
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0) {
        return true;
    }
    if (errno != ENOENT) {
        return false;
    }
    char parent[ARCP__BROKER_PATH_MAX];
    (void)snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    *(slash == parent ? slash + 1 : slash) = '\0';
    return faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) == 0;
}

static int look_at_name(arcp__broker_task *task, arcp__broker_look look, const char *path)
{
    arcp__broker_fact *fact = &task->facts.looks[look];
    const bool is_inside = look == ARCP__BROKER_LOOK_INSIDE;
    const bool stays = (task->call.flags & ARCP__BROKER_NO_FOLLOW) != 0;
    const int fd =
        open2(is_inside ? task->broker->root : task->broker->host, path,
              O_PATH | (stays ? O_NOFOLLOW : 0), RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT, 0);
    if (fd < 0) {
        return errno;
    }
    task->found[look] = fd;
    size_t size = 0;
    if (!read_real(fd, task->real[look], sizeof task->real[look], &size)) {
        return ENAMETOOLONG;
    }
    fact->real = arcp_span_make(task->real[look], size);
    fact->type = type_of(fd);
    return 0;
}

bool arcp__broker_look_at_open(arcp__broker_task *task, arcp__broker_look look)
{
    arcp__broker_fact *fact = &task->facts.looks[look];
    size_t size = 0;
    if (!read_real(task->found[look], task->real[look], sizeof task->real[look], &size)) {
        return false;
    }
    fact->is_known = true;
    fact->real = arcp_span_make(task->real[look], size);
    fact->type = type_of(task->found[look]);
    return true;
}

/* The directory of a name, which must be there, and the real name that it would have in it. */
static int look_at_parent(arcp__broker_task *task, arcp__broker_look look, char *path)
{
    arcp__broker_fact *fact = &task->facts.looks[look];
    char *slash = strrchr(path, '/');
    if (slash[1] == '\0') {
        return EEXIST; /* the root */
    }
    char *real = task->real[look];
    const char *leaf = slash + 1;
    *slash = '\0';
    const int fd = open2(task->broker->host, slash == path ? "/" : path, O_PATH | O_DIRECTORY,
                         RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT, 0);
    if (fd < 0) {
        return errno;
    }
    task->found[look] = fd;
    if (is_of_kernel(fd)) {
        return EACCES; /* to make a directory there can do something */
    }
    size_t size = 0;
    if (!read_real(fd, real, ARCP__BROKER_PATH_MAX, &size)) {
        return ENAMETOOLONG;
    }
    size -= size == 1 ? 1 : 0;
    const size_t leaf_size = strlen(leaf);
    real[size] = '/';
    memcpy(real + size + 1, leaf, leaf_size + 1);
    fact->real = arcp_span_make(real, size + 1 + leaf_size);
    return 0;
}

void arcp__broker_look_at(arcp__broker_task *task, arcp__broker_look look)
{
    arcp__broker_fact *fact = &task->facts.looks[look];
    fact->is_known = true;
    const arcp_span name = look == ARCP__BROKER_LOOK_OTHER ? task->call.other : task->call.path;
    char path[ARCP__BROKER_PATH_MAX];
    if (name.size >= sizeof path) {
        fact->error = ENAMETOOLONG;
        return;
    }
    memcpy(path, name.data, name.size);
    path[name.size] = '\0';
    const bool may_write =
        (task->call.flags & (ARCP__BROKER_TO_WRITE | ARCP__BROKER_CREATE)) != 0 ||
        task->call.operation != ARCP__BROKER_OPEN;
    switch (look) {
    case ARCP__BROKER_LOOK_INSIDE:
    case ARCP__BROKER_LOOK_HOST:
        fact->is_writable = may_write && is_writable(path);
        fact->error = look_at_name(task, look, path);
        break;
    case ARCP__BROKER_LOOK_PARENT:
    case ARCP__BROKER_LOOK_OTHER:
        fact->error = look_at_parent(task, look, path);
        break;
    case ARCP__BROKER_LOOK_COUNT:
        break;
    }
}
