#include "arcpd/arcpd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOR_OWNER     0700
#define TO_PASS       0711 /* others may pass through it, but not list it */
#define OTHERS_SEARCH 0001u
#define SHARED_STATE  "/var/lib/arcp"

static arcp_status check_state(const char *path, arcp_error *err)
{
    return arcp__trusted_path_check("state directory", path, ARCP__TRUSTED_DIRECTORY, err);
}

/* Sets the mode of a directory; does not follow a symbolic link. */
static arcp_status set_mode(const char *path, mode_t mode, arcp_error *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool done = fd >= 0 && fchmod(fd, mode) == 0;
    const int number = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return done ? ARCP_OK
                : arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be used: %s", path,
                                 number == ELOOP || number == ENOTDIR ? "not a directory"
                                                                      : strerror(number));
}

/* Creates the directory and missing ones above it. With TO_PASS the mode is also set on a directory
 * that exists. */
static arcp_status make_directory(const char *path, mode_t mode, arcp_error *err)
{
    char part[4096];
    const size_t size = strlen(path);
    if (size == 0 || size >= sizeof part) {
        return arcp_error_set(err, ARCP_E_IO, "the state directory's path is too long");
    }
    memcpy(part, path, size + 1);
    for (char *byte = part + 1; *byte != '\0'; byte++) {
        if (*byte == '/') {
            *byte = '\0';
            (void)mkdir(part, FOR_OWNER);
            *byte = '/';
        }
    }
    if (mkdir(part, FOR_OWNER) != 0 && errno != EEXIST) {
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be created: %s", path,
                              strerror(errno));
    }
    const arcp_status status = check_state(path, err);
    return status == ARCP_OK && mode == TO_PASS ? set_mode(path, mode, err) : status;
}

/* *is_given: the environment names the directory; it is not the default. */
static arcp_status name_state(arcp__directories *out, bool *is_given, arcp_error *err)
{
    const char *given = getenv("STATE_DIRECTORY");
    const char *xdg = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int size = 0;
    *out = (arcp__directories){.work = ""};
    *is_given = true;
    if (given != NULL && given[0] == '/') {
        size = snprintf(out->state, sizeof out->state, "%.*s", (int)strcspn(given, ":"), given);
    } else if (xdg != NULL && xdg[0] == '/') {
        size = snprintf(out->state, sizeof out->state, "%s/arcp", xdg);
    } else {
        *is_given = false;
        size = snprintf(out->state, sizeof out->state, "%s/.local/state/arcp",
                        home == NULL || home[0] != '/' ? "/root" : home);
    }
    return size >= 0 && size < (int)sizeof out->state
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_IO, "the state directory's path is too long");
}

static arcp_status make_work(arcp__directories *out, const char *state, arcp_error *err)
{
    (void)snprintf(out->work, sizeof out->work, "%s/work", state);
    return make_directory(out->work, TO_PASS, err);
}

/* Finds the first directory on the path of `work` that other users cannot enter. */
static void find_closed(arcp__directories *out)
{
    char real[PATH_MAX];
    out->closed[0] = '\0';
    if (realpath(out->work, real) == NULL) {
        return;
    }
    for (char *byte = real; *byte != '\0' && out->closed[0] == '\0'; byte++) {
        struct stat about;
        if (byte[1] == '/' || byte[1] == '\0') {
            const char next = byte[1];
            byte[1] = '\0';
            if (stat(real, &about) == 0 && (about.st_mode & OTHERS_SEARCH) == 0) {
                (void)snprintf(out->closed, sizeof out->closed, "%s", real);
            }
            byte[1] = next;
        }
    }
}

arcp_status arcp__directories_check(arcp__directories *out, arcp_error *err)
{
    bool ignored = false;
    const arcp_status status = name_state(out, &ignored, err);
    return status == ARCP_OK ? check_state(out->state, err) : status;
}

arcp_status arcp__directories_find(arcp__directories *out, bool has_other_users, arcp_error *err)
{
    char real[PATH_MAX]; /* the state directory that systemd names can be a symbolic link */
    bool is_given = false;
    arcp_status status = name_state(out, &is_given, err);
    if (status == ARCP_OK) {
        status = make_directory(out->state, FOR_OWNER, err);
    }
    if (status == ARCP_OK) {
        status = make_work(out, out->state, err);
    }
    if (status != ARCP_OK || !has_other_users) {
        return status;
    }
    if (realpath(out->state, real) == NULL) {
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be used: %s", out->state,
                              strerror(errno));
    }
    status = set_mode(real, TO_PASS, err);
    if (status != ARCP_OK) {
        return status;
    }
    find_closed(out);
    if (out->closed[0] != '\0' && !is_given) {
        status = make_directory(SHARED_STATE, TO_PASS, err);
        if (status == ARCP_OK) {
            status = make_work(out, SHARED_STATE, err);
        }
        find_closed(out);
    }
    return status;
}

bool arcp__path_in(const char *directory, const char *name, char *out, size_t size)
{
    const bool is_absolute = name[0] == '/';
    return snprintf(out, size, "%s%s%s", is_absolute ? "" : directory, is_absolute ? "" : "/",
                    name) < (int)size;
}

arcp_status arcp__store_url(const arcp__config *config, const arcp__directories *directories,
                            arcp_buf *out, arcp_error *err)
{
    if (config->store == NULL) {
        arcp_buf_append_format(out, "sqlite:%s/arcp.db", directories->state);
    } else {
        arcp_buf_append_cstr(out, config->store);
    }
    arcp_buf_append_byte(out, '\0');
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__store_check_trust(const char *url, arcp_error *err)
{
    if (strncmp(url, "sqlite:", 7) == 0) {
        return arcp__trusted_path_check("store", url + 7, ARCP__TRUSTED_SECRET, err);
    }
    return arcp__postgres_is_named(url) ? arcp__postgres_check_url(url, err) : ARCP_OK;
}
