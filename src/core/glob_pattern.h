/* One pattern: its limits, its literal beginning, and its states.
 *
 * The grammar is in glob_set.h. A parsed pattern is a sequence of literal bytes; before, between
 * and after them there may be loops that take further bytes. State i means that the first i
 * literals were read: a byte leads from i to i + 1 when it is literal i, and stays at i when the
 * loop at i takes it. Every loop leads from a state to itself, so a set of states is stepped with a
 * few shifts. `**` between slashes is a loop and a literal '/' that may be skipped together.
 * docs/leases.md, Patterns. Pure; any thread. */
#ifndef ARCP_CORE_GLOB_PATTERN_H
#define ARCP_CORE_GLOB_PATTERN_H

#include <stdint.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

#include "core/capability.h"

/* The upper bound of a caller's limit. */
#define ARCP__GLOB_PATTERN_BYTES_MAX 8191

/* Why these bytes are not a pattern ("is empty", "contains a NUL byte", "is not UTF-8", "is too
 * long"); NULL when they are. Static. */
const char *arcp__glob_pattern_fault(arcp_span pattern);

/* Number of wildcards of a pattern, as the limit counts them: a run of stars counts as one, and so
 * do consecutive segments `**`. */
size_t arcp__glob_wildcard_count(arcp_span pattern);

/* The bytes before the first star; borrowed. */
arcp_span arcp__glob_literal_prefix(arcp_span pattern);

/* The directory in which the pattern's first wildcard is, or whose name the wildcard is part of; of
 * a pattern without one, the directory of the name. A part of `pattern`. */
arcp_span arcp__glob_literal_directory(arcp_span pattern);

/* False only if two patterns with these literal prefixes have no target in common. */
bool arcp__glob_bases_meet(arcp_span a, arcp_span b);

/* Whether the pattern has no star: it matches itself and nothing else. */
bool arcp__glob_is_literal(arcp_span pattern);

/* The loop of a state. SKIP occurs only with ANY: whatever reaches the state (or starts there) also
 * reaches the next one. */
enum {
    ARCP__GLOB_LOOP_NONE = 0,
    ARCP__GLOB_LOOP_SEGMENT = 1, /* `*`: any byte except a separator */
    ARCP__GLOB_LOOP_ANY = 2,     /* `**`: any byte */
    ARCP__GLOB_LOOP_SKIP = 4
};

typedef struct arcp__glob_states {
    const unsigned char *literals; /* `last` of them */
    const uint8_t *loops;          /* one for each state, 0 to `last` */
    uint32_t last;                 /* the accepting state */
    bool tail;                     /* '/' `**` at the end: state last - 1 accepts too */
} arcp__glob_states;

/* Bytes that arcp__glob_parse needs for a pattern of `size` bytes. */
#define ARCP__GLOB_ROOM(size) (2 * (size) + 1)

/* Parses a pattern of at least one byte into `room`, to which *states points. */
void arcp__glob_parse(arcp_span pattern, unsigned char *room, arcp__glob_states *states);

/* Whether the pattern matches a string that begins with `prefix`. Exact for all strings; some of
 * them may not be canonical targets. Allocates nothing; takes as many steps as the product of the
 * sizes when the literal beginning agrees with the prefix. */
ARCP_MUST_CHECK bool arcp__glob_reaches(arcp__target_kind kind, arcp_span pattern,
                                        arcp_span prefix);

/* Whether the pattern matches the target: for one question, without a compiled set. Costs as
 * above. */
ARCP_MUST_CHECK bool arcp__glob_matches_alone(arcp__target_kind kind, arcp_span pattern,
                                              arcp_span target);

/* Whether the pattern, of net.fetch, matches some URL of this host: of any scheme, with or without
 * a port, with any path. The host is in the form that canonical URLs have; in schemes that keep the
 * case of their hosts it counts as written. Exact, except for patterns that no canonical URL
 * matches (arcp__glob_is_dead): for these either answer is possible. Allocates nothing. */
ARCP_MUST_CHECK bool arcp__glob_reaches_host(arcp_span pattern, arcp_span host);

/* The classes of bytes that loops distinguish. */
typedef enum arcp__glob_class {
    ARCP__GLOB_ORDINARY,
    ARCP__GLOB_SEPARATOR,
    ARCP__GLOB_QUERY, /* '?' of a URL */
    ARCP__GLOB_CLASS_COUNT
} arcp__glob_class;

static inline arcp__glob_class arcp__glob_class_of(arcp__target_kind kind, unsigned char byte)
{
    if (byte == '/' || (byte == '.' && arcp__target_kind_has_dots(kind))) {
        return ARCP__GLOB_SEPARATOR;
    }
    return byte == '?' && kind == ARCP__TARGET_URL ? ARCP__GLOB_QUERY : ARCP__GLOB_ORDINARY;
}

/* Whether the loop at `state` takes bytes of the class. Only a wildcard at the end of the pattern
 * takes a query. */
static inline bool arcp__glob_loop_takes(const arcp__glob_states *states, uint32_t state,
                                         arcp__glob_class byte_class)
{
    const uint8_t loop = states->loops[state];
    if (byte_class == ARCP__GLOB_SEPARATOR) {
        return (loop & ARCP__GLOB_LOOP_ANY) != 0;
    }
    return loop != ARCP__GLOB_LOOP_NONE &&
           (byte_class == ARCP__GLOB_ORDINARY || state == states->last);
}

#endif
