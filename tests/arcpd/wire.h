/* A client of frames only: a WebSocket over loopback, which blocks only where a comment says so.
 * The caller keeps the received frames; the wire keeps bytes that are not a whole frame yet. */
#ifndef ARCP_TESTS_ARCPD_WIRE_H
#define ARCP_TESTS_ARCPD_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "json/json.h"

#define WIRE_PATIENCE_MS 60000

typedef struct wire {
    int fd; /* -1: not connected */
    bool ended;
    int close_code; /* of the received close frame; 0: none */
    char *bytes;    /* owned */
    size_t start, end, capacity;
} wire;

/* Connects, and upgrades to WebSocket. False when the port is not open. */
bool wire_try(wire *w, unsigned short port);
void wire_open(wire *w, unsigned short port);
void wire_close(wire *w); /* frees; may be opened again */

/* Sends one whole text message. A closed connection is not an error here: its end is read later. */
void wire_send(wire *w, const char *format, ...) ARCP_PRINTF(2, 3);

void wire_send_bytes(const wire *w, const void *data, size_t size);

/* Reads once, and waits at most this long. False when nothing arrived. */
bool wire_fill(wire *w, int wait_ms);
/* The next whole text message that has arrived, valid until the next call; false: none. */
bool wire_next(wire *w, arcp_span *frame);
/* The same for a peer that sends lines. */
bool wire_next_line(wire *w, arcp_span *line);
/* Waits for the next one; fails when the connection ends, or after WIRE_PATIENCE_MS. */
arcp_span wire_await(wire *w);
/* Waits for the next one of this type; others may come first. */
arcp_span wire_await_type(wire *w, const char *type);
/* Waits until the other side has closed; returns the code, 1006 without one. */
int wire_await_close(wire *w);

/* session.hello with all features, or a resume; the response must be a welcome. */
typedef struct wire_session {
    char id[40];
    char token[64];
} wire_session;
void wire_send_hello(wire *w, const char *token);
void wire_send_resume(wire *w, const char *token, const wire_session *session,
                      uint64_t last_event_seq);
void wire_take_welcome(arcp_span frame, wire_session *out);
/* Sends the request and takes the response. */
void wire_hello(wire *w, const char *token, wire_session *out);
void wire_resume(wire *w, const char *token, wire_session *session, uint64_t last_event_seq);

/* ---- looking into frames ---- */

/* event_seq of the envelope; 0: it has none. */
uint64_t wire_seq(arcp_span frame);
/* The text of the first string member of this name, with its escapes; empty: none. */
arcp_span wire_text(arcp_span frame, const char *name);
/* The decimal number that the text begins with. */
bool wire_number(arcp_span text, uint64_t *out);
bool wire_is(arcp_span frame, const char *type);
/* A 64-bit digest, good enough that no two frames of a test share it. */
uint64_t wire_digest(arcp_span frame);

#define WIRE_FEATURES                                                                              \
    "[\"heartbeat\",\"ack\",\"list_jobs\",\"subscribe\",\"lease_expires_at\",\"cost.budget\","     \
    "\"progress\",\"result_chunk\",\"agent_versions\",\"x-vendor.arcpd.accepted_again\",\"x-"      \
    "vendor.arcpd.view\"]"

#endif
