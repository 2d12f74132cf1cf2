/* The sockets of a sandbox's network that are served outside. But for that of the proxy, each is
 * bound to its port on all addresses of both families (of IPv4 where the kernel has no IPv6), does
 * not block, and is closed on exec. No other socket can share its port: SO_REUSEPORT is not set. */
#ifndef ARCP_LAUNCH_HELPER_LISTENER_H
#define ARCP_LAUNCH_HELPER_LISTENER_H

#include <stdint.h>

/* All return a descriptor, which the caller closes, or -1 with errno. Ports below 1024 need
 * CAP_NET_BIND_SERVICE in the network's user namespace. */

/* A TCP socket that listens. */
int arcp__helper_listener_tcp(uint16_t port);

/* A TCP socket that listens on a port of the loopback interface alone, 127.0.0.1, which the kernel
 * chooses. */
int arcp__helper_listener_loopback(uint16_t *port);

/* A UDP socket. It reports the address that a datagram was sent to as IPV6_PKTINFO (IP_PKTINFO
 * without IPv6), and can send from any address, so that an answer comes from the one that was
 * asked. */
int arcp__helper_listener_udp(uint16_t port);

/* Waits for a connection, without a limit: a busy host may take a while to bring what was sent to
 * the listener. */
int arcp__helper_listener_accept(int listener);

#endif
