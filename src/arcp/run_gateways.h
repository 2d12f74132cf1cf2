/* The gateways of `arcp run`: calls of the command to models and to tools, under its lease, on the
 * gateways' own thread. Providers, their keys and servers are those of the configuration file. */
#ifndef ARCP_ARCP_RUN_GATEWAYS_H
#define ARCP_ARCP_RUN_GATEWAYS_H

#include "arcp/run.h"
#include "arcp/run_process.h"
#include "arcp/setup_file.h"
#include "gateway/gateway.h"
#include "process/process.h"

struct arcp__run_gateways {
    arcp__setup_file file;
    arcp__setup used; /* of `file`, borrowed: with the providers that --provider names */
    bool has[ARCP__GATEWAY_KINDS];
    arcp__model_config *models;
    arcp__tool_config *tools;
    const arcp__web_client_ops *client;
    /* While the command runs. */
    arcp__running *running;
    arcp__gateway *gateway;
    arcp__gateway_job *job;
    uv_async_t wake;
    bool has_wake;
    arcp__environment environment; /* of the command, with what leads to the gateways */
};

/* Reads the configuration if the lease has model.use, tool.call or net.fetch; a command that is
 * only watched reaches all hosts, and has no gateways. Sets the hosts of the request that belong to
 * providers. run->gateways stays NULL if nothing was read. ARCP_E_USAGE: an option has no provider
 * or no server. */
ARCP_MUST_CHECK arcp_status arcp__run_gateways_read(arcp__run *run, arcp_error *err);

/* Reads the configuration for its servers of tools alone, without a command: those with these
 * names, or all (count 0). ARCP_E_USAGE for a name that the file does not have. */
ARCP_MUST_CHECK arcp_status arcp__run_gateways_read_tools(arcp__run *run, const char *const *names,
                                                          size_t count, arcp_error *err);

/* Adds the files with secrets to the paths that no lease grants, and says in the request which
 * gateways there are. Nothing is done without gateways, here and below. */
void arcp__run_gateways_own(arcp__run *run);

/* Makes their configurations, with what this host can do. ARCP_E_USAGE, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__run_gateways_make(arcp__run *run, arcp_error *err);

/* Starts their thread, which wakes the loop for what its jobs have led to, and ends it. All jobs
 * must have been released before. The loop has to run once more after _stop. */
ARCP_MUST_CHECK arcp_status arcp__run_gateways_start(arcp__run_gateways *gateways, uv_loop_t *loop,
                                                     arcp_error *err);
void arcp__run_gateways_stop(arcp__run_gateways *gateways);

/* Starts their thread for the command, and completes its environment. */
ARCP_MUST_CHECK arcp_status arcp__run_gateways_open(arcp__running *running, arcp_error *err);

/* The gateways that are open, as arcp__egress_job_options has them. */
unsigned arcp__run_gateways_bits(const arcp__run *run);

/* Serves a connection of the sandbox; owns the socket. `user`: run->gateways. */
void arcp__run_gateways_serve(void *user, unsigned kind, int fd);

/* The command has ended: ends its calls, and reports what they have led to. Does nothing the second
 * time. */
void arcp__run_gateways_end(arcp__running *running);

void arcp__run_gateways_free(arcp__run *run);

#endif
