/* Capabilities: their names, the form of their targets, and the separators of segments. The table
 * is <arcp/capability.def>; docs/leases.md, Patterns, draft §9.2. Pure; any thread.
 *
 * arcp_capability_is_reserved and arcp_capability_is_valid of <arcp/lease.h> are implemented
 * here. */
#ifndef ARCP_CORE_CAPABILITY_H
#define ARCP_CORE_CAPABILITY_H

#include <stdbool.h>

#include <arcp/span.h>

/* Zero: not a capability. */
typedef enum arcp__capability {
    ARCP__CAPABILITY_UNKNOWN = 0,
#define ARCP_CAPABILITY(id, name, kind, separators, reserved) ARCP__CAPABILITY_##id,
#include <arcp/capability.def>
#undef ARCP_CAPABILITY
    ARCP__CAPABILITY_COUNT
} arcp__capability;

/* The form of a target, which decides how it is made canonical. */
typedef enum arcp__target_kind {
    ARCP__TARGET_NONE = 0, /* not a capability */
    ARCP__TARGET_PATH,     /* a file's path */
    ARCP__TARGET_URL,
    ARCP__TARGET_TOOL,   /* a name whose segments end at `/` and `.` */
    ARCP__TARGET_NAME,   /* a name whose segments end at `/` */
    ARCP__TARGET_AMOUNT, /* currency:amount, never a glob */
    ARCP__TARGET_KIND_COUNT
} arcp__target_kind;

/* The capability of this name; ARCP__CAPABILITY_VENDOR for x-vendor(\.[a-z0-9_-]+){2,},
 * ARCP__CAPABILITY_UNKNOWN for anything else. */
arcp__capability arcp__capability_from_name(arcp_span name);

/* "fs.read"; "x-vendor." for vendors, "" for unknown. Static. */
const char *arcp__capability_name(arcp__capability capability);

arcp__target_kind arcp__capability_kind(arcp__capability capability);

/* Whether its values are patterns: true except for cost.budget and unknown capabilities. */
bool arcp__capability_is_glob(arcp__capability capability);

/* Whether `*` stops at '.', too; it always stops at '/'. */
static inline bool arcp__target_kind_has_dots(arcp__target_kind kind)
{
    return kind == ARCP__TARGET_TOOL;
}

#endif
