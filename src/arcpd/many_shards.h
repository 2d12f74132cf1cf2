/* Several shards in one arcpd, for tests: in builds with ARCP_FAULTS the variable ARCPD_SHARDS has
 * their number. The first has the store of the configuration, each further one a store beside it.
 * Others have none of it. */
#ifndef ARCP_ARCPD_MANY_SHARDS_H
#define ARCP_ARCPD_MANY_SHARDS_H

#include "runtime/runtime_setup.h"

#define ARCP__MANY_SHARDS_MAX 256u

typedef struct arcp__many_shards {
    arcp_store *stores[ARCP__MANY_SHARDS_MAX];
} arcp__many_shards;

#ifdef ARCP_FAULTS
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* The stores pass from the options to the setup. */
static inline arcp_status arcp__many_shards_open(arcp__many_shards *many, const char *url,
                                                 arcp_runtime_options *options,
                                                 arcp__runtime_setup *setup, arcp_error *err)
{
    const char *text = getenv("ARCPD_SHARDS");
    const unsigned long count = text == NULL ? 0 : strtoul(text, NULL, 10);
    if (count <= 1 || count > ARCP__MANY_SHARDS_MAX) {
        return ARCP_OK;
    }
    const bool is_durable = options->store->ops->durable;
    arcp_status status = ARCP_OK;
    many->stores[0] = options->store;
    options->store = NULL;
    setup->stores = many->stores;
    for (setup->store_count = 1; setup->store_count < count && status == ARCP_OK;) {
        char own[PATH_MAX];
        (void)snprintf(own, sizeof own, is_durable ? "%s.%zu" : "memory:", url, setup->store_count);
        status = arcp_store_open(own, &many->stores[setup->store_count], err);
        setup->store_count += status == ARCP_OK;
    }
    return status;
}
#else
static inline arcp_status arcp__many_shards_open(arcp__many_shards *many, const char *url,
                                                 arcp_runtime_options *options,
                                                 arcp__runtime_setup *setup, arcp_error *err)
{
    return ARCP_OK;
}
#endif

#endif
