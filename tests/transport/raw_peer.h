/* A TCP peer controlled byte by byte, for everything that a real client or server would not do. Its
 * socket is non-blocking; waiting runs the test's loop. */
#ifndef ARCP_TESTS_RAW_PEER_H
#define ARCP_TESTS_RAW_PEER_H

#include "transport/loop_support.h"

#include <arcp/buf.h>

typedef struct raw_peer {
    test_loop *test;
    int fd;
    arcp_buf received;
    bool ended; /* the other side has closed or reset the connection */
} raw_peer;

/* Connects to the port in ws://HOST:PORT/... of 127.0.0.1 or [::1]. */
void raw_peer_connect(raw_peer *peer, test_loop *test, const char *url);
/* Listens on a free port of 127.0.0.1, whose URL goes to `url`. */
int raw_listen(char url[64]);
/* Accepts a connection at such a socket. */
void raw_peer_accept(raw_peer *peer, test_loop *test, int listener);

void raw_peer_send(raw_peer *peer, arcp_span bytes);
void raw_peer_send_text(raw_peer *peer, const char *text);
/* Runs the loop until `size` bytes were received, or the end. */
void raw_peer_receive(raw_peer *peer, size_t size);
/* Runs the loop until the text was received; fails the test if the connection ends before. */
void raw_peer_expect(raw_peer *peer, const char *text);
/* Runs the loop until the other side has closed. */
void raw_peer_expect_end(raw_peer *peer);
/* Receives without waiting. */
void raw_peer_poll(raw_peer *peer);
/* Discards what was received. */
void raw_peer_forget(raw_peer *peer);
/* Shuts down sending; receiving remains possible. */
void raw_peer_half_close(raw_peer *peer);
/* Closes with a reset. */
void raw_peer_reset(raw_peer *peer);
void raw_peer_fini(raw_peer *peer);

/* A valid upgrade request for /arcp at localhost. */
extern const char raw_upgrade[];
/* Sends it and receives the 101. */
void raw_peer_upgrade(raw_peer *peer);

#endif
