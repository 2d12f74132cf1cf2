/* Plays on an engine: bytes choose what clients, agents, the clock and the store do next.
 * The bytes are a fuzzer's input or a seeded generator's; watch.h looks at what comes of
 * them. */
#ifndef ARCP_TESTS_ENGINE_PLAY_H
#define ARCP_TESTS_ENGINE_PLAY_H

#include "engine/watch.h"
#include "story/engine_rig.h"

#define PLAY_CLIENTS 5

typedef struct play {
    engine_rig rig;
    watch watch;
    watch_client clients[PLAY_CLIENTS];
    size_t away[PLAY_CLIENTS]; /* the session a client had last; WATCH_NONE: none */
    const uint8_t *data;       /* NULL: numbers come from `random` */
    size_t size, at;
    uint64_t random;
    unsigned next_id;
    uint64_t waited_sec; /* how far the clock was moved */
} play;

/* From a seed: a number below `steps` of steps is never too many. */
void play_begin_seed(play *self, uint64_t seed);
void play_begin_bytes(play *self, const uint8_t *data, size_t size);
void play_end(play *self);

/* One step; false when the bytes are used up. */
bool play_step(play *self);

/* Lets the store write, ends all agents, and checks from outside that every job that was
 * accepted has ended, and that its end is shown once. */
void play_settle(play *self);

/* A number below `below`, from the bytes. */
unsigned play_pick(play *self, unsigned below);

/* Reads what every client got. */
void play_look(play *self);

#endif
