/* A TCP proxy in a thread of its own that puts one text in another's place on the way to the
 * client: a runtime that does one thing wrong. */
#ifndef ARCP_TESTS_ARCP_EDITING_PROXY_H
#define ARCP_TESTS_ARCP_EDITING_PROXY_H

#include "arcp/tcp_proxy.h"

typedef struct editing_proxy {
    tcp_proxy tcp;
    /* its own */
    const char *from, *to;
    size_t size; /* of both */
} editing_proxy;

/* Forwards to the port; `to` has as many bytes as `from`, which does not begin with }. Both are
 * borrowed. */
void editing_proxy_start(editing_proxy *proxy, unsigned short target, const char *from,
                         const char *to);
void editing_proxy_stop(editing_proxy *proxy);

#endif
