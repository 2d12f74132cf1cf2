/* A TCP proxy on a libuv loop that treats connections as bad networks do, at random from a seed:
 * bytes are delayed and split, and after a while a connection is reset, half-closed in either
 * direction, or stalls: everything is discarded, and nothing is closed. */
#ifndef ARCP_TESTS_CLIENT_ROUGH_PROXY_H
#define ARCP_TESTS_CLIENT_ROUGH_PROXY_H

#include <stdint.h>

#include <uv.h>

typedef enum rough_trouble {
    ROUGH_RESET,              /* both connections are reset; data in transit is lost */
    ROUGH_HALF_CLOSED_CLIENT, /* the client sees the end of data; the server still receives */
    ROUGH_HALF_CLOSED_SERVER, /* the opposite */
    ROUGH_STALLED,            /* nothing is forwarded any more, and nothing is closed */
    ROUGH_REFUSED,            /* closed right after accept */
    ROUGH_TROUBLES
} rough_trouble;

typedef struct rough_proxy {
    unsigned short port; /* listens here, on 127.0.0.1 */
    /* counters */
    unsigned connections;
    unsigned troubles[ROUGH_TROUBLES];
    unsigned long pieces, late_pieces;
    uint64_t bytes;
    /* internal */
    uv_tcp_t listener;
    unsigned short target;
    uint64_t bytes_min, bytes_max;
    uint64_t random;
    struct rough_pair *pairs;
} rough_proxy;

/* Forwards to a port of this machine. Every connection gets into trouble after bytes_min to
 * bytes_max bytes, both directions together. The proxy must not move until the loop has ended. */
void rough_proxy_start(rough_proxy *proxy, uv_loop_t *loop, unsigned short target, uint64_t seed,
                       uint64_t bytes_min, uint64_t bytes_max);
/* Closes everything; the loop ends when it is done. */
void rough_proxy_stop(rough_proxy *proxy);

const char *rough_trouble_name(rough_trouble trouble);

#endif
