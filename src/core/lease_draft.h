/* A lease that is being put together, by the JSON reader, the builder, derivation and
 * narrowing. Everything that makes a lease well-formed is checked here and nowhere else.
 *
 * The first failure is kept: what is added behind it is left out, and _finish returns it. One
 * thread at a time. */
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

/* For what was within its limits when it came in. */
extern const arcp_lease_limits arcp__lease_unlimited;

/* `limits` may be NULL for the defaults. Allocates nothing. */
void arcp__lease_draft_init(arcp__lease_draft *draft, const arcp_lease_limits *limits,
                            arcp_error *err);
void arcp__lease_draft_fini(arcp__lease_draft *draft);

/* Adds a capability the draft does not have yet; its place. */
size_t arcp__lease_draft_capability(arcp__lease_draft *draft, arcp_span name);
/* Adds a pattern, for cost.budget an amount, to the capability at that place. */
void arcp__lease_draft_pattern(arcp__lease_draft *draft, size_t at, arcp_span pattern);
/* Adds a capability of another lease as it is. */
void arcp__lease_draft_copy(arcp__lease_draft *draft, const arcp__lease_capability *from);
void arcp__lease_draft_expiry(arcp__lease_draft *draft, arcp_span text);

/* Compiles a lease the caller unrefs, unless something has failed; frees the draft. */
ARCP_MUST_CHECK arcp_status arcp__lease_draft_finish(arcp__lease_draft *draft, arcp_lease **out);

#endif
