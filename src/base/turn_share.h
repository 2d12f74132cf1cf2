/* How much of one turn of the event loop a connection or an agent may take.
 *
 * Connections have equal shares of a turn's frames, at most `taker_frames` each, so that a
 * connection that pipelines delays the others by no more than that. Bytes and time are limited as
 * well, for large and slow frames. Each connection may take at least one frame.
 *
 * Agents are served one after the other, each with a share large enough to fill a batch, until the
 * turn's lines are used up; the remaining agents come first in the next turn. */
#ifndef ARCP_BASE_TURN_SHARE_H
#define ARCP_BASE_TURN_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arcp__turn_limits {
    unsigned frames; /* of all takers together */
    bool is_divided; /* `frames` is divided equally among the takers; else first come, first served
                      */
    unsigned taker_frames; /* of one taker, like the next two */
    size_t taker_bytes;
    int64_t taker_ns;
} arcp__turn_limits;

extern const arcp__turn_limits arcp__turn_of_links, arcp__turn_of_agents;

/* The current turn. The first has its limits and is zero otherwise. */
typedef struct arcp__turn {
    const arcp__turn_limits *limits;
    uint64_t number;
    unsigned frames;        /* taken in this turn */
    unsigned takers;        /* that took frames in this turn */
    unsigned takers_before; /* in the previous turn: an estimate for this one */
} arcp__turn;

/* What one connection or agent took of turn `number`. Zero-initialised: nothing yet. */
typedef struct arcp__turn_share {
    uint64_t number;
    unsigned frames;
    size_t bytes;
    int64_t began_ns; /* of its first frame */
} arcp__turn_share;

/* Notes a frame that took from `began_ns` to `now_ns` on a monotonic clock; false when the taker
 * has used up its share. */
bool arcp__turn_take(arcp__turn *turn, arcp__turn_share *share, size_t bytes, int64_t began_ns,
                     int64_t now_ns);

/* Whether the turn's frames are used up; never when they are divided. */
bool arcp__turn_is_over(const arcp__turn *turn);
void arcp__turn_next(arcp__turn *turn);

#endif
