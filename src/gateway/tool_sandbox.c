/* The sandbox of a server of tools: what its lease grants, and nothing of the job that calls it. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/directory.h"
#include "gateway/tool_parts.h"
#include "launch/agent_sandbox.h"
#include "launch/sandbox_etc.h"
#include "stream/tls_ca.h"

struct arcp__tool_sandbox {
    arcp__tool_service_state *service;
    const arcp__tool_host *host; /* of the server's configuration */
    arcp__agent_sandbox agent;
    arcp__sandbox_plan *plan;
    arcp_buf text, etc, fresh, scratch;
    arcp__tls_ca *ca;
    arcp_authority *authority; /* of the server */
    arcp__egress_job *network;
    arcp__process_confinement confinement;
};

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- the plan ---- */

static arcp_status check_plan(const arcp__sandbox_plan *plan, arcp_error *err)
{
    if (plan->refusal == ARCP__SANDBOX_REFUSAL_NONE) {
        return ARCP_OK;
    }
    if (plan->refusal != ARCP__SANDBOX_REFUSAL_LINE) {
        return arcp_error_set(err, ARCP_E_USAGE, "this host cannot confine it (arcp doctor)");
    }
    const arcp__sandbox_line *line = &plan->lines[plan->refused_line];
    return arcp_error_set(err, ARCP_E_USAGE, "%.*s %.*s would be %s, which enforce.min forbids",
                          (int)line->capability.size, line->capability.data,
                          (int)arcp_span_first(line->pattern, 200).size, line->pattern.data,
                          arcp__sandbox_verdict_name(line->verdict));
}

static arcp_status make_plan(arcp__tool_sandbox *sandbox, arcp__own_paths *own,
                             const arcp__tool_server_options *server, arcp_error *err)
{
    const char *directory = arcp__process_table_directory(sandbox->service->processes);
    const unsigned number = ++sandbox->service->sandbox_count;
    const arcp__command_base_query query = {
        .argv = server->argv, .path = getenv("PATH"), .home = getenv("HOME"), .has_words = true};
    sandbox->agent.request = sandbox->host->request;
    arcp__own_paths_follow(own);
    arcp__own_paths_set(own, &sandbox->agent.request);
    sandbox->agent.bases = sandbox->host->bases;
    arcp_buf_append_format(&sandbox->fresh, "%s/tools-%s-%u", directory, server->name, number);
    if (arcp__sandbox_level_of(&sandbox->agent.request.abilities) == ARCP__SANDBOX_LEVEL_LANDLOCK) {
        arcp_buf_append_format(&sandbox->scratch, "%s/tools-%s-%u.private", directory, server->name,
                               number);
    }
    if (sandbox->fresh.failed || sandbox->scratch.failed || own->failed) {
        return no_memory(err);
    }
    const arcp__agent_sandbox_job job = {.lease = server->lease,
                                         .fresh = arcp_buf_span(&sandbox->fresh),
                                         .scratch = arcp_buf_span(&sandbox->scratch)};
    arcp_status status = arcp__agent_sandbox_find(&sandbox->agent, &query, err);
    if (status == ARCP_OK) {
        status = arcp__agent_sandbox_plan(&sandbox->agent, &job, &sandbox->plan, err);
    }
    if (status == ARCP_OK) {
        status = check_plan(sandbox->plan, err);
    }
    if (status == ARCP_OK) {
        arcp__sandbox_plan_encode(sandbox->plan, &sandbox->text);
        status = sandbox->text.failed ? no_memory(err) : ARCP_OK;
    }
    return status;
}

/* ---- the host ---- */

static arcp_status prepare_etc(arcp__tool_sandbox *sandbox, arcp_error *err)
{
    arcp_buf directory = arcp_buf_init();
    arcp_status status = arcp__sandbox_etc_directory(
        arcp__process_table_base(sandbox->service->processes), &directory, err);
    const arcp__sandbox_etc request = {
        .directory = arcp_buf_cstr(&directory),
        .uid = geteuid(),
        .gid = getegid(),
        .home = ARCP__AGENT_HOME,
        .ca_link = arcp__sandbox_terminates(sandbox->plan) ? ARCP__TLS_CA_LINK : NULL};
    if (status == ARCP_OK) {
        status = arcp__sandbox_etc_prepare(&request, &sandbox->etc, err);
    }
    arcp_buf_fini(&directory);
    return status == ARCP_OK && arcp_buf_cstr(&sandbox->etc) == NULL ? no_memory(err) : status;
}

static arcp_status prepare(arcp__tool_sandbox *sandbox, const arcp__tool_server_options *server,
                           arcp_error *err)
{
    const arcp__sandbox_plan *plan = sandbox->plan;
    arcp_authority_options options = arcp_authority_options_init();
    options.now = arcp__clock_now();
    options.cwd = arcp_buf_span(&sandbox->fresh);
    arcp_status status = arcp_authority_new(server->lease, &options, &sandbox->authority, err);
    if (status == ARCP_OK) {
        status = arcp__sandbox_make_own(plan, err);
    }
    if (status == ARCP_OK && arcp__sandbox_needs_etc(plan)) {
        status = prepare_etc(sandbox, err);
    }
    if (status == ARCP_OK && arcp__sandbox_terminates(plan)) {
        status = arcp__tls_ca_new(arcp__clock_ns(CLOCK_REALTIME) / ARCP_NS_PER_SEC,
                                  arcp_lease_expires_wall_ns(server->lease) / ARCP_NS_PER_SEC,
                                  &sandbox->ca, err);
    }
    sandbox->confinement = (arcp__process_confinement){
        .plan = arcp_buf_span(&sandbox->text),
        .etc = sandbox->etc.size == 0 ? NULL : arcp_buf_cstr(&sandbox->etc),
        .ca_certificate = sandbox->ca == NULL ? NULL : arcp__tls_ca_certificate(sandbox->ca),
        .has_processes = plan->level == ARCP__SANDBOX_LEVEL_FULL,
        .has_network = plan->port_count != 0 || plan->has_proxy,
        .scratch = sandbox->scratch.size == 0 ? NULL : arcp_buf_cstr(&sandbox->scratch),
        .limits = arcp__cgroup_limits_of(&plan->limits)};
    return status;
}

/* ---- the object ---- */

arcp_status arcp__tool_sandbox_new(arcp__tool_service_state *service, arcp__tool_config *config,
                                   const arcp__tool_server_options *server,
                                   arcp__tool_sandbox **out, arcp_error *err)
{
    if (config->host == NULL || arcp__process_table_directory(service->processes) == NULL ||
        arcp__sandbox_level_of(&config->host->request.abilities) == ARCP__SANDBOX_LEVEL_NONE) {
        return arcp_error_set(err, ARCP_E_USAGE, "this host cannot confine it (arcp doctor)");
    }
    arcp__tool_sandbox *sandbox = arcp__alloc(sizeof *sandbox);
    if (sandbox == NULL) {
        return no_memory(err);
    }
    sandbox->service = service;
    sandbox->host = config->host;
    arcp_status status = make_plan(sandbox, &config->own, server, err);
    if (status == ARCP_OK) {
        status = prepare(sandbox, server, err);
    }
    if (status != ARCP_OK) {
        arcp__tool_sandbox_free(sandbox);
        return status;
    }
    *out = sandbox;
    return ARCP_OK;
}

void arcp__tool_sandbox_free(arcp__tool_sandbox *sandbox)
{
    if (sandbox == NULL) {
        return;
    }
    arcp__egress_close(sandbox->network);
    arcp_authority_unref(sandbox->authority);
    arcp__tls_ca_free(sandbox->ca);
    arcp__sandbox_plan_free(sandbox->plan);
    arcp__agent_sandbox_fini(&sandbox->agent);
    arcp_buf_fini(&sandbox->text);
    arcp_buf_fini(&sandbox->etc);
    arcp_buf_fini(&sandbox->fresh);
    arcp_buf_fini(&sandbox->scratch);
    arcp__free(sandbox);
}

void arcp__tool_sandbox_apply(const arcp__tool_sandbox *sandbox, arcp__process_spec *spec,
                              arcp__environment *environment)
{
    arcp__environment_set(environment, "HOME", sandbox->plan->home);
    arcp__environment_set(environment, "TMPDIR", sandbox->plan->tmp);
    if (sandbox->plan->port_count != 0) {
        arcp_buf proxy = arcp_buf_init();
        arcp_buf_append_format(&proxy, "http://127.0.0.1:%d", ARCP__EGRESS_PROXY_PORT);
        arcp__environment_set(environment, "ARCP_PROXY", arcp_buf_span(&proxy));
        environment->failed = environment->failed || proxy.failed;
        arcp_buf_fini(&proxy);
    }
    arcp__environment_set(environment, ARCP__SANDBOX_MARK, ARCP_SPAN_LITERAL("1"));
    spec->cwd = sandbox->fresh.data;
    spec->makes_cwd = true;
    spec->confinement = &sandbox->confinement;
}

/* ---- its network ---- */

static void close_all(const int *sockets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        arcp__close(sockets[i]);
    }
}

arcp_status arcp__tool_sandbox_serve(arcp__tool_sandbox *sandbox, const int *sockets, size_t count,
                                     const char *proxy_secret, arcp_error *err)
{
    arcp__tool_service_state *service = sandbox->service;
    const arcp__egress_options options = {.private_hosts = sandbox->host->private_hosts,
                                          .private_host_count = sandbox->host->private_host_count,
                                          .model_hosts = sandbox->host->request.model_hosts,
                                          .model_host_count =
                                              sandbox->host->request.model_host_count,
                                          .idle_ms = sandbox->host->egress_idle_ms};
    arcp_status status = ARCP_OK;
    if (service->egress == NULL) {
        status =
            arcp__egress_new(arcp__gateway_loop(service->gateway), &options, &service->egress, err);
    }
    if (status != ARCP_OK) {
        close_all(sockets, count);
        return status;
    }
    const arcp__egress_job_options job = {.authority = sandbox->authority,
                                          .sockets = sockets,
                                          .socket_count = count,
                                          .proxy_secret = proxy_secret,
                                          .ca = sandbox->ca};
    sandbox->ca = NULL;
    return arcp__egress_open(service->egress, &job, &sandbox->network, err);
}
