#include "worker/worker_place.h"

#include <stdio.h>
#include <string.h>

#include "worker/worker_core.h"

#define SOCKET_START "worker-"
#define SOCKET_END   ".sock"

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

bool arcp__worker_lock_path(const char *state, const char *store, char out[PATH_MAX])
{
    return make_path(state, SOCKET_START, store, ".lock", out);
}

bool arcp__worker_jobs_path(const char *work, const char *store, char out[PATH_MAX])
{
    return make_path(work, "jobs-", store, "", out);
}
