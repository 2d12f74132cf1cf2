#include "web/head.h"

#include <assert.h>
#include <http_parser.h>

#include "web/names.h"

_Static_assert(sizeof(http_parser) <= sizeof(((arcp__web_head *)NULL)->parser.bytes) &&
                   _Alignof(http_parser) <= _Alignof(void *),
               "arcp__web_head.parser is large enough");

/* http_parser reports names and values in pieces, depending on how the input is split. */

static bool add(arcp__web_head *head, const char *data, size_t size, uint32_t *total)
{
    arcp_buf_append(&head->text, arcp_span_make(data, size));
    *total += (uint32_t)size;
    return !head->text.failed;
}

static int on_line(http_parser *parser, const char *data, size_t size)
{
    arcp__web_head *head = parser->data;
    return add(head, data, size, &head->line_size) ? 0 : -1;
}

static int on_name(http_parser *parser, const char *data, size_t size)
{
    arcp__web_head *head = parser->data;
    head->is_lax = head->is_lax || memchr(data, ' ', size) != NULL;
    if (head->too_many) {
        return 0;
    }
    if (head->header_count == 0 || head->in_value) {
        if (head->header_count == ARCP__WEB_HEADERS_MAX) {
            head->too_many = true;
            return 0;
        }
        head->headers[head->header_count++] =
            (arcp__web_header){.name_at = (uint32_t)head->text.size};
        head->in_value = false;
    }
    return add(head, data, size, &head->headers[head->header_count - 1].name_size) ? 0 : -1;
}

static int on_value(http_parser *parser, const char *data, size_t size)
{
    arcp__web_head *head = parser->data;
    if (head->too_many) {
        return 0;
    }
    arcp__web_header *header = &head->headers[head->header_count - 1];
    if (!head->in_value) {
        header->value_at = (uint32_t)head->text.size;
        head->in_value = true;
    }
    return add(head, data, size, &header->value_size) ? 0 : -1;
}

/* http_parser has already refused contradictions: two lengths, or a length and a coding. */
static arcp__web_framing framing_of(const arcp__web_head *head, const http_parser *parser)
{
    arcp_span coding = {NULL, 0};
    const unsigned status = parser->status_code;
    if (head->side == ARCP__WEB_RESPONSE && (status < 200 || status == 204 || status == 304)) {
        return ARCP__WEB_NO_BODY;
    }
    if (parser->uses_transfer_encoding != 0) {
        return arcp__web_head_find(head, "Transfer-Encoding", &coding) == 1 &&
                       arcp__web_equal(coding, ARCP_SPAN_LITERAL("chunked"))
                   ? ARCP__WEB_CHUNKED
                   : ARCP__WEB_OTHER_CODING;
    }
    if ((parser->flags & F_CONTENTLENGTH) != 0) {
        return parser->content_length > 0 ? ARCP__WEB_BY_LENGTH : ARCP__WEB_NO_BODY;
    }
    return head->side == ARCP__WEB_REQUEST ? ARCP__WEB_NO_BODY : ARCP__WEB_UNTIL_END;
}

static int on_headers_complete(http_parser *parser)
{
    arcp__web_head *head = parser->data;
    head->complete = true;
    head->major = parser->http_major;
    head->minor = parser->http_minor;
    if (head->side == ARCP__WEB_REQUEST) {
        head->method = parser->method == HTTP_GET    ? ARCP__WEB_GET
                       : parser->method == HTTP_HEAD ? ARCP__WEB_HEAD
                                                     : ARCP__WEB_OTHER_METHOD;
        head->method_name = http_method_str((enum http_method)parser->method);
    } else {
        head->status = parser->status_code;
    }
    head->framing = framing_of(head, parser);
    head->body_length = head->framing == ARCP__WEB_BY_LENGTH ? parser->content_length : 0;
    head->keeps_alive = http_should_keep_alive(parser) != 0;
    return 2; /* "no body": parsing stops after the headers, and body.h reads the body */
}

static const http_parser_settings settings = {
    .on_url = on_line,
    .on_status = on_line,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
};

static http_parser *parser_of(arcp__web_head *head)
{
    return (http_parser *)(void *)&head->parser;
}

void arcp__web_head_reset(arcp__web_head *head)
{
    arcp_buf text = head->text;
    arcp_buf_clear(&text);
    *head = (arcp__web_head){.text = text, .bytes_max = head->bytes_max, .side = head->side};
    http_parser_init(parser_of(head),
                     head->side == ARCP__WEB_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE);
    parser_of(head)->data = head;
}

void arcp__web_head_init(arcp__web_head *head, arcp__web_side side, size_t bytes_max)
{
    *head = (arcp__web_head){.bytes_max = bytes_max < UINT32_MAX ? bytes_max : UINT32_MAX,
                             .side = side};
    arcp__web_head_reset(head);
}

void arcp__web_head_fini(arcp__web_head *head)
{
    arcp_buf_fini(&head->text);
}

arcp__web_result arcp__web_head_feed(arcp__web_head *head, arcp_span *input)
{
    if (input->size == 0) {
        return ARCP__WEB_MORE; /* http_parser takes an empty input for the end of the connection */
    }
    const arcp_span now = arcp_span_first(*input, head->bytes_max - head->bytes);
    const bool all = now.size == input->size;
    const size_t used =
        now.size == 0 ? 0 : http_parser_execute(parser_of(head), &settings, now.data, now.size);
    head->bytes += used;
    /* http_parser accepts four forms that RFC 9112 forbids; requests are checked for them. */
    for (size_t i = 0; i < used; i++) {
        const char byte = now.data[i];
        head->is_lax = head->is_lax || (byte == '\n' && head->last != '\r') ||
                       (byte != '\n' && head->last == '\r') ||
                       (head->last == '\n' && (byte == ' ' || byte == '\t'));
        head->last = byte;
    }
    *input = arcp_span_from(*input, used);
    if (head->text.failed) {
        return ARCP__WEB_NO_MEMORY;
    }
    if (head->is_lax && head->side == ARCP__WEB_REQUEST) {
        return ARCP__WEB_INVALID;
    }
    if (head->complete) {
        /* Reported only now, because a later byte could still have made the head invalid; so the
         * result does not depend on how the input is split. */
        return head->too_many ? ARCP__WEB_TOO_BIG : ARCP__WEB_COMPLETE;
    }
    if (now.size > 0 && HTTP_PARSER_ERRNO(parser_of(head)) != HPE_OK) {
        return HTTP_PARSER_ERRNO(parser_of(head)) == HPE_HEADER_OVERFLOW ? ARCP__WEB_TOO_BIG
                                                                         : ARCP__WEB_INVALID;
    }
    return all ? ARCP__WEB_MORE : ARCP__WEB_TOO_BIG;
}

arcp_span arcp__web_head_line(const arcp__web_head *head)
{
    return arcp_span_make(head->text.data, head->line_size);
}

arcp_span arcp__web_head_path(const arcp__web_head *head)
{
    const arcp_span target = arcp__web_head_line(head);
    const char *query = target.size == 0 ? NULL : memchr(target.data, '?', target.size);
    return query == NULL ? target : arcp_span_first(target, (size_t)(query - target.data));
}

bool arcp__web_equal(arcp_span a, arcp_span b)
{
    if (a.size != b.size) {
        return false;
    }
    for (size_t i = 0; i < a.size; i++) {
        if (arcp__web_lower(a.data[i]) != arcp__web_lower(b.data[i])) {
            return false;
        }
    }
    return true;
}

static arcp_span trim(arcp_span text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text = arcp_span_from(text, 1);
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

void arcp__web_head_header(const arcp__web_head *head, size_t i, arcp_span *name, arcp_span *value)
{
    /* There is a header, so there is text. */
    assert(i < head->header_count && head->text.data != NULL);
    const arcp__web_header *header = &head->headers[i];
    *name = arcp_span_make(head->text.data + header->name_at, header->name_size);
    *value = trim(arcp_span_make(head->text.data + header->value_at, header->value_size));
}

static bool header_at(const arcp__web_head *head, size_t i, const char *name, arcp_span *value)
{
    arcp_span found = {NULL, 0};
    arcp_span text = {NULL, 0};
    arcp__web_head_header(head, i, &found, &text);
    if (!arcp__web_equal(found, arcp_span_cstr(name))) {
        return false;
    }
    *value = text;
    return true;
}

size_t arcp__web_head_find(const arcp__web_head *head, const char *name, arcp_span *value)
{
    size_t count = 0;
    *value = (arcp_span){NULL, 0};
    for (size_t i = 0; i < head->header_count; i++) {
        count += header_at(head, i, name, value);
    }
    return count;
}

bool arcp__web_list_has(arcp_span list, arcp_span token)
{
    while (list.size > 0 && list.data != NULL) {
        const char *comma = memchr(list.data, ',', list.size);
        const size_t size = comma == NULL ? list.size : (size_t)(comma - list.data);
        if (arcp__web_equal(trim(arcp_span_first(list, size)), token)) {
            return true;
        }
        list = arcp_span_from(list, comma == NULL ? size : size + 1);
    }
    return false;
}

bool arcp__web_head_has_token(const arcp__web_head *head, const char *name, const char *token)
{
    arcp_span value = {NULL, 0};
    for (size_t i = 0; i < head->header_count; i++) {
        if (header_at(head, i, name, &value) && arcp__web_list_has(value, arcp_span_cstr(token))) {
            return true;
        }
    }
    return false;
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
    arcp_buf_append_format(
        out, "%s%sConnection: %s%s\r\n\r\n", response->headers == NULL ? "" : response->headers,
        response->more_headers == NULL ? "" : response->more_headers,
        response->status == 426 ? "Upgrade, " : "", keeps_alive ? "keep-alive" : "close");
    if (!response->is_streamed && request->method != ARCP__WEB_HEAD) {
        arcp_buf_append(out, body);
        arcp_buf_append_cstr(out, is_line ? "\n" : "");
    }
}
