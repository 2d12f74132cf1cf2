/* The gateways of a runtime, for the program that configures them. The runtime opens and closes
 * them for its jobs (agent_gateway.h). All functions are called on the loop's thread. */
#ifndef ARCP_RUNTIME_RUNTIME_GATEWAY_H
#define ARCP_RUNTIME_RUNTIME_GATEWAY_H

#include <arcp/runtime.h>

#include "gateway/gateway.h"

/* Starts the gateways, before the first job; `wake` and `gates` of the options are the runtime's.
 * They end with the runtime. Errors as arcp__gateway_new. */
ARCP_MUST_CHECK arcp_status arcp__runtime_open_gateway(arcp_runtime *runtime,
                                                       const arcp__gateway_options *options,
                                                       arcp_error *err);

/* NULL: none were opened. */
arcp__gateway *arcp__runtime_gateway(const arcp_runtime *runtime);

#endif
