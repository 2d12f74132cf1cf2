/* Paths: their order, and what a plan makes of them. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "core/glob_pattern.h"
#include "core/glob_set.h"
#include "core/target.h"
#include "sandbox/sandbox_parts.h"

int arcp__sandbox_compare_paths(arcp_span a, arcp_span b)
{
    const size_t shared = a.size < b.size ? a.size : b.size;
    for (size_t i = 0; i < shared; i++) {
        if (a.data[i] != b.data[i]) {
            /* A slash comes before all other bytes, so that nothing is between a directory and what
             * it holds. */
            const int left = a.data[i] == '/' ? 0 : (unsigned char)a.data[i];
            const int right = b.data[i] == '/' ? 0 : (unsigned char)b.data[i];
            return left - right;
        }
    }
    return a.size == b.size ? 0 : a.size < b.size ? -1 : 1;
}

bool arcp__sandbox_is_system(arcp_span path)
{
    static const char *const directories[] = {"/proc", "/sys", "/dev"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        if (arcp__path_is_within(path, arcp_span_cstr(directories[i]))) {
            return true;
        }
    }
    return false;
}

const char *arcp__sandbox_path_fault(arcp_span path)
{
    if (path.size == 0 || path.data[0] != '/') {
        return "is not absolute";
    }
    if (path.size > ARCP_TARGET_BYTES_MAX) {
        return "is too long";
    }
    if (!arcp__utf8_is_valid(path)) {
        return "is not UTF-8";
    }
    arcp_target_scratch scratch;
    arcp_span canonical = {NULL, 0};
    const bool is_canonical =
        arcp__target_canonicalise(ARCP__CAPABILITY_FS_READ, ARCP_SPAN_LITERAL("/"), path, &scratch,
                                  &canonical) == ARCP_DENY_NONE &&
        arcp_span_equal(canonical, path);
    return is_canonical ? NULL : "is not canonical";
}

/* ---- the runtime's own ---- */

/* What a suffix of an own file's name begins with. */
static const char suffixes[] = ".-~";

bool arcp__sandbox_is_own(const arcp__sandbox_plan *plan, arcp_span path)
{
    if (arcp__path_is_within_any(path, plan->own, plan->own_count)) {
        return true;
    }
    for (size_t i = 0; i < plan->own_file_count; i++) {
        const arcp_span file = plan->own_files[i];
        if (path.size > file.size && arcp_span_starts_with(path, file) &&
            strchr(suffixes, path.data[file.size]) != NULL) {
            return true;
        }
    }
    return false;
}

bool arcp__sandbox_holds_own_file(const arcp__sandbox_plan *plan, arcp_span directory)
{
    for (size_t i = 0; i < plan->own_file_count; i++) {
        const arcp_span file = plan->own_files[i];
        bool is_alone = file.size > directory.size && arcp__path_is_within(file, directory) &&
                        !arcp__sandbox_is_system(file);
        for (size_t j = 0; is_alone && j < plan->own_count; j++) {
            is_alone =
                arcp_span_equal(plan->own[j], file) || !arcp__path_is_within(file, plan->own[j]);
        }
        if (is_alone) {
            return true;
        }
    }
    return false;
}

/* Whether the pattern matches something below the directory. */
static bool reaches_below(arcp_span pattern, arcp_span directory)
{
    char below[ARCP_TARGET_BYTES_MAX + 1];
    if (directory.size > ARCP_TARGET_BYTES_MAX) {
        return false;
    }
    memcpy(below, directory.data, directory.size);
    size_t size = directory.size;
    if (size > 1) {
        below[size++] = '/';
    }
    return arcp__glob_reaches(ARCP__TARGET_PATH, pattern, arcp_span_make(below, size));
}

bool arcp__sandbox_pattern_meets(arcp_span pattern, arcp_span path)
{
    return reaches_below(pattern, path) ||
           arcp__glob_matches_alone(ARCP__TARGET_PATH, pattern, path);
}

bool arcp__sandbox_pattern_meets_own(const arcp__sandbox_plan *plan, arcp_span pattern)
{
    char begun[ARCP_TARGET_BYTES_MAX + 1];
    for (size_t i = 0; i < plan->own_count; i++) {
        if (arcp__sandbox_pattern_meets(pattern, plan->own[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < plan->own_file_count; i++) {
        const arcp_span file = plan->own_files[i];
        memcpy(begun, file.data, file.size); /* at most ARCP_TARGET_BYTES_MAX, as was checked */
        for (const char *suffix = suffixes; *suffix != '\0'; suffix++) {
            begun[file.size] = *suffix;
            if (arcp__glob_reaches(ARCP__TARGET_PATH, pattern,
                                   arcp_span_make(begun, file.size + 1))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- the paths of a plan ---- */

struct arcp__sandbox_paths {
    const arcp__sandbox_plan *plan;
    arcp__glob_set *reads; /* owned */
    arcp__glob_set *writes;
};

void arcp__sandbox_paths_free(arcp__sandbox_paths *paths)
{
    if (paths != NULL) {
        arcp__glob_set_free(paths->reads);
        arcp__glob_set_free(paths->writes);
        arcp__free(paths);
    }
}

arcp_status arcp__sandbox_paths_new(const arcp__sandbox_plan *plan, arcp__sandbox_paths **out,
                                    arcp_error *err)
{
    arcp__sandbox_paths *paths = arcp__alloc(sizeof *paths);
    if (paths == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    paths->plan = plan;
    arcp_status status = arcp__glob_set_compile(ARCP__CAPABILITY_FS_READ, plan->reads,
                                                plan->read_count, &paths->reads, err);
    if (status == ARCP_OK) {
        status = arcp__glob_set_compile(ARCP__CAPABILITY_FS_WRITE, plan->writes, plan->write_count,
                                        &paths->writes, err);
    }
    if (status != ARCP_OK) {
        arcp__sandbox_paths_free(paths);
        return status;
    }
    *out = paths;
    return ARCP_OK;
}

/* The first mount, in the plan's order, whose target is not before the path. */
static size_t lower_mount(const arcp__sandbox_plan *plan, arcp_span path)
{
    size_t low = 0;
    size_t high = plan->mount_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (arcp__sandbox_compare_paths(plan->mounts[middle].target, path) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static size_t lower_rule(const arcp__sandbox_plan *plan, arcp_span path)
{
    size_t low = 0;
    size_t high = plan->rule_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (arcp__sandbox_compare_paths(plan->rules[middle].path, path) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_fresh_path(const arcp__sandbox_plan *plan, arcp_span path)
{
    return plan->fresh.size != 0 && arcp__path_is_within(path, plan->fresh);
}

static arcp__sandbox_class class_of_mount(arcp__sandbox_mount_kind kind)
{
    switch (kind) {
    case ARCP__SANDBOX_MOUNT_ROOT:
    case ARCP__SANDBOX_MOUNT_TREE:
    case ARCP__SANDBOX_MOUNT_FILE:
    case ARCP__SANDBOX_MOUNT_PIN:
    case ARCP__SANDBOX_MOUNT_GIT:
        return ARCP__SANDBOX_CLASS_LEASE;
    case ARCP__SANDBOX_MOUNT_PRIVATE:
    case ARCP__SANDBOX_MOUNT_FRESH:
        return ARCP__SANDBOX_CLASS_PRIVATE;
    case ARCP__SANDBOX_MOUNT_BASE:
    case ARCP__SANDBOX_MOUNT_ETC:
    case ARCP__SANDBOX_MOUNT_COVER: /* what the base hides; the runtime's own were found before */
    case ARCP__SANDBOX_MOUNT_KIND_COUNT:
        break;
    }
    return ARCP__SANDBOX_CLASS_BASE;
}

/* Whether the protection of the .git in `tree` covers the path. */
static bool is_protected(const arcp__sandbox_plan *plan, arcp_span tree, arcp_span path)
{
    const arcp_span rest = arcp_span_from(path, tree.size);
    /* Where nothing is mounted, git cannot run, and what is new in .git would not be reported. */
    if (plan->protect == ARCP__SANDBOX_PROTECT_STRICT || plan->is_late) {
        return arcp__path_is_within(rest, ARCP_SPAN_LITERAL("/.git"));
    }
    return arcp_span_equal_cstr(rest, "/.git") ||
           arcp__path_is_within(rest, ARCP_SPAN_LITERAL("/.git/hooks")) ||
           arcp__path_is_within(rest, ARCP_SPAN_LITERAL("/.git/config"));
}

/* The deepest mount at or above a path, and whether its writes are kept off there. */
typedef struct footing {
    const arcp__sandbox_mount *mount; /* NULL: the sandbox's own root */
    bool is_protected;                /* a .git */
} footing;

static footing find_footing(const arcp__sandbox_plan *plan, arcp_span path)
{
    footing found = {NULL, false};
    for (arcp_span at = path;; at = arcp__path_parent(at)) {
        for (size_t i = lower_mount(plan, at);
             i < plan->mount_count && arcp_span_equal(plan->mounts[i].target, at); i++) {
            const arcp__sandbox_mount *mount = &plan->mounts[i];
            if (mount->kind == ARCP__SANDBOX_MOUNT_GIT) {
                /* A directory that is granted inside of .git is not protected. */
                const bool is_deeper =
                    found.mount != NULL && found.mount->target.size > at.size + strlen("/.git");
                found.is_protected =
                    found.is_protected || (!is_deeper && is_protected(plan, at, path));
            } else if ((found.mount == NULL || found.mount->target.size == at.size) &&
                       (mount->kind != ARCP__SANDBOX_MOUNT_FILE || at.size == path.size)) {
                /* Nothing is below a file; a directory in its place is not mounted. */
                found.mount = mount;
            }
        }
        if (at.size == 1) {
            return found;
        }
    }
}

bool arcp__sandbox_is_kernels(const arcp__sandbox_plan *plan, arcp__capability capability,
                              arcp_span pattern)
{
    const arcp_span prefix = arcp__glob_literal_prefix(pattern);
    const uint32_t wanted =
        capability == ARCP__CAPABILITY_FS_WRITE ? ARCP__SANDBOX_WRITE : ARCP__SANDBOX_READ;
    if (!arcp_span_ends_with(prefix, ARCP_SPAN_LITERAL("/")) ||
        !arcp_span_equal_cstr(arcp_span_from(pattern, prefix.size), "**")) {
        return false;
    }
    const arcp_span directory = arcp_span_first(prefix, prefix.size == 1 ? 1 : prefix.size - 1);
    if (is_fresh_path(plan, directory)) {
        return true;
    }
    for (arcp_span at = directory;; at = arcp__path_parent(at)) {
        for (size_t i = lower_rule(plan, at);
             i < plan->rule_count && arcp_span_equal(plan->rules[i].path, at); i++) {
            const arcp__sandbox_rule *rule = &plan->rules[i];
            if (rule->class == ARCP__SANDBOX_CLASS_LEASE && !rule->is_file &&
                (rule->rights & wanted) != 0) {
                return true;
            }
        }
        if (at.size == 1) {
            return false;
        }
    }
}

/* Whether the path is in a private directory, at level landlock. */
static bool is_scratch_path(const arcp__sandbox_plan *plan, arcp_span path, arcp_span directory)
{
    if (!arcp__path_is_within(path, directory)) {
        return false;
    }
    const size_t at = lower_rule(plan, directory);
    return at < plan->rule_count && arcp_span_equal(plan->rules[at].path, directory) &&
           plan->rules[at].class == ARCP__SANDBOX_CLASS_PRIVATE;
}

/* Whether the path is in a directory that was made for this sandbox. */
static bool is_made_path(const arcp__sandbox_plan *plan, arcp_span path)
{
    return is_fresh_path(plan, path) ||
           (plan->level != ARCP__SANDBOX_LEVEL_FULL &&
            (is_scratch_path(plan, path, plan->home) || is_scratch_path(plan, path, plan->tmp)));
}

arcp__sandbox_place arcp__sandbox_paths_find(const arcp__sandbox_paths *paths, arcp_span path)
{
    const arcp__sandbox_plan *plan = paths->plan;
    const bool is_fresh = is_fresh_path(paths->plan, path);
    arcp__sandbox_place place = {ARCP__SANDBOX_CLASS_OUTSIDE, 0, 0};
    if (!is_made_path(plan, path) && arcp__sandbox_is_own(plan, path)) {
        place.class = ARCP__SANDBOX_CLASS_OWN;
        return place;
    }
    for (arcp_span at = path;; at = arcp__path_parent(at)) {
        for (size_t i = lower_rule(plan, at);
             i < plan->rule_count && arcp_span_equal(plan->rules[i].path, at); i++) {
            const arcp__sandbox_rule *rule = &plan->rules[i];
            if (rule->is_file && at.size != path.size) {
                continue;
            }
            place.rights |= rule->rights;
            if (rule->class == ARCP__SANDBOX_CLASS_LEASE) {
                place.lease_rights |= rule->rights;
            }
            if (place.class == ARCP__SANDBOX_CLASS_OUTSIDE) {
                place.class = rule->class;
            }
        }
        if (at.size == 1) {
            break;
        }
    }
    if (plan->level == ARCP__SANDBOX_LEVEL_FULL) {
        const footing on = find_footing(plan, path);
        uint32_t rights = ARCP__SANDBOX_ALL_RIGHTS;
        place.class =
            on.mount == NULL ? ARCP__SANDBOX_CLASS_OUTSIDE : class_of_mount(on.mount->kind);
        if (on.mount == NULL || on.mount->kind == ARCP__SANDBOX_MOUNT_COVER) {
            rights = 0;
        } else if (!on.mount->is_writable || on.is_protected) {
            rights &= ~(uint32_t)ARCP__SANDBOX_WRITE;
        }
        place.rights &= rights;
        place.lease_rights &= rights;
    }
    if (!is_fresh && arcp__sandbox_is_system(path)) {
        place.class = ARCP__SANDBOX_CLASS_SYSTEM;
        place.lease_rights = 0;
    }
    return place;
}

/* Whether the path is of a protected .git in a directory that the broker serves. */
static bool is_served_git(const arcp__sandbox_plan *plan, arcp_span path)
{
    if (plan->protect == ARCP__SANDBOX_PROTECT_NONE) {
        return false;
    }
    for (size_t i = 0; i < plan->write_count; i++) {
        const arcp_span pattern = plan->writes[i];
        const arcp_span prefix = arcp__glob_literal_prefix(pattern);
        const arcp_span tree = arcp_span_first(prefix, prefix.size > 1 ? prefix.size - 1 : 0);
        if (tree.size != 0 && arcp__path_is_within(path, tree) && is_protected(plan, tree, path) &&
            arcp_span_equal_cstr(arcp_span_from(pattern, tree.size), "/**") &&
            !arcp__sandbox_is_kernels(plan, ARCP__CAPABILITY_FS_WRITE, pattern)) {
            return true;
        }
    }
    return false;
}

/* Whether the path is read-only, although a pattern may grant writing it. */
static bool is_kept(const arcp__sandbox_plan *plan, arcp_span path)
{
    if (plan->is_late && is_served_git(plan, path)) {
        return true;
    }
    if (plan->level == ARCP__SANDBOX_LEVEL_FULL) {
        const footing on = find_footing(plan, path);
        if (on.is_protected || on.mount == NULL || on.mount->kind != ARCP__SANDBOX_MOUNT_BASE) {
            return on.is_protected || is_served_git(plan, path);
        }
    }
    for (size_t i = plan->lease_line_count; i < plan->line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        if (line->verdict == ARCP__SANDBOX_VERDICT_EXACT &&
            arcp_span_equal_cstr(line->capability, "base") &&
            !arcp_span_equal_cstr(line->pattern, "/usr") &&
            arcp__path_is_within(path, line->pattern)) {
            return true;
        }
    }
    return false;
}

bool arcp__sandbox_paths_grant(const arcp__sandbox_paths *paths, arcp__capability capability,
                               arcp_span path)
{
    const arcp__sandbox_plan *plan = paths->plan;
    const bool is_write = capability == ARCP__CAPABILITY_FS_WRITE;
    const bool is_fresh = is_fresh_path(paths->plan, path);
    if (!is_fresh && (arcp__sandbox_is_own(plan, path) || arcp__sandbox_is_system(path))) {
        return false;
    }
    return arcp__glob_set_match(is_write ? paths->writes : paths->reads, path, NULL) &&
           (!is_write || is_fresh || !is_kept(plan, path));
}
