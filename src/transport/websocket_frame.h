/* WebSocket frames (RFC 6455 §5), with wslay's frame functions: encodes frames, and decodes a
 * peer's bytes into messages with every check: masking, reserved bits, opcodes, fragmentation,
 * control frames, close codes, sizes. No I/O: bytes in, events out, one at a time, so that a reader
 * can stop between any two of them.
 *
 * A wslay context takes 4 KiB, and a connection needs one only within a frame. Therefore contexts
 * are pooled, and an idle connection has none. */
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

#define ARCP__WEBSOCKET_CONTROL_MAX 125  /* payload bytes of a control frame */
#define ARCP__WEBSOCKET_NO_CODE     1005 /* RFC 6455 §7.4.1 */

/* Whether `code` may be in a close frame (RFC 6455 §7.4, and the registry up to 1014). */
bool arcp__websocket_close_code_is_valid(unsigned code);

/* ---- the pool ---- */

typedef struct arcp__websocket_pool arcp__websocket_pool;

/* Our role: clients mask their frames, servers do not (§5.1). */
typedef enum arcp__websocket_role {
    ARCP__WEBSOCKET_SERVER,
    ARCP__WEBSOCKET_CLIENT
} arcp__websocket_role;

/* A pool for connections of one role, with one reference for the caller; NULL when out of memory.
 * Not thread-safe. */
ARCP_MUST_CHECK arcp__websocket_pool *arcp__websocket_pool_new(arcp__websocket_role role);
arcp__websocket_pool *arcp__websocket_pool_ref(arcp__websocket_pool *pool);
void arcp__websocket_pool_unref(arcp__websocket_pool *pool);

/* ---- sending ---- */

/* Appends one final frame without extensions, masked with a key from the system's CSPRNG
 * in a client's pool (§5.3). False when out of memory; then `out` is unchanged. */
ARCP_MUST_CHECK bool arcp__websocket_frame_append(arcp__websocket_pool *pool,
                                                  arcp__websocket_opcode opcode, arcp_span payload,
                                                  arcp_buf *out);

/* ---- reading ---- */

typedef struct arcp__websocket_reader {
    arcp__websocket_pool *pool;              /* borrowed */
    struct arcp__websocket_decoder *decoder; /* NULL between frames */
    size_t message_bytes_max;
    size_t later_bytes_max; /* limit after the first message if that has another one; else 0 */
    arcp_buf message;       /* the current message, unless it arrived in one piece */
    bool is_binary;         /* messages are binary, not text; set after init */
    bool peer_masks;        /* the peer is a client, and we are a server */
    bool in_message;        /* between a message's first frame and its last */
    bool message_is_given;  /* `message` was returned; the next call may clear it */
    bool broken;            /* an error was reported; further input is ignored */
    uint8_t control_size;
    char control[ARCP__WEBSOCKET_CONTROL_MAX];
} arcp__websocket_reader;

typedef enum arcp__websocket_event_type {
    ARCP__WEBSOCKET_NOTHING, /* all input is consumed */
    ARCP__WEBSOCKET_MESSAGE, /* data: the text, or the bytes */
    ARCP__WEBSOCKET_PINGED,  /* data: what the pong must repeat */
    ARCP__WEBSOCKET_PONGED,
    ARCP__WEBSOCKET_CLOSED, /* code (1005: the Close had none), data: the reason */
    ARCP__WEBSOCKET_WRONG   /* code: the close code to send; why: the error, static */
} arcp__websocket_event_type;

typedef struct arcp__websocket_event {
    arcp__websocket_event_type type;
    uint16_t code;
    arcp_span data; /* until the next call */
    const char *why;
} arcp__websocket_event;

/* The pool has our role: a server's reader reads a client's frames. `first_bytes_max` is a lower
 * limit for the first message only; 0: none. */
void arcp__websocket_reader_init(arcp__websocket_reader *reader, arcp__websocket_pool *pool,
                                 size_t message_bytes_max, size_t first_bytes_max);
void arcp__websocket_reader_fini(arcp__websocket_reader *reader);

/* The next event; consumes bytes of *input. After CLOSED and WRONG it returns only NOTHING. */
arcp__websocket_event arcp__websocket_reader_next(arcp__websocket_reader *reader, arcp_span *input);

#endif
