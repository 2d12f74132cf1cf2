/* Applies random batches to a store and to a simple model. Each seed is printed before it runs: the
 * last one printed is the one that failed. */
#ifndef ARCP_TESTS_STORE_STORE_MODEL_H
#define ARCP_TESTS_STORE_STORE_MODEL_H

#include "store/store_rig.h"

typedef struct model_store {
    const char *name;
    bool restarts; /* it is closed and opened again */
    /* Opens the seed's store, which is empty the first time. */
    store_rig *(*open)(void *user, uint64_t seed);
    void *user;
} model_store;

void model_run_seed(uint64_t seed, const model_store *store);

#endif
