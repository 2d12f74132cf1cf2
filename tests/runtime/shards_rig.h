/* A runtime with several shards, whose stores can be made to fail, and its peers. */
#ifndef ARCP_TESTS_SHARDS_RIG_H
#define ARCP_TESTS_SHARDS_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "support/check.h"

#include "runtime/runtime_state.h"

#define PEERS_MAX  40
#define SHARDS_MAX 256

typedef struct shards_peer {
    arcp_connection *connection;
    arcp_buf frames;
    bool closed;
} shards_peer;

/* A store in memory that can be made to fail. */
typedef struct broken_store {
    arcp_store store; /* first */
    arcp_store *inner;
    bool is_broken;
} broken_store;

typedef struct shards_rig {
    uv_loop_t loop;
    uv_timer_t patience;
    arcp_runtime *runtime;
    arcp_settings settings;
    broken_store stores[SHARDS_MAX];
    arcp_store *of_setup[SHARDS_MAX];
    arcp__runtime_setup setup;
    arcp_runtime_options options;
    shards_peer peers[PEERS_MAX];
    bool stopped, timed_out;
    arcp_agent_call *held; /* of the agent `wait` */
    unsigned delivered;
    uint64_t delivery;
} shards_rig;

/* For peers: whether a frame has the word; a member that is a text, of the last frame that has it.
 */
bool shards_rig_has(const shards_peer *p, const char *word);
void shards_rig_get(const shards_peer *p, const char *member, char out[128]);
void shards_rig_send(const shards_peer *p, const char *frame);
/* `payload`: an object. */
void shards_rig_request(const shards_peer *p, const char *type, const char *payload);
shards_peer *shards_rig_connect(shards_rig *r, unsigned index, const arcp_serve_options *options);
/* The token is the principal, but "wrong" is not valid. `more`: members of the hello's payload. */
shards_peer *shards_rig_hello(shards_rig *r, unsigned index, const char *token, const char *more);

/* With the agents `echo`, and `wait`, whose call is `held`. In two steps for tests with options. */
void shards_rig_start(shards_rig *r, size_t shards);
void shards_rig_prepare(shards_rig *r, size_t shards);
void shards_rig_open(shards_rig *r);
void shards_rig_stop(shards_rig *r);
/* Without a runtime. */
void shards_rig_close(shards_rig *r);

arcp__shard *shards_rig_shard(const shards_rig *r, const char *principal);
uint64_t shards_rig_sessions(const arcp__shard *shard);
/* A principal in another shard than that one, or another one in the same. */
void shards_rig_find(const shards_rig *r, const char *than, bool is_same, char out[16]);

void shards_rig_lose_patience(uv_timer_t *timer);
/* Runs the loop until `done`; fails after 20 s. */
#define shards_rig_until(r, done)                                                                  \
    do {                                                                                           \
        (void)uv_timer_start(&(r)->patience, shards_rig_lose_patience, 20000, 0);                  \
        while (!(done)) {                                                                          \
            assert_false((r)->timed_out);                                                          \
            (void)uv_run(&(r)->loop, UV_RUN_ONCE);                                                 \
        }                                                                                          \
        (void)uv_timer_stop(&(r)->patience);                                                       \
    } while (0)

#endif
