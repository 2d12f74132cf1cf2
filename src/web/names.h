/* HOST[:PORT], and which names a server answers to (Host) and which pages may talk to it (Origin).
 *
 * A browser lets any page open a WebSocket to any address, and a page's own name can be
 * made to resolve to 127.0.0.1 (DNS rebinding). The first is what Origin is for, the
 * second is what Host is for; both are checked before the upgrade. docs/protocol.md, Transports,
 * RFC 6455 §10.2. */
#ifndef ARCP_WEB_NAMES_H
#define ARCP_WEB_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <arcp/error.h>
#include <arcp/span.h>

#define ARCP__HOST_MAX 253 /* characters of a DNS name */

/* <ctype.h> depends on the locale. */
static inline char arcp__web_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

typedef enum arcp__host_kind { ARCP__HOST_NAME, ARCP__HOST_IPV4, ARCP__HOST_IPV6 } arcp__host_kind;

/* HOST or HOST:PORT, in one spelling: names in lower case without the root's dot,
 * addresses as inet_ntop writes them, IPv6 without brackets. */
typedef struct arcp__authority {
    arcp__host_kind kind;
    char host[ARCP__HOST_MAX + 1];
    uint16_t port;
    bool has_port;
} arcp__authority;

/* False for anything but a name of letters, digits, '-' and '_' in labels, a dotted IPv4
 * address, or an IPv6 address in brackets, each with or without a port of 1 to 65535
 * (`port_zero`: 0 too). No user information, no zone, no percent signs. */
ARCP_MUST_CHECK bool arcp__authority_parse(arcp_span text, bool port_zero, arcp__authority *out);

/* Whether a name or address always means this machine: localhost, 127.0.0.0/8, ::1. */
bool arcp__authority_is_loopback(const arcp__authority *authority);

/* Writes "127.0.0.1:7777" or "[::1]:7777". */
void arcp__authority_format(const arcp__authority *authority, char *out, size_t size);

/* The address and port of an IPv4 or IPv6 socket. IPv4 that came in over IPv6 is IPv4. */
void arcp__socket_authority(const struct sockaddr_storage *address, arcp__authority *out);

/* Who the peer is for the purpose of limits: its IPv4 address (mapped into IPv6), or the /64 that
 * its IPv6 address is in (one machine has a whole one). Ports do not matter. */
struct in6_addr arcp__socket_peer(const struct sockaddr_storage *address);

typedef struct arcp__web_origin {
    bool secure;               /* https */
    arcp__authority authority; /* with its port */
} arcp__web_origin;

typedef struct arcp__web_names {
    arcp__web_origin *hosts; /* owned, with the origins behind them; `secure` means nothing here */
    size_t host_count;
    arcp__web_origin *origins;
    size_t origin_count;
    bool any_host;
    bool any_origin;
    bool loopback;        /* the listener is bound to loopback */
    bool secure;          /* the listener speaks TLS */
    arcp__authority self; /* what it was told to listen on, with the real port */
} arcp__web_names;

/* Reads the configured lists ("*" for any). ARCP_E_USAGE names the entry that is wrong. */
ARCP_MUST_CHECK arcp_status arcp__web_names_init(arcp__web_names *names, const char *const *hosts,
                                                 size_t host_count, const char *const *origins,
                                                 size_t origin_count, arcp_error *err);
void arcp__web_names_fini(arcp__web_names *names);

/* What the listener is bound to, once that is known. */
void arcp__web_names_bind(arcp__web_names *names, const arcp__authority *self, bool loopback,
                          bool secure);

/* Whether the Host header's value is one of ours. `valid` tells whether it is a host at
 * all. */
bool arcp__web_names_allow_host(const arcp__web_names *names, arcp_span host, bool *valid);

/* Whether the Origin header's value may talk to us. */
bool arcp__web_names_allow_origin(const arcp__web_names *names, arcp_span origin);

#endif
