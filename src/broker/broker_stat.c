/* stat, access and readlink of names that the lease has, or that lead to them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker/broker_task.h"

/* What a user namespace shows for an owner that it does not have. */
enum { UNKNOWN_OWNER = 65534 };

static uint32_t owner_of(const arcp__broker_task *task, uint32_t owner, uint32_t own)
{
    const bool is_full = task->broker->plan->level == ARCP__SANDBOX_LEVEL_FULL;
    return is_full && owner != own ? UNKNOWN_OWNER : owner;
}

static int give_stat(arcp__broker_task *task, int fd, uint64_t address)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return errno;
    }
    about.st_uid = owner_of(task, about.st_uid, geteuid());
    about.st_gid = owner_of(task, about.st_gid, getegid());
    return arcp__broker_memory_write(task, address, &about, sizeof about);
}

static int give_statx(arcp__broker_task *task, int fd)
{
    const __u64 *args = task->request->data.args;
    struct statx about;
    const int flags = AT_EMPTY_PATH | ((int)args[2] & AT_STATX_SYNC_TYPE);
    if (statx(fd, "", flags, (unsigned)args[3] & ~(unsigned)STATX__RESERVED, &about) != 0) {
        return errno;
    }
    about.stx_uid = owner_of(task, about.stx_uid, geteuid());
    about.stx_gid = owner_of(task, about.stx_gid, getegid());
    return arcp__broker_memory_write(task, args[4], &about, sizeof about);
}

static int check_access(const arcp__broker_task *task, int fd)
{
    const uint32_t flags = task->call.flags;
    const int mode = ((flags & ARCP__BROKER_TO_READ) != 0 ? R_OK : 0) |
                     ((flags & ARCP__BROKER_TO_WRITE) != 0 ? W_OK : 0) |
                     ((flags & ARCP__BROKER_TO_EXECUTE) != 0 ? X_OK : 0);
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return faccessat(AT_FDCWD, name, mode, AT_EACCESS) == 0 ? 0 : errno;
}

/* Returns a negative errno, or the size. */
static int64_t give_link(arcp__broker_task *task, int fd)
{
    const __u64 *args = task->request->data.args;
    const int first = task->syscall == ARCP__SANDBOX_SYSCALL_READLINK ? 1 : 2;
    const int room = (int)args[first + 1];
    if (room <= 0) {
        return -EINVAL;
    }
    char text[ARCP__BROKER_PATH_MAX];
    const ssize_t got = readlinkat(fd, "", text, sizeof text);
    if (got < 0) {
        return -errno;
    }
    const size_t size = got < room ? (size_t)got : (size_t)room;
    const int error = arcp__broker_memory_write(task, args[first], text, size);
    return error != 0 ? -error : (int64_t)size;
}

void arcp__broker_serve_stat(arcp__broker_task *task, arcp__broker_look look)
{
    const int fd = task->found[look];
    int64_t result = -EACCES;
    if (task->call.operation == ARCP__BROKER_ACCESS) {
        result = -check_access(task, fd);
    } else if (task->call.operation == ARCP__BROKER_READLINK) {
        result = give_link(task, fd);
    } else if (task->syscall == ARCP__SANDBOX_SYSCALL_STATX) {
        result = -give_statx(task, fd);
    } else {
        const int address = task->syscall == ARCP__SANDBOX_SYSCALL_NEWFSTATAT ? 2 : 1;
        result = -give_stat(task, fd, task->request->data.args[address]);
    }
    if (result < 0) {
        arcp__broker_task_fail(task, (int)-result);
    } else {
        arcp__broker_task_return(task, result);
    }
}
