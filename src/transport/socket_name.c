#include "transport/socket_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

/* True with the four bytes of an IPv4 address, plain or mapped into IPv6. */
static bool ipv4_of(const struct sockaddr_storage *address, struct in_addr *out)
{
    if (address->ss_family == AF_INET) {
        *out = ((const struct sockaddr_in *)address)->sin_addr;
        return true;
    }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        memcpy(out, &six->sin6_addr.s6_addr[12], sizeof(*out));
        return true;
    }
    return false;
}

void arcp__socket_authority(const struct sockaddr_storage *address, arcp__authority *out)
{
    struct in_addr four = {0};
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    *out = (arcp__authority){.has_port = true};
    if (ipv4_of(address, &four)) {
        out->kind = ARCP__HOST_IPV4;
        inet_ntop(AF_INET, &four, out->host, sizeof(out->host));
    } else {
        out->kind = ARCP__HOST_IPV6;
        inet_ntop(AF_INET6, &six->sin6_addr, out->host, sizeof(out->host));
    }
    out->port =
        ntohs(address->ss_family == AF_INET ? ((const struct sockaddr_in *)address)->sin_port
                                            : six->sin6_port);
}

bool arcp__socket_same_peer(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    struct in_addr a4 = {0};
    struct in_addr b4 = {0};
    bool a_is_4 = ipv4_of(a, &a4);
    bool b_is_4 = ipv4_of(b, &b4);
    if (a_is_4 || b_is_4) {
        return a_is_4 && b_is_4 && a4.s_addr == b4.s_addr;
    }
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, 8) == 0;
}
