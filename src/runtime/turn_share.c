#include "runtime/turn_share.h"

static unsigned frames_max(const arcp__turn *turn)
{
    unsigned takers = turn->takers > turn->takers_before ? turn->takers : turn->takers_before;
    unsigned frames = ARCP__TURN_FRAMES / (takers == 0 ? 1 : takers);
    return frames < ARCP__TURN_LINK_FRAMES ? frames : ARCP__TURN_LINK_FRAMES;
}

bool arcp__turn_take(arcp__turn *turn, arcp__turn_share *share, size_t bytes, int64_t now_ns)
{
    if (share->frames == 0 || share->number != turn->number) {
        *share = (arcp__turn_share){.number = turn->number, .began_ns = now_ns};
        turn->takers++;
    }
    share->frames++;
    share->bytes += bytes;
    return share->frames < frames_max(turn) && share->bytes < ARCP__TURN_LINK_BYTES &&
           now_ns - share->began_ns < ARCP__TURN_LINK_NS;
}

void arcp__turn_next(arcp__turn *turn)
{
    turn->number++;
    turn->takers_before = turn->takers;
    turn->takers = 0;
}
