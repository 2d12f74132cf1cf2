/* Changes of mode, owner, times and attributes, at level landlock.
 *
 * Landlock does not judge them, so the kernel is never told to go on: the broker carries them out
 * on a descriptor of its own, if the file may be written by its real name. A name is opened once,
 * and the real name is that of what was opened. A descriptor of the program is duplicated, because
 * its number can come to mean another file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "broker/broker_task.h"

enum {
    NONE = ARCP__BROKER_NO_ARGUMENT,
    HERE = ARCP__BROKER_FROM_HERE,
    MODE_BITS = 01777,
    VALUE_BYTES_MAX = 65536, /* of an attribute, as in the kernel */
};

typedef enum change {
    CHANGE_MODE,
    CHANGE_OWNER,
    CHANGE_TIMES,      /* two struct timespec */
    CHANGE_TIMEVALS,   /* two struct timeval */
    CHANGE_SECONDS,    /* struct utimbuf */
    CHANGE_SET,        /* an attribute: name, value, size, flags */
    CHANGE_SET_STRUCT, /* an attribute: name, struct xattr_args */
    CHANGE_REMOVE,
} change;

/* Which arguments hold what. The values begin at `values`. */
typedef struct shape {
    arcp__sandbox_syscall syscall;
    change change;
    arcp__broker_file_arguments file;
    int values;
} shape;

#define ROW(id, change, directory, path, flags, values, stays)                                     \
    {                                                                                              \
        ARCP__SANDBOX_SYSCALL_##id, CHANGE_##change, {directory, path, flags, stays}, values       \
    }

static const shape shapes[] = {
    ROW(CHMOD, MODE, HERE, 0, NONE, 1, false),
    ROW(FCHMOD, MODE, 0, NONE, NONE, 1, false),
    ROW(FCHMODAT, MODE, 0, 1, NONE, 2, false),
    ROW(FCHMODAT2, MODE, 0, 1, 3, 2, false),
    ROW(CHOWN, OWNER, HERE, 0, NONE, 1, false),
    ROW(LCHOWN, OWNER, HERE, 0, NONE, 1, true),
    ROW(FCHOWN, OWNER, 0, NONE, NONE, 1, false),
    ROW(FCHOWNAT, OWNER, 0, 1, 4, 2, false),
    ROW(UTIME, SECONDS, HERE, 0, NONE, 1, false),
    ROW(UTIMES, TIMEVALS, HERE, 0, NONE, 1, false),
    ROW(FUTIMESAT, TIMEVALS, 0, 1, NONE, 2, false),
    ROW(UTIMENSAT, TIMES, 0, 1, 3, 2, false),
    ROW(SETXATTR, SET, HERE, 0, NONE, 1, false),
    ROW(LSETXATTR, SET, HERE, 0, NONE, 1, true),
    ROW(FSETXATTR, SET, 0, NONE, NONE, 1, false),
    ROW(SETXATTRAT, SET_STRUCT, 0, 1, 2, 3, false),
    ROW(REMOVEXATTR, REMOVE, HERE, 0, NONE, 1, false),
    ROW(LREMOVEXATTR, REMOVE, HERE, 0, NONE, 1, true),
    ROW(FREMOVEXATTR, REMOVE, 0, NONE, NONE, 1, false),
    ROW(REMOVEXATTRAT, REMOVE, 0, 1, 2, 3, false),
};

static const shape *shape_of(arcp__sandbox_syscall syscall)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].syscall == syscall) {
            return &shapes[i];
        }
    }
    return NULL;
}

bool arcp__broker_owner_arguments(arcp__sandbox_syscall syscall, arcp__broker_file_arguments *out)
{
    const shape *row = shape_of(syscall);
    if (row != NULL) {
        *out = row->file;
    }
    return row != NULL;
}

bool arcp__broker_changes_owner(arcp__sandbox_syscall syscall)
{
    return shape_of(syscall) != NULL;
}

static uint64_t argument(const arcp__broker_task *task, int index)
{
    return task->request->data.args[index];
}

static int read_memory(const arcp__broker_task *task, uint64_t address, void *out, size_t size)
{
    return arcp__broker_memory_read((pid_t)task->request->pid, address, out, size);
}

/* ---- the file ---- */

/* Trees and private directories that the kernel lets the program write, and what the lease grants
 * by a pattern. */
static bool may_change(const arcp__broker_task *task, arcp_span path)
{
    const arcp__broker_class class = arcp__broker_classify(task->broker->classes, path);
    const bool is_ours =
        class.place != ARCP__BROKER_PLACE_OWN && class.place != ARCP__BROKER_PLACE_KERNEL;
    return is_ours && ((class.kernel | class.lease) & ARCP__SANDBOX_WRITE) != 0;
}

static int deny(arcp__broker_task *task, arcp_span target)
{
    arcp__broker_task_report(task, "fs.write", target);
    return EACCES;
}

/* Opens the name that the program gave. 0 or an errno; *fd is closed with the task. */
static int open_name(arcp__broker_task *task, int directory, arcp_span given, bool stays, int *fd)
{
    if (!arcp__broker_task_name(task, directory, given, 0)) {
        return EACCES;
    }
    task->call.flags = stays ? ARCP__BROKER_NO_FOLLOW : 0;
    if (!may_change(task, task->call.path)) {
        return deny(task, task->call.path);
    }
    arcp__broker_look_at(task, ARCP__BROKER_LOOK_HOST);
    const arcp__broker_fact *fact = &task->facts.looks[ARCP__BROKER_LOOK_HOST];
    if (fact->error != 0) {
        return fact->error;
    }
    if (!may_change(task, fact->real)) {
        return deny(task, fact->real);
    }
    *fd = task->found[ARCP__BROKER_LOOK_HOST];
    return fact->type == ARCP__BROKER_SPECIAL ? EPERM : 0;
}

/* Takes a descriptor of the program. */
static int take_file(arcp__broker_task *task, int number, int *fd)
{
    const int taken = arcp__broker_take_descriptor(task, number);
    if (taken < 0) {
        return -taken;
    }
    task->found[ARCP__BROKER_LOOK_HOST] = taken;
    arcp__broker_fact *fact = &task->facts.looks[ARCP__BROKER_LOOK_HOST];
    if (!arcp__broker_look_at_open(task, ARCP__BROKER_LOOK_HOST)) {
        return EPERM; /* a pipe, a socket: nothing that the lease knows */
    }
    if (!may_change(task, fact->real)) {
        return deny(task, fact->real);
    }
    *fd = taken;
    return fact->type == ARCP__BROKER_SPECIAL ? EPERM : 0;
}

static int find_file(arcp__broker_task *task, const shape *row, int *fd)
{
    const int flags = row->file.flags == NONE ? 0 : (int)argument(task, row->file.flags);
    const int directory =
        row->file.directory == HERE ? AT_FDCWD : (int)argument(task, row->file.directory);
    size_t size = 0;
    if (row->file.path == NONE) {
        return take_file(task, directory, fd);
    }
    if (argument(task, row->file.path) == 0) { /* futimens */
        return take_file(task, directory, fd);
    }
    const int error = arcp__broker_memory_path((pid_t)task->request->pid,
                                               argument(task, row->file.path), task->raw, &size);
    if (error != 0) {
        return error == ENAMETOOLONG || error == EFAULT ? error : EACCES;
    }
    if (size == 0 && (flags & AT_EMPTY_PATH) == 0) {
        return ENOENT;
    }
    if (size == 0 && directory != AT_FDCWD) {
        return take_file(task, directory, fd);
    }
    const arcp_span given = size == 0 ? ARCP_SPAN_LITERAL(".") : arcp_span_make(task->raw, size);
    return open_name(task, directory, given, row->file.stays || (flags & AT_SYMLINK_NOFOLLOW) != 0,
                     fd);
}

/* ---- the change ---- */

static int result_of(int result)
{
    return result == 0 ? 0 : errno;
}

/* The times that a call asks for; *times is NULL for now. */
static int read_times(const arcp__broker_task *task, const shape *row, struct timespec pair[2],
                      const struct timespec **times)
{
    const uint64_t address = argument(task, row->values);
    struct timeval values[2];
    struct utimbuf seconds;
    int error = 0;
    *times = address == 0 ? NULL : pair;
    if (address == 0) {
        return 0;
    }
    if (row->change == CHANGE_TIMES) {
        error = read_memory(task, address, pair, 2 * sizeof *pair);
    } else if (row->change == CHANGE_SECONDS) {
        error = read_memory(task, address, &seconds, sizeof seconds);
        pair[0] = (struct timespec){.tv_sec = error == 0 ? seconds.actime : 0};
        pair[1] = (struct timespec){.tv_sec = error == 0 ? seconds.modtime : 0};
    } else {
        error = read_memory(task, address, values, sizeof values);
        for (size_t i = 0; error == 0 && i < 2; i++) {
            if (values[i].tv_usec < 0 || values[i].tv_usec >= 1000000) {
                return EINVAL; /* times 1 000 it could be a special value of nanoseconds */
            }
            pair[i] =
                (struct timespec){.tv_sec = values[i].tv_sec, .tv_nsec = values[i].tv_usec * 1000};
        }
    }
    return error;
}

static int change_attribute(arcp__broker_task *task, const shape *row, const char *file)
{
    static const char user[] = "user.";
    struct {
        uint64_t value;
        uint32_t size, flags;
    } given = {0};
    char value[VALUE_BYTES_MAX];
    size_t size = 0;
    int error = arcp__broker_memory_path((pid_t)task->request->pid, argument(task, row->values),
                                         task->raw, &size);
    if (error != 0) {
        return error == ENAMETOOLONG ? ERANGE : error;
    }
    if (row->change == CHANGE_SET) {
        const uint64_t bytes = argument(task, row->values + 2);
        given.value = argument(task, row->values + 1);
        given.size = bytes > VALUE_BYTES_MAX ? UINT32_MAX : (uint32_t)bytes;
        given.flags = (uint32_t)argument(task, row->values + 3);
    } else if (row->change == CHANGE_SET_STRUCT) {
        error = argument(task, row->values + 2) != sizeof given
                    ? EINVAL
                    : read_memory(task, argument(task, row->values + 1), &given, sizeof given);
    }
    if (error == 0 && given.size > VALUE_BYTES_MAX) {
        error = E2BIG;
    }
    if (error == 0 && given.size != 0) {
        error = read_memory(task, given.value, value, given.size);
    }
    /* The other families are rights of their own: lists of access, labels, capabilities. */
    if (error == 0 && strncmp(task->raw, user, sizeof user - 1) != 0) {
        error = EOPNOTSUPP;
    }
    if (error != 0 || !arcp__broker_task_is_valid(task)) {
        return error != 0 ? error : EACCES;
    }
    return result_of(row->change == CHANGE_REMOVE
                         ? removexattr(file, task->raw)
                         : setxattr(file, task->raw, value, given.size, (int)given.flags));
}

static int change_file(arcp__broker_task *task, const shape *row, int fd)
{
    const bool is_link = task->facts.looks[ARCP__BROKER_LOOK_HOST].type == ARCP__BROKER_A_LINK;
    char file[64];
    (void)snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    struct timespec pair[2];
    const struct timespec *times = NULL;
    int error = 0;
    switch (row->change) {
    case CHANGE_MODE:
        /* The filter refuses set-user-id and set-group-id. */
        return is_link ? EOPNOTSUPP
                       : result_of(chmod(file, (mode_t)argument(task, row->values) & MODE_BITS));
    case CHANGE_OWNER:
        return result_of(fchownat(fd, "", (uid_t)argument(task, row->values),
                                  (gid_t)argument(task, row->values + 1), AT_EMPTY_PATH));
    case CHANGE_TIMES:
    case CHANGE_TIMEVALS:
    case CHANGE_SECONDS:
        error = read_times(task, row, pair, &times);
        if (error != 0 || !arcp__broker_task_is_valid(task)) {
            return error != 0 ? error : EACCES;
        }
        return result_of(is_link ? utimensat(fd, "", times, AT_EMPTY_PATH)
                                 : utimensat(AT_FDCWD, file, times, 0));
    case CHANGE_SET:
    case CHANGE_SET_STRUCT:
    case CHANGE_REMOVE:
        return is_link ? EPERM : change_attribute(task, row, file);
    }
    return EPERM;
}

void arcp__broker_serve_owner(arcp__broker_task *task)
{
    const shape *row = shape_of(task->syscall);
    int fd = -1;
    task->call = (arcp__broker_call){.operation = ARCP__BROKER_OWNER};
    int error = find_file(task, row, &fd);
    /* The thread could have ended before its memory was read, and its number be another's. */
    if (error == 0 && !arcp__broker_task_is_valid(task)) {
        error = EACCES;
    }
    if (error == 0) {
        error = change_file(task, row, fd);
    }
    if (error != 0) {
        arcp__broker_task_fail(task, error);
    } else {
        arcp__broker_task_return(task, 0);
    }
}
