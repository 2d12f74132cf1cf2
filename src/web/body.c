#include "web/body.h"

void arcp__web_body_init(arcp__web_body *body, const arcp__web_head *head, bool answers_head,
                         uint64_t bytes_max)
{
    *body = (arcp__web_body){.framing = head->framing, .bytes_max = bytes_max};
    switch (answers_head ? ARCP__WEB_NO_BODY : head->framing) {
    case ARCP__WEB_NO_BODY:
        body->state = ARCP__WEB_AT_END;
        break;
    case ARCP__WEB_BY_LENGTH:
        body->left = head->body_length;
        break;
    case ARCP__WEB_UNTIL_END:
        body->left = UINT64_MAX;
        break;
    case ARCP__WEB_CHUNKED:
        body->state = ARCP__WEB_IN_SIZE;
        break;
    case ARCP__WEB_OTHER_CODING:
        break; /* the first call says that it cannot be read */
    }
}

static arcp__web_result take_data(arcp__web_body *body, arcp_span *input, arcp_span *piece)
{
    const uint64_t room = body->bytes_max - body->bytes;
    if (body->framing != ARCP__WEB_UNTIL_END && body->left > room) {
        return ARCP__WEB_TOO_BIG;
    }
    if (input->size > room && body->framing == ARCP__WEB_UNTIL_END) {
        return ARCP__WEB_TOO_BIG;
    }
    *piece = arcp_span_first(*input, body->left < input->size ? (size_t)body->left : input->size);
    *input = arcp_span_from(*input, piece->size);
    body->bytes += piece->size;
    if (body->framing == ARCP__WEB_UNTIL_END) {
        return ARCP__WEB_MORE;
    }
    body->left -= piece->size;
    if (body->left > 0) {
        return ARCP__WEB_MORE;
    }
    body->state = body->framing == ARCP__WEB_CHUNKED ? ARCP__WEB_IN_DATA_END : ARCP__WEB_AT_END;
    return body->state == ARCP__WEB_AT_END ? ARCP__WEB_COMPLETE : ARCP__WEB_MORE;
}

static int hex_of(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    if (byte >= 'a' && byte <= 'f') {
        return byte - 'a' + 10;
    }
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* The line of a size is over. */
static arcp__web_result end_size(arcp__web_body *body)
{
    body->line = 0;
    body->digits = 0;
    body->after_cr = false;
    body->line_is_empty = true;
    body->state = body->left == 0 ? ARCP__WEB_IN_TRAILERS : ARCP__WEB_IN_DATA;
    return body->left > body->bytes_max - body->bytes ? ARCP__WEB_TOO_BIG : ARCP__WEB_MORE;
}

static bool is_control(char byte)
{
    return ((unsigned char)byte < ' ' && byte != '\t') || byte == 0x7f;
}

static arcp__web_result take_size(arcp__web_body *body, char byte)
{
    if (++body->line > ARCP__WEB_CHUNK_LINE_MAX) {
        return ARCP__WEB_TOO_BIG;
    }
    const int digit = hex_of(byte);
    if (body->state == ARCP__WEB_IN_SIZE && !body->after_cr && digit >= 0) {
        body->left = body->left << 4 | (unsigned)digit;
        return ++body->digits > 16 ? ARCP__WEB_INVALID : ARCP__WEB_MORE;
    }
    if (body->digits == 0) {
        return ARCP__WEB_INVALID;
    }
    if (body->after_cr) {
        return byte == '\n' ? end_size(body) : ARCP__WEB_INVALID;
    }
    body->after_cr = byte == '\r';
    if (body->state == ARCP__WEB_IN_SIZE && byte == ';') {
        body->state = ARCP__WEB_IN_EXTENSION;
    } else if (!body->after_cr && (body->state == ARCP__WEB_IN_SIZE || is_control(byte))) {
        return ARCP__WEB_INVALID;
    }
    return ARCP__WEB_MORE;
}

static arcp__web_result take_data_end(arcp__web_body *body, char byte)
{
    if (byte != (body->after_cr ? '\n' : '\r')) {
        return ARCP__WEB_INVALID;
    }
    if (body->after_cr) {
        body->state = ARCP__WEB_IN_SIZE;
    }
    body->after_cr = !body->after_cr;
    return ARCP__WEB_MORE;
}

static arcp__web_result take_trailer(arcp__web_body *body, char byte)
{
    if (++body->line > ARCP__WEB_TRAILERS_MAX) {
        return ARCP__WEB_TOO_BIG;
    }
    if (body->after_cr) {
        if (byte != '\n') {
            return ARCP__WEB_INVALID;
        }
        body->after_cr = false;
        if (body->line_is_empty) {
            body->state = ARCP__WEB_AT_END;
            return ARCP__WEB_COMPLETE;
        }
        body->line_is_empty = true;
        return ARCP__WEB_MORE;
    }
    if (byte == '\r') {
        body->after_cr = true;
        return ARCP__WEB_MORE;
    }
    body->line_is_empty = false;
    return is_control(byte) ? ARCP__WEB_INVALID : ARCP__WEB_MORE;
}

arcp__web_result arcp__web_body_feed(arcp__web_body *body, arcp_span *input, arcp_span *piece)
{
    arcp__web_result result = ARCP__WEB_MORE;
    *piece = (arcp_span){NULL, 0};
    if (body->framing == ARCP__WEB_OTHER_CODING && body->state != ARCP__WEB_AT_END) {
        return ARCP__WEB_INVALID;
    }
    while (result == ARCP__WEB_MORE) {
        if (body->state == ARCP__WEB_AT_END) {
            return ARCP__WEB_COMPLETE;
        }
        if (body->state == ARCP__WEB_IN_DATA) {
            return take_data(body, input, piece);
        }
        if (input->size == 0) {
            return ARCP__WEB_MORE;
        }
        const char byte = input->data[0];
        *input = arcp_span_from(*input, 1);
        if (body->state == ARCP__WEB_IN_DATA_END) {
            result = take_data_end(body, byte);
        } else if (body->state == ARCP__WEB_IN_TRAILERS) {
            result = take_trailer(body, byte);
        } else {
            result = take_size(body, byte);
        }
    }
    return result;
}

bool arcp__web_body_ends(const arcp__web_body *body)
{
    return body->state == ARCP__WEB_AT_END || body->framing == ARCP__WEB_UNTIL_END;
}
