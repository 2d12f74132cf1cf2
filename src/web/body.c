#include "web/body.h"

#include "base/hex.h"

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
        break; /* the first arcp__web_body_feed reports that it cannot be read */
    }
}

/* Processes one byte between the data of two chunks. */
static arcp__web_result take_byte(arcp__web_body *body, char byte)
{
    const bool is_control = ((unsigned char)byte < ' ' && byte != '\t') || byte == 0x7f;
    const int digit = arcp__hex_value((unsigned char)byte);
    if (++body->line >
        (body->state >= ARCP__WEB_AT_TRAILER ? ARCP__WEB_TRAILERS_MAX : ARCP__WEB_CHUNK_LINE_MAX)) {
        return ARCP__WEB_TOO_BIG;
    }
    switch (body->state) {
    case ARCP__WEB_AT_DATA_CR:
        body->state = ARCP__WEB_AT_DATA_LF;
        return byte == '\r' ? ARCP__WEB_MORE : ARCP__WEB_INVALID;
    case ARCP__WEB_AT_DATA_LF:
        body->state = ARCP__WEB_IN_SIZE;
        body->line = 0;
        return byte == '\n' ? ARCP__WEB_MORE : ARCP__WEB_INVALID;
    case ARCP__WEB_IN_SIZE:
        if (digit >= 0) {
            body->left = body->left << 4 | (unsigned)digit;
            return ++body->digits > 16 ? ARCP__WEB_INVALID : ARCP__WEB_MORE;
        }
        body->state = byte == ';' ? ARCP__WEB_IN_EXTENSION : ARCP__WEB_AT_SIZE_LF;
        return body->digits > 0 && (byte == ';' || byte == '\r') ? ARCP__WEB_MORE
                                                                 : ARCP__WEB_INVALID;
    case ARCP__WEB_IN_EXTENSION:
        body->state = byte == '\r' ? ARCP__WEB_AT_SIZE_LF : ARCP__WEB_IN_EXTENSION;
        return is_control && byte != '\r' ? ARCP__WEB_INVALID : ARCP__WEB_MORE;
    case ARCP__WEB_AT_SIZE_LF:
        body->line = 0;
        body->digits = 0;
        body->state = body->left == 0 ? ARCP__WEB_AT_TRAILER : ARCP__WEB_IN_DATA;
        if (byte != '\n') {
            return ARCP__WEB_INVALID;
        }
        return body->left > body->bytes_max - body->bytes ? ARCP__WEB_TOO_BIG : ARCP__WEB_MORE;
    case ARCP__WEB_AT_TRAILER:
    case ARCP__WEB_IN_TRAILER:
        if (byte == '\r') {
            body->state = body->state == ARCP__WEB_AT_TRAILER ? ARCP__WEB_AT_LAST_LF
                                                              : ARCP__WEB_AT_TRAILER_LF;
            return ARCP__WEB_MORE;
        }
        body->state = ARCP__WEB_IN_TRAILER;
        return is_control ? ARCP__WEB_INVALID : ARCP__WEB_MORE;
    case ARCP__WEB_AT_TRAILER_LF:
        body->state = ARCP__WEB_AT_TRAILER;
        return byte == '\n' ? ARCP__WEB_MORE : ARCP__WEB_INVALID;
    case ARCP__WEB_AT_LAST_LF:
        body->state = byte == '\n' ? ARCP__WEB_AT_END : body->state;
        return byte == '\n' ? ARCP__WEB_COMPLETE : ARCP__WEB_INVALID;
    case ARCP__WEB_IN_DATA:
    case ARCP__WEB_AT_END:
        break;
    }
    return ARCP__WEB_INVALID;
}

arcp__web_result arcp__web_body_feed(arcp__web_body *body, arcp_span *input, arcp_span *piece)
{
    arcp__web_result result = ARCP__WEB_MORE;
    *piece = (arcp_span){NULL, 0};
    if (body->state == ARCP__WEB_AT_END) {
        return ARCP__WEB_COMPLETE;
    }
    if (body->framing == ARCP__WEB_OTHER_CODING) {
        return ARCP__WEB_INVALID;
    }
    while (result == ARCP__WEB_MORE && body->state != ARCP__WEB_IN_DATA && input->size > 0) {
        result = take_byte(body, input->data[0]);
        *input = arcp_span_from(*input, 1);
    }
    if (result != ARCP__WEB_MORE || body->state != ARCP__WEB_IN_DATA) {
        return result;
    }
    const uint64_t room = body->bytes_max - body->bytes;
    if ((body->framing == ARCP__WEB_UNTIL_END ? input->size : body->left) > room) {
        return ARCP__WEB_TOO_BIG;
    }
    *piece = arcp_span_first(*input, body->left < input->size ? (size_t)body->left : input->size);
    *input = arcp_span_from(*input, piece->size);
    body->bytes += piece->size;
    body->left -= piece->size;
    if (body->left > 0) {
        return ARCP__WEB_MORE;
    }
    body->state = body->framing == ARCP__WEB_CHUNKED ? ARCP__WEB_AT_DATA_CR : ARCP__WEB_AT_END;
    return body->state == ARCP__WEB_AT_END ? ARCP__WEB_COMPLETE : ARCP__WEB_MORE;
}

bool arcp__web_body_ends(const arcp__web_body *body)
{
    return body->state == ARCP__WEB_AT_END || body->framing == ARCP__WEB_UNTIL_END;
}
