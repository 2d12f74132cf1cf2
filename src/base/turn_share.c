#include "base/turn_share.h"

const arcp__turn_limits arcp__turn_of_links = {
    .frames = 256,
    .is_divided = true,
    .taker_frames = 64,
    .taker_bytes = 262144,
    .taker_ns = 500000,
};
/* A line costs less than a request, and programs with much output write small lines. */
const arcp__turn_limits arcp__turn_of_agents = {
    .frames = 2048,
    .taker_frames = 1024,
    .taker_bytes = 524288,
    .taker_ns = 2000000,
};

bool arcp__turn_is_over(const arcp__turn *turn)
{
    return !turn->limits->is_divided && turn->frames >= turn->limits->frames;
}

bool arcp__turn_take(arcp__turn *turn, arcp__turn_share *share, size_t bytes, int64_t began_ns,
                     int64_t now_ns)
{
    if (share->frames == 0 || share->number != turn->number) {
        *share = (arcp__turn_share){.number = turn->number, .began_ns = began_ns};
        turn->takers++;
    }
    turn->frames++;
    share->frames++;
    share->bytes += bytes;
    unsigned frames_max = turn->limits->taker_frames;
    if (turn->limits->is_divided) {
        const unsigned takers =
            turn->takers > turn->takers_before ? turn->takers : turn->takers_before;
        const unsigned part = turn->limits->frames / takers;
        frames_max = part < frames_max ? part : frames_max;
    }
    return !arcp__turn_is_over(turn) && share->frames < frames_max &&
           share->bytes < turn->limits->taker_bytes &&
           now_ns - share->began_ns < turn->limits->taker_ns;
}

void arcp__turn_next(arcp__turn *turn)
{
    turn->number++;
    turn->frames = 0;
    turn->takers_before = turn->takers;
    turn->takers = 0;
}
