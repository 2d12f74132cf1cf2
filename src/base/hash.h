/* Hash tables: uthash with a keyed hash, because keys come from peers.
 *
 * Include this instead of <uthash.h>. Tables live in their owner. The key of the hash function is
 * drawn from the system once per process; it is the only global value of the library and affects
 * only the order of buckets. Out of memory: HASH_ADD leaves the element out and sets
 * `element->hh.tbl` to NULL (HASH_NONFATAL_OOM); callers check with ARCP__HASH_ADDED. */
#ifndef ARCP_BASE_HASH_H
#define ARCP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-1-3 of `size` bytes under the process's key. Any thread. */
uint64_t arcp__hash_bytes(const void *data, size_t size);

/* SipHash-1-3 under the caller's key. */
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

/* A lookup that fails reads a whole chain, with a cache miss per element, and every job does
 * several such lookups; so chains have at most 7 elements instead of uthash's 10. The price is
 * memory: 16 bytes per bucket, and two or three buckets per element in a table of 100 000. With
 * chains of 5 it would be ten buckets, because among so many chains one is always long. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 7U

/* Whether HASH_ADD_* added the element. */
#define ARCP__HASH_ADDED(element) ((element)->hh.tbl != NULL)

#endif
