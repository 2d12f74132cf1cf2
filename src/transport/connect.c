/* arcp_connect: one URL, whichever transport it names. */
#include <uv.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"
#include "base/options.h"
#include "stream/stream.h"
#include "transport/url.h"
#include "transport/websocket_client.h"

/* A program is started at once, but like every other answer this one comes later. */
typedef struct stdio_connector {
    arcp_connector base;
    arcp__loop_share *share;
    arcp__task task;
    arcp_connect_callbacks callbacks;
    arcp_connection *connection;
} stdio_connector;

static void stdio_connector_free(stdio_connector *connector)
{
    arcp__task_cancel(connector->share, &connector->task);
    arcp__loop_share_unref(connector->share);
    arcp__free(connector);
}

static void stdio_connector_cancel(arcp_connector *base)
{
    stdio_connector *connector = (stdio_connector *)base;
    connector->connection->ops->release(connector->connection);
    stdio_connector_free(connector);
}

static void run_task(arcp__task *task)
{
    stdio_connector *connector =
        (stdio_connector *)((char *)task - offsetof(stdio_connector, task));
    arcp_connect_callbacks callbacks = connector->callbacks;
    arcp_connection *connection = connector->connection;
    stdio_connector_free(connector);
    callbacks.connected(callbacks.user, connection);
}

static arcp_status connect_stdio(uv_loop_t *loop, const char *command,
                                 const arcp_connect_options *options,
                                 const arcp_connect_callbacks *callbacks, arcp_connector **out,
                                 arcp_error *err)
{
    arcp_stdio_options stdio_options = ARCP_STDIO_OPTIONS_INIT;
    stdio_options.frame_bytes_max = options->frame_bytes_max;
    stdio_options.close_timeout_ms = options->close_timeout_ms;
    arcp__loop_share *share = arcp__loop_share_new(loop);
    stdio_connector *connector = share == NULL ? NULL : arcp__alloc(sizeof(*connector));
    if (connector == NULL) {
        arcp__loop_share_unref(share);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    connector->base.cancel = stdio_connector_cancel;
    connector->share = share;
    connector->task.run = run_task;
    connector->callbacks = *callbacks;
    arcp_status status =
        arcp_spawn_stdio(loop, command, &stdio_options, &connector->connection, err);
    if (status != ARCP_OK) {
        stdio_connector_free(connector);
        return status;
    }
    arcp__task_post(share, &connector->task);
    if (out != NULL) {
        *out = &connector->base;
    }
    return ARCP_OK;
}

/* [arcp:4-1] */
arcp_status arcp_connect(uv_loop_t *loop, const char *url, const arcp_connect_options *given,
                         const arcp_connect_callbacks *callbacks, arcp_connector **out,
                         arcp_error *err)
{
    arcp__url parsed;
    arcp_connect_options options = ARCP_CONNECT_OPTIONS_INIT;
    arcp_status status =
        arcp__options_check(given, sizeof(*given), "ARCP_CONNECT_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (given != NULL) {
        options = *given;
    }
    if (options.timeout_ms == 0) {
        options.timeout_ms = ARCP_HANDSHAKE_TIMEOUT_MS_DEFAULT;
    }
    status = arcp__url_parse(arcp_span_cstr(url), &parsed, err);
    if (status != ARCP_OK) {
        return status;
    }
    switch (parsed.scheme) {
    case ARCP__URL_WS:
    case ARCP__URL_WSS:
        return arcp__connect_websocket(loop, &parsed, &options, callbacks, out, err);
    case ARCP__URL_STDIO:
        return connect_stdio(loop, parsed.rest.data, &options, callbacks, out, err);
    case ARCP__URL_MEMORY:
        break;
    }
    return arcp_error_set(err, ARCP_E_USAGE,
                          "memory: has two ends in one process: arcp_memory_pair");
}

void arcp_connector_cancel(arcp_connector *connector)
{
    connector->cancel(connector);
}
