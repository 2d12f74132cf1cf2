/* The gateways of one job: opened when its program is about to start, and closed before the job's
 * last event. Private to this folder. All functions are called on the runtime's thread, and accept
 * NULL for a job that has no gateways. */
#ifndef ARCP_RUNTIME_AGENT_GATEWAY_H
#define ARCP_RUNTIME_AGENT_GATEWAY_H

#include "gateway/gateway.h"
#include "hosting/agent_network.h"
#include "runtime/runtime_state.h"

typedef struct arcp__agent_gateway arcp__agent_gateway;

/* *out stays NULL if the runtime has no gateways. The job must exist until release. `is_confined`:
 * its program reaches them by the network of its sandbox. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__agent_gateway_open(arcp_runtime *runtime, arcp__job *job,
                                                     bool is_confined, arcp__agent_gateway **out,
                                                     arcp_error *err);

/* The gateways of a job on a worker, which passes its calls on with the key that the job's numbers
 * have the digest of. Does nothing for a job that has no such key, or has them already. They are
 * found by the job, and end with settle or close. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__worker_gateway_open(arcp_runtime *runtime, arcp__job *job,
                                                      arcp_error *err);
/* NULL: it has none. */
arcp__agent_gateway *arcp__worker_gateway_of(const arcp__job *job);
void arcp__worker_gateway_close(arcp__job *job);
/* Those of all jobs. */
void arcp__worker_gateways_close(arcp_runtime *runtime);
/* Where workers of this machine (else: others) reach the gateways; "": nowhere. */
const char *arcp__worker_gateways_url(const arcp_runtime *runtime, bool is_local);

/* Lets the network of the job's sandbox lead to its gateways. */
void arcp__agent_gateway_connect(const arcp__agent_gateway *gateway,
                                 arcp__agent_network_options *options);

/* Sets the variables by which SDKs find the gateways, unless the agent's configuration sets them;
 * to be called after everything else was set but what a sandbox needs. */
void arcp__agent_gateway_environment(const arcp__agent_gateway *gateway,
                                     arcp__environment *environment);

/* Adds a file .mcp.json, by which clients of MCP find the gateway for tools, if there is one; its
 * text, which has the job's key, is appended to `text`, and borrowed from it. */
void arcp__agent_gateway_write_clients(const arcp__agent_gateway *gateway, arcp_buf *text,
                                       const char **name, arcp_span *content);

/* Appends the job.start line with the endpoints; without gateways, the line as it is. */
void arcp__agent_gateway_write_start(const arcp__agent_gateway *gateway, arcp_span line,
                                     arcp_buf *out);

/* The job is being cancelled: its calls end, and no new one is accepted. */
void arcp__agent_gateway_cancel(const arcp__agent_gateway *gateway);

/* The lease grants nothing any more: if it has expired, the calls under way end. */
void arcp__agent_gateway_revoke(const arcp__agent_gateway *gateway, arcp_status code);

/* The hold of one of its calls is durable. */
void arcp__agent_gateway_hold_stored(const arcp__agent_gateway *gateway, arcp_span call_id);

/* As arcp__agent_hosts.settle. */
void arcp__agent_gateway_settle(arcp__agent_gateway *gateway, const arcp__settle_sink *sink);

void arcp__agent_gateway_release(arcp__agent_gateway *gateway);

/* arcp__agent_hosts.settle; `user` is the runtime. */
void arcp__runtime_settle(void *user, arcp__job *job, const arcp__settle_sink *sink);

#endif
