#include "web/names.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "base/alloc.h"
#include "web/head.h"

/* ---- HOST[:PORT] ---- */

static bool parse_name(arcp_span text, arcp__authority *out)
{
    const bool rooted = text.size > 1 && text.data[text.size - 1] == '.';
    const arcp_span name = rooted ? arcp_span_first(text, text.size - 1) : text;
    if (name.size == 0 || name.size > ARCP__HOST_MAX) {
        return false;
    }
    size_t label = 0;
    for (size_t i = 0; i < name.size; i++) {
        const char byte = arcp__web_lower(name.data[i]);
        const bool is_dot = byte == '.';
        const bool is_label_byte = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                                   byte == '-' || byte == '_';
        if (is_dot ? label == 0 : (!is_label_byte || label == 63)) {
            return false;
        }
        label = is_dot ? 0 : label + 1;
        out->host[i] = byte;
    }
    if (label == 0) {
        return false;
    }
    out->host[name.size] = '\0';
    struct in_addr address;
    const bool is_address = inet_pton(AF_INET, out->host, &address) == 1;
    out->kind = is_address ? ARCP__HOST_IPV4 : ARCP__HOST_NAME;
    return !(is_address && rooted);
}

bool arcp__authority_parse(arcp_span text, bool port_zero, arcp__authority *out)
{
    *out = (arcp__authority){0};
    arcp_span rest = {NULL, 0};
    if (text.size > 0 && text.data[0] == '[') {
        struct in6_addr address;
        char copy[INET6_ADDRSTRLEN] = "";
        const char *end = memchr(text.data, ']', text.size);
        const size_t size = end == NULL ? 0 : (size_t)(end - text.data) - 1;
        if (end == NULL || size >= sizeof copy) {
            return false;
        }
        memcpy(copy, text.data + 1, size);
        if (inet_pton(AF_INET6, copy, &address) != 1) {
            return false;
        }
        out->kind = ARCP__HOST_IPV6;
        (void)inet_ntop(AF_INET6, &address, out->host, sizeof out->host); /* always fits */
        rest = arcp_span_from(text, size + 2);
    } else {
        const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
        const size_t size = colon == NULL ? text.size : (size_t)(colon - text.data);
        if (!parse_name(arcp_span_first(text, size), out)) {
            return false;
        }
        rest = arcp_span_from(text, size);
    }
    if (rest.size == 0) {
        return true;
    }
    if (rest.data[0] != ':' || rest.size < 2 || rest.size > 6) {
        return false;
    }
    unsigned port = 0;
    for (size_t i = 1; i < rest.size; i++) {
        if (rest.data[i] < '0' || rest.data[i] > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(rest.data[i] - '0');
    }
    out->has_port = true;
    out->port = (uint16_t)port;
    return port <= UINT16_MAX && (port != 0 || port_zero);
}

bool arcp__authority_is_loopback(const arcp__authority *authority)
{
    switch (authority->kind) {
    case ARCP__HOST_NAME:
        return strcmp(authority->host, "localhost") == 0;
    case ARCP__HOST_IPV4:
        return strncmp(authority->host, "127.", 4) == 0;
    case ARCP__HOST_IPV6:
        return strcmp(authority->host, "::1") == 0 ||
               strncmp(authority->host, "::ffff:127.", 11) == 0;
    }
    return false;
}

void arcp__authority_format(const arcp__authority *authority, char *out, size_t size)
{
    const bool brackets = authority->kind == ARCP__HOST_IPV6;
    const char *open = brackets ? "[" : "";
    const char *close = brackets ? "]" : "";
    if (authority->has_port) {
        snprintf(out, size, "%s%s%s:%u", open, authority->host, close, (unsigned)authority->port);
    } else {
        snprintf(out, size, "%s%s%s", open, authority->host, close);
    }
}

/* ---- sockets ---- */

/* True for an IPv4 address, also one mapped into IPv6; then *out has it. */
static bool ipv4_of(const struct sockaddr_storage *address, struct in_addr *out)
{
    if (address->ss_family == AF_INET) {
        *out = ((const struct sockaddr_in *)address)->sin_addr;
        return true;
    }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        memcpy(out, &six->sin6_addr.s6_addr[12], sizeof *out);
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
        inet_ntop(AF_INET, &four, out->host, sizeof out->host);
    } else {
        out->kind = ARCP__HOST_IPV6;
        inet_ntop(AF_INET6, &six->sin6_addr, out->host, sizeof out->host);
    }
    out->port =
        ntohs(address->ss_family == AF_INET ? ((const struct sockaddr_in *)address)->sin_port
                                            : six->sin6_port);
}

struct in6_addr arcp__socket_peer(const struct sockaddr_storage *address)
{
    struct in_addr four = {0};
    struct in6_addr peer = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    if (ipv4_of(address, &four)) {
        memcpy(&peer.s6_addr[12], &four, sizeof four);
        return peer;
    }
    peer = (struct in6_addr){0};
    memcpy(&peer, &((const struct sockaddr_in6 *)address)->sin6_addr, 8);
    return peer;
}

/* ---- Host and Origin ---- */

/* Parses "http://HOST[:PORT]" or "https://…", with nothing after it; fills in the default port. */
static bool origin_parse(arcp_span text, arcp__web_origin *out)
{
    const arcp_span https = ARCP_SPAN_LITERAL("https://");
    *out = (arcp__web_origin){.secure = arcp__web_equal(arcp_span_first(text, https.size), https)};
    const arcp_span scheme = out->secure ? https : ARCP_SPAN_LITERAL("http://");
    if (!arcp__web_equal(arcp_span_first(text, scheme.size), scheme) ||
        !arcp__authority_parse(arcp_span_from(text, scheme.size), false, &out->authority)) {
        return false;
    }
    if (!out->authority.has_port) {
        out->authority.has_port = true;
        out->authority.port = out->secure ? 443 : 80;
    }
    return true;
}

/* Reads a list of hosts, or of origins; the entry "*" sets *any. */
static arcp_status read_list(const char *const *texts, size_t text_count, bool are_origins,
                             arcp__web_origin *entries, size_t *count, bool *any, arcp_error *err)
{
    for (size_t i = 0; i < text_count; i++) {
        const arcp_span text = arcp_span_cstr(texts[i]);
        arcp__web_origin *entry = &entries[*count];
        if (arcp_span_equal_cstr(text, "*")) {
            *any = true;
        } else if (are_origins ? origin_parse(text, entry)
                               : arcp__authority_parse(text, false, &entry->authority)) {
            ++*count;
        } else {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  are_origins
                                      ? "\"%s\" is not an origin (expected http://HOST[:PORT] or "
                                        "https://HOST[:PORT])"
                                      : "\"%s\" is not a host name or HOST:PORT",
                                  texts[i]);
        }
    }
    return ARCP_OK;
}

arcp_status arcp__web_names_init(arcp__web_names *names, const char *const *hosts,
                                 size_t host_count, const char *const *origins, size_t origin_count,
                                 arcp_error *err)
{
    *names = (arcp__web_names){0};
    if (host_count + origin_count == 0) {
        return ARCP_OK;
    }
    names->hosts = arcp__alloc_array(host_count + origin_count, sizeof *names->hosts);
    if (names->hosts == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the host lists");
    }
    names->origins = names->hosts + host_count;
    arcp_status status = read_list(hosts, host_count, false, names->hosts, &names->host_count,
                                   &names->any_host, err);
    if (status == ARCP_OK) {
        status = read_list(origins, origin_count, true, names->origins, &names->origin_count,
                           &names->any_origin, err);
    }
    if (status != ARCP_OK) {
        arcp__web_names_fini(names);
    }
    return status;
}

void arcp__web_names_fini(arcp__web_names *names)
{
    arcp__free(names->hosts);
    *names = (arcp__web_names){0};
}

void arcp__web_names_bind(arcp__web_names *names, const arcp__authority *authority, bool loopback,
                          bool secure)
{
    names->self = *authority;
    names->loopback = loopback;
    names->secure = secure;
}

static bool same_host(const arcp__authority *a, const arcp__authority *b)
{
    return a->kind == b->kind && strcmp(a->host, b->host) == 0;
}

/* Whether it is the listener's own name, one in the list, or a loopback name on a loopback
 * listener. */
static bool is_ours(const arcp__web_names *names, const arcp__authority *host, uint16_t port)
{
    if (same_host(host, &names->self) || (names->loopback && arcp__authority_is_loopback(host))) {
        return true;
    }
    for (size_t i = 0; i < names->host_count; i++) {
        const arcp__authority *entry = &names->hosts[i].authority;
        if (same_host(entry, host) && (!entry->has_port || entry->port == port)) {
            return true;
        }
    }
    return false;
}

bool arcp__web_names_allow_host(const arcp__web_names *names, arcp_span text, bool *valid)
{
    arcp__authority host;
    *valid = arcp__authority_parse(text, false, &host);
    if (!*valid) {
        return false;
    }
    if (names->any_host || (names->host_count == 0 && !names->loopback)) {
        return true;
    }
    const uint16_t port = host.has_port ? host.port : names->secure ? 443 : 80;
    return is_ours(names, &host, port);
}

bool arcp__web_names_allow_origin(const arcp__web_names *names, arcp_span text)
{
    arcp__web_origin origin;
    if (!origin_parse(text, &origin)) {
        return false; /* "null" too: any site can send it from a sandboxed page */
    }
    /* A page from this host and port. A listener on a wildcard address knows only the names in the
     * list. */
    const bool is_own = origin.secure == names->secure &&
                        origin.authority.port == names->self.port &&
                        is_ours(names, &origin.authority, origin.authority.port);
    if (names->any_origin || is_own) {
        return true;
    }
    for (size_t i = 0; i < names->origin_count; i++) {
        const arcp__web_origin *entry = &names->origins[i];
        if (entry->secure == origin.secure && same_host(&entry->authority, &origin.authority) &&
            entry->authority.port == origin.authority.port) {
            return true;
        }
    }
    return false;
}
