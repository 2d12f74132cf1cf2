#include "transport/websocket_frame.h"

#include <assert.h>

#include <wslay/wslay.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/utf8.h"

typedef struct arcp__websocket_decoder {
    wslay_frame_context_ptr context;
    arcp_span input;  /* during a call */
    uint64_t given;   /* bytes passed to wslay */
    uint64_t used;    /* bytes of complete frames */
    uint64_t payload; /* bytes of the current frame's payload so far */
} decoder;

struct arcp__websocket_pool {
    size_t references;
    arcp__websocket_role role;
    /* Has no state between calls, except that one that has masked a frame masks all later ones:
     * that is why a pool has a role. */
    wslay_frame_context_ptr encoder;
    arcp_buf *out; /* during a call */
    /* One is enough: a connection has a decoder only while it reads, or within a frame. */
    decoder *unused;
    arcp__random_pool masks;
};

/* ---- sending ---- */

static ssize_t on_send(const uint8_t *data, size_t size, int flags, void *user)
{
    const arcp__websocket_pool *pool = user;
    arcp_buf_append(pool->out, arcp_span_make((const char *)data, size));
    return (ssize_t)size;
}

static int on_mask(uint8_t *out, size_t size, void *user)
{
    arcp__websocket_pool *pool = user;
    arcp__random_pool_draw(&pool->masks, out, size);
    return 0;
}

bool arcp__websocket_frame_append(arcp__websocket_pool *pool, arcp__websocket_opcode opcode,
                                  arcp_span payload, arcp_buf *out)
{
    struct wslay_frame_iocb frame = {
        .fin = 1,
        .opcode = (uint8_t)opcode,
        .payload_length = payload.size,
        .mask = pool->role == ARCP__WEBSOCKET_CLIENT ? 1 : 0,
        .data = (const uint8_t *)payload.data,
        .data_length = payload.size,
    };
    if (!arcp_buf_reserve(out, payload.size + 14)) { /* the longest header */
        out->failed = false;
        return false;
    }
    pool->out = out;
    const ssize_t sent = wslay_frame_send(pool->encoder, &frame);
    assert(sent == (ssize_t)payload.size); /* the buffer was reserved */
    return sent == (ssize_t)payload.size;
}

/* ---- the pool ---- */

static ssize_t on_receive(uint8_t *out, size_t size, int flags, void *user)
{
    decoder *from = user;
    const size_t now = size < from->input.size ? size : from->input.size;
    if (now > 0) {
        memcpy(out, from->input.data, now);
        from->input = arcp_span_from(from->input, now);
        from->given += now;
    }
    return (ssize_t)now; /* 0: wslay waits for more */
}

static decoder *decoder_new(void)
{
    const struct wslay_frame_callbacks callbacks = {.recv_callback = on_receive};
    decoder *made = arcp__alloc(sizeof *made);
    if (made != NULL && wslay_frame_context_init(&made->context, &callbacks, made) != 0) {
        arcp__free(made);
        return NULL;
    }
    return made;
}

static void decoder_free(decoder *old)
{
    if (old != NULL) {
        wslay_frame_context_free(old->context);
        arcp__free(old);
    }
}

/* Whether it holds no part of a frame. */
static bool is_at_rest(const decoder *from)
{
    return from->given == from->used;
}

arcp__websocket_pool *arcp__websocket_pool_new(arcp__websocket_role role)
{
    const struct wslay_frame_callbacks callbacks = {.send_callback = on_send,
                                                    .genmask_callback = on_mask};
    arcp__websocket_pool *pool = arcp__alloc(sizeof *pool);
    if (pool == NULL || wslay_frame_context_init(&pool->encoder, &callbacks, pool) != 0) {
        arcp__free(pool);
        return NULL;
    }
    pool->references = 1;
    pool->role = role;
    return pool;
}

arcp__websocket_pool *arcp__websocket_pool_ref(arcp__websocket_pool *pool)
{
    pool->references++;
    return pool;
}

void arcp__websocket_pool_unref(arcp__websocket_pool *pool)
{
    if (pool == NULL || --pool->references > 0) {
        return;
    }
    decoder_free(pool->unused);
    wslay_frame_context_free(pool->encoder);
    arcp__random_pool_fini(&pool->masks);
    arcp__free(pool);
}

/* ---- reading ---- */

void arcp__websocket_reader_init(arcp__websocket_reader *reader, arcp__websocket_pool *pool,
                                 size_t message_bytes_max, size_t first_bytes_max)
{
    const bool is_first_lower = first_bytes_max != 0 && first_bytes_max < message_bytes_max;
    *reader = (arcp__websocket_reader){
        .pool = pool,
        .peer_masks = pool->role == ARCP__WEBSOCKET_SERVER,
        .message_bytes_max = is_first_lower ? first_bytes_max : message_bytes_max,
        .later_bytes_max = is_first_lower ? message_bytes_max : 0,
    };
}

/* Returns the decoder to the pool; one that holds part of a frame is freed. */
static void give_decoder(arcp__websocket_reader *reader)
{
    decoder *given = reader->decoder;
    reader->decoder = NULL;
    if (given == NULL || reader->pool->unused != NULL || !is_at_rest(given)) {
        decoder_free(given);
        return;
    }
    given->given = given->used = 0;
    reader->pool->unused = given;
}

void arcp__websocket_reader_fini(arcp__websocket_reader *reader)
{
    give_decoder(reader);
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

/* What is wrong with the header of a frame, or NULL. */
static const char *header_fault(const arcp__websocket_reader *reader,
                                const struct wslay_frame_iocb *frame)
{
    if (frame->rsv != 0) {
        return "a reserved bit is set";
    }
    if ((frame->mask != 0) != reader->peer_masks) {
        return reader->peer_masks ? "a client's frame is not masked" : "a server's frame is masked";
    }
    switch ((arcp__websocket_opcode)frame->opcode) {
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
    unsigned code = ARCP__WEBSOCKET_NO_CODE;
    const arcp_span reason = arcp_span_from(payload, 2);
    if (payload.size == 1) {
        return wrong(reader, ARCP_CLOSE_PROTOCOL_ERROR, "a close code of one byte");
    }
    if (payload.size >= 2) {
        code = (unsigned)(unsigned char)payload.data[0] << 8 | (unsigned char)payload.data[1];
        if (!arcp__websocket_close_code_is_valid(code)) {
            return wrong(reader, ARCP_CLOSE_PROTOCOL_ERROR, "an invalid close code");
        }
    }
    if (!arcp__utf8_is_valid(reason)) {
        return wrong(reader, ARCP_CLOSE_BAD_DATA, "a close reason that is not UTF-8");
    }
    reader->broken = true;
    return (arcp__websocket_event){
        .type = ARCP__WEBSOCKET_CLOSED, .code = (uint16_t)code, .data = reason};
}

static arcp__websocket_event control_event(arcp__websocket_reader *reader,
                                           const struct wslay_frame_iocb *frame, bool is_last)
{
    /* wslay has checked the size of control frames. */
    if (frame->data_length > 0) {
        memcpy(reader->control + reader->control_size, frame->data, frame->data_length);
        reader->control_size = (uint8_t)(reader->control_size + frame->data_length);
    }
    if (!is_last) {
        return nothing();
    }
    const arcp_span payload = arcp_span_make(reader->control, reader->control_size);
    reader->control_size = 0;
    if (frame->opcode == ARCP__WEBSOCKET_CLOSE) {
        return close_event(reader, payload);
    }
    return (arcp__websocket_event){
        .type =
            frame->opcode == ARCP__WEBSOCKET_PING ? ARCP__WEBSOCKET_PINGED : ARCP__WEBSOCKET_PONGED,
        .data = payload,
    };
}

static arcp__websocket_event data_event(arcp__websocket_reader *reader,
                                        const struct wslay_frame_iocb *frame, bool is_first,
                                        bool is_last)
{
    const bool is_whole = is_first && is_last && frame->fin != 0 && !reader->in_message;
    arcp_span text = arcp_span_make((const char *)frame->data, frame->data_length);
    if (is_first) {
        if (frame->opcode == (reader->is_binary ? ARCP__WEBSOCKET_TEXT : ARCP__WEBSOCKET_BINARY)) {
            return wrong(reader, ARCP_CLOSE_UNSUPPORTED,
                         reader->is_binary ? "a text message" : "a binary message");
        }
        if (frame->payload_length > reader->message_bytes_max - reader->message.size) {
            return wrong(reader, ARCP_CLOSE_TOO_BIG, "the message is too big");
        }
        reader->in_message = true;
    }
    if (!is_whole) {
        arcp_buf_append(&reader->message, text);
        if (reader->message.failed) {
            return wrong(reader, ARCP_CLOSE_INTERNAL, "out of memory");
        }
        if (!is_last || frame->fin == 0) {
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
    if (reader->decoder == NULL && input->size > 0) {
        decoder *unused = reader->pool->unused;
        reader->pool->unused = NULL;
        reader->decoder = unused != NULL ? unused : decoder_new();
        if (reader->decoder == NULL) {
            return wrong(reader, ARCP_CLOSE_INTERNAL, "out of memory");
        }
    }
    decoder *from = reader->decoder;
    while (from != NULL) {
        struct wslay_frame_iocb frame = {0};
        from->input = *input;
        const ssize_t size = wslay_frame_recv(from->context, &frame);
        *input = from->input;
        if (size == WSLAY_ERR_WANT_READ) {
            assert(input->size == 0);
            break;
        }
        if (size < 0) { /* such as a long or fragmented control frame, or a length not minimal */
            return wrong(reader, ARCP_CLOSE_PROTOCOL_ERROR, "a malformed frame header");
        }
        const bool is_first = from->payload == 0; /* the first piece; an empty frame has one, too */
        from->payload += frame.data_length;
        const bool is_last = from->payload == frame.payload_length;
        if (is_last) {
            const unsigned length_bytes = frame.payload_length < 126     ? 0
                                          : frame.payload_length < 65536 ? 2
                                                                         : 8;
            from->used += 2 + length_bytes + (frame.mask != 0 ? 4 : 0) + frame.payload_length;
            from->payload = 0;
        }
        const char *fault = is_first ? header_fault(reader, &frame) : NULL;
        if (fault != NULL) {
            return wrong(reader, ARCP_CLOSE_PROTOCOL_ERROR, fault);
        }
        const arcp__websocket_event event = frame.opcode >= ARCP__WEBSOCKET_CLOSE
                                                ? control_event(reader, &frame, is_last)
                                                : data_event(reader, &frame, is_first, is_last);
        if (event.type != ARCP__WEBSOCKET_NOTHING) {
            return event;
        }
    }
    /* An idle connection keeps neither decoder nor message buffer. */
    if (from != NULL && is_at_rest(from)) {
        give_decoder(reader);
    }
    if (reader->message.size == 0) {
        arcp_buf_fini(&reader->message);
    }
    return nothing();
}
