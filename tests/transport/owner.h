/* An owner of a connection that records its callbacks, and checks what every transport guarantees:
 * no callback inside a call, none after `closed`, and the byte counts of `drained`. */
#ifndef ARCP_TESTS_OWNER_H
#define ARCP_TESTS_OWNER_H

#include "support/check.h"

#include <arcp/buf.h>
#include <arcp/sys/transport.h>

typedef struct owner owner;
struct owner {
    arcp_connection *connection; /* NULL once released */
    arcp_buf log;                /* each frame and a '|', as long as keep is true */
    bool keep;
    size_t messages;
    size_t message_bytes;
    size_t last_size;
    uint32_t sum;    /* over all frames, in order */
    size_t accepted; /* bytes accepted by send */
    size_t written;
    size_t drains;
    bool closed;
    arcp_close_code code;
    bool closed_by_peer;
    char reason[256];
    bool wants_input_over; /* set before owner_take */
    size_t input_overs;
    bool in_call;
    /* Called in the callbacks; may be NULL. */
    void (*on_message)(owner *o, arcp_span frame);
    void (*on_drained)(owner *o);
    void (*on_closed)(owner *o);
    owner *other;
    void *user;
};

/* Takes the connection over and sets its callbacks. */
void owner_take(owner *o, arcp_connection *connection);
/* Releases the connection if it still has it, and frees the log. */
void owner_fini(owner *o);

arcp_status owner_send(owner *o, arcp_span frame);
/* send_text("hello") must succeed. */
void owner_send_text(owner *o, const char *text);
void owner_flush(owner *o);
void owner_pause(owner *o);
void owner_resume(owner *o);
void owner_close(owner *o, arcp_close_code code, const char *reason);
void owner_abort(owner *o);
void owner_release(owner *o);
size_t owner_unsent(const owner *o);

/* The sum that an owner gets from these frames, from the sum before them. */
uint32_t frame_sum(uint32_t sum, arcp_span frame);

#endif
