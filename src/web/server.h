/* An HTTP/1.1 server on streams: a listener, with or without TLS, and its connections. Each request
 * is passed to one of its routes, which responds to it or takes over the connection.
 *
 *   accept -> HEAD -> BODY -> ANSWER -> HEAD (the connection is kept for another request)
 *                                    -> LINGER -> closed
 *                          -> upgraded: the stream has another owner
 *
 *   HEAD    reads up to a limit of bytes; checks Host, Origin, path and method before a route is
 *           called.
 *   BODY    passes the body to the route in pieces, up to the route's limit. Skipped if there is
 *           none.
 *   ANSWER  parses nothing until the response has been sent; pipelined requests wait.
 *   LINGER  our half is closed, and input is discarded until the peer closes: closing a socket
 *           with unread input would reset it, and the response could be lost.
 *
 * Each state has a time limit, which a peer cannot extend by sending or reading slowly: for the
 * whole head; for the whole body; for the whole response or, if it is streamed, for each piece; and
 * for the linger. Admission (arcp_admission) counts a connection from accept to its end. While the
 * server waits for the peer, the connection is pending and may be evicted for another one: until a
 * request is complete that its route does not answer immediately, and again from the end of that
 * response. An upgraded connection is pending until its owner admits it. */
#ifndef ARCP_WEB_SERVER_H
#define ARCP_WEB_SERVER_H

#include "stream/stream.h"
#include "web/admission.h"
#include "web/head.h"
#include "web/names.h"

typedef struct arcp__web_server arcp__web_server;
/* A connection and its current request. */
typedef struct arcp__web_exchange arcp__web_exchange;

#define ARCP__WEB_PEER_NAME_MAX 64

/* `user` is the server's. All functions are called from the loop; each may respond immediately or
 * later, and may close the server. */
typedef struct arcp__web_route {
    const char *path;    /* the target without its query; NULL: any path */
    const char *methods; /* as in an Allow header: "GET, HEAD" */
    uint64_t body_bytes_max;
    /* The head is complete and valid. */
    void (*begin)(void *user, arcp__web_exchange *exchange);
    /* A piece of the request's body (valid during the call). NULL: requests with a body are
     * refused, as GET and HEAD with a body always are. */
    void (*body)(void *user, arcp__web_exchange *exchange, arcp_span piece, bool is_last);
    /* All that was written of a streamed response so far has been sent. NULL: never streamed. */
    void (*drained)(void *user, arcp__web_exchange *exchange);
    /* The connection ended before the response was complete, or the body could not be read: the
     * exchange must not be used any more. NULL if `begin` always responds. */
    void (*dropped)(void *user, arcp__web_exchange *exchange);
    /* A client that closes its connection, or its half of it, before the response is complete has
     * gone away: `dropped` is called at once. False: that is found when the response is written,
     * and clients may close their half. */
    bool watches_peer;
} arcp__web_route;

/* The route for a complete request head, or NULL; then *refusal is the response. Host and Origin
 * are checked before everything except the syntax, so that a page that may not connect learns
 * nothing about the server. */
const arcp__web_route *arcp__web_route_of(const arcp__web_route *routes, size_t route_count,
                                          const arcp__web_names *names, const arcp__web_head *head,
                                          arcp__web_response *refusal);

typedef struct arcp__web_server_options {
    /* Port 0 picks one; a name is resolved, blocking, once. NULL: it has only the connections that
     * arcp__web_server_adopt passes to it. */
    const arcp__authority *listen;
    int *sockets; /* these two as in arcp_listen_options */
    size_t socket_count;
    const char *certificate_file; /* PEM files; NULL: without TLS */
    const char *key_file;
    const char *const *hosts; /* these three as in arcp_listen_options */
    size_t host_count;
    const char *const *origins;
    size_t origin_count;
    arcp_admission *admission; /* a reference is taken; NULL: one of its own */
    size_t head_bytes_max;
    uint32_t linger_ms;
    /* Lines, each with its CRLF, of each response with a status of 400 or more; static. NULL: none.
     */
    const char *refusal_headers;
    const arcp__web_route *routes; /* the first match is used; they must outlive the server */
    size_t route_count;
    /* A peer got no response (status 0) or one with a status of 400 or more; may be NULL. */
    void (*refused)(void *user, const char *peer, int status, const char *why);
    /* The server's memory is freed; may be NULL. */
    void (*freed)(void *user);
    void *user;
} arcp__web_server_options;

/* ARCP_E_USAGE for invalid names and files, ARCP_E_IO when the system refuses ("cannot listen on
 * 127.0.0.1:7777: address already in use"). */
ARCP_MUST_CHECK arcp_status arcp__web_server_open(uv_loop_t *loop,
                                                  const arcp__web_server_options *options,
                                                  arcp__web_server **out, arcp_error *err);

/* Serves a connection that was accepted elsewhere: the socket `fd`, which is owned from now on,
 * also on failure. Its peer counts as 127.0.0.1. ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__web_server_adopt(arcp__web_server *server, int fd,
                                                   arcp_error *err);

/* The address on which it listens, with the actual port. */
const arcp__authority *arcp__web_server_authority(const arcp__web_server *server);

/* Reads certificate and key again, for new connections. On failure the old ones stay in use. */
ARCP_MUST_CHECK arcp_status arcp__web_server_reload(arcp__web_server *server, arcp_error *err);

/* Closes the server and its connections; only `dropped` and `freed` are called afterwards. */
void arcp__web_server_close(arcp__web_server *server);

/* ---- for routes ----------------------------------------------------------------------- */

const arcp__web_head *arcp__web_exchange_head(const arcp__web_exchange *exchange);

/* A pointer that the route may set; NULL when `begin` is called. */
void **arcp__web_exchange_state(arcp__web_exchange *exchange);

/* Of the connection, for its route: zero until that sets it, and kept over its requests. */
#define ARCP__WEB_LABEL_SIZE 40u
unsigned char *arcp__web_exchange_label(arcp__web_exchange *exchange);

/* Responds, once. If the request's body is not complete, it is not read further, and the connection
 * ends. */
void arcp__web_exchange_respond(arcp__web_exchange *exchange, const arcp__web_response *response);

/* Write the next piece of a streamed response, and end it. Unsent pieces are buffered: a route with
 * much to write waits for `drained`. For HEAD the pieces are not sent. */
void arcp__web_exchange_write(arcp__web_exchange *exchange, arcp_span piece);
void arcp__web_exchange_end(arcp__web_exchange *exchange);

/* Bytes of the response that the system has not accepted yet. */
size_t arcp__web_exchange_unsent(const arcp__web_exchange *exchange);

/* What the new owner of an upgraded connection needs; all of it still belongs to the exchange. */
typedef struct arcp__web_upgrade {
    arcp__loop_share *share;
    arcp__stream *stream;
    arcp__counted *counted; /* NULL: not counted (a client's connection) */
    const char *peer;
    arcp_span early;    /* bytes received after the head */
    uint32_t waited_ms; /* since accept */
    bool is_encrypted;
    bool is_local;
} arcp__web_upgrade;

/* Only from `begin`, instead of a response. */
arcp__web_upgrade arcp__web_exchange_upgrade(arcp__web_exchange *exchange);
/* Frees the exchange after its stream was passed to the new owner. */
void arcp__web_exchange_leave(arcp__web_exchange *exchange);
/* Ends the connection without a response. */
void arcp__web_exchange_fail(arcp__web_exchange *exchange, const char *why);

#endif
