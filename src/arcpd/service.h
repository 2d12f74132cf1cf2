/* What the configuration lets the runtime offer, and to whom: agents, policies and peer
 * profiles. */
#ifndef ARCP_ARCPD_SERVICE_H
#define ARCP_ARCPD_SERVICE_H

#include "arcpd/config.h"

#include <arcp/runtime.h>

/* Offers what `config` says, and nothing else from now on; jobs and sessions that exist keep what
 * they have. Agents get `files`, unless the configuration says otherwise. On an error a part is
 * offered: offer another configuration, or end. */
ARCP_MUST_CHECK arcp_status arcp__service_offer(arcp_runtime *runtime, const arcp__config *config,
                                                const arcp_launch_limit *files, arcp_error *err);

#endif
