/* The provisioner `static`: a pool of existing values, each of which is used once. */
#ifndef ARCP_PROVISIONER_STATIC_PROVISIONER_H
#define ARCP_PROVISIONER_STATIC_PROVISIONER_H

#include "provisioner/upstream.h"

struct uv_loop_s;

typedef struct arcp__static_provisioner_options {
    struct uv_loop_s *loop;
    arcp__upstream upstream;   /* with an endpoint */
    const char *const *values; /* copied; the caller wipes its own */
    size_t value_count;
    const char *used_file; /* records used values across restarts */
} arcp__static_provisioner_options;

/* There is no upstream that could revoke a value: `revoke` returns DONE, and the value is never
 * issued again. ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__static_provisioner_new(
    const arcp__static_provisioner_options *options, arcp_provisioner **out, arcp_error *err);

#endif
