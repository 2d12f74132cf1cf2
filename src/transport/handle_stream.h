/* A stream over a libuv handle: TCP, a pipe or local socket, a terminal. */
#ifndef ARCP_TRANSPORT_HANDLE_STREAM_H
#define ARCP_TRANSPORT_HANDLE_STREAM_H

#include <uv.h>

#include "transport/loop_share.h"
#include "transport/stream.h"

/* Large batches go to the system in pieces of this size, so that `written` reports
 * progress. */
#define ARCP__WRITE_PIECE_BYTES ((size_t)256 * 1024)

/* Accepts the connection that waits at `listener` (from its connection callback). */
ARCP_MUST_CHECK arcp_status arcp__tcp_stream_accept(arcp__loop_share *share, uv_stream_t *listener,
                                                    arcp__stream **out, arcp_error *err);

/* An unconnected one for arcp__tcp_stream_connect. */
ARCP_MUST_CHECK arcp_status arcp__tcp_stream_new(arcp__loop_share *share, arcp__stream **out,
                                                 arcp_error *err);

/* Connects; `done` comes later with 0 or a libuv error, unless the stream is closed
 * first. Returns a libuv error at once. */
ARCP_MUST_CHECK int arcp__tcp_stream_connect(arcp__stream *stream, const struct sockaddr *address,
                                             void (*done)(void *user, int result), void *user);

/* The peer of a connected TCP stream; false when it is gone. */
bool arcp__tcp_stream_peer(const arcp__stream *stream, struct sockaddr_storage *out);

/* Over a pipe, socket or terminal (as uv_guess_handle has it: `type`). The stream owns
 * the descriptor on success; 0, 1 and 2 stay open. Its file status flags are put back
 * when the stream is closed, because others may share them. */
ARCP_MUST_CHECK arcp_status arcp__fd_stream_new(arcp__loop_share *share, int fd,
                                                uv_handle_type type, arcp__stream **out,
                                                arcp_error *err);

#endif
