/* A TCP proxy in its own thread that cuts connections after some bytes, like a bad network. */
#ifndef ARCP_TESTS_ARCP_CUTTING_PROXY_H
#define ARCP_TESTS_ARCP_CUTTING_PROXY_H

#include <stdatomic.h>

#include "arcp/tcp_proxy.h"

typedef struct cutting_proxy {
    tcp_proxy tcp;
    atomic_uint cuts; /* so far */
    /* internal */
    unsigned long bytes_min, bytes_max; /* to the client, per connection */
    unsigned long random;
} cutting_proxy;

/* Forwards to the port; each connection is cut after it has sent bytes_min to bytes_max bytes. */
void cutting_proxy_start(cutting_proxy *proxy, unsigned short target, unsigned long bytes_min,
                         unsigned long bytes_max);
void cutting_proxy_stop(cutting_proxy *proxy);

#endif
