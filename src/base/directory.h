/* A name that was made or changed is durable when its directory is. For the folders that write
 * files: inline, so that libarcp itself does no I/O. */
#ifndef ARCP_BASE_DIRECTORY_H
#define ARCP_BASE_DIRECTORY_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The directory that holds `path`. */
static inline void arcp__directory_of(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(out, PATH_MAX, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
                   slash == NULL ? "." : path);
}

/* Syncs the directory that holds `path`: an error number, or 0, also where the file system cannot
 * sync directories. */
static inline int arcp__directory_sync(const char *path)
{
    char directory[PATH_MAX];
    arcp__directory_of(path, directory);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int number = fd < 0 || (fsync(fd) != 0 && errno != EINVAL) ? errno : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return number;
}

#endif
