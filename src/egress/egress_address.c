#include "egress/egress_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"

/* A range: the first `bits` bits of an address. */
typedef struct range_v4 {
    uint32_t base; /* in host byte order */
    unsigned bits;
} range_v4;

#define V4(a, b, c, d)                                                                             \
    (((uint32_t)(a) << 24) | ((uint32_t)(b) << 16) | ((uint32_t)(c) << 8) | (uint32_t)(d))

static const range_v4 closed_v4[] = {
    {V4(0, 0, 0, 0), 8},    {V4(10, 0, 0, 0), 8},       {V4(100, 64, 0, 0), 10},
    {V4(127, 0, 0, 0), 8},  {V4(169, 254, 0, 0), 16},   {V4(172, 16, 0, 0), 12},
    {V4(192, 0, 0, 0), 24}, {V4(192, 168, 0, 0), 16},   {V4(198, 18, 0, 0), 15},
    {V4(224, 0, 0, 0), 3},  {V4(168, 63, 129, 16), 32},
};

static bool is_within_v4(uint32_t address, const range_v4 *range)
{
    return (address ^ range->base) >> (32 - range->bits) == 0;
}

static bool is_public_v4(uint32_t address, const arcp__egress_address *own, size_t own_count)
{
    for (size_t i = 0; i < sizeof closed_v4 / sizeof *closed_v4; i++) {
        if (is_within_v4(address, &closed_v4[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < own_count; i++) {
        if (own[i].any.sa_family == AF_INET && ntohl(own[i].v4.sin_addr.s_addr) == address) {
            return false;
        }
    }
    return true;
}

/* Four bytes of an address, in host byte order. */
static uint32_t word(const uint8_t *bytes)
{
    return V4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

static bool is_public_v6(const uint8_t bytes[16], const arcp__egress_address *own, size_t own_count)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    if (memcmp(bytes, mapped, sizeof mapped) == 0 || memcmp(bytes, nat64, sizeof nat64) == 0) {
        return is_public_v4(word(bytes + 12), own, own_count);
    }
    if ((bytes[0] & 0xe0) != 0x20) {
        return false;
    }
    for (size_t i = 0; i < own_count; i++) {
        if (own[i].any.sa_family == AF_INET6 &&
            memcmp(own[i].v6.sin6_addr.s6_addr, bytes, sizeof own[i].v6.sin6_addr.s6_addr) == 0) {
            return false;
        }
    }
    if (bytes[0] == 0x20 && bytes[1] == 0x02) {
        return is_public_v4(word(bytes + 2), own, own_count);
    }
    if (word(bytes) == UINT32_C(0x20010000)) {
        return is_public_v4(word(bytes + 4), own, own_count) &&
               is_public_v4(~word(bytes + 12), own, own_count);
    }
    return true;
}

bool arcp__egress_address_is_public(const arcp__egress_address *address,
                                    const arcp__egress_address *own, size_t own_count)
{
    if (address->any.sa_family == AF_INET) {
        return is_public_v4(ntohl(address->v4.sin_addr.s_addr), own, own_count);
    }
    return address->any.sa_family == AF_INET6 &&
           is_public_v6(address->v6.sin6_addr.s6_addr, own, own_count);
}

static bool is_here_v4(uint32_t address, const arcp__egress_address *own, size_t own_count)
{
    bool is_here = address >> 24 == 127 || address == INADDR_ANY;
    for (size_t i = 0; i < own_count; i++) {
        is_here = is_here ||
                  (own[i].any.sa_family == AF_INET && ntohl(own[i].v4.sin_addr.s_addr) == address);
    }
    return is_here;
}

bool arcp__egress_address_is_here(const arcp__egress_address *address,
                                  const arcp__egress_address *own, size_t own_count)
{
    if (address->any.sa_family != AF_INET6) {
        return address->any.sa_family == AF_INET &&
               is_here_v4(ntohl(address->v4.sin_addr.s_addr), own, own_count);
    }
    const struct in6_addr *six = &address->v6.sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(six)) {
        return is_here_v4(word(six->s6_addr + 12), own, own_count);
    }
    bool is_here = IN6_IS_ADDR_LOOPBACK(six) || IN6_IS_ADDR_UNSPECIFIED(six);
    for (size_t i = 0; i < own_count; i++) {
        is_here = is_here || (own[i].any.sa_family == AF_INET6 &&
                              IN6_ARE_ADDR_EQUAL(&own[i].v6.sin6_addr, six));
    }
    return is_here;
}

bool arcp__egress_own_addresses(arcp__egress_address **out, size_t *count)
{
    struct ifaddrs *found = NULL;
    size_t room = 1; /* an empty list is no failure */
    size_t size = 0;
    if (getifaddrs(&found) != 0) {
        return false;
    }
    for (const struct ifaddrs *at = found; at != NULL; at = at->ifa_next) {
        room++;
    }
    arcp__egress_address *list = arcp__alloc_array(room, sizeof *list);
    for (const struct ifaddrs *at = found; list != NULL && at != NULL; at = at->ifa_next) {
        const int family = at->ifa_addr == NULL ? AF_UNSPEC : at->ifa_addr->sa_family;
        if (family == AF_INET) {
            memcpy(&list[size++].v4, at->ifa_addr, sizeof list->v4);
        } else if (family == AF_INET6) {
            memcpy(&list[size++].v6, at->ifa_addr, sizeof list->v6);
        }
    }
    freeifaddrs(found);
    if (list != NULL) {
        *out = list;
        *count = size;
    }
    return list != NULL;
}

bool arcp__egress_address_parse(arcp_span host, uint16_t port, arcp__egress_address *out)
{
    char text[INET6_ADDRSTRLEN + 1];
    const bool is_v6 = host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']';
    const arcp_span bare = is_v6 ? arcp_span_make(host.data + 1, host.size - 2) : host;
    if (bare.size == 0 || bare.size >= sizeof text || memchr(bare.data, '\0', bare.size) != NULL) {
        return false;
    }
    memcpy(text, bare.data, bare.size);
    text[bare.size] = '\0';
    arcp__egress_address address;
    memset(&address, 0, sizeof address);
    if (is_v6) {
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(port);
        if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) != 1) {
            return false;
        }
    } else {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(port);
        if (inet_pton(AF_INET, text, &address.v4.sin_addr) != 1) {
            return false;
        }
    }
    *out = address;
    return true;
}

void arcp__egress_address_format(const arcp__egress_address *address,
                                 char out[ARCP__EGRESS_ADDRESS_TEXT_MAX])
{
    char text[INET6_ADDRSTRLEN] = "";
    const bool is_v6 = address->any.sa_family == AF_INET6;
    const void *bytes =
        is_v6 ? (const void *)&address->v6.sin6_addr : (const void *)&address->v4.sin_addr;
    const char *written = inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes, text, sizeof text);
    (void)snprintf(out, ARCP__EGRESS_ADDRESS_TEXT_MAX, is_v6 ? "[%s]" : "%s",
                   written == NULL ? "" : written);
}
