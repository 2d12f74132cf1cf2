#include "launch/sandbox_host.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

bool arcp__path_is_within(const char *path, const char *directory)
{
    const size_t size = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    return strncmp(path, directory, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

/* ---- own files ---- */

void arcp__own_paths_add(arcp__own_paths *own, const char *path)
{
    char resolved[PATH_MAX];
    const char *const names[] = {path, realpath(path, resolved)};
    for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
        size_t j = 0;
        while (j < own->count && !arcp_span_equal_cstr(own->paths[j], names[i])) {
            j++;
        }
        if (j < own->count) {
            continue;
        }
        arcp_span *grown =
            arcp__make_room(own->paths, own->count, &own->capacity, sizeof *own->paths);
        own->paths = grown == NULL ? own->paths : grown;
        const arcp_span copy = arcp__arena_copy(&own->arena, arcp_span_cstr(names[i]));
        if (grown == NULL || copy.data == NULL) {
            own->failed = true;
            return;
        }
        own->paths[own->count++] = copy;
    }
}

void arcp__own_paths_fini(arcp__own_paths *own)
{
    arcp__free(own->paths);
    arcp__arena_fini(&own->arena);
    *own = (arcp__own_paths){.paths = NULL};
}

bool arcp__make_directories(const char *path)
{
    char part[PATH_MAX];
    if (strlen(path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1;; i++) {
        if (path[i] == '/' || path[i] == '\0') {
            memcpy(part, path, i);
            part[i] = '\0';
            if (mkdir(part, 0700) != 0 && errno != EEXIST) {
                return false;
            }
        }
        if (path[i] == '\0') {
            return true;
        }
    }
}

/* Whether the program may write to the host's directory that this path is in. */
static bool is_written(const arcp__sandbox_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &plan->mounts[i];
        const bool is_lease =
            mount->kind == ARCP__SANDBOX_MOUNT_TREE || mount->kind == ARCP__SANDBOX_MOUNT_ROOT;
        if (is_lease && mount->is_writable && arcp__path_is_within(path, mount->target.data)) {
            return true;
        }
    }
    return false;
}

arcp_status arcp__sandbox_make_own(const arcp__sandbox_plan *plan, arcp_error *err)
{
    for (size_t i = 0; i < plan->own_count; i++) {
        const char *path = plan->own[i].data;
        if (is_written(plan, path) && access(path, F_OK) != 0 && !arcp__make_directories(path) &&
            errno != EACCES && errno != EPERM && errno != EROFS) {
            return arcp_error_set(err, ARCP_E_IO,
                                  "%.200s must be protected, and cannot be made: %s", path,
                                  strerror(errno));
        }
    }
    return ARCP_OK;
}

/* ---- what a plan has ---- */

bool arcp__sandbox_needs_etc(const arcp__sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        if (plan->mounts[i].kind == ARCP__SANDBOX_MOUNT_ETC) {
            return true;
        }
    }
    return false;
}

bool arcp__sandbox_reads_base(const arcp__sandbox_request *request, const char *path)
{
    const arcp_lease *lease = request->lease;
    if (arcp__sandbox_level_of(&request->abilities) != ARCP__SANDBOX_LEVEL_FULL) {
        return false;
    }
    for (size_t i = 0; i < arcp_lease_capability_count(lease); i++) {
        if (!arcp_span_equal_cstr(arcp_lease_capability_name(lease, i), "fs.read")) {
            continue;
        }
        for (size_t j = 0; j < arcp_lease_pattern_count(lease, i); j++) {
            const arcp_span pattern = arcp_lease_pattern(lease, i, j);
            char tree[PATH_MAX];
            if (pattern.size < 3 || pattern.size >= sizeof tree ||
                memchr(pattern.data, '*', pattern.size) != pattern.data + pattern.size - 2 ||
                memcmp(pattern.data + pattern.size - 3, "/**", 3) != 0) {
                continue;
            }
            const size_t size = pattern.size == 3 ? 1 : pattern.size - 3;
            memcpy(tree, pattern.data, size);
            tree[size] = '\0';
            if (arcp__path_is_within(path, tree)) {
                return true;
            }
        }
    }
    return false;
}
