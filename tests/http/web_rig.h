/* A loop with a scripted peer and a client, and the events of each call. */
#ifndef ARCP_TESTS_WEB_RIG_H
#define ARCP_TESTS_WEB_RIG_H

#include "http/http_peer.h"
#include "http/web_client.h"

/* What a call does in an event. */
typedef enum rig_act {
    RIG_NOTHING,
    RIG_PAUSES,  /* in `body`: returns false */
    RIG_CANCELS, /* the call itself */
    RIG_CANCELS_OTHER,
    RIG_SENDS,  /* one call more, by `rig->more` */
    RIG_FREES,  /* the client */
    RIG_RESUMES /* the call, after it was paused in the same event */
} rig_act;

typedef struct rig_call {
    struct web_rig *rig;
    arcp__web_call *call;
    rig_act at_head, at_body, at_done;
    struct rig_call *other;
    unsigned heads, pieces, ends;
    unsigned status;
    uint64_t retry_after_sec;
    uint64_t ended_ms; /* by the loop's clock */
    arcp_buf fields;   /* "Name: value\n" */
    arcp_buf body;
    arcp__web_client_end end;
} rig_call;

typedef struct web_rig {
    uv_loop_t loop;
    uv_timer_t guard;
    http_peer peer;
    const arcp__web_client_ops *ops;
    arcp__web_client *client;
    char url[64];
    rig_call *more;
    bool is_freed;
} web_rig;

extern const arcp__web_client_ops *rig_ops; /* NULL: the table that is linked */

void rig_start(web_rig *rig, const peer_answer *answers, size_t count);
void rig_start_with(web_rig *rig, const peer_answer *answers, size_t count,
                    const arcp__web_client_options *options);
void rig_stop(web_rig *rig);

/* A POST of this body to `url`, with the call's events. */
arcp__web_client_request rig_request(web_rig *rig, rig_call *call, arcp_span body);
void rig_send(web_rig *rig, rig_call *call, const arcp__web_client_request *request);
/* Sends a POST with a small body. */
void rig_post(web_rig *rig, rig_call *call);
/* Runs the loop until the call has ended. */
void rig_until_end(web_rig *rig, const rig_call *call);
/* Runs the loop until the value is at least `wanted`. */
void rig_until(web_rig *rig, const unsigned *value, unsigned wanted);
/* Runs the loop until no connection of the peer is open. */
void rig_until_closed(web_rig *rig);
void rig_call_fini(rig_call *call);

#endif
