#include "stream/local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/directory.h"

#define BACKLOG 16

/* A place in a directory that is open, so that a path of any length has an address. */
typedef struct place {
    int directory;
    const char *name;
} place;

static arcp_status failed(const char *path, const char *what, int number, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_IO, "cannot %s unix:%.300s: %s", what, path,
                          strerror(number));
}

static arcp_status place_open(place *out, const char *path, const char *what, arcp_error *err)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    out->directory = -1;
    out->name = slash == NULL ? path : slash + 1;
    if (out->name[0] == '\0' || strlen(path) >= sizeof directory) {
        return arcp_error_set(err, ARCP_E_USAGE, "\"unix:%.120s\": expected unix:PATH of a socket",
                              path);
    }
    arcp__directory_of(path, directory);
    out->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return out->directory >= 0 ? ARCP_OK : failed(path, what, errno, err);
}

/* False: the name alone is too long. */
static bool place_address(const place *at, const char *name, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int size =
        snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/%s", at->directory, name);
    return size > 0 && size < (int)sizeof out->sun_path;
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

arcp_status arcp__local_socket_connect(const char *path, int *fd, arcp_error *err)
{
    struct sockaddr_un address;
    place at;
    arcp_status status = place_open(&at, path, "connect to", err);
    if (status != ARCP_OK) {
        return status;
    }
    const int made = new_socket();
    if (made < 0) {
        status = failed(path, "connect to", errno, err);
    } else if (!place_address(&at, at.name, &address)) {
        status = failed(path, "connect to", ENAMETOOLONG, err);
    } else if (connect(made, (const struct sockaddr *)&address, sizeof address) != 0) {
        status = failed(path, "connect to", errno, err);
    }
    (void)close(at.directory);
    if (status == ARCP_OK) {
        *fd = made;
    } else if (made >= 0) {
        (void)close(made);
    }
    return status;
}

/* Binds a fresh name. A peer finds the socket only when it listens and has its mode. */
static int bind_and_rename(const place *at, int fd, mode_t mode)
{
    struct sockaddr_un address;
    char fresh[64];
    (void)snprintf(fresh, sizeof fresh, ".socket-%ld", (long)getpid());
    if (!place_address(at, fresh, &address)) {
        return ENAMETOOLONG;
    }
    (void)unlinkat(at->directory, fresh, 0);
    const bool is_bound = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    if (is_bound && fchmodat(at->directory, fresh, mode, 0) == 0 && listen(fd, BACKLOG) == 0 &&
        renameat(at->directory, fresh, at->directory, at->name) == 0) {
        return 0;
    }
    const int number = errno;
    if (is_bound) {
        (void)unlinkat(at->directory, fresh, 0);
    }
    return number;
}

arcp_status arcp__local_socket_listen(const char *path, mode_t mode, int *fd, arcp_error *err)
{
    place at;
    arcp_status status = place_open(&at, path, "listen on", err);
    if (status != ARCP_OK) {
        return status;
    }
    const int made = new_socket();
    const int number = made < 0 ? errno : bind_and_rename(&at, made, mode);
    (void)close(at.directory);
    if (number == 0) {
        *fd = made;
        return ARCP_OK;
    }
    if (made >= 0) {
        (void)close(made);
    }
    return failed(path, "listen on", number, err);
}

bool arcp__local_socket_is_ours(int fd, pid_t *pid)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof peer;
    const bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    if (pid != NULL) {
        *pid = peer.pid;
    }
    return is_known && peer.uid == geteuid();
}
