/* A client that knows nothing but frames: a WebSocket over loopback, blocking only where it
 * says so. What a peer sees is kept by its user; the wire keeps bytes it has not cut yet. */
#ifndef ARCP_TESTS_ARCPD_WIRE_H
#define ARCP_TESTS_ARCPD_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "json/json.h"

#define WIRE_PATIENCE_MS 60000

typedef struct wire {
    int fd; /* -1: not connected */
    bool ended;
    int close_code; /* of a close frame; 0: none came */
    char *bytes;    /* owned */
    size_t start, end, capacity;
} wire;

/* Connects and shakes hands. False when the port is not open (any more). */
bool wire_try(wire *w, unsigned short port);
void wire_open(wire *w, unsigned short port);
void wire_close(wire *w); /* frees; may be opened again */

/* One text message, whole. A peer that is gone is no failure: its end will be read. */
void wire_send(wire *w, const char *format, ...) ARCP_PRINTF(2, 3);

void wire_send_bytes(const wire *w, const void *data, size_t size);

/* Reads once, waiting at most so long. False when nothing came. */
bool wire_fill(wire *w, int wait_ms);
/* The next whole text message that is there, valid until the next call; false: none. */
bool wire_next(wire *w, arcp_span *frame);
/* The same for a peer that speaks in lines. */
bool wire_next_line(wire *w, arcp_span *line);
/* The next one, waited for; fails at the end of the connection and of patience. */
arcp_span wire_await(wire *w);
/* The same, but others may come first; the type is matched. */
arcp_span wire_await_type(wire *w, const char *type);
/* Waits until the other side has closed; returns the code, 1006 without one. */
int wire_await_close(wire *w);

/* Says hello with all features, or resumes; the answer must be a welcome. */
typedef struct wire_session {
    char id[40];
    char token[64];
} wire_session;
void wire_send_hello(wire *w, const char *token);
void wire_send_resume(wire *w, const char *token, const wire_session *session,
                      uint64_t last_event_seq);
void wire_take_welcome(arcp_span frame, wire_session *out);
/* Both halves. */
void wire_hello(wire *w, const char *token, wire_session *out);
void wire_resume(wire *w, const char *token, wire_session *session, uint64_t last_event_seq);

/* ---- looking into frames ---- */

/* event_seq of the envelope; 0: it has none. */
uint64_t wire_seq(arcp_span frame);
/* The text of the first string member of this name, as it stands; empty: none. */
arcp_span wire_text(arcp_span frame, const char *name);
/* The decimal number that the text begins with. */
bool wire_number(arcp_span text, uint64_t *out);
bool wire_is(arcp_span frame, const char *type);
/* A 64-bit digest, good enough that no two frames of a test share it. */
uint64_t wire_digest(arcp_span frame);

#define WIRE_FEATURES                                                                              \
    "[\"heartbeat\",\"ack\",\"list_jobs\",\"subscribe\",\"lease_expires_at\",\"cost.budget\","     \
    "\"progress\",\"result_chunk\",\"agent_versions\",\"x-vendor.arcpd.accepted_again\"]"

#endif
