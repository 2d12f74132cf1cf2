/* Agents inside the program: C callbacks that run jobs.
 *
 * A blocking agent runs on a thread of the runtime's pool and may take long; a non-blocking
 * one is called on the loop's thread, returns at once, and finishes later. Both get an
 * arcp_agent_call, which is valid until they end the job with arcp_agent_succeed or
 * arcp_agent_fail; a blocking agent that returns without either has succeeded with the result
 * null.
 *
 * Unless noted otherwise a function may be called from any thread, by one thread at a time per
 * call. An error is the status, and is described in `err` (which may be NULL). The gate decides
 * on the calling thread, without a turn of the loop. Draft §8-§10. */
#ifndef ARCP_AGENT_H
#define ARCP_AGENT_H

#include <arcp/gate.h>
#include <arcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_agent_call arcp_agent_call;

typedef enum arcp_agent_kind {
    ARCP_AGENT_BLOCKING = 0,
    ARCP_AGENT_NON_BLOCKING = 1
} arcp_agent_kind;

typedef struct arcp_agent {
    size_t struct_size;
    const char *name;    /* [a-z0-9][a-z0-9._-]* (§7.5) */
    const char *version; /* NULL: none */
    bool is_default;     /* the version that a bare name means */
    arcp_agent_kind kind;
    /* Runs the job. */
    void (*run)(arcp_agent_call *call, void *user);
    /* Non-blocking agents only, on the loop's thread; both may be NULL. `cancelled`: the job
     * should end soon. `drained`, at most once for each ARCP_E_LIMIT: events may be sent again,
     * or the job has ended (then sending returns ARCP_E_CLOSED). Neither is called after the
     * agent has ended its job, but a call may still run when another thread ends it. */
    void (*cancelled)(arcp_agent_call *call, void *user);
    void (*drained)(arcp_agent_call *call, void *user);
    void *user;
} arcp_agent;

static inline arcp_agent arcp_agent_init(void)
{
    arcp_agent agent;
    memset(&agent, 0, sizeof agent);
    agent.struct_size = sizeof agent;
    agent.kind = ARCP_AGENT_BLOCKING;
    return agent;
}

/* The job's parameters; borrowed, valid as long as the call. The id is followed by a NUL. `start`
 * is the payload of the job.start line (docs/reference/agent-lines.md): job_id, agent, input,
 * lease, budget, trace_id, traceparent, cwd and others. */
ARCP_API arcp_span arcp_agent_job_id(const arcp_agent_call *call);
ARCP_API const arcp_json *arcp_agent_start(const arcp_agent_call *call);
ARCP_API arcp_json_ref arcp_agent_input(const arcp_agent_call *call);
/* The job's authority, to be shown or explained. Decide with arcp_agent_authorize: only that
 * denies everything once the job has ended. */
ARCP_API const arcp_authority *arcp_agent_authority(const arcp_agent_call *call);

/* Appends the job's current credentials for upstreams (§9.8) as a JSON array, [] when it has none.
 * They are secrets, and may be replaced while the job runs: `out` becomes secret (arcp/buf.h); end
 * it (arcp_buf_fini) after use, and call this again instead of keeping them. Any thread. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_credentials(const arcp_agent_call *call,
                                                            arcp_buf *out, arcp_error *err);

/* Whether the job is being cancelled. Events of a cancelled agent are recorded until the grace
 * period ends. */
ARCP_API bool arcp_agent_is_cancelled(const arcp_agent_call *call);

/* Emits a job.event: `kind` is one of the draft's or x-vendor.*, `body` a JSON object with the
 * members of docs/reference/events.md. ARCP_E_INVALID_REQUEST for a wrong body. The gate decides
 * about a tool_call, and a denial is returned; a metric cost.* is subtracted from the budget before
 * this returns. While the job is paused (its owner does not read, or the store's queue is full),
 * and while more than 4 MiB of events of callback agents wait for the runtime, a blocking agent
 * waits, and a non-blocking one gets ARCP_E_LIMIT and later a call of `drained`. ARCP_E_CLOSED when
 * the job has ended. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_event(arcp_agent_call *call, const char *kind,
                                                      arcp_span body, arcp_error *err);
/* A log event (§8.2): `level` is debug, info, warn or error. As arcp_agent_event. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_log(arcp_agent_call *call, const char *level,
                                                    const char *text, arcp_error *err);
/* A progress event (§8.2.1). `total` 0: not known; `message` may be NULL. As arcp_agent_event. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_progress(arcp_agent_call *call, uint64_t current,
                                                         uint64_t total, const char *message,
                                                         arcp_error *err);
/* A metric event. `value` is the text of a JSON number and is kept as written; `unit` may be NULL.
 * A metric cost.* whose unit is a currency of the budget is subtracted from it (§9.6). As
 * arcp_agent_event. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_metric(arcp_agent_call *call, const char *name,
                                                       const char *value, const char *unit,
                                                       arcp_error *err);

/* Asks the gate before an operation. ARCP_OK, or PERMISSION_DENIED, LEASE_EXPIRED,
 * BUDGET_EXHAUSTED; ARCP_E_CLOSED when the job has ended. `decision` (may be NULL) has the
 * canonical target to act on; it borrows from the arguments and from `scratch`, which must be given
 * with it. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_authorize(arcp_agent_call *call,
                                                          arcp_span capability, arcp_span target,
                                                          arcp_target_scratch *scratch,
                                                          arcp_decision *decision, arcp_error *err);
/* The same for `model.use` of a model's name. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_authorize_model(arcp_agent_call *call,
                                                                arcp_span model, arcp_error *err);

/* Streams a part of the result (§8.4), in the order of the calls; `more` is false for the last
 * part, after which arcp_agent_succeed is called without a result. A part of more than
 * limits.chunk_bytes, or more than limits.result_bytes in all, ends the job with INTERNAL_ERROR.
 * Errors as arcp_agent_event. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_chunk(arcp_agent_call *call, arcp_span bytes,
                                                      bool more, arcp_error *err);

/* Delegates (§10): `request` is the JSON payload of a delegate line (agent, input,
 * lease_request?, lease_constraints?, wait?). The reply's payload is appended to `reply`:
 * {"job_id"}, or with wait the child's outcome. Blocks: for blocking agents only.
 * LEASE_SUBSET_VIOLATION and the gate's codes as errors, with their details. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_agent_delegate(arcp_agent_call *call, arcp_span request,
                                                         arcp_buf *reply, arcp_error *err);

/* Ends the job successfully; the call is invalid afterwards. `result` is JSON (empty: null). */
ARCP_API void arcp_agent_succeed(arcp_agent_call *call, arcp_span result);
/* Ends the job with an error; the call is invalid afterwards. `status` is one of the fifteen codes
 * (others are sent as INTERNAL_ERROR); `details` is a JSON object or empty. */
ARCP_API void arcp_agent_fail(arcp_agent_call *call, arcp_status status, const char *message,
                              arcp_span details);

#ifdef __cplusplus
}
#endif
#endif
