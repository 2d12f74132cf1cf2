#include "process/work_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arcp/buf.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "base/random.h"
#include "process/process.h"

#define RUN_PREFIX     "run-"
#define NOTE_PREFIX    "process-"
#define NOTE_BYTES_MAX 512

struct arcp__work_directory {
    int fd; /* with the lock */
    char path[4096];
    size_t base_size; /* of the path */
};

/* ---- directories ---- */

static bool find_user(const char *user, struct passwd *entry, char *buffer, size_t size)
{
    struct passwd *found = NULL;
    return getpwnam_r(user, entry, buffer, size, &found) == 0 && found != NULL;
}

arcp_status arcp__directory_make(const char *path, const char *user, arcp_error *err)
{
    if (mkdir(path, 0700) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be created: %s", path,
                              strerror(errno));
    }
    if (user == NULL) {
        return ARCP_OK;
    }
    char buffer[16384];
    struct passwd entry;
    const bool is_found = find_user(user, &entry, buffer, sizeof buffer);
    if (!is_found || lchown(path, entry.pw_uid, entry.pw_gid) != 0) {
        (void)rmdir(path);
        return arcp_error_set(err, is_found ? ARCP_E_IO : ARCP_E_USAGE,
                              "the directory %s cannot be given to the user \"%s\"", path, user);
    }
    return ARCP_OK;
}

static int open_directory(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool write_all(int fd, arcp_span text)
{
    while (text.size != 0) {
        const ssize_t written = write(fd, text.data, text.size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text = arcp_span_from(text, written < 0 ? 0 : (size_t)written);
    }
    return true;
}

arcp_status arcp__directory_add(const char *path, const char *name, arcp_span text,
                                const char *user, arcp_error *err)
{
    char buffer[16384];
    struct passwd entry = {.pw_uid = (uid_t)-1, .pw_gid = (gid_t)-1};
    const int directory = open_directory(AT_FDCWD, path);
    const int file =
        directory < 0
            ? -1
            : openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool is_made = file >= 0 && write_all(file, text) &&
                         (user == NULL || (find_user(user, &entry, buffer, sizeof buffer) &&
                                           fchown(file, entry.pw_uid, entry.pw_gid) == 0));
    const int number = errno;
    if (file >= 0) {
        (void)close(file);
    }
    if (directory >= 0) {
        (void)close(directory);
    }
    return is_made ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_IO, "the file %s/%s cannot be created: %s", path,
                                    name, strerror(number));
}

static bool lock(int fd, bool waits)
{
    int result;
    do {
        result = flock(fd, LOCK_EX | (waits ? 0 : LOCK_NB));
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/* ---- notes ---- */

static void note_name(pid_t pid, char out[32])
{
    (void)snprintf(out, 32, NOTE_PREFIX "%d", (int)pid);
}

void arcp__work_directory_note(const arcp__work_directory *directory, pid_t pid)
{
    char name[32];
    char text[ARCP__ORPHAN_TEXT_SIZE];
    arcp__orphan orphan;
    note_name(pid, name);
    if (!arcp__orphan_identify(pid, &orphan)) {
        return;
    }
    const size_t size = arcp__orphan_format(&orphan, text);
    const int fd =
        openat(directory->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        const ssize_t written = write(fd, text, size);
        (void)written; /* a truncated note is ignored when it is read */
        (void)close(fd);
    }
}

void arcp__work_directory_forget(const arcp__work_directory *directory, pid_t pid)
{
    char name[32];
    note_name(pid, name);
    (void)unlinkat(directory->fd, name, 0);
}

static bool read_note(int run, const char *name, arcp__orphan *out)
{
    char text[NOTE_BYTES_MAX];
    const int fd = openat(run, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const ssize_t size = read(fd, text, sizeof text);
    (void)close(fd);
    return size > 0 && arcp__orphan_parse(arcp_span_make(text, (size_t)size), out);
}

/* ---- cleaning up after earlier runs ---- */

static size_t kill_noted(int run, const char *path)
{
    arcp_buf found = arcp_buf_init(); /* of arcp__orphan */
    DIR *entries = arcp__directory_entries(run, ".");
    if (entries == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        arcp__orphan orphan;
        if (strncmp(entry->d_name, NOTE_PREFIX, strlen(NOTE_PREFIX)) == 0 &&
            read_note(run, entry->d_name, &orphan)) {
            arcp_buf_append(&found, arcp_span_make((const char *)&orphan, sizeof orphan));
        }
    }
    (void)closedir(entries);
    const size_t killed =
        arcp__orphan_kill((const arcp__orphan *)(const void *)found.data,
                          found.size / sizeof(arcp__orphan), arcp_span_cstr(path));
    arcp_buf_fini(&found);
    return killed;
}

/* Cleans up runs that have ended, whose directories are not locked. */
static size_t sweep(int base, const char *base_path)
{
    size_t killed = 0;
    DIR *entries = opendir(base_path);
    if (entries == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        char path[4096];
        if (strncmp(entry->d_name, RUN_PREFIX, strlen(RUN_PREFIX)) != 0) {
            continue;
        }
        const int run = open_directory(base, entry->d_name);
        const int written = snprintf(path, sizeof path, "%s/%s", base_path, entry->d_name);
        if (run >= 0 && written > 0 && (size_t)written < sizeof path && lock(run, false)) {
            killed += kill_noted(run, path);
            arcp__directory_remove(path);
        }
        arcp__close(run);
    }
    (void)closedir(entries);
    return killed;
}

/* ---- the directory of this run ---- */

static arcp_status make_run(const char *base, arcp__work_directory *directory, arcp_error *err)
{
    unsigned char random[6];
    arcp__random(random, sizeof random);
    const int written = snprintf(directory->path, sizeof directory->path,
                                 "%s/" RUN_PREFIX "%02x%02x%02x%02x%02x%02x", base, random[0],
                                 random[1], random[2], random[3], random[4], random[5]);
    if (written < 0 || (size_t)written >= sizeof directory->path - 300) {
        return arcp_error_set(err, ARCP_E_USAGE, "the path of the work directory is too long");
    }
    directory->base_size = strlen(base);
    arcp_status status = arcp__directory_make(directory->path, NULL, err);
    if (status != ARCP_OK) {
        return status;
    }
    directory->fd = open_directory(AT_FDCWD, directory->path);
    /* Agents with other users can pass through the directory, but not list it. */
    if (directory->fd < 0 || fchmod(directory->fd, 0711) != 0 || !lock(directory->fd, false)) {
        status = arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be locked: %s",
                                directory->path, strerror(errno));
        (void)rmdir(directory->path);
    }
    return status;
}

arcp_status arcp__work_directory_open(const char *base, arcp__work_directory **out, size_t *killed,
                                      arcp_error *err)
{
    char path[4096]; /* without symbolic links, as in /proc/PID/cwd */
    arcp__work_directory *directory = arcp__alloc(sizeof *directory);
    if (directory == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    directory->fd = -1;
    (void)mkdir(base, 0711);
    const int base_fd = realpath(base, path) == NULL ? -1 : open_directory(AT_FDCWD, path);
    arcp_status status = ARCP_OK;
    if (base_fd < 0 || !lock(base_fd, true)) {
        status = arcp_error_set(err, ARCP_E_IO, "the work directory %s cannot be used: %s", base,
                                strerror(errno));
    } else {
        const size_t count = sweep(base_fd, path);
        if (killed != NULL) {
            *killed = count;
        }
        status = make_run(path, directory, err);
    }
    arcp__close(base_fd);
    if (status == ARCP_OK) {
        *out = directory;
        return ARCP_OK;
    }
    arcp__close(directory->fd);
    arcp__free(directory);
    return status;
}

void arcp__work_directory_close(arcp__work_directory *directory)
{
    if (directory == NULL) {
        return;
    }
    arcp__directory_remove(directory->path);
    (void)close(directory->fd);
    arcp__free(directory);
}

const char *arcp__work_directory_path(const arcp__work_directory *directory)
{
    return directory->path;
}

arcp_span arcp__work_directory_base(const arcp__work_directory *directory)
{
    return arcp_span_make(directory->path, directory->base_size);
}
