/* Hash tables: uthash with a keyed hash, because keys come from peers.
 *
 * Include this instead of <uthash.h>. Tables live in their owner; the key of the hash
 * function is drawn once per process from the system, which is the one
 * value of the library that is not inside an object: it has no meaning beyond the order
 * of buckets. Out of memory: HASH_ADD leaves the element out and sets
 * `element->hh.tbl` to NULL (HASH_NONFATAL_OOM); callers check with ARCP__HASH_ADDED. */
#ifndef ARCP_BASE_HASH_H
#define ARCP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-1-3 of `size` bytes under the process's key. Any thread. */
uint64_t arcp__hash_bytes(const void *data, size_t size);

/* SipHash-1-3 under a key of the caller's. */
uint64_t arcp__siphash(const uint64_t key[2], const void *data, size_t size);

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(keyptr, keylen, hashv)                                                       \
    do {                                                                                           \
        (hashv) = (unsigned)arcp__hash_bytes((keyptr), (keylen));                                  \
    } while (0)

#include "base/alloc.h"

#define uthash_malloc(size)       arcp__alloc(size)
#define uthash_free(memory, size) arcp__free(memory)

#include <uthash.h>
#include <utlist.h>

/* Looking for what is not there reads a whole chain, a miss of the cache for each link, and every
 * job does that several times: chains of 7 at most, not of uthash's 10. It costs 16 bytes for a
 * bucket, two or three buckets for an element in a table of 100 000; with chains of 5 it is ten,
 * for among so many one chain is always long. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 7U

/* Whether HASH_ADD_* really added the element. */
#define ARCP__HASH_ADDED(element) ((element)->hh.tbl != NULL)

#endif
