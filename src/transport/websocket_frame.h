/* WebSocket frames (RFC 6455 §5), encoded and decoded with wslay's frame functions.
 *
 * A wslay context holds 4 KiB; a connection needs one only while a frame is under way.
 * So contexts live in a pool, and a connection that is idle has none. No I/O here. */
#ifndef ARCP_TRANSPORT_WEBSOCKET_FRAME_H
#define ARCP_TRANSPORT_WEBSOCKET_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/span.h>
#include <arcp/visibility.h>

typedef enum arcp__websocket_opcode {
    ARCP__WEBSOCKET_CONTINUATION = 0x0,
    ARCP__WEBSOCKET_TEXT = 0x1,
    ARCP__WEBSOCKET_BINARY = 0x2,
    ARCP__WEBSOCKET_CLOSE = 0x8,
    ARCP__WEBSOCKET_PING = 0x9,
    ARCP__WEBSOCKET_PONG = 0xa
} arcp__websocket_opcode;

#define ARCP__WEBSOCKET_CONTROL_MAX 125 /* payload bytes of a control frame */

typedef struct arcp__websocket_pool arcp__websocket_pool;
typedef struct arcp__websocket_decoder arcp__websocket_decoder;

/* Which end of a connection we are: clients mask what they send, servers do not (§5.1). */
typedef enum arcp__websocket_role {
    ARCP__WEBSOCKET_SERVER,
    ARCP__WEBSOCKET_CLIENT
} arcp__websocket_role;

/* For connections of one role. One reference for the caller; NULL when out of memory. One
 * thread at a time. */
ARCP_MUST_CHECK arcp__websocket_pool *arcp__websocket_pool_new(arcp__websocket_role role);
arcp__websocket_role arcp__websocket_pool_role(const arcp__websocket_pool *pool);
arcp__websocket_pool *arcp__websocket_pool_ref(arcp__websocket_pool *pool);
void arcp__websocket_pool_unref(arcp__websocket_pool *pool);

/* Appends one final frame without extensions, masked with a key from the system's CSPRNG
 * in a client's pool (§5.3); out of memory shows in `out`. False without random bytes. */
ARCP_MUST_CHECK bool arcp__websocket_frame_append(arcp__websocket_pool *pool,
                                                  arcp__websocket_opcode opcode, arcp_span payload,
                                                  arcp_buf *out);

/* A context for one frame stream; NULL when out of memory. */
ARCP_MUST_CHECK arcp__websocket_decoder *arcp__websocket_decoder_take(arcp__websocket_pool *pool);
/* Gives it back; one that is in the middle of a frame is freed. NULL is accepted. */
void arcp__websocket_decoder_give(arcp__websocket_pool *pool, arcp__websocket_decoder *decoder);

/* Some bytes of a frame. Each frame gives at least one, an empty one if it is empty. */
typedef struct arcp__websocket_piece {
    uint8_t opcode;
    uint8_t reserved; /* the three RSV bits */
    bool final;
    bool masked;
    bool first; /* of its frame */
    bool last;  /* of its frame */
    uint64_t frame_bytes;
    arcp_span data; /* unmasked; until the next call with this decoder */
} arcp__websocket_piece;

typedef enum arcp__websocket_decoded {
    ARCP__WEBSOCKET_PIECE,
    ARCP__WEBSOCKET_MORE, /* all input is used up */
    /* A control frame that is long or fragmented, or a length that is not written in the
     * shortest form; the decoder is of no use afterwards. */
    ARCP__WEBSOCKET_MALFORMED
} arcp__websocket_decoded;

/* Takes bytes off *input; the decoder keeps some of what comes behind the piece. */
arcp__websocket_decoded arcp__websocket_decode(arcp__websocket_decoder *decoder, arcp_span *input,
                                               arcp__websocket_piece *out);

/* Holds no byte that it has not given out, and no part of a frame. */
bool arcp__websocket_decoder_is_at_rest(const arcp__websocket_decoder *decoder);

#endif
