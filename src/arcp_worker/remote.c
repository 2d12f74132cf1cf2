#include "arcp_worker/remote.h"

#include "worker/worker_link.h"

/* A message of arcpd: more than any input of a job, whose limit only arcpd knows. */
#define MESSAGE_BYTES_MAX ((size_t)256 << 20)

static void on_connected(void *user, arcp_connection *connection)
{
    arcp__remote *remote = user;
    remote->connector = NULL;
    remote->connected(remote->user, connection);
}

static void on_failed(void *user, const arcp_error *err)
{
    arcp__remote *remote = user;
    remote->connector = NULL;
    remote->failed(remote->user, err->message);
}

arcp_status arcp__remote_connect(arcp__remote *remote, uv_loop_t *loop,
                                 const arcp__worker_config *config, arcp_error *err)
{
    const arcp_connect_callbacks callbacks = {
        .connected = on_connected, .failed = on_failed, .user = remote};
    arcp_connect_options options = arcp_connect_options_init();
    options.ca_file = config->ca_file;
    options.subprotocol = ARCP__WORKER_SUBPROTOCOL;
    options.frame_bytes_max = MESSAGE_BYTES_MAX;
    return arcp_connect(loop, config->url, &options, &callbacks, &remote->connector, err);
}

void arcp__remote_cancel(arcp__remote *remote)
{
    if (remote->connector != NULL) {
        arcp_connector_cancel(remote->connector);
        remote->connector = NULL;
    }
}
