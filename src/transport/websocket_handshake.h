/* The upgrade from HTTP/1.1 to WebSocket (RFC 6455 §4), for both sides. No I/O. */
#ifndef ARCP_TRANSPORT_WEBSOCKET_HANDSHAKE_H
#define ARCP_TRANSPORT_WEBSOCKET_HANDSHAKE_H

#include <arcp/buf.h>
#include <arcp/error.h>

#include "transport/url.h"
#include "web/head.h"

#define ARCP__WEBSOCKET_KEY_SIZE    24 /* base 64 of 16 bytes */
#define ARCP__WEBSOCKET_ACCEPT_SIZE 28 /* base 64 of a SHA-1 */

/* The Sec-WebSocket-Accept for a key. */
void arcp__websocket_accept(const char key[ARCP__WEBSOCKET_KEY_SIZE],
                            char out[ARCP__WEBSOCKET_ACCEPT_SIZE]);

/* ---- server ---- */

/* Checks a complete request head whose path and Host were accepted. If the returned status is 0,
 * `accept` is set; otherwise the response refuses the request. */
arcp__web_response arcp__upgrade_check(const arcp__web_head *head,
                                       char accept[ARCP__WEBSOCKET_ACCEPT_SIZE]);

/* Appends the 101, with the subprotocol unless it is NULL. No extension is ever chosen. */
void arcp__upgrade_accept(const char accept[ARCP__WEBSOCKET_ACCEPT_SIZE], const char *subprotocol,
                          arcp_buf *out);

/* ---- client ---- */

/* A fresh random key. */
void arcp__websocket_key_new(char out[ARCP__WEBSOCKET_KEY_SIZE]);

/* Appends the request. `headers` must be valid (arcp__upgrade_header_is_valid); `subprotocol` may
 * be NULL. */
void arcp__upgrade_request(const arcp__url *url, const char key[ARCP__WEBSOCKET_KEY_SIZE],
                           const char *const *headers, size_t header_count, const char *subprotocol,
                           arcp_buf *out);

/* Whether "Name: value" may be added to a request: a token, no line break or other control
 * byte, none of the headers that the handshake itself needs. */
bool arcp__upgrade_header_is_valid(const char *header);

/* Whether a subprotocol has a name that may be sent: a token. */
bool arcp__upgrade_subprotocol_is_valid(const char *subprotocol);

/* Checks a complete response head, which must choose the subprotocol unless that is NULL. ARCP_E_IO
 * has the server's response. */
ARCP_MUST_CHECK arcp_status arcp__upgrade_check_response(const arcp__web_head *head,
                                                         const char key[ARCP__WEBSOCKET_KEY_SIZE],
                                                         const char *subprotocol, arcp_error *err);

#endif
