/* The lock is flock(2) on the database file itself. It follows the file through links and renames,
 * the kernel releases it when its owner exits for any reason, and the sqlite3 command, which uses
 * fcntl locks, can still read the file.
 *
 * Closing any descriptor of a file releases all fcntl locks that the process has on it, so this
 * descriptor stays open until SQLite has closed its own. */
#include "store/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "store/sqlite_log.h"

static arcp_status io_error(const char *path, const char *what, int code, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_IO, "%s: %s: %s", path, what, strerror(code));
}

/* Creates the directories above `path`. */
static arcp_status make_directories(const char *path, arcp_error *err)
{
    char directory[PATH_MAX];
    const size_t size = strlen(path);
    memcpy(directory, path, size + 1);
    for (char *slash = directory + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        if (mkdir(directory, 0700) == 0) {
            (void)arcp__directory_sync(directory);
        } else if (errno != EEXIST) {
            return io_error(directory, "the directory cannot be created", errno, err);
        }
        *slash = '/';
    }
    return ARCP_OK;
}

/* -1 on failure. */
static int open_or_create(const char *path, arcp_error *err)
{
    const int flags = O_RDWR | O_CLOEXEC;
    int fd = open(path, flags);
    if (fd < 0 && errno == ENOENT) {
        if (make_directories(path, err) != ARCP_OK) {
            return -1;
        }
        fd = open(path, flags | O_CREAT, 0600);
        if (fd >= 0) {
            (void)arcp__directory_sync(path);
        }
    }
    if (fd < 0) {
        (void)io_error(path, "cannot be opened for writing", errno, err);
    }
    return fd;
}

static arcp_status lock_file(const char *path, int fd, arcp_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return io_error(path, "cannot be checked", errno, err);
    }
    if (!S_ISREG(info.st_mode)) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: not a regular file", path);
    }
    /* Try for half a second: a child that a killed owner has just forked may hold the lock until it
     * executes its program. */
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK) {
            return io_error(path, "cannot be locked", errno, err);
        }
        if (tries == 25) {
            return arcp_error_set(err, ARCP_E_EXISTS,
                                  "%s: in use by another process (fuser shows which); stop it, or "
                                  "choose another store",
                                  path);
        }
        (void)poll(NULL, 0, 20);
    }
    return ARCP_OK;
}

/* A log without a database is a sign of a lost database: the log has its newest commits, and SQLite
 * would delete it. (The log is created only after the database is on disk.) */
static arcp_status refuse_lone_log(const char *path, arcp_error *err)
{
    struct stat info;
    char log[PATH_MAX + 8];
    if (err->status != ARCP_OK || (stat(path, &info) == 0 ? info.st_size != 0 : errno != ENOENT)) {
        return err->status;
    }
    snprintf(log, sizeof log, "%s-wal", path);
    if (stat(log, &info) != 0 || info.st_size == 0) {
        return ARCP_OK;
    }
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: belongs to a database that does not exist: put it back, or move the "
                          "log away",
                          log);
}

static void release(arcp__sqlite_file *file)
{
    close(file->fd);
    arcp__free(file->path);
    arcp__free(file->log);
    *file = (arcp__sqlite_file){.path = NULL};
}

arcp_status arcp__sqlite_file_open(const char *path, arcp__sqlite_file *out, arcp_error *err)
{
    const size_t size = strlen(path);
    if (size == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "the store has no path: must be sqlite:PATH");
    }
    if (size >= PATH_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "the store's path is longer than %d bytes",
                              PATH_MAX - 1);
    }
    const int fd = refuse_lone_log(path, err) == ARCP_OK ? open_or_create(path, err) : -1;
    if (fd < 0) {
        return err->status;
    }
    char resolved[PATH_MAX];
    if (lock_file(path, fd, err) == ARCP_OK && realpath(path, resolved) == NULL) {
        (void)io_error(path, "cannot be resolved", errno, err);
    }
    refuse_lone_log(resolved, err);
    arcp__sqlite_log_check(resolved, err);
    if (err->status != ARCP_OK) {
        close(fd);
        return err->status;
    }
    char log[PATH_MAX + 8];
    snprintf(log, sizeof log, "%s-wal", resolved);
    *out = (arcp__sqlite_file){.fd = fd,
                               .path = arcp__copy_cstr(resolved, strlen(resolved)),
                               .log = arcp__copy_cstr(log, strlen(log))};
    if (out->path == NULL || out->log == NULL) {
        release(out);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store");
    }
    return ARCP_OK;
}

void arcp__sqlite_file_close(arcp__sqlite_file *file)
{
    if (file->path != NULL) {
        release(file);
    }
}

arcp_status arcp__sqlite_file_note_log(arcp__sqlite_file *file, arcp_error *err)
{
    struct stat info;
    if (err->status != ARCP_OK) {
        return err->status;
    }
    if (stat(file->log, &info) != 0) {
        return io_error(file->log, "cannot be created", errno, err);
    }
    file->log_inode = info.st_ino;
    return ARCP_OK;
}

arcp_status arcp__sqlite_file_check(const arcp__sqlite_file *file, uint64_t log_bytes,
                                    arcp_error *err)
{
    struct stat ours;
    struct stat named;
    if (fstat(file->fd, &ours) != 0) {
        return io_error(file->path, "cannot be checked", errno, err);
    }
    if (stat(file->path, &named) != 0 || named.st_dev != ours.st_dev ||
        named.st_ino != ours.st_ino) {
        return arcp_error_set(err, ARCP_E_IO,
                              "%s: the file was deleted or moved while it was in use", file->path);
    }
    if ((uint64_t)named.st_size < file->bytes_min) {
        return arcp_error_set(err, ARCP_E_IO, "%s: the file was truncated while it was in use",
                              file->path);
    }
    if (stat(file->log, &named) != 0 || named.st_ino != file->log_inode) {
        return arcp_error_set(err, ARCP_E_IO,
                              "%s: the file was deleted or moved while it was in use", file->log);
    }
    if ((uint64_t)named.st_size < log_bytes) {
        return arcp_error_set(err, ARCP_E_IO, "%s: the file was truncated while it was in use",
                              file->log);
    }
    return ARCP_OK;
}

uint64_t arcp__sqlite_file_database_bytes(const arcp__sqlite_file *file)
{
    struct stat info;
    return fstat(file->fd, &info) == 0 ? (uint64_t)info.st_size : 0;
}

uint64_t arcp__sqlite_file_bytes(const arcp__sqlite_file *file)
{
    struct stat info;
    return arcp__sqlite_file_database_bytes(file) +
           (stat(file->log, &info) == 0 ? (uint64_t)info.st_size : 0);
}
