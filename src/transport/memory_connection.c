/* A pair of connections in one process: WebSocket connections over two streams in memory, so that
 * limits, pauses and closes work as on any other connection. */
#include <uv.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"
#include "base/options.h"
#include "stream/stream.h"
#include "transport/websocket_connection.h"

arcp_status arcp_memory_pair(uv_loop_t *loop, const arcp_memory_options *given,
                             arcp_connection **out_a, arcp_connection **out_b, arcp_error *err)
{
    arcp_memory_options options = arcp_memory_options_init();
    arcp_connection *ends[2] = {NULL, NULL};
    arcp__stream *streams[2] = {NULL, NULL};
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_memory_options", err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__loop_share *share = arcp__loop_share_new(loop);
    if (share == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a pair of connections");
    }
    status = arcp__memory_streams_new(share, streams, err);
    for (size_t i = 0; status == ARCP_OK && i < 2; i++) {
        arcp__websocket_pool *pool =
            arcp__websocket_pool_new(i == 0 ? ARCP__WEBSOCKET_CLIENT : ARCP__WEBSOCKET_SERVER);
        const arcp__websocket_connection_options end = {
            .upgraded = {.share = share, .stream = streams[i], .peer = "memory", .is_local = true},
            .pool = pool,
            .transport = "memory",
            .frame_bytes_max = options.frame_bytes_max,
            .close_timeout_ms = options.close_timeout_ms,
        };
        status = pool == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY,
                                               "out of memory for a pair of connections")
                              : arcp__websocket_connection_new(&end, &ends[i], err);
        arcp__websocket_pool_unref(pool); /* the connection has its own reference */
        streams[i] = status == ARCP_OK ? NULL : streams[i];
    }
    arcp__stream_close(&streams[0]);
    arcp__stream_close(&streams[1]);
    arcp__loop_share_unref(share);
    if (status != ARCP_OK) {
        if (ends[0] != NULL) {
            ends[0]->ops->free(ends[0]);
        }
        return status;
    }
    *out_a = ends[0];
    *out_b = ends[1];
    return ARCP_OK;
}

void arcp_memory_cut(arcp_connection *end)
{
    arcp__stream_connection *connection = (arcp__stream_connection *)end;
    if (connection->in == NULL) {
        return; /* it has ended */
    }
    const arcp__stream *peer = arcp__memory_stream_peer(connection->in);
    if (peer != NULL) {
        arcp__stream_connection_break(peer->events.user, ARCP_CLOSE_ABNORMAL, "");
    }
    arcp__stream_connection_break(connection, ARCP_CLOSE_ABNORMAL, "");
}
