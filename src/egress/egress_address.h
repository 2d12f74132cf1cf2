/* Which addresses may be dialled. No I/O, but for the list of this host's own. Any thread. */
#ifndef ARCP_EGRESS_EGRESS_ADDRESS_H
#define ARCP_EGRESS_EGRESS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

#define ARCP__EGRESS_ADDRESS_TEXT_MAX 64 /* bytes, with the NUL */

typedef union arcp__egress_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} arcp__egress_address;

/* Whether an address may be dialled for a name that nothing but the internet should answer for.
 * False for 0/8, private (10/8, 172.16/12, 192.168/16), shared (100.64/10), loopback (127/8),
 * link-local (169.254/16), 192.0.0/24, 198.18/15, multicast and above (224/3), 168.63.129.16
 * (Azure's host), IPv6 addresses outside 2000::/3, and addresses of `own`, which are this host's.
 * An IPv6 address that stands for an IPv4 address is what that one is: ::ffff:0:0/96, 64:ff9b::/96
 * (NAT64), 2002::/16 (6to4), 2001::/32 (Teredo: its server and its client). Ports do not count. */
ARCP_MUST_CHECK bool arcp__egress_address_is_public(const arcp__egress_address *address,
                                                    const arcp__egress_address *own,
                                                    size_t own_count);

/* Whether a connection to the address leads to this host: the loopback's, the unspecified one, and
 * those of `own`; also when an IPv6 address stands for one of IPv4 (::ffff:0:0/96). */
ARCP_MUST_CHECK bool arcp__egress_address_is_here(const arcp__egress_address *address,
                                                  const arcp__egress_address *own,
                                                  size_t own_count);

/* All addresses of this host, also those of interfaces that are down or not running: the kernel
 * answers at the address of one whose cable is not plugged in. The caller frees *out with
 * arcp__free. False: out of memory, or the system refuses; then nothing is set. Asks the kernel,
 * and does not wait. */
ARCP_MUST_CHECK bool arcp__egress_own_addresses(arcp__egress_address **out, size_t *count);

/* Reads the host of a URL as an address: "10.0.0.1", "[::1]". Forms that some resolvers read as
 * numbers, such as "127.1" and "0x7f.1", are neither addresses nor names here. False: it is none.
 * The port is in host byte order. */
ARCP_MUST_CHECK bool arcp__egress_address_parse(arcp_span host, uint16_t port,
                                                arcp__egress_address *out);

/* The host of a URL for an address, NUL-terminated: the form that arcp__egress_address_parse
 * reads. */
void arcp__egress_address_format(const arcp__egress_address *address,
                                 char out[ARCP__EGRESS_ADDRESS_TEXT_MAX]);

#endif
