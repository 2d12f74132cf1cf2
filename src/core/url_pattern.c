#include "core/url_pattern.h"

#include <arcp/buf.h>

#include "core/glob_subset.h"

static arcp__url_kind scheme_of(arcp_span scheme)
{
    if (arcp_span_equal_cstr(scheme, "http") || arcp_span_equal_cstr(scheme, "ws")) {
        return ARCP__URL_PLAIN;
    }
    return arcp_span_equal_cstr(scheme, "https") || arcp_span_equal_cstr(scheme, "wss")
               ? ARCP__URL_TLS
               : ARCP__URL_OPAQUE;
}

static uint32_t default_port(arcp__url_kind kind, arcp_span scheme)
{
    if (kind == ARCP__URL_PLAIN) {
        return ARCP__URL_PORT_HTTP;
    }
    if (kind == ARCP__URL_TLS) {
        return ARCP__URL_PORT_HTTPS;
    }
    return arcp_span_equal_cstr(scheme, "ssh") ? ARCP__URL_PORT_SSH : 0;
}

bool arcp__url_is_all(arcp_span text, const char *bytes)
{
    for (size_t i = 0; i < text.size; i++) {
        if (strchr(bytes, text.data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Reads `host[:port]`. What follows the last star decides which port is possible: the star itself
 * may match a colon and digits, but only if nothing but digits follows. */
static void read_authority(arcp_span authority, uint32_t fallback, arcp__url_parts *parts)
{
    size_t literal = authority.size; /* where the bytes after the last star begin */
    while (literal > 0 && authority.data[literal - 1] != '*') {
        literal--;
    }
    const arcp_span rest = arcp_span_from(authority, literal);
    size_t digits = authority.size;
    while (digits > literal && strchr("0123456789", authority.data[digits - 1]) != NULL) {
        digits--;
    }
    parts->host = authority;
    parts->port = fallback;
    parts->is_any_port = literal > 0 && arcp__url_is_all(rest, "0123456789");
    if (digits > literal && digits < authority.size && authority.data[digits - 1] == ':') {
        parts->host = arcp_span_first(authority, digits - 1);
        parts->port = 0;
        parts->has_zero = authority.data[digits] == '0';
        for (size_t i = digits; i < authority.size && parts->port <= UINT16_MAX; i++) {
            parts->port = parts->port * 10 + (uint32_t)(authority.data[i] - '0');
        }
        parts->port = parts->port <= UINT16_MAX ? parts->port : 0;
    }
}

static arcp_span before(arcp_span text, const char *ends)
{
    size_t size = 0;
    while (size < text.size && strchr(ends, text.data[size]) == NULL) {
        size++;
    }
    return arcp_span_first(text, size);
}

/* What follows the last star of the host. When that are digits, the star may have taken a colon, so
 * that they are the end of a port. */
static arcp_span tail_of(arcp_span host)
{
    const bool is_v6 = host.size > 0 && host.data[0] == '[';
    const arcp_span bare = is_v6 ? host : before(host, ":");
    size_t literal = bare.size;
    while (literal > 0 && bare.data[literal - 1] != '*') {
        literal--;
    }
    const arcp_span tail = arcp_span_from(bare, literal);
    const bool may_be_port =
        literal > 0 && bare.size == host.size && arcp__url_is_all(tail, "0123456789");
    return may_be_port ? arcp_span_make(NULL, 0) : tail;
}

/* Reads what follows `://`. */
static void read_target(arcp_span target, uint32_t fallback, arcp__url_parts *parts)
{
    const arcp_span authority = before(target, "/?");
    const arcp_span rest = arcp_span_from(target, authority.size);
    read_authority(authority, fallback, parts);
    for (size_t i = 1; i < authority.size; i++) {
        parts->is_spanning = parts->is_spanning || memcmp(authority.data + i - 1, "**", 2) == 0;
    }
    parts->is_any_port = parts->is_any_port || parts->is_spanning;
    parts->is_whole =
        rest.size >= 3 && rest.data[0] == '/' && arcp__url_is_all(arcp_span_from(rest, 1), "*");
    if (!parts->is_spanning) {
        parts->tail = tail_of(parts->host);
    }
}

/* The scheme of a pattern that has a star in it; empty when stars may match slashes, too. */
static arcp_span wild_scheme(arcp_span pattern)
{
    const arcp_span scheme = before(pattern, ":/");
    for (size_t i = 1; i < scheme.size; i++) {
        if (memcmp(scheme.data + i - 1, "**", 2) == 0) {
            return arcp_span_first(scheme, 0);
        }
    }
    return scheme;
}

arcp__url_parts arcp__url_take_apart(arcp_span pattern)
{
    const arcp_span separator = ARCP_SPAN_LITERAL("://");
    arcp__url_parts parts = {.kind = ARCP__URL_WILD};
    arcp_span scheme = before(pattern, ":*");
    if (arcp_span_starts_with(arcp_span_from(pattern, scheme.size), separator)) {
        parts.kind = scheme_of(scheme);
        parts.scheme = scheme;
    } else if (pattern.size >= 2 && arcp__url_is_all(pattern, "*")) {
        return (arcp__url_parts){.kind = ARCP__URL_ANY, .is_any_port = true, .is_spanning = true};
    } else {
        scheme = wild_scheme(pattern);
    }
    const arcp_span behind = arcp_span_from(pattern, scheme.size);
    if (scheme.size != 0 && arcp_span_starts_with(behind, separator)) {
        read_target(arcp_span_from(behind, separator.size), default_port(parts.kind, parts.scheme),
                    &parts);
    }
    return parts;
}

arcp_span arcp__url_origin(arcp_span url)
{
    const size_t scheme = before(url, ":").size + strlen("://");
    return arcp_span_first(url, scheme + before(arcp_span_from(url, scheme), "/?").size);
}

bool arcp__url_grants_all(const arcp_span *patterns, size_t count, arcp_span origin,
                          arcp__lease_work *work)
{
    arcp_buf all = arcp_buf_init();
    arcp_buf_append(&all, origin);
    arcp_buf_append_cstr(&all, "/**");
    bool is_within = false;
    const bool is_known =
        !all.failed && arcp__glob_is_within(ARCP__CAPABILITY_NET_FETCH, arcp_buf_span(&all),
                                            patterns, count, work, &is_within) == ARCP_OK;
    arcp_buf_fini(&all);
    return is_known && is_within;
}
