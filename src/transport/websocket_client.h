/* The client's way to a WebSocket connection; arcp_connect calls it for ws:// and wss://. */
#ifndef ARCP_TRANSPORT_WEBSOCKET_CLIENT_H
#define ARCP_TRANSPORT_WEBSOCKET_CLIENT_H

#include <uv.h>

#include <arcp/sys/transport.h>

#include "transport/url.h"

/* What an arcp_connector is: the way it gives up. */
struct arcp_connector {
    void (*cancel)(arcp_connector *connector);
};

/* As arcp_connect for these schemes. `options` are complete. */
ARCP_MUST_CHECK arcp_status arcp__connect_websocket(uv_loop_t *loop, const arcp__url *url,
                                                    const arcp_connect_options *options,
                                                    const arcp_connect_callbacks *callbacks,
                                                    arcp_connector **out, arcp_error *err);

#endif
