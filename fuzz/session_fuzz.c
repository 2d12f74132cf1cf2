/* A whole session, and more than one: the input's bytes choose what clients, agents, the clock and
 * the store do (tests/engine/play.h), valid frames, damaged ones and the input's own bytes as a
 * frame. The frames for clients must keep every promise of tests/engine/watch.h, and every accepted
 * job must end. */
#include <stdlib.h>

#include "engine/play.h"

#define STEPS_MAX 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    play *self = malloc(sizeof *self);
    require(self != NULL);
    play_begin_bytes(self, data, size);
    for (unsigned step = 0; step < STEPS_MAX && play_step(self); step++) {
    }
    play_settle(self);
    play_end(self);
    free(self);
    return 0;
}
