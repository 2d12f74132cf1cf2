/* From the bytes that a WebSocket peer sends to messages, and every check of RFC 6455 on
 * the way: masking, reserved bits, opcodes, fragmentation, control frames, close codes,
 * sizes. No I/O: bytes in, events out, one at a time, so that a reader can stop between
 * any two of them. */
#ifndef ARCP_TRANSPORT_WEBSOCKET_READER_H
#define ARCP_TRANSPORT_WEBSOCKET_READER_H

#include <arcp/buf.h>
#include <arcp/span.h>

#include "transport/websocket_frame.h"

typedef struct arcp__websocket_reader {
    arcp__websocket_pool *pool;       /* borrowed */
    arcp__websocket_decoder *decoder; /* NULL between frames */
    size_t message_bytes_max;
    size_t later_bytes_max; /* after the first message, when that has another limit; else 0 */
    arcp_buf message;       /* of the message under way, unless it came in one piece */
    bool peer_masks;        /* the peer is a client */
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

#define ARCP__WEBSOCKET_NO_CODE 1005 /* RFC 6455 §7.4.1 */

typedef struct arcp__websocket_event {
    arcp__websocket_event_type type;
    uint16_t code;
    arcp_span data; /* until the next call */
    const char *why;
} arcp__websocket_event;

/* The pool's role is ours: a server's reader reads what a client sends. */
void arcp__websocket_reader_init(arcp__websocket_reader *reader, arcp__websocket_pool *pool,
                                 size_t message_bytes_max);
void arcp__websocket_reader_fini(arcp__websocket_reader *reader);
/* A lower limit for the first message only. */
void arcp__websocket_reader_limit_first(arcp__websocket_reader *reader, size_t bytes_max);

/* The next event; takes bytes off *input. After CLOSED and WRONG there is only NOTHING. */
arcp__websocket_event arcp__websocket_reader_next(arcp__websocket_reader *reader, arcp_span *input);

/* Whether `code` may be in a close frame (RFC 6455 §7.4, and the registry up to 1014). */
bool arcp__websocket_close_code_is_valid(unsigned code);

#endif
