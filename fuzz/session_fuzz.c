/* A whole session, and more than one: the input's bytes choose what clients, agents, the clock and
 * the store do (tests/engine/play.h), valid frames, damaged ones and the input's own bytes as a
 * frame. The frames for clients must keep every promise of tests/engine/watch.h, and every accepted
 * job must end. */
#include <stdlib.h>

#include "engine/play.h"

#define STEPS_MAX 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    play *p = malloc(sizeof *p);
    require(p != NULL);
    play_begin_bytes(p, data, size);
    for (unsigned step = 0; step < STEPS_MAX && play_step(p); step++) {
    }
    play_settle(p);
    play_end(p);
    free(p);
    return 0;
}
