/* A quick pass over the bytes of a target, sixteen at a time, that finds whether any needs a closer
 * look. It uses the compiler's vector types, which work on every machine. */
#ifndef ARCP_CORE_TARGET_SCAN_H
#define ARCP_CORE_TARGET_SCAN_H

#include <stdint.h>
#include <string.h>

#include <arcp/span.h>

enum { ARCP__SCAN_BYTES = 16 };

/* Signed, so that bytes above ASCII compare below all others. Comparisons give -1 or 0. */
typedef signed char arcp__scan_bytes __attribute__((vector_size(ARCP__SCAN_BYTES)));

static inline arcp__scan_bytes arcp__scan_load(const char *bytes)
{
    arcp__scan_bytes loaded;
    memcpy(&loaded, bytes, sizeof loaded);
    return loaded;
}

/* Whether `is_odd` is 0 for all bytes except the first. It gets sixteen bytes, and for each the
 * byte before it. A shorter target is padded with letters. */
static inline __attribute__((always_inline)) bool
arcp__scan_is_even(arcp_span target,
                   arcp__scan_bytes (*is_odd)(arcp__scan_bytes bytes, arcp__scan_bytes before))
{
    char padded[ARCP__SCAN_BYTES + 1];
    if (target.size < sizeof padded) {
        memset(padded, 'x', sizeof padded);
        memcpy(padded, target.data, target.size);
        target = arcp_span_make(padded, sizeof padded);
    }
    const char *const last = target.data + target.size - ARCP__SCAN_BYTES;
    arcp__scan_bytes odd = {0};
    for (const char *block = target.data + 1; block < last; block += ARCP__SCAN_BYTES) {
        odd |= is_odd(arcp__scan_load(block), arcp__scan_load(block - 1));
    }
    odd |= is_odd(arcp__scan_load(last), arcp__scan_load(last - 1));
    uint64_t halves[2];
    memcpy(halves, &odd, sizeof halves);
    return (halves[0] | halves[1]) == 0;
}

#endif
