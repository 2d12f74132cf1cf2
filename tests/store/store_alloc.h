/* Each allocation of a store fails in its turn: the call or the batch says NO_MEMORY, nothing is
 * half done, nothing leaks (the sanitizers look), and the next try works. */
#ifndef ARCP_TESTS_STORE_STORE_ALLOC_H
#define ARCP_TESTS_STORE_STORE_ALLOC_H

#include "store/store_rig.h"

typedef struct alloc_store {
    arcp_status (*open)(void *user, arcp_store **out, arcp_error *err);
    void (*clear)(void *user); /* makes it empty; may be NULL */
    void *user;
    int stride; /* 1: each allocation */
} alloc_store;

void alloc_fail_each(const alloc_store *which);

#endif
