#include "transport/websocket_frame.h"

#include <assert.h>

#include <wslay/wslay.h>

#include "base/alloc.h"
#include "base/random.h"

struct arcp__websocket_decoder {
    wslay_frame_context_ptr context;
    arcp_span input; /* during a call */
    uint64_t given;  /* bytes that wslay has got */
    uint64_t used;   /* bytes of frames that are complete */
    uint64_t seen;   /* payload bytes of the frame under way */
};

struct arcp__websocket_pool {
    size_t references;
    arcp__websocket_role role;
    /* At rest between calls. One that has masked a frame masks all that follow: that is
     * why a pool has a role. */
    wslay_frame_context_ptr encoder;
    arcp_buf *out; /* during a call */
    /* One is enough: a connection has one only while it reads, or in the middle of a frame. */
    arcp__websocket_decoder *spare;
    arcp__random_pool masks;
};

/* ---- encoding ---- */

static ssize_t on_send(const uint8_t *data, size_t size, int flags, void *user)
{
    arcp__websocket_pool *pool = user;
    arcp_buf_append(pool->out, arcp_span_make((const char *)data, size));
    return (ssize_t)size; /* a failed append shows in the buffer */
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
    arcp_buf_reserve(out, payload.size + 14); /* the longest header */
    pool->out = out;
    ssize_t sent = wslay_frame_send(pool->encoder, &frame);
    pool->out = NULL;
    return sent == (ssize_t)payload.size;
}

/* ---- decoding ---- */

static ssize_t on_receive(uint8_t *out, size_t size, int flags, void *user)
{
    arcp__websocket_decoder *decoder = user;
    size_t now = size < decoder->input.size ? size : decoder->input.size;
    if (now > 0) {
        memcpy(out, decoder->input.data, now);
        decoder->input = arcp_span_from(decoder->input, now);
        decoder->given += now;
    }
    return (ssize_t)now; /* 0: wslay waits for more */
}

static unsigned header_bytes(const struct wslay_frame_iocb *frame)
{
    unsigned length = frame->payload_length < 126 ? 0 : frame->payload_length < 65536 ? 2 : 8;
    return 2 + length + (frame->mask != 0 ? 4 : 0);
}

arcp__websocket_decoded arcp__websocket_decode(arcp__websocket_decoder *decoder, arcp_span *input,
                                               arcp__websocket_piece *out)
{
    struct wslay_frame_iocb frame = {0};
    decoder->input = *input;
    ssize_t size = wslay_frame_recv(decoder->context, &frame);
    *input = decoder->input;
    decoder->input = (arcp_span){NULL, 0};
    if (size == WSLAY_ERR_WANT_READ) {
        assert(input->size == 0);
        return ARCP__WEBSOCKET_MORE;
    }
    if (size < 0) {
        return ARCP__WEBSOCKET_MALFORMED;
    }
    out->opcode = frame.opcode;
    out->reserved = frame.rsv;
    out->final = frame.fin != 0;
    out->masked = frame.mask != 0;
    out->first = decoder->seen == 0;
    out->frame_bytes = frame.payload_length;
    out->data = arcp_span_make((const char *)frame.data, frame.data_length);
    decoder->seen += frame.data_length;
    out->last = decoder->seen == frame.payload_length;
    if (out->last) {
        decoder->used += header_bytes(&frame) + frame.payload_length;
        decoder->seen = 0;
    }
    return ARCP__WEBSOCKET_PIECE;
}

bool arcp__websocket_decoder_is_at_rest(const arcp__websocket_decoder *decoder)
{
    return decoder->given == decoder->used;
}

/* ---- the pool ---- */

static void decoder_free(arcp__websocket_decoder *decoder)
{
    wslay_frame_context_free(decoder->context);
    arcp__free(decoder);
}

arcp__websocket_decoder *arcp__websocket_decoder_take(arcp__websocket_pool *pool)
{
    arcp__websocket_decoder *decoder = pool->spare;
    if (decoder != NULL) {
        pool->spare = NULL;
        return decoder;
    }
    decoder = arcp__alloc(sizeof(*decoder));
    if (decoder == NULL) {
        return NULL;
    }
    const struct wslay_frame_callbacks callbacks = {.recv_callback = on_receive};
    if (wslay_frame_context_init(&decoder->context, &callbacks, decoder) != 0) {
        arcp__free(decoder);
        return NULL;
    }
    return decoder;
}

void arcp__websocket_decoder_give(arcp__websocket_pool *pool, arcp__websocket_decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    if (pool->spare != NULL || !arcp__websocket_decoder_is_at_rest(decoder)) {
        decoder_free(decoder);
        return;
    }
    decoder->given = 0;
    decoder->used = 0;
    pool->spare = decoder;
}

arcp__websocket_pool *arcp__websocket_pool_new(arcp__websocket_role role)
{
    arcp__websocket_pool *pool = arcp__alloc(sizeof(*pool));
    if (pool == NULL) {
        return NULL;
    }
    const struct wslay_frame_callbacks callbacks = {
        .send_callback = on_send,
        .genmask_callback = on_mask,
    };
    if (wslay_frame_context_init(&pool->encoder, &callbacks, pool) != 0) {
        arcp__free(pool);
        return NULL;
    }
    pool->references = 1;
    pool->role = role;
    return pool;
}

arcp__websocket_role arcp__websocket_pool_role(const arcp__websocket_pool *pool)
{
    return pool->role;
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
    if (pool->spare != NULL) {
        decoder_free(pool->spare);
    }
    wslay_frame_context_free(pool->encoder);
    arcp__random_pool_fini(&pool->masks);
    arcp__free(pool);
}
