#include "web/message.h"

#include <http_parser.h>

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
    arcp_buf_append_format(
        out, "%sConnection: %s%s\r\n\r\n", response->headers == NULL ? "" : response->headers,
        response->status == 426 ? "Upgrade, " : "", keeps_alive ? "keep-alive" : "close");
    if (!response->is_streamed && request->method != ARCP__WEB_HEAD) {
        arcp_buf_append(out, body);
        arcp_buf_append_cstr(out, is_line ? "\n" : "");
    }
}
