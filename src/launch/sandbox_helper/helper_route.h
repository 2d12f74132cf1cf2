/* The addresses and routes of the sandbox's own network, by rtnetlink. Needs CAP_NET_ADMIN in the
 * network's user namespace. No waiting: the kernel answers before a request returns. */
#ifndef ARCP_LAUNCH_HELPER_ROUTE_H
#define ARCP_LAUNCH_HELPER_ROUTE_H

/* A socket for the functions below; the caller closes it. -1 sets errno. */
int arcp__helper_route_open(void);

/* Brings the loopback interface up. 0 or an errno. */
int arcp__helper_route_start(int fd);

/* Makes every address one of this network (Linux calls this AnyIP): what is sent to any address
 * arrives at sockets here that listen on all addresses. The interface also gets the address
 * 198.18.0.1, because resolvers ask for no IPv4 address (AI_ADDRCONFIG) when no interface has one
 * beside 127.0.0.1. Without IPv6 only IPv4 addresses are routed. 0 or an errno. */
int arcp__helper_route_all(int fd);

#endif
