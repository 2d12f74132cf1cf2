/* How the program of a job finds the job's gateways: variables that SDKs read. Any thread. */
#ifndef ARCP_GATEWAY_GATEWAY_PROGRAM_H
#define ARCP_GATEWAY_GATEWAY_PROGRAM_H

#include "gateway/gateway.h"
#include "process/process.h"

/* Adds the variables. What is set already stays; the hosts are added to NO_PROXY. */
void arcp__gateway_set_environment(const arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                                   arcp__environment *environment);

#endif
