#include "web/message.h"

#include <http_parser.h>

static const char *connection_of(int status, bool keeps_alive)
{
    if (keeps_alive) {
        return status == 426 ? "Upgrade, keep-alive" : "keep-alive";
    }
    return status == 426 ? "Upgrade, close" : "close";
}

void arcp__web_respond(const arcp__web_response *response, const arcp__web_head *request,
                       bool keeps_alive, arcp_buf *out)
{
    const bool is_line = response->why != NULL;
    const arcp_span body = is_line ? arcp_span_cstr(response->why) : response->body;
    arcp_buf_append_format(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", response->status,
                           http_status_str((enum http_status)response->status),
                           response->type == NULL ? "text/plain; charset=utf-8" : response->type);
    if (!response->is_streamed) {
        arcp_buf_append_format(out, "Content-Length: %zu\r\n", body.size + is_line);
    } else if (request->minor > 0) {
        arcp_buf_append_cstr(out, "Transfer-Encoding: chunked\r\n");
    }
    if (response->allow != NULL) {
        arcp_buf_append_format(out, "Allow: %s\r\n", response->allow);
    }
    arcp_buf_append_format(out, "%sConnection: %s\r\n\r\n",
                           response->headers == NULL ? "" : response->headers,
                           connection_of(response->status, keeps_alive));
    if (!response->is_streamed && request->method != ARCP__WEB_HEAD) {
        arcp_buf_append(out, body);
        arcp_buf_append_cstr(out, is_line ? "\n" : "");
    }
}

void arcp__web_chunk(arcp_span piece, arcp_buf *out)
{
    arcp_buf_append_format(out, "%zx\r\n", piece.size);
    arcp_buf_append(out, piece);
    arcp_buf_append_cstr(out, "\r\n");
}

void arcp__web_last_chunk(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "0\r\n\r\n");
}

void arcp__web_ask(const char *method, const char *target, const arcp__authority *host, bool secure,
                   arcp_buf *out)
{
    arcp__authority named = *host;
    char text[ARCP__HOST_MAX + 16];
    named.has_port = host->has_port && host->port != (secure ? 443 : 80);
    arcp__authority_format(&named, text, sizeof(text));
    arcp_buf_append_format(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, text);
}
