#include "arcp_worker/runtime_link.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/directory.h"
#include "process/process.h"
#include "stream/local_socket.h"
#include "worker/worker_place.h"

/* ---- the lock ---- */

/* What an earlier worker has left of its jobs' directories. */
static void empty_jobs(const arcp__runtime_place *place)
{
    char jobs[PATH_MAX];
    char path[PATH_MAX + 256];
    DIR *entries = arcp__worker_jobs_path(place->work, place->store, jobs) ? opendir(jobs) : NULL;
    if (entries == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            (void)snprintf(path, sizeof path, "%s/%s", jobs, entry->d_name);
            arcp__directory_remove(path);
        }
    }
    (void)closedir(entries);
}

static bool lock(int fd, int how)
{
    int result = 0;
    do {
        result = flock(fd, how);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/* The directory is emptied by a worker that is alone: the others have jobs there. */
static void share_jobs(arcp__runtime_place *place)
{
    char path[PATH_MAX];
    place->jobs = arcp__worker_jobs_path(place->work, place->store, path)
                      ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                      : -1;
    if (place->jobs >= 0 && lock(place->jobs, LOCK_EX | LOCK_NB)) {
        empty_jobs(place);
    }
    if (place->jobs >= 0) {
        (void)lock(place->jobs, LOCK_SH);
    }
}

/* A runtime takes locks that are free, and removes them. */
static bool is_still_there(int fd, const char *path)
{
    struct stat ours;
    struct stat there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

static arcp_status take_lock(arcp__runtime_place *place, arcp_error *err)
{
    char path[PATH_MAX];
    const bool is_alone = place->instance[0] == '\0';
    if (!arcp__worker_lock_path(place->state, place->store, place->instance, path)) {
        return arcp_error_set(err, ARCP_E_USAGE, "the path of the state directory is too long");
    }
    do {
        arcp__close(place->lock);
        place->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (place->lock < 0) {
            return arcp_error_set(err, ARCP_E_IO, "%.300s cannot be opened: %s", path,
                                  strerror(errno));
        }
        if (!lock(place->lock, is_alone ? LOCK_EX | LOCK_NB : LOCK_EX)) {
            const int number = errno;
            arcp__close(place->lock);
            place->lock = -1;
            return number == EWOULDBLOCK
                       ? arcp_error_set(err, ARCP_E_EXISTS,
                                        "another worker of this place runs: it holds %.300s", path)
                       : arcp_error_set(err, ARCP_E_IO, "%.300s cannot be locked: %s", path,
                                        strerror(number));
        }
    } while (!is_still_there(place->lock, path));
    share_jobs(place);
    return ARCP_OK;
}

arcp_status arcp__runtime_place_open(arcp__runtime_place *place, arcp_error *err)
{
    struct stat about;
    place->lock = place->jobs = -1;
    if (stat(place->state, &about) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "the state directory %.300s: %s", place->state,
                              strerror(errno));
    }
    if (!S_ISDIR(about.st_mode) || about.st_uid != geteuid() ||
        (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return arcp_error_set(
            err, ARCP_E_USAGE,
            "%.300s must be a directory that belongs to this user and that no other user can write",
            place->state);
    }
    return place->store[0] == '\0' ? ARCP_OK : take_lock(place, err);
}

bool arcp__runtime_place_is_gone(const arcp__runtime_place *place)
{
    char path[PATH_MAX];
    return place->lock >= 0 && place->instance[0] != '\0' &&
           arcp__worker_lock_path(place->state, place->store, place->instance, path) &&
           !is_still_there(place->lock, path);
}

void arcp__runtime_place_close(arcp__runtime_place *place)
{
    arcp__close(place->jobs);
    arcp__close(place->lock);
}

/* ---- connecting ---- */

/* *fd is -1 if no process listens. */
static arcp_status connect_to(const arcp__runtime_place *place, const char *store, int *fd,
                              arcp_error *err)
{
    char path[PATH_MAX];
    *fd = -1;
    if (!arcp__worker_socket_path(place->state, store, path) ||
        arcp__local_socket_connect(path, fd, NULL) != ARCP_OK) {
        return ARCP_OK;
    }
    if (!arcp__local_socket_is_ours(*fd, NULL)) {
        arcp__close(*fd);
        *fd = -1;
        return arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                              "%.300s: a process of another user listens there", path);
    }
    return ARCP_OK;
}

/* Connects to the first socket on which a runtime listens; its store is ours from then on. */
static arcp_status find(arcp__runtime_place *place, int *fd, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    DIR *entries = opendir(place->state);
    if (entries == NULL) {
        return ARCP_OK;
    }
    for (const struct dirent *entry = readdir(entries);
         entry != NULL && *fd < 0 && status == ARCP_OK; entry = readdir(entries)) {
        char store[ARCP__WORKER_ID_MAX + 1];
        if (arcp__worker_store_of(entry->d_name, store)) {
            status = connect_to(place, store, fd, err);
        }
        if (*fd >= 0) {
            memcpy(place->store, store, sizeof store);
        }
    }
    (void)closedir(entries);
    return status;
}

arcp_status arcp__runtime_place_connect(arcp__runtime_place *place, int *fd, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    *fd = -1;
    if (place->lock >= 0) {
        return connect_to(place, place->store, fd, err);
    }
    status = find(place, fd, err);
    if (status == ARCP_OK && *fd >= 0) {
        status = take_lock(place, err);
    }
    if (status != ARCP_OK) {
        arcp__close(*fd);
        *fd = -1;
    }
    return status;
}
