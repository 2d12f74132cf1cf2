/* What a request has unless an operator chooses otherwise. */
#include "sandbox/sandbox.h"

#define SCRATCH_BYTES ((uint64_t)256 << 20)
#define PIDS          512

void arcp__sandbox_request_defaults(arcp__sandbox_request *request)
{
    /* Their effects on files and network are bounded all the same. */
    static const arcp_span exempt[] = {
        {"tool.call", 9}, {"model.use", 9}, {"cost.budget", 11}, {"x-vendor.", 9}};
    request->exempt = exempt;
    request->exempt_count = sizeof exempt / sizeof exempt[0];
    request->min = ARCP__SANDBOX_VERDICT_UNDER;
    request->limits = (arcp__sandbox_limits){.scratch_bytes = SCRATCH_BYTES, .pids = PIDS};
}
