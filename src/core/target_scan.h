/* One quick look at each byte of a target, sixteen at a time: is there anything that needs
 * a closer one? With the vectors of the compiler, which every machine has instructions or
 * a substitute for. */
#ifndef ARCP_CORE_TARGET_SCAN_H
#define ARCP_CORE_TARGET_SCAN_H

#include <stdint.h>
#include <string.h>

#include <arcp/span.h>

enum { ARCP__SCAN_BYTES = 16 };

/* Signed, so that bytes beyond ASCII are below all others. Comparisons give -1 or 0. */
typedef signed char arcp__scan_bytes __attribute__((vector_size(ARCP__SCAN_BYTES)));

static inline arcp__scan_bytes arcp__scan_load(const char *bytes)
{
    arcp__scan_bytes loaded;
    memcpy(&loaded, bytes, sizeof loaded);
    return loaded;
}

/* Whether `is_odd` is 0 for all bytes but the first. It is given sixteen bytes, and the
 * sixteen that come one byte before each of them. A target that is shorter is read as if
 * letters followed. */
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
    for (const char *at = target.data + 1; at < last; at += ARCP__SCAN_BYTES) {
        odd |= is_odd(arcp__scan_load(at), arcp__scan_load(at - 1));
    }
    odd |= is_odd(arcp__scan_load(last), arcp__scan_load(last - 1));
    uint64_t halves[2];
    memcpy(halves, &odd, sizeof halves);
    return (halves[0] | halves[1]) == 0;
}

#endif
