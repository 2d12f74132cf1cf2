#include "transport/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

/* <ctype.h> depends on the locale. */
static char lower(char byte)
{
    if (byte >= 'A' && byte <= 'Z') {
        return (char)(byte - 'A' + 'a');
    }
    return byte;
}

/* ---- HOST[:PORT] ---- */

static bool parse_port(arcp_span text, bool zero, uint16_t *out)
{
    if (text.size == 0 || text.size > 5) {
        return false;
    }
    unsigned port = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(text.data[i] - '0');
    }
    *out = (uint16_t)port;
    return port <= UINT16_MAX && (port != 0 || zero);
}

static bool parse_ipv6(arcp_span text, arcp__authority *out)
{
    struct in6_addr address;
    char copy[INET6_ADDRSTRLEN] = "";
    if (text.size >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text.data, text.size);
    if (inet_pton(AF_INET6, copy, &address) != 1) {
        return false;
    }
    out->kind = ARCP__HOST_IPV6;
    return inet_ntop(AF_INET6, &address, out->host, sizeof(out->host)) != NULL;
}

static bool is_label_byte(char byte)
{
    return (lower(byte) >= 'a' && lower(byte) <= 'z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_';
}

static bool parse_name(arcp_span text, arcp__authority *out)
{
    bool rooted = text.size > 1 && text.data[text.size - 1] == '.';
    arcp_span name = rooted ? arcp_span_first(text, text.size - 1) : text;
    if (name.size == 0 || name.size > ARCP__HOST_MAX) {
        return false;
    }
    size_t label = 0;
    for (size_t i = 0; i < name.size; i++) {
        bool dot = name.data[i] == '.';
        if (dot ? label == 0 : (!is_label_byte(name.data[i]) || label == 63)) {
            return false;
        }
        label = dot ? 0 : label + 1;
        out->host[i] = lower(name.data[i]);
    }
    if (label == 0) {
        return false;
    }
    out->host[name.size] = '\0';
    struct in_addr address;
    bool is_address = inet_pton(AF_INET, out->host, &address) == 1;
    out->kind = is_address ? ARCP__HOST_IPV4 : ARCP__HOST_NAME;
    return !(is_address && rooted);
}

bool arcp__authority_parse(arcp_span text, bool port_zero, arcp__authority *out)
{
    *out = (arcp__authority){0};
    arcp_span rest = {NULL, 0};
    if (text.size > 0 && text.data[0] == '[') {
        const char *end = memchr(text.data, ']', text.size);
        if (end == NULL) {
            return false;
        }
        size_t size = (size_t)(end - text.data);
        if (!parse_ipv6(arcp_span_make(text.data + 1, size - 1), out)) {
            return false;
        }
        rest = arcp_span_from(text, size + 1);
    } else {
        const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
        size_t size = colon == NULL ? text.size : (size_t)(colon - text.data);
        if (!parse_name(arcp_span_first(text, size), out)) {
            return false;
        }
        rest = arcp_span_from(text, size);
    }
    if (rest.size == 0) {
        return true;
    }
    out->has_port = true;
    return rest.data[0] == ':' && parse_port(arcp_span_from(rest, 1), port_zero, &out->port);
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
    bool brackets = authority->kind == ARCP__HOST_IPV6;
    const char *open = brackets ? "[" : "";
    const char *close = brackets ? "]" : "";
    if (authority->has_port) {
        snprintf(out, size, "%s%s%s:%u", open, authority->host, close, (unsigned)authority->port);
    } else {
        snprintf(out, size, "%s%s%s", open, authority->host, close);
    }
}

/* ---- URLs ---- */

static arcp_status wrong(arcp_span text, arcp_error *err, const char *what)
{
    return arcp_error_set(err, ARCP_E_USAGE, "\"%.*s\": %s",
                          (int)(text.size < 120 ? text.size : 120), text.data, what);
}

/* Schemes are compared without case (RFC 3986 §3.1). */
static bool take_scheme(arcp_span *text, const char *scheme)
{
    size_t size = strlen(scheme);
    if (text->size < size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (lower(text->data[i]) != scheme[i]) {
            return false;
        }
    }
    *text = arcp_span_from(*text, size);
    return true;
}

static arcp_status parse_path(arcp_span text, arcp_span path, arcp__url *out, arcp_error *err)
{
    if (path.size == 0) {
        path = ARCP_SPAN_LITERAL("/arcp");
    }
    if (path.size > ARCP__PATH_MAX) {
        return wrong(text, err, "the path is too long");
    }
    for (size_t i = 0; i < path.size; i++) {
        if (path.data[i] <= ' ' || path.data[i] > '~') {
            return wrong(text, err, "only printable ASCII may be in the path");
        }
        if (path.data[i] == '#') {
            return wrong(text, err, "a WebSocket URL has no fragment");
        }
    }
    memcpy(out->path, path.data, path.size);
    out->path[path.size] = '\0';
    return ARCP_OK;
}

static arcp_status parse_websocket(arcp_span text, arcp_span rest, arcp__url *out, arcp_error *err)
{
    size_t size = 0;
    while (size < rest.size && rest.data[size] != '/' && rest.data[size] != '?' &&
           rest.data[size] != '#') {
        size++;
    }
    arcp_span authority = arcp_span_first(rest, size);
    arcp_span path = arcp_span_from(rest, size);
    if (size > 0 && memchr(authority.data, '@', size) != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "a URL with credentials: they do not belong there");
    }
    if (!arcp__authority_parse(authority, true, &out->authority)) {
        return wrong(text, err, "no valid HOST or HOST:PORT");
    }
    if (!out->authority.has_port) {
        out->authority.has_port = true;
        out->authority.port = out->scheme == ARCP__URL_WSS ? 443 : 80;
    }
    if (path.size > 0 && path.data[0] != '/') {
        return wrong(text, err, "no path before the query");
    }
    return parse_path(text, path, out, err);
}

arcp_status arcp__url_parse(arcp_span text, arcp__url *out, arcp_error *err)
{
    arcp__url url = {0};
    arcp_span rest = text;
    arcp_status status = ARCP_OK;
    if (take_scheme(&rest, "ws://")) {
        url.scheme = ARCP__URL_WS;
        status = parse_websocket(text, rest, &url, err);
    } else if (take_scheme(&rest, "wss://")) {
        url.scheme = ARCP__URL_WSS;
        status = parse_websocket(text, rest, &url, err);
    } else if (take_scheme(&rest, "stdio:")) {
        url.scheme = ARCP__URL_STDIO;
        url.rest = rest;
    } else if (take_scheme(&rest, "memory:")) {
        url.scheme = ARCP__URL_MEMORY;
        url.rest = rest;
    } else {
        return wrong(text, err, "want ws://HOST:PORT/PATH, wss://HOST:PORT/PATH or stdio:COMMAND");
    }
    if (status == ARCP_OK) {
        *out = url;
    }
    return status;
}

void arcp__url_format(const arcp__url *url, char out[ARCP__URL_TEXT_MAX])
{
    char authority[ARCP__HOST_MAX + 16];
    arcp__authority_format(&url->authority, authority, sizeof(authority));
    snprintf(out, ARCP__URL_TEXT_MAX, "%s://%s%s", url->scheme == ARCP__URL_WSS ? "wss" : "ws",
             authority, url->path);
}
