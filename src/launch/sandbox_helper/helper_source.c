/* Where on the host the mounts of a plan come from.
 *
 * A symbolic link in a source could have been planted by an earlier job, to have another directory
 * mounted under a granted name. It is followed only when it belongs to root or to the operator and
 * lies in a directory that only these can change, and only to a place that the plan grants by its
 * own name too. So nothing needs to be mounted for it: inside it is a link to that place, with all
 * that protects files there. Owners are those of the host, therefore this runs before there is a
 * user namespace; mounts are then opened by the real name, without following anything. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "launch/sandbox_helper/helper.h"
#include "launch/sandbox_helper/helper_open.h"

#define LINKS_MAX 40 /* as the kernel */

/* A path on its way to being resolved: the part that has no link, and the rest. */
typedef struct path_walk {
    uid_t operator_uid;
    int directory;       /* O_PATH, of `real` */
    char real[PATH_MAX]; /* "" is the root */
    char rest[PATH_MAX];
    char link[PATH_MAX]; /* the text of the link at the end; "": it is none */
    unsigned links;
} path_walk;

static bool is_trusted(const path_walk *walk, uid_t uid)
{
    return uid == 0 || uid == walk->operator_uid;
}

static bool enter(path_walk *walk, int fd)
{
    if (fd >= 0) {
        (void)close(walk->directory);
        walk->directory = fd;
    }
    return fd >= 0;
}

static bool go_up(path_walk *walk)
{
    char *slash = strrchr(walk->real, '/');
    if (slash == NULL) {
        return true; /* the parent of the root is the root */
    }
    *slash = '\0';
    return enter(walk, arcp__helper_open(AT_FDCWD, walk->real[0] == '\0' ? "/" : walk->real,
                                         O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS));
}

/* Puts the text of a link before the rest. */
static bool follow(path_walk *walk, int fd, const struct stat *about)
{
    struct stat directory;
    char text[PATH_MAX];
    char rest[PATH_MAX];
    const ssize_t size = readlinkat(fd, "", text, sizeof text - 1);
    if (size < 0 || fstat(walk->directory, &directory) != 0) {
        return false;
    }
    text[size] = '\0';
    if (!is_trusted(walk, about->st_uid) || !is_trusted(walk, directory.st_uid) ||
        (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        errno = EPERM;
        return false;
    }
    const int written = snprintf(rest, sizeof rest, "%s/%s", text, walk->rest);
    if (++walk->links > LINKS_MAX || written >= (int)sizeof rest) {
        errno = walk->links > LINKS_MAX ? ELOOP : ENAMETOOLONG;
        return false;
    }
    memcpy(walk->rest, rest, (size_t)written + 1);
    if (text[0] != '/') {
        return true;
    }
    walk->real[0] = '\0';
    return enter(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Takes one component of the rest. With `keeps_last` a link at the end is not followed, but its
 * text is kept. */
static bool step(path_walk *walk, bool keeps_last)
{
    char name[NAME_MAX + 1];
    struct stat about;
    const char *start = walk->rest + strspn(walk->rest, "/");
    const size_t size = strcspn(start, "/");
    if (size > NAME_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(name, start, size);
    name[size] = '\0';
    memmove(walk->rest, start + size, strlen(start + size) + 1);
    if (size == 0 || strcmp(name, ".") == 0) {
        return true;
    }
    if (strcmp(name, "..") == 0) {
        return go_up(walk);
    }
    const int fd = openat(walk->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0) {
        return false;
    }
    const bool is_last = walk->rest[strspn(walk->rest, "/")] == '\0';
    if (S_ISLNK(about.st_mode) && !(is_last && keeps_last)) {
        const bool followed = follow(walk, fd, &about);
        const int number = errno;
        (void)close(fd);
        errno = number;
        return followed;
    }
    if (S_ISLNK(about.st_mode)) {
        const ssize_t got = readlinkat(fd, "", walk->link, sizeof walk->link - 1);
        if (got < 0) {
            return false;
        }
        walk->link[got] = '\0';
    }
    const size_t before = strlen(walk->real);
    if (before + 1 + size >= sizeof walk->real) {
        errno = ENAMETOOLONG;
        return false;
    }
    (void)snprintf(walk->real + before, sizeof walk->real - before, "/%s", name);
    return enter(walk, fd);
}

/* The real path of `path`, which is absolute; NULL sets errno. */
static char *resolve(const arcp__helper *helper, const char *path, bool keeps_last, char **link)
{
    static path_walk walk;
    const int fd = arcp__helper_open(AT_FDCWD, path, O_PATH, RESOLVE_NO_SYMLINKS);
    if (fd >= 0) {
        (void)close(fd);
        return arcp__copy_cstr(path, strlen(path));
    }
    if (errno != ELOOP) {
        return NULL;
    }
    walk.operator_uid = helper->operator_uid;
    walk.directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    walk.real[0] = '\0';
    walk.link[0] = '\0';
    walk.links = 0;
    bool goes_on = walk.directory >= 0 &&
                   snprintf(walk.rest, sizeof walk.rest, "%s", path) < (int)sizeof walk.rest;
    while (goes_on && walk.rest[strspn(walk.rest, "/")] != '\0') {
        goes_on = step(&walk, keeps_last);
    }
    const int number = errno;
    if (walk.directory >= 0) {
        (void)close(walk.directory);
    }
    errno = number;
    if (!goes_on) {
        return NULL;
    }
    if (walk.link[0] != '\0') {
        *link = arcp__copy_cstr(walk.link, strlen(walk.link));
    }
    const char *real = walk.real[0] == '\0' ? "/" : walk.real;
    return arcp__copy_cstr(real, strlen(real));
}

/* Whether the plan grants the real path of `mount` by another line. */
static bool is_granted(const arcp__sandbox_plan *plan, const arcp__sandbox_mount *mount,
                       const char *real)
{
    const arcp_span path = arcp_span_cstr(real);
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount *other = &plan->mounts[i];
        const bool is_whole = other->kind == ARCP__SANDBOX_MOUNT_ROOT ||
                              other->kind == ARCP__SANDBOX_MOUNT_TREE ||
                              other->kind == ARCP__SANDBOX_MOUNT_BASE;
        if (other != mount && other->source.size != 0 &&
            (other->is_writable || !mount->is_writable) &&
            ((is_whole && arcp__path_is_within(path, other->source)) ||
             (other->kind == ARCP__SANDBOX_MOUNT_FILE && arcp_span_equal(path, other->source)))) {
            return true;
        }
    }
    return false;
}

static void find_source(const arcp__helper *helper, const arcp__sandbox_mount *mount,
                        arcp__helper_source *out)
{
    const bool is_etc = mount->kind == ARCP__SANDBOX_MOUNT_ETC && mount->source.size == 0;
    const bool is_ours =
        mount->kind == ARCP__SANDBOX_MOUNT_ETC || mount->kind == ARCP__SANDBOX_MOUNT_FRESH;
    const bool is_tree = mount->kind == ARCP__SANDBOX_MOUNT_TREE;
    const bool can_be_absent = mount->kind == ARCP__SANDBOX_MOUNT_BASE ||
                               mount->kind == ARCP__SANDBOX_MOUNT_FILE ||
                               (is_tree && arcp__helper_tree_can_be_absent(helper->plan));
    char *link = NULL;
    out->path = is_etc ? helper->view.etc : arcp__copy_cstr(mount->source.data, mount->source.size);
    if (out->path == NULL || out->path[0] != '/') {
        errno = out->path == NULL ? ENOMEM : ENOENT;
        arcp__helper_fail_at(mount->target);
    }
    out->real = resolve(helper, out->path, mount->kind == ARCP__SANDBOX_MOUNT_BASE, &link);
    out->link = link;
    if (out->real == NULL) {
        if (!can_be_absent ||
            (errno != ENOENT && errno != ENOTDIR && (errno != EACCES || is_tree))) {
            arcp__helper_fail(out->path);
        }
        return;
    }
    if (strcmp(out->path, out->real) != 0) {
        if (!is_ours && !is_granted(helper->plan, mount, out->real)) {
            errno = EACCES;
            arcp__helper_fail(out->path);
        }
        if (!is_ours && out->link == NULL) {
            out->link = out->real;
        }
        arcp__helper_found(ARCP__HELPER_FOUND_LINKS, arcp_span_cstr(out->path), out->real);
    }
}

/* Whether nothing is at the path of the rule, or something of the other kind. What cannot be opened
 * for another reason is left to Landlock's own look. */
static bool is_absent(const arcp__sandbox_rule *rule)
{
    char path[PATH_MAX];
    struct stat about;
    (void)snprintf(path, sizeof path, "%.*s", (int)rule->path.size, rule->path.data);
    const int fd = arcp__helper_open(AT_FDCWD, path, O_PATH, RESOLVE_NO_SYMLINKS);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR;
    }
    const bool is_other = fstat(fd, &about) == 0 && rule->is_file == S_ISDIR(about.st_mode);
    (void)close(fd);
    errno = ENOTDIR;
    return is_other;
}

static void find_absent(const arcp__sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->rule_count; i++) {
        const arcp__sandbox_rule *rule = &plan->rules[i];
        if (rule->class == ARCP__SANDBOX_CLASS_LEASE && is_absent(rule)) {
            if (!rule->is_file && !arcp__helper_tree_can_be_absent(plan)) {
                arcp__helper_fail_at(rule->path);
            }
            arcp__helper_found(ARCP__HELPER_FOUND_ABSENT, rule->path,
                               rule->is_file ? "file" : "directory");
        }
    }
}

void arcp__helper_find_sources(arcp__helper *helper)
{
    const arcp__sandbox_plan *plan = helper->plan;
    arcp__helper_begin(ARCP__HELPER_LINKS);
    if (plan->level != ARCP__SANDBOX_LEVEL_FULL) {
        find_absent(plan);
        return;
    }
    helper->sources = arcp__alloc_array(plan->mount_count + 1, sizeof *helper->sources);
    if (helper->sources == NULL) {
        arcp__helper_fail(NULL);
    }
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount_kind kind = plan->mounts[i].kind;
        if (kind == ARCP__SANDBOX_MOUNT_BASE || kind == ARCP__SANDBOX_MOUNT_ETC ||
            kind == ARCP__SANDBOX_MOUNT_TREE || kind == ARCP__SANDBOX_MOUNT_FILE ||
            kind == ARCP__SANDBOX_MOUNT_FRESH) {
            find_source(helper, &plan->mounts[i], &helper->sources[i]);
        }
    }
}
