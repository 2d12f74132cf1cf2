#include "transport/websocket_reader.h"

#include <arcp/sys/transport.h>

#include "base/utf8.h"

void arcp__websocket_reader_init(arcp__websocket_reader *reader, arcp__websocket_pool *pool,
                                 size_t message_bytes_max)
{
    *reader = (arcp__websocket_reader){
        .pool = pool,
        .peer_masks = arcp__websocket_pool_role(pool) == ARCP__WEBSOCKET_SERVER,
        .message_bytes_max = message_bytes_max,
    };
}

void arcp__websocket_reader_limit_first(arcp__websocket_reader *reader, size_t bytes_max)
{
    if (bytes_max < reader->message_bytes_max) {
        reader->later_bytes_max = reader->message_bytes_max;
        reader->message_bytes_max = bytes_max;
    }
}

void arcp__websocket_reader_fini(arcp__websocket_reader *reader)
{
    arcp__websocket_decoder_give(reader->pool, reader->decoder);
    reader->decoder = NULL;
    arcp_buf_fini(&reader->message);
}

bool arcp__websocket_close_code_is_valid(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static arcp__websocket_event nothing(void)
{
    return (arcp__websocket_event){.type = ARCP__WEBSOCKET_NOTHING};
}

static arcp__websocket_event wrong(arcp__websocket_reader *reader, uint16_t code, const char *why)
{
    reader->broken = true;
    return (arcp__websocket_event){.type = ARCP__WEBSOCKET_WRONG, .code = code, .why = why};
}

/* What is wrong with a frame by its header alone; NULL when nothing is. */
static const char *header_fault(const arcp__websocket_reader *reader,
                                const arcp__websocket_piece *piece)
{
    if (piece->reserved != 0) {
        return "a reserved bit is set";
    }
    if (piece->masked != reader->peer_masks) {
        return reader->peer_masks ? "a client's frame is not masked" : "a server's frame is masked";
    }
    switch ((arcp__websocket_opcode)piece->opcode) {
    case ARCP__WEBSOCKET_CONTINUATION:
        return reader->in_message ? NULL : "a continuation without a beginning";
    case ARCP__WEBSOCKET_TEXT:
    case ARCP__WEBSOCKET_BINARY:
        return reader->in_message ? "a new message inside a fragmented one" : NULL;
    case ARCP__WEBSOCKET_CLOSE:
    case ARCP__WEBSOCKET_PING:
    case ARCP__WEBSOCKET_PONG:
        return NULL;
    }
    return "an unknown opcode";
}

static arcp__websocket_event close_event(arcp__websocket_reader *reader, arcp_span payload)
{
    if (payload.size == 1) {
        return wrong(reader, ARCP_CLOSE_PROTOCOL_ERROR, "a close code of one byte");
    }
    unsigned code = ARCP__WEBSOCKET_NO_CODE;
    if (payload.size >= 2) {
        code = (unsigned)(unsigned char)payload.data[0] << 8 | (unsigned char)payload.data[1];
        if (!arcp__websocket_close_code_is_valid(code)) {
            return wrong(reader, ARCP_CLOSE_PROTOCOL_ERROR, "an invalid close code");
        }
    }
    arcp_span reason = arcp_span_from(payload, 2);
    if (!arcp__utf8_is_valid(reason)) {
        return wrong(reader, ARCP_CLOSE_BAD_DATA, "a close reason that is not UTF-8");
    }
    reader->broken = true;
    return (arcp__websocket_event){
        .type = ARCP__WEBSOCKET_CLOSED, .code = (uint16_t)code, .data = reason};
}

static arcp__websocket_event control_event(arcp__websocket_reader *reader,
                                           const arcp__websocket_piece *piece)
{
    /* The decoder has seen to it that a control frame fits. */
    if (piece->data.size > 0) {
        memcpy(reader->control + reader->control_size, piece->data.data, piece->data.size);
        reader->control_size = (uint8_t)(reader->control_size + piece->data.size);
    }
    if (!piece->last) {
        return nothing();
    }
    arcp_span payload = arcp_span_make(reader->control, reader->control_size);
    reader->control_size = 0;
    if (piece->opcode == ARCP__WEBSOCKET_CLOSE) {
        return close_event(reader, payload);
    }
    return (arcp__websocket_event){
        .type =
            piece->opcode == ARCP__WEBSOCKET_PING ? ARCP__WEBSOCKET_PINGED : ARCP__WEBSOCKET_PONGED,
        .data = payload,
    };
}

static arcp__websocket_event data_event(arcp__websocket_reader *reader,
                                        const arcp__websocket_piece *piece)
{
    bool whole = piece->first && piece->last && piece->final && !reader->in_message;
    if (piece->first) {
        if (piece->opcode == ARCP__WEBSOCKET_BINARY) {
            return wrong(reader, ARCP_CLOSE_UNSUPPORTED, "a binary message");
        }
        if (piece->frame_bytes > reader->message_bytes_max - reader->message.size) {
            return wrong(reader, ARCP_CLOSE_TOO_BIG, "the message is too big");
        }
        reader->in_message = true;
    }
    arcp_span text = piece->data;
    if (!whole) {
        arcp_buf_append(&reader->message, piece->data);
        if (arcp_buf_status(&reader->message) != ARCP_OK) {
            return wrong(reader, ARCP_CLOSE_INTERNAL, "out of memory");
        }
        if (!piece->last || !piece->final) {
            return nothing();
        }
        text = arcp_buf_span(&reader->message);
        reader->message_is_given = true;
    }
    reader->in_message = false;
    if (reader->later_bytes_max != 0) {
        reader->message_bytes_max = reader->later_bytes_max;
        reader->later_bytes_max = 0;
    }
    return (arcp__websocket_event){.type = ARCP__WEBSOCKET_MESSAGE, .data = text};
}

/* Gives back what an idle connection does not need. */
static void rest(arcp__websocket_reader *reader)
{
    if (reader->decoder != NULL && arcp__websocket_decoder_is_at_rest(reader->decoder)) {
        arcp__websocket_decoder_give(reader->pool, reader->decoder);
        reader->decoder = NULL;
    }
    if (reader->message.size == 0) {
        arcp_buf_fini(&reader->message);
    }
}

arcp__websocket_event arcp__websocket_reader_next(arcp__websocket_reader *reader, arcp_span *input)
{
    if (reader->message_is_given) {
        reader->message_is_given = false;
        arcp_buf_clear(&reader->message);
    }
    if (reader->broken) {
        *input = arcp_span_from(*input, input->size);
        return nothing();
    }
    if (reader->decoder == NULL) {
        if (input->size == 0) {
            rest(reader);
            return nothing();
        }
        reader->decoder = arcp__websocket_decoder_take(reader->pool);
        if (reader->decoder == NULL) {
            return wrong(reader, ARCP_CLOSE_INTERNAL, "out of memory");
        }
    }
    for (;;) {
        arcp__websocket_piece piece = {0};
        switch (arcp__websocket_decode(reader->decoder, input, &piece)) {
        case ARCP__WEBSOCKET_MORE:
            rest(reader);
            return nothing();
        case ARCP__WEBSOCKET_MALFORMED:
            return wrong(reader, ARCP_CLOSE_PROTOCOL_ERROR, "a malformed frame header");
        case ARCP__WEBSOCKET_PIECE:
            break;
        }
        const char *fault = piece.first ? header_fault(reader, &piece) : NULL;
        if (fault != NULL) {
            return wrong(reader, ARCP_CLOSE_PROTOCOL_ERROR, fault);
        }
        arcp__websocket_event event = piece.opcode >= ARCP__WEBSOCKET_CLOSE
                                          ? control_event(reader, &piece)
                                          : data_event(reader, &piece);
        if (event.type != ARCP__WEBSOCKET_NOTHING) {
            return event;
        }
    }
}
