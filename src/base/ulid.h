/* ULIDs: 48 bits of milliseconds, 80 random bits, 26 characters of Crockford base 32. */
#ifndef ARCP_BASE_ULID_H
#define ARCP_BASE_ULID_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/span.h>

#define ARCP__ULID_SIZE 26

/* Fills `size` bytes from a CSPRNG. It must not fail; a source that can fail aborts the process. */
typedef void (*arcp__random_fn)(void *user, void *out, size_t size);

/* Makes ids that increase even within one millisecond, in which the random part is incremented. One
 * thread at a time. Zero-initialise, then set random and user. */
typedef struct arcp__ulid_source {
    arcp__random_fn random;
    void *user;
    int64_t last_ms;
    char last[ARCP__ULID_SIZE]; /* the last id: the next one of its millisecond is counted in its
                                   digits */
} arcp__ulid_source;

/* Writes 26 upper-case characters (no NUL). A clock that went backwards is held at the
 * last value, so that ids never repeat. */
void arcp__ulid_next(arcp__ulid_source *source, int64_t wall_ms, char out[ARCP__ULID_SIZE]);

/* Whether `text` is 26 characters of Crockford base 32 (either case) that fit 128 bits. */
bool arcp__ulid_is_valid(arcp_span text);

#endif
