/* The provisioner `gateway`: keys of the runtime's own gateways for models and tools, which work
 * while the job runs, under its lease. */
#ifndef ARCP_PROVISIONER_GATEWAY_PROVISIONER_H
#define ARCP_PROVISIONER_GATEWAY_PROVISIONER_H

#include "gateway/gateway.h"
#include "provisioner/upstream.h"

struct uv_loop_s;

/* Of `upstream`, endpoint, currency, models and enforces are not used: a key is for the URL of the
 * gateway (with /v1 for the profile "openai", which is the default), and all of the lease holds.
 * There is no upstream that could fail to revoke: `revoke` returns DONE, also for a key of an
 * earlier run, none of which works. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__gateway_provisioner_new(struct uv_loop_s *loop,
                                                          const arcp__upstream *upstream,
                                                          arcp_provisioner **out, arcp_error *err);

/* Until this is called keys are refused. The gateway is borrowed until the last call of the
 * provisioner; NULL: there is none. */
void arcp__gateway_provisioner_connect(arcp_provisioner *provisioner, arcp__gateway *gateway);

#endif
