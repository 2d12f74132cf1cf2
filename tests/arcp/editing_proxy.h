/* A TCP proxy in its own thread that replaces one text in what the server sends: a runtime with one
 * fault. */
#ifndef ARCP_TESTS_ARCP_EDITING_PROXY_H
#define ARCP_TESTS_ARCP_EDITING_PROXY_H

#include "arcp/tcp_proxy.h"

typedef struct editing_proxy {
    tcp_proxy tcp;
    /* internal */
    const char *from, *to;
    size_t size; /* of both */
} editing_proxy;

/* Forwards to the port. `to` must have as many bytes as `from`, which must not begin with }. Both
 * are borrowed. */
void editing_proxy_start(editing_proxy *proxy, unsigned short target, const char *from,
                         const char *to);
void editing_proxy_stop(editing_proxy *proxy);

#endif
