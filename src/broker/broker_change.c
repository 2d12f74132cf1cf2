/* Changes of names: on the descriptor of a directory whose real name the lease admits, and a last
 * name in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "broker/broker_task.h"

static int rename_file(arcp__broker_task *task, const char *from_leaf, const char *to_leaf)
{
    const int from = task->found[ARCP__BROKER_LOOK_PARENT];
    const int to = task->found[ARCP__BROKER_LOOK_OTHER];
    if ((task->rename_flags & ~(unsigned)RENAME_NOREPLACE) != 0) {
        return EINVAL;
    }
    /* Not a directory: the names in it would change, too, and the lease was not asked about them. A
     * program can make directories through the broker only, so the lock keeps it from putting one
     * in the place of a file that was looked at. */
    (void)pthread_mutex_lock(&task->broker->change);
    struct stat about;
    int error = fstatat(from, from_leaf, &about, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    if (error == 0 && !S_ISREG(about.st_mode)) {
        error = EACCES;
    }
    if (error == 0 && renameat2(from, from_leaf, to, to_leaf, task->rename_flags) != 0) {
        error = errno;
    }
    (void)pthread_mutex_unlock(&task->broker->change);
    return error;
}

static int make_directory(arcp__broker_task *task, int parent, const char *leaf)
{
    const mode_t mode = arcp__broker_mode_of(task);
    (void)pthread_mutex_lock(&task->broker->change);
    const int error = mkdirat(parent, leaf, mode) == 0 ? 0 : errno;
    (void)pthread_mutex_unlock(&task->broker->change);
    return error;
}

static int remove_name(const arcp__broker_task *task, int parent, const char *leaf)
{
    const bool is_directory = task->call.operation == ARCP__BROKER_RMDIR;
    if (!is_directory && (task->call.flags & ARCP__BROKER_DIRECTORY) != 0) {
        return ENOTDIR; /* "name/" */
    }
    return unlinkat(parent, leaf, is_directory ? AT_REMOVEDIR : 0) == 0 ? 0 : errno;
}

void arcp__broker_serve_change(arcp__broker_task *task)
{
    const int parent = task->found[ARCP__BROKER_LOOK_PARENT];
    const char *leaf = arcp__broker_leaf(&task->facts.looks[ARCP__BROKER_LOOK_PARENT]);
    int error = EACCES;
    if (task->call.operation == ARCP__BROKER_RENAME) {
        error =
            rename_file(task, leaf, arcp__broker_leaf(&task->facts.looks[ARCP__BROKER_LOOK_OTHER]));
    } else if (task->call.operation == ARCP__BROKER_MKDIR) {
        error = make_directory(task, parent, leaf);
    } else {
        error = remove_name(task, parent, leaf);
    }
    if (error != 0) {
        arcp__broker_task_fail(task, error);
    } else {
        arcp__broker_task_return(task, 0);
    }
}
