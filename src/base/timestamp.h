/* RFC 3339 instants, as ARCP uses them: UTC, `Z`. */
#ifndef ARCP_BASE_TIMESTAMP_H
#define ARCP_BASE_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>
#include <arcp/span.h>

#define ARCP__TIMESTAMP_SIZE 24 /* 2026-05-13T19:42:13.000Z */

/* An instant with all digits it was written with: `rest` keeps the fraction digits beyond
 * nanoseconds (borrowed from the text, without trailing zeros), so that two instants compare
 * exactly. */
typedef struct arcp__instant {
    int64_t seconds; /* since 1970 */
    uint32_t ns;     /* of the second, rounded down */
    arcp_span rest;
    int64_t wall_ns; /* since 1970; ARCP_TIME_NEVER when 64 bits are too few, from April 2262 on */
} arcp__instant;

/* The instant of a time that is not negative. */
arcp__instant arcp__instant_at(int64_t wall_ns);

/* Reads RFC 3339 with `Z` (lower-case `t`/`z` are refused, `+00:00` too). Second 60 is accepted at
 * 23:59 only and counts as the next second. Years 1970 to 9999. ARCP_E_INVALID_REQUEST with the
 * offset and what is expected. */
ARCP_MUST_CHECK arcp_status arcp__timestamp_parse(arcp_span text, arcp__instant *out,
                                                  arcp_error *err);

/* <0, 0, >0 as a is before, at, after b; exact. */
int arcp__instant_compare(arcp__instant a, arcp__instant b);

/* Writes milliseconds and `Z`; `out` is not NUL-terminated. Rounds down. */
void arcp__timestamp_format(int64_t wall_ns, char out[ARCP__TIMESTAMP_SIZE]);

#endif
