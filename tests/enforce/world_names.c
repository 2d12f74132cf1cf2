/* The nameserver of the network world. */
#include "enforce/world_parts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { HEAD = 12, TYPE_A = 1, TYPE_AAAA = 28, NXDOMAIN = 3, FLIPS_MAX = 512 };

/* A name that begins with a dot stands for all names that end so. "flips" and what follows it is
 * the first address at the first question, the second one afterwards. */
static const struct {
    const char *name, *first, *second, *six;
    bool flips;
} zone[] = {
    {.name = "open.example", .first = "93.184.216.34"},
    {.name = ".open.example", .first = "93.184.216.34"},
    {.name = "closed.example", .first = "93.184.216.35"},
    {.name = ".closed.example", .first = "93.184.216.35"},
    {.name = "six.example", .six = "2606:2800:220:1::34"},
    {.name = ".arcp", .first = "93.184.216.35"},
    {.name = "xn--bcher-kva.example", .first = "93.184.216.35"},
    {.name = "intranet.corp.example", .first = "93.184.216.35"},
    {.name = "private.example", .first = "10.0.0.7"},
    {.name = "home.example", .first = "192.168.1.7"},
    {.name = "office.example", .first = "172.16.0.7"},
    {.name = "shared.example", .first = "100.64.0.7"},
    {.name = "metadata.example", .first = "169.254.169.254"},
    {.name = "azure.example", .first = "168.63.129.16"},
    {.name = "protocol.example", .first = "192.0.0.8"},
    {.name = "bench.example", .first = "198.18.0.77"},
    {.name = "future.example", .first = "240.0.0.7"},
    {.name = "loopback.example", .first = "127.0.0.1"},
    {.name = "zero.example", .first = "0.0.0.0"},
    {.name = "host.example", .first = WORLD_HOST_ADDRESS},
    {.name = "both.example", .first = "93.184.216.34", .second = "10.0.0.7"},
    {.name = "local6.example", .six = "fd00::7"},
    {.name = "loopback6.example", .six = "::1"},
    {.name = "mapped.example", .six = "::ffff:10.0.0.7"},
    {.name = "sixtofour.example", .six = "2002:a00:7::1"},
    {.name = "nat64.example", .six = "64:ff9b::a00:7"},
    {.name = "teredo.example", .six = "2001:0:a00:7::1"},
    {.name = ".flips.example", .first = "93.184.216.34", .second = "10.0.0.7", .flips = true},
};

/* Reads the question's name, in lower case; the bytes that it has there, 0: it is none. */
static size_t read_name(const unsigned char *bytes, size_t size, char out[256])
{
    size_t at = 0;
    size_t length = 0;
    while (at < size && bytes[at] != 0) {
        const size_t label = bytes[at];
        if (label > 63 || at + label + 1 >= size || length + label + 2 > 256) {
            return 0;
        }
        for (size_t i = 1; i <= label; i++) {
            out[length++] = (char)tolower(bytes[at + i]);
        }
        out[length++] = '.';
        at += label + 1;
    }
    out[length == 0 ? 0 : length - 1] = '\0';
    return at < size ? at + 1 : 0;
}

/* Whether the name was asked for before. */
static bool is_known(const char *name)
{
    static char names[FLIPS_MAX][64];
    static size_t count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    if (count < FLIPS_MAX) {
        (void)snprintf(names[count++], sizeof names[0], "%s", name);
    }
    return false;
}

static bool is_named(const char *entry, const char *name)
{
    const size_t size = strlen(entry);
    const size_t length = strlen(name);
    return entry[0] == '.' ? length > size && strcmp(name + length - size, entry) == 0
                           : strcmp(entry, name) == 0;
}

static size_t add_record(unsigned char *out, int family, const char *address)
{
    const size_t size = family == AF_INET ? 4 : 16;
    const unsigned char head[] = {0xc0, HEAD, 0, family == AF_INET ? TYPE_A : TYPE_AAAA,
                                  0,    1,    0, 0,
                                  0,    0,    0, (unsigned char)size};
    (void)memcpy(out, head, sizeof head);
    return inet_pton(family, address, out + sizeof head) == 1 ? sizeof head + size : 0;
}

size_t world_names_answer(const unsigned char *query, size_t size, unsigned char out[512])
{
    char name[256];
    const size_t length = size > HEAD ? read_name(query + HEAD, size - HEAD, name) : 0;
    size_t end = HEAD + length + 4;
    if (length == 0 || size < end || end > 300 || (query[2] & 0x80) != 0) {
        return 0;
    }
    const unsigned type = query[HEAD + length] * 256U + query[HEAD + length + 1];
    (void)memcpy(out, query, end);
    (void)memset(out + 2, 0, HEAD - 2);
    out[2] = 0x84 | (query[2] & 1); /* an answer, of the one who decides */
    out[3] = 0x80 | NXDOMAIN;
    out[5] = 1;
    for (size_t i = 0; i < sizeof zone / sizeof zone[0]; i++) {
        if (!is_named(zone[i].name, name)) {
            continue;
        }
        out[3] = 0x80;
        const bool later = type == TYPE_A && zone[i].flips && is_known(name);
        if (type == TYPE_A && zone[i].first != NULL && !later) {
            end += add_record(out + end, AF_INET, zone[i].first);
            out[7]++;
        }
        if (type == TYPE_A && zone[i].second != NULL && (later || !zone[i].flips)) {
            end += add_record(out + end, AF_INET, zone[i].second);
            out[7]++;
        }
        if (type == TYPE_AAAA && zone[i].six != NULL) {
            end += add_record(out + end, AF_INET6, zone[i].six);
            out[7]++;
        }
        break;
    }
    return end;
}
