/* Leases: what one job may do, how much it may spend, until when.
 *
 * A lease is immutable once built, compiled once, reference-counted, and may be shared
 * between threads. Draft §9; docs/leases.md has the rules with examples.
 *
 *   lease      = {} of capability: [pattern...], and of "cost.budget": [amount...]
 *   capability = fs.read fs.write net.fetch tool.call agent.delegate model.use cost.budget
 *                | "x-vendor" ("." [a-z0-9_-]+){2,}
 *   pattern    = UTF-8 without NUL; only `*` is special, and there are no escapes
 *     *          any number of bytes, also none, without a separator: '/', in tool.call also '.'
 *     **         any number of bytes, also none
 *     `**` '/'   at the start or after a '/': any number of whole segments, also none
 *     '/' `**`   at the end: nothing, or '/' and any bytes
 *   amount     = currency ":" digits [ "." digits ]; the currency is the text before the first
 *                colon, 1 to 64 bytes without control bytes; entries of one currency add up
 *   expires_at = RFC 3339 in UTC, with "Z"
 *
 * No segment begins at the second slash of "://". In net.fetch a wildcard that is not the end of
 * the pattern never matches '?'. A pattern must match the whole canonical target (arcp/gate.h),
 * byte by byte; a capability grants every target that one of its patterns matches, and [] grants
 * nothing. */
#ifndef ARCP_LEASE_H
#define ARCP_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/decimal.h>
#include <arcp/error.h>
#include <arcp/json.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arcp_lease arcp_lease;
typedef struct arcp_lease_builder arcp_lease_builder;

/* The limits that a runtime starts with; a lease beyond them is ARCP_E_INVALID_REQUEST. Functions
 * that take them accept NULL for the defaults. */
typedef struct arcp_lease_limits {
    size_t struct_size;
    size_t patterns_max; /* per capability */
    size_t bytes_max;    /* all names and patterns together */
    size_t pattern_bytes_max;
    size_t pattern_wildcards_max; /* `**` counts once */
} arcp_lease_limits;

static inline arcp_lease_limits arcp_lease_limits_init(void)
{
    arcp_lease_limits limits;
    memset(&limits, 0, sizeof limits);
    limits.struct_size = sizeof limits;
    limits.patterns_max = 1024;
    limits.bytes_max = 262144;
    limits.pattern_bytes_max = 4096;
    limits.pattern_wildcards_max = 32;
    return limits;
}

/* Whether `name` is one of the seven reserved capability names (§9.2). */
ARCP_API bool arcp_capability_is_reserved(arcp_span name);
/* Whether `name` is reserved or of the form x-vendor.<vendor>.<cap...>. */
ARCP_API bool arcp_capability_is_valid(arcp_span name);

/* Reads a lease from the member `lease` of a scanned text (an object; absent or null is the empty
 * lease, which grants nothing) and `constraints` (an object, absent or null). Errors name
 * capability, index and reason. The caller unrefs *out. Only the shape of expires_at is checked
 * here: the caller decides whether it is in the future. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_from_json(const arcp_json *json,
                                                          arcp_json_ref lease,
                                                          arcp_json_ref constraints,
                                                          const arcp_lease_limits *limits,
                                                          arcp_lease **out, arcp_error *err);

/* The same from text: a lease object, and a constraints object or an empty span. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_parse(arcp_span lease, arcp_span constraints,
                                                      const arcp_lease_limits *limits,
                                                      arcp_lease **out, arcp_error *err);

/* Another reference to the same lease, for any thread; each must be unreferenced once. */
ARCP_API arcp_lease *arcp_lease_ref(const arcp_lease *lease);
ARCP_API void arcp_lease_unref(const arcp_lease *lease); /* NULL is accepted */

/* Appends the lease as the bare map of §9.2, with capabilities and patterns in their original
 * order. */
ARCP_API void arcp_lease_format(const arcp_lease *lease, arcp_buf *out);
/* Appends {"expires_at": ...} with its original text; {} when the lease has no expiry. */
ARCP_API void arcp_lease_format_constraints(const arcp_lease *lease, arcp_buf *out);

ARCP_API bool arcp_lease_has_expiry(const arcp_lease *lease);
/* The wall-clock instant of expiry in ns since 1970, rounded down; ARCP_TIME_NEVER without one, and
 * for one that does not fit in 64 bits (from April 2262 on). */
ARCP_API int64_t arcp_lease_expires_wall_ns(const arcp_lease *lease);

/* Its capabilities and patterns, by index (asserted to be below the count). Names and patterns live
 * as long as the lease, are in their original order, and are each followed by a NUL. The patterns
 * of cost.budget are its amounts as text. */
ARCP_API size_t arcp_lease_capability_count(const arcp_lease *lease);
ARCP_API arcp_span arcp_lease_capability_name(const arcp_lease *lease, size_t capability);
ARCP_API size_t arcp_lease_pattern_count(const arcp_lease *lease, size_t capability);
ARCP_API arcp_span arcp_lease_pattern(const arcp_lease *lease, size_t capability, size_t pattern);
/* Whether the lease names the capability at all (even with []). */
ARCP_API bool arcp_lease_names(const arcp_lease *lease, arcp_span capability);

/* Builds a lease within the default limits. The first error is kept, and arcp_lease_build returns
 * it. The builder is freed by arcp_lease_build (whatever that returns) or arcp_lease_builder_free.
 * One thread at a time. NULL: out of memory. */
ARCP_API ARCP_MUST_CHECK arcp_lease_builder *arcp_lease_builder_new(void);
/* Adds a pattern; NULL names the capability without granting anything. */
ARCP_API void arcp_lease_allow(arcp_lease_builder *builder, const char *capability,
                               const char *pattern);
/* Adds an entry of cost.budget; entries of one currency add up. */
ARCP_API void arcp_lease_budget(arcp_lease_builder *builder, const char *currency,
                                const char *amount);
ARCP_API void arcp_lease_expires_at(arcp_lease_builder *builder, const char *rfc3339);
ARCP_API ARCP_MUST_CHECK arcp_status arcp_lease_build(arcp_lease_builder *builder, arcp_lease **out,
                                                      arcp_error *err);
ARCP_API void arcp_lease_builder_free(arcp_lease_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
