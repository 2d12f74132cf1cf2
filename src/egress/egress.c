#include "egress/egress.h"

#include "base/alloc.h"
#include "egress/egress_parts.h"

#define IDLE_MS   300000
#define HEAD_MS   10000
#define DIAL_MS   10000
#define LINGER_MS 2000

static bool read_private_host(arcp_span text, arcp__egress_host *out)
{
    uint16_t port = 0;
    return arcp__egress_host_parse(text, out, &port) && port == 0;
}

bool arcp__egress_is_private_host(arcp_span text)
{
    arcp__egress_host host;
    return read_private_host(text, &host);
}

/* Names that are no host names cannot be asked for, so they are left out. */
static bool copy_private_hosts(arcp__egress *egress, const arcp__egress_options *options)
{
    const size_t count = options->private_host_count;
    egress->private_hosts = arcp__alloc_array(count + 1, sizeof *egress->private_hosts);
    for (size_t i = 0; egress->private_hosts != NULL && i < count; i++) {
        arcp__egress_host *host = &egress->private_hosts[egress->private_host_count];
        if (read_private_host(options->private_hosts[i], host)) {
            egress->private_host_count++;
        }
    }
    return egress->private_hosts != NULL;
}

arcp_status arcp__egress_new(uv_loop_t *loop, const arcp__egress_options *options,
                             arcp__egress **out, arcp_error *err)
{
    arcp__egress *egress = arcp__alloc(sizeof *egress);
    arcp__loop_share *share = egress == NULL ? NULL : arcp__loop_share_new(loop);
    if (share == NULL) {
        arcp__free(egress);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the network of sandboxes");
    }
    egress->loop = loop;
    egress->share = share;
    egress->references = 1;
    egress->idle_ms = options->idle_ms == 0 ? IDLE_MS : options->idle_ms;
    egress->head_ms = options->head_ms == 0 ? HEAD_MS : options->head_ms;
    egress->dial_ms = DIAL_MS;
    egress->linger_ms = LINGER_MS;
    egress->system = (arcp__egress_system){uv_getaddrinfo, uv_freeaddrinfo, arcp__tcp_stream_local,
                                           arcp__tcp_stream_connect};
    arcp__egress_options copy;
    const bool has_copy = arcp__egress_options_copy(&egress->arena, options, &copy);
    egress->model_hosts = copy.model_hosts;
    egress->model_host_count = copy.model_host_count;
    if (!has_copy || !copy_private_hosts(egress, options)) {
        arcp__egress_unref(egress);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the network of sandboxes");
    }
    *out = egress;
    return ARCP_OK;
}

void arcp__egress_free(arcp__egress *egress)
{
    if (egress == NULL) {
        return;
    }
    while (egress->jobs != NULL) {
        arcp__egress_close(egress->jobs);
    }
    arcp__egress_unref(egress);
}

arcp__egress_counts arcp__egress_count(const arcp__egress *egress)
{
    return egress->counts;
}

void arcp__egress_counts_add(arcp__egress_counts *to, const arcp__egress_counts *counts)
{
    to->allowed += counts->allowed;
    to->denied += counts->denied;
    to->failed += counts->failed;
    to->bytes_out += counts->bytes_out;
    to->bytes_in += counts->bytes_in;
    to->connections += counts->connections;
}
