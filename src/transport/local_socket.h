/* Local sockets (unix:PATH), which carry the frames of stdio: one line each. */
#ifndef ARCP_TRANSPORT_LOCAL_SOCKET_H
#define ARCP_TRANSPORT_LOCAL_SOCKET_H

#include <sys/types.h>

#include <arcp/sys/transport.h>

/* A path may be longer than the 107 bytes of an address: its directory is opened first then. *fd is
 * non-blocking and closed by exec. ARCP_E_IO names the path and the error; ARCP_E_USAGE: the path
 * has no name at its end. */
ARCP_MUST_CHECK arcp_status arcp__local_socket_connect(const char *path, int *fd, arcp_error *err);

/* Listens on a socket with this mode, which takes the place of anything except a directory at
 * `path` only when it is ready. */
ARCP_MUST_CHECK arcp_status arcp__local_socket_listen(const char *path, mode_t mode, int *fd,
                                                      arcp_error *err);

/* A connection over a connected socket, which it takes over on success. It closes when the peer's
 * input ends. `peer` names it in logs. ARCP_E_NO_MEMORY, ARCP_E_IO, ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__local_connection_new(struct uv_loop_s *loop, int fd,
                                                       const char *peer,
                                                       const arcp_stdio_options *options,
                                                       arcp_connection **out, arcp_error *err);

#endif
