/* Requests for plans. */
#ifndef ARCP_TESTS_SANDBOX_RIG_H
#define ARCP_TESTS_SANDBOX_RIG_H

#include "sandbox/sandbox.h"

/* What a host of today with everything can do, but for a proxy in front of the network. */
arcp__sandbox_abilities rig_abilities(void);

/* An agent of user u, whose lease the caller adds: HOME /home/u, current directory /home/u/code,
 * minimum ADVISORY. */
arcp__sandbox_request rig_request(const arcp_lease *lease);

/* The plan of a request that is valid; the caller frees it. */
arcp__sandbox_plan *rig_plan(const arcp__sandbox_request *request);

/* Takes abilities away by name, as ARCP_SANDBOX_WITHOUT. */
void rig_without(arcp__sandbox_request *request, const char *names);

/* The gate for the same lease; relative paths are below `cwd`. The caller unrefs it. */
arcp_authority *rig_authority(const arcp_lease *lease, arcp_span cwd);

/* Whether the gate allows an operation of the sandboxed program on a canonical path or URL: as it
 * is or, below the current directory, as a relative path. */
bool rig_allows(const arcp_authority *authority, arcp_span cwd, arcp__capability capability,
                arcp_span target);

#endif
