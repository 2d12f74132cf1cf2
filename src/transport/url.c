#include "transport/url.h"

#include <stdio.h>

#include "web/head.h"

static arcp_status wrong(arcp_span text, arcp_error *err, const char *what)
{
    return arcp_error_set(err, ARCP_E_USAGE, "\"%.*s\": %s",
                          (int)(text.size < 120 ? text.size : 120), text.data, what);
}

/* Schemes are compared without case (RFC 3986 §3.1). */
static bool take_scheme(arcp_span *text, const char *scheme)
{
    const arcp_span want = arcp_span_cstr(scheme);
    if (!arcp__web_equal(arcp_span_first(*text, want.size), want)) {
        return false;
    }
    *text = arcp_span_from(*text, want.size);
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
