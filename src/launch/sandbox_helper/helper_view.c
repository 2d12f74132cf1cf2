/* What the mounts of a plan are made of, and the two directories that every sandbox has: /dev and
 * /proc. */
#include "launch/sandbox_helper/helper_view.h"

#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "launch/sandbox_helper/helper_open.h"

#define INSIDE (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS)

/* ---- places ---- */

static bool is_scratch(const arcp__helper_view *view, int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && about.st_dev == view->scratch_device;
}

/* Opens one component below `parent`, and makes it where that is allowed. */
static int open_component(const arcp__helper_view *view, int parent, const char *name, bool is_file)
{
    int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (is_file ? 0 : O_DIRECTORY));
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    if (!is_scratch(view, parent)) {
        errno = ENOENT;
        return -1;
    }
    if (is_file ? mknodat(parent, name, S_IFREG | 0444, 0) : mkdirat(parent, name, 0755)) {
        return -1;
    }
    return openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (is_file ? 0 : O_DIRECTORY));
}

int arcp__helper_target(const arcp__helper_view *view, arcp_span path, unsigned flags)
{
    char text[PATH_MAX];
    const uint64_t kind = (flags & ARCP__HELPER_IS_DIRECTORY) != 0 ? O_DIRECTORY : 0;
    if (path.size >= sizeof text || path.size == 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(text, path.data, path.size);
    text[path.size] = '\0';
    int fd = arcp__helper_open(view->root, text, O_PATH | O_NOFOLLOW | kind, INSIDE);
    if (fd >= 0 || errno != ENOENT || (flags & ARCP__HELPER_MUST_EXIST) != 0) {
        return fd;
    }
    fd = arcp__helper_open(view->root, "/", O_PATH | O_DIRECTORY, INSIDE);
    char *rest = text;
    for (char *name = strtok_r(text, "/", &rest); name != NULL && fd >= 0;
         name = strtok_r(NULL, "/", &rest)) {
        const bool is_last = *(rest + strspn(rest, "/")) == '\0';
        const int next =
            open_component(view, fd, name, is_last && (flags & ARCP__HELPER_IS_FILE) != 0);
        const int number = errno;
        (void)close(fd);
        errno = number;
        fd = next;
    }
    return fd;
}

bool arcp__helper_attach(int tree, int place)
{
    const bool is_attached =
        tree >= 0 && place >= 0 &&
        move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
    const int number = errno;
    if (tree >= 0) {
        (void)close(tree);
    }
    if (place >= 0) {
        (void)close(place);
    }
    errno = number;
    return is_attached;
}

int arcp__helper_copy(int at, const char *path, uint64_t attributes)
{
    struct mount_attr attr = {.attr_set = attributes};
    const int tree = open_tree(at, path,
                               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH |
                                   AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
    /* On every mount of the copy: a remount of the first one would leave those below it as they
     * are. */
    if (tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr)) {
        const int number = errno;
        (void)close(tree);
        errno = number;
        return -1;
    }
    return tree;
}

/* ---- /dev ---- */

/* The host's device, bound: devices cannot be made in a user namespace. Read-only: writing to a
 * device is not writing to its file system, but changing its mode is. */
static void bind_device(const arcp__helper_view *view, int dev, const char *name, dev_t number)
{
    char path[32];
    struct stat about;
    (void)snprintf(path, sizeof path, "/dev/%s", name);
    const int fd =
        arcp__helper_open(view->host, path + 1, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0 || fstat(fd, &about) != 0) {
        arcp__helper_fail(path);
    }
    if (!S_ISCHR(about.st_mode) || about.st_rdev != number) {
        errno = ENODEV;
        arcp__helper_fail(path);
    }
    const int tree =
        arcp__helper_copy(fd, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (!arcp__helper_attach(tree, open_component(view, dev, name, true))) {
        arcp__helper_fail(path);
    }
    (void)close(fd);
}

/* Pseudoterminals of the sandbox's own. */
static void mount_pts(const arcp__helper_view *view, int dev)
{
    const int context = fsopen("devpts", FSOPEN_CLOEXEC);
    const int tree = context < 0 ||
                             fsconfig(context, FSCONFIG_SET_STRING, "ptmxmode", "0666", 0) != 0 ||
                             fsconfig(context, FSCONFIG_SET_STRING, "mode", "0620", 0) != 0 ||
                             fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0
                         ? -1
                         : fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (!arcp__helper_attach(tree, open_component(view, dev, "pts", false))) {
        arcp__helper_fail("/dev/pts");
    }
    (void)close(context);
}

void arcp__helper_dev(const arcp__helper_view *view, bool has_terminal)
{
    static const struct {
        const char *name;
        unsigned number; /* of major 1 */
    } devices[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};
    static const char *const links[][2] = {{"fd", "/proc/self/fd"},
                                           {"stdin", "/proc/self/fd/0"},
                                           {"stdout", "/proc/self/fd/1"},
                                           {"stderr", "/proc/self/fd/2"},
                                           {"ptmx", "pts/ptmx"}};
    arcp__helper_begin(ARCP__HELPER_DEV);
    /* In a root of the host's a directory of ours covers /dev; otherwise it is made in place. */
    int dev = -1;
    if (view->root_is_hosts) {
        const int place = arcp__helper_target(view, ARCP_SPAN_LITERAL("/dev"),
                                              ARCP__HELPER_IS_DIRECTORY | ARCP__HELPER_MUST_EXIST);
        const int tree = mkdirat(view->scratch, "dev", 0755) != 0
                             ? -1
                             : open_tree(view->scratch, "dev", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (!arcp__helper_attach(tree, place)) {
            arcp__helper_fail("/dev");
        }
    }
    dev = arcp__helper_target(view, ARCP_SPAN_LITERAL("/dev"), ARCP__HELPER_IS_DIRECTORY);
    if (dev < 0) {
        arcp__helper_fail("/dev");
    }
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        bind_device(view, dev, devices[i].name, makedev(1, devices[i].number));
    }
    if (has_terminal) {
        bind_device(view, dev, "tty", makedev(5, 0));
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        if (symlinkat(links[i][1], dev, links[i][0]) != 0) {
            arcp__helper_fail("/dev");
        }
    }
    mount_pts(view, dev);
    (void)close(dev);
}

/* ---- /proc ---- */

enum {
    NUMBERS_ONCE = 300,   /* the kernel's RESERVED_PIDS */
    NUMBERS_MAX = 4194304 /* the kernel's PID_MAX_LIMIT */
};

static bool write_setting(int tree, const char *name, const char *text)
{
    const int fd = openat(tree, name, O_WRONLY | O_CLOEXEC);
    const size_t size = strlen(text);
    const bool is_written = fd >= 0 && write(fd, text, size) == (ssize_t)size;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_written;
}

/* As the superuser, processes are not counted for RLIMIT_NPROC; the numbers of processes of this
 * namespace are. The kernel hands the first 300 out only once, when a namespace begins: it begins
 * behind them, so that `pids` numbers are left. */
static void limit_pids(int tree, uint32_t pids)
{
    char text[32];
    const uint32_t most = pids > NUMBERS_MAX - NUMBERS_ONCE ? NUMBERS_MAX : NUMBERS_ONCE + pids;
    (void)snprintf(text, sizeof text, "%u", most);
    if (!write_setting(tree, "sys/kernel/pid_max", text) ||
        !write_setting(tree, "sys/kernel/ns_last_pid", "300")) {
        arcp__helper_fail("/proc/sys/kernel/pid_max");
    }
}

bool arcp__helper_proc(const arcp__helper_view *view, uint32_t pids)
{
    arcp__helper_begin(ARCP__HELPER_PROC);
    const int context = fsopen("proc", FSOPEN_CLOEXEC);
    int tree = context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0
                   ? -1
                   : fsmount(context, FSMOUNT_CLOEXEC,
                             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    const bool is_outer = tree < 0 && errno == EPERM;
    if (context >= 0) {
        (void)close(context);
    }
    if (tree >= 0 && pids != 0) {
        limit_pids(tree, pids);
    }
    /* As uid 0 much of it could be written without any capability. */
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0) {
        arcp__helper_fail("/proc");
    }
    if (is_outer) {
        /* The kernel makes no second one where parts of the first are covered, as in a container.
         */
        tree = arcp__helper_copy(view->host, "proc",
                                 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                     MOUNT_ATTR_NOEXEC);
    }
    const unsigned exists = view->root_is_hosts ? ARCP__HELPER_MUST_EXIST : 0;
    if (!arcp__helper_attach(tree, arcp__helper_target(view, ARCP_SPAN_LITERAL("/proc"),
                                                       ARCP__HELPER_IS_DIRECTORY | exists))) {
        arcp__helper_fail("/proc");
    }
    return is_outer;
}
