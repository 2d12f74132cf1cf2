/* Socket addresses as people read them, and as limits count them. */
#ifndef ARCP_TRANSPORT_SOCKET_NAME_H
#define ARCP_TRANSPORT_SOCKET_NAME_H

#include <stdbool.h>

#include <sys/socket.h>

#include "transport/url.h"

/* The address and port of an IPv4 or IPv6 socket. IPv4 that came in over IPv6 is IPv4. */
void arcp__socket_authority(const struct sockaddr_storage *address, arcp__authority *out);

/* The same peer for the purpose of limits: an IPv4 address, or the /64 that an IPv6
 * address is in (one machine has a whole one). Ports do not matter. */
bool arcp__socket_same_peer(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

#endif
