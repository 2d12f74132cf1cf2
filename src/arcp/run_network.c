/* The network of the sandbox: the sockets that arcp-sandbox made inside are served here, on the
 * loop. What the lease does not grant is refused and reported. */
#include "arcp/run_learn.h"
#include "arcp/run_process.h"
#include "base/directory.h"

static void on_denied(void *user, const arcp__egress_denial *denial)
{
    arcp__running *running = user;
    arcp__run_report_network(running->report, denial->capability, denial->target, denial->reason,
                             denial->code == ARCP__EGRESS_NO_PATTERN);
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
                                          .private_host_count = run->private_host_count};
    arcp_authority_options authority_options = arcp_authority_options_init();
    arcp_authority *authority = NULL;
    authority_options.now = running->begun;
    authority_options.cwd = arcp_span_cstr(run->cwd);
    arcp_status status = arcp_authority_new(run->lease, &authority_options, &authority, err);
    if (status == ARCP_OK) {
        status = arcp__egress_new(&running->loop, &options, &running->egress, err);
    }
    const arcp__egress_job_options job = {.authority = authority,
                                          .sockets = sockets,
                                          .socket_count = count,
                                          .proxy_secret =
                                              run->plan->has_proxy ? running->control.secret : NULL,
                                          .denied = on_denied,
                                          .allowed = run->learn == NULL ? NULL : on_allowed,
                                          .user = running,
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
    arcp_authority_unref(authority);
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
