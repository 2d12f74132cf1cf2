/* A call of the HTTP client, as a transfer of libcurl. Private to this folder.
 *
 *   WAITING -> ADDED --curl ends it, or a time limit--> ENDED, with the event `done`
 *                    --cancel-------------------------> ENDED, without an event
 *
 * Curl calls the functions of web_call.c, which call the events. Until it has returned, it accepts
 * no other transfer, and ends and continues none. What an event's function requests meanwhile is
 * therefore put on the client's list `todo`, and is carried out when curl has returned. */
#ifndef ARCP_HTTP_WEB_CALL_H
#define ARCP_HTTP_WEB_CALL_H

#include "http/curl_loop.h"
#include "http/web_client.h"

typedef enum arcp__web_call_state {
    ARCP__WEB_CALL_WAITING, /* until curl returns */
    ARCP__WEB_CALL_ADDED,
    ARCP__WEB_CALL_ENDED
} arcp__web_call_state;

struct arcp__web_call {
    arcp__web_call *previous, *next; /* in the client's list */
    arcp__web_call *next_todo;
    arcp__web_client *client;
    arcp__curl_loop *curl; /* the client's */
    CURL *easy;            /* NULL: ENDED, and removed from curl */
    struct curl_slist *headers;
    uv_timer_t timer;
    uv_timer_cb on_limit;
    arcp__web_call_state state;
    arcp__web_client_request request; /* without the texts that curl has copied */
    size_t head_bytes;                /* received so far */
    uint64_t started_ms;              /* by the loop's clock */
    uint64_t received_ms;             /* when the last piece, or the head, came */
    const char *problem;              /* why the transfer was ended; NULL: curl knows */
    bool is_repeatable;               /* may be sent again after it was lost */
    bool was_sent;                    /* in part, on an earlier connection */
    bool has_begun;                   /* curl is about to send it on this one, or has sent it */
    long begun_bytes;                 /* that curl had sent before */
    bool has_head;
    bool is_paused;      /* by the caller */
    bool is_curl_paused; /* curl keeps a piece until it is continued */
    bool is_todo;
};

/* Creates call->easy from the request. ARCP_E_USAGE: a header is not acceptable.
 * ARCP_E_NO_MEMORY. What was created stays in the call. */
ARCP_MUST_CHECK arcp_status arcp__web_call_set_up(arcp__web_call *call,
                                                  const arcp__web_client_options *options,
                                                  const arcp__web_client_request *request,
                                                  arcp_error *err);

/* Frees what set_up created. The transfer is not in curl's list any more. */
void arcp__web_call_tear_down(arcp__web_call *call);

/* How a transfer ended for which curl reported `code`. The easy handle exists. */
arcp__web_client_end arcp__web_call_end(const arcp__web_call *call, CURLcode code);

/* Why the call is ended now by a time limit; NULL: none has passed. */
const char *arcp__web_call_overdue(const arcp__web_call *call);

/* Starts the timer for the next time limit, if there is one; it calls on_limit. */
void arcp__web_call_arm(arcp__web_call *call);

#endif
