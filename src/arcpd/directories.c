#include "arcpd/directories.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static arcp_status make_directory(const char *path, arcp_error *err)
{
    char part[4096];
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof(part)) {
        return arcp_error_set(err, ARCP_E_IO, "the state directory's path is too long");
    }
    memcpy(part, path, size + 1);
    for (char *at = part + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(part, 0700);
            *at = '/';
        }
    }
    if (mkdir(part, 0700) != 0 && errno != EEXIST) {
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be made: %s", path,
                              strerror(errno));
    }
    return ARCP_OK;
}

arcp_status arcp__directories_find(arcp__directories *out, arcp_error *err)
{
    const char *given = getenv("STATE_DIRECTORY");
    const char *xdg = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *to = out->state;
    int size;
    if (given != NULL && given[0] == '/') {
        size = snprintf(to, sizeof(out->state), "%.*s", (int)strcspn(given, ":"), given);
    } else if (xdg != NULL && xdg[0] == '/') {
        size = snprintf(to, sizeof(out->state), "%s/arcp", xdg);
    } else {
        size = snprintf(to, sizeof(out->state), "%s/.local/state/arcp",
                        home == NULL || home[0] != '/' ? "/root" : home);
    }
    if (size < 0 || size >= (int)sizeof(out->state)) {
        return arcp_error_set(err, ARCP_E_IO, "the state directory's path is too long");
    }
    arcp_status status = make_directory(to, err);
    if (status == ARCP_OK) {
        (void)snprintf(out->work, sizeof(out->work), "%s/work", to);
        status = make_directory(out->work, err);
        /* Agents of other users pass through it to their own; it can be listed by nobody. */
        (void)chmod(out->work, 0711);
    }
    return status;
}
