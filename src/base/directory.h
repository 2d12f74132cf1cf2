/* Directories and descriptors: inline, so that libarcp itself does no I/O. A file name that was
 * created or changed is durable once its directory was synced. */
#ifndef ARCP_BASE_DIRECTORY_H
#define ARCP_BASE_DIRECTORY_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <arcp/span.h>

/* -1 is accepted. */
static inline void arcp__close(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* Writes all bytes to a blocking descriptor. False sets errno. */
static inline bool arcp__write_all(int fd, arcp_span bytes)
{
    while (bytes.size != 0) {
        const ssize_t written = write(fd, bytes.data, bytes.size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes = arcp_span_from(bytes, written < 0 ? 0 : (size_t)written);
    }
    return true;
}

/* Opens the directory `name` below `parent`, which must not be a symbolic link, to read its
 * entries. NULL sets errno. */
static inline DIR *arcp__directory_entries(int parent, const char *name)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL) {
        arcp__close(fd);
    }
    return entries;
}

/* The directory that contains `path`. */
static inline void arcp__directory_of(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(out, PATH_MAX, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
                   slash == NULL ? "." : path);
}

/* Syncs the directory that contains `path`. Returns an error number, or 0; also 0 if the file
 * system cannot sync directories. */
static inline int arcp__directory_sync(const char *path)
{
    char directory[PATH_MAX];
    arcp__directory_of(path, directory);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int number = fd < 0 || (fsync(fd) != 0 && errno != EINVAL) ? errno : 0;
    arcp__close(fd);
    return number;
}

#endif
