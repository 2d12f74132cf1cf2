/* A stream over a file or a character device: what a shell puts at standard input and
 * output with < and >. libuv cannot poll those; its thread pool reads and writes them. */
#ifndef ARCP_TRANSPORT_FILE_STREAM_H
#define ARCP_TRANSPORT_FILE_STREAM_H

#include "transport/loop_share.h"
#include "transport/stream.h"

/* The stream owns the descriptor on success; 0, 1 and 2 stay open. Reads and writes at
 * the file's own position. */
ARCP_MUST_CHECK arcp_status arcp__file_stream_new(arcp__loop_share *share, int fd,
                                                  arcp__stream **out, arcp_error *err);

#endif
