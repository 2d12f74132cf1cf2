/* The gateways of a runtime, for the program that configures them. The runtime opens and closes
 * them for its jobs (agent_gateway.h). All functions are called on the loop's thread. */
#ifndef ARCP_RUNTIME_RUNTIME_GATEWAY_H
#define ARCP_RUNTIME_RUNTIME_GATEWAY_H

#include <arcp/runtime.h>

#include "gateway/gateway.h"
#include "gateway/tool_config.h"

/* Starts the gateways, before the first job; `wake` and `gates` of the options are the runtime's.
 * They end with the runtime. Errors as arcp__gateway_new. */
ARCP_MUST_CHECK arcp_status arcp__runtime_open_gateway(arcp_runtime *runtime,
                                                       const arcp__gateway_options *options,
                                                       arcp_error *err);

/* With what sandboxes of servers of tools are made: as those of agents without settings of their
 * own. False: agents are not confined (enforce.mode: off). Borrows from the runtime, until its
 * enforcement is set again. */
bool arcp__runtime_tool_host(arcp_runtime *runtime, arcp__tool_host *out);

/* The directory of this run, in which jobs have theirs; NULL: none. */
const char *arcp__runtime_directory(const arcp_runtime *runtime);

/* Limits what the jobs of a principal that matches the glob may spend on one UTC day, together, to
 * the amounts of a lease (referenced). Of several the first one holds. They are removed by
 * arcp_runtime_clear_policies. */
ARCP_MUST_CHECK arcp_status arcp__runtime_add_spend(arcp_runtime *runtime,
                                                    const char *principal_glob,
                                                    const arcp_lease *amounts, arcp_error *err);

/* NULL: none were opened. */
arcp__gateway *arcp__runtime_gateway(const arcp_runtime *runtime);

#endif
