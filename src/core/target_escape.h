/* What a segment of a URL's path may turn into when somebody behind us decodes it, once or
 * several times: a machine that is fed the segment byte by byte and knows all readings.
 *
 * It refuses a segment that has a `.` or `..` component, a NUL, or an overlong form of UTF-8 in
 * any of the readings after zero to four rounds of percent-decoding, and one that a fifth round
 * would still change. Overlong forms (c0 ae for a dot) are no UTF-8, but some decoders read them;
 * other bytes that are no UTF-8 are fine, since no decoder makes a dot of them. A component ends at
 * '/', at '\' and, for the comparison, at its first ';', '?', '#', space or control byte: who
 * decodes before splitting reads parameters, a query or a fragment behind the dots, and parsers of
 * URLs drop blanks; for the same reason those in front of it do not count. An escape that is
 * malformed as written is refused too; one that only comes up in a later round stays as it is.
 * docs/leases.md, Canonical targets.
 *
 * The state is one number, so that the search of glob_search.c can compare and keep it. */
#ifndef ARCP_CORE_TARGET_ESCAPE_H
#define ARCP_CORE_TARGET_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>

/* Fits into this many bits. */
#define ARCP__ESCAPE_BITS 40

/* Nothing read yet. */
#define ARCP__ESCAPE_START UINT64_C(0)

/* Ordinary bytes read and no escape begun: whatever may follow in any other state may
 * follow here. */
#define ARCP__ESCAPE_PLAIN (UINT64_C(033333) << 25)

/* Reads one more byte; false when no segment that goes on like this is accepted. */
bool arcp__escape_feed(uint64_t *state, unsigned char byte);

/* Whether the segment may end here. */
bool arcp__escape_may_end(uint64_t state);

#endif
