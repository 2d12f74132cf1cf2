/* The gate: the one function that decides whether a job may do something.
 *
 * Order: expiry (LEASE_EXPIRED), budgets (BUDGET_EXHAUSTED), capability and target
 * (PERMISSION_DENIED). Deny is the default. docs/leases.md, The gate, draft §9.3. */
#ifndef ARCP_GATE_H
#define ARCP_GATE_H

#include <arcp/budget.h>
#include <arcp/lease.h>
#include <arcp/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why an operation was denied: the first reason that applies, in this order (docs/leases.md). */
typedef enum arcp_deny_reason {
    ARCP_DENY_NONE = 0,
#define ARCP_DENY(name, number, text) ARCP_DENY_##name = (number),
#include <arcp/deny_reason.def>
#undef ARCP_DENY
    ARCP_DENY_REASON_COUNT
} arcp_deny_reason;

ARCP_API const char *arcp_deny_reason_name(arcp_deny_reason reason); /* "NO_MATCH"; static */
ARCP_API const char *arcp_deny_reason_text(arcp_deny_reason reason); /* one line; static */

/* The authority of a job: its lease, its budget node, its expiry tied to the monotonic clock, and
 * the directory of relative paths. Immutable except for the budget's counters; reference-counted;
 * any thread. */
typedef struct arcp_authority arcp_authority;

typedef struct arcp_authority_options {
    size_t struct_size;
    arcp_budget
        *budget;   /* a reference is kept; NULL: one is made from the lease, under the parent's */
    arcp_time now; /* the instant from which the remaining time is counted */
    int64_t expiry_grace_ns; /* 0 .. 1 s; added to the expiry */
    arcp_span cwd;           /* absolute path; empty: relative paths are denied */
    bool model_use_required; /* absent model.use denies every model (default true) */
    /* The authority of the job that delegates; borrowed for the call; NULL: none. The deadline is
     * never later than the parent's, even if the wall clock was set back in between, and model.use
     * is required if the parent requires it. */
    const arcp_authority *parent;
} arcp_authority_options;

static inline arcp_authority_options arcp_authority_options_init(void)
{
    arcp_authority_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.model_use_required = true;
    return options;
}

/* Makes the authority of a job; the caller unrefs *out. `options` may be NULL for the defaults if
 * the lease has no expiry. Keeps references to the lease and the budget. ARCP_E_USAGE for options
 * of a newer release, and for a grace or a directory that is not valid. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_authority_new(const arcp_lease *lease,
                                                        const arcp_authority_options *options,
                                                        arcp_authority **out, arcp_error *err);
ARCP_API arcp_authority *arcp_authority_ref(const arcp_authority *authority);
ARCP_API void arcp_authority_unref(const arcp_authority *authority); /* NULL is accepted */
ARCP_API const arcp_lease *arcp_authority_lease(const arcp_authority *authority);
ARCP_API arcp_budget *arcp_authority_budget(const arcp_authority *authority);
/* The monotonic deadline of the lease (grace included); ARCP_TIME_NEVER without expiry. */
ARCP_API int64_t arcp_authority_deadline_mono_ns(const arcp_authority *authority);
/* Whether the lease has expired at `now`: the monotonic deadline has passed, or the wall clock is
 * past expires_at (setting it forward may shorten a lease; setting it back never extends one). */
ARCP_API bool arcp_authority_is_expired(const arcp_authority *authority, arcp_time now);

#define ARCP_TARGET_BYTES_MAX 16384

/* Memory for a canonical target that differs from the original one. */
typedef struct arcp_target_scratch {
    char bytes[2 * ARCP_TARGET_BYTES_MAX];
} arcp_target_scratch;

/* A decision. All zeros mean "denied". */
typedef struct arcp_decision {
    bool allowed;
    arcp_status code; /* ARCP_OK, or the error code of the denial */
    arcp_deny_reason reason;
    arcp_span capability; /* of the call; borrowed from the caller */
    arcp_span target;     /* of the call; borrowed from the caller */
    arcp_span canonical;  /* the string that was matched and must be used; in target or scratch (no
                             NUL follows); empty when there is no canonical form */
    arcp_span pattern;    /* that allowed it; borrowed from the lease, a NUL follows */
    arcp_span currency;   /* whose budget is used up; borrowed from the budget */
} arcp_decision;

/* Decides, and returns decision->allowed. `scratch` must outlive the decision. Allocates nothing
 * and takes no lock; any thread. */
ARCP_API ARCP_MUST_CHECK bool arcp_authorize(const arcp_authority *authority, arcp_time now,
                                             arcp_span capability, arcp_span target,
                                             arcp_target_scratch *scratch, arcp_decision *decision);

/* arcp_authorize for model.use. */
ARCP_API ARCP_MUST_CHECK bool arcp_authorize_model(const arcp_authority *authority, arcp_time now,
                                                   arcp_span model, arcp_target_scratch *scratch,
                                                   arcp_decision *decision);

/* arcp_authorize for agent.delegate with `name@version`, then `name`, then `name@`. `version` may
 * be empty. docs/leases.md, Canonical targets. */
ARCP_API ARCP_MUST_CHECK bool
arcp_authorize_delegate(const arcp_authority *authority, arcp_time now, arcp_span name,
                        arcp_span version, arcp_target_scratch *scratch, arcp_decision *decision);

/* Appends the details object of a denial: {capability, target, canonical, granted[], reason}, plus
 * currency for BUDGET_EXHAUSTED and expires_at for LEASE_EXPIRED. Bytes that are not UTF-8 are
 * replaced. `granted` has at most 32 patterns. */
ARCP_API void arcp_decision_format_details(const arcp_authority *authority,
                                           const arcp_decision *decision, arcp_buf *out);
/* Appends a one-line message, e.g. `fs.read of "/etc/passwd" is not covered by the
 * lease`. */
ARCP_API void arcp_decision_format_message(const arcp_decision *decision, arcp_buf *out);

#ifdef __cplusplus
}
#endif
#endif
