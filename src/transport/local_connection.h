/* Connections over local sockets (stream/local_socket.h), which carry the frames of stdio: one line
 * each. */
#ifndef ARCP_TRANSPORT_LOCAL_CONNECTION_H
#define ARCP_TRANSPORT_LOCAL_CONNECTION_H

#include <arcp/sys/transport.h>

/* A connection over a connected socket, which it takes over on success. It closes when the peer's
 * input ends. `peer` names it in logs. ARCP_E_NO_MEMORY, ARCP_E_IO, ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__local_connection_new(struct uv_loop_s *loop, int fd,
                                                       const char *peer,
                                                       const arcp_stdio_options *options,
                                                       arcp_connection **out, arcp_error *err);

#endif
