/* Opens files for the program, and truncates them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "broker/broker_task.h"

/* Flags of open that the descriptor keeps. O_NONBLOCK is set while it is opened, in any case: what
 * was a file at the last look may be a pipe now. */
enum { KEPT_FLAGS = O_APPEND | O_DIRECT | O_DSYNC | O_LARGEFILE | O_NOATIME | O_SYNC };

/* Where to open what may only be read: a read-only clone. With a descriptor of a file on a writable
 * mount its owner can change mode and times without the right to write. */
static int read_directory(const arcp__broker *broker, arcp_span real, const char **relative)
{
    const arcp__broker_clone *best = NULL;
    for (size_t i = 0; i < broker->clone_count; i++) {
        const arcp__broker_clone *clone = &broker->clones[i];
        if (clone->fd >= 0 && arcp__path_is_within(real, clone->path) &&
            (best == NULL || clone->path.size > best->path.size)) {
            best = clone;
        }
    }
    if (best != NULL) {
        *relative = real.data + (best->path.size == 1 ? 1 : best->path.size + 1);
        return best->fd;
    }
    *relative = real.data + 1;
    if (broker->plan->level != ARCP__SANDBOX_LEVEL_FULL) {
        return broker->host; /* changes of mode and times are the broker's there, too */
    }
    /* What a directory of the lease holds is open to the program at its own place. */
    const arcp__broker_class class = arcp__broker_classify(broker->classes, real);
    return (class.kernel & ARCP__SANDBOX_READ) != 0 ? broker->root : -1;
}

/* -1 and errno. */
static int open_existing(const arcp__broker_task *task)
{
    const arcp__broker_fact *fact = &task->facts.looks[ARCP__BROKER_LOOK_HOST];
    const bool is_path = (task->open_flags & O_PATH) != 0;
    const int access = is_path ? O_RDONLY : task->open_flags & O_ACCMODE;
    const char *relative = fact->real.data + 1;
    const int directory = access == O_RDONLY ? read_directory(task->broker, fact->real, &relative)
                                             : task->broker->host;
    errno = EACCES;
    const int kept = is_path ? 0 : task->open_flags & KEPT_FLAGS;
    return directory < 0 ? -1
                         : arcp__broker_open_beneath(directory, relative,
                                                     access | kept | O_NONBLOCK | O_NOCTTY, 0);
}

/* The program's umask; the most careful one when it cannot be read. */
static mode_t umask_of(const arcp__broker_task *task)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/%d/status", (int)task->request->pid);
    FILE *file = fopen(name, "re");
    if (file == NULL) {
        return S_IRWXG | S_IRWXO;
    }
    static const char name_of_line[] = "Umask:";
    char line[256];
    unsigned long bits = S_IRWXG | S_IRWXO;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name_of_line, sizeof name_of_line - 1) == 0) {
            bits = strtoul(line + sizeof name_of_line - 1, NULL, 8);
            break;
        }
    }
    (void)fclose(file);
    return (mode_t)bits & (S_IRWXU | S_IRWXG | S_IRWXO);
}

mode_t arcp__broker_mode_of(const arcp__broker_task *task)
{
    return task->mode & (S_IRWXU | S_IRWXG | S_IRWXO) & ~umask_of(task);
}

static int open_new(const arcp__broker_task *task)
{
    const arcp__broker_fact *fact = &task->facts.looks[ARCP__BROKER_LOOK_PARENT];
    const int flags = (task->open_flags & (O_ACCMODE | O_EXCL | KEPT_FLAGS)) | O_CREAT |
                      O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    return arcp__broker_open_beneath(task->found[ARCP__BROKER_LOOK_PARENT], arcp__broker_leaf(fact),
                                     flags, arcp__broker_mode_of(task));
}

static int truncate_found(int fd, off_t size)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return truncate(name, size) == 0 ? 0 : errno;
}

/* Whether it is a file, and the one that was looked at; after open, because a name can change. */
static bool is_expected(const arcp__broker_task *task, int fd, bool is_new)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        return false;
    }
    return is_new || arcp__broker_is_same(fd, task->found[ARCP__BROKER_LOOK_HOST]);
}

/* O_NONBLOCK was only for the opening, unless the program asked for it. */
static bool set_blocking(const arcp__broker_task *task, int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    return (task->open_flags & O_NONBLOCK) != 0 ||
           (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0);
}

static void serve_descriptor(arcp__broker_task *task)
{
    const bool is_new = task->facts.looks[ARCP__BROKER_LOOK_HOST].error != 0;
    const int fd = is_new ? open_new(task) : open_existing(task);
    if (fd < 0) {
        const int error = errno;
        arcp__broker_task_fail(task, error == EAGAIN || error == EXDEV ? EACCES : error);
        return;
    }
    int error = is_expected(task, fd, is_new) && set_blocking(task, fd) ? 0 : EACCES;
    const bool shortens = (task->open_flags & O_TRUNC) != 0 && (task->open_flags & O_PATH) == 0;
    if (error == 0 && shortens) {
        /* By the descriptor of the last look, because `fd` may be on a read-only mount. */
        error = truncate_found(is_new ? fd : task->found[ARCP__BROKER_LOOK_HOST], 0);
    }
    if (error != 0) {
        arcp__broker_task_fail(task, error);
    } else {
        arcp__broker_task_give(task, fd);
    }
    (void)close(fd);
}

void arcp__broker_serve_inside(arcp__broker_task *task)
{
    const arcp__broker_class class = arcp__broker_classify(task->broker->classes, task->call.path);
    const bool reads = (task->open_flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY &&
                       (task->call.flags & ARCP__BROKER_TEMPORARY) == 0;
    char path[ARCP__BROKER_PATH_MAX];
    if (!reads || class.place == ARCP__BROKER_PLACE_KERNEL || task->call.path.size >= sizeof path ||
        (class.kernel & ARCP__SANDBOX_READ) == 0) {
        arcp__broker_task_continue(task); /* of the listing, which is read-only and empty */
        return;
    }
    memcpy(path, task->call.path.data, task->call.path.size);
    path[task->call.path.size] = '\0';
    /* From the program's own root it is what an absolute name would open, directories too. Nothing
     * is followed, because the kernel does not judge by the rules what the broker opens. */
    const int fd = arcp__broker_open_beneath(
        task->broker->root, path[1] == '\0' ? "." : path + 1,
        (task->open_flags & (O_DIRECTORY | KEPT_FLAGS)) | O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    struct stat about;
    if (fd < 0) {
        arcp__broker_task_fail(task, errno == ENOENT || errno == ENOTDIR ? errno : EACCES);
        return;
    }
    if (fstat(fd, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) &&
        set_blocking(task, fd)) {
        arcp__broker_task_give(task, fd);
    } else {
        arcp__broker_task_fail(task, EACCES);
    }
    (void)close(fd);
}

void arcp__broker_serve_open(arcp__broker_task *task)
{
    if (task->call.operation == ARCP__BROKER_OPEN) {
        serve_descriptor(task);
        return;
    }
    const int error =
        truncate_found(task->found[ARCP__BROKER_LOOK_HOST], (off_t)task->request->data.args[1]);
    if (error != 0) {
        arcp__broker_task_fail(task, error);
    } else {
        arcp__broker_task_return(task, 0);
    }
}
