/* A web server on its own loop with a raw peer connected to it, and routes that record what they
 * get:
 *
 *   /echo         responds with the body of a POST, or with "none"
 *   /later        does not respond: the test does (f->pending)
 *   /watched      the same, and notices a client that goes away; a POST's body is ignored
 *   /stream       responds with PIECES pieces of PIECE_SIZE, without letting more than a few wait
 *   /one_by_one   responds with three pieces, each written when the previous one was sent
 *   /large        responds with 32 MiB written at once, and no end */
#ifndef ARCP_TESTS_WEB_SERVER_FIXTURE_H
#define ARCP_TESTS_WEB_SERVER_FIXTURE_H

#include "transport/raw_peer.h"
#include "transport/tls_files.h"
#include "web/server.h"

#define HOST            "Host: localhost\r\n"
#define REFUSAL_HEADERS "X-Refused: yes\r\n"
#define BODY_MAX        100 /* of the echo routes */
#define PIECE_SIZE      ((size_t)64 * 1024)
#define PIECES          200

typedef struct web_fixture {
    test_loop test;
    arcp__web_server *server;
    arcp_admission *admission;
    char url[80];
    raw_peer peer;
    arcp_buf body;               /* of the latest request */
    arcp__web_exchange *pending; /* a request of /later or /watched without a response so far */
    arcp__web_exchange *stream;  /* a request of /stream whose response is not complete */
    size_t pieces;               /* written, of that response */
    size_t unsent_max;           /* the most bytes of it that waited to be sent */
    size_t aborted;              /* exchanges that ended without a complete response */
    size_t refused;
    int refused_status;
} web_fixture;

/* Starts the server and connects the peer. `files`: NULL for plain TCP. */
void web_fixture_open(web_fixture *f, uint32_t timeout_ms, const tls_files *files);
/* The same, without TLS and with a limit on the number of connections. */
void web_fixture_open_limited(web_fixture *f, uint32_t connections_max);
/* With a limit on the bytes of connections that wait for their peers. */
void web_fixture_open_narrow(web_fixture *f, size_t pending_bytes_max);
void web_fixture_close(web_fixture *f);

/* Discards what the peer has received, then sends the text. */
void web_fixture_send(web_fixture *f, const char *text);
/* Runs the loop for this long. */
void web_fixture_pass_ms(web_fixture *f, uint64_t ms);
/* Responds with status 200. */
void web_fixture_respond(arcp__web_exchange *exchange, arcp_span body);

/* Two requests to which /echo responds "hello": with a length, and chunked. */
extern const char *const echo_requests[2];

#endif
