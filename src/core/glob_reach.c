#include "core/glob_pattern.h"

#include <string.h>

/* Whether state `to` is reached by a literal byte, from the set of states before it. */
static bool comes_to(const arcp__glob_states *states, const bool *before, uint32_t to,
                     unsigned char byte)
{
    if (to > 0 && before[to - 1] && states->literals[to - 1] == byte) {
        return true;
    }
    return to > 1 && (states->loops[to - 1] & ARCP__GLOB_LOOP_SKIP) != 0 && before[to - 2] &&
           states->literals[to - 2] == byte;
}

/* The states after the bytes, marked in an array, because a pattern is asked about a few short
 * strings only. False: there are none. */
static bool walk(arcp__target_kind kind, arcp_span pattern, arcp_span bytes,
                 arcp__glob_states *states, unsigned char *room, bool *reached)
{
    if (pattern.size == 0 || pattern.size > ARCP__GLOB_PATTERN_BYTES_MAX ||
        !arcp__glob_bases_meet(arcp__glob_literal_prefix(pattern), bytes)) {
        return false;
    }
    arcp__glob_parse(pattern, room, states);
    memset(reached, 0, states->last + 1);
    reached[0] = true;
    if ((states->loops[0] & ARCP__GLOB_LOOP_SKIP) != 0) {
        reached[1] = true;
    }
    for (size_t i = 0; i < bytes.size; i++) {
        const unsigned char byte = (unsigned char)bytes.data[i];
        const arcp__glob_class byte_class = arcp__glob_class_of(kind, byte);
        /* Downwards, so that states are read before they are written. */
        for (uint32_t state = states->last + 1; state-- > 0;) {
            reached[state] = (reached[state] && arcp__glob_loop_takes(states, state, byte_class)) ||
                             comes_to(states, reached, state, byte);
        }
    }
    return true;
}

/* From every state the accepting one can be reached, so any state that is left is an answer. */
bool arcp__glob_reaches(arcp__target_kind kind, arcp_span pattern, arcp_span prefix)
{
    unsigned char room[ARCP__GLOB_ROOM(ARCP__GLOB_PATTERN_BYTES_MAX)];
    bool reached[ARCP__GLOB_PATTERN_BYTES_MAX + 1];
    arcp__glob_states states;
    return walk(kind, pattern, prefix, &states, room, reached) &&
           memchr(reached, true, states.last + 1) != NULL;
}

bool arcp__glob_matches_alone(arcp__target_kind kind, arcp_span pattern, arcp_span target)
{
    unsigned char room[ARCP__GLOB_ROOM(ARCP__GLOB_PATTERN_BYTES_MAX)];
    bool reached[ARCP__GLOB_PATTERN_BYTES_MAX + 1];
    arcp__glob_states states;
    return walk(kind, pattern, target, &states, room, reached) &&
           (reached[states.last] || (states.tail && reached[states.last - 1]));
}
