#include "transport/url.h"

#include <stdio.h>

#include "web/head.h"

static arcp_status wrong(arcp_span text, arcp_error *err, const char *what)
{
    return arcp_error_set(err, ARCP_E_USAGE, "\"%.*s\": %s",
                          (int)(text.size < 120 ? text.size : 120), text.data, what);
}

static arcp_status parse_websocket(arcp_span text, arcp_span rest, arcp__url *out, arcp_error *err)
{
    size_t size = 0;
    while (size < rest.size && memchr("/?#", rest.data[size], 3) == NULL) {
        size++;
    }
    const arcp_span authority = arcp_span_first(rest, size);
    arcp_span path = arcp_span_from(rest, size);
    if (size > 0 && memchr(authority.data, '@', size) != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the URL has credentials, which are not allowed in it");
    }
    if (!arcp__authority_parse(authority, true, &out->authority)) {
        return wrong(text, err, "expected a valid HOST or HOST:PORT");
    }
    if (!out->authority.has_port) {
        out->authority.has_port = true;
        out->authority.port = out->scheme == ARCP__URL_WSS ? 443 : 80;
    }
    if (path.size == 0) {
        path = ARCP_SPAN_LITERAL("/arcp");
    }
    if (path.data[0] != '/') {
        return wrong(text, err, "expected a path before the query");
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
    memcpy(out->path, path.data, path.size); /* the rest of it is zeroed */
    return ARCP_OK;
}

arcp_status arcp__url_parse(arcp_span text, arcp__url *out, arcp_error *err)
{
    /* In the order of arcp__url_scheme; compared without case (RFC 3986 §3.1). */
    static const char *const schemes[] = {"ws://", "wss://", "stdio:", "unix:", "memory:"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const arcp_span scheme = arcp_span_cstr(schemes[i]);
        if (!arcp__web_equal(arcp_span_first(text, scheme.size), scheme)) {
            continue;
        }
        arcp__url url = {.scheme = (arcp__url_scheme)i, .rest = arcp_span_from(text, scheme.size)};
        if (url.scheme == ARCP__URL_WS || url.scheme == ARCP__URL_WSS) {
            const arcp_status status = parse_websocket(text, url.rest, &url, err);
            if (status != ARCP_OK) {
                return status;
            }
        }
        *out = url;
        return ARCP_OK;
    }
    return wrong(text, err,
                 "expected ws://HOST:PORT/PATH, wss://HOST:PORT/PATH, unix:PATH or stdio:COMMAND");
}

void arcp__url_format(const arcp__url *url, char out[ARCP__URL_TEXT_MAX])
{
    char authority[ARCP__HOST_MAX + 16];
    arcp__authority_format(&url->authority, authority, sizeof authority);
    snprintf(out, ARCP__URL_TEXT_MAX, "%s://%s%s", url->scheme == ARCP__URL_WSS ? "wss" : "ws",
             authority, url->path);
}
