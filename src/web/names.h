/* HOST[:PORT], and two checks of requests: which names a server accepts in Host, and which pages
 * may connect to it (Origin).
 *
 * A browser lets any page open a WebSocket to any address: the Origin check prevents that. A page's
 * own name can be made to resolve to 127.0.0.1 (DNS rebinding): the Host check prevents that. Both
 * are done before the upgrade. docs/protocol.md, Transports; RFC 6455 §10.2. */
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

/* HOST or HOST:PORT in canonical form: names in lower case without the final dot, addresses as
 * inet_ntop formats them, IPv6 without brackets. */
typedef struct arcp__authority {
    arcp__host_kind kind;
    char host[ARCP__HOST_MAX + 1];
    uint16_t port;
    bool has_port;
} arcp__authority;

/* Accepts a name whose labels have letters, digits, '-' and '_', a dotted IPv4 address, or an IPv6
 * address in brackets, each with or without a port from 1 to 65535 (`port_zero`: from 0). Refuses
 * user information, zones and percent signs. */
ARCP_MUST_CHECK bool arcp__authority_parse(arcp_span text, bool port_zero, arcp__authority *out);

/* Whether a name or address always means this machine: localhost, 127.0.0.0/8, ::1. */
bool arcp__authority_is_loopback(const arcp__authority *authority);

/* Writes "127.0.0.1:7777" or "[::1]:7777". */
void arcp__authority_format(const arcp__authority *authority, char *out, size_t size);

/* The address and port of an IPv4 or IPv6 socket. An IPv4 address mapped into IPv6 becomes IPv4. */
void arcp__socket_authority(const struct sockaddr_storage *address, arcp__authority *out);

/* The key of a peer for limits: its IPv4 address (mapped into IPv6), or the /64 prefix of its IPv6
 * address (a machine usually has a whole /64). Ports do not matter. */
struct in6_addr arcp__socket_peer(const struct sockaddr_storage *address);

typedef struct arcp__web_origin {
    bool secure;               /* https */
    arcp__authority authority; /* with its port */
} arcp__web_origin;

typedef struct arcp__web_names {
    arcp__web_origin *hosts; /* owned, together with `origins`; `secure` is not used here */
    size_t host_count;
    arcp__web_origin *origins;
    size_t origin_count;
    bool any_host;
    bool any_origin;
    bool loopback;        /* the listener is bound to loopback */
    bool secure;          /* the listener uses TLS */
    arcp__authority self; /* the configured address, with the actual port */
} arcp__web_names;

/* Reads the configured lists ("*" for any). ARCP_E_USAGE names the entry that is wrong. */
ARCP_MUST_CHECK arcp_status arcp__web_names_init(arcp__web_names *names, const char *const *hosts,
                                                 size_t host_count, const char *const *origins,
                                                 size_t origin_count, arcp_error *err);
void arcp__web_names_fini(arcp__web_names *names);

/* Sets what the listener is bound to. */
void arcp__web_names_bind(arcp__web_names *names, const arcp__authority *authority, bool loopback,
                          bool secure);

/* Whether the value of the Host header is one of our names. *valid: whether it is syntactically a
 * host. */
bool arcp__web_names_allow_host(const arcp__web_names *names, arcp_span host, bool *valid);

/* Whether a page of this origin may connect. */
bool arcp__web_names_allow_origin(const arcp__web_names *names, arcp_span origin);

#endif
