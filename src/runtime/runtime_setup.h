/* What a runtime is made of that arcp_runtime_options does not have, for programs of this tree. */
#ifndef ARCP_RUNTIME_RUNTIME_SETUP_H
#define ARCP_RUNTIME_RUNTIME_SETUP_H

#include "runtime/runtime_hook.h"

#define ARCP__SHARDS_MAX 4096u

typedef struct arcp__runtime_setup {
    /* Hooks from the start on: jobs that it ends are reported to them. */
    const arcp__hook_options *hooks;
    size_t hook_count;
    arcp__deliver_fn deliver; /* NULL: nothing is delivered, and notifications wait */
    void *user;
    /* A store for each shard, taken over as arcp_runtime_options.store is, which must be NULL then.
     * 0: that one is the only one. */
    arcp_store *const *stores;
    size_t store_count;
} arcp__runtime_setup;

/* As arcp_runtime_new. With several stores the runtime has as many shards, and the options and
 * settings that do not fit that are refused with ARCP_E_USAGE: `record`, and
 * authorization.subscribe: any. */
ARCP_MUST_CHECK arcp_status arcp__runtime_new_with_setup(struct uv_loop_s *loop,
                                                         const arcp_runtime_options *options,
                                                         const arcp__runtime_setup *setup,
                                                         arcp_runtime **out, arcp_error *err);

#endif
