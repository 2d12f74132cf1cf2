#include "web/response.h"

#include <http_parser.h>

static const char *connection_of(const arcp__web_response *response)
{
    if (response->keeps_alive) {
        return response->status == 426 ? "Upgrade, keep-alive" : "keep-alive";
    }
    return response->status == 426 ? "Upgrade, close" : "close";
}

void arcp__web_respond(const arcp__web_response *response, arcp_buf *out)
{
    arcp_buf_append_format(
        out,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sConnection: %s\r\n\r\n",
        response->status, http_status_str((enum http_status)response->status),
        response->type == NULL ? "text/plain; charset=utf-8" : response->type, response->body.size,
        response->headers == NULL ? "" : response->headers, connection_of(response));
    if (!response->omits_body) {
        arcp_buf_append(out, response->body);
    }
}
