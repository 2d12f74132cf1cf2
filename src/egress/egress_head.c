#include "egress/egress_head.h"

#include <stdio.h>

#include "core/error_payload.h"
#include "core/url_pattern.h"
#include "web/names.h"
#include "json/json_put.h"

/* ---- hosts ---- */

bool arcp__egress_host_parse(arcp_span text, arcp__egress_host *out, uint16_t *port)
{
    arcp__authority parsed;
    if (!arcp__authority_parse(text, false, &parsed)) {
        return false;
    }
    char name[ARCP__EGRESS_NAME_MAX + 1];
    switch (parsed.kind) {
    case ARCP__HOST_NAME:
        if (!arcp__egress_name_canonical(arcp_span_cstr(parsed.host), name)) {
            return false;
        }
        (void)snprintf(out->text, sizeof out->text, "%s", name);
        break;
    case ARCP__HOST_IPV4:
        (void)snprintf(out->text, sizeof out->text, "%s", parsed.host);
        break;
    case ARCP__HOST_IPV6:
        (void)snprintf(out->text, sizeof out->text, "[%s]", parsed.host);
        break;
    }
    *port = parsed.has_port ? parsed.port : *port;
    return true;
}

static const char *const spellings[] = {"localhost", "127.0.0.1", "[::1]"};
#define SPELLING_COUNT (sizeof spellings / sizeof spellings[0])

bool arcp__egress_host_is_loopback(arcp_span host)
{
    for (size_t i = 0; i < SPELLING_COUNT; i++) {
        if (arcp_span_equal_cstr(host, spellings[i])) {
            return true;
        }
    }
    return false;
}

arcp_span arcp__egress_host_spelling(arcp_span host, size_t i)
{
    if (i == 0) {
        return host;
    }
    if (arcp__egress_host_is_loopback(host)) {
        size_t others = 0;
        for (size_t j = 0; j < SPELLING_COUNT; j++) {
            if (!arcp_span_equal_cstr(host, spellings[j]) && ++others == i) {
                return arcp_span_cstr(spellings[j]);
            }
        }
    }
    return arcp_span_make(NULL, 0);
}

/* ---- requests ---- */

static uint16_t default_port(bool is_tls)
{
    return is_tls ? ARCP__URL_PORT_HTTPS : ARCP__URL_PORT_HTTP;
}

/* In TLS the server has one name, that of its certificate. */
static bool is_same_host(arcp_span host, arcp_span other, bool is_tls)
{
    return arcp_span_equal(host, other) ||
           (!is_tls && arcp__egress_host_is_loopback(host) && arcp__egress_host_is_loopback(other));
}

/* Content-Length is absent, or digits alone. The parser accepts an empty one. */
static bool has_valid_length(const arcp__web_head *head)
{
    arcp_span value = {NULL, 0};
    if (arcp__web_head_find(head, "Content-Length", &value) == 0) {
        return true;
    }
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9') {
            return false;
        }
    }
    return value.size > 0;
}

/* Bodies whose end other programs may find elsewhere. RFC 9112 section 6.1: a transfer coding in
 * HTTP/1.0 is faulty. */
static bool has_valid_framing(const arcp__web_head *head)
{
    arcp_span value = {NULL, 0};
    return head->framing != ARCP__WEB_OTHER_CODING && has_valid_length(head) &&
           (head->minor > 0 || arcp__web_head_find(head, "Transfer-Encoding", &value) == 0);
}

/* An upgrade to WebSocket is sent on. One to h2c is not offered to the server, which RFC 9110
 * section 7.8 allows: Java's client asks for it in every request. Any other is refused. */
static bool read_upgrade(const arcp__web_head *head, arcp__egress_request_head *out)
{
    arcp_span value = {NULL, 0};
    const size_t count = arcp__web_head_find(head, "Upgrade", &value);
    if (count == 0 || arcp__web_equal(value, ARCP_SPAN_LITERAL("h2c"))) {
        return count <= 1;
    }
    out->is_upgrade = count == 1 && arcp__web_equal(value, ARCP_SPAN_LITERAL("websocket")) &&
                      arcp__web_head_has_token(head, "Connection", "Upgrade") &&
                      head->method == ARCP__WEB_GET && head->minor > 0 &&
                      head->framing == ARCP__WEB_NO_BODY;
    return out->is_upgrade;
}

/* The target of a request: a path, or a URL of http (in TLS: https) whose host goes to *host. */
static bool read_target(arcp_span target, bool is_tls, arcp_span *host, arcp_span *path)
{
    const arcp_span scheme = arcp_span_cstr(is_tls ? "https://" : "http://");
    *host = arcp_span_make(NULL, 0);
    *path = target;
    if (arcp__web_equal(arcp_span_first(target, scheme.size), scheme)) {
        const arcp_span rest = arcp_span_from(target, scheme.size);
        size_t end = 0;
        while (end < rest.size && rest.data[end] != '/' && rest.data[end] != '?') {
            end++;
        }
        *host = arcp_span_first(rest, end);
        *path = arcp_span_from(rest, end);
        if (path->size == 0) {
            *path = ARCP_SPAN_LITERAL("/");
        }
        return host->size > 0 && path->data[0] == '/';
    }
    return target.size > 0 && target.data[0] == '/';
}

static int refuse(int status, const char *text, const char **why)
{
    *why = text;
    return status;
}

static int read_connect(const arcp__web_head *head, const arcp__egress_target *at,
                        arcp__egress_request_head *out, const char **why)
{
    out->is_connect = true;
    if (at != NULL) {
        return refuse(400, "CONNECT is only served on the port of the explicit proxy", why);
    }
    if (head->framing != ARCP__WEB_NO_BODY ||
        !arcp__egress_host_parse(arcp__web_head_line(head), &out->host, &out->port) ||
        out->port == 0) {
        return refuse(400, "CONNECT needs HOST:PORT and no body", why);
    }
    return 0;
}

/* Takes the place that Host names, of the loopback's spellings too. Whether it is the one that the
 * request was for so far. */
static bool takes_host(arcp_span host, bool is_tls, arcp__egress_request_head *out)
{
    arcp__egress_host named;
    uint16_t port = default_port(is_tls);
    if (!arcp__egress_host_parse(host, &named, &port)) {
        return false;
    }
    const bool is_same = port == out->port && is_same_host(arcp_span_cstr(named.text),
                                                           arcp_span_cstr(out->host.text), is_tls);
    out->host = named;
    out->port = port;
    return is_same;
}

int arcp__egress_request_read(const arcp__web_head *head, const arcp__egress_target *at,
                              arcp__egress_request_head *out, const char **why)
{
    arcp_span host = {NULL, 0};
    arcp_span authority = {NULL, 0};
    const bool is_tls = at != NULL && at->is_tls;
    *out = (arcp__egress_request_head){0};
    if (head->major != 1) {
        return refuse(400, "only HTTP/1.1 is forwarded", why);
    }
    if (!has_valid_framing(head)) {
        return refuse(400, "the length of the body is malformed", why);
    }
    if (strcmp(head->method_name, "CONNECT") == 0) {
        return read_connect(head, at, out, why);
    }
    if (!read_upgrade(head, out)) {
        return refuse(400, "only upgrades to WebSocket are forwarded", why);
    }
    if (!read_target(arcp__web_head_line(head), is_tls, &authority, &out->path) ||
        (at == NULL && authority.size == 0)) {
        return refuse(400,
                      at == NULL ? "a request to the explicit proxy needs a URL of http"
                                 : "the target of the request is not a path",
                      why);
    }
    const size_t hosts = arcp__web_head_find(head, "Host", &host);
    if (hosts > 1 || (hosts == 0 && head->minor > 0)) {
        return refuse(400, "the request needs one Host header", why);
    }
    out->port = default_port(is_tls);
    if (authority.size > 0) {
        if (!arcp__egress_host_parse(authority, &out->host, &out->port)) {
            return refuse(400, "the host of the request is malformed", why);
        }
    } else {
        (void)snprintf(out->host.text, sizeof out->host.text, "%.*s", (int)at->host.size,
                       at->host.data);
        out->port = at->port;
    }
    if (hosts == 1 && !takes_host(host, is_tls, out)) {
        return refuse(421, "Host is not the name that was connected to", why);
    }
    if (at != NULL && (out->port != at->port ||
                       !is_same_host(arcp_span_cstr(out->host.text), at->host, is_tls))) {
        return refuse(421, "the request is for another host than the one connected to", why);
    }
    return 0;
}

/* ---- writing ---- */

/* Whether a header is for one connection, or is written by us. */
static bool is_ours(const arcp__web_head *head, arcp_span name)
{
    static const char *const rows[] = {
        "Connection", "Content-Length", "Host",           "Keep-Alive",       "TE",
        "Trailer",    "Upgrade",        "HTTP2-Settings", "Transfer-Encoding"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (arcp__web_equal(name, arcp_span_cstr(rows[i]))) {
            return true;
        }
    }
    if (arcp__web_equal(arcp_span_first(name, 6), ARCP_SPAN_LITERAL("Proxy-"))) {
        return true;
    }
    for (size_t i = 0; i < head->header_count; i++) {
        arcp_span other = {NULL, 0};
        arcp_span list = {NULL, 0};
        arcp__web_head_header(head, i, &other, &list);
        if (arcp__web_equal(other, ARCP_SPAN_LITERAL("Connection")) &&
            arcp__web_list_has(list, name)) {
            return true;
        }
    }
    return false;
}

static void write_headers(const arcp__web_head *head, arcp_buf *out)
{
    for (size_t i = 0; i < head->header_count; i++) {
        arcp_span name = {NULL, 0};
        arcp_span value = {NULL, 0};
        arcp__web_head_header(head, i, &name, &value);
        if (!is_ours(head, name)) {
            arcp_buf_append(out, name);
            arcp_buf_append_cstr(out, ": ");
            arcp_buf_append(out, value);
            arcp_buf_append_cstr(out, "\r\n");
        }
    }
}

/* The header that says where the body ends. A response to HEAD, and one without a body, keeps the
 * length that it has. */
static void write_framing(const arcp__web_head *head, arcp_buf *out)
{
    arcp_span value = {NULL, 0};
    if (head->framing == ARCP__WEB_CHUNKED) {
        arcp_buf_append_cstr(out, "Transfer-Encoding: chunked\r\n");
    } else if (arcp__web_head_find(head, "Content-Length", &value) == 1) {
        arcp_buf_append_cstr(out, "Content-Length: ");
        arcp_buf_append(out, value);
        arcp_buf_append_cstr(out, "\r\n");
    }
}

void arcp__egress_request_write(const arcp__web_head *head, bool is_upgrade,
                                const arcp__egress_target *at, arcp_span path, arcp_buf *out)
{
    arcp_buf_append_cstr(out, head->method_name);
    arcp_buf_append_cstr(out, " ");
    arcp_buf_append(out, path);
    arcp_buf_append_cstr(out, " HTTP/1.1\r\nHost: ");
    arcp_buf_append(out, at->host);
    if (at->port != default_port(at->is_tls)) {
        arcp_buf_append_format(out, ":%u", (unsigned)at->port);
    }
    arcp_buf_append_cstr(out, "\r\n");
    write_headers(head, out);
    write_framing(head, out);
    if (is_upgrade) {
        arcp_buf_append_cstr(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    } else if (!head->keeps_alive) {
        arcp_buf_append_cstr(out, "Connection: close\r\n");
    }
    arcp_buf_append_cstr(out, "\r\n");
}

/* ---- responses ---- */

bool arcp__egress_response_is_valid(const arcp__web_head *head, bool is_upgrade)
{
    return !head->is_lax && head->major == 1 && has_valid_framing(head) && head->status >= 100 &&
           (head->status != 101 || is_upgrade);
}

void arcp__egress_response_write(const arcp__web_head *head, const arcp__web_head *request,
                                 bool is_last, arcp_buf *out)
{
    const bool is_interim = head->status < 200;
    arcp_buf_append_format(out, "HTTP/1.1 %03u ", head->status);
    arcp_buf_append(out, arcp__web_head_line(head));
    arcp_buf_append_cstr(out, "\r\n");
    write_headers(head, out);
    if (head->status == 101) {
        arcp_buf_append_cstr(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    } else if (!is_interim) {
        /* HTTP/1.0 has no chunks: the body ends with the connection. */
        if (head->status != 204 && (head->framing != ARCP__WEB_CHUNKED || request->minor > 0)) {
            write_framing(head, out);
        }
        arcp_buf_append_cstr(out, is_last              ? "Connection: close\r\n"
                                  : request->minor > 0 ? ""
                                                       : "Connection: keep-alive\r\n");
    }
    arcp_buf_append_cstr(out, "\r\n");
}

static const char headers[] = "Cache-Control: no-store\r\n";
/* Clients that did not send what they know at once do so now. */
static const char headers_of_407[] =
    "Cache-Control: no-store\r\nProxy-Authenticate: Basic realm=\"arcp\"\r\n";

void arcp__egress_refusal_write(int status, const arcp_error *error, arcp_span details,
                                const arcp__web_head *request, bool is_last, arcp_buf *out)
{
    arcp_buf body = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_object(&writer, "error");
    arcp__error_payload_local(&writer, error, details);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(&body, '\n');
    const arcp__web_response response = {.status = status,
                                         .type = "application/json",
                                         .headers = status == 407 ? headers_of_407 : headers,
                                         .body = arcp_buf_span(&body)};
    arcp__web_respond(&response, request, !is_last, out);
    out->failed = out->failed || body.failed;
    arcp_buf_fini(&body);
}
