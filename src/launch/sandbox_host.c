#include "launch/sandbox_host.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"

/* ---- own files ---- */

static bool add_span(arcp__own_paths *own, arcp__own_list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (arcp_span_equal_cstr(list->paths[i], path)) {
            return true;
        }
    }
    arcp_span *grown =
        arcp__make_room(list->paths, list->count, &list->capacity, sizeof *list->paths);
    list->paths = grown == NULL ? list->paths : grown;
    const arcp_span copy = arcp__arena_copy(&own->arena, arcp_span_cstr(path));
    if (grown == NULL || copy.data == NULL) {
        return false;
    }
    list->paths[list->count++] = copy;
    return true;
}

void arcp__own_paths_add(arcp__own_paths *own, const char *path, bool is_directory)
{
    char resolved[PATH_MAX];
    struct stat about;
    const bool is_file = stat(path, &about) == 0 ? !S_ISDIR(about.st_mode) : !is_directory;
    const char *const names[] = {path, realpath(path, resolved)};
    for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
        if (!add_span(own, &own->all, names[i]) ||
            (is_file && !add_span(own, &own->files, names[i]))) {
            own->failed = true;
        }
    }
    if (names[1] != NULL && strcmp(names[0], names[1]) != 0 && !add_span(own, &own->links, path)) {
        own->failed = true;
    }
}

void arcp__own_paths_follow(arcp__own_paths *own)
{
    for (size_t i = 0; i < own->links.count; i++) {
        arcp__own_paths_add(own, own->links.paths[i].data, false);
    }
}

void arcp__own_paths_set(const arcp__own_paths *own, arcp__sandbox_request *request)
{
    request->own = own->all.paths;
    request->own_count = own->all.count;
    request->own_files = own->files.paths;
    request->own_file_count = own->files.count;
}

void arcp__own_paths_fini(arcp__own_paths *own)
{
    arcp__free(own->all.paths);
    arcp__free(own->files.paths);
    arcp__free(own->links.paths);
    arcp__arena_fini(&own->arena);
    *own = (arcp__own_paths){.failed = false};
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
        if (is_lease && mount->is_writable && arcp__path_is_within_cstr(path, mount->target.data)) {
            return true;
        }
    }
    return false;
}

static bool is_own_file(const arcp__sandbox_plan *plan, arcp_span path)
{
    for (size_t i = 0; i < plan->own_file_count; i++) {
        if (arcp_span_equal(plan->own_files[i], path)) {
            return true;
        }
    }
    return false;
}

arcp_status arcp__sandbox_make_own(const arcp__sandbox_plan *plan, arcp_error *err)
{
    for (size_t i = 0; i < plan->own_count; i++) {
        const char *path = plan->own[i].data;
        if (!is_own_file(plan, plan->own[i]) && is_written(plan, path) && access(path, F_OK) != 0 &&
            !arcp__make_directories(path) && errno != EACCES && errno != EPERM && errno != EROFS) {
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

bool arcp__sandbox_has_in_etc(const char *path)
{
    size_t count = 0;
    const arcp__sandbox_base_row *rows = arcp__sandbox_base_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].kind == ARCP__SANDBOX_BASE_ETC &&
            arcp__path_is_within_cstr(path, rows[i].path)) {
            return true;
        }
    }
    return false;
}

bool arcp__sandbox_reads_base(const arcp__sandbox_request *request, const char *path)
{
    const arcp_lease *lease = request->lease;
    const arcp__sandbox_plan own = {.own = request->own,
                                    .own_count = request->own_count,
                                    .own_files = request->own_files,
                                    .own_file_count = request->own_file_count};
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
            if (arcp__path_is_within_cstr(path, tree) &&
                !arcp__sandbox_holds_own_file(&own, arcp_span_cstr(tree))) {
                return true;
            }
        }
    }
    return false;
}
