/* An embedding program's own decision about every job before it is made, by a client's submit or by
 * a delegation. A program whose leases have another source (a token, an upstream runtime, a
 * database) validates them here, and checks that the request is within them. */
#ifndef ARCP_SUBMIT_POLICY_H
#define ARCP_SUBMIT_POLICY_H

#include <arcp/lease.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The job that would be made; borrowed for the call. */
typedef struct arcp_submit_request {
    size_t struct_size;
    arcp_span principal;
    arcp_span agent;         /* name@version of the agent that would run, or its name */
    arcp_span input;         /* compact JSON */
    arcp_span trace_id;      /* 32 hex digits */
    arcp_span parent_job_id; /* of a delegation; empty for a client's submit */
    /* The lease that the job would get: the requested one, narrowed by the operator's policy; for a
     * delegation it is within the parent's. */
    const arcp_lease *lease;
    uint64_t max_runtime_sec; /* 0: none */
} arcp_submit_request;

/* Decides one request:
 *
 *  - ARCP_OK: the job gets request->lease.
 *  - ARCP_OK with *narrowed set (the caller takes the reference): the job gets that lease. It must
 *    be within request->lease, or the job is refused with INTERNAL_ERROR and an error is
 *    logged; budgets, expiry and model.use that it omits are kept.
 *  - Any other status refuses the request, with `err` for the peer (details, if any, are a JSON
 *    object: arcp_error_set_details); a status without a code of the draft is sent as
 *    INTERNAL_ERROR. No job is made, and the idempotency key is free again. A refused delegation is
 *    a tool_result of the parent.
 *
 * Called on the loop's thread; must not block, and must not call the runtime. A repeated submit
 * with the same idempotency key is answered without a call. */
typedef arcp_status (*arcp_submit_policy_fn)(void *user, const arcp_submit_request *request,
                                             const arcp_lease **narrowed, arcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
