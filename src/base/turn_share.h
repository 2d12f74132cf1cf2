/* How much of a turn of the loop one connection, or one agent, may take.
 *
 * Connections have equal shares: so many frames between them all, and at most `taker_frames` each,
 * so that one that pipelines delays the others by that much and no more. Large frames count by
 * their bytes, and frames that take long by the time that is gone. One frame is always taken.
 *
 * Agents are served one after the other, each with a share that is worth a write of its own, until
 * the turn's lines are used up; the others come first in the next. */
#ifndef ARCP_BASE_TURN_SHARE_H
#define ARCP_BASE_TURN_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arcp__turn_limits {
    unsigned frames;       /* of all takers, when they are so few */
    bool is_divided;       /* among the takers, or used up in their order */
    unsigned taker_frames; /* of one, like the next two */
    size_t taker_bytes;
    int64_t taker_ns;
} arcp__turn_limits;

extern const arcp__turn_limits arcp__turn_of_links, arcp__turn_of_agents;

/* The turn that is under way; with its limits and else all zero it is the first. */
typedef struct arcp__turn {
    const arcp__turn_limits *limits;
    uint64_t number;
    unsigned frames;        /* that were taken in it */
    unsigned takers;        /* that took some */
    unsigned takers_before; /* likewise, in the turn before: the best guess for this one */
} arcp__turn;

/* What one connection or agent took of the turn `number`; all zero is nothing of the first. */
typedef struct arcp__turn_share {
    uint64_t number;
    unsigned frames;
    size_t bytes;
    int64_t began_ns; /* the first of them */
} arcp__turn_share;

/* Another frame of the taker was taken, from `began_ns` to `now_ns` on a monotonic clock; false
 * when it has had its share with that. */
bool arcp__turn_take(arcp__turn *turn, arcp__turn_share *share, size_t bytes, int64_t began_ns,
                     int64_t now_ns);

/* All of it was taken; never of one that is divided. */
bool arcp__turn_is_over(const arcp__turn *turn);
void arcp__turn_next(arcp__turn *turn);

#endif
