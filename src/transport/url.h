/* The URLs of transports, and the hosts in them and in HTTP's Host and Origin. */
#ifndef ARCP_TRANSPORT_URL_H
#define ARCP_TRANSPORT_URL_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>
#include <arcp/span.h>

#define ARCP__HOST_MAX 253 /* characters of a DNS name */
#define ARCP__PATH_MAX 1024

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

typedef enum arcp__url_scheme {
    ARCP__URL_WS,
    ARCP__URL_WSS,
    ARCP__URL_STDIO,
    ARCP__URL_MEMORY
} arcp__url_scheme;

typedef struct arcp__url {
    arcp__url_scheme scheme;
    arcp__authority authority;     /* ws and wss; the port is filled in: 80, 443 */
    char path[ARCP__PATH_MAX + 1]; /* ws and wss, with the query; "/arcp" when there was none */
    arcp_span rest;                /* stdio: the command; memory: the name; of the text */
} arcp__url;

/* Parses ws://HOST[:PORT][/PATH], wss://…, stdio:COMMAND or memory:NAME. ARCP_E_USAGE
 * names the URL and what is wrong with it. */
ARCP_MUST_CHECK arcp_status arcp__url_parse(arcp_span text, arcp__url *out, arcp_error *err);

#define ARCP__URL_TEXT_MAX (ARCP__HOST_MAX + ARCP__PATH_MAX + 32)

/* Writes a ws or wss URL with its port; `out` is NUL-terminated. */
void arcp__url_format(const arcp__url *url, char out[ARCP__URL_TEXT_MAX]);

/* Writes "127.0.0.1:7777" or "[::1]:7777". */
void arcp__authority_format(const arcp__authority *authority, char *out, size_t size);

#endif
