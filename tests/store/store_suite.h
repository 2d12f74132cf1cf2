/* What every store must do (include/arcp/sys/store.h), whichever back end. Each test gets
 * a fresh, empty store as its state (a rig). A new back end runs these too. */
#ifndef ARCP_TESTS_STORE_SUITE_H
#define ARCP_TESTS_STORE_SUITE_H

#include "store/store_rig.h"

typedef struct suite_test {
    const char *name;
    void (*run)(store_rig *rig);
} suite_test;

/* A back end under test. */
typedef struct suite_backend {
    const char *name; /* of its vtable */
    bool is_durable;
    /* Opens an empty store; *place is for `close`, which is called when the rig is closed. */
    store_rig *(*open)(void *user, void **place);
    void (*close)(void *place); /* may be NULL */
    void *user;
} suite_backend;

/* Runs all tests of the suite; the number of failures. */
int suite_run(const suite_backend *which);

extern const suite_test suite_streams[];
extern const size_t suite_streams_count;
extern const suite_test suite_tables[];
extern const size_t suite_tables_count;
extern const suite_test suite_order[];
extern const size_t suite_order_count;
extern const suite_test suite_limits[];
extern const size_t suite_limits_count;

#endif
