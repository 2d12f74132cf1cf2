/* What a plan admits, read from its lines, mounts and rules alone: what tests compare the parts
 * with that carry plans out. */
#ifndef ARCP_TESTS_SANDBOX_PLAN_MODEL_H
#define ARCP_TESTS_SANDBOX_PLAN_MODEL_H

#include "sandbox/sandbox.h"

/* Whether a program under the plan can perform this operation on a canonical absolute path or URL,
 * as far as plan and kernel decide, given that nothing on the host is a symbolic link. The base and
 * private directories do not count: the question is what the lease's lines admit. */
bool model_admits(const arcp__sandbox_plan *plan, arcp__capability capability, arcp_span target);

/* Whether a line of net.fetch that is granted admits the canonical URL. */
bool model_admits_url(const arcp__sandbox_plan *plan, arcp_span url);

#endif
