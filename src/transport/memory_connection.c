/* Two ends in one process: WebSocket connections over a pair of streams in memory, so that limits,
 * pauses and closes are those of every other connection. */
#include <uv.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"
#include "base/options.h"
#include "stream/stream.h"
#include "transport/websocket_connection.h"

static arcp_status open_pair(arcp__loop_share *share, arcp__websocket_pool *const pools[2],
                             const arcp_memory_options *given, arcp_connection *ends[2],
                             arcp_error *err)
{
    arcp__stream *streams[2] = {NULL, NULL};
    arcp_status status = arcp__memory_streams_new(share, streams, err);
    for (size_t i = 0; status == ARCP_OK && i < 2; i++) {
        const arcp__websocket_connection_options options = {
            .share = share,
            .pool = pools[i],
            .stream = streams[i],
            .transport = "memory",
            .peer = "memory",
            .local = true,
            .frame_bytes_max = given == NULL ? 0 : given->frame_bytes_max,
            .close_timeout_ms = given == NULL ? 0 : given->close_timeout_ms,
        };
        status = arcp__websocket_connection_new(&options, &ends[i], err);
        streams[i] = status == ARCP_OK ? NULL : streams[i];
    }
    arcp__stream_close(&streams[0]);
    arcp__stream_close(&streams[1]);
    if (status != ARCP_OK && ends[0] != NULL) {
        ends[0]->ops->release(ends[0]);
    }
    return status;
}

arcp_status arcp_memory_pair(uv_loop_t *loop, const arcp_memory_options *options,
                             arcp_connection **out_a, arcp_connection **out_b, arcp_error *err)
{
    arcp_status status =
        arcp__options_check(options, sizeof(*options), "ARCP_MEMORY_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_connection *ends[2] = {NULL, NULL};
    arcp__loop_share *share = arcp__loop_share_new(loop);
    arcp__websocket_pool *const pools[2] = {arcp__websocket_pool_new(ARCP__WEBSOCKET_CLIENT),
                                            arcp__websocket_pool_new(ARCP__WEBSOCKET_SERVER)};
    if (share == NULL || pools[0] == NULL || pools[1] == NULL) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a pair of connections");
    } else {
        status = open_pair(share, pools, options, ends, err);
    }
    arcp__websocket_pool_unref(pools[0]); /* the connections have their own */
    arcp__websocket_pool_unref(pools[1]);
    arcp__loop_share_unref(share);
    if (status == ARCP_OK) {
        *out_a = ends[0];
        *out_b = ends[1];
    }
    return status;
}

void arcp_memory_cut(arcp_connection *end)
{
    arcp__stream_connection *connection = (arcp__stream_connection *)end;
    if (connection->in == NULL) {
        return; /* it has ended */
    }
    arcp__stream *peer = arcp__memory_stream_peer(connection->in);
    if (peer != NULL) {
        arcp__stream_connection_break(peer->events.user, ARCP_CLOSE_ABNORMAL, "");
    }
    arcp__stream_connection_break(connection, ARCP_CLOSE_ABNORMAL, "");
}
