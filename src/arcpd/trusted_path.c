#include "arcpd/arcpd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"

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

/* Checks each directory above `path`, which contains no symbolic links; truncates `path`. */
static arcp_status check_above(const char *what, char *path, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (char *slash = strrchr(path, '/'); slash != NULL && status == ARCP_OK;
         slash = path[1] == '\0' ? NULL : strrchr(path, '/')) {
        struct stat about;
        slash[slash == path ? 1 : 0] = '\0';
        if (lstat(path, &about) != 0) {
            return arcp_error_set(err, ARCP_E_USAGE, "%s: %s cannot be checked: %s", what, path,
                                  strerror(errno));
        }
        status = check_one(what, path, &about, true, err);
    }
    return status;
}

/* Checks the directories above the path as it is written, without following a link at its end: who
 * can write to them can replace the path. A directory that does not exist is skipped. */
static arcp_status check_place(const char *what, const char *path, arcp_error *err)
{
    char directory[PATH_MAX];
    char real[PATH_MAX + 2];
    arcp__directory_of(path, directory);
    if (realpath(directory, real) == NULL) {
        return errno == ENOENT ? ARCP_OK
                               : arcp_error_set(err, ARCP_E_USAGE, "%s: %s cannot be checked: %s",
                                                what, directory, strerror(errno));
    }
    memcpy(real + strlen(real), "/", 2);
    return check_above(what, real, err);
}

/* Checks the file or directory that the path leads to, opened as `fd`. */
static arcp_status check_opened(const char *what, const char *path, int fd, arcp__trusted_kind kind,
                                arcp_error *err)
{
    const bool is_directory = kind == ARCP__TRUSTED_DIRECTORY;
    struct stat about;
    char real[PATH_MAX];
    if (realpath(path, real) == NULL || fstat(fd, &about) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: %s cannot be checked: %s", what, path,
                              strerror(errno));
    }
    if (is_directory ? !S_ISDIR(about.st_mode) : !S_ISREG(about.st_mode)) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: %s is not a %s", what, path,
                              is_directory ? "directory" : "regular file");
    }
    arcp_status status = check_one(what, path, &about, false, err);
    if (status == ARCP_OK && kind == ARCP__TRUSTED_SECRET && (about.st_mode & OTHERS_READ) != 0) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "%s: %s is a secret but world-readable (mode %04o): chmod o= it",
                                what, path, (unsigned)(about.st_mode & 07777));
    }
    if (status == ARCP_OK) {
        status = check_above(what, real, err);
    }
    /* If the path is a symbolic link, the link's owner, and users who can replace it, choose the
     * file, so the link is checked as well. Links among the directories and further links are not.
     */
    if (status == ARCP_OK && lstat(path, &about) == 0 && S_ISLNK(about.st_mode)) {
        about.st_mode = S_IFLNK; /* the permissions of a link have no meaning */
        status = check_one(what, path, &about, false, err);
        if (status == ARCP_OK) {
            status = check_place(what, path, err);
        }
    }
    return status;
}

arcp_status arcp__trusted_path_check(const char *what, const char *path, arcp__trusted_kind kind,
                                     arcp_error *err)
{
    if (strcmp(path, "/dev/null") == 0 || strcmp(path, "/dev/stdin") == 0 ||
        strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0) {
        return ARCP_OK;
    }
    const int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? check_place(what, path, err) : ARCP_OK;
    }
    const arcp_status status = check_opened(what, path, fd, kind, err);
    (void)close(fd);
    return status;
}
