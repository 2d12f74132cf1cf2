/* From a system call's numbers to a call with canonical names. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker/broker_task.h"
#include "core/target.h"

enum { NONE = ARCP__BROKER_NO_ARGUMENT, HERE = ARCP__BROKER_FROM_HERE };

/* Which arguments hold what; NONE where there is none. */
typedef struct shape {
    arcp__sandbox_syscall syscall;
    arcp__broker_operation operation;
    int directory, path;
    int flags; /* of open, or AT_ flags */
    int other_directory, other;
    int mode;
    bool stays; /* OWNER: a link at the end is not followed */
} shape;

#define ROW(id, operation, directory, path, flags, other_directory, other, mode)                   \
    {                                                                                              \
        ARCP__SANDBOX_SYSCALL_##id, ARCP__BROKER_##operation, directory, path, flags,              \
            other_directory, other, mode, false                                                    \
    }

static const shape shapes[] = {
    ROW(OPEN, OPEN, HERE, 0, 1, NONE, NONE, 2),
    ROW(OPENAT, OPEN, 0, 1, 2, NONE, NONE, 3),
    ROW(CREAT, OPEN, HERE, 0, NONE, NONE, NONE, 1),
    ROW(MKNOD, MKNOD, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(MKNODAT, MKNOD, 0, 1, NONE, NONE, NONE, NONE),
    ROW(UNLINK, UNLINK, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(UNLINKAT, UNLINK, 0, 1, 2, NONE, NONE, NONE),
    ROW(RMDIR, RMDIR, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(RENAME, RENAME, HERE, 0, NONE, HERE, 1, NONE),
    ROW(RENAMEAT, RENAME, 0, 1, NONE, 2, 3, NONE),
    ROW(RENAMEAT2, RENAME, 0, 1, 4, 2, 3, NONE),
    ROW(MKDIR, MKDIR, HERE, 0, NONE, NONE, NONE, 1),
    ROW(MKDIRAT, MKDIR, 0, 1, NONE, NONE, NONE, 2),
    ROW(TRUNCATE, TRUNCATE, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(LINK, LINK, HERE, 0, NONE, HERE, 1, NONE),
    ROW(LINKAT, LINK, 0, 1, 4, 2, 3, NONE),
    ROW(SYMLINK, SYMLINK, HERE, 1, NONE, NONE, NONE, NONE),
    ROW(SYMLINKAT, SYMLINK, 1, 2, NONE, NONE, NONE, NONE),
    ROW(STAT, STAT, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(LSTAT, STAT, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(NEWFSTATAT, STAT, 0, 1, 3, NONE, NONE, NONE),
    ROW(STATX, STAT, 0, 1, 2, NONE, NONE, NONE),
    ROW(ACCESS, ACCESS, HERE, 0, NONE, NONE, NONE, 1),
    ROW(FACCESSAT, ACCESS, 0, 1, NONE, NONE, NONE, 2),
    ROW(FACCESSAT2, ACCESS, 0, 1, 3, NONE, NONE, 2),
    ROW(READLINK, READLINK, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(READLINKAT, READLINK, 0, 1, NONE, NONE, NONE, NONE),
    ROW(CHDIR, CHDIR, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(GETXATTR, XATTR, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(LGETXATTR, XATTR, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(GETXATTRAT, XATTR, 0, 1, 2, NONE, NONE, NONE),
    ROW(LISTXATTR, XATTR, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(LLISTXATTR, XATTR, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(LISTXATTRAT, XATTR, 0, 1, 2, NONE, NONE, NONE),
    /* Read here only when a command is watched; more such calls are in broker_owner's table. */
    ROW(EXECVE, EXECUTE, HERE, 0, NONE, NONE, NONE, NONE),
    ROW(EXECVEAT, EXECUTE, 0, 1, 4, NONE, NONE, NONE),
    ROW(FILE_SETATTR, OWNER, 0, 1, 4, NONE, NONE, NONE),
};

/* False: the call has no name, or none that is read here. */
static bool find_shape(arcp__sandbox_syscall syscall, shape *out)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].syscall == syscall) {
            *out = shapes[i];
            return true;
        }
    }
    arcp__broker_file_arguments file;
    if (!arcp__broker_owner_arguments(syscall, &file) || file.path == NONE) {
        return false;
    }
    *out = (shape){.syscall = syscall,
                   .operation = ARCP__BROKER_OWNER,
                   .directory = file.directory,
                   .path = file.path,
                   .flags = file.flags,
                   .other_directory = NONE,
                   .other = NONE,
                   .mode = NONE,
                   .stays = file.stays};
    return true;
}

bool arcp__broker_knows(arcp__sandbox_syscall syscall)
{
    shape row;
    return find_shape(syscall, &row) && row.operation != ARCP__BROKER_EXECUTE &&
           row.operation != ARCP__BROKER_OWNER;
}

/* Arguments of type int: the kernel takes the low half of the register. */
static uint32_t low_half(const arcp__broker_task *task, int index)
{
    return index == NONE ? 0 : (uint32_t)task->request->data.args[index];
}

/* ---- flags ---- */

static uint32_t flags_of_open(arcp__broker_task *task, const shape *row)
{
    const int given =
        row->flags == NONE ? O_CREAT | O_WRONLY | O_TRUNC : (int)low_half(task, row->flags);
    task->open_flags = given;
    const int access = given & O_ACCMODE;
    uint32_t flags = 0;
    if ((given & O_PATH) != 0) {
        flags = ARCP__BROKER_TO_READ;
    } else {
        flags |= access != O_WRONLY ? ARCP__BROKER_TO_READ : 0U;
        flags |= access != O_RDONLY || (given & O_TRUNC) != 0 ? ARCP__BROKER_TO_WRITE : 0U;
        flags |= (given & O_CREAT) != 0 ? ARCP__BROKER_CREATE : 0U;
        flags |= (given & O_EXCL) != 0 ? ARCP__BROKER_EXCLUSIVE : 0U;
        flags |= (given & O_TMPFILE) == O_TMPFILE ? ARCP__BROKER_TEMPORARY : 0U;
    }
    const bool is_new = (given & O_CREAT) != 0 && (given & O_EXCL) != 0;
    flags |= (given & O_NOFOLLOW) != 0 || is_new ? ARCP__BROKER_NO_FOLLOW : 0U;
    flags |= (given & O_DIRECTORY) != 0 && (flags & ARCP__BROKER_TEMPORARY) == 0
                 ? ARCP__BROKER_DIRECTORY
                 : 0U;
    return flags;
}

static uint32_t flags_of_access(const arcp__broker_task *task, const shape *row)
{
    const uint32_t mode = low_half(task, row->mode);
    return ((mode & R_OK) != 0 ? ARCP__BROKER_TO_READ : 0U) |
           ((mode & W_OK) != 0 ? ARCP__BROKER_TO_WRITE : 0U) |
           ((mode & X_OK) != 0 ? ARCP__BROKER_TO_EXECUTE : 0U);
}

static uint32_t no_follow(bool is_set)
{
    return is_set ? ARCP__BROKER_NO_FOLLOW : 0U;
}

static void read_flags(arcp__broker_task *task, const shape *row)
{
    const uint32_t given = low_half(task, row->flags);
    const bool stays = (given & AT_SYMLINK_NOFOLLOW) != 0;
    arcp__broker_call *call = &task->call;
    task->mode = (mode_t)low_half(task, row->mode);
    switch (row->operation) {
    case ARCP__BROKER_OPEN:
        call->flags = flags_of_open(task, row);
        break;
    case ARCP__BROKER_UNLINK:
        if ((given & AT_REMOVEDIR) != 0) {
            call->operation = ARCP__BROKER_RMDIR;
        }
        call->flags = ARCP__BROKER_NO_FOLLOW;
        break;
    case ARCP__BROKER_RENAME:
        task->rename_flags = given;
        call->flags = ARCP__BROKER_NO_FOLLOW;
        break;
    case ARCP__BROKER_RMDIR:
    case ARCP__BROKER_MKDIR:
    case ARCP__BROKER_SYMLINK:
    case ARCP__BROKER_MKNOD:
    case ARCP__BROKER_READLINK:
        call->flags = ARCP__BROKER_NO_FOLLOW;
        break;
    case ARCP__BROKER_LINK:
        call->flags = no_follow((given & AT_SYMLINK_FOLLOW) == 0);
        break;
    case ARCP__BROKER_TRUNCATE:
        call->flags = ARCP__BROKER_TO_WRITE;
        break;
    case ARCP__BROKER_STAT:
        call->flags = no_follow(stays || task->syscall == ARCP__SANDBOX_SYSCALL_LSTAT);
        break;
    case ARCP__BROKER_XATTR:
        call->flags = no_follow(stays || task->syscall == ARCP__SANDBOX_SYSCALL_LGETXATTR ||
                                task->syscall == ARCP__SANDBOX_SYSCALL_LLISTXATTR);
        break;
    case ARCP__BROKER_ACCESS:
        call->flags = flags_of_access(task, row) | no_follow(stays);
        break;
    case ARCP__BROKER_CHDIR:
        call->flags = ARCP__BROKER_DIRECTORY;
        break;
    case ARCP__BROKER_OWNER:
        call->flags = no_follow(stays || row->stays);
        break;
    case ARCP__BROKER_EXECUTE:
        call->flags = no_follow(stays);
        break;
    case ARCP__BROKER_CONNECT:
    case ARCP__BROKER_OPERATION_COUNT:
        break;
    }
}

/* ---- names ---- */

/* The directory that a relative name begins at, as the program sees it. */
static bool read_directory(arcp__broker_task *task, int directory, char *out, size_t *size)
{
    char link[64];
    const int thread = (int)task->request->pid;
    if (directory == AT_FDCWD) {
        (void)snprintf(link, sizeof link, "/proc/%d/cwd", thread);
    } else {
        (void)snprintf(link, sizeof link, "/proc/%d/fd/%d", thread, directory);
    }
    struct stat about;
    if (task->broker->views != NULL && stat(link, &about) == 0 && S_ISDIR(about.st_mode) &&
        arcp__broker_views_find(task->broker->views, &about, out, size)) {
        task->begins_at_view = true;
        return true;
    }
    const ssize_t got = readlink(link, out, ARCP__BROKER_PATH_MAX);
    *size = got < 0 ? 0 : (size_t)got;
    return got > 0 && got < ARCP__BROKER_PATH_MAX && out[0] == '/';
}

/* Whether the last part of the name says that it is a directory. */
static bool ends_as_directory(arcp_span name)
{
    const char *slash = memrchr(name.data, '/', name.size);
    const arcp_span last =
        slash == NULL ? name : arcp_span_from(name, (size_t)(slash - name.data) + 1);
    return last.size == 0 || arcp_span_equal_cstr(last, ".") || arcp_span_equal_cstr(last, "..");
}

bool arcp__broker_task_descriptor(arcp__broker_task *task, int directory)
{
    size_t size = 0;
    if (!read_directory(task, directory, task->joined[0].bytes, &size)) {
        return false;
    }
    return arcp__target_canonicalise(ARCP__CAPABILITY_FS_READ, arcp_span_make(NULL, 0),
                                     arcp_span_make(task->joined[0].bytes, size),
                                     &task->canonical[0], &task->call.path) == ARCP_DENY_NONE;
}

bool arcp__broker_task_name(arcp__broker_task *task, int directory, arcp_span given, int which)
{
    char *joined = task->joined[which].bytes;
    size_t used = 0;
    if (given.data[0] != '/') {
        if (!read_directory(task, directory, joined, &used)) {
            return false;
        }
        joined[used++] = '/';
    }
    memcpy(joined + used, given.data, given.size);
    return arcp__target_canonicalise(
               ARCP__CAPABILITY_FS_READ, arcp_span_make(NULL, 0),
               arcp_span_make(joined, used + given.size), &task->canonical[which],
               which == 0 ? &task->call.path : &task->call.other) == ARCP_DENY_NONE;
}

/* Reads name `which` of the call. */
static bool read_name(arcp__broker_task *task, int directory, int argument, int which,
                      bool *is_directory)
{
    size_t size = 0;
    if (arcp__broker_memory_path((pid_t)task->request->pid, task->request->data.args[argument],
                                 task->raw, &size) != 0 ||
        size == 0) {
        return false;
    }
    const arcp_span given = arcp_span_make(task->raw, size);
    *is_directory = ends_as_directory(given);
    const int from = directory == HERE ? AT_FDCWD : (int)low_half(task, directory);
    return arcp__broker_task_name(task, from, given, which);
}

bool arcp__broker_task_read(arcp__broker_task *task)
{
    shape row;
    if (!find_shape(task->syscall, &row)) {
        return false;
    }
    task->call = (arcp__broker_call){.operation = row.operation};
    read_flags(task, &row);
    bool is_directory = false;
    if (!read_name(task, row.directory, row.path, 0, &is_directory)) {
        return false;
    }
    if (is_directory) {
        const uint32_t rest = task->call.flags & ~(uint32_t)ARCP__BROKER_NO_FOLLOW;
        task->call.flags = rest | ARCP__BROKER_DIRECTORY;
    }
    if (row.other != NONE && !read_name(task, row.other_directory, row.other, 1, &is_directory)) {
        return false;
    }
    /* The thread could have ended before its memory was read, and its number be another's. */
    return arcp__broker_task_is_valid(task);
}
