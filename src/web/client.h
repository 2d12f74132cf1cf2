/* An HTTP/1.1 client on a libuv loop, as an interface: a table of functions. src/http implements it
 * with libcurl in a module that is loaded when the configuration needs it, so that a program which
 * uses the table does not link libcurl.
 *
 *   send -> waiting for the head -> body in pieces -> done
 *
 * A request that was sent on a connection is never sent again by the client, unless it is a GET or
 * HEAD, whose repetition is harmless: a POST could be carried out, and billed, twice. Redirects are
 * not followed. The client asks for an uncompressed response, and decodes what a server compresses
 * all the same. A connection without a request is used again for up to 20 s.
 *
 * All functions are called on the loop's thread, and all events come on it, never from inside a
 * function of the table. Every function may be called from inside an event. */
#ifndef ARCP_WEB_CLIENT_H
#define ARCP_WEB_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/error.h>
#include <arcp/span.h>

struct uv_loop_s;
typedef struct arcp__web_client arcp__web_client;
/* A request and its response. Valid until its `done` event returns, or until it is cancelled. */
typedef struct arcp__web_call arcp__web_call;

/* The symbol in the module `arcp-http`: a `const arcp__web_client_ops`. */
#define ARCP__WEB_CLIENT_MODULE "arcp-http"
#define ARCP__WEB_CLIENT_SYMBOL "arcp__web_client_by_libcurl"

typedef struct arcp__web_field {
    arcp_span name;
    arcp_span value; /* without surrounding blanks */
} arcp__web_field;

/* The head of a final response (not 1xx); borrowed during the event. */
typedef struct arcp__web_client_head {
    unsigned status;
    /* In the order of the head, without those that describe only this transmission: Connection,
     * Content-Encoding, Content-Length, Keep-Alive, Transfer-Encoding. */
    const arcp__web_field *fields;
    size_t field_count;
    uint64_t retry_after_sec; /* from Retry-After in seconds or as a date; 0: none */
} arcp__web_client_head;

typedef enum arcp__web_outcome {
    ARCP__WEB_DONE,     /* the response is complete */
    ARCP__WEB_NOT_SENT, /* the request certainly did not reach the peer */
    ARCP__WEB_LOST      /* the request may have reached the peer; the response is missing (there was
                           no `head`) or incomplete */
} arcp__web_outcome;

typedef struct arcp__web_client_end {
    arcp__web_outcome outcome;
    bool timed_out;      /* of NOT_SENT and LOST: the reason is a time limit */
    const char *problem; /* if not DONE: a predicate for messages, for example "cannot be reached";
                            static */
} arcp__web_client_end;

/* The events of a call. `user` is the request's. */
typedef struct arcp__web_call_events {
    /* Comes once, before the first piece of the body. */
    void (*head)(void *user, const arcp__web_client_head *head);
    /* A piece of the body, decoded, of at least one byte; borrowed during the event. Returns false
     * to pause: no further piece comes until `resume`. */
    bool (*body)(void *user, arcp_span piece);
    /* The last event; comes exactly once, unless the call is cancelled. It may come while the call
     * is paused, when no piece is left. */
    void (*done)(void *user, const arcp__web_client_end *end);
} arcp__web_call_events;

/* Everything is copied, except the bytes of the body and `events`. */
typedef struct arcp__web_client_request {
    const char *method;
    const char *url;   /* http or https */
    arcp_span headers; /* lines "Name: value", each followed by a NUL. Content-Length, Host, Expect
                          and Accept-Encoding are the client's */
    const char *ca_file; /* PEM; NULL: the client's */
    arcp_span body;      /* borrowed until the call ends */
    /* Time limits in milliseconds; 0: none. */
    uint64_t first_byte_ms; /* from `send` to the complete head */
    uint64_t idle_ms;       /* between two pieces; does not run while the call is paused */
    uint64_t total_ms;      /* from `send` to the end */
    const arcp__web_call_events *events;
    void *user;
} arcp__web_client_request;

/* Strings are copied. */
typedef struct arcp__web_client_options {
    struct uv_loop_s *loop;
    const char *ca_file;    /* PEM, of requests that name none; NULL: the system's */
    const char *user_agent; /* for requests without such a header; NULL: none is sent */
    uint64_t connect_ms;    /* time limit for a connection, with TLS; 0: 10 000 */
    uint64_t connections;   /* at the same time; further requests wait. 0: no limit */
    bool keeps_connections; /* false: each request gets a new connection */
} arcp__web_client_options;

typedef struct arcp__web_client_ops {
    ARCP_MUST_CHECK arcp_status (*create)(const arcp__web_client_options *options,
                                          arcp__web_client **out, arcp_error *err);
    /* Cancels all calls. Memory is released when the loop has run. NULL is accepted. */
    void (*free)(arcp__web_client *client);
    /* ARCP_E_USAGE: a header contains a control character. ARCP_E_NO_MEMORY. In both cases nothing
     * was sent and no event comes. */
    ARCP_MUST_CHECK arcp_status (*send)(arcp__web_client *client,
                                        const arcp__web_client_request *request,
                                        arcp__web_call **out, arcp_error *err);
    /* Stops and continues the delivery of pieces. Without effect on a call in that state. */
    void (*pause)(arcp__web_call *call);
    void (*resume)(arcp__web_call *call);
    /* Ends the call and closes its connection; no event comes any more. */
    void (*cancel)(arcp__web_call *call);
} arcp__web_client_ops;

#endif
