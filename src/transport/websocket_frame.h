/* WebSocket frames (RFC 6455 §5), with wslay's frame functions: what is sent, and from the bytes
 * that a peer sends to messages, with every check on the way: masking, reserved bits, opcodes,
 * fragmentation, control frames, close codes, sizes. No I/O: bytes in, events out, one at a
 * time, so that a reader can stop between any two of them.
 *
 * A wslay context holds 4 KiB; a connection needs one only while a frame is under way.
 * So contexts live in a pool, and a connection that is idle has none. */
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

/* Which end of a connection we are: clients mask what they send, servers do not (§5.1). */
typedef enum arcp__websocket_role {
    ARCP__WEBSOCKET_SERVER,
    ARCP__WEBSOCKET_CLIENT
} arcp__websocket_role;

/* For connections of one role. One reference for the caller; NULL when out of memory. One
 * thread at a time. */
ARCP_MUST_CHECK arcp__websocket_pool *arcp__websocket_pool_new(arcp__websocket_role role);
arcp__websocket_pool *arcp__websocket_pool_ref(arcp__websocket_pool *pool);
void arcp__websocket_pool_unref(arcp__websocket_pool *pool);

/* ---- sending ---- */

/* Appends one final frame without extensions, masked with a key from the system's CSPRNG
 * in a client's pool (§5.3). False, and `out` as before, when out of memory. */
ARCP_MUST_CHECK bool arcp__websocket_frame_append(arcp__websocket_pool *pool,
                                                  arcp__websocket_opcode opcode, arcp_span payload,
                                                  arcp_buf *out);

/* ---- reading ---- */

typedef struct arcp__websocket_reader {
    arcp__websocket_pool *pool;              /* borrowed */
    struct arcp__websocket_decoder *decoder; /* NULL between frames */
    size_t message_bytes_max;
    size_t later_bytes_max; /* after the first message, when that has another limit; else 0 */
    arcp_buf message;       /* of the message under way, unless it came in one piece */
    bool peer_masks;        /* the peer is a client, and we are a server */
    bool in_message;        /* between a message's first frame and its last */
    bool message_is_given;  /* `message` was handed out and is not needed any more */
    bool broken;            /* an error was reported; nothing more is read */
    uint8_t control_size;
    char control[ARCP__WEBSOCKET_CONTROL_MAX];
} arcp__websocket_reader;

typedef enum arcp__websocket_event_type {
    ARCP__WEBSOCKET_NOTHING, /* all input is used up */
    ARCP__WEBSOCKET_MESSAGE, /* data: the text */
    ARCP__WEBSOCKET_PINGED,  /* data: what the pong must repeat */
    ARCP__WEBSOCKET_PONGED,
    ARCP__WEBSOCKET_CLOSED, /* code (1005: the peer gave none), data: the reason */
    ARCP__WEBSOCKET_WRONG   /* code: to close with; why: the fact, static */
} arcp__websocket_event_type;

typedef struct arcp__websocket_event {
    arcp__websocket_event_type type;
    uint16_t code;
    arcp_span data; /* until the next call */
    const char *why;
} arcp__websocket_event;

/* The pool's role is ours: a server's reader reads what a client sends. `first_bytes_max` is a
 * lower limit for the first message only; 0: it has none. */
void arcp__websocket_reader_init(arcp__websocket_reader *reader, arcp__websocket_pool *pool,
                                 size_t message_bytes_max, size_t first_bytes_max);
void arcp__websocket_reader_fini(arcp__websocket_reader *reader);

/* The next event; takes bytes off *input. After CLOSED and WRONG there is only NOTHING. */
arcp__websocket_event arcp__websocket_reader_next(arcp__websocket_reader *reader, arcp_span *input);

#endif
