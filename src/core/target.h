/* Canonical targets: what a check matches, and what its caller must then act on.
 *
 * A target that has no canonical form is denied with the first reason that applies, in
 * the order of <arcp/deny_reason.def>. Canonical targets are their own canonical form.
 * All of it is about the text alone: symbolic links, name resolution and redirects are
 * for whoever acts. docs/leases.md, Canonical targets. */
#ifndef ARCP_CORE_TARGET_H
#define ARCP_CORE_TARGET_H

#include <arcp/gate.h>

#include "core/capability.h"

/* Yields the canonical form of `target`, which is a path, a URL or a name according to
 * `capability`. ARCP_DENY_NONE and *canonical, or why there is none (*canonical is then
 * left alone).
 *
 * *canonical points into `target` when that was canonical already, else into `scratch`,
 * and lives as long as the one it points into. At most ARCP_TARGET_BYTES_MAX bytes.
 *
 * Paths: an absolute one stays absolute. A relative one stays relative, below `cwd`: it is
 * matched as "a/b", and whoever acts resolves it beneath that directory. With an empty
 * `cwd` there is nothing to be below, and every relative path is ARCP_DENY_ESCAPES_BASE.
 * Other kinds ignore `cwd`.
 *
 * Allocates nothing, linear in the target, any thread. */
ARCP_MUST_CHECK arcp_deny_reason arcp__target_canonicalise(arcp__capability capability,
                                                           arcp_span cwd, arcp_span target,
                                                           arcp_target_scratch *scratch,
                                                           arcp_span *canonical);

#endif
