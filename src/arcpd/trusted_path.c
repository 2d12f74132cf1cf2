#include "arcpd/arcpd.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE 022u
#define OTHERS_READ  004u
#define NAMES_BYTES  16384

/* A group that has no other member than the owner: many systems create one for each user, and use a
 * umask of 002. */
static bool is_private_group(uid_t owner, gid_t group)
{
    char user_bytes[NAMES_BYTES];
    char group_bytes[NAMES_BYTES];
    struct passwd user;
    struct group members;
    struct passwd *user_found = NULL;
    struct group *group_found = NULL;
    return getpwuid_r(owner, &user, user_bytes, sizeof user_bytes, &user_found) == 0 &&
           user_found != NULL && user.pw_gid == group &&
           getgrgid_r(group, &members, group_bytes, sizeof group_bytes, &group_found) == 0 &&
           group_found != NULL && strcmp(members.gr_name, user.pw_name) == 0 &&
           (members.gr_mem[0] == NULL ||
            (strcmp(members.gr_mem[0], user.pw_name) == 0 && members.gr_mem[1] == NULL));
}

/* `sticky_passes`: accept a world-writable directory that has the sticky bit. */
static arcp_status check_one(const char *what, const char *path, const struct stat *about,
                             bool sticky_passes, arcp_error *err)
{
    mode_t open_to = about->st_mode & OTHERS_WRITE;
    if (about->st_uid != 0 && about->st_uid != geteuid()) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: %s belongs to user %u, who is neither root nor the user that "
                              "arcpd runs as (%u): chown it",
                              what, path, (unsigned)about->st_uid, (unsigned)geteuid());
    }
    if ((open_to & S_IWGRP) != 0 && is_private_group(about->st_uid, about->st_gid)) {
        open_to &= ~(mode_t)S_IWGRP;
    }
    if (open_to != 0 && !(sticky_passes && (about->st_mode & S_ISVTX) != 0)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: %s can be changed by other users (mode %04o): chmod go-w it",
                              what, path, (unsigned)(about->st_mode & 07777));
    }
    return ARCP_OK;
}

/* ---- the way to a file ----
 *
 * Each directory and link on the way is checked, the last ones too: who can change one of them
 * chooses the file. */

#define LINKS_MAX 40u /* of the kernel */

typedef struct way {
    char done[PATH_MAX];  /* absolute, without "." and "..", and without links but for its end */
    char ahead[PATH_MAX]; /* the names to come */
} way;

static arcp_status cannot_check(const char *what, const char *path, int number, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_USAGE, "%s: %s cannot be checked: %s", what, path,
                          strerror(number));
}

/* The names of `text`, from its directory or the root, come before those that are ahead. False: too
 * long. */
static bool put_ahead(way *w, const char *text)
{
    char rest[PATH_MAX];
    (void)snprintf(rest, sizeof rest, "%s", w->ahead);
    if (text[0] == '/') {
        w->done[0] = '\0';
    }
    const int size = snprintf(w->ahead, sizeof w->ahead, "%s/%s", text, rest);
    return size >= 0 && (size_t)size < sizeof w->ahead;
}

static void leave_name(way *w)
{
    char *slash = strrchr(w->done, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
}

static bool has_name(const way *w)
{
    return w->ahead[strspn(w->ahead, "/")] != '\0';
}

/* Goes on to the next name. False: too long. */
static bool take_name(way *w)
{
    const char *name = w->ahead + strspn(w->ahead, "/");
    const size_t size = strcspn(name, "/");
    const size_t used = strlen(w->done);
    if (size == 2 && memcmp(name, "..", 2) == 0) {
        leave_name(w);
    } else if (size != 1 || name[0] != '.') {
        if (used + 1 + size >= sizeof w->done) {
            return false;
        }
        w->done[used] = '/';
        memcpy(w->done + used + 1, name, size);
        w->done[used + 1 + size] = '\0';
    }
    memmove(w->ahead, name + size, strlen(name + size) + 1);
    return true;
}

/* Follows the link at the end of the way. */
static arcp_status take_link(way *w, const char *what, struct stat *about, arcp_error *err)
{
    char target[PATH_MAX];
    about->st_mode = S_IFLNK; /* the permissions of a link have no meaning */
    const arcp_status status = check_one(what, w->done, about, false, err);
    if (status != ARCP_OK) {
        return status;
    }
    const ssize_t size = readlink(w->done, target, sizeof target - 1);
    if (size < 0) {
        return cannot_check(what, w->done, errno, err);
    }
    target[size] = '\0';
    leave_name(w);
    return put_ahead(w, target) ? ARCP_OK : cannot_check(what, target, ENAMETOOLONG, err);
}

/* The end of the way: what the path leads to. */
static arcp_status check_end(const char *what, const char *path, const struct stat *about,
                             arcp__trusted_kind kind, arcp_error *err)
{
    const bool is_directory = kind == ARCP__TRUSTED_DIRECTORY;
    if (is_directory ? !S_ISDIR(about->st_mode) : !S_ISREG(about->st_mode)) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: %s is not a %s", what, path,
                              is_directory ? "directory" : "regular file");
    }
    const arcp_status status = check_one(what, path, about, false, err);
    if (status == ARCP_OK && kind == ARCP__TRUSTED_SECRET && (about->st_mode & OTHERS_READ) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: %s is a secret but world-readable (mode %04o): chmod o= it",
                              what, path, (unsigned)(about->st_mode & 07777));
    }
    return status;
}

arcp_status arcp__trusted_path_check(const char *what, const char *path, arcp__trusted_kind kind,
                                     arcp_error *err)
{
    way w = {.done = ""};
    struct stat about;
    arcp_status status = ARCP_OK;
    if (strcmp(path, "/dev/null") == 0 || strcmp(path, "/dev/stdin") == 0 ||
        strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0) {
        return ARCP_OK;
    }
    char here[PATH_MAX] = "/";
    if (path[0] != '/' && getcwd(here, sizeof here) == NULL) {
        return cannot_check(what, path, errno, err);
    }
    if (!put_ahead(&w, path) || !put_ahead(&w, here)) {
        return cannot_check(what, path, ENAMETOOLONG, err);
    }
    for (unsigned links = 0;;) {
        const char *done = w.done[0] == '\0' ? "/" : w.done;
        if (lstat(done, &about) != 0) {
            /* Who opens it says so; where there is nothing, the directories above decide. */
            const bool is_readers = errno == ENOENT || errno == EACCES;
            return is_readers ? ARCP_OK : cannot_check(what, done, errno, err);
        }
        if (S_ISLNK(about.st_mode)) {
            if (++links > LINKS_MAX) {
                return cannot_check(what, path, ELOOP, err);
            }
            status = take_link(&w, what, &about, err);
        } else if (!has_name(&w)) {
            return check_end(what, done, &about, kind, err);
        } else if (!S_ISDIR(about.st_mode)) {
            return cannot_check(what, done, ENOTDIR, err);
        } else {
            status = check_one(what, done, &about, true, err);
            if (status == ARCP_OK && !take_name(&w)) {
                status = cannot_check(what, path, ENAMETOOLONG, err);
            }
        }
        if (status != ARCP_OK) {
            return status;
        }
    }
}
