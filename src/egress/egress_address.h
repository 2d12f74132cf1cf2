/* Which addresses may be dialled. No I/O. */
#ifndef ARCP_EGRESS_EGRESS_ADDRESS_H
#define ARCP_EGRESS_EGRESS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

typedef union arcp__egress_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} arcp__egress_address;

/* Whether an address is on the public internet: not private, loopback, link-local, shared
 * (100.64/10), unique local, multicast, unspecified, 0/8, 192.0.0/24, 198.18/15, 240/4,
 * 168.63.129.16, and not one of these mapped or translated (::ffff:0:0/96, 2002::/16, 2001::/32,
 * 64:ff9b::/96 and 64:ff9b:1::/48). `own` are the addresses of this host, which are not public
 * either. */
ARCP_MUST_CHECK bool arcp__egress_address_is_public(const arcp__egress_address *address,
                                                    const arcp__egress_address *own,
                                                    size_t own_count);

/* Reads the host of a URL as an address: "10.0.0.1", "[::1]". False: it is none. Only the forms
 * that canonical URLs have. */
ARCP_MUST_CHECK bool arcp__egress_address_parse(arcp_span host, uint16_t port,
                                                arcp__egress_address *out);

/* The host of a URL for an address, NUL-terminated. */
void arcp__egress_address_format(const arcp__egress_address *address, char out[64]);

#endif
