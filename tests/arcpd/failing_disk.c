/* Loaded into arcpd with LD_PRELOAD. While the file named by ARCP_TEST_DISK exists, calls of one
 * kind on files of the database fail with EIO. The file contains a letter for the kind (r: reads,
 * w: writes, s: syncs) and optionally the number of such calls that still succeed. SQLite calls the
 * functions of the C library by these names.
 *
 * With the letter b, writes to the audit log wait until the file has been removed. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

typedef ssize_t read_function(int fd, void *bytes, size_t size, off64_t offset);
typedef ssize_t write_function(int fd, const void *bytes, size_t size, off64_t offset);
typedef ssize_t plain_write_function(int fd, const void *bytes, size_t size);
typedef int sync_function(int fd);

static bool is_part_of_path(int fd, const char *name)
{
    char link[32];
    char path[512];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    return strstr(path, name) != NULL;
}

static bool fails(int fd, char what)
{
    static atomic_ulong calls;
    char orders[16] = "";
    const char *path = getenv("ARCP_TEST_DISK");
    FILE *file = path == NULL || !is_part_of_path(fd, what == 'b' ? "/audit.jsonl" : "/arcp.db")
                     ? NULL
                     : fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    const bool found = fgets(orders, sizeof orders, file) != NULL && orders[0] == what &&
                       atomic_fetch_add(&calls, 1) >= strtoul(orders + 1, NULL, 10);
    (void)fclose(file);
    if (found) {
        errno = EIO;
    }
    return found;
}

/* The function of the C library with this name. POSIX allows the conversion of the pointer, C does
 * not. */
static void find(const char *name, void *function, size_t size)
{
    const void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, size);
}

/* The parameters' names are not the C library's:
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
REPLACES ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset)
{
    read_function *next = NULL;
    find("pread64", &next, sizeof next);
    return fails(fd, 'r') ? -1 : next(fd, bytes, size, offset);
}

REPLACES ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    write_function *next = NULL;
    find("pwrite64", &next, sizeof next);
    return fails(fd, 'w') ? -1 : next(fd, bytes, size, offset);
}

REPLACES ssize_t write(int fd, const void *bytes, size_t size)
{
    plain_write_function *next = NULL;
    const struct timespec pause = {.tv_nsec = 1000000};
    find("write", &next, sizeof next);
    while (fails(fd, 'b')) {
        (void)nanosleep(&pause, NULL);
    }
    return next(fd, bytes, size);
}

REPLACES int fdatasync(int fd)
{
    sync_function *next = NULL;
    find("fdatasync", &next, sizeof next);
    return fails(fd, 's') ? -1 : next(fd);
}

REPLACES int fsync(int fd)
{
    sync_function *next = NULL;
    find("fsync", &next, sizeof next);
    return fails(fd, 's') ? -1 : next(fd);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
