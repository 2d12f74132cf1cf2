/* The common part of the proxies: a port on 127.0.0.1, the port of a server, and a thread that
 * forwards until it is stopped. */
#ifndef ARCP_TESTS_ARCP_TCP_PROXY_H
#define ARCP_TESTS_ARCP_TCP_PROXY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tcp_proxy {
    char url[64]; /* of the runtime, through the proxy */
    int listener;
    int stop; /* becomes readable when the thread must return */
    /* internal */
    unsigned short target;
    int stopper;
    pthread_t thread;
} tcp_proxy;

/* The thread calls run(user). */
void tcp_proxy_start(tcp_proxy *proxy, unsigned short target, void *(*run)(void *user), void *user);
void tcp_proxy_stop(tcp_proxy *proxy);

/* For the thread. A connection to the server, -1 when there is none. */
int tcp_proxy_dial(const tcp_proxy *proxy);
/* Forwards what can be read; false when either side has closed. */
bool tcp_proxy_forward(int from, int to);
bool tcp_proxy_send(int fd, const char *bytes, size_t size);

#endif
