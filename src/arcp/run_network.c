/* The network of the sandbox: the sockets that arcp-sandbox made inside are served here, on the
 * loop. What the lease does not grant is refused and reported. */
#include "arcp/run_gateways.h"
#include "arcp/run_learn.h"
#include "arcp/run_process.h"
#include "base/directory.h"

static void on_denied(void *user, const arcp__egress_denial *denial)
{
    arcp__running *running = user;
    const arcp__run_refusal refusal = {.capability = denial->capability,
                                       .target = denial->target,
                                       .reason = denial->reason,
                                       .layer = "egress",
                                       .is_lacking = denial->code == ARCP__EGRESS_NO_PATTERN};
    arcp__run_report_refusal(running->report, &refusal);
}

static void on_allowed(void *user, arcp_span url, bool is_host)
{
    const arcp__running *running = user;
    arcp__run_learn_url(running->run->learn, url, is_host);
}

static arcp_status serve(arcp__running *running, const int *sockets, size_t count, arcp_error *err)
{
    const arcp__run *run = running->run;
    const arcp__egress_options options = {.private_hosts = run->private_hosts,
                                          .private_host_count = run->private_host_count,
                                          .model_hosts = run->request.model_hosts,
                                          .model_host_count = run->request.model_host_count};
    arcp_status status = arcp__egress_new(&running->loop, &options, &running->egress, err);
    const arcp__egress_job_options job = {.authority = running->authority,
                                          .sockets = sockets,
                                          .socket_count = count,
                                          .proxy_secret =
                                              run->plan->has_proxy ? running->control.secret : NULL,
                                          .denied = on_denied,
                                          .allowed = run->learn == NULL ? NULL : on_allowed,
                                          .user = running,
                                          .gateways = arcp__run_gateways_bits(run),
                                          .serve = arcp__run_gateways_serve,
                                          .serve_user = run->gateways,
                                          .ca = running->ca,
                                          .opens_whole_hosts = run->learn != NULL};
    if (status == ARCP_OK) {
        running->ca = NULL;
        status = arcp__egress_open(running->egress, &job, &running->network, err);
    } else {
        for (size_t i = 0; i < count; i++) {
            arcp__close(sockets[i]);
        }
    }
    return status;
}

void arcp__run_network_open(arcp__running *running, const int *sockets, size_t count)
{
    arcp_error err = {0};
    if (serve(running, sockets, count, &err) != ARCP_OK) {
        arcp__run_network_fail(running, err.message);
    }
}

void arcp__run_network_fail(arcp__running *running, const char *reason)
{
    if (running->is_without_network) {
        return;
    }
    running->is_without_network = true;
    arcp_buf_clear(&running->report->failure);
    arcp_buf_append_format(&running->report->failure, "the network of the sandbox: %s", reason);
    arcp__run_kill(running);
}

void arcp__run_network_close(arcp__running *running)
{
    arcp__egress_close(running->network);
    running->network = NULL;
}
