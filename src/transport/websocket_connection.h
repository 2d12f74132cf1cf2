/* A connection whose frames are WebSocket messages, on a stream after the upgrade. */
#ifndef ARCP_TRANSPORT_WEBSOCKET_CONNECTION_H
#define ARCP_TRANSPORT_WEBSOCKET_CONNECTION_H

#include "transport/stream_connection.h"
#include "transport/websocket_frame.h"
#include "web/server.h"

typedef struct arcp__websocket_connection_options {
    arcp__web_upgrade upgraded; /* its stream and admission entry are taken over on success; its
                                   early bytes are copied */
    arcp__websocket_pool *pool; /* with our role */
    const char *transport;      /* its name; static */
    size_t frame_bytes_max;
    size_t first_frame_bytes_max; /* 0: the same */
    uint32_t close_timeout_ms;
    bool is_binary;     /* messages are binary, not text */
    arcp_span greeting; /* sent first: the server's handshake response; copied */
} arcp__websocket_connection_options;

/* ARCP_E_NO_MEMORY leaves the stream to the caller. */
ARCP_MUST_CHECK arcp_status arcp__websocket_connection_new(
    const arcp__websocket_connection_options *options, arcp_connection **out, arcp_error *err);

#endif
