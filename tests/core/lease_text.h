/* Leases made of text. */
#ifndef ARCP_TESTS_LEASE_TEXT_H
#define ARCP_TESTS_LEASE_TEXT_H

#include <arcp/lease.h>

#include "support/check.h"

/* Lease and constraints are JSON; "" for no constraints. Text that is not valid fails the test. */
static inline arcp_lease *lease_of(const char *lease, const char *constraints)
{
    arcp_lease *parsed = NULL;
    arcp_error err = {0};
    check_ok(
        arcp_lease_parse(arcp_span_cstr(lease), arcp_span_cstr(constraints), NULL, &parsed, &err),
        &err);
    return parsed;
}

#endif
