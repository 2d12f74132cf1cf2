/* A lease that is being made, by the JSON reader, the builder, derivation or narrowing. All checks
 * that a lease is well-formed are made here and nowhere else.
 *
 * The first failure is kept: later additions are ignored, and arcp__lease_draft_finish returns it.
 * One thread at a time. */
#ifndef ARCP_CORE_LEASE_DRAFT_H
#define ARCP_CORE_LEASE_DRAFT_H

#include "base/arena.h"
#include "core/lease.h"

typedef struct arcp__draft_capability {
    arcp_span name;
    arcp__capability kind;
    arcp_span *patterns; /* owned array */
    size_t count;
    size_t capacity;
} arcp__draft_capability;

typedef struct arcp__lease_draft {
    arcp_lease_limits limits;
    arcp_status status; /* of the first failure */
    arcp_error *err;    /* gets it; may be NULL */
    arcp__arena texts;
    size_t bytes; /* of all texts */
    arcp__draft_capability *capabilities;
    size_t count;
    size_t capacity;
    size_t pattern_count; /* of all capabilities */
    arcp__lease_amount *amounts;
    size_t amount_count;
    size_t amount_capacity;
    bool has_expiry;
    arcp_span expires_text;
    arcp__instant expires;
} arcp__lease_draft;

/* For parts that were within the limits when they were first read. */
extern const arcp_lease_limits arcp__lease_unlimited;

/* `limits` may be NULL for the defaults. Allocates nothing. */
void arcp__lease_draft_init(arcp__lease_draft *draft, const arcp_lease_limits *limits,
                            arcp_error *err);
void arcp__lease_draft_fini(arcp__lease_draft *draft);

/* Adds a capability that the draft does not have yet; returns its index. */
size_t arcp__lease_draft_capability(arcp__lease_draft *draft, arcp_span name);
/* Adds a pattern, or for cost.budget an amount, to the capability with this index. */
void arcp__lease_draft_pattern(arcp__lease_draft *draft, size_t index, arcp_span pattern);
/* Adds a capability of another lease unchanged. */
void arcp__lease_draft_copy(arcp__lease_draft *draft, const arcp__lease_capability *from);
void arcp__lease_draft_expiry(arcp__lease_draft *draft, arcp_span text);

/* Compiles the lease, which the caller unrefs, unless something has failed; frees the draft. */
ARCP_MUST_CHECK arcp_status arcp__lease_draft_finish(arcp__lease_draft *draft, arcp_lease **out);

#endif
