/* Frames as lines over one or two streams, and a program behind them if there is one. */
#ifndef ARCP_TRANSPORT_LINE_CONNECTION_H
#define ARCP_TRANSPORT_LINE_CONNECTION_H

#include "transport/child_process.h"
#include "transport/stream_connection.h"

typedef struct arcp__line_connection arcp__line_connection;

typedef struct arcp__line_connection_options {
    arcp__loop_share *share;
    arcp__stream *in;  /* both are taken over on success */
    arcp__stream *out; /* the same as `in` for a socket */
    const char *peer;
    size_t frame_bytes_max;
    uint32_t close_timeout_ms;
} arcp__line_connection_options;

ARCP_MUST_CHECK arcp_status arcp__line_connection_new(const arcp__line_connection_options *options,
                                                      arcp__line_connection **out, arcp_error *err);

arcp_connection *arcp__line_connection_base(arcp__line_connection *connection);

/* The program at the other end: how it ends tells how the connection ended, and it is
 * released with the connection. */
void arcp__line_connection_own(arcp__line_connection *connection, arcp__child_process *child);

#endif
