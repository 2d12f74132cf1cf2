/* Local sockets (unix:PATH), until they are connected. */
#ifndef ARCP_STREAM_LOCAL_SOCKET_H
#define ARCP_STREAM_LOCAL_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include <arcp/error.h>

/* A path may be longer than the 107 bytes of an address: its directory is opened first then. *fd is
 * non-blocking and closed by exec. ARCP_E_IO names the path and the error; ARCP_E_USAGE: the path
 * has no name at its end. */
ARCP_MUST_CHECK arcp_status arcp__local_socket_connect(const char *path, int *fd, arcp_error *err);

/* Listens on a socket with this mode, which takes the place of anything except a directory at
 * `path` only when it is ready. */
ARCP_MUST_CHECK arcp_status arcp__local_socket_listen(const char *path, mode_t mode, int *fd,
                                                      arcp_error *err);

/* Whether the other end of a connected socket is a process of our own user; *pid (may be NULL) is
 * the one that connected. */
bool arcp__local_socket_is_ours(int fd, pid_t *pid);

#endif
