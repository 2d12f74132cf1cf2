/* A server of HTTP/1.1 on streams: a listener, with TLS or without, and the life of its
 * connections. Each request goes to one of its routes, which answers it or takes the connection
 * over.
 *
 *   accept -> HEAD -> BODY -> ANSWER -> HEAD (kept for another request)
 *                                    -> LINGER -> gone
 *                          -> upgraded: the stream has another owner
 *
 *   HEAD    under a limit of bytes; Host, Origin, path and method are checked before a route
 *           is asked.
 *   BODY    under the limit of the route, which gets pieces as they come. Skipped where there
 *           is none.
 *   ANSWER  nothing is read until the answer has left; requests that were sent ahead wait.
 *   LINGER  our half is closed, and what comes is dropped until the peer ends: closing a socket
 *           with unread input would reset it, and the answer could be lost.
 *
 * Time is limited in each, and nothing that the peer does in pieces extends it: to the whole head,
 * to the whole body but for what the route pauses it, to a whole answer or, of a streamed one, to
 * what was written at a time, and to the linger. Admission (arcp_admission) counts a connection
 * from accept to its end. While it waits for its peer it is pending, and another may be given its
 * place: until a request is complete that its route does not answer at once, and again from the end
 * of that answer. An upgraded one is pending until its owner admits it. */
#ifndef ARCP_WEB_SERVER_H
#define ARCP_WEB_SERVER_H

#include "stream/stream.h"
#include "web/admission.h"
#include "web/head.h"
#include "web/names.h"

typedef struct arcp__web_server arcp__web_server;
/* A connection, and the request that it carries now. */
typedef struct arcp__web_exchange arcp__web_exchange;

#define ARCP__WEB_PEER_NAME_MAX 64

/* `user` is the server's. All are called from the loop; each may answer at once or later, and may
 * close the server. */
typedef struct arcp__web_route {
    const char *path;    /* the target without its query; NULL: every one */
    const char *methods; /* as in an Allow header: "GET, HEAD" */
    uint64_t body_bytes_max;
    /* The head is read, and there is nothing wrong with it. */
    void (*begin)(void *user, arcp__web_exchange *exchange);
    /* Some of the request's body (valid during the call). NULL: one that has a body is refused, as
     * GET and HEAD with a body always are. */
    void (*body)(void *user, arcp__web_exchange *exchange, arcp_span piece, bool is_last);
    /* The peer has taken all that was written of a streamed answer so far. NULL: never streamed. */
    void (*drained)(void *user, arcp__web_exchange *exchange);
    /* The connection ended before the answer was complete, or the body could not be read: the
     * exchange is not to be touched any more. NULL where begin answers. */
    void (*gone)(void *user, arcp__web_exchange *exchange);
} arcp__web_route;

/* The route of a complete request's head; NULL: *refusal says how it is answered. Host and Origin
 * come before everything but the syntax: a page that may not talk to us learns nothing about us. */
const arcp__web_route *arcp__web_route_of(const arcp__web_route *routes, size_t route_count,
                                          const arcp__web_names *names, const arcp__web_head *head,
                                          arcp__web_response *refusal);

typedef struct arcp__web_server_options {
    const arcp__authority *listen; /* port 0 picks one; a name is resolved, blocking, once */
    const char *certificate_file;  /* PEM files; NULL: without TLS */
    const char *key_file;
    const char *const *hosts; /* these three as in arcp_listen_options */
    size_t host_count;
    const char *const *origins;
    size_t origin_count;
    arcp_admission *admission; /* a reference is taken; NULL: one of its own */
    size_t head_bytes_max;
    uint32_t linger_ms;
    const arcp__web_route *routes; /* the first that fits; they outlive the server */
    size_t route_count;
    /* A peer that got no answer (status 0) or one of 400 and above; may be NULL. */
    void (*refused)(void *user, const char *peer, int status, const char *why);
    /* Nothing of the server is left; may be NULL. */
    void (*freed)(void *user);
    void *user;
} arcp__web_server_options;

/* ARCP_E_USAGE for names and files that are wrong, ARCP_E_IO when the system refuses ("cannot
 * listen on 127.0.0.1:7777: address already in use"). */
ARCP_MUST_CHECK arcp_status arcp__web_server_open(uv_loop_t *loop,
                                                  const arcp__web_server_options *options,
                                                  arcp__web_server **out, arcp_error *err);

/* Where it listens, with the real port. */
const arcp__authority *arcp__web_server_authority(const arcp__web_server *server);

/* Reads certificate and key again for connections from now on. When that fails the old ones stay in
 * use. */
ARCP_MUST_CHECK arcp_status arcp__web_server_reload(arcp__web_server *server, arcp_error *err);

/* Ends it and its connections; `gone` and `freed` follow, nothing else. */
void arcp__web_server_close(arcp__web_server *server);

/* ---- for routes ----------------------------------------------------------------------- */

const arcp__web_head *arcp__web_exchange_head(const arcp__web_exchange *exchange);

/* The route's own, NULL when a request begins. */
void **arcp__web_exchange_state(arcp__web_exchange *exchange);

/* Answers, once. What is left of the request's body is not read then, and the connection ends. */
void arcp__web_exchange_respond(arcp__web_exchange *exchange, const arcp__web_response *response);

/* Of an answer that is_streamed: the next piece of its body, and its end. What the peer has not
 * taken is kept: a route that has much to write waits for `drained`. To HEAD the pieces are not
 * sent. */
void arcp__web_exchange_write(arcp__web_exchange *exchange, arcp_span piece);
void arcp__web_exchange_end(arcp__web_exchange *exchange);

/* Bytes of the answer that the system has not taken yet. */
size_t arcp__web_exchange_unsent(const arcp__web_exchange *exchange);

/* Stops and resumes the request's body. */
void arcp__web_exchange_pause(arcp__web_exchange *exchange, bool is_paused);

/* What an owner that speaks another protocol from here on needs; all of it is the exchange's still.
 */
typedef struct arcp__web_upgrade {
    arcp__loop_share *share;
    arcp__stream *stream;
    arcp__counted *counted; /* NULL: nothing counts it (no exchange of ours) */
    const char *peer;
    arcp_span early;    /* what came behind the head */
    uint32_t waited_ms; /* since accept */
    bool is_encrypted;
    bool is_local;
} arcp__web_upgrade;

/* From begin only, instead of an answer. */
arcp__web_upgrade arcp__web_exchange_upgrade(arcp__web_exchange *exchange);
/* The stream has its new owner; the exchange is gone. */
void arcp__web_exchange_leave(arcp__web_exchange *exchange);
/* Ends the connection without an answer. */
void arcp__web_exchange_fail(arcp__web_exchange *exchange, const char *why);

#endif
