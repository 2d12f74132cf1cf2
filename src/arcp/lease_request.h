/* The lease request of `arcp submit`: --lease, --grant, --budget, --expires-in, --expires-at. */
#ifndef ARCP_ARCP_LEASE_REQUEST_H
#define ARCP_ARCP_LEASE_REQUEST_H

#include <arcp/buf.h>

#include "cli/arguments.h"

/* Writes the lease and the constraints as JSON objects; each stays empty when nothing asks
 * for it. What no runtime would accept is ARCP_E_USAGE, naming capability, index and reason. */
ARCP_MUST_CHECK arcp_status arcp__lease_request(const arcp__arguments *arguments,
                                                int64_t now_wall_ns, arcp_buf *lease,
                                                arcp_buf *constraints, arcp_error *err);

#endif
