/* An upstream that issues keys over HTTP, like an LLM gateway, and a collector of spans: a real
 * server on loopback.
 *
 *   POST /key/generate  {key_alias, max_budget?, models?, duration?}  -> {key, token_id}
 *   POST /key/delete    {key_aliases: [...]}                          -> {deleted_keys} | 404
 *   GET  /key/info?key=TOKEN_ID                                       -> {info: {spend}}
 *   POST /v1/traces     an OTLP request, kept                         -> {}
 *
 * On a loop of the caller's, or with stand_in_start_thread on a thread of its own. */
#ifndef ARCP_TESTS_STAND_IN_H
#define ARCP_TESTS_STAND_IN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Every key begins with this. */
#define STAND_IN_PREFIX   "sk-standin-"
#define STAND_IN_KEYS_MAX 8192

typedef enum stand_in_mode {
    STAND_IN_WELL,
    STAND_IN_FAILS,         /* 500, does nothing */
    STAND_IN_REFUSES,       /* 401 */
    STAND_IN_IS_EXHAUSTED,  /* 400 budget_exceeded */
    STAND_IN_STALLS,        /* does nothing and does not respond */
    STAND_IN_IS_LATE,       /* does it after late_ms, then responds */
    STAND_IN_CLOSES_BEFORE, /* closes the connection, does nothing */
    STAND_IN_CLOSES_AFTER,  /* does it, closes the connection */
    STAND_IN_TWICE,         /* does it once, responds twice */
    STAND_IN_GARBAGE,       /* does it, responds 200 with a body that is not JSON */
    STAND_IN_MODES,
    /* Never chosen at random: */
    STAND_IN_IS_BUSY, /* 503 with Retry-After, does nothing */
    STAND_IN_PARTLY   /* does it, and reports that one span was refused */
} stand_in_mode;

typedef struct stand_in_key {
    char alias[64];
    char value[64];
    char token[64];
    char request[1024]; /* the body of its request */
    bool is_live;
    unsigned revoked; /* how often it went from live to dead */
} stand_in_key;

typedef struct stand_in {
    uv_mutex_t lock; /* over what follows, when it has a thread */
    stand_in_mode mode;
    uint64_t random; /* not 0: a random mode for each request */
    uint64_t late_ms;
    stand_in_key keys[STAND_IN_KEYS_MAX];
    unsigned key_count, generate_calls, delete_calls, info_calls;
    char head[2048]; /* of the last request */
    char *traces;    /* bodies of /v1/traces that were taken, each with a line feed and a NUL behind
                        all; freed with stand_in_forget */
    size_t traces_size;
    unsigned trace_calls, requests; /* accepted traces; requests of any kind, also refused ones */
    unsigned retry_after_sec;

    uv_loop_t *loop;
    uv_tcp_t listener;
    unsigned port;
    uv_thread_t thread;
    uv_loop_t own_loop;
    uv_async_t stop;
    unsigned connections;
} stand_in;

/* Frees what was collected. */
void stand_in_forget(stand_in *upstream);

void stand_in_start(stand_in *upstream, uv_loop_t *loop);
/* Closes listener and connections; the caller runs the loop. */
void stand_in_close(stand_in *upstream);

void stand_in_start_thread(stand_in *upstream);
/* From now on, for every request. */
void stand_in_set_mode(stand_in *upstream, stand_in_mode mode);
/* Everything that the thread received is visible to the caller afterwards. Nothing more may arrive.
 */
void stand_in_settle(stand_in *upstream);
void stand_in_stop_thread(stand_in *upstream);

#endif
