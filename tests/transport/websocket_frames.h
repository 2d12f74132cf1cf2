/* Valid and invalid WebSocket frames as bytes, for tests of readers. Encoded independently of the
 * library's encoder, so that its encoder and decoder are not only tested against each other. */
#ifndef ARCP_TESTS_WEBSOCKET_FRAMES_H
#define ARCP_TESTS_WEBSOCKET_FRAMES_H

#include "support/check.h"

#include <arcp/buf.h>

enum { /* the first byte of a frame */
       FIN = 0x80,
       RSV1 = 0x40,
       RSV2 = 0x20,
       RSV3 = 0x10,
       CONTINUATION = 0x0,
       TEXT = 0x1,
       BINARY = 0x2,
       CLOSE = 0x8,
       PING = 0x9,
       PONG = 0xa
};

/* Appends a frame with the shortest length form; `masked`: as from a client. */
void put_frame(arcp_buf *out, unsigned first, bool masked, arcp_span payload);
void put_text(arcp_buf *out, unsigned first, bool masked, const char *payload);
/* A close frame with code and reason. */
void put_close(arcp_buf *out, bool masked, unsigned code, const char *reason);
/* Header only: a frame that announces `size` bytes. */
void put_header(arcp_buf *out, unsigned first, bool masked, uint64_t size);

#endif
