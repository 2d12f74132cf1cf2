/* Makes authorities from text and calls the gate with them. Text that is not valid fails the
 * test. */
#ifndef ARCP_TESTS_CORE_GATE_RIG_H
#define ARCP_TESTS_CORE_GATE_RIG_H

#include <arcp/gate.h>

#include "core/lease_text.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)
#define SEC        ARCP_NS_PER_SEC

static const arcp_time at_zero = {0, 0};
static const char expires_at_100[] = "{\"expires_at\":\"1970-01-01T00:01:40Z\"}";

/* The memory that the last decision borrows; each thread needs its own. */
extern arcp_target_scratch scratch;

arcp_authority *authority_of(const char *lease, const char *constraints);
arcp_authority *authority_with(const char *lease, const char *constraints,
                               arcp_authority_options options);
/* With a parent, the budget is made here. */
arcp_authority *child_of(const arcp_authority *parent, const char *lease_text,
                         bool model_use_required);

/* Checks that the parts of the decision are consistent. */
arcp_decision ask(const arcp_authority *authority, const char *capability, const char *target);
arcp_decision ask_at(const arcp_authority *authority, arcp_time now, const char *capability,
                     const char *target);
void spend(const arcp_authority *authority, const char *currency, const char *text);

#endif
