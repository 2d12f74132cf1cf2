#include "worker/worker_place.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SOCKET_START "worker-"
#define SOCKET_END   ".sock"
#define LOCK_END     ".lock"

bool arcp__worker_is_store(const char *text)
{
    const size_t size = strlen(text);
    return size != 0 && size <= ARCP__WORKER_ID_MAX &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == size;
}

bool arcp__worker_store_of(const char *name, char *out)
{
    const size_t size = strlen(name);
    const size_t start = strlen(SOCKET_START);
    const size_t end = strlen(SOCKET_END);
    if (size <= start + end || size - start - end > ARCP__WORKER_ID_MAX ||
        strncmp(name, SOCKET_START, start) != 0 || strcmp(name + size - end, SOCKET_END) != 0) {
        return false;
    }
    memcpy(out, name + start, size - start - end);
    out[size - start - end] = '\0';
    return arcp__worker_is_store(out);
}

static bool make_path(const char *directory, const char *start, const char *store, const char *end,
                      char out[PATH_MAX])
{
    const int size = snprintf(out, PATH_MAX, "%s/%s%s%s", directory, start, store, end);
    return size > 0 && size < PATH_MAX;
}

bool arcp__worker_socket_path(const char *state, const char *store, char out[PATH_MAX])
{
    return make_path(state, SOCKET_START, store, SOCKET_END, out);
}

bool arcp__worker_lock_path(const char *state, const char *store, const char *instance,
                            char out[PATH_MAX])
{
    char end[ARCP__WORKER_ID_MAX + sizeof LOCK_END + 1];
    const int size =
        snprintf(end, sizeof end, "%s%s" LOCK_END, instance[0] == '\0' ? "" : ".", instance);
    return size > 0 && (size_t)size < sizeof end && make_path(state, SOCKET_START, store, end, out);
}

bool arcp__worker_instance_of(const char *name, const char *store, char *out)
{
    const size_t size = strlen(name);
    const size_t start = strlen(SOCKET_START) + strlen(store) + 1;
    const size_t end = strlen(LOCK_END);
    if (size <= start + end || size - start - end > ARCP__WORKER_ID_MAX ||
        strncmp(name, SOCKET_START, strlen(SOCKET_START)) != 0 ||
        strncmp(name + strlen(SOCKET_START), store, strlen(store)) != 0 || name[start - 1] != '.' ||
        strcmp(name + size - end, LOCK_END) != 0) {
        return false;
    }
    memcpy(out, name + start, size - start - end);
    out[size - start - end] = '\0';
    return true;
}

bool arcp__worker_jobs_path(const char *work, const char *store, char out[PATH_MAX])
{
    return make_path(work, "jobs-", store, "", out);
}

void arcp__worker_program_id(const char *path, char out[ARCP__WORKER_ID_MAX + 1])
{
    struct stat about;
    out[0] = '\0';
    if (stat(path, &about) == 0) {
        (void)snprintf(out, ARCP__WORKER_ID_MAX + 1, "%llx-%llx-%llx-%llx.%lx",
                       (unsigned long long)about.st_dev, (unsigned long long)about.st_ino,
                       (unsigned long long)about.st_size, (unsigned long long)about.st_mtim.tv_sec,
                       (unsigned long)about.st_mtim.tv_nsec);
    }
}
