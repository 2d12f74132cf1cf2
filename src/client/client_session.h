/* A client's side of a session, without I/O, clock or thread.
 *
 * It is told what happened (the transport is up, a frame came, the connection is gone,
 * time passed, the program wants something) and says what should happen next:
 *
 *   1. Call an input with the time.
 *   2. Send every frame of arcp__client_session_next_frame.
 *   3. Do the action of arcp__client_session_take_action.
 *   4. Hand over every item of arcp__client_session_next_item, in order.
 *   5. Wait until arcp__client_session_deadline at the latest, then arcp__client_session_tick.
 *
 * Inputs never call back. One thread at a time.
 *
 * States: IDLE -> CONNECTING -> HELLO (-> RESUMING) -> LIVE -> CLOSING -> CLOSED, and WAITING
 * between two attempts to connect. Promises:
 *
 *  - An item that carries an event_seq is handed over exactly once and in order. A number
 *    that was seen is dropped; a number that was skipped cuts the connection, and the
 *    session is resumed from the last one that was handed over. What cannot be kept for
 *    want of memory counts as not received.
 *  - Every request gets exactly one reply: the runtime's, its deadline's, or the session's
 *    end. What was not answered when the connection dropped is sent again after a resume
 *    under the same id, if that cannot do it twice.
 *  - Nothing follows a job's terminal frame.
 *
 * docs/protocol.md; draft §6-§8. */
#ifndef ARCP_CLIENT_CLIENT_SESSION_H
#define ARCP_CLIENT_CLIENT_SESSION_H

#include <arcp/client.h>

#include "base/ulid.h"

typedef struct arcp__client_session arcp__client_session;
typedef struct arcp__client_request arcp__client_request;

/* Something to hand over: an event for the program, or the reply to a request. Owned by
 * who took it; freed with arcp__client_item_free. The links are the holder's to use. */
typedef struct arcp__client_item {
    struct arcp__client_item *prev, *next;         /* utlist: all of the holder's items */
    struct arcp__client_item *job_prev, *job_next; /* utlist: those of one job */
    bool is_reply;
    bool is_secret;          /* wiped before it is freed */
    arcp_client_event event; /* spans point into bytes; event.job is a held reference */
    arcp_failure failure;    /* what event.failure or reply.failure points to */
    arcp_reply reply;        /* reply.job and reply.page are owned until they are taken */
    arcp_reply_fn on_reply;
    void *reply_user;
    uint64_t floor_seq; /* everything up to here came before this item */
    size_t size;        /* bytes in use */
    char bytes[];
} arcp__client_item;

void arcp__client_item_free(arcp__client_item *item); /* NULL is accepted */

typedef enum arcp__client_session_action {
    ARCP__SESSION_NOTHING,
    ARCP__SESSION_DIAL,  /* make a transport, then connected or disconnected */
    ARCP__SESSION_CLOSE, /* send what is there, close; then disconnected */
    ARCP__SESSION_ABORT, /* cut; then disconnected */
} arcp__client_session_action;

typedef enum arcp__client_session_state {
    ARCP__SESSION_IDLE,
    ARCP__SESSION_WAITING,    /* for the next attempt */
    ARCP__SESSION_CONNECTING, /* DIAL was asked for */
    ARCP__SESSION_HELLO,      /* hello is out */
    ARCP__SESSION_RESUMING,   /* a session.resume is out, for runtimes that do not read hello's */
    ARCP__SESSION_LIVE,
    ARCP__SESSION_CLOSING,
    ARCP__SESSION_CLOSED
} arcp__client_session_state;

/* `options` are copied. */
ARCP_MUST_CHECK arcp_status arcp__client_session_new(const arcp_client_options *options,
                                                     arcp__random_fn random, void *random_user,
                                                     arcp__client_session **out, arcp_error *err);
/* What jobs are told as their owner. */
void arcp__client_session_set_owner(arcp__client_session *session, void *owner);
/* Drops what was not handed over. Jobs that the program holds stay readable. */
void arcp__client_session_free(arcp__client_session *session);

/* ---- what happened ---- */

void arcp__client_session_start(arcp__client_session *session, arcp_time now);
/* The transport's own handshake is complete. */
void arcp__client_session_connected(arcp__client_session *session, arcp_time now);
void arcp__client_session_receive(arcp__client_session *session, arcp_time now, arcp_span text);
/* The connection is gone, or could not be made. ARCP_E_LIMIT and ARCP_E_INVALID_REQUEST: the
 * runtime closed it because of what it was sent. */
void arcp__client_session_disconnected(arcp__client_session *session, arcp_time now,
                                       const arcp_error *why);
void arcp__client_session_tick(arcp__client_session *session, arcp_time now);
/* Whether frames are being read; while they are not, silence is no sign of death. */
void arcp__client_session_set_reading(arcp__client_session *session, arcp_time now, bool reading);
/* Everything up to event_seq was handed over to the program (the floor_seq of the oldest
 * item that was not, or arcp__client_session_last_seq). Lower values are ignored. */
void arcp__client_session_handed_over(arcp__client_session *session, arcp_time now,
                                      uint64_t event_seq);
/* Instead of doing a DIAL action: ask again in delay_ms. */
void arcp__client_session_postpone(arcp__client_session *session, arcp_time now, int64_t delay_ms);
/* Another holder of the session got a newer resume token. */
ARCP_MUST_CHECK arcp_status arcp__client_session_set_resume_token(arcp__client_session *session,
                                                                  arcp_span token);

/* Forgets a job that is over and that the program has no handle of; else does nothing. */
void arcp__client_session_reap(arcp_job *job);

/* ---- what the program wants; each reply comes as an item ---- */

ARCP_MUST_CHECK arcp_status arcp__client_session_submit(
    arcp__client_session *session, arcp_time now, const arcp_submit_options *options,
    arcp_reply_fn on_reply, void *user, arcp__client_request **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_subscribe(
    arcp__client_session *session, arcp_time now, const arcp_subscribe_options *options,
    arcp_reply_fn on_reply, void *user, arcp__client_request **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_cancel(arcp__client_session *session,
                                                        arcp_time now, arcp_span job_id,
                                                        arcp_span reason, arcp_reply_fn on_reply,
                                                        void *user, arcp__client_request **out,
                                                        arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_list(arcp__client_session *session, arcp_time now,
                                                      const arcp_list_options *options,
                                                      arcp_reply_fn on_reply, void *user,
                                                      arcp__client_request **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_ping(arcp__client_session *session, arcp_time now,
                                                      arcp_reply_fn on_reply, void *user,
                                                      arcp__client_request **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_unsubscribe(arcp__client_session *session,
                                                             arcp_time now, arcp_span job_id,
                                                             arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_ack(arcp__client_session *session, arcp_time now,
                                                     uint64_t event_seq, arcp_error *err);
void arcp__client_session_close(arcp__client_session *session, arcp_time now);

/* The caller of a request no longer waits: no reply will be handed over. When the request
 * was not sent yet it is dropped; else its answer still finds its place. A request whose
 * reply was handed over does not exist any more. */
void arcp__client_request_abandon(arcp__client_session *session, arcp__client_request *request);

/* ---- what should happen ---- */

/* The next frame to send; lives until the next call of any function here. */
bool arcp__client_session_next_frame(arcp__client_session *session, arcp_span *out);
arcp__client_session_action arcp__client_session_take_action(arcp__client_session *session);
/* The next item, the caller's to free; NULL when there is none. */
arcp__client_item *arcp__client_session_next_item(arcp__client_session *session);
/* On the monotonic clock; ARCP_TIME_NEVER when nothing is due. */
int64_t arcp__client_session_deadline(const arcp__client_session *session);

/* ---- looking at it ---- */

arcp__client_session_state arcp__client_session_state_of(const arcp__client_session *session);
/* Why it ended; status ARCP_OK when the program asked for it or it has not ended. */
const arcp_failure *arcp__client_session_failure(const arcp__client_session *session);
arcp_feature_set arcp__client_session_features(const arcp__client_session *session);
/* Empty before the first welcome. The resume token is left out of the welcome. */
arcp_span arcp__client_session_id(const arcp__client_session *session);
arcp_span arcp__client_session_resume_token(const arcp__client_session *session);
arcp_span arcp__client_session_welcome(const arcp__client_session *session);
/* The last event_seq that was received, and that was handed over. */
uint64_t arcp__client_session_last_seq(const arcp__client_session *session);
uint64_t arcp__client_session_handed_seq(const arcp__client_session *session);
/* Whether the next DIAL is an attempt to come back to a session. */
bool arcp__client_session_has_session(const arcp__client_session *session);

#endif
