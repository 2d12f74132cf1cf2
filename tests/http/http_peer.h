/* An HTTP server on loopback that follows a script, on a loop of the caller's: what it sends need
 * not be HTTP, and it can end a connection at any point. */
#ifndef ARCP_TESTS_HTTP_PEER_H
#define ARCP_TESTS_HTTP_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include <arcp/buf.h>
#include <uv.h>

typedef enum peer_then { PEER_KEEPS, PEER_CLOSES, PEER_STALLS } peer_then;

typedef struct peer_answer {
    const char *bytes; /* NULL: nothing is sent */
    size_t size;       /* 0: `bytes` is a string */
    bool by_byte;      /* each byte is sent in a turn of the loop of its own */
    bool at_head;      /* as soon as the head is there; the body is not read */
    peer_then then;
} peer_answer;

typedef struct http_peer {
    uv_tcp_t listener;
    const peer_answer *answers; /* for one request after the other; the last for all further */
    size_t answer_count;
    unsigned port;
    unsigned requests;    /* that began */
    unsigned connections; /* that were accepted */
    unsigned open;        /* of those */
    arcp_buf received;    /* all bytes, of all connections */
    struct peer_connection *list;
} http_peer;

void http_peer_start(http_peer *peer, uv_loop_t *loop, const peer_answer *answers, size_t count);
/* Ends the connections on which no request is being answered. */
void http_peer_close_idle(http_peer *peer);
/* Closes everything; the caller runs the loop, and calls http_peer_forget. */
void http_peer_close(http_peer *peer);
void http_peer_forget(http_peer *peer);

#endif
