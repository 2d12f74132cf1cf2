/* Canonical targets exactly as docs/leases.md defines them, rule by rule, on strings: slow, simple,
 * and without any code of the library. */
#ifndef ARCP_TESTS_TARGET_MODEL_H
#define ARCP_TESTS_TARGET_MODEL_H

#include <arcp/gate.h>

#include "core/capability.h"

/* Why there is no canonical form, or ARCP_DENY_NONE and the form appended to `out`. */
arcp_deny_reason model_canonicalise(arcp__target_kind kind, bool has_cwd, arcp_span target,
                                    arcp_buf *out);

/* Whether its canonical form is the target itself. */
bool model_is_canonical(arcp__target_kind kind, arcp_span target);

#endif
