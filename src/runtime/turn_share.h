/* How much of a turn of the loop one connection may take.
 *
 * Connections have equal shares: so many frames between them all, and at most LINK_FRAMES each, so
 * that whoever pipelines delays the others by that much and no more. Large frames count by their
 * bytes, and frames that take long by the time that is gone. One frame is always taken. */
#ifndef ARCP_RUNTIME_TURN_SHARE_H
#define ARCP_RUNTIME_TURN_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCP__TURN_FRAMES      256u    /* of all connections, when they are so few */
#define ARCP__TURN_LINK_FRAMES 64u     /* of one */
#define ARCP__TURN_LINK_BYTES  262144u /* of one */
#define ARCP__TURN_LINK_NS     2000000 /* of one */

/* The turn that is under way; all zero is the first. */
typedef struct arcp__turn {
    uint64_t number;
    unsigned takers;        /* connections that took frames in it */
    unsigned takers_before; /* likewise, in the turn before: the best guess for this one */
} arcp__turn;

/* What one connection took of the turn `number`; all zero is nothing of the first. */
typedef struct arcp__turn_share {
    uint64_t number;
    unsigned frames;
    size_t bytes;
    int64_t began_ns;
} arcp__turn_share;

/* Another frame of the connection was taken, at `now_ns` on the monotonic clock; false when it has
 * had its share with that. */
bool arcp__turn_take(arcp__turn *turn, arcp__turn_share *share, size_t bytes, int64_t now_ns);

void arcp__turn_next(arcp__turn *turn);

#endif
