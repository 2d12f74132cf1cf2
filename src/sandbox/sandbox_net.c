/* The lines of net.fetch: which of them a proxy in front of an empty network can enforce.
 *
 * It sees names, ports and TLS's server name; of http also each request, and of https the requests
 * only when it terminates TLS. A pattern is granted as far as these decide it. */
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "sandbox/sandbox_parts.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443, PORT_SSH = 22, LANDLOCK_NET = 4 };

typedef enum scheme_kind {
    SCHEME_PLAIN, /* http, ws: each request is seen */
    SCHEME_TLS,   /* https, wss */
    SCHEME_OTHER,
    SCHEME_ANY, /* the pattern is stars only */
    SCHEME_WILD /* part of the scheme is a wildcard */
} scheme_kind;

/* A pattern, or a URL, in its parts. */
typedef struct url_parts {
    scheme_kind kind;
    arcp_span host;   /* with its brackets */
    uint32_t port;    /* 0: none is written, and the scheme has no default */
    bool is_any_port; /* a wildcard may stand for the port */
    /* `**` begins in the authority, so that it may match slashes and a path, too. */
    bool is_spanning;
    bool is_whole; /* all of each host: `/` and two stars follow the authority */
} url_parts;

static scheme_kind scheme_of(arcp_span scheme)
{
    if (arcp_span_equal_cstr(scheme, "http") || arcp_span_equal_cstr(scheme, "ws")) {
        return SCHEME_PLAIN;
    }
    return arcp_span_equal_cstr(scheme, "https") || arcp_span_equal_cstr(scheme, "wss")
               ? SCHEME_TLS
               : SCHEME_OTHER;
}

static uint32_t default_port(scheme_kind kind, arcp_span scheme)
{
    if (kind == SCHEME_PLAIN) {
        return PORT_HTTP;
    }
    if (kind == SCHEME_TLS) {
        return PORT_HTTPS;
    }
    return arcp_span_equal_cstr(scheme, "ssh") ? PORT_SSH : 0;
}

static bool is_all(arcp_span text, const char *bytes)
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
static void read_authority(arcp_span authority, uint32_t fallback, url_parts *parts)
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
    parts->is_any_port = literal > 0 && is_all(rest, "0123456789");
    if (digits > literal && digits < authority.size && authority.data[digits - 1] == ':') {
        parts->host = arcp_span_first(authority, digits - 1);
        parts->port = 0;
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

static url_parts take_apart(arcp_span pattern)
{
    url_parts parts = {.kind = SCHEME_WILD};
    const arcp_span scheme = before(pattern, ":*");
    const arcp_span behind = arcp_span_from(pattern, scheme.size);
    if (!arcp_span_starts_with(behind, ARCP_SPAN_LITERAL("://"))) {
        if (pattern.size >= 2 && is_all(pattern, "*")) {
            parts = (url_parts){.kind = SCHEME_ANY, .is_any_port = true, .is_spanning = true};
        }
        return parts;
    }
    parts.kind = scheme_of(scheme);
    const arcp_span target = arcp_span_from(behind, strlen("://"));
    const arcp_span authority = before(target, "/?");
    const arcp_span rest = arcp_span_from(target, authority.size);
    read_authority(authority, default_port(parts.kind, scheme), &parts);
    for (size_t i = 1; i < authority.size; i++) {
        parts.is_spanning = parts.is_spanning || memcmp(authority.data + i - 1, "**", 2) == 0;
    }
    parts.is_any_port = parts.is_any_port || parts.is_spanning;
    parts.is_whole = rest.size >= 3 && rest.data[0] == '/' && is_all(arcp_span_from(rest, 1), "*");
    return parts;
}

/* A host that is this machine: inside, the port is taken by a listener, and outside it is dialled
 * on the host. */
static bool is_loopback(arcp_span host)
{
    return arcp_span_equal_cstr(host, "localhost") || arcp_span_equal_cstr(host, "[::1]") ||
           (arcp_span_starts_with(host, ARCP_SPAN_LITERAL("127.")) && is_all(host, "0123456789."));
}

void arcp__sandbox_read_url(arcp__sandbox_compile *compile, arcp_span pattern)
{
    const url_parts parts = take_apart(pattern);
    if (parts.kind == SCHEME_TLS && parts.is_whole && !parts.is_spanning) {
        arcp__sandbox_add_host(compile, pattern);
    }
}

/* Whether lines that grant whole hosts grant all that the pattern does. */
static bool is_within_whole_hosts(arcp__sandbox_compile *compile, arcp_span pattern)
{
    bool is_within = false;
    const arcp_status status =
        arcp__glob_is_within(ARCP__CAPABILITY_NET_FETCH, pattern, compile->hosts,
                             compile->host_count, &compile->work, &is_within);
    compile->has_failed = compile->has_failed || status == ARCP_E_NO_MEMORY;
    return status == ARCP_OK && is_within;
}

static arcp__sandbox_line judge_tls(arcp__sandbox_compile *compile, arcp_span pattern,
                                    const url_parts *parts)
{
    const bool ends_open = pattern.size >= 2 && pattern.data[pattern.size - 1] == '*' &&
                           pattern.data[pattern.size - 2] == '*';
    if (parts->is_whole && !parts->is_spanning) {
        return parts->is_any_port         ? ARCP__SANDBOX_UNDER(NAME, PORTS)
               : is_loopback(parts->host) ? ARCP__SANDBOX_EXACT(NAME, LOOPBACK)
                                          : ARCP__SANDBOX_EXACT(NAME, TLS_CLOSED);
    }
    if (compile->request->tls_terminate) {
        return parts->is_any_port ? ARCP__SANDBOX_UNDER(TERMINATE, PORTS)
                                  : ARCP__SANDBOX_EXACT(TERMINATE, TERMINATE);
    }
    if (parts->is_spanning && ends_open) {
        return is_all(parts->host, "*") ? ARCP__SANDBOX_UNDER(NAME, PORTS)
                                        : ARCP__SANDBOX_UNDER(NAME, WHOLE_HOSTS);
    }
    if (!is_within_whole_hosts(compile, pattern)) {
        return ARCP__SANDBOX_REFUSED(NEEDS_TERMINATE);
    }
    return parts->is_any_port ? ARCP__SANDBOX_UNDER(NAME, PORTS)
                              : ARCP__SANDBOX_EXACT(NAME, TLS_CLOSED);
}

static arcp__sandbox_line judge_parts(arcp__sandbox_compile *compile, arcp_span pattern,
                                      const url_parts *parts)
{
    switch (parts->kind) {
    case SCHEME_PLAIN:
        return parts->is_any_port         ? ARCP__SANDBOX_UNDER(HTTP, PORTS)
               : is_loopback(parts->host) ? ARCP__SANDBOX_EXACT(HTTP, LOOPBACK)
                                          : ARCP__SANDBOX_EXACT(HTTP, NONE);
    case SCHEME_TLS:
        return judge_tls(compile, pattern, parts);
    case SCHEME_OTHER:
        if (!parts->is_whole || parts->is_spanning) {
            return ARCP__SANDBOX_REFUSED(WHOLE_NEEDED);
        }
        return parts->port == 0 || parts->is_any_port ? ARCP__SANDBOX_REFUSED(PORT_NEEDED)
                                                      : ARCP__SANDBOX_EXACT(TUNNEL, OPAQUE);
    case SCHEME_ANY:
        return ARCP__SANDBOX_UNDER(NAME, WEB_ONLY);
    case SCHEME_WILD:
        break;
    }
    return ARCP__SANDBOX_REFUSED(SCHEME_NEEDED);
}

static arcp__sandbox_line judge(arcp__sandbox_compile *compile, arcp_span pattern)
{
    const uint32_t *has = compile->request->abilities.values;
    const bool is_full = compile->draft.level == ARCP__SANDBOX_LEVEL_FULL;
    if (arcp__sandbox_is_dead(compile, ARCP__CAPABILITY_NET_FETCH, pattern)) {
        return ARCP__SANDBOX_EXACT(NONE, DEAD);
    }
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_NONE) {
        return ARCP__SANDBOX_REFUSED(LEVEL);
    }
    if (has[ARCP__SANDBOX_ABILITY_EGRESS] == 0) {
        return ARCP__SANDBOX_REFUSED(NO_EGRESS);
    }
    if (!is_full && has[ARCP__SANDBOX_ABILITY_LANDLOCK] < LANDLOCK_NET) {
        return ARCP__SANDBOX_REFUSED(NO_LANDLOCK_NET);
    }
    const url_parts parts = take_apart(pattern);
    arcp__sandbox_line line = judge_parts(compile, pattern, &parts);
    if (line.verdict == ARCP__SANDBOX_VERDICT_REFUSED) {
        return line;
    }
    if (!is_full && line.verdict == ARCP__SANDBOX_VERDICT_EXACT) {
        line.verdict = ARCP__SANDBOX_VERDICT_UNDER;
        line.note = ARCP__SANDBOX_NOTE_PROXY_ONLY;
    }
    arcp__sandbox_add_port(compile, PORT_HTTP);
    arcp__sandbox_add_port(compile, PORT_HTTPS);
    if (parts.port != 0) {
        arcp__sandbox_add_port(compile, (uint16_t)parts.port);
    }
    return line;
}

void arcp__sandbox_judge_url(arcp__sandbox_compile *compile, uint32_t at)
{
    arcp__sandbox_line *line = &compile->lines[at];
    const arcp__sandbox_line verdict = judge(compile, line->pattern);
    line->verdict = verdict.verdict;
    line->mechanism = verdict.mechanism;
    line->note = verdict.note;
}

/* ---- what a plan admits ---- */

/* Whether the lines together grant all of the URL's host and port, so that its TLS stays closed. */
static bool is_whole_host(const arcp__sandbox_plan *plan, arcp_span url)
{
    const arcp_span scheme = before(url, ":");
    const size_t begin = scheme.size + strlen("://");
    const size_t size = begin + before(arcp_span_from(url, begin), "/?").size;
    arcp_buf host = arcp_buf_init();
    arcp_buf patterns = arcp_buf_init(); /* of spans */
    arcp_buf_append(&host, arcp_span_first(url, size));
    arcp_buf_append_cstr(&host, "/**");
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        if (arcp_span_equal_cstr(plan->lines[i].capability, "net.fetch")) {
            arcp_buf_append(&patterns, arcp_span_make((const char *)&plan->lines[i].pattern,
                                                      sizeof plan->lines[i].pattern));
        }
    }
    bool is_within = false;
    const bool is_known =
        !host.failed && !patterns.failed &&
        arcp__glob_is_within(ARCP__CAPABILITY_NET_FETCH, arcp_buf_span(&host),
                             (const arcp_span *)(const void *)patterns.data,
                             patterns.size / sizeof(arcp_span), NULL, &is_within) == ARCP_OK;
    arcp_buf_fini(&host);
    arcp_buf_fini(&patterns);
    return is_known && is_within;
}

bool arcp__sandbox_admits_url(const arcp__sandbox_plan *plan, arcp_span url)
{
    const url_parts parts = take_apart(url);
    bool is_open = plan->level == ARCP__SANDBOX_LEVEL_LANDLOCK; /* a proxy serves every port */
    for (size_t i = 0; i < plan->port_count; i++) {
        is_open = is_open || plan->ports[i] == parts.port;
    }
    if (!is_open) {
        return false;
    }
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        if (!arcp_span_equal_cstr(line->capability, "net.fetch") ||
            line->mechanism == ARCP__SANDBOX_MECHANISM_NONE ||
            !arcp__glob_matches_alone(ARCP__TARGET_URL, line->pattern, url)) {
            continue;
        }
        if (line->mechanism != ARCP__SANDBOX_MECHANISM_NAME || parts.kind == SCHEME_PLAIN ||
            (parts.kind == SCHEME_TLS && is_whole_host(plan, url))) {
            return true;
        }
    }
    return false;
}
