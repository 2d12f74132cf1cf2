/* Makes allocations fail, counts leaked blocks, and watches freed ones.
 *
 * Programs that link arcp_test_support have the functions of base/alloc.h wrapped by the
 * linker (--wrap), so the product itself has no hook and no global for it. What allocates
 * past base/alloc.h (libraries, cmocka) is neither counted nor made to fail.
 *
 * The counters are atomic; which allocation is the n-th is well defined for a scenario
 * that runs on one thread. */
#ifndef ARCP_TESTS_SUPPORT_FAILING_ALLOC_H
#define ARCP_TESTS_SUPPORT_FAILING_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <arcp/error.h>

typedef enum failing_alloc_mode {
    FAILING_ALLOC_ONE,      /* the n-th allocation fails, later ones succeed */
    FAILING_ALLOC_ALL_AFTER /* the n-th one and all after it fail */
} failing_alloc_mode;

/* From now on the `nth` allocation fails; 1 is the next one. */
void failing_alloc_arm(size_t nth, failing_alloc_mode mode);

/* From now on no allocation fails. Returns whether one has failed since the arming. */
bool failing_alloc_disarm(void);

/* Blocks that are allocated and not freed. */
size_t failing_alloc_live(void);

/* Allocations so far, including failed ones. */
size_t failing_alloc_count(void);

/* Sees a block that is about to be given back, or to be resized, which may give it back. `size`
 * is all that it has room for. Called on the thread that frees; must not allocate. */
typedef void (*failing_alloc_watcher)(void *user, const void *block, size_t size);

/* From now on `watcher` sees every such block, and each resized one moves; NULL: none does. Not
 * while other threads allocate. */
void failing_alloc_watch(failing_alloc_watcher watcher, void *user);

/* One run of a scenario: does everything, releases everything in any case, and returns its
 * status. It must not use cmocka's assertions, which leave with a longjmp. */
typedef arcp_status (*failing_alloc_body)(void *user, arcp_error *err);

/* Runs `body` with its first, second, ... allocation failing, in both modes, until it gets
 * through without reaching the one that would fail. Fails the test unless every run that
 * lost an allocation returned ARCP_E_NO_MEMORY, the last one returned ARCP_OK, and each
 * freed as many blocks as it got. Returns how many allocations a whole run makes. */
size_t failing_alloc_sweep(failing_alloc_body body, void *user);

#endif
