/* Two connected ends over any of the transports, for tests of all transports. */
#ifndef ARCP_TESTS_PAIR_H
#define ARCP_TESTS_PAIR_H

#include "transport/loop_support.h"
#include "transport/owner.h"

typedef enum pair_kind {
    PAIR_WS,
    PAIR_WSS,
    PAIR_STDIO_PIPES,
    PAIR_STDIO_SOCKET,
    PAIR_MEMORY,
    PAIR_KIND_COUNT
} pair_kind;

extern const char *const pair_kind_names[PAIR_KIND_COUNT];

typedef struct pair {
    test_loop test;
    pair_kind kind;
    arcp_listener *listener;
    owner a; /* the accepting end */
    owner b; /* the connecting end */
    bool failed;
} pair;

typedef struct pair_limits {
    size_t frame_bytes_max;
    uint32_t close_timeout_ms;
} pair_limits;

/* PAIR_WSS needs tls_files_setup before. */
void pair_open(pair *p, pair_kind kind, pair_limits limits);
void pair_close(pair *p);

/* Whether a close has a code (the lines transport has none). */
bool pair_has_codes(const pair *p);

#endif
