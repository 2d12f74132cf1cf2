/* Frames as WebSocket text messages over a stream, after the upgrade. */
#ifndef ARCP_TRANSPORT_WEBSOCKET_CONNECTION_H
#define ARCP_TRANSPORT_WEBSOCKET_CONNECTION_H

#include "transport/stream_connection.h"
#include "transport/websocket_frame.h"
#include "web/admission.h"

typedef struct arcp__websocket_connection_options {
    arcp__loop_share *share;
    arcp__websocket_pool *pool; /* its role is ours */
    arcp__stream *stream;       /* taken over on success */
    const char *transport;      /* its name; static */
    const char *peer;
    bool encrypted;
    bool local;
    uint32_t waited_ms;     /* from accept until now */
    arcp__counted *counted; /* taken over on success; NULL: it is not counted */
    size_t frame_bytes_max;
    size_t first_frame_bytes_max; /* 0: the same */
    uint32_t close_timeout_ms;
    arcp_span greeting; /* is sent before everything: the server's answer; copied */
    arcp_span early;    /* came behind the upgrade; copied */
} arcp__websocket_connection_options;

/* ARCP_E_NO_MEMORY leaves the stream to the caller. */
ARCP_MUST_CHECK arcp_status arcp__websocket_connection_new(
    const arcp__websocket_connection_options *options, arcp_connection **out, arcp_error *err);

#endif
