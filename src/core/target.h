/* Canonical targets: the form that is matched, and on which the caller must act.
 *
 * A target that has no canonical form is denied with the first reason that applies, in the order of
 * <arcp/deny_reason.def>. Canonical targets are their own canonical form. Only the text counts:
 * symbolic links, name resolution and redirects are up to the caller. docs/leases.md, Canonical
 * targets. */
#ifndef ARCP_CORE_TARGET_H
#define ARCP_CORE_TARGET_H

#include <arcp/gate.h>

#include "core/capability.h"

/* Makes the canonical form of `target`, which is a path, a URL or a name, depending on
 * `capability`. Returns ARCP_DENY_NONE and *canonical, or why there is none (*canonical is then
 * unchanged).
 *
 * *canonical points into `target` if that is canonical already, else into `scratch`, and is valid
 * as long as these bytes. At most ARCP_TARGET_BYTES_MAX bytes.
 *
 * Paths: an absolute one stays absolute. A relative one stays relative to `cwd`: it is matched as
 * "a/b", and the caller resolves it beneath that directory. With an empty `cwd` every relative path
 * is ARCP_DENY_ESCAPES_BASE. Other kinds ignore `cwd`.
 *
 * Allocates nothing, linear in the target, any thread. */
ARCP_MUST_CHECK arcp_deny_reason arcp__target_canonicalise(arcp__capability capability,
                                                           arcp_span cwd, arcp_span target,
                                                           arcp_target_scratch *scratch,
                                                           arcp_span *canonical);

#endif
